// Samples for models of whole candidates: measured schedules of many programs, each with MetaSchedule's features of its stores and the draft of its time. The
// commands `dataset` and `model` read and write sets of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/draft.h"
#include "cost/kernel_estimate.h"
#include "schedule/schedule.h"
#include "target/target.h"
#include "tune/metaschedule/features/features.h"

namespace loopsmith::tune {

struct Sample {
  std::string task;                        // the program with its target and machine: times of one task can be compared
  std::string program;                     // its name, for people
  std::string target;
  double seconds = 0;
  bool is_exact = true;                    // false: the candidate was stopped early, and takes at least this long
  double draft_seconds = 0;                // the estimate of the scheduled program
  std::vector<metaschedule::StoreFeatures> stores;
};

/// Computes the parts of a sample that follow from a schedule.
class Sampler {
 public:
  explicit Sampler(const target::Target& target);
  /// A sample without a time; none: the program has no store with features.
  [[nodiscard]] auto sample(const schedule::Schedule& sch, Name function) const -> std::optional<Sample>;

 private:
  bool is_gpu_;
  cost::CoreModel core_;
  std::optional<cost::GpuModel> gpu_;
};

/// The input of a trained model: for each feature its sum and its maximum over the stores, the number of stores, and the logarithm of the draft. The same length for all.
[[nodiscard]] auto summary_of(const Sample& sample) -> std::vector<double>;
inline constexpr size_t summary_length = 2 * metaschedule::features_per_store + 2;

}  // namespace loopsmith::tune
