// The state of a REPL session and how a line changes it: see session.h.
#include "repl/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "frontend/objects.h"
#include "ir/highlight.h"
#include "ir/printer.h"
#include "ir/script_diff.h"
#include "repl/answers.h"
#include "repl/arguments.h"
#include "repl/commands.h"
#include "repl/effects.h"
#include "repl/input.h"
#include "repl/text.h"
#include "repl/values.h"
#include "schedule/legality.h"
#include "schedule/moves.h"
#include "schedule/primitive.h"
#include "schedule/trace_json.h"
#include "script/refusals.h"
#include "script/scope_names.h"
#include "support/codes.h"
#include "support/text_diff.h"
#include "transform/pipelines.h"
#include "workspace/imports.h"

namespace loopsmith::repl {
namespace {

const Name sch_name("sch");

auto trim(std::string_view text) -> std::string_view {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t')) { text.remove_prefix(1); }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t' || text.back() == '\r')) { text.remove_suffix(1); }
  return text;
}

/// A statement as it would be typed: its lines without the indentation of the first.
auto undented(std::string_view text, Span span) -> std::string {
  size_t start = span.begin == 0 ? 0 : text.rfind('\n', span.begin - 1) + 1;
  size_t indent = span.begin - start;
  std::string out;
  for (size_t at = span.begin; at < span.end;) {
    size_t end = std::min<size_t>(text.find('\n', at), span.end);
    std::string_view line = text.substr(at, end - at);
    out += (out.empty() ? "" : "\n") + std::string(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    at = end + 1;
    for (size_t i = 0; i < indent && at < span.end && (text[at] == ' ' || text[at] == '\t'); ++i) { ++at; }
  }
  return out;
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

/// Of what came of one input, so many bytes are kept for a document.
constexpr size_t most_kept = 64 << 10;

/// Without colours and what was overwritten on the terminal.
auto as_text(std::string_view said) -> std::string {
  std::string out;
  for (size_t i = 0; i < said.size(); ++i) {
    if (said[i] == '\x1b') {
      while (i + 1 < said.size() && (said[i] < '@' || said[i] > '~' || said[i] == '[')) { ++i; }
    } else if (said[i] == '\r') {
      out.resize(out.rfind('\n') == std::string::npos ? 0 : out.rfind('\n') + 1);
    } else {
      out += said[i];
    }
  }
  return out;
}

/// Does what came of an input differ from run to run?
auto differs_each_time(const std::string& input) -> bool {
  if (input.starts_with(";") || input.starts_with("]")) { return true; }
  for (const char* command : {"bench", "why", "explain", "run", "verify", "tune", "time", "jobs", "wait", "fg", "stop", "take", "search", "shell", "hist", "history", "roofline", "footprint", "target", "asm", "llvm", "watch", "hint"}) {
    if (input == std::string(":") + command || input.starts_with(std::string(":") + command + " ")) { return true; }
  }
  return false;
}

const Name last_name("_");
const Name last_error_name("_err");

/// What a look can see of a session: its variables and what the schedule would draw next.
auto looked_at(const eval::Frame& frame) -> std::string {
  std::string out;
  for (const auto& [name, value] : frame.scope->slots()) {
    if (name == last_name || name == last_error_name) { continue; }
    const auto* object = value.as<script::ScheduleObject>();
    out += name.str() + " = " + (object != nullptr ? std::to_string(schedule::Schedule(object->schedule).fork_seed()) : value.repr()) + "\n";
  }
  return out;
}

/// What the last statement of an input gave: the names that it bound as an expression, or `_` for a call alone. Empty: nothing.
auto result_names(const syntax::Stmt& stmt) -> std::string {
  const auto* assign = stmt.as<syntax::AssignStmt>();
  if (assign == nullptr || assign->targets.empty()) { return {}; }
  std::vector<std::string> names;
  bool all = true;
  auto add = [&](const syntax::Expr& target, auto&& self) -> void {
    if (const auto* name = target.as<syntax::NameExpr>()) { names.push_back(name->name.str()); return; }
    const syntax::List<syntax::ExprPtr>* elements = nullptr;
    if (const auto* tuple = target.as<syntax::TupleExpr>()) { elements = &tuple->elements; }
    if (const auto* list = target.as<syntax::ListExpr>()) { elements = &list->elements; }
    if (elements == nullptr) { all = false; return; }
    for (const syntax::Expr* element : *elements) { self(*element, self); }
  };
  const syntax::Expr* target = assign->targets[0];
  add(*target, add);
  if (!all || names.empty() || std::find(names.begin(), names.end(), "_") != names.end()) { return {}; }
  if (target->as<syntax::NameExpr>() != nullptr) { return names[0]; }
  std::string out;
  for (const std::string& name : names) { out += (out.empty() ? "" : ", ") + name; }
  return "(" + out + (names.size() == 1 ? ",)" : ")");
}

/// A schedule function that was pasted whole is done, not only defined: its decorators go, a call comes.
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

/// Has a name the letters of a word in their order, the first one first?
auto has_letters(std::string_view name, std::string_view word) -> bool {
  if (!word.empty() && !name.starts_with(word[0])) { return false; }
  size_t at = 0;
  for (char c : word) {
    at = name.find(c, at);
    if (at == std::string_view::npos) { return false; }
    ++at;
  }
  return true;
}

}  // namespace

auto read_transcript(std::string_view text, std::string* preamble) -> std::vector<Exchange> {
  std::vector<Exchange> out;
  size_t number = 0;
  bool in_input = false;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) { line.remove_suffix(1); }
    // What a search beside is at stands before the prompt.
    if (size_t margin = line.find("] sch>"); line.starts_with("[") && margin != std::string_view::npos && line.find_first_of("[]", 1) == margin) { line.remove_prefix(margin + 2); }
    if (line == "sch>" || line.starts_with("sch> ")) {
      out.push_back({std::string(line.substr(std::min<size_t>(5, line.size()))), {}, number});
      in_input = true;
    } else if (in_input && (line == "...>" || line.starts_with("...> "))) {
      out.back().input += "\n" + std::string(line.substr(std::min<size_t>(5, line.size())));
    } else if (!out.empty()) {
      out.back().output += std::string(line) + "\n";
      in_input = false;
    } else if (preamble != nullptr) {
      *preamble += std::string(line) + "\n";
    }
  }
  return out;
}

