// The compiler from TIR to closures: slots, bindings of buffers, indices and accesses. See compiler.h.
#include "interp/compiler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/copies.h"
#include "interp/expressions.h"
#include "interp/host.h"
#include "interp/threads.h"
#include "ir/equal.h"
#include "ir/operations.h"
#include "ir/ops.h"
#include "ir/strides.h"
#include "ir/calls.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/scoped_value.h"

namespace loopsmith::interp {
namespace {

// The variables in the shape, strides and offset of a buffer.
auto layout_variables(const BufferNode& buffer) -> std::vector<const VarNode*> {
  std::vector<const VarNode*> out;
  auto add = [&](const Expr& e) {
    post_order(e, [&](const Expr& part) {
      const auto* v = part.as<VarNode>();
      if (v && std::find(out.begin(), out.end(), v) == out.end()) { out.push_back(v); }
    });
  };
  for (const Expr& e : buffer.shape) { add(e); }
  for (const Expr& e : buffer.strides) { add(e); }
  if (buffer.elem_offset) { add(buffer.elem_offset); }
  return out;
}

}  // namespace

auto Compiler::slot(const VarNode* v) -> uint32_t {
  auto [place, is_new] = slots_.try_emplace(v, slot_count);
  if (is_new) { slot_count += std::max<uint32_t>(1, v->dtype.lanes); }
  return place->second;
}
auto Compiler::binding(const BufferNode* b) -> uint32_t {
  auto [place, is_new] = bindings_.try_emplace(b, binding_count);
  if (is_new) { ++binding_count; }
  return place->second;
}
auto Compiler::implicit_of(const VarNode* data) -> std::vector<BindBuffer> {
  std::vector<BindBuffer> out;
  auto found = implicit_.find(data);
  if (found == implicit_.end()) { return out; }
  for (const Buffer& b : found->second) {
    std::vector<const VarNode*> vars = layout_variables(*b);
    if (std::all_of(vars.begin(), vars.end(), [&](const VarNode* v) { return is_defined(v); })) { out.push_back(bind_buffer(b)); }
  }
  return out;
}

auto Compiler::views_of(const VarNode* var) -> std::vector<BindBuffer> {
  std::vector<BindBuffer> out;
  auto found = views_by_variable_.find(var);
  if (found == views_by_variable_.end()) { return out; }
  for (const Buffer& b : found->second) {
    std::vector<const VarNode*> vars = layout_variables(*b);
    if (slots_.contains(b->data.get()) && std::all_of(vars.begin(), vars.end(), [&](const VarNode* v) { return is_defined(v); })) { out.push_back(bind_buffer(b)); }
  }
  return out;
}

auto Compiler::scope_of(const VarNode* var, const Stmt& body) -> const Statement* {
  std::vector<BindBuffer> views = views_of(var);
  const Statement* out = statement(body);
  for (BindBuffer& view : views) {
    auto* declare = make_stmt<DeclareStatement>();
    declare->bind = std::move(view);
    declare->body = out;
    out = declare;
  }
  return out;
}
auto Compiler::unsupported(Origin where, const std::string& what) -> Code {
  errors.push_back(error(loopsmith::Code::InterpUnsupported, where).arg("what", what));
  return {make_int<IntConst>(0), nullptr, DataType::int_(32)};
}

// Counts the operation of this node alone in the current piece, once per lane.
void Compiler::count(const Expr& e) {
  Piece& piece = pieces[piece_];
  if (auto type = computes_in(e)) {
    if (is_index_) { ++piece.index_ops; } else if (type->is_real()) { ++piece.flops; } else { ++piece.int_ops; }
  }
  if (const auto* load = e.as<BufferLoad>()) { piece.bytes_read += load->buffer->dtype.element_bytes(); }
}

// Buffers without a declaration are bound at the definition of their memory, and again when a variable of their layout gets a value.
void Compiler::find_implicit(const PrimFuncNode& func) {
  struct Uses : Visitor {
    using Visitor::on;
    using Visitor::visit;
    std::vector<Buffer> used;
    std::unordered_set<const BufferNode*> seen, declared;
    void use(const Buffer& b) { if (seen.insert(b.get()).second) { used.push_back(b); } }
    void visit_buffer(const Buffer& b) override { declared.insert(b.get()); Visitor::visit_buffer(b); }
    void on(const BufferLoad& n) override { use(n.buffer); Visitor::on(n); }
    void on(const BufferStore& n) override { use(n.buffer); Visitor::on(n); }
    void on(const Block& n) override {
      for (const MatchBufferRegion& m : n.match_buffers) { use(m.source.buffer); }
      Visitor::on(n);
    }
  } uses;
  for (const auto& [param, buffer] : func.buffer_map) { uses.declared.insert(buffer.get()); }
  uses.visit(func.body);
  for (const Buffer& b : uses.used) {
    if (uses.declared.contains(b.get())) { continue; }
    implicit_[b->data.get()].push_back(b);
    for (const VarNode* v : layout_variables(*b)) { views_by_variable_[v].push_back(b); }
  }
}

auto Compiler::int_expr(const Expr& e) -> const IntExpr* {
  Code code = expr(e);
  if (code.i) { return code.i; }
  unsupported(e.origin(), "a real number where an integer is needed");
  return make_int<IntConst>(0);
}

namespace {

auto is_element(const BufferRegion& region, const Array<Expr>& indices) -> bool {
  if (region.region.size() != indices.size()) { return false; }
  for (size_t i = 0; i < indices.size(); ++i) {
    const Range& r = region.region[i];
    if (!is_one(r.extent) || !indices[i].dtype().is_scalar() || !(r.min.same_as(indices[i]) || structural_equal(r.min, indices[i]))) { return false; }
  }
  return true;
}

}  // namespace

// Reads an index as a sum of multiples of variables; false for other forms and for long sums.
auto Compiler::add_terms(Index& sum, const Expr& e, int64_t factor) -> bool {
  if (e.dtype().code != TypeCode::Int || e.dtype().bits < 32 || e.dtype().scalable) { return false; }
  auto scaled = [&](const Expr& a, const Expr& b) {
    auto by = as_int(b);
    int64_t product;
    return by && !__builtin_mul_overflow(factor, *by, &product) && add_terms(sum, a, product);
  };
  if (const auto* v = e.as<VarNode>()) {
    if (v->dtype.lanes > 1) { return false; }
    uint32_t s = slot(v);
    for (int t = 0; t < sum.terms; ++t) {
      if (sum.term[t].slot == s) { return !__builtin_add_overflow(sum.term[t].factor, factor, &sum.term[t].factor); }
    }
    if (sum.terms == Index::most_terms) { return false; }
    sum.term[sum.terms++] = {s, factor};
    return true;
  }
  if (auto number = as_int(e)) {
    int64_t product;
    return !__builtin_mul_overflow(*number, factor, &product) && !__builtin_add_overflow(sum.constant, product, &sum.constant);
  }
  if (const auto* n = e.as<Add>()) { return add_terms(sum, n->a, factor) && add_terms(sum, n->b, factor); }
  if (const auto* n = e.as<Sub>()) { return factor != std::numeric_limits<int64_t>::min() && add_terms(sum, n->a, factor) && add_terms(sum, n->b, -factor); }
  if (const auto* n = e.as<Mul>()) { return scaled(n->a, n->b) || scaled(n->b, n->a); }
  if (const auto* n = e.as<Cast>()) { return n->value.dtype().bits <= e.dtype().bits && add_terms(sum, n->value, factor); }
  if (const auto* n = e.as<Broadcast>()) { return add_terms(sum, n->value, factor); }
  if (const auto* n = e.as<Ramp>()) {
    auto stride = as_int(n->stride);
    int64_t product;
    return stride && !__builtin_mul_overflow(*stride, factor, &product) && !__builtin_add_overflow(sum.per_lane, product, &sum.per_lane) && add_terms(sum, n->base, factor);
  }
  return false;
}

auto Compiler::index(const Expr& e) -> Index {
  Index out(int_expr(e));
  if (out.slot >= 0) { return out; }
  Index sum = out;
  sum.terms = 0;
  return add_terms(sum, e, 1) ? sum : out;
}

auto Compiler::site(const Buffer& buffer, const Array<Expr>& indices, const Expr& predicate, Origin origin, bool writes) -> AccessSite {
  AccessSite s;
  s.binding = binding(buffer.get());
  s.buffer = buffer.get();
  {
    ScopedValue in_index(is_index_, true);
    for (const Expr& i : indices) { s.indices.push_back(index(i)); }
    if (predicate) { s.predicate = int_expr(predicate); }
  }
  for (size_t i = blocks_.size(); i-- > 0;) {
    BlockAround& around = blocks_[i];
    if (around.own.contains(buffer.get())) { break; }
    DeclaredRegions regions{around.block, {}};
    // A block may read the regions that it writes, as reductions do.
    bool is_itself = false;   // the access is the declared element itself: no check is needed
    auto add = [&](const std::vector<BlockAround::Declared>& all) {
      for (const BlockAround::Declared& d : all) {
        if (!(d.region->buffer == buffer)) { continue; }
        regions.places.push_back({d.first});
        is_itself = is_itself || is_element(*d.region, indices);
      }
    };
    add(around.writes);
    if (!writes) { add(around.reads); }
    if (is_itself) { continue; }
    for (const DeclaredRegions::Place& place : regions.places) { around.used.insert(place.first); }
    s.declared.push_back(std::move(regions));
  }
  s.element = buffer->dtype.element();
  s.element_lanes = buffer->dtype.lanes;
  s.element_bytes = buffer->dtype.element_bytes();
  s.origin = origin;
  s.number = static_cast<uint32_t>(accesses.size());
  accesses.push_back({buffer->name, origin});
  // `B[0, 0:64]` of a (16, 4) buffer, possibly with terms that rewrites added to the ramp.
  bool is_ramp = false;
  if (!indices.empty()) { post_order(indices.back(), [&](const Expr& e) { is_ramp = is_ramp || e.as<Ramp>(); }); }
  auto extent = buffer->shape.empty() ? std::nullopt : as_int(buffer->shape.back());
  s.runs_over_rows = is_ramp && extent && indices.back().dtype().lanes > *extent && indices.size() > 1;
  // Shorter types use a byte per element.
  if (buffer->dtype.bits % 8 != 0 && buffer->dtype.bits > 8) {
    unsupported(origin, "elements of `" + buffer->name.str() + "` that are not whole bytes");
  }
  return s;
}

auto Compiler::access_in_text(const Expr& pointer, Origin origin) -> uint32_t {
  Name name("memory");
  bool is_named = false;
  post_order(pointer, [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    const auto* var = e.as<VarNode>();
    if (is_named || (!load && !(var && var->dtype.is_handle()))) { return; }
    name = load ? load->buffer->name : var->name;
    is_named = true;
  });
  accesses.push_back({name, origin});
  return static_cast<uint32_t>(accesses.size() - 1);
}

auto Compiler::bind_buffer(const Buffer& buffer) -> BindBuffer {
  BindBuffer b;
  b.binding = binding(buffer.get());
  b.memory = slot(buffer->data.get());
  b.buffer = buffer.get();
  for (const Expr& e : buffer->shape) { b.shape.push_back(int_expr(e)); }
  if (is_strided(buffer)) {
    for (const Expr& e : buffer->strides) { b.strides.push_back(int_expr(e)); }
  }
  if (buffer->elem_offset) { b.offset = int_expr(buffer->elem_offset); }
  return b;
}

auto Compiler::make_allocation(const Var& data, const Array<Expr>& extents, DataType dtype, Origin origin, std::string contents)
    -> std::unique_ptr<AllocateMemory> {
  auto a = std::make_unique<AllocateMemory>();
  a->memory = slot(data.get());
  a->number = storage_count++;
  std::string_view scope = data->pointer ? data->pointer->scope.view() : std::string_view();
  a->is_shared = in_kernel_ && is_shared_memory(scope);
  a->owner = is_shared_memory(scope) ? Runner::Block : memory_family(scope) == MemoryFamily::Local ? Runner::Thread : Runner::Device;
  for (const Expr& e : extents) { a->extents.push_back(int_expr(e)); }
  a->element_bytes = std::max(1, dtype.element_bytes() * dtype.lanes);
  a->constant = std::move(contents);
  a->origin = origin;
  a->bind = implicit_of(data.get());
  return a;
}

}  // namespace loopsmith::interp
