// Helpers that primitives use to build new trees: see rewriting.h.
#include "schedule/rewriting.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/iter_map.h"
#include "ir/dialects.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "support/codes.h"

namespace loopsmith::schedule {
namespace {

class BindingSimplifier : public Mutator {
 public:
  BindingSimplifier(Domains domains, bool fold, Dialect dialect) : domains_(std::move(domains)), fold_(fold), dialect_(dialect) {}
  using Mutator::on;
  auto on(const For& n) -> Stmt override {
    domains_.emplace_back(n.var, Range{n.min, n.extent});
    Stmt body = mutate(n.body);
    domains_.pop_back();
    if (body.same_as(n.body)) { return self(n); }
    return make<For>(n.var, n.min, n.extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
  }
  auto on(const BlockRealize& n) -> Stmt override {
    // A block without iter vars uses the loops around it directly; other blocks use loops only through their iter values.
    if (n.iter_values.empty()) {
      Stmt body = mutate(n.block->body);
      if (body.same_as(n.block->body)) { return self(n); }
      auto fields = n.block->fields();
      fields.body = std::move(body);
      return make<BlockRealize>(n.iter_values, n.predicate, make<Block>(std::move(fields), n.block->origin, n.block->id), n.origin);
    }
    auto known = normal_form(n);
#ifndef LOOPSMITH_CHECKED
    std::vector<Expr> values = known ? std::move(*known) : simplified(n);
#else
    std::vector<Expr> values = simplified(n);
    for (size_t i = 0; i < values.size(); ++i) { assert(!known || arith::deep_equal(values[i], (*known)[i])); }
#endif
    bool same = true;
    for (size_t i = 0; i < values.size(); ++i) {
      // A predicate may leave a remainder of a loop; this remainder may be a divisor, and may be zero.
      if (!values[i].same_as(n.iter_values[i]) && divides_by_rest(values[i]) && !divides_by_rest(n.iter_values[i])) { values[i] = n.iter_values[i]; }
      // A constant gets the iter var's type, as when the program is parsed.
      if (as_int(values[i])) { values[i] = cast(n.block->iter_vars[i].var->dtype, values[i]); }
      same &= values[i].same_as(n.iter_values[i]);
    }
    if (same) { return self(n); }
    return make<BlockRealize>(Array<Expr>(std::move(values)), n.predicate, n.block, n.origin);
  }
  // Expressions contain no blocks.
  auto on(const BufferStore& n) -> Stmt override { return self(n); }
  auto on(const Evaluate& n) -> Stmt override { return self(n); }

 private:
  static auto divides_by_rest(const Expr& e) -> bool {
    bool found = false;
    post_order(e, [&](const Expr& x) {
      const auto* quotient = x.as<FloorDiv>();
      const auto* rest = x.as<FloorMod>();
      const Expr* divisor = quotient ? &quotient->b : rest ? &rest->b : nullptr;
      if (!divisor || as_int(*divisor)) { return; }
      post_order(*divisor, [&](const Expr& part) { found = found || part.as<Min>() || part.as<Max>(); });
    });
    return found;
  }
  auto simplified(const BlockRealize& n) -> std::vector<Expr> {
    return arith::iter_map_simplify(n.iter_values.to_vector(), domains_, n.predicate, arith::IterMapLevel::Surjective, analyzer_, fold_, dialects::is_recent(dialect_));
  }
  // The forms that result from dividing splits and fused loops: loops from 0, or digits `f // 4` and `f % 4` of loops and of their sums. Each is used
  // once, alone or in a sum that counts without gaps. None: another form, which the analysis must decide.
  auto normal_form(const BlockRealize& n) -> std::optional<std::vector<Expr>> {
    if (!is_one(n.predicate)) { return {}; }
    digits_.clear();
    sums_.clear();
    std::vector<Expr> out;
    out.reserve(n.iter_values.size());
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      const Expr& value = n.iter_values[i];
      if (!(value.dtype() == n.block->iter_vars[i].var->dtype)) { return {}; }
      terms_.clear();
      const size_t own = digits_.size();
      if (!take_terms(value, 1)) { return {}; }
      if (!count_without_gaps(0)) { return {}; }
      for (const Term& term : terms_) { if (!(term.digit.dtype() == value.dtype())) { return {}; } }
      // Two digits of one loop in a sum would merge into one digit.
      for (size_t k = own; k < digits_.size(); ++k) {
        for (size_t l = own; l < k; ++l) { if (digits_[k].of == digits_[l].of) { return {}; } }
      }
      if (is_written_so(value)) { out.push_back(value); continue; }
      if (!are_domains_known()) { return {}; }
      Expr sum = terms_.empty() ? zero(value.dtype()) : Expr();
      for (const Term& term : terms_) {
        Expr part = term.scale == 1 ? term.digit : mul(term.digit, constant_int(value.dtype(), term.scale));
        sum = sum ? add(std::move(sum), std::move(part)) : std::move(part);
      }
      out.push_back(std::move(sum));
    }
    // All digits of each loop must occur, and be adjacent.
    std::sort(digits_.begin(), digits_.end(), [](const Digit& a, const Digit& b) { return a.of != b.of ? std::less<>()(a.of, b.of) : a.lower < b.lower; });
    for (size_t i = 0; i < digits_.size(); ++i) {
      const Digit& d = digits_[i];
      bool is_first = i == 0 || digits_[i - 1].of != d.of;
      bool is_last = i + 1 == digits_.size() || digits_[i + 1].of != d.of;
      if (is_first && d.lower != 1) { return {}; }
      if (is_last ? d.lower * d.extent != d.whole : d.lower * d.extent != digits_[i + 1].lower) { return {}; }
    }
    // A loop is either in one sum, or has separate digits.
    for (const Sum& sum : sums_) {
      for (const VarNode* var : sum.loops) {
        if (std::any_of(digits_.begin(), digits_.end(), [&](const Digit& d) { return d.of == var; }) ||
            std::any_of(sums_.begin(), sums_.end(), [&](const Sum& other) { return &other != &sum && std::find(other.loops.begin(), other.loops.end(), var) != other.loops.end(); })) {
          return {};
        }
      }
    }
    return out;
  }
  // True if the terms from `first` on count without gaps: the scale of the last is 1, that of each other is the product of the extents behind it.
  [[nodiscard]] auto count_without_gaps(size_t first) const -> bool {
    int64_t scale = 1;
    for (size_t t = terms_.size(); t-- > first;) {
      if (terms_[t].scale != scale || __builtin_mul_overflow(scale, terms_[t].extent, &scale)) { return false; }
    }
    return true;
  }
  struct Term { Expr digit; int64_t scale, extent; };
  // Collects the terms of a sum, also of sums in products: `(i_0 * 4 + i_1) * 8`. A folded loop of one iteration gives no term.
  auto take_terms(const Expr& e, int64_t scale) -> bool {
    if (const auto* sum = e.as<Add>()) { return take_terms(sum->a, scale) && take_terms(sum->b, scale); }
    if (const auto* product = e.as<Mul>()) {
      auto factor = as_int(product->b);
      return factor && *factor > 0 && !__builtin_mul_overflow(scale, *factor, &scale) && take_terms(product->a, scale);
    }
    if (fold_ && is_unit_loop(e)) { return true; }
    int64_t extent = take_digit(e);
    if (extent == 0) { return false; }
    terms_.push_back({e, scale, extent});
    return true;
  }
  // True if the value is the sum of its terms in this order.
  [[nodiscard]] auto is_written_so(const Expr& value) const -> bool {
    const Expr* at = &value;
    for (size_t t = terms_.size(); t-- > 0;) {
      const auto* sum = at->as<Add>();
      if ((sum != nullptr) != (t > 0)) { return false; }
      const Expr& part = sum ? sum->b : *at;
      const auto* product = terms_[t].scale == 1 ? nullptr : part.as<Mul>();
      if (!(product ? product->a : part).same_as(terms_[t].digit)) { return false; }
      if (sum) { at = &sum->a; }
    }
    return !terms_.empty();
  }
  // False if the bounds of a loop use others: the analysis handles these.
  [[nodiscard]] auto are_domains_known() const -> bool {
    return std::all_of(domains_.begin(), domains_.end(), [](const auto& d) { return as_int(d.second.min) && as_int(d.second.extent); });
  }
  [[nodiscard]] auto is_unit_loop(const Expr& e) const -> bool {
    const auto* var = e.as<VarNode>();
    for (auto it = domains_.rbegin(); var && it != domains_.rend(); ++it) {
      if (it->first.get() == var) { return is_zero(it->second.min) && is_one(it->second.extent); }
    }
    return false;
  }
  struct Digit { const ExprNode* of; int64_t lower, extent, whole; };  // the digit of a loop's variable, or of a sum of several
  struct Sum { Expr value; int64_t extent; std::vector<const VarNode*> loops; };
  // The number of values of a loop's variable, or of a digit of it or of a sum of loops; 0: another expression.
  auto take_digit(const Expr& e) -> int64_t {
    const auto* quotient = e.as<FloorDiv>();
    const Expr& below = quotient ? quotient->a : e;
    const auto* remainder = below.as<FloorMod>();
    const Expr& of = remainder ? remainder->a : below;
    const int64_t whole = quotient || remainder ? extent_of(of) : loop_extent(of.as<VarNode>());
    const int64_t lower = quotient ? as_int(quotient->b).value_or(0) : 1;
    const int64_t upper = remainder ? as_int(remainder->b).value_or(0) : whole;
    if (whole <= 0 || lower <= 0 || upper <= 0 || upper > whole || whole % upper != 0 || upper % lower != 0) { return 0; }
    // Folds loops of one iteration on request; a digit with a single value is not kept.
    int64_t extent = upper / lower;
    if (extent == 1 && (fold_ || quotient || remainder)) { return 0; }
    if (remainder && upper == whole) { return 0; }
    digits_.push_back({of.get(), lower, extent, whole});
    return extent;
  }
  [[nodiscard]] auto loop_extent(const VarNode* var) const -> int64_t {
    for (auto it = domains_.rbegin(); var && it != domains_.rend(); ++it) {
      if (it->first.get() == var) { return is_zero(it->second.min) ? as_int(it->second.extent).value_or(0) : 0; }
    }
    return 0;
  }
  // The extent of the dividend: that of a loop, or of a sum of whole loops in counting order, whose digits stay digits of the sum.
  auto extent_of(const Expr& e) -> int64_t {
    if (!e.as<Add>()) { return loop_extent(e.as<VarNode>()); }
    for (const Sum& known : sums_) { if (known.value.same_as(e)) { return known.extent; } }
    const std::vector<Term> around = std::exchange(terms_, {});
    const size_t own = digits_.size();
    int64_t extent = take_terms(e, 1) && count_without_gaps(0) && is_written_so(e) ? terms_.front().scale * terms_.front().extent : 0;
    Sum sum{e, extent, {}};
    for (const Term& term : terms_) {
      if (!term.digit.as<VarNode>() || term.extent == 1 || !(term.digit.dtype() == e.dtype())) { extent = 0; }
      sum.loops.push_back(term.digit.as<VarNode>());
    }
    digits_.resize(own);
    terms_ = around;
    if (extent > 0) { sums_.push_back(std::move(sum)); }
    return extent;
  }
  Domains domains_;
  bool fold_;
  Dialect dialect_;
  arith::Analyzer analyzer_;
  std::vector<Digit> digits_;
  std::vector<Sum> sums_;
  std::vector<Term> terms_;
};

class PredicateAdder : public Mutator {
 public:
  explicit PredicateAdder(const Expr& condition) : condition_(condition) {}
  using Mutator::on;
  auto on(const BlockRealize& n) -> Stmt override {
    return make<BlockRealize>(n.iter_values, logical_and(n.predicate, condition_), n.block, n.origin);
  }
  auto on(const BufferStore& n) -> Stmt override { return self(n); }
  auto on(const Evaluate& n) -> Stmt override { return self(n); }

