// Configurations as values: see config.h.
#include "script/autotvm/config.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "frontend/objects.h"
#include "ir/ops.h"
#include "script/te/objects.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::autotvm {
namespace {

using eval::Arguments;
using eval::BoundArguments;
using eval::Evaluator;
using eval::Value;

thread_local const Applying* applying = nullptr;

auto self_of(const Value& self) -> const ConfigObject& { return *self.as<ConfigObject>(); }

auto refuse(Evaluator& e, Origin where, std::string_view action, std::string_view name, const Reason& why, std::string remedy = {}) -> Value {
  Diagnostic d = error(Code::KnobRefused, where).arg("action", action).arg("name", name).arg("reason", why.text());
  if (!remedy.empty()) { (void)std::move(d).remedy(std::move(remedy)); }
  return e.report(std::move(d));
}

// The extent of an axis of a stage or of the space; none: it has no constant extent, which was reported.
auto length_of(Evaluator& e, const eval::Argument& axis, std::string_view knob) -> std::optional<int64_t> {
  if (auto number = axis.value.to_int()) { return *number; }
  if (const auto* own = axis.value.as<SpaceAxisObject>(); own && own->length > 0) { return own->length; }
  const auto* iter = axis.value.as<frontend::IterVarObject>();
  auto extent = iter ? as_int(iter->iter.dom.extent) : std::nullopt;
  if (extent && *extent > 0) { return *extent; }
  if (iter) { refuse(e, axis.where, "define", knob, because(Why::ExtentNotConstant).arg("axis", iter->iter.var->name.view()), "give the sizes of the task as numbers"); }
  else { e.report(error(Code::ArgumentKind, axis.where).arg("wanted", "an axis").arg("what", eval::describe(axis.value))); }
  return std::nullopt;
}

// A call of a method that defines a knob.
struct Definition {
  Evaluator& e;
  const ConfigObject& config;
  Origin where;
  BoundArguments bound = {};
  std::string name;

