// The cancel token of this thread's current work, for long steps in rooms that get no token as an argument: checking a call may run many
// iterations. The caller that sets a token must discard every result after a cancellation, and so must any cache of results.
#pragma once

#include "support/cancel.h"

namespace loopsmith {

class CancelScope {
 public:
  explicit CancelScope(const CancelToken& token) : before_(current_) { current_ = &token; }
  CancelScope(const CancelScope&) = delete;
  auto operator=(const CancelScope&) -> CancelScope& = delete;
  ~CancelScope() { current_ = before_; }

  [[nodiscard]] static auto is_cancelled() -> bool { return current_ != nullptr && current_->is_cancelled(); }

 private:
  inline static thread_local const CancelToken* current_ = nullptr;
  const CancelToken* before_;
};

}  // namespace loopsmith
