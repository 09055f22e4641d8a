// A variable that has another value until the end of a scope: for walks that must restore what they set, on every way out.
#pragma once

#include <utility>

namespace loopsmith::schedule {

template <class T>
class ScopedValue {
 public:
  ScopedValue(T& variable, T value) : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ScopedValue(const ScopedValue&) = delete;
  auto operator=(const ScopedValue&) -> ScopedValue& = delete;
  ~ScopedValue() { variable_ = std::move(before_); }
  [[nodiscard]] auto before() const -> const T& { return before_; }

 private:
  T& variable_;
  T before_;
};

}  // namespace loopsmith::schedule
