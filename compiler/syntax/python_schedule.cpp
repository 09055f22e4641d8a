// Imports of a file, and the other form of a schedule: see python_schedule.h.
#include "support/text.h"
#include "syntax/python_schedule.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace loopsmith::syntax {
namespace {

/// A name that a file defines. `path`: the imported module or member, "tvm.tir"; empty for other definitions.
struct Bound { std::string name; std::string path; };

auto dotted(const List<Identifier>& path) -> std::string {
  std::string out;
  for (const Identifier& part : path) { out += (out.empty() ? "" : ".") + part.name.str(); }
  return out;
}

auto behind_line(std::string_view text, size_t at) -> uint32_t {
  size_t end = text.find('\n', at);
  return static_cast<uint32_t>(end == std::string_view::npos ? text.size() : end + 1);
}

/// The names at the top of the file, including its branches, but not its functions and classes.
auto bound_in(const Document& document) -> std::vector<Bound> {
  std::vector<Bound> out;
  auto bind = [&](const ImportName& one, const std::string& from) {
    if (one.path.empty()) { return; }
    bool is_renamed = !one.alias.name.empty();
    // `import tvm.tir` binds `tvm`.
    std::string path = from.empty() && !is_renamed ? one.path.front().name.str() : dotted(one.path);
    out.push_back({is_renamed ? one.alias.name.str() : one.path.front().name.str(), from.empty() ? path : from + "." + path});
  };
  for (const PlacedItem& placed : document.items()) {
    if (placed.item->kind == ItemKind::Opaque) {
      // `try:` and similar statements are not part of the language; their imports count.
      std::string_view text = placed.item->text;
      for (size_t at = 0; at < text.size(); at = behind_line(text, at)) {
        std::string_view line = text.substr(at, behind_line(text, at) - at);
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        if (!line.starts_with("import ") && !line.starts_with("from ")) { continue; }
        for (Bound& one : bound_in(Document(std::string(line)))) { out.push_back(std::move(one)); }
      }
    }
    if (!placed.item->name.empty()) { out.push_back({placed.item->name.str(), {}}); }
    for (const Stmt* statement : placed.item->statements) {
      walk(*statement, [&](const Node& node) {
        if (const auto* import = node.as<ImportStmt>()) {
          for (const ImportName& one : import->names) { bind(one, {}); }
        } else if (const auto* from = node.as<ImportFromStmt>()) {
          for (const ImportName& one : from->names) { bind(one, std::string(from->level, '.') + dotted(from->module)); }
        }
        return node.kind != Kind::FunctionDef && node.kind != Kind::ClassDef;
      });
    }
  }
  return out;
}

auto binds(const std::vector<Bound>& bound, std::string_view name) -> bool {
  return std::any_of(bound.begin(), bound.end(), [&](const Bound& one) { return one.name == name; });
}

/// The position behind the imports at the top of the file; without imports, behind the first comments and the docstring.
auto place_of_imports(const Document& document, bool& is_first) -> uint32_t {
  const std::string& text = document.text();
  uint32_t place = 0;
  is_first = true;
  for (const PlacedItem& placed : document.items()) {
    if (placed.item->kind == ItemKind::Import) {
      place = behind_line(text, placed.end() > placed.offset && text[placed.end() - 1] == '\n' ? placed.end() - 1 : placed.end());
      is_first = false;
    } else if (placed.item->kind == ItemKind::Function || placed.item->kind == ItemKind::Class) {
      break;
    }
  }
  if (!is_first) { return place; }
  while (place < text.size() && text[place] == '#') { place = behind_line(text, place); }
  size_t next = std::min(text.find_first_not_of("\r\n", place), text.size());
  std::string_view quote = std::string_view(text).substr(next, 3);
  size_t end = quote == "\"\"\"" || quote == "'''" ? text.find(quote, next + 3) : std::string::npos;
  return end == std::string::npos ? place : behind_line(text, end);
}

auto lines_at(const Document& document, std::string lines) -> MissingImports {
  if (lines.empty() || document.text().empty()) { return {std::move(lines), 0}; }
  bool is_first = false;
  MissingImports out{std::move(lines), 0};
  out.offset = place_of_imports(document, is_first);
  if (is_first && document.text()[std::min<size_t>(out.offset, document.text().size() - 1)] != '\n') { out.lines += "\n\n"; }
  // The last line of the text may have no end.
  if (out.offset > 0 && document.text()[out.offset - 1] != '\n') { out.lines.insert(0, "\n"); }
  return out;
}

auto has_word(std::string_view text, std::string_view word) -> bool {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (at == 0 || (!is_name_part(text[at - 1]) && text[at - 1] != '.')) { return true; }
  }
  return false;
}

}  // namespace

