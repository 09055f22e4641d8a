// The table of analyses, and the cache of findings: see analyses.h.
#include "analysis/analyses.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/ignore.h"
#include "analysis/subject.h"
#include "analysis/unused.h"
#include "frontend/objects.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "support/codes.h"

namespace loopsmith::analysis {
namespace {

struct Row {
  const char* name;
  void (*run)(Subject&);
};
// The order is significant: a later analysis skips accesses that an earlier one has reported.
constexpr Row rows[] = {
    {"bounds", check_bounds},
    {"regions", check_regions},
    {"initialisation", check_initialisation},
    {"jumps", check_jumps},
    {"races", check_races},
    {"thread races", check_thread_races},
    {"conditions", check_conditions},
    {"device limits", check_device_limits},
    {"externals", check_externals},
};

// Stops soon after a cancellation; the findings are then incomplete.
auto run_all(const syntax::Document& document, const syntax::Item& item, const IRModule& module, bool is_instance, NameOptions names, const CancelToken& cancel)
    -> Diagnostics {
  Diagnostics out;
  if (!module) { return out; }
  std::vector<Origin> unit_axes;   // axes of extent 1: unused ones are normal
  std::vector<std::pair<Origin, Origin>> loops;   // their headers and their statements
  for (const auto& [name, func] : module->functions) {
    Facts facts = collect(func, cancel);
    if (cancel.is_cancelled()) { return out; }
    for (const BlockFact& b : facts.blocks) {
      for (const IterVar& iter : b.block->iter_vars) {
        if (iter.dom.extent && is_one(iter.dom.extent)) { unit_axes.push_back(iter.var->origin); }
      }
    }
    Subject subject(facts, document, item, is_instance, out, cancel);
    for (const LoopFact& loop : facts.loops) { loops.emplace_back(subject.header(*loop.loop), loop.loop->origin); }
    for (const Row& row : rows) {
      if (cancel.is_cancelled()) { return out; }
      row.run(subject);
    }
  }
  if (!is_instance && !cancel.is_cancelled()) {
    Diagnostics unused = unused_names(item, names, cancel);
    // A loop whose result is lost is not reported as a loop to remove.
    for (const Diagnostic& lost : unused) {
      if (lost.code != Code::LostAssignment) { continue; }
      std::erase_if(out, [&](const Diagnostic& d) {
        return d.code == Code::LoopWithoutEffect && std::any_of(loops.begin(), loops.end(), [&](const auto& loop) {
          return loop.first == d.where && loop.second.decl == lost.where.decl && loop.second.begin <= lost.where.begin && lost.where.end <= loop.second.end;
        });
      });
    }
    std::erase_if(unused, [&](const Diagnostic& d) { return std::find(unit_axes.begin(), unit_axes.end(), d.where) != unit_axes.end(); });
    out.insert(out.end(), std::make_move_iterator(unused.begin()), std::make_move_iterator(unused.end()));
  }
  return out;
}

// True for errors after which the function is not analysed. After an index out of bounds it still is.
auto spoils(const Diagnostic& d) -> bool { return d.severity == Severity::Error && d.code != Code::IndexOutOfBounds; }

// The module without its functions with errors; null if no function is left.
auto without_errors(const syntax::Document& document, const IRModule& module, const Diagnostics& diagnostics) -> IRModule {
  auto is_in = [&](const Diagnostic& d, const PrimFunc& func) {
    auto place = document.resolve(d.where);
    auto body = document.resolve(func->origin);
    return !place || !body || (place->begin >= body->begin && place->end <= body->end);
  };
  auto is_somewhere = [&](const Diagnostic& d) {
    return std::any_of(module->functions.begin(), module->functions.end(), [&](const auto& entry) { return is_in(d, entry.second); });
  };
  std::vector<std::pair<Name, PrimFunc>> functions;
  for (const auto& [name, func] : module->functions) {
    // An error outside of functions (in a constant, an attribute of the module) may affect any of them.
    bool is_spoilt = std::any_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& d) { return spoils(d) && (is_in(d, func) || !is_somewhere(d)); });
    if (!is_spoilt) { functions.emplace_back(name, func); }
  }
  if (functions.empty()) { return {}; }
  IRModuleNode out = *module;
  out.functions = std::move(functions);
  return make_module(std::move(out));
}

// Two programs have the same name: the second was probably copied, and kept the name.
auto named_again(frontend::File& file) -> Diagnostics {
  Diagnostics out;
  std::unordered_map<Name, Origin> known;
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& declaration = file.declaration(i);
    if (!declaration.is_program) { continue; }
    for (syntax::StmtPtr s : declaration.item->statements) {
      const auto* def = s->as<syntax::FunctionDef>();
      const auto* of_module = s->as<syntax::ClassDef>();
      if (!def && !of_module) { continue; }
      const syntax::Identifier& name = def ? def->name : of_module->name;
      Origin at{declaration.item->decl, name.span.begin, name.span.end, 0};
      auto [first, is_new] = known.emplace(name.name, at);
      if (is_new || name.name.empty()) { continue; }
      Diagnostics one{error(Code::NamedAgain, at).arg("name", name.name.view()).note(first->second, "the other is here").remedy("rename one of them")};
      Ignores(*declaration.item).apply(one);
      out.insert(out.end(), std::make_move_iterator(one.begin()), std::make_move_iterator(one.end()));
    }
  }
  return out;
}

