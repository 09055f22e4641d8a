// How much of a long test a build takes. With sanitizers code runs some twenty times slower: such builds take a spread of what
// the release build takes whole.
#pragma once

#include <cstddef>

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

// Every `stride(n)`-th case: all of them, or every n-th under sanitizers.
constexpr auto stride(size_t n) -> size_t { return is_sanitized ? n : 1; }

}  // namespace loopsmith::tests
