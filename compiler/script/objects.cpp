// Schedules as script values: see objects.h.
#include "script/objects.h"

#include <algorithm>

#include "frontend/objects.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "ir/ops.h"
#include "schedule/trace_json.h"
#include "script/te/objects.h"
#include "script/tuner/trace_values.h"
#include "support/codes.h"
#include "support/hash.h"
#include "support/text.h"
#include "target/choice.h"
#include "target/target.h"

namespace loopsmith::script {
namespace {

using eval::Argument;
using eval::Arguments;
using eval::Evaluator;

// Adds the most similar name to the diagnostic of an unknown block or parameter.
auto with_name_meant(Diagnostic d, const Arguments& arguments, const ScheduleObject& object, const schedule::Primitive& primitive) -> Diagnostic {
  auto given = [&](std::string_view name) {
    auto found = std::find_if(d.args.begin(), d.args.end(), [&](const auto& arg) { return arg.first == name; });
    return found == d.args.end() ? std::string() : found->second;
  };
  // Only a name that is written literally can be replaced; it may also come from a variable.
  auto meant = [&](const std::string& text, size_t written, Origin where) {
    d.remedies.insert(d.remedies.begin(), "did you mean `" + text + "`?");
    if (where.end - where.begin == written) { d.fixes.push_back({where, text}); }
  };
  for (const Argument& argument : arguments.all) {
    if (d.code == Code::NoSuchBlock && argument.value.to_str() == given("block")) {
      std::vector<Name> blocks;
      const schedule::FuncState* func = object.schedule.state().func(Name(given("function")));
      if (func == nullptr) { break; }
      for (const schedule::Place& place : func->places()) {
        if (place.is_block() && place.parent >= 0) { blocks.push_back(place.name()); }
      }
      // No name is close to a single letter; if the function has only one block, that one is suggested.
      bool is_only = blocks.size() == 1 && given("block").size() <= 2;
      Name near = is_only ? blocks[0] : eval::closest_name(Name(given("block")), blocks);
      if (!near.empty()) { meant("\"" + near.str() + "\"", given("block").size() + 2, argument.where); }
      break;
    }
    if (d.code == Code::UnexpectedArgument && !argument.keyword.empty() && argument.keyword.view() == given("name")) {
      add_parameter_meant(d, primitive, argument.keyword, argument.keyword_at);
      break;
    }
  }
  return d;
}

// `sch.split`, bound to its schedule.
class PrimitiveMethod final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  PrimitiveMethod(Ref<ScheduleObject> s, const schedule::Primitive* p) : Object(&type_tag), schedule(std::move(s)), primitive(p) {}
  const Ref<ScheduleObject> schedule;
  const schedule::Primitive* const primitive;
  auto is_callable() const -> bool override { return true; }
  auto repr() const -> std::string override { return "<primitive " + std::string(primitive->name) + ">"; }
  auto clone(eval::Cloner& cloner) const -> std::optional<eval::Value> override {
    eval::Value copied = cloner.clone(eval::Value(Ref<eval::Object>(schedule.get())));
    return eval::Value(Ref<eval::Object>(eval::make_object<PrimitiveMethod>(Ref<ScheduleObject>(copied.as<ScheduleObject>()), primitive)));
  }
  auto call(Evaluator& evaluator, const Arguments& arguments) const -> std::optional<eval::Value> override {
    schedule::Arguments converted;
    size_t reported = evaluator.diagnostics.size();
    // If nothing is reported, an argument is unknown: the call was not made, and the schedule becomes unknown too.
    auto failed = [&] {
      if (evaluator.diagnostics.size() > reported) { return eval::Value::error(); }
      schedule->record.is_unknown = true;
      return eval::Value::opaque();
    };
    for (size_t i = 0; i < arguments.all.size(); ++i) {
      const Argument& argument = arguments.all[i];
      auto value = to_schedule(evaluator, argument);
      if (!value) { return argument.value.is_error() ? eval::Value::error() : failed(); }
      if (i < arguments.positional) { converted.positional.push_back(std::move(*value)); }
      else { converted.keyword.emplace_back(argument.keyword.str(), std::move(*value)); }
    }
    // If another run follows a schedule and it has become unknown here, its results are unknown.
    bool is_other = schedule->record.part == ScheduleObject::Part::Other;
    if (is_other && schedule->record.is_unknown) { return eval::Value::opaque(); }
    Origin call = arguments.call;
    call.step = schedule->record.step;
    // A primitive may take a thousand times as long as other steps of the evaluator.
    if (!evaluator.may_go_on(arguments.call)) { return eval::Value::error(); }
    ++schedule->record.executed;
    IRModule before = schedule->schedule.module();
    if (const Attr* target = target_around(evaluator)) { schedule->schedule.use_vscale(most_vscale(target_text(*target))); }
    Diagnostics doubts;
    Result<schedule::Value> result = schedule->schedule.apply(*primitive, converted, call, is_other ? nullptr : &doubts);
    if (!result.ok()) {
      if (result.diagnostics().empty() || is_other) { return failed(); }
      schedule->record.refused = ScheduleObject::Refused{primitive, std::move(converted), call};
      for (Diagnostic& d : std::move(result).diagnostics()) {
        if (!d.where.is_known()) { d.where = call; }
        evaluator.report(with_name_meant(std::move(d), arguments, *schedule, *primitive));
      }
      return eval::Value::error();
    }
    for (Diagnostic& doubt : doubts) { evaluator.report(std::move(doubt)); }
    // The results of a step may be needed even if the module does not change.
    const IRModule& after = schedule->schedule.module();
    bool is_idle = after.same_as(before) || (primitive->output == schedule::OutputKind::None && structural_equal(before, after));
    if (!primitive->is_pure && is_idle && !is_other) {
      evaluator.report(error(Code::StepChangesNothing, call).arg("primitive", primitive->name));
    }
    return from_schedule(*result);
  }
};
const eval::TypeTag PrimitiveMethod::type_tag{"schedule primitive"};

auto self_of(const eval::Value& self) -> const ScheduleObject& { return *self.as<ScheduleObject>(); }

auto report_all(Evaluator& evaluator, Diagnostics diagnostics, Origin where) -> eval::Value {
  for (Diagnostic& d : diagnostics) {
    if (!d.where.is_known()) { d.where = where; }
    evaluator.report(std::move(d));
  }
  return eval::Value::error();
}

// Methods other than primitives, with TVM's names.
auto schedule_copy(Evaluator&, const eval::Value& self, const Arguments&) -> eval::Value {
  auto copy = eval::make_object<ScheduleObject>(self_of(self).schedule.fork());
  copy->record.step = self_of(self).record.step;
  copy->record.is_unknown = self_of(self).record.is_unknown;
  if (self_of(self).record.part == ScheduleObject::Part::Other) { copy->record.part = ScheduleObject::Part::Other; }
  return eval::Value(Ref<eval::Object>(copy.get()));
}
auto schedule_seed(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "seed", arguments, {{"seed"}}, bound)) { return bound.unknown; }
  auto seed = bound.values[0].value.to_int();
  if (!seed) {
    return evaluator.report(error(Code::ArgumentKind, bound.values[0].where).arg("what", eval::describe(bound.values[0].value)).arg("wanted", "an integer"));
  }
  self_of(self).schedule.seed(*seed);
  return {};
}
auto schedule_work_on(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "work_on", arguments, {{"func_name"}}, bound)) { return bound.unknown; }
  const std::string* name = bound.values[0].value.string();
  if (!name) {
    return evaluator.report(error(Code::ArgumentKind, bound.values[0].where).arg("what", eval::describe(bound.values[0].value)).arg("wanted", "a string"));
  }
  Status done = self_of(self).schedule.work_on(*name);
  if (!done.ok()) { return report_all(evaluator, std::move(done).diagnostics(), arguments.call); }
  return {};
}
auto schedule_fork_seed(Evaluator&, const eval::Value& self, const Arguments&) -> eval::Value { return eval::Value(self_of(self).schedule.fork_seed()); }
auto schedule_remove_rv(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "remove_rv", arguments, {{"rand_var"}}, bound)) { return bound.unknown; }
  const auto* variable = bound.values[0].value.as<VariableObject>();
  if (!variable) {
    return evaluator.report(error(Code::ArgumentKind, bound.values[0].where).arg("what", eval::describe(bound.values[0].value)).arg("wanted", "a variable of the schedule"));
  }
  self_of(self).schedule.remove_rv(variable->variable);
  return {};
}

