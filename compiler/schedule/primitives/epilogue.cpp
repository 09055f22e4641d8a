// The primitive that merges the block behind a reduction into it: fuse_reduction_epilogue. The reduction begins with the value that the
// epilogue joins to the result, so that no work is left at its end. This file decides for which forms the result stays the same.
#include <algorithm>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "schedule/access_regions.h"
#include "schedule/block_classes.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/instances.h"
#include "schedule/facts/regions.h"
#include "schedule/func_tree.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"
#include "support/scoped_value.h"

namespace loopsmith::schedule::primitives {
namespace {

// ---- joining an element to others ----------------------------------------------------------------------

auto loads_of(const Expr& e, const Buffer& buffer) -> std::vector<const BufferLoad*> {
  std::vector<const BufferLoad*> out;
  post_order(e, [&](const Expr& part) {
    const auto* load = part.as<BufferLoad>();
    if (load && load->buffer->data == buffer->data) { out.push_back(load); }
  });
  return out;
}

// The operands of an operation (commutative, or a difference): the operand that loads the buffer, and the other one.
struct Operands { Expr with, other; };
auto operands_of(const Expr& e, const Buffer& buffer) -> std::optional<Operands> {
  const BinaryNode* n = nullptr;
  switch (e.kind()) {
    case NodeKind::Add: n = e.as<Add>(); break;
    case NodeKind::Sub: n = e.as<Sub>(); break;
    case NodeKind::Mul: n = e.as<Mul>(); break;
    case NodeKind::Min: n = e.as<Min>(); break;
    case NodeKind::Max: n = e.as<Max>(); break;
    default: return {};
  }
  if (!loads_of(n->a, buffer).empty()) { return Operands{n->a, n->b}; }
  // The load as the right operand of a difference changes its sign: not supported.
  if (e.kind() == NodeKind::Sub) { return {}; }
  return Operands{n->b, n->a};
}

// The operation, used one or more times, that joins the only load of a buffer to the rest of a value. Subtracting from the load counts as adding.
struct Joined {
  std::optional<NodeKind> by;                // none: the value is the load
  const BufferLoad* load = nullptr;
  Expr other_use;                            // a use of the value in another operation, if there is one
};
auto joined_to(const Expr& value, const Buffer& buffer, std::optional<NodeKind> by = {}) -> Joined {
  Joined out{by, nullptr, {}};
  Expr at = value;
  while (true) {
    out.load = at.as<BufferLoad>();
    if (out.load && out.load->buffer == buffer) { return out; }
    auto operands = operands_of(at, buffer);
    NodeKind kind = at.kind() == NodeKind::Sub ? NodeKind::Add : at.kind();
    if (!operands || (out.by && *out.by != kind)) {
      out.load = nullptr;
      out.other_use = at;
      return out;
    }
    out.by = kind;
    at = operands->with;
  }
}

auto result_of(NodeKind combiner) -> std::string_view {
  switch (combiner) {
    case NodeKind::Add: return "sum";
    case NodeKind::Mul: return "product";
    case NodeKind::Min: return "minimum";
    default: return "maximum";
  }
}
auto spelling_of(const Expr& e) -> std::string {
  switch (e.kind()) {
    case NodeKind::Add: return "+";
    case NodeKind::Sub: return "-";
    case NodeKind::Mul: return "*";
    case NodeKind::Div: return "/";
    case NodeKind::FloorDiv: return "//";
    case NodeKind::FloorMod: return "%";
    case NodeKind::Min: return "T.min";
    case NodeKind::Max: return "T.max";
    case NodeKind::Cast: return "T.Cast";
    case NodeKind::Select: return "T.Select";
    case NodeKind::Call: return fmt::format("T.{}", e.as<Call>()->op.view());
    default: return "another operation";
  }
}

// True for an identity: joining a value to it gives that value. The largest finite real is none, since there are infinities.
auto is_identity(const Expr& value, NodeKind combiner) -> bool {
  DataType type = value.dtype();
  switch (combiner) {
    case NodeKind::Add: return arith::deep_equal(value, zero(type));
    case NodeKind::Mul: return arith::deep_equal(value, one(type));
    case NodeKind::Min: return type.is_integral() && arith::deep_equal(value, max_value(type));
    case NodeKind::Max: return type.is_integral() && arith::deep_equal(value, min_value(type));
    default: return false;
  }
}

// Replaces the load of the buffer by `beginning`, and the iter vars in the rest of the value by `map`.
auto begin_with(const Expr& value, const Buffer& buffer, const Expr& beginning, const VarMap& map) -> Expr {
  const auto* load = value.as<BufferLoad>();
  if (load && load->buffer == buffer) { return beginning; }
  Operands operands = *operands_of(value, buffer);
  Expr with = begin_with(operands.with, buffer, beginning, map), other = substitute(operands.other, map);
  NodeKind by = value.kind();
  if (with.same_as(beginning) && by != NodeKind::Sub && is_identity(beginning, by)) { return other; }
  const auto* n = static_cast<const BinaryNode*>(value.get());
  const bool is_left = operands.with.same_as(n->a);
  Expr a = is_left ? with : other, b = is_left ? other : with;
  switch (by) {
    case NodeKind::Add: return make<Add>(a, b, value.origin());
    case NodeKind::Sub: return make<Sub>(a, b, value.origin());
    case NodeKind::Mul: return make<Mul>(a, b, value.origin());
    // The result of two constants is computed at once.
    case NodeKind::Min: return loopsmith::min(a, b, value.origin());
    default: return loopsmith::max(a, b, value.origin());
  }
}

// ---- other uses of a memory ----------------------------------------------------------------------------

// Uses of a memory in statements: by whole blocks, and between them.
class Uses : public Visitor {
 public:
  explicit Uses(const VarNode* data) : data_(data) {}
  using Visitor::visit;
  int loads = 0, stores = 0;
  bool is_opaque = false;                    // used as a pointer, or matched to another buffer
  bool is_loaded_between = false, is_stored_between = false;

