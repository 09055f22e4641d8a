// A file with a task of the auto-scheduler, and the check that steps on it keep the results.
#pragma once

#include <string>
#include <vector>

#include "frontend/file.h"
#include "interp/compare.h"
#include "ir/printer.h"
#include "script/auto_scheduler/steps.h"
#include "script/schedules.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

namespace loopsmith::tests {

struct TaskSession {
  explicit TaskSession(const std::string& text) : document(text), file(script::predeclared) {
    file.update(document);
    schedules.update(file);
    tasks = script::auto_scheduler::tasks_of(file);
    REQUIRE(tasks.size() == 1);
  }
  syntax::Document document;
  frontend::File file;
  script::Schedules schedules;
  std::vector<script::auto_scheduler::Task> tasks;
};

/// Compares the results of applied steps with those of the program. Returns the scheduled program.
inline auto require_same_results(const script::auto_scheduler::Applied& applied) -> IRModule {
  schedule::Schedule sch(applied.program, 1);
  REQUIRE(sch.replay(applied.trace).ok());
  interp::GateOptions options;
  options.size = 37;
  auto same = interp::compare_modules(applied.program, sch.module(), Name("main"), options);
  REQUIRE(same.ok());
  INFO(same->difference);
  REQUIRE(same->equal);
  return sch.module();
}

/// Applies the steps, and compares the results. Returns the scheduled program as text.
inline auto require_right(TaskSession& session, const std::vector<script::auto_scheduler::Step>& steps) -> std::string {
  auto applied = script::auto_scheduler::apply_steps(session.file, session.tasks[0], steps, {"log.json", 1});
  INFO((applied.ok() ? std::string() : applied.diagnostics()[0].message()));
  REQUIRE(applied.ok());
  return print_script(require_same_results(*applied));
}

inline const std::string matmul_add = R"(import tvm
from tvm import te, auto_scheduler


@auto_scheduler.register_workload
def matmul_add(N, L, M, dtype):
    A = te.placeholder((N, L), name="A", dtype=dtype)
    B = te.placeholder((L, M), name="B", dtype=dtype)
    C = te.placeholder((N, M), name="C", dtype=dtype)
    k = te.reduce_axis((0, L), name="k")
    matmul = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul", attrs={"layout_free_placeholders": [B]})
    out = te.compute((N, M), lambda i, j: matmul[i, j] + C[i, j], name="out")
    return [A, B, C, out]


target = tvm.target.Target("llvm")
task = tvm.auto_scheduler.SearchTask(func=matmul_add, args=(16, 32, 16, "float32"), target=target)
)";

inline const std::string conv2d_layer = R"(import tvm
from tvm import te, auto_scheduler, topi


@auto_scheduler.register_workload
def conv2d_layer(N, H, W, CO, CI, KH, KW, stride, padding):
    data = te.placeholder((N, CI, H, W), name="data")
    kernel = te.placeholder((CO, CI, KH, KW), name="kernel")
    bias = te.placeholder((1, CO, 1, 1), name="bias")
    conv = topi.nn.conv2d_nchw(data, kernel, stride, padding, dilation=1, out_dtype="float32")
    out = topi.nn.relu(conv + bias)
    return [data, kernel, bias, out]


task = auto_scheduler.SearchTask(func=conv2d_layer, args=(1, 7, 7, 8, 4, 3, 3, (1, 1), (1, 1)), target="llvm")
)";

}  // namespace loopsmith::tests
