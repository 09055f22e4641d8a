// A search that is stopped: the stop is reported while the best is still compared with the program, and no result is reported before the comparison.
// The workers here measure every candidate.
#include "tune/session/session.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "frontend/file.h"
#include "syntax/document.h"
#include "tests/support/effort.h"
#include "tests/support/folder.h"
#include "tests/support/programs.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using tune::Progress;
using tune::SessionOptions;
using tune::SessionResult;

namespace {

/// A worker in Python: it accepts every task, builds every candidate and finds every result right. `setup` runs once; `build`, `measure` and `check` are statements
/// for one message `m`, which may change the reply `out`.
struct FakeWorker {
  std::string setup, build, measure, check;
  [[nodiscard]] auto text() const -> std::string {
    return R"PY(import hashlib, json, os, sys, time
folder = sys.argv[1]
)PY" + setup + R"PY(
def task(m, out): out.update(ok=True, why="")
def build(m, out):
    out.update(outcome="built", note="", lowered="%x" % m["id"], object="%x" % m["id"], seconds=0.001)
    )PY" + build + R"PY(
def measure(m, out):
    out.update(outcome="measured", note="", median=1.0 / m["id"], spread=0.01, blocks=5)
    )PY" + measure + R"PY(
def check(m, out):
    out.update(equal=True, how="a look", note="")
    )PY" + check + R"PY(
replies = {"task": task, "build": build, "measure": measure, "check": check}
for line in sys.stdin:
    m = json.loads(line)
    if m["op"] not in replies: continue
    out = {"reply": m["op"]}
    if "id" in m: out["id"] = m["id"]
    replies[m["op"]](m, out)
    print(json.dumps(out), flush=True)
)PY";
  }
};

/// Answers `check` only when the file `allowed` exists in its folder.
const FakeWorker patient{.setup = "", .build = "", .measure = "", .check = R"PY(
    open(folder + "/asked", "a").write("%d\n" % m["id"])
    while not os.path.exists(folder + "/allowed"): time.sleep(0.01))PY"};

/// Times depend on the candidate's trace, not on its number.
const FakeWorker measuring_traces{.setup = "times = {}", .build = R"PY(
    digest = hashlib.sha256(json.dumps(m["trace"]).encode()).hexdigest()
    times[m["id"]] = 1e-6 * (1 + int(digest[:6], 16) % 1000)
    out.update(lowered=digest[:15], object=digest[15:30]))PY", .measure = R"PY(out.update(median=times.get(m["id"], 1e-3), spread=1e-9))PY", .check = ""};

/// Every candidate is slower than the program as written.
const FakeWorker slower_than_written{.setup = "", .build = "", .measure = R"PY(out.update(median=1e-3 * m["id"], spread=1e-9))PY", .check = ""};

struct StoppedSearch {
  explicit StoppedSearch(const FakeWorker& worker = patient) {
    std::ofstream(folder / "worker.py") << worker.text();
    options.worker = {"python3", folder / "worker.py", folder.path()};
    options.workers = 1;
    options.seconds = 0;
    options.trials = 1000000;
    options.database = ":memory:";
    options.on_progress = [this](const Progress& progress) {
      if (progress.trials >= 3) { stopped = true; }
      phases.push_back(progress.phase + (progress.is_stopped ? " stopped" : "") + (has("allowed") ? " allowed" : ""));
    };
    options.stop = [this] { return stopped.load(); };
  }
  [[nodiscard]] auto has(const char* name) const -> bool { return std::filesystem::exists(folder / name); }
  void allow() const { std::ofstream(folder / "allowed") << "yes"; }
  void wait_until_asked() const {
    while (!has("asked")) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }
  }
  auto run() -> Result<SessionResult> {
    syntax::Document document(program);
    frontend::File file;
    file.update(document);
    IRModule module;
    for (size_t i = 0; i < file.size() && !module; ++i) { module = file.declaration(i).module; }
    REQUIRE(module);
    auto target = target::parse("llvm");
    REQUIRE(target.ok());
    return tune::tune(module, Name("main"), *target, "main", options);
  }
  tests::TemporaryFolder folder;
  std::string program = R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
)";
  SessionOptions options;
  std::atomic<bool> stopped = false;
  std::vector<std::string> phases;
};

/// The records of the only task of a database.
auto records_of(tune::Database& database) -> std::vector<tune::Record> {
  auto tasks = database.workloads();
  REQUIRE(tasks.ok());
  REQUIRE(tasks->size() == 1);
  auto records = database.records(tasks->front().task);
  REQUIRE(records.ok());
  return *std::move(records);
}

}  // namespace

TEST_CASE("a stop is answered before the best is compared") {
  StoppedSearch search;
  std::thread other([&] {
    search.wait_until_asked();
    search.allow();
  });
  auto result = search.run();
  other.join();
  REQUIRE(result.ok());
  CHECK(result->found);
  CHECK(result->stopped);
  CHECK(result->verified == "a look");
  REQUIRE(search.phases.size() >= 2);
  CHECK(search.phases[search.phases.size() - 2] == "verifying stopped");
  CHECK(search.phases.back() == "done stopped allowed");
}

