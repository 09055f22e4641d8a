// `loopsmith bench FILE`: times a program as written and under the named schedules. Blocks of calls take turns, so that a drift of the machine's speed
// affects all versions alike. Runs in a separate process.
#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/device.h"
#include "driver/execution.h"
#include "driver/loop_times.h"
#include "driver/reports.h"
#include "ir/vocabulary.h"
#include "runtime/bench.h"
#include "runtime/devices/bench.h"
#include "runtime/devices/figures.h"
#include "runtime/peaks.h"
#include "support/text.h"
#include "tune/session/session.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "bench",
    .arguments = "FILE [--function F] [--with NAME]... [--arg SIZE=N]... [--cache hot|rotate|cold]",
    .summary = "Measures a program as written and under schedules, side by side.",
    .details = "Prints the median of blocks of calls, the deviation of the blocks from it, GFLOP/s, GB/s with each buffer counted once, and\n"
               "the share of the roofline: the peak of multiply-adds or of memory bandwidth, as measured on this machine (for types other\n"
               "than float32 of the bandwidth alone). Kernels are timed by the clock of the device, in batches of at least half a millisecond.\n"
               "Without NVIDIA's driver `--target cuda` prints registers, spills, shared memory and occupancy, which the compiler knows.",
    .options = {function_option,
                {.name = "--with", .value = "NAME", .help = "a schedule function; may be given several times", .repeatable = true},
                target_option,
                arg_option,
                inputs_option,
                {.name = "--cache", .value = "STATE", .help = "hot (the default), rotate (other data in each call) or cold"},
                {.name = "--blocks", .value = "N", .help = "blocks of calls for each version; the default is 15"},
                check_bounds_option,
                execution_time_option,
                memory_option,
                {.name = "--profile", .help = "also the time of each loop, in a measurement of its own"},
                {.name = "--depth", .value = "N", .help = "the depth of the loops that `--profile` times; the default is 3"},
                {.name = "--counters", .help = "counts of the processor and the system per call: cycles, instructions, misses, page faults"},
                {.name = "--history", .value = "F", .help = "appends the measurements to a file, a line of JSON for each"},
                {.name = "--check", .help = "fails where a program is slower than the median of its last five measurements in the history"},
                {.name = "--slower", .value = "PERCENT", .help = "the slowdown that `--check` allows; the default is 10"},
                {.name = "--junit", .value = "F", .help = "writes the results of `--check` as JUnit XML"},
                {.name = "--no-plain", .help = "leaves out the program as written"},
                {.name = "--against-itself", .value = "N", .help = "compares the program N times with a second compilation of itself, and counts the comparisons without a difference"},
                json_option},
    .examples = {{"loopsmith bench matmul.tir --with matmul_blocked", "plain against scheduled"},
                 {"loopsmith bench softmax.tir --with softmax_rows --profile", "the loops that take the time"},
                 {"loopsmith bench softmax.tir --with softmax_rows --counters", "cycles, instructions and misses, where the machine counts them"},
                 {"loopsmith bench matmul.tir --with a --history times.jsonl --check --junit times.xml", "in continuous integration"},
                 {"loopsmith bench matmul_gpu.tir --with tiled --target opencl", "kernels on the first device of OpenCL"},
                 {"loopsmith bench matmul.tir --with a --with b --json", "a line of JSON for each"}},
    .least = 1,
    .most = 1,
};

struct Row {
  std::string name;
  Selection selection;
  std::optional<runtime::JitModule> code;
  bool is_built = false;   // if the program has several schedules: the one that `build` applies
};

/// The bytes of all buffers of a call. The machine's peak is measured in float32.
struct Traffic { double bytes = 0; bool is_float32 = true; };
auto traffic_of(const Call& call) -> Traffic {
  Traffic out;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    const codegen::Parameter& p = call.interface.parameters[i];
    if (p.kind != codegen::Parameter::Kind::Buffer) { continue; }
    out.bytes += static_cast<double>(call.tensors[i].bytes());
    out.is_float32 = out.is_float32 && p.dtype == DataType::float_(32);
  }
  return out;
}

