// Reads the arguments of the functions of `T`: see arguments.h.
#include "frontend/functions/arguments.h"

#include <algorithm>

#include "eval/evaluator.h"
#include "frontend/functions/functions.h"
#include "frontend/thread_level.h"
#include "ir/ops.h"
#include "support/codes.h"
#include "support/text.h"

namespace loopsmith::frontend {

auto wrong_type(Evaluator& e, const Argument& a, std::string_view expected) -> Value {
  if (const auto* word = a.value.as<ThreadWord>()) {
    note_thread_level(e, word->path.view(), a.where);
    return e.opaque(a.where);
  }
  if (a.value.is_unknown()) { return a.value; }
  return e.report(error(Code::WrongType, a.where).arg("expected", expected).arg("found", describe(a.value)));
}
auto expr_or_error(Expr e) -> Value { return e ? Value(make_object<ExprObject>(std::move(e))) : Value::error(); }

auto to_element_dtype(Evaluator& e, const Argument& a) -> std::optional<DataType> {
  auto t = to_dtype(e, a);
  if (!t || !t->is_void()) { return t; }
  e.report(error(Code::WrongType, a.where).arg("expected", "the data type of elements").arg("found", "`void`"));
  return {};
}

auto need_program(Evaluator& e, const Arguments& a, std::string_view what) -> Lowerer* {
  Lowerer* lowerer = Lowerer::of(e);
  if (!lowerer) { e.report(error(Code::OutsideProgram, a.callee).arg("what", "`" + std::string(what) + "`").remedy("move it into a function with `@T.prim_func`")); }
  return lowerer;
}
auto need_block(Evaluator& e, const Arguments& a, std::string_view what) -> BlockSpec* {
  Lowerer* lowerer = need_program(e, a, what);
  if (!lowerer) { return nullptr; }
  BlockSpec* block = lowerer->block_here();
  if (!block && !lowerer->is_in_unknown()) { e.report(error(Code::OutsideBlock, a.callee).arg("what", what).remedy("move it directly below a `with T.block(...):`")); }
  return block;
}
auto not_bound(const BoundArguments& b) -> Value { return b.unknown.is_unknown() ? b.unknown : Value::error(); }
auto is_given(const BoundArguments& b, size_t i) -> bool { return b.given[i] && !b.values[i].value.is_none(); }

auto named_type(const Arguments& a) -> const Argument* {
  static const Name dtype_name("dtype"), ty_name("ty");
  if (a.all.size() <= a.positional) { return nullptr; }
  const Argument* given = a.keyword(dtype_name);
  return given ? given : a.keyword(ty_name);
}

auto without_dtype(const Arguments& a) -> Arguments {
  Arguments out = a;
  const Argument* type = named_type(out);
  for (size_t i = out.positional; i < out.all.size(); ++i) {
    if (&out.all[i] == type) {
      out.all.erase(out.all.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  }
  return out;
}

namespace {

// "call it as `T.max(a, b)`". `names`: the parameters, separated by spaces.
auto call_form(std::string_view callee, std::string_view names) -> std::string {
  std::string out = "call it as `" + std::string(callee) + "(";
  for (char c : names) { out += c == ' ' ? std::string(", ") : std::string(1, c); }
  return out + ")`";
}

}  // namespace

auto place_named(Evaluator& e, std::string_view callee, std::string_view names, Arguments& a) -> bool {
  if (a.all.size() == a.positional) { return true; }
  std::vector<Name> parameters;
  for (size_t at = 0; at < names.size();) {
    size_t end = std::min(names.find(' ', at), names.size());
    parameters.emplace_back(names.substr(at, end - at));
    at = end + 1;
  }
  std::vector<Argument> placed(a.all.begin(), a.all.begin() + static_cast<std::ptrdiff_t>(a.positional));
  std::vector<bool> given(placed.size(), true);
  for (size_t i = a.positional; i < a.all.size(); ++i) {
    const Argument& x = a.all[i];
    auto found = std::find(parameters.begin(), parameters.end(), x.keyword);
    if (found == parameters.end()) {
      Diagnostic d = error(Code::UnexpectedArgument, x.keyword_at).arg("name", x.keyword.view()).arg("callee", callee);
      if (Name near = eval::closest_name(x.keyword, parameters); !near.empty()) {
        (void)std::move(d).remedy("did you mean `" + near.str() + "`?").fix(x.keyword_at, near.str());
      }
      e.report(std::move(d));
      return false;
    }
    auto place = static_cast<size_t>(found - parameters.begin());
    if (placed.size() <= place) {
      placed.resize(place + 1);
      given.resize(place + 1, false);
    }
    if (given[place]) {
      e.report(error(Code::DuplicateArgument, x.keyword_at).arg("name", x.keyword.view()).arg("callee", callee));
      return false;
    }
    placed[place] = x;
    given[place] = true;
  }
  for (size_t i = 0; i < placed.size(); ++i) {
    if (!given[i]) {
      e.report(error(Code::MissingArgument, a.callee).arg("name", parameters[i].view()).arg("callee", callee).remedy(call_form(callee, names)));
      return false;
    }
  }
  a.all = std::move(placed);
  a.positional = a.all.size();
  return true;
}

auto not_one_argument(Evaluator& e, const Arguments& a, std::string_view callee, std::string_view name) -> Value {
  const auto given = static_cast<int64_t>(a.all.size());
  Diagnostic d = given == 0 ? error(Code::TooFewArguments, a.callee) : error(Code::TooManyArguments, a.all[1].where);
  return e.report(std::move(d).arg("callee", callee).arg("count", 1).arg("given", given).remedy(call_form(callee, name)));
}

auto operands(Evaluator& e, std::string_view name, Arguments& a, size_t low, size_t high, std::vector<Expr>& out, std::string_view names) -> bool {
  if (a.all.size() > a.positional) { a = without_dtype(a); }
  if (!place_named(e, name, names, a)) { return false; }
  if (a.positional < low) {
    e.report(error(Code::TooFewArguments, a.callee).arg("callee", name).arg("count", static_cast<int64_t>(low)).arg("given", static_cast<int64_t>(a.positional))
                 .remedy(names.empty() ? "give " + count_text(static_cast<int64_t>(low - a.positional), "more argument") : call_form(name, names)));
    return false;
  }
  if (a.positional > high) {
    e.report(error(Code::TooManyArguments, a.all[high].where).arg("callee", name).arg("count", static_cast<int64_t>(high)).arg("given", static_cast<int64_t>(a.positional)));
    return false;
  }
  bool good = true;
  for (const Argument& x : a.all) {
    Expr y = to_expr(e, x);
    good &= bool(y);
    out.push_back(std::move(y));
  }
  return good;
}

void report_deprecated(Evaluator& e, Origin where, std::string old, std::string name) {
  std::string remedy = "write `" + name + "`";
  e.report(error(Code::Deprecated, where).arg("old", std::move(old)).arg("name", std::move(name)).remedy(std::move(remedy)));
}

auto to_integer(Evaluator& e, const Argument& a) -> Expr {
  Expr x = to_expr(e, a);
  if (x && (!x.dtype().is_integral() || !x.dtype().is_scalar())) {
    e.report(error(Code::WrongType, a.where).arg("expected", "an integer").arg("found", describe(a.value)));
    return {};
  }
  return x;
}

auto lambda_vars(Evaluator& e, const Argument& a, std::vector<Var>& vars, std::vector<Value>& values, DataType t) -> const eval::Function* {
  const auto* f = a.value.as<eval::Function>();
  if (!f) { wrong_type(e, a, "a lambda"); return nullptr; }
  for (const syntax::Param& p : f->params()) {
    if (p.kind != syntax::ParamKind::Plain) { wrong_type(e, a, "a lambda of plain parameters"); return nullptr; }
    vars.push_back(make<VarNode>(p.name.name, t, a.where));
    values.push_back(expr_or_error(vars.back()));
  }
  return f;
}
auto to_variables(Evaluator& e, const Argument& a, std::vector<Var>& out) -> bool {
  std::vector<Expr> exprs;
  if (!to_exprs(e, a, exprs)) { return false; }
  for (const Expr& x : exprs) {
    if (!x.as<VarNode>()) {
      wrong_type(e, a, "a list of variables");
      return false;
    }
    out.emplace_back(x.as<VarNode>());
  }
  return true;
}

auto to_domain(Evaluator& e, const Argument& a) -> std::optional<Range> {
  if (const auto* items = a.value.items()) {
    if (items->size() != 2) {
      wrong_type(e, a, "an extent, or (begin, end)");
      return {};
    }
    Expr begin = to_integer(e, {(*items)[0], a.where, {}});
    Expr end = to_integer(e, {(*items)[1], a.where, {}});
    if (!begin || !end || !match_operands(e, "-", begin, a.where, end, a.where, a.where)) { return {}; }
    Expr extent = difference(end, begin);
    return Range{std::move(begin), std::move(extent)};
  }
  if (const auto* range = a.value.as<eval::RangeObject>()) { return Range{int_imm(range->start), int_imm(range->stop - range->start)}; }
  Expr extent = to_integer(e, a);
  if (!extent) { return {}; }
  return Range{zero(extent.dtype()), std::move(extent)};
}

auto name_in(FunctionRows rows, eval::Builtin::Run run) -> std::string {
  for (const FunctionRow& row : rows) {
    if (row.run == run) { return std::string("T.") + row.name; }
  }
  return "the operator";
}

}  // namespace loopsmith::frontend
