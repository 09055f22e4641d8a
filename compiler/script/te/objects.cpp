// Stages as values: see objects.h.
#include "script/te/objects.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend/lowerer.h"
#include "frontend/objects.h"
#include "ir/ops.h"
#include "script/te/axis_steps.h"
#include "script/te/change.h"
#include "script/te/groups.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::te {
namespace {

using eval::Arguments;
using eval::BoundArguments;
using eval::Evaluator;
using eval::Parameter;

// A call of a method of a stage: its arguments by parameter.
struct Call {
  Evaluator& evaluator;
  const StageObject& self;
  std::string step;
  Origin where;
  BoundArguments bound = {};

  Call(Evaluator& e, const eval::Value& object, std::string name, const Arguments& arguments)
      : evaluator(e), self(*object.as<StageObject>()), step(std::move(name)), where(arguments.call) {}
  [[nodiscard]] auto bind(const Arguments& arguments, const std::vector<Parameter>& parameters) -> bool {
    if (eval::bind_arguments(evaluator, step, arguments, parameters, bound)) { return true; }
    if (bound.unknown.is_unknown()) { schedule().record.is_unknown |= bound.unknown.is_opaque(); }
    if (!bound.unknown.is_opaque()) { schedule().record.is_stage_refused = true; }
    return false;
  }
  [[nodiscard]] auto schedule() const -> const ScheduleObject& { return *self.schedule; }
  [[nodiscard]] auto stages() const -> const Stages& { return *self.schedule->stages; }
  [[nodiscard]] auto stage() const -> const Stage& { return stages().stages[self.stage]; }
  [[nodiscard]] auto is_given(size_t i) const -> bool { return bound.given[i] && !bound.values[i].value.is_none(); }
  auto refuse(const Reason& why, std::string remedy = {}) const -> eval::Value {
    return te::refuse(evaluator, schedule(), where, step, stage().name.view(), why, std::move(remedy));
  }
  // The value of a call that reported, or whose arguments are not known.
  auto failed(size_t reported) const -> eval::Value {
    if (evaluator.diagnostics.size() > reported) {
      schedule().record.is_stage_refused = true;
      return eval::Value::error();
    }
    schedule().record.is_unknown = true;
    return eval::Value::opaque();
  }
  auto change(const std::function<void(Stages&)>& make) const -> bool { return te::change(evaluator, schedule(), where, make); }
  // False: the stage has no loops that a step could change, which is reported.
  [[nodiscard]] auto has_loops() const -> bool {
    const Stage& s = stage();
    if (s.is_placeholder) { refuse(because(Why::Input), "cache it: `s.cache_read(...)`"); return false; }
    if (s.place == Stage::Place::Inline) { refuse(because(Why::Inline), fmt::format("call `s[{}].compute_root()` first", s.name.view())); return false; }
    if (s.blocks.empty() && !s.made_by) {
      const bool is_scan = s.op->kind == expressions::Operation::Kind::Scan;
      refuse(because(Why::NoLoops), is_scan ? "apply it to the stages of its `init` and `update`" : "apply steps to the stages that read it");
      return false;
    }
    return true;
  }
};

auto axis_value(const Stages& stages, size_t axis) -> eval::Value { return eval::Value(eval::make_object<frontend::IterVarObject>(stages.axes[axis].iter)); }
auto axis_name(const Stages& stages, size_t axis) -> std::string { return stages.axes[axis].iter.var->name.str(); }

// A factor of `split` and `tile`; none: reported, or not known.
auto to_factor(const Call& call, const eval::Argument& argument) -> std::optional<int64_t> {
  if (argument.value.is_unknown()) { return std::nullopt; }
  auto factor = argument.value.to_int();
  if (!factor) {
    call.evaluator.report(error(Code::ArgumentKind, argument.where).arg("wanted", "an integer").arg("what", eval::describe(argument.value)));
  } else if (*factor < 1) {
    call.evaluator.report(error(Code::BadValue, argument.where).arg("action", "use this factor").arg("reason", because(Why::FactorTooSmall).arg("factor", *factor).text()).remedy("give the number of iterations of the new axis"));
    return std::nullopt;
  }
  return factor;
}

// ---- steps on axes -------------------------------------------------------------------------------------------------

// A stage that is computed at an axis would lose its place. False: reported.
auto is_free(const Call& call, const std::vector<size_t>& axes) -> bool {
  for (const Stage& other : call.stages().stages) {
    bool is_here = other.place == Stage::Place::At && std::find(axes.begin(), axes.end(), other.at_axis) != axes.end();
    if (!is_here) { continue; }
    call.refuse(because(Why::StageAtAxis).arg("stage", other.name.view()).arg("axis", axis_name(call.stages(), other.at_axis)), "compute that stage at the innermost of the axes, or apply this step before that `compute_at`");
    return false;
  }
  return true;
}

auto split(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "split", a);
  size_t reported = e.diagnostics.size();
  if (!call.bind(a, {{"parent"}, {"factor", false}, {"nparts", false}, {"disable_predication", false}})) { return call.bound.unknown; }
  if (!call.has_loops()) { return eval::Value::error(); }
  if (call.is_given(1) == call.is_given(2)) { return call.refuse(because(Why::FactorOrParts), "give `factor`, the extent of the inner axis"); }
  auto axis = to_axis(e, call.schedule(), "split", call.self.stage, call.bound.values[0]);
  auto factor = axis ? to_factor(call, call.bound.values[call.is_given(1) ? 1 : 2]) : std::nullopt;
  if (!factor) { return call.failed(reported); }
  std::pair<size_t, size_t> made;
  if (!call.change([&](Stages& s) { made = split_axis(s, *axis, *factor, !call.is_given(1), located(call.schedule(), call.where)); })) { return eval::Value::error(); }
  return eval::Value::tuple({axis_value(call.stages(), made.first), axis_value(call.stages(), made.second)});
}

