// Declarations of a file, evaluated on demand: see file.h.
#include "frontend/file.h"

#include <algorithm>
#include <unordered_map>

#include "frontend/objects.h"
#include "frontend/parts.h"
#include "frontend/remedies.h"
#include "frontend/te/mistakes.h"
#include "frontend/unread_programs.h"
#include "frontend/well_formed.h"
#include "support/codes.h"
#include "support/hash.h"

namespace loopsmith::frontend {

using namespace syntax;

struct File::Entry {
  Declaration result;
  std::vector<Name> binds;
  std::vector<std::pair<Name, Value>> values;    // names that the evaluation bound
  // The names that were looked up, each with the version of the declaration that was found (0: none).
  std::vector<std::pair<Name, uint64_t>> used;
  uint64_t version = 0;      // 0: not evaluated
  uint64_t checked_at = 0;   // the generation in which this version was last found valid
  uint64_t imports = 0;      // fingerprint of the imported files, at the last evaluation
  uint64_t stars = 0;        // File::imports_fingerprint at the last evaluation, if it looked for a name among imports by `*`; otherwise 0
  uint64_t callers = 0;      // hash of the other declarations that call it, if programs inside of it depend on them; otherwise 0
  uint64_t names = 0;        // File::names_hash_ at the last evaluation, if a message suggests a name of the file; otherwise 0
  bool is_heavy = false;     // a program: evaluated only on demand
  bool is_newer = false;     // it has words that only TVM's main line has, or the import of `tirx` that TVM prints as a comment
  bool is_broken = false;    // it has a line that does not parse, which may bind any name in it
  std::vector<std::pair<uint32_t, std::vector<Name>>> modules; // the modules from which it may import: number of dots, path
};

namespace {

// True for a long program, and for a class that contains one.
auto has_parts(const syntax::Item& item) -> bool {
  return item.head != 0 || std::any_of(item.members.begin(), item.members.end(), [](const Item::Member& member) { return member.item->kind == syntax::ItemKind::Part || has_parts(*member.item); });
}

auto names_of(const syntax::List<Identifier>& path) -> std::vector<Name> {
  std::vector<Name> out;
  for (const Identifier& part : path) { out.push_back(part.name); }
  return out;
}

// Modules of TVM and of Loopsmith, whose names are predeclared.
auto is_known_module(const std::vector<Name>& path) -> bool {
  static const Name tvm("tvm"), loopsmith("loopsmith");
  return !path.empty() && (path[0] == tvm || path[0] == loopsmith);
}

// Adds the modules from which a statement, or a statement inside it, may import.
void add_modules(const syntax::Stmt& stmt, std::vector<std::pair<uint32_t, std::vector<Name>>>& out) {
  walk(stmt, [&](const Node& node) {
    if (const auto* import = node.kind == Kind::Import ? static_cast<const ImportStmt*>(&node) : nullptr) {
      for (const ImportName& name : import->names) {
        if (auto path = names_of(name.path); !is_known_module(path)) { out.emplace_back(0, std::move(path)); }
      }
    }
    if (const auto* from = node.kind == Kind::ImportFrom ? static_cast<const ImportFromStmt*>(&node) : nullptr) {
      std::vector<Name> path = names_of(from->module);
      if (from->level == 0 && is_known_module(path)) { return true; }
      out.emplace_back(from->level, path);
      for (const ImportName& name : from->names) {
        if (name.path.empty()) { continue; }
        path.push_back(name.path.front().name);
        out.emplace_back(from->level, path);
        path.pop_back();
      }
    }
    return true;
  });
}

// True for a text without imports whose words show that `T` is that of TVM's main line. TVM prints imports as comments.
auto shows_main_line(std::string_view text) -> bool {
  static constexpr std::string_view signs[] = {"tirx as T", "s_tir as Ts", "@Ts.", "@T.function", "T.Tensor(", "T.device_entry("};
  return std::any_of(std::begin(signs), std::end(signs), [&](std::string_view sign) { return text.find(sign) != std::string_view::npos; });
}

auto last_name(const syntax::List<Identifier>& path) -> Name { return path.empty() ? Name() : path.back().name; }

auto hash_of(const std::vector<const Item*>& items) -> uint64_t {
  uint64_t out = 1;
  for (const Item* item : items) { out = hash_combine(out, item->hash); }
  return out;
}

// Adds the declarations of all parts of long programs in an item.
void add_parts(const Item& item, std::unordered_set<DeclId>& parts) {
  if (item.head != 0) { parts.insert(item.decl); }
  for (const Item::Member& member : item.members) {
    if (member.item->kind == ItemKind::Part) { parts.insert(member.item->decl); } else { add_parts(*member.item, parts); }
  }
}

// The position of the name of the function or class that an item declares.
auto name_place(const Item& item) -> Origin {
  for (StmtPtr s : item.statements) {
    const auto* def = s->as<FunctionDef>();
    const auto* of = s->as<ClassDef>();
    if (def || of) {
      Span at = def ? def->name.span : of->name.span;
      return {s->decl, at.begin, at.end, 0};
    }
  }
  return {item.decl, 0, 0, 0};
}

// Interrupts the current evaluation while a declaration that it needs is evaluated.
struct SetAside {
  Temporarily<Diagnostics> diagnostics;
  Temporarily<Origin> opaque_at;
  Temporarily<void*> host;
  Temporarily<const void*> host_tag;
  Temporarily<std::shared_ptr<const void>> tree;
  Temporarily<eval::Environment*> globals;
  SetAside(eval::Evaluator& e, eval::Environment* file, const ItemPtr& item)
      : diagnostics(e.diagnostics, Diagnostics()), opaque_at(e.opaque_at, Origin()), host(e.host, nullptr), host_tag(e.host_tag, nullptr), tree(e.tree, item), globals(e.globals, file) {}
};

}  // namespace

File::File(Predeclared more) : more_(more), parts_(std::make_unique<PartCache>()) { evaluator_.globals = this; }
File::~File() = default;

void File::update(const Document& document) {
  std::vector<ItemPtr> items;
  for (const PlacedItem& placed : document.items()) { items.push_back(placed.item); }
  update(std::move(items));
}

void File::update(std::vector<ItemPtr> items) {
  bool parts_differ = false;
  std::unordered_map<const Item*, std::unique_ptr<Entry>> old;
  for (auto& entry : entries_) {
    const Item* key = entry->result.item.get();
    old.emplace(key, std::move(entry));
  }
  entries_.clear();
  binders_.clear();
  constexpr uint64_t steps_of_file = 40'000'000;
  steps_left_ = steps_of_file;
  work_ = {};
  has_star_import_ = false;
  const bool was_newer = std::exchange(is_newer_, false);
  ++generation_;
  ensured_ = 0;
  for (ItemPtr& item : items) {
    std::unique_ptr<Entry> entry;
    if (auto found = old.find(item.get()); found != old.end() && found->second) {
      entry = std::move(found->second);
      ++work_.kept;
    } else {
      entry = std::make_unique<Entry>();
      entry->result.item = std::move(item);
      parts_differ = parts_differ || has_parts(*entry->result.item);
      for (StmtPtr s : entry->result.item->statements) {
        bound_names(*s, entry->binds);
        entry->is_heavy |= is_program(*s);
        entry->is_broken |= s->kind == Kind::BrokenStmt;
        if (entry->result.item->text.find("import") != std::string::npos) { add_modules(*s, entry->modules); }
      }
      entry->result.is_program = entry->is_heavy;
      entry->is_newer = shows_main_line(entry->result.item->text);
    }
    for (StmtPtr s : entry->result.item->statements) {
      if (const auto* import = s->as<ImportFromStmt>()) { has_star_import_ |= import->is_star; }
    }
    for (Name name : entry->binds) {
      if (entry->is_broken) { break; }
      auto& list = binders_[name];
      if (list.empty() || list.back() != entries_.size()) { list.push_back(entries_.size()); }
    }
    is_newer_ |= entry->is_newer;
    entries_.push_back(std::move(entry));
  }
  if (is_newer_ != was_newer) {
    // `T` has another meaning now.
    for (const auto& entry : entries_) { entry->version = 0; }
  }
  // A broken line may be about to bind the names in it: no diagnostic reports them as undefined. Names that other declarations bind, or
  // that every file has, keep their meaning: an unfinished line must not remove `T` from the whole file.
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i]->is_broken) { continue; }
    for (Name name : entries_[i]->binds) {
      if (predeclared(name) != nullptr || (more_ && more_(name) != nullptr)) { continue; }
      auto found = binders_.find(name);
      bool is_others = found != binders_.end() && !entries_[found->second.front()]->is_broken;
      if (is_others) { continue; }
      auto& list = binders_[name];
      if (list.empty() || list.back() != i) { list.push_back(i); }
    }
  }
  // Forgets the parts of removed programs. If all programs are unchanged, no part was removed.
  for (const auto& [item, entry] : old) { parts_differ = parts_differ || (entry && has_parts(*item)); }
  if (parts_differ) {
    std::unordered_set<DeclId> parts;
    for (const auto& entry : entries_) { add_parts(*entry->result.item, parts); }
    parts_->keep_only(parts);
  }
  text_hash_ = 1;
  for (const auto& entry : entries_) { text_hash_ = hash_combine(text_hash_, entry->result.item->hash); }
  names_hash_ = 1;
  for (const auto& [name, list] : binders_) { names_hash_ += hash_bytes(name.view()); }
  parts_->work = {};
}

