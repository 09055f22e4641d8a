// Removing declarations and steps, then replacing names: see bundle.h.
#include "lsp/features/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "frontend/file.h"
#include "ir/equal.h"
#include "lsp/features/lines.h"
#include "lsp/features/names.h"
#include "lsp/features/rewrites.h"
#include "lsp/features/steps.h"
#include "schedule/primitive.h"
#include "support/codes.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// The largest number of reduced copies of the file that are tried.
constexpr int most_tried = 150;

/// The subject of a report: an error by its code, a schedule that runs, or a program.
struct Case {
  Code code{};
  bool has_error = false;
  Name schedule;                     // empty: none
  Name program;
};

auto analysed(const std::string& name, const std::string& text, const CancelToken& cancel) -> std::unique_ptr<workspace::Document> {
  auto document = std::make_unique<workspace::Document>(name, 1, text);
  document->check();
  return document->replay(cancel) ? std::move(document) : nullptr;
}

auto shows(const workspace::Document& document, const Case& wanted) -> bool {
  workspace::SnapshotPtr snapshot = document.snapshot();
  bool has_errors = false;
  for (const workspace::Finding& finding : snapshot->findings()) {
    if (finding.severity != Severity::Error) { continue; }
    has_errors = true;
    if (wanted.has_error && finding.code == wanted.code) { return true; }
  }
  if (wanted.has_error || has_errors) { return false; }
  for (const script::FileSchedule& one : snapshot->schedules()) {
    if (!wanted.schedule.empty() && one.name == wanted.schedule) { return one.run != nullptr && one.run->is_complete; }
  }
  return wanted.schedule.empty() && std::any_of(snapshot->programs().begin(), snapshot->programs().end(), [&](const workspace::Program& one) { return one.name == wanted.program && one.module; });
}

/// Writes a declaration as text; for an import, the declarations of the imported file.
void put_declaration(const syntax::Item& item, const std::shared_ptr<frontend::Modules>& modules, std::set<const frontend::File*>& taken, std::vector<std::string>& out) {
  if (item.kind == syntax::ItemKind::Comments) { return; }
  const auto* from = item.statements.size() != 1 ? nullptr : item.statements[0]->as<syntax::ImportFromStmt>();
  std::vector<Name> path;
  for (size_t i = 0; from != nullptr && i < from->module.size(); ++i) { path.push_back(from->module[static_cast<uint32_t>(i)].name); }
  std::shared_ptr<frontend::File> file = from != nullptr && modules ? modules->find(from->level, path) : nullptr;
  if (file == nullptr) {
    out.push_back(item.text);
    return;
  }
  if (taken.insert(file.get()).second) {
    for (size_t i = 0; i < file->size(); ++i) { put_declaration(*file->item(i), file->modules(), taken, out); }
  }
  for (const syntax::ImportName& one : from->names) {
    if (!one.alias.name.empty() && one.path.size() == 1) { out.push_back(fmt::format("{} = {}", one.alias.name.view(), one.path.front().name.view())); }
  }
}

/// The declarations that the case needs, as text.
auto without_the_rest(const Snapshot& snapshot, const Case& wanted, const CancelToken& cancel, ReportedCase& out) -> std::string {
  std::vector<std::string> parts;
  std::set<const frontend::File*> taken;
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) { put_declaration(*placed.item, snapshot.modules(), taken, parts); }
  out.of_declarations = parts.size();
  auto joined = [](const std::vector<std::string>& list) { return fmt::format("{}\n", fmt::join(list, "\n\n\n")); };
  int tried = 0;
  for (size_t size = std::max<size_t>(1, parts.size() / 2); size > 0; size /= 2) {
    for (size_t end = parts.size(); end >= size && tried < most_tried && !cancel.is_cancelled(); --end) {
      if (end > parts.size()) { continue; }
      std::vector<std::string> fewer = parts;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(end - size), fewer.begin() + static_cast<std::ptrdiff_t>(end));
      ++tried;
      auto document = analysed(snapshot.name(), joined(fewer), cancel);
      if (document != nullptr && shows(*document, wanted)) { parts = std::move(fewer); }
    }
  }
  out.declarations = parts.size();
  return joined(parts);
}

