// The C++ interface of a library of kernels: a failure is an exception.
#include <cstdio>
#include <cstring>

#include "ramp.h"

int main() {
  float data[4] = {};
  int64_t shape[] = {4};
  DLTensor A = {data, {1, 0}, 1, {2, 32, 1}, shape, nullptr, 0};
  try {
    loopsmith::ramp(A, 2.0, A);
  } catch (const std::runtime_error& error) {
    std::printf("ok   C++: %s\n", error.what());
    return std::strstr(error.what(), "memory of such a device") != nullptr ? 0 : 1;
  }
  return 1;
}
