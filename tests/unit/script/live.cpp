// What an edit of a file runs again: of a schedule what follows the edit, and nothing for what stands elsewhere.
#include <atomic>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "frontend/file.h"
#include "ir/printer.h"
#include "script/schedules.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

constexpr std::string_view program = R"(@T.prim_func
def scale(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


)";

// A schedule of 60 lines, a primitive on each.
auto schedule_text() -> std::string {
  std::string out = "@ls.schedule(scale)\ndef s(sch: tir.Schedule):\n    i, j = sch.get_loops(\"B\")\n";
  for (int line = 2; line <= 60; ++line) { out += fmt::format("    sch.annotate(i, \"key_{}\", 1)\n", line); }
  return out;
}

struct Session {
  explicit Session(const std::string& text) : document(text), file(script::predeclared) { run(); }
  void run() {
    file.update(document);
    schedules.update(file);
    REQUIRE(schedules.run_all(file, {}));
    REQUIRE(schedules.all().size() == 1);
    REQUIRE(schedules.all()[0].run);
    REQUIRE(schedules.all()[0].run->all_diagnostics().empty());
  }
  void replace(std::string_view from, std::string_view to) {
    size_t at = document.text().find(from);
    REQUIRE(at != std::string::npos);
    document.edit(Span{static_cast<uint32_t>(at), static_cast<uint32_t>(at + from.size())}, std::string(to));
    run();
  }
  auto text() -> std::string { return print_script(schedules.all()[0].run->result->module()); }
  syntax::Document document;
  frontend::File file;
  script::Schedules schedules;
};

}  // namespace

TEST_CASE("an edit on line 40 of 60 runs what follows it", "[live]") {
  Session session(std::string(program) + schedule_text());
  CHECK(session.schedules.executed() == 60);

  session.replace("\"key_40\", 1", "\"key_40\", 7");
  CHECK(session.schedules.executed() == 21);
  CHECK(session.text().find("\"key_40\": 7") != std::string::npos);
  Session fresh(std::string(session.document.text()));
  CHECK(session.text() == fresh.text());

  // The last line alone.
  session.replace("\"key_60\", 1", "\"key_60\", 2");
  CHECK(session.schedules.executed() == 1);
}

TEST_CASE("a schedule at the top of the file is run from the first statement that changed", "[live]") {
  std::string text = "from tvm import tir\nN = 1\n\n\n" + std::string(program) + "sch = tir.Schedule(scale)\ni, j = sch.get_loops(\"B\")\n";
  for (int line = 2; line <= 30; ++line) { text += fmt::format("sch.annotate(i, \"key_{}\", N)\n", line); }
  Session session(text);
  CHECK(session.schedules.all()[0].name.view() == "sch");
  CHECK(session.schedules.executed() == 30);
  session.replace("\"key_20\", N", "\"key_20\", 7");
  CHECK(session.schedules.executed() == 11);
  // More of it, behind its end; then a blank line and a comment above it.
  session.replace("\"key_30\", N)\n", "\"key_30\", N)\n\n# Last.\nsch.parallel(i)\n");
  // The statement that was the last may go on, as far as its text tells.
  CHECK(session.schedules.executed() == 2);
  session.replace("sch = tir", "# A schedule.\n\nsch = tir");
  CHECK(session.schedules.executed() == 0);
  // What it uses from above.
  session.replace("N = 1", "N = 2");
  CHECK(session.schedules.executed() == 31);
  Session fresh(std::string(session.document.text()));
  CHECK(session.text() == fresh.text());
}

TEST_CASE("a schedule beside one of the same name and text keeps its own places", "[live]") {
  const std::string fast = "def fast(sch: tir.Schedule):\n    i, j = sch.get_loops(\"B\")\n    sch.parallel(i)\n\n\n";
  syntax::Document document(std::string(program) + fast);
  frontend::File file(script::predeclared);
  script::Schedules schedules;
  auto update = [&] {
    file.update(document);
    schedules.update(file);
    REQUIRE(schedules.run_all(file, {}));
  };
  update();
  document.edit(Span{static_cast<uint32_t>(program.size()), static_cast<uint32_t>(program.size())}, fast);
  update();
  REQUIRE(schedules.all().size() == 2);
  for (const script::FileSchedule& schedule : schedules.all()) {
    REQUIRE(schedule.run);
    CHECK(schedule.run->steps[0].where.decl == schedule.decl);
  }
}

