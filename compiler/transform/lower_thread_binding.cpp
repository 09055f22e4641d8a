// Lowers thread loops, and splits them at barriers: see lower_thread_binding.h.
#include "transform/lower_thread_binding.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/sizes.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/scoped_value.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

struct Problem {
  std::string what;
  Reason why;
  Origin origin;
};

/// Splits the code of a thread block at its barriers.
class Fission {
 public:
  explicit Fission(const Stmt& outermost) : block_(outermost) {}
  std::optional<Problem> problem;

  auto run(const Stmt& outermost) -> Stmt {
    Stmt out = split(outermost);
    for (size_t i = arrays_.size(); i-- > 0;) {
      const Buffer& b = arrays_[i];
      out = make<Allocate>(b->data, b->dtype, b->shape, bool_imm(true), make<DeclBuffer>(b, std::move(out)));
    }
    return out;
  }

 private:
  // A thread-local allocation.
  struct Own {
    Expr elements;       // of one thread
    int element_bytes;
  };

  auto fail(std::string what, const Reason& why, Origin origin) -> Stmt {
    if (!problem) { problem = Problem{std::move(what), why, origin}; }
    return no_op();
  }

  /// Turns a statement that each thread executes into statements for all threads.
  auto split(const Stmt& stmt) -> Stmt {
    if (problem || is_barrier(stmt)) { return no_op(); }
    if (!waits(stmt)) {
      if (jumps_out_of(stmt).any()) { return fail("`break`, `continue` or a return", because(Why::OnlySomeThreads), stmt.origin()); }
      return for_all(stmt);
    }
    if (auto loop = as_thread_loop(stmt)) {
      if (!is_thread_index(loop->tag)) { return serial(loop->var, loop->alias, int_imm(0, loop->var->dtype), loop->extent, loop->body, stmt.origin(), {}, 0); }
      bind(*loop);
      return split(loop->body);
    }
    switch (stmt.kind()) {
      case NodeKind::SeqStmt: return sequence(*stmt.as<SeqStmt>());
      case NodeKind::For: {
        const auto& n = *stmt.as<For>();
        return serial(n.var, {}, n.min, n.extent, n.body, n.origin, n.annotations, n.id);
      }
      case NodeKind::While: {
        const auto& n = *stmt.as<While>();
        if (!is_uniform(n.condition)) { return fail("a `while` with a barrier inside", because(Why::ThreadsRunDifferently), n.origin); }
        return make<While>(n.condition, split(n.body), n.origin);
      }
      case NodeKind::IfThenElse: return branch(*stmt.as<IfThenElse>());
      case NodeKind::LetStmt: {
        const auto& n = *stmt.as<LetStmt>();
        if (is_uniform(n.value) && !reads(n.value)) { return make<LetStmt>(n.var, n.value, split(n.body), n.origin); }
        if (n.var->dtype.is_handle()) { return fail("a pointer", because(Why::KeptAcrossBarrier), n.origin); }
        Buffer kept = array(n.var->name.str(), n.var->dtype);
        Stmt keep = for_all(make<BufferStore>(kept, n.value, Array<Expr>{Expr(thread_)}, n.origin));
        kept_[n.var.get()] = kept;
        return seq({std::move(keep), split(n.body)}, n.origin);
      }
      case NodeKind::AttrStmt: {
        const auto& n = *stmt.as<AttrStmt>();
        return make<AttrStmt>(n.node, n.key, n.value, split(n.body), n.origin);
      }
      case NodeKind::AssertStmt: {
        const auto& n = *stmt.as<AssertStmt>();
        return seq({for_all(make<AssertStmt>(n.condition, n.message, no_op(), n.origin)), split(n.body)}, n.origin);
      }
      case NodeKind::Allocate: return allocation(*stmt.as<Allocate>());
      case NodeKind::AllocateConst: {
        const auto& n = *stmt.as<AllocateConst>();
        return make<AllocateConst>(n.data, n.dtype, n.extents, n.bytes, split(n.body), n.annotations, n.origin);
      }
      case NodeKind::DeclBuffer: {
        const auto& n = *stmt.as<DeclBuffer>();
        if (!own_.contains(n.buffer->data.get())) { return make<DeclBuffer>(n.buffer, split(n.body), n.origin); }
        Buffer widened = widen(n.buffer);
        if (!widened) { return no_op(); }
        return make<DeclBuffer>(widened, split(n.body), n.origin);
      }
      case NodeKind::BufferStore: return fail("an exchange within a warp", because(Why::WarpThreadsUnknown), stmt.origin());
      case NodeKind::Evaluate: return fail("a reduction across threads", because(Why::NoCombinerOfThreads), stmt.origin());
      default: return fail("a statement with a barrier inside", because(Why::NotByAllThreads), stmt.origin());
    }
  }

