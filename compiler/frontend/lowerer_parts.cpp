// Parts of long programs: if the names in a part have the same meaning as before, its result is taken from the cache (parts.h).
#include "frontend/lowerer.h"

#include "frontend/inner_programs.h"

namespace loopsmith::frontend {

using eval::make_object;
using namespace syntax;
using IrExpr = loopsmith::Expr;
using IrStmt = loopsmith::Stmt;

struct Lowerer::Mark {
  size_t frames, stmts, slots, params, buffer_map, root_allocs, symbols, bound, diagnostics;
  uint64_t steps, calls;
  uint32_t symbols_asked, remapped;
  bool had_attrs, is_opaque, uses_sblock;
  DataType ret_type;
  Name global_symbol;
};

auto Lowerer::mark(const eval::ScopeRef& scope) const -> Mark {
  return {frames_.size(), frames_.back().stmts.size(), scope->slots().size(), params_.size(), buffer_map_.size(), root_allocs_.size(), symbols_.size(),
          bound_in_order_.size(), evaluator_.diagnostics.size(), evaluator_.steps(), evaluator_.calls(), symbols_asked_, remapped_, !attrs_.empty(), is_opaque_,
          uses_sblock_, ret_type_, global_symbol_};
}

auto Lowerer::meaning(Name name, const eval::ScopeRef& scope) -> std::optional<Value> {
  if (const Value* found = scope->find(name)) { return *found; }
  auto [known, is_new] = outside_.try_emplace(name);
  if (is_new && evaluator_.globals) { known->second = evaluator_.globals->lookup(evaluator_, name, {}); }
  return known->second;
}

auto Lowerer::take(const LoweredPart& known, const eval::ScopeRef& scope) -> bool {
  if ((known.attrs && !attrs_.empty()) || known.rebinds_names != rebinds_names_ || known.words != (rebinds_names_ ? words().hash : 0)) { return false; }
  for (const auto& [name, before] : known.needs) {
    std::optional<Value> now = meaning(name, scope);
    if (now.has_value() != before.has_value() || (now && !is_same_meaning(*now, *before))) { return false; }
  }
  auto& assigned = assigned_[scope.get()];
  assigned.first = scope;
  for (const auto& [name, where] : known.assigned) {
    if (assigned.second.count(name) != 0) { return false; }
  }
  if (!evaluator_.spend(known.steps)) { return false; }
  auto& stmts = frames_.back().stmts;
  stmts.insert(stmts.end(), known.stmts.begin(), known.stmts.end());
  frames_.insert(frames_.end(), known.frames.begin(), known.frames.end());
  for (const auto& [name, value] : known.binds) { scope->set(name, value); }
  for (const auto& [name, where] : known.assigned) { assigned.second.emplace(name, where); }
  params_.insert(params_.end(), known.params.begin(), known.params.end());
  buffer_map_.insert(buffer_map_.end(), known.buffer_map.begin(), known.buffer_map.end());
  root_allocs_.insert(root_allocs_.end(), known.root_allocs.begin(), known.root_allocs.end());
  symbols_.insert(symbols_.end(), known.symbols.begin(), known.symbols.end());
  for (const Var& var : known.bound) { (void)bind_var(var.get()); }
  if (known.attrs) { attrs_ = *known.attrs; }
  if (!known.ret_type.is_void()) { ret_type_ = known.ret_type; }
  uses_sblock_ = uses_sblock_ || known.uses_sblock;
  return true;
}

void Lowerer::keep(DeclId decl, const Mark& before, std::vector<std::pair<Name, std::optional<Value>>> needs, const std::vector<const syntax::Node*>& nodes,
                   const eval::ScopeRef& scope) {
  bool is_head = decl == frames_.front().origin.decl;
  bool is_unchanged = evaluator_.diagnostics.size() == before.diagnostics && evaluator_.calls() == before.calls && is_opaque_ == before.is_opaque &&
                 global_symbol_ == before.global_symbol && threads_.empty() && cells_.empty() && ahead_.empty() && remapped_ == before.remapped && !(attrs_changed_ && before.had_attrs) &&
                 (is_head || (symbols_asked_ == before.symbols_asked && ret_type_ == before.ret_type));
  if (!is_unchanged) { return; }
  for (const auto& [name, value] : needs) {
    if (value && !is_lasting(*value)) { return; }
  }
  LoweredPart out;
  const auto& stmts = frames_[before.frames - 1].stmts;
  out.stmts.assign(stmts.begin() + static_cast<std::ptrdiff_t>(before.stmts), stmts.end());
  for (size_t i = before.frames; i < frames_.size(); ++i) {
    if (frames_[i].block || frames_[i].kind == FrameKind::Loop || frames_[i].kind == FrameKind::Thread) { return; }
    out.frames.push_back(frames_[i]);
  }
  std::vector<Name> names;
  for (const syntax::Node* node : nodes) {
    if (!node->is_expr()) { bound_names(static_cast<const syntax::Stmt&>(*node), names); }
  }
  for (size_t i = before.slots; i < scope->slots().size(); ++i) { names.push_back(scope->slots()[i].first); }
  auto assigned = assigned_.find(scope.get());
  for (Name name : names) {
    const Value* value = scope->find_here(name);
    if (value == nullptr) { continue; }
    if (!is_lasting(*value)) { return; }
    out.binds.emplace_back(name, *value);
    if (assigned == assigned_.end()) { continue; }
    auto at = assigned->second.second.find(name);
    if (at != assigned->second.second.end() && at->second.decl == decl) { out.assigned.emplace_back(name, at->second); }
  }
  auto since = [](const auto& all, size_t first) { return std::vector(all.begin() + static_cast<std::ptrdiff_t>(first), all.end()); };
  out.params = since(params_, before.params);
  out.buffer_map = since(buffer_map_, before.buffer_map);
  out.root_allocs = since(root_allocs_, before.root_allocs);
  out.symbols = since(symbols_, before.symbols);
  out.bound = since(bound_in_order_, before.bound);
  if (attrs_changed_) { out.attrs = attrs_; }
  if (is_head) { out.ret_type = ret_type_; }
  out.uses_sblock = uses_sblock_;
  out.rebinds_names = rebinds_names_;
  out.words = rebinds_names_ ? words().hash : 0;
  out.steps = evaluator_.steps() - before.steps;
  out.needs = std::move(needs);
  parts_->keep(decl, std::move(out));
}

void Lowerer::part(DeclId decl, const std::vector<const syntax::Node*>& nodes, const eval::ScopeRef& scope, const std::function<void()>& lower) {
  if (const LoweredPart* known = parts_->find(decl)) {
    if (take(*known, scope)) {
      ++parts_->work.reused;
      return;
    }
  }
  ++parts_->work.lowered;
  auto names = names_in(nodes);
  std::vector<std::pair<Name, std::optional<Value>>> needs;
  if (names) {
    for (Name name : *names) { needs.emplace_back(name, meaning(name, scope)); }
  }
  Mark before = mark(scope);
  attrs_changed_ = false;
  uses_sblock_ = false;
  lower();
  if (names) { keep(decl, before, std::move(needs), nodes, scope); }
  uses_sblock_ = uses_sblock_ || before.uses_sblock;
}

}  // namespace loopsmith::frontend
