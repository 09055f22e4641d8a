// The model of kernels: see kernel_estimate.h.
#include "cost/kernel_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"

namespace loopsmith::cost {
namespace {

constexpr double launch_seconds = 3e-6;
constexpr double warp = 32;
constexpr double sector_bytes = 32;
// The banks of shared memory.
constexpr int64_t banks = 32, bank_bytes = 4;
// The innermost serial loops with at most this number of iterations are written out, and their elements live in registers.
constexpr double most_unrolled = 1024;
// Registers of a thread for indices and addresses, and the most that a thread can have.
constexpr double other_registers = 28, most_registers = 255;
// Resident warps that hide the latency of memory, divided by the independent operations of a thread.
constexpr double hiding_warps = 24;
// Warp instructions of a multiprocessor per cycle.
constexpr double issued = 4;

auto floor_of(int64_t value, int64_t unit) -> int64_t { return value >= 0 ? value / unit : -((-value + unit - 1) / unit); }

enum class LoopRole : uint8_t { Block, Thread, Virtual, Serial, Vector };

struct Around {
  const VarNode* var = nullptr;
  double extent = 1;
  LoopRole role = LoopRole::Serial;
  int dimension = -1;      // of threads and blocks

  /// Loops over one axis of threads or blocks that stand inside of one another are the same loop.
  [[nodiscard]] auto is_same_axis(const Around& other) const -> bool {
    return (role == LoopRole::Block || role == LoopRole::Thread) && role == other.role && dimension == other.dimension;
  }
};

/// The work of one kernel. Times are for the whole card.
struct Kernel {
  std::map<std::string, double> grid, block;
  double fma = 0;            // multiply-adds, or other operations
  double matrix = 0;         // multiply-adds of matrix units, weighed by the width of their operands: 1 for 16 bits
  double instructions = 0;   // of warps
  double shared_cycles = 0;  // of a multiprocessor
  double sectors = 0;        // bytes through the cache
  double shared_bytes = 0, local_words = 0;
  double independent = 1;    // operations of a thread that do not wait for one another
  bool has_whole_warps = false;   // a block is a tensor intrinsic of all threads of a warp
};

/// The reach of an access in each dimension over each loop around it, outermost first.
struct Reach {
  struct Loop { const VarNode* var; LoopRole role; double extent; std::vector<int64_t> spans; };
  std::vector<Loop> loops;
};

/// A buffer in shared memory or registers, with all accesses to it.
struct Held {
  size_t kernel = 0;
  double bytes = 4;
  bool is_shared = false;
  double threads = 1;        // that hold it together: a warp for operands of matrix units
  double versions = 1;       // of a tile that a pipeline fills while earlier ones are read
  std::vector<Reach> reaches;

  /// The elements of the buffer that exist at once. The buffer lives inside the loops that are around all its accesses, so these loops reuse its memory.
  [[nodiscard]] auto elements() const -> double {
    size_t common = reaches.front().loops.size();
    for (const Reach& reach : reaches) {
      size_t same = 0;
      while (same < std::min(common, reach.loops.size()) && reach.loops[same].var == reaches.front().loops[same].var) { ++same; }
      common = same;
    }
    double out = 1;
    for (const Reach& reach : reaches) {
      std::vector<int64_t> extents;
      double iterations = 1;
      for (size_t i = 0; i < reach.loops.size(); ++i) {
        const Reach::Loop& loop = reach.loops[i];
        // Threads of a block share its memory, and virtual threads are one thread.
        const bool is_inside = loop.role == LoopRole::Virtual || (loop.role == LoopRole::Thread ? is_shared : loop.role != LoopRole::Block && i >= common);
        extents.resize(std::max(extents.size(), loop.spans.size()), 1);
        bool is_used = false;
        for (size_t d = 0; is_inside && d < loop.spans.size(); ++d) {
          extents[d] += loop.spans[d];
          is_used = is_used || loop.spans[d] != 0;
        }
        if (is_used) { iterations *= loop.extent; }
      }
      double elements = 1;
      for (int64_t extent : extents) { elements *= static_cast<double>(extent); }
      // The elements of a thread need not be neighbours.
      out = std::max(out, std::min(elements, iterations));
    }
    return out;
  }
};

class KernelWalker {
 public:
  std::vector<Kernel> kernels;
  std::map<const BufferNode*, double> global_bytes;   // moved at least once
  bool is_known = true;

  /// Adds the memory of blocks and threads to their kernels; call it at the end.
  void count_memory() {
    for (const auto& [buffer, held] : held_) {
      Kernel& k = kernels[held.kernel];
      if (held.is_shared) { k.shared_bytes += held.elements() * held.bytes * held.versions; } else { k.local_words += std::max(1.0, held.elements() * held.bytes / 4 / held.threads); }
    }
  }