auto read_passages(std::string_view text, bool is_markdown) -> std::vector<Passage> {
  std::vector<Passage> out(1);
  if (!is_markdown) {
    out[0].typed = read_transcript(text, &out[0].before);
    return out;
  }
  size_t number = 0;
  std::string fence;              // that closes the block; empty: outside
  std::string block;
  size_t block_line = 0;
  size_t width = 0;
  size_t height = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    size_t ticks = std::min(line.find_first_not_of('`'), line.size());
    if (fence.empty()) {
      out.back().before += line + "\n";
      if (ticks >= 3) {
        fence = line.substr(0, ticks);
        auto said = [&](const char* name) -> size_t {
          size_t at = line.find(name);
          return at == std::string::npos ? 0 : std::min<size_t>(std::strtoul(line.c_str() + at + std::strlen(name), nullptr, 10), 10000);
        };
        width = said("width=");
        height = said("height=");
        block_line = number;
      }
      continue;
    }
    bool closes = ticks >= fence.size() && ticks == line.size();
    if (!closes) {
      block += line + "\n";
      continue;
    }
    std::string preamble;
    std::vector<Exchange> typed = read_transcript(block, &preamble);
    if (typed.empty()) {
      out.back().before += block;
    } else {
      for (Exchange& one : typed) { one.line += block_line; }
      out.back().before += preamble;
      out.back().typed = std::move(typed);
      out.back().width = width;
      out.back().height = height;
      out.emplace_back();
    }
    out.back().before += line + "\n";
    block.clear();
    fence.clear();
  }
  out.back().before += block;
  return out;
}

Session::Session(Host host) : host_(std::move(host)), target_(target::host()) {
  // What is said is kept beside what was typed.
  auto keep = [this](std::function<void(std::string_view)> out) -> std::function<void(std::string_view)> {
    if (!out) { return nullptr; }
    return [this, out = std::move(out)](std::string_view text) {
      if (depth_ > 0 && !said_.empty() && said_.back().size() < most_kept) { said_.back() += text; }
      out(text);
    };
  };
  host_.out = keep(std::move(host_.out));
  host_.err = keep(std::move(host_.err));
  host_.page = keep(std::move(host_.page));
}

auto Session::schedule_object(const eval::Frame& frame) const -> const script::ScheduleObject* {
  const eval::Value* value = frame.scope->find_here(sch_name);
  return value ? value->as<script::ScheduleObject>() : nullptr;
}
auto Session::schedule() const -> const schedule::Schedule& { return schedule_object(steps_[position_].frame)->schedule; }
auto Session::function() const -> Name { return schedule().func_working_on(); }

void Session::report(const Diagnostics& diagnostics) const {
  SourceText own(path_, document_.text());
  Locator locate = [&](const Origin& origin) -> std::optional<std::pair<const SourceText*, Span>> {
    if (auto span = document_.resolve(origin)) { return std::pair(static_cast<const SourceText*>(&own), *span); }
    auto elsewhere = file_ ? file_->elsewhere(origin) : std::nullopt;
    return elsewhere ? std::optional(std::pair(elsewhere->text.get(), elsewhere->span)) : std::nullopt;
  };
  for (const Diagnostic& d : diagnostics) { host_.err(host_.render(d, locate, path_)); }
}

auto Session::load(const std::string& path, const std::string& needed) -> bool {
  std::ifstream in(path == attached_.first ? attached_.second : path, std::ios::binary);
  if (!in) {
    complain(path == attached_.first ? "the editor has closed `" + path + "`\n" : "cannot read `" + path + "`\n");
    return false;
  }
  std::stringstream text;
  text << in.rdbuf();
  return load_text(path, text.str(), needed);
}

namespace {

/// Is it a program that can be worked on, whatever is wrong elsewhere in the file?
auto is_sound(frontend::File& file, size_t i) -> bool {
  const frontend::Declaration& d = file.declaration(i);
  return d.is_program && d.module && !d.item->has_error && !has_errors(d.diagnostics);
}

}  // namespace

