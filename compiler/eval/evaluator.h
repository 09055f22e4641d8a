// The evaluator of the script language: expressions and statements over the syntax tree, hermetic (no files, no
// clock, no network, no randomness), bounded in steps and depth, in the spirit of Starlark.
//
// Functions run statement by statement. A Frame is a function call between two statements of its body. `snapshot`
// copies a frame with everything that the function can change. A frame can resume from any statement, with the same
// function or with an edited one whose first statements are the same. In this way a schedule runs again from its
// first changed line only.
//
// Names are looked up in the scopes of the surrounding functions, then in an Environment, which a higher room
// implements (it evaluates declarations of a file on demand), then among the builtins.
//
// evaluator.cpp has limits and names, expressions.cpp, operators.cpp, statements.cpp and calls.cpp the rules.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "eval/value.h"
#include "support/cancel.h"
#include "syntax/ast.h"

namespace loopsmith::eval {

/// Keeps a list of all scopes, which form cycles with the closures in them, and frees them at the latest when it is destroyed. It
/// must outlive the values that were made with it, or be shared with them.
class Heap {
 public:
  Heap() = default;
  Heap(const Heap&) = delete;
  auto operator=(const Heap&) -> Heap& = delete;
  ~Heap();

 private:
  friend class Scope;
  Scope* first_ = nullptr;
};

/// Variables of one call, comprehension or block, in order of first assignment, and the enclosing scope.
class Scope {
 public:
  mutable uint32_t refs = 0;
  Scope(Heap* heap, Ref<Scope> parent);
  ~Scope();
  Scope(const Scope&) = delete;
  auto operator=(const Scope&) -> Scope& = delete;

  [[nodiscard]] auto parent() const -> const Ref<Scope>& { return parent_; }
  /// Searches this scope only; null: not found.
  [[nodiscard]] auto find_here(Name name) const -> const Value*;
  /// Searches this scope and the enclosing ones.
  [[nodiscard]] auto find(Name name) const -> const Value*;
  void set(Name name, Value value) const;
  auto erase(Name name) const -> bool;
  void names(std::vector<Name>& out) const;
  [[nodiscard]] auto slots() const -> const std::vector<std::pair<Name, Value>>& { return slots_; }

 private:
  friend class Heap;
  friend class Cloner;
  friend auto clone_scope(const Ref<Scope>& scope, Cloner& cloner) -> Ref<Scope>;
  Heap* heap_;
  Scope* previous_ = nullptr;
  Scope* next_ = nullptr;
  Ref<Scope> parent_;
  [[nodiscard]] auto slot(Name name) const -> std::pair<Name, Value>*;
  mutable std::vector<std::pair<Name, Value>> slots_;
  mutable std::unordered_map<Name, uint32_t> index_;   // index of the slots, if there are many
};
using ScopeRef = Ref<Scope>;

/// Defines the meaning of names outside of functions.
class Environment {
 public:
  virtual ~Environment() = default;
  /// None: the name is not defined here.
  [[nodiscard]] virtual auto lookup(Evaluator& evaluator, Name name, Origin where) -> std::optional<Value> = 0;
  virtual void names(std::vector<Name>& out) const {}
  /// The value of a name in `from MODULE import NAME`, and of `import MODULE`; none: the module is unknown.
  [[nodiscard]] virtual auto imported(Evaluator&, const syntax::ImportFromStmt&, const syntax::ImportName&) -> std::optional<Value> { return {}; }
  [[nodiscard]] virtual auto imported(const syntax::ImportName&) -> std::optional<Value> { return {}; }
};

/// A function of the script.
class Function final : public Object {
 public:
  static const TypeTag type_tag;
  Function(const syntax::FunctionDef* def, const syntax::LambdaExpr* lambda, ScopeRef captured, std::vector<Value> defaults,
           std::shared_ptr<const void> keep_alive, Environment* globals)
      : Object(&type_tag), def(def), lambda(lambda), captured(std::move(captured)), defaults(std::move(defaults)),
        keep_alive(std::move(keep_alive)), globals(globals) {}
  const syntax::FunctionDef* def;         // or null
  const syntax::LambdaExpr* lambda;       // or null
  const ScopeRef captured;                // the scope around its definition; null at the top level
  const std::vector<Value> defaults;      // one per parameter; unused if the parameter has none
  const std::shared_ptr<const void> keep_alive;  // owner of the tree
  Environment* const globals;
  [[nodiscard]] auto params() const -> const syntax::List<syntax::Param>& { return def ? def->params : lambda->params; }
  [[nodiscard]] auto name() const -> Name { return def ? def->name.name : Name("<lambda>"); }
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& evaluator, const Arguments& arguments) const -> std::optional<Value> override;
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  /// Accepts any attribute, as Python does, and forgets it: reading it gives an unknown value.
  auto set_attribute(Evaluator&, Name name, const Argument& value, Origin where) const -> bool override;
  auto repr() const -> std::string override;
  auto clone(Cloner& cloner) const -> std::optional<Value> override;
};

