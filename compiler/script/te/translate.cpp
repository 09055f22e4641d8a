// The translation: see translate.h.
#include "script/te/translate.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/equal.h"
#include "ir/ops.h"
#include "script/te/intrinsics.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::te {
namespace {

using schedule::BlockRV;
using schedule::LoopRV;
using schedule::Schedule;
using Values = std::vector<schedule::Value>;

// The state between two primitives.
struct Work {
  Schedule schedule;
  std::vector<std::optional<BlockRV>> blocks;
  std::vector<std::optional<LoopRV>> loops;
  std::optional<BlockRV> start;   // that the primitive made for a reduction
  Diagnostics why;                // of the last refused primitive
  Origin call;

  auto apply(std::string_view primitive, Values values, std::vector<std::pair<std::string, schedule::Value>> keyword = {}) -> std::optional<schedule::Value> {
    auto result = schedule.apply(primitive, schedule::Arguments{std::move(values), std::move(keyword)}, call);
    if (result.ok()) { return *std::move(result); }
    why = std::move(result).diagnostics();
    return std::nullopt;
  }
  auto loops_around(BlockRV block) -> std::optional<std::vector<LoopRV>> {
    auto found = apply("get_loops", {block});
    return found ? std::optional(schedule::loops_of(*found)) : std::nullopt;
  }
  [[nodiscard]] auto block_of(size_t stage) const -> const Block* {
    if (!blocks[stage]) { return nullptr; }
    auto place = schedule.get(*blocks[stage]);
    return place.ok() ? (*place)->block() : nullptr;
  }
};

// True for a stage that stands inside another one, directly or inside a stage there.
auto is_inside(const Stages& stages, size_t stage, size_t target) -> bool {
  for (size_t steps = 0; steps <= stages.stages.size(); ++steps) {
    if (stage == target) { return true; }
    const Stage& s = stages.stages[stage];
    if (s.place != Stage::Place::At) { return false; }
    stage = stages.axes[s.at_axis].stage;
  }
  return false;
}

// True for a stage that cannot be computed at its axis yet: another stage reads it, stands at the root, and is not an output.
auto waits(const Stages& stages, size_t i) -> bool {
  const Stage& s = stages.stages[i];
  if (s.place != Stage::Place::At) { return false; }
  const size_t target = stages.axes[s.at_axis].stage;
  const std::vector<size_t> readers = stages.consumers_of(i);
  return std::any_of(readers.begin(), readers.end(), [&](size_t reader) {
    const Stage& one = stages.stages[reader];
    if (one.place == Stage::Place::Inline || is_inside(stages, reader, target)) { return false; }
    return (one.place == Stage::Place::Root && !one.is_output) || waits(stages, reader);
  });
}

// The distance in memory between neighbours along each dimension; null where it is not a constant.
auto constant_strides(const Buffer& buffer) -> std::vector<std::optional<int64_t>> {
  std::vector<std::optional<int64_t>> out(buffer->shape.size());
  std::optional<int64_t> step = 1;
  for (size_t d = buffer->shape.size(); d-- > 0;) {
    out[d] = buffer->strides.size() == buffer->shape.size() ? as_int(buffer->strides[d]) : step;
    const auto extent = as_int(buffer->shape[d]);
    step = step && extent ? std::optional(*step * *extent) : std::nullopt;
  }
  return out;
}

// The statements of an intrinsic use strides that the buffer of its declaration fixes: the error that a parameter of the program has others. Buffers of the program itself may still
// be made smaller, so they are not compared.
auto other_strides(const PrimFunc& func, const Block& block, Name intrinsic, const std::string& place) -> std::optional<Diagnostic> {
  for (const MatchBufferRegion& view : block.match_buffers) {
    const bool is_parameter = std::any_of(func->buffer_map.begin(), func->buffer_map.end(), [&](const auto& one) { return one.second == view.source.buffer; });
    if (!is_parameter) { continue; }
    const auto wanted = constant_strides(view.buffer), found = constant_strides(view.source.buffer);
    for (size_t d = 0; d < wanted.size(); ++d) {
      const auto& there = found[found.size() - wanted.size() + d];
      if (!wanted[d] || !there || *wanted[d] == *there || is_one(view.buffer->shape[d])) { continue; }
      const std::string name = view.source.buffer->name.str(), own = view.buffer->name.str();
      return error(Code::IntrinsicMismatch, Origin{}).arg("place", place).arg("intrinsic", intrinsic.view())
          .arg("reason", because(Why::StandsWhere).arg("found", fmt::format("{} with the stride {}", name, *there)).arg("wanted", fmt::format("{} with the stride {}", own, *wanted[d])).text())
          .remedy("declare the buffer with variables as strides: `strides=[te.var(\"s\"), 1]`, and use them in the statements");
    }
  }
  return std::nullopt;
}

class Translation {
 public:
  Translation(Stages& stages, bool is_whole) : stages_(stages), is_whole_(is_whole), work_{stages.base, {}, {}, {}, {}, {}} {
    work_.blocks.resize(stages.stages.size());
    work_.loops.resize(stages.axes.size());
    is_source_used_.assign(stages.sources.size(), false);
  }

