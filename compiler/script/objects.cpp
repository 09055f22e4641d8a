// Schedules as script values: see objects.h.
#include "script/objects.h"

#include <algorithm>
#include <cstdlib>

#include "frontend/objects.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "ir/ops.h"
#include "schedule/trace_json.h"
#include "support/codes.h"
#include "support/hash.h"
#include "target/target.h"

namespace loopsmith::script {
namespace {

using eval::Argument;
using eval::Arguments;
using eval::Evaluator;

auto bridge() -> Bridge& {
  static auto* the_bridge = new Bridge;
  return *the_bridge;
}

// Deepest nesting of lists handed to a primitive.
constexpr int max_list_depth = 16;

auto convert(Evaluator& evaluator, const Argument& argument, int depth) -> std::optional<schedule::Value> {
  const eval::Value& value = argument.value;
  if (value.is_unknown()) { return {}; }
  if (value.is_none()) { return schedule::Value(); }
  if (value.is_bool()) { return schedule::Value(value.bool_value()); }
  if (value.is_int()) { return schedule::Value(value.int_value()); }
  if (value.is_float()) { return schedule::Value(value.float_value()); }
  if (const std::string* text = value.string()) { return schedule::Value(*text); }
  if (const auto* variable = value.as<VariableObject>()) { return variable->variable; }
  if (depth > max_list_depth) {
    evaluator.report(error(Code::ArgumentTooDeep, argument.where));
    return {};
  }
  if (const auto* items = value.items()) {
    schedule::Value::List list;
    for (const eval::Value& item : *items) {
      auto converted = convert(evaluator, {item, argument.where, {}}, depth + 1);
      if (!converted) { return {}; }
      list.push_back(std::move(*converted));
    }
    return schedule::Value(std::move(list));
  }
  if (const auto* dict = value.as<eval::Dict>()) {
    schedule::Value::Dict out;
    for (const auto& [key, item] : dict->entries()) {
      const std::string* name = key.string();
      auto converted = convert(evaluator, {item, argument.where, {}}, depth + 1);
      if (!converted) { return {}; }
      if (!name) {
        evaluator.report(error(Code::ArgumentKind, argument.where).arg("what", eval::describe(key)).arg("wanted", "a string as key"));
        return {};
      }
      out.emplace_back(*name, std::move(*converted));
    }
    return schedule::Value(std::move(out));
  }
  if (bridge().to_schedule) {
    if (auto converted = bridge().to_schedule(evaluator, argument)) { return converted; }
  }
  evaluator.report(error(Code::ArgumentKind, argument.where)
                       .arg("what", eval::describe(value))
                       .arg("wanted", "a block, loop, number, string, list or index map"));
  return {};
}


// What a call names and is not there may be another name written wrong: a block's or a parameter's.
auto with_name_meant(Diagnostic d, const Arguments& arguments, const ScheduleObject& object, const schedule::Primitive& primitive) -> Diagnostic {
  auto given = [&](std::string_view name) {
    auto found = std::find_if(d.args.begin(), d.args.end(), [&](const auto& arg) { return arg.first == name; });
    return found == d.args.end() ? std::string() : found->second;
  };
  // What is not written there as it is (a variable has it) is no text to be replaced.
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
      // Nothing is near to a letter; where there is one block, that is the one.
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
    size_t said = evaluator.diagnostics.size();
    // Where nothing is reported, what was to be handed over is not known: the step was not made, and the schedule is not known either.
    auto failed = [&] {
      if (evaluator.diagnostics.size() > said) { return eval::Value::error(); }
      schedule->is_unknown = true;
      return eval::Value::opaque();
    };
    for (size_t i = 0; i < arguments.all.size(); ++i) {
      const Argument& argument = arguments.all[i];
      auto value = convert(evaluator, argument, 0);
      if (!value) { return argument.value.is_error() ? eval::Value::error() : failed(); }
      if (i < arguments.positional) { converted.positional.push_back(std::move(*value)); }
      else { converted.keyword.emplace_back(argument.keyword.str(), std::move(*value)); }
    }
    // Of one that is followed elsewhere, and is not known here any more, nothing is.
    bool is_other = schedule->part == ScheduleObject::Part::Other;
    if (is_other && schedule->is_unknown) { return eval::Value::opaque(); }
    Origin call = arguments.call;
    call.step = schedule->step;
    ++schedule->executed;
    IRModule before = schedule->schedule.module();
    if (const Attr* target = target_around(evaluator)) { schedule->schedule.use_vscale(most_vscale(target_text(*target))); }
    Result<schedule::Value> result = schedule->schedule.apply(*primitive, converted, call);
    if (!result.ok()) {
      if (result.diagnostics().empty() || is_other) { return failed(); }
      schedule->refused = ScheduleObject::Refused{primitive, std::move(converted), call};
      for (Diagnostic& d : std::move(result).diagnostics()) {
        if (!d.where.is_known()) { d.where = call; }
        evaluator.report(with_name_meant(std::move(d), arguments, *schedule, *primitive));
      }
      return eval::Value::error();
    }
    // A step with results may be there for those.
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

// The utilities beside the primitives, as TVM names them.
auto schedule_copy(Evaluator&, const eval::Value& self, const Arguments&) -> eval::Value {
  auto copy = eval::make_object<ScheduleObject>(self_of(self).schedule.fork());
  copy->step = self_of(self).step;
  copy->is_unknown = self_of(self).is_unknown;
  if (self_of(self).part == ScheduleObject::Part::Other) { copy->part = ScheduleObject::Part::Other; }
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

auto schedule_get(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "get", arguments, {{"rand_var"}}, bound)) { return bound.unknown; }
  const auto* variable = bound.values[0].value.as<VariableObject>();
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
// Would it be accepted? Nothing is changed.
auto schedule_can_decompose_padding(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "can_decompose_padding", arguments, {{"block"}, {"loop"}}, bound)) { return bound.unknown; }
  std::vector<schedule::Value> values;
  for (const Argument& argument : bound.values) {
    auto value = convert(evaluator, argument, 0);
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

// "2min", "90s", 30: seconds. None: no length of time.
auto seconds_of(const eval::Value& value) -> std::optional<double> {
  std::string text = value.string() ? *value.string() : value.is_int() ? std::to_string(value.int_value()) : value.is_float() ? float_text(value.float_value()) : std::string();
  char* end = nullptr;
  double seconds = std::strtod(text.c_str(), &end);
  std::string_view unit(end);
  if (end == text.c_str() || !(seconds > 0) || seconds > 1e7) { return {}; }
  if (unit.empty() || unit == "s" || unit == "sec") { return seconds; }
  if (unit == "m" || unit == "min") { return seconds * 60; }
  if (unit == "h") { return seconds * 3600; }
  return {};
}
// A hole that a search is to fill: remembered, and nothing else.
auto schedule_tune(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "tune", arguments, {{"budget", false}, {"trials", false}}, bound)) { return bound.unknown; }
  Hole hole{.call = arguments.call};
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
  self_of(self).hole = hole;
  return {};
}

struct Utility { const char* name; eval::Method::Run run; };
constexpr Utility utilities[] = {
    {"copy", schedule_copy}, {"seed", schedule_seed}, {"work_on", schedule_work_on}, {"get", schedule_get}, {"get_sref", schedule_get},
    {"can_decompose_padding", schedule_can_decompose_padding}, {"show", schedule_show}, {"fork_seed", schedule_fork_seed}, {"remove_rv", schedule_remove_rv},
    {"tune", schedule_tune},
};

// `sch.trace`: what was done so far, to be shown.
class TraceObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  TraceObject(schedule::Trace t, Dialect d) : Object(&type_tag), trace(std::move(t)), dialect(d) {}
  const schedule::Trace trace;
  const Dialect dialect;   // of the module: how blocks are spelled
  auto repr() const -> std::string override { return trace.python(dialect); }
  /// The same instructions on variables with the same numbering, and the same decisions.
  auto equals(const eval::Object& other) const -> bool override {
    const auto* that = other.as<TraceObject>();
    return that && schedule::trace_to_json(trace) == schedule::trace_to_json(that->trace);
  }
  auto hash() const -> uint64_t override { return hash_bytes(schedule::trace_to_json(trace)); }
  void attribute_names(std::vector<Name>& out) const override {
    for (const char* name : {"show", "as_json", "as_python", "insts", "with_decision", "simplified", "apply_to_schedule"}) { out.push_back(Name(name)); }
  }
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<eval::Value> override {
    static const Name show("show"), as_json("as_json"), as_python("as_python"), insts("insts"), with_decision("with_decision"), simplified("simplified"),
        apply_to_schedule("apply_to_schedule");
    if (name == insts) {
      std::vector<eval::Value> lines;
      for (const std::string& line : trace.python_lines(dialect)) { lines.push_back(eval::Value::str(line)); }
      return eval::Value::list(std::move(lines));
    }
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

  // with_decision(inst, decision, remove_postproc=False): `inst` is the number of an instruction that samples.
  static auto trace_with_decision(Evaluator& evaluator, const eval::Value& self, const Arguments& arguments) -> eval::Value {
    eval::BoundArguments bound;
    if (!eval::bind_arguments(evaluator, "with_decision", arguments, {{"inst"}, {"decision"}, {"remove_postproc", false}}, bound)) { return bound.unknown; }
    const schedule::Trace& trace = self.as<TraceObject>()->trace;
    auto index = bound.values[0].value.to_int();
    auto all = trace.instructions();
    bool fits = index && *index >= 0 && *index < static_cast<int64_t>(all.size()) && all[static_cast<size_t>(*index)]->primitive->is_sampling;
    if (!fits) {
      return evaluator.report(error(Code::ArgumentKind, bound.values[0].where).arg("what", eval::describe(bound.values[0].value)).arg("wanted", "the number of an instruction that samples"));
    }
    auto decision = convert(evaluator, bound.values[1], 0);
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
    to->executed += trace.size();
    Status done = to->schedule.replay(trace, flag(bound, 1));
    if (!done.ok()) { return report_all(evaluator, std::move(done).diagnostics(), arguments.call); }
    return {};
  }
};
const eval::TypeTag TraceObject::type_tag{"trace"};

}  // namespace