  void walk(const Stmt& stmt) {
    switch (stmt->kind) {
      case NodeKind::For: return walk_loop(static_cast<const For&>(*stmt));
      case NodeKind::BlockRealize: return walk_block(static_cast<const BlockRealize&>(*stmt));
      case NodeKind::BufferStore: {
        const auto& store = static_cast<const BufferStore&>(*stmt);
        compute(store.value);
        access(store.buffer, store.indices, true);
        return;
      }
      default: visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { walk(child); });
    }
  }

 private:
  [[nodiscard]] auto kernel() -> Kernel* { return depth_ > 0 ? &kernels.back() : nullptr; }

  void walk_loop(const For& loop) {
    auto extent = as_int(loop.extent);
    if (!extent || *extent <= 0) {
      is_known = false;
      return;
    }
    Around one{loop.var.get(), static_cast<double>(*extent), loop.for_kind == ForKind::Vectorized ? LoopRole::Vector : LoopRole::Serial, -1};
    auto axis = loop.thread ? thread_axis(loop.thread->thread_tag.view()) : std::nullopt;
    if (axis) {
      one.role = axis->family == ThreadFamily::Block ? LoopRole::Block : axis->family == ThreadFamily::Thread ? LoopRole::Thread : LoopRole::Virtual;
      one.dimension = axis->dimension;
      if (depth_++ == 0) { kernels.emplace_back(); }
      if (one.role != LoopRole::Virtual) {
        double& known = (one.role == LoopRole::Block ? kernels.back().grid : kernels.back().block)[loop.thread->thread_tag.str()];
        known = std::max(known, one.extent);
      }
    }
    values_.emplace_back(loop.var.get(), as_int(loop.min).value_or(0));
    around_.push_back(one);
    const double outside = std::exchange(versions_, versions_ * versions_of(loop));
    walk(loop.body);
    versions_ = outside;
    around_.pop_back();
    values_.pop_back();
    if (axis) { --depth_; }
  }

  /// The versions of a tile in a pipelined loop: one more than the stages between its first and its last statement.
  static auto versions_of(const For& loop) -> double {
    const Attr* attr = find_attr(loop.annotations, "software_pipeline_stage");
    const Array<Attr>* stages = attr ? attr->list() : nullptr;
    int64_t first = 0, last = 0;
    for (size_t i = 0; stages != nullptr && i < stages->size(); ++i) {
      const int64_t stage = as_int((*stages)[i].expr()).value_or(0);
      first = i == 0 ? stage : std::min(first, stage);
      last = std::max(last, stage);
    }
    return static_cast<double>(last - first + 1);
  }

  void walk_block(const BlockRealize& realize) {
    const Block& block = *realize.block;
    for (size_t i = 0; i < realize.iter_values.size(); ++i) { bindings_.insert_or_assign(block.iter_vars[i].var.get(), substitute(realize.iter_values[i], bindings_)); }
    // An init runs once for each element; its cost is small beside the updates.
    const bool is_intrinsic = find_attr(block.annotations, "meta_schedule.auto_tensorize") != nullptr || find_attr(block.annotations, "warp_execution") != nullptr;
    const bool outside = std::exchange(is_whole_warp_, is_whole_warp_ || is_intrinsic);
    if (Kernel* k = kernel(); k != nullptr && is_intrinsic) { k->has_whole_warps = true; }
    walk(block.body);
    is_whole_warp_ = outside;
  }

  /// The executions of a statement by all threads.
  [[nodiscard]] auto executions() const -> double {
    double out = 1;
    for (size_t i = 0; i < around_.size(); ++i) { out *= is_repeated(i) ? 1 : around_[i].extent; }
    return out;
  }
  /// True for a loop over threads with another loop over the same threads inside.
  [[nodiscard]] auto is_repeated(size_t i) const -> bool {
    return std::any_of(around_.begin() + static_cast<std::ptrdiff_t>(i) + 1, around_.end(), [&](const Around& inner) { return inner.is_same_axis(around_[i]); });
  }

