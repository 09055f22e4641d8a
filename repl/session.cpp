// The state of a REPL session and how a line changes it: see session.h.
#include "repl/session.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "frontend/objects.h"
#include "ir/printer.h"
#include "repl/commands.h"
#include "schedule/primitive.h"
#include "schedule/trace_json.h"
#include "script/refusals.h"
#include "support/text_diff.h"

namespace loopsmith::repl {
namespace {

const Name sch_name("sch");

auto trim(std::string_view text) -> std::string_view {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t')) { text.remove_prefix(1); }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t' || text.back() == '\r')) { text.remove_suffix(1); }
  return text;
}

auto words_of(std::string_view text) -> std::vector<std::string> {
  std::vector<std::string> out;
  std::istringstream in{std::string(text)};
  for (std::string word; in >> word;) { out.push_back(word); }
  return out;
}

// What a prompt or a continuation line of ours looks like, pasted from a transcript.
auto without_prompt(std::string_view line) -> std::string_view {
  for (std::string_view prompt : {std::string_view("sch> "), std::string_view("...> ")}) {
    if (line.starts_with(prompt)) { line.remove_prefix(prompt.size()); }
  }
  return line;
}

}  // namespace

Session::Session(Host host) : host_(std::move(host)), target_(target::host()) {}

auto Session::schedule_object(const eval::Frame& frame) const -> const script::ScheduleObject* {
  const eval::Value* value = frame.scope->find_here(sch_name);
  return value ? value->as<script::ScheduleObject>() : nullptr;
}
auto Session::schedule() const -> const schedule::Schedule& { return schedule_object(steps_[position_].frame)->schedule; }
auto Session::function() const -> Name { return schedule().func_working_on(); }

void Session::report(const Diagnostics& diagnostics, const SourceText* text) const {
  SourceText own(path_, document_.text());
  for (const Diagnostic& d : diagnostics) {
    std::optional<Span> span;
    if (text) { span = Span{d.where.begin, d.where.end}; }
    else { span = document_.resolve(d.where); }
    host_.err(host_.render(d, text ? *text : own, span));
  }
}

auto Session::load(const std::string& path) -> bool {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    complain("cannot read `" + path + "`\n");
    return false;
  }
  std::stringstream text;
  text << in.rdbuf();
  return load_text(path, text.str());
}

auto Session::load_text(const std::string& name, std::string text) -> bool {
  syntax::Document document(std::move(text));
  auto file = std::make_unique<frontend::File>(script::predeclared);
  file->update(document);
  Diagnostics diagnostics = document.diagnostics();
  for (Diagnostic& d : file->diagnostics()) { diagnostics.push_back(std::move(d)); }
  std::string old_path = std::exchange(path_, name);
  std::swap(document_, document);
  report(diagnostics);
  if (has_errors(diagnostics)) {
    // What was there before stays.
    std::swap(document_, document);
    path_ = old_path;
    return false;
  }
  steps_.clear();
  schedules_ = {};
  file_ = std::move(file);
  schedules_.update(*file_);
  return begin({});
}

