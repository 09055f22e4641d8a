// Finds the statements that can be removed, the last one first: see idle_steps.h.
#include "lsp/features/idle_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/equal.h"
#include "lsp/features/names.h"
#include "lsp/features/steps.h"
#include "schedule/primitive.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// True for a statement that only calls primitives of the schedule, none of which draw.
auto calls_primitives_alone(const syntax::Stmt& statement, Name variable) -> bool {
  const auto* assign = statement.as<syntax::AssignStmt>();
  if (assign == nullptr && statement.as<syntax::ExprStmt>() == nullptr) { return false; }
  bool is_plain = true;
  bool calls = false;
  for (const syntax::Expr* target : assign != nullptr ? assign->targets : syntax::List<syntax::ExprPtr>()) {
    syntax::walk(*target, [&](const syntax::Node& node) {
      // A value in a list or an object may be used elsewhere.
      is_plain = is_plain && node.as<syntax::SubscriptExpr>() == nullptr && node.as<syntax::AttributeExpr>() == nullptr;
      return is_plain;
    });
  }
  syntax::walk(statement, [&](const syntax::Node& node) {
    const auto* call = node.as<syntax::CallExpr>();
    if (call == nullptr) { return is_plain; }
    calls = true;
    const auto* attribute = call->callee->as<syntax::AttributeExpr>();
    const auto* object = attribute != nullptr ? attribute->object->as<syntax::NameExpr>() : nullptr;
    const schedule::Primitive* row = object != nullptr && object->name == variable ? schedule::find_primitive(attribute->attr.name.view()) : nullptr;
    // The tuner needs `enter_postproc`, although it changes nothing in the program.
    is_plain = is_plain && row != nullptr && !row->is_sampling && row->name != "enter_postproc";
    return is_plain;
  });
  return is_plain && calls;
}

}  // namespace

auto drop_idle_steps(const Snapshot& snapshot, uint32_t at) -> TextRewrite {
  TextRewrite rewrite;
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr || schedule->run == nullptr || !schedule->is_settled() || !schedule->run->is_complete) { return rewrite; }
  const script::ScheduleRun& run = *schedule->run;
  Body body = body_of(snapshot, schedule->decl);
  // Statements that change another schedule of the function are not idle, although this schedule stays the same.
  std::optional<syntax::ScheduleForm> form = body.def != nullptr && schedule->others.empty() ? std::optional(schedule->form) : std::nullopt;
  if (!form || run.steps.size() != body.statements.size()) { return rewrite; }
  std::vector<Span> lines;
  for (Span statement : body.statements) { lines.push_back(whole_lines(snapshot, statement)); }
  NameTable names = names_of(snapshot);
  auto contains = [](Span outer, Span inner) { return inner.begin >= outer.begin && inner.end <= outer.end; };
  std::vector<bool> is_idle(run.steps.size(), false);
  // True when a name that the statement binds is used behind it, or, if the statement is at the top of the file, in another function.
  auto is_used = [&](size_t i) {
    for (const Occurrence& bound : names.occurrences) {
      if (bound.role != Role::Bind || !contains(body.statements[i], bound.span)) { continue; }
      for (const Occurrence& use : names.occurrences) {
        if (use.entity != bound.entity || use.role == Role::Bind || contains(body.statements[i], use.span)) { continue; }
        bool goes = false;
        for (size_t other = 0; other < is_idle.size(); ++other) { goes = goes || (is_idle[other] && contains(body.statements[other], use.span)); }
        bool is_elsewhere = std::none_of(body.statements.begin(), body.statements.end(), [&](Span statement) { return contains(statement, use.span); });
        if (!goes && (use.span.begin > body.statements[i].end || is_elsewhere)) { return true; }
      }
    }
    return false;
  };
  size_t dropped = 0;
  for (size_t i = run.steps.size(); i-- > 0;) {
    const script::Step& step = run.steps[i];
    if (step.state != script::StepState::Done || step.after == nullptr || !calls_primitives_alone(*body.def->body[static_cast<uint32_t>(i)], form->variable)) { continue; }
    bool shares = (i > 0 && body.statements[i - 1].end > lines[i].begin) || (i + 1 < lines.size() && body.statements[i + 1].begin < lines[i].end);
    bool is_head = body.def->header_span.end > 0 && schedule->place == SIZE_MAX && line_start_of(snapshot, body.item_begin + body.def->header_span.begin) == lines[i].begin;
    if (shares || is_head || (form->made != nullptr && i <= form->made_at)) { continue; }
    const IRModule& before = i == 0 ? run.program : run.steps[i - 1].after != nullptr ? run.steps[i - 1].after->module() : run.program;
    const IRModule& after = step.after->module();
    if (!before || !structural_equal(before, after) || is_used(i)) { continue; }
    is_idle[i] = true;
    ++dropped;
  }
  if (dropped == 0) { return rewrite; }
  rewrite.title = dropped == 1 ? "Drop the step that changes nothing" : fmt::format("Drop the {} steps that change nothing", dropped);
  bool is_emptied = dropped == run.steps.size();
  for (size_t i = 0; i < is_idle.size(); ++i) {
    if (!is_idle[i]) { continue; }
    bool stays = is_emptied && i == 0;
    rewrite.edits.push_back(stays ? TextEdit{body.statements[i], "pass"} : TextEdit{lines[i], ""});
  }
  return rewrite;
}

}  // namespace loopsmith::lsp
