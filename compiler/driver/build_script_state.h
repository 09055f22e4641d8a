// The state of a run of a build script, and the parts that its functions share: files and results as values, commands as processes. See build_script.h.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "driver/build_script.h"
#include "driver/program.h"
#include "eval/evaluator.h"
#include "frontend/objects.h"
#include "support/process.h"
#include "workspace/imports.h"

namespace loopsmith::driver::build_script {

namespace fs = std::filesystem;
using eval::Argument;
using eval::BoundArguments;
using eval::Evaluator;
using eval::Parameter;
using eval::Value;
using nlohmann::json;

/// A file that a script loaded.
class LoadedFile final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  LoadedFile(std::string p, std::string text) : Object(&type_tag), path(std::move(p)), file(SourceFile::from_text(path, std::move(text))) {}
  const std::string path;
  const std::unique_ptr<SourceFile> file;

  auto get_attribute(Evaluator& evaluator, Name name, Origin where) const -> std::optional<Value> override {
    if (auto value = file->document().file().value(name)) { return value; }
    if (name == Name("programs")) {
      std::vector<Value> names;
      for (const workspace::Program& program : workspace::top_programs(*file->snapshot())) { names.push_back(Value::str(program.name.str())); }
      return Value::list(std::move(names));
    }
    return {};
  }
  void attribute_names(std::vector<Name>& out) const override {
    file->document().file().names(out);
    out.emplace_back("programs");
  }
  auto repr() const -> std::string override { return "<file " + path + ">"; }
};
/// The result of a command; its fields are attributes.
class Outcome final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit Outcome(std::vector<std::pair<Name, Value>> f) : Object(&type_tag), fields(std::move(f)) {}
  const std::vector<std::pair<Name, Value>> fields;
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    for (const auto& [key, value] : fields) {
      if (key == name) { return value; }
    }
    return {};
  }
  void attribute_names(std::vector<Name>& out) const override {
    for (const auto& [key, value] : fields) { out.push_back(key); }
  }
  auto repr() const -> std::string override {
    std::string out;
    for (const auto& [key, value] : fields) {
      if (!value.string() || value.string()->find('\n') == std::string::npos) {
        out += fmt::format("{}{}={}", out.empty() ? "" : ", ", key.view(), value.repr());
      }
    }
    return "<" + out + ">";
  }
};
class BuildScript final : public eval::Environment {
 public:
  explicit BuildScript(const BuildScriptRequest& r) : request(r), folder(fs::path(r.path).parent_path()), names_(r.path, 0, "", workspace::imports_on_disk(r.path)) {}
  ~BuildScript() override {
    std::error_code ignored;
    if (!scratch_.empty()) { fs::remove_all(scratch_, ignored); }
  }

  const BuildScriptRequest& request;
  const fs::path folder;
  bool something_failed = false;
  uint64_t random_state = 0;               // of the random numbers that the script draws
  std::map<std::string, Value> loaded;

  static constexpr int tag = 0;
  static auto of(Evaluator& e) -> BuildScript& { return *static_cast<BuildScript*>(e.host); }

  auto lookup(Evaluator& e, Name name, Origin where) -> std::optional<Value> override;
  void names(std::vector<Name>& out) const override;
  auto imported(Evaluator& e, const syntax::ImportFromStmt& from, const syntax::ImportName& name) -> std::optional<Value> override;
  auto imported(const syntax::ImportName& name) -> std::optional<Value> override;

  [[nodiscard]] auto path(const std::string& text) const -> std::string { return fs::path(text).is_absolute() ? text : (folder / text).string(); }
  /// A folder for the input texts of commands; removed at the end of the run.
  auto scratch() -> const std::string& {
    if (scratch_.empty()) {
      std::string pattern = (fs::temp_directory_path() / "loopsmith-script-XXXXXX").string();
      if (mkdtemp(pattern.data()) != nullptr) { scratch_ = pattern; }
    }
    return scratch_;
  }

 private:
  workspace::Document names_;   // an empty text: `T`, `I`, `ls` and imported names have the same meaning as in a file
  std::string scratch_;
};

/// The subject of a call, as files.
struct Subject {
  std::vector<std::string> files;
  std::vector<std::string> names;          // of the programs; empty: whole files
};


/// The files of the programs that a call is about. Programs that are values are written to `folder`. None: an error was reported.
auto subject(Evaluator& e, const Argument& what, const Argument& name, const std::string& folder) -> std::optional<Subject>;

/// The error that a command which the script calls has failed. `message`: the last one of the command, or empty.
auto command_failed(Evaluator& e, Origin where, std::string_view command, const ExitStatus& status, const std::string& message = {}) -> Value;
/// Reports an argument of the wrong type.
auto wrong(Evaluator& e, const Argument& a, const char* expected) -> Value;
auto value_of(const json& j) -> Value;

/// Runs `loopsmith COMMAND ...` and returns its lines of JSON; prints their diagnostics at once. None: the command could not be started.
auto command(Evaluator& e, std::vector<std::string> argv, Origin where) -> std::optional<std::pair<std::vector<json>, ExitStatus>>;
/// Adds options to a command line from keyword arguments: strings, numbers, lists of these, and switches.
auto options(Evaluator& e, const BoundArguments& bound, const std::vector<std::pair<size_t, const char*>>& table, std::vector<std::string>& argv) -> bool;
/// Adds a path as an option, relative to the folder of the script; `other`: a word that is not a path.
auto path_option(Evaluator& e, const BoundArguments& bound, size_t index, const char* option, std::string_view other, std::vector<std::string>& argv) -> bool;

// The functions of tuning.
auto run_tune(Evaluator& e, const eval::Arguments& a) -> Value;
auto run_tune_tir(Evaluator& e, const eval::Arguments& a) -> Value;
auto run_tune_tasks(Evaluator& e, const eval::Arguments& a) -> Value;
auto run_compile_tir(Evaluator& e, const eval::Arguments& a) -> Value;
auto run_tune_context(Evaluator& e, const eval::Arguments& a) -> Value;
// The method `tune` of task schedulers that scripts write; the scheduler is the first argument.
auto run_scheduler_tune(Evaluator& e, const eval::Arguments& a) -> Value;

}  // namespace loopsmith::driver::build_script
