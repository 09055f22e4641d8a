// Facts about loops, compared with the interpreter's counters on random kernels and with numbers computed by hand: flops, runs, touched
// elements, strides.
#include "cost/loop_facts.h"

#include <fmt/format.h>

#include <random>

#include "cost/executions.h"
#include "interp/compare.h"
#include "interp/interp.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "tests/unit/catch.h"
#include "tests/unit/cost/module_of.h"

using namespace loopsmith;

namespace {

using cost::module_of;

auto function_of(const std::string& text) -> PrimFunc {
  IRModule module = module_of(text);
  REQUIRE(module);
  return module->functions.begin()->second;
}

auto facts_of(const PrimFunc& function, std::string_view loop_or_block) -> cost::LoopFacts {
  NodeId id = 0;
  post_order(function->body, [&](const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>(); loop != nullptr && loop->var->name == loop_or_block) { id = loop->id; }
    if (const auto* realize = stmt.as<BlockRealize>(); realize != nullptr && realize->block->name == loop_or_block) { id = realize->block->id; }
  }, [](const Expr&) {});
  INFO(loop_or_block);
  REQUIRE(id != 0);
  auto facts = cost::loop_facts(function, id);
  REQUIRE(facts);
  return *facts;
}

auto touch_of(const cost::LoopFacts& facts, std::string_view buffer) -> cost::Touch {
  for (const cost::Touch& touch : facts.touches) {
    if (touch.buffer->name == buffer) { return touch; }
  }
  FAIL("no such buffer");
  return {};
}

// "1", "0", "m * 64", "?", in the order of the accesses.
auto strides_of(const cost::LoopFacts& facts, std::string_view buffer) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const cost::Stride& stride : touch_of(facts, buffer).strides) {
    auto number = stride.elements ? as_int(stride.elements) : std::nullopt;
    out.push_back(number ? std::to_string(*number) : stride.elements ? print_script(stride.elements) : "?");
  }
  return out;
}

auto run(const PrimFunc& function) -> interp::Stats {
  IRModuleNode fields;
  fields.functions = {{Name("main"), function}};
  IRModule module = make_module(std::move(fields));
  auto inputs = interp::make_inputs(function, 7, interp::Contents::SmallIntegers);
  REQUIRE(inputs.ok());
  auto stats = interp::interpret(module, "main", inputs->arguments);
  if (!stats.ok()) { INFO(stats.diagnostics().front().message()); CHECK(stats.ok()); }
  REQUIRE(stats.ok());
  return *stats;
}

// Exact facts must equal the interpreter's counts, bounds must not be smaller; for the function, each loop and each block.
struct Compared { int exact = 0, bound = 0; };
auto compare(const PrimFunc& function, const interp::Stats& stats) -> Compared {
  Compared out;
  auto agrees = [&](std::optional<double> stated, bool is_most, double counted) {
    if (!stated) { return; }
    if (is_most) { CHECK(*stated >= counted); } else { CHECK(*stated == counted); }
    ++(is_most ? out.bound : out.exact);
  };
  auto whole = cost::loop_facts(function, 0);
  REQUIRE(whole);
  REQUIRE(whole->flops);
  agrees(whole->flops, whole->is_most_flops, static_cast<double>(stats.total.flops));
  for (const interp::LoopCounts& loop : stats.loops) {
    auto facts = cost::loop_facts(function, loop.id);
    if (!facts) { continue; }
    INFO("loop " << loop.name.view());
    agrees(facts->iterations, facts->is_most_runs, static_cast<double>(loop.iterations));
    // The flops of all runs: those of one run times the number of runs.
    if (facts->runs && facts->flops) { agrees(*facts->flops * static_cast<double>(*facts->runs), facts->is_most_flops || facts->is_most_runs, static_cast<double>(loop.counts.flops)); }
  }
  double of_blocks = 0;
  bool is_most = false;
  post_order(function->body, [&](const Stmt& stmt) {
    const auto* realize = stmt.as<BlockRealize>();
    if (realize == nullptr || realize->block->iter_vars.empty()) { return; }
    auto total = cost::block_total(function, realize->block->id);
    REQUIRE(total);
    REQUIRE(total->flops);
    of_blocks += *total->flops;
    is_most = is_most || total->is_most_flops;
  }, [](const Expr&) {});
  agrees(of_blocks, is_most, static_cast<double>(stats.total.flops));
  return out;
}

