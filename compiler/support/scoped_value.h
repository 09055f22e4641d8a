// Gives a variable another value until the end of a scope: for the state of a tree walk that differs below a node.
#pragma once

#include <utility>

namespace loopsmith {

/// Sets `place`, and restores its old value at the end of the scope, on every way out.
template <class T>
class ScopedValue {
 public:
  template <class U>
  ScopedValue(T& place, U&& value) : place_(place), before_(std::exchange(place, std::forward<U>(value))) {}
  ScopedValue(const ScopedValue&) = delete;
  auto operator=(const ScopedValue&) -> ScopedValue& = delete;
  ~ScopedValue() { place_ = std::move(before_); }

 private:
  T& place_;
  T before_;
};

}  // namespace loopsmith
