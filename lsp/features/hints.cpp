// Inlay hints: the loops and blocks that a step names, and its effects on memory and time. See hints.h.
#include "lsp/features/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cost/estimate.h"
#include "ir/loop_kind.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "lsp/features/names.h"
#include "lsp/features/steps.h"
#include "schedule/extent_text.h"
#include "support/saturate.h"
#include "support/text.h"
#include "syntax/ast.h"
#include "syntax/schedule_form.h"
#include "transform/pipelines.h"

namespace loopsmith::lsp {
namespace {

/// The longest text after the arrow.
constexpr size_t longest = 40;
constexpr std::string_view arrow = "=> ";

/// The number of blocks in a function that run under a condition.
auto guards_of(const PrimFunc& function) -> int64_t {
  int64_t guards = 0;
  post_order(function->body, [&](const Stmt& stmt) {
    if (stmt->kind != NodeKind::BlockRealize) { return; }
    if (auto always = as_int(static_cast<const BlockRealize&>(*stmt).predicate); !always || *always != 1) { ++guards; }
  }, [](const Expr&) {});
  return guards;
}

/// Bytes of the buffers that a function allocates, by scope; buffers of unknown size count as 0.
using Memory = std::map<std::string, int64_t, std::less<>>;

auto allocated_in(const PrimFunc& function) -> Memory {
  Memory memory;
  post_order(function->body, [&](const Stmt& stmt) {
    if (stmt->kind != NodeKind::BlockRealize) { return; }
    for (const Buffer& buffer : static_cast<const BlockRealize&>(*stmt).block->alloc_buffers) {
      int64_t elements = 1;
      for (const Expr& extent : buffer->shape) { elements = saturating_mul(elements, as_int(extent).value_or(0)); }
      int64_t& sum = memory[buffer->scope().empty() ? "global" : buffer->scope().str()];
      sum = saturating_add(sum, saturating_mul(elements, buffer->dtype.element_bytes()));
    }
  }, [](const Expr&) {});
  return memory;
}

/// The same after lowering: buffers are allocated where they are needed, with the size that is accessed there, and threads of a block
/// share the memory of their scope. If the program cannot be lowered, the memory as written.
auto memory_of(const PrimFunc& function, std::string_view target) -> Memory {
  Memory plain = allocated_in(function);
  if (plain.empty()) { return plain; }
  bool is_bound = false;
  post_order(function->body, [&](const Stmt& stmt) { is_bound = is_bound || (stmt->kind == NodeKind::For && static_cast<const For&>(*stmt).for_kind == ForKind::ThreadBinding); }, [](const Expr&) {});
  IRModuleNode module;
  Name main("main");
  module.functions = {{main, function}};
  auto lowered = transform::lower(make_module(std::move(module)), {}, {.target_kind = is_bound || is_gpu_target(target) ? target_kind::rocm : target_kind::llvm, .until = "compact_buffer_allocation"});
  PrimFunc compact = lowered.ok() ? (*lowered)->find(main) : PrimFunc();
  return compact ? allocated_in(compact) : plain;
}

/// The change of allocated memory by a step: "shared +8 KiB", or "shared 4 MiB -> 8 KiB" if the scope had buffers before.
struct MemoryChange {
  std::vector<std::string> texts;
  std::string tooltip;
};
auto change_of(const Memory& before, const Memory& after) -> MemoryChange {
  MemoryChange out;
  Memory all = before;
  all.insert(after.begin(), after.end());
  for (const auto& [scope, unused] : all) {
    auto in = [&](const Memory& memory) { auto found = memory.find(scope); return found != memory.end() ? found->second : 0; };
    int64_t then = in(before), now = in(after);
    if (then == now) { continue; }
    std::string change = then == 0 ? "+" + bytes_text(now) : now == 0 ? "-" + bytes_text(then) : fmt::format("{} -> {}", bytes_text(then), bytes_text(now));
    out.texts.push_back(fmt::format("{}{}", scope == "global" ? "" : scope + " ", change));
    out.tooltip += fmt::format("buffers in {} memory: {}\n", scope, change);
  }
  return out;
}

/// The part of a hint about one name; for a list, item by item.
struct Part {
  std::string text;
  std::optional<Span> target;
  std::vector<std::string> items;
};

/// "loops:[512, 64, +7]": a list with as many items as fit; none: no item fits.
auto shortened(const Part& part, size_t room) -> std::optional<std::string> {
  for (size_t kept = part.items.empty() ? 0 : part.items.size() - 1; kept > 0; --kept) {
    std::string text = fmt::format("{}[{}, +{}]", part.text, fmt::join(part.items.begin(), part.items.begin() + static_cast<std::ptrdiff_t>(kept), ", "), part.items.size() - kept);
    if (text.size() <= room) { return text; }
  }
  return std::nullopt;
}

/// As many names as fit, then the number of omitted names.
auto names_text(const std::vector<Part>& parts, size_t room, std::vector<Hint::Link>& links) -> std::string {
  std::string text;
  size_t left_out = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    std::string own = part.items.empty() ? part.text : fmt::format("{}[{}]", part.text, fmt::join(part.items, ", "));
    // Leave room for the number of omitted names, except after the last name.
    size_t before = text.empty() ? 0 : text.size() + 1;
    size_t after = left_out > 0 || i + 1 < parts.size() ? 3 : 0;
    size_t own_room = room > before + after ? room - before - after : 0;
    if (own.size() > own_room) {
      auto fewer = shortened(part, own_room);
      constexpr size_t least = 8;
      if (!fewer && text.empty() && i + 1 == parts.size()) { fewer = own.substr(0, std::max(own_room, least) - 3) + "..."; }
      if (!fewer) {
        ++left_out;
        continue;
      }
      own = *fewer;
    }
    text += (text.empty() ? "" : " ") + own;
    if (part.target) { links.push_back({arrow.size() + text.size() - own.size(), arrow.size() + text.size(), *part.target}); }
  }
  if (left_out > 0) { text += fmt::format("{}+{}", text.empty() ? "" : " ", left_out); }
  return text;
}

/// A place as a person sees it: `ax0`, parallel, 8 iterations.
auto look_of(const schedule::Place& place) -> std::string {
  return place.is_loop() ? fmt::format("{}:{}{}", place.name().view(), schedule::extent_text(place.loop->extent), loop_kind_behind(" ", *place.loop)) : place.name().str();
}

/// Loops and blocks that a step made without binding variables to them: "ax0:8 ax1:32", "C_init". `is_by_look`: a step on stages makes the primitives behind
/// it anew, with places that look as before; those are not new.
auto unnamed_of(const schedule::Schedule* before, const IRModule& program, const schedule::Schedule& after, bool is_by_look) -> std::vector<const schedule::Place*> {
  const schedule::FuncState* now = after.state().func(after.func_working_on());
  std::optional<schedule::Schedule> plain;
  if (before == nullptr && program) { before = &plain.emplace(program, 1); }
  const schedule::FuncState* then = before != nullptr ? before->state().func(after.func_working_on()) : nullptr;
  std::vector<const schedule::Place*> made;
  if (now == nullptr || then == nullptr) { return made; }
  std::vector<std::string> gone;
  for (const schedule::Place& place : then->places()) {
    if (is_by_look && place.parent >= 0 && now->find(place.id) == nullptr) { gone.push_back(look_of(place)); }
  }
  for (const schedule::Place& place : now->places()) {
    if (place.parent < 0 || then->find(place.id) != nullptr) { continue; }
    auto same = is_by_look ? std::find(gone.begin(), gone.end(), look_of(place)) : gone.end();
    if (same == gone.end()) { made.push_back(&place); } else { gone.erase(same); }
  }
  return made;
}

/// The estimated seconds of a call in a state; none: the cost model does not support the program (cost/estimate.h).
auto estimated(const schedule::Schedule& state, const cost::CoreModel& core) -> std::optional<double> {
  const schedule::FuncState* func = state.state().func(state.func_working_on());
  auto found = func != nullptr ? cost::estimate(*func, core) : std::nullopt;
  return found ? std::optional(found->seconds) : std::nullopt;
}

auto working_function(const schedule::Schedule* state, const IRModule& program, Name func) -> PrimFunc {
  if (state != nullptr) { return state->module()->find(state->func_working_on()); }
  return program ? program->find(func) : PrimFunc();
}

/// The only list `factors=[...]` in the statement of a step; null: none or several.
auto factors_of(const script::FileSchedule& schedule, const script::Step& step) -> const syntax::ListExpr* {
  auto function = syntax::function_of(schedule.item);
  const syntax::ListExpr* found = nullptr;
  size_t count = 0;
  for (const syntax::Stmt* statement : function != nullptr ? function->body : syntax::Block()) {
    if (statement->span.begin != step.where.begin) { continue; }
    syntax::walk(*statement, [&](const syntax::Node& node) {
      const auto* call = node.as<syntax::CallExpr>();
      for (const syntax::Keyword& keyword : call != nullptr ? call->keywords : syntax::List<syntax::Keyword>()) {
        const auto* list = keyword.name.name == "factors" && keyword.value != nullptr ? keyword.value->as<syntax::ListExpr>() : nullptr;
        if (list == nullptr) { continue; }
        found = list;
        ++count;
      }
      return true;
    });
  }
  return count == 1 ? found : nullptr;
}

/// For `factors=[None, 8]` in a statement that binds all the loops it makes: the place of `None`, and the extent that replaces it.
auto open_factor(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule, const script::Step& step, const schedule::Schedule& after) -> std::optional<Hint::Fill> {
  const syntax::ListExpr* factors = factors_of(schedule, step);
  if (factors == nullptr || factors->elements.size() != step.named.size()) { return std::nullopt; }
  for (size_t i = 0; i < step.named.size(); ++i) {
    const syntax::Expr* factor = factors->elements[static_cast<uint32_t>(i)];
    const auto* constant = factor->as<syntax::ConstantExpr>();
    if (constant == nullptr || constant->value != syntax::ConstantValue::None) { continue; }
    const auto* loop = step.named[i].variable.as<schedule::LoopRV>();
    auto place = loop != nullptr ? after.get(*loop) : Result<const schedule::Place*>(nullptr);
    if (loop == nullptr || !place.ok() || *place == nullptr || !(*place)->is_loop()) { return std::nullopt; }
    auto extent = as_int((*place)->loop->extent);
    auto span = snapshot.resolve(factor->origin());
    return extent && span ? std::optional(Hint::Fill{*span, std::to_string(*extent)}) : std::nullopt;
  }
  return std::nullopt;
}

/// For each variable in a refused statement whose loop or block no longer exists, adds the line that consumed it.
void add_consumed(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule, Span within, std::vector<Hint>& hints) {
  const std::vector<script::Step>& steps = schedule.run->steps;
  auto failed = std::find_if(steps.begin(), steps.end(), [](const script::Step& step) { return step.state == script::StepState::Failed; });
  auto span = failed != steps.end() ? snapshot.resolve(failed->where) : std::nullopt;
  if (!span || span->end < within.begin || span->begin > within.end) { return; }
  auto index = static_cast<size_t>(failed - steps.begin());
  auto is_there = [](const schedule::Schedule& state, const schedule::Value& variable) {
    if (const auto* loop = variable.as<schedule::LoopRV>()) { return state.get(*loop).ok(); }
    if (const auto* block = variable.as<schedule::BlockRV>()) { return state.get(*block).ok(); }
    return true;
  };
  NameTable names = names_of(snapshot);
  for (const Occurrence& one : names.occurrences) {
    if (one.role == Role::Bind || one.span.begin < span->begin || one.span.end > span->end) { continue; }
    const schedule::Value* variable = variable_at(*schedule.run, index, names.entities[one.entity].name, false);
    const schedule::Schedule* before = state_at(*schedule.run, index, false);
    if (variable == nullptr || before == nullptr || is_there(*before, *variable)) { continue; }
    size_t taker = index;
    while (taker > 0 && (steps[taker - 1].after == nullptr || !is_there(*steps[taker - 1].after, *variable))) { --taker; }
    auto where = taker < index ? snapshot.resolve(steps[taker].where) : std::nullopt;
    if (!where) { continue; }
    uint32_t line = snapshot.lines().line_of(where->begin);
    std::string text = fmt::format("(consumed in line {})", line + 1);
    std::string_view statement = std::string_view(snapshot.text()).substr(where->begin, where->end - where->begin);
    hints.push_back({one.span.end, text, fmt::format("`{}` is gone since line {}: `{}`", names.entities[one.entity].name.view(), line + 1, statement.substr(0, statement.find('\n'))),
                     {{1, text.size() - 1, *where}}, {}});
  }
}

/// An item of a list in the script: the extent of a loop, the name of a block, a number.
auto item_text(const schedule::Value& item, const schedule::Schedule& after) -> std::string {
  std::string text;
  if (const auto* loop = item.as<schedule::LoopRV>()) {
    auto place = after.get(*loop);
    if (place.ok() && (*place)->is_loop()) { text = schedule::extent_text((*place)->loop->extent); }
  } else if (const auto* block = item.as<schedule::BlockRV>()) {
    auto place = after.get(*block);
    if (place.ok() && (*place)->is_block()) { text = (*place)->name().str(); }
  } else if (const auto* number = item.as<schedule::ExprRV>()) {
    auto value = after.get(*number);
    if (value.ok()) { text = std::to_string(*value); }
  }
  return text.empty() ? "gone" : text;
}

/// "i0:64", "c:C", "loops:[512, 512]", "n=8"; empty: the variable has no loop, block or number, or its name is enough. Adds a line to the tooltip.
auto part_of(const workspace::Snapshot& snapshot, const script::Step::Named& named, const schedule::Schedule& after, std::string& tooltip) -> Part {
  Part part;
  std::string_view name = named.name.view();
  if (const auto* loop = named.variable.as<schedule::LoopRV>()) {
    auto place = after.get(*loop);
    if (!place.ok() || !(*place)->is_loop()) { return part; }
    const For& node = *(*place)->loop;
    part.target = snapshot.resolve(node.origin);
    part.text = fmt::format("{}:{}", name, schedule::extent_text(node.extent));
    tooltip += fmt::format("`{}` is loop `{}`,{} extent {}\n", name, node.var->name.view(), loop_kind_behind(" ", node), schedule::extent_text(node.extent));
  } else if (const auto* block = named.variable.as<schedule::BlockRV>()) {
    auto place = after.get(*block);
    if (!place.ok() || !(*place)->is_block()) { return part; }
    part.target = snapshot.resolve((*place)->block()->origin);
    // A block with the name of its variable needs no hint.
    part.text = (*place)->block()->name == named.name ? std::string() : fmt::format("{}:{}", name, (*place)->block()->name.view());
    tooltip += fmt::format("`{}` is block `{}`\n", name, (*place)->block()->name.view());
  } else if (const auto* list = named.variable.as<schedule::Value::List>()) {
    for (const schedule::Value& item : *list) { part.items.push_back(item_text(item, after)); }
    part.text = fmt::format("{}:{}", name, part.items.empty() ? "[]" : "");
    tooltip += fmt::format("`{}` is a list of {}: {}\n", name, list->size(), fmt::join(part.items, ", "));
  } else if (const auto* number = named.variable.as<schedule::ExprRV>()) {
    auto value = after.get(*number);
    if (!value.ok()) { return part; }
    part.text = fmt::format("{}={}", name, *value);
    tooltip += fmt::format("`{}` = {}\n", name, *value);
  }
  return part;
}

/// A loop or block that a step made without a variable: "ax0:8", "C_init". Adds a line to the tooltip.
auto part_of_unnamed(const schedule::Place& place, std::string& tooltip) -> Part {
  if (!place.is_loop()) {
    tooltip += fmt::format("new: block `{}`\n", place.name().view());
    return {place.name().str(), {}, {}};
  }
  std::string extent = schedule::extent_text(place.loop->extent);
  tooltip += fmt::format("new: loop `{}`,{} extent {}\n", place.name().view(), loop_kind_behind(" ", *place.loop), extent);
  return {fmt::format("{}:{}", place.name().view(), extent), {}, {}};
}

/// The hints of one schedule, step by step. Caches memory and estimate of the newest state, because the next step usually begins there.
class StepHints {
 public:
  StepHints(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule) : snapshot_(snapshot), schedule_(schedule), run_(*schedule.run), core_(cost::core_for(schedule.target)), has_stages_(schedule.form.made != nullptr && syntax::makes_stages(*schedule.form.made)) {}

