// The planted faults of kernels: see device_faults.h.
//
// Each is a change of one place: of TIR after lowering, of the printed text, or of a launch. Of all places that a fault fits, the seed of the case
// chooses one. Some changes leave the results as they are (a barrier that another one makes redundant); the gate then goes on to the next case.
#include "tests/gate/device_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <regex>
#include <unordered_map>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/fault.h"
#include "transform/context.h"

namespace loopsmith::gate {
namespace {

/// A change of the node, or null where the fault does not fit it.
using ChangeStmt = std::function<Stmt(const Stmt&)>;
using ChangeExpr = std::function<Expr(const Expr&)>;

/// Changes the place number `wanted`; counts the places.
class ChangeOne : public Mutator {
 public:
  ChangeOne(ChangeStmt stmt, ChangeExpr expr, int64_t wanted) : stmt_(std::move(stmt)), expr_(std::move(expr)), wanted_(wanted) {}
  int64_t seen = 0;
  using Mutator::on;
#define STMT(Kind) \
  auto on(const Kind& n) -> Stmt override { return at(self(n), [&] { return Mutator::on(n); }); }
#define EXPR(Kind) \
  auto on(const Kind& n) -> Expr override { return at(self(n), [&] { return Mutator::on(n); }); }
#include "ir/nodes.def"

 private:
  template <class F> auto at(const Stmt& s, F&& walk) -> Stmt {
    if (stmt_) { if (Stmt changed = stmt_(s); changed && seen++ == wanted_) { return changed; } }
    return walk();
  }
  template <class F> auto at(const Expr& e, F&& walk) -> Expr {
    if (expr_) { if (Expr changed = expr_(e); changed && seen++ == wanted_) { return changed; } }
    return walk();
  }
  ChangeStmt stmt_;
  ChangeExpr expr_;
  int64_t wanted_;
};

auto is_call(const Expr& e, std::string_view op) -> const Call* {
  const auto* call = e.as<Call>();
  return call && call->op == op ? call : nullptr;
}
auto is_call(const Stmt& s, std::string_view op) -> const Call* {
  const auto* n = s.as<Evaluate>();
  return n ? is_call(n->value, op) : nullptr;
}
auto is_barrier(const Stmt& s) -> bool {
  const Call* call = is_call(s, "tvm_storage_sync");
  return call && call->args.size() == 1 && call->args[0].as<StringImm>() && call->args[0].as<StringImm>()->value == "shared";
}
auto contains_barrier(const Stmt& s) -> bool {
  bool found = false;
  post_order(s, [&](const Stmt& at) { found = found || is_barrier(at); }, [](const Expr&) {});
  return found;
}
auto without_barriers(const Stmt& s) -> Stmt {
  struct Remove : Mutator {
    using Mutator::on;
    auto on(const Evaluate& n) -> Stmt override { return is_barrier(self(n)) ? no_op() : self(n); }
  };
  return Remove().mutate(s);
}
auto with_arg(const Call& call, size_t at, Expr value) -> Expr {
  std::vector<Expr> args(call.args.begin(), call.args.end());
  args[at] = std::move(value);
  return make<Call>(call.dtype, call.op, Array<Expr>(std::move(args)), call.origin);
}
/// The index of the launch, of the first thread loop that has that tag.
struct Indices { std::unordered_map<std::string, Var> by_tag; };
auto indices_of(const Stmt& body) -> Indices {
  Indices out;
  post_order(body, [&](const Stmt& s) {
    const auto* n = s.as<AttrStmt>();
    if (!n || n->key != "thread_extent") { return; }
    if (const IterVar* iter = std::get_if<IterVar>(&n->node)) { out.by_tag.emplace(iter->thread_tag.str(), iter->var); }
  }, [](const Expr&) {});
  return out;
}
auto is_local(const Buffer& b) -> bool { return b->scope() == "local"; }
auto with_store(const BufferStore& n, Expr value, Array<Expr> indices) -> Stmt { return make<BufferStore>(n.buffer, std::move(value), std::move(indices), n.origin, n.predicate); }
auto with_loop(const For& n, Expr extent, Stmt body) -> Stmt { return make<For>(n.var, n.min, std::move(extent), n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id); }
auto with_allocation(const Allocate& n, Var data, Array<Expr> extents, Stmt body) -> Stmt {
  return make<Allocate>(std::move(data), n.dtype, std::move(extents), n.condition, std::move(body), n.annotations, n.origin);
}

/// All uses of one memory in place of another.
class OtherMemory : public Mutator {
 public:
  OtherMemory(const VarNode* from, Var to) : from_(from), to_(std::move(to)) {}
  using Mutator::on;
  auto on(const VarNode& n) -> Expr override { return &n == from_ ? Expr(to_) : Mutator::on(n); }

