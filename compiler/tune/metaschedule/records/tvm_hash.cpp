// TVM's structural hash: see tvm_hash.h.
#include "tune/metaschedule/records/tvm_hash.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/ops.h"

namespace loopsmith::tune::metaschedule {
namespace {

auto combine(uint64_t key, uint64_t value) -> uint64_t { return key ^ (value + 0x9e3779b9 + (key << 6) + (key >> 2)); }

// The hash of texts in the C++ library of GCC, which TVM uses for names of types: MurmurHash64A.
auto library_hash(std::string_view text) -> uint64_t {
  constexpr uint64_t mul = (uint64_t{0xc6a4a793} << 32) + 0x5bd1e995;
  constexpr uint64_t seed = 0xc70f6907;
  auto mix = [](uint64_t v) { return v ^ (v >> 47); };
  uint64_t hash = seed ^ (text.size() * mul);
  size_t whole = text.size() & ~size_t{7};
  for (size_t i = 0; i < whole; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    hash = (hash ^ (mix(word * mul) * mul)) * mul;
  }
  if (whole < text.size()) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + whole, text.size() - whole);
    hash = (hash ^ word) * mul;
  }
  return mix(mix(hash) * mul);
}

// TVM's own hash of texts. The rest behind the last eight bytes goes in pieces of four, two and one.
auto text_hash(std::string_view text) -> uint64_t {
  constexpr uint64_t multiplier = 1099511628211ULL, modulus = 2147483647ULL;
  uint64_t out = 0;
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
    out = (out * multiplier + word) % modulus;
  }
  return out;
}

auto type_value(DataType type) -> uint64_t {
  // DLPack's numbers of the codes.
  uint64_t code = 0;
  switch (type.code) {
    case TypeCode::Int: code = 0; break;
    case TypeCode::UInt: code = 1; break;
    case TypeCode::Float: code = 2; break;
    case TypeCode::Handle: case TypeCode::Void: code = 3; break;
    case TypeCode::BFloat: code = 4; break;
    default: code = 7 + static_cast<uint64_t>(type.code) - static_cast<uint64_t>(TypeCode::Float8E4M3FN); break;
  }
  return code | (uint64_t{type.bits} << 8) | (uint64_t{type.lanes} << 16);
}

class Hash {
 public:
  auto module(const IRModule& module) -> uint64_t {
    std::vector<std::pair<std::string, PrimFunc>> functions;
    for (const auto& [name, func] : module->functions) { functions.emplace_back(name.str(), func); }
    std::sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<uint64_t> children{functions.size()};
    for (const auto& [name, func] : functions) {
      uint64_t text = string(name);
      children.push_back(node("GlobalVar", {text, fresh()}));
    }
    for (const auto& [name, func] : functions) {
      children.push_back(text_hash(name));
      children.push_back(function(name, func));
    }
    children.push_back(0);   // type definitions
    children.push_back(node("DictAttrs", {dictionary(module->attrs, nullptr)}));
    children.push_back(dictionary({}, nullptr));
    return node("IRModule", children);
  }

 private:
  // The children go in from the last to the first.
  static auto node(std::string_view type, const std::vector<uint64_t>& children) -> uint64_t {
    uint64_t out = library_hash(type);
    for (size_t i = children.size(); i-- > 0;) { out = combine(out, children[i]); }
    return out;
  }
  auto fresh() -> uint64_t { return variables_++; }
  static auto string(std::string_view text) -> uint64_t { return node("runtime.String", {text_hash(text)}); }
  template <class List, class F>
  static auto list(const List& items, const F& f) -> uint64_t {
    std::vector<uint64_t> children{items.size()};
    for (const auto& item : items) { children.push_back(f(item)); }
    return node("Array", children);
  }
  auto exprs(const Array<Expr>& items) -> uint64_t {
    return list(items, [&](const Expr& e) { return expr(e); });
  }
  static auto prim_type(DataType type) -> uint64_t { return node("PrimType", {type_value(type)}); }

