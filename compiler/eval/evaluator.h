// The evaluator of the script language: expressions and statements over the syntax tree, hermetic (no files, no
// clock, no network, no randomness), bounded in steps and depth, in the spirit of Starlark.
//
// Functions run statement by statement. A Frame is a function call between two statements of its body: it can be
// copied (`snapshot`), which copies what the function can change, and resumed from any statement, with the same
// function or with an edited one whose first statements are the same. That is how a schedule is re-run from its
// first changed line.
//
// Names are looked up in the scopes of the functions around, then in an Environment, which a higher room
// implements (it evaluates declarations of a file on demand), then among the builtins.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "eval/value.h"
#include "support/cancel.h"
#include "syntax/ast.h"

namespace loopsmith::eval {

/// Holds the scopes alive that form cycles with the closures in them: they end with the heap at the latest. Must
/// outlive what was evaluated with it, or be shared with it.
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

/// Variables of one call, comprehension or block, in order of first assignment, and the scope around.
class Scope {
 public:
  mutable uint32_t refs = 0;
  Scope(Heap* heap, Ref<Scope> parent);
  ~Scope();
  Scope(const Scope&) = delete;
  auto operator=(const Scope&) -> Scope& = delete;

  [[nodiscard]] auto parent() const -> const Ref<Scope>& { return parent_; }
  /// In this scope only; null: not there.
  [[nodiscard]] auto find_here(Name name) const -> const Value*;
  /// Here or around.
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
  mutable std::unordered_map<Name, uint32_t> index_;   // of the slots, where they are many
};
using ScopeRef = Ref<Scope>;

/// What names mean outside of functions.
class Environment {
 public:
  virtual ~Environment() = default;
  /// None: not defined here.
  [[nodiscard]] virtual auto lookup(Evaluator& evaluator, Name name, Origin where) -> std::optional<Value> = 0;
  virtual void names(std::vector<Name>& out) const {}
  /// What a name of `from MODULE import NAME` means, and `import MODULE`; none: nobody knows the module.
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
  const ScopeRef captured;                // the scope around its definition; none at the top level
  const std::vector<Value> defaults;      // one per parameter; unused where it has none
  const std::shared_ptr<const void> keep_alive;  // owner of the tree
  Environment* const globals;
  [[nodiscard]] auto params() const -> const syntax::List<syntax::Param>& { return def ? def->params : lambda->params; }
  [[nodiscard]] auto name() const -> Name { return def ? def->name.name : Name("<lambda>"); }
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& evaluator, const Arguments& arguments) const -> std::optional<Value> override;
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  auto repr() const -> std::string override;
  auto clone(Cloner& cloner) const -> std::optional<Value> override;
};

/// How a statement or a body ended. Failed: a diagnostic was given. Unknown: what it does is not known (opaque).
enum class Flow : uint8_t { Next, Break, Continue, Return, Failed, Unknown };

/// A call between two statements of the function's body.
struct Frame {
  Ref<Function> function;
  ScopeRef scope;
  size_t next = 0;         // index of the statement to run next
  Flow flow = Flow::Next;  // Next: not ended
  Value result;            // after Return (or None at the end)

  /// Copies what running on could change; objects that do not change are shared.
  [[nodiscard]] auto snapshot() const -> Frame;
  [[nodiscard]] auto snapshot(Cloner& cloner) const -> Frame;
};

/// Watches the statements of one function's body (not those inside `for`, `if` and called functions).
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void before(Evaluator& evaluator, Frame& frame, size_t index, const syntax::Stmt& stmt) {}
  /// False: stop here (the frame can be resumed).
  virtual auto after(Evaluator& evaluator, Frame& frame, size_t index, const syntax::Stmt& stmt, Flow flow) -> bool { return true; }
};

struct Limits {
  uint64_t steps = 5'000'000;   // expressions and statements
  uint32_t depth = 300;         // of calls and nested expressions
  size_t list_items = 4'000'000;
  size_t text_bytes = 16 << 20;
};

class Evaluator {
 public:
  explicit Evaluator(std::shared_ptr<Heap> heap = std::make_shared<Heap>());

