// tensorize: a hardware unit computes a block. Tensor intrinsics (schedule/intrinsics.h) define which blocks can be
// replaced, and by which code. Source: TensorIR (ASPLOS'23).
#include <algorithm>

#include <fmt/format.h>

#include "ir/ops.h"
#include "schedule/blockize.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/facts/regions.h"
#include "schedule/intrinsics.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "support/codes.h"

namespace loopsmith::schedule::primitives {
namespace {

/// Replaces a block, or everything below a loop, by a tensor intrinsic.
///
///     with T.block("C_update_o"):                       with T.block("C_update_o"):
///         for j, k in T.grid(16, 4):                        a = T.match_buffer(A[...], (4,), "uint8", offset_factor=1)
///             with T.block("C_update"):          ==>        ...
///                 C[...] = C[...] + A[...] * B[...]         c[0:16] = T.call_llvm_pure_intrin(...)
///
/// Needs  the block equals the intrinsic's description: the same loops, blocks and values, in the same order, on buffers of
///        the same types in the same storage scopes. Loops of one iteration and iter vars of one value are ignored. A loop is blockized
///        first, with the rules of blockize.
/// Keeps  the results of the block, if the implementation gives the same results as the description.
struct Tensorize {
  struct Args { Value target; std::string intrinsic; bool preserve_unit_iters = true; };
  struct Plan { PlaceArg target; Ref<BlockRealize> realize; const TensorIntrin* intrinsic; IntrinsicMatch match; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    Name name(args.intrinsic);
    const TensorIntrin* intrinsic = cx.find_intrinsic(name);
    if (!intrinsic) { return cx.error(Code::NoSuchIntrinsic).arg("name", args.intrinsic).remedy(nearest(cx, args.intrinsic)); }
    Plan plan{{}, {}, intrinsic, {}};
    LOOPSMITH_CHECK(convert(cx, cx.primitive.params.front(), args.target, plan.target));
    const PlaceArg& target = plan.target;
    if (target->is_block()) {
      LOOPSMITH_CHECK(require_scope(cx, target));
      plan.realize = Ref<BlockRealize>(target->realize);
    } else {
      LOOPSMITH_TRY(blockized, blockize_loop(cx, args.target, args.preserve_unit_iters));
      plan.realize = std::move(blockized);
    }
    if (auto mismatch = match_intrinsic(*plan.realize, intrinsic->description, plan.match)) {
      Diagnostic out = cx.error(Code::IntrinsicMismatch).arg("place", target->name().view()).arg("intrinsic", args.intrinsic).arg("reason", mismatch->why.text());
      if (mismatch->where.is_known()) { out.notes.push_back({mismatch->where, "it differs here", 0}); }
      if (target->is_block()) { return note_block(std::move(out), *target); }
      auto below = target.func->child_blocks(*target);
      out = note_loop(std::move(out), *target);
      return below.empty() ? std::move(out) : note_block(std::move(out), *below.front());
    }
    return plan;
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const Block& block = *plan.realize->block;
    int bits = 32;
    for (const auto* regions : {&block.reads, &block.writes}) {
      for (const BufferRegion& region : *regions) {
        for (const Range& range : region.region) { bits = std::max<int>(bits, range.min.dtype().bits); }
      }
    }
    PrimFunc implementation = fresh_copy(plan.intrinsic->implementation, bits);
    const PrimFunc& description = plan.intrinsic->description;
    const Block& unit = *implementation->body.as<BlockRealize>()->block;
    Block::Fields fields = block.fields();
    fields.body = unit.body;
    std::vector<MatchBufferRegion> views;
    for (size_t i = 0; i < implementation->params.size(); ++i) {
      Buffer view = implementation->buffer_of(implementation->params[i]);
      const Buffer& source = plan.match.buffers.at(description->buffer_of(description->params[i]).get());
      const std::vector<Expr>& base = plan.match.base.at(source.get());
      const Array<Range>& tile = region_of(unit, view);
      size_t lead = base.size() - tile.size();
      std::vector<Range> ranges;
      for (size_t d = 0; d < base.size(); ++d) {
        ranges.push_back({base[d], d < lead ? one(base[d].dtype()) : cast(base[d].dtype(), tile[d - lead].extent)});
      }
      views.push_back({view, BufferRegion{source, Array<Range>(std::move(ranges)), cx.made_from(block.origin)}});
    }
    fields.match_buffers = std::move(views);
    std::vector<Buffer> allocated = fields.alloc_buffers.to_vector();
    allocated.insert(allocated.end(), unit.alloc_buffers.begin(), unit.alloc_buffers.end());
    fields.alloc_buffers = std::move(allocated);
    for (const auto& [key, value] : unit.annotations) {
      if (!find_attr(fields.annotations, key)) { fields.annotations = with_attr(fields.annotations, key, value); }
    }
    Origin origin = cx.made_from(block.origin);
    Ref<Block> made = make<Block>(std::move(fields), origin, block.id);
    Outcome out;
    out.func = plan.target.func->name();
    out.rewrite.changes.push_back({plan.target->id, plan.target->is_block()
        ? Stmt(made) : Stmt(make<BlockRealize>(plan.realize->iter_values, plan.realize->predicate, std::move(made), plan.realize->origin))});
    return out;
  }

