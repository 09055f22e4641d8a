// The order in which instances of a block store to an element: see store_order.h.
#include "schedule/facts/store_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/equal.h"
#include "ir/visitor.h"
#include "schedule/facts/instance_walk.h"
#include "support/hash.h"

namespace loopsmith::schedule {
namespace {

using Answer = StoresMeet::Answer;
constexpr int64_t most_followed = 1 << 16;     // statements, iterations and accesses inside of all instances together

// Hashes the value of an expression as far as numbers for its variables decide it: integers by their value, loads by the element.
class ValueHash : public Visitor {
 public:
  explicit ValueHash(const Valuation& values) : values_(values) {}
  using Visitor::on;
  uint64_t hash = 0;
  void follow(const Expr& e) {
    if (auto number = e.dtype().is_int() ? evaluate_integer(e, values_) : std::nullopt) {
      add(static_cast<uint64_t>(*number));
      return;
    }
    add(static_cast<uint64_t>(e.kind()));
    if (const auto* load = e.as<BufferLoad>()) {
      add(std::hash<const void*>()(load->buffer.get()));
    } else if (const auto* var = e.as<VarNode>()) {
      add(std::hash<const void*>()(var));
    } else if (e.kind() == NodeKind::FloatImm || e.kind() == NodeKind::IntImm || e.kind() == NodeKind::StringImm) {
      add(structural_hash(e));
    } else if (const auto* call = e.as<Call>()) {
      add(std::hash<Name>()(call->op));
    }
    visit_children(e, [&](const Expr& child) { follow(child); });
  }

 private:
  void add(uint64_t part) { hash = hash_combine(hash, part); }
  const Valuation& values_;
};

// The facts about a block's body that decide how its stored values are compared.
struct Body {
  bool hides_values = false;                   // values pass through variables or memory of the instance: compares the iter vars
  bool is_reduction = false;
  std::unordered_set<const BufferNode*> own;   // buffers and views that each instance has to itself
  bool looks_up = false;                       // stores to an index that depends on the contents of a buffer
  bool is_apart = true;                        // by the indices alone: two instances that differ in an iter var that they use store to different elements

  explicit Body(const Block& block) : is_reduction(block.init) {
    std::vector<const BufferStore*> stores;
    std::unordered_set<const BufferNode*> stored, loaded;
    post_order(block.body, [&](const Stmt& stmt) {
      if (const auto* store = stmt.as<BufferStore>()) {
        stored.insert(store->buffer.get());
        stores.push_back(store);
      }
      if (const auto* inner = stmt.as<Block>()) { for (const Buffer& b : inner->alloc_buffers) { own.insert(b.get()); } }
      hides_values = hides_values || stmt.kind() == NodeKind::LetStmt || stmt.kind() == NodeKind::While;
    }, [&](const Expr& e) {
      if (const auto* load = e.as<BufferLoad>()) { loaded.insert(load->buffer.get()); }
      hides_values = hides_values || e.kind() == NodeKind::Let;
    });
    for (const Buffer& b : block.alloc_buffers) { own.insert(b.get()); }
    hides_values = hides_values || std::any_of(loaded.begin(), loaded.end(), [&](const BufferNode* b) { return stored.contains(b); });
    for (const IterVar& iter : block.iter_vars) { is_reduction = is_reduction || iter.kind != IterKind::Spatial; }
    for (const BufferStore* store : stores) {
      if (own.contains(store->buffer.get())) { continue; }
      for (const Expr& index : store->indices) { post_order(index, [&](const Expr& e) { looks_up = looks_up || e.kind() == NodeKind::BufferLoad; }); }
      for (const IterVar& iter : block.iter_vars) {
        bool is_index = std::any_of(store->indices.begin(), store->indices.end(), [&](const Expr& e) { return e.get() == iter.var.get(); });
        is_apart = is_apart && (is_index || iter.kind != IterKind::Spatial || is_one(iter.dom.extent));
      }
    }
  }
};

// A store of one instance.
struct Store {
  uint64_t value = 0;                          // equal for equal values
  int64_t iteration = 0;                       // of the loop in question
  Follower::Element instance;
  bool operator==(const Store& other) const { return value == other.value; }
};

// Collects the stores to each element, in order. Without `keeps_stores`: only finds out which elements several instances store to.
class StoresByElement : public Follower {
 public:
  StoresByElement(const Block& block, const Body& body) : block_(block), body_(body) { steps_left = most_followed; }
  struct At {
    int64_t instance = -1;                     // the last one
    bool has_several = false;
    bool is_uncertain = false;
    std::vector<Store> stores;
  };
  NumberedMap<const BufferNode*, At> elements;
  std::unordered_map<const BufferNode*, Buffer> buffers;
  bool is_known = true;
  bool keeps_stores = false;