 protected:
  using Visitor::on;
  void on(const VarNode& n) override { is_opaque |= &n == data_; }
  void on(const BufferLoad& n) override {
    if (n.buffer->data.get() == data_) {
      ++loads;
      is_loaded_between |= depth_ == 0;
    }
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    if (n.buffer->data.get() == data_) {
      ++stores;
      is_stored_between |= depth_ == 0;
    }
    Visitor::on(n);
  }
  void on(const Block& n) override {
    for (const MatchBufferRegion& match : n.match_buffers) { is_opaque |= match.source.buffer->data.get() == data_ || match.buffer->data.get() == data_; }
    ScopedValue<int> inside(depth_, depth_ + 1);
    Visitor::on(n);
  }

 private:
  const VarNode* data_;
  int depth_ = 0;
};
auto uses_of(const FuncState& func, const Place& scope, const Buffer& buffer) -> Uses {
  Uses out(buffer->data.get());
  if (func.has_plain_body(scope)) {
    for (const Place* place : func.mentioning(scope, buffer)) { out.visit(place->stmt()); }
  } else {
    out.visit(scope.block()->body);
  }
  return out;
}

auto touches(const Array<BufferRegion>& regions, const Buffer& buffer) -> bool {
  return std::any_of(regions.begin(), regions.end(), [&](const BufferRegion& r) { return r.buffer->data == buffer->data; });
}
auto touches(const Place& block, const Buffer& buffer) -> bool {
  if (touches(block.block()->reads, buffer) || touches(block.block()->writes, buffer)) { return true; }
  Uses uses(buffer->data.get());
  uses.visit(block.stmt());
  return uses.loads + uses.stores > 0 || uses.is_opaque;
}

// ---- the instances of both -----------------------------------------------------------------------------

auto iters_of(const Block& block, IterKind kind) -> std::vector<IterVar> {
  std::vector<IterVar> out;
  for (const IterVar& iter : block.iter_vars) { if (iter.kind == kind && !is_one(iter.dom.extent)) { out.push_back(iter); } }
  return out;
}
auto vars_of(const std::vector<IterVar>& iters) -> std::vector<const VarNode*> {
  std::vector<const VarNode*> out;
  for (const IterVar& iter : iters) { out.push_back(iter.var.get()); }
  return out;
}
auto find_iter(const std::vector<IterVar>& iters, const VarNode* var) -> const IterVar* {
  auto found = std::find_if(iters.begin(), iters.end(), [&](const IterVar& iter) { return iter.var.get() == var; });
  return found == iters.end() ? nullptr : &*found;
}
// Maps each iter var with a single value to this value.
auto units_of(const Block& block) -> VarMap {
  VarMap out;
  for (const IterVar& iter : block.iter_vars) { if (is_one(iter.dom.extent)) { out[iter.var.get()] = cast(iter.var->dtype, iter.dom.min); } }
  return out;
}
auto substituted(const Array<Expr>& indices, const VarMap& map, arith::Analyzer& analyzer) -> std::vector<Expr> {
  std::vector<Expr> out;
  for (const Expr& index : indices) { out.push_back(analyzer.simplify(substitute(index, map))); }
  return out;
}
auto domains_of(const std::vector<IterVar>& iters) -> Domains {
  Domains out;
  for (const IterVar& iter : iters) { out.emplace_back(iter.var, iter.dom); }
  return out;
}

// Pairs the iter vars of the first expression with those at the same positions of the second.
void pair_up(const Expr& read, const Expr& made, const std::vector<IterVar>& readers, const std::vector<IterVar>& makers, VarMap& map) {
  const auto* var = read.as<VarNode>();
  if (const IterVar* reader = var ? find_iter(readers, var) : nullptr) {
    const IterVar* maker = made.as<VarNode>() ? find_iter(makers, made.as<VarNode>()) : nullptr;
    if (maker) { map.emplace(reader->var.get(), cast(reader->var->dtype, Expr(maker->var))); }
    return;
  }
  if (read.kind() != made.kind()) { return; }
  std::vector<Expr> parts, others;
  visit_children(read, [&](const Expr& e) { parts.push_back(e); });
  visit_children(made, [&](const Expr& e) { others.push_back(e); });
  for (size_t i = 0; i < parts.size() && parts.size() == others.size(); ++i) { pair_up(parts[i], others[i], readers, makers, map); }
}

// True if instances that differ in these iter vars are proved to access different elements.
auto is_injective(const Block& block, const Array<Expr>& indices, const std::vector<IterVar>& iters) -> bool {
  std::vector<const VarNode*> seen;
  bool is_plain = true;
  for (const Expr& index : indices) {
    const auto* var = index.as<VarNode>();
    is_plain = is_plain && (var ? std::find(seen.begin(), seen.end(), var) == seen.end() : as_int(index).has_value());
    if (var) { seen.push_back(var); }
  }
  is_plain = is_plain && std::all_of(iters.begin(), iters.end(), [&](const IterVar& iter) { return std::find(seen.begin(), seen.end(), iter.var.get()) != seen.end(); });
  return is_plain || iters.empty() || is_one_to_one(block, indices.to_vector(), vars_of(iters));
}

// The block's iter vars in terms of the reduction's. Requires that each instance of the block reads the result of one element, and that one instance
// reads each element. None: this is not proved.
auto find_instances(const Block& epilogue, const Array<Expr>& read_at, const Block& reduction, const Array<Expr>& made_at) -> std::optional<VarMap> {
  const std::vector<IterVar> readers = iters_of(epilogue, IterKind::Spatial), makers = iters_of(reduction, IterKind::Spatial);
  if (read_at.size() != made_at.size() || !is_injective(reduction, made_at, makers)) { return {}; }
  arith::Analyzer analyzer;
  for (const IterVar& iter : makers) { analyzer.bind(iter.var, iter.dom); }
  const VarMap units = units_of(epilogue);
  const std::vector<Expr> read = substituted(read_at, units, analyzer), made = substituted(made_at, units_of(reduction), analyzer);
  auto reads_what_is_made = [&](const VarMap& map) {
    for (size_t i = 0; i < read.size(); ++i) { if (!analyzer.can_prove_equal(substitute(read[i], map), made[i])) { return false; } }
    return true;
  };
  auto with_units = [&](VarMap map) {
    // Corresponding iter vars keep their names.
    const VarMap others = units_of(reduction);
    for (size_t i = 0; i < read_at.size(); ++i) {
      const auto* reader = read_at[i].as<VarNode>();
      const auto* maker = made_at[i].as<VarNode>();
      auto unit = reader ? units.find(reader) : units.end();
      auto other = maker ? others.find(maker) : others.end();
      if (unit != units.end() && other != others.end() && arith::deep_equal(cast(maker->dtype, unit->second), other->second)) { map.emplace(reader, cast(reader->dtype, made_at[i])); }
    }
    map.insert(units.begin(), units.end());
    return map;
  };
  // The usual case: the two differ only in names.
  VarMap map;
  for (size_t i = 0; i < read.size(); ++i) { pair_up(read[i], made[i], readers, makers, map); }
  std::vector<const VarNode*> taken;
  for (const IterVar& reader : readers) {
    auto found = map.find(reader.var.get());
    const VarNode* var = nullptr;
    if (found != map.end()) { var = found->second.as<Cast>() ? found->second.as<Cast>()->value.as<VarNode>() : found->second.as<VarNode>(); }
    const IterVar* maker = var ? find_iter(makers, var) : nullptr;
    bool is_same = maker && std::find(taken.begin(), taken.end(), var) == taken.end() && analyzer.can_prove_equal(reader.dom.min, maker->dom.min) &&
                   analyzer.can_prove_equal(reader.dom.extent, maker->dom.extent);
    if (!is_same) { break; }
    taken.push_back(var);
  }
  if (taken.size() == readers.size() && taken.size() == makers.size() && reads_what_is_made(map)) { return with_units(std::move(map)); }
  // Otherwise they may differ in how they enumerate elements.
  arith::Analyzer plain;
  auto affine = arith::detect_iter_map(read, domains_of(readers), bool_imm(true), arith::IterMapLevel::Bijective, plain, false);
  if (affine.indices.empty() || !is_invertible(affine.indices)) { return {}; }
  VarMap back;
  for (auto& [var, value] : arith::inverse_affine_iter_map(affine.indices, made)) { back[var] = value; }
  int64_t count_read = 1, count_made = 1;
  std::vector<Expr> values;
  for (const IterVar& reader : readers) {
    auto found = back.find(reader.var.get());
    auto extent = as_int(reader.dom.extent);
    if (found == back.end() || !extent || __builtin_mul_overflow(count_read, *extent, &count_read)) { return {}; }
    Expr value = cast(reader.var->dtype, found->second);
    bool is_inside = analyzer.can_prove(greater_equal(value, reader.dom.min)) && analyzer.can_prove(less(value, reader.dom.min + reader.dom.extent));
    if (!is_inside) { return {}; }
    found->second = value;
    values.push_back(std::move(value));
  }
  for (const IterVar& maker : makers) {
    auto extent = as_int(maker.dom.extent);
    if (!extent || __builtin_mul_overflow(count_made, *extent, &count_made)) { return {}; }
  }
  if (count_read != count_made || !reads_what_is_made(back) || !tells_iterations_apart(values, domains_of(makers), bool_imm(true))) { return {}; }
  return with_units(std::move(back));
}

// True if a buffer lives outside of the block: a parameter, or an allocation or view of a block around it.
auto is_made_outside(const FuncState& func, const Place& scope, const Buffer& buffer) -> bool {
  for (const auto& [param, known] : func.func()->buffer_map) { if (known == buffer) { return true; } }
  for (const Place* at = &scope; at; at = func.scope(*at)) {
    if (func.allocates(*at, buffer)) { return true; }
    for (const MatchBufferRegion& match : at->block()->match_buffers) { if (match.buffer == buffer) { return true; } }
  }
  const Stmt* at = &scope.block()->body;
  while (true) {
    if (const auto* n = at->as<AllocateConst>()) {
      if (n->data == buffer->data) { return true; }
      at = &n->body;
    } else if (const auto* m = at->as<DeclBuffer>()) {
      if (m->buffer == buffer) { return true; }
      at = &m->body;
    } else {
      return false;
    }
  }
}

/// Lets a reduction begin with the value that the block behind it joins to the result, and removes that block.
///
///     for i, j, k in T.grid(32, 32, 32):         for i, j, k in T.grid(32, 32, 32):
///         with T.block("C"):                         with T.block("C"):
///             with T.init():                             with T.init():
///                 C[vi, vj] = 0.0            ==>             E[vi, vj] = D[vj]
///             C[vi, vj] += A[vi, vk] * B[vk, vj]         E[vi, vj] += A[vi, vk] * B[vk, vj]
///     for i, j in T.grid(32, 32):
///         with T.block("E"):
///             E[vi, vj] = C[vi, vj] + D[vj]
///
/// Needs  a stage pipeline; a reduction of one store, a sum, product, minimum or maximum, into a buffer that its scope allocates and
///        that only these two blocks use; a complete block of one store that reads each element once, when it is complete, and
///        joins a value to it by the same operation in the same type (or copies it); a value that exists before the reduction; no earlier
///        use of the output of that block.
/// Keeps  the accumulated values, in another order: the value that was joined last comes first. The buffer between the two stays allocated, as in TVM.
struct FuseReductionEpilogue {
  struct Args { BlockArg reduction_block, epilogue_block; };
  struct Plan {
    const Place* scope;
    const BufferStore* init;
    const BufferStore* update;
    const BufferStore* store;                // the epilogue's
    VarMap instances;                        // its iter vars in terms of the reduction's
    Rewrite::Change removal;
  };

