// Reads registrations: see registry.h.
#include "intrinsics/registry.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "frontend/objects.h"
#include "intrinsics/families.h"
#include "support/codes.h"
#include "support/guards.h"
#include "support/reasons.h"
#include "syntax/document.h"

namespace loopsmith::intrinsics {
namespace {

using schedule::TensorIntrin;

// The call of `TensorIntrin.register(...)` in a statement, with or without modules in front; null for other statements.
auto registration(const syntax::Stmt& stmt) -> const syntax::CallExpr* {
  static const Name register_name("register"), class_name("TensorIntrin");
  const auto* statement = stmt.as<syntax::ExprStmt>();
  const auto* call = statement ? statement->value->as<syntax::CallExpr>() : nullptr;
  const auto* method = call ? call->callee->as<syntax::AttributeExpr>() : nullptr;
  if (!method || !(method->attr.name == register_name)) { return nullptr; }
  if (const auto* name = method->object->as<syntax::NameExpr>()) { return name->name == class_name ? call : nullptr; }
  const auto* member = method->object->as<syntax::AttributeExpr>();
  return member && member->attr.name == class_name ? call : nullptr;
}

// Evaluates the arguments and spreads starred ones. False when an argument is unknown or has an error, which was reported.
auto arguments_of(eval::Evaluator& evaluator, const syntax::CallExpr& call, std::vector<eval::Value>& out) -> bool {
  auto scope = evaluator.new_scope({});
  for (const syntax::Expr* argument : call.args) {
    const auto* star = argument->as<syntax::StarredExpr>();
    eval::Value value = evaluator.eval(star ? *star->value : *argument, scope);
    if (value.is_unknown()) { return false; }
    if (!star) { out.push_back(std::move(value)); continue; }
    const auto* items = value.items();
    if (!items) { return false; }
    out.insert(out.end(), items->begin(), items->end());
  }
  for (const syntax::Keyword& keyword : call.keywords) { out.push_back(evaluator.eval(*keyword.value, scope)); }
  return true;
}

auto function_of(const eval::Value& value) -> PrimFunc {
  const auto* program = value.as<frontend::ProgramObject>();
  if (!program || !program->module || program->module->functions.size() != 1) { return {}; }
  return program->module->functions.front().second;
}

auto read(frontend::File& file, const syntax::ItemPtr& item, const syntax::CallExpr& call, Diagnostics& diagnostics) -> std::optional<TensorIntrin> {
  eval::Evaluator& evaluator = file.evaluator();
  // Resets the limits for this statement: it may be read long after the file.
  evaluator.reset_steps();
  WithoutReports reported(evaluator.diagnostics);
  std::vector<eval::Value> arguments;
  const bool known = [&] {
    const Temporarily tree(evaluator.tree, std::shared_ptr<const void>(item));
    return arguments_of(evaluator, call, arguments);
  }();
  for (Diagnostic& d : reported.take()) { diagnostics.push_back(std::move(d)); }
  auto refuse = [&](std::string_view name, const Reason& why) {
    diagnostics.push_back(error(Code::IntrinsicForm, call.origin()).arg("name", name).arg("reason", why.text())
                              .remedy("write `TensorIntrin.register(name, description, implementation)`"));
    return std::nullopt;
  };
  const std::string* name = arguments.empty() ? nullptr : arguments[0].string();
  if (!known || !name) {
    // Errors in the program itself are reported with the program.
    if (!known && !call.args.empty()) { return std::nullopt; }
    return refuse("?", because(Why::NameNoString));
  }
  if (arguments.size() < 3 || arguments.size() > 4) { return refuse(*name, because(Why::NeedsTwoPrograms)); }
  if (arguments[1].is_error() || arguments[2].is_error()) { return std::nullopt; }
  TensorIntrin out{Name(*name), function_of(arguments[1]), function_of(arguments[2])};
  if (!out.description) { return refuse(*name, because(Why::DescriptionNoProgram)); }
  if (!out.implementation) { return refuse(*name, because(Why::ImplementationNoProgram)); }
  if (auto why = schedule::why_no_intrinsic(out.description, out.implementation)) { return refuse(*name, *why); }
  return out;
}

// A family of intrinsics, read when one of them is looked up.
class Scripts final : public schedule::IntrinsicTable {
 public:
  Scripts() {
    // Names are found without evaluating the scripts: a registration and its name are at the beginning of a line.
    static constexpr std::string_view opening = "\nTensorIntrin.register(\"";
    for (size_t f = 0; f < families().size(); ++f) {
      std::string_view text = families()[f].script;
      for (size_t at = text.find(opening); at != std::string_view::npos; at = text.find(opening, at + 1)) {
        size_t begin = at + opening.size();
        Name name(std::string(text.substr(begin, text.find('"', begin) - begin)));
        names_.push_back(name);
        family_of_.emplace(name, f);
      }
    }
    files_.resize(families().size());
  }
  auto names() const -> std::vector<Name> override { return names_; }

