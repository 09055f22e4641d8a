// Jobs as JSON: see jobs.h.
#include "lsp/protocol/jobs.h"

#include <array>
#include <utility>

namespace loopsmith::lsp {
namespace {

constexpr std::array<std::pair<JobKind, const char*>, 5> kinds{{
    {JobKind::Tune, "tune"},
    {JobKind::Bench, "bench"},
    {JobKind::Verify, "verify"},
    {JobKind::Run, "run"},
    {JobKind::Interpret, "interpret"},
}};

constexpr std::array<std::pair<JobPhase, const char*>, 8> phases{{
    {JobPhase::Running, "running"},
    {JobPhase::Paused, "paused"},
    {JobPhase::Kept, "kept"},
    {JobPhase::Stopping, "stopping"},
    {JobPhase::Comparing, "comparing"},
    {JobPhase::ComparingStopped, "comparing stopped"},
    {JobPhase::Done, "done"},
    {JobPhase::Gone, "gone"},
}};

template <class Rows, class Value>
auto name_of(const Rows& rows, Value value) -> const char* {
  for (const auto& [one, name] : rows) {
    if (one == value) { return name; }
  }
  return "";
}

/// The value of a name; false: no row has that name.
template <class Rows, class Value>
auto read_name(const Rows& rows, const std::string& text, Value& value) -> bool {
  for (const auto& [one, name] : rows) {
    if (text == name) {
      value = one;
      return true;
    }
  }
  return false;
}

auto progress_json(const SearchProgress& progress) -> Json {
  Json json = Json::object();
  if (progress.trial) { json["trial"] = *progress.trial; }
  if (progress.trials) { json["trials"] = *progress.trials; }
  if (progress.best_seconds) { json["best_seconds"] = *progress.best_seconds; }
  if (progress.floor_seconds) { json["floor_seconds"] = *progress.floor_seconds; }
  if (progress.elapsed) { json["elapsed"] = *progress.elapsed; }
  if (progress.left) { json["left"] = {progress.left->first, progress.left->second}; }
  return json;
}

auto progress_from(const Json& json) -> SearchProgress {
  SearchProgress progress{.trial = int_in(json, "trial"), .trials = int_in(json, "trials"), .best_seconds = number_in(json, "best_seconds"),
                          .floor_seconds = number_in(json, "floor_seconds"), .elapsed = number_in(json, "elapsed"), .left = {}};
  const Json& left = member(json, "left");
  if (left.is_array() && left.size() == 2 && left[0].is_number() && left[1].is_number()) { progress.left.emplace(left[0].get<double>(), left[1].get<double>()); }
  return progress;
}

}  // namespace

auto to_json(const JobFacts& job) -> Json {
  Json json = {{"job", job.job}, {"kind", name_of(kinds, job.kind)}, {"phase", name_of(phases, job.phase)}, {"uri", job.uri}, {"function", job.function}, {"version", job.version}};
  auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) { json[name] = text; }
  };
  add("schedule", job.schedule);
  add("other", job.other);
  add("extent", job.extent);
  add("difference", job.difference);
  add("hole", job.hole_state);
  add("schedule_text", job.schedule_text);
  if (job.kind == JobKind::Tune && !job.is_done()) { json["progress"] = progress_json(job.progress); }
  if (job.kind == JobKind::Verify && job.is_done()) { json["equal"] = job.is_equal; }
  if (job.seconds > 0) { json["seconds"] = job.seconds; }
  if (job.plain_seconds > 0) { json["plain_seconds"] = job.plain_seconds; }
  if (job.share > 0) { json["share"] = job.share; }
  return json;
}

auto job_from(const Json& params) -> std::optional<JobFacts> {
  JobFacts job;
  if (!read_name(kinds, string_in(params, "kind"), job.kind) || !read_name(phases, string_in(params, "phase"), job.phase)) { return std::nullopt; }
  job.job = static_cast<uint64_t>(int_in(params, "job").value_or(0));
  job.uri = string_in(params, "uri");
  job.function = string_in(params, "function");
  job.version = int_in(params, "version").value_or(0);
  job.schedule = string_in(params, "schedule");
  job.other = string_in(params, "other");
  job.extent = string_in(params, "extent");
  job.difference = string_in(params, "difference");
  job.hole_state = string_in(params, "hole");
  job.schedule_text = string_in(params, "schedule_text");
  job.progress = progress_from(member(params, "progress"));
  job.is_equal = bool_in(params, "equal");
  job.seconds = number_in(params, "seconds").value_or(0);
  job.plain_seconds = number_in(params, "plain_seconds").value_or(0);
  job.share = number_in(params, "share").value_or(0);
  return job;
}

auto number_in(const Json& json, const char* name) -> std::optional<double> {
  const Json& value = member(json, name);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

}  // namespace loopsmith::lsp
