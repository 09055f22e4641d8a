// A block on its way to another loop, as compute_at and reverse_compute_at share it: the neighbours that matter, and the conditions that follow
// from places alone, before any region is solved for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "arith/analyzer.h"
#include "ir/ir.h"
#include "schedule/primitive.h"

namespace loopsmith::schedule::placement {

/// Alive as long as the arguments of the call.
struct Relocation {
  const Context& cx;
  const BlockArg& block;
  const LoopArg& loop;
  const FuncState& func;
  const Place& scope;
  std::vector<NodeId> producers;             // of declared reads: hidden reads are not made anew under the loop
  std::vector<NodeId> consumers;
  Domains outer;                             // the loop and the loops around it, the outermost first

  [[nodiscard]] auto moved() const -> const Block& { return block.block(); }
  /// A diagnostic about the block and the loop.
  [[nodiscard]] auto error(Code code) const -> Diagnostic;
  /// The block reads `buffer` from `producer` before it is written; the block and the producer are at fault.
  [[nodiscard]] auto reads_too_early(const BufferNode& buffer, NodeId producer) const -> Diagnostic;
  /// No domains of iter vars are found that make the needed part of the buffer (or iter var).
  [[nodiscard]] auto region_not_solved(std::string_view buffer) const -> Diagnostic;
  /// The same for the first buffer that the block writes; `otherwise`: where it writes none.
  [[nodiscard]] auto output_not_solved(std::string_view otherwise) const -> Diagnostic;
};

/// The block may move within its scope, and the loop is in that scope, not around the block.
[[nodiscard]] auto begin_relocation(const Context& cx, const BlockArg& block, const LoopArg& loop) -> Result<Relocation>;

/// Binds the loops at the new place and the sizes of parameters.
void bind_surroundings(const Relocation& move, arith::Analyzer& analyzer);

/// Nobody outside of the scope reads what the block writes.
[[nodiscard]] auto require_no_output(const Relocation& move) -> Status;
/// Domains of iter vars mean the same at the new place: none depends on a loop that stays behind.
[[nodiscard]] auto require_domains_at_loop(const Relocation& move) -> Status;
/// The block stands behind the producers of its declared reads; the producers of its hidden reads end before the loops begin that are not around
/// it yet.
[[nodiscard]] auto require_behind_producers(const Relocation& move) -> Status;

/// The number of the statement under the loop in front of which the block will stand: behind all producers, in front of all consumers.
/// `index`: -1 the last such place, -2 the first, else the place itself. compute_at needs all consumers under the loop.
[[nodiscard]] auto position_before_consumers(const Relocation& move, int64_t index) -> Result<int>;
/// The same for reverse_compute_at, which needs all producers under the loop, and no consumer before it.
[[nodiscard]] auto position_behind_producers(const Relocation& move, int64_t index) -> Result<int>;

}  // namespace loopsmith::schedule::placement
