// Remedies for frequent errors that the text shows: see remedies.h.
#include "frontend/remedies.h"

#include <string>
#include <string_view>
#include <unordered_map>

#include "frontend/objects.h"
#include "frontend/words.h"
#include "support/codes.h"

namespace loopsmith::frontend {

namespace {

// The code that a diagnostic underlines; empty if it is not in the item.
auto underlined(const syntax::Item& item, const Diagnostic& d) -> std::string_view {
  const syntax::Item* home = part_of(item, d.where.decl);
  if (!home || d.where.end > home->text.size()) { return {}; }
  return std::string_view(home->text).substr(d.where.begin, d.where.end - d.where.begin);
}

// `if x:`, where `x` is a value of the program.
void add_choice(Diagnostic& d, const syntax::Item& item) {
  std::string_view text = underlined(item, d);
  if (text.starts_with("max(") || text.starts_with("min(")) {
    d.remedies = {"write `T." + std::string(text.substr(0, 3)) + "(a, b)` for values of the program"};
    d.fixes = {{{d.where.decl, d.where.begin, d.where.begin, d.where.step}, "T."}};
    return;
  }
  d.remedies = {"use `T.if_then_else(condition, a, b)` for values, `T.all` and `T.any` for conditions, or an `if` statement of its own"};
}

// `T.Buffer((n, 16), "float32")` with an undefined `n`.
auto is_in_shape(const syntax::Item& item, const Diagnostic& d) -> bool {
  const syntax::Item* home = part_of(item, d.where.decl);
  if (!home || d.where.begin > home->text.size()) { return false; }
  std::string_view line = std::string_view(home->text).substr(0, d.where.begin);
  line = line.substr(line.rfind('\n') == std::string_view::npos ? 0 : line.rfind('\n') + 1);
  size_t call = line.rfind("uffer(");
  std::string_view shape = call == std::string_view::npos ? std::string_view() : line.substr(call + 6);
  return shape.find_first_of("([") != std::string_view::npos && shape.find_first_of(")]") == std::string_view::npos;
}

void add_definition(Diagnostic& d, const syntax::Item& item) {
  const std::string& name = d.args[0].second;
  static const std::unordered_map<std::string_view, std::string_view> constants = {{"true", "True"}, {"false", "False"}, {"none", "None"}, {"null", "None"}, {"nullptr", "None"}};
  if (auto meant = constants.find(name); meant != constants.end() && d.remedies.empty()) {
    d.remedies = {"did you mean `" + std::string(meant->second) + "`?"};
    d.fixes = {{d.where, std::string(meant->second)}};
    return;
  }
  if (d.remedies.empty() && is_in_shape(item, d)) { d.remedies = {"define the size as a variable before: `" + name + " = T.int32()`"}; }
  // A member of `T` that is written without it: `serial(16)`, `float32`.
  if (!namespace_t().as<eval::Namespace>()->find(Name(name))) { return; }
  d.remedies = {"did you mean `T." + name + "`?"};
  d.fixes = {{d.where, "T." + name}};
}

}  // namespace

void add_remedies(Diagnostics& diagnostics, const syntax::Item& item) {
  for (Diagnostic& d : diagnostics) {
    if (d.code == Code::MisspeltWord) {
      if (const syntax::Item* home = part_of(item, d.where.decl)) { place_word(d, home->text); }
    }
    if (d.code == Code::Deprecated) {
      if (const syntax::Item* home = part_of(item, d.where.decl)) { modernise(d, home->text); }
    }
    if (d.code == Code::NoTruthValue && d.remedies.empty()) { add_choice(d, item); }
    if (d.code == Code::WrongType && d.remedies.empty() && d.args.size() == 2 && d.args[0].second == "something with a length" && d.args[1].second.starts_with("buffer")) {
      d.remedies = {"take an extent of the buffer: `.shape[0]` is that of its first dimension"};
    }
    if (d.code == Code::UndefinedName && !d.args.empty()) { add_definition(d, item); }
  }
}

auto part_of(const syntax::Item& item, DeclId decl) -> const syntax::Item* {
  if (item.decl == decl) { return &item; }
  for (const syntax::Item::Member& member : item.members) {
    if (const syntax::Item* found = part_of(*member.item, decl)) { return found; }
  }
  return nullptr;
}

}  // namespace loopsmith::frontend
