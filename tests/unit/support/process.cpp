// Child programs: streams, deadlines, limits, every kind of end; no process remains afterwards.
#include "support/process.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "support/codes.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace std::chrono_literals;

namespace {

auto shell(std::string script) -> ProcessOptions { return {.argv = {"sh", "-c", std::move(script)}}; }

auto started(const ProcessOptions& options) -> Process {
  auto process = Process::start(options);
  REQUIRE(process.ok());
  return std::move(process).value();
}

/// True when processes have ended, also if their parent, which is not this process, has not reaped them (in containers often never).
auto is_gone(int pid) -> bool {
  for (int i = 0; i < 100; ++i) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string number;
    std::string name;
    std::string state;
    if (!(file >> number >> name >> state) || state == "Z") { return true; }
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

auto open_descriptors() -> int {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) { ++count; }
  return count;
}

}  // namespace

TEST_CASE("a program gets its input and gives its output") {
  auto result = run_program({.argv = {"cat"}}, "hello\nworld", in(5s));
  REQUIRE(result.ok());
  CHECK(result->output == "hello\nworld");
  CHECK(result->status.succeeded());
}

TEST_CASE("more input and output than a pipe holds, at the same time") {
  std::string much(3'000'000, 'x');
  auto result = run_program({.argv = {"cat"}, .standard_error = Stream::Pipe}, much, in(20s));
  REQUIRE(result.ok());
  CHECK(result->output == much);
}

TEST_CASE("standard error apart from output, and the exit status") {
  ProcessOptions options = shell("echo out; echo err >&2; exit 3");
  options.standard_error = Stream::Pipe;
  auto result = run_program(options, "", in(5s));
  REQUIRE(result.ok());
  CHECK(result->output == "out\n");
  CHECK(result->error == "err\n");
  CHECK(result->status.code == 3);
  CHECK(result->status.describe() == "exited with status 3");
}

TEST_CASE("a crash is described by its signal") {
  auto result = run_program(shell("kill -SEGV $$"), "", in(5s));
  REQUIRE(result.ok());
  CHECK(result->status.signal == SIGSEGV);
  CHECK(result->status.describe() == "was killed by signal 11 (SIGSEGV)");
}

TEST_CASE("a missing program, and one that is not a program, are diagnostics") {
  auto missing = Process::start({.argv = {"no-such-program-here"}});
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.diagnostics().front().code == Code::CannotStart);
  auto none = Process::start({.argv = {}});
  CHECK_FALSE(none.ok());
  auto folder = Process::start({.argv = {"true"}, .directory = "/no/such/folder"});
  REQUIRE_FALSE(folder.ok());
  CHECK(folder.diagnostics().front().message() == "cannot start `true`: No such file or directory");
}

TEST_CASE("a deadline ends a program that does not end, and its children") {
  auto start = Clock::now();
  auto result = run_program(shell("sleep 60 & echo $!; sleep 60"), "", in(200ms));
  REQUIRE(result.ok());
  CHECK(result->timed_out);
  CHECK(result->status.signal == SIGKILL);
  CHECK(Clock::now() - start < 5s);
  CHECK(is_gone(std::stoi(result->output)));
}

TEST_CASE("a program is stopped when that is asked for, though it closed its pipes") {
  CancelSource source;
  source.cancel();
  auto start = Clock::now();
  for (const char* text : {"sleep 60", "exec > /dev/null 2>&1; sleep 60"}) {
    auto result = run_program(shell(text), "", in(60s), 1U << 20U, source.token());
    REQUIRE(result.ok());
    CHECK(result->cancelled);
    CHECK_FALSE(result->timed_out);
    CHECK(result->status.signal == SIGKILL);
  }
  CHECK(Clock::now() - start < 30s);
}