  auto run(Refused& refused) -> std::optional<uint64_t> {
    bool is_done = rewire() && inline_stages() && place_stages() && finish();
    if (!is_done) {
      refused = std::move(refused_);
      return std::nullopt;
    }
    stages_.done = std::move(done_);
    stages_.has_waiting_tile = has_waiting_tile_;
    return ran_;
  }

 private:
  using Action = std::function<bool(Work&)>;

  // Makes one primitive with its results, or takes it over from the last translation, where everything before it was taken over too.
  auto step(std::string text, Origin call, const Action& action) -> bool {
    size_t at = done_.size();
    if (is_as_before_ && at < stages_.done.size() && stages_.done[at]->primitive == text && stages_.done[at]->call == call) {
      done_.push_back(stages_.done[at]);
      return true;
    }
    if (is_as_before_) { take_over(); }
    is_as_before_ = false;
    work_.call = call;
    work_.start = std::nullopt;
    ++ran_;
    if (!action(work_)) {
      refused_ = {call, text.substr(0, text.find('#')), std::move(work_.why)};
      return false;
    }
    done_.push_back(std::make_shared<const Translated>(Translated{std::move(text), call, work_.schedule, work_.blocks, work_.loops, work_.start}));
    return true;
  }
  void take_over() {
    if (done_.empty()) { return; }
    const Translated& last = *done_.back();
    work_.schedule = last.after;
    work_.blocks = last.blocks;
    work_.loops = last.loops;
    work_.blocks.resize(stages_.stages.size());
    work_.loops.resize(stages_.axes.size());
  }

  // ---- names -----------------------------------------------------------------------------------------------------

  auto stage(size_t i) const -> const Stage& { return stages_.stages[i]; }
  auto name(size_t axis) const -> std::string { return stages_.axes[axis].iter.var->name.str(); }
  auto names(const std::vector<size_t>& axes) const -> std::string {
    std::string out;
    for (size_t axis : axes) { out += (out.empty() ? "" : ", ") + name(axis); }
    return out;
  }
  // Tells apart axes and stages of one name.
  static auto mark(const std::vector<size_t>& a, const std::vector<size_t>& b = {}) -> std::string { return fmt::format("#{}/{}", fmt::join(a, ","), fmt::join(b, ",")); }

  // ---- stages that steps add ---------------------------------------------------------------------------------------

  auto get_block(size_t i) -> bool {
    const Stage& s = stage(i);
    if (s.blocks.empty() || s.made_by) { return true; }
    return step(fmt::format("get_block(\"{}\"){}", s.blocks[0].view(), mark({i})), {}, [&](Work& w) {
      auto found = w.apply("get_block", {s.blocks[0].str()});
      if (found) { w.blocks[i] = *found->as<BlockRV>(); }
      return found.has_value();
    });
  }

  auto rewire() -> bool {
    for (size_t i = 0; i < stages_.stages.size(); ++i) {
      if (!get_block(i)) { return false; }
    }
    for (const Rewiring& rewiring : stages_.rewirings) {
      bool is_done = rewiring.kind == Rewiring::Kind::CacheRead ? cache_read(rewiring) : rewiring.kind == Rewiring::Kind::CacheWrite ? cache_write(rewiring) : factor(rewiring);
      if (!is_done) { return false; }
    }
    return true;
  }

