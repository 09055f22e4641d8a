// The correspondence between a block and the description of a tensor intrinsic: see tensor_match.h.
#include "tune/metaschedule/rules/tensor_match.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::tune::rules {
namespace {

using schedule::FuncState;
using schedule::Place;

/// The block of a description with the loops around it, the outermost first.
struct Description {
  std::vector<const For*> loops;
  const BlockRealize* realize = nullptr;
};

auto read_description(const PrimFunc& func) -> std::optional<Description> {
  const auto* root = func->body.as<BlockRealize>();
  if (!root) { return std::nullopt; }
  Description out;
  for (Stmt s = root->block->body; s;) {
    if (const auto* loop = s.as<For>()) {
      out.loops.push_back(loop);
      s = loop->body;
    } else {
      out.realize = s.as<BlockRealize>();
      break;
    }
  }
  if (!out.realize) { return std::nullopt; }
  return out;
}

/// Compares the bodies of the two blocks. Integer types of different widths are equal, and indices are noted instead of compared.
class BodyMatcher {
 public:
  explicit BodyMatcher(TensorMatch& out) : out_(out) {
    for (const IterVar& iter : out_.block_iters) { analyzer_.bind(iter.var, iter.dom, true); }
    for (const IterVar& iter : out_.intrinsic_iters) { analyzer_.bind(iter.var, iter.dom, true); }
  }

  auto stmt(const Stmt& a, const Stmt& b) -> bool {
    if (!a || !b || a.kind() != b.kind()) { return false; }
    if (const auto* store = a.as<BufferStore>()) {
      const auto& other = *b.as<BufferStore>();
      return access(store->buffer, store->indices, other.buffer, other.indices) && expr(store->value, other.value);
    }
    if (const auto* seq = a.as<SeqStmt>()) {
      const auto& other = *b.as<SeqStmt>();
      if (seq->seq.size() != other.seq.size()) { return false; }
      for (size_t i = 0; i < seq->seq.size(); ++i) { if (!stmt(seq->seq[i], other.seq[i])) { return false; } }
      return true;
    }
    return false;
  }

 private:
  auto expr(const Expr& a, const Expr& b) -> bool {
    if (a.get() == b.get()) { return true; }
    if (a.kind() != b.kind() || a.dtype().code != b.dtype().code) { return false; }
    switch (a.kind()) {
      case NodeKind::VarNode: return false;
      case NodeKind::IntImm: return a.as<IntImm>()->value == b.as<IntImm>()->value;
      case NodeKind::FloatImm: return a.as<FloatImm>()->value == b.as<FloatImm>()->value;
      case NodeKind::Cast: return expr(a.as<Cast>()->value, b.as<Cast>()->value);
      case NodeKind::BufferLoad: return access(a.as<BufferLoad>()->buffer, a.as<BufferLoad>()->indices, b.as<BufferLoad>()->buffer, b.as<BufferLoad>()->indices);
      case NodeKind::Select: return children(a, b);
      case NodeKind::Call: return a.as<Call>()->op == b.as<Call>()->op && children(a, b);
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind: return children(a, b);
#include "ir/nodes.def"
      default: return false;
    }
  }

  auto children(const Expr& a, const Expr& b) -> bool {
    std::vector<Expr> left, right;
    visit_children(a, [&](const Expr& e) { left.push_back(e); });
    visit_children(b, [&](const Expr& e) { right.push_back(e); });
    if (left.size() != right.size()) { return false; }
    for (size_t i = 0; i < left.size(); ++i) { if (!expr(left[i], right[i])) { return false; } }
    return true;
  }

  auto buffer(const Buffer& a, const Buffer& b) -> bool {
    for (const auto& [ours, theirs] : out_.buffers) {
      if (theirs.get() == b.get()) { return ours.get() == a.get(); }
      if (ours->data.get() == a->data.get()) { return false; }
    }
    if (!(a->dtype == b->dtype)) { return false; }
    out_.buffers.emplace_back(a, b);
    return true;
  }

