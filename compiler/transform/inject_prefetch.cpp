// Prefetches ahead of loops: see inject_prefetch.h.
#include "transform/inject_prefetch.h"

#include <unordered_set>
#include <vector>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"

namespace loopsmith::transform {
namespace {

constexpr std::string_view key_begin = "prefetch_";
constexpr int64_t line_bytes = 64;

/// The elements of a buffer that one iteration of a loop reads.
struct Region {
  Buffer buffer;
  std::vector<arith::IntSet> dims;
};

/// Collects the reads of the buffer with a name in the body of a loop.
class FindReads : public Visitor {
 public:
  FindReads(const For& loop, std::string_view name) : name_(name) { visit(loop.body); }

  /// None: the body does not read the buffer, or at places that are not known in front of it.
  [[nodiscard]] auto region() const -> std::optional<Region> {
    if (!buffer_ || !is_known_) { return std::nullopt; }
    return Region{buffer_, dims_};
  }

  using Visitor::on;
  void on(const For& n) override {
    dom_[n.var.get()] = arith::eval_set(Range{n.min, n.extent}, dom_);
    inside_.insert(n.var.get());
    Visitor::on(n);
  }
  void on(const LetStmt& n) override {
    inside_.insert(n.var.get());
    Visitor::on(n);
  }
  void on(const BufferLoad& n) override {
    Visitor::on(n);
    if (n.buffer->name.view() != name_ || (buffer_ && buffer_ != n.buffer)) { return; }
    std::vector<arith::IntSet> read;
    for (const Expr& index : n.indices) {
      const arith::IntSet set = index.dtype().lanes == 1 ? arith::eval_set(index, dom_) : arith::IntSet::everything();
      auto moves = [&](const Expr& end) { return !end || uses_var(end, [&](const VarNode& v) { return inside_.contains(&v); }); };
      is_known_ = is_known_ && !moves(set.min()) && !moves(set.max());
      read.push_back(set);
    }
    dims_ = buffer_ ? arith::union_region({dims_, read}) : read;
    buffer_ = n.buffer;
  }

 private:
  std::string_view name_;
  arith::DomMap dom_;                              // of the loops inside
  std::unordered_set<const VarNode*> inside_;      // variables that have no value in front of the body
  Buffer buffer_;
  std::vector<arith::IntSet> dims_;
  bool is_known_ = true;
};

/// The calls that fetch a region, `ahead` iterations of the loop before they are read.
auto fetch(const For& loop, const Region& region, const Expr& ahead) -> Stmt {
  static const Name address_of("address_of"), prefetch("prefetch");
  arith::Analyzer analyzer;
  const VarMap later{{loop.var.get(), add(loop.var, ahead)}};
  const int64_t step = std::max<int64_t>(1, line_bytes / std::max<int64_t>(1, (region.buffer->dtype.bits + 7) / 8));
  std::vector<Expr> indices;
  std::vector<std::pair<Var, Expr>> loops;
  bool is_ahead = false;
  for (size_t i = 0; i < region.dims.size(); ++i) {
    const bool is_last = i + 1 == region.dims.size();
    const Expr begin = region.dims[i].min();
    is_ahead = is_ahead || uses_var(begin, [&](const VarNode& v) { return &v == loop.var.get(); });
    Expr extent = analyzer.simplify(add(sub(region.dims[i].max(), begin), constant_int(begin.dtype(), 1)));
    if (is_last) { extent = analyzer.simplify(floordiv(add(extent, constant_int(extent.dtype(), step - 1)), constant_int(extent.dtype(), step))); }
    Expr index = substitute(begin, later);
    if (!is_one(extent)) {
      Var at = var(Name("fetched_" + std::to_string(i)), extent.dtype(), loop.origin);
      index = add(index, is_last ? mul(at, constant_int(extent.dtype(), step)) : Expr(at));
      loops.emplace_back(at, extent);
    }
    // Beyond the last iteration there may be no element.
    const Expr last = sub(cast(index.dtype(), region.buffer->shape[i]), constant_int(index.dtype(), 1));
    indices.push_back(analyzer.simplify(max(min(index, last), zero(index.dtype()))));
  }
  if (!is_ahead) { return no_op(); }
  const Expr element = make<BufferLoad>(region.buffer, Array<Expr>(std::move(indices)), loop.origin);
  const Expr address = make<Call>(DataType::handle(), address_of, Array<Expr>{element}, loop.origin);
  Stmt out = make<Evaluate>(make<Call>(DataType::void_(), prefetch, Array<Expr>{address, int_imm(0), int_imm(3), int_imm(1)}, loop.origin), loop.origin);
  for (size_t i = loops.size(); i-- > 0;) {
    out = make<For>(loops[i].first, zero(loops[i].first->dtype), loops[i].second, ForKind::Serial, std::move(out), std::optional<IterVar>(), AttrMap(), loop.origin);
  }
  return out;
}

class InjectPrefetch : public Mutator {
 public:
  using Mutator::on;
  auto on(const For& n) -> Stmt override {
    std::vector<std::pair<Name, Attr>> kept;
    std::vector<Stmt> fetches;
    for (const auto& [key, value] : n.annotations) {
      const Expr ahead = key.view().starts_with(key_begin) ? value.expr() : Expr();
      if (!ahead) {
        kept.emplace_back(key, value);
        continue;
      }
      const auto region = FindReads(n, key.view().substr(key_begin.size())).region();
      if (region && as_int(ahead)) { fetches.push_back(fetch(n, *region, constant_int(n.var->dtype, *as_int(ahead)))); }
    }
    Stmt out = Mutator::on(n);
    if (kept.size() == n.annotations.size()) { return out; }
    const For& loop = *out.as<For>();
    fetches.push_back(loop.body);
    return make<For>(loop.var, loop.min, loop.extent, loop.for_kind, seq(std::move(fetches)), loop.thread, AttrMap(std::move(kept)), loop.origin, loop.id);
  }
};

}  // namespace

auto inject_prefetch(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, InjectPrefetch().mutate(func->body)); });
}

}  // namespace loopsmith::transform
