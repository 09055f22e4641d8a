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
#include "tests/bench/matmul.h"

using namespace loopsmith;

namespace {

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

// What a step costs where there is much that it does not touch: `functions` in the module, `blocks` in the one that is scheduled.
auto crowd(int functions, int blocks) -> IRModule {
  std::string text = "@I.ir_module\nclass Module:\n";
  for (int f = 0; f < functions; ++f) {
    int stages = f == 0 ? blocks : 1;
    text += fmt::format("    @T.prim_func\n    def {}(A: T.Buffer((64,), \"float32\"), Z: T.Buffer((64,), \"float32\")):\n", f == 0 ? std::string("main") : fmt::format("f{}", f));
    for (int b = 0; b + 1 < stages; ++b) { text += fmt::format("        T{} = T.alloc_buffer((64,))\n", b); }
    for (int b = 0; b < stages; ++b) {
      text += fmt::format("        for i in range(64):\n            with T.block(\"B{0}\"):\n                vi = T.axis.spatial(64, i)\n                {1}[vi] = {2}[vi] + T.float32(1)\n", b,
                          b + 1 == stages ? "Z" : fmt::format("T{}", b), b == 0 ? "A" : fmt::format("T{}", b - 1));
    }
  }
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  for (size_t i = 0; i < file.size(); ++i) {
    if (file.declaration(i).module) { return file.declaration(i).module; }
  }
  return {};
}

void crowd_rows() {
  for (auto [functions, blocks] : {std::pair{1, 1}, std::pair{200, 1}, std::pair{1, 500}}) {
    IRModule module = crowd(functions, blocks);
    if (!module) { fmt::print("the crowded program does not parse\n"); std::exit(1); }
    schedule::Schedule base(module, 1);
    auto block = base.call("get_block", {"B0"});
    auto loops = base.call("get_loops", {*block});
    schedule::Value loop = schedule::loops_of(*loops)[0];
    double us = best_us([&] {
      schedule::Schedule sch = base;
      if (!sch.call("split", {loop, schedule::Value::List{nullptr, 8}}).ok()) { std::exit(1); }
    });
    fmt::print("{:<44} {:>10.2f} us\n", fmt::format("one split, {} functions, {} blocks in this one", functions, blocks), us);
  }
}

void row(const char* what, double us, double tvm_us) { fmt::print("{:<44} {:>10.2f} us   TVM {:>8.0f} us   {:>6.1f} times faster\n", what, us, tvm_us, tvm_us / us); }

}  // namespace

int main() {
  syntax::Document document(bench::matmul_text);
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
      }), bench::tvm_new_schedule_and_split);
  auto trace = schedule::trace_from_json(bench::matmul_trace);
  if (!trace) { fmt::print("{}\n", trace.diagnostics()[0].message()); return 1; }
  schedule::Schedule done(module, 1);
  if (auto status = done.replay(*trace); !status) { fmt::print("{}\n", status.diagnostics()[0].message()); return 1; }
  row("copy of a schedule", best_us([&] { schedule::Schedule copy = done; if (copy.trace().empty()) { std::exit(1); } }), bench::tvm_copy);
  row(fmt::format("replay of a trace of {} instructions", trace->size()).c_str(), best_us([&] {
        schedule::Schedule sch(module, 1);
        if (!sch.replay(*trace).ok()) { std::exit(1); }
      }), bench::tvm_replay);
  row("replay without its postprocessing", best_us([&] {
        schedule::Schedule sch(module, 1);
        if (!sch.replay(*trace, true).ok()) { std::exit(1); }
      }), bench::tvm_replay);
  crowd_rows();
  return 0;
}
