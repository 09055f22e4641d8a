// `te.extern`, whose body is a statement of a script, and `te.scan`, a recurrence over time.
#include <algorithm>

#include "frontend/te/mistakes.h"
#include "frontend/te/scan_parts.h"
#include "frontend/te/tensors.h"
#include "ir/ops.h"
#include "support/codes.h"
#include "support/guards.h"

namespace loopsmith::frontend::te {

namespace {

auto tensor_list(Evaluator& e, const Argument& a, std::vector<Ref<TensorObject>>& out) -> bool {
  std::vector<Value> items = a.value.items_or_itself();
  for (const Value& v : items) {
    const auto* t = v.as<TensorObject>();
    if (!t) {
      wrong_type(e, {v, a.where, {}}, "a tensor");
      return false;
    }
    out.emplace_back(t);
  }
  return true;
}
auto buffer_list(Evaluator& e, const Argument& a, std::vector<Buffer>& out) -> bool {
  std::vector<Value> items = a.value.items_or_itself();
  for (const Value& v : items) {
    const auto* b = v.as<BufferObject>();
    if (!b) {
      wrong_type(e, {v, a.where, {}}, "a buffer");
      return false;
    }
    out.push_back(b->buffer);
  }
  return true;
}
// A buffer whose offset is known at run time, as those that `te.extern` declares for its statement.
auto offset_buffer(Name name, DataType t, Array<Expr> shape, Origin where) -> Buffer {
  Buffer plain = make_buffer(name, t, std::move(shape), "global", where);
  BufferNode fields = *plain;
  fields.elem_offset = make<VarNode>(Name("elem_offset"), DataType::int_(32), where);
  return make_buffer(std::move(fields));
}

auto mistakes() -> Diagnostics& {
  static thread_local Diagnostics found;
  return found;
}

// The statement that a function returns. Null: then `unknown` is the value of the call.
auto statement_of(Evaluator& e, const Argument& function, std::vector<Value> given, Name name, Value& unknown) -> Stmt {
  const bool is_lenient = e.is_lenient;
  Temporarily strict(e.is_lenient, false);
  WithoutReports found(e.diagnostics);
  Value result = e.call(function.value, std::move(given), function.where);
  Stmt out = result.is_unknown() ? Stmt() : to_statement(e, {result, place_of(function), {}}, "te.extern", name);
  unknown = result.is_opaque() || is_lenient ? Value::opaque() : Value::error();
  Diagnostics errors = found.take();
  std::for_each(errors.begin(), errors.end(), note_mistake);
  found.keep();
  if (!is_lenient) { e.diagnostics.insert(e.diagnostics.end(), std::make_move_iterator(errors.begin()), std::make_move_iterator(errors.end())); }
  return out;
}

}  // namespace

void note_mistake(const Diagnostic& mistake) {
  constexpr size_t most = 100;
  if (mistakes().size() < most) { mistakes().push_back(mistake); }
}
auto take_mistakes() -> Diagnostics { return std::exchange(mistakes(), {}); }

auto extern_op(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"shape"}, {"inputs"}, {"fcompute"}, {"name", false}, {"dtype", false},
                                                    {"in_buffers", false}, {"out_buffers", false}, {"tag", false}, {"attrs", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.extern", a, parameters, b)) { return Value::error(); }
  std::vector<Ref<TensorObject>> inputs;
  std::vector<Buffer> ins, outs, outputs;
  if (!tensor_list(e, b.values[1], inputs)) { return Value::error(); }
  if (is_given(b, 5) && !buffer_list(e, b.values[5], ins)) { return Value::error(); }
  if (is_given(b, 6) && !buffer_list(e, b.values[6], outs)) { return Value::error(); }
  std::vector<std::vector<Expr>> shapes;
  const auto* items = b.values[0].value.items();
  bool several = items && !items->empty() && std::all_of(items->begin(), items->end(), [](const Value& v) { return v.items() != nullptr; });
  for (const Value& one : several ? *items : std::vector<Value>{b.values[0].value}) {
    std::vector<Expr> shape;
    if (!to_shape(e, {one, b.values[0].where, {}}, shape)) { return Value::error(); }
    shapes.push_back(std::move(shape));
  }
  std::vector<DataType> types;
  if (is_given(b, 4)) {
    std::vector<Value> given{b.values[4].value};
    if (const auto* list = b.values[4].value.items()) { given = *list; }
    for (const Value& v : given) {
      auto t = to_dtype(e, {v, b.values[4].where, {}});
      if (!t) { return Value::error(); }
      types.push_back(*t);
    }
  } else {
    for (const Ref<TensorObject>& t : inputs) {
      if (!(t->buffer()->dtype == inputs[0]->buffer()->dtype)) { types.clear(); break; }
      types.assign(shapes.size(), t->buffer()->dtype);
    }
  }
  if (types.size() != shapes.size()) { return e.report(wrong_count("te.extern", shapes.size(), "types of outputs", types.size(), a.call).remedy("give the type of each output: `dtype=[...]`")); }
  Name name(text_of(b, 3, "extern"));
  if (ins.empty()) {
    for (const Ref<TensorObject>& t : inputs) { ins.push_back(offset_buffer(t->op->name, t->buffer()->dtype, t->buffer()->shape, a.call)); }
  }
  if (outs.empty()) {
    for (size_t i = 0; i < shapes.size(); ++i) { outs.push_back(offset_buffer(name, types[i], shapes[i], a.call)); }
  }
  if (ins.size() != inputs.size() || outs.size() != shapes.size()) {
    bool is_input = ins.size() != inputs.size();
    return e.report(wrong_count("te.extern", is_input ? inputs.size() : shapes.size(), is_input ? "buffers of inputs" : "buffers of outputs", is_input ? ins.size() : outs.size(), a.call));
  }
  auto values = [](const std::vector<Buffer>& of) {
    std::vector<Value> out;
    for (const Buffer& x : of) { out.push_back(make_object<BufferObject>(x)); }
    return Value::list(std::move(out));
  };
  Value unknown;
  Stmt statement = statement_of(e, b.values[2], {values(ins), values(outs)}, name, unknown);
  if (!statement) { return unknown; }
  for (size_t i = 0; i < shapes.size(); ++i) {
    outputs.push_back(make_buffer(Name(shapes.size() == 1 ? name.str() : name.str() + "_v" + std::to_string(i)), types[i], shapes[i], "global", a.call));
  }
  Ref<Operation> op = make_object<Operation>(Operation::Kind::Extern, name, std::move(outputs), a.call);
  auto& fields = const_cast<Operation&>(*op);
  for (size_t i = 0; i < inputs.size(); ++i) {
    fields.in_buffers.emplace_back(inputs[i]->buffer(), ins[i]);
    if (std::find(fields.inputs.begin(), fields.inputs.end(), inputs[i]->op) == fields.inputs.end()) { fields.inputs.push_back(inputs[i]->op); }
  }
  fields.out_buffers = std::move(outs);
  fields.statement = std::move(statement);
  fields.tag = tag_of(e, b, 7);
  if (!set_depth(e, fields)) { return Value::error(); }
  return tensors_of(op);
}

auto scan(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"init"}, {"update"}, {"state_placeholder"}, {"inputs", false}, {"name", false}, {"tag", false}, {"attrs", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.scan", a, parameters, b)) { return Value::error(); }
  std::vector<Ref<TensorObject>> init, update, state;
  if (!tensor_list(e, b.values[0], init) || !tensor_list(e, b.values[1], update) || !tensor_list(e, b.values[2], state)) { return Value::error(); }
  if (init.size() != update.size() || init.size() != state.size() || init.empty()) {
    return e.report(wrong_count("te.scan", std::max<size_t>(state.size(), 1), init.size() != state.size() ? "starts" : "updates", init.size() != state.size() ? init.size() : update.size(), a.call));
  }
  for (const auto& side : {init, update}) {
    for (const Ref<TensorObject>& t : side) {
      if (t->op->kind != Operation::Kind::Compute || t->op->outputs.size() != 1 || t->buffer()->shape.empty()) {
        return e.report(error(Code::ScanTensor, b.values[1].where).arg("tensor", t->op->name.view()));
      }
    }
  }
  std::string name = text_of(b, 4, "scan");
  std::vector<Buffer> outputs;
  for (size_t i = 0; i < update.size(); ++i) {
    const Buffer& like = update[i]->buffer();
    outputs.push_back(make_buffer(Name(update.size() == 1 ? name : name + "_v" + std::to_string(i)), like->dtype, like->shape, "global", a.call));
  }
  Ref<Operation> op = make_object<Operation>(Operation::Kind::Scan, Name(name), std::move(outputs), a.call);
  auto& fields = const_cast<Operation&>(*op);
  for (size_t i = 0; i < update.size(); ++i) {
    fields.init.push_back(init[i]->op);
    fields.update.push_back(update[i]->op);
    fields.state.push_back(state[i]->buffer());
  }
  fields.tag = tag_of(e, b, 5);
  fields.inputs = scan_parts(fields.init, fields.update, fields.state).inputs;
  if (!set_depth(e, fields)) { return Value::error(); }
  return tensors_of(op);
}

}  // namespace loopsmith::frontend::te
