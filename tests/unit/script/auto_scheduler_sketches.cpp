// Sketches of the auto-scheduler: the sketches that TVM's rules make of the tasks of its tutorials, and candidates drawn from them, whose results are kept.
#include <optional>
#include <random>
#include <string>

#include <fmt/format.h>

#include "ir/equal.h"
#include "script/auto_scheduler/annotate.h"
#include "script/auto_scheduler/custom_rules.h"
#include "tests/support/effort.h"
#include "tests/unit/script/task_session.h"

using namespace loopsmith;
using namespace loopsmith::script::auto_scheduler;
using tests::conv2d_layer;
using tests::matmul_add;
using tests::TaskSession;

namespace {

struct Sketched {
  explicit Sketched(const std::string& text, SketchOptions o = {.cores = 2}) : session(text), options(std::move(o)), prepared(*prepare(session.file, session.tasks[0])),
                                                                               initial(*prepared.stages, session.tasks[0].tensors), sketches(make_sketches(initial, options)) {}
  TaskSession session;
  SketchOptions options;
  Prepared prepared;
  State initial;
  std::vector<State> sketches;

  /// The steps of a sketch, one a line.
  [[nodiscard]] auto text(size_t sketch) const -> std::string {
    std::string out;
    for (const Step& step : sketches[sketch].steps()) { out += text_of(step) + "\n"; }
    return out;
  }
};

/// Draws candidates of every sketch. Each applies, keeps the results, and its steps give the same program when they are read as those of a record.
void require_candidates(const std::string& text, int usual_count, const SketchOptions& options = {.cores = 2}) {
  const int count = tests::size_of_test(usual_count, usual_count, 1);
  Sketched of(text, options);
  std::mt19937 random(7);
  TaskSession& session = of.session;
  for (size_t i = 0; i < of.sketches.size(); ++i) {
    const std::vector<Decision> decisions = decisions_of(of.initial, of.sketches[i], of.options);
    for (int n = 0; n < count; ++n) {
      auto find_extents = [&](const std::vector<Step>& steps) -> std::optional<std::vector<std::vector<int64_t>>> {
        auto applied = apply_candidate(session.file, session.tasks[0], of.prepared, steps);
        return applied.ok() ? std::optional(applied->extents) : std::nullopt;
      };
      std::vector<size_t> chosen;
      std::optional<State> state;
      // Many tiles make blocks that a GPU does not have.
      for (int draw = 0; !state && draw < 20'000; ++draw) {
        chosen.clear();
        for (const Decision& one : decisions) { chosen.push_back(random() % one.choices.size()); }
        state = candidate_of(of.initial, of.sketches[i], decisions, chosen, of.options, find_extents);
        if (!options.gpu) { break; }
      }
      INFO(fmt::format("sketch {}, candidate {}, seed 7:\n{}", i, n, of.text(i)));
      REQUIRE(state);
      auto applied = apply_candidate(session.file, session.tasks[0], of.prepared, state->steps());
      std::string steps;
      for (const Step& step : state->steps()) { steps += text_of(step) + "\n"; }
      INFO(steps);
      INFO((applied.ok() ? std::string() : applied.diagnostics()[0].message()));
      REQUIRE(applied.ok());
      const IRModule made = tests::require_same_results(*applied);
      auto read = apply_steps(session.file, session.tasks[0], state->steps(), {"log.json", 1});
      REQUIRE(read.ok());
      schedule::Schedule again(read->program, 1);
      REQUIRE(again.replay(read->trace).ok());
      REQUIRE(structural_equal(again.module(), made));
      // The choices are found again in the steps.
      const auto found = choices_of(of.initial, of.sketches[i], decisions, state->steps(), of.options, find_extents);
      REQUIRE(found);
      REQUIRE(found->is_exact);
      REQUIRE(candidate_of(of.initial, of.sketches[i], decisions, found->chosen, of.options, find_extents)->steps() == state->steps());
    }
  }
}

const std::string reduction = R"(from tvm import te, auto_scheduler

@auto_scheduler.register_workload
def softmax(N, M):
    A = te.placeholder((N, M), name="A")
    k = te.reduce_axis((0, M), name="k")
    m = te.compute((N,), lambda i: te.max(A[i, k], axis=k), name="m")
    e = te.compute((N, M), lambda i, j: te.exp(A[i, j] - m[i]), name="e")
    k1 = te.reduce_axis((0, M), name="k1")
    s = te.compute((N,), lambda i: te.sum(e[i, k1], axis=k1), name="s")
    out = te.compute((N, M), lambda i, j: e[i, j] / s[i], name="out")
    return [A, out]

task = auto_scheduler.SearchTask(func=softmax, args=(6, 40), target="llvm")
)";

