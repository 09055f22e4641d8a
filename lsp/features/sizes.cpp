// Finds a program by its name, and the sizes in its shapes: see sizes.h.
#include "lsp/features/sizes.h"

#include "codegen/sizes.h"

namespace loopsmith::lsp {

auto open_sizes(const workspace::Snapshot& snapshot, std::string_view program) -> std::vector<std::string> {
  for (const workspace::Program& one : snapshot.programs()) {
    const PrimFunc func = one.is_function && one.module && one.name.view() == program ? one.module->find(Name("main")) : PrimFunc();
    if (func) { return codegen::size_names(func); }
  }
  return {};
}

}  // namespace loopsmith::lsp