auto Session::begin(const std::string& program, const std::string& schedule_name) -> bool {
  if (!file_) {
    complain("nothing is loaded; `:load FILE` reads one\n");
    return false;
  }
  script::FileSchedule* named = nullptr;
  if (!schedule_name.empty()) {
    named = schedules_.find(Name(schedule_name));
    if (!named) {
      std::string all;
      for (const script::FileSchedule& s : schedules_.all()) { all += (all.empty() ? "" : ", ") + s.name.str(); }
      complain("there is no schedule `" + schedule_name + "`" + (all.empty() ? "" : "; there are: " + all) + "\n");
      return false;
    }
  }
  IRModule module;
  Name name;
  for (size_t i = 0; i < file_->size(); ++i) {
    const frontend::Declaration& d = file_->declaration(i);
    if (!d.is_program || !d.module) { continue; }
    bool wanted = named ? d.item->decl == named->program_decl : program.empty() || d.item->name == std::string_view(program);
    if (wanted) {
      module = d.module;
      name = d.item->name;
      break;
    }
  }
  if (!module && named) { module = named->program; }
  if (!module) {
    complain(program.empty() ? "the file has no program\n" : "there is no program `" + program + "`\n");
    return false;
  }
  if (named) {
    schedules_.run_one(*file_, *named, {});
    if (named->run) { report(named->run->all_diagnostics()); }
    if (!named->run || !named->run->is_complete || !named->run->result) {
      report(named->diagnostics);
      return false;
    }
  }
  original_ = module;
  program_name_ = name;
  eval::Frame frame;
  frame.scope = file_->evaluator().new_scope({});
  auto object = eval::make_object<script::ScheduleObject>(named ? *named->run->result : schedule::Schedule(module, 1));
  frame.scope->set(sch_name, eval::Value(Ref<eval::Object>(object.get())));
  if (named) {
    // The variables the schedule function had at its end are at hand as well.
    for (const script::Step& step : named->run->steps) {
      for (const script::Step::Named& n : step.named) { frame.scope->set(n.name, script::from_schedule(n.variable)); }
    }
  }
  steps_.clear();
  steps_.push_back({named ? "(schedule " + schedule_name + ")" : "", std::move(frame), named != nullptr});
  position_ = 0;
  return true;
}

auto Session::is_complete(const std::string& input) const -> bool {
  std::string_view text = trim(input);
  if (text.empty() || text.front() == ':' || text.front() == '?') { return true; }
  // A block goes on until an empty line; brackets until they are closed.
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quote) {
      if (c == '\\') { ++i; } else if (c == quote || c == '\n') { quote = 0; }
      continue;
    }
    if (c == '#') { while (i < text.size() && text[i] != '\n') { ++i; } continue; }
    if (c == '"' || c == '\'') { quote = c; }
    if (c == '(' || c == '[' || c == '{') { ++depth; }
    if (c == ')' || c == ']' || c == '}') { --depth; }
  }
  if (depth > 0 || text.back() == '\\') { return false; }
  bool is_block = text.back() == ':' || input.find("\n ") != std::string::npos || input.find("\n\t") != std::string::npos || text.front() == '@';
  return !is_block || input.ends_with("\n\n") || (input.ends_with("\n") && input.find('\n') != input.size() - 1 && input.size() > 1 && input[input.size() - 2] == '\n');
}

auto Session::execute(const std::string& input) -> bool {
  std::string cleaned;
  std::istringstream lines(input);
  for (std::string line; std::getline(lines, line);) { cleaned += std::string(without_prompt(line)) + "\n"; }
  std::string_view text = trim(cleaned);
  if (text.empty() || text.front() == '#') { return true; }
  if (text.front() == '?') {
    return help_command.run(*this, words_of(text.substr(1)));
  }
  if (text.front() == ':') {
    std::vector<std::string> words = words_of(text.substr(1));
    if (words.empty()) { words.push_back("help"); }
    const Command* command = find_command(words[0]);
    if (!command) {
      std::string near = closest_command(words[0]);
      complain("there is no command `:" + words[0] + "`" + (near.empty() ? "; `:help` lists them" : "; did you mean `:" + near + "`?") + "\n");
      return false;
    }
    words.erase(words.begin());
    return command->run(*this, words);
  }
  return run_script(cleaned);
}

auto Session::name_of(const schedule::Place& place) const -> std::string {
  for (const auto& [name, value] : steps_[position_].frame.scope->slots()) {
    const auto* variable = value.as<script::VariableObject>();
    if (!variable) { continue; }
    const schedule::Place* found = nullptr;
    if (const auto* b = variable->variable.as<schedule::BlockRV>()) { if (auto place = schedule().get(*b); place.ok()) { found = *place; } }
    if (const auto* l = variable->variable.as<schedule::LoopRV>()) { if (auto place = schedule().get(*l); place.ok()) { found = *place; } }
    if (found && found->id == place.id) { return name.str(); }
  }
  return {};
}