auto tile(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "tile", a);
  size_t reported = e.diagnostics.size();
  if (!call.bind(a, {{"x_parent"}, {"y_parent"}, {"x_factor"}, {"y_factor"}})) { return call.bound.unknown; }
  if (!call.has_loops()) { return eval::Value::error(); }
  auto x = to_axis(e, call.schedule(), "tile", call.self.stage, call.bound.values[0]);
  auto y = x ? to_axis(e, call.schedule(), "tile", call.self.stage, call.bound.values[1]) : std::nullopt;
  auto x_factor = y ? to_factor(call, call.bound.values[2]) : std::nullopt;
  auto y_factor = x_factor ? to_factor(call, call.bound.values[3]) : std::nullopt;
  if (!y_factor) { return call.failed(reported); }
  if (*x == *y) { return call.refuse(because(Why::AxesEqual)); }
  std::vector<size_t> made;
  bool is_done = call.change([&](Stages& s) {
    Origin at = located(call.schedule(), call.where);
    auto [xo, xi] = split_axis(s, *x, *x_factor, false, at);
    auto [yo, yi] = split_axis(s, *y, *y_factor, false, at);
    made = {xo, yo, xi, yi};
    reorder_axes(s, call.self.stage, made, at);
  });
  if (!is_done) { return eval::Value::error(); }
  std::vector<eval::Value> out;
  for (size_t axis : made) { out.push_back(axis_value(call.stages(), axis)); }
  return eval::Value::tuple(std::move(out));
}

