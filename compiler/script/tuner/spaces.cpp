// Spaces, default lists and searches as values of scripts: see spaces.h.
#include "script/tuner/spaces.h"

#include <array>

#include <fmt/format.h>

#include "script/tuner/default_lists.h"
#include "script/tuner/members.h"
#include "script/tuner/pieces.h"
#include "support/codes.h"
#include "support/guards.h"
#include "syntax/document.h"

namespace loopsmith::script {
namespace {

using eval::Argument;
using eval::Arguments;
using eval::Evaluator;
using eval::Parameter;
using eval::Value;

/// The evaluated text of a list. Its names are TVM's.
auto evaluate_list(Evaluator& evaluator, const std::string& text) -> Value {
  syntax::Document document("_ = " + text + "\n");
  const auto* assign = document.items()[0].item->statements[0]->as<syntax::AssignStmt>();
  const eval::ScopeRef scope = evaluator.new_scope({});
  syntax::walk(*assign->value, [&](const syntax::Node& node) {
    const auto* name = node.as<syntax::NameExpr>();
    const Value* known = name ? tvm_piece(name->name) : nullptr;
    if (known) { scope->set(name->name, *known); }
    return true;
  });
  Temporarily tree(evaluator.tree, std::shared_ptr<const void>(document.items()[0].item));
  return evaluator.eval(*assign->value, scope);
}

/// `ScheduleRule.create("llvm")` and its like.
auto create_list(Evaluator& evaluator, const Arguments& given, PieceKind pieces, std::string_view callee) -> Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, callee, given, {{"kind"}}, bound)) { return bound.unknown; }
  const std::string* kind = bound.values[0].value.string();
  const std::string text = kind ? default_list(pieces, *kind) : std::string();
  if (!text.empty()) { return evaluate_list(evaluator, text); }
  std::string known;
  for (std::string_view one : default_list_kinds()) { known += (known.empty() ? "\"" : ", \"") + std::string(one) + "\""; }
  return evaluator.report(error(Code::WrongType, bound.values[0].where).arg("expected", "one of " + known).arg("found", eval::describe(bound.values[0].value)));
}
auto create_rules(Evaluator& evaluator, const Arguments& given) -> Value { return create_list(evaluator, given, PieceKind::ScheduleRule, "ScheduleRule.create"); }
auto create_postprocs(Evaluator& evaluator, const Arguments& given) -> Value { return create_list(evaluator, given, PieceKind::Postproc, "Postproc.create"); }
auto create_mutators(Evaluator& evaluator, const Arguments& given) -> Value { return create_list(evaluator, given, PieceKind::Mutator, "Mutator.create"); }

auto make_space(Evaluator& evaluator, const Arguments& given, SpaceGenerator::Form form, std::string_view callee, std::vector<Parameter> parameters) -> Value {
  for (const char* name : {"sch_rules", "postprocs", "mutator_probs"}) { parameters.push_back({Name(name), false}); }
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, callee, given, parameters, bound)) { return bound.unknown; }
  SpaceGenerator::Members members;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!bound.given[i] || bound.values[i].value.is_none()) { continue; }
    if (bound.values[i].value.is_unknown()) { return bound.values[i].value.is_error() ? Value::error() : evaluator.opaque(bound.values[i].where); }
    const bool is_function = parameters[i].name == Name("f_block_filter") || parameters[i].name == Name("sch_fn");
    if (is_function && !bound.values[i].value.as<eval::Function>()) {
      return evaluator.report(error(Code::WrongType, bound.values[i].where).arg("expected", "a function").arg("found", eval::describe(bound.values[i].value)));
    }
    members.emplace_back(parameters[i].name, bound.values[i].value);
  }
  return value_of(eval::make_object<SpaceGenerator>(form, std::move(members)));
}
auto post_order_apply(Evaluator& evaluator, const Arguments& given) -> Value {
  return make_space(evaluator, given, SpaceGenerator::Form::PostOrderApply, "PostOrderApply", {{"f_block_filter", false}});
}
auto schedule_fn(Evaluator& evaluator, const Arguments& given) -> Value { return make_space(evaluator, given, SpaceGenerator::Form::ScheduleFn, "ScheduleFn", {{"sch_fn"}}); }
auto space_union(Evaluator& evaluator, const Arguments& given) -> Value {
  return make_space(evaluator, given, SpaceGenerator::Form::Union, "SpaceGeneratorUnion", {{"space_generators"}});
}

