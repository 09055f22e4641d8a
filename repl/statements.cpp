// Runs statements of script in a session: one input at a time, on a copy of the state, which becomes the next step if all of it worked.
// Statements run as those of schedule functions do (script/statements.h); in addition, values are shown, repairs offered and steps recorded.
#include <fmt/format.h>

#include <algorithm>

#include "repl/answers.h"
#include "repl/commands.h"
#include "repl/session.h"
#include "repl/text.h"
#include "repl/values.h"
#include "script/refusals.h"
#include "script/statements.h"
#include "support/text.h"

namespace loopsmith::repl {
namespace {

/// Fingerprint of all state that an expression can change: the variables, and the random state of the schedule.
auto fingerprint(const eval::Frame& frame) -> std::string {
  std::string out;
  for (const auto& [name, value] : frame.scope->slots()) {
    if (name == last_name || name == last_error_name) { continue; }
    const auto* object = value.as<script::ScheduleObject>();
    out += name.str() + " = " + (object != nullptr ? std::to_string(schedule::Schedule(object->schedule).fork_seed()) : value.repr()) + "\n";
  }
  return out;
}

/// Makes a whole pasted schedule function a definition and a call: removes its decorator and adds the call.
auto with_call(const std::string& input) -> std::string {
  syntax::Document document(input);
  const syntax::FunctionDef* def = nullptr;
  size_t statements = 0;
  for (const syntax::PlacedItem& placed : document.items()) {
    for (const syntax::Stmt* stmt : placed.item->statements) {
      ++statements;
      def = stmt->as<syntax::FunctionDef>();
    }
  }
  if (statements != 1 || def == nullptr || has_errors(document.diagnostics())) { return input; }
  size_t at = input.find("@ls.schedule");
  size_t head = input.find("def ", at == std::string::npos ? 0 : at);
  if (at == std::string::npos || head == std::string::npos) { return input; }
  std::string text = input.substr(0, at) + input.substr(head);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) { text.pop_back(); }
  return text + "\n\n\n" + def->name.name.str() + "(sch)\n";
}

/// The names that an assignment binds, as an expression ("i0", "(i0, i1)"), and its value. The text is empty if the statement binds other
/// targets, or `_`.
auto bound_by(const syntax::Stmt& stmt, const eval::Scope& scope) -> std::pair<std::string, eval::Value> {
  const auto* assign = stmt.as<syntax::AssignStmt>();
  if (assign == nullptr || assign->targets.empty()) { return {}; }
  std::vector<Name> names;
  bool are_names = true;
  auto add = [&](const syntax::Expr& target, auto&& self) -> void {
    if (const auto* name = target.as<syntax::NameExpr>()) { names.push_back(name->name); return; }
    const syntax::List<syntax::ExprPtr>* elements = nullptr;
    if (const auto* tuple = target.as<syntax::TupleExpr>()) { elements = &tuple->elements; }
    if (const auto* list = target.as<syntax::ListExpr>()) { elements = &list->elements; }
    if (elements == nullptr) { are_names = false; return; }
    for (const syntax::Expr* element : *elements) { self(*element, self); }
  };
  const syntax::Expr& target = *assign->targets[0];
  add(target, add);
  if (!are_names || names.empty() || std::find(names.begin(), names.end(), last_name) != names.end()) { return {}; }
  std::string text;
  std::vector<eval::Value> values;
  for (Name name : names) {
    const eval::Value* value = scope.find_here(name);
    if (value == nullptr) { return {}; }
    text += (text.empty() ? "" : ", ") + name.str();
    values.push_back(*value);
  }
  if (target.as<syntax::NameExpr>() != nullptr) { return {text, values[0]}; }
  return {"(" + text + (names.size() == 1 ? ",)" : ")"), eval::Value::tuple(std::move(values))};
}

/// A text of script, parsed.
struct Script {
  explicit Script(std::string_view typed) {
    std::string_view trimmed = trim(typed);
    is_quiet = trimmed.ends_with(";");
    if (is_quiet) { trimmed.remove_suffix(1); }
    text = std::string(trimmed) + "\n";
    document = syntax::Document(text);
  }
  std::string text;
  bool is_quiet = false;        // it ends with `;`
  syntax::Document document;

