// Formulas of sizes, and solving for the values of their variables: see bindings.h.
#include "ir/bindings.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/strides.h"
#include "ir/visitor.h"

namespace loopsmith {
namespace {

using Op = Formula::Op;

auto op_of(NodeKind kind) -> std::optional<Op> {
  switch (kind) {
    case NodeKind::Add: return Op::Add;
    case NodeKind::Sub: return Op::Sub;
    case NodeKind::Mul: return Op::Mul;
    case NodeKind::Div:        // the same for sizes, which are not negative
    case NodeKind::FloorDiv: return Op::FloorDiv;
    case NodeKind::Mod:
    case NodeKind::FloorMod: return Op::FloorMod;
    case NodeKind::Min: return Op::Min;
    case NodeKind::Max: return Op::Max;
    default: return std::nullopt;
  }
}

/// Converts an expression to a formula. False: the expression has no formula.
auto write(const Expr& e, const std::vector<const VarNode*>& slots, Formula& out, size_t depth) -> bool {
  if (depth > max_formula_depth || out.steps.size() > 64) { return false; }
  if (auto value = as_int(e)) {
    out.steps.push_back({Op::Constant, *value});
    return true;
  }
  if (const auto* v = e.as<VarNode>()) {
    auto found = std::find(slots.begin(), slots.end(), v);
    if (found == slots.end()) { return false; }
    out.steps.push_back({Op::Slot, found - slots.begin()});
    return true;
  }
  if (const auto* n = e.as<Cast>()) { return n->dtype.is_integral() && n->value.dtype().is_integral() && write(n->value, slots, out, depth); }
  auto op = op_of(e.kind());
  if (!op) { return false; }
  const auto& n = *static_cast<const BinaryNode*>(e.get());
  if (!write(n.a, slots, out, depth) || !write(n.b, slots, out, depth + 1)) { return false; }
  out.steps.push_back({*op, 0});
  return true;
}

auto slots_of(const PrimFunc& func) -> std::vector<const VarNode*> {
  std::vector<const VarNode*> slots;
  for (const Var& param : func->params) { slots.push_back(param.get()); }
  for (const Var& v : shape_variables(func)) { slots.push_back(v.get()); }
  return slots;
}

auto formula_over(const std::vector<const VarNode*>& slots, const Expr& e) -> Formula {
  Formula out;
  if (!write(e, slots, out, 0)) { out.steps.clear(); }
  return out;
}

/// A value a x + b of one unknown x.
struct Line {
  int64_t a = 0, b = 0;
};

auto divide(int64_t a, int64_t b) -> int64_t { return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0); }

auto combine(Op op, const Line& x, const Line& y) -> std::optional<Line> {
  Line out;
  const bool is_plain = x.a == 0 && y.a == 0;
  int64_t left = 0, right = 0;
  switch (op) {
    case Op::Add:
      if (__builtin_add_overflow(x.a, y.a, &out.a) || __builtin_add_overflow(x.b, y.b, &out.b)) { return {}; }
      return out;
    case Op::Sub:
      if (__builtin_sub_overflow(x.a, y.a, &out.a) || __builtin_sub_overflow(x.b, y.b, &out.b)) { return {}; }
      return out;
    case Op::Mul:
      if (x.a != 0 && y.a != 0) { return {}; }
      if (__builtin_mul_overflow(x.a, y.b, &left) || __builtin_mul_overflow(x.b, y.a, &right) || __builtin_add_overflow(left, right, &out.a) ||
          __builtin_mul_overflow(x.b, y.b, &out.b)) {
        return {};
      }
      return out;
    case Op::FloorDiv: return is_plain && y.b > 0 ? std::optional(Line{0, divide(x.b, y.b)}) : std::nullopt;
    case Op::FloorMod: return is_plain && y.b > 0 ? std::optional(Line{0, x.b - divide(x.b, y.b) * y.b}) : std::nullopt;
    case Op::Min: return is_plain ? std::optional(Line{0, std::min(x.b, y.b)}) : std::nullopt;
    case Op::Max: return is_plain ? std::optional(Line{0, std::max(x.b, y.b)}) : std::nullopt;
    case Op::Constant:
    case Op::Slot: break;
  }
  return {};
}

/// The formula as a linear function of `unknown`, which may be no slot at all. None: it has other unknowns, is not linear, or its numbers are too large.
auto as_line(const Formula& formula, const std::vector<std::optional<int64_t>>& slots, size_t unknown) -> std::optional<Line> {
  std::vector<Line> stack;
  for (const Formula::Step& step : formula.steps) {
    if (step.op == Op::Constant) {
      stack.push_back({0, step.value});
    } else if (step.op == Op::Slot) {
      auto slot = static_cast<size_t>(step.value);
      if (slot == unknown) { stack.push_back({1, 0}); }
      else if (slots[slot]) { stack.push_back({0, *slots[slot]}); }
      else { return {}; }
    } else {
      auto made = combine(step.op, stack[stack.size() - 2], stack.back());
      if (!made) { return {}; }
      stack.pop_back();
      stack.back() = *made;
    }
  }
  return stack.empty() ? std::nullopt : std::optional(stack.back());
}

/// The only unknown slot of a formula, which may occur in it several times; none: it has no unknown slot, or several.
auto only_unknown(const Formula& formula, const std::vector<std::optional<int64_t>>& slots) -> std::optional<size_t> {
  std::optional<size_t> out;
  for (const Formula::Step& step : formula.steps) {
    if (step.op != Op::Slot || slots[static_cast<size_t>(step.value)]) { continue; }
    if (out && *out != static_cast<size_t>(step.value)) { return {}; }
    out = static_cast<size_t>(step.value);
  }
  return out;
}

/// A formula of a buffer, and the number that the tensor gives for it.
struct Equation {
  size_t buffer;
  enum class Of : uint8_t { Shape, Strides, Offset } of;
  const Formula* formula;
  int64_t given;
};

auto strides_of(const GivenTensor& tensor) -> std::vector<int64_t> {
  if (!tensor.strides.empty()) { return tensor.strides; }
  std::vector<int64_t> out(tensor.shape.size());
  int64_t stride = 1;
  for (size_t d = out.size(); d-- > 0;) {
    out[d] = stride;
    if (__builtin_mul_overflow(stride, std::max<int64_t>(tensor.shape[d], 1), &stride)) { stride = 0; }
  }
  return out;
}

auto equations_of(const Sizes& sizes, const std::vector<const GivenTensor*>& given) -> std::vector<Equation> {
  std::vector<Equation> out;
  for (size_t i = 0; i < sizes.buffers.size(); ++i) {
    if (given[i] == nullptr) { continue; }
    const BufferSizes& buffer = sizes.buffers[i];
    for (size_t d = 0; d < buffer.shape.size(); ++d) { out.push_back({i, Equation::Of::Shape, &buffer.shape[d], given[i]->shape[d]}); }
    std::vector<int64_t> strides = strides_of(*given[i]);
    for (size_t d = 0; d < buffer.strides.size(); ++d) {
      // In a dimension with at most one element the stride has no effect.
      if (given[i]->shape[d] <= 1 && !buffer.strides[d].slot()) { continue; }
      out.push_back({i, Equation::Of::Strides, &buffer.strides[d], strides[d]});
    }
    if (buffer.offset) { out.push_back({i, Equation::Of::Offset, &*buffer.offset, given[i]->offset}); }
  }
  return out;
}

auto shape_text(const std::vector<int64_t>& shape) -> std::string { return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : ""); }

