// Tries other orders of two statements on copies of the text: see reduction_repairs.h.
#include "lsp/features/reduction_repairs.h"

#include <fmt/format.h>

#include <algorithm>

#include "lsp/features/insertion_point.h"
#include "lsp/features/steps.h"
#include "schedule/moves.h"
#include "schedule/primitive.h"
#include "support/codes.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

constexpr size_t most_repairs = 2;

/// A statement that only calls a primitive, or binds its results.
struct CallStatement {
  const syntax::CallExpr* call = nullptr;
  std::string_view primitive;
  const syntax::AssignStmt* assignment = nullptr;
};

auto call_in(const syntax::Stmt& statement) -> CallStatement {
  CallStatement out;
  out.assignment = statement.as<syntax::AssignStmt>();
  const auto* plain = statement.as<syntax::ExprStmt>();
  const syntax::Expr* value = out.assignment != nullptr ? out.assignment->value : plain != nullptr ? plain->value : nullptr;
  out.call = value != nullptr ? value->as<syntax::CallExpr>() : nullptr;
  const auto* attribute = out.call != nullptr ? out.call->callee->as<syntax::AttributeExpr>() : nullptr;
  if (attribute == nullptr || schedule::find_primitive(attribute->attr.name.view()) == nullptr) { return {}; }
  out.primitive = attribute->attr.name.view();
  return out;
}

/// The block that an argument refers to after a step; 0: none.
auto block_meant(const script::ScheduleRun& run, size_t step, const syntax::Expr& argument) -> NodeId {
  const auto* name = argument.as<syntax::NameExpr>();
  const schedule::Value* value = name != nullptr ? variable_at(run, step, name->name, true) : nullptr;
  const auto* block = value != nullptr ? value->as<schedule::BlockRV>() : nullptr;
  if (block == nullptr || run.steps[step].after == nullptr) { return 0; }
  auto place = run.steps[step].after->get(*block);
  return place.ok() ? (*place)->id : 0;
}

/// True when the first statements of the schedule run with the edits.
auto works(const Snapshot& snapshot, const script::FileSchedule& schedule, const std::vector<TextEdit>& edits, size_t statements, const CancelToken& cancel) -> bool {
  workspace::Document document(snapshot.name(), snapshot.version(), with_edits(snapshot.text(), edits), snapshot.modules());
  document.check();
  if (!document.replay(cancel)) { return false; }
  for (const script::FileSchedule& one : document.snapshot()->schedules()) {
    if (!(one.name == schedule.name)) { continue; }
    if (one.run == nullptr || one.run->steps.size() < statements) { return false; }
    return std::all_of(one.run->steps.begin(), one.run->steps.begin() + static_cast<std::ptrdiff_t>(statements), [](const script::Step& step) { return step.state == script::StepState::Done; });
  }
  return false;
}

/// For a step on a loop around half of a reduction: moves the step in front of the last decomposition.
auto repairs_of_loop(const Snapshot& snapshot, const script::FileSchedule& schedule, const Body& body, size_t failed, const CancelToken& cancel) -> std::vector<TextRewrite> {
  for (size_t i = failed; i-- > 0;) {
    if (call_in(*body.def->body[i]).primitive != "decompose_reduction") { continue; }
    Span line = whole_lines(snapshot, body.statements[failed]);
    uint32_t before = whole_lines(snapshot, body.statements[i]).begin;
    bool shares = line.begin < body.statements[failed - 1].end || (failed + 1 < body.statements.size() && body.statements[failed + 1].begin < line.end) || (i > 0 && body.statements[i - 1].end > before);
    if (shares) { return {}; }
    std::string step = snapshot.text().substr(body.statements[failed].begin, body.statements[failed].end - body.statements[failed].begin);
    std::vector<TextEdit> edits{{{before, before}, indent_at(snapshot, body.statements[i].begin) + step + line_break_of(snapshot)}, {line, ""}};
    if (!works(snapshot, schedule, edits, failed + 1, cancel)) { return {}; }
    return {{fmt::format("Put `{}` before `decompose_reduction`", step), std::move(edits), {}}};
  }
  return {};
}

}  // namespace

