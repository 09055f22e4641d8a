// The loops and blocks of one function as a tree, and questions that the tree alone answers: nesting, the domains of the loops
// around a block, statements under conditions. Facts (facts/) are computed from the tree; a FuncState (state.h) is a
// tree with the facts that it keeps.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/ir.h"
#include "ir/visitor.h"
#include "schedule/places.h"

namespace loopsmith::schedule {

/// Loop variables with the ranges that the loops run over, the outermost first.
using Domains = std::vector<std::pair<Var, Range>>;

/// Immutable. A `Place` that it returns lives as long as the tree.
class FuncTree {
 public:
  FuncTree(Name name, PrimFunc func);
  /// The same, for a function that shares most of its nodes with `before`: reuses the places of shared parts.
  FuncTree(Name name, PrimFunc func, const FuncTree& before);
  [[nodiscard]] auto name() const -> Name { return name_; }
  [[nodiscard]] auto func() const -> const PrimFunc& { return func_; }
  [[nodiscard]] auto places() const -> const Places& { return places_; }
  [[nodiscard]] auto find(NodeId id) const -> const Place* { return places_.find(id); }
  [[nodiscard]] auto root() const -> const Place& { return places_.front(); }
  /// False for functions without a root block: they are not schedulable TIR.
  [[nodiscard]] auto is_schedulable() const -> bool { return !places_.empty(); }
  /// The loop or block directly around; null for the root block.
  [[nodiscard]] auto parent(const Place& p) const -> const Place* { return p.parent < 0 ? nullptr : &places_[static_cast<size_t>(p.parent)]; }
  /// The nearest block around; null for the root block.
  [[nodiscard]] auto scope(const Place& p) const -> const Place* { return p.scope < 0 ? nullptr : &places_[static_cast<size_t>(p.scope)]; }
  /// The loops around a loop or block within its scope, the outermost first; a loop itself is not among them.
  [[nodiscard]] auto loops(const Place& p) const -> std::vector<const Place*>;
  /// True if `inner` is strictly below `outer`.
  [[nodiscard]] auto is_below(const Place& inner, const Place& outer) const -> bool {
    return inner.index > outer.index && inner.index < outer.end;
  }
  /// The outermost blocks below, in the order of the text.
  [[nodiscard]] auto child_blocks(const Place& p) const -> std::vector<const Place*>;

 private:
  Name name_;
  PrimFunc func_;
  Places places_;
};

/// The position of a loop or block among the statements in the body of `around`; the count of statements if it is not one of them.
[[nodiscard]] auto position_of(const FuncTree& func, const Sequence<Stmt>& items, const Place& around, const Place& wanted) -> size_t;
/// True if the loop or block is itself a statement in the body of its parent; false if it is inside of a condition or of another statement there.
[[nodiscard]] auto is_plain_child(const FuncTree& func, const Place& place) -> bool;
/// True if a loop or block runs whenever its parent runs: it is under no condition (declarations around it are allowed),
/// and no jump skips it.
[[nodiscard]] auto always_runs(const FuncTree& func, const Place& place) -> bool;

/// The domains of the loops around a block within its scope, up to but not including `above`.
[[nodiscard]] auto loop_domains(const FuncTree& func, const Place& block, const Place* above = nullptr) -> Domains;
/// True if a variable is defined at a place and below: an iter var of a block, the variable of a loop around (or of the place itself), a
/// parameter, or an unknown size in the shape of a parameter.
[[nodiscard]] auto is_known_at(const FuncTree& func, const Place* place, const VarNode& var) -> bool;
/// The iter vars of a block with their iter values.
[[nodiscard]] auto bindings_of(const BlockRealize& realize) -> std::unordered_map<const VarNode*, Expr>;

}  // namespace loopsmith::schedule
