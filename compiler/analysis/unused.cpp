// Names that nothing uses: see unused.h.
#include "analysis/unused.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "support/codes.h"
#include "support/text.h"

namespace loopsmith::analysis {
namespace {

using namespace syntax;

auto last_name(const Expr* expr) -> std::string_view {
  if (expr == nullptr) { return {}; }
  if (const auto* call = expr->as<CallExpr>()) { return last_name(call->callee); }
  if (const auto* attribute = expr->as<AttributeExpr>()) { return attribute->attr.name.view(); }
  if (const auto* name = expr->as<NameExpr>()) { return name->name.view(); }
  return {};
}

auto is_program(const FunctionDef& def) -> bool {
  return std::any_of(def.decorators.begin(), def.decorators.end(), [](ExprPtr d) { return last_name(d) == "prim_func"; });
}

/// True for `@Ts.prim_func` and similar decorators, in whose programs assignments store to memory, in every file.
auto is_newest(const FunctionDef& def) -> bool {
  return std::any_of(def.decorators.begin(), def.decorators.end(), [](ExprPtr d) {
    const auto* call = d->as<CallExpr>();
    const auto* attribute = (call ? call->callee : d)->as<AttributeExpr>();
    return attribute != nullptr && last_name(attribute->object) == "Ts";
  });
}

/// The kind of object that a declaration of a program makes, in words; empty for kinds that are not reported.
auto what_is_bound(const Expr* value) -> std::string_view {
  const auto* call = value != nullptr ? value->as<CallExpr>() : nullptr;
  if (call == nullptr) { return "variable"; }
  std::string_view callee = last_name(call->callee);
  const auto* attribute = call->callee->as<AttributeExpr>();
  if (attribute != nullptr && last_name(attribute->object) == "axis") { return "iter var"; }
  if (callee == "alloc_buffer" || callee == "sblock_alloc_buffer" || callee == "decl_buffer" || callee == "allocate" || callee == "allocate_const" ||
      callee == "alloc_shared" || callee == "alloc_local" || callee == "Buffer") {
    return "buffer";
  }
  // Matching a handle or a region, and launching threads, have effects.
  if (callee == "match_buffer" || callee == "launch_thread" || callee == "env_thread" || callee == "block" || callee == "sblock") { return {}; }
  return "variable";
}

/// True when a statement that binds the value can be removed. Calls of unknown functions may have effects.
auto is_removable(const Expr& value) -> bool {
  bool plain = true;
  walk(value, [&](const Node& n) {
    if (const auto* call = n.as<CallExpr>()) {
      std::string_view callee = last_name(call->callee);
      const auto* attribute = call->callee->as<AttributeExpr>();
      bool is_t = attribute != nullptr && last_name(attribute->object) == "T";
      static constexpr std::string_view harmless[] = {"alloc_buffer", "sblock_alloc_buffer", "int32", "int64", "float32", "float16", "exp", "sqrt",
                                                      "max", "min", "cast", "Cast", "floordiv", "floormod", "ceildiv", "meta_var"};
      plain &= is_t && std::find(std::begin(harmless), std::end(harmless), callee) != std::end(harmless);
    }
    plain &= n.kind != Kind::NamedExpr && n.kind != Kind::OpaqueExpr && n.kind != Kind::BrokenExpr;
    return plain;
  });
  return plain;
}

class Names {
 public:
  Names(const Item& item, NameOptions options, Diagnostics& out, const CancelToken& cancel)
      : item_(item), options_(options), offsets_(offsets_in(item)), out_(out), cancel_(cancel) {}

  void run(const FunctionDef& def) {
    options_.assigns_memory |= is_newest(def);
    bool known = !def.has_error;
    walk(def, [&](const Node& n) {
      known &= n.kind != Kind::OpaqueStmt && n.kind != Kind::BrokenStmt && n.kind != Kind::OpaqueExpr && n.kind != Kind::BrokenExpr && n.kind != Kind::Scope;
      return known;
    });
    if (!known) { return; }
    scopes_.emplace_back();
    for (const Param& p : def.type_params) { scopes_.back().names[p.name.name] = nullptr; }
    for (const Param& p : def.params) {
      scopes_.back().names[p.name.name] = nullptr;
      if (p.annotation) { read(*p.annotation); }
    }
    list(def.body);
    close();
    report_lost();
  }