// `sch.get_sref(block)`: the loop or block with those around it. `parent` is the next one outwards, None for the root block; other attributes are those of the
// statement.
class SRefObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit SRefObject(std::vector<Stmt> p) : Object(&type_tag), path(std::move(p)) {}
  const std::vector<Stmt> path;   // innermost first
  auto repr() const -> std::string override { return "<tir.StmtSRef>"; }
  auto equals(const eval::Object& other) const -> bool override {
    const auto* that = other.as<SRefObject>();
    return that && that->path.front().same_as(path.front());
  }
  auto hash() const -> uint64_t override { return reinterpret_cast<uintptr_t>(path.front().get()); }
  auto get_attribute(Evaluator& evaluator, Name name, Origin where) const -> std::optional<eval::Value> override {
    static const Name parent("parent");
    if (name == parent) {
      if (path.size() == 1) { return eval::Value(); }
      return eval::Value(Ref<eval::Object>(eval::make_object<SRefObject>(std::vector<Stmt>(path.begin() + 1, path.end())).get()));
    }
    return eval::make_object<frontend::StmtObject>(path.front())->get_attribute(evaluator, name, where);
  }
  void attribute_names(std::vector<Name>& out) const override {
    out.emplace_back("parent");
    eval::make_object<frontend::StmtObject>(path.front())->attribute_names(out);
  }
};
const eval::TypeTag SRefObject::type_tag{"reference to a statement"};

