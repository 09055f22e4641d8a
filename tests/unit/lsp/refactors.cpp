// Refactorings of schedules: each edit is made, and the schedules of the new text make the same programs as before. On steps of the
// examples, and on draws inserted at every place of them.
#include <fmt/format.h>

#include <algorithm>

#include "ir/equal.h"
#include "ir/ops.h"
#include "lsp/features/decisions.h"
#include "lsp/features/reduction_repairs.h"
#include "lsp/features/idle_steps.h"
#include "lsp/features/inlining.h"
#include "lsp/features/rewrites.h"
#include "tests/support/effort.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

using tests::source_text;

auto snapshot_of(const std::string& text) -> workspace::SnapshotPtr {
  // Kept alive: snapshots are valid as long as their documents.
  static std::vector<std::unique_ptr<workspace::Document>> documents;
  if (documents.size() > 8) { documents.erase(documents.begin()); }
  documents.push_back(workspace::analyse("file:///a.py", text));
  return documents.back()->snapshot();
}

auto errors_of(const workspace::Snapshot& snapshot) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const workspace::Finding& finding : snapshot.findings()) {
    if (finding.severity == Severity::Error) { out.push_back(finding.message); }
  }
  return out;
}

/// The program that the last schedule of a text makes; none: the schedule stops.
auto result_of(const std::string& text) -> IRModule {
  auto snapshot = snapshot_of(text);
  const auto& schedules = snapshot->schedules();
  if (schedules.empty() || schedules.back().run == nullptr || !schedules.back().run->is_complete || !errors_of(*snapshot).empty()) { return {}; }
  return schedules.back().run->result->module();
}

auto place_of(const std::string& text, const std::string& what) -> uint32_t {
  size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return static_cast<uint32_t>(at);
}

/// The body of the last function.
auto last_body(const std::string& text) -> std::string { return text.substr(text.find('\n', text.rfind("\ndef ") + 1) + 1); }

const std::string scale =
    "@T.prim_func\ndef scale(A: T.Buffer((64, 48), \"float32\"), B: T.Buffer((64, 48), \"float32\")):\n    for i, j in T.grid(64, 48):\n        with T.block(\"B\"):\n"
    "            vi, vj = T.axis.remap(\"SS\", [i, j])\n            B[vi, vj] = A[vi, vj] * T.float32(2)\n\n\n";

}  // namespace

TEST_CASE("steps extracted and inlined again make the same program, whichever they are") {
  size_t inlined = 0;
  size_t same_text = 0;
  for (const char* path : {"examples/matmul.tir", "examples/conv2d_bias_relu.tir", "tests/golden/lsp/helpers.tir", "tests/golden/lsp/top_level.py"}) {
    std::string text = source_text(path);
    IRModule before = result_of(text);
    REQUIRE(before);
    auto snapshot = snapshot_of(text);
    const script::FileSchedule schedule = snapshot->schedules().back();
    bool is_top = schedule.place != SIZE_MAX;
    for (size_t first = is_top ? 1 : 0; first + (is_top ? 1 : 0) < schedule.run->steps.size(); ++first) {
      for (size_t last = first; last + (is_top ? 1 : 0) < schedule.run->steps.size(); last += tests::stride(4)) {
        Span selection{snapshot->resolve(schedule.run->steps[first].where)->begin, snapshot->resolve(schedule.run->steps[last].where)->end};
        TextRewrite extracted = extract_steps(*snapshot, selection);
        REQUIRE(extracted.edits.size() == 2);
        std::string apart = with_edits(text, extracted.edits);
        auto there = snapshot_of(apart);
        TextRewrite rewrite = inline_helper(*there, static_cast<uint32_t>(apart.rfind("steps(")));
        INFO(apart << "\n" << rewrite.why_not);
        REQUIRE(rewrite.edits.size() == 1);
        std::string after = with_edits(apart, rewrite.edits);
        INFO(after);
        IRModule now = result_of(after);
        REQUIRE(now);
        REQUIRE(structural_equal(before, now));
        CHECK(what_breaks(*there, rewrite.edits, {}).empty());
        ++inlined;
        // Names without a conflict stay, so the function equals the original.
        same_text += last_body(after) == last_body(text) ? 1 : 0;
      }
    }
  }
  CHECK(inlined > 60 / tests::stride(4));
  CHECK(same_text * 10 > inlined * 9);
}