  [[nodiscard]] auto has_only_expressions() const -> bool {
    for (const syntax::PlacedItem& placed : document.items()) {
      for (const syntax::Stmt* stmt : placed.item->statements) {
        if (stmt->as<syntax::ExprStmt>() == nullptr) { return false; }
      }
    }
    return true;
  }
};

/// A line of source in a form for quoting in a sentence.
auto brief(std::string_view source) -> std::string {
  constexpr size_t most = 60;
  std::string_view line = source.substr(0, source.find('\n'));
  return line.size() == source.size() && line.size() <= most ? std::string(line) : std::string(first_bytes(line, most)) + "...";
}

}  // namespace

auto Session::run_statements(eval::Frame& frame, const syntax::Document& document, const RunOptions& options) -> Ran {
  Ran ran;
  script::StatementRunner runner({.globals = &document_->file(),
                                  .heap = document_->file().evaluator().heap(),
                                  .schedule = sch_name,
                                  .number = static_cast<uint32_t>(options.number),
                                  .cancel = interrupt(),
                                  .output = options.output},
                                 frame);
  for (const syntax::PlacedItem& placed : document.items()) {
    for (const syntax::Stmt* stmt : placed.item->statements) {
      script::StatementResult result = runner.run(*stmt, placed.item);
      ran.diagnostics.insert(ran.diagnostics.end(), result.step.diagnostics.begin(), result.step.diagnostics.end());
      std::string& named = ran.results.emplace_back();
      if (const script::ScheduleObject* object = schedule_object(frame); object != nullptr && object->record.hole) { ran.hole = object->record.hole; }
      // `...` is a place for a search, as `sch.tune()` is.
      if (result.step.hole) {
        ran.hole = result.step.hole;
        continue;
      }
      if (has_errors(ran.diagnostics)) { return ran; }
      if (result.value.is_opaque() || result.step.state == script::StepState::Unknown) {
        ran.unknown_at = result.unknown_at.is_known() ? result.unknown_at : stmt->origin();
        if (!options.ignores_unknown) { return ran; }
      }
      if (stmt->as<syntax::ExprStmt>() != nullptr) {
        if (options.show_value && !result.value.is_unknown() && !result.value.is_none()) { options.show_value(result.value); }
        if (is_handle(result.value)) {
          frame.scope->set(last_name, result.value);
          named = last_name.str();
        }
      } else if (auto [text, value] = bound_by(*stmt, *frame.scope); !text.empty() && is_handle(value)) {
        frame.scope->set(last_name, value);
        named = text;
      }
    }
  }
  return ran;
}

auto Session::run_quietly(eval::Frame& frame, const std::string& text, size_t step) -> Diagnostics {
  Script script(text);
  if (has_errors(script.document.diagnostics())) { return script.document.diagnostics(); }
  Ran ran = run_statements(frame, script.document, {.number = step, .ignores_unknown = true});
  return has_errors(ran.diagnostics) ? std::move(ran.diagnostics) : Diagnostics();
}

