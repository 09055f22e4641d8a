// Q-learning over moves, in the manner of FlexTensor and Chameleon: a move changes one knob of a measured point by one place up or down, or to any other choice. The search
// learns for each move of a sketch which reward it brings: the logarithm of the gain in speed. Mostly it makes the best known move from one of the fastest points, at times
// a random one.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "tune/search/points.h"

namespace loopsmith::tune {
namespace {

constexpr double learning_rate = 0.3, discount = 0.5;
constexpr double exploration = 0.2;
// A point that is slower by this factor is chosen as the start of a move with 1/e of the chance of the best.
constexpr double patience = 1.2;
constexpr int tries = 64;                  // moves until one leads to a new point
constexpr size_t starts_per_sketch = 2;    // random points before moves begin

enum class Direction : uint8_t { Down, Up, Other };
constexpr size_t directions = 3;

class QLearning : public PointSearch {
 public:
  QLearning(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed) {
    for (const auto& sketch : sketches_) { values_.emplace_back(sketch->knobs().size() * directions, 0.0); }
  }
  [[nodiscard]] auto batch() const -> size_t override { return 8; }

  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    std::vector<Proposal> out;
    for (size_t s = 0; s < sketches_.size(); ++s) {
      for (size_t i = static_cast<size_t>(arms_[s].proposed); i < starts_per_sketch && out.size() < count; ++i) {
        if (valid_random_point(s)) { (void)take_drafted(s, scratch_, out); }
      }
    }
    for (int i = 0; i < tries && out.size() < count && best_ > 0; ++i) { move(out); }
    fill(count, out);
    return out;
  }

  void learn(const Proposal& proposal, double seconds, bool exact) override {
    PointSearch::learn(proposal, seconds, exact);
    reward(proposal, [&](double before) { return std::log(before / seconds); });
  }
  void reject(const Proposal& proposal) override {
    PointSearch::reject(proposal);
    reward(proposal, [](double) { return -1.0; });
  }

 private:
  struct Made { size_t action; double seconds_before; };

  /// A measured point; faster ones have better chances.
  auto start() -> std::pair<size_t, const Measured*> {
    std::vector<std::pair<size_t, const Measured*>> all;
    std::vector<double> sums;
    for (size_t s = 0; s < arms_.size(); ++s) {
      for (const Measured& m : arms_[s].measured) {
        const double chance = std::exp(-std::log(m.seconds / best_) / std::log(patience));
        all.emplace_back(s, &m);
        sums.push_back((sums.empty() ? 0 : sums.back()) + chance);
      }
    }
    const auto at = std::upper_bound(sums.begin(), sums.end(), draw_share() * sums.back());
    return all[std::min<size_t>(static_cast<size_t>(at - sums.begin()), all.size() - 1)];
  }

  void move(std::vector<Proposal>& out) {
    const auto [sketch, from] = start();
    const auto& knobs = sketches_[sketch]->knobs();
    std::vector<size_t> actions;
    for (size_t k = 0; k < knobs.size(); ++k) {
      for (size_t d = 0; d < directions; ++d) { if (changed(knobs[k], from->point[k], static_cast<Direction>(d))) { actions.push_back(k * directions + d); } }
    }
    if (actions.empty()) { return; }
    size_t action = actions[draw(actions.size())];
    if (draw_share() >= exploration) {
      // Among equal values, the drawn one counts.
      for (size_t a : actions) { if (values_[sketch][a] > values_[sketch][action]) { action = a; } }
    }
    Point point = from->point;
    const size_t knob = action / directions;
    point[knob] = *changed(knobs[knob], point[knob], static_cast<Direction>(action % directions));
    if (take_drafted(sketch, point, out)) { made_[{sketch, std::move(point)}] = {action, from->seconds}; }
    // A move that leads nowhere new is worth less.
    else { values_[sketch][action] *= 1 - learning_rate / 2; }
  }
  /// None: the knob has no such choice.
  auto changed(const Knob& knob, uint16_t now, Direction direction) -> std::optional<uint16_t> {
    const size_t count = knob.choices.size();
    switch (direction) {
      case Direction::Down: return now > 0 ? std::optional(static_cast<uint16_t>(now - 1)) : std::nullopt;
      case Direction::Up: return static_cast<size_t>(now) + 1 < count ? std::optional(static_cast<uint16_t>(now + 1)) : std::nullopt;
      case Direction::Other: break;
    }
    return count > 2 ? std::optional(static_cast<uint16_t>((now + 1 + draw(count - 1)) % count)) : std::nullopt;
  }

  template <class Reward> void reward(const Proposal& proposal, const Reward& of) {
    auto made = made_.find({proposal.sketch, proposal.point});
    if (made == made_.end()) { return; }
    std::vector<double>& values = values_[proposal.sketch];
    const double next = std::max(0.0, *std::max_element(values.begin(), values.end()));
    double& value = values[made->second.action];
    value += learning_rate * (of(made->second.seconds_before) + discount * next - value);
    made_.erase(made);
  }

  std::vector<std::vector<double>> values_;                // by sketch, then knob and direction
  std::map<std::pair<size_t, Point>, Made> made_;          // moves without an answer
};

}  // namespace

auto make_q_learning(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<QLearning>(sketches, seed); }

}  // namespace loopsmith::tune
