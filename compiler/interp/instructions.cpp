// The vector instructions: see instructions.h.
#include "interp/instructions.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace loopsmith::interp {
namespace {

auto u8(int64_t word, int k) -> int64_t { return static_cast<int64_t>((static_cast<uint64_t>(word) >> (8 * k)) & 0xff); }
auto s8(int64_t word, int k) -> int64_t { return static_cast<int8_t>(u8(word, k)); }
auto s16(int64_t word, int k) -> int64_t { return static_cast<int16_t>((static_cast<uint64_t>(word) >> (16 * k)) & 0xffff); }
auto saturate(int64_t value, int bits) -> int64_t {
  int64_t limit = int64_t{1} << (bits - 1);
  return std::clamp(value, -limit, limit - 1);
}

template <class A, class B>
auto four_bytes(int64_t a, int64_t b, A first, B second) -> int64_t {
  int64_t sum = 0;
  for (int k = 0; k < 4; ++k) { sum += first(a, k) * second(b, k); }
  return sum;
}

// Sums of products of groups of lanes.
template <int group>
auto dot(const Lanes& args, size_t a, size_t b, int lane) -> int64_t {
  int64_t sum = 0;
  for (int k = 0; k < group; ++k) { sum += args.at(a, group * lane + k) * args.at(b, group * lane + k); }
  return sum;
}

auto vpdpbusd(const Lanes& x, int l, int) -> int64_t { return x.at(0, l) + four_bytes(x.at(1, l), x.at(2, l), u8, s8); }
auto vpdpbusds(const Lanes& x, int l, int lanes) -> int64_t { return saturate(vpdpbusd(x, l, lanes), 32); }
auto vpdpwssd(const Lanes& x, int l, int) -> int64_t {
  return x.at(0, l) + s16(x.at(1, l), 0) * s16(x.at(2, l), 0) + s16(x.at(1, l), 1) * s16(x.at(2, l), 1);
}
auto vpdpwssds(const Lanes& x, int l, int lanes) -> int64_t { return saturate(vpdpwssd(x, l, lanes), 32); }
// The odd element comes first, and each sum is rounded to float32. Subnormal inputs count as zero; so does a sum that is below the
// normal numbers when it is rounded with unlimited exponents.
auto vdpbf16ps(const Lanes& x, int l, int) -> double {
  auto without = [](double v, double least) { return std::fabs(v) < least ? std::copysign(0.0, v) : v; };
  auto given = [&](size_t arg, int lane) { return without(x.real(arg, lane), 0x1p-126); };
  double sum = given(0, l);
  for (int k : {1, 0}) { sum = static_cast<float>(without(given(1, 2 * l + k) * given(2, 2 * l + k) + sum, 0x1p-126 - 0x1p-151)); }
  return sum;
}
auto pmaddubs(const Lanes& x, int l, int) -> int64_t { return saturate(dot<2>(x, 0, 1, l), 16); }
auto pmaddw(const Lanes& x, int l, int) -> int64_t { return dot<2>(x, 0, 1, l); }
auto smull(const Lanes& x, int l, int) -> int64_t { return x.at(0, l) * x.at(1, l); }
auto saddlp(const Lanes& x, int l, int) -> int64_t { return x.at(0, 2 * l) + x.at(0, 2 * l + 1); }
auto addp(const Lanes& x, int l, int lanes) -> int64_t {
  size_t from = l < lanes / 2 ? 0 : 1;
  int at = 2 * (l % (lanes / 2));
  return x.at(from, at) + x.at(from, at + 1);
}
auto dot4_acc(const Lanes& x, int l, int) -> int64_t { return x.at(0, l) + dot<4>(x, 1, 2, l); }
auto active_lane(const Lanes& x, int l, int) -> int64_t { return x.at(0, 0) + l < x.at(1, 0) ? 1 : 0; }
auto low_half(const Lanes& x, int l, int) -> int64_t { return x.at(0, l); }
auto high_half(const Lanes& x, int l, int lanes) -> int64_t { return x.at(0, l + lanes); }
auto both_halves(const Lanes& x, int l, int lanes) -> int64_t { return l < lanes / 2 ? x.at(0, l) : x.at(1, l - lanes / 2); }
auto low_half_real(const Lanes& x, int l, int) -> double { return x.real(0, l); }
auto high_half_real(const Lanes& x, int l, int lanes) -> double { return x.real(0, l + lanes); }
auto both_halves_real(const Lanes& x, int l, int lanes) -> double { return l < lanes / 2 ? x.real(0, l) : x.real(1, l - lanes / 2); }
// The last argument is the flag for saturation.
auto sdot4(const Lanes& x, int l, int) -> int64_t {
  int64_t sum = x.at(2, l) + four_bytes(x.at(0, l), x.at(1, l), s8, s8);
  return x.at(3, l) ? saturate(sum, 32) : sum;
}
auto dp4a(const Lanes& x, int, int) -> int64_t { return x.at(2, 0) + dot<4>(x, 0, 1, 0); }
// Each operand is four bytes in a word. CUDA's `__dp4a` of `int` and of `unsigned`; PTX has the mixed forms.
template <auto first, auto second>
auto dp4a_words(const Lanes& x, int, int) -> int64_t { return x.at(2, 0) + four_bytes(x.at(0, 0), x.at(1, 0), first, second); }
auto vrmpyub_acc(const Lanes& x, int l, int) -> int64_t { return x.at(0, l) + four_bytes(x.at(1, l), x.at(2, 0), u8, u8); }
auto vrmpybusv_acc(const Lanes& x, int l, int) -> int64_t { return x.at(0, l) + four_bytes(x.at(1, l), x.at(2, l), u8, s8); }
auto vdmpyhvsat_acc(const Lanes& x, int l, int) -> int64_t {
  int64_t sum = x.at(0, l);
  for (int k = 0; k < 2; ++k) { sum += s16(x.at(1, l), k) * s16(x.at(2, l), k); }
  return saturate(sum, 32);
}

struct Row { std::string_view name; size_t arity; Instruction instruction; };
constexpr Row rows[] = {
    {"llvm.x86.avx512.vpdpbusd.512", 3, vpdpbusd},
    {"llvm.x86.avx512.vpdpbusd.256", 3, vpdpbusd},
    {"llvm.x86.avx512.vpdpbusd.128", 3, vpdpbusd},
    {"llvm.x86.avx512.vpdpbusds.512", 3, vpdpbusds},
    {"llvm.x86.avx512.vpdpwssd.512", 3, vpdpwssd},
    {"llvm.x86.avx512.vpdpwssds.512", 3, vpdpwssds},
    {"llvm.x86.avx512.pmaddubs.w.512", 2, pmaddubs},
    {"llvm.x86.avx512.pmaddw.d.512", 2, pmaddw},
    {"llvm.x86.avx2.pmadd.ub.sw", 2, pmaddubs},
    {"llvm.x86.avx2.pmadd.wd", 2, pmaddw},
    {"llvm.aarch64.neon.smull", 2, smull},
    {"llvm.aarch64.neon.saddlp", 1, saddlp},
    {"llvm.aarch64.neon.addp", 2, addp},
    {"llvm.aarch64.neon.sdot", 3, dot4_acc},
    {"llvm.aarch64.neon.udot", 3, dot4_acc},
    {"llvm.amdgcn.sdot4", 4, sdot4},
    {"llvm.hexagon.V6.vrmpyub.acc.128B", 3, vrmpyub_acc},
    {"llvm.hexagon.V6.vrmpybusv.acc.128B", 3, vrmpybusv_acc},
    {"llvm.hexagon.V6.vdmpyhvsat.acc.128B", 3, vdmpyhvsat_acc},
    {"__dp4a", 3, dp4a},
    {"dp4a", 3, dp4a},
    {"dp4a.s32.s32", 3, dp4a_words<s8, s8>},
    {"dp4a.s32.u32", 3, dp4a_words<s8, u8>},
    {"dp4a.u32.s32", 3, dp4a_words<u8, s8>},
    {"dp4a.u32.u32", 3, dp4a_words<u8, u8>},
    {"get_active_lane_mask", 2, active_lane},
    {"vectorlow", 1, low_half},
    {"vectorhigh", 1, high_half},
    {"vectorcombine", 2, both_halves},
};

struct RealRow { std::string_view name; size_t arity; RealInstruction instruction; };
constexpr RealRow real_rows[] = {
    {"llvm.x86.avx512bf16.dpbf16ps.512", 3, vdpbf16ps},
    {"llvm.x86.avx512bf16.dpbf16ps.256", 3, vdpbf16ps},
    {"llvm.x86.avx512bf16.dpbf16ps.128", 3, vdpbf16ps},
    {"vectorlow", 1, low_half_real},
    {"vectorhigh", 1, high_half_real},
    {"vectorcombine", 2, both_halves_real},
};

template <class Rows>
auto found_in(const Rows& all, std::string_view name, size_t arity) -> decltype(all[0].instruction) {
  for (const auto& row : all) {
    if (row.name == name && row.arity == arity) { return row.instruction; }
  }
  return nullptr;
}

}  // namespace

auto find_instruction(std::string_view name, size_t arity) -> Instruction { return found_in(rows, name, arity); }
auto find_instruction(std::string_view name, const std::vector<DataType>& types) -> Instruction {
  const bool is_dp4a = (name == "dp4a" || name == "__dp4a") && types.size() == 3;
  if (!is_dp4a || types[0].lanes != 1 || types[1].lanes != 1) { return find_instruction(name, types.size()); }
  const std::string of_words = fmt::format("dp4a.{}32.{}32", types[0].is_uint() ? 'u' : 's', types[1].is_uint() ? 'u' : 's');
  return types[0].bits == 32 && types[1].bits == 32 ? find_instruction(of_words, types.size()) : nullptr;
}
auto find_real_instruction(std::string_view name, size_t arity) -> RealInstruction { return found_in(real_rows, name, arity); }

}  // namespace loopsmith::interp
