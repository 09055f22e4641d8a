// Confinement: limits the system calls of a thread that runs foreign programs. Allowed: memory, threads, the clock, reading files. Forbidden: programs,
// sockets, signals to others, writing files that were not open before. A filter in the kernel (seccomp) enforces this, even against a program that overwrites memory.
//
// The filter stays for the life of the thread, and threads that it starts inherit it. Linux on x86-64 and AArch64; elsewhere nothing is enforced.
#pragma once

namespace loopsmith {

/// Confines the calling thread. False if the system has no such filter, and in builds with sanitizers, whose runtimes start processes.
auto confine_this_thread() -> bool;

}  // namespace loopsmith