  Limits limits;
  CancelToken cancel;
  Environment* globals = nullptr;
  /// What `print` writes; none: dropped.
  std::function<void(std::string_view)> output;
  /// For builtins of higher rooms that build something while scripts run (a program being lowered, a schedule).
  /// They tell what it is by the tag, which is the address of a variable of theirs.
  void* host = nullptr;
  const void* host_tag = nullptr;
  /// Told of calls that are left out because the callee or an argument is not known; none: nobody. What it gives is what the call gives: a
  /// higher room knows what the library makes there.
  std::function<std::optional<Value>(const Value& callee, const syntax::CallExpr& written, const Arguments& arguments)> not_called;
  /// What the `with` statements around have: the innermost last.
  std::vector<Value> contexts;
  /// Owner of the tree being evaluated; functions made keep it.
  std::shared_ptr<const void> tree;
  Diagnostics diagnostics;
  /// Where something opaque was met first; unknown: nowhere.
  Origin opaque_at;

  /// Adds a diagnostic; gives Value::error() for `return evaluator.report(...)`.
  auto report(Diagnostic diagnostic) -> Value;
  auto opaque(Origin where) -> Value;
  /// A tuple of several values where one is wanted: whoever forgot to unpack it uses it again and again, so it is said once.
  /// True: it was said before.
  [[nodiscard]] auto is_known_tuple(const Value& v) -> bool;
  [[nodiscard]] auto heap() const -> const std::shared_ptr<Heap>& { return heap_; }
  [[nodiscard]] auto new_scope(ScopeRef parent) -> ScopeRef;
  [[nodiscard]] auto steps() const -> uint64_t { return steps_; }
  /// Counts steps that were taken before, with the same result; false: there are not so many left, nothing is counted.
  [[nodiscard]] auto spend(uint64_t steps) -> bool {
    if (stopped_ || steps_ + steps > limits.steps) { return false; }
    steps_ += steps;
    return true;
  }
  /// Calls of functions of the script that were begun.
  [[nodiscard]] auto calls() const -> uint64_t { return calls_; }
  /// Begins to count anew; what ran out of steps before does not stop what comes.
  void reset_steps() { steps_ = 0; stopped_ = false; }

  [[nodiscard]] auto eval(const syntax::Expr& expr, const ScopeRef& scope) -> Value;
  [[nodiscard]] auto eval_argument(const syntax::Expr& expr, const ScopeRef& scope) -> Argument {
    return {eval(expr, scope), expr.origin(), {}};
  }
  /// The indices between the brackets of a subscript (slices are SliceObjects, starred ones are spread); false: an
  /// error was reported or something is opaque (then `unknown` is that value).
  [[nodiscard]] auto eval_indices(const syntax::SubscriptExpr& expr, const ScopeRef& scope, std::vector<Argument>& out, Value& unknown) -> bool;
  [[nodiscard]] auto exec(const syntax::Stmt& stmt, const ScopeRef& scope, Value& result) -> Flow;
  [[nodiscard]] auto exec_block(const syntax::Block& block, const ScopeRef& scope, Value& result) -> Flow;
  /// Gives names to a value: a name, or tuples and lists of targets that it is unpacked into; items and attributes.
  [[nodiscard]] auto assign(const syntax::Expr& target, const Argument& value, const ScopeRef& scope) -> bool;

  [[nodiscard]] auto call(const Argument& callee, const Arguments& arguments) -> Value;
  [[nodiscard]] auto call(const Value& callee, std::vector<Value> positional, Origin where = {}) -> Value;
  [[nodiscard]] auto binary(syntax::BinaryOp op, const Argument& left, const Argument& right, Origin where) -> Value;
  [[nodiscard]] auto compare(syntax::CompareOp op, const Argument& left, const Argument& right, Origin where) -> Value;
  [[nodiscard]] auto unary(syntax::UnaryOp op, const Argument& operand, Origin where) -> Value;
  [[nodiscard]] auto attribute(const Argument& object, Name name, Origin where) -> Value;
  [[nodiscard]] auto iterate(const Argument& iterable) -> std::optional<std::vector<Value>>;
  /// None: reported, or opaque.
  [[nodiscard]] auto truth(const Argument& value) -> std::optional<bool>;
  [[nodiscard]] auto lookup(Name name, const ScopeRef& scope, Origin where) -> Value;
  /// The function of a `def` without its decorators.
  [[nodiscard]] auto make_function(const syntax::FunctionDef& def, const ScopeRef& scope) -> Value;

