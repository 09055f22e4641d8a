// Gives every access a single index: see flatten_buffer.h.
#include "transform/flatten_buffer.h"

#include <optional>

#include "ir/ops.h"
#include "ir/sizes.h"
#include "ir/strides.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"
#include "support/saturate.h"
#include "transform/rows.h"

namespace loopsmith::transform {
namespace {

auto is_flat(const Buffer& buffer) -> bool {
  return buffer->shape.size() == 1 && (!is_strided(buffer) || is_one(buffer->strides[0])) &&
         (!buffer->elem_offset || is_zero(buffer->elem_offset));
}

class Flatten : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;

  std::vector<Buffer> undeclared;   // flat views that are used without a declaration, in the order of first use
  std::optional<Diagnostic> too_large;   // about the first buffer whose number of elements overflows 63 bits

  auto on(const BufferLoad& n) -> Expr override {
    Array<Expr> indices = mutate(n.indices);
    Expr predicate = n.predicate ? mutate(n.predicate) : Expr();
    Buffer flat = view_of(n.buffer);
    if (flat == n.buffer && indices.same_as(n.indices) && predicate.same_as(n.predicate)) { return self(n); }
    return make<BufferLoad>(flat, Array<Expr>{offset(n.buffer, indices, n.origin)}, n.origin, std::move(predicate));
  }
  auto on(const BufferStore& n) -> Stmt override {
    Expr value = mutate(n.value);
    Array<Expr> indices = mutate(n.indices);
    Expr predicate = n.predicate ? mutate(n.predicate) : Expr();
    Buffer flat = view_of(n.buffer);
    if (flat == n.buffer && value.same_as(n.value) && indices.same_as(n.indices) && predicate.same_as(n.predicate)) { return self(n); }
    return make<BufferStore>(flat, std::move(value), Array<Expr>{offset(n.buffer, indices, n.origin)}, n.origin, std::move(predicate));
  }
  auto on(const DeclBuffer& n) -> Stmt override {
    Buffer flat = declare_view(n.buffer);
    Stmt body = mutate(n.body);
    if (flat == n.buffer && body.same_as(n.body)) { return self(n); }
    return make<DeclBuffer>(std::move(flat), std::move(body), n.origin);
  }
  auto on(const LetStmt& n) -> Stmt override {
    if (!n.var->dtype.is_handle()) { return Mutator::on(n); }
    Expr value = mutate(n.value);
    Stmt body = with_views(n.var, mutate(n.body));
    if (value.same_as(n.value) && body.same_as(n.body)) { return self(n); }
    return make<LetStmt>(n.var, std::move(value), std::move(body), n.origin);
  }
  auto on(const Allocate& n) -> Stmt override {
    Stmt body = with_views(n.data, mutate(n.body));
    if (n.extents.size() == 1 && body.same_as(n.body)) { return self(n); }
    return make<Allocate>(n.data, n.dtype, Array<Expr>{count(n.extents, n.origin, n.data->name)}, n.condition, std::move(body), n.annotations, n.origin);
  }
  auto on(const AllocateConst& n) -> Stmt override {
    Stmt body = with_views(n.data, mutate(n.body));
    if (n.extents.size() == 1 && body.same_as(n.body)) { return self(n); }
    return make<AllocateConst>(n.data, n.dtype, Array<Expr>{count(n.extents, n.origin, n.data->name)}, n.bytes, std::move(body), n.annotations, n.origin);
  }