auto schedule_get(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "get", arguments, {{"rand_var"}}, bound)) { return bound.unknown; }
  const auto* variable = bound.values[0].value.as<VariableObject>();
  // TVM takes the value of `get_sref`, too.
  if (const auto* sref = bound.values[0].value.as<SRefObject>()) { return eval::Value(Ref<eval::Object>(eval::make_object<frontend::StmtObject>(sref->path.front()).get())); }
  if (!variable) {
    return evaluator.report(error(Code::ArgumentKind, bound.values[0].where).arg("what", eval::describe(bound.values[0].value)).arg("wanted", "a variable of the schedule"));
  }
  if (const auto* expr = variable->variable.as<schedule::ExprRV>()) {
    auto value = self_of(self).schedule.get(*expr);
    if (!value.ok()) { return report_all(evaluator, std::move(value).diagnostics(), arguments.call); }
    return eval::Value(*value);
  }
  auto place = variable->variable.as<schedule::BlockRV>() ? self_of(self).schedule.get(*variable->variable.as<schedule::BlockRV>())
                                                         : self_of(self).schedule.get(*variable->variable.as<schedule::LoopRV>());
  if (!place.ok()) { return report_all(evaluator, std::move(place).diagnostics(), arguments.call); }
  const Stmt& stmt = (*place)->stmt();
  const auto* realize = stmt.as<BlockRealize>();
  return eval::Value(Ref<eval::Object>(eval::make_object<frontend::StmtObject>(realize ? Stmt(realize->block) : stmt).get()));
}
auto schedule_get_sref(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "get_sref", arguments, {{"rand_var_or_stmt"}}, bound)) { return bound.unknown; }
  const auto* variable = bound.values[0].value.as<VariableObject>();
  if (!variable || variable->variable.as<schedule::ExprRV>()) { return schedule_get(evaluator, self, arguments); }
  const schedule::Schedule& sch = self_of(self).schedule;
  auto place = variable->variable.as<schedule::BlockRV>() ? sch.get(*variable->variable.as<schedule::BlockRV>()) : sch.get(*variable->variable.as<schedule::LoopRV>());
  if (!place.ok()) { return report_all(evaluator, std::move(place).diagnostics(), arguments.call); }
  return sref_value(sch, **place);
}