  static auto refuse(const Context& cx, const Args& args, Code code, const Reason& why) -> Diagnostic {
    return note_block(note_block(cx.error(code).arg("epilogue", args.epilogue_block->name().view()).arg("block", args.reduction_block->name().view()).arg("reason", why.text()),
                                 *args.epilogue_block), *args.reduction_block);
  }

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const FuncState& func = *args.reduction_block.func;
    const Place& reduction = *args.reduction_block;
    const Place& epilogue = *args.epilogue_block;
    LOOPSMITH_TRY(scope, require_scope(cx, args.reduction_block));
    LOOPSMITH_TRY(other_scope, require_scope(cx, args.epilogue_block));
    if (scope != other_scope) { return refuse(cx, args, Code::EpilogueForm, because(Why::NotInOneBlock)); }
    LOOPSMITH_CHECK(require_stage_pipeline(cx, func, *scope));
    LOOPSMITH_CHECK(require_reduction(cx, func, reduction));
    LOOPSMITH_CHECK(require_complete(cx, func, epilogue));
    for (const Place* place : {&reduction, &epilogue}) {
      LOOPSMITH_CHECK(require_independent_loops(cx, func, *place));
      LOOPSMITH_CHECK(require_own_domains(cx, func, *place));
    }
    Plan plan{scope, reduction.block()->init.as<BufferStore>(), reduction.block()->body.as<BufferStore>(), epilogue.block()->body.as<BufferStore>(), {}, {}};
    LOOPSMITH_CHECK(check_stores(cx, args, plan));
    const Buffer& buffer = plan.update->buffer;
    if (!func.allocates(*scope, buffer)) {
      return note_block(cx.error(Code::OutputBlock).arg("block", reduction.name().view()).arg("buffer", buffer->name.view()), reduction);
    }
    LOOPSMITH_CHECK(check_combination(cx, args, plan));
    LOOPSMITH_CHECK(check_instances(cx, args, plan));
    LOOPSMITH_CHECK(check_shared_loops(cx, args));
    LOOPSMITH_CHECK(check_others(cx, args, plan));
    LOOPSMITH_TRY(removal, plan_removal(cx, func, epilogue));
    plan.removal = std::move(removal);
    return plan;
  }

