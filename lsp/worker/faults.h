// Faults for tests: with LOOPSMITH_TEST_FAULT in the environment the worker crashes, throws or hangs on request. Without the variable nothing happens.
#pragma once

#include <string_view>

#include "lsp/protocol/json.h"

namespace loopsmith::lsp {

/// On a document whose text contains "FAULT:segfault" and the like.
void misbehave_if_text_asks(std::string_view text);

/// On a message whose parameters have `"fault": "segfault"` and the like.
void misbehave_if_message_asks(const Json& params);

}  // namespace loopsmith::lsp