auto Session::place_of(const std::string& name) const -> const schedule::Place* {
  const schedule::FuncState* func = schedule().state().func(function());
  if (!func) { return nullptr; }
  for (const schedule::Place& place : func->places()) {
    if (name_of(place) == name) { return &place; }
  }
  for (const schedule::Place& place : func->places()) {
    if (place.name() == std::string_view(name)) { return &place; }
  }
  return nullptr;
}

auto Session::why_not(const std::string& call) -> bool { return run_script(call.starts_with("sch.") ? call : "sch." + call, true); }

auto Session::run_script(const std::string& input, bool is_trial) -> bool {
  if (!needs_program(*this)) { return false; }
  repairs_.clear();
  std::string text(trim(input));
  bool quiet = text.ends_with(";");
  if (quiet) { text.pop_back(); }
  text += "\n";
  syntax::Document document(text);
  SourceText source("<input>", text);
  Diagnostics broken = document.diagnostics();
  auto report_here = [&](Diagnostics diagnostics) {
    for (Diagnostic& d : diagnostics) {
      std::optional<Span> span = document.resolve(d.where);
      host_.err(host_.render(d, source, span));
    }
  };
  if (has_errors(broken)) {
    report_here(std::move(broken));
    return false;
  }
  // The line works on a copy; a failure leaves everything as it was.
  eval::Frame frame = steps_[position_].frame.snapshot();
  const script::ScheduleObject* object = schedule_object(frame);
  if (!object) { return false; }
  IRModule before = object->schedule.module();
  eval::Evaluator evaluator(file_->evaluator().heap());
  evaluator.globals = file_.get();
  evaluator.output = [this](std::string_view s) { host_.out(s); };
  if (host_.interrupted) { evaluator.cancel = host_.interrupted(); }
  object->step = static_cast<uint32_t>(position_) + 1;
  for (const syntax::PlacedItem& placed : document.items()) {
    evaluator.tree = placed.item;
    for (const syntax::Stmt* stmt : placed.item->statements) {
      eval::Value result;
      // An expression typed alone shows its value.
      if (const auto* alone = stmt->as<syntax::ExprStmt>()) {
        eval::Value value = evaluator.eval(*alone->value, frame.scope);
        if (!value.is_unknown() && !value.is_none() && !quiet) { print(value.repr() + "\n"); }
        if (value.is_opaque()) { complain("this uses Python that the script language does not have; nothing was done\n"); return false; }
      } else if (evaluator.exec(*stmt, frame.scope, result) == eval::Flow::Unknown) {
        complain("this uses Python that the script language does not have; nothing was done\n");
        return false;
      }
      if (has_errors(evaluator.diagnostics)) {
        if (const script::ScheduleObject* failed = schedule_object(frame)) { script::explain_refusal(evaluator.diagnostics, *failed, *frame.scope); }
        report_here(evaluator.diagnostics);
        for (const Diagnostic& d : evaluator.diagnostics) {
          std::optional<Span> call = document.resolve(d.where);
          if (d.severity != Severity::Error || !call) { continue; }
          for (const std::string& remedy : d.remedies) {
            std::string lines = script::repaired(text, *call, remedy);
            if (!lines.empty()) { repairs_.push_back(std::move(lines)); }
          }
        }
        for (size_t i = 0; i < repairs_.size() && !is_trial; ++i) { complain(":repair " + std::to_string(i + 1) + "  " + script::one_line(repairs_[i]) + "\n"); }
        return is_trial;
      }
    }
  }
  report_here(evaluator.diagnostics);
  if (is_trial) {
    print("it is legal here\n");
    return true;
  }
  object = schedule_object(frame);
  if (!object) {
    complain("`sch` is the schedule; it cannot be another thing here\n");
    return false;
  }
  IRModule after = object->schedule.module();
  steps_.resize(position_ + 1);
  steps_.push_back({std::string(trim(input)), std::move(frame), !after.same_as(before)});
  ++position_;
  if (!quiet && !after.same_as(before)) {
    std::string diff = render_diff(print_script(before), print_script(after), {.context = 2, .color = host_.color, .indent = {}});
    print(diff.empty() ? "(the text is the same)\n" : diff);
  }
  return true;
}

