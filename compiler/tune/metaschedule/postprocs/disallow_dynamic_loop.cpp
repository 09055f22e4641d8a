// DisallowDynamicLoop: rejects programs with a loop whose extent is not a constant.
#include "ir/visitor.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::tune::metaschedule {
namespace {

class FindDynamicLoop : public Visitor {
 public:
  using Visitor::on;
  bool found = false;
  void on(const For& n) override {
    found = found || n.extent.as<IntImm>() == nullptr;
    if (!found) { visit(n.body); }
  }
};

}  // namespace

auto disallow_dynamic_loop() -> Postproc {
  return {"DisallowDynamicLoop", [](schedule::Schedule& sch, const TargetNumbers&) -> Verdict {
            FindDynamicLoop find;
            for (const auto& [name, func] : sch.module()->functions) { find.visit(func->body); }
            return !find.found;
          }};
}

}  // namespace loopsmith::tune::metaschedule
