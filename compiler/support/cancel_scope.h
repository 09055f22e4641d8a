// What the work of this thread is for, where it goes deep into rooms that are handed no token and single steps of it are long: judging a call
// counts iterations. Who names a token here discards all that comes of the work once it is cancelled, and so must whoever keeps answers.
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
