// Reads of memory before the first write, reductions without an initial value, and reductions over an axis that is declared spatial.
//
// For the function's own memory: a read before all writes, in the order of the text, that certainly runs (no condition
// around it). Writes by pointer, through views, and by calls count as writes. Arguments are written by the caller: only a block that
// accumulates into one without an init, and does not list it in `T.reads`, is suspicious.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "analysis/subject.h"
#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::analysis {
namespace {

class Initialisation {
 public:
  explicit Initialisation(Subject& subject) : subject_(subject), facts_(subject.facts) {}

  void run() {
    for (const BlockFact& b : facts_.blocks) {
      if (subject_.cancel.is_cancelled()) { return; }
      check_reduction(b);
      check_kinds(b);
    }
    std::unordered_set<const VarNode*> seen;
    for (const AllocFact& alloc : facts_.allocs) {
      if (subject_.cancel.is_cancelled()) { return; }
      if (alloc.data && !alloc.is_constant && seen.insert(alloc.data).second) { check_memory(alloc); }
    }
  }

 private:
  auto first_write(const VarNode* memory) const -> size_t {
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < facts_.accesses.size(); ++i) {
      if (facts_.accesses[i].is_write && facts_.memory(*facts_.accesses[i].buffer) == memory) { first = i; break; }
    }
    for (const PointerUse& p : facts_.pointers) {
      if (p.writes && facts_.memory(p.data) == memory) { first = std::min(first, p.before); }
    }
    return first;
  }

  void check_memory(const AllocFact& alloc) {
    if (reported_.count(alloc.data) != 0) { return; }
    size_t written = first_write(alloc.data);
    for (size_t i = 0; i < facts_.accesses.size() && i < written; ++i) {
      const Access& a = facts_.accesses[i];
      if (a.is_write || facts_.memory(*a.buffer) != alloc.data || !a.is_certain) { continue; }
      bool guarded = false;
      for (const Space::Entry& e : a.space->entries()) { guarded |= e.kind == Space::Kind::Guard && written != SIZE_MAX; }
      if (guarded) { continue; }
      Diagnostic d = error(Code::ReadBeforeWrite, a.origin).arg("buffer", a.buffer->name.view());
      if (a.buffer->origin.is_known()) { (void)std::move(d).note(a.buffer->origin, fmt::format("`{}` is allocated here, with no values", a.buffer->name.view())); }
      if (written == SIZE_MAX) {
        (void)std::move(d).remedy(fmt::format("write to `{}` first", a.buffer->name.view()));
      } else if (written < facts_.accesses.size() && facts_.accesses[written].origin.is_known()) {
        (void)std::move(d).note(facts_.accesses[written].origin, "it is first written here")
            .remedy(fmt::format("set `{}` before this statement", a.buffer->name.view()));
      }
      subject_.report(std::move(d));
      return;
    }
  }

  /// The update of a reduction: `C[...] = C[...] + x`; null: the block has another form.
  struct Update { const BufferStore* store = nullptr; const char* op = ""; };
  auto update_of(const BlockFact& fact) const -> Update {
    for (size_t i = fact.begin; i < fact.end; ++i) {
      const Access& a = facts_.accesses[i];
      if (!a.is_write || !a.store || a.in_init) { continue; }
      Expr value = a.store->value;
      while (const auto* c = value.as<Cast>()) { value = c->value; }
      const char* op = value.as<Add>() ? "+" : value.as<Mul>() ? "*" : value.as<Max>() ? "max" : value.as<Min>() ? "min" : nullptr;
      if (!op) { continue; }
      const auto& binary = *static_cast<const BinaryNode*>(value.get());
      for (Expr side : {binary.a, binary.b}) {
        while (const auto* c = side.as<Cast>()) { side = c->value; }
        const auto* load = side.as<BufferLoad>();
        if (!load || load->buffer != a.store->buffer || load->indices.size() != a.store->indices.size()) { continue; }
        bool same = true;
        for (size_t d = 0; d < load->indices.size(); ++d) { same = same && arith::deep_equal(load->indices[d], a.store->indices[d]); }
        if (same) { return {a.store, op}; }
      }
    }
    return {};
  }

