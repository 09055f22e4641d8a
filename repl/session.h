// A REPL session: a file, the program being scheduled, the schedule, and every state it was in. Commands (commands/, one
// file each) and script lines act on it; nothing here reads a terminal.
//
// A state is a value that shares what did not change, so a step back costs nothing: `:undo` takes the state before the last
// step, variables of the script included. Steps are a tree: what is done after `:undo` stands beside what was undone, and
// every step keeps its number for as long as the session goes on with the program.
#pragma once

#include <functional>
#include <memory>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "eval/evaluator.h"
#include "frontend/file.h"
#include "repl/jobs.h"
#include "script/objects.h"
#include "script/schedules.h"
#include "support/cancel.h"
#include "syntax/document.h"
#include "target/target.h"

namespace loopsmith::repl {

/// Where an origin lies; none: nowhere that can be shown.
using Locator = std::function<std::optional<std::pair<const SourceText*, Span>>(const Origin&)>;

/// What was typed, and what it did to the program (effects.h); empty: nothing, or nobody knows.
struct Typed {
  std::string line;
  std::string did;
};

/// What the session lets its host do: higher rooms (tuning, the command line) hand these in.
struct Host {
  std::function<void(std::string_view)> out;        // what belongs to the answer
  std::function<void(std::string_view)> err;        // what went wrong
  bool color = false;
  size_t width = 80;
  size_t height = 0;                                // of the screen, in lines; 0: there is none
  /// Renders a diagnostic; what has no place is said to be of the file named.
  std::function<std::string(const Diagnostic&, const Locator&, const std::string& file)> render;
  CancelToken (*interrupted)() = nullptr;            // a token that Ctrl-C cancels, fresh for every line
  bool can_choose = true;                            // somebody can type the number of what is offered
  std::function<std::vector<Typed>()> history;       // what was typed in this session and earlier ones; none: only this one is known
  std::function<void(std::string_view)> page;        // long answers; none: they are written as they are
};

/// One step that was applied: the line, and the state after it.
struct Step {
  std::string line;                // as typed; empty: the beginning
  eval::Frame frame;               // the script's variables, the schedule among them
  bool changes_program = false;
  size_t parent = 0;               // the step before; the beginning's is itself
  size_t next = 0;                 // where `:redo` goes; 0: nowhere
  std::string label;               // what `:branch` called it; may be empty
  double seconds = 0;              // as `:bench` measured it last; 0: not measured
  std::optional<script::Hole> hole; // the line is a place that a search is to fill
  std::vector<std::string> results; // what `_` is after each of its statements: "i0", "(i0, i1)"; "_": it is a call alone; empty: as before
  bool is_whole = false;           // begins again from the program as written: a schedule of the file, one that was found
  std::string statements;          // with it: those that do; empty: its trace does
};

/// What `:set` changes.
struct Settings {
  bool diff = true;                // what a step changed is shown
  size_t context = 2;              // unchanged lines around a change
  bool pager = true;               // on a terminal
  bool ascii = false;              // trees drawn with plain characters
  bool plain = false;              // sentences instead of pictures, for those who listen
  std::optional<size_t> height;    // lines of a screen; none: as the host says
  std::string mode = "diff";       // of answers (answers.h)
};

class Session {
 public:
  explicit Session(Host host);
  // What the host is told goes through it.
  Session(Session&&) = delete;

  /// Reads a file; its first program without errors becomes current. False: there is none, or the one that is needed has errors; reported,
  /// and what was there before stays.
  auto load(const std::string& path, const std::string& needed = {}) -> bool;
  auto load_text(const std::string& name, std::string text, const std::string& needed = {}) -> bool;
  /// The text of a file stands elsewhere from now on: as an editor shows it, saved or not.
  void attach(const std::string& path, const std::string& mirror) { attached_ = {path, mirror}; }
  /// Where the text of the file that is loaded is read.
  [[nodiscard]] auto source() const -> const std::string& { return path_ == attached_.first ? attached_.second : path_; }
  /// Starts over with a program of the file ("" : the first) and, where named, a schedule function applied to it.
  auto begin(const std::string& program, const std::string& schedule = {}) -> bool;

