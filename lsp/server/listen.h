// Waits for one client on this machine. A client may run commands as the server's user, so other users must not be able to connect: a Unix
// socket can be opened by its owner only, and a client on a port sends a token with its first message.
#pragma once

#include <optional>
#include <string>

namespace loopsmith::lsp {

struct Client {
  int socket = -1;
  std::string received;   // bytes that were already read from it
};

/// A random token of 32 digits, or the value of LOOPSMITH_TOKEN in the environment. Empty: the system has no random numbers.
[[nodiscard]] auto token_for_clients() -> std::string;

/// Waits on a port of the local machine for a client whose first message is `initialize` with the token in `initializationOptions.token`; other
/// clients are disconnected. None: the port is not available.
[[nodiscard]] auto wait_on_port(int port, const std::string& token) -> std::optional<Client>;

/// Waits on a Unix socket of mode 0600, which is removed once the client has connected. None: the socket cannot be made; `errno` has the reason.
[[nodiscard]] auto wait_on_socket(const std::string& path) -> std::optional<Client>;

}  // namespace loopsmith::lsp
