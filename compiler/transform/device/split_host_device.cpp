// Makes functions of kernels: see split_host_device.h.
#include "transform/device/split_host_device.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/other_data.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/saturate.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

auto is_kernel(const Stmt& stmt) -> bool {
  const auto* attr = stmt.as<AttrStmt>();
  return attr && attr->key == "thread_extent";
}
auto contains_kernel(const Stmt& stmt) -> bool {
  bool found = false;
  post_order(stmt, [&](const Stmt& s) { found = found || is_kernel(s); }, [](const Expr&) {});
  return found;
}

/// The variables that a statement uses and does not define, in the order of their first use.
class FreeVariables : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;
  std::vector<const VarNode*> found;
  std::vector<Buffer> undeclared;      // buffers that are used without a declaration inside

  [[nodiscard]] auto defines(const Var& v) const -> bool { return defined_.contains(v.get()); }

  void on(const VarNode& n) override { use(&n); }
  void on(const For& n) override { define(n.var); Visitor::on(n); }
  void on(const LetStmt& n) override { define(n.var); Visitor::on(n); }
  void on(const Let& n) override { define(n.var); Visitor::on(n); }
  void on(const Allocate& n) override { define(n.data); Visitor::on(n); }
  void on(const AllocateConst& n) override { define(n.data); Visitor::on(n); }
  void on(const DeclBuffer& n) override {
    declared_.insert(n.buffer.get());
    use(n.buffer->data.get());
    Visitor::on(n);
  }
  void on(const AttrStmt& n) override {
    if (const auto* iter = std::get_if<IterVar>(&n.node)) { define(iter->var); }
    Visitor::on(n);
  }
  void on(const BufferLoad& n) override { access(n.buffer); Visitor::on(n); }
  void on(const BufferStore& n) override { access(n.buffer); Visitor::on(n); }

 private:
  void define(const Var& v) { defined_.insert(v.get()); }
  void use(const VarNode* v) {
    if (!defined_.contains(v) && seen_.insert(v).second) { found.push_back(v); }
  }
  void access(const Buffer& buffer) {
    use(buffer->data.get());
    if (!declared_.contains(buffer.get()) && used_.insert(buffer.get()).second) { undeclared.push_back(buffer); }
  }
  std::unordered_set<const VarNode*> defined_, seen_;
  std::unordered_set<const BufferNode*> declared_, used_;
};

/// Memory of threads and blocks whose size is a variable, which no kernel can hold: the host allocates it for all of them, and each has a part.
class HoistMemory : public Mutator {
 public:
  using Mutator::on;
  explicit HoistMemory(const Stmt& kernel) {
    for (Stmt inner = kernel; is_kernel(inner);) {
      ThreadLoop loop = *as_thread_loop(inner);
      thread_ = add(mul(thread_, cast(DataType::int_(64), loop.extent)), cast(DataType::int_(64), Expr(loop.var)));
      threads_ = mul(threads_, cast(DataType::int_(64), loop.extent));
      if (is_block_axis(loop.tag.view())) {
        block_ = add(mul(block_, cast(DataType::int_(64), loop.extent)), cast(DataType::int_(64), Expr(loop.var)));
        blocks_ = mul(blocks_, cast(DataType::int_(64), loop.extent));
      }
      inner = loop.body;
    }
    post_order(kernel, [&](const Stmt& s) {
      if (const auto* n = s.as<For>()) { inside_.insert(n->var.get()); }
      if (const auto* n = s.as<LetStmt>()) { inside_.insert(n->var.get()); }
      if (auto loop = as_thread_loop(s)) { inside_.insert(loop->var.get()); }
      // A pointer to the memory would have to be moved too.
      if (const auto* n = s.as<Evaluate>()) { post_order(n->value, [&](const Expr& e) { if (const auto* v = e.as<VarNode>(); v && v->dtype.is_handle()) { pointers_.insert(v); } }); }
    }, [](const Expr&) {});
  }
  /// The allocations for the host, in the order of the kernel.
  std::vector<Allocate> hoisted;