// The axes of `fuse(i, j)` and `reorder(i, j)`, also in one list; none: reported, or not known.
auto axes_of(const Call& call, const Arguments& a) -> std::optional<std::vector<size_t>> {
  std::vector<eval::Argument> given;
  for (const eval::Argument& one : a.all) {
    if (const auto* items = one.value.items()) {
      for (const eval::Value& item : *items) { given.push_back({item, one.where, {}}); }
    } else {
      given.push_back(one);
    }
  }
  std::vector<size_t> out;
  for (const eval::Argument& one : given) {
    auto axis = to_axis(call.evaluator, call.schedule(), call.step, call.self.stage, one);
    if (!axis) { return std::nullopt; }
    if (std::find(out.begin(), out.end(), *axis) != out.end()) {
      call.refuse(because(Why::AxisTwice).arg("axis", axis_name(call.stages(), *axis)), "name each axis once");
      return std::nullopt;
    }
    out.push_back(*axis);
  }
  return out;
}

auto fuse(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "fuse", a);
  size_t reported = e.diagnostics.size();
  if (!call.has_loops()) { return eval::Value::error(); }
  auto axes = axes_of(call, a);
  if (!axes) { return call.failed(reported); }
  if (axes->empty()) { return call.refuse(because(Why::NoAxes)); }
  if (axes->size() == 1) { return axis_value(call.stages(), axes->front()); }
  const auto& leaves = call.stage().leaves;
  auto first = std::find(leaves.begin(), leaves.end(), axes->front());
  bool is_adjacent = static_cast<size_t>(leaves.end() - first) >= axes->size() && std::equal(axes->begin(), axes->end(), first);
  if (!is_adjacent) { return call.refuse(because(Why::AxesNotAdjacent), "`reorder` them first"); }
  // A stage that is computed at the innermost of the axes is computed at the fused one then, as in TVM.
  if (!is_free(call, {axes->begin(), axes->end() - 1})) { return eval::Value::error(); }
  size_t fused = 0;
  bool is_done = call.change([&](Stages& s) { fused = fuse_axes(s, *axes, located(call.schedule(), call.where)); });
  return is_done ? axis_value(call.stages(), fused) : eval::Value::error();
}

auto reorder(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "reorder", a);
  size_t reported = e.diagnostics.size();
  if (!call.has_loops()) { return eval::Value::error(); }
  auto axes = axes_of(call, a);
  if (!axes) { return call.failed(reported); }
  bool is_done = call.change([&](Stages& s) { reorder_axes(s, call.self.stage, *axes, located(call.schedule(), call.where)); });
  return is_done ? eval::Value() : eval::Value::error();
}

// ---- marks of loops ------------------------------------------------------------------------------------------------

auto mark(const Call& call, const eval::Argument& axis, std::string primitive, std::vector<schedule::Value> values) -> eval::Value {
  size_t reported = call.evaluator.diagnostics.size();
  if (!call.has_loops()) { return eval::Value::error(); }
  auto found = to_axis(call.evaluator, call.schedule(), call.step, call.self.stage, axis);
  if (!found) { return call.failed(reported); }
  bool is_done = call.change([&](Stages& s) { mark_axis(s, *found, std::move(primitive), std::move(values), located(call.schedule(), call.where)); });
  return is_done ? eval::Value() : eval::Value::error();
}

template <const char* const& name>
auto plain_mark(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, name, a);
  if (!call.bind(a, {{"var"}})) { return call.bound.unknown; }
  return mark(call, call.bound.values[0], name, {});
}
constexpr const char* parallel = "parallel";
constexpr const char* vectorize = "vectorize";
constexpr const char* unroll = "unroll";

auto bind(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "bind", a);
  if (!call.bind(a, {{"ivar"}, {"thread_ivar"}})) { return call.bound.unknown; }
  const auto* thread = call.bound.values[1].value.as<expressions::ThreadAxisObject>();
  if (!thread) {
    call.schedule().record.is_stage_refused = true;
    return e.report(error(Code::ArgumentKind, call.bound.values[1].where).arg("wanted", "a thread axis").arg("what", eval::describe(call.bound.values[1].value)).remedy("give `te.thread_axis(\"threadIdx.x\")`"));
  }
  std::string tag = thread->tag_of_thread;
  if (tag == "vthread") {
    // Several axes of a stage may be bound to virtual threads; blocks number them.
    auto taken = std::count_if(call.stage().steps.begin(), call.stage().steps.end(), [](const AxisStep& one) {
      const auto* text = one.primitive == "bind" ? one.values[0].as<std::string>() : nullptr;
      return text && text->starts_with("vthread");
    });
    if (taken > 2) { return call.refuse(because(Why::VirtualThreads)); }
    tag += std::string(".") + "xyz"[taken];
  }
  return mark(call, call.bound.values[0], "bind", {tag});
}