TEST_CASE("a helper is inlined with its names kept apart") {
  auto inlined = [](const std::string& helper, const std::string& body, const std::string& call) {
    std::string text = scale + helper + "\n\n@ls.schedule(scale)\ndef s(sch: tir.Schedule) -> None:\n" + body;
    IRModule before = result_of(text);
    auto there = snapshot_of(text);
    INFO(text << errors_of(*there).size() << (errors_of(*there).empty() ? "" : errors_of(*there)[0]));
    REQUIRE(before);
    TextRewrite rewrite = inline_helper(*there, static_cast<uint32_t>(text.rfind(call)));
    if (rewrite.edits.empty()) { return "! " + rewrite.why_not; }
    std::string after = with_edits(text, rewrite.edits);
    INFO(after);
    IRModule now = result_of(after);
    REQUIRE(now);
    CHECK(structural_equal(before, now));
    return last_body(after);
  };
  const std::string tile = "def tile(s, x, y, by=8):\n    \"\"\"Both loops.\"\"\"\n    # outer, inner\n    i, ii = s.split(x, factors=[None, by])\n    j, jj = s.split(y, factors=[None, by])  # the same\n    s.reorder(i, j, ii, jj)\n    return i, jj\n";
  // Returned variables get the caller's names; other variables get unused names.
  CHECK(inlined(tile, "    i, j = sch.get_loops(\"B\")\n    o, v = tile(sch, i, j)\n    sch.parallel(o)\n    sch.vectorize(v)\n", "tile(") ==
        "    i, j = sch.get_loops(\"B\")\n    # outer, inner\n    o, ii = sch.split(i, factors=[None, 8])\n    j_2, v = sch.split(j, factors=[None, 8])  # the same\n    sch.reorder(o, j_2, ii, v)\n"
        "    sch.parallel(o)\n    sch.vectorize(v)\n");
  // If the caller's name is also used in an argument, it is assigned after the inlined statements.
  CHECK(inlined(tile, "    i, j = sch.get_loops(\"B\")\n    i, v = tile(sch, i, j, by=16)\n    sch.vectorize(v)\n", "tile(") ==
        "    i, j = sch.get_loops(\"B\")\n    # outer, inner\n    i_2, ii = sch.split(i, factors=[None, 16])\n    j_2, jj = sch.split(j, factors=[None, 16])  # the same\n    sch.reorder(i_2, j_2, ii, jj)\n    i, v = i_2, jj\n"
        "    sch.vectorize(v)\n");
  // An argument with effects is evaluated once, before the statements.
  CHECK(inlined("def kinds(s, loop):\n    s.unroll(loop)\n    s.annotate(loop, \"k\", 1)\n", "    kinds(sch, sch.get_loops(\"B\")[1])\n", "kinds(") ==
        "    loop = sch.get_loops(\"B\")[1]\n    sch.unroll(loop)\n    sch.annotate(loop, \"k\", 1)\n");
  // A helper with a single expression can be inlined into an expression.
  CHECK(inlined("def inner(s, name):\n    return s.get_loops(name)[-1]\n", "    sch.vectorize(inner(sch, \"B\"))\n", "inner(") == "    sch.vectorize(sch.get_loops(\"B\")[-1])\n");
  CHECK(inlined("def half(n):\n    return n // 2\n", "    i, j = sch.get_loops(\"B\")\n    sch.split(j, factors=[None, half(8 + 8)])\n", "half(") ==
        "    i, j = sch.get_loops(\"B\")\n    sch.split(j, factors=[None, ((8 + 8) // 2)])\n");
  // A parameter that is assigned a new value becomes a variable.
  CHECK(inlined("def down(s, loop):\n    a, loop = s.split(loop, factors=[None, 4])\n    s.unroll(loop)\n", "    i, j = sch.get_loops(\"B\")\n    down(sch, j)\n    sch.parallel(i)\n", "down(") ==
        "    i, j = sch.get_loops(\"B\")\n    loop = j\n    a, loop = sch.split(loop, factors=[None, 4])\n    sch.unroll(loop)\n    sch.parallel(i)\n");
  // In a loop of the script.
  CHECK(inlined("def note(s, loop, n):\n    s.annotate(loop, \"k\", n)\n", "    for n, loop in enumerate(sch.get_loops(\"B\")):\n        note(sch, loop, n)\n", "note(") ==
        "    for n, loop in enumerate(sch.get_loops(\"B\")):\n        sch.annotate(loop, \"k\", n)\n");
  CHECK(inlined("def early(s, loop):\n    if loop is None:\n        return\n    s.unroll(loop)\n", "    i, j = sch.get_loops(\"B\")\n    early(sch, j)\n", "early(") == "! `early` returns before its end");
  CHECK(inlined("SIZE = 4\n\n\ndef by(s, loop):\n    s.split(loop, factors=[None, SIZE])\n", "    i, SIZE = sch.get_loops(\"B\")\n    by(sch, i)\n", "by(") == "! `SIZE` is something else in `s`");
  CHECK(inlined("def any_of(s, *loops):\n    s.fuse(*loops)\n", "    i, j = sch.get_loops(\"B\")\n    any_of(sch, i, j)\n", "any_of(") == "! `any_of` takes any number of arguments");
  // A call inside a helper, and calls of functions that are no helpers of this file.
  std::string helpers = source_text("tests/golden/lsp/helpers.tir");
  TextRewrite inside = inline_helper(*snapshot_of(helpers), place_of(helpers, "halves(sch, b)"));
  std::string after = with_edits(helpers, inside.edits);
  CHECK(after.find("    a, b = halves(sch, loop)\n    return sch.split(b, factors=[2, None])\n") != std::string::npos);
  CHECK(structural_equal(result_of(helpers), result_of(after)));
  CHECK(inline_helper(*snapshot_of(helpers), place_of(helpers, "split(b,")).title.empty());
}