  auto run(const Follower::Element& instance, int64_t iteration, const Valuation& loops) -> bool {
    instance_ = &instance;
    iteration_ = iteration;
    ++count_;
    values = loops;
    for (size_t i = 0; i < instance.size(); ++i) { values.emplace_back(block_.iter_vars[i].var.get(), instance[i]); }
    const int64_t before = steps_left;
    return follow(block_.body) && is_known && (steps_left < before || --steps_left > 0);
  }

 protected:
  auto enter(const Stmt& stmt) -> bool override {
    if (const auto* store = stmt.as<BufferStore>()) { store_ = store; }
    return true;
  }
  void store(const Buffer& buffer, const Element& at, bool certain) override {
    if (body_.own.contains(buffer.get())) { return; }
    buffers.emplace(buffer.get(), buffer);
    At& here = entry_of(elements, buffer.get(), at);
    here.has_several = here.has_several || (here.instance >= 0 && here.instance != count_);
    here.instance = count_;
    here.is_uncertain = here.is_uncertain || !certain || !is_whole;
    if (!keeps_stores) { return; }
    Store made{value(), iteration_, *instance_};
    if (here.stores.empty() || !(here.stores.back() == made)) { here.stores.push_back(std::move(made)); } else { here.stores.back() = std::move(made); }
  }
  void store_somewhere(const Buffer& buffer) override { is_known = is_known && body_.own.contains(buffer.get()); }
  void hand_out(const VarNode*) override { is_known = false; }