  /// None: the step did not run, or has no hint.
  auto hint(size_t index, Span statement) -> std::optional<Hint> {
    const script::Step& step = run_.steps[index];
    if (step.state != script::StepState::Done || step.after == nullptr) { return std::nullopt; }
    const schedule::Schedule& after = *step.after;
    const schedule::Schedule* previous = index > 0 ? run_.steps[index - 1].after.get() : nullptr;
    std::string tooltip;
    std::vector<Part> parts;
    for (const auto& named : step.named) {
      Part part = part_of(snapshot_, named, after, tooltip);
      if (!part.text.empty()) { parts.push_back(std::move(part)); }
    }
    PrimFunc function = working_function(&after, {}, {});
    PrimFunc before = index > 0 ? working_function(previous, {}, {}) : working_function(nullptr, run_.program, after.func_working_on());
    std::vector<std::string> effects;
    // The statement that makes the schedule may create a new, equal program; it has no effects.
    if (step.primitives > 0 && function && before && !function.same_as(before)) {
      // For a statement without variables, show the loops and blocks that it made.
      for (const schedule::Place* place : step.named.empty() ? unnamed_of(previous, run_.program, after, has_stages_) : std::vector<const schedule::Place*>()) { parts.push_back(part_of_unnamed(*place, tooltip)); }
      effects = effects_of(before, function, previous, after, tooltip);
    }
    std::vector<Hint::Link> links;
    std::string text = hint_text(parts, effects, links);
    if (text.empty()) { return std::nullopt; }
    if (!tooltip.empty()) { tooltip.pop_back(); }
    return Hint{statement.end, std::string(arrow) + text, tooltip, std::move(links), open_factor(snapshot_, schedule_, step, after)};
  }

