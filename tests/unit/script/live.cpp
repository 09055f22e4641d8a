// Statements that run again after an edit: those of a schedule after the edit, and none for an edit elsewhere in the file.
#include <atomic>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "frontend/file.h"
#include "ir/printer.h"
#include "script/schedules.h"
#include "syntax/document.h"
#include "tests/support/effort.h"
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

TEST_CASE("a schedule of a file has a state at any time", "[live]") {
  using State = script::ScheduleState;
  syntax::Document document(std::string(program) + schedule_text());
  frontend::File file(script::predeclared);
  script::Schedules schedules;
  auto update = [&] {
    file.update(document);
    schedules.update(file);
    REQUIRE(schedules.all().size() == 1);
  };
  auto state = [&] { return schedules.all()[0].state; };
  update();
  CHECK(state() == State::Waiting);
  schedules.run_one(file, schedules.all()[0], {}, 1);
  CHECK(state() == State::Limited);
  update();
  CHECK(state() == State::Waiting);
  CancelSource source;
  source.cancel();
  schedules.run_one(file, schedules.all()[0], source.token());
  CHECK(state() == State::Interrupted);
  CHECK(schedules.all()[0].newest_run() == schedules.all()[0].interrupted.get());
  update();
  CHECK(state() == State::Interrupted);
  REQUIRE(schedules.run_all(file, {}));
  CHECK(state() == State::Settled);
  update();
  CHECK(state() == State::Settled);
  auto at = static_cast<uint32_t>(document.text().find("key_40"));
  document.edit(Span{at, at + 6}, "other");
  update();
  CHECK(state() == State::Waiting);
}

TEST_CASE("an edit on line 40 of 60 runs the statements behind it", "[live]") {
  Session session(std::string(program) + schedule_text());
  CHECK(session.schedules.executed() == 60);

  session.replace("\"key_40\", 1", "\"key_40\", 7");
  CHECK(session.schedules.executed() == 21);
  CHECK(session.text().find("\"key_40\": 7") != std::string::npos);
  Session fresh(std::string(session.document.text()));
  CHECK(session.text() == fresh.text());

  // Edit only the last line.
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
  // Append statements; then insert a blank line and a comment above.
  session.replace("\"key_30\", N)\n", "\"key_30\", N)\n\n# Last.\nsch.parallel(i)\n");
  // The former last statement runs again, because its text may have continued.
  CHECK(session.schedules.executed() == 2);
  session.replace("sch = tir", "# A schedule.\n\nsch = tir");
  CHECK(session.schedules.executed() == 0);
  // An edit of a constant that the schedule uses runs the whole schedule again.
  session.replace("N = 1", "N = 2");
  CHECK(session.schedules.executed() == 31);
  Session fresh(std::string(session.document.text()));
  CHECK(session.text() == fresh.text());
}

