// Searches that outlive this program. While one runs or stands still, a small file below XDG_STATE_HOME says what was asked for and how far it
// is; it goes when the search has ended. What is found there when a document is opened was interrupted: the editor was closed, or the server
// died. It is offered again as a search that stands still, and what it measured is in the database. A file belongs to the server that has it
// locked, so that two editors do not both go on with one search. Nothing of a text is written, and nothing at all before a search begins.
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
  std::string schedule;          // whose hole it fills; empty: none
  std::string target;
  std::optional<int64_t> trials;
  std::optional<double> seconds; // that are left of its budget
  SearchProgress progress;       // its times are of the session that measured, and are not kept
  int percentage = 0;
};

class KeptSearches {
 public:
  /// `folder` empty: nothing is kept.
  explicit KeptSearches(std::string folder = {}) : folder_(std::move(folder)) {}
  KeptSearches(const KeptSearches&) = delete;
  auto operator=(const KeptSearches&) -> KeptSearches& = delete;
  ~KeptSearches() { let_go(); }
  /// Lets go of its files, which stay: another server may take them. Nothing is kept from then on.
  void let_go();
  [[nodiscard]] static auto default_folder() -> std::string;

  /// Written, or written anew. Nothing where another server has it.
  void keep(const KeptSearch& search);
  void forget(const std::string& uri, const std::string& function, const std::string& schedule);
  /// Those of a document that nobody has; they are ours from now on.
  [[nodiscard]] auto take(const std::string& uri) -> std::vector<KeptSearch>;

 private:
  [[nodiscard]] auto path_of(const std::string& uri, const std::string& function, const std::string& schedule) const -> std::string;
  std::string folder_;
  /// Open and locked; one that was there is only read until there is something to say of it.
  struct Held { int file = -1; bool is_written = false; };
  std::map<std::string, Held> files_;   // by path
};

}  // namespace loopsmith::lsp
