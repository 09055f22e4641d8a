// Calls: arguments, parameters, and the frames of functions. See evaluator.h.
#include "eval/evaluator.h"

#include <algorithm>
#include <utility>

#include "eval/not_made.h"
#include "support/codes.h"
#include "support/text.h"
#include "support/guards.h"

namespace loopsmith::eval {

using namespace syntax;

namespace {

// A call with a wrong argument is not made. Still reports unknown names of its other arguments.
void check_keywords(Evaluator& evaluator, const Value& callee, const Arguments& arguments) {
  size_t known = evaluator.diagnostics.size();
  if (callee.as<Function>()) {
    (void)evaluator.start(Ref<Function>(callee.as<Function>()), arguments);
  } else if (const auto* builtin = callee.as<Builtin>()) {
    (void)builtin->call(evaluator, arguments);
  }
  Diagnostics& all = evaluator.diagnostics;
  all.erase(std::remove_if(all.begin() + static_cast<std::ptrdiff_t>(known), all.end(), [](const Diagnostic& d) { return d.code != Code::UnexpectedArgument; }), all.end());
}

}  // namespace

auto not_made() -> uint64_t& {
  static thread_local uint64_t count = 0;
  return count;
}

auto Evaluator::eval_call(const CallExpr& expr, const ScopeRef& scope) -> Value {
  Argument callee = eval_argument(*expr.callee, scope);
  Arguments arguments;
  arguments.call = expr.origin();
  arguments.callee = expr.callee->origin();
  if (const auto* attribute = expr.callee->as<AttributeExpr>()) {
    arguments.callee = {expr.decl, attribute->attr.span.begin, attribute->attr.span.end, 0};
  }
  arguments.parentheses = {expr.decl, expr.args_span.begin, expr.args_span.end, 0};
  arguments.all.reserve(expr.args.size() + expr.keywords.size());
  Value unknown;
  for (ExprPtr arg : expr.args) {
    if (const auto* star = arg->as<StarredExpr>()) {
      Argument spread = eval_argument(*star->value, scope);
      if (spread.value.is_unknown()) { unknown = spread.value; continue; }
      auto items = iterate(spread);
      if (!items) { unknown = Value::error(); continue; }
      for (Value& item : *items) { arguments.all.push_back({std::move(item), arg->origin(), {}}); }
      continue;
    }
    arguments.all.push_back(eval_argument(*arg, scope));
    if (arguments.all.back().value.is_unknown()) { unknown = arguments.all.back().value; }
  }
  arguments.positional = arguments.all.size();
  for (const Keyword& keyword : expr.keywords) {
    Value value = eval(*keyword.value, scope);
    if (value.is_unknown()) { unknown = value; }
    if (!keyword.name.name.empty()) {
      Origin name_at{expr.decl, keyword.name.span.begin, keyword.name.span.end, 0};
      arguments.all.push_back({std::move(value), keyword.value->origin(), keyword.name.name, name_at});
      continue;
    }
    if (value.is_unknown()) { continue; }
    const auto* dict = value.as<eval::Dict>();
    if (!dict) {
      unknown = report(error(Code::WrongType, keyword.value->origin()).arg("expected", "a dict").arg("found", describe(value)));
      continue;
    }
    for (const auto& [k, v] : dict->entries()) {
      if (const std::string* text = k.string()) { arguments.all.push_back({v, keyword.value->origin(), Name(*text)}); }
    }
  }
  // Only safe for members of a namespace (`T.alloc_buffer`) and functions of the file, not for functions with effects, such as `print`.
  bool are_keywords_checked = !callee.value.is_unknown() && unknown.is_error() && !expr.keywords.empty() && (expr.callee->as<AttributeExpr>() || callee.value.as<Function>());
  if (are_keywords_checked) { check_keywords(*this, callee.value, arguments); }
  if (callee.value.is_unknown() || unknown.is_unknown()) {
    if (auto made = not_called ? not_called(callee.value, expr, arguments) : std::nullopt) { return *std::move(made); }
    Value out = callee.value.is_unknown() ? callee.value : unknown;
    not_made() += out.is_opaque() ? 1 : 0;
    return out;
  }
  return call(callee, arguments);
}

auto Evaluator::call(const Argument& callee, const Arguments& arguments) -> Value {
  const Object* object = callee.value.object();
  if (object) {
    if (auto result = object->call(*this, arguments)) { return std::move(*result); }
  }
  if (callee.value.is_unknown()) { return callee.value; }
  return report(error(Code::NotCallable, callee.where).arg("what", describe(callee.value)));
}
auto Evaluator::call(const Value& callee, std::vector<Value> positional, Origin where) -> Value {
  Arguments arguments;
  arguments.call = arguments.callee = arguments.parentheses = where;
  for (Value& value : positional) { arguments.all.push_back({std::move(value), where, {}}); }
  arguments.positional = arguments.all.size();
  return call(Argument{callee, where, {}}, arguments);
}

auto Evaluator::bind(const Function& function, const Arguments& arguments, const ScopeRef& scope) -> bool {
  const auto& params = function.params();
  bool good = true;
  bool keyword_only = false;
  size_t next = 0;
  size_t positional_params = 0;
  std::vector<bool> used(arguments.all.size(), false);
  Ref<eval::Dict> rest;
  Name rest_name;
  for (size_t p = 0; p < params.size(); ++p) {
    const Param& param = params[p];
    switch (param.kind) {
      case ParamKind::SlashOnly: continue;
      case ParamKind::StarOnly: keyword_only = true; continue;
      case ParamKind::Star: {
        std::vector<Value> items;
        for (; next < arguments.positional; ++next) {
          used[next] = true;
          items.push_back(arguments.all[next].value);
        }
        scope->set(param.name.name, Value::tuple(std::move(items)));
        keyword_only = true;
        continue;
      }
      case ParamKind::DoubleStar:
        rest = make_object<eval::Dict>();
        rest_name = param.name.name;
        continue;
      case ParamKind::Plain: break;
    }
    const Argument* named = arguments.keyword(param.name.name);
    if (!keyword_only) { ++positional_params; }
    if (!keyword_only && next < arguments.positional) {
      used[next] = true;
      scope->set(param.name.name, arguments.all[next++].value);
      if (named) {
        report(error(Code::DuplicateArgument, named->where).arg("name", param.name.name.view()).arg("callee", function.name().view())
                   .remedy("remove one of the two"));
        used[static_cast<size_t>(named - arguments.all.data())] = true;
        good = false;
      }
      continue;
    }
    if (named) {
      used[static_cast<size_t>(named - arguments.all.data())] = true;
      scope->set(param.name.name, named->value);
      continue;
    }
    if (param.default_value) {
      scope->set(param.name.name, function.defaults[p]);
      continue;
    }
    report(error(Code::MissingArgument, arguments.callee).arg("name", param.name.name.view()).arg("callee", function.name().view())
               .remedy("pass it in the call, or give it a default in the definition"));
    good = false;
  }
  for (size_t i = 0; i < arguments.all.size(); ++i) {
    if (used[i]) { continue; }
    const Argument& extra = arguments.all[i];
    if (i < arguments.positional) {
      const size_t surplus = arguments.positional - positional_params;
      report(error(Code::TooManyArguments, extra.where).arg("callee", function.name().view()).arg("count", static_cast<int64_t>(positional_params))
                 .arg("given", static_cast<int64_t>(arguments.positional)).remedy(surplus == 1 ? std::string("remove the last one") : "remove the last " + std::to_string(surplus)));
      good = false;
      // One report for all surplus arguments is enough.
      i = arguments.positional - 1;
      continue;
    }
    if (rest) {
      rest->set(Value::str(extra.keyword.str()), extra.value);
      continue;
    }
    std::vector<Name> names;
    for (const Param& param : params) { names.push_back(param.name.name); }
    const bool is_second = std::any_of(params.begin(), params.end(), [&](const Param& param) { return param.kind == ParamKind::Plain && param.name.name == extra.keyword; });
    if (is_second) {
      report(error(Code::DuplicateArgument, extra.where).arg("name", extra.keyword.view()).arg("callee", function.name().view()).remedy("remove one of the two"));
      good = false;
      continue;
    }
    Diagnostic d = error(Code::UnexpectedArgument, extra.keyword_at.is_known() ? extra.keyword_at : extra.where).arg("name", extra.keyword.view()).arg("callee", function.name().view());
    if (Name near = closest_name(extra.keyword, names); !near.empty()) { (void)std::move(d).remedy("did you mean `" + near.str() + "`?").fix(extra.keyword_at, near.str()); }
    report(std::move(d));
    good = false;
  }
  if (rest) { scope->set(rest_name, rest); }
  return good;
}

auto Evaluator::start(const Ref<Function>& function, const Arguments& arguments) -> std::optional<Frame> {
  return start(function, arguments, function->captured);
}
auto Evaluator::start(const Ref<Function>& function, const Arguments& arguments, const ScopeRef& around) -> std::optional<Frame> {
  ++calls_;
  Frame frame;
  frame.function = function;
  frame.scope = new_scope(around);
  if (!bind(*function, arguments, frame.scope)) { return {}; }
  return frame;
}

void Evaluator::run(Frame& frame, Observer* observer) {
  const FunctionDef* def = frame.function->def;
  Environment* saved_globals = std::exchange(globals, frame.function->globals);
  std::shared_ptr<const void> saved_tree = std::exchange(tree, frame.function->keep_alive);
  if (!def) {
    frame.result = eval(*frame.function->lambda->body, frame.scope);
    frame.flow = frame.result.is_error() ? Flow::Failed : Flow::Return;
  } else {
    while (frame.next < def->body.size()) {
      const Stmt& stmt = *def->body[frame.next];
      size_t index = frame.next;
      if (observer) { observer->before(*this, frame, index, stmt); }
      frame.flow = exec(stmt, frame.scope, frame.result);
      ++frame.next;
      bool go_on = !observer || observer->after(*this, frame, index, stmt, frame.flow);
      if (frame.flow != Flow::Next || !go_on) { break; }
    }
  }
  if (frame.flow == Flow::Unknown) { frame.result = Value::opaque(); }
  if (frame.flow == Flow::Failed) { frame.result = Value::error(); }
  globals = saved_globals;
  tree = std::move(saved_tree);
}

auto Evaluator::call_function(const Ref<Function>& function, const Arguments& arguments, Observer* observer) -> Value {
  DepthGuard guard(*this);
  if (too_deep(arguments.call)) { return Value::error(); }
  WithoutReports attempt(diagnostics);
  bool around = std::exchange(has_yielded_, false);
  auto frame = start(function, arguments);
  if (frame) { run(*frame, observer); }
  bool is_generator = std::exchange(has_yielded_, around);
  Value result = !frame ? Value::error() : is_generator ? opaque(arguments.call) : std::move(frame->result);
  if (is_lenient && function->def && result.is_error()) { return opaque(arguments.call); }
  attempt.keep();
  return result;
}

void Evaluator::resume_from(size_t statement, Frame& frame, const Ref<Function>& function, Observer* observer) {
  frame.function = function;
  frame.next = statement;
  frame.flow = Flow::Next;
  frame.result = Value();
  run(frame, observer);
}

auto expect_arguments(Evaluator& evaluator, std::string_view callee, const Arguments& arguments, size_t least, size_t most) -> bool {
  if (arguments.all.size() > arguments.positional) {
    const Argument& named = arguments.all[arguments.positional];
    evaluator.report(error(Code::UnexpectedArgument, named.keyword_at).arg("name", named.keyword.view()).arg("callee", callee));
    return false;
  }
  const auto given = static_cast<int64_t>(arguments.positional);
  if (arguments.positional < least) {
    evaluator.report(error(Code::TooFewArguments, arguments.callee).arg("callee", callee).arg("count", static_cast<int64_t>(least)).arg("given", given)
                         .remedy("give " + count_text(static_cast<int64_t>(least) - given, "more argument")));
    return false;
  }
  if (arguments.positional > most) {
    evaluator.report(error(Code::TooManyArguments, arguments.all[most].where).arg("callee", callee).arg("count", static_cast<int64_t>(most)).arg("given", given));
    return false;
  }
  return true;
}

namespace {

// A call with the parameters that need an argument: "T.IntImm(dtype, value)", "f(a, key=...)".
auto form_of(std::string_view callee, const std::vector<Parameter>& parameters) -> std::string {
  std::string out;
  for (const Parameter& p : parameters) {
    if (p.is_required) { out += (out.empty() ? "" : ", ") + p.name.str() + (p.keyword_only ? "=..." : ""); }
  }
  return std::string(callee) + "(" + out + ")";
}

}  // namespace

auto bind_arguments(Evaluator& evaluator, std::string_view callee, const Arguments& arguments, const std::vector<Parameter>& parameters,
                    BoundArguments& out) -> bool {
  out.values.assign(parameters.size(), {});
  out.given.assign(parameters.size(), false);
  bool good = true;
  size_t next = 0;
  size_t positional = 0;
  for (const Parameter& p : parameters) { positional += !p.keyword_only; }
  for (; next < arguments.positional; ++next) {
    if (next >= positional) {
      evaluator.report(error(Code::TooManyArguments, arguments.all[next].where).arg("callee", callee).arg("count", static_cast<int64_t>(positional)).arg("given", static_cast<int64_t>(arguments.positional)));
      return false;
    }
    out.values[next] = arguments.all[next];
    out.given[next] = true;
  }
  for (size_t i = arguments.positional; i < arguments.all.size(); ++i) {
    const Argument& a = arguments.all[i];
    size_t p = 0;
    while (p < parameters.size() && !(parameters[p].name == a.keyword)) { ++p; }
    if (p == parameters.size()) {
      std::vector<Name> names;
      for (const Parameter& known : parameters) { names.push_back(known.name); }
      Diagnostic d = error(Code::UnexpectedArgument, a.keyword_at.is_known() ? a.keyword_at : a.where).arg("name", a.keyword.view()).arg("callee", callee);
      if (Name near = closest_name(a.keyword, names); !near.empty()) {
        (void)std::move(d).remedy("did you mean `" + near.str() + "`?");
        if (a.keyword_at.is_known()) { (void)std::move(d).fix(a.keyword_at, near.str()); }
      }
      evaluator.report(std::move(d));
      good = false;
    } else if (out.given[p]) {
      evaluator.report(error(Code::DuplicateArgument, a.where).arg("name", a.keyword.view()).arg("callee", callee).remedy("remove one of the two"));
      good = false;
    } else {
      out.values[p] = a;
      out.given[p] = true;
    }
  }
  for (size_t p = 0; good && p < parameters.size(); ++p) {
    if (!out.given[p] && parameters[p].is_required) {
      evaluator.report(error(Code::MissingArgument, arguments.callee).arg("name", parameters[p].name.view()).arg("callee", callee).remedy("call it as `" + form_of(callee, parameters) + "`"));
      good = false;
    }
  }
  if (!good) { return false; }
  for (const Argument& a : out.values) {
    if (a.value.is_unknown()) {
      out.unknown = a.value;
      return false;
    }
  }
  return true;
}

}  // namespace loopsmith::eval
