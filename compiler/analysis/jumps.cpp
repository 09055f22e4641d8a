// `break`, `continue` and returns in loops whose iterations do not run one after the other.
#include "analysis/subject.h"
#include "ir/jumps.h"
#include "support/codes.h"

namespace loopsmith::analysis {

void check_jumps(Subject& subject) {
  if (!subject.facts.has_jumps) { return; }
  for (const auto& [loop, jump] : unordered_jumps(subject.facts.func->body)) {
    const bool is_vectorized = loop->for_kind == ForKind::Vectorized;
    Diagnostic d = error(is_vectorized ? Code::SerialJump : Code::JumpFromParallel, jump->origin).arg("jump", jump_word(*jump)).arg("loop", loop->var->name.view())
                       .arg("kind", is_vectorized ? "vectorized" : loop->for_kind == ForKind::Parallel ? "parallel" : "thread-bound")
                       .note(subject.header(*loop), "the loop is here", loop->id);
    subject.report(std::move(d).remedy(is_vectorized ? "store under an `if` with the opposite condition, which becomes a mask" : "make the loop serial, or store under an `if` instead"));
  }
}

}  // namespace loopsmith::analysis
