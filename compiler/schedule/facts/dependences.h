// The blocks of a scope and their dependences on each other. Computed from scratch, or from the answer for the state before, with work only for the
// blocks that changed and for the blocks that touch the same buffers. Answers belong to nodes: the same node has the same answer. They are sorted
// sequences that states share; the order of blocks in the text comes from the places.
#pragma once

#include <compare>
#include <memory>
#include <span>
#include <vector>

#include "ir/ir.h"
#include "schedule/facts/hidden_reads.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

enum class DependenceKind : uint8_t { Raw, Waw, War, Opaque };

/// `dst` runs after `src` and touches a buffer that `src` touched.
struct Dependence {
  NodeId src = 0;
  NodeId dst = 0;
  DependenceKind kind = DependenceKind::Raw;
  const BufferNode* buffer = nullptr;      // the first buffer that causes the dependence
  bool is_hidden = false;                  // the read is hidden (hidden_reads.h): it is in `dst`, or for War in `src`
  friend auto operator==(const Dependence&, const Dependence&) -> bool = default;
};

struct ScopeBlocks;

/// The blocks directly in a block (not those nested deeper), and their dependences. A view: it lives as long as the state.
class Scope {
 public:
  Scope(const FuncTree& func, const ScopeBlocks& blocks) : func_(&func), blocks_(&blocks) {}
  /// The dependences of other blocks on a block, sorted by `dst` in the order of the text.
  [[nodiscard]] auto of_src(NodeId id) const -> std::vector<Dependence>;
  /// The dependences of a block on others.
  [[nodiscard]] auto of_dst(NodeId id) const -> std::span<const Dependence>;
  /// True if a block overwrites an element that was read before, or uses a buffer in an unknown way.
  [[nodiscard]] auto overwrites() const -> bool;
  /// The blocks that write a buffer, in the order of the text.
  [[nodiscard]] auto writers(const BufferNode* buffer) const -> std::vector<NodeId>;
  [[nodiscard]] auto is_written(const BufferNode* buffer) const -> bool;

 private:
  const FuncTree* func_;
  const ScopeBlocks* blocks_;
};

/// The buffers that the blocks of a scope touch, and the dependences that follow. Loops have no influence: states whose steps change only loops
/// share one object.
struct ScopeBlocks {
  /// The kinds of access to a buffer.
  enum class Use : uint8_t { Read, HiddenRead, Write };
  struct Touch {
    const BufferNode* buffer = nullptr;
    Use use = Use::Read;
    friend auto operator==(const Touch&, const Touch&) -> bool = default;
  };
  struct Toucher {
    const BufferNode* buffer = nullptr;
    Use use = Use::Read;
    NodeId block = 0;
    friend auto operator==(const Toucher&, const Toucher&) -> bool = default;
    friend auto operator<=>(const Toucher&, const Toucher&) = default;
  };
  struct Known {
    NodeId block = 0;
    Array<Touch> touches;                  // its reads, its hidden reads, its writes
    Array<Dependence> dependences;         // on blocks before it
    /// Compares identity: equal contents are not enough.
    friend auto operator==(const Known& a, const Known& b) -> bool { return a.block == b.block && a.touches.same_as(b.touches) && a.dependences.same_as(b.dependences); }
  };
  Sequence<Known> blocks;                  // by id
  Sequence<Toucher> touchers;              // by buffer, then by use, then by id
  Sequence<NodeId> silent;                 // the blocks that declare neither reads nor writes
  int overwrites = 0;                      // the number of dependences of a write on an earlier read
  [[nodiscard]] auto find(NodeId block) const -> const Known*;
  [[nodiscard]] auto is_written(const BufferNode* buffer) const -> bool;
};

/// A scope with the nodes from which it was read. A strand is a loop or block right below the scope: a statement of its body, or one below a condition.
struct ScopeTree {
  NodeId scope = 0;
  bool is_plain = false;                   // every strand is a statement of the body
  Sequence<Stmt> strands;
  std::shared_ptr<const ScopeBlocks> blocks;
};

[[nodiscard]] auto make_scope_tree(const FuncTree& func, const Place& scope, KnownHiddenReads& hidden) -> ScopeTree;
/// The same, updated from the tree of the scope in the state before.
[[nodiscard]] auto make_scope_tree(const FuncTree& func, const Place& scope, KnownHiddenReads& hidden, const ScopeTree& before) -> ScopeTree;
/// True if both hold the same blocks with the same dependences.
[[nodiscard]] auto is_same(const ScopeTree& a, const ScopeTree& b) -> bool;

/// Adds the outermost blocks in a statement.
void add_blocks(const Stmt& stmt, std::vector<const Block*>& out);

/// The blocks in the order of the text, each once.
[[nodiscard]] auto in_text_order(const FuncTree& func, std::vector<NodeId> ids) -> std::vector<NodeId>;

/// The blocks whose region cover may differ from before, in the order of the text: the block itself changed, a block that it reads from changed, or its
/// dependences changed.
[[nodiscard]] auto changed_consumers(const FuncTree& func, const ScopeTree& before, const ScopeTree& now) -> std::vector<NodeId>;

}  // namespace loopsmith::schedule
