// A search that begins with points whose trials are known: those of a log that a file preloads (`auto_scheduler.PreloadMeasuredStates`).
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "tune/search/search.h"

namespace loopsmith::tune {
namespace {

class Preloaded final : public Search {
 public:
  Preloaded(std::unique_ptr<Search> inner, const Sketches& sketches, std::vector<KnownPoint> known) : inner_(std::move(inner)) {
    std::sort(known.begin(), known.end(), [](const KnownPoint& a, const KnownPoint& b) { return rank_of(a) < rank_of(b); });
    for (KnownPoint& one : known) {
      if (!met_.emplace(one.sketch, one.point).second) { continue; }
      const double draft = sketches[one.sketch]->draft(one.point);
      Proposal proposal{one.sketch, std::move(one.point), draft};
      if (!one.is_exact) {
        near_.push_back(std::move(proposal));
      } else if (one.seconds > 0) {
        inner_->learn(proposal, one.seconds, true);
      } else {
        inner_->reject(proposal);
      }
    }
  }

  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    std::vector<Proposal> out;
    for (; next_ < near_.size() && out.size() < count; ++next_) { out.push_back(near_[next_]); }
    while (out.size() < count) {
      std::vector<Proposal> more = inner_->propose(count - out.size());
      if (more.empty()) { break; }
      for (Proposal& one : more) {
        if (!met_.contains({one.sketch, one.point})) { out.push_back(std::move(one)); }
      }
    }
    return out;
  }
  void learn(const Proposal& proposal, double seconds, bool exact) override { inner_->learn(proposal, seconds, exact); }
  void reject(const Proposal& proposal) override { inner_->reject(proposal); }
  void use_model(const ModelKind& kind) override { inner_->use_model(kind); }
  [[nodiscard]] auto batch() const -> size_t override { return inner_->batch(); }
  [[nodiscard]] auto why_closed(size_t sketch) const -> std::string override { return inner_->why_closed(sketch); }

 private:
  /// Exact points in front, and points without a time behind those with one.
  static auto rank_of(const KnownPoint& one) -> std::tuple<bool, double, size_t, const Point&> { return {!one.is_exact, one.seconds > 0 ? one.seconds : HUGE_VAL, one.sketch, one.point}; }

  std::unique_ptr<Search> inner_;
  std::set<std::pair<size_t, Point>> met_;
  std::vector<Proposal> near_;
  size_t next_ = 0;
};

}  // namespace

auto make_preloaded(std::unique_ptr<Search> inner, const Sketches& sketches, const std::vector<KnownPoint>& known) -> std::unique_ptr<Search> {
  return std::make_unique<Preloaded>(std::move(inner), sketches, known);
}

}  // namespace loopsmith::tune
