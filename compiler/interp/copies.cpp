// Asynchronous copies: see copies.h.
#include "interp/copies.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "interp/compiler.h"
#include "interp/kernel.h"
#include "interp/threads.h"
#include "ir/ops.h"

namespace loopsmith::interp {
namespace {

// Executes a copy; with a null `from.memory` it writes zeros.
void land(Frame& f, const Copy& copy, Origin origin) {
  auto fits = [&](const Pointer& p) { return p.has(copy.bytes); };
  const Pointer& outside = fits(copy.to) ? copy.from : copy.to;
  if (copy.bytes < 0 || !fits(copy.to) || (copy.from.memory && !fits(copy.from))) {
    if (!f.failed) {
      f.fail(error(loopsmith::Code::InterpOutOfBounds, origin).arg("index", copy.bytes).arg("buffer", "a copy")
                 .arg("extent", outside.memory ? outside.memory->bytes - outside.byte : 0).arg("dimension", "bytes").arg("iteration", f.iteration()));
    }
    return;
  }
  char* to = copy.to.memory->data + copy.to.byte;
  auto size = static_cast<size_t>(copy.bytes);
  if (copy.from.memory) { std::memmove(to, copy.from.memory->data + copy.from.byte, size); } else { std::memset(to, 0, size); }
  std::vector<uint8_t>& written = copy.to.memory->written;
  if (!written.empty()) { std::fill_n(written.begin() + copy.to.byte, copy.bytes, uint8_t{1}); }
}

auto copies_of(Frame& f, const IntExpr* queue) -> Copies& { return queue ? f.queues[queue->eval(f)] : f.copies; }

void commit(Copies& copies) {
  copies.groups.push_back(std::move(copies.started));
  copies.started.clear();
}

// Records in the watch that a copy has completed before all further accesses of its thread.
void finish(Frame& f, const Copy& copy) {
  if (f.watch && copy.place != 0) { f.watch->finish_copy(copy.place, f.position); }
}

// Checks that both places are multiples of the copy's size, which machines require.
auto is_aligned(Frame& f, const Copy& copy, const StartCopy& start) -> bool {
  if (copy.bytes <= 0) { return true; }
  for (const auto& [name, place] : {std::pair(start.to_name, copy.to), std::pair(start.from_name, copy.from)}) {
    if (name.empty() || !place.memory || place.byte % copy.bytes == 0) { continue; }
    f.fail(error(loopsmith::Code::InterpUnsupported, start.origin)
               .arg("what", fmt::format("a copy of {} bytes at byte {} of `{}`, at {}: its address must be a multiple of {}", copy.bytes, place.byte, name.view(), f.iteration(), copy.bytes)));
    return false;
  }
  return true;
}

// Records both accesses of a copy that starts now.
void note_start(Frame& f, Copy& copy, const StartCopy& start) {
  if (!f.watch || copy.bytes <= 0) { return; }
  copy.place = f.watch->start_copy(f.position);
  if (copy.from.memory) { note_bytes(f, copy.from, copy.bytes, copy.place, start.reads, false, false); }
  auto fits = [&](const Pointer& p) { return p.memory && p.byte >= 0 && p.byte + copy.bytes <= p.memory->bytes; };
  bool is_same = fits(copy.to) && fits(copy.from) && std::memcmp(copy.to.memory->data + copy.to.byte, copy.from.memory->data + copy.from.byte, static_cast<size_t>(copy.bytes)) == 0;
  note_bytes(f, copy.to, copy.bytes, copy.place, start.writes, true, is_same);
}

// Ends the phase of a barrier when all threads have arrived, and executes its copies.
void settle(Frame& f, Kernel::MachineBarrier& barrier, Origin origin) {
  if (barrier.awaited == 0 || barrier.missing > 0) { return; }
  for (const Copy& copy : barrier.copies) {
    land(f, copy, origin);
    finish(f, copy);
    barrier.bytes -= std::min(barrier.bytes, std::max<int64_t>(0, copy.bytes));
  }
  barrier.copies.clear();
  if (barrier.bytes > 0) { return; }
  barrier.missing = barrier.awaited;
  ++barrier.phases;
  barrier.completed = std::exchange(barrier.arrived, {});
}

}  // namespace

void StartCopy::run(Frame& f) const {
  if (++f.steps >= f.next_check) { f.check_limits(); }
  ++f.stats.statements;
  f.lane = 0;
  bool wanted = !predicate || predicate->eval(f) != 0;
  Copy copy{to->eval(f), wanted ? from->eval(f) : Pointer{}, bytes->eval(f)};
  if (wanted && !copy.from.memory) { copy.bytes = -1; }   // a null pointer
  if (!is_aligned(f, copy, *this)) { return; }
  note_start(f, copy, *this);
  if (barrier) {
    f.kernel->barriers[barrier->eval(f)].copies.push_back(copy);
    return;
  }
  Copies& copies = copies_of(f, queue);
  copies.started.push_back(copy);
  if (queue && !copies.is_grouped) { commit(copies); }
}

void CommitCopies::run(Frame& f) const {
  f.lane = 0;
  Copies& copies = copies_of(f, queue);
  copies.is_grouped = begins;
  if (!begins) { commit(copies); }
}

void WaitForCopies::run(Frame& f) const {
  f.lane = 0;
  auto stay = static_cast<size_t>(std::max<int64_t>(0, open->eval(f)));
  auto& groups = copies_of(f, queue).groups;
  while (groups.size() > stay && !f.failed) {
    for (const Copy& copy : groups.front()) {
      land(f, copy, origin);
      finish(f, copy);
    }
    groups.erase(groups.begin());
  }
}

void BarrierStep::run(Frame& f) const {
  if (++f.steps >= f.next_check) { f.check_limits(); }
  ++f.stats.statements;
  f.lane = 0;
  int64_t number = barrier->eval(f);
  int64_t given = count ? count->eval(f) : 0;
  if (f.failed) { return; }
  Kernel::MachineBarrier& own = f.kernel->barriers[number];
  switch (kind) {
    case Kind::Begin:
      // Every thread initialises the barrier; the first initialisation takes effect.
      if (own.awaited != given || own.phases > 0) { own = {std::max<int64_t>(given, 1), std::max<int64_t>(given, 1), 0, 0, std::move(own.copies)}; }
      return;
    case Kind::ArriveWithCopies:
      // The copies that this thread has started belong to the phase, too.
      if (!count) {
        own.copies.insert(own.copies.end(), f.copies.started.begin(), f.copies.started.end());
        f.copies.started.clear();
        return;
      }
      own.bytes += given;
      [[fallthrough]];
    case Kind::Arrive:
      // The arrivals of a phase come before the ends of the waits for it.
      if (f.watch) {
        f.watch->release(f.thread_place, own.arrived);
        f.pass_barrier(Watch::Barrier::Memory);
      }
      --own.missing;
      return settle(f, own, origin);
    case Kind::Wait: {
      int64_t& seen = f.phases[number];
      f.kernel->wait_until(f, [&] { return own.phases > seen; }, origin);
      ++seen;
      if (f.watch) { f.watch->acquire(f.thread_place, own.completed); }
      return;
    }
  }
}

// ---- compiled ----------------------------------------------------------------------------------------------------

auto Compiler::copy_statement(const Call& n) -> const Statement* {
  std::string_view op = n.op.view();
  size_t count = n.args.size();
  bool is_bulk = op == "ptx_cp_async_bulk" && count == 6;
  // (shared memory, offset, global memory, offset, bytes[, predicate or barrier]), offsets in elements of the call's type.
  if (is_bulk || (op == "ptx_cp_async" && count >= 5)) {
    auto* out = make_stmt<StartCopy>();
    int64_t element = std::max(1, n.dtype.element_bytes() * n.dtype.lanes);
    out->to = make_place<PointerOffset>(pointer(n.args[0]), int_expr(n.args[1]), element);
    out->from = make_place<PointerOffset>(pointer(n.args[2]), int_expr(n.args[3]), element);
    out->bytes = int_expr(n.args[4]);
    out->writes = access_in_text(n.args[0], n.origin);
    out->reads = access_in_text(n.args[2], n.origin);
    if (count > 5) { (is_bulk ? out->barrier : out->predicate) = int_expr(n.args[5]); }
    out->origin = n.origin;
    if (!is_bulk) {
      const auto* to = n.args[0].as<VarNode>();
      const auto* from = n.args[2].as<VarNode>();
      if (to && from) {
        out->to_name = to->name;
        out->from_name = from->name;
      }
    }
    if (is_bulk && !in_kernel_) { unsupported(n.origin, "`ptx_cp_async_bulk` outside of a launch"); }
    return out;
  }
  if (op == "ptx_commit_group") { return make_stmt<CommitCopies>(); }
  if (op == "ptx_wait_group" && count == 1) {
    auto* out = make_stmt<WaitForCopies>();
    out->open = int_expr(n.args[0]);
    out->origin = n.origin;
    return out;
  }
  // (queue, target, source, bytes[, a flag to bypass caches])
  if (op == "dma_copy" && count >= 4) {
    auto* out = make_stmt<StartCopy>();
    out->queue = int_expr(n.args[0]);
    out->to = pointer(n.args[1]);
    out->from = pointer(n.args[2]);
    out->bytes = int_expr(n.args[3]);
    out->writes = access_in_text(n.args[1], n.origin);
    out->reads = access_in_text(n.args[2], n.origin);
    out->origin = n.origin;
    return out;
  }
  if ((op == "dma_start_group" || op == "dma_end_group") && count == 1) {
    auto* out = make_stmt<CommitCopies>();
    out->queue = int_expr(n.args[0]);
    out->begins = op == "dma_start_group";
    return out;
  }
  if (op == "dma_wait" && count == 2) {
    auto* out = make_stmt<WaitForCopies>();
    out->queue = int_expr(n.args[0]);
    out->open = int_expr(n.args[1]);
    out->origin = n.origin;
    return out;
  }
  // Barriers exist as soon as their numbers are used; the barrier between kernels is passed at the start of a kernel.
  if (op == "create_barriers" || op == "tvm_global_barrier_kinit") { return make_stmt<Nothing>(); }
  auto step = [&](BarrierStep::Kind kind, bool has_count) -> const Statement* {
    if (!in_kernel_) { unsupported(n.origin, "`" + n.op.str() + "` outside of a launch"); }
    auto* out = make_stmt<BarrierStep>();
    out->kind = kind;
    out->barrier = int_expr(n.args[0]);
    if (has_count) { out->count = int_expr(n.args[1]); }
    out->origin = n.origin;
    return out;
  };
  if (op == "ptx_init_barrier_thread_count" && count == 2) { return step(BarrierStep::Kind::Begin, true); }
  if (op == "ptx_arrive_barrier" && count == 1) { return step(BarrierStep::Kind::Arrive, false); }
  if (op == "ptx_arrive_barrier_expect_tx" && count == 2) { return step(BarrierStep::Kind::ArriveWithCopies, true); }
  if (op == "ptx_cp_async_barrier" && count == 1) { return step(BarrierStep::Kind::ArriveWithCopies, false); }
  if (op == "ptx_wait_barrier" && count == 1) { return step(BarrierStep::Kind::Wait, false); }
  return nullptr;
}

}  // namespace loopsmith::interp
