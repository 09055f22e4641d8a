// Random schedules for devices: see device_steps.h.
#include "tests/gate/device_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::gate {

using schedule::BlockRV;
using schedule::FuncState;
using schedule::LoopRV;
using schedule::Place;
using schedule::Value;

namespace {

class DeviceSchedule {
 public:
  DeviceSchedule(schedule::Schedule& sch, Random& random, StepCounts& counts) : sch_(sch), random_(random), counts_(counts) {}

  auto run() -> std::vector<Step> {
    std::vector<std::string> todo = blocks();
    std::reverse(todo.begin(), todo.end());
    if (random_.chance(10)) { std::reverse(todo.begin(), todo.end()); }
    for (const std::string& name : todo) {
      if (!find(name)) { continue; }
      if (!kernels_.empty() && random_.chance(55) && move_to_consumer(name)) { continue; }
      if (random_.chance(8)) { continue; }   // a kernel of a single thread, or serial loops in one
      const std::string kinds = kinds_of(name);
      const bool is_reduction = kinds.find('R') != std::string::npos;
      if (is_reduction && random_.chance(kinds[0] == 'R' ? 85 : 35)) { reduce(name); } else { tile(name); }
      kernels_.push_back(name);
    }
    for (int64_t i = random_.chance(40) ? random_.between(1, 3) : 0; i > 0; --i) { any_step(); }
    return std::move(steps_);
  }

 private:
  using Ref = Step::Ref;
  struct Named { std::string name; Value value; };

  // -- the program at hand
  auto func() const -> const FuncState& { return *sch_.state().func("main"); }
  auto blocks() const -> std::vector<std::string> {
    std::vector<std::string> out;
    for (const Place& p : func().places()) { if (p.is_block() && p.index > 0 && p.name() != "root") { out.push_back(p.name().str()); } }
    return out;
  }
  auto find(const std::string& name) const -> const Place* {
    for (const Place& p : func().places()) { if (p.is_block() && p.index > 0 && p.name().str() == name) { return &p; } }
    return nullptr;
  }
  auto loops(const std::string& name) const -> std::vector<const Place*> {
    const Place* block = find(name);
    return block ? func().loops(*block) : std::vector<const Place*>();
  }
  auto count(const std::string& name) const -> int { return static_cast<int>(loops(name).size()); }
  /// A letter for each loop around the block: 'R' where an iter var of a reduction depends on it, 'T' where it is bound, else 'S'.
  auto kinds_of(const std::string& name) const -> std::string {
    std::string out;
    const Place* block = find(name);
    if (!block) { return out; }
    for (const Place* loop : func().loops(*block)) {
      bool reduces = false;
      for (size_t i = 0; i < block->block()->iter_vars.size(); ++i) {
        if (block->block()->iter_vars[i].kind == IterKind::Spatial) { continue; }
        reduces = reduces || uses_var(block->realize->iter_values[i], [&](const VarNode& v) { return &v == loop->loop->var.get(); });
      }
      out += loop->loop->thread ? 'T' : reduces ? 'R' : 'S';
    }
    return out;
  }