/// Strings of the language: scopes, thread axes, dtypes and the like.
auto is_known_string(std::string_view text) -> bool {
  static const std::set<std::string_view> known = {
      "", "global", "shared", "shared.dyn", "local", "warp", "read", "write", "handle", "bool", "int", "global_symbol", "tir.noalias", "main",
      "software_pipeline_stage", "software_pipeline_order", "software_pipeline_async_stages", "double_buffer_scope", "script_parsing_detect_access", "zero", "default"};
  if (known.contains(text)) { return true; }
  for (std::string_view head : {"pragma_", "meta_schedule.", "threadIdx.", "blockIdx.", "vthread", "wmma.", "llvm", "cuda", "rocm", "tir."}) {
    // A known head followed by one word or by options is a word of the language.
    if (text.starts_with(head) && std::all_of(text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' || c == '=' || c == ' ' || c == '+' || c == ','; })) { return true; }
  }
  if (std::all_of(text.begin(), text.end(), [](char c) { return c == 'S' || c == 'R' || c == 'O'; })) { return true; }
  for (std::string_view head : {"int", "uint", "float", "bfloat"}) {
    std::string_view rest = text.starts_with(head) ? text.substr(head.size()) : std::string_view();
    if (!rest.empty() && is_digit(rest[0]) && rest.size() < 12) { return true; }
  }
  return false;
}

auto head_of(EntityKind kind) -> const char* {
  switch (kind) {
    case EntityKind::Namespace: return "n";
    case EntityKind::Class: return "K";
    case EntityKind::Program: return "program";
    case EntityKind::Schedule: return "schedule";
    case EntityKind::Function: return "helper";
    case EntityKind::Constant: return "N";
    case EntityKind::Variable: return "x";
    case EntityKind::Parameter: return "p";
    case EntityKind::Buffer: return "Buf";
    case EntityKind::Loop: return "i";
    case EntityKind::Iter: return "v";
    case EntityKind::Block: return "B";
  }
  return "x";
}

auto words_of(std::string_view text) -> std::set<std::string> {
  std::set<std::string> words;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_name_part(text[end])) { ++end; }
    if (end > i) { words.insert(std::string(text.substr(i, end - i))); }
    i = std::max(end, i + 1);
  }
  return words;
}

/// True for a word of the language, and for a replacement name that this file made.
auto is_of_language(const std::string& word, const std::string& text) -> bool {
  static const std::set<std::string> language = words_of(
      "def for in with as return if elif else and or not is None True False import from class pass while break continue lambda assert del T tir I ls tvm script s_tir Schedule schedule Buffer root "
      "range len enumerate list tuple zip reversed min max int float bool str sorted abs sum text ignore file __future__ annotations");
  if (is_digit(word[0]) || language.contains(word) || schedule::find_primitive(word) != nullptr) { return true; }
  for (int kind = 0; kind <= static_cast<int>(EntityKind::Block); ++kind) {
    std::string_view head = head_of(static_cast<EntityKind>(kind));
    if (word.starts_with(head) && word.size() > head.size() && std::all_of(word.begin() + static_cast<std::ptrdiff_t>(head.size()), word.end(), is_digit)) { return true; }
  }
  if (word.starts_with("text") && std::all_of(word.begin() + 4, word.end(), is_digit)) { return true; }
  for (const schedule::Primitive* row : schedule::all_primitives()) {
    for (const schedule::Param& param : row->params) {
      if (param.name == word) { return true; }
    }
  }
  // The word counts as one of the language if every occurrence is behind a namespace of the language.
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    bool is_whole = (at == 0 || !is_name_part(text[at - 1])) && (at + word.size() == text.size() || !is_name_part(text[at + word.size()]));
    std::string_view before = std::string_view(text).substr(0, at);
    bool is_behind = before.ends_with("T.") || before.ends_with("I.") || before.ends_with("tir.") || before.ends_with("ls.") || before.ends_with("T.axis.");
    if (is_whole && !is_behind) { return false; }
  }
  return true;
}

/// A text without blanks at the ends of lines, and with two empty lines in a row at most: comments that were removed leave empty lines.
auto without_empty_lines(std::string_view text) -> std::string {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    size_t last = line.find_last_not_of(" \t\r");
    bool was_blank = out.ends_with("\n\n\n");
    if (last != std::string_view::npos || !was_blank) { out += std::string(last == std::string_view::npos ? std::string_view() : line.substr(0, last + 1)) + "\n"; }
    begin = end + 1;
  }
  return out;
}

