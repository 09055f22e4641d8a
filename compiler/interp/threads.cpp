// Cooperating threads, pointers and calls: see threads.h.
#include "interp/threads.h"

#include <algorithm>

#include "interp/tiles.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"

namespace loopsmith::interp {

auto needs_threads(const Stmt& body) -> bool {
  static const std::unordered_set<Name> waiting = {Name("tvm_storage_sync"), Name("tvm_thread_allreduce"), Name("tvm_warp_shuffle"),
                                                   Name("tvm_warp_shuffle_up"), Name("tvm_warp_shuffle_down"), Name("ptx_mma"), Name("ptx_mma_sp"), Name("ptx_ldmatrix"),
                                                   Name("mma_fill"), Name("mma_store"), Name("tvm_mma_sync"), Name("tvm_fill_fragment"), Name("tvm_load_matrix_sync"),
                                                   Name("tvm_store_matrix_sync"), Name("ptx_cp_async"), Name("ptx_commit_group"), Name("ptx_wait_group"),
                                                   Name("ptx_wait_barrier"), Name("ptx_arrive_barrier"), Name("ptx_arrive_barrier_expect_tx"), Name("ptx_cp_async_bulk"),
                                                   Name("ptx_cp_async_barrier"), Name("simdgroup_load"), Name("simdgroup_store"), Name("simdgroup_multiply_accumulate"),
                                                   Name("make_filled_simdgroup_matrix")};
  bool found = false;
  post_order(body, [](const Stmt&) {}, [&](const Expr& e) {
    const auto* call = e.as<Call>();
    found = found || (call && (waiting.contains(call->op) || is_wavefront_product(*call)));
  });
  return found;
}

auto has_barriers(const Stmt& body) -> bool {
  static const Name sync("tvm_storage_sync");
  bool found = false;
  post_order(body, [](const Stmt&) {}, [&](const Expr& e) {
    const auto* call = e.as<Call>();
    found = found || (call && call->op == sync);
  });
  return found;
}

auto allocates_shared(const Stmt& body) -> bool {
  bool found = false;
  auto is_shared = [](const Var& data) { return data->pointer && is_shared_memory(data->pointer->scope.view()); };
  post_order(body, [&](const Stmt& s) {
    if (const auto* allocate = s.as<Allocate>()) { found = found || is_shared(allocate->data); }
    if (const auto* block = s.as<Block>()) {
      for (const Buffer& buffer : block->alloc_buffers) { found = found || is_shared(buffer->data); }
    }
  }, [](const Expr&) {});
  return found;
}

void KernelStatement::run(Frame& f) const {
  constexpr int64_t most = 4096;
  std::vector<Kernel::Dimension> sizes;
  int64_t count = 1;
  f.lane = 0;
  for (const auto& [tag, extent, variable] : dimensions) {
    sizes.push_back({tag, extent->eval(f), variable});
    count = sizes.back().extent < 0 || sizes.back().extent > most ? most + 1 : count * sizes.back().extent;
    if (count > most) {
      f.fail(error(loopsmith::Code::InterpLimit, origin).arg("what", "asking for more than 4096 threads").arg("iteration", f.iteration()));
      return;
    }
  }
  if (count == 0) { return; }
  Kernel(f, std::move(sizes), origin).run(*body, is_launch);
}

void ThreadIndex::run(Frame& f) const {
  f.slots[slot].i = f.kernel->index(f.thread, dimension);
  f.loops.push_back({name, slot});
  body->run(f);
  f.loops.pop_back();
}

void Barrier::run(Frame& f) const {
  if (is_warp) { return f.kernel->wait(f, this, f.kernel->warps(32), origin, Kernel::Wait::WarpBarrier); }
  f.kernel->wait(f, this, f.kernel->everybody, origin, Kernel::Wait::BlockBarrier);
}

void AllReduce::run(Frame& f) const {
  std::vector<Slot>& mine = f.kernel->posted[static_cast<size_t>(f.thread)];
  f.lane = 0;
  bool takes_part = condition->eval(f) != 0;
  mine.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Code& code = takes_part ? values[i] : identity[i];
    if (code.i) { mine[i].i = code.i->eval(f); } else { mine[i].f = code.f->eval(f); }
  }
  const std::vector<int>& group = f.kernel->across(dimensions);
  f.kernel->wait(f, this, group, origin, Kernel::Wait::Exchange);
  if (f.failed) { return; }
  std::vector<Slot> sum(values.size());
  bool first = true;
  for (int t = 0; t < f.kernel->thread_count(); ++t) {
    if (group[static_cast<size_t>(t)] != group[static_cast<size_t>(f.thread)]) { continue; }
    const std::vector<Slot>& theirs = f.kernel->posted[static_cast<size_t>(t)];
    if (std::exchange(first, false)) {
      sum = theirs;
      continue;
    }
    for (size_t i = 0; i < sum.size(); ++i) {
      f.slots[lhs[i]] = sum[i];
      f.slots[rhs[i]] = theirs[i];
    }
    for (size_t i = 0; i < sum.size(); ++i) {
      if (result[i].i) { sum[i].i = result[i].i->eval(f); } else { sum[i].f = result[i].f->eval(f); }
    }
  }
  // No thread may post its next value before all have read this one.
  f.kernel->wait(f, &condition, group, origin, Kernel::Wait::Exchange);
  mine.clear();
  for (size_t i = 0; i < results.size() && !f.failed; ++i) { put(f, results[i], result[i].i != nullptr, 0, sum[i]); }
}

