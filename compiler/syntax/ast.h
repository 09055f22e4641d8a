// The syntax tree of TIRScript: the part of Python in which programs, schedules and scripts are written. Other valid
// Python becomes an `Opaque` node, which is never an error and whose value is unknown, as are all values that depend on
// it. Invalid text becomes a `Broken` node. This file has no types, no resolved names and no tree-sitter.
//
// Nodes are plain structs in an arena owned by an Item, immutable once made, shared between versions of a document.
// A node's position is relative to the first byte of the *declaration* that contains it: a top-level statement, or a
// function directly inside a top-level class, which is a separate declaration. So text inserted above a function
// leaves its tree unchanged. `node.origin()` is that position in the form the IR and diagnostics use; never pair a
// node's span with another declaration's id.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "support/diagnostic.h"
#include "support/name.h"
#include "support/origin.h"

namespace loopsmith::syntax {

/// The deepest nesting of statements and expressions in a tree; deeper ones are a diagnostic and a Broken node.
/// Chains (`a + b + c`, `x.y.z[0](1)`, `if/elif`) count as one level, up to kMaxChain links.
inline constexpr uint32_t kMaxDepth = 200;
/// The longest left-nested chain that is built as nested nodes.
inline constexpr uint32_t kMaxChain = 3000;

/// Bump storage for nodes and their lists. Runs no destructors: only trivially destructible objects are allowed.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  auto operator=(const Arena&) -> Arena& = delete;
  [[nodiscard]] auto allocate(size_t size) -> void*;
  template <class T>
  auto make() -> T* {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T))) T();
  }
  auto copy(std::string_view text) -> std::string_view;
  [[nodiscard]] auto bytes() const -> size_t { return total_; }

 private:
  std::vector<std::unique_ptr<char[]>> slabs_;
  char* next_ = nullptr;
  size_t left_ = 0;
  size_t total_ = 0;
};

/// A fixed list in an arena.
template <class T>
class List {
 public:
  List() = default;
  List(const T* data, uint32_t size) : data_(data), size_(size) {}
  [[nodiscard]] auto begin() const -> const T* { return data_; }
  [[nodiscard]] auto end() const -> const T* { return data_ + size_; }
  [[nodiscard]] auto size() const -> uint32_t { return size_; }
  [[nodiscard]] auto empty() const -> bool { return size_ == 0; }
  auto operator[](size_t i) const -> const T& { return data_[i]; }
  [[nodiscard]] auto front() const -> const T& { return data_[0]; }
  [[nodiscard]] auto back() const -> const T& { return data_[size_ - 1]; }

 private:
  const T* data_ = nullptr;
  uint32_t size_ = 0;
};

enum class Kind : uint8_t {
  // Expressions.
  Name, Int, Float, String, FString, Constant, Tuple, ListExpr, Dict, Set, Unary, Binary, Boolean, Compare,
  Conditional, Lambda, Call, Attribute, Subscript, Slice, Comprehension, Starred, NamedExpr, OpaqueExpr, BrokenExpr,
  // Statements.
  FunctionDef, ClassDef, Assign, AnnAssign, AugAssign, ExprStmt, Return, If, For, While, With, Assert, Pass, Break,
  Continue, Import, ImportFrom, Del, Scope, OpaqueStmt, BrokenStmt,
};
[[nodiscard]] auto kind_name(Kind kind) -> std::string_view;

struct Node {
  Kind kind{};
  /// This node or one below is broken: errors that follow from it are not reported.
  bool has_error = false;
  DeclId decl = 0;
  /// Bytes from the first byte of `decl`.
  Span span;

  [[nodiscard]] auto origin() const -> Origin { return {decl, span.begin, span.end, 0}; }
  [[nodiscard]] auto is_expr() const -> bool { return kind <= Kind::BrokenExpr; }
  /// The node as a T; null if it is of another kind.
  template <class T>
  [[nodiscard]] auto as() const -> const T* { return kind == T::kKind ? static_cast<const T*>(this) : nullptr; }
};
struct Expr : Node {};
struct Stmt : Node {};
using ExprPtr = const Expr*;  // never null unless the member's comment allows it
using StmtPtr = const Stmt*;
using Block = List<StmtPtr>;

/// A name with its position, in places where it is not an expression.
struct Identifier {
  Name name;
  Span span;
};

// ---- expressions -------------------------------------------------------------------------------------------------
// Parentheses make no node, and the `span` of the expression inside excludes them, except for tuples.

struct NameExpr : Expr {
  static constexpr Kind kKind = Kind::Name;
  Name name;
};

/// An integer of any size; `value` is set if it fits 64 bits signed. `text` has underscores and base prefixes as written.
struct IntExpr : Expr {
  static constexpr Kind kKind = Kind::Int;
  int64_t value = 0;
  bool fits = false;
  std::string_view text;
};

