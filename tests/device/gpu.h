// The GPU of NVIDIA's driver, for comparisons with it.
#pragma once

#include <memory>
#include <utility>

#include "runtime/devices/device.h"

namespace loopsmith::device_tests {

/// A device without kernels; null: there is no driver. The first one stays open, which makes opening the others quick.
inline auto open_gpu() -> std::shared_ptr<runtime::Device> {
  static const auto kept = runtime::open_cuda();
  if (!kept.ok()) { return nullptr; }
  auto opened = runtime::open_cuda();
  return opened.ok() ? std::shared_ptr<runtime::Device>(std::move(opened).value()) : nullptr;
}

}  // namespace loopsmith::device_tests
