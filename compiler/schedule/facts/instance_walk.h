// Runs the loops and blocks around a place, block instance by block instance, with numbers as the values of variables. Used by the files that count instances.
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/evaluate.h"
#include "ir/follow.h"
#include "ir/ir.h"
#include "ir/visitor.h"
#include "schedule/func_tree.h"
#include "support/hash.h"

namespace loopsmith::schedule {

constexpr int64_t most_steps = 8192;          // the most instances that a walk visits
constexpr int64_t most_iterations = 64 * most_steps;   // iterations of the loops around; many of them may run no instance
constexpr int64_t most_elements = 1 << 20;    // elements of a buffer, or of domains together; each needs one bit

/// Runs the loops and blocks around a place, the outermost first. Loops take all values; loops in `first` take only their first value. A block runs where
/// its predicate holds.
class Around {
 public:
  Around(const FuncTree& func, const Place& from, const Place* stop, VarMap first = {});
  /// If set: called with each statement beside the loops and blocks around the place, in the order in which the statements run. Returns false to stop.
  std::function<bool(const Stmt&, Valuation&)> beside;

  /// Calls `f` for each instance; `f` returns false to stop. Returns false if stopped, or if some instance cannot be evaluated or exceeds the limits.
  auto run(Valuation& values, int64_t& steps, const std::function<bool(Valuation&)>& f) const -> bool {
    int64_t iterations = 0;
    return run(0, values, steps, iterations, f);
  }

 private:
  auto run(size_t depth, Valuation& values, int64_t& steps, int64_t& iterations, const std::function<bool(Valuation&)>& f) const -> bool;
  auto run_body(const Stmt& body, size_t depth, Valuation& values, int64_t& steps, int64_t& iterations, const std::function<bool(Valuation&)>& f) const -> bool;
  std::vector<const Place*> path_;
  VarMap first_;
};

/// True if the loops around a block run more instances than a walk visits. Callers then begin no walk.
[[nodiscard]] auto is_too_much(const FuncTree& func, const Place& block) -> bool;

/// An element of a buffer, or an instance of a block, as a key: the buffer or block, with the numbers. Look-ups need no copy of the numbers.
template <class Of>
struct Numbered {
  Of of{};
  Follower::Element at;
};
template <class Of>
struct NumberedHash {
  using is_transparent = void;
  auto operator()(const std::pair<Of, const Follower::Element*>& key) const -> size_t {
    uint64_t hash = std::hash<Of>()(key.first);
    for (int64_t i : *key.second) { hash = hash_combine(hash, static_cast<uint64_t>(i)); }
    return hash;
  }
  auto operator()(const Numbered<Of>& key) const -> size_t { return (*this)(std::pair<Of, const Follower::Element*>(key.of, &key.at)); }
};
template <class Of>
struct NumberedEqual {
  using is_transparent = void;
  auto operator()(const Numbered<Of>& a, const Numbered<Of>& b) const -> bool { return a.of == b.of && a.at == b.at; }
  auto operator()(const Numbered<Of>& a, const std::pair<Of, const Follower::Element*>& b) const -> bool { return a.of == b.first && a.at == *b.second; }
  auto operator()(const std::pair<Of, const Follower::Element*>& b, const Numbered<Of>& a) const -> bool { return a.of == b.first && a.at == *b.second; }
};
template <class Of, class T>
using NumberedMap = std::unordered_map<Numbered<Of>, T, NumberedHash<Of>, NumberedEqual<Of>>;

template <class Of, class T>
auto entry_of(NumberedMap<Of, T>& map, Of of, const Follower::Element& at, const T& fresh = {}) -> T& {
  auto found = map.find(std::pair<Of, const Follower::Element*>(of, &at));
  return found != map.end() ? found->second : map.emplace(Numbered<Of>{of, at}, fresh).first->second;
}

/// The innermost block that runs, and the number of its instance.
struct Running {
  NodeId block = 0;
  int64_t instance = 0;                        // the number of the instance, from the block and the values of its iter vars
  bool is_same_again = false;                  // the block would write the same values if it ran again

  void enter(const Block& next, const Valuation& values, int64_t now) {
    block = next.id;
    at_.clear();
    for (const IterVar& iter : next.iter_vars) { at_.push_back(evaluate_integer(iter.var, values).value_or(-1 - now)); }
    instance = entry_of(instances_, block, at_, static_cast<int64_t>(instances_.size()) + 1);
    auto known = same_again_.find(block);
    if (known == same_again_.end()) {
      bool reads_what_it_writes = std::any_of(next.writes.begin(), next.writes.end(), [&](const BufferRegion& write) {
        return std::any_of(next.reads.begin(), next.reads.end(), [&](const BufferRegion& read) { return read.buffer == write.buffer; });
      });
      known = same_again_.emplace(block, !next.init && !reads_what_it_writes).first;
    }
    is_same_again = known->second;
  }

 private:
  Follower::Element at_;
  NumberedMap<NodeId, int64_t> instances_;
  std::unordered_map<NodeId, bool> same_again_;
};

}  // namespace loopsmith::schedule