/// The way in which a statement or a body ended. Failed: a diagnostic was reported. Unknown: its effect is unknown (opaque).
enum class Flow : uint8_t { Next, Break, Continue, Return, Failed, Unknown };

/// A call between two statements of the function's body.
struct Frame {
  Ref<Function> function;
  ScopeRef scope;
  size_t next = 0;         // the index of the next statement
  Flow flow = Flow::Next;  // Next: the body has not ended
  Value result;            // after Return (None if the end was reached)

  /// Copies everything that later statements could change; shares immutable objects.
  [[nodiscard]] auto snapshot() const -> Frame;
  [[nodiscard]] auto snapshot(Cloner& cloner) const -> Frame;
};

/// Watches the statements of one function's body (not those nested in `for` or `if`, nor those of called functions).
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void before(Evaluator& evaluator, Frame& frame, size_t index, const syntax::Stmt& stmt) {}
  /// Returns false to stop here (the frame can be resumed).
  virtual auto after(Evaluator& evaluator, Frame& frame, size_t index, const syntax::Stmt& stmt, Flow flow) -> bool { return true; }
};

/// The limits of a script. They are the same in the editor, on the command line and in the REPL; build scripts have larger limits (docs/scripts.md).
struct Limits {
  uint64_t steps = 5'000'000;   // expressions and statements; the items of an operation count as well, 64 per step
  uint32_t depth = 300;         // of calls and nested expressions
  size_t list_items = 4'000'000;
  size_t text_bytes = 16 << 20;
  double seconds = 20;          // processor time of this thread
  size_t bytes = 1 << 30;       // the growth of this process's memory
};

class Evaluator {
 public:
  explicit Evaluator(std::shared_ptr<Heap> heap = std::make_shared<Heap>());

  Limits limits;
  CancelToken cancel;
  Environment* globals = nullptr;
  /// Receives the text that `print` writes; empty: the text is dropped.
  std::function<void(std::string_view)> output;
  /// For builtins of higher rooms that build something while scripts run (a program being lowered, a schedule).
  /// The tag identifies its type: the address of a variable that belongs to the builtins.
  void* host = nullptr;
  const void* host_tag = nullptr;
  /// Called for each call that is not made because the callee or an argument is unknown; may be empty. If it returns a value, that is the
  /// result of the call: a higher room has signatures of library functions.
  std::function<std::optional<Value>(const Value& callee, const syntax::CallExpr& written, const Arguments& arguments)> not_called;
  /// The contexts of the surrounding `with` statements, the innermost last.
  std::vector<Value> contexts;
  /// The owner of the tree being evaluated; new functions keep it alive.
  std::shared_ptr<const void> tree;
  Diagnostics diagnostics;
  /// The first place at which an opaque expression or statement was evaluated; unknown: there was none.
  Origin opaque_at;
  /// True while Python around programs is evaluated: an error in a called function is not reported, and the result of the call is
  /// unknown. Python has more names, attributes and modules than the evaluator.
  bool is_lenient = false;
  /// The value of the expression statement that ran last.
  Value last_expression;

  /// Adds a diagnostic; returns Value::error(), for `return evaluator.report(...)`.
  auto report(Diagnostic diagnostic) -> Value;
  auto opaque(Origin where) -> Value;
  /// True if this was called before for the same value, a tuple of several values. A script that forgot to unpack a tuple uses it
  /// again and again; one report is enough.
  [[nodiscard]] auto is_known_tuple(const Value& v) -> bool;
  [[nodiscard]] auto heap() const -> const std::shared_ptr<Heap>& { return heap_; }
  [[nodiscard]] auto new_scope(ScopeRef parent) -> ScopeRef;
  [[nodiscard]] auto steps() const -> uint64_t { return steps_; }
  /// Counts the steps of an earlier evaluation whose result is used again. False: fewer steps are left, and none is counted.
  [[nodiscard]] auto spend(uint64_t steps) -> bool {
    if (stopped_ || steps_ + steps > limits.steps) { return false; }
    steps_ += steps;
    return true;
  }
  /// The number of calls of script functions so far.
  [[nodiscard]] auto calls() const -> uint64_t { return calls_; }
  /// Starts counting at zero: if an evaluation reached a limit of steps, time or memory, the next one can run again.
  void reset_steps();

