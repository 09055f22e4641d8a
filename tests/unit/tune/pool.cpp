// Workers: a crash or a hang costs one candidate, and everything else is built and measured. The worker here is a small
// program that crashes, hangs or answers depending on the candidate's trace.
#include "tune/measure/pool.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/effort.h"
#include "tests/support/folder.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::tune;

namespace {

constexpr const char* script = R"PY(
import json, os, signal, sys, time
for line in sys.stdin:
    m = json.loads(line)
    op = m["op"]
    out = None
    if op == "task":
        out = {"reply": "task", "ok": m["module"] != "bad", "why": "no such program"}
    elif op == "build":
        if m["trace"] == "crash": os.kill(os.getpid(), signal.SIGSEGV)
        if m["trace"] == "hang": time.sleep(60)
        while m["trace"] == "busy": pass
        if m["trace"] == "noise": print("garbage", flush=True); continue
        outcome = "rejected" if m["trace"] == "reject" else "built"
        out = {"reply": "build", "id": m["id"], "outcome": outcome, "note": "n", "lowered": "ff", "object": "ee", "seconds": 0.01}
    elif op == "measure":
        if m["id"] == 77: os.kill(os.getpid(), signal.SIGKILL)
        if m["id"] == 88: time.sleep(60)
        out = {"reply": "measure", "id": m["id"], "outcome": "measured", "note": "", "median": 0.5, "spread": 0.01, "blocks": 5}
    if out: print(json.dumps(out), flush=True)
)PY";

struct FakeWorker {
  FakeWorker() {
    std::ofstream(folder / "worker.py") << script;
    options.program = {"python3", folder / "worker.py"};
    options.build_limit = 1.5;
    options.measure_limit = 2;
    options.memory_limit = 0;
  }
  tests::TemporaryFolder folder;
  PoolOptions options;
};

}  // namespace

TEST_CASE("one crash, one hang and one line of noise cost one candidate each") {
  FakeWorker fake;
  WorkerPool pool(fake.options, {"m", "main", "llvm", 1});
  REQUIRE(pool.start().ok());
  std::vector<Candidate> batch = {{1, "fine"}, {2, "crash"}, {3, "fine"}, {4, "reject"}, {5, "hang"}, {6, "noise"}, {7, "fine"}};
  auto replies = pool.build(batch);
  REQUIRE(replies.size() == batch.size());
  CHECK(replies[0].outcome == BuildOutcome::Built);
  CHECK(replies[0].lowered_hash == 0xff);
  CHECK(replies[1].outcome == BuildOutcome::Crashed);
  CHECK(replies[1].note.find("SIGSEGV") != std::string::npos);
  CHECK(replies[2].outcome == BuildOutcome::Built);
  CHECK(replies[3].outcome == BuildOutcome::Rejected);
  CHECK(replies[4].outcome == BuildOutcome::TimedOut);
  CHECK(replies[5].outcome == BuildOutcome::Crashed);
  CHECK(replies[6].outcome == BuildOutcome::Built);
  CHECK(pool.restarts() == 3);
  // Candidates built by workers that were lost since are built again when they are measured.
  for (size_t i : {0, 2, 6}) {
    MeasureReply measured = pool.measure(batch[i], 0, 5);
    CHECK(measured.outcome == Outcome::Measured);
    CHECK(measured.median_seconds == 0.5);
  }
}

TEST_CASE("a build that computes is ended at its limit, and so is one beside which others compute") {
  FakeWorker fake;
  fake.options.build_limit = 0.3;
  fake.options.workers = 4;   // more than some machines have processors
  WorkerPool pool(fake.options, {"m", "main", "llvm", 1});
  REQUIRE(pool.start().ok());
  for (const BuildReply& reply : pool.build({{1, "busy"}, {2, "busy"}, {3, "busy"}, {4, "busy"}})) {
    CHECK(reply.outcome == BuildOutcome::TimedOut);
    CHECK(reply.note == "while it was built: killed at the time limit");
  }
}

TEST_CASE("a comparison that takes too long is neither right nor wrong") {
  FakeWorker fake;
  WorkerPool pool(fake.options, {"m", "main", "llvm", 1});
  REQUIRE(pool.start().ok());
  std::vector<Candidate> batch = {{78, "fine"}};
  REQUIRE(pool.build(batch).front().outcome == BuildOutcome::Built);
  // This worker does not answer `check`.
  CheckReply reply = pool.check(batch.front(), 0.25);
  CHECK_FALSE(reply.equal);
  CHECK(reply.timed_out);
  CHECK(reply.note == "the comparison of its results takes longer than 250.0 ms");
}

TEST_CASE("a kernel that kills its worker while it is measured costs itself only") {
  FakeWorker fake;
  WorkerPool pool(fake.options, {"m", "main", "llvm", 1});
  REQUIRE(pool.start().ok());
  std::vector<Candidate> batch = {{77, "fine"}, {78, "fine"}};
  (void)pool.build(batch);
  CHECK(pool.measure(batch[0], 0, 5).outcome == Outcome::Crashed);
  CHECK(pool.measure(batch[1], 0, 5).outcome == Outcome::Measured);
}

TEST_CASE("a worker that refuses the task, or does not exist, is an error with its cause") {
  FakeWorker fake;
  WorkerPool refused(fake.options, {"bad", "main", "llvm", 1});
  auto status = refused.start();
  REQUIRE_FALSE(status.ok());
  CHECK(status.diagnostics().front().message().find("no such program") != std::string::npos);
  fake.options.program = {"/nowhere/at/all"};
  WorkerPool missing(fake.options, {"m", "main", "llvm", 1});
  CHECK_FALSE(missing.start().ok());
}

TEST_CASE("stopping answers every candidate that was not begun, and ends the one that was", "[soak]") {
  FakeWorker fake;
  int asked = 0;
  fake.options.stop = [&] { return ++asked > 4; };
  WorkerPool pool(fake.options, {"m", "main", "llvm", 1});
  REQUIRE(pool.start().ok());
  auto start = Clock::now();
  auto replies = pool.build({{1, "hang"}, {2, "hang"}, {3, "fine"}, {4, "fine"}});
  if (tests::is_soak()) { CHECK(Clock::now() - start < std::chrono::milliseconds(1000)); }
  for (const BuildReply& reply : replies) {
    CHECK(reply.outcome == BuildOutcome::Rejected);
    CHECK(reply.note == "stopped");
  }
}

TEST_CASE("a call that lasts is ended: at once when asked to stop, and early beside a faster one", "[soak]") {
  FakeWorker fake;
  std::vector<Candidate> slow = {{88, "fine"}};
  bool stop = false;
  fake.options.measure_limit = 30;
  fake.options.stop = [&] { return stop; };
  WorkerPool pool(fake.options, {"m", "main", "llvm", 1});
  REQUIRE(pool.start().ok());
  REQUIRE(pool.build(slow).front().outcome == BuildOutcome::Built);
  MeasureReply beside = pool.measure(slow.front(), 0.05, 5);
  CHECK(beside.outcome == Outcome::TimedOut);
  CHECK(beside.median_seconds == 2.5);
  MeasureReply limited = pool.measure(slow.front(), 0, 5, 0.5);
  CHECK(limited.outcome == Outcome::TimedOut);
  CHECK(limited.median_seconds == 0.5);
  REQUIRE(pool.build(slow).front().outcome == BuildOutcome::Built);
  auto start = Clock::now();
  stop = true;
  CHECK(pool.measure(slow.front(), 0, 5).outcome == Outcome::Rejected);
  if (tests::is_soak()) { CHECK(Clock::now() - start < std::chrono::milliseconds(500)); }
}
