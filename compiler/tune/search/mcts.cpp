// Monte Carlo tree search over knobs: the first level of the tree chooses the sketch, each further level the choice of one knob. A descent follows upper
// confidence bounds on the mean speed; below the last known node the rest of the point is drawn several times and the best score is kept.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tune/search/points.h"

namespace loopsmith::tune {
namespace {

constexpr double exploration = 0.4;
constexpr int playouts = 16;
constexpr int tries = 64;   // descents until one ends at a new point

class TreeSearch : public PointSearch {
 public:
  TreeSearch(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed), roots_(sketches.size()) {}
  [[nodiscard]] auto batch() const -> size_t override { return 8; }

  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    std::vector<Proposal> out;
    if (sketches_.empty()) { return out; }
    fit();
    for (size_t i = 0; i < count * tries && out.size() < count; ++i) { descend(out); }
    fill(count, out);
    return out;
  }

  void learn(const Proposal& proposal, double seconds, bool exact) override {
    PointSearch::learn(proposal, seconds, exact);
    // A lower bound of the time is taken as the time.
    add(proposal, 0, 1 / std::max(seconds, 1e-12));
  }

 private:
  struct Node {
    int visits = 0;
    double speed = 0;   // the sum over visits
    std::map<uint16_t, Node> children;
  };

  /// Counts a visit and a speed along the path of a point, as far as the tree has nodes for it.
  void add(const Proposal& proposal, int visits, double speed) {
    Node* node = &roots_[proposal.sketch];
    for (size_t k = 0;; ++k) {
      node->visits += visits;
      node->speed += speed;
      if (k == proposal.point.size()) { return; }
      auto child = node->children.find(proposal.point[k]);
      if (child == node->children.end()) { return; }
      node = &child->second;
    }
  }

  [[nodiscard]] auto bound(const Node& node, int parent) const -> double {
    if (node.visits == 0) { return std::numeric_limits<double>::infinity(); }
    return node.speed / node.visits * best_ + exploration * std::sqrt(std::log(parent + 1.0) / node.visits);
  }

  auto pick_root() -> size_t {
    int total = 0;
    for (const Node& root : roots_) { total += root.visits; }
    size_t out = 0;
    for (size_t s = 1; s < roots_.size(); ++s) { if (bound(roots_[s], total) > bound(roots_[out], total)) { out = s; } }
    return out;
  }

  /// Descends once from the root, and adds the point that it reaches. Proposals without an answer count as visits without speed, which spreads a batch over the tree.
  void descend(std::vector<Proposal>& out) {
    const size_t sketch = pick_root();
    const auto& knobs = sketches_[sketch]->knobs();
    Node* node = &roots_[sketch];
    Point prefix;
    while (prefix.size() < knobs.size()) {
      const size_t n = knobs[prefix.size()].choices.size();
      // A node gets more children the more often it is visited.
      const auto allowed = std::min<size_t>(n, 1 + static_cast<size_t>(std::sqrt(2.0 * node->visits)));
      if (node->children.size() < allowed) {
        const auto choice = static_cast<uint16_t>(draw(n));
        const bool is_new = node->children.try_emplace(choice).second;
        prefix.push_back(choice);
        node = &node->children[choice];
        if (is_new) { break; }
        continue;
      }
      auto best = node->children.begin();
      for (auto child = node->children.begin(); child != node->children.end(); ++child) {
        if (bound(child->second, node->visits) > bound(best->second, node->visits)) { best = child; }
      }
      prefix.push_back(best->first);
      node = &best->second;
    }
    Point point;
    const double expected = play_out(sketch, prefix, point);
    Proposal visited{sketch, point.empty() ? prefix : point, expected};
    if (std::isfinite(expected)) { (void)take(sketch, point, expected, out); }
    // A descent to nothing new counts too: the next one goes elsewhere.
    visited.point.resize(knobs.size(), 0);
    add(visited, 1, 0);
  }

  /// Completes a prefix to the point with the best score that was not proposed yet; infinity: there is none among the draws.
  auto play_out(size_t sketch, const Point& prefix, Point& out) -> double {
    double best = std::numeric_limits<double>::infinity();
    const int draws = prefix.size() == sketches_[sketch]->knobs().size() ? 1 : playouts;
    for (int i = 0; i < draws; ++i) {
      Point point = random_point(sketch);
      std::copy(prefix.begin(), prefix.end(), point.begin());
      if (arms_[sketch].seen.contains(point)) { continue; }
      const double expected = score(sketch, point);
      if (expected < best) {
        best = expected;
        out = std::move(point);
      }
    }
    return best;
  }

  std::vector<Node> roots_;
};

}  // namespace

auto make_mcts(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<TreeSearch>(sketches, seed); }

}  // namespace loopsmith::tune
