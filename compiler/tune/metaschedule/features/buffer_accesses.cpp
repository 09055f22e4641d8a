// Touched memory of a store: see buffer_accesses.h.
#include "tune/metaschedule/features/buffer_accesses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "tune/metaschedule/features/arithmetic.h"

namespace loopsmith::tune::metaschedule {
namespace {

enum class Kind : uint8_t { Read, Write, ReadWrite };
enum class Reuse : uint8_t { InLoop, InSequence, None };

constexpr size_t numbers_per_buffer = 18;

// All accesses of the store to one buffer.
struct Touch {
  ShapedBuffer buffer;
  Kind kind = Kind::Read;
  std::vector<std::vector<Expr>> indices;
  std::vector<std::vector<std::vector<const VarNode*>>> variables;       // of each index
  std::vector<std::vector<arith::ConstIntBound>> bounds;                 // of each index, while the loops that were visited so far run
  std::vector<int64_t> loop_elements;      // touched in one run of each loop, the outermost first
  std::vector<int64_t> extents;            // of the touched box, per dimension
  int64_t contiguous_bytes = 1;
  int64_t min_stride = 0;                  // of the innermost loop that moves through the buffer
  int64_t innermost_stride = 0;            // of the innermost loop
  int64_t still_iterations = 1;            // of the loops inside that loop
  Reuse reuse = Reuse::None;
  double reuse_iterations = 0, reuse_bytes = 0;
  int64_t reuse_count = 0;
  double bytes = 0, unique_bytes = 0, lines = 0, unique_lines = 0;

