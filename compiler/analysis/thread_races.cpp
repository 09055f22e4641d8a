// Programs of threads with explicit barriers (T.launch_thread, T.tvm_storage_sync): finds threads that race, and barriers that some threads do
// not reach.
//
// Follows a few threads of a few blocks with numbers for all variables: each gives a list of accesses between the barriers that it passes.
// Two accesses between the same barriers that touch one element, one of them a write, are a race; two threads with different barriers take different ways
// at a branch or a loop. So a reported pair exists. Races between other threads, and in iterations that are not followed, are missed.
//
// Not followed: conditions, indices and extents that depend on memory. Accesses there are skipped; if a barrier depends on them, the kernel is
// not checked. Memory that is used by pointer is not checked either. Writes of values that may be equal are no race.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "analysis/subject.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/text.h"

namespace loopsmith::analysis {
namespace {

constexpr int64_t sample = 64;               // the value used for parameters
constexpr int64_t most_steps = 60000;        // statements and accesses followed in one kernel
constexpr int64_t iterations_with_barriers = 3;
constexpr int64_t first_threads = 34;        // a warp and two threads more

/// A dimension of a launch.
struct Launched { const VarNode* var; std::string_view tag; int64_t extent; };

/// A branch around a place, and the side that a thread takes there.
struct Way { const IfThenElse* branch; bool holds; };

struct Touch {
  const VarNode* memory = nullptr;
  int64_t byte = 0;
  int64_t bytes = 0;
  bool is_write = false;
  const BufferStore* store = nullptr;        // for a write
  const BufferNode* buffer = nullptr;
  std::vector<int64_t> element;
  Origin origin;
  size_t phase = 0;
  Numbers numbers;                           // for a write: to compare values
};

/// A barrier that a thread passes, a loop with barriers that it enters, or (both null) a place after which the order is unknown.
struct Stop {
  const Evaluate* barrier = nullptr;
  const For* loop = nullptr;
  int64_t extent = 0;
  std::vector<Way> around;
};

/// A `break`, `continue` or return that a thread executes behind a number of stops, and the branch around it.
struct Leave { const IfThenElse* branch; size_t stops; };

struct Thread {
  std::vector<Leave> leaves;
  std::vector<int64_t> block, index;         // by dimension of the launch
  std::vector<Touch> touches;
  std::vector<Stop> stops;
  std::map<const IfThenElse*, bool> ways;    // the last side taken at each branch
};

auto is_call(const Stmt& stmt, const std::set<std::string_view>& names) -> bool {
  const auto* evaluate = stmt.as<Evaluate>();
  const auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
  return call && names.contains(call->op.view());
}
auto is_block_barrier(const Stmt& stmt) -> bool {
  static const std::set<std::string_view> names = {"tvm_storage_sync"};
  if (!is_call(stmt, names)) { return false; }
  const auto& args = stmt.as<Evaluate>()->value.as<Call>()->args;
  const auto* scope = args.empty() ? nullptr : args[0].as<StringImm>();
  return scope && scope->value != "warp";
}
/// True for other calls that order threads in ways that are not modelled.
auto orders_otherwise(const Stmt& stmt) -> bool {
  const auto* evaluate = stmt.as<Evaluate>();
  const auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
  if (!call) { return false; }
  std::string_view op = call->op.view();
  return op == "tvm_storage_sync" || op == "tvm_thread_allreduce" || op.starts_with("ptx_") || op.starts_with("call_") || op.find("barrier") != std::string_view::npos ||
         op.find("sync") != std::string_view::npos || op.starts_with("@");
}
auto has_stop(const Stmt& stmt) -> bool {
  bool found = false;
  post_order(stmt, [&](const Stmt& s) { found = found || is_block_barrier(s) || orders_otherwise(s); }, [](const Expr&) {});
  return found;
}

/// Follows one thread through a kernel.
class Follower {
 public:
  Follower(const Facts& facts, Numbers numbers, int64_t& steps) : facts_(facts), numbers_(std::move(numbers)), steps_(steps) {}
  Thread thread;
  bool is_lost = false;                      // a barrier depends on values that are not followed

