// The table of actions: see remedies.h.
#include "schedule/remedies.h"

#include "support/codes.h"

namespace loopsmith::schedule {
namespace {

struct Row { Code code; std::string_view remedy; };

// In the order of support/diagnostics.def.
constexpr Row rows[] = {
    // Names and arguments.
    {Code::NoFunctionToSchedule, "name a function of the module: `sch.get_block(\"B\", func_name=\"add\")`, or `sch.work_on(\"add\")`"},
    {Code::NoSuchBlock, "use the name of a block of this program; `sch.mod.show()` prints the program at this step"},
    {Code::VariableGone, "look the loop or block up again behind the step that replaced it: `sch.get_loops(...)`, `sch.get_block(...)`"},
    {Code::WrongDecision, "leave the decision out to draw one"},
    {Code::CandidateCount, "give one probability for each candidate"},
    {Code::TileExtent, "tile a loop that has iterations"},
    {Code::RootBlock, "name a block inside the root block"},
    {Code::NoSuchAnnotation, "use a key that is attached there, or remove this step"},
    {Code::NoSuchBuffer, "name a buffer that the block accesses, or give its index, as in `(\"read\", 0)`"},
    {Code::NoSeparators, "remove the axis separators"},
    // Loops.
    {Code::NoLoops, "pass the loops or blocks that the call is about, as in `sch.fuse(i, j)`"},
    {Code::SplitFactorSign, "give positive factors"},
    {Code::SplitProductUnknown, "leave the outermost factor out, as in `factors=[None, 8]`"},
    {Code::SplitFactorVariable, "use numbers, sampled integers, parameters of the program, or variables of loops around this one"},
    {Code::LoopNotOnlyChild, "apply it before the step that adds the other statement, or use loops that contain no other statement"},
    {Code::LoopDependent, "write the program with full extents, and the condition with `T.where`"},
    {Code::IterDomainDependent, "write the program with the full domain of the iter var, and the condition with `T.where`"},
    {Code::LoopTwice, "name each loop once"},
    {Code::LoopsNotInScope, "use loops of one block, or apply this step before `blockize`"},
    {Code::LoopsNotChain, "use loops around one block; `sch.merge` and `sch.compute_at` bring two nests together"},
    {Code::BlockIterKind, "declare the axis spatial if its instances are independent"},
    {Code::LoopsDiffer, "use `sch.compute_at`, which computes in each iteration the elements that it needs"},
    {Code::PartitionPoints, "give positive lengths whose sum is below the extent, with one `None` at most; decompose a reduction first"},
    {Code::SizeBeyondType, "write the extents of the program as `T.int64(...)`: all loops then count in 64 bits"},
    // Iterations that run at the same time.
    {Code::LoopCarried, "use the loop of a spatial iter var; `sch.rfactor` makes the loop of a reduction spatial"},
    {Code::IterationsDepend, "use a loop whose iterations access elements of their own, or keep the order of its iterations"},
    {Code::NotCompact, "use a loop that contains complete blocks and reductions only, or apply this step before `decompose_reduction`"},
    {Code::ReductionShared, "bind a loop of a spatial iter var of the block, so that each iteration has elements of its own"},
    {Code::IterationsShare, "keep these iterations in sequence, or use a loop that the iter vars of the block depend on"},
    {Code::IterationsWrite, "keep these iterations in sequence, or give each of them elements of its own"},
    {Code::CopiesRace, "choose a memory that these iterations share, or keep their loop serial"},
    // Reductions.
    {Code::NotReduction, "name a reduction block"},
    {Code::NotComplete, "name a block with independent instances"},
    {Code::NotCompleteOrReduction, "keep its loops in their order, or rewrite the program so that each instance writes elements of its own"},
    {Code::LoopNotAroundBlock, "use a loop of the block, one of `sch.get_loops(...)`"},
    {Code::ReductionLoopOutside, "decompose at the outermost reduction loop, or further out"},
    {Code::InitReads, "decompose at a loop below that block, or move the block in front of the loop"},
    {Code::InitRepeated, "decompose inside that loop"},
    {Code::RFactorLoop, "use a loop of the reduction, or a part of one that `split` made"},
    {Code::LoopNotSerial, "call `rfactor` first, then `unroll`, `vectorize` or `parallel` on the new loops"},
    {Code::ReductionForm, "write the update as one store, as in `B[vi] = B[vi] + A[vi, vk]`"},
    {Code::ReducerUnknown, "begin with the identity of the operation, and combine other values in a block behind the reduction"},
    {Code::OuterVariable, "apply it before the step that puts the block inside another one (`blockize`, `loop_partition`)"},
    {Code::EpilogueForm, "fuse before other steps separate the two, or move the block close to the reduction with `sch.reverse_compute_at`"},
    {Code::EpilogueCombiner, "keep the block behind the reduction: `sch.reverse_compute_at`"},
    {Code::EpilogueInterferes, "keep the two blocks apart: `sch.reverse_compute_at`"},
    // Inlining.
    {Code::SingleBuffer, "write one block for each buffer"},
    {Code::OnlyBlock, "keep the block, or remove it from the program if nothing needs its result"},
    {Code::OpaqueAccess, "load elements of the buffer instead of passing its pointer, or keep the block"},
    // Moved blocks.
    {Code::ConsumerBefore, "move the block under a loop of that consumer"},
    {Code::RegionNotSolved, "inline the block: `sch.compute_inline`"},
    {Code::InstancesLost, "move the producer instead, or separate the border first with `sch.decompose_padding`"},
    {Code::ReadsAcross, "move the producer instead: `sch.compute_at` computes in each iteration the elements that it reads"},
    {Code::ReadsTooEarly, "move that producer first"},
    {Code::ReductionRepeated, "move the block to a place where its reduction runs once"},
    {Code::InstancesRepeated, "move the block to a place where its instances run once"},
    {Code::PredicateLost, "write the condition into the value with `T.if_then_else`, or keep the block where it is"},
    {Code::MovedUpdateOrder, "put the iter vars into the order of the loops first: `sch.reorder_block_iter_var`"},
    {Code::InitLate, "choose a loop further out, whose iterations run whole reductions"},
    {Code::DomainPart, "let the loops of the block run over the whole domain of the iter var before the block moves"},
    {Code::NotStagePipeline, "let each block write a buffer of its own"},
    // Copies.
    {Code::SeveralWriters, "write one block that selects its value with `T.if_then_else`, or one buffer for each block"},
    {Code::NotCovered, "leave readers that come before the writer out of `consumer_blocks`; `sch.cache_inplace` copies for a block that works in place"},
    {Code::CopyIncomplete, "write all elements in the block, or let it run over its whole domain"},
    {Code::CopyReadsOwn, "use `sch.cache_inplace`, which copies in both directions"},
    {Code::CopyPartOfReduction, "apply it before the step that divides the reduction"},
    {Code::CopyLooksUp, "compute the indices in the block instead of loading them"},
    {Code::CacheReader, "leave that consumer out of `consumer_blocks`"},
    {Code::CopyForm, "use `sch.cache_read` or `sch.cache_write`"},
    {Code::CacheIndexForm, "choose a block that computes its indices, and a threshold that they reach"},
    {Code::CacheOfView, "keep the copy in the memory of the buffer, or cache before the step that makes the view"},
    {Code::CopyPlace, "use `sch.cache_read` and `sch.compute_at`, which copy existing elements only"},
    {Code::RollingForm, "first move the producer under the consumer, in tiles: `sch.split`, then `sch.compute_at`"},
    {Code::NotAllocated, "copy the buffer first: `sch.cache_read` for a parameter that is read, `sch.cache_write` for one that is written"},
    // Blocks.
    {Code::PredicateForm, "write the condition as bounds, as in `T.where(i < 6)`"},
    {Code::NotOneBlock, "use a loop around one block"},
    {Code::NotDivisible, "split by a divisor of the extent, and use the inner loop"},
    {Code::BlocksApart, "name neighbouring blocks, in the order of the program"},
    {Code::NotLeafBlock, "name a block inside it, or apply this step before `blockize`"},
    {Code::HiddenAccesses, "declare the access in `T.reads` or `T.writes`"},
    {Code::ControlFlow, "write the loop as `for`, and the condition as `if` or `T.where`"},
    // Layouts.
    {Code::MapArity, "give the map one parameter for each index"},
    {Code::MapNotBijective, "let the map give each element a place of its own, as in `lambda i: (i // 4, i % 4)`"},
    {Code::AxisSeparator, "give increasing numbers of leading dimensions, as in `[1, 2]`"},
    {Code::BufferOfView, "change the viewed buffer before the step that makes the view"},
    {Code::BufferUse, "load and store elements of the buffer instead"},
    {Code::BufferStrides, "let the program copy it into a buffer without strides first, and change the layout of that buffer"},
    {Code::SeveralAccesses, "copy the buffer unchanged: `sch.cache_read`"},
    {Code::PaddingSize, "give one positive number for each iter var"},
    {Code::NotEinsum, "pad the spatial iter vars only, or pad in the program, with a value that changes nothing"},
};

}  // namespace

auto usual_remedy(Code code) -> std::string_view {
  for (const Row& row : rows) {
    if (row.code == code) { return row.remedy; }
  }
  return {};
}

}  // namespace loopsmith::schedule
