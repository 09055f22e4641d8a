// Replaces the words of one dialect by those of another: see migration.h.
#include "workspace/edits/migration.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "frontend/file.h"
#include "ir/equal.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::workspace {
namespace {

using namespace syntax;

// The names of one construct, a column for each dialect; members of `T` unless they begin with "Ts.". Empty: the dialect has no such construct.
struct Row { std::string_view block, sblock, s_tir, ts, tensor; };
constexpr Row words[] = {
    {"block", "sblock", "sblock", "Ts.sblock", "Ts.sblock"},
    {"block_attr", "sblock_attr", "sblock_attr", "Ts.sblock_attr", "Ts.sblock_attr"},
    {"axis", "axis", "axis", "Ts.axis", "Ts.axis"},
    {"reads", "reads", "reads", "Ts.reads", "Ts.reads"},
    {"writes", "writes", "writes", "Ts.writes", "Ts.writes"},
    {"init", "init", "init", "Ts.init", "Ts.init"},
    {"where", "where", "where", "Ts.where", "Ts.where"},
    {"Buffer", "Buffer", "Buffer", "Buffer", "Tensor"},
    {"match_buffer", "match_buffer", "match_buffer", "match_buffer", "match_tensor"},
    {"macro", "macro", "inline", "inline", "inline"},
};
// Words that a dialect removed without a replacement.
constexpr std::string_view removed[] = {"allocate", "allocate_const", "realize", "LetStmt", "SizeVar", "buffer_decl", "preflattened_buffer"};

auto in(const Row& row, Dialect d) -> std::string_view {
  if (d == dialects::sblock) { return row.sblock; }
  if (d == dialects::s_tir) { return row.s_tir; }
  if (d == dialects::ts) { return row.ts; }
  return d == dialects::tensor ? row.tensor : row.block;
}
auto with_space(std::string_view word) -> std::string { return word.starts_with("Ts.") ? std::string(word) : "T." + std::string(word); }

// The member in `T.sblock` or `Ts.sblock`; empty: the expression is another one.
auto member_of_t(const syntax::Node& n) -> std::string_view {
  const auto* attribute = n.as<AttributeExpr>();
  const auto* space = attribute ? attribute->object->as<NameExpr>() : nullptr;
  return space && (space->name.view() == "T" || space->name.view() == "Ts") ? attribute->attr.name.view() : std::string_view();
}
auto space_of(const syntax::Expr& e) -> std::string_view {
  const auto* call = e.as<CallExpr>();
  const auto* attribute = (call ? call->callee : &e)->as<AttributeExpr>();
  const auto* space = attribute ? attribute->object->as<NameExpr>() : nullptr;
  return space ? space->name.view() : std::string_view();
}
auto last_name(const syntax::Expr& e) -> std::string_view {
  if (const auto* call = e.as<CallExpr>()) { return last_name(*call->callee); }
  if (const auto* attribute = e.as<AttributeExpr>()) { return attribute->attr.name.view(); }
  const auto* name = e.as<NameExpr>();
  return name ? name->name.view() : std::string_view();
}
auto is_program(const FunctionDef& def) -> bool {
  return std::any_of(def.decorators.begin(), def.decorators.end(), [](ExprPtr d) {
    return last_name(*d) == "prim_func" || ((space_of(*d) == "T" || space_of(*d) == "Ts") && last_name(*d) == "function");
  });
}
// True for a program with blocks, or with allocations in the root block.
auto has_blocks(const FunctionDef& def, Dialect dialect) -> bool {
  bool found = false;
  for (StmtPtr s : def.body) {
    walk(*s, [&](const Node& n) {
      std::string_view member = member_of_t(n);
      found |= member == "block" || member == "sblock" || member == "sblock_alloc_buffer" || (member == "alloc_buffer" && !dialects::is_recent(dialect));
      return !found;
    });
  }
  return found;
}
// A word of the language for threads and tiles that resembles no other word.
auto is_thread_word(std::string_view member) -> bool {
  static constexpr std::string_view signs[] = {"device_entry", "cta_id", "cluster_id", "warpgroup_id", "warp_id", "thread_id", "lane_id", "ptx", "cuda", "jit", "TileLayout"};
  return std::find(std::begin(signs), std::end(signs), member) != std::end(signs);
}
auto from_tvm_script(const ImportFromStmt& from) -> bool {
  return from.level == 0 && from.module.size() == 2 && from.module[0].name.view() == "tvm" && from.module[1].name.view() == "script";
}

class Migrator {
 public:
  // Assignments that change their meaning, with the names of their programs; reported if the program differs afterwards.
  std::vector<std::pair<Name, Diagnostic>> assigned_again;