struct FloatExpr : Expr {
  static constexpr Kind kKind = Kind::Float;
  double value = 0;
  std::string_view text;
};

/// One literal or several adjacent literals, decoded and joined. `prefix`: that of the first, in lower case ("", "r", "b", "rb", "u").
struct StringExpr : Expr {
  static constexpr Kind kKind = Kind::String;
  std::string_view value;
  std::string_view prefix;
  bool is_bytes = false;
};

/// `f"..."`: text and replacement fields in order. Adjacent literals are joined.
struct FStringPart {
  std::string_view text;        // literal text, decoded; used where `value` is null
  ExprPtr value = nullptr;      // null for literal text
  char conversion = 0;          // 'r', 's', 'a', or 0
  bool is_debug = false;        // `{x=}`: `text` is printed before the value
  List<FStringPart> format;     // after ":"; may be nested
  Span span;
};
struct FStringExpr : Expr {
  static constexpr Kind kKind = Kind::FString;
  List<FStringPart> parts;
};

enum class ConstantValue : uint8_t { None, True, False, Ellipsis };
struct ConstantExpr : Expr {
  static constexpr Kind kKind = Kind::Constant;
  ConstantValue value{};
};

struct TupleExpr : Expr {
  static constexpr Kind kKind = Kind::Tuple;
  List<ExprPtr> elements;  // may contain Starred
};
struct ListExpr : Expr {
  static constexpr Kind kKind = Kind::ListExpr;
  List<ExprPtr> elements;
};
struct SetExpr : Expr {
  static constexpr Kind kKind = Kind::Set;
  List<ExprPtr> elements;
};
struct DictEntry {
  ExprPtr key = nullptr;  // null: `**value`
  ExprPtr value = nullptr;
};
struct DictExpr : Expr {
  static constexpr Kind kKind = Kind::Dict;
  List<DictEntry> entries;
};

enum class UnaryOp : uint8_t { Negate, Plus, Invert, Not };
struct UnaryExpr : Expr {
  static constexpr Kind kKind = Kind::Unary;
  UnaryOp op{};
  Span op_span;
  ExprPtr operand = nullptr;
};

enum class BinaryOp : uint8_t { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, MatMul, ShiftLeft, ShiftRight, BitAnd, BitOr, BitXor };
struct BinaryExpr : Expr {
  static constexpr Kind kKind = Kind::Binary;
  BinaryOp op{};
  Span op_span;
  ExprPtr left = nullptr;
  ExprPtr right = nullptr;
};

/// `a and b and c` is one node with three values; so is `or`.
struct BooleanExpr : Expr {
  static constexpr Kind kKind = Kind::Boolean;
  bool is_and = false;
  List<ExprPtr> values;
};

enum class CompareOp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, In, NotIn, Is, IsNot };
/// `a < b <= c`: operands a, b, c and two ops.
struct CompareExpr : Expr {
  static constexpr Kind kKind = Kind::Compare;
  List<ExprPtr> operands;
  List<CompareOp> ops;
  List<Span> op_spans;
};

/// `then if condition else otherwise`.
struct ConditionalExpr : Expr {
  static constexpr Kind kKind = Kind::Conditional;
  ExprPtr condition = nullptr;
  ExprPtr then = nullptr;
  ExprPtr otherwise = nullptr;
};

enum class ParamKind : uint8_t { Plain, Star, DoubleStar, StarOnly, SlashOnly };
/// StarOnly is the bare `*`, SlashOnly the bare `/`: both without a name.
struct Param {
  ParamKind kind{};
  Identifier name;
  ExprPtr annotation = nullptr;  // null: none
  ExprPtr default_value = nullptr;
  Span span;
};

struct LambdaExpr : Expr {
  static constexpr Kind kKind = Kind::Lambda;
  List<Param> params;
  ExprPtr body = nullptr;
};

/// Arguments in order. Starred positional arguments are Starred expressions.
struct Keyword {
  Identifier name;  // empty name: `**value`
  ExprPtr value = nullptr;
  Span span;
};
struct CallExpr : Expr {
  static constexpr Kind kKind = Kind::Call;
  ExprPtr callee = nullptr;
  List<ExprPtr> args;
  List<Keyword> keywords;
  Span args_span;  // the parentheses and everything between them
};

struct AttributeExpr : Expr {
  static constexpr Kind kKind = Kind::Attribute;
  ExprPtr object = nullptr;
  Identifier attr;
};

/// `object[indices]`: `A[i]` has one index, `A[i, j]` two (`is_tuple`, as for `A[i,]`), `A[()]` none and is_tuple.
struct SubscriptExpr : Expr {
  static constexpr Kind kKind = Kind::Subscript;
  ExprPtr object = nullptr;
  List<ExprPtr> indices;  // may contain Slice, Starred
  bool is_tuple = false;
  Span brackets_span;
};