const eval::TypeTag VariableObject::type_tag{"variable of a schedule"};
const eval::TypeTag ScheduleObject::type_tag{"tir.Schedule"};

void add_parameter_meant(Diagnostic& d, const schedule::Primitive& primitive, Name keyword, Origin keyword_at) {
  std::vector<Name> names;
  for (const schedule::Param& param : primitive.params) { names.emplace_back(param.name); }
  Name near = eval::closest_name(keyword, names);
  if (near.empty()) { return; }
  d.remedies.insert(d.remedies.begin(), "did you mean `" + near.str() + "`?");
  if (keyword_at.end - keyword_at.begin == keyword.view().size()) { d.fixes.push_back({keyword_at, near.str()}); }
}

void set_bridge(Bridge b) { bridge() = std::move(b); }

auto target_around(const Evaluator& evaluator) -> const Attr* {
  for (size_t i = evaluator.contexts.size(); i-- > 0;) {
    const auto* context = evaluator.contexts[i].as<frontend::AttrObject>();
    if (const Attr* target = context ? target_attr(context->attr) : nullptr) { return target; }
  }
  return nullptr;
}

auto target_text(const Attr& target) -> std::string {
  // With a host behind it, or by itself.
  if (const auto* list = target.list()) { return list->empty() ? std::string() : target_text((*list)[0]); }
  auto kind_of = [](const std::string& text) { return text.starts_with("nvidia/") ? std::string("cuda") : text; };
  if (const auto* text = std::get_if<std::string>(&target.value)) { return kind_of(*text); }
  const auto* options = std::get_if<AttrMap>(&target.value);
  if (!options) { return {}; }
  std::string kind = "llvm", text;
  for (const auto& [key, value] : *options) {
    std::string joined;
    if (const auto* one = std::get_if<std::string>(&value.value)) { joined = *one; }
    else if (!value.list()) { joined = print_script(value); }
    for (const Attr& item : value.list() ? *value.list() : Array<Attr>()) {
      if (const auto* part = std::get_if<std::string>(&item.value)) { joined += (joined.empty() ? "" : ",") + *part; }
    }
    if (key == "kind" || key == "tag") { kind = kind_of(joined); }
    else if (key != "host" && !joined.empty()) { text += " -" + key.str() + "=" + joined; }
  }
  return kind + text;
}