TEST_CASE("programs that a child leaves running end with it") {
  // The grandchild keeps the output open, so waiting for the end of the output would wait a minute.
  auto start = Clock::now();
  auto result = run_program(shell("sleep 60 & echo $!"), "", in(30s));
  REQUIRE(result.ok());
  CHECK_FALSE(result->timed_out);
  CHECK(Clock::now() - start < 10s);
  CHECK(is_gone(std::stoi(result->output)));
}

TEST_CASE("a conversation by lines; deadlines keep the bytes that arrived") {
  Process child = started(shell("read a; printf 'got %s\\npart' \"$a\"; read b; echo ial; read c"));
  CHECK(child.write("one\n", in(5s)) == IoStatus::Done);
  CHECK(child.read_line(in(5s)).data == "got one");
  CHECK(child.read_line(in(50ms)).status == IoStatus::TimedOut);
  CHECK(child.write("two\n", in(5s)) == IoStatus::Done);
  CHECK(child.read_line(in(5s)).data == "partial");
  child.close_input();
  CHECK(child.read_line(in(5s)).status == IoStatus::Closed);
  auto status = child.wait(in(5s));
  REQUIRE(status.has_value());
  CHECK(status->signal == 0);
}

TEST_CASE("a fixed number of bytes") {
  Process child = started(shell("printf abcdefgh"));
  CHECK(child.read_exactly(3, in(5s)).data == "abc");
  CHECK(child.read_exactly(9, in(5s)).status == IoStatus::Closed);
  CHECK(child.read_some(in(5s)).data == "defgh");
}

TEST_CASE("writing to a child that is gone is no SIGPIPE") {
  Process child = started(shell("exec <&-; echo ready; sleep 30"));
  CHECK(child.read_line(in(5s)).data == "ready");
  CHECK(child.write("anyone there?", in(1s)) == IoStatus::Closed);
}

TEST_CASE("a child that does not read makes the write time out") {
  Process child = started(shell("sleep 30"));
  CHECK(child.write(std::string(1'000'000, 'x'), in(100ms)) == IoStatus::TimedOut);
}

TEST_CASE("limits of time and memory hold") {
  ProcessOptions spin = shell("while :; do :; done");
  spin.limits.cpu_seconds = 1;
  auto result = run_program(spin, "", in(20s));
  REQUIRE(result.ok());
  CHECK_FALSE(result->timed_out);
  CHECK((result->status.signal == SIGXCPU || result->status.signal == SIGKILL));

  ProcessOptions shown = shell("ulimit -v; ulimit -c");
  shown.limits.address_space = 1ULL << 30U;
  auto limited = run_program(shown, "", in(5s));
  REQUIRE(limited.ok());
  CHECK(limited->output == "1048576\n0\n");
}

TEST_CASE("environment and folder are the child's own") {
  ProcessOptions options = shell("echo $LOOPSMITH_TEST_VALUE; pwd");
  options.environment = {{"LOOPSMITH_TEST_VALUE", "a=b c"}};
  options.directory = "/";
  auto result = run_program(options, "", in(5s));
  REQUIRE(result.ok());
  CHECK(result->output == "a=b c\n/\n");
}

TEST_CASE("secrets of the environment stay here where a child runs programs of others") {
  ::setenv("LOOPSMITH_TEST_KEPT", "kept", 1);
  ::setenv("SOME_TOKEN", "secret", 1);
  ProcessOptions options = shell("echo $LOOPSMITH_TEST_KEPT $SOME_TOKEN; test -n \"$PATH\" && echo path");
  options.hides_environment = true;
  auto result = run_program(options, "", in(5s));
  ::unsetenv("SOME_TOKEN");
  REQUIRE(result.ok());
  CHECK(result->output == "kept\npath\n");
}

#ifdef __linux__
TEST_CASE("programs that a child moved into a session of their own end with it") {
  ProcessOptions options = shell("setsid sh -c 'sleep 60 & echo $!; wait' & read line; exit 3");
  options.sweeps = true;
  Process child = started(options);
  ReadResult line = child.read_line(in(10s));
  REQUIRE(line.status == IoStatus::Done);
  int left = std::stoi(line.data);
  CHECK(::kill(left, 0) == 0);
  CHECK(child.write("end\n", in(5s)) == IoStatus::Done);
  auto status = child.wait(in(10s));
  REQUIRE(status);
  CHECK(status->code == 3);
  CHECK(::kill(left, 0) == -1);
}

