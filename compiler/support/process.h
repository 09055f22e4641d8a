// Child programs: started with pipes, limits and a process group, watched with deadlines, and killed together with
// all programs that they started. Safe in a process with threads: a child makes only async-signal-safe calls before
// exec, and never continues as a fork. On Linux, children die with this process, even if it is killed: one thread
// that lives as long as the process starts them, because Linux ties a child's death signal to the thread that
// started it.
//
// A Process belongs to one thread at a time. This file uses no event loop: a caller with an event loop
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
/// A deadline that never passes.
[[nodiscard]] inline auto never() -> Deadline { return Deadline::max(); }

/// Limits that the kernel enforces on a child (and on each of its children separately). Core dumps are off.
struct ProcessLimits {
  std::optional<uint64_t> address_space = {};  // bytes; allocations beyond it fail (sanitized programs must have no limit); the child may lift it, see below
  std::optional<uint64_t> cpu_seconds = {};    // for all threads together; beyond it SIGXCPU, and a second later SIGKILL
  std::optional<uint64_t> stack = {};          // bytes of the main thread's stack
};

/// The limit of address space for a copy of this program that may use `bytes` for data: adds its code, the stacks of its threads and the C library's
/// reserves. None for programs with sanitizers, which map terabytes.
[[nodiscard]] auto address_space_for(uint64_t bytes) -> std::optional<uint64_t>;
/// Replaces this process's limit of address space by the same limit of writable private memory. Drivers of GPUs reserve terabytes of addresses when they start.
/// Code under the filter of confinement.h cannot do this.
void limit_data_instead_of_addresses();

enum class Stream : uint8_t { Pipe, Null, Inherit };

struct ProcessOptions {
  /// argv[0] is the program: a path, or a name looked up in PATH.
  std::vector<std::string> argv = {};
  /// Variables added to this process's environment; a variable of the same name is replaced.
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// The child gets only harmless variables of this process: those for folders, terminal, language. For children that run foreign programs: secrets stay here.
  bool hides_environment = false;
  /// When the child ends, also kills programs that the child moved out of its group. Only for processes that start children by this file alone.
  bool sweeps = false;
  std::string directory = {};  // empty: that of this process
  ProcessLimits limits = {};
  Stream standard_input = Stream::Pipe;
  Stream standard_output = Stream::Pipe;
  Stream standard_error = Stream::Inherit;
  /// 0 to 19, as in `nice`. Above 0 the child runs only in time that no other process uses (SCHED_IDLE).
  int niceness = 0;
};

/// The end of a program.
struct ExitStatus {
  int code = 0;        // its exit status; undefined if a signal ended it
  int signal = 0;      // the signal that ended it; 0: it exited by itself
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

/// A child, running or ended. Programs that the child leaves running are killed when its end is noticed.
/// Destroying a Process kills the child and its group, and reaps the child.
class Process {
 public:
  /// Fails with CannotStart if the program is missing or does not start; then no process remains.
  [[nodiscard]] static auto start(const ProcessOptions& options) -> Result<Process>;

  Process(Process&& other) noexcept;
  auto operator=(Process&& other) noexcept -> Process&;
  ~Process();

  [[nodiscard]] auto pid() const -> int { return pid_; }

  /// Writes all of `data`. Closed: the child no longer reads (no SIGPIPE is raised). TimedOut: only a part was
  /// written, so the stream must not be used any more.
  [[nodiscard]] auto write(std::string_view data, Deadline deadline) -> IoStatus;
  void close_input();

  // Reading standard output. Bytes beyond the request are kept for the next call. On Closed and TimedOut `data`
  // is empty, and the bytes that arrived are kept for the next call; `read_some` returns them.
  [[nodiscard]] auto read_line(Deadline deadline) -> ReadResult;                  // without its '\n'
  [[nodiscard]] auto read_exactly(size_t bytes, Deadline deadline) -> ReadResult;
  [[nodiscard]] auto read_some(Deadline deadline) -> ReadResult;                  // at least one byte

  /// Pipes for an event loop: the caller owns the descriptor from now on (non-blocking, close-on-exec);
  /// -1 if there is no pipe, or if it was released or closed before.
  [[nodiscard]] auto release_input() -> int { return std::exchange(input_, -1); }
  [[nodiscard]] auto release_output() -> int { return std::exchange(output_, -1); }
  [[nodiscard]] auto release_error() -> int { return std::exchange(error_, -1); }

  /// The exit status of the child; empty while it runs.
  [[nodiscard]] auto poll_exit() -> std::optional<ExitStatus>;
  /// Waits until the child ends; empty if it still runs at the deadline.
  [[nodiscard]] auto wait(Deadline deadline) -> std::optional<ExitStatus>;

  void send_signal(int signal);
  /// Kills the child and its whole group at once, and reaps the child.
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
  std::string buffer_;  // read from output_, not yet returned
};

struct ProgramResult {
  ExitStatus status;
  bool timed_out = false;  // it was killed at the deadline
  bool cancelled = false;  // it was killed because of `cancel`
  bool truncated = false;  // output beyond the limit was read and dropped
  std::string output;
  std::string error;       // empty unless standard_error is a pipe
};

/// Starts a program, writes `input` to it, collects its output and waits until it ends. Kills it at the deadline, or within 50 ms
/// of `cancel`.
[[nodiscard]] auto run_program(const ProcessOptions& options, std::string_view input, Deadline deadline,
                               size_t output_limit = 64U << 20U, const CancelToken& cancel = {}) -> Result<ProgramResult>;

/// The path of a program as a shell finds it; empty if PATH has no such program.
[[nodiscard]] auto find_program(const std::string& name) -> std::optional<std::string>;

/// The path of the running program, for starting it again (`loopsmith worker`).
[[nodiscard]] auto current_program() -> std::string;

/// The name of a signal, as "SIGSEGV"; "signal 99" for a number without a name.
[[nodiscard]] auto signal_name(int signal) -> std::string;

}  // namespace loopsmith
