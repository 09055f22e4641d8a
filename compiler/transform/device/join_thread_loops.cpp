// Joins loops over the same threads: see join_thread_loops.h.
#include "transform/device/join_thread_loops.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <vector>

#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"

namespace loopsmith::transform {
namespace {

// Accesses with more instances than this are not followed.
constexpr int64_t most_instances = 1 << 16;

/// Memory that is registers of a warp.
auto is_fragment(const Buffer& buffer) -> bool {
  const auto family = memory_family(buffer->scope().view());
  return family == MemoryFamily::WmmaA || family == MemoryFamily::WmmaB || family == MemoryFamily::WmmaAccumulator || family == MemoryFamily::MmaA ||
         family == MemoryFamily::MmaB || family == MemoryFamily::MmaC;
}

auto is_threads(const Stmt& stmt, Name tag) -> bool {
  const auto* loop = stmt.as<For>();
  return loop != nullptr && loop->thread && loop->thread->thread_tag == tag;
}

/// A region of a fragment that a block accesses.
struct Site {
  std::vector<Stmt> path;      // the statements around it, outermost first
  std::vector<Range> region;   // in terms of loops
  bool is_write = false;
};

/// Finds the accesses of each fragment by the innermost blocks.
class FindSites {
 public:
  std::vector<std::pair<const BufferNode*, std::vector<Site>>> fragments;   // in the order of their first access

  void walk(const Stmt& stmt) {
    path_.push_back(stmt);
    if (const auto* realize = stmt.as<BlockRealize>()) { enter(*realize); }
    visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { walk(child); });
    path_.pop_back();
  }

 private:
  void enter(const BlockRealize& realize) {
    const Block& block = *realize.block;
    for (size_t i = 0; i < realize.iter_values.size(); ++i) { bindings_.insert_or_assign(block.iter_vars[i].var.get(), substitute(realize.iter_values[i], bindings_)); }
    bool has_blocks = false;
    post_order(block.body, [&](const Stmt& s) { has_blocks = has_blocks || s.as<BlockRealize>() != nullptr; }, [](const Expr&) {});
    if (has_blocks) { return; }
    for (const BufferRegion& read : block.reads) { add(read, false); }
    for (const BufferRegion& write : block.writes) { add(write, true); }
  }
  void add(const BufferRegion& access, bool is_write) {
    if (!is_fragment(access.buffer)) { return; }
    Site site{path_, {}, is_write};
    for (const Range& range : access.region) { site.region.push_back({substitute(range.min, bindings_), substitute(range.extent, bindings_)}); }
    auto found = std::find_if(fragments.begin(), fragments.end(), [&](const auto& one) { return one.first == access.buffer.get(); });
    if (found == fragments.end()) { found = fragments.insert(fragments.end(), {access.buffer.get(), {}}); }
    found->second.push_back(std::move(site));
  }

  std::vector<Stmt> path_;
  VarMap bindings_;
};

/// The regions that each thread accesses, for the first or the last iteration of the loops around the threads.
using Regions = std::unordered_map<int64_t, std::set<std::vector<int64_t>>>;

/// Adds those of one access. False: they cannot be enumerated.
auto add_regions(const Site& site, const For* threads, bool is_last_outside, Regions& out) -> bool {
  std::vector<const For*> loops;
  bool is_inside = false;
  Valuation values;
  int64_t instances = 1;
  for (const Stmt& stmt : site.path) {
    const auto* loop = stmt.as<For>();
    if (loop == nullptr) { continue; }
    const auto min = as_int(loop->min), extent = as_int(loop->extent);
    if (!min || !extent || *extent < 1) { return false; }
    is_inside = is_inside || loop == threads;
    values.emplace_back(loop->var.get(), is_inside || !is_last_outside ? *min : *min + *extent - 1);
    if (!is_inside) { continue; }
    loops.push_back(loop);
    if (*extent > most_instances || (instances *= *extent) > most_instances) { return false; }
  }
  const size_t outside = values.size() - loops.size();
  for (int64_t n = 0; n < instances; ++n) {
    int64_t rest = n;
    for (size_t i = loops.size(); i-- > 0;) {
      const int64_t extent = *as_int(loops[i]->extent);
      values[outside + i].second = *as_int(loops[i]->min) + rest % extent;
      rest /= extent;
    }
    std::vector<int64_t> key;
    for (const Range& range : site.region) {
      const auto min = evaluate_integer(range.min, values), extent = evaluate_integer(range.extent, values);
      if (!min || !extent) { return false; }
      key.push_back(*min);
      key.push_back(*extent);
    }
    out[values[outside].second - *as_int(threads->min)].insert(std::move(key));
  }
  return true;
}

/// A statement whose parts are to be joined.
struct Place {
  const SeqStmt* sequence = nullptr;
  size_t first = 0, last = 0;             // the statements from the first access to the last, inclusive
  std::vector<const For*> loops;          // over the threads, around each access
};

/// True when every innermost block of a statement is in a loop over the dimension.
auto is_all_in_threads(const Stmt& stmt, Name tag) -> bool {
  if (is_threads(stmt, tag)) { return true; }
  if (stmt.as<BufferStore>() != nullptr || stmt.as<Evaluate>() != nullptr) { return false; }
  bool all = true;
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { all = all && is_all_in_threads(child, tag); });
  return all;
}

