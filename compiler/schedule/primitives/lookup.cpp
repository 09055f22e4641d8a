// Primitives that look up: get_block, get_loops, get_child_blocks, get_producers, get_consumers,
// get_output_blocks. They bind variables and change nothing.
#include <algorithm>

#include <fmt/format.h>

#include "schedule/block_classes.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "support/codes.h"

namespace loopsmith::schedule::primitives {
namespace {

auto blocks(const std::vector<NodeId>& ids) -> Outcome {
  Outcome out;
  for (NodeId id : ids) { out.outputs.push_back(Output::block(id)); }
  return out;
}

/// The block of a name.
///
/// Needs  exactly one block of the name in the function.
struct GetBlock {
  struct Args { std::string name; std::optional<std::string> func_name; };
  struct Plan { NodeId block; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    Name func_name = args.func_name ? Name(*args.func_name) : cx.func_working_on;
    const FuncState* func = func_name.empty() ? nullptr : cx.state.func(func_name);
    if (!func) {
      // The default is `main`.
      Diagnostic out = cx.error(Code::NoFunctionToSchedule).arg("function", func_name.empty() ? "main" : func_name.view());
      const auto& functions = cx.state.module()->functions;
      constexpr size_t most = 3;
      for (size_t i = 0; i < std::min(most, functions.size()); ++i) { out.remedies.push_back(fmt::format("call `sch.work_on(\"{}\")` first", functions[i].first.view())); }
      return out;
    }
    std::vector<const Place*> found = func->places().blocks_named(Name(args.name));
    if (found.size() == 1) { return Plan{found.front()->id}; }
    if (!found.empty()) {
      Diagnostic out = cx.error(Code::BlockNameTwice).arg("block", args.name).arg("count", static_cast<int64_t>(found.size()));
      for (const Place* place : found) { out.notes.push_back({place->block()->origin, "one of them", place->id}); }
      return std::move(out).remedy("take it by its place: `get_child_blocks` of the loop or block around it, `get_consumers` of what it reads");
    }
    std::vector<std::string> names;
    for (const Place& place : func->places()) {
      if (place.is_block() && place.parent >= 0 && names.size() < 8) { names.push_back("`" + place.name().str() + "`"); }
    }
    Diagnostic out = cx.error(Code::NoSuchBlock).arg("block", args.name).arg("function", func_name.view());
    if (!names.empty()) { out.remedies.push_back("choose a block of `" + func_name.str() + "`: " + in_words(names)); }
    return out;
  }
  static auto apply(const Context&, const Args&, const Plan& plan) -> Outcome { return blocks({plan.block}); }
};

/// The loops around a block within its scope, from outside to inside.
struct GetLoops {
  struct Args { BlockArg block; };
  struct Plan {};
  static auto check(const Context&, const Args&) -> Result<Plan> { return Plan{}; }
  static auto apply(const Context&, const Args& args, const Plan&) -> Outcome {
    Outcome out;
    for (const Place* loop : args.block.func->loops(*args.block)) { out.outputs.push_back(Output::loop(loop->id)); }
    return out;
  }
};

/// The blocks below a block or loop, not counting blocks inside those.
struct GetChildBlocks {
  struct Args { PlaceArg block_or_loop; };
  struct Plan {};
  static auto check(const Context&, const Args&) -> Result<Plan> { return Plan{}; }
  static auto apply(const Context&, const Args& args, const Plan&) -> Outcome {
    Outcome out;
    auto below = args.block_or_loop.func->places().blocks_below(*args.block_or_loop);
    out.outputs.reserve(below.size());
    for (const BlockRealize* realize : below) { out.outputs.push_back(Output::block(realize->block->id)); }
    return out;
  }
};

// Without blocks that only compute indices for loads of others (cache_index), as in TVM: they read nothing, and no block declares
// to read them.
auto without_indices(const FuncState& func, const Place& block, std::vector<NodeId> found) -> std::vector<NodeId> {
  const Place* scope = func.scope(block);
  if (!scope) { return found; }
  std::erase_if(found, [&](NodeId id) {
    const Scope info = func.scope_info(*scope);
    for (auto [src, dst] : {std::pair{id, block.id}, std::pair{block.id, id}}) {
      for (const Dependence& d : info.of_dst(dst)) {
        if (d.src == src && !(d.is_hidden && func.find(d.src)->block()->reads.empty())) { return false; }
      }
    }
    return true;
  });
  return found;
}

/// The blocks of the same scope that write what a block reads or writes.
///
/// Needs  not the root block.
struct GetProducers {
  struct Args { BlockArg block; };
  struct Plan {};
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_CHECK(require_scope(cx, args.block));
    return Plan{};
  }
  static auto apply(const Context&, const Args& args, const Plan&) -> Outcome { return blocks(without_indices(*args.block.func, *args.block, producers_of(*args.block.func, *args.block))); }
};

/// The blocks of the same scope that read or overwrite what a block writes.
///
/// Needs  not the root block.
struct GetConsumers {
  struct Args { BlockArg block; };
  struct Plan {};
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_CHECK(require_scope(cx, args.block));
    return Plan{};
  }
  static auto apply(const Context&, const Args& args, const Plan&) -> Outcome { return blocks(without_indices(*args.block.func, *args.block, consumers_of(*args.block.func, *args.block))); }
};

/// The blocks of a scope that write a buffer which the scope does not allocate.
struct GetOutputBlocks {
  struct Args { BlockArg scope_block; };
  struct Plan {};
  static auto check(const Context&, const Args&) -> Result<Plan> { return Plan{}; }
  static auto apply(const Context&, const Args& args, const Plan&) -> Outcome {
    return blocks(args.scope_block.func->output_blocks(*args.scope_block));
  }
};

}  // namespace

const Primitive get_block = primitive<GetBlock>("get_block", "GetBlock", "the block of a name")
    .attr("name", &GetBlock::Args::name)
    .attr("func_name", &GetBlock::Args::func_name, Value())
    .block("block").pure()
    .example(examples::matmul, "c = sch.get_block(\"C\")");
const Primitive get_loops = primitive<GetLoops>("get_loops", "GetLoops", "the loops around a block, from outside to inside")
    .input("block", &GetLoops::Args::block)
    .loops("loops").pure()
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")");
const Primitive get_child_blocks = primitive<GetChildBlocks>("get_child_blocks", "GetChildBlocks", "the blocks below a block or loop")
    .input("block_or_loop", &GetChildBlocks::Args::block_or_loop)
    .blocks("blocks").pure()
    .example(examples::matmul_relu, "blocks = sch.get_child_blocks(\"root\")");
const Primitive get_producers = primitive<GetProducers>("get_producers", "GetProducers", "the blocks that write what a block reads")
    .input("block", &GetProducers::Args::block)
    .blocks("blocks").pure()
    .example(examples::matmul_relu, "producers = sch.get_producers(\"D\")");
const Primitive get_consumers = primitive<GetConsumers>("get_consumers", "GetConsumers", "the blocks that read what a block writes")
    .input("block", &GetConsumers::Args::block)
    .blocks("blocks").pure()
    .example(examples::matmul_relu, "consumers = sch.get_consumers(\"C\")");
const Primitive get_output_blocks = primitive<GetOutputBlocks>("get_output_blocks", "GetOutputBlocks", "the blocks of a scope that write its outputs")
    .input("scope_block", &GetOutputBlocks::Args::scope_block)
    .blocks("blocks").pure()
    .example(examples::matmul_relu, "outputs = sch.get_output_blocks(\"root\")");

}  // namespace loopsmith::schedule::primitives