  /// Statements between two barriers stay together, in one loop over the threads.
  auto sequence(const SeqStmt& n) -> Stmt {
    std::vector<Stmt> out, together;
    auto close = [&] {
      if (!together.empty()) { out.push_back(split(seq(std::exchange(together, {})))); }
    };
    for (const Stmt& s : n.seq) {
      if (waits(s)) {
        close();
        out.push_back(split(s));
      } else {
        together.push_back(s);
      }
    }
    close();
    return seq(std::move(out), n.origin);
  }
  /// A buffer of a thread gets elements for all threads.
  auto allocation(const Allocate& n) -> Stmt {
    Expr elements = product_of(n.extents);
    if (!is_uniform(elements)) { return fail(fmt::format("the buffer `{}`", n.data->name.str()), because(Why::ThreadsDisagreeOnSize), n.origin); }
    if (n.data->pointer && is_shared_memory(n.data->pointer->scope.view())) { return make<Allocate>(n.data, n.dtype, n.extents, n.condition, split(n.body), n.annotations, n.origin); }
    auto of_all = known_product(Array<Expr>{block_.count(), elements});
    if (!of_all || *of_all > std::numeric_limits<int32_t>::max()) {
      return fail(fmt::format("the buffer `{}`", n.data->name.str()), because(Why::ThreadElementsBeyondInt), n.origin);
    }
    own_[n.data.get()] = {elements, n.dtype.element_bytes() * n.dtype.lanes};
    return make<Allocate>(n.data, n.dtype, Array<Expr>{mul(block_.count(), elements)}, n.condition, split(n.body), n.annotations, n.origin);
  }

  void bind(const ThreadLoop& loop) {
    size_t dimension = *block_.find(loop.tag);
    index_of_[loop.var.get()] = dimension;
    if (loop.alias) { index_of_[loop.alias.get()] = dimension; }
  }
  auto array(const std::string& name, DataType dtype) -> Buffer {
    arrays_.push_back(make_buffer(Name(name), dtype, Array<Expr>{block_.count()}, "local"));
    return arrays_.back();
  }
  /// The buffer with space for all threads.
  auto widen(const Buffer& buffer) -> Buffer {
    auto found = widened_.find(buffer.get());
    if (found != widened_.end()) { return found->second; }
    const Own& own = own_.at(buffer->data.get());
    if (buffer->dtype.element_bytes() * buffer->dtype.lanes != own.element_bytes || buffer->shape.size() > 1) {
      (void)fail(fmt::format("the view `{}`", buffer->name.str()), because(Why::ViewOfOtherSize), buffer->origin);
      return {};
    }
    BufferNode fields = *buffer;
    fields.shape = {mul(block_.count(), own.elements)};
    return widened_[buffer.get()] = make_buffer(std::move(fields));
  }

  /// True for expressions that have the same value for all threads.
  auto is_uniform(const Expr& e) -> bool {
    bool out = true;
    post_order(e, [&](const Expr& sub) {
      if (const auto* v = sub.as<VarNode>()) { out = out && !index_of_.contains(v) && !kept_.contains(v) && !own_.contains(v); }
      if (const auto* load = sub.as<BufferLoad>()) { out = out && !own_.contains(load->buffer->data.get()); }
      out = out && !is_exchange(sub);
    });
    return out;
  }
  static auto reads(const Expr& e) -> bool {
    bool out = false;
    post_order(e, [&](const Expr& sub) { out = out || sub.as<BufferLoad>() || (sub.as<Call>() && sub.dtype().is_handle()); });
    return out;
  }
  auto serial(const Var& v, const Var& alias, const Expr& min, const Expr& extent, const Stmt& body, Origin origin, AttrMap annotations, NodeId id) -> Stmt {
    if (!is_uniform(min) || !is_uniform(extent)) {
      return fail(fmt::format("the loop `{}` with a barrier inside", v->name.str()), because(Why::ThreadsRunDifferently), origin);
    }
    Stmt inner = split(alias ? substitute(body, {{alias.get(), Expr(v)}}) : body);
    return make<For>(v, min, extent, ForKind::Serial, std::move(inner), std::nullopt, std::move(annotations), origin, id);
  }

