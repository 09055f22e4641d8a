// Guards: temporary changes that are undone at the end of a scope, on every way out of a function.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include "support/diagnostic.h"

namespace loopsmith {

/// Gives `variable` another value while the guard lives; without a value, restores its current value at the end.
template <class T>
class [[nodiscard]] Temporarily {
 public:
  explicit Temporarily(T& variable) : variable_(variable), before_(variable) {}
  template <class U>
  Temporarily(T& variable, U&& value) : variable_(variable), before_(std::exchange(variable, std::forward<U>(value))) {}
  ~Temporarily() { variable_ = std::move(before_); }
  Temporarily(const Temporarily&) = delete;
  auto operator=(const Temporarily&) -> Temporarily& = delete;
  [[nodiscard]] auto before() const -> const T& { return before_; }

 private:
  T& variable_;
  T before_;
};

/// While the guard lives, records the diagnostics that are reported to `all`, and drops them at the end unless they are kept. For attempts that may fail.
class [[nodiscard]] WithoutReports {
 public:
  explicit WithoutReports(Diagnostics& all) : all_(all), before_(all.size()) {}
  ~WithoutReports() {
    if (!is_kept_ && any()) { all_.resize(before_); }
  }
  WithoutReports(const WithoutReports&) = delete;
  auto operator=(const WithoutReports&) -> WithoutReports& = delete;
  void keep() { is_kept_ = true; }
  /// True when diagnostics were reported since the guard was made.
  [[nodiscard]] auto any() const -> bool { return all_.size() > before_; }
  /// Removes and returns the diagnostics that were reported since the guard was made.
  [[nodiscard]] auto take() -> Diagnostics {
    auto first = all_.begin() + static_cast<std::ptrdiff_t>(std::min(before_, all_.size()));
    Diagnostics taken(std::make_move_iterator(first), std::make_move_iterator(all_.end()));
    all_.erase(first, all_.end());
    return taken;
  }

 private:
  Diagnostics& all_;
  size_t before_;
  bool is_kept_ = false;
};

}  // namespace loopsmith