/// A lower bound for the seconds of a call on this machine, by its measured peaks; 0: unknown.
auto roofline_seconds(double flops, const Traffic& traffic, const runtime::Peaks& peaks, int threads) -> double {
  bool all = threads > 1;
  double compute = traffic.is_float32 ? flops / ((all ? peaks.fma_f32_all : peaks.fma_f32_one) * 1e9) : 0;
  double rate = peaks.copy_rate(static_cast<uint64_t>(traffic.bytes), all);
  double memory = rate > 0 ? traffic.bytes / (rate * 1e9) : 0;
  return std::max(compute, memory);
}

/// A small number in full, a large one with three digits.
auto rounded(double value) -> std::string {
  if (value >= 1e9) { return fmt::format("{:.3g} G", value * 1e-9); }
  if (value >= 1e6) { return fmt::format("{:.3g} M", value * 1e-6); }
  if (value >= 1e4) { return fmt::format("{:.3g} k", value * 1e-3); }
  return value >= 10 || value == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.2g}", value);
}

/// Prints the counts per call of each version, below the times.
void show_counts(const std::vector<Row>& rows, const std::vector<runtime::EventCounts>& counted, size_t width, bool is_json) {
  if (!is_json) { fmt::print("counts per call over all threads, in a measurement of their own:\n"); }
  for (size_t i = 0; i < rows.size(); ++i) {
    nlohmann::json line = {{"event", "counters"}, {"name", rows[i].name}, {"counters", nlohmann::json::object()}};
    std::string text;
    double cycles = 0;
    for (const runtime::Count& c : counted[i].counts) {
      line["counters"][c.name] = c.value;
      if (c.name == "cycles") { cycles = c.value; }
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rounded(c.value), c.name);
      if (c.name == "instructions" && cycles > 0) { text += fmt::format(" ({:.1f} a cycle)", c.value / cycles); }
    }
    if (!counted[i].missing.empty()) { line["missing"] = counted[i].missing; }
    if (is_json) {
      fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      fmt::print("  {:<{}}  {}\n", rows[i].name, width, text);
    }
  }
  if (!is_json && !counted[0].missing.empty()) { fmt::print("  no counters of the processor: {}\n", counted[0].missing); }
}

auto verdict_name(runtime::Speeds::Verdict verdict) -> const char* {
  switch (verdict) {
    case runtime::Speeds::Verdict::Same: return "none";
    case runtime::Speeds::Verdict::Faster: return "faster";
    case runtime::Speeds::Verdict::Slower: return "slower";
  }
  return "";
}

auto bench_confined(const std::vector<const runtime::JitFunction*>& functions, const std::vector<int64_t>& sizes, const runtime::BenchOptions& options)
    -> Result<std::vector<runtime::Measurement>> {
  Result<std::vector<runtime::Measurement>> measured = std::vector<runtime::Measurement>();
  confined([&] { measured = runtime::bench_interleaved(functions, sizes, options); });
  return measured;
}