 private:
  auto memory_in(const PrimFunc& function) -> const Memory& {
    if (!measured_.first || !measured_.first.same_as(function)) { measured_ = {function, memory_of(function, schedule_.target)}; }
    return measured_.second;
  }

  /// The effects of a step in growing importance: memory, conditions, the estimated speedup.
  auto effects_of(const PrimFunc& before, const PrimFunc& function, const schedule::Schedule* previous, const schedule::Schedule& after, std::string& tooltip) -> std::vector<std::string> {
    Memory memory_before = memory_in(before);
    MemoryChange change = change_of(memory_before, memory_in(function));
    std::vector<std::string> effects = std::move(change.texts);
    tooltip += change.tooltip;
    if (int64_t guards = guards_of(function) - guards_of(before); guards > 0) {
      effects.emplace_back("guarded");
      tooltip += fmt::format("{} more {} run under a condition: the factors do not divide the extent\n", guards, plural(guards, "block"));
    }
    auto was = previous != nullptr && previous == estimated_state_ ? estimate_ : estimated(previous != nullptr ? *previous : schedule::Schedule(run_.program, 1), core_);
    estimated_state_ = &after;
    estimate_ = estimated(after, core_);
    std::string gain = was && estimate_ && *estimate_ > 0 ? cost::gain_text(*was / *estimate_) : std::string();
    if (!gain.empty()) {
      // "est" replaces "about".
      constexpr std::string_view about = "about ";
      effects.push_back("est " + (gain.starts_with(about) ? gain.substr(about.size()) : gain));
      tooltip += fmt::format("{}, by an estimate: nothing was run\n", gain);
    }
    return effects;
  }

