// A device that runs the text of CUDA kernels on this machine's processor: clang compiles the text behind cuda_on_host.h, threads are fibres.
//
// It finds faults that a GPU leaves to chance: threads of a block run in an order of choice between barriers, shared memory starts as rubbish in
// each block, asynchronous copies happen as late as they may. Indices beyond a shared or local array, writes beyond a buffer, vectors at odd addresses,
// read-only loads of written elements, and barriers that some threads of a block do not reach are errors.
#pragma once

#include <memory>

#include "runtime/devices/device.h"

namespace loopsmith::device_tests {

/// The order in which the threads of a block run between two barriers. Programs with races compute different results in different orders.
enum class ThreadOrder : uint8_t { Forward, Backward, Shuffled };

/// Empty where clang is missing.
[[nodiscard]] auto open_host_device(ThreadOrder order = ThreadOrder::Forward) -> std::shared_ptr<runtime::Device>;

}  // namespace loopsmith::device_tests