// Tries the call on a copy.
auto schedule_can_decompose_padding(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "can_decompose_padding", arguments, {{"block"}, {"loop"}}, bound)) { return bound.unknown; }
  std::vector<schedule::Value> values;
  for (const Argument& argument : bound.values) {
    auto value = to_schedule(evaluator, argument);
    if (!value) { return eval::Value::error(); }
    values.push_back(std::move(*value));
  }
  schedule::Schedule tried = self_of(self).schedule;
  return eval::Value(tried.call("decompose_padding", std::move(values)).ok());
}
auto schedule_show(Evaluator& evaluator, const eval::Value& self, const Arguments&) -> eval::Value {
  if (evaluator.output) { evaluator.output(print_script(self_of(self).schedule.module()) + "\n"); }
  return {};
}

// "2min", "90s", 30, in seconds. None: the value is not a duration.
auto seconds_of(const eval::Value& value) -> std::optional<double> {
  std::string text = value.string() ? *value.string() : value.is_int() ? std::to_string(value.int_value()) : value.is_float() ? float_text(value.float_value()) : std::string();
  return parse_seconds(text);
}
// Records a place for a search; the schedule does not change.
auto schedule_tune(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "tune", arguments, {{"budget", false}, {"trials", false}}, bound)) { return bound.unknown; }
  TuneRequest hole{.call = arguments.call};
  auto wrong = [&](size_t i, const char* wanted) {
    return evaluator.report(error(Code::ArgumentKind, bound.values[i].where).arg("what", eval::describe(bound.values[i].value)).arg("wanted", wanted));
  };
  if (bound.given[0] && !bound.values[0].value.is_none()) {
    auto seconds = seconds_of(bound.values[0].value);
    if (!seconds) { return wrong(0, "a time: seconds, or text such as \"90s\" or \"2min\""); }
    hole.seconds = *seconds;
  }
  if (bound.given[1] && !bound.values[1].value.is_none()) {
    auto trials = bound.values[1].value.to_int();
    if (!trials || *trials < 1) { return wrong(1, "a number of trials from 1 on"); }
    hole.trials = *trials;
  }
  self_of(self).record.hole = hole;
  return {};
}

struct Utility { const char* name; eval::Method::Run run; };
constexpr Utility utilities[] = {
    {"copy", schedule_copy}, {"seed", schedule_seed}, {"work_on", schedule_work_on}, {"get", schedule_get}, {"get_sref", schedule_get_sref},
    {"can_decompose_padding", schedule_can_decompose_padding}, {"show", schedule_show}, {"fork_seed", schedule_fork_seed}, {"remove_rv", schedule_remove_rv},
    {"tune", schedule_tune},
};

// An instruction of a trace: `inst.kind.name`, `inst.inputs`. It is printed as its line of Python.
class InstructionObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  InstructionObject(std::string l, std::string k, size_t n) : Object(&type_tag), line(std::move(l)), kind(std::move(k)), index(n) {}
  const std::string line;
  const std::string kind;
  const size_t index;
  auto repr() const -> std::string override { return line; }
  auto equals(const eval::Object& other) const -> bool override {
    const auto* that = other.as<InstructionObject>();
    return that && that->index == index && that->line == line;
  }
  auto hash() const -> uint64_t override { return hash_bytes(line) + index; }
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<eval::Value> override {
    static const Name kind_name("kind"), name_name("name");
    // The kind has the name as its only known member.
    if (name == kind_name) { return eval::Value(Ref<eval::Object>(this)); }
    if (name == name_name) { return eval::Value::str(kind); }
    return eval::Value::opaque();
  }
};
const eval::TypeTag InstructionObject::type_tag{"an instruction"};

