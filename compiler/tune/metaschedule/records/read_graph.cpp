// Programs from graphs of TVM's objects: see module_graph.h. Whatever the text holds, reading ends: the depth is bounded, a node that contains itself is an
// error, and types of operands are checked before a node is made.
#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/ops.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "tune/metaschedule/records/module_graph.h"

namespace loopsmith::tune::metaschedule {
namespace {

constexpr int deepest = 400;

// Functions return nothing useful once `failed_` is set; the first failure is reported.
class ReadGraph {
 public:
  ReadGraph(const Graph& graph, std::string place) : graph_(graph), place_(std::move(place)), exprs_(graph.nodes.size()), buffers_(graph.nodes.size()), open_(graph.nodes.size(), false) {}

  auto module() -> Result<IRModule> {
    IRModuleNode out;
    size_t root = graph_.root;
    if (type(root) != "IRModule") { fail(root, "is not a module"); }
    size_t functions = failed_ ? 0 : child(root, "functions");
    const std::vector<size_t>& pairs = graph_.nodes[functions].data;
    std::vector<std::pair<Name, PrimFunc>> list;
    for (size_t i = 0; i + 1 < pairs.size() && !failed_; i += 2) {
      std::string name = text(child(pairs[i], "name_hint"));
      if (name.empty()) { fail(pairs[i], "has no name"); }
      PrimFunc func = function(pairs[i + 1]);
      if (!failed_) { list.emplace_back(Name(name), std::move(func)); }
    }
    if (list.empty()) { fail(root, "has no function"); }
    if (failed_) { return std::move(*failed_); }
    out.functions = Sequence<std::pair<Name, PrimFunc>>(std::move(list));
    return make_module(std::move(out));
  }

 private:
  void fail(size_t node, const std::string& why) {
    if (failed_) { return; }
    failed_ = error(Code::CannotRead).arg("file", place_).arg("reason", because(Why::NodeOfProgram).arg("node", node).arg("type", graph_.nodes[node].type).arg("cause", why).text());
  }

  // ---- fields ----
  [[nodiscard]] auto type(size_t node) const -> const std::string& { return graph_.nodes[node].type; }
  [[nodiscard]] auto field(size_t node, std::string_view key) const -> const std::string* {
    for (const auto& [name, value] : graph_.nodes[node].attrs) {
      if (name == key) { return &value; }
    }
    return nullptr;
  }
  auto number(size_t node, std::string_view key) -> int64_t {
    const std::string* value = field(node, key);
    if (!value || value->empty() || value->size() > 20 || value->find_first_not_of("-0123456789") != std::string::npos) {
      fail(node, fmt::format("has no number `{}`", key));
      return 0;
    }
    return std::strtoll(value->c_str(), nullptr, 10);
  }
  // The number of a child; 0: there is none.
  auto child(size_t node, std::string_view key) -> size_t {
    int64_t at = number(node, key);
    if (at < 0 || static_cast<size_t>(at) >= graph_.nodes.size()) {
      fail(node, fmt::format("names an unknown node as its `{}`", key));
      return 0;
    }
    return static_cast<size_t>(at);
  }
  [[nodiscard]] auto text(size_t node) const -> std::string { return graph_.nodes[node].text.value_or(""); }
  auto dtype(size_t node) -> DataType {
    const std::string* value = field(node, "dtype");
    auto parsed = value ? DataType::parse(*value) : std::nullopt;
    if (!parsed) { fail(node, "has no data type"); }
    return parsed.value_or(DataType::int_(32));
  }
  auto items(size_t node) -> const std::vector<size_t>& {
    if (node != 0 && type(node) != "Array") { fail(node, "is not a list"); }
    return graph_.nodes[node].data;
  }

  // True where the node is entered for the first time on this path.
  struct Entry {
    ReadGraph& reader;
    size_t node;
    bool entered;
    Entry(ReadGraph& r, size_t n) : reader(r), node(n), entered(!r.failed_ && !r.open_[n] && r.depth_ < deepest) {
      if (!entered) {
        r.fail(n, r.open_[n] ? "contains itself" : "is nested too deep");
        return;
      }
      r.open_[n] = true;
      ++r.depth_;
    }
    ~Entry() {
      if (!entered) { return; }
      reader.open_[node] = false;
      --reader.depth_;
    }
    Entry(const Entry&) = delete;
    auto operator=(const Entry&) -> Entry& = delete;
  };