  Migrator(const syntax::Document& document, Dialect from, Dialect to) : document_(document), from_(from), to_(to) {}

  auto run() -> Migration {
    for (const PlacedItem& placed : document_.items()) {
      if (placed.item->kind == ItemKind::Comments) { comments(placed); }
      for (StmtPtr s : placed.item->statements) { statement(*s); }
    }
    imports();
    std::sort(out_.edits.begin(), out_.edits.end(), [](const TextEdit& a, const TextEdit& b) { return a.span.begin < b.span.begin; });
    return std::move(out_);
  }

 private:
  // ---- edits and warnings
  void replace(const Origin& at, std::string text) {
    auto span = document_.resolve(at);
    if (!span || document_.text().substr(span->begin, span->end - span->begin) == text) { return; }
    bool overlaps = std::any_of(out_.edits.begin(), out_.edits.end(), [&](const TextEdit& e) { return e.span.begin < span->end && span->begin < e.span.end; });
    if (!overlaps) { out_.edits.push_back({*span, std::move(text)}); }
  }
  void warn(Code code, const Origin& at, const std::string& word, const Reason& reason) {
    const std::string why = reason.text();
    // One warning for each word of a function is enough.
    if (!warned_.insert(word + "\n" + why).second) { return; }
    out_.warnings.push_back(error(code, at).arg("word", word).arg("reason", why));
  }
  auto text_of(const syntax::Node& n) const -> std::string {
    auto span = document_.resolve(n.origin());
    return span ? document_.text().substr(span->begin, span->end - span->begin) : std::string();
  }

  // ---- statements of a file
  void statement(const syntax::Stmt& s) {
    walk(s, [&](const Node& n) {
      if (const auto* def = n.as<FunctionDef>()) { function(*def); }
      if (const auto* from = n.as<ImportFromStmt>()) { import(*from); }
      if (const auto* attribute = n.as<AttributeExpr>()) { word(*attribute); }
      if (const auto* call = n.as<CallExpr>()) { on_call(*call); }
      return true;
    });
  }
  // TVM prints the imports of a program as comments.
  void comments(const PlacedItem& placed) {
    const std::string& text = placed.item->text;
    const bool is_recent = dialects::is_recent(to_);
    for (std::string_view old : {"from tvm.script import tir as T", "from tvm.script import tirx as T"}) {
      size_t at = text.find(old);
      if (at == std::string::npos) { continue; }
      std::string made = is_recent ? "from tvm.script import tirx as T" : "from tvm.script import tir as T";
      if (made == old) { continue; }
      auto begin = placed.offset + static_cast<uint32_t>(at);
      out_.edits.push_back({{begin, begin + static_cast<uint32_t>(old.size())}, std::move(made)});
      return;
    }
  }