 private:
  // A loop, a branch or a `with`; the variables of its statements end with it.
  struct Region {
    std::string what;          // "the `if`"
    bool is_loop = false;
    uint32_t reads_before = 0; // the number of names read before it
    bool is_closed = false;
  };
  // An assignment to a name that has a value outside of the region of the assignment.
  struct Candidate {
    Name name;
    Origin where;
    const void* outer = nullptr;   // the binding outside; null: a parameter
    const void* shadow = nullptr;  // the binding that the assignment makes
    size_t region = 0;
    bool is_lost = false;
    std::string type;              // the type of the outer value, if the text shows it
  };
  struct Binding {
    Name name;
    Origin where;
    std::string_view what;
    const Stmt* statement = nullptr;   // a statement that binds this name alone and is removable; otherwise null
    bool is_alone = false;             // the only statement of its list
    bool used = false;
    bool is_cell = false;              // memory: an assignment to its name may store to it
    bool is_meta = false;              // a value of Python
    size_t depth = 0;                  // the number of regions around it
    std::string type;                  // "float32" of `T.float32(0)`; empty: the text does not show it
  };
  struct Scope { std::unordered_map<Name, Binding*> names; std::vector<Binding*> own; };

  void bind(Name name, Origin where, std::string_view what, const Stmt* statement, bool is_alone) {
    if (auto found = scopes_.back().names.find(name); found != scopes_.back().names.end() && found->second != nullptr) {
      // Bound again in the same list: the name gets another value.
      if (!found->second->used) { found->second->statement = nullptr; }
    }
    Binding& b = bindings_.emplace_back(Binding{.name = name, .where = where, .what = what, .statement = statement, .is_alone = is_alone, .depth = open_.size(), .type = {}});
    scopes_.back().names[name] = &b;
    if (!what.empty() && !name.view().starts_with("_")) { scopes_.back().own.push_back(&b); }
  }
  void use(Name name) {
    ++reads_;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      auto found = scope->names.find(name);
      if (found == scope->names.end()) { continue; }
      const Binding* meant = found->second;
      last_read_[name] = reads_;
      // A read after the region: of the value from before it or, after a branch, of either value.
      for (Candidate& c : candidates_) { c.is_lost |= c.name == name && regions_[c.region].is_closed && (c.outer == meant || c.shadow == meant); }
      if (found->second) { found->second->used = true; }
      return;
    }
  }

