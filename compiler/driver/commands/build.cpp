// `loopsmith build`: libraries of kernels from files and folders, several at a time, only what changed. Each file is built in a
// program of its own; the manifest in the output folder says what was made of what.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "codegen/llvm/codegen.h"
#include "driver/building.h"
#include "driver/command.h"
#include "driver/execution.h"
#include "driver/program.h"
#include "driver/records.h"
#include "ir/equal.h"
#include "support/cancel.h"
#include "support/codes.h"
#include "support/hash.h"
#include "support/process.h"
#include "target/hardware.h"
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
               "targets each has a folder of its own. Files whose text, options and artefacts are as they were are left alone; a file\n"
               "that fails does not stop the others. DIR/manifest.json says what was made of what. Linking needs a C compiler (CC, cc,\n"
               "TRIPLE-gcc for other machines); without one there are objects with inner functions, and headers.",
    .options = {{.name = "--target", .value = "T", .help = "what code is for, as \"llvm -mcpu=x86-64-v3\"; this machine", .repeatable = true},
                {.name = "--output", .value = "DIR", .help = "the folder for what is made; build", .short_name = "-o"},
                {.name = "--jobs", .value = "N", .help = "files at a time; one per processor", .short_name = "-j"},
                {.name = "--with", .value = "NAME", .help = "apply this schedule function only"},
                {.name = "--as-written", .help = "apply no schedule functions"},
                {.name = "--tuned", .help = "the best schedule of the tuning database for each program that was tuned for the target"},
                {.name = "--db", .value = "F", .help = "the tuning database, or TVM's (database_tuning_record.json, or its folder); that of `tune`"},
                {.name = "--packed", .help = "a second entry NAME_packed for each program, called as TVM's packed functions are"},
                {.name = "--debug-info", .help = "lines of the file in the code: for debuggers, profilers and `addr2line`", .short_name = "-g"},
                {.name = "--force", .help = "build all, whatever is there"},
                {.name = "--dry-run", .help = "say what would be built, and build nothing"},
                {.name = "--cache", .value = "DIR", .help = "objects by content; the user's cache folder, `none` for none"},
                json_option},
    .examples = {{"loopsmith build kernels -o lib -j 8", "everything below `kernels`, eight at a time"},
                 {"loopsmith build kernels -o lib --tuned", "with what `loopsmith tune` found"},
                 {"loopsmith build matmul.tir --target \"llvm -mcpu=x86-64-v3\" --target \"llvm -mcpu=x86-64-v4\"", "one library for each target"}},
    .least = 1,
    .most = 10000,
};

struct Task {
  std::string file;
  std::string target;
  std::string stem;
  uint64_t source = 0;         // hash of the text; 0: it cannot be read
  std::string options;         // what else decides about the result
  bool is_named = false;       // on the command line, not found in a folder
};

auto slug(const std::string& target) -> std::string {
  std::string out;
  for (char c : target) {
    bool keep = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    if (keep) { out += c; } else if (!out.empty() && out.back() != '-') { out += '-'; }
  }
  return out.empty() ? "target" : out;
}

auto default_cache() -> std::string {
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && *folder == '/') { return std::string(folder) + "/loopsmith/objects"; }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') { return std::string(home) + "/.cache/loopsmith/objects"; }
  return {};
}

// ---- the manifest ------------------------------------------------------------------------------------------------------

constexpr int manifest_version = 1;

auto read_manifest(const std::string& path) -> json {
  auto text = read_file(path);
  json manifest = text ? json::parse(*text, nullptr, false) : json();
  if (!manifest.is_object() || manifest.value("version", 0) != manifest_version || !manifest["built"].is_object()) {
    return {{"version", manifest_version}, {"built", json::object()}};
  }
  return manifest;
}

auto key_of(const Task& task) -> std::string { return task.file + " | " + task.target; }

