// Snapshots to edits: see formatting.h.
#include "lsp/features/formatting.h"

namespace loopsmith::lsp {
namespace {

auto options_of(const workspace::Snapshot& snapshot) -> format::FormatOptions {
  return {.is_python = format::is_python_file(snapshot.name()), .range = {}};
}

}  // namespace

auto formatting(const workspace::Snapshot& snapshot) -> std::vector<format::Edit> { return format::format_document(snapshot.syntax(), options_of(snapshot)); }

auto range_formatting(const workspace::Snapshot& snapshot, Span span) -> std::vector<format::Edit> {
  format::FormatOptions options = options_of(snapshot);
  // A selection of whole lines ends at the beginning of the next one.
  if (span.end > span.begin && snapshot.text()[span.end - 1] == '\n') { --span.end; }
  options.range = span;
  return format::format_document(snapshot.syntax(), options);
}

auto on_type_formatting(const workspace::Snapshot& snapshot, uint32_t at) -> std::vector<format::Edit> {
  return format::format_on_newline(snapshot.syntax(), at, options_of(snapshot));
}

}  // namespace loopsmith::lsp