  // ---- lost assignments
  template <class F>
  void in_region(std::string what, bool is_loop, F&& f) {
    open_.push_back(regions_.size());
    regions_.push_back({std::move(what), is_loop, reads_, false});
    f();
    regions_[open_.back()].is_closed = true;
    open_.pop_back();
  }
  /// Records an assignment to a name that has a value outside of the current region. Must be called before the new binding.
  void note_deeper(const Expr& t) {
    const auto* name = t.as<NameExpr>();
    if (name == nullptr || open_.empty()) { return; }
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      auto found = scope->names.find(name->name);
      if (found == scope->names.end()) { continue; }
      const Binding* outer = found->second;
      const bool is_of_program = outer == nullptr || outer->what == "variable" || outer->what == "buffer";
      const size_t depth = outer == nullptr ? 0 : outer->depth;
      // In TVM's main line an assignment stores, except to a parameter, which is no memory.
      if (!is_of_program || depth >= open_.size() || (outer && (outer->is_cell || options_.assigns_memory))) { return; }
      Candidate c{name->name, name->origin(), outer, nullptr, open_.back(), false, outer ? outer->type : std::string()};
      // In a loop, a value that was read in the same iteration is the old one again in the next.
      for (size_t i = depth; i < open_.size(); ++i) {
        auto read = last_read_.find(name->name);
        c.is_lost |= regions_[open_[i]].is_loop && read != last_read_.end() && read->second > regions_[open_[i]].reads_before;
      }
      candidates_.push_back(std::move(c));
      return;
    }
  }
  void report_lost() {
    for (const Candidate& c : candidates_) {
      if (!c.is_lost) { continue; }
      std::string name = c.name.str();
      std::string type = c.type.empty() ? "float32" : c.type;
      out_.push_back(error(Code::LostAssignment, c.where).arg("name", name).arg("scope", regions_[c.region].what)
                         .remedy("keep the value in memory: `" + name + " = T.alloc_buffer((1,), \"" + type + "\")` in front, then `" + name + "[0]` here and where it is read"));
      // The name must not be reported as removable.
      std::erase_if(out_, [&](const Diagnostic& d) { return d.code == Code::UnusedName && d.where == c.where; });
    }
  }
  void read(const Node& node) {
    walk(node, [&](const Node& n) {
      if (const auto* name = n.as<NameExpr>()) { use(name->name); }
      return true;
    });
  }
  void target(const Expr& t, std::string_view what, const Stmt* statement, bool is_alone) {
    if (const auto* name = t.as<NameExpr>()) { return bind(name->name, name->origin(), what, statement, is_alone); }
    if (const auto* tuple = t.as<TupleExpr>()) {
      for (ExprPtr e : tuple->elements) { target(*e, what, nullptr, false); }
      return;
    }
    if (const auto* items = t.as<ListExpr>()) {
      for (ExprPtr e : items->elements) { target(*e, what, nullptr, false); }
      return;
    }
    if (const auto* star = t.as<StarredExpr>()) { return target(*star->value, what, nullptr, false); }
    read(t);
  }
  // In TVM's main line `x: T.int32` and `x = T.local_scalar()` are memory, and `x = y` stores to it.
  static auto allocates(ExprPtr value) -> bool {
    static constexpr std::string_view names[] = {"local_scalar", "shared_scalar", "alloc_scalar", "alloc_local", "alloc_shared", "alloc_buffer", "alloc_tensor"};
    const auto* call = value->as<CallExpr>();
    return call && std::find(std::begin(names), std::end(names), last_name(call->callee)) != std::end(names);
  }
  auto known(const Expr& t) -> Binding* {
    const auto* name = t.as<NameExpr>();
    for (auto scope = scopes_.rbegin(); name && scope != scopes_.rend(); ++scope) {
      if (auto found = scope->names.find(name->name); found != scope->names.end()) { return found->second; }
    }
    return nullptr;
  }
  void make_cell(const Expr& t) {
    if (Binding* b = known(t)) { b->is_cell = true; }
  }
  /// True for an assignment that stores to memory, and binds no name. In TVM's main line, every later assignment to a variable does, except of
  /// pointers.
  auto is_stored(const Expr& t, const Expr& value) -> bool {
    if (const auto* tuple = t.as<TupleExpr>()) { return std::all_of(tuple->elements.begin(), tuple->elements.end(), [&](ExprPtr e) { return is_stored(*e, value); }); }
    static constexpr std::string_view pointers[] = {"ptr_to", "address_of", "access_ptr", "data"};
    if (std::find(std::begin(pointers), std::end(pointers), last_name(&value)) != std::end(pointers)) { return false; }
    Binding* b = known(t);
    if (!b || !(b->is_cell || (options_.assigns_memory && b->what == "variable" && !b->is_meta))) { return false; }
    b->used = true;
    return true;
  }
  static auto has_blocks(const Block& body) -> bool {
    bool found = false;
    for (StmtPtr s : body) {
      walk(*s, [&](const Node& n) {
        if (const auto* with = n.as<WithStmt>()) {
          for (const WithItem& item : with->items) {
            std::string_view callee = last_name(item.context);
            found |= callee == "block" || callee == "sblock";
          }
        }
        if (const auto* call = n.as<CallExpr>()) { found |= last_name(call->callee) == "match_buffer"; }
        return !found;
      });
    }
    return found;
  }
  void list(const Block& body) {
    bool before = has_blocks_;
    has_blocks_ = has_blocks(body);
    for (StmtPtr s : body) {
      if (cancel_.is_cancelled()) { break; }
      statement(*s, body.size() == 1);
    }
    has_blocks_ = before;
  }
  void inner(const Block& body, const std::vector<ExprPtr>& targets = {}) {
    scopes_.emplace_back();
    for (ExprPtr t : targets) { target(*t, "", nullptr, false); }
    list(body);
    close();
  }
  void close() {
    for (Binding* b : scopes_.back().own) {
      if (b->used) { continue; }
      Diagnostic d = error(Code::UnusedName, b->where).arg("what", b->what).arg("name", b->name.view());
      if (b->what == "iter var") {
        (void)std::move(d).remedy("take the axis away where the block does not need it, or call it `_" + b->name.str() + "`");
      } else {
        (void)std::move(d).remedy("remove it, or call it `_" + b->name.str() + "`");
        if (b->statement) { remove(d, *b->statement, b->is_alone); }
      }
      out_.push_back(std::move(d));
    }
    scopes_.pop_back();
  }
  /// True for a condition that names a value of the program: it is decided at run time. Other conditions are decided while the program is read.
  auto is_of_program(const Expr& condition) -> bool {
    bool found = false;
    walk(condition, [&](const Node& n) {
      const auto* name = n.as<NameExpr>();
      for (size_t i = 0; name != nullptr && i < scopes_.size(); ++i) {
        auto at = scopes_[i].names.find(name->name);
        found |= at != scopes_[i].names.end() && (at->second == nullptr || !at->second->is_meta);
      }
      return !found;
    });
    return found;
  }
  /// Completes a candidate and the binding that its assignment made. `noted`: the number of candidates before.
  void bound_now(const Expr& t, size_t noted, ExprPtr value) {
    Binding* b = known(t);
    if (b == nullptr) { return; }
    const auto* call = value != nullptr ? value->as<CallExpr>() : nullptr;
    const auto* callee = call != nullptr ? call->callee->as<AttributeExpr>() : nullptr;
    if (callee != nullptr && (callee->attr.name.view().starts_with("float") || callee->attr.name.view().starts_with("int"))) { b->type = callee->attr.name.str(); }
    b->is_meta = last_name(value) == "meta_var";
    if (noted > 0 && noted == candidates_.size() && candidates_.back().where == t.origin()) { candidates_.back().shadow = b; }
  }
  /// Adds the edit that removes a statement: with its whole line, if it is alone there.
  void remove(Diagnostic& d, const Stmt& s, bool is_alone) const {
    const std::string& text = item_.text;
    Origin at = s.origin();
    auto offset = offsets_.find(at.decl);
    if (offset == offsets_.end() || offset->second + at.end > text.size()) { return; }
    at = {item_.decl, offset->second + at.begin, offset->second + at.end, 0};
    uint32_t begin = at.begin;
    while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t')) { --begin; }
    bool ends = at.end == text.size() || text[at.end] == '\n';
    if (begin == 0 || text[begin - 1] != '\n' || !ends) { return; }
    if (is_alone) {
      (void)std::move(d).fix(at, "pass");
    } else {
      (void)std::move(d).fix({at.decl, begin - 1, at.end, 0}, "");
    }
  }

