// Factors of splits at the cursor: the facts about other factors agree with a schedule that contains these factors, and offered edits are
// accepted.
#include "lsp/features/factors.h"

#include <algorithm>

#include "cost/estimate.h"
#include "cost/loop_facts.h"
#include "ir/equal.h"
#include "tests/support/programs.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

const std::string text =
    tests::product("matmul", 512, 512, 512) +
    "\n\n"
    "@ls.schedule(matmul)\n"
    "def s(sch: tir.Schedule):\n"
    "    i, j, k = sch.get_loops(\"C\")\n"
    "    i0, i1 = sch.split(i, factors=[None, 64])\n"
    "    j0, j1 = sch.split(j, [16, 32])\n"
    "    sch.reorder(i0, j0, k, i1, j1)\n"
    "    sch.vectorize(j1)\n"
    "    for n in range(2):\n"
    "        k, kk = sch.split(k, factors=[None, 4])\n";

struct At {
  explicit At(const std::string& source, const std::string& marked, size_t into = 0) : document(workspace::analyse("file:///t.tir", source)), offset(static_cast<uint32_t>(source.find(marked) + into)) {}
  std::unique_ptr<workspace::Document> document;
  uint32_t offset;
};

}  // namespace

TEST_CASE("the factor under the cursor lists the costs of other factors") {
  At here(text, "64])");
  auto info = hover_factor(*here.document->snapshot(), here.offset);
  REQUIRE(info);
  CHECK(info->title == "factor 64 of a loop of 512, and others in its place");
  // One line for every divisor, the present one marked, each with the memory of a run and the cache that holds it.
  auto line = [&](const std::string& begin) {
    for (const Fact& fact : info->facts) {
      if (fact.text.starts_with(begin)) { return fact.text; }
    }
    return std::string();
  };
  CHECK(info->facts.size() == 9);
  CHECK(line("64, here: ").find("one run of `") != std::string::npos);
  CHECK(line("512: ").find("one run of `k_0_0` touches") != std::string::npos);
  CHECK(line("512: ").find(" (L2)") != std::string::npos);
  CHECK(line("3:").empty());
}

TEST_CASE("the facts about another factor are those of the schedule with that factor") {
  At here(text, "64])");
  auto snapshot = here.document->snapshot();
  const script::FileSchedule& schedule = snapshot->schedules().front();
  REQUIRE(schedule.run->result);
  const cost::CoreModel core = cost::core_of(target::host());
  auto trace = schedule.run->result->trace();
  std::vector<const schedule::Instruction*> instructions = trace.instructions();
  size_t split = 0;
  while (instructions[split]->primitive->name != "split") { ++split; }
  auto choices = cost::other_factors(schedule.run->program, *schedule.run->result, split, 1, core, 100);
  REQUIRE(choices);
  CHECK(choices->extent == 512);
  CHECK(choices->all.size() == 10);
  for (const cost::OtherFactor& one : choices->all) {
    INFO(one.factor);
    std::string written = text;
    written.replace(written.find("64])"), 2, std::to_string(one.factor));
    auto document = workspace::analyse("file:///t.tir", written);
    auto then = document->snapshot();
    const script::ScheduleRun& run = *then->schedules().front().run;
    REQUIRE(run.is_complete);
    REQUIRE(one.why_not.empty());
    const schedule::FuncState* func = run.result->state().func(run.result->func_working_on());
    auto estimated = cost::estimate(*func, core);
    REQUIRE(estimated);
    CHECK(one.seconds == estimated->seconds);
    CHECK(one.is_here == (one.factor == 64));
    REQUIRE(one.loops.size() == 7);
    for (const cost::NestedLoop& loop : one.loops) {
      const schedule::Place* place = nullptr;
      for (const schedule::Place& each : func->places()) {
        if (each.is_loop() && each.name() == loop.name) { place = &each; }
      }
      REQUIRE(place);
      CHECK(cost::loop_facts(func->func(), place->id)->bytes == loop.bytes);
    }
  }
}

TEST_CASE("other factors are offered as edits that are accepted") {
  At here(text, "32])");
  auto rewrites = other_factors_offered(*here.document->snapshot(), here.offset, {});
  REQUIRE(rewrites.size() >= 2);
  bool has_larger = false;
  for (const TextRewrite& rewrite : rewrites) {
    INFO(rewrite.title);
    // No divisor is excluded, because the outer factor adapts.
    CHECK(rewrite.edits.size() == 2);
    std::vector<TextEdit> edits = rewrite.edits;
    std::sort(edits.begin(), edits.end(), [](const TextEdit& a, const TextEdit& b) { return a.span.begin < b.span.begin; });
    std::string after = with_edits(text, edits);
    has_larger = has_larger || after.find("sch.split(j, [8, 64])") != std::string::npos;
    auto document = workspace::analyse("file:///t.tir", after);
    CHECK(document->snapshot()->schedules().front().run->is_complete);
  }
  CHECK(has_larger);
}

TEST_CASE("steps that need the factor refuse another") {
  std::string exact = text.substr(0, text.find("    sch.reorder")) + "    sch.split(j1, factors=[4, 8], disable_predication=True)\n";
  At here(exact, "32])");
  auto info = hover_factor(*here.document->snapshot(), here.offset);
  REQUIRE(info);
  size_t refused = 0;
  for (const Fact& fact : info->facts) { refused += fact.text.find(": refused: ") != std::string::npos ? 1U : 0U; }
  CHECK(refused == info->facts.size() - 1);
  CHECK(other_factors_offered(*here.document->snapshot(), here.offset, {}).empty());
}

TEST_CASE("numbers that are no factor, or the factor of several splits, have no hover") {
  for (const char* marked : {" 4])", "512, 512, 512)", "None, 64", "range(2)"}) {
    INFO(marked);
    At here(text, marked, marked[0] == ' ' ? 1 : 0);
    CHECK(!hover_factor(*here.document->snapshot(), here.offset));
    CHECK(other_factors_offered(*here.document->snapshot(), here.offset, {}).empty());
  }
  CancelSource cancelled;
  cancelled.cancel();
  At here(text, "64])");
  CHECK(other_factors_offered(*here.document->snapshot(), here.offset, cancelled.token()).empty());
}
