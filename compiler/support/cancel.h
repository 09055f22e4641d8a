// Cancelling long work. The caller holds a CancelSource; the work polls a CancelToken in every iteration of its
// outer loops, possibly on another thread. Work that stops early returns `error(Code::Cancelled)`.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace loopsmith {

class CancelToken {
 public:
  /// A token that is never cancelled.
  CancelToken() = default;
  [[nodiscard]] auto is_cancelled() const -> bool {
    polls_.fetch_add(1, std::memory_order_relaxed);
    return flag_ != nullptr && flag_->load(std::memory_order_relaxed);
  }
  /// The number of polls in this process. While it grows, work is making progress.
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
