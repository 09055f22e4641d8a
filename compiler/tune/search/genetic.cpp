// A genetic algorithm on measured times, with the parameters of AutoTVM's: the fastest points are parents, two parents of a sketch make a child knob by knob,
// and each knob of a child mutates with a small probability. No model is used.
#include <algorithm>
#include <tuple>

#include "tune/search/points.h"

namespace loopsmith::tune {
namespace {

constexpr size_t population = 24;
constexpr double mutation = 0.1;
constexpr int tries = 64;   // children until one is new

class Genetic : public PointSearch {
 public:
  Genetic(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed) {}

  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override {
    std::vector<Proposal> out;
    const std::vector<Parent> parents = fastest();
    proposed_ += count;
    if (proposed_ > population && parents.size() > 1) {
      for (size_t i = 0; i < count * tries && out.size() < count; ++i) { (void)breed(parents, out); }
    }
    fill(count, out);
    return out;
  }

 private:
  struct Parent { double seconds; size_t sketch; const Point* point; };

  [[nodiscard]] auto fastest() const -> std::vector<Parent> {
    std::vector<Parent> out;
    for (size_t s = 0; s < arms_.size(); ++s) {
      for (size_t i = 0; i < std::min(population, arms_[s].measured.size()); ++i) { out.push_back({arms_[s].measured[i].seconds, s, &arms_[s].measured[i].point}); }
    }
    std::sort(out.begin(), out.end(), [](const Parent& a, const Parent& b) { return std::tie(a.seconds, a.sketch, *a.point) < std::tie(b.seconds, b.sketch, *b.point); });
    if (out.size() > population) { out.resize(population); }
    return out;
  }

  /// The faster a point, the more often it is drawn: the better one of two.
  auto pick(const std::vector<Parent>& parents) -> const Parent& { return parents[std::min(draw(parents.size()), draw(parents.size()))]; }

  auto breed(const std::vector<Parent>& parents, std::vector<Proposal>& out) -> bool {
    const Parent& mother = pick(parents);
    const Parent& father = pick(parents);
    Point child = *mother.point;
    if (father.sketch == mother.sketch) {
      for (size_t k = 0; k < child.size(); ++k) { if (draw(2) == 0) { child[k] = (*father.point)[k]; } }
    }
    const auto& knobs = sketches_[mother.sketch]->knobs();
    for (size_t k = 0; k < child.size(); ++k) {
      if (draw_share() < mutation) { child[k] = static_cast<uint16_t>(draw(knobs[k].choices.size())); }
    }
    return take_drafted(mother.sketch, child, out);
  }

  size_t proposed_ = 0;
};

}  // namespace

auto make_genetic(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<Genetic>(sketches, seed); }

}  // namespace loopsmith::tune