TEST_CASE("a search leaves the comparison to its caller, and has found nothing until then") {
  StoppedSearch search;
  search.options.compare_later = true;
  auto result = search.run();
  REQUIRE(result.ok());
  CHECK(!search.has("asked"));
  CHECK(!result->found);
  CHECK(result->trace.empty());
  CHECK(result->progress.trials == 3);
  REQUIRE(result->comparison);
  CHECK(result->comparison->best_seconds() > 0);

  SECTION("another thread compares") {
    std::atomic<bool> is_found = false;
    std::thread other([&, comparison = std::move(result->comparison)] {
      auto compared = comparison->finish([] { return false; });
      is_found = compared.ok() && compared->found && compared->verified == "a look" && !compared->trace.empty();
    });
    search.wait_until_asked();
    CHECK(!is_found);
    search.allow();
    other.join();
    CHECK(is_found);
  }
  SECTION("given up, it has found nothing, and nothing wrong") {
    auto compared = result->comparison->finish([&] { return search.has("asked"); });
    REQUIRE(compared.ok());
    CHECK(compared->abandoned);
    CHECK(!compared->found);
    CHECK(compared->notes.empty());
    CHECK(compared->progress.failures.empty());
  }
}

TEST_CASE("a resumed search that is stopped before its first trial has the measurements of the search before") {
  StoppedSearch search;
  search.allow();
  search.options.database = search.folder / "kept.db";
  auto first = search.run();
  REQUIRE(first.ok());
  REQUIRE(first->found);

  StoppedSearch again;
  again.allow();
  again.options.database = search.options.database;
  again.stopped = true;
  SECTION("its best is that one") {
    auto result = again.run();
    REQUIRE(result.ok());
    CHECK(result->found);
    CHECK(result->stopped);
    CHECK(result->trace == first->trace);
    CHECK(result->trace_python == first->trace_python);
    CHECK(result->best_seconds == first->best_seconds);
    CHECK(result->verified == "a look");
    CHECK(result->progress.trials == first->progress.trials);
    CHECK(result->progress.from_database == first->progress.trials);
    CHECK(result->best_so_far.size() == static_cast<size_t>(first->progress.trials));
  }
  SECTION("what was found wrong is not offered") {
    auto database = tune::Database::open(search.options.database);
    REQUIRE(database.ok());
    for (const tune::Record& record : records_of(*database)) {
      if (record.trace == first->trace) { REQUIRE(database->mark_wrong(record.id, "it is not right").ok()); }
    }
    auto result = again.run();
    REQUIRE(result.ok());
    CHECK(result->found);
    CHECK(result->trace != first->trace);
  }
}

TEST_CASE("a search that is stopped after any trial and goes on measures the same candidates, in the same order, as one that never was", "[soak]") {
  constexpr int trials = 40;
  const std::string matmul = tests::product("main", 64, 64, 64);
  auto measured = [](const std::string& path) {
    auto database = tune::Database::open(path);
    REQUIRE(database.ok());
    std::vector<std::pair<std::string, double>> out;
    for (const tune::Record& record : records_of(*database)) { out.emplace_back(record.trace, record.median_seconds); }
    return out;
  };
  StoppedSearch whole(measuring_traces);
  whole.program = matmul;
  whole.options.database = whole.folder / "kept.db";
  whole.options.trials = trials;
  whole.options.on_progress = {};
  auto expected_best = whole.run();
  REQUIRE(expected_best.ok());
  auto expected = measured(whole.options.database);
  REQUIRE(expected.size() > 20);
  for (int cut : tests::size_of_test<std::vector<int>>({7, 16, 30}, {2, 7, 16, 17, 30}, {16})) {
    CAPTURE(cut);
    StoppedSearch search(measuring_traces);
    search.program = matmul;
    search.options.database = search.folder / "kept.db";
    search.options.trials = trials;
    search.options.on_progress = [&](const Progress& progress) {
      if (progress.trials - progress.from_database >= cut) { search.stopped = true; }
    };
    int sessions = 0;
    for (;; ++sessions) {
      REQUIRE(sessions < trials + 2);
      search.stopped = false;
      auto result = search.run();
      REQUIRE(result.ok());
      if (result->stopped) { continue; }
      CHECK(result->trace == expected_best->trace);
      break;
    }
    CHECK(sessions >= 1);
    CHECK(measured(search.options.database) == expected);
  }
}

TEST_CASE("a schedule that is slower than the program as written is not offered") {
  StoppedSearch search(slower_than_written);
  search.options.trials = 3;
  search.options.stop = {};
  auto result = search.run();
  REQUIRE(result.ok());
  CHECK(!result->found);
  CHECK(result->is_unscheduled_best);
  CHECK(tune::why_nothing(*result) == "no schedule is faster than the program as written: 1.000 ms; the best of 3 trials: 2.000 ms");
  // A machine under load may measure nothing in a short time, and then other schedules exist.
  tune::SessionResult late;
  late.progress.search_limit_seconds = 2;
  late.progress.elapsed_seconds = 2.1;
  CHECK(tune::why_nothing(late) == "the time of the search, 2 s, ended before a candidate was measured: give it more");
}
