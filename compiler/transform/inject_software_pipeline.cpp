// Pipelines: see inject_software_pipeline.h.
#include "transform/inject_software_pipeline.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"
#include "transform/fold.h"

namespace loopsmith::transform {
namespace {

auto stage_key() -> Name { static const Name n("software_pipeline_stage"); return n; }
auto order_key() -> Name { static const Name n("software_pipeline_order"); return n; }
auto async_key() -> Name { static const Name n("software_pipeline_async_stages"); return n; }
auto double_key() -> Name { static const Name n("double_buffer_scope"); return n; }

auto integers(const Attr& attr) -> std::optional<std::vector<int64_t>> {
  const Array<Attr>* list = attr.list();
  if (!list) { return {}; }
  std::vector<int64_t> out;
  for (const Attr& item : *list) {
    auto value = item.expr() ? as_int(item.expr()) : std::nullopt;
    if (!value) { return {}; }
    out.push_back(*value);
  }
  return out;
}

// The memory that a statement accesses, by data variable.
struct Touched : Visitor {
  std::set<const VarNode*> read, written;
  std::vector<const VarNode*> raw;   // data variables that are used as plain pointers
  using Visitor::on;
  void on(const BufferLoad& n) override {
    read.insert(n.buffer->data.get());
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    written.insert(n.buffer->data.get());
    Visitor::on(n);
  }
  void on(const Call& n) override {
    static const Name address_of("address_of");
    if (n.op == address_of) {
      for (const Expr& arg : n.args) {
        if (const auto* load = arg.as<BufferLoad>()) { written.insert(load->buffer->data.get()); }
      }
    }
    Visitor::on(n);
  }
  void on(const VarNode& n) override {
    if (!n.dtype.is_handle()) { return; }
    raw.push_back(&n);
    read.insert(&n);
    written.insert(&n);
  }
  [[nodiscard]] auto touches(const VarNode* v) const -> bool { return read.contains(v) || written.contains(v); }
};

// A buffer of the body has a copy for each iteration in flight. An access goes to the copy of its iteration: B[...] becomes B[copy, ...].
class InPlaces : public Mutator {
 public:
  InPlaces(const std::unordered_map<const BufferNode*, std::pair<Buffer, Expr>>& places) : places_(places) {}
  using Mutator::mutate;
  using Mutator::on;
  auto on(const BufferLoad& n) -> Expr override {
    Expr out = Mutator::on(n);
    const auto& load = *out.as<BufferLoad>();
    auto found = places_.find(load.buffer.get());
    if (found == places_.end()) { return out; }
    return make<BufferLoad>(found->second.first, prefixed(load.indices, found->second.second), load.origin, load.predicate);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const auto& store = *out.as<BufferStore>();
    auto found = places_.find(store.buffer.get());
    if (found == places_.end()) { return out; }
    return make<BufferStore>(found->second.first, store.value, prefixed(store.indices, found->second.second), store.origin, store.predicate);
  }
  auto on(const Block& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    Block::Fields fields = out.as<Block>()->fields();
    fields.reads = regions(fields.reads);
    fields.writes = regions(fields.writes);
    return make<Block>(std::move(fields), n.origin, n.id);
  }

