// Spaces made of traces: points are replays with the same results as the program; rules that the recorded spaces do not reach.
#include <cmath>
#include <random>

#include "interp/compare.h"
#include "tests/support/effort.h"
#include "tests/support/tuned_program.h"
#include "tests/unit/catch.h"
#include "tune/metaschedule/rules/post_order_apply.h"
#include "tune/space/trace_spaces.h"

using namespace loopsmith;
using testing::context_of;
using testing::module_of;
using testing::target_of;
using tune::Point;
using tune::TraceSketch;

namespace {

const std::string product_relu = testing::product_relu(16, 64, 24);

constexpr const char* rows = R"PY(
@T.prim_func
def main(A: T.Buffer((4, 96), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, 96):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]
)PY";

constexpr const char* half_product = R"PY(
@T.prim_func
def main(A: T.Buffer((50, 48), "float16"), B: T.Buffer((48, 64), "float16"), C: T.Buffer((50, 64), "float16")):
    for i, j, k in T.grid(50, 64, 48):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)PY";

constexpr const char* in_place = R"PY(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("A"):
            vi = T.axis.spatial(64, i)
            A[vi] = A[vi] + T.float32(1)
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] * T.float32(2)
)PY";

auto rule_space(const std::string& program, const char* target) -> tune::rules::RuleSpace {
  auto space = tune::rules::post_order_apply(module_of(program), Name("main"), tune::rules::default_rules(target_of(target)), 3);
  REQUIRE(space.ok());
  return *space;
}

auto text_of(const schedule::Schedule& sch) -> std::string {
  std::string out;
  for (const std::string& line : sch.trace().python_lines()) { out += line + "\n"; }
  return out;
}

