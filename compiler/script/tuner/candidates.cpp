// Candidates, results and extractors for cost models: see candidates.h.
#include "script/tuner/candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "script/objects.h"
#include "script/tuner/local_functions.h"
#include "script/tuner/members.h"
#include "script/tuner/numbers.h"
#include "script/tuner/pieces.h"
#include "support/codes.h"

namespace loopsmith::script {
namespace {

using eval::Argument;
using eval::Arguments;
using eval::Evaluator;
using eval::Value;

/// `TensorInfo` of each buffer parameter.
auto tensors_of(const schedule::Schedule& sch) -> Value {
  std::vector<Value> out;
  const PrimFunc func = sch.module()->find(sch.func_working_on());
  if (!func) { return Value::list({}); }
  for (const auto& [param, buffer] : func->buffer_map) {
    std::vector<Value> shape;
    for (const Expr& extent : buffer->shape) {
      const auto* number = extent.as<IntImm>();
      shape.push_back(number ? Value(number->value) : Value::opaque());
    }
    auto info = eval::make_object<eval::Namespace>(Name("TensorInfo"), any_name);
    add_member(info, "dtype", Value::str(buffer->dtype.str()));
    add_member(info, "shape", Value::tuple(std::move(shape)));
    out.push_back(value_of(info));
  }
  return Value::list(std::move(out));
}

/// `PerStoreFeature()`. Its only method is `extract_from`.
class Extractor final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  Extractor() : Object(&type_tag) {}
  auto get_attribute(Evaluator& e, Name member, Origin where) const -> std::optional<Value> override {
    if (member.view() != "extract_from") { return e.opaque(where); }
    return value_of(eval::make_object<eval::Method>(Value(Ref<eval::Object>(this)), member, extract));
  }
  void attribute_names(std::vector<Name>& out) const override { out.emplace_back("extract_from"); }
  auto repr() const -> std::string override { return "PerStoreFeature()"; }

 private:
  static auto extract(Evaluator& e, const Value&, const Arguments& given) -> Value {
    eval::BoundArguments bound;
    if (!eval::bind_arguments(e, "extract_from", given, {{"context"}, {"candidates"}}, bound)) { return bound.unknown; }
    const auto* items = bound.values[1].value.items();
    std::vector<Value> out;
    for (const Value& item : items ? *items : std::vector<Value>()) {
      const auto* candidate = item.as<CandidateObject>();
      if (!candidate) { return e.report(error(Code::WrongType, bound.values[1].where).arg("expected", "a list of candidates").arg("found", "a list with " + eval::describe(item))); }
      if (!e.may_go_on(given.call)) { return Value::error(); }
      out.push_back(candidate->features());
    }
    if (!items) { return e.report(error(Code::WrongType, bound.values[1].where).arg("expected", "a list of candidates").arg("found", eval::describe(bound.values[1].value))); }
    return Value::list(std::move(out));
  }
};
const eval::TypeTag Extractor::type_tag{"extractor of features"};

auto per_store_feature(Evaluator& e, const Arguments& given) -> Value {
  const std::pair<const char*, Value> defaults[] = {{"buffers_per_store", 5}, {"arith_intensity_curve_num_samples", 10}, {"cache_line_bytes", 64}, {"extract_workload", false}};
  std::vector<eval::Parameter> parameters;
  for (const auto& [name, value] : defaults) { parameters.push_back({Name(name), false}); }
  eval::BoundArguments bound;
  if (!eval::bind_arguments(e, "PerStoreFeature", given, parameters, bound)) { return bound.unknown; }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!bound.given[i] || bound.values[i].value.equals(defaults[i].second)) { continue; }
    return e.report(error(Code::WrongType, bound.values[i].where).arg("expected", fmt::format("{}, the only value of `{}`", defaults[i].second.repr(), defaults[i].first)).arg("found", eval::describe(bound.values[i].value)));
  }
  return value_of(eval::make_object<Extractor>());
}

/// The first argument of a method `create`, or the one named `kind`; the others stay in `rest`.
auto kind_argument(const Arguments& given, Arguments& rest) -> const std::string* {
  const Argument* kind = given.positional > 0 ? &given.all[0] : given.keyword(Name("kind"));
  rest = given;
  if (!kind) { return nullptr; }
  rest.all.erase(rest.all.begin() + (kind - given.all.data()));
  if (given.positional > 0) { --rest.positional; }
  return kind->value.string();
}
auto no_such_kind(Evaluator& e, const Arguments& given, const char* known) -> Value {
  return e.report(error(Code::WrongType, given.all.empty() ? given.call : given.all[0].where).arg("expected", known).arg("found", given.all.empty() ? "nothing" : eval::describe(given.all[0].value)));
}

