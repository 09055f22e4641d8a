// Inherited methods of written pieces: see inherited.h.
#include "script/tuner/inherited.h"

#include <string_view>

namespace loopsmith::script {
namespace {

using eval::Argument;
using eval::Arguments;
using eval::Evaluator;
using eval::Value;

/// The call of a function of build scripts with the piece in front of the arguments.
auto with_self(Evaluator& evaluator, const Value& self, const Arguments& given, const char* full_name) -> Value {
  Arguments all = given;
  all.all.insert(all.all.begin(), Argument{self, given.call, {}});
  ++all.positional;
  return call_of_build_script(evaluator, all, full_name);
}

auto load(Evaluator& e, const Value& self, const Arguments& given) -> Value { return with_self(e, self, given, "ms.CostModel.load"); }
auto save(Evaluator& e, const Value& self, const Arguments& given) -> Value { return with_self(e, self, given, "ms.CostModel.save"); }
auto tune(Evaluator& e, const Value& self, const Arguments& given) -> Value { return with_self(e, self, given, "ms.TaskScheduler.tune"); }
// TVM's methods call the ones of the C++ object behind the instance. Here both are one.
auto outer(Evaluator&, const Value& self, const Arguments&) -> Value { return self; }
// The tuner waits for the measurements of a slice before it asks for the next task, so no task runs meanwhile.
auto join_running_task(Evaluator&, const Value&, const Arguments&) -> Value { return Value::list({}); }
auto nothing(Evaluator&, const Value&, const Arguments&) -> Value { return {}; }

struct Inherited { PieceKind kind; std::string_view name; eval::Method::Run run; };
constexpr Inherited all[] = {
    {PieceKind::CostModel, "load", load},
    {PieceKind::CostModel, "save", save},
    {PieceKind::TaskScheduler, "tune", tune},
    {PieceKind::TaskScheduler, "_outer", outer},
    {PieceKind::TaskScheduler, "join_running_task", join_running_task},
    {PieceKind::TaskScheduler, "touch_task", nothing},
    {PieceKind::TaskScheduler, "print_tuning_statistics", nothing},
};

}  // namespace

auto inherited_method(PieceKind kind, Name member) -> eval::Method::Run {
  for (const Inherited& one : all) { if (one.kind == kind && one.name == member.view()) { return one.run; } }
  return nullptr;
}

auto call_of_build_script(Evaluator& evaluator, const Arguments& given, const char* full_name) -> Value {
  const std::optional<Value> known = evaluator.globals ? evaluator.globals->lookup(evaluator, Name(full_name), given.call) : std::nullopt;
  return known && known->object() ? evaluator.call(Argument{*known, given.callee, {}}, given) : evaluator.opaque(given.call);
}

}  // namespace loopsmith::script