TEST_CASE("programs that end while the system's list of processes is read are no fault") {
  Process others = started(shell("for k in 1 2 3 4; do (while :; do (:); done) & done; wait"));
  for (int i = 0; i < 400; ++i) {
    ProcessOptions options = shell("exit 0");
    options.sweeps = true;
    Process child = started(options);
    auto status = child.wait(in(20s));
    REQUIRE(status);
    CHECK(status->code == 0);
  }
  (void)others.kill();
}
#endif

TEST_CASE("a child inherits no descriptors and no signal settings") {
  int extra = ::dup(1);  // without close-on-exec, like a careless library
  auto before = ::signal(SIGPIPE, SIG_IGN);
  auto result = run_program(shell("ls /proc/self/fd | wc -l; grep SigIgn /proc/self/status | tr -d '\\t'"), "", in(5s));
  ::signal(SIGPIPE, before);
  ::close(extra);
  REQUIRE(result.ok());
  // 0, 1, 2 and the folder that ls reads.
  CHECK(result->output == "4\nSigIgn:0000000000000000\n");
}

TEST_CASE("starting from many threads at once: right streams, no descriptor left, children outlive the thread") {
  int before = open_descriptors();
  std::vector<std::thread> threads;
  std::vector<std::string> outputs(16);
  for (size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back([&outputs, i] {
      auto result = run_program(ProcessOptions{.argv = {"cat"}}, std::to_string(i), in(20s));
      if (result.ok()) { outputs[i] = result->output; }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  for (size_t i = 0; i < outputs.size(); ++i) { CHECK(outputs[i] == std::to_string(i)); }
  CHECK(open_descriptors() == before);

  std::optional<Process> child;
  std::thread([&] { child.emplace(started({.argv = {"cat"}})); }).join();
  CHECK(child->write("still here\n", in(5s)) == IoStatus::Done);
  CHECK(child->read_line(in(5s)).data == "still here");
}

// Run by the next case, in a process of its own: starts a child and dies without a chance to clean up.
TEST_CASE("start a child and die", "[.start-and-die]") {
  Process child = started({.argv = {"sleep", "60"}});
  std::string line = std::to_string(child.pid()) + "\n";
  REQUIRE(::write(1, line.data(), line.size()) > 0);
  ::kill(::getpid(), SIGKILL);
}

// The next case runs this in a copy of this program, which starts itself although its file was removed.
TEST_CASE("start again", "[.start-again]") { CHECK(true); }
TEST_CASE("remove the file and start again", "[.remove-and-start-again]") {
  REQUIRE(::unlink(current_program().c_str()) == 0);
  auto result = run_program({.argv = {current_program(), "[.start-again]"}}, "", in(10s));
  REQUIRE(result.ok());
  CHECK(result->status.code == 0);
  CHECK(result->output.find("1 assertion") != std::string::npos);
}

TEST_CASE("a program whose file was replaced starts itself, not the new file") {
  char folder[] = "/tmp/loopsmith-process-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  std::string copy = std::string(folder) + "/copy";
  std::filesystem::copy_file(current_program(), copy);
  auto result = run_program({.argv = {copy, "[.remove-and-start-again]"}}, "", in(20s));
  std::filesystem::remove_all(folder);
  REQUIRE(result.ok());
  INFO(result->output);
  CHECK(result->status.code == 0);
}

TEST_CASE("children die with the process that started them, however it dies") {
  auto result = run_program({.argv = {current_program(), "[.start-and-die]"}}, "", in(10s));
  REQUIRE(result.ok());
  CHECK(result->status.signal == SIGKILL);
  CHECK(is_gone(std::stoi(result->output)));
}
