// Confinement: what a thread that runs a program of others may ask of the system. Memory, threads, the clock, files that are open; no programs, no
// sockets, no signals to others, no new file. A filter of the kernel (seccomp) holds it, so that a program that overwrites memory does not get further.
//
// The filter stays for the life of the thread, and threads that it starts inherit it. Linux on x86-64 and AArch64; elsewhere nothing is held.
#pragma once

namespace loopsmith {

/// Confines the calling thread. False where the system has no such filter, and in builds with sanitizers, whose runtimes start processes.
auto confine_this_thread() -> bool;

}  // namespace loopsmith
