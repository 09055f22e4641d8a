// Cost models of build scripts: `load` and `save` of classes that scripts write, their attributes on the way to a search and back, and NumPy's functions for them.
#include <fmt/format.h>

#include "driver/build_script_models.h"
#include "runtime/npy.h"
#include "script/tuner/members.h"
#include "script/tuner/numbers.h"
#include "script/tuner/state.h"
#include "support/codes.h"
#include "support/files.h"

namespace loopsmith::driver::build_script {
namespace {

/// The path that the second argument of a method names. None: an error was reported.
auto path_of(Evaluator& e, const Argument& given) -> std::optional<std::string> {
  if (const std::string* text = given.value.string()) { return BuildScript::of(e).path(*text); }
  return (void)wrong(e, given, "a path"), std::nullopt;
}

auto cannot_read(Evaluator& e, Origin where, const std::string& path, std::string why) -> Value {
  return e.report(error(Code::CannotRead, where).arg("file", path).arg("reason", std::move(why)));
}

auto model_of(const Argument& self) -> const script::Piece* { return self.value.as<script::Piece>(); }

/// `np.load(path)`: the array of a file.
auto load_array(Evaluator& e, const eval::Arguments& given) -> Value {
  const auto path = path_of(e, given.all[0]);
  if (!path) { return Value::error(); }
  auto tensor = runtime::read_npy(*path);
  if (!tensor.ok()) { return cannot_read(e, given.all[0].where, *path, tensor.diagnostics().front().message()); }
  if (tensor->shape().size() > 2) { return cannot_read(e, given.all[0].where, *path, "the array has more than two dimensions"); }
  const auto count = static_cast<size_t>(tensor->count());
  if (!e.charge(count, count * sizeof(double), given.call)) { return Value::error(); }
  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i) { numbers[i] = tensor->get(static_cast<int64_t>(i)); }
  if (tensor->shape().empty()) { return Value(numbers[0]); }
  return script::number_array(std::move(numbers), tensor->shape().size() == 2 ? static_cast<size_t>(tensor->shape()[1]) : 0);
}

/// `np.save(path, array)`.
auto save_array(Evaluator& e, const eval::Arguments& given) -> Value {
  const auto path = path_of(e, given.all[0]);
  if (!path) { return Value::error(); }
  const auto* array = given.all[1].value.as<script::NumberArray>();
  const auto list = array ? std::nullopt : script::numbers_in(given.all[1].value);
  if (!array && !list) { return wrong(e, given.all[1], "an array or a list of numbers"); }
  const std::vector<double>& numbers = array ? array->numbers : *list;
  const auto columns = static_cast<int64_t>(array ? array->columns : 0);
  const auto count = static_cast<int64_t>(numbers.size());
  auto tensor = runtime::Tensor::zeros(DataType::float_(64), columns > 0 ? std::vector<int64_t>{count / columns, columns} : std::vector<int64_t>{count});
  if (tensor.ok()) { std::copy(numbers.begin(), numbers.end(), static_cast<double*>(tensor->data())); }
  if (BuildScript::of(e).request.dry_run) { return {}; }
  const Status written = tensor.ok() ? runtime::write_npy(*path, *tensor) : Status(tensor.diagnostics());
  return written.ok() ? Value() : e.report(error(Code::CannotWrite, given.all[0].where).arg("file", *path).arg("reason", written.diagnostics().front().message()));
}

/// The last name of `np.save`; empty: the call is not one of NumPy.
auto name_in_numpy(const syntax::Expr& callee) -> std::string_view {
  const auto* attribute = callee.as<syntax::AttributeExpr>();
  const auto* module = attribute ? attribute->object->as<syntax::NameExpr>() : nullptr;
  return module && (module->name.view() == "np" || module->name.view() == "numpy") ? attribute->attr.name.view() : std::string_view();
}

}  // namespace

auto call_in_script(Evaluator& e, const syntax::Expr& callee, const eval::Arguments& given) -> std::optional<Value> {
  const std::string_view name = name_in_numpy(callee);
  const auto made = name == "load" && given.positional == 1 ? std::optional(load_array(e, given)) : name == "save" && given.positional == 2 ? std::optional(save_array(e, given))
                                                            : script::call_of_numpy(e, callee, given, BuildScript::of(e).random_state);
  // The name of the function alone has no known value; the call has one.
  const Origin at = callee.origin();
  if (made && e.opaque_at.decl == at.decl && e.opaque_at.begin >= at.begin && e.opaque_at.end <= at.end) { e.opaque_at = {}; }
  return made;
}

auto run_model_load(Evaluator& e, const eval::Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "load", a, {{"self"}, {"path"}}, b)) { return b.unknown; }
  const auto path = path_of(e, b.values[1]);
  if (!path) { return Value::error(); }
  auto text = read_file(*path);
  const std::string why = text.ok() ? script::restore_state(*model_of(b.values[0]), *text) : text.diagnostics().front().message();
  return why.empty() ? Value() : cannot_read(e, b.values[1].where, *path, why);
}

auto run_model_save(Evaluator& e, const eval::Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "save", a, {{"self"}, {"path"}}, b)) { return b.unknown; }
  const auto path = path_of(e, b.values[1]);
  if (!path) { return Value::error(); }
  if (BuildScript::of(e).request.dry_run) { return {}; }
  const Status written = write_file(*path, script::state_text(*model_of(b.values[0])));
  return written.ok() ? Value() : e.report(error(Code::CannotWrite, b.values[1].where).arg("file", *path).arg("reason", written.diagnostics().front().message()));
}

auto ModelInSearch::begin(Evaluator& e, const Value& model, std::vector<std::string>& argv) -> bool {
  const auto* piece = model.as<script::Piece>();
  if (!piece) { return true; }
  piece_ = Ref<script::Piece>(piece);
  path_ = BuildScript::of(e).scratch() + "/model.json";
  if (!write_file(path_, script::state_text(*piece)).ok()) { return false; }
  argv.insert(argv.end(), {"--model-state", path_});
  return true;
}

void ModelInSearch::end() const {
  if (!piece_) { return; }
  auto text = read_file(path_);
  if (text.ok()) { (void)script::restore_state(*piece_, *text); }
}

}  // namespace loopsmith::driver::build_script
