// `loopsmith build`: builds libraries of kernels from the changed files of a list or folder, several files at a time. Each file is built in a separate
// process (build_here.cpp).
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "codegen/llvm/codegen.h"
#include "driver/build_folder.h"
#include "driver/building.h"
#include "driver/command.h"
#include "driver/device.h"
#include "driver/program.h"
#include "driver/records.h"
#include "support/cancel.h"
#include "support/codes.h"
#include "support/hash.h"
#include "support/process.h"
#include "support/reasons.h"
#include "support/text.h"
#include "tune/database/database.h"

namespace loopsmith::driver::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const Usage usage{
    .command = "build",
    .arguments = "FILE|FOLDER... [--target T]... [-o DIR] [-j N]",
    .summary = "Builds libraries, objects and headers of kernels: of files, and of all .tir files below folders.",
    .details = "For FILE.tir there are FILE.h, FILE.o, libFILE.a and libFILE.so in DIR, with one C function per program that takes a\n"
               "DLTensor* for every buffer. Each program gets the last schedule function in the file that is for it. With several\n"
               "targets each has a folder of its own. Files with unchanged text, options and artefacts are not built again; a file that\n"
               "fails does not stop the others. DIR/manifest.json lists the artefacts with their sources. Linking needs a C compiler (CC, cc,\n"
               "TRIPLE-gcc for other machines); without one the objects hold inner functions only, beside the headers.",
    .options = {{.name = "--target", .value = "T", .help = "the target, as \"llvm -mcpu=x86-64-v3\"; the default is this machine", .repeatable = true},
                {.name = "--output", .value = "DIR", .help = "the output folder; the default is build", .short_name = "-o"},
                {.name = "--jobs", .value = "N", .help = "files at a time; the default is one per processor", .short_name = "-j"},
                {.name = "--with", .value = "NAME", .help = "applies this schedule function only"},
                {.name = "--as-written", .help = "applies no schedule functions"},
                {.name = "--tuned", .help = "applies the best schedule of the tuning database to each program that was tuned for the target"},
                {.name = "--db", .value = "F", .help = "the tuning database, or TVM's (database_tuning_record.json, or its folder); the default is that of `tune`"},
                {.name = "--packed", .help = "makes a second entry NAME_packed for each program, with the calling convention of TVM's packed functions"},
                {.name = "--python", .help = "makes FILE.py beside the library, a module with a function for each program that takes arrays of NumPy or DLPack"},
                {.name = "--debug-info", .help = "the code carries the lines of the file, for debuggers, profilers and `addr2line`", .short_name = "-g"},
                {.name = "--force", .help = "builds everything, unchanged files too"},
                {.name = "--dry-run", .help = "lists the files that would be built, and builds nothing"},
                {.name = "--cache", .value = "DIR", .help = "the cache of objects; the default is in the user's cache folder, `none` switches it off"},
                json_option},
    .examples = {{"loopsmith build kernels -o lib -j 8", "everything below `kernels`, eight at a time"},
                 {"loopsmith build kernels -o lib --tuned", "with the schedules that `loopsmith tune` found"},
                 {"loopsmith build matmul.tir --target \"llvm -mcpu=x86-64-v3\" --target \"llvm -mcpu=x86-64-v4\"", "one library for each target"}},
    .least = 1,
    .most = 10000,
};

/// Handles Ctrl-C and the other signals that end a process during a build: stops the running builds, records the finished ones in the manifest, and then
/// lets the signal take effect. One object per process.
class Interruption {
 public:
  Interruption() {
    source_ = new CancelSource;   // never freed: a handler may run until the process ends
    struct sigaction action{};
    action.sa_handler = [](int number) {
      signal_ = number;
      source_->cancel();
    };
    action.sa_flags = SA_RESTART;
    for (int number : signals) { ::sigaction(number, &action, nullptr); }
  }
  Interruption(const Interruption&) = delete;
  [[nodiscard]] auto token() const -> CancelToken { return source_->token(); }
  [[nodiscard]] auto came() const -> bool { return signal_ != 0; }
  /// Ends this process if a signal arrived.
  static void obey() {
    for (int number : signals) { std::signal(number, SIG_DFL); }
    if (signal_ != 0) { std::raise(signal_); }
  }

