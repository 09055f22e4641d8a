// The target that counts for a program where several places name one. From the first to the last:
//
//     1. the option of the command (`--target`), or the target that a session chose (`:target`),
//     2. the attribute of the function: `T.func_attr({"target": T.target("cuda")})`,
//     3. the schedule: `@ls.schedule(program, target="cuda")`, or the innermost `with Target("cuda"):` around `tir.Schedule(program)`,
//     4. this machine.
//
// The target chooses the lowering pipeline. Thread-bound loops become kernels for a GPU, and loops of a processor for `llvm`.
#pragma once

#include <string>
#include <string_view>

#include "ir/ir.h"
#include "target/target.h"

namespace loopsmith::target {

/// A target of a script as the text that `parse` reads: `T.target({"kind": "cuda", "arch": "sm_80"})` is "cuda -arch=sm_80". If it
/// has a host, the text has only the target itself. Empty: the attribute is no target.
[[nodiscard]] auto text_of(const Attr& attribute) -> std::string;

/// The target that the attribute of a function names; empty: it names none, or one for which no code is made here ("vulkan").
[[nodiscard]] auto attribute_target(const IRModule& module, Name function) -> std::string;

/// The text of the target that counts; empty: this machine. `option` and `schedule` are empty where they name no target.
[[nodiscard]] auto chosen_target(std::string_view option, const IRModule& module, Name function, std::string_view schedule) -> std::string;

}  // namespace loopsmith::target
