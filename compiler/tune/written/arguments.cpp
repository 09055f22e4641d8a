// TVM's pieces from the arguments of scripts: see arguments.h.
#include "tune/written/arguments.h"

#include <algorithm>

#include "support/codes.h"

namespace loopsmith::tune {
namespace {

using eval::Argument;
using eval::Evaluator;
using eval::Parameter;
using eval::Value;
using rules::ReuseType;

/// The arguments of one piece, read by parameter. A value of the wrong type is reported.
class Reader {
 public:
  Reader(Evaluator& evaluator, const script::Piece& piece, std::vector<Parameter> parameters) : evaluator_(evaluator), parameters_(std::move(parameters)) {
    is_good_ = eval::bind_arguments(evaluator, piece.name.view(), piece.arguments, parameters_, bound_);
  }
  [[nodiscard]] auto is_good() const -> bool { return is_good_; }

  /// The value of a parameter; null: it is not given, or None.
  auto value(const char* name) -> const Argument* {
    if (!is_good_) { return nullptr; }
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].name == Name(name)) { return bound_.given[i] && !bound_.values[i].value.is_none() ? &bound_.values[i] : nullptr; }
    }
    return nullptr;
  }
  auto integer(const char* name, int64_t otherwise) -> int64_t {
    const Argument* a = value(name);
    if (!a) { return otherwise; }
    if (!a->value.is_int()) { return wrong(*a, "an integer"), otherwise; }
    return a->value.int_value();
  }
  auto boolean(const char* name, bool otherwise) -> bool {
    const Argument* a = value(name);
    if (!a) { return otherwise; }
    if (!a->value.to_int()) { return wrong(*a, "True or False"), otherwise; }
    return *a->value.to_int() != 0;
  }
  auto text(const char* name) -> std::string {
    const Argument* a = value(name);
    const std::string* text = a ? a->value.string() : nullptr;
    if (a && !text) { wrong(*a, "a string"); }
    return text ? *text : std::string();
  }
  auto integers(const char* name, std::vector<int64_t> otherwise = {}) -> std::vector<int64_t> {
    const Argument* a = value(name);
    return a ? integers_of(*a, a->value) : std::move(otherwise);
  }
  auto texts(const char* name) -> std::vector<std::string> {
    const Argument* a = value(name);
    std::vector<std::string> out;
    if (a && !a->value.items()) { wrong(*a, "a list of strings"); }
    for (const Value& item : a && a->value.items() ? *a->value.items() : std::vector<Value>()) {
      const std::string* text = item.string();
      if (!text) { return wrong(*a, "a list of strings"), out; }
      // TVM's names of operators: "tir.exp".
      out.push_back(text->starts_with("tir.") ? text->substr(4) : *text);
    }
    return out;
  }
  /// A number of at least 1.
  auto count(const char* name, int64_t otherwise) -> int64_t {
    const int64_t number = integer(name, otherwise);
    const Argument* a = value(name);
    if (a && number != otherwise && number < 1) { wrong(*a, "a number of at least 1"); }
    return number;
  }
  /// Numbers of at least 1.
  auto counts(const char* name, std::vector<int64_t> otherwise) -> std::vector<int64_t> {
    std::vector<int64_t> out = integers(name, std::move(otherwise));
    const Argument* a = value(name);
    if (a && (out.empty() || std::any_of(out.begin(), out.end(), [](int64_t n) { return n < 1; }))) { wrong(*a, "a list of numbers of at least 1"); }
    return out;
  }
  /// A function; null: it is not given.
  auto function(const char* name) -> const Argument* {
    const Argument* a = value(name);
    if (a && !a->value.as<eval::Function>()) { wrong(*a, "a function"); }
    return is_good_ ? a : nullptr;
  }
  auto reuse(const char* name) -> ReuseType {
    const Argument* a = value(name);
    ReuseType out;
    if (!a) { return out; }
    const auto* dict = a->value.as<eval::Dict>();
    const Value* req = dict ? dict->find(Value::str("req")) : nullptr;
    const Value* levels = dict ? dict->find(Value::str("levels")) : nullptr;
    const Value* scope = dict ? dict->find(Value::str("scope")) : nullptr;
    const std::string* word = req ? req->string() : nullptr;
    if (!word || (*word != "no" && *word != "may" && *word != "must") || !levels || !levels->items() || !scope || !scope->string()) {
      return wrong(*a, "`ReuseType(req=\"no\", \"may\" or \"must\", levels=[...], scope=\"...\")`"), out;
    }
    out.req = *word == "must" ? ReuseType::Req::Must : *word == "may" ? ReuseType::Req::May : ReuseType::Req::No;
    for (int64_t level : integers_of(*a, *levels)) { out.levels.push_back(static_cast<int>(level)); }
    out.scope = *scope->string();
    return out;
  }
  void wrong(const Argument& a, const char* expected) {
    is_good_ = false;
    (void)evaluator_.report(error(Code::WrongType, a.where).arg("expected", expected).arg("found", eval::describe(a.value)));
  }

 private:
  auto integers_of(const Argument& a, const Value& list) -> std::vector<int64_t> {
    std::vector<int64_t> out;
    if (!list.items()) { return wrong(a, "a list of integers"), out; }
    for (const Value& item : *list.items()) {
      if (!item.is_int()) { return wrong(a, "a list of integers"), out; }
      out.push_back(item.int_value());
    }
    return out;
  }

  Evaluator& evaluator_;
  std::vector<Parameter> parameters_;
  eval::BoundArguments bound_;
  bool is_good_ = false;
};