 private:
  static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
  static inline std::atomic<int> signal_{0};
  static inline CancelSource* source_ = nullptr;
};

auto dumped(const json& value) -> std::string { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

// ---- the command line --------------------------------------------------------------------------------------------------

struct Asked {
  std::vector<std::string> targets;
  std::string output;
  size_t jobs = 1;
  std::string cache;              // empty: none
  std::string with;
  bool as_written = false;
  bool packed = false;
  bool python = false;
  bool debug_info = false;
  std::string database;           // the database for `--tuned`; empty: none
  bool is_forced = false;
  bool is_dry = false;
  bool as_json = false;
};

auto default_cache() -> std::string {
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && *folder == '/') { return std::string(folder) + "/loopsmith/objects"; }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') { return std::string(home) + "/.cache/loopsmith/objects"; }
  return {};
}

/// A text that changes with every addition to a database.
auto database_version(const std::string& path) -> std::string {
  std::string out = path;
  for (const char* part : {"", "-wal"}) {
    std::error_code problem;
    auto size = fs::file_size(path + part, problem);
    auto time = problem ? fs::file_time_type() : fs::last_write_time(path + part, problem);
    if (!problem) { out += fmt::format(" {} {}", size, time.time_since_epoch().count()); }
  }
  return out;
}

auto slug(const std::string& target) -> std::string {
  std::string out;
  for (char c : target) {
    bool keep = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    if (keep) { out += c; } else if (!out.empty() && out.back() != '-') { out += '-'; }
  }
  return out.empty() ? "target" : out;
}

auto report_one(const Arguments& arguments, const Diagnostics& diagnostics) -> int {
  Reporter reporter(arguments);
  reporter.report(diagnostics, nullptr);
  return reporter.status();
}

/// None: the targets can be built. Else the exit status.
auto check_targets(const Arguments& arguments, const std::vector<std::string>& targets) -> std::optional<int> {
  for (const std::string& text : targets) {
    auto target = target::parse(text);
    if (!target) { return report_one(arguments, target.diagnostics()); }
    if (auto known = is_device_target(*target) ? target::check_gpu(*target) : codegen::check_target(*target); !known) { return report_one(arguments, known.diagnostics()); }
  }
  return {};
}

/// The database for `--tuned`; empty without that option. Else the exit status.
auto database_of(const Arguments& arguments) -> std::variant<std::string, int> {
  if (!arguments.has("--tuned")) { return std::string(); }
  std::string path = arguments.get("--db", tune::Database::default_path());
  auto unreadable = [&](Why why) { return error(Code::CannotRead).arg("file", path).arg("reason", because(why).text()); };
  std::error_code unknown;
  if (!fs::exists(path, unknown)) { return report_one(arguments, {unreadable(Why::NoSuchFile).remedy("run `loopsmith tune` first")}); }
  // TVM's database is a folder that contains a file of records.
  if (std::string records = tvm_records_at(path); !records.empty()) { return records; }
  if (fs::is_directory(path, unknown)) { return report_one(arguments, {unreadable(Why::FolderWithoutRecords)}); }
  return path;
}

