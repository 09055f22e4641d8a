// Programs of their own: started with pipes, limits and a process group, watched with deadlines, and killed
// with everything they started. Safe in a process with threads: a child only ever runs async-signal-safe
// calls before exec, and never continues as a fork. Children die with this process (on Linux), however it
// dies: they are started by one thread that lives as long as the process, since Linux ties a child's
// death signal to the thread that made it.
//
// A Process belongs to one thread at a time. Nothing here knows an event loop: whoever has one takes the
// file descriptors and calls `poll_exit` when SIGCHLD arrives.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/cancel.h"
#include "support/diagnostic.h"

namespace loopsmith {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

[[nodiscard]] inline auto in(Clock::duration span) -> Deadline { return Clock::now() + span; }
/// A deadline that never comes.
[[nodiscard]] inline auto never() -> Deadline { return Deadline::max(); }

/// Limits that the kernel enforces on a child (and its children, each for itself). Core dumps are off.
struct ProcessLimits {
  std::optional<uint64_t> address_space = {};  // bytes; allocations beyond fail (sanitized programs need none)
  std::optional<uint64_t> cpu_seconds = {};    // of all threads together; beyond: SIGXCPU, a second later SIGKILL
  std::optional<uint64_t> stack = {};          // bytes of the main thread's stack
};

enum class Stream : uint8_t { Pipe, Null, Inherit };

struct ProcessOptions {
  /// argv[0] is the program: a path, or a name looked up in PATH.
  std::vector<std::string> argv = {};
  /// Set in addition to this process's environment, or in place of what it has by the same name.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string directory = {};  // empty: this process's
  ProcessLimits limits = {};
  Stream standard_input = Stream::Pipe;
  Stream standard_output = Stream::Pipe;
  Stream standard_error = Stream::Inherit;
  /// 0 to 19: how far the child stands back for others when the processors are busy. Above 0 it also runs only when others leave time (SCHED_IDLE).
  int niceness = 0;
};

/// How a program ended.
struct ExitStatus {
  int code = 0;        // what it returned; of no meaning where a signal ended it
  int signal = 0;      // the signal that ended it; 0: it returned
  double cpu_seconds = 0;
  uint64_t peak_memory = 0;  // bytes resident

  [[nodiscard]] auto succeeded() const -> bool { return code == 0 && signal == 0; }
  /// "exited with status 3", "was killed by signal 11 (SIGSEGV)".
  [[nodiscard]] auto describe() const -> std::string;
};

enum class IoStatus : uint8_t { Done, Closed, TimedOut };

struct ReadResult {
  IoStatus status = IoStatus::Done;
  std::string data = {};
};

/// A running child, or one that ended. Its group ends with it: what it leaves running is killed as soon as its own
/// end is seen. Destroying a Process kills all of that, and reaps the child.
class Process {
 public:
  /// Fails with CannotStart where the program is missing or does not start; then nothing is left behind.
  [[nodiscard]] static auto start(const ProcessOptions& options) -> Result<Process>;

  Process(Process&& other) noexcept;
  auto operator=(Process&& other) noexcept -> Process&;
  ~Process();

  [[nodiscard]] auto pid() const -> int { return pid_; }

  /// Writes all of it. Closed: the child reads no more (never a SIGPIPE). TimedOut: only part was written, so
  /// the stream is of no more use.
  [[nodiscard]] auto write(std::string_view data, Deadline deadline) -> IoStatus;
  void close_input();

  // Reading standard output. What arrives beyond the request is kept for the next call. On Closed and TimedOut
  // `data` is empty, and what arrived stays for the next call; `read_some` gives it.
  [[nodiscard]] auto read_line(Deadline deadline) -> ReadResult;                  // without its '\n'
  [[nodiscard]] auto read_exactly(size_t bytes, Deadline deadline) -> ReadResult;
  [[nodiscard]] auto read_some(Deadline deadline) -> ReadResult;                  // at least a byte

  /// Pipes of an event loop: the caller owns the descriptor from now on (non-blocking, close-on-exec);
  /// -1 where there is no pipe, or it was released or closed before.
  [[nodiscard]] auto release_input() -> int { return std::exchange(input_, -1); }
  [[nodiscard]] auto release_output() -> int { return std::exchange(output_, -1); }
  [[nodiscard]] auto release_error() -> int { return std::exchange(error_, -1); }

  /// How it ended; empty while it runs.
  [[nodiscard]] auto poll_exit() -> std::optional<ExitStatus>;
  /// Waits; empty where it still runs at the deadline.
  [[nodiscard]] auto wait(Deadline deadline) -> std::optional<ExitStatus>;

  void send_signal(int signal);
  /// Kills the child and all of its group at once, and reaps the child.
  auto kill() -> ExitStatus;

 private:
  friend struct ProcessStarter;
  Process() = default;
  [[nodiscard]] auto fill(Deadline deadline) -> IoStatus;

  int pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  int error_ = -1;
  std::optional<ExitStatus> exit_;
  std::string buffer_;  // read from output_, not yet handed out
};

struct ProgramResult {
  ExitStatus status;
  bool timed_out = false;  // killed by us at the deadline
  bool cancelled = false;  // killed by us since it was asked for
  bool truncated = false;  // output beyond the limit was read and dropped
  std::string output;
  std::string error;       // empty unless standard_error is a pipe
};

/// Starts a program, feeds it `input`, collects what it writes, waits for its end or kills it at the deadline, or within 50 ms of
/// `cancel`.
[[nodiscard]] auto run_program(const ProcessOptions& options, std::string_view input, Deadline deadline,
                               size_t output_limit = 64U << 20U, const CancelToken& cancel = {}) -> Result<ProgramResult>;

/// The path of a program that a shell would find; empty where there is none.
[[nodiscard]] auto find_program(const std::string& name) -> std::optional<std::string>;

/// The path of the program that runs now, for starting it again (`loopsmith worker`).
[[nodiscard]] auto current_program() -> std::string;

/// "SIGSEGV" and the like; "signal 99" where it has no name.
[[nodiscard]] auto signal_name(int signal) -> std::string;

}  // namespace loopsmith