  [[nodiscard]] auto eval(const syntax::Expr& expr, const ScopeRef& scope) -> Value;
  [[nodiscard]] auto eval_argument(const syntax::Expr& expr, const ScopeRef& scope) -> Argument {
    return {eval(expr, scope), expr.origin(), {}};
  }
  /// The indices between the brackets of a subscript (slices are SliceObjects, starred indices are spread); false: an
  /// error was reported, or an index is opaque (then `unknown` is its value).
  [[nodiscard]] auto eval_indices(const syntax::SubscriptExpr& expr, const ScopeRef& scope, std::vector<Argument>& out, Value& unknown) -> bool;
  [[nodiscard]] auto exec(const syntax::Stmt& stmt, const ScopeRef& scope, Value& result) -> Flow;
  [[nodiscard]] auto exec_block(const syntax::Block& block, const ScopeRef& scope, Value& result) -> Flow;
  /// Assigns a value to a target: a name, tuples and lists of targets into which it is unpacked, items and attributes.
  [[nodiscard]] auto assign(const syntax::Expr& target, const Argument& value, const ScopeRef& scope) -> bool;

  [[nodiscard]] auto call(const Argument& callee, const Arguments& arguments) -> Value;
  [[nodiscard]] auto call(const Value& callee, std::vector<Value> positional, Origin where = {}) -> Value;
  [[nodiscard]] auto binary(syntax::BinaryOp op, const Argument& left, const Argument& right, Origin where) -> Value;
  [[nodiscard]] auto compare(syntax::CompareOp op, const Argument& left, const Argument& right, Origin where) -> Value;
  [[nodiscard]] auto unary(syntax::UnaryOp op, const Argument& operand, Origin where) -> Value;
  [[nodiscard]] auto attribute(const Argument& object, Name name, Origin where) -> Value;
  [[nodiscard]] auto iterate(const Argument& iterable) -> std::optional<std::vector<Value>>;
  /// None: an error was reported, or the value is opaque.
  [[nodiscard]] auto truth(const Argument& value) -> std::optional<bool>;
  [[nodiscard]] auto lookup(Name name, const ScopeRef& scope, Origin where) -> Value;
  /// The function of a `def` without its decorators.
  [[nodiscard]] auto make_function(const syntax::FunctionDef& def, const ScopeRef& scope) -> Value;

  /// Starts a call: binds the parameters and runs no statement. None: an error was reported.
  [[nodiscard]] auto start(const Ref<Function>& function, const Arguments& arguments) -> std::optional<Frame>;
  /// The same with another enclosing scope than that of its definition.
  [[nodiscard]] auto start(const Ref<Function>& function, const Arguments& arguments, const ScopeRef& around) -> std::optional<Frame>;
  /// Runs from frame.next until the body ends or the observer stops. `frame.flow` is the way in which the body ended.
  void run(Frame& frame, Observer* observer = nullptr);
  [[nodiscard]] auto call_function(const Ref<Function>& function, const Arguments& arguments, Observer* observer = nullptr) -> Value;
  /// Resumes a frame (a snapshot taken before the statement) in `function`, which may be an edited version with the
  /// same statements before that one.
  void resume_from(size_t statement, Frame& frame, const Ref<Function>& function, Observer* observer = nullptr);

  /// Counts a step. False: a limit is exceeded, or the evaluation is cancelled; either is reported.
  [[nodiscard]] auto step(Origin where) -> bool;
  /// Counts the items that an operation visits, and the bytes of its result; false as above. Must be called before the result is made.
  [[nodiscard]] auto charge(size_t items, size_t bytes, Origin where) -> bool;
  /// Checks cancellation, time and memory at once, for builtins that take long themselves; false as above.
  [[nodiscard]] auto may_go_on(Origin where) -> bool;
  struct DepthGuard {
    explicit DepthGuard(Evaluator& e) : evaluator(e) { ++evaluator.depth_; }
    ~DepthGuard() { --evaluator.depth_; }
    Evaluator& evaluator;
  };
  [[nodiscard]] auto too_deep(Origin where) -> bool;