  // ---- expressions ----
  auto need(size_t node, std::string_view key) -> Expr {
    size_t at = child(node, key);
    if (at == 0) { fail(node, fmt::format("has no `{}`", key)); }
    return failed_ ? Expr() : expr(at);
  }
  auto exprs(size_t node) -> Array<Expr> {
    std::vector<Expr> out;
    for (size_t item : items(node)) { out.push_back(expr(item)); }
    return failed_ ? Array<Expr>() : Array<Expr>(std::move(out));
  }
  auto expr(size_t node) -> Expr {
    if (exprs_[node]) { return exprs_[node]; }
    Entry entry(*this, node);
    if (!entry.entered) { return {}; }
    Expr out = make_expr(node);
    if (!out) { fail(node, "is not understood as an expression"); }
    exprs_[node] = out;
    return out;
  }
  auto variable(size_t node) -> Var {
    Expr e = node == 0 ? Expr() : expr(node);
    if (!failed_ && !e.as<VarNode>()) { fail(node, "is not a variable"); }
    return failed_ ? Var() : e.ref<VarNode>();
  }
  auto make_variable(size_t node) -> Expr {
    DataType t = dtype(node);
    size_t note = child(node, "type_annotation");
    std::optional<PointerType> pointer;
    if (!failed_ && type(note) == "PointerType") {
      size_t element = child(note, "element_type");
      std::string scope = text(child(note, "storage_scope"));
      if (!failed_ && type(element) == "PrimType") { pointer = PointerType{dtype(element), Name(scope)}; }
    }
    std::string name = text(child(node, "name"));
    return failed_ ? Expr() : Expr(make<VarNode>(Name(name.empty() ? "v" : name), t, Origin{}, pointer));
  }
  auto make_expr(size_t node) -> Expr {
    const std::string& kind = type(node);
    if (kind == "tir.Var" || kind == "tir.SizeVar") { return make_variable(node); }
    if (kind == "IntImm") {
      DataType t = dtype(node);
      int64_t value = number(node, "value");
      return make<IntImm>(t, value);
    }
    if (kind == "FloatImm") {
      const std::string* value = field(node, "value");
      return value ? Expr(make<FloatImm>(dtype(node), std::strtod(value->c_str(), nullptr))) : Expr();
    }
    if (kind == "tir.StringImm") {
      const std::string* value = field(node, "value");
      return value ? Expr(make<StringImm>(*value)) : Expr();
    }
    if (kind == "tir.Cast") {
      Expr value = need(node, "value");
      return failed_ ? Expr() : Expr(make<Cast>(dtype(node), value));
    }
    if (kind == "tir.Not") {
      Expr a = need(node, "a");
      return failed_ ? Expr() : Expr(make<Not>(a));
    }
    if (kind == "tir.Select") {
      Expr c = need(node, "condition"), t = need(node, "true_value"), f = need(node, "false_value");
      return failed_ || t.dtype() != f.dtype() ? Expr() : Expr(make<Select>(c, t, f));
    }
    if (kind == "tir.Ramp") {
      Expr base = need(node, "base"), stride = need(node, "stride"), lanes = need(node, "lanes");
      return failed_ || !as_int(lanes) ? Expr() : Expr(make<Ramp>(base, stride, lanes));
    }
    if (kind == "tir.Broadcast") {
      Expr value = need(node, "value"), lanes = need(node, "lanes");
      return failed_ || !as_int(lanes) ? Expr() : Expr(make<Broadcast>(value, lanes));
    }
    if (kind == "tir.Let") {
      Var v = variable(child(node, "var"));
      Expr value = need(node, "value"), body = need(node, "body");
      return failed_ ? Expr() : Expr(make<Let>(v, value, body));
    }
    if (kind == "tir.BufferLoad") { return make_load(node); }
    if (kind == "tir.Call") { return make_call(node); }
    if (!field(node, "a") || !field(node, "b")) { return {}; }
    Expr a = need(node, "a"), b = need(node, "b");
    if (failed_ || a.dtype() != b.dtype()) { return {}; }
#define EXPR(Kind)
#define BINARY(Kind) if (kind == "tir." #Kind) { return make<Kind>(a, b); }
#include "ir/nodes.def"
    return {};
  }
  auto make_load(size_t node) -> Expr {
    Buffer b = buffer(child(node, "buffer"));
    Array<Expr> indices = exprs(child(node, "indices"));
    if (failed_) { return {}; }
    if (indices.size() != b->shape.size()) { fail(node, "has another number of indices than its buffer dimensions"); }
    size_t predicate = field(node, "predicate") ? child(node, "predicate") : 0;
    Expr mask = predicate ? expr(predicate) : Expr();
    return failed_ ? Expr() : Expr(make<BufferLoad>(b, std::move(indices), Origin{}, mask));
  }
  auto make_call(size_t node) -> Expr {
    size_t op = child(node, "op");
    std::string name = type(op) == "Op" ? text(op) : "";
    if (name.rfind("tir.", 0) == 0) { name = name.substr(4); }
    Array<Expr> args = exprs(child(node, "args"));
    if (name.empty()) { fail(node, "calls no operator"); }
    return failed_ ? Expr() : Expr(make<Call>(dtype(node), Name(name), std::move(args)));
  }

