// Files of searches: see searches.h.
#include "lsp/server/searches.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "lsp/protocol/jobs.h"
#include "lsp/protocol/json.h"
#include "support/hash.h"

namespace loopsmith::lsp {
namespace {

/// The file of a search has a few hundred bytes; longer files are not ours.
constexpr size_t largest = 64 << 10;

/// Opens and locks the file; -1: another process has locked it, or it cannot be opened.
auto locked(const std::string& path, int flags) -> int {
  int file = ::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) { return -1; }
  // The file may have been removed before the lock was taken.
  struct stat here {}, there {};
  bool is_ours = ::flock(file, LOCK_EX | LOCK_NB) == 0 && ::fstat(file, &here) == 0 && ::stat(path.c_str(), &there) == 0 && here.st_ino == there.st_ino;
  if (is_ours) { return file; }
  ::close(file);
  return -1;
}

auto text_of(int file) -> std::string {
  std::string text(largest, '\0');
  ssize_t size = ::pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

/// Rejects impossible values of a damaged file, such as -5 trials.
template <class Number>
auto positive(std::optional<Number> number) -> std::optional<Number> {
  return number && *number > 0 ? number : std::nullopt;
}

auto sizes_in(const Json& json) -> std::map<std::string, int64_t> {
  std::map<std::string, int64_t> out;
  const Json& sizes = member(json, "sizes");
  if (sizes.is_object()) { for (const auto& [name, value] : sizes.items()) { if (value.is_number_integer()) { out[name] = value.get<int64_t>(); } } }
  return out;
}

}  // namespace

void KeptSearches::let_go() {
  for (const auto& [path, held] : files_) { ::close(held.file); }
  files_.clear();
  folder_.clear();
}

auto KeptSearches::default_folder() -> std::string {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') { return std::string(state) + "/loopsmith/searches"; }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') { return std::string(home) + "/.local/state/loopsmith/searches"; }
  return {};
}

auto KeptSearches::path_of(const std::string& uri, const std::string& function, const std::string& schedule) const -> std::string {
  return fmt::format("{}/{:016x}.json", folder_, hash_bytes(uri + "\n" + function + "\n" + schedule));
}

void KeptSearches::keep(const KeptSearch& search) {
  if (folder_.empty()) { return; }
  std::string path = path_of(search.uri, search.function, search.schedule);
  auto known = files_.find(path);
  if (known != files_.end() && !known->second.is_written) {
    ::close(known->second.file);
    files_.erase(known);
    known = files_.end();
  }
  if (known == files_.end()) {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    int file = locked(path, O_RDWR | O_CREAT);
    if (file < 0) { return; }
    known = files_.emplace(path, Held{file, true}).first;
  }
  Json json = {{"uri", search.uri}, {"function", search.function}, {"schedule", search.schedule}, {"target", search.target}, {"percentage", search.percentage}};
  if (!search.search.empty()) { json["search"] = search.search; }
  if (!search.space.empty()) { json["space"] = search.space; }
  if (!search.sizes.empty()) { json["sizes"] = search.sizes; }
  if (search.trials) { json["trials"] = *search.trials; }
  if (search.seconds) { json["seconds"] = *search.seconds; }
  const SearchProgress& progress = search.progress;
  if (progress.trial) { json["measured"] = *progress.trial; }
  if (progress.trials) { json["to_measure"] = *progress.trials; }
  if (progress.best_seconds) { json["best_seconds"] = *progress.best_seconds; }
  if (progress.floor_seconds) { json["floor_seconds"] = *progress.floor_seconds; }
  std::string text = to_text(json) + "\n";
  // Written in place, because the lock belongs to the file. A crash between write and truncation leaves an extra line, which readers ignore.
  bool is_written = ::pwrite(known->second.file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  (void)(is_written && ::ftruncate(known->second.file, static_cast<off_t>(text.size())) == 0);
}

void KeptSearches::forget(const std::string& uri, const std::string& function, const std::string& schedule) {
  auto known = files_.find(path_of(uri, function, schedule));
  if (known == files_.end()) { return; }
  ::unlink(known->first.c_str());
  ::close(known->second.file);
  files_.erase(known);
}

auto KeptSearches::take(const std::string& uri) -> std::vector<KeptSearch> {
  std::vector<KeptSearch> found;
  std::error_code none;
  if (folder_.empty()) { return found; }
  for (auto entry = std::filesystem::directory_iterator(folder_, none); !none && entry != std::filesystem::directory_iterator(); entry.increment(none)) {
    std::string path = entry->path();
    if (!path.ends_with(".json") || files_.contains(path)) { continue; }
    int file = locked(path, O_RDONLY);
    if (file < 0) { continue; }
    std::string text = text_of(file);
    text.resize(std::min(text.find('\n'), text.size()));
    std::string why;
    Json json = parse_json(text, why).value_or(Json());
    if (string_in(json, "uri") != uri || string_in(json, "function").empty()) {
      ::close(file);
      continue;
    }
    files_.emplace(path, Held{file, false});
    found.push_back({.uri = uri, .function = string_in(json, "function"), .schedule = string_in(json, "schedule"), .target = string_in(json, "target"), .search = string_in(json, "search"), .space = string_in(json, "space"), .trials = int_in(json, "trials"),
                     .seconds = number_in(json, "seconds"),
                     .progress = {.trial = positive(int_in(json, "measured")), .trials = positive(int_in(json, "to_measure")), .best_seconds = positive(number_in(json, "best_seconds")),
                                  .floor_seconds = positive(number_in(json, "floor_seconds")), .elapsed = {}, .left = {}},
                     .percentage = static_cast<int>(int_in(json, "percentage").value_or(0)),
                     .sizes = sizes_in(json)});
  }
  return found;
}

}  // namespace loopsmith::lsp
