// Random programs for devices: see device_programs.h.
#include "tests/gate/device_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tests/gate/programs.h"

namespace loopsmith::gate {
namespace {

using Shape = std::vector<int64_t>;

class DeviceProgram {
 public:
  explicit DeviceProgram(Random& random) : random_(random) {}

  auto text() -> std::string {
    dtype_ = random_.pick<std::string>({"float32", "float32", "float32", "float32", "int32", "int32", "float16", "float64", "int8", "uint8", "bfloat16", "int64"});
    switch (random_.below(9)) {
      case 0: chain(); break;
      case 1: transpose(); break;
      case 2: stencil(); break;
      case 3: row_reduction(); break;
      case 4: whole_reduction(); break;
      case 5: normalisation(); break;
      case 6: convolution(); break;
      default: matmul();
    }
    std::string out = "@T.prim_func\ndef main(";
    for (size_t i = 0; i < params_.size(); ++i) { out += (i ? ", " : "") + params_[i]; }
    out += "):\n    T.func_attr({\"tir.noalias\": T.bool(True)})\n    with T.block(\"root\"):\n";
    for (const std::string& a : allocations_) { out += "        " + a + "\n"; }
    return out + body_;
  }

 private:
  /// Sizes that blocks of threads divide, and others.
  auto size() -> int64_t { return random_.pick<int64_t>({1, 3, 8, 8, 16, 16, 17, 24, 30, 32, 32, 33, 48}); }
  auto small() -> int64_t { return random_.pick<int64_t>({2, 3, 4, 5, 8, 8, 16, 16, 17, 24, 32}); }
  auto length() -> int64_t { return random_.pick<int64_t>({16, 32, 33, 64, 64, 96, 100, 128, 250}); }
  static auto list(const Shape& shape) -> std::string {
    std::string out;
    for (int64_t e : shape) { out += std::to_string(e) + ", "; }
    return "(" + out + ")";
  }
  auto parameter(const std::string& name, const Shape& shape) -> std::string {
    params_.push_back(fmt::format("{}: T.Buffer({}, \"{}\")", name, list(shape), dtype_));
    return name;
  }
  auto buffer(const std::string& name, const Shape& shape) -> std::string {
    allocations_.push_back(fmt::format("{} = T.alloc_buffer({}, \"{}\")", name, list(shape), dtype_));
    return name;
  }
  auto number(int64_t n) -> std::string { return fmt::format("T.{}({})", dtype_, n); }
  void line(size_t indent, const std::string& text) { body_ += std::string(8 + 4 * indent, ' ') + text + "\n"; }
  /// A block over axes v0, v1, ...: 'S' spatial, 'R' reduction. An empty `init`: the block has none.
  void block(const std::string& name, const Shape& extents, const std::string& kinds, const std::string& init, const std::string& body) {
    std::string loops, values;
    for (size_t i = 0; i < extents.size(); ++i) {
      loops += fmt::format("{}x{}", i ? ", " : "", i);
      values += fmt::format("{}{}", i ? ", " : "", extents[i]);
    }
    line(0, extents.size() == 1 ? fmt::format("for x0 in range({}):", values) : fmt::format("for {} in T.grid({}):", loops, values));
    line(1, fmt::format("with T.block(\"{}\"):", name));
    for (size_t i = 0; i < extents.size(); ++i) { line(2, fmt::format("v{} = T.axis.{}({}, x{})", i, kinds[i] == 'R' ? "reduce" : "spatial", extents[i], i)); }
    if (!init.empty()) {
      line(2, "with T.init():");
      line(3, init);
    }
    line(2, body);
  }
  auto combined(const std::string& element, const std::string& value) -> std::string {
    return reducer_ == 0 ? fmt::format("{0} = {0} + {1}", element, value) : fmt::format("{0} = T.{2}({0}, {1})", element, value, reducer_ == 1 ? "max" : "min");
  }
  void choose_reducer() { reducer_ = random_.pick<int>({0, 0, 1, 2}); }
  auto identity() -> std::string { return reducer_ == 0 ? number(0) : fmt::format("T.{}_value(\"{}\")", reducer_ == 1 ? "min" : "max", dtype_); }

