// `te.create_prim_func`: makes a program of tensor expressions, with one block per computed tensor, and a loop and an axis per dimension. The
// program equals the one that TVM makes (tests compare it with create_primfunc.cc).
#include <algorithm>
#include <functional>
#include <unordered_set>

#include "frontend/lowerer.h"
#include "frontend/te/scan_parts.h"
#include "frontend/te/tensors.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::frontend::te {

namespace {

// Replaces the buffers of tensors by those of the program, and axes by those of a block.
class Place : public Mutator {
 public:
  const BufferMap* buffers = nullptr;
  const VarMap* vars = nullptr;
  using Mutator::on;
  auto on(const VarNode& node) -> Expr override {
    if (vars) {
      if (auto found = vars->find(&node); found != vars->end()) { return found->second; }
    }
    return self(node);
  }

 protected:
  auto use(const Buffer& buffer) -> Buffer override {
    auto found = buffers->find(buffer.get());
    return found == buffers->end() ? buffer : found->second;
  }
};

class ProgramMaker {
 public:
  ProgramMaker(Evaluator& e, Origin where) : evaluator_(e), where_(where) {}

  auto run(const Argument& args) -> PrimFunc;
  /// The operations of the program, with their blocks.
  [[nodiscard]] auto operations_made() -> std::vector<MadeOperation> { return std::move(made_); }

 private:
  struct Level {
    std::vector<std::pair<Var, Range>> loops;
    std::vector<IterVar> iters;
    std::vector<Expr> bindings, stores;
    VarMap map;
  };
  void order(const Ref<Operation>& op, std::vector<Ref<Operation>>& out);
  auto emit(const Ref<Operation>& op) -> bool;
  void emit_compute(const Operation& op, const std::vector<Buffer>& outputs, const std::vector<IterVar>& axes);
  void emit_extern(const Operation& op);
  void emit_scan(const Ref<Operation>& op);
  void share_steps(size_t first, Origin where);
  auto levels_of(const Operation& op, const std::vector<IterVar>& axes) -> std::vector<Level>;
  auto place(const Expr& x, const VarMap& vars) -> Expr {
    Place p;
    p.buffers = &buffers_;
    p.vars = &vars;
    return p.mutate(x);
  }
  auto fresh_name(std::string base) -> Name;
  auto is_argument(const Buffer& tensor) const -> bool { return arguments_.count(tensor.get()) > 0; }
  auto own_buffer(const Buffer& tensor) -> Buffer;
  auto block(const Level& level, Name name, Stmt body, Stmt init, const AttrMap& annotations, Origin where) -> Stmt;
  auto annotations_of(const Operation& op) -> AttrMap;

