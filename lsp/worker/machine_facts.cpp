// Reading the options and this machine: see machine_facts.h.
#include "lsp/worker/machine_facts.h"

#include <sys/stat.h>

#include "target/hardware.h"

namespace loopsmith::lsp {

auto machine_facts(const Json& options) -> MachineFacts {
  MachineFacts facts;
  const Json& caches = member(options, "caches");
  const Json& peaks = member(options, "peaks");
  auto number = [](const Json& json) { return json.is_number() ? json.get<double>() : 0; };
  if (caches.is_array()) {
    for (const Json& size : caches) {
      if (size.is_number_unsigned() && size.get<uint64_t>() > 0) { facts.machine.caches.push_back(size.get<uint64_t>()); }
    }
  } else {
    target::Hardware hardware = target::hardware(target::host());
    for (const target::Cache& cache : {hardware.l1, hardware.l2, hardware.l3}) {
      if (cache.bytes > 0) { facts.machine.caches.push_back(cache.bytes); }
    }
  }
  if (peaks.is_object()) {
    facts.machine.flops = number(member(peaks, "gflops")) * 1e9;
    if (double rate = number(member(peaks, "gbytes")) * 1e9; rate > 0) { facts.machine.rates.push_back({0, rate}); }
    facts.peaks = target::Peaks{.fma_f32_one = facts.machine.flops * 1e-9, .fma_f32_all = facts.machine.flops * 1e-9, .threads = 1, .copy = {{0, number(member(peaks, "gbytes")), number(member(peaks, "gbytes"))}}};
    return facts;
  }
  facts.peaks = target::cached_peaks();
  if (const auto& known = facts.peaks) {
    facts.machine.flops = known->fma_f32_one * 1e9;
    for (const target::CopyRate& rate : known->copy) { facts.machine.rates.push_back({rate.footprint, rate.one * 1e9}); }
  }
  return facts;
}

auto peaks_file_written() -> int64_t {
  struct stat facts {};
  static const std::string file = target::peaks_file();
  return file.empty() || ::stat(file.c_str(), &facts) != 0 ? 0 : facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec;
}

}  // namespace loopsmith::lsp