auto most_vscale(const std::string& target) -> int64_t {
  if (target.empty()) { return 0; }
  auto parsed = target::parse(target);
  return parsed.ok() ? parsed->most_vscale() : 0;
}

void leave_out_call(const eval::Value& callee, const syntax::Expr& written, const Arguments& arguments) {
  if (const auto* method = callee.as<PrimitiveMethod>()) { method->schedule->is_unknown = true; }
  if (!callee.is_opaque()) { return; }
  // What checks and prints changes nothing.
  Name name;
  if (const auto* attribute = written.as<syntax::AttributeExpr>()) { name = attribute->attr.name; }
  if (const auto* plain = written.as<syntax::NameExpr>()) { name = plain->name; }
  for (std::string_view harmless : {"assert", "_assert", "verify", "_verify", "check", "_check", "print"}) {
    if (name.view().starts_with(harmless)) { return; }
  }
  for (const Argument& argument : arguments.all) {
    if (const auto* schedule = argument.value.as<ScheduleObject>()) { schedule->is_unknown = true; }
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
// A sampled integer in an expression is a variable of its name, as traces write it.
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

auto to_schedule(Evaluator& evaluator, const Argument& argument) -> std::optional<schedule::Value> { return convert(evaluator, argument, 0); }

auto from_schedule(const schedule::Value& value) -> eval::Value {
  if (const auto* items = value.as<schedule::Value::List>()) {
    std::vector<eval::Value> out;
    for (const schedule::Value& item : *items) { out.push_back(from_schedule(item)); }
    return eval::Value::list(std::move(out));
  }
  if (const auto* b = value.as<bool>()) { return eval::Value(*b); }
  if (const auto* i = value.as<int64_t>()) { return eval::Value(*i); }
  if (const auto* d = value.as<double>()) { return eval::Value(*d); }
  if (const auto* s = value.as<std::string>()) { return eval::Value::str(*s); }
  if (value.as<schedule::BlockRV>() || value.as<schedule::LoopRV>() || value.as<schedule::ExprRV>()) {
    return eval::Value(Ref<eval::Object>(eval::make_object<VariableObject>(value).get()));
  }
  return {};
}

auto ScheduleObject::get_attribute(Evaluator& evaluator, Name name, Origin where) const -> std::optional<eval::Value> {
  auto self = Ref<ScheduleObject>(this);
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
  if (name == "mod") { return bridge().module_value ? bridge().module_value(schedule.module()) : eval::Value::opaque(); }
  if (name == "state") { return eval::Value::opaque(); }
  return {};
}

void ScheduleObject::attribute_names(std::vector<Name>& out) const { schedule_attributes(out); }

void schedule_attributes(std::vector<Name>& out) {
  for (const schedule::Primitive* primitive : schedule::all_primitives()) { out.push_back(Name(primitive->name)); }
  for (const Utility& utility : utilities) { out.push_back(Name(utility.name)); }
  for (const char* name : {"trace", "mod", "func_working_on"}) { out.push_back(Name(name)); }
}

auto ScheduleObject::clone(eval::Cloner& cloner) const -> std::optional<eval::Value> {
  if (const eval::Object* copy = cloner.find(this)) { return eval::Value(Ref<eval::Object>(copy)); }
  auto copy = eval::make_object<ScheduleObject>(schedule);
  copy->step = step;
  copy->executed = executed;
  copy->part = part;
  // Of the one that is followed, each statement finds out anew.
  copy->is_unknown = part != Part::Own && is_unknown;
  cloner.remember(this, copy.get());
  return eval::Value(Ref<eval::Object>(copy.get()));
}

}  // namespace loopsmith::script
