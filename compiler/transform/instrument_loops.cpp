// Inserts profiling calls: see instrument_loops.h.
#include "transform/instrument_loops.h"

#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::transform {
namespace {

auto start_name() -> Name { static const Name n("start_profile_intrinsic"); return n; }
auto end_name() -> Name { static const Name n("end_profile_intrinsic"); return n; }

class Instrument : public Mutator {
 public:
  Instrument(int most, int64_t& next) : most_(most), next_(next) {}
  using Mutator::on;

  auto on(const For& n) -> Stmt override {
    if (depth_ >= most_ || n.for_kind == ForKind::Unrolled || n.for_kind == ForKind::Vectorized || n.for_kind == ForKind::ThreadBinding || is_short(n.body)) {
      return self(n);
    }
    int64_t number = next_++;
    ++depth_;
    Stmt out = Mutator::on(n);
    --depth_;
    auto call = [&](Name name) -> Stmt { return make<Evaluate>(make<Call>(DataType::handle(), name, Array<Expr>{int_imm(number)}, n.origin), n.origin); };
    return seq({call(start_name()), std::move(out), call(end_name())}, n.origin);
  }

 private:
  static auto is_short(const Stmt& body) -> bool {
    bool loops = false;
    int64_t statements = 0;
    post_order(
        body, [&](const Stmt& s) { loops = loops || s.as<For>() || s.as<While>(); statements += s.as<BufferStore>() || s.as<Evaluate>() ? 1 : 0; },
        [](const Expr&) {});
    return !loops && statements < 4;
  }
  int most_;
  int64_t& next_;
  int depth_ = 0;
};

}  // namespace

auto instrument_loops(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  if (context.options.profile_depth <= 0) { return module; }
  int64_t next = 0;
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Instrument(context.options.profile_depth, next).mutate(func->body)); });
}

auto timed_loops(const IRModule& module) -> std::vector<TimedLoop> {
  struct Find : Visitor {
    std::vector<TimedLoop> out;
    Name function;
    int depth = 0;
    using Visitor::on;
    void on(const SeqStmt& n) override {
      for (size_t i = 0; i < n.seq.size(); ++i) {
        const auto* evaluate = n.seq[i].as<Evaluate>();
        const auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
        const bool starts = call && call->op == start_name() && call->args.size() == 1 && i + 1 < n.seq.size() && n.seq[i + 1].as<For>();
        auto number = starts ? as_int(call->args[0]) : std::nullopt;
        if (!number) {
          visit(n.seq[i]);
          continue;
        }
        out.push_back({*number, ++depth, n.seq[i + 1].ref<For>(), function});
        visit(n.seq[i + 1]);
        --depth;
        ++i;
      }
    }
  };
  Find find;
  for (const auto& [name, func] : module->functions) {
    find.function = name;
    find.visit(func->body);
  }
  return find.out;
}

}  // namespace loopsmith::transform