/// A structure of tiles has only the letters S and R; another one would make loops of no kind.
auto tiling(Reader& r) -> rules::MultiLevelTilingOptions {
  rules::MultiLevelTilingOptions out{.structure = r.text("structure"), .tile_binds = r.texts("tile_binds"), .max_innermost_factor = r.integer("max_innermost_factor", -1),
                                     .vector_load_lens = r.integers("vector_load_lens"), .reuse_read = r.reuse("reuse_read"), .reuse_write = r.reuse("reuse_write")};
  const Argument* given = r.value("structure");
  constexpr size_t most_levels = 16;
  if (given && (out.structure.empty() || out.structure.size() > most_levels || out.structure.find_first_not_of("SR") != std::string::npos)) {
    r.wrong(*given, "a structure of tiles, such as \"SSRSRS\"");
  }
  for (const ReuseType& reuse : {out.reuse_read, out.reuse_write}) {
    for (int level : reuse.levels) {
      if (given && (level < 1 || level > static_cast<int>(out.structure.size()))) { r.wrong(*given, "a structure with the levels of `reuse_read` and `reuse_write`"); }
    }
  }
  return out;
}

auto tiling_parameters(std::vector<Parameter> first, std::vector<Parameter> last = {}) -> std::vector<Parameter> {
  for (const char* name : {"tile_binds", "max_innermost_factor", "vector_load_lens", "reuse_read", "reuse_write"}) { first.push_back({Name(name), false}); }
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

auto tensor_core(Reader& r, const rules::RuleMachine& machine) -> rules::RulePtr {
  std::vector<rules::TensorCoreGroup> groups;
  const Argument* given = r.value("intrin_groups");
  if (given && !given->value.items()) { r.wrong(*given, "a list of dictionaries"); }
  for (const Value& item : given && given->value.items() ? *given->value.items() : std::vector<Value>()) {
    const auto* dict = item.as<eval::Dict>();
    auto part = [&](const char* key) -> std::string {
      const Value* found = dict ? dict->find(Value::str(key)) : nullptr;
      if (!found || !found->string()) { return r.wrong(*given, "a list of dictionaries with the keys init, load_a, load_b, compute and store"), std::string(); }
      return *found->string();
    };
    groups.push_back({.init = part("init"), .load_a = part("load_a"), .load_b = part("load_b"), .compute = part("compute"), .store = part("store")});
    if (!r.is_good()) { return nullptr; }
  }
  return rules::multi_level_tiling_tensor_core(machine, std::move(groups), tiling(r), r.boolean("use_software_pipeline", false));
}

/// One rule with the arguments of the piece. Null: an error was reported.
auto make_rule(Evaluator& evaluator, const script::Piece& piece, const rules::RuleMachine& machine, const rules::CustomRules& custom, const MakeFilter& filter) -> rules::RulePtr {
  const std::string_view name = piece.name.view();
  auto reader = [&](std::vector<Parameter> parameters) { return Reader(evaluator, piece, std::move(parameters)); };
  auto checked = [](const Reader& r, rules::RulePtr rule) { return r.is_good() ? std::move(rule) : nullptr; };
  if (name == "AddRFactor") {
    Reader r = reader({{"max_jobs_per_core", false}, {"max_innermost_factor", false}});
    auto rule = rules::add_rfactor(machine, r.integer("max_jobs_per_core", 16), r.integer("max_innermost_factor", -1));
    return checked(r, std::move(rule));
  }
  if (name == "AutoBind") {
    Reader r = reader({{"max_threadblocks", false}, {"thread_extents", false}, {"max_threads_per_block", false}});
    auto rule = rules::auto_bind(machine, r.count("max_threadblocks", 256), r.counts("thread_extents", {32, 64, 128, 256, 512, 1024}), r.count("max_threads_per_block", -1));
    return checked(r, std::move(rule));
  }
  if (name == "AutoInline") {
    Reader r = reader({{"into_producer"}, {"into_consumer"}, {"inline_const_tensor"}, {"disallow_if_then_else"}, {"require_injective"}, {"require_ordered"}, {"disallow_op", false}});
    auto rule = rules::auto_inline({.into_producer = r.boolean("into_producer", false), .into_consumer = r.boolean("into_consumer", true), .inline_const_tensor = r.boolean("inline_const_tensor", true),
                                    .disallow_if_then_else = r.boolean("disallow_if_then_else", true), .require_injective = r.boolean("require_injective", true),
                                    .require_ordered = r.boolean("require_ordered", true), .disallow_op = r.texts("disallow_op")});
    return checked(r, std::move(rule));
  }
  if (name == "CrossThreadReduction") {
    Reader r = reader({{"thread_extents"}});
    auto rule = rules::cross_thread_reduction(machine, r.counts("thread_extents", {}));
    return checked(r, std::move(rule));
  }
  if (name == "MultiLevelTiling") {
    Reader r = reader(tiling_parameters({{"structure"}}, {{"filter_fn", false}}));
    rules::MultiLevelTilingOptions options = tiling(r);
    if (const Argument* given = r.function("filter_fn")) { options.filter = filter(*given); }
    auto rule = rules::multi_level_tiling(machine, std::move(options));
    return checked(r, std::move(rule));
  }
  if (name == "MultiLevelTilingWithIntrin") {
    Reader r = reader(tiling_parameters({{"intrin_name"}, {"structure"}}));
    auto rule = rules::multi_level_tiling_with_intrin(machine, r.text("intrin_name"), tiling(r));
    return checked(r, std::move(rule));
  }
  if (name == "MultiLevelTilingWideVector") {
    Reader r = reader({{"structure"}, {"vector_length_in_bits"}, {"max_innermost_factor", false}, {"reuse_read", false}, {"reuse_write", false}});
    auto rule = rules::multi_level_tiling_wide_vector(machine, r.count("vector_length_in_bits", 1024), tiling(r));
    return checked(r, std::move(rule));
  }
  if (name == "MultiLevelTilingTensorCore") {
    Reader r = reader(tiling_parameters({{"intrin_groups"}, {"structure"}}, {{"use_software_pipeline", false}}));
    auto rule = tensor_core(r, machine);
    return checked(r, std::move(rule));
  }
  if (name == "ParallelizeVectorizeUnroll") {
    Reader r = reader({{"max_jobs_per_core", false}, {"max_vectorize_extent", false}, {"unroll_max_steps", false}, {"unroll_explicit", false}});
    auto rule = rules::parallelize_vectorize_unroll(machine, r.integer("max_jobs_per_core", 16), r.integer("max_vectorize_extent", 16), r.integers("unroll_max_steps"), r.boolean("unroll_explicit", true));
    return checked(r, std::move(rule));
  }
  Reader r = reader({});
  return checked(r, name == "ApplyCustomRule" ? rules::apply_custom_rule(custom) : name == "InlineConstantScalars" ? rules::inline_constant_scalars() : rules::random_compute_location());
}

}  // namespace

