// The two paths, which CMake defines, and the texts below one of them.
#include "tests/support/paths.h"

#include <fstream>
#include <sstream>

namespace loopsmith::tests {

auto source_folder() -> std::string { return LOOPSMITH_SOURCE_DIR; }
auto source_text(const std::string& path) -> std::string {
  std::ostringstream text;
  text << std::ifstream(source_folder() + "/" + path).rdbuf();
  return text.str();
}
auto loopsmith_program() -> std::string { return LOOPSMITH_PROGRAM; }

}  // namespace loopsmith::tests