TEST_CASE("schedules of modules that other code made, in the main part of a file: after any edit they are those of the text", "[live]") {
  std::string text = "from tvm import tir\nfrom tvm.target import Target\nN = 4\n\n\n" + std::string(program) + R"(if __name__ == "__main__":
    sch = tir.Schedule(scale)
    i, j = sch.get_loops("B")
    i0, i1 = sch.split(i, factors=[None, N])
    with Target("llvm"):
        sch.vectorize(j)
    again = tir.Schedule(sch.mod)
    i0, i1, j = again.get_loops("B")
    again.reorder(i1, i0)
    third = tir.Schedule(again.mod["main"])
    third.parallel(third.get_loops("B")[0])
    sch.annotate(i0, "late", 1)
)";
  syntax::Document document(text);
  frontend::File file(script::predeclared);
  script::Schedules schedules;
  auto run = [](frontend::File& of, const syntax::Document& from, script::Schedules& all) {
    of.update(from);
    all.update(of);
    REQUIRE(all.run_all(of, {}));
  };
  auto described = [](const script::Schedules& all) {
    std::string out;
    for (const script::FileSchedule& one : all.all()) {
      out += one.name.str() + " of " + (one.program ? print_script(one.program) : "nothing");
      if (!one.run) { continue; }
      for (const script::Step& step : one.run->steps) {
        out += fmt::format("{} {} {}\n", static_cast<int>(step.state), step.diagnostics.size(), step.after ? print_script(step.after->module()) : "-");
      }
    }
    return out;
  };
  run(file, document, schedules);
  REQUIRE(schedules.all().size() == 3);
  CHECK(schedules.executed() == 4 + 2 + 2);
  auto find = [&](const char* name) { return schedules.find(Name(name)); };
  CHECK(print_script(find("sch.3")->run->result->module()).find("for i_1 in T.parallel(4)") != std::string::npos);
  CHECK(print_script(find("sch.2")->program).find("for i_0, i_1 in T.grid(16, 4)") != std::string::npos);
  CHECK(find("sch.2")->first_program.same_as(find("sch")->program));
  // For edits elsewhere nothing runs again, and the old results stay.
  auto edit = [&](std::string_view from, std::string_view to, size_t skip = 0) {
    size_t at = 0;
    for (size_t i = 0; i <= skip; ++i) { at = document.text().find(from, at + (i > 0 ? 1 : 0)); }
    if (at == std::string::npos) { return false; }
    document.edit(Span{static_cast<uint32_t>(at), static_cast<uint32_t>(at + from.size())}, std::string(to));
    run(file, document, schedules);
    return true;
  };
  REQUIRE(edit("from tvm import tir\n", "\nfrom tvm import tir\n"));
  CHECK(schedules.executed() == 0);
  CHECK(find("sch.2")->is_settled());
  uint32_t random = 5;
  auto any = [&](uint32_t count) { return (random = random * 1664525 + 1013904223) / 65536 % count; };
  const std::pair<const char*, const char*> swaps[] = {{"N = 4", "N = 8"}, {"[None, N]", "[None, 2]"}, {"reorder(i1, i0)", "reorder(i0, i1)"}, {"vectorize(j)", "unroll(j)"}, {"(sch.mod)", "(scale)"},
                                                       {"(again.mod[\"main\"])", "(sch.mod)"}, {"parallel(", "nothing("}, {"[None, 2]", "[None, 3, 5]"}, {"float32(2)", "float32(3)"}, {"get_loops(\"B\")[0]", "get_loops(\"B\")[9]"},
                                                       {"\"__main__\":", "\"__other__\":"}, {"\"late\", 1", "\"late\", 2"}};
  size_t changed = 0;
  for (size_t round = 0; round < 300 / tests::stride(6); ++round) {
    const auto& [one, other] = swaps[any(std::size(swaps))];
    if (!(any(2) == 0 ? edit(one, other) : edit(other, one))) { continue; }
    ++changed;
    syntax::Document from(std::string(document.text()));
    frontend::File fresh(script::predeclared);
    script::Schedules all;
    run(fresh, from, all);
    INFO(document.text());
    REQUIRE(described(schedules) == described(all));
  }
  CHECK(changed > 50 / tests::stride(6));
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

TEST_CASE("an edit above a schedule, or of text that it does not use, runs nothing", "[live]") {
  Session session(std::string(program) + schedule_text());
  session.replace("@T.prim_func", "# a comment\n\n@T.prim_func");
  CHECK(session.schedules.executed() == 0);
  session.replace("# a comment", "@T.prim_func\ndef other(C: T.Buffer((4,), \"float32\")):\n    for i in range(4):\n        C[i] = T.float32(0)\n\n");
  CHECK(session.schedules.executed() == 0);
  session.replace("C[i] = T.float32(0)", "C[i] = T.float32(1)");
  CHECK(session.schedules.executed() == 0);

  // An edit of its program: every statement runs again.
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
  // Cancelled after ten checks for cancellation; if the run was already complete, repeat with another value.
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

TEST_CASE("statements behind a return do not run", "[live]") {
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

TEST_CASE("a long function with many variables keeps some of its frames, and goes on from the nearest", "[live]") {
  constexpr int lines = 2000;
  std::string text = std::string(program) + "@ls.schedule(scale)\ndef s(sch: tir.Schedule):\n    all = []\n";
  for (int line = 0; line < lines; ++line) { text += fmt::format("    x{0} = sch.get_loops(\"B\")\n    all.append(len(x{0}))\n", line); }
  Session session(text);
  // The run that an edit replaces is freed.
  const auto kept = session.schedules.all()[0].run;
  const script::ScheduleRun& run = *kept;
  REQUIRE(run.frames.size() == 2 * lines + 2);
  CHECK(run.frame_gap > 1);
  CHECK(run.frame_values <= 1'000'000);
  // A frame that is not stored is computed from the one before it.
  size_t step = run.frame_gap * 3 + 1;
  CHECK_FALSE(run.frames[step].scope);
  auto frame = script::frame_before(run, step);
  REQUIRE(frame);
  const eval::Value* all = frame->scope->find(Name("all"));
  REQUIRE(all != nullptr);
  REQUIRE(all->items() != nullptr);
  CHECK(all->items()->size() == (step - 1) / 2);
  // An edit at the end runs the steps after the last stored frame.
  session.replace("all.append(len(x1999))", "all.append(len(x1999) + 1)");
  CHECK(session.schedules.all()[0].run->first_step > 2 * lines - 2 * run.frame_gap);
  CHECK(session.schedules.all()[0].run->first_step % session.schedules.all()[0].run->frame_gap == 0);
}
