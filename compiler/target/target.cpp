// Reads and prints target strings: see target.h.
#include "target/target.h"

#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/spelling.h"
#include "target/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace loopsmith::target {
namespace {

// Options of TVM's CPU and GPU targets that are accepted and kept, but have no effect here.
constexpr std::string_view kept[] = {
    "keys", "libs", "model", "device", "tag", "host", "system-lib", "runtime", "link-params", "unpacked-api", "interface-api",
    "mfloat-abi", "mabi", "num-cores-per-cluster", "max_num_threads", "max_threads_per_block", "max_shared_memory_per_block",
    "thread_warp_size", "registers_per_block", "arch", "march", "fast-math", "cl-opt", "jit", "vector-width", "from_device",
    "target_device_type", "l2_cache_size_bytes",
};
// The attributes that limit the blocks of a GPU: positive numbers (target/gpu.h).
constexpr std::string_view limits[] = {"max_num_threads", "max_threads_per_block", "max_shared_memory_per_block"};

/// The option by which a kind names the machine; empty: the kind has none. `llvm` and `c` take both, as `-arch` means nothing to them.
auto machine_option(std::string_view kind) -> std::optional<std::string_view> {
  if (kind == target_kind::cuda) { return "arch"; }
  if (kind == target_kind::nvptx || kind == target_kind::rocm) { return "mcpu"; }
  if (kind == target_kind::opencl) { return ""; }
  return {};
}

auto split_words(std::string_view text) -> std::vector<std::string_view> {
  std::vector<std::string_view> out;
  size_t i = 0;
  while (i < text.size()) {
    while (i < text.size() && (text[i] == ' ' || text[i] == '\t')) { ++i; }
    size_t start = i;
    while (i < text.size() && text[i] != ' ' && text[i] != '\t') { ++i; }
    if (i > start) { out.push_back(text.substr(start, i - start)); }
  }
  return out;
}

auto split_list(std::string_view text) -> std::vector<std::string> {
  std::vector<std::string> out;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) { out.emplace_back(text.substr(0, comma)); }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

auto bad(std::string_view text, const Reason& why) -> Diagnostic {
  return error(Code::BadTarget).arg("target", text).arg("reason", why.text())
      .remedy("write a target as `llvm -mcpu=znver4 -num-cores=2`, or `llvm` for this machine");
}

auto number(std::string_view text) -> std::optional<int> {
  int value = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) { return {}; }
  return value;
}

/// No option of a GPU's target may be without effect where it names another machine: `nvptx -arch=sm_90a` is not sm_80.
auto check_machine_option(std::string_view text, std::string_view kind, std::string_view name, std::string_view value) -> Status {
  if (name != "mcpu" && name != "arch") { return ok(); }
  const auto wanted = machine_option(kind);
  if (!wanted || *wanted == name) { return ok(); }
  auto out = error(Code::BadTarget).arg("target", text).arg("reason", because(Why::OptionOfOtherKind).arg("kind", kind).arg("option", name).text());
  if (wanted->empty()) { return std::move(out).remedy(fmt::format("remove `-{}`: the driver of the device compiles the kernels for it", name)); }
  return std::move(out).remedy(fmt::format("write `{} -{}={}`", kind, *wanted, value));
}

auto starts(std::string_view text, std::string_view prefix) -> bool { return text.starts_with(prefix); }

}  // namespace

auto Target::str() const -> std::string {
  std::string out = kind;
  if (!cpu.empty()) { out += " -mcpu=" + cpu; }
  if (!features.empty()) { out += fmt::format(" -mattr={}", fmt::join(features, ",")); }
  if (cores > 0) { out += fmt::format(" -num-cores={}", cores); }
  if (opt_level >= 0) { out += fmt::format(" -opt-level={}", opt_level); }
  if (!triple.empty()) { out += " -mtriple=" + triple; }
  for (const auto& [name, value] : others) { out += fmt::format(" -{}={}", name, value); }
  return out;
}

auto Target::architecture() const -> Architecture {
  std::string_view name = triple;
  std::string here;
  if (name.empty()) { here = host_triple(); name = here; }
  if (starts(name, "x86_64") || starts(name, "amd64")) { return Architecture::X86_64; }
  if (starts(name, "aarch64") || starts(name, "arm64")) { return Architecture::AArch64; }
  if (starts(name, "wasm32")) { return Architecture::WebAssembly32; }
  if (starts(name, "riscv64")) { return Architecture::RiscV64; }
  return Architecture::Other;
}

auto Target::most_vscale() const -> int64_t {
  bool is_arm = architecture() == Architecture::AArch64;
  if (kind != target_kind::llvm || (!is_arm && architecture() != Architecture::RiscV64)) { return 0; }
  bool has = false;
  for (const std::string& feature : features) {
    if (feature == (is_arm ? "+sve" : "+v") || (is_arm && feature == "+sve2")) { has = true; }
    if (feature == (is_arm ? "-sve" : "-v")) { has = false; }
  }
  // ARM's vectors have up to 2048 bits in steps of 128; RISC-V's have up to 65536 in steps of 64.
  return !has ? 0 : is_arm ? 16 : 1024;
}

