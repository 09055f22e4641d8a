// The walk over block instances: see instance_walk.h.
#include "schedule/facts/instance_walk.h"

#include <algorithm>

#include "ir/ops.h"

namespace loopsmith::schedule {

Around::Around(const FuncTree& func, const Place& from, const Place* stop, VarMap first) : first_(std::move(first)) {
  for (const Place* at = &from; at && at != stop; at = func.parent(*at)) { path_.insert(path_.begin(), at); }
}

auto Around::run(size_t depth, Valuation& values, int64_t& steps, int64_t& iterations, const std::function<bool(Valuation&)>& f) const -> bool {
  if (depth == path_.size()) { return ++steps <= most_steps && f(values); }
  size_t before = values.size();
  const Place& at = *path_[depth];
  if (at.is_loop()) {
    auto min = evaluate_integer(at.loop->min, values);
    auto extent = evaluate_integer(at.loop->extent, values);
    if (!min || !extent) { return false; }
    values.emplace_back(at.loop->var.get(), 0);
    const int64_t count = first_.contains(at.loop->var.get()) ? std::min<int64_t>(1, *extent) : *extent;
    for (int64_t i = 0; i < count; ++i) {
      if (++iterations > most_iterations || __builtin_add_overflow(*min, i, &values[before].second)) { return false; }
      if (!run_body(at.loop->body, depth, values, steps, iterations, f)) { return false; }
    }
    values.resize(before);
    return true;
  }
  const BlockRealize& realize = *at.realize;
  if (!is_one(realize.predicate)) {
    auto holds = evaluate_integer(realize.predicate, values);
    if (!holds) { return false; }
    if (*holds == 0) { return true; }
  }
  for (size_t i = 0; i < realize.iter_values.size(); ++i) {
    auto value = evaluate_integer(realize.iter_values[i], values);
    if (!value) { return false; }
    values.emplace_back(realize.block->iter_vars[i].var.get(), *value);
  }
  bool goes_on = run_body(realize.block->body, depth, values, steps, iterations, f);
  values.resize(before);
  return goes_on;
}

auto Around::run_body(const Stmt& body, size_t depth, Valuation& values, int64_t& steps, int64_t& iterations, const std::function<bool(Valuation&)>& f) const -> bool {
  if (!beside || depth + 1 == path_.size()) { return run(depth + 1, values, steps, iterations, f); }
  Stmt on_path = path_[depth + 1]->stmt();
  if (body.same_as(on_path)) { return run(depth + 1, values, steps, iterations, f); }
  const auto* seq = body.as<SeqStmt>();
  bool is_found = false;
  for (size_t i = 0; seq && i < seq->seq.size(); ++i) {
    bool is_path = seq->seq[i].same_as(on_path);
    is_found |= is_path;
    if (!(is_path ? run(depth + 1, values, steps, iterations, f) : beside(seq->seq[i], values))) { return false; }
  }
  return is_found;
}

auto is_too_much(const FuncTree& func, const Place& block) -> bool {
  int64_t count = 1;
  for (const Place* at = func.parent(block); at; at = func.parent(*at)) {
    auto extent = at->is_loop() ? as_int(at->loop->extent) : std::optional<int64_t>(1);
    if (extent && (__builtin_mul_overflow(count, std::max<int64_t>(*extent, 1), &count) || count > most_steps)) { return true; }
  }
  return false;
}

}  // namespace loopsmith::schedule
