// Converts values to text: format specifications of f-strings and `str.format`, and `%`.
#pragma once

#include <optional>
#include <string>

#include "eval/value.h"

namespace loopsmith::eval {

/// The first position of a text in another, from an offset on; npos: there is none. Takes linear time in both lengths, for all texts.
[[nodiscard]] auto find_text(const std::string& in, const std::string& text, size_t from = 0) -> size_t;

/// The result of `format(value, spec)`; none: an error was reported.
[[nodiscard]] auto format_value(Evaluator& evaluator, const Argument& value, std::string_view spec) -> std::optional<std::string>;
/// `text % value`.
[[nodiscard]] auto format_percent(Evaluator& evaluator, const std::string& text, const Argument& value, Origin where) -> Value;
/// `text.format(...)`.
[[nodiscard]] auto format_braces(Evaluator& evaluator, const std::string& text, const Arguments& arguments) -> Value;

}  // namespace loopsmith::eval