  // -- steps
  auto loop_of(const std::string& block, int index) -> Value {
    refs_.push_back({block, index});
    return LoopRV{static_cast<uint32_t>(refs_.size() - 1)};
  }
  auto block_of(const std::string& block) -> Value {
    refs_.push_back({block, -1});
    return BlockRV{static_cast<uint32_t>(refs_.size() - 1)};
  }
  auto apply(std::string_view primitive, std::vector<Named> args) -> bool {
    Step step;
    step.row = schedule::find_primitive(primitive);
    step.refs = std::move(refs_);
    refs_.clear();
    for (Named& arg : args) { step.args.emplace_back(std::move(arg.name), std::move(arg.value)); }
    const Applied applied = apply_step(sch_, step);
    if (applied == Applied::NoSuchPlace) { return false; }
    Count& seen = counts_[std::string(primitive)];
    ++(applied == Applied::Accepted ? seen.accepted : seen.refused);
    if (applied == Applied::Accepted) { steps_.push_back(std::move(step)); }
    return applied == Applied::Accepted;
  }
  auto split(const std::string& block, int loop, const Value::List& factors) -> bool {
    Value at = loop_of(block, loop);
    return apply("split", {{"loop", at}, {"factors", Value(factors)}});
  }
  auto fuse(const std::string& block, int first, int last) -> bool {
    if (first >= last) { return first == last; }
    Value::List all;
    for (int i = first; i <= last; ++i) { all.push_back(loop_of(block, i)); }
    return apply("fuse", {{"loops", Value(all)}});
  }
  auto reorder(const std::string& block, const std::vector<int>& order) -> bool {
    Value::List all;
    for (int i : order) { all.push_back(loop_of(block, i)); }
    return apply("reorder", {{"ordered_loops", Value(all)}});
  }
  auto bind(const std::string& block, int loop, const std::string& axis) -> bool {
    std::vector<const Place*> around = loops(block);
    if (static_cast<size_t>(loop) >= around.size()) { return false; }
    auto extent = as_int(around[static_cast<size_t>(loop)]->loop->extent);
    if (axis[0] == 't' && (!extent || *extent > 256)) { return false; }
    Value at = loop_of(block, loop);
    return apply("bind", {{"loop", at}, {"thread_axis", Value(axis)}});
  }
  auto at_loop(std::string_view primitive, const std::string& block, int loop) -> bool {
    Value at = loop_of(block, loop);
    return apply(primitive, {{"loop", at}});
  }

  // -- recipes
  auto threads() -> int64_t { return random_.pick<int64_t>({2, 4, 5, 8, 8, 16, 16, 32, 32, 33, 64}); }
  /// Splits of a spatial loop: grid, maybe virtual threads, threads, maybe the elements of a thread.
  struct Parts {
    Value::List factors;
    int virtual_part = -1, thread_part = -1, inner_part = -1;
    auto count() const -> int { return static_cast<int>(factors.size()); }
  };
  auto random_parts(int64_t most_threads, bool has_virtual, bool has_inner) -> Parts {
    Parts out;
    out.factors.emplace_back();
    if (has_virtual) {
      out.virtual_part = out.count();
      out.factors.emplace_back(random_.between(2, 3));
    }
    out.thread_part = out.count();
    out.factors.emplace_back(std::min(threads(), most_threads));
    if (has_inner) {
      out.inner_part = out.count();
      out.factors.emplace_back(random_.pick<int64_t>({2, 2, 4, 3, 8}));
    }
    return out;
  }

