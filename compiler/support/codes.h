// The names of the diagnostics: one enumerator for each row of diagnostics.def.
#pragma once

#include "support/diagnostic.h"

namespace loopsmith {

enum class Code : uint16_t {
#define DIAGNOSTIC(code, id, severity, text) code,
#include "support/diagnostics.def"
#undef DIAGNOSTIC
};

}  // namespace loopsmith
