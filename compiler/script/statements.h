// Runs statements one after another in a kept environment, as at a prompt: each is a step (run.h), run and recorded like a
// statement of a schedule function.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "script/run.h"
#include "syntax/document.h"

namespace loopsmith::script {

struct StatementRequest {
  eval::Environment* globals = nullptr;
  std::shared_ptr<eval::Heap> heap;                 // outlives the values that the statements make
  Name schedule;                                    // the variable that holds the schedule: `sch`
  uint32_t number = 1;                              // the schedule statement of new nodes
  CancelToken cancel = {};
  std::function<void(std::string_view)> output = {};   // receives printed text; may be empty
};

/// A statement that ran.
struct StatementResult {
  Step step;
  eval::Value value;     // for an expression statement; otherwise None
  Origin unknown_at;     // the first Python that was not evaluated; unknown: there was none
};

/// Runs statements in a frame. A statement that fails may have changed the frame: to be able to go back, pass a snapshot.
class StatementRunner {
 public:
  StatementRunner(StatementRequest request, eval::Frame& frame);
  StatementRunner(const StatementRunner&) = delete;
  auto operator=(const StatementRunner&) -> StatementRunner& = delete;

  /// Runs one more statement; `tree` owns it.
  auto run(const syntax::Stmt& statement, const syntax::ItemPtr& tree) -> StatementResult;

 private:
  StatementRequest request_;
  eval::Frame& frame_;
  eval::Evaluator evaluator_;
};

}  // namespace loopsmith::script
