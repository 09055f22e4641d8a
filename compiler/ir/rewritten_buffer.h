// Buffers with rewritten shapes, strides and offsets.
#pragma once

#include "ir/ir.h"

namespace loopsmith {

/// The buffer with shape, strides and offset rewritten by `rewrite` (Expr to Expr); the same buffer if nothing changes.
template <class Rewrite>
[[nodiscard]] auto rewritten_buffer(const Buffer& buffer, const Rewrite& rewrite) -> Buffer {
  auto each = [&](const Array<Expr>& all) { return all.map_same(rewrite, [](const Expr& a, const Expr& b) { return a.same_as(b); }); };
  Array<Expr> shape = each(buffer->shape), strides = each(buffer->strides);
  Expr offset = buffer->elem_offset ? rewrite(buffer->elem_offset) : Expr();
  if (shape.same_as(buffer->shape) && strides.same_as(buffer->strides) && offset.same_as(buffer->elem_offset)) { return buffer; }
  BufferNode fields = *buffer;
  fields.shape = std::move(shape);
  fields.strides = std::move(strides);
  fields.elem_offset = std::move(offset);
  return make_buffer(std::move(fields));
}

}  // namespace loopsmith
