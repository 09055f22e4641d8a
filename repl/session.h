// A REPL session: a file, the program under schedule, the schedule, and all its states. Commands (commands/, one
// file each) and lines of script act on it; nothing here reads a terminal.
//
// A state is a value that shares its unchanged parts, so a step back costs nothing: `:undo` goes to the state before
// the last step, variables of the script included. Steps are a tree: steps that follow an `:undo` are siblings of the undone
// steps, and every step keeps its number as long as the session works on the program.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "eval/evaluator.h"
#include "repl/effects.h"
#include "repl/jobs.h"
#include "repl/transcript.h"
#include "script/objects.h"
#include "support/cancel.h"
#include "target/target.h"
#include "workspace/selection.h"
#include "workspace/snapshot.h"

namespace loopsmith::repl {

/// Names of the script that the session binds: the schedule, the last value, the message of the last failure.
extern const Name sch_name, last_name, last_error_name;

/// The text and the bytes of an origin; none: it cannot be shown.
using Locator = std::function<std::optional<std::pair<const SourceText*, Span>>(const Origin&)>;

/// An input, and its effect on the program (effects.h); empty: no effect, or unknown.
struct Typed {
  std::string line;
  std::string effect;
};

/// The terminal of a session, and the services of higher rooms that it uses (tuning, the command line).
struct Host {
  std::function<void(std::string_view)> out;        // receives answers
  std::function<void(std::string_view)> err;        // receives complaints
  bool color = false;
  size_t width = 80;
  size_t height = 0;                                // of the screen, in lines; 0: there is no screen
  /// Renders a diagnostic; one without a place is attributed to the named file.
  std::function<std::string(const Diagnostic&, const Locator&, const std::string& file)> render;
  CancelToken (*interrupted)() = nullptr;            // returns a token that Ctrl-C cancels, a new one for every input
  bool can_choose = true;                            // a person can type the number of a choice
  std::function<std::vector<Typed>()> history;       // inputs of this session and earlier ones; empty: only this session has a history
  std::function<void(std::string_view)> page;        // shows long answers a screen at a time; empty: they are printed directly
  bool trusts_texts = false;                         // also execute lines for the shell in documents and transcripts
  bool is_of_text = false;                           // the inputs come from a document or transcript, and were not typed
};

/// One applied step: the input, and the state after it.
struct SessionStep {
  std::string line;                // as typed; empty: the beginning
  eval::Frame frame;               // the script's variables, the schedule among them
  bool changes_program = false;
  size_t parent = 0;               // the step before; the beginning is its own parent
  size_t next = 0;                 // the step that `:redo` goes to; 0: none
  std::string label;               // the name from `:branch`; may be empty
  double seconds = 0;              // as last measured by `:bench`; 0: not measured
  std::optional<script::TuneRequest> hole;   // the line is a place for a search
  std::vector<std::string> results; // the value of `_` after each of its statements: "i0", "(i0, i1)"; "_": the value of a bare call; empty: unchanged
  bool is_whole = false;           // it begins again with the program as written: a schedule of the file, the result of a search
  size_t place = 0;                // for a statement of the file: its offset there
  std::string statements;          // with is_whole: its statements; empty: those of the trace
};

/// The settings that `:set` changes.
struct Settings {
  bool diff = true;                // the change of each step is shown
  size_t context = 2;              // unchanged lines around a change
  bool pager = true;               // on a terminal
  bool ascii = false;              // trees drawn with plain characters
  bool plain = false;              // sentences instead of pictures, for screen readers
  std::optional<size_t> height;    // lines of a screen; none: those of the host
  std::string mode = "diff";       // the mode of answers (answers.h)
};

class Session {
 public:
  explicit Session(Host host);
  // Its host's functions refer to it.
  Session(Session&&) = delete;

