// Pieces of the tuner that files write: rules, post-processors and mutators, in TVM's form and in the short one. The classes are those of TVM's tests of post-order
// apply, with their imports.
#include <algorithm>
#include <cmath>
#include <set>

#include "frontend/file.h"
#include "intrinsics/registry.h"
#include "script/schedules.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"
#include "tune/metaschedule/rules/post_order_apply.h"
#include "tune/written/pieces.h"

using namespace loopsmith;

namespace {

constexpr const char* imports = R"PY(
from typing import List
from tvm.meta_schedule.schedule_rule import PyScheduleRule
from tvm.meta_schedule.utils import derived_object
from tvm.tir.schedule import BlockRV, Schedule

def _is_root(sch: Schedule, block: BlockRV) -> bool:
    return sch.get_sref(block).parent is None
)PY";

constexpr const char* product = R"PY(
@T.prim_func
def main(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
    for i, j, k in T.grid(1024, 1024, 1024):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)PY";

constexpr const char* three_stages = R"PY(
@T.prim_func
def main(A: T.Buffer((1024, 1024), "float32"), D: T.Buffer((1024, 1024), "float32")):
    B = T.alloc_buffer((1024, 1024), "float32")
    C = T.alloc_buffer((1024, 1024), "float32")
    for i, j in T.grid(1024, 1024):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(1024, 1024):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 3.0
    for i, j in T.grid(1024, 1024):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * 5.0
)PY";

/// A file with a program `main` and pieces.
struct Written {
  explicit Written(const std::string& text) : document(text), file(script::predeclared) {
    intrinsics::install();
    file.update(document);
    const frontend::Declaration* program = file.find(Name("main"));
    REQUIRE(program);
    module = program->module;
    REQUIRE(module);
    auto parsed = target::parse("llvm -mcpu=x86-64 -num-cores=2");
    REQUIRE(parsed.ok());
    target = *parsed;
  }
  auto pieces(const tune::PieceTexts& texts) -> Result<tune::SpacePieces> {
    return tune::read_pieces(file, target, texts, [this](const Diagnostics& more) { reported.insert(reported.end(), more.begin(), more.end()); });
  }
  /// The schedules that rules make; all their refusals are in `reported`.
  auto schedules(const char* rules) -> std::vector<schedule::Schedule> {
    auto read = pieces({rules, "", ""});
    REQUIRE(read.ok());
    auto space = tune::rules::post_order_apply(module, Name("main"), *read->rules, 1);
    REQUIRE(space.ok());
    reported.insert(reported.end(), space->refusals.begin(), space->refusals.end());
    return std::move(space->schedules);
  }

  syntax::Document document;
  frontend::File file;
  IRModule module;
  target::Target target;
  Diagnostics reported;
};

auto lines_of(const schedule::Schedule& sch) -> std::string {
  std::string out;
  for (const std::string& line : sch.trace().simplified(true).python_lines()) { out += line + "\n"; }
  return out;
}

}  // namespace

TEST_CASE("a class of TVM's form is a rule, as it is written for TVM") {
  Written w(std::string(imports) + product + R"PY(
@derived_object
class WowSoFancyScheduleRule(PyScheduleRule):
    def _initialize_with_tune_context(self, context: "TuneContext") -> None:
        pass

    def apply(self, sch: Schedule, block: BlockRV) -> List[Schedule]:
        if _is_root(sch, block):
            return [sch]
        new_sch = sch.copy()
        i, j, k = new_sch.get_loops(block=block)
        i_0, i_1, i_2, i_3 = new_sch.split(loop=i, factors=[2, 4, 64, 2])
        j_0, j_1, j_2, j_3 = new_sch.split(loop=j, factors=[4, 64, 2, 2])
        k_0, k_1 = new_sch.split(loop=k, factors=[32, 32])
        new_sch.reorder(i_0, j_0, i_1, j_1, k_0, i_2, j_2, k_1, i_3, j_3)
        return [new_sch]
)PY");
  auto made = w.schedules("WowSoFancyScheduleRule");
  CHECK(w.reported.empty());
  REQUIRE(made.size() == 1);
  auto block = made[0].call("get_block", {"matmul", "main"});
  REQUIRE(block.ok());
  auto loops = made[0].call("get_loops", {*block});
  REQUIRE(loops.ok());
  CHECK(schedule::loops_of(*loops).size() == 10);
  // The class and a piece of it are the same.
  CHECK(w.schedules("WowSoFancyScheduleRule()").size() == 1);
}