auto Session::load_text(const std::string& name, std::string text, const std::string& needed) -> bool {
  syntax::Document document(std::move(text));
  auto file = std::make_unique<frontend::File>(script::predeclared);
  file->import_from(workspace::imports_on_disk(name));
  file->update(document);
  Diagnostics diagnostics = document.diagnostics();
  for (Diagnostic& d : file->diagnostics()) { diagnostics.push_back(std::move(d)); }
  std::string old_path = std::exchange(path_, name);
  std::swap(document_, document);
  report(diagnostics);
  // Schedules with mistakes keep nobody from working on a program.
  script::Schedules schedules;
  schedules.update(*file);
  for (const Diagnostic& d : schedules.diagnostics()) {
    if (d.severity == Severity::Error) { report({d}); }
  }
  bool is_any_sound = false;
  std::string broken;
  for (size_t i = 0; has_errors(diagnostics) && i < file->size(); ++i) {
    if (!file->declaration(i).is_program) { continue; }
    std::string program = file->declaration(i).item->name.str();
    bool is_good = is_sound(*file, i);
    is_any_sound = is_any_sound || (is_good && (needed.empty() || needed == program));
    if (!is_good) { broken += (broken.empty() ? "`" : ", `") + program + "`"; }
  }
  if (has_errors(diagnostics) && !is_any_sound) {
    // What was there before stays.
    std::swap(document_, document);
    path_ = old_path;
    return false;
  }
  steps_.clear();
  schedules_ = std::move(schedules);
  file_ = std::move(file);
  if (!begin({})) { return false; }
  if (!broken.empty()) { complain("what has errors is left out: " + broken + "; this is `" + program_name_.str() + "`\n"); }
  return true;
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
    if (!d.is_program) { continue; }
    bool is_named = named ? d.item->decl == named->program_decl : !program.empty() && d.item->name == std::string_view(program);
    if (is_named && !is_sound(*file_, i)) {
      report(d.diagnostics);
      complain("`" + d.item->name.str() + "` has errors\n");
      return false;
    }
    if (is_named || (!named && program.empty() && is_sound(*file_, i))) {
      module = d.module;
      name = d.item->name;
      break;
    }
  }
  if (!module && named) {
    module = named->program;
    name = named->program_name;
  }
  if (named && !program.empty() && name != std::string_view(program) && !module->find(Name(program))) {
    complain("`" + schedule_name + "` is a schedule of `" + name.str() + "`, not of `" + program + "`\n");
    return false;
  }
  // A file of schedules: programs of others, by what it calls them, or what its first schedule is for.
  if (!module && !program.empty()) {
    auto value = file_->value(Name(program));
    const auto* imported = value ? value->as<frontend::ProgramObject>() : nullptr;
    if (imported && imported->module) {
      module = imported->module;
      name = Name(program);
    }
  }
  for (const script::FileSchedule& s : schedules_.all()) {
    if (module || !program.empty() || named) { break; }
    module = s.program;
    name = s.program_name;
  }
  if (!module) {
    complain(program.empty() ? "the file has no program\n" : "there is no program `" + program + "`\n");
    return false;
  }
  if (named) {
    schedules_.run_one(*file_, *named, interrupt());
    if (named->run) { report(named->run->all_diagnostics()); }
    if (!named->run || !named->run->is_complete || !named->run->result) {
      report(named->diagnostics);
      if (auto why = named->run ? named->run->why_incomplete() : std::nullopt) { report({*std::move(why)}); }
      return false;
    }
  }
  ++begun_;
  original_ = module;
  program_name_ = name;
  schedule_name_ = schedule_name;
  choices_.clear();
  steps_.clear();
  position_ = 0;
  auto begin_with = [&](const schedule::Schedule& schedule) {
    eval::Frame frame;
    frame.scope = file_->evaluator().new_scope({});
    auto object = eval::make_object<script::ScheduleObject>(schedule);
    frame.scope->set(sch_name, eval::Value(Ref<eval::Object>(object.get())));
    return frame;
  };
  // As if its statements had been typed, where it calls the schedule what a session calls it.
  // Before a function of Python has made its schedule, there is none; and `sch` may be another one of those that it makes.
  auto is_own = [this](const eval::Frame& frame) {
    const script::ScheduleObject* object = schedule_object(frame);
    return object != nullptr && object->part == script::ScheduleObject::Part::Own;
  };
  size_t first = 0;
  while (named && first < named->run->frames.size() && !is_own(named->run->frames[first])) { ++first; }
  bool is_typed = named && first < named->run->frames.size();
  if (!named || is_typed) { add_step("", begin_with(schedule::Schedule(module, 1)), false); }
  if (is_typed) {
    const script::ScheduleRun& run = *named->run;
    for (size_t i = first; i < run.steps.size() && i + 1 < run.frames.size() && run.steps[i].state == script::StepState::Done && is_own(run.frames[i + 1]); ++i) {
      auto span = document_.resolve(run.steps[i].where);
      std::string line = span ? undented(document_.text(), *span) : std::string();
      // What the function says of itself is no step.
      if (line.empty() || line.front() == '"' || line.front() == '\'') { continue; }
      bool changes = !run.steps[i].after->module().same_as(this->module());
      add_step(std::move(line), run.frames[i + 1].snapshot(), changes);
      steps_.back().hole = run.steps[i].hole;
    }
  } else if (named) {
    eval::Frame frame = begin_with(*named->run->result);
    // The variables the schedule function had at its end are at hand as well.
    for (const script::Step& step : named->run->steps) {
      for (const script::Step::Named& n : step.named) { frame.scope->set(n.name, script::from_schedule(n.variable)); }
    }
    add_step("(schedule " + schedule_name + ")", std::move(frame), true);
    steps_.back().is_whole = true;
  }
  return true;
}

auto Session::is_complete(const std::string& input) const -> bool { return is_complete_input(input); }

void Session::say(std::string_view text) const {
  std::string line(text.substr(0, text.find('\n')));
  print(host_.page != nullptr ? wrapped(line, host_.width) : line + "\n");
}

void Session::complain(std::string_view text) const {
  bool is_sentence = text.find('\n') + 1 == text.size() && !text.starts_with(' ') && text.find_first_of("\r\x1b") == std::string_view::npos;
  is_sentence && host_.page != nullptr && columns_of(text) > host_.width ? host_.err(wrapped(text.substr(0, text.size() - 1), host_.width)) : host_.err(text);
}

void Session::tell_news() {
  for (const BackgroundJobs::View& job : jobs_->news()) {
    bool is_done = job.state == BackgroundJobs::State::Done;
    say(fmt::format("[{}] {}: {}{}", job.number, job.program, job.told, is_done ? fmt::format("; `:take {}` makes it the next step", job.number) : std::string()));
  }
}

auto Session::margin() const -> std::string {
  std::string out;
  size_t others = 0;
  for (const BackgroundJobs::View& job : jobs_->all()) {
    bool goes_on = job.state == BackgroundJobs::State::Running || job.state == BackgroundJobs::State::Stopping;
    if (!goes_on) { continue; }
    if (!out.empty()) { ++others; }
    // The newest is told; what would take the line's place is cut.
    std::string told = job.state == BackgroundJobs::State::Stopping ? "stopping" : job.told;
    if (size_t most = std::max<size_t>(host_.width / 2, 20); told.size() > most) { told = told.substr(0, most - 3) + "..."; }
    out = fmt::format("{}: {}", job.number, told);
  }
  if (out.empty()) { return {}; }
  return fmt::format("[{}{}] ", out, others > 0 ? fmt::format(", {} more", others) : std::string());
}