  // ---- programs
  void function(const FunctionDef& def) {
    if (!is_program(def)) {
      macro(def);
      return;
    }
    const bool blocks = has_blocks(def, from_);
    any_blocks_ |= blocks;
    for (ExprPtr d : def.decorators) { decorator(*d, blocks); }
    if (!def.type_params.empty() && to_ < dialects::s_tir) {
      warn(Code::NotMigrated, {def.decl, def.type_params[0].span.begin, def.type_params[0].span.end, 0}, "def " + def.name.name.str() + "[...]", because(Why::ShapeVariablesInside));
    }
    assignments(def);
    allocations(def);
    if (to_ >= dialects::s_tir) { return; }
    for (StmtPtr stmt : def.body) {
      walk(*stmt, [&](const Node& n) {
        std::string_view member = member_of_t(n);
        if (is_thread_word(member)) { warn(Code::NotMigrated, n.origin(), "T." + std::string(member), because(Why::KernelsOfThreads)); }
        return true;
      });
    }
  }
  void macro(const FunctionDef& def) {
    for (ExprPtr d : def.decorators) {
      const auto* call = d->as<CallExpr>();
      if (last_name(*d) != "macro" || !call || call->keywords.empty() || to_ < dialects::s_tir) { continue; }
      warn(Code::NotMigrated, d->origin(), "T.macro(hygienic=False)", because(Why::InlineFindsNames));
    }
  }
  // Replaces `@T.prim_func(private=True)` and leaves the other keywords unchanged.
  void decorator(const syntax::Expr& d, bool blocks) {
    std::string_view name = last_name(d);
    if (name != "prim_func" && name != "function") { return; }
    const auto* call = d.as<CallExpr>();
    std::string keywords;
    for (size_t i = 0; call && i < call->keywords.size(); ++i) {
      const Keyword& k = call->keywords[i];
      if (k.name.name.view() == "s_tir" || k.name.name.view() == "is_stir") { continue; }
      keywords += (keywords.empty() ? "" : ", ") + k.name.name.str() + "=" + text_of(*k.value);
    }
    if (blocks && to_ == dialects::s_tir) { keywords += keywords.empty() ? "s_tir=True" : ", s_tir=True"; }
    std::string made = blocks && dialects::has_ts(to_) ? "Ts." : "T.";
    made += to_ == dialects::tensor ? "function" : "prim_func";
    if (!keywords.empty()) { made += "(" + keywords + ")"; }
    replace(d.origin(), std::move(made));
  }