  Definition(Evaluator& evaluator, const Value& self, const Arguments& a) : e(evaluator), config(self_of(self)), where(a.call) {}
  // False: the arguments do not fit, which was reported, or are not known.
  auto bind(const char* method, const Arguments& a, const std::vector<eval::Parameter>& parameters) -> bool {
    if (!eval::bind_arguments(e, method, a, parameters, bound)) { return false; }
    const std::string* text = bound.values[0].value.string();
    if (!text) {
      bound.unknown = e.report(error(Code::ArgumentKind, bound.values[0].where).arg("wanted", "the name of a knob").arg("what", eval::describe(bound.values[0].value)));
      return false;
    }
    name = *text;
    return true;
  }
  [[nodiscard]] auto given(size_t i) const -> bool { return bound.given[i] && !bound.values[i].value.is_none(); }
  [[nodiscard]] auto text(size_t i, const char* otherwise) const -> std::string {
    const std::string* found = given(i) ? bound.values[i].value.string() : nullptr;
    return found ? *found : otherwise;
  }
  auto no(const Reason& why, std::string remedy = {}) const -> Value { return refuse(e, where, "define", name, why, std::move(remedy)); }
  // Adds the knob; its outputs as axes.
  auto add(Knob knob, size_t outputs) const -> Value {
    if (knob.choices.empty()) { return no(because(Why::NoChoices), "widen its `filter`, `max_factor` or `candidate`"); }
    if (!config.define(e, std::move(knob), where)) { return Value::error(); }
    std::vector<Value> out;
    for (size_t i = 0; i < outputs; ++i) { out.emplace_back(eval::make_object<SpaceAxisObject>(name, i, 0)); }
    return Value::list(std::move(out));
  }
};

// The choices that a function accepts. None: the function failed, and the error was reported.
auto filtered(Evaluator& e, std::vector<Choice> choices, const std::string& name, const eval::Argument& filter) -> std::optional<std::vector<Choice>> {
  std::vector<Choice> out;
  for (Choice& choice : choices) {
    Value entity(eval::make_object<EntityObject>(name, choice));
    Value kept = e.call(filter.value, {entity}, filter.where);
    if (kept.is_unknown()) { return std::nullopt; }
    auto is_kept = e.truth({kept, filter.where, {}});
    if (!is_kept) { return std::nullopt; }
    if (*is_kept) { out.push_back(std::move(choice)); }
  }
  return out;
}

auto integers_of(const Value& list) -> std::optional<std::vector<int64_t>> {
  const auto* items = list.items();
  if (!items) { return std::nullopt; }
  std::vector<int64_t> out;
  for (const Value& item : *items) {
    auto number = item.to_int();
    if (!number) { return std::nullopt; }
    out.push_back(*number);
  }
  return out;
}

auto define_split(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Definition d(e, self, a);
  if (!d.bind("define_split", a, {{"name"}, {"axis"}, {"policy", false}, {"num_outputs", false}, {"filter", false}, {"max_factor", false}, {"candidate", false}, {"no_tail", false}})) { return d.bound.unknown; }
  auto length = length_of(e, d.bound.values[1], d.name);
  if (!length) { return Value::error(); }
  SplitOptions options;
  options.policy = d.text(2, "factors");
  auto outputs = d.given(3) ? d.bound.values[3].value.to_int() : std::nullopt;
  const auto* candidates = d.given(6) ? d.bound.values[6].value.items() : nullptr;
  if (!outputs && candidates && !candidates->empty() && candidates->front().items()) { outputs = static_cast<int64_t>(candidates->front().items()->size()); }
  if (!outputs || *outputs < 1 || *outputs > 16) { return d.no(because(Why::OutputCount), "give the number of axes: `num_outputs=2`"); }
  options.outputs = static_cast<size_t>(*outputs);
  if (d.given(5)) { options.most = d.bound.values[5].value.to_int().value_or(options.most); }
  if (d.given(7)) { options.has_no_tail = e.truth(d.bound.values[7]); }
  Knob knob{.name = d.name, .kind = KnobKind::Split, .choices = {}, .length = *length};
  if (options.policy == "candidate") {
    if (!candidates) { return d.no(because(Why::NeedsFactors), "give `candidate=[[-1, 8], [-1, 16]]`"); }
    for (const Value& one : *candidates) {
      auto factors = integers_of(one);
      if (!factors || factors->size() != options.outputs) { return d.no(because(Why::NotFactors).arg("value", one.repr()).arg("count", options.outputs), "give a factor for each output, -1 for the rest"); }
      knob.choices.push_back({.kind = KnobKind::Split, .numbers = *factors, .words = {}, .value = {}});
    }
  } else {
    auto made = splits(*length, options);
    if (!made) { return d.no(because(Why::NoSuchPolicy).arg("policy", options.policy), "use `factors`, `power2`, `verbose` or `candidate`"); }
    knob.choices = *std::move(made);
  }
  if (d.given(4)) {
    auto kept = filtered(e, std::move(knob.choices), d.name, d.bound.values[4]);
    if (!kept) { return Value::error(); }
    knob.choices = *std::move(kept);
  }
  return d.add(std::move(knob), options.outputs);
}

// The places of axes in a list of axes; none: one is not in it.
auto places_of(const std::vector<Value>& axes, const Value& some) -> std::optional<std::vector<int64_t>> {
  const auto* items = some.items();
  if (!items) { return std::nullopt; }
  std::vector<int64_t> out;
  for (const Value& one : *items) {
    auto at = std::find_if(axes.begin(), axes.end(), [&](const Value& axis) {
      const auto* a = axis.as<frontend::IterVarObject>();
      const auto* b = one.as<frontend::IterVarObject>();
      return a && b ? a->iter.var == b->iter.var : axis.equals(one);
    });
    if (at == axes.end()) { return std::nullopt; }
    out.push_back(at - axes.begin());
  }
  return out;
}
auto chains_of(const std::vector<Value>& axes, const Value& lists) -> std::optional<std::vector<std::vector<int64_t>>> {
  const auto* items = lists.items();
  if (!items) { return std::nullopt; }
  std::vector<std::vector<int64_t>> out;
  for (const Value& one : *items) {
    auto chain = places_of(axes, one);
    if (!chain) { return std::nullopt; }
    out.push_back(*std::move(chain));
  }
  return out;
}

auto define_reorder(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Definition d(e, self, a);
  if (!d.bind("define_reorder", a, {{"name"}, {"axes"}, {"policy"}, {"candidate", false}, {"interval", false}, {"spatial", false}, {"reduce", false}})) { return d.bound.unknown; }
  const auto* axes = d.bound.values[1].value.items();
  if (!axes || axes->empty()) { return d.no(because(Why::AxesNoList)); }
  const size_t count = axes->size();
  std::string policy = d.text(2, "");
  Knob knob{.name = d.name, .kind = KnobKind::Reorder, .choices = {}};
  if (policy == "identity") {
    knob.choices = orders(count, 0, 0);
  } else if (policy == "all") {
    knob.choices = orders(count, 0, count);
  } else if (policy == "interval_all") {
    auto interval = integers_of(d.bound.values[4].value);
    bool fits = interval && interval->size() == 2 && (*interval)[0] >= 0 && (*interval)[0] <= (*interval)[1] && (*interval)[1] <= static_cast<int64_t>(count);
    if (!fits) { return d.no(because(Why::NeedsInterval), fmt::format("give `interval=(0, {})`", count)); }
    knob.choices = orders(count, static_cast<size_t>((*interval)[0]), static_cast<size_t>((*interval)[1]));
  } else if (policy == "candidate") {
    auto candidates = chains_of(*axes, d.bound.values[3].value);
    bool fits = candidates && std::all_of(candidates->begin(), candidates->end(), [&](const auto& one) {
      std::vector<int64_t> sorted = one, all(count);
      std::sort(sorted.begin(), sorted.end());
      std::iota(all.begin(), all.end(), 0);
      return sorted == all;
    });
    if (!fits) { return d.no(because(Why::NeedsOrders), "give `candidate=[[...], [...]]` with the axes of the second argument"); }
    for (auto& one : *candidates) { knob.choices.push_back({.kind = KnobKind::Reorder, .numbers = std::move(one), .words = {}, .value = {}}); }
  } else if (policy == "interleave" || policy == "interleave_cuda") {
    auto spatial = chains_of(*axes, d.bound.values[5].value), reduce = chains_of(*axes, d.bound.values[6].value);
    if (!spatial || !reduce) { return d.no(because(Why::NeedsAxes).arg("policy", policy), "give `spatial=[[...]]` and `reduce=[[...]]` with the axes of the second argument"); }
    knob.choices = interleaved(*spatial, *reduce, policy == "interleave_cuda");
  } else {
    return d.no(because(Why::NoSuchPolicy).arg("policy", policy), "use `identity`, `all`, `interval_all`, `candidate`, `interleave` or `interleave_cuda`");
  }
  return d.add(std::move(knob), count);
}

auto define_annotate(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Definition d(e, self, a);
  if (!d.bind("define_annotate", a, {{"name"}, {"axes"}, {"policy"}, {"num_anchor", false}})) { return d.bound.unknown; }
  const auto* axes = d.bound.values[1].value.items();
  if (!axes || axes->empty()) { return d.no(because(Why::AxesNoList)); }
  std::string policy = d.text(2, "");
  Knob knob{.name = d.name, .kind = KnobKind::Annotate, .choices = {}};
  if (policy == "locate_cache") {
    auto count = d.given(3) ? d.bound.values[3].value.to_int() : std::nullopt;
    if (!count || *count < 1 || *count > static_cast<int64_t>(axes->size())) { return d.no(because(Why::NeedsCaches), "give `num_anchor=1`"); }
    knob.choices = anchors(axes->size(), static_cast<size_t>(*count));
  } else {
    auto made = annotations(axes->size(), policy);
    if (!made) { return d.no(because(Why::PolicyUnknown).arg("policy", policy), "use `try_vec`, `try_unroll`, `try_unroll_vec`, `bind_gpu`, `bind_gpu_virtual` or `locate_cache`"); }
    knob.choices = *std::move(made);
  }
  return d.add(std::move(knob), axes->size());
}

auto define_knob(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Definition d(e, self, a);
  if (!d.bind("define_knob", a, {{"name"}, {"candidate"}, {"filter", false}})) { return d.bound.unknown; }
  const auto* candidates = d.bound.values[1].value.items();
  if (!candidates) { return d.no(because(Why::CandidatesNoList), "give `[0, 512, 1500]`"); }
  Knob knob{.name = d.name, .kind = KnobKind::Other, .choices = {}};
  for (const Value& one : *candidates) { knob.choices.push_back({.kind = KnobKind::Other, .numbers = {}, .words = {}, .value = one}); }
  if (d.given(2)) {
    auto kept = filtered(e, std::move(knob.choices), d.name, d.bound.values[2]);
    if (!kept) { return Value::error(); }
    knob.choices = *std::move(kept);
  }
  Value made = d.add(std::move(knob), 0);
  return made.is_unknown() ? made : Value();
}

// For each factor, from the innermost one out, the largest divisor of the rest that is not above its limit.
auto fallback_split(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Definition d(e, self, a);
  if (!d.bind("fallback_split", a, {{"name"}, {"constraints"}})) { return d.bound.unknown; }
  const Knob* knob = d.config.space.find(d.name);
  auto limits = integers_of(d.bound.values[1].value);
  if (!knob || knob->kind != KnobKind::Split) { return refuse(e, a.call, "choose", d.name, because(Why::NoSuchSplit), "define it first: `cfg.define_split(...)`"); }
  if (!limits || limits->size() != knob->choices[0].numbers.size()) { return refuse(e, a.call, "choose", d.name, because(Why::LimitCount), "give -1 where any factor will do"); }
  Choice choice = knob->choices[0];
  int64_t rest = knob->length;
  for (size_t i = limits->size(); i-- > 0;) {
    const int64_t most = (*limits)[i] < 0 ? rest : std::min(rest, (*limits)[i]);
    int64_t best = std::max<int64_t>(most, 1);
    while (rest % best != 0) { --best; }
    choice.numbers[i] = best;
    rest /= best;
  }
  if (!d.config.decisions) { d.config.changed.emplace_back(d.name, std::move(choice)); }
  return {};
}

auto add_flop(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!eval::bind_arguments(e, "add_flop", a, {{"flop"}}, b)) { return b.unknown; }
  auto flop = b.values[0].value.to_float();
  if (flop) { self_of(self).space.flop += *flop; }
  return {};
}

