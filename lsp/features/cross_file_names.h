// Names beyond one file: what an import stands for, and where other files use what a file binds. A program that several schedule files
// import has one name, and so have its blocks.
//
// Imports are read as they are written and never executed; where modules are is said in workspace/imports.h. What cannot be found so stays a name of
// the file that imports it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/features/names.h"
#include "support/cancel.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The files of the workspace, as the editor has them or as they are written. Paths are absolute. What it gives lives as long as it does.
class Files {
 public:
  virtual ~Files() = default;
  /// Null: there is no such file, or it is none that could be read.
  virtual auto read(const std::string& path) -> const workspace::Snapshot* = 0;
  virtual auto path_of(const workspace::Snapshot& snapshot) -> std::string = 0;
  /// Gives those whose text is wanted, in the order of their paths, each as it is found. False: there are more files than can be looked at, and none was.
  virtual auto visit(const std::function<bool(std::string_view text)>& wants, const std::function<void(const workspace::Snapshot&)>& found) -> bool = 0;
  /// The folders that the editor has opened.
  [[nodiscard]] virtual auto roots() const -> const std::vector<std::string>& = 0;
};

struct PlaceInFile {
  const workspace::Snapshot* file = nullptr;
  Span span;
  Role role{};
  bool is_import = false;       // in the statement that brings it to the file
};

/// Where what is named at an offset was bound, in this file or the one it is imported from.
[[nodiscard]] auto definition(Files& files, const workspace::Snapshot& snapshot, uint32_t offset) -> std::optional<PlaceInFile>;

/// What is named in a part of a text, and where it was bound, in this file or another; in the order of the text.
struct BoundName {
  Span span;
  PlaceInFile bound;
};
[[nodiscard]] auto bound_names(Files& files, const workspace::Snapshot& snapshot, Span part) -> std::vector<BoundName>;

/// All places of what is named at an offset, told file after file as they are found: this file, the one that binds it, the others by their paths. In
/// a workspace that is too large, the first two only. Uses by another name, as behind `import matmul as m`, are places too.
void references(Files& files, const workspace::Snapshot& snapshot, uint32_t offset, const CancelToken& cancel, const std::function<void(const std::vector<PlaceInFile>&)>& found);

struct RenameInFiles {
  std::vector<PlaceInFile> places;  // file after file
  std::string problem;          // why it cannot be done, in words
};
[[nodiscard]] auto rename(Files& files, const workspace::Snapshot& snapshot, uint32_t offset, std::string_view name, const CancelToken& cancel) -> RenameInFiles;
/// The name at an offset, where it can be renamed.
[[nodiscard]] auto renameable(Files& files, const workspace::Snapshot& snapshot, uint32_t offset) -> std::optional<Span>;

}  // namespace loopsmith::lsp
