// Searches that outlive this process. While a search runs or is paused, a small file below XDG_STATE_HOME holds its options and its
// progress; the file is removed when the search ends. A file that exists when its document is opened belongs to an interrupted search: the editor was
// closed, or the server died. The search is offered again as a paused one; its measurements are in the database. The server locks the files of
// its searches, so that two editors do not continue the same search. Files contain nothing of a text, and exist only once a search has begun.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lsp/jobs/facts.h"

namespace loopsmith::lsp {

struct KeptSearch {
  std::string uri;
  std::string function;
  std::string schedule;          // the schedule whose hole it fills; empty: none
  std::string target;
  std::string search = {};       // its name; empty: the default
  std::string space = {};        // of `loopsmith tune --space`; empty: the default
  std::optional<int64_t> trials;
  std::optional<double> seconds; // the seconds left of its limit
  SearchProgress progress;       // its times belong to the session that measured them, and are not stored
  int percentage = 0;
  std::map<std::string, int64_t> sizes = {};   // chosen for the program
};

class KeptSearches {
 public:
  /// `folder` empty: searches are not stored.
  explicit KeptSearches(std::string folder = {}) : folder_(std::move(folder)) {}
  KeptSearches(const KeptSearches&) = delete;
  auto operator=(const KeptSearches&) -> KeptSearches& = delete;
  ~KeptSearches() { let_go(); }
  /// Unlocks its files and leaves them to other servers. From then on nothing is stored.
  void let_go();
  [[nodiscard]] static auto default_folder() -> std::string;

  /// Creates or updates the file of a search. Does nothing if another server has locked it.
  void keep(const KeptSearch& search);
  void forget(const std::string& uri, const std::string& function, const std::string& schedule);
  /// The searches of a document that no server has locked; this server locks them.
  [[nodiscard]] auto take(const std::string& uri) -> std::vector<KeptSearch>;

 private:
  [[nodiscard]] auto path_of(const std::string& uri, const std::string& function, const std::string& schedule) const -> std::string;
  std::string folder_;
  /// An open, locked file. A file of an earlier session is open for reading only until it is written again.
  struct Held { int file = -1; bool is_written = false; };
  std::map<std::string, Held> files_;   // by path
};

}  // namespace loopsmith::lsp
