// The event loop of the front: see loop.h. One thread; pipes to the client, the worker and every job are libuv
// streams, and SIGCHLD reports that a process ended. Standard output is moved to another descriptor at the start, so that only frames reach the client.
#include "lsp/server/loop.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "lsp/server/listen.h"
#include "support/background.h"

namespace loopsmith::lsp {
namespace {

/// The niceness of searches and measurements in the background. At 5 the slowest keys took twice as long while a search ran; at 15 they took as
/// long as without one (`bench-typing`). On a busy machine jobs then hardly advance. Tests that run beside other tests therefore set
/// LOOPSMITH_TEST_PRIORITY: their jobs run like any other program.
auto job_niceness() -> int {
  static const bool is_equal = std::getenv("LOOPSMITH_TEST_PRIORITY") != nullptr;
  return is_equal ? 0 : 15;
}

/// With niceness alone the system may let a job finish its time slice before a key is answered, so jobs are stopped while a key is answered. They
/// resume `pause_behind_answer` after the answer, so that the editor can handle it, and at the latest after `longest_hold`. After a hold of
/// `longest_hold` they run for at least `longest_hold` before they can be stopped again. In milliseconds.
constexpr uint64_t pause_behind_answer = 2;
constexpr uint64_t longest_hold = 100;

/// A pipe or socket: delivers bytes as they come, writes bytes in order. Lives on the heap, because libuv closes it later.
class Channel {
 public:
  using OnBytes = std::function<void(std::string_view)>;
  using OnEnd = std::function<void()>;

  /// Takes ownership of the descriptor.
  static auto open(uv_loop_t* loop, int fd) -> Channel* {
    auto* channel = new Channel;
    channel->kind_ = uv_guess_handle(fd);
    channel->handle_.data = channel;
    if (channel->kind_ == UV_FILE || channel->kind_ == UV_UNKNOWN_HANDLE) {
      // Plain files and unknown devices never block: they are read and written directly.
      channel->file_ = fd;
      uv_idle_init(loop, &channel->idle_);
      channel->idle_.data = channel;
      return channel;
    }
    // libuv handles sockets of either kind, pipes and terminals as streams.
    uv_pipe_init(loop, &channel->handle_, 0);
    channel->handle_.data = channel;
    if (uv_pipe_open(&channel->handle_, fd) != 0) { ::close(fd); }
    return channel;
  }

  void read(OnBytes on_bytes, OnEnd on_end) {
    on_bytes_ = std::move(on_bytes);
    on_end_ = std::move(on_end);
    if (file_ >= 0) {
      uv_idle_start(&idle_, [](uv_idle_t* idle) { static_cast<Channel*>(idle->data)->read_file(); });
      return;
    }
    int failed = uv_read_start(
        stream(),
        [](uv_handle_t* handle, size_t, uv_buf_t* buffer) {
          auto* channel = static_cast<Channel*>(handle->data);
          channel->buffer_.resize(64 << 10);
          *buffer = uv_buf_init(channel->buffer_.data(), static_cast<unsigned>(channel->buffer_.size()));
        },
        [](uv_stream_t* stream, ssize_t size, const uv_buf_t*) {
          auto* channel = static_cast<Channel*>(stream->data);
          if (size > 0) {
            channel->on_bytes_({channel->buffer_.data(), static_cast<size_t>(size)});
          } else if (size < 0) {
            uv_read_stop(stream);
            auto on_end = channel->on_end_;
            on_end();
          }
        });
    if (failed != 0) { on_end_(); }
  }

  void write(std::string bytes) {
    if (closing_) { return; }
    if (file_ >= 0) {
      std::string_view left = bytes;
      while (!left.empty()) {
        ssize_t written = ::write(file_, left.data(), left.size());
        if (written < 0 && errno != EINTR) { return; }
        left.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
      }
      return;
    }
    // Most writes fit into the pipe at once.
    if (in_flight_ == 0) {
      uv_buf_t whole = uv_buf_init(bytes.data(), static_cast<unsigned>(bytes.size()));
      int written = uv_try_write(stream(), &whole, 1);
      if (written > 0) { bytes.erase(0, static_cast<size_t>(written)); }
      if (bytes.empty() || (written < 0 && written != UV_EAGAIN)) { return; }
    }
    auto* request = new Write{{}, std::move(bytes), this};
    request->request.data = request;
    ++in_flight_;
    uv_buf_t rest = uv_buf_init(request->bytes.data(), static_cast<unsigned>(request->bytes.size()));
    int failed = uv_write(&request->request, stream(), &rest, 1, [](uv_write_t* done, int) {
      auto* request = static_cast<Write*>(done->data);
      --request->channel->in_flight_;
      delete request;
    });
    if (failed != 0) {
      --in_flight_;
      delete request;
    }
  }