  // Both blocks are single stores; their accesses are declared.
  static auto check_stores(const Context& cx, const Args& args, const Plan& plan) -> Status {
    const Place& reduction = *args.reduction_block;
    const Place& epilogue = *args.epilogue_block;
    for (const Place* place : {&reduction, &epilogue}) {
      const Block& block = *place->block();
      const BufferStore* store = place == &reduction ? plan.update : plan.store;
      bool is_single = store && !store->predicate && store->value.dtype() == store->buffer->dtype && block.match_buffers.empty() && block.alloc_buffers.empty();
      if (place == &reduction) { is_single = is_single && plan.init && !plan.init->predicate && plan.init->buffer == store->buffer; }
      if (!is_single || block.writes.size() != 1 || !(block.writes[0].buffer == store->buffer)) {
        return refuse(cx, args, Code::EpilogueForm, because(Why::BlockNotSingleStore).arg("block", place->name().view()));
      }
    }
    const Buffer& buffer = plan.update->buffer;
    arith::Analyzer analyzer;
    for (size_t i = 0; i < plan.update->indices.size(); ++i) {
      if (!analyzer.can_prove_equal(plan.init->indices[i], plan.update->indices[i])) {
        return refuse(cx, args, Code::EpilogueForm, because(Why::InitOfOtherElement).arg("block", reduction.name().view()));
      }
    }
    const std::vector<const BufferLoad*> updated = loads_of(plan.update->value, buffer);
    bool is_same_element = updated.size() == 1 && updated[0]->buffer == buffer;
    for (size_t i = 0; is_same_element && i < plan.update->indices.size(); ++i) { is_same_element = arith::deep_equal(updated[0]->indices[i], plan.update->indices[i]); }
    if (!is_same_element) { return refuse(cx, args, Code::EpilogueForm, because(Why::UpdateLoadsElement).arg("block", reduction.name().view())); }
    const size_t loads = loads_of(plan.store->value, buffer).size();
    if (loads == 0) { return refuse(cx, args, Code::EpilogueForm, because(Why::DoesNotRead).arg("block", epilogue.name().view()).arg("buffer", buffer->name.view())); }
    if (loads > 1) { return refuse(cx, args, Code::EpilogueForm, because(Why::ReadsSeveralTimes).arg("block", epilogue.name().view()).arg("buffer", buffer->name.view()).arg("times", loads)); }
    if (!region_of(epilogue.block()->reads, buffer)) {
      return refuse(cx, args, Code::EpilogueForm, because(Why::ReadsUndeclared).arg("block", epilogue.name().view()).arg("buffer", buffer->name.view()));
    }
    return ok();
  }