auto tvm_rules(Evaluator& evaluator, const script::Piece& piece, const target::Target& target, const rules::CustomRules& custom, const MakeFilter& filter) -> std::optional<rules::Rules> {
  if (piece.arguments.all.empty()) {
    rules::Rules found = rules::default_rules(target, custom);
    std::erase_if(found, [&](const rules::RulePtr& rule) { return rule->name() != piece.name.view(); });
    if (!found.empty()) { return found; }
  }
  rules::RulePtr rule = make_rule(evaluator, piece, rules::rule_machine(target), custom, filter);
  return rule ? std::optional(rules::Rules{std::move(rule)}) : std::nullopt;
}

auto tvm_postproc(Evaluator& evaluator, const script::Piece& piece, const target::Target& target) -> std::optional<metaschedule::Postproc> {
  if (piece.arguments.all.empty()) { return metaschedule::find_postproc(piece.name.view(), target); }
  if (piece.name == "RewriteTensorize") {
    Reader r(evaluator, piece, {{"vectorize_init_loop", false}});
    auto made = metaschedule::rewrite_tensorize(r.boolean("vectorize_init_loop", false));
    return r.is_good() ? std::optional(std::move(made)) : std::nullopt;
  }
  if (piece.name == "RewriteUnboundBlock") {
    Reader r(evaluator, piece, {{"max_threadblocks", false}});
    auto made = metaschedule::rewrite_unbound_block(r.count("max_threadblocks", 256));
    return r.is_good() ? std::optional(std::move(made)) : std::nullopt;
  }
  Reader r(evaluator, piece, {});
  return r.is_good() ? metaschedule::find_postproc(piece.name.view(), target) : std::nullopt;
}

auto tvm_mutator(Evaluator& evaluator, const script::Piece& piece) -> std::optional<metaschedule::Mutator> {
  if (piece.name == "MutateParallel") {
    Reader r(evaluator, piece, {{"max_jobs_per_core", false}});
    auto made = metaschedule::mutate_parallel(r.integer("max_jobs_per_core", 16));
    return r.is_good() ? std::optional(std::move(made)) : std::nullopt;
  }
  Reader r(evaluator, piece, {});
  return r.is_good() ? metaschedule::find_mutator(piece.name.view()) : std::nullopt;
}

}  // namespace loopsmith::tune
