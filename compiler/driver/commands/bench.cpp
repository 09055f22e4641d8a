// `loopsmith bench FILE`: how fast a program is as written and under each schedule named, block by block in turn, so
// that drifts of the machine meet all of them. In a process of its own.
#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/execution.h"
#include "driver/loop_times.h"
#include "driver/reports.h"
#include "runtime/bench.h"
#include "runtime/peaks.h"
#include "support/text.h"
#include "tune/session/session.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "bench",
    .arguments = "FILE [--function F] [--with NAME]... [--arg SIZE=N]... [--cache hot|rotate|cold]",
    .summary = "Measures a program as written and under schedules, side by side.",
    .details = "The median of blocks of calls; how far blocks are from it; GFLOP/s; GB/s, each buffer counted once; and the share\n"
               "of what this machine could reach: its multiply-adds, or the bytes its memory moves in that time (of other types than\n"
               "float32 the bytes alone).",
    .options = {function_option,
                {.name = "--with", .value = "NAME", .help = "a schedule function; may be given several times", .repeatable = true},
                target_option,
                arg_option,
                inputs_option,
                {.name = "--cache", .value = "STATE", .help = "hot (the default), rotate (other data each call) or cold"},
                {.name = "--blocks", .value = "N", .help = "blocks of calls for each; 15"},
                check_bounds_option,
                {.name = "--profile", .help = "the time of each loop as well, of a version that is measured apart"},
                {.name = "--depth", .value = "N", .help = "how deep the loops are that `--profile` times; 3"},
                {.name = "--counters", .help = "what the processor and the system count in a call: cycles, instructions, misses, page faults"},
                {.name = "--history", .value = "F", .help = "adds the measurements to a file, a line of JSON for each"},
                {.name = "--check", .help = "fails where a program is slower than the history's last five of it, in the median"},
                {.name = "--slower", .value = "PERCENT", .help = "how much slower `--check` lets pass; 10"},
                {.name = "--junit", .value = "F", .help = "writes what was checked as JUnit's XML"},
                {.name = "--no-plain", .help = "leave out the program as written"},
                {.name = "--against-itself", .value = "N", .help = "compares the program N times with itself, compiled anew, and says how often no difference was seen"},
                json_option},
    .examples = {{"loopsmith bench matmul.tir --with matmul_blocked", "plain against scheduled"},
                 {"loopsmith bench softmax.tir --with softmax_rows --profile", "which loop the time goes to"},
                 {"loopsmith bench softmax.tir --with softmax_rows --counters", "cycles, instructions and misses, where the machine shows them"},
                 {"loopsmith bench matmul.tir --with a --history times.jsonl --check --junit times.xml", "in continuous integration"},
                 {"loopsmith bench matmul.tir --with a --with b --json", "a line of JSON for each"}},
    .least = 1,
    .most = 1,
};

struct Row {
  std::string name;
  Selection selection;
  std::optional<runtime::JitModule> code;
};

// Bytes of all buffers of a call, and whether their reals are those that the machine's peak is measured with.
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

// Seconds that a call takes at least on this machine, as far as its peaks tell; 0: not known.
auto roofline_seconds(double flops, const Traffic& traffic, const runtime::Peaks& peaks, int threads) -> double {
  bool all = threads > 1;
  double compute = traffic.is_float32 ? flops / ((all ? peaks.fma_f32_all : peaks.fma_f32_one) * 1e9) : 0;
  double rate = peaks.copy_rate(static_cast<uint64_t>(traffic.bytes), all);
  double memory = rate > 0 ? traffic.bytes / (rate * 1e9) : 0;
  return std::max(compute, memory);
}

// Whole where it is small, with three digits where it is large.
auto rounded(double value) -> std::string {
  if (value >= 1e9) { return fmt::format("{:.3g} G", value * 1e-9); }
  if (value >= 1e6) { return fmt::format("{:.3g} M", value * 1e-6); }
  if (value >= 1e4) { return fmt::format("{:.3g} k", value * 1e-3); }
  return value >= 10 || value == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.2g}", value);
}

// Lines after those of the times: what was counted in a call of each.
void show_counts(const std::vector<Row>& rows, const std::vector<runtime::EventCounts>& counted, size_t width, bool is_json) {
  if (!is_json) { fmt::print("counted in a call, over all threads, apart from that:\n"); }
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

// The test of the comparison itself: two compilations of one program, again and again; each "faster" or "slower" is a false alarm. Fails where
// more than one of twenty is.
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
    LOOPSMITH_TRY(measured, runtime::bench_interleaved(functions, sizes, options));
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
  return run_apart("bench", "--bench", args);
}

