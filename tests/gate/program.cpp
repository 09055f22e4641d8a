// The pieces of random programs: tensors, loops, blocks, values, and the text of the whole program.
#include "tests/gate/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace loopsmith::gate {

auto Program::text() -> std::string {
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

auto Program::size() -> int64_t { return random_.pick<int64_t>({1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16}); }

auto Program::random_shape() -> Shape {
  int64_t rank = random_.pick<int64_t>({1, 2, 2, 2, 2, 3, 3, 4});
  Shape out;
  for (int64_t i = 0; i < rank; ++i) { out.push_back(rank < 3 ? size() : random_.between(1, rank < 4 ? 6 : 4)); }
  return out;
}

auto Program::tuple(const Shape& shape) -> std::string {
  std::string out = "(";
  for (int64_t e : shape) { out += std::to_string(e) + ", "; }
  return out + ")";
}

auto Program::parameter(Shape shape, std::string dtype) -> Tensor {
  Tensor t{fmt::format("P{}", params_.size()), std::move(shape), dtype.empty() ? dtype_ : dtype};
  params_.push_back(fmt::format("{}: T.Buffer({}, \"{}\")", t.name, tuple(t.shape), t.dtype));
  return t;
}

auto Program::result(Shape shape, bool last, std::string dtype) -> Tensor {
  if (dtype.empty() && is_real_ && random_.chance(5)) { dtype = random_.pick<std::string>({"float16", "bfloat16", "e4m3_float8", "e5m2_float8"}); }
  if (last || random_.chance(10)) { return parameter(std::move(shape), dtype); }
  Tensor t{fmt::format("T{}", allocations_.size()), std::move(shape), dtype.empty() ? dtype_ : dtype};
  allocations_.push_back(fmt::format("{} = T.alloc_buffer({}, \"{}\")", t.name, tuple(t.shape), t.dtype));
  return t;
}

auto Program::load(const Tensor& t, const std::string& at) -> std::string {
  std::string text = fmt::format("{}[{}]", t.name, at);
  return t.dtype == dtype_ ? text : fmt::format("T.Cast(\"{}\", {})", dtype_, text);
}

void Program::store(int indent, const Tensor& t, const std::string& at, const std::string& value) {
  line(indent, fmt::format("{}[{}] = {}", t.name, at, t.dtype == dtype_ ? value : fmt::format("T.Cast(\"{}\", {})", t.dtype, value)));
}

auto Program::number(int64_t value) -> std::string { return fmt::format("T.{}({})", dtype_, value); }

auto Program::constant() -> std::string { return number(random_.between(1, 3)); }

void Program::line(int indent, const std::string& text) { body_ += std::string(static_cast<size_t>(8 + 4 * indent), ' ') + text + "\n"; }

auto Program::axes(size_t n, size_t from) -> std::string {
  std::string out;
  for (size_t i = 0; i < n; ++i) { out += fmt::format("{}v{}", i ? ", " : "", from + i); }
  return out;
}

auto Program::block(const Shape& extents, std::string kinds) -> int {
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

auto Program::input(size_t least, size_t most) -> Tensor {
  std::vector<Tensor> fit;
  for (const Tensor& t : made_) { if (t.shape.size() >= least && t.shape.size() <= most) { fit.push_back(t); } }
  if (!fit.empty() && !random_.chance(15)) { return random_.chance(60) ? fit.back() : random_.pick(fit); }
  Shape shape;
  for (size_t i = 0; i < std::max(least, std::min<size_t>(most, 2)); ++i) { shape.push_back(least > 2 ? random_.between(1, 6) : size()); }
  made_.push_back(parameter(std::move(shape)));
  return made_.back();
}

auto Program::like(const Tensor& t) -> Tensor {
  std::vector<Tensor> fit;
  for (const Tensor& o : made_) { if (o.shape == t.shape) { fit.push_back(o); } }
  return fit.empty() ? t : random_.pick(fit);
}

auto Program::permuted(const std::vector<size_t>& order) -> std::string {
  std::string out;
  for (size_t i = 0; i < order.size(); ++i) { out += fmt::format("{}v{}", i ? ", " : "", order[i]); }
  return out;
}

void Program::reduce(const Tensor& in, size_t axis, const Tensor& out, int kind) {
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

auto Program::clamped(const std::string& v, int64_t extent) -> std::string {
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

void Program::symbolic_program() {
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

auto Program::tiled_block(const Shape& counts, const Shape& tile, const std::string& kinds) -> int {
  int indent = 0;
  for (size_t i = 0; i < counts.size(); ++i) { if (counts[i] > 1) { line(indent++, fmt::format("for y{} in range({}):", i, counts[i])); } }
  for (size_t i = 0; i < tile.size(); ++i) { line(indent++, fmt::format("for x{} in range({}):", i, tile[i])); }
  line(indent++, fmt::format("with T.block(\"B{}\"):", blocks_++));
  for (size_t i = 0; i < counts.size(); ++i) {
    line(indent, fmt::format("v{0} = T.axis.{1}({2}, {3}x{0})", i, kinds[i] == 'R' ? "reduce" : "spatial", counts[i] * tile[i], counts[i] > 1 ? fmt::format("y{} * {} + ", i, tile[i]) : ""));
  }
  return indent;
}

void Program::tiles(bool last) {
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

auto Program::some_condition(const Tensor& t, const std::string& at) -> std::string {
  return fmt::format("{} {} {}", load(t, at), random_.pick<std::string>({"<", ">", "=="}), number(random_.between(t.dtype[0] == 'u' ? 1 : -2, 2)));
}

auto Program::jump() -> std::string { return random_.chance(50) ? "break" : "continue"; }

auto Program::scratch(int64_t size, const std::string& dtype) -> std::string {
  std::string name = fmt::format("S{}", allocations_.size());
  allocations_.push_back(fmt::format("{} = T.alloc_buffer(({},), \"{}\")", name, size, dtype));
  return name;
}

auto Program::plain_loop(int indent, const std::string& var, int64_t extent) -> int {
  line(indent, fmt::format("for {} in {}({}):", var, random_.pick<std::string>({"range", "T.serial", "T.parallel", "T.vectorized", "T.unroll"}), extent));
  return indent + 1;
}

}  // namespace loopsmith::gate
