// From a tree-sitter tree without errors to the syntax tree. Private to this room; build.cpp decides which text is parsed, with placeholders
// for lines that could not be parsed.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "syntax/ast.h"
#include "syntax/tree.h"

namespace loopsmith::syntax {

/// Maps positions in a text with parts cut out to positions in the whole text.
class Shifts {
 public:
  /// The text from `at` on is at `real` in the whole text.
  void add(uint32_t at, uint32_t real) { shifts_.push_back({at, real - at}); }
  auto operator()(uint32_t at) const -> uint32_t {
    if (shifts_.empty() || at < shifts_.front().at) { return at; }
    auto after = std::upper_bound(shifts_.begin(), shifts_.end(), at, [](uint32_t place, const Shift& shift) { return place < shift.at; });
    return at + std::prev(after)->delta;
  }

 private:
  struct Shift { uint32_t at, delta; };
  std::vector<Shift> shifts_;
};

class Builder {
 public:
  /// `source`: the text that was parsed. Its byte 0 is `shift` bytes into the declaration (may be negative), from which parts were cut out
  /// (`shifts`).
  Builder(Item& item, std::string_view source, int64_t shift, const Shifts& shifts)
      : item_(item), source_(source), shift_(shift), shifts_(shifts) {}
  ~Builder();
  Builder(const Builder&) = delete;
  auto operator=(const Builder&) -> Builder& = delete;

  /// A placeholder in the parsed text: for a broken line, a function of a class, or the parts of a program.
  struct Placeholder {
    uint32_t begin = 0;               // the position of its code in the parsed text
    const Item* member = nullptr;     // a class's function
    bool is_body = false;             // it stands for the statements of all parts of the item
    Span line;                        // otherwise it stands for a broken line
    List<ExprPtr> parts;
  };
  std::vector<Placeholder> placeholders;
  /// Decorators that could not be read, in order.
  std::vector<Span> broken_decorators;

  /// Keywords that the parser took for names, as positions in the parsed text. If there are any, the tree must not be used.
  std::vector<Span> misplaced_keywords;

  /// The statements of a module node.
  auto module(TSNode root) -> Block;
  /// The largest expressions without errors below a node that lie in `part` of the parsed text.
  auto salvage(TSNode root, Span part) -> List<ExprPtr>;

 private:
  struct Child {
    TSNode node;
    Cst symbol;
    TSFieldId field;
  };
  // The children of a node, on a stack that all nodes share.
  class Children {
   public:
    Children(Builder& builder, TSNode node);
    ~Children() { builder_.pool_.resize(first_); }
    Children(const Children&) = delete;
    auto operator=(const Children&) -> Children& = delete;
    [[nodiscard]] auto size() const -> size_t { return count_; }
    auto operator[](size_t i) const -> Child { return builder_.pool_[first_ + i]; }
    /// The first child in a field; a null node if the field is empty.
    [[nodiscard]] auto find(TSFieldId field) const -> TSNode;

   private:
    Builder& builder_;
    size_t first_;
    size_t count_;
  };
  struct Deeper {
    explicit Deeper(Builder& builder) : builder(builder) { ++builder.depth_; }
    ~Deeper() { --builder.depth_; }
    Builder& builder;
  };

  // The span in the parsed text, and the span in the whole text.
  [[nodiscard]] auto raw_span(TSNode node) const -> Span;
  [[nodiscard]] auto span(TSNode node) const -> Span;
  [[nodiscard]] auto text(TSNode node) const -> std::string_view;
  [[nodiscard]] auto name(TSNode node) -> Name;
  [[nodiscard]] auto identifier(TSNode node) -> Identifier { return {name(node), span(node)}; }
  template <class T>
  auto make(TSNode node) -> T*;
  template <class T>
  auto make(Span where) -> T*;
  template <class T>
  auto list(const std::vector<T>& elements) -> List<T>;
  void report(Diagnostic diagnostic);
  auto broken(TSNode node) -> ExprPtr;
  auto opaque(TSNode node, std::string_view what) -> ExprPtr;
  auto too_deep(TSNode node) -> bool;
  [[nodiscard]] auto origin_of(Span where) const -> Origin { return {item_.decl, where.begin, where.end, 0}; }