auto reduction_repairs(const Snapshot& snapshot, const workspace::Finding& finding, const CancelToken& cancel) -> std::vector<TextRewrite> {
  std::vector<TextRewrite> out;
  bool is_of_that_kind = finding.code == Code::NotCompleteOrReduction || finding.code == Code::NotCompact;
  const script::FileSchedule* schedule = is_of_that_kind ? schedule_at(snapshot, finding.span.begin) : nullptr;
  if (schedule == nullptr || schedule->run == nullptr || !schedule->is_settled()) { return out; }
  const script::ScheduleRun& run = *schedule->run;
  Body body = body_of(snapshot, schedule->decl);
  auto failed = static_cast<size_t>(std::find_if(run.steps.begin(), run.steps.end(), [](const script::Step& step) { return step.state == script::StepState::Failed; }) - run.steps.begin());
  if (body.def == nullptr || failed == 0 || failed >= body.statements.size() || finding.span.begin < body.statements[failed].begin || finding.span.begin > body.statements[failed].end) { return out; }
  CallStatement refused = call_in(*body.def->body[failed]);
  if (refused.call == nullptr || refused.call->args.empty() || run.steps[failed - 1].after == nullptr) { return out; }
  if (finding.code == Code::NotCompact) { return repairs_of_loop(snapshot, *schedule, body, failed, cancel); }
  NodeId block = block_meant(run, failed - 1, *refused.call->args[0]);
  // The last decomposition that made this block.
  for (size_t i = failed; i-- > 0;) {
    CallStatement apart = call_in(*body.def->body[i]);
    if (apart.primitive != "decompose_reduction" || apart.call->args.size() < 2 || block == 0) { continue; }
    const auto* target = apart.assignment != nullptr && apart.assignment->targets.size() == 1 ? apart.assignment->targets[0] : nullptr;
    bool is_init = target != nullptr && block_meant(run, i, *target) == block;
    bool is_update = block_meant(run, i, *apart.call->args[0]) == block;
    if (!is_init && !is_update) { continue; }
    auto text_of = [&](const syntax::Node& node) {
      Span span = snapshot.resolve(node.origin()).value_or(Span{});
      return snapshot.text().substr(span.begin, span.end - span.begin);
    };
    auto span_of = [&](const syntax::Node& node) { return snapshot.resolve(node.origin()).value_or(Span{}); };
    std::vector<Span> lines;
    for (Span statement : body.statements) { lines.push_back(whole_lines(snapshot, statement)); }
    bool shares = false;
    for (size_t j = 1; j < lines.size(); ++j) { shares = shares || ((j == i || j == i + 1 || j == failed || j == failed + 1) && lines[j].begin < lines[j - 1].end); }
    if (shares) { return out; }
    const std::string indent = indent_at(snapshot, body.statements[i].begin);
    const std::string eol = line_break_of(snapshot);
    const std::string whole = text_of(*apart.call->args[0]);
    // The step applied to the whole reduction instead of its half.
    Span statement = body.statements[failed];
    Span argument = span_of(*refused.call->args[0]);
    std::string as_whole = snapshot.text().substr(statement.begin, argument.begin - statement.begin) + whole + snapshot.text().substr(argument.end, statement.end - argument.end);
    const std::string apart_text = snapshot.text().substr(body.statements[i].begin, body.statements[i].end - body.statements[i].begin);
    auto offer = [&](std::string title, std::vector<TextEdit> edits, size_t statements) {
      bool is_wanted = out.size() < most_repairs && !cancel.is_cancelled() && works(snapshot, *schedule, edits, statements, cancel);
      if (is_wanted) { out.push_back({std::move(title), std::move(edits), {}}); }
      return is_wanted;
    };
    const TextEdit gone{lines[failed], ""};
    // The step was to move the init under a loop. Decomposing at the next inner loop puts the init there.
    std::optional<InsertionPoint> before = i > 0 ? point_after(snapshot, *schedule, i - 1) : std::nullopt;
    const auto* loop_name = refused.call->args.size() > 1 ? refused.call->args[1]->as<syntax::NameExpr>() : nullptr;
    const schedule::Value* loop_value = loop_name != nullptr ? variable_at(run, failed - 1, loop_name->name, true) : nullptr;
    const auto* loop = loop_value != nullptr ? loop_value->as<schedule::LoopRV>() : nullptr;
    auto there = loop != nullptr ? run.steps[failed - 1].after->get(*loop) : Result<const schedule::Place*>(nullptr);
    NodeId reduction = i > 0 ? block_meant(run, i - 1, *apart.call->args[0]) : 0;
    if (is_init && before && loop != nullptr && there.ok() && reduction != 0) {
      auto found = before->schedule.state().find(reduction);
      const schedule::Place* around = found ? found.func->find((*there)->id) : nullptr;
      std::vector<const schedule::Place*> loops = found ? found.func->loops(*found.place) : std::vector<const schedule::Place*>();
      auto at = std::find(loops.begin(), loops.end(), around);
      if (around != nullptr && at != loops.end() && at + 1 != loops.end()) {
        std::string name = before->in_words(schedule::place_text(*found.func, **(at + 1), [&](const schedule::Place& place) { return before->name_of(place); }));
        (void)offer(fmt::format("Decompose at `{}`: the init runs under `{}` then", name, text_of(*refused.call->args[1])), {{span_of(*apart.call->args[1]), name}, gone}, failed);
      }
    }
    (void)offer(fmt::format("Put `{}` before `decompose_reduction`", as_whole), {{{lines[i].begin, lines[i].begin}, indent + as_whole + eol}, gone}, failed + 1);
    // Otherwise the decomposition moves behind the step; the loops of the reduction may have other names there.
    std::vector<std::string> loops_then{text_of(*apart.call->args[1])};
    std::string variable = schedule->form.variable.str();
    for (int inward = 1; inward <= 2; ++inward) { loops_then.push_back(fmt::format("{}.get_loops({})[-{}]", variable, whole, inward)); }
    for (const std::string& then : loops_then) {
      Span where = span_of(*apart.call->args[1]);
      uint32_t offset = body.statements[i].begin;
      std::string moved = apart_text.substr(0, where.begin - offset) + then + apart_text.substr(where.end - offset);
      if (offer(fmt::format("Put `decompose_reduction` behind `{}`", as_whole), {{lines[i], ""}, {body.statements[failed], as_whole + eol + indent + moved}}, failed + 1)) { break; }
    }
    return out;
  }
  return out;
}

}  // namespace loopsmith::lsp