  /// If the text is too long, names after the first are omitted before effects, and memory before the speedup; the tooltip has everything.
  static auto hint_text(const std::vector<Part>& parts, const std::vector<std::string>& effects, std::vector<Hint::Link>& links) -> std::string {
    constexpr size_t most_of_first = 16;
    size_t room = longest;
    size_t first = parts.empty() ? 0 : std::min(parts.front().text.size() + 4, most_of_first);
    std::string shown;
    for (size_t at = effects.size(); at-- > 0 && effects[at].size() + 1 + first <= room;) {
      shown = " " + effects[at] + shown;
      room -= effects[at].size() + 1;
    }
    std::string text = names_text(parts, room, links) + shown;
    if (text.starts_with(' ')) { text.erase(0, 1); }
    return text;
  }

  const workspace::Snapshot& snapshot_;
  const script::FileSchedule& schedule_;
  const script::ScheduleRun& run_;
  cost::CoreModel core_;
  bool has_stages_;
  const schedule::Schedule* estimated_state_ = nullptr;
  std::optional<double> estimate_;                 // of `estimated_state_`
  std::pair<PrimFunc, Memory> measured_;           // the memory of the last function
};

}  // namespace

auto inlay_hints(const workspace::Snapshot& snapshot, Span within) -> std::vector<Hint> {
  std::vector<Hint> hints;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.run == nullptr || !schedule.is_settled()) { continue; }
    add_consumed(snapshot, schedule, within, hints);
    StepHints of_steps(snapshot, schedule);
    for (size_t i = 0; i < schedule.run->steps.size(); ++i) {
      auto span = snapshot.resolve(schedule.run->steps[i].where);
      if (!span || span->end < within.begin || span->begin > within.end) { continue; }
      if (auto hint = of_steps.hint(i, *span)) { hints.push_back(std::move(*hint)); }
    }
  }
  std::sort(hints.begin(), hints.end(), [](const Hint& a, const Hint& b) { return a.offset < b.offset; });
  return hints;
}

}  // namespace loopsmith::lsp