 private:
  static auto prefixed(const Array<Expr>& indices, const Expr& place) -> Array<Expr> {
    std::vector<Expr> out{place};
    out.insert(out.end(), indices.begin(), indices.end());
    return out;
  }
  auto regions(const Array<BufferRegion>& all) const -> Array<BufferRegion> {
    std::vector<BufferRegion> out;
    for (const BufferRegion& r : all) {
      auto found = places_.find(r.buffer.get());
      if (found == places_.end()) {
        out.push_back(r);
        continue;
      }
      std::vector<Range> ranges{point(found->second.second)};
      ranges.insert(ranges.end(), r.region.begin(), r.region.end());
      out.push_back({found->second.first, std::move(ranges), r.origin});
    }
    return out;
  }
  const std::unordered_map<const BufferNode*, std::pair<Buffer, Expr>>& places_;
};

// Gives a copy of a statement separate buffers and let variables.
auto with_own_buffers(const Stmt& stmt) -> Stmt {
  BufferMap map;
  std::vector<Buffer> kept;
  post_order(
      stmt,
      [&](const Stmt& s) {
        const auto* block = s.as<Block>();
        if (!block) { return; }
        for (const Buffer& b : block->alloc_buffers) {
          BufferNode fields = *b;
          fields.data = make<VarNode>(b->data->name, b->data->dtype, b->data->origin, b->data->pointer);
          map[b.get()] = make_buffer(std::move(fields));
        }
      },
      [](const Expr&) {});
  return map.empty() ? stmt : substitute_buffers(stmt, map);
}

struct Part {
  Stmt stmt;
  int64_t stage = 0;
  int64_t order = 0;
  Touched touched;
  bool is_async = false;   // it copies to shared memory, while the threads go on
};

// Finds the statements of the pipeline, and the buffers that they share.
void take(const Stmt& body, std::vector<Buffer>& buffers, std::vector<Part>& parts) {
  Stmt inner = body;
  while (const auto* realize = inner.as<BlockRealize>()) {
    if (!is_one(realize->predicate) || !realize->block->match_buffers.empty()) { break; }
    buffers.insert(buffers.end(), realize->block->alloc_buffers.begin(), realize->block->alloc_buffers.end());
    inner = realize->block->body;
  }
  const auto* sequence = inner.as<SeqStmt>();
  if (!sequence) {
    parts.push_back({inner, 0, 0, {}});
    return;
  }
  for (const Stmt& child : sequence->seq) {
    const auto* realize = child.as<BlockRealize>();
    const auto* nested = realize && is_one(realize->predicate) && realize->block->match_buffers.empty() ? realize->block->body.as<SeqStmt>() : nullptr;
    if (!nested) {
      parts.push_back({child, 0, 0, {}});
      continue;
    }
    buffers.insert(buffers.end(), realize->block->alloc_buffers.begin(), realize->block->alloc_buffers.end());
    for (const Stmt& s : nested->seq) { parts.push_back({s, 0, 0, {}}); }
  }
}

auto call_statement(const char* op, Array<Expr> args, Origin origin) -> Stmt { return make<Evaluate>(make<Call>(DataType::void_(), Name(op), std::move(args), origin), origin); }

/// The part of a pipeline that a time step belongs to; steps are counted from the beginning, and in the end from the loop's extent.
enum class Phase : uint8_t { Filling, Steady, Emptying };

/// Counts groups of asynchronous copies. Each asynchronous statement makes one group in each time step.
class Waits {
 public:
  /// `extent`: of the loop, where it is constant.
  Waits(const std::vector<const Part*>& sorted, int64_t last, std::optional<int64_t> extent) : sorted_(sorted), last_(last), extent_(extent) {}

  /// The number of the latest groups that may be unfinished at the beginning of a time step in which a statement reads copies of earlier steps; none: it
  /// reads none.
  [[nodiscard]] auto at_begin(const Part& user, Phase phase, int64_t offset) const -> std::optional<int64_t> {
    return least(user, false, [&](const Part& copy) { return groups_since(copy, user, phase, offset, 1); });
  }
  /// The same right before a statement that reads copies of its own step.
  [[nodiscard]] auto before(const Part& user, Phase phase, int64_t offset) const -> std::optional<int64_t> {
    return least(user, true, [&](const Part& copy) { return groups_since(copy, user, phase, offset, 0); });
  }