  // ---- buffers, regions, iter vars ----
  auto buffer(size_t node) -> Buffer {
    if (buffers_[node]) { return buffers_[node]; }
    Entry entry(*this, node);
    if (!entry.entered || type(node) != "tir.Buffer") {
      fail(node, "is not a buffer");
      return {};
    }
    BufferNode out;
    out.data = variable(child(node, "data"));
    out.name = Name(text(child(node, "name")));
    out.dtype = dtype(node);
    out.shape = exprs(child(node, "shape"));
    out.strides = exprs(child(node, "strides"));
    size_t offset = child(node, "elem_offset");
    out.elem_offset = offset && !failed_ ? expr(offset) : Expr();
    if (out.elem_offset && is_zero(out.elem_offset)) { out.elem_offset = Expr(); }
    out.data_alignment = static_cast<int>(number(node, "data_alignment"));
    out.offset_factor = static_cast<int>(number(node, "offset_factor"));
    out.buffer_kind = number(node, "buffer_type") == 2 ? BufferKind::AutoBroadcast : BufferKind::Default;
    std::vector<int> separators;
    for (const Expr& e : exprs(child(node, "axis_separators"))) { separators.push_back(static_cast<int>(as_int(e).value_or(0))); }
    out.axis_separators = Array<int>(std::move(separators));
    if (failed_) { return {}; }
    if (!out.data->dtype.is_handle()) { fail(node, "has no pointer to its data"); }
    return buffers_[node] = make_buffer(std::move(out));
  }
  auto range(size_t node) -> Range {
    if (node == 0) { return {}; }
    if (type(node) != "Range") { fail(node, "is not a range"); }
    Expr min = need(node, "min"), extent = need(node, "extent");
    return {min, extent};
  }
  auto ranges(size_t node) -> Array<Range> {
    std::vector<Range> out;
    for (size_t item : items(node)) { out.push_back(range(item)); }
    return Array<Range>(std::move(out));
  }
  auto region(size_t node) -> BufferRegion {
    BufferRegion out{buffer(child(node, "buffer")), ranges(child(node, "region")), {}};
    if (!failed_ && out.region.size() != out.buffer->shape.size()) { fail(node, "has another number of ranges than its buffer dimensions"); }
    return out;
  }
  auto regions(size_t node) -> Array<BufferRegion> {
    std::vector<BufferRegion> out;
    for (size_t item : items(node)) {
      out.push_back(region(item));
      if (failed_) { return {}; }
    }
    return Array<BufferRegion>(std::move(out));
  }
  auto iter_var(size_t node) -> IterVar {
    constexpr IterKind kinds[] = {IterKind::Spatial, IterKind::ThreadIndex, IterKind::Reduction, IterKind::Scan, IterKind::Opaque};
    IterVar out;
    out.dom = range(child(node, "dom"));
    out.var = variable(child(node, "var"));
    int64_t kind = number(node, "iter_type");
    if (kind < 0 || kind > 4) { fail(node, "has an iterator kind that is not supported"); }
    if (!failed_) { out.kind = kinds[kind]; }
    out.thread_tag = Name(text(child(node, "thread_tag")));
    return out;
  }

  // ---- annotations ----
  auto attributes(size_t node) -> AttrMap {
    if (node != 0 && type(node) == "DictAttrs") { node = child(node, "__dict__"); }
    AttrMap out;
    const GraphNode& n = graph_.nodes[node];
    for (size_t i = 0; i < n.keys.size() && i < n.data.size() && !failed_; ++i) { out = with_attr(out, Name(n.keys[i]), attr(n.data[i])); }
    return out;
  }
  auto attr(size_t node) -> Attr {
    if (node == 0) { return {}; }
    const std::string& kind = type(node);
    if (kind == "runtime.String") { return Attr(text(node)); }
    if (kind == "Map") {
      Entry entry(*this, node);
      return entry.entered ? Attr(attributes(node)) : Attr();
    }
    if (kind != "Array") { return Attr(expr(node)); }
    Entry entry(*this, node);
    std::vector<Attr> out;
    for (size_t i = 0; entry.entered && i < items(node).size(); ++i) { out.push_back(attr(items(node)[i])); }
    return Attr(Array<Attr>(std::move(out)));
  }