  // The buffer of an output of a stage in the program.
  auto buffer_of(const Work& w, size_t of, size_t output) const -> const BufferNode* {
    const Stage& s = stage(of);
    if (const Block* block = w.block_of(of)) { return output < block->writes.size() ? block->writes[output].buffer.get() : nullptr; }
    const PrimFunc& func = w.schedule.module()->functions.front().second;
    for (size_t i = 0; i < stages_.parameters.size() && i < func->buffer_map.size(); ++i) {
      if (stages_.parameters[i] == s.tensors[output]) { return func->buffer_map[i].second.get(); }
    }
    return nullptr;
  }

  auto cache_read(const Rewiring& r) -> bool {
    std::vector<size_t> readers = r.readers;
    return step(fmt::format("cache_read({}, \"{}\"){}", stage(r.stage).name.view(), r.scope, mark({r.stage, r.made}, readers)), r.call, [&](Work& w) {
      const BufferNode* buffer = buffer_of(w, r.stage, r.output);
      const Block* first = w.block_of(readers[0]);
      int64_t index = -1;
      for (size_t i = 0; first && i < first->reads.size(); ++i) {
        if (first->reads[i].buffer.get() == buffer) { index = static_cast<int64_t>(i); }
      }
      if (index < 0) { return false; }
      Values consumers;
      for (size_t reader : readers) { consumers.emplace_back(*w.blocks[reader]); }
      auto made = w.apply("cache_read", {*w.blocks[readers[0]], index, r.scope, Values(std::move(consumers))});
      if (made) { w.blocks[r.made] = *made->as<BlockRV>(); }
      return made.has_value();
    });
  }

  // The block of the program goes on as the new stage; the copy out of the cache is the stage that had it.
  auto cache_write(const Rewiring& r) -> bool {
    return step(fmt::format("cache_write({}, 0, \"{}\"){}", stage(r.stage).name.view(), r.scope, mark({r.stage, r.made})), r.call, [&](Work& w) {
      auto made = w.apply("cache_write", {*w.blocks[r.stage], 0, r.scope});
      if (!made) { return false; }
      w.blocks[r.made] = w.blocks[r.stage];
      w.blocks[r.stage] = *made->as<BlockRV>();
      return true;
    });
  }

  auto factor(const Rewiring& r) -> bool {
    if (!get_loops(r.stage, r.nest)) { return false; }
    for (const AxisStep& one : r.steps) {
      if (!axis_step(one)) { return false; }
    }
    // Where factors do not divide, TVM joins the identity of the reduction beyond its end. Then every partial result has a value. Where the primitive refuses, `rfactor` decides.
    (void)step(fmt::format("pad_reduction({}){}", stage(r.stage).name.view(), mark({r.stage, r.made})), r.call, [&](Work& w) {
      const auto place = w.schedule.get(*w.blocks[r.stage]);
      if (place.ok() && !is_one((*place)->realize->predicate)) { (void)w.apply("pad_reduction", {*w.blocks[r.stage]}); }
      return true;
    });
    return step(fmt::format("rfactor({}, {}){}", name(r.axis), r.factor_axis, mark({r.stage, r.made}, {r.axis})), r.call, [&](Work& w) {
      auto made = w.apply("rfactor", {*w.loops[r.axis], r.factor_axis});
      if (made) { w.blocks[r.made] = *made->as<BlockRV>(); }
      return made.has_value();
    });
  }

  // ---- loops -------------------------------------------------------------------------------------------------------

  auto bind_loops(Work& w, const std::vector<LoopRV>& found, const std::vector<size_t>& nest) -> bool {
    if (found.size() < nest.size()) { return false; }
    for (size_t k = 0; k < nest.size(); ++k) { w.loops[nest[k]] = found[found.size() - nest.size() + k]; }
    return true;
  }

  auto get_loops(size_t i, const std::vector<size_t>& nest) -> bool {
    if (nest.empty()) { return true; }
    return step(fmt::format("get_loops({}){}", stage(i).name.view(), mark({i}, nest)), {}, [&](Work& w) {
      auto found = w.loops_around(*w.blocks[i]);
      return found && bind_loops(w, *found, nest);
    });
  }

  auto inline_stages() -> bool {
    for (size_t i = 0; i < stages_.stages.size(); ++i) {
      const Stage& s = stage(i);
      if (s.place != Stage::Place::Inline) { continue; }
      for (size_t b = 0; b < std::max<size_t>(s.blocks.size(), 1); ++b) {
        bool is_done = step(fmt::format("compute_inline({}){}", s.name.view(), mark({i}, {b})), s.placed, [&](Work& w) {
          return w.apply("compute_inline", {b == 0 ? schedule::Value(*w.blocks[i]) : schedule::Value(s.blocks[b].str())}).has_value();
        });
        if (!is_done) { return false; }
      }
    }
    return true;
  }