auto has(const std::string& text, const char* part) -> bool { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("factorizations are listed, innermost factors first") {
  CHECK(tune::factorizations(6, 2, -1) == std::vector<std::vector<int64_t>>{{6, 1}, {3, 2}, {2, 3}, {1, 6}});
  CHECK(tune::factorizations(6, 2, 2) == std::vector<std::vector<int64_t>>{{6, 1}, {3, 2}});
  // 2^10 in four factors: ten stars and three bars.
  CHECK(tune::factorizations(1024, 4, -1).size() == 286);
  for (const auto& factors : tune::factorizations(64, 3, -1, 1, 16)) { CHECK(factors[1] * factors[2] % 16 == 0); }
  CHECK(tune::factorizations(0, 2, -1).empty());
  // Only a part of the factorizations is listed if the extent has very many.
  CHECK(tune::factorizations(3628800, 5, -1).size() <= 100'000);
}

TEST_CASE("points of MetaSchedule's space compute the results of the program") {
  for (const std::string& program : {product_relu, std::string(rows)}) {
    IRModule module = module_of(program);
    target::Target target = target_of("llvm -mcpu=x86-64 -num-cores=2");
    auto sketches = tune::metaschedule_space(context_of(module, target), target, 0);
    REQUIRE(sketches.ok());
    REQUIRE(sketches->size() == 3);
    std::mt19937_64 random(1);
    for (const auto& sketch : *sketches) {
      INFO(sketch->name());
      CHECK(sketch->knobs().size() >= 1);
      int measured = 0;
      for (int i = 0; i < 12 && measured < tests::size_of_test(12, 12, 1); ++i) {
        Point point;
        for (const tune::Knob& knob : sketch->knobs()) { point.push_back(static_cast<uint16_t>(random() % knob.choices.size())); }
        if (!std::isfinite(sketch->draft(point))) { continue; }
        schedule::Schedule sch(module, 1);
        REQUIRE(sketch->apply(sch, point).ok());
        auto compared = interp::compare_modules(module, sch.module(), Name("main"), interp::GateOptions{});
        REQUIRE(compared.ok());
        CHECK(compared->equal);
        CHECK(sketch->features(point).size() == sketch->features(Point(point.size(), 0)).size());
        ++measured;
      }
      CHECK(measured > 0);
    }
  }
}

TEST_CASE("points of the space for devices are kernels within the limits, with the results of the program") {
  for (const std::string& program : {product_relu, std::string(rows)}) {
    for (const char* name : {"cuda -arch=sm_80", "opencl"}) {
      INFO(name);
      IRModule module = module_of(program);
      target::Target target = target_of(name);
      tune::SpaceContext context = context_of(module, target);
      context.gpu = cost::gpu_model(target);
      auto sketches = tune::metaschedule_space(context, target, 0);
      REQUIRE(sketches.ok());
      std::mt19937_64 random(1);
      int compared = 0;
      for (const auto& sketch : *sketches) {
        INFO(sketch->name());
        for (int i = 0; i < 40 && compared < tests::size_of_test(4, 4, 1); ++i) {
          Point point;
          for (const tune::Knob& knob : sketch->knobs()) { point.push_back(static_cast<uint16_t>(random() % knob.choices.size())); }
          const double seconds = sketch->draft(point);
          if (!std::isfinite(seconds)) { continue; }
          CHECK(seconds > 0);
          schedule::Schedule sch(module, 1);
          REQUIRE(sketch->apply(sch, point).ok());
          CHECK(has(text_of(sch), "threadIdx.x"));
          auto result = interp::compare_modules(module, sch.module(), Name("main"), interp::GateOptions{});
          REQUIRE(result.ok());
          CHECK(result->equal);
          ++compared;
        }
      }
      CHECK(compared > 0);
    }
  }
}

TEST_CASE("points beyond the bounds of threads are those that the space refuses") {
  IRModule module = module_of(product_relu);
  target::Target target = target_of("cuda -arch=sm_80");
  tune::SpaceContext context = context_of(module, target);
  context.gpu = cost::gpu_model(target);
  auto sketches = tune::metaschedule_space(context, target, 0);
  REQUIRE(sketches.ok());
  std::mt19937_64 random(2);
  int outside = 0, inside = 0;
  for (const auto& sketch : *sketches) {
    const schedule::Trace trace = static_cast<const TraceSketch&>(*sketch).trace();
    std::vector<size_t> knobs;
    size_t index = 0;
    for (const schedule::Instruction* step : trace.instructions()) {
      if (step->primitive->is_sampling) { knobs.push_back(index); }
      ++index;
    }
    REQUIRE(knobs.size() == sketch->knobs().size());
    const std::vector<tune::ThreadBound> bounds = tune::thread_bounds(trace, knobs);
    for (int i = 0; i < tests::size_of_test(20, 20, 8) && !bounds.empty(); ++i) {
      Point point;
      for (const tune::Knob& knob : sketch->knobs()) { point.push_back(static_cast<uint16_t>(random() % knob.choices.size())); }
      if (tune::is_within(bounds, sketch->knobs(), point)) { ++inside; continue; }
      schedule::Schedule sch(module, 1);
      CHECK(!sketch->apply(sch, point).ok());
      CHECK(std::isinf(sketch->draft(point)));
      ++outside;
    }
  }
  CHECK(outside > 0);
  CHECK(inside > 0);
}

TEST_CASE("the own decisions of a trace are a point") {
  IRModule module = module_of(product_relu);
  schedule::Schedule sch(module, 5);
  auto block = sch.call("get_block", {"C"});
  REQUIRE(block.ok());
  auto loops = sch.call("get_loops", {*block});
  REQUIRE(loops.ok());
  auto tile = sch.call("sample_perfect_tile", {schedule::loops_of(*loops)[1], 3, 16});
  REQUIRE(tile.ok());
  REQUIRE(sch.call("split", {schedule::loops_of(*loops)[1], *tile}).ok());
  TraceSketch sketch(context_of(module, target_of("llvm -mcpu=x86-64")), "one", sch);
  REQUIRE(sketch.knobs().size() == 1);
  CHECK(sketch.size() == static_cast<double>(tune::factorizations(64, 3, 16).size()));
  REQUIRE(sketch.own_point());
  schedule::Schedule again(module, 1);
  REQUIRE(sketch.apply(again, *sketch.own_point()).ok());
  CHECK(text_of(again) == text_of(sch));
}

TEST_CASE("wide vectors: the last loop of the output has a whole vector inside") {
  auto rules = tune::rules::Rules{tune::rules::multi_level_tiling_wide_vector(
      {}, 1024, {.structure = "SRSRS", .max_innermost_factor = 128, .reuse_write = {.req = tune::rules::ReuseType::Req::May, .levels = {1, 2}, .scope = "global"}})};
  auto space = tune::rules::post_order_apply(module_of(product_relu), Name("main"), rules, 3);
  REQUIRE(space.ok());
  REQUIRE(!space->schedules.empty());
  // 1024 bits are 32 elements of float32.
  for (const schedule::Schedule& sch : space->schedules) { CHECK(has(text_of(sch), "factors=[None, 32]")); }
}

TEST_CASE("a product that no tile of the tensor unit divides is padded") {
  tune::rules::RuleSpace space = rule_space(half_product, "cuda -arch=sm_80");
  REQUIRE(space.schedules.size() == 2);
  for (const schedule::Schedule& sch : space.schedules) {
    CHECK(has(text_of(sch), "sch.pad_einsum("));
    CHECK(has(text_of(sch), "wmma_sync_16x16x16_f16f16f16"));
  }
}

TEST_CASE("a rule leaves a block alone where one of its steps is refused") {
  tune::rules::RuleSpace space = rule_space(in_place, "cuda -arch=sm_80");
  REQUIRE(space.schedules.size() == 1);
  CHECK(!space.refusals.empty());
  CHECK(has(text_of(space.schedules[0]), "blockIdx.x"));
}

TEST_CASE("a block with a rule of its own is scheduled by that rule alone") {
  std::string text = rows;
  const std::string axes = "vi, vj = T.axis.remap(\"SR\", [i, j])\n";
  text.insert(text.find(axes) + axes.size(), "            T.block_attr({\"schedule_rule\": \"mine\"})\n");
  tune::rules::CustomRules custom;
  int calls = 0;
  custom["mine"] = [&](schedule::Schedule sch, schedule::BlockRV block) -> Result<tune::rules::Schedules> {
    ++calls;
    LOOPSMITH_CHECK(sch.call("annotate", {block, "done", 1}));
    return tune::rules::Schedules{std::move(sch)};
  };
  target::Target target = target_of("llvm -mcpu=x86-64 -num-cores=2");
  auto space = tune::rules::post_order_apply(module_of(text), Name("main"), tune::rules::default_rules(target, custom), 3);
  REQUIRE(space.ok());
  CHECK(calls == 1);
  REQUIRE(space->schedules.size() == 1);
  CHECK(has(text_of(space->schedules[0]), "ann_key=\"done\""));
  CHECK(!has(text_of(space->schedules[0]), "rfactor"));
}

TEST_CASE("targets have the lists of rules that TVM gives them") {
  auto names = [](const char* target) {
    std::string out;
    for (const tune::rules::RulePtr& rule : tune::rules::default_rules(target_of(target))) { out += std::string(rule->name()) + " "; }
    return out;
  };
  const std::string cpu_begin = "ApplyCustomRule InlineConstantScalars AutoInline AddRFactor ";
  const std::string cpu_end = "MultiLevelTiling ParallelizeVectorizeUnroll RandomComputeLocation ";
  CHECK(names("llvm -mcpu=x86-64") == cpu_begin + cpu_end);
  CHECK(names("llvm -mcpu=cascadelake") == cpu_begin + "MultiLevelTilingWithIntrin " + cpu_end);
  CHECK(names("llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod") ==
        cpu_begin + "MultiLevelTilingWithIntrin MultiLevelTilingWithIntrin MultiLevelTilingWithIntrin " + cpu_end);
  CHECK(names("llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64") == cpu_begin + cpu_end);
  const std::string gpu = "MultiLevelTiling InlineConstantScalars AutoInline CrossThreadReduction ParallelizeVectorizeUnroll AutoBind ";
  CHECK(names("cuda -arch=sm_70") == "ApplyCustomRule " + gpu);
  CHECK(names("cuda -arch=sm_80") == "ApplyCustomRule MultiLevelTilingTensorCore MultiLevelTilingTensorCore " + gpu);
}