 private:
  const Expr& condition_;
};

class StmtReplacer : public Mutator {
 public:
  explicit StmtReplacer(const std::function<Stmt(const Stmt&)>& f) : f_(f) {}
  using Mutator::on;
  auto on(const For& n) -> Stmt override { return either(n, [&] { return Mutator::on(n); }); }
  auto on(const BlockRealize& n) -> Stmt override { return either(n, [&] { return Mutator::on(n); }); }
  auto on(const SeqStmt& n) -> Stmt override {
    return either(n, [&]() -> Stmt {
      std::vector<Stmt> items;
      bool same = true;
      for (const Stmt& item : n.seq) {
        items.push_back(mutate(item));
        same &= items.back().same_as(item);
      }
      return same ? self(n) : seq(std::move(items), n.origin);
    });
  }
  auto on(const BufferStore& n) -> Stmt override { return either(n, [&] { return self(n); }); }
  auto on(const Evaluate& n) -> Stmt override { return either(n, [&] { return self(n); }); }

 private:
  template <class F>
  auto either(const StmtNode& node, const F& otherwise) -> Stmt {
    Stmt stmt = self(node);
    if (Stmt changed = f_(stmt)) { return changed; }
    return otherwise();
  }
  const std::function<Stmt(const Stmt&)>& f_;
};

}  // namespace

auto simplify_bindings(const Stmt& stmt, Domains outer, bool fold_unit_loops, Dialect dialect) -> Stmt {
  return BindingSimplifier(std::move(outer), fold_unit_loops, dialect).mutate(stmt);
}

auto add_predicate(const Stmt& stmt, const Expr& condition) -> Stmt { return PredicateAdder(condition).mutate(stmt); }

auto with_parts(const For& loop, ForParts parts, Origin origin) -> Ref<For> {
  return make<For>(loop.var, loop.min, loop.extent, parts.kind.value_or(loop.for_kind), parts.body ? std::move(*parts.body) : loop.body,
                   parts.thread ? std::move(*parts.thread) : loop.thread, loop.annotations, origin, loop.id);
}

auto domains_around(const FuncState& func, const Place& place) -> Domains {
  Domains out;
  for (const Place* at = func.parent(place); at && at->is_loop(); at = func.parent(*at)) {
    out.emplace_back(at->loop->var, Range{at->loop->min, at->loop->extent});
  }
  std::reverse(out.begin(), out.end());
  return out;
}

auto replace_stmt(const Stmt& root, const std::function<Stmt(const Stmt&)>& f) -> Stmt { return StmtReplacer(f).mutate(root); }

auto statements_with(const FuncState& func, const Place& site, const Buffer& buffer) -> std::vector<Stmt> {
  const Block& block = *site.block();
  auto has_region = [&](const BufferRegion& region) { return region.buffer->data == buffer->data; };
  bool is_mentioned = block.init || !block.match_buffers.empty() || !block.annotations.empty() || !block.iter_vars.empty() ||
                      std::any_of(block.reads.begin(), block.reads.end(), has_region) || std::any_of(block.writes.begin(), block.writes.end(), has_region);
  if (is_mentioned || !func.has_plain_body(site)) { return {Stmt(Ref<Block>(&block))}; }
  std::vector<Stmt> out;
  for (const Place* place : func.mentioning(site, buffer)) { out.push_back(place->stmt()); }
  return out;
}

auto with_buffer_changed(const FuncState& func, const Place& site, const Buffer& from, const Buffer& to, const std::function<Stmt(const Stmt&)>& change) -> Rewrite {
  Rewrite out;
  for (const Stmt& stmt : statements_with(func, site, from)) {
    Stmt changed = change(stmt);
    if (stmt.as<Block>()) {
      out.changes.push_back({site.id, std::move(changed)});
      return out;
    }
    if (!changed.same_as(stmt)) { out.changes.push_back({stmt.as<For>() ? stmt.as<For>()->id : stmt.as<BlockRealize>()->block->id, std::move(changed)}); }
  }
  if (func.allocates(site, from)) { out.allocs.push_back({site.id, to, from}); }
  return out;
}

auto note_loop(Diagnostic diagnostic, const Place& loop) -> Diagnostic {
  return std::move(diagnostic).at_node(loop.id).note(loop.loop->origin, fmt::format("the loop `{}` is here", loop.name().view()), loop.id);
}
auto note_block(Diagnostic diagnostic, const Place& block) -> Diagnostic {
  return std::move(diagnostic).at_node(block.id).note(block.block()->origin, fmt::format("the block `{}` is here", block.name().view()), block.id);
}

auto require_plain_loop(const Context& cx, const LoopArg& loop) -> Status {
  const For& n = loop.loop();
  if (n.thread) {
    return note_loop(cx.error(Code::LoopIsBound).arg("loop", n.var->name.view()).arg("axis", n.thread->thread_tag.view()), *loop)
        .remedy(fmt::format("apply `{}` before `bind`", cx.primitive.name));
  }
  if (!n.annotations.empty()) {
    return note_loop(cx.error(Code::LoopIsAnnotated).arg("loop", n.var->name.view()).arg("key", n.annotations.front().first.view()), *loop)
        .remedy("annotate afterwards, or remove it first: `sch.unannotate(" + n.var->name.str() + ", \"" + n.annotations.front().first.str() + "\")`");
  }
  return ok();
}

auto require_starts_at_zero(const Context& cx, const LoopArg& loop) -> Status {
  const Expr& min = loop.loop().min;
  if (is_zero(min)) { return ok(); }
  arith::Analyzer analyzer;
  if (!as_int(min) && analyzer.can_prove_equal(min, zero(min.dtype()))) { return ok(); }
  std::string start = print_script(min);
  return note_loop(cx.error(Code::LoopStart).arg("loop", loop->name().view()).arg("start", as_int(min) ? start : "`" + start + "`"), *loop)
      .remedy(fmt::format("write the loop from 0 in the program, `for {0} in range({1})`, and `{0} + {2}` in its body", loop->name().view(), print_script(loop.loop().extent), start));
}

auto plan_removal(const Context& cx, const FuncState& func, const Place& block) -> Result<Rewrite::Change> {
  const Place* last = &block;
  const Place* around = func.parent(block);
  while (around->is_loop() && !around->loop->body.as<SeqStmt>()) {
    last = around;
    around = func.parent(*around);
  }
  const Stmt* body = around->is_loop() ? &around->loop->body : &around->block()->body;
  while (true) {
    if (const auto* n = body->as<AllocateConst>()) { body = &n->body; } else if (const auto* m = body->as<DeclBuffer>()) { body = &m->body; } else { break; }
  }
  if (!body->as<SeqStmt>()) {
    return note_block(cx.error(Code::OnlyBlock).arg("block", block.name().view()).arg("scope", around->name().view()), block);
  }
  return Rewrite::Change{last->id, Stmt()};
}

auto is_invertible(const std::vector<arith::IterSum>& map) -> bool {
  for (const arith::IterSum& sum : map) {
    if (sum->args.size() != 1) { continue; }
    auto scale = as_int(sum->args.front().scale);
    if (!scale || (*scale != 1 && *scale != -1)) { return false; }
  }
  return true;
}

void add_signature_buffers(const Block& block, std::vector<Buffer>& out) {
  auto add = [&](const Buffer& buffer) {
    if (std::find(out.begin(), out.end(), buffer) == out.end()) { out.push_back(buffer); }
  };
  for (const BufferRegion& region : block.reads) { add(region.buffer); }
  for (const BufferRegion& region : block.writes) { add(region.buffer); }
  for (const Buffer& buffer : block.alloc_buffers) { add(buffer); }
  post_order(block.body, [&](const Stmt& stmt) {
    if (const auto* inner = stmt.as<Block>()) {
      for (const BufferRegion& region : inner->reads) { add(region.buffer); }
      for (const BufferRegion& region : inner->writes) { add(region.buffer); }
      for (const Buffer& buffer : inner->alloc_buffers) { add(buffer); }
    }
  }, [](const Expr&) {});
}

auto wrap_loops(Stmt body, const Domains& domains, Origin origin) -> Stmt {
  for (auto it = domains.rbegin(); it != domains.rend(); ++it) {
    const auto& [var, range] = *it;
    body = make<For>(var, cast(var->dtype, range.min), cast(var->dtype, range.extent), ForKind::Serial, std::move(body), std::optional<IterVar>(), AttrMap(), origin);
  }
  return body;
}

}  // namespace loopsmith::schedule