  auto expr(TSNode node) -> ExprPtr;
  auto expr_inner(TSNode node, Cst symbol) -> ExprPtr;
  auto chain(TSNode node) -> ExprPtr;
  auto link(TSNode node, Cst symbol, ExprPtr left) -> ExprPtr;
  auto exprs(const Children& children) -> List<ExprPtr>;
  auto boolean(TSNode node) -> ExprPtr;
  auto comparison(TSNode node) -> ExprPtr;
  auto operand(TSNode node) -> ExprPtr;
  auto string(TSNode node, Cst symbol) -> ExprPtr;
  void string_parts(TSNode string_node, std::vector<FStringPart>& parts, std::string& pending, bool& has_fields);
  auto interpolation(TSNode node) -> FStringPart;
  [[nodiscard]] auto debug_end(uint32_t end) const -> uint32_t;
  auto comprehension(TSNode node, ComprehensionKind which) -> ExprPtr;
  void arguments(TSNode node, List<ExprPtr>& args, List<Keyword>& keywords);
  auto params(TSNode node) -> List<Param>;
  auto type_params(const Children& children) -> List<Param>;
  auto integer(TSNode node) -> ExprPtr;
  auto target(ExprPtr expr) -> ExprPtr;

  auto block(TSNode node) -> Block;
  auto suite_field(const Children& children, TSFieldId field) -> Block;
  void statement(TSNode node, std::vector<StmtPtr>& out);
  [[nodiscard]] auto end_of_parts() const -> uint32_t;
  auto statement_inner(TSNode node, Cst symbol) -> StmtPtr;
  auto assignment(TSNode node) -> StmtPtr;
  auto augmented(TSNode node) -> StmtPtr;
  /// The error that an assignment is the value of another one that cannot be chained: `a += b = c`.
  auto second_assignment(TSNode node) -> Diagnostic;
  auto if_statement(TSNode node) -> StmtPtr;
  auto with_statement(TSNode node, const Children& children) -> StmtPtr;
  /// The block of `else`; empty if the statement has none.
  auto else_clause(const Children& children) -> Block;
  auto definition(TSNode node, TSNode whole, std::vector<ExprPtr> decorators) -> StmtPtr;
  auto decorated(TSNode node, const Children& children) -> StmtPtr;
  auto import_from(TSNode node, const Children& children) -> StmtPtr;
  auto imports(const Children& children) -> List<ImportName>;
  auto path(TSNode node) -> List<Identifier>;
  auto opaque_statement(TSNode node, std::string_view what) -> StmtPtr;
  void captures(TSNode pattern, std::vector<Identifier>& binds);
  auto header(TSNode node) -> Span;
  auto placeholder_at(uint32_t begin) -> const Placeholder*;

  Item& item_;
  std::string_view source_;
  int64_t shift_;
  const Shifts& shifts_;
  uint32_t depth_ = 0;
  uint32_t broken_count_ = 0;
  std::vector<Child> pool_;
  TSTreeCursor cursor_{};
  bool has_cursor_ = false;
};

/// Ends a compound statement with its last statement: comments below it are not a part of it.
void end_with(Stmt& statement, Span header, std::initializer_list<const Block*> blocks);

template <class T>
auto Builder::make(Span where) -> T* {
  T* node = item_.arena.make<T>();
  node->kind = T::kKind;
  node->decl = item_.decl;
  node->span = where;
  return node;
}

template <class T>
auto Builder::make(TSNode node) -> T* {
  return make<T>(span(node));
}

template <class T>
auto Builder::list(const std::vector<T>& elements) -> List<T> {
  if (elements.empty()) { return {}; }
  static_assert(std::is_trivially_copyable_v<T>);
  auto* data = static_cast<T*>(item_.arena.allocate(sizeof(T) * elements.size()));
  std::uninitialized_copy(elements.begin(), elements.end(), data);
  return {data, static_cast<uint32_t>(elements.size())};
}

}  // namespace loopsmith::syntax