auto axis_of(Evaluator& e, const Value&, const Arguments& a) -> Value {
  BoundArguments b;
  if (!eval::bind_arguments(e, "axis", a, {{"var"}}, b)) { return b.unknown; }
  if (b.values[0].value.as<frontend::IterVarObject>()) { return b.values[0].value; }
  auto length = length_of(e, b.values[0], "");
  return length ? Value(eval::make_object<SpaceAxisObject>(std::string(), 0, *length)) : Value::error();
}

// Always true: a step that is not legal is refused at its statement. TVM marks the configuration instead.
auto valid(Evaluator&, const Value&, const Arguments&) -> Value { return true; }
auto nothing(Evaluator&, const Value&, const Arguments&) -> Value { return {}; }

struct Method { const char* name; eval::Method::Run run; };
constexpr Method methods[] = {{"define_split", define_split}, {"define_reorder", define_reorder}, {"define_annotate", define_annotate}, {"define_knob", define_knob},
                              {"fallback_split", fallback_split}, {"fallback_with_reference_log", nothing}, {"add_flop", add_flop}, {"axis", axis_of}, {"reduce_axis", axis_of}, {"valid", valid}};

// ---- choices that apply themselves -----------------------------------------------------------------------------------

// Calls a method of the stage of `op`.
struct Applied {
  Evaluator& e;
  Value stage;
  Origin where;
  auto call(const char* method, std::vector<Value> arguments) const -> Value {
    Value bound = e.attribute({stage, where, {}}, Name(method), where);
    return bound.is_unknown() ? bound : e.call(bound, std::move(arguments), where);
  }
};