auto File::last_part_work() const -> PartWork { return {parts_->work.reused, parts_->work.lowered}; }

auto File::size() const -> size_t { return entries_.size(); }
auto File::item(size_t index) const -> const ItemPtr& { return entries_[index]->result.item; }

auto File::binder(Name name, size_t before) const -> size_t {
  auto found = binders_.find(name);
  if (found == binders_.end()) { return entries_.size(); }
  const auto& list = found->second;
  auto it = std::lower_bound(list.begin(), list.end(), before);
  return it == list.begin() ? entries_.size() : it[-1];
}

// The other declarations that call the function of this declaration.
auto File::callers_of(const Entry& entry) const -> std::vector<const Item*> {
  std::vector<const Item*> out;
  if (entry.result.item->name.empty()) { return out; }
  const std::string call = entry.result.item->name.str() + "(";
  for (const auto& other : entries_) {
    if (other.get() != &entry && other->result.item->text.find(call) != std::string::npos) { out.push_back(other->result.item.get()); }
  }
  return out;
}

void File::ensure(size_t index) {
  Entry& entry = *entries_[index];
  if (entry.checked_at == generation_) { return; }
  if (entry.version != 0) {
    bool valid = (entry.names == 0 || entry.names == names_hash_) && (entry.modules.empty() || entry.imports == imports_of(entry)) &&
                 (entry.stars == 0 || entry.stars == imports_fingerprint()) && (entry.callers == 0 || entry.callers == hash_of(callers_of(entry)));
    for (const auto& [name, version] : entry.used) {
      if (!valid) { break; }
      size_t at = binder(name, index);
      uint64_t now = 0;
      if (at < entries_.size()) {
        ensure(at);
        now = entries_[at]->version;
      }
      if (now != version) { valid = false; break; }
    }
    if (valid) {
      entry.checked_at = generation_;
      return;
    }
  }
  evaluate(index);
}