  /// Starts a call: parameters are bound, nothing has run. None: reported.
  [[nodiscard]] auto start(const Ref<Function>& function, const Arguments& arguments) -> std::optional<Frame>;
  /// The same with another scope around than that of its definition.
  [[nodiscard]] auto start(const Ref<Function>& function, const Arguments& arguments, const ScopeRef& around) -> std::optional<Frame>;
  /// Runs on from frame.next to the end of the body or until the observer stops. After an end, `frame.flow` says how.
  void run(Frame& frame, Observer* observer = nullptr);
  [[nodiscard]] auto call_function(const Ref<Function>& function, const Arguments& arguments, Observer* observer = nullptr) -> Value;
  /// Goes on at a statement with a frame (a snapshot taken before it), in `function`, which may be an edited version
  /// whose statements before that one are the same.
  void resume_from(size_t statement, Frame& frame, const Ref<Function>& function, Observer* observer = nullptr);

  /// Counts a step; false: too many, or cancelled, and reported.
  [[nodiscard]] auto step(Origin where) -> bool;
  struct DepthGuard {
    explicit DepthGuard(Evaluator& e) : evaluator(e) { ++evaluator.depth_; }
    ~DepthGuard() { --evaluator.depth_; }
    Evaluator& evaluator;
  };
  [[nodiscard]] auto too_deep(Origin where) -> bool;

 private:
  auto eval_call(const syntax::CallExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_binary(const syntax::BinaryExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_boolean(const syntax::BooleanExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_compare(const syntax::CompareExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_subscript(const syntax::SubscriptExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_comprehension(const syntax::ComprehensionExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_fstring(const syntax::FStringExpr& expr, const ScopeRef& scope) -> Value;
  auto eval_parts(const syntax::List<syntax::FStringPart>& parts, const ScopeRef& scope, Origin where, std::string& out) -> Value;
  auto eval_items(const syntax::List<syntax::ExprPtr>& exprs, const ScopeRef& scope, std::vector<Value>& out) -> Value;
  auto comprehend(const syntax::ComprehensionExpr& expr, size_t clause, const ScopeRef& scope, std::vector<Value>& list, const Dict* dict) -> Value;
  auto bind(const Function& function, const Arguments& arguments, const ScopeRef& scope) -> bool;
  auto exec_function_def(const syntax::FunctionDef& def, const ScopeRef& scope) -> Flow;
  auto exec_class_def(const syntax::ClassDef& def, const ScopeRef& scope) -> Flow;

  std::shared_ptr<Heap> heap_;
  std::vector<Value> known_tuples_;
  uint64_t steps_ = 0;
  uint64_t calls_ = 0;
  uint32_t depth_ = 0;
  bool stopped_ = false;  // out of steps or cancelled: said once
};

/// What a parameter of a builtin is: name, and whether it may be left out.
struct Parameter {
  Name name;
  bool is_required = true;
  bool keyword_only = false;
};

/// Sorts the arguments of a call to a builtin into its parameters, in order; those left out have a default Argument
/// (None, unknown origin) and `given` false. False: a missing, unknown, surplus or repeated argument was reported;
/// or one is unknown (then `unknown` is it).
struct BoundArguments {
  std::vector<Argument> values;
  std::vector<bool> given;
  Value unknown;
};
[[nodiscard]] auto bind_arguments(Evaluator& evaluator, std::string_view callee, const Arguments& arguments,
                                  const std::vector<Parameter>& parameters, BoundArguments& out) -> bool;

/// `len`, `range`, `sorted` ...
[[nodiscard]] auto builtin(Name name) -> const Value*;
void builtin_names(std::vector<Name>& out);

/// The nearest of some names, if it is near enough to be meant; empty: none is.
[[nodiscard]] auto closest_name(Name wanted, const std::vector<Name>& names) -> Name;

/// What to do about a tuple of several values where one is wanted; empty: it is none.
[[nodiscard]] auto unpacking(const Value& value) -> std::string;

/// "int", or "an expression of type int32": what a value is, for messages.
[[nodiscard]] auto describe(const Value& value) -> std::string;

}  // namespace loopsmith::eval
