// DisallowAsyncStridedMemCopy: rejects schedules with an asynchronous copy whose source or destination is not contiguous, which Hexagon's DMA cannot do.
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "tune/metaschedule/postprocs/lowered.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::tune::metaschedule {
namespace {

// A copy is asynchronous within an attribute `async_commit_queue_scope`. TVM judges copies of one loop.
class FindStridedCopy : public Visitor {
 public:
  using Visitor::on;
  bool found = false;

  void on(const For& n) override {
    iters_.emplace_back(n.var, Range{n.min, n.extent});
    if (async_depth_ > 0) { judge(n); }
    Visitor::on(n);
    iters_.pop_back();
  }
  void on(const AttrStmt& n) override {
    int add = n.key == "async_commit_queue_scope" ? 1 : 0;
    async_depth_ += add;
    Visitor::on(n);
    async_depth_ -= add;
  }

 private:
  void judge(const For& loop) {
    const auto* store = loop.body.as<BufferStore>();
    const auto* load = store ? store->value.as<BufferLoad>() : nullptr;
    if (load) { found = found || !is_contiguous(store->indices) || !is_contiguous(load->indices); }
  }
  [[nodiscard]] auto is_contiguous(const Array<Expr>& indices) const -> bool {
    arith::Analyzer analyzer;
    std::vector<Expr> list(indices.begin(), indices.end());
    return arith::detect_iter_map(list, iters_, bool_imm(true), arith::IterMapLevel::Surjective, analyzer, false).errors.empty();
  }
  arith::IterDomains iters_;
  int async_depth_ = 0;
};

}  // namespace

auto disallow_async_strided_mem_copy() -> Postproc {
  return {"DisallowAsyncStridedMemCopy", [](schedule::Schedule& sch, const TargetNumbers&) -> Verdict {
            auto lowered = lowered_for_checks(sch.module());
            if (!lowered.ok()) { return false; }
            FindStridedCopy find;
            for (const auto& [name, func] : (*lowered)->functions) { find.visit(func->body); }
            return !find.found;
          }};
}

}  // namespace loopsmith::tune::metaschedule
