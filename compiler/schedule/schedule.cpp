// Calls primitives, binds their results to variables, records and replays: see schedule.h.
#include "schedule/schedule.h"
#include "schedule/moves.h"
#include "support/codes.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/undefined.h"
#include "ir/visitor.h"
#include "ir/wrapped.h"
#include "schedule/beyond_type.h"
#include "schedule/index_map.h"
#include "support/scoped_value.h"

namespace loopsmith::schedule {

Schedule::Schedule(IRModule module, int64_t seed)
    : state_(std::move(module)), random_(seed) {
  const auto& functions = state_.module()->functions;
  if (state_.module()->find("main")) {
    func_ = "main";
  } else if (functions.size() == 1) {
    func_ = functions.front().first;
  }
}

auto Schedule::work_on(Name func) -> Status {
  if (!state_.module()->find(func)) {
    Diagnostic out = error(Code::NoFunctionToSchedule).arg("function", func.view());
    std::string names;
    for (const auto& [name, function] : state_.module()->functions) { names += (names.empty() ? "`" : ", `") + name.str() + "`"; }
    return names.empty() ? out : std::move(out).remedy("it has " + names);
  }
  func_ = func;
  return ok();
}

auto Schedule::fork() -> Schedule {
  Schedule out = *this;
  out.random_.seed(random_.fork_seed());
  return out;
}

auto Schedule::name_of(const Value& variable) -> std::string {
  if (const auto* b = variable.as<BlockRV>()) { return "b" + std::to_string(b->var); }
  if (const auto* l = variable.as<LoopRV>()) { return "l" + std::to_string(l->var); }
  if (const auto* e = variable.as<ExprRV>()) { return "v" + std::to_string(e->var); }
  return "_";
}

auto Schedule::get(BlockRV block) const -> Result<const Place*> {
  if (block.var < variables_.size()) {
    const auto& binding = variables_[block.var];
    if (auto found = state_.find(binding.value); found && binding.kind == Context::Binding::Kind::Block && found.place->is_block()) {
      return found.place;
    }
  }
  return error(Code::VariableGone).arg("variable", name_of(block)).arg("what", "block");
}
auto Schedule::get(LoopRV loop) const -> Result<const Place*> {
  if (loop.var < variables_.size()) {
    const auto& binding = variables_[loop.var];
    if (auto found = state_.find(binding.value); found && binding.kind == Context::Binding::Kind::Loop && found.place->is_loop()) {
      return found.place;
    }
  }
  return error(Code::VariableGone).arg("variable", name_of(loop)).arg("what", "loop");
}
auto Schedule::get(ExprRV expr) const -> Result<int64_t> {
  if (expr.var < variables_.size() && variables_[expr.var].kind == Context::Binding::Kind::Int) {
    return static_cast<int64_t>(variables_[expr.var].value);
  }
  return error(Code::VariableGone).arg("variable", name_of(expr)).arg("what", "integer");
}

void Schedule::remove_rv(const Value& variable) {
  uint32_t var = UINT32_MAX;
  if (const auto* b = variable.as<BlockRV>()) { var = b->var; }
  if (const auto* l = variable.as<LoopRV>()) { var = l->var; }
  if (const auto* e = variable.as<ExprRV>()) { var = e->var; }
  if (var >= variables_.size()) { return; }
  const Context::Binding none{Context::Binding::Kind::Block, 0, {}};
  variables_ = variables_.spliced(var, var + 1, std::span(&none, 1));
}

auto Schedule::resolve_names(const Primitive& primitive, std::vector<Value>& values, Origin call) -> Status {
  static const Primitive* get_block = find_primitive("get_block");
  auto look_up = [&](Value& value) -> Status {
    const auto* name = value.as<std::string>();
    if (!name) { return ok(); }
    LOOPSMITH_TRY(found, apply_values(*get_block, {Value(*name), Value()}, {}, call));
    value = found.front();
    return ok();
  };
  for (size_t i = 0; i < primitive.params.size(); ++i) {
    const Param& param = primitive.params[i];
    if (param.kind != ValueKind::Block && param.kind != ValueKind::BlockOrLoop) { continue; }
    if (const auto* list = values[i].as<Value::List>()) {
      Value::List items = *list;
      for (Value& item : items) { LOOPSMITH_CHECK(look_up(item)); }
      values[i] = Value(std::move(items));
    } else {
      LOOPSMITH_CHECK(look_up(values[i]));
    }
  }
  return ok();
}

namespace {

// The type of a block's iter vars, which is also the type of its indices.
auto index_type(const Block& block) -> DataType {
  if (!block.iter_vars.empty()) { return block.iter_vars.front().var->dtype; }
  for (const auto* regions : {&block.reads, &block.writes}) {
    for (const BufferRegion& region : *regions) {
      if (!region.region.empty()) { return region.region.front().min.dtype(); }
    }
  }
  return DataType::int_(64);
}

// A map that gives the same value for all elements. An integer or real value is converted to the element type if both are integers or both are reals.
auto constant_map(const Value& value, size_t arity, DataType element, DataType index) -> Value {
  Expr constant;
  if (const auto* e = value.as<Expr>()) { constant = *e; }
  if (const int64_t* i = value.integer()) { constant = int_imm(*i, element.is_integral() ? element : DataType::int_(32)); }
  if (const bool* b = value.as<bool>()) { constant = int_imm(*b ? 1 : 0, element.is_integral() ? element : DataType::bool_()); }
  if (const double* d = value.as<double>()) { constant = float_imm(*d, element.is_real() ? element : DataType::float_(32)); }
  std::vector<Var> vars;
  for (size_t i = 0; i < arity; ++i) { vars.push_back(make<VarNode>(Name(fmt::format("indices_{}", i)), index)); }
  return Value(make_index_map({.initial = std::move(vars), .final = {constant}, .inverse = {}}));
}

// Turns the name of a buffer into an access (read or write) and the position in that list of the block. `access`: searches that list only. A buffer
// that is in both lists counts as written.
auto buffer_called(const Block& block, const std::string& name, std::string_view access, const std::function<Diagnostic(Code)>& fail)
    -> Result<std::pair<std::string, int64_t>> {
  std::vector<Buffer> found;
  std::pair<std::string, int64_t> out;
  for (const char* kind : {"read", "write"}) {
    if (!access.empty() && access != kind) { continue; }
    const auto& regions = *kind == 'r' ? block.reads : block.writes;
    for (size_t k = 0; k < regions.size(); ++k) {
      if (!(regions[k].buffer->name == Name(name))) { continue; }
      if (std::find(found.begin(), found.end(), regions[k].buffer) == found.end()) { found.push_back(regions[k].buffer); }
      out = {kind, static_cast<int64_t>(k)};
    }
  }
  if (found.size() == 1) { return out; }
  return fail(Code::NoSuchBuffer).arg("block", block.name.view()).arg("buffer", name).arg("count", static_cast<int64_t>(found.size()));
}

}  // namespace

auto Schedule::settle(const Primitive& primitive, std::vector<Value>& values, Origin call) const -> Result<std::vector<int64_t>> {
  auto fail = [&](Code code) { return error(code, call).arg("primitive", primitive.name); };
  std::vector<int64_t> separators;
  const Block* block = nullptr;
  const Buffer* buffer = nullptr;
  size_t image = 0;
  for (size_t i = 0; i < primitive.params.size(); ++i) {
    const Param& param = primitive.params[i];
    Value& value = values[i];
    if (const auto* rv = value.as<BlockRV>(); rv && !block) {
      if (auto place = get(*rv); place.ok()) { block = (*place)->block(); }
    }
    if (!block) { continue; }
    if (const auto* name = value.as<std::string>(); name && (param.kind == ValueKind::Buffer || !param.index_of.empty())) {
      LOOPSMITH_TRY(found, buffer_called(*block, *name, param.index_of, fail));
      value = param.kind == ValueKind::Buffer ? Value(Value::List{found.first, found.second}) : Value(found.second);
    }
    if (param.kind == ValueKind::Buffer) {
      if (const int64_t* index = value.integer()) { value = Value::List{"write", *index}; }
      if (const auto* pair = value.as<Value::List>(); pair && pair->size() == 2 && (*pair)[1].integer()) {
        const auto& regions = (*pair)[0] == Value("read") ? block->reads : block->writes;
        int64_t index = *(*pair)[1].integer();
        if (index >= 0 && index < static_cast<int64_t>(regions.size())) { buffer = &regions[static_cast<size_t>(index)].buffer; }
      }
    }
    if (param.kind != ValueKind::IndexMap) { continue; }
    bool is_number = value.integer() || value.as<double>() || value.as<bool>() || value.as<Expr>();
    if (is_number && param.map_of == MapOf::Image && buffer) {
      value = constant_map(value, image, (*buffer)->dtype, index_type(*block));
    }
    if (const auto* lambda = value.as<Lambda>()) {
      MapRequest request{block->iter_vars.size(), index_type(*block), {}, param.map_of == MapOf::Ranges};
      if (param.map_of == MapOf::Buffer && buffer) { request.arity = (*buffer)->shape.size(); }
      if (param.map_of == MapOf::Image) { request.arity = image; }
      if (param.map_of == MapOf::Ranges) {
        for (const IterVar& iter : block->iter_vars) { request.names.push_back(iter.var->name); }
      }
      auto map = (**lambda)(request);
      if (!map) { return Diagnostics{}; }
      if (map->map->final.size() > 2 * deepest_nest) { return fail(Code::NestedTooDeeply).arg("limit", static_cast<int64_t>(deepest_nest)); }
      if (!map->separators.empty() && !primitive.separators) { return fail(Code::NoSeparators); }
      value = Value(map->map);
      separators = std::move(map->separators);
    }
    if (const auto* map = value.as<IndexMap>()) { image = (*map)->final.size(); }
  }
  return separators;
}

auto Schedule::apply(std::string_view name, Arguments arguments, Origin call) -> Result<Value> {
  const Primitive* row = find_primitive(name);
  if (!row) { return error(Code::NoSuchPrimitive, call).arg("primitive", name); }
  return apply(*row, std::move(arguments), call);
}

namespace {

// The index of the parameter with one of its two names; the number of parameters for an unknown name.
auto find_parameter(const std::vector<Param>& params, std::string_view name) -> size_t {
  auto found = std::find_if(params.begin(), params.end(), [&](const Param& p) { return p.name == name || (!p.traced_as.empty() && p.traced_as == name); });
  return static_cast<size_t>(found - params.begin());
}

}  // namespace

auto wrong_arguments(const Primitive& primitive, size_t positional, const std::vector<std::string_view>& keywords, Origin call, bool is_all)
    -> std::optional<Diagnostic> {
  const auto& params = primitive.params;
  auto fail = [&](Code code) { return error(code, call).arg("primitive", primitive.name).arg("callee", primitive.name); };
  bool is_open = std::any_of(params.begin(), params.end(), [](const Param& p) { return p.is_variadic; });
  if (positional > params.size() && !is_open) {
    return fail(Code::TooManyArguments).arg("count", static_cast<int64_t>(params.size())).arg("given", static_cast<int64_t>(positional));
  }
  std::vector<bool> given(params.size(), false);
  // A variadic parameter takes all arguments that follow.
  for (size_t i = 0; i < std::min(positional, params.size()); ++i) {
    given[i] = true;
    if (params[i].is_variadic) { break; }
  }
  for (std::string_view key : keywords) {
    size_t at = find_parameter(params, key);
    if (at == params.size()) { return fail(Code::UnexpectedArgument).arg("name", key).remedy("call it as `" + primitive.signature() + "`"); }
    if (given[at]) { return fail(Code::DuplicateArgument).arg("name", key); }
    given[at] = true;
  }
  for (size_t i = 0; i < params.size() && is_all; ++i) {
    if (!given[i] && !params[i].otherwise && !params[i].is_variadic) { return fail(Code::MissingArgument).arg("name", params[i].name).remedy("call it as `" + primitive.signature() + "`"); }
  }
  return std::nullopt;
}

auto match_arguments(const Primitive& primitive, Arguments arguments, Origin call) -> Result<Matched> {
  const auto& params = primitive.params;
  std::vector<std::string_view> keywords;
  for (const auto& [key, value] : arguments.keyword) { keywords.emplace_back(key); }
  if (auto wrong = wrong_arguments(primitive, arguments.positional.size(), keywords, call)) { return *std::move(wrong); }
  Matched out;
  std::vector<Value>& values = out.values;
  for (const Param& param : params) { values.push_back(param.is_variadic ? Value(Value::List()) : param.otherwise.value_or(Value())); }
  size_t next = 0;
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    Value& value = arguments.positional[i];
    if (!params[next].is_variadic) {
      values[next++] = std::move(value);
    } else if (i == 0 && arguments.positional.size() == 1 && value.as<Value::List>()) {
      values[next] = std::move(value);
    } else {
      Value::List items = *values[next].as<Value::List>();
      items.push_back(std::move(value));
      values[next] = Value(std::move(items));
    }
  }
  for (auto& [key, value] : arguments.keyword) { values[find_parameter(params, key)] = std::move(value); }
  if (!params.empty() && params.back().role == Role::Decision) { out.decision = std::exchange(values.back(), Value()); }
  return out;
}

