// The results kept for parts of long programs: see parts.h.
#include "frontend/parts.h"

#include <algorithm>
#include <bit>

namespace loopsmith::frontend {

auto PartCache::find(DeclId part) const -> const LoweredPart* {
  auto found = entries_.find(part);
  return found == entries_.end() ? nullptr : &found->second.lowered;
}

void PartCache::keep(DeclId part, LoweredPart lowered) {
  Entry& entry = entries_[part];
  forget(entry);
  entry.stmts.clear();
  entry.lowered = std::move(lowered);
  for (const Stmt& stmt : entry.lowered.stmts) {
    entry.stmts.push_back(std::make_unique<KnownStmt>());
    entry.stmts.back()->raw = stmt;
    raw_[stmt.get()] = entry.stmts.back().get();
  }
}

void PartCache::forget(const Entry& entry) {
  for (const auto& known : entry.stmts) {
    raw_.erase(known->raw.get());
    if (known->completed) { completed_.erase(known->completed.get()); }
  }
}

auto PartCache::known(const Stmt& raw) -> KnownStmt* {
  auto found = raw_.find(raw.get());
  return found == raw_.end() ? nullptr : found->second;
}

auto PartCache::known_completed(const Stmt& completed) -> KnownStmt* {
  auto found = completed_.find(completed.get());
  return found == completed_.end() ? nullptr : found->second;
}

void PartCache::complete(KnownStmt& known, Stmt completed) {
  if (known.completed) { completed_.erase(known.completed.get()); }
  known.completed = std::move(completed);
  known.is_checked = false;
  completed_[known.completed.get()] = &known;
}

void PartCache::keep_only(const std::unordered_set<DeclId>& parts) {
  std::erase_if(entries_, [&](const auto& entry) {
    if (parts.count(entry.first) != 0) { return false; }
    forget(entry.second);
    return true;
  });
}

// ---- values --------------------------------------------------------------------------------------------------------

auto is_lasting(const Value& value) -> bool {
  if (value.is_unknown()) { return false; }
  const eval::Object* object = value.object();
  if (object == nullptr) { return true; }
  if (const auto* tuple = object->as<eval::Tuple>()) { return std::all_of(tuple->items.begin(), tuple->items.end(), is_lasting); }
  if (const auto* meta = object->as<MetaObject>()) { return is_lasting(meta->value); }
  return object->as<ExprObject>() || object->as<BufferObject>() || object->as<IterVarObject>() || object->as<DtypeObject>() || object->as<eval::Str>() ||
         object->as<eval::Namespace>() || object->as<eval::Builtin>() || object->as<BufferTypeObject>() || object->as<GlobalObject>();
}

auto is_same_meaning(const Value& a, const Value& b) -> bool {
  if (a.kind() != b.kind() || a.is_unknown()) { return false; }
  const eval::Object* x = a.object();
  const eval::Object* y = b.object();
  if (x == nullptr || y == nullptr) { return x == y && (a.is_float() ? std::bit_cast<uint64_t>(a.float_value()) == std::bit_cast<uint64_t>(b.float_value()) : a.equals(b)); }
  if (x == y) { return is_lasting(a); }
  if (x->tag != y->tag) { return false; }
  if (const auto* tuple = x->as<eval::Tuple>()) {
    const auto& other = y->as<eval::Tuple>()->items;
    return std::equal(tuple->items.begin(), tuple->items.end(), other.begin(), other.end(), is_same_meaning);
  }
  if (const auto* e = x->as<ExprObject>()) { return e->expr.same_as(y->as<ExprObject>()->expr); }
  if (const auto* buffer = x->as<BufferObject>()) { return buffer->buffer == y->as<BufferObject>()->buffer; }
  if (const auto* text = x->as<eval::Str>()) { return text->text == y->as<eval::Str>()->text; }
  if (const auto* type = x->as<DtypeObject>()) { return type->dtype == y->as<DtypeObject>()->dtype; }
  if (const auto* function = x->as<eval::Builtin>()) { return function->run == y->as<eval::Builtin>()->run && function->name == y->as<eval::Builtin>()->name; }
  return false;
}

// ---- names ---------------------------------------------------------------------------------------------------------

auto names_in(const std::vector<const syntax::Node*>& nodes) -> std::optional<std::vector<Name>> {
  std::vector<Name> names;
  bool is_kept = true;
  for (const syntax::Node* node : nodes) {
    syntax::walk(*node, [&](const syntax::Node& n) {
      switch (n.kind) {
        case syntax::Kind::FunctionDef: case syntax::Kind::ClassDef: case syntax::Kind::Import: case syntax::Kind::ImportFrom: case syntax::Kind::Del:
        case syntax::Kind::Scope: case syntax::Kind::OpaqueStmt: case syntax::Kind::BrokenStmt: case syntax::Kind::OpaqueExpr: case syntax::Kind::BrokenExpr:
        case syntax::Kind::NamedExpr:
          is_kept = false;
          break;
        case syntax::Kind::Name: names.push_back(static_cast<const syntax::NameExpr&>(n).name); break;
        default: break;
      }
      return is_kept;
    });
  }
  if (!is_kept) { return {}; }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace loopsmith::frontend
