// Makes inputs, compares results, runs the gate: see compare.h.
#include "interp/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "interp/widen.h"
#include "ir/bindings.h"
#include "ir/index_uses.h"
#include "ir/ops.h"
#include "ir/reals.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/error_text.h"
#include "support/hash.h"
#include "support/reasons.h"

namespace loopsmith::interp {
namespace {

// The limit on the bytes of all parameters together: a comparison holds about six copies of them, and a measuring process has 4 GiB.
constexpr int64_t most_input = int64_t{640} << 20;

struct Random {
  uint64_t state;
  auto next() -> uint64_t { return state = hash_combine(state, 0x9e37); }
  auto unit() -> double { return static_cast<double>(next() >> 11) / static_cast<double>(uint64_t{1} << 53); }
  // A sum of uniform numbers is close enough to a normal distribution.
  auto normal() -> double { return (unit() + unit() + unit() + unit() + unit() + unit() - 3) * std::sqrt(2.0); }
};

void fill(TensorView& view, Random& random, Contents contents) {
  int64_t n = view.count() * view.dtype.lanes;
  DataType t = view.dtype.element();
  int bytes = t.element_bytes();
  auto* data = static_cast<char*>(view.data);
  for (int64_t i = 0; i < n; ++i) {
    uint64_t bits;
    if (t.is_real()) {
      bits = to_bits(t, contents == Contents::SmallIntegers ? static_cast<double>(static_cast<int64_t>(random.next() % 7) - 3) : random.normal());
    } else if (t.is_bool()) {
      bits = random.next() & 1;
    } else if (t.is_uint()) {
      bits = random.next() % 9;
    } else {
      bits = static_cast<uint64_t>(static_cast<int64_t>(random.next() % 9) - 4);
    }
    std::memcpy(data + i * bytes, &bits, static_cast<size_t>(bytes));
  }
}

// The buffers whose elements decide which position a function keeps, as argmax does; and a flag that there are such buffers.
struct Compared {
  bool keeps_position = false;
  std::vector<const BufferNode*> buffers;
  [[nodiscard]] auto has(const BufferNode* buffer) const -> bool { return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end(); }
};

// Finds choices such as `T.Select(best[i] >= v[i, k], at[i], k)`, which depend on elements and select an element or a variable.
auto find_compared(const PrimFunc& func) -> Compared {
  Compared out;
  auto has = [](const Expr& e, NodeKind kind) {
    bool found = false;
    post_order(e, [&](const Expr& part) { found = found || part.kind() == kind; });
    return found;
  };
  auto look_at = [&](const Expr& condition, const Expr& a, const Expr& b) {
    bool is_position = a.dtype().is_int() && ((has(a, NodeKind::BufferLoad) && has(b, NodeKind::VarNode)) || (has(b, NodeKind::BufferLoad) && has(a, NodeKind::VarNode)));
    if (!is_position || !has(condition, NodeKind::BufferLoad)) { return; }
    out.keeps_position = true;
    post_order(condition, [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { out.buffers.push_back(load->buffer.get()); } });
  };
  post_order(func->body, [](const Stmt&) {}, [&](const Expr& e) {
    if (const auto* n = e.as<Select>()) { look_at(n->condition, n->true_value, n->false_value); }
    const auto* call = e.as<Call>();
    if (call && call->op == "if_then_else" && call->args.size() == 3) { look_at(call->args[0], call->args[1], call->args[2]); }
  });
  return out;
}

// Fills with different numbers in an order that looks random; false: the type has too few numbers.
auto fill_with_different(TensorView& view, Random& random) -> bool {
  const int64_t n = view.count() * view.dtype.lanes;
  const DataType t = view.dtype.element();
  const int bits = !t.is_real() ? t.bits - 1 : t.bits == 64 ? 53 : t.is_float() && t.bits == 32 ? 24 : t.is_float() && t.bits == 16 ? 11 : 3;
  if (t.is_bool() || n < 1 || bits > 62 || n > (int64_t{1} << std::min(bits, 40))) { return false; }
  // With a step that is coprime to the count, each number is reached once.
  int64_t step = std::max<int64_t>(1, n * 5 / 8);
  while (std::gcd(step, n) != 1) { ++step; }
  int64_t at = static_cast<int64_t>(random.next() % static_cast<uint64_t>(n));
  const int bytes = t.element_bytes();
  for (int64_t i = 0; i < n; ++i, at = (at + step) % n) {
    const int64_t number = t.is_uint() ? at : at - n / 2;
    const uint64_t value = t.is_real() ? to_bits(t, static_cast<double>(number)) : static_cast<uint64_t>(number);
    std::memcpy(static_cast<char*>(view.data) + i * bytes, &value, static_cast<size_t>(bytes));
  }
  return true;
}

/// Integers of a range.
void fill_range(TensorView& view, Random& random, const IndexRange& range) {
  DataType t = view.dtype.element();
  const int bytes = t.element_bytes();
  int64_t last = t.bits < 64 ? std::min(range.last, (int64_t{1} << (t.bits - (t.is_int() ? 1 : 0))) - 1) : range.last;
  const uint64_t choices = last >= range.first ? static_cast<uint64_t>(last - range.first) + 1 : 1;
  for (int64_t i = 0, n = view.count(); i < n; ++i) {
    int64_t value = range.first + static_cast<int64_t>((random.next() >> 1U) % choices);
    std::memcpy(static_cast<char*>(view.data) + i * bytes, &value, static_cast<size_t>(bytes));
  }
}

/// The range of a parameter's elements if they are indices; none if they are not.
auto range_of(const PrimFunc& func, const IndexUses& uses, size_t parameter, const std::vector<std::optional<int64_t>>& slots) -> std::optional<IndexRange> {
  std::optional<IndexRange> out;
  for (const IndexUse& use : uses.known) {
    if (use.parameter != parameter) { continue; }
    if (!out) { out.emplace(); }
    if (auto extent = evaluate(formula_of(func, use.extent), slots)) { out->narrow(use, *extent); }
  }
  return out;
}

auto element(const TensorView& view, int64_t index) -> double {
  DataType t = view.dtype.element();
  int bytes = t.element_bytes();
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(view.data) + index * bytes, static_cast<size_t>(bytes));
  if (t.is_real()) { return from_bits(t, bits); }
  if (t.is_int()) { return static_cast<double>(static_cast<int64_t>(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes)); }
  return static_cast<double>(bits);
}

// True for adjacent numbers of a type with few numbers: rounding may give either.
auto are_neighbours(const TensorView& a, const TensorView& b, int64_t index) -> bool {
  if (!a.dtype.element().is_real() || a.dtype.element().bits != 8 || !(a.dtype == b.dtype)) { return false; }
  const int x = static_cast<const uint8_t*>(a.data)[index], y = static_cast<const uint8_t*>(b.data)[index];
  return std::abs(x - y) == 1;
}

// The error bound relative to the tensor's magnitude: above the rounding errors of long sums, below the errors of wrong elements.
auto bound_of(DataType t) -> double {
  if (t.is_float() && t.bits == 64) { return 1e-9; }
  if (t.is_float() && t.bits == 32) { return 2e-5; }
  if (t.is_float() && t.bits == 16) { return 1e-2; }
  return 6e-2;
}

// `bytes`: none if the number overflows 63 bits.
auto over_limit(std::optional<int64_t> bytes) -> std::string {
  return "with it the parameters have " + (bytes ? std::to_string(*bytes) : std::string("over 2^63")) + " bytes, and a comparison takes inputs of at most " +
         std::to_string(most_input) + " bytes";
}

// Finds the longest chain of updates of one element: for each store that reads the element it updates, the number of iterations that reach the same element.
class LongestChain final : public Visitor {
 public:
  using Visitor::on;
  double weight = 0;   // the operations in the text, plus the length of each chain of updates times the condition number of its sum