  auto place_stages() -> bool {
    placed_.assign(stages_.stages.size(), false);
    for (size_t i : stages_.consumers_first()) {
      if (!place(i)) { return false; }
    }
    return true;
  }

  auto place(size_t i) -> bool {
    const Stage& s = stage(i);
    if (placed_[i]) { return true; }
    placed_[i] = true;
    if (s.is_placeholder || s.place == Stage::Place::Inline || (s.blocks.empty() && !s.made_by)) { return true; }
    bool is_at = s.place == Stage::Place::At && (is_whole_ || !waits(stages_, i));
    bool is_partial = s.made_by && stages_.rewirings[*s.made_by].kind == Rewiring::Kind::RFactor;
    // A stage that is attached nowhere, and that no step mentions, keeps the loops it has.
    const bool has_source = std::any_of(stages_.sources.begin(), stages_.sources.end(), [&](const SourceStep& one) { return stages_.axes[one.axis].stage == i; });
    if (s.steps.empty() && s.tensorized.empty() && !has_source && !is_at && !is_partial && s.reduce_axes.empty() && !is_attached_to(i)) { return true; }
    if (is_at && (!place(stages_.axes[s.at_axis].stage) || !move(i))) { return false; }
    if (!is_at && !get_loops(i, s.nest)) { return false; }
    std::vector<size_t> written = s.axes;
    written.insert(written.end(), s.reduce_axes.begin(), s.reduce_axes.end());
    if (is_partial) {
      AxisStep sorted{.kind = AxisStep::Kind::Reorder, .inputs = written, .outputs = {}, .factor = {}, .primitive = {}, .values = {}, .call = stages_.rewirings[*s.made_by].call};
      // Where a size is a variable, the order of its axes may not be proved to be free: then the loops keep theirs.
      (void)axis_step(sorted);
    }
    return std::all_of(s.steps.begin(), s.steps.end(), [&](const AxisStep& one) { return axis_step(one); });
  }
  auto is_attached_to(size_t i) const -> bool {
    return std::any_of(stages_.stages.begin(), stages_.stages.end(), [&](const Stage& s) { return s.place == Stage::Place::At && stages_.axes[s.at_axis].stage == i; });
  }

  // The axes in the order of the block's iter vars, as the loops of the nest bind them.
  auto iteration_order(Work& w, size_t i) const -> std::vector<size_t> {
    const Stage& s = stage(i);
    auto place = w.schedule.get(*w.blocks[i]);
    auto around = w.loops_around(*w.blocks[i]);
    if (!place.ok() || !around || around->size() < s.nest.size()) { return s.nest; }
    std::vector<size_t> out;
    for (const Expr& value : (*place)->realize->iter_values) {
      for (size_t k = 0; k < s.nest.size(); ++k) {
        auto loop = w.schedule.get((*around)[around->size() - s.nest.size() + k]);
        if (loop.ok() && value.get() == (*loop)->loop->var.get()) { out.push_back(s.nest[k]); }
      }
    }
    return out.size() == s.nest.size() ? out : s.nest;
  }

  auto move(size_t i) -> bool {
    const Stage& s = stage(i);
    return step(fmt::format("compute_at({}, {}, preserve_unit_loops=True){}", s.name.view(), name(s.at_axis), mark({i}, {s.at_axis})), s.placed, [&](Work& w) {
      std::vector<size_t> order = iteration_order(w, i);
      if (!w.loops[s.at_axis] || !w.apply("compute_at", {*w.blocks[i], *w.loops[s.at_axis], true})) { return false; }
      // The blocks of other outputs follow. One that no stage reads keeps its place.
      for (size_t b = 1; b < s.blocks.size(); ++b) { (void)w.apply("compute_at", {s.blocks[b].str(), *w.loops[s.at_axis], true}); }
      auto found = w.loops_around(*w.blocks[i]);
      return found && bind_loops(w, *found, order);
    });
  }

