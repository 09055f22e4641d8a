// The loops and blocks that a step names, and its effects on memory and time: see hints.h.
#include "lsp/features/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cost/estimate.h"
#include "ir/loop_kind.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "lsp/features/names.h"
#include "lsp/features/steps.h"
#include "support/text.h"
#include "syntax/ast.h"
#include "syntax/schedule_form.h"
#include "transform/pipelines.h"

namespace loopsmith::lsp {
namespace {

/// The longest text behind the arrow.
constexpr size_t longest = 40;
constexpr std::string_view arrow = "=> ";

/// Blocks of a function that run under a condition.
auto guards_of(const PrimFunc& function) -> int64_t {
  int64_t guards = 0;
  post_order(function->body, [&](const Stmt& stmt) {
    if (stmt->kind != NodeKind::BlockRealize) { return; }
    if (auto always = as_int(static_cast<const BlockRealize&>(*stmt).predicate); !always || *always != 1) { ++guards; }
  }, [](const Expr&) {});
  return guards;
}

/// Bytes of the buffers that a function allocates, by their scope; those of unknown size count nothing.
using Memory = std::map<std::string, int64_t, std::less<>>;

auto allocated_in(const PrimFunc& function) -> Memory {
  Memory memory;
  post_order(function->body, [&](const Stmt& stmt) {
    if (stmt->kind != NodeKind::BlockRealize) { return; }
    for (const Buffer& buffer : static_cast<const BlockRealize&>(*stmt).block->alloc_buffers) {
      int64_t elements = 1;
      for (const Expr& extent : buffer->shape) { elements *= as_int(extent).value_or(0); }
      memory[buffer->scope().empty() ? "global" : buffer->scope().str()] += elements * buffer->dtype.element_bytes();
    }
  }, [](const Expr&) {});
  return memory;
}

/// The same as lowering makes the buffers: where they are needed, and as large as what is touched there. A block of threads shares what is
/// in the memory of its scope. Where lowering has something against the program, as it is written.
auto memory_of(const PrimFunc& function, std::string_view target) -> Memory {
  Memory plain = allocated_in(function);
  if (plain.empty()) { return plain; }
  bool is_bound = false;
  post_order(function->body, [&](const Stmt& stmt) { is_bound = is_bound || (stmt->kind == NodeKind::For && static_cast<const For&>(*stmt).for_kind == ForKind::ThreadBinding); }, [](const Expr&) {});
  IRModuleNode module;
  Name main("main");
  module.functions = {{main, function}};
  auto lowered = transform::lower(make_module(std::move(module)), {}, {.target_kind = is_bound || cost::is_of_device(target) ? "rocm" : "llvm", .until = "compact_buffer_allocation"});
  PrimFunc compact = lowered.ok() ? (*lowered)->find(main) : PrimFunc();
  return compact ? allocated_in(compact) : plain;
}

/// The change of allocated memory by a step: "shared +8 KiB", for a scope that had buffers before "shared 4 MiB -> 8 KiB".
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

/// "loops:[512, 64, +7]": a list with as many items as there is room for; none: not even one fits.
auto shortened(const Part& part, size_t room) -> std::optional<std::string> {
  for (size_t kept = part.items.empty() ? 0 : part.items.size() - 1; kept > 0; --kept) {
    std::string text = fmt::format("{}[{}, +{}]", part.text, fmt::join(part.items.begin(), part.items.begin() + static_cast<std::ptrdiff_t>(kept), ", "), part.items.size() - kept);
    if (text.size() <= room) { return text; }
  }
  return std::nullopt;
}

/// As many names as the room allows, then the number of those left out.
auto names_text(const std::vector<Part>& parts, size_t room, std::vector<Hint::Link>& links) -> std::string {
  std::string text;
  size_t left_out = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    std::string own = part.items.empty() ? part.text : fmt::format("{}[{}]", part.text, fmt::join(part.items, ", "));
    // Leave room for the number of names left out, except behind the last name.
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

/// Loops and blocks that a step made and gave no name to: "ax0:8 ax1:32", "C_init".
auto unnamed_of(const schedule::Schedule* before, const IRModule& program, const schedule::Schedule& after) -> std::vector<const schedule::Place*> {
  const schedule::FuncState* now = after.state().func(after.func_working_on());
  std::optional<schedule::Schedule> plain;
  if (before == nullptr && program) { before = &plain.emplace(program, 1); }
  const schedule::FuncState* then = before != nullptr ? before->state().func(after.func_working_on()) : nullptr;
  std::vector<const schedule::Place*> made;
  if (now == nullptr || then == nullptr) { return made; }
  for (const schedule::Place& place : now->places()) {
    if (place.parent >= 0 && then->find(place.id) == nullptr) { made.push_back(&place); }
  }
  return made;
}

/// The estimated seconds of a call in a state; none: the model does not know the program (cost/estimate.h).
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

/// For `factors=[None, 8]` in a statement that names all the loops it makes: the place of `None`, and the extent that it stands for.
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

/// Behind a variable that a refused statement names and whose loop or block is gone: the line that took it.
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

}  // namespace

auto inlay_hints(const workspace::Snapshot& snapshot, Span within) -> std::vector<Hint> {
  std::vector<Hint> hints;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    const script::ScheduleRun* run = schedule.run.get();
    if (run == nullptr || !schedule.is_settled) { continue; }
    add_consumed(snapshot, schedule, within, hints);
    const cost::CoreModel core = cost::core_for(schedule.target);
    // Of the newest state that was asked for: the next step's before is mostly this step's after.
    const schedule::Schedule* known_state = nullptr;
    std::optional<double> known;
    std::pair<PrimFunc, Memory> measured;
    auto memory_in = [&](const PrimFunc& of) -> Memory {
      if (!measured.first || !measured.first.same_as(of)) { measured = {of, memory_of(of, schedule.target)}; }
      return measured.second;
    };
    for (size_t i = 0; i < run->steps.size(); ++i) {
      const script::Step& step = run->steps[i];
      auto span = snapshot.resolve(step.where);
      if (!span || step.state != script::StepState::Done || step.after == nullptr) { continue; }
      if (span->end < within.begin || span->begin > within.end) { continue; }
      const schedule::Schedule& after = *step.after;
      PrimFunc function = working_function(&after, {}, {});
      std::vector<Part> parts;
      // The effects of the step, the most important last.
      std::vector<std::string> changes;
      std::string tooltip;
      for (const auto& named : step.named) {
        Part part;
        if (const auto* loop = named.variable.as<schedule::LoopRV>()) {
          auto place = after.get(*loop);
          if (!place.ok() || !(*place)->is_loop()) { continue; }
          const For& node = *(*place)->loop;
          part.target = snapshot.resolve(node.origin);
          part.text = fmt::format("{}:{}", named.name.view(), print_script(node.extent));
          tooltip += fmt::format("`{}` is loop `{}`,{} extent {}\n", named.name.view(), node.var->name.view(), loop_kind_behind(" ", node), print_script(node.extent));
        } else if (const auto* block = named.variable.as<schedule::BlockRV>()) {
          auto place = after.get(*block);
          if (!place.ok() || !(*place)->is_block()) { continue; }
          part.target = snapshot.resolve((*place)->block()->origin);
          // A block with the name of its variable needs no hint.
          part.text = (*place)->block()->name == named.name ? std::string() : fmt::format("{}:{}", named.name.view(), (*place)->block()->name.view());
          tooltip += fmt::format("`{}` is block `{}`\n", named.name.view(), (*place)->block()->name.view());
        } else if (const auto* list = named.variable.as<schedule::Value::List>()) {
          // "loops:[512, 512, 512]"; of what is no loop, its name.
          for (const schedule::Value& one : *list) {
            std::string item;
            if (const auto* loop = one.as<schedule::LoopRV>()) {
              auto place = after.get(*loop);
              if (place.ok() && (*place)->is_loop()) { item = print_script((*place)->loop->extent); }
            } else if (const auto* block = one.as<schedule::BlockRV>()) {
              auto place = after.get(*block);
              if (place.ok() && (*place)->is_block()) { item = (*place)->name().str(); }
            } else if (const auto* number = one.as<schedule::ExprRV>()) {
              auto value = after.get(*number);
              if (value.ok()) { item = std::to_string(*value); }
            }
            part.items.push_back(item.empty() ? "gone" : item);
          }
          part.text = fmt::format("{}:{}", named.name.view(), part.items.empty() ? "[]" : "");
          tooltip += fmt::format("`{}` is a list of {}: {}\n", named.name.view(), list->size(), fmt::join(part.items, ", "));
        } else if (const auto* number = named.variable.as<schedule::ExprRV>()) {
          auto value = after.get(*number);
          if (!value.ok()) { continue; }
          part.text = fmt::format("{}={}", named.name.view(), *value);
          tooltip += fmt::format("`{}` = {}\n", named.name.view(), *value);
        }
        if (!part.text.empty()) { parts.push_back(std::move(part)); }
      }
      PrimFunc before = i > 0 ? working_function(run->steps[i - 1].after.get(), {}, {}) : working_function(nullptr, run->program, after.func_working_on());
      // The statement that makes the schedule may make the program anew, and changes nothing.
      bool is_changed = step.primitives > 0 && function && before && !function.same_as(before);
      // A statement that names nothing shows the loops and blocks that it made.
      for (const schedule::Place* place : is_changed && step.named.empty() ? unnamed_of(i > 0 ? run->steps[i - 1].after.get() : nullptr, run->program, after) : std::vector<const schedule::Place*>()) {
        std::string extent = place->is_loop() ? print_script(place->loop->extent) : std::string();
        parts.push_back({place->is_loop() ? fmt::format("{}:{}", place->name().view(), extent) : place->name().str(), {}, {}});
        tooltip += place->is_loop() ? fmt::format("new: loop `{}`,{} extent {}\n", place->name().view(), loop_kind_behind(" ", *place->loop), extent) : fmt::format("new: block `{}`\n", place->name().view());
      }
      if (is_changed) {
        MemoryChange change = change_of(memory_in(before), memory_in(function));
        changes = change.texts;
        tooltip += change.tooltip;
        int64_t guards = guards_of(function) - guards_of(before);
        if (guards > 0) {
          changes.emplace_back("guarded");
          tooltip += fmt::format("{} more {} run under a condition: the factors do not divide the extent\n", guards, plural(guards, "block"));
        }
        const schedule::Schedule* previous = i > 0 ? run->steps[i - 1].after.get() : nullptr;
        auto was = previous != nullptr && previous == known_state ? known : estimated(previous != nullptr ? *previous : schedule::Schedule(run->program, 1), core);
        known_state = &after;
        known = estimated(after, core);
        if (std::string told = was && known && *known > 0 ? cost::gain_text(*was / *known) : std::string(); !told.empty()) {
          constexpr std::string_view about = "about ";
          changes.push_back("est " + (told.starts_with(about) ? told.substr(about.size()) : told));
          tooltip += fmt::format("{}, by an estimate: nothing was run\n", told);
        }
      }
      // Names but the first give way to changes, and of those memory to how long it takes; the tooltip has them all.
      constexpr size_t most_of_first = 16;
      size_t room = longest;
      size_t first = parts.empty() ? 0 : std::min(parts.front().text.size() + 4, most_of_first);
      std::string changed;
      for (size_t at = changes.size(); at-- > 0 && changes[at].size() + 1 + first <= room;) {
        changed = " " + changes[at] + changed;
        room -= changes[at].size() + 1;
      }
      std::vector<Hint::Link> links;
      std::string text = names_text(parts, room, links) + changed;
      if (text.empty()) { continue; }
      if (text.front() == ' ') { text.erase(0, 1); }
      if (!tooltip.empty()) { tooltip.pop_back(); }
      hints.push_back({span->end, std::string(arrow) + text, tooltip, std::move(links), open_factor(snapshot, schedule, step, after)});
    }
  }
  std::sort(hints.begin(), hints.end(), [](const Hint& a, const Hint& b) { return a.offset < b.offset; });
  return hints;
}

}  // namespace loopsmith::lsp