TEST_CASE("an edit above a schedule, or of what it does not use, runs nothing", "[live]") {
  Session session(std::string(program) + schedule_text());
  session.replace("@T.prim_func", "# a comment\n\n@T.prim_func");
  CHECK(session.schedules.executed() == 0);
  session.replace("# a comment", "@T.prim_func\ndef other(C: T.Buffer((4,), \"float32\")):\n    for i in range(4):\n        C[i] = T.float32(0)\n\n");
  CHECK(session.schedules.executed() == 0);
  session.replace("C[i] = T.float32(0)", "C[i] = T.float32(1)");
  CHECK(session.schedules.executed() == 0);

  // Its own program: all of it.
  session.replace("T.float32(2)", "T.float32(3)");
  CHECK(session.schedules.executed() == 60);
  CHECK(session.text().find("T.float32(3.0)") != std::string::npos);
}

TEST_CASE("a run that is cut short leaves the last one shown, and goes on where it stopped", "[live]") {
  Session session(std::string(program) + schedule_text());
  auto before = session.schedules.all()[0].run;
  size_t at = session.document.text().find("\"key_2\", 1");
  session.document.edit(Span{static_cast<uint32_t>(at), static_cast<uint32_t>(at + 10)}, "\"key_2\", 3");
  session.file.update(session.document);
  session.schedules.update(session.file);
  // Cancelled as soon as the run has asked ten times; where it was through by then, once more with another value.
  uint64_t executed = 0;
  for (int value = 4; executed == 0; ++value) {
    REQUIRE(value < 1000);
    CancelSource source;
    std::atomic<bool> is_over = false;
    uint64_t polls = CancelToken::polls();
    std::thread canceller([&] {
      while (!is_over && CancelToken::polls() < polls + 10) {}
      source.cancel();
    });
    bool finished = session.schedules.run_all(session.file, source.token());
    is_over = true;
    canceller.join();
    if (!finished && session.schedules.executed() < 59) {
      executed = session.schedules.executed();
      break;
    }
    if (!finished) { session.run(); }
    before = session.schedules.all()[0].run;
    session.document.edit(Span{static_cast<uint32_t>(at), static_cast<uint32_t>(session.document.text().find(')', at))}, fmt::format("\"key_2\", {}", value));
    session.file.update(session.document);
    session.schedules.update(session.file);
  }
  CHECK(session.schedules.all()[0].run == before);
  session.run();
  CHECK(session.schedules.executed() == 59 - executed);
  Session fresh(std::string(session.document.text()));
  CHECK(session.text() == fresh.text());
}

TEST_CASE("what is written behind a return does not run", "[live]") {
  Session session(std::string(program) + "@ls.schedule(scale)\ndef s(sch: tir.Schedule):\n    i, j = sch.get_loops(\"B\")\n    return\n");
  session.replace("return\n", "return\n    sch.parallel(i)\n");
  CHECK(session.text().find("T.parallel") == std::string::npos);
}

TEST_CASE("a schedule with a program in its own body follows the one outside that it schedules", "[live]") {
  const std::string inner = "    @T.prim_func\n    def other(A: T.Buffer((4,), \"float32\")):\n        A[0] = T.float32(1)\n\n";
  Session session("from tvm import tir\n\n\n" + std::string(program) + "def test_outside():\n" + inner + "    sch = tir.Schedule(scale)\n    i, j = sch.get_loops(\"B\")\n    sch.parallel(i)\n");
  session.replace("T.float32(2)", "T.float32(3)");
  CHECK(session.text().find("T.float32(3.0)") != std::string::npos);
  Session fresh(std::string(session.document.text()));
  CHECK(session.text() == fresh.text());
}