  /// Reads a file and selects its first program without errors. False: it has none, or the requested program has errors; that is
  /// reported, and the file that was loaded before stays.
  auto load(const std::string& path, const std::string& needed = {}) -> bool;
  auto load_text(const std::string& name, std::string text, const std::string& needed = {}) -> bool;
  /// From now on the text of a file is read from a mirror, which contains the editor's text, saved or not.
  void attach(const std::string& path, const std::string& mirror) { attached_ = {path, mirror}; }
  /// True while the session's file is open in an editor.
  [[nodiscard]] auto is_attached() const -> bool { return !attached_.second.empty() && path_ == attached_.first; }
  /// The path of the text of the loaded file.
  [[nodiscard]] auto source() const -> const std::string& { return path_ == attached_.first ? attached_.second : path_; }
  /// Starts over with a program of the file ("": the first) and, if named, a schedule function applied to it.
  auto begin(const std::string& program, const std::string& schedule = {}) -> bool;
  /// Starts over with the schedule or program around a line of the file (1: the first): a schedule up to the statement there, even if a later
  /// statement fails. On other lines the session stays unchanged.
  auto begin_at(size_t line) -> bool;

  /// Executes an input of one or several lines: a command if it starts with `:`, else script. False: it failed, and changed nothing.
  auto execute(const std::string& input) -> bool;
  /// Executes a line of script only, no command and no transcript: for callers that pass on lines of unknown origin.
  auto execute_step(const std::string& line) -> bool;
  /// True for a complete input; false if it continues (an open bracket, a block).
  [[nodiscard]] auto is_complete(const std::string& input) const -> bool;
  [[nodiscard]] auto wants_quit() const -> bool { return quit_; }
  void quit() { quit_ = true; }