// Evaluates the constants and functions above in order, so that a chain of them causes no deep recursion.
void File::ensure_before(size_t index) {
  for (; ensured_ < index; ++ensured_) {
    if (!entries_[ensured_]->is_heavy) { ensure(ensured_); }
  }
}

auto File::declaration(size_t index) -> const Declaration& {
  ensure_before(index);
  ensure(index);
  return entries_[index]->result;
}

auto File::find(Name name) -> const Declaration* {
  size_t at = binder(name, entries_.size());
  return at < entries_.size() ? &declaration(at) : nullptr;
}

auto File::diagnostics() -> Diagnostics {
  Diagnostics out;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Declaration& d = declaration(i);
    out.insert(out.end(), d.diagnostics.begin(), d.diagnostics.end());
  }
  return out;
}

auto File::value(Name name) -> std::optional<Value> { return lookup(evaluator_, name, {}); }

auto File::lookup(eval::Evaluator&, Name name, Origin) -> std::optional<Value> {
  size_t before = active_.empty() ? std::min(place_, entries_.size()) : active_.back();
  size_t at = binder(name, before);
  if (at < entries_.size()) {
    if (active_.empty()) { ensure_before(at); }
    ensure(at);
    Entry& entry = *entries_[at];
    if (!active_.empty()) { entries_[active_.back()]->used.emplace_back(name, entry.version); }
    for (size_t i = entry.values.size(); i-- > 0;) {
      if (entry.values[i].first == name) { return entry.values[i].second; }
    }
    return Value::opaque();
  }
  if (!active_.empty()) { entries_[active_.back()]->used.emplace_back(name, 0); }
  if (more_) {
    if (const Value* found = more_(name)) { return *found; }
  }
  if (static const Name own_name("__name__"); name == own_name) { return Value::str(own_name_); }
  if (static const Name t("T"); is_newer_ && name == t) { return namespace_tirx(); }
  if (const Value* found = predeclared(name)) { return *found; }
  if (has_star_import_ && !eval::builtin(name)) {
    if (!active_.empty()) { entries_[active_.back()]->stars = imports_fingerprint(); }
    // The last import of the name counts. A module that cannot be read may define any name.
    for (size_t i = entries_.size(); i-- > 0;) {
      for (StmtPtr s : entries_[i]->result.item->statements) {
        const auto* from = s->as<ImportFromStmt>();
        if (!from || !from->is_star) { continue; }
        auto file = file_of(*from);
        if (!file) { return Value::opaque(); }
        if (auto value = file->given(name)) { return value; }
      }
    }
  }
  // A function that is called later also sees the names that the file binds further down; their values are not evaluated here.
  if (looks_ahead_ && binder(name, entries_.size()) < entries_.size()) {
    entries_[active_.back()]->names = names_hash_;
    return Value::opaque();
  }
  // A name that only a declaration below binds is not defined yet.
  return {};
}

