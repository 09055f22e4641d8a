// Tiers of findings, comments that silence findings, and selection by name.
#include "workspace/snapshot.h"

#include <string>

#include "support/codes.h"
#include "tests/unit/catch.h"
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

const std::string scheduled =
    "\n\n@ls.schedule(f)\n"
    "def s(sch: tir.Schedule) -> None:\n"
    "    (i,) = sch.get_loops(\"A\")\n"
    "    sch.unroll(i)\n"
    "    sch.unroll(i)  # ls: ignore[step-changes-nothing]\n"
    "    sch.unroll(i)\n"
    "    print(1)\n";

auto codes_of(const Snapshot& snapshot) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const Finding& finding : snapshot.findings()) { out.emplace_back(code_id(finding.code)); }
  return out;
}

}  // namespace

TEST_CASE("evaluate finds programs and schedules, check adds analyses, replay adds the runs of schedules") {
  Document document("a.tir", 1, "@T.prim_func\ndef g(A: T.Buffer((16,), 'float32')):\n    for i in range(16):\n        A[i + 1] = T.float32(0)\n\n\n" + program + scheduled);
  document.evaluate();
  CHECK(codes_of(*document.snapshot()).empty());
  CHECK(schedule_names(*document.snapshot()) == std::vector<std::string>{"s"});
  CHECK(top_programs(*document.snapshot()).size() == 2);
  CHECK_FALSE(document.snapshot()->is_checked());
  document.check();
  CHECK(codes_of(*document.snapshot()) == std::vector<std::string>{"access-out-of-bounds"});
  CHECK(document.replay({}));
  CHECK(codes_of(*document.snapshot()) == std::vector<std::string>{"access-out-of-bounds", "step-changes-nothing"});
  CHECK(document.snapshot()->is_replayed());
}

TEST_CASE("a finding that a comment silences stays silent while a later statement is edited") {
  auto document = analyse("a.tir", program + scheduled);
  CHECK(codes_of(*document->snapshot()) == std::vector<std::string>{"step-changes-nothing"});
  // The steps before the edit come from the earlier run, with their origins of that time.
  auto at = static_cast<uint32_t>(document->snapshot()->text().rfind("1"));
  document->edit(2, {at, at + 1}, "2");
  document->check();
  CHECK(document->replay({}));
  CHECK(codes_of(*document->snapshot()) == std::vector<std::string>{"step-changes-nothing"});
}

TEST_CASE("diagnostics and findings are the same, without those that comments silence, and so are the diagnostics of a run") {
  auto document = analyse("a.tir", program + scheduled);
  Diagnostics diagnostics = document->snapshot()->diagnostics();
  REQUIRE(diagnostics.size() == 1);
  CHECK(diagnostics[0].code == Code::StepChangesNothing);
  auto run = document->run_schedule("s");
  REQUIRE(run.ok());
  CHECK(run->all_diagnostics().size() == 1);
}

TEST_CASE("a schedule runs up to a line; an unknown name is answered with the names that exist") {
  Document document("a.tir", 1, program + scheduled);
  document.evaluate();
  auto run = document.run_schedule("s", {}, 11);
  REQUIRE(run.ok());
  CHECK(run->steps[0].after != nullptr);
  CHECK(run->steps.back().after == nullptr);
  auto unknown = document.run_schedule("t");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.diagnostics()[0].code == Code::NoSuchSchedule);
  CHECK(unknown.diagnostics()[0].remedies == std::vector<std::string>{"did you mean `s`?"});
}

TEST_CASE("select gives the program as written, after a schedule, and in front of a hole") {
  Document document("a.tir", 1, program + scheduled + "\n\n@ls.schedule(f)\ndef h(sch: tir.Schedule) -> None:\n    (i,) = sch.get_loops(\"A\")\n    sch.tune(trials=4)\n    sch.vectorize(i)\n");
  document.evaluate();
  SelectionOutput output;
  auto written = select(document, {.function = "f"}, output);
  REQUIRE(std::holds_alternative<Selection>(written));
  CHECK(std::get<Selection>(written).module.same_as(std::get<Selection>(written).before));
  CHECK(std::get<Selection>(written).is_bare);
  auto scheduled = select(document, {.schedule = "s"}, output);
  REQUIRE(std::holds_alternative<Selection>(scheduled));
  CHECK_FALSE(std::get<Selection>(scheduled).module.same_as(std::get<Selection>(scheduled).before));
  CHECK(output.printed == "1\n");
  auto holed = select(document, {.schedule = "h", .stops_at_hole = true}, output);
  REQUIRE(std::holds_alternative<Selection>(holed));
  REQUIRE(std::get<Selection>(holed).hole.has_value());
  CHECK(std::get<Selection>(holed).hole->trials == 4);
  CHECK(std::get<Selection>(holed).module.same_as(std::get<Selection>(holed).before));
  auto contradiction = select(document, {.function = "g", .schedule = "s"}, output);
  REQUIRE(std::holds_alternative<NotSelected>(contradiction));
  CHECK(std::get<NotSelected>(contradiction).is_contradiction);
}