auto Target::is_host_architecture() const -> bool {
  return kind == target_kind::llvm && (triple.empty() || architecture() == Target{.triple = host_triple()}.architecture()) &&
         triple.find("windows") == std::string::npos && triple.find("apple") == std::string::npos;
}

auto parse(std::string_view text) -> Result<Target> {
  auto words = split_words(text);
  if (words.empty()) { return bad(text, because(Why::TargetEmpty)); }
  Target out;
  out.kind = words.front();
  if (words.front().find('/') != std::string_view::npos) {
    auto card = find_cuda_card(words.front());
    if (!card) { return error(Code::BadTarget).arg("target", text).arg("reason", because(Why::NoSuchCard).text()).remedy("name the architecture: `cuda -arch=sm_80`"); }
    out.kind = target_kind::cuda;
    out.others = {{"arch", std::string(card->arch)}, {"tag", std::string(words.front())}};
  }
  if (const TargetKind* known = find_target_kind(out.kind); known == nullptr || !known->is_readable) {
    const std::string meant = closest(out.kind, {"llvm", "cuda", "opencl", "nvptx", "rocm"});
    Diagnostic unknown = bad(text, because(Why::NoSuchKind).arg("kind", out.kind));
    if (!meant.empty()) { unknown.remedies = {fmt::format("did you mean `{}`?", meant)}; }
    return unknown;
  }
  for (size_t i = 1; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (!starts(word, "-")) { return bad(text, because(Why::NotAnOption).arg("word", word)); }
    word.remove_prefix(starts(word, "--") ? 2 : 1);
    std::string_view name = word.substr(0, word.find('='));
    std::string_view value;
    if (name.size() < word.size()) {
      value = word.substr(name.size() + 1);
    } else if (i + 1 < words.size() && !starts(words[i + 1], "-")) {
      value = words[++i];
    }
    auto needs_value = [&]() -> Diagnostic { return bad(text, because(Why::OptionNeedsValue).arg("option", name)); };
    LOOPSMITH_CHECK(check_machine_option(text, out.kind, name, value));
    if (name == "mcpu") {
      if (value.empty()) { return needs_value(); }
      out.cpu = value;
    } else if (name == "mtriple") {
      if (value.empty()) { return needs_value(); }
      out.triple = value;
    } else if (name == "mattr") {
      for (std::string& feature : split_list(value)) {
        if (feature[0] != '+' && feature[0] != '-') {
          return bad(text, because(Why::FeatureSign).arg("feature", feature));
        }
        out.features.push_back(std::move(feature));
      }
    } else if (name == "num-cores") {
      auto cores = number(value);
      if (!cores || *cores < 1 || *cores > 4096) { return bad(text, because(Why::CoresRange).arg("cores", value)); }
      out.cores = *cores;
    } else if (name == "opt-level") {
      auto level = number(value);
      if (!level || *level < 0 || *level > 3) { return bad(text, because(Why::LevelRange).arg("level", value)); }
      out.opt_level = *level;
    } else if (name == "arch" && value.empty()) {
      return needs_value();
    } else if (std::find(std::begin(kept), std::end(kept), name) != std::end(kept)) {
      if (std::ranges::find(limits, name) != std::end(limits) && number(value).value_or(0) < 1) {
        return bad(text, because(Why::LimitRange).arg("option", name).arg("value", value));
      }
      out.others.emplace_back(name, value);
    } else {
      return bad(text, because(Why::NoSuchOption).arg("option", name));
    }
  }
  bool native = out.cpu == "native" || (out.cpu.empty() && out.triple.empty() && out.features.empty());
  if (out.kind == target_kind::llvm && native) {
    if (!out.is_host_architecture()) { return bad(text, because(Why::NativeElsewhere)); }
    const Target& here = host();
    out.cpu = here.cpu;
    if (out.triple.empty()) { out.triple = here.triple; }
    out.features.insert(out.features.begin(), here.features.begin(), here.features.end());
    if (out.cores == 0) { out.cores = here.cores; }
  }
  if (out.kind == target_kind::llvm && starts(out.triple, "amdgcn")) { out.kind = target_kind::rocm; }
  if (out.kind == target_kind::nvptx) {
    if (out.triple.empty()) { out.triple = "nvptx64-nvidia-cuda"; }
    if (out.cpu.empty()) { out.cpu = default_cuda_arch; }
  }
  if (out.kind == target_kind::rocm) {
    if (out.triple.empty()) { out.triple = "amdgcn-amd-amdhsa"; }
    if (out.cpu.empty()) { out.cpu = "gfx90a"; }
    if (!starts(out.triple, "amdgcn")) { return bad(text, because(Why::RocmTriple)); }
  }
  return out;
}

auto host_triple() -> std::string {
#if defined(__x86_64__)
  std::string arch = "x86_64-pc";
#elif defined(__aarch64__)
  std::string arch = "aarch64-unknown";
#elif defined(__riscv)
  std::string arch = "riscv64-unknown";
#else
  std::string arch = "unknown-unknown";
#endif
#if defined(__APPLE__)
  return arch.substr(0, arch.find('-')) + "-apple-darwin";
#else
  return arch + "-linux-gnu";
#endif
}

}  // namespace loopsmith::target
