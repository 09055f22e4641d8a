// Numbers in words, as people read them in hovers and views.
#pragma once

#include <cstdint>
#include <string>

namespace loopsmith::lsp {

/// 134217728 as "134,217,728".
[[nodiscard]] auto grouped(int64_t number) -> std::string;
/// "268.4 Mflop"; small counts exactly.
[[nodiscard]] auto flops_text(double flops) -> std::string;
/// "1.5 KiB".
[[nodiscard]] auto bytes_text(int64_t bytes) -> std::string;

}  // namespace loopsmith::lsp