auto Session::run_script(const std::string& typed, bool is_trial) -> bool {
  if (!needs_program(*this)) { return false; }
  choices_.clear();
  const std::string input(trim(with_call(typed)));
  const Script script(input);
  if (has_errors(script.document.diagnostics())) {
    if (is_json()) { print(refusal_json(input, script.document.diagnostics(), {})); }
    report_input(script.document, script.document.diagnostics());
    return false;
  }
  // The input works on a copy; a failure leaves the session unchanged.
  eval::Frame frame = steps_[position_].frame.snapshot();
  const script::ScheduleObject* object = schedule_object(frame);
  if (object == nullptr) { return false; }
  const schedule::Schedule before = object->schedule;
  frame.scope->set(last_error_name, last_error_.empty() ? eval::Value() : eval::Value::str(last_error_));
  const std::string variables = fingerprint(frame);
  auto show_value = [&](const eval::Value& value) {
    if (script.is_quiet || is_trial) { return; }
    const script::ScheduleObject* now = schedule_object(frame);
    print(describe_value(now != nullptr ? now->schedule : before, value) + "\n");
  };
  Ran ran = run_statements(frame, script.document, {.number = position_ + 1, .output = [this](std::string_view text) { print(text); }, .show_value = show_value});
  if (ran.unknown_at) {
    const std::string unknown = brief(source_of(script.document, *ran.unknown_at));
    const bool is_schedule = schedules().find(Name(unknown)) != nullptr;
    complain(fmt::format("`{}` is not available in the REPL{}; nothing was done\n", unknown, is_schedule ? fmt::format(" before `:with {}`", unknown) : std::string()));
    return false;
  }
  if (has_errors(ran.diagnostics)) {
    report_refusal(input, script.text, script.document, ran.diagnostics, is_trial);
    return is_trial;
  }
  report_input(script.document, ran.diagnostics);
  if (is_trial) {
    print("it is legal here\n");
    return true;
  }
  object = schedule_object(frame);
  if (object == nullptr) {
    complain("`sch` is the schedule; it cannot be given another value here\n");
    return false;
  }
  // An expression without side effects is not a step; `l.append(1)` is one.
  bool is_same = object->schedule.module().same_as(before.module()) && object->schedule.func_working_on() == before.func_working_on() &&
                 object->schedule.trace().size() == before.trace().size() && fingerprint(frame) == variables;
  if (is_same && !ran.hole && script.has_only_expressions()) { return true; }
  constexpr size_t unlimited = 100000;
  std::string named = script.is_quiet ? std::string() : describe_bound(script.document, *frame.scope, object->schedule, is_json() ? unlimited : host_.width);
  add_step(input, std::move(frame), !object->schedule.module().same_as(before.module()));
  steps_.back().results = std::move(ran.results);
  steps_.back().hole = ran.hole;
  if (script.is_quiet) { return true; }
  if (ran.hole) { print("a place for a search, which begins with the program here: `:tune` searches now, `:save` writes it, `loopsmith tune FILE --with NAME` fills it\n"); }
  if (std::string answer = find_answer_mode(settings_.mode)->text(*this, before.module(), named); !answer.empty()) { show(answer); }
  return true;
}

void Session::report_refusal(const std::string& input, const std::string& text, const syntax::Document& document, const Diagnostics& diagnostics, bool is_trial) {
  report_input(document, diagnostics);
  if (!is_trial) { choices_ = repairs_of(text, document, diagnostics); }
  if (is_json()) {
    print(refusal_json(input, diagnostics, choices_));
    return;
  }
  for (size_t i = 0; i < choices_.size(); ++i) { complain(fmt::format("  {}) {}\n", i + 1, script::one_line(choices_[i]))); }
  if (!choices_.empty() && host_.can_choose) { complain(choices_.size() == 1 ? "type 1 to do that instead\n" : "type a number to do that instead\n"); }
}

auto Session::repairs_of(const std::string& text, const syntax::Document& document, const Diagnostics& diagnostics) -> std::vector<std::string> {
  std::vector<std::string> repairs;
  for (const Diagnostic& d : diagnostics) {
    std::optional<Span> call = document.resolve(d.where);
    if (d.severity != Severity::Error || !call) { continue; }
    for (const std::string& remedy : d.remedies) {
      std::string lines = script::repaired(text, *call, remedy);
      if (!lines.empty()) { repairs.push_back(std::move(lines)); }
    }
    // Replaces the misspelt name by the most similar one; offered if the line then works.
    for (const FixEdit& fix : d.fixes) {
      std::optional<Span> place = document.resolve(fix.where);
      if (!place || place->end > text.size()) { continue; }
      std::string line = text.substr(0, place->begin) + fix.replacement + text.substr(place->end);
      eval::Frame tried = steps_[position_].frame.snapshot();
      if (std::find(repairs.begin(), repairs.end(), line) == repairs.end() && run_quietly(tried, line, position_ + 1).empty()) { repairs.push_back(std::move(line)); }
    }
  }
  return repairs;
}

auto Session::locator(const SourceText* input, const syntax::Document* input_document) const -> Locator {
  auto own = std::make_shared<SourceText>(path_, snapshot_->text());
  return [this, input, input_document, own](const Origin& origin) -> std::optional<std::pair<const SourceText*, Span>> {
    if (auto span = input_document != nullptr ? input_document->resolve(origin) : std::nullopt) { return std::pair(input, *span); }
    if (auto span = snapshot_->resolve(origin)) { return std::pair(static_cast<const SourceText*>(own.get()), *span); }
    auto elsewhere = document_ ? document_->file().elsewhere(origin) : std::nullopt;
    return elsewhere ? std::optional(std::pair(elsewhere->text.get(), elsewhere->span)) : std::nullopt;
  };
}

