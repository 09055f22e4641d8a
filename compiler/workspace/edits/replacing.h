// Replaces an existing schedule by a found one, in place: the whole function, or only its steps. Statements that are no steps stay.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "workspace/edits/lines.h"
#include "workspace/snapshot.h"

namespace loopsmith::workspace {

/// An occurrence of a name in a text, from the editor's table of names.
struct NameUse {
  Span span;
  Name name;
  uint32_t variable = 0;     // the same number for all occurrences of one variable
  DeclId function = 0;       // the innermost declaration that binds the name; 0: the file, or no declaration
  bool is_binding = false;
};

/// Replaces a schedule by another schedule function for the same program. A schedule function is replaced and keeps its name; behind
/// `sch = tir.Schedule(...)` only the steps are replaced, and other statements stay; `names` then gives the names in the text. No edits: see `why_not`.
[[nodiscard]] auto replace_schedule(const Snapshot& snapshot, const script::FileSchedule& schedule, std::string_view function_text, const std::function<std::vector<NameUse>()>& names)
    -> TextRewrite;

}  // namespace loopsmith::workspace
