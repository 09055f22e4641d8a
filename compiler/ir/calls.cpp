// Calls between functions: see calls.h.
#include "ir/calls.h"

#include <unordered_set>

#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith {

auto packed_name(const Call& call) -> std::optional<Name> {
  static const Name packed("tvm_call_packed"), cpacked("tvm_call_cpacked");
  const auto* name = (call.op == packed || call.op == cpacked) && call.args.size() > 0 ? call.args[0].as<StringImm>() : nullptr;
  return name ? std::optional<Name>(Name(name->value)) : std::nullopt;
}

auto function_of_symbol(const IRModuleNode& module, Name symbol) -> std::optional<Name> {
  static const Name key("global_symbol");
  if (module.find(symbol)) { return symbol; }
  for (const auto& [name, func] : module.functions) {
    const Attr* says = find_attr(func->attrs, key);
    if (says && says->string() && *says->string() == symbol.view()) { return name; }
  }
  return {};
}

auto lowered_packed_name(const Call& call) -> std::optional<Name> {
  static const Name packed("tvm_call_packed_lowered"), cpacked("tvm_call_cpacked_lowered");
  const auto* name = (call.op == packed || call.op == cpacked) && call.args.size() > 0 ? call.args[0].as<StringImm>() : nullptr;
  return name ? std::optional<Name>(Name(name->value)) : std::nullopt;
}

namespace {

// (data, shape, strides or nothing, dimensions, a number of the elements' type, offset in elements)
auto is_array(const Call& call) -> bool {
  static const Name make_array("tvm_stack_make_array");
  return call.op == make_array && call.args.size() == 6;
}

}  // namespace

auto find_packed(const IRModuleNode& module, const Call& call) -> std::optional<PackedCall> {
  static const Name cpacked("tvm_call_cpacked"), make_shape("tvm_stack_make_shape"), access_ptr("tvm_access_ptr"), type("type_annotation");
  auto symbol = packed_name(call);
  auto name = symbol ? function_of_symbol(module, *symbol) : std::nullopt;
  if (!name) { return {}; }
  PrimFunc func = module.find(*name);
  size_t count = call.args.size() - 1;
  // A C function takes the handle of its resources as its last argument.
  bool has_resource = call.op == cpacked && count == func->params.size() + 1 && call.args[count].dtype().is_handle();
  if (count != func->params.size() && !has_resource) { return {}; }
  PackedCall out;
  out.function = *name;
  std::vector<Expr> args;
  std::unordered_set<const VarNode*> known;
  for (const Var& param : func->params) { known.insert(param.get()); }
  for (size_t i = 0; i < func->params.size(); ++i) {
    const Expr& given = call.args[i + 1];
    Buffer buffer = func->buffer_of(func->params[i]);
    const auto* array = given.as<Call>();
    if (!array || !is_array(*array)) {
      // Converts numbers to the type of the function's parameter.
      DataType t = func->params[i]->dtype;
      bool is_number = !t.is_handle() && !given.dtype().is_handle();
      if (!is_number && !(t.is_handle() && given.dtype().is_handle())) { return {}; }
      args.push_back(is_number && !(given.dtype() == t) ? cast(t, given) : given);
      continue;
    }
    if (!buffer || !(array->args[4].dtype() == buffer->dtype)) { return {}; }
    auto bind = [&](const Array<Expr>& wanted, const Expr& shape) -> bool {
      const auto* list = shape.as<Call>();
      if (!list || list->op != make_shape) { return wanted.empty(); }
      if (wanted.empty()) { return true; }
      if (list->args.size() != wanted.size()) { return false; }
      for (size_t d = 0; d < wanted.size(); ++d) {
        const auto* size = wanted[d].as<VarNode>();
        if (size && known.insert(size).second) { out.sizes.emplace_back(Var(size), cast(size->dtype, list->args[d])); }
        auto a = as_int(wanted[d]);
        auto b = as_int(list->args[d]);
        if (a && b && *a != *b) { return false; }
      }
      return true;
    };
    const auto* strides = array->args[2].as<Call>();
    bool is_strided = strides && strides->op == make_shape && strides->args.size() > 0;
    if (!bind(buffer->shape, array->args[1]) || !bind(buffer->strides, array->args[2])) { return {}; }
    // Only functions that take strides can read rows with gaps between them.
    if (is_strided && buffer->strides.empty()) { return {}; }
    const Expr& offset = array->args[5];
    if (is_zero(offset)) {
      args.push_back(array->args[0]);
    } else {
      Expr element = make<Call>(buffer->dtype, type, Array<Expr>{}, call.origin);
      args.push_back(make<Call>(DataType::handle(), access_ptr, Array<Expr>{element, array->args[0], offset, int_imm(1), int_imm(3)}, call.origin));
    }
  }
  out.args = Array<Expr>(std::move(args));
  return out;
}

auto find_constant(const IRModuleNode& module, const Expr& name) -> std::optional<std::pair<Name, const AllocateConst*>> {
  const auto* text = name.as<StringImm>();
  std::optional<std::pair<Name, const AllocateConst*>> found;
  if (!text) { return found; }
  Name wanted(text->value);
  for (const auto& entry : module.functions) {
    Name symbol = entry.first;
    post_order(entry.second->body, [&](const Stmt& s) {
      const auto* c = s.as<AllocateConst>();
      if (c && !found && c->data->name == wanted) { found = {symbol, c}; }
    }, [](const Expr&) {});
  }
  return found;
}

auto called_in(const IRModuleNode& module, const PrimFunc& func) -> std::vector<Name> {
  std::vector<Name> out;
  post_order(func->body, [](const Stmt&) {}, [&](const Expr& e) {
    const auto* call = e.as<Call>();
    if (!call) { return; }
    if (call->op.view().starts_with("@")) { out.emplace_back(call->op.view().substr(1)); }
    if (auto packed = find_packed(module, *call)) { out.push_back(packed->function); }
    if (call->op == "lookup_param" && !call->args.empty()) {
      if (auto held = find_constant(module, call->args[0])) { out.push_back(held->first); }
    }
    const auto* for_list = call->op.view().starts_with("anylist_setitem_call_") && call->args.size() > 2 ? call->args[2].as<StringImm>() : nullptr;
    if (auto known = for_list ? function_of_symbol(module, Name(for_list->value)) : std::nullopt) { out.push_back(*known); }
    auto lowered = lowered_packed_name(*call);
    if (auto known = lowered ? function_of_symbol(module, *lowered) : std::nullopt) { out.push_back(*known); }
  });
  return out;
}

auto with_callees(const IRModule& module, Name function) -> IRModule {
  std::unordered_set<Name> kept;
  std::vector<Name> open{function};
  while (!open.empty()) {
    Name name = open.back();
    open.pop_back();
    PrimFunc func = module->find(name);
    if (!func || !kept.insert(name).second) { continue; }
    for (Name called : called_in(*module, func)) { open.push_back(called); }
  }
  IRModuleNode out = *module;
  std::vector<std::pair<Name, PrimFunc>> functions(module->functions.begin(), module->functions.end());
  std::erase_if(functions, [&](const auto& entry) { return !kept.contains(entry.first); });
  for (auto& [name, func] : functions) {
    if (name == function || func->is_private) { continue; }
    PrimFuncNode own = *func;
    own.is_private = true;
    func = make_func(std::move(own));
  }
  out.functions = std::move(functions);
  return make_module(std::move(out));
}

}  // namespace loopsmith