/// Tests the comparison: compiles one program twice and compares the two, again and again. Each "faster" or "slower" is a false alarm. Fails if more
/// than one comparison in twenty is a false alarm.
auto compare_with_itself(const Selection& selection, const Locate& checks, const std::vector<int64_t>& sizes, const runtime::BenchOptions& options, int64_t times, bool is_json) -> Result<int> {
  std::array<int64_t, 3> counts{};
  for (int64_t i = 0; i < times; ++i) {
    std::vector<runtime::JitModule> code;
    std::vector<const runtime::JitFunction*> functions;
    for (int copy = 0; copy < 2; ++copy) {
      LOOPSMITH_TRY(compiled, compile(selection, checks));
      code.push_back(std::move(compiled));
    }
    for (runtime::JitModule& module : code) {
      LOOPSMITH_TRY(function, module.find(symbol_of(selection)));
      functions.push_back(function);
    }
    LOOPSMITH_TRY(measured, bench_confined(functions, sizes, options));
    ++counts[static_cast<size_t>(runtime::compare(measured[0], measured[1]).verdict)];
  }
  double same = static_cast<double>(counts[0]) / static_cast<double>(times);
  if (is_json) {
    fmt::print("{}\n", nlohmann::json({{"event", "against_itself"}, {"program", selection.program.str()}, {"comparisons", times}, {"same", counts[0]}, {"faster", counts[1]}, {"slower", counts[2]}}).dump());
  } else {
    fmt::print("{} compared {} times with itself: no difference {} times ({:.1f}%), faster {}, slower {}\n", selection.program.view(), times, counts[0], 100 * same, counts[1], counts[2]);
  }
  return same >= 0.95 ? exit_done : exit_input;
}

auto now_text() -> std::string {
  char out[32] = {};
  std::time_t now = std::time(nullptr);
  std::tm utc = {};
  ::gmtime_r(&now, &utc);
  std::strftime(out, sizeof out, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return out;
}

}  // namespace

auto bench(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  auto limits = read_limits("bench", std::get<Arguments>(read));
  if (const int* status = std::get_if<int>(&limits)) { return *status; }
  return run_apart("bench", "--bench", args, std::get<ExecutionLimits>(limits));
}

namespace {

/// The numbers of the command line.
struct Asked {
  runtime::BenchOptions options;
  std::string cache;
  int depth = 3;
  double slower = 10;          // percent
  int64_t against_itself = 0;  // comparisons; 0: none
  std::string history;
};

auto read_asked(const Arguments& arguments) -> std::variant<Asked, int> {
  Asked asked{.options = {}, .cache = arguments.get("--cache", "hot"), .history = arguments.get("--history", "")};
  asked.options.blocks = 15;
  asked.options.warm_up_seconds = 30e-3;
  if (asked.cache == "rotate") { asked.options.cache = runtime::CacheState::Rotate; }
  else if (asked.cache == "cold") { asked.options.cache = runtime::CacheState::Cold; }
  else if (asked.cache != "hot") { return usage_error("bench", fmt::format("`--cache` is hot, rotate or cold, not `{}`", asked.cache)); }
  if (auto text = arguments.get("--blocks")) {
    auto number = parse_number(*text, 1, 10000);
    if (!number) { return usage_error("bench", "`--blocks` is a number from 1 to 10000"); }
    asked.options.blocks = static_cast<int>(*number);
  }
  if (auto text = arguments.get("--depth")) {
    auto number = parse_number(*text, 1, 32);
    if (!number) { return usage_error("bench", fmt::format("`--depth` is a number from 1 to 32, not `{}`", *text)); }
    asked.depth = static_cast<int>(*number);
  }
  if (auto text = arguments.get("--slower")) {
    auto number = parse_number(*text, 0, 10000);
    if (!number) { return usage_error("bench", fmt::format("`--slower` is a percentage from 0 to 10000, not `{}`", *text)); }
    asked.slower = static_cast<double>(*number);
  }
  if (auto text = arguments.get("--against-itself")) {
    auto number = parse_number(*text, 1, 100000);
    if (!number) { return usage_error("bench", fmt::format("`--against-itself` is a number from 1 to 100000, not `{}`", *text)); }
    if (arguments.all("--with").size() > 1) { return usage_error("bench", "`--against-itself` compares one program: give one `--with`, or none"); }
    asked.against_itself = *number;
  }
  if (arguments.has("--check") && asked.history.empty()) { return usage_error("bench", "`--check` compares with a history: name its file, `--history F`"); }
  if (arguments.get("--junit") && !arguments.has("--check")) { return usage_error("bench", "`--junit` writes the results of `--check`: give both"); }
  return asked;
}

/// The program as written, unless excluded, and under each schedule.
auto pick_rows(const Arguments& arguments, Reporter& reporter) -> std::variant<std::vector<Row>, int> {
  std::vector<Row> rows;
  for (const std::string& name : arguments.all("--with")) {
    auto picked = pick(arguments, {.path = arguments.positional()[0], .with = name, .needs_target = true, .needs_function = true}, reporter);
    if (const int* status = std::get_if<int>(&picked)) { return *status; }
    rows.push_back({name, std::move(std::get<Selection>(picked)), {}});
    Row& row = rows.back();
    auto considered = workspace::schedules_for_build(*row.selection.file->snapshot(), row.selection.program.view());
    row.is_built = considered.size() > 1 && considered.back()->name.view() == row.selection.schedule;
  }
  // As written, most programs run as a single thread on a device, so that time is of no use.
  if (!rows.empty() && (arguments.has("--no-plain") || is_device_target(rows[0].selection.target))) { return rows; }
  Row plain;
  plain.name = "plain";
  if (rows.empty()) {
    auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = true, .needs_function = true}, reporter);
    if (const int* status = std::get_if<int>(&picked)) { return *status; }
    plain.selection = std::move(std::get<Selection>(picked));
  } else {
    const Selection& first = rows[0].selection;
    plain.selection.program = first.program;
    plain.selection.function = first.function;
    plain.selection.is_bare = first.is_bare;
    plain.selection.before = plain.selection.module = first.before;
    plain.selection.target = first.target;
  }
  rows.insert(rows.begin(), std::move(plain));
  return rows;
}