 private:
  [[nodiscard]] auto value() const -> uint64_t {
    if (!body_.hides_values && !body_.is_reduction && store_) {
      ValueHash hash(values);
      hash.follow(store_->value);
      return hash.hash;
    }
    uint64_t out = 0;
    for (size_t i = 0; i < instance_->size(); ++i) {
      const IterVar& iter = block_.iter_vars[i];
      if (iter.kind == IterKind::Spatial) { out = hash_combine(out, static_cast<uint64_t>((*instance_)[i])); }
    }
    return out;
  }
  const Block& block_;
  const Body& body_;
  const BufferStore* store_ = nullptr;
  const Follower::Element* instance_ = nullptr;
  int64_t iteration_ = 0, count_ = 0;
};

// Leaves one iteration of the loops that alone decide about an index of all stores: instances in different iterations store to different elements.
auto pinned(const Block& block, BlockLoops nest, const VarNode* of) -> BlockLoops {
  std::optional<std::unordered_set<const VarNode*>> indices;   // iter vars that are an index of every store, each at one dimension
  const BufferNode* buffer = nullptr;
  std::vector<const VarNode*> at;
  bool is_single = true;
  post_order(block.body, [&](const Stmt& stmt) {
    const auto* store = stmt.as<BufferStore>();
    if (!store) { return; }
    std::vector<const VarNode*> here;
    for (const Expr& e : store->indices) { here.push_back(e.as<VarNode>()); }
    is_single = is_single && (!buffer || (buffer == store->buffer.get() && at.size() == here.size()));
    if (!buffer) { at = here; }
    buffer = store->buffer.get();
    for (size_t i = 0; is_single && i < at.size(); ++i) { if (at[i] != here[i]) { at[i] = nullptr; } }
  }, [](const Expr&) {});
  if (!is_single || !buffer) { return nest; }
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (std::find(at.begin(), at.end(), block.iter_vars[i].var.get()) == at.end()) { continue; }
    const auto* loop = nest.iter_values[i].as<VarNode>();
    auto uses_loop = [&](const Expr& e) { return uses_var(e, [&](const VarNode& v) { return &v == loop; }); };
    bool is_elsewhere = !loop || loop == of || uses_loop(nest.predicate);
    for (size_t k = 0; !is_elsewhere && k < nest.iter_values.size(); ++k) { is_elsewhere = k != i && uses_loop(nest.iter_values[k]); }
    for (const auto& [var, range] : nest.loops) { is_elsewhere = is_elsewhere || uses_loop(range.min) || uses_loop(range.extent); }
    if (is_elsewhere) { continue; }
    for (auto& [var, range] : nest.loops) { if (var.get() == loop) { range.extent = one(range.extent.dtype()); } }
  }
  return nest;
}

// Runs a nest. False: some instance cannot be followed, or there are too many.
auto run_nest(StoresByElement& out, const BlockLoops& nest, const VarNode* of) -> bool {
  return each_instance(nest.loops, nest.iter_values, nest.predicate, [&](const Valuation& loops, const Follower::Element& instance) {
    int64_t iteration = 0;
    for (const auto& [var, value] : loops) { if (var == of) { iteration = value; } }
    return out.run(instance, iteration, loops);
  });
}

auto several_store(const StoresByElement& stores) -> bool {
  return std::any_of(stores.elements.begin(), stores.elements.end(), [](const auto& entry) { return entry.second.has_several; });
}

auto example(const StoresByElement& in, const Numbered<const BufferNode*>& key, const Store& first, const Store& second) -> StoresMeet {
  return {Answer::Differ, in.buffers.at(key.of), key.at, first.instance, second.instance};
}

}  // namespace

auto StoresMeet::text(const Block& block) const -> std::string {
  auto at = [&](const Follower::Element& instance) {
    std::string out;
    for (size_t i = 0; i < instance.size(); ++i) {
      // Leaves out the iter vars that make no difference, unless none does.
      if (first[i] == second[i] && first != second) { continue; }
      out += fmt::format("{}{}={}", out.empty() ? "" : ", ", block.iter_vars[i].var->name.view(), instance[i]);
    }
    return out;
  };
  const std::string place = fmt::format("`{}[{}]`", buffer->name.view(), fmt::join(element, ", "));
  if (is_read) { return fmt::format("`{}` at {} reads {}, which it stores at {}: their order would change", block.name.view(), at(first), place, at(second)); }
  return fmt::format("`{}[{}]` keeps the value that `{}` stores at {}; it would keep the one at {}", buffer->name.view(), fmt::join(element, ", "), block.name.view(), at(first), at(second));
}

namespace {

// The order of accesses to each element, by instance: the stores, and for each load the number of stores in front of it. Instances of a reduction with the same
// spatial values count as one.
class AccessOrder : public Follower {
 public:
  // Shared by the orders that are compared, so that an instance has the same number in both.
  struct Instances {
    std::map<Element, int> numbers;
    std::vector<Element> values;
  };
  AccessOrder(const Block& block, const Body& body, Instances& instances) : block_(block), body_(body), instances_(instances) { steps_left = most_followed; }
  struct At {
    std::vector<int> stores;
    std::vector<std::pair<int, size_t>> loads;
  };
  NumberedMap<const BufferNode*, At> elements;
  std::unordered_map<const BufferNode*, Buffer> buffers;

