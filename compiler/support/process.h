// Child programs: started with pipes, limits and a process group, watched with deadlines, and killed with
// everything they started. Safe in a process with threads: a child makes only async-signal-safe calls before
// exec, and never continues as a fork. On Linux, children die with this process, however it dies: one thread
// that lives as long as the process starts them, because Linux ties a child's death signal to the thread that
// started it.
//
// A Process belongs to one thread at a time. Nothing here knows an event loop: a caller with an event loop
// takes the file descriptors and calls `poll_exit` when SIGCHLD arrives.
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

/// The limit of address space for a copy of this program that may use `bytes` for data: its code, the stacks of its threads and the C library's
/// reserves come on top. None for programs with sanitizers, which map terabytes.
[[nodiscard]] auto address_space_for(uint64_t bytes) -> std::optional<uint64_t>;

enum class Stream : uint8_t { Pipe, Null, Inherit };

struct ProcessOptions {
  /// argv[0] is the program: a path, or a name looked up in PATH.
  std::vector<std::string> argv = {};
  /// Variables added to this process's environment; a variable of the same name is replaced.
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// Of this process's variables, a child that runs programs of others gets only those that say where folders are and how text looks. Secrets stay here.
  bool hides_environment = false;
  /// Programs that the child moved out of its group are killed, too, when its end is noticed. For processes that start children by this file alone.
  bool sweeps = false;
  std::string directory = {};  // empty: this process's
  ProcessLimits limits = {};
  Stream standard_input = Stream::Pipe;
  Stream standard_output = Stream::Pipe;
  Stream standard_error = Stream::Inherit;
  /// 0 to 19, as of `nice`. Above 0 the child runs only in time that other processes leave over (SCHED_IDLE).
  int niceness = 0;
};

/// The end of a program.
struct ExitStatus {
  int code = 0;        // its exit status; meaningless where a signal ended it
  int signal = 0;      // the signal that ended it; 0: it exited
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

/// A child, running or ended. Programs that the child leaves running are killed as soon as its own end is noticed.
/// Destroying a Process kills the child and its group, and reaps the child.
class Process {
 public:
  /// Fails with CannotStart where the program is missing or does not start; then no process remains.
  [[nodiscard]] static auto start(const ProcessOptions& options) -> Result<Process>;

  Process(Process&& other) noexcept;
  auto operator=(Process&& other) noexcept -> Process&;
  ~Process();

  [[nodiscard]] auto pid() const -> int { return pid_; }

  /// Writes all of `data`. Closed: the child reads no more (no SIGPIPE is raised). TimedOut: only part was
  /// written, so the stream is useless from now on.
  [[nodiscard]] auto write(std::string_view data, Deadline deadline) -> IoStatus;
  void close_input();

  // Reading standard output. Bytes beyond the request are kept for the next call. On Closed and TimedOut `data`
  // is empty, and the bytes that arrived stay for the next call; `read_some` returns them.
  [[nodiscard]] auto read_line(Deadline deadline) -> ReadResult;                  // without its '\n'
  [[nodiscard]] auto read_exactly(size_t bytes, Deadline deadline) -> ReadResult;
  [[nodiscard]] auto read_some(Deadline deadline) -> ReadResult;                  // at least a byte

  /// Pipes of an event loop: the caller owns the descriptor from now on (non-blocking, close-on-exec);
  /// -1 where there is no pipe, or it was released or closed before.
  [[nodiscard]] auto release_input() -> int { return std::exchange(input_, -1); }
  [[nodiscard]] auto release_output() -> int { return std::exchange(output_, -1); }
  [[nodiscard]] auto release_error() -> int { return std::exchange(error_, -1); }

  /// The child's end; empty while it runs.
  [[nodiscard]] auto poll_exit() -> std::optional<ExitStatus>;
  /// Waits for the child's end; empty where it still runs at the deadline.
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
  bool sweeps_ = false;
  std::optional<ExitStatus> exit_;
  std::string buffer_;  // read from output_, not yet handed out
};

struct ProgramResult {
  ExitStatus status;
  bool timed_out = false;  // killed here at the deadline
  bool cancelled = false;  // killed here because of `cancel`
  bool truncated = false;  // output beyond the limit was read and dropped
  std::string output;
  std::string error;       // empty unless standard_error is a pipe
};

/// Starts a program, writes `input` to it, collects its output and waits for its end. Kills it at the deadline, or within 50 ms
/// of `cancel`.
[[nodiscard]] auto run_program(const ProcessOptions& options, std::string_view input, Deadline deadline,
                               size_t output_limit = 64U << 20U, const CancelToken& cancel = {}) -> Result<ProgramResult>;

/// The path of a program as a shell finds it; empty where PATH has no such program.
[[nodiscard]] auto find_program(const std::string& name) -> std::optional<std::string>;

/// The path of the running program, for starting it again (`loopsmith worker`).
[[nodiscard]] auto current_program() -> std::string;

/// The name of a signal, as "SIGSEGV"; "signal 99" for a number without a name.
[[nodiscard]] auto signal_name(int signal) -> std::string;

}  // namespace loopsmith
