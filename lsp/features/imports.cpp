// Completion, hovers and signatures for names of other files: see imports.h.
#include "lsp/features/imports.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "lsp/features/calls.h"
#include "support/text.h"
#include "workspace/imports.h"

namespace loopsmith::lsp {
namespace {

namespace fs = std::filesystem;
using workspace::Snapshot;

constexpr int most_entries = 2000;   // of a folder

/// The text of an import statement up to the cursor.
struct Written {
  uint32_t level = 0;
  std::vector<Name> path;      // whole names before the one at the cursor
  bool is_name = false;        // the module is complete, and the cursor is on a name of it
  bool wants_import = false;   // the module is complete, and the word `import` is next
  std::string prefix;
};

auto import_before(std::string_view text, uint32_t at) -> std::optional<Written> {
  std::string_view before = text.substr(0, at);
  // Names in brackets may continue over several lines.
  size_t open = before.rfind("import (");
  bool is_open = open != std::string_view::npos && before.find(')', open) == std::string_view::npos;
  size_t anchor = is_open ? open : before.size();
  size_t begin = anchor == 0 ? std::string_view::npos : before.rfind('\n', anchor - 1);
  std::string_view line = before.substr(begin == std::string_view::npos ? 0 : begin + 1);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.find('#') != std::string_view::npos) { return std::nullopt; }
  bool is_from = line.starts_with("from ");
  if (!is_from && !line.starts_with("import ")) { return std::nullopt; }
  line.remove_prefix(is_from ? 5 : 7);
  Written out;
  auto take_path = [&](std::string_view dotted) {
    while (!dotted.empty() && dotted[0] == '.') {
      ++out.level;
      dotted.remove_prefix(1);
    }
    for (size_t dot; (dot = dotted.find('.')) != std::string_view::npos; dotted.remove_prefix(dot + 1)) { out.path.emplace_back(dotted.substr(0, dot)); }
    return dotted;
  };
  auto last_word = [](std::string_view part) {
    return part.substr(name_begin(part, part.size()));
  };
  if (!is_from) {
    // `import a, b`: the last module.
    std::string_view last = line.substr(line.rfind(',') == std::string_view::npos ? 0 : line.rfind(',') + 1);
    last.remove_prefix(std::min(last.find_first_not_of(' '), last.size()));
    if (last.find(' ') != std::string_view::npos) { return std::nullopt; }
    out.prefix = take_path(last);
    return out;
  }
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  size_t end = 0;
  while (end < line.size() && (is_name_part(line[end]) || line[end] == '.')) { ++end; }
  if (end == line.size()) {
    out.prefix = take_path(line);
    return out;
  }
  std::string_view rest = take_path(line.substr(0, end));
  if (!rest.empty()) { out.path.emplace_back(rest); }
  line.remove_prefix(end);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (!line.starts_with("import ") && !line.starts_with("import(")) {
    out.wants_import = true;
    out.prefix = last_word(line);
    return out;
  }
  line.remove_prefix(7);
  out.is_name = true;
  out.prefix = last_word(line);
  // The word behind `as` is a new name of this file.
  std::string_view kept = line.substr(0, line.size() - out.prefix.size());
  return kept.ends_with(" as ") ? std::nullopt : std::optional(out);
}

auto kind_of(EntityKind kind) -> std::pair<CompletionKind, const char*> {
  switch (kind) {
    case EntityKind::Program: return {CompletionKind::Function, "program"};
    case EntityKind::Class: return {CompletionKind::Class, "module"};
    case EntityKind::Schedule: return {CompletionKind::Function, "schedule"};
    case EntityKind::Function: return {CompletionKind::Function, "function"};
    default: return {CompletionKind::Constant, "constant"};
  }
}

auto base_of(const std::string& path) -> std::string { return path.substr(path.rfind('/') + 1); }

/// Adds the names that a module defines, except names that it imports and names that begin with an underscore.
void add_given(Files& files, const Snapshot& file, Completion& out) {
  NameTable names = names_of(file);
  for (const auto& [name, index] : names.of_file) {
    const Entity& entity = names.entities[index];
    if (entity.imported != nowhere || entity.kind == EntityKind::Namespace || name.view().starts_with("_")) { continue; }
    auto [kind, what] = kind_of(entity.kind);
    int rank = entity.kind == EntityKind::Program || entity.kind == EntityKind::Class ? 0 : entity.kind == EntityKind::Function ? 1 : 2;
    out.items.push_back({name.str(), kind, fmt::format("{} of {}", what, base_of(files.path_of(file))), {}, {}, false, rank});
  }
}

/// Adds the modules, and folders with modules, that can complete a path.
void add_modules(Files& files, const Snapshot& snapshot, const Written& written, Completion& out) {
  std::string own = files.path_of(snapshot);
  std::set<std::string> seen;
  std::vector<Name> path = written.path;
  path.emplace_back("x");
  for (const std::string& candidate : workspace::module_paths(own, files.roots(), written.level, path)) {
    if (!candidate.ends_with("/x.tir")) { continue; }
    std::error_code failure;
    int left = most_entries;
    for (fs::directory_iterator entry(candidate.substr(0, candidate.size() - 6), fs::directory_options::skip_permission_denied, failure), end; !failure && entry != end && left > 0; entry.increment(failure), --left) {
      std::error_code ignored;
      bool is_folder = entry->is_directory(ignored);
      std::string extension = entry->path().extension().string();
      std::string name = is_folder ? entry->path().filename().string() : entry->path().stem().string();
      bool is_module = is_folder || extension == ".tir" || extension == ".py";
      bool is_importable = is_name(name) && !name.starts_with("__");
      if (!is_module || !is_importable || entry->path().string() == own || !seen.insert(name).second) { continue; }
      out.items.push_back({name, CompletionKind::Namespace, is_folder ? "folder" : entry->path().filename().string(), {}, {}, false, is_folder ? 2 : extension == ".tir" ? 0 : 1});
    }
  }
  if (written.level == 0 && written.path.empty()) {
    for (const char* known : {"tvm", "loopsmith"}) {
      if (seen.insert(known).second) { out.items.push_back({known, CompletionKind::Namespace, "", {}, {}, false, 3}); }
    }
  }
}

auto module_file(Files& files, const Snapshot& snapshot, uint32_t level, const std::vector<Name>& path) -> const Snapshot* {
  for (const std::string& candidate : workspace::module_paths(files.path_of(snapshot), files.roots(), level, path)) {
    if (const Snapshot* file = files.read(candidate)) { return file; }
  }
  return nullptr;
}

/// The module that a name of the file refers to, as dots and names; none: the name is not a module.
auto module_named(const Snapshot& snapshot, Name name) -> std::optional<std::pair<uint32_t, std::vector<Name>>> {
  auto bound = [](const syntax::ImportName& one) { return one.alias.name.empty() ? one.path.front().name : one.alias.name; };
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    for (const syntax::Stmt* statement : placed.item->statements) {
      std::vector<Name> path;
      auto add = [&](const syntax::List<syntax::Identifier>& parts) { for (const syntax::Identifier& part : parts) { path.push_back(part.name); } };
      if (const auto* import = statement->as<syntax::ImportStmt>()) {
        for (const syntax::ImportName& one : import->names) {
          if (one.path.empty() || !(bound(one) == name) || (one.alias.name.empty() && one.path.size() > 1)) { continue; }
          add(one.path);
          return std::pair(0U, path);
        }
      }
      if (const auto* from = statement->as<syntax::ImportFromStmt>()) {
        for (const syntax::ImportName& one : from->names) {
          if (one.path.empty() || !(bound(one) == name)) { continue; }
          add(from->module);
          add(one.path);
          return std::pair(from->level, path);
        }
      }
    }
  }
  return std::nullopt;
}

