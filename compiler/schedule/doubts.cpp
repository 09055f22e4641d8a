// Warnings about legal steps: see doubts.h.
#include "schedule/doubts.h"

#include <utility>

namespace loopsmith::schedule {

namespace {
thread_local DoubtWatch* innermost = nullptr;
}  // namespace

DoubtWatch::DoubtWatch() : around_(std::exchange(innermost, this)) {}
DoubtWatch::~DoubtWatch() { innermost = around_; }

auto wants_doubts() -> bool { return innermost != nullptr; }
void note_doubt(Diagnostic doubt) {
  if (innermost != nullptr) { innermost->found_.push_back(std::move(doubt)); }
}

}  // namespace loopsmith::schedule
