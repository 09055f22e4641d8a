// Diagnostics and Result. Errors are values: input from outside (text, schedules, messages, files)
// causes diagnostics, never an exception or an abort that crosses into another room. Codes and texts are in one
// catalogue, diagnostics.def. Rendering (terminal, JSON, LSP) happens where the texts of files are known.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "support/origin.h"

namespace loopsmith {

enum class Severity : uint8_t { Error, Warning, Information, Hint };

/// A row of the catalogue. The enumerators are in support/codes.h, so that a new row recompiles only files that use
/// enumerators; `Code{}` is the first row, `Internal`.
enum class Code : uint16_t;

/// The stable name of a code, printed in `[...]`: "loop-not-only-child".
[[nodiscard]] auto code_id(Code code) -> std::string_view;
[[nodiscard]] auto code_text(Code code) -> std::string_view;
[[nodiscard]] auto code_severity(Code code) -> Severity;
/// All codes, in the order of the catalogue.
[[nodiscard]] auto all_codes() -> std::vector<Code>;

/// A note that belongs to a diagnostic and points elsewhere ("block `C_init` also runs inside `i`").
struct RelatedNote {
  Origin where;
  std::string message;
  /// The id of the loop or block that the note is about (an id of the IR; 0: none), for views that show the current IR.
  uint64_t node_id = 0;
};

/// A change of text that repairs the cause; editors offer it as a quick fix.
struct FixEdit {
  Origin where;             // bytes to replace
  std::string replacement;
};

struct Diagnostic {
  Code code{};
  Severity severity = Severity::Error;
  Origin where;              // the narrowest source of the error
  std::vector<std::pair<std::string, std::string>> args;
  std::vector<RelatedNote> notes;
  std::vector<std::string> remedies;
  std::vector<FixEdit> fixes;
  /// Ids of the IR's loops and blocks that cause the error, for views that show the current IR.
  std::vector<uint64_t> node_ids;

  /// The catalogue's text with the arguments filled in.
  [[nodiscard]] auto message() const -> std::string;

  // Building, as in `error(Code::X, where).arg("loop", name).note(...).remedy(...)`.
  auto arg(std::string_view name, std::string_view value) && -> Diagnostic&&;
  auto arg(std::string_view name, int64_t value) && -> Diagnostic&&;
  auto note(Origin at, std::string message, uint64_t node_id = 0) && -> Diagnostic&&;
  auto remedy(std::string text) && -> Diagnostic&&;
  auto fix(Origin at, std::string replacement) && -> Diagnostic&&;
  auto at_node(uint64_t node_id) && -> Diagnostic&&;
};

[[nodiscard]] auto error(Code code, Origin where = {}) -> Diagnostic;

using Diagnostics = std::vector<Diagnostic>;

[[nodiscard]] auto has_errors(const Diagnostics& diagnostics) -> bool;

/// A value; or at least one diagnostic that explains why there is none. Converts implicitly from both.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}                      // NOLINT
  Result(Diagnostic diagnostic) : state_(std::in_place_index<1>) {                           // NOLINT
    std::get<1>(state_).push_back(std::move(diagnostic));
  }
  Result(Diagnostics diagnostics) : state_(std::in_place_index<1>, std::move(diagnostics)) {} // NOLINT

  [[nodiscard]] auto ok() const -> bool { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] auto value() & -> T& { return std::get<0>(state_); }
  [[nodiscard]] auto value() const& -> const T& { return std::get<0>(state_); }
  [[nodiscard]] auto value() && -> T&& { return std::get<0>(std::move(state_)); }
  auto operator*() & -> T& { return value(); }
  auto operator*() const& -> const T& { return value(); }
  auto operator*() && -> T&& { return std::move(*this).value(); }
  auto operator->() -> T* { return &value(); }
  auto operator->() const -> const T* { return &value(); }
  [[nodiscard]] auto diagnostics() const& -> const Diagnostics& { return std::get<1>(state_); }
  [[nodiscard]] auto diagnostics() && -> Diagnostics&& { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Diagnostics> state_;
};

/// A Result without a value.
struct Unit {};
using Status = Result<Unit>;
[[nodiscard]] inline auto ok() -> Status { return Unit{}; }

// `LOOPSMITH_TRY(x, f());` binds x to the value of f(), or returns f()'s diagnostics from this function.
#define LOOPSMITH_CONCAT_(a, b) a##b
#define LOOPSMITH_CONCAT(a, b) LOOPSMITH_CONCAT_(a, b)
#define LOOPSMITH_TRY(name, ...) LOOPSMITH_TRY_(LOOPSMITH_CONCAT(result_, __LINE__), name, __VA_ARGS__)
#define LOOPSMITH_TRY_(temporary, name, ...)                                     \
  auto temporary = __VA_ARGS__;                                                  \
  if (!temporary.ok()) { return std::move(temporary).diagnostics(); }            \
  auto name = std::move(temporary).value()
#define LOOPSMITH_CHECK(...) LOOPSMITH_CHECK_(LOOPSMITH_CONCAT(status_, __LINE__), __VA_ARGS__)
#define LOOPSMITH_CHECK_(temporary, ...)                                         \
  if (auto temporary = __VA_ARGS__; !temporary.ok()) { return std::move(temporary).diagnostics(); }

}  // namespace loopsmith