auto misfit_of(const Sizes& sizes, const Equation& equation, const std::vector<std::optional<int64_t>>& slots, const GivenTensor& tensor) -> Misfit {
  const BufferSizes& buffer = sizes.buffers[equation.buffer];
  Misfit out{.buffer = equation.buffer, .expected = {}, .found = {}, .note = {}};
  switch (equation.of) {
    case Equation::Of::Shape:
      out.expected = "shape " + text_of(sizes, buffer.shape);
      out.found = shape_text(tensor.shape);
      break;
    case Equation::Of::Strides:
      out.expected = "strides " + text_of(sizes, buffer.strides);
      out.found = shape_text(strides_of(tensor));
      break;
    case Equation::Of::Offset:
      out.expected = "an offset of " + text_of(sizes, *buffer.offset) + " elements";
      out.found = std::to_string(tensor.offset);
      break;
  }
  for (const Formula::Step& step : equation.formula->steps) {
    auto slot = static_cast<size_t>(step.value);
    if (step.op != Op::Slot || slot < sizes.parameters || !slots[slot]) { continue; }
    out.note = fmt::format("elsewhere `{}` is {}", sizes.variables[slot - sizes.parameters].name, *slots[slot]);
  }
  return out;
}

auto fits(DataType type, int64_t value) -> bool { return type.bits >= 64 || (value >= -(int64_t(1) << (type.bits - 1)) && value < int64_t(1) << (type.bits - (type.is_uint() ? 0 : 1))); }

}  // namespace

