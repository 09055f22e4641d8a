// The progress of `loopsmith tune` while it runs, and the signals that end, pause and continue it.
#pragma once

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "driver/program.h"
#include "tune/session/session.h"

namespace loopsmith::driver::commands {

/// From here on Ctrl-C ends the search, and a second Ctrl-C the comparison of its best candidate as well. SIGUSR1 pauses the search, SIGUSR2 continues it.
void listen_to_signals(tune::SessionOptions& options);

/// A dash for an unknown time.
[[nodiscard]] auto known_time(double seconds) -> std::string;

/// The sketches with their knobs and trials.
[[nodiscard]] auto arms_of(const tune::Progress& p) -> nlohmann::json;

/// A lower bound for the seconds of a call, from the peaks measured earlier on this machine; 0: unknown.
[[nodiscard]] auto floor_seconds(const Selection& selection) -> double;

/// The progress of a search: with `--json` lines of JSON, on a terminal one line that is rewritten in place, elsewhere a line every few seconds.
class ProgressLine {
 public:
  /// `floor`: of `floor_seconds`.
  ProgressLine(bool json, double floor);
  void show(const tune::Progress& p);

 private:
  void show_json(const tune::Progress& p);
  void show_text(const tune::Progress& p) const;

  bool json_;
  bool terminal_;
  double floor_;
  size_t reported_ = 0;   // trials in the lines so far
  nlohmann::json arms_;   // of the last line that had them
  std::map<std::string, int> failures_;
  std::string best_;
  double shown_ = -1e9;
  std::string phase_;
};

}  // namespace loopsmith::driver::commands
