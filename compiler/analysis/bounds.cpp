// Accesses outside of their buffers, and iter vars outside of their domains.
//
// An access is an error if an iteration that runs is proved to leave the buffer: with numbers if the loops have constant
// bounds, otherwise by the prover at the corners of the loops, for all sizes of at least 1. If a parameter decides whether a loop around runs at all, this is
// a warning. An access that leaves the memory on which its buffer is declared (`T.decl_buffer(..., data=A.data)`) is an error where both have constant
// sizes. Nothing else is reported.
// A block whose binding leaves the declared domain is one error, even if several accesses follow from it.
#include <fmt/format.h>

#include "analysis/subject.h"
#include "arith/analyzer.h"
#include "ir/element_bytes.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/saturate.h"

namespace loopsmith::analysis {
namespace {

/// The scalar indices of an access in one dimension; for a vector, its first and last lane.
auto scalars(const Expr& index) -> std::vector<Expr> {
  if (const auto* r = index.as<Ramp>()) {
    auto lanes = as_int(r->lanes);
    if (!lanes || !r->base.dtype().is_scalar()) { return {}; }
    return {r->base, r->base + r->stride * int_imm(*lanes - 1, r->stride.dtype())};
  }
  if (const auto* b = index.as<Broadcast>()) { return {b->value}; }
  if (!index.dtype().is_scalar() || !index.dtype().is_integral()) { return {}; }
  return {index};
}

auto plain_shape(const BufferNode& buffer) -> std::string {
  std::string out;
  for (const Expr& e : buffer.shape) { out += (out.empty() ? "" : ", ") + print_debug(e, 40); }
  return "(" + out + (buffer.shape.size() == 1 ? ",)" : ")");
}

/// Assumptions of the prover that hold for now; they end in reverse order.
struct Scopes {
  std::vector<arith::Analyzer::Scope> all;
  ~Scopes() {
    while (!all.empty()) { all.pop_back(); }
  }
};

class Corners {
 public:
  /// Sets every relevant loop to its first or last value: combination number `choice`. False: there are fewer combinations.
  Corners(const Space& space, const std::vector<Expr>& relevant, const Facts& facts) : space_(space) {
    for (const VarNode* v : space.dependencies(relevant)) {
      const Space::Entry* e = space.find(v);
      if (e && e->kind != Space::Kind::Binding) { loops_.push_back(v); }
      if (!e) { free_.push_back(v); }
    }
  }
  [[nodiscard]] auto count() const -> size_t { return loops_.size() > 4 ? 2 : size_t{1} << loops_.size(); }

  /// True when the prover shows that the iteration at the corner runs and that `goal` (over the variables of the place) holds there.
  auto proves(size_t choice, const Expr& goal) const -> bool {
    arith::Analyzer analyzer;
    VarMap values;
    for (const VarNode* v : free_) {
      if (v->dtype.is_int()) { analyzer.mark_non_negative(Var(v), true); }
    }
    Scopes scopes;
    std::vector<Expr> guards;
    for (const Space::Entry& e : space_.entries()) {
      if (e.kind == Space::Kind::Guard) {
        if (!is_pure_integer(e.value)) { return false; }
        guards.push_back(e.negated ? logical_not(e.value) : e.value);
        continue;
      }
      if (e.kind == Space::Kind::Binding) {
        if (is_pure_integer(e.value)) { values.emplace(e.var, substitute(e.value, values)); }
        continue;
      }
      Expr min = substitute(e.min, values);
      Expr extent = substitute(e.extent, values);
      if (!is_pure_integer(min) || !is_pure_integer(extent)) { return false; }
      size_t at = position(e.var);
      bool last = at < loops_.size() && (loops_.size() > 4 ? choice == 0 : (choice >> at & 1) == 0);
      values.emplace(e.var, last ? analyzer.simplify(min + extent - one(extent.dtype())) : min);
      if (!as_int(extent)) { scopes.all.push_back(analyzer.enter(greater(extent, zero(extent.dtype())))); }
    }
    if (!analyzer.can_prove(substitute(goal, values))) { return false; }
    for (const Expr& g : guards) {
      if (!analyzer.can_prove(substitute(g, values))) { return false; }
    }
    return true;
  }
  [[nodiscard]] auto in_words(size_t choice) const -> std::string {
    std::string out;
    for (size_t i = 0; i < loops_.size(); ++i) {
      bool last = loops_.size() > 4 ? choice == 0 : (choice >> i & 1) == 0;
      out += fmt::format("{}in the {} iteration of `{}`", out.empty() ? "" : ", ", last ? "last" : "first", loops_[i]->name.view());
    }
    return out;
  }

