// Computes facts about the blocks of a function: see analysis.h.
#include "tune/space/analysis.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "tune/space/linear.h"

namespace loopsmith::tune {
namespace {

using schedule::FuncState;
using schedule::Place;

class Body : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;
  struct Found { Buffer buffer; Array<Expr> indices; bool is_write; };
  std::vector<Found> accesses;
  double flops = 0;
  bool uses_branch = false;
  bool is_expensive = false;

  void on(const BufferLoad& n) override {
    accesses.push_back({n.buffer, n.indices, false});
    // Index arithmetic does not count as work of the program.
  }
  void on(const BufferStore& n) override {
    accesses.push_back({n.buffer, n.indices, true});
    visit(n.value);
  }
#define EXPR(Kind)
#define BINARY(Kind) void on(const Kind& n) override { flops += n.dtype.is_real() || n.dtype.is_integral() ? 1 : 0; Visitor::on(n); }
#include "ir/nodes.def"
  void on(const Select& n) override { uses_branch = true; Visitor::on(n); }
  void on(const Call& n) override {
    if (n.op == "if_then_else") { uses_branch = true; }
    else { is_expensive = true; flops += 10; }
    Visitor::on(n);
  }
};

auto is_multiply_add(const Stmt& body) -> bool {
  const auto* store = body.as<BufferStore>();
  const auto* sum = store ? store->value.as<Add>() : nullptr;
  if (!sum) { return false; }
  auto product = [](Expr e) {
    if (const auto* c = e.as<Cast>()) { e = c->value; }
    return e.as<Mul>() != nullptr;
  };
  return product(sum->a) || product(sum->b);
}

/// The numbers of the loops around a block, by loop variable and by the iter var that is bound to the loop.
struct LoopNumbers {
  std::map<const VarNode*, size_t> of_loop;
  std::map<const VarNode*, size_t> of_iter;
};

/// Adds the loops around a block. False: a loop has no constant extent, does not start at 0, or is not serial.
auto add_loops(const FuncState& func, const Place& place, BlockFact& fact, LoopNumbers& numbers) -> bool {
  bool is_simple = true;
  for (const Place* loop : func.loops(place)) {
    LoopFact l;
    l.id = loop->id;
    l.name = loop->loop->var->name.str();
    auto extent = as_int(loop->loop->extent);
    if (!extent || !is_zero(loop->loop->min) || loop->loop->for_kind != ForKind::Serial) { is_simple = false; }
    l.extent = extent.value_or(0);
    numbers.of_loop[loop->loop->var.get()] = fact.loops.size();
    fact.loops.push_back(l);
    fact.instances *= static_cast<double>(l.extent);
  }
  return is_simple;
}

/// Finds the iter vars that are bound to loops; a constant binding (to a unit loop) is allowed too. False: a binding is of another kind, or a loop isn't bound to
/// exactly one iter var.
auto bind_iter_vars(const Place& place, BlockFact& fact, LoopNumbers& numbers) -> bool {
  bool is_simple = true;
  const Block& block = *place.block();
  std::vector<int> bound(fact.loops.size(), 0);
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    const auto* v = place.realize->iter_values[i].as<VarNode>();
    auto found = v ? numbers.of_loop.find(v) : numbers.of_loop.end();
    bool reduction = iter.kind == IterKind::Reduction;
    fact.has_reduction = fact.has_reduction || reduction;
    if (iter.kind != IterKind::Spatial && !reduction) { is_simple = false; }
    if (found == numbers.of_loop.end()) {
      if (!as_int(place.realize->iter_values[i])) { is_simple = false; }
      continue;
    }
    numbers.of_iter[iter.var.get()] = found->second;
    fact.loops[found->second].is_reduction = reduction;
    ++bound[found->second];
  }
  return is_simple && std::all_of(bound.begin(), bound.end(), [](int count) { return count == 1; });
}

auto access_of(const Body::Found& found, size_t loops, const LoopNumbers& numbers) -> AccessFact {
  AccessFact access;
  access.buffer = found.buffer.get();
  access.is_write = found.is_write;
  access.bytes = found.buffer->dtype.element_bytes();
  for (const Expr& extent : found.buffer->shape) { access.shape.push_back(as_int(extent).value_or(0)); }
  for (const Expr& index : found.indices) {
    std::vector<int64_t> strides(loops, 0);
    if (auto sum = linear(index)) {
      for (auto [v, c] : sum->terms) {
        auto loop = numbers.of_iter.find(v);
        if (loop != numbers.of_iter.end()) { strides[loop->second] += c; }
      }
    } else {
      access.is_affine = false;
    }
    access.strides.push_back(std::move(strides));
  }
  return access;
}

