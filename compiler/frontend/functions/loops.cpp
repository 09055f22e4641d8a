// Loops: `T.serial` and the other kinds, `T.thread_binding`, `T.grid`.
#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "frontend/words.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend {

namespace {

// A loop from `start` to `stop`, or from 0 to `start` without a stop. None: an error was reported.
auto make_loop(Evaluator& e, ForKind kind, const Argument& start, const Argument* stop, Origin where) -> std::optional<LoopSpec> {
  LoopSpec loop;
  loop.kind = kind;
  if (stop) {
    Expr low = to_integer(e, start);
    Expr high = to_integer(e, *stop);
    if (!low || !high || !match_operands(e, "-", low, start.where, high, stop->where, where)) { return {}; }
    // From -2^31 to 2^31 - 1: too many for the type of the ends.
    int64_t distance = 0;
    auto first = as_int(low), end = as_int(high);
    if (first && end && low.dtype().bits < 64 && !__builtin_sub_overflow(*end, *first, &distance) && distance > *as_int(max_value(low.dtype()))) {
      low = cast(DataType::int_(64), low);
      high = cast(DataType::int_(64), high);
    }
    loop.extent = difference(high, low);
    loop.min = std::move(low);
  } else {
    loop.extent = to_integer(e, start);
    if (!loop.extent) { return {}; }
    loop.min = int_imm(0, loop.extent.dtype(), where);
  }
  loop.var = make<VarNode>(Name(), loop.extent.dtype());
  return loop;
}

// The number of steps in `extent`, rounded up. `(extent + step - 1) // step` may leave the type.
auto step_count(const Expr& extent, const Expr& step) -> Expr {
  const DataType t = extent.dtype();
  auto distance = as_int(extent), each = as_int(step);
  if (distance && each) { return int_imm(*distance <= 0 ? 0 : (*distance - 1) / *each + 1, t); }
  return add(floordiv(simplified(sub(extent, one(t))), step), one(t));
}

// `range(a, b, s)`: a loop from 0 over the number of steps; its variable in the body is `a + i * s`.
auto add_step(Evaluator& e, LoopSpec& loop, const Argument& given) -> bool {
  Expr step = to_integer(e, given);
  if (!step) { return false; }
  if (auto constant = as_int(step); constant && *constant < 1) {
    e.report(error(Code::LoopStep, given.where).arg("step", *constant).remedy("count upwards, and compute the index from the loop variable"));
    return false;
  }
  if (is_one(step)) { return true; }
  step = cast(loop.extent.dtype(), step);
  loop.start = loop.min;
  loop.min = int_imm(0, loop.extent.dtype(), given.where);
  loop.extent = step_count(loop.extent, step);
  loop.step = std::move(step);
  return true;
}

// Sets the type of the loop's variable from an argument. False: an error was reported.
auto set_dtype(Evaluator& e, LoopSpec& loop, const Argument& given) -> bool {
  auto t = to_dtype(e, given);
  if (!t) { return false; }
  if (!t->is_integral() || !t->is_scalar()) {
    wrong_type(e, given, "an integer type");
    return false;
  }
  loop.min = cast(*t, loop.min);
  loop.extent = cast(*t, loop.extent);
  loop.var = make<VarNode>(Name(), *t);
  return true;
}

auto loop_frame(LoopSpec loop, std::string_view what, Origin where) -> Value {
  BuildFrame f;
  f.kind = FrameKind::Loop;
  f.origin = where;
  f.loops.push_back(std::move(loop));
  return make_object<FrameObject>(std::move(f), what);
}

template <ForKind kind>
auto loop(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"start"}, {"stop", false}, {"annotations", false, true}, {"step", false, true},
                                                    {"dtype", false, true}, {"unroll", false, true}};
  static const char* what = kind == ForKind::Serial ? "T.serial" : kind == ForKind::Parallel ? "T.parallel" : kind == ForKind::Vectorized ? "T.vectorized" : "T.unroll";
  BoundArguments b;
  if (!need_program(e, a, what) || !bind_arguments(e, what, a, parameters, b)) { return not_bound(b); }
  auto spec = make_loop(e, kind, b.values[0], is_given(b, 1) ? &b.values[1] : nullptr, a.call);
  if (!spec) { return Value::error(); }
  if (is_given(b, 2)) {
    auto annotations = to_attrs(e, b.values[2]);
    if (!annotations) { return Value::error(); }
    check_keys(e, Vocabulary::LoopAnnotation, *annotations, b.values[2].where);
    spec->annotations = std::move(*annotations);
  }
  if (is_given(b, 5)) {
    // TVM's main line: a hint for the C compiler to unroll the loop, with the factor.
    static const Name unroll("pragma_unroll"), stay("disable_unroll");
    auto how = to_attr(e, b.values[5]);
    if (!how) { return Value::error(); }
    bool is_off = b.values[5].value.is_bool() && b.values[5].value.to_int().value_or(0) == 0;
    spec->annotations = is_off ? with_attr(spec->annotations, stay, Attr(bool_imm(true))) : with_attr(spec->annotations, unroll, std::move(*how));
  }
  if (is_given(b, 4) && !set_dtype(e, *spec, b.values[4])) { return Value::error(); }
  if (is_given(b, 3) && !add_step(e, *spec, b.values[3])) { return Value::error(); }
  return loop_frame(std::move(*spec), what, a.call);
}