auto Session::effect_of(size_t step) const -> std::string {
  const script::ScheduleObject* after = schedule_object(steps_[step].frame);
  const script::ScheduleObject* before = schedule_object(steps_[steps_[step].parent].frame);
  if (step == 0 || after == nullptr || before == nullptr) { return {}; }
  return describe_effect(before->schedule, after->schedule);
}

auto Session::execute(const std::string& input) -> bool {
  // A whole transcript, pasted: what was typed in it, one after the other.
  if (std::vector<Exchange> pasted = read_transcript(input); pasted.size() > 1 || (pasted.size() == 1 && !pasted.front().output.empty())) { return run_lines(input); }
  if (depth_ > 0) {
    ++depth_;
    bool done = execute_one(input);
    --depth_;
    return done;
  }
  ++depth_;
  uint64_t begun = begun_;
  size_t count = steps_.size();
  size_t typed = inputs_.size();
  bool done = execute_one(input);
  --depth_;
  // What one input did: of a schedule that it began with, of a transcript that was pasted, all that was done.
  if (inputs_.size() > typed) {
    std::string did;
    for (size_t step = begun == begun_ ? count : 1; step < steps_.size(); ++step) {
      std::string one = effect_of(step);
      if (!one.empty() && did.size() < 4000) { did += (did.empty() ? "" : "; ") + one; }
    }
    inputs_.back().did = std::move(did);
  }
  return done;
}

auto Session::execute_step(const std::string& line) -> bool {
  ++depth_;
  bool done = trim(line).empty() || run_script(line);
  --depth_;
  return done;
}

auto Session::execute_one(const std::string& input) -> bool {
  std::string cleaned;
  std::istringstream lines(input);
  for (std::string line; std::getline(lines, line);) { cleaned += std::string(without_prompt(line)) + "\n"; }
  std::string_view text = trim(cleaned);
  if (text.empty() || text.front() == '#') { return true; }
  if (depth_ == 1) {
    inputs_.push_back({std::string(text), {}});
    said_.emplace_back();
  }
  if (!choices_.empty() && text.size() < 4 && text.find_first_not_of("0123456789") == std::string_view::npos) {
    return choose(static_cast<size_t>(std::stoul(std::string(text))));
  }
  bool is_command = text.front() == '?' || text.front() == ']' || text.front() == ':' || text.front() == ';' || text == "_err";
  if (!is_command) { return run_script(cleaned); }
  if (settings_.mode != "json" || depth_ > 1) { return execute_command(text); }
  // One object, whatever is said in pieces.
  std::string said;
  std::string wrong;
  auto out = std::exchange(host_.out, [&said](std::string_view part) { said += part; });
  auto err = std::exchange(host_.err, [&wrong](std::string_view part) { wrong += part; });
  auto page = std::exchange(host_.page, nullptr);
  bool color = std::exchange(host_.color, false);
  const std::vector<std::string> offered = choices_;
  bool is_done = execute_command(text);
  host_.out = std::move(out);
  host_.err = std::move(err);
  host_.page = std::move(page);
  host_.color = color;
  // With `:mode` itself, answers may have become others.
  if (settings_.mode != "json") {
    if (!wrong.empty()) { host_.err(wrong); }
    if (!said.empty()) { print(said); }
    return is_done;
  }
  print(command_json(std::string(text), is_done, as_text(said), as_text(wrong), choices_ == offered ? std::vector<std::string>() : choices_));
  return is_done;
}

auto Session::execute_command(std::string_view text) -> bool {
  if (text.starts_with("??")) { return past_command.run(*this, words_of(text.substr(2))); }
  if (text.front() == ';') { return shell_command.run(*this, {std::string(trim(text.substr(1)))}); }
  if (text.front() == ']') { return search_command.run(*this, words_of(text.substr(1))); }
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
  // `_err`: all that was said; as a value in a line it is the message.
  print(last_failure_.empty() ? "nothing was refused yet\n" : last_failure_);
  return true;
}

auto Session::name_of(const schedule::Place& place) const -> std::string {
  std::map<NodeId, std::string> names = script::scope_names(schedule(), *steps_[position_].frame.scope);
  auto found = names.find(place.id);
  // What a line alone gave is told as `_`, and is another thing after the next line.
  return found == names.end() || found->second.starts_with("_") ? std::string() : found->second;
}

auto Session::place_of(const std::string& name) const -> const schedule::Place* {
  const schedule::FuncState* func = schedule().state().func(function());
  if (!func) { return nullptr; }
  if (const schedule::Place* place = variable_at(position_, name)) { return place; }
  // What the script calls so is what is meant, if it is gone as well.
  if (is_gone(name)) { return nullptr; }
  for (const schedule::Place& place : func->places()) {
    if (place.name() == std::string_view(name)) { return &place; }
  }
  return nullptr;
}

auto Session::is_gone(const std::string& name) const -> bool {
  const eval::Value* value = has_program() ? steps_[position_].frame.scope->find_here(Name(name)) : nullptr;
  return value != nullptr && value->as<script::VariableObject>() != nullptr && variable_at(position_, name) == nullptr;
}

auto Session::no_place(const std::string& name) const -> std::string {
  return "`" + name + (is_gone(name) ? "` is gone: a step since took the loop or block that it was; `:past " + name + "` says which" : "` is no loop or block of the program") + "\n";
}

