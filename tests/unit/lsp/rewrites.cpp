// Rewrites are applied, and their promises are checked on the new text.
#include "lsp/features/rewrites.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "ir/dialects.h"
#include "ir/equal.h"
#include "lsp/features/comment_folds.h"
#include "lsp/features/links.h"
#include "lsp/features/symbol_search.h"
#include "tests/support/effort.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

using tests::source_text;

auto applied(const std::string& text, const std::vector<TextEdit>& edits) -> std::string {
  std::string out;
  uint32_t at = 0;
  for (const TextEdit& edit : edits) {
    REQUIRE(edit.span.begin >= at);
    REQUIRE(edit.span.end <= text.size());
    out += text.substr(at, edit.span.begin - at) + edit.text;
    at = edit.span.end;
  }
  return out + text.substr(at);
}

auto errors_of(const workspace::Snapshot& snapshot) -> size_t {
  auto findings = snapshot.findings();
  return static_cast<size_t>(std::count_if(findings.begin(), findings.end(), [](const auto& f) { return f.severity == Severity::Error; }));
}

/// The program that the last schedule of a text makes; none: the schedule stops.
auto result_of(const std::string& text) -> IRModule {
  auto document = workspace::analyse("file:///a.tir", text);
  const auto& schedules = document->snapshot()->schedules();
  if (schedules.empty() || schedules.back().run == nullptr || !schedules.back().run->is_complete || errors_of(*document->snapshot()) > 0) { return {}; }
  return schedules.back().run->result->module();
}

}  // namespace

TEST_CASE("steps that are extracted, whichever, make the same program") {
  for (const char* path : {"examples/matmul.tir", "examples/conv2d_bias_relu.tir", "tests/golden/lsp/helpers.tir"}) {
    std::string text = source_text(path);
    IRModule before = result_of(text);
    REQUIRE(before);
    auto document = workspace::analyse("file:///a.tir", text);
    workspace::SnapshotPtr snapshot = document->snapshot();
    const script::ScheduleRun& run = *snapshot->schedules().back().run;
    size_t done = 0;
    for (size_t first = 0; first < run.steps.size(); ++first) {
      for (size_t last = first; last < run.steps.size(); last += tests::stride(5)) {
        Span selection{snapshot->resolve(run.steps[first].where)->begin, snapshot->resolve(run.steps[last].where)->end};
        TextRewrite rewrite = extract_steps(*snapshot, selection);
        REQUIRE(rewrite.edits.size() == 2);
        std::string after = applied(text, rewrite.edits);
        INFO(after);
        IRModule now = result_of(after);
        REQUIRE(now);
        REQUIRE(structural_equal(before, now));
        ++done;
      }
    }
    CHECK(done > 10 / tests::stride(5));
    CHECK(extract_steps(*snapshot, {0, 10}).edits.empty());
  }
}

TEST_CASE("steps at the top of a file that are extracted, whichever, make the same program") {
  auto result_in_python = [](const std::string& source) -> IRModule {
    auto document = workspace::analyse("file:///a.py", source);
    const auto& schedules = document->snapshot()->schedules();
    if (schedules.empty() || schedules.back().run == nullptr || !schedules.back().run->is_complete || errors_of(*document->snapshot()) > 0) { return {}; }
    return schedules.back().run->result->module();
  };
  // The same statements in the main part of the file.
  bool is_main = GENERATE(false, true);
  std::string text = source_text("tests/golden/lsp/top_level.py");
  if (is_main) {
    size_t begin = text.find("sch = ");
    REQUIRE(begin != std::string::npos);
    std::string block = "if __name__ == \"__main__\":\n";
    std::istringstream lines(text.substr(begin));
    for (std::string line; std::getline(lines, line);) { block += (line.empty() ? "" : "    ") + line + "\n"; }
    text = text.substr(0, begin) + block;
  }
  IRModule before = result_in_python(text);
  REQUIRE(before);
  auto document = workspace::analyse("file:///a.py", text);
  workspace::SnapshotPtr snapshot = document->snapshot();
  const script::ScheduleRun& run = *snapshot->schedules().back().run;
  auto span = [&](size_t step) { return *snapshot->resolve(run.steps[step].where); };
  // The first statement makes the schedule, the last two use its result.
  for (size_t first = 1; first + 1 < run.steps.size(); ++first) {
    for (size_t last = first; last + 1 < run.steps.size(); ++last) {
      TextRewrite rewrite = extract_steps(*snapshot, {span(first).begin, span(last).end});
      REQUIRE(rewrite.edits.size() == 2);
      std::string after = applied(text, rewrite.edits);
      INFO(after);
      IRModule now = result_in_python(after);
      REQUIRE(now);
      CHECK(structural_equal(before, now));
    }
  }
  CHECK(extract_steps(*snapshot, {span(0).begin, span(2).end}).edits.empty());
}

