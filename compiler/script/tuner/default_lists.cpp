// The texts of TVM's default lists: see default_lists.h. tests/unit/tune/written.cpp compares them with the lists that the tuner itself uses.
#include "script/tuner/default_lists.h"

namespace loopsmith::script {
namespace {

struct Lists { std::string_view kind, rules, postprocs, mutators; };

constexpr std::string_view cpu_mutators = "{MutateTileSize(): 0.9, MutateComputeLocation(): 0.05, MutateUnroll(): 0.03, MutateParallel(max_jobs_per_core=16): 0.02}";
constexpr std::string_view gpu_mutators = "{MutateTileSize(): 0.9, MutateUnroll(): 0.08, MutateThreadBinding(): 0.02}";

constexpr std::string_view llvm_rules = R"PY([
    ApplyCustomRule(),
    InlineConstantScalars(),
    AutoInline(into_producer=False, into_consumer=True, inline_const_tensor=True, disallow_if_then_else=True, require_injective=True, require_ordered=True,
               disallow_op=["tir.exp"]),
    AddRFactor(max_jobs_per_core=16, max_innermost_factor=64),
    MultiLevelTiling(structure="SSRSRS", max_innermost_factor=64, reuse_write=ReuseType(req="may", levels=[1, 2], scope="global")),
    ParallelizeVectorizeUnroll(max_jobs_per_core=16, max_vectorize_extent=64, unroll_max_steps=[0, 16, 64, 512], unroll_explicit=True),
    RandomComputeLocation(),
])PY";

constexpr std::string_view hexagon_rules = R"PY([
    ApplyCustomRule(),
    InlineConstantScalars(),
    AutoInline(into_producer=False, into_consumer=True, inline_const_tensor=True, disallow_if_then_else=True, require_injective=True, require_ordered=True,
               disallow_op=["tir.exp"]),
    MultiLevelTilingWideVector(structure="SRSRS", vector_length_in_bits=1024, max_innermost_factor=128,
                               reuse_write=ReuseType(req="may", levels=[1, 2], scope="global")),
    ParallelizeVectorizeUnroll(max_jobs_per_core=16, max_vectorize_extent=128, unroll_max_steps=[0, 16, 64, 512], unroll_explicit=True),
])PY";

// The rules behind `ApplyCustomRule` and those for tensor units.
constexpr std::string_view gpu_rules = R"PY(
    MultiLevelTiling(structure="SSSRRSRS", tile_binds=["blockIdx.x", "vthread.x", "threadIdx.x"], max_innermost_factor=64, vector_load_lens=[1, 2, 3, 4, 8, 16],
                     reuse_read=ReuseType(req="must", levels=[4], scope="shared"), reuse_write=ReuseType(req="must", levels=[3], scope="local")),
    InlineConstantScalars(),
    AutoInline(into_producer=True, into_consumer=True, inline_const_tensor=True, disallow_if_then_else=False, require_injective=False, require_ordered=False),
    CrossThreadReduction(thread_extents=[4, 8, 16, 32, 64, 128, 256, 512]),
    ParallelizeVectorizeUnroll(max_jobs_per_core=-1, max_vectorize_extent=-1, unroll_max_steps=[0, 16, 64, 512, 1024], unroll_explicit=True),
    AutoBind(max_threadblocks=256, thread_extents=[32, 64, 128, 256, 512, 1024]),
])PY";