auto create_extractor(Evaluator& e, const Arguments& given) -> Value {
  Arguments rest;
  const std::string* kind = kind_argument(given, rest);
  return kind && *kind == "per-store-feature" ? per_store_feature(e, rest) : no_such_kind(e, given, "\"per-store-feature\"");
}

auto load_file(Evaluator& e, const Value& self, const Arguments& given) -> Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(e, "load", given, {{"path"}}, bound)) { return bound.unknown; }
  const std::string* path = bound.values[0].value.string();
  if (!path) { return e.report(error(Code::WrongType, bound.values[0].where).arg("expected", "a path").arg("found", eval::describe(bound.values[0].value))); }
  self.as<ModelChoice>()->file = *path;
  return {};
}

// TVM's numbers of these models are taken and have no effect: the tuner's models have their own.
auto choice(const char* model) -> Value { return value_of(eval::make_object<ModelChoice>(model)); }
auto xgb_model(Evaluator&, const Arguments&) -> Value { return choice("xgboost"); }
auto mlp_model(Evaluator&, const Arguments&) -> Value { return choice("mlp"); }
auto random_model(Evaluator&, const Arguments&) -> Value { return choice("random"); }
auto create_model(Evaluator& e, const Arguments& given) -> Value {
  Arguments rest;
  const std::string* kind = kind_argument(given, rest);
  if (kind && *kind == "xgb") { return xgb_model(e, rest); }
  if (kind && *kind == "mlp") { return mlp_model(e, rest); }
  if (kind && *kind == "random") { return random_model(e, rest); }
  if (kind && *kind == "none") { return {}; }
  return no_such_kind(e, given, R"("xgb", "mlp", "random" or "none")");
}

auto with_create(const char* name, eval::Builtin::Run create) -> Value {
  auto type = eval::make_object<eval::Namespace>(Name(name), any_name);
  add_member(type, "create", builtin("create", create));
  return value_of(type);
}

}  // namespace

const eval::TypeTag CandidateObject::type_tag{"candidate"};
const eval::TypeTag ModelChoice::type_tag{"cost model"};

auto CandidateObject::features() const -> const Value& {
  if (!features_) {
    std::vector<double> all;
    const FeatureRows rows = extract && *extract ? (*extract)(sch) : FeatureRows();
    for (const std::vector<double>& row : rows) { all.insert(all.end(), row.begin(), row.end()); }
    features_ = number_array(std::move(all), rows.empty() ? 0 : rows.front().size());
  }
  return *features_;
}

auto CandidateObject::get_attribute(Evaluator& e, Name member, Origin where) const -> std::optional<Value> {
  if (member.view() == "sch") { return value_of(eval::make_object<ScheduleObject>(sch)); }
  if (member.view() == "args_info") { return tensors_of(sch); }
  return e.opaque(where);
}
void CandidateObject::attribute_names(std::vector<Name>& out) const {
  for (const char* name : {"sch", "args_info"}) { out.emplace_back(name); }
}

auto arguments_of(const schedule::Schedule& sch) -> Value { return tensors_of(sch); }

auto runner_result(std::optional<double> seconds) -> Value {
  auto out = eval::make_object<eval::Namespace>(Name("RunnerResult"), any_name);
  add_member(out, "run_secs", seconds ? Value::list({Value(*seconds)}) : Value());
  add_member(out, "error_msg", seconds ? Value() : Value::str("the candidate failed"));
  return value_of(out);
}

auto ModelChoice::get_attribute(Evaluator& e, Name member, Origin where) const -> std::optional<Value> {
  if (member.view() != "load") { return e.opaque(where); }
  return value_of(eval::make_object<eval::Method>(Value(Ref<eval::Object>(this)), member, load_file));
}
void ModelChoice::attribute_names(std::vector<Name>& out) const { out.emplace_back("load"); }