auto WarpShuffle::run(Frame& f, const void* site) const -> Slot {
  Slot own;
  const auto lanes = static_cast<uint64_t>(mask->eval(f));
  int64_t distance = lane->eval(f);
  int64_t part = std::clamp<int64_t>(width->eval(f), 1, warp);
  if (value.i) { own.i = value.i->eval(f); } else { own.f = value.f->eval(f); }
  Kernel& kernel = *f.kernel;
  const std::vector<int>& warps = kernel.warps(warp);
  kernel.posted[static_cast<size_t>(f.thread)].assign(1, own);
  kernel.wait(f, site, warps, origin, Kernel::Wait::Exchange);
  if (f.failed) { return own; }
  int64_t here = f.thread % warp;
  int64_t first = here / part * part;
  int64_t from = kind == From ? first + ((distance % part) + part) % part : kind == Up ? here - distance : here + distance;
  // Outside of the part, each lane keeps its own value.
  if (from < first || from >= first + part) { from = here; }
  int64_t thread = f.thread - here + from;
  const bool takes_part = thread < kernel.thread_count() && !kernel.posted[static_cast<size_t>(thread)].empty();
  Slot out = takes_part ? kernel.posted[static_cast<size_t>(thread)][0] : own;
  // The mask names both lanes; it may name lanes that the block does not have.
  auto is_named = [&](int64_t l) { return l >= 64 || ((lanes >> l) & 1) != 0; };
  if ((!takes_part || !is_named(here) || !is_named(from)) && f.options->report_races && f.warned.insert(site).second) {
    f.stats.warnings.push_back(error(loopsmith::Code::InactiveLane, origin).arg("thread", f.iteration()).arg("lane", takes_part && !is_named(here) ? here : from));
  }
  kernel.wait(f, &value, warps, origin, Kernel::Wait::Exchange);
  kernel.posted[static_cast<size_t>(f.thread)].clear();
  return out;
}

void CallStatement::run(Frame& f) const {
  f.lane = 0;
  // Evaluates all arguments before it sets any parameter: an argument may call the same function.
  std::vector<Pointer> at;
  std::vector<Slot> given(values.size());
  for (const auto& [slot, pointer] : pointers) { at.push_back(pointer->eval(f)); }
  for (size_t i = 0; i < values.size(); ++i) {
    const Code& code = values[i].second;
    if (code.i) { given[i].i = code.i->eval(f); } else { given[i].f = code.f->eval(f); }
  }
  if (f.failed) { return; }
  auto run_body = [&] {
    for (size_t i = 0; i < pointers.size(); ++i) { f.pointers[pointers[i].first] = at[i]; }
    for (size_t i = 0; i < values.size(); ++i) { f.slots[values[i].first] = given[i]; }
    for (const BindBuffer& b : bind) { b.run(f); }
    size_t loops = f.loops.size();
    body->run(f);
    if (f.flow == Flow::Return) { f.flow = Flow::Next; }
    if (!f.failed) { f.loops.resize(loops); }
  };
  if (!recurs) { return run_body(); }
  // The stack of a kernel's thread is smaller.
  int most = f.kernel ? 30 : 200;
  if (++f.depth > most) {
    f.fail(error(loopsmith::Code::InterpLimit, origin).arg("what", std::to_string(most) + " nested calls of a function").arg("iteration", f.iteration()));
    return;
  }
  std::vector<Slot> slots = f.slots;
  std::vector<Pointer> places = f.pointers;
  std::vector<Binding> bindings = f.bindings;
  std::vector<std::unique_ptr<Memory>> storages(f.storages.size());
  storages.swap(f.storages);
  run_body();
  f.slots = std::move(slots);
  f.pointers = std::move(places);
  f.bindings = std::move(bindings);
  f.storages = std::move(storages);
  --f.depth;
}

void MemoryCall::run(Frame& f) const {
  f.lane = 0;
  Pointer target = to->eval(f);
  int64_t n = bytes->eval(f);
  auto fits = [&](const Pointer& p) { return p.has(n); };
  Pointer source = from ? from->eval(f) : target;
  if (!fits(target) || !fits(source)) {
    f.fail(error(loopsmith::Code::InterpOutOfBounds, origin).arg("index", n).arg("buffer", name.view())
               .arg("extent", fits(target) ? source.memory ? source.memory->bytes - source.byte : 0 : target.memory ? target.memory->bytes - target.byte : 0)
               .arg("dimension", "bytes").arg("iteration", f.iteration()));
    return;
  }
  if (from) { std::memmove(target.memory->data + target.byte, source.memory->data + source.byte, static_cast<size_t>(n)); }
  else { std::memset(target.memory->data + target.byte, static_cast<int>(byte->eval(f)), static_cast<size_t>(n)); }
  if (!target.memory->written.empty()) { std::fill_n(target.memory->written.begin() + target.byte, n, uint8_t{1}); }
}

}  // namespace loopsmith::interp