auto Session::place_that_is_meant(const std::string& name) const -> const schedule::Place* {
  const schedule::Place* place = place_of(name);
  if (place == nullptr || variable_at(position_, name) != nullptr) { return place; }
  const schedule::FuncState* func = schedule().state().func(function());
  auto count = std::count_if(func->places().begin(), func->places().end(), [&](const schedule::Place& one) { return one.parent >= 0 && one.name() == std::string_view(name); });
  if (count > 1) {
    say(fmt::format("{} {} are called `{}`: this is about {}", count, place->is_loop() ? "loops" : "blocks", name, schedule::place_text(*func, *place, [this](const schedule::Place& one) { return name_of(one); })));
  }
  return place;
}

auto Session::why_not(const std::string& call) -> bool {
  std::string text = call.starts_with("sch.") ? call.substr(4) : call;
  // `compute_at C, i` is meant as a call too.
  size_t blank = text.find(' ');
  if (text.find('(') == std::string::npos && blank != std::string::npos) { text = text.substr(0, blank) + "(" + text.substr(blank + 1) + ")"; }
  if (text.find('(') == std::string::npos) {
    complain(":why-not takes a call, as in `:why-not reorder(k, i)`; `?" + text + "` says where it is refused\n");
    return false;
  }
  return run_script("sch." + with_places(text), true);
}

auto Session::with_places(const std::string& call) const -> std::string {
  const schedule::FuncState* func = has_program() ? schedule().state().func(function()) : nullptr;
  if (func == nullptr) { return call; }
  const eval::Scope& scope = *steps_[position_].frame.scope;
  auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; };
  std::string out;
  char quote = 0;
  for (size_t i = 0; i < call.size();) {
    size_t end = i + 1;
    if (quote != 0 || call[i] == '"' || call[i] == '\'') {
      quote = quote == 0 ? call[i] : call[i] == quote ? '\0' : quote;
    } else if (is_letter(call[i])) {
      while (end < call.size() && is_letter(call[end])) { ++end; }
    }
    std::string word = call.substr(i, end - i);
    size_t next = std::min(call.find_first_not_of(' ', end), call.size());
    bool is_alone = quote == 0 && is_letter(word[0]) && (i == 0 || call[i - 1] != '.') && (next == call.size() || (call[next] != '(' && call[next] != '=' && call[next] != '.'));
    const schedule::Place* place = is_alone && scope.find_here(Name(word)) == nullptr ? place_of(word) : nullptr;
    out += place == nullptr ? word : schedule::place_text(*func, *place, [this](const schedule::Place& one) { return name_of(one); });
    i = end;
  }
  return out;
}

