// Combiners and the order of updates: see reducers.h.
#include "schedule/reducers.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/index_map.h"

namespace loopsmith::schedule {
namespace {

auto reducers_for(const std::vector<Expr>& identities) -> std::vector<Reducer> {
  Reducer form;
  for (size_t i = 0; i < identities.size(); ++i) {
    form.lhs.push_back(var(Name(fmt::format("x{}", i)), identities[i].dtype()));
    form.rhs.push_back(var(Name(fmt::format("y{}", i)), identities[i].dtype()));
  }
  std::vector<Reducer> out;
  auto add_form = [&](std::vector<Expr> result, std::vector<Expr> identity) {
    Reducer r = form;
    r.result = std::move(result);
    r.identity = std::move(identity);
    out.push_back(std::move(r));
  };
  DataType t0 = identities[0].dtype();
  if (identities.size() == 1) {
    Expr x = form.lhs[0];
    Expr y = form.rhs[0];
    add_form({make<Add>(x, y)}, {zero(t0)});
    add_form({make<Mul>(x, y)}, {one(t0)});
    add_form({make<Min>(x, y)}, {max_value(t0)});
    add_form({make<Max>(x, y)}, {min_value(t0)});
  }
  if (identities.size() == 2) {
    DataType t1 = identities[1].dtype();
    Expr x0 = form.lhs[0], x1 = form.lhs[1], y0 = form.rhs[0], y1 = form.rhs[1];
    add_form({make<Add>(x0, y0), make<Add>(x1, y1)}, {zero(t0), zero(t1)});
    // argmax and argmin; ties go to the first value, or to the smaller index.
    Expr minus_one = constant_int(t0, -1);
    Expr ge = make<GE>(x1, y1), le = make<LE>(x1, y1);
    add_form({make<Select>(ge, x0, y0), make<Select>(ge, x1, y1)}, {minus_one, min_value(t1)});
    Expr tie = make<And>(Expr(make<EQ>(x1, y1)), Expr(make<LT>(x0, y0)));
    Expr gt = make<GT>(x1, y1), lt = make<LT>(x1, y1);
    add_form({make<Select>(Expr(make<Or>(gt, tie)), x0, y0), make<Select>(gt, x1, y1)}, {minus_one, min_value(t1)});
    add_form({make<Select>(le, x0, y0), make<Select>(le, x1, y1)}, {minus_one, max_value(t1)});
    add_form({make<Select>(Expr(make<Or>(lt, tie)), x0, y0), make<Select>(lt, x1, y1)}, {minus_one, max_value(t1)});
  }
  return out;
}

// Variables of the pattern match any expression, the same one at each occurrence.
auto matches(const Expr& pattern, const Expr& value, std::unordered_map<const VarNode*, Expr>& holes) -> bool {
  if (const VarNode* hole = pattern.as<VarNode>()) {
    auto [found, is_new] = holes.emplace(hole, value);
    return is_new || arith::deep_equal(found->second, value);
  }
  if (pattern.kind() != value.kind()) { return false; }
  if (const auto* p = pattern.as<Select>()) {
    const auto* v = value.as<Select>();
    return matches(p->condition, v->condition, holes) && matches(p->true_value, v->true_value, holes) && matches(p->false_value, v->false_value, holes);
  }
  if (const auto* p = pattern.as<IntImm>()) { return p->value == value.as<IntImm>()->value; }
  std::vector<Expr> parts, values;
  visit_children(pattern, [&](const Expr& e) { parts.push_back(e); });
  visit_children(value, [&](const Expr& e) { values.push_back(e); });
  if (parts.size() != values.size()) { return false; }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!matches(parts[i], values[i], holes)) { return false; }
  }
  return true;
}

}  // namespace

