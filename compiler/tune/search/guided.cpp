// The guided search. Draft and residual model score thousands of points per second; evolution inside a sketch finds good ones, one quota goes to neighbours
// of the best measured points, another to random points.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "support/text.h"
#include "tune/search/points.h"

namespace loopsmith::tune {
namespace {

constexpr int generations = 5;
// In a batch of 16, 2 points are random and at least 4 are neighbours of the best.
constexpr size_t chance_share = 8;
constexpr size_t neighbour_share = 4;
// A sketch whose first points all failed is closed, and so is one that is far behind after some trials.
constexpr int most_rejected = 24;
constexpr size_t fair_trials = 6;
constexpr double far_behind = 1.5;
// Sketches with a smaller population have costly drafts.
constexpr size_t least_cheap = 64;

// Points with the same innermost tiles take similar times; a batch should hold several kinds.
auto bucket_of(const Sketch& sketch, const Point& point) -> std::string {
  std::string key;
  for (size_t k = 0; k < point.size(); ++k) {
    const auto& choice = sketch.knobs()[k].choices[point[k]];
    if (choice.size() > 2) { key += std::to_string(choice.back()) + ","; }
  }
  return key;
}

class Guided : public PointSearch {
 public:
  Guided(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed) {}
  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override;
  [[nodiscard]] auto why_closed(size_t sketch) const -> std::string override;

 private:
  /// The expected seconds of a point of a sketch.
  using Expected = std::pair<double, std::pair<size_t, Point>>;

