// A text at one version and everything found in it: its lines, declarations, programs and findings, and the runs of its schedules. The language server,
// the REPL and the command line all read texts through this file, so that all of them give the same answers.
//
// A published Snapshot never changes; a Document makes the next one from it and shares the parts that an edit did not touch. Findings
// come in tiers: `evaluate` (syntax, names and types), `check` (also the analyses of a few changed declarations; the editor calls it with every key)
// and `replay` (the remaining analyses, then the schedule functions; interruptible). This code executes no program, reads only files that the text
// imports (imports.h), and does not depend on an editor's way of counting columns. One thread. Programs and schedules in a snapshot stay valid as
// long as its Document.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analyses.h"
#include "frontend/file.h"
#include "script/schedules.h"
#include "support/cancel.h"
#include "support/diagnostic.h"
#include "support/line_index.h"
#include "syntax/document.h"

namespace loopsmith::workspace {

/// A diagnostic with its places as bytes of the snapshot's text.
struct Finding {
  struct Note {
    Span span;
    std::string message;
    std::optional<frontend::Elsewhere> elsewhere = {};   // set if the place is in another file; `span` is then the finding's own
  };
  struct Fix {
    Span span;
    std::string replacement;
  };
  Code code{};
  Severity severity = Severity::Error;
  Span span;
  std::string message;
  bool is_deprecated = false;    // an older form: editors strike the place through
  bool is_unnecessary = false;   // the code at the place can be removed: editors fade it
  std::vector<Note> notes;
  std::vector<std::string> remedies;
  std::vector<Fix> fixes;
};

/// A program of the text.
struct Program {
  Name name;          // the declaration's name; inside of Python, with the enclosing names: `test_fuse.before`
  DeclId decl = 0;
  IRModule module;    // none if the program has errors, or uses Python that is not checked; an ill-formed program has a module and an error
  IRModule partial;   // the part that could be lowered despite errors; may be none
  Origin where;       // the declaration; for a program inside of Python, its name
  bool is_function = false;   // a bare function, which is `main` of its module
  bool has_errors = false;
  bool is_inside = false;     // inside a function or class of Python: no schedule can name it
  bool is_repeated = false;   // is_inside, and the file also binds the program to a name at its top level (`f = make(16)`)
};

class Snapshot {
 public:
  Snapshot(std::string name, int64_t version, std::string text);

  [[nodiscard]] auto name() const -> const std::string& { return name_; }
  [[nodiscard]] auto version() const -> int64_t { return version_; }
  [[nodiscard]] auto text() const -> const std::string& { return syntax_.text(); }
  [[nodiscard]] auto lines() const -> const LineIndex& { return lines_; }
  [[nodiscard]] auto syntax() const -> const syntax::Document& { return syntax_; }

  /// Bytes of the text; also for origins in earlier versions of a schedule function, if the results of its first steps were kept.
  [[nodiscard]] auto resolve(Origin origin) const -> std::optional<Span>;

  /// Available since `evaluate`.
  [[nodiscard]] auto programs() const -> const std::vector<Program>& { return programs_; }
  /// The functions are available since `evaluate`, their runs since `replay` or `Document::run_schedule`.
  [[nodiscard]] auto schedules() const -> const std::vector<script::FileSchedule>& { return schedules_; }

  /// Everything found so far, in the order of the text, without repetitions and without findings that comments silence (analysis/ignore.h).
  [[nodiscard]] auto findings() const -> std::vector<Finding>;
  /// The same findings as diagnostics, for callers that render them: those of the text in its order, then those of each schedule's run.
  [[nodiscard]] auto diagnostics() const -> Diagnostics;
  /// Removes the diagnostics that a comment silences. Errors always stay.
  [[nodiscard]] auto without_silenced(Diagnostics diagnostics) const -> Diagnostics;
  /// The tiers that have run on this version.
  [[nodiscard]] auto is_checked() const -> bool { return checked_; }
  [[nodiscard]] auto is_replayed() const -> bool { return replayed_; }