auto thread_binding(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"start"}, {"stop", false}, {"thread", false}, {"annotations", false, true}};
  BoundArguments b;
  if (!need_program(e, a, "T.thread_binding") || !bind_arguments(e, "T.thread_binding", a, parameters, b)) { return not_bound(b); }
  Argument thread = b.values[2];
  bool has_stop = is_given(b, 1);
  if (thread.value.is_none() && b.values[1].value.string()) {
    thread = b.values[1];
    has_stop = false;
  }
  const std::string* tag = thread.value.string();
  if (!tag) {
    return e.report(error(Code::WrongType, thread.value.is_none() ? a.call : thread.where).arg("expected", "a thread tag, `thread=\"threadIdx.x\"`").arg("found", thread.value.is_none() ? "none" : describe(thread.value)));
  }
  check_word(e, Vocabulary::ThreadAxis, *tag, thread.where);
  auto spec = make_loop(e, ForKind::ThreadBinding, b.values[0], has_stop ? &b.values[1] : nullptr, a.call);
  if (!spec) { return Value::error(); }
  IterVar iter;
  iter.var = make<VarNode>(Name("iter"), spec->extent.dtype(), a.call);
  iter.kind = IterKind::ThreadIndex;
  iter.thread_tag = Name(*tag);
  iter.origin = thread.where;
  spec->thread = std::move(iter);
  if (is_given(b, 3)) {
    auto annotations = to_attrs(e, b.values[3]);
    if (!annotations) { return Value::error(); }
    check_keys(e, Vocabulary::LoopAnnotation, *annotations, b.values[3].where);
    spec->annotations = std::move(*annotations);
  }
  return loop_frame(std::move(*spec), "T.thread_binding", a.call);
}

auto grid(Evaluator& e, const Arguments& a) -> Value {
  if (!need_program(e, a, "T.grid")) { return Value::error(); }
  static const Name dtype_name("dtype");
  const Argument* dtype = a.keyword(dtype_name);
  for (size_t i = a.positional; i < a.all.size(); ++i) {
    if (&a.all[i] == dtype) { continue; }
    return e.report(error(Code::UnexpectedArgument, a.all[i].keyword_at).arg("name", a.all[i].keyword.view()).arg("callee", "T.grid"));
  }
  BuildFrame f;
  f.kind = FrameKind::Loop;
  f.origin = a.call;
  bool good = true;
  for (size_t i = 0; i < a.positional; ++i) {
    const Argument& extent = a.all[i];
    std::optional<LoopSpec> spec;
    if (const auto* pair = extent.value.as<eval::Tuple>(); pair && pair->items.size() == 2) {
      Argument stop{pair->items[1], extent.where, {}};
      spec = make_loop(e, ForKind::Serial, {pair->items[0], extent.where, {}}, &stop, extent.where);
    } else {
      spec = make_loop(e, ForKind::Serial, extent, nullptr, extent.where);
    }
    good &= spec.has_value() && (!dtype || dtype->value.is_none() || set_dtype(e, *spec, *dtype));
    if (spec) { f.loops.push_back(std::move(*spec)); }
  }
  if (!good) { return Value::error(); }
  return make_object<FrameObject>(std::move(f), "T.grid");
}

}  // namespace

auto loop_functions() -> FunctionRows {
  static constexpr FunctionRow rows[] = {
      {"serial", loop<ForKind::Serial>}, {"parallel", loop<ForKind::Parallel>}, {"vectorized", loop<ForKind::Vectorized>},
      {"unroll", loop<ForKind::Unrolled>}, {"thread_binding", thread_binding}, {"grid", grid},
  };
  return rows;
}

}  // namespace loopsmith::frontend
