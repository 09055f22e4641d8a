// Implements the state of a session: its file and program, its steps, and its inputs. See session.h. statements.cpp runs statements, places.cpp looks
// up names of loops and blocks, completion.cpp completes, transcript.cpp reads and writes transcripts.
#include "repl/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "frontend/objects.h"
#include "ir/highlight.h"
#include "ir/printer.h"
#include "ir/script_diff.h"
#include "repl/answers.h"
#include "repl/commands.h"
#include "repl/effects.h"
#include "repl/input.h"
#include "repl/text.h"
#include "target/choice.h"
#include "target/gpu.h"
#include "support/files.h"
#include "support/text.h"
#include "workspace/imports.h"
#include "workspace/tuned_for_another.h"

namespace loopsmith::repl {
namespace {

/// The number of bytes kept of one answer, for the document of the session.
constexpr size_t most_kept = 64 << 10;

/// A statement in its typed form: its lines without the indentation of the first.
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

/// A line without the prompt in front of it in a transcript.
auto without_prompt(std::string_view line) -> std::string_view {
  for (std::string_view prompt : {std::string_view("sch> "), std::string_view("...> ")}) {
    if (line.starts_with(prompt)) { line.remove_prefix(prompt.size()); }
  }
  return line;
}

/// While it lives, counts an input that executes inputs.
class Nested {
 public:
  explicit Nested(int& depth) : depth_(depth) { ++depth_; }
  Nested(const Nested&) = delete;
  auto operator=(const Nested&) -> Nested& = delete;
  ~Nested() { --depth_; }

 private:
  int& depth_;
};

/// While it lives, collects the output of a host.
class Collected {
 public:
  explicit Collected(Host& host) : host_(host), kept_(host) {
    host_.out = [this](std::string_view part) { text += part; };
    host_.err = [this](std::string_view part) { complaint += part; };
    host_.page = nullptr;
    host_.color = false;
  }
  Collected(const Collected&) = delete;
  auto operator=(const Collected&) -> Collected& = delete;
  ~Collected() {
    host_.out = std::move(kept_.out);
    host_.err = std::move(kept_.err);
    host_.page = std::move(kept_.page);
    host_.color = kept_.color;
  }
  std::string text;
  std::string complaint;