  // ---- words
  void word(const AttributeExpr& e) {
    std::string_view member = member_of_t(e);
    if (member.empty()) { return attribute(e); }
    const std::string_view space = e.object->as<NameExpr>()->name.view();
    const std::string written = std::string(space) + "." + std::string(member);
    if (member == "prim_func" || member == "function") { return; }
    if (memory(e, member, written)) { return; }
    if (dialects::is_recent(to_) && std::find(std::begin(removed), std::end(removed), member) != std::end(removed)) {
      if (handled_.count(&e) == 0) { warn(Code::NotMigrated, e.origin(), written, because(Why::WordGone)); }
      return;
    }
    if (member == "dynamic" && to_ != dialects::tensor) {
      if (space == "T") { warn(Code::NotMigrated, e.origin(), written, because(Why::DynamicOfI)); }
      return;
    }
    for (const Row& row : words) {
      const std::string_view old = in(row, from_);
      const bool is_meant = written == with_space(old) || (space == "Ts" && member == old) || member == in(row, Dialect::Block) || member == in(row, dialects::tensor);
      if (!is_meant) { continue; }
      return replace(e.origin(), with_space(in(row, to_)));
    }
    // Other members of `Ts` are those of `T`.
    if (space == "Ts" && !dialects::has_ts(to_)) { replace(e.origin(), "T." + std::string(member)); }
  }
  // Replaces allocations and declarations, whose names changed most. False: the word is another one.
  auto memory(const AttributeExpr& e, std::string_view member, const std::string& written) -> bool {
    const bool is_old = !dialects::is_recent(from_);
    const std::string statement = to_ == dialects::tensor ? "T.alloc_tensor" : dialects::is_recent(to_) ? "T.alloc_buffer" : "T.decl_buffer";
    const std::string of_block = dialects::has_ts(to_) ? "Ts.sblock_alloc_buffer" : dialects::is_recent(to_) ? "T.sblock_alloc_buffer" : "T.alloc_buffer";
    if (member == "sblock_alloc_buffer" || (member == "alloc_buffer" && is_old)) {
      if (member == "alloc_buffer" && dialects::is_recent(to_)) {
        warn(Code::ChangedMeaning, e.origin(), written, because(Why::AllocatesForBlock).arg("replacement", of_block));
      }
      replace(e.origin(), of_block);
      return true;
    }
    if (member == "alloc_buffer" || member == "alloc_tensor") {
      if (!dialects::is_recent(to_)) {
        warn(Code::ChangedMeaning, e.origin(), written, because(Why::AllocatesForStatements));
      }
      replace(e.origin(), statement);
      return true;
    }
    if (member == "decl_buffer" || member == "decl_tensor") {
      const bool allocates = allocating_.count(&e) != 0;
      if (allocates && is_old && dialects::is_recent(to_)) { replace(e.origin(), statement); }
      else { replace(e.origin(), to_ == dialects::tensor ? "T.decl_tensor" : "T.decl_buffer"); }
      return true;
    }
    if (member == "alloc_shared" || member == "alloc_local" || member == "local_scalar" || member == "shared_scalar") {
      if (!dialects::is_recent(to_)) { warn(Code::NotMigrated, e.origin(), written, because(Why::HasItSince25)); }
      return true;
    }
    return false;
  }
  // `sch.get_block`, `tvm.tir.Schedule`.
  void attribute(const AttributeExpr& e) {
    const bool is_recent = dialects::is_recent(to_);
    std::string_view name = e.attr.name.view();
    const Origin at{e.decl, e.attr.span.begin, e.attr.span.end, 0};
    if (name == "get_block" || name == "get_sblock") { return replace(at, is_recent ? "get_sblock" : "get_block"); }
    if (const auto* space = e.object->as<NameExpr>(); space && imports_tir_ != nullptr && (space->name.view() == "tir" || space->name.view() == "tirx" || space->name.view() == "s_tir")) {
      // `tir.Schedule` of `from tvm import tir`.
      const bool is_schedule = name == "Schedule" || name == "schedule" || name == "ScheduleError";
      std::string made = !is_recent ? "tir" : is_schedule ? "s_tir" : "tirx";
      uses_.insert(made);
      return replace(space->origin(), made);
    }
    const auto* module = e.object->as<AttributeExpr>();
    const auto* root = module ? module->object->as<NameExpr>() : nullptr;
    const bool is_of_tvm = root && root->name.view() == "tvm";
    if (is_of_tvm && name == "Schedule" && (module->attr.name.view() == "tir" || module->attr.name.view() == "s_tir")) {
      replace({module->decl, module->attr.span.begin, module->attr.span.end, 0}, is_recent ? "s_tir" : "tir");
    }
  }
  // Names in quotes: attributes of functions, operators.
  void on_call(const CallExpr& call) {
    std::string_view name = last_name(*call.callee);
    if (member_of_t(*call.callee).empty()) { return; }
    if (name == "func_attr" && call.args.size() == 1) {
      const auto* dict = call.args[0]->as<DictExpr>();
      for (size_t i = 0; dict && i < dict->entries.size(); ++i) {
        if (dict->entries[i].key) { prefix(*dict->entries[i].key); }
      }
    }
    if (name == "Call" || name == "call_intrin") {
      for (ExprPtr arg : call.args) { prefix(*arg); }
    }
  }
  void prefix(const syntax::Expr& e) {
    const auto* s = e.as<StringExpr>();
    if (!s || !s->prefix.empty()) { return; }
    const std::string_view old = dialects::is_recent(to_) ? "tir." : "tirx.";
    const std::string_view made = dialects::is_recent(to_) ? "tirx." : "tir.";
    std::string text = text_of(e);
    if (s->value.starts_with(old) && text.size() == s->value.size() + 2) { replace(e.origin(), text.substr(0, 1) + std::string(made) + text.substr(1 + old.size())); }
  }

