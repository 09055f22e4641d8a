// Random programs: see programs.h.
#include "tests/gate/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "frontend/file.h"
#include "intrinsics/registry.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "support/codes.h"
#include "syntax/document.h"

namespace loopsmith::gate {
namespace {

using Shape = std::vector<int64_t>;

struct Tensor {
  std::string name;
  Shape shape;
  std::string dtype;
};

class Program {
 public:
  explicit Program(Random& random) : random_(random) {}

  auto make() -> Generated {
    std::string program = text();
    return {units_, std::move(program)};
  }

 private:
  auto text() -> std::string {
    dtype_ = random_.pick<std::string>({"float32", "float32", "float32", "float32", "float32", "float64", "float16", "bfloat16", "int32", "int16", "int64", "int8", "uint8"});
    // Choose among all widths of a type that wraps around, instead of only the shortest.
    Random other{hash_combine(random_.state, 0x7e)};
    if (dtype_ == "uint8") { dtype_ = other.pick<std::string>({"uint8", "uint16", "uint32", "uint64"}); }
    is_real_ = dtype_[0] == 'f' || dtype_[0] == 'b';
    symbolic_ = random_.chance(6);
    if (symbolic_) {
      symbolic_program();
    } else {
      made_.push_back(parameter(random_shape()));
      int64_t stages = random_.between(1, 4);
      // A quarter of the programs have jumps, `while` loops, assertions and plain statements between their blocks.
      Random other_kind{hash_combine(random_.state, 0x2b)};
      const bool is_loose = other_kind.chance(25);
      for (int64_t i = 0; i < stages; ++i) {
        if (is_loose && random_.chance(60)) { loose_stage(); } else { stage(i == stages - 1); }
      }
    }
    std::string body = "@T.prim_func\ndef main(";
    for (size_t i = 0; i < params_.size(); ++i) { body += (i ? ", " : "") + params_[i]; }
    body += "):\n    T.func_attr({\"tir.noalias\": T.bool(True)})\n" + prologue_ + "    with T.block(\"root\"):\n";
    for (const std::string& a : allocations_) { body += "        " + a + "\n"; }
    body += body_;
    if (!random_.chance(4)) { return body; }
    // Adds another function to the module.
    std::string module = "@I.ir_module\nclass Module:\n";
    std::istringstream lines(body + "@T.prim_func\ndef beside(A: T.Buffer((4,), \"float32\")):\n    for i in range(4):\n        with T.block(\"beside\"):\n"
                                    "            vi = T.axis.spatial(4, i)\n            A[vi] = T.float32(vi)\n");
    for (std::string line; std::getline(lines, line);) { module += "    " + line + "\n"; }
    return module;
  }

  auto size() -> int64_t { return random_.pick<int64_t>({1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16}); }
  auto random_shape() -> Shape {
    int64_t rank = random_.pick<int64_t>({1, 2, 2, 2, 2, 3, 3, 4});
    Shape out;
    for (int64_t i = 0; i < rank; ++i) { out.push_back(rank < 3 ? size() : random_.between(1, rank < 4 ? 6 : 4)); }
    return out;
  }
  static auto tuple(const Shape& shape) -> std::string {
    std::string out = "(";
    for (int64_t e : shape) { out += std::to_string(e) + ", "; }
    return out + ")";
  }
  auto parameter(Shape shape, std::string dtype = "") -> Tensor {
    Tensor t{fmt::format("P{}", params_.size()), std::move(shape), dtype.empty() ? dtype_ : dtype};
    params_.push_back(fmt::format("{}: T.Buffer({}, \"{}\")", t.name, tuple(t.shape), t.dtype));
    return t;
  }
  // The buffer that a stage writes: for the last stage (sometimes earlier) a parameter, else a buffer of the function; rarely of a narrower type.
  auto result(Shape shape, bool last, std::string dtype = "") -> Tensor {
    if (dtype.empty() && is_real_ && random_.chance(5)) { dtype = random_.pick<std::string>({"float16", "bfloat16", "e4m3_float8", "e5m2_float8"}); }
    if (last || random_.chance(10)) { return parameter(std::move(shape), dtype); }
    Tensor t{fmt::format("T{}", allocations_.size()), std::move(shape), dtype.empty() ? dtype_ : dtype};
    allocations_.push_back(fmt::format("{} = T.alloc_buffer({}, \"{}\")", t.name, tuple(t.shape), t.dtype));
    return t;
  }
  // An element, cast to the program's type.
  auto load(const Tensor& t, const std::string& at) -> std::string {
    std::string text = fmt::format("{}[{}]", t.name, at);
    return t.dtype == dtype_ ? text : fmt::format("T.Cast(\"{}\", {})", dtype_, text);
  }
  void store(int indent, const Tensor& t, const std::string& at, const std::string& value) {
    line(indent, fmt::format("{}[{}] = {}", t.name, at, t.dtype == dtype_ ? value : fmt::format("T.Cast(\"{}\", {})", t.dtype, value)));
  }
  auto number(int64_t value) -> std::string { return fmt::format("T.{}({})", dtype_, value); }
  auto constant() -> std::string { return number(random_.between(1, 3)); }
  void line(int indent, const std::string& text) { body_ += std::string(static_cast<size_t>(8 + 4 * indent), ' ') + text + "\n"; }
  static auto axes(size_t n, size_t from = 0) -> std::string {
    std::string out;
    for (size_t i = 0; i < n; ++i) { out += fmt::format("{}v{}", i ? ", " : "", from + i); }
    return out;
  }
  // Writes loops and the head of a block over axes: 'S' spatial, 'R' reduction. Returns the indentation of the body.
  auto block(const Shape& extents, std::string kinds = "") -> int {
    kinds.resize(extents.size(), 'S');
    int indent = 0;
    std::string name = fmt::format("B{}", blocks_++);
    if (extents.empty()) {
      line(0, fmt::format("with T.block(\"{}\"):", name));
      return 1;
    }
    bool threads = random_.chance(3);
    std::string loops, values;
    for (size_t i = 0; i < extents.size(); ++i) {
      loops += fmt::format("{}x{}", i ? ", " : "", i);
      values += fmt::format("{}{}", i ? ", " : "", extents[i]);
    }
    if (extents.size() == 1 || threads) {
      for (size_t i = 0; i < extents.size(); ++i) {
        bool bound = threads && i == 0 && kinds[0] == 'S';
        line(indent++, bound ? fmt::format("for x{} in T.thread_binding({}, thread=\"blockIdx.x\"):", i, extents[i]) : fmt::format("for x{} in range({}):", i, extents[i]));
      }
    } else {
      line(indent++, fmt::format("for {} in T.grid({}):", loops, values));
    }
    line(indent++, fmt::format("with T.block(\"{}\"):", name));
    for (size_t i = 0; i < extents.size(); ++i) {
      line(indent, fmt::format("v{} = T.axis.{}({}, x{})", i, kinds[i] == 'R' ? "reduce" : "spatial", extents[i], i));
    }
    return indent;
  }
  // A tensor that an earlier stage wrote, with at least this many dimensions, or else a new parameter.
  auto input(size_t least, size_t most = 4) -> Tensor {
    std::vector<Tensor> fit;
    for (const Tensor& t : made_) { if (t.shape.size() >= least && t.shape.size() <= most) { fit.push_back(t); } }
    if (!fit.empty() && !random_.chance(15)) { return random_.chance(60) ? fit.back() : random_.pick(fit); }
    Shape shape;
    for (size_t i = 0; i < std::max(least, std::min<size_t>(most, 2)); ++i) { shape.push_back(least > 2 ? random_.between(1, 6) : size()); }
    made_.push_back(parameter(std::move(shape)));
    return made_.back();
  }
  auto like(const Tensor& t) -> Tensor {
    std::vector<Tensor> fit;
    for (const Tensor& o : made_) { if (o.shape == t.shape) { fit.push_back(o); } }
    return fit.empty() ? t : random_.pick(fit);
  }
  static auto permuted(const std::vector<size_t>& order) -> std::string {
    std::string out;
    for (size_t i = 0; i < order.size(); ++i) { out += fmt::format("{}v{}", i ? ", " : "", order[i]); }
    return out;
  }
  void reduce(const Tensor& in, size_t axis, const Tensor& out, int kind) {
    Shape extents;
    std::vector<std::string> at(in.shape.size());
    for (size_t i = 0; i < in.shape.size(); ++i) {
      if (i == axis) { continue; }
      at[i] = fmt::format("v{}", extents.size());
      extents.push_back(in.shape[i]);
    }
    size_t n = extents.size();
    at[axis] = fmt::format("v{}", n);
    extents.push_back(in.shape[axis]);
    int b = block(extents, std::string(n, 'S') + "R");
    std::string indices;
    for (size_t i = 0; i < at.size(); ++i) { indices += (i ? ", " : "") + at[i]; }
    std::string to = n ? axes(n) : "0";
    line(b, "with T.init():");
    store(b + 1, out, to, kind == 0 ? number(0) : fmt::format("T.{}_value(\"{}\")", kind == 1 ? "min" : "max", dtype_));
    std::string old = load(out, to), value = load(in, indices);
    store(b, out, to, kind == 0 ? fmt::format("{} + {}", old, value) : fmt::format("T.{}({}, {})", kind == 1 ? "max" : "min", old, value));
  }
  // An index computed from one in range: neighbours, halves, and expressions that simplify to it.
  auto clamped(const std::string& v, int64_t extent) -> std::string {
    switch (random_.below(7)) {
      case 0: return fmt::format("T.max({} - 1, 0)", v);
      case 1: return fmt::format("T.min({} + {}, {})", v, random_.between(0, 2), extent - 1);
      case 2: return fmt::format("T.max(T.min({}, {}), 0)", v, extent - 1);
      case 3: return extent < 2 ? v : fmt::format("({} - {}) // {} + 1", v, random_.between(1, extent), extent);
      case 4: return fmt::format("({} + {}) % {}", v, random_.between(0, 3), extent);
      case 5: return fmt::format("({} * 2 - {}) // 2", v, random_.below(1));
      default: return v;
    }
  }
  void symbolic_program() {
    params_ = {"p: T.handle", "q: T.handle", "n: T.int32"};
    int64_t c = size();
    prologue_ = fmt::format("    A = T.match_buffer(p, (n, {0}), \"{1}\")\n    C = T.match_buffer(q, (n, {0}), \"{1}\")\n", c, dtype_);
    allocations_.push_back(fmt::format("B = T.alloc_buffer((n, {}), \"{}\")", c, dtype_));
    line(0, fmt::format("for x0, x1 in T.grid(n, {}):", c));
    line(1, "with T.block(\"B0\"):");
    line(2, "v0 = T.axis.spatial(n, x0)");
    line(2, fmt::format("v1 = T.axis.spatial({}, x1)", c));
    line(2, fmt::format("B[v0, v1] = A[v0, v1] * {}", constant()));
    line(0, fmt::format("for x0, x1 in T.grid(n, {}):", c));
    line(1, "with T.block(\"B1\"):");
    line(2, "v0 = T.axis.spatial(n, x0)");
    line(2, fmt::format("v1 = T.axis.spatial({}, x1)", c));
    line(2, fmt::format("C[v0, v1] = B[v0, v1] + A[v0, {} - v1]", c - 1));
  }