  void follow(const Stmt& stmt) {
    if (is_lost || --steps_ < 0) {
      is_lost = true;
      return;
    }
    switch (stmt->kind) {
      case NodeKind::SeqStmt:
        for (const Stmt& one : stmt.as<SeqStmt>()->seq) {
          follow(one);
          if (leaving_ != Leaving::No) { return; }
        }
        return;
      case NodeKind::Break: return leave(Leaving::Loop);
      case NodeKind::Continue: return leave(Leaving::Iteration);
      case NodeKind::AttrStmt: return follow(stmt.as<AttrStmt>()->body);
      case NodeKind::Allocate: return follow(stmt.as<Allocate>()->body);
      case NodeKind::AllocateConst: return follow(stmt.as<AllocateConst>()->body);
      case NodeKind::DeclBuffer: return follow(stmt.as<DeclBuffer>()->body);
      case NodeKind::AssertStmt: return follow(stmt.as<AssertStmt>()->body);
      case NodeKind::LetStmt: return let(*stmt.as<LetStmt>());
      case NodeKind::For: return loop(*stmt.as<For>());
      case NodeKind::IfThenElse: return branch(*stmt.as<IfThenElse>());
      case NodeKind::BlockRealize: return block(*stmt.as<BlockRealize>());
      case NodeKind::BufferStore: return store(*stmt.as<BufferStore>());
      case NodeKind::Evaluate:
        if (is_call(stmt, {"ret"})) { return leave(Leaving::Program); }
        if (is_block_barrier(stmt) || orders_otherwise(stmt)) {
          if (is_uncertain_ || is_behind_jump_) { is_lost = true; }
          thread.stops.push_back({is_block_barrier(stmt) ? stmt.as<Evaluate>() : nullptr, nullptr, 0, around_});
          return;
        }
        return loads(stmt.as<Evaluate>()->value);
      default: is_lost = is_lost || has_stop(stmt);
    }
  }

 private:
  void let(const LetStmt& n) {
    loads(n.value);
    auto value = n.var->dtype.is_integral() && n.var->dtype.lanes == 1 ? evaluate(n.value, numbers_) : std::nullopt;
    if (value) { numbers_.push(n.var.get(), *value); }
    follow(n.body);
    if (value) { numbers_.pop(); }
  }

  enum class Leaving : uint8_t { No, Iteration, Loop, Program };
  void leave(Leaving how) {
    // Some threads may come behind the jump, and which ones depends on memory.
    if (is_uncertain_ || is_behind_jump_) {
      is_behind_jump_ = true;
      may_have_ended_ = may_have_ended_ || how == Leaving::Program;
      return;
    }
    leaving_ = how;
    thread.leaves.push_back({around_.empty() ? nullptr : around_.back().branch, thread.stops.size()});
  }

  void loop(const For& n) {
    auto min = evaluate(n.min, numbers_);
    auto extent = evaluate(n.extent, numbers_);
    const bool stops = has_stop(n.body);
    if (!min || !extent) {
      is_lost = is_lost || stops;
      return;
    }
    if (n.thread) {
      // The thread's own index, which is known already.
      const int64_t* own = numbers_.find(n.var.get());
      if (own) { follow(n.body); } else { is_lost = true; }
      return;
    }
    if (stops) { thread.stops.push_back({nullptr, &n, *extent, around_}); }
    std::vector<int64_t> values;
    const int64_t few = stops ? iterations_with_barriers : 2;
    for (int64_t i = 0; i < std::min(*extent, few); ++i) { values.push_back(*min + i); }
    if (!stops && *extent > few) { values.push_back(*min + *extent - 1); }
    const bool was_behind = is_behind_jump_;
    for (int64_t value : values) {
      numbers_.push(n.var.get(), value);
      follow(n.body);
      numbers_.pop();
      if (leaving_ == Leaving::Iteration) { leaving_ = Leaving::No; }
      if (leaving_ != Leaving::No) { break; }
    }
    is_behind_jump_ = was_behind || may_have_ended_;
    if (leaving_ == Leaving::Program) { return; }
    leaving_ = Leaving::No;
    // The skipped iterations have barriers.
    if (stops && *extent > few) { thread.stops.push_back({}); }
  }

