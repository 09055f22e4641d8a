// Parts of `tvm.contrib` that scripts use to bring C source along: `clang.create_llvm` and folders for its output. Nothing is compiled or written: the text
// stands for the LLVM IR that clang would make of it, and a schedule reads its functions (c_source.h).
#include "frontend/contrib.h"

#include "frontend/functions/arguments.h"

namespace loopsmith::frontend {
namespace {

// `utils.tempdir()`: the name of a file in it stands for its path.
class TemporaryFolder final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  TemporaryFolder() : Object(&type_tag) {}
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    static const Name relpath("relpath");
    if (name != relpath) { return Value::opaque(); }
    return Value(make_object<eval::Method>(Value(this), name, [](Evaluator& e, const Value&, const Arguments& a) {
      BoundArguments b;
      return bind_arguments(e, "relpath", a, {{"name"}}, b) ? b.values[0].value : not_bound(b);
    }));
  }
  auto repr() const -> std::string override { return "<temporary folder>"; }
};
const eval::TypeTag TemporaryFolder::type_tag{"a temporary folder"};

auto tempdir(Evaluator&, const Arguments&) -> Value { return make_object<TemporaryFolder>(); }

auto create_llvm(Evaluator& e, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "create_llvm", a, {{"inputs"}, {"output", false}, {"options", false}, {"cc", false}}, b)) { return not_bound(b); }
  std::vector<Value> inputs = b.values[0].value.items_or_itself();
  std::string text;
  for (const Value& one : inputs) {
    const std::string* source = one.string();
    // As in TVM, a text with a name's ending is a file.
    if (!source || source->ends_with(".c") || source->ends_with(".cc") || source->ends_with(".cpp")) { return e.opaque(a.call); }
    text += *source + "\n";
  }
  return Value::str(std::move(text));
}

auto unknown_member(Name) -> std::optional<Value> { return Value::opaque(); }

}  // namespace

auto namespace_contrib() -> Value {
  auto space = [](const char* name, const char* function, eval::Builtin::Run run) {
    Ref<eval::Namespace> out = make_object<eval::Namespace>(Name(name), unknown_member);
    const_cast<eval::Namespace&>(*out).add(Name(function), make_object<eval::Builtin>(Name(function), run));
    return Value(out);
  };
  Ref<eval::Namespace> contrib = make_object<eval::Namespace>(Name("tvm.contrib"), unknown_member);
  auto& members = const_cast<eval::Namespace&>(*contrib);
  members.add(Name("clang"), space("tvm.contrib.clang", "create_llvm", create_llvm));
  for (const char* name : {"utils", "util"}) { members.add(Name(name), space("tvm.contrib.utils", "tempdir", tempdir)); }
  return contrib;
}

}  // namespace loopsmith::frontend