auto bench_here(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  runtime::BenchOptions options;
  options.blocks = 15;
  options.warm_up_seconds = 30e-3;
  std::string cache = arguments.get("--cache", "hot");
  if (cache == "rotate") { options.cache = runtime::CacheState::Rotate; }
  else if (cache == "cold") { options.cache = runtime::CacheState::Cold; }
  else if (cache != "hot") { return usage_error("bench", fmt::format("`--cache` is hot, rotate or cold, not `{}`", cache)); }
  if (auto text = arguments.get("--blocks")) {
    auto number = parse_number(*text, 1, 10000);
    if (!number) { return usage_error("bench", "`--blocks` is a number from 1 to 10000"); }
    options.blocks = static_cast<int>(*number);
  }
  int depth = 3;
  if (auto text = arguments.get("--depth")) {
    auto number = parse_number(*text, 1, 32);
    if (!number) { return usage_error("bench", fmt::format("`--depth` is a number from 1 to 32, not `{}`", *text)); }
    depth = static_cast<int>(*number);
  }
  double slower = 10;
  if (auto text = arguments.get("--slower")) {
    auto number = parse_number(*text, 0, 10000);
    if (!number) { return usage_error("bench", fmt::format("`--slower` is a percentage from 0 to 10000, not `{}`", *text)); }
    slower = static_cast<double>(*number);
  }
  int64_t against_itself = 0;
  if (auto text = arguments.get("--against-itself")) {
    auto number = parse_number(*text, 1, 100000);
    if (!number) { return usage_error("bench", fmt::format("`--against-itself` is a number from 1 to 100000, not `{}`", *text)); }
    if (arguments.all("--with").size() > 1) { return usage_error("bench", "`--against-itself` compares one program: give one `--with`, or none"); }
    against_itself = *number;
  }
  std::string history = arguments.get("--history", "");
  if (arguments.has("--check") && history.empty()) { return usage_error("bench", "`--check` compares with a history: say which, `--history F`"); }
  if (arguments.get("--junit") && !arguments.has("--check")) { return usage_error("bench", "`--junit` writes what `--check` finds: give both"); }
  Reporter reporter(arguments);
  std::vector<Row> rows;
  std::vector<std::string> names = arguments.all("--with");
  for (const std::string& name : names) {
    auto picked = pick(arguments, {.path = arguments.positional()[0], .with = name, .needs_target = true}, reporter);
    if (const int* status = std::get_if<int>(&picked)) { return *status; }
    rows.push_back({name, std::move(std::get<Selection>(picked)), {}});
  }
  if (rows.empty() || !arguments.has("--no-plain")) {
    Row plain;
    plain.name = "plain";
    if (rows.empty()) {
      auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = true}, reporter);
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
  }
  const SourceFile* file = rows.back().selection.file.get();
  auto fail = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, file);
    return reporter.status();
  };
  auto call = make_call(rows[0].selection, arguments);
  if (!call) { return fail(call.diagnostics()); }
  if (against_itself > 0) {
    auto told = compare_with_itself(rows.back().selection, bounds_checks(rows.back().selection, arguments), call->sizes, options, against_itself, arguments.json());
    if (!told) { return fail(told.diagnostics()); }
    return *told;
  }
  std::vector<const runtime::JitFunction*> functions;
  for (Row& row : rows) {
    auto code = compile(row.selection, bounds_checks(rows.back().selection, arguments));
    if (!code) { return fail(code.diagnostics()); }
    row.code.emplace(std::move(*code));
    auto function = row.code->find(symbol_of(row.selection));
    if (!function) { return fail(function.diagnostics()); }
    functions.push_back(*function);
  }
  auto measured = runtime::bench_interleaved(functions, call->sizes, options);
  if (!measured) { return fail(measured.diagnostics()); }
  double flops = tune::count_flops(rows[0].selection.before, rows[0].selection.function);
  Traffic traffic = traffic_of(*call);
  // The machine's peak is measured in float32; what it does in other types at most is not known.
  const bool is_whole = traffic.is_float32 || flops == 0;
  auto peaks = runtime::peaks();
  size_t width = 0;
  for (const Row& row : rows) { width = std::max(width, row.name.size()); }
  if (!arguments.json()) {
    int threads = 1;
    for (const runtime::Measurement& m : *measured) { threads = std::max(threads, m.threads); }
    fmt::print("{}: {} thread{}, {}\n", rows[0].selection.program.view(), threads, threads == 1 ? "" : "s",
               rows[0].selection.target.str());
  }
  std::vector<nlohmann::json> lines;
  for (size_t i = 0; i < rows.size(); ++i) {
    const runtime::Measurement& m = (*measured)[i];
    double least = peaks.ok() ? roofline_seconds(flops, traffic, *peaks, functions[i]->threads) : 0;
    nlohmann::json line = {{"name", rows[i].name},     {"program", rows[i].selection.program.str()}, {"seconds", m.seconds}, {"deviation", m.deviation},
                             {"minimum", m.minimum},     {"blocks", m.blocks},                         {"calls", m.calls},     {"gflops", m.gflops(flops)},
                             {"gbytes", m.gbytes(traffic.bytes)}, {"threads", m.threads},  {"target", rows[i].selection.target.str()}};
    if (least > 0) { line["roofline"] = least / m.seconds; }
    if (least > 0 && !is_whole) { line["roofline_of"] = "memory"; }
    runtime::Speeds against = i > 0 ? runtime::compare((*measured)[0], m) : runtime::Speeds{};
    if (i > 0) { line["difference"] = verdict_name(against.verdict); }
    line["cache"] = cache;
    line["arguments"] = arguments.all("--arg");
    for (const std::string& file : arguments.all("--inputs")) { line["arguments"].push_back("--inputs " + file); }
    line["date"] = now_text();
    lines.push_back(line);
    if (arguments.json()) {
      fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      continue;
    }
    fmt::print("  {:<{}}  {:>11} +- {:.1f}%", rows[i].name, width, duration_text(m.seconds), m.deviation * 100);
    if (flops > 0) { fmt::print("  {:8.2f} GFLOP/s", m.gflops(flops)); }
    fmt::print("  {:8.2f} GB/s", m.gbytes(traffic.bytes));
    const char* roof = is_whole ? "the roofline" : "what memory lets through";
    // More than all of it says that it was measured while something else ran.
    const bool is_above = least > m.seconds * 1.005;
    if (is_above) { fmt::print("  above {}: `loopsmith target show --measure` measures it again", roof); }
    if (least > 0 && !is_above) { fmt::print("  {:5.1f}% of {}", 100 * least / m.seconds, roof); }
    if (i > 0) { fmt::print("  {:.1f}x{}", (*measured)[0].seconds / m.seconds, against.verdict == runtime::Speeds::Verdict::Same ? "  no difference" : ""); }
    fmt::print("\n");
  }
  for (size_t i = 0; arguments.has("--profile") && i < rows.size(); ++i) {
    auto times = loop_times(rows[i].selection, call->sizes, depth);
    if (!times) { return fail(times.diagnostics()); }
    double whole = 0;
    for (const LoopTimeRow& t : *times) { whole += t.depth == 1 ? t.seconds : 0; }
    if (!arguments.json()) { fmt::print("loops of {}, apart from that:\n", rows[i].name); }
    for (const LoopTimeRow& t : *times) {
      if (arguments.json()) {
        nlohmann::json line = {{"event", "loop"}, {"name", rows[i].name}, {"loop", t.loop}, {"depth", t.depth}, {"place", t.place}, {"runs", t.runs}, {"seconds", t.seconds}};
        fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
        continue;
      }
      std::string name = std::string(static_cast<size_t>(2 * t.depth), ' ') + t.loop;
      fmt::print("{:<28} {:>11}  {:>5.1f}%  {:>9.0f} run{}  {}\n", name, duration_text(t.seconds), whole > 0 ? 100 * t.seconds / whole : 0, t.runs, t.runs == 1 ? " " : "s", t.place);
    }
    if (times->empty() && !arguments.json()) { fmt::print("  none: it has no loop of several statements\n"); }
  }
  if (arguments.has("--counters")) {
    std::vector<runtime::EventCounts> counted;
    for (const runtime::JitFunction* function : functions) {
      auto counts = runtime::count_events(*function, call->sizes, options);
      if (!counts) { return fail(counts.diagnostics()); }
      counted.push_back(std::move(*counts));
    }
    show_counts(rows, counted, width, arguments.json());
  }
  // What was there before is compared with; then this measurement is part of it.
  std::vector<CheckedCase> cases;
  for (size_t i = 0; arguments.has("--check") && i < lines.size(); ++i) {
    const runtime::Measurement& m = (*measured)[i];
    CheckedCase c{rows[i].selection.program.str(), rows[i].name, m.seconds};
    std::optional<double> earlier;
    if (std::filesystem::exists(history)) {
      auto found = earlier_seconds(history, lines[i]);
      if (!found) { return fail(found.diagnostics()); }
      earlier = *found;
    }
    if (earlier && m.seconds > *earlier * (1 + slower / 100)) {
      c.failure = fmt::format("{}, {}: {} is {:.0f}% slower than before ({})", c.group, c.name, duration_text(m.seconds), 100 * (m.seconds / *earlier - 1), duration_text(*earlier));
      fmt::print(stderr, "loopsmith bench: {}\n", c.failure);
    }
    cases.push_back(std::move(c));
  }
  if (!history.empty()) {
    if (auto status = append_history(history, lines); !status) { return fail(status.diagnostics()); }
  }
  if (auto path = arguments.get("--junit")) {
    if (auto status = write_file(*path, junit("loopsmith bench " + arguments.positional()[0], cases)); !status) { return fail(status.diagnostics()); }
  }
  bool all_passed = std::all_of(cases.begin(), cases.end(), [](const CheckedCase& c) { return c.failure.empty(); });
  return all_passed ? exit_done : exit_input;
}

}  // namespace loopsmith::driver::commands
