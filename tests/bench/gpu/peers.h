// NVIDIA's libraries on this machine, for comparison: cuBLAS and the driver's copies. Loaded when they are needed, so that the program builds without CUDA.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace loopsmith::bench {

/// The version of cuBLAS in words; empty: libcublas.so is not installed.
[[nodiscard]] auto cublas_in_words() -> std::string;

/// Starts C = A x B by cuBLAS, row-major, float32 without reduced precision, square; the arguments are addresses on the device. Empty without cuBLAS.
[[nodiscard]] auto cublas_matmul(int64_t size, uint64_t a, uint64_t b, uint64_t c) -> std::function<void()>;

/// Starts a copy of that many bytes on the device. Empty without a driver.
[[nodiscard]] auto device_copy(uint64_t to, uint64_t from, uint64_t bytes) -> std::function<void()>;

/// Waits for everything on the device.
void wait_for_device();

}  // namespace loopsmith::bench
