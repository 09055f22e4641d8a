// Traces and index maps in TVM's JSON: see trace_json.h.
#include "schedule/trace_json.h"

#include <map>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ir/dialects.h"
#include "ir/ops.h"
#include "schedule/index_map.h"
#include "schedule/primitive.h"
#include "schedule/schedule.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::schedule {
namespace {

using Json = nlohmann::ordered_json;

// nlohmann parses deep nesting without recursion, but this file walks the result recursively.
constexpr int most_depth = 64;

auto bad(const Reason& why) -> Diagnostic { return error(Code::TraceFormat).arg("what", why.text()); }

struct Reader {
  std::unordered_map<std::string, uint32_t> variables;
  uint32_t next = 0;

  auto is_variable(const std::string& text) const -> bool {
    if (text.size() < 2 || (text[0] != 'b' && text[0] != 'l' && text[0] != 'v')) { return false; }
    for (size_t i = 1; i < text.size(); ++i) {
      if (text[i] < '0' || text[i] > '9') { return false; }
    }
    return true;
  }
  // A name that is assigned again has a new meaning from this point on.
  auto define(const std::string& text) -> Value { return variable(text, variables[text] = next++); }
  static auto variable(const std::string& text, uint32_t var) -> Value {
    return text[0] == 'b' ? Value(BlockRV{var}) : text[0] == 'l' ? Value(LoopRV{var}) : Value(ExprRV{var});
  }

  // Gives sampled integers in an index map or an expression the names of the trace.
  template <class T>
  auto with_own_numbers(const T& of) const -> T {
    return with_sampled(of, [&](uint32_t, const VarNode& var) -> std::optional<Expr> {
      auto found = variables.find(var.name.str());
      if (found == variables.end()) { return {}; }
      return Expr(make<VarNode>(Name("v" + std::to_string(found->second)), var.dtype, var.origin));
    });
  }

  // Among inputs, strings are variables, and text has extra quotes; among attributes, strings are text.
  auto value(const Json& json, bool is_input, ValueKind kind, int depth) -> Result<Value> {
    if (depth > most_depth) { return bad(because(Why::NestedTooDeeply)); }
    if (json.is_null()) { return Value(); }
    if (json.is_boolean()) { return Value(json.get<bool>()); }
    if (json.is_number_integer()) { return Value(json.get<int64_t>()); }
    if (json.is_number()) { return Value(json.get<double>()); }
    if (json.is_string()) {
      const auto& text = json.get_ref<const std::string&>();
      if (!text.empty() && text[0] == '{' && kind == ValueKind::IndexMap) {
        LOOPSMITH_TRY(map, index_map_from_json(text));
        return Value(with_own_numbers(map));
      }
      if (is_input) {
        if (text == "None") { return Value(); }
        if (is_variable(text)) {
          auto found = variables.find(text);
          if (found == variables.end()) { return bad(because(Why::VariableUnmade).arg("variable", text)); }
          return variable(text, found->second);
        }
        if (text.size() >= 2 && text.front() == '"' && text.back() == '"') { return Value(text.substr(1, text.size() - 2)); }
        if (!text.empty() && text[0] == '{') {
          if (auto map = index_map_from_json(text)) { return Value(with_own_numbers(*map)); }
          if (auto expr = expr_from_json(text)) { return Value(with_own_numbers(*expr)); }
        }
      } else if (kind == ValueKind::Any && !text.empty() && text[0] == '{') {
        if (auto map = index_map_from_json(text)) { return Value(with_own_numbers(*map)); }
      }
      return Value(text);
    }
    if (json.is_array()) {
      Value::List out;
      for (const Json& item : json) {
        LOOPSMITH_TRY(read, value(item, is_input, kind, depth + 1));
        out.push_back(std::move(read));
      }
      return Value(std::move(out));
    }
    Value::Dict out;
    for (const auto& [key, item] : json.items()) {
      LOOPSMITH_TRY(read, value(item, is_input, kind, depth + 1));
      out.emplace_back(key, std::move(read));
    }
    return Value(std::move(out));
  }

  static auto access_of(const Json& json) -> Result<Value> {
    if (json == 0) { return Value("read"); }
    if (json == 1) { return Value("write"); }
    return bad(because(Why::AccessForm));
  }