auto Schedule::apply(const Primitive& primitive, Arguments arguments, Origin call, Diagnostics* doubts) -> Result<Value> {
  LOOPSMITH_TRY(matched, match_arguments(primitive, std::move(arguments), call));
  std::vector<Value>& values = matched.values;
  // On failure the look-ups by name are removed from the trace, too.
  Schedule before = *this;
  auto run = [&]() -> Result<std::vector<Value>> {
    LOOPSMITH_CHECK(resolve_names(primitive, values, call));
    LOOPSMITH_TRY(separators, settle(primitive, values, call));
    if (separators.empty()) { return apply_values(primitive, std::move(values), std::move(matched.decision), call, doubts); }
    Value block = values[0];
    Value buffer = values[1];
    LOOPSMITH_TRY(results, apply_values(primitive, std::move(values), std::move(matched.decision), call, doubts));
    LOOPSMITH_CHECK(apply_values(*primitive.separators, {std::move(block), std::move(buffer), Value(separators)}, {}, call));
    return results;
  };
  auto outputs = run();
  if (!outputs) {
    *this = std::move(before);
    return std::move(outputs).diagnostics();
  }
  switch (primitive.output) {
    case OutputKind::None: return Value();
    case OutputKind::Block:
    case OutputKind::Loop:
    case OutputKind::Expr: return outputs->front();
    case OutputKind::Blocks:
    case OutputKind::Loops:
    case OutputKind::Exprs: return Value(Value::List(std::move(*outputs)));
  }
  return Value();
}