  auto axis_step(const AxisStep& one) -> bool {
    switch (one.kind) {
      case AxisStep::Kind::Split: return split(one);
      case AxisStep::Kind::Fuse:
        return step(fmt::format("fuse({}){}", names(one.inputs), mark(one.inputs, one.outputs)), one.call, [&](Work& w) {
          auto made = w.apply("fuse", loops(w, one.inputs));
          if (made) { w.loops[one.outputs[0]] = *made->as<LoopRV>(); }
          return made.has_value();
        });
      case AxisStep::Kind::Reorder:
        if (one.inputs.size() < 2) { return true; }
        return step(fmt::format("reorder({}){}", names(one.inputs), mark(one.inputs)), one.call, [&](Work& w) { return w.apply("reorder", loops(w, one.inputs)).has_value(); });
      case AxisStep::Kind::Mark: break;
    }
    if (one.prefetched) { return prefetch(one); }
    std::string values;
    for (const schedule::Value& value : one.values) {
      const auto* text = value.as<std::string>();
      values += text ? fmt::format(", \"{}\"", *text) : value.integer() ? fmt::format(", {}", *value.integer()) : ", ...";
    }
    return step(fmt::format("{}({}{}){}", one.primitive, name(one.inputs[0]), values, mark(one.inputs)), one.call, [&](Work& w) {
      Values all{*w.loops[one.inputs[0]]};
      all.insert(all.end(), one.values.begin(), one.values.end());
      return w.apply(one.primitive, std::move(all)).has_value();
    });
  }
  // An annotation of the loop, with the name that the buffer has in the program (transform/inject_prefetch.h).
  auto prefetch(const AxisStep& one) -> bool {
    const auto [of, output] = *one.prefetched;
    const int64_t ahead = *one.values[0].integer();
    return step(fmt::format("prefetch({}, {}, {}){}", stage(of).name.view(), name(one.inputs[0]), ahead, mark(one.inputs, {of, output})), one.call, [&](Work& w) {
      const BufferNode* buffer = buffer_of(w, of, output);
      return buffer != nullptr && w.apply("annotate", {*w.loops[one.inputs[0]], "prefetch_" + buffer->name.str(), ahead}).has_value();
    });
  }
  static auto loops(const Work& w, const std::vector<size_t>& axes) -> Values {
    Values out;
    for (size_t axis : axes) { out.emplace_back(*w.loops[axis]); }
    return out;
  }
  auto split(const AxisStep& one) -> bool {
    std::string factors = one.is_by_parts ? fmt::format("[{}, None]", *one.factor) : fmt::format("[None, {}]", *one.factor);
    return step(fmt::format("split({}, factors={}){}", name(one.inputs[0]), factors, mark(one.inputs, one.outputs)), one.call, [&](Work& w) {
      // A stage that is computed inside another one may have fewer iterations than a factor: as in TVM, the factor is then their number.
      const auto loop = w.schedule.get(*w.loops[one.inputs[0]]);
      const auto extent = loop.ok() ? as_int((*loop)->loop->extent) : std::nullopt;
      const int64_t factor = extent && *extent > 0 ? std::min(*extent, *one.factor) : *one.factor;
      Values values = one.is_by_parts ? Values{factor, nullptr} : Values{nullptr, factor};
      auto made = w.apply("split", {*w.loops[one.inputs[0]], Values(std::move(values))});
      if (!made) { return false; }
      std::vector<LoopRV> parts = schedule::loops_of(*made);
      for (size_t k = 0; k < 2; ++k) { w.loops[one.outputs[k]] = parts[k]; }
      return true;
    });
  }

  // ---- the end -----------------------------------------------------------------------------------------------------

  auto finish() -> bool {
    for (size_t i = 0; i < stages_.stages.size(); ++i) {
      for (const BlockStep& one : stage(i).block_steps) {
        bool is_done = step(fmt::format("{}({}){}", one.primitive, stage(i).name.view(), mark({i})), one.call, [&](Work& w) {
          Values all{*w.blocks[i]};
          all.insert(all.end(), one.values.begin(), one.values.end());
          return w.apply(one.primitive, std::move(all)).has_value();
        });
        if (!is_done) { return false; }
      }
    }
    for (size_t i : stages_.consumers_first()) {
      const Tile tile = tile_of(i);
      const size_t before = done_.size();
      if (finish_stage(i, tile)) { continue; }
      const bool is_of_latest = !tile.step || (tile.step->call.begin == stages_.latest.begin && tile.step->call.decl == stages_.latest.decl);
      if (is_whole_ || is_of_latest) { return false; }
      has_waiting_tile_ = true;
      done_.resize(before);
      take_over();
      (void)finish_stage(i, {.step = nullptr, .begin = 0, .reduction = tile.reduction});
    }
    return pass_sources_on();
  }

