// `loopsmith worker --KIND`: a process that another of our commands starts and controls through pipes. Not for users. A kind is one row here.
#include <unistd.h>

#include <cstdlib>

#include "driver/command.h"
#include "driver/device.h"
#include "driver/execution.h"
#include "lsp/worker/run.h"
#include "runtime/devices/cuda_compiler.h"
#include "support/background.h"
#include "tune/measure/worker.h"

namespace loopsmith::driver::commands {
namespace {

struct Kind {
  const char* name;
  int (*run)(std::vector<std::string> args);
  bool reports_end = false;   // the waiting command needs a report that the worker reached its end (`finished`)
};

auto compile_cuda(std::vector<std::string> args) -> int { return runtime::run_cuda_compiler(args); }

constexpr Kind kinds[] = {
    {"--analyze", loopsmith::lsp::run_analysis_worker},
    {"--run", run_here, true},
    {"--verify", verify_here, true},
    {"--bench", bench_here, true},
    {"--build", build_here},
    {"--compile-cuda", compile_cuda},
    {"--device", describe_device},
    {"--measure", loopsmith::tune::run_measuring_worker},
};

}  // namespace

auto worker(std::vector<std::string> args) -> int {
  if (std::getenv(background_variable) != nullptr) { ::setpgid(0, ::getpgid(::getppid())); }
  for (const Kind& kind : kinds) {
    if (!args.empty() && args.front() == kind.name) {
      args.erase(args.begin());
      int status = kind.run(std::move(args));
      return kind.reports_end ? finished(status) : status;
    }
  }
  return usage_error("worker", "it is started by other commands, with the kind of work as its first argument");
}

}  // namespace loopsmith::driver::commands
