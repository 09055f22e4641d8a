// The file of a machine's peaks: see peaks.h.
#include "target/peaks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/hash.h"
#include "target/hardware.h"

namespace loopsmith::target {
namespace {

constexpr int format = 1;

}  // namespace

auto Peaks::copy_rate(uint64_t footprint, bool all_threads) const -> double {
  for (const CopyRate& rate : copy) {
    if (rate.footprint >= footprint) { return all_threads ? rate.all : rate.one; }
  }
  return copy.empty() ? 0 : all_threads ? copy.back().all : copy.back().one;
}

auto best_of(const Peaks& a, const Peaks& b) -> Peaks {
  if (a.threads != b.threads || a.copy.size() != b.copy.size()) { return b; }
  Peaks out = a.others <= b.others && a.measured_at > 0 ? a : b;
  out.fma_f32_one = std::max(a.fma_f32_one, b.fma_f32_one);
  out.fma_f32_all = std::max(a.fma_f32_all, b.fma_f32_all);
  for (size_t i = 0; i < out.copy.size(); ++i) {
    out.copy[i].one = std::max(a.copy[i].one, b.copy[i].one);
    out.copy[i].all = std::max(a.copy[i].all, b.copy[i].all);
  }
  return out;
}

auto peaks_file() -> std::string {
  std::string folder;
  if (const char* set = std::getenv("XDG_CACHE_HOME"); set != nullptr && *set == '/') { folder = set; }
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0) { folder = std::string(home) + "/.cache"; }
  else { return {}; }
  return fmt::format("{}/loopsmith/peaks-{:016x}.txt", folder, hash_bytes(machine_identity()));
}

auto cached_peaks() -> std::optional<Peaks> {
  std::ifstream file(peaks_file());
  std::string word;
  int version = 0;
  Peaks out;
  if (!(file >> word >> version) || word != "loopsmith-peaks" || version != format) { return {}; }
  while (file >> word) {
    if (word == "fma_f32") { file >> out.fma_f32_one >> out.fma_f32_all >> out.threads; }
    if (word == "measured") { file >> out.measured_at >> out.others; }
    if (word == "copy") {
      CopyRate rate{};
      file >> rate.footprint >> rate.one >> rate.all;
      out.copy.push_back(rate);
    }
    if (word == "end") { return out.fma_f32_one > 0 ? std::optional(out) : std::nullopt; }
  }
  return {};
}

void keep_peaks(const Peaks& peaks) {
  std::string path = peaks_file();
  if (path.empty()) { return; }
  // Readers always get a complete file: it is written under another name, then renamed.
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::string aside = fmt::format("{}.{}", path, getpid());
  std::ostringstream text;
  text << "loopsmith-peaks " << format << "\nfma_f32 " << peaks.fma_f32_one << ' ' << peaks.fma_f32_all << ' ' << peaks.threads << '\n';
  for (const CopyRate& rate : peaks.copy) { text << "copy " << rate.footprint << ' ' << rate.one << ' ' << rate.all << '\n'; }
  text << "measured " << peaks.measured_at << ' ' << peaks.others << "\nend\n";
  bool written = false;
  {
    std::ofstream file(aside);
    file << text.str();
    file.flush();
    written = file.good();
  }
  if (written) { std::filesystem::rename(aside, path, ignored); }
  if (!written || ignored) { std::filesystem::remove(aside, ignored); }
}

}  // namespace loopsmith::target
