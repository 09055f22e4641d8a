// Primitives that change the declared accesses of a block, not its computation: annotate_buffer_access, unsafe_hide_buffer_access.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/func_tree.h"
#include "schedule/index_map.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::schedule::primitives {
namespace {

// The indices by which a block itself accesses a buffer, if they depend on its iter vars alone.
auto plain_accesses(const Block& block, const Buffer& buffer, bool is_write) -> std::vector<Array<Expr>> {
  std::vector<Array<Expr>> out;
  auto add = [&](const Array<Expr>& indices) {
    bool is_plain = std::all_of(indices.begin(), indices.end(), [&](const Expr& index) {
      return !uses_var(index, [&](const VarNode& v) {
        return std::none_of(block.iter_vars.begin(), block.iter_vars.end(), [&](const IterVar& i) { return i.var.get() == &v; });
      });
    });
    if (is_plain) { out.push_back(indices); }
  };
  post_order(block.body, [&](const Stmt& stmt) {
    const auto* store = stmt.as<BufferStore>();
    if (store && is_write && store->buffer == buffer) { add(store->indices); }
  }, [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    if (load && !is_write && load->buffer == buffer) { add(load->indices); }
  });
  return out;
}

// Tries a few instances; finds one whose access lies outside of the ranges.
auto outside_instance(const Block& block, const Array<Expr>& indices, const std::vector<Range>& ranges) -> std::optional<std::string> {
  arith::Analyzer analyzer;
  uint64_t state = 1;
  for (int n = 0; n < 64; ++n) {
    VarMap values;
    std::string text;
    for (const IterVar& iter : block.iter_vars) {
      auto extent = as_int(iter.dom.extent);
      auto min = as_int(iter.dom.min);
      if (!extent || !min || *extent <= 0) { return {}; }
      state = state * 6364136223846793005u + 1442695040888963407u;
      int64_t value = *min + (n == 0 ? 0 : n == 1 ? *extent - 1 : static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(*extent)));
      values[iter.var.get()] = int_imm(value, iter.var->dtype);
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", iter.var->name.view(), value);
    }
    for (size_t i = 0; i < indices.size() && i < ranges.size(); ++i) {
      Expr index = substitute(indices[i], values);
      Expr begin = substitute(ranges[i].min, values);
      Expr end = begin + substitute(ranges[i].extent, values);
      if (analyzer.can_prove(logical_or(less(index, begin), greater_equal(index, end)))) { return text; }
    }
  }
  return {};
}

/// Declares the elements of a buffer that a block accesses, if its text does not show them.
///
///     T.reads(A[0:64])             ==>       T.reads(A[vi:vi + 3])
///                                            T.block_attr({"explicit_read_region": [0]})
///
/// Needs  a begin and an end for each dimension, in terms of the block's iter vars; they include every access that the text shows.
/// Keeps  everything; later steps that use the declared regions may decide differently.
struct AnnotateBufferAccess {
  struct Args { BlockArg block; int64_t buffer_index = 0; AccessArg buf_type; IndexMap gen_new_ranges; };
  struct Plan { BufferRegion region; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const Block& block = args.block.block();
    LOOPSMITH_TRY(old, require_buffer(cx, *args.block, args.buffer_index, args.buf_type.is_write));
    auto refuse = [&](const Reason& why) {
      return note_block(cx.error(Code::AccessRange).arg("block", block.name.view()).arg("buffer", old.buffer->name.view()).arg("reason", why.text()), *args.block);
    };
    LOOPSMITH_CHECK(require_arity(cx, args.gen_new_ranges, block.iter_vars.size()));
    size_t dimensions = old.buffer->shape.size();
    if (args.gen_new_ranges->final.size() != 2 * dimensions) {
      return refuse(because(Why::RangesCount).arg("count", args.gen_new_ranges->final.size()).arg("dimensions", dimensions))
          .remedy("give a begin and an end for each dimension, as in `lambda i: (i, i + 1)`");
    }
    arith::Analyzer analyzer;
    std::vector<Expr> vars;
    for (const IterVar& iter : block.iter_vars) { vars.emplace_back(iter.var); }
    std::vector<Expr> ends = map_indices(args.gen_new_ranges, vars, analyzer);
    std::vector<Range> ranges;
    for (size_t i = 0; i < ends.size(); i += 2) { ranges.push_back({ends[i], analyzer.simplify(ends[i + 1] - ends[i])}); }
    auto is_foreign = [&](const VarNode& v) {
      return std::none_of(block.iter_vars.begin(), block.iter_vars.end(), [&](const IterVar& i) { return i.var.get() == &v; }) && !is_known_at(*args.block.func, args.block.func->parent(*args.block), v);
    };
    for (const Range& range : ranges) {
      if (uses_var(range.min, is_foreign) || uses_var(range.extent, is_foreign)) { return refuse(because(Why::RangesVariable)).remedy("use the parameters of the lambda, which are the iter vars of the block"); }
    }
    for (const Array<Expr>& indices : plain_accesses(block, old.buffer, args.buf_type.is_write)) {
      if (auto at = outside_instance(block, indices, ranges)) { return refuse(because(Why::RangesMiss).arg("instance", *at)).remedy("widen the ranges"); }
    }
    return Plan{{old.buffer, Array<Range>(std::move(ranges)), old.origin}};
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const Block& block = args.block.block();
    auto fields = block.fields();
    bool is_write = args.buf_type.is_write;
    auto& regions = is_write ? fields.writes : fields.reads;
    std::vector<BufferRegion> changed = regions.to_vector();
    changed[static_cast<size_t>(args.buffer_index)] = plan.region;
    regions = std::move(changed);
    Name key(is_write ? "explicit_write_region" : "explicit_read_region");
    std::vector<Attr> indices;
    bool is_known = false;
    if (const Attr* old = find_attr(fields.annotations, key); old && old->list()) {
      indices = old->list()->to_vector();
      for (const Attr& index : indices) { is_known |= index.expr() && is_int(index.expr(), args.buffer_index); }
    }
    if (!is_known) { indices.emplace_back(int_imm(args.buffer_index)); }
    fields.annotations = with_attr(fields.annotations, key, Attr(Array<Attr>(std::move(indices))));
    Outcome out;
    out.func = args.block.func->name();
    out.rewrite.changes.push_back({args.block->id, make<Block>(std::move(fields), cx.made_from(block.origin), block.id)});
    return out;
  }
};

