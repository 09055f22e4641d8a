// Traces: sharing, dead code, Python text. JSON is in trace_json.cpp.
#include "schedule/trace.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/dialects.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"

#include "schedule/index_map.h"
#include "schedule/primitive.h"
#include "schedule/schedule.h"

namespace loopsmith::schedule {

void Trace::append(Instruction instruction) {
  // Releases the instructions one after the other: if each of hundreds of thousands released the one before it, the stack would overflow.
  auto let_go = [](Node* node) {
    std::shared_ptr<const Node> before = std::move(node->before);
    delete node;
    while (before && before.use_count() == 1) { before = std::shared_ptr<const Node>(std::move(const_cast<Node&>(*before).before)); }
  };
  last_ = std::shared_ptr<const Node>(new Node{last_, std::move(instruction), size() + 1}, let_go);
}

auto Trace::instructions() const -> std::vector<const Instruction*> {
  std::vector<const Instruction*> out;
  out.reserve(size());
  for (const Node* node = last_.get(); node; node = node->before.get()) { out.push_back(&node->instruction); }
  std::reverse(out.begin(), out.end());
  return out;
}

auto Trace::with_decision(size_t index, Value decision) const -> Trace {
  Trace out;
  size_t at = 0;
  for (const Instruction* instruction : instructions()) {
    Instruction copy = *instruction;
    if (at++ == index) { copy.decision = decision; }
    out.append(std::move(copy));
  }
  return out;
}

namespace {

// The number of a variable: all kinds share one numbering.
auto variable_of(const Value& value) -> const uint32_t* {
  if (const auto* b = value.as<BlockRV>()) { return &b->var; }
  if (const auto* l = value.as<LoopRV>()) { return &l->var; }
  if (const auto* e = value.as<ExprRV>()) { return &e->var; }
  return nullptr;
}

template <class F>
void for_each_variable(const Value& value, const F& f) {
  if (const uint32_t* var = variable_of(value)) { f(*var); }
  if (const auto* list = value.as<Value::List>()) {
    for (const Value& item : *list) { for_each_variable(item, f); }
  }
  if (const auto* dict = value.as<Value::Dict>()) {
    for (const auto& [key, item] : *dict) { for_each_variable(item, f); }
  }
  if (value.as<IndexMap>() || value.as<Expr>()) {
    (void)with_sampled(value, [&](uint32_t number, const VarNode&) -> std::optional<Expr> { f(number); return {}; });
  }
}

}  // namespace

auto Trace::simplified(bool remove_postproc) const -> Trace {
  auto all = instructions();
  if (remove_postproc) {
    auto end = std::find_if(all.begin(), all.end(), [](const Instruction* i) { return i->primitive->name == "enter_postproc"; });
    all.erase(end, all.end());
  }
  std::unordered_set<uint32_t> used;
  std::vector<const Instruction*> kept;
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    const Instruction& instruction = **it;
    bool is_dead = instruction.primitive->is_pure && instruction.primitive->name != "enter_postproc";
    for (const Value& output : instruction.outputs) {
      if (const uint32_t* var = variable_of(output); var && used.count(*var)) { is_dead = false; }
    }
    if (is_dead) { continue; }
    for (const Value& value : instruction.values) { for_each_variable(value, [&](uint32_t var) { used.insert(var); }); }
    kept.push_back(&instruction);
  }
  Trace out;
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) { out.append(**it); }
  return out;
}

namespace {

using Decisions = std::unordered_map<uint32_t, int64_t>;

/// Adds the integers that a sampling instruction decided. False: it samples something else, or has no decision.
auto add_decisions(const Instruction& instruction, Decisions& out) -> bool {
  const std::string_view kind = instruction.primitive->kind;
  std::vector<int64_t> numbers;
  if (kind == "SampleCategorical") {
    const auto* candidates = instruction.values[0].as<Value::List>();
    const int64_t* index = instruction.decision.integer();
    if (!candidates || !index || *index < 0 || *index >= std::ssize(*candidates)) { return false; }
    const int64_t* number = (*candidates)[static_cast<size_t>(*index)].integer();
    if (!number) { return false; }
    numbers.push_back(*number);
  } else if (kind == "SamplePerfectTile" || kind == "SamplePartitionedTile") {
    const auto* factors = instruction.decision.as<Value::List>();
    for (size_t i = 0; factors && i < factors->size(); ++i) {
      const int64_t* number = (*factors)[i].integer();
      if (!number) { return false; }
      numbers.push_back(*number);
    }
  }
  if (numbers.empty() || numbers.size() != instruction.outputs.size()) { return false; }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (const auto* output = instruction.outputs[i].as<ExprRV>()) { out[output->var] = numbers[i]; }
  }
  return true;
}

