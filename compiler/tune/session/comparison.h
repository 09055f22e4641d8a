// The parts of a comparison that a session hands over: see session.h.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tune/measure/pool.h"
#include "tune/session/session.h"

namespace loopsmith::tune {

/// A measured candidate for the final comparison.
struct Finalist {
  Candidate candidate;
  std::string python;
  double seconds = 0;
  double spread = 0;
  int timings = 0;
  int64_t record = 0;
  std::string figures = {};
  std::string program = {};          // see `SessionResult`
  std::string log_line = {};
};

struct Comparison::Parts {
  std::vector<Finalist> finalists;   // fastest first
  SessionResult result;
  FailureCauses causes;
  std::unique_ptr<WorkerPool> pool;
  Database database;
  SessionOptions options;
  std::chrono::steady_clock::time_point start;   // of the session
};

}  // namespace loopsmith::tune
