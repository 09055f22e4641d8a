// Rewrites as edits: see rewrites.h.
#include "lsp/features/rewrites.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ir/equal.h"
#include "ir/printer.h"
#include "lsp/features/hints.h"
#include "lsp/features/lines.h"
#include "lsp/features/names.h"
#include "lsp/features/steps.h"
#include "lsp/features/tuning.h"
#include "schedule/primitive.h"
#include "script/refusals.h"
#include "support/text.h"
#include "support/text_diff.h"
#include "syntax/schedule_form.h"
#include "workspace/edits/migration.h"
#include "workspace/edits/replacing.h"

namespace loopsmith::lsp {
namespace {

using workspace::Finding;
using workspace::Snapshot;

/// The largest number of schedule runs in the search for fewer steps.
constexpr int most_tried = 400;

/// Python functions without effects.
constexpr std::string_view quiet_calls[] = {"range", "len", "zip", "enumerate", "reversed", "sorted", "list", "tuple", "int", "min", "max", "sum", "dict", "set", "divmod"};

/// True for a statement that only schedules: calls of primitives, calls of functions that get the schedule, variables for their results, and
/// loops and branches around those. False for statements that check, print, write or return something.
auto only_schedules(const syntax::Stmt& statement, Name variable) -> bool {
  bool does = true;
  syntax::walk(statement, [&](const syntax::Node& node) {
    using Kind = syntax::Kind;
    switch (node.kind) {
      case Kind::FunctionDef: case Kind::ClassDef: case Kind::Return: case Kind::While: case Kind::With: case Kind::Assert: case Kind::Import: case Kind::ImportFrom:
      case Kind::Del: case Kind::Scope: case Kind::OpaqueStmt: case Kind::BrokenStmt: case Kind::OpaqueExpr: case Kind::BrokenExpr: does = false; break;
      case Kind::ExprStmt: does = does && node.as<syntax::ExprStmt>()->value->as<syntax::CallExpr>() != nullptr; break;
      case Kind::Assign:
        for (const syntax::ExprPtr target : node.as<syntax::AssignStmt>()->targets) { does = does && target->as<syntax::AttributeExpr>() == nullptr && target->as<syntax::SubscriptExpr>() == nullptr; }
        break;
      case Kind::Call: {
        const auto& call = *node.as<syntax::CallExpr>();
        if (const auto* attribute = call.callee->as<syntax::AttributeExpr>()) {
          does = does && schedule::find_primitive(attribute->attr.name.view()) != nullptr;
        } else if (const auto* name = call.callee->as<syntax::NameExpr>()) {
          bool is_handed_it = std::any_of(call.args.begin(), call.args.end(), [&](const syntax::ExprPtr argument) {
            const auto* given = argument->as<syntax::NameExpr>();
            return given != nullptr && given->name == variable;
          });
          does = does && (std::find(std::begin(quiet_calls), std::end(quiet_calls), name->name.view()) != std::end(quiet_calls) || (is_handed_it && name->name.view() != "print"));
        } else {
          does = false;
        }
        break;
      }
      default: break;
    }
    return does;
  });
  return does;
}

void note_names(const syntax::Node& root, std::vector<Name>& names) {
  syntax::walk(root, [&](const syntax::Node& node) {
    if (const auto* name = node.as<syntax::NameExpr>()) { names.push_back(name->name); }
    return true;
  });
}

}  // namespace

auto repairs_of(const Snapshot& snapshot, const Finding& finding) -> std::vector<TextRewrite> {
  std::vector<TextRewrite> out;
  for (const std::string& remedy : finding.remedies) {
    // Replace only the call, so that the text around it stays.
    std::string call = snapshot.text().substr(finding.span.begin, finding.span.end - finding.span.begin);
    std::string after = script::repaired(call, {0, static_cast<uint32_t>(call.size())}, remedy);
    if (after.empty()) { continue; }
    std::string code = remedy.substr(1, remedy.find('`', 1) - 1);
    if (remedy.ends_with(" first: then it works")) {
      uint32_t start = line_start_of(snapshot, finding.span.begin);
      out.push_back({fmt::format("Put `{}` before it", code), {{{start, start}, indent_at(snapshot, finding.span.begin) + code + line_break_of(snapshot)}}, {}});
    } else {
      out.push_back({fmt::format("Replace by `{}`", code), {{finding.span, code}}, {}});
    }
  }
  return out;
}

auto as_expectation(const Snapshot& snapshot, const Finding& finding) -> TextRewrite {
  uint32_t start = line_start_of(snapshot, finding.span.begin);
  uint32_t end = line_end_of(snapshot, finding.span.begin);
  size_t column = finding.span.begin - start;
  size_t width = std::max<size_t>(1, std::min(finding.span.end, end) - finding.span.begin);
  std::string line = column > 4 ? "    #" : "#";
  // Near the first column the mark does not fit beside the `#`.
  if (column == 0 || column < line.size()) {
    width = width > line.size() - column ? width - (line.size() - column) : 1;
    column = line.size();
  }
  line.resize(column, ' ');
  line += std::string(width, '^');
  constexpr const char* words[] = {"error", "warning", "information", "hint"};
  line += fmt::format(" {}[{}]: {}", words[static_cast<size_t>(finding.severity)], code_id(finding.code), finding.message);
  for (const std::string& remedy : finding.remedies) { line += "; help: " + remedy; }
  return {"Turn this diagnostic into a test", {{{end, end}, line_break_of(snapshot) + line}}, {}};
}

auto migration_to(const Snapshot& snapshot, Dialect dialect) -> TextRewrite {
  workspace::Migration migration = workspace::migrate(snapshot.syntax(), snapshot.name(), dialect);
  TextRewrite rewrite{fmt::format("Migrate this file to TVM {}", dialects::versions_of(dialect)), std::move(migration.edits), {}};
  if (rewrite.edits.empty()) { rewrite.why_not = "it is written in this dialect already"; }
  // An editor that shows edits before it makes them shows the title, too.
  for (const Diagnostic& warning : snapshot.without_silenced(std::move(migration.warnings))) { rewrite.title += "; " + warning.message(); }
  return rewrite;
}

namespace {

/// The primitives that a statement calls, with their effects in general; empty: it calls none that changes the program.
auto primitives_in(const syntax::Stmt& statement) -> std::string {
  std::string what;
  syntax::walk(statement, [&](const syntax::Node& node) {
    const auto* attribute = node.as<syntax::AttributeExpr>();
    const schedule::Primitive* row = attribute != nullptr ? schedule::find_primitive(attribute->attr.name.view()) : nullptr;
    if (row != nullptr && !row->is_pure) { what = fmt::format("{}: {}{}", row->name, row->help, what.empty() ? "" : "; " + what); }
    return true;
  });
  return what;
}

/// The line in front of a statement; empty: there is none.
auto line_before(const Snapshot& snapshot, uint32_t statement) -> std::string_view {
  const uint32_t start = line_start_of(snapshot, statement);
  return start > 0 ? snapshot.lines().line_text(snapshot.text(), snapshot.lines().line_of(start) - 1) : std::string_view();
}

/// The schedule at an offset whose steps have run; null: there is none.
auto explained_at(const Snapshot& snapshot, uint32_t at) -> const script::FileSchedule* {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  return schedule != nullptr && schedule->run != nullptr && schedule->is_settled() ? schedule : nullptr;
}

}  // namespace

auto explanation_title(const Snapshot& snapshot, uint32_t at) -> std::string {
  const script::FileSchedule* schedule = explained_at(snapshot, at);
  const Body body = schedule != nullptr ? body_of(snapshot, schedule->decl) : Body();
  if (body.def == nullptr) { return {}; }
  for (size_t i = 0; i < schedule->run->steps.size() && i < body.statements.size(); ++i) {
    const script::Step& step = schedule->run->steps[i];
    if (step.state != script::StepState::Done || step.after == nullptr) { continue; }
    const std::string what = primitives_in(*body.def->body[static_cast<uint32_t>(i)]);
    const std::string comment = indent_at(snapshot, body.statements[i].begin) + "# " + what;
    if (!what.empty() && !line_before(snapshot, body.statements[i].begin).starts_with(comment)) { return fmt::format("Explain `{}` in comments", schedule->name.view()); }
  }
  return {};
}

auto explain_schedule(const Snapshot& snapshot, uint32_t at) -> TextRewrite {
  const script::FileSchedule* schedule = explained_at(snapshot, at);
  TextRewrite rewrite;
  if (schedule == nullptr) { return rewrite; }
  rewrite.title = fmt::format("Explain `{}` in comments", schedule->name.view());
  Body body = body_of(snapshot, schedule->decl);
  if (body.def == nullptr) { return rewrite; }
  const script::ScheduleRun& run = *schedule->run;
  std::vector<Hint> hints = inlay_hints(snapshot, {0, static_cast<uint32_t>(snapshot.text().size())});
  for (size_t i = 0; i < run.steps.size() && i < body.statements.size(); ++i) {
    const script::Step& step = run.steps[i];
    if (step.state != script::StepState::Done || step.after == nullptr) { continue; }
    std::string what = primitives_in(*body.def->body[static_cast<uint32_t>(i)]);
    if (what.empty()) { continue; }
    auto hint = std::find_if(hints.begin(), hints.end(), [&](const Hint& one) { return one.offset == body.statements[i].end; });
    if (hint != hints.end()) { what += " " + hint->text; }
    IRModule before = i == 0 ? run.program : run.steps[i - 1].after->module();
    if (before.same_as(step.after->module())) {
      what += "; changes nothing here";
    } else {
      std::string then = print_script(before);
      std::string now = print_script(step.after->module());
      DiffCount count = count_diff(diff_lines(then, now));
      what += count.removed + count.added == 0 ? "; changes nothing here" : fmt::format("; {} of the program became {}", count_text(static_cast<int64_t>(count.removed), "line"), count.added);
    }
    uint32_t start = line_start_of(snapshot, body.statements[i].begin);
    std::string comment = indent_at(snapshot, body.statements[i].begin) + "# " + what;
    // Skip a comment that is already there.
    if (line_before(snapshot, start) == comment) { continue; }
    rewrite.edits.push_back({{start, start}, comment + line_break_of(snapshot)});
  }
  return rewrite;
}

auto extract_steps(const Snapshot& snapshot, Span selection) -> TextRewrite {
  TextRewrite rewrite;
  const script::FileSchedule* schedule = selection.begin < selection.end ? schedule_at(snapshot, selection.begin) : nullptr;
  if (schedule == nullptr) { return rewrite; }
  Body body = body_of(snapshot, schedule->decl);
  std::optional<syntax::ScheduleForm> form = body.def != nullptr && !schedule->form.is_nested ? std::optional(schedule->form) : std::nullopt;
  // A helper beside a method would become a method.
  if (!form || !indent_at(snapshot, body.item_begin).empty()) { return rewrite; }
  const bool is_top = schedule->place != SIZE_MAX;
  Span steps{UINT32_MAX, 0};
  std::vector<std::vector<const syntax::Expr*>> contexts = syntax::contexts_of(snapshot.syntax().declaration(schedule->decl));
  std::optional<size_t> one;
  for (size_t i = 0; i < body.statements.size(); ++i) {
    Span statement = body.statements[i];
    if (statement.end <= selection.begin || statement.begin >= selection.end) { continue; }
    if (form->made != nullptr && i <= form->made_at) { return rewrite; }
    // Steps in different `with` statements cannot move.
    if (!one) { one = i; }
    bool is_beside = indent_at(snapshot, statement.begin) == indent_at(snapshot, body.statements[*one].begin) && (contexts.empty() || contexts[i] == contexts[*one]);
    if (!is_beside) { return rewrite; }
    steps = {std::min(steps.begin, statement.begin), std::max(steps.end, statement.end)};
  }
  if (steps.end == 0) { return rewrite; }
  NameTable names = names_of(snapshot);
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  auto add = [](std::vector<uint32_t>& list, uint32_t entity) {
    if (std::find(list.begin(), list.end(), entity) == list.end()) { list.push_back(entity); }
  };
  std::string schedule_name = form->variable.str();
  // At the top of the file the names bound by the schedule's statements belong to the file; other names of the file are visible in every function.
  Span whole = snapshot.syntax().resolve({schedule->decl, body.def->span.begin, body.def->span.end, 0}).value_or(Span{});
  auto is_local = [&](const Entity& entity) {
    bool is_here = entity.function == (is_top ? DeclId{} : schedule->decl);
    return is_here && (is_top ? entity.kind == EntityKind::Variable || entity.kind == EntityKind::Constant : entity.kind == EntityKind::Variable || entity.kind == EntityKind::Parameter) &&
           entity.name.view() != schedule_name;
  };
  std::vector<uint32_t> bound;   // bound in the steps
  for (const Occurrence& o : names.occurrences) {
    const Entity& entity = names.entities[o.entity];
    if (!is_local(entity)) { continue; }
    bool is_inside = o.span.begin >= steps.begin && o.span.end <= steps.end;
    if (is_inside && o.role == Role::Bind) { add(bound, o.entity); }
    bool was_bound = std::any_of(names.occurrences.begin(), names.occurrences.end(), [&](const Occurrence& other) {
      return other.entity == o.entity && other.role == Role::Bind && other.span.end <= steps.begin && (!is_top || other.span.begin >= whole.begin);
    });
    if (is_inside && o.role != Role::Bind && was_bound) { add(inputs, o.entity); }
    if (o.span.begin >= steps.end && o.role != Role::Bind && std::find(bound.begin(), bound.end(), o.entity) != bound.end()) { add(outputs, o.entity); }
  }
  std::string name = "steps";
  auto is_taken = [&](const std::string& wanted) {
    return std::any_of(names.entities.begin(), names.entities.end(), [&](const Entity& entity) { return entity.name.view() == wanted; });
  };
  for (int number = 2; is_taken(name); ++number) { name = fmt::format("steps_{}", number); }
  std::string eol = line_break_of(snapshot);
  std::string parameters = schedule_name;
  std::string results;
  for (uint32_t entity : inputs) { parameters += ", " + names.entities[entity].name.str(); }
  for (uint32_t entity : outputs) { results += (results.empty() ? "" : ", ") + names.entities[entity].name.str(); }
  const std::string was = indent_at(snapshot, steps.begin);
  const std::string indent = is_top || body.statements.empty() ? "    " : indent_at(snapshot, body.statements.front().begin);
  std::string lines = snapshot.text().substr(steps.begin, steps.end - steps.begin);
  if (indent != was) {
    // A string of several lines would change with its indentation.
    if (lines.find("\"\"\"") != std::string::npos || lines.find("'''") != std::string::npos) { return rewrite; }
    for (size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1)) {
      size_t end = std::min(lines.find_first_not_of(" \t", at + 1), lines.size());
      if (end == lines.size() || lines[end] == '\n' || lines[end] == '\r') { continue; }
      std::string_view line = std::string_view(lines).substr(at + 1, end - at - 1);
      lines.replace(at + 1, line.starts_with(was) ? was.size() : line.size(), indent);
    }
  }
  std::string function = fmt::format("def {}({}):{}{}{}{}", name, parameters, eol, indent, lines, eol);
  if (!results.empty()) { function += fmt::format("{}return {}{}", indent, results, eol); }
  rewrite.title = "Extract the selected steps into a function";
  rewrite.edits = {{{body.item_begin, body.item_begin}, function + eol + eol},
                   {steps, fmt::format("{}{}{}({})", results, results.empty() ? "" : " = ", name, parameters)}};
  return rewrite;
}