 private:
  /// The index of the loop in the list; the list's size if it is not in the list.
  [[nodiscard]] auto position(const VarNode* v) const -> size_t {
    for (size_t i = 0; i < loops_.size(); ++i) {
      if (loops_[i] == v) { return i; }
    }
    return loops_.size();
  }
  const Space& space_;
  std::vector<const VarNode*> loops_;
  std::vector<const VarNode*> free_;
};

/// True for a loop variable that runs from 0 to less than `size`, and for a variable bound to one.
auto spans_exactly(const Space& space, const Expr& index, const Expr& size) -> bool {
  Expr e = index;
  for (int hops = 0; hops < 8; ++hops) {
    const auto* v = e.as<VarNode>();
    const Space::Entry* entry = v ? space.find(v) : nullptr;
    if (!entry) { return false; }
    if (entry->kind == Space::Kind::Binding) { e = entry->value; continue; }
    return is_zero(entry->min) && arith::deep_equal(entry->extent, size);
  }
  return false;
}

class Bounds {
 public:
  explicit Bounds(Subject& subject) : subject_(subject) {}

  void run() {
    for (const BlockFact& b : subject_.facts.blocks) {
      if (subject_.cancel.is_cancelled()) { return; }
      check_domains(b);
    }
    for (const Access& a : subject_.facts.accesses) {
      if (subject_.cancel.is_cancelled()) { return; }
      if (a.is_masked || !a.is_certain) { continue; }
      size_t dims = std::min(a.indices->size(), a.buffer->shape.size());
      // A vector may extend over the end of a row into the next: its last dimension is checked with numbers only.
      if (dims > 0 && runs_over_rows(a)) { --dims; }
      bool is_reported = false;
      for (size_t d = 0; d < dims && !is_reported; ++d) { is_reported = check(a, d); }
      if (!is_reported) { check_memory(a); }
    }
  }

 private:
  void check_domains(const BlockFact& fact) {
    if (!fact.realize || !fact.is_certain) { return; }
    for (size_t i = 0; i < fact.block->iter_vars.size() && i < fact.realize->iter_values.size(); ++i) {
      const IterVar& iter = fact.block->iter_vars[i];
      const Expr& value = fact.realize->iter_values[i];
      auto min = iter.dom.min ? as_int(iter.dom.min) : std::nullopt;
      auto extent = iter.dom.extent ? as_int(iter.dom.extent) : std::nullopt;
      if (!min || !extent || !value.dtype().is_integral()) { continue; }
      auto range = fact.space->interval(value);
      if (range && range->min >= *min && range->max < saturating_add(*min, *extent)) { continue; }
      int64_t found = 0;
      auto witness = fact.inner->witness({value}, subject_.budget, [&](const Numbers& n) {
        auto v = evaluate(value, n);
        found = v.value_or(*min);
        return v && (*v < *min || *v >= saturating_add(*min, *extent));
      });
      if (!witness) { continue; }
      subject_.misbound.push_back(iter.var.get());
      subject_.leaves_bounds = true;
      std::string at = fact.space->in_words(*witness, {value});
      Diagnostic d = error(Code::BindingOutOfDomain, value.origin().is_known() && !value.as<VarNode>() ? value.origin() : iter.var->origin)
                         .arg("iter", iter.var->name.view()).arg("block", fact.block->name.view())
                         .arg("domain", *min == 0 ? fmt::format("{}", *extent) : fmt::format("{} to {}", *min, saturating_add(*min, *extent) - 1))
                         .arg("value", fmt::format("{}{}{}", found, at.empty() ? "" : " at ", at));
      std::string text = subject_.text(value);
      if (found >= saturating_add(*min, *extent)) {
        (void)std::move(d).remedy(fmt::format("keep the other iterations out with `T.where({} < {})`, or make the loops as long as the domain", text, saturating_add(*min, *extent)));
      } else {
        (void)std::move(d).remedy(fmt::format("let `{}` begin at {}, or keep the other iterations out with `T.where({} >= {})`", text, *min, text, *min));
      }
      subject_.report(std::move(d));
    }
  }

  static auto runs_over_rows(const Access& a) -> bool {
    const auto* ramp = a.indices->empty() ? nullptr : a.indices->back().as<Ramp>();
    auto size = a.buffer->shape.empty() ? std::nullopt : as_int(a.buffer->shape.back());
    auto lanes = ramp ? as_int(ramp->lanes) : std::nullopt;
    return ramp && a.buffer->shape.size() > 1 && (!size || !lanes || *lanes > *size);
  }