  auto instruction(const Json& json) -> Result<Instruction> {
    if (!json.is_array() || json.size() != 4 || !json[0].is_string() || !json[1].is_array() || !json[2].is_array() || !json[3].is_array()) {
      return bad(because(Why::InstructionForm));
    }
    Instruction out;
    const auto& kind = json[0].get_ref<const std::string&>();
    out.primitive = find_instruction(kind);
    if (!out.primitive) { return error(Code::NoSuchInstruction).arg("kind", kind); }
    size_t input = 0;
    size_t attr = 0;
    const Json& inputs = json[1];
    const Json& attrs = json[2];
    for (const Param& param : out.primitive->params) {
      if (param.role == Role::Decision) { out.values.emplace_back(); continue; }
      bool is_input = param.role == Role::Input;
      if (param.is_spliced) {
        Value::List items;
        for (; input < inputs.size(); ++input) {
          LOOPSMITH_TRY(read, value(inputs[input], true, param.kind, 0));
          items.push_back(std::move(read));
        }
        out.values.emplace_back(std::move(items));
        continue;
      }
      size_t& at = is_input ? input : attr;
      const Json& from = is_input ? inputs : attrs;
      if (param.kind == ValueKind::Buffer) {
        if (at + 1 >= from.size()) { return bad(because(Why::InstructionLacks).arg("kind", kind).arg("parameter", param.name)); }
        LOOPSMITH_TRY(index, value(from[at], is_input, ValueKind::Int, 0));
        LOOPSMITH_TRY(access, access_of(from[at + 1]));
        at += 2;
        out.values.emplace_back(Value::List{std::move(access), std::move(index)});
        continue;
      }
      if (param.kind == ValueKind::Access && at < from.size()) {
        LOOPSMITH_TRY(access, access_of(from[at++]));
        out.values.push_back(std::move(access));
        continue;
      }
      if (at < from.size()) {
        LOOPSMITH_TRY(read, value(from[at++], is_input, param.kind, 0));
        out.values.push_back(std::move(read));
      } else if (param.otherwise) {
        out.values.push_back(*param.otherwise);
      } else {
        return bad(because(Why::InstructionLacks).arg("kind", kind).arg("parameter", param.name));
      }
    }
    if (input < inputs.size() || attr < attrs.size()) { return bad(because(Why::InstructionHasMore).arg("kind", kind)); }
    for (const Json& output : json[3]) {
      // "_" is a result that cannot be used: the unknown factor of a loop of unknown extent.
      if (output == "_") {
        ++next;
        out.outputs.emplace_back();
        continue;
      }
      if (!output.is_string() || !is_variable(output.get_ref<const std::string&>())) { return bad(because(Why::OutputForm)); }
      out.outputs.push_back(define(output.get_ref<const std::string&>()));
    }
    return out;
  }
};

}  // namespace

auto trace_from_json(std::string_view text) -> Result<Trace> {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) { return bad(because(Why::NotJson)); }
  if (!json.is_array() || json.size() != 2 || !json[0].is_array() || !json[1].is_array()) {
    return bad(because(Why::TraceForm));
  }
  Reader reader;
  std::vector<Instruction> instructions;
  for (const Json& item : json[0]) {
    LOOPSMITH_TRY(instruction, reader.instruction(item));
    instructions.push_back(std::move(instruction));
  }
  for (const Json& item : json[1]) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_number_integer()) { return bad(because(Why::DecisionForm)); }
    int64_t index = item[0].get<int64_t>();
    if (index < 0 || index >= static_cast<int64_t>(instructions.size())) { return bad(because(Why::DecisionForNothing)); }
    LOOPSMITH_TRY(decision, reader.value(item[1], false, ValueKind::Any, 0));
    instructions[static_cast<size_t>(index)].decision = std::move(decision);
  }
  Trace out;
  for (Instruction& instruction : instructions) { out.append(std::move(instruction)); }
  return out;
}

namespace {

struct Writer {
  std::unordered_map<uint32_t, std::string> names;