/// Only inside a Subscript.
struct SliceExpr : Expr {
  static constexpr Kind kKind = Kind::Slice;
  ExprPtr lower = nullptr;  // each may be null
  ExprPtr upper = nullptr;
  ExprPtr step = nullptr;
};

enum class ComprehensionKind : uint8_t { List, Dict, Set, Generator };
struct ComprehensionFor {
  ExprPtr target = nullptr;
  ExprPtr iterable = nullptr;
  List<ExprPtr> conditions;
};
struct ComprehensionExpr : Expr {
  static constexpr Kind kKind = Kind::Comprehension;
  ComprehensionKind which{};
  ExprPtr key = nullptr;      // Dict only
  ExprPtr element = nullptr;  // a Dict's value
  List<ComprehensionFor> clauses;
};

struct StarredExpr : Expr {
  static constexpr Kind kKind = Kind::Starred;
  ExprPtr value = nullptr;
};

/// `(name := value)`.
struct NamedExpr : Expr {
  static constexpr Kind kKind = Kind::NamedExpr;
  Identifier name;
  ExprPtr value = nullptr;
};

/// Valid Python that TIRScript does not have. `what`: the name of the construct ("await", "yield").
struct OpaqueExpr : Expr {
  static constexpr Kind kKind = Kind::OpaqueExpr;
  std::string_view what;
};

/// Not valid Python; a diagnostic of the item gives the reason. `parts`: the valid expressions in the text.
struct BrokenExpr : Expr {
  static constexpr Kind kKind = Kind::BrokenExpr;
  List<ExprPtr> parts;
};

// ---- statements --------------------------------------------------------------------------------------------------

struct FunctionDef : Stmt {
  static constexpr Kind kKind = Kind::FunctionDef;
  List<ExprPtr> decorators;
  Identifier name;
  List<Param> type_params;    // `def f[n: T.int32, *Ts]`: the annotation is behind the colon
  List<Param> params;
  ExprPtr returns = nullptr;  // null: none
  Block body;
  Span header_span;           // from `def` to the colon
  Span params_span;           // the parentheses and everything between them
  /// Hash of the whole text of the function, decorators included.
  uint64_t text_hash = 0;
};

struct ClassDef : Stmt {
  static constexpr Kind kKind = Kind::ClassDef;
  List<ExprPtr> decorators;
  Identifier name;
  List<ExprPtr> bases;
  List<Keyword> keywords;
  /// Functions in a class at the top level are separate declarations: their `decl` differs. So does the `decl` of statements
  /// of a long program (FunctionDef::body).
  Block body;
  Span header_span;
};

/// `a = b = value`: targets a and b. A target is a Name, Attribute, Subscript, Tuple, ListExpr or Starred.
struct AssignStmt : Stmt {
  static constexpr Kind kKind = Kind::Assign;
  List<ExprPtr> targets;
  ExprPtr value = nullptr;
};
struct AnnAssignStmt : Stmt {
  static constexpr Kind kKind = Kind::AnnAssign;
  ExprPtr target = nullptr;
  ExprPtr annotation = nullptr;
  ExprPtr value = nullptr;  // null: none
};
struct AugAssignStmt : Stmt {
  static constexpr Kind kKind = Kind::AugAssign;
  ExprPtr target = nullptr;
  BinaryOp op{};
  Span op_span;
  ExprPtr value = nullptr;
};
struct ExprStmt : Stmt {
  static constexpr Kind kKind = Kind::ExprStmt;
  ExprPtr value = nullptr;
};
struct ReturnStmt : Stmt {
  static constexpr Kind kKind = Kind::Return;
  ExprPtr value = nullptr;  // null: none
};
/// `elif` is an If that is the only statement of `otherwise` (with `is_elif`).
struct IfStmt : Stmt {
  static constexpr Kind kKind = Kind::If;
  bool is_elif = false;
  ExprPtr condition = nullptr;
  Block then;
  Block otherwise;
  Span header_span;
};
struct ForStmt : Stmt {
  static constexpr Kind kKind = Kind::For;
  ExprPtr target = nullptr;
  ExprPtr iterable = nullptr;
  Block body;
  Block otherwise;
  Span header_span;
};
struct WhileStmt : Stmt {
  static constexpr Kind kKind = Kind::While;
  ExprPtr condition = nullptr;
  Block body;
  Block otherwise;
  Span header_span;
};
struct WithItem {
  ExprPtr context = nullptr;
  ExprPtr target = nullptr;  // after `as`; null: none
};
struct WithStmt : Stmt {
  static constexpr Kind kKind = Kind::With;
  List<WithItem> items;
  Block body;
  Span header_span;
};
struct AssertStmt : Stmt {
  static constexpr Kind kKind = Kind::Assert;
  ExprPtr condition = nullptr;
  ExprPtr message = nullptr;  // null: none
};
struct PassStmt : Stmt { static constexpr Kind kKind = Kind::Pass; };
struct BreakStmt : Stmt { static constexpr Kind kKind = Kind::Break; };
struct ContinueStmt : Stmt { static constexpr Kind kKind = Kind::Continue; };

