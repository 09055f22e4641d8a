// Unrolls loops: see unroll_loop.h.
#include "transform/unroll_loop.h"

#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/saturate.h"
#include "support/scoped_value.h"
#include "transform/fold.h"
#include "support/fault.h"

namespace loopsmith::transform {
namespace {

// The number of statements in a subtree; statements in loops that remain count once.
auto count_statements(const Stmt& stmt) -> int64_t {
  int64_t count = 0;
  post_order(
      stmt, [&](const Stmt& s) { count += s.as<BufferStore>() || s.as<Evaluate>() ? 1 : 0; }, [](const Expr&) {});
  return count;
}

class Unroll : public Mutator {
 public:
  explicit Unroll(const LowerOptions& options) : max_steps_(options.unroll_steps), limit_(options.unroll_limit) {}
  using Mutator::on;

  auto on(const AttrStmt& n) -> Stmt override {
    static const Name steps("pragma_auto_unroll_max_step");
    static const Name explicitly("pragma_unroll_explicit");
    if (n.key == steps) {
      ScopedValue inside(max_steps_, as_int(n.value).value_or(0));
      return mutate(n.body);
    }
    if (n.key == explicitly) { return mutate(n.body); }
    return Mutator::on(n);
  }
  auto on(const For& n) -> Stmt override {
    int outer_loops = std::exchange(loops_left_, 0);
    Stmt body = mutate(n.body);
    int inner_loops = std::exchange(loops_left_, outer_loops);
    auto extent = as_int(n.extent);
    int64_t steps = extent ? saturating_mul(std::max<int64_t>(*extent, 0), count_statements(body)) : 0;
    bool marked = n.for_kind == ForKind::Unrolled && extent && saturating_add(spent_, steps) <= limit_;
    bool automatic = n.for_kind == ForKind::Serial && extent && *extent > 0 && inner_loops == 0 && n.annotations.empty() &&
                     max_steps_ > 0 && steps <= max_steps_ && saturating_add(spent_, steps) <= limit_;
    // A jump out of the body needs the loop.
    if ((marked || automatic) && (!loop_jumps_out_of(body).any() || FAULT(unroll_jump_lost))) {
      loops_left_ = outer_loops + inner_loops;
      spent_ += steps;
      std::vector<Stmt> out;
      for (int64_t i = 0; i < *extent - (FAULT(unroll_last_lost) && *extent > 1 ? 1 : 0); ++i) {
        VarMap map{{n.var.get(), add(n.min, constant_int(n.var->dtype, i))}};
        out.push_back(fold(body, map, /*copy=*/true));
      }
      return seq(std::move(out), n.origin);
    }
    loops_left_ = outer_loops + 1;
    if (body.same_as(n.body)) { return self(n); }
    return make<For>(n.var, n.min, n.extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
  }

 private:
  int64_t max_steps_;
  int64_t limit_;
  int64_t spent_ = 0;
  int loops_left_ = 0;   // loops that remain below the current statement
};

}  // namespace

auto unroll_loop(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> {
    return with_body(func, Unroll(context.options).mutate(func->body));
  });
}

}  // namespace loopsmith::transform
