// Commands of lenses and code actions, as data. Their names and their JSON belong to the protocol.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  ChooseSizes,
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
  std::optional<uint64_t> job = {};   // the job of the command; then only `replaced` is used beside it
  std::string function = {};          // the program
  std::string schedule = {};
  std::string other = {};             // another schedule, compared with `schedule`
  std::string block = {};             // the block that is interpreted alone
  std::vector<std::string> sizes = {};   // the sizes that the program leaves open
  std::string replaced = {};          // the schedule that the inserted one replaces
  bool is_recorded = false;           // the schedule to insert is in the records of earlier searches
  double seconds = 0;                 // limits of a search; 0: none
  int64_t trials = 0;
  std::optional<uint32_t> at = {};    // a byte of the text
  std::string loop = {};              // the loop to be split
  int64_t extent = 0;                 // of that loop; 0: symbolic
  std::string factors = {};           // proposed factors: "None, 32"
  std::string from = {};              // addresses of two views, and the title of their difference
  std::string to = {};
  std::string title = {};
};

}  // namespace loopsmith::lsp
