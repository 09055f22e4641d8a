// Runs work in a copy of the process: see apart.h. The copy writes records to a pipe: a letter (output, complaint, page, measured time), the length of
// the text, and the text.
#include "repl/apart.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ir/vocabulary.h"
#include "support/confinement.h"
#include "support/process.h"
#include "support/text.h"

namespace loopsmith::repl {
namespace {

/// Ctrl-C takes effect within this time.
constexpr int turn_milliseconds = 20;
/// After this time the reason for the wait is shown.
constexpr double patience_seconds = 0.7;

struct Time { uint64_t step; double seconds; };
struct Head { char kind; uint64_t size; };

void put(int out, char kind, std::string_view text) {
  Head head{kind, text.size()};
  std::string record(reinterpret_cast<const char*>(&head), sizeof head);
  record += text;
  for (std::string_view left = record; !left.empty();) {
    ssize_t written = ::write(out, left.data(), left.size());
    if (written < 0 && errno == EINTR) { continue; }
    // The session has ended.
    if (written <= 0) { ::_exit(1); }
    left.remove_prefix(static_cast<size_t>(written));
  }
}

[[noreturn]] void be_copy(Session& session, int out, pid_t parent, const std::function<bool()>& work) {
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) { ::_exit(1); }
#endif
  // Ctrl-C goes to the whole group; only the session reacts to it.
  ::signal(SIGINT, SIG_IGN);
  session.redirect([out](std::string_view text) { put(out, 'o', text); }, [out](std::string_view text) { put(out, 'e', text); }, [out](std::string_view text) { put(out, 'p', text); });
  // Tools that watch compiled code write their own files (runtime/jit_tools.h).
  // The driver of a device starts programs, and it alone launches the kernels.
  const bool is_device = session.target().kind == target_kind::cuda || session.target().kind == target_kind::opencl;
  if (std::getenv("LOOPSMITH_JIT") == nullptr && !is_device) { confine_this_thread(); }
  std::vector<double> before;
  for (const SessionStep& step : session.steps()) { before.push_back(step.seconds); }
  bool done = work();
  for (size_t i = 0; i < session.steps().size(); ++i) {
    if (session.steps()[i].seconds == before[i]) { continue; }
    Time time{i, session.steps()[i].seconds};
    put(out, 'm', {reinterpret_cast<const char*>(&time), sizeof time});
  }
  std::fflush(nullptr);
  ::_exit(done ? 0 : 1);
}

/// Parses the complete records in the received bytes, and removes them.
void take(Session& session, std::string& received) {
  size_t at = 0;
  while (received.size() - at >= sizeof(Head)) {
    Head head{};
    std::memcpy(&head, received.data() + at, sizeof head);
    if (received.size() - at - sizeof head < head.size) { break; }
    std::string_view text(received.data() + at + sizeof head, head.size);
    if (head.kind == 'o') { session.print(text); }
    if (head.kind == 'e') { session.complain(text); }
    if (head.kind == 'p') { session.show(text); }
    if (Time time{}; head.kind == 'm' && text.size() == sizeof time) {
      std::memcpy(&time, text.data(), sizeof time);
      session.measured(time.step, time.seconds);
    }
    at += sizeof head + head.size;
  }
  received.erase(0, at);
}

}  // namespace

auto apart(Session& session, const char* doing, const std::function<bool()>& work) -> bool {
  int ends[2];
  if (::pipe(ends) != 0) { return work(); }
  CancelToken token = session.interrupt();
  pid_t parent = ::getpid();
  std::fflush(nullptr);
  pid_t copy = ::fork();
  if (copy < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return work();
  }
  if (copy == 0) {
    ::close(ends[0]);
    be_copy(session, ends[1], parent, work);
  }
  ::close(ends[1]);
  auto since = std::chrono::steady_clock::now();
  bool is_shown = false;
  bool is_stopped = false;
  std::string received;
  auto clear = [&] { if (std::exchange(is_shown, false)) { session.complain("\r\x1b[K"); } };
  while (true) {
    pollfd ready{ends[0], POLLIN, 0};
    int count = ::poll(&ready, 1, turn_milliseconds);
    if (token.is_cancelled()) {
      ::kill(copy, SIGKILL);
      is_stopped = true;
      break;
    }
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
    if (count <= 0) {
      if (session.host().color && seconds > patience_seconds) {
        session.complain(fmt::format("\r{}, {} (Ctrl-C stops)", doing, waiting_text(seconds)));
        is_shown = true;
      }
      continue;
    }
    char bytes[4096];
    ssize_t size = ::read(ends[0], bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) { continue; }
    if (size <= 0) { break; }
    clear();
    received.append(bytes, static_cast<size_t>(size));
    take(session, received);
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(copy, &status, 0) < 0 && errno == EINTR) {}
  clear();
  if (is_stopped) {
    session.complain("stopped\n");
    return false;
  }
  if (WIFSIGNALED(status)) {
    ExitStatus how{.signal = WTERMSIG(status)};
    session.complain(fmt::format("the program {}; the session goes on as it was\n", how.describe()));
    return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace loopsmith::repl
