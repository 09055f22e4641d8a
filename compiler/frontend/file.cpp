// Declarations of a file, evaluated on demand: see file.h.
#include "frontend/file.h"

#include <algorithm>
#include <unordered_map>

#include "frontend/objects.h"
#include "frontend/parts.h"
#include "frontend/well_formed.h"
#include "frontend/words.h"
#include "support/codes.h"
#include "support/hash.h"

namespace loopsmith::frontend {

using namespace syntax;

struct File::Entry {
  Declaration result;
  std::vector<Name> binds;
  std::vector<std::pair<Name, Value>> values;    // what evaluation bound
  // What was looked up, and the version of the declaration found (0: none).
  std::vector<std::pair<Name, uint64_t>> used;
  uint64_t version = 0;      // 0: not evaluated
  uint64_t checked_at = 0;   // the generation in which the version was last found valid
  uint64_t imports = 0;      // of the files that its imports lead to, then
  uint64_t stars = 0;        // File::imports_fingerprint then, where a name was looked for in what is imported by `*`; else 0
  uint64_t names = 0;        // File::names_hash_ then, where a message was looked for among all names; else 0
  bool is_heavy = false;     // a program: evaluated only when asked for
  bool is_broken = false;    // a line that is no Python: the names in it may be bound, or only meant
  std::vector<std::pair<uint32_t, std::vector<Name>>> modules;   // what it may import from: dots, and names
};

namespace {

// The item itself, or the part of it, that a declaration's id stands for; null: neither.
auto part_of(const syntax::Item& item, DeclId decl) -> const syntax::Item* {
  if (item.decl == decl) { return &item; }
  for (const Item::Member& member : item.members) {
    if (const syntax::Item* found = part_of(*member.item, decl)) { return found; }
  }
  return nullptr;
}

// Is it a long program, or around one?
auto has_parts(const syntax::Item& item) -> bool {
  return item.head != 0 || std::any_of(item.members.begin(), item.members.end(), [](const Item::Member& member) { return member.item->kind == syntax::ItemKind::Part || has_parts(*member.item); });
}

auto names_of(const syntax::List<Identifier>& path) -> std::vector<Name> {
  std::vector<Name> out;
  for (const Identifier& part : path) { out.push_back(part.name); }
  return out;
}

// What comes with TVM and with us has its own meaning here.
auto is_known_module(const std::vector<Name>& path) -> bool {
  static const Name tvm("tvm"), loopsmith("loopsmith");
  return !path.empty() && (path[0] == tvm || path[0] == loopsmith);
}

// The modules that a statement, or one in it, may import from.
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

auto last_name(const syntax::List<Identifier>& path) -> Name { return path.empty() ? Name() : path.back().name; }

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
  work_ = {};
  has_star_import_ = false;
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
    }
    for (StmtPtr s : entry->result.item->statements) {
      if (const auto* import = s->as<ImportFromStmt>()) { has_star_import_ |= import->is_star; }
    }
    for (Name name : entry->binds) {
      if (entry->is_broken) { break; }
      auto& list = binders_[name];
      if (list.empty() || list.back() != entries_.size()) { list.push_back(entries_.size()); }
    }
    entries_.push_back(std::move(entry));
  }
  // What a broken line mentions may be what it would bind, so that nobody is told that a name does not exist; but what others
  // bind, or all files have, stays what it is: half a line must not take `T` away from the whole file.
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
  // What is known of parts that are gone is forgotten; there are none where all programs are as before.
  for (const auto& [item, entry] : old) { parts_differ = parts_differ || (entry && has_parts(*item)); }
  std::unordered_set<DeclId> parts;
  auto add = [&](const Item& item, auto&& self) -> void {
    if (item.head != 0) { parts.insert(item.decl); }
    for (const Item::Member& member : item.members) {
      if (member.item->kind == ItemKind::Part) { parts.insert(member.item->decl); } else { self(*member.item, self); }
    }
  };
  if (parts_differ) {
    for (const auto& entry : entries_) { add(*entry->result.item, add); }
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

void File::ensure(size_t index) {
  Entry& entry = *entries_[index];
  if (entry.checked_at == generation_) { return; }
  if (entry.version != 0) {
    bool valid = (entry.names == 0 || entry.names == names_hash_) && (entry.modules.empty() || entry.imports == imports_of(entry)) &&
                 (entry.stars == 0 || entry.stars == imports_fingerprint());
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

// Constants and functions above are evaluated first and in order, so that a chain of them does not nest.
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
  if (const Value* found = predeclared(name)) { return *found; }
  if (has_star_import_ && !eval::builtin(name)) {
    if (!active_.empty()) { entries_[active_.back()]->stars = imports_fingerprint(); }
    // The last that gives it counts; what comes from where nobody can look may be anything.
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
  // A function that is called later knows what the file gives below it; here that is not evaluated.
  if (looks_ahead_ && binder(name, entries_.size()) < entries_.size()) {
    entries_[active_.back()]->names = names_hash_;
    return Value::opaque();
  }
  // A name that the file gives below only is not there yet.
  return {};
}

void File::names(std::vector<Name>& out) const {
  // What is suggested instead of a name depends on all that there are.
  if (!active_.empty()) { entries_[active_.back()]->names = names_hash_; }
  for (const auto& [name, list] : binders_) { out.push_back(name); }
  out.insert(out.end(), {Name("T"), Name("I"), Name("tir")});
}

void File::evaluate(size_t index) {
  Entry& entry = *entries_[index];
  entry.used.clear();
  entry.names = 0;
  entry.stars = 0;
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
  out.is_program = entry.is_heavy;
  out.opaque_at = {};
  out.inside.clear();

  // What is being evaluated around (a program that asked for this one) is set aside.
  Diagnostics saved_diagnostics = std::exchange(evaluator_.diagnostics, {});
  Origin saved_opaque = std::exchange(evaluator_.opaque_at, Origin{});
  void* saved_host = std::exchange(evaluator_.host, nullptr);
  const void* saved_tag = std::exchange(evaluator_.host_tag, nullptr);
  auto saved_tree = std::exchange(evaluator_.tree, std::shared_ptr<const void>(out.item));
  bool saved_ahead = std::exchange(looks_ahead_, false);
  eval::Environment* saved_globals = std::exchange(evaluator_.globals, this);
  uint64_t saved_steps = evaluator_.steps();
  if (active_.empty()) { evaluator_.reset_steps(); }
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
    bool saved = std::exchange(looks_ahead_, true);
    out.inside = programs_inside(evaluator_, *stmt);
    looks_ahead_ = saved;
  }

  active_.pop_back();
  if (!entry.is_heavy) { out.is_opaque = out.value.is_opaque(); }
  out.opaque_at = evaluator_.opaque_at;
  out.diagnostics = std::move(evaluator_.diagnostics);
  bring_home(out.diagnostics, out.item->statements.empty() ? Origin{out.item->decl, 0, 0, 0} : out.item->statements[0]->origin());
  // What is in `T` and was written without: `serial(16)`, `float32`.
  for (Diagnostic& d : out.diagnostics) {
    if (d.code == Code::MisspeltWord) {
      if (const syntax::Item* home = part_of(*out.item, d.where.decl)) { place_word(d, home->text); }
    }
    if (d.code == Code::Deprecated) {
      if (const syntax::Item* home = part_of(*out.item, d.where.decl)) { modernise(d, home->text); }
      continue;
    }
    if (d.code == Code::NoTruthValue && d.remedies.empty()) {
      const syntax::Item* home = part_of(*out.item, d.where.decl);
      std::string_view text = home && d.where.end <= home->text.size() ? std::string_view(home->text).substr(d.where.begin, d.where.end - d.where.begin) : std::string_view();
      if (text.starts_with("max(") || text.starts_with("min(")) {
        d.remedies = {"`T." + std::string(text.substr(0, 3)) + "(a, b)` is that of the program's values"};
        d.fixes = {{{d.where.decl, d.where.begin, d.where.begin, d.where.step}, "T."}};
        continue;
      }
      d.remedies = {"what depends on values of the program is chosen while it runs: `T.if_then_else(condition, a, b)` for values, `T.all` and `T.any` for conditions, an `if` of its own for statements"};
    }
    if (d.code == Code::WrongType && d.remedies.empty() && d.args.size() == 2 && d.args[0].second == "something with a length" && d.args[1].second.starts_with("buffer")) {
      d.remedies = {"a buffer has extents: `.shape[0]` is that of its first dimension"};
    }
    if (d.code != Code::UndefinedName || d.args.empty()) { continue; }
    const std::string& name = d.args[0].second;
    static const std::unordered_map<std::string_view, std::string_view> constants = {{"true", "True"}, {"false", "False"}, {"none", "None"}, {"null", "None"}, {"nullptr", "None"}};
    if (auto meant = constants.find(name); meant != constants.end() && d.remedies.empty()) {
      d.remedies = {"did you mean `" + std::string(meant->second) + "`?"};
      d.fixes = {{d.where, std::string(meant->second)}};
      continue;
    }
    // A size that nobody has named.
    const syntax::Item* home = d.remedies.empty() ? part_of(*out.item, d.where.decl) : nullptr;
    if (home && d.where.begin <= home->text.size()) {
      std::string_view line = std::string_view(home->text).substr(0, d.where.begin);
      line = line.substr(line.rfind('\n') == std::string_view::npos ? 0 : line.rfind('\n') + 1);
      size_t call = line.rfind("uffer(");
      std::string_view shape = call == std::string_view::npos ? std::string_view() : line.substr(call + 6);
      bool is_shape = shape.find_first_of("([") != std::string_view::npos && shape.find_first_of(")]") == std::string_view::npos;
      if (is_shape) { d.remedies = {"a size that is known when the program runs is a variable: `" + name + " = T.int32()` before it"}; }
    }
    if (!namespace_t().as<eval::Namespace>()->find(Name(name))) { continue; }
    d.remedies = {"did you mean `T." + name + "`?"};
    d.fixes = {{d.where, "T." + name}};
  }
  if (entry.is_heavy && out.is_opaque) {
    out.diagnostics.push_back(error(Code::NotChecked, out.opaque_at.is_known() ? out.opaque_at : Origin{out.item->decl, 0, 0, 0}));
  }
  evaluator_.diagnostics = std::move(saved_diagnostics);
  evaluator_.opaque_at = saved_opaque;
  evaluator_.host = saved_host;
  evaluator_.host_tag = saved_tag;
  evaluator_.tree = std::move(saved_tree);
  evaluator_.globals = saved_globals;
  looks_ahead_ = saved_ahead;
  if (!active_.empty()) { (void)saved_steps; }
}

void File::evaluate_statement(const syntax::Stmt& stmt, Entry& entry, eval::ScopeRef& scope) {
  Declaration& out = entry.result;
  auto bind = [&](Name name, Value value) { entry.values.emplace_back(name, std::move(value)); };
  switch (stmt.kind) {
    case Kind::FunctionDef: {
      const auto& def = static_cast<const FunctionDef&>(stmt);
      if (!is_program(def) || def.decorators.size() != 1) { break; }
      Argument decorator = evaluator_.eval_argument(*def.decorators[0], {});
      auto options = prim_func_options(decorator.value);
      if (!options) {
        out.is_opaque = decorator.value.is_opaque();
        bind(def.name.name, decorator.value.is_unknown() ? decorator.value : evaluator_.opaque(decorator.where));
        return;
      }
      LoweredFunction lowered = lower_function(evaluator_, def, {}, *options, parts_.get());
      out.is_opaque = lowered.is_opaque;
      Dialect dialect = lowered.uses_sblock ? Dialect::SBlock : Dialect::Block;
      if (lowered.partial) { out.partial = module_of(lowered.partial, dialect); }
      if (lowered.func) {
        out.module = out.partial;
        if (options->check_well_formed) { check(lowered.func, options->rebinds_names); }
      }
      Origin at{def.decl, def.name.span.begin, def.name.span.end, 0};
      bind(def.name.name, out.module ? Value(eval::make_object<ProgramObject>(out.module, def.name.name, true, at))
                                     : lowered.is_opaque ? Value::opaque() : Value::error());
      return;
    }
    case Kind::ClassDef: {
      const auto& def = static_cast<const ClassDef&>(stmt);
      if (!is_program(def)) { break; }
      bool known = false;
      for (ExprPtr d : def.decorators) { known |= is_module_decorator(evaluator_.eval(*d, {})); }
      if (!known) {
        out.is_opaque = true;
        bind(def.name.name, evaluator_.opaque(def.origin()));
        return;
      }
      LoweredModule lowered = lower_module(evaluator_, def, {}, parts_.get());
      out.is_opaque = lowered.is_opaque;
      out.partial = lowered.partial;
      if (lowered.module) {
        out.module = lowered.module;
        for (const auto& [name, func] : lowered.module->functions) {
          if (std::find(lowered.unchecked.begin(), lowered.unchecked.end(), name) == lowered.unchecked.end()) { check(func); }
        }
      }
      Origin at{def.decl, def.name.span.begin, def.name.span.end, 0};
      bind(def.name.name, out.module ? Value(eval::make_object<ProgramObject>(out.module, def.name.name, false, at))
                                     : lowered.is_opaque ? Value::opaque() : Value::error());
      return;
    }
    case Kind::Assign: case Kind::AnnAssign: case Kind::AugAssign: break;
    case Kind::Import:
      for (const ImportName& n : static_cast<const ImportStmt&>(stmt).names) {
        static const Name loopsmith("loopsmith"), ls("ls");
        if (n.path.empty()) { continue; }
        Name bound = n.alias.name.empty() ? n.path.front().name : n.alias.name;
        Name what = n.alias.name.empty() ? n.path.front().name : last_name(n.path);
        const Value* known = what == loopsmith && more_ ? more_(ls) : nullptr;
        if (!known && more_) { known = more_(what); }
        if (!known) { known = predeclared(what); }
        auto module = known ? std::nullopt : imported(n);
        bind(bound, known ? *known : module ? *module : Value::opaque());
      }
      return;
    case Kind::ImportFrom:
      for (const ImportName& n : static_cast<const ImportFromStmt&>(stmt).names) {
        if (n.path.empty()) { continue; }
        Name bound = n.alias.name.empty() ? n.path.front().name : n.alias.name;
        if (auto value = imported(evaluator_, static_cast<const ImportFromStmt&>(stmt), n)) {
          bind(bound, *value);
          continue;
        }
        const Value* known = more_ ? more_(last_name(n.path)) : nullptr;
        if (!known) { known = frontend::imported(static_cast<const ImportFromStmt&>(stmt), n); }
        bind(bound, known ? *known : Value::opaque());
      }
      return;
    case Kind::BrokenStmt:
      for (Name name : entry.binds) { bind(name, Value::error()); }
      return;
    default:
      // Not run when a file is looked at: what it would bind is not known.
      for (Name name : entry.binds) { bind(name, Value::opaque()); }
      return;
  }
  if (!scope) { scope = evaluator_.new_scope({}); }
  Value ignored;
  eval::Flow flow = evaluator_.exec(stmt, scope, ignored);
  if (flow == eval::Flow::Failed || flow == eval::Flow::Unknown) {
    for (Name name : entry.binds) {
      if (!scope->find_here(name)) { scope->set(name, flow == eval::Flow::Failed ? Value::error() : Value::opaque()); }
    }
  }
  // `f = make(128)`: a program of the file like those that are written out.
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

// ---- imports -----------------------------------------------------------------------------------------------------

// `import kernels as k`: what the file gives are its attributes. It is kept by the file that imports it; files may import each other.
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
  // In a circle.
  if (!active_.empty()) { return Value::opaque(); }
  size_t at = binder(name, entries_.size());
  if (at < entries_.size()) { return lookup(evaluator_, name, {}); }
  if (has_star_import_ && !is_looked_at_) {
    is_looked_at_ = true;
    auto value = lookup(evaluator_, name, {});
    is_looked_at_ = false;
    return value;
  }
  for (const Value* known : {more_ ? more_(name) : nullptr, predeclared(name)}) {
    if (known != nullptr) { return *known; }
  }
  // Half a file may give any name, and so may statements that are not run here.
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
  // Files that import from one another in a long row.
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
  // `from package import module`
  path.push_back(what);
  if (auto inside = module_at(from.level, path)) { return Value(Ref<eval::Object>(eval::make_object<ModuleObject>(inside, what).get())); }
  if (!file) { return {}; }
  std::vector<Name> names;
  for (const auto& [given, list] : file->binders_) { names.push_back(given); }
  Origin where{from.decl, name.path.front().span.begin, name.path.front().span.end, 0};
  Diagnostic wrong = error(Code::UndefinedName, where).arg("name", (path.size() > 1 ? path[path.size() - 2].str() + "." : std::string()) + what.str());
  if (Name near = eval::closest_name(what, names); !near.empty()) { (void)std::move(wrong).remedy("did you mean `" + near.str() + "`?").fix(where, near.str()); }
  evaluator.diagnostics.push_back(std::move(wrong));
  return Value::error();
}

auto File::imported(const ImportName& name) -> std::optional<Value> {
  // `import a.b` binds `a`, of which nothing is known but what is in it.
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
  is_looked_at_ = true;
  uint64_t hash = 1;
  for (const auto& entry : entries_) {
    if (!entry->modules.empty()) { hash = hash_combine(hash, imports_of(*entry)); }
  }
  is_looked_at_ = false;
  imports_epoch_ = modules_->epoch();
  imports_generation_ = generation_;
  return imports_fingerprint_ = hash;
}

auto File::fingerprint() -> uint64_t { return hash_combine(text_hash_, imports_fingerprint()); }

auto File::holds(DeclId decl) const -> bool {
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) { return part_of(*entry->result.item, decl) != nullptr; });
}

void File::bring_home(Diagnostics& diagnostics, const Origin& from) const {
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
