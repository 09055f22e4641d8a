// The namespace `te`: tensor expressions as values of scripts; the code is in te/.
#include "frontend/te/tensors.h"

namespace loopsmith::frontend {

namespace {

auto unknown_member(Name) -> std::optional<Value> { return Value::opaque(); }

// A class of operations or tensors, for `isinstance`.
class OperationClass final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Name name;
  explicit OperationClass(Name n) : Object(&type_tag), name(n) {}
  auto get_attribute(Evaluator&, Name asked, Origin) const -> std::optional<Value> override {
    static const Name own_name("__name__");
    return asked == own_name ? std::optional(Value::str(name.str())) : std::nullopt;
  }
  auto repr() const -> std::string override { return "<class " + name.str() + ">"; }
};
const eval::TypeTag OperationClass::type_tag{"a class"};

}  // namespace

auto te_namespace(const Value& tir) -> Value {
  Ref<eval::Namespace> space = make_object<eval::Namespace>(Name("te"), unknown_member);
  auto& members = const_cast<eval::Namespace&>(*space);
  members.add(Name("AXIS_SEPARATOR"), make_object<AxisSeparatorObject>());
  // Functions of scalars are shared with programs.
  const auto* t = tir.as<eval::Namespace>();
  for (const char* name : {"exp", "exp2", "exp10", "erf", "tanh", "sigmoid", "log", "log2", "log10", "log1p", "cos", "cosh", "sin", "sinh", "tan", "acos",
                           "acosh", "asin", "asinh", "atan", "atanh", "sqrt", "rsqrt", "floor", "ceil", "trunc", "round", "nearbyint", "abs", "isnan",
                           "isfinite", "isinf", "power", "popcount", "fmod", "if_then_else", "div", "indexdiv", "indexmod", "truncdiv", "truncmod",
                           "floordiv", "floormod", "ceildiv", "all", "any", "const", "min_value", "max_value"}) {
    if (const Value* found = t ? t->find(Name(name)) : nullptr) { members.add(Name(name), *found); }
  }
  auto add = [&](const char* name, eval::Builtin::Run run) { members.add(Name(name), make_object<eval::Builtin>(Name(name), run)); };
  add("placeholder", te::placeholder);
  add("compute", te::compute);
  add("reduce_axis", te::reduce_axis);
  add("thread_axis", te::thread_axis);
  add("comm_reducer", te::comm_reducer);
  add("extern", te::extern_op);
  add("scan", te::scan);
  add("decl_tensor_intrin", te::decl_tensor_intrin);
  add("var", te::variable);
  add("size_var", te::variable);
  add("create_prim_func", te::create_prim_func);
  add("tag_scope", te::tag_scope);
  Ref<eval::Namespace> tensor = make_object<eval::Namespace>(Name("te.tensor"), unknown_member);
  for (const char* name : {"Operation", "ComputeOp", "PlaceholderOp", "ExternOp", "HybridOp", "ScanOp", "Tensor"}) {
    members.add(Name(name), make_object<OperationClass>(Name(name)));
    const_cast<eval::Namespace&>(*tensor).add(Name(name), make_object<OperationClass>(Name(name)));
  }
  members.add(Name("tensor"), Value(tensor));
  members.add(Name("hybrid"), te::namespace_hybrid());
  for (const auto& [name, reducer] : te::named_reducers()) { members.add(Name(name), reducer); }
  return space;
}

}  // namespace loopsmith::frontend