auto read_asked(const Arguments& arguments) -> std::variant<Asked, int> {
  Asked asked{.targets = arguments.all("--target"), .output = arguments.get("--output", "build"), .jobs = std::max(1U, std::thread::hardware_concurrency()),
              .cache = arguments.get("--cache", default_cache()), .with = arguments.get("--with", ""), .as_written = arguments.has("--as-written"),
              .packed = arguments.has("--packed"), .python = arguments.has("--python"), .debug_info = arguments.has("--debug-info"), .database = {}, .is_forced = arguments.has("--force"),
              .is_dry = arguments.has("--dry-run"), .as_json = arguments.json()};
  if (asked.targets.empty()) { asked.targets = {"llvm"}; }
  if (auto status = check_targets(arguments, asked.targets)) { return *status; }
  if (auto text = arguments.get("--jobs")) {
    auto number = parse_number(*text, 1, 1000);
    if (!number) { return usage_error("build", "`--jobs` is a number from 1 to 1000"); }
    asked.jobs = static_cast<size_t>(*number);
  }
  if (asked.cache == "none") { asked.cache.clear(); }
  if (arguments.has("--db") && !arguments.has("--tuned")) { return usage_error("build", "`--db` names the database of `--tuned`: give both"); }
  if (arguments.has("--tuned") && (asked.as_written || !asked.with.empty())) { return usage_error("build", "`--tuned` excludes `--with` and `--as-written`"); }
  auto database = database_of(arguments);
  if (const int* status = std::get_if<int>(&database)) { return *status; }
  asked.database = std::move(std::get<std::string>(database));
  if (!asked.with.empty() && asked.as_written) { return usage_error("build", "`--with` and `--as-written` exclude each other"); }
  return asked;
}

// ---- the tasks -----------------------------------------------------------------------------------------------------------

/// Makes tasks from files and targets. Two tasks with the same artefacts are a mistake.
class Tasks {
 public:
  explicit Tasks(const Asked& asked) : asked_(asked) {
    options_ = fmt::format("{}{}{}{}{}", asked.as_written ? "as written" : asked.with.empty() ? "" : "with " + asked.with, asked.packed ? ", packed" : "",
                           asked.python ? ", Python" : "",
                           asked.debug_info ? ", lines" : "", asked.database.empty() ? "" : ", tuned " + database_version(asked.database));
  }
  /// Adds a file, or the .tir files of a folder. Returns an exit status if it cannot.
  auto add(const std::string& given) -> std::optional<int> {
    std::error_code problem;
    if (!fs::is_directory(given, problem)) { return add_file(given, fs::path(given).filename(), true); }
    std::vector<fs::path> below = files_below(given, problem);
    if (problem) {
      fmt::print(stderr, "loopsmith build: cannot read `{}`: {}\n", given, problem.message());
      return exit_input;
    }
    if (below.empty()) { fmt::print(stderr, "loopsmith build: there is no .tir file below `{}`\n", given); }
    for (const fs::path& file : below) {
      if (auto status = add_file(file, file.lexically_relative(given), false)) { return status; }
    }
    return {};
  }
  std::vector<BuildTask> all;

 private:
  auto add_file(const fs::path& file, const fs::path& relative, bool is_named) -> std::optional<int> {
    auto text = read_file(file.string());
    for (const std::string& target : asked_.targets) {
      fs::path stem = fs::path(asked_.output);
      if (asked_.targets.size() > 1) { stem /= slug(target); }
      stem /= relative.parent_path() / relative.stem();
      if (!stems_.insert(stem.string()).second) {
        return usage_error("build", fmt::format("`{}` and another file would both make `{}.o`: build them into folders of their own", file.string(), stem.string()));
      }
      all.push_back({file.string(), target, stem.string(), text ? hash_bytes(*text) : 0, options_, is_named});
    }
    return {};
  }
  const Asked& asked_;
  std::string options_;
  std::set<std::string> stems_;
};

// ---- building ------------------------------------------------------------------------------------------------------------

