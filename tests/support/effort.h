// The sizes of long tests. Under sanitizers code is about twenty times slower, so such builds run some of the cases that a release
// build runs completely. Runs with the label `soak` (`./bootstrap test soak`) have the machine to themselves: they use the largest sizes, and only
// they assert times and memory.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace loopsmith::tests {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOOPSMITH_IS_SANITIZED 1
#endif
#endif
#ifdef LOOPSMITH_IS_SANITIZED
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

/// True in a run of the label `soak`, whose tests ctest starts with LOOPSMITH_SOAK=1.
inline auto is_soak() -> bool { return std::getenv("LOOPSMITH_SOAK") != nullptr; }

/// The size of a test: `soak` in a run of that label, `sanitized` under sanitizers, else `usual`.
template <class T>
auto size_of_test(T usual, T soak, T sanitized) -> T {
  return is_soak() ? soak : is_sanitized ? sanitized : usual;
}

/// Every `stride(n)`-th case: all of them, or every n-th under sanitizers. `usual`: the stride of a usual run if all cases take too long.
inline auto stride(size_t sanitized, size_t usual = 1) -> size_t { return size_of_test<size_t>(usual, 1, sanitized); }

}  // namespace loopsmith::tests
