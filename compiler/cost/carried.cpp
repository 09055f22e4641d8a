// Follows the iterations of a loop: see carried.h.
#include "cost/carried.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "arith/analyzer.h"
#include "cost/loop_facts.h"
#include "ir/evaluate.h"
#include "ir/follow.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"

namespace loopsmith::cost {
namespace {

constexpr int64_t parameter = 64;          // the assumed value of a symbolic size
constexpr int64_t most_iterations = 256;   // of the loop itself, if the budget does not cover all

/// The way to a loop: values of the variables around it, with loops at their first or middle iteration.
struct Path {
  NodeId wanted;
  bool is_middle;
  Valuation values = {};
  std::vector<const VarNode*> loops = {};
  const For* loop = nullptr;

  void find(const Stmt& stmt) {
    if (loop != nullptr) { return; }
    size_t before = values.size();
    if (const auto* here = stmt.as<For>()) {
      if (here->id == wanted) {
        loop = here;
        return;
      }
      int64_t at = evaluate_integer(here->min, values).value_or(0);
      if (is_middle) { at += evaluate_integer(here->extent, values).value_or(0) / 2; }
      values.emplace_back(here->var.get(), at);
      loops.push_back(here->var.get());
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      for (size_t i = 0; i < realize->iter_values.size(); ++i) {
        if (auto value = evaluate_integer(realize->iter_values[i], values)) { values.emplace_back(realize->block->iter_vars[i].var.get(), *value); }
      }
    }
    visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { find(child); });
    if (loop != nullptr) { return; }
    values.resize(before);
    if (stmt->kind == NodeKind::For) { loops.pop_back(); }
  }
};

/// The number of accesses of one run of a statement if no loop has more than `most` iterations.
auto accesses_in(const Stmt& stmt, int64_t most) -> double {
  double count = 0;
  auto add = [&](const Expr& expr) {
    post_order(expr, [&](const Expr& node) { count += node->kind == NodeKind::BufferLoad ? 1 : 0; });
  };
  visit_children(stmt, add, [&](const Stmt& child) { count += accesses_in(child, most); });
  if (stmt->kind == NodeKind::BufferStore) { count += 1; }
  if (const auto* loop = stmt.as<For>()) { count = 1 + count * static_cast<double>(std::min(most, std::max<int64_t>(as_int(loop->extent).value_or(parameter), 0))); }
  return count;
}

class Iterations : public Follower {
 public:
  using Pair = std::pair<const Array<Expr>*, const Array<Expr>*>;
  struct Met { Buffer buffer; Dependence::Kind kind; Pair accesses; int64_t least, most; };

  int64_t now = 0;
  int64_t most_inner = INT64_MAX;          // the limit of iterations for loops inside
  bool is_cut = false;
  std::vector<Met> met;
  std::unordered_map<const BufferNode*, int64_t> reuse;   // the smallest distance
  std::vector<Buffer> touched, unknown;
  std::set<const VarNode*> handed;

  /// Starts another path; the results so far are kept.
  void forget() { uses_.clear(); }

 protected:
  auto enter(const Stmt& stmt) -> bool override {
    const auto* loop = stmt.as<For>();
    if (loop == nullptr || is_shortened_) { return is_shortened_ = false, true; }
    auto extent = evaluate_integer(loop->extent, values);
    if (!extent || *extent <= most_inner) { return true; }
    is_cut = true;
    Stmt& shorter = shorter_[loop];
    if (!shorter) {
      shorter = make<For>(loop->var, loop->min, constant_int(loop->extent.dtype(), most_inner), loop->for_kind, loop->body, loop->thread, loop->annotations, loop->origin, loop->id);
    }
    is_shortened_ = true;
    (void)follow(shorter);
    return false;
  }
  void load(const Buffer& buffer, const Element& at) override {
    Use& use = note(buffer, at);
    if (use.writer >= 0 && use.writer < now) { meet(buffer, Dependence::Kind::Flow, use.write, now - use.writer); }
    auto same = std::find_if(use.readers.begin(), use.readers.end(), [&](const Reader& one) { return one.indices == indices; });
    if (same == use.readers.end()) { same = use.readers.insert(use.readers.end(), {indices}); }
    if (same->last != now) { same->before = std::exchange(same->last, now); }
  }
  void store(const Buffer& buffer, const Element& at, bool) override {
    if (indices == nullptr) { return; }
    Use& use = note(buffer, at);
    for (const Reader& reader : use.readers) {
      const int64_t earlier = reader.last < now ? reader.last : reader.before;
      if (earlier >= 0) { meet(buffer, Dependence::Kind::Anti, reader.indices, now - earlier); }
    }
    if (use.readers.empty() && use.writer >= 0 && use.writer < now) { meet(buffer, Dependence::Kind::Output, use.write, now - use.writer); }
    use.readers.clear();
    use.writer = now;
    use.write = indices;
  }
  void load_somewhere(const Buffer& buffer) override { somewhere(buffer); }
  void store_somewhere(const Buffer& buffer) override { somewhere(buffer); }
  void hand_out(const VarNode* data) override { handed.insert(data); }