TEST_CASE("another schedule takes the place of a function, or of statements behind `tir.Schedule(...)`") {
  std::string best = "@ls.schedule(Module, target=\"llvm\")\ndef Module_tuned(sch: tir.Schedule) -> None:\n    # Tuned.\n    b = sch.get_block(\"B\")\n    x, y = sch.get_loops(b)\n    sch.unroll(y)\n";
  std::string text = source_text("tests/golden/lsp/top_level.py");
  auto document = workspace::analyse("file:///a.py", text);
  TextRewrite rewrite = replace_schedule(*document->snapshot(), document->snapshot()->schedules().back(), best);
  std::string after = applied(text, rewrite.edits);
  CHECK(after.substr(after.find("sch = tvm")) ==
        "sch = tvm.tir.Schedule(Module)\n# The block and its loops.\n# Tuned.\nb = sch.get_block(\"B\")\nx, y = sch.get_loops(b)\nsch.unroll(y)\n"
        "print(sch.mod.script())\nmod = tvm.build(sch.mod, target=\"llvm\")\n");
  // In a Python test the assertions stay, with the test's variable for the schedule.
  std::string test = "import tvm\nfrom tvm.script import tir as T\n\n\n@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"B\"):\n"
                     "            vi = T.axis.spatial(16, i)\n            A[vi] = T.float32(1)\n\n\ndef test_f():\n    s = tvm.tir.Schedule(f)\n    i, = s.get_loops(\"B\")\n    s.parallel(i)\n";
  auto python = workspace::analyse("file:///b.py", test);
  std::string other = "@ls.schedule(f)\ndef f_tuned(sch: tir.Schedule) -> None:\n    x, = sch.get_loops(\"B\")\n    sch.unroll(x)\n";
  after = applied(test, replace_schedule(*python->snapshot(), python->snapshot()->schedules().back(), other).edits);
  CHECK(after.ends_with("def test_f():\n    s = tvm.tir.Schedule(f)\n    x, = s.get_loops(\"B\")\n    s.unroll(x)\n"));
  // Statements that stay must not use names of removed statements.
  auto needs = workspace::analyse("file:///c.py", test + "    print(i)\n");
  TextRewrite refused = replace_schedule(*needs->snapshot(), needs->snapshot()->schedules().back(), other);
  CHECK(refused.edits.empty());
  CHECK(refused.why_not.find("`i` is used in line 17") != std::string::npos);
  std::string plain = source_text("examples/matmul.tir");
  auto function = workspace::analyse("file:///a.tir", plain);
  after = applied(plain, replace_schedule(*function->snapshot(), function->snapshot()->schedules().back(), other).edits);
  CHECK(after.ends_with("def matmul_blocked(sch: tir.Schedule) -> None:\n    x, = sch.get_loops(\"B\")\n    sch.unroll(x)\n"));
}

TEST_CASE("a file in the words of another version of TVM, and back") {
  for (const char* path : {"examples/matmul.tir", "examples/softmax.tir", "tests/golden/lsp/helpers.tir"}) {
    std::string text = source_text(path);
    for (Dialect dialect : {dialects::sblock, dialects::s_tir, dialects::ts, dialects::tensor}) {
      TextRewrite there = migration_to(*workspace::analyse("file:///a.tir", text)->snapshot(), dialect);
      CHECK(there.title.starts_with("Migrate this file to TVM " + std::string(dialects::versions_of(dialect))));
      REQUIRE_FALSE(there.edits.empty());
      std::string migrated = applied(text, there.edits);
      CHECK(migrated.find("T.block(") == std::string::npos);
      auto other = workspace::analyse("file:///a.tir", migrated);
      CHECK(errors_of(*other->snapshot()) == 0);
      CHECK(structural_equal(result_of(text), result_of(migrated)));
      CHECK(applied(migrated, migration_to(*other->snapshot(), dialects::block).edits) == text);
      CHECK(migration_to(*other->snapshot(), dialect).edits.empty());
    }
  }
}

