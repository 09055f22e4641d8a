// Confinement, tested in separate processes: work continues, and calls that could affect other processes or files fail.
#include "support/confinement.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../catch.h"
#include "support/process.h"

using namespace loopsmith;
using namespace std::chrono_literals;

namespace {

/// Runs a hidden case of this program. None: the system has no such filter, or this is a sanitizer build.
auto ended(const std::string& tag) -> std::optional<ExitStatus> {
  auto result = run_program({.argv = {current_program(), tag}, .standard_error = Stream::Pipe}, "", in(20s));
  REQUIRE(result.ok());
  if (result->output.find("not confined") != std::string::npos) { return {}; }
  return result->status;
}

auto confine() -> bool {
  if (confine_this_thread()) { return true; }
  std::string text = "not confined\n";
  (void)!::write(1, text.data(), text.size());
  return false;
}

}  // namespace

TEST_CASE("memory, threads, clocks and files that are read", "[.confined-work]") {
  if (!confine()) { return; }
  std::vector<char> memory(64U << 20U, 1);
  int sum = 0;
  std::thread([&] { sum = memory[5] + memory[6]; }).join();
  CHECK(sum == 2);
  CHECK(std::chrono::steady_clock::now().time_since_epoch().count() > 0);
  std::ifstream status("/proc/self/status");
  std::string word;
  CHECK(status >> word);
  errno = 0;
  CHECK(::open("/tmp/loopsmith-confined", O_WRONLY | O_CREAT, 0600) == -1);
  CHECK(errno == EPERM);
  CHECK(::unlink("/tmp/loopsmith-confined") == -1);
}
TEST_CASE("a process", "[.confined-fork]") { if (confine()) { ::_exit(::fork() == 0 ? 0 : 3); } }
TEST_CASE("a program", "[.confined-exec]") { if (confine()) { ::execl("/bin/true", "true", nullptr); } }
TEST_CASE("a signal to the parent", "[.confined-kill]") { if (confine()) { ::kill(::getppid(), 0); } }
TEST_CASE("a connection", "[.confined-socket]") { if (confine()) { (void)::socket(AF_INET, SOCK_STREAM, 0); } }
TEST_CASE("a session of its own", "[.confined-session]") { if (confine()) { ::setsid(); } }
TEST_CASE("an abort", "[.confined-abort]") {
  if (confine()) {
    std::signal(SIGABRT, SIG_DFL);
    std::abort();
  }
}

TEST_CASE("a confined thread computes, and a call that could reach other processes ends its process") {
  auto work = ended("[.confined-work]");
  if (!work) { return; }
  CHECK(work->succeeded());
  for (const char* tag : {"[.confined-fork]", "[.confined-exec]", "[.confined-kill]", "[.confined-socket]", "[.confined-session]"}) {
    CAPTURE(tag);
    CHECK(ended(tag)->signal == SIGSYS);
  }
  CHECK(ended("[.confined-abort]")->signal == SIGABRT);
}
