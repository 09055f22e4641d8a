// MetaSchedule's evolutionary search, with TVM's parameters. Its individuals are points of sketches. In a space with mutators, these change the trace of a point;
// in others a knob of the kind changes that TVM's mutators for CPUs would choose. The scores are those of draft and residual model.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "tune/search/points.h"

namespace loopsmith::tune {
namespace {

constexpr size_t trials_per_iteration = 64;
// The kinds of knobs, and the share of mutations that they get: tile sizes, places, other numbers (unrolling, parallel extents).
constexpr double tile_share = 0.9, location_share = 0.05;

struct Individual { double seconds = 0; size_t sketch = 0; Point point; };
auto is_better(const Individual& a, const Individual& b) -> bool { return std::tie(a.seconds, a.sketch, a.point) < std::tie(b.seconds, b.sketch, b.point); }

auto is_tile(const Knob& knob) -> bool { return !knob.choices.empty() && knob.choices.front().size() > 1; }
auto is_location(const Knob& knob) -> bool { return knob.name.starts_with("location"); }

class Evolutionary : public PointSearch {
 public:
  Evolutionary(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed) {
    for (const SearchNumber& number : find_search("evolutionary")->numbers) { Evolutionary::set_number(number.name, number.usual); }
  }
  void set_number(std::string_view name, double value) override {
    const auto count = static_cast<size_t>(value);
    if (name == "population_size") { population_size_ = count; }
    if (name == "init_measured_ratio") { init_measured_ratio_ = value; }
    if (name == "init_min_unmeasured") { init_min_unmeasured_ = count; }
    if (name == "max_fail_count") { max_fail_count_ = static_cast<int>(value); }
    if (name == "genetic_num_iters") { genetic_num_iters_ = static_cast<int>(value); }
    if (name == "genetic_mutate_prob") { genetic_mutate_prob_ = value; }
    if (name == "genetic_max_fail_count") { genetic_max_fail_count_ = static_cast<int>(value); }
    if (name == "eps_greedy") { eps_greedy_ = value; }
  }
  [[nodiscard]] auto batch() const -> size_t override { return trials_per_iteration; }

  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    std::vector<Proposal> out;
    if (sketches_.empty()) { return out; }
    fit();
    std::vector<Individual> measured = best_measured();
    std::vector<Individual> drawn = sample(population_size_ - std::min(population_size_, measured.size()));
    // TVM ends the search where too few new points can be drawn. Small spaces are walked to their end here, and a population smaller than that number is enough.
    if (drawn.size() >= std::min(init_min_unmeasured_, population_size_) || !measured.empty()) {
      std::vector<Individual> all = measured;
      all.insert(all.end(), drawn.begin(), drawn.end());
      std::vector<Individual> bests = evolve(std::move(all), count);
      const auto by_chance = static_cast<size_t>(eps_greedy_ * static_cast<double>(count) + draw_share());
      for (const Individual& one : bests) { if (out.size() + by_chance < count) { (void)take(one.sketch, one.point, one.seconds, out); } }
      for (size_t i = 0; i < by_chance && !drawn.empty(); ++i) {
        const Individual& one = drawn[draw(drawn.size())];
        (void)take(one.sketch, one.point, one.seconds, out);
      }
    }
    fill(count, out);
    return out;
  }

 private:
  [[nodiscard]] auto best_measured() const -> std::vector<Individual> {
    std::vector<Individual> out;
    for (size_t s = 0; s < arms_.size(); ++s) {
      for (const Measured& m : arms_[s].measured) { out.push_back({m.seconds, s, m.point}); }
    }
    std::sort(out.begin(), out.end(), is_better);
    const auto most = static_cast<size_t>(init_measured_ratio_ * static_cast<double>(population_size_));
    if (out.size() > most) { out.resize(most); }
    for (Individual& one : out) { one.seconds = score(one.sketch, one.point); }
    return out;
  }

  /// Points that were not proposed yet, from sketches with equal chances.
  auto sample(size_t wanted) -> std::vector<Individual> {
    std::vector<Individual> out;
    int fails = 0;
    while (out.size() < wanted && fails < max_fail_count_) {
      const size_t before = out.size();
      for (size_t i = out.size(); i < wanted; ++i) {
        const size_t sketch = draw(sketches_.size());
        Point point = random_point(sketch);
        if (arms_[sketch].seen.contains(point)) { continue; }
        const double expected = score(sketch, point);
        if (std::isfinite(expected)) { out.push_back({expected, sketch, std::move(point)}); }
      }
      if (out.size() == before) { ++fails; }
    }
    return out;
  }

