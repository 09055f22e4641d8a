// Coordinate descent: measures the choices of one knob with all others as in the centre, keeps the fastest, and goes on with the next knob. It ends at a point
// that no change of a single knob improves.
#include <algorithm>

#include "tune/search/climbing.h"

namespace loopsmith::tune {
namespace {

// A knob with more choices is measured at this many of them: the nearest ones in the list, and others at even distances.
constexpr size_t most_choices = 16;

class Coordinate : public Climbing {
 public:
  Coordinate(const Sketches& sketches, uint64_t seed) : Climbing(sketches, seed) {}

 protected:
  void propose_beside(const Centre& centre, size_t count, std::vector<Proposal>& out) override {
    const size_t knobs = sketches_[centre.sketch]->knobs().size();
    // One knob in a batch: its fastest choice is the centre of the next.
    for (size_t turn = 0; turn <= knobs && knobs > 0 && out.empty(); ++turn) {
      if (left_.empty() || left_sketch_ != centre.sketch) { open_knob(centre, knob_++ % knobs); }
      while (!left_.empty() && out.size() < count) {
        Point point = centre.point;
        point[left_knob_] = left_.back();
        left_.pop_back();
        (void)take_drafted(centre.sketch, point, out);
      }
    }
  }

 private:
  void open_knob(const Centre& centre, size_t knob) {
    const size_t n = sketches_[centre.sketch]->knobs()[knob].choices.size();
    left_.clear();
    left_knob_ = knob;
    left_sketch_ = centre.sketch;
    const size_t step = std::max<size_t>(1, 2 * n / most_choices);
    for (size_t c = 0; c < n; ++c) {
      const size_t distance = c > centre.point[knob] ? c - centre.point[knob] : centre.point[knob] - c;
      if (distance > 0 && (distance <= most_choices / 4 || c % step == 0)) { left_.push_back(static_cast<uint16_t>(c)); }
    }
  }

  size_t knob_ = 0;                 // the next one
  std::vector<uint16_t> left_;      // choices of the present knob that are not proposed yet
  size_t left_knob_ = 0;
  size_t left_sketch_ = 0;
};

}  // namespace

auto make_coordinate(const Sketches& sketches, uint64_t seed) -> std::unique_ptr<Search> { return std::make_unique<Coordinate>(sketches, seed); }

}  // namespace loopsmith::tune
