// Programs as graphs of TVM's objects: see module_graph.h.
#include <unordered_map>

#include <fmt/format.h>

#include "ir/ops.h"
#include "tune/metaschedule/records/module_graph.h"

namespace loopsmith::tune::metaschedule {
namespace {

// A node gets its number before its children; an object that occurs again keeps its number.
class WriteGraph {
 public:
  Graph graph{{GraphNode{}}, 1};

  void module(const IRModule& module) {
    size_t at = open("IRModule");
    size_t functions = open("Map");
    std::vector<size_t> pairs, globals;
    std::vector<std::string> names;
    for (const auto& [name, func] : module->functions) {
      size_t global = open("GlobalVar");
      set(global, {{"_checked_type_", 0}, {"name_hint", string(name.str())}, {"span", 0}, {"struct_info_", 0}, {"virtual_device_", 0}});
      pairs.push_back(global);
      globals.push_back(global);
      names.push_back(name.str());
      pairs.push_back(function(name, func));
    }
    graph.nodes[functions].data = std::move(pairs);
    size_t types = open("Map");
    size_t by_name = open("Map");
    graph.nodes[by_name].keys = std::move(names);
    graph.nodes[by_name].data = std::move(globals);
    size_t types_by_name = open("Map");
    size_t sources = open("SourceMap");
    set(sources, {{"source_map", open("Map")}});
    size_t attrs = attributes(module->attrs, nullptr);
    size_t infos = open("Map");
    set(at, {{"attrs", attrs}, {"functions", functions}, {"global_infos", infos}, {"global_type_var_map_", types_by_name}, {"global_var_map_", by_name}, {"source_map", sources},
             {"type_definitions", types}});
  }

 private:
  using Fields = std::vector<std::pair<const char*, size_t>>;

  auto open(const char* type) -> size_t {
    graph.nodes.push_back({type});
    return graph.nodes.size() - 1;
  }
  void set(size_t node, const Fields& fields) {
    for (const auto& [key, number] : fields) { graph.nodes[node].attrs.emplace_back(key, std::to_string(number)); }
  }
  void set_text(size_t node, const char* key, std::string text) { graph.nodes[node].attrs.emplace_back(key, std::move(text)); }
  auto string(const std::string& text) -> size_t {
    size_t at = open("runtime.String");
    graph.nodes[at].text = text;
    return at;
  }
  template <class List, class F>
  auto list(const List& items, const F& f) -> size_t {
    size_t at = open("Array");
    std::vector<size_t> data;
    for (const auto& item : items) { data.push_back(f(item)); }
    graph.nodes[at].data = std::move(data);
    return at;
  }
  auto exprs(const Array<Expr>& items) -> size_t {
    return list(items, [&](const Expr& e) { return expr(e); });
  }

  auto prim_type(DataType type) -> size_t {
    size_t at = open("PrimType");
    set_text(at, "dtype", type.str());
    return at;
  }

  auto function(Name name, const PrimFunc& func) -> size_t {
    size_t at = open("tir.PrimFunc");
    std::vector<size_t> types;
    size_t params = list(func->params, [&](const Var& v) {
      size_t number = expr(v);
      types.push_back(types_[v.get()]);
      return number;
    });
    size_t body = stmt(func->body);
    size_t ret;
    if (func->ret_type.is_void()) {
      ret = open("TupleType");
      set(ret, {{"fields", open("Array")}, {"span", 0}});
    } else {
      ret = prim_type(func->ret_type);
    }
    size_t buffers = open("Map");
    std::vector<size_t> pairs;
    for (const auto& [param, buffer] : func->buffer_map) {
      pairs.push_back(expr(param));
      pairs.push_back(this->buffer(buffer));
    }
    graph.nodes[buffers].data = std::move(pairs);
    size_t attrs = attributes(func->attrs, func->is_private ? nullptr : &name);
    size_t type = open("FuncType");
    size_t arguments = open("Array");
    graph.nodes[arguments].data = std::move(types);
    size_t parameters = open("Array"), constraints = open("Array");
    set(type, {{"arg_types", arguments}, {"ret_type", ret}, {"span", 0}, {"type_constraints", constraints}, {"type_params", parameters}});
    set(at, {{"_checked_type_", type}, {"attrs", attrs}, {"body", body}, {"buffer_map", buffers}, {"params", params}, {"ret_type", ret}, {"span", 0}});
    return at;
  }

