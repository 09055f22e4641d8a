// Asking long work to stop. The one who asks holds a CancelSource, the work polls a CancelToken at every
// turn of its outer loops; asking and polling may happen on different threads. Work that stops early says so
// with `error(Code::Cancelled)`.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace loopsmith {

class CancelToken {
 public:
  /// Never cancelled.
  CancelToken() = default;
  [[nodiscard]] auto is_cancelled() const -> bool {
    polls_.fetch_add(1, std::memory_order_relaxed);
    return flag_ != nullptr && flag_->load(std::memory_order_relaxed);
  }
  /// How often any work of this process has asked: whoever watches it sees that it is not stuck.
  [[nodiscard]] static auto polls() -> uint64_t { return polls_.load(std::memory_order_relaxed); }

 private:
  friend class CancelSource;
  explicit CancelToken(std::shared_ptr<const std::atomic<bool>> flag) : flag_(std::move(flag)) {}
  inline static std::atomic<uint64_t> polls_{0};
  std::shared_ptr<const std::atomic<bool>> flag_;
};

class CancelSource {
 public:
  CancelSource() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  void cancel() const { flag_->store(true, std::memory_order_relaxed); }
  [[nodiscard]] auto token() const -> CancelToken { return CancelToken(flag_); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

}  // namespace loopsmith