  /// The files that the text imports from; null: it imports nothing.
  [[nodiscard]] auto modules() const -> const std::shared_ptr<frontend::Modules>& { return modules_; }

 private:
  friend class Document;
  [[nodiscard]] auto is_silenced(const Diagnostic& diagnostic) const -> bool;
  /// Calls `f(diagnostic, is_of_run)` for everything found, unless a comment silences it.
  template <class F>
  void each_diagnostic(F&& f) const;
  std::string name_;
  int64_t version_ = 0;
  syntax::Document syntax_;
  LineIndex lines_;
  Diagnostics semantic_;
  Diagnostics analysed_;
  std::vector<Program> programs_;
  std::vector<script::FileSchedule> schedules_;
  std::vector<std::pair<DeclId, DeclId>> earlier_decls_;  // ids of declarations in earlier versions, and their ids now
  std::shared_ptr<frontend::Modules> modules_;
  bool checked_ = false;
  bool replayed_ = false;
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

/// A text under edit: makes snapshots, and does the work that fills them.
class Document {
 public:
  /// `modules`: the files that the text imports from; null: none.
  Document(std::string name, int64_t version, std::string text, std::shared_ptr<frontend::Modules> modules = nullptr);

  /// Replaces bytes of the text.
  void edit(int64_t version, Span replaced, std::string_view replacement);
  /// Evaluates names, types and programs, and finds the schedule functions; only in declarations that changed or depend on a change. Runs no analysis.
  void evaluate();
  /// Runs `evaluate`, and the analyses if little has changed.
  void check();
  /// Runs the analyses that `check` left. False: cancelled.
  auto analyse(const CancelToken& cancel) -> bool;
  /// Runs `analyse`, then schedule functions, from the first changed statement. False: cancelled; finished work is kept, and the next
  /// call continues.
  auto replay(const CancelToken& cancel, const script::StepWatch& watch = {}) -> bool;
  /// Runs one schedule function of the text. `until`: the last line (from 1) whose statements run. The run leaves out silenced diagnostics. Fails if
  /// the text has no schedule with that name, or none that can run. Needs `evaluate` or `check`.
  /// `decisions`: the choices of a template's knobs; null: its fallback.
  auto run_schedule(std::string_view name, const CancelToken& cancel = {}, std::optional<uint32_t> until = {}, const std::shared_ptr<const script::autotvm::Decisions>& decisions = {})
      -> Result<script::ScheduleRun>;

  [[nodiscard]] auto snapshot() const -> SnapshotPtr { return current_; }
  /// For edits that change only the version.
  void set_version(int64_t version);
  [[nodiscard]] auto has_schedule_findings() const -> bool;
  /// True if an imported file may have changed: `check` and `replay` must then be called again.
  [[nodiscard]] auto imports_have_changed() -> bool;
  /// The declarations with their values, for scripts and the REPL.
  [[nodiscard]] auto file() -> frontend::File& { return *file_; }
  [[nodiscard]] auto file() const -> const frontend::File& { return *file_; }
  /// The schedule functions with the runs of `run_schedule` and `replay`.
  [[nodiscard]] auto schedules() -> script::Schedules& { return schedules_; }

 private:
  /// The current snapshot for modification: a copy if anyone else holds it.
  auto next() -> Snapshot&;

  /// Moves the runs of schedules to the current snapshot.
  void take_runs();
  /// The number of statements of a schedule function that begin on or above a line (from 1).
  [[nodiscard]] auto steps_until(const script::FileSchedule& schedule, uint32_t line) const -> size_t;

  std::shared_ptr<Snapshot> current_;
  std::unique_ptr<frontend::File> file_;
  analysis::Analyses analyses_;
  bool evaluated_ = false;
  bool is_analysed_ = false;
  uint64_t imports_ = 1;     // fingerprint of the imported files at the last `evaluate`
  script::Schedules schedules_;
};

/// A document after all tiers, for callers without an editor.
[[nodiscard]] auto analyse(std::string name, std::string text, std::shared_ptr<frontend::Modules> modules = nullptr) -> std::unique_ptr<Document>;

}  // namespace loopsmith::workspace