  void branch(const IfThenElse& n) {
    loads(n.condition);
    auto holds = evaluate(plain_condition(n.condition), numbers_);
    if (!holds) {
      bool was_uncertain = std::exchange(is_uncertain_, true);
      follow(n.then_case);
      if (n.else_case) { follow(n.else_case); }
      is_uncertain_ = was_uncertain;
      return;
    }
    thread.ways[&n] = *holds != 0;
    const Stmt& way = *holds != 0 ? n.then_case : n.else_case;
    if (!way) { return; }
    around_.push_back({&n, *holds != 0});
    follow(way);
    around_.pop_back();
  }

  void block(const BlockRealize& n) {
    auto holds = evaluate(n.predicate, numbers_);
    bool was_uncertain = is_uncertain_;
    if (holds && *holds == 0) { return; }
    is_uncertain_ = is_uncertain_ || !holds;
    size_t pushed = 0;
    bool is_first = true;
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      const IterVar& iter = n.block->iter_vars[i];
      auto value = evaluate(n.iter_values[i], numbers_);
      if (!value) { continue; }
      if (iter.kind == IterKind::Reduction) { is_first = is_first && evaluate(iter.dom.min, numbers_) == value; }
      numbers_.push(iter.var.get(), *value);
      ++pushed;
    }
    if (n.block->init && is_first) { follow(n.block->init); }
    follow(n.block->body);
    for (; pushed > 0; --pushed) { numbers_.pop(); }
    is_uncertain_ = was_uncertain;
  }

  void store(const BufferStore& n) {
    for (const Expr& index : n.indices) { loads(index); }
    loads(n.value);
    if (!n.predicate) { touch(*n.buffer, n.indices, &n, n.origin); }
  }

  void loads(const Expr& expr) {
    // A value behind a condition may not be loaded.
    if (const auto* call = expr.as<Call>(); call && call->op == "if_then_else" && call->args.size() == 3) {
      loads(call->args[0]);
      auto holds = evaluate(call->args[0], numbers_);
      if (holds) { loads(call->args[*holds != 0 ? 1 : 2]); }
      return;
    }
    if (const auto* call = expr.as<Call>(); call && call->op == "address_of") { return; }
    if (const auto* load = expr.as<BufferLoad>(); load && !load->predicate) { touch(*load->buffer, load->indices, nullptr, load->origin); }
    visit_children(expr, [&](const Expr& child) { loads(child); });
  }

