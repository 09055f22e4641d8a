// Jobs in the background and what they start: one group of processes, so that a server can let all of a job stand still at once.
#pragma once

namespace loopsmith {

/// Set in the environment of a job: a worker program that finds it joins its parent's group.
inline constexpr const char* background_variable = "LOOPSMITH_BACKGROUND";

}  // namespace loopsmith