  auto on(const Allocate& n) -> Stmt override {
    Expr size = int_imm(1, DataType::int_(64));
    for (const Expr& e : n.extents) { size = mul(std::move(size), cast(DataType::int_(64), e)); }
    const bool is_of_block = n.data->pointer && is_shared_memory(n.data->pointer->scope.view());
    const bool is_known = !uses_var(size, [&](const VarNode& v) { return inside_.contains(&v); });
    if (as_int(size) || !is_known || pointers_.contains(n.data.get())) { return Mutator::on(n); }
    Buffer whole = make_buffer(n.data->name, n.dtype, Array<Expr>{mul(is_of_block ? blocks_ : threads_, size)});
    hoisted.emplace_back(whole->data, n.dtype, whole->shape, n.condition, Stmt(), n.annotations, n.origin);
    parts_.emplace(n.data.get(), Part{whole, mul(is_of_block ? block_ : thread_, size)});
    return mutate(n.body);
  }
  auto on(const DeclBuffer& n) -> Stmt override {
    auto part = parts_.find(n.buffer->data.get());
    return part == parts_.end() ? Mutator::on(n) : Stmt(make<DeclBuffer>(part->second.whole, mutate(n.body), n.origin));
  }
  auto on(const BufferLoad& n) -> Expr override {
    auto part = parts_.find(n.buffer->data.get());
    if (part == parts_.end()) { return Mutator::on(n); }
    return make<BufferLoad>(part->second.whole, Array<Expr>{moved(mutate(n.indices[0]), part->second)}, n.origin, n.predicate ? mutate(n.predicate) : Expr());
  }
  auto on(const BufferStore& n) -> Stmt override {
    auto part = parts_.find(n.buffer->data.get());
    if (part == parts_.end()) { return Mutator::on(n); }
    return make<BufferStore>(part->second.whole, mutate(n.value), Array<Expr>{moved(mutate(n.indices[0]), part->second)}, n.origin, n.predicate ? mutate(n.predicate) : Expr());
  }

 private:
  struct Part { Buffer whole; Expr begin; };
  static auto moved(const Expr& index, const Part& part) -> Expr {
    if (const auto* ramp = index.as<Ramp>()) { return make<Ramp>(moved(ramp->base, part), cast(DataType::int_(64), ramp->stride), ramp->lanes, ramp->origin); }
    const int lanes = index.dtype().lanes;
    if (lanes == 1) { return add(part.begin, cast(DataType::int_(64), index)); }
    return add(make<Broadcast>(part.begin, int_imm(lanes)), cast(DataType::int_(64, lanes), index));
  }
  Expr thread_ = int_imm(0, DataType::int_(64)), threads_ = int_imm(1, DataType::int_(64));   // the number of the thread, and of all
  Expr block_ = int_imm(0, DataType::int_(64)), blocks_ = int_imm(1, DataType::int_(64));
  std::unordered_set<const VarNode*> inside_, pointers_;
  std::unordered_map<const VarNode*, Part> parts_;
};

class Split {
 public:
  Split(const PrimFunc& func, std::string name, const IRModuleNode& module) : func_(func), name_(std::move(name)), module_(module) {
    // The data variables of parameters, in their order.
    for (const Var& param : func_->params) {
      order_.emplace(param.get(), order_.size());
      for (const auto& [var, buffer] : func_->buffer_map) {
        if (var == param) { order_.emplace(buffer->data.get(), order_.size()); }
      }
    }
  }
  std::vector<std::pair<Name, PrimFunc>> kernels;

  auto host(const Stmt& stmt) -> Stmt {
    if (is_kernel(stmt)) {
      HoistMemory hoist(stmt);
      Stmt kernel = hoist.mutate(stmt);
      for (const Allocate& a : hoist.hoisted) { order_.emplace(a.data.get(), order_.size()); }
      Stmt out = launch(kernel);
      for (const Allocate& a : hoist.hoisted) { out = make<Allocate>(a.data, a.dtype, a.extents, a.condition, std::move(out), a.annotations, a.origin); }
      return out;
    }
    switch (stmt.kind()) {
      case NodeKind::SeqStmt: {
        std::vector<Stmt> out;
        std::vector<Stmt> plain;   // adjacent statements without kernels become one kernel
        auto close = [&] { if (!plain.empty()) { out.push_back(alone(seq(std::exchange(plain, {})))); } };
        const std::vector<Stmt> all = stmt.as<SeqStmt>()->seq.to_vector();
        for (size_t i = 0; i < all.size(); ++i) {
          const Stmt& s = all[i];
          const IfThenElse* leaves = i + 1 < all.size() ? as_early_return(s) : nullptr;
          if (leaves) {
            close();
            Stmt rest = host(seq(std::vector<Stmt>(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end())));
            out.push_back(make<IfThenElse>(logical_not(leaves->condition), std::move(rest), Stmt(), s.origin()));
            return seq(std::move(out), stmt.origin());
          }
          if (is_of_host(s)) { close(); out.push_back(host(s)); } else { plain.push_back(s); }
        }
        close();
        return seq(std::move(out), stmt.origin());
      }
      // A kernel declares its views itself: host code does not need them.
      case NodeKind::DeclBuffer: return is_of_host(stmt) ? host(stmt.as<DeclBuffer>()->body) : alone(stmt);
      case NodeKind::Allocate: {
        const auto& n = *stmt.as<Allocate>();
        if (!is_of_host(stmt)) { return alone(stmt); }
        order_.emplace(n.data.get(), order_.size());
        return make<Allocate>(n.data, n.dtype, n.extents, n.condition, host(n.body), n.annotations, n.origin);
      }
      case NodeKind::AllocateConst: {
        if (!contains_kernel(stmt)) { return alone(stmt); }
        constants_.push_back(stmt);
        Stmt out = host(stmt.as<AllocateConst>()->body);
        constants_.pop_back();
        return out;
      }
      case NodeKind::For: {
        const auto& n = *stmt.as<For>();
        if (!contains_kernel(stmt) || has_load(n.min) || has_load(n.extent)) { return alone(stmt); }
        return make<For>(n.var, n.min, n.extent, ForKind::Serial, host(n.body), std::nullopt, n.annotations, n.origin, n.id);
      }
      case NodeKind::LetStmt: {
        const auto& n = *stmt.as<LetStmt>();
        if (!contains_kernel(stmt)) { return alone(stmt); }
        return make<LetStmt>(n.var, n.value, host(n.body), n.origin);
      }
      case NodeKind::AttrStmt: {
        const auto& n = *stmt.as<AttrStmt>();
        return is_of_host(stmt) ? make<AttrStmt>(n.node, n.key, n.value, host(n.body), n.origin) : alone(stmt);
      }
      case NodeKind::AssertStmt: {
        const auto& n = *stmt.as<AssertStmt>();
        return make<AssertStmt>(n.condition, n.message, host(n.body), n.origin);
      }
      case NodeKind::IfThenElse: {
        const auto& n = *stmt.as<IfThenElse>();
        if (!contains_kernel(stmt)) { return alone(stmt); }
        return make<IfThenElse>(n.condition, host(n.then_case), n.else_case ? host(n.else_case) : Stmt(), n.origin);
      }
      default: return alone(stmt);
    }
  }

