// Waiting for one client on this machine. A client may have commands run as the user of the server, so not every user of the machine may be one: a Unix
// socket can be opened by its owner only, and a client on a port sends a token with its first message.
#pragma once

#include <optional>
#include <string>

namespace loopsmith::lsp {

struct Client {
  int socket = -1;
  std::string received;   // bytes that were read from it already
};

/// A random token of 32 digits, or the one that the environment gives (LOOPSMITH_TOKEN). Empty: the system has no random numbers.
[[nodiscard]] auto token_for_clients() -> std::string;

/// Waits on a port of the local machine for a client whose first message is `initialize` with the token in `initializationOptions.token`; others are
/// refused and disconnected. None: the port is not available.
[[nodiscard]] auto wait_on_port(int port, const std::string& token) -> std::optional<Client>;

/// Waits on a Unix socket of mode 0600, which is removed when the client has come. None: it cannot be made; `errno` has the reason.
[[nodiscard]] auto wait_on_socket(const std::string& path) -> std::optional<Client>;

}  // namespace loopsmith::lsp