  void assignment(const AssignStmt& a, bool is_alone) {
    read(*a.value);
    std::string_view what = what_is_bound(a.value);
    const Stmt* removable = a.targets.size() == 1 && is_removable(*a.value) ? &a : nullptr;
    // An outer block passes its iter vars to inner blocks: unused ones come from the primitive that made the block.
    if (what == "iter var" && has_blocks_) { what = {}; }
    for (ExprPtr t : a.targets) {
      if (is_stored(*t, *a.value)) { continue; }
      note_deeper(*t);
      const size_t noted = candidates_.size();
      target(*t, what, removable, is_alone);
      bound_now(*t, noted, a.value);
      if (allocates(a.value)) { make_cell(*t); }
    }
  }

  void statement(const Stmt& s, bool is_alone) {
    switch (s.kind) {
      case Kind::Assign: return assignment(static_cast<const AssignStmt&>(s), is_alone);
      case Kind::AugAssign: {
        const auto& a = static_cast<const AugAssignStmt&>(s);
        read(s);
        if (a.target->kind != Kind::Name || is_stored(*a.target, *a.value)) { return; }
        note_deeper(*a.target);
        if (candidates_.empty() || !(candidates_.back().where == a.target->origin())) { return; }
        const size_t noted = candidates_.size();
        target(*a.target, "variable", nullptr, is_alone);
        bound_now(*a.target, noted, a.value);
        return;
      }
      case Kind::AnnAssign: {
        const auto& a = static_cast<const AnnAssignStmt&>(s);
        read(*a.annotation);
        if (a.value) { read(*a.value); }
        target(*a.target, what_is_bound(a.value), a.value && is_removable(*a.value) ? &s : nullptr, is_alone);
        if (last_name(a.annotation) != "let") { make_cell(*a.target); }
        return;
      }
      case Kind::For: {
        const auto& f = static_cast<const ForStmt&>(s);
        read(*f.iterable);
        in_region("the loop", true, [&] { inner(f.body, {f.target}); });
        inner(f.otherwise);
        return;
      }
      case Kind::While:
        in_region("the `while` loop", true, [&] {
          read(*static_cast<const WhileStmt&>(s).condition);
          inner(static_cast<const WhileStmt&>(s).body);
        });
        return inner(static_cast<const WhileStmt&>(s).otherwise);
      case Kind::If: {
        const auto& i = static_cast<const IfStmt&>(s);
        read(*i.condition);
        if (is_of_program(*i.condition)) {
          std::vector<Binding*> own = scopes_.back().own;
          in_region("the `if`", false, [&] { list(i.then); });
          in_region("the `else`", false, [&] { list(i.otherwise); });
          scopes_.back().own = std::move(own);
          return;
        }
        // If the script decides a condition, the names of the branch are visible below it: they are not checked.
        std::vector<Binding*> own = scopes_.back().own;
        list(i.then);
        list(i.otherwise);
        scopes_.back().own = std::move(own);
        return;
      }
      case Kind::With: {
        const auto& w = static_cast<const WithStmt&>(s);
        std::vector<ExprPtr> targets;
        for (const WithItem& item : w.items) {
          read(*item.context);
          if (item.target) { targets.push_back(item.target); }
        }
        in_region("the `with`", false, [&] { inner(w.body, targets); });
        return;
      }
      case Kind::ExprStmt: {
        read(s);
        return value_unused(*static_cast<const ExprStmt&>(s).value);
      }
      default: return read(s);
    }
  }

