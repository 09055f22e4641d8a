// The stages of random programs: each is a block, or a few that belong together.
#include "tests/gate/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace loopsmith::gate {

void Program::stage(bool last) {
  switch (random_.below(40)) {
    case 0: case 1: return elementwise(last);
    case 2: return pairwise(last);
    case 3: return transposed(last);
    case 4: case 23: return stencil(last);
    case 5: return padded(last);
    case 6: case 7: return reduction(last);
    case 8: case 9: return product(last);
    case 10: case 11: return convolution(last);
    case 12: return pooling(last);
    case 13: return softmax(last);
    case 14: return gather(last);
    case 15: return triangle(last);
    case 16: return argmax(last);
    case 17: return nested_blocks(last);
    case 18: return opaque_block(last);
    case 19: return views(last);
    case 20: return in_place();
    case 21: case 24: return computed_indices(last);
    case 22: return reshaped(last);
    case 25: return partial_write();
    case 26: return earlier_iterations(last);
    case 27: return halves(last);
    case 28: return polynomial(last);
    case 29: return joined_loops(last);
    case 30: case 31: return shared_loops(last);
    case 32: return first_iteration(last);
    case 33: case 34: return tensor_unit(last);
    case 35: return repeated_instances(last);
    case 36: return two_parts(last);
    case 37: case 38: return epilogue(last);
    default: return functions(last);
  }
}

// Element-wise operations.
void Program::elementwise(bool last) {
  Tensor in = input(1);
  Tensor out = result(in.shape, last);
  int b = block(in.shape);
  std::string at = axes(in.shape.size());
  store(b, out, at, fmt::format("{} * {} + {}", load(in, at), constant(), constant()));
  made_.push_back(out);
}

// Two inputs of the same shape.
void Program::pairwise(bool last) {
  Tensor in = input(1);
  Tensor other = like(in);
  Tensor out = result(in.shape, last);
  int b = block(in.shape);
  std::string at = axes(in.shape.size());
  store(b, out, at, fmt::format("T.max({}, {}) - {}", load(in, at), constant(), load(other, at)));
  made_.push_back(out);
}

// Dimensions in another order.
void Program::transposed(bool last) {
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
}

// Stencil, usually of a new buffer that no other stage reads.
void Program::stencil(bool last) {
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
}

// Padded.
void Program::padded(bool last) {
  Tensor in = input(2, 2);
  int64_t r = in.shape[0], c = in.shape[1];
  Tensor out = result({r + 2, c + 1}, last);
  int b = block({r + 2, c + 1});
  store(b, out, "v0, v1", fmt::format("T.if_then_else(1 <= v0 and v0 < {} and v1 < {}, {}, {})", r + 1, c, load(in, "v0 - 1, v1"), constant()));
  made_.push_back(out);
}

// Sums and extrema along an axis, broadcast again.
void Program::reduction(bool last) {
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
}

// Matmul, with a batch.
void Program::product(bool last) {
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
}

// Convolution of rows and columns, with or without padding in a separate block.
void Program::convolution(bool last) {
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
}

// Pooling.
void Program::pooling(bool last) {
  Tensor in = input(2, 2);
  int64_t r = in.shape[0], c = in.shape[1];
  if (r < 2 || c < 2) { return stage(last); }
  Tensor out = result({r / 2, c / 2}, last);
  int b = block({r / 2, c / 2, 2, 2}, "SSRR");
  line(b, "with T.init():");
  store(b + 1, out, "v0, v1", fmt::format("T.min_value(\"{}\")", dtype_));
  store(b, out, "v0, v1", fmt::format("T.max({}, {})", load(out, "v0, v1"), load(in, "v0 * 2 + v2, v1 * 2 + v3")));
  made_.push_back(out);
}

// Softmax.
void Program::softmax(bool last) {
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
}

// Gather.
void Program::gather(bool last) {
  Tensor in = input(2, 2);
  int64_t n = size();
  Tensor index = parameter({n}, "int32");
  Tensor out = result({n, in.shape[1]}, last);
  int b = block({n, in.shape[1]});
  store(b, out, "v0, v1", load(in, fmt::format("T.max(0, T.min({}[v0], {})), v1", index.name, in.shape[0] - 1)));
  made_.push_back(out);
}

