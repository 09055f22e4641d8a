// What others reach on this machine: OpenBLAS and oneDNN, where they are installed. One object a peer, its threads set once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace loopsmith::bench {

/// What is installed, in words; "no OpenBLAS" and "no oneDNN" where it is not.
[[nodiscard]] auto peers_in_words() -> std::string;

/// OpenBLAS may not know this processor, or be told by its environment variables to take it for a smaller one, and then leaves half of
/// the vector unit unused. Starts this program again with the kernels that fit, where that is so; returns where nothing is to be done.
void use_best_kernels_of_openblas(char** argv);

/// C = A x B, row-major, float32, square. Empty without OpenBLAS.
[[nodiscard]] auto openblas_matmul(int64_t size, const float* a, const float* b, float* c, int threads) -> std::function<void()>;

/// A convolution 3x3, stride 1, padding 1, batch 1, float32, in whatever layouts oneDNN likes best; data and weights are laid out so
/// beforehand. Empty without oneDNN.
[[nodiscard]] auto onednn_conv3x3(int64_t channels, int64_t size, int threads) -> std::function<void()>;

/// C = A x B, int8 (unsigned by signed, int32 sums) or bfloat16 (float32 sums), square. Empty without oneDNN.
[[nodiscard]] auto onednn_matmul(const std::string& type, int64_t size, int threads) -> std::function<void()>;

/// Softmax over rows of 1024 values, float32. Empty without oneDNN.
[[nodiscard]] auto onednn_softmax(int64_t rows, int threads) -> std::function<void()>;

}  // namespace loopsmith::bench
