// Puts the state of a schedule at the cursor into words: see schedules.h.
#include "lsp/features/hover/schedules.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/estimate.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "lsp/features/hints.h"
#include "lsp/features/hover/places.h"
#include "lsp/features/lenses.h"
#include "lsp/features/names.h"
#include "lsp/features/stage_steps.h"
#include "lsp/features/steps.h"
#include "lsp/features/words.h"
#include "schedule/primitive.h"
#include "schedule/state.h"
#include "script/partway.h"
#include "support/process.h"
#include "support/saturate.h"
#include "support/text.h"
#include "support/text_diff.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {

using workspace::Snapshot;

namespace {

/// An item of a list in a script.
auto item_text(const schedule::Schedule& state, const schedule::Value& item) -> std::string {
  if (const auto* loop = item.as<schedule::LoopRV>()) {
    auto place = state.get(*loop);
    return place.ok() && (*place)->is_loop() ? fmt::format("loop `{}`: {}, extent {}", (*place)->name().view(), kind_text(*(*place)->loop), extent_text((*place)->loop->extent)) : "a loop that is no longer there";
  }
  if (const auto* block = item.as<schedule::BlockRV>()) {
    auto place = state.get(*block);
    return place.ok() && (*place)->is_block() ? fmt::format("block `{}`", (*place)->name().view()) : "a block that is no longer there";
  }
  if (const auto* number = item.as<schedule::ExprRV>()) {
    auto value = state.get(*number);
    return value.ok() ? std::to_string(*value) : "a number that is not known";
  }
  return "a value";
}

/// The schedule after the inner statement at the cursor (in a loop, say); none: the cursor is not in an inner statement, or the state is not known.
auto inside_statement(const Snapshot& snapshot, const Cursor& cursor, const script::FileSchedule& schedule) -> std::optional<script::Partway> {
  auto def = syntax::function_of(schedule.item);
  const script::ScheduleRun& run = *schedule.run;
  if (!def || schedule.decl != cursor.at.decl || !schedule.is_settled()) { return std::nullopt; }
  script::ScheduleFunction function = script::as_schedule_function(*def, def, schedule.item->text, schedule.form);
  function.others = schedule.others;
  function.contexts = syntax::contexts_of(schedule.item);
  auto index = script::statement_around(function, cursor.at.begin);
  if (!index) { return std::nullopt; }
  Deadline until = in(std::chrono::milliseconds(200));
  return script::partway({.function = function, .run = run, .index = *index, .at = cursor.at.begin, .is_behind = true, .stop = [until] { return Clock::now() > until; }});
}

/// The number of lists of `n` factors with this product whose last factor is at most `most` (-1: no limit).
auto factorizations(int64_t product, int64_t n, int64_t most) -> int64_t {
  if (n <= 1) { return n == 1 && (most < 0 || product <= most) ? 1 : 0; }
  int64_t count = 0;
  for (int64_t last = 1; last * last <= product; ++last) {
    if (product % last != 0) { continue; }
    for (int64_t one : {last, product / last}) {
      if (most < 0 || one <= most) { count += factorizations(product / one, n - 1, -1); }
      if (last * last == product) { break; }
    }
  }
  return count;
}

/// The value that a draw had at a step, and the number of possible values; empty: not known.
auto drawn_text(const script::ScheduleRun& run, size_t index, const schedule::Primitive& row) -> std::string {
  const schedule::Schedule& after = *run.steps[index].after;
  size_t was = index > 0 && run.steps[index - 1].after != nullptr ? run.steps[index - 1].after->trace().size() : 0;
  std::vector<const schedule::Instruction*> all = after.trace().instructions();
  const schedule::Instruction* drawn = nullptr;
  for (size_t i = was; i < all.size(); ++i) {
    if (all[i]->primitive == &row) { drawn = all[i]; }
  }
  if (drawn == nullptr || drawn->decision.is_none()) { return {}; }
  auto numbers = [](const schedule::Value& value) {
    std::vector<int64_t> out;
    if (const auto* list = value.as<schedule::Value::List>()) {
      for (const schedule::Value& one : *list) {
        if (const int64_t* number = one.integer()) { out.push_back(*number); }
      }
    }
    return out;
  };
  if (row.name == "sample_categorical" && drawn->values.size() >= 2) {
    std::vector<int64_t> candidates = numbers(drawn->values[0]);
    const auto* probs = drawn->values[1].as<schedule::Value::List>();
    const int64_t* at = drawn->decision.integer();
    if (at == nullptr || *at < 0 || static_cast<size_t>(*at) >= candidates.size() || probs == nullptr || probs->size() != candidates.size()) { return {}; }
    const auto* share = (*probs)[static_cast<size_t>(*at)].as<double>();
    return fmt::format("here: {}, one of {} values{}", candidates[static_cast<size_t>(*at)], candidates.size(), share != nullptr ? fmt::format(", drawn with {:.3g}%", *share * 100) : "");
  }
  std::vector<int64_t> factors = numbers(drawn->decision);
  if (row.name == "sample_perfect_tile" && !factors.empty()) {
    int64_t extent = 1;
    for (int64_t factor : factors) { extent = saturating_mul(extent, factor); }
    const int64_t* most = drawn->values.size() >= 3 ? drawn->values[2].integer() : nullptr;
    constexpr int64_t most_extent = int64_t{1} << 24;
    std::string out = fmt::format("here: [{}]", fmt::join(factors, ", "));
    if (extent > 0 && extent <= most_extent && factors.size() <= 6) {
      int64_t ways = factorizations(extent, static_cast<int64_t>(factors.size()), most != nullptr ? *most : 16);
      if (ways > 0) { out += fmt::format(", one of {} ways to make {}", grouped(ways), grouped(extent)); }
    }
    return out;
  }
  if (!factors.empty()) { return fmt::format("here: [{}]", fmt::join(factors, ", ")); }
  if (const int64_t* number = drawn->decision.integer()) {
    return *number == -1 ? "here: where it is, at the root" : *number == -2 ? "here: inlined" : fmt::format("here: loop {} of those that it could be under", *number);
  }
  return {};
}

/// The call with an attribute as its callee.
auto call_around(const Cursor& cursor, const syntax::AttributeExpr& callee) -> Origin {
  for (const syntax::Node* node : cursor.nodes) {
    if (const auto* call = node->as<syntax::CallExpr>(); call != nullptr && call->callee == &callee) { return call->origin(); }
  }
  return callee.origin();
}

/// For a function with the schedule as an argument: the schedule differs between calls, so only the primitive is explained.
auto hover_helper(const Snapshot& snapshot, const Cursor& cursor) -> std::optional<HoverInfo> {
  Name variable;
  for (const syntax::Node* node : cursor.nodes) {
    if (const auto* def = node->as<syntax::FunctionDef>()) { variable = syntax::schedule_parameter(*def); }
    const auto* attribute = node->as<syntax::AttributeExpr>();
    const auto* object = attribute != nullptr ? attribute->object->as<syntax::NameExpr>() : nullptr;
    if (variable.empty() || object == nullptr || object->name != variable || cursor.at.begin < attribute->attr.span.begin || cursor.at.begin > attribute->attr.span.end) { continue; }
    const schedule::Primitive* row = schedule::find_primitive(attribute->attr.name.view());
    if (row == nullptr) { return std::nullopt; }
    HoverInfo info{span_of(snapshot, *attribute, attribute->attr.span), fmt::format("`{}`", row->signature()), {{"help", std::string(row->help)}}};
    info.primitive = row->name;
    return info;
  }
  return std::nullopt;
}

/// Adds the facts of the hint behind the statement of a step: loops, memory, guards and the estimate.
void add_effects(const Snapshot& snapshot, const script::Step& step, std::vector<Fact>& out) {
  Span statement = snapshot.resolve(step.where).value_or(Span{});
  for (const Hint& hint : inlay_hints(snapshot, statement)) {
    if (hint.offset != statement.end) { continue; }
    std::string_view rest = hint.tooltip;
    while (!rest.empty()) {
      size_t end = std::min(rest.find('\n'), rest.size());
      out.push_back({"effect", std::string(rest.substr(0, end))});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
}

/// The fact that a step changed lines of the program, or none. Vectorizing a loop a second time makes a new node but the same program.
auto changed_lines(const script::ScheduleRun& run, size_t index) -> Fact {
  IRModule before = index == 0 ? run.program : run.steps[index - 1].after ? run.steps[index - 1].after->module() : run.program;
  DiffCount count = count_diff(diff_lines(print_script(before), print_script(run.steps[index].after->module())));
  return {"effect", count.removed + count.added == 0 ? "here: it changed nothing" : fmt::format("here: {} of the program became {}", count_text(static_cast<int64_t>(count.removed), "line"), count.added)};
}

/// For `split` in `s[C].split(...)`: the same for a step on a stage.
auto hover_stage_step(const Snapshot& snapshot, const Cursor& cursor, const script::FileSchedule& schedule, const syntax::AttributeExpr& attribute) -> std::optional<HoverInfo> {
  const StageStep* row = find_stage_step(attribute.attr.name.view());
  const auto* subscript = attribute.object->as<syntax::SubscriptExpr>();
  const auto* owner = subscript != nullptr ? subscript->object->as<syntax::NameExpr>() : attribute.object->as<syntax::NameExpr>();
  if (row == nullptr || owner == nullptr || owner->name != schedule.form.variable) { return std::nullopt; }
  HoverInfo info{span_of(snapshot, attribute, attribute.attr.span), fmt::format("`{}`", row->usage), {{"help", row->help}}};
  size_t index = schedule.run != nullptr ? step_at(*schedule.run, cursor.at.begin) : no_step;
  if (index == no_step || row->name == "op") { return info; }
  const script::Step& step = schedule.run->steps[index];
  if (step.state == script::StepState::Failed) { info.facts.push_back({"effect", "here it failed: " + (step.diagnostics.empty() ? std::string("see its error") : step.diagnostics.front().message())}); }
  if (step.state != script::StepState::Done || step.after == nullptr) { return info; }
  info.facts.push_back(changed_lines(*schedule.run, index));
  add_effects(snapshot, step, info.facts);
  return info;
}

}  // namespace

auto schedule_of(const Snapshot& snapshot, const Cursor& cursor) -> const script::FileSchedule* {
  auto span = snapshot.resolve(cursor.at);
  return span ? schedule_at(snapshot, span->begin) : nullptr;
}

auto hover_schedule(const Snapshot& snapshot, const Cursor& cursor, const script::FileSchedule& schedule, const Machine& whole_machine) -> std::optional<HoverInfo> {
  const Machine machine = is_gpu_target(schedule.target) ? Machine() : whole_machine;
  if (schedule.run == nullptr || cursor.name.empty()) { return std::nullopt; }
  const script::Step* here = nullptr;
  const script::Step* maker = nullptr;
  const schedule::Value* variable = nullptr;
  for (const script::Step& step : schedule.run->steps) {
    if (step.where.begin > cursor.at.begin) { break; }
    if (step.after != nullptr) { here = &step; }
    for (const auto& named : step.named) {
      if (named.name == cursor.name) {
        maker = &step;
        variable = &named.variable;
      }
    }
  }
  // Inside a statement: the value when the script first reaches the place.
  std::optional<script::Partway> inside = inside_statement(snapshot, cursor, schedule);
  Origin made_at = maker != nullptr ? maker->where : Origin();
  if (inside) {
    for (const auto& named : inside->named) {
      if (named.name != cursor.name) { continue; }
      variable = &named.variable;
      made_at = named.where;
    }
  }
  if ((here == nullptr && !inside) || variable == nullptr) { return std::nullopt; }
  const schedule::Schedule& state = inside ? *inside->schedule : *here->after;
  Fact made{"made", made_in(snapshot, made_at)};
  PrimFunc function = state.module()->find(state.func_working_on());
  std::optional<HoverInfo> info;
  auto gone = [&](const char* what) {
    info = HoverInfo{cursor.name_span, fmt::format("{} `{}`: no longer there after this line", what, cursor.name.view()), {}};
  };
  if (const auto* loop = variable->as<schedule::LoopRV>()) {
    auto place = state.get(*loop);
    if (place.ok() && (*place)->is_loop() && function) {
      info = describe_loop(function, *(*place)->loop, cursor.name_span, machine);
    } else {
      gone("loop");
    }
  } else if (const auto* block = variable->as<schedule::BlockRV>()) {
    auto place = state.get(*block);
    if (place.ok() && (*place)->is_block() && function) {
      info = describe_block(function, *(*place)->block(), cursor.name_span, machine);
    } else {
      gone("block");
    }
  } else if (const auto* number = variable->as<schedule::ExprRV>()) {
    if (auto value = state.get(*number); value.ok()) {
      info = HoverInfo{cursor.name_span, fmt::format("`{}` = {}", cursor.name.view(), *value), {}};
    }
  } else if (const auto* list = variable->as<schedule::Value::List>()) {
    info = HoverInfo{cursor.name_span, fmt::format("`{}`: a list of {}", cursor.name.view(), list->size()), {}};
    for (size_t i = 0; i < list->size(); ++i) { info->facts.push_back({"item", fmt::format("`{}[{}]`: {}", cursor.name.view(), i, item_text(state, (*list)[i]))}); }
  }
  if (info && !made.text.empty()) { info->facts.push_back(made); }
  return info;
}

auto hover_stage_value(const Snapshot& snapshot, uint32_t at, const Cursor& cursor, const script::FileSchedule& schedule, const Machine& whole_machine) -> std::optional<HoverInfo> {
  auto value = stage_value_at(snapshot, at);
  if (!value) { return std::nullopt; }
  HoverInfo info{cursor.name_span, value->title, {}};
  for (std::string& fact : value->facts) { info.facts.push_back({"stage", std::move(fact)}); }
  size_t index = step_at(*schedule.run, cursor.at.begin);
  const schedule::Schedule* state = value->block && index != no_step ? state_at(*schedule.run, index, true) : nullptr;
  auto place = state != nullptr ? state->get(*value->block) : Result<const schedule::Place*>(nullptr);
  PrimFunc function = state != nullptr ? state->module()->find(state->func_working_on()) : PrimFunc();
  if (state == nullptr || !place.ok() || !(*place)->is_block() || !function) { return info; }
  HoverInfo block = describe_block(function, *(*place)->block(), cursor.name_span, is_gpu_target(schedule.target) ? Machine() : whole_machine);
  info.facts.push_back({"stage", block.title});
  info.facts.insert(info.facts.end(), std::make_move_iterator(block.facts.begin()), std::make_move_iterator(block.facts.end()));
  return info;
}

auto hover_primitive(const Snapshot& snapshot, const Cursor& cursor) -> std::optional<HoverInfo> {
  const script::FileSchedule* schedule = schedule_of(snapshot, cursor);
  if (schedule == nullptr) { return hover_helper(snapshot, cursor); }
  for (const syntax::Node* node : cursor.nodes) {
    const auto* attribute = node->as<syntax::AttributeExpr>();
    if (attribute == nullptr || cursor.at.begin < attribute->attr.span.begin || cursor.at.begin > attribute->attr.span.end) { continue; }
    if (is_of_stages(snapshot, snapshot.resolve(cursor.at).value_or(Span{}).begin)) { return hover_stage_step(snapshot, cursor, *schedule, *attribute); }
    const schedule::Primitive* row = schedule::find_primitive(attribute->attr.name.view());
    if (row == nullptr) {
      const auto* object = attribute->object->as<syntax::NameExpr>();
      for (const ScheduleWord& word : schedule_words()) {
        if (object != nullptr && object->name == "sch" && attribute->attr.name.view() == word.name) {
          return HoverInfo{span_of(snapshot, *attribute, attribute->attr.span), fmt::format("`{}`", word.usage), {{"help", std::string(word.help)}}};
        }
      }
      continue;
    }
    HoverInfo info{span_of(snapshot, *attribute, attribute->attr.span), fmt::format("`{}`", row->signature()), {}};
    info.facts.push_back({"help", std::string(row->help)});
    info.primitive = row->name;
    if (schedule->run == nullptr) { return info; }
    size_t index = step_at(*schedule->run, cursor.at.begin);
    if (index == no_step) { return info; }
    const script::Step& step = schedule->run->steps[index];
    if (step.state == script::StepState::Failed) { info.facts.push_back({"effect", "here it failed: " + (step.diagnostics.empty() ? std::string("see its error") : step.diagnostics.front().message())}); }
    if (step.state != script::StepState::Done || step.after == nullptr) { return info; }
    if (row->is_sampling) {
      if (std::string drawn = drawn_text(*schedule->run, index, *row); !drawn.empty()) { info.facts.push_back({"effect", drawn}); }
      const schedule::Trace& trace = step.after->trace();
      for (const schedule::Instruction* one : trace.instructions()) {
        if (one->primitive != row || !(snapshot.resolve(one->origin) == snapshot.resolve(call_around(cursor, *attribute)))) { continue; }
        info.draw = schedule::draw_of(trace, *one);
        info.drawn_for = schedule->run->program;
        break;
      }
      return info;
    }
    IRModule before = index == 0 ? schedule->run->program : schedule->run->steps[index - 1].after->module();
    if (before.same_as(step.after->module())) {
      info.facts.push_back({"effect", row->is_pure ? "here: it only looks, and changes nothing" : "here: it changed nothing"});
    } else {
      info.facts.push_back(changed_lines(*schedule->run, index));
    }
    add_effects(snapshot, step, info.facts);
    return info;
  }
  return std::nullopt;
}

auto hover_schedule_name(const Snapshot& snapshot, const Cursor& cursor, const script::FileSchedule& schedule) -> std::optional<HoverInfo> {
  const syntax::FunctionDef* def = cursor.nodes.empty() ? nullptr : cursor.nodes.front()->as<syntax::FunctionDef>();
  if (def == nullptr || cursor.at.begin < def->name.span.begin || cursor.at.begin > def->name.span.end) { return std::nullopt; }
  HoverInfo info{cursor.name_span, fmt::format("schedule `{}`", schedule.name.view()), {}};
  if (!schedule.program_name.empty()) { info.title += fmt::format(" for `{}`", schedule.program_name.view()); }
  if (!schedule.target.empty()) { info.title += fmt::format(", target `{}`", schedule.target); }
  if (schedule.run == nullptr || !schedule.is_settled()) {
    info.facts.push_back({"steps", is_of_another_file(schedule) ? not_run_text : schedule.diagnostics.empty() ? "not run yet" : "not run: " + schedule.diagnostics.front().message()});
    return info;
  }
  const script::ScheduleRun& run = *schedule.run;
  auto done = static_cast<size_t>(std::count_if(run.steps.begin(), run.steps.end(), [](const script::Step& step) { return step.state == script::StepState::Done; }));
  uint64_t primitives = 0;
  for (const script::Step& step : run.steps) { primitives += step.primitives; }
  std::string steps = done == run.steps.size() ? fmt::format("{}, all done", count_text(static_cast<int64_t>(done), "step")) : fmt::format("{} of {} steps done", done, run.steps.size());
  info.facts.push_back({"steps", fmt::format("{}, {} called", steps, count_text(static_cast<int64_t>(primitives), "primitive"))});
  for (const script::Step& step : run.steps) {
    if (step.state != script::StepState::Failed || step.diagnostics.empty()) { continue; }
    auto span = snapshot.resolve(step.where);
    info.facts.push_back({"failed", fmt::format("stopped in line {}: {}", span ? snapshot.lines().line_of(span->begin) + 1 : 0, step.diagnostics.front().message())});
    break;
  }
  if (run.result != nullptr && run.program) {
    DiffCount count = count_diff(diff_lines(print_script(run.program), print_script(run.result->module())));
    info.facts.push_back({"effect", count.removed + count.added == 0 ? "the program is as it was" : fmt::format("{} of the program became {}", count_text(static_cast<int64_t>(count.removed), "line"), count.added)});
    schedule::Schedule plain(run.program, 1);
    const schedule::FuncState* before = plain.state().func(run.result->func_working_on());
    const schedule::FuncState* after = run.result->state().func(run.result->func_working_on());
    auto gain = before != nullptr && after != nullptr ? cost::gain(*before, *after, cost::core_for(schedule.target)) : std::nullopt;
    if (std::string words = gain ? cost::gain_text(*gain) : std::string(); !words.empty()) { info.facts.push_back({"estimate", words + ", by an estimate: nothing was run"}); }
  }
  info.schedule = schedule.name.str();
  info.program = schedule.program_name.str();
  return info;
}

auto hover_block_name(const Snapshot& snapshot, uint32_t at, const Machine& whole_machine) -> std::optional<HoverInfo> {
  if (at >= snapshot.text().size()) { return std::nullopt; }
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(at);
  if (here == nullptr || names.entities[here->entity].kind != EntityKind::Block || here->role == Role::Bind) { return std::nullopt; }
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr) { return std::nullopt; }
  Name name = names.entities[here->entity].name;
  const schedule::Schedule* state = nullptr;
  if (schedule->run != nullptr) {
    size_t index = step_at(*schedule->run, snapshot.syntax().origin_at(at).begin);
    if (index != no_step) { state = state_at(*schedule->run, index, false); }
  }
  IRModule module = state != nullptr ? state->module() : schedule->program;
  if (!module) { return std::nullopt; }
  const Machine machine = is_gpu_target(schedule->target) ? Machine() : whole_machine;
  for (const auto& [function_name, function] : module->functions) {
    std::optional<HoverInfo> info;
    post_order(function->body, [&](const Stmt& stmt) {
      if (stmt->kind != NodeKind::BlockRealize) { return; }
      const auto& block = static_cast<const BlockRealize&>(*stmt).block;
      if (block->name == name && !info) { info = describe_block(function, *block, here->span, machine); }
    }, [](const Expr&) {});
    if (info) { return info; }
  }
  return HoverInfo{here->span, fmt::format("block `{}`: not in the program before this line", name.view()), {}};
}

}  // namespace loopsmith::lsp