 private:
  struct Reader {
    const Array<Expr>* indices;
    int64_t last = -1, before = -1;          // the last iteration that reads, and the last one before that
  };
  struct Use {
    int64_t last = -1, writer = -1;          // iterations
    const Array<Expr>* write = nullptr;
    std::vector<Reader> readers = {};        // since the last write
  };
  auto note(const Buffer& buffer, const Element& at) -> Use& {
    auto [uses, is_new] = uses_.try_emplace(buffer.get());
    if (is_new && std::find(touched.begin(), touched.end(), buffer) == touched.end()) { touched.push_back(buffer); }
    Use& use = uses->second[at];
    if (use.last >= 0 && use.last < now) {
      auto [least, is_first] = reuse.try_emplace(buffer.get(), now - use.last);
      least->second = std::min(least->second, now - use.last);
    }
    use.last = now;
    return use;
  }
  void meet(const Buffer& buffer, Dependence::Kind kind, const Array<Expr>* first, int64_t distance) {
    auto same = std::find_if(met.begin(), met.end(), [&](const Met& one) { return one.kind == kind && one.accesses == Pair(first, indices); });
    if (same == met.end()) {
      met.push_back({buffer, kind, {first, indices}, distance, distance});
    } else {
      same->least = std::min(same->least, distance);
      same->most = std::max(same->most, distance);
    }
  }
  void somewhere(const Buffer& buffer) {
    if (std::find(unknown.begin(), unknown.end(), buffer) == unknown.end()) { unknown.push_back(buffer); }
  }
  std::unordered_map<const BufferNode*, std::map<Element, Use>> uses_;
  std::unordered_map<const For*, Stmt> shorter_;
  bool is_shortened_ = false;
};

/// Adds the bindings of the iter vars of all blocks in a statement.
void add_bindings(const Stmt& stmt, VarMap& bindings) {
  if (const auto* realize = stmt.as<BlockRealize>()) {
    for (size_t i = 0; i < realize->iter_values.size(); ++i) { bindings.insert_or_assign(realize->block->iter_vars[i].var.get(), substitute(realize->iter_values[i], bindings)); }
  }
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { add_bindings(child, bindings); });
}

/// Adds the buffers that a statement allocates: each iteration has its own.
void add_made(const Stmt& stmt, std::vector<Buffer>& made) {
  if (const auto* block = stmt.as<Block>()) { made.insert(made.end(), block->alloc_buffers.begin(), block->alloc_buffers.end()); }
  if (const auto* declared = stmt.as<DeclBuffer>()) { made.push_back(declared->buffer); }
  if (const auto* realize = stmt.as<BlockRealize>()) { return add_made(Stmt(realize->block), made); }
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { add_made(child, made); });
}

/// True when a condition or extent in the statement depends on the loops around.
auto is_decided_around(const Stmt& stmt, const std::vector<const VarNode*>& around, const VarMap& bindings) -> bool {
  auto is_around = [&](const Expr& expr) {
    return uses_var(substitute(expr, bindings), [&](const VarNode& used) { return std::find(around.begin(), around.end(), &used) != around.end(); });
  };
  static const Name if_then_else_name("if_then_else");
  bool found = false;
  post_order(stmt, [&](const Stmt& one) {
    if (const auto* loop = one.as<For>()) { found = found || is_around(loop->min) || is_around(loop->extent); }
    if (const auto* branch = one.as<IfThenElse>()) { found = found || is_around(branch->condition); }
    if (const auto* realize = one.as<BlockRealize>()) { found = found || is_around(realize->predicate); }
  }, [&](const Expr& one) {
    if (const auto* call = one.as<Call>(); call != nullptr && call->op == if_then_else_name && !call->args.empty()) { found = found || is_around(call->args[0]); }
  });
  return found;
}

