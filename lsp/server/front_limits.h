// Limits of crashes and restarts of the worker, and the types of messages to the client. Private to the front. The limits of a worker that hangs are options
// (`FrontOptions` in front.h).
#pragma once

#include <chrono>
#include <cstddef>

namespace loopsmith::lsp {

using namespace std::chrono_literals;

/// After this many crashes of the worker by the same content, the content is not sent to it again.
inline constexpr int crash_limit = 2;
/// After more restarts than this within `restart_window`, the next restart waits for `restart_pause`.
inline constexpr size_t restart_limit = 5;
inline constexpr auto restart_window = 10s;
inline constexpr auto restart_pause = 1s;

enum MessageType : int { Error = 1, Warning = 2, Info = 3, Log = 4 };

}  // namespace loopsmith::lsp