void Session::report(const Diagnostics& diagnostics) const {
  Locator locate = locator(nullptr, nullptr);
  for (const Diagnostic& d : diagnostics) { host_.err(host_.render(d, locate, path_)); }
}

void Session::report_input(const syntax::Document& document, const Diagnostics& diagnostics) {
  SourceText source("<input>", document.text());
  Locator locate = locator(&source, &document);
  bool is_failure = has_errors(diagnostics);
  if (is_failure) { last_failure_.clear(); }
  for (const Diagnostic& d : diagnostics) {
    std::string rendered = host_.render(d, locate, source.name());
    if (d.severity == Severity::Error && last_failure_.empty()) { last_error_ = d.message(); }
    if (is_failure) { last_failure_ += rendered; }
    if (!is_json() || d.severity != Severity::Error) { host_.err(rendered); }
  }
}

auto Session::source_of(const syntax::Document& document, const Origin& where) const -> std::string {
  SourceText source("<input>", document.text());
  auto found = locator(&source, &document)(where);
  return found ? std::string(found->first->text().substr(found->second.begin, found->second.end - found->second.begin)) : std::string();
}

auto Session::why_not(const std::string& call) -> bool {
  std::string text = call.starts_with("sch.") ? call.substr(4) : call;
  // `compute_at C, i` also means a call.
  size_t blank = text.find(' ');
  if (text.find('(') == std::string::npos && blank != std::string::npos) { text = text.substr(0, blank) + "(" + text.substr(blank + 1) + ")"; }
  if (text.find('(') == std::string::npos) {
    complain(":why-not takes a call, as in `:why-not reorder(k, i)`; `?" + text + "` shows where it is refused\n");
    return false;
  }
  return run_script("sch." + with_places(text), true);
}

auto Session::adopt(const std::string& statements, const std::string& line) -> bool {
  eval::Frame frame = steps_[position_].frame.snapshot();
  // Loops and blocks of the earlier schedule do not belong to the new one.
  for (const auto& [name, value] : std::vector(frame.scope->slots())) {
    if (is_handle(value)) { (void)frame.scope->erase(name); }
  }
  frame.scope->set(sch_name, eval::Value(Ref<eval::Object>(eval::make_object<script::ScheduleObject>(schedule::Schedule(original_, 1)).get())));
  if (Diagnostics wrong = run_quietly(frame, statements, steps_.size()); has_errors(wrong)) {
    report(wrong);
    return false;
  }
  add_step(line, std::move(frame), true);
  steps_.back().is_whole = true;
  steps_.back().statements = statements;
  return true;
}

auto Session::without(size_t left_out) -> Without {
  std::vector<size_t> path = path_to(position_);
  // Begins at the last step that was not typed (a schedule of the file, the result of a search).
  size_t begin = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    if (steps_[path[i]].line.empty() || steps_[path[i]].is_whole) { begin = i; }
  }
  eval::Frame frame = steps_[path[begin]].frame.snapshot();
  for (size_t i = begin + 1; i < path.size(); ++i) {
    if (path[i] == left_out) { continue; }
    const SessionStep& step = steps_[path[i]];
    if (Diagnostics wrong = run_quietly(frame, step.line, path[i]); !wrong.empty()) { return {{}, path[i], wrong.front().message()}; }
  }
  const script::ScheduleObject* object = schedule_object(frame);
  return {object != nullptr ? object->schedule.module() : IRModule(), 0, {}};
}

auto Session::choose(size_t number) -> bool {
  if (number < 1 || number > choices_.size()) {
    complain(choices_.empty() ? "there is nothing to choose from\n" : fmt::format("the choices are 1 to {}\n", choices_.size()));
    return false;
  }
  std::string lines = choices_[number - 1];
  print(lines + (lines.ends_with("\n") ? "" : "\n"));
  return execute(lines);
}

}  // namespace loopsmith::repl