auto Session::go_to(size_t step) -> bool {
  if (step >= steps_.size()) { return false; }
  position_ = step;
  return true;
}

auto Session::adopt_trace(const std::string& json, const std::string& line) -> bool {
  auto trace = schedule::trace_from_json(json);
  if (!trace.ok()) {
    report(trace.diagnostics());
    return false;
  }
  schedule::Schedule sch(original_, 1);
  if (Status done = sch.replay(*trace); !done.ok()) {
    report(done.diagnostics());
    return false;
  }
  eval::Frame frame = steps_[position_].frame.snapshot();
  frame.scope->set(sch_name, eval::Value(Ref<eval::Object>(eval::make_object<script::ScheduleObject>(std::move(sch)).get())));
  steps_.resize(position_ + 1);
  steps_.push_back({line, std::move(frame), true});
  ++position_;
  return true;
}

auto Session::module_text() const -> std::string { return print_script(module()); }

auto Session::as_function(const std::string& name) const -> std::string {
  std::string out = "@ls.schedule(" + program_name_.str() + ")\ndef " + name + "(sch: tir.Schedule) -> None:\n";
  bool any = false;
  // What was done at once (a schedule of the file, a tuned one) comes as its trace; what was typed since as it was typed.
  size_t first = 1;
  for (size_t i = 0; i <= position_; ++i) {
    if (steps_[i].line.starts_with("(") && steps_[i].changes_program) { first = i + 1; }
  }
  if (first > 1 || steps_.front().changes_program) {
    for (const std::string& line : schedule_object(steps_[first - 1].frame)->schedule.trace().python_lines()) {
      out += "    " + line + "\n";
      any = true;
    }
  }
  for (size_t i = first; i <= position_; ++i) {
    std::istringstream lines(steps_[i].line);
    for (std::string line; std::getline(lines, line);) {
      std::string kept(trim(line).empty() ? "" : line);
      while (!kept.empty() && (kept.back() == ';' || kept.back() == ' ')) { kept.pop_back(); }
      if (kept.empty()) { continue; }
      out += "    " + kept + "\n";
      any = true;
    }
  }
  if (!any) { out += "    pass\n"; }
  return out;
}

auto Session::complete(const std::string& input, size_t cursor, size_t& start) const -> std::vector<std::string> {
  std::vector<std::string> out;
  start = std::min(cursor, input.size());
  while (start > 0 && (std::isalnum(static_cast<unsigned char>(input[start - 1])) || input[start - 1] == '_')) { --start; }
  std::string word = input.substr(start, cursor - start);
  auto offer = [&](std::string_view candidate) {
    if (candidate.starts_with(word)) { out.emplace_back(candidate); }
  };
  std::string_view before = std::string_view(input).substr(0, start);
  if (trim(before) == ":") {
    for (const Command& c : all_commands()) { offer(c.name); }
    return out;
  }
  if (before.ends_with("sch.")) {
    for (const schedule::Primitive* p : schedule::all_primitives()) { offer(p->name); }
    return out;
  }
  // Inside quotes of a call that takes a block: names of the blocks there are now.
  if (!before.empty() && (before.back() == '"' || before.back() == '\'') && has_program()) {
    if (const schedule::FuncState* func = schedule().state().func(function())) {
      for (const schedule::Place& place : func->places()) {
        if (place.is_block() && place.parent >= 0) { offer(place.name().view()); }
      }
    }
    return out;
  }
  if (before.starts_with(":with ")) {
    for (const script::FileSchedule& s : schedules_.all()) { offer(s.name.view()); }
    return out;
  }
  if (has_program()) {
    for (const auto& [name, value] : steps_[position_].frame.scope->slots()) { offer(name.view()); }
  }
  for (std::string_view name : {"sch", "for", "if", "range", "len", "print"}) { offer(name); }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace loopsmith::repl
