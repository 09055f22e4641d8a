// One-token changes of programs and schedules: checked, lowered, compiled and interpreted, each change in a process of its own with limits of time
// and memory. No change may cause a crash, an abort or a hang.
//
//   fuzz_mutants [--runs N] [--seed S] [--only PART] [--print]
//   fuzz_mutants FILE                                              # this text, unchanged
//
// `--only PART`: texts whose path contains PART. `--print`: prints the mutant of the seed instead of checking it. A token is removed, doubled, or replaced:
// numbers by 0, -1 and the ends of int32 and int64, names by others of the text, types, kinds of loops and axes, operators, functions.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "codegen/llvm/codegen.h"
#include "interp/compare.h"
#include "intrinsics/registry.h"
#include "ir/ops.h"
#include "support/saturate.h"
#include "target/target.h"
#include "tests/gate/random.h"
#include "tests/support/effort.h"
#include "tests/support/paths.h"
#include "transform/pipelines.h"
#include "workspace/snapshot.h"

namespace {

using namespace loopsmith;
using gate::Random;

constexpr int64_t most_elements = 1 << 20;
constexpr rlim_t most_seconds = 20;                        // the limit of processor time for a change
constexpr rlim_t most_memory = rlim_t{6} << 30;

struct Source {
  std::string name, text;
  [[nodiscard]] auto is_python() const -> bool { return name.ends_with(".py"); }
};

auto read(const std::filesystem::path& path) -> std::string {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Adds the files in a case of the command line: behind each line `--- file NAME`, up to the next line with `--- `.
void add_files_of_case(const std::string& name, const std::string& text, std::vector<Source>& out) {
  constexpr std::string_view mark = "--- file ";
  for (size_t begin = text.find(mark); begin != std::string::npos; begin = text.find(mark, begin + 1)) {
    size_t line = text.find('\n', begin);
    if ((begin > 0 && text[begin - 1] != '\n') || line == std::string::npos) { continue; }
    std::string file = text.substr(begin + mark.size(), line - begin - mark.size());
    if (!file.ends_with(".tir") && !file.ends_with(".py")) { continue; }
    size_t end = text.find("\n--- ", line);
    out.push_back({name + ":" + file, text.substr(line + 1, end == std::string::npos ? end : end - line)});
  }
}

/// The texts of the language tests, one by one, the golden inputs of all rooms, the files in cases of the command line, and the examples.
auto sources(const std::string& only) -> std::vector<Source> {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"tests/language/data", "tests/golden", "examples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(tests::source_folder()) / folder)) {
      std::string name = entry.path().string();
      bool is_text = (name.ends_with(".tir") && !name.ends_with(".expect.tir")) || name.ends_with(".py") || name.ends_with(".case");
      if (is_text) { files.push_back(entry.path()); }
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Source> out;
  for (const auto& path : files) {
    std::string text = read(path), name = path.lexically_relative(tests::source_folder()).string();
    if (name.find(only) == std::string::npos) { continue; }
    if (name.ends_with(".case")) {
      add_files_of_case(name, text, out);
      continue;
    }
    size_t begin = text.starts_with("#### ") ? 0 : text.find("\n#### ");
    if (begin == std::string::npos) {
      out.push_back({name, text});
      continue;
    }
    while (begin != std::string::npos) {
      size_t line = text.find('\n', begin + 1);
      size_t next = text.find("\n#### ", line);
      out.push_back({name, text.substr(line + 1, next == std::string::npos ? next : next - line)});
      begin = next;
    }
  }
  return out;
}

struct Token { size_t begin, end; };

auto is_letter(char c) -> bool { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
auto is_digit(char c) -> bool { return c >= '0' && c <= '9'; }

auto tokens_of(const std::string& text) -> std::vector<Token> {
  constexpr const char* operators = "+-*/%<>=!&|^~";
  std::vector<Token> out;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    char c = text[i];
    if (c == '#') {
      while (i < text.size() && text[i] != '\n') { ++i; }
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) { ++i; continue; }
    if (is_letter(c) || is_digit(c)) {
      while (i < text.size() && (is_letter(text[i]) || is_digit(text[i]) || (is_digit(c) && text[i] == '.'))) { ++i; }
    } else if (c == '"' || c == '\'') {
      for (++i; i < text.size() && text[i] != c && text[i] != '\n'; ++i) {}
      i = std::min(i + 1, text.size());
    } else if (std::strchr(operators, c) != nullptr) {
      while (i < text.size() && std::strchr(operators, text[i]) != nullptr) { ++i; }
    } else {
      ++i;
    }
    out.push_back({begin, i});
  }
  return out;
}

/// Another word of the same family; empty: no family contains the word.
auto relative_of(const std::string& word, Random& random) -> std::string {
  static const std::vector<std::vector<std::string>> families = {
      {"+", "-", "*", "//", "%", "/"}, {"<", "<=", ">", ">=", "==", "!="}, {"serial", "parallel", "vectorized", "unroll"}, {"spatial", "reduce", "scan", "opaque"},
      {"int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "float16", "float32", "float64", "bfloat16", "bool", "handle", "float8_e4m3fn", "float32x4", "vscale"},
      {"min", "max", "floordiv", "truncdiv", "floormod"}, {"exp", "log", "sqrt", "tanh", "erf", "popcount", "clz", "abs", "round"}, {"Select", "if_then_else"},
      {"True", "False", "None"}, {"reads", "writes"}, {"global", "local", "shared", "warp"}, {"threadIdx.x", "blockIdx.x", "vthread", "threadIdx.y"},
      {"S", "R", "SS", "SR", "RS", "SSR", "SSS"}, {"while", "if", "for"}, {"break", "continue", "pass", "return"}};
  for (const auto& family : families) {
    if (std::find(family.begin(), family.end(), word) != family.end()) { return random.pick(family); }
  }
  return {};
}

struct Mutant { std::string text, change; };

auto mutate(const std::string& text, Random& random) -> Mutant {
  static const std::vector<std::string> numbers = {"0", "-1", "1", "2147483647", "2147483648", "4294967296", "65536", "9223372036854775807", "9223372036854775808"};
  static const std::vector<std::string> marks = {"(", ")", "[", "]", ",", ":", ".", "+", "-", "="};
  std::vector<Token> tokens = tokens_of(text);
  if (tokens.empty()) { return {}; }
  const Token& token = random.pick(tokens);
  std::string old = text.substr(token.begin, token.end - token.begin), changed;
  int64_t how = random.below(100);
  if (how < 10) {
    changed = "";
  } else if (how < 15) {
    changed = old + " " + old;
  } else if (is_digit(old[0])) {
    changed = random.pick(numbers);
  } else if (old.size() > 1 && (old[0] == '"' || old[0] == '\'')) {
    std::string other = relative_of(old.substr(1, old.size() - 2), random);
    changed = "\"" + (other.empty() ? std::string(random.chance(50) ? "" : "x") : other) + "\"";
  } else {
    changed = relative_of(old, random);
    if (changed.empty() || random.chance(30)) {
      const Token& other = random.pick(tokens);
      changed = is_letter(old[0]) ? text.substr(other.begin, other.end - other.begin) : random.pick(marks);
    }
  }
  size_t line = 1 + static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(token.begin), '\n'));
  return {text.substr(0, token.begin) + changed + text.substr(token.end), fmt::format("line {}: `{}` becomes `{}`", line, old, changed)};
}

// ---- checks of a mutant ----------------------------------------------------------------------------------------------

/// Reports the present step to the parent process.
void note(int pipe, const std::string& step) { (void)!::write(pipe, (step + "\n").data(), step.size() + 1); }

auto is_small(const PrimFunc& func) -> bool {
  int64_t all = 0;
  for (const auto& [param, buffer] : func->buffer_map) {
    int64_t elements = 1;
    for (const Expr& e : buffer->shape) { elements = saturating_mul(elements, e.as<VarNode>() ? 8 : std::max<int64_t>(as_int(e).value_or(most_elements + 1), 0)); }
    all = saturating_add(all, elements);
  }
  return all <= most_elements;
}

void run_module(const IRModule& module, int pipe) {
  for (const auto& [name, func] : module->functions) {
    if (!is_small(func)) { continue; }
    note(pipe, "interpret " + name.str());
    interp::Options options;
    options.max_steps = 200000;
    options.max_seconds = 3;
    options.report_unwritten = options.report_races = options.check_regions = true;
    auto inputs = interp::make_inputs(func, 1, interp::Contents::SmallIntegers);
    if (inputs) { (void)interp::interpret(module, name, inputs->arguments, options); }
  }
  note(pipe, "lower");
  auto lowered = transform::lower(module);
  if (!lowered) { return; }
  note(pipe, "emit");
  (void)codegen::emit(*lowered, target::host(), codegen::EmitKind::Assembly);
}

void run_all(const std::string& text, bool is_python, int pipe) {
  note(pipe, "check");
  auto document = workspace::analyse(is_python ? "mutant.py" : "mutant.tir", text);
  auto snapshot = document->snapshot();
  std::vector<IRModule> modules;
  for (const workspace::Program& program : snapshot->programs()) {
    if (program.module && !program.is_repeated) { modules.push_back(program.module); }
  }
  for (const script::FileSchedule& schedule : snapshot->schedules()) {
    if (schedule.run && schedule.run->result) { modules.push_back(schedule.run->result->module()); }
  }
  if (modules.size() > 6) { modules.resize(6); }
  for (const IRModule& module : modules) { run_module(module, pipe); }
}

/// Empty if the child ended normally; otherwise the signal or status and the step.
auto fault_of(const std::string& text, bool is_python) -> std::string {
  int ends[2];
  if (::pipe(ends) != 0) { return "no pipe"; }
  pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    rlimit seconds{most_seconds, most_seconds + 1}, memory{most_memory, most_memory}, core{0, 0};
    (void)::setrlimit(RLIMIT_CPU, &seconds);
    (void)::setrlimit(RLIMIT_CORE, &core);
    if (!tests::is_sanitized) { (void)::setrlimit(RLIMIT_AS, &memory); }
    run_all(text, is_python, ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string notes;
  char buffer[512];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) { notes.append(buffer, static_cast<size_t>(n)); }
  ::close(ends[0]);
  int status = 0;
  (void)::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) { return {}; }
  if (!notes.empty()) { notes.pop_back(); }
  std::string step = notes.substr(notes.rfind('\n') == std::string::npos ? 0 : notes.rfind('\n') + 1);
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    bool is_time = signal == SIGXCPU || signal == SIGKILL;
    return fmt::format("`{}` {}", step, is_time ? fmt::format("took more than {} s", most_seconds) : fmt::format("was killed by signal {}", signal));
  }
  return fmt::format("`{}` ended with status {}", step, WEXITSTATUS(status));
}

}  // namespace