  void check_reduction(const BlockFact& fact) {
    bool has_reduction = false;
    for (const IterVar& iter : fact.block->iter_vars) { has_reduction |= iter.kind == IterKind::Reduction; }
    if (!has_reduction || fact.block->init || !fact.is_certain) { return; }
    // The update must be in the block itself, not in an inner one.
    Update update = update_of(fact);
    if (!update.store) { return; }
    const VarNode* memory = facts_.memory(*update.store->buffer);
    if (first_write(memory) < fact.begin) { return; }
    for (size_t i = fact.begin; i < fact.end; ++i) {
      // Another statement of the block sets the element first.
      const Access& a = facts_.accesses[i];
      if (a.is_write && facts_.memory(*a.buffer) == memory && a.store != update.store) { return; }
      if (a.store == update.store) { break; }
    }
    bool is_argument = !facts_.is_allocated(memory);
    // The block or one around it says that it adds to the caller's values.
    bool is_said = std::any_of(facts_.blocks.begin(), facts_.blocks.end(), [&](const BlockFact& around) {
      return around.begin <= fact.begin && fact.end <= around.end && says_it_reads(around, *update.store->buffer);
    });
    if (is_argument && is_said) { return; }
    if (is_argument && facts_.memory(update.store->buffer->data.get()) != update.store->buffer->data.get()) { return; }
    reported_.insert(memory);
    const std::string name = update.store->buffer->name.str();
    Diagnostic d = error(Code::MissingInit, update.store->origin).arg("block", fact.block->name.view()).arg("buffer", name);
    if (update.store->buffer->origin.is_known()) {
      (void)std::move(d).note(update.store->buffer->origin, is_argument ? fmt::format("`{}` has the values that the caller stored", name)
                                                                       : fmt::format("`{}` is allocated here, with no values", name));
    }
    std::string identity = identity_text(update);
    std::string target = target_text(*update.store);
    if (identity.empty() || target.empty()) {
      (void)std::move(d).remedy(fmt::format("set it in `with T.init():`, before the update"));
    } else {
      (void)std::move(d).remedy(fmt::format("begin the block with `with T.init(): {} = {}`", target, identity));
      if (auto at = line_of(update.store->origin)) {
        (void)std::move(d).fix(at->first, fmt::format("with T.init():\n{0}    {1} = {2}\n{0}", at->second, target, identity));
      }
    }
    if (is_argument) {
      (void)std::move(d).remedy(fmt::format("to add to the caller's values, list `{}` in `T.reads`", name));
    }
    subject_.report(std::move(d));
  }

  /// An update whose indices do not use a spatial iter var repeats for all values of that iter var: it is a reduction over it.
  void check_kinds(const BlockFact& fact) {
    if (!fact.is_certain || !fact.realize) { return; }
    Update update = update_of(fact);
    if (!update.store || sets_before(fact, update)) { return; }
    // A block inside this one follows it in the list. The rule is not applied then, because the inner block has its own iter vars.
    const BlockFact* next = &fact + 1;
    if (next != facts_.blocks.data() + facts_.blocks.size() && next->begin < fact.end && next->end <= fact.end && next->begin != next->end) { return; }
    // A buffer that is allocated within a loop may have different memory in each iteration.
    const VarNode* memory = facts_.memory(*update.store->buffer);
    for (const AllocFact& alloc : facts_.allocs) {
      if (alloc.data == memory && alloc.loops > 0) { return; }
    }
    for (size_t i = fact.begin; i < fact.end; ++i) {
      const Access& a = facts_.accesses[i];
      if (a.store == update.store && a.is_write && (a.is_masked || a.space->entries().size() != fact.inner->entries().size())) { return; }
    }
    const auto& iters = fact.block->iter_vars;
    auto find_iter = [&](const VarNode& v) { return std::find_if(iters.begin(), iters.end(), [&](const IterVar& iter) { return iter.var.get() == &v; }) != iters.end(); };
    for (const Expr& index : update.store->indices) {
      if (uses_var(index, [&](const VarNode& v) { return !find_iter(v); })) { return; }
    }
    for (size_t k = 0; k < iters.size() && k < fact.realize->iter_values.size(); ++k) {
      const IterVar& iter = iters[k];
      bool is_counted = iter.kind == IterKind::Spatial && !is_one(iter.dom.extent) && uses_var(fact.realize->iter_values[k], [](const VarNode&) { return true; });
      auto is_this = [&](const VarNode& v) { return &v == iter.var.get(); };
      bool is_index = std::any_of(update.store->indices.begin(), update.store->indices.end(), [&](const Expr& index) { return uses_var(index, is_this); });
      if (!is_counted || is_index || !uses_var(update.store->value, is_this)) { continue; }
      auto [where, word] = kind_of(iter);
      Diagnostic d = error(Code::SpatialReduction, where).arg("iter", iter.var->name.view()).arg("block", fact.block->name.view()).arg("buffer", update.store->buffer->name.view());
      (void)std::move(d).note(update.store->origin, fmt::format("the element that is stored does not depend on `{}`", iter.var->name.view()))
          .remedy("declare it a reduction: `R` in `T.axis.remap`, or `T.axis.reduce`");
      if (!word.empty()) { (void)std::move(d).fix(where, std::string(word)); }
      subject_.report(std::move(d));
    }
  }

