// Hardware of this machine, and a table of others: see hardware.h. The kind of a processor is derived from its
// features, not from family and model numbers alone: virtual machines hide features.
#include "target/hardware.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace loopsmith::target {
namespace {

auto read_line(const std::string& path) -> std::string {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The bytes of a size in sysfs: "32K", "2048K", "32M".
auto read_size(const std::string& path) -> uint64_t {
  std::string text = read_line(path);
  uint64_t value = 0;
  size_t i = 0;
  while (i < text.size() && text[i] >= '0' && text[i] <= '9') { value = value * 10 + static_cast<uint64_t>(text[i++] - '0'); }
  if (i < text.size() && text[i] == 'K') { value <<= 10U; }
  if (i < text.size() && text[i] == 'M') { value <<= 20U; }
  if (i < text.size() && text[i] == 'G') { value <<= 30U; }
  return value;
}

/// The number of processors in a list of sysfs: 3 for "0-1,4".
auto count_list(const std::string& text) -> int {
  int count = 0;
  size_t i = 0;
  auto number = [&] { int v = 0; while (i < text.size() && text[i] >= '0' && text[i] <= '9') { v = v * 10 + (text[i++] - '0'); } return v; };
  while (i < text.size()) {
    int first = number();
    int last = first;
    if (i < text.size() && text[i] == '-') { ++i; last = number(); }
    count += last - first + 1;
    if (i < text.size() && text[i] != ',') { break; }
    ++i;
  }
  return std::max(count, 1);
}

void read_caches(Hardware& out) {
  for (int index = 0; index < 8; ++index) {
    std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    std::string type = read_line(folder + "type");
    if (type.empty()) { break; }
    if (type == "Instruction") { continue; }
    Cache cache;
    cache.bytes = read_size(folder + "size");
    cache.line = std::max(16, static_cast<int>(read_size(folder + "coherency_line_size")));
    cache.ways = static_cast<int>(read_size(folder + "ways_of_associativity"));
    cache.shared_by = count_list(read_line(folder + "shared_cpu_list"));
    std::string level = read_line(folder + "level");
    if (level == "1") { out.l1 = cache; }
    if (level == "2") { out.l2 = cache; }
    if (level == "3") { out.l3 = cache; }
  }
}

/// The number of processors that this process may use: containers and taskset limit those of the machine.
auto usable_cores() -> int {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) { return std::max(1, CPU_COUNT(&set)); }
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

#if defined(__x86_64__)
struct Leaf { uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0; };

auto cpuid(uint32_t leaf, uint32_t subleaf = 0) -> Leaf {
  Leaf out;
  if (__get_cpuid_count(leaf, subleaf, &out.eax, &out.ebx, &out.ecx, &out.edx) == 0) { return {}; }
  return out;
}

auto enabled_states() -> uint64_t {
  if ((cpuid(1).ecx & (1U << 27U)) == 0) { return 0; }
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t(high) << 32U) | low;
}

auto ask_features() -> std::vector<HostFeature> {
  Leaf one = cpuid(1);
  Leaf seven = cpuid(7);
  Leaf seven1 = seven.eax >= 1 ? cpuid(7, 1) : Leaf{};
  Leaf ext = cpuid(0x80000001U);
  uint64_t states = enabled_states();
  bool avx = (states & 0x6U) == 0x6U;
  bool zmm = avx && (states & 0xe0U) == 0xe0U;
  bool tiles = (states & 0x60000U) == 0x60000U;
  auto bit = [](uint32_t word, int n) { return ((word >> static_cast<unsigned>(n)) & 1U) != 0; };
  return {
      {"sse4.2", bit(one.ecx, 20)},
      {"popcnt", bit(one.ecx, 23)},
      {"avx", avx && bit(one.ecx, 28)},
      {"f16c", avx && bit(one.ecx, 29)},
      {"fma", avx && bit(one.ecx, 12)},
      {"avx2", avx && bit(seven.ebx, 5)},
      {"bmi", bit(seven.ebx, 3)},
      {"bmi2", bit(seven.ebx, 8)},
      {"lzcnt", bit(ext.ecx, 5)},
      {"avx512f", zmm && bit(seven.ebx, 16)},
      {"avx512dq", zmm && bit(seven.ebx, 17)},
      {"avx512ifma", zmm && bit(seven.ebx, 21)},
      {"avx512cd", zmm && bit(seven.ebx, 28)},
      {"avx512bw", zmm && bit(seven.ebx, 30)},
      {"avx512vl", zmm && bit(seven.ebx, 31)},
      {"avx512vbmi", zmm && bit(seven.ecx, 1)},
      {"avx512vbmi2", zmm && bit(seven.ecx, 6)},
      {"gfni", bit(seven.ecx, 8)},
      {"vaes", avx && bit(seven.ecx, 9)},
      {"vpclmulqdq", avx && bit(seven.ecx, 10)},
      {"avx512vnni", zmm && bit(seven.ecx, 11)},
      {"avx512bitalg", zmm && bit(seven.ecx, 12)},
      {"avx512vpopcntdq", zmm && bit(seven.ecx, 14)},
      {"avx512fp16", zmm && bit(seven.edx, 23)},
      {"amx-bf16", tiles && bit(seven.edx, 22)},
      {"amx-tile", tiles && bit(seven.edx, 24)},
      {"amx-int8", tiles && bit(seven.edx, 25)},
      {"avxvnni", avx && bit(seven1.eax, 4)},
      {"avx512bf16", zmm && bit(seven1.eax, 5)},
  };
}

auto brand() -> std::string {
  std::array<char, 49> text{};
  for (uint32_t i = 0; i < 3; ++i) {
    Leaf leaf = cpuid(0x80000002U + i);
    std::memcpy(text.data() + 16 * i, &leaf, 16);
  }
  std::string out(text.data());
  out.erase(0, std::min(out.find_first_not_of(' '), out.size()));
  while (!out.empty() && out.back() == ' ') { out.pop_back(); }
  return out;
}

struct Kind {
  std::string_view name;
  std::vector<std::string_view> implies;  // those features among the ones of ask_features()
};

/// Sorted, best first. A machine belongs to the first kind whose `needs` it has; -mattr lists the features of `implies` that it lacks.
auto host_kind(const std::vector<HostFeature>& features) -> std::pair<std::string, std::vector<std::string>> {
  auto has = [&](std::string_view name) {
    return std::any_of(features.begin(), features.end(), [&](const HostFeature& f) { return f.name == name && f.present; });
  };
  Leaf vendor = cpuid(0);
  bool amd = vendor.ebx == 0x68747541U;  // "Auth"
  uint32_t signature = cpuid(1).eax;
  uint32_t family = ((signature >> 8U) & 0xfU) + (((signature >> 8U) & 0xfU) == 0xfU ? (signature >> 20U) & 0xffU : 0);
  static const std::vector<std::string_view> v3 = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "popcnt", "sse4.2"};
  static const std::vector<std::string_view> v4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};
  static const std::vector<std::string_view> icelake = {"avx512vnni", "avx512vbmi", "avx512vbmi2", "avx512ifma", "avx512bitalg",
                                                        "avx512vpopcntdq", "gfni", "vaes", "vpclmulqdq"};
  auto join = [](std::initializer_list<std::vector<std::string_view>> lists) {
    std::vector<std::string_view> out;
    for (const auto& list : lists) { out.insert(out.end(), list.begin(), list.end()); }
    return out;
  };
  Kind kind{"x86-64", {}};
  if (has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl") && has("fma")) {
    if (amd && has("avx512bf16")) {
      kind = {"znver4", join({v3, v4, icelake, {"avx512bf16"}})};
    } else if (has("amx-tile") || has("avx512fp16")) {
      kind = {"sapphirerapids", join({v3, v4, icelake, {"avx512bf16", "avx512fp16", "avxvnni", "amx-tile", "amx-int8", "amx-bf16"}})};
    } else if (has("avx512vbmi2") && has("avx512vnni")) {
      kind = {"icelake-server", join({v3, v4, icelake})};
    } else if (has("avx512vnni")) {
      kind = {"cascadelake", join({v3, v4, {"avx512vnni"}})};
    } else {
      kind = {"skylake-avx512", join({v3, v4})};
    }
  } else if (has("avx2") && has("fma")) {
    kind = {amd ? (family >= 25 ? "znver3" : "znver2") : (has("avxvnni") ? "alderlake" : "haswell"), v3};
    if (kind.name == "alderlake") { kind.implies.push_back("avxvnni"); }
  } else if (has("avx")) {
    kind = {"sandybridge", {"avx", "popcnt", "sse4.2"}};
  } else if (has("sse4.2")) {
    kind = {"x86-64-v2", {"popcnt", "sse4.2"}};
  }
  std::vector<std::string> lacks;
  for (std::string_view name : kind.implies) {
    if (!has(name)) { lacks.push_back("-" + std::string(name)); }
  }
  return {std::string(kind.name), lacks};
}
#else
auto ask_features() -> std::vector<HostFeature> { return {}; }
auto brand() -> std::string { return {}; }
auto host_kind(const std::vector<HostFeature>&) -> std::pair<std::string, std::vector<std::string>> { return {"generic", {}}; }
#endif

