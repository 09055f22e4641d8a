// Primitives as typed functions: see calls.h.
#include "tune/metaschedule/calls.h"

#include "ir/ops.h"

namespace loopsmith::tune::metaschedule {
namespace {

auto call(Schedule& sch, std::string_view name, std::vector<Value> values) -> Status {
  LOOPSMITH_TRY(ignored, sch.call(name, std::move(values)));
  (void)ignored;
  return ok();
}

}  // namespace

auto get_block(Schedule& sch, Name block, Name func) -> Result<BlockRV> {
  LOOPSMITH_TRY(value, sch.call("get_block", {Value(block.str()), Value(func.str())}));
  return *value.as<BlockRV>();
}

auto get_loops(Schedule& sch, BlockRV block) -> Result<std::vector<LoopRV>> {
  LOOPSMITH_TRY(value, sch.call("get_loops", {block}));
  return schedule::loops_of(value);
}

auto get_child_blocks(Schedule& sch, BlockRV block) -> Result<std::vector<BlockRV>> {
  LOOPSMITH_TRY(value, sch.call("get_child_blocks", {block}));
  return schedule::blocks_of(value);
}

auto split(Schedule& sch, LoopRV loop, Value::List factors) -> Result<std::vector<LoopRV>> {
  LOOPSMITH_TRY(value, sch.call("split", {loop, Value(std::move(factors))}));
  return schedule::loops_of(value);
}

auto fuse(Schedule& sch, const std::vector<LoopRV>& loops) -> Result<LoopRV> {
  LOOPSMITH_TRY(value, sch.call("fuse", std::vector<Value>(loops.begin(), loops.end())));
  return *value.as<LoopRV>();
}

auto reorder(Schedule& sch, const std::vector<LoopRV>& loops) -> Status { return call(sch, "reorder", std::vector<Value>(loops.begin(), loops.end())); }

auto bind(Schedule& sch, LoopRV loop, std::string_view thread) -> Status { return call(sch, "bind", {loop, Value(std::string(thread))}); }

auto parallel(Schedule& sch, LoopRV loop) -> Status { return call(sch, "parallel", {loop}); }

auto vectorize(Schedule& sch, LoopRV loop) -> Status { return call(sch, "vectorize", {loop}); }

auto annotate(Schedule& sch, Value block_or_loop, std::string_view key, Value value) -> Status {
  return call(sch, "annotate", {std::move(block_or_loop), Value(std::string(key)), std::move(value)});
}

auto unannotate(Schedule& sch, Value block_or_loop, std::string_view key) -> Status {
  return call(sch, "unannotate", {std::move(block_or_loop), Value(std::string(key))});
}

auto find_place(const Schedule& sch, Name func, NodeId id) -> schedule::State::Found {
  const schedule::FuncState* state = sch.state().func(func);
  const schedule::Place* place = state ? state->find(id) : nullptr;
  return {place ? state : nullptr, place};
}

auto block_of(const Schedule& sch, BlockRV block) -> Result<const Block*> {
  LOOPSMITH_TRY(place, sch.get(block));
  return place->block();
}

auto loop_of(const Schedule& sch, LoopRV loop) -> Result<const For*> {
  LOOPSMITH_TRY(place, sch.get(loop));
  return place->loop;
}

auto int_attr(const AttrMap& attrs, std::string_view key) -> std::optional<int64_t> {
  const Attr* attr = find_attr(attrs, Name(key));
  const IntImm* number = attr ? attr->expr().as<IntImm>() : nullptr;
  return number ? std::optional(number->value) : std::nullopt;
}

auto string_attr(const AttrMap& attrs, std::string_view key) -> std::optional<std::string> {
  const Attr* attr = find_attr(attrs, Name(key));
  const std::string* text = attr ? attr->string() : nullptr;
  return text ? std::optional(*text) : std::nullopt;
}

}  // namespace loopsmith::tune::metaschedule