// C source of a pragma whose functions can be read; null: another pragma, or text for a compiler. The first construct of C source that is not read gets a warning.
auto source_of(const Call& call, const std::string& pragma, const eval::Argument& given) -> std::shared_ptr<const frontend::CSource> {
  const std::string* text = given.value.string();
  if (!text || (pragma != "import_c" && pragma != "import_llvm") || text->find("__device__") != std::string::npos) { return nullptr; }
  auto source = std::make_shared<const frontend::CSource>(*text);
  if (source->functions().empty()) { return nullptr; }
  const auto problem = source->problem();
  if (!problem) { return source; }
  Diagnostic d = error(Code::ScheduleNotFollowed, given.where).arg("name", problem->function).arg("from", "")
                     .arg("reason", because(Why::CNotRead).arg("line", problem->line).arg("what", problem->what).text())
                     .remedy("write the function with loops, conditions and assignments, or link a library that defines it");
  d.severity = Severity::Warning;
  call.evaluator.report(std::move(d));
  return nullptr;
}

auto pragma(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "pragma", a);
  size_t reported = e.diagnostics.size();
  if (!call.bind(a, {{"var"}, {"pragma_type"}, {"pragma_value", false}})) { return call.bound.unknown; }
  const std::string* type = call.bound.values[1].value.string();
  if (!type) { return call.refuse(because(Why::ArgumentNoString).arg("argument", "pragma_type"), "give its name, such as `\"auto_unroll_max_step\"`"); }
  auto source = source_of(call, *type, call.bound.values[2]);
  reported = e.diagnostics.size();
  if (source) {
    if (!call.has_loops()) { return eval::Value::error(); }
    auto axis = to_axis(e, call.schedule(), "pragma", call.self.stage, call.bound.values[0]);
    if (!axis) { return call.failed(reported); }
    return call.change([&](Stages& s) { s.sources.push_back({source, *type, *axis, located(call.schedule(), call.where)}); }) ? eval::Value() : eval::Value::error();
  }
  schedule::Value value = 1;
  if (call.is_given(2)) {
    auto given = to_schedule(e, call.bound.values[2]);
    if (!given) { return call.failed(reported); }
    value = std::move(*given);
  }
  return mark(call, call.bound.values[0], "annotate", {"pragma_" + *type, std::move(value)});
}

// `s[C].prefetch(A, i, 2)`: while an iteration of `i` runs, what the one after the next reads of `A` is fetched.
auto prefetch(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "prefetch", a);
  size_t reported = e.diagnostics.size();
  if (!call.bind(a, {{"tensor"}, {"var"}, {"offset"}})) { return call.bound.unknown; }
  if (!call.has_loops()) { return eval::Value::error(); }
  auto stage = to_stages(e, call.schedule(), call.bound.values[0]);
  auto axis = stage && stage->size() == 1 ? to_axis(e, call.schedule(), "prefetch", call.self.stage, call.bound.values[1]) : std::nullopt;
  if (!axis) { return call.failed(reported); }
  if (!reads(call.stages(), call.self.stage, stage->front())) {
    return call.refuse(because(Why::PrefetchNotRead).arg("tensor", call.stages().stages[stage->front()].name.view()), "name a tensor that the stage reads");
  }
  const auto offset = call.bound.values[2].value.to_int();
  if (!offset && call.bound.values[2].value.is_unknown()) { return call.failed(reported); }
  if (!offset || *offset < 1) { return call.refuse(because(Why::PrefetchOffset), "give the number of iterations, such as 1"); }
  const auto* tensor = call.bound.values[0].value.as<expressions::TensorObject>();
  const size_t output = tensor ? tensor->index : 0;
  const bool is_done = call.change([&](Stages& s) {
    mark_axis(s, *axis, "annotate", {*offset}, located(call.schedule(), call.where));
    s.stages[call.self.stage].steps.back().prefetched = std::pair(stage->front(), output);
  });
  return is_done ? eval::Value() : eval::Value::error();
}