auto model_names_of_tvm() -> const std::vector<std::pair<Name, Value>>& {
  static thread_local const std::vector<std::pair<Name, Value>> all = {
      {Name("CostModel"), with_create("CostModel", create_model)},
      {Name("XGBModel"), builtin("XGBModel", xgb_model)},
      {Name("MLPModel"), builtin("MLPModel", mlp_model)},
      {Name("RandomModel"), builtin("RandomModel", random_model)},
      {Name("FeatureExtractor"), with_create("FeatureExtractor", create_extractor)},
      {Name("PerStoreFeature"), builtin("PerStoreFeature", per_store_feature)},
  };
  return all;
}

namespace {

auto result_of(Evaluator& e, const char* name, const char* value, const Arguments& given) -> Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(e, name, given, {{Name(value)}, {Name("error_msg")}}, bound)) { return bound.unknown; }
  auto out = eval::make_object<eval::Namespace>(Name(name), any_name);
  add_member(out, value, bound.values[0].value);
  add_member(out, "error_msg", bound.values[1].value);
  return value_of(out);
}
auto make_builder_result(Evaluator& e, const Arguments& given) -> Value { return result_of(e, "BuilderResult", "artifact_path", given); }
auto make_runner_result(Evaluator& e, const Arguments& given) -> Value { return result_of(e, "RunnerResult", "run_secs", given); }

/// An `EvaluatorConfig`, also as the dictionary of its members, by which the command line of a search names it.
auto config_of(const Value& given) -> Value {
  const auto* dict = given.as<eval::Dict>();
  if (!dict) { return given; }
  auto out = eval::make_object<eval::Namespace>(Name("EvaluatorConfig"), any_name);
  for (const auto& [key, value] : dict->entries()) {
    if (key.string()) { add_member(out, *key.string(), value); }
  }
  return value_of(out);
}

// The tuner's own workers, which take TVM's limits of time. The tuner chooses the numbers of repetitions itself, so an `EvaluatorConfig` has no effect.
auto local(Evaluator& e, PieceKind kind, const Arguments& given, std::initializer_list<const char*> names) -> Value {
  eval::BoundArguments bound;
  std::vector<eval::Parameter> parameters;
  for (const char* one : names) { parameters.push_back({Name(one), false}); }
  if (!eval::bind_arguments(e, kind == PieceKind::Builder ? "LocalBuilder" : "LocalRunner", given, parameters, bound)) { return bound.unknown; }
  double limit = 0;
  Value alloc_argument;
  LocalArguments functions;
  // Their workers call the functions that surround a build or a measurement only where the file replaces that, too.
  const std::string_view first = kind == PieceKind::Builder ? "" : "f_run_evaluator";
  auto is_replaced = [&] { return std::any_of(functions.begin(), functions.end(), [&](const auto& one) { return first.empty() ? one.first.view().starts_with("f_") : one.first.view() == first; }); };
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string_view name = parameters[i].name.view();
    const Argument& one = bound.values[i];
    const bool has_no_effect = name == "evaluator_config" || name == "max_workers" || (name == "alloc_repeat" && one.value.to_int() == 1) || (name == "cooldown_sec" && one.value.to_float() == 0.0);
    if (name == "evaluator_config" && bound.given[i]) { functions.emplace_back(parameters[i].name, config_of(one.value)); }
    if (!bound.given[i] || one.value.is_none() || has_no_effect) { continue; }
    const auto wrong = [&](std::string expected) { return e.report(error(Code::WrongType, one.where).arg("expected", std::move(expected)).arg("found", eval::describe(one.value))); };
    if (name == "timeout_sec") {
      limit = one.value.to_float().value_or(0);
      if (!(limit > 0 && limit <= 86400)) { return wrong("`timeout_sec` as a number of seconds above 0"); }
    } else if (name == "f_alloc_argument") {
      if (!one.value.as<eval::Function>()) { return wrong("`f_alloc_argument` as a function by `def` at the top of the file"); }
      alloc_argument = one.value;
      functions.emplace_back(parameters[i].name, one.value);
    } else if (one.value.as<eval::Function>()) {
      functions.emplace_back(parameters[i].name, one.value);
    } else {
      return wrong(fmt::format("`{}` as a function by `def` at the top of the file", name));
    }
  }
  if (is_replaced()) { return piece_of_functions(kind, functions); }
  for (const auto& [name, value] : functions) {
    if (name.view() == "evaluator_config" || name.view() == "f_alloc_argument") { continue; }
    return e.report(error(Code::WrongType, bound.values[static_cast<size_t>(std::find_if(parameters.begin(), parameters.end(), [&](const auto& one) { return one.name == name; }) - parameters.begin())].where)
                        .arg("expected", fmt::format("`{}` as well (the tuner's own workers call no functions)", kind == PieceKind::Builder ? "f_build" : "f_run_evaluator"))
                        .arg("found", fmt::format("`{}` alone", name.view())));
  }
  return value_of(eval::make_object<LocalWorkers>(kind, limit, std::move(alloc_argument)));
}
auto local_builder(Evaluator& e, const Arguments& given) -> Value {
  return local(e, PieceKind::Builder, given, {"max_workers", "timeout_sec", "f_build", "f_export", "initializer"});
}
auto local_runner(Evaluator& e, const Arguments& given) -> Value {
  return local(e, PieceKind::Runner, given, {"timeout_sec", "evaluator_config", "cooldown_sec", "alloc_repeat", "f_alloc_argument", "f_run_evaluator", "f_cleanup", "initializer", "max_workers"});
}
auto evaluator_config(Evaluator& e, const Arguments& given) -> Value {
  const std::vector<eval::Parameter> parameters = {{Name("number"), false}, {Name("repeat"), false}, {Name("min_repeat_ms"), false}, {Name("enable_cpu_cache_flush"), false}};
  eval::BoundArguments bound;
  if (!eval::bind_arguments(e, "EvaluatorConfig", given, parameters, bound)) { return bound.unknown; }
  auto out = eval::make_object<eval::Namespace>(Name("EvaluatorConfig"), any_name);
  const Value usual[] = {Value(int64_t{3}), Value(int64_t{1}), Value(int64_t{100}), Value(false)};
  for (size_t i = 0; i < parameters.size(); ++i) { add_member(out, parameters[i].name.view(), bound.given[i] ? bound.values[i].value : usual[i]); }
  return value_of(out);
}

}  // namespace