  void touch(const BufferNode& buffer, const Array<Expr>& indices, const BufferStore* store, Origin origin) {
    if (is_uncertain_ || is_behind_jump_ || --steps_ < 0) { return; }
    const VarNode* memory = facts_.memory(buffer);
    std::string_view scope = memory->pointer ? memory->pointer->scope.view() : std::string_view();
    if (!is_shared_memory(scope) && !(is_global_memory(scope) && !facts_.is_allocated(memory))) { return; }
    if (buffer.data.get() != memory || buffer.dtype.bits % 8 != 0) { return; }   // a view
    if (std::any_of(facts_.pointers.begin(), facts_.pointers.end(), [&](const PointerUse& use) { return facts_.memory(use.data) == memory; })) { return; }
    if (std::any_of(facts_.names.begin(), facts_.names.end(), [&](const Facts::PointerName& pointer) { return facts_.memory(pointer.name) == memory; })) { return; }
    Touch touch;
    touch.memory = memory;
    touch.is_write = store != nullptr;
    touch.store = store;
    touch.buffer = &buffer;
    touch.origin = origin;
    int64_t at = buffer.elem_offset ? evaluate(buffer.elem_offset, numbers_).value_or(-1) : 0;
    int64_t stride = 1;
    for (size_t d = indices.size(); d-- > 0;) {
      if (!indices[d].dtype().is_scalar()) { return; }
      auto index = evaluate(indices[d], numbers_);
      auto extent = d < buffer.shape.size() ? evaluate(buffer.shape[d], numbers_) : std::nullopt;
      auto given = d < buffer.strides.size() ? evaluate(buffer.strides[d], numbers_) : std::optional(stride);
      if (at < 0 || !index || !extent || !given || *index < 0 || *index >= *extent || *extent > (1 << 28)) { return; }
      touch.element.insert(touch.element.begin(), *index);
      at += *index * *given;
      stride *= *extent;
      if (stride > (int64_t{1} << 40)) { return; }
    }
    touch.bytes = std::max(1, buffer.dtype.element_bytes() * buffer.dtype.lanes);
    touch.byte = at * touch.bytes;
    touch.phase = thread.stops.size();
    if (store) { touch.numbers = numbers_; }
    thread.touches.push_back(std::move(touch));
  }

  const Facts& facts_;
  Numbers numbers_;
  int64_t& steps_;
  bool is_uncertain_ = false;
  bool is_behind_jump_ = false;              // a jump of some threads may have left the statements here
  bool may_have_ended_ = false;              // that jump was a return
  Leaving leaving_ = Leaving::No;            // the statements around end before the next one
  std::vector<Way> around_;
};

class Kernel {
 public:
  Kernel(Subject& subject, const Stmt& body) : subject_(subject), facts_(subject.facts), body_(body) {}

  void run() {
    if (!find_launches() || !follow_threads()) { return; }
    if (report_parting()) { return; }
    report_races();
  }

 private:
  auto find_launches() -> bool {
    bool is_known = true;
    auto add = [&](const VarNode* var, std::string_view tag, const Expr& extent) {
      auto number = evaluate(extent, samples());
      bool is_new = std::none_of(launches_.begin(), launches_.end(), [&](const Launched& one) { return one.tag == tag; });
      is_known = is_known && number && *number > 0 && is_new && (is_block_axis(tag) || is_thread_axis(tag));
      launches_.push_back({var, tag, number.value_or(1)});
    };
    post_order(body_, [&](const Stmt& s) {
      const auto* attr = s.as<AttrStmt>();
      const auto* iter = attr ? std::get_if<IterVar>(&attr->node) : nullptr;
      if (iter && attr->key == "thread_extent") { add(iter->var.get(), iter->thread_tag.view(), attr->value); }
      if (const auto* loop = s.as<For>(); loop && loop->thread) { add(loop->var.get(), loop->thread->thread_tag.view(), loop->extent); }
    }, [](const Expr&) {});
    // By name, so that `threadIdx.x` changes fastest.
    std::sort(launches_.begin(), launches_.end(), [](const Launched& a, const Launched& b) { return a.tag < b.tag; });
    return is_known && std::any_of(launches_.begin(), launches_.end(), [](const Launched& one) { return is_thread_axis(one.tag); });
  }

  auto samples() const -> Numbers {
    Numbers out;
    auto add = [&](const VarNode* v) { if (v->dtype.is_integral() && !out.find(v)) { out.push(v, sample); } };
    for (const Var& p : facts_.func->params) { add(p.get()); }
    for (const auto& [param, buffer] : facts_.func->buffer_map) {
      for (const Expr& e : buffer->shape) { if (const auto* v = e.as<VarNode>()) { add(v); } }
    }
    return out;
  }

