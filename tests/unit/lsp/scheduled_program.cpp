// The programs that schedules make, inserted behind them: parsed, they are the scheduled module, and the existing text is unchanged.
#include "lsp/features/scheduled_program.h"

#include <algorithm>

#include "ir/equal.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

const Name global_symbol("global_symbol");

using tests::source_text;

auto plain(const PrimFunc& function) -> PrimFunc {
  PrimFuncNode fields = *function;
  fields.attrs = without_attr(function->attrs, global_symbol);
  return make_func(std::move(fields));
}

/// Checks `apply_schedule` for every schedule of the text that runs to its end, and returns the number of these schedules.
auto check_all(const std::string& name, const std::string& text) -> int {
  auto document = workspace::analyse(name, text);
  workspace::SnapshotPtr snapshot = document->snapshot();
  int count = 0;
  for (const script::FileSchedule& schedule : snapshot->schedules()) {
    if (schedule.run == nullptr || !schedule.run->is_complete || schedule.run->result == nullptr) { continue; }
    INFO(name << ": " << schedule.name.view());
    TextRewrite rewrite = apply_schedule(*snapshot, schedule);
    CHECK(rewrite.why_not == "");
    REQUIRE(rewrite.edits.size() == 1);
    // One insertion: the existing text stays.
    CHECK(rewrite.edits.front().span.begin == rewrite.edits.front().span.end);
    std::string after = with_edits(text, rewrite.edits);
    auto read = workspace::analyse(name, after);
    workspace::SnapshotPtr there = read->snapshot();
    CHECK(there->programs().size() == snapshot->programs().size() + 1);
    CHECK(there->schedules().size() == snapshot->schedules().size());
    const IRModule& made = schedule.run->result->module();
    bool is_there = std::any_of(there->programs().begin(), there->programs().end(), [&](const workspace::Program& program) {
      if (!program.module || program.module->functions.size() != made->functions.size()) { return false; }
      return made->functions.size() == 1 ? structural_equal(plain(program.module->functions.begin()->second), plain(made->functions.begin()->second))
                                         : structural_equal(program.module, made);
    });
    CHECK(is_there);
    CHECK(what_breaks(*snapshot, rewrite.edits, {}) == "");
    // Applied again, the program gets another name.
    const auto& again = there->schedules();
    auto same = std::find_if(again.begin(), again.end(), [&](const script::FileSchedule& one) { return one.name == schedule.name; });
    REQUIRE(same != again.end());
    TextRewrite second = apply_schedule(*there, *same);
    CHECK(second.why_not == "");
    CHECK(second.edits.size() == 1);
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("the written program of a schedule reads back as the program that the schedule made") {
  int count = 0;
  for (const char* path : {"examples/matmul.tir", "examples/conv2d_bias_relu.tir", "tests/golden/lsp/matmul.tir", "tests/golden/lsp/two.tir", "tests/golden/lsp/helpers.tir",
                           "tests/golden/lsp/chain.tir", "tests/golden/lsp/unnamed.tir"}) {
    count += check_all("file:///a.tir", source_text(path));
  }
  for (const char* path : {"tests/golden/lsp/python.py", "tests/golden/lsp/top_level.py"}) { count += check_all("file:///a.py", source_text(path)); }
  CHECK(count >= 9);
}

TEST_CASE("several functions go into a class, a text with other line breaks keeps its own") {
  std::string text =
      "@I.ir_module\n"
      "class Two:\n"
      "    @T.prim_func\n"
      "    def first(A: T.Buffer((64,), \"float32\")):\n"
      "        for i in range(64):\n"
      "            with T.block(\"A\"):\n"
      "                vi = T.axis.spatial(64, i)\n"
      "                A[vi] = T.float32(1)\n"
      "\n"
      "    @T.prim_func\n"
      "    def second(A: T.Buffer((64,), \"float32\")):\n"
      "        for i in range(64):\n"
      "            with T.block(\"B\"):\n"
      "                vi = T.axis.spatial(64, i)\n"
      "                A[vi] = T.float32(2)\n"
      "\n\n"
      "@ls.schedule(Two)\n"
      "def fast(sch: tir.Schedule) -> None:\n"
      "    sch.work_on(\"second\")\n"
      "    (i,) = sch.get_loops(\"B\")\n"
      "    sch.vectorize(i)\n";
  CHECK(check_all("file:///a.tir", text) == 1);
  std::string other = source_text("tests/golden/lsp/two.tir");
  std::string windows;
  for (char c : other) { windows += c == '\n' ? "\r\n" : std::string(1, c); }
  auto document = workspace::analyse("file:///a.tir", windows);
  TextRewrite rewrite = apply_schedule(*document->snapshot(), document->snapshot()->schedules().front());
  REQUIRE(rewrite.edits.size() == 1);
  const std::string& inserted = rewrite.edits.front().text;
  for (size_t at = inserted.find('\n'); at != std::string::npos; at = inserted.find('\n', at + 1)) { CHECK(inserted[at - 1] == '\r'); }
}

TEST_CASE("a schedule that stops is not applied, nor where the text would be read otherwise") {
  auto document = workspace::analyse("file:///a.tir", source_text("tests/golden/lsp/schedule_error.tir"));
  TextRewrite rewrite = apply_schedule(*document->snapshot(), document->snapshot()->schedules().front());
  CHECK(rewrite.edits.empty());
  CHECK(rewrite.why_not == "`s` does not run to its end");

  std::string renamed =
      "from tvm import tir\n"
      "from tvm.script import tir as script\n"
      "\n\n"
      "@script.prim_func\n"
      "def one(A: script.Buffer((64,), \"float32\")):\n"
      "    for i in range(64):\n"
      "        with script.block(\"A\"):\n"
      "            vi = script.axis.spatial(64, i)\n"
      "            A[vi] = script.float32(1)\n"
      "\n\n"
      "@ls.schedule(one)\n"
      "def fast(sch: tir.Schedule) -> None:\n"
      "    (i,) = sch.get_loops(\"A\")\n"
      "    sch.vectorize(i)\n";
  auto python = workspace::analyse("file:///a.py", renamed);
  REQUIRE(python->snapshot()->schedules().size() == 1);
  TextRewrite other = apply_schedule(*python->snapshot(), python->snapshot()->schedules().front());
  CHECK(other.edits.empty());
  CHECK(other.why_not.find("does not import them so") != std::string::npos);
}