  // Writes loops over tiles and within a tile, and a block over both: `v0 = T.axis.spatial(m * tiles, y0 * m + x0)`. Returns the indentation of the body.
  auto tiled_block(const Shape& counts, const Shape& tile, const std::string& kinds) -> int {
    int indent = 0;
    for (size_t i = 0; i < counts.size(); ++i) { if (counts[i] > 1) { line(indent++, fmt::format("for y{} in range({}):", i, counts[i])); } }
    for (size_t i = 0; i < tile.size(); ++i) { line(indent++, fmt::format("for x{} in range({}):", i, tile[i])); }
    line(indent++, fmt::format("with T.block(\"B{}\"):", blocks_++));
    for (size_t i = 0; i < counts.size(); ++i) {
      line(indent, fmt::format("v{0} = T.axis.{1}({2}, {3}x{0})", i, kinds[i] == 'R' ? "reduce" : "spatial", counts[i] * tile[i], counts[i] > 1 ? fmt::format("y{} * {} + ", i, tile[i]) : ""));
    }
    return indent;
  }
  // A program of tiles that a tensor intrinsic can compute: a built-in dot product, or a product or map that the file registers.
  void tiles(bool last) {
    Shape counts{random_.between(1, 2), random_.between(1, 2), random_.between(1, 2)};
    bool adds = random_.chance(60);                       // to the present content; else starting from zero
    if (random_.chance(40)) {
      counts[2] = 1;                                      // units need contiguous rows of four bytes
      struct Dot { const char* a; const char* b; const char* c; int64_t lanes; };
      Dot dot = random_.pick<Dot>({{"uint8", "int8", "int32", 16}, {"int8", "int8", "int32", 4}, {"uint8", "uint8", "uint32", 4}});
      Tensor a = parameter({counts[0], counts[2] * 4}, dot.a), b = parameter({counts[1] * dot.lanes, counts[2] * 4}, dot.b), c = parameter({counts[0], counts[1] * dot.lanes}, dot.c);
      int at = 0;
      line(at++, fmt::format("for y0 in range({}):", counts[0]));
      line(at++, fmt::format("for y1, y2 in T.grid({}, {}):", counts[1], counts[2]));
      line(at++, fmt::format("for x0, x1 in T.grid({}, 4):", dot.lanes));
      line(at++, fmt::format("with T.block(\"B{}\"):", blocks_++));
      line(at, fmt::format("v0 = T.axis.spatial({}, y0)", counts[0]));
      line(at, fmt::format("v1 = T.axis.spatial({0}, y1 * {1} + x0)", counts[1] * dot.lanes, dot.lanes));
      line(at, fmt::format("v2 = T.axis.reduce({}, y2 * 4 + x1)", counts[2] * 4));
      if (!adds) {
        line(at, "with T.init():");
        line(at + 1, fmt::format("{}[v0, v1] = T.{}(0)", c.name, dot.c));
      }
      line(at, fmt::format("{0}[v0, v1] = {0}[v0, v1] + T.Cast(\"{3}\", {1}[v0, v2]) * T.Cast(\"{3}\", {2}[v1, v2])", c.name, a.name, b.name, dot.c));
      return;
    }
    std::string of = fmt::format(", \"{}\", offset_factor=1)", dtype_);
    Shape tile{random_.between(1, 4), random_.between(2, 4), random_.between(2, 4)};
    if (random_.chance(40)) {                             // a map of elements
      counts.pop_back();
      tile.pop_back();
      Shape whole{counts[0] * tile[0], counts[1] * tile[1]};
      Tensor in = parameter(whole), out = result(whole, last, dtype_);
      std::string value = fmt::format("{{}} * {} + {}", constant(), constant());
      int b = tiled_block(counts, tile, "SS");
      store(b, out, "v0, v1", fmt::format(fmt::runtime(value), load(in, "v0, v1")));
      std::string regions = fmt::format("        T.reads(A[0:{0}, 0:{1}])\n        T.writes(C[0:{0}, 0:{1}])\n", tile[0], tile[1]);
      std::string params = fmt::format("(A: T.Buffer(({0}, {1}){2}, C: T.Buffer(({0}, {1}){2}):\n    with T.block(\"root\"):\n", tile[0], tile[1], of) + regions;
      std::string on_row = fmt::format("A[i, 0:{0}] * T.Broadcast({1}, {0}) + T.Broadcast({2}, {0})", tile[1], value.substr(5, value.find(" + ") - 5), value.substr(value.find(" + ") + 3));
      units_ = fmt::format("@T.prim_func\ndef map_tile{0}        for i, j in T.grid({1}, {2}):\n            with T.block(\"tile\"):\n"
                           "                vi, vj = T.axis.remap(\"SS\", [i, j])\n                C[vi, vj] = {3}\n"
                           "@T.prim_func\ndef map_unit{0}        for i in range({1}):\n            C[i, 0:{2}] = {4}\n"
                           "TensorIntrin.register(\"map\", map_tile, map_unit)\n",
                           params, tile[0], tile[1], fmt::format(fmt::runtime(value), "A[vi, vj]"), on_row);
      made_.push_back(out);
      return;
    }
    bool is_transposed = random_.chance(30);
    int64_t m = counts[0] * tile[0], n = counts[1] * tile[1], k = counts[2] * tile[2];
    Tensor a = parameter({m, k}), b = parameter(is_transposed ? Shape{n, k} : Shape{k, n});
    Tensor c = adds ? parameter({m, n}) : result({m, n}, last, dtype_);
    int at = tiled_block(counts, tile, "SSR");
    if (!adds) {
      line(at, "with T.init():");
      store(at + 1, c, "v0, v1", number(0));
    }
    store(at, c, "v0, v1", fmt::format("{} + {} * {}", load(c, "v0, v1"), load(a, "v0, v2"), load(b, is_transposed ? "v1, v2" : "v2, v1")));
    std::string second = is_transposed ? fmt::format("{}, {}", tile[1], tile[2]) : fmt::format("{}, {}", tile[2], tile[1]);
    std::string part = is_transposed ? fmt::format("0:{}, 0:{}", tile[1], tile[2]) : fmt::format("0:{}, 0:{}", tile[2], tile[1]);
    std::string params = fmt::format("(A: T.Buffer(({0}, {2}){4}, B: T.Buffer(({3}){4}, C: T.Buffer(({0}, {1}){4}):\n    with T.block(\"root\"):\n"
                                     "        T.reads(C[0:{0}, 0:{1}], A[0:{0}, 0:{2}], B[{5}])\n        T.writes(C[0:{0}, 0:{1}])\n",
                                     tile[0], tile[1], tile[2], second, of, part);
    // The implementation traverses the tile in another order than the description.
    units_ = fmt::format("@T.prim_func\ndef product_tile{0}        for i, j, k in T.grid({1}, {2}, {3}):\n            with T.block(\"tile\"):\n"
                         "                vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[{4}]\n"
                         "@T.prim_func\ndef product_unit{0}        for k, i, j in T.grid({3}, {1}, {2}):\n            C[i, j] = C[i, j] + A[i, k] * B[{5}]\n"
                         "TensorIntrin.register(\"product\", product_tile, product_unit)\n",
                         params, tile[0], tile[1], tile[2], is_transposed ? "vj, vk" : "vk, vj", is_transposed ? "j, k" : "k, j");
    made_.push_back(c);
  }

