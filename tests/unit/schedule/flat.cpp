// The cost of a primitive grows with what it changes, not with what stands around: counted, not timed. Counted are the pieces of code that run
// in what walks over a program (compiled here once more, so that each counts itself: see CMakeLists.txt) and the memory that is asked for.
// Each primitive takes the last step of its example alone, beside 500 blocks in the same function, and in a module of 200 functions.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <new>
#include <string_view>

#include "tests/bench/crowd.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

struct Count { uint64_t pieces = 0, bytes = 0; };
Count total;

}  // namespace

// Called by each piece of code between branches of the files that are compiled for counting.
extern "C" __attribute__((visibility("default"))) void __sanitizer_cov_trace_pc() { ++total.pieces; }   // NOLINT: the compiler's name for it

auto operator new(std::size_t bytes) -> void* {
  total.bytes += bytes;
  if (void* memory = std::malloc(bytes ? bytes : 1)) { return memory; }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

auto count_of(const schedule::Primitive& primitive, int blocks, int functions) -> Count {
  auto step = bench::step_among(primitive, blocks, functions);
  if (!step.ok()) { FAIL(step.diagnostics()[0].message()); }
  schedule::Schedule sch = step->fresh();
  Count before = total;
  bool is_done = step->run(sch);
  Count after = total;
  CHECK(is_done);
  return {after.pieces - before.pieces, after.bytes - before.bytes};
}

// What a step may do more beside 500 blocks. The unit is what it takes to list the blocks once, measured by the same build; a further loop over
// all blocks breaks a bound. Where the bounds come from, in this order of cost:
//   0          asks and changes nothing but what it is called on
//   lists      the function's list of statements and its list of places are copied, with counted references to the 500 that stay
//   scope      what is known of the scope's blocks is copied too, in long pieces, with dependences of the blocks that changed made anew
//   buffers    and who mentions which memory, dependences that shift, covers
// Not flat at all, by what they mean:
//   get_child_blocks, get_output_blocks   the answer is about all blocks
//   rolling_buffer                        changes iter vars in all blocks of the scope, as TVM does
struct Bound { std::string_view primitive; double walks; int kilobytes; };
constexpr Bound bounds[] = {
    {"get_block", 0, 0}, {"get_loops", 0, 0}, {"get_producers", 3.6, 44}, {"get_consumers", 4.1, 44},
    {"sample_categorical", 0, 0}, {"sample_perfect_tile", 0, 0}, {"sample_partitioned_tile", 0, 0}, {"sample_compute_location", 10.6, 61},
    {"split", 4.3, 48}, {"loop_partition", 4.3, 48}, {"merge", 8.8, 104}, {"fuse", 4.3, 48}, {"reorder", 7.8, 88}, {"reorder_block_iter_var", 3.8, 48},
    {"add_unit_loop", 4.3, 48}, {"parallel", 7.8, 88}, {"vectorize", 7.8, 88}, {"bind", 7.8, 88}, {"unroll", 3.8, 48},
    {"cache_read", 13.3, 109}, {"cache_write", 10.1, 106}, {"cache_inplace", 12.1, 109}, {"cache_index", 10.7, 100}, {"reindex", 11.4, 95},
    {"reindex_cache_read", 11.9, 95}, {"reindex_cache_write", 12.0, 95}, {"read_at", 7.8, 92}, {"write_at", 7.8, 92},
    {"compute_at", 10.0, 91}, {"reverse_compute_at", 10.5, 91}, {"compute_inline", 13.3, 109}, {"reverse_compute_inline", 13.6, 109},
    {"decompose_reduction", 6.5, 88}, {"rfactor", 11.2, 95}, {"storage_align", 3.8, 48}, {"set_scope", 9.2, 106}, {"unsafe_set_dtype", 9.6, 106},
    {"transform_layout", 10.0, 106}, {"transform_block_layout", 4.3, 48}, {"set_axis_separator", 9.6, 106}, {"pad_einsum", 15.5, 107},
    {"decompose_padding", 6.8, 88}, {"annotate_buffer_access", 3.8, 48}, {"unsafe_hide_buffer_access", 3.8, 48}, {"blockize", 4.3, 48},
    {"tensorize", 4.3, 48}, {"annotate", 3.8, 48}, {"unannotate", 3.8, 48}, {"enter_postproc", 0, 0},
};
constexpr std::string_view by_meaning[] = {"get_child_blocks", "get_output_blocks", "rolling_buffer"};

auto more(uint64_t with, uint64_t alone) -> double { return with > alone ? static_cast<double>(with - alone) : 0; }

TEST_CASE("a step costs what it changes, not what stands around", "[flat]") {
  constexpr int blocks = 500, functions = 200;
  const schedule::Primitive& lists_blocks = *schedule::find_primitive("get_child_blocks");
  double walk = more(count_of(lists_blocks, blocks, 0).pieces, count_of(lists_blocks, 3, 0).pieces);
  REQUIRE(walk > blocks);                   // the files are compiled for counting
  for (const schedule::Primitive* primitive : schedule::all_primitives()) {
    INFO(primitive->name);
    REQUIRE_FALSE(primitive->example_program.empty());
    Count alone = count_of(*primitive, 3, 0);
    if (std::find(std::begin(by_meaning), std::end(by_meaning), primitive->name) == std::end(by_meaning)) {
      auto bound = std::find_if(std::begin(bounds), std::end(bounds), [&](const Bound& b) { return b.primitive == primitive->name; });
      INFO("a new primitive needs a row in `bounds`");
      REQUIRE(bound != std::end(bounds));
#ifndef LOOPSMITH_CHECKED                    // checked builds compute everything anew after each step
      Count among = count_of(*primitive, blocks, 0);
      CHECK(more(among.pieces, alone.pieces) / walk <= bound->walks + 0.1);
      CHECK(more(among.bytes, alone.bytes) / 1000 <= bound->kilobytes + 0.5);
#endif
    }
    // The module's list of functions is copied, three times; nothing is asked about them.
    Count in_module = count_of(*primitive, 3, functions);
    CHECK(more(in_module.pieces, alone.pieces) <= 20 * functions);
    CHECK(more(in_module.bytes, alone.bytes) <= 40 * functions);
  }
}

}  // namespace