/// The ways to a loop that are followed.
struct Paths {
  std::vector<Path> all;
  bool is_alike = true;          // every iteration of the loops around is the same, so one way is enough
  bool has_parameters = false;   // the loop uses symbolic sizes, which have assumed values
  int64_t extent = 0;            // the largest of the loop, over all ways
};

/// None if the function lacks the loop, or the loop's bounds have no value.
auto paths_to(const PrimFunc& function, NodeId wanted, const LoopFacts& facts, const VarMap& bindings) -> std::optional<Paths> {
  Paths out;
  for (bool is_middle : {false, true}) {
    Path path{wanted, is_middle};
    for (const Var& param : function->params) {
      if (param->dtype.is_integral()) { path.values.emplace_back(param.get(), parameter); }
    }
    for (const auto& [param, buffer] : function->buffer_map) {
      for (const Expr& extent : buffer->shape) {
        if (const auto* var = extent.as<VarNode>()) { path.values.emplace_back(var, parameter); }
      }
    }
    Valuation parameters = path.values;
    path.find(function->body);
    if (path.loop == nullptr) { return std::nullopt; }
    Stmt whole{Ref<StmtNode>(path.loop)};
    if (is_middle) {
      out.is_alike = !is_decided_around(whole, path.loops, bindings) &&
                     std::all_of(facts.touches.begin(), facts.touches.end(), [](const Touch& touch) { return touch.is_moved_as_one; });
      if (out.is_alike) { break; }
    }
    post_order(whole, [](const Stmt&) {}, [&](const Expr& expr) {
      out.has_parameters = out.has_parameters || std::any_of(parameters.begin(), parameters.end(), [&](const auto& one) { return one.first == expr.get(); });
    });
    out.all.push_back(std::move(path));
  }
  const For& loop = *out.all.front().loop;
  for (const Path& path : out.all) {
    auto own = evaluate_integer(loop.extent, path.values);
    if (!own || !evaluate_integer(loop.min, path.values)) { return std::nullopt; }
    out.extent = std::max(out.extent, *own);
  }
  return out;
}

/// The number of iterations that a budget of accesses allows for a loop, and the limit for loops inside. If the budget does not cover all
/// iterations, some of them are followed, with inner loops cut as little as necessary.
struct Limits { int64_t iterations = 0, inner = INT64_MAX; };
auto limits_of(const For& loop, int64_t extent, int64_t most_accesses) -> Limits {
  auto budget = static_cast<double>(most_accesses);
  if (accesses_in(loop.body, INT64_MAX) * static_cast<double>(extent) <= budget) { return {extent, INT64_MAX}; }
  struct Try { int64_t iterations, inner_from, inner_to; };
  for (const Try& one : {Try{8, int64_t{1} << 20, 4}, Try{4, 4, 2}}) {
    int64_t some = std::min(extent, one.iterations);
    int64_t inner = one.inner_from;
    while (inner > one.inner_to && accesses_in(loop.body, inner) * static_cast<double>(some) > budget) { inner /= 2; }
    double each = accesses_in(loop.body, inner);
    if (each * static_cast<double>(some) > budget) { continue; }
    return {std::clamp(static_cast<int64_t>(budget / std::max(each, 1.0)), some, std::min(extent, most_iterations)), inner};
  }
  return {std::min<int64_t>(extent, 2), 2};
}

/// Follows the loop's iterations on every path. False if a statement could not be followed, or the steps are used up.
auto follow_all(const Paths& paths, int64_t iterations, int64_t most_accesses, Iterations& run, Carried& out) -> bool {
  const For& loop = *paths.all.front().loop;
  bool is_followed = true;
  for (const Path& path : paths.all) {
    int64_t min = evaluate_integer(loop.min, path.values).value_or(0);
    int64_t end = std::min(iterations, evaluate_integer(loop.extent, path.values).value_or(0));
    run.forget();
    run.steps_left = 4 * most_accesses;
    for (run.now = 0; run.now < end && run.steps_left >= 0; ++run.now) {
      run.values = path.values;
      run.values.emplace_back(loop.var.get(), min + run.now);
      is_followed = run.follow(loop.body) && run.steps_left >= 0 && is_followed;
    }
    out.followed = std::max(out.followed, run.now);
  }
  return is_followed;
}

