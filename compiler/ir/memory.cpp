// Counting nodes: see memory.h.
#include "ir/memory.h"

#include <vector>

#include "ir/visitor.h"

namespace loopsmith {
namespace {

auto size_of(NodeKind kind) -> size_t {
  switch (kind) {
#define EXPR(Kind) case NodeKind::Kind: return sizeof(Kind);
#define STMT(Kind) case NodeKind::Kind: return sizeof(Kind);
#include "ir/nodes.def"
  }
  return 0;
}

}  // namespace

auto count_nodes(const IRModule& module, std::unordered_set<const void*>& counted) -> size_t {
  if (!module) { return 0; }
  size_t bytes = 0;
  std::vector<Stmt> stmts;
  std::vector<Expr> exprs;
  auto add_expr = [&](const Expr& expr) { if (expr && counted.insert(expr.get()).second) { exprs.push_back(expr); } };
  auto add_stmt = [&](const Stmt& stmt) { if (stmt && counted.insert(stmt.get()).second) { stmts.push_back(stmt); } };
  for (const auto& [name, function] : module->functions) {
    if (!counted.insert(function.get()).second) { continue; }
    bytes += sizeof(PrimFuncNode);
    add_stmt(function->body);
  }
  while (!stmts.empty() || !exprs.empty()) {
    if (!stmts.empty()) {
      Stmt stmt = std::move(stmts.back());
      stmts.pop_back();
      bytes += size_of(stmt->kind);
      visit_children(stmt, add_expr, add_stmt);
      continue;
    }
    Expr expr = std::move(exprs.back());
    exprs.pop_back();
    bytes += size_of(expr->kind);
    visit_children(expr, add_expr);
  }
  return bytes;
}

}  // namespace loopsmith