namespace {

// The lines of each statement, and true for each statement that cannot be removed: only statements on lines of their own can.
auto removable_lines(const Snapshot& snapshot, const Body& body, const script::FileSchedule& schedule, Removed removed) -> std::pair<std::vector<Span>, std::vector<bool>> {
  std::vector<Span> lines;
  std::vector<bool> is_fixed(body.statements.size(), false);
  for (size_t i = 0; i < body.statements.size(); ++i) {
    lines.push_back(whole_lines(snapshot, body.statements[i]));
    if (i > 0 && lines[i].begin < lines[i - 1].end) { is_fixed[i] = is_fixed[i - 1] = true; }
    if (lines[i].begin < body.item_begin || line_start_of(snapshot, body.item_begin + body.def->header_span.begin) == lines[i].begin) { is_fixed[i] = true; }
  }
  if (removed == Removed::Steps) {
    std::vector<Name> used;   // names used by other statements than steps; the steps that bind these names stay
    for (size_t i = 0; i < body.statements.size(); ++i) {
      if (only_schedules(*body.def->body[i], schedule.form.variable)) { continue; }
      is_fixed[i] = true;
      note_names(*body.def->body[i], used);
    }
    for (size_t i = 0; i < body.statements.size(); ++i) {
      const auto* assignment = body.def->body[i]->as<syntax::AssignStmt>();
      std::vector<Name> bound;
      if (assignment != nullptr) {
        for (const syntax::ExprPtr target : assignment->targets) { note_names(*target, bound); }
      }
      is_fixed[i] = is_fixed[i] || std::any_of(bound.begin(), bound.end(), [&](Name name) { return std::find(used.begin(), used.end(), name) != used.end(); });
    }
  }
  return {std::move(lines), std::move(is_fixed)};
}

}  // namespace

