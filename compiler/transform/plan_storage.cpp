// Chooses stack or workspace: see plan_storage.h.
#include "transform/plan_storage.h"

#include <unordered_set>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/saturate.h"
#include "support/scoped_value.h"

namespace loopsmith::transform {
namespace {

auto bytes_of(const Allocate& n) -> std::optional<int64_t> {
  int64_t bytes = n.dtype.element_bytes() * n.dtype.lanes;
  for (const Expr& e : n.extents) {
    auto extent = as_int(e);
    if (!extent || *extent < 0 || *extent > (int64_t{1} << 40)) { return {}; }
    bytes = saturating_mul(bytes, *extent);
  }
  return bytes;
}

struct Hoisted {
  Ref<Allocate> allocate;
  std::vector<Ref<DeclBuffer>> views;   // the declarations directly inside, outermost first
};

class Plan : public Mutator {
 public:
  explicit Plan(const LowerOptions& options) : options_(options) {}
  using Mutator::on;

  auto run(const Stmt& body) -> Stmt {
    Stmt out = mutate(body);
    return wrap(std::move(out), 0);
  }
  auto on(const AttrStmt& n) -> Stmt override {
    const bool is_kernel = n.key == "thread_extent";
    kernels_ += is_kernel ? 1 : 0;
    Stmt out = Mutator::on(n);
    kernels_ -= is_kernel ? 1 : 0;
    return out;
  }
  auto on(const Allocate& n) -> Stmt override {
    static const Name key("storage");
    if (find_attr(n.annotations, key)) { return Mutator::on(n); }
    auto bytes = bytes_of(n);
    // A kernel has no other memory: its allocations must stay inside of the threads to which they belong.
    if (bytes && kernels_ > 0) { return make<Allocate>(n.data, n.dtype, n.extents, bool_imm(true), mutate(n.body), with_attr(n.annotations, key, "stack"), n.origin); }
    bool stack = bytes && *bytes <= options_.stack_bytes_each && saturating_add(used_, *bytes) <= options_.stack_bytes_all;
    if (stack) { used_ += *bytes; }
    AttrMap annotations = with_attr(n.annotations, key, stack ? "stack" : "workspace");
    if (stack || !bytes) {
      return make<Allocate>(n.data, n.dtype, n.extents, bool_imm(true), mutate(n.body), std::move(annotations), n.origin);
    }
    // The size is constant, so the allocation can move out of serial loops.
    Hoisted item{make<Allocate>(n.data, n.dtype, n.extents, bool_imm(true), no_op(), std::move(annotations), n.origin), {}};
    Stmt body = n.body;
    while (const auto* view = body.as<DeclBuffer>()) {
      if (view->buffer->data != n.data || !as_int(view->buffer->shape[0])) { break; }
      item.views.push_back(body.ref<DeclBuffer>());
      body = view->body;
    }
    pending_.push_back(std::move(item));
    return mutate(body);
  }
  auto on(const For& n) -> Stmt override {
    if (n.for_kind != ForKind::Parallel && n.for_kind != ForKind::ThreadBinding) { return Mutator::on(n); }
    // Iterations run on several threads, so each allocates its own memory.
    size_t mark = pending_.size();
    Stmt out;
    {
      ScopedValue own(used_, int64_t{0});
      out = Mutator::on(n);
    }
    const For& loop = *out.as<For>();
    if (pending_.size() == mark) { return out; }
    Stmt body = wrap(loop.body, mark);
    return make<For>(loop.var, loop.min, loop.extent, loop.for_kind, std::move(body), loop.thread, loop.annotations, loop.origin, loop.id);
  }

 private:
  auto wrap(Stmt body, size_t mark) -> Stmt {
    while (pending_.size() > mark) {
      Hoisted item = std::move(pending_.back());
      pending_.pop_back();
      for (size_t i = item.views.size(); i-- > 0;) { body = make<DeclBuffer>(item.views[i]->buffer, std::move(body), item.views[i]->origin); }
      const Allocate& a = *item.allocate;
      body = make<Allocate>(a.data, a.dtype, a.extents, a.condition, std::move(body), a.annotations, a.origin);
    }
    return body;
  }
  const LowerOptions& options_;
  int kernels_ = 0;   // the number of nests of threads around the statement
  int64_t used_ = 0;
  std::vector<Hoisted> pending_;
};

}  // namespace

auto plan_storage(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Plan(context.options).run(func->body)); });
}

}  // namespace loopsmith::transform