TEST_CASE("a class keeps state between calls, from its constructor and from the context of the search") {
  Written w(std::string(imports) + product + R"PY(
@derived_object
class Base(PyScheduleRule):
    factor = 4
    def _initialize_with_tune_context(self, context):
        self.kind = context.target.kind.name
        self.calls = 0
    def split(self, sch, loop):
        return sch.split(loop, factors=[None, self.factor])

@derived_object
class Counts(Base):
    def __init__(self, factor=2):
        self.factor = factor
    def apply(self, sch, block):
        self.calls += 1
        if _is_root(sch, block) or self.kind != "llvm":
            return [sch]
        assert self.calls == 2
        self.split(sch, sch.get_loops(block)[0])
        return [sch]
)PY");
  auto made = w.schedules("Counts(factor=8)");
  CHECK(w.reported.empty());
  REQUIRE(made.size() == 1);
  CHECK(lines_of(made[0]).find("factors=[None, 8]") != std::string::npos);
}

TEST_CASE("several results are several schedules, and a rule may remove a block") {
  Written w(std::string(imports) + three_stages + R"PY(
@derived_object
class RemoveBlock(PyScheduleRule):
    def apply(self, sch: Schedule, block: BlockRV) -> List[Schedule]:
        if _is_root(sch, block):
            return [sch]
        sch = sch.copy()
        if sch.get(block).name_hint == "B":
            sch.compute_inline(block)
        return [sch]

@derived_object
class TrinityDoubleRule(PyScheduleRule):
    def apply(self, sch: Schedule, block: BlockRV) -> List[Schedule]:
        if _is_root(sch, block):
            return [sch]
        result = []
        for outer, inner in [[[16, 64], [64, 16]], [[2, 512], [2, 512]]]:
            new_sch = sch.copy()
            i, j = new_sch.get_loops(block=block)
            i_0, i_1 = new_sch.split(loop=i, factors=outer)
            j_0, j_1 = new_sch.split(loop=j, factors=inner)
            new_sch.reorder(i_0, j_0, i_1, j_1)
            result.append(new_sch)
        return result
)PY");
  auto made = w.schedules("RemoveBlock, TrinityDoubleRule");
  CHECK(w.reported.empty());
  REQUIRE(made.size() == 4);
  std::set<std::string> texts;
  for (const schedule::Schedule& sch : made) { texts.insert(lines_of(sch)); }
  CHECK(texts.size() == 4);
  CHECK(texts.contains(
      "b0 = sch.get_block(name=\"A\", func_name=\"main\")\n"
      "b1 = sch.get_block(name=\"B\", func_name=\"main\")\n"
      "b2 = sch.get_block(name=\"C\", func_name=\"main\")\n"
      "sch.compute_inline(block=b1)\n"
      "l3, l4 = sch.get_loops(block=b2)\n"
      "l5, l6 = sch.split(loop=l3, factors=[16, 64], preserve_unit_iters=True, disable_predication=False)\n"
      "l7, l8 = sch.split(loop=l4, factors=[64, 16], preserve_unit_iters=True, disable_predication=False)\n"
      "sch.reorder(l5, l7, l6, l8)\n"
      "l9, l10 = sch.get_loops(block=b0)\n"
      "l11, l12 = sch.split(loop=l9, factors=[2, 512], preserve_unit_iters=True, disable_predication=False)\n"
      "l13, l14 = sch.split(loop=l10, factors=[2, 512], preserve_unit_iters=True, disable_predication=False)\n"
      "sch.reorder(l11, l13, l12, l14)\n"));
  // Rules of TVM stand beside written ones, and `default` is the target's list.
  CHECK(w.schedules("RemoveBlock, default").size() >= 1);
}