  [[nodiscard]] auto is_idle() const -> bool { return in_flight_ == 0; }

  /// Ends all events; the channel frees itself.
  void close() {
    if (std::exchange(closing_, true)) { return; }
    auto free = [](uv_handle_t* handle) { delete static_cast<Channel*>(handle->data); };
    if (file_ >= 0) {
      uv_close(reinterpret_cast<uv_handle_t*>(&idle_), free);
    } else {
      uv_close(reinterpret_cast<uv_handle_t*>(&handle_), free);
    }
  }
  /// Closes after all written bytes are sent.
  void finish() {
    if (file_ >= 0 || closing_) { return close(); }
    auto* request = new uv_shutdown_t;
    request->data = this;
    int failed = uv_shutdown(request, stream(), [](uv_shutdown_t* done, int) {
      auto* channel = static_cast<Channel*>(done->data);
      delete done;
      channel->close();
    });
    if (failed != 0) {
      delete request;
      close();
    }
  }

 private:
  struct Write {
    uv_write_t request;
    std::string bytes;
    Channel* channel;
  };

  auto stream() -> uv_stream_t* { return reinterpret_cast<uv_stream_t*>(&handle_); }

  void read_file() {
    buffer_.resize(64 << 10);
    ssize_t size = ::read(file_, buffer_.data(), buffer_.size());
    if (size > 0) { return on_bytes_({buffer_.data(), static_cast<size_t>(size)}); }
    uv_idle_stop(&idle_);
    on_end_();
  }

  uv_handle_type kind_ = UV_UNKNOWN_HANDLE;
  uv_pipe_t handle_{};
  uv_idle_t idle_{};
  int file_ = -1;
  std::string buffer_;
  OnBytes on_bytes_;
  OnEnd on_end_;
  int in_flight_ = 0;
  bool closing_ = false;
};

class Server final : public Host {
 public:
  Server(const ServerOptions& options, int input, int output) : options_(options), front_(*this, options.front, &recorder_) {
    uv_loop_init(&loop_);
    from_client_ = Channel::open(&loop_, input);
    to_client_ = input == output ? from_client_ : Channel::open(&loop_, output);
  }

  /// `received`: bytes of the client that were already read.
  auto run(std::string_view received) -> int {
    if (!options_.record.empty() && !recorder_.open(options_.record)) {
      fmt::print(stderr, "loopsmith lsp: cannot write `{}`; the session is not recorded\n", options_.record);
    }
    uv_signal_init(&loop_, &child_ended_);
    child_ended_.data = this;
    uv_signal_start(&child_ended_, [](uv_signal_t* signal, int) { static_cast<Server*>(signal->data)->look_for_ends(); }, SIGCHLD);
    uv_timer_init(&loop_, &tick_);
    tick_.data = this;
    uv_timer_start(&tick_, [](uv_timer_t* timer) { static_cast<Server*>(timer->data)->front_.on_tick(); }, 100, 100);

    uv_timer_init(&loop_, &hold_);
    hold_.data = this;

    front_.start();
    if (!received.empty()) { front_.on_client_bytes(received); }
    from_client_->read([this](std::string_view bytes) { front_.on_client_bytes(bytes); }, [this] { front_.on_client_end(); });
    uv_run(&loop_, UV_RUN_DEFAULT);

    // Send the last bytes to the client, for a second at most.
    Deadline deadline = in(std::chrono::seconds(1));
    while (!to_client_->is_idle() && Clock::now() < deadline) { uv_run(&loop_, UV_RUN_ONCE); }
    close_all();
    return status_;
  }

  void to_client(std::string frame) override { to_client_->write(std::move(frame)); }

  void to_worker(std::string frame) override {
    if (worker_input_ != nullptr) { worker_input_->write(std::move(frame)); }
  }