auto find_updates(const Block& block) -> std::optional<Updates> {
  std::vector<const BufferStore*> inits;
  if (const auto* store = block.init.as<BufferStore>()) {
    inits.push_back(store);
  } else if (const auto* all = block.init.as<SeqStmt>()) {
    for (const Stmt& item : all->seq) {
      inits.push_back(item.as<BufferStore>());
      if (!inits.back()) { return {}; }
    }
  } else {
    return {};
  }
  Updates out;
  if (const auto* store = block.body.as<BufferStore>()) {
    out.stores.push_back(store);
    out.values.push_back(store->value);
  } else {
    std::vector<const LetStmt*> lets;
    const Stmt* at = &block.body;
    while (const auto* let = at->as<LetStmt>()) {
      lets.push_back(let);
      at = &let->body;
    }
    if (lets.size() != inits.size()) { return {}; }
    std::vector<Stmt> items;
    if (const auto* all = at->as<SeqStmt>()) { items = all->seq.to_vector(); } else { items.push_back(*at); }
    if (items.size() != lets.size()) { return {}; }
    out.stores.assign(lets.size(), nullptr);
    for (const LetStmt* let : lets) { out.values.push_back(let->value); }
    for (const Stmt& item : items) {
      const auto* store = item.as<BufferStore>();
      const VarNode* stored = store ? store->value.as<VarNode>() : nullptr;
      if (!stored) { return {}; }
      auto let = std::find_if(lets.begin(), lets.end(), [&](const LetStmt* l) { return l->var.get() == stored; });
      if (let == lets.end()) { return {}; }
      size_t i = static_cast<size_t>(let - lets.begin());
      if (out.stores[i]) { return {}; }
      out.stores[i] = store;
    }
  }
  if (out.stores.size() != inits.size()) { return {}; }
  out.identities.resize(inits.size());
  arith::Analyzer analyzer;
  const BufferStore& first = *out.stores[0];
  for (const BufferStore* init : inits) {
    auto store = std::find_if(out.stores.begin(), out.stores.end(), [&](const BufferStore* s) { return s->buffer == init->buffer; });
    if (store == out.stores.end()) { return {}; }
    Expr& identity = out.identities[static_cast<size_t>(store - out.stores.begin())];
    if (identity || init->predicate || (*store)->predicate || init->indices.size() != first.indices.size() || (*store)->indices.size() != first.indices.size()) { return {}; }
    for (size_t d = 0; d < first.indices.size(); ++d) {
      if (!analyzer.can_prove_equal((*store)->buffer->shape[d], first.buffer->shape[d]) || !analyzer.can_prove_equal(init->indices[d], first.indices[d]) ||
          !analyzer.can_prove_equal((*store)->indices[d], first.indices[d])) {
        return {};
      }
    }
    identity = init->value;
  }
  return out;
}

auto match_reducer(const Updates& updates) -> std::optional<MatchedReducer> {
  if (updates.identities.empty()) { return {}; }
  for (Reducer& reducer : reducers_for(updates.identities)) {
    MatchedReducer out;
    bool is_match = true;
    std::unordered_map<const VarNode*, Expr> holes;
    for (size_t i = 0; is_match && i < reducer.identity.size(); ++i) {
      is_match = arith::deep_equal(reducer.identity[i], updates.identities[i]) && matches(reducer.result[i], updates.values[i], holes);
    }
    for (size_t i = 0; is_match && i < reducer.identity.size(); ++i) {
      const BufferStore& store = *updates.stores[i];
      auto left = holes.find(reducer.lhs[i].get());
      auto right = holes.find(reducer.rhs[i].get());
      is_match = left != holes.end() && right != holes.end() && arith::deep_equal(left->second, Expr(make<BufferLoad>(store.buffer, store.indices)));
      if (!is_match) { break; }
      out.lhs.push_back(left->second);
      out.rhs.push_back(right->second);
    }
    if (!is_match) { continue; }
    out.reducer = std::move(reducer);
    return out;
  }
  return {};
}

