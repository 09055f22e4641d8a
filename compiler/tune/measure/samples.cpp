// Sampled verification: see samples.h. The loops of spatial iter vars are cut to one iteration, then the function is run.
#include "tune/measure/samples.h"

#include <cstring>
#include <map>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/hash.h"

namespace loopsmith::tune {
namespace {

// The function with some loops cut to one iteration.
class CutLoops : public Mutator {
 public:
  explicit CutLoops(const std::map<const VarNode*, int64_t>& at) : at_(at) {}
  using Mutator::mutate;
  using Mutator::on;
  auto on(const For& n) -> Stmt override {
    Stmt body = mutate(n.body);
    auto found = at_.find(n.var.get());
    if (found == at_.end()) {
      return make<For>(n.var, n.min, n.extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
    }
    return make<For>(n.var, int_imm(found->second, n.var->dtype), int_imm(1, n.var->dtype), n.for_kind, std::move(body), n.thread,
                     n.annotations, n.origin, n.id);
  }

 private:
  const std::map<const VarNode*, int64_t>& at_;
};

// The loops of the spatial iter vars and their extents; none if the function is not one chain of loops around one block.
auto spatial_loops(const IRModule& module, Name function) -> std::vector<std::pair<const VarNode*, int64_t>> {
  PrimFunc func = module->find(function);
  const Block* root = func ? root_block(func) : nullptr;
  if (!root) { return {}; }
  std::vector<const For*> loops;
  const BlockRealize* leaf = nullptr;
  for (Stmt at = root->body;;) {
    if (const auto* loop = at.as<For>()) {
      loops.push_back(loop);
      at = loop->body;
      continue;
    }
    leaf = at.as<BlockRealize>();
    break;
  }
  if (!leaf || !is_one(leaf->predicate)) { return {}; }
  std::vector<std::pair<const VarNode*, int64_t>> spatial;
  for (size_t i = 0; i < leaf->iter_values.size(); ++i) {
    if (leaf->block->iter_vars[i].kind != IterKind::Spatial) { continue; }
    const auto* v = leaf->iter_values[i].as<VarNode>();
    for (const For* loop : loops) {
      auto extent = as_int(loop->extent);
      if (loop->var.get() == v && extent && is_zero(loop->min)) { spatial.emplace_back(v, *extent); }
    }
  }
  return spatial;
}

}  // namespace

auto has_samples(const IRModule& module, Name function) -> bool { return !spatial_loops(module, function).empty(); }

auto check_samples(const IRModule& module, Name function, const interp::Inputs& inputs, const interp::Inputs& expected, int samples,
                   bool exact, std::string& difference) -> int {
  PrimFunc func = module->find(function);
  std::vector<std::pair<const VarNode*, int64_t>> spatial = spatial_loops(module, function);
  if (spatial.empty()) { return 0; }
  int checked = 0;
  uint64_t state = 12345;
  for (int s = 0; s < samples; ++s) {
    std::map<const VarNode*, int64_t> at;
    for (auto [v, extent] : spatial) {
      state = hash_combine(state, 1);
      // The corners come first, since errors in tails show there.
      at[v] = s == 0 ? 0 : s == 1 ? extent - 1 : static_cast<int64_t>(state % static_cast<uint64_t>(extent));
    }
    IRModule cut = with_function(module, function, with_body(func, CutLoops(at).mutate(func->body)));
    interp::Inputs run = interp::copy_inputs(inputs);
    if (!interp::interpret(cut, function, run.arguments).ok()) { return checked; }
    for (size_t i = 0; i < run.arguments.size(); ++i) {
      const auto* now = std::get_if<TensorView>(&run.arguments[i]);
      if (!now) { continue; }
      const auto& before = std::get<TensorView>(inputs.arguments[i]);
      const auto& wanted = std::get<TensorView>(expected.arguments[i]);
      int64_t bytes = now->dtype.element_bytes() * now->dtype.lanes;
      for (int64_t e = 0; e < now->count(); ++e) {
        auto place = [&](const TensorView& view) { return static_cast<char*>(view.data) + e * bytes; };
        if (std::memcmp(place(*now), place(before), static_cast<size_t>(bytes)) == 0) { continue; }
        ++checked;
        TensorView one{place(wanted), now->dtype, {1}};
        TensorView other{place(*now), now->dtype, {1}};
        interp::Difference d = interp::compare_tensors(func->params[i]->name.str() + " at element " + std::to_string(e), other, one, exact);
        if (d.found) {
          difference = "sampled: " + d.where;
          return checked;
        }
      }
    }
  }
  return checked;
}

}  // namespace loopsmith::tune
