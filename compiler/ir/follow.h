// Following a statement with numbers for variables: which elements of buffers it loads and stores, in the order in which it does so. For
// questions that are decided by trying where loops are short: boxes that bound what is touched cannot say where predicates, conditions in
// bodies, remainders and triangles leave holes. Contents of buffers are not known: what they decide may go either way.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/evaluate.h"
#include "ir/ir.h"

namespace loopsmith {

class Follower {
 public:
  using Element = std::vector<int64_t>;
  virtual ~Follower() = default;

  /// Numbers of the variables around; those that are missing are not known.
  Valuation values;
  /// Statements, iterations and accesses that may still be followed.
  int64_t steps_left = 1 << 15;

  /// False: there was too much to follow.
  auto follow(const Stmt& stmt) -> bool;

 protected:
  /// A load that is made, or may be.
  virtual void load(const Buffer&, const Element&) {}
  /// A load of one element or another.
  virtual void load_somewhere(const Buffer&) {}
  /// `certain`: it is made whatever buffers contain.
  virtual void store(const Buffer&, const Element&, bool /*certain*/) {}
  virtual void store_somewhere(const Buffer&) {}
  /// The memory is handed out as a pointer.
  virtual void hand_out(const VarNode* /*data*/) {}
  /// Before the statement is followed; false leaves it out.
  virtual auto enter(const Stmt&) -> bool { return true; }
  /// The indices of the access that is told of, as they are written; null: it is told of once more, after both cases of a condition.
  const Array<Expr>* indices = nullptr;

 private:
  struct View { Buffer source; Element begin; bool is_plain = true; };
  struct Stored { Buffer buffer; Element at; };
  auto step(const Stmt& stmt) -> bool;
  auto step(const Block& block) -> bool;
  auto branches(const std::optional<int64_t>& condition, const Stmt& yes, const Stmt& no) -> bool;
  void look(const Expr& e);
  void access(const Buffer& buffer, const Array<Expr>& written, bool is_store, bool certain);
  void access(const Buffer& buffer, const Element& at, bool is_store, bool certain);
  void somewhere(const Buffer& buffer, bool is_store);
  std::unordered_map<const BufferNode*, View> views_;
  std::unordered_map<const VarNode*, const VarNode*> data_of_views_;   // to that of what they are views of
  std::vector<std::vector<Stored>*> open_;     // what the branches of undecided conditions store, outermost first
  int undecided_ = 0;                          // loops that may not run, conditions without an other case
};

}  // namespace loopsmith