  void tile(const std::string& block) {
    std::string kinds = kinds_of(block);
    const int spatial = static_cast<int>(std::min(kinds.find_first_not_of('S'), kinds.size()));
    if (spatial == 0) { return reduce(block); }
    const bool is_reduction = kinds.find('R') != std::string::npos;
    const bool has_virtual = random_.chance(25), has_inner = random_.chance(45);
    std::string copied;
    if (is_reduction && random_.chance(50)) { copied = cache(block, "cache_write", "write_buffer_index", 0, random_.chance(85) ? "local" : "shared"); }
    int thread_loop = 0;   // the innermost bound loop
    if (spatial >= 2 && random_.chance(55)) {
      const Parts parts = random_parts(8, has_virtual, has_inner);
      const int y = spatial - 2, p = parts.count();
      Parts of_x = parts;
      if (random_.chance(50)) { of_x.factors[static_cast<size_t>(of_x.thread_part)] = Value(random_.pick<int64_t>({4, 8, 16, 32})); }
      if (!split(block, spatial - 1, of_x.factors) || !split(block, y, parts.factors)) { return; }
      std::vector<int> order;
      for (int i = 0; i < p; ++i) { order.insert(order.end(), {y + i, y + p + i}); }
      if (!reorder(block, order)) { return; }
      const bool is_swapped = random_.chance(15);
      const char* first = is_swapped ? "x" : "y";
      const char* second = is_swapped ? "y" : "x";
      auto bind_both = [&](const std::string& family, int part) {
        if (part < 0) { return; }
        bind(block, y + 2 * part, fmt::format("{}.{}", family, first));
        bind(block, y + 2 * part + 1, fmt::format("{}.{}", family, second));
      };
      if (y > 0 && fuse(block, 0, y - 1) && y == 1) { bind(block, 0, "blockIdx.z"); }
      bind_both("blockIdx", 0);
      bind_both("vthread", parts.virtual_part);
      bind_both("threadIdx", parts.thread_part);
      thread_loop = y + 2 * parts.thread_part + 1;
    } else {
      if (!fuse(block, 0, spatial - 1)) { return; }
      const Parts parts = random_parts(64, has_virtual, has_inner);
      if (!split(block, 0, parts.factors)) { return; }
      bind(block, 0, "blockIdx.x");
      if (parts.virtual_part >= 0) { bind(block, parts.virtual_part, "vthread.x"); }
      bind(block, parts.thread_part, "threadIdx.x");
      thread_loop = parts.thread_part;
      if (!is_reduction && parts.inner_part >= 0 && random_.chance(50)) { at_loop(random_.chance(70) ? "vectorize" : "unroll", block, parts.inner_part); }
    }
    if (!copied.empty()) {
      Value from = block_of(copied), to = loop_of(block, random_.chance(80) ? thread_loop : static_cast<int>(random_.below(thread_loop + 1)));
      apply("reverse_compute_at", {{"block", from}, {"loop", to}});
      fill_together(copied, 30);
    }
    if (is_reduction) { stage(block, thread_loop); } else if (random_.chance(30)) { stage_map(block, thread_loop); }
  }

  /// Caches of a reduction's operands, filled for each step of the reduction.
  void stage(const std::string& block, int thread_loop) {
    std::string kinds = kinds_of(block);
    size_t first = kinds.find('R');
    if (first == std::string::npos) { return; }
    int outer = static_cast<int>(first);
    if (split(block, outer, {Value(), Value(random_.pick<int64_t>({2, 4, 4, 8, 3}))})) {
      // The loops of the reduction come before the elements of a thread.
      std::vector<int> order{outer, outer + 1};
      for (int i = thread_loop + 1; i < outer; ++i) { order.push_back(i); }
      if (order.size() > 2 && reorder(block, order)) { outer = thread_loop + 1; }
    }
    if (random_.chance(20)) {
      Value what = block_of(block), at = loop_of(block, outer);
      apply("decompose_reduction", {{"block", what}, {"loop", at}});
    }
    if (!find(block)) { return; }
    std::vector<std::string> caches;
    const auto operands = static_cast<int64_t>(find(block)->block()->reads.size());
    for (int64_t i = 0; i < operands; ++i) {
      if (random_.chance(25)) { continue; }
      std::string scope = random_.chance(80) ? "shared" : random_.chance(50) ? "shared.dyn" : "local";
      std::string made = cache(block, "cache_read", "read_buffer_index", i, scope);
      if (made.empty()) { continue; }
      const int at = random_.chance(70) ? outer : static_cast<int>(random_.below(outer + 1));
      Value from = block_of(made), to = loop_of(block, at);
      if (!apply("compute_at", {{"block", from}, {"loop", to}})) { continue; }
      if (scope != "local") { fill_together(made, 90); }
      caches.push_back(made);
      if (random_.chance(25)) {
        Value what = block_of(made);
        apply("storage_align", {{"block", what}, {"buffer_index", Value(0)}, {"axis", Value(random_.pick<int64_t>({-2, 0}))},
                                {"factor", Value(random_.pick<int64_t>({8, 16, 32}))}, {"offset", Value(random_.pick<int64_t>({1, 4, 8}))}});
      }
    }
    if (!caches.empty() && random_.chance(45)) { annotate_pipeline(block, outer, static_cast<int64_t>(caches.size())); }
    if (random_.chance(20)) { at_loop("unroll", block, count(block) - 1); }
  }