auto line_count(const std::string& text) -> int64_t { return std::count(text.begin(), text.end(), '\n') + 1; }

}  // namespace

auto Subject::item(Origin origin) const -> syntax::ItemPtr { return document.declaration(origin.decl); }

auto Subject::text(Origin origin) const -> std::string {
  syntax::ItemPtr home = item(origin);
  if (!home || origin.end > home->text.size() || origin.begin >= origin.end) { return {}; }
  std::string out = home->text.substr(origin.begin, origin.end - origin.begin);
  return out.size() > 80 || out.find('\n') != std::string::npos ? std::string() : out;
}

auto Subject::text(const Expr& expr) const -> std::string {
  if (const auto* v = expr.as<VarNode>()) { return v->name.str(); }   // its origin is the place where it was made
  std::string out = text(expr.origin());
  return out.empty() ? print_debug(expr, 80) : out;
}

auto Subject::index_place(Origin access, size_t dim) const -> Origin {
  syntax::ItemPtr home = item(access);
  if (!home || access.end > home->text.size()) { return access; }
  const std::string& s = home->text;
  uint32_t at = access.begin;
  while (at < access.end && s[at] != '[') { ++at; }
  int depth = 0;
  uint32_t begin = at + 1;
  for (uint32_t i = at; i < access.end; ++i) {
    char c = s[i];
    if (c == '[' || c == '(' || c == '{') { ++depth; }
    bool closes = (c == ']' || c == ')' || c == '}') && --depth == 0;
    if (!closes && !(c == ',' && depth == 1)) { continue; }
    if (dim == 0) {
      uint32_t end = i;
      while (begin < end && (s[begin] == ' ' || s[begin] == '\n')) { ++begin; }
      while (end > begin && s[end - 1] == ' ') { --end; }
      return begin < end ? Origin{access.decl, begin, end, access.step} : access;
    }
    if (closes) { break; }
    --dim;
    begin = i + 1;
  }
  return access;
}

auto Subject::in_whole(Origin origin) const -> Origin {
  DeclId whole = document.whole(origin.decl);
  auto span = whole == origin.decl ? std::nullopt : document.resolve(origin);
  auto start = document.resolve({whole, 0, 0, 0});
  if (!span || !start) { return origin; }
  return {whole, span->begin - start->begin, span->end - start->begin, origin.step};
}

auto Subject::header(const For& loop) const -> Origin {
  // The place from the variable to the colon.
  syntax::ItemPtr home = item(loop.origin);
  if (!home) { return loop.origin; }
  Origin at = loop.origin;
  if (at.begin >= home->text.size()) { return at; }
  size_t colon = home->text.find(":\n", at.begin);
  size_t line = home->text.find('\n', at.begin);
  size_t end = std::min({colon, line, static_cast<size_t>(at.end)});
  std::string_view head = std::string_view(home->text).substr(at.begin, end - at.begin);
  if (head.starts_with("for ")) { at.begin += 4; }
  at.end = static_cast<uint32_t>(end);
  return at;
}

auto analyse(const syntax::Document& document, const syntax::Item& item, const IRModule& module, bool is_instance) -> Diagnostics {
  return run_all(document, item, module, is_instance, {}, {});
}

