// Region cover: a block is covered if earlier writes of its scope produce every element that it reads.
#pragma once

#include <map>
#include <vector>

#include "ir/ir.h"
#include "schedule/facts/dependences.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

struct Cover {
  bool stage_pipeline = true;              // RAW dependences only, each covered
  std::vector<NodeId> uncovered;           // blocks that read more than their producers wrote, in the order of the text
  friend auto operator==(const Cover&, const Cover&) -> bool = default;
};

/// Answers about one reader and the blocks that write for it. The states of a schedule share one object: most primitives change other blocks of the scope, or loops
/// without a say in the matter. A key lists the nodes on which the answer depends, and an entry keeps these nodes alive, so that equal pointers mean equal nodes.
class KnownCovers {
 public:
  class Key {
   public:
    void add(const For& loop);
    /// A block around both sides: its domain counts, its body does not.
    void add_around(const BlockRealize& realize);
    void add(const BlockRealize& realize);
    /// Separates the parts of a key.
    void end_part() { pointers_.push_back(nullptr); }

   private:
    friend class KnownCovers;
    std::vector<const void*> pointers_;
    std::vector<Expr> exprs_;
    std::vector<Array<Expr>> lists_;
    std::vector<Array<IterVar>> iter_vars_;
    std::vector<Ref<Block>> blocks_;
  };
  /// Null: not known yet.
  [[nodiscard]] auto find(const Key& key) const -> const bool*;
  void keep(Key key, bool is_covered);
  [[nodiscard]] auto size() const -> size_t { return entries_.size(); }

 private:
  struct Entry { Key nodes; bool is_covered; };
  std::map<std::vector<const void*>, Entry> entries_;
};

/// FuncState keeps the answer. `dependences`: of that scope.
[[nodiscard]] auto compute_cover(const FuncTree& func, const Place& scope, const Scope& dependences) -> Cover;
/// The same, from the answer `before`, which still holds for all blocks except the `changed` ones (in the order of the text). Looks up and keeps answers in `known`, if any.
[[nodiscard]] auto compute_cover(const FuncTree& func, const Place& scope, const Scope& dependences, const std::vector<NodeId>& changed, const Cover& before,
                                 KnownCovers* known) -> Cover;
/// The same for all blocks of a scope.
[[nodiscard]] auto compute_cover(const FuncTree& func, const Place& scope, const Scope& dependences, KnownCovers& known) -> Cover;

}  // namespace loopsmith::schedule
