// RewriteReductionBlock: moves the init of each reduction in front of the outermost loop that the reduction uses. A reduction over threads stays
// whole: it is lowered to an exchange between the threads.
#include <unordered_set>

#include "ir/visitor.h"
#include "tune/metaschedule/calls.h"
#include "tune/metaschedule/loop_roles.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::tune::metaschedule {
namespace {

constexpr std::string_view tensorize_key = "meta_schedule.auto_tensorize";
constexpr std::string_view tensorize_init_key = "meta_schedule.auto_tensorize_init";

// The blocks with an init whose reduction iter vars no thread drives.
class FindReductions : public Visitor {
 public:
  using Visitor::on;
  std::vector<NodeId> found;

  void on(const For& n) override {
    bool is_bound = is_bound_to_blocks(n) || is_bound_to_threads(n);
    if (is_bound) { bound_.insert(n.var.get()); }
    Visitor::on(n);
  }
  void on(const BlockRealize& n) override {
    if (n.block->init && reduces_in_one_thread(n)) { found.push_back(n.block->id); }
    Visitor::on(n);
  }

 private:
  [[nodiscard]] auto reduces_in_one_thread(const BlockRealize& n) const -> bool {
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      if (n.block->iter_vars[i].kind == IterKind::Reduction && uses_var(n.iter_values[i], [&](const VarNode& v) { return bound_.count(&v) > 0; })) { return false; }
    }
    return true;
  }
  std::unordered_set<const VarNode*> bound_;
};

// The number of the outermost loop around a block that is not spatial; none: the init need not move.
auto decompose_point(const schedule::State::Found& found) -> std::optional<size_t> {
  std::vector<const schedule::Place*> loops = found.func->loops(*found.place);
  for (size_t i = 0; i < loops.size(); ++i) {
    if (role_of(*loops[i]->loop) != LoopRole::Spatial) { return i; }
  }
  return std::nullopt;
}

// The intrinsic for the init moves to the new block; the init block must not be matched with the intrinsic of the update.
auto move_tensorize_annotations(Schedule& sch, BlockRV update, BlockRV init, const AttrMap& attrs) -> Status {
  if (!string_attr(attrs, tensorize_key)) { return ok(); }
  LOOPSMITH_CHECK(unannotate(sch, init, tensorize_key));
  std::optional<std::string> intrinsic = string_attr(attrs, tensorize_init_key);
  LOOPSMITH_CHECK(annotate(sch, init, tensorize_key, Value(intrinsic.value_or(""))));
  if (!intrinsic) { return ok(); }
  LOOPSMITH_CHECK(unannotate(sch, update, tensorize_init_key));
  return unannotate(sch, init, tensorize_init_key);
}

auto decompose(Schedule& sch, Name func, NodeId id) -> Result<bool> {
  auto found = find_place(sch, func, id);
  if (!found) { return false; }
  std::optional<size_t> point = decompose_point(found);
  if (!point) { return false; }
  AttrMap attrs = found.place->block()->annotations;
  LOOPSMITH_TRY(block, get_block(sch, found.place->name(), func));
  LOOPSMITH_TRY(loops, get_loops(sch, block));
  LOOPSMITH_TRY(init, sch.call("decompose_reduction", {block, loops[*point]}));
  LOOPSMITH_CHECK(move_tensorize_annotations(sch, block, *init.as<BlockRV>(), attrs));
  return true;
}

auto apply(Schedule& sch, const TargetNumbers&) -> Verdict {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<std::pair<Name, NodeId>> reductions;
    for (const auto& [name, func] : sch.module()->functions) {
      FindReductions find;
      find.visit(func->body);
      for (NodeId id : find.found) { reductions.emplace_back(name, id); }
    }
    for (const auto& [name, id] : reductions) {
      LOOPSMITH_TRY(done, decompose(sch, name, id));
      changed = changed || done;
    }
  }
  return true;
}

}  // namespace

auto rewrite_reduction_block() -> Postproc { return {"RewriteReductionBlock", apply}; }

}  // namespace loopsmith::tune::metaschedule