auto finished(Completion out, std::string_view prefix) -> Completion {
  std::erase_if(out.items, [&](const CompletionItem& item) { return !item.label.starts_with(prefix); });
  std::sort(out.items.begin(), out.items.end(), [](const CompletionItem& a, const CompletionItem& b) { return std::tie(a.rank, a.label) < std::tie(b.rank, b.label); });
  return out;
}

}  // namespace

auto import_completion(const std::function<Files&()>& files_of, const Snapshot& snapshot, uint32_t at) -> std::optional<Completion> {
  at = std::min(at, static_cast<uint32_t>(snapshot.text().size()));
  if (auto written = import_before(snapshot.text(), at)) {
    Completion out;
    out.replaced = {at - static_cast<uint32_t>(written->prefix.size()), at};
    static const Name tvm("tvm"), loopsmith("loopsmith");
    bool is_known = written->level == 0 && !written->path.empty() && (written->path[0] == tvm || written->path[0] == loopsmith);
    if (is_known && !written->wants_import) { return std::nullopt; }
    Files& files = files_of();
    if (written->wants_import) {
      out.items.push_back({"import", CompletionKind::Keyword, "", {}, {}, false, 0});
    } else if (written->is_name) {
      if (const Snapshot* file = module_file(files, snapshot, written->level, written->path)) { add_given(files, *file, out); }
      add_modules(files, snapshot, *written, out);
      std::erase_if(out.items, [](const CompletionItem& item) { return item.rank == 3; });
    } else {
      add_modules(files, snapshot, *written, out);
    }
    return finished(std::move(out), written->prefix);
  }
  // `k.` and `lib.tiles.`: the name refers to a module.
  const std::string& text = snapshot.text();
  auto begin = static_cast<uint32_t>(name_begin(text, at));
  if (begin == 0 || text[begin - 1] != '.') { return std::nullopt; }
  auto first = static_cast<uint32_t>(dotted_name_begin(text, begin - 1));
  std::string_view object = std::string_view(text).substr(first, begin - 1 - first);
  if (object.empty() || object.find('.') != std::string_view::npos) { return std::nullopt; }
  auto what = module_named(snapshot, Name(object));
  if (!what) { return std::nullopt; }
  Files& files = files_of();
  const Snapshot* file = module_file(files, snapshot, what->first, what->second);
  if (file == nullptr) { return std::nullopt; }
  Completion out;
  out.replaced = {begin, at};
  add_given(files, *file, out);
  return finished(std::move(out), std::string_view(text).substr(begin, at - begin));
}