/// Computes operators of constants, as in `i // (2 * 4)`.
class FoldConstants : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  auto on(const Add& n) -> Expr override { return add(mutate(n.a), mutate(n.b), n.origin); }
  auto on(const Sub& n) -> Expr override { return sub(mutate(n.a), mutate(n.b), n.origin); }
  auto on(const Mul& n) -> Expr override { return mul(mutate(n.a), mutate(n.b), n.origin); }
  auto on(const FloorDiv& n) -> Expr override { return floordiv(mutate(n.a), mutate(n.b), n.origin); }
  auto on(const FloorMod& n) -> Expr override { return floormod(mutate(n.a), mutate(n.b), n.origin); }
};

auto with_decisions(const Value& value, const Decisions& decisions) -> Value {
  if (const auto* sampled = value.as<ExprRV>()) {
    auto found = decisions.find(sampled->var);
    return found == decisions.end() ? value : Value(found->second);
  }
  if (const auto* list = value.as<Value::List>()) {
    Value::List out;
    for (const Value& item : *list) { out.push_back(with_decisions(item, decisions)); }
    return Value(std::move(out));
  }
  if (const auto* dict = value.as<Value::Dict>()) {
    Value::Dict out;
    for (const auto& [key, item] : *dict) { out.emplace_back(key, with_decisions(item, decisions)); }
    return Value(std::move(out));
  }
  if (!value.as<IndexMap>() && !value.as<Expr>()) { return value; }
  Value out = with_sampled(value, [&](uint32_t number, const VarNode& var) -> std::optional<Expr> {
    auto found = decisions.find(number);
    return found == decisions.end() ? std::nullopt : std::optional<Expr>(constant_int(var.dtype, found->second));
  });
  const auto* map = out.as<IndexMap>();
  if (!map) { return out; }
  IndexMapNode fields = **map;
  Array<Expr> folded = FoldConstants().mutate(fields.final);
  fields.final = std::move(folded);
  return Value(make_index_map(std::move(fields)));
}

}  // namespace

auto Trace::decided() const -> Trace {
  Trace out;
  Decisions decisions;
  for (const Instruction* instruction : instructions()) {
    if (instruction->primitive->is_sampling && add_decisions(*instruction, decisions)) { continue; }
    Instruction copy = *instruction;
    for (Value& value : copy.values) { value = with_decisions(value, decisions); }
    out.append(std::move(copy));
  }
  return out;
}

namespace {

// `b0`, `l1`, `v2`, numbered by appearance as outputs.
struct Namer {
  std::unordered_map<uint32_t, std::string> names;
  bool by_place = false;                    // uses the variable's own number instead
  Dialect dialect = Dialect::Block;

  auto name(const Value& value) -> std::string {
    const uint32_t* var = variable_of(value);
    if (by_place) { return Schedule::name_of(value); }
    auto found = names.find(*var);
    return found == names.end() ? Schedule::name_of(value) : found->second;
  }
  void add_output(const Value& value) {
    const uint32_t* var = variable_of(value);
    if (by_place || !var) { return; }
    char letter = value.as<BlockRV>() ? 'b' : value.as<LoopRV>() ? 'l' : 'v';
    names[*var] = letter + std::to_string(names.size());
  }

  /// The names of sampled integers in expressions, as in the trace.
  [[nodiscard]] auto as_named() const -> std::function<std::optional<Expr>(uint32_t number, const VarNode& var)> {
    return [this](uint32_t number, const VarNode& var) -> std::optional<Expr> {
      auto found = names.find(number);
      return found == names.end() ? std::nullopt : std::optional<Expr>(make<VarNode>(Name(found->second), var.dtype, var.origin));
    };
  }

  auto text(const Value& value, const Param& param) -> std::string {
    if (variable_of(value)) { return name(value); }
    if (const bool* b = value.as<bool>()) { return *b ? "True" : "False"; }
    if (const int64_t* i = value.integer()) {
      if (param.kind == ValueKind::Bool) { return *i != 0 ? "True" : "False"; }
      return std::to_string(*i);
    }
    // Where only a real number fits, TVM writes 1 for 1.0; elsewhere that would be read back as an integer.
    if (const double* d = value.as<double>()) { return param.kind == ValueKind::Float ? fmt::format("{:.17g}", *d) : float_text(*d); }
    if (const auto* s = value.as<std::string>()) { return s->find_first_of("\"\\\n\r\t") == std::string::npos ? "\"" + *s + "\"" : print_script(make<StringImm>(*s)); }
    if (const auto* given = value.as<IndexMap>()) {
      IndexMap map = with_sampled(*given, as_named());
      return param.map_of == MapOf::Ranges ? ranges_text(*map) : map_text(*map);
    }
    if (const auto* expr = value.as<Expr>()) { return print_script(with_sampled(*expr, as_named())); }
    if (const auto* list = value.as<Value::List>()) {
      bool is_pair = param.kind == ValueKind::Buffer;
      std::string out = is_pair ? "(" : "[";
      for (size_t i = 0; i < list->size(); ++i) { out += (i ? ", " : "") + text((*list)[i], param); }
      return out + (is_pair ? ")" : "]");
    }
    if (const auto* dict = value.as<Value::Dict>()) {
      std::string out = "{";
      for (size_t i = 0; i < dict->size(); ++i) {
        out += (i ? ", " : "") + ("\"" + (*dict)[i].first + "\": ") + text((*dict)[i].second, param);
      }
      return out + "}";
    }
    return "None";
  }