 private:
  // Declares the views of memory that is allocated here.
  auto with_views(const Var& data, Stmt body) -> Stmt {
    for (size_t i = undeclared.size(); i-- > 0;) {
      if (!(undeclared[i]->data == data)) { continue; }
      body = make<DeclBuffer>(undeclared[i], std::move(body), undeclared[i]->origin);
      undeclared.erase(undeclared.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return body;
  }
  auto declare_view(const Buffer& buffer) -> Buffer {
    auto [found, fresh] = views_.emplace(buffer.get(), Buffer());
    if (!fresh) { return found->second; }
    Buffer out = buffer;
    if (!is_flat(buffer)) {
      BufferNode fields = *buffer;
      Array<Expr> extents = allocated(buffer);
      fields.shape = {count(extents, buffer->origin, buffer->name)};
      // Indices into the view include its offset.
      const auto begin = buffer->elem_offset ? as_int(buffer->elem_offset) : std::nullopt;
      if (begin && *begin > 0) { fields.shape = {add(int_imm(*begin, fields.shape[0].dtype()), fields.shape[0])}; }
      if (is_wide(buffer)) { fields.shape = {widened(fields.shape[0])}; }
      fields.strides = {};
      fields.elem_offset = {};
      fields.axis_separators = {};
      fields.buffer_kind = BufferKind::Default;
      out = make_buffer(std::move(fields));
    }
    views_[buffer.get()] = out;
    return out;
  }
  auto view_of(const Buffer& buffer) -> Buffer {
    bool known = views_.count(buffer.get()) != 0;
    Buffer out = declare_view(buffer);
    if (!known && out != buffer) { undeclared.push_back(out); }
    return out;
  }
  auto count(const Array<Expr>& extents, Origin where, Name name) -> Expr {
    if (known_product(extents)) { return product_of(extents); }
    if (!too_large) {
      too_large = error(Code::CannotEmit, where).arg("what", "the buffer `" + name.str() + "`").arg("target", "any target").arg("reason", because(Why::TooManyElements).text());
    }
    return int_imm(1, DataType::int_(64));
  }
  // True if rows are adjacent, without gaps.
  static auto is_contiguous(const Buffer& buffer) -> bool {
    int64_t step = 1;
    for (size_t d = buffer->shape.size(); d-- > 0;) {
      auto size = as_int(buffer->shape[d]), here = as_int(buffer->strides[d]);
      if (!size || !here || *here != step) { return false; }
      step = saturating_mul(step, *size);
    }
    return true;
  }
  static auto allocated(const Buffer& buffer) -> Array<Expr> {
    if (!is_strided(buffer)) { return buffer->shape; }
    return {buffer->shape[0], buffer->strides[0]};
  }
  auto is_wide(const Buffer& buffer) -> bool {
    auto [found, fresh] = wide_.emplace(buffer.get(), false);
    if (fresh) { found->second = needs_wide_index(*buffer); }
    return found->second;
  }
  auto offset(const Buffer& buffer, const Array<Expr>& written, Origin origin) -> Expr {
    const bool wide = is_wide(buffer);
    auto sized = [&](const Expr& e) { return wide ? widened(e) : e; };
    Expr out;
    const Array<Expr> indices = is_strided(buffer) && !is_contiguous(buffer) ? spread_over_rows(buffer->shape, written) : written;
    for (size_t i = 0; i < indices.size(); ++i) {
      Expr index = sized(indices[i]);
      if (is_strided(buffer)) {
        Expr term = mul(std::move(index), sized(buffer->strides[i]), origin);
        out = out ? add(std::move(out), std::move(term), origin) : term;
      } else {
        Expr stride = sized(buffer->shape[FAULT(flatten_wrong_stride) ? 0 : i]);
        out = out ? add(mul(std::move(out), std::move(stride), origin), std::move(index), origin) : index;
      }
    }
    if (!out) { out = sized(int_imm(0)); }
    if (buffer->elem_offset && !is_zero(buffer->elem_offset)) { out = add(std::move(out), sized(buffer->elem_offset), origin); }
    return out;
  }

  std::unordered_map<const BufferNode*, Buffer> views_;
  std::unordered_map<const BufferNode*, bool> wide_;   // buffers whose flat indices overflow int32
};

}  // namespace

auto flatten_buffer(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> {
    Flatten flatten;
    Stmt body = flatten.mutate(func->body);
    if (flatten.too_large) { return std::move(*flatten.too_large).arg("function", called("main", func)); }
    for (size_t i = flatten.undeclared.size(); i-- > 0;) {
      body = make<DeclBuffer>(flatten.undeclared[i], std::move(body), flatten.undeclared[i]->origin);
    }
    return with_body(func, std::move(body));
  });
}

}  // namespace loopsmith::transform
