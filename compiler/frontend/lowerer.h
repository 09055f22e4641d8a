// The builder behind lower.h. It walks the statements of a program and keeps the stack of loops and blocks being built, on which the
// functions of `T` act. One per program being lowered; nested programs have their own.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/lower.h"
#include "frontend/objects.h"
#include "frontend/parts.h"
#include "support/guards.h"

namespace loopsmith::frontend {

class Lowerer {
 public:
  /// The builder for which the evaluator is working; null outside of a program.
  static auto of(Evaluator& evaluator) -> Lowerer* {
    return evaluator.host_tag == &tag ? static_cast<Lowerer*>(evaluator.host) : nullptr;
  }

  Lowerer(Evaluator& evaluator, eval::ScopeRef around, PartCache* parts = nullptr);
  Lowerer(const Lowerer&) = delete;
  auto operator=(const Lowerer&) -> Lowerer& = delete;

  auto run(const syntax::FunctionDef& def, FunctionOptions options) -> LoweredFunction;

  // -- for the functions of `T`
  void add(Stmt stmt);
  /// Adds an expression that is evaluated for its effect; `T.break_loop()` and `T.continue_loop()` in a loop become statements.
  void add_evaluated(Expr value, Origin where);
  /// `T.call_intrin("void", "tirx.masked_store", B, value, index, mask)`: if the call is evaluated as a statement, this store replaces it.
  void evaluates_to(const Expr& call, Stmt store) { evaluated_as_.emplace_back(call, std::move(store)); }
  void store(const Buffer& buffer, const std::vector<Argument>& indices, const Argument& value, Origin where);
  auto expand(const MacroObject& macro, const Arguments& arguments) -> Value;
  /// The innermost block; null: there is none.
  auto block() -> BlockSpec*;
  /// True inside of a `with` whose context is unknown, and of no block in it.
  [[nodiscard]] auto is_in_unknown() const -> bool;
  /// The block, if it is the innermost frame: axes, reads and similar calls must be directly in a block. Null: it is not.
  auto block_here() -> BlockSpec*;
  auto in_frame(FrameKind kind) const -> bool;
  auto directly_in(FrameKind kind) const -> bool { return !frames_.empty() && frames_.back().kind == kind; }
  /// The variable of a shape that is given by name, `T.Buffer(("n",))`. The first use makes it and binds the name.
  auto symbol(Name name, Origin where) -> Var;
  auto find_loop(const VarNode* var) const -> const LoopSpec*;
  auto is_param(const VarNode* var) const -> bool;
  void map_buffer(const Var& param, Buffer buffer);
  void add_alloc(Buffer buffer);
  /// True if `T.alloc_buffer` is a statement, as since TVM 0.24; before, it allocates for the block around. Reports a call if
  /// neither the imports nor the words of the program show the version, and the two meanings differ.
  [[nodiscard]] auto allocates_in_place(Origin where) -> bool;
  /// Allocates a buffer for the statements below, as in TVM's main line; directly in a block, for the block, which has the same meaning.
  void allocate_here(const Buffer& buffer, Origin where);
  /// Makes a variable that can be assigned to: memory of one element. Returns the expression that reads it.
  auto make_cell(DataType dtype, Name scope, Origin where) -> Expr;
  void set_attrs(AttrMap attrs) { attrs_ = std::move(attrs); attrs_changed_ = true; }
  [[nodiscard]] auto attrs() const -> const AttrMap& { return attrs_; }
  /// True for a program of TVM's main line (FunctionOptions).
  [[nodiscard]] auto is_in_parallel_loop() const -> bool;
  [[nodiscard]] auto rebinds_names() const -> bool { return rebinds_names_; }
  void set_name(Name name) { global_symbol_ = name; }
  void set_return_type(DataType t) { ret_type_ = t; }
  /// The thread index behind a variable of T.env_thread; null for other variables.
  auto thread_axis(const VarNode* var) -> IterVar*;
  void add_thread_axis(IterVar iter) { threads_.push_back(std::move(iter)); }
  void use_sblock() { uses_sblock_ = true; }
  /// Records that the program uses code with an unknown meaning.
  void mark_opaque() { is_opaque_ = true; }
  void use_thread_level(std::string_view word, Origin where);
  /// The index and the number of threads of an axis that a statement around launches; null: there is none.
  [[nodiscard]] auto launched(Name tag) const -> const BuildFrame*;
  /// Gives a fresh variable or buffer its name; false: it already has one.
  static auto name_var(const Var& var, Name name, Origin where) -> bool;
  static auto name_buffer(const Buffer& buffer, Name name, Origin where) -> bool;

