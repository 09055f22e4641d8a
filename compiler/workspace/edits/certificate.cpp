// Writes and reads certificates of found schedules: see certificate.h.
#include "workspace/edits/certificate.h"

#include <fmt/format.h>

#include <charconv>
#include <ctime>

#include "ir/equal.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "support/text.h"

namespace loopsmith::workspace {
namespace {

constexpr std::string_view program_word = "# Program ";
constexpr std::string_view scheduled_word = ", scheduled ";

}  // namespace

auto certificate_of(const IRModule& module, Name function, const std::string& trace) -> std::optional<Certificate> {
  auto read = schedule::trace_from_json(trace);
  schedule::Schedule again(module, 1);
  if (!read.ok() || !again.work_on(function).ok() || !again.replay(*read).ok()) { return std::nullopt; }
  return Certificate{structural_hash(module), structural_hash(again.module())};
}

auto certificate_text(const std::optional<Certificate>& certificate, const Timed& timed) -> std::string {
  std::tm day{};
  auto time = static_cast<std::time_t>(timed.unix_time);
  ::gmtime_r(&time, &day);
  std::string hashes = certificate ? fmt::format("{}{:016x}{}{:016x}; ", program_word.substr(2), certificate->program, scheduled_word, certificate->scheduled) : "";
  return fmt::format("{}{}; +-{:.1f}%, {} {}; Loopsmith {}; {:04}-{:02}-{:02}", hashes, timed.target, timed.seconds > 0 ? timed.spread_seconds / timed.seconds * 100 : 0, timed.timings,
                     plural(timed.timings, "timing"), LOOPSMITH_VERSION, day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

auto certificate_in(std::string_view text) -> std::optional<Certificate> {
  constexpr size_t digits = 16;
  for (size_t at = text.find(program_word); at != std::string_view::npos; at = text.find(program_word, at + 1)) {
    std::string_view rest = text.substr(at + program_word.size());
    if (rest.size() < 2 * digits + scheduled_word.size() || rest.substr(digits, scheduled_word.size()) != scheduled_word) { continue; }
    std::string_view first = rest.substr(0, digits);
    std::string_view second = rest.substr(digits + scheduled_word.size(), digits);
    Certificate out;
    auto read = [](std::string_view hex, uint64_t& value) { return std::from_chars(hex.data(), hex.data() + hex.size(), value, 16).ptr == hex.data() + hex.size(); };
    if (read(first, out.program) && read(second, out.scheduled)) { return out; }
  }
  return std::nullopt;
}

}  // namespace loopsmith::workspace
