// Moves loops over threads out of serial loops: see threads_outside.h.
#include "transform/device/threads_outside.h"

#include <algorithm>
#include <vector>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "transform/device/thread_updates.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

class ThreadsOutside : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  auto on(const For& n) -> Stmt override {
    auto bound = as_thread_loop(self(n));
    // A loop of one iteration inside of another one over the same dimension does nothing of its own.
    const bool is_inside = bound && std::find(around_.begin(), around_.end(), bound->tag) != around_.end();
    if (is_inside && is_one(bound->extent)) {
      Stmt body = substitute(bound->body, {{bound->var.get(), n.min}});
      return mutate(bound->alias ? substitute(body, {{bound->alias.get(), n.min}}) : body);
    }
    if (bound) { around_.push_back(bound->tag); }
    Stmt out = Mutator::on(n);
    if (bound) { around_.pop_back(); }
    const auto& serial = *out.as<For>();
    auto loop = as_thread_loop(serial.body);
    const bool is_plain = (serial.for_kind == ForKind::Serial || serial.for_kind == ForKind::Unrolled) && loop && is_thread_index(loop->tag);
    if (!is_plain || uses_var(loop->extent, [&](const VarNode& v) { return &v == serial.var.get(); })) { return out; }
    Stmt inside = make<For>(serial.var, serial.min, serial.extent, serial.for_kind, loop->body, std::nullopt, serial.annotations, serial.origin, serial.id);
    return reduces_only(*loop, inside, serial) ? with_thread_body(serial.body, *loop, std::move(inside)) : out;
  }

 private:
  /// True if other stores than updates, which begin a sum, run in the first iteration of the serial loop only.
  static auto begins_once(const For& serial, const ThreadLoop& loop, const std::vector<Update>& updates) -> bool {
    struct FindBegins : Visitor {
      using Visitor::on;
      using Visitor::visit;
      arith::Analyzer later;           // knows that an iteration is not the first
      int conditions = 0;              // around this point that hold in the first iteration only
      bool out = true;
      const std::vector<Update>* updates = nullptr;
      void on(const IfThenElse& n) override {
        const bool is_first_only = later.can_prove(logical_not(n.condition));
        conditions += is_first_only ? 1 : 0;
        visit(n.then_case);
        conditions -= is_first_only ? 1 : 0;
        if (n.else_case) { visit(n.else_case); }
      }
      void on(const BufferStore& n) override {
        const bool is_update = std::ranges::any_of(*updates, [&](const Update& update) { return update.store == &n; });
        out = out && (is_update || conditions > 0);
      }
    } find;
    find.updates = &updates;
    find.later.bind(serial.var, Range{add(serial.min, constant_int(serial.min.dtype(), 1)), sub(serial.extent, constant_int(serial.extent.dtype(), 1))});
    find.later.bind(loop.var, from_zero(cast(loop.var->dtype, loop.extent)));
    if (loop.alias) { find.later.bind(loop.alias, from_zero(cast(loop.alias->dtype, loop.extent))); }
    find.visit(loop.body);
    return find.out;
  }
  /// True if the body of the loop stores nothing but the elements of reductions that can be taken apart.
  static auto reduces_only(const ThreadLoop& inner, const Stmt& body, const For& serial) -> bool {
    ThreadLoop loop = inner;
    loop.body = body;
    const ThreadUpdates found = find_thread_updates(loop);
    const bool is_split = found.can_be_split && !is_updated_twice(found.updates) && !is_used_elsewhere(loop, found.updates);
    if (found.updates.empty() || (!is_split && !found.choice)) { return false; }
    bool out = begins_once(serial, inner, found.updates);
    post_order(
        body,
        [&](const Stmt& s) {
          out = out && !as_thread_loop(s) && !s.as<Evaluate>() && !s.as<While>() && !s.as<AttrStmt>();
          const auto* store = s.as<BufferStore>();
          out = out && (!store || std::any_of(found.updates.begin(), found.updates.end(), [&](const Update& u) { return u.store->buffer->data == store->buffer->data; }));
        },
        [&](const Expr& e) { out = out && !is_exchange(e); });
    return out;
  }

  std::vector<Name> around_;   // the dimensions of the loops around
};

}  // namespace

auto move_threads_outside(const Stmt& stmt) -> Stmt { return ThreadsOutside().mutate(stmt); }

}  // namespace loopsmith::transform