auto apply_split(const Applied& stage, const Choice& choice, Value axis) -> Value {
  std::vector<Value> out;
  for (size_t i = 1; i < choice.numbers.size(); ++i) {
    int64_t inner = 1;
    for (size_t k = i; k < choice.numbers.size(); ++k) { inner *= choice.numbers[k]; }
    Value made = stage.call("split", {axis, Value(inner)});
    if (made.is_unknown()) { return made; }
    out.push_back((*made.items())[0]);
    axis = (*made.items())[1];
  }
  out.push_back(axis);
  return Value::list(std::move(out));
}

auto apply_reorder(const Applied& stage, const Choice& choice, const std::vector<Value>& axes) -> Value {
  std::vector<Value> out;
  for (int64_t i : choice.numbers) {
    if (i >= 0 && i < static_cast<int64_t>(axes.size())) { out.push_back(axes[static_cast<size_t>(i)]); }
  }
  Value made = stage.call("reorder", out);
  return made.is_unknown() ? made : Value::list(std::move(out));
}

// The caches of `source` are computed at the axes that the choice names.
auto apply_anchors(const Applied& stage, const ScheduleObject& schedule, const Choice& choice, const std::vector<Value>& axes, const std::vector<Value>& sources) -> Value {
  for (size_t i = 0; i < sources.size() && i < choice.numbers.size(); ++i) {
    std::vector<Value> caches = sources[i].items_or_itself();
    for (const Value& cache : caches) {
      Value found = te::stage_of(stage.e, schedule, {cache, stage.where, {}}, stage.where);
      auto at = static_cast<size_t>(choice.numbers[i]);
      if (found.is_unknown() || at >= axes.size()) { return found; }
      Value made = Applied{stage.e, found, stage.where}.call("compute_at", {stage.stage, axes[at]});
      if (made.is_unknown()) { return made; }
    }
  }
  return Value::list(axes);
}