// `sch.trace`: the instructions so far.
class TraceObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  TraceObject(schedule::Trace t, Dialect d) : Object(&type_tag), trace(std::move(t)), dialect(d) {}
  const schedule::Trace trace;
  const Dialect dialect;   // of the module: the spelling of blocks
  auto repr() const -> std::string override { return trace.python(dialect); }
  /// Compares instructions, with variables numbered alike, and decisions.
  auto equals(const eval::Object& other) const -> bool override {
    const auto* that = other.as<TraceObject>();
    return that && schedule::trace_to_json(trace) == schedule::trace_to_json(that->trace);
  }
  auto hash() const -> uint64_t override { return hash_bytes(schedule::trace_to_json(trace)); }
  void attribute_names(std::vector<Name>& out) const override {
    for (const char* name : {"show", "as_json", "as_python", "insts", "decisions", "get_decision", "with_decision", "simplified", "apply_to_schedule"}) { out.push_back(Name(name)); }
  }
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<eval::Value> override {
    static const Name show("show"), as_json("as_json"), as_python("as_python"), insts("insts"), with_decision("with_decision"), simplified("simplified"),
        apply_to_schedule("apply_to_schedule"), decisions("decisions"), get_decision("get_decision"), append("append"), pop("pop");
    if (name == insts) { return eval::Value::list(all_instructions()); }
    if (name == decisions) { return all_decisions(); }
    // In-place changes of a trace are not supported.
    if (name == append || name == pop) { return eval::Value::opaque(); }
    auto self = eval::Value(Ref<eval::Object>(this));
    auto method = [&](eval::Method::Run run) {
      return eval::Value(Ref<eval::Object>(eval::make_object<eval::Method>(self, name, run).get()));
    };
    if (name == show) {
      return method([](Evaluator& e, const eval::Value& s, const Arguments&) {
        if (e.output) { e.output(s.as<TraceObject>()->repr() + "\n"); }
        return eval::Value();
      });
    }
    if (name == as_python) {
      return method([](Evaluator&, const eval::Value& s, const Arguments&) {
        std::vector<eval::Value> lines;
        const auto& own = *s.as<TraceObject>();
        for (const std::string& line : own.trace.python_lines(own.dialect)) { lines.push_back(eval::Value::str(line)); }
        return eval::Value::list(std::move(lines));
      });
    }
    if (name == get_decision) { return method(trace_get_decision); }
    if (name == with_decision) { return method(trace_with_decision); }
    if (name == simplified) { return method(trace_simplified); }
    if (name == apply_to_schedule) { return method(trace_apply); }
    if (name == as_json) {
      return method([](Evaluator&, const eval::Value& s, const Arguments&) {
        return eval::Value::str(schedule::trace_to_json(s.as<TraceObject>()->trace, s.as<TraceObject>()->dialect));
      });
    }
    return {};
  }

 private:
  static auto made(schedule::Trace t, const eval::Value& from) -> eval::Value {
    return eval::Value(Ref<eval::Object>(eval::make_object<TraceObject>(std::move(t), from.as<TraceObject>()->dialect).get()));
  }
  static auto flag(const eval::BoundArguments& bound, size_t i) -> bool {
    const eval::Value& value = bound.values[i].value;
    return value.is_bool() ? value.bool_value() : value.to_int().value_or(0) != 0;
  }

  auto all_instructions() const -> std::vector<eval::Value> {
    std::vector<std::string> lines = trace.python_lines(dialect);
    auto all = trace.instructions();
    std::vector<eval::Value> out;
    for (size_t i = 0; i < all.size() && i < lines.size(); ++i) {
      out.push_back(eval::Value(Ref<eval::Object>(eval::make_object<InstructionObject>(lines[i], std::string(all[i]->primitive->kind), i).get())));
    }
    return out;
  }
  // The decisions of the instructions that sample, by instruction.
  auto all_decisions() const -> eval::Value {
    Ref<eval::Dict> out = eval::make_object<eval::Dict>();
    std::vector<eval::Value> keys = all_instructions();
    auto all = trace.instructions();
    for (size_t i = 0; i < keys.size(); ++i) {
      if (all[i]->primitive->is_sampling) { out->set(keys[i], from_schedule(all[i]->decision)); }
    }
    return eval::Value(Ref<eval::Object>(out.get()));
  }
  static auto trace_get_decision(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
    eval::BoundArguments bound;
    if (!eval::bind_arguments(evaluator, "get_decision", arguments, {{"inst"}}, bound)) { return bound.unknown; }
    const auto decisions = self.as<TraceObject>()->all_decisions();
    const eval::Value* found = decisions.as<eval::Dict>()->find(bound.values[0].value);
    return found ? *found : eval::Value();
  }

  // with_decision(inst, decision, remove_postproc=False): `inst` is a sampling instruction, or its number.
  static auto trace_with_decision(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
    eval::BoundArguments bound;
    if (!eval::bind_arguments(evaluator, "with_decision", arguments, {{"inst"}, {"decision"}, {"remove_postproc", false}}, bound)) { return bound.unknown; }
    const schedule::Trace& trace = self.as<TraceObject>()->trace;
    auto index = bound.values[0].value.to_int();
    if (const auto* instruction = bound.values[0].value.as<InstructionObject>()) { index = static_cast<int64_t>(instruction->index); }
    auto all = trace.instructions();
    bool fits = index && *index >= 0 && *index < static_cast<int64_t>(all.size()) && all[static_cast<size_t>(*index)]->primitive->is_sampling;
    if (!fits) {
      return evaluator.report(error(Code::ArgumentKind, bound.values[0].where).arg("what", eval::describe(bound.values[0].value)).arg("wanted", "the number of an instruction that samples"));
    }
    auto decision = to_schedule(evaluator, bound.values[1]);
    if (!decision) { return eval::Value::error(); }
    schedule::Trace out = trace.with_decision(static_cast<size_t>(*index), std::move(*decision));
    if (!flag(bound, 2)) { return made(std::move(out), self); }
    schedule::Trace cut;
    for (const schedule::Instruction* instruction : out.instructions()) {
      if (instruction->primitive->name == "enter_postproc") { break; }
      cut.append(*instruction);
    }
    return made(std::move(cut), self);
  }
  static auto trace_simplified(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
    eval::BoundArguments bound;
    if (!eval::bind_arguments(evaluator, "simplified", arguments, {{"remove_postproc", false}}, bound)) { return bound.unknown; }
    return made(self.as<TraceObject>()->trace.simplified(flag(bound, 0)), self);
  }
  static auto trace_apply(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
    eval::BoundArguments bound;
    if (!eval::bind_arguments(evaluator, "apply_to_schedule", arguments, {{"sch"}, {"remove_postproc", false}}, bound)) { return bound.unknown; }
    const auto* to = bound.values[0].value.as<ScheduleObject>();
    if (!to) {
      return evaluator.report(error(Code::ArgumentKind, bound.values[0].where).arg("what", eval::describe(bound.values[0].value)).arg("wanted", "a schedule"));
    }
    const schedule::Trace& trace = self.as<TraceObject>()->trace;
    to->record.executed += trace.size();
    Status done = to->schedule.replay(trace, flag(bound, 1));
    if (!done.ok()) { return report_all(evaluator, std::move(done).diagnostics(), arguments.call); }
    return {};
  }
};
const eval::TypeTag TraceObject::type_tag{"trace"};

}  // namespace