auto tensorize(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "tensorize", a);
  if (!call.bind(a, {{"var"}, {"tensor_intrin"}})) { return call.bound.unknown; }
  const std::string* name = call.bound.values[1].value.string();
  if (name) { return mark(call, call.bound.values[0], "tensorize", {*name}); }
  const size_t reported = e.diagnostics.size();
  const auto* declared = call.bound.values[1].value.as<expressions::DeclaredIntrinsic>();
  if (!declared) {
    call.schedule().record.is_stage_refused = true;
    return e.report(error(Code::ArgumentKind, call.bound.values[1].where).arg("wanted", "a tensor intrinsic").arg("what", eval::describe(call.bound.values[1].value))
                        .remedy("give the result of `te.decl_tensor_intrin`, or the name of a registered intrinsic"));
  }
  for (const Diagnostic& one : declared->parts.why_not) { e.report(one); }
  if (!declared->parts.why_not.empty()) { return call.failed(reported); }
  if (!call.has_loops()) { return eval::Value::error(); }
  auto axis = to_axis(e, call.schedule(), "tensorize", call.self.stage, call.bound.values[0]);
  if (!axis) { return call.failed(reported); }
  bool is_done = call.change([&](Stages& s) { tensorize_axis(s, *axis, *declared, located(call.schedule(), call.where)); });
  return is_done ? eval::Value() : eval::Value::error();
}

// ---- places --------------------------------------------------------------------------------------------------------

auto compute_at(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "compute_at", a);
  size_t reported = e.diagnostics.size();
  if (!call.bind(a, {{"parent"}, {"scope"}})) { return call.bound.unknown; }
  const Stage& stage = call.stage();
  if (stage.is_placeholder || (stage.blocks.empty() && !stage.made_by)) { (void)call.has_loops(); return eval::Value::error(); }
  const auto* parent = call.bound.values[0].value.as<StageObject>();
  if (!parent) {
    if (call.bound.values[0].value.is_unknown()) { return call.failed(reported); }
    call.schedule().record.is_stage_refused = true;
    return e.report(error(Code::ArgumentKind, call.bound.values[0].where).arg("wanted", "a stage").arg("what", eval::describe(call.bound.values[0].value)).remedy("give the stage: `s[...]`"));
  }
  const Stage& consumer = call.stages().stages[parent->stage];
  if (stage.is_output) { return call.refuse(because(Why::OutputNotRead), "compute the stages that it reads at one of its axes"); }
  if (stage.blocks.size() > 1 && !stage.steps.empty()) { return call.refuse(because(Why::SeveralBlocks), "call `compute_at` before the other steps of the stage"); }
  if (consumer.place == Stage::Place::Inline) { return call.refuse(because(Why::StageInline).arg("stage", consumer.name.view()), fmt::format("call `s[{}].compute_root()` first", consumer.name.view())); }
  if (!reads(call.stages(), parent->stage, call.self.stage)) { return call.refuse(because(Why::StageDoesNotRead).arg("stage", consumer.name.view()), "name a stage that reads it"); }
  auto axis = to_axis(e, call.schedule(), "compute_at", parent->stage, call.bound.values[1]);
  if (!axis) { return call.failed(reported); }
  bool is_done = call.change([&](Stages& s) { place_at(s, call.self.stage, *axis, located(call.schedule(), call.where)); });
  return is_done ? self : eval::Value::error();
}

