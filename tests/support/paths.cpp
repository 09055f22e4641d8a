// The two paths, which CMake defines.
#include "tests/support/paths.h"

namespace loopsmith::tests {

auto source_folder() -> std::string { return LOOPSMITH_SOURCE_DIR; }
auto loopsmith_program() -> std::string { return LOOPSMITH_PROGRAM; }

}  // namespace loopsmith::tests