auto apply_annotations(const Applied& stage, const Choice& choice, std::vector<Value> axes) -> Value {
  for (size_t i = 0; i < choice.words.size() && i < axes.size(); ++i) {
    const std::string& word = choice.words[i];
    Value made;
    if (word == "unroll") { made = stage.call("unroll", {axes[i]}); }
    else if (word == "vec") { made = stage.call("vectorize", {axes[i]}); }
    else if (word == "fuse") {
      // An axis to be fused joins the one behind it.
      if (i + 1 >= axes.size()) { break; }
      made = stage.call("fuse", {axes[i], axes[i + 1]});
      if (!made.is_unknown()) { axes[i + 1] = made; }
    } else if (word != "none") {
      made = stage.call("bind", {axes[i], Value(eval::make_object<te::expressions::ThreadAxisObject>(word, Value()))});
    }
    if (made.is_unknown()) { return made; }
  }
  return Value::list(std::move(axes));
}

auto apply(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  const auto& entity = *self.as<EntityObject>();
  BoundArguments b;
  if (!eval::bind_arguments(e, "apply", a, {{"sch"}, {"op"}, {"axis", false}, {"axes", false}, {"axis_lens", false}, {"max_unroll", false}, {"vec_size", false}, {"cfg", false}, {"source", false}}, b)) { return b.unknown; }
  auto no = [&](const Reason& why, std::string remedy) { return refuse(e, a.call, "apply", entity.name, why, std::move(remedy)); };
  const auto* schedule = b.values[0].value.as<ScheduleObject>();
  if (!schedule || !schedule->stages) {
    if (b.values[0].value.is_unknown()) { return b.values[0].value; }
    return no(because(Why::FirstNoSchedule), "give `s` of `te.create_schedule`");
  }
  Value stage = te::stage_of(e, *schedule, {b.values[1].value, b.values[1].where, {}}, b.values[1].where);
  if (stage.is_unknown()) { return stage; }
  Applied applied{e, stage, a.call};
  const eval::Argument& given = b.given[2] ? b.values[2] : b.values[3];
  const auto* axes = given.value.items();
  switch (entity.choice.kind) {
    case KnobKind::Split:
      return axes ? no(because(Why::SplitTakesAxis), "give the axis, not a list") : apply_split(applied, entity.choice, given.value);
    case KnobKind::Reorder:
      return axes ? apply_reorder(applied, entity.choice, *axes) : no(because(Why::ReorderTakesList), "give the axes of the stage in a list");
    case KnobKind::Annotate:
      if (!axes) { return no(because(Why::AnnotationsTakeList), "give the axes of the stage in a list"); }
      if (const auto* sources = b.values[8].value.items()) { return apply_anchors(applied, *schedule, entity.choice, *axes, *sources); }
      return apply_annotations(applied, entity.choice, *axes);
    case KnobKind::Other: break;
  }
  return no(because(Why::ValueWithoutAxis), "read it: `.val`");
}

