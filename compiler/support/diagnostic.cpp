// The catalogue of diagnostics, and building a diagnostic: see diagnostic.h.
#include "support/diagnostic.h"

#include "support/message_text.h"

namespace loopsmith {
namespace {

struct Row { std::string_view id; std::string_view text; Severity severity; };

constexpr Row rows[] = {
#define DIAGNOSTIC(code, id, severity, text) {id, text, Severity::severity},
#include "support/diagnostics.def"
#undef DIAGNOSTIC
};

}  // namespace

auto code_id(Code code) -> std::string_view { return rows[static_cast<size_t>(code)].id; }
auto code_text(Code code) -> std::string_view { return rows[static_cast<size_t>(code)].text; }
auto code_severity(Code code) -> Severity { return rows[static_cast<size_t>(code)].severity; }

auto all_codes() -> std::vector<Code> {
  std::vector<Code> codes;
  for (size_t i = 0; i < std::size(rows); ++i) { codes.push_back(static_cast<Code>(i)); }
  return codes;
}

auto error(Code code, Origin where) -> Diagnostic {
  Diagnostic diagnostic;
  diagnostic.code = code;
  diagnostic.severity = code_severity(code);
  diagnostic.where = where;
  return diagnostic;
}

auto Diagnostic::message() const -> std::string { return fill_message(code_text(code), args); }

auto Diagnostic::arg(std::string_view name, std::string_view value) && -> Diagnostic&& {
  args.emplace_back(name, value);
  return std::move(*this);
}
auto Diagnostic::arg(std::string_view name, int64_t value) && -> Diagnostic&& {
  args.emplace_back(name, std::to_string(value));
  return std::move(*this);
}
auto Diagnostic::note(Origin at, std::string message, uint64_t node_id) && -> Diagnostic&& {
  notes.push_back({at, std::move(message), node_id});
  return std::move(*this);
}
auto Diagnostic::remedy(std::string text) && -> Diagnostic&& {
  remedies.push_back(std::move(text));
  return std::move(*this);
}
auto Diagnostic::fix(Origin at, std::string replacement) && -> Diagnostic&& {
  fixes.push_back({at, std::move(replacement)});
  return std::move(*this);
}
auto Diagnostic::at_node(uint64_t node_id) && -> Diagnostic&& {
  node_ids.push_back(node_id);
  return std::move(*this);
}

auto has_errors(const Diagnostics& diagnostics) -> bool {
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::Error) { return true; }
  }
  return false;
}

}  // namespace loopsmith
