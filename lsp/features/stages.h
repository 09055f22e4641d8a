// The stages of a program as texts: after lowering, as LLVM IR, as assembly, as kernels in CUDA C, OpenCL C and PTX; and the origin of each
// line in the file. The program is compiled, never run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/ir.h"
#include "ir/printer.h"
#include "support/diagnostic.h"

namespace loopsmith::lsp {

/// The stage that a view shows.
enum class Stage : uint8_t { State, Lowered, LlvmIR, Assembly, DeviceStages, Cuda, OpenCl, Ptx };

/// "lowered", "llvm", "asm"; "device" (lowered for a GPU), "cuda" and "opencl" (the kernels as text), "ptx" (compiled by LLVM); "" for the state itself. None: no stage has that name.
[[nodiscard]] auto stage_named(std::string_view name) -> std::optional<Stage>;
[[nodiscard]] auto stage_name(Stage stage) -> std::string_view;

struct StageText {
  std::string text;
  std::vector<std::pair<uint32_t, Origin>> lines;   // lines (from 0) and their origins, in the order of the text
  std::vector<std::pair<uint32_t, uint32_t>> steps; // lines and the steps of the schedule (from 1) that made them, one pair each
  std::vector<PrintedRange> places;                 // of a state: its loops and blocks, without their nodes
  Diagnostics problems;                             // the reason why `text` is empty
};

/// `symbol`: the external name of a module's only function; empty: its own name. `target`: as written in the file; empty:
/// this machine.
[[nodiscard]] auto stage_text(const IRModule& module, Stage stage, std::string_view symbol, const std::string& target) -> StageText;

}  // namespace loopsmith::lsp
