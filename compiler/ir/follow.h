// Follows a statement with numbers for variables, and reports the elements of buffers that it loads and stores, in order. This answers
// questions about short loops that boxes around the accesses cannot answer: predicates, conditions in bodies, remainders and triangles leave holes
// in a box. The contents of buffers are unknown: both results of a condition on them are possible.
//
// A jump (`break`, `continue`, a return) that certainly runs skips the statements behind it. Behind a jump that may run, no store is certain until the end
// of its loop.
//
// `memcpy`, `memmove` and `memset` behind the address of an element load and store the elements there.
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

  /// The values of the variables around; a variable without an entry is unknown.
  Valuation values;
  /// The number of statements, iterations and accesses that may still be followed.
  int64_t steps_left = 1 << 15;

  /// False if `steps_left` ran out.
  auto follow(const Stmt& stmt) -> bool;

 protected:
  /// Called for a load that certainly runs, or may run.
  virtual void load(const Buffer&, const Element&) {}
  /// Called for a load of an unknown element.
  virtual void load_somewhere(const Buffer&) {}
  /// `certain`: the store runs whatever the buffers contain.
  virtual void store(const Buffer&, const Element&, bool /*certain*/) {}
  virtual void store_somewhere(const Buffer&) {}
  /// Called when the program passes the pointer of a buffer to other code.
  virtual void hand_out(const VarNode* /*data*/) {}
  /// Around statements that run together or not at all: the branch of an undecided condition, the rest of an iteration behind a jump. `end` gets what `begin`
  /// returned, and closes the regions inside too.
  virtual auto begin_region() -> size_t { return 0; }
  virtual void end_region(size_t /*begin*/) {}
  /// False if the store that is reported may leave the element as it is, even where it is reached: it has a mask.
  bool is_whole = true;
  /// Called before the statement is followed; returns false to skip it.
  virtual auto enter(const Stmt&) -> bool { return true; }
  /// The indices of the access that is reported, as expressions; null: the access is reported again behind both branches of a condition.
  const Array<Expr>* indices = nullptr;

 private:
  struct View { Buffer source; Element begin; bool is_plain = true; };
  struct Stored { Buffer buffer; Element at; };
  enum class Jump : uint8_t { None, Continue, Break, Return };
  auto step(const Stmt& stmt) -> bool;
  void jump(Jump kind);
  struct Loop { int breaks, continues; size_t region; };
  auto enter_loop() -> Loop;
  /// Called after an iteration: a `continue` ends here. Returns false if the loop is left.
  auto goes_on(const Loop& loop) -> bool;
  void leave_loop(const Loop& around);
  auto follow_unknown_loop(const Stmt& body) -> bool;
  auto step(const Block& block) -> bool;
  auto branch(const Stmt& body) -> bool;
  auto branches(const std::optional<int64_t>& condition, const Stmt& yes, const Stmt& no) -> bool;
  void look(const Expr& e);
  auto copy(const Expr& call) -> bool;
  void elements_behind(const Expr& pointer, std::optional<int64_t> bytes, bool is_store);
  void access(const Buffer& buffer, const Array<Expr>& written, bool is_store, bool certain);
  void access(const Buffer& buffer, const Element& at, bool is_store, bool certain);
  void somewhere(const Buffer& buffer, bool is_store);
  std::unordered_map<const BufferNode*, View> views_;
  std::unordered_map<const VarNode*, const VarNode*> data_of_views_;   // from the data of a view to that of its source
  std::vector<std::vector<Stored>*> open_;     // stores of the branches of undecided conditions, outermost first
  int undecided_ = 0;                          // loops that may not run, conditions without an else case, jumps that may have run
  int depth_ = 0;                              // the number of followed statements around
  Jump jump_ = Jump::None;                     // the jump that is running
  int breaks_ = 0, continues_ = 0;             // jumps out of the innermost loop that may have run, included in `undecided_`
};

}  // namespace loopsmith