// A nest of blocks with features that make counting hard: remainders and their predicates, inits with arithmetic, lets, conditions on
// loops and on contents, triangles.
class Kernel {
 public:
  explicit Kernel(uint64_t seed) : random_(seed) {}
  auto text() -> std::string {
    std::string out =
        "@T.prim_func\n"
        "def main(A: T.Buffer((64, 64), \"float32\"), n: T.Buffer((64,), \"int32\"), C: T.Buffer((64, 64), \"float32\")):\n";
    for (int nest = pick(1, 2); nest > 0; --nest) { out += nest_text(nest); }
    return out;
  }

 private:
  auto pick(int least, int most) -> int { return std::uniform_int_distribution<int>(least, most)(random_); }
  auto value(int depth) -> std::string {
    switch (depth == 0 ? pick(0, 1) : pick(0, 7)) {
      case 0: return "A[vi, vk]";
      case 1: return "T.float32(2)";
      case 2: return fmt::format("({} + {})", value(depth - 1), value(depth - 1));
      case 3: return fmt::format("({} * {})", value(depth - 1), value(depth - 1));
      case 4: return fmt::format("T.max({}, {})", value(depth - 1), value(depth - 1));
      case 5: return fmt::format("T.if_then_else({}, {}, {})", condition(), value(depth - 1), value(depth - 1));
      case 6: return fmt::format("T.Select({}, {}, {})", condition(), value(depth - 1), value(depth - 1));
      default: return fmt::format("T.exp({})", value(depth - 1));
    }
  }
  auto condition() -> std::string {
    switch (pick(0, 5)) {
      case 0: return fmt::format("vi - {} >= 0 and vi < {}", pick(0, 3), pick(2, 20));
      case 1: return fmt::format("vi + vk < {}", pick(0, 24));
      case 2: return fmt::format("vk % {} == 0 or vi < {}", pick(2, 4), pick(0, 5));
      case 3: return "n[vi] > 3";
      case 4: return fmt::format("A[vi, vk] < T.float32({})", pick(0, 5));
      default: return fmt::format("not vk < {}", pick(0, 8));
    }
  }
  auto nest_text(int number) -> std::string {
    // The split loops, with or without remainders.
    int rows = pick(1, 17), columns = pick(1, 13), tile = pick(1, 5);
    bool is_triangle = pick(0, 3) == 0;
    std::string out = fmt::format("    for i0, i1 in T.grid({}, {}):\n", (rows + tile - 1) / tile, tile);
    out += fmt::format("        for k in range({}):\n", is_triangle ? fmt::format("i0 + {}", pick(0, 2)) : std::to_string(columns));
    out += fmt::format("            with T.block(\"C{}\"):\n                vi = T.axis.spatial(64, i0 * {} + i1)\n", number, tile);
    bool is_reduction = !is_triangle && pick(0, 1) == 0;
    out += fmt::format("                vk = T.axis.{}(64, k)\n", is_reduction ? "reduce" : "spatial");
    if (rows % tile != 0) { out += fmt::format("                T.where(i0 * {} + i1 < {})\n", tile, rows); }
    if (is_reduction) { out += fmt::format("                with T.init():\n                    C[vi, 0] = {}\n", pick(0, 1) == 0 ? "T.float32(0)" : "A[vi, 0] * T.float32(3)"); }
    std::string target = is_reduction ? "C[vi, 0]" : "C[vi, vk]";
    std::string pad = "                ";
    if (pick(0, 2) == 0) {
      out += fmt::format("{}if {}:\n", pad, condition());
      pad += "    ";
    }
    bool has_let = pick(0, 1) == 0;
    if (has_let) { out += fmt::format("{}d: T.float32 = {}\n", pad, value(2)); }
    out += fmt::format("{}{} = {}{}{}\n", pad, target, is_reduction ? target + " + " : "", value(2), has_let ? " + d * d" : "");
    return out;
  }
  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("random kernels: exact facts equal the interpreter's counts") {
  Compared all;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::string text = Kernel(seed).text();
    INFO(text);
    PrimFunc function = function_of(text);
    Compared one = compare(function, run(function));
    all.exact += one.exact;
    all.bound += one.bound;
  }
  CHECK(all.exact > 1500);
  CHECK(all.bound > 100);
}