TEST_CASE("samples are written as constants or as decisions, and the program stays the same") {
  size_t done = 0;
  // Draws at every place of a schedule: the steps keep their names and numbers.
  for (const char* path : {"examples/matmul.tir", "examples/softmax.tir"}) {
    std::string text = source_text(path);
    auto plain = snapshot_of(text);
    const script::FileSchedule schedule = plain->schedules().back();
    for (size_t i = 0; i < schedule.run->steps.size(); ++i) {
      for (const auto& named : schedule.run->steps[i].named) {
        const auto* loop = named.variable.as<schedule::LoopRV>();
        auto place = loop != nullptr ? schedule.run->steps[i].after->get(*loop) : Result<const schedule::Place*>(nullptr);
        if (loop == nullptr || !place.ok() || !(*place)->is_loop()) { continue; }
        if (done++ % tests::stride(4) != 0) { continue; }
        uint32_t end = plain->resolve(schedule.run->steps[i].where)->end;
        end = static_cast<uint32_t>(text.find('\n', end));
        std::string steps = fmt::format("\n    drawn_ = sch.sample_perfect_tile({0}, n=2)\n    x_, y_ = sch.sample_perfect_tile({0}, 2, 8)\n    z_ = sch.sample_categorical([1, 2, 4], [0.25, 0.25, 0.5])\n"
                                        "    sch.annotate(sch.get_block(\"root\"), \"of\", [x_, z_])\n    {0}_a, {0}_b = sch.split({0}, factors=drawn_)", named.name.view());
        std::string drawing = text.substr(0, end) + steps + text.substr(end);
        auto there = snapshot_of(drawing);
        const script::FileSchedule& now = there->schedules().back();
        // Later statements may not fit the loops that were split; the schedule runs up to them.
        if (!now.run->is_complete) {
          size_t past = end + steps.size() + 1;
          drawing = drawing.substr(0, past);
          there = snapshot_of(drawing);
        }
        INFO(drawing << (errors_of(*there).empty() ? "" : errors_of(*there)[0]));
        IRModule before = result_of(drawing);
        REQUIRE(before);
        auto at = static_cast<uint32_t>(drawing.find("drawn_"));
        for (const TextRewrite& rewrite : {decisions_as_constants(*there, at), decisions_as_arguments(*there, at)}) {
          REQUIRE(rewrite.why_not.empty());
          REQUIRE(rewrite.edits.size() == 3);
          std::string after = with_edits(drawing, rewrite.edits);
          INFO(after);
          IRModule same = result_of(after);
          REQUIRE(same);
          REQUIRE(structural_equal(before, same));
          auto again = snapshot_of(after);
          CHECK(decisions_as_arguments(*again, at).edits.empty());
          // Decisions are constants too.
          TextRewrite constants = decisions_as_constants(*again, at);
          if (rewrite.title == "Make decisions constants") {
            CHECK(after.find("sample_") == std::string::npos);
            CHECK(constants.edits.empty());
          } else {
            IRModule last = result_of(with_edits(after, constants.edits));
            REQUIRE(last);
            CHECK(structural_equal(before, last));
          }
        }
      }
    }
  }
  CHECK(done > 10);
}

