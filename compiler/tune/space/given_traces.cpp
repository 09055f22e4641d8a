// Candidates of others as sketches: see given_traces.h.
#include "tune/space/given_traces.h"

#include <fmt/format.h>

namespace loopsmith::tune {
namespace {

/// One point: the trace. All sketches have the same draft, because every given candidate is measured.
class GivenSketch final : public Sketch {
 public:
  GivenSketch(std::string name, Result<schedule::Trace> trace) : trace_(std::move(trace)) { name_ = std::move(name); }
  [[nodiscard]] auto apply(schedule::Schedule& sch, const Point& /*point*/) const -> Status override {
    if (!trace_.ok()) { return trace_.diagnostics(); }
    return sch.replay(*trace_);
  }
  [[nodiscard]] auto known_trace(const Point& /*point*/) const -> std::optional<schedule::Trace> override { return trace_.ok() ? std::optional(*trace_) : std::nullopt; }
  [[nodiscard]] auto draft(const Point& /*point*/) const -> double override { return 1; }
  [[nodiscard]] auto features(const Point& /*point*/) const -> std::vector<double> override { return {}; }

 private:
  Result<schedule::Trace> trace_;
};

}  // namespace

auto space_of_traces(const std::vector<Result<schedule::Trace>>& traces) -> Sketches {
  Sketches out;
  for (const Result<schedule::Trace>& trace : traces) { out.push_back(std::make_unique<GivenSketch>(fmt::format("candidate {}", out.size() + 1), trace)); }
  return out;
}

}  // namespace loopsmith::tune