TEST_CASE("flops of values with names, of padding, under a predicate") {
  auto whole = [](const std::string& text) {
    auto facts = cost::loop_facts(function_of(text), 0);
    REQUIRE(facts);
    CHECK(!facts->is_most_flops);
    return facts->flops;
  };
  std::string lets =
      "@T.prim_func\n"
      "def lets(A: T.Buffer((64, 100), \"float32\"), B: T.Buffer((64, 100), \"float32\"), C: T.Buffer((64,), \"float32\")):\n"
      "    for i, k in T.grid(64, 100):\n"
      "        with T.block(\"C\"):\n"
      "            vi, vk = T.axis.remap(\"SR\", [i, k])\n"
      "            with T.init():\n"
      "                C[vi] = T.float32(0)\n"
      "            d: T.float32 = A[vi, vk] - B[vi, vk]\n"
      "            C[vi] = C[vi] + d * d\n";
  CHECK(whole(lets) == 19200);
  CHECK(facts_of(function_of(lets), "C").flops == 3);
  CHECK(whole("@T.prim_func\n"
              "def pad(A: T.Buffer((62, 62), \"float32\"), P: T.Buffer((64, 64), \"float32\")):\n"
              "    for y, x in T.grid(64, 64):\n"
              "        with T.block(\"P\"):\n"
              "            vy, vx = T.axis.remap(\"SS\", [y, x])\n"
              "            P[vy, vx] = T.if_then_else(vy - 1 >= 0 and vy - 1 < 62 and vx - 1 >= 0 and vx - 1 < 62, A[vy - 1, vx - 1], T.float32(0))\n") == 0);
  // Each index is enumerated by itself, so a million instances are within the budget.
  std::string tiles =
      "@T.prim_func\n"
      "def tiles(A: T.Buffer((1000, 1000), \"float32\"), B: T.Buffer((1000, 1000), \"float32\")):\n"
      "    for i0, j0, i1, j1 in T.grid(63, 63, 16, 16):\n"
      "        with T.block(\"B\"):\n"
      "            vi = T.axis.spatial(1000, i0 * 16 + i1)\n"
      "            vj = T.axis.spatial(1000, j0 * 16 + j1)\n"
      "            T.where(i0 * 16 + i1 < 1000 and j0 * 16 + j1 < 1000)\n"
      "            B[vi, vj] = A[vi, vj] + T.float32(1)\n";
  CHECK(whole(tiles) == 1e6);
  CHECK(facts_of(function_of(tiles), "B").runs == 1000000);
  CHECK(!facts_of(function_of(tiles), "B").is_most_runs);
  cost::LoopFacts innermost = facts_of(function_of(tiles), "j1");
  CHECK(innermost.flops == 16);
  CHECK(innermost.is_most_flops);
}

TEST_CASE("a triangle is bounded by its longest row, and a loaded index is one place") {
  PrimFunc trsv = function_of(
      "@T.prim_func\n"
      "def trsv(L: T.Buffer((256, 256), \"float32\"), x: T.Buffer((256,), \"float32\")):\n"
      "    for i in range(256):\n"
      "        for j in range(i):\n"
      "            x[i] = x[i] - L[i, j] * x[j]\n");
  cost::LoopFacts j = facts_of(trsv, "j");
  CHECK(touch_of(j, "L").bytes() == 4 * 255);
  CHECK(touch_of(j, "L").is_most);
  CHECK(j.iterations == 256 * 255 / 2);
  CHECK(!j.is_most_runs);
  CHECK(j.flops == 2 * 255);
  CHECK(j.is_most_flops);
  CHECK(strides_of(j, "x") == std::vector<std::string>{"0", "1"});
  CHECK(cost::loop_facts(trsv, 0)->flops == 256 * 255);
  PrimFunc embed = function_of(
      "@T.prim_func\n"
      "def embed(tab: T.Buffer((50000, 64), \"float32\"), ids: T.Buffer((128,), \"int32\"), out: T.Buffer((128, 64), \"float32\")):\n"
      "    for t, d in T.grid(128, 64):\n"
      "        with T.block(\"embed\"):\n"
      "            vt, vd = T.axis.remap(\"SS\", [t, d])\n"
      "            out[vt, vd] = tab[ids[vt], vd]\n");
  cost::LoopFacts d = facts_of(embed, "d");
  CHECK(touch_of(d, "tab").bytes() == 256);
  CHECK(!touch_of(d, "tab").is_most);
  CHECK(d.bytes == 256 + 256 + 4);
  CHECK(strides_of(d, "tab") == std::vector<std::string>{"1"});
  cost::LoopFacts t = facts_of(embed, "t");
  CHECK(touch_of(t, "tab").bytes() == 128 * 256);
  CHECK(touch_of(t, "tab").is_most);
  CHECK(strides_of(t, "tab") == std::vector<std::string>{"?"});
  // An index that depends on elements written in the loop has no fixed place.
  cost::LoopFacts moving = facts_of(function_of(
      "@T.prim_func\n"
      "def moving(at: T.Buffer((1,), \"int32\"), out: T.Buffer((128,), \"float32\")):\n"
      "    for i in range(8):\n"
      "        out[at[0]] = T.float32(1)\n"
      "        at[0] = at[0] + 1\n"), "i");
  CHECK(touch_of(moving, "out").elements == 8);
  CHECK(touch_of(moving, "out").is_most);
  CHECK(!touch_of(moving, "out").is_apart);
}

