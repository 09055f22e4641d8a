// A device that runs the text of CUDA kernels on this machine's processor: clang compiles the text after cuda_on_host.h; threads are fibres.
//
// It finds faults that occur only by chance on a GPU: threads of a block run in a chosen order between barriers, shared memory is filled with garbage before
// each block, asynchronous copies are done as late as possible. These are errors: indices beyond a shared or local array, writes beyond a buffer, vectors at
// addresses that are not multiples of their size, read-only loads of written elements, a barrier that some threads of a block do not reach.
#pragma once

#include <memory>

#include "runtime/devices/device.h"

namespace loopsmith::device_tests {

/// The order in which the threads of a block run between two barriers. Programs with races compute different results in different orders.
enum class ThreadOrder : uint8_t { Forward, Backward, Shuffled };

/// Empty: clang is not installed.
[[nodiscard]] auto open_host_device(ThreadOrder order = ThreadOrder::Forward) -> std::shared_ptr<runtime::Device>;

}  // namespace loopsmith::device_tests