  [[nodiscard]] auto is_closed(const Arm& arm) const -> bool {
    return arm.measured.empty() ? arm.rejected >= most_rejected : arm.measured.size() >= fair_trials && arm.measured.front().seconds > far_behind * best_;
  }
  /// Proposes neighbours of the best measured points of the best sketch.
  void propose_neighbours(size_t count, std::vector<Proposal>& out);
  /// Points of a sketch with their expected seconds, and all points that were looked at.
  struct Pool { std::vector<std::pair<double, Point>> points = {}; std::set<Point> known = {}; };
  void add(Pool& pool, size_t sketch, Point point);
  [[nodiscard]] auto population_of(size_t sketch) const -> size_t;
  /// True if drafts of the sketch build schedules. Such a sketch is bred only while its first generation is not far behind that of another one.
  [[nodiscard]] auto is_costly(size_t sketch) const -> bool { return sketches_[sketch]->population() < least_cheap; }
  /// The fastest measured points and random ones; the fastest first.
  auto first_generation(size_t sketch) -> Pool;
  void breed(size_t sketch, Pool& pool);
  /// The best points of all sketches that are worth it, `keep` of each; the fastest first.
  auto evolve_all(size_t keep) -> std::vector<Expected>;
};

void Guided::add(Pool& pool, size_t sketch, Point point) {
  if (!pool.known.insert(point).second) { return; }
  const double expected = score(sketch, point);
  if (std::isfinite(expected)) { pool.points.emplace_back(expected, std::move(point)); }
}

auto Guided::population_of(size_t sketch) const -> size_t {
  return static_cast<size_t>(std::min<double>(static_cast<double>(sketches_[sketch]->population()), sketches_[sketch]->size()));
}

auto Guided::first_generation(size_t sketch) -> Pool {
  const Arm& arm = arms_[sketch];
  const size_t size = population_of(sketch);
  Pool pool;
  for (size_t i = 0; i < std::min<size_t>(arm.measured.size(), 24); ++i) { add(pool, sketch, arm.measured[i].point); }
  for (size_t i = 0; i < size * 2 && pool.points.size() < size; ++i) {
    if (!valid_random_point(sketch)) { break; }
    add(pool, sketch, scratch_);
  }
  std::sort(pool.points.begin(), pool.points.end());
  return pool;
}

void Guided::breed(size_t sketch, Pool& pool) {
  const size_t size = population_of(sketch);
  for (int g = 0; g < generations && !pool.points.empty(); ++g) {
    if (pool.points.size() > size) { pool.points.resize(size); }
    size_t parents = pool.points.size();
    for (size_t i = 0; i < size; ++i) {
      // Better points have more children.
      size_t parent = std::min(draw(parents), draw(parents));
      Point child = mutate(sketch, pool.points[parent].second);
      if (draw(5) == 0) {
        const Point& other = pool.points[draw(parents)].second;
        for (size_t k = 0; k < child.size(); ++k) { if (draw(2)) { child[k] = other[k]; } }
      }
      add(pool, sketch, std::move(child));
    }
    std::sort(pool.points.begin(), pool.points.end());
  }
}

auto Guided::evolve_all(size_t keep) -> std::vector<Expected> {
  std::map<size_t, Pool> pools;
  double best = std::numeric_limits<double>::infinity();
  for (size_t s = 0; s < sketches_.size(); ++s) {
    if (is_closed(arms_[s])) { continue; }
    arms_[s].model->fit();
    Pool& pool = pools[s] = first_generation(s);
    if (!is_costly(s)) { breed(s, pool); }
    if (!pool.points.empty()) { best = std::min(best, pool.points.front().first); }
  }
  std::vector<Expected> out;
  for (auto& [s, pool] : pools) {
    if (is_costly(s) && !pool.points.empty() && pool.points.front().first <= far_behind * best) { breed(s, pool); }
    if (pool.points.size() > keep) { pool.points.resize(keep); }
    for (auto& [expected, point] : pool.points) { out.push_back({expected, {s, std::move(point)}}); }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void Guided::propose_neighbours(size_t count, std::vector<Proposal>& out) {
  std::pair<double, size_t> best_arm{std::numeric_limits<double>::infinity(), 0};
  for (size_t s = 0; s < sketches_.size(); ++s) {
    if (!arms_[s].measured.empty()) { best_arm = std::min(best_arm, {arms_[s].measured.front().seconds, s}); }
  }
  if (!std::isfinite(best_arm.first)) { return; }
  size_t s = best_arm.second;
  std::vector<std::pair<double, Point>> near;
  for (size_t i = 0; i < std::min<size_t>(arms_[s].measured.size(), 3); ++i) {
    for (Point& point : neighbours(s, arms_[s].measured[i].point)) {
      double expected = score(s, point);
      if (std::isfinite(expected)) { near.emplace_back(expected, std::move(point)); }
    }
  }
  std::sort(near.begin(), near.end());
  size_t wanted = std::max<size_t>(1, count / neighbour_share);
  for (auto& [expected, point] : near) {
    if (wanted == 0 || out.size() >= count) { break; }
    if (take(s, point, expected, out)) { --wanted; }
  }
}

auto Guided::propose(size_t count) -> std::vector<Proposal> {
  std::vector<Proposal> out;
  if (sketches_.empty()) { return out; }
  std::vector<Expected> pool = evolve_all(count * 6);
  // The two best points of every sketch are measured before a sketch is preferred.
  for (size_t s = 0; s < sketches_.size(); ++s) {
    int wanted = 2 - arms_[s].proposed;
    for (auto& [expected, at] : pool) {
      if (wanted > 0 && at.first == s && out.size() < count && take(s, at.second, expected, out)) { --wanted; }
    }
  }
  propose_neighbours(count, out);
  size_t by_luck = count / chance_share;
  std::map<std::pair<size_t, std::string>, size_t> buckets;
  size_t per_bucket = std::max<size_t>(3, count / 4);
  for (int pass = 0; pass < 2; ++pass) {
    for (auto& [expected, at] : pool) {
      if (out.size() + by_luck >= count) { break; }
      size_t& used = buckets[{at.first, bucket_of(*sketches_[at.first], at.second)}];
      if (pass == 0 && used >= per_bucket) { continue; }
      if (take(at.first, at.second, expected, out)) { ++used; }
    }
  }
  fill(count, out);
  return out;
}

auto Guided::why_closed(size_t sketch) const -> std::string {
  const Arm& arm = arms_[sketch];
  if (!is_closed(arm)) { return {}; }
  if (arm.measured.empty()) { return fmt::format("none of {} was a candidate", count_text(arm.rejected, "point")); }
  return fmt::format("the best of {} is {:.1f} times as slow as the best of all", count_text(static_cast<int64_t>(arm.measured.size()), "point"), arm.measured.front().seconds / best_);
}

}  // namespace

auto make_guided(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<Guided>(sketches, seed); }

}  // namespace loopsmith::tune
