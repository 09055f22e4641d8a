// Starting the worker's threads: see run.h.
#include "lsp/worker/run.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "lsp/worker/worker.h"

namespace loopsmith::lsp {
namespace {

/// The nesting of input is limited; this stack is large enough for the deepest input, also in checked builds.
constexpr size_t analysis_stack = 256 << 20;

}  // namespace

auto run_analysis_worker(std::vector<std::string>) -> int {
  ::signal(SIGPIPE, SIG_IGN);
  // Frames are written to a separate descriptor; output of any library goes to standard error.
  int output = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
  ::dup2(2, 1);
  auto* worker = new Worker(output);  // never freed: threads end with the process
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, analysis_stack);
  pthread_t analysis{};
  auto body = [](void* that) -> void* {
    static_cast<Worker*>(that)->analyse();
    return nullptr;
  };
  if (pthread_create(&analysis, &attributes, body, worker) != 0) { return 4; }
  pthread_attr_destroy(&attributes);

  FrameReader reader;
  std::string bytes(256 << 10, '\0');
  while (true) {
    ssize_t size = ::read(0, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) { continue; }
    if (size <= 0) { break; }
    reader.feed({bytes.data(), static_cast<size_t>(size)});
    while (auto frame = reader.next()) {
      if (!frame->problem.empty()) { return 4; }
      worker->take(std::move(*frame));
    }
  }
  worker->end_of_input();
  // The front has ended. Do not wait for work that does not poll.
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
#ifdef __linux__
  if (pthread_timedjoin_np(analysis, nullptr, &until) != 0) { ::_exit(0); }
#endif
  return 0;
}

}  // namespace loopsmith::lsp
