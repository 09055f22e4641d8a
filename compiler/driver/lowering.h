// From a target to what lowering is asked for: the one place where the two rooms meet.
#pragma once

#include "target/hardware.h"
#include "target/target.h"
#include "transform/pipelines.h"

namespace loopsmith::driver {

[[nodiscard]] inline auto lower_context(const target::Target& target) -> transform::LowerContext {
  transform::LowerContext context;
  target::Hardware hardware = target::hardware(target);
  context.options.masked_memory = hardware.avx512 || target.architecture() != target::Architecture::X86_64;
  return context;
}
[[nodiscard]] inline auto lower_request(const target::Target& target) -> transform::LowerRequest {
  return {.target_kind = target.kind, .until = {}, .on_stage = {}};
}

}  // namespace loopsmith::driver