  auto start_worker() -> bool override {
    auto process = Process::start({.argv = {options_.program, "worker", "--analyze"}});
    if (!process.ok()) {
      fmt::print(stderr, "loopsmith lsp: {}\n", process.diagnostics().front().message());
      return false;
    }
    worker_.emplace(std::move(process).value());
    worker_input_ = Channel::open(&loop_, worker_->release_input());
    worker_output_ = Channel::open(&loop_, worker_->release_output());
    worker_output_->read([this](std::string_view bytes) { front_.on_worker_bytes(bytes); },
                         [this] {
                           // A worker that closed its output cannot answer any more, even if its process still runs.
                           worker_output_closed_ = true;
                           kill_worker();
                           look_for_ends();
                         });
    worker_output_closed_ = false;
    return true;
  }

  void kill_worker() override {
    if (worker_) { worker_->send_signal(SIGKILL); }
    // SIGCHLD reports the end.
  }

  auto worker_cpu() -> std::chrono::duration<double> override {
    clockid_t clock{};
    timespec time{};
    if (!worker_ || clock_getcpuclockid(worker_->pid(), &clock) != 0 || clock_gettime(clock, &time) != 0) { return {}; }
    return std::chrono::duration<double>(static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9);
  }

  auto start_job(JobId id, const std::vector<std::string>& arguments, const std::string& input)
      -> std::optional<std::string> override {
    // The job and the programs that it starts are one process group, so that all of them stop together.
    ProcessOptions options{.argv = {options_.job_program}, .environment = {{background_variable, "1"}}, .standard_error = Stream::Pipe, .niceness = job_niceness()};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    auto process = Process::start(options);
    if (!process.ok()) { return process.diagnostics().front().message(); }
    auto job = std::make_unique<Job>(Job{.process = std::move(process).value()});
    Job* running = job.get();
    jobs_.emplace(id, std::move(job));
    running->input = Channel::open(&loop_, running->process.release_input());
    running->output = Channel::open(&loop_, running->process.release_output());
    running->error = Channel::open(&loop_, running->process.release_error());
    running->input->write(input);
    running->input->finish();
    running->output->read(
        [this, id, running](std::string_view bytes) {
          running->line += bytes;
          size_t begin = 0;
          for (size_t end = 0; (end = running->line.find('\n', begin)) != std::string::npos; begin = end + 1) {
            front_.on_job_line(id, std::string_view(running->line).substr(begin, end - begin));
          }
          running->line.erase(0, begin);
        },
        [this, running] {
          running->output_closed = true;
          look_for_ends();
        });
    running->error->read(
        [running](std::string_view bytes) {
          running->errors += bytes;
          // Only the last bytes are reported.
          if (running->errors.size() > 64 << 10) { running->errors.erase(0, running->errors.size() - (32 << 10)); }
        },
        [] {});
    return std::nullopt;
  }

  void signal_job(JobId id, int signal) override {
    auto found = jobs_.find(id);
    if (found != jobs_.end()) { found->second->process.send_signal(signal); }
  }

  void hold_jobs() override {
    if (jobs_.empty()) { return; }
    Clock::time_point now = Clock::now();
    if (held_since_) {
      // Another key extends the hold, up to `longest_hold`.
      start_hold_timer(longest_hold - std::min<uint64_t>(longest_hold, milliseconds(now - *held_since_)));
      return;
    }
    if (now < no_hold_before_) { return; }
    held_since_ = now;
    signal_groups(SIGSTOP);
    start_hold_timer(longest_hold);
  }

  void let_jobs_go() override {
    if (held_since_) { start_hold_timer(pause_behind_answer); }
  }

  void quit(int status) override {
    status_ = status;
    uv_stop(&loop_);
  }

 private:
  struct Job {
    Process process;
    Channel* input = nullptr;
    Channel* output = nullptr;
    Channel* error = nullptr;
    std::string line = {};
    std::string errors = {};
    bool output_closed = false;
  };

  static auto milliseconds(Clock::duration time) -> uint64_t {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  }

  void start_hold_timer(uint64_t after) {
    uv_timer_start(&hold_, [](uv_timer_t* timer) { static_cast<Server*>(timer->data)->end_hold(); }, after, 0);
  }

  void end_hold() {
    if (!held_since_) { return; }
    Clock::time_point now = Clock::now();
    if (milliseconds(now - *held_since_) >= longest_hold) { no_hold_before_ = now + std::chrono::milliseconds(longest_hold); }
    held_since_.reset();
    signal_groups(SIGCONT);
  }