auto compute_inline(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "compute_inline", a);
  if (!call.bind(a, {})) { return call.bound.unknown; }
  const Stage& stage = call.stage();
  if (stage.is_placeholder || (stage.blocks.empty() && !stage.made_by)) { (void)call.has_loops(); return eval::Value::error(); }
  if (stage.is_output) { return call.refuse(because(Why::Output), "compute inline the stages that it reads"); }
  if (const auto* intrinsic = stage.op->intrinsic.as<expressions::DeclaredIntrinsic>()) { return call.refuse(because(Why::ComputedByIntrinsic).arg("intrinsic", intrinsic->name.view()), "use `compute_at`"); }
  if (!stage.steps.empty()) { return call.refuse(because(Why::LoopsChangedBefore), "remove those steps"); }
  if (!is_free(call, stage.leaves)) { return eval::Value::error(); }
  bool is_done = call.change([&](Stages& s) {
    s.stages[call.self.stage].place = Stage::Place::Inline;
    s.stages[call.self.stage].placed = located(call.schedule(), call.where);
  });
  return is_done ? self : eval::Value::error();
}

auto compute_root(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "compute_root", a);
  if (!call.bind(a, {})) { return call.bound.unknown; }
  return call.change([&](Stages& s) { s.stages[call.self.stage].place = Stage::Place::Root; }) ? self : eval::Value::error();
}

// ---- properties of blocks and buffers ------------------------------------------------------------------------------

auto block_step(const Call& call, std::string primitive, std::vector<schedule::Value> values) -> eval::Value {
  if (!call.has_loops()) { return eval::Value::error(); }
  bool is_done = call.change([&](Stages& s) { s.stages[call.self.stage].block_steps.push_back({std::move(primitive), std::move(values), located(call.schedule(), call.where)}); });
  return is_done ? eval::Value() : eval::Value::error();
}

auto storage_align(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "storage_align", a);
  size_t reported = e.diagnostics.size();
  if (!call.bind(a, {{"axis"}, {"factor"}, {"offset"}})) { return call.bound.unknown; }
  const auto* axis = call.bound.values[0].value.as<frontend::IterVarObject>();
  auto found = axis ? call.stages().axis_of(axis->iter) : std::nullopt;
  const auto& axes = call.stage().axes;
  auto at = found ? std::find(axes.begin(), axes.end(), *found) : axes.end();
  if (at == axes.end()) { return call.refuse(because(Why::AxisOfOperation), fmt::format("give one of `s[{}].op.axis`", call.stage().name.view())); }
  auto factor = call.bound.values[1].value.to_int(), offset = call.bound.values[2].value.to_int();
  if (!factor || !offset) { return call.bound.values[1].value.is_unknown() || call.bound.values[2].value.is_unknown() ? call.failed(reported) : call.refuse(because(Why::FactorAndOffset)); }
  return block_step(call, "storage_align", {0, static_cast<int64_t>(at - axes.begin()), *factor, *offset});
}
auto double_buffer(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "double_buffer", a);
  if (!call.bind(a, {})) { return call.bound.unknown; }
  return block_step(call, "annotate", {"double_buffer_scope", 0});
}
auto set_scope(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "set_scope", a);
  if (!call.bind(a, {{"scope"}})) { return call.bound.unknown; }
  const std::string* scope = call.bound.values[0].value.string();
  return scope ? block_step(call, "set_scope", {0, *scope}) : call.refuse(because(Why::ArgumentNoString).arg("argument", "scope"), "give a storage scope, such as `\"shared\"`");
}

