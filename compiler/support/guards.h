// Guards: what is changed for a while and must be undone, on whichever way a function is left.
#pragma once

#include <utility>

#include "support/diagnostic.h"

namespace loopsmith {

/// Gives `variable` another value for as long as the guard lives; without a value, brings back the one that it has now.
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

/// Drops the diagnostics that are reported to `all` while the guard lives: those of an attempt that nobody asked for.
class [[nodiscard]] WithoutReports {
 public:
  explicit WithoutReports(Diagnostics& all) : all_(all), kept_(all.size()) {}
  ~WithoutReports() {
    if (all_.size() > kept_) { all_.resize(kept_); }
  }
  WithoutReports(const WithoutReports&) = delete;
  auto operator=(const WithoutReports&) -> WithoutReports& = delete;
  /// True when something was reported since the guard was made.
  [[nodiscard]] auto any() const -> bool { return all_.size() > kept_; }

 private:
  Diagnostics& all_;
  size_t kept_;
};

}  // namespace loopsmith
