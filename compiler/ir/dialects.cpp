// Names of the dialects: see dialects.h.
#include "ir/dialects.h"

namespace loopsmith::dialects {
namespace {

struct Row { Dialect dialect; std::string_view name, versions; };
constexpr Row rows[] = {
    {block, "block", "until 0.23"},
    {sblock, "sblock", "0.24"},
    {s_tir, "s_tir", "0.25 and 0.26"},
    {ts, "ts", "September 2026"},
    {tensor, "tensor", "since October 2026"},
};
struct Version { std::string_view text; Dialect dialect; };
constexpr Version versions[] = {
    {"0.19", block}, {"0.20", block}, {"0.21", block}, {"0.22", block}, {"0.23", block}, {"0.24", sblock}, {"0.25", s_tir}, {"0.26", s_tir}, {"0.27", ts},
};

}  // namespace

auto name_of(Dialect d) -> std::string_view {
  for (const Row& row : rows) {
    if (row.dialect == d) { return row.name; }
  }
  return "block";
}

auto versions_of(Dialect d) -> std::string_view {
  for (const Row& row : rows) {
    if (row.dialect == d) { return row.versions; }
  }
  return {};
}

auto named(std::string_view text) -> std::optional<Dialect> {
  for (const Row& row : rows) {
    if (row.name == text) { return row.dialect; }
  }
  for (const Version& version : versions) {
    if (version.text == text) { return version.dialect; }
  }
  return {};
}

}  // namespace loopsmith::dialects