  [[nodiscard]] auto element_bytes() const -> int64_t { return buffer.buffer->dtype.element_bytes(); }
};

// Overflow wraps around as in TVM: the bounds of an unbounded dimension are the ends of int64.
auto wrapping_mul(int64_t a, int64_t b) -> int64_t { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
auto width(int64_t low, int64_t high) -> int64_t { return static_cast<int64_t>(static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1); }

auto gather(const std::vector<BufferAccess>& accesses) -> std::vector<Touch> {
  std::vector<Touch> out;
  for (const BufferAccess& access : accesses) {
    auto known = std::find_if(out.begin(), out.end(), [&](const Touch& t) { return t.buffer.buffer == access.buffer.buffer; });
    if (known == out.end()) {
      Touch touch;
      touch.buffer = access.buffer;
      touch.kind = access.is_write ? Kind::Write : Kind::Read;
      touch.indices.push_back(access.indices);
      out.push_back(std::move(touch));
      continue;
    }
    // Reads of the stored buffer add no indices.
    if (known->kind != Kind::Read) { known->kind = Kind::ReadWrite; } else { known->indices.push_back(access.indices); }
  }
  return out;
}

void find_variables(Touch& touch) {
  for (const auto& indices : touch.indices) {
    auto& of_access = touch.variables.emplace_back();
    for (const Expr& index : indices) {
      auto& found = of_access.emplace_back();
      post_order(index, [&](const Expr& e) {
        const auto* v = e.as<VarNode>();
        if (v && std::find(found.begin(), found.end(), v) == found.end()) { found.push_back(v); }
      });
    }
    touch.bounds.emplace_back(indices.size());
  }
}

// The number of elements in the box around all accesses, while the analyzer's loops run. Only the bounds of indices with the variable of the last loop have changed.
auto measure_box(Touch& touch, const VarNode* changed, bool is_first, arith::Analyzer& analyzer) -> int64_t {
  int64_t elements = 1;
  size_t dimensions = touch.indices[0].size();
  touch.extents.assign(dimensions, 0);
  for (size_t d = 0; d < dimensions; ++d) {
    int64_t low = arith::ConstIntBound::pos_inf, high = arith::ConstIntBound::neg_inf;
    for (size_t a = 0; a < touch.indices.size(); ++a) {
      const auto& variables = touch.variables[a][d];
      arith::ConstIntBound& bound = touch.bounds[a][d];
      if (is_first || std::find(variables.begin(), variables.end(), changed) != variables.end()) { bound = analyzer.const_int_bound(touch.indices[a][d]); }
      low = std::min(low, bound.min);
      high = std::max(high, bound.max);
    }
    touch.extents[d] = width(low, high);
    elements = wrapping_mul(elements, touch.extents[d]);
  }
  return std::max<int64_t>(0, elements);
}

// Lets the loops run one after the other, the innermost first. Returns the bytes touched in one run of each.
auto set_boxes(std::vector<Touch>& touches, const LoopNest& nest, TouchedUnderLoop& touched, arith::Analyzer& analyzer) -> std::vector<int64_t> {
  size_t count = nest.loops.size();
  std::vector<int64_t> bytes(count, 0);
  const auto is_constant = [](const For& loop) { return as_int(loop.min) && as_int(loop.extent); };
  for (const For* loop : nest.loops) {
    if (!is_constant(*loop)) { analyzer.bind(loop->var, loop->min, true); } else { analyzer.update_bound(loop->var, {*as_int(loop->min), *as_int(loop->min)}); }
  }
  if (count == 0) {
    for (Touch& touch : touches) { touch.extents.assign(touch.buffer.shape.size(), 1); }
  }
  for (Touch& touch : touches) {
    touch.loop_elements.assign(count, 0);
    find_variables(touch);
  }
  for (size_t i = count; i-- > 0;) {
    const For& loop = *nest.loops[i];
    if (!is_constant(loop)) {
      analyzer.bind(loop.var, Range{loop.min, loop.extent}, true);
    } else {
      analyzer.update_bound(loop.var, {*as_int(loop.min), *as_int(loop.min) + *as_int(loop.extent) - 1});
    }
    for (Touch& touch : touches) {
      int64_t elements = measure_box(touch, loop.var.get(), i + 1 == count, analyzer);
      touch.loop_elements[i] = elements;
      bytes[i] += wrapping_mul(elements, touch.element_bytes());
      touched[&loop][touch.buffer.buffer].push_back(elements);
    }
  }
  return bytes;
}

// The coefficient of a variable in an index, as TVM reads it: by the products and sums on the way, not by algebra.
class FindCoefficient : public Visitor {
 public:
  using Visitor::on;
  explicit FindCoefficient(const VarNode* var) : var_(var) {}
  [[nodiscard]] auto result() const -> int64_t { return !seen_var_ ? 0 : !seen_mul_ && !seen_add_ ? 1 : stride_; }
  void on(const Mul& n) override {
    Visitor::on(n);
    if (!seen_var_ || seen_add_) { return; }
    const auto* number = n.a.as<IntImm>() ? n.a.as<IntImm>() : n.b.as<IntImm>();
    if (!number) { return; }
    seen_mul_ = true;
    stride_ = number->value;
  }
  void on(const Add& n) override {
    Visitor::on(n);
    if (!seen_var_ || seen_mul_) { return; }
    seen_add_ = true;
    stride_ = 1;
  }
  void on(const VarNode& n) override {
    if (&n != var_) { return; }
    seen_var_ = true;
    stride_ = 2;
  }

 private:
  const VarNode* var_;
  int64_t stride_ = 0;
  bool seen_var_ = false, seen_add_ = false, seen_mul_ = false;
};

auto stride_of(const Touch& touch, const std::vector<int64_t>& strides, const VarNode* var) -> int64_t {
  constexpr int64_t none = std::numeric_limits<int64_t>::max();
  int64_t out = none;
  for (size_t a = 0; a < touch.indices.size(); ++a) {
    const auto& indices = touch.indices[a];
    for (size_t d = std::min(indices.size(), strides.size()); d-- > 0;) {
      const auto& variables = touch.variables[a][d];
      if (std::find(variables.begin(), variables.end(), var) == variables.end()) { continue; }
      FindCoefficient find(var);
      find.visit(indices[d]);
      if (find.result() == 0) { continue; }
      out = std::min(out, wrapping_mul(std::abs(find.result()), strides[d]));
      break;
    }
  }
  return out == none ? 0 : out;
}

void set_strides(Touch& touch, const LoopNest& nest) {
  const std::vector<int64_t>& shape = touch.buffer.shape;
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) { strides[d - 1] = wrapping_mul(strides[d], shape[d]); }
  for (size_t d = std::min(shape.size(), touch.extents.size()); d-- > 0;) {
    if (touch.extents[d] != shape[d]) { continue; }
    touch.contiguous_bytes = shape[d] * touch.element_bytes();
    break;
  }
  size_t count = nest.loops.size(), moving = count;   // one past the innermost loop that moves through the buffer
  while (moving > 0) {
    touch.min_stride = stride_of(touch, strides, nest.loops[moving - 1]->var.get());
    if (touch.min_stride != 0) { break; }
    --moving;
  }
  touch.innermost_stride = moving == count ? touch.min_stride : 0;
  for (size_t i = moving; i < count; ++i) { touch.still_iterations *= extent_of(*nest.loops[i]).value_or(1); }
}

auto touched_bytes(const std::unordered_map<const BufferNode*, std::vector<int64_t>>& buffers) -> double {
  double bytes = 0;
  for (const auto& [buffer, elements] : buffers) {
    bytes += static_cast<double>(wrapping_mul(std::accumulate(elements.begin(), elements.end(), int64_t{0}), buffer->dtype.element_bytes()));
  }
  return bytes;
}

// Finds the innermost loop that touches the same elements again, because it does not move through the buffer or because an earlier store touched them.
void set_reuse(Touch& touch, const LoopNest& nest, int64_t element_bytes_of_all, const TouchedUnderLoop& touched) {
  const auto moves = [&](const VarNode* var) {
    for (const auto& of_access : touch.variables) {
      for (const auto& variables : of_access) { if (std::find(variables.begin(), variables.end(), var) != variables.end()) { return true; } }
    }
    return false;
  };
  size_t count = nest.loops.size();
  for (size_t i = count; i-- > 0;) {
    const For& loop = *nest.loops[i];
    if (!moves(loop.var.get())) {
      touch.reuse = Reuse::InLoop;
      touch.reuse_count = extent_of(loop).value_or(1);
      touch.reuse_iterations = 1;
      for (size_t j = i + 1; j < count; ++j) { touch.reuse_iterations *= static_cast<double>(extent_of(*nest.loops[j]).value_or(1)); }
      touch.reuse_bytes = i + 1 == count ? static_cast<double>(element_bytes_of_all) : touched_bytes(touched.at(nest.loops[i + 1]));
      return;
    }
    const auto& here = touched.at(&loop);
    const std::vector<int64_t>& elements = here.at(touch.buffer.buffer);
    if (elements.size() < 2) { continue; }
    double extent = static_cast<double>(extent_of(loop).value_or(1));
    touch.reuse = Reuse::InSequence;
    touch.reuse_count = static_cast<int64_t>(elements.size()) - 1;
    touch.reuse_iterations = static_cast<double>(*std::min_element(elements.begin(), elements.end())) / extent;
    touch.reuse_bytes = touched_bytes(here) / extent;
    return;
  }
}

void set_lines(Touch& touch, const LoopNest& nest) {
  double element = static_cast<double>(touch.element_bytes());
  touch.bytes = static_cast<double>(wrapping_mul(touch.element_bytes(), nest.product));
  if (nest.loops.empty()) {
    touch.unique_bytes = touch.lines = touch.unique_lines = 1;
    return;
  }
  touch.unique_bytes = static_cast<double>(touch.loop_elements.front()) * element;
  touch.lines = std::max(1.0, static_cast<double>(nest.product) / static_cast<double>(touch.still_iterations) *
                                  std::min(1.0, 1.0 * static_cast<double>(touch.min_stride) * element / static_cast<double>(cache_line_bytes)));
  touch.unique_lines = std::max(1.0, touch.unique_bytes / static_cast<double>(std::min(cache_line_bytes, touch.contiguous_bytes)));
}

void export_to(const Touch& touch, std::vector<double>& out) {
  for (Kind kind : {Kind::Read, Kind::Write, Kind::ReadWrite}) { out.push_back(touch.kind == kind ? 1.0 : 0.0); }
  for (double x : {touch.bytes, touch.unique_bytes, touch.lines, touch.unique_lines}) { out.push_back(log_scale(x)); }
  for (Reuse reuse : {Reuse::InLoop, Reuse::InSequence, Reuse::None}) { out.push_back(touch.reuse == reuse ? 1.0 : 0.0); }
  for (double x : {touch.reuse_iterations, touch.reuse_bytes, static_cast<double>(touch.reuse_count)}) { out.push_back(log_scale(x)); }
  double uses = touch.reuse_count > 0 ? static_cast<double>(touch.reuse_count) : 0.5;
  for (double x : {touch.bytes, touch.unique_bytes, touch.lines, touch.unique_lines}) { out.push_back(log_scale(x / uses)); }
  out.push_back(log_scale(static_cast<double>(touch.innermost_stride)));
}

}  // namespace

auto access_features(const std::vector<BufferAccess>& accesses, const LoopNest& nest, TouchedUnderLoop& touched, arith::Analyzer& analyzer) -> AccessFeatures {
  AccessFeatures out;
  std::vector<Touch> touches = gather(accesses);
  out.loop_bytes = set_boxes(touches, nest, touched, analyzer);
  int64_t element_bytes_of_all = 0;
  for (const Touch& touch : touches) { element_bytes_of_all += touch.element_bytes(); }
  for (Touch& touch : touches) {
    set_strides(touch, nest);
    set_reuse(touch, nest, element_bytes_of_all, touched);
    set_lines(touch, nest);
  }
  std::sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) {
    if (a.lines != b.lines) { return a.lines > b.lines; }
    if (a.bytes != b.bytes) { return a.bytes > b.bytes; }
    return a.buffer.buffer->name < b.buffer.buffer->name;
  });
  if (touches.size() > buffers_per_store) { touches.resize(buffers_per_store); }
  for (const Touch& touch : touches) { export_to(touch, out.numbers); }
  out.numbers.resize(numbers_per_buffer * buffers_per_store, 0.0);
  return out;
}

}  // namespace loopsmith::tune::metaschedule
