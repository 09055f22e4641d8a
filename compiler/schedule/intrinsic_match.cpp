// Matches a block with the description of a tensor intrinsic. Walks both together: the program is on the left, the description on the
// right. Follows TVM's TensorizeComparator, but is stricter where TVM accepts programs with other results: casts and constants must have
// the same type, inner blocks the same init, and indices in front of the tile must be the same in every access.
#include <fmt/format.h>

#include "arith/analyzer.h"
#include "ir/loop_kind.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "schedule/intrinsics.h"
#include "support/reasons.h"

namespace loopsmith::schedule {
namespace {

class Matcher {
 public:
  explicit Matcher(IntrinsicMatch& out) : out_(out) {}
  std::optional<Mismatch> mismatch;         // the first

  auto stmt(const Stmt& a, const Stmt& b) -> bool {
    if (a.kind() != b.kind()) { return no(a.origin(), because(Why::StandsWhere).arg("found", first_line(a)).arg("wanted", first_line(b))); }
    if (const auto* n = a.as<For>()) { return loop(*n, *b.as<For>()); }
    if (const auto* n = a.as<SeqStmt>()) { return sequence(*n, *b.as<SeqStmt>()); }
    if (const auto* n = a.as<BufferStore>()) {
      const auto& m = *b.as<BufferStore>();
      return access(n->buffer, n->indices, m.buffer, m.indices, n->origin) && expr(n->value, m.value);
    }
    if (const auto* n = a.as<BlockRealize>()) { return realize(*n, *b.as<BlockRealize>()); }
    return no(a.origin(), because(Why::NotCompared).arg("found", first_line(a)));
  }

  auto realize(const BlockRealize& a, const BlockRealize& b) -> bool {
    if (!is_scope_) {
      if (a.iter_values.size() != b.iter_values.size()) {
        return no(a.block->origin, because(Why::IterCounts).arg("block", a.block->name.view()).arg("found", a.iter_values.size()).arg("wanted", b.iter_values.size()));
      }
      for (size_t i = 0; i < a.iter_values.size(); ++i) {
        if (!expr(a.iter_values[i], b.iter_values[i])) { return false; }
      }
    }
    if (!expr(a.predicate, b.predicate)) { return false; }
    return block(*a.block, *b.block);
  }

 private:
  auto no(Origin where, Reason why) -> bool {
    if (!mismatch) { mismatch = {std::move(why), where}; }
    return false;
  }
  static auto first_line(const Stmt& s) -> std::string {
    std::string text = print_script(s);
    return text.substr(0, text.find('\n'));
  }

  auto loop(const For& a, const For& b) -> bool {
    if (!define(a.var, b.var)) { return no(a.origin, because(Why::OtherLoop).arg("loop", a.var->name.view()).arg("wanted", b.var->name.view())); }
    if (!expr(a.min, b.min) || !expr(a.extent, b.extent)) { return false; }
    bool same = a.for_kind == b.for_kind && a.thread.has_value() == b.thread.has_value() && (!a.thread || a.thread->thread_tag == b.thread->thread_tag);
    if (!same) { return no(a.origin, because(Why::LoopKinds).arg("loop", a.var->name.view()).arg("found", loop_kind(a)).arg("wanted", loop_kind(b))); }
    if (a.annotations.size() != b.annotations.size()) { return no(a.origin, because(Why::LoopAnnotations).arg("loop", a.var->name.view())); }
    for (size_t i = 0; i < a.annotations.size(); ++i) {
      bool equal = a.annotations[i].first == b.annotations[i].first && a.annotations[i].second.expr() && b.annotations[i].second.expr() &&
                   expr(a.annotations[i].second.expr(), b.annotations[i].second.expr());
      if (!equal) { return no(a.origin, because(Why::LoopAnnotations).arg("loop", a.var->name.view())); }
    }
    return stmt(a.body, b.body);
  }

  auto sequence(const SeqStmt& a, const SeqStmt& b) -> bool {
    if (a.seq.size() != b.seq.size()) { return no(a.origin, because(Why::StatementCounts).arg("found", a.seq.size()).arg("wanted", b.seq.size())); }
    for (size_t i = 0; i < a.seq.size(); ++i) {
      if (!stmt(a.seq[i], b.seq[i])) { return false; }
    }
    return true;
  }