  // The epilogue's operation on the result can be applied to the initial value instead.
  static auto check_combination(const Context& cx, const Args& args, const Plan& plan) -> Status {
    const Place& reduction = *args.reduction_block;
    const Buffer& buffer = plan.update->buffer;
    const Buffer& result = plan.store->buffer;
    Joined update = joined_to(plan.update->value, buffer);
    Joined epilogue = joined_to(plan.store->value, buffer);
    bool is_copy = epilogue.load && !epilogue.by;
    if (!is_copy && (!update.by || !update.load)) {
      return refuse(cx, args, Code::EpilogueForm, because(Why::NotKnownReduction).arg("block", reduction.name().view()));
    }
    if (!is_copy) {
      epilogue = joined_to(plan.store->value, buffer, *update.by);
      if (!epilogue.load) {
        return refuse(cx, args, Code::EpilogueCombiner, because(Why::AppliesOther).arg("operation", spelling_of(epilogue.other_use)).arg("reduction", result_of(*update.by)));
      }
    }
    if (!(result->dtype == buffer->dtype)) {
      return refuse(cx, args, Code::EpilogueForm, because(Why::TypesOfElementsDiffer).arg("buffer", buffer->name.view()).arg("type", buffer->dtype.str())
                                                         .arg("other", result->name.view()).arg("found", result->dtype.str()));
    }
    return ok();
  }