  /// Stages of copies and of the computation, of which a copy may be asynchronous. A third of the pipelines has as many stages as TVM's rules make.
  void annotate_pipeline(const std::string& block, int loop, int64_t copies) {
    Value::List stages, order, async;
    const int64_t depth = random_.between(1, 3);
    for (int64_t i = 0; i <= copies; ++i) {
      stages.emplace_back(i < copies ? random_.chance(80) ? int64_t{0} : std::min<int64_t>(depth, 1) : depth);
      order.emplace_back(i);
    }
    if (random_.chance(20) && copies > 1) { std::swap(order[0], order[1]); }
    if (random_.chance(50)) { async.emplace_back(0); }
    auto put = [&](const char* key, const Value::List& value) {
      Value at = loop_of(block, loop);
      return apply("annotate", {{"block_or_loop", at}, {"ann_key", Value(key)}, {"ann_val", Value(value)}});
    };
    if (!put("software_pipeline_stage", stages) || !put("software_pipeline_order", order)) { return; }
    if (!async.empty()) { put("software_pipeline_async_stages", async); }
  }

  /// A tile of the input in shared memory, for a map.
  void stage_map(const std::string& block, int thread_loop) {
    std::string made = cache(block, "cache_read", "read_buffer_index", 0, random_.chance(85) ? "shared" : "local");
    if (made.empty()) { return; }
    Value from = block_of(made), to = loop_of(block, static_cast<int>(random_.below(thread_loop + 1)));
    if (apply("compute_at", {{"block", from}, {"loop", to}})) { fill_together(made, 85); }
  }

  /// Binds the loops of a copy to the threads of the kernel that it is part of.
  void fill_together(const std::string& block, int percent) {
    std::vector<const Place*> around = loops(block);
    std::map<std::string, int64_t> extents;
    int bound = 0;
    for (size_t i = 0; i < around.size(); ++i) {
      if (!around[i]->loop->thread) { continue; }
      bound = static_cast<int>(i) + 1;
      std::string tag = around[i]->loop->thread->thread_tag.str();
      auto extent = as_int(around[i]->loop->extent);
      if (tag.starts_with("threadIdx") && extent) { extents[tag] = *extent; }
    }
    if (!random_.chance(percent)) { return; }
    if (extents.empty()) { extents["threadIdx.x"] = kernel_threads(block).value_or(threads()); }
    // Loops of its own: those below all others that a consumer shares.
    int own = bound;
    for (size_t i = static_cast<size_t>(bound); i < around.size(); ++i) { if (is_shared(*around[i], block)) { own = static_cast<int>(i) + 1; } }
    if (own >= static_cast<int>(around.size()) || !fuse(block, own, static_cast<int>(around.size()) - 1)) { return; }
    Value::List factors{Value()};
    std::vector<std::string> axes{""};
    for (const auto& [tag, extent] : std::vector<std::pair<std::string, int64_t>>(extents.rbegin(), extents.rend())) {
      if (random_.chance(8)) { continue; }
      // Fewer threads than there are: the others wait.
      factors.emplace_back(random_.chance(8) ? std::max<int64_t>(1, extent / 2) : extent);
      axes.push_back(tag);
    }
    const bool is_vector = random_.chance(35);
    if (is_vector) {
      factors.emplace_back(random_.pick<int64_t>({2, 4, 4}));
      axes.emplace_back("vectorize");
    }
    if (factors.size() == 1 || !split(block, own, factors)) { return; }
    for (size_t i = 1; i < axes.size(); ++i) {
      const int loop = own + static_cast<int>(i);
      if (axes[i] == "vectorize") { at_loop("vectorize", block, loop); } else { bind(block, loop, axes[i]); }
    }
  }
  auto is_shared(const Place& loop, const std::string& block) const -> bool {
    for (int i = loop.index + 1; i < loop.end; ++i) {
      const Place& p = func().places()[static_cast<size_t>(i)];
      if (p.is_block() && p.name().str() != block) { return true; }
    }
    return false;
  }
  /// The extent of threadIdx.x in the kernel around the block.
  auto kernel_threads(const std::string& block) const -> std::optional<int64_t> {
    std::vector<const Place*> around = loops(block);
    if (around.empty()) { return {}; }
    for (int i = around[0]->index; i < around[0]->end; ++i) {
      const Place& p = func().places()[static_cast<size_t>(i)];
      if (p.is_loop() && p.loop->thread && p.loop->thread->thread_tag == "threadIdx.x") { return as_int(p.loop->extent); }
    }
    return {};
  }

