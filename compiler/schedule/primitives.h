// The rows of all primitives, by family. all.cpp puts them in order.
#pragma once

#include "schedule/primitive.h"

namespace loopsmith::schedule::primitives {

extern const Primitive get_block, get_loops, get_child_blocks, get_producers, get_consumers, get_output_blocks;
extern const Primitive sample_categorical, sample_perfect_tile, sample_partitioned_tile, sample_compute_location;
extern const Primitive split, loop_partition, merge, fuse, reorder, reorder_block_iter_var, add_unit_loop;
extern const Primitive parallel, vectorize, bind, unroll;
extern const Primitive compute_at, reverse_compute_at;
extern const Primitive compute_inline, reverse_compute_inline;
extern const Primitive cache_read, cache_write, read_at, write_at;
extern const Primitive decompose_reduction, rfactor, fuse_reduction_epilogue;
extern const Primitive storage_align, set_scope, unsafe_set_dtype;
extern const Primitive cache_inplace, cache_index, reindex, reindex_cache_read, reindex_cache_write;
extern const Primitive transform_layout, transform_block_layout, set_axis_separator;
extern const Primitive pad_einsum, pad_reduction, decompose_padding, rolling_buffer;
extern const Primitive annotate_buffer_access, unsafe_hide_buffer_access;
extern const Primitive blockize, tensorize;
extern const Primitive annotate, unannotate, enter_postproc;

}  // namespace loopsmith::schedule::primitives
