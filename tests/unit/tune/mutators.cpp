// MetaSchedule's mutators: each changes the decision in its name within the limits of the sampling instruction, and the result is a point of its sketch.
#include <cmath>
#include <set>

#include "ir/equal.h"
#include "schedule/trace_json.h"
#include "tests/support/effort.h"
#include "tests/support/tuned_program.h"
#include "tests/unit/catch.h"
#include "tune/metaschedule/mutators/mutators.h"
#include "tune/metaschedule/rules/post_order_apply.h"
#include "tune/space/trace_spaces.h"

using namespace loopsmith;
using testing::module_of;
using testing::target_of;
using schedule::Trace;
using schedule::Value;
using tune::Point;
namespace metaschedule = tune::metaschedule;

namespace {

// The default rules do not inline an exponential into its reader.
constexpr const char* product_of_exp = R"PY(
@T.prim_func
def main(A: T.Buffer((64, 48), "float32"), B: T.Buffer((48, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    E = T.alloc_buffer((64, 48), "float32")
    for i, j in T.grid(64, 48):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(A[vi, vj])
    for i, j, k in T.grid(64, 64, 48):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + E[vi, vk] * B[vk, vj]
)PY";

const std::string product_relu = testing::product_relu(64, 64, 48);

constexpr const char* cpu = "llvm -mcpu=x86-64 -num-cores=2";
constexpr const char* gpu = "cuda -arch=sm_70";

/// The traces of the default rules.
auto traces_of(const IRModule& module, const char* target) -> std::vector<Trace> {
  auto space = tune::rules::post_order_apply(module, Name("main"), tune::rules::default_rules(target_of(target)), 3);
  REQUIRE(space.ok());
  std::vector<Trace> out;
  for (const schedule::Schedule& sch : space->schedules) { out.push_back(sch.trace()); }
  REQUIRE(!out.empty());
  return out;
}

/// The instructions in which two traces differ.
auto differences(const Trace& a, const Trace& b) -> std::vector<size_t> {
  const auto x = a.instructions(), y = b.instructions();
  REQUIRE(x.size() == y.size());
  std::vector<size_t> out;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(x[i]->decision == y[i]->decision) || x[i]->values != y[i]->values) { out.push_back(i); }
  }
  return out;
}

auto product(const Value& tile) -> int64_t {
  int64_t out = 1;
  for (const Value& n : *tile.as<Value::List>()) { out *= *n.integer(); }
  return out;
}

}  // namespace

TEST_CASE("a mutated tile has the same product, and its innermost factor keeps the limit") {
  const IRModule module = module_of(product_relu);
  schedule::RandomEngine random(1);
  std::set<size_t> changed;
  for (const Trace& trace : traces_of(module, cpu)) {
    for (int i = 0; i < 60; ++i) {
      auto made = metaschedule::mutate_tile_size().apply({module, Name("main"), 2}, trace, random);
      if (!made) { continue; }
      const std::vector<size_t> at = differences(trace, *made);
      REQUIRE(at.size() == 1);
      const schedule::Instruction& before = *trace.instructions()[at[0]];
      const schedule::Instruction& after = *made->instructions()[at[0]];
      CHECK(before.primitive->kind == "SamplePerfectTile");
      CHECK(product(before.decision) == product(after.decision));
      CHECK(*after.decision.as<Value::List>()->back().integer() <= std::max<int64_t>(*after.values[2].integer(), *before.decision.as<Value::List>()->back().integer()));
      changed.insert(at[0]);
    }
  }
  CHECK(changed.size() >= 3);
}

