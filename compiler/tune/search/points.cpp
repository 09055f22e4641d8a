// Random points, changes and walks: see points.h.
#include "tune/search/points.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace loopsmith::tune {
namespace {

constexpr int tries = 200;   // draws for one point that is worth measuring
// The drafts of one walk, as a multiple of the population of a sketch: a walk over refused points ends after a while.
constexpr size_t walk_length = 64;

}  // namespace

PointSearch::PointSearch(const Sketches& sketches, uint64_t seed) : sketches_(sketches), random_(seed), arms_(sketches.size()) { use_model(model_kinds().front()); }

void PointSearch::use_model(const ModelKind& kind) {
  for (Arm& arm : arms_) { arm.model = kind.make(static_cast<uint64_t>(&arm - arms_.data()) + 1); }
}

auto PointSearch::random_point(size_t sketch) -> Point {
  Point point;
  for (const Knob& knob : sketches_[sketch]->knobs()) { point.push_back(knob.usual ? *knob.usual : static_cast<uint16_t>(draw(knob.choices.size()))); }
  return point;
}

auto PointSearch::valid_random_point(size_t sketch) -> bool {
  for (int i = 0; i < tries; ++i) {
    scratch_ = random_point(sketch);
    if (std::isfinite(sketches_[sketch]->draft(scratch_))) { return true; }
  }
  return false;
}

auto PointSearch::random_sketch() -> size_t {
  double total = 0;
  for (const auto& s : sketches_) { total += 1 + std::log2(s->size() + 1); }
  double at = total * draw_share();
  size_t sketch = 0;
  while (sketch + 1 < sketches_.size() && at >= 1 + std::log2(sketches_[sketch]->size() + 1)) {
    at -= 1 + std::log2(sketches_[sketch]->size() + 1);
    ++sketch;
  }
  return sketch;
}

auto PointSearch::mutate(size_t sketch, Point point) -> Point {
  const auto& knobs = sketches_[sketch]->knobs();
  if (knobs.empty()) { return point; }
  int changes = 1 + static_cast<int>(draw(3) == 0);
  for (int i = 0; i < changes; ++i) {
    size_t k = draw(knobs.size());
    size_t n = knobs[k].choices.size();
    if (n < 2) { continue; }
    if (n > 8 && draw(2) == 0) {
      // Choices are in order of size, so a neighbour in the list is a small change.
      auto step = static_cast<int64_t>(1 + draw(3)) * (draw(2) ? 1 : -1);
      point[k] = static_cast<uint16_t>((static_cast<int64_t>(point[k]) + step + static_cast<int64_t>(n)) % static_cast<int64_t>(n));
    } else {
      point[k] = static_cast<uint16_t>((point[k] + 1 + draw(n - 1)) % n);
    }
  }
  return point;
}

auto PointSearch::neighbours(size_t sketch, const Point& centre) const -> std::vector<Point> {
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

auto PointSearch::fresh_points(size_t sketch, size_t centres, size_t drawn) -> std::vector<Point> {
  const Arm& arm = arms_[sketch];
  std::vector<Point> points;
  for (size_t i = 0; i < std::min(centres, arm.measured.size()); ++i) {
    for (Point& point : neighbours(sketch, arm.measured[i].point)) { points.push_back(std::move(point)); }
  }
  drawn = std::min(drawn, sketches_[sketch]->population());
  for (size_t i = 0; i < drawn; ++i) { points.push_back(random_point(sketch)); }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  std::erase_if(points, [&](const Point& point) { return arm.seen.contains(point); });
  return points;
}

auto PointSearch::score(size_t sketch, const Point& point) const -> double {
  double draft = sketches_[sketch]->draft(point);
  if (!std::isfinite(draft)) { return std::numeric_limits<double>::infinity(); }
  const Arm& arm = arms_[sketch];
  if (arm.model->size() == 0) { return draft; }
  return draft * std::exp(std::clamp(arm.model->predict(sketches_[sketch]->features(point)), -3.0, 3.0));
}

void PointSearch::fit() {
  for (Arm& arm : arms_) { arm.model->fit(); }
}

auto PointSearch::take(size_t sketch, const Point& point, double expected, std::vector<Proposal>& out) -> bool {
  if (!arms_[sketch].seen.insert(point).second) { return false; }
  ++arms_[sketch].proposed;
  out.push_back({sketch, point, expected});
  return true;
}

auto PointSearch::take_drafted(size_t sketch, const Point& point, std::vector<Proposal>& out) -> bool {
  if (arms_[sketch].seen.contains(point)) { return false; }
  double expected = sketches_[sketch]->draft(point);
  return std::isfinite(expected) && take(sketch, point, expected, out);
}

void PointSearch::propose_at_random(size_t wanted, std::vector<Proposal>& out) {
  for (int i = 0; i < tries * 4 && wanted > 0; ++i) {
    size_t sketch = random_sketch();
    if (valid_random_point(sketch) && take(sketch, scratch_, sketches_[sketch]->draft(scratch_), out)) { --wanted; }
  }
}

/// Adds the next point of a sketch that the draft accepts, after at most `most_drafts` drafts. False: none was found.
auto PointSearch::walk(size_t sketch, size_t most_drafts, std::vector<Proposal>& out) -> bool {
  Arm& arm = arms_[sketch];
  const auto& knobs = sketches_[sketch]->knobs();
  while (!arm.is_walked && most_drafts > 0) {
    if (arm.next.size() != knobs.size()) { arm.next.assign(knobs.size(), 0); }
    Point point = arm.next;
    size_t k = knobs.size();
    // The last knob moves first.
    while (k > 0 && static_cast<size_t>(arm.next[k - 1]) + 1 >= knobs[k - 1].choices.size()) { arm.next[--k] = 0; }
    k > 0 ? void(++arm.next[k - 1]) : void(arm.is_walked = true);
    if (arm.seen.contains(point)) { continue; }
    --most_drafts;
    if (take_drafted(sketch, point, out)) { return true; }
  }
  return false;
}

void PointSearch::propose_in_order(size_t wanted, std::vector<Proposal>& out) {
  size_t without = 0;
  while (wanted > 0 && without < sketches_.size()) {
    size_t sketch = turn_++ % sketches_.size();
    if (walk(sketch, sketches_[sketch]->population() * walk_length, out)) {
      --wanted;
      without = 0;
    } else {
      ++without;
    }
  }
}

void PointSearch::fill(size_t count, std::vector<Proposal>& out) {
  if (sketches_.empty()) { return; }
  if (out.size() < count) { propose_at_random(count - out.size(), out); }
  if (out.size() < count) { propose_in_order(count - out.size(), out); }
}

void PointSearch::learn(const Proposal& proposal, double seconds, bool exact) {
  Arm& arm = arms_[proposal.sketch];
  const Sketch& sketch = *sketches_[proposal.sketch];
  double draft = sketch.draft(proposal.point);
  if (std::isfinite(draft) && draft > 0) {
    arm.model->add(sketch.features(proposal.point), std::log(seconds / draft), exact ? 1.0 : 0.5);
  }
  if (!exact) { return; }
  auto place = std::lower_bound(arm.measured.begin(), arm.measured.end(), seconds, [](const Measured& m, double s) { return m.seconds < s; });
  arm.measured.insert(place, {proposal.point, seconds});
  if (best_ == 0 || seconds < best_) { best_ = seconds; }
}

void PointSearch::reject(const Proposal& proposal) { ++arms_[proposal.sketch].rejected; }

}  // namespace loopsmith::tune
