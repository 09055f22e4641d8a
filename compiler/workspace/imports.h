// What files import from each other: `from kernels import matmul` means the file beside that gives `matmul`. Modules are `.tir` and `.py` files beside the
// one that imports, in the folders above it up to a root (the editor's folder, the current one on a command line), and below those; a name with
// dots before it is beside the file only. The nearest counts. They are read as texts and evaluated as the file is itself (frontend/modules.h);
// nothing of them is executed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/modules.h"
#include "syntax/document.h"

namespace loopsmith::workspace {

/// Where a module may be, in the order in which it is looked for: lists of paths, of which the first that is there counts. `own`: the absolute path of
/// the file that imports.
[[nodiscard]] auto module_paths(const std::string& own, const std::vector<std::string>& roots, uint32_t level, const std::vector<Name>& path) -> std::vector<std::string>;

/// Texts by their absolute paths.
class Texts {
 public:
  virtual ~Texts() = default;
  /// Differs whenever the text may have changed; none: there is no such file, or it is none that could be read.
  virtual auto stamp(const std::string& path) -> std::optional<uint64_t> = 0;
  virtual auto text(const std::string& path) -> std::optional<std::string> = 0;
};

/// As they are written.
class TextsOnDisk : public Texts {
 public:
  auto stamp(const std::string& path) -> std::optional<uint64_t> override;
  auto text(const std::string& path) -> std::optional<std::string> override;
};

/// The modules that some files import, each evaluated once for all of them. One thread.
class Imports : public std::enable_shared_from_this<Imports> {
 public:
  Imports(std::shared_ptr<Texts> texts, std::vector<std::string> roots);
  ~Imports();

  /// What a file of this path imports from: for frontend::File::import_from. Keeps this.
  [[nodiscard]] auto of(const std::string& path) -> std::shared_ptr<frontend::Modules>;
  void set_roots(std::vector<std::string> roots);
  /// Looks whether files that were asked for have changed, came or went. True: some have; all that imports them is to be evaluated again.
  auto refresh() -> bool;
  /// Was this file asked for, be it in vain?
  [[nodiscard]] auto asked_for(const std::string& path) const -> bool { return files_.contains(path); }
  /// Was any file asked for?
  [[nodiscard]] auto is_empty() const -> bool { return files_.empty(); }

 private:
  class Of;
  struct Module;
  struct Known {
    std::optional<uint64_t> stamp;
    std::shared_ptr<Module> module;   // null: there is none
    std::shared_ptr<const SourceText> text;   // made when somebody is told of it
  };
  auto locate(const Origin& origin) -> std::optional<frontend::Elsewhere>;
  auto module(const std::string& path) -> std::shared_ptr<frontend::File>;
  void read(const std::string& path, Known& known);

  std::shared_ptr<Texts> texts_;
  std::vector<std::string> roots_;
  std::map<std::string, Known> files_;
  uint64_t epoch_ = 1;
};

/// What a command line says of imports.
struct ImportOptions {
  std::string input_name;                // what standard input is called; empty: nothing that is known, in the current folder
  std::vector<std::string> roots;        // none: the current folder
};
/// Of this process; set before the first file is read.
auto import_options() -> ImportOptions&;
/// For those who have a file and no editor: its imports on disk. `path`: "<stdin>" is what came through a pipe.
[[nodiscard]] auto imports_on_disk(const std::string& path) -> std::shared_ptr<frontend::Modules>;

}  // namespace loopsmith::workspace