TEST_CASE("samples as text: numbers, lists, loops, and values that cannot be written") {
  const std::string head = scale + "@ls.schedule(scale)\ndef s(sch: tir.Schedule) -> None:\n";
  auto body = [&](const std::string& steps, bool constants) {
    std::string text = head + steps;
    auto there = snapshot_of(text);
    INFO(text << (errors_of(*there).empty() ? "" : errors_of(*there)[0]));
    REQUIRE(errors_of(*there).empty());
    auto at = static_cast<uint32_t>(head.size() + 4);
    TextRewrite rewrite = constants ? decisions_as_constants(*there, at) : decisions_as_arguments(*there, at);
    if (rewrite.edits.empty()) { return "! " + rewrite.why_not; }
    std::string after = with_edits(text, rewrite.edits);
    INFO(after);
    CHECK(what_breaks(*there, rewrite.edits, {}).empty());
    return last_body(after);
  };
  CHECK(body("    i, j = sch.get_loops(\"B\")\n    t = sch.sample_perfect_tile(i, n=2, decision=[4, 16])\n    sch.split(i, factors=t)\n    a, b = sch.sample_perfect_tile(j, n=2, max_innermost_factor=64, decision=[6, 8])\n    sch.split(j, [a, b])\n", true) ==
        "    i, j = sch.get_loops(\"B\")\n    t = [4, 16]\n    sch.split(i, factors=t)\n    a, b = 6, 8\n    sch.split(j, [a, b])\n");
  CHECK(body("    i, j = sch.get_loops(\"B\")\n    v = sch.sample_categorical(candidates=[1, 5, 9], probs=[0.0, 0.0, 1.0])\n    sch.annotate(i, \"n\", v)\n", true) ==
        "    i, j = sch.get_loops(\"B\")\n    v = 9\n    sch.annotate(i, \"n\", v)\n");
  CHECK(body("    i, j = sch.get_loops(\"B\")\n    v = sch.sample_categorical(\n        [1, 5, 9],\n        [0.0, 0.0, 1.0],\n    )\n", false) ==
        "    i, j = sch.get_loops(\"B\")\n    v = sch.sample_categorical(\n        [1, 5, 9],\n        [0.0, 0.0, 1.0], decision=2,\n    )\n");
  CHECK(body("    i, j = sch.get_loops(\"B\")\n    sch.unroll(j)\n", true) == "! ");
  // The place of a block: a loop by its variable, or looked up; a choice without a loop stays a decision.
  const std::string cached = "    b = sch.get_block(\"B\")\n    i, j = sch.get_loops(b)\n    c = sch.cache_write(b, 0, \"global\")\n";
  CHECK(body(cached + "    r = sch.cache_read(b, 0, \"global\")\n    l = sch.sample_compute_location(r, decision=1)\n    sch.compute_at(r, l)\n", true) ==
        cached + "    r = sch.cache_read(b, 0, \"global\")\n    l = j\n    sch.compute_at(r, l)\n");
  CHECK(body("    r = sch.cache_read(\"B\", 0, \"global\")\n    sch.compute_at(r, sch.sample_compute_location(r, decision=0))\n", true) ==
        "    r = sch.cache_read(\"B\", 0, \"global\")\n    sch.compute_at(r, sch.get_loops(\"B\")[0])\n");
  CHECK(body("    r = sch.cache_read(\"B\", 0, \"global\")\n    l = sch.sample_compute_location(r, decision=-1)\n    n = sch.sample_categorical([3], [1.0])\n", true) ==
        "    r = sch.cache_read(\"B\", 0, \"global\")\n    l = sch.sample_compute_location(r, decision=-1)\n    n = 3\n");
  // Several values for one call, or draws at another place.
  CHECK(body("    for loop in sch.get_loops(\"B\"):\n        sch.split(loop, factors=sch.sample_perfect_tile(loop, n=2))\n", true) == "! the call in line 12 draws 2 times, not always the same");
  std::string helper = scale + "def draw(sch, i):\n    return sch.sample_perfect_tile(i, n=2)\n\n\n@ls.schedule(scale)\ndef s(sch: tir.Schedule) -> None:\n    i, j = sch.get_loops(\"B\")\n    sch.split(i, factors=draw(sch, i))\n    t = sch.sample_perfect_tile(j, n=2)\n";
  auto there = snapshot_of(helper);
  CHECK(decisions_as_constants(*there, place_of(helper, "    t = ")).why_not == "line 10 draws as well, outside of `s`: inline that call first");
}