TEST_CASE("pieces that fail are errors with their place, and leave the schedule as it was") {
  struct Case { const char* body; const char* message; };
  for (const Case& c : {
           Case{"    while True:\n        pass\n", "this is too much to evaluate"},
           Case{"    raise ValueError('no')\n", "the schedule rule `bad` raises an exception"},
           Case{"    return None\n", "the schedule rule `bad` returns nothing instead of a list of schedules"},
           Case{"    return [sch, 3]\n", "the schedule rule `bad` returns a list with `3` instead of a list of schedules"},
           Case{"    return 'x'\n", "the schedule rule `bad` returns the str `'x'` instead of a list of schedules"},
           Case{"    return []\n", "the schedule rule `bad` returns an empty list: return `[sch]` to leave the block as it is"},
           Case{"    return [sch] * 300\n", "the schedule rule `bad` returns more than 256 schedules for one block"},
           Case{"    return [tir.Schedule(sch.mod)]\n", "uses Python that Loopsmith does not evaluate"},
           Case{"    sch.get_block('nobody')\n    return [sch]\n", "nobody"},
           Case{"    return bad(sch, block)\n", ""},
           Case{"    import os\n    os.remove('x')\n    sch.annotate(block, 'a', os.getpid())\n    return [sch]\n", "uses Python that Loopsmith does not evaluate"},
           Case{"    return [sch.nothing()]\n", "nothing"},
       }) {
    Written w(std::string(product) + "\n@ls.rule\ndef bad(sch, block):\n" + c.body + "\n@ls.rule\ndef good(sch, block):\n    if sch.get_sref(block).parent is None:\n        return sch\n    sch.parallel(sch.get_loops(block)[0])\n    return sch\n");
    INFO(c.body);
    auto made = w.schedules("bad, good");
    REQUIRE(!w.reported.empty());
    CHECK(w.reported[0].severity == Severity::Error);
    CHECK(w.file.holds(w.reported[0].where.decl));
    CHECK(w.reported[0].message().find(c.message) != std::string::npos);
    REQUIRE(made.size() == 1);
    CHECK(lines_of(made[0]).find("sch.parallel") != std::string::npos);
  }
}

TEST_CASE("a schedule that does not continue the one that the rule was given is refused") {
  Written w(std::string(product) + R"PY(
kept = []

@ms.derived_object
class Keeps(ms.schedule_rule.PyScheduleRule):
    def apply(self, sch, block):
        if sch.get_sref(block).parent is None:
            return [sch]
        other = sch.copy()
        other.get_loops(block)
        sch.parallel(sch.get_loops(block)[0])
        if not kept:
            kept.append(other)
            return [sch]
        return [kept[0]]
)PY");
  (void)w.schedules("Keeps");
  CHECK(w.reported.empty());
  auto made = w.schedules("Keeps, Keeps");
  REQUIRE(!w.reported.empty());
  CHECK(w.reported[0].message() == "the schedule rule `Keeps` returns a schedule that does not continue the one that it was given");
  CHECK(made.size() == 1);
}

TEST_CASE("a block with the annotation schedule_rule is scheduled by the rule that the file registers for it") {
  for (const char* decorator : {"@ls.rule\n", "@tvm.register_func(\"meta_schedule.cpu.split_rows\")\n"}) {
    std::string program(product);
    program.insert(program.find("            with T.init"), "            T.block_attr({\"schedule_rule\": \"split_rows\"})\n");
    Written w(program + "\n" + decorator + "def split_rows(sch, block):\n    i, j, k = sch.get_loops(block)\n    sch.split(i, [None, 8])\n    return [sch]\n");
    auto pieces = w.pieces({});
    REQUIRE(pieces.ok());
    CHECK(pieces->custom.contains("split_rows"));
    auto space = tune::rules::post_order_apply(w.module, Name("main"), tune::rules::default_rules(w.target, pieces->custom), 1);
    REQUIRE(space.ok());
    REQUIRE(space->schedules.size() == 1);
    CHECK(lines_of(space->schedules[0]).find("factors=[None, 8]") != std::string::npos);
    CHECK(lines_of(space->schedules[0]).find("tiling_structure") == std::string::npos);
  }
}

TEST_CASE("written post-processors accept and reject, and one that runs out of steps accepts no more") {
  Written w(std::string(product) + R"PY(
@ms.derived_object
class Fits(ms.postproc.PyPostproc):
    def _initialize_with_tune_context(self, context):
        pass
    def apply(self, sch):
        sch.annotate(sch.get_block("matmul"), "seen", 1)
        return True

@ls.postproc
def never(sch):
    return False

@ls.postproc
def endless(sch):
    while True:
        pass

@ls.postproc
def unsure(sch):
    return 1
)PY");
  schedule::Schedule sch(w.module, 1);
  auto run = [&](const char* name) {
    auto pieces = w.pieces({"", name, ""});
    REQUIRE(pieces.ok());
    return pieces->postprocs->front().apply(sch, {});
  };
  auto fits = run("Fits");
  REQUIRE(fits.ok());
  CHECK(*fits);
  CHECK(lines_of(sch).find("ann_key=\"seen\"") != std::string::npos);
  auto rejected = run("never");
  REQUIRE(rejected.ok());
  CHECK(!*rejected);
  CHECK(!run("unsure").ok());
  auto pieces = w.pieces({"", "endless", ""});
  REQUIRE(pieces.ok());
  CHECK(!pieces->postprocs->front().apply(sch, {}).ok());
  auto again = pieces->postprocs->front().apply(sch, {});
  REQUIRE(!again.ok());
  CHECK(again.diagnostics().front().message().find("accepts no more schedules") != std::string::npos);
}

