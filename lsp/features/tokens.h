// Semantic tokens: the kinds of names that syntax alone does not show: buffers, loops by their kind, iter vars, blocks;
// and in schedules the variables whose loop or block no longer exists.
#pragma once

#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The last four are not types of the protocol: editors show them as the nearest known type.
enum class TokenType : uint8_t { Namespace, Class, Function, Parameter, Variable, Buffer, Loop, Iterator, Block, Count };

/// Bits of Token::modifiers. Deprecated: a variable whose loop or block no longer exists. Spatial, Reduction: the kind of the iter vars that a loop feeds; if
/// both, Reduction. Shared, Warp: memory of a thread block, of a warp; Local: other memory that is not global. Idle: in a statement of a schedule
/// that changes nothing, or that does not run because one before it fails.
enum class TokenModifier : uint8_t {
  Declaration, Modification, Readonly, Deprecated, Spatial, Reduction, Parallel, Vectorized, Unrolled, ThreadBound, Local, Shared, Warp, Idle, Count
};

struct Token {
  Span span;                 // on one line
  TokenType type{};
  uint16_t modifiers = 0;    // 1 << TokenModifier
};

/// In the order of the text. `within`: only tokens that touch it.
[[nodiscard]] auto semantic_tokens(const workspace::Snapshot& snapshot, Span within) -> std::vector<Token>;

}  // namespace loopsmith::lsp