/// `a.b as c`: path a.b, alias c (empty: none).
struct ImportName {
  List<Identifier> path;
  Identifier alias;
  Span span;
};
struct ImportStmt : Stmt {
  static constexpr Kind kKind = Kind::Import;
  List<ImportName> names;
};
struct ImportFromStmt : Stmt {
  static constexpr Kind kKind = Kind::ImportFrom;
  uint32_t level = 0;  // leading dots
  List<Identifier> module;
  List<ImportName> names;
  bool is_star = false;
};
struct DelStmt : Stmt {
  static constexpr Kind kKind = Kind::Del;
  List<ExprPtr> targets;
};
/// `global a, b` or `nonlocal a, b`.
struct ScopeStmt : Stmt {
  static constexpr Kind kKind = Kind::Scope;
  bool is_global = false;
  List<Identifier> names;
};
/// Valid Python that TIRScript does not have: `what` is "try", "raise", "match", "async", "type", "yield" ...
/// `binds`: the names to which the statement may assign.
struct OpaqueStmt : Stmt {
  static constexpr Kind kKind = Kind::OpaqueStmt;
  std::string_view what;
  List<Identifier> binds;
};
/// A line that is not valid Python, and the block below it, if it is the head of one. `parts` are the expressions
/// that could be read in the line; the names in them count as bound to an unknown value.
struct BrokenStmt : Stmt {
  static constexpr Kind kKind = Kind::BrokenStmt;
  List<ExprPtr> parts;
  Block body;
};

// ---- items -------------------------------------------------------------------------------------------------------

/// "# text", from the "#" to the end of the line. `own_line`: there is no code before it on its line.
struct Comment {
  Span span;
  std::string_view text;
  bool own_line = false;
};

/// Comments: a run of comments outside declarations. Broken: text that could not be parsed. Part: statements of a
/// long program.
enum class ItemKind : uint8_t { Function, Class, Assign, Import, Expr, Compound, Comments, Opaque, Broken, Part };

/// A declaration: one top-level statement (or several: joined by ";", or a schedule's), a function of a top-level class, or
/// some statements of a long program's body. Made once for a text, never changed, shared between all versions of a
/// document that contain the same text. A program in parts keeps its `decl` from version to version as long as its
/// head is the same, since the item's own positions lie in the head alone.
struct Item : std::enable_shared_from_this<Item> {
  DeclId decl = 0;
  ItemKind kind{};
  /// The name of the function or class, or of the single variable that an assignment sets; else empty.
  Name name;
  std::string text;
  uint64_t hash = 0;  // of `text`
  Block statements;   // usually one; none for Comments
  std::vector<Comment> comments;
  Diagnostics diagnostics;  // without those of members
  bool has_error = false;   // in this item or in a member
  /// The functions of a class, or the parts of a long program, in order, with their positions in this item.
  struct Member {
    uint32_t offset = 0;
    std::shared_ptr<const Item> item;
  };
  std::vector<Member> members;
  /// For a program in parts: the bytes before its body; else 0.
  uint32_t head = 0;
  uint32_t indent = 0;      // the column of its first byte
  Arena arena;
};
using ItemPtr = std::shared_ptr<const Item>;
/// The positions, within the item, where the item and the declarations in it begin.
[[nodiscard]] auto offsets_in(const Item& item) -> std::unordered_map<DeclId, uint32_t>;

// ---- walking and printing ----------------------------------------------------------------------------------------

/// The direct children of a node, expressions and statements, in the order of the text.
[[nodiscard]] auto children(const Node& node) -> std::vector<const Node*>;

/// Visits a node and all nodes below it, parents first. `f(const Node&) -> bool`: false skips the nodes below.
template <class F>
void walk(const Node& root, F&& f) {
  std::vector<const Node*> stack{&root};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!f(*node)) { continue; }
    std::vector<const Node*> below = children(*node);
    stack.insert(stack.end(), below.rbegin(), below.rend());
  }
}

/// The tree as an s-expression on one line; with positions if `with_spans`. For tests and debuggers.
[[nodiscard]] auto to_sexpr(const Node& node, bool with_spans = false) -> std::string;
[[nodiscard]] auto to_sexpr(const Item& item, bool with_spans = false) -> std::string;

[[nodiscard]] auto symbol(UnaryOp op) -> std::string_view;
[[nodiscard]] auto symbol(BinaryOp op) -> std::string_view;
[[nodiscard]] auto symbol(CompareOp op) -> std::string_view;

}  // namespace loopsmith::syntax
