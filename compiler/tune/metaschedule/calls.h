// Primitives as typed functions, for MetaSchedule's pieces: each call is one instruction of the trace, with the arguments that TVM's pieces pass.
#pragma once

#include <string_view>
#include <vector>

#include "schedule/schedule.h"

namespace loopsmith::tune::metaschedule {

using schedule::BlockRV;
using schedule::LoopRV;
using schedule::Schedule;
using schedule::Value;

[[nodiscard]] auto get_block(Schedule& sch, Name block, Name func) -> Result<BlockRV>;
[[nodiscard]] auto get_loops(Schedule& sch, BlockRV block) -> Result<std::vector<LoopRV>>;
[[nodiscard]] auto get_child_blocks(Schedule& sch, BlockRV block) -> Result<std::vector<BlockRV>>;
/// A factor is a number, None, or a sampled integer.
[[nodiscard]] auto split(Schedule& sch, LoopRV loop, Value::List factors) -> Result<std::vector<LoopRV>>;
/// One loop is fused too: TVM records the instruction.
[[nodiscard]] auto fuse(Schedule& sch, const std::vector<LoopRV>& loops) -> Result<LoopRV>;
[[nodiscard]] auto reorder(Schedule& sch, const std::vector<LoopRV>& loops) -> Status;
[[nodiscard]] auto bind(Schedule& sch, LoopRV loop, std::string_view thread) -> Status;
[[nodiscard]] auto parallel(Schedule& sch, LoopRV loop) -> Status;
[[nodiscard]] auto vectorize(Schedule& sch, LoopRV loop) -> Status;
[[nodiscard]] auto annotate(Schedule& sch, Value block_or_loop, std::string_view key, Value value) -> Status;
[[nodiscard]] auto unannotate(Schedule& sch, Value block_or_loop, std::string_view key) -> Status;

/// The loop or block of a function with an id; none where it is gone.
[[nodiscard]] auto find_place(const Schedule& sch, Name func, NodeId id) -> schedule::State::Found;

/// The node that a variable stands for.
[[nodiscard]] auto block_of(const Schedule& sch, BlockRV block) -> Result<const Block*>;
[[nodiscard]] auto loop_of(const Schedule& sch, LoopRV loop) -> Result<const For*>;

/// The number of an integer annotation; none where the block has no such key, or the value is not an integer.
[[nodiscard]] auto int_attr(const AttrMap& attrs, std::string_view key) -> std::optional<int64_t>;
[[nodiscard]] auto string_attr(const AttrMap& attrs, std::string_view key) -> std::optional<std::string>;

}  // namespace loopsmith::tune::metaschedule
