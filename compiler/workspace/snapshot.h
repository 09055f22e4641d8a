// What is known of a text at one version: the text, its lines, its declarations, and what was found in it. Shared by
// the language server, the REPL and the command line, so that all of them give the same answers.
//
// A Snapshot is never changed once it is handed out; a Document makes the next one from it and shares whatever the
// edit left alone. Findings come in tiers: `check` (syntax, names and types, and the analyses of a few changed
// declarations; every key) and `replay` (the analyses that are left, schedule functions; interruptible). Nothing here executes a program, reads another file (but
// what the text imports, see imports.h), or knows how an editor counts columns. One thread. What snapshots hold of programs and schedules stays valid as long as the Document.
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
    std::optional<frontend::Elsewhere> elsewhere = {};   // the place, where it is in another file; `span` is the finding's then
  };
  struct Fix {
    Span span;
    std::string replacement;
  };
  Code code{};
  Severity severity = Severity::Error;
  Span span;
  std::string message;
  bool is_deprecated = false;    // an older form: editors strike it through
  bool is_unnecessary = false;   // what it is about can be taken away: editors fade it
  std::vector<Note> notes;
  std::vector<std::string> remedies;
  std::vector<Fix> fixes;
};

/// A program of the text.
struct Program {
  Name name;          // of the declaration; of one inside of Python, with those around it: `test_fuse.before`
  DeclId decl = 0;
  IRModule module;    // none where it has errors, or uses Python that is not checked
  IRModule partial;   // what could be made of it even so; may be none
  bool is_inside = false;   // of a function or class of Python: no schedule can name it
};

class Snapshot {
 public:
  Snapshot(std::string name, int64_t version, std::string text);

  [[nodiscard]] auto name() const -> const std::string& { return name_; }
  [[nodiscard]] auto version() const -> int64_t { return version_; }
  [[nodiscard]] auto text() const -> const std::string& { return syntax_.text(); }
  [[nodiscard]] auto lines() const -> const LineIndex& { return lines_; }
  [[nodiscard]] auto syntax() const -> const syntax::Document& { return syntax_; }

  /// Bytes of the text; also for origins in earlier versions of a schedule function whose first steps were taken over.
  [[nodiscard]] auto resolve(Origin origin) const -> std::optional<Span>;

  /// Since `check`.
  [[nodiscard]] auto programs() const -> const std::vector<Program>& { return programs_; }
  /// Since `check`; what running them did, since `replay`.
  [[nodiscard]] auto schedules() const -> const std::vector<script::FileSchedule>& { return schedules_; }

  /// Everything found so far, in the order of the text, without repetitions.
  [[nodiscard]] auto findings() const -> std::vector<Finding>;
  /// The tiers that have run on this version.
  [[nodiscard]] auto is_checked() const -> bool { return checked_; }
  [[nodiscard]] auto is_replayed() const -> bool { return replayed_; }

  /// What it imports from, for documents that are made of it; null: nothing.
  [[nodiscard]] auto modules() const -> const std::shared_ptr<frontend::Modules>& { return modules_; }

 private:
  friend class Document;
  std::string name_;
  int64_t version_ = 0;
  syntax::Document syntax_;
  LineIndex lines_;
  Diagnostics semantic_;
  Diagnostics analysed_;
  std::vector<Program> programs_;
  std::vector<script::FileSchedule> schedules_;
  std::vector<std::pair<DeclId, DeclId>> earlier_decls_;  // what a declaration is now
  std::shared_ptr<frontend::Modules> modules_;
  bool checked_ = false;
  bool replayed_ = false;
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

/// A text that is edited: makes snapshots, and does the work that fills them.
class Document {
 public:
  /// `modules`: what the text imports from; null: nothing.
  Document(std::string name, int64_t version, std::string text, std::shared_ptr<frontend::Modules> modules = nullptr);

  /// Replaces bytes of the text.
  void edit(int64_t version, Span replaced, std::string_view replacement);
  /// Names and types, of declarations that changed or depend on what changed.
  void check();
  /// The analyses that `check` left, then schedule functions, from the first statement that changed. False: it was cancelled; what was done is kept, and
  /// calling again goes on.
  auto replay(const CancelToken& cancel, const script::StepWatch& watch = {}) -> bool;

  [[nodiscard]] auto snapshot() const -> SnapshotPtr { return current_; }
  /// For edits that change the version and nothing else.
  void set_version(int64_t version);
  [[nodiscard]] auto has_schedule_findings() const -> bool;
  /// A file that it imports from may have changed: `check` and `replay` are to be called again where this says so.
  [[nodiscard]] auto imports_have_changed() -> bool;
  /// The declarations with their values, for scripts and the REPL.
  [[nodiscard]] auto file() -> frontend::File& { return *file_; }

 private:
  /// The current snapshot, to be changed: a copy where somebody holds it.
  auto next() -> Snapshot&;

  std::shared_ptr<Snapshot> current_;
  std::unique_ptr<frontend::File> file_;
  analysis::Analyses analyses_;
  bool is_analysed_ = false;
  uint64_t imports_ = 1;     // when it was checked last
  script::Schedules schedules_;
};

/// A document with everything known of it: for those who have a text and no editor.
[[nodiscard]] auto analyse(std::string name, std::string text, std::shared_ptr<frontend::Modules> modules = nullptr) -> std::unique_ptr<Document>;

}  // namespace loopsmith::workspace