  // Source whose functions no intrinsic calls is for other calls: the compiler of the target reads it.
  auto pass_sources_on() -> bool {
    for (size_t k = 0; k < stages_.sources.size(); ++k) {
      const SourceStep& one = stages_.sources[k];
      if (is_source_used_[k] || !stages_.is_leaf(one.axis)) { continue; }
      const bool is_done = step(fmt::format("annotate({}, \"pragma_{}\", ...){}", name(one.axis), one.pragma, mark({one.axis}, {k})), one.call, [&](Work& w) {
        return w.loops[one.axis] && w.apply("annotate", {*w.loops[one.axis], "pragma_" + one.pragma, one.source->text()}).has_value();
      });
      if (!is_done) { return false; }
    }
    return true;
  }

  // The loops of a stage that a declared intrinsic computes. Positions are among the stage's loops.
  struct Tile {
    const TensorizeStep* step = nullptr;   // null: there is none
    size_t begin = 0;                      // of the tile's outermost loop
    std::optional<size_t> reduction;       // of the first loop that reduces
  };
  [[nodiscard]] auto tile_of(size_t i) const -> Tile {
    const Stage& s = stage(i);
    Tile out;
    for (size_t k = 0; k < s.leaves.size(); ++k) {
      if (!out.reduction && stages_.axes[s.leaves[k]].is_reduction) { out.reduction = k; }
      auto found = std::find_if(s.tensorized.begin(), s.tensorized.end(), [&](const TensorizeStep& one) { return one.axis == s.leaves[k]; });
      if (!out.step && found != s.tensorized.end()) {
        out.step = &*found;
        out.begin = k;
      }
    }
    return out;
  }

  auto finish_stage(size_t i, const Tile& tile) -> bool {
    if (tile.step && !compute_tile(i, tile)) { return false; }
    std::optional<BlockRV> start;
    start_reduction(i, tile, start);
    return !start || reset_tile(i, tile, *start);
  }

  // A primitive `tensorize` on a block, with a part of a declared intrinsic.
  auto tensorize(size_t i, const TensorizeStep& one, IntrinsicPart part, const std::function<std::optional<BlockRV>(Work&)>& block) -> bool {
    auto made = to_tensor_intrin(*one.intrinsic, part);
    if (!made.ok()) {
      refused_ = {one.call, fmt::format("tensorize({}, ...)", name(one.axis)), std::move(made).diagnostics()};
      return false;
    }
    schedule::TensorIntrin intrinsic = *std::move(made);
    // A later source replaces the functions of an earlier one.
    const PrimFunc calling = intrinsic.implementation;
    for (size_t k = stages_.sources.size(); k-- > 0;) {
      const frontend::CSource& source = *stages_.sources[k].source;
      is_source_used_[k] = is_source_used_[k] || !with_functions_of(source, calling).same_as(calling);
      intrinsic.implementation = with_functions_of(source, intrinsic.implementation);
    }
    const uint64_t hash = structural_hash(intrinsic.implementation) ^ structural_hash(intrinsic.description);
    return step(fmt::format("tensorize({}, \"{}\"){}{}", name(one.axis), intrinsic.name.view(), mark({i}, {one.axis, static_cast<size_t>(part)}), hash), one.call, [&](Work& w) {
      const Name registered = register_intrinsic(w.schedule, std::move(intrinsic));
      const auto at = block(w);
      if (!at) { return false; }
      if (!w.apply("tensorize", {*at, registered.str()})) {
        for (Diagnostic& one : w.why) { (void)std::move(one).remedy("change the description of the intrinsic, `te.compute`, or the loops of the stage, so that both are equal"); }
        return false;
      }
      const auto place = w.schedule.get(*at);
      auto wrong = place.ok() ? other_strides(w.schedule.module()->functions.front().second, *(*place)->block(), registered, name(one.axis)) : std::nullopt;
      if (wrong) { w.why = {*std::move(wrong)}; }
      return !wrong;
    });
  }

