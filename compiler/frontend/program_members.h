// Members of programs that a room above gives them: a task of the auto-scheduler is a program with the methods of a task.
#pragma once

#include <optional>

#include "eval/value.h"

namespace loopsmith::frontend {

class ProgramObject;

/// Finds a member of a program; none: it has no such member.
using FindMember = std::optional<eval::Value> (*)(const ProgramObject& program, Name member);
/// Sets the function of this thread.
void find_members_with(FindMember find);

}  // namespace loopsmith::frontend