// A triangle; other elements keep their values.
void Program::triangle(bool last) {
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
}

// Argmax: the largest element and its index.
void Program::argmax(bool last) {
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
}

// A block in a block.
void Program::nested_blocks(bool last) {
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
}

// A block without iter vars, with plain loops and a condition in it.
void Program::opaque_block(bool last) {
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
}

// Views of whole or partial rows; other elements of the result keep their values.
void Program::views(bool last) {
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
}

// In place.
void Program::in_place() {
  Tensor in = input(2, 2);
  int b = block(in.shape);
  if (in.name[0] == 'P' && in.dtype == dtype_) { store(b, in, "v0, v1", fmt::format("{} + {}", load(in, "v0, v1"), constant())); return; }
  Tensor out = parameter(in.shape);
  store(b, out, "v0, v1", fmt::format("{} + {}", load(out, "v0, v1"), load(in, "v0, v1")));
  made_.push_back(out);
}

// Computed indices, conditions.
void Program::computed_indices(bool last) {
  Tensor in = input(2, 2);
  int64_t r = in.shape[0], c = in.shape[1];
  Tensor out = result({r, c}, last);
  int b = block({r, c});
  if (random_.chance(60)) {
    store(b, out, "v0, v1", fmt::format("{} - {}", load(in, clamped("v0", r) + ", " + clamped("v1", c)), load(in, clamped("v0", r) + ", " + clamped("v1", c))));
    made_.push_back(out);
    return;
  }
  store(b, out, "v0, v1", fmt::format("T.Select(v1 < v0, {}, {})", load(in, fmt::format("v0, (v1 * 3 + v0) % {}", c)), load(in, fmt::format("{} - v0, v1", r - 1))));
  made_.push_back(out);
}

// Other shapes of the same elements.
void Program::reshaped(bool last) {
  Tensor in = input(2, 2);
  int64_t r = in.shape[0], c = in.shape[1];
  Tensor out = result({r * c}, last);
  int b = block({r * c});
  store(b, out, "v0", load(in, fmt::format("v0 // {0}, v0 % {0}", c)));
  made_.push_back(out);
}

// A block that does not write some elements.
void Program::partial_write() {
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
}

// Two blocks in the same loops; the second reads results of earlier iterations.
void Program::earlier_iterations(bool last) {
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
}

// Two halves, each written by a block of its own.
void Program::halves(bool last) {
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
}

// A polynomial: each update uses the result of the update before, so the order of updates matters.
void Program::polynomial(bool last) {
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
}

// Loops that count rows and columns in one, and a loop that repeats everything.
void Program::joined_loops(bool last) {
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
}

// Two blocks in the same loops, and a block that reads both results, each at other indices.
void Program::shared_loops(bool last) {
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
}

// Computed in the first iteration, read in all.
void Program::first_iteration(bool last) {
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
}

// A computation of a tensor intrinsic.
void Program::tensor_unit(bool last) {
  tiles(last);
}

// Repeated instances, and a sum of their results.
void Program::repeated_instances(bool last) {
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
}

// Two parts of each row, each written by a block over the whole row with a predicate.
void Program::two_parts(bool last) {
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
}

// A reduction, and a block after it that combines its result with another value, by the same operation or another one.
void Program::epilogue(bool last) {
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
}

// Mathematical functions.
void Program::functions(bool last) {
  Tensor in = input(1);
  Tensor out = result(in.shape, last);
  int b = block(in.shape);
  std::string at = axes(in.shape.size());
  std::string x = load(in, at);
  if (is_real_) { store(b, out, at, fmt::format("T.tanh({}) + T.exp(T.min({}, {}))", x, x, constant())); }
  else { store(b, out, at, fmt::format("{} // {} - {} % {}", x, constant(), x, constant())); }
  made_.push_back(out);
}

}  // namespace loopsmith::gate