  // A condition on an element that is true for some inputs.
  auto some_condition(const Tensor& t, const std::string& at) -> std::string {
    return fmt::format("{} {} {}", load(t, at), random_.pick<std::string>({"<", ">", "=="}), number(random_.between(t.dtype[0] == 'u' ? 1 : -2, 2)));
  }
  auto jump() -> std::string { return random_.chance(50) ? "break" : "continue"; }
  // A buffer of its own type for plain statements, with the statement that writes its first element.
  auto scratch(int64_t size, const std::string& dtype) -> std::string {
    std::string name = fmt::format("S{}", allocations_.size());
    allocations_.push_back(fmt::format("{} = T.alloc_buffer(({},), \"{}\")", name, size, dtype));
    return name;
  }
  // A loop of plain statements. The iterations are independent, so the loop may have any kind.
  auto plain_loop(int indent, const std::string& var, int64_t extent) -> int {
    line(indent, fmt::format("for {} in {}({}):", var, random_.pick<std::string>({"range", "T.serial", "T.parallel", "T.vectorized", "T.unroll"}), extent));
    return indent + 1;
  }

  // Statements outside of blocks, and jumps. Results are parameters, so unwritten elements keep their values.
  void loose_stage() {
    Tensor in = input(2, 2);
    if (in.dtype != dtype_) { in = parameter({size(), size()}); }
    int64_t r = in.shape[0], c = in.shape[1];
    Tensor out = parameter({r, c});
    // More instances than primitives enumerate.
    if (random_.chance(4)) {
      r = 96;
      c = 90;
      in = parameter({r, c});
      out = parameter({r, c});
    }
    auto head = [&](int at, const char* kind = "spatial") {
      line(at, fmt::format("with T.block(\"B{}\"):", blocks_++));
      line(at + 1, fmt::format("v0 = T.axis.spatial({}, x0)", r));
      line(at + 1, fmt::format("v1 = T.axis.{}({}, x1)", kind, c));
      return at + 1;
    };
    auto loops = [&] {
      line(0, fmt::format("for x0 in range({}):", r));
      line(1, fmt::format("for x1 in range({}):", c));
      return 2;
    };
    const std::string value = fmt::format("{} + {}", load(in, "v0, v1"), constant());
    switch (random_.below(16)) {
      case 0: case 1: {   // a block that leaves the loops around it
        int b = head(loops());
        line(b, fmt::format("if {}:", some_condition(random_.chance(70) ? in : out, "v0, v1")));
        line(b + 1, jump());
        store(b, out, "v0, v1", value);
        break;
      }
      case 2: {   // a jump before or after the inner loop
        line(0, fmt::format("for x0 in range({}):", r));
        bool is_first = random_.chance(60);
        auto leave = [&] {
          line(1, fmt::format("if {}:", some_condition(in, "x0, 0")));
          line(2, jump());
        };
        if (is_first) { leave(); }
        line(1, fmt::format("for x1 in range({}):", c));
        store(head(2), out, "v0, v1", value);
        if (!is_first) { leave(); }
        break;
      }
      case 3: case 4: {   // a loop inside a block ends early; the block still completes
        line(0, fmt::format("for x0 in range({}):", r));
        line(1, fmt::format("with T.block(\"B{}\"):", blocks_++));
        line(2, fmt::format("v0 = T.axis.spatial({}, x0)", r));
        line(2, fmt::format("for i in range({}):", c));
        bool is_early = random_.chance(60);
        if (!is_early) { store(3, out, "v0, i", load(in, "v0, i")); }
        line(3, fmt::format("if {}:", random_.chance(60) ? some_condition(in, "v0, i") : fmt::format("{} < v0 + i", random_.between(0, r + c))));
        line(4, jump());
        if (is_early) { store(3, out, "v0, i", fmt::format("{} * {}", load(in, "v0, i"), constant())); }
        break;
      }
      case 5: {   // a `while` inside of a block
        line(0, fmt::format("for x0 in range({}):", r));
        line(1, fmt::format("with T.block(\"B{}\"):", blocks_++));
        line(2, fmt::format("v0 = T.axis.spatial({}, x0)", r));
        std::string n = fmt::format("n{}", blocks_);
        line(2, fmt::format("{} = T.alloc_buffer((1,), \"int32\")", n));
        line(2, fmt::format("{}[0] = 0", n));
        line(2, fmt::format("while {}[0] < {}:", n, c));
        if (random_.chance(50)) {
          line(3, fmt::format("if {}:", some_condition(in, fmt::format("v0, {}[0]", n))));
          line(4, "break");
        }
        store(3, out, fmt::format("v0, {}[0]", n), fmt::format("{} + {}", load(in, fmt::format("v0, {}[0]", n)), constant()));
        line(3, fmt::format("{0}[0] = {0}[0] + 1", n));
        break;
      }
      case 6: {   // a `while` loop around blocks
        std::string n = scratch(1, "int32");
        line(0, fmt::format("{}[0] = 0", n));
        line(0, fmt::format("while {}[0] < {}:", n, random_.between(1, 3)));
        line(1, fmt::format("for x0, x1 in T.grid({}, {}):", r, c));
        int b = head(2);
        store(b, out, "v0, v1", fmt::format("{} + {}", load(random_.chance(50) ? out : in, "v0, v1"), load(in, "v0, v1")));
        line(1, fmt::format("{0}[0] = {0}[0] + 1", n));
        break;
      }
      case 7: {   // an early return
        if (random_.chance(60)) {
          line(0, fmt::format("if {}:", some_condition(in, "0, 0")));
          line(1, "T.evaluate(T.ret(0))");
          store(head(loops()), out, "v0, v1", value);
          break;
        }
        int b = head(loops());
        store(b, out, "v0, v1", value);
        line(b, fmt::format("if {}:", some_condition(in, "v0, v1")));
        line(b + 1, "T.evaluate(T.ret(0))");
        break;
      }
      case 8: {   // an assertion that holds
        bool is_in_block = random_.chance(50);
        int at = loops();
        std::string text = fmt::format("assert {}, \"holds\"", is_in_block ? fmt::format("v0 < {}", r) : fmt::format("x0 + x1 < {}", r + c));
        if (!is_in_block) { line(at, text); }
        int b = head(at);
        if (is_in_block) { line(b, text); }
        store(b, out, "v0, v1", value);
        break;
      }
      case 9: case 10: {   // scratch memory of a loop of plain statements
        bool is_row = random_.chance(50);
        std::string s = scratch(is_row ? c : random_.between(1, 2), dtype_);
        int at = plain_loop(0, "i", r);
        Tensor row{s, {c}, dtype_};
        if (is_row) {
          line(at, fmt::format("for j in range({}):", c));
          store(at + 1, row, "j", fmt::format("{} * {}", load(in, "i, j"), constant()));
        } else {
          store(at, row, "0", fmt::format("{} * {}", load(in, "i, 0"), constant()));
        }
        if (random_.chance(20)) {
          line(at, fmt::format("if {}:", some_condition(in, "i, 0")));
          line(at + 1, "continue");
        }
        line(at, fmt::format("for j in range({}):", c));
        store(at + 1, out, "i, j", fmt::format("{} + {}", load(row, is_row ? fmt::format("{} - j", c - 1) : "0"), load(in, "i, j")));
        break;
      }
      case 11: {   // a plain statement before a block that reads its result
        std::string s = scratch(c, dtype_);
        Tensor row{s, {c}, dtype_};
        line(0, fmt::format("for x0 in range({}):", r));
        line(1, fmt::format("for j in range({}):", c));
        store(2, row, "j", fmt::format("{} * {}", load(in, "x0, j"), constant()));
        line(1, fmt::format("for x1 in range({}):", c));
        int b = head(2);
        store(b, out, "v0, v1", fmt::format("{} - {}", load(in, "v0, v1"), load(row, random_.chance(50) ? "v1" : fmt::format("{} - v1", c - 1))));
        break;
      }
      case 12: {   // a plain statement after a block, which reads the block's result
        Tensor made = result({r, c}, false, dtype_);
        int at = loops();
        int b = head(at);
        store(b, made, "v0, v1", value);
        bool is_inside = random_.chance(50);
        if (is_inside) {
          store(2, out, "x0, x1", fmt::format("{} * {}", load(made, "x0, x1"), constant()));
        } else {
          line(0, fmt::format("for i, j in T.grid({}, {}):", r, c));
          store(1, out, "i, j", fmt::format("{} - {}", load(made, "i, j"), load(in, "i, j")));
        }
        made_.push_back(made);
        break;
      }
      case 13: {   // plain statements that compute a counter for blocks
        std::string n = scratch(1, dtype_);
        Tensor count{n, {1}, dtype_};
        store(0, count, "0", number(0));
        line(0, fmt::format("for x0 in range({}):", r));
        store(1, count, "0", fmt::format("{} + {}", load(count, "0"), load(in, "x0, 0")));
        line(1, fmt::format("for x1 in range({}):", c));
        int b = head(2);
        store(b, out, "v0, v1", fmt::format("{} + {}", load(in, "v0, v1"), load(count, "0")));
        break;
      }
      case 14: {   // a loop of plain statements between two blocks
        Tensor first = result({r, c}, false, dtype_);
        store(head(loops()), first, "v0, v1", value);
        int at = plain_loop(0, "i", r);
        if (random_.chance(30)) {
          line(at, fmt::format("if {}:", some_condition(in, "i, 0")));
          line(at + 1, "continue");
        }
        store(at, first, "i, 0", fmt::format("{} * {}", load(first, "i, 0"), constant()));
        store(head(loops()), out, "v0, v1", fmt::format("{} - {}", load(first, "v0, v1"), load(in, "v0, v1")));
        made_.push_back(first);
        break;
      }
      default: {   // a jump by the indices, in loops of any kind
        int at = plain_loop(0, "i", r);
        at = plain_loop(at, "j", c);
        line(at, fmt::format("if (i + j) % {} == {}:", random_.between(2, 4), random_.below(2)));
        line(at + 1, "continue");
        store(at, out, "i, j", fmt::format("{} * {}", load(in, "i, j"), constant()));
        break;
      }
    }
    made_.push_back(out);
  }

