// Data sets for cost models: measured candidates with their features, as lines of JSON or as NumPy's files; and the files of trained models.
#pragma once

#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "tune/cost/trained.h"

namespace loopsmith::driver {

/// A set as it was read or made.
struct Dataset {
  std::vector<tune::Sample> samples;
  size_t left_out = 0;                    // records without a time, or whose trace does not apply to its program
};

/// The measured records of a tuning database; `program`: those of programs with this name only; empty: all.
[[nodiscard]] auto dataset_of_database(const std::string& path, const std::string& program, const std::string& target) -> Result<Dataset>;
/// A file of `write_dataset`, or a tuning database. An error has the line.
[[nodiscard]] auto read_dataset(const std::string& path) -> Result<Dataset>;

/// A line of JSON for each sample.
[[nodiscard]] auto dataset_lines(const Dataset& set) -> std::string;
/// NumPy's files in a folder: features.npy (stores x 164), rows.npy (the sample of each store), seconds.npy, draft.npy, exact.npy and tasks.npy (numbers of the lines of
/// tasks.txt).
[[nodiscard]] auto write_numpy(const Dataset& set, const std::string& folder) -> Status;

[[nodiscard]] auto model_text(const tune::TrainedModel& model) -> std::string;
[[nodiscard]] auto read_model_file(const std::string& path) -> Result<tune::TrainedModel>;

[[nodiscard]] auto write_text_file(const std::string& path, const std::string& text) -> Status;

}  // namespace loopsmith::driver
