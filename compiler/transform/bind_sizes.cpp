// Constant values for symbolic sizes: see bind_sizes.h.
#include "transform/bind_sizes.h"

#include <algorithm>
#include <limits>

#include "ir/bindings.h"
#include "ir/ops.h"
#include "ir/rewritten_buffer.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/saturate.h"
#include "transform/fold.h"

namespace loopsmith::transform {
namespace {

/// The variables of a function that are sizes.
auto size_variables(const PrimFunc& func) -> std::vector<Var> {
  std::vector<Var> out;
  for (const Var& param : func->params) {
    if (!func->buffer_of(param) && param->dtype.is_integral() && param->dtype.is_scalar()) { out.push_back(param); }
  }
  for (const Var& variable : shape_variables(func)) { out.push_back(variable); }
  return out;
}

constexpr int64_t most_narrow = std::numeric_limits<int32_t>::max();
auto wide() -> DataType { return DataType::int_(64); }
auto narrow() -> DataType { return DataType::int_(32); }

/// True where the numbers of 64 bits in a function are sizes, loops and indices only, and 32 bits hold them.
auto needs_no_wide_numbers(const PrimFunc& func) -> bool {
  bool out = true;
  auto check_buffer = [&](const Buffer& buffer) {
    if (buffer->dtype.is_integral() && buffer->dtype.bits == 64) { out = false; }
    int64_t elements = 1;
    for (const Expr& extent : buffer->shape) {
      const auto number = as_int(extent);
      elements = number ? saturating_mul(elements, *number) : most_narrow + 1;
    }
    out = out && elements <= most_narrow;
  };
  for (const auto& [param, buffer] : func->buffer_map) { check_buffer(buffer); }
  post_order(func->body, [&](const Stmt& stmt) {
    if (const auto* realize = stmt.as<BlockRealize>()) { for (const Buffer& buffer : realize->block->alloc_buffers) { check_buffer(buffer); } }
    if (const auto* realize = stmt.as<BlockRealize>()) { out = out && realize->block->match_buffers.empty(); }
    const bool is_plain = stmt.as<For>() || stmt.as<SeqStmt>() || stmt.as<BlockRealize>() || stmt.as<Block>() || stmt.as<BufferStore>() || stmt.as<IfThenElse>() || stmt.as<Evaluate>();
    out = out && is_plain;
  }, [&](const Expr& expr) {
    const auto* number = expr.as<IntImm>();
    if (number && number->dtype == wide()) { out = out && number->value <= most_narrow && number->value >= -most_narrow; }
    // Calls have types of their own: shifts, bits, intrinsics.
    if (expr.as<Call>() && expr.dtype() == wide()) { out = false; }
  });
  // A parameter keeps its type.
  for (const Var& param : func->params) {
    const bool is_used = !func->buffer_of(param) && param->dtype == wide() && uses_var(func->body, [&](const VarNode& v) { return &v == param.get(); });
    out = out && !is_used;
  }
  return out;
}

/// Computes loops and indices in 32 bits.
class NarrowAll : public Mutator {
 public:
  using Mutator::on;
  auto on(const IntImm& n) -> Expr override { return n.dtype == wide() ? int_imm(n.value, narrow(), n.origin) : self(n); }
  auto on(const VarNode& n) -> Expr override {
    auto found = vars_.find(&n);
    return found == vars_.end() ? self(n) : Expr(found->second);
  }
  auto on(const Cast& n) -> Expr override {
    Expr value = mutate(n.value);
    if (n.dtype == wide()) { return value.dtype() == narrow() ? value : make<Cast>(narrow(), std::move(value), n.origin); }
    return value.dtype() == n.dtype ? value : value.same_as(n.value) ? self(n) : make<Cast>(n.dtype, std::move(value), n.origin);
  }
  auto buffer(const Buffer& old) -> Buffer {
    auto [at, is_new] = buffers_.emplace(old.get(), old);
    if (is_new) { at->second = rewritten_buffer(old, [this](const Expr& e) { return mutate(e); }); }
    return buffers_.at(old.get());
  }

 protected:
  auto use(const Buffer& old) -> Buffer override { return buffer(old); }
  auto declare(const Var& var) -> Var override {
    if (!(var->dtype == wide())) { return var; }
    auto [at, is_new] = vars_.emplace(var.get(), var);
    if (is_new) { at->second = make<VarNode>(var->name, narrow(), var->origin); }
    return at->second;
  }
  using Mutator::declare;

