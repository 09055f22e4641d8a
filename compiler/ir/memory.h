// Memory of nodes, beyond what ref.h says of it: freed nodes wait in lists of their thread for the next ones of their size.
#pragma once

namespace loopsmith {

/// Gives the C library back what is wholly free of this thread's memory for nodes. Takes a walk over all free nodes: for a program that
/// closed something large, not for every day.
void give_nodes_back();

}  // namespace loopsmith