  auto branch(const IfThenElse& n) -> Stmt {
    // Inside of a branch that some threads skip, the values of these threads are undefined.
    if (is_uniform(n.condition) && conditions_.empty()) {
      return make<IfThenElse>(n.condition, split(n.then_case), n.else_case ? split(n.else_case) : Stmt(), n.origin);
    }
    std::vector<Stmt> out;
    auto take = [&](const Expr& condition, const Stmt& side) {
      Buffer taken = array("taken", DataType::bool_());
      Expr all = condition;
      if (Expr around = taken_around()) { all = if_then_else(around, all, bool_imm(false)); }
      // Both conditions are evaluated before either side runs, because a side may change their operands.
      out.push_back(for_all(make<BufferStore>(taken, all, Array<Expr>{Expr(thread_)}), false));
      return std::pair(taken, side);
    };
    std::vector<std::pair<Buffer, Stmt>> sides = {take(n.condition, n.then_case)};
    if (n.else_case) { sides.push_back(take(logical_not(n.condition), n.else_case)); }
    for (const auto& [taken, side] : sides) {
      conditions_.push_back(taken);
      out.push_back(split(side));
      conditions_.pop_back();
    }
    return seq(std::move(out), n.origin);
  }
  /// This thread's conditions of all branches around; null without such branches.
  auto taken_around() -> Expr {
    if (conditions_.empty()) { return {}; }
    return make<BufferLoad>(conditions_.back(), Array<Expr>{Expr(thread_)});
  }

  // The statement of one thread: uses its part of the memory and its index in every dimension.
  class OneThread : public Mutator {
   public:
    OneThread(Fission& fission, std::vector<Var> indices) : fission_(fission), indices_(std::move(indices)) {
      number_ = int_imm(0);
      for (size_t d = 0; d < indices_.size(); ++d) { number_ = add(std::move(number_), mul(Expr(indices_[d]), fission_.block_.stride(d))); }
    }
    using Mutator::mutate;
    using Mutator::on;

    auto on(const VarNode& n) -> Expr override {
      if (&n == fission_.thread_.get()) { return number_; }
      if (auto found = fission_.index_of_.find(&n); found != fission_.index_of_.end()) { return cast(n.dtype, Expr(indices_[found->second])); }
      if (auto found = fission_.kept_.find(&n); found != fission_.kept_.end()) { return make<BufferLoad>(found->second, Array<Expr>{number_}); }
      if (fission_.own_.contains(&n)) { (void)fission_.fail(fmt::format("the pointer `{}`", n.name.str()), because(Why::ThreadHasOwnMemory), n.origin); }
      return Mutator::on(n);
    }
    auto on(const BufferLoad& n) -> Expr override {
      auto own = fission_.own_.find(n.buffer->data.get());
      if (own == fission_.own_.end()) { return Mutator::on(n); }
      Buffer widened = fission_.widen(n.buffer);
      if (!widened) { return self(n); }
      return make<BufferLoad>(widened, place(n.indices, own->second), n.origin, n.predicate ? mutate(n.predicate) : Expr());
    }
    auto on(const BufferStore& n) -> Stmt override {
      auto own = fission_.own_.find(n.buffer->data.get());
      if (own == fission_.own_.end()) { return Mutator::on(n); }
      Buffer widened = fission_.widen(n.buffer);
      if (!widened) { return self(n); }
      return make<BufferStore>(widened, mutate(n.value), place(n.indices, own->second), n.origin, n.predicate ? mutate(n.predicate) : Expr());
    }
    auto on(const DeclBuffer& n) -> Stmt override {
      if (!fission_.own_.contains(n.buffer->data.get())) { return Mutator::on(n); }
      Buffer widened = fission_.widen(n.buffer);
      return widened ? make<DeclBuffer>(widened, mutate(n.body), n.origin) : self(n);
    }
    auto on(const For& n) -> Stmt override { return n.for_kind == ForKind::ThreadBinding ? thread_loop(self(n)) : Mutator::on(n); }
    auto on(const AttrStmt& n) -> Stmt override { return as_thread_loop(self(n)) ? thread_loop(self(n)) : Mutator::on(n); }