  auto follow_threads() -> bool {
    int64_t count = 1;
    std::vector<std::vector<std::pair<const VarNode*, int64_t>>> blocks(1);
    for (const Launched& one : launches_) {
      if (is_thread_axis(one.tag)) {
        count *= one.extent;
      } else {
        for (auto& block : blocks) { block.emplace_back(one.var, 0); }
      }
      if (count > 4096) { return false; }
    }
    // The first block, and its neighbour in each dimension.
    size_t dimensions = blocks[0].size();
    size_t at = 0;
    for (const Launched& one : launches_) {
      if (is_thread_axis(one.tag)) { continue; }
      if (one.extent > 1) {
        blocks.push_back(blocks[0]);
        blocks.back()[at].second = 1;
      }
      if (++at == dimensions) { break; }
    }
    std::set<int64_t> chosen;
    for (int64_t t = 0; t < std::min(count, first_threads); ++t) { chosen.insert(t); }
    for (int64_t t : {count / 2 - 1, count / 2, count - 2, count - 1}) { if (t > 0) { chosen.insert(t); } }
    int64_t steps = most_steps;
    for (const auto& block : blocks) {
      for (int64_t t : chosen) {
        if (subject_.cancel.is_cancelled()) { return false; }
        Numbers numbers = samples();
        Thread thread;
        for (const auto& [var, value] : block) {
          numbers.push(var, value);
          thread.block.push_back(value);
        }
        int64_t rest = t;
        for (const Launched& one : launches_) {
          if (!is_thread_axis(one.tag)) { continue; }
          numbers.push(one.var, rest % one.extent);
          thread.index.push_back(rest % one.extent);
          rest /= one.extent;
        }
        Follower follower(facts_, std::move(numbers), steps);
        follower.thread = std::move(thread);
        follower.follow(body_);
        if (follower.is_lost) { return !threads_.empty() && steps < 0; }
        threads_.push_back(std::move(follower.thread));
      }
    }
    return true;
  }

  auto in_words(const Thread& thread, bool with_block) const -> std::string {
    std::string out;
    size_t block = 0, index = 0;
    for (const Launched& one : launches_) {
      bool is_thread = is_thread_axis(one.tag);
      int64_t value = is_thread ? thread.index[index++] : thread.block[block++];
      if (is_thread || with_block) { out += fmt::format("{}{}={}", out.empty() ? "" : ", ", one.var->name.view(), value); }
    }
    return out;
  }

  /// Reports two threads of a block whose barriers differ.
  auto report_parting() -> bool {
    for (const Thread& other : threads_) {
      const Thread* first = &threads_.front();
      for (const Thread& one : threads_) { if (one.block == other.block) { first = &one; break; } }
      size_t n = std::min(first->stops.size(), other.stops.size());
      size_t at = 0;
      auto same = [](const Stop& a, const Stop& b) { return a.barrier == b.barrier && a.loop == b.loop && a.extent == b.extent; };
      while (at < n && same(first->stops[at], other.stops[at])) { ++at; }
      if (at == first->stops.size() && at == other.stops.size()) { continue; }
      return part(*first, other, at);
    }
    return false;
  }

