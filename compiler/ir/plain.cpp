// Rewrites calls as plain accesses: see plain.h.
#include "ir/other_data.h"
#include "ir/plain.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/calls.h"
#include "ir/ops.h"
#include "ir/sizes.h"
#include "ir/visitor.h"

namespace loopsmith {
namespace {

auto uses_call(const PrimFunc& func, bool (*is_one)(std::string_view)) -> bool {
  bool found = false;
  post_order(func->body, [](const Stmt&) {}, [&](const Expr& e) {
    const auto* call = e.as<Call>();
    found = found || (call && is_one(call->op.view()));
  });
  return found;
}

auto is_of_module(std::string_view op) -> bool { return op == "lookup_param" || op.starts_with("anylist_"); }
auto is_of_memory(std::string_view op) -> bool { return op == "masked_load" || op == "masked_store" || op == "nd_mem_alloc_with_scope" || op.starts_with("texture2d_"); }

// The fields of a `tvm_ffi_any` by TVM's numbers, and the values of the first field.
constexpr int64_t any_kind = 13, any_value = 15;
constexpr int64_t no_value = 0, int_value = 1, real_value = 3;

class PlainCalls : public Mutator {
 public:
  using Mutator::on;
  explicit PlainCalls(const IRModuleNode& module) : module_(module) {}

  auto function(const PrimFunc& func) -> PrimFunc {
    linked_.clear();
    Stmt body = mutate(func->body);
    for (auto it = linked_.rbegin(); it != linked_.rend(); ++it) {
      const AllocateConst& c = *it->second;
      body = make<AllocateConst>(it->first, c.dtype, c.extents, c.bytes, std::move(body), c.annotations, c.origin);
    }
    return with_body(func, std::move(body));
  }

  auto on(const Evaluate& n) -> Stmt override {
    const auto* call = n.value.as<Call>();
    if (!call) { return Mutator::on(n); }
    bool resets = call->op == "anylist_resetitem" && call->args.size() == 2;
    bool sets = call->op.view().starts_with("anylist_setitem_call_") && call->args.size() >= 3;
    if (!resets && !sets) { return Mutator::on(n); }
    Expr list = mutate(call->args[0]);
    Expr index = mutate(call->args[1]);
    auto note = [&](int64_t field, Expr value) -> Stmt {
      return make<Evaluate>(make<Call>(DataType::int_(32), Name("tvm_struct_set"), Array<Expr>{list, index, int_imm(field), std::move(value)}, call->origin), n.origin);
    };
    if (resets) { return seq({note(any_kind, int_imm(no_value)), note(any_value, int_imm(0, DataType::int_(64)))}, n.origin); }
    const auto* symbol = call->args[2].as<StringImm>();
    auto name = symbol ? function_of_symbol(module_, Name(symbol->value)) : std::nullopt;
    if (!name) { return Mutator::on(n); }
    DataType type = module_.find(*name)->ret_type;
    std::vector<Expr> args(call->args.begin() + 2, call->args.end());
    Expr packed = packed_call(*make<Call>(DataType::int_(32), Name(call->op.view().ends_with("cpacked") ? "tvm_call_cpacked" : "tvm_call_packed"), Array<Expr>(std::move(args)), call->origin));
    if (type.is_void() || type.is_handle()) { return seq({make<Evaluate>(packed, n.origin), note(any_kind, int_imm(no_value))}, n.origin); }
    if (type.is_integral()) { return seq({note(any_value, cast(DataType::int_(64), packed)), note(any_kind, int_imm(int_value))}, n.origin); }
    auto known = find_packed(module_, *packed.as<Call>());
    if (!known || !known->sizes.empty()) { return Mutator::on(n); }
    Expr value = make<Call>(type, Name("@" + known->function.str()), known->args, call->origin);
    return seq({note(any_value, cast(DataType::float_(64), std::move(value))), note(any_kind, int_imm(real_value))}, n.origin);
  }
  auto on(const Call& n) -> Expr override {
    if (n.op == "lookup_param" && n.args.size() == 1) { return constant(n); }
    if (n.op == "anylist_getitem" && n.args.size() == 2) { return item(n, DataType::handle()); }
    if (packed_name(n)) { return packed_call(n); }
    return Mutator::on(n);
  }

