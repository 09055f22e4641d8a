// Finds parameters, shapes and written buffers: see interface.h.
#include "codegen/interface.h"

#include <dlfcn.h>

#include <algorithm>
#include <unordered_set>

#include "ir/externals.h"
#include "ir/index_uses.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::codegen {
namespace {

struct Writes : Visitor {
  std::unordered_set<const VarNode*> data;
  bool may_fork = false;
  using Visitor::on;
  void on(const For& node) override {
    may_fork = may_fork || node.for_kind == ForKind::Parallel;
    Visitor::on(node);
  }
  void on(const BufferStore& node) override {
    data.insert(node.buffer->data.get());
    Visitor::on(node);
  }
  // If the address of a buffer is taken, any function that receives it may write the buffer.
  void on(const Call& node) override {
    may_fork = may_fork || node.op.view().starts_with("@");
    if (node.op == "address_of" || node.op == "tvm_access_ptr" || node.op == "tvm_stack_make_array" || node.op == "tvm_call_packed" ||
        node.op == "tvm_call_cpacked" || node.op.view().starts_with("@")) {
      for (const Expr& arg : node.args) {
        if (const auto* load = arg.as<BufferLoad>()) { data.insert(load->buffer->data.get()); }
        if (const auto* v = arg.as<VarNode>(); v && v->dtype.is_handle()) { data.insert(v); }
      }
    }
    Visitor::on(node);
  }
  /// A store into a view of a buffer is a store into the buffer.
  void on(const Block& n) override {
    Visitor::on(n);
    for (const MatchBufferRegion& view : n.match_buffers) {
      if (data.contains(view.buffer->data.get())) { data.insert(view.source.buffer->data.get()); }
    }
  }
};

auto sizes_of_parameter(const Interface& interface, size_t parameter) -> const BufferSizes* {
  for (const BufferSizes& sizes : interface.sizes.buffers) {
    if (sizes.parameter == parameter) { return &sizes; }
  }
  return nullptr;
}

/// Adds the limits of elements that are indices.
void add_index_limits(const PrimFunc& func, Interface& interface) {
  IndexUses uses = index_uses(func);
  if (uses.empty()) { return; }
  for (size_t parameter : uses.unknown) { interface.parameters[parameter].is_unknown_index = true; }
  for (const IndexUse& use : uses.known) {
    IndexLimit limit{.extent = formula_of(func, use.extent), .scale = use.scale, .low = use.low, .high = use.high};
    Parameter& parameter = interface.parameters[use.parameter];
    if (limit.extent.is_known()) { parameter.limits.push_back(std::move(limit)); } else { parameter.is_unknown_index = true; }
  }
}

}  // namespace

auto shape_text(const Interface& interface, size_t parameter) -> std::string {
  const BufferSizes* sizes = sizes_of_parameter(interface, parameter);
  if (sizes == nullptr) { return {}; }
  return text_of(interface.sizes, sizes->shape);
}

auto shape_of(const Interface& interface, size_t parameter, const std::vector<std::optional<int64_t>>& slots) -> std::optional<std::vector<int64_t>> {
  const BufferSizes* sizes = sizes_of_parameter(interface, parameter);
  std::vector<int64_t> out;
  for (size_t d = 0; sizes != nullptr && d < sizes->shape.size(); ++d) {
    auto extent = evaluate(sizes->shape[d], slots);
    if (!extent || *extent < 0) { return {}; }
    out.push_back(*extent);
  }
  return out;
}

auto index_range(const Interface& interface, size_t parameter, const std::vector<std::optional<int64_t>>& slots) -> std::optional<IndexRange> {
  const Parameter& p = interface.parameters[parameter];
  if (p.limits.empty()) { return {}; }
  IndexRange out;
  for (const IndexLimit& limit : p.limits) {
    if (auto extent = evaluate(limit.extent, slots)) { out.narrow({.parameter = parameter, .extent = {}, .scale = limit.scale, .low = limit.low, .high = limit.high}, *extent); }
  }
  return out;
}