  auto run(const BlockLoops& nest) -> bool {
    return each_instance(nest.loops, nest.iter_values, nest.predicate, [&](const Valuation& loops, const Element& instance) {
      Element spatial;
      values = loops;
      for (size_t i = 0; i < instance.size(); ++i) {
        const IterVar& iter = block_.iter_vars[i];
        if (iter.kind == IterKind::Spatial) { spatial.push_back(instance[i]); }
        values.emplace_back(iter.var.get(), instance[i]);
      }
      auto [at, is_new] = instances_.numbers.try_emplace(spatial, static_cast<int>(instances_.values.size()));
      if (is_new) { instances_.values.push_back(instance); }
      now_ = at->second;
      return follow(block_.body) && is_known_ && --steps_left > 0;
    });
  }

 protected:
  void load(const Buffer& buffer, const Element& at) override {
    if (body_.own.contains(buffer.get())) { return; }
    At& here = entry_of(elements, buffer.get(), at);
    const std::pair load(now_, here.stores.size());
    if (here.loads.empty() || here.loads.back() != load) { here.loads.push_back(load); }
  }
  void store(const Buffer& buffer, const Element& at, bool) override {
    if (body_.own.contains(buffer.get())) { return; }
    buffers.emplace(buffer.get(), buffer);
    At& here = entry_of(elements, buffer.get(), at);
    if (here.stores.empty() || here.stores.back() != now_) { here.stores.push_back(now_); }
  }
  void load_somewhere(const Buffer& buffer) override { is_known_ = is_known_ && !buffers.contains(buffer.get()); }
  void store_somewhere(const Buffer& buffer) override { is_known_ = is_known_ && body_.own.contains(buffer.get()); }
  void hand_out(const VarNode*) override { is_known_ = false; }

 private:
  const Block& block_;
  const Body& body_;
  Instances& instances_;
  int now_ = 0;
  bool is_known_ = true;
};

// The first store that comes in front of a load in one order only.
auto moved_store(const AccessOrder::At& before, const AccessOrder::At& now, size_t count_before, size_t count_now) -> std::optional<int> {
  std::vector<int> a(before.stores.begin(), before.stores.begin() + static_cast<ptrdiff_t>(count_before)), b(now.stores.begin(), now.stores.begin() + static_cast<ptrdiff_t>(count_now));
  for (int store : a) { if (std::find(b.begin(), b.end(), store) == b.end()) { return store; } }
  for (int store : b) { if (std::find(a.begin(), a.end(), store) == a.end()) { return store; } }
  return {};
}

}  // namespace

auto reads_what_it_stores(const Block& block) -> bool {
  std::unordered_set<const BufferNode*> stored, loaded;
  post_order(block.body, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { stored.insert(store->buffer.get()); } },
             [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { loaded.insert(load->buffer.get()); } });
  return std::any_of(loaded.begin(), loaded.end(), [&](const BufferNode* b) { return stored.contains(b); });
}

auto changed_accesses(const Block& block, const BlockLoops& before, const BlockLoops& now) -> StoresMeet {
  const Body body(block);
  AccessOrder::Instances instances;
  AccessOrder old_order(block, body, instances), new_order(block, body, instances);
  if (!old_order.run(before) || !new_order.run(now)) { return {.answer = Answer::Unknown}; }
  for (auto& [key, at] : old_order.elements) {
    auto found = new_order.elements.find(key);
    if (at.stores.empty() || found == new_order.elements.end()) { continue; }
    AccessOrder::At& other = found->second;
    auto differ = [&](int first, int second, bool is_read) {
      return StoresMeet{Answer::Differ, old_order.buffers.at(key.of), key.at, instances.values[static_cast<size_t>(first)], instances.values[static_cast<size_t>(second)], is_read};
    };
    auto [mine, theirs] = std::mismatch(at.stores.begin(), at.stores.end(), other.stores.begin(), other.stores.end());
    if (mine != at.stores.end() && theirs != other.stores.end()) { return differ(at.stores.back(), other.stores.back() == at.stores.back() ? *theirs : other.stores.back(), false); }
    std::sort(at.loads.begin(), at.loads.end());
    std::sort(other.loads.begin(), other.loads.end());
    for (size_t i = 0; i < at.loads.size() && i < other.loads.size(); ++i) {
      if (at.loads[i] == other.loads[i] || at.loads[i].first != other.loads[i].first) { continue; }
      auto store = moved_store(at, other, at.loads[i].second, other.loads[i].second);
      if (store && *store != at.loads[i].first) { return differ(at.loads[i].first, *store, true); }
    }
  }
  return {};
}