TEST_CASE("a schedule explained makes the same program, and is explained once") {
  std::string text = source_text("examples/matmul.tir");
  auto at = static_cast<uint32_t>(text.find("def matmul_blocked"));
  TextRewrite rewrite = explain_schedule(*workspace::analyse("file:///a.tir", text)->snapshot(), at);
  std::string after = applied(text, rewrite.edits);
  CHECK(after.find("    # split: makes a loop a nest of loops => i0:64 i1:8; ") != std::string::npos);
  CHECK(structural_equal(result_of(text), result_of(after)));
  CHECK(explain_schedule(*workspace::analyse("file:///a.tir", after)->snapshot(), static_cast<uint32_t>(after.find("def matmul_blocked"))).edits.empty());
}

TEST_CASE("a schedule minimised makes the same program with fewer steps") {
  std::string text = source_text("tests/golden/lsp/helpers.tir");
  size_t end = text.find("    sch.vectorize(d)");
  std::string longer = text.substr(0, end) + "    sch.annotate(a, \"x\", 1)\n    # gone again\n    sch.unannotate(a, \"x\")\n    e = sch.get_block(\"B\")\n" + text.substr(end);
  auto at = static_cast<uint32_t>(longer.find("def by_hand"));
  TextRewrite rewrite = minimise_schedule(*workspace::analyse("file:///a.tir", longer)->snapshot(), at, Removed::Steps, {});
  CHECK(applied(longer, rewrite.edits) == text);
  CHECK(minimise_schedule(*workspace::analyse("file:///a.tir", text)->snapshot(), static_cast<uint32_t>(text.find("def by_hand")), Removed::Steps, {}).edits.empty());
  // A schedule that stops keeps only the statements that its error needs.
  std::string broken = text.substr(0, end) + "    sch.fuse(a, d)\n";
  auto small = minimise_schedule(*workspace::analyse("file:///a.tir", broken)->snapshot(), static_cast<uint32_t>(broken.find("def by_hand")), Removed::Steps, {});
  std::string after = applied(broken, small.edits);
  CHECK(after.find("sch.unroll(a)") == std::string::npos);
  CHECK(after.find("sch.fuse(a, d)") != std::string::npos);
  auto findings = workspace::analyse("file:///a.tir", after)->snapshot()->findings();
  REQUIRE(findings.size() == 1);
  CHECK(code_id(findings[0].code) == "loop-not-directly-inside");
}

TEST_CASE("minimising keeps statements that are no steps, and the steps that they use") {
  const std::string program = "from tvm.script import tir as T\nfrom tvm import tir\n\n@T.prim_func\ndef add(A: T.Buffer((16, 16), \"float32\"), B: T.Buffer((16, 16), \"float32\")):\n    for i, j in T.grid(16, 16):\n"
                              "        with T.block(\"B\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n            B[vi, vj] = A[vi, vj]\n\n\n"
                              "class TestAdd:\n    def test_split(self):\n        sch = tir.Schedule(add)\n";
  auto minimised = [&](const std::string& body) {
    std::string text = program + body;
    auto snapshot = workspace::analyse("file:///a.py", text)->snapshot();
    std::string after = applied(text, minimise_schedule(*snapshot, static_cast<uint32_t>(text.find("sch = tir.Schedule")), Removed::Steps, {}).edits);
    return after.substr(program.size());
  };
  const std::string needed = "        i, j = sch.get_loops(\"B\")\n        i0, i1 = sch.split(i, factors=[None, 8])\n";
  const std::string rest = "        assert len(sch.get_loops(\"B\")) == 3\n        log = open(\"x.log\", \"w\")\n        log.write(str(sch.mod))\n        print(i0)\n        return sch.mod[\"main\"]\n";
  CHECK(minimised(needed + "        sch.annotate(i0, \"x\", 1)\n        sch.unannotate(i0, \"x\")\n        for loop in sch.get_loops(\"B\"):\n            sch.get_block(\"B\")\n" + rest) == needed + rest);
  // A variable that is used only by a line that stays.
  const std::string used = "        blocks = [sch.get_block(\"B\")]\n" + needed + "        assert len(blocks) == 1\n";
  CHECK(minimised(used + "        n = 4\n") == used);
}

