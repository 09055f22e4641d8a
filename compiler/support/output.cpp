// Streams for `stdout` and `stderr` that record failures: see output.h.
#include "support/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace loopsmith {
namespace {

struct Writer {
  int descriptor;
  int failure = 0;   // the errno of the first write that failed; 0: none
};

Writer standard_output{.descriptor = STDOUT_FILENO};
Writer standard_error{.descriptor = STDERR_FILENO};

/// Writes all bytes. After a failure drops the rest, because text with a gap is worse than text that ends.
auto write_all(void* cookie, const char* bytes, size_t size) -> ssize_t {
  auto& writer = *static_cast<Writer*>(cookie);
  for (size_t done = 0; done < size && writer.failure == 0;) {
    ssize_t written = ::write(writer.descriptor, bytes + done, size - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno == EAGAIN) {
      // The other end of a non-blocking pipe is full: waits until it can take more.
      pollfd ready{.fd = writer.descriptor, .events = POLLOUT, .revents = 0};
      (void)::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      writer.failure = errno;
    }
  }
  return static_cast<ssize_t>(size);
}

/// Occupies the number of a closed descriptor such that the descriptor stays unusable.
void occupy(int descriptor, int mode) {
  if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) { return; }
  int taken = ::open("/dev/null", mode);
  if (taken < 0 || taken == descriptor) { return; }
  (void)::dup2(taken, descriptor);
  ::close(taken);
}

auto stream_of(Writer& writer, int buffering) -> std::FILE* {
#ifdef __GLIBC__
  std::FILE* stream = ::fopencookie(&writer, "w", {.read = nullptr, .write = write_all, .seek = nullptr, .close = nullptr});
#else
  std::FILE* stream = ::funopen(&writer, nullptr, [](void* cookie, const char* bytes, int size) { return static_cast<int>(write_all(cookie, bytes, static_cast<size_t>(size))); }, nullptr, nullptr);
#endif
  if (stream != nullptr) { (void)std::setvbuf(stream, nullptr, buffering, BUFSIZ * 4); }
  return stream;
}

}  // namespace

void watch_output() {
  occupy(STDIN_FILENO, O_WRONLY);
  occupy(STDOUT_FILENO, O_RDONLY);
  occupy(STDERR_FILENO, O_RDONLY);
  if (std::FILE* stream = stream_of(standard_output, ::isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF)) { stdout = stream; }
  if (std::FILE* stream = stream_of(standard_error, _IONBF)) { stderr = stream; }
}

auto finish_output() -> std::optional<std::string> {
  bool is_flushed = std::fflush(stdout) == 0;
  int failure = standard_output.failure != 0 ? standard_output.failure : is_flushed ? 0 : errno;
  return failure == 0 ? std::nullopt : std::optional<std::string>(std::strerror(failure));
}

Muted::Muted(bool also_output) : first_(also_output ? STDOUT_FILENO : STDERR_FILENO) {
  std::fflush(stdout);
  std::fflush(stderr);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (int stream = first_; stream <= STDERR_FILENO; ++stream) {
    kept_[stream - 1] = ::fcntl(stream, F_DUPFD_CLOEXEC, 3);
    if (nowhere >= 0) { ::dup2(nowhere, stream); }
  }
  if (nowhere >= 0) { ::close(nowhere); }
}
Muted::~Muted() {
  std::fflush(stdout);
  std::fflush(stderr);
  for (int stream = first_; stream <= STDERR_FILENO; ++stream) {
    if (kept_[stream - 1] < 0) { continue; }
    ::dup2(kept_[stream - 1], stream);
    ::close(kept_[stream - 1]);
  }
}

}  // namespace loopsmith
