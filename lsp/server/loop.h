// `loopsmith lsp`: the front on a libuv event loop. libuv appears in loop.cpp and nowhere else in the server.
#pragma once

#include <optional>
#include <string>

#include "lsp/server/front.h"

namespace loopsmith::lsp {

struct ServerOptions {
  std::string program;      // what is started for the worker and for jobs: `PROGRAM worker --analyze`, `PROGRAM tune ...`
  std::string job_program;  // the same for jobs, where it differs
  std::string record;       // file that keeps the session; empty: none
  std::optional<int> port;  // wait for one client on this port of the local machine instead of standard input
  FrontOptions front;
};

/// Serves until the client is done; gives the exit status.
[[nodiscard]] auto serve(const ServerOptions& options) -> int;

}  // namespace loopsmith::lsp