 private:
  Host& host_;
  Host kept_;
};

}  // namespace

const Name sch_name("sch");
const Name last_name("_");
const Name last_error_name("_err");

Session::Session(Host host) : host_(std::move(host)), target_(target::host()) {
  // The answer is stored beside the input.
  auto keep = [this](std::function<void(std::string_view)> out) -> std::function<void(std::string_view)> {
    if (!out) { return nullptr; }
    return [this, out = std::move(out)](std::string_view text) {
      if (depth_ > 0 && !answers_.empty() && answers_.back().size() < most_kept) { answers_.back() += text; }
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

auto Session::load(const std::string& path, const std::string& needed) -> bool {
  bool is_attached = path == attached_.first;
  auto text = read_text(is_attached ? attached_.second : path);
  if (!text) {
    complain(is_attached ? "the editor has closed `" + path + "`\n" : text.diagnostics().front().message() + "\n");
    return false;
  }
  return load_text(path, *std::move(text), needed);
}

namespace {

/// True for a program without errors, even if the file has errors elsewhere.
auto is_sound(frontend::File& file, size_t i) -> bool {
  const frontend::Declaration& d = file.declaration(i);
  return d.is_program && d.module && !d.item->has_error && !has_errors(d.diagnostics);
}

}  // namespace

auto Session::load_text(const std::string& name, std::string text, const std::string& needed) -> bool {
  auto document = std::make_unique<workspace::Document>(name, 1, std::move(text), workspace::imports_on_disk(name));
  (void)document->analyse(interrupt());
  workspace::SnapshotPtr snapshot = document->snapshot();
  // The places of diagnostics are in the new file.
  std::string old_path = std::exchange(path_, name);
  std::swap(document_, document);
  std::swap(snapshot_, snapshot);
  report(snapshot_->diagnostics());
  frontend::File& file = document_->file();
  bool has_broken = has_errors(snapshot_->syntax().diagnostics()) || has_errors(file.diagnostics());
  bool is_any_sound = false;
  std::string broken;
  for (size_t i = 0; has_broken && i < file.size(); ++i) {
    if (!file.declaration(i).is_program) { continue; }
    std::string program = file.declaration(i).item->name.str();
    bool is_good = is_sound(file, i);
    is_any_sound = is_any_sound || (is_good && (needed.empty() || needed == program));
    if (!is_good) { broken += (broken.empty() ? "`" : ", `") + program + "`"; }
  }
  if (has_broken && !is_any_sound) {
    // The file that was loaded before stays.
    std::swap(document_, document);
    std::swap(snapshot_, snapshot);
    path_ = old_path;
    return false;
  }
  steps_.clear();
  if (!begin({})) { return false; }
  if (!broken.empty()) { complain("programs with errors are left out: " + broken + "; `" + program_name_.str() + "` is loaded\n"); }
  return true;
}

namespace {

/// The target that a program or its schedule names, else this machine.
auto target_of(const IRModule& module, const std::string& of_schedule) -> target::Target {
  if (module->functions.empty()) { return target::host(); }
  const Name function = module->find("main") ? Name("main") : module->functions.front().first;
  const std::string text = target::chosen_target({}, module, function, of_schedule);
  auto parsed = text.empty() ? Result<target::Target>(target::host()) : target::parse(text);
  return parsed.ok() && target::check_gpu(*parsed).ok() ? *std::move(parsed) : target::host();
}

}  // namespace

auto Session::select(const workspace::SelectionRequest& request) -> std::variant<workspace::Selection, workspace::NotSelected> {
  workspace::SelectionOutput output;
  auto out = workspace::select(*document_, request, output);
  snapshot_ = document_->snapshot();
  return out;
}

auto Session::begin(const std::string& program, const std::string& schedule_name) -> bool { return begin_with(program, schedule_name, false); }

auto Session::begin_at(size_t line) -> bool {
  const std::string& text = snapshot_->text();
  size_t line_begin = 0;
  for (size_t above = 1; above < line && line_begin < text.size(); ++above) { line_begin = std::min(text.size(), text.find('\n', line_begin)) + 1; }
  if (line_begin >= text.size()) { return true; }
  const size_t end = std::min(text.size(), text.find('\n', line_begin));
  const size_t first = std::min(end, text.find_first_not_of(" \t", line_begin));
  const Origin at = document().origin_at(static_cast<uint32_t>(first));
  const script::FileSchedule* found = nullptr;
  for (const script::FileSchedule& one : schedules().all()) {
    if (one.decl == at.decl && (found == nullptr || one.where.begin <= at.begin)) { found = &one; }
  }
  if (found == nullptr) {
    for (size_t i = 0; i < file().size(); ++i) {
      const frontend::Declaration& d = file().declaration(i);
      if (d.is_program && d.item->decl == at.decl) { return begin(d.item->name.str()); }
    }
    return true;
  }
  if (!begin_with({}, found->name.str(), true)) { return false; }
  // Any line of a statement of several lines selects that statement.
  size_t step = 0;
  for (size_t i = 1; i < steps_.size(); ++i) {
    if (steps_[i].place < end) { step = i; }
  }
  return go_to(step);
}

auto Session::begin_with(const std::string& program, const std::string& schedule_name, bool in_part) -> bool {
  if (!document_) {
    complain("nothing is loaded; `:load FILE` reads a program\n");
    return false;
  }
  script::FileSchedule* named = nullptr;
  if (!schedule_name.empty()) {
    named = schedules().find(Name(schedule_name));
    if (!named) {
      std::string all;
      for (const script::FileSchedule& s : schedules().all()) { all += (all.empty() ? "" : ", ") + s.name.str(); }
      complain("the file has no schedule `" + schedule_name + "`" + (all.empty() ? "" : "; it has " + all) + "\n");
      return false;
    }
  }
  std::optional<Chosen> chosen = choose_program(program, named);
  if (!chosen) { return false; }
  if (named) {
    auto run = document_->run_schedule(schedule_name, interrupt());
    snapshot_ = document_->snapshot();
    if (!run.ok()) {
      report(run.diagnostics());
      return false;
    }
    report(run->all_diagnostics());
    for (const script::FileSchedule& one : snapshot_->schedules()) {
      if (one.name.view() != schedule_name) { continue; }
      if (auto found = workspace::tuned_for_another(*snapshot_, one)) { report(snapshot_->without_silenced({*std::move(found)})); }
    }
    if (!run->result || (!run->is_complete && !in_part)) {
      if (auto why = run->why_incomplete()) { report({*std::move(why)}); }
      return false;
    }
  }
  ++begun_;
  original_ = chosen->module;
  program_name_ = chosen->name;
  schedule_name_ = schedule_name;
  if (!is_target_chosen_) { target_ = target_of(original_, named ? named->target : std::string()); }
  choices_.clear();
  steps_.clear();
  position_ = 0;
  if (named) { add_steps_of(*named); } else { add_step("", begun_with_schedule(schedule::Schedule(original_, 1)), false); }
  return true;
}

auto Session::choose_program(const std::string& program, const script::FileSchedule* named) -> std::optional<Chosen> {
  Chosen chosen;
  for (size_t i = 0; i < file().size() && !chosen.module; ++i) {
    const frontend::Declaration& d = file().declaration(i);
    if (!d.is_program) { continue; }
    bool is_named = named ? d.item->decl == named->program_decl : !program.empty() && d.item->name == std::string_view(program);
    if (is_named && !is_sound(file(), i)) {
      report(d.diagnostics);
      complain("`" + d.item->name.str() + "` has errors\n");
      return std::nullopt;
    }
    if (is_named || (!named && program.empty() && is_sound(file(), i))) { chosen = {d.module, d.item->name}; }
  }
  if (!chosen.module && named) { chosen = {named->program, named->program_name}; }
  if (named && !program.empty() && chosen.name != std::string_view(program) && !chosen.module->find(Name(program))) {
    complain("`" + named->name.str() + "` is a schedule of `" + chosen.name.str() + "`, not of `" + program + "`\n");
    return std::nullopt;
  }
  // A file of schedules has programs of other files, by the names of its imports.
  if (!chosen.module && !program.empty()) {
    auto value = file().value(Name(program));
    const auto* imported = value ? value->as<frontend::ProgramObject>() : nullptr;
    if (imported && imported->module) { chosen = {imported->module, Name(program)}; }
  }
  if (!chosen.module && program.empty() && !named) {
    auto first = std::find_if(schedules().all().begin(), schedules().all().end(), [](const script::FileSchedule& s) { return bool(s.program); });
    if (first != schedules().all().end()) { chosen = {first->program, first->program_name}; }
  }
  if (chosen.module) { return chosen; }
  complain(program.empty() ? "the file has no program\n" : "the file has no program `" + program + "`\n");
  return std::nullopt;
}

auto Session::begun_with_schedule(const schedule::Schedule& schedule) const -> eval::Frame {
  eval::Frame frame;
  frame.scope = document_->file().evaluator().new_scope({});
  frame.scope->set(sch_name, eval::Value(Ref<eval::Object>(eval::make_object<script::ScheduleObject>(schedule).get())));
  return frame;
}

namespace {

/// The variables at the end of a schedule of tensor expressions, `s` among them, which is `sch` too; none: the schedule has no stages.
auto frame_of_stages(const script::FileSchedule& named) -> std::optional<eval::Frame> {
  const script::ScheduleRun& run = *named.run;
  if (run.frames.empty() || !run.frames.back().scope) { return std::nullopt; }
  eval::Frame frame = run.frames.back().snapshot();
  const eval::Value* value = frame.scope->find_here(named.form.variable);
  const auto* object = value != nullptr ? value->as<script::ScheduleObject>() : nullptr;
  if (object == nullptr || !object->stages) { return std::nullopt; }
  frame.scope->set(sch_name, eval::Value(*value));
  return frame;
}

}  // namespace

void Session::add_steps_of(const script::FileSchedule& named) {
  const script::ScheduleRun& run = *named.run;
  // A function of Python has no schedule before it makes one; and `sch` may be another of the schedules that it makes.
  auto is_own = [this](const eval::Frame& frame) {
    const script::ScheduleObject* object = schedule_object(frame);
    return object != nullptr && object->record.part == script::ScheduleObject::Part::Own;
  };
  auto first = static_cast<size_t>(std::find_if(run.frames.begin(), run.frames.end(), is_own) - run.frames.begin());
  if (first == run.frames.size()) {
    // The function's schedule has another name than `sch`: all of it is one step, with the variables at its end.
    std::optional<eval::Frame> of_stages = frame_of_stages(named);
    eval::Frame frame = of_stages ? *std::move(of_stages) : begun_with_schedule(*run.result);
    for (const script::Step& step : run.steps) {
      for (const script::Step::Named& n : step.named) {
        if (frame.scope->find_here(n.name) == nullptr) { frame.scope->set(n.name, script::from_schedule(n.variable)); }
      }
    }
    add_step("(schedule " + named.name.str() + ")", std::move(frame), true);
    steps_.back().is_whole = true;
    return;
  }
  // Adds the statements as if they had been typed.
  add_step("", begun_with_schedule(schedule::Schedule(original_, 1)), false);
  for (size_t i = first; i < run.steps.size() && i + 1 < run.frames.size() && run.steps[i].state == script::StepState::Done && is_own(run.frames[i + 1]); ++i) {
    auto span = snapshot_->resolve(run.steps[i].where);
    std::string line = span ? undented(snapshot_->text(), *span) : std::string();
    // The docstring of the function is not a step.
    if (line.empty() || line.front() == '"' || line.front() == '\'') { continue; }
    bool changes = !run.steps[i].after->module().same_as(module());
    add_step(std::move(line), run.frames[i + 1].snapshot(), changes);
    steps_.back().hole = run.steps[i].hole;
    steps_.back().place = span->begin;
  }
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

void Session::report_news() {
  for (const BackgroundJobs::View& job : jobs_->news()) {
    bool is_done = job.state == BackgroundJobs::State::Done;
    say(fmt::format("[{}] {}: {}{}", job.number, job.program, job.progress, is_done ? fmt::format("; `:take {}` makes it the next step", job.number) : std::string()));
  }
}

auto Session::margin() const -> std::string {
  std::string out;
  size_t others = 0;
  for (const BackgroundJobs::View& job : jobs_->all()) {
    bool goes_on = job.state == BackgroundJobs::State::Running || job.state == BackgroundJobs::State::Stopping;
    if (!goes_on) { continue; }
    if (!out.empty()) { ++others; }
    // Shows the newest job, cut if it would take the space of the line.
    std::string progress = job.state == BackgroundJobs::State::Stopping ? "stopping" : job.progress;
    if (size_t most = std::max<size_t>(host_.width / 2, 20); progress.size() > most) { progress = std::string(first_bytes(progress, most - 3)) + "..."; }
    out = fmt::format("{}: {}", job.number, progress);
  }
  if (out.empty()) { return {}; }
  return fmt::format("[{}{}] ", out, others > 0 ? fmt::format(", {} more", others) : std::string());
}

auto Session::effect_of(size_t step) const -> Effect {
  const script::ScheduleObject* after = schedule_object(steps_[step].frame);
  const script::ScheduleObject* before = schedule_object(steps_[steps_[step].parent].frame);
  if (step == 0 || after == nullptr || before == nullptr) { return {}; }
  return describe_effect(before->schedule, after->schedule);
}

auto Session::execute(const std::string& input) -> bool {
  // A whole pasted transcript: runs its inputs, one after the other.
  if (std::vector<Exchange> pasted = read_transcript(input); pasted.size() > 1 || (pasted.size() == 1 && !pasted.front().output.empty())) { return run_lines(input); }
  bool is_outermost = depth_ == 0;
  if (is_outermost) { interrupt_ = fresh_interrupt(); }
  Nested nested(depth_);
  if (!is_outermost) { return execute_one(input); }
  uint64_t begun = begun_;
  size_t count = steps_.size();
  size_t typed = inputs_.size();
  bool done = execute_one(input);
  // The effect of one input; for a schedule at the start, or a pasted transcript, the effects of all steps.
  if (inputs_.size() > typed) {
    std::string effect;
    for (size_t step = begun == begun_ ? count : 1; step < steps_.size(); ++step) {
      std::string one = effect_of(step).text();
      if (!one.empty() && effect.size() < 4000) { effect += (effect.empty() ? "" : "; ") + one; }
    }
    inputs_.back().effect = std::move(effect);
  }
  return done;
}

auto Session::execute_step(const std::string& line) -> bool {
  if (depth_ == 0) { interrupt_ = fresh_interrupt(); }
  Nested nested(depth_);
  return trim(line).empty() || run_script(line);
}

auto Session::execute_one(const std::string& input) -> bool {
  std::string cleaned;
  std::istringstream lines(input);
  for (std::string line; std::getline(lines, line);) { cleaned += std::string(without_prompt(line)) + "\n"; }
  std::string_view text = trim(cleaned);
  if (text.empty() || text.front() == '#') { return true; }
  if (depth_ == 1) {
    inputs_.push_back({std::string(text), {}});
    answers_.emplace_back();
  }
  if (!choices_.empty() && text.size() < 4 && std::all_of(text.begin(), text.end(), is_digit)) { return choose(static_cast<size_t>(std::stoul(std::string(text)))); }
  bool is_command = text.front() == '?' || text.front() == ']' || text.front() == ':' || text.front() == ';' || text == last_error_name.view();
  if (!is_command) { return run_script(cleaned); }
  if (!is_json() || depth_ > 1) { return execute_command(text); }
  // One JSON object for the whole answer.
  const std::vector<std::string> offered = choices_;
  bool is_done = false;
  std::string answer;
  std::string complaint;
  {
    Collected collected(host_);
    is_done = execute_command(text);
    answer = std::move(collected.text);
    complaint = std::move(collected.complaint);
  }
  // `:mode` itself may have changed the form of answers.
  if (!is_json()) {
    if (!complaint.empty()) { host_.err(complaint); }
    if (!answer.empty()) { print(answer); }
    return is_done;
  }
  print(command_json(std::string(text), is_done, plain_text(answer), plain_text(complaint), choices_ == offered ? std::vector<std::string>() : choices_));
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
      complain("`:" + words[0] + "` is not a command" + (near.empty() ? "; `:help` lists them" : "; did you mean `:" + near + "`?") + "\n");
      return false;
    }
    words.erase(words.begin());
    return command->run(*this, words);
  }
  // `_err` alone shows the whole failure; as a value in a line it is the message.
  print(last_failure_.empty() ? "nothing has failed yet\n" : last_failure_);
  return true;
}

auto Session::history() const -> std::vector<Typed> { return host_.history ? host_.history() : inputs_; }

void Session::add_step(std::string line, eval::Frame frame, bool changes_program) {
  size_t number = steps_.size();
  SessionStep step{.line = std::move(line), .frame = std::move(frame), .changes_program = changes_program, .parent = position_, .label = {}, .hole = {}, .results = {}, .statements = {}};
  steps_.push_back(std::move(step));
  if (number > 0) { steps_[position_].next = number; }
  position_ = number;
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
  for (SessionStep& step : steps_) {
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
  // The program is loaded; the failure of its schedule was reported.
  (void)begin(program);
  return false;
}

auto Session::go_to(size_t step) -> bool {
  if (step >= steps_.size()) { return false; }
  position_ = step;
  choices_.clear();
  // `:redo` goes back the same way.
  for (size_t at = step; at != 0; at = steps_[at].parent) { steps_[steps_[at].parent].next = at; }
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

}  // namespace loopsmith::repl