// `s[scan].env_threads([block_x, thread_x])`: the threads that the steps of a scan share. Each step binds its own axes to them, so nothing else is to be done.
auto env_threads(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "env_threads", a);
  size_t reported = e.diagnostics.size();
  if (!call.bind(a, {{"threads"}})) { return call.bound.unknown; }
  const eval::Argument& given = call.bound.values[0];
  if (given.value.is_unknown()) { return call.failed(reported); }
  std::vector<eval::Value> threads{given.value};
  if (const auto* items = given.value.items()) { threads = *items; }
  for (const eval::Value& one : threads) {
    if (one.is_unknown()) { return call.failed(reported); }
    if (one.as<expressions::ThreadAxisObject>()) { continue; }
    call.schedule().record.is_stage_refused = true;
    return e.report(error(Code::ArgumentKind, given.where).arg("wanted", "thread axes").arg("what", eval::describe(one)).remedy("give a list of axes: `[te.thread_axis(\"threadIdx.x\")]`"));
  }
  if (call.stage().op->kind != expressions::Operation::Kind::Scan) { return call.refuse(because(Why::NoStageThreads), "`bind` the axes of the stage"); }
  return {};
}

// ---- steps without a primitive -------------------------------------------------------------------------------------

struct Untranslated { const char* name; Why why; const char* remedy; };
constexpr Untranslated untranslated[] = {
    {"rolling_buffer", Why::RollUnknown, "use `sch.rolling_buffer` in a schedule of blocks"},
    {"transform_layout", Why::LayoutAxes, "use `sch.transform_layout` in a schedule of blocks"},
};
// `s[B].set_store_predicate(tx.var.equal(0))`: lowering stores the result of a reduction over threads once, so this predicate of such a reduction is met already.
auto set_store_predicate(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  Call call(e, self, "set_store_predicate", a);
  if (!call.bind(a, {{"predicate"}})) { return call.bound.unknown; }
  const auto* given = call.bound.values[0].value.as<frontend::ExprObject>();
  const auto* equal = given ? given->expr.as<EQ>() : nullptr;
  const auto* thread = equal && is_zero(equal->b) ? equal->a.as<VarNode>() : nullptr;
  const bool is_met = thread && std::any_of(call.stage().steps.begin(), call.stage().steps.end(), [&](const AxisStep& one) {
    const auto* tag = one.primitive == "bind" ? one.values[0].as<std::string>() : nullptr;
    return tag && *tag == thread->name.view() && call.stages().axes[one.inputs[0]].is_reduction;
  });
  if (is_met) { return {}; }
  return call.refuse(because(Why::OtherStorePredicate), "write the condition in `te.compute` with `te.if_then_else`");
}
template <size_t row>
auto refused_method(Evaluator& e, const eval::Value& self, const Arguments& a) -> eval::Value {
  return Call(e, self, untranslated[row].name, a).refuse(because(untranslated[row].why), untranslated[row].remedy);
}

struct Method { const char* name; eval::Method::Run run; };
constexpr Method methods[] = {
    {"split", split}, {"tile", tile}, {"fuse", fuse}, {"reorder", reorder}, {"parallel", plain_mark<parallel>}, {"vectorize", plain_mark<vectorize>},
    {"unroll", plain_mark<unroll>}, {"bind", bind}, {"pragma", pragma}, {"tensorize", tensorize}, {"compute_at", compute_at}, {"compute_inline", compute_inline},
    {"compute_root", compute_root}, {"storage_align", storage_align}, {"double_buffer", double_buffer}, {"set_scope", set_scope},
    {"prefetch", prefetch}, {"env_threads", env_threads}, {"set_store_predicate", set_store_predicate}, {"rolling_buffer", refused_method<0>},
    {"transform_layout", refused_method<1>},
};

// `s.normalize()` gives every loop the begin 0, which loops here always have.
auto normalize(Evaluator&, const eval::Value& self, const Arguments&) -> eval::Value { return self; }
constexpr Method schedule_methods[] = {{"cache_read", cache_read}, {"cache_write", cache_write}, {"rfactor", rfactor}, {"create_group", create_group}, {"normalize", normalize}};

}  // namespace