TEST_CASE("strides of fused loops, of rows of unknown length, of several accesses") {
  PrimFunc fused = function_of(
      "@T.prim_func\n"
      "def fused(A: T.Buffer((128, 256), \"float32\"), B: T.Buffer((16, 32), \"float32\")):\n"
      "    for f0, f1 in T.grid(64, 8):\n"
      "        B[(f0 * 8 + f1) // 32, (f0 * 8 + f1) % 32] = A[16 + (f0 * 8 + f1) // 32, 32 + (f0 * 8 + f1) % 32]\n");
  CHECK(strides_of(facts_of(fused, "f1"), "A") == std::vector<std::string>{"1"});
  CHECK(strides_of(facts_of(fused, "f1"), "B") == std::vector<std::string>{"1"});
  CHECK(strides_of(facts_of(fused, "f0"), "B") == std::vector<std::string>{"8"});
  CHECK(strides_of(facts_of(fused, "f0"), "A") == std::vector<std::string>{"?"});
  PrimFunc rows = function_of(
      "@T.prim_func\n"
      "def rows(a: T.handle, m: T.int32):\n"
      "    A = T.match_buffer(a, (4, m, 64), \"float32\")\n"
      "    for h, i, d in T.grid(4, m, 64):\n"
      "        A[h, i, d] = A[h, i, d] + T.float32(1)\n");
  CHECK(strides_of(facts_of(rows, "h"), "A") == std::vector<std::string>{"m * 64"});
  CHECK(strides_of(facts_of(rows, "i"), "A") == std::vector<std::string>{"64"});
  CHECK(strides_of(facts_of(rows, "d"), "A") == std::vector<std::string>{"1"});
}

TEST_CASE("threads of a block are counted once, however many loops are over them") {
  PrimFunc copies = function_of(
      "@T.prim_func\n"
      "def copies(A: T.Buffer((512, 64), \"float32\"), B: T.Buffer((512, 64), \"float32\")):\n"
      "    for b in T.thread_binding(32, thread=\"blockIdx.x\"):\n"
      "        for y in T.thread_binding(16, thread=\"threadIdx.y\"):\n"
      "            for x in T.thread_binding(16, thread=\"threadIdx.x\"):\n"
      "                for k in range(8):\n"
      "                    for f0 in T.thread_binding(16, thread=\"threadIdx.y\"):\n"
      "                        for f1 in T.thread_binding(16, thread=\"threadIdx.x\"):\n"
      "                            for f2 in range(2):\n"
      "                                B[b * 16 + f0, f1 * 2 + f2 + k] = A[b * 16 + f0, f1 * 2 + f2] * T.float32(2)\n");
  cost::LoopFacts f2 = facts_of(copies, "f2");
  CHECK(f2.iterations == 32 * 8 * 512);
  CHECK(f2.runs == 32 * 8 * 256);
  cost::LoopFacts f0 = facts_of(copies, "f0");
  CHECK(f0.runs == 32 * 16 * 8);
  CHECK(f0.iterations == 32 * 16 * 8 * 16);
  CHECK(cost::loop_facts(copies, 0)->flops == 32 * 8 * 512);
}

TEST_CASE("the number of times that a place is reached") {
  auto var = [](const char* name) { return make<VarNode>(name, DataType::int_(32)); };
  Var i = var("i"), j = var("j"), n = var("n");
  int64_t steps = 1000;
  auto count = [&](const cost::Surroundings& nest, size_t still = 0) { return cost::executions(nest, still, steps); };
  cost::Surroundings grid{{{i, int_imm(0), int_imm(8)}, {j, int_imm(0), int_imm(5)}}, {}};
  CHECK(count(grid)->count == 40);
  CHECK(count(grid, 1)->count == 5);
  CHECK(steps == 1000);
  // A condition on the loops around: the run where it holds counts.
  grid.conditions = {less(i, int_imm(3))};
  CHECK(count(grid)->count == 15);
  CHECK(count(grid, 1)->count == 5);
  CHECK(count(grid, 1)->is_most);
  // An undecidable condition: the number of all iterations is the bound.
  grid.conditions = {less(i, n)};
  CHECK(count(grid)->count == 40);
  CHECK(count(grid)->is_most);
  CHECK(!count({{{i, int_imm(0), n}}, {}}));
  // Beyond the budget of enumeration, the longest row is the bound for all.
  cost::Surroundings triangle{{{i, int_imm(0), int_imm(2000)}, {j, int_imm(0), i}}, {}};
  auto bound = count(triangle);
  CHECK(bound->is_most);
  CHECK(bound->count == 2000 * 1999);
}