  // ---- for commands ----------------------------------------------------------------------------------------------------
  [[nodiscard]] auto host() const -> const Host& { return host_; }
  [[nodiscard]] auto file() -> frontend::File& { return document_->file(); }
  /// Selects a program or a schedule of the loaded file; the session stays where it is.
  [[nodiscard]] auto select(const workspace::SelectionRequest& request) -> std::variant<workspace::Selection, workspace::NotSelected>;
  [[nodiscard]] auto document() const -> const syntax::Document& { return snapshot_->syntax(); }
  [[nodiscard]] auto path() const -> const std::string& { return path_; }
  [[nodiscard]] auto schedules() -> script::Schedules& { return document_->schedules(); }
  [[nodiscard]] auto program_name() const -> Name { return program_name_; }
  [[nodiscard]] auto has_program() const -> bool { return !steps_.empty(); }
  /// The scheduled function in the module ("main" for a bare function).
  [[nodiscard]] auto function() const -> Name;
  [[nodiscard]] auto schedule() const -> const schedule::Schedule&;
  [[nodiscard]] auto module() const -> const IRModule& { return schedule().module(); }
  [[nodiscard]] auto original() const -> const IRModule& { return original_; }
  [[nodiscard]] auto steps() const -> const std::vector<SessionStep>& { return steps_; }
  [[nodiscard]] auto position() const -> size_t { return position_; }
  /// Goes to a step (0: the beginning). All others stay.
  auto go_to(size_t step) -> bool;
  /// The steps from the beginning to a step, both included.
  [[nodiscard]] auto path_to(size_t step) const -> std::vector<size_t>;
  /// A step by its number or label.
  [[nodiscard]] auto find_step(const std::string& text) const -> std::optional<size_t>;
  void label(const std::string& name);
  void measured(size_t step, double seconds) { steps_[step].seconds = seconds; }
  /// Records a file that this session wrote, and may write again.
  void wrote(const std::string& path) { written_.insert(path); }
  [[nodiscard]] auto has_written(const std::string& path) const -> bool { return written_.contains(path); }
  /// Functions that this session added to a file, by the file's and the function's name, as text.
  [[nodiscard]] auto added() -> std::map<std::pair<std::string, std::string>, std::string>& { return added_; }
  [[nodiscard]] auto module_at(size_t step) const -> const IRModule&;
  [[nodiscard]] auto schedule_at(size_t step) const -> const schedule::Schedule&;
  /// Begins again with the present text of the file, the same program and schedule. False: an error was reported; the session stays unchanged.
  auto reload() -> bool;
  [[nodiscard]] auto settings() -> Settings& { return settings_; }
  [[nodiscard]] auto settings() const -> const Settings& { return settings_; }
  /// Inputs that worked, in this session and, on a terminal, earlier ones; the newest last.
  [[nodiscard]] auto history() const -> std::vector<Typed>;
  /// Records the file that was named when the session was started.
  void begun_with(const std::string& path) { begun_with_ = path; }
  /// The effect of the last executed input.
  [[nodiscard]] auto last_effect() const -> std::string { return inputs_.empty() ? std::string() : inputs_.back().effect; }
  /// The effect of a step.
  [[nodiscard]] auto effect_of(size_t step) const -> Effect;
  /// The program after the steps from the beginning to here without one of them. No module: step `failed` was refused, with the reason.
  struct Without {
    IRModule module;
    size_t failed = 0;
    std::string why;
  };
  [[nodiscard]] auto without(size_t step) -> Without;
  /// The loop or block of a variable of the script at a step (`i`, `loops[2]`); null: none.
  [[nodiscard]] auto variable_at(size_t step, const std::string& name) const -> const schedule::Place*;
  /// Begins again with the program as written and runs statements as one step; their variables replace those of the earlier schedule.
  auto adopt(const std::string& statements, const std::string& line) -> bool;
  [[nodiscard]] auto target() const -> const target::Target& { return target_; }
  [[nodiscard]] auto jobs() const -> BackgroundJobs& { return *jobs_; }
  /// Reports background searches that have ended; called between inputs.
  void report_news();
  /// The progress of searches in the background, for display before the prompt: "[2: 37 trials, best 141.3 us] "; empty: none runs.
  [[nodiscard]] auto margin() const -> std::string;
  /// Chooses the target for all programs of the session. Before that, the program or its schedule names the target.
  void set_target(target::Target target) {
    target_ = std::move(target);
    is_target_chosen_ = true;
  }
  /// Sends answers and complaints elsewhere from now on, without keeping them for the document.
  void redirect(std::function<void(std::string_view)> out, std::function<void(std::string_view)> err, std::function<void(std::string_view)> page) {
    host_.out = std::move(out);
    host_.err = std::move(err);
    host_.page = std::move(page);
  }
  /// A token that the next Ctrl-C cancels.
  [[nodiscard]] auto interrupt() const -> CancelToken { return depth_ > 0 ? interrupt_ : fresh_interrupt(); }
  /// Records a new size of the terminal.
  void resize(size_t width, size_t height) {
    host_.width = width;
    host_.height = height;
  }
  void print(std::string_view text) const { host_.out(text); }
  /// Shows a long answer, a screen at a time if there is a screen.
  void show(std::string_view text) const { settings_.pager && host_.page ? host_.page(text) : host_.out(text); }
  /// Prints a sentence, broken between words at the width of the screen; through a pipe, one line.
  void say(std::string_view text) const;
  /// Writes a complaint; a sentence is broken as in `say`, text of several lines or columns stays unchanged.
  void complain(std::string_view text) const;
  void report(const Diagnostics& diagnostics) const;
  /// The session so far as a document in Markdown: inputs and answers, as a transcript for `--check`. Answers that differ from run to run
  /// (times, searches, the shell) are written as `...`.
  [[nodiscard]] auto as_document() const -> std::string;
  /// The steps so far as a schedule function for the program with the name `program` in a file. Empty: they cannot be written as text; `why` is the reason.
  [[nodiscard]] auto as_function(const std::string& name, const std::string& program, std::string& why) -> std::string;
  /// True if the script binds the name here.
  [[nodiscard]] auto has_variable(const std::string& name) const -> bool { return steps_[position_].frame.scope->find_here(Name(name)) != nullptr; }
  /// The current module as text.
  [[nodiscard]] auto module_text() const -> std::string;
  /// A text of script with colours, if the host has them: those of the terminal's palette, so that they fit a dark and a light one.
  [[nodiscard]] auto colored(std::string text) const -> std::string;
  /// The current module, colored; if it is longer than the screen, each nest that the step before left unchanged is one line.
  [[nodiscard]] auto module_folded(const IRModule& before) const -> std::string;
  /// Lines of the screen; 0: there is no screen, and no answer is too long.
  [[nodiscard]] auto height() const -> size_t { return settings_.height.value_or(host_.height); }

