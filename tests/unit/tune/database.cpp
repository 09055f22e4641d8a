// The tuning database: added records are found again, by this process and the next; bad files are refused.
#include "tune/database/database.h"

#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "support/codes.h"
#include "tests/support/folder.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::tune;

namespace {

struct TempFile {
  tests::TemporaryFolder folder;
  std::string path = folder / "deep/er/tuning.db";
};

const TaskKey task{0xfedcba9876543210ULL, "llvm -num-cores=2", "box"};

auto record(uint64_t candidate, Outcome outcome, double seconds) -> Record {
  Record r;
  r.candidate = candidate;
  r.trace = "[[], []]";
  r.outcome = outcome;
  r.median_seconds = seconds;
  return r;
}

}  // namespace

TEST_CASE("records survive reopening, in order, and the best is the fastest that was measured") {
  TempFile file;
  {
    auto db = Database::open(file.path);
    REQUIRE(db.ok());
    REQUIRE(db->add_workload(task, "matmul", "text").ok());
    REQUIRE(db->add_workload(task, "matmul", "text").ok());
    REQUIRE(db->add(task, record(1, Outcome::Measured, 0.5)).ok());
    REQUIRE(db->add(task, record(0xffffffffffffffffULL, Outcome::Measured, 0.25)).ok());
    REQUIRE(db->add(task, record(3, Outcome::Censored, 0.1)).ok());
    REQUIRE(db->add(task, record(4, Outcome::Crashed, 0)).ok());
  }
  auto db = Database::open(file.path);
  REQUIRE(db.ok());
  auto all = db->records(task);
  REQUIRE(all.ok());
  REQUIRE(all->size() == 4);
  CHECK((*all)[1].candidate == 0xffffffffffffffffULL);
  CHECK((*all)[3].outcome == Outcome::Crashed);
  auto best = db->best(task);
  REQUIRE(best.ok());
  REQUIRE(best->has_value());
  CHECK((*best)->median_seconds == 0.25);
  // A result that was found wrong is no longer the best.
  REQUIRE(db->mark_wrong((*best)->id, "differs").ok());
  CHECK((*db->best(task))->median_seconds == 0.5);
  TaskKey elsewhere = task;
  elsewhere.machine = "other";
  CHECK_FALSE(db->best(elsewhere)->has_value());
  auto workloads = db->workloads();
  REQUIRE(workloads.ok());
  REQUIRE(workloads->size() == 1);
  CHECK(workloads->front().records == 4);
  CHECK(workloads->front().task == task);
}

TEST_CASE("the line of a log stays with its record, also in files of earlier versions, and goes with it") {
  TempFile file;
  {
    auto db = Database::open(file.path);
    REQUIRE(db.ok());
    REQUIRE(db->add_workload(task, "matmul", "text").ok());
    Record one = record(1, Outcome::Measured, 0.5);
    one.line = "{\"input\": []}";
    REQUIRE(db->add(task, one).ok());
    auto other = db->add(task, record(2, Outcome::Measured, 0.25));
    REQUIRE(other.ok());
    REQUIRE(db->records(task)->at(1).line.empty());
    REQUIRE(db->set_line(*other, "first").ok());
    REQUIRE(db->set_line(*other, "second").ok());
  }
  auto db = Database::open(file.path);
  REQUIRE(db.ok());
  REQUIRE(db->records(task)->at(0).line == "{\"input\": []}");
  REQUIRE((*db->best(task))->line == "second");
  REQUIRE((*db->find(task, 1))->line == "{\"input\": []}");
  REQUIRE(db->forget({.beyond = 1}).ok());
  REQUIRE(db->records(task)->size() == 1);
  REQUIRE(db->records(task)->at(0).line == "second");
}

TEST_CASE("times that no call can take are neither added nor read") {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (double wrong : {infinite, -infinite, 1e308, -1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
    CAPTURE(wrong);
    auto memory = Database::open(":memory:");
    REQUIRE(memory.ok());
    REQUIRE(memory->add_workload(task, "matmul", "text").ok());
    CHECK_FALSE(memory->add(task, record(1, Outcome::Measured, wrong)).ok());
    // A damaged file: another number replaces the fastest time.
    constexpr double fastest = 0.123456789;
    TempFile file;
    {
      auto db = Database::open(file.path);
      REQUIRE(db.ok());
      REQUIRE(db->add_workload(task, "matmul", "text").ok());
      REQUIRE(db->add(task, record(1, Outcome::Measured, fastest)).ok());
      REQUIRE(db->add(task, record(2, Outcome::Measured, 0.5)).ok());
    }
    auto bytes_of = [](double number) {
      auto bits = std::bit_cast<uint64_t>(number);
      std::string out;
      for (int shift = 56; shift >= 0; shift -= 8) { out += static_cast<char>(bits >> static_cast<unsigned>(shift)); }
      return out;
    };
    std::string content = (std::ostringstream() << std::ifstream(file.path, std::ios::binary).rdbuf()).str();
    REQUIRE(content.find(bytes_of(fastest)) != std::string::npos);
    // The time is in the record and in an index.
    for (size_t at = 0; (at = content.find(bytes_of(fastest))) != std::string::npos;) { content.replace(at, 8, bytes_of(wrong)); }
    std::ofstream(file.path, std::ios::binary) << content;
    auto recorded = recorded_on_disk(file.path, task.workload, task.machine);
    REQUIRE(recorded.has_value());
    CHECK(recorded->best.median_seconds == 0.5);
    auto db = Database::open(file.path);
    REQUIRE(db.ok());
    CHECK(db->records(task)->size() == 1);
    REQUIRE(db->best(task)->has_value());
    CHECK((*db->best(task))->median_seconds == 0.5);
    CHECK(db->workloads()->front().best_seconds == 0.5);
    CHECK(db->workloads()->front().records == 1);
  }
}

TEST_CASE("a record of an unknown workload is refused, not lost in silence") {
  auto db = Database::open(":memory:");
  REQUIRE(db.ok());
  auto added = db->add(task, record(1, Outcome::Measured, 1));
  REQUIRE_FALSE(added.ok());
  CHECK(added.diagnostics().front().code == Code::DatabaseFailed);
}

TEST_CASE("two programs write to one file") {
  TempFile file;
  auto a = Database::open(file.path);
  auto b = Database::open(file.path);
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  REQUIRE(a->add_workload(task, "m", "t").ok());
  for (int i = 0; i < 50; ++i) {
    REQUIRE(a->add(task, record(static_cast<uint64_t>(2 * i), Outcome::Measured, 1)).ok());
    REQUIRE(b->add(task, record(static_cast<uint64_t>(2 * i + 1), Outcome::Measured, 1)).ok());
  }
  CHECK(a->records(task)->size() == 100);
}

TEST_CASE("a file that is no database is refused and left as it is") {
  TempFile file;
  std::string path = file.folder / "notes.txt";
  std::string text(5000, 'x');
  std::ofstream(path) << text;
  auto db = Database::open(path);
  REQUIRE_FALSE(db.ok());
  CHECK(db.diagnostics().front().code == Code::DatabaseUnreadable);
  std::ifstream in(path);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == text);
}

