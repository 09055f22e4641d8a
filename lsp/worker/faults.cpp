// Faults on demand: see faults.h.
#include "lsp/worker/faults.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace loopsmith::lsp {
namespace {

auto faults_allowed() -> bool {
  static const bool allowed = std::getenv("LOOPSMITH_TEST_FAULT") != nullptr;
  return allowed;
}

/// Imitates a fault in our own code: a crash, an exception, an endless loop.
void misbehave(std::string_view kind) {
  auto asked = [&](std::string_view fault) { return kind.starts_with(fault); };
  if (asked("throw")) { throw std::runtime_error("a fault that a test asked for"); }
  if (asked("allocation")) { throw std::bad_alloc(); }
  if (asked("segfault")) { ::raise(SIGSEGV); }
  if (asked("kill")) { ::raise(SIGKILL); }
  if (asked("abort")) { std::abort(); }
  if (asked("exit")) { ::_exit(0); }
  if (asked("spin")) {
    for (volatile int i = 0;; i = i + 1) {}
  }
  if (asked("overflow")) {
    // This must not become a tail call: every level needs its own array.
    struct Deep {
      static auto down(int level) -> int {
        volatile char space[4096];
        space[0] = static_cast<char>(level);
        return level < 0 ? 0 : down(level + 1) + space[0];
      }
    };
    std::exit(Deep::down(0));
  }
  if (asked("memory")) {
    while (true) {
      auto* much = static_cast<char*>(std::malloc(64 << 20));
      if (much == nullptr) { std::abort(); }
      for (size_t i = 0; i < (64U << 20U); i += 4096) { much[i] = 1; }
    }
  }
}

}  // namespace

void misbehave_if_text_asks(std::string_view text) {
  if (!faults_allowed()) { return; }
  size_t at = text.find("FAULT:");
  if (at != std::string_view::npos) { misbehave(text.substr(at + 6)); }
}

void misbehave_if_message_asks(const Json& params) {
  if (faults_allowed()) { misbehave(string_in(params, "fault")); }
}

}  // namespace loopsmith::lsp
