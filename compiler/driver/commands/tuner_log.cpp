// Appends trials to logs: see tuner_log.h.
#include "driver/commands/tuner_log.h"

#include <fstream>

#include "ir/equal.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "target/hardware.h"
#include "tune/database/database.h"

namespace loopsmith::driver::commands {

auto append_trials(const std::string& path, const Selection& selection, const tune::SessionOptions& options, const std::string& device, const LogLine& line) -> Result<size_t> {
  LOOPSMITH_TRY(database, tune::Database::open(options.database.empty() ? tune::Database::default_path() : options.database));
  LOOPSMITH_TRY(records, database.records({structural_hash(selection.before), selection.target.str(), device.empty() ? target::machine_identity() : device}));
  std::ofstream log(path, std::ios::app);
  size_t count = 0;
  for (const tune::Record& record : records) {
    const std::string text = line(record.trace, record.outcome == tune::Outcome::Measured ? record.median_seconds : 0);
    if (text.empty()) { continue; }
    log << text << '\n';
    ++count;
  }
  log.flush();
  if (!log) { return error(Code::CannotWrite).arg("file", path).arg("reason", because(Why::DiskOrFolder).text()); }
  return count;
}

}  // namespace loopsmith::driver::commands
