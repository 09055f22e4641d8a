// Faults that tests ask for: with LOOPSMITH_TEST_FAULT in the environment the worker crashes, throws or hangs on demand. Without it nothing happens.
#pragma once

#include <string_view>

#include "lsp/protocol/json.h"

namespace loopsmith::lsp {

/// On a document whose text contains "FAULT:segfault" and the like.
void misbehave_if_text_asks(std::string_view text);

/// On a message whose parameters have `"fault": "segfault"` and the like.
void misbehave_if_message_asks(const Json& params);

}  // namespace loopsmith::lsp