auto interface_of(const PrimFunc& func, const std::string& name) -> Interface {
  Interface out;
  out.name = name;
  Writes writes;
  writes.visit(func->body);
  out.may_fork = writes.may_fork;
  out.sizes = sizes_of(func);
  for (const Var& param : func->params) {
    Parameter p{.name = param->name.str(), .dtype = param->dtype};
    if (Buffer buffer = func->buffer_of(param)) {
      p.kind = Parameter::Kind::Buffer;
      p.name = buffer->name.str();
      p.dtype = buffer->dtype;
      p.alignment = std::max(1, buffer->dtype.element_bytes());
      p.is_written = writes.data.contains(buffer->data.get());
      // An alignment larger than the usual one is guaranteed by the caller; the entry checks it.
      if (buffer->data_alignment != BufferNode().data_alignment) { p.alignment = std::max(p.alignment, buffer->data_alignment); }
      for (const Formula& f : sizes_of_parameter(out, out.parameters.size())->shape) {
        Dimension d;
        if (auto value = f.constant()) {
          d = {.kind = Dimension::Kind::Constant, .value = *value};
        } else if (auto slot = f.slot()) {
          d = {.kind = Dimension::Kind::Variable, .slot = static_cast<int>(*slot)};
        }
        p.shape.push_back(d);
      }
    } else if (param->dtype.is_handle()) {
      p.kind = Parameter::Kind::Pointer;
      p.is_written = writes.data.contains(param.get());
    }
    out.parameters.push_back(std::move(p));
  }
  for (const Sizes::Variable& v : out.sizes.variables) { out.shape_variables.push_back(v.name); }
  add_index_limits(func, out);
  return out;
}

auto dlpack_code(DataType dtype) -> int {
  if (dtype.is_bool()) { return 6; }
  switch (dtype.code) {
    case TypeCode::Int: return 0;
    case TypeCode::UInt: return 1;
    case TypeCode::Float: return 2;
    case TypeCode::BFloat: return 4;
    case TypeCode::Float8E3M4: return 7;
    case TypeCode::Float8E4M3: return 8;
    case TypeCode::Float8E4M3B11FNUZ: return 9;
    case TypeCode::Float8E4M3FN: return 10;
    case TypeCode::Float8E4M3FNUZ: return 11;
    case TypeCode::Float8E5M2: return 12;
    case TypeCode::Float8E5M2FNUZ: return 13;
    case TypeCode::Float8E8M0FNU: return 14;
    case TypeCode::Float6E2M3FN: return 15;
    case TypeCode::Float6E3M2FN: return 16;
    case TypeCode::Float4E2M1FN: return 17;
    case TypeCode::Handle:
    case TypeCode::Void: break;
  }
  return -1;
}

auto symbol_of(Name name, const PrimFunc& func) -> std::string {
  if (const Attr* attr = find_attr(func->attrs, "global_symbol"); attr != nullptr) {
    if (const std::string* text = attr->string(); text != nullptr && !text->empty()) { return *text; }
  }
  return name.str();
}

constexpr std::string_view inner_prefix = "loopsmith_kernel_";

auto inner_symbol(std::string_view name) -> std::string { return std::string(inner_prefix) + std::string(name); }
auto shown_name(std::string_view symbol) -> std::string_view {
  if (symbol.starts_with(inner_prefix)) { symbol.remove_prefix(inner_prefix.size()); }
  return symbol;
}

auto is_c_library_name(const std::string& name) -> bool {
  if (name.starts_with("loopsmith_") || external(name).kind != ExternalKind::Unknown) { return true; }
  // The maths library, which includes the C library that it uses. If they are not shared libraries, everything in this process.
  static void* const library = [] {
    void* maths = ::dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
    return maths != nullptr ? maths : RTLD_DEFAULT;
  }();
  return ::dlsym(library, name.c_str()) != nullptr;
}

}  // namespace loopsmith::codegen