void File::names(std::vector<Name>& out) const {
  // A suggestion for an unknown name depends on all names of the file.
  if (!active_.empty()) { entries_[active_.back()]->names = names_hash_; }
  for (const auto& [name, list] : binders_) { out.push_back(name); }
  out.insert(out.end(), {Name("T"), Name("I"), Name("tir")});
}

void File::evaluate(size_t index) {
  Entry& entry = *entries_[index];
  entry.used.clear();
  entry.names = 0;
  entry.stars = 0;
  entry.callers = 0;
  entry.values.clear();
  entry.version = ++versions_;
  entry.checked_at = generation_;
  entry.imports = entry.modules.empty() ? 0 : imports_of(entry);
  ++work_.evaluated;
  Declaration& out = entry.result;
  out.value = Value();
  out.module = {};
  out.partial = {};
  out.is_opaque = false;
  out.thread_word = Name();
  out.is_program = entry.is_heavy;
  out.opaque_at = {};
  out.inside.clear();

  SetAside around(evaluator_, this, out.item);
  Temporarily ahead(looks_ahead_, false);
  Temporarily lenient(evaluator_.is_lenient, is_python_);
  // Limits the time for a file with many declarations that never end: after the first few, each gets fewer steps.
  constexpr uint64_t steps_of_each = 100'000;
  const bool is_outermost = active_.empty();
  if (is_outermost) { evaluator_.reset_steps(); }
  Temporarily limit(evaluator_.limits.steps, is_outermost ? std::min(evaluator_.limits.steps, std::max(steps_left_, steps_of_each)) : evaluator_.limits.steps);
  active_.push_back(index);

  eval::ScopeRef scope;
  for (StmtPtr stmt : out.item->statements) { evaluate_statement(*stmt, entry, scope); }
  if (scope) {
    for (const auto& slot : scope->slots()) { entry.values.push_back(slot); }
  }
  for (const auto& [name, value] : entry.values) {
    if (name == out.item->name) { out.value = value; }
  }
  for (StmtPtr stmt : out.item->statements) {
    if (!has_programs_inside(*stmt)) { continue; }
    Temporarily in_function(looks_ahead_, true);
    // A function with parameters makes its programs from the values of a call.
    std::vector<const syntax::Stmt*> callers;
    if (const auto* def = stmt->as<FunctionDef>(); def && !def->params.empty()) {
      std::vector<const Item*> items = callers_of(entry);
      entry.callers = hash_of(items);
      for (const Item* item : items) { callers.insert(callers.end(), item->statements.begin(), item->statements.end()); }
    }
    out.inside = programs_inside(evaluator_, *stmt, callers);
  }
  if (!entry.is_heavy) { report_unread_programs(*out.item, evaluator_.diagnostics); }

  active_.pop_back();
  if (is_outermost) { steps_left_ -= std::min(steps_left_, evaluator_.steps()); }
  if (!entry.is_heavy) { out.is_opaque = out.value.is_opaque(); }
  out.opaque_at = evaluator_.opaque_at;
  out.diagnostics = std::move(evaluator_.diagnostics);
  move_to_call(out.diagnostics, out.item->statements.empty() ? Origin{out.item->decl, 0, 0, 0} : out.item->statements[0]->origin());
  add_remedies(out.diagnostics, *out.item);
  if ((entry.is_heavy || out.is_program) && out.is_opaque) { out.diagnostics.push_back(not_checked(out.item->name, out.thread_word, name_place(*out.item), out.opaque_at)); }
}