void print_json(const nlohmann::json& line) { fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)); }

/// The rows, their times, and the values that the times are compared with.
struct Timed {
  const std::vector<Row>& rows;
  const std::vector<runtime::Measurement>& measured;
  double flops = 0;
  Traffic traffic;
  bool is_whole = true;    // the machine's peak, measured in float32, holds for the program's arithmetic
  size_t width = 0;        // of the longest name
};

auto line_of(const Timed& timed, size_t i, double least, const Arguments& arguments, const std::string& cache) -> nlohmann::json {
  const Row& row = timed.rows[i];
  const runtime::Measurement& m = timed.measured[i];
  nlohmann::json line = {{"name", row.name},         {"program", row.selection.program.str()}, {"seconds", m.seconds}, {"deviation", m.deviation},
                         {"minimum", m.minimum},     {"blocks", m.blocks},                     {"calls", m.calls},     {"gflops", m.gflops(timed.flops)},
                         {"gbytes", m.gbytes(timed.traffic.bytes)}, {"threads", m.threads},    {"target", row.selection.target.str()}};
  if (least > 0) { line["roofline"] = least / m.seconds; }
  if (least > 0 && !timed.is_whole) { line["roofline_of"] = "memory"; }
  if (i > 0) { line["difference"] = verdict_name(runtime::compare(timed.measured[0], m).verdict); }
  if (row.is_built) { line["used_by_build"] = true; }
  line["cache"] = cache;
  line["arguments"] = arguments.all("--arg");
  for (const std::string& file : arguments.all("--inputs")) { line["arguments"].push_back("--inputs " + file); }
  line["date"] = now_text();
  return line;
}