  /// A line or several: a command where it starts with `:`, else script. False: it failed (and changed nothing).
  auto execute(const std::string& input) -> bool;
  /// A line of script and nothing else: no command, no transcript. For those who hand on what others wrote.
  auto execute_step(const std::string& line) -> bool;
  /// Is the input a whole statement, or does it go on (an open bracket, a block)?
  [[nodiscard]] auto is_complete(const std::string& input) const -> bool;
  [[nodiscard]] auto wants_quit() const -> bool { return quit_; }
  void quit() { quit_ = true; }

  // For commands.
  [[nodiscard]] auto host() const -> const Host& { return host_; }
  [[nodiscard]] auto file() -> frontend::File& { return *file_; }
  [[nodiscard]] auto document() const -> const syntax::Document& { return document_; }
  [[nodiscard]] auto path() const -> const std::string& { return path_; }
  [[nodiscard]] auto schedules() -> script::Schedules& { return schedules_; }
  [[nodiscard]] auto program_name() const -> Name { return program_name_; }
  [[nodiscard]] auto has_program() const -> bool { return !steps_.empty(); }
  /// The function that is scheduled, in the module ("main" for a bare function).
  [[nodiscard]] auto function() const -> Name;
  [[nodiscard]] auto schedule() const -> const schedule::Schedule&;
  [[nodiscard]] auto module() const -> const IRModule& { return schedule().module(); }
  [[nodiscard]] auto original() const -> const IRModule& { return original_; }
  [[nodiscard]] auto steps() const -> const std::vector<Step>& { return steps_; }
  [[nodiscard]] auto position() const -> size_t { return position_; }
  /// Goes to a step (0: the beginning). All others stay.
  auto go_to(size_t step) -> bool;
  /// The steps from the beginning to a step, the beginning and itself included.
  [[nodiscard]] auto path_to(size_t step) const -> std::vector<size_t>;
  /// A step by its number or label.
  [[nodiscard]] auto find_step(const std::string& text) const -> std::optional<size_t>;
  void label(const std::string& name);
  void measured(size_t step, double seconds) { steps_[step].seconds = seconds; }
  /// Files that this session wrote, and may write again.
  void wrote(const std::string& path) { written_.insert(path); }
  /// Functions that this session added to a file, by the file's and the function's name, as text.
  [[nodiscard]] auto added() -> std::map<std::pair<std::string, std::string>, std::string>& { return added_; }
  [[nodiscard]] auto has_written(const std::string& path) const -> bool { return written_.contains(path); }
  [[nodiscard]] auto module_at(size_t step) const -> const IRModule&;
  [[nodiscard]] auto schedule_at(size_t step) const -> const schedule::Schedule&;
  /// Begins again with the file as it is now, the same program and schedule. False: reported; what was there stays.
  auto reload() -> bool;
  [[nodiscard]] auto settings() -> Settings& { return settings_; }
  [[nodiscard]] auto settings() const -> const Settings& { return settings_; }
  /// What was typed that worked, in this session and, on a terminal, earlier ones; the newest last.
  [[nodiscard]] auto history() const -> std::vector<Typed>;
  /// What the input that was executed last did to the program.
  /// The file that was named when the session was started.
  void begun_with(const std::string& path) { begun_with_ = path; }
  [[nodiscard]] auto last_effect() const -> std::string { return inputs_.empty() ? std::string() : inputs_.back().did; }
  /// What a step did; empty: it looked.
  [[nodiscard]] auto effect_of(size_t step) const -> std::string;
  /// The steps from the beginning to here done again without one of them. None: a step could not be; which, and why.
  struct Without {
    IRModule module;
    size_t failed = 0;
    std::string why;
  };
  [[nodiscard]] auto without(size_t step) -> Without;
  /// The script's variable at a step; null: none.
  [[nodiscard]] auto variable_at(size_t step, const std::string& name) const -> const schedule::Place*;
  /// Begins again from the program as written with statements, as one step, and their variables in place of those of the schedule before.
  auto adopt(const std::string& statements, const std::string& line) -> bool;
  [[nodiscard]] auto target() const -> const target::Target& { return target_; }
  [[nodiscard]] auto jobs() const -> BackgroundJobs& { return *jobs_; }
  /// Says of background searches that ended what came of them; between lines.
  void tell_news();
  /// Before the prompt while a search goes on beside: "[2: 37 trials, best 141.3 us] "; empty: none does.
  [[nodiscard]] auto margin() const -> std::string;
  void set_target(target::Target target) { target_ = std::move(target); }
  /// What is printed and complained goes elsewhere from now on, and at once.
  void redirect(std::function<void(std::string_view)> out, std::function<void(std::string_view)> err, std::function<void(std::string_view)> page) {
    host_.out = std::move(out);
    host_.err = std::move(err);
    host_.page = std::move(page);
  }
  /// Ctrl-C, from now on.
  [[nodiscard]] auto interrupt() const -> CancelToken { return host_.interrupted != nullptr ? host_.interrupted() : CancelToken(); }
  /// The terminal is of another size.
  void resize(size_t width, size_t height) {
    host_.width = width;
    host_.height = height;
  }
  void print(std::string_view text) const { host_.out(text); }
  /// A long answer: a screen at a time, where there is a screen.
  void show(std::string_view text) const { settings_.pager && host_.page ? host_.page(text) : host_.out(text); }
  /// A sentence, broken between words where the screen ends; through a pipe, one line.
  void say(std::string_view text) const;
  /// The same, of what went wrong; text of several lines, or of columns, stays as it is.
  void complain(std::string_view text) const;
  void report(const Diagnostics& diagnostics) const;
  /// The session so far as a document in Markdown: what was typed and what came of it, as a transcript that `--check` runs. What differs
  /// from run to run (times, searches, the shell) is left open.
  [[nodiscard]] auto as_document() const -> std::string;
  /// The steps so far as a schedule function for what a file calls `program`. Empty: they cannot be written as text; `why` says what is in the way.
  [[nodiscard]] auto as_function(const std::string& name, const std::string& program, std::string& why) -> std::string;
  /// Does the script bind the name here?
  [[nodiscard]] auto has_variable(const std::string& name) const -> bool { return steps_[position_].frame.scope->find_here(Name(name)) != nullptr; }
  /// The current module as text.
  [[nodiscard]] auto module_text() const -> std::string;
  /// A text of script with colours, where the host has them: those of the terminal, so that they fit a dark and a light one.
  [[nodiscard]] auto colored(std::string text) const -> std::string;
  /// The current module, colored; nests that the step before left as they were are a line each where all of it is more than a screen.
  [[nodiscard]] auto module_folded(const IRModule& before) const -> std::string;
  /// Lines of the screen; 0: there is none, and nothing is too long.
  [[nodiscard]] auto height() const -> size_t { return settings_.height.value_or(host_.height); }