constexpr std::string_view tensor_core_rules = R"PY(
    MultiLevelTilingTensorCore(
        intrin_groups=[
            {"init": "wmma_fill_16x16x16_" + acc, "load_a": "wmma_load_16x16x16_" + arg + "_a_shared_dyn",
             "load_b": "wmma_load_16x16x16_" + arg + "_b" + trans + "_shared_dyn", "compute": "wmma_sync_16x16x16_" + unit + trans,
             "store": "wmma_store_16x16x16_" + acc + "_shared_dyn"}
            for arg, acc, unit in [("f16", "f32", "f16f16f32"), ("f16", "f16", "f16f16f16"), ("s8", "s32", "s8s8s32")] for trans in ["", "_trans"]
        ],
        structure="SSSRRSRS", tile_binds=["blockIdx.y", "blockIdx.x", "threadIdx.y"], max_innermost_factor=4, vector_load_lens=[1, 2, 3, 4, 8, 16],
        reuse_read=ReuseType(req="must", levels=[4], scope="shared.dyn"), reuse_write=ReuseType(req="must", levels=[2], scope="shared.dyn"),
        use_software_pipeline=False),
    MultiLevelTilingTensorCore(
        intrin_groups=[
            {"init": "mma_init_m16n8k8_" + acc, "load_a": "mma_load_m16n8k8_f16_A_shared_dyn", "load_b": "mma_load_m16n8k8_f16_B_shared_dyn",
             "compute": "mma_sync_m16n8k8_f16f16" + acc, "store": "mma_store_m16n8k8_" + acc + "_global"}
            for acc in ["f16", "f32"]
        ],
        structure="SSSRRSRS", tile_binds=["blockIdx.y", "blockIdx.x", "threadIdx.y"], max_innermost_factor=4, vector_load_lens=[1, 2, 3, 4, 8, 16],
        reuse_read=ReuseType(req="must", levels=[4], scope="shared.dyn"), reuse_write=ReuseType(req="no", levels=[2], scope="shared.dyn"),
        use_software_pipeline=True),)PY";

constexpr std::string_view cuda_postprocs =
    "[DisallowDynamicLoop(), RewriteCooperativeFetch(), RewriteUnboundBlock(max_threadblocks=256), RewriteParallelVectorizeUnroll(), RewriteReductionBlock(), VerifyGPUCode()]";
constexpr std::string_view tensor_core_postprocs =
    "[DisallowDynamicLoop(), RewriteCooperativeFetch(), RewriteUnboundBlock(max_threadblocks=256), RewriteParallelVectorizeUnroll(), RewriteReductionBlock(), VerifyGPUCode(), "
    "RewriteTensorize(vectorize_init_loop=False)]";

constexpr Lists all_lists[] = {
    {"llvm", llvm_rules, "[DisallowDynamicLoop(), RewriteParallelVectorizeUnroll(), RewriteReductionBlock(), RewriteLayout()]", cpu_mutators},
    {"cuda", gpu_rules, cuda_postprocs, gpu_mutators},
    {"cuda-tensorcore", gpu_rules, tensor_core_postprocs, gpu_mutators},
    {"hexagon", hexagon_rules, "[DisallowDynamicLoop(), RewriteParallelVectorizeUnroll(), RewriteReductionBlock(), RewriteLayout(), VerifyVTCMLimit()]", cpu_mutators},
};

auto rules_of(const Lists& lists) -> std::string {
  if (lists.rules != gpu_rules) { return std::string(lists.rules); }
  return "[ApplyCustomRule()," + std::string(lists.kind == "cuda-tensorcore" ? tensor_core_rules : "") + std::string(gpu_rules);
}

}  // namespace

auto default_list(PieceKind pieces, std::string_view kind) -> std::string {
  for (const Lists& lists : all_lists) {
    if (lists.kind != kind) { continue; }
    switch (pieces) {
      case PieceKind::ScheduleRule: return rules_of(lists);
      case PieceKind::Postproc: return std::string(lists.postprocs);
      case PieceKind::Mutator: return std::string(lists.mutators);
      case PieceKind::Filter:
      case PieceKind::SpaceFunction:
      case PieceKind::CostModel:
      case PieceKind::Builder:
      case PieceKind::Runner:
      case PieceKind::TaskScheduler: return {};
    }
  }
  return {};
}

auto default_list_kinds() -> const std::vector<std::string_view>& {
  static const std::vector<std::string_view> kinds = [] {
    std::vector<std::string_view> out;
    for (const Lists& lists : all_lists) { out.push_back(lists.kind); }
    return out;
  }();
  return kinds;
}

}  // namespace loopsmith::script