   private:
    auto place(const Array<Expr>& indices, const Own& own) -> Array<Expr> {
      Expr begin = mul(number_, own.elements);
      return {indices.empty() ? begin : add(std::move(begin), mutate(indices[0]))};
    }
    auto thread_loop(const Stmt& stmt) -> Stmt {
      auto loop = as_thread_loop(stmt);
      if (!loop) { return stmt; }
      if (is_thread_index(loop->tag)) {
        fission_.bind(*loop);
        return mutate(loop->body);
      }
      Stmt body = loop->alias ? substitute(loop->body, {{loop->alias.get(), Expr(loop->var)}}) : loop->body;
      return make<For>(loop->var, int_imm(0, loop->var->dtype), cast(loop->var->dtype, mutate(loop->extent)), ForKind::Serial, mutate(body), std::nullopt, AttrMap(), stmt.origin());
    }
    Fission& fission_;
    std::vector<Var> indices_;
    Expr number_;
  };

  /// A loop over the threads for which the conditions of all branches around the statement hold.
  auto for_all(const Stmt& stmt, bool only_taken = true) -> Stmt {
    if (is_no_op(stmt)) { return stmt; }
    Stmt body = stmt;
    if (Expr around = only_taken ? taken_around() : Expr()) { body = make<IfThenElse>(std::move(around), std::move(body)); }
    std::vector<Var> indices;
    for (const ThreadBlock::Dimension& d : block_.dimensions) {
      std::string_view tag = d.tag.view();
      indices.push_back(var(Name("t" + std::string(tag.substr(tag.size() - 1)))));
    }
    body = OneThread(*this, indices).mutate(body);
    // The first dimension changes fastest.
    for (size_t d = 0; d < indices.size(); ++d) {
      body = make<For>(indices[d], int_imm(0), cast(DataType::int_(32), block_.dimensions[d].extent), ForKind::Serial, std::move(body));
    }
    return body;
  }

  ThreadBlock block_;
  Var thread_ = var("thread");                                      // the number of the thread; `for_all` replaces it by a loop variable
  std::unordered_map<const VarNode*, size_t> index_of_;            // the dimensions of variables that are thread indices
  std::unordered_map<const VarNode*, Own> own_;                    // thread-local buffers, by data variable
  std::unordered_map<const VarNode*, Buffer> kept_;                // arrays for lets whose values are used across barriers
  std::unordered_map<const BufferNode*, Buffer> widened_;
  std::vector<Buffer> arrays_;
  std::vector<Buffer> conditions_;                                  // for each branch around, one flag per thread; each flag implies the ones before
};

class Lower : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  std::optional<Problem> problem;

  auto on(const For& n) -> Stmt override {
    if (n.for_kind == ForKind::ThreadBinding) { return thread_loop(self(n), n.annotations, n.id); }
    ScopedValue inside(in_parallel_, in_parallel_ || n.for_kind == ForKind::Parallel);
    return Mutator::on(n);
  }
  auto on(const AttrStmt& n) -> Stmt override { return as_thread_loop(self(n)) ? thread_loop(self(n), {}, 0) : Mutator::on(n); }

 private:
  auto thread_loop(const Stmt& stmt, AttrMap annotations, NodeId id) -> Stmt {
    auto loop = as_thread_loop(stmt);
    if (!loop) { return stmt; }
    if (is_thread_index(loop->tag) && waits(loop->body)) {
      Fission fission(stmt);
      Stmt out = fission.run(stmt);
      if (fission.problem && !problem) { problem = fission.problem; }
      // Loops over blocks inside become plain loops.
      return out;
    }
    ForKind kind = is_block_axis(loop->tag.view()) && !in_parallel_ ? ForKind::Parallel : ForKind::Serial;
    ScopedValue inside(in_parallel_, in_parallel_ || kind == ForKind::Parallel);
    Stmt body = mutate(loop->alias ? substitute(loop->body, {{loop->alias.get(), Expr(loop->var)}}) : loop->body);
    const auto* n = stmt.as<For>();
    Expr min = n ? n->min : int_imm(0, loop->var->dtype);
    return make<For>(loop->var, min, cast(loop->var->dtype, loop->extent), kind, std::move(body), std::nullopt, std::move(annotations), stmt.origin(), id);
  }
  bool in_parallel_ = false;
};

}  // namespace

auto lower_thread_binding(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> {
    Lower lower;
    Stmt body = lower.mutate(func->body);
    if (lower.problem) {
      std::string function;
      for (const auto& [name, f] : module->functions) { if (f == func) { function = called(name, f); } }
      return error(Code::CannotEmit, lower.problem->origin).arg("what", lower.problem->what).arg("function", function).arg("target", "a processor").arg("reason", lower.problem->why.text());
    }
    return with_body(func, std::move(body));
  });
}

}  // namespace loopsmith::transform