namespace {

auto writes_buffer(const Block& block, const Buffer& buffer) -> bool {
  return std::any_of(block.writes.begin(), block.writes.end(), [&](const BufferRegion& r) { return r.buffer == buffer; });
}

auto reads_written(const Expr& e, const Block& block) -> bool {
  bool found = false;
  post_order(e, [&](const Expr& x) {
    const auto* load = x.as<BufferLoad>();
    found |= load && writes_buffer(block, load->buffer);
  });
  return found;
}

// The value that is joined to the old element by an operation for which the order of values has no effect.
auto joined(const BufferStore& store) -> std::optional<Expr> {
  auto is_old = [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    if (!load || !(load->buffer == store.buffer) || load->indices.size() != store.indices.size()) { return false; }
    for (size_t i = 0; i < store.indices.size(); ++i) {
      if (!arith::deep_equal(load->indices[i], store.indices[i])) { return false; }
    }
    return true;
  };
  Expr a, b;
  switch (store.value.kind()) {
    case NodeKind::Add: a = store.value.as<Add>()->a; b = store.value.as<Add>()->b; break;
    case NodeKind::Mul: a = store.value.as<Mul>()->a; b = store.value.as<Mul>()->b; break;
    case NodeKind::Min: a = store.value.as<Min>()->a; b = store.value.as<Min>()->b; break;
    case NodeKind::Max: a = store.value.as<Max>()->a; b = store.value.as<Max>()->b; break;
    case NodeKind::And: a = store.value.as<And>()->a; b = store.value.as<And>()->b; break;
    case NodeKind::Or: a = store.value.as<Or>()->a; b = store.value.as<Or>()->b; break;
    case NodeKind::Sub:
      if (is_old(store.value.as<Sub>()->a)) { return store.value.as<Sub>()->b; }
      return {};
    case NodeKind::Call: {
      const auto& call = *store.value.as<Call>();
      static const Name names[] = {Name("bitwise_or"), Name("bitwise_and"), Name("bitwise_xor")};
      if (call.args.size() != 2 || std::none_of(std::begin(names), std::end(names), [&](Name n) { return call.op == n; })) { return {}; }
      a = call.args[0];
      b = call.args[1];
      break;
    }
    default: return {};
  }
  if (is_old(a)) { return b; }
  if (is_old(b)) { return a; }
  // (old + a) + b, as people write it.
  if (const auto* sum = a.as<Add>(); sum && store.value.kind() == NodeKind::Add) {
    if (is_old(sum->a)) { return sum->b + b; }
  }
  return {};
}

auto statement_commutes(const Stmt& stmt, const Block& block) -> bool {
  if (const auto* n = stmt.as<BufferStore>()) {
    auto value = joined(*n);
    bool is_clean = value && !reads_written(*value, block);
    for (const Expr& index : n->indices) { is_clean = is_clean && !reads_written(index, block); }
    return is_clean;
  }
  if (const auto* n = stmt.as<SeqStmt>()) {
    return std::all_of(n->seq.begin(), n->seq.end(), [&](const Stmt& s) { return statement_commutes(s, block); });
  }
  if (const auto* n = stmt.as<IfThenElse>()) {
    return !reads_written(n->condition, block) && statement_commutes(n->then_case, block) && (!n->else_case || statement_commutes(n->else_case, block));
  }
  if (const auto* n = stmt.as<For>()) { return statement_commutes(n->body, block); }
  if (const auto* n = stmt.as<BlockRealize>()) { return statement_commutes(n->block->body, block); }
  // Intrinsics are assumed to accumulate, as those of tensor units do.
  if (stmt.as<Evaluate>()) { return true; }
  return false;
}

}  // namespace

auto updates_commute(const Block& block) -> bool {
  if (statement_commutes(block.body, block)) { return true; }
  auto updates = find_updates(block);
  return updates && match_reducer(*updates);
}

auto instances_meet(const Block& block) -> bool {
  std::vector<std::pair<Buffer, Array<Expr>>> accesses;
  bool may_meet = false;
  auto access = [&](const Buffer& buffer, const Array<Expr>& indices) {
    if (may_meet || !writes_buffer(block, buffer)) { return; }
    for (const auto& [known, at] : accesses) {
      if (!(known == buffer)) { continue; }
      for (size_t i = 0; i < indices.size() && i < at.size(); ++i) {
        if (!arith::deep_equal(indices[i], at[i])) {
          may_meet = true;   // one buffer, several indices
          return;
        }
      }
      return;
    }
    accesses.emplace_back(buffer, indices);
  };
  post_order(block.body, [&](const Stmt& s) {
    if (const auto* store = s.as<BufferStore>()) { access(store->buffer, store->indices); }
    may_meet = may_meet || s.as<Block>();
  }, [&](const Expr& e) {
    if (const auto* load = e.as<BufferLoad>()) { access(load->buffer, load->indices); }
    if (const auto* var = e.as<VarNode>(); var && !may_meet) {
      for (const BufferRegion& write : block.writes) {
        if (write.buffer->data.get() == var) { may_meet = true; }   // a pointer
      }
    }
  });
  if (may_meet) { return true; }
  // Different spatial iter values must give different elements.
  std::vector<Var> spatial;
  std::vector<Expr> extents;
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind == IterKind::Reduction) { continue; }
    if (!is_zero(iter.dom.min)) { return true; }
    spatial.push_back(iter.var);
    extents.push_back(iter.dom.extent);
  }
  for (const auto& [buffer, indices] : accesses) {
    IndexMap map = make_index_map({.initial = spatial, .final = indices, .inverse = {}});
    arith::Analyzer analyzer;
    InverseResult inverse = inverse_with_padding(map, extents, analyzer);
    bool has_own = !spatial.empty() && is_injective(map, inverse.inverse ? inverse.inverse->map : IndexMap(), extents).value_or(false);
    if (!has_own && !spatial.empty()) { return true; }
  }
  return false;
}

}  // namespace loopsmith::schedule