  static auto number(const Value& value) -> const uint32_t* {
    if (const auto* b = value.as<BlockRV>()) { return &b->var; }
    if (const auto* l = value.as<LoopRV>()) { return &l->var; }
    if (const auto* e = value.as<ExprRV>()) { return &e->var; }
    return nullptr;
  }
  [[nodiscard]] auto as_named() const -> std::function<std::optional<Expr>(uint32_t number, const VarNode& var)> {
    return [this](uint32_t number, const VarNode& var) -> std::optional<Expr> {
      auto found = names.find(number);
      if (found == names.end()) { return {}; }
      return Expr(make<VarNode>(Name(found->second), var.dtype, var.origin));
    };
  }
  auto json(const Value& value, bool is_input) -> Json {
    if (const uint32_t* var = number(value)) {
      auto found = names.find(*var);
      return found == names.end() ? Schedule::name_of(value) : found->second;
    }
    if (const bool* b = value.as<bool>()) { return *b ? 1 : 0; }
    if (const int64_t* i = value.integer()) { return *i; }
    if (const double* d = value.as<double>()) { return *d; }
    if (const auto* s = value.as<std::string>()) { return is_input ? "\"" + *s + "\"" : *s; }
    if (const auto* map = value.as<IndexMap>()) {
      return index_map_to_json(with_sampled(*map, as_named()));
    }
    if (const auto* expr = value.as<Expr>()) {
      if (const auto* imm = expr->as<IntImm>()) { return imm->value; }
      if (const auto* imm = expr->as<FloatImm>()) { return imm->value; }
      // TVM's own traces have no form for expressions; this is TVM's form for a single expression.
      if (is_input) { return expr_to_json(with_sampled(*expr, as_named())); }
      return nullptr;
    }
    if (const auto* list = value.as<Value::List>()) {
      Json out = Json::array();
      for (const Value& item : *list) { out.push_back(json(item, is_input)); }
      return out;
    }
    if (const auto* dict = value.as<Value::Dict>()) {
      Json out = Json::object();
      for (const auto& [key, item] : *dict) { out[key] = json(item, is_input); }
      return out;
    }
    if (is_input) { return "None"; }
    return nullptr;
  }
};

}  // namespace

auto trace_to_json(const Trace& trace, Dialect dialect) -> std::string {
  Writer writer;
  Json instructions = Json::array();
  Json decisions = Json::array();
  for (const Instruction* instruction : trace.instructions()) {
    const Primitive& row = *instruction->primitive;
    Json inputs = Json::array();
    Json attrs = Json::array();
    for (size_t i = 0; i < row.params.size(); ++i) {
      const Param& param = row.params[i];
      if (param.role == Role::Decision) { continue; }
      const Value& value = instruction->values[i];
      Json& to = param.role == Role::Input ? inputs : attrs;
      auto access = [](const Value& v) { return v == Value("write") ? 1 : 0; };
      if (const auto* pair = value.as<Value::List>(); param.kind == ValueKind::Buffer && pair && pair->size() == 2) {
        to.push_back(writer.json((*pair)[1], false));
        to.push_back(access((*pair)[0]));
      } else if (param.kind == ValueKind::Access) {
        to.push_back(access(value));
      } else if (param.is_spliced) {
        if (const auto* items = value.as<Value::List>()) {
          for (const Value& item : *items) { inputs.push_back(writer.json(item, true)); }
        }
      } else if (param.role == Role::Input) {
        bool is_absent_list = param.is_list && value.is_none();
        inputs.push_back(is_absent_list ? Json::array() : writer.json(value, true));
      } else {
        attrs.push_back(writer.json(value, false));
      }
    }
    Json outputs = Json::array();
    for (const Value& output : instruction->outputs) {
      if (output.is_none()) { outputs.push_back("_"); continue; }
      char letter = output.as<BlockRV>() ? 'b' : output.as<LoopRV>() ? 'l' : 'v';
      std::string name = letter + std::to_string(writer.names.size());
      writer.names[*Writer::number(output)] = name;
      outputs.push_back(name);
    }
    std::string kind(row.kind);
    if (dialects::is_recent(dialect) && kind == "GetBlock") { kind = "GetSBlock"; }
    if (!instruction->decision.is_none()) {
      decisions.push_back(Json::array({instructions.size(), writer.json(instruction->decision, false)}));
    }
    instructions.push_back(Json::array({kind, inputs, attrs, outputs}));
  }
  return Json::array({instructions, decisions}).dump();
}

// ---- index maps ----------------------------------------------------------------------------------------

namespace {

// TVM writes a graph: a list of nodes that refer to each other by position. Attributes are strings.
struct GraphReader {
  const Json& nodes;
  std::vector<Expr> exprs;
  std::vector<bool> open;

