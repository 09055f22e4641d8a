// Kernels with too many threads: see device_limits.h.
#include "analysis/device_limits.h"

#include <map>

#include "analysis/subject.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/saturate.h"
#include "target/choice.h"
#include "target/gpu.h"

namespace loopsmith::analysis {
namespace {

struct Threads { std::string_view tag; int64_t extent = 1; };

/// The dimension of threads that a statement binds; none for other statements.
auto threads_of(const Stmt& stmt) -> std::optional<Threads> {
  std::string_view tag;
  Expr extent;
  if (const auto* loop = stmt.as<For>(); loop && loop->thread) {
    tag = loop->thread->thread_tag.view();
    extent = loop->extent;
  }
  if (const auto* attr = stmt.as<AttrStmt>(); attr && attr->key == "thread_extent") {
    if (const auto* iter = std::get_if<IterVar>(&attr->node)) { tag = iter->thread_tag.view(); }
    extent = attr->value;
  }
  if (!is_thread_axis(tag) && !is_block_axis(tag)) { return {}; }
  return Threads{tag, is_thread_axis(tag) ? as_int(extent).value_or(1) : 1};
}

/// Finds the kernels, the outermost loops over blocks and threads.
class Kernels : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;
  Diagnostics found;
  Kernels(const target::GpuLimits& limits, std::string_view name, std::string_view target) : limits_(limits), name_(name), target_(target) {}
  void on(const For& n) override { if (!kernel(Stmt{Ref<StmtNode>(&n)})) { Visitor::on(n); } }
  void on(const AttrStmt& n) override { if (!kernel(Stmt{Ref<StmtNode>(&n)})) { Visitor::on(n); } }

 private:
  auto kernel(const Stmt& nest) -> bool {
    if (!threads_of(nest)) { return false; }
    std::map<std::string_view, int64_t> extents;
    Origin largest = nest.origin();
    int64_t most = 0;
    post_order(
        nest,
        [&](const Stmt& s) {
          auto threads = threads_of(s);
          if (!threads) { return; }
          int64_t& known = extents[threads->tag];
          known = std::max(known, threads->extent);
          if (threads->extent > most) {
            most = threads->extent;
            largest = s.origin();
          }
        },
        [](const Expr&) {});
    int64_t all = 1;
    for (const auto& [tag, extent] : extents) { all = saturating_mul(all, extent); }
    if (limits_.block_threads > 0 && all > static_cast<int64_t>(limits_.block_threads)) {
      found.push_back(error(Code::DeviceLimit, largest)
                          .arg("kernel", name_)
                          .arg("target", target_)
                          .arg("reason", because(Why::ThreadsOfBlock).arg("found", all).arg("most", limits_.block_threads).text())
                          .remedy("split a thread-bound loop, and bind its outer part to `blockIdx`"));
    }
    return true;
  }
  const target::GpuLimits& limits_;
  std::string_view name_, target_;
};

}  // namespace

auto threads_over_limit(const PrimFunc& func, std::string_view name, const target::Target& target) -> Diagnostics {
  const auto limits = target::gpu_limits(target);
  if (!limits) { return {}; }
  const std::string text = target.str();
  Kernels kernels(*limits, name, text);
  kernels.visit(func->body);
  return std::move(kernels.found);
}

void check_device_limits(Subject& subject) {
  const Attr* written = find_attr(subject.facts.func->attrs, Name("target"));
  auto target = written ? target::parse(target::text_of(*written)) : Result<target::Target>(target::Target());
  if (!written || !target) { return; }
  for (Diagnostic& d : threads_over_limit(subject.facts.func, subject.declaration.name.view(), *target)) { subject.report(std::move(d)); }
}

}  // namespace loopsmith::analysis