auto shape_variables(const PrimFunc& func) -> std::vector<Var> {
  std::vector<Var> out;
  auto is_known = [&](const Var& v) {
    return std::any_of(func->params.begin(), func->params.end(), [&](const Var& p) { return p == v; }) ||
           std::find(out.begin(), out.end(), v) != out.end();
  };
  auto look = [&](const Expr& e) {
    if (!e) { return; }
    post_order(e, [&](const Expr& sub) {
      if (auto v = sub.ref<VarNode>(); v && !is_known(v)) { out.push_back(v); }
    });
  };
  for (const auto& [param, buffer] : func->buffer_map) {
    for (const Expr& dim : buffer->shape) { look(dim); }
    for (const Expr& stride : buffer->strides) { look(stride); }
    look(buffer->elem_offset);
  }
  return out;
}

auto formula_of(const PrimFunc& func, const Expr& expr) -> Formula { return formula_over(slots_of(func), expr); }

auto sizes_of(const PrimFunc& func) -> Sizes {
  Sizes out;
  out.parameters = func->params.size();
  for (const Var& param : func->params) { out.names.push_back(param->name.str()); }
  for (const Var& v : shape_variables(func)) { out.variables.push_back({v->name.str(), v->dtype}); }
  std::vector<const VarNode*> slots = slots_of(func);
  auto formula = [&](const Expr& e) { return formula_over(slots, e); };
  for (size_t i = 0; i < func->params.size(); ++i) {
    Buffer buffer = func->buffer_of(func->params[i]);
    if (!buffer) { continue; }
    BufferSizes sizes{.parameter = i, .name = buffer->name.str(), .shape = {}, .strides = {}, .offset = {}};
    for (const Expr& e : buffer->shape) { sizes.shape.push_back(formula(e)); }
    if (is_strided(buffer)) {
      for (const Expr& e : buffer->strides) { sizes.strides.push_back(formula(e)); }
    }
    if (buffer->elem_offset && !is_zero(buffer->elem_offset)) { sizes.offset = formula(buffer->elem_offset); }
    out.buffers.push_back(std::move(sizes));
  }
  return out;
}

auto undetermined_variable(const Sizes& sizes) -> std::optional<size_t> {
  // Symbolically: a formula with one unknown determines it if the formula is linear with a slope other than 0 when the known slots are 1 (the slope may be 0 for
  // other values, which `solve` then reports).
  std::vector<std::optional<int64_t>> slots(sizes.slots());
  for (size_t i = 0; i < sizes.parameters; ++i) { slots[i] = 1; }
  for (bool goes_on = true; std::exchange(goes_on, false);) {
    auto take = [&](const Formula& formula) {
      auto unknown = only_unknown(formula, slots);
      auto line = unknown ? as_line(formula, slots, *unknown) : std::nullopt;
      if (line && line->a != 0) { slots[*unknown] = 1; goes_on = true; }
    };
    for (const BufferSizes& buffer : sizes.buffers) {
      for (const Formula& f : buffer.shape) { take(f); }
      for (const Formula& f : buffer.strides) { take(f); }
      if (buffer.offset) { take(*buffer.offset); }
    }
  }
  for (size_t i = 0; i < sizes.variables.size(); ++i) {
    if (!slots[sizes.parameters + i]) { return i; }
  }
  return {};
}

