// Diagnostics for people at a terminal, and as JSON lines for programs:
//
//     row_sum.tir:31:9: error: cannot apply `fuse` to `i` and `k`: `k` is not the only statement in `i` [loop-not-only-child]
//        31 |     sch.fuse(i, k)
//           |         ^^^^
//     row_sum.tir:12:13: note: block `C_init` also runs inside `i`
//     help: fuse before `decompose_reduction`
//
// Lines count from 1, columns from 1 in characters (code points; a tab is one). Rendering does not depend on documents: the caller passes a function that
// finds the place of an origin.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "support/diagnostic.h"
#include "support/origin.h"

namespace loopsmith::driver {

struct Located {
  const SourceText* text = nullptr;
  Span span;
};
using Locate = std::function<std::optional<Located>(const Origin&)>;

struct RenderOptions {
  bool color = false;
  std::string file = {};      // the file of a diagnostic without a place
};

/// Several lines, each with a line break.
[[nodiscard]] auto render(const Diagnostic& diagnostic, const Locate& locate, const RenderOptions& options) -> std::string;
/// {"file", "line", "column", "end_line", "end_column", "severity", "code", "message", "notes", "help", "fixes"}
[[nodiscard]] auto render_json(const Diagnostic& diagnostic, const Locate& locate, const std::string& file) -> nlohmann::json;

/// Line and column from 1, the column in characters.
struct HumanPosition { uint32_t line = 1; uint32_t column = 1; };
[[nodiscard]] auto human_position(const SourceText& text, uint32_t offset) -> HumanPosition;

/// The width of a text in columns of a terminal: wide characters take two, combining ones none.
[[nodiscard]] auto display_width(std::string_view utf8) -> size_t;

}  // namespace loopsmith::driver
