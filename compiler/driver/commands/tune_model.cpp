// Reads and writes the attributes of a written model: see tune_model.h.
#include "driver/commands/tune_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "driver/command.h"
#include "driver/commands/tune_results.h"
#include "support/files.h"

namespace loopsmith::driver::commands {

auto restore_model(const Arguments& arguments, const tune::SessionOptions& options) -> std::optional<int> {
  const std::string path = arguments.get("--model-state", "");
  if (path.empty()) { return {}; }
  if (!options.candidate_model || options.candidate_model->state().empty()) { return usage_error("tune", "`--model-state` keeps the attributes of a model that the file writes: name its class by `--model`"); }
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) { return {}; }
  auto text = read_file(path);
  const std::string why = text.ok() ? options.candidate_model->restore(*text) : text.diagnostics().front().message();
  if (why.empty()) { return {}; }
  return report_failure(arguments, fmt::format("the state of the model in `{}` cannot be taken: {}", path, why));
}

auto keep_model(const Arguments& arguments, const tune::SessionOptions& options) -> std::optional<int> {
  const std::string path = arguments.get("--model-state", "");
  if (path.empty() || !options.candidate_model || write_file(path, options.candidate_model->state()).ok()) { return {}; }
  return report_failure(arguments, fmt::format("the state of the model cannot be written to `{}`", path));
}

}  // namespace loopsmith::driver::commands
