// The part that `greedy` and `coordinate` share: they climb from a centre, the fastest point since the last start, and start anew at a local optimum.
#pragma once

#include <optional>

#include "tune/search/points.h"

namespace loopsmith::tune {

class Climbing : public PointSearch {
 public:
  void learn(const Proposal& proposal, double seconds, bool exact) override;
  void reject(const Proposal& proposal) override;
  [[nodiscard]] auto propose(size_t count) -> std::vector<Proposal> override;

 protected:
  struct Centre { size_t sketch; Point point; double seconds; };
  Climbing(const Sketches& sketches, uint64_t seed) : PointSearch(sketches, seed) {}

  /// Adds points beside the centre.
  virtual void propose_beside(const Centre& centre, size_t count, std::vector<Proposal>& out) = 0;

 private:
  /// The point with the best score among some random ones of each sketch in turn.
  auto propose_start(std::vector<Proposal>& out) -> bool;

  std::optional<Centre> centre_;
  size_t starts_ = 0;
  size_t unanswered_ = 0;   // proposals
};

}  // namespace loopsmith::tune