  /// Lines that were offered last (repairs of what failed, moves of `:hint`): typing the number executes one.
  [[nodiscard]] auto choices() const -> const std::vector<std::string>& { return choices_; }
  void offer(std::vector<std::string> choices) { choices_ = std::move(choices); }
  auto choose(size_t number) -> bool;
  /// Executes what was typed in a transcript, or written to a file of lines. False: a line failed.
  auto run_lines(const std::string& text) -> bool;
  /// What the script calls a loop or block; empty: nothing.
  [[nodiscard]] auto name_of(const schedule::Place& place) const -> std::string;
  /// What a name of the script stands for in the program: a block's name, or a variable. Null: no loop or block.
  [[nodiscard]] auto place_of(const std::string& name) const -> const schedule::Place*;
  /// The same for whoever shows something about it: says which of several it is.
  [[nodiscard]] auto place_that_is_meant(const std::string& name) const -> const schedule::Place*;
  /// Was it a loop or block that a later step took?
  [[nodiscard]] auto is_gone(const std::string& name) const -> bool;
  /// A sentence for a name that stands for none, with its line end.
  [[nodiscard]] auto no_place(const std::string& name) const -> std::string;
  /// Why a call would be refused, without doing it. False: it could not be read.
  auto why_not(const std::string& call) -> bool;

