// Reads and writes the file of inputs: see history.h.
#include "repl/history.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace loopsmith::repl {
namespace {

using Json = nlohmann::json;

auto as_line(const Typed& entry) -> std::string {
  Json json = {{"line", entry.line}};
  if (!entry.effect.empty()) { json["did"] = entry.effect; }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) { ::mkdir(path.substr(0, slash).c_str(), 0777); }
}

/// Appends in one write, under a lock, so that no other session rewrites the file meanwhile.
void append(const std::string& path, const std::string& text) {
  for (int tries = 0; tries < 10; ++tries) {
    int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) { return; }
    (void)::flock(file, LOCK_EX);
    // Another session may have replaced the file between opening and locking.
    struct stat here {};
    struct stat there {};
    bool is_it = ::fstat(file, &here) == 0 && ::stat(path.c_str(), &there) == 0 && here.st_ino == there.st_ino;
    if (is_it) { (void)!::write(file, text.data(), text.size()); }
    ::close(file);
    if (is_it) { return; }
  }
}

}  // namespace

History::History(std::string path, size_t most) : path_(std::move(path)), most_(most) {
  if (path_.empty()) { return; }
  make_folders(path_);
  std::ifstream in(path_, std::ios::binary);
  std::vector<Typed> all;
  for (std::string line; std::getline(in, line);) {
    // Skips a truncated line.
    Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) { continue; }
    auto text = [&](const char* name) {
      auto found = json.find(name);
      return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    if (std::string typed = text("line"); !typed.empty()) { all.push_back({typed, text("did")}); }
  }
  std::unordered_map<std::string, size_t> last;
  for (size_t i = 0; i < all.size(); ++i) { last[all[i].line] = i; }
  for (size_t i = 0; i < all.size(); ++i) {
    if (last[all[i].line] == i) { entries_.push_back(std::move(all[i])); }
  }
  if (entries_.size() > most_) { entries_.erase(entries_.begin(), entries_.end() - static_cast<std::ptrdiff_t>(most_)); }
  if (all.size() > 2 * entries_.size() + 100 || all.size() > 2 * most_) { rewrite(); }
}

auto History::add(const Typed& entry) -> size_t {
  auto same = std::find_if(entries_.begin(), entries_.end(), [&](const Typed& one) { return one.line == entry.line; });
  auto index = static_cast<size_t>(same - entries_.begin());
  if (same != entries_.end()) { entries_.erase(same); }
  entries_.push_back(entry);
  if (!path_.empty()) { append(path_, as_line(entry)); }
  return index;
}

void History::rewrite() const {
  int lock = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (lock < 0) { return; }
  // If another session holds the lock, the file is rewritten another time.
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) {
    std::string temporary = path_ + ".new";
    std::ofstream out(temporary, std::ios::binary);
    for (const Typed& entry : entries_) { out << as_line(entry); }
    out.close();
    if (!out || std::rename(temporary.c_str(), path_.c_str()) != 0) { (void)std::remove(temporary.c_str()); }
  }
  ::close(lock);
}

}  // namespace loopsmith::repl
