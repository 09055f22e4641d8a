// Clients on sockets: see listen.h.
#include "lsp/server/listen.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "lsp/protocol/framing.h"
#include "lsp/protocol/json.h"
#include "support/process.h"

namespace loopsmith::lsp {
namespace {

/// Limits of a client's first message: time and length.
constexpr auto patience = std::chrono::seconds(10);
constexpr size_t longest_first_message = 4 << 20;

/// Constant time, so that the duration of the comparison reveals nothing about the token.
auto is_equal(const std::string& given, const std::string& token) -> bool {
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) { difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(token[i % token.size()]); }
  return difference == 0;
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) { return; }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

/// Reads the first message of a client, with its frame and all bytes behind it. None: it did not arrive in time.
auto read_first_message(int socket, Client& client) -> std::optional<Json> {
  FrameReader reader(longest_first_message);
  Deadline until = in(patience);
  char chunk[4096];
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready{.fd = socket, .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) <= 0) { return std::nullopt; }
    ssize_t size = ::read(socket, chunk, sizeof chunk);
    if (size < 0 && errno == EINTR) { continue; }
    if (size <= 0) { return std::nullopt; }
    client.received.append(chunk, static_cast<size_t>(size));
    reader.feed({chunk, static_cast<size_t>(size)});
    auto frame = reader.next();
    if (!frame) { continue; }
    std::string why;
    return frame->problem.empty() ? parse_json(frame->body, why) : std::nullopt;
  }
}

/// A client with the right token; the socket of any other client is closed.
auto admit(int socket, const std::string& token) -> std::optional<Client> {
  Client client{.socket = socket, .received = {}};
  auto message = read_first_message(socket, client);
  bool is_first = message && string_in(*message, "method") == "initialize";
  if (is_first && is_equal(string_in(member(member(*message, "params"), "initializationOptions"), "token"), token)) { return client; }
  if (message) {
    Json refusal = {{"jsonrpc", "2.0"}, {"id", member(*message, "id")},
                    {"error", {{"code", -32600}, {"message", "the first message is `initialize` with the server's token in `initializationOptions.token`"}}}};
    send_all(socket, framed(to_text(refusal)));
  }
  ::close(socket);
  return std::nullopt;
}

/// Waits for the next client of a listening socket. Negative: an error.
auto accept_one(int listener) -> int {
  while (true) {
    int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0 || (errno != EINTR && errno != ECONNABORTED)) { return client; }
  }
}

}  // namespace

auto token_for_clients() -> std::string {
  if (const char* given = std::getenv("LOOPSMITH_TOKEN"); given != nullptr && std::strlen(given) >= 16) { return given; }
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) { return {}; }
  std::string token;
  for (unsigned char byte : bytes) { token += fmt::format("{:02x}", byte); }
  return token;
}

auto wait_on_port(int port, const std::string& token) -> std::optional<Client> {
  int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool is_listening = listener >= 0 && ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(listener, 8) == 0;
  std::optional<Client> client;
  while (is_listening && !client) {
    int socket = accept_one(listener);
    if (socket < 0) { break; }
    client = admit(socket, token);
  }
  if (listener >= 0) { ::close(listener); }
  return client;
}

auto wait_on_socket(const std::string& path) -> std::optional<Client> {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return std::nullopt;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  // Replace a socket that an earlier server left, but never any other file.
  struct stat known {};
  if (::lstat(path.c_str(), &known) == 0 && S_ISSOCK(known.st_mode)) { ::unlink(path.c_str()); }
  int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  mode_t masked = ::umask(0177);
  bool is_listening = listener >= 0 && ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(listener, 1) == 0;
  int failure = errno;
  ::umask(masked);
  int socket = is_listening ? accept_one(listener) : -1;
  if (is_listening) { ::unlink(path.c_str()); }
  if (listener >= 0) { ::close(listener); }
  if (socket >= 0) { return Client{.socket = socket, .received = {}}; }
  errno = failure;
  return std::nullopt;
}

}  // namespace loopsmith::lsp
