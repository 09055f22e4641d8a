// Commands that lenses and code actions offer, as data. The names and the JSON that an editor sends back are the protocol's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace loopsmith::lsp {

/// None: a title without a command.
enum class CommandKind : uint8_t {
  None,
  Tune,
  StopTune,
  PauseTune,
  ResumeTune,
  InsertSchedule,
  Bench,
  Verify,
  Run,
  Interpret,
  ApplySchedule,
  Split,
  ShowView,
  ShowDifference,
  ShowHistory,
  ShowComparison,
};

/// A command with its arguments. Members that a command does not use are empty.
struct OfferedCommand {
  CommandKind kind{};
  std::optional<uint64_t> job = {};   // that the command is about; it needs nothing else then, apart from `replaced`
  std::string function = {};          // the program
  std::string schedule = {};
  std::string other = {};             // another schedule that is compared with `schedule`
  std::string block = {};             // that is interpreted alone
  std::string replaced = {};          // the schedule whose place the inserted one takes
  bool is_recorded = false;           // the schedule to insert is in the records of earlier searches
  double seconds = 0;                 // limits of a search; 0: none
  int64_t trials = 0;
  std::optional<uint32_t> at = {};    // a byte of the text
  std::string loop = {};              // to be split
  int64_t extent = 0;                 // of that loop; 0: symbolic
  std::string factors = {};           // proposed for it: "None, 32"
  std::string from = {};              // addresses of two views, and the title of their difference
  std::string to = {};
  std::string title = {};
};

}  // namespace loopsmith::lsp