  auto follows_from_binding(const Access& a, const Expr& index) -> bool {
    if (subject_.misbound.empty()) { return false; }
    for (const VarNode* v : a.space->dependencies({index})) {
      for (const VarNode* m : subject_.misbound) {
        if (v == m) { return true; }
      }
    }
    return false;
  }

  auto check(const Access& a, size_t dim) -> bool {
    const Expr& whole = (*a.indices)[dim];
    const Expr& size = a.buffer->shape[dim];
    auto constant = as_int(size);
    for (const Expr& index : scalars(whole)) {
      if (constant) {
        auto range = a.space->interval(index);
        if (range && range->min >= 0 && range->max < *constant) { continue; }
        if (!is_pure_integer(index)) { continue; }
        int64_t found = 0;
        auto witness = a.space->witness({index}, subject_.budget, [&](const Numbers& n) {
          auto v = evaluate(index, n);
          found = v.value_or(0);
          return v && (*v < 0 || *v >= *constant);
        });
        if (follows_from_binding(a, index)) { continue; }
        if (!witness) {
          if (check_if_loops_run(a, dim, index, size)) { return true; }
          continue;
        }
        std::string at = a.space->in_words(*witness, {index});
        report(a, dim, whole, fmt::format("{}{}{}", found, at.empty() ? "" : " at ", at), std::to_string(*constant), found < 0, a.space->dependencies({index}));
        return true;
      }
      if (subject_.questions <= 0 || spans_exactly(*a.space, index, size) || !is_pure_integer(index) || !is_pure_integer(size)) { continue; }
      if (!DataType(index.dtype()).is_int() || !size.dtype().is_int()) { continue; }
      Corners corners(*a.space, {index}, subject_.facts);
      for (size_t c = 0; c < corners.count() && subject_.questions > 0; ++c) {
        --subject_.questions;
        bool above = corners.proves(c, greater_equal(index, size));
        bool below = !above && corners.proves(c, less(index, zero(index.dtype())));
        if (!above && !below) { continue; }
        if (follows_from_binding(a, index)) { break; }
        std::string at = corners.in_words(c);
        report(a, dim, whole, fmt::format("{}{}{}", below ? "negative" : "too large", at.empty() ? "" : " ", at), subject_.text(size), below, a.space->dependencies({index}));
        return true;
      }
    }
    return false;
  }

  /// A loop around may run no iteration (`range(n)`): warns where the index leaves the buffer whenever all loops run.
  auto check_if_loops_run(const Access& a, size_t dim, const Expr& index, const Expr& size) -> bool {
    const auto& entries = a.space->entries();
    if (std::none_of(entries.begin(), entries.end(), [](const Space::Entry& e) { return e.kind == Space::Kind::Loop && !as_int(e.extent); })) { return false; }
    Corners corners(*a.space, {index}, subject_.facts);
    for (size_t c = 0; c < corners.count() && subject_.questions > 0; ++c) {
      --subject_.questions;
      bool above = corners.proves(c, greater_equal(index, cast(index.dtype(), size)));
      bool below = !above && corners.proves(c, less(index, zero(index.dtype())));
      if (!above && !below) { continue; }
      std::string at = corners.in_words(c);
      report(a, dim, (*a.indices)[dim], fmt::format("{}{}{}", below ? "negative" : "too large", at.empty() ? "" : " ", at), print_debug(size, 20), below, a.space->dependencies({index}), Severity::Warning);
      return true;
    }
    return false;
  }

  /// The bytes of the memory behind a pointer; none: they are not known.
  auto bytes_of(const VarNode* memory) const -> std::optional<int64_t> {
    auto bytes = [](const Array<Expr>& shape, DataType dtype) -> std::optional<int64_t> {
      int64_t out = int64_t{dtype.element_bytes()} * dtype.lanes;
      for (const Expr& e : shape) {
        auto extent = as_int(e);
        if (!extent || __builtin_mul_overflow(out, *extent, &out)) { return {}; }
      }
      return out;
    };
    for (const auto& [param, buffer] : subject_.facts.func->buffer_map) {
      if (buffer->data.get() == memory) { return buffer->strides.empty() && !buffer->elem_offset ? bytes(buffer->shape, buffer->dtype) : std::nullopt; }
    }
    for (const AllocFact& alloc : subject_.facts.allocs) {
      if (alloc.data != memory) { continue; }
      if (alloc.statement) { return bytes(alloc.statement->extents, alloc.statement->dtype); }
      return alloc.buffer && alloc.buffer->strides.empty() && !alloc.is_constant ? bytes(alloc.buffer->shape, alloc.buffer->dtype) : std::nullopt;
    }
    return {};
  }

