// The error that LLVM failed on code that we generated: a mistake of ours, which the user can only report. Private to codegen/llvm.
#pragma once

#include <string>

#include "support/codes.h"
#include "support/diagnostic.h"

namespace loopsmith::codegen {

/// `function`: the function, or a name for the group of functions that LLVM worked on.
[[nodiscard]] inline auto llvm_failed(std::string_view function, std::string why) -> Diagnostic {
  return error(Code::LlvmFailed).arg("function", function).arg("llvm_message", why)
      .remedy("report this fault of Loopsmith with the program and the schedule; until it is corrected, try another target or another schedule");
}

}  // namespace loopsmith::codegen