  /// True when another statement of the block sets the element first.
  auto sets_before(const BlockFact& fact, const Update& update) const -> bool {
    for (size_t i = fact.begin; i < fact.end; ++i) {
      const Access& a = facts_.accesses[i];
      if (a.is_write && !a.in_init && facts_.memory(*a.buffer) == facts_.memory(*update.store->buffer) && a.store != update.store) { return true; }
      if (a.is_write && a.store == update.store) { return false; }
    }
    return false;
  }

  /// The place in the text that makes an iter var spatial (a letter of `T.axis.remap`, or the word), with the text that would make it a reduction;
  /// otherwise the variable's name.
  auto kind_of(const IterVar& iter) const -> std::pair<Origin, std::string_view> {
    Origin at = subject_.in_whole(iter.var->origin);
    syntax::ItemPtr item = subject_.item(at);
    if (!item || at.end > item->text.size()) { return {iter.var->origin, {}}; }
    const std::string_view text = item->text;
    size_t begin = text.rfind('\n', at.begin);
    begin = begin == std::string_view::npos ? 0 : begin + 1;
    const std::string_view rest = text.substr(at.end, text.find('\n', at.end) - at.end);
    auto found = [&](size_t from, size_t size, std::string_view word) { return std::pair(Origin{at.decl, static_cast<uint32_t>(at.end + from), static_cast<uint32_t>(at.end + from + size), 0}, word); };
    for (const auto& [call, size, word] : {std::tuple(".spatial(", 7, "reduce"), std::tuple(".S(", 1, "R")}) {
      if (size_t dot = rest.find(call); dot != std::string_view::npos) { return found(dot + 1, size, word); }
    }
    size_t call = rest.find(".remap(");
    size_t quote = call == std::string_view::npos ? call : rest.find_first_of("\"'", call);
    auto before = static_cast<size_t>(std::count(text.begin() + static_cast<ptrdiff_t>(begin), text.begin() + at.begin, ','));
    if (quote == std::string_view::npos || quote + 1 + before >= rest.size() || rest[quote + 1 + before] != 'S') { return {iter.var->origin, {}}; }
    return found(quote + 1 + before, 1, "R");
  }

  static auto identity_text(const Update& update) -> std::string {
    DataType t = update.store->buffer->dtype;
    if (!t.is_scalar()) { return {}; }
    std::string type = "T." + t.str();
    std::string_view op = update.op;
    if (op == "+") { return type + "(0)"; }
    if (op == "*") { return type + "(1)"; }
    return fmt::format("T.{}(\"{}\")", op == "max" ? "min_value" : "max_value", t.str());
  }

  /// The target as the update writes it: `C[vi, vj]`.
  auto target_text(const BufferStore& store) const -> std::string {
    std::string indices;
    for (const Expr& e : store.indices) {
      std::string text = subject_.text(e);
      if (text.empty()) { return {}; }
      indices += (indices.empty() ? "" : ", ") + text;
    }
    return fmt::format("{}[{}]", store.buffer->name.view(), indices);
  }

  /// The beginning of a statement that is alone on its line, and its indentation.
  auto line_of(Origin at) const -> std::optional<std::pair<Origin, std::string>> {
    at = subject_.in_whole(at);
    syntax::ItemPtr item = subject_.item(at);
    if (!item || at.begin > item->text.size()) { return {}; }
    size_t line = at.begin;
    while (line > 0 && item->text[line - 1] != '\n') { --line; }
    if (line == 0) { return {}; }
    std::string indent = item->text.substr(line, at.begin - line);
    if (indent.find_first_not_of(" \t") != std::string::npos) { return {}; }
    return std::pair(Origin{at.decl, at.begin, at.begin, 0}, indent);
  }

  /// True when the text of the block lists the buffer in its `T.reads`.
  auto says_it_reads(const BlockFact& fact, const BufferNode& buffer) const -> bool {
    syntax::ItemPtr item = subject_.item(fact.block->origin);
    if (!item) { return true; }
    std::string_view text = std::string_view(item->text).substr(std::min<size_t>(fact.block->origin.begin, item->text.size()));
    text = text.substr(0, fact.block->origin.end - fact.block->origin.begin);
    size_t at = text.find(".reads(");
    if (at == std::string_view::npos) { return false; }
    for (const BufferRegion& r : fact.block->reads) {
      if (r.buffer.get() == &buffer) { return true; }
    }
    return false;
  }

  Subject& subject_;
  const Facts& facts_;
  std::unordered_set<const VarNode*> reported_;
};

}  // namespace

void check_initialisation(Subject& subject) { Initialisation(subject).run(); }

}  // namespace loopsmith::analysis