  // Each element of the result is read once, and each read stores to a separate element.
  static auto check_instances(const Context& cx, const Args& args, Plan& plan) -> Status {
    const FuncState& func = *args.reduction_block.func;
    const Place& reduction = *args.reduction_block;
    const Place& epilogue = *args.epilogue_block;
    const Buffer& buffer = plan.update->buffer;
    const BufferLoad& load = *loads_of(plan.store->value, buffer).front();
    auto instances = load.buffer == buffer ? find_instances(*epilogue.block(), load.indices, *reduction.block(), plan.update->indices) : std::nullopt;
    if (!instances) {
      return refuse(cx, args, Code::EpilogueForm, because(Why::ReadsNotOnceEach).arg("block", epilogue.name().view()).arg("buffer", buffer->name.view()));
    }
    plan.instances = std::move(*instances);
    if (!is_injective(*epilogue.block(), plan.store->indices, iters_of(*epilogue.block(), IterKind::Spatial))) {
      return refuse(cx, args, Code::EpilogueForm, because(Why::InstancesOfShareElement).arg("block", epilogue.name().view()).arg("buffer", plan.store->buffer->name.view()));
    }
    for (const Place* place : {&reduction, &epilogue}) {
      std::vector<const VarNode*> spatial;
      for (const IterVar& iter : place->block()->iter_vars) { if (iter.kind == IterKind::Spatial) { spatial.push_back(iter.var.get()); } }
      for (const Place* at = place; at && at != plan.scope; at = func.parent(*at)) {
        if (!always_runs(func, *at)) { return refuse(cx, args, Code::EpilogueForm, because(Why::RunsUnderCondition).arg("block", place->name().view())); }
      }
      if (!runs_all_instances(func, *place, spatial)) {
        return refuse(cx, args, Code::EpilogueForm, because(Why::LoopsOfLeaveOut).arg("block", place->name().view()));
      }
    }
    if (!begins_reductions(func, reduction)) {
      return refuse(cx, args, Code::EpilogueForm, because(Why::RunsWithoutInit).arg("block", reduction.name().view()));
    }
    const VarNode* other = nullptr;
    auto is_other = [&](const VarNode& v) { return !plan.instances.contains(&v) && !v.dtype.is_handle() && !is_known_at(func, plan.scope, v) && (other = &v, true); };
    bool uses_other = uses_var(plan.store->value, is_other);
    for (const Expr& index : plan.store->indices) { uses_other = uses_other || uses_var(index, is_other); }
    if (uses_other) { return refuse(cx, args, Code::EpilogueForm, because(Why::VariableNotIndex).arg("variable", other->name.view())); }
    return ok();
  }

  // If iterations of a loop run both blocks, each iteration makes its own elements, and completes them.
  static auto check_shared_loops(const Context& cx, const Args& args) -> Status {
    const FuncState& func = *args.reduction_block.func;
    const Place& reduction = *args.reduction_block;
    const Place& epilogue = *args.epilogue_block;
    const BlockRealize& realize = *reduction.realize;
    std::vector<Expr> spatial;
    for (size_t i = 0; i < realize.iter_values.size(); ++i) {
      if (realize.block->iter_vars[i].kind == IterKind::Spatial) { spatial.push_back(realize.iter_values[i]); }
    }
    const Domains domains = loop_domains(func, reduction);
    for (const Place* loop : func.loops(reduction)) {
      auto is_this = [&](const VarNode& v) { return &v == loop->loop->var.get(); };
      bool reduces = false;
      for (size_t i = 0; i < realize.iter_values.size(); ++i) {
        reduces = reduces || (realize.block->iter_vars[i].kind != IterKind::Spatial && uses_var(realize.iter_values[i], is_this));
      }
      if (is_one(loop->loop->extent)) { continue; }
      auto thread = loop->loop->thread ? thread_axis(loop->loop->thread->thread_tag.view()) : std::nullopt;
      if (reduces && thread && thread->family == ThreadFamily::Thread) {
        return note_loop(refuse(cx, args, Code::EpilogueInterferes, because(Why::ThreadsReduceTogether).arg("loop", loop->name().view())), *loop);
      }
      if (!func.is_below(epilogue, *loop)) { continue; }
      if (reduces) {
        return note_loop(refuse(cx, args, Code::EpilogueInterferes, because(Why::ReadsIncomplete).arg("loop", loop->name().view())), *loop);
      }
      auto shares = counted_sharing(domains, loop->loop->var, spatial, realize.predicate);
      bool is_apart = shares ? !*shares : tells_iterations_apart(spatial, domains, realize.predicate, loop->loop->var.get(), /*by_all_digits=*/true);
      if (!is_apart) {
        return note_loop(refuse(cx, args, Code::EpilogueInterferes, because(Why::IterationsRepeat).arg("loop", loop->name().view())), *loop);
      }
    }
    return ok();
  }

