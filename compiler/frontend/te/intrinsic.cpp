// `te.decl_tensor_intrin`: an operation that describes an instruction, and a function that makes the statements which run it. A schedule that uses
// the intrinsic makes programs of both (compiler/script/te/intrinsics.h).
//
// An error in the function prevents the use of the intrinsic, so the step that uses it reports the error.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/te/tensors.h"
#include "ir/ops.h"
#include "support/codes.h"
#include "support/guards.h"
#include "support/reasons.h"

namespace loopsmith::frontend::te {
namespace {

constexpr std::string_view declaring = "te.decl_tensor_intrin";

auto refuse(Evaluator& e, Origin where, std::string_view function, Name name, const Reason& why, std::string remedy) -> Value {
  return e.report(error(Code::BadValue, where).arg("action", fmt::format("make `{}` by `{}`", name.view(), function)).arg("reason", why.text()).remedy(std::move(remedy)));
}

// The buffer of a tensor among `binds`; null: it has none.
auto bound_buffer(const BoundArguments& b, const Buffer& tensor) -> Buffer {
  const auto* binds = b.values[3].value.as<eval::Dict>();
  if (!binds) { return {}; }
  for (const auto& [key, value] : binds->entries()) {
    const auto* of = key.as<TensorObject>();
    const auto* buffer = value.as<BufferObject>();
    if (of && buffer && of->buffer() == tensor) { return buffer->buffer; }
  }
  return {};
}

// The buffer through which the statements access a tensor. Buffers that the script leaves without a name have the name of the tensor.
auto buffer_for(const BoundArguments& b, const Buffer& tensor, Name name) -> Buffer {
  static const Name nameless("buffer");
  Buffer given = bound_buffer(b, tensor);
  BufferNode fields = given ? *given : *make_buffer(name, tensor->dtype, tensor->shape, "global", tensor->origin);
  if (fields.name == nameless || fields.name.empty()) { fields.name = name; }
  if (!given) {
    const auto* defaults = b.values[5].value.as<eval::Dict>();
    auto number = [&](const char* key) {
      const Value* found = defaults ? defaults->find(Value::str(key)) : nullptr;
      return found ? found->to_int().value_or(0) : 0;
    };
    if (number("data_alignment") > 0) { fields.data_alignment = static_cast<int>(number("data_alignment")); }
    fields.offset_factor = static_cast<int>(std::max<int64_t>(number("offset_factor"), 1));
  }
  // A tile begins anywhere in its tensor.
  if (!fields.elem_offset) { fields.elem_offset = make<VarNode>(Name(), DataType::int_(32), fields.origin); }
  if (const auto* offset = fields.elem_offset.as<VarNode>(); offset && offset->name.empty()) { const_cast<VarNode&>(*offset).name = Name(fields.name.str() + "_elem_offset"); }
  if (fields.data->name.empty()) { const_cast<VarNode&>(*fields.data).name = fields.name; }
  return make_buffer(std::move(fields));
}

auto buffer_values(const std::vector<Buffer>& buffers) -> Value {
  std::vector<Value> out;
  for (const Buffer& one : buffers) { out.push_back(make_object<BufferObject>(one)); }
  return Value::list(std::move(out));
}

// Reads the body, the reset and the update. False: reported, or not known.
auto read_parts(Evaluator& e, const Argument& returned, Name name, DeclaredIntrinsic::Parts& out) -> bool {
  std::vector<Value> items = returned.value.items_or_itself();
  if (items.empty() || items.size() > 3) {
    refuse(e, returned.where, declaring, name, because(Why::FcomputeParts).arg("count", items.size()), "return `ib.get()`, or `(body, reset, update)`");
    return false;
  }
  Stmt* const parts[] = {&out.body, &out.reset, &out.update};
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_none() && items.size() > 1) { continue; }
    *parts[i] = to_statement(e, {items[i], returned.where, {}}, declaring, name);
    if (!*parts[i]) { return false; }
  }
  return true;
}