 protected:
  auto use(const Buffer& b) -> Buffer override {
    if (b->data.get() != from_) { return b; }
    Buffer& made = made_[b.get()];
    if (!made) {
      BufferNode fields = *b;
      fields.data = to_;
      made = make_buffer(std::move(fields));
    }
    return made;
  }

 private:
  const VarNode* from_;
  Var to_;
  std::unordered_map<const BufferNode*, Buffer> made_;
};
/// An allocation in another memory.
auto in_scope(const Allocate& n, const char* scope) -> Stmt {
  Buffer like = make_buffer(n.data->name, n.dtype, n.extents, Name(scope));
  return with_allocation(n, like->data, n.extents, OtherMemory(n.data.get(), like->data).mutate(n.body));
}
auto scope_of(const Allocate& n) -> std::string {
  std::string out;
  post_order(n.body, [&](const Stmt& s) {
    const auto* d = s.as<DeclBuffer>();
    if (d && d->buffer->data == n.data) { out = d->buffer->scope().str(); }
  }, [](const Expr&) {});
  return out;
}
auto has_shuffle(const Stmt& s) -> bool {
  bool found = false;
  post_order(s, [](const Stmt&) {}, [&](const Expr& e) { found = found || is_call(e, "tvm_warp_shuffle_down"); });
  return found;
}
auto is_constant(const Expr& e) -> bool { return e.as<IntImm>() || e.as<FloatImm>(); }

// ---- barriers

auto barrier_removed(const Stmt& s) -> Stmt { return is_barrier(s) ? no_op() : Stmt(); }
/// The first statement of a loop's body, which keeps an iteration from overwriting elements that the one before still reads.
auto barrier_of_iteration_lost(const Stmt& s) -> Stmt {
  const auto* n = s.as<For>();
  if (!n || n->for_kind == ForKind::ThreadBinding) { return {}; }
  struct First : Mutator {
    bool done = false;
    using Mutator::on;
    auto on(const Evaluate& e) -> Stmt override {
      if (done || !is_barrier(self(e))) { return self(e); }
      done = true;
      return no_op();
    }
  } first;
  Stmt body = first.mutate(n->body);
  return first.done ? with_loop(*n, n->extent, body) : Stmt();
}
auto barrier_out_of_loop(const Stmt& s) -> Stmt {
  const auto* n = s.as<For>();
  if (!n || n->for_kind == ForKind::ThreadBinding || !contains_barrier(n->body)) { return {}; }
  Stmt barrier;
  post_order(n->body, [&](const Stmt& at) { if (is_barrier(at)) { barrier = at; } }, [](const Expr&) {});
  return seq({barrier, with_loop(*n, n->extent, without_barriers(n->body))});
}
auto barrier_late(const Stmt& s) -> Stmt {
  const auto* n = s.as<SeqStmt>();
  for (size_t i = 0; n && i + 1 < n->seq.size(); ++i) {
    if (!is_barrier(n->seq[i])) { continue; }
    std::vector<Stmt> all(n->seq.begin(), n->seq.end());
    std::swap(all[i], all[i + 1]);
    return seq(std::move(all), n->origin);
  }
  return {};
}
auto barrier_guarded(const Stmt& s, const Indices& indices) -> Stmt {
  auto tx = indices.by_tag.find("threadIdx.x");
  if (!is_barrier(s) || tx == indices.by_tag.end()) { return {}; }
  return make<IfThenElse>(greater(Expr(tx->second), int_imm(0)), s);
}

// ---- reductions across threads

auto shuffle_changed(const Expr& e, size_t argument, const std::function<int64_t(int64_t)>& change) -> Expr {
  const Call* call = is_call(e, "tvm_warp_shuffle_down");
  auto old = call ? as_int(call->args[argument]) : std::nullopt;
  if (!old || change(*old) == *old) { return {}; }
  return with_arg(*call, argument, constant_int(call->args[argument].dtype(), change(*old)));
}
auto shuffle_up(const Expr& e) -> Expr {
  const Call* call = is_call(e, "tvm_warp_shuffle_down");
  return call ? make<Call>(call->dtype, Name("tvm_warp_shuffle_up"), call->args, call->origin) : Expr();
}
auto reduction_step_lost(const Stmt& s) -> Stmt {
  const auto* store = s.as<BufferStore>();
  return store && has_shuffle(s) ? no_op() : Stmt();
}
auto init_lost(const Stmt& s, bool of_locals) -> Stmt {
  const auto* store = s.as<BufferStore>();
  return store && is_constant(store->value) && is_local(store->buffer) == of_locals ? no_op() : Stmt();
}
auto update_by_all(const Stmt& s) -> Stmt {
  const auto* n = s.as<IfThenElse>();
  const auto* condition = n ? n->condition.as<EQ>() : nullptr;
  return condition && !n->else_case && is_zero(condition->b) ? n->then_case : Stmt();
}

// ---- conditions

auto guard_moved(const Stmt& s, int64_t by) -> Stmt {
  const auto* n = s.as<IfThenElse>();
  const auto* less_than = n ? n->condition.as<LT>() : nullptr;
  auto bound = less_than ? as_int(less_than->b) : std::nullopt;
  if (!bound) { return {}; }
  return make<IfThenElse>(less(less_than->a, constant_int(less_than->b.dtype(), *bound + by)), n->then_case, n->else_case, n->origin);
}
auto guard_lost(const Stmt& s) -> Stmt {
  const auto* n = s.as<IfThenElse>();
  return n && !n->else_case && n->condition.as<LT>() ? n->then_case : Stmt();
}
auto loop_short(const Stmt& s) -> Stmt {
  const auto* n = s.as<For>();
  auto extent = n && n->for_kind != ForKind::ThreadBinding ? as_int(n->extent) : std::nullopt;
  return extent && *extent > 1 ? with_loop(*n, constant_int(n->extent.dtype(), *extent - 1), n->body) : Stmt();
}

// ---- indices

/// A store whose index takes other variables.
auto store_elsewhere(const Stmt& s, const VarMap& map) -> Stmt {
  const auto* n = s.as<BufferStore>();
  if (!n || map.empty()) { return {}; }
  Expr index = substitute(n->indices[0], map);
  return index.same_as(n->indices[0]) ? Stmt() : with_store(*n, n->value, Array<Expr>{index});
}
auto swapped(const Indices& indices, const char* one, const char* other) -> VarMap {
  auto a = indices.by_tag.find(one), b = indices.by_tag.find(other);
  if (a == indices.by_tag.end() || b == indices.by_tag.end()) { return {}; }
  return {{a->second.get(), Expr(b->second)}, {b->second.get(), Expr(a->second)}};
}
/// A constant distance, as between the elements of virtual threads.
auto distance_wrong(const Stmt& s) -> Stmt {
  const auto* n = s.as<BufferStore>();
  const auto* sum = n ? n->indices[0].as<Add>() : nullptr;
  auto distance = sum ? as_int(sum->b) : std::nullopt;
  if (!distance || *distance < 2) { return {}; }
  return with_store(*n, n->value, Array<Expr>{add(sum->a, constant_int(sum->b.dtype(), *distance - 1))});
}
auto stride_wrong(const Stmt& s) -> Stmt {
  const auto* n = s.as<BufferStore>();
  if (!n) { return {}; }
  ChangeOne change({}, [](const Expr& e) {
    const auto* product = e.as<Mul>();
    auto stride = product ? as_int(product->b) : std::nullopt;
    return stride && *stride > 1 ? mul(product->a, constant_int(product->b.dtype(), *stride - 1)) : Expr();
  }, 0);
  Expr index = change.mutate(n->indices[0]);
  return index.same_as(n->indices[0]) ? Stmt() : with_store(*n, n->value, Array<Expr>{index});
}

// ---- memory

auto shared_small(const Stmt& s) -> Stmt {
  const auto* n = s.as<Allocate>();
  auto size = n && n->extents.size() == 1 ? as_int(n->extents[0]) : std::nullopt;
  if (!size || *size < 2 || !scope_of(*n).starts_with("shared")) { return {}; }
  return with_allocation(*n, n->data, Array<Expr>{int_imm(*size / 2)}, n->body);
}
auto shared_aliased(const Stmt& s) -> Stmt {
  const auto* n = s.as<Allocate>();
  if (!n || !scope_of(*n).starts_with("shared")) { return {}; }
  const Allocate* inner = nullptr;
  post_order(n->body, [&](const Stmt& at) {
    const auto* a = at.as<Allocate>();
    bool fits = a && a->dtype == n->dtype && scope_of(*a).starts_with("shared") && as_int(a->extents[0]).value_or(-1) <= as_int(n->extents[0]).value_or(-2);
    if (fits) { inner = a; }
  }, [](const Expr&) {});
  return inner ? with_allocation(*n, n->data, n->extents, OtherMemory(inner->data.get(), n->data).mutate(n->body)) : Stmt();
}
auto shared_made_local(const Stmt& s) -> Stmt {
  const auto* n = s.as<Allocate>();
  return n && scope_of(*n) == "shared" ? in_scope(*n, "local") : Stmt();
}
auto local_made_shared(const Stmt& s) -> Stmt {
  const auto* n = s.as<Allocate>();
  return n && scope_of(*n) == "local" ? in_scope(*n, "shared") : Stmt();
}
auto accumulator_narrow(const Stmt& s) -> Stmt {
  const auto* n = s.as<BufferStore>();
  const auto* sum = n ? n->value.as<Add>() : nullptr;
  DataType t = n ? n->value.dtype() : DataType();
  if (!sum || t.bits < 32 || !t.is_scalar()) { return {}; }
  const DataType narrow = t.is_float() ? DataType::bfloat16() : DataType::int_(8);
  return with_store(*n, cast(t, cast(narrow, n->value)), n->indices);
}

// ---- asynchronous copies

auto call_lost(const Stmt& s, std::string_view op) -> Stmt { return is_call(s, op) ? no_op() : Stmt(); }
auto wait_for_fewer(const Stmt& s) -> Stmt {
  const Call* call = is_call(s, "ptx_wait_group");
  auto groups = call ? as_int(call->args[0]) : std::nullopt;
  return groups ? make<Evaluate>(with_arg(*call, 0, int_imm(*groups + 1))) : Stmt();
}

// ---- text

/// The match number `seed` of a pattern, replaced.
auto replaced(const std::string& text, const std::string& pattern, uint64_t seed, const std::function<std::string(const std::smatch&)>& replacement) -> std::string {
  const std::regex expression(pattern);
  std::vector<std::smatch> all(std::sregex_iterator(text.begin(), text.end(), expression), std::sregex_iterator());
  if (all.empty()) { return text; }
  const std::smatch& chosen = all[seed % all.size()];
  const auto begin = static_cast<size_t>(chosen.position()), length = static_cast<size_t>(chosen.length());
  return text.substr(0, begin) + replacement(chosen) + text.substr(begin + length);
}
auto number(const std::string& text) -> int64_t { return std::stoll(text); }

/// A read-only load of an element of a buffer that the kernel writes.
auto read_only_load(const std::string& text, uint64_t seed) -> std::string {
  std::vector<std::string> written;
  const std::regex parameter(R"([(,] ?\w+\* __restrict__ (\w+))");
  for (std::sregex_iterator at(text.begin(), text.end(), parameter), end; at != end; ++at) { written.push_back((*at)[1].str()); }
  std::vector<size_t> places;
  std::vector<size_t> ends;
  for (const std::string& name : written) {
    const std::string load = " = " + name + "[";
    for (size_t at = text.find(load); at != std::string::npos; at = text.find(load, at + 1)) {
      int depth = 0;
      size_t end = at + load.size() - 1;
      for (; end < text.size(); ++end) {
        depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
        if (depth == 0) { break; }
      }
      places.push_back(at + 3);
      ends.push_back(end + 1);
    }
  }
  if (places.empty()) { return text; }
  const size_t i = seed % places.size();
  return text.substr(0, places[i]) + "__ldg(&" + text.substr(places[i], ends[i] - places[i]) + ")" + text.substr(ends[i]);
}

// ---- the list

struct Fault {
  const char* name;
  std::function<Stmt(const Stmt&, const Indices&)> stmt = {};
  std::function<Expr(const Expr&)> expr = {};
  std::function<std::string(const std::string&, uint64_t)> text = {};
  std::function<runtime::LaunchSize(runtime::LaunchSize)> launch = {};
};
auto of_stmt(const char* name, Stmt (*change)(const Stmt&)) -> Fault { return {.name = name, .stmt = [change](const Stmt& s, const Indices&) { return change(s); }}; }

auto faults() -> const std::vector<Fault>& {
  static const std::vector<Fault> all = {
      of_stmt("kernel_barrier_removed", barrier_removed),
      of_stmt("kernel_barrier_of_iteration_lost", barrier_of_iteration_lost),
      of_stmt("kernel_barrier_out_of_loop", barrier_out_of_loop),
      of_stmt("kernel_barrier_late", barrier_late),
      {.name = "kernel_barrier_guarded", .stmt = barrier_guarded},
      {.name = "kernel_shuffle_width", .expr = [](const Expr& e) { return shuffle_changed(e, 3, [](int64_t w) { return w > 1 ? w / 2 : w; }); }},
      {.name = "kernel_shuffle_mask", .expr = [](const Expr& e) { return shuffle_changed(e, 0, [](int64_t) { return int64_t{0xffff}; }); }},
      {.name = "kernel_shuffle_distance", .expr = [](const Expr& e) { return shuffle_changed(e, 2, [](int64_t d) { return d + 1; }); }},
      {.name = "kernel_shuffle_up", .expr = shuffle_up},
      of_stmt("kernel_reduction_step_lost", reduction_step_lost),
      {.name = "kernel_init_of_part_lost", .stmt = [](const Stmt& s, const Indices&) { return init_lost(s, true); }},
      {.name = "kernel_init_of_result_lost", .stmt = [](const Stmt& s, const Indices&) { return init_lost(s, false); }},
      of_stmt("kernel_update_by_all", update_by_all),
      {.name = "kernel_guard_long", .stmt = [](const Stmt& s, const Indices&) { return guard_moved(s, 1); }},
      {.name = "kernel_guard_short", .stmt = [](const Stmt& s, const Indices&) { return guard_moved(s, -1); }},
      of_stmt("kernel_guard_lost", guard_lost),
      of_stmt("kernel_loop_short", loop_short),
      {.name = "kernel_block_and_thread_swapped", .stmt = [](const Stmt& s, const Indices& i) { return store_elsewhere(s, swapped(i, "blockIdx.x", "threadIdx.x")); }},
      {.name = "kernel_threads_swapped", .stmt = [](const Stmt& s, const Indices& i) { return store_elsewhere(s, swapped(i, "threadIdx.x", "threadIdx.y")); }},
      of_stmt("kernel_vthread_distance", distance_wrong),
      of_stmt("kernel_stride", stride_wrong),
      of_stmt("kernel_shared_small", shared_small),
      of_stmt("kernel_shared_aliased", shared_aliased),
      of_stmt("kernel_shared_made_local", shared_made_local),
      of_stmt("kernel_local_made_shared", local_made_shared),
      of_stmt("kernel_accumulator_narrow", accumulator_narrow),
      {.name = "kernel_commit_lost", .stmt = [](const Stmt& s, const Indices&) { return call_lost(s, "ptx_commit_group"); }},
      {.name = "kernel_wait_lost", .stmt = [](const Stmt& s, const Indices&) { return call_lost(s, "ptx_wait_group"); }},
      of_stmt("kernel_wait_for_fewer", wait_for_fewer),
      {.name = "text_barrier_removed", .text = [](const std::string& t, uint64_t seed) { return replaced(t, R"(__syncthreads\(\);)", seed, [](const std::smatch&) { return std::string(); }); }},
      {.name = "text_shuffle_width", .text = [](const std::string& t, uint64_t seed) {
         return replaced(t, R"((__shfl_down_sync\([^;]*, \d+, )(\d+)\))", seed, [](const std::smatch& m) { return fmt::format("{}{})", m[1].str(), std::max<int64_t>(1, number(m[2]) / 2)); });
       }},
      {.name = "text_shuffle_mask", .text = [](const std::string& t, uint64_t seed) { return replaced(t, "4294967295u", seed, [](const std::smatch&) { return std::string("65535u"); }); }},
      {.name = "text_shared_array_small", .text = [](const std::string& t, uint64_t seed) {
         return replaced(t, R"((__shared__ [^;\[]*\[)(\d+)\])", seed, [](const std::smatch& m) { return fmt::format("{}{}]", m[1].str(), std::max<int64_t>(1, number(m[2]) - 1)); });
       }},
      {.name = "text_vector_misaligned", .text = [](const std::string& t, uint64_t seed) {
         return replaced(t, R"(\*\((const )?\w+[248]\*\)&\w+\[)", seed, [](const std::smatch& m) { return m[0].str() + "1 + "; });
       }},
      {.name = "text_read_only_load", .text = read_only_load},
      {.name = "text_block_and_thread_swapped", .text = [](const std::string& t, uint64_t seed) {
         return replaced(t, R"(\(int\)(threadIdx|blockIdx)\.x)", seed, [](const std::smatch& m) { return m[1].str() == "threadIdx" ? std::string("(int)blockIdx.x") : std::string("(int)threadIdx.x"); });
       }},
      {.name = "text_loop_long", .text = [](const std::string& t, uint64_t seed) { return replaced(t, R"(< (\d+); \+\+)", seed, [](const std::smatch& m) { return "<= " + m[1].str() + "; ++"; }); }},
      {.name = "launch_block_short", .launch = [](runtime::LaunchSize size) { size.block[0] = std::max<uint64_t>(1, size.block[0] / 2); return size; }},
      {.name = "launch_grid_short", .launch = [](runtime::LaunchSize size) { size.grid[0] = std::max<uint64_t>(1, size.grid[0] - 1); return size; }},
  };
  return all;
}
auto planted() -> const Fault* {
  for (const Fault& fault : faults()) { if (is_planted(fault.name)) { return &fault; } }
  return nullptr;
}

}  // namespace

auto planted_in_kernels(const IRModule& kernels, uint64_t seed) -> IRModule {
  const Fault* fault = planted();
  if (!fault || (!fault->stmt && !fault->expr)) { return kernels; }
  PrimFunc func = kernels->find("main");
  const Indices indices = indices_of(func->body);
  ChangeStmt stmt;
  if (fault->stmt) { stmt = [&](const Stmt& s) { return fault->stmt(s, indices); }; }
  ChangeOne count(stmt, fault->expr, -1);
  (void)count.mutate(func->body);
  if (count.seen == 0) { return kernels; }
  ChangeOne change(stmt, fault->expr, static_cast<int64_t>(seed % static_cast<uint64_t>(count.seen)));
  return with_function(kernels, Name("main"), with_body(func, change.mutate(func->body)));
}

auto planted_in_text(const std::string& text, uint64_t seed) -> std::string {
  const Fault* fault = planted();
  return fault && fault->text ? fault->text(text, seed) : text;
}

auto planted_in_launch(const runtime::LaunchSize& size, uint64_t) -> runtime::LaunchSize {
  const Fault* fault = planted();
  return fault && fault->launch ? fault->launch(size) : size;
}

auto all_device_faults() -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const Fault& fault : faults()) { out.emplace_back(fault.name); }
  return out;
}

}  // namespace loopsmith::gate