const eval::TypeTag StageObject::type_tag{"a stage"};

auto StageObject::get_attribute(Evaluator& evaluator, Name name, Origin where) const -> std::optional<eval::Value> {
  static const Name op("op"), leaves("leaf_iter_vars"), all("all_iter_vars"), origin_op("origin_op");
  const Stages& stages = *schedule->stages;
  const Stage& own = stages.stages[stage];
  if (name == op || name == origin_op) { return eval::Value(own.op); }
  if (name == leaves || name == all) {
    std::vector<eval::Value> out;
    for (size_t axis : own.leaves) { out.push_back(axis_value(stages, axis)); }
    return eval::Value::list(std::move(out));
  }
  for (const Method& method : methods) {
    if (name == method.name) { return eval::Value(eval::make_object<eval::Method>(eval::Value(Ref<eval::Object>(this)), name, method.run)); }
  }
  // TVM's stages have more attributes, so only a misspelled one is an error.
  std::vector<Name> known;
  for (const Method& method : methods) { known.emplace_back(method.name); }
  const Name near = eval::closest_name(name, known);
  if (near.empty()) { return {}; }
  return refuse(evaluator, *schedule, where, name.view(), own.name.view(), because(Why::NoSuchStep), fmt::format("did you mean `{}`?", near.view()));
}
void StageObject::attribute_names(std::vector<Name>& out) const {
  for (const Method& method : methods) { out.emplace_back(method.name); }
  for (const char* name : {"op", "leaf_iter_vars"}) { out.emplace_back(name); }
}
auto StageObject::clone(eval::Cloner& cloner) const -> std::optional<eval::Value> {
  eval::Value copied = cloner.clone(eval::Value(Ref<eval::Object>(schedule.get())));
  return eval::Value(eval::make_object<StageObject>(Ref<ScheduleObject>(copied.as<ScheduleObject>()), stage));
}
auto StageObject::equals(const eval::Object& other) const -> bool {
  const auto* that = other.as<StageObject>();
  return that && that->stage == stage && that->schedule == schedule;
}
auto StageObject::repr() const -> std::string { return "<stage " + schedule->stages->stages[stage].name.str() + ">"; }

auto attribute_of_schedule(const ScheduleObject& schedule, Name name) -> std::optional<eval::Value> {
  static const Name all("stages"), outputs("outputs");
  if (name == all || name == outputs) {
    std::vector<eval::Value> out;
    for (size_t i = 0; i < schedule.stages->stages.size(); ++i) {
      const Stage& stage = schedule.stages->stages[i];
      if (name == all) { out.emplace_back(eval::make_object<StageObject>(Ref<ScheduleObject>(&schedule), i)); } else if (stage.is_output) { out.emplace_back(stage.op); }
    }
    return eval::Value::list(std::move(out));
  }
  for (const Method& method : schedule_methods) {
    if (name == method.name) { return eval::Value(eval::make_object<eval::Method>(eval::Value(Ref<eval::Object>(&schedule)), name, method.run)); }
  }
  return {};
}
void attributes_of_schedule(std::vector<Name>& out) {
  for (const Method& method : schedule_methods) { out.emplace_back(method.name); }
  for (const char* name : {"trace", "mod", "stages", "outputs"}) { out.emplace_back(name); }
}

auto stage_of(Evaluator& evaluator, const ScheduleObject& schedule, const eval::Argument& argument, Origin where) -> eval::Value {
  if (argument.value.is_opaque()) {
    schedule.record.is_unknown = true;
    return eval::Value::opaque();
  }
  auto found = to_stages(evaluator, schedule, {argument.value, where, {}});
  if (!found || found->size() != 1) { return eval::Value::error(); }
  return eval::Value(eval::make_object<StageObject>(Ref<ScheduleObject>(&schedule), found->front()));
}

}  // namespace loopsmith::script::te
