// Names across files: the files that imports refer to, and the uses of a name in other files. A program that several schedule files import has the
// same name in all of them, and so have its blocks.
//
// Imports are read, never executed; workspace/imports.h finds modules. If the module of a name is not found, the name belongs to
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

/// The files of the workspace, from the editor if they are open, else from the disk. Paths are absolute. Snapshots live as long as this object.
class Files {
 public:
  virtual ~Files() = default;
  /// Null: the file does not exist or cannot be read.
  virtual auto read(const std::string& path) -> const workspace::Snapshot* = 0;
  virtual auto path_of(const workspace::Snapshot& snapshot) -> std::string = 0;
  /// Calls `found` for each file whose text `wants` accepts, in the order of paths. False: the workspace has too many files, and none was read.
  virtual auto visit(const std::function<bool(std::string_view text)>& wants, const std::function<void(const workspace::Snapshot&)>& found) -> bool = 0;
  /// The folders that the editor has opened.
  [[nodiscard]] virtual auto roots() const -> const std::vector<std::string>& = 0;
};

struct PlaceInFile {
  const workspace::Snapshot* file = nullptr;
  Span span;
  Role role{};
  bool is_import = false;       // in the import statement
};

/// The binding of the name at an offset, in this file or the file that it is imported from.
[[nodiscard]] auto definition(Files& files, const workspace::Snapshot& snapshot, uint32_t offset) -> std::optional<PlaceInFile>;

/// The names in a part of a text with their bindings, in this or another file; in the order of the text.
struct BoundName {
  Span span;
  PlaceInFile bound;
};
[[nodiscard]] auto bound_names(Files& files, const workspace::Snapshot& snapshot, Span part) -> std::vector<BoundName>;

/// Calls `found` with all places of the symbol at an offset, file by file: this file, the file that binds it, other files in the order of paths. In a
/// workspace that is too large, only the first two. Uses under another name (`m` of `import matmul as m`) are included.
void references(Files& files, const workspace::Snapshot& snapshot, uint32_t offset, const CancelToken& cancel, const std::function<void(const std::vector<PlaceInFile>&)>& found);

struct RenameInFiles {
  std::vector<PlaceInFile> places;  // file after file
  std::string problem;          // the reason why the rename is refused; empty: it is not
};
[[nodiscard]] auto rename(Files& files, const workspace::Snapshot& snapshot, uint32_t offset, std::string_view name, const CancelToken& cancel) -> RenameInFiles;
/// The span of the name at an offset; none: the name cannot be renamed.
[[nodiscard]] auto renameable(Files& files, const workspace::Snapshot& snapshot, uint32_t offset) -> std::optional<Span>;

}  // namespace loopsmith::lsp