  void signal_groups(int signal) {
    for (auto& [id, job] : jobs_) {
      if (!job->process.poll_exit()) { ::kill(-job->process.pid(), signal); }
    }
  }

  void close_all() {
    end_hold();
    for (auto& [id, job] : jobs_) {
      job->output->close();
      job->error->close();
    }
    if (worker_input_ != nullptr) { worker_input_->close(); }
    if (worker_output_ != nullptr) { worker_output_->close(); }
    from_client_->close();
    if (to_client_ != from_client_) { to_client_->close(); }
    uv_close(reinterpret_cast<uv_handle_t*>(&child_ended_), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&tick_), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&hold_), nullptr);
    jobs_.clear();
    worker_.reset();
    for (int turn = 0; turn < 10 && uv_loop_close(&loop_) == UV_EBUSY; ++turn) { uv_run(&loop_, UV_RUN_NOWAIT); }
  }

  /// Reports the programs that ended and whose output has been read to its end.
  void look_for_ends() {
    if (worker_) {
      auto status = worker_->poll_exit();
      if (status && worker_output_closed_) {
        worker_.reset();
        worker_input_->close();
        worker_output_->close();
        worker_input_ = nullptr;
        worker_output_ = nullptr;
        front_.on_worker_end(*status);
      }
    }
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      auto status = job->second->process.poll_exit();
      if (!status || !job->second->output_closed) {
        ++job;
        continue;
      }
      auto ended = std::move(job->second);
      JobId id = job->first;
      job = jobs_.erase(job);
      ended->output->close();
      ended->error->close();
      front_.on_job_end(id, *status, ended->errors);
    }
  }

  const ServerOptions& options_;
  Recorder recorder_;
  Front front_;
  uv_loop_t loop_{};
  uv_signal_t child_ended_{};
  uv_timer_t tick_{};
  uv_timer_t hold_{};
  Channel* from_client_ = nullptr;
  Channel* to_client_ = nullptr;
  std::optional<Process> worker_;
  Channel* worker_input_ = nullptr;
  Channel* worker_output_ = nullptr;
  bool worker_output_closed_ = false;
  std::map<JobId, std::unique_ptr<Job>> jobs_;
  std::optional<Clock::time_point> held_since_;  // while jobs are stopped
  Clock::time_point no_hold_before_{};
  int status_ = 0;
};

/// None: reported.
auto wait_for_client(const ServerOptions& options) -> std::optional<Client> {
  if (!options.socket.empty()) {
    auto client = wait_on_socket(options.socket);
    if (!client) { fmt::print(stderr, "loopsmith lsp: cannot listen on `{}`: {}\n", options.socket, std::strerror(errno)); }
    return client;
  }
  std::string token = token_for_clients();
  if (token.empty()) {
    fmt::print(stderr, "loopsmith lsp: the system has no random numbers for a token\n");
    return std::nullopt;
  }
  // The environment of a process is readable for its user only, and so is a pipe; a command line is not.
  bool is_given = std::getenv("LOOPSMITH_TOKEN") != nullptr && std::getenv("LOOPSMITH_TOKEN") == token;
  fmt::print(stderr, "loopsmith lsp: port {}; the client sends `initializationOptions.token`{}\n", *options.port, is_given ? ", which LOOPSMITH_TOKEN has" : ": " + token);
  auto client = wait_on_port(*options.port, token);
  if (!client) { fmt::print(stderr, "loopsmith lsp: cannot listen on port {}\n", *options.port); }
  return client;
}

}  // namespace

auto serve(const ServerOptions& options) -> int {
  ::signal(SIGPIPE, SIG_IGN);
  int input = -1;
  int output = -1;
  std::string received;
  if (options.port || !options.socket.empty()) {
    std::optional<Client> client = wait_for_client(options);
    if (!client) { return 3; }
    input = output = client->socket;
    received = std::move(client->received);
  } else {
    input = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
    output = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
    int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, 0);
    ::dup2(2, 1);
    ::close(nothing);
    if (input < 0 || output < 0) {
      fmt::print(stderr, "loopsmith lsp: standard input and output are not open\n");
      return 3;
    }
  }
  Server server(options, input, output);
  return server.run(received);
}

}  // namespace loopsmith::lsp