auto stores_apart(const Block& block) -> bool {
  bool out = true;
  post_order(block.body, [&](const Stmt& stmt) {
    const auto* store = stmt.as<BufferStore>();
    if (!store) { return; }
    out = out && std::all_of(block.iter_vars.begin(), block.iter_vars.end(), [&](const IterVar& iter) {
      return iter.kind != IterKind::Spatial || is_one(iter.dom.extent) || std::any_of(store->indices.begin(), store->indices.end(), [&](const Expr& e) { return e.get() == iter.var.get(); });
    });
  }, [](const Expr&) {});
  return out;
}

auto changed_stores(const Block& block, const BlockLoops& before, const BlockLoops& now) -> StoresMeet {
  const Body body(block);
  if (body.is_apart) { return {}; }
  if (body.looks_up) { return {.answer = Answer::LooksUp}; }
  const BlockLoops old_nest = pinned(block, before, nullptr), new_nest = pinned(block, now, nullptr);
  StoresByElement any(block, body);
  if (!run_nest(any, old_nest, nullptr)) { return {.answer = Answer::Unknown}; }
  if (!several_store(any)) { return {}; }
  StoresByElement old_stores(block, body), new_stores(block, body);
  old_stores.keeps_stores = new_stores.keeps_stores = true;
  if (!run_nest(old_stores, old_nest, nullptr) || !run_nest(new_stores, new_nest, nullptr)) { return {.answer = Answer::Unknown}; }
  for (const auto& [key, at] : old_stores.elements) {
    auto found = new_stores.elements.find(key);
    if (found == new_stores.elements.end() || at.stores.empty() || found->second.stores.empty()) { continue; }
    const std::vector<Store>& other = found->second.stores;
    if (!(at.stores.back() == other.back())) { return example(old_stores, key, at.stores.back(), other.back()); }
    if (!at.is_uncertain && !body.is_reduction) { continue; }
    auto [mine, theirs] = std::mismatch(at.stores.begin(), at.stores.end(), other.begin(), other.end());
    if (mine != at.stores.end() && theirs != other.end()) { return example(old_stores, key, *mine, *theirs); }
  }
  return {};
}

auto meeting_stores(const Block& block, const BlockLoops& nest, const Var& of, const std::function<bool(const Buffer&)>& apart) -> StoresMeet {
  Body body(block);
  for (const BufferRegion& write : block.writes) { if (apart && apart(write.buffer)) { body.own.insert(write.buffer.get()); } }
  if (body.is_apart) { return {}; }
  if (body.looks_up) { return {.answer = Answer::LooksUp}; }
  const BlockLoops some = pinned(block, nest, of.get());
  StoresByElement any(block, body);
  if (!run_nest(any, some, of.get())) { return {.answer = Answer::Unknown}; }
  if (!several_store(any)) { return {}; }
  StoresByElement all(block, body);
  all.keeps_stores = true;
  if (!run_nest(all, some, of.get())) { return {.answer = Answer::Unknown}; }
  for (const auto& [key, at] : all.elements) {
    for (size_t i = 1; i < at.stores.size(); ++i) {
      const Store &first = at.stores[i - 1], &second = at.stores[i];
      if (first.iteration != second.iteration) { return example(all, key, first, second); }
    }
  }
  return {};
}

}  // namespace loopsmith::schedule