  auto attributes(const AttrMap& attrs, const Name* symbol) -> size_t {
    size_t at = open("DictAttrs");
    size_t dict = open("Map");
    set(at, {{"__dict__", dict}});
    fill(dict, attrs);
    if (symbol && !find_attr(attrs, "global_symbol")) {
      graph.nodes[dict].keys.emplace_back("global_symbol");
      size_t text = string(symbol->str());
      graph.nodes[dict].data.push_back(text);
    }
    return at;
  }
  auto annotations(const AttrMap& attrs) -> size_t {
    size_t at = open("Map");
    fill(at, attrs);
    return at;
  }
  void fill(size_t map, const AttrMap& attrs) {
    for (const auto& [key, value] : attrs) {
      size_t number = attr(value);
      graph.nodes[map].keys.push_back(key.str());
      graph.nodes[map].data.push_back(number);
    }
  }
  auto attr(const Attr& value) -> size_t {
    if (Expr e = value.expr()) { return expr(e); }
    if (const std::string* text = value.string()) { return string(*text); }
    if (const Array<Attr>* items = value.list()) {
      return list(*items, [&](const Attr& item) { return attr(item); });
    }
    if (const auto* map = std::get_if<AttrMap>(&value.value)) { return annotations(*map); }
    return 0;
  }

  auto buffer(const Buffer& b) -> size_t {
    if (auto known = known_.find(b.get()); known != known_.end()) { return known->second; }
    size_t at = open("tir.Buffer");
    known_[b.get()] = at;
    size_t data = expr(b->data);
    size_t shape = exprs(b->shape), strides = exprs(b->strides);
    size_t separators = list(b->axis_separators, [&](int n) { return expr(int_imm(n)); });
    size_t offset = b->elem_offset ? expr(b->elem_offset) : expr(zero(b->shape.empty() ? DataType::int_(64) : b->shape[0].dtype()));
    // The data variable of a buffer usually has the very name of the buffer.
    size_t name = b->data->name == b->name ? names_[b->data.get()] : string(b->name.str());
    set(at, {{"axis_separators", separators}});
    set_text(at, "buffer_type", b->buffer_kind == BufferKind::AutoBroadcast ? "2" : "1");
    set(at, {{"data", data}});
    set_text(at, "data_alignment", std::to_string(b->data_alignment));
    set_text(at, "dtype", b->dtype.str());
    set(at, {{"elem_offset", offset}, {"name", name}});
    set_text(at, "offset_factor", std::to_string(b->offset_factor));
    set(at, {{"shape", shape}, {"span", 0}, {"strides", strides}});
    return at;
  }
  auto range(const Range& r) -> size_t {
    if (!r.min) { return 0; }
    size_t at = open("Range");
    size_t min = expr(r.min), extent = expr(r.extent);
    set(at, {{"extent", extent}, {"min", min}, {"span", 0}});
    return at;
  }
  auto ranges(const Array<Range>& items) -> size_t {
    return list(items, [&](const Range& r) { return range(r); });
  }
  auto region(const BufferRegion& r) -> size_t {
    size_t at = open("tir.BufferRegion");
    size_t b = buffer(r.buffer), items = ranges(r.region);
    set(at, {{"buffer", b}, {"region", items}});
    return at;
  }
  auto iter_var(const IterVar& iter) -> size_t {
    size_t at = open("tir.IterVar");
    size_t dom = range(iter.dom), v = expr(iter.var);
    size_t tag = string(iter.thread_tag.str());
    set(at, {{"dom", dom}});
    // TVM's numbers of the kinds.
    const char* kind = "0";
    switch (iter.kind) {
      case IterKind::Spatial: kind = "0"; break;
      case IterKind::ThreadIndex: kind = "1"; break;
      case IterKind::Reduction: kind = "2"; break;
      case IterKind::Scan: kind = "3"; break;
      case IterKind::Opaque: kind = "4"; break;
    }
    set_text(at, "iter_type", kind);
    set(at, {{"span", 0}, {"thread_tag", tag}, {"var", v}});
    return at;
  }

