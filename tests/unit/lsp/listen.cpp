// Clients that connect by a socket: the server serves only clients that can open the socket, or that have its token.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>

#include "lsp/protocol/framing.h"
#include "lsp/protocol/json.h"
#include "support/process.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/session.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = std::chrono::seconds(tests::is_sanitized ? 120 : 30);
const std::string token = "0123456789abcdef-the-token-of-a-test";

/// A port without a listener.
auto free_port() -> int {
  int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(listener);
  return ntohs(address.sin_port);
}

class Connection {
 public:
  explicit Connection(int family) : socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    timeval limit{.tv_sec = std::chrono::seconds(patience).count(), .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  auto operator=(const Connection&) -> Connection& = delete;

  /// Connects as soon as the server listens, which it reports in a message.
  void connect(const sockaddr* address, socklen_t size) {
    for (Deadline until = in(patience); ::connect(socket_, address, size) != 0;) { REQUIRE(Clock::now() < until); }
  }
  auto request(const char* method, Json params) -> std::optional<Json> {
    std::string bytes = framed(to_text(Json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}}));
    (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return answer();
  }
  /// The answer to the request; none: the server has closed the connection.
  auto answer() -> std::optional<Json> {
    while (true) {
      if (auto frame = reader_.next()) {
        std::string why;
        auto message = parse_json(frame->body, why);
        if (message && message->contains("id") && !message->contains("method")) { return message; }
        continue;
      }
      char chunk[65536];
      ssize_t size = ::read(socket_, chunk, sizeof chunk);
      if (size <= 0) { return std::nullopt; }
      reader_.feed({chunk, static_cast<size_t>(size)});
    }
  }

 private:
  int socket_;
  FrameReader reader_;
};

auto initialize(const Json& options) -> Json { return {{"processId", nullptr}, {"rootUri", nullptr}, {"capabilities", Json::object()}, {"initializationOptions", options}}; }

}  // namespace

TEST_CASE("a port serves the client that knows the token, and no other") {
  int port = free_port();
  auto server = Process::start({.argv = {tests::loopsmith_program(), "lsp", "--port", std::to_string(port)}, .environment = {{"LOOPSMITH_TOKEN", token}}, .standard_error = Stream::Null});
  REQUIRE(server.ok());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* place = reinterpret_cast<const sockaddr*>(&address);
  for (const Json& options : {Json(), Json::object(), Json{{"token", "0123456789abcdef-the-token-of-a-fool"}}, Json{{"token", ""}}, Json{{"token", 7}}}) {
    CAPTURE(options.dump());
    Connection stranger(AF_INET);
    stranger.connect(place, sizeof address);
    auto refused = stranger.request("initialize", initialize(options));
    REQUIRE(refused);
    CHECK(refused->contains("error"));
    CHECK_FALSE(stranger.answer());
  }
  {
    Connection stranger(AF_INET);
    stranger.connect(place, sizeof address);
    CHECK(stranger.request("workspace/executeCommand", {{"command", "x"}, {"initializationOptions", {{"token", token}}}})->contains("error"));
  }
  Connection client(AF_INET);
  client.connect(place, sizeof address);
  auto answer = client.request("initialize", initialize({{"token", token}}));
  REQUIRE(answer);
  CHECK(answer->contains("result"));
  server->kill();
}

TEST_CASE("a Unix socket can be opened by its user only, and goes when the client has come") {
  DataFolder folder;
  std::string path = folder.path + "/server";
  auto server = Process::start({.argv = {tests::loopsmith_program(), "lsp", "--socket", path}, .standard_error = Stream::Null});
  REQUIRE(server.ok());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  struct stat facts {};
  for (Deadline until = in(patience); ::stat(path.c_str(), &facts) != 0;) { REQUIRE(Clock::now() < until); }
  CHECK(S_ISSOCK(facts.st_mode));
  CHECK((facts.st_mode & 0777) == 0600);
  Connection client(AF_UNIX);
  client.connect(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  auto answer = client.request("initialize", initialize(Json()));
  REQUIRE(answer);
  CHECK(answer->contains("result"));
  CHECK(::stat(path.c_str(), &facts) != 0);
  server->kill();
}