auto has_ls(const Document& document) -> bool { return binds(bound_in(document), "ls"); }

auto python_form(const Document& document) -> PythonForm {
  std::vector<Bound> bound = bound_in(document);
  PythonForm form;
  const bool is_newest = has_word(document.text(), "T.sblock(") || has_word(document.text(), "Ts.sblock(");
  if (is_newest) { form.looks_up = "get_sblock"; }
  for (std::string_view space : {"tir", "s_tir"}) {
    bool has_it = std::any_of(bound.begin(), bound.end(), [&](const Bound& one) { return one.name == space && (one.path == std::string("tvm.") + std::string(space)); });
    if (has_it) {
      form.maker = std::string(space) + ".Schedule";
      return form;
    }
  }
  std::string space = is_newest ? "s_tir" : "tir";
  if (!binds(bound, space)) {
    form.maker = space + ".Schedule";
    form.missing = lines_at(document, "from tvm import " + space + "\n");
    return form;
  }
  // The file uses the name for something else: `from tvm.script import tir`.
  form.maker = "tvm." + space + ".Schedule";
  bool has_tvm = std::any_of(bound.begin(), bound.end(), [](const Bound& one) { return one.name == "tvm" && one.path == "tvm"; });
  if (!has_tvm) { form.missing = lines_at(document, "import tvm\n"); }
  return form;
}

auto missing_imports(const Document& document, const PythonForm& form) -> MissingImports {
  std::vector<Bound> bound = bound_in(document);
  std::string lines = form.missing.lines.substr(0, form.missing.lines.find('\n') + 1);
  if (has_word(document.text(), "I.") && !binds(bound, "I")) { lines += "from tvm.script import ir as I\n"; }
  if (has_word(document.text(), "T.") && !binds(bound, "T")) { lines += "from tvm.script import tir as T\n"; }
  return lines_at(document, std::move(lines));
}

auto python_schedule(std::string_view function, const PythonForm& form) -> std::string {
  size_t open = function.find('(');
  size_t end = function.find_first_of(",)", open);
  size_t head = function.find("def ");
  size_t name_end = function.find('(', head);
  size_t body = function.find('\n', head);
  if (open > head || head == std::string_view::npos || name_end == std::string_view::npos || body == std::string_view::npos) { return std::string(function); }
  std::string_view program = function.substr(open + 1, end - open - 1);
  std::string out(function.substr(head, name_end - head));
  out += "() -> " + form.maker + ":\n    sch = " + form.maker + "(" + std::string(program) + ")\n";
  std::string_view rest = function.substr(body + 1);
  while (!rest.empty()) {
    size_t line_end = std::min(rest.find('\n'), rest.size());
    std::string line(rest.substr(0, line_end));
    rest.remove_prefix(std::min(line_end + 1, rest.size()));
    constexpr std::string_view look_up = ".get_block(";
    if (size_t at = line.find(look_up); at != std::string::npos && line.find('#') > at) { line.replace(at + 1, look_up.size() - 2, form.looks_up); }
    if (line != "    pass") { out += line + "\n"; }
  }
  return out + "    return sch\n";
}

}  // namespace loopsmith::syntax
