// A file on the command line: read, opened as a document of `workspace`, and the selection by the options (`--function`, `--with`, `--target`,
// `--trace`). Its diagnostics are rendered here. `workspace` analyses the text.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "driver/arguments.h"
#include "driver/render.h"
#include "ir/ir.h"
#include "support/diagnostic.h"
#include "support/files.h"
#include "support/origin.h"
#include "target/target.h"
#include "workspace/selection.h"
#include "workspace/snapshot.h"

namespace loopsmith::driver {

/// A file, and its text as a document. Programs and schedule functions are known from the beginning; `Document::check` and `replay` add analyses
/// and the runs of all schedules.
class SourceFile {
 public:
  /// Reads a file, or standard input for "-". Fails only if it cannot be read: mistakes in the text are `diagnostics()`.
  [[nodiscard]] static auto read(const std::string& path) -> Result<std::unique_ptr<SourceFile>>;
  /// Opens a text in the same way; its diagnostics name it `name`.
  [[nodiscard]] static auto from_text(const std::string& name, std::string text) -> std::unique_ptr<SourceFile>;

  [[nodiscard]] auto name() const -> const std::string& { return document_.snapshot()->name(); }
  [[nodiscard]] auto document() -> workspace::Document& { return document_; }
  [[nodiscard]] auto snapshot() const -> workspace::SnapshotPtr { return document_.snapshot(); }
  /// The diagnostics of the tiers that have run, without silenced ones.
  [[nodiscard]] auto diagnostics() const -> Diagnostics { return document_.snapshot()->diagnostics(); }
  /// Finds places in the text, and in the files that it imports from. Must not outlive the file.
  [[nodiscard]] auto locate() const -> Locate;

 private:
  SourceFile(const std::string& name, std::string text);
  SourceText text_;
  workspace::Document document_;
};

/// Writes diagnostics to the stream that the options choose, and counts errors and warnings.
class Reporter {
 public:
  explicit Reporter(const Arguments& arguments);
  /// `file`: contains the places of the diagnostics; may be null. `only_errors`: leaves out warnings and hints.
  void report(const Diagnostics& diagnostics, const SourceFile* file, bool only_errors = false);
  /// Sends all later diagnostics to `sink`, in the form of `render_json`, instead of the output.
  void collect(std::vector<nlohmann::json>& sink) { sink_ = &sink; }
  [[nodiscard]] auto errors() const -> size_t { return errors_; }
  [[nodiscard]] auto warnings() const -> size_t { return warnings_; }
  /// exit_environment if a diagnostic is about the machine (no LLVM, no driver of a device), else exit_input.
  [[nodiscard]] auto status() const -> int;

 private:
  bool json_;
  bool color_;
  size_t errors_ = 0;
  size_t warnings_ = 0;
  bool environment_ = false;
  std::set<std::tuple<const SourceFile*, Code, DeclId, uint32_t, uint32_t, std::string>> reported_;   // errors, each once
  std::vector<nlohmann::json>* sink_ = nullptr;
};

/// The input of a command: the result of `workspace::select`, with its file and target.
struct Selection : workspace::Selection {
  std::unique_ptr<SourceFile> file;
  target::Target target;
};

/// Options that select: `--function F`, `--with NAME`, `--trace T.json`, `--until LINE`, `--target T`; a command declares those that it accepts. Reports
/// all errors, and returns the exit status if the command cannot continue.
struct PickRequest {
  std::string path;
  std::string with = {};       // replaces --with, for commands with several
  std::string function = {};   // replaces --function
  bool only_schedule = false;  // without --with, use the only schedule function
  bool ill_formed = false;     // also take programs with errors that have a module
  bool needs_target = false;   // resolve the target even if none is named
  bool needs_function = false; // refuse a module without functions
  bool until_hole = false;     // with a schedule: up to its first `sch.tune()`, in spite of errors behind it
  bool takes_log = true;       // `--log` names records to apply
  bool only_template = false;  // without --with, in a file without programs, use the only AutoTVM template
};
[[nodiscard]] auto pick(const Arguments& arguments, const PickRequest& request, Reporter& reporter) -> std::variant<Selection, int>;

// Options that several commands share.
inline const Option function_option{.name = "--function", .value = "F", .help = "the program, where the file has several"};
inline const Option with_option{.name = "--with", .value = "NAME", .help = "the schedule function to apply"};
inline const Option log_option{.name = "--log", .value = "F", .help = "a log of AutoTVM or of TVM's auto-scheduler: applies the fastest record of the task"};
inline const Option target_option{.name = "--target", .value = "T", .help = "the target, as \"llvm -mcpu=znver4 -num-cores=2\"; the default is this machine"};
inline const Option dialect_option{.name = "--dialect", .value = "D", .help = "block (TVM until 0.23), sblock (0.24), s_tir (0.25, 0.26), ts (September 2026), tensor (since October 2026), or a version; the default is that of the file"};
inline const Option json_option{.name = "--json", .help = "diagnostics and results as lines of JSON on standard output"};

/// Prints a module on standard output in the form that the options choose; returns an exit status.
[[nodiscard]] auto print_module(const IRModule& module, const Arguments& arguments) -> int;
/// Reads the dialect from the options; none: the module's own. False: a usage error, which was reported.
[[nodiscard]] auto read_dialect(const std::string& command, const Arguments& arguments, std::optional<Dialect>& out) -> bool;
[[nodiscard]] auto read_file(const std::string& path) -> Result<std::string>;
/// All .tir files below a folder, sorted, except those in hidden folders.
[[nodiscard]] auto files_below(const std::filesystem::path& folder, std::error_code& problem) -> std::vector<std::filesystem::path>;

}  // namespace loopsmith::driver
