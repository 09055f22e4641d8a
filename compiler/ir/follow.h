// Follows a statement with numbers for variables, and reports the elements of buffers that it loads and stores, in order. This answers
// questions about short loops that boxes around the accesses cannot: predicates, conditions in bodies, remainders and triangles leave holes
// in a box. The contents of buffers are unknown: a condition on them may go either way.
//
// A jump (`break`, `continue`, a return) that certainly runs skips the statements behind it. Behind a jump that may run, up to the end of its loop,
// no store is certain.
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

  /// The values of the variables around; a missing one is unknown.
  Valuation values;
  /// Statements, iterations and accesses that may still be followed.
  int64_t steps_left = 1 << 15;

  /// False: `steps_left` ran out.
  auto follow(const Stmt& stmt) -> bool;

 protected:
  /// A load that is made, or may be.
  virtual void load(const Buffer&, const Element&) {}
  /// A load of one element or another.
  virtual void load_somewhere(const Buffer&) {}
  /// `certain`: the store is made whatever the buffers contain.
  virtual void store(const Buffer&, const Element&, bool /*certain*/) {}
  virtual void store_somewhere(const Buffer&) {}
  /// The pointer to the memory is passed on.
  virtual void hand_out(const VarNode* /*data*/) {}
  /// Before the statement is followed; false leaves it out.
  virtual auto enter(const Stmt&) -> bool { return true; }
  /// The indices of the access that is reported, as they are written; null: the access is reported again behind both branches of a condition.
  const Array<Expr>* indices = nullptr;

 private:
  struct View { Buffer source; Element begin; bool is_plain = true; };
  struct Stored { Buffer buffer; Element at; };
  enum class Jump : uint8_t { None, Continue, Break, Return };
  auto step(const Stmt& stmt) -> bool;
  void jump(Jump kind);
  struct Loop { int breaks, continues; };
  auto enter_loop() -> Loop;
  /// After an iteration: a `continue` ends here. False: the loop is left.
  auto goes_on() -> bool;
  void leave_loop(const Loop& around);
  auto follow_unknown_loop(const Stmt& body) -> bool;
  auto step(const Block& block) -> bool;
  auto branches(const std::optional<int64_t>& condition, const Stmt& yes, const Stmt& no) -> bool;
  void look(const Expr& e);
  void access(const Buffer& buffer, const Array<Expr>& written, bool is_store, bool certain);
  void access(const Buffer& buffer, const Element& at, bool is_store, bool certain);
  void somewhere(const Buffer& buffer, bool is_store);
  std::unordered_map<const BufferNode*, View> views_;
  std::unordered_map<const VarNode*, const VarNode*> data_of_views_;   // the data of a view to that of its source
  std::vector<std::vector<Stored>*> open_;     // stores of the branches of undecided conditions, outermost first
  int undecided_ = 0;                          // loops that may not run, conditions without an other case, jumps that may have been made
  int depth_ = 0;                              // statements around that are followed
  Jump jump_ = Jump::None;                     // the jump that is being made
  int breaks_ = 0, continues_ = 0;             // jumps out of the innermost loop that may have been made, counted in `undecided_`
};

}  // namespace loopsmith
