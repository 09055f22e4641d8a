// Memory that was freed goes back to the system: what a program that runs all day does after something large is gone.
#pragma once

namespace loopsmith {

/// Takes milliseconds on a large heap; nothing where the C library keeps no free memory to itself.
void give_memory_back();

}  // namespace loopsmith