 private:
  /// A branch of the host that ends the program: `if n == 0: T.ret(0)`. Null for other statements.
  static auto as_early_return(const Stmt& stmt) -> const IfThenElse* {
    const auto* n = stmt.as<IfThenElse>();
    const auto* leaves = n && !n->else_case ? n->then_case.as<Evaluate>() : nullptr;
    const auto* call = leaves ? leaves->value.as<Call>() : nullptr;
    const bool is_success = call && call->op == "ret" && call->args.size() == 1 && is_zero(call->args[0]);
    return is_success && !has_load(n->condition) ? n : nullptr;
  }
  static constexpr int64_t most_bytes_alone = 4096;
  static auto bytes_of(const Allocate& n) -> int64_t {
    int64_t bytes = n.dtype.element_bytes() * n.dtype.lanes;
    for (const Expr& e : n.extents) { bytes = saturating_mul(bytes, as_int(e).value_or(most_bytes_alone + 1)); }
    return bytes;
  }
  /// True for statements around kernels, and for allocations that are too large for the stack of a single thread.
  static auto is_of_host(const Stmt& stmt) -> bool {
    if (const auto* n = stmt.as<Allocate>()) { return bytes_of(*n) > most_bytes_alone || is_of_host(n->body); }
    if (const auto* n = stmt.as<DeclBuffer>()) { return is_of_host(n->body); }
    if (const auto* n = stmt.as<SeqStmt>()) { return std::any_of(n->seq.begin(), n->seq.end(), [](const Stmt& s) { return is_of_host(s); }); }
    return contains_kernel(stmt);
  }
  /// Host code that accesses memory, as a kernel of one thread; null if it has no effect.
  auto alone(const Stmt& stmt) -> Stmt {
    if (is_no_op(stmt)) { return stmt; }
    Stmt body = stmt;
    for (const char* tag : {"threadIdx.x", "blockIdx.x"}) {
      std::string name(tag);
      std::replace(name.begin(), name.end(), '.', '_');
      Var index = var(Name(name));
      body = make<AttrStmt>(IterVar{index, from_zero(int_imm(1)), IterKind::ThreadIndex, Name(tag), stmt.origin()}, Name("thread_extent"), int_imm(1), std::move(body), stmt.origin());
    }
    return launch(body);
  }
  /// A kernel with the tables of constants around it that it uses. The kernel's launches stay outermost.
  auto with_constants(const Stmt& kernel) const -> Stmt {
    FreeVariables used;
    used.visit(kernel);
    std::vector<Stmt> launches;
    Stmt inner = kernel;
    for (; is_kernel(inner); inner = inner.as<AttrStmt>()->body) { launches.push_back(inner); }
    for (size_t i = constants_.size(); i-- > 0;) {
      const auto& n = *constants_[i].as<AllocateConst>();
      if (std::find(used.found.begin(), used.found.end(), n.data.get()) == used.found.end()) { continue; }
      for (const Buffer& view : used.undeclared) { if (view->data == n.data) { inner = make<DeclBuffer>(view, std::move(inner)); } }
      inner = make<AllocateConst>(n.data, n.dtype, n.extents, n.bytes, std::move(inner), n.annotations, n.origin);
    }
    for (size_t i = launches.size(); i-- > 0;) {
      const auto& n = *launches[i].as<AttrStmt>();
      inner = make<AttrStmt>(n.node, n.key, n.value, std::move(inner), n.origin);
    }
    return inner;
  }
  auto launch(const Stmt& nest) -> Stmt {
    const Stmt kernel = constants_.empty() ? nest : with_constants(nest);
    FreeVariables used;
    used.visit(kernel);
    Stmt body = kernel;
    // Views of memory that the kernel itself allocates are known inside of it only.
    for (const Buffer& view : used.undeclared) { if (!used.defines(view->data)) { body = make<DeclBuffer>(view, std::move(body)); } }
    FreeVariables free;   // those of the views' shapes too
    free.visit(body);
    std::vector<const VarNode*> pointers, numbers;
    for (const VarNode* v : free.found) { (v->dtype.is_handle() ? pointers : numbers).push_back(v); }
    for (const VarNode* v : pointers) { order_.emplace(v, order_.size()); }
    std::sort(pointers.begin(), pointers.end(), [&](const VarNode* a, const VarNode* b) { return order_.at(a) < order_.at(b); });

    std::vector<Expr> args;
    std::vector<Var> params;
    for (const auto* list : {&pointers, &numbers}) {
      for (const VarNode* v : *list) {
        params.emplace_back(Ref<VarNode>(v));
        args.emplace_back(Ref<VarNode>(v));
      }
    }
    std::vector<Attr> tags;
    Stmt inner = kernel;
    while (is_kernel(inner)) {
      ThreadLoop loop = *as_thread_loop(inner);
      tags.emplace_back(std::string(loop.tag.view()));
      args.push_back(loop.extent);
      inner = loop.body;
    }
    PrimFuncNode made;
    made.params = Array<Var>(params);
    made.body = with_fresh_variables(body, made.params);
    made.is_private = true;
    made.origin = func_->origin;
    Name name = fresh_name();
    made.attrs = with_attr(made.attrs, Name("calling_conv"), Attr(int_imm(2)));
    made.attrs = with_attr(made.attrs, Name("global_symbol"), Attr(name.str()));
    made.attrs = with_attr(made.attrs, Name("tir.kernel_launch_params"), Attr(Array<Attr>(tags)));
    if (const Attr* no_alias = find_attr(func_->attrs, Name("tir.noalias"))) { made.attrs = with_attr(made.attrs, Name("tir.noalias"), *no_alias); }
    kernels.emplace_back(name, make_func(std::move(made)));
    args.insert(args.begin(), Expr(make<StringImm>(name.str())));
    return make<Evaluate>(make<Call>(DataType::int_(32), Name("tvm_call_packed"), Array<Expr>(std::move(args)), kernel.origin()), kernel.origin());
  }
  /// Gives the kernel its own parameter variables, different from those of the host.
  static auto with_fresh_variables(const Stmt& body, Array<Var>& params) -> Stmt {
    OtherData rename;
    std::vector<Var> fresh;
    for (const Var& p : params) {
      Var made = make<VarNode>(p->name, p->dtype, p->origin, p->pointer);
      rename.instead.emplace(p.get(), made);
      fresh.push_back(made);
    }
    params = Array<Var>(fresh);
    return rename.mutate(body);
  }
  auto fresh_name() -> Name {
    for (;; ++number_) {
      Name name(number_ == 0 ? name_ + "_kernel" : fmt::format("{}_kernel_{}", name_, number_));
      bool taken = std::any_of(module_.functions.begin(), module_.functions.end(), [&](const auto& f) { return f.first == name; }) ||
                   std::any_of(kernels.begin(), kernels.end(), [&](const auto& k) { return k.first == name; });
      if (!taken) { return name; }
    }
  }

  const PrimFunc& func_;
  std::string name_;
  const IRModuleNode& module_;
  int number_ = 0;
  std::unordered_map<const VarNode*, size_t> order_;
  std::vector<Stmt> constants_;    // tables of constants around the statement at hand, which a kernel has itself
};

}  // namespace

auto split_host_device(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  IRModule out = module;
  for (const auto& [name, func] : module->functions) {
    Split split(func, called(name, func), *module);
    Stmt body = split.host(func->body);
    out = with_function(out, name, with_body(func, std::move(body)));
    for (const auto& [kernel, made] : split.kernels) { out = with_function(out, kernel, made); }
  }
  return out;
}

}  // namespace loopsmith::transform
