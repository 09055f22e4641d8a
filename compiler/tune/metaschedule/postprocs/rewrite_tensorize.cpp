// RewriteTensorize: calls `tensorize` for the blocks that the annotation `meta_schedule.auto_tensorize` names an intrinsic for. An intrinsic that does
// not fit leaves its block as it is. An empty name marks an init without an intrinsic, whose loop may become vector code.
#include "ir/visitor.h"
#include "tune/metaschedule/calls.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::tune::metaschedule {
namespace {

constexpr std::string_view tensorize_key = "meta_schedule.auto_tensorize";

struct Job {
  Name block, func;
  std::string intrinsic;   // empty: the loop of an init becomes a vector
};

// Inner blocks first.
class FindJobs : public Visitor {
 public:
  using Visitor::on;
  FindJobs(Name func, bool vectorize_init_loop) : func_(func), vectorize_init_loop_(vectorize_init_loop) {}
  std::vector<Job> jobs;
  void on(const Block& n) override {
    Visitor::on(n);
    std::optional<std::string> intrinsic = string_attr(n.annotations, tensorize_key);
    // TVM looks for "init" in the name, and takes every name that does not begin with it.
    bool is_init = n.name.view().find("init") != 0;
    if (intrinsic && (!intrinsic->empty() || (vectorize_init_loop_ && is_init))) { jobs.push_back({n.name, func_, *intrinsic}); }
  }

 private:
  Name func_;
  bool vectorize_init_loop_;
};

auto run(Schedule& sch, const Job& job) -> Status {
  LOOPSMITH_TRY(block, get_block(sch, job.block, job.func));
  LOOPSMITH_CHECK(unannotate(sch, block, tensorize_key));
  if (!job.intrinsic.empty()) {
    // A refusal leaves the block as it is.
    (void)sch.call("tensorize", {block, Value(job.intrinsic)});
    return ok();
  }
  LOOPSMITH_TRY(children, get_child_blocks(sch, block));
  if (children.size() != 1) { return ok(); }
  LOOPSMITH_TRY(loops, get_loops(sch, children[0]));
  return loops.size() == 1 ? vectorize(sch, loops[0]) : ok();
}

}  // namespace

auto rewrite_tensorize(bool vectorize_init_loop) -> Postproc {
  return {"RewriteTensorize", [vectorize_init_loop](Schedule& sch, const TargetNumbers&) -> Verdict {
            std::vector<Job> jobs;
            for (const auto& [name, func] : sch.module()->functions) {
              FindJobs find(name, vectorize_init_loop);
              find.visit(func->body);
              jobs.insert(jobs.end(), find.jobs.begin(), find.jobs.end());
            }
            for (const Job& job : jobs) { LOOPSMITH_CHECK(run(sch, job)); }
            return true;
          }};
}

}  // namespace loopsmith::tune::metaschedule