  auto block(const Block& a, const Block& b) -> bool {
    for (const IterVar& iter : a.iter_vars) { left_.bind(iter.var, iter.dom, true); }
    for (const IterVar& iter : b.iter_vars) { both_.bind(iter.var, iter.dom, true); }
    if (!is_scope_) {
      if (a.iter_vars.size() != b.iter_vars.size()) {
        return no(a.origin, because(Why::IterCounts).arg("block", a.name.view()).arg("found", a.iter_vars.size()).arg("wanted", b.iter_vars.size()));
      }
      for (size_t i = 0; i < a.iter_vars.size(); ++i) {
        if (!define(a.iter_vars[i].var, b.iter_vars[i].var) || a.iter_vars[i].kind != b.iter_vars[i].kind) {
          return no(a.origin, because(Why::IterKinds).arg("iter", a.iter_vars[i].var->name.view()).arg("block", a.name.view()));
        }
      }
      if (a.alloc_buffers.size() != b.alloc_buffers.size() || !a.match_buffers.empty() || !b.match_buffers.empty()) {
        return no(a.origin, because(Why::AllocatesBuffers).arg("block", a.name.view()));
      }
      for (size_t i = 0; i < a.alloc_buffers.size(); ++i) {
        if (!buffer(a.alloc_buffers[i], b.alloc_buffers[i], a.origin)) { return false; }
      }
    }
    if (!regions(a, a.writes, b.writes, "writes") || !regions(a, a.reads, b.reads, "reads")) { return false; }
    // The init belongs to the block around it.
    bool was_scope = std::exchange(is_scope_, false);
    if (was_scope ? !a.init && b.init : bool(a.init) != bool(b.init)) {
      return no(a.origin, because(Why::InitDiffers).arg("block", a.name.view()).arg("found", a.init ? "has a" : "has no").arg("wanted", a.init ? "has none" : "has one"));
    }
    if (!was_scope && a.init && !stmt(a.init, b.init)) { return false; }
    return stmt(a.body, b.body);
  }

  auto regions(const Block& block, const Array<BufferRegion>& a, const Array<BufferRegion>& b, std::string_view what) -> bool {
    if (a.size() != b.size()) { return no(block.origin, because(Why::RegionCounts).arg("block", block.name.view()).arg("access", what).arg("found", a.size()).arg("wanted", b.size())); }
    for (size_t i = 0; i < a.size(); ++i) {
      if (!region(a[i], b[i], block)) { return false; }
    }
    return true;
  }

  auto region(const BufferRegion& a, const BufferRegion& b, const Block& block) -> bool {
    Origin where = a.origin.is_known() ? a.origin : block.origin;
    if (!buffer(a.buffer, b.buffer, where)) { return false; }
    if (a.region.size() < b.region.size()) {
      return no(where, because(Why::DimensionCounts).arg("buffer", a.buffer->name.view()).arg("found", a.region.size()).arg("other", b.buffer->name.view()).arg("wanted", b.region.size()));
    }
    size_t lead = a.region.size() - b.region.size();
    auto known = out_.base.find(a.buffer.get());
    bool is_first = known == out_.base.end();
    if (is_first) {
      std::vector<Expr> base;
      for (const Range& r : a.region) { base.push_back(r.min); }
      known = out_.base.emplace(a.buffer.get(), std::move(base)).first;
    }
    const std::vector<Expr>& base = known->second;
    for (size_t i = 0; i < lead && !is_first; ++i) {
      if (!is_one(a.region[i].extent)) { return no(where, because(Why::TileSpans).arg("buffer", a.buffer->name.view()).arg("dimension", i)); }
    }
    for (size_t i = 0; i < b.region.size(); ++i) {
      const Range& left = a.region[i + lead];
      if (!same(left.extent, b.region[i].extent)) {
        return no(where, because(Why::TileExtent).arg("buffer", a.buffer->name.view()).arg("found", print_script(left.extent)).arg("wanted", print_script(b.region[i].extent)));
      }
      if (!is_first && !same(left_.simplify(sub(left.min, base[i + lead])), b.region[i].min)) {
        return no(where, because(Why::RegionBegins).arg("buffer", a.buffer->name.view()).arg("found", print_script(left_.simplify(sub(left.min, base[i + lead])))).arg("wanted", print_script(b.region[i].min)));
      }
    }
    return true;
  }

