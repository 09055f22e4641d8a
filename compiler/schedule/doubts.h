// Warnings about legal steps: a step that may still change results, in a way that no analysis of the program decides (indices from the contents of
// buffers). Few callers show them, so a step notes them for a watch of the thread, and computes nothing where none lives.
#pragma once

#include "support/diagnostic.h"

namespace loopsmith::schedule {

/// Records the doubts of steps on this thread while the watch lives. Watches nest: the innermost one records.
class DoubtWatch {
 public:
  DoubtWatch();
  ~DoubtWatch();
  DoubtWatch(const DoubtWatch&) = delete;
  auto operator=(const DoubtWatch&) -> DoubtWatch& = delete;
  /// The doubts so far. Those of a refused step have no meaning.
  [[nodiscard]] auto found() const -> const Diagnostics& { return found_; }

 private:
  friend void note_doubt(Diagnostic doubt);
  Diagnostics found_;
  DoubtWatch* around_;
};

/// True if a watch lives on this thread.
[[nodiscard]] auto wants_doubts() -> bool;
/// Adds a doubt to the watch; nothing happens without one.
void note_doubt(Diagnostic doubt);

}  // namespace loopsmith::schedule