  auto find(Name name) const -> const TensorIntrin* override {
    if (auto known = read_.find(name); known != read_.end()) { return known->second.get(); }
    auto family = family_of_.find(name);
    if (family == family_of_.end()) { return nullptr; }
    auto& file = files_[family->second];
    if (!file) {
      auto document = syntax::Document(std::string(families()[family->second].script));
      file = std::make_unique<frontend::File>(predeclared);
      file->update(document);
    }
    auto& slot = read_[name];
    for (size_t i = 0; i < file->size(); ++i) {
      const syntax::ItemPtr& item = file->item(i);
      for (const syntax::Stmt* stmt : item->statements) {
        const syntax::CallExpr* call = registration(*stmt);
        const auto* text = call && !call->args.empty() ? call->args[0]->as<syntax::StringExpr>() : nullptr;
        if (!text || text->value != name.view()) { continue; }
        Diagnostics ignored;   // a test evaluates all scripts and reports errors
        if (auto intrinsic = read(*file, item, *call, ignored)) { slot = std::make_unique<TensorIntrin>(std::move(*intrinsic)); }
      }
    }
    return slot.get();
  }

 private:
  std::vector<Name> names_;
  std::unordered_map<Name, size_t> family_of_;
  mutable std::vector<std::unique_ptr<frontend::File>> files_;
  mutable std::unordered_map<Name, std::unique_ptr<TensorIntrin>> read_;
};

}  // namespace

void install() {
  static const bool done = [] {
    schedule::set_builtin_intrinsics(new Scripts);
    return true;
  }();
  (void)done;
}

auto is_registration(const syntax::Stmt& stmt) -> bool { return registration(stmt) != nullptr; }

auto registered_in(frontend::File& file, Diagnostics& diagnostics) -> std::vector<TensorIntrin> {
  std::vector<TensorIntrin> out;
  for (size_t i = 0; i < file.size(); ++i) {
    const syntax::ItemPtr& item = file.item(i);
    for (const syntax::Stmt* stmt : item->statements) {
      const syntax::CallExpr* call = registration(*stmt);
      if (!call) { continue; }
      auto intrinsic = read(file, item, *call, diagnostics);
      if (!intrinsic) { continue; }
      std::erase_if(out, [&](const TensorIntrin& known) { return known.name == intrinsic->name; });
      out.push_back(std::move(*intrinsic));
    }
  }
  return out;
}

// The declarations of names.tir with their values, evaluated at the first lookup.
auto named(Name name) -> const eval::Value* {
  // Most names are not declared there: looking them up must not evaluate names.tir.
  std::string_view text = name.view();
  if (text.find("_INTRIN") == std::string_view::npos && !text.ends_with("_intrin_group") && !text.ends_with("_layout")) { return nullptr; }
  static const auto* values = [] {
    static frontend::File file;
    file.update(syntax::Document(std::string(names_script())));
    auto* out = new std::unordered_map<Name, eval::Value>;
    for (size_t i = 0; i < file.size(); ++i) { out->emplace(file.item(i)->name, file.declaration(i).value); }
    return out;
  }();
  auto found = values->find(name);
  return found != values->end() ? &found->second : nullptr;
}

auto predeclared(Name name) -> const eval::Value* {
  static const Name class_name("TensorIntrin");
  // The statement is read, not run: inside of a function it has no effect.
  static const auto* value = [] {
    auto space = eval::make_object<eval::Namespace>(Name("TensorIntrin"));
    auto nothing = [](eval::Evaluator&, const eval::Arguments&) { return eval::Value(); };
    const_cast<eval::Namespace*>(space.get())->add(Name("register"), eval::Value(Ref<eval::Object>(
        eval::make_object<eval::Builtin>(Name("register"), nothing).get())));
    return new eval::Value(Ref<eval::Object>(space.get()));
  }();
  return name == class_name ? value : named(name);
}

}  // namespace loopsmith::intrinsics