/// The hardware of processors by name, for targets other than this machine.
struct Row {
  std::string_view cpu;
  int vector_bits;
  int registers;
  int l1_kib, l2_kib, l3_mib;
  std::string_view has;        // fma avx512 vnni bf16 fp16 amx
};
constexpr Row rows[] = {
    {"sapphirerapids", 512, 32, 48, 2048, 60, "fma avx512 vnni bf16 fp16 amx"},
    {"emeraldrapids", 512, 32, 48, 2048, 160, "fma avx512 vnni bf16 fp16 amx"},
    {"graniterapids", 512, 32, 48, 2048, 240, "fma avx512 vnni bf16 fp16 amx"},
    {"icelake-server", 512, 32, 48, 1280, 36, "fma avx512 vnni"},
    {"icelake-client", 512, 32, 48, 512, 8, "fma avx512 vnni"},
    {"rocketlake", 512, 32, 48, 512, 16, "fma avx512 vnni"},
    {"tigerlake", 512, 32, 48, 1280, 12, "fma avx512 vnni"},
    {"cooperlake", 512, 32, 32, 1024, 32, "fma avx512 vnni bf16"},
    {"cascadelake", 512, 32, 32, 1024, 32, "fma avx512 vnni"},
    {"skylake-avx512", 512, 32, 32, 1024, 24, "fma avx512"},
    {"x86-64-v4", 512, 32, 32, 1024, 24, "fma avx512"},
    {"znver5", 512, 32, 48, 1024, 32, "fma avx512 vnni bf16"},
    {"znver4", 512, 32, 32, 1024, 32, "fma avx512 vnni bf16"},
    {"znver3", 256, 16, 32, 512, 32, "fma"},
    {"znver2", 256, 16, 32, 512, 16, "fma"},
    {"znver1", 256, 16, 32, 512, 8, "fma"},
    {"alderlake", 256, 16, 48, 1280, 30, "fma vnni"},
    {"raptorlake", 256, 16, 48, 2048, 36, "fma vnni"},
    {"skylake", 256, 16, 32, 256, 8, "fma"},
    {"broadwell", 256, 16, 32, 256, 8, "fma"},
    {"haswell", 256, 16, 32, 256, 8, "fma"},
    {"core-avx2", 256, 16, 32, 256, 8, "fma"},
    {"x86-64-v3", 256, 16, 32, 256, 8, "fma"},
    {"ivybridge", 256, 16, 32, 256, 8, ""},
    {"sandybridge", 256, 16, 32, 256, 8, ""},
    {"neoverse-n1", 128, 32, 64, 1024, 32, "fma"},
    {"neoverse-n2", 128, 32, 64, 1024, 32, "fma bf16"},
    {"neoverse-v1", 128, 32, 64, 1024, 32, "fma bf16 fp16"},
    {"neoverse-v2", 128, 32, 64, 2048, 64, "fma bf16 fp16"},
    {"cortex-a72", 128, 32, 32, 1024, 0, "fma"},
    {"cortex-a76", 128, 32, 64, 512, 4, "fma fp16"},
    {"apple-m1", 128, 32, 128, 12288, 0, "fma fp16"},
};

