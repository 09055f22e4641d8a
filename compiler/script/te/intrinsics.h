// Intrinsics of `te.decl_tensor_intrin` as tensor intrinsics of schedules (schedule/intrinsics.h): their descriptions and implementations as programs.
//
// The description is the operation's own program, as `blockize` makes a block of it, so that it has the form of the block that `tensorize` compares with it.
#pragma once

#include "schedule/intrinsics.h"
#include "schedule/schedule.h"
#include "script/te/stages.h"

namespace loopsmith::script::te {

/// Body: a whole tile; its reduction has started before. Reset: the start of a reduction. Update: a step of a reduction.
enum class IntrinsicPart : uint8_t { Body, Reset, Update };

/// The statements of a part; null: the script does not give them.
[[nodiscard]] auto statements_of(const expressions::DeclaredIntrinsic& declared, IntrinsicPart part) -> const Stmt&;
/// The part, whose statements exist, as a tensor intrinsic. Errors: no schedule can use it.
[[nodiscard]] auto to_tensor_intrin(const expressions::DeclaredIntrinsic& declared, IntrinsicPart part) -> Result<schedule::TensorIntrin>;
/// The implementation with the statements of C functions in the place of their calls.
[[nodiscard]] auto with_functions_of(const frontend::CSource& source, const PrimFunc& implementation) -> PrimFunc;
/// Adds an intrinsic to those of a schedule. Returns its name there: another one may have the name already.
[[nodiscard]] auto register_intrinsic(schedule::Schedule& schedule, schedule::TensorIntrin intrinsic) -> Name;

}  // namespace loopsmith::script::te
