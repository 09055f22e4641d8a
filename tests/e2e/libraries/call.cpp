// The same libraries called from C++: a failing call throws.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "matmul.h"
#include "scale.h"

int main() {
  auto* x = static_cast<float*>(std::aligned_alloc(64, 4096));
  auto* y = static_cast<float*>(std::aligned_alloc(64, 4096));
  for (int i = 0; i < 1024; ++i) { x[i] = static_cast<float>(i); }
  int64_t shape[] = {128, 8};
  DLTensor X{x, {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  DLTensor Y{y, {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  loopsmith::scale(X, 3, Y);
  if (y[1023] != 3069) { return 1; }
  try {
    loopsmith::scale(X, 3, X);
    return 1;
  } catch (const std::runtime_error& problem) {
    if (std::string(problem.what()).find("overlaps") == std::string::npos) { return 1; }
  }
  // Many threads at once, each with its own arguments; the error text belongs to the thread.
  std::vector<std::thread> threads;
  std::vector<int> right(8, 0);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&right, t, x] {
      auto* mine = static_cast<float*>(std::aligned_alloc(64, 4096));
      int64_t rows[] = {128, 8};
      DLTensor in{x, {1, 0}, 2, {2, 32, 1}, rows, nullptr, 0};
      DLTensor out{mine, {1, 0}, 2, {2, 32, 1}, rows, nullptr, 0};
      bool ok = true;
      for (int n = 0; n < 200; ++n) {
        loopsmith::scale(in, t, out);
        ok = ok && mine[1023] == 1023.0F * static_cast<float>(t);
      }
      std::free(mine);
      right[static_cast<size_t>(t)] = ok;
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  for (int ok : right) {
    if (ok == 0) { return 1; }
  }
  std::puts("ok   from C++: a call, an exception, eight threads at once");
}
