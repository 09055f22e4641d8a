// The facts of a loop, a block or a buffer of a program, in words: for hovers of programs and of schedules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/carried.h"
#include "cost/loop_facts.h"
#include "ir/ir.h"
#include "lsp/features/hover.h"

namespace loopsmith::lsp {

/// "serial", "bound to `threadIdx.x`".
[[nodiscard]] auto kind_text(const For& loop) -> std::string;
/// A number with its digits in groups, or an expression in backticks.
[[nodiscard]] auto extent_text(const Expr& extent) -> std::string;

/// Adds the cost of a loop, or of a block or function: its runs, operations, bytes, caches and buffers. `carried`: the dependences of a loop, if they are known.
void add_cost(const cost::LoopFacts& facts, bool is_loop, const Machine& machine, std::vector<Fact>& out, const std::optional<cost::Carried>& carried = {});

/// `span`: the text that the hover belongs to.
[[nodiscard]] auto describe_loop(const PrimFunc& function, const For& loop, Span span, const Machine& machine) -> HoverInfo;
[[nodiscard]] auto describe_block(const PrimFunc& function, const Block& block, Span span, const Machine& machine) -> HoverInfo;

}  // namespace loopsmith::lsp