void print_row(const Timed& timed, size_t i, double least) {
  const runtime::Measurement& m = timed.measured[i];
  fmt::print("  {:<{}}  {:>11} +- {:.1f}%", timed.rows[i].name, timed.width, duration_text(m.seconds), m.deviation * 100);
  // A program of an empty size takes no time, and has no rate.
  if (timed.flops > 0 && m.seconds > 0) { fmt::print("  {:8.2f} GFLOP/s", m.gflops(timed.flops)); }
  if (m.seconds > 0) { fmt::print("  {:8.2f} GB/s", m.gbytes(timed.traffic.bytes)); }
  const char* roof = timed.is_whole ? "the roofline" : "the measured peak of the memory bandwidth";
  // A share above 100% means that another program ran while the peaks were measured.
  const bool is_above = least > m.seconds * 1.005;
  if (is_above) { fmt::print("  above {}: `loopsmith target show --measure` measures it again", roof); }
  if (least > 0 && !is_above) { timed.is_whole ? fmt::print("  {:5.1f}% of the roofline", 100 * least / m.seconds) : fmt::print("  memory bandwidth: {:.1f}% of the measured peak", 100 * least / m.seconds); }
  if (i > 0) {
    bool is_same = runtime::compare(timed.measured[0], m).verdict == runtime::Speeds::Verdict::Same;
    fmt::print("  {:.1f}x{}", timed.measured[0].seconds / m.seconds, is_same ? "  no difference" : "");
  }
  if (timed.rows[i].is_built) { fmt::print("  (build uses it)"); }
  fmt::print("\n");
}

/// Prints the time of each loop, from a separate measurement.
auto show_loops(const Row& row, const Call& call, int depth, bool is_json) -> Status {
  Result<std::vector<LoopTimeRow>> timed = std::vector<LoopTimeRow>();
  confined([&] { timed = loop_times(row.selection, call, depth); });
  LOOPSMITH_TRY(times, std::move(timed));
  double whole = 0;
  for (const LoopTimeRow& t : times) { whole += t.depth == 1 ? t.seconds : 0; }
  if (!is_json) { fmt::print("loops of {}, in a measurement of their own:\n", row.name); }
  for (const LoopTimeRow& t : times) {
    if (is_json) {
      print_json({{"event", "loop"}, {"name", row.name}, {"loop", t.loop}, {"depth", t.depth}, {"place", t.place}, {"runs", t.runs}, {"seconds", t.seconds}});
      continue;
    }
    std::string name = std::string(static_cast<size_t>(2 * t.depth), ' ') + t.loop;
    fmt::print("{:<28} {:>11}  {:>5.1f}%  {:>9.0f} run{}  {}\n", name, duration_text(t.seconds), whole > 0 ? 100 * t.seconds / whole : 0, t.runs, t.runs == 1 ? " " : "s", t.place);
  }
  if (times.empty() && !is_json) { fmt::print("  none: it has no loop of several statements\n"); }
  return ok();
}