auto Session::run_script(const std::string& typed, bool is_trial) -> bool {
  if (!needs_program(*this)) { return false; }
  choices_.clear();
  std::string input = with_call(typed);
  std::string text(trim(input));
  bool quiet = text.ends_with(";");
  if (quiet) { text.pop_back(); }
  text += "\n";
  syntax::Document document(text);
  SourceText source("<input>", text);
  SourceText file_text(path_, document_.text());
  Diagnostics broken = document.diagnostics();
  const bool as_json = settings_.mode == "json";
  auto report_here = [&](Diagnostics diagnostics) {
    Locator locate = [&](const Origin& origin) -> std::optional<std::pair<const SourceText*, Span>> {
      if (auto span = document.resolve(origin)) { return std::pair(static_cast<const SourceText*>(&source), *span); }
      if (auto span = document_.resolve(origin)) { return std::pair(static_cast<const SourceText*>(&file_text), *span); }
      auto elsewhere = file_ ? file_->elsewhere(origin) : std::nullopt;
      return elsewhere ? std::optional(std::pair(elsewhere->text.get(), elsewhere->span)) : std::nullopt;
    };
    if (has_errors(diagnostics)) { last_failure_.clear(); }
    for (const Diagnostic& d : diagnostics) {
      std::string rendered = host_.render(d, locate, source.name());
      if (d.severity == Severity::Error && last_failure_.empty()) { last_error_ = d.message(); }
      if (has_errors(diagnostics)) { last_failure_ += rendered; }
      if (!as_json || d.severity != Severity::Error) { host_.err(rendered); }
    }
  };
  if (has_errors(broken)) {
    if (as_json) { print(refusal_json(std::string(trim(input)), broken, {})); }
    report_here(std::move(broken));
    return false;
  }
  // The line works on a copy; a failure leaves everything as it was.
  eval::Frame frame = steps_[position_].frame.snapshot();
  const script::ScheduleObject* object = schedule_object(frame);
  if (!object) { return false; }
  IRModule before = object->schedule.module();
  Name working_on = object->schedule.func_working_on();
  size_t instructions = object->schedule.trace().size();
  frame.scope->set(last_error_name, last_error_.empty() ? eval::Value() : eval::Value::str(last_error_));
  std::vector<std::string> results;
  const std::string variables = looked_at(frame);
  eval::Evaluator evaluator(file_->evaluator().heap());
  evaluator.globals = file_.get();
  evaluator.output = [this](std::string_view s) { host_.out(s); };
  if (host_.interrupted) { evaluator.cancel = host_.interrupted(); }
  object->step = static_cast<uint32_t>(position_) + 1;
  for (const syntax::PlacedItem& placed : document.items()) {
    evaluator.tree = placed.item;
    for (const syntax::Stmt* stmt : placed.item->statements) {
      eval::Value result;
      std::string& result_of_statement = results.emplace_back();
      const auto* alone = stmt->as<syntax::ExprStmt>();
      const auto* constant = alone != nullptr ? alone->value->as<syntax::ConstantExpr>() : nullptr;
      if (constant != nullptr && constant->value == syntax::ConstantValue::Ellipsis) {
        // `...` is a place for a search, as `sch.tune()` is.
        if (const script::ScheduleObject* here = schedule_object(frame)) { here->hole = script::Hole{.call = alone->value->origin()}; }
        continue;
      }
      // An expression typed alone shows its value.
      if (alone != nullptr) {
        eval::Value value = evaluator.eval(*alone->value, frame.scope);
        if (!value.is_unknown() && !value.is_none() && !quiet && !is_trial) { print(describe_value(schedule_object(frame) != nullptr ? schedule_object(frame)->schedule : object->schedule, value) + "\n"); }
        if (value.is_opaque()) { complain("this uses Python that the script language does not have; nothing was done\n"); return false; }
        if (is_handle(value)) {
          frame.scope->set(last_name, value);
          result_of_statement = "_";
        }
      } else if (evaluator.exec(*stmt, frame.scope, result) == eval::Flow::Unknown) {
        complain("this uses Python that the script language does not have; nothing was done\n");
        return false;
      }
      if (has_errors(evaluator.diagnostics)) {
        if (const script::ScheduleObject* failed = schedule_object(frame)) { script::explain_refusal(evaluator.diagnostics, *failed, *frame.scope, evaluator.cancel); }
        report_here(evaluator.diagnostics);
        for (const Diagnostic& d : evaluator.diagnostics) {
          std::optional<Span> call = document.resolve(d.where);
          if (d.severity != Severity::Error || !call) { continue; }
          for (const std::string& remedy : d.remedies) {
            std::string lines = script::repaired(text, *call, remedy);
            if (!lines.empty()) { choices_.push_back(std::move(lines)); }
          }
          // A name that was meant, put in its place: offered where the line then works.
          for (const FixEdit& fix : d.fixes) {
            std::optional<Span> place = document.resolve(fix.where);
            if (!place || is_trial || place->end > text.size()) { continue; }
            std::string line = text.substr(0, place->begin) + fix.replacement + text.substr(place->end);
            eval::Frame tried = steps_[position_].frame.snapshot();
            if (std::find(choices_.begin(), choices_.end(), line) == choices_.end() && run_quietly(tried, line, position_ + 1).empty()) { choices_.push_back(std::move(line)); }
          }
        }
        if (is_trial) { choices_.clear(); }
        if (as_json) {
          print(refusal_json(std::string(trim(input)), evaluator.diagnostics, choices_));
          return is_trial;
        }
        for (size_t i = 0; i < choices_.size(); ++i) { complain(fmt::format("  {}) {}\n", i + 1, script::one_line(choices_[i]))); }
        if (!choices_.empty() && host_.can_choose) { complain(choices_.size() == 1 ? "type 1 to do that instead\n" : "type a number to do that instead\n"); }
        return is_trial;
      }
      if (std::string names = result_names(*stmt); !names.empty()) {
        syntax::Document expression(names + "\n");
        evaluator.tree = expression.items().front().item;
        const auto* value = expression.items().front().item->statements[0]->as<syntax::ExprStmt>();
        eval::Value last = value != nullptr ? evaluator.eval(*value->value, frame.scope) : eval::Value();
        evaluator.tree = placed.item;
        if (is_handle(last)) {
          frame.scope->set(last_name, last);
          result_of_statement = names;
        }
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
  // Looking at a value is no step, where it leaves everything as it was: `l.append(1)` does not.
  bool has_hole = object->hole.has_value();
  bool only_looks = !has_hole && after.same_as(before) && object->schedule.func_working_on() == working_on && object->schedule.trace().size() == instructions && looked_at(frame) == variables;
  for (const syntax::PlacedItem& placed : document.items()) {
    for (const syntax::Stmt* stmt : placed.item->statements) { only_looks = only_looks && stmt->as<syntax::ExprStmt>() != nullptr; }
  }
  if (only_looks) { return true; }
  std::string named = quiet ? std::string() : describe_bound(document, *frame.scope, object->schedule, settings_.mode == "json" ? 100000 : host_.width);
  add_step(std::string(trim(input)), std::move(frame), !after.same_as(before));
  steps_.back().results = std::move(results);
  steps_.back().hole = has_hole ? object->hole : std::nullopt;
  if (has_hole && !quiet) { print("a place for a search, which begins with the program here: `:tune` searches now, `:save` writes it, `loopsmith tune FILE --with NAME` fills it\n"); }
  if (!quiet) {
    const AnswerMode* mode = find_answer_mode(settings_.mode);
    if (std::string answer = mode->text(*this, before, named); !answer.empty()) { show(answer); }
  }
  return true;
}

auto Session::history() const -> std::vector<Typed> { return host_.history ? host_.history() : inputs_; }

auto Session::run_quietly(eval::Frame& frame, std::string text, size_t step) -> Diagnostics {
  text = std::string(trim(text));
  if (text.ends_with(";")) { text.pop_back(); }
  syntax::Document document(text + "\n");
  if (has_errors(document.diagnostics())) { return document.diagnostics(); }
  eval::Evaluator evaluator(file_->evaluator().heap());
  evaluator.globals = file_.get();
  if (host_.interrupted) { evaluator.cancel = host_.interrupted(); }
  if (const script::ScheduleObject* object = schedule_object(frame)) { object->step = static_cast<uint32_t>(step); }
  for (const syntax::PlacedItem& placed : document.items()) {
    evaluator.tree = placed.item;
    for (const syntax::Stmt* stmt : placed.item->statements) {
      eval::Value value;
      if (const auto* alone = stmt->as<syntax::ExprStmt>()) {
        value = evaluator.eval(*alone->value, frame.scope);
        if (is_handle(value)) { frame.scope->set(last_name, value); }
      } else {
        (void)evaluator.exec(*stmt, frame.scope, value);
      }
      if (has_errors(evaluator.diagnostics)) { return evaluator.diagnostics; }
    }
  }
  return {};
}

auto Session::without(size_t left_out) -> Without {
  std::vector<size_t> path = path_to(position_);
  // From the last step that was not typed (a schedule of the file, a search) on.
  size_t begin = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    if (steps_[path[i]].line.empty() || steps_[path[i]].is_whole) { begin = i; }
  }
  eval::Frame frame = steps_[path[begin]].frame.snapshot();
  for (size_t i = begin + 1; i < path.size(); ++i) {
    if (path[i] == left_out) { continue; }
    const Step& step = steps_[path[i]];
    if (Diagnostics wrong = run_quietly(frame, step.line, path[i]); !wrong.empty()) { return {{}, path[i], wrong.front().message()}; }
  }
  const script::ScheduleObject* object = schedule_object(frame);
  return {object != nullptr ? object->schedule.module() : IRModule(), 0, {}};
}

auto Session::variable_at(size_t step, const std::string& name) const -> const schedule::Place* {
  const script::ScheduleObject* object = schedule_object(steps_[step].frame);
  // `loops[2]` as well as `i`.
  size_t bracket = std::min(name.find('['), name.size());
  const eval::Value* value = steps_[step].frame.scope->find_here(Name(name.substr(0, bracket)));
  if (bracket < name.size() && value != nullptr) {
    const std::vector<eval::Value>* items = value->items();
    int64_t index = std::atoll(name.c_str() + bracket + 1);
    int64_t count = items != nullptr ? static_cast<int64_t>(items->size()) : 0;
    if (index < 0) { index += count; }
    value = index >= 0 && index < count ? &(*items)[static_cast<size_t>(index)] : nullptr;
  }
  const auto* variable = value != nullptr ? value->as<script::VariableObject>() : nullptr;
  return variable != nullptr && object != nullptr ? script::place_of(object->schedule, *variable) : nullptr;
}

void Session::add_step(std::string line, eval::Frame frame, bool changes_program) {
  size_t number = steps_.size();
  Step step{.line = std::move(line), .frame = std::move(frame), .changes_program = changes_program, .parent = position_, .label = {}, .hole = {}, .results = {}, .statements = {}};
  steps_.push_back(std::move(step));
  if (number > 0) { steps_[position_].next = number; }
  position_ = number;
}

auto Session::choose(size_t number) -> bool {
  if (number < 1 || number > choices_.size()) {
    complain(choices_.empty() ? "there is nothing to choose from\n" : fmt::format("there are {} to choose from\n", choices_.size()));
    return false;
  }
  std::string lines = choices_[number - 1];
  print(lines + (lines.ends_with("\n") ? "" : "\n"));
  return execute(lines);
}

auto Session::path_to(size_t step) const -> std::vector<size_t> {
  std::vector<size_t> path{step};
  while (path.back() != 0) { path.push_back(steps_[path.back()].parent); }
  std::reverse(path.begin(), path.end());
  return path;
}

auto Session::find_step(const std::string& text) const -> std::optional<size_t> {
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (!text.empty() && (steps_[i].label == text || std::to_string(i) == text)) { return i; }
  }
  return std::nullopt;
}

void Session::label(const std::string& name) {
  for (Step& step : steps_) {
    if (step.label == name) { step.label.clear(); }
  }
  steps_[position_].label = name;
}

auto Session::schedule_at(size_t step) const -> const schedule::Schedule& { return schedule_object(steps_[step].frame)->schedule; }
auto Session::module_at(size_t step) const -> const IRModule& { return schedule_object(steps_[step].frame)->schedule.module(); }

auto Session::reload() -> bool {
  std::string program = program_name_.str();
  std::string schedule = schedule_name_;
  if (!load(std::string(path_), program)) { return false; }
  if (begin(program, schedule)) { return true; }
  // The program is there, its schedule fails: reported.
  (void)begin(program);
  return false;
}

auto Session::run_lines(const std::string& text) -> bool {
  std::vector<Exchange> typed = read_transcript(text);
  if (typed.empty()) {
    for (std::string& input : split_inputs(text)) { typed.push_back({std::move(input), {}, 0}); }
  }
  for (const Exchange& one : typed) {
    if (!execute(one.input)) {
      complain("stopped at: " + one.input + "\n");
      return false;
    }
    if (quit_) { break; }
  }
  return true;
}

auto Session::go_to(size_t step) -> bool {
  if (step >= steps_.size()) { return false; }
  position_ = step;
  choices_.clear();
  // `:redo` comes back this way.
  for (size_t at = step; at != 0; at = steps_[at].parent) { steps_[steps_[at].parent].next = at; }
  return true;
}

auto Session::adopt(const std::string& statements, const std::string& line) -> bool {
  eval::Frame frame = steps_[position_].frame.snapshot();
  // Loops and blocks of the schedule before are none of the new one.
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

auto Session::module_text() const -> std::string { return print_script(module()); }

auto Session::colored(std::string text) const -> std::string { return host_.color ? colored_script(text) : text; }

auto Session::module_folded(const IRModule& before) const -> std::string {
  std::string text = module_text();
  size_t lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  if (height() == 0 || lines < height() || !before || module().same_as(before)) { return colored(std::move(text)); }
  return fold_unchanged(print_script(before), text, {.color = host_.color, .width = host_.width});
}

auto Session::as_document() const -> std::string {
  std::string out = "# A session with `" + program_name_.str() + "`\n\n";
  std::string program(trim(document_.text()));
  std::string fence = "````";
  out += "`" + path_ + "`:\n\n" + fence + "python\n" + program + "\n" + fence + "\n\n";
  out += "What was typed, and what came of it (`loopsmith repl --check` does it again and compares):\n\n" + fence + fmt::format("sched width={} height={}\n", host_.width, height());
  auto say = [&](const std::string& input, const std::string& said) {
    std::string typed = input;
    for (size_t at = 0; (at = typed.find('\n', at)) != std::string::npos; at += 6) { typed.insert(at + 1, "...> "); }
    // A block ends with an empty line.
    if (input.find('\n') != std::string::npos) { typed += "\n...> "; }
    out += "sch> " + typed + "\n" + said + (said.empty() || said.ends_with("\n") ? "" : "\n");
  };
  if (!begun_with_.empty()) { say(":load " + begun_with_, "...\n"); }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::string& line = inputs_[i].line;
    if (line.starts_with(":save") || line == ":quit" || line == ":q" || line == ":exit") { continue; }
    say(line, differs_each_time(line) ? std::string("...\n") : as_text(said_[i]));
  }
  return out + fence + "\n";
}

auto Session::complete(const std::string& input, size_t cursor, size_t& start) const -> std::vector<std::string> {
  std::vector<std::string> out;
  start = std::min(cursor, input.size());
  while (start > 0 && (std::isalnum(static_cast<unsigned char>(input[start - 1])) || input[start - 1] == '_')) { --start; }
  // ":why-not" is one word, as "sch.split" is not.
  if (size_t colon = input.rfind(':', start); colon != std::string::npos && input.find_first_not_of(' ') == colon && input.find(' ', colon) >= cursor) { start = colon + 1; }
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
    // What is legal here, and look-ups; all of them where none of those fits. Where nothing begins so, letters in their order will do (`dred`).
    bool is_exact = std::any_of(schedule::all_primitives().begin(), schedule::all_primitives().end(), [&](const schedule::Primitive* p) { return p->name.starts_with(word); });
    auto fits = [&](std::string_view name) { return is_exact ? name.starts_with(word) : has_letters(name, word); };
    for (const schedule::Primitive* p : schedule::all_primitives()) {
      if (!fits(p->name)) { continue; }
      bool is_refused = has_program() && !p->is_pure && schedule::legality_of(schedule(), *p, [this](const schedule::Place& place) { return name_of(place); }).verdict ==
                                                            schedule::Legality::Verdict::Refused;
      if (!is_refused) { out.emplace_back(p->name); }
    }
    if (out.empty()) {
      for (const schedule::Primitive* p : schedule::all_primitives()) { if (fits(p->name)) { out.emplace_back(p->name); } }
    }
    return out;
  }
  if (before.starts_with(":goto ") || before.starts_with(":bench ") || before.starts_with(":diff ") || before.starts_with(":why ") || before.starts_with(":explain ")) {
    for (const Step& step : steps_) {
      if (!step.label.empty()) { offer(step.label); }
    }
    return out;
  }
  if (before.starts_with(":mode ")) {
    for (const AnswerMode& mode : answer_modes()) { offer(mode.name); }
    return out;
  }
  auto offer_places = [&] {
    if (const schedule::FuncState* func = has_program() ? schedule().state().func(function()) : nullptr) {
      for (const schedule::Place& place : func->places()) {
        if (place.parent >= 0) { offer(name_of(place).empty() ? place.name().view() : std::string_view(name_of(place))); }
      }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  };
  auto offer_primitives = [&] {
    for (const schedule::Primitive* p : schedule::all_primitives()) { offer(p->name); }
  };
  auto begins = [&](std::initializer_list<std::string_view> commands) {
    return std::any_of(commands.begin(), commands.end(), [&](std::string_view command) { return before.starts_with(command); });
  };
  if (begins({":set ascii ", ":set diff ", ":set pager ", ":set plain "})) {
    for (std::string_view value : {"off", "on"}) { offer(value); }
    return out;
  }
  if (begins({":print ", ":p ", ":ir ", ":past ", ":what-if ", "??", ":hint "}) || (before.starts_with("?") && before.find(' ') != std::string_view::npos)) {
    if (before.starts_with(":hint ")) { offer_primitives(); }
    if (begins({":print ", ":hint "})) { offer("all"); }
    offer_places();
    return out;
  }
  if (before == ":why-not " || before == ":why-not sch.") {
    offer_primitives();
    return out;
  }
  if (before.starts_with(":programs ") && file_) {
    for (size_t i = 0; i < file_->size(); ++i) {
      if (file_->declaration(i).is_program) { offer(file_->declaration(i).item->name.view()); }
    }
    return out;
  }
  if (before.starts_with(":lower ")) {
    for (const transform::Stage& stage : transform::pipeline(target_.kind)) { offer(stage.name); }
    return out;
  }
  if (before.starts_with("]")) {
    for (std::string_view name : {"db", "stop", "take", "wait"}) { offer(name); }
    return out;
  }
  if (before.starts_with(":set ")) {
    for (std::string_view name : {"ascii", "context", "diff", "height", "pager", "plain"}) { offer(name); }
    return out;
  }
  if (before.starts_with(":help ") || trim(before) == "?") {
    for (const Command& c : all_commands()) { offer(c.name); }
    for (const schedule::Primitive* p : schedule::all_primitives()) { offer(p->name); }
    return out;
  }
  if (begins({":with ", ":watch "})) {
    for (const script::FileSchedule& s : schedules_.all()) { offer(s.name.view()); }
    return out;
  }
  if (has_program()) {
    if (auto arguments = complete_argument(*this, before, word)) { return *std::move(arguments); }
  }
  // Other commands take no words; inside of a text and behind a dot nothing is known.
  bool is_command = input.find_first_not_of(' ') != std::string::npos && input[input.find_first_not_of(' ')] == ':' && !before.starts_with(":why-not ") && !before.starts_with(":time ");
  if (is_command || before.ends_with(".") || std::count(before.begin(), before.end(), '"') % 2 == 1) { return out; }
  if (has_program()) {
    for (const auto& [name, value] : steps_[position_].frame.scope->slots()) {
      if (name != last_name && name != last_error_name) { offer(name.view()); }
    }
  }
  for (std::string_view name : {"sch", "range", "len"}) { offer(name); }
  std::string_view stem = trim(before);
  if (stem.empty() || stem.ends_with(":") || stem.ends_with(";")) {
    for (std::string_view name : {"for", "if", "print"}) { offer(name); }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace loopsmith::repl