  // ---- assignments: immutable until 0.24, memory since 0.25

  // Collects the annotated assignments in a list of statements, and the assignments to names that already have a value (`known`: names of enclosing lists).
  static void find_assignments(const syntax::Block& body, std::unordered_set<Name> known, std::vector<const AnnAssignStmt*>& annotated,
                               std::vector<std::pair<Name, Origin>>& again) {
    auto note = [&](const syntax::Expr& target) {
      const auto* name = target.as<NameExpr>();
      if (name && !known.insert(name->name).second) { again.emplace_back(name->name, name->origin()); }
    };
    for (StmtPtr s : body) {
      if (const auto* a = s->as<AssignStmt>()) {
        for (ExprPtr t : a->targets) { note(*t); }
      }
      if (const auto* a = s->as<AugAssignStmt>()) { note(*a->target); }
      if (const auto* a = s->as<AnnAssignStmt>()) {
        note(*a->target);
        annotated.push_back(a);
      }
      if (const auto* loop = s->as<ForStmt>()) { find_assignments(loop->body, known, annotated, again); }
      if (const auto* loop = s->as<WhileStmt>()) { find_assignments(loop->body, known, annotated, again); }
      if (const auto* with = s->as<WithStmt>()) { find_assignments(with->body, known, annotated, again); }
      if (const auto* choice = s->as<IfStmt>()) {
        find_assignments(choice->then, known, annotated, again);
        find_assignments(choice->otherwise, known, annotated, again);
      }
    }
  }
  void assignments(const FunctionDef& def) {
    const bool was_memory = from_ >= dialects::s_tir, is_memory = to_ >= dialects::s_tir;
    std::vector<const AnnAssignStmt*> annotated;
    std::vector<std::pair<Name, Origin>> again;
    find_assignments(def.body, {}, annotated, again);
    for (const AnnAssignStmt* a : annotated) {
      if (!a->value) { continue; }
      std::string type = text_of(*a->annotation);
      const auto* name = a->target->as<NameExpr>();
      const bool is_let = type.starts_with("T.let") || type.starts_with("Ts.let");
      if (!was_memory && dialects::is_recent(to_) && !is_let && !type.starts_with("T.Buffer") && !type.starts_with("T.meta_var")) { replace(a->annotation->origin(), "T.let[" + type + "]"); }
      if (from_ >= dialects::sblock && !dialects::is_recent(to_) && is_let && type.ends_with("]")) { replace(a->annotation->origin(), type.substr(type.find('[') + 1, type.size() - type.find('[') - 2)); }
      if (was_memory && !is_memory && !is_let && name) { warn(Code::ChangedMeaning, a->annotation->origin(), text_of(*a->target) + ": " + type, because(Why::DeclaresMemory)); }
    }
    if (was_memory == is_memory) { return; }
    const Reason why = is_memory ? because(Why::MakesVariable)
                                : because(Why::StoresToFirst);
    for (const auto& [name, at] : again) {
      assigned_again.emplace_back(def.name.name, error(Code::ChangedMeaning, at).arg("word", name.str() + " = ...").arg("reason", why.text()));
    }
  }

