// The operations between the states and the updates of `te.scan`.
#pragma once

#include <vector>

#include "frontend/te/tensors.h"

namespace loopsmith::frontend::te {

struct ScanParts {
  std::vector<Ref<Operation>> inner;    // that read a state, each behind those that it reads: they run in every step, and include the updates
  std::vector<Ref<Operation>> inputs;   // that the starts and the inner operations read, in the order of first use
};
/// `init`, `update`: the operations of the starts and the updates; `state`: the placeholders of the states.
[[nodiscard]] auto scan_parts(const std::vector<Ref<Operation>>& init, const std::vector<Ref<Operation>>& update, const std::vector<Buffer>& state) -> ScanParts;

}  // namespace loopsmith::frontend::te