auto evaluate(const Formula& formula, const std::vector<std::optional<int64_t>>& slots) -> std::optional<int64_t> {
  auto line = as_line(formula, slots, SIZE_MAX);
  return line ? std::optional(line->b) : std::nullopt;
}

auto solve(const Sizes& sizes, std::vector<std::optional<int64_t>>& slots, const std::vector<const GivenTensor*>& given, bool is_complete) -> std::optional<Misfit> {
  std::vector<Equation> equations = equations_of(sizes, given);
  auto misfit = [&](const Equation& equation) { return misfit_of(sizes, equation, slots, *given[equation.buffer]); };
  // Formulas that consist of one variable come first, so that a message names the simplest place.
  for (bool goes_on = true; std::exchange(goes_on, false);) {
    for (bool is_plain : {true, false}) {
      for (const Equation& equation : equations) {
        if (equation.formula->slot().has_value() != is_plain || (!is_plain && goes_on)) { continue; }
        auto unknown = only_unknown(*equation.formula, slots);
        auto line = unknown ? as_line(*equation.formula, slots, *unknown) : std::nullopt;
        int64_t rest = 0;
        if (!line || line->a == 0 || __builtin_sub_overflow(equation.given, line->b, &rest)) { continue; }
        if (rest % line->a != 0 || (line->a == -1 && rest == INT64_MIN)) { return misfit(equation); }
        int64_t value = rest / line->a;
        if (*unknown >= sizes.parameters && !fits(sizes.variables[*unknown - sizes.parameters].type, value)) { return misfit(equation); }
        slots[*unknown] = value;
        goes_on = true;
      }
    }
  }
  for (const Equation& equation : equations) {
    if (!equation.formula->is_known() || (!is_complete && only_unknown(*equation.formula, slots))) { continue; }
    auto value = evaluate(*equation.formula, slots);
    if (value ? *value != equation.given : is_complete && !only_unknown(*equation.formula, slots)) { return misfit(equation); }
  }
  for (size_t i = 0; is_complete && i < sizes.variables.size(); ++i) {
    if (!slots[sizes.parameters + i]) {
      return Misfit{.expected = "a value that the shapes of the tensors give", .found = "none", .note = {}, .variable = i};
    }
  }
  return {};
}

auto text_of(const Sizes& sizes, const Formula& formula) -> std::string {
  static constexpr std::string_view signs[] = {"", "", " + ", " - ", " * ", " // ", " % "};
  struct Part {
    std::string text;
    bool is_compound = false;   // a sum or a product, which needs brackets inside another one
    [[nodiscard]] auto inside() const -> std::string { return is_compound ? "(" + text + ")" : text; }
  };
  std::vector<Part> stack;
  for (const Formula::Step& step : formula.steps) {
    if (step.op == Op::Constant) { stack.push_back({std::to_string(step.value)}); continue; }
    if (step.op == Op::Slot) {
      auto slot = static_cast<size_t>(step.value);
      stack.push_back({slot >= sizes.parameters ? sizes.variables[slot - sizes.parameters].name : sizes.names[slot]});
      continue;
    }
    Part right = std::move(stack.back());
    stack.pop_back();
    Part left = std::move(stack.back());
    bool is_call = step.op == Op::Min || step.op == Op::Max;
    stack.back() = is_call ? Part{fmt::format("{}({}, {})", step.op == Op::Min ? "min" : "max", left.text, right.text)}
                           : Part{left.inside() + std::string(signs[static_cast<size_t>(step.op)]) + right.inside(), true};
  }
  return stack.empty() ? "?" : stack.back().text;
}

auto text_of(const Sizes& sizes, const std::vector<Formula>& formulas) -> std::string {
  std::vector<std::string> texts;
  for (const Formula& formula : formulas) { texts.push_back(text_of(sizes, formula)); }
  return fmt::format("({}{})", fmt::join(texts, ", "), texts.size() == 1 ? "," : "");
}

}  // namespace loopsmith