/// Accesses to one buffer with the same strides count as one.
void add_access(BlockFact& fact, AccessFact access) {
  bool is_new = true;
  for (AccessFact& known : fact.accesses) {
    if (known.buffer == access.buffer && known.strides == access.strides) {
      known.is_write = known.is_write || access.is_write;
      is_new = false;
    }
  }
  if (is_new) { fact.accesses.push_back(std::move(access)); }
}

auto fact_of(const FuncState& func, const Place& place) -> BlockFact {
  const Block& block = *place.block();
  BlockFact fact;
  fact.id = place.id;
  fact.name = block.name.str();
  LoopNumbers numbers;
  bool has_simple_loops = add_loops(func, place, fact, numbers);
  bool has_simple_bindings = bind_iter_vars(place, fact, numbers);
  Body body;
  body.visit(block.body);
  fact.flops = body.flops;
  fact.uses_branch = body.uses_branch;
  fact.is_expensive = body.is_expensive;
  fact.is_multiply_add = is_multiply_add(block.body);
  fact.is_simple = is_one(place.realize->predicate) && has_simple_loops && has_simple_bindings && block.body.as<BufferStore>() && block.alloc_buffers.empty() &&
                   block.match_buffers.empty();
  for (const Body::Found& found : body.accesses) { add_access(fact, access_of(found, fact.loops.size(), numbers)); }
  return fact;
}

/// Finds producers and consumers through the buffers that they write and read. Blocks that write parameters are outputs.
void connect(const FuncState& func, std::vector<BlockFact>& facts) {
  std::map<const BufferNode*, std::vector<size_t>> writers;
  for (size_t i = 0; i < facts.size(); ++i) {
    for (const AccessFact& access : facts[i].accesses) {
      if (access.is_write) { continue; }
      for (size_t w : writers[access.buffer]) {
        if (w != i) { facts[i].producers.push_back(w); facts[w].consumers.push_back(i); }
      }
    }
    for (const AccessFact& access : facts[i].accesses) {
      if (!access.is_write) { continue; }
      writers[access.buffer].push_back(i);
      for (const auto& [param, buffer] : func.func()->buffer_map) {
        if (buffer.get() == access.buffer) { facts[i].is_output = true; }
      }
    }
  }
}

}  // namespace

auto linear(const Expr& e) -> std::optional<Linear> {
  if (auto value = as_int(e)) { return Linear{{}, *value}; }
  if (const auto* v = e.as<VarNode>()) { return Linear{{{v, 1}}, 0}; }
  auto combine = [](const Expr& a, const Expr& b, int64_t sign) -> std::optional<Linear> {
    auto x = linear(a);
    auto y = linear(b);
    if (!x || !y) { return {}; }
    for (auto [v, c] : y->terms) { x->terms[v] += sign * c; }
    x->constant += sign * y->constant;
    return x;
  };
  if (const auto* n = e.as<Add>()) { return combine(n->a, n->b, 1); }
  if (const auto* n = e.as<Sub>()) { return combine(n->a, n->b, -1); }
  if (const auto* n = e.as<Mul>()) {
    auto x = linear(n->a);
    auto y = linear(n->b);
    if (!x || !y) { return {}; }
    if (!x->terms.empty() && !y->terms.empty()) { return {}; }
    if (x->terms.empty()) { std::swap(x, y); }
    for (auto& [v, c] : x->terms) { c *= y->constant; }
    x->constant *= y->constant;
    return x;
  }
  return {};
}

auto analyze(const FuncState& func) -> std::vector<BlockFact> {
  std::vector<BlockFact> out;
  if (!func.is_schedulable()) { return out; }
  for (const Place* place : func.child_blocks(func.root())) { out.push_back(fact_of(func, *place)); }
  connect(func, out);
  return out;
}

auto reuses_data(const BlockFact& block) -> bool {
  if (!block.has_reduction) { return false; }
  for (size_t l = 0; l < block.loops.size(); ++l) {
    if (block.loops[l].is_reduction || block.loops[l].extent < 2) { continue; }
    for (const AccessFact& access : block.accesses) {
      bool moves = false;
      for (const auto& d : access.strides) { moves = moves || d[l] != 0; }
      if (!access.is_write && !moves) { return true; }
    }
  }
  return false;
}

}  // namespace loopsmith::tune