  static auto region_of(const Block& block, const Buffer& buffer) -> const Array<Range>& {
    for (const auto* regions : {&block.reads, &block.writes}) {
      for (const BufferRegion& region : *regions) {
        if (region.buffer == buffer) { return region.region; }
      }
    }
    static const Array<Range> none;   // not reached: why_no_intrinsic
    return none;
  }

  // The known names with the longest common prefix.
  static auto nearest(const Context& cx, const std::string& name) -> std::string {
    size_t most = 0;
    std::vector<std::string> found;
    for (Name known : cx.intrinsic_names()) {
      std::string_view text = known.view();
      size_t common = static_cast<size_t>(std::mismatch(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(std::min(name.size(), text.size())), text.begin()).first - name.begin());
      if (common < most || common < 3) { continue; }
      if (common > most) { found.clear(); }
      most = common;
      if (found.size() < 4) { found.push_back("`" + known.str() + "`"); }
    }
    if (found.empty()) { return "register it: `TensorIntrin.register(name, description, implementation)`"; }
    return "there is " + in_words(found);
  }
};

// The extents of directly nested loops, from the given one inwards, without loops of one iteration.
auto extents_from(const Stmt& outermost) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (const auto* loop = outermost.as<For>(); loop; loop = loop->body.as<For>()) {
    if (!is_one(loop->extent)) { out.push_back(as_int(loop->extent).value_or(0)); }
  }
  return out;
}

// For each intrinsic that comes with Loopsmith, the extents of the loops of its description.
auto shapes() -> const std::vector<std::pair<Name, std::vector<int64_t>>>& {
  static const auto all = [] {
    std::vector<std::pair<Name, std::vector<int64_t>>> out;
    for (Name name : builtin_intrinsics()->names()) {
      const TensorIntrin* intrinsic = builtin_intrinsics()->find(name);
      const auto* root = intrinsic ? intrinsic->description->body.as<BlockRealize>() : nullptr;
      if (root) { out.emplace_back(name, extents_from(root->block->body)); }
    }
    return out;
  }();
  return all;
}

// Intrinsics whose description has the shape of the nest; trying all intrinsics would take too long.
auto matching_intrinsics(const Choice& c) -> std::vector<Value> {
  std::vector<Value> out;
  const Place& at = c.subject();
  if (at.parent < 0 || !builtin_intrinsics()) { return out; }
  if (at.is_loop()) {
    const std::vector<int64_t> extents = extents_from(at.stmt());
    for (const auto& [name, shape] : shapes()) {
      if (shape == extents) { out.emplace_back(name.str()); }
    }
    return out;
  }
  // Every description contains a block, so a nest without one matches none.
  if (c.func.child_blocks(at).empty()) { return out; }
  for (Name name : builtin_intrinsics()->names()) {
    IntrinsicMatch match;
    const TensorIntrin* intrinsic = builtin_intrinsics()->find(name);
    if (intrinsic && !match_intrinsic(*at.realize, intrinsic->description, match)) { out.emplace_back(name.str()); }
  }
  return out;
}

constexpr std::string_view dot_program = R"(@T.prim_func
def main(A: T.Buffer((8, 4), "uint8"), B: T.Buffer((16, 4), "int8"), C: T.Buffer((8, 16), "int32")):
    for i, j, k in T.grid(8, 16, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj, vk])
)";

}  // namespace

const Primitive tensorize = primitive<Tensorize>("tensorize", "Tensorize", "computes a block or all below a loop by a tensor intrinsic",
    {Order::LoopsReshaped, Hidden::GathersBelow})
    .input("block_or_loop", &Tensorize::Args::target).of(ValueKind::BlockOrLoop)
    .attr("tensor_intrin", &Tensorize::Args::intrinsic).from(matching_intrinsics)
    .attr("preserve_unit_iters", &Tensorize::Args::preserve_unit_iters, true)
    .example(dot_program, "i, j, k = sch.get_loops(\"C\")\nsch.decompose_reduction(\"C\", j)\ni, j, k = sch.get_loops(\"C_update\")\nsch.tensorize(j, \"dot_16x4_vnni\")");

}  // namespace loopsmith::schedule::primitives
