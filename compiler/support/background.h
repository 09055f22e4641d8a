// A background job and the programs that it starts form one process group, so that a server can pause the whole job at once.
#pragma once

namespace loopsmith {

/// An environment variable that jobs set: a worker program that finds it joins the process group of its parent.
inline constexpr const char* background_variable = "LOOPSMITH_BACKGROUND";

}  // namespace loopsmith