namespace {

// Loops and indices that a step made must not overflow their types: the program would compute other values.
auto require_sizes_fit(const Context& cx, const Outcome& outcome, const WrapWatch& watch) -> Status {
  if (outcome.func.empty()) { return ok(); }
  if (watch.found()) {
    return size_beyond_type(cx, "a size or an index", watch.found()->value, watch.found()->dtype);
  }
  const FuncState* func = cx.state.func(outcome.func);
  auto beyond = func ? find_beyond_type(*func, outcome.rewrite) : std::nullopt;
  if (!beyond) { return ok(); }
  return size_beyond_type(cx, "`" + beyond->expr + "`", beyond->value, beyond->dtype);
}

/// True if a place, or a place below it, is nested in too many loops and blocks.
auto is_nested_too_deep(const State& state, NodeId id) -> bool {
  auto found = state.find(id);
  if (!found) { return false; }
  size_t around = 0;
  for (const Place* place = found.place; place != nullptr && around <= deepest_nest; place = found.func->parent(*place)) { ++around; }
  // The places below follow in the order of the text, each behind its parent.
  std::vector<size_t> depths{around};
  const int first = found.place->index;
  const int end = found.place->end;
  for (int i = first + 1; i < end && depths.back() <= deepest_nest; ++i) {
    const Place& place = found.func->places()[static_cast<size_t>(i)];
    depths.push_back(depths[static_cast<size_t>(place.parent - first)] + 1);
  }
  return depths.back() > deepest_nest;
}

}  // namespace