 private:
  auto exec_one(const syntax::Stmt& stmt, const ScopeRef& scope, Value& result) -> Flow;
  auto refuse(std::string what, Origin where) -> bool;
  auto fits_in_memory(size_t more, Origin where) -> bool;
  auto eval_call(const syntax::CallExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_binary(const syntax::BinaryExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_boolean(const syntax::BooleanExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_compare(const syntax::CompareExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_subscript(const syntax::SubscriptExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_dict(const syntax::DictExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_conditional(const syntax::ConditionalExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_slice(const syntax::SliceExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_comprehension(const syntax::ComprehensionExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_fstring(const syntax::FStringExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_parts(const syntax::List<syntax::FStringPart>& parts, const ScopeRef& scope, Origin where, std::string& out) -> Value;
  auto eval_items(const syntax::List<syntax::ExprPtr>& exprs, const ScopeRef& scope, std::vector<Value>& out) -> Value;
  auto comprehend(const syntax::ComprehensionExpr& expr, size_t clause, const ScopeRef& scope, std::vector<Value>& list, const Dict* dict) -> Value;
  auto bind(const Function& function, const Arguments& arguments, const ScopeRef& scope) -> bool;
  auto unpack(const syntax::Expr& target, const syntax::List<syntax::ExprPtr>& targets, const Argument& value, const ScopeRef& scope) -> bool;
  /// The truth of a condition. None: an error was reported, or it is opaque; `undecided` is then the flow of the statement.
  auto decide(const syntax::Expr& condition, const ScopeRef& scope, Flow& undecided) -> std::optional<bool>;
  auto exec_assignment(const syntax::Stmt& stmt, const ScopeRef& scope) -> Flow;
  auto exec_for(const syntax::ForStmt& stmt, const ScopeRef& scope, Value& result) -> Flow;
  auto exec_while(const syntax::WhileStmt& stmt, const ScopeRef& scope, Value& result) -> Flow;
  auto exec_assert(const syntax::AssertStmt& stmt, const ScopeRef& scope) -> Flow;
  auto exec_with(const syntax::WithStmt& stmt, const ScopeRef& scope, Value& result) -> Flow;
  auto exec_import(const syntax::ImportStmt& stmt, const ScopeRef& scope) -> Flow;
  auto exec_import_from(const syntax::ImportFromStmt& stmt, const ScopeRef& scope) -> Flow;
  auto exec_del(const syntax::DelStmt& stmt, const ScopeRef& scope) -> Flow;
  auto exec_function_def(const syntax::FunctionDef& def, const ScopeRef& scope) -> Flow;
  auto exec_class_def(const syntax::ClassDef& def, const ScopeRef& scope) -> Flow;

  std::shared_ptr<Heap> heap_;
  std::vector<Value> known_tuples_;
  uint64_t steps_ = 0;
  uint64_t look_at_ = 0;                      // the step at which time and memory are checked again
  size_t items_ = 0;                          // counted, but not yet part of a step
  size_t bytes_ = 0;                          // counted since memory was measured
  double begun_at_ = -1;                      // processor time at the first check; negative: there was none
  double measured_at_ = 0;                    // processor time when memory was measured
  uint64_t memory_before_ = 0;                // of the process, at the first check
  Origin statement_;                          // the innermost statement that runs
  uint64_t calls_ = 0;
  uint32_t depth_ = 0;
  bool has_yielded_ = false;   // the current function is a generator
  bool stopped_ = false;  // out of steps, or cancelled; reported once
};

/// The failure that the context of a `with` statement expects in its body. Raised: the body is expected to fail (`pytest.raises`). Allowed: the body may
/// fail (`contextlib.suppress`).
enum class ExpectedFailure : uint8_t { None, Raised, Allowed };
/// Recognised by the name of the function that makes the context.
[[nodiscard]] auto expects_failure(const syntax::Expr& context) -> ExpectedFailure;

/// A parameter of a builtin.
struct Parameter {
  Name name;
  bool is_required = true;
  bool keyword_only = false;
};

/// True if a call has between `least` and `most` arguments, all of them positional; false: an error was reported. For functions whose parameters have no names.
[[nodiscard]] auto expect_arguments(Evaluator& evaluator, std::string_view callee, const Arguments& arguments, size_t least, size_t most) -> bool;

/// Matches the arguments of a call to a builtin with its parameters. An omitted argument is a default Argument (None,
/// unknown origin) with `given` false. False: a missing, unexpected, surplus or repeated argument was reported, or the
/// value of an argument is unknown (then `unknown` is that value).
struct BoundArguments {
  std::vector<Argument> values;
  std::vector<bool> given;
  Value unknown;
};
[[nodiscard]] auto bind_arguments(Evaluator& evaluator, std::string_view callee, const Arguments& arguments,
                                  const std::vector<Parameter>& parameters, BoundArguments& out) -> bool;

/// Finds a builtin: `len`, `range`, `sorted` ...
[[nodiscard]] auto builtin(Name name) -> const Value*;
void builtin_names(std::vector<Name>& out);

/// The known name that is closest to a misspelt one; empty: none of the names is close enough.
[[nodiscard]] auto closest_name(Name wanted, const std::vector<Name>& names) -> Name;

/// The remedy for a tuple of several values where a single value is expected; empty: the value is no such tuple.
[[nodiscard]] auto unpacking(const Value& value) -> std::string;

/// The kind of a value in words, for messages: "an int", "an expression of type int32".
[[nodiscard]] auto describe(const Value& value) -> std::string;

}  // namespace loopsmith::eval
