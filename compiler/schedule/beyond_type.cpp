// Finds integer overflow in new code: see beyond_type.h.
#include "schedule/beyond_type.h"

#include <algorithm>
#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/wrapped.h"
#include "schedule/rewriting.h"
#include "support/codes.h"

namespace loopsmith::schedule {
namespace {

// An extent so large that sums and rounded multiples of such indices may overflow their type.
auto is_far(const Expr& count) -> bool {
  auto number = as_int(count);
  return number && *number >= (count.dtype().bits < 64 ? int64_t{1} << 28 : int64_t{1} << 58);
}
auto is_far(const Place& loop) -> bool { return is_far(loop.loop->extent); }

// True when a loop or block in the statement has such an extent. Visits only the first few statements, so that a step stays cheap in a large program.
auto holds_far(const Stmt& stmt) -> bool {
  int left = 32;
  auto look = [&](const auto& self, const Stmt& s) -> bool {
    if (!s || --left < 0) { return false; }
    if (const auto* loop = s.as<For>()) { return is_far(loop->extent) || self(self, loop->body); }
    if (const auto* realize = s.as<BlockRealize>()) { return self(self, Stmt(realize->block)); }
    if (const auto* branch = s.as<IfThenElse>()) { return self(self, branch->then_case) || self(self, branch->else_case); }
    if (const auto* let = s.as<LetStmt>()) { return self(self, let->body); }
    if (const auto* attr = s.as<AttrStmt>()) { return self(self, attr->body); }
    if (const auto* block = s.as<Block>()) {
      for (const IterVar& iter : block->iter_vars) {
        if (is_far(iter.dom.extent)) { return true; }
      }
      return self(self, block->init) || self(self, block->body);
    }
    if (const auto* sequence = s.as<SeqStmt>()) {
      for (const Stmt& item : sequence->seq) {
        if (left <= 0) { break; }
        if (self(self, item)) { return true; }
      }
    }
    return false;
  };
  return look(look, stmt);
}

class Ranges : public Visitor {
 public:
  std::optional<BeyondType> found;

  void know(const Var& var, const Range& range) {
    if (!range.min || !range.extent || !as_int(range.min) || !as_int(range.extent)) { return; }
    known_.insert(var.get());
    analyzer_.bind(var, range, true);
  }

  using Visitor::on;
  using Visitor::visit;
  void on(const For& n) override {
    look(n.min);
    look(n.extent);
    know(n.var, {n.min, n.extent});
    visit(n.body);
  }
  void on(const BlockRealize& n) override {
    for (const Expr& value : n.iter_values) { look(value); }
    look(n.predicate);
    on(*n.block);
  }
  void on(const Block& n) override {
    for (const IterVar& iter : n.iter_vars) { know(iter.var, iter.dom); }
    if (n.init) { visit(n.init); }
    visit(n.body);
  }
  void on(const BufferStore& n) override {
    for (const Expr& index : n.indices) { look(index); }
    visit(n.value);
  }
  void on(const BufferLoad& n) override {
    for (const Expr& index : n.indices) { look(index); }
  }

 private:
  void look(const Expr& e) {
    post_order(e, [&](const Expr& part) {
      DataType t = part.dtype();
      bool is_counted = t.is_int() && t.is_scalar() && (t.bits == 32 || t.bits == 64) && part.kind() != NodeKind::IntImm && part.kind() != NodeKind::VarNode;
      if (found || !is_counted || uses_var(part, [&](const VarNode& v) { return known_.count(&v) == 0; })) { return; }
      arith::ConstIntBound bound = analyzer_.const_int_bound(part);
      if (t.bits == 64) {
        // If all variables have constant bounds, an infinite bound means that the sum exceeds 64 bits.
        if (bound.max == arith::ConstIntBound::pos_inf) { found = {print_script(part), "2^63", t}; }
        return;
      }
      const int64_t most = *as_int(max_value(t)), least = *as_int(min_value(t));
      if (bound.max > most && bound.max != arith::ConstIntBound::pos_inf) { found = {print_script(part), std::to_string(bound.max), t}; }
      if (bound.min < least && bound.min != arith::ConstIntBound::neg_inf) { found = {print_script(part), std::to_string(bound.min), t}; }
    });
  }

  arith::Analyzer analyzer_;
  std::unordered_set<const VarNode*> known_;   // with constant bounds
};

}  // namespace

auto find_beyond_type(const FuncState& func, const Rewrite& rewrite) -> std::optional<BeyondType> {
  auto look = [&](NodeId at, const Stmt& made) -> std::optional<BeyondType> {
    if (!made) { return {}; }
    const Place* place = func.find(at);
    bool is_large = place && holds_far(made);
    for (const Place* around = place ? func.parent(*place) : nullptr; around && around->is_loop() && !is_large; around = func.parent(*around)) { is_large = is_far(*around); }
    if (!is_large) { return {}; }
    Ranges ranges;
    for (const auto& [var, domain] : domains_around(func, *place)) { ranges.know(var, domain); }
    ranges.visit(made);
    return ranges.found;
  };
  for (const Rewrite::Change& change : rewrite.changes) {
    if (auto found = look(change.at, change.with)) { return found; }
  }
  for (const Rewrite::Insert& insert : rewrite.inserts) {
    if (auto found = look(insert.at, insert.stmt)) { return found; }
  }
  for (const Rewrite::Before& before : rewrite.befores) {
    if (auto found = look(before.at, before.stmt)) { return found; }
  }
  return {};
}

auto size_beyond_type(const Context& cx, std::string what, std::string value, DataType dtype) -> Diagnostic {
  const __int128 half = __int128{1} << (dtype.bits - 1);
  const bool is_signed = !dtype.is_uint();
  Diagnostic out = cx.error(Code::SizeBeyondType).arg("what", what).arg("value", value).arg("dtype", dtype.str())
                       .arg("low", decimal(is_signed ? -half : 0)).arg("high", decimal(is_signed ? half - 1 : 2 * half - 1));
  if (dtype.bits < 64) { out.remedies.emplace_back("give the loops extents of 64 bits in the program: `T.int64(n)`"); }
  return out;
}

}  // namespace loopsmith::schedule
