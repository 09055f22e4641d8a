// Builders and runners of others: they give the candidates of a search their times, in place of the workers. Such a time may come from another machine or a simulator.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "tune/cost/candidate_model.h"

namespace loopsmith::tune {

/// The time of a candidate, or the reason why it has none.
struct RunReply {
  double seconds = 0;
  std::string error = {};
};

class CandidateRunner {
 public:
  virtual ~CandidateRunner() = default;
  /// Part of the key of records: times of two runners are not comparable.
  [[nodiscard]] virtual auto name() const -> std::string = 0;
  /// A reply for each candidate, in their order.
  [[nodiscard]] virtual auto run(const ModelTask& task, const std::vector<schedule::Schedule>& candidates) -> std::vector<RunReply> = 0;
};

}  // namespace loopsmith::tune