TEST_CASE("unwanted records are removed, except the best of each program") {
  auto db = Database::open(":memory:");
  REQUIRE(db.ok());
  TaskKey other = task;
  other.workload = 1;
  TaskKey empty = task;
  empty.workload = 2;
  for (const TaskKey& key : {task, other, empty}) { REQUIRE(db->add_workload(key, "m", "t").ok()); }
  for (int i = 0; i < 6; ++i) {
    Record r = record(static_cast<uint64_t>(i), i == 5 ? Outcome::Crashed : Outcome::Measured, i == 5 ? 0 : 6 - i);
    r.unix_time = 100 + i;
    REQUIRE(db->add(task, r).ok());
  }
  REQUIRE(db->add(other, record(7, Outcome::Measured, 1)).ok());
  auto none = db->forget({});
  REQUIRE(none.ok());
  CHECK(none->records == 0);
  CHECK(none->workloads == 1);
  auto some = db->forget({.beyond = 3});
  REQUIRE(some.ok());
  CHECK(some->records == 3);
  CHECK(db->records(task)->front().median_seconds == 4);
  auto old = db->forget({.before = 1000});
  REQUIRE(old.ok());
  CHECK(old->records == 2);
  REQUIRE(db->records(task)->size() == 1);
  CHECK((*db->best(task))->median_seconds == 2);
  CHECK(db->records(other)->size() == 1);
}

TEST_CASE("records that are added together are stored all or none") {
  auto db = Database::open(":memory:");
  REQUIRE(db.ok());
  auto failed = db->at_once([&]() -> Status {
    LOOPSMITH_CHECK(db->add_workload(task, "m", "t"));
    return error(Code::Cancelled);
  });
  CHECK_FALSE(failed.ok());
  CHECK(db->workloads()->empty());
  CHECK(db->at_once([&] { return db->add_workload(task, "m", "t"); }).ok());
  CHECK(db->workloads()->size() == 1);
}

TEST_CASE("reading a database leaves no files, and an unreadable one counts as empty") {
  TempFile file;
  CHECK_FALSE(recorded_on_disk(file.path, task.workload, task.machine));
  {
    auto db = Database::open(file.path);
    REQUIRE(db.ok());
    REQUIRE(db->add_workload(task, "matmul", "text").ok());
    REQUIRE(db->add(task, record(1, Outcome::Measured, 0.5)).ok());
    auto wrong = db->add(task, record(2, Outcome::Measured, 0.125));
    REQUIRE(wrong.ok());
    REQUIRE(db->mark_wrong(*wrong, "other results").ok());
    REQUIRE(db->add(task, record(3, Outcome::Measured, 0.25)).ok());
  }
  auto files = [&] { return std::distance(std::filesystem::directory_iterator(std::filesystem::path(file.path).parent_path()), std::filesystem::directory_iterator()); };
  auto before = files();
  auto found = recorded_on_disk(file.path, task.workload, task.machine);
  REQUIRE(found);
  CHECK(found->best.median_seconds == 0.25);
  CHECK(found->target == task.target);
  CHECK(found->records == 3);
  CHECK_FALSE(recorded_on_disk(file.path, task.workload + 1, task.machine));
  CHECK_FALSE(recorded_on_disk(file.path, task.workload, "another box"));
  {
    // A record whose results were compared comes before a faster one that was not compared.
    auto db = Database::open(file.path);
    REQUIRE(db.ok());
    auto slow = db->records(task);
    REQUIRE(slow.ok());
    REQUIRE(db->mark_verified(slow->front().id, "interpreter").ok());
  }
  found = recorded_on_disk(file.path, task.workload, task.machine);
  REQUIRE(found);
  CHECK(found->best.median_seconds == 0.5);
  CHECK(files() == before);
  std::ofstream(file.path) << "a file of somebody else";
  CHECK_FALSE(recorded_on_disk(file.path, task.workload, task.machine));
  CHECK(files() == before);
  std::string pipe = file.folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_FALSE(recorded_on_disk(pipe, task.workload, task.machine));
}