TEST_CASE("each mutator changes its own instruction") {
  const IRModule module = module_of(product_of_exp);
  struct Case { const char* name; const char* target; const char* kind; };
  for (const Case& c : {Case{"MutateUnroll", cpu, "SampleCategorical"}, Case{"MutateParallel", cpu, "Annotate"}, Case{"MutateComputeLocation", cpu, "SampleComputeLocation"},
                        Case{"MutateUnroll", gpu, "SampleCategorical"}}) {
    INFO(c.name);
    auto mutator = metaschedule::find_mutator(c.name);
    REQUIRE(mutator);
    schedule::RandomEngine random(5);
    std::set<std::string> made;
    for (const Trace& trace : traces_of(module, c.target)) {
      for (size_t i = 0; i < 8 && (i < 8 / tests::stride(4) || made.size() < 2); ++i) {
        auto one = mutator->apply({module, Name("main"), 2}, trace, random);
        if (!one) { continue; }
        const std::vector<size_t> at = differences(trace, *one);
        REQUIRE(at.size() == 1);
        CHECK(trace.instructions()[at[0]]->primitive->kind == c.kind);
        made.insert(schedule::trace_to_json(*one));
        schedule::Schedule sch(module, 1);
        CHECK(sch.replay(*one).ok());
      }
    }
    CHECK(made.size() >= 2);
  }
}

TEST_CASE("MutateThreadBinding changes the extent of the loop that is bound to threadIdx.x") {
  const IRModule module = module_of(product_relu);
  schedule::Schedule sch(module, 7);
  auto step = [&](const char* name, std::vector<Value> values) -> Value {
    auto done = sch.call(name, std::move(values));
    REQUIRE(done.ok());
    return *done;
  };
  const Value block = step("get_block", {"D", "main"});
  const auto loops = schedule::loops_of(step("get_loops", {block}));
  const Value extent = step("sample_categorical", {Value(std::vector<int64_t>{8, 16, 32}), Value(std::vector<double>{0.5, 0.25, 0.25})});
  const auto parts = schedule::loops_of(step("split", {loops[1], Value(Value::List{Value(), extent})}));
  schedule::RandomEngine random(3);
  const metaschedule::MutatorContext context{module, Name("main"), 1};
  CHECK(!metaschedule::mutate_thread_binding().apply(context, sch.trace(), random));
  step("bind", {loops[0], "blockIdx.x"});
  step("bind", {parts[1], "threadIdx.x"});
  const int64_t before = *sch.trace().instructions()[2]->decision.integer();
  auto made = metaschedule::mutate_thread_binding().apply(context, sch.trace(), random);
  REQUIRE(made);
  CHECK(*made->instructions()[2]->decision.integer() != before);
}

TEST_CASE("the default lists are TVM's") {
  auto names = [](const char* target) {
    std::string out;
    for (const metaschedule::WeightedMutator& one : metaschedule::default_mutators(target_of(target))) { out += one.mutator.name + "=" + std::to_string(one.probability).substr(0, 4) + " "; }
    return out;
  };
  CHECK(names(cpu) == "MutateTileSize=0.90 MutateComputeLocation=0.05 MutateUnroll=0.03 MutateParallel=0.02 ");
  CHECK(names(gpu) == "MutateTileSize=0.90 MutateUnroll=0.08 MutateThreadBinding=0.02 ");
  CHECK(names("c") == "MutateTileSize=0.90 MutateComputeLocation=0.05 MutateUnroll=0.03 ");
}

TEST_CASE("mutated traces are points of their sketch, and the same seed gives the same point") {
  const IRModule module = module_of(product_relu);
  const target::Target target = target_of(cpu);
  const target::Hardware hardware = target::hardware(target);
  auto sketches = tune::metaschedule_space({module, Name("main"), hardware, cost::core_model(hardware)}, target, 0);
  REQUIRE(sketches.ok());
  for (const auto& sketch : *sketches) {
    REQUIRE(sketch->has_mutators());
    const auto* traced = static_cast<const tune::TraceSketch*>(sketch.get());
    REQUIRE(traced->own_point());
    std::set<Point> met;
    for (int64_t seed = 1; seed <= 40; ++seed) {
      auto point = sketch->mutated(*traced->own_point(), seed);
      CHECK(point == sketch->mutated(*traced->own_point(), seed));
      if (!point) { continue; }
      REQUIRE(point->size() == sketch->knobs().size());
      met.insert(*point);
    }
    CHECK(met.size() >= 4);
  }
  tune::SpacePieces none;
  none.mutators = metaschedule::Mutators{};
  auto without = tune::metaschedule_space({module, Name("main"), hardware, cost::core_model(hardware)}, target, 0, none);
  REQUIRE(without.ok());
  CHECK(!without->front()->has_mutators());
}