 private:
  template <class F>
  auto least(const Part& user, bool of_same_step, F&& open) const -> std::optional<int64_t> {
    std::optional<int64_t> out;
    for (const Part* copy : sorted_) {
      const bool is_used = copy != &user && copy->is_async && std::any_of(copy->touched.written.begin(), copy->touched.written.end(), [&](const VarNode* v) {
        return v->pointer && is_shared_memory(v->pointer->scope.view()) && user.touched.touches(v);
      });
      const bool is_same_step = copy->stage == user.stage;
      if (!is_used || copy->stage > user.stage || is_same_step != of_same_step || (is_same_step && copy->order > user.order)) { continue; }
      out = std::min(out.value_or(INT64_MAX), open(*copy));
    }
    return out;
  }
  /// The groups that were surely made behind the one that `copy` made for this iteration of `user`, up to `least_back` time steps ago.
  [[nodiscard]] auto groups_since(const Part& copy, const Part& user, Phase phase, int64_t offset, int64_t least_back) const -> int64_t {
    const int64_t steps = user.stage - copy.stage;
    int64_t count = 0;
    for (const Part* other : sorted_) {
      if (!other->is_async) { continue; }
      for (int64_t back = least_back; back <= steps; ++back) {
        if ((back == 0 && other->order >= user.order) || (back == steps && other->order <= copy.order)) { continue; }
        if (surely_runs(*other, phase, offset, back)) { ++count; }
      }
    }
    return count;
  }
  /// True where a statement runs `back` time steps earlier, whatever the extent is if it is not known.
  [[nodiscard]] auto surely_runs(const Part& part, Phase phase, int64_t offset, int64_t back) const -> bool {
    switch (phase) {
      case Phase::Filling: return offset - back >= part.stage && (!extent_ || offset - back - part.stage < *extent_);
      case Phase::Steady: return last_ - back >= part.stage;
      case Phase::Emptying: return offset - back < part.stage && (extent_ ? *extent_ + offset - back : last_ - back) >= part.stage;
    }
    return false;
  }
  const std::vector<const Part*>& sorted_;
  const int64_t last_;
  const std::optional<int64_t> extent_;
};

class Inject : public Mutator {
 public:
  Inject(std::string function, bool has_async_copies) : function_(std::move(function)), has_async_copies_(has_async_copies) {}
  using Mutator::on;
  std::optional<Diagnostic> failure;

  auto on(const Block& n) -> Stmt override {
    if (const Attr* attr = find_attr(n.annotations, double_key()); attr && attr->expr()) {
      auto which = as_int(attr->expr());
      if (which && *which >= 0 && *which < static_cast<int64_t>(n.writes.size())) { twice_.insert(n.writes[static_cast<size_t>(*which)].buffer->data.get()); }
    }
    Stmt out = Mutator::on(n);
    const Block& block = *out.as<Block>();
    if (!find_attr(block.annotations, double_key())) { return out; }
    Block::Fields fields = block.fields();
    fields.annotations = without_attr(fields.annotations, double_key());
    return make<Block>(std::move(fields), n.origin, n.id);
  }
  auto on(const For& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const For& loop = *out.as<For>();
    const Attr* stages = find_attr(loop.annotations, stage_key());
    const Attr* orders = find_attr(loop.annotations, order_key());
    if (failure || (!stages && !orders)) { return out; }
    Stmt made = pipeline(loop, stages, orders);
    return failure ? out : made;
  }

 private:
  auto fail(const For& loop, const Reason& why, const std::string& remedy = {}) -> Stmt {
    if (!failure) {
      Diagnostic d = error(Code::CannotEmit, loop.origin).arg("what", fmt::format("the pipeline of loop `{}`", loop.var->name.str())).arg("function", function_)
                         .arg("target", "any target").arg("reason", why.text());
      failure = remedy.empty() ? std::move(d) : std::move(d).remedy(remedy);
    }
    return {};
  }

