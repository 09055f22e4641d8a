// VerifyVTCMLimit: rejects schedules that use more of a Hexagon's vector memory (VTCM) than the target has.
#include <algorithm>

#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/saturate.h"
#include "tune/metaschedule/postprocs/lowered.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::tune::metaschedule {
namespace {

// The most bytes of VTCM that are allocated at the same time.
class CountBytes : public Visitor {
 public:
  using Visitor::on;
  int64_t most = 0;
  void on(const Allocate& n) override {
    bool is_vtcm = n.data->pointer && memory_family(n.data->pointer->scope.view()) == MemoryFamily::Vtcm;
    int64_t bytes = is_vtcm ? bytes_of(n).value_or(0) : 0;
    current_ = saturating_add(current_, bytes);
    most = std::max(most, current_);
    Visitor::on(n);
    current_ -= bytes;
  }

 private:
  int64_t current_ = 0;
};

}  // namespace

auto verify_vtcm_limit() -> Postproc {
  return {"VerifyVTCMLimit", [](schedule::Schedule& sch, const TargetNumbers& numbers) -> Verdict {
            auto lowered = lowered_for_checks(sch.module());
            if (!lowered.ok()) { return false; }
            for (const auto& [name, func] : (*lowered)->functions) {
              CountBytes count;
              count.visit(func->body);
              if (numbers.vtcm_capacity > 0 && count.most > numbers.vtcm_capacity) { return false; }
            }
            return true;
          }};
}

}  // namespace loopsmith::tune::metaschedule
