// A file as commands see it: its programs, its schedule functions, what is wrong with it; and what a command line
// picks from it (`--function`, `--with`, `--target`, `--trace`). Wires syntax, frontend and script together.
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
#include "schedule/schedule.h"
#include "script/run.h"
#include "support/diagnostic.h"
#include "support/files.h"
#include "target/target.h"

namespace loopsmith::driver {

struct NamedProgram {
  Name name;                  // of the declaration
  IRModule module;            // none where it has errors
  bool is_function = false;   // a bare function: `main` of its module
  bool has_errors = false;    // there may be a module even so: an ill-formed one, for printing only
  Origin where;
};

class SourceFile {
 public:
  /// Reads and checks a file, "-" being standard input. Fails only where it cannot be read: mistakes in the text are
  /// `diagnostics()`.
  [[nodiscard]] static auto read(const std::string& path) -> Result<std::unique_ptr<SourceFile>>;
  /// The same of a text; `name` is what diagnostics call it.
  [[nodiscard]] static auto from_text(const std::string& name, std::string text) -> std::unique_ptr<SourceFile>;
  ~SourceFile();
  SourceFile(const SourceFile&) = delete;

  [[nodiscard]] auto name() const -> const std::string&;
  /// Of syntax, names and types; in the order of the text.
  [[nodiscard]] auto diagnostics() const -> const Diagnostics&;
  /// The same with what the analyses find (analysis/analyses.h); runs them.
  [[nodiscard]] auto analyse() -> Diagnostics;
  [[nodiscard]] auto programs() const -> const std::vector<NamedProgram>&;
  /// Those in the functions and classes of a Python file, by name `test_fuse.before`, but for what the file names itself.
  [[nodiscard]] auto programs_inside() const -> const std::vector<NamedProgram>&;
  [[nodiscard]] auto schedule_names() const -> const std::vector<std::string>&;
  /// Runs a schedule function; none of that name: an error with the names there are. `until`: the last line of the
  /// file (from 1) whose steps run.
  [[nodiscard]] auto run_schedule(const std::string& name, std::optional<uint32_t> until = {}) -> Result<script::ScheduleRun>;
  /// The program of that name: a bare function, a module, or a function in a module. Empty: the only one.
  [[nodiscard]] auto program(const std::string& name) const -> Result<NamedProgram>;
  [[nodiscard]] auto locate() const -> Locate;

 private:
  struct Content;
  explicit SourceFile(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

/// Writes diagnostics where the command line wants them and remembers whether there were errors.
class Reporter {
 public:
  explicit Reporter(const Arguments& arguments);
  /// `file`: where their places lie; may be null. Warnings of what is not asked about are left out with `only_errors`.
  void report(const Diagnostics& diagnostics, const SourceFile* file, bool only_errors = false);
  /// From here on diagnostics are put there, as `render_json` makes them, and not written.
  void collect(std::vector<nlohmann::json>& sink) { sink_ = &sink; }
  [[nodiscard]] auto errors() const -> size_t { return errors_; }
  [[nodiscard]] auto warnings() const -> size_t { return warnings_; }
  /// exit_environment where a code says that the machine lacks something, else exit_input.
  [[nodiscard]] auto status() const -> int;

 private:
  bool json_;
  bool color_;
  size_t errors_ = 0;
  size_t warnings_ = 0;
  bool environment_ = false;
  std::set<std::tuple<const SourceFile*, Code, DeclId, uint32_t, uint32_t, std::string>> told_;   // errors, each once
  std::vector<nlohmann::json>* sink_ = nullptr;
};

/// What a command works on.
struct Selection {
  std::unique_ptr<SourceFile> file;
  Name program;                // the declaration's name
  bool is_bare = false;        // a function of its own: `main` of its module, but known by the declaration's name
  Name function;               // the function in the module that is meant ("main" of a bare one)
  IRModule before;             // as written
  IRModule module;             // scheduled where asked, else as written
  std::string schedule;        // name of the schedule function applied; empty: none
  std::optional<schedule::Trace> trace;
  target::Target target;
  /// The first `sch.tune()` of the schedule, where the request was for it: `module` is the program there.
  struct Hole {
    Span statement;            // bytes of the file
    std::string function;      // the text of the schedule function
    std::string variable;      // what it calls its schedule
    double seconds = 0;        // 0: not said
    int64_t trials = 0;
  };
  std::optional<Hole> hole;
};

/// Options that pick: `--function F`, `--with NAME`, `--trace T.json`, `--until LINE`, `--target T`; of these a command
/// declares what it has. Reports everything and gives the exit status where nothing can be done.
struct PickRequest {
  std::string path;
  std::string with = {};       // in place of --with, for commands with several
  bool only_schedule = false;  // without --with, the only schedule function is meant
  bool ill_formed = false;     // take programs with errors too, where there is a module
  bool needs_target = false;   // resolve the target even where none is named
  bool until_hole = false;     // with a schedule: up to its first `sch.tune()`, whatever comes behind it
};
[[nodiscard]] auto pick(const Arguments& arguments, const PickRequest& request, Reporter& reporter) -> std::variant<Selection, int>;

// Options that several commands share.
inline const Option function_option{.name = "--function", .value = "F", .help = "the program meant, where the file has several"};
inline const Option with_option{.name = "--with", .value = "NAME", .help = "the schedule function to apply"};
inline const Option target_option{.name = "--target", .value = "T", .help = "what code is for, as \"llvm -mcpu=znver4 -num-cores=2\"; this machine"};
inline const Option dialect_option{.name = "--dialect", .value = "D", .help = "block (TVM 0.8 to 0.22) or sblock (since); what the file uses"};
inline const Option json_option{.name = "--json", .help = "diagnostics and results as lines of JSON on standard output"};

/// Prints a module on standard output as the options say; gives a status.
[[nodiscard]] auto print_module(const IRModule& module, const Arguments& arguments) -> int;
/// The dialect asked for; none: the module's own. False: reported, a usage error.
[[nodiscard]] auto read_dialect(const std::string& command, const Arguments& arguments, std::optional<Dialect>& out) -> bool;
[[nodiscard]] auto read_file(const std::string& path) -> Result<std::string>;
/// All .tir files below a folder, sorted; hidden folders are left out.
[[nodiscard]] auto files_below(const std::filesystem::path& folder, std::error_code& problem) -> std::vector<std::filesystem::path>;

}  // namespace loopsmith::driver