  auto part(const Thread& a, const Thread& b, size_t at) -> bool {
    const Stop* of_a = at < a.stops.size() ? &a.stops[at] : nullptr;
    const Stop* of_b = at < b.stops.size() ? &b.stops[at] : nullptr;
    if (of_a && of_b && of_a->loop && of_a->loop == of_b->loop) {
      const Evaluate* barrier = nullptr;
      post_order(of_a->loop->body, [&](const Stmt& s) { if (!barrier && is_block_barrier(s)) { barrier = s.as<Evaluate>(); } }, [](const Expr&) {});
      if (!barrier) { return false; }
      bool more = of_a->extent > of_b->extent;
      report_barrier(*barrier, more ? a : b, more ? b : a, subject_.header(*of_a->loop), fmt::format("loop `{}` has {} for `{}` and {} for `{}`", of_a->loop->var->name.view(),
                     count_text(of_a->extent, "iteration"), in_words(a, false), of_b->extent, in_words(b, false)));
      return true;
    }
    // The thread at the barrier waits for the other one.
    bool a_waits = of_a && of_a->barrier;
    if (!a_waits && !(of_b && of_b->barrier)) { return false; }
    const Thread& waiting = a_waits ? a : b;
    const Thread& missing = a_waits ? b : a;
    const Stop& stop = a_waits ? *of_a : *of_b;
    for (const Way& way : stop.around) {
      auto theirs = missing.ways.find(way.branch);
      if (theirs == missing.ways.end() || theirs->second == way.holds) { continue; }
      report_barrier(*stop.barrier, waiting, missing, way.branch->condition.origin(), fmt::format("the condition is {} for `{}` and {} for `{}`", way.holds, in_words(waiting, false), theirs->second, in_words(missing, false)));
      return true;
    }
    for (const Leave& leave : missing.leaves) {
      if (leave.stops != at || leave.branch == nullptr) { continue; }
      report_barrier(*stop.barrier, waiting, missing, leave.branch->condition.origin(), fmt::format("`{}` leaves by this branch", in_words(missing, false)));
      return true;
    }
    return false;
  }

  void report_barrier(const Evaluate& barrier, const Thread& waiting, const Thread& missing, Origin where, std::string why) {
    subject_.report(error(Code::BarrierNotReached, barrier.origin).arg("first", "`" + in_words(waiting, false) + "`").arg("second", "`" + in_words(missing, false) + "`")
                        .note(where, std::move(why)).remedy("move the barrier out of the branch or loop, so that all threads of the block reach it"));
  }

  /// True if the values of two writes differ for some inputs. Values from memory of the kernel itself are unknown.
  auto certainly_differ(const Expr& a, const Numbers& of_a, const Expr& b, const Numbers& of_b) const -> bool {
    if (a->kind != b->kind) { return false; }
    if (a.dtype().is_integral()) {
      auto x = evaluate(a, of_a);
      auto y = evaluate(b, of_b);
      if (x && y) { return *x != *y; }
    }
    if (const auto* x = a.as<FloatImm>()) { return x->value != b.as<FloatImm>()->value; }
    if (const auto* load = a.as<BufferLoad>()) {
      const auto* other = b.as<BufferLoad>();
      if (facts_.is_allocated(facts_.memory(*load->buffer)) || load->buffer.get() != other->buffer.get()) { return false; }
      for (size_t i = 0; i < load->indices.size() && i < other->indices.size(); ++i) {
        auto x = evaluate(load->indices[i], of_a);
        auto y = evaluate(other->indices[i], of_b);
        if (x && y && *x != *y) { return true; }
      }
      return false;
    }
    bool differ = false;
    std::vector<Expr> left, right;
    visit_children(a, [&](const Expr& child) { left.push_back(child); });
    visit_children(b, [&](const Expr& child) { right.push_back(child); });
    for (size_t i = 0; i < left.size() && left.size() == right.size(); ++i) { differ = differ || certainly_differ(left[i], of_a, right[i], of_b); }
    return differ;
  }

  struct Seen { const Thread* thread; const Touch* touch; };

  void report_races() {
    std::map<std::tuple<const VarNode*, int64_t, size_t>, std::vector<Seen>> by_phase;   // shared by the threads of the first block
    std::map<std::pair<const VarNode*, int64_t>, std::vector<Seen>> by_block;            // of different blocks
    std::set<const VarNode*> reported;
    for (const Thread& thread : threads_) {
      for (const Touch& touch : thread.touches) {
        if (reported.contains(touch.memory)) { continue; }
        if (thread.block == threads_.front().block) {
          std::vector<Seen>& there = by_phase[{touch.memory, touch.byte, touch.phase}];
          if (check(there, {&thread, &touch}, false)) { reported.insert(touch.memory); }
          there.push_back({&thread, &touch});
        }
        std::string_view scope = touch.memory->pointer ? touch.memory->pointer->scope.view() : std::string_view();
        if (!is_global_memory(scope) || reported.contains(touch.memory)) { continue; }
        std::vector<Seen>& there = by_block[{touch.memory, touch.byte}];
        if (check(there, {&thread, &touch}, true)) { reported.insert(touch.memory); }
        there.push_back({&thread, &touch});
      }
    }
  }