  // No other block uses the buffer that is removed, and no conflicting access lies between the old and new positions of reads and writes.
  static auto check_others(const Context& cx, const Args& args, const Plan& plan) -> Status {
    const FuncState& func = *args.reduction_block.func;
    const Place& reduction = *args.reduction_block;
    const Place& epilogue = *args.epilogue_block;
    const Buffer& buffer = plan.update->buffer;
    const Buffer& result = plan.store->buffer;
    for (const Place* block : func.blocks_mentioning(*plan.scope, buffer)) {
      if (block == &reduction || block == &epilogue || !touches(*block, buffer)) { continue; }
      return note_block(refuse(cx, args, Code::EpilogueInterferes, because(Why::AlsoUsed).arg("block", block->name().view()).arg("buffer", buffer->name.view())), *block);
    }
    Uses of_buffer = uses_of(func, *plan.scope, buffer);
    bool is_only = !of_buffer.is_opaque && !of_buffer.is_loaded_between && !of_buffer.is_stored_between && of_buffer.loads == 2 && of_buffer.stores == 2;
    if (!is_only) { return refuse(cx, args, Code::EpilogueInterferes, because(Why::UsedElsewhere).arg("buffer", buffer->name.view())); }
    for (const Place* block : func.blocks_mentioning(*plan.scope, result)) {
      if (block->index >= epilogue.index || !touches(*block, result)) { continue; }
      return note_block(refuse(cx, args, Code::EpilogueInterferes, because(Why::UsedBefore).arg("block", block->name().view()).arg("buffer", result->name.view())), *block);
    }
    LOOPSMITH_CHECK(check_memory(cx, args, plan));
    // The values that the epilogue joins to the result must exist before the reduction, and must not change.
    std::vector<Buffer> read;
    const VarNode* pointer = nullptr;
    const Call* call = nullptr;
    auto look = [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      if (load && !(load->buffer == buffer) && std::find(read.begin(), read.end(), load->buffer) == read.end()) { read.push_back(load->buffer); }
      if (const auto* var = e.as<VarNode>(); var && var->dtype.is_handle()) { pointer = var; }
      if (const auto* n = e.as<Call>(); n && (n->op.view().starts_with("call_") || n->op.view().starts_with("tvm_"))) { call = n; }
    };
    post_order(plan.store->value, look);
    for (const Expr& index : plan.store->indices) { post_order(index, look); }
    if (pointer) { return refuse(cx, args, Code::EpilogueInterferes, because(Why::UsesPointer).arg("pointer", pointer->name.view())); }
    if (call) { return refuse(cx, args, Code::EpilogueInterferes, because(Why::CallInputsUnknown).arg("function", call->op.view())); }
    for (const Buffer& bias : read) {
      if (!is_made_outside(func, *plan.scope, bias)) { return refuse(cx, args, Code::EpilogueInterferes, because(Why::NotThere).arg("buffer", bias->name.view()).arg("block", reduction.name().view())); }
      Uses uses = uses_of(func, *plan.scope, bias);
      if (uses.is_stored_between) { return refuse(cx, args, Code::EpilogueInterferes, because(Why::WrittenOutsideBlocks).arg("buffer", bias->name.view())); }
      for (const Place* block : func.blocks_mentioning(*plan.scope, bias)) {
        // A write behind the epilogue would break the stage pipeline.
        if (block->index >= epilogue.index || !touches(block->block()->writes, bias) || FAULT(epilogue_bias_late)) { continue; }
        const Place* common = func.parent(*block);
        while (common && !func.is_below(reduction, *common)) { common = func.parent(*common); }
        if (block->index < reduction.index && common && func.is_below(epilogue, *common)) { continue; }
        return note_block(refuse(cx, args, Code::EpilogueInterferes, because(Why::NotAllWritten).arg("block", block->name().view()).arg("buffer", bias->name.view()).arg("reader", reduction.name().view())), *block);
      }
    }
    return ok();
  }