 private:
  /// The loops that `with T.block([16]) as [vi]` leaves out, around the block.
  auto with_loops(BlockSpec& spec, Origin where) -> std::vector<LoopSpec>;
  void body(const syntax::Block& block, const eval::ScopeRef& scope);
  void body(std::span<const syntax::StmtPtr> block, const eval::ScopeRef& scope);
  /// Lowers the body of a loop or a `with`, whose block may be missing.
  void body_of(const syntax::Block& block, const eval::ScopeRef& scope);
  void signature(const syntax::FunctionDef& def, const eval::ScopeRef& scope);
  /// Lowers a part of a long program by `lower`, or uses the result kept for it (parts.h). `nodes`: its syntax.
  void part(DeclId decl, const std::vector<const syntax::Node*>& nodes, const eval::ScopeRef& scope, const std::function<void()>& lower);
  struct Mark;
  [[nodiscard]] auto mark(const eval::ScopeRef& scope) const -> Mark;
  [[nodiscard]] auto take(const LoweredPart& known, const eval::ScopeRef& scope) -> bool;
  void keep(DeclId decl, const Mark& before, std::vector<std::pair<Name, std::optional<Value>>> needs, const std::vector<const syntax::Node*>& nodes,
            const eval::ScopeRef& scope);
  [[nodiscard]] auto meaning(Name name, const eval::ScopeRef& scope) -> std::optional<Value>;
  /// Records that the text names the variable; false: it was named before.
  auto bind_var(const VarNode* var) -> bool;
  void statement(const syntax::Stmt& stmt, const eval::ScopeRef& scope);
  void on_assign(const syntax::AssignStmt& s, const eval::ScopeRef& scope);
  /// The words of a function that determine the meaning of its assignments and allocations.
  struct Words {
    std::unordered_set<Name> reassigned;         // names with more than one assignment
    bool has_blocks = false;                     // `T.block`, `T.sblock`
    bool has_sblocks = false;                    // `T.sblock`
    uint64_t hash = 0;
  };
  /// The words of the current function or macro, collected on first use.
  [[nodiscard]] auto words() -> const Words&;
  /// Reports an assignment that stores to memory or makes a variable, by the version of TVM, where nothing shows the version.
  void note_version(const syntax::Expr& target);
  /// Warns about a changed parameter of a macro that nothing reads.
  void check_parameter(const syntax::NameExpr& name, const eval::ScopeRef& scope);
  /// Adds the names that calls of a function pass to macros which assign to the parameter.
  void add_changed_arguments(const syntax::FunctionDef& def, eval::Environment* globals, int depth, std::unordered_set<Name>& out);
  /// True when an assignment to this name, in TVM's main line, makes memory to which later assignments store.
  [[nodiscard]] auto makes_cell(Name name, const Expr& value) -> bool;
  /// Stores to several cells by one assignment: computes all values first.
  [[nodiscard]] auto store_together(const syntax::AssignStmt& s, const Argument& value, const eval::ScopeRef& scope) -> bool;
  /// Reports names of the target that were assigned before in the same scope. `changes`: the assignment is `+=` or similar.
  void check_new(const syntax::Expr& target, const eval::ScopeRef& scope, bool changes = false);
  /// Records the names of a target for `check_new`.
  void has_named(const syntax::Expr& target, const eval::ScopeRef& scope);
  /// The memory behind a name or value that `make_cell` made; null for others.
  [[nodiscard]] auto cell(const syntax::Expr& target, const eval::ScopeRef& scope) -> Buffer;
  [[nodiscard]] auto cell(const Value& value) const -> Buffer;
  void on_ann_assign(const syntax::AnnAssignStmt& s, const eval::ScopeRef& scope);
  void on_aug_assign(const syntax::AugAssignStmt& s, const eval::ScopeRef& scope);
  void on_expr(const syntax::ExprStmt& s, const eval::ScopeRef& scope);
  void on_for(const syntax::ForStmt& s, const eval::ScopeRef& scope);
  void on_while(const syntax::WhileStmt& s, const eval::ScopeRef& scope);
  void on_if(const syntax::IfStmt& s, const eval::ScopeRef& scope);
  void on_with(const syntax::WithStmt& s, const eval::ScopeRef& scope);
  void on_assert(const syntax::AssertStmt& s, const eval::ScopeRef& scope);
  void on_return(const syntax::ReturnStmt& s, const eval::ScopeRef& scope);
  void param(const syntax::Param& p, const eval::ScopeRef& scope);
  /// `def f[n: T.int32](...)`: declares variables of shapes.
  void type_param(const syntax::Param& p, const eval::ScopeRef& scope);
  /// Declares scalar parameters that earlier annotations use: `A: T.Buffer((n,)), n: T.int32`.
  void declare_ahead(const syntax::FunctionDef& def, const eval::ScopeRef& scope);