  void on(const For& n) override {
    loops_.emplace_back(n.var.get(), static_cast<double>(as_int(n.extent).value_or(unknown_extent)));
    Visitor::on(n);
    loops_.pop_back();
  }
  void on(const While& n) override {
    weight = HUGE_VAL;
    Visitor::on(n);
  }
  void on(const BlockRealize& n) override {
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      std::vector<const VarNode*> loops;
      add_loops(n.iter_values[i], loops);
      behind_[n.block->iter_vars[i].var.get()] = std::move(loops);
    }
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    bool updates = false;
    post_order(n.value, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      updates = updates || (load != nullptr && load->buffer.same_as(n.buffer));
      // Each operation in the text rounds once; those of chains are counted below.
      if (load == nullptr && e.dtype().is_real() && !e.as<FloatImm>()) { weight += 1; }
    });
    if (updates) {
      std::vector<const VarNode*> used;
      for (const Expr& index : n.indices) { add_loops(index, used); }
      double length = 1;
      for (const auto& [var, extent] : loops_) {
        if (std::find(used.begin(), used.end(), var) == used.end()) { length *= std::max(1.0, extent); }
      }
      // If terms have both signs, the magnitudes add up to about sqrt(length) times the magnitude of the sum.
      weight += length * std::sqrt(length);
    }
    Visitor::on(n);
  }

 private:
  static constexpr int64_t unknown_extent = 64;

  void add_loops(const Expr& expr, std::vector<const VarNode*>& to) {
    post_order(expr, [&](const Expr& e) {
      const auto* var = e.as<VarNode>();
      if (var == nullptr) { return; }
      auto known = behind_.find(var);
      if (known == behind_.end()) {
        to.push_back(var);
      } else {
        to.insert(to.end(), known->second.begin(), known->second.end());
      }
    });
  }

  std::vector<std::pair<const VarNode*, double>> loops_;
  std::unordered_map<const VarNode*, std::vector<const VarNode*>> behind_;   // the loops used in the value of an iter var
};

}  // namespace