/// Compares the measurements with earlier ones of the history.
auto check_history(const Timed& timed, const std::vector<nlohmann::json>& lines, const Asked& asked) -> Result<std::vector<CheckedCase>> {
  std::vector<CheckedCase> cases;
  for (size_t i = 0; i < lines.size(); ++i) {
    const runtime::Measurement& m = timed.measured[i];
    CheckedCase c{timed.rows[i].selection.program.str(), timed.rows[i].name, m.seconds};
    std::optional<double> earlier;
    if (std::filesystem::exists(asked.history)) {
      LOOPSMITH_TRY(found, earlier_seconds(asked.history, lines[i]));
      earlier = found;
    }
    if (earlier && m.seconds > *earlier * (1 + asked.slower / 100)) {
      c.failure = fmt::format("{}, {}: {} is {:.0f}% slower than before ({})", c.group, c.name, duration_text(m.seconds), 100 * (m.seconds / *earlier - 1), duration_text(*earlier));
      fmt::print(stderr, "loopsmith bench: {}\n", c.failure);
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

/// Prints the kernels of each version without a measurement: the resources that the compiler reports.
auto show_static(const std::vector<Row>& rows, bool is_json) -> Status {
  for (const Row& row : rows) {
    LOOPSMITH_TRY(lowered, lower_for_device(row.selection, row.selection.target));
    LOOPSMITH_TRY(figures, runtime::static_figures(lowered, row.selection.target));
    if (!is_json) { fmt::print("{}: not measured; {}\n", row.name, row.selection.target.str()); }
    for (const runtime::StaticFigures& one : figures) {
      if (!is_json) {
        fmt::print("  {}\n", text_of(one));
        continue;
      }
      nlohmann::json line = {{"event", "kernel"}, {"name", row.name}, {"kernel", one.kernel}, {"registers", one.used.registers}, {"spill_stores", one.used.spill_stores},
                             {"spill_loads", one.used.spill_loads}, {"shared", one.used.shared_bytes}, {"occupancy", one.occupancy.share}, {"limiter", one.occupancy.limiter}};
      if (one.block_threads) { line["threads"] = *one.block_threads; }
      print_json(line);
    }
  }
  return ok();
}

/// Compares with earlier measurements in the history, and adds these to it. False: `--check` failed.
auto keep_history(const Timed& timed, const std::vector<nlohmann::json>& lines, const Arguments& arguments, const Asked& asked) -> Result<bool> {
  std::vector<CheckedCase> cases;
  if (arguments.has("--check")) {
    LOOPSMITH_TRY(checked, check_history(timed, lines, asked));
    cases = std::move(checked);
  }
  if (!asked.history.empty()) { LOOPSMITH_CHECK(append_history(asked.history, lines)); }
  if (auto path = arguments.get("--junit")) { LOOPSMITH_CHECK(write_file(*path, junit("loopsmith bench " + arguments.positional()[0], cases))); }
  return std::all_of(cases.begin(), cases.end(), [](const CheckedCase& c) { return c.failure.empty(); });
}

/// Measures the kernels of each version by the device's clock; false: `--check` failed.
auto measure_on_device(std::vector<Row>& rows, const Arguments& arguments, Asked asked, const Call& call) -> Result<bool> {
  for (size_t i = 0; i < call.tensors.size(); ++i) { asked.options.contents.push_back(call.is_from_file[i] ? &call.tensors[i] : nullptr); }
  asked.options.scalars = call.values;
  for (const char* option : {"--profile", "--counters", "--check-bounds"}) {
    if (arguments.has(option)) { fmt::print(stderr, "note: `{}` is for programs on this machine's processor; it has no effect on a device\n", option); }
  }
  auto device = device_of(rows.front().selection);
  if (!device) {
    // The compiler's figures need no device.
    if (rows.front().selection.target.kind == target_kind::cuda) { LOOPSMITH_CHECK(show_static(rows, arguments.json())); }
    return device.diagnostics();
  }
  std::vector<runtime::DeviceProgram> programs;
  std::vector<runtime::DeviceSubject> subjects;
  for (const Row& row : rows) {
    LOOPSMITH_TRY(program, compile_for_device(row.selection, *device));
    programs.push_back(std::move(program));
  }
  for (size_t i = 0; i < rows.size(); ++i) { subjects.push_back({&programs[i], symbol_of(rows[i].selection)}); }
  LOOPSMITH_TRY(measured, runtime::bench_on_device(subjects, call.sizes, asked.options));
  Timed timed{rows, measured, tune::count_flops(rows[0].selection.before, rows[0].selection.function), traffic_of(call)};
  for (const Row& row : rows) { timed.width = std::max(timed.width, row.name.size()); }
  if (!arguments.json()) { fmt::print("{}: {}\n", rows[0].selection.program.view(), (*device)->facts().name); }
  std::vector<nlohmann::json> lines;
  for (size_t i = 0; i < rows.size(); ++i) {
    lines.push_back(line_of(timed, i, 0, arguments, asked.cache));
    lines.back()["device"] = (*device)->facts().name;
    lines.back().erase("threads");
    arguments.json() ? print_json(lines.back()) : print_row(timed, i, 0);
  }
  return keep_history(timed, lines, arguments, asked);
}

/// Measures and reports; false: `--check` failed.
auto measure(std::vector<Row>& rows, const Arguments& arguments, Asked asked, const Call& call) -> Result<bool> {
  for (size_t i = 0; i < call.tensors.size(); ++i) { asked.options.contents.push_back(call.is_from_file[i] ? &call.tensors[i] : nullptr); }
  asked.options.scalars = call.values;
  std::vector<const runtime::JitFunction*> functions;
  for (Row& row : rows) {
    LOOPSMITH_TRY(code, compile(row.selection, bounds_checks(rows.back().selection, arguments)));
    row.code.emplace(std::move(code));
    LOOPSMITH_TRY(function, row.code->find(symbol_of(row.selection)));
    functions.push_back(function);
  }
  note_externals(rows.back().selection);
  LOOPSMITH_TRY(measured, bench_confined(functions, call.sizes, asked.options));
  Timed timed{rows, measured, tune::count_flops(rows[0].selection.before, rows[0].selection.function), traffic_of(call)};
  timed.is_whole = timed.traffic.is_float32 || timed.flops == 0;
  int threads = 1;
  for (const Row& row : rows) { timed.width = std::max(timed.width, row.name.size()); }
  for (const runtime::Measurement& m : measured) { threads = std::max(threads, m.threads); }
  if (!arguments.json()) { fmt::print("{}: {}, {}\n", rows[0].selection.program.view(), count_text(threads, "thread"), rows[0].selection.target.str()); }
  auto peaks = runtime::peaks();
  std::vector<nlohmann::json> lines;
  for (size_t i = 0; i < rows.size(); ++i) {
    double least = peaks.ok() ? roofline_seconds(timed.flops, timed.traffic, *peaks, functions[i]->threads) : 0;
    lines.push_back(line_of(timed, i, least, arguments, asked.cache));
    arguments.json() ? print_json(lines.back()) : print_row(timed, i, least);
  }
  for (size_t i = 0; arguments.has("--profile") && i < rows.size(); ++i) { LOOPSMITH_CHECK(show_loops(rows[i], call, asked.depth, arguments.json())); }
  if (arguments.has("--counters")) {
    std::vector<runtime::EventCounts> counted;
    for (const runtime::JitFunction* function : functions) {
      Result<runtime::EventCounts> counts = runtime::EventCounts();
      confined([&] { counts = runtime::count_events(*function, call.sizes, asked.options); });
      if (!counts) { return counts.diagnostics(); }
      counted.push_back(std::move(*counts));
    }
    show_counts(rows, counted, timed.width, arguments.json());
  }
  return keep_history(timed, lines, arguments, asked);
}

}  // namespace

auto bench_here(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  auto read_numbers = read_asked(arguments);
  if (const int* status = std::get_if<int>(&read_numbers)) { return *status; }
  auto asked = std::get<Asked>(read_numbers);
  Reporter reporter(arguments);
  auto picked = pick_rows(arguments, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  auto& rows = std::get<std::vector<Row>>(picked);
  const Selection& last = rows.back().selection;
  auto fail = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, last.file.get());
    return reporter.status();
  };
  auto call = make_call(rows[0].selection, arguments, std::get<ExecutionLimits>(read_limits("bench", arguments)).bytes);
  if (!call) { return fail(call.diagnostics()); }
  note_sizes(*call, arguments);
  if (asked.against_itself > 0 && is_device_target(last.target)) { return usage_error("bench", "`--against-itself` measures on this machine's processor, not on a device"); }
  if (asked.against_itself > 0) {
    asked.options.scalars = call->values;
    auto status = compare_with_itself(last, bounds_checks(last, arguments), call->sizes, asked.options, asked.against_itself, arguments.json());
    return status ? *status : fail(status.diagnostics());
  }
  auto passed = is_device_target(last.target) ? measure_on_device(rows, arguments, asked, *call) : measure(rows, arguments, asked, *call);
  if (!passed) { return fail(passed.diagnostics()); }
  return *passed ? exit_done : exit_input;
}

}  // namespace loopsmith::driver::commands