TEST_CASE("written mutators change decisions of traces") {
  Written w(std::string(product) + R"PY(
@ms.derived_object
class Wider(ms.mutator.PyMutator):
    def __init__(self, index):
        self.index = index
    def apply(self, trace, _):
        for inst in trace.insts:
            if inst.kind.name == "SampleCategorical":
                return trace.with_decision(inst, self.index, remove_postproc=True)
        return None

@ls.mutator
def wrong(trace):
    return 3
)PY");
  schedule::Schedule sch(w.module, 1);
  schedule::RandomEngine random(1);
  auto pieces = w.pieces({"", "", "{Wider(2): 0.5, MutateUnroll: 0.25, wrong: 0.1}"});
  REQUIRE(pieces.ok());
  REQUIRE(pieces->mutators->size() == 3);
  CHECK((*pieces->mutators)[1].probability == 0.25);
  const auto& wider = (*pieces->mutators)[0].mutator;
  CHECK(!wider.apply({}, sch.trace(), random));
  REQUIRE(sch.call("sample_categorical", {schedule::Value(std::vector<int64_t>{4, 8, 16}), schedule::Value(std::vector<double>{1, 0, 0})}).ok());
  auto made = wider.apply({}, sch.trace(), random);
  REQUIRE(made);
  CHECK(*made->instructions()[0]->decision.integer() == 2);
  CHECK(w.reported.empty());
  CHECK(!(*pieces->mutators)[2].mutator.apply({}, sch.trace(), random));
  REQUIRE(w.reported.size() == 1);
  CHECK(w.reported[0].message() == "the mutator `wrong` returns `3` instead of a trace or None");
}

TEST_CASE("TVM's pieces take TVM's arguments") {
  Written w(product);
  CHECK(w.schedules("MultiLevelTiling(structure=\"SSRSRS\", max_innermost_factor=64, reuse_write=ms.schedule_rule.ReuseType(req=\"may\", levels=[1, 2], scope=\"global\"))").size() == 3);
  CHECK(w.schedules("ms.schedule_rule.ParallelizeVectorizeUnroll(max_jobs_per_core=4, max_vectorize_extent=8, unroll_max_steps=[0, 16], unroll_explicit=False)").size() == 1);
  auto pieces = w.pieces({"AutoInline", "RewriteReductionBlock, DisallowDynamicLoop()", "MutateTileSize=0.9, MutateParallel(4)"});
  REQUIRE(pieces.ok());
  CHECK(pieces->rules->size() == 1);
  CHECK(pieces->postprocs->size() == 2);
  CHECK(pieces->mutators->at(1).probability == 1);
  for (const char* bad : {"MultiLevelTiling(structure=\"SXR\")", "MultiLevelTiling(max_innermost_factor=3)", "AutoInline(1", "nobody", "3", "RewriteLayout", "AddRFactor(max_jobs_per_core=\"x\")", "PyScheduleRule"}) {
    INFO(bad);
    auto wrong = w.pieces({bad, "", ""});
    CHECK(!wrong.ok());
  }
}