  // "lambda i, j: " and the results; variables of equal names get different ones.
  static auto parameters_text(const IndexMapNode& map, std::vector<Expr>& results) -> std::string {
    VarMap renamed;
    std::unordered_set<std::string> used;
    std::string out = "lambda ";
    for (const Var& var : map.initial) {
      // The name of a result variable; letters outside of ASCII are replaced.
      std::string name = print_script(Expr(var));
      if (used.count(name)) {
        name += std::to_string(used.size());
        renamed[var.get()] = make<VarNode>(Name(name), var->dtype);
      }
      if (!used.empty()) { out += ", "; }
      used.insert(name);
      out += name;
    }
    for (const Expr& e : map.final) { results.push_back(substitute(e, renamed)); }
    return out + ": ";
  }
  static auto lambda_text(const IndexMapNode& map) -> std::string {
    std::vector<Expr> results;
    std::string out = parameters_text(map, results) + "(";
    for (size_t i = 0; i < results.size(); ++i) { out += (i ? " " : "") + print_script(results[i]) + ","; }
    return out + ")";
  }
  static auto map_text(const IndexMapNode& map) -> std::string {
    if (!map.inverse) { return lambda_text(map); }
    return "tvm.tir.IndexMap.from_func(" + lambda_text(map) + ", inverse_index_map=" + lambda_text(*map.inverse) + ")";
  }
  // Writes a begin and an end for each dimension, or a single number for a point.
  static auto ranges_text(const IndexMapNode& map) -> std::string {
    std::vector<Expr> results;
    std::string out = parameters_text(map, results) + "[";
    for (size_t i = 0; i + 1 < results.size(); i += 2) {
      if (i) { out += ", "; }
      bool is_point = map.final[i].same_as(map.final[i + 1]);
      out += is_point ? print_script(results[i]) : "(" + print_script(results[i]) + ", " + print_script(results[i + 1]) + ")";
    }
    return out + "]";
  }

  static auto float_text(double value) -> std::string {
    std::string out = fmt::format("{:.17g}", value);
    if (out.find_first_of(".enai") == std::string::npos) { out += ".0"; }
    return out;
  }

  auto line(const Instruction& instruction) -> std::string {
    const Primitive& row = *instruction.primitive;
    std::string args;
    auto add = [&](std::string_view key, const std::string& value) {
      if (!args.empty()) { args += ", "; }
      if (!key.empty()) { args += std::string(key) + "="; }
      args += value;
    };
    for (size_t i = 0; i < row.params.size(); ++i) {
      const Param& param = row.params[i];
      if (param.role == Role::Decision) {
        if (!instruction.decision.is_none()) { add(param.name, text(instruction.decision, param)); }
        continue;
      }
      const Value& value = instruction.values[i];
      const auto* list = value.as<Value::List>();
      if (param.omit_empty && (value.is_none() || (list && list->empty()))) { continue; }
      if (param.is_variadic && list) {
        for (const Value& item : *list) { add("", text(item, param)); }
      } else {
        add(param.traced_as.empty() ? param.name : param.traced_as, text(value, param));
      }
    }
    std::string outputs;
    for (size_t i = 0; i < instruction.outputs.size(); ++i) {
      add_output(instruction.outputs[i]);
      outputs += (i ? ", " : "") + name(instruction.outputs[i]);
    }
    bool is_list = row.output == OutputKind::Blocks || row.output == OutputKind::Loops || row.output == OutputKind::Exprs;
    if (is_list && instruction.outputs.size() == 1) { outputs += ","; }
    if (!outputs.empty()) { outputs += " = "; }
    std::string_view name = row.name == "get_block" && dialects::is_recent(dialect) ? "get_sblock" : std::string_view(row.name);
    return outputs + "sch." + std::string(name) + "(" + args + ")";
  }
};

}  // namespace

auto Trace::python_lines(Dialect dialect) const -> std::vector<std::string> {
  Namer namer;
  namer.dialect = dialect;
  std::vector<std::string> out;
  for (const Instruction* instruction : instructions()) { out.push_back(namer.line(*instruction)); }
  return out;
}

auto Trace::python(Dialect dialect) const -> std::string {
  std::string_view space = dialects::is_recent(dialect) ? "s_tir" : "tir";
  std::string out = fmt::format("# from tvm import {0}\ndef apply_trace(sch: {0}.Schedule) -> None:\n", space);
  if (empty()) { return out + "  pass\n"; }
  for (const std::string& line : python_lines(dialect)) { out += "  " + line + "\n"; }
  return out;
}

auto python_line(const Instruction& instruction) -> std::string {
  Namer namer;
  namer.by_place = true;
  return namer.line(instruction);
}

}  // namespace loopsmith::schedule
