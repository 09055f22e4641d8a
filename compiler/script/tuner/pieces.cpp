// Classes and instances of pieces: see pieces.h.
#include "script/tuner/pieces.h"

#include "script/tuner/inherited.h"
#include "script/tuner/spaces.h"
#include "support/codes.h"

namespace loopsmith::script {

using eval::Argument;
using eval::Arguments;
using eval::Evaluator;
using eval::Value;

namespace {

/// A method of a written piece, bound to it.
class PieceMethod final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  PieceMethod(Ref<Piece> p, Ref<eval::Function> f) : Object(&type_tag), piece(std::move(p)), function(std::move(f)) {}
  const Ref<Piece> piece;
  const Ref<eval::Function> function;
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& evaluator, const Arguments& given) const -> std::optional<Value> override {
    Arguments with_self = given;
    with_self.all.insert(with_self.all.begin(), Argument{Value(Ref<eval::Object>(piece.get())), given.call, {}});
    ++with_self.positional;
    return evaluator.call_function(function, with_self);
  }
  auto repr() const -> std::string override { return "<method " + function->name().str() + ">"; }
};
const eval::TypeTag PieceMethod::type_tag{"method"};

auto is_static(const eval::Function& function) -> bool {
  static const Name static_method("staticmethod");
  for (const syntax::Expr* decorator : function.def ? function.def->decorators : syntax::List<syntax::ExprPtr>()) {
    if (const auto* name = decorator->as<syntax::NameExpr>(); name && name->name == static_method) { return true; }
  }
  return false;
}

auto find_in(const std::vector<std::pair<Name, Value>>& all, Name name) -> const Value* {
  for (size_t i = all.size(); i-- > 0;) {
    if (all[i].first == name) { return &all[i].second; }
  }
  return nullptr;
}

}  // namespace

const eval::TypeTag PieceClass::type_tag{"a class of the tuner"};
const eval::TypeTag Piece::type_tag{"a piece of the tuner"};

auto kind_text(PieceKind kind) -> std::string_view {
  switch (kind) {
    case PieceKind::ScheduleRule: return "schedule rule";
    case PieceKind::Postproc: return "post-processor";
    case PieceKind::Mutator: return "mutator";
    case PieceKind::Filter: return "filter";
    case PieceKind::SpaceFunction: return "schedule function";
    case PieceKind::CostModel: return "cost model";
    case PieceKind::Builder: return "builder";
    case PieceKind::Runner: return "runner";
    case PieceKind::TaskScheduler: return "task scheduler";
  }
  return {};
}

auto PieceClass::find(Name member) const -> const Value* { return find_in(members, member); }

auto PieceClass::call(Evaluator& evaluator, const Arguments& arguments) const -> std::optional<Value> {
  if (origin == Origins::Base) { return evaluator.opaque(arguments.call); }
  auto piece = eval::make_object<Piece>(Ref<PieceClass>(this), arguments);
  if (origin == Origins::Tvm) { return Value(Ref<eval::Object>(piece.get())); }
  static const Name init("__init__");
  const Value* made = find(init);
  if (const auto* function = made ? made->as<eval::Function>() : nullptr) {
    Value done = PieceMethod(piece, Ref<eval::Function>(function)).call(evaluator, arguments).value_or(Value::error());
    if (done.is_unknown()) { return done; }
  } else if (!arguments.all.empty()) {
    return evaluator.report(error(Code::TooManyArguments, arguments.all[0].where).arg("callee", name.view()).arg("count", int64_t{0}).arg("given", static_cast<int64_t>(arguments.all.size())));
  }
  return Value(Ref<eval::Object>(piece.get()));
}

auto PieceClass::get_attribute(Evaluator& evaluator, Name member, Origin at) const -> std::optional<Value> {
  if (const Value* found = find(member)) { return *found; }
  if (origin == Origins::Written) { return {}; }
  return evaluator.opaque(at);
}

auto Piece::call(Evaluator& evaluator, const Arguments& given) const -> std::optional<Value> {
  if (!function) { return {}; }
  return evaluator.call_function(function, given);
}

auto Piece::get_attribute(Evaluator& evaluator, Name member, Origin at) const -> std::optional<Value> {
  if (const Value* found = find_in(attributes, member)) { return *found; }
  const Value* found = type ? type->find(member) : nullptr;
  if (!found) {
    if (const eval::Method::Run inherited = is_written() ? inherited_method(kind, member) : nullptr) {
      return Value(Ref<eval::Object>(eval::make_object<eval::Method>(Value(Ref<eval::Object>(this)), member, inherited).get()));
    }
    // TVM's own pieces, and Python's objects, have more attributes than are known here.
    if (!is_written() || member.view().starts_with("_")) { return evaluator.opaque(at); }
    return {};
  }
  const auto* method = found->as<eval::Function>();
  if (!method || is_static(*method)) { return *found; }
  return Value(Ref<eval::Object>(eval::make_object<PieceMethod>(Ref<Piece>(this), Ref<eval::Function>(method)).get()));
}

auto Piece::set_attribute(Evaluator&, Name member, const Argument& value, Origin) const -> bool {
  for (auto& [name, old] : attributes) {
    if (name == member) {
      old = value.value;
      return true;
    }
  }
  attributes.emplace_back(member, value.value);
  return true;
}

void Piece::attribute_names(std::vector<Name>& out) const {
  for (const auto& [name, value] : attributes) { out.push_back(name); }
  if (!type) { return; }
  for (const auto& [name, value] : type->members) { out.push_back(name); }
}

auto Piece::repr() const -> std::string {
  const std::optional<std::string> text = expression_of(Value(Ref<eval::Object>(this)));
  return text ? *text : name.str() + "(...)";
}

auto piece_of(Evaluator& evaluator, const Value& value) -> Ref<Piece> {
  if (const auto* piece = value.as<Piece>()) { return Ref<Piece>(piece); }
  const auto* type = value.as<PieceClass>();
  if (!type || type->origin == PieceClass::Origins::Base) { return {}; }
  Arguments none;
  none.call = none.callee = none.parentheses = type->where;
  const std::optional<Value> made = type->call(evaluator, none);
  const auto* piece = made ? made->as<Piece>() : nullptr;
  return piece ? Ref<Piece>(piece) : Ref<Piece>();
}

}  // namespace loopsmith::script