auto Schedule::apply_values(const Primitive& primitive, std::vector<Value> values, Value decision, Origin call, Diagnostics* doubts)
    -> Result<std::vector<Value>> {
  RandomEngine random = random_;
  Context cx{state_, primitive, func_, call, random, decision, variables_, intrinsics_.get(), most_vscale_, doubts};
  // Replaces sampled integers in index maps and expressions: the primitive receives numbers, the trace keeps variables.
  std::vector<Value> kept;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!holds_expressions(values[i])) { continue; }
    Value known = with_sampled(values[i], [&](uint32_t number, const VarNode& var) -> std::optional<Expr> {
      auto value = get(ExprRV{number});
      return value ? std::optional<Expr>(int_imm(*value, var.dtype)) : std::nullopt;
    });
    if (kept.empty()) { kept = values; }
    values[i] = Value(std::move(known));
  }
  WrapWatch watch;
  LOOPSMITH_TRY(outcome, primitive.run(cx, values));
  LOOPSMITH_CHECK(require_sizes_fit(cx, outcome, watch));
  if (!kept.empty()) { values = std::move(kept); }
  bool changes = !outcome.func.empty();
  if (changes) {
#ifdef LOOPSMITH_CHECKED
    const PrimFunc before = state_.module()->find(outcome.func);
#endif
    State next = state_.after(outcome.func, outcome.rewrite);
    // The first of the new loops is around the others.
    bool has_place = !outcome.outputs.empty() && outcome.outputs.front().kind != Context::Binding::Kind::Int;
    if (has_place && is_nested_too_deep(next, outcome.outputs.front().value)) { return error(Code::NestedTooDeeply, call).arg("limit", static_cast<int64_t>(deepest_nest)); }
    // Nothing fails from here on.
    state_ = std::move(next);
#ifdef LOOPSMITH_CHECKED
    if (auto name = lost_definition(before, state_.module()->find(outcome.func))) {
      return error(Code::Internal, call).arg("what", fmt::format("after {}: nothing defines `{}`", primitive.name, *name));
    }
    if (auto difference = state_.verify_cached(outcome.func)) {
      return error(Code::Internal, call).arg("what", fmt::format("after {}: {}", primitive.name, *difference));
    }
#endif
  }
  random_ = random;
  for (const auto& forward : outcome.rewrite.forwards) {
    variables_ = variables_.map_same([&](Context::Binding binding) {
      if (binding.kind != Context::Binding::Kind::Int && binding.value == forward.from) { binding.value = forward.to; }
      return binding;
    }, [](const Context::Binding& a, const Context::Binding& b) { return a.value == b.value; });
  }
  std::vector<Value> outputs;
  std::vector<Context::Binding> bindings;
  outputs.reserve(outcome.outputs.size());
  bindings.reserve(outcome.outputs.size());
  Name func = changes ? outcome.func : func_;
  for (const Output& output : outcome.outputs) {
    auto var = static_cast<uint32_t>(variables_.size() + bindings.size());
    bindings.push_back({output.kind, output.value, func});
    switch (output.kind) {
      case Context::Binding::Kind::Block: outputs.emplace_back(BlockRV{var}); break;
      case Context::Binding::Kind::Loop: outputs.emplace_back(LoopRV{var}); break;
      case Context::Binding::Kind::Int: outputs.emplace_back(ExprRV{var}); break;
    }
  }
  if (!bindings.empty()) { variables_ = variables_.spliced(variables_.size(), variables_.size(), bindings); }
  // `get_block` without a function name records the current function.
  if (primitive.name == "get_block" && values.size() > 1 && values[1].is_none()) { values[1] = Value(func_.str()); }
  trace_.append({&primitive, std::move(values), outputs, std::move(outcome.decision), call});
  return outputs;
}