TEST_CASE("the lists by `create` are the default lists of the targets") {
  const std::string half_product = R"PY(
@T.prim_func
def main(A: T.Buffer((512, 512), "float16"), B: T.Buffer((512, 512), "float16"), C: T.Buffer((512, 512), "float32")):
    for i, j, k in T.grid(512, 512, 512):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")
)PY";
  const std::string product_text = product;
  const std::string* program = &product_text;
  std::string kind, target;
  SECTION("llvm") { kind = "llvm"; target = "llvm -mcpu=x86-64 -num-cores=2"; }
  SECTION("cuda") { kind = "cuda"; target = "cuda -arch=sm_70"; }
  SECTION("cuda-tensorcore") { kind = "cuda-tensorcore"; target = "cuda -arch=sm_80"; program = &half_product; }
  SECTION("hexagon") { kind = "hexagon"; target = "llvm -num-cores=4"; }
  Written w(*program);
  auto parsed = target::parse(target);
  REQUIRE(parsed.ok());
  w.target = *parsed;
  if (kind == "hexagon") { w.target.kind = "hexagon"; }
  auto read = w.pieces({"ScheduleRule.create(\"" + kind + "\")", "Postproc.create(\"" + kind + "\")", "Mutator.create(\"" + kind + "\")"});
  REQUIRE(read.ok());
  auto named = tune::rules::post_order_apply(w.module, Name("main"), *read->rules, 1);
  auto usual = tune::rules::post_order_apply(w.module, Name("main"), tune::rules::default_rules(w.target), 1);
  REQUIRE(named.ok());
  REQUIRE(usual.ok());
  REQUIRE(named->schedules.size() == usual->schedules.size());
  for (size_t i = 0; i < usual->schedules.size(); ++i) { CHECK(lines_of(named->schedules[i]) == lines_of(usual->schedules[i])); }
  const auto postprocs = tune::metaschedule::default_postprocs(w.target);
  REQUIRE(read->postprocs->size() == postprocs.size());
  for (size_t i = 0; i < postprocs.size(); ++i) { CHECK((*read->postprocs)[i].name == postprocs[i].name); }
  const auto mutators = tune::metaschedule::default_mutators(w.target);
  REQUIRE(read->mutators->size() == mutators.size());
  for (size_t i = 0; i < mutators.size(); ++i) {
    CHECK((*read->mutators)[i].mutator.name == mutators[i].mutator.name);
    CHECK((*read->mutators)[i].probability == mutators[i].probability);
  }
}

TEST_CASE("a filter tiles blocks that MultiLevelTiling leaves alone, and a limit of threads holds") {
  Written w(std::string(three_stages) + R"PY(
def second(sch, block):
    return sch.get(block).name_hint == "B"
)PY");
  const auto tiled = w.schedules("MultiLevelTiling(structure=\"SS\", filter_fn=second)");
  REQUIRE(tiled.size() == 1);
  CHECK(lines_of(tiled[0]).find("tiling_structure") != std::string::npos);
  CHECK(w.reported.empty());
  const auto bound = w.schedules("AutoBind(max_threadblocks=2, thread_extents=[32], max_threads_per_block=64)");
  REQUIRE(bound.size() == 1);
  // More elements than 2 blocks of 64 threads have: the rest is a loop.
  CHECK(lines_of(bound[0]).find("factors=[None, 2, 64]") != std::string::npos);
  CHECK(w.reported.empty());
  (void)w.schedules("AutoBind()");
  REQUIRE(!w.reported.empty());
  CHECK(w.reported[0].message().find("no limit of threads") != std::string::npos);
}

namespace {

constexpr const char* model_imports = R"PY(
import numpy as np
from tvm import meta_schedule as ms
from tvm.meta_schedule.cost_model import PyCostModel
from tvm.meta_schedule.runner import RunnerResult
from tvm.meta_schedule.utils import derived_object
)PY";

/// Schedules of the product whose inner loop has the given lengths.
auto splits_of(Written& w, const std::vector<int64_t>& lengths) -> std::vector<schedule::Schedule> {
  std::vector<schedule::Schedule> out;
  for (int64_t length : lengths) {
    schedule::Schedule sch(w.module, 1);
    auto block = sch.call("get_block", {"matmul", "main"});
    REQUIRE(block.ok());
    auto loops = sch.call("get_loops", {*block});
    REQUIRE(loops.ok());
    const auto* list = loops->as<schedule::Value::List>();
    REQUIRE(list);
    REQUIRE(sch.call("split", {(*list)[1], schedule::Value(schedule::Value::List{schedule::Value(), schedule::Value(length)})}).ok());
    out.push_back(sch);
  }
  return out;
}

auto model_of(Written& w, const char* text) -> Result<tune::ReadModel> {
  return tune::read_model(w.file, w.target, text, [&w](const Diagnostics& more) { w.reported.insert(w.reported.end(), more.begin(), more.end()); });
}
auto written_model_of(Written& w, const char* text) -> std::shared_ptr<tune::CandidateModel> {
  auto read = model_of(w, text);
  REQUIRE(read.ok());
  auto* model = std::get_if<std::shared_ptr<tune::CandidateModel>>(&*read);
  REQUIRE(model);
  return *model;
}

}  // namespace

