// The script printer: declarations of buffers and the data of constants. The arguments of a declaration may use variables without a
// declaration: they are declared together with the buffer.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "ir/ops.h"
#include "ir/printer/script_printer.h"
#include "ir/visitor.h"

namespace loopsmith {

void ScriptPrinter::fragment_buffer(const Buffer& buffer) {
  push_frame(nullptr);
  define(buffer.get(), buffer->name.empty() ? Name("buffer") : buffer->name);
  for (const Expr& e : buffer->shape) { define_free_of(e); }
  for (const Expr& e : buffer->strides) { define_free_of(e); }
  if (buffer->elem_offset) { define_free_of(buffer->elem_offset); }
  out_ += is_tensor() ? "T.Tensor(" : "T.Buffer(";
  buffer_arguments(buffer, VarDefinition::DataPointer, true);
  out_ += ')';
}

void ScriptPrinter::constant_data(const AllocateConst& s) {
  out_ += '[';
  bool first = true;
  size_t width = static_cast<size_t>(s.dtype.element_bytes());
  for (size_t at = 0; width && at + width <= s.bytes.size(); at += width) {
    comma(first);
    uint64_t bits = 0;
    std::memcpy(&bits, s.bytes.data() + at, std::min<size_t>(width, 8));
    if (s.dtype.is_float() && width == 4) {
      float value;
      std::memcpy(&value, &bits, 4);
      append_float(value);
    } else if (s.dtype.is_float() && width == 8) {
      double value;
      std::memcpy(&value, &bits, 8);
      append_float(value);
    } else if (s.dtype.is_int() && width < 8) {
      int shift = 64 - static_cast<int>(width) * 8;
      integer(static_cast<int64_t>(bits << shift) >> shift);
    } else {
      integer(static_cast<int64_t>(bits));
    }
  }
  out_ += ']';
}

void ScriptPrinter::decl_buffer(const DeclBuffer& s, VarDefinition definition, bool concise) {
  Mark mark(*this);
  // Without memory of its own it is a declaration; with it, an allocation, which has a separate word since 0.24.
  const bool allocates = definition == VarDefinition::DataPointer && sblock_;
  out_ += allocates ? (is_tensor() ? "T.alloc_tensor(" : "T.alloc_buffer(") : is_tensor() ? "T.decl_tensor(" : "T.decl_buffer(";
  // The name is taken only for the body, but `data` may be found through the buffer inside the body.
  buffer_arguments(s.buffer, definition, true);
  out_ += ')';
  scope(&s, mark.release(), s.body, concise, [&] { return define(s.buffer.get(), s.buffer->name.empty() ? Name("buffer") : s.buffer->name).view(); });
}

void ScriptPrinter::alloc_buffer(const Buffer& buffer) {
  begin_line();
  out_ += define(buffer.get(), buffer->name.empty() ? Name("buffer") : buffer->name).view();
  out_ += " = ";
  out_ += of_blocks();
  out_ += sblock_ ? "sblock_alloc_buffer(" : "alloc_buffer(";
  buffer_arguments(buffer, VarDefinition::DataPointer, true);
  out_ += ")\n";
}

struct ScriptPrinter::FreeVariables {
  const Buffer& buffer;
  std::unordered_map<const VarNode*, int> uses{};   // in the declaration; counted on first use
  std::string names{}, values{};                    // of the variables that are defined on a line in front: `n, m = T.int32(), T.int32()`