  auto pipeline(const For& loop, const Attr* stages, const Attr* orders) -> Stmt {
    if (!stages || !orders) {
      return fail(loop, because(Why::PipelineLacks).arg("annotation", (stages ? order_key() : stage_key()).view()), "give both, a number for each statement");
    }
    auto stage = integers(*stages), order = integers(*orders);
    if (!stage || !order) { return fail(loop, because(Why::PipelineLists)); }
    if (loop.for_kind != ForKind::Serial && loop.for_kind != ForKind::Unrolled) { return fail(loop, because(Why::IterationsUnordered)); }
    if (jumps_out_of(loop.body).any()) { return fail(loop, because(Why::IterationsEndEarly)); }
    std::vector<Buffer> buffers;
    std::vector<Part> parts;
    take(loop.body, buffers, parts);
    if (parts.size() != stage->size() || parts.size() != order->size()) {
      return fail(loop, because(Why::PipelineCounts).arg("found", parts.size()).arg("stages", stage->size()).arg("places", order->size()));
    }
    std::set<int64_t> seen;
    int64_t last = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].stage = (*stage)[i];
      parts[i].order = (*order)[i];
      last = std::max(last, parts[i].stage);
      if (parts[i].stage < 0 || parts[i].stage > 64) { return fail(loop, because(Why::PipelineStage).arg("stage", parts[i].stage)); }
      if (!seen.insert(parts[i].order).second) { return fail(loop, because(Why::PipelinePlaceTwice).arg("place", parts[i].order)); }
      parts[i].touched.visit(parts[i].stmt);
    }
    // Buffers are allocated in front of the loop, so their shapes must not use variables of an iteration.
    std::set<const VarNode*> inside{loop.var.get()};
    post_order(
        loop.body,
        [&](const Stmt& s) {
          if (const auto* inner = s.as<For>()) { inside.insert(inner->var.get()); }
          if (const auto* let = s.as<LetStmt>()) { inside.insert(let->var.get()); }
        },
        [](const Expr&) {});
    for (const Buffer& b : buffers) {
      auto depends = [&](const Expr& e) { return e && uses_var(e, [&](const VarNode& v) { return inside.contains(&v); }); };
      if (std::any_of(b->shape.begin(), b->shape.end(), depends) || std::any_of(b->strides.begin(), b->strides.end(), depends)) {
        return fail(loop, because(Why::SizeOfIterations).arg("buffer", b->name.view()));
      }
    }
    if (!check(loop, parts, buffers)) { return {}; }
    mark_async(loop, parts, buffers);
    return build(loop, parts, buffers, last);
  }

  // Marks the statements of `software_pipeline_async_stages` that fill shared memory of the pipeline.
  void mark_async(const For& loop, std::vector<Part>& parts, const std::vector<Buffer>& buffers) const {
    const Attr* listed = find_attr(loop.annotations, async_key());
    auto stages = listed && has_async_copies_ ? integers(*listed) : std::nullopt;
    if (!stages) { return; }
    for (Part& p : parts) {
      const bool is_listed = std::find(stages->begin(), stages->end(), p.stage) != stages->end();
      p.is_async = is_listed && std::any_of(buffers.begin(), buffers.end(), [&](const Buffer& b) { return is_shared_memory(b->scope().view()) && p.touched.written.contains(b->data.get()); });
    }
  }

  // Checks that the pipeline keeps the order of all pairs of statements that depend on each other.
  auto check(const For& loop, const std::vector<Part>& parts, const std::vector<Buffer>& buffers) -> bool {
    std::unordered_map<const VarNode*, Name> own;
    for (const Buffer& b : buffers) { own.emplace(b->data.get(), b->name); }
    for (size_t i = 0; i < parts.size(); ++i) {
      for (const VarNode* v : parts[i].touched.raw) {
        if (own.contains(v)) {
          fail(loop, because(Why::AddressUsed).arg("buffer", own.at(v).view()));
          return false;
        }
      }
      for (size_t j = i + 1; j < parts.size(); ++j) {
        const Part &a = parts[i], &b = parts[j];
        auto meet = [&](const std::set<const VarNode*>& writes, const Touched& other) -> const VarNode* {
          for (const VarNode* v : writes) {
            if (!other.touches(v)) { continue; }
            bool in_order = a.stage == b.stage ? a.order < b.order : own.contains(v) && a.stage < b.stage;
            if (!in_order) { return v; }
          }
          return nullptr;
        };
        const VarNode* v = meet(a.touched.written, b.touched);
        if (!v) { v = meet(b.touched.written, a.touched); }
        if (!v) { continue; }
        std::string name = own.contains(v) ? own.at(v).str() : v->name.str();
        if (own.contains(v)) {
          fail(loop, because(Why::UsedAfter).arg("later", j).arg("buffer", name).arg("earlier", i), "later statements need a later stage, or the same and a later place");
        } else {
          fail(loop, because(Why::UsedInStages).arg("earlier", i).arg("later", j).arg("buffer", name),
               "put them in one stage, or a buffer between them that is allocated in the loop");
        }
        return false;
      }
    }
    return true;
  }

  // A buffer with several copies, one for each of some successive iterations.
  struct Kept { Buffer old, fresh; int64_t count; };