auto imported_name(Files& files, const Snapshot& snapshot, uint32_t at) -> std::optional<std::pair<const Snapshot*, Name>> {
  auto place = definition(files, snapshot, at);
  if (!place || place->file == &snapshot) { return std::nullopt; }
  return std::pair(place->file, Name(std::string_view(place->file->text()).substr(place->span.begin, place->span.end - place->span.begin)));
}

auto imported_hover(Files& files, const Snapshot& snapshot, uint32_t at, const Machine& machine) -> std::optional<HoverInfo> {
  auto place = definition(files, snapshot, at);
  if (!place || place->file == &snapshot) { return std::nullopt; }
  std::optional<HoverInfo> info;
  if (place->file->is_checked()) {
    info = hover(*place->file, place->span.begin, machine);
  } else {
    // The file is not open in the editor.
    workspace::Document document(place->file->name(), 0, place->file->text());
    document.check();
    info = hover(*document.snapshot(), place->span.begin, machine);
  }
  if (!info) { return std::nullopt; }
  const std::string& text = snapshot.text();
  info->span = {static_cast<uint32_t>(name_begin(text, at)), static_cast<uint32_t>(name_end(text, at))};
  info->facts.push_back({"file", fmt::format("in `{}`", base_of(files.path_of(*place->file)))});
  return info;
}

}  // namespace loopsmith::lsp
