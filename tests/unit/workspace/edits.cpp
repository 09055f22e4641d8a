// Schedules as edits of a text: placing, filling, and the comments of found ones.
#include <string>

#include "frontend/file.h"
#include "tests/unit/catch.h"
#include "workspace/edits/certificate.h"
#include "workspace/edits/holes.h"
#include "workspace/edits/placing.h"
#include "workspace/edits/schedule_text.h"
#include "workspace/selection.h"

using namespace loopsmith;
using namespace loopsmith::workspace;

namespace {

const std::string program =
    "@T.prim_func\n"
    "def f(A: T.Buffer((64,), \"float32\")):\n"
    "    for i in range(64):\n"
    "        with T.block(\"A\"):\n"
    "            vi = T.axis.spatial(64, i)\n"
    "            A[vi] = T.float32(0)\n";

}  // namespace

TEST_CASE("a schedule function is assembled with its target and its body, or `pass`") {
  CHECK(schedule_function({.program = "f", .name = "s"}) == "@ls.schedule(f)\ndef s(sch: tir.Schedule) -> None:\n    pass\n");
  CHECK(schedule_function({.program = "f", .name = "s", .target = "llvm", .body = "a = 1\nb = 2\n"}) ==
        "@ls.schedule(f, target=\"llvm\")\ndef s(sch: tir.Schedule) -> None:\n    a = 1\n    b = 2\n");
  CHECK(schedule_function({.program = "f", .name = "s", .body = "    a = 1\n"}, true) == "@ls.schedule(f)\ndef s(sch: tir.Schedule) -> None:\n    a = 1\n");
}

TEST_CASE("functions go behind a declaration or to the end, with two blank lines and the text's line breaks") {
  CHECK(insertion_behind(std::string_view("a\n\nb\n"), 2, "\nc\n").offset == 1);
  CHECK(insertion_behind(std::string_view("a\n\nb\n"), 2, "\nc\n").text == "\n\n\nc");
  CHECK(insertion_behind(std::string_view("a"), 1, "c").text == "\n\n\nc\n");
  CHECK(with_edits("a\n\n\n", {placed_at_end("a\n\n\n", "c\n")}) == "a\n\n\nc\n");
  CHECK(with_edits("a\r\n", {placed_at_end("a\r\n", "c\nd\n")}) == "a\r\n\r\n\r\nc\r\nd\r\n");
  auto document = analyse("a.tir", program + "\n\nx = 1\n");
  auto insertion = insertion_after(*document->snapshot(), "f", "def s(sch):\n    pass\n");
  REQUIRE(insertion.has_value());
  CHECK(insertion->offset == program.size() - 1);
  CHECK_FALSE(insertion_after(*document->snapshot(), "g", "def s(sch): pass").has_value());
  // After the file's schedules for the program, because the last one counts.
  std::string own = "\n\n@ls.schedule(f)\ndef own(sch: tir.Schedule):\n    sch.get_block(\"A\")\n";
  auto scheduled = analyse("a.tir", program + own + "\n\nx = 1\n");
  auto behind = insertion_after(*scheduled->snapshot(), "f", "@ls.schedule(f)\ndef found(sch: tir.Schedule):\n    pass\n");
  REQUIRE(behind.has_value());
  CHECK(behind->offset == program.size() + own.size() - 1);
  std::string both = scheduled->snapshot()->text();
  both.insert(behind->offset, behind->text);
  auto after = analyse("a.tir", both);
  auto considered = schedules_for_build(*after->snapshot(), "f");
  REQUIRE(considered.size() == 2);
  CHECK(considered.back()->name.view() == "found");
  CHECK(counts_for_build(*after->snapshot(), *considered.back()));
  CHECK_FALSE(counts_for_build(*after->snapshot(), *considered.front()));
}

TEST_CASE("a Python file gets a function that makes its schedule, and the import that it needs") {
  std::string function = schedule_function({.program = "f", .name = "s", .body = "sch.get_block(\"A\")\n"});
  auto document = analyse("a.py", "from tvm.script import tir as T\n\n\n" + program);
  ScheduleInFile written = in_form_of(*document->snapshot(), function);
  CHECK(written.text.starts_with("def s() -> tir.Schedule:\n    sch = tir.Schedule(f)\n"));
  REQUIRE(written.imports.has_value());
  std::string text = with_edits(document->snapshot()->text(), appended(document->snapshot()->text(), written.text, true));
  CHECK(text.find("from tvm import tir\n") != std::string::npos);
  CHECK(text.ends_with("    return sch\n"));
  CHECK(in_form_of(*analyse("a.tir", program)->snapshot(), function).text == function);
}

TEST_CASE("a name is free when the text uses it nowhere") {
  CHECK(free_name("x = 1\n", "f_tuned") == "f_tuned");
  CHECK(free_name("def f_tuned(): pass\n", "f_tuned") == "f_tuned_2");
  CHECK(free_name("f_tuned, f_tuned_2", "f_tuned") == "f_tuned_3");
  CHECK(names_in("größe = sch.split(i)  \"text\"") == std::set<std::string>{"größe", "i", "sch", "split"});
}

TEST_CASE("a hole is filled behind its indentation, and only while it stands there") {
  std::string text = program + "\n\n@ls.schedule(f)\ndef s(sch: tir.Schedule) -> None:\n    sch.tune(budget=\"90s\")\n";
  auto document = analyse("a.tir", text);
  auto hole = hole_of(*document->snapshot(), document->snapshot()->schedules()[0]);
  REQUIRE(hole.has_value());
  CHECK(hole->seconds == 90);
  CHECK(hole->variable == "sch");
  CHECK(hole->program == "f");
  auto edit = fill_hole(text, *hole, "a = 1\nb = 2");
  REQUIRE(edit.has_value());
  CHECK(with_edits(text, {*edit}).ends_with("-> None:\n    a = 1\n    b = 2\n"));
  CHECK_FALSE(fill_hole("# another text\n" + text, *hole, "a = 1").has_value());
  CHECK_FALSE(fill_hole("short", *hole, "a = 1").has_value());
}

TEST_CASE("a trace becomes a function with readable names, and a certificate that its text can be checked with") {
  auto document = analyse("a.tir", program);
  const IRModule& module = document->snapshot()->programs()[0].module;
  const std::string trace = "[[[\"GetBlock\", [], [\"A\", \"main\"], [\"b0\"]], [\"GetLoops\", [\"b0\"], [], [\"l1\"]], [\"Parallel\", [\"l1\"], [], []]], []]";
  auto text = schedule_function_text(module, trace, {.program = "f", .name = "s", .target = {}, .comments = {"Tuned: fast."}, .taken = {}});
  REQUIRE(text.ok());
  CHECK(*text == "@ls.schedule(f)\ndef s(sch: tir.Schedule) -> None:\n    # Tuned: fast.\n    A = sch.get_block(name=\"A\")\n    i, = sch.get_loops(A)\n    sch.parallel(i)\n");
  auto certificate = certificate_of(module, "main", trace);
  REQUIRE(certificate.has_value());
  auto read = certificate_in("    # " + certificate_text(certificate, {"llvm", 1e-3, 1e-6, 24, 0}) + "\n");
  REQUIRE(read.has_value());
  CHECK(read->program == certificate->program);
  CHECK(read->scheduled == certificate->scheduled);
  CHECK_FALSE(certificate_in("# Program of another kind").has_value());
}
