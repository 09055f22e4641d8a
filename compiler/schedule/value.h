// Arguments and results of primitives, as scripts, traces and the tuner exchange them: variables of a schedule,
// numbers, strings, lists, dictionaries, index maps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::schedule {

/// Variables of one schedule: indices into its table. They are symbols, resolved when used.
struct BlockRV { uint32_t var = 0; friend auto operator==(BlockRV, BlockRV) -> bool = default; };
struct LoopRV { uint32_t var = 0; friend auto operator==(LoopRV, LoopRV) -> bool = default; };
struct ExprRV { uint32_t var = 0; friend auto operator==(ExprRV, ExprRV) -> bool = default; };

/// The arguments that a function of indices must take: their type, and their number (or their names).
struct MapRequest {
  size_t arity = 0;
  DataType dtype;
  std::vector<Name> names;                                   // empty: the names of the function's parameters
  bool is_ranges = false;                                    // each result is a begin and an end, or a point
};
/// An index map, and the positions of axis separators: each separator is in front of the result with that position.
struct MapWithSeparators { IndexMap map; std::vector<int64_t> separators; };
/// A function of indices from a script (`lambda i, j: (j, i)`). It becomes an index map as soon as the primitive is known
/// for which it is an argument. None: it could not be evaluated, and the error was reported. Never part of a trace.
using Lambda = std::shared_ptr<const std::function<std::optional<MapWithSeparators>(const MapRequest&)>>;

struct Value {
  using List = std::vector<Value>;
  using Dict = std::vector<std::pair<std::string, Value>>;   // in the order written
  std::variant<std::monostate, bool, int64_t, double, std::string, BlockRV, LoopRV, ExprRV, List, Dict, IndexMap, Expr, Lambda> data;

  Value() = default;                                         // None
  Value(std::nullptr_t) {}                                   // NOLINT
  Value(bool v) : data(v) {}                                 // NOLINT
  Value(int v) : data(int64_t{v}) {}                         // NOLINT
  Value(int64_t v) : data(v) {}                              // NOLINT
  Value(double v) : data(v) {}                               // NOLINT
  Value(std::string v) : data(std::move(v)) {}               // NOLINT
  Value(const char* v) : data(std::string(v)) {}             // NOLINT
  Value(BlockRV v) : data(v) {}                              // NOLINT
  Value(LoopRV v) : data(v) {}                               // NOLINT
  Value(ExprRV v) : data(v) {}                               // NOLINT
  Value(List v) : data(std::move(v)) {}                      // NOLINT
  Value(Dict v) : data(std::move(v)) {}                      // NOLINT
  Value(IndexMap v) : data(std::move(v)) {}                  // NOLINT
  Value(Expr v) : data(std::move(v)) {}                      // NOLINT
  Value(Lambda v) : data(std::move(v)) {}                    // NOLINT
  template <class T>
  Value(const std::vector<T>& items) : data(List(items.begin(), items.end())) {}   // NOLINT

  template <class T> [[nodiscard]] auto as() const -> const T* { return std::get_if<T>(&data); }
  [[nodiscard]] auto is_none() const -> bool { return std::holds_alternative<std::monostate>(data); }
  /// An int or a bool.
  [[nodiscard]] auto integer() const -> const int64_t* { return as<int64_t>(); }
  friend auto operator==(const Value& a, const Value& b) -> bool;
};

/// Compares index maps and expressions structurally.
auto operator==(const Value& a, const Value& b) -> bool;

/// "a block", "an integer", "a list": for messages.
[[nodiscard]] auto kind_in_words(const Value& value) -> std::string;

}  // namespace loopsmith::schedule