namespace {

auto renamed(const Value& value, const std::vector<uint32_t>& map) -> Result<Value> {
  auto var = [&](uint32_t old) -> std::optional<uint32_t> {
    if (old < map.size() && map[old] != UINT32_MAX) { return map[old]; }
    return {};
  };
  auto undefined = [&]() { return error(Code::TraceVariable).arg("variable", Schedule::name_of(value)); };
  if (const auto* b = value.as<BlockRV>()) { auto v = var(b->var); if (!v) { return undefined(); } return Value(BlockRV{*v}); }
  if (const auto* l = value.as<LoopRV>()) { auto v = var(l->var); if (!v) { return undefined(); } return Value(LoopRV{*v}); }
  if (const auto* e = value.as<ExprRV>()) { auto v = var(e->var); if (!v) { return undefined(); } return Value(ExprRV{*v}); }
  if (value.as<IndexMap>() || value.as<Expr>()) {
    return with_sampled(value, [&](uint32_t number, const VarNode& old) -> std::optional<Expr> {
      auto v = var(number);
      return v ? std::optional<Expr>(make<VarNode>(Name(Schedule::name_of(ExprRV{*v})), old.dtype, old.origin)) : std::nullopt;
    });
  }
  if (const auto* list = value.as<Value::List>()) {
    Value::List out;
    out.reserve(list->size());
    for (const Value& item : *list) {
      LOOPSMITH_TRY(changed, renamed(item, map));
      out.push_back(std::move(changed));
    }
    return Value(std::move(out));
  }
  if (const auto* dict = value.as<Value::Dict>()) {
    Value::Dict out;
    for (const auto& [key, item] : *dict) {
      LOOPSMITH_TRY(changed, renamed(item, map));
      out.emplace_back(key, std::move(changed));
    }
    return Value(std::move(out));
  }
  return value;
}

auto number_of(const Value& value) -> uint32_t {
  if (const auto* b = value.as<BlockRV>()) { return b->var; }
  if (const auto* l = value.as<LoopRV>()) { return l->var; }
  return value.as<ExprRV>()->var;
}

}  // namespace