const std::string product = R"(from tvm import te, auto_scheduler

@auto_scheduler.register_workload
def matmul(N, M, K):
    A = te.placeholder((N, K), name="A")
    B = te.placeholder((K, M), name="B")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return [A, B, C]

task = auto_scheduler.SearchTask(func=matmul, args=(4, 4, 32), target="llvm")
)";

}  // namespace

TEST_CASE("the stages of a task have TVM's numbers", "[auto_scheduler]") {
  Sketched of(conv2d_layer);
  std::string names;
  for (const StateStage& stage : of.initial.stages()) { names += stage.name + " "; }
  REQUIRE(names == "data pad_temp kernel conv2d_nchw bias T_add compute ");
}

TEST_CASE("a product with a consumer has three sketches", "[auto_scheduler]") {
  Sketched of(matmul_add);
  REQUIRE(of.sketches.size() == 3);
  const std::string tiles = "SP 2 0 16 [0, 0, 0] 1\nSP 2 4 16 [0, 0, 0] 1\nSP 2 8 32 [0] 1\nRE 2 [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]\n";
  REQUIRE(of.text(0) == tiles + "FSP 4 0 0 1\nFSP 4 2 1 1\nRE 4 [0, 2, 1, 3]\nCA 2 4 1\n");
  REQUIRE(of.text(1) == tiles + "FSP 4 0 0 2\nFSP 4 3 1 2\nRE 4 [0, 3, 1, 4, 2, 5]\nCA 2 4 3\n");
  REQUIRE(of.text(2) == tiles);
}

TEST_CASE("another structure of tiles", "[auto_scheduler]") {
  Sketched of(matmul_add, {.cores = 64, .structure = "SRS"});
  // The consumer follows the first level. The second level is a reduction, at which it cannot stand.
  REQUIRE(of.sketches.size() == 2);
  REQUIRE(of.text(1) == "SP 2 0 16 [0] 1\nSP 2 2 16 [0] 1\nRE 2 [0, 2, 4, 1, 3]\n");
}

TEST_CASE("a product without a consumer gets a copy of its result, and partial sums", "[auto_scheduler]") {
  Sketched of(product);
  REQUIRE(of.sketches.size() == 5);
  std::string all;
  for (size_t i = 0; i < of.sketches.size(); ++i) { all += of.text(i); }
  REQUIRE(all.find("CHW 2 local\n") != std::string::npos);
  REQUIRE(all.find("SP 2 2 32 [0] 1\nRF 2 2 2\n") != std::string::npos);
  REQUIRE(all.find("SP 2 2 32 [0] 1\nRF 2 3 2\nRE 2 [0, 1, 3, 2]\n") != std::string::npos);
}

TEST_CASE("cheap stages are always computed inline, those with branches and exponentials are not", "[auto_scheduler]") {
  Sketched conv(conv2d_layer);
  for (size_t i = 0; i < conv.sketches.size(); ++i) {
    REQUIRE(conv.text(i).starts_with("CI 5\n"));
    REQUIRE(conv.text(i).find("CI 1\n") == std::string::npos);
  }
  Sketched softmax(reduction);
  for (size_t i = 0; i < softmax.sketches.size(); ++i) { REQUIRE(softmax.text(i).find("CI") == std::string::npos); }
}

TEST_CASE("candidates of the sketches of a product", "[auto_scheduler]") { require_candidates(matmul_add, 2); }
TEST_CASE("candidates of the sketches of a product without a consumer", "[auto_scheduler]") { require_candidates(product, 2); }
TEST_CASE("candidates of the sketches of a convolution", "[auto_scheduler]") { require_candidates(conv2d_layer, 2); }
TEST_CASE("candidates of the sketches of softmax", "[auto_scheduler]") { require_candidates(reduction, 1); }

namespace {

// A small GPU, whose limits small tasks reach.
const SketchOptions on_gpu = {.cores = 2, .gpu = GpuParameters{.warp = 4, .block_threads = 64, .virtual_threads = 4}};

}  // namespace