  void stage(bool last) {
    switch (random_.below(40)) {
      case 0: case 1: {   // element-wise operations
        Tensor in = input(1);
        Tensor out = result(in.shape, last);
        int b = block(in.shape);
        std::string at = axes(in.shape.size());
        store(b, out, at, fmt::format("{} * {} + {}", load(in, at), constant(), constant()));
        made_.push_back(out);
        break;
      }
      case 2: {   // two inputs of the same shape
        Tensor in = input(1);
        Tensor other = like(in);
        Tensor out = result(in.shape, last);
        int b = block(in.shape);
        std::string at = axes(in.shape.size());
        store(b, out, at, fmt::format("T.max({}, {}) - {}", load(in, at), constant(), load(other, at)));
        made_.push_back(out);
        break;
      }
      case 3: {   // dimensions in another order
        Tensor in = input(2);
        std::vector<size_t> order(in.shape.size());
        for (size_t i = 0; i < order.size(); ++i) { order[i] = i; }
        for (size_t i = order.size(); i > 1; --i) { std::swap(order[i - 1], order[static_cast<size_t>(random_.below(static_cast<int64_t>(i)))]); }
        Shape shape(in.shape.size());
        for (size_t i = 0; i < order.size(); ++i) { shape[order[i]] = in.shape[i]; }
        Tensor out = result(shape, last);
        int b = block(shape);
        store(b, out, axes(shape.size()), load(in, permuted(order)));
        made_.push_back(out);
        break;
      }
      case 4: case 23: {   // stencil, usually of a new buffer that no other stage reads
        Tensor in = input(2, 2);
        size_t axis = static_cast<size_t>(random_.below(2));
        if (in.shape[axis] < 3) { return stage(last); }
        if (random_.chance(60)) {
          Tensor made = result(in.shape, false);
          int b = block(made.shape);
          store(b, made, "v0, v1", fmt::format("{} + {}", load(in, "v0, v1"), constant()));
          in = made;
        }
        Shape shape = in.shape;
        shape[axis] -= 2;
        Tensor out = result(shape, last);
        int b = block(shape);
        auto at = [&](int along) { return along == 0 ? std::string("v0, v1") : axis == 0 ? fmt::format("v0 + {}, v1", along) : fmt::format("v0, v1 + {}", along); };
        store(b, out, at(0), fmt::format("{} + {} * {} - {}", load(in, at(0)), load(in, at(1)), constant(), load(in, at(2))));
        made_.push_back(out);
        break;
      }
      case 5: {   // padded
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        Tensor out = result({r + 2, c + 1}, last);
        int b = block({r + 2, c + 1});
        store(b, out, "v0, v1", fmt::format("T.if_then_else(1 <= v0 and v0 < {} and v1 < {}, {}, {})", r + 1, c, load(in, "v0 - 1, v1"), constant()));
        made_.push_back(out);
        break;
      }
      case 6: case 7: {   // sums and extrema along an axis, broadcast again
        Tensor in = input(2);
        auto axis = static_cast<size_t>(random_.below(static_cast<int64_t>(in.shape.size())));
        Shape shape = in.shape;
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
        Tensor out = result(shape, last);
        reduce(in, axis, out, static_cast<int>(random_.pick<int64_t>({0, 0, 1, 2})));
        made_.push_back(out);
        if (!last && random_.chance(60)) {
          Tensor spread = result(in.shape, false);
          int b = block(in.shape);
          std::string kept;
          for (size_t i = 0; i < in.shape.size(); ++i) { if (i != axis) { kept += fmt::format("{}v{}", kept.empty() ? "" : ", ", i); } }
          std::string at = axes(in.shape.size());
          store(b, spread, at, fmt::format("{} - {}", load(in, at), load(out, kept)));
          made_.push_back(spread);
        }
        break;
      }
      case 8: case 9: {   // matmul, with a batch
        Tensor in = input(2, 3);
        bool batch = in.shape.size() == 3;
        int64_t m = in.shape[batch ? 1 : 0], k = in.shape[batch ? 2 : 1], n = size();
        Tensor weight = parameter(batch ? Shape{in.shape[0], k, n} : Shape{k, n});
        Shape shape = batch ? Shape{in.shape[0], m, n} : Shape{m, n};
        Tensor out = result(shape, last);
        Shape extents = shape;
        extents.push_back(k);
        int b = block(extents, batch ? "SSSR" : "SSR");
        std::string to = axes(shape.size());
        line(b, "with T.init():");
        store(b + 1, out, to, number(0));
        store(b, out, to, fmt::format("{} + {} * {}", load(out, to), load(in, batch ? "v0, v1, v3" : "v0, v2"), load(weight, batch ? "v0, v3, v2" : "v2, v1")));
        made_.push_back(out);
        break;
      }
      case 10: case 11: {   // convolution of rows and columns, with or without padding in a separate block
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        int64_t pad = random_.below(2);
        if (pad) {
          Tensor padded = result({r + 2, c + 2}, false, dtype_);
          int b = block({r + 2, c + 2});
          store(b, padded, "v0, v1", fmt::format("T.if_then_else(1 <= v0 and v0 < {} and 1 <= v1 and v1 < {}, {}, {})", r + 1, c + 1, load(in, "v0 - 1, v1 - 1"), number(0)));
          made_.push_back(padded);
          in = padded;
          r += 2;
          c += 2;
        }
        int64_t kh = random_.between(1, std::min<int64_t>(3, r)), kw = random_.between(1, std::min<int64_t>(3, c)), stride = random_.chance(30) ? 2 : 1;
        int64_t oh = (r - kh) / stride + 1, ow = (c - kw) / stride + 1;
        Tensor weight = parameter({kh, kw});
        Tensor out = result({oh, ow}, last);
        int b = block({oh, ow, kh, kw}, "SSRR");
        line(b, "with T.init():");
        store(b + 1, out, "v0, v1", number(0));
        std::string at = stride == 1 ? "v0 + v2, v1 + v3" : "v0 * 2 + v2, v1 * 2 + v3";
        store(b, out, "v0, v1", fmt::format("{} + {} * {}", load(out, "v0, v1"), load(in, at), load(weight, "v2, v3")));
        made_.push_back(out);
        break;
      }
      case 12: {   // pooling
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        if (r < 2 || c < 2) { return stage(last); }
        Tensor out = result({r / 2, c / 2}, last);
        int b = block({r / 2, c / 2, 2, 2}, "SSRR");
        line(b, "with T.init():");
        store(b + 1, out, "v0, v1", fmt::format("T.min_value(\"{}\")", dtype_));
        store(b, out, "v0, v1", fmt::format("T.max({}, {})", load(out, "v0, v1"), load(in, "v0 * 2 + v2, v1 * 2 + v3")));
        made_.push_back(out);
        break;
      }
      case 13: {   // softmax
        if (!is_real_) { return stage(last); }
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        Tensor most = result({r}, false, dtype_), powers = result({r, c}, false, dtype_), sum = result({r}, false, dtype_), out = result({r, c}, last);
        reduce(in, 1, most, 1);
        int b = block({r, c});
        store(b, powers, "v0, v1", fmt::format("T.exp({} - {})", load(in, "v0, v1"), load(most, "v0")));
        reduce(powers, 1, sum, 0);
        b = block({r, c});
        store(b, out, "v0, v1", fmt::format("{} / {}", load(powers, "v0, v1"), load(sum, "v0")));
        made_.push_back(out);
        break;
      }
      case 14: {   // gather
        Tensor in = input(2, 2);
        int64_t n = size();
        Tensor index = parameter({n}, "int32");
        Tensor out = result({n, in.shape[1]}, last);
        int b = block({n, in.shape[1]});
        store(b, out, "v0, v1", load(in, fmt::format("T.max(0, T.min({}[v0], {})), v1", index.name, in.shape[0] - 1)));
        made_.push_back(out);
        break;
      }
      case 15: {   // a triangle; other elements keep their values
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        if (r > c) { return stage(last); }
        Tensor out = parameter({r, c});
        line(0, fmt::format("for x0 in range({}):", r));
        line(1, "for x1 in range(x0 + 1):");
        line(2, fmt::format("with T.block(\"B{}\"):", blocks_++));
        // As with `T.axis.remap`: the domain is the extent of the loop in this row.
        bool is_of_row = random_.chance(30);
        line(3, fmt::format("v0 = T.axis.spatial({}, x0)", r));
        line(3, is_of_row ? "v1 = T.axis.spatial(x0 + 1, x1)" : fmt::format("v1 = T.axis.spatial({}, x1)", c));
        store(3, out, "v0, v1", fmt::format("{} + {}", load(in, "v0, v1"), constant()));
        made_.push_back(out);
        break;
      }
      case 16: {   // argmax: the largest element and its index
        Tensor in = input(2, 2);
        // Equal elements are excluded, since the result would depend on the order. Rounding would make elements equal again.
        if (in.dtype != dtype_ || in.shape[1] > 32 || (is_real_ && dtype_ != "float32" && dtype_ != "float64")) { return stage(last); }
        int64_t r = in.shape[0], c = in.shape[1];
        std::string x = fmt::format("{}[v0, v1] * {} + T.Cast(\"{}\", v1)", in.name, number(32), dtype_);
        Tensor index = parameter({r}, "int32"), value = parameter({r});
        int b = block({r, c}, "SR");
        line(b, "with T.init():");
        line(b + 1, fmt::format("{}[v0] = -1", index.name));
        line(b + 1, fmt::format("{}[v0] = T.min_value(\"{}\")", value.name, dtype_));
        line(b, fmt::format("w0: T.int32 = T.Select({0}[v0] >= {1}, {2}[v0], v1)", value.name, x, index.name));
        line(b, fmt::format("w1: T.{3} = T.Select({0}[v0] >= {1}, {0}[v0], {1})", value.name, x, index.name, dtype_));
        line(b, fmt::format("{}[v0] = w0", index.name));
        line(b, fmt::format("{}[v0] = w1", value.name));
        break;
      }
      case 17: {   // a block in a block
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        Tensor out = result({r, c}, last);
        int n = blocks_++;
        line(0, fmt::format("for x0 in range({}):", r));
        line(1, fmt::format("with T.block(\"B{}_o\"):", n));
        line(2, fmt::format("v0 = T.axis.spatial({}, x0)", r));
        line(2, fmt::format("T.reads({}[v0, 0:{}])", in.name, c));
        line(2, fmt::format("T.writes({}[v0, 0:{}])", out.name, c));
        line(2, fmt::format("for x1 in range({}):", c));
        line(3, fmt::format("with T.block(\"B{}\"):", n));
        line(4, fmt::format("v1 = T.axis.spatial({}, x1)", c));
        store(4, out, "v0, v1", fmt::format("{} + {}", load(in, "v0, v1"), constant()));
        made_.push_back(out);
        break;
      }
      case 18: {   // a block without iter vars, with plain loops and a condition in it
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        Tensor out = result({r, c}, last);
        line(0, fmt::format("with T.block(\"B{}\"):", blocks_++));
        line(1, fmt::format("T.reads({}[0:{}, 0:{}])", in.name, r, c));
        line(1, fmt::format("T.writes({}[0:{}, 0:{}])", out.name, r, c));
        line(1, fmt::format("for i, j in T.grid({}, {}):", r, c));
        line(2, "if i < j:");
        store(3, out, "i, j", load(in, "i, j"));
        line(2, "else:");
        store(3, out, "i, j", constant());
        made_.push_back(out);
        break;
      }
      case 19: {   // views of whole or partial rows; other elements of the result keep their values
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1], first = random_.below(std::min<int64_t>(c, 3));
        Tensor out = first > 0 ? parameter({r, c}) : result({r, c}, last);
        int n = blocks_++;
        line(0, fmt::format("for x0 in range({}):", r));
        line(1, fmt::format("with T.block(\"B{}\"):", n));
        line(2, fmt::format("v0 = T.axis.spatial({}, x0)", r));
        line(2, fmt::format("T.reads({}[v0, {}:{}])", in.name, first, c));
        line(2, fmt::format("T.writes({}[v0, {}:{}])", out.name, first, c));
        line(2, fmt::format("V{} = T.match_buffer({}[v0, {}:{}], ({},), \"{}\", offset_factor=1)", n, in.name, first, c, c - first, in.dtype));
        line(2, fmt::format("W{} = T.match_buffer({}[v0, {}:{}], ({},), \"{}\", offset_factor=1)", n, out.name, first, c, c - first, out.dtype));
        line(2, fmt::format("for i in range({}):", c - first));
        Tensor view{fmt::format("V{}", n), {c - first}, in.dtype}, to{fmt::format("W{}", n), {c - first}, out.dtype};
        store(3, to, "i", fmt::format("{} * {}", load(view, "i"), constant()));
        made_.push_back(out);
        break;
      }
      case 20: {   // in place
        Tensor in = input(2, 2);
        int b = block(in.shape);
        if (in.name[0] == 'P' && in.dtype == dtype_) { store(b, in, "v0, v1", fmt::format("{} + {}", load(in, "v0, v1"), constant())); break; }
        Tensor out = parameter(in.shape);
        store(b, out, "v0, v1", fmt::format("{} + {}", load(out, "v0, v1"), load(in, "v0, v1")));
        made_.push_back(out);
        break;
      }
      case 21: case 24: {   // computed indices, conditions
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        Tensor out = result({r, c}, last);
        int b = block({r, c});
        if (random_.chance(60)) {
          store(b, out, "v0, v1", fmt::format("{} - {}", load(in, clamped("v0", r) + ", " + clamped("v1", c)), load(in, clamped("v0", r) + ", " + clamped("v1", c))));
          made_.push_back(out);
          break;
        }
        store(b, out, "v0, v1", fmt::format("T.Select(v1 < v0, {}, {})", load(in, fmt::format("v0, (v1 * 3 + v0) % {}", c)), load(in, fmt::format("{} - v0, v1", r - 1))));
        made_.push_back(out);
        break;
      }
      case 22: {   // other shapes of the same elements
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        Tensor out = result({r * c}, last);
        int b = block({r * c});
        store(b, out, "v0", load(in, fmt::format("v0 // {0}, v0 % {0}", c)));
        made_.push_back(out);
        break;
      }
      case 25: {   // a block that does not write some elements
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        Tensor out = parameter({r, c});
        line(0, fmt::format("for x0, x1 in T.grid({}, {}):", r, c));
        line(1, fmt::format("with T.block(\"B{}\"):", blocks_++));
        line(2, fmt::format("v0 = T.axis.spatial({}, x0)", r));
        line(2, fmt::format("v1 = T.axis.spatial({}, x1)", c));
        line(2, random_.chance(50) ? fmt::format("T.where(x0 + x1 < {})", random_.between(1, r + c - 1)) : fmt::format("T.where(x{} < {})", random_.below(2), random_.between(1, std::max(r, c))));
        store(2, out, "v0, v1", fmt::format("{} + {}", load(in, "v0, v1"), constant()));
        made_.push_back(out);
        break;
      }
      case 26: {   // two blocks in the same loops; the second reads results of earlier iterations
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        Tensor first = result({r, c}, false, dtype_), out = result({r, c}, last);
        line(0, fmt::format("for x0, x1 in T.grid({}, {}):", r, c));
        line(1, fmt::format("with T.block(\"B{}\"):", blocks_++));
        line(2, fmt::format("v0 = T.axis.spatial({}, x0)", r));
        line(2, fmt::format("v1 = T.axis.spatial({}, x1)", c));
        store(2, first, "v0, v1", fmt::format("{} * {}", load(in, "v0, v1"), constant()));
        line(1, fmt::format("with T.block(\"B{}\"):", blocks_++));
        line(2, fmt::format("v0 = T.axis.spatial({}, x0)", r));
        line(2, fmt::format("v1 = T.axis.spatial({}, x1)", c));
        std::string before = random_.pick<std::string>({fmt::format("T.max(v0 - 1, 0), T.min(v1, {})", c - 1), "v0, T.max(v1 - 1, 0)", "v0, v1", fmt::format("v0 - T.min(v0, 1), T.min(v1 + T.min(v0, 1), {})", c - 1)});
        store(2, out, "v0, v1", fmt::format("{} - {}", load(first, "v0, v1"), load(first, before)));
        made_.push_back(first);
        made_.push_back(out);
        break;
      }
      case 27: {   // two halves, each written by a block of its own
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        Tensor out = result({r, 2 * c}, last);
        bool is_interleaved = random_.chance(50);
        for (int64_t half : {0, 1}) {
          int b = block({r, c});
          std::string at = fmt::format("v0, v1{}", half ? fmt::format(" + {}", c) : "");
          if (is_interleaved) { at = fmt::format("v0, v1 * 2{}", half ? " + 1" : ""); }
          store(b, out, at, fmt::format("{} * {}", load(in, "v0, v1"), constant()));
        }
        made_.push_back(out);
        break;
      }
      case 28: {   // a polynomial: each update uses the result of the update before, so the order of updates matters
        // Short types lose the difference by rounding.
        if (dtype_ == "float16" || dtype_ == "bfloat16") { return stage(last); }
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1], rows = size();
        Tensor out = result({rows}, last);
        int b = block({rows, r, c}, "SRR");
        line(b, "with T.init():");
        store(b + 1, out, "v0", number(0));
        store(b, out, "v0", fmt::format("{} - {}", load(in, "v1, v2"), load(out, "v0")));
        made_.push_back(out);
        break;
      }
      case 29: {   // loops that count rows and columns in one, and a loop that repeats everything
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1], again = random_.chance(40) ? 2 : 1, tile = random_.pick<int64_t>({2, 3, 4});
        if (r * c % tile) { tile = c; }
        Tensor out = result({r}, last);
        int indent = 0;
        if (again > 1) { line(indent++, fmt::format("for x9 in range({}):", again)); }
        line(indent++, fmt::format("for x0, x1 in T.grid({}, {}):", r * c / tile, tile));
        line(indent++, fmt::format("with T.block(\"B{}\"):", blocks_++));
        line(indent, fmt::format("v0 = T.axis.spatial({}, (x0 * {} + x1) // {})", r, tile, c));
        line(indent, fmt::format("v1 = T.axis.reduce({0}, (x0 * {1} + x1) % {0})", c, tile));
        line(indent, "with T.init():");
        store(indent + 1, out, "v0", number(0));
        store(indent, out, "v0", fmt::format("{} + {}", load(out, "v0"), load(in, "v0, v1")));
        made_.push_back(out);
        break;
      }
      case 30: case 31: {   // two blocks in the same loops, and a block that reads both results, each at other indices
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        bool is_sum = random_.chance(40);
        Tensor first = result({r, c}, false, dtype_), second = is_sum ? result({r}, false, dtype_) : result({r, c}, false, dtype_), out = result({r, c}, last);
        line(0, fmt::format("for x0, x1 in T.grid({}, {}):", r, c));
        auto head = [&](const char* kind) {
          line(1, fmt::format("with T.block(\"B{}\"):", blocks_++));
          line(2, fmt::format("v0 = T.axis.spatial({}, x0)", r));
          line(2, fmt::format("v1 = T.axis.{}({}, x1)", kind, c));
        };
        head("spatial");
        store(2, first, "v0, v1", fmt::format("{} + {}", load(in, "v0, v1"), constant()));
        head(is_sum ? "reduce" : "spatial");
        if (is_sum) {
          line(2, "with T.init():");
          store(3, second, "v0", number(0));
          store(2, second, "v0", fmt::format("{} + {}", load(second, "v0"), load(first, "v0, v1")));
        } else {
          store(2, second, "v0, v1", fmt::format("{} * {}", load(in, "v0, v1"), constant()));
        }
        int b = block({r, c});
        std::string at = is_sum ? "v0" : random_.pick<std::string>({"v0, v1", fmt::format("v0, {}", c - 1), fmt::format("{}, v1", r - 1), fmt::format("v0, T.min(v1 + 1, {})", c - 1), fmt::format("{} - v0, v1", r - 1)});
        store(b, out, "v0, v1", fmt::format("{} - {}", load(first, "v0, v1"), load(second, at)));
        made_.push_back(first);
        made_.push_back(out);
        break;
      }
      case 32: {   // computed in the first iteration, read in all
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        Tensor kept = result({c}, false, dtype_), out = result({r, c}, last);
        line(0, fmt::format("for x0 in range({}):", r));
        line(1, fmt::format("for x1 in range({}):", c));
        line(2, fmt::format("with T.block(\"B{}\"):", blocks_++));
        line(3, fmt::format("v0 = T.axis.{}({}, x0)", random_.chance(50) ? "spatial" : "opaque", r));
        line(3, fmt::format("v1 = T.axis.spatial({}, x1)", c));
        line(3, "T.where(x0 < 1)");
        store(3, kept, "v1", fmt::format("{} * {}", load(in, "v0, v1"), constant()));
        line(1, fmt::format("for x1 in range({}):", c));
        line(2, fmt::format("with T.block(\"B{}\"):", blocks_++));
        line(3, fmt::format("v0 = T.axis.spatial({}, x0)", r));
        line(3, fmt::format("v1 = T.axis.spatial({}, x1)", c));
        store(3, out, "v0, v1", fmt::format("{} - {}", load(in, "v0, v1"), load(kept, "v1")));
        made_.push_back(out);
        break;
      }
      case 33: case 34: {   // a computation of a tensor intrinsic
        tiles(last);
        break;
      }
      case 35: {   // repeated instances, and a sum of their results
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1];
        Tensor made = result({r, c}, false, dtype_), out = result({r}, last);
        std::vector<std::string> loops = {fmt::format("for x0 in range({}):", r), fmt::format("for x1 in range({}):", c)};
        loops.insert(loops.begin() + random_.pick<int64_t>({0, 1, 2, 2, 2}), "for x9 in range(2):");
        int indent = 0;
        for (const std::string& loop : loops) { line(indent++, loop); }
        line(indent++, fmt::format("with T.block(\"B{}\"):", blocks_++));
        line(indent, fmt::format("v0 = T.axis.spatial({}, x0)", r));
        line(indent, fmt::format("v1 = T.axis.spatial({}, x1)", c));
        store(indent, made, "v0, v1", fmt::format("{} * {}", load(in, "v0, v1"), constant()));
        reduce(made, 1, out, 0);
        made_.push_back(made);
        made_.push_back(out);
        break;
      }
      case 36: {   // two parts of each row, each written by a block over the whole row with a predicate
        Tensor in = input(2, 2);
        int64_t r = in.shape[0], c = in.shape[1], first = random_.between(1, c);
        Tensor out = result({r, c}, last);
        for (const std::string& part : {fmt::format("x1 < {}", first), fmt::format("{} <= x1", first)}) {
          line(0, fmt::format("for x0, x1 in T.grid({}, {}):", r, c));
          line(1, fmt::format("with T.block(\"B{}\"):", blocks_++));
          line(2, fmt::format("v0 = T.axis.spatial({}, x0)", r));
          line(2, fmt::format("v1 = T.axis.spatial({}, x1)", c));
          line(2, fmt::format("T.where({})", part));
          store(2, out, "v0, v1", fmt::format("{} * {}", load(in, "v0, v1"), constant()));
        }
        made_.push_back(out);
        break;
      }
      case 37: case 38: {   // a reduction, and a block after it that combines its result with another value, by the same operation or another one
        Tensor in = input(2);
        auto axis = static_cast<size_t>(random_.below(static_cast<int64_t>(in.shape.size())));
        Shape shape = in.shape;
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
        size_t n = shape.size();
        int kind = static_cast<int>(random_.pick<int64_t>({0, 0, 1, 2}));
        Tensor bias = random_.chance(40) ? like(Tensor{"", shape, dtype_}) : Tensor{};
        if (bias.name.empty()) { bias = parameter(shape); }
        bool is_late = random_.chance(15), is_early = !is_late && random_.chance(20);
        auto make_bias = [&] {
          Tensor made = result(shape, false, dtype_);
          int b = block(shape);
          store(b, made, axes(n), fmt::format("{} * {}", load(bias, axes(n)), constant()));
          bias = made;
        };
        if (is_early) { make_bias(); }
        Tensor made = result(shape, false, dtype_);
        reduce(in, axis, made, kind);
        if (is_late) { make_bias(); }
        // Some programs permute the axes of the result.
        std::vector<size_t> order(n);
        for (size_t i = 0; i < n; ++i) { order[i] = i; }
        if (n > 1 && random_.chance(25)) { std::swap(order[0], order[n - 1]); }
        Shape out_shape(n);
        for (size_t i = 0; i < n; ++i) { out_shape[order[i]] = shape[i]; }
        Tensor out = result(out_shape, last);
        int b = block(out_shape);
        const std::string at = permuted(order), value = load(made, at), other = random_.chance(25) ? constant() : load(bias, at);
        auto joined = [&](int by, const std::string& x, const std::string& y) {
          return by == 0 ? fmt::format("{} + {}", x, y) : by == 3 ? fmt::format("{} - {}", x, y) : by == 4 ? fmt::format("{} * {}", x, y) : fmt::format("T.{}({}, {})", by == 1 ? "max" : "min", x, y);
        };
        std::string text;
        switch (random_.below(10)) {
          case 0: text = joined(static_cast<int>(random_.below(5)), value, other); break;
          case 1: text = joined(kind, joined(kind, value, other), constant()); break;
          case 2: text = joined(kind, other, joined(kind, value, random_.chance(50) ? other : constant())); break;
          case 3: text = joined(kind == 0 ? 3 : kind, value, other); break;
          case 4: text = joined(3, other, value); break;
          case 5: text = joined(kind, value, joined(kind, value, other)); break;
          case 6: text = joined(kind, other, value); break;
          case 7: text = random_.chance(50) ? value : joined(1, joined(kind, value, other), number(0)); break;
          default: text = joined(kind, value, other); break;
        }
        store(b, out, axes(n), text);
        if (random_.chance(15)) { made_.push_back(made); }
        made_.push_back(out);
        break;
      }
      default: {   // mathematical functions
        Tensor in = input(1);
        Tensor out = result(in.shape, last);
        int b = block(in.shape);
        std::string at = axes(in.shape.size());
        std::string x = load(in, at);
        if (is_real_) { store(b, out, at, fmt::format("T.tanh({}) + T.exp(T.min({}, {}))", x, x, constant())); }
        else { store(b, out, at, fmt::format("{} // {} - {} % {}", x, constant(), x, constant())); }
        made_.push_back(out);
        break;
      }
    }
  }

  Random& random_;
  std::string dtype_, prologue_, body_, units_;
  bool is_real_ = true, symbolic_ = false;
  std::vector<std::string> params_, allocations_;
  std::vector<Tensor> made_;   // tensors with constant contents
  int blocks_ = 0;
};

}  // namespace