 private:
  auto item(const Call& n, DataType type) -> Expr {
    return make<Call>(type, Name("tvm_struct_get"), Array<Expr>{mutate(n.args[0]), mutate(n.args[1]), int_imm(any_value)}, n.origin);
  }
  // Converts arguments to the kinds of the function's parameters: numbers, pointers, the data of arrays.
  auto packed_call(const Call& n) -> Expr {
    auto symbol = packed_name(n);
    auto name = symbol ? function_of_symbol(module_, *symbol) : std::nullopt;
    PrimFunc func = name ? module_.find(*name) : PrimFunc();
    std::vector<Expr> args;
    bool is_same = true;
    for (size_t i = 0; i < n.args.size(); ++i) {
      const auto* call = n.args[i].as<Call>();
      Expr arg;
      if (i > 0 && func && i <= func->params.size() && call && call->op == "anylist_getitem" && call->args.size() == 2) {
        const Var& param = func->params[i - 1];
        if (func->buffer_of(param)) {
          arg = make<Call>(DataType::handle(), Name("tvm_struct_get"), Array<Expr>{item(*call, DataType::handle()), int_imm(0), int_imm(1)}, call->origin);
        } else if (param->dtype.is_handle()) {
          arg = item(*call, DataType::handle());
        } else {
          arg = cast(param->dtype, item(*call, param->dtype.is_real() ? DataType::float_(64) : DataType::int_(64)));
        }
      } else {
        arg = mutate(n.args[i]);
      }
      is_same = is_same && arg.same_as(n.args[i]);
      args.push_back(std::move(arg));
    }
    return is_same ? self(n) : Expr(make<Call>(n.dtype, n.op, Array<Expr>(std::move(args)), n.origin));
  }
  auto constant(const Call& n) -> Expr {
    const auto* name = n.args[0].as<StringImm>();
    if (!name) { return self(n); }
    for (const auto& [data, made] : linked_) {
      if (data->name == Name(name->value)) { return data; }
    }
    auto known = find_constant(module_, n.args[0]);
    if (!known) { return self(n); }
    const AllocateConst* found = known->second;
    Var data = make<VarNode>(found->data->name, found->data->dtype, n.origin, found->data->pointer);
    linked_.emplace_back(data, found);
    return data;
  }

  const IRModuleNode& module_;
  std::vector<std::pair<Var, const AllocateConst*>> linked_;
};

class PlainAccesses : public OtherData {
 public:
  using OtherData::on;
  explicit PlainAccesses(const PrimFuncNode& func) {
    for (const auto& [param, buffer] : func.buffer_map) { know(buffer); }
  }

  auto on(const Block& n) -> Stmt override {
    for (const Buffer& b : n.alloc_buffers) { know(b); }
    for (const MatchBufferRegion& m : n.match_buffers) { know(m.buffer); }
    return Mutator::on(n);
  }
  auto on(const DeclBuffer& n) -> Stmt override {
    know(n.buffer);
    return Mutator::on(n);
  }
  auto on(const Allocate& n) -> Stmt override {
    memory_[n.data.get()] = {n.dtype, n.extents};
    return Mutator::on(n);
  }
  auto on(const LetStmt& n) -> Stmt override {
    const auto* call = n.value.as<Call>();
    const auto* shape = call && call->op == "nd_mem_alloc_with_scope" && call->args.size() >= 3 ? call->args[2].as<Call>() : nullptr;
    if (!shape || !(shape->op == "tvm_stack_make_shape")) { return Mutator::on(n); }
    std::vector<Expr> extents;
    for (const Expr& e : shape->args) { extents.push_back(mutate(e)); }
    const auto* scope = call->args[0].as<StringImm>();
    if (scope && is_texture(scope->value)) {
      std::reverse(extents.begin(), extents.end());
      extents.push_back(int_imm(channels));
    }
    DataType element = n.var->pointer && !n.var->pointer->element.is_void() && !n.var->pointer->element.is_handle() ? n.var->pointer->element : DataType::uint(8);
    Var data = n.var;
    if (!data->pointer || !(data->pointer->element == element)) {
      data = make<VarNode>(n.var->name, n.var->dtype, n.var->origin, PointerType{element, Name(scope ? scope->value : "global")});
      instead[n.var.get()] = data;
    }
    memory_[data.get()] = {element, Array<Expr>(extents)};
    return make<Allocate>(data, element, Array<Expr>(std::move(extents)), bool_imm(true), mutate(n.body), AttrMap{}, n.origin);
  }
  auto on(const Evaluate& n) -> Stmt override {
    const auto* call = n.value.as<Call>();
    if (call && call->op == "masked_store" && call->args.size() == 4) {
      Expr value = mutate(call->args[1]);
      Expr index = mutate(call->args[2]);
      Buffer to = place(mutate(call->args[0]), value.dtype().element(), index);
      if (to && index.dtype().lanes == value.dtype().lanes) { return make<BufferStore>(to, value, Array<Expr>{index}, n.origin, mutate(call->args[3])); }
    }
    if (call && call->op == "texture2d_store" && (call->args.size() == 4 || call->args.size() == 5)) {
      Expr value = mutate(call->args[call->args.size() - 1]);
      size_t coordinates = call->args.size() - 2;
      Buffer image;
      Expr at = pixel(*call, coordinates, image);
      if (at && value.dtype().element() == image->dtype && (value.dtype().lanes == 1 || value.dtype().lanes == channels)) {
        if (value.dtype().lanes > 1) { at = make<Ramp>(at, int_imm(1, at.dtype()), int_imm(channels), call->origin); }
        return make<BufferStore>(image, value, Array<Expr>{at}, n.origin);
      }
    }
    // An access that is evaluated only for its effect only gets checks.
    if (call && call->op == "texture2d_load") {
      if (Expr value = pixel_value(*call)) { return make<Evaluate>(std::move(value), n.origin); }
    }
    return Mutator::on(n);
  }
  auto on(const Call& n) -> Expr override {
    if (n.op == "masked_load" && n.args.size() == 3) {
      Expr index = mutate(n.args[1]);
      Buffer from = place(mutate(n.args[0]), n.dtype.is_handle() ? DataType() : n.dtype.element(), index);
      if (from && n.dtype == from->dtype.with_lanes(index.dtype().lanes)) { return make<BufferLoad>(from, Array<Expr>{index}, n.origin, mutate(n.args[2])); }
    }
    if (n.op == "texture2d_load") {
      Expr value = pixel_value(n);
      if (value && value.dtype() == n.dtype) { return value; }
    }
    return Mutator::on(n);
  }