auto make_inputs(const PrimFunc& func, uint64_t seed, Contents contents, int64_t size) -> Result<Inputs> {
  Inputs out;
  out.storage.resize(func->params.size());
  Random random{hash_combine(seed, 0x1234567)};
  const Compared compared = find_compared(func);
  Sizes sizes = sizes_of(func);
  std::vector<std::optional<int64_t>> slots(sizes.slots());
  int64_t named = 0;
  // Sizes that are a whole extent come first. Different sizes get different values, so that exchanged dimensions become visible.
  for (bool is_plain : {true, false}) {
    for (const BufferSizes& buffer : sizes.buffers) {
      for (const Formula& formula : buffer.shape) {
        for (const Formula::Step& step : formula.steps) {
          if (step.op != Formula::Op::Slot || formula.slot().has_value() != is_plain) { continue; }
          auto slot = static_cast<size_t>(step.value);
          if (slots[slot]) { continue; }
          slots[slot] = size + (slot < sizes.parameters ? 0 : named % 3);
          ++named;
        }
      }
    }
  }
  IndexUses uses = index_uses(func);
  int64_t total = 0;
  for (size_t i = 0; i < func->params.size(); ++i) {
    const Var& param = func->params[i];
    Buffer buffer = func->buffer_of(param);
    if (!buffer) {
      if (param->dtype.is_handle()) {
        return error(loopsmith::Code::InterpArgument, param->origin).arg("name", param->name.view()).arg("reason", because(Why::PointerWithoutBuffer).text());
      }
      if (param->dtype.is_real()) { out.arguments.emplace_back(1.5); continue; }
      out.arguments.emplace_back(slots[i].value_or(size));
      continue;
    }
    if (buffer->dtype.element_bytes() > static_cast<int>(sizeof(uint64_t))) {
      return error(loopsmith::Code::InterpArgument, param->origin).arg("name", buffer->name.view()).arg("reason", because(Why::ElementsTooWide).text());
    }
    TensorView view;
    view.dtype = buffer->dtype;
    int64_t bytes = buffer->dtype.element_bytes() * buffer->dtype.lanes;
    bool fits = true;
    const BufferSizes& shape = *std::find_if(sizes.buffers.begin(), sizes.buffers.end(), [&](const BufferSizes& b) { return b.parameter == i; });
    for (const Formula& formula : shape.shape) {
      auto extent = evaluate(formula, slots);
      if (!extent || *extent < 0) {
        return error(loopsmith::Code::InterpArgument, param->origin).arg("name", buffer->name.view()).arg("reason", because(Why::ShapeUnknown).text());
      }
      fits = !__builtin_mul_overflow(bytes, *extent, &bytes) && fits;
      view.shape.push_back(*extent);
    }
    fits = !__builtin_add_overflow(total, bytes, &total) && fits;
    if (!fits || total > most_input) {
      return error(loopsmith::Code::InterpArgument, param->origin).arg("name", buffer->name.view()).arg("reason", over_limit(fits ? std::optional(total) : std::nullopt));
    }
    out.storage[i].resize(static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    view.data = out.storage[i].data();
    if (std::find(uses.unknown.begin(), uses.unknown.end(), i) != uses.unknown.end()) {
      return error(loopsmith::Code::InterpArgument, param->origin).arg("name", buffer->name.view()).arg("reason", because(Why::IndicesWithoutRange).text());
    }
    // Among equal elements a schedule may find another one.
    if (auto range = range_of(func, uses, i, slots)) {
      fill_range(view, random, *range);
    } else if (!compared.has(buffer.get()) || !fill_with_different(view, random)) {
      fill(view, random, compared.keeps_position && buffer->dtype.element().is_real() ? Contents::Reals : contents);
    }
    out.arguments.emplace_back(view);
  }
  return out;
}

auto copy_inputs(const Inputs& inputs) -> Inputs {
  Inputs out{inputs.arguments, inputs.storage};
  for (size_t i = 0; i < out.arguments.size(); ++i) {
    if (auto* view = std::get_if<TensorView>(&out.arguments[i])) { view->data = out.storage[i].data(); }
  }
  return out;
}

auto magnitude_of(const TensorView& view) -> double {
  double largest = 0;
  if (!view.dtype.element().is_real()) { return largest; }
  for (int64_t i = 0, n = view.count() * view.dtype.lanes; i < n; ++i) {
    double v = std::fabs(element(view, i));
    if (std::isfinite(v)) { largest = std::max(largest, v); }
  }
  return largest;
}

auto compare_tensors(const std::string& name, const TensorView& before, const TensorView& after, bool exact, double magnitude) -> Difference {
  Difference out;
  int64_t n = before.count() * before.dtype.lanes;
  DataType t = before.dtype.element();
  double scale = exact ? 0 : std::max(magnitude, magnitude_of(before));
  double bound = t.is_real() && !exact ? bound_of(t) * std::max(scale, 1e-30) : 0;
  double furthest = 0;
  for (int64_t i = 0; i < n; ++i) {
    double a = element(before, i);
    double b = element(after, i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) { continue; }
    double apart = std::fabs(a - b);
    if (std::isfinite(apart)) { furthest = std::max(furthest, apart); }
    if (apart <= bound || (!exact && are_neighbours(before, after, i))) { continue; }
    if (out.elements++ == 0) {
      std::string index;
      int64_t rest = i / before.dtype.lanes;
      for (size_t d = before.shape.size(); d-- > 0;) {
        index = std::to_string(rest % before.shape[d]) + (index.empty() ? "" : ", ") + index;
        rest /= before.shape[d];
      }
      char text[160];
      std::snprintf(text, sizeof text, "]: %.9g before, %.9g after", a, b);
      out.where = name + "[" + index + text;
      out.found = true;
    }
    if (std::isfinite(apart)) { out.largest = std::max(out.largest, apart); }
  }
  if (t.is_real()) {
    out.allowed = bound_of(t);
    if (furthest > 0) { out.relative = furthest / std::max(scale > 0 ? scale : magnitude_of(before), 1e-30); }
  }
  return out;
}

auto is_exact_on_integers(const PrimFunc& func) -> bool {
  struct Inexact : Visitor {
    using Visitor::on;
    using Visitor::visit;
    bool found = false;
    void on(const Div& n) override { found = found || n.dtype.is_real(); Visitor::on(n); }
    void on(const Call& n) override {
      found = found || (n.dtype.is_real() && !(n.op == "if_then_else") && !(n.op == "likely"));
      Visitor::on(n);
    }
    void on(const FloatImm& n) override { found = found || n.value != std::nearbyint(n.value); }
    // Short types overflow or round even for integers.
    void on(const BufferStore& n) override {
      DataType t = n.buffer->dtype;
      found = found || (t.is_real() && t.bits < 32);
      Visitor::on(n);
    }
  } inexact;
  inexact.visit(func->body);
  // If positions are kept, inputs are not small integers.
  return !inexact.found && !find_compared(func).keeps_position;
}

auto Before::run(const IRModule& module, Name function, const GateOptions& options) -> Result<Before> {
  PrimFunc func = module->find(function);
  if (!func) { return error(loopsmith::Code::NoFunctionToSchedule).arg("function", function.view()); }
  Before out;
  out.module_ = module;
  out.function_ = function;
  out.options_ = options;
  out.exact_ = is_exact_on_integers(func);
  for (const Var& param : func->params) {
    Buffer buffer = func->buffer_of(param);
    out.names_.push_back(buffer ? buffer->name : param->name);
  }
  Options run;
  run.max_steps = options.max_steps;
  run.max_seconds = options.max_seconds;
  run.cancel = options.cancel;
  for (Contents contents : {Contents::SmallIntegers, Contents::Reals}) {
    LOOPSMITH_TRY(inputs, make_inputs(func, options.seed, contents, options.size));
    Inputs results = copy_inputs(inputs);
    LOOPSMITH_TRY(stats, interpret(module, function, results.arguments, run));
    (void)stats;
    out.rounds_.push_back({contents, std::move(inputs), std::move(results)});
  }
  return out;
}

auto rounding_of_sums(const PrimFunc& func, DataType t) -> double {
  // If the difference is larger, it is an error, or the type is too short for the sum.
  constexpr double most_of_short = 0.25;
  constexpr double most_of_float = 0.01;
  const double most = t.bits < 32 ? most_of_short : most_of_float;
  LongestChain chain;
  chain.visit(func->body);
  // Half the distance between 1 and the next number.
  const int digits = t.bits == 32 ? 24 : t.bits == 16 ? (t.is_float() ? 11 : 8) : 3;
  return std::min(most, std::max(bound_of(t), 2 * chain.weight * std::ldexp(1.0, -digits)));
}

/// The shortest type of reals in which a function computes, up to the type of an output: the rounding errors of the output are at least those of that type.
static auto shortest_computed(const PrimFunc& func, DataType t) -> DataType {
  DataType out = t;
  post_order(func->body, [](const Stmt&) {}, [&](const Expr& e) {
    const NodeKind kind = e.kind();
    const auto* call = e.as<Call>();
    const bool is_computed = kind == NodeKind::Add || kind == NodeKind::Sub || kind == NodeKind::Mul || kind == NodeKind::Div || (call && call->op != "if_then_else" && call->op != "likely");
    if (is_computed && e.dtype().is_real() && e.dtype().bits < out.bits) { out = e.dtype().element(); }
  });
  return out;
}

auto deciding_bits(const PrimFunc& func, DataType t, double apart, double magnitude) -> int {
  if (!t.is_real()) { return 0; }
  const DataType computed = t.bits >= 64 ? shortest_computed(func, t) : t;
  if (computed.bits >= 64) { return 0; }
  return apart <= rounding_of_sums(func, computed) * magnitude ? (computed.bits < 32 ? 32 : 64) : 0;
}

// True when the versions agree in a type of that width.
auto Before::is_rounding(const IRModule& after, int bits) const -> bool {
  IRModule wide_before = with_wide_reals(module_, bits), wide_after = with_wide_reals(after, bits);
  if (!wide_before || !wide_after) { return false; }
  auto decided = compare_modules(wide_before, wide_after, function_, options_);
  return decided.ok() && decided->equal;
}

auto Before::compare(const IRModule& after) const -> Result<GateResult> {
  GateResult out{.how = "2 inputs, against the interpreter", .difference = {}};
  double error = -1, allowed = 0;
  Options run;
  run.max_steps = options_.max_steps;
  run.max_seconds = options_.max_seconds;
  run.cancel = options_.cancel;
  for (const Round& round : rounds_) {
    Inputs other = copy_inputs(round.inputs);
    Result<Stats> stats = interpret(after, function_, other.arguments, run);
    if (!stats.ok()) {
      const Diagnostic& d = stats.diagnostics().front();
      // A run that was stopped proves nothing.
      if (d.code == loopsmith::Code::InterpLimit || d.code == loopsmith::Code::Cancelled || d.code == loopsmith::Code::InterpUnsupported) {
        return std::move(stats).diagnostics();
      }
      out.equal = false;
      out.difference = d.message();
      return out;
    }
    // The integer inputs have checked the computation; real inputs check the rounding. The error of a small difference is that of its operands.
    double magnitude = 0;
    for (const Argument& argument : round.results.arguments) {
      const auto* view = std::get_if<TensorView>(&argument);
      if (view && exact_ && round.contents == Contents::Reals) { magnitude = std::max(magnitude, magnitude_of(*view)); }
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      const auto* a = std::get_if<TensorView>(&round.results.arguments[i]);
      if (!a) { continue; }
      Difference d = compare_tensors(names_[i].str(), *a, std::get<TensorView>(other.arguments[i]), exact_ && round.contents == Contents::SmallIntegers, magnitude);
      int bits = d.found ? deciding_bits(module_->find(function_), a->dtype.element(), d.largest, std::max(magnitude, magnitude_of(*a))) : 0;
      if (bits > 0 && is_rounding(after, bits)) {
        out.how = "2 inputs: all outputs against the interpreter, in float" + std::to_string(bits) + ", as they round apart in " + a->dtype.element().str();
        return out;
      }
      if (a->dtype.element().is_real() && d.relative > error) {
        error = d.relative;
        allowed = d.allowed;
      }
      if (d.found) {
        out.equal = false;
        out.difference = d.where;
        return out;
      }
    }
  }
  std::string reals = error_text(error, allowed);
  out.how = "2 inputs: all outputs against the interpreter" + (reals.empty() ? "" : ", " + reals);
  return out;
}

auto compare_modules(const IRModule& before, const IRModule& after, Name function, const GateOptions& options) -> Result<GateResult> {
  LOOPSMITH_TRY(known, Before::run(before, function, options));
  return known.compare(after);
}

}  // namespace loopsmith::interp