const eval::TypeTag VariableObject::type_tag{"variable of a schedule"};
const eval::TypeTag ScheduleObject::type_tag{"tir.Schedule"};

auto trace_value(schedule::Trace trace) -> eval::Value { return eval::Value(Ref<eval::Object>(eval::make_object<TraceObject>(std::move(trace), Dialect::Block).get())); }
auto trace_of(const eval::Value& value) -> const schedule::Trace* {
  const auto* object = value.as<TraceObject>();
  return object ? &object->trace : nullptr;
}

void add_parameter_meant(Diagnostic& d, const schedule::Primitive& primitive, Name keyword, Origin keyword_at) {
  std::vector<Name> names;
  for (const schedule::Param& param : primitive.params) { names.emplace_back(param.name); }
  Name near = eval::closest_name(keyword, names);
  if (near.empty()) { return; }
  d.remedies.insert(d.remedies.begin(), "did you mean `" + near.str() + "`?");
  if (keyword_at.end - keyword_at.begin == keyword.view().size()) { d.fixes.push_back({keyword_at, near.str()}); }
}

auto target_around(const Evaluator& evaluator) -> const Attr* {
  for (size_t i = evaluator.contexts.size(); i-- > 0;) {
    const auto* context = evaluator.contexts[i].as<frontend::AttrObject>();
    if (const Attr* target = context ? target_attr(context->attr) : nullptr) { return target; }
  }
  return nullptr;
}

