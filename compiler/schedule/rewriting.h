// Helpers that primitives use to build new trees.
#pragma once

#include <functional>
#include <vector>

#include "arith/iter_map.h"
#include "ir/ir.h"
#include "ir/visitor.h"
#include "schedule/primitive.h"

namespace loopsmith::schedule {

/// The statement with the iter values of its blocks in their simplest affine form, under loops with the given
/// domains. `fold_unit_loops`: replaces the variable of a loop of one iteration by its start. `dialect`: of the module; dialects with `T.sblock` simplify
/// products of sizes further.
[[nodiscard]] auto simplify_bindings(const Stmt& stmt, Domains outer, bool fold_unit_loops, Dialect dialect) -> Stmt;

/// The statement with a condition added to each of its outermost blocks.
[[nodiscard]] auto add_predicate(const Stmt& stmt, const Expr& condition) -> Stmt;

/// The loop with some parts replaced; keeps its id.
struct ForParts { std::optional<Stmt> body; std::optional<ForKind> kind; std::optional<std::optional<IterVar>> thread; };
[[nodiscard]] auto with_parts(const For& loop, ForParts parts, Origin origin) -> Ref<For>;

/// The domains of all loops around a loop or block within its scope.
[[nodiscard]] auto domains_around(const FuncState& func, const Place& place) -> Domains;

/// Replaces each loop, block and store for which `f` returns another statement.
[[nodiscard]] auto replace_stmt(const Stmt& root, const std::function<Stmt(const Stmt&)>& f) -> Stmt;

/// The statements that may use a buffer, in the block that allocates it (for a parameter: in the root block): the loops and blocks right below
/// that mention its memory; or the block as a whole, if other parts of the block may mention it.
[[nodiscard]] auto statements_with(const FuncState& func, const Place& site, const Buffer& buffer) -> std::vector<Stmt>;
/// The block with another buffer in place of one that it allocates (or of a parameter), and with those statements changed by `change`. If
/// `change` gets the whole block, it must replace the allocation as well.
[[nodiscard]] auto with_buffer_changed(const FuncState& func, const Place& site, const Buffer& from, const Buffer& to, const std::function<Stmt(const Stmt&)>& change) -> Rewrite;

/// The loop has no annotation and no thread binding, so primitives can reshape it.
[[nodiscard]] auto require_plain_loop(const Context& cx, const LoopArg& loop) -> Status;
[[nodiscard]] auto require_starts_at_zero(const Context& cx, const LoopArg& loop) -> Status;

/// "the loop `i` is here"
[[nodiscard]] auto note_loop(Diagnostic diagnostic, const Place& loop) -> Diagnostic;
[[nodiscard]] auto note_block(Diagnostic diagnostic, const Place& block) -> Diagnostic;

/// The change that removes a block from its scope, with the loops that contain nothing else; an error if the scope would become empty.
[[nodiscard]] auto plan_removal(const Context& cx, const FuncState& func, const Place& block) -> Result<Rewrite::Change>;

/// True if indices can be inverted exactly; false if an index is a multiple of an iterator.
[[nodiscard]] auto is_invertible(const std::vector<arith::IterSum>& map) -> bool;

/// Adds all buffers that a block and the blocks in it declare to access or allocate.
void add_signature_buffers(const Block& block, std::vector<Buffer>& out);

/// Wraps loops around a body: the last domain is the innermost loop.
[[nodiscard]] auto wrap_loops(Stmt body, const Domains& domains, Origin origin) -> Stmt;

}  // namespace loopsmith::schedule