// `SpaceGenerator.create("post-order-apply", sch_rules=...)`, `create("union", ...)`, or `create(function)`.
auto create_space(Evaluator& evaluator, const Arguments& given) -> Value {
  const Argument* kind = given.positional > 0 ? &given.all[0] : given.keyword(Name("kind"));
  if (!kind) { return evaluator.report(error(Code::TooFewArguments, given.call).arg("callee", "SpaceGenerator.create").arg("count", "1").arg("given", "0")
                                           .remedy("name the kind of space, as in `SpaceGenerator.create(\"post-order-apply\")`")); }
  if (kind->value.as<eval::Function>()) {
    Arguments of_function = given;
    if (given.positional == 0) { of_function.all[static_cast<size_t>(kind - given.all.data())].keyword = Name("sch_fn"); }
    return schedule_fn(evaluator, of_function);
  }
  const std::string* word = kind->value.string();
  Arguments rest = given;
  rest.all.erase(rest.all.begin() + (kind - given.all.data()));
  if (given.positional > 0) { --rest.positional; }
  if (word && *word == "post-order-apply") { return post_order_apply(evaluator, rest); }
  if (word && *word == "union") { return space_union(evaluator, rest); }
  return evaluator.report(error(Code::WrongType, kind->where).arg("expected", "\"post-order-apply\", \"union\" or a function").arg("found", eval::describe(kind->value)));
}

/// A parameter of a search; numbers out of its range are errors, as in TVM.
struct SearchParameter { const char* name; double usual, least, most; bool is_whole; };

// A search is a text here: its name, and the parameters that differ from the usual ones, as `--search` takes them.
auto evolutionary_search(Evaluator& evaluator, const Arguments& given) -> Value {
  constexpr std::array<SearchParameter, 8> known = {{{"population_size", 512, 1, 65536, true}, {"init_measured_ratio", 0.2, 0, 1, false}, {"init_min_unmeasured", 50, 0, 65536, true},
                                                     {"max_fail_count", 5, 1, 1000, true}, {"genetic_num_iters", 4, 0, 1000, true}, {"genetic_mutate_prob", 0.85, 0, 1, false},
                                                     {"genetic_max_fail_count", 10, 1, 1000, true}, {"eps_greedy", 0.05, 0, 1, false}}};
  std::vector<Parameter> parameters;
  for (const SearchParameter& one : known) { parameters.push_back({Name(one.name), false}); }
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "EvolutionarySearch", given, parameters, bound)) { return bound.unknown; }
  std::string numbers;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!bound.given[i]) { continue; }
    const Value& value = bound.values[i].value;
    const auto number = value.to_float();
    const bool fits = number && *number >= known[i].least && *number <= known[i].most && (!known[i].is_whole || value.to_int());
    if (!fits) {
      return evaluator.report(error(Code::WrongType, bound.values[i].where).arg("expected", fmt::format("`{}` as a {} from {:g} to {:g}", known[i].name, known[i].is_whole ? "whole number" : "number", known[i].least, known[i].most))
                                  .arg("found", eval::describe(value)));
    }
    if (*number != known[i].usual) { numbers += fmt::format("{}{}={}", numbers.empty() ? "" : ", ", known[i].name, value.repr()); }
  }
  return Value::str(numbers.empty() ? std::string("evolutionary") : "evolutionary(" + numbers + ")");
}
auto replay(Evaluator& evaluator, const Arguments& given, std::string_view callee) -> Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, callee, given, {{"max_fail_count", false}}, bound)) { return bound.unknown; }
  return Value::str("replay-trace");
}
auto replay_trace(Evaluator& evaluator, const Arguments& given) -> Value { return replay(evaluator, given, "ReplayTrace"); }
// Each run of a function here is its trace with other decisions, so both searches are the same.
auto replay_func(Evaluator& evaluator, const Arguments& given) -> Value { return replay(evaluator, given, "ReplayFunc"); }
auto create_search(Evaluator& evaluator, const Arguments& given) -> Value {
  const std::string* kind = given.positional > 0 ? given.all[0].value.string() : nullptr;
  Arguments rest = given;
  if (kind) {
    rest.all.erase(rest.all.begin());
    --rest.positional;
    if (*kind == "evolutionary") { return evolutionary_search(evaluator, rest); }
    if (*kind == "replay-trace" || *kind == "replay-func") { return replay_trace(evaluator, rest); }
  }
  return evaluator.report(error(Code::WrongType, given.all.empty() ? given.call : given.all[0].where).arg("expected", R"("evolutionary", "replay-trace" or "replay-func")")
                              .arg("found", given.all.empty() ? "nothing" : eval::describe(given.all[0].value)));
}

