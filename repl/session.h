// A REPL session: a file, the program being scheduled, the schedule, and every state it was in. Commands (commands/, one
// file each) and script lines act on it; nothing here reads a terminal.
//
// A state is a value that shares what did not change, so a step back costs nothing: `:undo` takes the state before the last
// step, variables of the script included.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eval/evaluator.h"
#include "frontend/file.h"
#include "script/objects.h"
#include "script/schedules.h"
#include "support/cancel.h"
#include "syntax/document.h"
#include "target/target.h"

namespace loopsmith::repl {

/// What the session lets its host do: higher rooms (tuning, the command line) hand these in.
struct Host {
  std::function<void(std::string_view)> out;        // what belongs to the answer
  std::function<void(std::string_view)> err;        // what went wrong
  bool color = false;
  size_t width = 80;
  /// Renders a diagnostic over a text of that name.
  std::function<std::string(const Diagnostic&, const SourceText&, std::optional<Span>)> render;
  CancelToken (*interrupted)() = nullptr;            // a token that Ctrl-C cancels, fresh for every line
};

/// One step that was applied: the line, and the state after it.
struct Step {
  std::string line;                // as typed; empty: the beginning
  eval::Frame frame;               // the script's variables, the schedule among them
  bool changes_program = false;
};

class Session {
 public:
  explicit Session(Host host);

  /// Reads a file; its first program becomes current. False: reported.
  auto load(const std::string& path) -> bool;
  auto load_text(const std::string& name, std::string text) -> bool;
  /// Starts over with a program of the file ("" : the first) and, where named, a schedule function applied to it.
  auto begin(const std::string& program, const std::string& schedule = {}) -> bool;

  /// A line or several: a command where it starts with `:`, else script. False: it failed (and changed nothing).
  auto execute(const std::string& input) -> bool;
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
  /// Goes to a step (0: the beginning); later ones stay, for `redo`, until something new is done.
  auto go_to(size_t step) -> bool;
  /// Begins again from the program as written with a trace (TVM's JSON), as one step.
  auto adopt_trace(const std::string& json, const std::string& line) -> bool;
  [[nodiscard]] auto target() const -> const target::Target& { return target_; }
  void set_target(target::Target target) { target_ = std::move(target); }
  void print(std::string_view text) const { host_.out(text); }
  void complain(std::string_view text) const { host_.err(text); }
  void report(const Diagnostics& diagnostics, const SourceText* text = nullptr) const;
  /// The steps so far as a schedule function that can be typed into a file.
  [[nodiscard]] auto as_function(const std::string& name) const -> std::string;
  /// The current module as text, with colours where the host has them.
  [[nodiscard]] auto module_text() const -> std::string;

  /// Lines that repair the statement that failed last, in the order of its remedies; `:repair N` executes one.
  [[nodiscard]] auto repairs() const -> const std::vector<std::string>& { return repairs_; }
  /// What the script calls a loop or block; empty: nothing.
  [[nodiscard]] auto name_of(const schedule::Place& place) const -> std::string;
  /// What a name of the script stands for in the program: a block's name, or a variable. Null: no loop or block.
  [[nodiscard]] auto place_of(const std::string& name) const -> const schedule::Place*;
  /// Why a call would be refused, without doing it. False: it could not be read.
  auto why_not(const std::string& call) -> bool;

  /// Words that may stand at a place of the input: commands, primitives, variables, block names.
  [[nodiscard]] auto complete(const std::string& input, size_t cursor, size_t& start) const -> std::vector<std::string>;

 private:
  auto run_script(const std::string& input, bool is_trial = false) -> bool;
  auto schedule_object(const eval::Frame& frame) const -> const script::ScheduleObject*;

  Host host_;
  std::string path_;
  syntax::Document document_;
  std::unique_ptr<frontend::File> file_;
  script::Schedules schedules_;
  Name program_name_;
  IRModule original_;
  std::vector<Step> steps_;
  size_t position_ = 0;
  target::Target target_;
  bool quit_ = false;
  std::vector<std::string> repairs_;
};

}  // namespace loopsmith::repl