  enum class Binding : uint8_t { Assign, Target };
  void bind(const syntax::Expr& target, const Argument& value, Binding how, const eval::ScopeRef& scope);
  auto bind_name(Name name, const Argument& value, Binding how, Origin where) -> Value;
  auto let(Name name, Expr value, Origin where) -> Value;

  /// Pushes a frame; returns the value that `as` binds.
  auto enter(const FrameObject& object, Origin where) -> Value;
  /// Pops frames until `depth` are left; each becomes a statement of the one below.
  void exit_to(size_t depth);
  void exit_frame();
  /// Makes the statement of a block at its end, and the loops around it that the text omits.
  auto close_block(BuildFrame& f, Stmt body) -> Stmt;
  auto loop_items(const Argument& iterable, const syntax::ForStmt& s, const eval::ScopeRef& scope) -> bool;

  static const char tag;
  Evaluator& evaluator_;
  eval::ScopeRef around_;
  Temporarily<void*> host_;                      // sets the evaluator's host to this builder while it lives
  Temporarily<const void*> host_tag_;
  std::vector<BuildFrame> frames_;
  std::vector<Var> params_;
  std::vector<std::pair<Var, Buffer>> buffer_map_;
  std::vector<Buffer> root_allocs_;
  std::vector<IterVar> threads_;
  AttrMap attrs_;
  Name global_symbol_;
  DataType ret_type_ = DataType::void_();
  bool rebinds_names_ = false;
  FunctionOptions options_;
  Name thread_word_;
  eval::ScopeRef scope_;                         // the scope of the function's body
  std::unordered_map<const eval::Scope*, std::pair<eval::ScopeRef, std::unordered_map<Name, Origin>>> assigned_;
  eval::ScopeRef here_;                          // the scope of the statement being lowered
  std::vector<std::pair<Name, Var>> symbols_;
  std::unordered_set<const VarNode*> bound_;     // variables that have a name in the text
  std::vector<Var> bound_in_order_;              // the variables of `bound_`, if parts are kept
  PartCache* parts_ = nullptr;                   // null: no results are kept
  std::unordered_map<Name, std::optional<Value>> outside_;   // values of names outside of the program that parts looked up
  uint32_t symbols_asked_ = 0;                   // the number of calls of `symbol`
  std::unordered_set<const BufferNode*> cells_;
  std::unordered_map<const syntax::FunctionDef*, Words> words_by_def_;
  const syntax::FunctionDef* def_ = nullptr;     // the current function or macro
  std::vector<std::pair<Expr, Stmt>> evaluated_as_;     // calls that become statements when they are evaluated
  std::unordered_map<Name, Var> ahead_;          // scalar parameters that earlier annotations use
  uint32_t expansions_ = 0;                      // of macros
  uint32_t remapped_ = 0;                        // the number of parameters that got a second buffer
  bool uses_sblock_ = false;
  bool attrs_changed_ = false;                   // by the part being lowered
  bool is_opaque_ = false;
  std::vector<size_t> unknown_frames_;              // indices into frames_ of each `with` whose context is unknown
  std::span<const syntax::StmtPtr> lost_body_;      // the statements below the current one, if its block is missing
  bool has_noted_version_ = false;
  uint32_t depth_ = 0;
};

/// Several statements as one; if there is none, an evaluation of 0, as in TVM.
[[nodiscard]] auto sequence_of(std::vector<Stmt>&& stmts, Origin origin) -> Stmt;
/// True for a loop or a `with` whose block is not indented; this error has been reported.
[[nodiscard]] auto lacks_block(const syntax::Node& statement) -> bool;

/// Adds regions to blocks without `T.reads` or `T.writes`, and a root block if the body has none (complete.cpp).
[[nodiscard]] auto complete(PrimFuncNode func, std::vector<Buffer> root_allocs, Evaluator& evaluator, PartCache* parts = nullptr) -> PrimFunc;
/// The annotation of a block whose reads (1) or writes (2) `complete` must find.
[[nodiscard]] auto detect_access_key() -> Name;

/// True when an expression is small enough for functions that walk over it. Scripts can make expressions of any depth, and of a size beyond
/// any memory, by using one expression twice again and again. False: an error was reported.
[[nodiscard]] auto is_within_limits(Evaluator& evaluator, const Expr& expr, Origin where) -> bool;
[[nodiscard]] auto arith_deep_equal(const Expr& a, const Expr& b) -> bool;
[[nodiscard]] auto simplified(const Expr& e) -> Expr;

/// The error that a frame is not the header of a `with` or `for` statement.
[[nodiscard]] auto needs_body(const FrameObject& object, Origin where) -> Diagnostic;

}  // namespace loopsmith::frontend
