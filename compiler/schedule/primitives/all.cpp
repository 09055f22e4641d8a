// The rows of all primitives, in the order of the reference page. Written out, not gathered by static constructors: a
// list is also a table of contents, and linkers drop objects that only register themselves.
#include "schedule/primitives.h"

namespace loopsmith::schedule {

auto all_primitives() -> const std::vector<const Primitive*>& {
  using namespace primitives;
  static const std::vector<const Primitive*> rows{
      // look-up
      &get_block, &get_loops, &get_child_blocks, &get_producers, &get_consumers, &get_output_blocks,
      // sampling
      &sample_categorical, &sample_perfect_tile, &sample_partitioned_tile, &sample_compute_location,
      // loops
      &split, &loop_partition, &merge, &fuse, &reorder, &reorder_block_iter_var, &add_unit_loop,
      // kinds of loops
      &parallel, &vectorize, &bind, &unroll,
      // caching
      &cache_read, &cache_write, &cache_inplace, &cache_index, &reindex, &reindex_cache_read, &reindex_cache_write,
      &read_at, &write_at,
      // place
      &compute_at, &reverse_compute_at, &compute_inline, &reverse_compute_inline,
      // reduction
      &decompose_reduction, &rfactor, &fuse_reduction_epilogue,
      // buffers
      &storage_align, &set_scope, &unsafe_set_dtype,
      // layout
      &transform_layout, &transform_block_layout, &set_axis_separator,
      // padding and windows
      &pad_einsum, &pad_reduction, &decompose_padding, &rolling_buffer,
      // accesses
      &annotate_buffer_access, &unsafe_hide_buffer_access,
      // tensor units
      &blockize, &tensorize,
      // notes
      &annotate, &unannotate, &enter_postproc,
  };
  return rows;
}

}  // namespace loopsmith::schedule