  // The buffers that need copies; `allocated` receives all buffers that the new block allocates.
  auto keep_copies(const std::vector<Part>& parts, const std::vector<Buffer>& buffers, std::vector<Buffer>& allocated) const -> std::vector<Kept> {
    std::vector<Kept> kept;
    for (const Buffer& b : buffers) {
      int64_t count = places(b, parts);
      if (FAULT(pipeline_place_missing) && count > 1) { --count; }
      if (count == 1) {
        allocated.push_back(b);
        continue;
      }
      BufferNode fields = *b;
      std::vector<Expr> shape{int_imm(count)};
      shape.insert(shape.end(), b->shape.begin(), b->shape.end());
      if (!b->strides.empty()) {
        std::vector<Expr> strides{mul(b->strides[0], b->shape[0])};
        strides.insert(strides.end(), b->strides.begin(), b->strides.end());
        fields.strides = std::move(strides);
      }
      fields.shape = std::move(shape);
      fields.axis_separators = {};
      kept.push_back({b, make_buffer(std::move(fields)), count});
      allocated.push_back(kept.back().fresh);
    }
    return kept;
  }

  // The statements of the pipeline, in their order, and the data that each time step needs to make its own.
  struct Steps { const For& loop; const std::vector<const Part*>& sorted; const std::vector<Kept>& kept; const Waits& waits; };

  // The statements of the time step `base + offset`, counted from the loop's beginning; null where none run.
  static auto time_step(const Steps& of, const Expr& base, int64_t offset, Phase phase) -> Stmt {
    const DataType t = of.loop.var->dtype;
    std::vector<std::pair<const Part*, Expr>> running;   // with their conditions
    for (const Part* p : of.sorted) {
      Expr iteration = add(base, constant_int(t, offset - p->stage));
      Expr guard = phase == Phase::Steady ? bool_imm(true) : logical_and(greater_equal(iteration, zero(t)), less(iteration, of.loop.extent));
      if (!is_zero(guard)) { running.emplace_back(p, guard); }
    }
    std::vector<Stmt> out;
    // An upper limit for the groups of copies that are unfinished.
    int64_t unfinished = INT64_MAX;
    auto wait = [&](std::optional<int64_t> open) {
      if (!open || *open >= unfinished || FAULT(pipeline_wait_missing)) { return; }
      unfinished = FAULT(pipeline_waits_for_one_less) ? *open + 1 : *open;
      out.push_back(call_statement("ptx_wait_group", {int_imm(unfinished)}, of.loop.origin));
    };
    // One wait, in front of the step's own copies, so that one barrier behind it serves both: tiles may be read, and places that were read may be filled.
    std::optional<int64_t> open;
    for (const auto& [p, guard] : running) {
      if (auto needed = of.waits.at_begin(*p, phase, offset)) { open = std::min(open.value_or(INT64_MAX), *needed); }
    }
    wait(open);
    for (const auto& [p, guard] : running) {
      Expr iteration = add(base, constant_int(t, offset - p->stage));
      std::unordered_map<const BufferNode*, std::pair<Buffer, Expr>> places;
      for (const Kept& k : of.kept) { places[k.old.get()] = {k.fresh, floormod(iteration, constant_int(t, k.count))}; }
      Stmt s = InPlaces(places).mutate(p->stmt);
      s = with_own_buffers(fold(s, {{of.loop.var.get(), add(of.loop.min, iteration)}}, /*copy=*/true));
      if (p->is_async) { s = make<AttrStmt>(int_imm(0), Name("async_scope"), int_imm(1), std::move(s), p->stmt.origin()); }
      if (!is_one(guard)) { s = make<IfThenElse>(guard, std::move(s), Stmt(), p->stmt.origin()); }
      wait(of.waits.before(*p, phase, offset));
      out.push_back(std::move(s));
      if (!p->is_async) { continue; }
      // Threads that copy nothing make an empty group, so that all threads count alike.
      out.push_back(call_statement("ptx_commit_group", {}, of.loop.origin));
      if (unfinished != INT64_MAX) { ++unfinished; }
    }
    return seq(std::move(out), of.loop.origin);
  }

