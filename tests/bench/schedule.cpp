// What schedules cost, against TVM 0.19's figures in the design's budgets: a new schedule with one split (354 us), a copy (19 us),
// the replay of a matmul trace (37 instructions 2.04 ms; 56 instructions 3.46 ms). Processor time, best of several rounds.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "frontend/file.h"
#include "ir/printer.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "syntax/document.h"

using namespace loopsmith;

namespace {

constexpr const char* program = R"(
@T.prim_func
def main(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
    for i, j, k in T.grid(1024, 1024, 1024):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

// Multi-level tiling for a CPU, as a tuner samples it.
constexpr const char* trace_text = R"([[
["GetBlock",[],["C","main"],["b0"]],["GetBlock",[],["root","main"],["b1"]],
["Annotate",["b0","\"SSRSRS\""],["meta_schedule.tiling_structure"],[]],["GetLoops",["b0"],[],["l2","l3","l4"]],
["SamplePerfectTile",["l2"],[4,64],["v5","v6","v7","v8"]],["Split",["l2","v5","v6","v7","v8"],[1,0],["l9","l10","l11","l12"]],
["SamplePerfectTile",["l3"],[4,64],["v13","v14","v15","v16"]],["Split",["l3","v13","v14","v15","v16"],[1,0],["l17","l18","l19","l20"]],
["SamplePerfectTile",["l4"],[2,64],["v21","v22"]],["Split",["l4","v21","v22"],[1,0],["l23","l24"]],
["Reorder",["l9","l17","l10","l18","l23","l11","l19","l24","l12","l20"],[],[]],
["CacheWrite",["b0",[]],[0,"global"],["b25"]],["ReverseComputeAt",["b25","l18"],[1,-1],[]],
["Annotate",["b1",160],["meta_schedule.parallel"],[]],["Annotate",["b1",64],["meta_schedule.vectorize"],[]],
["SampleCategorical",[],[[0,16,64,512],[0.25,0.25,0.25,0.25]],["v26"]],["Annotate",["b1","v26"],["meta_schedule.unroll_explicit"],[]],
["EnterPostproc",[],[],[]],["GetBlock",[],["root","main"],["b27"]],
["Unannotate",["b27"],["meta_schedule.parallel"],[]],["Unannotate",["b27"],["meta_schedule.vectorize"],[]],["Unannotate",["b27"],["meta_schedule.unroll_explicit"],[]],
["GetChildBlocks",["b27"],[],["b28","b29"]],["GetLoops",["b28"],[],["l30","l31","l32","l33","l34","l35","l36","l37","l38","l39"]],
["Fuse",["l30","l31"],[1],["l40"]],["Parallel",["l40"],[],[]],["Vectorize",["l39"],[],[]],
["Annotate",["l40",16],["pragma_auto_unroll_max_step"],[]],["Annotate",["l40",1],["pragma_unroll_explicit"],[]],
["GetLoops",["b29"],[],["l41","l42","l43","l44","l45"]],["Fuse",["l44","l45"],[1],["l46"]],["Split",["l46","None",64],[1,0],["l47","l48"]],["Vectorize",["l48"],[],[]],
["GetBlock",[],["C","main"],["b49"]],["GetLoops",["b49"],[],["l50","l51","l52","l53","l54","l55","l56","l57","l58"]],
["DecomposeReduction",["b49","l53"],[],["b59"]]],
[[4,[8,2,8,8]],[6,[4,4,1,64]],[8,[64,16]],[15,2]]])";

// Processor time of this thread: other work on the machine does not count.
auto cpu_us() -> double {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

template <class F>
auto best_us(const F& f) -> double {
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    constexpr int count = 40;
    double start = cpu_us();
    for (int i = 0; i < count; ++i) { f(); }
    best = std::min(best, (cpu_us() - start) / count);
  }
  return best;
}

void row(const char* what, double us, double tvm_us) { fmt::print("{:<44} {:>10.2f} us   TVM {:>8.0f} us   {:>6.1f} times faster\n", what, us, tvm_us, tvm_us / us); }

}  // namespace

int main() {
  syntax::Document document(program);
  frontend::File file;
  file.update(document);
  IRModule module;
  for (size_t i = 0; i < file.size(); ++i) {
    if (file.declaration(i).module) { module = file.declaration(i).module; }
  }
  if (!module) { fmt::print("the program does not parse\n"); return 1; }
  row("new schedule and one split", best_us([&] {
        schedule::Schedule sch(module, 1);
        auto block = sch.call("get_block", {"C"});
        auto loops = sch.call("get_loops", {*block});
        if (!sch.call("split", {schedule::loops_of(*loops)[0], schedule::Value::List{nullptr, 32}}).ok()) { std::exit(1); }
      }), 354);
  auto trace = schedule::trace_from_json(trace_text);
  if (!trace) { fmt::print("{}\n", trace.diagnostics()[0].message()); return 1; }
  schedule::Schedule done(module, 1);
  if (auto status = done.replay(*trace); !status) { fmt::print("{}\n", status.diagnostics()[0].message()); return 1; }
  row("copy of a schedule", best_us([&] { schedule::Schedule copy = done; if (copy.trace().empty()) { std::exit(1); } }), 19);
  row(fmt::format("replay of a trace of {} instructions", trace->size()).c_str(), best_us([&] {
        schedule::Schedule sch(module, 1);
        if (!sch.replay(*trace).ok()) { std::exit(1); }
      }), 2040);
  row("replay without its postprocessing", best_us([&] {
        schedule::Schedule sch(module, 1);
        if (!sch.replay(*trace, true).ok()) { std::exit(1); }
      }), 2040);
  return 0;
}
