// What an edit of a file runs again: of a schedule what follows the edit, and nothing for what stands elsewhere.
#include <string>

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