const eval::TypeTag LocalWorkers::type_tag{"local workers"};

auto runner_names_of_tvm() -> const std::vector<std::pair<Name, Value>>& {
  const auto base = [](PieceKind kind, const char* name) { return value_of(eval::make_object<PieceClass>(kind, Name(name), PieceClass::Origins::Base)); };
  static thread_local const std::vector<std::pair<Name, Value>> all = {
      {Name("PyBuilder"), base(PieceKind::Builder, "PyBuilder")},
      {Name("BuilderResult"), builtin("BuilderResult", make_builder_result)},
      {Name("LocalBuilder"), builtin("LocalBuilder", local_builder)},
      {Name("PyRunner"), base(PieceKind::Runner, "PyRunner")},
      {Name("PyRunnerFuture"), base(PieceKind::Runner, "PyRunnerFuture")},
      {Name("RunnerResult"), builtin("RunnerResult", make_runner_result)},
      {Name("LocalRunner"), builtin("LocalRunner", local_runner)},
      {Name("EvaluatorConfig"), builtin("EvaluatorConfig", evaluator_config)},
  };
  return all;
}

void add_runners(const Ref<eval::Namespace>& ms) {
  auto builders = eval::make_object<eval::Namespace>(Name("ms.builder"), any_name);
  auto runners = eval::make_object<eval::Namespace>(Name("ms.runner"), any_name);
  for (const auto& [name, value] : runner_names_of_tvm()) { add_member(name.view().find("Builder") != std::string_view::npos ? builders : runners, name.view(), value); }
  add_member(ms, "builder", value_of(builders));
  add_member(ms, "runner", value_of(runners));
}

void add_models(const Ref<eval::Namespace>& ms, const Value& base) {
  auto models = eval::make_object<eval::Namespace>(Name("ms.cost_model"), any_name);
  auto extractors = eval::make_object<eval::Namespace>(Name("ms.feature_extractor"), any_name);
  add_member(models, "PyCostModel", base);
  add_member(models, "create", builtin("create", create_model));
  add_member(extractors, "create", builtin("create", create_extractor));
  for (const auto& [name, value] : model_names_of_tvm()) {
    const bool is_extractor = name.view() == "FeatureExtractor" || name.view() == "PerStoreFeature";
    add_member(is_extractor ? extractors : models, name.view(), value);
    // TVM exports these two classes from `meta_schedule` itself.
    if (name.view() == "CostModel" || name.view() == "FeatureExtractor") { add_member(ms, name.view(), value); }
  }
  add_member(ms, "cost_model", value_of(models));
  add_member(ms, "feature_extractor", value_of(extractors));
}

}  // namespace loopsmith::script