namespace {

// The program of a declaration, as far as it could be lowered.
struct AnalysedProgram {
  const frontend::Declaration& declaration;
  IRModule module;                 // null: only the programs in `inside` are analysed
  bool is_instance = false;        // a function of the file made it: other calls make others
  bool is_whole = false;           // the whole program could be lowered
  bool is_clean = false;           // it has no errors
  std::vector<IRModule> inside;    // programs in Python functions and classes
  NameOptions names;
};

auto program_of(const frontend::Declaration& declaration, frontend::File& file) -> AnalysedProgram {
  AnalysedProgram out{declaration, {}, false, false, false, {}, {}};
  if (declaration.is_program) {
    out.module = declaration.module ? declaration.module : declaration.partial;
  } else if (const auto* made = declaration.value.as<frontend::ProgramObject>()) {
    // A function of the file made this program; `name = other` only gives it another name.
    out.is_instance = true;
    if (file.find(made->name) == nullptr) { out.module = made->module; }
  }
  out.is_whole = out.module && !declaration.item->has_error && !declaration.is_opaque;
  out.is_clean = out.is_whole && std::none_of(declaration.diagnostics.begin(), declaration.diagnostics.end(), spoils);
  for (const frontend::InnerProgram& inner : declaration.inside) {
    if (inner.module && !inner.has_errors) { out.inside.push_back(inner.module); }
  }
  return out;
}

// The findings of all analyses in a declaration, without those that comments silence.
auto findings_in(const syntax::Document& document, const AnalysedProgram& program, const CancelToken& cancel) -> Diagnostics {
  const frontend::Declaration& declaration = program.declaration;
  Diagnostics found;
  if (program.is_clean) {
    found = run_all(document, *declaration.item, program.module, program.is_instance, program.names, cancel);
  } else if (program.is_whole && declaration.is_program) {
    // In a module, skips functions with errors. Names that only those functions use are not unused.
    found = run_all(document, *declaration.item, without_errors(document, program.module, declaration.diagnostics), true, program.names, cancel);
  }
  // One message for each error.
  std::erase_if(found, [&](const Diagnostic& d) {
    return std::any_of(declaration.diagnostics.begin(), declaration.diagnostics.end(), [&](const Diagnostic& known) {
      return known.code == Code::IndexOutOfBounds && known.where.decl == d.where.decl && known.where.begin <= d.where.end && d.where.begin <= known.where.end;
    });
  });
  // The Python around programs shapes them in unknown ways: they are analysed like instances.
  for (const IRModule& inner : program.inside) {
    Diagnostics more = run_all(document, *declaration.item, inner, true, program.names, cancel);
    found.insert(found.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  if (!program.inside.empty()) {
    Diagnostics lost = unused_names(*declaration.item, {program.names.assigns_memory, true}, cancel);
    found.insert(found.end(), std::make_move_iterator(lost.begin()), std::make_move_iterator(lost.end()));
  }
  if (cancel.is_cancelled()) { return found; }
  Ignores ignores(*declaration.item);
  ignores.apply(found);
  // A comment that silences a diagnostic of the frontend counts as used.
  Diagnostics read = declaration.diagnostics;
  ignores.apply(read);
  Diagnostics problems = ignores.problems(program.is_clean && !program.is_instance);
  found.insert(found.end(), problems.begin(), problems.end());
  return found;
}

// Findings about the file as a whole, without those that comments silence.
auto findings_in_file(const syntax::Document& document, frontend::File& file) -> Diagnostics {
  Diagnostics out = named_again(file);
  for (Diagnostics found : {unused_imports(document), stray_decorators(document)}) {
    for (Diagnostic& d : found) {
      syntax::ItemPtr item = document.declaration(d.where.decl);
      if (!item) { continue; }
      Diagnostics one{std::move(d)};
      Ignores(*item).apply(one);
      out.insert(out.end(), one.begin(), one.end());
    }
  }
  return out;
}

}  // namespace

auto Analyses::update(const syntax::Document& document, frontend::File& file, bool is_tir, int64_t lines, const CancelToken& cancel) -> bool {
  ++generation_;
  // `T` is that of TVM's main line, where assignments store to memory.
  static const Name t("T");
  const std::optional<eval::Value> space = file.value(t);
  const bool is_main_line = space && space->object() == frontend::namespace_tirx().object();
  all_.clear();
  bool complete = true;
  Diagnostics file_problems;
  std::vector<Code> silenced = Ignores::of_file(document, file_problems);
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& declaration = file.declaration(i);
    AnalysedProgram program = program_of(declaration, file);
    program.names.assigns_memory = is_main_line;
    if (!program.module && !declaration.is_program && declaration.inside.empty()) { continue; }
    auto same = [](const IRModule& a, const IRModule& b) { return a.same_as(b); };
    Kept& kept = kept_[declaration.item->decl];
    bool is_known = kept.item == declaration.item && kept.module.same_as(program.module) && kept.was_clean == program.is_clean &&
                    std::equal(kept.inside.begin(), kept.inside.end(), program.inside.begin(), program.inside.end(), same);
    if (!is_known) {
      int64_t size = line_count(declaration.item->text);
      bool is_left = size > lines || cancel.is_cancelled();
      if (!is_left) {
        lines -= size;
        kept = {program.module, program.inside, declaration.item, program.is_clean, findings_in(document, program, cancel), 0};
        // A long program must not delay the next key: its analysis starts again when the user pauses.
        is_left = cancel.is_cancelled();
      }
      if (is_left) {
        complete = false;
        kept_.erase(declaration.item->decl);
        continue;
      }
    }
    kept.generation = generation_;
    all_.insert(all_.end(), kept.found.begin(), kept.found.end());
  }
  std::erase_if(kept_, [&](const auto& entry) { return entry.second.generation != generation_; });
  if (is_tir) {
    Diagnostics found = findings_in_file(document, file);
    all_.insert(all_.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  if (!silenced.empty()) {
    std::erase_if(all_, [&](const Diagnostic& d) { return d.severity != Severity::Error && std::find(silenced.begin(), silenced.end(), d.code) != silenced.end(); });
  }
  all_.insert(all_.end(), file_problems.begin(), file_problems.end());
  return complete;
}

}  // namespace loopsmith::analysis
