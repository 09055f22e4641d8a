// Evolution of points, with quotas: see search.h.
#include "tune/search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace loopsmith::tune {
namespace {

constexpr int generations = 5;
constexpr int tries = 200;   // the most draws for one point that is worth measuring
// Of a batch of 16, 2 points are random and at least 4 are neighbours of the best points.
constexpr size_t chance_share = 8;
constexpr size_t neighbour_share = 4;

// Points with the same innermost tiles take similar times, so a batch should contain several kinds.
auto bucket_of(const Sketch& sketch, const Point& point) -> std::string {
  std::string key;
  for (size_t k = 0; k < point.size(); ++k) {
    const auto& choice = sketch.knobs()[k].choices[point[k]];
    if (choice.size() > 2) { key += std::to_string(choice.back()) + ","; }
  }
  return key;
}

}  // namespace

Search::Search(const Sketches& sketches, uint64_t seed, Strategy strategy)
    : sketches_(sketches), strategy_(strategy), random_(seed), arms_(sketches.size()) {}

auto Search::random_point(size_t sketch) -> Point {
  Point point;
  for (const Knob& knob : sketches_[sketch]->knobs()) { point.push_back(static_cast<uint16_t>(draw(knob.choices.size()))); }
  return point;
}

auto Search::valid_random_point(size_t sketch) -> bool {
  for (int i = 0; i < tries; ++i) {
    scratch_ = random_point(sketch);
    if (std::isfinite(sketches_[sketch]->draft(scratch_))) { return true; }
  }
  return false;
}

auto Search::mutate(size_t sketch, Point point) -> Point {
  const auto& knobs = sketches_[sketch]->knobs();
  if (knobs.empty()) { return point; }
  int changes = 1 + static_cast<int>(draw(3) == 0);
  for (int i = 0; i < changes; ++i) {
    size_t k = draw(knobs.size());
    size_t n = knobs[k].choices.size();
    if (n < 2) { continue; }
    if (n > 8 && draw(2) == 0) {
      // Choices are sorted by size, so a neighbour in the list is a small change.
      auto step = static_cast<int64_t>(1 + draw(3)) * (draw(2) ? 1 : -1);
      point[k] = static_cast<uint16_t>((static_cast<int64_t>(point[k]) + step + static_cast<int64_t>(n)) % static_cast<int64_t>(n));
    } else {
      point[k] = static_cast<uint16_t>((point[k] + 1 + draw(n - 1)) % n);
    }
  }
  return point;
}

auto Search::score(size_t sketch, const Point& point) const -> double {
  double draft = sketches_[sketch]->draft(point);
  if (!std::isfinite(draft)) { return std::numeric_limits<double>::infinity(); }
  const Arm& arm = arms_[sketch];
  if (arm.residual.size() == 0) { return draft; }
  return draft * std::exp(std::clamp(arm.residual.predict(sketches_[sketch]->features(point)), -3.0, 3.0));
}

auto Search::evolve(size_t sketch, size_t keep) -> std::vector<std::pair<double, Point>> {
  Arm& arm = arms_[sketch];
  std::map<Point, double> known;
  std::vector<std::pair<double, Point>> pool;
  auto add = [&](Point point) {
    auto [place, is_new] = known.try_emplace(point, 0);
    if (!is_new) { return; }
    place->second = score(sketch, point);
    if (std::isfinite(place->second)) { pool.emplace_back(place->second, std::move(point)); }
  };
  size_t size = static_cast<size_t>(std::min<double>(static_cast<double>(sketches_[sketch]->population()), sketches_[sketch]->size()));
  for (size_t i = 0; i < std::min<size_t>(arm.measured.size(), 24); ++i) { add(arm.measured[i].point); }
  for (size_t i = 0; i < size * 2 && pool.size() < size; ++i) {
    if (!valid_random_point(sketch)) { break; }
    add(scratch_);
  }
  for (int g = 0; g < generations && !pool.empty(); ++g) {
    std::sort(pool.begin(), pool.end());
    if (pool.size() > size) { pool.resize(size); }
    size_t parents = pool.size();
    for (size_t i = 0; i < size; ++i) {
      // Better points have more children.
      size_t parent = std::min(draw(parents), draw(parents));
      Point child = mutate(sketch, pool[parent].second);
      if (draw(5) == 0) {
        const Point& other = pool[draw(parents)].second;
        for (size_t k = 0; k < child.size(); ++k) { if (draw(2)) { child[k] = other[k]; } }
      }
      add(std::move(child));
    }
  }
  std::sort(pool.begin(), pool.end());
  if (pool.size() > keep) { pool.resize(keep); }
  return pool;
}