auto main(int argc, char** argv) -> int {
  uint64_t runs = 100, seed = 1;
  std::string only, file;
  bool prints = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    if (arg == "--runs" && i + 1 < argc) { runs = std::strtoull(argv[++i], nullptr, 10); }
    else if (arg == "--seed" && i + 1 < argc) { seed = std::strtoull(argv[++i], nullptr, 10); }
    else if (arg == "--only" && i + 1 < argc) { only = argv[++i]; }
    else if (arg == "--print") { prints = true; }
    else if (!arg.starts_with("-")) { file = arg; }
    else { fmt::print(stderr, "usage: fuzz_mutants [--runs N] [--seed S] [--only PART] [--print], or fuzz_mutants FILE\n"); return 2; }
  }
  intrinsics::install();
  (void)target::host();
  if (!file.empty()) {
    std::string fault = fault_of(read(file), file.ends_with(".py"));
    fmt::print("{}\n", fault.empty() ? "no fault" : fault);
    return fault.empty() ? 0 : 1;
  }
  std::vector<Source> all = sources(only);
  if (all.empty()) { fmt::print(stderr, "no texts\n"); return 2; }
  size_t faults = 0;
  for (uint64_t n = seed; n < seed + runs; ++n) {
    Random random{n * 2654435761U + 1};
    const Source& source = random.pick(all);
    Mutant mutant = mutate(source.text, random);
    if (prints) {
      fmt::print("{}", mutant.text);
      return 0;
    }
    if (mutant.text.empty()) { continue; }
    std::string fault = fault_of(mutant.text, source.is_python());
    if (fault.empty()) { continue; }
    ++faults;
    fmt::print("--seed {} --runs 1: {}, {}: {}\n", n, source.name, mutant.change, fault);
    std::fflush(stdout);
  }
  fmt::print("{} changes of {} texts, {} faults\n", runs, all.size(), faults);
  return faults == 0 ? 0 : 1;
}