/// Removes buffers from the declared accesses of a block. Primitives no longer see those accesses, so results may change.
///
///     T.reads(A[vi], B[vi])        ==>       T.reads(B[vi])
///
/// Needs  indices of buffers that the block reads (or writes).
struct UnsafeHideBufferAccess {
  struct Args { BlockArg block; std::string buf_type; std::vector<int64_t> buf_index_array; };
  struct Plan { bool is_write; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    if (args.buf_type != "read" && args.buf_type != "write") { return cx.error(Code::AccessKind).arg("access", args.buf_type).at_node(args.block->id); }
    bool is_write = args.buf_type == "write";
    for (int64_t index : args.buf_index_array) { LOOPSMITH_CHECK(require_buffer(cx, *args.block, index, is_write)); }
    return Plan{is_write};
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const Block& block = args.block.block();
    auto fields = block.fields();
    auto& regions = plan.is_write ? fields.writes : fields.reads;
    std::vector<BufferRegion> kept;
    for (size_t i = 0; i < regions.size(); ++i) {
      const auto& hidden = args.buf_index_array;
      if (std::find(hidden.begin(), hidden.end(), static_cast<int64_t>(i)) == hidden.end()) { kept.push_back(regions[i]); }
    }
    regions = std::move(kept);
    Outcome out;
    out.func = args.block.func->name();
    out.rewrite.changes.push_back({args.block->id, make<Block>(std::move(fields), cx.made_from(block.origin), block.id)});
    return out;
  }
};

// Each buffer on the side (read or write) that the argument before names.
auto hidden_indices(const Choice& c) -> std::vector<Value> {
  std::vector<Value> out;
  const Place& at = c.subject();
  if (!at.is_block()) { return out; }
  size_t count = c.chosen.back() == Value("write") ? at.block()->writes.size() : at.block()->reads.size();
  for (size_t i = 0; i < count; ++i) { out.push_back(Value::List{static_cast<int64_t>(i)}); }
  return out;
}

}  // namespace

const Primitive annotate_buffer_access = primitive<AnnotateBufferAccess>("annotate_buffer_access", "AnnotateBufferAccess", "declares the elements of a buffer that a block accesses",
    {Order::Changed, Hidden::Harmless})
    .input("block", &AnnotateBufferAccess::Args::block)
    .input("buffer_index", &AnnotateBufferAccess::Args::buffer_index).from(candidates::read_indices)
    .input("buf_type", &AnnotateBufferAccess::Args::buf_type).from([](const Choice&) { return std::vector<Value>{"read", "write"}; })
    .input("gen_new_ranges", &AnnotateBufferAccess::Args::gen_new_ranges).maps(MapOf::Ranges).from(candidates::ranges)
    .example(examples::two_stages, "sch.annotate_buffer_access(\"B\", 0, \"read\", lambda vi: [(vi, vi + 4)])");
const Primitive unsafe_hide_buffer_access = primitive<UnsafeHideBufferAccess>("unsafe_hide_buffer_access", "UnsafeHideBufferAccess", "removes buffers from the accesses that a block declares",
    {Order::Changed, Hidden::Harmless})
    .input("block", &UnsafeHideBufferAccess::Args::block)
    .input("buf_type", &UnsafeHideBufferAccess::Args::buf_type).from([](const Choice&) { return std::vector<Value>{"read", "write"}; })
    .input("buf_index_array", &UnsafeHideBufferAccess::Args::buf_index_array).from(hidden_indices)
    .example(examples::matmul, "sch.unsafe_hide_buffer_access(\"C\", \"read\", [1])");

}  // namespace loopsmith::schedule::primitives