  auto binary(const char* type, const BinaryNode& n) -> size_t {
    size_t at = known_[&n] = open(type);
    size_t a = expr(n.a), b = expr(n.b);
    set(at, {{"a", a}, {"b", b}});
    set_text(at, "dtype", n.dtype.str());
    set(at, {{"span", 0}});
    return at;
  }
  // A node of an expression with its type, children in the order given.
  auto typed(const ExprNode& n, const char* type, const std::vector<std::pair<const char*, Expr>>& children) -> size_t {
    size_t at = known_[&n] = open(type);
    set_text(at, "dtype", n.dtype.str());
    for (const auto& [key, child] : children) {
      size_t number = child ? expr(child) : 0;
      set(at, {{key, number}});
    }
    set(at, {{"span", 0}});
    return at;
  }
  auto expr(const Expr& e) -> size_t {
    if (!e) { return 0; }
    if (auto known = known_.find(e.get()); known != known_.end()) { return known->second; }
    kept_.push_back(e);
    switch (e.kind()) {
      case NodeKind::VarNode: return variable(*e.as<VarNode>());
      case NodeKind::IntImm: return constant(*e.get(), "IntImm", std::to_string(e.as<IntImm>()->value));
      case NodeKind::FloatImm: return constant(*e.get(), "FloatImm", fmt::format("{:.17g}", e.as<FloatImm>()->value));
      case NodeKind::StringImm: return constant(*e.get(), "tir.StringImm", e.as<StringImm>()->value);
      case NodeKind::Cast: return typed(*e.get(), "tir.Cast", {{"value", e.as<Cast>()->value}});
      case NodeKind::Not: return typed(*e.get(), "tir.Not", {{"a", e.as<Not>()->a}});
      case NodeKind::Select: return typed(*e.get(), "tir.Select", {{"condition", e.as<Select>()->condition}, {"true_value", e.as<Select>()->true_value}, {"false_value", e.as<Select>()->false_value}});
      case NodeKind::Ramp: return typed(*e.get(), "tir.Ramp", {{"base", e.as<Ramp>()->base}, {"stride", e.as<Ramp>()->stride}, {"lanes", e.as<Ramp>()->lanes}});
      case NodeKind::Broadcast: return typed(*e.get(), "tir.Broadcast", {{"value", e.as<Broadcast>()->value}, {"lanes", e.as<Broadcast>()->lanes}});
      case NodeKind::Let: return typed(*e.get(), "tir.Let", {{"var", e.as<Let>()->var}, {"value", e.as<Let>()->value}, {"body", e.as<Let>()->body}});
      case NodeKind::BufferLoad: return load(*e.as<BufferLoad>());
      case NodeKind::Call: return call(*e.as<Call>());
      case NodeKind::Shuffle: return shuffle(*e.as<Shuffle>());
      default: break;   // reductions are not in functions
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind: return binary("tir." #Kind, *e.as<Kind>());
#include "ir/nodes.def"
    }
    return 0;
  }
  auto constant(const ExprNode& n, const char* type, std::string value) -> size_t {
    size_t at = known_[&n] = open(type);
    set_text(at, "dtype", n.dtype.str());
    set(at, {{"span", 0}});
    set_text(at, "value", std::move(value));
    return at;
  }
  auto variable(const VarNode& n) -> size_t {
    size_t at = known_[&n] = open("tir.Var");
    size_t name = names_[&n] = string(n.name.str());
    size_t type;
    if (n.pointer) {
      type = open("PointerType");
      size_t element = prim_type(n.pointer->element);
      size_t scope = string(n.pointer->scope.empty() ? "global" : n.pointer->scope.str());
      set(type, {{"element_type", element}, {"storage_scope", scope}});
    } else {
      type = prim_type(n.dtype);
    }
    types_[&n] = type;
    set_text(at, "dtype", n.dtype.str());
    set(at, {{"name", name}, {"span", 0}, {"type_annotation", type}});
    return at;
  }
  auto load(const BufferLoad& n) -> size_t {
    size_t at = known_[&n] = open("tir.BufferLoad");
    size_t b = buffer(n.buffer), indices = exprs(n.indices), predicate = expr(n.predicate);
    set(at, {{"buffer", b}});
    set_text(at, "dtype", n.dtype.str());
    set(at, {{"indices", indices}, {"predicate", predicate}, {"span", 0}});
    return at;
  }
  auto call(const Call& n) -> size_t {
    size_t at = known_[&n] = open("tir.Call");
    auto [op, is_new] = operators_.emplace(n.op.str(), 0);
    if (is_new) {
      op->second = open("Op");
      graph.nodes[op->second].text = "tir." + n.op.str();
    }
    size_t number = op->second;
    size_t args = exprs(n.args);
    set(at, {{"args", args}});
    set_text(at, "dtype", n.dtype.str());
    set(at, {{"op", number}, {"span", 0}});
    return at;
  }
  auto shuffle(const Shuffle& n) -> size_t {
    size_t at = known_[&n] = open("tir.Shuffle");
    size_t vectors = exprs(n.vectors), indices = exprs(n.indices);
    set_text(at, "dtype", n.dtype.str());
    set(at, {{"indices", indices}, {"span", 0}, {"vectors", vectors}});
    return at;
  }

  auto stmt(const Stmt& s) -> size_t;
  auto loop(const For& n) -> size_t;
  auto block(const Block& n) -> size_t;
  auto allocate(const Allocate& n) -> size_t;
  auto attr_stmt(const AttrStmt& n) -> size_t;

  std::unordered_map<const void*, size_t> known_;
  std::unordered_map<const VarNode*, size_t> names_, types_;
  std::unordered_map<std::string, size_t> operators_;
  std::vector<Expr> kept_;   // so that no other node gets the address of a numbered one
};

auto WriteGraph::loop(const For& n) -> size_t {
  size_t at = open("tir.For");
  size_t v = expr(n.var), min = expr(n.min), extent = expr(n.extent), body = stmt(n.body);
  size_t thread = n.thread ? iter_var(*n.thread) : 0;
  size_t notes = annotations(n.annotations);
  set(at, {{"annotations", notes}, {"body", body}, {"extent", extent}});
  set_text(at, "kind", std::to_string(static_cast<int>(n.for_kind)));
  set(at, {{"loop_var", v}, {"min", min}, {"span", 0}, {"thread_binding", thread}});
  return at;
}

auto WriteGraph::block(const Block& n) -> size_t {
  size_t at = open("tir.Block");
  size_t iters = list(n.iter_vars, [&](const IterVar& i) { return iter_var(i); });
  size_t reads = list(n.reads, [&](const BufferRegion& r) { return region(r); });
  size_t writes = list(n.writes, [&](const BufferRegion& r) { return region(r); });
  size_t name = string(n.name.str());
  size_t body = stmt(n.body), init = n.init ? stmt(n.init) : 0;
  size_t allocated = list(n.alloc_buffers, [&](const Buffer& b) { return buffer(b); });
  size_t matches = list(n.match_buffers, [&](const MatchBufferRegion& m) {
    size_t match = open("tir.MatchBufferRegion");
    size_t view = buffer(m.buffer), source = region(m.source);
    set(match, {{"buffer", view}, {"source", source}});
    return match;
  });
  size_t notes = annotations(n.annotations);
  set(at, {{"alloc_buffers", allocated}, {"annotations", notes}, {"body", body}, {"init", init}, {"iter_vars", iters}, {"match_buffers", matches}, {"name_hint", name}, {"reads", reads},
           {"writes", writes}});
  return at;
}

auto WriteGraph::allocate(const Allocate& n) -> size_t {
  size_t at = open("tir.Allocate");
  size_t data = expr(n.data), extents = exprs(n.extents), condition = expr(n.condition), body = stmt(n.body), notes = annotations(n.annotations);
  set(at, {{"annotations", notes}, {"body", body}, {"buffer_var", data}, {"condition", condition}});
  set_text(at, "dtype", n.dtype.str());
  set(at, {{"extents", extents}, {"span", 0}});
  return at;
}

auto WriteGraph::attr_stmt(const AttrStmt& n) -> size_t {
  size_t at = open("tir.AttrStmt");
  size_t subject = 0;
  if (const auto* e = std::get_if<Expr>(&n.node)) { subject = expr(*e); }
  if (const auto* b = std::get_if<Buffer>(&n.node)) { subject = buffer(*b); }
  if (const auto* i = std::get_if<IterVar>(&n.node)) { subject = iter_var(*i); }
  size_t key = string(n.key.str()), value = expr(n.value), body = stmt(n.body);
  set(at, {{"attr_key", key}, {"body", body}, {"node", subject}, {"span", 0}, {"value", value}});
  return at;
}

auto WriteGraph::stmt(const Stmt& s) -> size_t {
  switch (s.kind()) {
    case NodeKind::For: return loop(*s.as<For>());
    case NodeKind::Block: return block(*s.as<Block>());
    case NodeKind::Allocate: return allocate(*s.as<Allocate>());
    case NodeKind::AttrStmt: return attr_stmt(*s.as<AttrStmt>());
    case NodeKind::BlockRealize: {
      const auto& n = *s.as<BlockRealize>();
      size_t at = open("tir.BlockRealize");
      size_t values = exprs(n.iter_values), predicate = expr(n.predicate), inner = block(*n.block);
      set(at, {{"block", inner}, {"iter_values", values}, {"predicate", predicate}});
      return at;
    }
    case NodeKind::SeqStmt: {
      size_t at = open("tir.SeqStmt");
      size_t items = list(s.as<SeqStmt>()->seq, [&](const Stmt& item) { return stmt(item); });
      set(at, {{"seq", items}, {"span", 0}});
      return at;
    }
    case NodeKind::BufferStore: {
      const auto& n = *s.as<BufferStore>();
      size_t at = open("tir.BufferStore");
      size_t b = buffer(n.buffer), value = expr(n.value), indices = exprs(n.indices), predicate = expr(n.predicate);
      set(at, {{"buffer", b}, {"indices", indices}, {"predicate", predicate}, {"span", 0}, {"value", value}});
      return at;
    }
    case NodeKind::LetStmt: {
      const auto& n = *s.as<LetStmt>();
      size_t at = open("tir.LetStmt");
      size_t v = expr(n.var), value = expr(n.value), body = stmt(n.body);
      set(at, {{"body", body}, {"span", 0}, {"value", value}, {"var", v}});
      return at;
    }
    case NodeKind::IfThenElse: {
      const auto& n = *s.as<IfThenElse>();
      size_t at = open("tir.IfThenElse");
      size_t condition = expr(n.condition), then_case = stmt(n.then_case), else_case = n.else_case ? stmt(n.else_case) : 0;
      set(at, {{"condition", condition}, {"else_case", else_case}, {"span", 0}, {"then_case", then_case}});
      return at;
    }
    case NodeKind::While: {
      size_t at = open("tir.While");
      size_t condition = expr(s.as<While>()->condition), body = stmt(s.as<While>()->body);
      set(at, {{"body", body}, {"condition", condition}, {"span", 0}});
      return at;
    }
    case NodeKind::AssertStmt: {
      const auto& n = *s.as<AssertStmt>();
      size_t at = open("tir.AssertStmt");
      size_t condition = expr(n.condition), message = expr(n.message), body = stmt(n.body);
      set(at, {{"body", body}, {"condition", condition}, {"message", message}, {"span", 0}});
      return at;
    }
    case NodeKind::DeclBuffer: {
      size_t at = open("tir.DeclBuffer");
      size_t b = buffer(s.as<DeclBuffer>()->buffer), body = stmt(s.as<DeclBuffer>()->body);
      set(at, {{"body", body}, {"buffer", b}, {"span", 0}});
      return at;
    }
    case NodeKind::BufferRealize: {
      const auto& n = *s.as<BufferRealize>();
      size_t at = open("tir.BufferRealize");
      size_t b = buffer(n.buffer), bounds = ranges(n.bounds), condition = expr(n.condition), body = stmt(n.body);
      set(at, {{"body", body}, {"bounds", bounds}, {"buffer", b}, {"condition", condition}, {"span", 0}});
      return at;
    }
    case NodeKind::Evaluate: {
      size_t at = open("tir.Evaluate");
      size_t value = expr(s.as<Evaluate>()->value);
      set(at, {{"span", 0}, {"value", value}});
      return at;
    }
    default: return 0;   // jumps and constants: TVM 0.19 has no such statements, or keeps their bytes elsewhere
  }
}

}  // namespace

auto graph_of_module(const IRModule& module) -> Graph {
  WriteGraph write;
  write.module(module);
  return std::move(write.graph);
}

}  // namespace loopsmith::tune::metaschedule