  auto access(const Buffer& a, const Array<Expr>& a_indices, const Buffer& b, const Array<Expr>& b_indices) -> bool {
    if (!buffer(a, b)) { return false; }
    auto known = out_.block_indices.find(a.get());
    auto known_other = out_.intrinsic_indices.find(b.get());
    if (known != out_.block_indices.end()) {
      return known_other != out_.intrinsic_indices.end() && same(a_indices, known->second) && same(b_indices, known_other->second);
    }
    if (known_other != out_.intrinsic_indices.end()) { return false; }
    const bool is_scalar = b_indices.size() == 1 && is_zero(b_indices[0]);
    for (const Expr& index : b_indices) { if (!index.as<VarNode>() && !is_scalar) { return false; } }
    std::vector<Expr>& ours = out_.block_indices[a.get()];
    for (const Expr& index : a_indices) {
      Expr simple = analyzer_.simplify(index);
      ours.push_back(simple.as<IntImm>() ? index : simple);
    }
    out_.intrinsic_indices[b.get()] = {b_indices.begin(), b_indices.end()};
    return true;
  }

  auto same(const Array<Expr>& a, const std::vector<Expr>& b) -> bool {
    if (a.size() != b.size()) { return false; }
    for (size_t i = 0; i < a.size(); ++i) {
      if (analyzer_.prove(equal(a[i], b[i])) != arith::Proof::True) { return false; }
    }
    return true;
  }

  TensorMatch& out_;
  arith::Analyzer analyzer_;
};

auto has_plain_iters(const Block& block) -> bool {
  return std::all_of(block.iter_vars.begin(), block.iter_vars.end(),
                     [](const IterVar& iter) { return iter.kind == IterKind::Spatial || iter.kind == IterKind::Reduction; });
}

/// The buffers, by their number, that an iter var indexes.
auto uses_of(const VarNode* var, const std::vector<const std::vector<Expr>*>& indices) -> std::set<size_t> {
  std::set<size_t> out;
  for (size_t i = 0; i < indices.size(); ++i) {
    for (const Expr& index : *indices[i]) { if (uses_var(index, [&](const VarNode& v) { return &v == var; })) { out.insert(i); } }
  }
  return out;
}

}  // namespace

auto match_block(const Block& block, const PrimFunc& description) -> std::optional<TensorMatch> {
  auto read = read_description(description);
  if (!read || !has_plain_iters(block) || !has_plain_iters(*read->realize->block)) { return std::nullopt; }
  const Block& other = *read->realize->block;
  TensorMatch out;
  out.block_iters = {block.iter_vars.begin(), block.iter_vars.end()};
  out.intrinsic_iters = {other.iter_vars.begin(), other.iter_vars.end()};
  if (!BodyMatcher(out).stmt(block.body, other.body)) { return std::nullopt; }
  return out;
}

auto mapping_of(const TensorMatch& match) -> std::optional<IndexMap> {
  std::vector<const std::vector<Expr>*> ours, theirs;
  for (const auto& [mine, other] : match.buffers) {
    ours.push_back(&match.block_indices.at(mine.get()));
    theirs.push_back(&match.intrinsic_indices.at(other.get()));
  }
  std::vector<std::set<size_t>> their_uses;
  for (const IterVar& iter : match.intrinsic_iters) { their_uses.push_back(uses_of(iter.var.get(), theirs)); }
  arith::Analyzer analyzer;
  std::vector<Var> initial;
  std::vector<Expr> unmapped;
  std::vector<Expr> fused(match.intrinsic_iters.size());
  for (const IterVar& iter : match.block_iters) {
    Var var = make<VarNode>(iter.var->name, iter.var->dtype);
    initial.push_back(var);
    const std::set<size_t> uses = uses_of(iter.var.get(), ours);
    // Counterparts index the same buffers and are of the same kind. An iter var that indexes nothing corresponds to none.
    std::vector<size_t> counterparts;
    for (size_t i = 0; i < their_uses.size(); ++i) {
      if (!their_uses[i].empty() && their_uses[i] == uses && match.intrinsic_iters[i].kind == iter.kind) { counterparts.push_back(i); }
    }
    if (counterparts.size() > 1) { return std::nullopt; }
    if (counterparts.empty()) {
      unmapped.push_back(var);
    } else {
      Expr& sum = fused[counterparts[0]];
      sum = sum ? add(mul(sum, iter.dom.extent), var) : Expr(var);
    }
  }
  for (const Expr& sum : fused) {
    if (!sum) { return std::nullopt; }
    unmapped.push_back(analyzer.simplify(sum));
  }
  return make_index_map({.initial = std::move(initial), .final = std::move(unmapped), .inverse = {}});
}