  /// The `count` best points, met in any generation, that were not proposed yet.
  auto evolve(std::vector<Individual> population, size_t count) -> std::vector<Individual> {
    std::vector<Individual> bests;
    std::set<std::pair<size_t, Point>> met;
    for (int iteration = 0;; ++iteration) {
      for (const Individual& one : population) {
        if (!arms_[one.sketch].seen.contains(one.point) && met.insert({one.sketch, one.point}).second) { bests.push_back(one); }
      }
      std::sort(bests.begin(), bests.end(), is_better);
      if (bests.size() > count) { bests.resize(count); }
      if (iteration == genetic_num_iters_ || population.empty()) { return bests; }
      population = next_generation(population);
    }
  }

  auto next_generation(const std::vector<Individual>& population) -> std::vector<Individual> {
    // The chance to be a parent is proportional to the expected speed.
    std::vector<double> sums;
    for (const Individual& one : population) { sums.push_back((sums.empty() ? 0 : sums.back()) + 1 / std::max(one.seconds, 1e-12)); }
    std::vector<Individual> out;
    for (size_t i = 0; i < population.size(); ++i) {
      const auto at = std::upper_bound(sums.begin(), sums.end(), draw_share() * sums.back());
      const Individual& parent = population[std::min<size_t>(static_cast<size_t>(at - sums.begin()), population.size() - 1)];
      out.push_back(parent);
      if (draw_share() >= genetic_mutate_prob_) { continue; }
      for (int fail = 0; fail < genetic_max_fail_count_; ++fail) {
        std::optional<Point> mutant = mutated(parent);
        if (!mutant) { continue; }
        Point child = *std::move(mutant);
        const double expected = score(parent.sketch, child);
        if (!std::isfinite(expected)) { continue; }
        out.back() = {expected, parent.sketch, std::move(child)};
        break;
      }
    }
    return out;
  }

  auto mutated(const Individual& parent) -> std::optional<Point> {
    if (sketches_[parent.sketch]->has_mutators()) { return sketches_[parent.sketch]->mutated(parent.point, static_cast<int64_t>(draw(1U << 30)) + 1); }
    const auto& knobs = sketches_[parent.sketch]->knobs();
    const double kind = draw_share();
    std::vector<size_t> fitting, all;
    for (size_t k = 0; k < knobs.size(); ++k) {
      if (knobs[k].choices.size() < 2) { continue; }
      all.push_back(k);
      const bool fits = kind < tile_share ? is_tile(knobs[k]) : kind < tile_share + location_share ? is_location(knobs[k]) : !is_tile(knobs[k]) && !is_location(knobs[k]);
      if (fits) { fitting.push_back(k); }
    }
    Point point = parent.point;
    if (all.empty()) { return point; }
    const size_t k = fitting.empty() ? all[draw(all.size())] : fitting[draw(fitting.size())];
    point[k] = is_tile(knobs[k]) ? moved_factor(knobs[k], point[k]) : static_cast<uint16_t>((point[k] + 1 + draw(knobs[k].choices.size() - 1)) % knobs[k].choices.size());
    return point;
  }

  /// Another tile that differs in two factors, as TVM's mutator moves a divisor from one to the other; any other tile where the list has none.
  auto moved_factor(const Knob& knob, uint16_t now) -> uint16_t {
    std::vector<uint16_t> near;
    const auto& factors = knob.choices[now];
    for (size_t c = 0; c < knob.choices.size(); ++c) {
      if (c == now || knob.choices[c].size() != factors.size()) { continue; }
      size_t differing = 0;
      for (size_t f = 0; f < factors.size(); ++f) { differing += knob.choices[c][f] != factors[f] ? 1 : 0; }
      if (differing == 2) { near.push_back(static_cast<uint16_t>(c)); }
    }
    if (near.empty()) { return static_cast<uint16_t>((now + 1 + draw(knob.choices.size() - 1)) % knob.choices.size()); }
    return near[draw(near.size())];
  }

  // TVM's parameters, under its names.
  size_t population_size_ = 0, init_min_unmeasured_ = 0;
  int max_fail_count_ = 0, genetic_num_iters_ = 0, genetic_max_fail_count_ = 0;
  double init_measured_ratio_ = 0, genetic_mutate_prob_ = 0, eps_greedy_ = 0;
};

}  // namespace

auto make_evolutionary(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<Evolutionary>(sketches, seed); }

}  // namespace loopsmith::tune