  auto function(const std::string& name, const PrimFunc& func) -> uint64_t {
    std::vector<uint64_t> children;
    children.push_back(list(func->params, [&](const Var& v) { return expr(v); }));
    children.push_back(buffer_map(func));
    children.push_back(func->ret_type.is_void() ? node("TupleType", {node("Array", {0})}) : prim_type(func->ret_type));
    children.push_back(stmt(func->body));
    children.push_back(node("DictAttrs", {dictionary(func->attrs, func->is_private ? nullptr : &name)}));
    return node("tir.PrimFunc", children);
  }
  // In the order of the hashes of the parameters.
  auto buffer_map(const PrimFunc& func) -> uint64_t {
    std::vector<std::pair<uint64_t, Buffer>> sorted;
    for (const auto& [param, buffer] : func->buffer_map) { sorted.emplace_back(expr(param), buffer); }
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<uint64_t> children{sorted.size()};
    for (const auto& [key, b] : sorted) {
      children.push_back(key);
      children.push_back(buffer(b));
    }
    return node("Map", children);
  }
  auto dictionary(const AttrMap& attrs, const std::string* symbol) -> uint64_t {
    std::vector<std::pair<std::string, Attr>> sorted;
    for (const auto& [key, value] : attrs) { sorted.emplace_back(key.str(), value); }
    if (symbol && !find_attr(attrs, "global_symbol")) { sorted.emplace_back("global_symbol", Attr(*symbol)); }
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<uint64_t> children{sorted.size()};
    for (const auto& [key, value] : sorted) {
      children.push_back(string(key));
      children.push_back(attr(value));
    }
    return node("Map", children);
  }
  auto attr(const Attr& value) -> uint64_t {
    if (Expr e = value.expr()) {
      const auto* text = e.as<StringImm>();
      return text ? string(text->value) : expr(e);
    }
    if (const std::string* text = value.string()) { return string(*text); }
    if (const Array<Attr>* items = value.list()) {
      return list(*items, [&](const Attr& item) { return attr(item); });
    }
    if (const auto* map = std::get_if<AttrMap>(&value.value)) { return dictionary(*map, nullptr); }
    return 0;
  }

  auto buffer(const Buffer& b) -> uint64_t {
    if (auto known = known_.find(b.get()); known != known_.end()) { return known->second; }
    std::vector<uint64_t> children;
    children.push_back(expr(b->data));
    children.push_back(type_value(b->dtype));
    children.push_back(exprs(b->shape));
    children.push_back(exprs(b->strides));
    children.push_back(b->elem_offset ? expr(b->elem_offset) : expr(zero(b->shape.empty() ? DataType::int_(64) : b->shape[0].dtype())));
    children.push_back(list(b->axis_separators, [&](int n) { return expr(int_imm(n)); }));
    children.push_back(static_cast<uint32_t>(b->data_alignment));
    children.push_back(b->buffer_kind == BufferKind::AutoBroadcast ? 2 : 1);
    return known_[b.get()] = node("tir.Buffer", children);
  }
  auto range(const Range& r) -> uint64_t {
    if (!r.min) { return 0; }
    uint64_t min = expr(r.min), extent = expr(r.extent);
    return node("Range", {min, extent});
  }
  auto ranges(const Array<Range>& items) -> uint64_t {
    return list(items, [&](const Range& r) { return range(r); });
  }
  auto region(const BufferRegion& r) -> uint64_t {
    uint64_t b = buffer(r.buffer), items = ranges(r.region);
    return node("tir.BufferRegion", {b, items});
  }
  auto iter_var(const IterVar& iter) -> uint64_t {
    uint64_t dom = range(iter.dom), v = expr(iter.var);
    uint64_t kind = 0;
    switch (iter.kind) {
      case IterKind::Spatial: kind = 0; break;
      case IterKind::ThreadIndex: kind = 1; break;
      case IterKind::Reduction: kind = 2; break;
      case IterKind::Scan: kind = 3; break;
      case IterKind::Opaque: kind = 4; break;
    }
    return node("tir.IterVar", {dom, v, kind, string(iter.thread_tag.view())});
  }

