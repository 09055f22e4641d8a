// The dialects of programs since TVM 0.25; their values continue the enumeration of `Dialect::Block` and `Dialect::SBlock` in ir.h.
//
// A dialect is the spelling of a program: imports, decorators, the words for blocks and buffers. The program itself is the same in each.
#pragma once

#include <optional>
#include <string_view>

#include "ir/ir.h"

namespace loopsmith::dialects {

inline constexpr Dialect block = Dialect::Block;              // until 0.23: `tir as T`, `T.block`
inline constexpr Dialect sblock = Dialect::SBlock;            // 0.24: `tirx as T`, `T.sblock`, `T.sblock_alloc_buffer`
inline constexpr Dialect s_tir{uint8_t{2}};                   // 0.25, 0.26: the same with `@T.prim_func(s_tir=True)`
inline constexpr Dialect ts{uint8_t{3}};                      // September 2026: `s_tir as Ts`, `@Ts.prim_func`, `Ts.sblock`
inline constexpr Dialect tensor{uint8_t{4}};                  // October and November 2026: `@Ts.function`, `T.Tensor`, `T.alloc_tensor`

/// True for the dialects since 0.24.
[[nodiscard]] constexpr auto is_recent(Dialect d) -> bool { return d != block; }
/// True for the dialects in which the words for blocks are members of `Ts`.
[[nodiscard]] constexpr auto has_ts(Dialect d) -> bool { return d == ts || d == tensor; }

/// The name for `--dialect`: "block", "sblock", "s_tir", "ts", "tensor".
[[nodiscard]] auto name_of(Dialect d) -> std::string_view;
/// The versions of TVM that read the dialect, in words.
[[nodiscard]] auto versions_of(Dialect d) -> std::string_view;
/// Finds a dialect by its name, or by a version of TVM that reads it: "0.24", "0.26". None: there is no such dialect.
[[nodiscard]] auto named(std::string_view text) -> std::optional<Dialect>;

}  // namespace loopsmith::dialects
