// What a step gave names to, and what it cost: see hints.h.
#include "lsp/features/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cost/estimate.h"
#include "ir/loop_kind.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "lsp/features/names.h"
#include "lsp/features/steps.h"
#include "target/target.h"

namespace loopsmith::lsp {
namespace {

constexpr size_t longest = 40;
constexpr std::string_view arrow = "=> ";

struct Memory {
  int64_t guards = 0;        // blocks that run under a condition
  int64_t bytes = 0;         // of buffers allocated in blocks; those of unknown size count nothing
};

auto memory_of(const PrimFunc& function) -> Memory {
  Memory memory;
  post_order(function->body, [&](const Stmt& stmt) {
    if (stmt->kind != NodeKind::BlockRealize) { return; }
    const auto& realize = static_cast<const BlockRealize&>(*stmt);
    if (auto always = as_int(realize.predicate); !always || *always != 1) { ++memory.guards; }
    for (const Buffer& buffer : realize.block->alloc_buffers) {
      int64_t elements = 1;
      for (const Expr& extent : buffer->shape) { elements *= as_int(extent).value_or(0); }
      memory.bytes += elements * buffer->dtype.element_bytes();
    }
  }, [](const Expr&) {});
  return memory;
}

auto bytes_text(int64_t bytes) -> std::string {
  const char* sign = bytes < 0 ? "-" : "+";
  int64_t size = bytes < 0 ? -bytes : bytes;
  if (size % (1 << 20) == 0) { return fmt::format("{}{} MiB", sign, size >> 20); }
  if (size >= 10 << 10) { return fmt::format("{}{} KiB", sign, (size + 512) >> 10); }
  return fmt::format("{}{} B", sign, size);
}

/// What a call should take after a step; none where the model has nothing to say (cost/estimate.h).
auto estimated(const schedule::Schedule& state, const cost::CoreModel& core) -> std::optional<double> {
  const schedule::FuncState* func = state.state().func(state.func_working_on());
  auto found = func != nullptr ? cost::estimate(*func, core) : std::nullopt;
  return found ? std::optional(found->seconds) : std::nullopt;
}

auto working_function(const schedule::Schedule* state, const IRModule& program, Name func) -> PrimFunc {
  if (state != nullptr) { return state->module()->find(state->func_working_on()); }
  return program ? program->find(func) : PrimFunc();
}

/// `factors=[None, 8]` of a statement that names all the loops it makes: the place of `None`, and what it is here.
auto open_factor(const workspace::Snapshot& snapshot, Span statement, const script::Step& step, const schedule::Schedule& after) -> std::optional<Hint::Fill> {
  std::string_view text = std::string_view(snapshot.text()).substr(statement.begin, statement.end - statement.begin);
  constexpr std::string_view head = "factors=[";
  size_t begin = text.find(head);
  if (begin == std::string_view::npos || text.find(head, begin + 1) != std::string_view::npos) { return std::nullopt; }
  begin += head.size();
  size_t end = text.find(']', begin);
  if (end == std::string_view::npos) { return std::nullopt; }
  std::vector<std::string_view> items;
  for (size_t at = begin; at <= end;) {
    size_t comma = std::min(text.find(',', at), end);
    std::string_view item = text.substr(at, comma - at);
    size_t first = std::min(item.find_first_not_of(" \n\t"), item.size());
    items.push_back(item.substr(first, item.find_last_not_of(" \n\t") + 1 - first));
    at = comma + 1;
  }
  auto open = std::find(items.begin(), items.end(), "None");
  if (open == items.end() || items.size() != step.named.size()) { return std::nullopt; }
  const auto* loop = step.named[static_cast<size_t>(open - items.begin())].variable.as<schedule::LoopRV>();
  auto place = loop != nullptr ? after.get(*loop) : Result<const schedule::Place*>(nullptr);
  if (loop == nullptr || !place.ok() || *place == nullptr || !(*place)->is_loop()) { return std::nullopt; }
  auto extent = as_int((*place)->loop->extent);
  if (!extent) { return std::nullopt; }
  auto from = statement.begin + static_cast<uint32_t>(open->data() - text.data());
  return Hint::Fill{{from, from + 4}, std::to_string(*extent)};
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
    const cost::CoreModel core = cost::core_of(target::host());
    // Of the newest state that was asked for: the next step's before is mostly this step's after.
    const schedule::Schedule* known_state = nullptr;
    std::optional<double> known;
    for (size_t i = 0; i < run->steps.size(); ++i) {
      const script::Step& step = run->steps[i];
      auto span = snapshot.resolve(step.where);
      if (!span || step.state != script::StepState::Done || step.after == nullptr) { continue; }
      if (span->end < within.begin || span->begin > within.end) { continue; }
      const schedule::Schedule& after = *step.after;
      PrimFunc function = working_function(&after, {}, {});
      std::string text;
      std::string tooltip;
      std::vector<Hint::Link> links;
      size_t left_out = 0;
      for (const auto& named : step.named) {
        std::string part;
        std::optional<Span> target;
        if (const auto* loop = named.variable.as<schedule::LoopRV>()) {
          auto place = after.get(*loop);
          if (!place.ok() || !(*place)->is_loop()) { continue; }
          const For& node = *(*place)->loop;
          target = snapshot.resolve(node.origin);
          part = fmt::format("{}:{}", named.name.view(), print_script(node.extent));
          tooltip += fmt::format("`{}` is loop `{}`,{} extent {}\n", named.name.view(), node.var->name.view(), loop_kind_behind(" ", node), print_script(node.extent));
        } else if (const auto* block = named.variable.as<schedule::BlockRV>()) {
          auto place = after.get(*block);
          if (!place.ok() || !(*place)->is_block()) { continue; }
          target = snapshot.resolve((*place)->block()->origin);
          // A block that has its variable's name says nothing new.
          part = (*place)->block()->name == named.name ? std::string() : fmt::format("{}:{}", named.name.view(), (*place)->block()->name.view());
          tooltip += fmt::format("`{}` is block `{}`\n", named.name.view(), (*place)->block()->name.view());
        } else if (const auto* number = named.variable.as<schedule::ExprRV>()) {
          auto value = after.get(*number);
          if (!value.ok()) { continue; }
          part = fmt::format("{}={}", named.name.view(), *value);
          tooltip += fmt::format("`{}` = {}\n", named.name.view(), *value);
        }
        if (part.empty()) { continue; }
        if (text.size() + part.size() + 1 > longest) {
          ++left_out;
          continue;
        }
        text += (text.empty() ? "" : " ") + part;
        if (target) { links.push_back({arrow.size() + text.size() - part.size(), arrow.size() + text.size(), *target}); }
      }
      if (left_out > 0) { text += fmt::format(" +{}", left_out); }
      PrimFunc before = i > 0 ? working_function(run->steps[i - 1].after.get(), {}, {}) : working_function(nullptr, run->program, after.func_working_on());
      if (function && before && !function.same_as(before)) {
        Memory then = memory_of(before);
        Memory now = memory_of(function);
        if (now.bytes != then.bytes) {
          text += (text.empty() ? "" : " ") + bytes_text(now.bytes - then.bytes);
          tooltip += fmt::format("buffers of the program: {}\n", bytes_text(now.bytes - then.bytes));
        }
        if (now.guards > then.guards) {
          text += (text.empty() ? "" : " ") + std::string("guarded");
          tooltip += fmt::format("{} more block{} run under a condition: the factors do not divide the extent\n", now.guards - then.guards,
                                 now.guards - then.guards == 1 ? "" : "s");
        }
        const schedule::Schedule* previous = i > 0 ? run->steps[i - 1].after.get() : nullptr;
        auto was = previous != nullptr && previous == known_state ? known : estimated(previous != nullptr ? *previous : schedule::Schedule(run->program, 1), core);
        known_state = &after;
        known = estimated(after, core);
        if (std::string told = was && known && *known > 0 ? cost::gain_text(*was / *known) : std::string(); !told.empty()) {
          // Beyond twice the time per cent say little.
          double times = *known / *was;
          text += (text.empty() ? "" : " ") + (times >= 2 ? fmt::format("est {:.2g}x slower", times) : fmt::format("est {:+.0f}%", std::round((times - 1) * 100)));
          tooltip += fmt::format("{}, by an estimate: nothing was run\n", told);
        }
      }
      if (text.empty()) { continue; }
      if (!tooltip.empty()) { tooltip.pop_back(); }
      hints.push_back({span->end, std::string(arrow) + text, tooltip, std::move(links), open_factor(snapshot, *span, step, after)});
    }
  }
  std::sort(hints.begin(), hints.end(), [](const Hint& a, const Hint& b) { return a.offset < b.offset; });
  return hints;
}

}  // namespace loopsmith::lsp