auto contains(const std::vector<Buffer>& buffers, const Buffer& buffer) -> bool { return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end(); }

/// Buffers whose accesses are not all known: indices without a value, memory whose address is taken, memory with several buffers.
auto unknown_buffers(const Iterations& run, const std::vector<Buffer>& made) -> std::vector<Buffer> {
  std::vector<Buffer> out;
  for (const Buffer& buffer : run.unknown) {
    if (!contains(made, buffer)) { out.push_back(buffer); }
  }
  for (const Buffer& buffer : run.touched) {
    bool has_other = std::any_of(run.touched.begin(), run.touched.end(), [&](const Buffer& other) { return !other.same_as(buffer) && other->data.same_as(buffer->data); });
    if ((has_other || run.handed.contains(buffer->data.get())) && !contains(made, buffer)) { out.push_back(buffer); }
  }
  return out;
}

/// The dependences that were found, each pair of access texts once.
auto dependences_of(const Iterations& run, const std::vector<Buffer>& made, const VarMap& bindings) -> std::vector<Dependence> {
  std::vector<Dependence> out;
  arith::Analyzer analyzer;
  auto access_text = [&](const Buffer& buffer, const Array<Expr>& indices) {
    std::string text = buffer->name.str() + "[";
    for (size_t i = 0; i < indices.size(); ++i) { text += (i == 0 ? "" : ", ") + print_script(analyzer.simplify(substitute(indices[i], bindings))); }
    return text + "]";
  };
  for (const Iterations::Met& met : run.met) {
    if (contains(made, met.buffer)) { continue; }
    Dependence one{met.kind, met.buffer, access_text(met.buffer, *met.accesses.first), access_text(met.buffer, *met.accesses.second), met.least, met.most};
    auto same = std::find_if(out.begin(), out.end(), [&](const Dependence& d) { return d.kind == one.kind && d.first == one.first && d.second == one.second; });
    if (same == out.end()) {
      out.push_back(std::move(one));
    } else {
      same->least = std::min(same->least, one.least);
      same->most = std::max(same->most, one.most);
    }
  }
  return out;
}

/// True when a block of the statement has another name for a part of a buffer (match_buffer).
auto has_views(const Stmt& stmt) -> bool {
  bool found = false;
  post_order(stmt, [&](const Stmt& one) { found = found || (one->kind == NodeKind::Block && !one.as<Block>()->match_buffers.empty()); }, [](const Expr&) {});
  return found;
}

}  // namespace

auto carried_by(const PrimFunc& function, NodeId wanted, int64_t most_accesses) -> std::optional<Carried> {
  auto facts = loop_facts(function, wanted);
  if (!facts) { return std::nullopt; }
  VarMap bindings;
  add_bindings(function->body, bindings);
  auto paths = paths_to(function, wanted, *facts, bindings);
  if (!paths) { return std::nullopt; }
  const For& loop = *paths->all.front().loop;
  most_accesses /= static_cast<int64_t>(paths->all.size());
  Limits limits = limits_of(loop, paths->extent, most_accesses);
  Iterations run;
  run.most_inner = limits.inner;
  Carried out;
  bool is_followed = follow_all(*paths, limits.iterations, most_accesses, run, out);
  std::vector<Buffer> made;
  add_made(loop.body, made);
  out.unknown = unknown_buffers(run, made);
  out.is_whole = is_followed && paths->is_alike && !run.is_cut && out.followed == paths->extent && !paths->has_parameters;
  out.dependences = dependences_of(run, made, bindings);
  bool is_apart = !has_views(loop.body);
  for (const Touch& touch : facts->touches) {
    if (contains(made, touch.buffer)) { continue; }
    bool is_unknown = contains(out.unknown, touch.buffer);
    is_apart = is_apart && (!touch.is_written || (touch.is_apart && touch.is_moved_as_one && !is_unknown));
    if (is_unknown) { continue; }
    if (auto found = run.reuse.find(touch.buffer.get()); found != run.reuse.end()) {
      out.reuses.push_back({touch.buffer, found->second, bytes_of_iterations(function, wanted, found->second)});
    } else if (out.is_whole || touch.is_apart) {
      out.reuses.push_back({touch.buffer});
    }
  }
  out.is_none_proved = out.dependences.empty() && ((out.is_whole && out.unknown.empty()) || is_apart);
  return out;
}

}  // namespace loopsmith::cost