 private:
  std::unordered_map<const VarNode*, Var> vars_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

/// The function with new buffers and body, made by a mutator with a method `buffer`.
template <class M>
auto rewritten(const PrimFunc& func, M& mutator) -> PrimFunc {
  PrimFuncNode out = *func;
  std::vector<std::pair<Var, Buffer>> buffers;
  for (const auto& [param, buffer] : func->buffer_map) { buffers.emplace_back(param, mutator.buffer(buffer)); }
  out.buffer_map = Array<std::pair<Var, Buffer>>(std::move(buffers));
  out.body = mutator.mutate(func->body);
  return make_func(std::move(out));
}

class BindSizes : public Mutator {
 public:
  explicit BindSizes(const VarMap& map) : map_(map) {}
  using Mutator::on;
  auto on(const VarNode& n) -> Expr override {
    auto found = map_.find(&n);
    return found == map_.end() ? self(n) : found->second;
  }
  auto buffer(const Buffer& old) -> Buffer {
    auto [at, is_new] = buffers_.emplace(old.get(), old);
    if (is_new) { at->second = rewritten_buffer(old, [this](const Expr& e) { return fold(mutate(e)); }); }
    // A reference into the map would not survive the next buffer.
    return buffers_.at(old.get());
  }

 protected:
  auto use(const Buffer& old) -> Buffer override { return buffer(old); }

 private:
  const VarMap& map_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

}  // namespace

auto size_names(const PrimFunc& func) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const Var& variable : size_variables(func)) { out.push_back(variable->name.str()); }
  return out;
}

auto bind_sizes(const PrimFunc& func, const SizeValues& sizes) -> Result<PrimFunc> {
  const std::vector<Var> variables = size_variables(func);
  VarMap map;
  for (const auto& [name, value] : sizes) {
    auto at = std::find_if(variables.begin(), variables.end(), [&](const Var& v) { return v->name.view() == name; });
    if (at == variables.end()) {
      std::string known;
      for (const Var& v : variables) { known += (known.empty() ? "`" : ", `") + v->name.str() + "`"; }
      return error(Code::BadValue, func->origin).arg("action", "give size `" + name + "` a value").arg("reason", (known.empty() ? because(Why::NoSizes) : because(Why::NoSuchSize).arg("size", name).arg("known", known)).text());
    }
    map.emplace(at->get(), int_imm(value, (*at)->dtype));
  }
  BindSizes bind(map);
  const PrimFunc bound = rewritten(func, bind);
  if (!needs_no_wide_numbers(bound)) { return bound; }
  NarrowAll narrow_all;
  return rewritten(bound, narrow_all);
}

namespace {
constexpr const char* variant_key = "ls.variant_of";
constexpr const char* sizes_key = "ls.sizes";
}  // namespace

namespace {

/// The values of a dictionary; none: it has others than integers.
auto read_sizes(const Attr& attr) -> std::optional<SizeValues> {
  const AttrMap* values = std::get_if<AttrMap>(&attr.value);
  if (!values || values->empty()) { return std::nullopt; }
  SizeValues out;
  for (const auto& [name, value] : *values) {
    auto number = value.expr() ? as_int(value.expr()) : std::nullopt;
    if (!number) { return std::nullopt; }
    out.emplace_back(name.str(), *number);
  }
  return out;
}

}  // namespace

auto variant_mark(const PrimFunc& func) -> std::optional<VariantMark> {
  const Attr* program = find_attr(func->attrs, Name(variant_key));
  const Attr* sizes = find_attr(func->attrs, Name(sizes_key));
  if (!program || !program->string() || !sizes) { return std::nullopt; }
  VariantMark out{*program->string(), {}};
  const Array<Attr> choices = sizes->list() ? *sizes->list() : Array<Attr>{*sizes};
  for (const Attr& choice : choices) {
    auto values = read_sizes(choice);
    if (!values) { return std::nullopt; }
    out.choices.push_back(std::move(*values));
  }
  return out.choices.empty() ? std::nullopt : std::optional(std::move(out));
}

auto with_variant_mark(const PrimFunc& func, const VariantMark& mark) -> PrimFunc {
  std::vector<Attr> choices;
  for (const SizeValues& values : mark.choices) {
    AttrMap sizes;
    for (const auto& [name, value] : values) { sizes = with_attr(sizes, Name(name), Attr(int_imm(value))); }
    choices.emplace_back(std::move(sizes));
  }
  PrimFuncNode out = *func;
  const Attr sizes = choices.size() == 1 ? choices[0] : Attr(Array<Attr>(std::move(choices)));
  out.attrs = with_attr(with_attr(out.attrs, Name(variant_key), Attr(mark.program)), Name(sizes_key), sizes);
  return make_func(std::move(out));
}

}  // namespace loopsmith::transform