// Checks the operation, and makes the program that describes the instruction. False: reported.
auto describe_by(Evaluator& e, const Operation& op, const Argument& given, DeclaredIntrinsic::Parts& out) -> bool {
  auto no = [&](const Reason& why, std::string remedy) {
    refuse(e, given.where, declaring, op.name, why, std::move(remedy));
    return false;
  };
  if (op.kind != Operation::Kind::Compute || op.is_hybrid) { return no(because(Why::DescriptionNoCompute), "describe the instruction by `te.compute`"); }
  if (op.axis.empty()) { return no(because(Why::OutputWithoutLoops), "give the output a dimension of one element: `te.compute((1,), lambda i: ...)`"); }
  for (const Ref<Operation>& input : op.inputs) {
    if (input->kind != Operation::Kind::Placeholder) {
      return no(because(Why::InputNotPlaceholder).arg("tensor", input->name.view()), "describe the instruction by one `te.compute` of placeholders");
    }
  }
  auto program = scheduled_program(e, {Ref<Operation>(&op)}, given.where);
  if (!program) { return false; }
  out.description = std::move(*program);
  return true;
}

}  // namespace

const eval::TypeTag DeclaredIntrinsic::type_tag{"a tensor intrinsic"};

auto to_statement(Evaluator& e, const Argument& returned, std::string_view function, Name name) -> Stmt {
  if (const auto* stmt = returned.value.as<StmtObject>()) { return stmt->stmt; }
  if (returned.value.is_unknown()) { return {}; }
  if (const auto* x = returned.value.as<ExprObject>()) { return are_within_limits(e, {x->expr}, returned.where) ? make<Evaluate>(x->expr, x->expr.origin()) : Stmt(); }
  refuse(e, returned.where, function, name, returned.value.is_none() ? because(Why::FcomputeNothing) : because(Why::FcomputeOther).arg("found", describe(returned.value)), "return the statements: `return ib.get()`");
  return {};
}

auto place_of(const Argument& function) -> Origin {
  const auto* of = function.value.as<eval::Function>();
  return of && of->def ? Origin{of->def->decl, of->def->name.span.begin, of->def->name.span.end, 0} : function.where;
}

auto decl_tensor_intrin(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"op"}, {"fcompute"}, {"name", false}, {"binds", false}, {"scalar_params", false}, {"default_buffer_params", false}};
  BoundArguments b;
  if (!bind_arguments(e, "te.decl_tensor_intrin", a, parameters, b)) { return not_bound(b); }
  const auto* op = b.values[0].value.as<Operation>();
  if (!op) { return wrong_type(e, b.values[0], "an operation, such as `c.op`"); }
  const Name name(text_of(b, 2, op->name.str().c_str()));
  DeclaredIntrinsic::Parts parts;
  parts.has_name = is_given(b, 2);
  const size_t reported = e.diagnostics.size();
  Temporarily strict(e.is_lenient, false);
  Value returned;
  if (describe_by(e, *op, b.values[0], parts)) {
    std::vector<Buffer> ins, outs;
    for (const Ref<Operation>& input : op->inputs) { ins.push_back(buffer_for(b, input->outputs[0], input->name)); }
    for (const Buffer& output : op->outputs) { outs.push_back(buffer_for(b, output, output->name)); }
    std::vector<Value> given{buffer_values(ins), buffer_values(outs)};
    if (is_given(b, 4)) { given.push_back(b.values[4].value); }
    parts.buffers = ins;
    parts.buffers.insert(parts.buffers.end(), outs.begin(), outs.end());
    returned = e.call(b.values[1].value, std::move(given), b.values[1].where);
    if (!returned.is_unknown()) { (void)read_parts(e, {returned, place_of(b.values[1]), {}}, op->name, parts); }
  }
  if (e.diagnostics.size() == reported) { return returned.is_unknown() ? returned : Value(make_object<DeclaredIntrinsic>(name, std::move(parts))); }
  parts.why_not.assign(e.diagnostics.begin() + static_cast<std::ptrdiff_t>(reported), e.diagnostics.end());
  e.diagnostics.resize(reported);
  return make_object<DeclaredIntrinsic>(name, std::move(parts));
}

}  // namespace loopsmith::frontend::te