  /// Lines that were offered last (repairs of a refused line, moves of `:hint`): typing the number executes one.
  [[nodiscard]] auto choices() const -> const std::vector<std::string>& { return choices_; }
  void offer(std::vector<std::string> choices) { choices_ = std::move(choices); }
  auto choose(size_t number) -> bool;
  /// Executes the inputs of a transcript, or of a file of lines. False: one failed. Lines for the shell are executed only if the text is the user's own,
  /// or the host trusts texts.
  auto run_lines(const std::string& text, bool is_own = false) -> bool;
  /// True if lines for the shell are executed: the line was typed, or its text is trusted.
  [[nodiscard]] auto runs_shell() const -> bool { return host_.trusts_texts || !host_.is_of_text; }
  /// The script's name for a loop or block; empty: it has none.
  [[nodiscard]] auto name_of(const schedule::Place& place) const -> std::string;
  /// The loop or block with a name in the script: a block's name, or a variable. Null: there is none.
  [[nodiscard]] auto place_of(const std::string& name) const -> const schedule::Place*;
  /// The same; if several have the name, also reports the chosen one.
  [[nodiscard]] auto place_that_is_meant(const std::string& name) const -> const schedule::Place*;
  /// True for a variable whose loop or block a later step removed.
  [[nodiscard]] auto is_gone(const std::string& name) const -> bool;
  /// A sentence about a name without a loop or block, with its line end.
  [[nodiscard]] auto no_place(const std::string& name) const -> std::string;
  /// Reports the reason why a call would be refused, without doing it. False: the call could not be parsed.
  auto why_not(const std::string& call) -> bool;

  /// The possible words at a position of the input (completion.cpp): commands, primitives, variables, block names. `start` is the first byte that
  /// a word replaces.
  [[nodiscard]] auto complete(const std::string& input, size_t cursor, size_t& start) const -> std::vector<std::string>;

 private:
  /// The program at the start, and its name in the file.
  struct Chosen { IRModule module; Name name; };
  /// The statements of one input after they ran.
  struct Ran {
    Diagnostics diagnostics;                     // if one is an error, statements behind it did not run
    std::optional<Origin> unknown_at;            // Python that is not evaluated; statements behind it did not run
    std::optional<script::TuneRequest> hole;     // the last place for a search
    std::vector<std::string> results;            // SessionStep::results
  };
  struct RunOptions {
    size_t number = 0;                                             // the number of the step
    bool ignores_unknown = false;                                  // continues behind Python that is not evaluated
    std::function<void(std::string_view)> output = {};             // receives printed text
    std::function<void(const eval::Value&)> show_value = {};       // receives the value of an expression statement
  };