  // ---- `A_data = T.allocate(...)`, `A = T.decl_buffer(..., data=A_data)`: one statement since 0.24
  void allocations(const FunctionDef& def) {
    join_in(def, def.body);
    for (StmtPtr s : def.body) {
      walk(*s, [&](const Node& n) {
        if (const auto* loop = n.as<ForStmt>()) { join_in(def, loop->body); }
        if (const auto* with = n.as<WithStmt>()) { join_in(def, with->body); }
        const auto* call = n.as<CallExpr>();
        if (call && (member_of_t(*call->callee) == "decl_buffer" || member_of_t(*call->callee) == "decl_tensor")) {
          bool has_data = std::any_of(call->keywords.begin(), call->keywords.end(), [](const Keyword& k) { return k.name.name.view() == "data"; }) || call->args.size() > 2;
          if (!has_data) { allocating_.insert(call->callee); }
        }
        return true;
      });
    }
  }
  void join_in(const FunctionDef& def, const syntax::Block& body) {
    if (!dialects::is_recent(to_)) { return; }
    for (size_t i = 0; i + 1 < body.size(); ++i) { join(def, *body[i], *body[i + 1]); }
  }
  // Merges the two statements, if nothing else uses the pointer.
  void join(const FunctionDef& def, const syntax::Stmt& first, const syntax::Stmt& second) {
    const auto* allocate = first.as<AssignStmt>();
    const auto* declare = second.as<AssignStmt>();
    const auto* memory = allocate && allocate->targets.size() == 1 ? allocate->value->as<CallExpr>() : nullptr;
    const auto* buffer = declare ? declare->value->as<CallExpr>() : nullptr;
    const auto* pointer = memory ? allocate->targets[0]->as<NameExpr>() : nullptr;
    if (!pointer || !buffer || member_of_t(*memory->callee) != "allocate" || member_of_t(*buffer->callee) != "decl_buffer") { return; }
    if (memory->args.size() < 2 || memory->args.size() > 3 || !memory->keywords.empty() || buffer->args.empty()) { return; }
    const Keyword* data = nullptr;
    Span before = {buffer->args[buffer->args.size() - 1]->origin().begin, buffer->args[buffer->args.size() - 1]->origin().end};
    bool has_scope = false;
    for (const Keyword& k : buffer->keywords) {
      const auto* name = k.value->as<NameExpr>();
      if (k.name.name.view() == "data" && name && name->name == pointer->name) { data = &k; }
      if (!data) { before = k.span; }
      has_scope |= k.name.name.view() == "scope";
    }
    size_t uses = 0;
    for (StmtPtr s : def.body) {
      walk(*s, [&](const Node& n) {
        const auto* name = n.as<NameExpr>();
        uses += name && name->name == pointer->name;
        return true;
      });
    }
    auto from = document_.resolve(first.origin()), to = document_.resolve(second.origin());
    if (!data || uses != 2 || !from || !to || document_.text().substr(from->end, to->begin - from->end).find_first_not_of(" \t\r\n") != std::string::npos) { return; }
    std::string scope = memory->args.size() == 3 && !has_scope ? ", scope=" + text_of(*memory->args[2]) : std::string();
    out_.edits.push_back({{from->begin, to->begin}, ""});
    replace({buffer->decl, before.end, data->span.end, 0}, std::move(scope));
    handled_.insert(memory->callee);
    allocating_.insert(buffer->callee);
  }