/// True when each thread reads only regions that it also writes.
auto is_own(const std::vector<Site>& sites, const std::vector<const For*>& loops) -> bool {
  for (bool is_last : {false, true}) {
    Regions written, read;
    for (size_t i = 0; i < sites.size(); ++i) {
      if (!add_regions(sites[i], loops[i], is_last, sites[i].is_write ? written : read)) { return false; }
    }
    for (const auto& [thread, regions] : read) {
      const auto& own = written[thread];
      if (!std::includes(own.begin(), own.end(), regions.begin(), regions.end())) { return false; }
    }
  }
  return true;
}

/// The sequence whose statements access a fragment in loops of their own over one dimension; none: no loops of it can be joined.
auto find_place(const std::vector<Site>& sites) -> std::optional<Place> {
  size_t common = sites.front().path.size();
  for (const Site& site : sites) {
    size_t same = 0;
    while (same < std::min(common, site.path.size()) && site.path[same].get() == sites.front().path[same].get()) { ++same; }
    common = same;
  }
  if (common == 0) { return {}; }
  const auto* sequence = sites.front().path[common - 1].as<SeqStmt>();
  if (sequence == nullptr) { return {}; }
  Place out{sequence, sequence->seq.size(), 0, {}};
  Name tag;
  for (const Site& site : sites) {
    const For* threads = nullptr;
    for (size_t i = common; i < site.path.size() && threads == nullptr; ++i) {
      const auto* loop = site.path[i].as<For>();
      const bool is_dimension = loop != nullptr && loop->thread && is_thread_axis(loop->thread->thread_tag.view()) && !is_one(loop->extent);
      if (is_dimension && (tag.empty() || loop->thread->thread_tag == tag)) { threads = loop; }
    }
    if (threads == nullptr || common >= site.path.size()) { return {}; }
    tag = threads->thread->thread_tag;
    if (!out.loops.empty() && as_int(threads->extent) != as_int(out.loops.front()->extent)) { return {}; }
    out.loops.push_back(threads);
    for (size_t i = 0; i < sequence->seq.size(); ++i) {
      if (sequence->seq[i].get() != site.path[common].get()) { continue; }
      out.first = std::min(out.first, i);
      out.last = std::max(out.last, i);
    }
  }
  const bool is_around = std::any_of(sites.front().path.begin(), sites.front().path.begin() + static_cast<std::ptrdiff_t>(common), [&](const Stmt& s) { return is_threads(s, tag); });
  if (is_around) { return {}; }
  for (size_t i = out.first; i <= out.last; ++i) {
    if (!is_all_in_threads(sequence->seq[i], tag)) { return {}; }
  }
  return is_own(sites, out.loops) ? std::optional(out) : std::nullopt;
}

/// Puts the statements of a place into one loop, and replaces the loops around its accesses by their bodies.
class Join : public Mutator {
 public:
  using Mutator::on;
  explicit Join(Place place) : place_(std::move(place)), model_(*place_.loops.front()), index_(make<VarNode>(model_.var->name, model_.var->dtype)) {}

  auto on(const SeqStmt& n) -> Stmt override {
    if (&n != place_.sequence) { return Mutator::on(n); }
    std::vector<Stmt> out, joined;
    for (size_t i = 0; i < n.seq.size(); ++i) {
      const bool is_part = i >= place_.first && i <= place_.last;
      (is_part ? joined : out).push_back(mutate(n.seq[i]));
      if (i != place_.last) { continue; }
      IterVar thread = *model_.thread;
      thread.var = index_;
      out.push_back(make<For>(index_, model_.min, model_.extent, ForKind::ThreadBinding, seq(std::move(joined), n.origin), thread, model_.annotations, model_.origin));
    }
    return seq(std::move(out), n.origin);
  }
  auto on(const For& n) -> Stmt override {
    if (std::find(place_.loops.begin(), place_.loops.end(), &n) == place_.loops.end()) { return Mutator::on(n); }
    Expr index = sub(add(Expr(index_), n.min), model_.min);
    return substitute(mutate(n.body), {{n.var.get(), index}});
  }

 private:
  Place place_;
  const For& model_;
  Var index_;
};

auto join(const PrimFunc& func) -> PrimFunc {
  PrimFunc out = func;
  // Each turn joins loops of one dimension.
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    FindSites find;
    find.walk(out->body);
    for (const auto& [buffer, sites] : find.fragments) {
      auto place = find_place(sites);
      if (!place) { continue; }
      out = with_body(out, Join(std::move(*place)).mutate(out->body));
      is_changed = true;
      break;
    }
  }
  return out;
}

}  // namespace

auto join_thread_loops(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return join(func); });
}

}  // namespace loopsmith::transform