  // The reduction can write to the buffer of the epilogue.
  static auto check_memory(const Context& cx, const Args& args, const Plan& plan) -> Status {
    const FuncState& func = *args.reduction_block.func;
    const Buffer& buffer = plan.update->buffer;
    const Buffer& result = plan.store->buffer;
    Uses uses = uses_of(func, *plan.scope, result);
    if (uses.is_stored_between || uses.is_loaded_between || !is_made_outside(func, *plan.scope, result)) {
      return refuse(cx, args, Code::EpilogueInterferes, because(Why::NotVisible).arg("buffer", result->name.view()).arg("block", args.reduction_block->name().view()));
    }
    for (const MatchBufferRegion& match : plan.scope->block()->match_buffers) {
      if (match.buffer->data == result->data) { return refuse(cx, args, Code::EpilogueInterferes, because(Why::IsView).arg("buffer", result->name.view())); }
    }
    if (buffer->scope() == result->scope()) { return ok(); }
    auto from = memory_family(buffer->scope().view()), to = memory_family(result->scope().view());
    if (from && to && *to <= *from) { return ok(); }
    for (const BlockArg* block : {&args.reduction_block, &args.epilogue_block}) {
      for (const Place* at = func.parent(**block); at; at = func.parent(*at)) {
        if (!at->is_loop() || !at->loop->thread) { continue; }
        return note_loop(refuse(cx, args, Code::EpilogueInterferes, because(Why::FewerThreadsSee).arg("buffer", result->name.view()).arg("other", buffer->name.view())), *at);
      }
    }
    return ok();
  }

  // Rewrites the update for the epilogue's buffer and indices.
  class OfResult : public Mutator {
   public:
    OfResult(const Plan& plan, Array<Expr> indices) : plan_(plan), indices_(std::move(indices)) {}
    using Mutator::on;
    auto on(const BufferLoad& n) -> Expr override {
      return n.buffer == plan_.update->buffer ? make<BufferLoad>(plan_.store->buffer, indices_, n.origin) : Mutator::on(n);
    }

   private:
    const Plan& plan_;
    Array<Expr> indices_;
  };

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const Block& reduction = *args.reduction_block->block();
    const Block& epilogue = *args.epilogue_block->block();
    const Buffer& buffer = plan.update->buffer;
    auto here = [&](const BufferRegion& region) {
      std::vector<Range> ranges;
      for (const Range& range : region.region) { ranges.push_back(substitute(range, plan.instances)); }
      return BufferRegion{region.buffer, Array<Range>(std::move(ranges)), region.origin};
    };
    std::vector<Expr> at;
    for (const Expr& index : plan.store->indices) { at.push_back(substitute(index, plan.instances)); }
    const Array<Expr> indices(std::move(at));
    auto fields = reduction.fields();
    fields.init = make<BufferStore>(plan.store->buffer, begin_with(plan.store->value, buffer, plan.init->value, plan.instances), indices, cx.made_from(plan.init->origin));
    fields.body = make<BufferStore>(plan.store->buffer, OfResult(plan, indices).mutate(plan.update->value), indices, cx.made_from(plan.update->origin));
    fields.writes = std::vector<BufferRegion>{here(epilogue.writes[0])};
    std::vector<BufferRegion> reads;
    std::vector<size_t> both;                // buffers that the reduction reads too
    for (const BufferRegion& read : epilogue.reads) {
      if (read.buffer == buffer) { continue; }
      if (region_of(reduction.reads, read.buffer)) { both.push_back(reads.size()); }
      reads.push_back(here(read));
    }
    for (const BufferRegion& read : reduction.reads) {
      if (!(read.buffer == buffer) && !region_of(epilogue.reads, read.buffer)) { reads.push_back(read); }
    }
    fields.reads = reads;
    if (!both.empty()) {
      std::vector<Buffer> known;
      for (size_t i : both) { known.push_back(reads[i].buffer); }
      AccessRegions found = find_access_regions(*make<Block>(fields), known);
      const Array<BufferRegion> all(std::move(found.reads));
      for (size_t i : both) { if (const BufferRegion* region = region_of(all, reads[i].buffer)) { reads[i] = *region; } }
      fields.reads = reads;
    }
    Outcome out;
    out.func = args.reduction_block.func->name();
    out.rewrite.changes.push_back({args.reduction_block->id, make<Block>(std::move(fields), cx.made_from(reduction.origin), reduction.id)});
    out.rewrite.changes.push_back(plan.removal);
    return out;
  }
};

}  // namespace

const Primitive fuse_reduction_epilogue = primitive<FuseReductionEpilogue>("fuse_reduction_epilogue", "FuseReductionEpilogue", "moves an operation on the result of a reduction into its initial value",
    {Order::Changed, Hidden::MovesBlock})
    .moves_work()
    .input("reduction_block", &FuseReductionEpilogue::Args::reduction_block)
    .input("epilogue_block", &FuseReductionEpilogue::Args::epilogue_block).from(candidates::consumers_of_reduction)
    .example(examples::matmul_bias, "sch.fuse_reduction_epilogue(\"C\", \"E\")");

}  // namespace loopsmith::schedule::primitives
