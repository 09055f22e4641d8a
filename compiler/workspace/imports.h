// Imports between files: `from kernels import matmul` imports `matmul` from the file `kernels` beside the importing one. A module is a `.tir` or `.py` file in
// the folder of the importing file, in the folders above it up to a root (the editor's folder, or the current folder on a command line), or below
// these; a relative import (with dots) searches only its own folder. The nearest file is imported. Modules are read as texts and evaluated like the
// importing file itself (frontend/modules.h); none of their code is executed. Other texts that a file names, such as the logs of tuners, are read here too
// (script/texts.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/modules.h"
#include "syntax/document.h"

namespace loopsmith::workspace {

/// The paths where a module may be, in the order of the search; the first existing file is the module. `own`: the absolute path of the importing file.
[[nodiscard]] auto module_paths(const std::string& own, const std::vector<std::string>& roots, uint32_t level, const std::vector<Name>& path) -> std::vector<std::string>;

/// Reads texts by their absolute paths.
class TextSource {
 public:
  virtual ~TextSource() = default;
  /// A number that changes whenever the text may have changed; none: the file is missing or unreadable.
  virtual auto stamp(const std::string& path) -> std::optional<uint64_t> = 0;
  virtual auto text(const std::string& path) -> std::optional<std::string> = 0;
};

/// Reads files from the disk.
class TextsOnDisk : public TextSource {
 public:
  auto stamp(const std::string& path) -> std::optional<uint64_t> override;
  auto text(const std::string& path) -> std::optional<std::string> override;
};

/// The modules of a set of files, each evaluated once for all of them. One thread.
class Imports : public std::enable_shared_from_this<Imports> {
 public:
  Imports(std::shared_ptr<TextSource> texts, std::vector<std::string> roots);
  ~Imports();

  /// The imports of the file with this path, for frontend::File::import_from. The result keeps this object alive.
  [[nodiscard]] auto of(const std::string& path) -> std::shared_ptr<frontend::Modules>;
  void set_roots(std::vector<std::string> roots);
  /// Checks the requested files for changes. True: a file changed, appeared or vanished, and the files that import it must be evaluated again.
  auto refresh() -> bool;
  /// True if an import searched for this file, with or without success.
  [[nodiscard]] auto asked_for(const std::string& path) const -> bool { return files_.contains(path) || plain_texts_.contains(path); }
  /// True if no import has searched for a file yet.
  [[nodiscard]] auto is_empty() const -> bool { return files_.empty() && plain_texts_.empty(); }

 private:
  class Of;
  struct Module;
  struct Known {
    std::optional<uint64_t> stamp;
    std::shared_ptr<Module> module;   // null: the file is missing or unreadable
    std::shared_ptr<const SourceText> text;   // made by the first `locate` in the file
  };
  auto locate(const Origin& origin) -> std::optional<frontend::Elsewhere>;
  auto module(const std::string& path) -> std::shared_ptr<frontend::File>;
  void read(const std::string& path, Known& known);
  auto plain_text(const std::string& path) -> std::optional<std::string>;

  std::shared_ptr<TextSource> texts_;
  std::vector<std::string> roots_;
  std::map<std::string, Known> files_;
  std::map<std::string, std::optional<uint64_t>> plain_texts_;   // the stamps of other files that were read, such as logs
  uint64_t epoch_ = 1;
};

/// The command-line options for imports.
struct ImportOptions {
  std::string input_name;                // the path to assume for standard input; empty: a file in the current folder
  std::vector<std::string> roots;        // empty: the current folder
};
/// The options of this process; set before the first file is read.
auto import_options() -> ImportOptions&;
/// The imports of a file on the disk, for callers without an editor. `path`: "<stdin>" is standard input.
[[nodiscard]] auto imports_on_disk(const std::string& path) -> std::shared_ptr<frontend::Modules>;

}  // namespace loopsmith::workspace