auto random_program(Random& random) -> Generated { return Program(random).make(); }

auto spelled_recently(const std::string& program) -> std::string {
  static const std::regex blocks(R"(\bT\.(block|alloc_buffer)\()");
  std::string out = std::regex_replace(program, blocks, "T.s$1(");
  static const std::regex allocations(R"(\bT\.salloc_buffer\()");
  return std::regex_replace(out, allocations, "T.sblock_alloc_buffer(");
}

auto with_wide_loops(const std::string& program) -> std::string {
  static const std::regex heads(R"((range|T\.grid)\(([0-9, ]+)\))");
  static const std::regex axes(R"((T\.axis\.(?:spatial|reduce))\(([0-9]+), )");
  static const std::regex number("[0-9]+");
  std::string out;
  auto rest = program.cbegin();
  for (std::sregex_iterator at(program.begin(), program.end(), heads), end; at != end; ++at) {
    out.append(rest, (*at)[0].first);
    out += (*at)[1].str() + "(" + std::regex_replace((*at)[2].str(), number, "T.int64($&)") + ")";
    rest = (*at)[0].second;
  }
  out.append(rest, program.cend());
  return std::regex_replace(out, axes, "$1(T.int64($2), ");
}

auto parse_program(const std::string& text, std::string& problem) -> IRModule {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  IRModule module;
  Diagnostics all = document.diagnostics();
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& declaration = file.declaration(i);
    all.insert(all.end(), declaration.diagnostics.begin(), declaration.diagnostics.end());
    if (declaration.is_program && declaration.module) { module = declaration.module; }
  }
  for (const Diagnostic& d : all) {
    // Unrolled loops contain such indices under conditions that are never true.
    if (d.severity == Severity::Error && d.code != Code::IndexOutOfBounds) {
      problem = d.message();
      return {};
    }
  }
  if (!module) { problem = "no program"; }
  return module;
}