  auto check(const std::vector<Seen>& before, Seen now, bool of_blocks) -> bool {
    for (const Seen& seen : before) {
      bool is_other = of_blocks ? seen.thread->block != now.thread->block : seen.thread != now.thread;
      if (!is_other || (!seen.touch->is_write && !now.touch->is_write) || seen.touch->bytes != now.touch->bytes) { continue; }
      if (seen.touch->is_write && now.touch->is_write) {
        if (!certainly_differ(seen.touch->store->value, seen.touch->numbers, now.touch->store->value, now.touch->numbers)) { continue; }
      } else {
        // A thread that has itself written the element reads the value that it wrote, if all write the same value.
        const Seen& reader = seen.touch->is_write ? now : seen;
        bool has_written = std::any_of(before.begin(), before.end(), [&](const Seen& one) { return one.thread == reader.thread && one.touch->is_write; });
        if (has_written) { continue; }
      }
      report(seen, now, of_blocks);
      return true;
    }
    return false;
  }

  void report(const Seen& seen, const Seen& now, bool of_blocks) {
    // The write comes first in the message.
    const Seen& first = seen.touch->is_write ? seen : now;
    const Seen& second = seen.touch->is_write ? now : seen;
    std::string element;
    for (int64_t v : first.touch->element) { element += (element.empty() ? "" : ", ") + std::to_string(v); }
    std::string one = "`" + in_words(*first.thread, of_blocks) + "`";
    std::string other = "`" + in_words(*second.thread, of_blocks) + "`";
    std::string verb = second.touch->is_write ? "writes" : "reads";
    Diagnostic d = error(Code::ThreadRace, first.touch->origin).arg("element", fmt::format("{}[{}]", first.touch->buffer->name.view(), element)).arg("first", one)
                       .arg("first_access", "writes").arg("second", other).arg("second_access", verb);
    if (!(second.touch->origin == first.touch->origin)) { (void)std::move(d).note(second.touch->origin, fmt::format("{} {} it here", other, verb)); }
    if (of_blocks) {
      (void)std::move(d).remedy("blocks of a kernel run in any order: let each block write elements of its own");
    } else if (second.touch->is_write) {
      (void)std::move(d).remedy("let each thread write elements of its own");
    } else {
      (void)std::move(d).remedy("put `T.tvm_storage_sync(\"shared\")` between the two accesses, where all threads of the block reach it");
    }
    subject_.report(std::move(d));
  }

  Subject& subject_;
  const Facts& facts_;
  Stmt body_;
  std::vector<Launched> launches_;
  std::vector<Thread> threads_;
};

/// Collects the outermost launches below a statement. `bound`: loops that are bound to threads are launches, too.
void find_kernels(const Stmt& stmt, bool bound, std::vector<Stmt>& out) {
  const auto* attr = stmt.as<AttrStmt>();
  const auto* loop = stmt.as<For>();
  if ((attr && attr->key == "thread_extent" && std::holds_alternative<IterVar>(attr->node)) || (bound && loop && loop->thread)) {
    out.push_back(stmt);
    return;
  }
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { find_kernels(child, bound, out); });
}

}  // namespace

void check_thread_races(Subject& subject) {
  bool has_barriers = false;
  post_order(subject.facts.func->body, [&](const Stmt& s) { has_barriers = has_barriers || is_block_barrier(s); }, [](const Expr&) {});
  std::vector<Stmt> kernels;
  find_kernels(subject.facts.func->body, has_barriers, kernels);
  for (const Stmt& kernel : kernels) { Kernel(subject, kernel).run(); }
}

}  // namespace loopsmith::analysis