  auto attr(size_t node, const char* key) const -> std::optional<std::string> {
    auto attrs = nodes[node].find("attrs");
    if (attrs == nodes[node].end()) { return {}; }
    auto found = attrs->find(key);
    if (found == attrs->end() || !found->is_string()) { return {}; }
    return found->get<std::string>();
  }
  auto reference(size_t node, const char* key) const -> std::optional<size_t> {
    auto text = attr(node, key);
    if (!text || text->empty() || text->size() > 9 || text->find_first_not_of("0123456789") != std::string::npos) { return {}; }
    size_t index = std::stoul(*text);
    if (index >= nodes.size()) { return {}; }
    return index;
  }
  auto type_key(size_t node) const -> std::string { return nodes[node].value("type_key", ""); }

  auto array(size_t node) const -> std::optional<std::vector<size_t>> {
    auto data = nodes[node].find("data");
    std::vector<size_t> out;
    // An empty array has no data.
    if (data == nodes[node].end() && type_key(node) == "Array") { return out; }
    if (data == nodes[node].end() || !data->is_array()) { return {}; }
    for (const Json& item : *data) {
      if (!item.is_number_unsigned() || item.get<size_t>() >= nodes.size()) { return {}; }
      out.push_back(item.get<size_t>());
    }
    return out;
  }

  auto operand(size_t node, const char* key, int depth) -> Expr {
    auto index = reference(node, key);
    return index ? expr(*index, depth + 1) : Expr();
  }

  // None: the expression is not supported.
  auto expr(size_t node, int depth) -> Expr {
    if (exprs[node]) { return exprs[node]; }
    if (open[node] || depth > 200) { return {}; }
    open[node] = true;
    Expr out = read(node, depth);
    open[node] = false;
    exprs[node] = out;
    return out;
  }

  auto read(size_t node, int depth) -> Expr {
    std::string type = type_key(node);
    DataType dtype = DataType::int_(32);
    if (auto text = attr(node, "dtype")) {
      auto parsed = DataType::parse(*text);
      if (!parsed) { return {}; }
      dtype = *parsed;
    }
    if (type == "tir.Var" || type == "tir.SizeVar") {
      auto name = reference(node, "name");
      std::string text = name ? nodes[*name].value("repr_str", "i") : "i";
      return make<VarNode>(Name(text), dtype);
    }
    if (type == "IntImm") {
      auto text = attr(node, "value");
      if (!text || text->empty() || text->size() > 20) { return {}; }
      return int_imm(std::strtoll(text->c_str(), nullptr, 10), dtype);
    }
    if (type == "FloatImm") {
      auto text = attr(node, "value");
      return text ? float_imm(std::strtod(text->c_str(), nullptr), dtype) : Expr();
    }
    if (type == "tir.Cast") {
      Expr value = operand(node, "value", depth);
      return value ? Expr(make<Cast>(dtype, value)) : Expr();
    }
    if (type == "tir.Not") {
      Expr a = operand(node, "a", depth);
      return a ? Expr(make<Not>(a)) : Expr();
    }
    if (type == "tir.Select") {
      Expr c = operand(node, "condition", depth);
      Expr t = operand(node, "true_value", depth);
      Expr f = operand(node, "false_value", depth);
      return c && t && f ? Expr(make<Select>(c, t, f)) : Expr();
    }
    if (type == "tir.Call") {
      auto op = reference(node, "op");
      auto args = reference(node, "args");
      if (!op || !args) { return {}; }
      std::string name = nodes[*op].value("repr_str", "");
      if (name.rfind("tir.", 0) == 0) { name = name.substr(4); }
      auto items = array(*args);
      if (!items) { return {}; }
      std::vector<Expr> exprs_of_call;
      for (size_t item : *items) {
        Expr argument = expr(item, depth + 1);
        if (!argument) { return {}; }
        exprs_of_call.push_back(argument);
      }
      return make<Call>(dtype, Name(name), Array<Expr>(std::move(exprs_of_call)));
    }
    Expr a = operand(node, "a", depth);
    Expr b = operand(node, "b", depth);
    if (!a || !b || !(a.dtype() == b.dtype())) { return {}; }
#define EXPR(Kind)
#define BINARY(Kind) if (type == "tir." #Kind) { return make<Kind>(a, b); }
#include "ir/nodes.def"
    return {};
  }

