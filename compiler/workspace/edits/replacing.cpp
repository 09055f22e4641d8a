// Replaces the steps of a schedule by those of another one: see replacing.h.
#include "workspace/edits/replacing.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "schedule/primitive.h"
#include "support/text.h"
#include "syntax/schedule_form.h"
#include "workspace/edits/certificate.h"
#include "workspace/edits/placing.h"

namespace loopsmith::workspace {
namespace {

/// The lines below the head of a schedule function, without their indentation, with its variable for the schedule renamed.
auto statements_of(std::string_view function_text, const std::string& variable) -> std::vector<std::string> {
  std::vector<std::string> lines;
  bool is_below = false;
  std::string was;
  while (!function_text.empty()) {
    size_t end = std::min(function_text.find('\n'), function_text.size());
    std::string_view line = function_text.substr(0, end);
    function_text.remove_prefix(std::min(end + 1, function_text.size()));
    if (!is_below) {
      is_below = line.starts_with("def ");
      size_t open = line.find('(');
      if (is_below && open != std::string_view::npos) { was = line.substr(open + 1, line.find_first_of(":,)", open) - open - 1); }
      continue;
    }
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    std::string out;
    char quote = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      char c = line[i];
      bool begins = quote == 0 && line.substr(i).starts_with(was + ".") && (i == 0 || (!is_name_part(line[i - 1]) && line[i - 1] != '.'));
      if (begins) {
        out += variable;
        i += was.size() - 1;
        continue;
      }
      if (c == '"' || c == '\'') { quote = quote == 0 ? c : quote == c ? '\0' : quote; }
      out += c;
    }
    lines.push_back(std::move(out));
  }
  while (!lines.empty() && lines.back().empty()) { lines.pop_back(); }
  return lines;
}

/// True for a statement that changes the schedule, or reads something from it.
auto is_step(const syntax::Stmt& statement, const script::Step* step, const IRModule& before, Name variable) -> bool {
  if (step != nullptr && (!step->named.empty() || (step->after != nullptr && before && !before.same_as(step->after->module())))) { return true; }
  bool found = false;
  syntax::walk(statement, [&](const syntax::Node& node) {
    const auto* attribute = node.as<syntax::AttributeExpr>();
    const auto* object = attribute != nullptr ? attribute->object->as<syntax::NameExpr>() : nullptr;
    found = found || (object != nullptr && object->name == variable && schedule::find_primitive(attribute->attr.name.view()) != nullptr);
    return !found;
  });
  return found;
}

/// The whole lines of steps, with the comments that a search wrote above them. Begins at `least` or later.
auto with_certificate(const Snapshot& snapshot, Span lines, uint32_t least) -> Span {
  Span out = lines;
  for (uint32_t line = snapshot.lines().line_of(lines.begin); line > 0; --line) {
    uint32_t start = snapshot.lines().line_start(snapshot.text(), line - 1);
    std::string_view above = snapshot.lines().line_text(snapshot.text(), line - 1);
    above.remove_prefix(std::min(above.find_first_not_of(" \t"), above.size()));
    if (start < least || !above.starts_with("#")) { break; }
    if (above.starts_with("# " + std::string(tuned_comment))) { out.begin = start; }
  }
  return out;
}

// Replaces the whole function of a schedule by another function with the old name.
void replace_function(const Snapshot& snapshot, const Body& body, std::string_view function_text, TextRewrite& rewrite) {
  ScheduleInFile written = in_form_of(snapshot, function_text);
  std::string text = with_line_breaks(written.text, line_break_of(snapshot.text()));
  size_t begin = text.find("def ");
  size_t end = begin == std::string::npos ? begin : text.find('(', begin);
  const syntax::PlacedItem* placed = snapshot.syntax().item_at(body.item_begin);
  if (end == std::string::npos || placed == nullptr || !indent_at(snapshot, body.item_begin).empty()) {
    rewrite.why_not = "only functions at the top of a file are replaced";
    return;
  }
  text = text.substr(0, begin + 4) + body.def->name.name.str() + text.substr(end);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) { text.pop_back(); }
  uint32_t last = placed->end();
  while (last > placed->offset && (snapshot.text()[last - 1] == '\n' || snapshot.text()[last - 1] == '\r')) { --last; }
  if (written.imports) { rewrite.edits.push_back(std::move(*written.imports)); }
  rewrite.edits.push_back({{placed->offset, last}, std::move(text)});
}

// The reason against the rewrite, if there is one: a statement that stays must not use a name that the replaced statements bound or that the new ones bind.
auto name_that_stays_used(const Snapshot& snapshot, const script::FileSchedule& schedule, const std::vector<NameUse>& uses, const std::function<bool(Span)>& is_in_replaced,
                          const std::vector<std::string>& lines, uint32_t made_end) -> std::optional<std::string> {
  std::vector<uint32_t> gone;
  for (const NameUse& use : uses) {
    if (use.is_binding && is_in_replaced(use.span)) { gone.push_back(use.variable); }
  }
  for (const NameUse& use : uses) {
    if (use.is_binding || use.span.begin < made_end || is_in_replaced(use.span)) { continue; }
    bool is_gone = std::find(gone.begin(), gone.end(), use.variable) != gone.end();
    bool is_bound_anew = std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      size_t equals = line.find(" = ");
      if (equals == std::string::npos || line.starts_with("#")) { return false; }
      std::string targets = ", " + line.substr(0, equals) + ",";
      return targets.find(", " + use.name.str() + ",") != std::string::npos;
    });
    if (is_gone || (is_bound_anew && use.function == (schedule.place != SIZE_MAX ? DeclId{} : schedule.decl))) {
      return fmt::format("`{}` is used in line {}, which is not a step of the schedule", use.name.view(), snapshot.lines().line_of(use.span.begin) + 1);
    }
  }
  return std::nullopt;
}