  void compute(const Expr& value) {
    double operations = 0;
    post_order(value, [&](const Expr& e) {
      switch (e.kind()) {
        case NodeKind::Add: case NodeKind::Sub: case NodeKind::Min: case NodeKind::Max: case NodeKind::Select: operations += e.dtype().is_real() ? 1 : 0; return;
        // A product is a part of a multiply-add.
        case NodeKind::Mul: operations += e.dtype().is_real() ? 0.25 : 0; return;
        case NodeKind::Div: operations += e.dtype().is_real() ? 8 : 0; return;
        case NodeKind::Call: operations += 12; return;
        default: return;
      }
    });
    loads(value);
    Kernel* k = kernel();
    if (k != nullptr && is_whole_warp_) {
      // A copy of an operand has no arithmetic; a product has one multiply-add.
      if (const double width = operand_bytes(value); width > 0) { k->matrix += executions() * width / 2; }
    } else if (k != nullptr) {
      k->fma += operations * executions();
      k->instructions += std::max(operations, 1.0) * executions() / warp;
      double independent = 1;
      for (const Around& one : around_) { independent *= one.role == LoopRole::Virtual || one.role == LoopRole::Vector ? one.extent : 1; }
      k->independent = std::max(k->independent, independent);
    }
  }

  /// The bytes of an element of a factor; 0: nothing is multiplied.
  static auto operand_bytes(const Expr& value) -> double {
    double out = 0;
    post_order(value, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      if (load != nullptr && (out == 0 || load->dtype.element_bytes() < out)) { out = load->dtype.element_bytes(); }
    });
    bool is_product = false;
    post_order(value, [&](const Expr& e) { is_product = is_product || e.kind() == NodeKind::Mul; });
    return is_product ? out : 0;
  }

  void loads(const Expr& value) {
    post_order(value, [&](const Expr& e) {
      if (const auto* load = e.as<BufferLoad>()) { access(load->buffer, load->indices, false); }
    });
  }

  /// The indices of an access with one loop `by` iterations further than at its start; none: they are not plain arithmetic.
  auto indices_at(const std::vector<Expr>& indices, const VarNode* var, int64_t by) -> std::optional<std::vector<int64_t>> {
    auto place = std::find_if(values_.begin(), values_.end(), [&](const auto& one) { return one.first == var; });
    if (place != values_.end()) { place->second += by; }
    std::vector<int64_t> out;
    for (const Expr& index : indices) {
      auto value = evaluate_integer(index, values_);
      if (!value) { break; }
      out.push_back(*value);
    }
    if (place != values_.end()) { place->second -= by; }
    if (out.size() != indices.size()) { return {}; }
    return out;
  }

  void access(const Buffer& buffer, const Array<Expr>& written, bool is_write) {
    Kernel* k = kernel();
    if (k == nullptr) { return; }
    std::vector<Expr> indices;
    for (const Expr& index : written) { indices.push_back(substitute(index, bindings_)); }
    const auto base = indices_at(indices, nullptr, 0);
    Reach reach;
    const double bytes = buffer->dtype.element_bytes();
    // Loads and stores of one thread: loops that the element does not depend on repeat it only outside of the loops that are written out.
    double unrolled = 1, repeats = 1, width = 1;
    for (size_t i = around_.size(); i-- > 0;) {
      const Around& one = around_[i];
      const auto next = indices_at(indices, one.var, 1), last = indices_at(indices, one.var, static_cast<int64_t>(one.extent) - 1);
      const bool is_known = base && next && last;
      const bool is_used = one.extent > 1 && (!is_known || *next != *base || *last != *base);
      Reach::Loop loop{one.var, one.role, one.extent, {}};
      for (size_t d = 0; is_known && d < base->size(); ++d) { loop.spans.push_back(std::abs((*last)[d] - (*base)[d])); }
      reach.loops.insert(reach.loops.begin(), std::move(loop));
      if (one.role == LoopRole::Block || one.role == LoopRole::Thread) {
        repeats *= is_repeated(i) ? 1 : one.extent;
        continue;
      }
      const bool is_inside = one.role != LoopRole::Serial || unrolled * one.extent <= most_unrolled;
      if (one.role == LoopRole::Serial) { unrolled *= one.extent; }
      if (is_used || !is_inside) { repeats *= one.extent; }
      if (one.role == LoopRole::Vector && is_used && is_known && distance(buffer, *base, *next) == 1) { width = std::clamp(one.extent, 1.0, std::max(1.0, 16 / bytes)); }
    }
    const std::string_view scope = buffer->scope().view();
    if (!is_global_memory(scope)) {
      auto [place, is_new] = held_.try_emplace(buffer.get(), Held{kernels.size() - 1, bytes, is_shared_memory(scope), 1, 1, {}});
      if (!is_shared_memory(scope) && is_whole_warp_) { place->second.threads = warp; }
      place->second.versions = std::max(place->second.versions, versions_);
      place->second.reaches.push_back(std::move(reach));
    }
    if (is_whole_warp_ && (is_global_memory(scope) || is_shared_memory(scope))) {
      note_whole(*k, buffer, executions() * bytes);
    } else if (is_global_memory(scope) || is_shared_memory(scope)) { note(*k, buffer, repeats, width, base ? lanes_of(buffer, indices, *base) : std::vector<int64_t>{0}); }
  }

