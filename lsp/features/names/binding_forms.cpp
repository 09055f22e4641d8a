// Forms that bind names: see binding_forms.h.
#include "lsp/features/names/binding_forms.h"

#include <algorithm>

#include "frontend/lower.h"

namespace loopsmith::lsp {

namespace syn = syntax;

auto last_name(const syn::Expr* expr) -> std::string_view {
  if (expr == nullptr) { return {}; }
  if (const auto* call = expr->as<syn::CallExpr>()) { return last_name(call->callee); }
  if (const auto* attribute = expr->as<syn::AttributeExpr>()) { return attribute->attr.name.view(); }
  if (const auto* name = expr->as<syn::NameExpr>()) { return name->name.view(); }
  return {};
}

auto has_decorator(const syn::List<syn::ExprPtr>& decorators, std::initializer_list<std::string_view> names) -> bool {
  return std::any_of(decorators.begin(), decorators.end(), [&](const syn::Expr* decorator) {
    return std::find(names.begin(), names.end(), last_name(decorator)) != names.end();
  });
}

auto is_program(const syn::FunctionDef& def) -> bool { return frontend::is_program(def) || has_decorator(def.decorators, {"macro", "inline"}); }

auto string_keyword(const syn::CallExpr& call, std::string_view name) -> const syn::StringExpr* {
  for (const syn::Keyword& keyword : call.keywords) {
    if (keyword.name.name == name) { return keyword.value->as<syn::StringExpr>(); }
  }
  return nullptr;
}

auto trait(Trait t) -> uint16_t { return static_cast<uint16_t>(t); }

auto kind_bound_by(const syn::Expr* value) -> std::pair<EntityKind, uint16_t> {
  const auto* call = value != nullptr ? value->as<syn::CallExpr>() : nullptr;
  if (call == nullptr) { return {EntityKind::Variable, 0}; }
  std::string_view callee = last_name(call->callee);
  const auto* attribute = call->callee->as<syn::AttributeExpr>();
  if (attribute != nullptr && last_name(attribute->object) == "axis") {
    if (callee == "reduce" || callee == "R") { return {EntityKind::Iter, trait(Trait::Reduction)}; }
    if (callee == "spatial" || callee == "S") { return {EntityKind::Iter, trait(Trait::Spatial)}; }
    return {EntityKind::Iter, 0};
  }
  if (callee == "alloc_buffer" || callee == "match_buffer" || callee == "decl_buffer" || callee == "Buffer" || callee == "sblock_alloc_buffer" ||
      callee == "allocate" || callee == "allocate_const" || callee == "alloc_shared" || callee == "alloc_local") {
    const syn::StringExpr* scope = string_keyword(*call, "scope");
    std::string_view memory = scope != nullptr ? std::string_view(scope->value) : callee == "alloc_shared" ? "shared" : callee == "alloc_local" ? "local" : "global";
    if (memory.empty() || memory.starts_with("global")) { return {EntityKind::Buffer, 0}; }
    return {EntityKind::Buffer, trait(memory.starts_with("shared") ? Trait::SharedScope : memory == "warp" ? Trait::WarpScope : Trait::LocalScope)};
  }
  if (callee == "thread_binding" || callee == "launch_thread" || callee == "env_thread") { return {EntityKind::Loop, trait(Trait::ThreadBound)}; }
  return {EntityKind::Variable, 0};
}

auto loop_traits(const syn::Expr* iterable) -> uint16_t {
  std::string_view callee = last_name(iterable);
  if (callee == "parallel") { return trait(Trait::Parallel); }
  if (callee == "vectorized") { return trait(Trait::Vectorized); }
  if (callee == "unroll" || callee == "unrolled") { return trait(Trait::Unrolled); }
  if (callee == "thread_binding") { return trait(Trait::ThreadBound); }
  return 0;
}

}  // namespace loopsmith::lsp
