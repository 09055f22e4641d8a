// Finds programs in statements that are not read: see unread_programs.h.
#include "frontend/unread_programs.h"

#include <algorithm>
#include <string_view>

#include "support/codes.h"

namespace loopsmith::frontend {

using namespace syntax;

namespace {

auto trimmed(std::string_view line) -> std::string_view {
  size_t begin = line.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

// `@T.prim_func(private=True)`, `@I.ir_module`, `@ir_module`: the last name before the arguments.
auto makes_program(std::string_view line) -> bool {
  if (line.empty() || line[0] != '@') { return false; }
  std::string_view name = line.substr(1, line.find_first_of("( \t#\r") - 1);
  if (size_t dot = name.rfind('.'); dot != std::string_view::npos) { name = name.substr(dot + 1); }
  return name == "prim_func" || name == "ir_module";
}

// The position of the name in `def name(` or `class name:`; npos for other lines.
auto name_in(std::string_view line) -> size_t {
  for (std::string_view word : {"def ", "class "}) {
    if (line.substr(0, word.size()) == word) { return line.find_first_not_of(' ', word.size()); }
  }
  return std::string_view::npos;
}

auto count_of(std::string_view line, std::string_view what) -> size_t {
  size_t n = 0;
  for (size_t at = line.find(what); at != std::string_view::npos; at = line.find(what, at + what.size())) { ++n; }
  return n;
}

// Searches the lines of a statement. Lines in strings are text, not programs.
void scan(std::string_view text, DeclId decl, uint32_t begin, Diagnostics& out) {
  bool is_string = false, is_program = false;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at), code = trimmed(line);
    bool was_string = is_string;
    if ((count_of(line, "\"\"\"") + count_of(line, "'''")) % 2 == 1) { is_string = !is_string; }
    if (!was_string && makes_program(code)) { is_program = true; }
    else if (size_t name = was_string ? std::string_view::npos : name_in(code); name != std::string_view::npos && is_program) {
      auto from = static_cast<uint32_t>(begin + at + (line.size() - code.size()) + name);
      auto length = static_cast<uint32_t>(code.find_first_of("(:[ \r", name) - name);
      if (name + length <= code.size()) { out.push_back(error(Code::NotChecked, Origin{decl, from, from + length, 0})); }
      is_program = false;
    }
    at = end + 1;
  }
}

}  // namespace

void report_unread_programs(const Item& item, Diagnostics& out) {
  if (item.text.find("prim_func") == std::string::npos && item.text.find("ir_module") == std::string::npos) { return; }
  const auto offsets = offsets_in(item);
  for (StmtPtr stmt : item.statements) {
    walk(*stmt, [&](const Node& node) {
      if (node.kind != Kind::OpaqueStmt) { return true; }
      auto offset = offsets.find(node.decl);
      if (offset == offsets.end()) { return false; }
      size_t begin = offset->second + node.span.begin;
      if (begin < item.text.size()) { scan(std::string_view(item.text).substr(begin, node.span.end - node.span.begin), node.decl, node.span.begin, out); }
      return false;
    });
  }
}

}  // namespace loopsmith::frontend
