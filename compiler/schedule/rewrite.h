// Rewrites: the change of one function by a primitive, as a list of edits at loops and blocks, and the body with these edits.
#pragma once

#include <utility>
#include <vector>

#include "ir/ir.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

struct Rewrite {
  /// `with` replaces the loop or block `at`. A block may be replaced by a Block (its realize, iter values and predicate stay) or by any other
  /// statement (its realize is removed as well). Null: the loop or block is removed.
  struct Change { NodeId at = 0; Stmt with; };
  std::vector<Change> changes;
  /// Inserts a statement into the body of the loop or block `at`, in front of statement number `position` as counted before the rewrite
  /// (behind allocations that stand first).
  struct Insert { NodeId at = 0; int position = 0; Stmt stmt; };
  std::vector<Insert> inserts;
  /// A statement put right in front of the loop `at`.
  struct Before { NodeId at = 0; Stmt stmt; };
  std::vector<Before> befores;
  /// Buffers that the block `at` allocates from now on (`add`), or no longer (`remove`); with both, `add` takes the position of `remove`.
  struct Alloc { NodeId at = 0; Buffer add; Buffer remove; };
  std::vector<Alloc> allocs;
  /// Variables that were bound to the removed loop or block `from` are bound to `to` from now on.
  struct Forward { NodeId from = 0; NodeId to = 0; };
  std::vector<Forward> forwards;
  /// Set if parameters, buffer map or attributes of the function change; its body is ignored.
  PrimFunc signature;
  /// Functions to add to the module; replaces a function of the same name.
  std::vector<std::pair<Name, PrimFunc>> functions;
};

/// The body of the function after the changes, inserts, befores and allocs of a rewrite. Their ids must be in the function, and no change may
/// lie inside another. Subtrees without an edit keep their old nodes.
[[nodiscard]] auto rewritten_body(const FuncTree& func, const Rewrite& rewrite) -> Stmt;

/// A copy with new ids for all loops and blocks (for code that occurs twice).
[[nodiscard]] auto renumber(const Stmt& stmt) -> Stmt;

}  // namespace loopsmith::schedule