auto seconds_since(Clock::time_point start) -> double { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Builds tasks, several at a time, each in a separate process; reports each and records it in the manifest.
class Builds {
 public:
  Builds(const Asked& asked, json& manifest, std::string engine, std::string staging)
      : asked_(asked), manifest_(manifest), engine_(std::move(engine)), staging_(std::move(staging)), is_terminal_(!asked.as_json && ::isatty(STDERR_FILENO) != 0) {}

  /// `all`: the tasks of this build; `tasks`: those to build.
  void run(const std::vector<BuildTask>& all, const std::vector<const BuildTask*>& tasks) {
    count_ = tasks.size();
    for (const BuildTask& task : all) {
      if (std::find(tasks.begin(), tasks.end(), &task) == tasks.end()) { (void)claim(task, manifest_["built"].value(key_of(task), json::object())); }
    }
    std::atomic<size_t> next{0};
    auto work = [&] {
      for (size_t mine = next++; mine < tasks.size() && !interruption_.came(); mine = next++) { build(*tasks[mine]); }
    };
    std::vector<std::thread> threads;
    for (size_t i = 1; i < std::min(asked_.jobs, tasks.size()); ++i) {
      // If the system provides fewer threads, fewer files are built at a time.
      try {
        threads.emplace_back(work);
      } catch (const std::system_error&) {
        break;
      }
    }
    work();
    for (std::thread& thread : threads) { thread.join(); }
  }
  [[nodiscard]] auto is_interrupted() const -> bool { return interruption_.came() && done_ < count_; }
  [[nodiscard]] auto failed() const -> size_t { return failed_; }
  [[nodiscard]] auto seconds() const -> double { return seconds_since(began_); }
  void report_interruption() const {
    event({{"event", "interrupted"}, {"built", done_ - failed_}, {"failed", failed_}, {"left", count_ - done_}, {"seconds", seconds()}});
    if (is_terminal_) { fmt::print(stderr, "\r\033[K"); }
    if (!asked_.as_json) { fmt::print(stderr, "loopsmith build: interrupted: {} built, {} left for the next build\n", done_ - failed_, count_ - done_); }
    std::fflush(nullptr);
  }
  void event(const json& value) const {
    if (asked_.as_json) { fmt::print("{}\n", dumped(value)); }
  }

 private:
  void build(const BuildTask& task) {
    auto start = Clock::now();
    auto result = run_program({.argv = {current_program(), "worker", "--build", task.file, task.target, task.stem, asked_.with, asked_.as_written ? "1" : "0",
                                        asked_.cache, task.is_named ? "0" : "1", asked_.packed ? "1" : "0", asked_.debug_info ? "1" : "0", staging_, asked_.database, asked_.python ? "1" : "0"},
                               .standard_input = Stream::Null,
                               .standard_error = Stream::Pipe},
                              "", in(std::chrono::minutes(10)), 64U << 20U, interruption_.token());
    double seconds = seconds_since(start);
    json built = result && result->status.succeeded() ? json::parse(result->output, nullptr, false) : json();
    std::lock_guard guard(mutex_);
    if (result && result->cancelled) { return; }
    ++done_;
    if (is_terminal_) { fmt::print(stderr, "\r\033[K"); }
    std::string clash = built.is_object() ? claim(task, built) : std::string();
    Status published = clash.empty() ? publish_artefacts(built) : ok();
    if (built.is_object() && clash.empty() && published) {
      record(task, std::move(built), seconds);
    } else {
      report_failure(task, clash.empty() ? why_failed(task, result, published) : clash, seconds);
    }
    std::fflush(stdout);
    show_progress();
  }

  void report_failure(const BuildTask& task, const std::string& why, double seconds) {
    ++failed_;
    event({{"event", "failed"}, {"file", task.file}, {"target", task.target}, {"seconds", seconds}, {"why", why}});
    if (!asked_.as_json) { fmt::print(stderr, "{}", why); }
  }

  /// Records the kernels of a task. Two libraries with a kernel of the same name cannot be linked into one program, so the later task fails: either this
  /// one, and the reason is returned; or one built before, and its artefacts are removed.
  auto claim(const BuildTask& task, const json& built) -> std::string {
    for (const json& kernel : built.value("kernels", json::array())) {
      std::string name = kernel.value("name", "");
      const BuildTask*& owner = owners_[{task.target, name}];
      if (owner != nullptr && owner != &task) {
        bool is_later = owner < &task;
        const BuildTask& loser = is_later ? task : *owner;
        const BuildTask& keeper = is_later ? *owner : task;
        std::string why = fmt::format("{}: error: `{}` has a kernel `{}` too, and one program can link only one of them\nhelp: rename one of the functions, or build the files into folders of their own\n",
                                      loser.file, keeper.file, name);
        if (is_later) { return why; }
        owner = &task;
        withdraw(loser);
        report_failure(loser, why, 0);
      }
      owner = &task;
    }
    return {};
  }

  /// Removes the files that were built for a task.
  void withdraw(const BuildTask& task) {
    json& all = manifest_["built"];
    for (const json& artefact : all.value(key_of(task), json::object()).value("artefacts", json::array())) {
      std::error_code ignored;
      fs::remove(artefact.value("path", ""), ignored);
    }
    all.erase(key_of(task));
    std::erase_if(owners_, [&](const auto& entry) { return entry.second == &task; });
  }

  /// Moves the staged artefacts to their places.
  static auto publish_artefacts(json& built) -> Status {
    std::vector<Artefact> artefacts;
    if (built.is_object()) {
      for (json& artefact : built["artefacts"]) {
        artefacts.push_back({.path = artefact.value("path", ""), .staged = artefact.value("staged", ""), .kind = {}});
        artefact.erase("staged");
      }
    }
    return publish(artefacts);
  }

  void record(const BuildTask& task, json built, double seconds) {
    event({{"event", "built"}, {"file", task.file}, {"target", task.target}, {"seconds", seconds}, {"artefacts", built["artefacts"]},
           {"kernels", built["kernels"]}, {"notes", built["notes"]}, {"from_cache", built["from_cache"]}});
    if (!asked_.as_json) {
      std::string kernels;
      for (const json& kernel : built["kernels"]) {
        kernels += (kernels.empty() ? "" : ", ") + kernel.value("name", "");
        if (kernel.contains("schedule")) { kernels += fmt::format(" ({})", kernel.value("schedule", "")); }
      }
      fmt::print("{}{}: {}  {}\n", task.file, asked_.targets.size() > 1 ? " for " + task.target : "", kernels.empty() ? "nothing" : kernels, duration_text(seconds));
      for (const json& note : built["notes"]) { fmt::print(stderr, "{}: note: {}\n", task.file, note.get<std::string>()); }
    }
    built["source"] = fmt::format("{:016x}", task.source);
    built["engine"] = engine_;
    built["options"] = task.options;
    built["stem"] = task.stem;
    // The same input gives the same bytes, in the manifest too: only the event contains the time and the origin.
    built.erase("from_cache");
    manifest_["built"][key_of(task)] = std::move(built);
  }

  static auto why_failed(const BuildTask& task, const Result<ProgramResult>& result, const Status& published) -> std::string {
    std::string why = result ? result->error : render(result.diagnostics().front(), {}, {.file = task.file});
    // A message of the process without a file is about this file.
    if (constexpr std::string_view ours = "loopsmith: "; why.starts_with(ours)) { why = fmt::format("{}: {}", task.file, why.substr(ours.size())); }
    if (!published) { why += render(published.diagnostics().front(), {}, {.file = task.file}); }
    if (result && result->timed_out) { why += "it took longer than ten minutes\n"; }
    else if (result && result->status.signal != 0) { why += fmt::format("{}: the compiler {}\n", task.file, result->status.describe()); }
    return why;
  }

  void show_progress() const {
    if (!is_terminal_) { return; }
    double left = done_ > 0 ? seconds() / static_cast<double>(done_) * static_cast<double>(count_ - done_) : 0;
    fmt::print(stderr, "\r\033[K[{}/{}]{}{}", done_, count_, failed_ > 0 ? fmt::format(" {} failed", failed_) : "",
               done_ > 0 && done_ < count_ ? ", about " + waiting_text(left) + " left" : "");
    if (done_ == count_) { fmt::print(stderr, "\r\033[K"); }
    std::fflush(stderr);
  }

  const Asked& asked_;
  json& manifest_;
  const std::string engine_;
  const std::string staging_;
  const bool is_terminal_;
  const Clock::time_point began_ = Clock::now();
  Interruption interruption_;
  std::mutex mutex_;               // protects the fields below, the manifest and the output
  size_t count_ = 0;
  size_t done_ = 0;                // including failures
  size_t failed_ = 0;
  std::map<std::pair<std::string, std::string>, const BuildTask*> owners_;   // by target and kernel
};

void show_plan(const Asked& asked, const std::vector<const BuildTask*>& todo, size_t all) {
  for (const BuildTask* task : todo) {
    if (asked.as_json) { fmt::print("{}\n", dumped({{"event", "would-build"}, {"file", task->file}, {"target", task->target}, {"stem", task->stem}})); }
    else { fmt::print("would build {} for {}\n", task->file, task->target); }
  }
  if (!asked.as_json) { fmt::print("{} of {} to build\n", todo.size(), all); }
}

auto cannot_write(const std::string& folder, const std::string& why) -> int {
  fmt::print(stderr, "loopsmith build: cannot write into `{}`: {}\n", folder, why);
  return exit_input;
}

/// The tasks that differ from their records in the manifest.
auto tasks_to_do(const Asked& asked, const std::vector<BuildTask>& tasks, const json& manifest, const std::string& engine) -> std::vector<const BuildTask*> {
  std::vector<const BuildTask*> todo;
  for (const BuildTask& task : tasks) {
    if (asked.is_forced || !is_current(manifest, task, engine)) { todo.push_back(&task); }
  }
  if (asked.as_json) { fmt::print("{}\n", dumped({{"event", "start"}, {"files", tasks.size()}, {"to_build", todo.size()}})); }
  return todo;
}

auto build_all(const Arguments& arguments, const Asked& asked, const std::vector<BuildTask>& tasks) -> int {
  const std::string manifest_path = asked.output + "/manifest.json";
  const std::string engine = engine_id();
  if (asked.is_dry) {
    json manifest = read_manifest(manifest_path);
    show_plan(asked, tasks_to_do(asked, tasks, manifest, engine), tasks.size());
    return exit_done;
  }
  std::error_code problem;
  fs::create_directories(asked.output, problem);
  if (problem) {
    fmt::print(stderr, "loopsmith build: cannot make the folder `{}`: {}\n", asked.output, problem.message());
    return exit_input;
  }
  std::optional<FolderLock> lock(std::in_place, asked.output);
  if (!lock->is_held()) { return cannot_write(asked.output, std::strerror(errno)); }
  std::optional<StagingFolder> staging(std::in_place, asked.output);
  if (staging->problem()) { return cannot_write(asked.output, staging->problem().message()); }
  // Read under the lock: another build may have changed it.
  json manifest = read_manifest(manifest_path);
  std::vector<const BuildTask*> todo = tasks_to_do(asked, tasks, manifest, engine);
  // From here on the manifest must not describe artefacts that will change, even if this build is killed.
  if (forget(manifest, todo) > 0) {
    if (Status written = write_manifest(manifest, manifest_path, staging->path()); !written) {
      (void)report_one(arguments, written.diagnostics());
      return exit_input;
    }
  }
  Builds builds(asked, manifest, engine, staging->path());
  builds.run(tasks, todo);
  if (!todo.empty()) {
    if (Status written = write_manifest(manifest, manifest_path, staging->path()); !written) {
      (void)report_one(arguments, written.diagnostics());
      return exit_input;
    }
  }
  if (builds.is_interrupted()) {
    builds.report_interruption();
    staging.reset();
    lock.reset();
    Interruption::obey();
  }
  builds.event({{"event", "done"}, {"built", todo.size() - builds.failed()}, {"failed", builds.failed()}, {"unchanged", tasks.size() - todo.size()}, {"seconds", builds.seconds()}});
  if (!asked.as_json) {
    fmt::print("{} built, {} unchanged{}\n", todo.size() - builds.failed(), tasks.size() - todo.size(), builds.failed() > 0 ? fmt::format(", {} failed", builds.failed()) : "");
  }
  return builds.failed() > 0 ? exit_input : exit_done;
}

}  // namespace

auto build(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  auto asked = read_asked(arguments);
  if (const int* status = std::get_if<int>(&asked)) { return *status; }
  Tasks tasks(std::get<Asked>(asked));
  for (const std::string& given : arguments.positional()) {
    if (auto status = tasks.add(given)) { return *status; }
  }
  return build_all(arguments, std::get<Asked>(asked), tasks.all);
}

}  // namespace loopsmith::driver::commands
