// Models that judge whole candidates: they see the scheduled program, not the knobs of a sketch, so they work in every space, and a model that
// learnt from one program serves another. Cost models that a user writes, and trained models from files, are such models.
//
// search/judged.cpp places one behind any search: the search proposes several times as many points as are measured, and the model chooses.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "target/target.h"

namespace loopsmith::tune {

/// The program that is searched.
struct ModelTask {
  IRModule module;
  Name function;
  target::Target target;
};

/// A candidate that was measured.
struct Lesson {
  schedule::Schedule sch;
  double seconds = 0;
  bool is_exact = true;          // false: the candidate was stopped early, and takes at least this long
  bool has_failed = false;       // it has no time
};

class CandidateModel {
 public:
  virtual ~CandidateModel() = default;
  /// A score for each candidate; the larger, the faster. Only the order of scores of one task has a meaning. Empty: the model has no answer.
  [[nodiscard]] virtual auto predict(const ModelTask& task, const std::vector<schedule::Schedule>& candidates) -> std::vector<double> = 0;
  /// Learns from the measurements of a batch.
  virtual void update(const ModelTask& /*task*/, const std::vector<Lesson>& /*lessons*/) {}
  /// The numbers that the model has learnt, as text for `restore`; empty: it keeps none.
  [[nodiscard]] virtual auto state() const -> std::string { return {}; }
  /// Takes the numbers of a text. Returns the reason why it cannot; empty: they are taken.
  [[nodiscard]] virtual auto restore(const std::string& /*text*/) -> std::string { return "the model keeps no numbers of its own"; }
};

}  // namespace loopsmith::tune