auto find_intrinsic(const Schedule& sch, const std::string& name) -> const schedule::TensorIntrin* {
  if (sch.intrinsics()) {
    for (const schedule::TensorIntrin& one : *sch.intrinsics()) { if (one.name == Name(name)) { return &one; } }
  }
  const schedule::IntrinsicTable* table = schedule::builtin_intrinsics();
  return table ? table->find(Name(name)) : nullptr;
}

namespace {

/// The loops around a block that stand for loops of a description.
struct LoopMapping {
  struct Pair { size_t loop; size_t described; };   // numbers among the loops around the block, and among those of the description
  std::vector<Pair> pairs;                          // those with the most iter vars of the description first
  std::vector<int64_t> padding;                     // of each iter var of the block; empty: none is needed
};

auto loop_mapping(const FuncState& func, const Place& block, const Description& described, bool allow_padding) -> std::optional<LoopMapping> {
  arith::Analyzer analyzer;
  std::vector<const For*> loops;
  std::unordered_set<const VarNode*> loop_vars, described_vars;
  for (const Place* p = func.parent(block); p && p->is_loop() && !p->loop->body.as<SeqStmt>(); p = func.parent(*p)) {
    if (!is_zero(p->loop->min)) { return std::nullopt; }
    loops.push_back(p->loop);
    loop_vars.insert(p->loop->var.get());
  }
  std::reverse(loops.begin(), loops.end());
  const size_t outside = func.loops(block).size() - loops.size();
  for (const For* loop : described.loops) { described_vars.insert(loop->var.get()); }
  const BlockRealize& realize = *block.realize;
  const auto& iters = realize.block->iter_vars;
  const auto& described_iters = described.realize->block->iter_vars;
  if (iters.size() < described_iters.size() || described.loops.size() != described_iters.size() || loops.size() != iters.size()) { return std::nullopt; }
  auto differs_by_constant = [&](const Expr& value, const Var& var, const std::unordered_set<const VarNode*>& vars, Expr& residual) {
    residual = analyzer.simplify(sub(value, var));
    return !uses_var(residual, [&](const VarNode& v) { return vars.contains(&v); });
  };
  LoopMapping out;
  std::vector<int64_t> padding(iters.size(), 1);
  bool is_padded = false;
  std::unordered_set<size_t> taken;
  int next = static_cast<int>(iters.size()) - 1;
  for (size_t d = described_iters.size(); d-- > 0;) {
    Expr residual;
    size_t described_loop = 0;
    while (described_loop < described.loops.size() &&
           !differs_by_constant(described.realize->iter_values[d], described.loops[described_loop]->var, described_vars, residual)) { ++described_loop; }
    if (described_loop == described.loops.size()) { return std::nullopt; }
    auto inner = as_int(described.loops[described_loop]->extent);
    if (!inner) { return std::nullopt; }
    // The next iter var of the block of the same kind, from the back.
    int current = next;
    while (current >= 0 && iters[static_cast<size_t>(current)].kind != described_iters[described_loop].kind) { --current; }
    if (current < 0) { return std::nullopt; }
    next = current - 1;
    for (size_t i = 0; i < loops.size(); ++i) {
      if (taken.contains(i) || !differs_by_constant(realize.iter_values[static_cast<size_t>(current)], loops[i]->var, loop_vars, residual)) { continue; }
      if (!is_zero(residual)) { allow_padding = false; }
      auto extent = as_int(loops[i]->extent);
      if (!extent) { return std::nullopt; }
      if (*extent % *inner != 0) {
        if (!allow_padding) { return std::nullopt; }
        padding[static_cast<size_t>(current)] = *inner;
        is_padded = true;
      }
      taken.insert(i);
      out.pairs.push_back({outside + i, described_loop});
      break;
    }
  }
  if (out.pairs.size() != described.loops.size() || (is_padded && !allow_padding)) { return std::nullopt; }
  if (is_padded) { out.padding = std::move(padding); }
  return out;
}

/// Pads the block, and inlines the blocks that pad its operands and its result into those around.
auto pad(Schedule& sch, BlockRV block, const std::vector<int64_t>& padding) -> Status {
  LOOPSMITH_CHECK(perform(sch, "pad_einsum", {block, schedule::Value(padding)}));
  LOOPSMITH_TRY(producers, blocks_from(sch, "get_producers", block));
  for (BlockRV producer : producers) {
    LOOPSMITH_TRY(before, blocks_from(sch, "get_producers", producer));
    if (before.size() == 1) { LOOPSMITH_CHECK(perform(sch, "compute_inline", {before[0]})); }
  }
  LOOPSMITH_TRY(consumers, blocks_from(sch, "get_consumers", block));
  for (BlockRV consumer : consumers) { LOOPSMITH_CHECK(perform(sch, "compute_inline", {consumer})); }
  return ok();
}

}  // namespace