namespace {

/// `with te.tag_scope(tag="elemwise"):` around assignments, whose operations get the tag.
auto gives_tags(const WithStmt& with) -> bool {
  static const Name tag_scope("tag_scope");
  const bool is_tagging = with.items.size() == 1 && std::all_of(with.items.begin(), with.items.end(), [](const WithItem& item) {
    const auto* call = item.context->as<CallExpr>();
    const auto* attribute = call != nullptr ? call->callee->as<AttributeExpr>() : nullptr;
    const auto* name = call != nullptr ? call->callee->as<NameExpr>() : nullptr;
    return (attribute != nullptr && attribute->attr.name == tag_scope) || (name != nullptr && name->name == tag_scope);
  });
  return is_tagging && std::all_of(with.body.begin(), with.body.end(), [](StmtPtr inner) { return inner->kind == Kind::Assign || inner->kind == Kind::AnnAssign || inner->kind == Kind::ExprStmt; });
}

}  // namespace

void File::evaluate_statement(const syntax::Stmt& stmt, Entry& entry, eval::ScopeRef& scope) {
  Declaration& out = entry.result;
  auto bind = [&](Name name, Value value) { entry.values.emplace_back(name, std::move(value)); };
  // The statement is not run: the names that it would bind are unknown.
  auto bind_unknown = [&] {
    for (Name name : entry.binds) { bind(name, Value::opaque()); }
  };
  switch (stmt.kind) {
    case Kind::FunctionDef: {
      const auto& def = static_cast<const FunctionDef&>(stmt);
      if (is_program(def) && def.decorators.size() == 1) { return evaluate_program(def, entry); }
      // `pf = T.prim_func`, then `@pf`.
      if (def.decorators.size() == 1 && def.decorators[0]->kind == Kind::Name) {
        Value decorator;
        {
          WithoutReports attempt(evaluator_.diagnostics);
          decorator = evaluator_.eval(*def.decorators[0], {});
        }
        out.is_program = out.is_program || prim_func_options(decorator).has_value();
        if (out.is_program) { return evaluate_program(def, entry); }
      }
      break;
    }
    case Kind::ClassDef: {
      const auto& def = static_cast<const ClassDef&>(stmt);
      if (is_program(def)) { return evaluate_module(def, entry); }
      break;
    }
    case Kind::Assign: case Kind::AnnAssign: case Kind::AugAssign: break;
    case Kind::With:
      if (!gives_tags(static_cast<const WithStmt&>(stmt))) { return bind_unknown(); }
      break;
    case Kind::Import: return evaluate_import(static_cast<const ImportStmt&>(stmt), entry);
    case Kind::ImportFrom: return evaluate_import_from(static_cast<const ImportFromStmt&>(stmt), entry);
    case Kind::BrokenStmt:
      for (Name name : entry.binds) { bind(name, Value::error()); }
      return;
    default: return bind_unknown();
  }
  if (!scope) { scope = evaluator_.new_scope({}); }
  Value ignored;
  const size_t known_mistakes = evaluator_.diagnostics.size();
  eval::Flow flow = evaluator_.exec(stmt, scope, ignored);
  if (is_python_ && !entry.is_heavy && evaluator_.diagnostics.size() > known_mistakes) {
    // Drops errors in the Python around programs: only TVMScript is checked.
    evaluator_.diagnostics.resize(known_mistakes);
    flow = eval::Flow::Unknown;
    for (Name name : entry.binds) {
      const Value* value = scope->find_here(name);
      if (value && value->is_error()) { scope->set(name, Value::opaque()); }
    }
  }
  Diagnostics mistakes = te::take_mistakes();
  if (!is_python_) { mistakes.clear(); }
  for (Diagnostic& one : mistakes) { evaluator_.diagnostics.push_back(std::move(one)); }
  if (flow == eval::Flow::Failed || flow == eval::Flow::Unknown) {
    for (Name name : entry.binds) {
      if (!scope->find_here(name)) { scope->set(name, flow == eval::Flow::Failed ? Value::error() : Value::opaque()); }
    }
  }
  // `f = make(128)` makes a program of the file, like one that is written in full.
  if (const auto* assign = stmt.as<AssignStmt>(); assign && !entry.is_heavy && assign->targets.size() == 1 && assign->value->kind == Kind::Call) {
    const auto* name = assign->targets[0]->as<NameExpr>();
    const Value* value = name ? scope->find_here(name->name) : nullptr;
    if (const auto* program = value && name->name == out.item->name ? value->as<ProgramObject>() : nullptr; program && program->module) {
      out.module = out.partial = program->module;
      out.is_program = true;
    }
  }
  // A program made by several decorators, or by a call.
  if (entry.is_heavy) {
    for (const auto& slot : scope->slots()) {
      if (const auto* program = slot.second.as<ProgramObject>()) { out.module = out.partial = program->module; }
      out.is_opaque |= slot.second.is_opaque();
    }
  }
}