 protected:
  auto declare(const Var& v) -> Var override {
    auto found = instead.find(v.get());
    return found == instead.end() ? v : found->second;
  }

 private:
  static constexpr int channels = 4;
  struct Known { DataType dtype; Array<Expr> shape; };

  static auto is_texture(std::string_view scope) -> bool { return scope.starts_with("global.texture"); }
  void know(const Buffer& b) { memory_.try_emplace(b->data.get(), Known{b->dtype, b->shape}); }

  // A one-dimensional buffer of all elements that a pointer leads to.
  auto elements(const VarNode* data, DataType element) -> Buffer {
    Buffer& out = flat_[data];
    if (out && out->dtype == element) { return out; }
    auto known = memory_.find(data);
    Expr count = int_imm(int64_t{1} << 40, DataType::int_(64));
    if (known != memory_.end() && known->second.dtype.element() == element) {
      std::vector<Expr> extents{int_imm(known->second.dtype.lanes)};
      for (const Expr& e : known->second.shape) { extents.push_back(as_int(e) ? e : cast(DataType::int_(32), e)); }
      auto elements = known_product(Array<Expr>(extents));
      const bool is_narrow = elements && *elements <= std::numeric_limits<int32_t>::max();
      if (is_narrow) { for (Expr& e : extents) { e = cast(DataType::int_(32), e); } }
      if (elements) { count = product_of(Array<Expr>(std::move(extents))); }
    }
    BufferNode fields;
    fields.name = data->name;
    fields.data = Var(data);
    fields.dtype = element;
    fields.shape = Array<Expr>{count};
    fields.origin = data->origin;
    out = make_buffer(std::move(fields));
    return out;
  }
  // `element` void: takes the type of the pointer. Adds the offset of the pointer to `index`.
  auto place(const Expr& pointer, DataType element, Expr& index) -> Buffer {
    const auto* data = pointer.as<VarNode>();
    if (const auto* access = pointer.as<Call>(); access && access->op == "tvm_access_ptr" && access->args.size() == 5) {
      data = access->args[1].as<VarNode>();
      DataType declared = access->args[0].dtype();
      if (!data || declared.lanes != 1 || !(element.is_void() || declared == element)) { return {}; }
      element = declared;
      Expr offset = cast(index.dtype().element(), mutate(access->args[2]));
      index = add(index, index.dtype().lanes > 1 ? Expr(make<Broadcast>(offset, int_imm(index.dtype().lanes))) : offset);
    }
    if (!data) { return {}; }
    if (data->pointer && !data->pointer->element.is_void() && !data->pointer->element.is_handle()) {
      DataType own = data->pointer->element;
      if (own.lanes != 1 || !(element.is_void() || own == element)) { return {}; }
      element = own;
    }
    return element.is_void() ? Buffer() : elements(data, element);
  }
  // The index where a pixel begins: (image, x, y) or (image, x, y, z).
  auto pixel(const Call& n, size_t coordinates, Buffer& image) -> Expr {
    Expr pointer = mutate(n.args[0]);
    const auto* data = pointer.as<VarNode>();
    auto known = data ? memory_.find(data) : memory_.end();
    if (known == memory_.end()) { return {}; }
    std::vector<Expr> shape(known->second.shape.begin(), known->second.shape.end());
    if (known->second.dtype.lanes == channels) { shape.push_back(int_imm(channels)); }
    auto last = shape.empty() ? std::nullopt : as_int(shape.back());
    if (!last || *last != channels || shape.size() < 2) { return {}; }
    // The dimensions behind the separator form one row.
    std::string_view scope = data->pointer ? data->pointer->scope.view() : std::string_view();
    size_t before = scope == "global.texture-weight" ? 1 : scope == "global.texture-nhwc" ? 3 : 2;
    size_t separator = scope == "global.texture-weight" ? 1 : shape.size() < before ? 0 : shape.size() - before;
    if (coordinates == 3 && separator < 1) { return {}; }
    Expr width = int_imm(1);
    for (size_t d = separator; d + 1 < shape.size(); ++d) { width = mul(width, shape[d]); }
    Expr row = mutate(n.args[2]);
    if (coordinates == 3) { row = add(mul(mutate(n.args[3]), shape[separator - 1]), row); }
    image = elements(data, known->second.dtype.element());
    return mul(add(mul(row, width), mutate(n.args[1])), int_imm(channels));
  }
  auto pixel_value(const Call& n) -> Expr {
    size_t coordinates = n.args.size() == 5 ? 3 : 2;
    if (n.args.size() < 3 || n.args.size() > 5) { return {}; }
    Buffer image;
    Expr at = pixel(n, coordinates, image);
    if (!at) { return {}; }
    if (n.args.size() == 3) { at = make<Ramp>(at, int_imm(1, at.dtype()), int_imm(channels), n.origin); }
    if (n.args.size() > 3) {
      Expr channel = mutate(n.args[n.args.size() - 1]);
      int lanes = channel.dtype().lanes;
      at = add(lanes > 1 ? Expr(make<Broadcast>(cast(channel.dtype().element(), at), int_imm(lanes))) : at, channel);
    }
    return make<BufferLoad>(image, Array<Expr>{at}, n.origin);
  }