  void chain() {
    Shape s = random_.chance(40) ? Shape{length()} : Shape{size(), size()};
    const std::string at = s.size() == 1 ? "v0" : "v0, v1";
    const std::string kinds(s.size(), 'S');
    std::string from = parameter("A", s);
    for (int64_t i = 0, n = random_.between(0, 2); i < n; ++i) {
      std::string to = buffer(fmt::format("T{}", i), s);
      block(to, s, kinds, "", fmt::format("{}[{}] = {}[{}] * {}", to, at, from, at, number(random_.between(2, 3))));
      from = to;
    }
    parameter("C", s);
    // The element of another place, for every other program.
    const std::string other = s.size() == 1 && random_.chance(50) ? fmt::format("{} - v0", s[0] - 1) : at;
    block("C", s, kinds, "", fmt::format("C[{}] = {}[{}] + {}", at, from, other, number(1)));
  }
  void transpose() {
    Shape s{size(), size()};
    parameter("A", s);
    parameter("C", {s[1], s[0]});
    block("C", {s[1], s[0]}, "SS", "", "C[v0, v1] = A[v1, v0]");
  }
  void stencil() {
    Shape s{size(), size()};
    const bool is_staged = random_.chance(50);
    parameter("A", {s[0] + 2, s[1] + 2});
    std::string from = "A";
    if (is_staged) {
      from = buffer("B", {s[0] + 2, s[1] + 2});
      block("B", {s[0] + 2, s[1] + 2}, "SS", "", fmt::format("B[v0, v1] = A[v0, v1] * {}", number(2)));
    }
    parameter("C", s);
    block("C", s, "SS", "", fmt::format("C[v0, v1] = {0}[v0, v1] + {0}[v0 + 1, v1] + {0}[v0 + 1, v1 + 2]", from));
  }
  void row_reduction() {
    Shape s{size(), length()};
    choose_reducer();
    parameter("A", s);
    const bool is_last = random_.chance(60);
    if (is_last) { parameter("C", {s[0]}); } else { buffer("C", {s[0]}); }
    block("C", s, "SR", fmt::format("C[v0] = {}", identity()), combined("C[v0]", "A[v0, v1]"));
    if (!is_last) {
      parameter("D", s);
      block("D", s, "SS", "", "D[v0, v1] = A[v0, v1] - C[v0]");
    }
  }
  void whole_reduction() {
    choose_reducer();
    if (random_.chance(50)) {
      Shape s{size(), size()};
      parameter("A", s);
      parameter("C", {1});
      block("C", s, "RR", fmt::format("C[0] = {}", identity()), combined("C[0]", "A[v0, v1]"));
      return;
    }
    const int64_t n = random_.pick<int64_t>({64, 128, 250, 256, 512, 1000, 1024});
    parameter("A", {n});
    parameter("C", {1});
    block("C", {n}, "R", fmt::format("C[0] = {}", identity()), combined("C[0]", "A[v0]"));
  }
  void normalisation() {
    Shape s{random_.pick<int64_t>({1, 3, 4, 8, 9}), length()};
    parameter("A", s);
    buffer("L", {s[0]});
    buffer("S", {s[0]});
    parameter("C", s);
    const bool is_real = dtype_ == "float32" || dtype_ == "float64";
    const std::string term = is_real && random_.chance(30) ? "T.exp(A[v0, v1] - L[v0])" : "(A[v0, v1] - L[v0])";
    block("L", s, "SR", fmt::format("L[v0] = T.min_value(\"{}\")", dtype_), "L[v0] = T.max(L[v0], A[v0, v1])");
    block("S", s, "SR", fmt::format("S[v0] = {}", number(0)), fmt::format("S[v0] = S[v0] + {}", term));
    block("C", s, "SS", "", fmt::format("C[v0, v1] = {} + S[v0]", term));
  }
  void convolution() {
    const int64_t n = length(), k = random_.pick<int64_t>({2, 3, 5}), c = random_.pick<int64_t>({1, 4, 8});
    parameter("A", {n + k - 1, c});
    parameter("W", {k, c});
    parameter("C", {n});
    block("C", {n, k, c}, "SRR", fmt::format("C[v0] = {}", number(0)), "C[v0] = C[v0] + A[v0 + v1, v2] * W[v1, v2]");
  }
  void matmul() {
    const int64_t batch = random_.chance(20) ? random_.between(2, 3) : 0;
    Shape s{small(), small(), small()};
    const bool has_epilogue = random_.chance(35), is_transposed = random_.chance(30);
    Shape a{s[0], s[2]}, b = is_transposed ? Shape{s[1], s[2]} : Shape{s[2], s[1]}, c{s[0], s[1]};
    if (batch) {
      for (Shape* shape : {&s, &a, &b, &c}) { shape->insert(shape->begin(), batch); }
    }
    parameter("A", a);
    parameter("B", b);
    if (has_epilogue) { buffer("C", c); } else { parameter("C", c); }
    const std::string body = batch ? fmt::format("C[v0, v1, v2] = C[v0, v1, v2] + A[v0, v1, v3] * {}", is_transposed ? "B[v0, v2, v3]" : "B[v0, v3, v2]")
                                   : fmt::format("C[v0, v1] = C[v0, v1] + A[v0, v2] * {}", is_transposed ? "B[v1, v2]" : "B[v2, v1]");
    const std::string at = batch ? "v0, v1, v2" : "v0, v1";
    block("C", s, batch ? "SSSR" : "SSR", fmt::format("C[{}] = {}", at, number(0)), body);
    if (has_epilogue) {
      parameter("bias", {c.back()});
      parameter("D", c);
      block("D", c, std::string(c.size(), 'S'), "", fmt::format("D[{0}] = T.max(C[{0}] + bias[{1}], {2})", at, batch ? "v2" : "v1", number(0)));
    }
  }