  auto expr(const Expr& e) -> uint64_t {
    if (!e) { return 0; }
    if (auto known = known_.find(e.get()); known != known_.end()) { return known->second; }
    uint64_t out = make_expr(e);
    if (e.as<VarNode>()) { known_[e.get()] = out; }
    return out;
  }
  // The type of the node, then its children.
  auto typed(std::string_view type, DataType dtype, std::initializer_list<Expr> parts) -> uint64_t {
    std::vector<uint64_t> children{type_value(dtype)};
    for (const Expr& part : parts) { children.push_back(expr(part)); }
    return node(type, children);
  }
  auto make_expr(const Expr& e) -> uint64_t {
    DataType t = e.dtype();
    switch (e.kind()) {
      case NodeKind::VarNode: {
        const auto& n = *e.as<VarNode>();
        uint64_t type = n.pointer ? node("PointerType", {prim_type(n.pointer->element), string(n.pointer->scope.empty() ? "global" : n.pointer->scope.view())}) : prim_type(t);
        return node("tir.Var", {type_value(t), type, fresh()});
      }
      case NodeKind::IntImm: return node("IntImm", {type_value(t), static_cast<uint64_t>(e.as<IntImm>()->value)});
      case NodeKind::FloatImm: {
        double value = e.as<FloatImm>()->value;
        return node("FloatImm", {type_value(t), std::bit_cast<uint64_t>(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value)});
      }
      case NodeKind::StringImm: return node("tir.StringImm", {string(e.as<StringImm>()->value)});
      case NodeKind::Cast: return typed("tir.Cast", t, {e.as<Cast>()->value});
      case NodeKind::Not: return typed("tir.Not", t, {e.as<Not>()->a});
      case NodeKind::Select: return typed("tir.Select", t, {e.as<Select>()->condition, e.as<Select>()->true_value, e.as<Select>()->false_value});
      case NodeKind::Ramp: return typed("tir.Ramp", t, {e.as<Ramp>()->base, e.as<Ramp>()->stride, e.as<Ramp>()->lanes});
      case NodeKind::Broadcast: return typed("tir.Broadcast", t, {e.as<Broadcast>()->value, e.as<Broadcast>()->lanes});
      case NodeKind::Let: return typed("tir.Let", t, {e.as<Let>()->var, e.as<Let>()->value, e.as<Let>()->body});
      case NodeKind::BufferLoad: {
        const auto& n = *e.as<BufferLoad>();
        uint64_t b = buffer(n.buffer), indices = exprs(n.indices), predicate = expr(n.predicate);
        return node("tir.BufferLoad", {type_value(t), b, indices, predicate});
      }
      case NodeKind::Call: {
        const auto& n = *e.as<Call>();
        uint64_t op = node("Op", {string("tir." + n.op.str())});
        uint64_t args = exprs(n.args);
        return node("tir.Call", {type_value(t), op, args});
      }
      case NodeKind::Shuffle: {
        uint64_t vectors = exprs(e.as<Shuffle>()->vectors), indices = exprs(e.as<Shuffle>()->indices);
        return node("tir.Shuffle", {type_value(t), vectors, indices});
      }
      default: break;   // reductions are not in functions
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind: return typed("tir." #Kind, t, {e.as<Kind>()->a, e.as<Kind>()->b});
#include "ir/nodes.def"
    }
    return 0;
  }

  auto loop(const For& n) -> uint64_t {
    uint64_t v = expr(n.var), min = expr(n.min), extent = expr(n.extent), body = stmt(n.body);
    uint64_t thread = n.thread ? iter_var(*n.thread) : 0;
    return node("tir.For", {v, min, extent, static_cast<uint64_t>(n.for_kind), body, thread, dictionary(n.annotations, nullptr)});
  }
  auto block(const Block& n) -> uint64_t {
    std::vector<uint64_t> children;
    children.push_back(list(n.iter_vars, [&](const IterVar& i) { return iter_var(i); }));
    children.push_back(list(n.alloc_buffers, [&](const Buffer& b) { return buffer(b); }));
    children.push_back(list(n.match_buffers, [&](const MatchBufferRegion& m) {
      uint64_t view = buffer(m.buffer), source = region(m.source);
      return node("tir.MatchBufferRegion", {view, source});
    }));
    children.push_back(list(n.reads, [&](const BufferRegion& r) { return region(r); }));
    children.push_back(list(n.writes, [&](const BufferRegion& r) { return region(r); }));
    children.push_back(stmt(n.body));
    children.push_back(n.init ? stmt(n.init) : 0);
    children.push_back(dictionary(n.annotations, nullptr));
    return node("tir.Block", children);
  }
  auto stmt(const Stmt& s) -> uint64_t {
    switch (s.kind()) {
      case NodeKind::For: return loop(*s.as<For>());
      case NodeKind::Block: return block(*s.as<Block>());
      case NodeKind::BlockRealize: {
        const auto& n = *s.as<BlockRealize>();
        uint64_t values = exprs(n.iter_values), predicate = expr(n.predicate), inner = block(*n.block);
        return node("tir.BlockRealize", {values, predicate, inner});
      }
      case NodeKind::SeqStmt: return node("tir.SeqStmt", {list(s.as<SeqStmt>()->seq, [&](const Stmt& item) { return stmt(item); })});
      case NodeKind::BufferStore: {
        const auto& n = *s.as<BufferStore>();
        uint64_t b = buffer(n.buffer), value = expr(n.value), indices = exprs(n.indices), predicate = expr(n.predicate);
        return node("tir.BufferStore", {b, value, indices, predicate});
      }
      case NodeKind::LetStmt: {
        const auto& n = *s.as<LetStmt>();
        uint64_t v = expr(n.var), value = expr(n.value), body = stmt(n.body);
        return node("tir.LetStmt", {v, value, body});
      }
      case NodeKind::IfThenElse: {
        const auto& n = *s.as<IfThenElse>();
        uint64_t condition = expr(n.condition), then_case = stmt(n.then_case), else_case = n.else_case ? stmt(n.else_case) : 0;
        return node("tir.IfThenElse", {condition, then_case, else_case});
      }
      case NodeKind::While: {
        uint64_t condition = expr(s.as<While>()->condition), body = stmt(s.as<While>()->body);
        return node("tir.While", {condition, body});
      }
      case NodeKind::AssertStmt: {
        uint64_t condition = expr(s.as<AssertStmt>()->condition), message = expr(s.as<AssertStmt>()->message), body = stmt(s.as<AssertStmt>()->body);
        return node("tir.AssertStmt", {condition, message, body});
      }
      case NodeKind::DeclBuffer: {
        uint64_t b = buffer(s.as<DeclBuffer>()->buffer), body = stmt(s.as<DeclBuffer>()->body);
        return node("tir.DeclBuffer", {b, body});
      }
      case NodeKind::Allocate: {
        const auto& n = *s.as<Allocate>();
        uint64_t data = expr(n.data), extents = exprs(n.extents), condition = expr(n.condition), body = stmt(n.body);
        return node("tir.Allocate", {data, type_value(n.dtype), extents, condition, body, dictionary(n.annotations, nullptr)});
      }
      case NodeKind::AttrStmt: {
        const auto& n = *s.as<AttrStmt>();
        uint64_t subject = 0;
        if (const auto* e = std::get_if<Expr>(&n.node)) { subject = expr(*e); }
        if (const auto* b = std::get_if<Buffer>(&n.node)) { subject = buffer(*b); }
        if (const auto* i = std::get_if<IterVar>(&n.node)) { subject = iter_var(*i); }
        uint64_t key = string(n.key.view()), value = expr(n.value), body = stmt(n.body);
        return node("tir.AttrStmt", {subject, key, value, body});
      }
      case NodeKind::Evaluate: return node("tir.Evaluate", {expr(s.as<Evaluate>()->value)});
      default: return 0;   // jumps and constants: TVM 0.19 has no such statements, or keeps their bytes elsewhere
    }
  }

  std::unordered_map<const void*, uint64_t> known_;   // of variables and buffers: their first hash counts the variables before
  uint64_t variables_ = 0;
};

}  // namespace

auto tvm_structural_hash(const IRModule& module) -> uint64_t { return Hash().module(module); }

}  // namespace loopsmith::tune::metaschedule