auto replace_schedule(const Snapshot& snapshot, const script::FileSchedule& schedule, std::string_view function_text) -> TextRewrite {
  return workspace::replace_schedule(snapshot, schedule, function_text, [&] {
    std::vector<workspace::NameUse> uses;
    NameTable names = names_of(snapshot);
    for (const Occurrence& o : names.occurrences) {
      const Entity& entity = names.entities[o.entity];
      uses.push_back({o.span, entity.name, o.entity, entity.function, o.role == Role::Bind});
    }
    return uses;
  });
}

auto minimise_schedule(const Snapshot& snapshot, uint32_t at, Removed removed, const CancelToken& cancel) -> TextRewrite {
  TextRewrite rewrite;
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr || schedule->run == nullptr || !schedule->is_settled()) { return rewrite; }
  rewrite.title = fmt::format("Minimise `{}`", schedule->name.view());
  Body body = body_of(snapshot, schedule->decl);
  auto failing = [](const script::ScheduleRun& run) -> const script::Step* {
    for (const script::Step& step : run.steps) {
      if (step.state == script::StepState::Failed) { return &step; }
    }
    return nullptr;
  };
  const script::Step* failed = failing(*schedule->run);
  Code code{};
  if (failed != nullptr) {
    if (failed->diagnostics.empty()) { return rewrite; }
    code = failed->diagnostics.front().code;
  } else if (!schedule->run->is_complete || schedule->run->result == nullptr) {
    return rewrite;
  }
  IRModule wanted = failed == nullptr ? schedule->run->result->module() : IRModule();
  // The copy from which statements are removed one by one, from the last to the first, so that earlier statements need not run again.
  workspace::Document document(snapshot.name(), snapshot.version(), snapshot.text(), snapshot.modules());
  Name name = schedule->name;
  auto holds = [&] {
    document.check();
    if (!document.replay(cancel)) { return false; }
    for (const script::FileSchedule& one : document.snapshot()->schedules()) {
      if (!(one.name == name) || one.run == nullptr) { continue; }
      const script::Step* now = failing(*one.run);
      if (code != Code{} || failed != nullptr) { return now != nullptr && !now->diagnostics.empty() && now->diagnostics.front().code == code; }
      return now == nullptr && one.run->is_complete && one.run->result != nullptr && structural_equal(one.run->result->module(), wanted);
    }
    return false;
  };
  if (!holds()) { return rewrite; }
  std::vector<bool> is_removed(body.statements.size(), false);
  auto [lines, is_fixed] = removable_lines(snapshot, body, *schedule, removed);
  size_t left = body.statements.size();
  int tried = 0;
  // First try several at once: two statements that undo each other can only be removed together.
  for (size_t size : {8, 4, 2, 1}) {
    for (size_t end = lines.size(); end >= size && tried < most_tried && !cancel.is_cancelled(); --end) {
      size_t begin = end - size;
      bool is_whole = left > size;
      for (size_t i = begin; i < end; ++i) { is_whole = is_whole && !is_removed[i] && !is_fixed[i]; }
      if (!is_whole) { continue; }
      uint32_t shift = 0;
      for (size_t i = 0; i < begin; ++i) { shift += is_removed[i] ? lines[i].end - lines[i].begin : 0; }
      Span window{lines[begin].begin - shift, lines[end - 1].end - shift};
      std::string gone = snapshot.text().substr(lines[begin].begin, lines[end - 1].end - lines[begin].begin);
      ++tried;
      document.edit(snapshot.version(), window, "");
      if (holds()) {
        // Comments between removed statements are removed, too.
        rewrite.edits.push_back({{lines[begin].begin, lines[end - 1].end}, ""});
        for (size_t i = begin; i < end; ++i) { is_removed[i] = true; }
        for (size_t i = begin; i + 1 < end; ++i) { lines[i].end = lines[i + 1].begin; }
        left -= size;
      } else {
        document.edit(snapshot.version(), {window.begin, window.begin}, gone);
      }
    }
  }
  std::sort(rewrite.edits.begin(), rewrite.edits.end(), [](const TextEdit& x, const TextEdit& y) { return x.span.begin < y.span.begin; });
  return rewrite;
}

}  // namespace loopsmith::lsp