  /// Reports an expression whose value is not used: `B[i] == A[i]` for `B[i] = A[i]`, or an unfinished statement. Calls may have effects; names and texts
  /// are not reported.
  void value_unused(const Expr& value) {
    const auto* compare = value.as<CompareExpr>();
    bool is_value = compare || value.kind == Kind::Binary || value.kind == Kind::Unary || value.kind == Kind::Boolean || value.kind == Kind::Subscript;
    auto offset = offsets_.find(value.decl);
    if (!is_value || !is_removable(value) || offset == offsets_.end()) { return; }
    Origin at = value.origin();
    std::string text = item_.text.substr(offset->second + at.begin, at.end - at.begin);
    if (text.find('\n') != std::string::npos) { text = text.substr(0, text.find('\n')) + " ..."; }
    Diagnostic d = error(Code::ValueUnused, at).arg("what", text);
    bool is_store = compare && compare->ops.size() == 1 && compare->ops[0] == CompareOp::Eq && compare->operands[0]->kind == Kind::Subscript;
    if (is_store) {
      Span equal = compare->op_spans[0];
      (void)std::move(d).remedy("write `=` to store").fix({at.decl, equal.begin, equal.end, 0}, "=");
    } else {
      (void)std::move(d).remedy("store it, `B[...] = " + text + "`, or remove it");
    }
    out_.push_back(std::move(d));
  }

