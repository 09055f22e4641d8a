// Primitives that look up loops and blocks: get_block, get_loops, get_child_blocks, get_producers, get_consumers,
// get_output_blocks. They bind variables and change nothing.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "ir/visitor.h"
#include "schedule/block_classes.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/facts/dependences.h"
#include "schedule/facts/regions.h"
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

/// Looks up a block by its name.
///
/// Needs  exactly one block with that name in the function.
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
      return std::move(out).remedy("take it by its place: `get_child_blocks` of the loop or block around it, `get_consumers` of a block whose result it reads");
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

/// The outermost blocks below a block or loop.
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

// True if the body of a block, apart from blocks inside of it, stores to a buffer that is not in the `T.writes` of the block.
auto hides_write(const Place& block, const Buffer& buffer) -> bool {
  if (region_of(block.block()->writes, buffer)) { return false; }
  bool found = false;
  std::function<void(const Stmt&)> walk = [&](const Stmt& s) {
    const auto* store = s.as<BufferStore>();
    found = found || (store && store->buffer == buffer);
    if (!s.as<BlockRealize>()) { visit_children(s, [](const Expr&) {}, walk); }
  };
  walk(block.block()->body);
  return found;
}

// The buffers that a block may write without declaring it.
auto stored_buffers(const Place& block) -> std::vector<Buffer> {
  std::vector<Buffer> out;
  std::function<void(const Stmt&)> walk = [&](const Stmt& s) {
    if (const auto* store = s.as<BufferStore>()) { out.push_back(store->buffer); }
    if (!s.as<BlockRealize>()) { visit_children(s, [](const Expr&) {}, walk); }
  };
  walk(block.block()->body);
  return out;
}

// Adds the pairs of writer and reader in the scope where the writer does not declare the write: TVM keeps such pairs, too, when
// unsafe_hide_buffer_access removes the declaration.
auto with_hidden_writes(const FuncState& func, const Place& block, std::vector<NodeId> found, bool producers) -> std::vector<NodeId> {
  const Place* scope = func.scope(block);
  if (!scope) { return found; }
  const size_t declared = found.size();
  std::vector<Buffer> buffers;
  if (producers) {
    for (const BufferRegion& read : block.block()->reads) { buffers.push_back(read.buffer); }
  } else {
    buffers = stored_buffers(block);
    std::erase_if(buffers, [&](const Buffer& buffer) { return !hides_write(block, buffer); });
  }
  for (const Buffer& buffer : buffers) {
    for (const Place* other : func.blocks_mentioning(*scope, buffer)) {
      const Place& writer = producers ? *other : block;
      const Place& reader = producers ? block : *other;
      bool is_new = writer.index < reader.index && std::find(found.begin(), found.end(), other->id) == found.end();
      if (is_new && region_of(reader.block()->reads, buffer) && hides_write(writer, buffer)) { found.push_back(other->id); }
    }
  }
  return found.size() == declared ? found : in_text_order(func, std::move(found));
}

// Removes blocks that only compute indices for loads of other blocks (cache_index), as TVM does: no block declares these
// dependences.
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

auto neighbours(const FuncState& func, const Place& block, bool producers) -> Outcome {
  auto declared = without_indices(func, block, producers ? producers_of(func, block) : consumers_of(func, block));
  return blocks(with_hidden_writes(func, block, std::move(declared), producers));
}

/// The blocks of the same scope that write a buffer which the block reads or writes.
///
/// Needs  a block other than the root block.
struct GetProducers {
  struct Args { BlockArg block; };
  struct Plan {};
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_CHECK(require_scope(cx, args.block));
    return Plan{};
  }
  static auto apply(const Context&, const Args& args, const Plan&) -> Outcome { return neighbours(*args.block.func, *args.block, true); }
};

/// The blocks of the same scope that read or overwrite a buffer which the block writes.
///
/// Needs  a block other than the root block.
struct GetConsumers {
  struct Args { BlockArg block; };
  struct Plan {};
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_CHECK(require_scope(cx, args.block));
    return Plan{};
  }
  static auto apply(const Context&, const Args& args, const Plan&) -> Outcome { return neighbours(*args.block.func, *args.block, false); }
};

/// The blocks of a scope that write a buffer which the scope does not allocate. Includes blocks inside these blocks, and inside blocks that
/// declare no accesses, as `loop_partition` makes them.
struct GetOutputBlocks {
  struct Args { BlockArg scope_block; };
  struct Plan {};
  static auto check(const Context&, const Args&) -> Result<Plan> { return Plan{}; }
  static auto apply(const Context&, const Args& args, const Plan&) -> Outcome {
    const FuncState& func = *args.scope_block.func;
    std::vector<NodeId> found = func.output_blocks(*args.scope_block);
    for (int i = args.scope_block->index + 1; i < args.scope_block->end; ++i) {
      const Place& place = func.places()[static_cast<size_t>(i)];
      bool is_inside_another = place.is_block() && place.scope != args.scope_block->index;
      if (is_inside_another && writes_output(func, place, *args.scope_block)) { found.push_back(place.id); }
    }
    return blocks(in_text_order(func, std::move(found)));
  }

  // True if a block writes a buffer that is allocated neither by the scope in question nor by a block between.
  static auto writes_output(const FuncState& func, const Place& block, const Place& scope) -> bool {
    return std::any_of(block.block()->writes.begin(), block.block()->writes.end(), [&](const BufferRegion& write) {
      for (const Place* at = func.scope(block); at; at = func.scope(*at)) {
        if (func.allocates(*at, write.buffer)) { return false; }
        if (at == &scope) { break; }
      }
      return true;
    });
  }
};

}  // namespace

const Primitive get_block = primitive<GetBlock>("get_block", "GetBlock", "the block of a name", no_effects)
    .attr("name", &GetBlock::Args::name)
    .attr("func_name", &GetBlock::Args::func_name, Value())
    .block("block").pure()
    .example(examples::matmul, "c = sch.get_block(\"C\")");
const Primitive get_loops = primitive<GetLoops>("get_loops", "GetLoops", "the loops around a block, from outside to inside", no_effects)
    .input("block", &GetLoops::Args::block)
    .loops("loops").pure()
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")");
const Primitive get_child_blocks = primitive<GetChildBlocks>("get_child_blocks", "GetChildBlocks", "the blocks below a block or loop", no_effects)
    .input("block_or_loop", &GetChildBlocks::Args::block_or_loop)
    .blocks("blocks").pure()
    .example(examples::matmul_relu, "blocks = sch.get_child_blocks(\"root\")");
const Primitive get_producers = primitive<GetProducers>("get_producers", "GetProducers", "the blocks whose results a block reads", no_effects)
    .input("block", &GetProducers::Args::block)
    .blocks("blocks").pure()
    .example(examples::matmul_relu, "producers = sch.get_producers(\"D\")");
const Primitive get_consumers = primitive<GetConsumers>("get_consumers", "GetConsumers", "the blocks that read the results of a block", no_effects)
    .input("block", &GetConsumers::Args::block)
    .blocks("blocks").pure()
    .example(examples::matmul_relu, "consumers = sch.get_consumers(\"C\")");
const Primitive get_output_blocks = primitive<GetOutputBlocks>("get_output_blocks", "GetOutputBlocks", "the blocks of a scope that write its outputs",
    no_effects)
    .input("scope_block", &GetOutputBlocks::Args::scope_block)
    .blocks("blocks").pure()
    .example(examples::matmul_relu, "outputs = sch.get_output_blocks(\"root\")");

}  // namespace loopsmith::schedule::primitives