  /// The elements of the first warp, from that of its first thread. Threads count along x, then y, then z.
  auto lanes_of(const Buffer& buffer, const std::vector<Expr>& indices, const std::vector<int64_t>& base) -> std::vector<int64_t> {
    std::array<const Around*, 3> axes{};
    for (const Around& one : around_) {
      if (one.role == LoopRole::Thread && one.dimension >= 0) { axes[static_cast<size_t>(one.dimension)] = &one; }
    }
    const Valuation start = values_;
    std::vector<int64_t> out;
    for (int64_t lane = 0; lane < static_cast<int64_t>(warp); ++lane) {
      int64_t rest = lane;
      for (const Around* axis : axes) {
        if (axis == nullptr) { continue; }
        const auto extent = static_cast<int64_t>(axis->extent);
        auto place = std::find_if(values_.begin(), values_.end(), [&](const auto& one) { return one.first == axis->var; });
        place->second += rest % extent;
        rest /= extent;
      }
      const bool is_thread = rest == 0;
      auto at = is_thread ? indices_at(indices, nullptr, 0) : std::nullopt;
      values_ = start;
      if (at) { out.push_back(distance(buffer, base, *at)); }
    }
    return out;
  }

  /// The elements between two places of a buffer.
  static auto distance(const Buffer& buffer, const std::vector<int64_t>& from, const std::vector<int64_t>& to) -> int64_t {
    int64_t out = 0, stride = 1;
    for (size_t d = from.size(); d-- > 0;) {
      out += (to[d] - from[d]) * stride;
      stride *= as_int(buffer->shape[d]).value_or(1);
    }
    return out;
  }

  void note(Kernel& k, const Buffer& buffer, double repeats, double width, const std::vector<int64_t>& lanes) {
    const int64_t bytes = buffer->dtype.element_bytes();
    const double warps = repeats / warp / width;
    k.instructions += warps;
    const bool is_shared = is_shared_memory(buffer->scope().view());
    // The words or sectors that the warp touches together.
    const int64_t unit = is_shared ? bank_bytes : static_cast<int64_t>(sector_bytes);
    std::set<int64_t> touched;
    for (int64_t lane : lanes) {
      const int64_t last = (lane + static_cast<int64_t>(width)) * bytes - 1;
      for (int64_t at = floor_of(lane * bytes, unit); at <= floor_of(last, unit); ++at) { touched.insert(at); }
    }
    if (is_shared) {
      // Different words of a bank are fetched one after the other.
      std::array<int, banks> words{};
      int ways = 1;
      for (int64_t word : touched) { ways = std::max(ways, ++words[static_cast<size_t>(((word % banks) + banks) % banks)]); }
      k.shared_cycles += warps * ways;
      return;
    }
    k.sectors += warps * static_cast<double>(touched.size()) * sector_bytes;
    count_global(buffer);
  }

  void count_global(const Buffer& buffer) {
    double& whole = global_bytes[buffer.get()];
    auto bytes = static_cast<double>(buffer->dtype.element_bytes());
    for (const Expr& extent : buffer->shape) { bytes *= static_cast<double>(as_int(extent).value_or(1)); }
    whole = std::max(whole, bytes);
  }

  /// A load or store of a matrix unit: the warp moves whole rows of banks and sectors.
  void note_whole(Kernel& k, const Buffer& buffer, double bytes) {
    const double row = static_cast<double>(banks * bank_bytes);
    k.instructions += bytes / row;
    if (is_shared_memory(buffer->scope().view())) {
      k.shared_cycles += bytes / row;
    } else {
      k.sectors += bytes;
      count_global(buffer);
    }
  }

  int depth_ = 0;
  bool is_whole_warp_ = false;   // inside of a block that is a tensor intrinsic
  std::vector<Around> around_;
  Valuation values_;
  VarMap bindings_;
  std::map<const BufferNode*, Held> held_;
  double versions_ = 1;
};

auto product(const std::map<std::string, double>& extents) -> double {
  double out = 1;
  for (const auto& [tag, extent] : extents) { out *= std::max(extent, 1.0); }
  return out;
}

