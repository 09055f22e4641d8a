// Rules that files write: see custom_rules.h.
#include "script/auto_scheduler/custom_rules.h"

#include <fmt/format.h>

#include "script/auto_scheduler/dag.h"
#include "script/auto_scheduler/state_values.h"
#include "script/file_calls.h"
#include "support/guards.h"
#include "support/reasons.h"

namespace loopsmith::script::auto_scheduler {
namespace {

using eval::Arguments;
using eval::Evaluator;
using eval::Value;

// `PreloadCustomSketchRule`: its calls matter only to a search.
class RuleType final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  RuleType() : Object(&type_tag) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& evaluator, const Arguments& arguments) const -> std::optional<Value> override { return evaluator.opaque(arguments.call); }
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    static const Name pass("PASS"), apply("APPLY"), rest("APPLY_AND_SKIP_REST");
    if (name == pass) { return Value(0); }
    if (name == apply) { return Value(1); }
    return name == rest ? std::optional(Value(2)) : std::nullopt;
  }
  void attribute_names(std::vector<Name>& out) const override {
    for (const char* name : {"PASS", "APPLY", "APPLY_AND_SKIP_REST"}) { out.emplace_back(name); }
  }
  auto repr() const -> std::string override { return "<class PreloadCustomSketchRule>"; }
};
const eval::TypeTag RuleType::type_tag{"a class of rules"};

// The policy that a rule gets: `search_policy.search_task.compute_dag`.
class PolicyObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit PolicyObject(Value d) : Object(&type_tag), dag(std::move(d)) {}
  const Value dag;
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    static const Name task("search_task"), own("compute_dag");
    if (name == task) { return Value(Ref<eval::Object>(this)); }
    return name == own ? std::optional(dag) : std::nullopt;
  }
  void attribute_names(std::vector<Name>& out) const override {
    for (const char* name : {"search_task", "compute_dag"}) { out.emplace_back(name); }
  }
  auto repr() const -> std::string override { return "<a search policy>"; }
};
const eval::TypeTag PolicyObject::type_tag{"a search policy"};

// The functions of one rule, and the arguments of their calls.
struct CustomRule {
  frontend::File& file;
  std::string name;
  Value condition, apply, policy;
  std::shared_ptr<const std::vector<Value>> tensors;
  std::shared_ptr<std::string> failure;

  // The result of one of the functions; unknown: it failed, and the reason is kept.
  auto call(const Value& function, const State& state, size_t stage) const -> Value {
    Evaluator& evaluator = file.evaluator();
    evaluator.reset_steps();
    const WithoutReports reported(evaluator.diagnostics);
    const size_t before = evaluator.diagnostics.size();
    Value result = evaluator.call(function, {policy, Value(eval::make_object<StateObject>(state, tensors)), Value(static_cast<int64_t>(stage))});
    evaluator.reset_steps();
    if (reported.any()) {
      fail(evaluator.diagnostics[before].message());
      return Value::error();
    }
    if (result.is_unknown()) { fail(because(Why::CallsOpaquePython).text()); }
    return result;
  }
  void fail(const std::string& why) const {
    if (failure->empty()) { *failure = because(Why::RuleFails).arg("rule", name).arg("cause", why).text(); }
  }

  auto answer(const State& state, size_t stage) const -> Condition {
    const Value result = call(condition, state, stage);
    const auto number = result.to_int();
    if (!number && !result.is_unknown()) { fail(because(Why::ConditionOfRule).text()); }
    return number == 1 ? Condition::Apply : number == 2 ? Condition::ApplyAndSkipRest : Condition::Skip;
  }
  // Reads a pair `[state, stage]` that a rule returned; none: another value.
  static auto visit_of(const Value& pair) -> std::optional<Visit> {
    const auto* items = pair.items();
    const auto* state = items && items->size() == 2 ? (*items)[0].as<StateObject>() : nullptr;
    const auto next = state ? (*items)[1].to_int() : std::nullopt;
    if (!next || *next >= static_cast<int64_t>(state->state.stages().size())) { return std::nullopt; }
    return Visit{state->state, *next};
  }
  // One pair, or a list of them.
  auto visits(const State& state, size_t stage) const -> std::vector<Visit> {
    const Value result = call(apply, state, stage);
    if (auto only = visit_of(result)) { return {*std::move(only)}; }
    std::vector<Visit> out;
    for (const Value& one : result.items() ? *result.items() : std::vector<Value>()) {
      auto visit = visit_of(one);
      if (visit) { out.push_back(*std::move(visit)); }
    }
    if (out.empty() && !result.is_unknown()) { fail(because(Why::VisitsOfRule).text()); }
    return out;
  }
};

auto state_itself(Evaluator& e, const Arguments& a) -> Value { return a.all.empty() ? e.opaque(a.call) : a.all[0].value; }

}  // namespace

auto custom_rules(frontend::File& file, const Task& task, const Prepared& prepared, const std::shared_ptr<std::string>& failure) -> std::vector<SketchRule> {
  static const Name rule_name("PreloadCustomSketchRule");
  auto tensors = std::make_shared<const std::vector<Value>>(task.tensors);
  const Value policy(eval::make_object<PolicyObject>(Value(eval::make_object<DagObject>(tensors, prepared))));
  std::vector<SketchRule> out;
  each_call(file, [&](const syntax::CallExpr& call) {
    const syntax::Expr* condition = last_name(*call.callee) == rule_name ? written_argument(call, 0, "meet_condition_func") : nullptr;
    const syntax::Expr* apply = condition ? written_argument(call, 1, "apply_func") : nullptr;
    if (!apply) { return false; }
    const syntax::Expr* given_name = written_argument(call, 2, "rule_name");
    const Value name = given_name ? value_in_file(file, *given_name) : Value();
    auto rule = std::make_shared<const CustomRule>(
        CustomRule{file, name.string() ? *name.string() : last_name(*apply).str(), value_in_file(file, *condition), value_in_file(file, *apply), policy, tensors, failure});
    if (!rule->condition.as<eval::Function>() || !rule->apply.as<eval::Function>()) {
      rule->fail(because(Why::FunctionsOfRule).text());
      return false;
    }
    out.push_back({rule->name, [rule](const State& state, size_t stage) { return rule->answer(state, stage); }, [rule](const State& state, size_t stage) { return rule->visits(state, stage); }});
    return false;
  });
  return out;
}

auto custom_rule_type() -> Value { return Value(eval::make_object<RuleType>()); }

auto loop_state_namespace() -> Value {
  auto made = eval::make_object<eval::Namespace>(Name("auto_scheduler.loop_state"));
  const_cast<eval::Namespace&>(*made).add(Name("State"), Value(eval::make_object<eval::Builtin>(Name("State"), state_itself)));
  return Value(made);
}

}  // namespace loopsmith::script::auto_scheduler
