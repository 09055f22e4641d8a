// The files of the workspace for features that need other files (features/cross_file_names.h): open documents as the editor has them, other files from
// the disk. Made for one request. Reads `.py` and `.tir` files below the folders that the editor has opened or, without such folders,
// beside the document; never hidden folders, folders of tools, or the targets of links.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "lsp/features/cross_file_names.h"
#include "support/process.h"

namespace loopsmith::lsp {

class WorkspaceFiles : public Files {
 public:
  /// `too_large_until`: stored between requests: until then the workspace counts as too large;
  /// null: each request counts the files.
  WorkspaceFiles(std::vector<const workspace::Snapshot*> open, std::vector<std::string> roots, CancelToken cancel, Deadline* too_large_until);

  auto read(const std::string& path) -> const workspace::Snapshot* override;
  auto path_of(const workspace::Snapshot& snapshot) -> std::string override;
  auto visit(const std::function<bool(std::string_view text)>& wants, const std::function<void(const workspace::Snapshot&)>& found) -> bool override;
  [[nodiscard]] auto roots() const -> const std::vector<std::string>& override { return roots_; }

  /// Sets a function that `visit` calls before each file, with the number of files read, the number of all files, and the path.
  void watch(std::function<void(size_t done, size_t all, const std::string& path)> watch) { watch_ = std::move(watch); }

  /// True for a file that the editor has open, which has a version; false for a file from the disk.
  [[nodiscard]] auto is_open(const workspace::Snapshot& snapshot) const -> bool { return open_paths_.contains(&snapshot); }

 private:
  std::unordered_map<std::string, const workspace::Snapshot*> open_;
  std::unordered_map<const workspace::Snapshot*, std::string> open_paths_;
  std::unordered_map<std::string, std::unique_ptr<workspace::Snapshot>> read_;   // null: the file does not exist
  std::vector<std::string> roots_;
  CancelToken cancel_;
  Deadline* too_large_until_;
  std::function<void(size_t, size_t, const std::string&)> watch_;
};

}  // namespace loopsmith::lsp
