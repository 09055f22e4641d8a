// The reason of a diagnostic: a row of the catalogue reasons.def with its arguments. A code states the refused action ("cannot inline block
// `B`"), and a reason states one of the causes ("its body is not a single store"). Texts of other programs, such as a compiler's message, are
// arguments of a row as well.
#pragma once

#include <concepts>

#include "support/diagnostic.h"

namespace loopsmith {

/// A row of the catalogue. The enumerators are in support/reasons.h, so that a new row recompiles only files that use enumerators.
enum class Why : uint16_t;

struct Reason {
  Why why{};
  std::vector<std::pair<std::string, std::string>> args;

  /// The catalogue's text with the arguments filled in.
  [[nodiscard]] auto text() const -> std::string;

  // Building, as in `because(Why::ReadsAndWrites).arg("buffer", name)`.
  auto arg(std::string_view name, std::string_view value) && -> Reason&&;
  template <std::integral T>
    requires(!std::same_as<T, char>)
  auto arg(std::string_view name, T value) && -> Reason&& { return std::move(*this).arg(name, std::to_string(value)); }
};

[[nodiscard]] auto because(Why why) -> Reason;

/// The text of a row, with its `{arguments}`.
[[nodiscard]] auto reason_text(Why why) -> std::string_view;
/// All rows, in the order of the catalogue.
[[nodiscard]] auto all_reasons() -> std::vector<Why>;

}  // namespace loopsmith