  const Item& item_;
  NameOptions options_;
  std::vector<Region> regions_;
  std::vector<size_t> open_;                             // the regions around the current statement
  std::vector<Candidate> candidates_;
  uint32_t reads_ = 0;                                   // the number of names read so far
  std::unordered_map<Name, uint32_t> last_read_;
  const std::unordered_map<DeclId, uint32_t> offsets_;   // of the program's parts
  Diagnostics& out_;
  const CancelToken& cancel_;
  std::vector<Scope> scopes_;
  std::deque<Binding> bindings_;
  bool has_blocks_ = false;   // the current list of statements contains blocks
};

}  // namespace

auto unused_names(const Item& item, NameOptions options, const CancelToken& cancel) -> Diagnostics {
  Diagnostics out;
  for (StmtPtr s : item.statements) {
    walk(*s, [&](const Node& n) {
      const auto* def = n.as<FunctionDef>();
      if (def == nullptr || !is_program(*def)) { return n.kind == Kind::FunctionDef || n.kind == Kind::ClassDef; }
      // A function of a class is a declaration with its own text.
      const Item* home = &item;
      for (const Item::Member& m : item.members) {
        if (m.item->decl == def->decl) { home = m.item.get(); }
      }
      Names(*home, options, out, cancel).run(*def);
      return false;
    });
  }
  if (options.lost_only) { std::erase_if(out, [](const Diagnostic& d) { return d.code != Code::LostAssignment; }); }
  return out;
}

auto stray_decorators(const Document& document) -> Diagnostics {
  static constexpr std::string_view names[] = {"prim_func", "ir_module", "macro", "inline", "schedule"};
  Diagnostics out;
  const PlacedItem* before = nullptr;
  for (const PlacedItem& placed : document.items()) {
    if (placed.item->kind == ItemKind::Comments) { continue; }
    const PlacedItem* above = std::exchange(before, &placed);
    bool is_definition = placed.item->statements.size() == 1 && (placed.item->statements[0]->kind == Kind::FunctionDef || placed.item->statements[0]->kind == Kind::ClassDef);
    const auto* line = is_definition && above && above->item->statements.size() == 1 ? above->item->statements[0]->as<ExprStmt>() : nullptr;
    if (!line || std::find(std::begin(names), std::end(names), last_name(line->value)) == std::end(names)) { continue; }
    Origin at = line->value->origin();
    std::string text = above->item->text.substr(at.begin, at.end - at.begin);
    Diagnostic d = error(Code::ValueUnused, at).arg("what", text);
    out.push_back(std::move(d).remedy("write the decorator with its `@`: `@" + text + "`").fix({at.decl, at.begin, at.begin, 0}, "@"));
  }
  return out;
}

auto unused_imports(const Document& document) -> Diagnostics {
  Diagnostics out;
  const std::string& text = document.text();
  for (const PlacedItem& placed : document.items()) {
    if (placed.item->kind != ItemKind::Import || placed.item->has_error) { continue; }
    for (StmtPtr s : placed.item->statements) {
      const List<ImportName>* names = nullptr;
      if (const auto* i = s->as<ImportStmt>()) { names = &i->names; }
      if (const auto* f = s->as<ImportFromStmt>()) { names = &f->names; }
      if (names == nullptr) { continue; }
      for (const ImportName& n : *names) {
        if (n.path.empty()) { continue; }
        const Identifier& bound = n.alias.name.empty() ? n.path.front() : n.alias;
        std::string_view before = std::string_view(text).substr(0, placed.offset);
        std::string_view after = std::string_view(text).substr(placed.end());
        if (bound.name.view().starts_with("_") || contains_name(after, bound.name.view()) || contains_name(before, bound.name.view())) { continue; }
        Diagnostic d = error(Code::UnusedImport, {placed.item->decl, n.span.begin, n.span.end, 0}).arg("name", bound.name.view());
        (void)std::move(d).remedy("remove it");
        bool is_alone = names->size() == 1 && placed.item->statements.size() == 1;
        if (is_alone) {
          auto size = static_cast<uint32_t>(placed.item->text.size());
          (void)std::move(d).fix({placed.item->decl, 0, size, 0}, "");
        }
        out.push_back(std::move(d));
      }
    }
  }
  return out;
}

}  // namespace loopsmith::analysis