// A task scheduler is a text here, as `--scheduler` takes it.
auto gradient_based(Evaluator& evaluator, const Arguments& given) -> Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "GradientBased", given, {{"alpha", false}, {"window_size", false}, {"seed", false}}, bound)) { return bound.unknown; }
  std::string numbers;
  const std::array<SearchParameter, 2> known = {{{"alpha", 0.2, 0, 1, false}, {"window_size", 3, 1, 1000, true}}};
  for (size_t i = 0; i < known.size(); ++i) {
    if (!bound.given[i]) { continue; }
    const Value& value = bound.values[i].value;
    const auto number = value.to_float();
    if (!number || *number < known[i].least || *number > known[i].most || (known[i].is_whole && !value.to_int())) {
      return evaluator.report(error(Code::WrongType, bound.values[i].where).arg("expected", fmt::format("`{}` as a {} from {:g} to {:g}", known[i].name, known[i].is_whole ? "whole number" : "number", known[i].least, known[i].most))
                                  .arg("found", eval::describe(value)));
    }
    numbers += fmt::format("{}{}={}", numbers.empty() ? "" : ", ", known[i].name, value.repr());
  }
  return Value::str(numbers.empty() ? std::string("gradient") : "gradient(" + numbers + ")");
}
auto round_robin(Evaluator& evaluator, const Arguments& given) -> Value {
  eval::BoundArguments bound;
  return eval::bind_arguments(evaluator, "RoundRobin", given, {}, bound) ? Value::str("round-robin") : bound.unknown;
}
auto create_scheduler(Evaluator& evaluator, const Arguments& given) -> Value {
  const std::string* kind = given.positional > 0 ? given.all[0].value.string() : nullptr;
  Arguments rest = given;
  if (kind) {
    rest.all.erase(rest.all.begin());
    --rest.positional;
    if (*kind == "gradient") { return gradient_based(evaluator, rest); }
    if (*kind == "round-robin") { return round_robin(evaluator, rest); }
  }
  return evaluator.report(error(Code::WrongType, given.all.empty() ? given.call : given.all[0].where).arg("expected", R"("gradient" or "round-robin")")
                              .arg("found", given.all.empty() ? "nothing" : eval::describe(given.all[0].value)));
}

/// A class of TVM of which only the method `create` is used.
auto with_create(const char* name, eval::Builtin::Run create) -> Value {
  auto type = eval::make_object<eval::Namespace>(Name(name), any_name);
  add_member(type, "create", builtin("create", create));
  return value_of(type);
}

// The statements of a build script share one scope. A function inside a function of a file passes this check, too: its name is then not found where the text is read.
auto is_top_level(const eval::Function& function) -> bool { return function.def != nullptr && (!function.captured || !function.captured->parent()); }

}  // namespace

