// Other libraries on this machine, for comparison: OpenBLAS and oneDNN, if they are installed. Their threads are set once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace loopsmith::bench {

/// The installed libraries in words; "no OpenBLAS" and "no oneDNN" for missing ones.
[[nodiscard]] auto peers_in_words() -> std::string;

/// OpenBLAS may not know this processor, or its environment variables may select a smaller one; it then leaves half of the vector unit
/// unused. In that case this function restarts the program with suitable kernels; else it returns.
void use_best_kernels_of_openblas(char** argv);

/// C = A x B, row-major, float32, square. Empty without OpenBLAS.
[[nodiscard]] auto openblas_matmul(int64_t size, const float* a, const float* b, float* c, int threads) -> std::function<void()>;

/// A convolution 3x3, stride 1, padding 1, batch 1, float32, in oneDNN's preferred layouts; data and weights have these layouts
/// beforehand. Empty without oneDNN.
[[nodiscard]] auto onednn_conv3x3(int64_t channels, int64_t size, int threads) -> std::function<void()>;

/// C = A x B, int8 (unsigned by signed, int32 sums) or bfloat16 (float32 sums), square. Empty without oneDNN.
[[nodiscard]] auto onednn_matmul(const std::string& type, int64_t size, int threads) -> std::function<void()>;

/// Softmax over rows of 1024 values, float32. Empty without oneDNN.
[[nodiscard]] auto onednn_softmax(int64_t rows, int threads) -> std::function<void()>;

}  // namespace loopsmith::bench