  auto exprs_of(size_t node) -> std::optional<std::vector<Expr>> {
    auto items = array(node);
    if (!items) { return {}; }
    std::vector<Expr> out;
    for (size_t item : *items) {
      out.push_back(expr(item, 0));
      if (!out.back()) { return {}; }
    }
    return out;
  }

  auto map(size_t node, int depth) -> IndexMap {
    auto initial = reference(node, "initial_indices");
    auto final = reference(node, "final_indices");
    if (type_key(node) != "tir.IndexMap" || !initial || !final || depth > 1) { return {}; }
    auto vars = exprs_of(*initial);
    auto indices = exprs_of(*final);
    if (!vars || !indices) { return {}; }
    IndexMapNode fields;
    std::vector<Var> initial_vars;
    for (const Expr& var : *vars) {
      if (!var.as<VarNode>()) { return {}; }
      initial_vars.push_back(var.ref<VarNode>());
    }
    fields.initial = std::move(initial_vars);
    fields.final = std::move(*indices);
    if (auto inverse = reference(node, "inverse_index_map"); inverse && *inverse != 0) { fields.inverse = map(*inverse, depth + 1); }
    return make_index_map(std::move(fields));
  }
};

}  // namespace

namespace {

// The result of `read(reader, root)` on the graph in the text.
template <class Read>
auto from_graph(std::string_view text, const std::string& what, const Read& read) -> Result<decltype(read(std::declval<GraphReader&>(), size_t{}))> {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("nodes") || !json["nodes"].is_array() || !json.contains("root") ||
      !json["root"].is_number_unsigned()) {
    return bad(because(Why::GraphForm).arg("what", what));
  }
  const Json& nodes = json["nodes"];
  size_t root = json["root"].get<size_t>();
  for (const Json& node : nodes) {
    if (!node.is_object() || (node.contains("type_key") && !node["type_key"].is_string()) ||
        (node.contains("repr_str") && !node["repr_str"].is_string())) {
      return bad(because(Why::GraphForm).arg("what", what));
    }
  }
  if (root >= nodes.size()) { return bad(because(Why::GraphWithoutRoot).arg("what", what)); }
  GraphReader reader{nodes, std::vector<Expr>(nodes.size()), std::vector<bool>(nodes.size(), false)};
  auto out = read(reader, root);
  if (!out) { return bad(because(Why::GraphUnknown).arg("what", what)); }
  return out;
}

}  // namespace

auto index_map_from_json(std::string_view text) -> Result<IndexMap> {
  return from_graph(text, "an index map", [](GraphReader& reader, size_t root) { return reader.map(root, 0); });
}
auto expr_from_json(std::string_view text) -> Result<Expr> {
  return from_graph(text, "an expression", [](GraphReader& reader, size_t root) { return reader.expr(root, 0); });
}

namespace {

// Nodes are numbered when first reached, children before the array or expression that contains them: TVM's order.
struct GraphWriter {
  struct Node {
    std::string type_key;
    std::vector<std::pair<std::string, std::string>> attrs;
    std::optional<std::string> repr;
    std::optional<std::vector<size_t>> data;
  };
  std::vector<Node> nodes{Node{}};
  std::unordered_map<const void*, size_t> known;
  std::map<std::string, size_t> strings;
  std::map<std::string, size_t> types;