  Evaluator& evaluator_;
  Origin where_;
  std::unordered_set<const BufferNode*> arguments_;
  std::unordered_set<const Operation*> visited_;
  BufferMap buffers_;                        // from the buffer of a tensor to that of the program
  std::vector<Buffer> allocated_;
  std::vector<Stmt> stmts_;
  std::unordered_map<std::string, int> names_;
  std::unordered_set<int> layout_free_;
  std::vector<const BufferNode*> parameters_; // of the program, in order
  std::vector<MadeOperation> made_;
};

auto ProgramMaker::fresh_name(std::string base) -> Name {
  std::replace(base.begin(), base.end(), '.', '_');
  auto [it, is_new] = names_.emplace(base, 0);
  if (is_new) { return Name(base); }
  for (;;) {
    std::string next = base + "_" + std::to_string(++it->second);
    if (names_.emplace(next, 0).second) { return Name(next); }
    it = names_.find(base);
  }
}

void ProgramMaker::order(const Ref<Operation>& op, std::vector<Ref<Operation>>& out) {
  if (!visited_.insert(op.get()).second) { return; }
  for (const Ref<Operation>& input : op->inputs) { order(input, out); }
  out.push_back(op);
}

auto ProgramMaker::own_buffer(const Buffer& tensor) -> Buffer {
  Buffer mine = make_buffer(tensor->name, tensor->dtype, tensor->shape, "global", tensor->origin);
  buffers_[tensor.get()] = mine;
  if (!is_argument(tensor)) { allocated_.push_back(mine); }
  return mine;
}

// The axes in levels: the domains of a level depend only on axes of earlier levels.
auto ProgramMaker::levels_of(const Operation&, const std::vector<IterVar>& axes) -> std::vector<Level> {
  std::vector<int> depth(axes.size(), -1);
  std::function<int(size_t)> find = [&](size_t i) -> int {
    if (depth[i] >= 0) { return depth[i]; }
    depth[i] = 0;
    int deepest = 0;
    for (size_t j = 0; j < axes.size(); ++j) {
      auto uses = [&](const Expr& x) { return uses_var(simplified(x), [&](const VarNode& v) { return &v == axes[j].var.get(); }); };
      if (j != i && (uses(axes[i].dom.min) || uses(axes[i].dom.extent))) { deepest = std::max(deepest, find(j) + 1); }
    }
    return depth[i] = deepest;
  };
  int count = 1;
  for (size_t i = 0; i < axes.size(); ++i) { count = std::max(count, find(i) + 1); }
  std::vector<Level> levels(static_cast<size_t>(count));
  for (size_t l = 0; l < levels.size(); ++l) {
    Level& level = levels[l];
    for (size_t j = 0; j < axes.size(); ++j) {
      const IterVar& axis = axes[j];
      if (depth[j] > static_cast<int>(l)) { continue; }
      DataType t = DataType::int_(std::max<int>(axis.dom.min.dtype().bits, axis.dom.extent.dtype().bits));
      IterVar iter;
      iter.var = make<VarNode>(Name("v_" + axis.var->name.str()), t, axis.origin);
      iter.kind = axis.kind;
      iter.origin = axis.origin;
      Expr binding;
      if (depth[j] == static_cast<int>(l)) {
        Range dom = axis.dom;
        if (l > 0) { dom = {place(dom.min, levels[l - 1].map), place(dom.extent, levels[l - 1].map)}; }
        iter.dom = {simplified(cast(t, dom.min)), simplified(cast(t, dom.extent))};
        Var loop = make<VarNode>(axis.var->name, t, axis.origin);
        level.loops.emplace_back(loop, iter.dom);
        binding = loop;
      } else {
        binding = levels[l - 1].map.at(axis.var.get());
        iter.dom = {binding, one(t)};
      }
      if (iter.kind != IterKind::Reduction) { level.stores.emplace_back(iter.var); }
      level.map.emplace(axis.var.get(), Expr(iter.var));
      level.iters.push_back(std::move(iter));
      level.bindings.push_back(std::move(binding));
    }
  }
  if (Level& leaf = levels.back(); leaf.iters.empty()) {
    IterVar one_point;
    one_point.var = make<VarNode>(Name("vi"), DataType::int_(32), where_);
    one_point.dom = {int_imm(0), int_imm(1)};
    leaf.iters.push_back(std::move(one_point));
    leaf.bindings.push_back(int_imm(0));
  }
  return levels;
}

auto ProgramMaker::annotations_of(const Operation& op) -> AttrMap {
  static const Name layout_free("layout_free_placeholders");
  static const Name left_out[] = {"const_matrix", "auto_scheduler_simplify_const_tensor_indices", "workload"};
  std::vector<std::pair<Name, Attr>> out;
  for (const auto& [key, value] : op.attrs) {
    if (std::find(std::begin(left_out), std::end(left_out), key) != std::end(left_out)) { continue; }
    auto one = [&](const Value& v) -> std::optional<Attr> {
      if (const auto* t = v.as<TensorObject>()) {
        auto found = buffers_.find(t->buffer().get());
        if (found == buffers_.end()) { return {}; }
        return Attr(Expr(found->second->data));
      }
      return to_attr(evaluator_, {v, op.where, {}});
    };
    if (const auto* items = value.items()) {
      std::vector<Attr> list;
      for (const Value& item : *items) {
        if (const auto* t = key == layout_free ? item.as<TensorObject>() : nullptr) {
          auto found = buffers_.find(t->buffer().get());
          auto at = found == buffers_.end() ? parameters_.end() : std::find(parameters_.begin(), parameters_.end(), t->buffer().get());
          if (at != parameters_.end()) {
            layout_free_.insert(static_cast<int>(at - parameters_.begin()));
            continue;
          }
        }
        if (auto attr = one(item)) { list.push_back(std::move(*attr)); }
      }
      if (key == layout_free && list.empty()) { continue; }
      out.emplace_back(key, Attr(Array<Attr>(std::move(list))));
    } else if (auto attr = one(value)) {
      out.emplace_back(key, std::move(*attr));
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  return AttrMap(std::move(out));
}

auto ProgramMaker::block(const Level& level, Name name, Stmt body, Stmt init, const AttrMap& annotations, Origin where) -> Stmt {
  Block::Fields fields;
  fields.name = name;
  fields.iter_vars = level.iters;
  fields.body = std::move(body);
  fields.init = std::move(init);
  // Reads and writes are found when the program is complete.
  fields.annotations = with_attr(annotations, detect_access_key(), Attr(int_imm(3, DataType::int_(64))));
  return make<BlockRealize>(level.bindings, bool_imm(true, where), make<Block>(std::move(fields), where), where);
}

void ProgramMaker::emit_compute(const Operation& op, const std::vector<Buffer>& outputs, const std::vector<IterVar>& axes) {
  std::vector<Level> levels = levels_of(op, axes);
  Level leaf = levels.back();
  const auto* reduce = op.body[0].as<Reduce>();
  AttrMap annotations = annotations_of(op);
  auto init_of = [&](const Level& level) {
    std::vector<Stmt> out;
    for (size_t i = 0; i < outputs.size(); ++i) {
      out.push_back(make<BufferStore>(outputs[i], place(reduce->combiner->identity[i], level.map), level.stores, op.where));
    }
    return seq(std::move(out), op.where);
  };
  std::vector<Stmt> blocks;
  MadeOperation made{Ref<Operation>(&op), {}};
  auto note_block = [&](Name name) {
    // Blocks in blocks have loops that no schedule of tensor expressions has.
    if (levels.size() == 1) { made.blocks.push_back(name); }
    return name;
  };
  if (reduce) {
    VarMap sides;
    for (size_t i = 0; i < outputs.size(); ++i) {
      Expr left = make<BufferLoad>(outputs[i], leaf.stores, op.where);
      Expr right = simplified(place(reduce->source[i], leaf.map));
      sides.emplace(reduce->combiner->lhs[i].get(), std::move(left));
      sides.emplace(reduce->combiner->rhs[i].get(), std::move(right));
    }
    std::vector<Expr> values;
    for (const Expr& r : reduce->combiner->result) { values.push_back(place(substitute(r, sides), leaf.map)); }
    Stmt body;
    if (outputs.size() == 1) {
      body = make<BufferStore>(outputs[0], values[0], leaf.stores, op.where);
    } else {
      // All values are computed before the first is stored.
      std::vector<Var> temporaries;
      std::vector<Stmt> stores;
      for (size_t i = 0; i < outputs.size(); ++i) {
        temporaries.push_back(make<VarNode>(Name("v_" + outputs[i]->name.str()), outputs[i]->dtype, op.where));
        stores.push_back(make<BufferStore>(outputs[i], Expr(temporaries[i]), leaf.stores, op.where));
      }
      body = seq(std::move(stores), op.where);
      for (size_t i = outputs.size(); i-- > 0;) { body = make<LetStmt>(temporaries[i], values[i], std::move(body), op.where); }
    }
    blocks.push_back(block(leaf, note_block(fresh_name(op.name.str())), std::move(body), init_of(leaf), annotations, op.where));
    if (!(reduce->condition.as<IntImm>() && is_one(reduce->condition))) {
      VarMap at_loops;
      for (size_t i = 0; i < leaf.iters.size(); ++i) { at_loops.emplace(leaf.iters[i].var.get(), leaf.bindings[i]); }
      const auto* realize = blocks.back().as<BlockRealize>();
      blocks.back() = make<BlockRealize>(realize->iter_values, substitute(place(reduce->condition, leaf.map), at_loops), realize->block, realize->origin);
    }
  } else {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (i > 0) { leaf = levels_of(op, axes).back(); }
      // Later blocks in the same loops bind the variables of these loops.
      leaf.bindings = levels.back().bindings;
      Stmt store = make<BufferStore>(outputs[i], simplified(place(op.body[i], leaf.map)), leaf.stores, op.where);
      Name name = outputs.size() == 1 ? Name(op.name.str()) : outputs[i]->name;
      blocks.push_back(block(leaf, note_block(fresh_name(name.str())), std::move(store), {}, annotations, op.where));
    }
  }
  Stmt body = seq(std::move(blocks), op.where);
  for (size_t l = levels.size(); l-- > 0;) {
    const Level& level = levels[l];
    if (l + 1 < levels.size()) {
      bool reduces = reduce && std::any_of(level.iters.begin(), level.iters.end(), [](const IterVar& i) { return i.kind == IterKind::Reduction; });
      body = block(level, fresh_name(op.name.str() + "_l" + std::to_string(l + 1)), std::move(body), reduces ? init_of(level) : Stmt(), annotations, op.where);
    }
    for (size_t j = level.loops.size(); j-- > 0;) {
      const auto& [var, dom] = level.loops[j];
      body = make<For>(var, dom.min, dom.extent, ForKind::Serial, std::move(body), std::nullopt, AttrMap(), op.where);
    }
  }
  stmts_.push_back(std::move(body));
  made_.push_back(std::move(made));
}

void ProgramMaker::emit_extern(const Operation& op) {
  BufferMap map;
  VarMap vars;
  for (const auto& [tensor, used] : op.in_buffers) {
    const Buffer& mine = buffers_.at(tensor.get());
    map[used.get()] = mine;
    vars.emplace(used->data.get(), Expr(mine->data));
    if (const auto* offset = used->elem_offset ? used->elem_offset.as<VarNode>() : nullptr; offset && mine != used) {
      vars.emplace(offset, mine->elem_offset ? mine->elem_offset : int_imm(0));
    }
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    Buffer mine = op.out_buffers[i];
    if (!is_argument(op.outputs[i])) {
      BufferNode fields = *mine;
      if (const auto* offset = mine->elem_offset ? mine->elem_offset.as<VarNode>() : nullptr) { vars.emplace(offset, int_imm(0)); }
      fields.elem_offset = {};
      Buffer placed = make_buffer(std::move(fields));
      map[mine.get()] = placed;
      mine = placed;
      allocated_.push_back(mine);
    }
    buffers_[op.outputs[i].get()] = mine;
  }
  Place p;
  p.buffers = &map;
  p.vars = &vars;
  Block::Fields fields;
  fields.name = fresh_name(op.name.str());
  fields.body = p.mutate(op.statement);
  fields.alloc_buffers = std::vector<Buffer>(op.allocated);
  // A hybrid function may read all of its inputs, and write all of its outputs. TVM leaves both out for `te.extern`.
  if (op.is_hybrid) {
    std::vector<BufferRegion> reads, writes;
    for (const auto& [tensor, used] : op.in_buffers) { reads.push_back(full_region(buffers_.at(tensor.get()))); }
    for (const Buffer& output : op.outputs) { writes.push_back(full_region(buffers_.at(output.get()))); }
    fields.reads = std::move(reads);
    fields.writes = std::move(writes);
  }
  Ref<Block> made = make<Block>(std::move(fields), op.where);
  made_.push_back({Ref<Operation>(&op), {made->name}});
  stmts_.push_back(make<BlockRealize>(Array<Expr>{}, bool_imm(true, op.where), std::move(made), op.where));
}

// The state, the start and the updates are one buffer, written step by step. Operations between the states and the updates, and several updates, share the loop of the steps.
void ProgramMaker::emit_scan(const Ref<Operation>& op) {
  for (size_t i = 0; i < op->outputs.size(); ++i) {
    Buffer mine = own_buffer(op->outputs[i]);
    buffers_[op->state[i].get()] = buffers_[op->update[i]->outputs[0].get()] = mine;
  }
  for (size_t i = 0; i < op->outputs.size(); ++i) { emit_compute(*op->init[i], {buffers_.at(op->outputs[i].get())}, op->init[i]->axis); }
  const std::vector<Ref<Operation>> inner = scan_parts(op->init, op->update, op->state).inner;
  const size_t first = stmts_.size();
  for (const Ref<Operation>& one : inner) {
    const auto update = std::find(op->update.begin(), op->update.end(), one);
    const size_t number = update != op->update.end() ? static_cast<size_t>(update - op->update.begin()) : 0;
    std::vector<IterVar> axes = one->axis;
    Expr start = op->init[number]->outputs[0]->shape[0];
    axes[0].dom = {start, simplified(sub(axes[0].dom.extent, start))};
    if (update != op->update.end()) { axes[0].kind = IterKind::Scan; }
    axes.insert(axes.end(), one->reduce_axis.begin(), one->reduce_axis.end());
    std::vector<Buffer> outputs;
    for (const Buffer& b : one->outputs) { outputs.push_back(update != op->update.end() ? buffers_.at(b.get()) : own_buffer(b)); }
    emit_compute(*one, outputs, axes);
  }
  if (inner.size() > 1) { share_steps(first, op->where); }
  made_.push_back({op, {}});
}

// Gives the nests from a number on one outermost loop.
void ProgramMaker::share_steps(size_t first, Origin where) {
  const Stmt outermost = stmts_[first];
  const auto* steps = outermost.as<For>();
  std::vector<Stmt> bodies;
  for (size_t i = first; i < stmts_.size(); ++i) {
    const auto* one = stmts_[i].as<For>();
    bodies.push_back(i == first ? one->body : substitute(one->body, VarMap{{one->var.get(), Expr(steps->var)}}));
  }
  stmts_.resize(first);
  stmts_.push_back(make<For>(steps->var, steps->min, steps->extent, ForKind::Serial, seq(std::move(bodies), where), std::nullopt, AttrMap(), where));
}

auto ProgramMaker::emit(const Ref<Operation>& op) -> bool {
  switch (op->kind) {
    case Operation::Kind::Placeholder:
      if (!is_argument(op->outputs[0])) {
        evaluator_.report(error(Code::TensorNotListed, where_).arg("tensor", op->name.view())
                              .note(op->where, "it is declared here").remedy("add it to the list of `te.create_prim_func`"));
        return false;
      }
      if (!buffers_.count(op->outputs[0].get())) { (void)own_buffer(op->outputs[0]); }
      made_.push_back({op, {}});
      return true;
    case Operation::Kind::Compute: {
      std::vector<Buffer> outputs;
      for (const Buffer& b : op->outputs) { outputs.push_back(own_buffer(b)); }
      std::vector<IterVar> axes = op->axis;
      axes.insert(axes.end(), op->reduce_axis.begin(), op->reduce_axis.end());
      emit_compute(*op, outputs, axes);
      return true;
    }
    case Operation::Kind::Extern: emit_extern(*op); return true;
    case Operation::Kind::Scan: emit_scan(op); return true;
  }
  return true;
}

auto ProgramMaker::run(const Argument& args) -> PrimFunc {
  std::vector<Value> given{args.value};
  if (const auto* items = args.value.items()) { given = *items; }
  std::vector<Ref<Operation>> ordered;
  for (const Value& v : given) {
    if (const auto* t = v.as<TensorObject>()) {
      arguments_.insert(t->buffer().get());
      parameters_.push_back(t->buffer().get());
    } else {
      parameters_.push_back(nullptr);
      const auto* x = v.as<ExprObject>();
      if (!x || !x->expr.as<VarNode>()) {
        wrong_type(evaluator_, {v, args.where, {}}, "tensors and variables");
        return {};
      }
    }
  }
  for (const Value& v : given) {
    if (const auto* t = v.as<TensorObject>()) { order(t->op, ordered); }
  }
  // The program declares its parameters with the buffers that an extern statement declares for them.
  for (const Ref<Operation>& op : ordered) {
    for (const auto& [tensor, used] : op->in_buffers) {
      if (operations().count(tensor.get()) && operations().at(tensor.get())->kind == Operation::Kind::Placeholder) { buffers_.emplace(tensor.get(), used); }
    }
  }
  for (const Ref<Operation>& op : ordered) {
    if (!emit(op)) { return {}; }
  }
  PrimFuncNode node;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const Value& v : given) {
    if (const auto* t = v.as<TensorObject>()) {
      const Buffer& mine = buffers_.at(t->buffer().get());
      params.push_back(make<VarNode>(Name("var_" + t->buffer()->name.str()), DataType::handle(), where_));
      map.emplace_back(params.back(), mine);
    } else {
      params.emplace_back(v.as<ExprObject>()->expr.as<VarNode>());
    }
  }
  node.params = std::move(params);
  node.buffer_map = std::move(map);
  node.body = seq(std::move(stmts_), where_);
  static const Name noalias("tir.noalias"), layout_free("layout_free_buffers");
  node.attrs = AttrMap{{noalias, Attr(bool_imm(true))}};
  if (!layout_free_.empty()) {
    std::vector<int> sorted(layout_free_.begin(), layout_free_.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<Attr> list;
    for (int i : sorted) { list.emplace_back(int_imm(i)); }
    node.attrs = with_attr(node.attrs, layout_free, Attr(Array<Attr>(std::move(list))));
  }
  node.origin = where_;
  return complete(std::move(node), std::move(allocated_), evaluator_);
}

}  // namespace

auto scheduled_program(Evaluator& e, const std::vector<Ref<Operation>>& outputs, Origin where) -> std::optional<ScheduledProgram> {
  std::vector<Value> parameters;
  ScheduledProgram out;
  std::unordered_set<const Operation*> seen;
  std::function<void(const Ref<Operation>&)> find_placeholders = [&](const Ref<Operation>& op) {
    if (!seen.insert(op.get()).second) { return; }
    for (const auto& side : {op->inputs, op->init, op->update}) {
      for (const Ref<Operation>& input : side) { find_placeholders(input); }
    }
    if (op->kind != Operation::Kind::Placeholder) { return; }
    bool is_state = std::any_of(seen.begin(), seen.end(), [&](const Operation* other) { return std::find(other->state.begin(), other->state.end(), op->outputs[0]) != other->state.end(); });
    if (!is_state) { parameters.push_back(make_object<TensorObject>(op, 0)); }
  };
  for (const Ref<Operation>& op : outputs) { find_placeholders(op); }
  for (const Ref<Operation>& op : outputs) {
    for (size_t i = 0; op->kind != Operation::Kind::Placeholder && i < op->outputs.size(); ++i) { parameters.push_back(make_object<TensorObject>(op, i)); }
  }
  for (const Value& one : parameters) { out.parameters.push_back(one.as<TensorObject>()->buffer()); }
  size_t before = e.diagnostics.size();
  ProgramMaker maker(e, where);
  PrimFunc func = maker.run({Value::list(std::move(parameters)), where, {}});
  if (!func || e.diagnostics.size() > before) { return std::nullopt; }
  out.module = module_of(func);
  out.operations = maker.operations_made();
  return out;
}

auto create_prim_func(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"ops"}, {"index_dtype_override", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.create_prim_func", a, parameters, b)) { return b.unknown.is_unknown() ? b.unknown : Value::error(); }
  size_t before = e.diagnostics.size();
  PrimFunc func = ProgramMaker(e, a.call).run(b.values[0]);
  if (!func || e.diagnostics.size() > before) { return Value::error(); }
  if (is_given(b, 1)) {
    auto t = to_dtype(e, b.values[1]);
    if (!t) { return Value::error(); }
    if (*t == DataType::int_(64)) { func = with_wide_indices(func); }
  }
  return make_object<ProgramObject>(module_of(func), Name("main"), true, a.callee);
}

}  // namespace loopsmith::frontend::te