/// A text with its names replaced. `known` receives the words of strings and arguments that belong to the language.
auto nameless(const Snapshot& snapshot, std::set<std::string>& known) -> std::string {
  std::vector<TextEdit> edits;
  NameTable names = names_of(snapshot);
  std::map<uint32_t, std::string> called;
  std::map<std::string, int> count;
  // All uses of a name get the same replacement, whatever they refer to, so that keywords of calls still match.
  std::map<std::string, std::string> by_name;
  for (const Occurrence& o : names.occurrences) {
    const Entity& entity = names.entities[o.entity];
    bool is_ours = entity.is_bound && entity.imported == nowhere && entity.kind != EntityKind::Namespace;
    // An undefined name is replaced too, and stays undefined.
    bool is_undefined = !entity.is_bound && entity.imported == nowhere && entity.kind != EntityKind::Namespace && !is_of_language(entity.name.str(), entity.name.str());
    if (!is_ours && !is_undefined && entity.kind != EntityKind::Block) { continue; }
    if (entity.kind == EntityKind::Block && entity.name == "root") { continue; }
    auto [place, is_new] = by_name.try_emplace(entity.name.str());
    if (is_new) {
      const char* head = head_of(entity.kind);
      place->second = fmt::format("{}{}", head, ++count[head]);
    }
    edits.push_back({o.span, place->second});
  }
  auto taken = [&](Span span) { return std::any_of(edits.begin(), edits.end(), [&](const TextEdit& edit) { return edit.span.begin < span.end && span.begin < edit.span.end; }); };
  std::map<std::string, std::string> strings;
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    auto all = [&](const syntax::Item& item, uint32_t begin, auto&& self) -> void {
      for (const syntax::Comment& comment : item.comments) {
        Span span{begin + comment.span.begin, begin + comment.span.end};
        if (!comment.text.starts_with("# ls:")) { edits.push_back({span, ""}); }
      }
      for (const syntax::Stmt* statement : item.statements) {
        syntax::walk(*statement, [&](const syntax::Node& node) {
          auto span = snapshot.syntax().resolve(node.origin());
          if (!span) { return true; }
          if (const auto* text = node.as<syntax::StringExpr>(); text != nullptr && is_known_string(text->value)) { known.merge(words_of(text->value)); }
          if (const auto* text = node.as<syntax::StringExpr>(); text != nullptr && !is_known_string(text->value) && !taken({span->begin + 1, span->end - 1})) {
            std::string& other = strings[std::string(text->value)];
            // A helper may name a block of an unknown program.
            auto name = by_name.find(std::string(text->value));
            if (other.empty()) { other = name != by_name.end() ? "\"" + name->second + "\"" : fmt::format("\"text{}\"", strings.size()); }
            edits.push_back({*span, other});
          }
          if (node.as<syntax::FStringExpr>() != nullptr) {
            edits.push_back({*span, "\"text\""});
            return false;
          }
          if (const auto* call = node.as<syntax::CallExpr>()) {
            const auto* callee = call->callee->as<syntax::AttributeExpr>();
            const auto* space = callee != nullptr ? callee->object->as<syntax::NameExpr>() : nullptr;
            bool is_ours = space != nullptr && (space->name == "T" || space->name == "I" || space->name == "ls" || space->name == "tir");
            for (const syntax::Keyword& keyword : call->keywords) {
              if (is_ours) { known.insert(keyword.name.name.str()); }
              Span where{span->begin - node.span.begin + keyword.name.span.begin, span->begin - node.span.begin + keyword.name.span.end};
              auto other = by_name.find(keyword.name.name.str());
              bool is_primitive = call->callee->as<syntax::AttributeExpr>() != nullptr;
              if (!is_primitive && other != by_name.end() && !taken(where)) { edits.push_back({where, other->second}); }
            }
          }
          return true;
        });
      }
      for (const syntax::Item::Member& member : item.members) { self(*member.item, begin + member.offset, self); }
    };
    all(*placed.item, placed.offset, all);
  }
  std::sort(edits.begin(), edits.end(), [](const TextEdit& a, const TextEdit& b) { return std::pair(a.span.begin, a.span.end) < std::pair(b.span.begin, b.span.end); });
  std::vector<TextEdit> apart;
  for (TextEdit& edit : edits) {
    if (apart.empty() || edit.span.begin >= apart.back().span.end) { apart.push_back(std::move(edit)); }
  }
  return without_empty_lines(with_edits(snapshot.text(), apart));
}

}  // namespace