  /// A reduction over threads.
  void reduce(const std::string& block) {
    std::string kinds = kinds_of(block);
    const int spatial = static_cast<int>(std::min(kinds.find_first_not_of('S'), kinds.size()));
    if (kinds.empty() || kinds.find_first_not_of('R', static_cast<size_t>(spatial)) != std::string::npos) { return; }
    if (spatial > 0 && !fuse(block, 0, spatial - 1)) { return; }
    int at = spatial > 0 ? 1 : 0;
    if (!fuse(block, at, count(block) - 1)) { return; }
    if (spatial > 0) {
      if (random_.chance(40) && split(block, 0, {Value(), Value(random_.pick<int64_t>({2, 4, 3}))})) {
        bind(block, 1, "threadIdx.y");
        ++at;
      }
      bind(block, 0, "blockIdx.x");
    }
    const int64_t width = random_.pick<int64_t>({2, 4, 7, 8, 16, 16, 32, 32, 32, 64, 64, 96, 128});
    const bool is_inner = random_.chance(70);
    if (!split(block, at, is_inner ? Value::List{Value(), Value(width)} : Value::List{Value(width), Value()})) { return; }
    const int lane = is_inner ? at + 1 : at;
    if (!random_.chance(35)) {
      bind(block, lane, "threadIdx.x");
      if (random_.chance(25)) { stage_map(block, at); }
      return;
    }
    std::vector<std::string> known = blocks();
    Value loop = loop_of(block, lane);
    if (!apply("rfactor", {{"loop", loop}, {"factor_axis", Value(0)}})) { return; }
    std::string made = new_block(known);
    // The last loop of the reduction is that over the factor.
    const int last = count(block) - 1;
    bind(block, last, "threadIdx.x");
    if (made.empty()) { return; }
    if (random_.chance(70)) {
      Value from = block_of(made), to = loop_of(block, random_.chance(75) ? last : static_cast<int>(random_.below(last + 1)));
      apply("compute_at", {{"block", from}, {"loop", to}});
      if (random_.chance(40)) {
        Value what = block_of(made);
        apply("set_scope", {{"block", what}, {"buffer_index", Value(0)}, {"storage_scope", Value(random_.chance(50) ? "local" : "shared")}});
      }
    } else {
      tile(made);
    }
  }