  auto execute_one(const std::string& input) -> bool;
  auto execute_command(std::string_view text) -> bool;
  [[nodiscard]] auto is_json() const -> bool { return settings_.mode == "json"; }
  /// None: an error was reported.
  auto choose_program(const std::string& program, const script::FileSchedule* named) -> std::optional<Chosen>;
  [[nodiscard]] auto begun_with_schedule(const schedule::Schedule& schedule) const -> eval::Frame;
  /// Adds the executed statements of a schedule function as steps.
  auto begin_with(const std::string& program, const std::string& schedule, bool in_part) -> bool;
  void add_steps_of(const script::FileSchedule& named);
  /// The steps so far, indented as in a function. Empty with a `why`: run again they make another program.
  [[nodiscard]] auto body_of_steps(std::string& why) -> std::string;
  /// Runs an input of script; its result becomes the next step. A trial changes nothing.
  auto run_script(const std::string& input, bool is_trial = false) -> bool;
  auto run_statements(eval::Frame& frame, const syntax::Document& document, const RunOptions& options) -> Ran;
  /// Runs statements in a frame without output; returns their errors.
  auto run_quietly(eval::Frame& frame, const std::string& text, size_t step) -> Diagnostics;
  /// Reports the errors of an input and offers repairs.
  void report_refusal(const std::string& input, const std::string& text, const syntax::Document& document, const Diagnostics& diagnostics, bool is_trial);
  [[nodiscard]] auto repairs_of(const std::string& text, const syntax::Document& document, const Diagnostics& diagnostics) -> std::vector<std::string>;
  /// Finds origins in an input (null: none), in the file, and in files that it imports.
  [[nodiscard]] auto locator(const SourceText* input, const syntax::Document* input_document) const -> Locator;
  void report_input(const syntax::Document& document, const Diagnostics& diagnostics);
  /// The text at an origin; empty: it cannot be found.
  [[nodiscard]] auto source_of(const syntax::Document& document, const Origin& where) const -> std::string;
  /// A call that names loops and blocks as the program does, with the script's names instead: in the form that a user would type.
  [[nodiscard]] auto with_places(const std::string& call) const -> std::string;
  /// The possible words behind a command; none: the input is not a command, or the command takes script.
  [[nodiscard]] auto words_of_command(const std::string& before, const std::string& word) const -> std::optional<std::vector<std::string>>;
  [[nodiscard]] auto words_of_script(std::string_view line, size_t cursor, size_t& start) const -> std::vector<std::string>;
  void add_step(std::string line, eval::Frame frame, bool changes_program);
  auto schedule_object(const eval::Frame& frame) const -> const script::ScheduleObject*;

  [[nodiscard]] auto fresh_interrupt() const -> CancelToken { return host_.interrupted != nullptr ? host_.interrupted() : CancelToken(); }

  Host host_;
  std::string path_;
  std::pair<std::string, std::string> attached_;   // a file, and the path from which its text is read; empty: none
  std::unique_ptr<workspace::Document> document_;  // null: no file is loaded
  workspace::SnapshotPtr snapshot_ = std::make_shared<const workspace::Snapshot>("", 0, "");   // of the document
  Name program_name_;
  IRModule original_;
  std::vector<SessionStep> steps_;
  size_t position_ = 0;
  target::Target target_;
  bool is_target_chosen_ = false;      // by a command, in place of the program or its schedule
  bool quit_ = false;
  Settings settings_;
  std::string schedule_name_;          // the schedule at the start; may be empty
  std::vector<std::string> choices_;
  std::vector<Typed> inputs_;          // executed, in order
  std::vector<std::string> answers_;   // the answer to each input, without colours
  std::string begun_with_;             // the file at the start of the session; empty: none
  uint64_t begun_ = 0;                 // the number of times that a program was started with
  int depth_ = 0;                      // the nesting depth of inputs that execute inputs
  CancelToken interrupt_;              // of the outermost input: an inner input must not replace it, or Ctrl-C would not reach the outer one
  std::string last_error_;             // the value of `_err`: the message of the last line that failed
  std::string last_failure_;           // its whole report
  std::set<std::string> written_;
  std::map<std::pair<std::string, std::string>, std::string> added_;
  std::unique_ptr<BackgroundJobs> jobs_ = std::make_unique<BackgroundJobs>();
};

}  // namespace loopsmith::repl