namespace {

// JSON keeps only names of variables: the names of parameters and sizes in an index map or an expression are resolved to variables of the current
// function.
auto with_variables_of(const PrimFunc& func, const Value& value) -> Value {
  return with_free_variables(value, [&](const VarNode& var) -> std::optional<Expr> {
    std::optional<Expr> found;
    auto consider = [&](const Expr& e) {
      const auto* own = e.as<VarNode>();
      if (own && !found && own->name == var.name && own->dtype == var.dtype) { found = e; }
    };
    for (const Var& param : func->params) { consider(param); }
    for (const auto& [param, buffer] : func->buffer_map) {
      for (const Expr& extent : buffer->shape) { post_order(extent, consider); }
    }
    return found;
  });
}

}  // namespace

auto Schedule::replay(const Trace& trace, bool remove_postproc, const Watch& watch) -> Status {
  Schedule before = *this;
  const std::vector<const Instruction*> instructions = trace.instructions();
  const auto end = std::find_if(instructions.begin(), instructions.end(), [&](const Instruction* one) { return remove_postproc && one->primitive->name == "enter_postproc"; });
  ReplayPlace place;
  Status status = continue_replay(instructions, static_cast<size_t>(end - instructions.begin()), place, watch);
  if (!status) { *this = std::move(before); }
  return status;
}

auto Schedule::continue_replay(std::span<const Instruction* const> instructions, size_t end, ReplayPlace& place, const Watch& watch) -> Status {
  // A trace does not name its machine. If it splits by `T.vscale()`, it was made for a machine with scalable vectors.
  constexpr int64_t any_vscale = 16;
  ScopedValue<int64_t> vscale(most_vscale_, most_vscale_ == 0 ? any_vscale : most_vscale_);
  for (; place.next < end; ++place.next) {
    const Instruction& instruction = *instructions[place.next];
    std::vector<Value> values;
    values.reserve(instruction.values.size());
    for (const Value& value : instruction.values) {
      LOOPSMITH_TRY(changed, renamed(value, place.variables));
      const FuncState* func = holds_expressions(changed) ? state_.func(func_) : nullptr;
      if (func) { changed = with_variables_of(func->func(), changed); }
      values.push_back(std::move(changed));
    }
    LOOPSMITH_CHECK(resolve_names(*instruction.primitive, values, instruction.origin));
    IRModule last = watch ? module() : IRModule();
    LOOPSMITH_TRY(outputs, apply_values(*instruction.primitive, std::move(values), instruction.decision, instruction.origin));
    if (watch) { watch(instruction, last); }
    if (!instruction.outputs.empty() && outputs.size() != instruction.outputs.size()) {
      return error(Code::TraceOutputs, instruction.origin).arg("primitive", instruction.primitive->name)
          .arg("expected", static_cast<int64_t>(instruction.outputs.size())).arg("found", static_cast<int64_t>(outputs.size()));
    }
    for (size_t i = 0; i < instruction.outputs.size(); ++i) {
      if (instruction.outputs[i].is_none()) { continue; }
      uint32_t old = number_of(instruction.outputs[i]);
      if (old >= place.variables.size()) { place.variables.resize(old + 8, UINT32_MAX); }
      place.variables[old] = number_of(outputs[i]);
    }
  }
  return ok();
}

auto loops_of(const Value& value) -> std::vector<LoopRV> {
  std::vector<LoopRV> out;
  if (const auto* one = value.as<LoopRV>()) { out.push_back(*one); }
  if (const auto* list = value.as<Value::List>()) {
    for (const Value& item : *list) {
      if (const auto* rv = item.as<LoopRV>()) { out.push_back(*rv); }
    }
  }
  return out;
}
auto blocks_of(const Value& value) -> std::vector<BlockRV> {
  std::vector<BlockRV> out;
  if (const auto* one = value.as<BlockRV>()) { out.push_back(*one); }
  if (const auto* list = value.as<Value::List>()) {
    for (const Value& item : *list) {
      if (const auto* rv = item.as<BlockRV>()) { out.push_back(*rv); }
    }
  }
  return out;
}
auto exprs_of(const Value& value) -> std::vector<ExprRV> {
  std::vector<ExprRV> out;
  if (const auto* one = value.as<ExprRV>()) { out.push_back(*one); }
  if (const auto* list = value.as<Value::List>()) {
    for (const Value& item : *list) {
      if (const auto* rv = item.as<ExprRV>()) { out.push_back(*rv); }
    }
  }
  return out;
}

}  // namespace loopsmith::schedule