/// Seconds of a kernel; infinity where the device cannot run it.
auto seconds_of(const Kernel& k, const GpuModel& model, double registers) -> double {
  const target::GpuLimits& limits = model.limits;
  // The threads of a warp that run an intrinsic need no loop of their own.
  const bool has_lanes = !k.has_whole_warps || k.block.contains("threadIdx.x");
  const double threads = product(k.block) * (has_lanes ? 1 : warp), blocks = product(k.grid);
  const double units = limits.units > 0 ? static_cast<double>(limits.units) : 80;
  if ((limits.block_threads > 0 && threads > static_cast<double>(limits.block_threads)) || (limits.shared_most > 0 && k.shared_bytes > static_cast<double>(limits.shared_most))) {
    return std::numeric_limits<double>::infinity();
  }
  // Sums in registers beyond the limit are spilled, and each of their updates goes through memory.
  const double wanted = registers > 0 ? registers : k.local_words + other_registers;
  const double spilled = wanted > most_registers ? 4 : 1;
  double resident = 8;
  if (limits.unit_threads > 0) {
    const target::Occupancy fit = target::occupancy(limits, static_cast<uint64_t>(threads), static_cast<uint64_t>(std::min(wanted, most_registers)), static_cast<uint64_t>(k.shared_bytes));
    if (fit.blocks == 0) { return std::numeric_limits<double>::infinity(); }
    resident = static_cast<double>(fit.blocks);
  }
  // The share of the card that works: blocks of the last wave, idle lanes of a warp, and warps that hide latency.
  const double at_once = units * resident;
  const double waves = std::ceil(blocks / at_once);
  const double even = blocks >= at_once ? blocks / (waves * at_once) : std::min(1.0, blocks / units) * std::min(1.0, std::max(blocks / units, 1.0) / std::ceil(blocks / units));
  const double filled = threads / (std::ceil(threads / warp) * warp);
  const double warps = std::ceil(threads / warp) * std::min(resident, std::max(1.0, blocks / units));
  const double independent = std::clamp(std::max(k.independent, k.local_words), 1.0, 16.0);
  const double hidden = std::min(1.0, warps * std::sqrt(independent) / hiding_warps);
  const double share = std::max(1e-4, even * filled * hidden);
  const double cycles = std::max({k.fma / (model.lanes * units), k.matrix / (model.matrix * units), k.instructions / (issued * units), k.shared_cycles / units});
  const double memory = k.sectors / model.cache_bytes;
  return launch_seconds + spilled * (std::max(cycles / model.clock, memory) + 0.2 * (cycles / model.clock + memory)) / share;
}

}  // namespace

auto gpu_model(const target::Target& target) -> GpuModel {
  GpuModel out;
  if (auto limits = target::gpu_limits(target)) { out.limits = *limits; }
  struct Rates { std::string_view arch; double clock, lanes, matrix, memory, cache; uint64_t units; };
  // The rates of the largest card of an architecture, from NVIDIA's data sheets; bandwidths of the cache are measured values of the literature. Instructions of one warp
  // reach about half of the rate of matrix units on sm_90 and later.
  static constexpr Rates rates[] = {
      {"sm_75", 1.59e9, 64, 512, 320e9, 1.2e12, 40},     {"sm_80", 1.41e9, 64, 1024, 1555e9, 4.5e12, 108},  {"sm_86", 1.7e9, 128, 512, 768e9, 2.5e12, 84},
      {"sm_89", 2.5e9, 128, 512, 1008e9, 4.5e12, 128},   {"sm_90", 1.75e9, 128, 1024, 3350e9, 5.7e12, 132}, {"sm_100", 1.9e9, 128, 1024, 8000e9, 8.0e12, 148},
      {"sm_120", 2.4e9, 128, 512, 1792e9, 6.0e12, 170},
  };
  const std::string arch = target::cuda_arch(target);
  for (const Rates& one : rates) {
    if (!arch.starts_with(one.arch)) { continue; }
    out.clock = one.clock;
    out.lanes = one.lanes;
    out.matrix = one.matrix;
    out.memory_bytes = one.memory;
    out.cache_bytes = one.cache;
    if (out.limits.units == 0) { out.limits.units = one.units; }
  }
  return out;
}

auto kernel_seconds(const PrimFunc& function, const GpuModel& model, uint64_t registers) -> std::optional<double> {
  KernelWalker walker;
  walker.walk(function->body);
  if (!walker.is_known || walker.kernels.empty()) { return {}; }
  walker.count_memory();
  double seconds = 0, bytes = 0;
  for (const Kernel& kernel : walker.kernels) { seconds += seconds_of(kernel, model, static_cast<double>(registers)); }
  for (const auto& [buffer, moved] : walker.global_bytes) { bytes += moved; }
  return std::max(seconds, bytes / model.memory_bytes);
}

}  // namespace loopsmith::cost