auto reported_case(const Snapshot& snapshot, uint32_t at, const CancelToken& cancel) -> ReportedCase {
  ReportedCase out;
  Case wanted;
  const workspace::Finding* about = nullptr;
  std::vector<workspace::Finding> findings = snapshot.findings();
  uint32_t line = snapshot.lines().line_of(std::min(at, static_cast<uint32_t>(snapshot.text().size())));
  for (const workspace::Finding& finding : findings) {
    if (finding.severity != Severity::Error) { continue; }
    bool is_here = snapshot.lines().line_of(finding.span.begin) <= line && line <= snapshot.lines().line_of(finding.span.end);
    if (about == nullptr || is_here) { about = &finding; }
    if (is_here) { break; }
  }
  uint32_t place = about != nullptr ? about->span.begin : at;
  if (about != nullptr) {
    wanted.has_error = true;
    wanted.code = about->code;
  }
  if (const script::FileSchedule* schedule = schedule_at(snapshot, place)) { wanted.schedule = schedule->name; }
  for (const workspace::Program& program : snapshot.programs()) {
    if (program.decl == snapshot.syntax().whole(snapshot.syntax().origin_at(place).decl)) { wanted.program = program.name; }
  }
  if (!wanted.has_error && wanted.schedule.empty() && wanted.program.empty()) {
    out.left_out = "there is no error, and no program or schedule at the cursor";
    return out;
  }
  std::string text = without_the_rest(snapshot, wanted, cancel, out);
  // Remove steps that the error does not need. A schedule that runs to its end needs all.
  if (auto document = wanted.has_error ? analysed(snapshot.name(), text, cancel) : nullptr) {
    for (const script::FileSchedule& one : document->snapshot()->schedules()) {
      if (!(one.name == wanted.schedule)) { continue; }
      Span begin = document->snapshot()->resolve(one.where).value_or(Span{});
      TextRewrite fewer = minimise_schedule(*document->snapshot(), begin.begin, Removed::Statements, cancel);
      text = with_edits(text, fewer.edits);
      break;
    }
    // Remove declarations that only the removed steps needed.
    size_t all = out.of_declarations;
    text = without_the_rest(*analysed(snapshot.name(), text, {})->snapshot(), wanted, cancel, out);
    out.of_declarations = all;
  }
  auto smallest = analysed(snapshot.name(), text, cancel);
  if (smallest == nullptr) {
    out.left_out = "it was cancelled";
    return out;
  }
  // Now every word must be a word of the language or a replacement name.
  std::set<std::string> known;
  std::string bare = nameless(*smallest->snapshot(), known);
  for (const std::string& word : words_of(bare)) {
    if (is_of_language(word, bare) || known.contains(word)) { continue; }
    out.left_out = "a name or a text of the file would be left in it";
    return out;
  }
  auto scrubbed = analysed(snapshot.name().ends_with(".py") ? "report.py" : "report.tir", bare, cancel);
  if (scrubbed == nullptr) {
    out.left_out = "it was cancelled";
    return out;
  }
  // Since names changed, only the presence or absence of the error is compared.
  std::vector<workspace::Finding> found = scrubbed->snapshot()->findings();
  bool has_errors = std::any_of(found.begin(), found.end(), [](const workspace::Finding& finding) { return finding.severity == Severity::Error; });
  if (wanted.has_error ? !shows(*scrubbed, wanted) : has_errors) {
    out.left_out = "without its names the file does not show it any more";
    return out;
  }
  constexpr const char* severities[] = {"error", "warning", "information", "hint"};
  for (const workspace::Finding& finding : found) { out.codes.push_back(fmt::format("{}[{}]", severities[static_cast<size_t>(finding.severity)], code_id(finding.code))); }
  out.text = std::move(bare);
  return out;
}

}  // namespace loopsmith::lsp
