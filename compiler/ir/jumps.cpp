// Jumps that leave a statement: see jumps.h.
#include "ir/jumps.h"

#include <functional>

#include "ir/visitor.h"

namespace loopsmith {
namespace {

// `in_loop`: a loop inside the searched statement is around, so `break` and `continue` belong to that loop.
void search(const Stmt& stmt, bool in_loop, bool enters_loops, Jumps& out) {
  switch (stmt.kind()) {
    case NodeKind::Break:
      if (!in_loop && !out.breaks) { out.breaks = stmt.get(); }
      return;
    case NodeKind::Continue:
      if (!in_loop && !out.continues) { out.continues = stmt.get(); }
      return;
    case NodeKind::Evaluate:
      if (!out.returns && is_return(stmt)) { out.returns = stmt.get(); }
      return;
    case NodeKind::BufferStore: return;
    // Schedules ask for every loop around a block, so the usual statements are walked without a look at their expressions.
    case NodeKind::SeqStmt:
      for (const Stmt& s : stmt.as<SeqStmt>()->seq) { search(s, in_loop, enters_loops, out); }
      return;
    case NodeKind::For:
      if (enters_loops) { search(stmt.as<For>()->body, true, enters_loops, out); }
      return;
    case NodeKind::While:
      if (enters_loops) { search(stmt.as<While>()->body, true, enters_loops, out); }
      return;
    default: break;
  }
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& s) { search(s, in_loop, enters_loops, out); });
}

}  // namespace

auto is_return(const Stmt& stmt) -> bool {
  static const Name ret("ret");
  const auto* evaluate = stmt.as<Evaluate>();
  const auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
  return call && call->op == ret;
}

auto jump_word(const StmtNode& jump) -> std::string_view {
  return jump.kind == NodeKind::Break ? "break" : jump.kind == NodeKind::Continue ? "continue" : "return";
}

auto unordered_jumps(const Stmt& stmt) -> std::vector<UnorderedJump> {
  std::vector<UnorderedJump> out;
  std::function<void(const Stmt&)> look = [&](const Stmt& s) {
    if (const auto* loop = s.as<For>(); loop && loop->for_kind != ForKind::Serial && loop->for_kind != ForKind::Unrolled) {
      Jumps jumps = jumps_out_of(loop->body);
      const StmtNode* jump = jumps.breaks ? jumps.breaks : jumps.returns;
      if (!jump && loop->for_kind == ForKind::Vectorized) { jump = jumps.continues; }
      if (jump) { out.push_back({loop, jump}); }
    }
    visit_children(s, [](const Expr&) {}, look);
  };
  look(stmt);
  return out;
}

auto jumps_out_of(const Stmt& stmt) -> Jumps {
  Jumps out;
  search(stmt, false, true, out);
  return out;
}

auto loop_jumps_out_of(const Stmt& stmt) -> Jumps {
  Jumps out;
  search(stmt, false, false, out);
  out.returns = nullptr;
  return out;
}

}  // namespace loopsmith