void File::evaluate_program(const FunctionDef& def, Entry& entry) {
  Declaration& out = entry.result;
  Argument decorator = evaluator_.eval_argument(*def.decorators[0], {});
  auto options = prim_func_options(decorator.value);
  if (!options) {
    out.is_opaque = decorator.value.is_opaque();
    entry.values.emplace_back(def.name.name, decorator.value.is_unknown() ? decorator.value : evaluator_.opaque(decorator.where));
    return;
  }
  LoweredFunction lowered = lower_function(evaluator_, def, {}, *options, parts_.get());
  out.is_opaque = lowered.is_opaque;
  out.thread_word = lowered.thread_word;
  Dialect dialect = dialect_of(*options, lowered);
  if (lowered.partial) { out.partial = module_of(lowered.partial, dialect); }
  if (lowered.func) {
    out.module = out.partial;
    if (options->check_well_formed) { check(lowered.func, options->rebinds_names); }
  }
  bind_program(def.name, def.decl, true, entry);
}

void File::evaluate_module(const ClassDef& def, Entry& entry) {
  Declaration& out = entry.result;
  bool known = false;
  bool is_checked = true;
  for (ExprPtr d : def.decorators) {
    Value decorator = evaluator_.eval(*d, {});
    known |= is_module_decorator(decorator);
    is_checked &= checks_module(decorator);
  }
  if (!known) {
    out.is_opaque = true;
    entry.values.emplace_back(def.name.name, evaluator_.opaque(def.origin()));
    return;
  }
  LoweredModule lowered = lower_module(evaluator_, def, {}, parts_.get());
  out.is_opaque = lowered.is_opaque;
  out.thread_word = lowered.thread_word;
  out.partial = lowered.partial;
  if (lowered.module) {
    out.module = lowered.module;
    for (const auto& [name, func] : lowered.module->functions) {
      if (is_checked && std::find(lowered.unchecked.begin(), lowered.unchecked.end(), name) == lowered.unchecked.end()) { check(func); }
    }
  }
  bind_program(def.name, def.decl, false, entry, std::move(lowered.foreign));
}

void File::bind_program(const Identifier& name, DeclId decl, bool is_function, Entry& entry, std::vector<Name> foreign) {
  const Declaration& out = entry.result;
  Origin at{decl, name.span.begin, name.span.end, 0};
  entry.values.emplace_back(name.name, out.module ? Value(eval::make_object<ProgramObject>(out.module, name.name, is_function, at, std::move(foreign))) : out.is_opaque ? Value::opaque() : Value::error());
}

// ---- imports -----------------------------------------------------------------------------------------------------

