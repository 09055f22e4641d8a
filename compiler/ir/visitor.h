// Walking and rewriting TIR.
//
//  - `visit_children`, `post_order`: plain functions over references, for analyses.
//  - `Visitor`: a virtual method per kind of node; the default visits the children.
//  - `Mutator`: the same for rewriting; returns *the same node* when nothing changed below, so "did this
//    do anything?" is a pointer comparison. Keeps origins and ids.
//  - `substitute`: variables for expressions.
//
// Visits every expression of a statement, including those in buffer regions, iter var domains and annotations of
// loops; `visit_buffer` visits the shape of a buffer at its declaration.
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/ir.h"

namespace loopsmith {

/// Calls f with every direct child expression / statement.
void visit_children(const Expr& expr, const std::function<void(const Expr&)>& f);
void visit_children(const Stmt& stmt, const std::function<void(const Expr&)>& on_expr, const std::function<void(const Stmt&)>& on_stmt);

class Visitor {
 public:
  virtual ~Visitor() = default;
  void visit(const Expr& expr);
  void visit(const Stmt& stmt);
#define EXPR(Kind) virtual void on(const Kind& node);
#define STMT(Kind) virtual void on(const Kind& node);
#include "ir/nodes.def"

 protected:
  /// Called for a declaration of a buffer (alloc_buffers, match_buffers, DeclBuffer, BufferRealize). Default: visits its shape.
  virtual void visit_buffer(const Buffer& buffer);
  void visit(const Range& range);
  void visit(const BufferRegion& region);
  void visit(const IterVar& iter);
};

class Mutator {
 public:
  virtual ~Mutator() = default;
  [[nodiscard]] auto mutate(const Expr& expr) -> Expr;
  [[nodiscard]] auto mutate(const Stmt& stmt) -> Stmt;
#define EXPR(Kind) [[nodiscard]] virtual auto on(const Kind& node) -> Expr;
#define STMT(Kind) [[nodiscard]] virtual auto on(const Kind& node) -> Stmt;
#include "ir/nodes.def"

  [[nodiscard]] auto mutate(const Array<Expr>& exprs) -> Array<Expr>;
  [[nodiscard]] auto mutate(const Range& range) -> Range;
  [[nodiscard]] auto mutate(const Array<Range>& ranges) -> Array<Range>;
  [[nodiscard]] auto mutate(const BufferRegion& region) -> BufferRegion;
  [[nodiscard]] auto mutate(const Array<BufferRegion>& regions) -> Array<BufferRegion>;
  [[nodiscard]] auto mutate(const IterVar& iter) -> IterVar;

 protected:
  /// Called for a use of a buffer (load, store, region). Default: returns the same buffer.
  [[nodiscard]] virtual auto use(const Buffer& buffer) -> Buffer { return buffer; }
  /// Called for a declaration of a buffer. Default: `use`.
  [[nodiscard]] virtual auto declare(const Buffer& buffer) -> Buffer { return use(buffer); }
  /// Called for a declaration of a variable (loop, let, iter var, allocation). Default: returns the same variable.
  [[nodiscard]] virtual auto declare(const Var& var) -> Var { return var; }
  static auto self(const ExprNode& node) -> Expr { return Expr(Ref<ExprNode>(&node)); }
  static auto self(const StmtNode& node) -> Stmt { return Stmt(Ref<StmtNode>(&node)); }
};

/// Visits every node below and including the root, children first.
void post_order(const Expr& expr, const std::function<void(const Expr&)>& f);
void post_order(const Stmt& stmt, const std::function<void(const Stmt&)>& on_stmt, const std::function<void(const Expr&)>& on_expr);

using VarMap = std::unordered_map<const VarNode*, Expr>;
[[nodiscard]] auto substitute(const Expr& expr, const VarMap& map) -> Expr;
/// Does not rename bound variables: keys are nodes, so that capture cannot happen.
[[nodiscard]] auto substitute(const Stmt& stmt, const VarMap& map) -> Stmt;
[[nodiscard]] auto substitute(const Range& range, const VarMap& map) -> Range;
using BufferMap = std::unordered_map<const BufferNode*, Buffer>;
/// Replaces uses and declarations of buffers, and their data variables by those of the new buffers.
[[nodiscard]] auto substitute_buffers(const Stmt& stmt, const BufferMap& map) -> Stmt;

/// True when f holds for a variable of the tree.
[[nodiscard]] auto uses_var(const Expr& expr, const std::function<bool(const VarNode&)>& f) -> bool;
[[nodiscard]] auto uses_var(const Stmt& stmt, const std::function<bool(const VarNode&)>& f) -> bool;
/// True if the expression loads an element of a buffer.
[[nodiscard]] auto has_load(const Expr& expr) -> bool;

}  // namespace loopsmith
