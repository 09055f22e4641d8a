// Appends trials to logs: see tuner_log.h.
#include "driver/commands/tuner_log.h"

#include <fstream>
#include <set>

#include "script/log_lines.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "tune/database/database.h"

namespace loopsmith::driver::commands {

auto log_line_of(const tune::Record& record) -> std::string {
  using script::LineError;
  if (record.line.empty()) { return {}; }
  const bool is_measured = record.outcome == tune::Outcome::Measured;
  const LineError why = record.outcome == tune::Outcome::Wrong ? LineError::WrongAnswer : record.outcome == tune::Outcome::TimedOut ? LineError::RunTimeout : LineError::Runtime;
  return script::with_result(record.line, is_measured ? record.median_seconds : 0, is_measured ? LineError::None : why);
}

auto append_trials(const std::string& path, const tune::SessionOptions& options, const std::vector<tune::TaskKey>& tasks, const std::function<bool(const std::string&)>& is_wanted)
    -> Result<size_t> {
  std::set<std::string> known;
  std::ifstream earlier(path);
  for (std::string line; std::getline(earlier, line);) { known.insert(line); }
  LOOPSMITH_TRY(database, tune::Database::open(options.database.empty() ? tune::Database::default_path() : options.database));
  std::ofstream log(path, std::ios::app);
  size_t count = 0;
  for (const tune::TaskKey& task : tasks) {
    LOOPSMITH_TRY(records, database.records(task));
    for (const tune::Record& record : records) {
      const std::string text = log_line_of(record);
      if (text.empty() || !is_wanted(text) || !known.insert(text).second) { continue; }
      log << text << '\n';
      ++count;
    }
  }
  log.flush();
  if (!log) { return error(Code::CannotWrite).arg("file", path).arg("reason", because(Why::DiskOrFolder).text()); }
  return count;
}

}  // namespace loopsmith::driver::commands