// `import kernels as k`: its attributes are the names of the file. The importing file owns it, and it refers to its file weakly: files may
// import each other.
class ModuleObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  ModuleObject(const std::shared_ptr<File>& f, Name n) : Object(&type_tag), file(f), name(n) {}
  const std::weak_ptr<File> file;
  const Name name;
  auto get_attribute(eval::Evaluator&, Name what, Origin) const -> std::optional<Value> override {
    auto here = file.lock();
    return here ? here->given(what) : Value::opaque();
  }
  void attribute_names(std::vector<Name>& out) const override {
    auto here = file.lock();
    if (!here) { return; }
    for (const auto& [given, list] : here->binders_) { out.push_back(given); }
  }
  auto repr() const -> std::string override { return "<module " + name.str() + ">"; }
};
const eval::TypeTag ModuleObject::type_tag{"module"};

void File::evaluate_import(const ImportStmt& stmt, Entry& entry) {
  static const Name loopsmith("loopsmith"), ls("ls");
  for (const ImportName& n : stmt.names) {
    if (n.path.empty()) { continue; }
    Name bound = n.alias.name.empty() ? n.path.front().name : n.alias.name;
    Name module_name = n.alias.name.empty() ? n.path.front().name : last_name(n.path);
    const Value* known = module_name == loopsmith && more_ ? more_(ls) : nullptr;
    if (!known && more_) { known = more_(module_name); }
    if (!known) { known = predeclared(module_name); }
    auto module = known ? std::nullopt : imported(n);
    entry.values.emplace_back(bound, known ? *known : module ? *module : Value::opaque());
  }
}

void File::evaluate_import_from(const ImportFromStmt& stmt, Entry& entry) {
  for (const ImportName& n : stmt.names) {
    if (n.path.empty()) { continue; }
    Name bound = n.alias.name.empty() ? n.path.front().name : n.alias.name;
    if (auto value = imported(evaluator_, stmt, n)) {
      entry.values.emplace_back(bound, *value);
      continue;
    }
    const Value* known = more_ ? more_(last_name(n.path)) : nullptr;
    if (!known) { known = frontend::imported(stmt, n); }
    entry.values.emplace_back(bound, known ? *known : Value::opaque());
  }
}

void File::import_from(std::shared_ptr<Modules> modules) {
  modules_ = std::move(modules);
  imports_generation_ = 0;
  if (!modules_) { imported_.clear(); }
}

auto File::module_at(uint32_t level, const std::vector<Name>& path) -> std::shared_ptr<File> {
  if (!modules_ || (level == 0 && (path.empty() || is_known_module(path)))) { return nullptr; }
  auto file = modules_->find(level, path);
  if (file && std::find(imported_.begin(), imported_.end(), file) == imported_.end()) { imported_.push_back(file); }
  return file;
}

auto File::file_of(const ImportFromStmt& from) -> std::shared_ptr<File> { return module_at(from.level, names_of(from.module)); }

auto File::given(Name name) -> std::optional<Value> {
  // The files import each other in a circle, and the name is being evaluated.
  if (!active_.empty()) { return Value::opaque(); }
  size_t at = binder(name, entries_.size());
  if (at < entries_.size()) { return lookup(evaluator_, name, {}); }
  if (has_star_import_ && !is_looked_at_) {
    Temporarily in_circle(is_looked_at_, true);
    return lookup(evaluator_, name, {});
  }
  for (const Value* known : {more_ ? more_(name) : nullptr, predeclared(name)}) {
    if (known != nullptr) { return *known; }
  }
  // A broken file may define any name, and so may statements that are not run here.
  static const Name any_attribute("__getattr__");
  bool is_plain = !binders_.contains(any_attribute) && std::all_of(entries_.begin(), entries_.end(), [](const auto& entry) {
    const auto& statements = entry->result.item->statements;
    return std::all_of(statements.begin(), statements.end(), [](StmtPtr s) {
      return s->kind == Kind::FunctionDef || s->kind == Kind::ClassDef || s->kind == Kind::Assign || s->kind == Kind::AnnAssign || s->kind == Kind::Import || s->kind == Kind::ImportFrom || s->kind == Kind::ExprStmt;
    });
  });
  return is_plain && !has_star_import_ ? std::nullopt : std::optional(Value::opaque());
}