  auto add(Node node) -> size_t {
    nodes.push_back(std::move(node));
    return nodes.size() - 1;
  }
  auto expr(const Expr& e) -> size_t {
    if (auto found = known.find(e.get()); found != known.end()) { return found->second; }
    size_t index = add({});
    known[e.get()] = index;
    Node node;
    std::string dtype = e.dtype().str();
    auto binary = [&](const char* type, const Expr& a, const Expr& b) {
      std::string left = std::to_string(expr(a));
      std::string right = std::to_string(expr(b));
      node.type_key = type;
      node.attrs = {{"a", left}, {"b", right}, {"dtype", dtype}, {"span", "0"}};
    };
    switch (e.kind()) {
      case NodeKind::VarNode: {
        Node name{"runtime.String", {}, e.as<VarNode>()->name.str(), {}};
        size_t at = add(std::move(name));
        size_t type = add({"PrimType", {{"dtype", dtype}}, {}, {}});
        node.type_key = "tir.Var";
        node.attrs = {{"dtype", dtype}, {"name", std::to_string(at)}, {"span", "0"}, {"type_annotation", std::to_string(type)}};
        break;
      }
      case NodeKind::IntImm:
        node.type_key = "IntImm";
        node.attrs = {{"dtype", dtype}, {"span", "0"}, {"value", std::to_string(e.as<IntImm>()->value)}};
        break;
      case NodeKind::FloatImm:
        node.type_key = "FloatImm";
        node.attrs = {{"dtype", dtype}, {"span", "0"}, {"value", fmt::format("{:.16g}", e.as<FloatImm>()->value)}};
        break;
      case NodeKind::Cast: {
        std::string value = std::to_string(expr(e.as<Cast>()->value));
        node.type_key = "tir.Cast";
        node.attrs = {{"dtype", dtype}, {"span", "0"}, {"value", value}};
        break;
      }
      case NodeKind::Call: {
        const auto* call = e.as<Call>();
        std::string args = std::to_string(array(call->args));
        size_t op = add({"Op", {}, "tir." + call->op.str(), {}});
        node.type_key = "tir.Call";
        node.attrs = {{"args", args}, {"dtype", dtype}, {"op", std::to_string(op)}, {"span", "0"}};
        break;
      }
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind: binary("tir." #Kind, e.as<Kind>()->a, e.as<Kind>()->b); break;
#include "ir/nodes.def"
      default: node.type_key = "tir.Any"; break;
    }
    nodes[index] = std::move(node);
    return index;
  }
  template <class T>
  auto array(const Array<T>& items) -> size_t {
    size_t index = add({});
    std::vector<size_t> data;
    for (const auto& item : items) { data.push_back(expr(Expr(item))); }
    nodes[index] = {"Array", {}, {}, {}};
    if (!data.empty()) { nodes[index].data = std::move(data); }
    return index;
  }
  auto map(const IndexMap& m) -> size_t {
    size_t index = add({});
    size_t initial = array(m->initial);
    size_t final = array(m->final);
    size_t inverse = m->inverse ? map(m->inverse) : 0;
    nodes[index] = {"tir.IndexMap",
                    {{"final_indices", std::to_string(final)}, {"initial_indices", std::to_string(initial)}, {"inverse_index_map", std::to_string(inverse)}},
                    {}, {}};
    return index;
  }
};

}  // namespace

namespace {

auto graph_text(const GraphWriter& writer, size_t root) -> std::string {
  std::string out = "{\n  \"root\": " + std::to_string(root) + ", \n  \"nodes\": [\n";
  for (size_t i = 0; i < writer.nodes.size(); ++i) {
    const auto& node = writer.nodes[i];
    out += "    {\n      \"type_key\": " + Json(node.type_key).dump();
    if (!node.attrs.empty()) {
      bool is_short = node.attrs.size() == 1;
      out += is_short ? ", \n      \"attrs\": {" : ", \n      \"attrs\": {\n";
      for (size_t k = 0; k < node.attrs.size(); ++k) {
        if (!is_short) { out += "        "; }
        out += Json(node.attrs[k].first).dump() + ": " + Json(node.attrs[k].second).dump();
        if (k + 1 < node.attrs.size()) { out += ", \n"; } else if (!is_short) { out += "\n      "; }
      }
      out += "}";
    }
    if (node.repr) { out += ", \n      \"repr_str\": " + Json(*node.repr).dump(); }
    if (node.data) {
      out += ", \n      \"data\": [";
      for (size_t k = 0; k < node.data->size(); ++k) { out += (k ? ", " : "") + std::to_string((*node.data)[k]); }
      out += "]";
    }
    out += "\n    }";
    out += i + 1 < writer.nodes.size() ? ", \n" : "\n";
  }
  out += "  ], \n  \"b64ndarrays\": [], \n  \"attrs\": {\"tvm_version\": \"0.19.0\"}\n}";
  return out;
}

}  // namespace

auto index_map_to_json(const IndexMap& map) -> std::string {
  GraphWriter writer;
  size_t root = writer.map(map);
  return graph_text(writer, root);
}
auto expr_to_json(const Expr& expr) -> std::string {
  GraphWriter writer;
  size_t root = writer.expr(expr);
  return graph_text(writer, root);
}

}  // namespace loopsmith::schedule