  // ---- statements and functions ----
  auto need_stmt(size_t node, std::string_view key) -> Stmt {
    size_t at = child(node, key);
    if (at == 0) { fail(node, fmt::format("has no `{}`", key)); }
    return failed_ ? Stmt() : stmt(at);
  }
  auto stmt(size_t node) -> Stmt {
    Entry entry(*this, node);
    if (!entry.entered) { return {}; }
    Stmt out = make_stmt(node);
    if (!out) { fail(node, "is not understood as a statement"); }
    return failed_ ? Stmt() : out;
  }
  auto make_stmt(size_t node) -> Stmt;
  auto make_loop(size_t node) -> Stmt;
  auto make_store(size_t node) -> Stmt;
  auto make_realize(size_t node) -> Stmt;
  auto block(size_t node) -> Ref<Block>;
  auto function(size_t node) -> PrimFunc;

  const Graph& graph_;
  std::string place_;
  std::optional<Diagnostic> failed_;
  std::vector<Expr> exprs_;
  std::vector<Buffer> buffers_;
  std::vector<bool> open_;
  int depth_ = 0;
};

auto ReadGraph::make_loop(size_t node) -> Stmt {
  Var v = variable(child(node, "loop_var"));
  Expr min = need(node, "min"), extent = need(node, "extent");
  Stmt body = need_stmt(node, "body");
  int64_t kind = number(node, "kind");
  if (kind < 0 || kind > 4) { fail(node, "has an unknown kind"); }
  std::optional<IterVar> thread;
  if (size_t at = child(node, "thread_binding"); at != 0 && !failed_) { thread = iter_var(at); }
  AttrMap notes = attributes(child(node, "annotations"));
  return failed_ ? Stmt() : Stmt(make<For>(v, min, extent, static_cast<ForKind>(kind), body, thread, notes));
}

auto ReadGraph::make_store(size_t node) -> Stmt {
  Buffer b = buffer(child(node, "buffer"));
  Expr value = need(node, "value");
  Array<Expr> indices = exprs(child(node, "indices"));
  size_t predicate = field(node, "predicate") ? child(node, "predicate") : 0;
  Expr mask = predicate && !failed_ ? expr(predicate) : Expr();
  if (!failed_ && indices.size() != b->shape.size()) { fail(node, "has another number of indices than its buffer dimensions"); }
  return failed_ ? Stmt() : Stmt(make<BufferStore>(b, value, indices, Origin{}, mask));
}

auto ReadGraph::block(size_t node) -> Ref<Block> {
  Entry entry(*this, node);
  if (!entry.entered || type(node) != "tir.Block") {
    fail(node, "is not a block");
    return {};
  }
  Block::Fields out;
  std::vector<IterVar> iters;
  for (size_t item : items(child(node, "iter_vars"))) { iters.push_back(iter_var(item)); }
  out.iter_vars = Array<IterVar>(std::move(iters));
  out.reads = regions(child(node, "reads"));
  out.writes = regions(child(node, "writes"));
  out.name = Name(text(child(node, "name_hint")));
  out.body = need_stmt(node, "body");
  if (size_t init = child(node, "init"); init != 0 && !failed_) { out.init = stmt(init); }
  std::vector<Buffer> allocated;
  for (size_t item : items(child(node, "alloc_buffers"))) { allocated.push_back(buffer(item)); }
  out.alloc_buffers = Sequence<Buffer>(std::move(allocated));
  std::vector<MatchBufferRegion> matches;
  for (size_t item : items(child(node, "match_buffers"))) { matches.push_back({buffer(child(item, "buffer")), region(child(item, "source"))}); }
  out.match_buffers = Array<MatchBufferRegion>(std::move(matches));
  out.annotations = attributes(child(node, "annotations"));
  return failed_ ? Ref<Block>() : make<Block>(std::move(out));
}

auto ReadGraph::make_realize(size_t node) -> Stmt {
  Array<Expr> values = exprs(child(node, "iter_values"));
  Expr predicate = need(node, "predicate");
  Ref<Block> inner = block(child(node, "block"));
  if (!failed_ && values.size() != inner->iter_vars.size()) { fail(node, "has another number of values than its block iter vars"); }
  return failed_ ? Stmt() : Stmt(make<BlockRealize>(values, predicate, inner));
}

auto ReadGraph::make_stmt(size_t node) -> Stmt {
  const std::string& kind = type(node);
  if (kind == "tir.For") { return make_loop(node); }
  if (kind == "tir.BlockRealize") { return make_realize(node); }
  if (kind == "tir.BufferStore") { return make_store(node); }
  if (kind == "tir.Block") { return block(node); }
  if (kind == "tir.SeqStmt") {
    std::vector<Stmt> out;
    for (size_t item : items(child(node, "seq"))) {
      out.push_back(stmt(item));
      if (failed_) { return {}; }
    }
    return seq(std::move(out));
  }
  if (kind == "tir.Evaluate") {
    Expr value = need(node, "value");
    return failed_ ? Stmt() : Stmt(make<Evaluate>(value));
  }
  if (kind == "tir.LetStmt") {
    Var v = variable(child(node, "var"));
    Expr value = need(node, "value");
    Stmt body = need_stmt(node, "body");
    return failed_ ? Stmt() : Stmt(make<LetStmt>(v, value, body));
  }
  if (kind == "tir.IfThenElse") {
    Expr condition = need(node, "condition");
    Stmt then_case = need_stmt(node, "then_case");
    size_t other = child(node, "else_case");
    Stmt else_case = other && !failed_ ? stmt(other) : Stmt();
    return failed_ ? Stmt() : Stmt(make<IfThenElse>(condition, then_case, else_case));
  }
  if (kind == "tir.While") {
    Expr condition = need(node, "condition");
    Stmt body = need_stmt(node, "body");
    return failed_ ? Stmt() : Stmt(make<While>(condition, body));
  }
  if (kind == "tir.AttrStmt") {
    size_t subject = child(node, "node");
    Expr value = need(node, "value");
    Stmt body = need_stmt(node, "body");
    if (failed_) { return {}; }
    AttrStmt::Subject of;
    if (subject != 0 && type(subject) == "tir.Buffer") { of = buffer(subject); }
    else if (subject != 0 && type(subject) == "tir.IterVar") { of = iter_var(subject); }
    else if (subject != 0) { of = expr(subject); }
    Name key(text(child(node, "attr_key")));
    return failed_ ? Stmt() : Stmt(make<AttrStmt>(of, key, value, body));
  }
  if (kind == "tir.AssertStmt") {
    Expr condition = need(node, "condition"), message = need(node, "message");
    Stmt body = need_stmt(node, "body");
    return failed_ ? Stmt() : Stmt(make<AssertStmt>(condition, message, body));
  }
  if (kind == "tir.DeclBuffer") {
    Buffer b = buffer(child(node, "buffer"));
    Stmt body = need_stmt(node, "body");
    return failed_ ? Stmt() : Stmt(make<DeclBuffer>(b, body));
  }
  if (kind == "tir.Allocate") {
    Var v = variable(child(node, "buffer_var"));
    Array<Expr> extents = exprs(child(node, "extents"));
    Expr condition = need(node, "condition");
    Stmt body = need_stmt(node, "body");
    AttrMap notes = attributes(child(node, "annotations"));
    return failed_ ? Stmt() : Stmt(make<Allocate>(v, dtype(node), extents, condition, body, notes));
  }
  return {};
}

auto ReadGraph::function(size_t node) -> PrimFunc {
  if (type(node) != "tir.PrimFunc") {
    fail(node, "is not a function of tensor programs");
    return {};
  }
  PrimFuncNode out;
  std::vector<Var> params;
  for (size_t item : items(child(node, "params"))) { params.push_back(variable(item)); }
  std::unordered_map<const VarNode*, Buffer> buffers;
  const std::vector<size_t>& pairs = graph_.nodes[child(node, "buffer_map")].data;
  for (size_t i = 0; i + 1 < pairs.size() && !failed_; i += 2) {
    Var v = variable(pairs[i]);
    if (!failed_) { buffers[v.get()] = buffer(pairs[i + 1]); }
  }
  out.body = need_stmt(node, "body");
  if (failed_) { return {}; }
  size_t ret = child(node, "ret_type");
  if (type(ret) == "PrimType") { out.ret_type = dtype(ret); }
  AttrMap attrs = attributes(child(node, "attrs"));
  out.is_private = !find_attr(attrs, "global_symbol");
  out.attrs = without_attr(attrs, "global_symbol");
  std::vector<std::pair<Var, Buffer>> map;
  for (const Var& v : params) {
    if (auto known = buffers.find(v.get()); known != buffers.end()) { map.emplace_back(v, known->second); }
  }
  out.params = Array<Var>(std::move(params));
  out.buffer_map = Array<std::pair<Var, Buffer>>(std::move(map));
  return failed_ ? PrimFunc() : make_func(std::move(out));
}

}  // namespace

auto module_of_graph(const Graph& graph, const std::string& place) -> Result<IRModule> { return ReadGraph(graph, place).module(); }

}  // namespace loopsmith::tune::metaschedule
