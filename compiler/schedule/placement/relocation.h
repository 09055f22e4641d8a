// A block on its way to another loop, for compute_at and reverse_compute_at: its neighbours, and the checks that need
// only the places of loops and blocks. They run before any region is solved.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "arith/analyzer.h"
#include "ir/ir.h"
#include "schedule/primitive.h"

namespace loopsmith::schedule::placement {

/// Refers to the arguments of the call, and lives no longer than they do.
struct Relocation {
  const Context& cx;
  const BlockArg& block;
  const LoopArg& loop;
  const FuncState& func;
  const Place& scope;
  std::vector<NodeId> producers;             // from declared reads only: elements of hidden reads are not made anew under the loop
  std::vector<NodeId> consumers;
  Domains outer;                             // the loop and the loops around it, the outermost first

  [[nodiscard]] auto moved() const -> const Block& { return block.block(); }
  /// A diagnostic about the block and the loop.
  [[nodiscard]] auto error(Code code) const -> Diagnostic;
  /// The error that the block would read `buffer` before `producer` writes it; it points at both blocks.
  [[nodiscard]] auto reads_too_early(const BufferNode& buffer, NodeId producer) const -> Diagnostic;
  /// The error that no domains of iter vars are found that make the needed part of the buffer (or iter var).
  [[nodiscard]] auto region_not_solved(std::string_view buffer) const -> Diagnostic;
  /// The same for the first buffer that the block writes; names `otherwise` if the block writes none.
  [[nodiscard]] auto output_not_solved(std::string_view otherwise) const -> Diagnostic;
};

/// Checks that the block may move within its scope, and that the loop is in that scope and not around the block.
[[nodiscard]] auto begin_relocation(const Context& cx, const BlockArg& block, const LoopArg& loop) -> Result<Relocation>;

/// Binds the loops at the new place and the sizes of parameters.
void bind_surroundings(const Relocation& move, arith::Analyzer& analyzer);

/// No code outside of the scope reads the block's output.
[[nodiscard]] auto require_no_output(const Relocation& move) -> Status;
/// The domains of iter vars keep their meaning at the new place: none depends on a loop that is no longer around the block.
[[nodiscard]] auto require_domains_at_loop(const Relocation& move) -> Status;
/// Checks that the block is behind the producers of its declared reads. The producers of its hidden reads end before those loops begin that are around
/// only the new place.
[[nodiscard]] auto require_behind_producers(const Relocation& move) -> Status;

/// The position of the statement under the loop in front of which the block goes: behind all producers, in front of all consumers.
/// `index`: -1 for the last such position, -2 for the first, else the position itself. compute_at needs all consumers under the loop.
[[nodiscard]] auto position_before_consumers(const Relocation& move, int64_t index) -> Result<int>;
/// The same for reverse_compute_at, which needs all producers under the loop, and no consumer before it.
[[nodiscard]] auto position_behind_producers(const Relocation& move, int64_t index) -> Result<int>;

}  // namespace loopsmith::schedule::placement