auto target_text(const Attr& target) -> std::string { return target::text_of(target); }

auto most_vscale(const std::string& target) -> int64_t {
  if (target.empty()) { return 0; }
  auto parsed = target::parse(target);
  return parsed.ok() ? parsed->most_vscale() : 0;
}

void leave_out_call(const eval::Value& callee, const syntax::Expr& written, const Arguments& arguments) {
  if (const auto* method = callee.as<PrimitiveMethod>()) { method->schedule->record.is_unknown = true; }
  if (const auto* method = callee.as<eval::Method>()) {
    // A step on a stage, `cfg["tile"].apply(s, C, y)`.
    const auto* stage = method->self.as<te::StageObject>();
    const auto* schedule = stage != nullptr ? stage->schedule.get() : method->self.as<ScheduleObject>();
    if (schedule != nullptr) { schedule->record.is_unknown = true; }
  } else if (!callee.is_opaque()) {
    return;
  }
  // Functions that check or print change nothing.
  Name name;
  if (const auto* attribute = written.as<syntax::AttributeExpr>()) { name = attribute->attr.name; }
  if (const auto* plain = written.as<syntax::NameExpr>()) { name = plain->name; }
  for (std::string_view harmless : {"assert", "_assert", "verify", "_verify", "check", "_check", "print"}) {
    if (name.view().starts_with(harmless)) { return; }
  }
  for (const Argument& argument : arguments.all) {
    if (const auto* schedule = argument.value.as<ScheduleObject>()) { schedule->record.is_unknown = true; }
  }
}