  /// Words that may stand at a place of the input: commands, primitives, variables, block names.
  [[nodiscard]] auto complete(const std::string& input, size_t cursor, size_t& start) const -> std::vector<std::string>;

 private:
  std::set<std::string> written_;
  std::map<std::pair<std::string, std::string>, std::string> added_;
  auto execute_one(const std::string& input) -> bool;
  auto execute_command(std::string_view text) -> bool;
  /// The steps so far, indented as in a function. Empty with a `why`: run again they make another program.
  [[nodiscard]] auto body_of_steps(std::string& why) -> std::string;
  auto run_script(const std::string& input, bool is_trial = false) -> bool;
  /// A call in which loops and blocks of the program that the script has no name for stand by the program's: as it would be typed.
  [[nodiscard]] auto with_places(const std::string& call) const -> std::string;
  /// Executes statements in a frame and says nothing; what is wrong with them.
  auto run_quietly(eval::Frame& frame, std::string text, size_t step) -> Diagnostics;
  void add_step(std::string line, eval::Frame frame, bool changes_program);
  auto schedule_object(const eval::Frame& frame) const -> const script::ScheduleObject*;

  Host host_;
  std::string path_;
  std::pair<std::string, std::string> attached_;   // a file, and where its text is read; empty: none
  syntax::Document document_;
  std::unique_ptr<frontend::File> file_;
  script::Schedules schedules_;
  Name program_name_;
  IRModule original_;
  std::vector<Step> steps_;
  size_t position_ = 0;
  target::Target target_;
  bool quit_ = false;
  Settings settings_;
  std::string schedule_name_;          // that the session began with; may be empty
  std::vector<std::string> choices_;
  std::vector<Typed> inputs_;          // executed, in order
  std::vector<std::string> said_;      // what came of each, without colours
  std::string begun_with_;             // the file that the session was started with; empty: none
  uint64_t begun_ = 0;                 // how often a program was begun with
  int depth_ = 0;                      // of inputs that execute inputs
  std::string last_error_;             // what `_err` is: the message of the last line that failed
  std::string last_failure_;           // all that was said of it
  std::unique_ptr<BackgroundJobs> jobs_ = std::make_unique<BackgroundJobs>();
};

/// One thing typed in a transcript, and what is said to have come of it.
struct Exchange {
  std::string input;               // without prompts
  std::string output;              // lines, each ended
  size_t line = 0;                 // of the prompt, from 1
};
/// A text with transcripts in it. Of Markdown the fenced blocks that have a prompt, else all of it.
struct Passage {
  std::string before;              // what is no transcript, up to the first prompt
  std::vector<Exchange> typed;
  size_t width = 0;                // of the screen it was on, as "width=100 height=40" behind the fence says; 0: not said
  size_t height = 0;
};
/// The last one may have nothing typed: what follows the last transcript.
[[nodiscard]] auto read_passages(std::string_view text, bool is_markdown) -> std::vector<Passage>;

/// A transcript is text with prompts (`sch> `, `...> ` where an input goes on); lines without are answers. Text before the first
/// prompt is `preamble`. Text without a prompt is no transcript: empty.
[[nodiscard]] auto read_transcript(std::string_view text, std::string* preamble = nullptr) -> std::vector<Exchange>;

}  // namespace loopsmith::repl