/// Everything that was made is there as it was made, of this very text.
auto is_current(const json& manifest, const Task& task, const std::string& engine) -> bool {
  const json& built = manifest["built"];
  auto found = built.find(key_of(task));
  if (found == built.end() || !found->is_object() || task.source == 0) { return false; }
  if (found->value("source", "") != fmt::format("{:016x}", task.source) || found->value("engine", "") != engine ||
      found->value("options", "") != task.options || found->value("stem", "") != task.stem) {
    return false;
  }
  const json& artefacts = (*found)["artefacts"];
  if (task.is_named && artefacts.empty()) { return false; }
  return artefacts.is_array() && std::all_of(artefacts.begin(), artefacts.end(), [](const json& artefact) {
    std::error_code problem;
    return artefact.is_object() && fs::file_size(artefact.value("path", ""), problem) == artefact.value("bytes", uint64_t{0}) && !problem;
  });
}

/// One build at a time in a folder.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : descriptor_(::open((folder + "/.loopsmith-lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) { return; }
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) { return; }
    fmt::print(stderr, "loopsmith build: another build works in `{}`; waiting for it\n", folder);
    (void)::flock(descriptor_, LOCK_EX);
  }
  ~FolderLock() {
    if (descriptor_ >= 0) { ::close(descriptor_); }
  }
  FolderLock(const FolderLock&) = delete;
  [[nodiscard]] auto is_held() const -> bool { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// What is made stands here, on the file system of the output, until all of a file is there. Nobody else works in it while the lock is
/// held: what an earlier build left, when it was killed, goes.
class StagingFolder {
 public:
  explicit StagingFolder(const std::string& folder) : path_(folder + "/.loopsmith-staging") {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    fs::create_directory(path_, problem_);
  }
  ~StagingFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  StagingFolder(const StagingFolder&) = delete;
  [[nodiscard]] auto path() const -> const std::string& { return path_; }
  [[nodiscard]] auto problem() const -> const std::error_code& { return problem_; }

 private:
  std::string path_;
  std::error_code problem_;
};

/// Ctrl-C and its kin, while files are built: those under way are stopped, what was made is written down, and then the signal does what it
/// does to a program. One build a process.
class Interruption {
 public:
  Interruption() {
    source_ = new CancelSource;   // a handler may run as long as the process does
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
  /// Ends this process where a signal came.
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

/// The fastest that was verified, else the fastest: on this machine where it was tuned here, else anywhere.
auto best_schedule(tune::Database& database, const IRModule& program, const target::Target& target) -> std::optional<TunedSchedule> {
  uint64_t hash = structural_hash(program);
  auto workloads = database.workloads();
  if (!workloads) { return {}; }
  const tune::Database::Workload* picked = nullptr;
  for (const auto& w : *workloads) {
    if (w.task.workload != hash || w.task.target != target.str() || w.best_seconds <= 0) { continue; }
    auto rank = [](const auto& one) { return std::pair(one.task.machine != target::machine_identity(), one.best_seconds); };
    if (!picked || rank(w) < rank(*picked)) { picked = &w; }
  }
  auto records = picked != nullptr ? database.records(picked->task) : Result<std::vector<tune::Record>>(std::vector<tune::Record>());
  if (!records) { return {}; }
  const tune::Record* best = nullptr;
  for (const tune::Record& r : *records) {
    auto rank = [](const tune::Record& one) { return std::tuple(one.verified.empty(), one.median_seconds, one.id); };
    if (r.outcome == tune::Outcome::Measured && (best == nullptr || rank(r) < rank(*best))) { best = &r; }
  }
  if (best == nullptr) { return {}; }
  return TunedSchedule{best->trace, fmt::format("tuned: trial {}, {}{}", best->trial, time_text(best->median_seconds), best->verified.empty() ? ", not verified" : "")};
}

/// The same of TVM's records, which say nothing of the machine nor whether results were looked at.
auto best_schedule(const std::vector<TvmRecord>& records, const IRModule& program, const target::Target& target) -> std::optional<TunedSchedule> {
  const TvmRecord* best = best_of_tvm(records, program, target);
  if (best == nullptr) { return {}; }
  return TunedSchedule{best->trace, fmt::format("tuned by TVM: record {}, {}{}, not verified", best - records.data() + 1, time_text(best->seconds),
                                                best->target == target.str() ? "" : fmt::format(" for {}", best->target))};
}

/// Changes whenever something was added to a database.
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

}  // namespace

auto build_here(std::vector<std::string> args) -> int {
  // FILE TARGET STEM WITH AS-WRITTEN CACHE MAY-BE-EMPTY PACKED DEBUG-INFO STAGING DATABASE: from us, so not explained to anybody.
  if (args.size() != 11) { return exit_usage; }
  BuildJob job{.file = args[0], .target = args[1], .stem = args[2], .with = args[3], .as_written = args[4] == "1", .staging = args[9],
               .cache = args[5], .packed = args[7] == "1", .debug_info = args[8] == "1", .may_be_empty = args[6] == "1"};
  auto none = read_arguments(Usage{.command = "build", .arguments = "", .summary = ""}, {});
  Reporter reporter(std::get<Arguments>(none));
  std::optional<tune::Database> database;
  std::vector<TvmRecord> of_tvm;
  if (std::string records = args[10].empty() ? "" : tvm_records_at(args[10]); !records.empty()) {
    auto taken = read_tvm_records(records);
    if (!taken) {
      reporter.report(taken.diagnostics(), nullptr);
      return reporter.status();
    }
    of_tvm = std::move(*taken);
    job.tuned = [&](const IRModule& program, const target::Target& target) { return best_schedule(of_tvm, program, target); };
  } else if (!args[10].empty()) {
    auto opened = tune::Database::open(args[10]);
    if (!opened) {
      reporter.report(opened.diagnostics(), nullptr);
      return reporter.status();
    }
    database.emplace(std::move(*opened));
    job.tuned = [&](const IRModule& program, const target::Target& target) { return best_schedule(*database, program, target); };
  }
  auto result = build_file(job, reporter);
  if (!result) { return reporter.status(); }
  json artefacts = json::array();
  for (const Artefact& artefact : result->artefacts) {
    artefacts.push_back({{"path", artefact.path}, {"staged", artefact.staged}, {"kind", artefact.kind}, {"bytes", artefact.bytes}, {"hash", fmt::format("{:016x}", artefact.hash)}});
  }
  json kernels = json::array();
  for (const BuiltKernel& kernel : result->kernels) {
    json one = {{"name", kernel.name}};
    if (!kernel.schedule.empty()) { one["schedule"] = kernel.schedule; }
    kernels.push_back(std::move(one));
  }
  fmt::print("{}\n", dumped({{"artefacts", artefacts}, {"kernels", kernels}, {"notes", result->notes}, {"from_cache", result->from_cache}}));
  return exit_done;
}

auto build(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  std::vector<std::string> targets = arguments.all("--target");
  if (targets.empty()) { targets = {"llvm"}; }
  for (const std::string& text : targets) {
    Reporter reporter(arguments);
    auto target = target::parse(text);
    if (!target) {
      reporter.report(target.diagnostics(), nullptr);
      return reporter.status();
    }
    if (auto known = codegen::check_target(*target); !known) {
      reporter.report(known.diagnostics(), nullptr);
      return reporter.status();
    }
  }
  std::string output = arguments.get("--output", "build");
  size_t jobs = std::max(1U, std::thread::hardware_concurrency());
  if (auto text = arguments.get("--jobs")) {
    auto number = parse_number(*text, 1, 1000);
    if (!number) { return usage_error("build", "`--jobs` is a number from 1 to 1000"); }
    jobs = static_cast<size_t>(*number);
  }
  std::string cache = arguments.get("--cache", default_cache());
  if (cache == "none") { cache.clear(); }
  std::string with = arguments.get("--with", "");
  bool as_written = arguments.has("--as-written");
  bool packed = arguments.has("--packed");
  bool debug_info = arguments.has("--debug-info");
  std::string database = arguments.has("--tuned") ? arguments.get("--db", tune::Database::default_path()) : "";
  if (arguments.has("--db") && !arguments.has("--tuned")) { return usage_error("build", "`--db` says where the schedules of `--tuned` are: give both"); }
  if (arguments.has("--tuned") && (as_written || !with.empty())) { return usage_error("build", "`--tuned` excludes `--with` and `--as-written`"); }
  if (std::error_code unknown; !database.empty() && !fs::exists(database, unknown)) {
    Reporter reporter(arguments);
    reporter.report({error(Code::CannotRead).arg("file", database).arg("why", "there is no such file; `loopsmith tune` makes it")}, nullptr);
    return reporter.status();
  }
  // A folder is TVM's, with what it calls its database in it.
  if (std::string records = database.empty() ? "" : tvm_records_at(database); !records.empty()) { database = records; }
  if (std::error_code unknown; !database.empty() && fs::is_directory(database, unknown)) {
    Reporter reporter(arguments);
    reporter.report({error(Code::CannotRead).arg("file", database).arg("why", "it is a folder, without a `database_tuning_record.json` of TVM's")}, nullptr);
    return reporter.status();
  }
  std::string tuned = database.empty() ? "" : ", tuned " + database_version(database);
  if (!with.empty() && as_written) { return usage_error("build", "`--with` and `--as-written` exclude each other"); }

  // What there is to do.
  std::vector<Task> tasks;
  std::set<std::string> stems;
  auto add = [&](const fs::path& file, const fs::path& relative, bool is_named) -> int {
    for (const std::string& target : targets) {
      fs::path stem = fs::path(output);
      if (targets.size() > 1) { stem /= slug(target); }
      stem /= relative.parent_path() / relative.stem();
      if (!stems.insert(stem.string()).second) {
        return usage_error("build", fmt::format("`{}` and another file would both make `{}.o`: build them into folders of their own", file.string(), stem.string()));
      }
      tasks.push_back({file.string(), target, stem.string(), 0,
                       fmt::format("{}{}{}{}", as_written ? "as written" : with.empty() ? "" : "with " + with, packed ? ", packed" : "", debug_info ? ", lines" : "", tuned), is_named});
    }
    return exit_done;
  };
  for (const std::string& given : arguments.positional()) {
    std::error_code problem;
    if (fs::is_directory(given, problem)) {
      std::vector<fs::path> below = files_below(given, problem);
      if (problem) {
        fmt::print(stderr, "loopsmith build: cannot read `{}`: {}\n", given, problem.message());
        return exit_input;
      }
      if (below.empty()) { fmt::print(stderr, "loopsmith build: there is no .tir file below `{}`\n", given); }
      for (const fs::path& file : below) {
        if (int status = add(file, file.lexically_relative(given), false); status != exit_done) { return status; }
      }
    } else if (int status = add(given, fs::path(given).filename(), true); status != exit_done) {
      return status;
    }
  }
  for (Task& task : tasks) {
    if (auto text = read_file(task.file)) { task.source = hash_bytes(*text); }
  }
  bool dry = arguments.has("--dry-run");
  std::error_code problem;
  if (!dry) { fs::create_directories(output, problem); }
  if (problem) {
    fmt::print(stderr, "loopsmith build: cannot make the folder `{}`: {}\n", output, problem.message());
    return exit_input;
  }
  std::optional<FolderLock> lock;
  if (!dry) {
    lock.emplace(output);
    if (!lock->is_held()) {
      fmt::print(stderr, "loopsmith build: cannot write into `{}`: {}\n", output, std::strerror(errno));
      return exit_input;
    }
  }
  std::optional<StagingFolder> staging;
  if (!dry) { staging.emplace(output); }
  if (staging && staging->problem()) {
    fmt::print(stderr, "loopsmith build: cannot write into `{}`: {}\n", output, staging->problem().message());
    return exit_input;
  }
  std::string manifest_path = output + "/manifest.json";
  json manifest = read_manifest(manifest_path);
  std::string engine = engine_id();
  std::vector<const Task*> todo;
  for (const Task& task : tasks) {
    if (arguments.has("--force") || !is_current(manifest, task, engine)) { todo.push_back(&task); }
  }
  auto event = [&](json value) {
    if (arguments.json()) { fmt::print("{}\n", dumped(value)); }
  };
  event({{"event", "start"}, {"files", tasks.size()}, {"to_build", todo.size()}});
  if (dry) {
    for (const Task* task : todo) {
      event({{"event", "would-build"}, {"file", task->file}, {"target", task->target}, {"stem", task->stem}});
      if (!arguments.json()) { fmt::print("would build {} for {}\n", task->file, task->target); }
    }
    if (!arguments.json()) { fmt::print("{} of {} to build\n", todo.size(), tasks.size()); }
    return exit_done;
  }

  auto write_manifest = [&]() -> bool {
    std::string staged = staging->path() + "/manifest.json";
    auto status = write_file(staged, manifest.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
    if (status) { status = publish({{.path = manifest_path, .staged = staged, .kind = "manifest"}}); }
    Reporter reporter(arguments);
    if (!status) { reporter.report(status.diagnostics(), nullptr); }
    return status.ok();
  };
  // What is about to change is no longer as the manifest says, wherever this ends; nor is what another file made in its place.
  size_t forgotten = 0;
  std::set<std::string> changing;
  for (const Task* task : todo) { changing.insert(task->stem); }
  json& known = manifest["built"];
  for (auto it = known.begin(); it != known.end();) {
    bool goes = !it->is_object() || changing.contains(it->value("stem", ""));
    forgotten += goes ? 1 : 0;
    it = goes ? known.erase(it) : std::next(it);
  }
  if (forgotten > 0 && !write_manifest()) { return exit_input; }

  // Build.
  auto began = Clock::now();
  Interruption interruption;
  std::mutex mutex;
  std::atomic<size_t> next{0};
  size_t done = 0;
  size_t failed = 0;
  bool is_terminal = !arguments.json() && ::isatty(STDERR_FILENO) != 0;
  auto seconds_since = [](Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
  auto show_progress = [&] {
    if (!is_terminal) { return; }
    double left = done > 0 ? seconds_since(began) / static_cast<double>(done) * static_cast<double>(todo.size() - done) : 0;
    fmt::print(stderr, "\r\033[K[{}/{}]{}{}", done, todo.size(), failed > 0 ? fmt::format(" {} failed", failed) : "",
               done > 0 && done < todo.size() ? fmt::format(", about {:.0f} s left", left) : "");
    if (done == todo.size()) { fmt::print(stderr, "\r\033[K"); }
    std::fflush(stderr);
  };
  auto run_one = [&](const Task& task) {
    auto start = Clock::now();
    auto result = run_program({.argv = {current_program(), "worker", "--build", task.file, task.target, task.stem, with, as_written ? "1" : "0", cache,
                                         task.is_named ? "0" : "1", packed ? "1" : "0", debug_info ? "1" : "0", staging->path(), database},
                               .standard_input = Stream::Null,
                               .standard_error = Stream::Pipe},
                              "", in(std::chrono::minutes(10)), 64U << 20U, interruption.token());
    double seconds = seconds_since(start);
    json told = result && result->status.succeeded() ? json::parse(result->output, nullptr, false) : json();
    std::lock_guard guard(mutex);
    if (result && result->cancelled) { return; }
    std::vector<Artefact> artefacts;
    if (told.is_object()) {
      for (json& artefact : told["artefacts"]) {
        artefacts.push_back({.path = artefact.value("path", ""), .staged = artefact.value("staged", ""), .kind = {}});
        artefact.erase("staged");
      }
    }
    Status published = publish(artefacts);
    if (!published) { told = json(); }
    ++done;
    if (is_terminal) { fmt::print(stderr, "\r\033[K"); }
    if (told.is_object()) {
      json entry = told;
      entry["source"] = fmt::format("{:016x}", task.source);
      entry["engine"] = engine;
      entry["options"] = task.options;
      entry["stem"] = task.stem;
      entry["seconds"] = seconds;
      manifest["built"][key_of(task)] = entry;
      event({{"event", "built"}, {"file", task.file}, {"target", task.target}, {"seconds", seconds}, {"artefacts", told["artefacts"]},
             {"kernels", told["kernels"]}, {"notes", told["notes"]}, {"from_cache", told["from_cache"]}});
      if (!arguments.json()) {
        std::string kernels;
        for (const json& kernel : told["kernels"]) {
          kernels += (kernels.empty() ? "" : ", ") + kernel.value("name", "");
          if (kernel.contains("schedule")) { kernels += fmt::format(" ({})", kernel.value("schedule", "")); }
        }
        fmt::print("{}{}: {}  {:.2f} s\n", task.file, targets.size() > 1 ? " for " + task.target : "", kernels, seconds);
        for (const json& note : told["notes"]) { fmt::print(stderr, "{}: note: {}\n", task.file, note.get<std::string>()); }
      }
    } else {
      ++failed;
      std::string why = result ? result->error : render(result.diagnostics().front(), {}, {.file = task.file});
      // What the other program could not say: of which file.
      if (constexpr std::string_view ours = "loopsmith: "; why.starts_with(ours)) { why = fmt::format("{}: {}", task.file, why.substr(ours.size())); }
      if (!published) { why += render(published.diagnostics().front(), {}, {.file = task.file}); }
      if (result && result->timed_out) { why += "it took longer than ten minutes\n"; }
      else if (result && result->status.signal != 0) { why += fmt::format("{}: the compiler {}\n", task.file, result->status.describe()); }
      event({{"event", "failed"}, {"file", task.file}, {"target", task.target}, {"seconds", seconds}, {"why", why}});
      if (!arguments.json()) { fmt::print(stderr, "{}", why); }
    }
    std::fflush(stdout);
    show_progress();
  };
  std::vector<std::thread> threads;
  auto work = [&] {
    for (size_t mine = next++; mine < todo.size() && !interruption.came(); mine = next++) { run_one(*todo[mine]); }
  };
  for (size_t i = 1; i < std::min(jobs, todo.size()); ++i) {
    // A system that gives no more threads has as many files built at a time as there are.
    try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {
      break;
    }
  }
  work();
  for (std::thread& thread : threads) { thread.join(); }
  if (!todo.empty() && !write_manifest()) { return exit_input; }
  if (interruption.came() && done < todo.size()) {
    event({{"event", "interrupted"}, {"built", done - failed}, {"failed", failed}, {"left", todo.size() - done}, {"seconds", seconds_since(began)}});
    if (is_terminal) { fmt::print(stderr, "\r\033[K"); }
    if (!arguments.json()) { fmt::print(stderr, "loopsmith build: interrupted: {} built, {} left for the next build\n", done - failed, todo.size() - done); }
    std::fflush(nullptr);
    staging.reset();
    lock.reset();
    Interruption::obey();
  }
  event({{"event", "done"}, {"built", todo.size() - failed}, {"failed", failed}, {"unchanged", tasks.size() - todo.size()}, {"seconds", seconds_since(began)}});
  if (!arguments.json()) {
    fmt::print("{} built, {} unchanged{}\n", todo.size() - failed, tasks.size() - todo.size(), failed > 0 ? fmt::format(", {} failed", failed) : "");
  }
  return failed > 0 ? exit_input : exit_done;
}

}  // namespace loopsmith::driver::commands