  std::unordered_map<const VarNode*, Known> memory_;
  std::unordered_map<const VarNode*, Buffer> flat_;
};

}  // namespace

auto accessed_type(Name op, const Array<Expr>& args) -> DataType {
  if (args.size() < 2) { return {}; }
  const auto* data = args[0].as<VarNode>();
  const auto* access = args[0].as<Call>();
  DataType element;
  if (data && data->pointer) { element = data->pointer->element; }
  if (access && access->op == "tvm_access_ptr" && !access->args.empty()) { element = access->args[0].dtype(); }
  if (element.is_void() || element.is_handle()) { return {}; }
  if (op == "masked_load") { return element.with_lanes(args[1].dtype().lanes); }
  if (op == "texture2d_load" && args.size() >= 3) { return element.element().with_lanes(args.size() == 3 ? 4 : args[args.size() - 1].dtype().lanes); }
  return {};
}

auto with_plain_calls(const IRModule& module) -> IRModule {
  IRModuleNode out = *module;
  bool any = false;
  std::vector<std::pair<Name, PrimFunc>> functions(module->functions.begin(), module->functions.end());
  for (auto& [name, func] : functions) {
    if (!uses_call(func, is_of_module)) { continue; }
    any = true;
    func = PlainCalls(*module).function(func);
  }
  if (!any) { return module; }
  out.functions = std::move(functions);
  return make_module(std::move(out));
}

auto with_plain_accesses(const PrimFunc& func) -> PrimFunc {
  if (!uses_call(func, is_of_memory)) { return func; }
  return with_body(func, PlainAccesses(*func).mutate(func->body));
}

}  // namespace loopsmith