auto File::imported(eval::Evaluator& evaluator, const ImportFromStmt& from, const ImportName& name) -> std::optional<Value> {
  std::vector<Name> path = names_of(from.module);
  Name what = name.path.front().name;
  // Limits chains of files that import from one another.
  static thread_local int depth = 0;
  struct Deeper {
    Deeper() { ++depth; }
    ~Deeper() { --depth; }
  } deeper;
  constexpr int deepest = 64;
  auto file = depth > deepest ? nullptr : module_at(from.level, path);
  if (file) {
    if (auto value = file->given(what)) { return value; }
  }
  // `from package import module` binds the module.
  path.push_back(what);
  if (auto inside = module_at(from.level, path)) { return Value(Ref<eval::Object>(eval::make_object<ModuleObject>(inside, what).get())); }
  if (!file) {
    // `from tvm.contrib import clang` in a function.
    static const Name tvm("tvm"), contrib("contrib");
    const bool is_contrib = from.module.size() > 1 && from.module[0].name == tvm && from.module[1].name == contrib;
    const Value* member = is_contrib ? frontend::imported(from, name) : nullptr;
    return member ? std::optional(*member) : std::nullopt;
  }
  std::vector<Name> names;
  for (const auto& [given, list] : file->binders_) { names.push_back(given); }
  Origin where{from.decl, name.path.front().span.begin, name.path.front().span.end, 0};
  Diagnostic wrong = error(Code::UndefinedName, where).arg("name", (path.size() > 1 ? path[path.size() - 2].str() + "." : std::string()) + what.str());
  if (Name near = eval::closest_name(what, names); !near.empty()) { (void)std::move(wrong).remedy("did you mean `" + near.str() + "`?").fix(where, near.str()); }
  evaluator.diagnostics.push_back(std::move(wrong));
  return Value::error();
}

auto File::imported(const ImportName& name) -> std::optional<Value> {
  // `import a.b` binds `a`, which is unknown.
  if (name.path.size() > 1 && name.alias.name.empty()) { return {}; }
  auto file = module_at(0, names_of(name.path));
  if (!file) { return {}; }
  return Value(Ref<eval::Object>(eval::make_object<ModuleObject>(file, last_name(name.path)).get()));
}

auto File::imports_of(const Entry& entry) -> uint64_t {
  if (!modules_) { return 0; }
  uint64_t hash = 1;
  for (const auto& [level, path] : entry.modules) {
    auto file = module_at(level, path);
    hash = hash_combine(hash, file ? hash_combine(reinterpret_cast<uintptr_t>(file.get()), file->fingerprint()) : 0);
  }
  return hash;
}

auto File::imports_fingerprint() -> uint64_t {
  if (!modules_ || is_looked_at_) { return 1; }
  if (imports_generation_ == generation_ && imports_epoch_ == modules_->epoch()) { return imports_fingerprint_; }
  uint64_t hash = 1;
  {
    Temporarily in_circle(is_looked_at_, true);
    for (const auto& entry : entries_) {
      if (!entry->modules.empty()) { hash = hash_combine(hash, imports_of(*entry)); }
    }
  }
  imports_epoch_ = modules_->epoch();
  imports_generation_ = generation_;
  return imports_fingerprint_ = hash;
}

auto File::fingerprint() -> uint64_t { return hash_combine(text_hash_, imports_fingerprint()); }

auto File::holds(DeclId decl) const -> bool {
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) { return part_of(*entry->result.item, decl) != nullptr; });
}

void File::move_to_call(Diagnostics& diagnostics, const Origin& from) const {
  for (Diagnostic& d : diagnostics) {
    if (!d.where.is_known() || !modules_ || holds(d.where.decl)) { continue; }
    d.notes.insert(d.notes.begin(), RelatedNote{.where = d.where, .message = "it is here"});
    d.where = from;
    d.fixes.clear();
  }
}

auto File::is_imported(Name name) -> bool {
  size_t at = binder(name, entries_.size());
  if (at == entries_.size()) { return false; }
  for (StmtPtr stmt : entries_[at]->result.item->statements) {
    const auto* from = stmt->as<ImportFromStmt>();
    if (from && file_of(*from)) { return true; }
  }
  return false;
}

void File::check(const PrimFunc& func, bool is_newer) {
  Diagnostics found = well_formed(func, parts_.get(), is_newer);
  evaluator_.diagnostics.insert(evaluator_.diagnostics.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

}  // namespace loopsmith::frontend
