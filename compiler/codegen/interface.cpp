// Finding parameters, shapes and written buffers: see interface.h.
#include "codegen/interface.h"

#include <algorithm>
#include <unordered_set>

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
  // A buffer whose address is taken may be written by any function that gets the address.
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
};

}  // namespace

auto shape_variables(const PrimFunc& func) -> std::vector<Var> {
  std::vector<Var> out;
  auto is_known = [&](const Var& v) {
    return std::any_of(func->params.begin(), func->params.end(), [&](const Var& p) { return p == v; }) ||
           std::find(out.begin(), out.end(), v) != out.end();
  };
  auto look = [&](const Expr& e) {
    if (!e) { return; }
    post_order(e, [&](const Expr& sub) {
      if (auto v = sub.ref<VarNode>(); v && !is_known(v)) { out.push_back(v); }
    });
  };
  for (const auto& [param, buffer] : func->buffer_map) {
    for (const Expr& dim : buffer->shape) { look(dim); }
    for (const Expr& stride : buffer->strides) { look(stride); }
    look(buffer->elem_offset);
  }
  return out;
}

auto interface_of(const PrimFunc& func, const std::string& name) -> Interface {
  Interface out;
  out.name = name;
  Writes writes;
  writes.visit(func->body);
  out.may_fork = writes.may_fork;
  std::vector<Var> shapes = shape_variables(func);
  auto slot = [&](const VarNode* v) -> int {
    for (size_t i = 0; i < func->params.size(); ++i) {
      if (func->params[i].get() == v) { return static_cast<int>(i); }
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (shapes[i].get() == v) { return static_cast<int>(func->params.size() + i); }
    }
    return -1;
  };
  for (const Var& param : func->params) {
    Parameter p{.name = param->name.str(), .dtype = param->dtype};
    if (Buffer buffer = func->buffer_of(param)) {
      p.kind = Parameter::Kind::Buffer;
      p.name = buffer->name.str();
      p.dtype = buffer->dtype;
      p.alignment = std::max(1, buffer->dtype.element_bytes());
      p.is_written = writes.data.contains(buffer->data.get());
      for (const Expr& dim : buffer->shape) {
        Dimension d;
        if (auto value = as_int(dim)) {
          d = {.kind = Dimension::Kind::Constant, .value = *value};
        } else if (const auto* v = dim.as<VarNode>()) {
          d = {.kind = Dimension::Kind::Variable, .slot = slot(v)};
        }
        p.shape.push_back(d);
      }
    } else if (param->dtype.is_handle()) {
      p.kind = Parameter::Kind::Pointer;
      p.is_written = writes.data.contains(param.get());
    }
    out.parameters.push_back(std::move(p));
  }
  for (const Var& v : shapes) { out.shape_variables.push_back(v->name.str()); }
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

}  // namespace loopsmith::codegen