  Random& random_;
  std::string dtype_;
  std::string body_;
  std::vector<std::string> params_, allocations_;
  int reducer_ = 0;                // 0: sum, 1: maximum, 2: minimum
};

/// A kernel as a person writes it: tiles come by asynchronous copies, some iterations ahead, and each thread adds elements that other threads copied.
auto kernel_of_copies(Random& random) -> std::string {
  const std::string dtype = random.pick<std::string>({"float32", "int32"});
  const int64_t threads = random.pick<int64_t>({8, 32, 33}), tiles = random.between(1, 5), stages = random.between(1, 3), width = random.pick<int64_t>({1, 2, 4});
  const int64_t tile = threads * width, ahead = stages - 1, bytes = width * 4;
  std::string out = fmt::format("@T.prim_func\ndef main(A: T.Buffer(({},), \"{}\"), C: T.Buffer(({},), \"{}\")):\n    T.func_attr({{\"tir.noalias\": T.bool(True)}})\n", tile * tiles, dtype, tile, dtype);
  auto line = [&](int indent, const std::string& text) { out += std::string(static_cast<size_t>(4 * indent), ' ') + text + "\n"; };
  auto copy = [&](int indent, const std::string& number) {
    line(indent, fmt::format("T.ptx_cp_async(\"{0}\", S.data, ({1}) % {2} * {3} + tx * {4}, A.data, ({1}) * {3} + tx * {4}, {5})", dtype, number, stages, tile, width, bytes));
  };
  line(1, fmt::format("tx = T.launch_thread(\"threadIdx.x\", {})", threads));
  line(1, fmt::format("data = T.allocate([{}], \"{}\", \"shared\")", stages * tile, dtype));
  line(1, fmt::format("S = T.Buffer(({},), \"{}\", data=data, scope=\"shared\")", stages * tile, dtype));
  line(1, fmt::format("for j in range({}):", width));
  line(2, fmt::format("C[tx * {} + j] = T.{}(0)", width, dtype));
  for (int64_t i = 0; i < std::min(ahead, tiles); ++i) {
    copy(1, std::to_string(i));
    line(1, "T.ptx_commit_group()");
  }
  for (int64_t i = tiles; i < ahead; ++i) { line(1, "T.ptx_commit_group()"); }
  line(1, fmt::format("for k in range({}):", tiles));
  if (tiles > ahead) {
    line(2, fmt::format("if k < {}:", tiles - ahead));
    copy(3, fmt::format("k + {}", ahead));
  }
  line(2, "T.ptx_commit_group()");
  line(2, fmt::format("T.ptx_wait_group({})", ahead));
  line(2, "T.tvm_storage_sync(\"shared\")");
  line(2, fmt::format("for j in range({}):", width));
  line(3, fmt::format("C[tx * {0} + j] = C[tx * {0} + j] + S[k % {1} * {2} + ({2} - 1 - tx * {0} - j)]", width, stages, tile));
  line(2, "T.tvm_storage_sync(\"shared\")");
  return out;
}

}  // namespace

auto random_device_program(Random& random) -> std::string {
  if (random.chance(6)) { return kernel_of_copies(random); }
  if (random.chance(25)) {
    Generated generated = random_program(random);
    // Kernels have no results: the text of a device has no words for a return.
    if (generated.units.empty() && generated.program.find("return") == std::string::npos && generated.program.find("T.ret") == std::string::npos) { return generated.program; }
  }
  return DeviceProgram(random).text();
}

}  // namespace loopsmith::gate
