// What a file imports from: other files, evaluated as it is itself. Who reads them, and where they are looked for, is up to higher rooms
// (workspace/imports.h). Nothing of them is executed but what a name that is asked for needs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/origin.h"

namespace loopsmith::frontend {

class File;

/// A place in another file.
struct Elsewhere {
  std::string path;                              // absolute
  std::shared_ptr<const SourceText> text;        // called as people call it: below a root by what follows that
  Span span;
};

class Modules {
 public:
  virtual ~Modules() = default;
  /// The file that `from PATH import` means, PATH with `level` dots before it; null: none that could be read, and what comes from it is not known.
  virtual auto find(uint32_t level, const std::vector<Name>& path) -> std::shared_ptr<File> = 0;
  /// Where something of one of the files stands; none: it is of none of them, or of an earlier text.
  [[nodiscard]] virtual auto locate(const Origin& origin) -> std::optional<Elsewhere> = 0;
  /// Changes whenever `find` may give another file, or one that has changed.
  [[nodiscard]] virtual auto epoch() const -> uint64_t = 0;
};

}  // namespace loopsmith::frontend