TEST_CASE("a step on a half of a reduction: each repair that is offered works and has the intended effect") {
  const std::string matmul = "@T.prim_func\ndef mm(A: T.Buffer((32, 24), \"float32\"), C: T.Buffer((32, 16), \"float32\")):\n    D = T.alloc_buffer((32, 16), \"float32\")\n    for i, j, k in T.grid(32, 16, 24):\n"
                             "        with T.block(\"D\"):\n            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            with T.init():\n                D[vi, vj] = T.float32(0)\n            D[vi, vj] = D[vi, vj] + A[vi, vk]\n"
                             "    for i, j in T.grid(32, 16):\n        with T.block(\"C\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n            C[vi, vj] = D[vi, vj] * T.float32(2)\n\n\n"
                             "@ls.schedule(mm)\ndef s(sch: tir.Schedule) -> None:\n    d = sch.get_block(\"D\")\n    i, j, k = sch.get_loops(d)\n    x, y = sch.get_loops(\"C\")\n";
  auto repaired = [&](const std::string& steps) {
    std::string text = matmul + steps + "    sch.annotate(sch.get_block(\"C\"), \"end\", 1)\n";
    auto there = snapshot_of(text);
    std::vector<std::string> bodies;
    for (const workspace::Finding& finding : there->findings()) {
      for (const TextRewrite& repair : reduction_repairs(*there, finding, {})) {
        std::string after = with_edits(text, repair.edits);
        INFO(repair.title << "\n" << after);
        CHECK(result_of(after));
        std::string body = last_body(after);
        size_t begin = body.find("get_loops(\"C\")\n") + 15;
        bodies.push_back(body.substr(begin, body.rfind("    sch.annotate") - begin));
      }
    }
    return bodies;
  };
  using Bodies = std::vector<std::string>;
  CHECK(repaired("    init = sch.decompose_reduction(d, i)\n    sch.compute_at(init, j)\n") == Bodies{"    init = sch.decompose_reduction(d, k)\n"});
  CHECK(repaired("    init = sch.decompose_reduction(d, k)\n    sch.compute_at(init, y)\n") ==
        Bodies{"    sch.compute_at(d, y)\n    init = sch.decompose_reduction(d, sch.get_loops(d)[-1])\n"});
  CHECK(repaired("    init = sch.decompose_reduction(d, i)\n    sch.compute_at(d, x)  # here\n").size() >= 1);
  // A loop that contains half of a reduction: the step moves unchanged before the decomposition.
  CHECK(repaired("    sch.reorder(k, j)\n    init = sch.decompose_reduction(d, k)\n    sch.vectorize(j)  # lanes\n") ==
        Bodies{"    sch.reorder(k, j)\n    sch.vectorize(j)\n    init = sch.decompose_reduction(d, k)\n"});
  CHECK(repaired("    init = sch.decompose_reduction(d, k)\n    j0, j1 = sch.split(j, [None, 4])\n    sch.parallel(j0)\n").empty());
  // Refused for another reason, or not repaired by any order.
  CHECK(repaired("    sch.compute_at(d, k)\n").empty());
  CHECK(repaired("    init = sch.decompose_reduction(d, k)\n    sch.compute_at(init, k)\n").empty());
}