TEST_CASE("a written cost model sees TVM's features of each candidate, and learns from measurements") {
  Written w(std::string(model_imports) + product + R"PY(
@derived_object
class Loops(PyCostModel):
    """Prefers few loops; after an update, what the measurements have shown."""

    def __init__(self, weight=1.0):
        super().__init__()
        self.extractor = ms.feature_extractor.FeatureExtractor.create("per-store-feature")
        self.weight = weight
        self.measured = []

    def load(self, path: str) -> None:
        pass

    def save(self, path: str) -> None:
        pass

    def update(self, context, candidates, results) -> None:
        for candidate, result in zip(candidates, results):
            if result.error_msg is None:
                self.measured.append(float(np.mean(result.run_secs)))

    def predict(self, context, candidates) -> np.ndarray:
        features = [f.numpy() for f in self.extractor.extract_from(context, candidates)]
        assert features[0].shape == (1, 164)
        # The number of loops around the store, as log2(x + 1).
        scores = np.array([-x[:, 162].sum() for x in features], dtype="float64")
        return self.weight * scores + len(self.measured)
)PY");
  auto model = written_model_of(w, "Loops(2.0)");
  const tune::ModelTask task{w.module, Name("main"), w.target};
  auto candidates = splits_of(w, {4, 8});
  candidates.emplace_back(w.module, 1);
  const std::vector<double> scores = model->predict(task, candidates);
  CHECK(w.reported.empty());
  REQUIRE(scores.size() == 3);
  CHECK(scores[0] == scores[1]);
  CHECK(scores[2] == Approx(-2 * std::log2(4.0)));
  CHECK(scores[0] == Approx(-2 * std::log2(5.0)));
  model->update(task, {{candidates[0], 0.5}, {candidates[1], 0, false, true}});
  CHECK(model->predict(task, candidates)[2] == Approx(-2 * std::log2(4.0) + 1));
  CHECK(w.reported.empty());
}

TEST_CASE("written cost models that fail are errors with their place, and the search keeps its own order") {
  Written w(std::string(model_imports) + product + R"PY(
@derived_object
class Short(PyCostModel):
    def predict(self, context, candidates):
        return [1.0]

@derived_object
class Words(PyCostModel):
    def predict(self, context, candidates):
        return ["fast" for _ in candidates]

@derived_object
class Divides(PyCostModel):
    def predict(self, context, candidates):
        return np.zeros(len(candidates)) / 0

@derived_object
class Endless(PyCostModel):
    def predict(self, context, candidates):
        while True:
            pass

@derived_object
class Raises(PyCostModel):
    def predict(self, context, candidates):
        raise ValueError("no")

@derived_object
class Foreign(PyCostModel):
    def predict(self, context, candidates):
        return sklearn.predict(candidates)

@derived_object
class Empty(PyCostModel):
    pass

class Plain:
    pass
)PY");
  const tune::ModelTask task{w.module, Name("main"), w.target};
  const auto candidates = splits_of(w, {4, 8});
  for (const char* name : {"Short", "Words", "Divides", "Endless", "Raises", "Foreign"}) {
    INFO(name);
    w.reported.clear();
    auto model = written_model_of(w, name);
    CHECK(model->predict(task, candidates).empty());
    CHECK(w.reported.size() == 1);
    CHECK((w.reported.empty() || w.reported[0].where.is_known()));
    CHECK(model->predict(task, candidates).empty());
    CHECK(w.reported.size() == 1);
  }
  for (const char* name : {"Empty", "Plain", "missing", "3", "CostModel.create(\"oracle\")"}) {
    INFO(name);
    CHECK(!model_of(w, name).ok());
  }
}

TEST_CASE("TVM's cost models stand for those of the tuner") {
  Written w(std::string(model_imports) + product);
  const std::pair<const char*, const char*> rows[] = {{"ms.cost_model.CostModel.create(\"xgb\", num_tuning_cores=2)", "xgboost"}, {"ms.CostModel.create(\"random\")", "random"},
                                                      {"RandomModel()", "random"}, {"XGBModel(num_warmup_samples=8)", "xgboost"}, {"\"trees\"", "trees"}};
  for (const auto& [text, option] : rows) {
    INFO(text);
    auto read = model_of(w, text);
    REQUIRE(read.ok());
    REQUIRE(std::get_if<std::string>(&*read));
    CHECK(std::get<std::string>(*read) == option);
  }
}