/// True when a target has a feature: its last occurrence in -mattr decides, otherwise the kind.
auto is_on(const Target& target, std::string_view feature, bool otherwise) -> bool {
  for (const std::string& f : target.features) {
    if (std::string_view(f).substr(1) == feature) { otherwise = f[0] == '+'; }
  }
  return otherwise;
}

}  // namespace

auto host_features() -> const std::vector<HostFeature>& {
  static const std::vector<HostFeature> features = ask_features();
  return features;
}

auto host() -> const Target& {
  static const Target target = [] {
    auto [cpu, lacks] = host_kind(host_features());
    return Target{.kind = "llvm", .cpu = cpu, .triple = host_triple(), .features = lacks, .cores = usable_cores()};
  }();
  return target;
}

auto hardware(const Target& target) -> Hardware {
  Hardware out;
  const Target& here = host();
  bool this_machine = target.is_host_architecture() && target.cpu == here.cpu;
  std::string_view has;
  switch (target.architecture()) {
    case Architecture::X86_64: out.vector_bits = 128; out.vector_registers = 16; break;
    case Architecture::AArch64: out.vector_bits = 128; out.vector_registers = 32; has = "fma"; break;
    case Architecture::WebAssembly32: out.vector_bits = 128; out.vector_registers = 16; break;
    // Assumes no vector extension, which needs code for any vector length: one double at a time.
    case Architecture::RiscV64: out.vector_bits = 64; out.vector_registers = 32; has = "fma"; break;
    case Architecture::Other: break;
  }
  out.l1.bytes = 32U << 10U;
  out.l2.bytes = 512U << 10U;
  for (const Row& row : rows) {
    if (row.cpu != target.cpu) { continue; }
    out.vector_bits = row.vector_bits;
    out.vector_registers = row.registers;
    out.l1.bytes = uint64_t(row.l1_kib) << 10U;
    out.l2.bytes = uint64_t(row.l2_kib) << 10U;
    out.l3.bytes = uint64_t(row.l3_mib) << 20U;
    has = row.has;
  }
  auto word = [&](std::string_view w) {
    size_t at = has.find(w);
    return at != std::string_view::npos && (at + w.size() == has.size() || has[at + w.size()] == ' ');
  };
  bool amx = is_on(target, "amx-tile", word("amx"));
  out.fma = is_on(target, "fma", word("fma"));
  out.avx512 = is_on(target, "avx512f", word("avx512"));
  out.vnni = is_on(target, "avx512vnni", word("vnni")) || is_on(target, "avxvnni", false);
  out.avx512_bf16 = is_on(target, "avx512bf16", word("bf16"));
  out.avx512_fp16 = is_on(target, "avx512fp16", word("fp16"));
  out.amx_int8 = amx && is_on(target, "amx-int8", word("amx"));
  out.amx_bf16 = amx && is_on(target, "amx-bf16", word("amx"));
  if (target.architecture() == Architecture::X86_64) {
    if (out.avx512) { out.vector_bits = 512; out.vector_registers = 32; }
    else if (is_on(target, "avx2", out.vector_bits >= 256)) { out.vector_bits = 256; out.vector_registers = 16; }
    else if (out.vector_bits > 128 && !is_on(target, "avx", true)) { out.vector_bits = 128; }
    if (!out.avx512 && out.vector_bits > 256) { out.vector_bits = 256; out.vector_registers = 16; }
  }
  if (this_machine) {
    static const Hardware asked = [] {
      Hardware h;
      h.name = brand();
      read_caches(h);
      return h;
    }();
    out.is_this_machine = true;
    out.name = asked.name;
    // If the system reports no size, the table's sizes are used.
    if (asked.l1.bytes > 0) { out.l1 = asked.l1; }
    if (asked.l2.bytes > 0) { out.l2 = asked.l2; }
    if (asked.l3.bytes > 0) { out.l3 = asked.l3; }
  }
  out.cores = target.cores > 0 ? target.cores : (this_machine ? here.cores : 1);
  return out;
}

auto machine_identity() -> std::string {
  Hardware here = hardware(host());
  std::string out = fmt::format("{}|{}|l1={} l2={} l3={}", here.name, host().str(), here.l1.bytes, here.l2.bytes, here.l3.bytes);
  for (const HostFeature& f : host_features()) {
    if (f.present) { out += fmt::format(" {}", f.name); }
  }
  return out;
}

}  // namespace loopsmith::target