  /// Moves a block to where a scheduled block reads it.
  auto move_to_consumer(const std::string& block) -> bool {
    const std::string& consumer = random_.pick(kernels_);
    if (!find(consumer)) { return false; }
    if (random_.chance(15)) {
      Value what = block_of(block);
      if (apply("compute_inline", {{"block", what}})) { return true; }
    }
    const int depth = count(consumer);
    if (depth == 0) { return false; }
    const std::string kinds = kinds_of(consumer);
    const auto bound = kinds.find_last_of('T');
    const int most = bound == std::string::npos ? depth : static_cast<int>(bound) + 1;
    const int at = random_.chance(80) ? static_cast<int>(random_.below(most)) : static_cast<int>(random_.below(depth));
    Value what = block_of(block), to = loop_of(consumer, at);
    if (!apply("compute_at", {{"block", what}, {"loop", to}, {"preserve_unit_loops", Value(random_.chance(50))}})) { return false; }
    const bool is_inside = at + 1 >= most;
    const char* scope = is_inside && random_.chance(60) ? "local" : "shared";
    if (random_.chance(90)) {
      Value again = block_of(block);
      apply("set_scope", {{"block", again}, {"buffer_index", Value(0)}, {"storage_scope", Value(scope)}});
    }
    const std::string own = kinds_of(block);
    if (own.find('R') != std::string::npos) {
      // The threads of the kernel reduce together.
      if (random_.chance(60)) {
        const int last = static_cast<int>(own.size()) - 1;
        if (own.back() == 'R' && split(block, last, {Value(), Value(kernel_threads(block).value_or(32))})) { bind(block, last + 1, "threadIdx.x"); }
      }
    } else if (!is_inside || random_.chance(30)) {
      fill_together(block, 80);
    }
    return true;
  }

  auto cache(const std::string& block, std::string_view primitive, const char* index_name, int64_t index, const std::string& scope) -> std::string {
    std::vector<std::string> known = blocks();
    Value what = block_of(block);
    if (!apply(primitive, {{"block", what}, {index_name, Value(index)}, {"storage_scope", Value(scope)}})) { return {}; }
    return new_block(known);
  }
  auto new_block(const std::vector<std::string>& known) const -> std::string {
    for (const std::string& name : blocks()) { if (std::find(known.begin(), known.end(), name) == known.end()) { return name; } }
    return {};
  }

  /// A change that no recipe makes.
  void any_step() {
    std::vector<std::string> all = blocks();
    if (all.empty()) { return; }
    const std::string block = random_.pick(all);
    const int depth = count(block);
    if (depth == 0) { return; }
    const int at = static_cast<int>(random_.below(depth));
    switch (random_.below(5)) {
      case 0: at_loop("unroll", block, at); break;
      case 1: at_loop("vectorize", block, depth - 1); break;
      case 2: split(block, at, {Value(), Value(random_.between(2, 4))}); break;
      case 3: bind(block, at, random_.pick<std::string>({"threadIdx.x", "threadIdx.y", "vthread.x", "blockIdx.x", "vthread.y"})); break;
      default: {
        auto step = random_step(sch_, random_, counts_, block);
        if (!step || step->row->name == "transform_layout" || step->row->name == "set_axis_separator") { return; }
        schedule::Schedule before = sch_;
        const IRModule old = sch_.module();
        if (apply_step(sch_, *step) != Applied::Accepted) { return; }
        if (changes_parameters(old, sch_.module())) { sch_ = std::move(before); return; }
        steps_.push_back(std::move(*step));
      }
    }
  }
  static auto changes_parameters(const IRModule& before, const IRModule& after) -> bool {
    PrimFunc a = before->find("main"), b = after->find("main");
    for (size_t i = 0; i < a->params.size() && i < b->params.size(); ++i) {
      Buffer x = a->buffer_of(a->params[i]), y = b->buffer_of(b->params[i]);
      if (x && y && !(x == y)) { return true; }
    }
    return false;
  }

  schedule::Schedule& sch_;
  Random& random_;
  StepCounts& counts_;
  std::vector<Step> steps_;
  std::vector<Ref> refs_;                  // of the step that is being built
  std::vector<std::string> kernels_;       // blocks with loops of their own
};

}  // namespace

auto random_device_steps(schedule::Schedule& sch, Random& random, StepCounts& counts) -> std::vector<Step> {
  const FuncState* func = sch.state().func("main");
  if (!func || func->places().size() < 2) { return {}; }
  return DeviceSchedule(sch, random, counts).run();
}

}  // namespace loopsmith::gate
