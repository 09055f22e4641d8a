// The files that a file imports, evaluated like the file itself. Higher rooms find and read them (workspace/imports.h). In an imported
// file only the declarations that a requested name needs are evaluated.
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
  std::shared_ptr<const SourceText> text;        // its name is the path below the root, if it is below one
  Span span;
};

class Modules {
 public:
  virtual ~Modules() = default;
  /// The file of `from PATH import`, with `level` dots before PATH; null: it could not be read, and its names are unknown.
  virtual auto find(uint32_t level, const std::vector<Name>& path) -> std::shared_ptr<File> = 0;
  /// The place of an origin in one of the imported files; none: the origin belongs to another file, or to an earlier text.
  [[nodiscard]] virtual auto locate(const Origin& origin) -> std::optional<Elsewhere> = 0;
  /// Changes whenever `find` may return another file, or when a file has changed.
  [[nodiscard]] virtual auto epoch() const -> uint64_t = 0;
};

}  // namespace loopsmith::frontend
