// Any JSON can be read as a trace: a valid trace is written again unchanged, and applying it to a program gives a program
// or a diagnostic.
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "tests/fuzz/fuzz.h"
#include "workspace/snapshot.h"

namespace loopsmith::fuzz {
namespace {

auto matmul() -> const IRModule& {
  static const auto document = workspace::analyse("matmul.tir", program_seeds()[0]);
  static const auto snapshot = document->snapshot();
  return snapshot->programs().at(0).module;
}

}  // namespace

void check_input(std::string_view input) {
  auto trace = schedule::trace_from_json(input);
  if (!trace) {
    if (trace.diagnostics().empty()) { fail("no trace, and no reason", input); }
    return;
  }
  std::string written = schedule::trace_to_json(*trace);
  auto again = schedule::trace_from_json(written);
  if (!again || schedule::trace_to_json(*again) != written) { fail("written and read it is another:\n" + written, input); }
  (void)trace->python();
  if (trace->instructions().size() > 40) { return; }
  schedule::Schedule sch(matmul(), 1);
  (void)sch.replay(*trace);
}

auto seeds() -> std::vector<std::string> {
  return {R"([[["GetBlock", [], ["C", "main"], ["b0"]], ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]], ["Split", ["l1", "None", 4], [1, 0], ["l4", "l5"]],)"
          R"(["Reorder", ["l4", "l2", "l5"], [], []], ["Vectorize", ["l5"], [], []], ["EnterPostproc", [], [], []]], []])",
          R"([[["GetBlock", [], ["C", "main"], ["b0"]], ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]], ["SamplePerfectTile", ["l1"], [2, 16], ["v4", "v5"]],)"
          R"(["Split", ["l1", "v4", "v5"], [1, 0], ["l6", "l7"]], ["DecomposeReduction", ["b0", "l3"], [], ["b8"]], ["Annotate", ["b0", "\"x\""], ["key"], []]], [[2, [4, 4]]]])",
          R"([[["GetBlock", [], ["C", "main"], ["b0"]], ["CacheRead", ["b0"], [0, "shared"], ["b1"]], ["CacheWrite", ["b0"], [0, "local"], ["b2"]],)"
          R"(["ComputeAt", ["b1", "l3"], [1, -1], []], ["Fuse", ["l1", "l2"], [1], ["l5"]], ["Bind", ["l5"], ["threadIdx.x"], []]], []])"};
}
auto pieces() -> std::vector<std::string> {
  std::vector<std::string> out = {"[", "]", ",", "\"", "null", "-1", "0", "1e9", "{", "}", ":", "\"l1\"", "\"b0\"", "\"v4\"", "\"None\"", "\"\\\"s\\\"\"", "true", "\"GetSBlock\""};
  for (const char* name : {"Split", "Fuse", "Reorder", "Parallel", "Unroll", "Bind", "CacheRead", "CacheWrite", "ComputeAt", "ReverseComputeAt", "ComputeInline", "ReverseComputeInline",
                           "RFactor", "Blockize", "Tensorize", "Annotate", "TransformLayout", "StorageAlign", "SetScope", "PadEinsum", "RollingBuffer", "ReIndex", "LoopPartition", "Merge"}) {
    out.push_back("[\"" + std::string(name) + "\", [\"l1\", \"l2\"], [0, 1], [\"l9\"]], ");
    out.push_back("[\"" + std::string(name) + "\", [\"b0\", \"l3\"], [0, \"local\", 1], [\"b9\"]], ");
  }
  return out;
}

}  // namespace loopsmith::fuzz