auto Search::take(size_t sketch, const Point& point, double expected, std::vector<Proposal>& out) -> bool {
  if (!arms_[sketch].seen.insert(point).second) { return false; }
  ++arms_[sketch].proposed;
  out.push_back({sketch, point, expected});
  return true;
}

void Search::propose_at_random(size_t wanted, std::vector<Proposal>& out) {
  for (int i = 0; i < tries * 4 && wanted > 0; ++i) {
    // Larger sketches are drawn more often, but every sketch is drawn.
    double total = 0;
    for (const auto& s : sketches_) { total += 1 + std::log2(s->size() + 1); }
    double at = total * static_cast<double>(draw(1U << 20)) / (1U << 20);
    size_t sketch = 0;
    while (sketch + 1 < sketches_.size() && at >= 1 + std::log2(sketches_[sketch]->size() + 1)) {
      at -= 1 + std::log2(sketches_[sketch]->size() + 1);
      ++sketch;
    }
    if (valid_random_point(sketch) && take(sketch, scratch_, sketches_[sketch]->draft(scratch_), out)) { --wanted; }
  }
}

auto Search::evolve_all(size_t keep) -> std::vector<Expected> {
  std::vector<Expected> pool;
  for (size_t s = 0; s < sketches_.size(); ++s) {
    Arm& arm = arms_[s];
    // Skips a sketch that is far behind after some trials, or whose points all failed.
    if (arm.measured.empty() ? arm.rejected >= 24 : arm.measured.size() >= 6 && arm.measured.front().seconds > 1.5 * best_) { continue; }
    arm.residual.fit();
    for (auto& [expected, point] : evolve(s, keep)) { pool.push_back({expected, {s, std::move(point)}}); }
  }
  std::sort(pool.begin(), pool.end());
  return pool;
}

auto Search::neighbours(size_t sketch, const Point& centre) const -> std::vector<Point> {
  std::vector<Point> out;
  for (size_t k = 0; k < centre.size(); ++k) {
    size_t n = sketches_[sketch]->knobs()[k].choices.size();
    std::vector<size_t> others;
    if (n <= 12) { for (size_t c = 0; c < n; ++c) { others.push_back(c); } }
    else { for (size_t d = 1; d <= 4; ++d) { others.push_back((centre[k] + d) % n); others.push_back((centre[k] + n - d) % n); } }
    for (size_t c : others) {
      Point point = centre;
      point[k] = static_cast<uint16_t>(c);
      if (!arms_[sketch].seen.contains(point)) { out.push_back(std::move(point)); }
    }
  }
  return out;
}

void Search::propose_neighbours(size_t count, std::vector<Proposal>& out) {
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

auto Search::propose(size_t count) -> std::vector<Proposal> {
  std::vector<Proposal> out;
  if (sketches_.empty()) { return out; }
  if (strategy_ == Strategy::Random) {
    propose_at_random(count, out);
    return out;
  }
  std::vector<Expected> pool = evolve_all(count * 6);
  // Measures the two best points of every sketch before it prefers a sketch.
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
  if (out.size() < count) { propose_at_random(count - out.size(), out); }
  return out;
}

void Search::learn(const Proposal& proposal, double seconds, bool exact) {
  Arm& arm = arms_[proposal.sketch];
  const Sketch& sketch = *sketches_[proposal.sketch];
  double draft = sketch.draft(proposal.point);
  if (std::isfinite(draft) && draft > 0) {
    arm.residual.add(sketch.features(proposal.point), std::log(seconds / draft), exact ? 1.0 : 0.5);
  }
  if (!exact) { return; }
  auto place = std::lower_bound(arm.measured.begin(), arm.measured.end(), seconds, [](const Measured& m, double s) { return m.seconds < s; });
  arm.measured.insert(place, {proposal.point, seconds});
  if (best_ == 0 || seconds < best_) { best_ = seconds; }
}

void Search::reject(const Proposal& proposal) { ++arms_[proposal.sketch].rejected; }

}  // namespace loopsmith::tune