auto parse_units(const std::string& text, std::string& problem) -> Units {
  if (text.empty()) { return nullptr; }
  syntax::Document document(text);
  frontend::File file(intrinsics::predeclared);
  file.update(document);
  Diagnostics all = document.diagnostics();
  for (size_t i = 0; i < file.size(); ++i) { all.insert(all.end(), file.declaration(i).diagnostics.begin(), file.declaration(i).diagnostics.end()); }
  auto out = std::make_shared<std::vector<schedule::TensorIntrin>>(intrinsics::registered_in(file, all));
  for (const Diagnostic& d : all) { if (d.severity == Severity::Error) { problem = d.message(); return nullptr; } }
  return out;
}

auto short_text(const IRModule& module) -> std::string {
  PrintOptions options;
  options.header = false;
  options.dialect = module->dialect;
  std::string whole = module->functions.size() == 1 ? print_script(module->functions[0].second, options) : print_script(module, options);
  // Drop lines whose information the parser finds again.
  auto without = [](const std::string& text, const std::vector<std::string>& starts) {
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      size_t at = line.find_first_not_of(' ');
      bool drop = at == std::string::npos;
      for (const std::string& start : starts) { drop = drop || line.compare(at, start.size(), start) == 0; }
      if (!drop) { out += line + "\n"; }
    }
    return out;
  };
  for (const auto& starts : {std::vector<std::string>{"#", "T.reads(", "T.writes(", "T.func_attr("}, std::vector<std::string>{"#", "T.reads(", "T.writes("}, std::vector<std::string>{"#"}}) {
    std::string text = without(whole, starts);
    std::string problem;
    IRModule again = parse_program(text, problem);
    if (!again) { continue; }
    if (starts.size() == 4 || structural_equal(again, module)) {
      if (starts.size() == 4) {
        // The attribute only declares that parameters do not overlap.
        std::string kept = without(whole, {"#", "T.func_attr("});
        IRModule other = parse_program(kept, problem);
        if (!other || !structural_equal(again, other)) { continue; }
      }
      return text;
    }
  }
  return whole;
}

}  // namespace loopsmith::gate