TEST_CASE("a product with a consumer on a GPU has one sketch, in which both read shared memory", "[auto_scheduler]") {
  Sketched of(matmul_add, on_gpu);
  REQUIRE(of.sketches.size() == 1);
  REQUIRE(of.text(0) ==
          "SP 2 0 16 [0, 0, 0, 0] 1\nSP 2 5 16 [0, 0, 0, 0] 1\nSP 2 10 32 [0, 0] 1\nRE 2 [0, 5, 1, 6, 2, 7, 10, 11, 3, 8, 12, 4, 9]\n"
          "FSP 4 0 0 3\nFSP 4 4 1 3\nRE 4 [0, 4, 1, 5, 2, 6, 3, 7]\nCA 2 4 5\nCHR 1 shared [2]\nCA 2 3 6\nCHR 0 shared [3]\nCA 1 4 6\n");
}

TEST_CASE("a long reduction on a GPU is shared by the threads of a warp, in the kernel of its reader", "[auto_scheduler]") {
  Sketched of(R"(from tvm import te, auto_scheduler

@auto_scheduler.register_workload
def sums(N, M):
    A = te.placeholder((N, M), name="A")
    k = te.reduce_axis((0, M), name="k")
    B = te.compute((N,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((N,), lambda i: B[i] * 2.0, name="C")
    return [A, C]

task = auto_scheduler.SearchTask(func=sums, args=(8, 96), target="llvm")
)", on_gpu);
  REQUIRE(of.sketches.size() == 2);
  REQUIRE(of.text(0) == "SP 2 0 8 [4] 1\nAN 2 1 6\nFSP 1 1 0 1\nAN 1 2 6\nCA 1 2 0\n");
  REQUIRE(of.text(1).empty());
}

TEST_CASE("candidates for GPUs of a product", "[auto_scheduler]") { require_candidates(matmul_add, 2, on_gpu); }
TEST_CASE("candidates for GPUs of a product without a consumer", "[auto_scheduler]") { require_candidates(product, 2, on_gpu); }
TEST_CASE("candidates for GPUs of a convolution", "[auto_scheduler]") { require_candidates(conv2d_layer, 2, on_gpu); }
TEST_CASE("candidates for GPUs of softmax", "[auto_scheduler]") { require_candidates(reduction, 1, on_gpu); }

TEST_CASE("a rule of a file makes its sketch, and the record of the sketch is right", "[auto_scheduler]") {
  tests::TaskSession session(R"(from tvm import te, auto_scheduler


@auto_scheduler.register_workload
def row_sums(N, M):
    A = te.placeholder((N, M), name="A")
    k = te.reduce_axis((0, M), name="k")
    B = te.compute((N,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((N,), lambda i: B[i] * 2.0, name="C")
    return [A, C]


def is_last(search_policy, state, stage_id):
    if state.stages[stage_id].op.name == "C":
        return auto_scheduler.PreloadCustomSketchRule.APPLY_AND_SKIP_REST
    return auto_scheduler.PreloadCustomSketchRule.PASS


def tile(search_policy, state, stage_id):
    s0 = auto_scheduler.loop_state.State(state, search_policy.search_task.compute_dag)
    s1 = s0.copy()
    i0, i1 = s0.split(stage_id, s0[stage_id].iters[0], [8])
    s0.compute_at(stage_id - 1, stage_id, i0)
    s1.parallel(stage_id, s1[stage_id].iters[0])
    return [[s0.state_object, stage_id - 2], [s1.state_object, stage_id - 2]]


task = auto_scheduler.SearchTask(func=row_sums, args=(32, 16), target="llvm")
rules = [auto_scheduler.PreloadCustomSketchRule(is_last, tile, "tile C")]
)");
  auto prepared = script::auto_scheduler::prepare(session.file, session.tasks[0]);
  REQUIRE(prepared);
  auto failure = std::make_shared<std::string>();
  const auto rules = script::auto_scheduler::custom_rules(session.file, session.tasks[0], *prepared, failure);
  REQUIRE(rules.size() == 1);
  REQUIRE(rules[0].name == "tile C");
  const auto sketches = script::auto_scheduler::make_sketches(State(*prepared->stages, session.tasks[0].tensors), {.cores = 4}, rules);
  REQUIRE(failure->empty());
  REQUIRE(sketches.size() == 2);
  REQUIRE(text_of(sketches[0].steps()[0]) == "SP 2 0 32 [8] 1");
  REQUIRE(text_of(sketches[0].steps()[1]) == "CA 1 2 0");
  REQUIRE(text_of(sketches[1].steps()[0]) == "AN 2 0 3");
  (void)tests::require_right(session, sketches[0].steps());
}