  auto build(const For& loop, const std::vector<Part>& parts, const std::vector<Buffer>& buffers, int64_t last) -> Stmt {
    std::vector<Buffer> allocated;
    const std::vector<Kept> kept = keep_copies(parts, buffers, allocated);
    std::vector<const Part*> sorted;
    for (const Part& p : parts) { sorted.push_back(&p); }
    std::sort(sorted.begin(), sorted.end(), [](const Part* a, const Part* b) { return a->order < b->order; });
    const DataType t = loop.var->dtype;
    auto extent = as_int(loop.extent);
    const Waits waits(sorted, last, extent);
    const Steps steps{loop, sorted, kept, waits};
    std::vector<Stmt> all;
    // Time steps are [0, extent + last): the first `last` of them fill the pipeline, the last ones empty it.
    const int64_t filling = extent && *extent < 0 ? *extent + last : last;
    for (int64_t i = 0; i < filling; ++i) { all.push_back(time_step(steps, zero(t), i, Phase::Filling)); }
    if (!extent || *extent > last) {
      Var var = loopsmith::var(loop.var->name, t, loop.var->origin);
      Stmt body = time_step(steps, var, last, Phase::Steady);
      AttrMap annotations = without_attr(without_attr(without_attr(loop.annotations, stage_key()), order_key()), async_key());
      all.push_back(make<For>(var, zero(t), sub(loop.extent, constant_int(t, last)), loop.for_kind, std::move(body), loop.thread, std::move(annotations), loop.origin, loop.id));
    }
    for (int64_t i = 0; i < last && !(FAULT(pipeline_not_emptied) && i + 1 == last); ++i) {
      // In short loops the pipeline begins to empty while it fills.
      if (extent && *extent < last - i) { continue; }
      Stmt step = time_step(steps, loop.extent, i, Phase::Emptying);
      if (!extent && !is_no_op(step)) {
        step = make<IfThenElse>(greater_equal(add(loop.extent, constant_int(t, i)), constant_int(t, last)), std::move(step), Stmt(), loop.origin);
      }
      all.push_back(std::move(step));
    }
    Block::Fields fields;
    fields.name = Name();
    fields.body = seq(std::move(all), loop.origin);
    fields.alloc_buffers = std::move(allocated);
    return make<BlockRealize>(Array<Expr>(), bool_imm(true), make<Block>(std::move(fields), loop.origin), loop.origin);
  }

  // The number of copies of a buffer: one for each iteration whose contents are needed at the same time.
  auto places(const Buffer& buffer, const std::vector<Part>& parts) const -> int64_t {
    const VarNode* data = buffer->data.get();
    int64_t first = INT64_MAX, last = -1;
    for (const Part& p : parts) {
      if (!p.touched.touches(data)) { continue; }
      first = std::min(first, p.stage);
      last = std::max(last, p.stage);
    }
    if (last < 0) { return 1; }
    // A newer iteration may reuse the oldest copy only if its readers have finished.
    int64_t last_use = INT64_MIN, first_use = INT64_MAX;
    for (const Part& p : parts) {
      if (!p.touched.touches(data)) { continue; }
      if (p.stage == last) { last_use = std::max(last_use, p.order); }
      if (p.stage == first) { first_use = std::min(first_use, p.order); }
    }
    int64_t count = last - first + (first != last && last_use < first_use ? 0 : 1);
    return std::max<int64_t>(count, twice_.contains(data) ? 2 : 1);
  }

  const std::string function_;
  const bool has_async_copies_;
  std::set<const VarNode*> twice_;
};

}  // namespace

auto pipeline_statements(const For& loop) -> size_t {
  std::vector<Buffer> buffers;
  std::vector<Part> parts;
  take(loop.body, buffers, parts);
  return parts.size();
}

auto inject_software_pipeline(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  IRModule out = module;
  Diagnostics failures;
  for (const auto& [name, func] : module->functions) {
    Inject inject(called(name, func), context.options.async_copies);
    Stmt body = inject.mutate(func->body);
    if (inject.failure) { failures.push_back(std::move(*inject.failure)); } else if (!body.same_as(func->body)) { out = with_function(out, name, with_body(func, body)); }
  }
  if (!failures.empty()) { return failures; }
  return out;
}

}  // namespace loopsmith::transform