  // ---- imports
  void import(const ImportFromStmt& from) {
    if (from.level == 0 && from.module.size() == 1 && from.module[0].name.view() == "tvm" && !from.is_star) {
      for (const ImportName& n : from.names) {
        std::string_view path = n.path.empty() || !n.alias.name.empty() ? std::string_view() : n.path.front().name.view();
        if (path == "tir" || path == "tirx" || path == "s_tir") { imports_tir_ = &from; }
      }
    }
    if (!from_tvm_script(from) || from.is_star) { return; }
    bool has_t = false, has_ts = false;
    for (const ImportName& n : from.names) {
      std::string_view path = n.path.empty() ? std::string_view() : n.path.front().name.view();
      has_t |= path == "tir" || path == "tirx";
      has_ts |= path == "s_tir";
    }
    if (has_t) { imports_t_.push_back(&from); }
    if (has_ts) { imports_ts_.push_back(&from); }
  }
  // Written last, when all blocks of the file have been found.
  void imports() {
    const bool wants_ts = dialects::has_ts(to_) && any_blocks_;
    bool has_ts = !imports_ts_.empty();
    std::unordered_set<const ImportFromStmt*> done;
    for (const auto& list : {imports_t_, imports_ts_}) {
      for (const ImportFromStmt* from : list) {
        if (!done.insert(from).second) { continue; }
        std::string names;
        auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
        for (const ImportName& n : from->names) {
          std::string_view path = n.path.empty() ? std::string_view() : n.path.front().name.view();
          std::string alias = n.alias.name.empty() ? std::string() : " as " + n.alias.name.str();
          if (path == "tir" || path == "tirx") {
            if (wants_ts && !has_ts) {
              add("s_tir as Ts");
              has_ts = true;
            }
            add((dialects::is_recent(to_) ? "tirx" : "tir") + alias);
          } else if (path == "s_tir") {
            if (dialects::has_ts(to_)) { add("s_tir" + alias); }
          } else {
            add(std::string(path) + alias);
          }
        }
        if (names.empty()) { names = dialects::is_recent(to_) ? "tirx as T" : "tir as T"; }
        replace(from->origin(), "from tvm.script import " + names);
      }
    }
    if (imports_tir_ != nullptr) {
      std::string names;
      for (const ImportName& n : imports_tir_->names) {
        std::string_view path = n.path.empty() || !n.alias.name.empty() ? std::string_view() : n.path.front().name.view();
        if (path == "tir" || path == "tirx" || path == "s_tir") { continue; }
        names += (names.empty() ? "" : ", ") + document_.text().substr(document_.resolve({imports_tir_->decl, n.span.begin, n.span.end, 0})->begin, n.span.end - n.span.begin);
      }
      for (const std::string& used : uses_) { names += (names.empty() ? "" : ", ") + used; }
      if (!uses_.empty()) { replace(imports_tir_->origin(), "from tvm import " + names); }
    }
  }

  const syntax::Document& document_;
  const Dialect from_, to_;
  Migration out_;
  bool any_blocks_ = false;
  std::vector<const ImportFromStmt*> imports_t_, imports_ts_;
  const ImportFromStmt* imports_tir_ = nullptr;          // `from tvm import tir`
  std::set<std::string> uses_;                           // the modules that replace it
  std::unordered_set<const syntax::Node*> allocating_;   // names of `T.decl_buffer` without `data=`, which allocates
  std::unordered_set<const syntax::Node*> handled_;
  std::unordered_set<std::string> warned_;
};

// Inserts the import of `T` in front of the first statement.
auto import_of_tirx(const syntax::Document& document) -> TextEdit {
  uint32_t at = 0;
  for (const PlacedItem& placed : document.items()) {
    at = placed.offset;
    if (placed.item->kind != ItemKind::Comments) { break; }
  }
  return {{at, at}, fmt::format("from tvm.script import tirx as T{0}{0}{0}", line_break_of(document.text()))};
}

// A program without syntax errors.
struct ReadProgram { IRModule module; Origin where; };

// The programs of a text by name.
auto programs_of(const syntax::Document& document, bool is_python) -> std::unordered_map<Name, ReadProgram> {
  std::unordered_map<Name, ReadProgram> out;
  frontend::File file;
  file.set_is_python(is_python);
  file.update(document);
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& declaration = file.declaration(i);
    bool is_good = declaration.module && declaration.is_program && !has_errors(declaration.diagnostics);
    if (is_good) { out.emplace(declaration.item->name, ReadProgram{declaration.module, {declaration.item->decl, 0, 0, 0}}); }
    for (const frontend::InnerProgram& inner : declaration.inside) {
      if (inner.module && !inner.has_errors) { out.emplace(inner.name, ReadProgram{inner.module, inner.where}); }
    }
  }
  return out;
}

}  // namespace

