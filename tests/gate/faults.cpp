// The faults of the test build: see faults.h.
#include "tests/gate/faults.h"

#include "support/fault.h"

namespace loopsmith {

namespace {
std::string planted;
}

auto is_planted(std::string_view name) -> bool { return name == planted; }

namespace gate {

void plant(const std::string& name) { planted = name; }

auto all_faults() -> std::vector<std::string> {
  return {
      "blend_swapped",
      "block_layout_predicate_lost",
      "block_predicate_lost",
      "blockize_init_lost",
      "blockize_predicate_lost",
      "cache_region_short",
      "cache_write_in_place",
      "cache_write_too_early",
      "compact_base_lost",
      "compact_extent_short",
      "compact_union_lost",
      "compute_at_behind_consumer",
      "compute_at_bound_lost",
      "compute_at_reduction_repeated",
      "compute_at_region_short",
      "cse_wrong_value",
      "decompose_init_moved",
      "decompose_init_short",
      "decompose_predicate_lost",
      "epilogue_bias_late",
      "flatten_wrong_stride",
      "fuse_division_swapped",
      "fuse_remainder_lost",
      "hoist_rest_lost",
      "init_at_end",
      "init_too_often",
      "inline_indices_swapped",
      "iter_values_not_reordered",
      "jump_ignored",
      "layout_load_first",
      "location_carried_ignored",
      "location_holes_ignored",
      "location_reduction_ignored",
      "match_offset_lost",
      "merge_order_ignored",
      "no_op_short_loop",
      "opaque_predicate_lost",
      "pad_einsum_with_ones",
      "pad_reduction_unguarded",
      "padding_fill_short",
      "parallel_dependence_dropped",
      "parallel_reduction",
      "partition_last_lost",
      "partition_late",
      "pipeline_not_emptied",
      "pipeline_place_missing",
      "reorder_dependence_dropped",
      "reorder_init_ignored",
      "reverse_compute_at_predicate_lost",
      "reverse_compute_at_too_early",
      "reverse_inline_predicate_lost",
      "rfactor_predicate_ignored",
      "rfactor_wrong_index",
      "scratch_shared",
      "simplify_compare_off",
      "simplify_extreme_swapped",
      "simplify_truncates",
      "split_off_by_one",
      "split_predicate_lost",
      "split_predicate_short",
      "statement_ignored",
      "statement_order_ignored",
      "unit_loop_twice",
      "unroll_jump_lost",
      "unroll_last_lost",
      "unswitch_untested",
      "vector_chunks_overlap",
      "vector_jump_lost",
      "vector_mask_lost",
      "vector_tail_lost",
  };
}

}  // namespace gate
}  // namespace loopsmith