/// For each statement of the body: true for the steps of the schedule.
auto steps_of(const Body& body, const script::FileSchedule& schedule) -> std::vector<bool> {
  const syntax::ScheduleForm& form = schedule.form;
  const std::vector<script::Step>* run = schedule.run != nullptr && schedule.is_settled() ? &schedule.run->steps : nullptr;
  std::vector<bool> is_replaced(body.statements.size(), false);
  for (size_t i = form.made != nullptr ? form.made_at + 1 : 0; i < body.statements.size(); ++i) {
    const script::Step* step = run != nullptr && i < run->size() ? &(*run)[i] : nullptr;
    IRModule before = step == nullptr ? IRModule() : i == 0 ? schedule.run->program : (*run)[i - 1].after != nullptr ? (*run)[i - 1].after->module() : IRModule();
    is_replaced[i] = is_step(*body.def->body[static_cast<uint32_t>(i)], step, before, form.variable);
  }
  return is_replaced;
}

// Puts the lines in place of the first sequence of adjacent steps, and removes the other sequences, with the comments and blank lines between their steps.
void replace_steps(const Snapshot& snapshot, const Body& body, const std::vector<bool>& is_replaced, const std::vector<std::string>& lines, size_t first, uint32_t made_end,
                   TextRewrite& rewrite) {
  std::string eol = line_break_of(snapshot);
  std::string indent = indent_at(snapshot, body.statements[first].begin);
  std::string text;
  for (const std::string& line : lines) { text += (text.empty() ? "" : eol + indent) + line; }
  bool is_written = false;
  for (size_t i = 0; i < body.statements.size(); ++i) {
    if (!is_replaced[i]) { continue; }
    size_t last = i;
    while (last + 1 < body.statements.size() && is_replaced[last + 1]) { ++last; }
    Span region = with_certificate(snapshot, whole_lines(snapshot, {body.statements[i].begin, body.statements[last].end}), made_end);
    bool shares = (i > 0 && body.statements[i - 1].end > region.begin) || (last + 1 < body.statements.size() && body.statements[last + 1].begin < region.end);
    if (shares) {
      rewrite.edits.clear();
      rewrite.why_not = fmt::format("line {} holds several statements", snapshot.lines().line_of(body.statements[i].begin) + 1);
      return;
    }
    rewrite.edits.push_back({region, is_written ? std::string() : indent + text + eol});
    is_written = true;
    i = last;
  }
  if (!is_written) {
    uint32_t end = line_end_of(snapshot, made_end);
    rewrite.edits.push_back({{end, end}, eol + indent + text});
  }
}

}  // namespace

auto replace_schedule(const Snapshot& snapshot, const script::FileSchedule& schedule, std::string_view function_text, const std::function<std::vector<NameUse>()>& names)
    -> TextRewrite {
  TextRewrite rewrite{fmt::format("Replace `{}` with the best schedule", schedule.name.view()), {}, {}};
  Body body = body_of(snapshot, schedule.decl);
  if (body.def == nullptr) {
    rewrite.why_not = fmt::format("`{}` is no schedule any more", schedule.name.view());
    return rewrite;
  }
  const syntax::ScheduleForm& form = schedule.form;
  if (form.is_nested || !schedule.others.empty()) {
    rewrite.why_not = form.is_nested ? "its schedule is made inside a statement, whose other work would be lost" : "its function makes several schedules";
    return rewrite;
  }
  // Callers of a function that gets its schedule as an argument cannot call one that makes its own schedule.
  const bool keeps_head = form.made != nullptr || (form.decorator == nullptr && makes_schedules_itself(snapshot));
  if (!keeps_head) {
    replace_function(snapshot, body, function_text, rewrite);
    return rewrite;
  }
  std::vector<std::string> lines = statements_of(function_text, form.variable.str());
  std::vector<bool> is_replaced = steps_of(body, schedule);
  auto is_in_replaced = [&](Span span) {
    for (size_t i = 0; i < body.statements.size(); ++i) {
      if (is_replaced[i] && span.begin >= body.statements[i].begin && span.end <= body.statements[i].end) { return true; }
    }
    return false;
  };
  uint32_t made_end = form.made != nullptr ? body.statements[form.made_at].end : body.item_begin + body.def->header_span.end;
  if (auto used = name_that_stays_used(snapshot, schedule, names(), is_in_replaced, lines, made_end)) {
    rewrite.why_not = std::move(*used);
    return rewrite;
  }
  replace_steps(snapshot, body, is_replaced, lines, form.made != nullptr ? form.made_at : 0, made_end, rewrite);
  return rewrite;
}

}  // namespace loopsmith::workspace