auto strings(const std::vector<std::string>& words) -> Value {
  std::vector<Value> out;
  for (const std::string& word : words) { out.push_back(Value::str(word)); }
  return Value::list(std::move(out));
}
auto numbers(const std::vector<int64_t>& of) -> Value {
  std::vector<Value> out;
  for (int64_t n : of) { out.emplace_back(n); }
  return Value::list(std::move(out));
}

// The names of the knobs, for remedies.
auto names_of(const Space& space) -> std::string {
  std::string out;
  for (const Knob& knob : space.knobs) { out += (out.empty() ? "`" : ", `") + knob.name + "`"; }
  return out;
}

}  // namespace

Applying::Applying(std::shared_ptr<const Decisions> decisions) : decisions_(std::move(decisions)), around_(applying) { applying = this; }
Applying::~Applying() { applying = around_; }

auto get_config(Evaluator&, const Arguments&) -> Value { return Value(eval::make_object<ConfigObject>(applying ? applying->decisions_ : nullptr)); }

const eval::TypeTag ConfigObject::type_tag{"a configuration"};
const eval::TypeTag EntityObject::type_tag{"the choice of a knob"};
const eval::TypeTag SpaceAxisObject::type_tag{"an axis of a space"};

auto ConfigObject::choice(std::string_view name) const -> const Choice* {
  auto at = std::find_if(changed.rbegin(), changed.rend(), [&](const auto& one) { return one.first == name; });
  if (at != changed.rend()) { return &at->second; }
  const Knob* knob = space.find(name);
  if (!knob) { return nullptr; }
  const Choice* decided = decisions ? decisions->find(name) : nullptr;
  return decided ? decided : &knob->choices[0];
}

auto ConfigObject::define(Evaluator& evaluator, Knob knob, Origin where) const -> bool {
  if (space.find(knob.name)) { return true; }
  const Choice* decided = decisions ? decisions->find(knob.name) : nullptr;
  if (decided) {
    std::optional<Why> why;
    if (decided->kind != knob.kind) { why = Why::RecordOfOtherKind; }
    else if (decided->numbers.size() != knob.choices[0].numbers.size()) { why = Why::RecordOfOtherLength; }
    if (why) {
      refuse(evaluator, where, "define", knob.name, because(*why).arg("value", decided->text()).arg("count", knob.choices[0].numbers.size()), "use records of this template");
      return false;
    }
  }
  if (applying && applying->decisions_ == decisions && !applying->space_.find(knob.name)) { applying->space_.knobs.push_back(knob); }
  space.knobs.push_back(std::move(knob));
  return true;
}