  auto occurs_once(const VarNode* v) -> bool {
    if (uses.empty()) {
      auto count = [&](const Expr& e) {
        if (!e) { return; }
        post_order(e, [&](const Expr& x) {
          if (const auto* found = x.as<VarNode>()) { ++uses[found]; }
        });
      };
      count(buffer->elem_offset);
      ++uses[buffer->data.get()];
      for (const Expr& e : buffer->strides) { count(e); }
      for (const Expr& e : buffer->shape) { count(e); }
    }
    return uses[v] == 1;
  }
};

auto ScriptPrinter::is_new(const Expr& e) const -> bool { return e.kind() == NodeKind::VarNode && !is_defined(e.get()); }

void ScriptPrinter::define_in_front(const Expr& e, FreeVariables& free) {
  const auto* v = e.as<VarNode>();
  if (!free.names.empty()) {
    free.names += ", ";
    free.values += ", ";
  }
  free.names += define_var(v).view();
  Mark mark(*this);
  var_creation(*v);
  free.values += mark.cut();
}

auto ScriptPrinter::define_as_part(const Expr& e, Part part, int index, FreeVariables& free) -> bool {
  const auto* v = e.as<VarNode>();
  const Buffer& buffer = free.buffer;
  // If strides and offsets are not printed, a reader gives them the type of the shape.
  bool is_other_type = part != Part::Data && !(v->dtype == (buffer->shape.empty() ? DataType::int_(32) : buffer->shape[0].dtype()));
  if (!free.occurs_once(v) || is_other_type) {
    define_in_front(e, free);
    return false;
  }
  define_part(v, buffer.get(), part, index);
  return true;
}

void ScriptPrinter::buffer_arguments(const Buffer& buffer, VarDefinition definition, bool first) {
  FreeVariables free{buffer};
  comma(first);
  for (const Expr& e : buffer->shape) {
    if (is_new(e)) { define_in_front(e, free); }
  }
  tuple(buffer->shape);
  if (!(buffer->dtype == DataType::float_(32))) {
    out_ += ", ";
    dtype_literal(buffer->dtype);
  }
  bool is_found_through_buffer = false;
  if (!is_defined(buffer->data.get())) {
    if (definition == VarDefinition::None) { define_in_front(buffer->data, free); } else { is_found_through_buffer = define_as_part(buffer->data, Part::Data, 0, free); }
  }
  if (!is_found_through_buffer) {
    out_ += ", data=";
    variable(*buffer->data);
  }
  buffer_strides(buffer, free);
  bool shows_factor = buffer_offset(buffer, free) || buffer->offset_factor != 1;
  Name scope_name = buffer->scope();
  if (!(scope_name == "global")) {
    out_ += ", scope=";
    string_literal(scope_name.view());
  }
  if (buffer->data_alignment != 64) {
    out_ += ", align=";
    integer(buffer->data_alignment);
  }
  if (shows_factor) {
    out_ += ", offset_factor=";
    integer(buffer->offset_factor);
  }
  if (buffer->buffer_kind != BufferKind::Default) { out_ += ", buffer_type=\"auto\""; }
  if (!buffer->axis_separators.empty()) {
    out_ += ", axis_separators=[";
    bool first_separator = true;
    for (int separator : buffer->axis_separators) {
      comma(first_separator);
      integer(separator);
    }
    out_ += ']';
  }
  if (!free.names.empty()) { insert_before(frames_.back(), free.names + " = " + free.values); }
}

void ScriptPrinter::buffer_strides(const Buffer& buffer, FreeVariables& free) {
  if (buffer->strides.empty()) { return; }
  out_ += ", strides=(";
  bool first = true;
  for (size_t i = 0; i < buffer->strides.size(); ++i) {
    const Expr& e = buffer->strides[i];
    comma(first);
    if (is_new(e) && define_as_part(e, Part::Stride, static_cast<int>(i), free)) {
      string_literal(e.as<VarNode>()->name.view());
    } else {
      expr(e);
    }
  }
  out_ += buffer->strides.size() == 1 ? ",)" : ")";
}

auto ScriptPrinter::buffer_offset(const Buffer& buffer, FreeVariables& free) -> bool {
  const Expr& offset = buffer->elem_offset;
  if (!offset || (offset.kind() == NodeKind::IntImm && is_zero(offset))) { return false; }
  bool is_variable = is_new(offset);
  if (is_variable && define_as_part(offset, Part::Offset, 0, free)) { return true; }
  out_ += ", elem_offset=";
  expr(offset);
  return is_variable;
}

}  // namespace loopsmith