  auto access(const Buffer& a, const Array<Expr>& a_indices, const Buffer& b, const Array<Expr>& b_indices, Origin where) -> bool {
    if (!buffer(a, b, where)) { return false; }
    auto known = out_.base.find(a.get());
    if (a_indices.size() < b_indices.size() || known == out_.base.end() || known->second.size() != a_indices.size()) {
      return no(where, because(Why::AccessedDifferently).arg("buffer", a->name.view()).arg("other", b->name.view()));
    }
    const std::vector<Expr>& base = known->second;
    size_t lead = a_indices.size() - b_indices.size();
    for (size_t i = 0; i < lead; ++i) {
      if (!left_.can_prove_equal(a_indices[i], base[i])) {
        return no(where, because(Why::IndexVaries).arg("index", print_script(a_indices[i])).arg("buffer", a->name.view()).arg("other", b->name.view()));
      }
    }
    for (size_t i = 0; i < b_indices.size(); ++i) {
      Expr offset = sub(a_indices[i + lead], base[i + lead]);
      if (!same(offset, b_indices[i])) {
        return no(where, because(Why::AccessedAt).arg("buffer", a->name.view()).arg("found", print_script(left_.simplify(offset))).arg("other", b->name.view()).arg("wanted", print_script(b_indices[i])));
      }
    }
    return true;
  }

  // True if two expressions are equal if corresponding variables are taken as equal.
  auto same(const Expr& a, const Expr& b) -> bool {
    if (!a.dtype().is_int() || !b.dtype().is_int() || a.dtype().lanes != 1 || b.dtype().lanes != 1) { return false; }
    return both_.can_prove_equal(a, cast(a.dtype(), b));
  }

  auto define(const Var& a, const Var& b) -> bool {
    auto found = vars_.find(a.get());
    if (found != vars_.end()) { return found->second == b.get(); }
    vars_.emplace(a.get(), b.get());
    if (a->dtype.is_int()) { both_.bind(a, cast(a->dtype, Expr(b)), true); }
    return true;
  }

  auto buffer(const Buffer& a, const Buffer& b, Origin where) -> bool {
    auto found = out_.buffers.find(b.get());
    if (found != out_.buffers.end()) {
      return found->second == a || no(where, because(Why::StandsTwice).arg("buffer", a->name.view()).arg("wanted", b->name.view()).arg("known", found->second->name.view()));
    }
    if (!(a->dtype == b->dtype)) {
      return no(where, because(Why::ElementTypes).arg("buffer", a->name.view()).arg("found", a->dtype.str()).arg("other", b->name.view()).arg("wanted", b->dtype.str()));
    }
    if (!(a->scope() == b->scope())) {
      return no(where, because(Why::Scopes).arg("buffer", a->name.view()).arg("found", a->scope().view()).arg("other", b->name.view()).arg("wanted", b->scope().view()));
    }
    if (!define(a->data, b->data)) { return no(where, because(Why::StandsForTwo).arg("buffer", a->name.view())); }
    out_.buffers.emplace(b.get(), a);
    return true;
  }

