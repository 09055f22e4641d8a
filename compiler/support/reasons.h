// The reasons of diagnostics: one enumerator for each row of reasons.def.
#pragma once

#include "support/reason.h"

namespace loopsmith {

enum class Why : uint16_t {
#define REASON(why, text) why,
#include "support/reasons.def"
#undef REASON
};

}  // namespace loopsmith