const eval::TypeTag SpaceGenerator::type_tag{"a space of the tuner"};

auto SpaceGenerator::find(std::string_view member) const -> const Value* {
  for (const auto& [name, value] : members) {
    if (name.view() == member) { return &value; }
  }
  return nullptr;
}

auto SpaceGenerator::type() const -> std::string_view {
  switch (form) {
    case Form::PostOrderApply: return "PostOrderApply";
    case Form::ScheduleFn: return "ScheduleFn";
    case Form::Union: return "SpaceGeneratorUnion";
  }
  return {};
}

auto SpaceGenerator::get_attribute(Evaluator& evaluator, Name member, Origin at) const -> std::optional<Value> {
  const Value* found = find(member.view());
  // The values that follow from the target, and methods, are not evaluated.
  return found ? *found : evaluator.opaque(at);
}

void SpaceGenerator::attribute_names(std::vector<Name>& out) const {
  for (const auto& [name, value] : members) { out.push_back(name); }
}

auto SpaceGenerator::repr() const -> std::string {
  const auto text = expression_of(Value(Ref<eval::Object>(this)));
  return text ? *text : std::string(type()) + "(...)";
}

auto space_names() -> const std::vector<std::pair<Name, Value>>& {
  static thread_local const std::vector<std::pair<Name, Value>> all = {
      {Name("PostOrderApply"), builtin("PostOrderApply", post_order_apply)},
      {Name("ScheduleFn"), builtin("ScheduleFn", schedule_fn)},
      {Name("SpaceGeneratorUnion"), builtin("SpaceGeneratorUnion", space_union)},
      {Name("SpaceGenerator"), with_create("SpaceGenerator", create_space)},
      {Name("ScheduleRule"), with_create("ScheduleRule", create_rules)},
      {Name("Postproc"), with_create("Postproc", create_postprocs)},
      {Name("Mutator"), with_create("Mutator", create_mutators)},
      {Name("SearchStrategy"), with_create("SearchStrategy", create_search)},
      {Name("TaskScheduler"), with_create("TaskScheduler", create_scheduler)},
  };
  return all;
}

auto task_scheduler_base() -> const Value& {
  static thread_local const Value base = value_of(eval::make_object<PieceClass>(PieceKind::TaskScheduler, Name("PyTaskScheduler"), PieceClass::Origins::Base));
  return base;
}

void add_spaces(const Ref<eval::Namespace>& ms) {
  auto generators = eval::make_object<eval::Namespace>(Name("ms.space_generator"), any_name);
  for (const auto& [name, value] : space_names()) {
    add_member(name.view().starts_with("PostOrder") || name.view().starts_with("ScheduleFn") || name.view() == "SpaceGeneratorUnion" ? generators : ms, name.str().c_str(), value);
  }
  add_member(generators, "SpaceGenerator", with_create("SpaceGenerator", create_space));
  add_member(generators, "create", builtin("create", create_space));
  add_member(ms, "space_generator", value_of(generators));
  auto searches = eval::make_object<eval::Namespace>(Name("ms.search_strategy"), any_name);
  add_member(searches, "EvolutionarySearch", builtin("EvolutionarySearch", evolutionary_search));
  add_member(searches, "ReplayTrace", builtin("ReplayTrace", replay_trace));
  add_member(searches, "ReplayFunc", builtin("ReplayFunc", replay_func));
  add_member(searches, "SearchStrategy", with_create("SearchStrategy", create_search));
  add_member(searches, "create", builtin("create", create_search));
  add_member(ms, "search_strategy", value_of(searches));
  auto schedulers = eval::make_object<eval::Namespace>(Name("ms.task_scheduler"), any_name);
  add_member(schedulers, "GradientBased", builtin("GradientBased", gradient_based));
  add_member(schedulers, "RoundRobin", builtin("RoundRobin", round_robin));
  add_member(schedulers, "TaskScheduler", with_create("TaskScheduler", create_scheduler));
  add_member(schedulers, "PyTaskScheduler", task_scheduler_base());
  add_member(schedulers, "create", builtin("create", create_scheduler));
  add_member(ms, "task_scheduler", value_of(schedulers));
}