  /// An access inside of its buffer, which is larger than the memory that it is declared on.
  void check_memory(const Access& a) {
    const BufferNode& buffer = *a.buffer;
    const VarNode* memory = subject_.facts.memory(buffer);
    for (const Facts::PointerName& name : subject_.facts.names) { if (name.begins_inside && name.name == buffer.data.get()) { return; } }
    auto end = first_byte(buffer, std::vector<int64_t>(a.indices->size(), 0)) ? bytes_of(memory) : std::nullopt;
    if (!end || a.indices->empty()) { return; }
    std::vector<int64_t> last;
    for (const Expr& extent : buffer.shape) { last.push_back(as_int(extent).value_or(INT64_MAX) - 1); }
    const int64_t size = *bytes_of_element(buffer);
    auto last_byte = first_byte(buffer, last);
    if (last_byte && *last_byte <= *end - size) { return; }
    // The number of rows of the first dimension that fit.
    std::vector<int64_t> second(a.indices->size(), 0);
    second[0] = 1;
    const int64_t begin = *first_byte(buffer, std::vector<int64_t>(second.size(), 0)), row = first_byte(buffer, second).value_or(0) - begin;
    if (row <= 0) { return; }
    const int64_t rows = (*end - begin) / row;
    const Expr& index = (*a.indices)[0];
    if (!is_pure_integer(index) || !index.dtype().is_scalar()) { return; }
    int64_t found = 0;
    auto witness = a.space->witness({index}, subject_.budget, [&](const Numbers& n) {
      auto v = evaluate(index, n);
      found = v.value_or(0);
      return v && *v >= rows;
    });
    if (!witness) { return; }
    std::string at = a.space->in_words(*witness, {index});
    report(a, 0, index, fmt::format("{}{}{}", found, at.empty() ? "" : " at ", at), fmt::format("{} in its memory", rows), false, a.space->dependencies({index}));
  }

  void report(const Access& a, size_t dim, const Expr& index, const std::string& value, const std::string& size, bool below,
              const std::vector<const VarNode*>& vars, Severity severity = Severity::Error) {
    Origin at = subject_.index_place(a.origin, dim);
    std::string text = subject_.text(at);
    if (text.empty()) { text = print_debug(index, 60); }
    subject_.leaves_bounds = subject_.leaves_bounds || severity == Severity::Error;
    // The same index in the same loops is one error, for any number of buffers.
    std::string key = fmt::format("{} {} {}", text, size, below);
    for (const auto& [space, seen] : reported_) {
      if (space == a.space.get() && seen == key) { return; }
    }
    reported_.emplace_back(a.space.get(), key);
    Diagnostic d = error(Code::AccessOutOfBounds, at)
                       .arg("index", text).arg("value", value).arg("dim", static_cast<int64_t>(dim)).arg("buffer", a.buffer->name.view()).arg("size", size);
    d.severity = severity;
    if (a.buffer->origin.is_known()) { (void)std::move(d).note(a.buffer->origin, fmt::format("`{}` has shape {}", a.buffer->name.view(), plain_shape(*a.buffer))); }
    for (const Space::Entry& e : a.space->entries()) {
      if (!e.loop || std::find(vars.begin(), vars.end(), e.var) == vars.end()) { continue; }
      auto min = as_int(e.min);
      auto extent = as_int(e.extent);
      if (min && extent) {
        (void)std::move(d).note(subject_.header(*e.loop), fmt::format("`{}` runs from {} to {}", e.var->name.view(), *min, saturating_add(*min, *extent) - 1), e.loop->id);
      }
    }
    std::string condition = below ? fmt::format("{} >= 0", text) : fmt::format("{} < {}", text, size.substr(0, size.find(" in its memory")));
    if (text.find(':') != std::string::npos) {
      (void)std::move(d).remedy("shorten the slice, or let the loop end earlier");
    } else if (a.is_write) {
      (void)std::move(d).remedy(fmt::format("guard it: `if {}:`, or `T.where({})` where the iterations of its block come from splitting", condition, condition));
    } else {
      (void)std::move(d).remedy(fmt::format("read it only where it is there: `T.if_then_else({}, {}[...], ...)`, or pad `{}` first", condition, a.buffer->name.view(), a.buffer->name.view()));
    }
    subject_.report(std::move(d));
  }

  Subject& subject_;
  std::vector<std::pair<const Space*, std::string>> reported_;
};

}  // namespace

void check_bounds(Subject& subject) {
  if (!subject.facts.has_jumps) { Bounds(subject).run(); }
}

}  // namespace loopsmith::analysis
