// Constants that do not fit their type. Arithmetic of int32 and int64 does not wrap in a right program (ir/ir.h), so a rewrite that computes
// such a constant has computed a size or an index that its type cannot represent. A watch records such constants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/dtype.h"

namespace loopsmith {

/// A result that did not fit: its type, and its value in decimal.
struct WrappedConstant {
  DataType dtype;
  std::string value;
};

/// Records the first constant of int32 or int64 that wraps on this thread while the watch lives. Watches nest: the innermost one records.
class WrapWatch {
 public:
  WrapWatch();
  ~WrapWatch();
  WrapWatch(const WrapWatch&) = delete;
  auto operator=(const WrapWatch&) -> WrapWatch& = delete;
  [[nodiscard]] auto found() const -> const std::optional<WrappedConstant>& { return found_; }

 private:
  friend void note_wrapped(DataType dtype, __int128 value);
  std::optional<WrappedConstant> found_;
  WrapWatch* around_;
};

/// Called when a constant wraps.
void note_wrapped(DataType dtype, __int128 value);

/// A number of 128 bits in decimal.
[[nodiscard]] auto decimal(__int128 value) -> std::string;

}  // namespace loopsmith