namespace {

using Functions = std::vector<const eval::Function*>;

/// The expressions of several values with commas between them.
auto expressions_of(const std::vector<Value>& values, Functions* functions) -> std::optional<std::string> {
  std::string out;
  for (const Value& value : values) {
    auto one = expression_of(value, functions);
    if (!one) { return std::nullopt; }
    out += (out.empty() ? "" : ", ") + *one;
  }
  return out;
}

auto expression_of_dict(const eval::Dict& dict, Functions* functions) -> std::optional<std::string> {
  std::string out;
  for (const auto& [key, value] : dict.entries()) {
    auto left = expression_of(key, functions);
    auto right = expression_of(value, functions);
    if (!left || !right) { return std::nullopt; }
    out += (out.empty() ? "" : ", ") + *left + ": " + *right;
  }
  return "{" + out + "}";
}

/// The function in which a piece is written; null: it is one of TVM's.
auto function_of(const Piece& piece) -> const eval::Function* {
  if (piece.function) { return piece.function.get(); }
  if (!piece.is_written()) { return nullptr; }
  for (const auto& [name, member] : piece.type->members) {
    if (const auto* function = member.as<eval::Function>()) { return function; }
  }
  return nullptr;
}

auto expression_of_piece(const Piece& piece, Functions* functions) -> std::optional<std::string> {
  const eval::Function* written = function_of(piece);
  if (functions && written) { functions->push_back(written); }
  if (piece.function) { return piece.name.str(); }
  std::string out;
  for (const Argument& argument : piece.arguments.all) {
    auto one = expression_of(argument.value, functions);
    if (!one) { return std::nullopt; }
    out += (out.empty() ? "" : ", ") + (argument.keyword.empty() ? std::string() : argument.keyword.str() + "=") + *one;
  }
  return piece.name.str() + "(" + out + ")";
}

auto expression_of_space(const SpaceGenerator& space, Functions* functions) -> std::optional<std::string> {
  std::string out;
  for (const auto& [name, value] : space.members) {
    auto one = expression_of(value, functions);
    if (!one) { return std::nullopt; }
    out += (out.empty() ? "" : ", ") + name.str() + "=" + *one;
  }
  return std::string(space.type()) + "(" + out + ")";
}

}  // namespace

auto expression_of(const Value& value, Functions* functions) -> std::optional<std::string> {
  if (!value.is_object()) { return value.is_unknown() ? std::nullopt : std::optional(value.repr()); }
  if (value.string()) { return value.repr(); }
  if (const auto* list = value.as<eval::List>()) {
    auto inside = expressions_of(list->items, functions);
    return inside ? std::optional("[" + *inside + "]") : std::nullopt;
  }
  if (const auto* tuple = value.as<eval::Tuple>()) {
    auto inside = expressions_of(tuple->items, functions);
    return inside ? std::optional("(" + *inside + (tuple->items.size() == 1 ? ",)" : ")")) : std::nullopt;
  }
  if (const auto* dict = value.as<eval::Dict>()) { return expression_of_dict(*dict, functions); }
  if (const auto* piece = value.as<Piece>()) { return expression_of_piece(*piece, functions); }
  if (const auto* space = value.as<SpaceGenerator>()) { return expression_of_space(*space, functions); }
  if (const auto* type = value.as<PieceClass>()) {
    for (const auto& [name, member] : type->members) {
      const auto* function = member.as<eval::Function>();
      if (function && functions) { functions->push_back(function); }
      if (function) { break; }
    }
    return type->name.str();
  }
  const auto* function = value.as<eval::Function>();
  if (!function || !is_top_level(*function)) { return std::nullopt; }
  if (functions) { functions->push_back(function); }
  return function->name().str();
}

}  // namespace loopsmith::script