auto dialect_of_text(const syntax::Document& document) -> DialectOfText {
  DialectOfText out;
  auto show = [&](Dialect d, std::string word) {
    if (d > out.dialect || out.shown_by.empty()) { out = {std::max(d, out.dialect), std::move(word)}; }
  };
  for (const PlacedItem& placed : document.items()) {
    if (placed.item->text.find("# from tvm.script import tirx as T") != std::string::npos) { show(dialects::sblock, "tirx as T"); }
    for (StmtPtr s : placed.item->statements) {
      walk(*s, [&](const Node& n) {
        if (const auto* from = n.as<ImportFromStmt>(); from && from_tvm_script(*from)) {
          for (const ImportName& name : from->names) {
            std::string_view path = name.path.empty() ? std::string_view() : name.path.front().name.view();
            if (path == "tir") { show(dialects::block, "tir as T"); }
            if (path == "tirx") { show(dialects::sblock, "tirx as T"); }
            if (path == "s_tir") { show(dialects::ts, "s_tir as Ts"); }
          }
        }
        if (const auto* call = n.as<CallExpr>(); call && last_name(*call) == "prim_func") {
          for (const Keyword& k : call->keywords) {
            if (k.name.name.view() == "s_tir") { show(dialects::s_tir, "s_tir=True"); }
          }
        }
        std::string_view member = member_of_t(n);
        if (member == "block") { show(dialects::block, "T.block"); }
        if (member == "sblock") { show(dialects::sblock, "T.sblock"); }
        if (!member.empty() && n.as<AttributeExpr>()->object->as<NameExpr>()->name.view() == "Ts") { show(dialects::ts, "Ts." + std::string(member)); }
        if (member == "inline" || is_thread_word(member)) { show(dialects::s_tir, "T." + std::string(member)); }
        if (member == "function" || member == "Tensor" || member == "alloc_tensor" || member == "match_tensor" || member == "decl_tensor") { show(dialects::tensor, "T." + std::string(member)); }
        return true;
      });
    }
  }
  return out;
}

auto migrate(const syntax::Document& document, const std::string& name, Dialect to) -> Migration {
  DialectOfText from = dialect_of_text(document);
  // In a Python file without TVMScript, `T` has another meaning.
  if (name.ends_with(".py") && from.shown_by.empty()) { return {}; }
  Migrator migrator(document, from.dialect, to);
  Migration out = migrator.run();
  if (from.shown_by.empty() && document.text().find("alloc_buffer") != std::string::npos && !document.items().empty()) {
    Origin at{document.items().front().item->decl, 0, 0, 0};
    out.warnings.insert(out.warnings.begin(), error(Code::UnclearDialect, at).arg("word", "T.alloc_buffer").arg("meaning", "until TVM 0.23, where it allocates for the block around"));
  }
  const bool is_python = name.ends_with(".py");
  auto before = programs_of(document, is_python);
  if (dialects::is_recent(to) && !before.empty() && !dialects::is_recent(dialect_of_text(syntax::Document(with_edits(document.text(), out.edits))).dialect)) {
    // No word of the text shows the dialect.
    out.edits.insert(out.edits.begin(), import_of_tirx(document));
  }
  if (out.edits.empty()) { return out; }
  const syntax::Document migrated(with_edits(document.text(), out.edits));
  auto after = programs_of(migrated, is_python);
  std::unordered_set<Name> same;
  for (const auto& [program, old] : before) {
    auto found = after.find(program);
    const bool is_same = found != after.end() && structural_equal(old.module, found->second.module);
    if (is_same) { same.insert(Name(program.view().substr(program.view().rfind('.') + 1))); }
    if (!is_same) { out.warnings.push_back(error(Code::ChangedMeaning, old.where).arg("word", program.view()).arg("reason", because(Why::MigratedDiffers).text()).remedy("compare the two before you use it")); }
  }
  // The reader treats assignments of all dialects since 0.24 alike. A difference shows only against the dialects before.
  const bool is_compared = dialects::is_recent(from.dialect) != dialects::is_recent(to);
  for (auto& [program, warning] : migrator.assigned_again) {
    if (!is_compared || !same.contains(program)) { out.warnings.push_back(std::move(warning)); }
  }
  auto place = [&](const Diagnostic& d) { return document.resolve(d.where).value_or(Span{}).begin; };
  std::sort(out.warnings.begin(), out.warnings.end(), [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
  return out;
}

}  // namespace loopsmith::workspace
