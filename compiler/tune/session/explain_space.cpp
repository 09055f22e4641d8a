// Sketches, knobs and units as facts and as text: see explain_space.h.
#include "tune/session/explain_space.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "support/text.h"

namespace loopsmith::tune {
namespace {

constexpr int sampled_points = 200;

auto choice_text(const Knob& knob, size_t number) -> std::string {
  if (!knob.texts.empty()) { return knob.texts[number]; }
  const std::vector<int64_t>& choice = knob.choices[number];
  std::string out;
  for (int64_t n : choice) { out += fmt::format("{}{}", out.empty() ? "" : ", ", n); }
  return choice.size() == 1 ? out : "[" + out + "]";
}

auto accepted_share(const Sketch& sketch) -> double {
  std::mt19937_64 random(1);
  int accepted = 0;
  const int points = static_cast<int>(std::min<double>(sampled_points, static_cast<double>(sketch.population())));
  for (int i = 0; i < points; ++i) {
    Point point;
    for (const Knob& knob : sketch.knobs()) { point.push_back(static_cast<uint16_t>(random() % knob.choices.size())); }
    accepted += std::isfinite(sketch.draft(point)) ? 1 : 0;
  }
  return static_cast<double>(accepted) / points;
}

auto points_text(double points) -> std::string { return points < 1e15 ? grouped(static_cast<int64_t>(points)) : fmt::format("{:.0e}", points); }

auto trials_text(const SketchExplained& sketch) -> std::string {
  if (sketch.tally.proposed == 0) { return "not tried"; }
  std::string out = fmt::format("tried {}", sketch.tally.proposed);
  if (sketch.tally.measured > 0) { out += fmt::format(", best {}", duration_text(sketch.tally.best_seconds)); }
  if (sketch.tally.failed > 0) { out += fmt::format(", failed {}", sketch.tally.failed); }
  return out;
}

}  // namespace

auto explain_sketch(const Sketch& sketch, const SketchTally& tally, const std::string& why_closed) -> SketchExplained {
  SketchExplained out{.name = sketch.name(), .points = sketch.size(), .knobs = {}, .accepted = accepted_share(sketch), .tally = tally, .why_closed = why_closed};
  for (const Knob& knob : sketch.knobs()) { out.knobs.push_back({knob.name, knob.choices.size(), choice_text(knob, 0), choice_text(knob, knob.choices.size() - 1)}); }
  return out;
}

auto text_of(const SpaceExplained& explained, const std::string& program) -> std::string {
  double points = 0;
  for (const SketchExplained& sketch : explained.sketches) { points += sketch.points; }
  std::string text = fmt::format("`{}`: {}, {} points; {} in the database\n", program, count_text(static_cast<int64_t>(explained.sketches.size()), "sketch", "sketches"), points_text(points),
                                 count_text(explained.records, "record"));
  for (const SketchExplained& sketch : explained.sketches) {
    text += fmt::format("\n{}: {} points; the draft accepts {:.0f}% of random ones; {}\n", sketch.name, points_text(sketch.points), sketch.accepted * 100, trials_text(sketch));
    if (!sketch.why_closed.empty()) { text += fmt::format("  closed by `{}`: {}\n", explained.search, sketch.why_closed); }
    for (const KnobExplained& knob : sketch.knobs) {
      text += fmt::format("  {:<20} {:>6} {}: {}{}\n", knob.name, knob.choices, knob.choices == 1 ? "choice " : "choices", knob.first, knob.choices > 1 ? " to " + knob.last : "");
    }
  }
  if (!explained.units.empty()) { text += "\n"; }
  for (const UnitFit& unit : explained.units) {
    text += unit.why_not.empty() ? fmt::format("`{}` fits {}\n", unit.block, unit.unit) : fmt::format("`{}` does not fit {}: {}\n", unit.block, unit.unit, unit.why_not);
  }
  return text;
}

}  // namespace loopsmith::tune
