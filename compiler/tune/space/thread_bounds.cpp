// Follows loops from samples to threads: see thread_bounds.h.
#include "tune/space/thread_bounds.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "support/saturate.h"

namespace loopsmith::tune {
namespace {

using schedule::Instruction;
using schedule::Value;

constexpr int64_t warp_size = 32;

/// The extent of a loop as a product.
struct Extent {
  int64_t constant = 1;
  std::vector<std::pair<size_t, size_t>> factors;
};

class Follower {
 public:
  std::vector<ThreadBound> bounds;

  void follow(const Instruction& step, std::optional<size_t> knob) {
    const std::string_view name = step.primitive->name;
    if (knob) {
      for (size_t i = 0; i < step.outputs.size(); ++i) {
        if (const auto* rv = step.outputs[i].as<schedule::ExprRV>(); rv != nullptr && name == "sample_perfect_tile") { samples_[rv->var] = {*knob, i}; }
      }
    } else if (name == "split") {
      split(step);
    } else if (name == "fuse") {
      fuse(step);
    } else if (name == "bind") {
      bind(step);
    } else if (name == "annotate") {
      annotate(step);
    }
  }

 private:
  void split(const Instruction& step) {
    const auto* factors = step.values[1].as<Value::List>();
    for (size_t i = 0; factors != nullptr && i < std::min(factors->size(), step.outputs.size()); ++i) {
      const auto* loop = step.outputs[i].as<schedule::LoopRV>();
      if (loop == nullptr) { continue; }
      if (const auto* rv = (*factors)[i].as<schedule::ExprRV>()) {
        if (auto found = samples_.find(rv->var); found != samples_.end()) { loops_[loop->var] = Extent{1, {found->second}}; }
      } else if (const int64_t* number = (*factors)[i].integer()) {
        loops_[loop->var] = Extent{*number, {}};
      }
    }
  }

  void fuse(const Instruction& step) {
    const auto* parts = step.values[0].as<Value::List>();
    const auto* fused = step.outputs.empty() ? nullptr : step.outputs[0].as<schedule::LoopRV>();
    if (parts == nullptr || fused == nullptr) { return; }
    Extent out;
    for (const Value& part : *parts) {
      const auto* loop = part.as<schedule::LoopRV>();
      auto known = loop != nullptr ? loops_.find(loop->var) : loops_.end();
      if (known == loops_.end()) { return; }
      out.constant = saturating_mul(out.constant, known->second.constant);
      out.factors.insert(out.factors.end(), known->second.factors.begin(), known->second.factors.end());
    }
    loops_[fused->var] = std::move(out);
  }

  void bind(const Instruction& step) {
    const auto* loop = step.values[0].as<schedule::LoopRV>();
    const auto* thread = step.values[1].as<std::string>();
    if (loop == nullptr || thread == nullptr || !thread->starts_with("threadIdx")) { return; }
    auto known = loops_.find(loop->var);
    is_known_ = is_known_ && known != loops_.end();
    if (known != loops_.end()) { bound_[*thread] = known->second; }
  }

  void annotate(const Instruction& step) {
    const auto* key = step.values[1].as<std::string>();
    const int64_t* number = step.values[2].integer();
    if (key == nullptr || number == nullptr) { return; }
    if (*key == "warp_execution") { is_whole_warp_ = *number != 0; }
    if (*key == "meta_schedule.thread_extent_low_inclusive") { low_ = *number; }
    if (*key != "meta_schedule.thread_extent_high_inclusive") { return; }
    if (is_known_ && !bound_.empty()) {
      // The block is an instruction of a warp, whose threads have no loop.
      ThreadBound out{low_, *number, is_whole_warp_ ? warp_size : 1, {}};
      for (const auto& [thread, extent] : bound_) {
        if (is_whole_warp_ && thread == "threadIdx.x") { continue; }
        out.constant = saturating_mul(out.constant, extent.constant);
        out.factors.insert(out.factors.end(), extent.factors.begin(), extent.factors.end());
      }
      bounds.push_back(std::move(out));
    }
    // The next block has its own threads.
    bound_.clear();
    is_known_ = true;
    is_whole_warp_ = false;
    low_ = 1;
  }

  std::map<uint32_t, std::pair<size_t, size_t>> samples_;
  std::map<uint32_t, Extent> loops_;
  std::map<std::string, Extent> bound_;
  bool is_known_ = true;
  bool is_whole_warp_ = false;
  int64_t low_ = 1;
};

}  // namespace

auto thread_bounds(const schedule::Trace& trace, const std::vector<size_t>& knobs) -> std::vector<ThreadBound> {
  Follower follower;
  size_t index = 0, knob = 0;
  for (const Instruction* step : trace.instructions()) {
    const bool is_knob = knob < knobs.size() && knobs[knob] == index;
    ++index;
    follower.follow(*step, is_knob ? std::optional(knob++) : std::nullopt);
  }
  return std::move(follower.bounds);
}

auto is_within(const std::vector<ThreadBound>& bounds, const std::vector<Knob>& knobs, const Point& point) -> bool {
  return std::all_of(bounds.begin(), bounds.end(), [&](const ThreadBound& bound) {
    int64_t threads = bound.constant;
    for (auto [knob, factor] : bound.factors) { threads = saturating_mul(threads, knobs[knob].choices[point[knob]][factor]); }
    return threads >= bound.low && threads <= bound.high;
  });
}

}  // namespace loopsmith::tune
