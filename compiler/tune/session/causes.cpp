// Grouped causes: see causes.h.
#include "tune/session/causes.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "support/files.h"

namespace loopsmith::tune {
namespace {

/// The first line of a note with each number replaced by `#`.
auto key_of(const std::string& outcome, const std::string& note) -> std::string {
  std::string out = outcome + "\n";
  for (size_t i = 0; i < note.size() && note[i] != '\n'; ++i) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(note[i])) != 0;
    if (!is_digit) { out += note[i]; }
    else if (out.back() != '#') { out += '#'; }
  }
  return out;
}

}  // namespace

void FailureCauses::add(const std::string& outcome, const std::string& note, const std::string& trace, bool is_prefix) {
  const std::string key = key_of(outcome, note);
  auto known = std::find(keys_.begin(), keys_.end(), key);
  if (known != keys_.end()) {
    ++causes_[static_cast<size_t>(known - keys_.begin())].count;
    return;
  }
  keys_.push_back(key);
  causes_.push_back({outcome, note, 1, trace, is_prefix});
}

auto FailureCauses::sorted() const -> std::vector<FailureCause> {
  std::vector<FailureCause> out = causes_;
  std::sort(out.begin(), out.end(), [](const FailureCause& a, const FailureCause& b) { return std::tie(b.count, a.outcome, a.note) < std::tie(a.count, b.outcome, b.note); });
  return out;
}

auto write_reproducers(const std::vector<FailureCause>& causes, const std::string& folder, const std::string& name) -> std::vector<std::string> {
  std::vector<std::string> out;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  for (size_t i = 0; i < causes.size(); ++i) {
    const std::string path = fmt::format("{}/{}-{}.json", folder, name, i + 1);
    if (causes[i].trace.empty()) {
      out.emplace_back();
      continue;
    }
    out.push_back(write_file(path, causes[i].trace + "\n").ok() ? path : std::string());
  }
  return out;
}

}  // namespace loopsmith::tune