auto VariableObject::type_name() const -> std::string_view {
  if (variable.as<schedule::BlockRV>()) { return "block"; }
  if (variable.as<schedule::LoopRV>()) { return "loop"; }
  return "integer variable";
}
auto VariableObject::equals(const eval::Object& other) const -> bool {
  const auto* that = other.as<VariableObject>();
  return that && variable == that->variable;
}
auto VariableObject::hash() const -> uint64_t { return hash_bytes(repr()); }
// A sampled integer in an expression becomes a variable with its name, as in traces.
auto VariableObject::binary(Evaluator& evaluator, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<eval::Value> {
  if (!variable.as<schedule::ExprRV>()) { return {}; }
  auto as_expression = [&](const Argument& argument) {
    const auto* sampled = argument.value.as<VariableObject>();
    if (!sampled || !sampled->variable.as<schedule::ExprRV>()) { return argument; }
    Expr var = loopsmith::var(Name(sampled->repr()));
    return Argument{eval::Value(Ref<eval::Object>(eval::make_object<frontend::ExprObject>(std::move(var)).get())), argument.where, argument.keyword};
  };
  if (other.value.as<VariableObject>() && !other.value.as<VariableObject>()->variable.as<schedule::ExprRV>()) { return {}; }
  Argument left = as_expression(reflected ? other : self), right = as_expression(reflected ? self : other);
  return evaluator.binary(op, left, right, where);
}
auto VariableObject::repr() const -> std::string { return schedule::Schedule::name_of(variable); }

auto ScheduleObject::get_attribute(Evaluator& evaluator, Name name, Origin where) const -> std::optional<eval::Value> {
  auto self = Ref<ScheduleObject>(this);
  static const Name trace("trace"), mod("mod");
  if (stages && !(name == trace) && !(name == mod)) { return te::attribute_of_schedule(*this, name); }
  if (const schedule::Primitive* primitive = schedule::find_primitive(name.view())) {
    return eval::Value(Ref<eval::Object>(eval::make_object<PrimitiveMethod>(self, primitive).get()));
  }
  for (const Utility& utility : utilities) {
    if (name == utility.name) {
      return eval::Value(Ref<eval::Object>(eval::make_object<eval::Method>(eval::Value(Ref<eval::Object>(this)), name, utility.run).get()));
    }
  }
  if (name == "trace") { return eval::Value(Ref<eval::Object>(eval::make_object<TraceObject>(schedule.trace(), schedule.module()->dialect).get())); }
  if (name == "func_working_on") { return eval::Value::str(schedule.func_working_on().str()); }
  if (name == "mod") { return eval::Value(Ref<eval::Object>(eval::make_object<frontend::ProgramObject>(schedule.module(), Name("Module"), false, Origin{}).get())); }
  if (name == "state") { return eval::Value::opaque(); }
  return {};
}

void ScheduleObject::attribute_names(std::vector<Name>& out) const {
  if (stages) { return te::attributes_of_schedule(out); }
  schedule_attributes(out);
}

auto ScheduleObject::get_item(Evaluator& evaluator, const std::vector<Argument>& indices, bool, Origin where) const -> std::optional<eval::Value> {
  if (!stages || indices.size() != 1) { return {}; }
  return te::stage_of(evaluator, *this, indices[0], where);
}

void schedule_attributes(std::vector<Name>& out) {
  for (const schedule::Primitive* primitive : schedule::all_primitives()) { out.push_back(Name(primitive->name)); }
  for (const Utility& utility : utilities) { out.push_back(Name(utility.name)); }
  for (const char* name : {"trace", "mod", "func_working_on"}) { out.push_back(Name(name)); }
}

auto ScheduleObject::clone(eval::Cloner& cloner) const -> std::optional<eval::Value> {
  if (const eval::Object* copy = cloner.find(this)) { return eval::Value(Ref<eval::Object>(copy)); }
  auto copy = eval::make_object<ScheduleObject>(schedule);
  copy->stages = stages;
  copy->record.begin_statement(record.step);
  copy->record.executed = record.executed;
  copy->record.part = record.part;
  // Each statement determines again if the followed schedule is known.
  copy->record.is_unknown = record.part != Part::Own && record.is_unknown;
  cloner.remember(this, copy.get());
  return eval::Value(Ref<eval::Object>(copy.get()));
}

auto sref_value(const schedule::Schedule& sch, const schedule::Place& place) -> eval::Value {
  const schedule::State::Found found = sch.state().find(place.id);
  std::vector<Stmt> path;
  for (const schedule::Place* at = found.place; at != nullptr; at = at->parent < 0 ? nullptr : &found.func->places()[static_cast<size_t>(at->parent)]) {
    path.push_back(at->is_block() ? Stmt(Ref<Block>(at->block())) : at->stmt());
  }
  return eval::Value(Ref<eval::Object>(eval::make_object<SRefObject>(std::move(path)).get()));
}

}  // namespace loopsmith::script