TEST_CASE("every repair that is offered for a refused step works") {
  std::string text = source_text("examples/matmul.tir");
  size_t offered = 0;
  for (const char* step : {"sch.parallel(k0)", "sch.fuse(i0, k0)", "sch.vectorize(k1)", "sch.compute_at(acc, i0)", "sch.reverse_compute_at(acc, k0)", "sch.fuse(k0, i1)"}) {
    size_t at = text.find("    sch.vectorize(j1)");
    std::string broken = text.substr(0, at) + "    " + step + "\n";
    auto document = workspace::analyse("file:///a.tir", broken);
    for (const workspace::Finding& finding : document->snapshot()->findings()) {
      for (const TextRewrite& repair : repairs_of(*document->snapshot(), finding)) {
        INFO(step << ": " << repair.title);
        CHECK(errors_of(*workspace::analyse("file:///a.tir", applied(broken, repair.edits))->snapshot()) == 0);
        ++offered;
      }
    }
  }
  CHECK(offered >= 4);
}

TEST_CASE("a diagnostic as an expectation, in the form of the golden cases") {
  // Each finding of a golden case, written again, is a line of the case.
  std::string text = source_text("tests/golden/analysis/bounds.tir");
  size_t found = 0;
  std::string bare;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("^ ") == std::string::npos || line.find('#') == std::string::npos) { bare += line + "\n"; }
  }
  auto document = workspace::analyse("file:///a.tir", bare);
  for (const workspace::Finding& finding : document->snapshot()->findings()) {
    TextRewrite rewrite = as_expectation(*document->snapshot(), finding);
    INFO(rewrite.edits[0].text);
    CHECK(text.find(rewrite.edits[0].text.substr(0, rewrite.edits[0].text.find("; help"))) != std::string::npos);
    ++found;
  }
  CHECK(found >= 3);
}

TEST_CASE("primitives named in comments, expected codes, measurements") {
  std::string text =
      "@T.prim_func\ndef copy(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n    for i in range(64):\n        with T.block(\"B\"):\n"
      "            vi = T.axis.spatial(64, i)\n            B[vi] = A[vi]  # `sch.split` is no call; nor is \"`fuse`\"\n\n\n"
      "@ls.schedule(copy)\ndef tuned(sch: tir.Schedule):\n    # Tuned: 1.0 us, 3 trials.\n    (i,) = sch.get_loops(\"B\")\n    print(\"# `unroll`\")\n"
      "    i0, i1 = sch.split(i, factors=[None, 8])\n    #        ^^^ error[loop-carried]: error[no-such-code] `nothing`\n    sch.split(i1, factors=[None, 2])\n\n\n"
      "def helper(x):\n    # Tuned: in no schedule\n    return x.split(\",\")\n";
  auto document = workspace::analyse("file:///a.tir", text);
  std::vector<std::string> found;
  for (const Mention& mention : mentions(*document->snapshot())) {
    const char* of[] = {"code ", "primitive ", "records "};
    found.push_back(of[static_cast<size_t>(mention.of)] + mention.name);
    std::string_view there = std::string_view(text).substr(mention.span.begin, mention.span.end - mention.span.begin);
    CHECK(there == (mention.of == Mention::Of::Records ? "Tuned" : mention.name));
  }
  CHECK(found == std::vector<std::string>{"primitive split", "primitive fuse", "records copy", "code loop-carried"});
}

TEST_CASE("codes in comments, folds of comments, names by some of their letters") {
  std::string text = "# ls: ignore-file[unused-import]\nx = 1  # ls: ignore[data-race, possible-race]\n# ls: ignore\ny = 2\n# region a\n# region b\n# one\n# two\n# three\n# endregion\n# endregion\n";
  workspace::Document document("file:///a.tir", 1, text);
  std::vector<std::string> codes;
  for (const Mention& mention : mentions(*document.snapshot())) {
    CHECK(text.substr(mention.span.begin, mention.span.end - mention.span.begin) == mention.name);
    CHECK(mention.of == Mention::Of::Code);
    codes.push_back(mention.name);
  }
  CHECK(codes == std::vector<std::string>{"unused-import", "data-race", "possible-race"});
  auto folds = comment_folds(*document.snapshot());
  REQUIRE(folds.size() == 3);
  CHECK((folds[0].is_region && folds[1].is_region && !folds[2].is_region));
  CHECK(matches_query("matmul_blocked", "MB"));
  CHECK(matches_query("matmul", ""));
  CHECK_FALSE(matches_query("matmul", "lm"));
}