TEST_CASE("all steps without effect are removed at once, with the steps that only they used") {
  auto dropped = [](const std::string& body) {
    std::string text = scale + "@ls.schedule(scale)\ndef s(sch: tir.Schedule) -> None:\n" + body;
    auto there = snapshot_of(text);
    INFO(text << (errors_of(*there).empty() ? "" : errors_of(*there)[0]));
    REQUIRE(errors_of(*there).empty());
    TextRewrite rewrite = drop_idle_steps(*there, place_of(text, "s(sch"));
    if (rewrite.edits.empty()) { return rewrite.title; }
    CHECK(what_breaks(*there, rewrite.edits, {}).empty());
    return rewrite.title + "\n" + last_body(with_edits(text, rewrite.edits));
  };
  CHECK(dropped("    b = sch.get_block(\"B\")\n    i, j = sch.get_loops(b)\n    sch.unroll(j)\n    sch.unroll(j)\n    # kept\n    r = sch.get_block(\"root\")\n    c = sch.get_child_blocks(r)\n    sch.annotate(i, \"k\", 1)\n    sch.annotate(i, \"k\", 1)\n") ==
        "Drop the 4 steps that change nothing\n    b = sch.get_block(\"B\")\n    i, j = sch.get_loops(b)\n    sch.unroll(j)\n    # kept\n    sch.annotate(i, \"k\", 1)\n");
  CHECK(dropped("    i, j = sch.get_loops(\"B\")\n    sch.unroll(j)\n").empty());
  CHECK(dropped("    i, j = sch.get_loops(\"B\")\n    print(j)\n").empty());
  CHECK(dropped("    i, j = sch.get_loops(\"B\")\n    t = sch.sample_perfect_tile(i, n=2)\n    u = sch.sample_perfect_tile(i, n=2)\n    sch.split(i, factors=u)\n    sch.enter_postproc()\n").empty());
  CHECK(dropped("    i, j = sch.get_loops(\"B\")\n") == "Drop the step that changes nothing\n    pass\n");
  // No example has idle steps. With each step doubled, if it then still runs, removing the idle ones gives the same program.
  std::string text = source_text("examples/matmul.tir");
  CHECK(drop_idle_steps(*snapshot_of(text), place_of(text, "matmul_blocked(")).edits.empty());
  IRModule before = result_of(text);
  auto plain = snapshot_of(text);
  const script::FileSchedule schedule = plain->schedules().back();
  size_t found = 0;
  for (const script::Step& step : schedule.run->steps) {
    Span span = *plain->resolve(step.where);
    std::string doubled = text.substr(0, span.end) + "\n    " + text.substr(span.begin, span.end - span.begin) + text.substr(span.end);
    auto there = snapshot_of(doubled);
    TextRewrite rewrite = drop_idle_steps(*there, place_of(doubled, "matmul_blocked("));
    if (rewrite.edits.empty()) { continue; }
    IRModule now = result_of(with_edits(doubled, rewrite.edits));
    REQUIRE(now);
    CHECK(structural_equal(before, now));
    ++found;
  }
  CHECK(found >= 4);
}
