// The cost of a primitive depends on the size of its change, not of the program: counted, not timed. Counted are the basic blocks executed
// in code that traverses programs (compiled again here with counters: see CMakeLists.txt) and the allocated memory.
// The last step of each primitive's example runs alone, beside 500 blocks and beside 5,000 in the same function, and in a module of 200
// functions.
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

// Called by each basic block of the files that are compiled for counting.
extern "C" __attribute__((visibility("default"))) void __sanitizer_cov_trace_pc() { ++total.pieces; }   // NOLINT: the compiler defines the name

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

// Steps cost the same beside 500 blocks and beside 5,000. Parts that grow with a function (lists of statements, places, facts about the
// blocks of a scope) are trees of shared pieces: a step copies the changed pieces and the nodes above, whose number grows with the logarithm.
// Visiting each block would execute thousands of basic blocks more; a pointer for each block would need dozens of kilobytes.
constexpr int most_more = 5300;                                // than alone, beside 500
constexpr int most_growth = 2700;                              // from there to 5,000: fewer pieces than blocks
constexpr double most_kilobytes = 3.6, most_kilobytes_growth = 3.5;
// Visiting one in two dozen blocks, those that may have the name; their number depends on the place of names in memory. Visiting every block
// would execute two basic blocks for each of 5,000 at least.
constexpr int most_growth_of_names = 9000;

// Not flat, by definition:
//   get_child_blocks   the result lists all blocks
//   rolling_buffer     changes iter vars in all blocks of the scope, as TVM does
//   get_output_blocks  nested blocks count, so it visits every place of the scope
// Not flat yet: copies of a block's result visit the other blocks of the scope, about 85 basic blocks for each.
constexpr std::string_view by_meaning[] = {"get_child_blocks", "rolling_buffer", "get_output_blocks", "cache_write", "reindex_cache_write", "write_at", "fuse_reduction_epilogue"};

auto more(uint64_t with, uint64_t alone) -> double { return with > alone ? static_cast<double>(with - alone) : 0; }
template <class Names>
auto is_one_of(const Names& names, std::string_view name) -> bool { return std::find(std::begin(names), std::end(names), name) != std::end(names); }

TEST_CASE("the cost of a step depends on its changes, not on the program around them", "[flat]") {
  constexpr int blocks = 500, many_blocks = 5000, functions = 200;
  const schedule::Primitive& lists_blocks = *schedule::find_primitive("get_child_blocks");
  double walk = more(count_of(lists_blocks, blocks, 0).pieces, count_of(lists_blocks, 3, 0).pieces);
  REQUIRE(walk > blocks);                   // the files are compiled for counting
  for (const schedule::Primitive* primitive : schedule::all_primitives()) {
    INFO(primitive->name);
    REQUIRE_FALSE(primitive->example_program.empty());
    Count alone = count_of(*primitive, 3, 0);
#ifndef LOOPSMITH_CHECKED                    // checked builds recompute everything after each step
    if (!is_one_of(by_meaning, primitive->name)) {
      Count among = count_of(*primitive, blocks, 0), among_many = count_of(*primitive, many_blocks, 0);
      CHECK(more(among.pieces, alone.pieces) <= most_more);
      CHECK(more(among.bytes, alone.bytes) <= most_kilobytes * 1000);
      CHECK(more(among_many.pieces, among.pieces) <= (primitive->name == "get_block" ? most_growth_of_names : most_growth));
      CHECK(more(among_many.bytes, among.bytes) <= most_kilobytes_growth * 1000);
    }
#endif
    // The module's list of functions is shared in pieces, too, and the step does not read the other functions.
    Count in_module = count_of(*primitive, 3, functions);
    CHECK(more(in_module.pieces, alone.pieces) <= 20 * functions);
    CHECK(more(in_module.bytes, alone.bytes) <= 2 * functions);
  }
}

}  // namespace
