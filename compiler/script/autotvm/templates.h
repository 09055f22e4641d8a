// AutoTVM templates of a file: functions with `@autotvm.template(NAME)`, and the task of each, `autotvm.task.create(NAME, args=..., target=...)`. The
// arguments of the task are the values of the function's parameters, so the function is a schedule function of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/value.h"
#include "frontend/file.h"
#include "syntax/ast.h"

namespace loopsmith::script::autotvm {

/// The namespace `autotvm`.
[[nodiscard]] auto namespace_autotvm() -> const eval::Value&;

/// The NAME of a template; none: the function is not a template.
[[nodiscard]] auto template_name(const syntax::FunctionDef& def) -> std::optional<std::string>;

struct Task {
  std::string name;                            // of the template
  std::vector<eval::Value> arguments;
  const syntax::Expr* target = nullptr;        // null: not given
  Origin where;                                // the call that makes the task, or calls the function
};
/// The first task of a template in the file; without one, the first call of its function. None: its arguments are not known.
[[nodiscard]] auto find_task(frontend::File& file, const syntax::FunctionDef& def) -> std::optional<Task>;

/// The search that the file asks for: `XGBTuner(task)`, `tuner.tune(n_trial=...)`.
struct AskedSearch {
  std::string search;                          // ours; empty: none is asked for
  std::string tuner;                           // TVM's name
  std::optional<int64_t> trials;
  std::string log;                             // of `log_to_file(F)`; empty: none
};
[[nodiscard]] auto asked_search(frontend::File& file) -> AskedSearch;

}  // namespace loopsmith::script::autotvm
