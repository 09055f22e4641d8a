// `loopsmith lsp`: runs the front on a libuv event loop. Only loop.cpp uses libuv.
#pragma once

#include <optional>
#include <string>

#include "lsp/server/front.h"

namespace loopsmith::lsp {

struct ServerOptions {
  std::string program;      // starts the worker: `PROGRAM worker --analyze`
  std::string job_program;  // starts jobs: `PROGRAM tune ...`
  std::string record;       // the file that records the session; empty: none
  std::optional<int> port;  // wait for one client with the server's token on this port of the local machine instead of standard input
  std::string socket;       // wait for one client on this Unix socket, which only its user can open; empty: none
  FrontOptions front;
};

/// Serves one client until it is done; returns the exit status.
[[nodiscard]] auto serve(const ServerOptions& options) -> int;

}  // namespace loopsmith::lsp
