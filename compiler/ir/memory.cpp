// Counts the memory of nodes: see memory.h.
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

// The memory of an array apart from its items: its length, its reference count, and the C library's header.
constexpr size_t array_head = 16;

template <class T>
auto array_bytes(const Array<T>& array, std::unordered_set<const void*>& counted) -> size_t {
  return !array.empty() && counted.insert(array.begin()).second ? array_head + array.size() * sizeof(T) : 0;
}

auto buffer_bytes(const Buffer& buffer, std::unordered_set<const void*>& counted) -> size_t {
  if (!buffer || !counted.insert(buffer.get()).second) { return 0; }
  return sizeof(BufferNode) + array_bytes(buffer->shape, counted) + array_bytes(buffer->strides, counted);
}

auto regions_bytes(const Array<BufferRegion>& regions, std::unordered_set<const void*>& counted) -> size_t {
  size_t bytes = array_bytes(regions, counted);
  for (const BufferRegion& region : regions) { bytes += array_bytes(region.region, counted); }
  return bytes;
}

// The lists in those kinds of node that have some; their items are visited elsewhere.
auto lists_of(const Stmt& stmt, std::unordered_set<const void*>& counted) -> size_t {
  if (const auto* seq = stmt.as<SeqStmt>()) { return sequence_bytes(seq->seq, counted); }
  if (const auto* store = stmt.as<BufferStore>()) { return array_bytes(store->indices, counted) + buffer_bytes(store->buffer, counted); }
  if (const auto* realize = stmt.as<BlockRealize>()) { return array_bytes(realize->iter_values, counted); }
  const auto* block = stmt.as<Block>();
  if (block == nullptr) { return 0; }
  size_t bytes = array_bytes(block->iter_vars, counted) + regions_bytes(block->reads, counted) + regions_bytes(block->writes, counted) + sequence_bytes(block->alloc_buffers, counted) +
                 array_bytes(block->match_buffers, counted);
  for (const Buffer& buffer : block->alloc_buffers) { bytes += buffer_bytes(buffer, counted); }
  return bytes;
}

auto lists_of(const Expr& expr, std::unordered_set<const void*>& counted) -> size_t {
  if (const auto* load = expr.as<BufferLoad>()) { return array_bytes(load->indices, counted) + buffer_bytes(load->buffer, counted); }
  if (const auto* call = expr.as<Call>()) { return array_bytes(call->args, counted); }
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
    bytes += sizeof(PrimFuncNode) + array_bytes(function->params, counted) + array_bytes(function->buffer_map, counted);
    for (const auto& [param, buffer] : function->buffer_map) { bytes += buffer_bytes(buffer, counted); }
    add_stmt(function->body);
  }
  while (!stmts.empty() || !exprs.empty()) {
    if (!stmts.empty()) {
      Stmt stmt = std::move(stmts.back());
      stmts.pop_back();
      bytes += size_of(stmt->kind) + lists_of(stmt, counted);
      visit_children(stmt, add_expr, add_stmt);
      continue;
    }
    Expr expr = std::move(exprs.back());
    exprs.pop_back();
    bytes += size_of(expr->kind) + lists_of(expr, counted);
    visit_children(expr, add_expr);
  }
  return bytes;
}

}  // namespace loopsmith