  // As in TVM, a tile that contains the whole reduction is computed by the body, and any other tile by the update.
  auto compute_tile(size_t i, const Tile& tile) -> bool {
    const TensorizeStep& one = *tile.step;
    const expressions::DeclaredIntrinsic& declared = *one.intrinsic;
    const bool is_whole = !tile.reduction || *tile.reduction >= tile.begin;
    const IntrinsicPart part = is_whole && declared.parts.body ? IntrinsicPart::Body : IntrinsicPart::Update;
    if (!statements_of(declared, part)) {
      Diagnostic why = error(Code::StageRefused, one.call).arg("step", "tensorize").arg("stage", stage(i).name.view()).arg("reason", because(Why::NoUpdateOfTile).text())
                           .remedy("return `(body, reset, update)`, or move all loops that reduce inside of the axis");
      refused_ = {one.call, fmt::format("tensorize({}, ...)", name(one.axis)), {std::move(why)}};
      return false;
    }
    bool is_block = step(fmt::format("blockize({}){}", name(one.axis), mark({i}, {one.axis})), one.call, [&](Work& w) {
      if (!w.loops[one.axis]) { return false; }
      auto made = w.apply("blockize", {*w.loops[one.axis]});
      if (made) { w.blocks[i] = *made->as<BlockRV>(); }
      return made.has_value();
    });
    return is_block && tensorize(i, one, part, [i](Work& w) { return w.blocks[i]; });
  }

  // The start of the reduction, in a block of its own.
  auto reset_tile(size_t i, const Tile& tile, BlockRV start) -> bool {
    if (!tile.step || !tile.step->intrinsic->parts.reset) { return true; }
    return tensorize(i, *tile.step, IntrinsicPart::Reset, [start](Work&) { return std::optional(start); });
  }

  // Where a primitive refuses that, the reduction starts in its block, which computes the same. `start`: the block of the start, where it is one of its own.
  void start_reduction(size_t i, const Tile& tile, std::optional<BlockRV>& start) {
    const Stage& s = stage(i);
    if (s.reduce_axes.empty() || s.place == Stage::Place::Inline || (s.blocks.empty() && !s.made_by)) { return; }
    auto is_bound = [&](const AxisStep& one) { return one.primitive == "bind" && stages_.axes[one.inputs[0]].is_reduction; };
    if (!tile.reduction || std::any_of(s.steps.begin(), s.steps.end(), is_bound)) { return; }
    size_t at = *tile.reduction;
    if (tile.step && at >= tile.begin) {
      // The loop is inside of the tile: only a reset needs a block of its own, in front of the innermost loop around the tile.
      if (!tile.step->intrinsic->parts.reset || tile.begin == 0) { return; }
      at = tile.begin - 1;
    }
    const size_t axis = s.leaves[at];
    (void)step(fmt::format("decompose_reduction({}, {}){}", s.name.view(), name(axis), mark({i}, {axis})), s.steps.empty() ? Origin{} : s.steps.back().call, [&](Work& w) {
      if (!w.blocks[i] || !w.loops[axis]) { return true; }
      auto made = w.apply("decompose_reduction", {*w.blocks[i], *w.loops[axis]});
      if (made) { w.start = *made->as<BlockRV>(); }
      return true;
    });
    start = start_of_last();
  }
  [[nodiscard]] auto start_of_last() const -> std::optional<BlockRV> { return done_.empty() ? std::nullopt : done_.back()->start; }

  Stages& stages_;
  bool is_whole_;
  Work work_;
  std::vector<std::shared_ptr<const Translated>> done_;
  std::vector<bool> placed_;
  bool is_as_before_ = true;
  bool has_waiting_tile_ = false;
  std::vector<bool> is_source_used_;     // by the statements of an intrinsic
  uint64_t ran_ = 0;
  Refused refused_;
};

}  // namespace

auto translate(Stages& stages, Refused& refused, bool is_whole) -> std::optional<uint64_t> { return Translation(stages, is_whole).run(refused); }

auto has_waiting(const Stages& stages) -> bool {
  if (stages.has_waiting_tile) { return true; }
  for (size_t i = 0; i < stages.stages.size(); ++i) {
    if (waits(stages, i)) { return true; }
  }
  return false;
}

auto translated(const Stages& stages) -> const schedule::Schedule& { return stages.done.empty() ? stages.base : stages.done.back()->after; }

auto loop_of(const Stages& stages, size_t axis) -> std::optional<schedule::LoopRV> {
  if (stages.done.empty() || axis >= stages.done.back()->loops.size()) { return std::nullopt; }
  return stages.done.back()->loops[axis];
}

}  // namespace loopsmith::script::te