auto ConfigObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name is_fallback("is_fallback"), space_map("space_map"), flop("flop");
  if (name == is_fallback) { return Value(!decisions); }
  if (name == flop) { return Value(space.flop); }
  if (name == space_map) {
    Ref<eval::Dict> map = eval::make_object<eval::Dict>();
    for (const Knob& knob : space.knobs) { map->set(Value::str(knob.name), Value(static_cast<int64_t>(knob.choices.size()))); }
    return Value(map);
  }
  for (const Method& method : methods) {
    if (name == method.name) { return Value(eval::make_object<eval::Method>(Value(Ref<eval::Object>(this)), name, method.run)); }
  }
  return {};
}
void ConfigObject::attribute_names(std::vector<Name>& out) const {
  for (const Method& method : methods) { out.emplace_back(method.name); }
  for (const char* name : {"is_fallback", "space_map", "flop"}) { out.emplace_back(name); }
}
auto ConfigObject::get_item(Evaluator& evaluator, const std::vector<eval::Argument>& indices, bool, Origin where) const -> std::optional<Value> {
  const std::string* name = indices.size() == 1 ? indices[0].value.string() : nullptr;
  if (!name) { return {}; }
  const Choice* found = choice(*name);
  if (found) { return Value(eval::make_object<EntityObject>(*name, *found)); }
  Diagnostic d = error(Code::NoSuchKnob, indices[0].where.is_known() ? indices[0].where : where).arg("name", *name);
  std::vector<Name> names;
  for (const Knob& knob : space.knobs) { names.emplace_back(knob.name); }
  Name near = eval::closest_name(Name(*name), names);
  if (!near.empty()) { (void)std::move(d).remedy(fmt::format("did you mean `{}`?", near.view())); }
  else if (space.knobs.empty()) { (void)std::move(d).remedy(fmt::format("define it first: `cfg.define_split(\"{}\", ...)`", *name)); }
  else { (void)std::move(d).remedy(fmt::format("define it first; the knobs so far are {}", names_of(space))); }
  return evaluator.report(std::move(d));
}
auto ConfigObject::set_item(Evaluator&, const std::vector<eval::Argument>& indices, bool, const eval::Argument& value, Origin) const -> bool {
  const std::string* name = indices.size() == 1 ? indices[0].value.string() : nullptr;
  const auto* entity = value.value.as<EntityObject>();
  if (!name || !entity) { return false; }
  // Decisions of a record come first.
  if (!decisions || !decisions->find(*name)) { changed.emplace_back(*name, entity->choice); }
  return true;
}
auto ConfigObject::clone(eval::Cloner& cloner) const -> std::optional<Value> {
  auto copy = eval::make_object<ConfigObject>(decisions);
  copy->space = space;
  copy->changed = changed;
  cloner.add_size(space.knobs.size());
  return Value(copy);
}
auto ConfigObject::repr() const -> std::string {
  std::string out;
  for (const Knob& knob : space.knobs) { out += (out.empty() ? "" : ", ") + knob.name + "=" + choice(knob.name)->text(); }
  return "<configuration " + out + ">";
}

auto EntityObject::get_attribute(Evaluator&, Name attribute, Origin) const -> std::optional<Value> {
  static const Name size("size"), val("val"), perm("perm"), anns("anns"), apply_name("apply");
  if (attribute == size && choice.kind == KnobKind::Split) { return numbers(choice.numbers); }
  if (attribute == perm && choice.kind == KnobKind::Reorder) { return numbers(choice.numbers); }
  if (attribute == anns && choice.kind == KnobKind::Annotate) { return choice.words.empty() ? numbers(choice.numbers) : strings(choice.words); }
  if (attribute == val && choice.kind == KnobKind::Other) { return choice.value; }
  if (attribute == apply_name) { return Value(eval::make_object<eval::Method>(Value(Ref<eval::Object>(this)), attribute, apply)); }
  return {};
}
void EntityObject::attribute_names(std::vector<Name>& out) const {
  out.emplace_back(choice.kind == KnobKind::Split ? "size" : choice.kind == KnobKind::Reorder ? "perm" : choice.kind == KnobKind::Annotate ? "anns" : "val");
  if (choice.kind != KnobKind::Other) { out.emplace_back("apply"); }
}

auto SpaceAxisObject::equals(const eval::Object& other) const -> bool {
  const auto* that = other.as<SpaceAxisObject>();
  return that && that->knob == knob && that->index == index && that->length == length;
}
auto SpaceAxisObject::repr() const -> std::string { return knob.empty() ? fmt::format("<axis of {}>", length) : fmt::format("<output {} of `{}`>", index, knob); }

}  // namespace loopsmith::script::autotvm
