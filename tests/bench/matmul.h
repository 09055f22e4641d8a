// The program and the trace of TVM's figures for schedules: matmul 1024, tiled for a CPU as by a tuner.
#pragma once

namespace loopsmith::bench {

inline constexpr const char* matmul_text = R"(
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
inline constexpr const char* matmul_trace = R"([[
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

/// The times of TVM 0.19 in microseconds, and the number of instructions of the replayed trace.
inline constexpr double tvm_new_schedule_and_split = 354;
inline constexpr double tvm_copy = 19;
inline constexpr double tvm_replay = 2040;
inline constexpr double tvm_replay_instructions = 37;

}  // namespace loopsmith::bench