  auto expr(const Expr& a, const Expr& b) -> bool {
    // Integer expressions may have different forms: `i % 8` is `i` in a tile of 8.
    auto differs = [&] { return same(a, b) || no(a.origin(), because(Why::StandsWhere).arg("found", print_script(a)).arg("wanted", print_script(b))); };
    if (a.kind() != b.kind() || a.dtype().code != b.dtype().code || a.dtype().lanes != b.dtype().lanes) { return differs(); }
    switch (a.kind()) {
      case NodeKind::VarNode: {
        auto found = vars_.find(a.as<VarNode>());
        return (found != vars_.end() && found->second == b.as<VarNode>()) || differs();
      }
      case NodeKind::IntImm: return a.as<IntImm>()->value == b.as<IntImm>()->value || differs();
      case NodeKind::FloatImm: return (a.dtype() == b.dtype() && a.as<FloatImm>()->value == b.as<FloatImm>()->value) || differs();
      case NodeKind::StringImm: return a.as<StringImm>()->value == b.as<StringImm>()->value || differs();
      case NodeKind::Cast: return a.dtype() == b.dtype() ? expr(a.as<Cast>()->value, b.as<Cast>()->value) : differs();
      case NodeKind::Not: return expr(a.as<Not>()->a, b.as<Not>()->a);
      case NodeKind::Select: {
        const auto& x = *a.as<Select>();
        const auto& y = *b.as<Select>();
        return expr(x.condition, y.condition) && expr(x.true_value, y.true_value) && expr(x.false_value, y.false_value);
      }
      case NodeKind::BufferLoad: {
        const auto& x = *a.as<BufferLoad>();
        const auto& y = *b.as<BufferLoad>();
        return access(x.buffer, x.indices, y.buffer, y.indices, x.origin);
      }
      case NodeKind::Call: {
        const auto& x = *a.as<Call>();
        const auto& y = *b.as<Call>();
        if (!(x.op == y.op) || !(x.dtype == y.dtype) || x.args.size() != y.args.size()) { return differs(); }
        for (size_t i = 0; i < x.args.size(); ++i) {
          if (!expr(x.args[i], y.args[i])) { return false; }
        }
        return true;
      }
#define EXPR(Kind)
#define BINARY(Kind) \
  case NodeKind::Kind: return expr(a.as<Kind>()->a, b.as<Kind>()->a) && expr(a.as<Kind>()->b, b.as<Kind>()->b);
#define COMPARE(Kind) \
  case NodeKind::Kind: return expr(a.as<Kind>()->a, b.as<Kind>()->a) && expr(a.as<Kind>()->b, b.as<Kind>()->b);
#include "ir/nodes.def"
      case NodeKind::Ramp:
      case NodeKind::Broadcast:
      case NodeKind::Shuffle:
      case NodeKind::Let:
      case NodeKind::Reduce: return differs();
#define EXPR(Kind)
#define STMT(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
        return differs();
    }
    return differs();
  }

  IntrinsicMatch& out_;
  bool is_scope_ = true;
  std::unordered_map<const VarNode*, const VarNode*> vars_;
  arith::Analyzer left_;           // with the program's domains
  arith::Analyzer both_;           // with the equalities of corresponding variables
};

}  // namespace

namespace {

// Removes loops of one iteration and iter vars of one value: replaces their variables by that value.
class WithoutUnits final : public Mutator {
 public:
  using Mutator::on;
  auto on(const For& n) -> Stmt override {
    bool is_plain = is_one(n.extent) && n.for_kind == ForKind::Serial && !n.thread && n.annotations.empty();
    return is_plain ? mutate(substitute(n.body, VarMap{{n.var.get(), n.min}})) : Mutator::on(n);
  }
  auto on(const BlockRealize& n) -> Stmt override {
    VarMap units;
    std::vector<IterVar> iters;
    std::vector<Expr> values;
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      const IterVar& iter = n.block->iter_vars[i];
      if (is_one(iter.dom.extent)) { units[iter.var.get()] = iter.dom.min; continue; }
      iters.push_back(iter);
      values.push_back(n.iter_values[i]);
    }
    if (units.empty()) { return Mutator::on(n); }
    auto fields = n.block->fields();
    fields.iter_vars = std::move(iters);
    Stmt block = substitute(Stmt(make<Block>(std::move(fields), n.block->origin)), units);
    return Mutator::on(*make<BlockRealize>(Array<Expr>(std::move(values)), n.predicate, block.ref<Block>(), n.origin));
  }
};

// The same for everything inside of a block; the iter vars of the block itself stay.
auto without_units(const BlockRealize& realize) -> Ref<BlockRealize> {
  auto fields = realize.block->fields();
  fields.body = WithoutUnits().mutate(fields.body);
  return make<BlockRealize>(realize.iter_values, realize.predicate, make<Block>(std::move(fields), realize.block->origin), realize.origin);
}

}  // namespace

auto match_intrinsic(const BlockRealize& block, const PrimFunc& description, IntrinsicMatch& out) -> std::optional<Mismatch> {
  const auto& described = *description->body.as<BlockRealize>();
  const IntrinsicMatch none = out;
  Matcher matcher(out);
  if (!matcher.realize(block, described)) {
    // A dimension of one element may be present on one side and absent on the other.
    out = none;
    Matcher again(out);
    if (!again.realize(*without_units(block), *without_units(described))) { return std::move(matcher.mismatch); }
  }
  for (const Var& param : description->params) {
    Buffer buffer = description->buffer_of(param);
    if (!out.buffers.count(buffer.get())) { return Mismatch{because(Why::NothingStandsFor).arg("buffer", buffer->name.view()), block.block->origin}; }
  }
  return {};
}

}  // namespace loopsmith::schedule