auto tile_with_intrinsic(Schedule& sch, BlockRV block, const std::string& intrinsic, bool allow_padding) -> Result<std::optional<LoopRV>> {
  const schedule::TensorIntrin* intrin = find_intrinsic(sch, intrinsic);
  auto described = intrin ? read_description(intrin->description) : std::nullopt;
  if (!described) { return std::optional<LoopRV>(); }
  LOOPSMITH_TRY(found, find_block(sch, block));
  auto mapping = loop_mapping(*found.func, *found.place, *described, allow_padding);
  if (!mapping) { return std::optional<LoopRV>(); }
  if (!mapping->padding.empty()) { LOOPSMITH_CHECK(pad(sch, block, mapping->padding)); }
  LOOPSMITH_TRY(loops, get_loops(sch, block));
  std::vector<LoopRV> inside(described->loops.size());
  for (const LoopMapping::Pair& pair : mapping->pairs) {
    LOOPSMITH_TRY(parts, metaschedule::split(sch, loops[pair.loop], {nullptr, *as_int(described->loops[pair.described]->extent)}));
    inside[pair.described] = parts[1];
  }
  LOOPSMITH_TRY(all, get_loops(sch, block));
  // Loops that stand below one of the inner parts move outside of it.
  std::vector<LoopRV> order;
  std::unordered_set<NodeId> inner_ids;
  for (LoopRV loop : inside) {
    LOOPSMITH_TRY(place, sch.get(loop));
    inner_ids.insert(place->id);
  }
  bool is_below = false;
  for (LoopRV loop : all) {
    LOOPSMITH_TRY(place, sch.get(loop));
    if (inner_ids.contains(place->id)) { is_below = true; }
    else if (is_below) { order.push_back(loop); }
  }
  order.insert(order.end(), inside.begin(), inside.end());
  LOOPSMITH_CHECK(reorder(sch, order));
  return std::optional<LoopRV>(inside.front());
}

}  // namespace loopsmith::tune::rules
