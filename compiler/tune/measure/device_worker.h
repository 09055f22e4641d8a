// The worker's part of measurement on devices: candidates become kernels, which the first device of the target runs.
//
// Workers that only build need no device: their kernels for CUDA go to the cubin cache (runtime/devices/cubin_cache.h), where the measuring worker finds
// them. A driver may crash, or stay unusable after an error of a kernel: then the reply asks for the end of this process.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cost/kernel_estimate.h"
#include "interp/compare.h"
#include "ir/ir.h"
#include "runtime/devices/cuda_compiler.h"
#include "runtime/devices/device.h"
#include "runtime/devices/program.h"
#include "target/target.h"
#include "tune/measure/messages.h"

namespace loopsmith::tune {

class DeviceWorker {
 public:
  auto task(const WorkerTask& task) -> TaskReply;
  auto build(uint64_t id, const std::string& trace, const std::string& module) -> BuildReply;
  auto measure(uint64_t id, double best_seconds, int repeat) -> MeasureReply;
  /// `seconds`: the limit of the interpreter; 0: none.
  auto check(uint64_t id, double seconds) -> CheckReply;
  void drop(uint64_t id) { built_.erase(id); }

 private:
  struct Built {
    IRModule scheduled, flat;
    std::string source;                             // the text of the kernels
    std::vector<runtime::KernelFigures> figures;    // of CUDA's compiler; empty: not compiled
    std::optional<runtime::DeviceProgram> program;  // on the device
  };
  using ResultsOfInputs = Result<std::shared_ptr<const interp::Inputs>>;

  [[nodiscard]] auto open_device() const -> Result<std::shared_ptr<runtime::Device>>;
  [[nodiscard]] auto lower(const IRModule& scheduled, const target::Target& target) const -> Result<Built>;
  [[nodiscard]] auto compile(Built& built) const -> Status;
  [[nodiscard]] auto place_on_device(Built& built) const -> Status;
  [[nodiscard]] auto plain_program() -> Result<runtime::DeviceProgram*>;
  [[nodiscard]] auto expected(const IRModule& module, interp::Contents contents, const interp::Inputs& inputs, bool in_full, double seconds, std::string& how) -> ResultsOfInputs;
  auto check_built(const IRModule& module, Built& built, int& deciding_bits, double seconds) -> CheckReply;
  auto check_scheduled(uint64_t id, const Built& built, double seconds) -> CheckReply;

  IRModule module_;
  Name function_;
  target::Target target_;          // of the task
  target::Target code_target_;     // of the code: the device's own
  cost::GpuModel model_;
  uint64_t seed_ = 1;
  std::shared_ptr<runtime::Device> device_;       // kept open: opening takes longer than most measurements
  bool is_stand_in_ = false;                      // `device_` is of another target, and serves comparisons only
  std::map<uint64_t, Built> built_;
  std::optional<Built> plain_;                    // the program as written, bound to threads
  std::optional<runtime::Arguments> arguments_;   // for measurements
  struct Expected { std::shared_ptr<const interp::Inputs> results; std::string how; };
  std::map<interp::Contents, Expected> expected_; // of the task's program
};

}  // namespace loopsmith::tune
