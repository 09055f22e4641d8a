// The table of budgets with measured values: one row per promised latency, size or speed-up, for this build on this
// machine. A row is `ok`, `over`, `not built` (the program lacks the feature), `left out` (by an option) or `failed` (the
// measurement was impossible). docs/bench.md lists further benchmarks, for single rooms.
//
//     bench-budgets [--quick] [--tune-seconds N] [--program FILE]
//
// The exit status is 1 if a row failed, never because of a value: machines differ, and are busy.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cost/estimate.h"
#include "frontend/file.h"
#include "ir/printer.h"
#include "runtime/bench.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "script/schedules.h"
#include "support/process.h"
#include "support/text.h"
#include "syntax/document.h"
#include "target/hardware.h"
#include "tests/bench/cpu/peers.h"
#include "tests/bench/cpu/programs.h"
#include "tests/bench/cpu/race.h"
#include "tests/bench/editor.h"
#include "tests/bench/matmul.h"
#include "tests/bench/texts.h"
#include "tests/support/paths.h"
#include "transform/pipelines.h"

using namespace loopsmith;
using bench::Editor;
using lsp::Json;

namespace {

struct Options {
  bool quick = false;
  bool gate = false;             // a row over its budget is a failure
  double tune_seconds = 60;
  std::string program;
};

auto seconds(Clock::duration span) -> double { return std::chrono::duration<double>(span).count(); }

// ---- the table -----------------------------------------------------------------------------------------------------

int failures = 0;
int over = 0;

struct Row {
  std::string what;
  std::string on;
  double budget = 0;          // in the unit of the row; 0: no budget
  const char* unit = "ms";
  bool more_is_better = false;
};

void print_row(const Row& row, const std::string& measured, const std::string& ratio, const char* verdict, const std::string& note) {
  std::string budget = row.budget > 0 ? fmt::format("{:.4g} {}", row.budget, row.unit) : "-";
  fmt::print("{:<46} {:<22} {:>13} {:>26} {:>7}  {:<9} {}\n", row.what, row.on, budget, measured, ratio, verdict, note);
  std::fflush(stdout);
}

/// `how`: the kind of value, "median of 30". `tvm`: TVM's value in the same unit; 0: no comparison.
void report(const Row& row, double value, const std::string& how, double tvm = 0, std::string note = {}) {
  bool is_ok = row.budget <= 0 || (row.more_is_better ? value >= row.budget : value <= row.budget);
  if (tvm > 0) { note = fmt::format("{:.1f} times TVM's {:.4g} {}{}{}", tvm / value, tvm, row.unit, note.empty() ? "" : "; ", note); }
  over += is_ok ? 0 : 1;
  print_row(row, fmt::format("{:.4g} {} ({})", value, row.unit, how), row.budget > 0 ? fmt::format("{:.2f}", value / row.budget) : "-",
            row.budget > 0 ? (is_ok ? "ok" : "over") : "-", note);
}
void not_built(const Row& row, const std::string& note = {}) { print_row(row, "-", "-", "not built", note); }
void left_out(const Row& row, const std::string& note) { print_row(row, "-", "-", "left out", note); }
void failed(const Row& row, const std::string& why) {
  ++failures;
  print_row(row, "-", "-", "failed", why);
}

auto why(const Diagnostics& diagnostics) -> std::string { return diagnostics.empty() ? "no reason given" : diagnostics.front().message(); }

using Samples = std::vector<double>;

auto percentile(Samples samples, double share) -> double {
  std::sort(samples.begin(), samples.end());
  auto at = static_cast<size_t>(std::ceil(share * static_cast<double>(samples.size())));
  return samples[std::min(samples.size() - 1, at > 0 ? at - 1 : 0)];
}
auto median(const Samples& samples) -> double { return percentile(samples, 0.5); }
auto of(const char* what, const Samples& samples) -> std::string { return fmt::format("{}, n {}", what, samples.size()); }

/// At least one and up to `most` values, for about `limit` seconds.
auto sample(size_t most, double limit, const std::function<double()>& take) -> Samples {
  Samples out;
  Deadline end = in(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit)));
  do {
    double value = take();
    if (value < 0) { return {}; }
    out.push_back(value);
  } while (out.size() < most && Clock::now() < end);
  return out;
}

/// Seconds of one call; quick calls are timed many at once.
auto timed(size_t most, double limit, const std::function<bool()>& run) -> Samples {
  if (!run()) { return {}; }
  Clock::time_point first = Clock::now();
  if (!run()) { return {}; }
  double once = std::max(seconds(Clock::now() - first), 1e-8);
  int calls = std::max(1, static_cast<int>(200e-6 / once));
  return sample(most, limit, [&] {
    Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i) {
      if (!run()) { return -1.0; }
    }
    return seconds(Clock::now() - start) / calls;
  });
}

void report_median(const Row& row, const Samples& samples, double scale, double tvm = 0, const std::string& note = {}) {
  if (samples.empty()) { return failed(row, "it gave an error"); }
  report(row, median(samples) * scale, of("median", samples), tvm, note);
}

// ---- programs ------------------------------------------------------------------------------------------------------

auto has_command(const Options& options, const char* command) -> bool {
  auto result = run_program({.argv = {options.program, command, "--help"}, .standard_error = Stream::Null}, "", in(std::chrono::seconds(10)));
  return result.ok() && result->status.succeeded();
}

void starts(const Options& options) {
  auto start = [&](const std::vector<std::string>& arguments) {
    return sample(options.quick ? 10 : 40, 3, [&] {
      std::vector<std::string> argv = {options.program};
      argv.insert(argv.end(), arguments.begin(), arguments.end());
      Clock::time_point begin = Clock::now();
      auto result = run_program({.argv = argv, .standard_error = Stream::Null}, "", in(std::chrono::seconds(10)));
      return result.ok() && result->status.succeeded() ? seconds(Clock::now() - begin) : -1;
    });
  };
  report_median({"start of the program, to its end", "loopsmith --version", 30}, start({"--version"}), 1e3);
  Row repl{"start of the REPL, to its end", "an empty pipe", 30};
  has_command(options, "repl") ? report_median(repl, start({"repl", "--no-history"}), 1e3) : not_built(repl);
}

// ---- the server ----------------------------------------------------------------------------------------------------

void server_starts(const Options& options) {
  Row row{"server start to `initialize` answered", "", 50};
  Row first{"server start to first diagnostics", "200 lines", 100};
  std::string text = bench::file_of_lines(200);
  Samples initialized;
  Samples published;
  for (int i = 0; i < (options.quick ? 5 : 15); ++i) {
    auto editor = Editor::start(options.program);
    if (!editor) { return failed(row, "the server did not answer"), failed(first, "the server did not answer"); }
    initialized.push_back(editor->initialize_seconds());
    editor->open("file:///start.tir", text);
    auto at = editor->diagnostics("file:///start.tir", 1);
    if (!at) { return failed(first, "no diagnostics came"); }
    if (editor->problems() > 0) { return failed(first, "the file has mistakes"); }
    published.push_back(seconds(*at - editor->started()));
  }
  report_median(row, initialized, 1e3);
  report_median(first, published, 1e3);
}

/// Types like a user: letter by letter a term at the end of a statement, which is then deleted; a blank line and a comment;
/// in each program in turn.
class Typist {
 public:
  /// The statements to edit: the line of the first one, and the distance to the next in lines.
  struct Places { uint32_t first = bench::typing_line, every = bench::unit_lines, columns = 48; };
  Typist(Editor& editor, std::string uri, int lines) : Typist(editor, std::move(uri), lines, Places()) {}
  Typist(Editor& editor, std::string uri, int lines, Places places)
      : editor_(editor), uri_(std::move(uri)), places_(places), units_(lines / static_cast<int>(places.every)) {}

  /// Seconds until the diagnostics of the next key; negative: they did not arrive.
  auto key() -> double {
    static const std::string term = " + A[vi, vj] * T.float32(3)  # and so on";
    auto unit = static_cast<uint32_t>(turn_ * 7 % units_);
    uint32_t line = unit * places_.every + places_.first;
    auto column = static_cast<uint32_t>(places_.columns + std::min(at_, 2 * term.size() - at_));
    double took = at_ < term.size() ? change(line, column, column, term.substr(at_, 1)) : change(line, column - 1, column, "");
    if (++at_ == 2 * term.size()) {
      at_ = 0;
      ++turn_;
    }
    return took;
  }
  /// Types an unclosed bracket in the first program, and deletes it.
  auto bracket() -> double {
    double there = change(bench::typing_line, 24, 24, "(");
    double back = change(bench::typing_line, 24, 25, "");
    return there < 0 || back < 0 ? -1 : std::max(there, back);
  }
  [[nodiscard]] auto version() const -> int64_t { return version_; }

 private:
  auto change(uint32_t line, uint32_t from, uint32_t to, std::string_view text) -> double {
    Clock::time_point sent = editor_.change(uri_, ++version_, line, from, to, text);
    auto at = editor_.diagnostics(uri_, version_);
    return at ? seconds(*at - sent) : -1;
  }

  Editor& editor_;
  std::string uri_;
  Places places_;
  int units_;
  size_t turn_ = 0;
  size_t at_ = 0;
  int64_t version_ = 1;
};

void typing(const Options& options, bool can_tune, const std::string& folder) {
  for (auto [lines, budget] : {std::pair{200, 5.0}, {1000, 10.0}, {10000, 20.0}}) {
    Row row{"didChange written to diagnostics read, typing", fmt::format("{} lines", lines), budget};
    auto editor = Editor::start(options.program, folder);
    if (!editor) { failed(row, "the server did not answer"); continue; }
    std::string uri = "file:///typing.tir";
    std::string text = bench::file_of_lines(lines);
    auto before = editor->memory();
    Clock::time_point opened = Clock::now();
    editor->open(uri, text);
    auto cold = editor->diagnostics(uri, 1);
    auto settled = editor->settle(uri, 1);
    if (!cold || !settled || editor->problems() > 0) { failed(row, "the file was not analysed, or has mistakes"); continue; }
    auto after = editor->memory();
    Typist typist(*editor, uri, lines);
    Samples keys = sample(options.quick ? 160 : 1000, options.quick ? 1.5 : 15, [&] { return typist.key(); });
    if (keys.empty()) { failed(row, "no diagnostics came"); continue; }
    report(row, percentile(keys, 0.99) * 1e3, of("p99", keys), 0, "median " + duration_text(median(keys)));
    if (lines == 1000) {
      for (auto [what, method] : {std::pair{"hover", "textDocument/hover"}, {"completion", "textDocument/completion"}, {"signature help", "textDocument/signatureHelp"}}) {
        Row asked{what, "1000 lines", 20};
        uint32_t place = 0;
        bool is_unknown = false;
        bool is_first = true;
        Samples answers = sample(options.quick ? 100 : 400, 2, [&] {
          place += 13;
          Json params = {{"textDocument", {{"uri", uri}}}, {"position", {{"line", place % 1000}, {"character", 4 + place % 24}}}};
          auto answer = editor->ask(method, params);
          if (is_first && answer && answer->is_unknown) { is_unknown = true; }
          is_first = false;
          return answer && !is_unknown ? answer->seconds : -1;
        });
        if (is_unknown) { not_built(asked); continue; }
        if (answers.empty()) { failed(asked, "no answer came"); continue; }
        report(asked, percentile(answers, 0.95) * 1e3, of("p95", answers), 0, "longest " + duration_text(percentile(answers, 1)));
      }
      Row cost{"cost of a running tuning job to typing", "1000 lines", 1.2, "times"};
      if (!can_tune) { not_built(cost); continue; }
      auto job = editor->tune("file:///matmul.tir", bench::matmul_text, "main");
      if (!job) { failed(cost, "the tuner did not start"); continue; }
      std::this_thread::sleep_for(std::chrono::milliseconds(1000));
      Samples busy = sample(keys.size(), options.quick ? 1 : 15, [&] { return typist.key(); });
      if (!editor->stop_tuning(*job) || busy.empty()) { failed(cost, "the tuner ended at once, or no diagnostics came"); continue; }
      report(cost, median(busy) / median(keys), of("medians", busy), 0, fmt::format("of p95 {:.2f}", percentile(busy, 0.95) / percentile(keys, 0.95)));
    }
    if (lines == 10000) {
      Samples worst = sample(options.quick ? 6 : 20, options.quick ? 1 : 10, [&] { return typist.bracket(); });
      Row bracket{"the same, worst key: an unclosed bracket", "10000 lines", 100};
      worst.empty() ? failed(bracket, "no diagnostics came") : report(bracket, percentile(worst, 1) * 1e3, of("longest", worst));
      report({"from cold to diagnostics of all programs", "10000 lines", 300}, seconds(*cold - opened) * 1e3, "once");
      report({"from cold to all diagnostics, schedules too", "10000 lines, 400 of both", 300}, seconds(*settled - opened) * 1e3, "once");
      Row memory{"memory for a byte of text", "10000 lines", 250, "bytes"};
      if (before && after) {
        report(memory, static_cast<double>(*after - std::min(*before, *after)) / static_cast<double>(text.size()), "once");
      } else {
        left_out(memory, "this system does not say");
      }
    }
  }
}

// All lines in one program, so that caches per declaration cannot help.
void typing_in_one(const Options& options) {
  for (auto [lines, budget] : {std::pair{1000, 10.0}, {10000, 20.0}}) {
    Row row{"the same, all lines in one program", fmt::format("{} lines", lines), budget};
    auto editor = Editor::start(options.program);
    if (!editor) { failed(row, "the server did not answer"); continue; }
    std::string uri = "file:///one.tir";
    editor->open(uri, bench::function_of_lines(lines));
    if (!editor->settle(uri, 1) || editor->problems() > 0) { failed(row, "the file was not analysed, or has mistakes"); continue; }
    Typist typist(*editor, uri, lines, {.first = 2 + bench::statement_typing_line, .every = bench::statement_lines});
    Samples keys = sample(options.quick ? 80 : 600, options.quick ? 2 : 15, [&] { return typist.key(); });
    if (keys.empty()) { failed(row, "no diagnostics came"); continue; }
    report(row, percentile(keys, 0.99) * 1e3, of("p99", keys), 0, "median " + duration_text(median(keys)));
  }
}

/// The times from an edit of a number in a schedule to its results; empty: the row was reported.
auto edit_times(const Options& options, const Row& row, const std::string& uri, const std::string& text) -> std::pair<Samples, size_t> {
  auto fail = [&](const char* why) {
    failed(row, why);
    return std::pair(Samples(), size_t{0});
  };
  auto editor = Editor::start(options.program);
  if (!editor) { return fail("the server did not answer"); }
  std::vector<std::pair<uint32_t, uint32_t>> places;  // the places of numbers that can be replaced
  uint32_t number = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); ++number) {
    if (line.ends_with(", \"tile\", 1)")) { places.emplace_back(number, static_cast<uint32_t>(line.size() - 2)); }
  }
  editor->open(uri, text);
  if (places.empty() || !editor->settle(uri, 1)) { return fail("the schedule did not run"); }
  // The diagnostics of this version arrived while the test waited for it.
  if (editor->problems() > 0) { return fail("the schedule has mistakes"); }
  int64_t version = 1;
  Samples times = sample(options.quick ? 40 : 300, options.quick ? 1.5 : 10, [&] {
    auto [line, column] = places[static_cast<size_t>(version) % places.size()];
    Clock::time_point sent = editor->change(uri, version + 1, line, column, column + 1, std::to_string(version / 5 % 10));
    auto at = editor->settle(uri, ++version);
    return at ? seconds(*at - sent) : -1;
  });
  if (times.empty()) { return fail("no results came"); }
  return {std::move(times), places.size()};
}

void schedule_edits(const Options& options) {
  const Row row{"edit in a 60-line schedule to its results", "conv nest", 20};
  auto [times, places] = edit_times(options, row, "file:///conv.tir", bench::long_schedule());
  if (times.empty()) { return; }
  report(row, percentile(times, 0.95) * 1e3, of("p95", times), 0, fmt::format("median {}; {} places, early to last", duration_text(median(times)), places));
}

/// Stages have the budget of blocks, although a statement translates all steps anew.
void stage_edits(const Options& options) {
  const Row row{"edit in 30 steps on stages to their results", "packed product", 20};
  auto [blocks, block_places] = edit_times(options, row, "file:///blocks.tir", bench::block_schedule());
  if (blocks.empty()) { return; }
  auto [times, places] = edit_times(options, row, "file:///stages.py", bench::stage_schedule());
  if (times.empty()) { return; }
  report(row, percentile(times, 0.95) * 1e3, of("p95", times), 0,
         fmt::format("median {}; {:.2f} times the median of these steps on blocks, {}", duration_text(median(times)), median(times) / median(blocks), duration_text(median(blocks))));
}

/// Cancels running work: measures the time until the next request is answered, and until a search reports its end. The search then compares its
/// best with the program; the row notes the time of that.
void cancelling(const Options& options, bool can_tune) {
  Row row{"cancel to quiet: a request", "minimising 60 lines", 200};
  auto editor = Editor::start(options.program);
  if (!editor) { return failed(row, "the server did not answer"); }
  std::string uri = "file:///conv.tir";
  std::string text = bench::long_schedule();
  editor->open(uri, text);
  if (!editor->settle(uri, 1)) { return failed(row, "the schedule did not run"); }
  auto at = static_cast<int64_t>(text.find("sch.get_block"));
  Json action = {{"title", "Minimise"}, {"kind", "refactor.rewrite"}, {"data", {{"uri", uri}, {"version", 1}, {"at", at}, {"rewrite", "minimise"}}}};
  auto whole = editor->ask("codeAction/resolve", action);
  // At the end of the schedule every step is needed, so the request does all of the work and then reports an error.
  if (!whole || whole->seconds < 2e-3) { return failed(row, "there is nothing to cancel"); }
  size_t turn = 0;
  Samples times = sample(options.quick ? 10 : 60, options.quick ? 1 : 10, [&] {
    int64_t asked = editor->request("codeAction/resolve", action);
    // Cancel at varying moments of the request.
    std::this_thread::sleep_for(std::chrono::duration<double>(whole->seconds * 0.9 * static_cast<double>(turn++ % 8) / 8));
    Clock::time_point told = Clock::now();
    editor->cancel(asked);
    auto answer = editor->ask("textDocument/hover", {{"textDocument", {{"uri", uri}}}, {"position", {{"line", 1}, {"character", 5}}}});
    return answer ? seconds(Clock::now() - told) : -1;
  });
  if (times.empty()) { return failed(row, "no answer came"); }
  report(row, percentile(times, 1) * 1e3, of("longest", times), 0, fmt::format("median {}; uncancelled {}", duration_text(median(times)), duration_text(whole->seconds)));

  Row job{"cancel to quiet: a search", "matmul 128", 200};
  if (!can_tune) { return not_built(job, "there is no `loopsmith tune`"); }
  std::string small = bench::matmul_text;
  for (size_t found = small.find("1024"); found != std::string::npos; found = small.find("1024", found)) { small.replace(found, 4, "128"); }
  editor->open("file:///small.tir", small);
  Samples compared;
  Samples ends = sample(options.quick ? 1 : 5, options.quick ? 1 : 30, [&] {
    auto started = editor->ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "file:///small.tir"}, {"function", "main"}, {"seconds", 60}}}}});
    if (!started || !started->result.is_object()) { return -1.0; }
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    Clock::time_point told = Clock::now();
    (void)editor->request("workspace/executeCommand", {{"command", "loopsmith.tune.stop"}, {"arguments", {{{"job", started->result["job"]}}}}});
    // The search is stopped, and then compares its best with the program.
    double stopped = -1;
    while (auto message = editor->next(in(std::chrono::seconds(30)))) {
      if (message->first.value("method", "") != "window/showMessage") { continue; }
      double passed = seconds(message->second - told);
      if (stopped >= 0) {
        compared.push_back(passed);
        return stopped;
      }
      stopped = passed;
      // On a slow machine the search may not have found a schedule yet; then no comparison follows.
      if (message->first["params"].value("message", "").find("comparing") == std::string::npos) { return stopped; }
    }
    return -1.0;
  });
  if (ends.empty()) { return failed(job, "the search did not end"); }
  report(job, percentile(ends, 1) * 1e3, of("longest", ends), 0, fmt::format("median {}; its best compared: {}", duration_text(median(ends)), compared.empty() ? std::string("none was found") : "median " + duration_text(median(compared))));
}

void open_files(const Options& options) {
  Row row{"memory, server and worker", "100 files of 200 lines", 300, "MB"};
  auto editor = Editor::start(options.program);
  if (!editor) { return failed(row, "the server did not answer"); }
  std::string text = bench::file_of_lines(200);
  for (int i = 0; i < 100; ++i) { editor->open(fmt::format("file:///{}.tir", i), text); }
  for (int i = 0; i < 100; ++i) {
    if (!editor->settle(fmt::format("file:///{}.tir", i), 1)) { return failed(row, "a file was not analysed"); }
  }
  auto bytes = editor->memory();
  bytes ? report(row, static_cast<double>(*bytes) * 1e-6, "once") : left_out(row, "this system does not say");
}

// ---- the compiler, against TVM's stated times ----------------------------------------------------------------------

auto module_of(const std::string& text) -> IRModule {
  syntax::Document document(text);
  frontend::File file(script::predeclared);
  file.update(document);
  IRModule module;
  bool is_good = document.diagnostics().empty() && !has_errors(file.diagnostics());
  for (size_t i = 0; i < file.size() && is_good; ++i) {
    if (file.declaration(i).module) { module = file.declaration(i).module; }
  }
  return module;
}

void reading(const Options& options) {
  const size_t rounds = options.quick ? 30 : 200;
  std::string text = bench::module_of_94_lines();
  Row read{"parse and check from cold", "94-line module", 33.0 / 15};
  Row print{"print", "94-line module", 1.26 / 10};
  IRModule module = module_of(text);
  if (!module) { return failed(read, "the module has mistakes"), failed(print, "the module has mistakes"); }
  Samples reads = timed(rounds, 2, [&] { return static_cast<bool>(module_of(text)); });
  report_median(read, reads, 1e3, 33);
  std::string file = bench::file_of_lines(1000);
  Samples whole = timed(rounds, 2, [&] { return static_cast<bool>(module_of(file)); });
  report_median({"parse and check from cold, a line", "1000 lines of programs", 350.0 / 15, "us"}, whole, 1e6 / 1000, 350);
  std::string printed = print_script(module);
  auto lines = static_cast<double>(std::count(printed.begin(), printed.end(), '\n'));
  print.on = fmt::format("the same, {} lines", lines);
  print.budget = 1.26 / 10 * lines / 94;
  report_median(print, timed(rounds, 1, [&] { return !print_script(module).empty(); }), 1e3, 1.26 * lines / 94);
}

void schedules(const Options& options) {
  const size_t rounds = options.quick ? 30 : 200;
  Row split{"new schedule and one split", "matmul", bench::tvm_new_schedule_and_split / 10, "us"};
  IRModule module = module_of(bench::matmul_text);
  auto trace = schedule::trace_from_json(bench::matmul_trace);
  if (!module || !trace) { return failed(split, "the program or the trace cannot be read"); }
  report_median(split, timed(rounds, 1, [&] {
                  schedule::Schedule sch(module, 1);
                  auto block = sch.call("get_block", {"C"});
                  auto loops = block.ok() ? sch.call("get_loops", {*block}) : block;
                  return loops.ok() && sch.call("split", {schedule::loops_of(*loops)[0], schedule::Value::List{nullptr, 32}}).ok();
                }),
                1e6, bench::tvm_new_schedule_and_split);
  schedule::Schedule done(module, 1);
  bool is_replayed = done.replay(*trace).ok();
  report_median({"copy of a schedule", "matmul", bench::tvm_copy / 10, "us"}, timed(rounds, 1, [&] {
                  schedule::Schedule copy = done;
                  return is_replayed && !copy.trace().empty();
                }),
                1e6, bench::tvm_copy);
  // TVM computes features for a learnt model; Loopsmith computes the facts for the estimate, and the estimate.
  schedule::Schedule tiled(module, 1);
  (void)tiled.replay(*trace);
  const cost::CoreModel core = cost::core_of(target::host());
  const schedule::FuncState* func = tiled.state().func(tiled.func_working_on());
  Row features{"features of a candidate, and their estimate", "matmul", 4300.0 / 50, "us"};
  if (func == nullptr || !cost::estimate(*func, core)) {
    failed(features, "the candidate has no estimate");
  } else {
    report_median(features, timed(rounds, 1, [&] { return cost::estimate(*func, core).has_value(); }), 1e6, 4300);
  }
  // TVM's figure is for 37 instructions; our trace includes the postprocessing.
  double tvm = bench::tvm_replay * static_cast<double>(trace->size()) / bench::tvm_replay_instructions;
  report_median({"replay of a trace", fmt::format("matmul, {} instructions", trace->size()), tvm / 10, "us"}, timed(rounds, 2, [&] {
                  schedule::Schedule sch(module, 1);
                  return sch.replay(*trace).ok();
                }),
                1e6, tvm, "TVM's scaled by instructions");
}

void compiling(const Options& options) {
  Row row{"scheduled module to callable code", "matmul 1024, tiled", 33.0 / 2};
  std::ifstream stream(tests::source_folder() + "/examples/matmul_1024.tir");
  std::stringstream text;
  text << stream.rdbuf();
  auto programs = bench::programs_of(text.str());
  if (!programs.ok()) { return failed(row, why(programs.diagnostics())); }
  if (programs->empty() || programs->front().versions.size() < 2) { return failed(row, "the file has no schedule"); }
#ifdef LOOPSMITH_BENCH_LLVM
  IRModule module = programs->front().versions[1].module;
  report_median(row, timed(options.quick ? 15 : 100, options.quick ? 2 : 8, [&] {
                  auto flat = transform::lower(module);
                  return flat.ok() && runtime::JitModule::compile(*flat, target::host(), {}, module).ok();
                }),
                1e3, 33);
#else
  not_built(row, "this build has no LLVM");
#endif
}

// ---- builds --------------------------------------------------------------------------------------------------------

/// A folder of different kernels: built by one job and by one job per core, each into its own folder and cache, and a second time without
/// changes.
void building(const Options& options, const std::string& folder) {
  const int cores = target::host().cores;
  const int count = options.quick ? 6 : 100;
  const std::string on = fmt::format("{} kernels", count);
  Row unchanged{"build of a folder where nothing changed", on, 200};
  Row scales{fmt::format("build of a folder, -j {} against -j 1", cores), on, 0.9 * cores, "times", true};
  const std::string kernels = folder + "/kernels";
  std::filesystem::create_directory(kernels);
  for (int i = 0; i < count; ++i) {
    std::string text = bench::matmul_text;
    for (size_t at = text.find("1024"); at != std::string::npos; at = text.find("1024", at)) { text.replace(at, 4, std::to_string(64 + i)); }
    const std::string name = fmt::format("kernel_{}", i);
    text.replace(text.find("main"), 4, name);
    std::ofstream(fmt::format("{}/{}.tir", kernels, name)) << text;
  }
  auto build = [&](const std::string& output, int jobs) {
    Clock::time_point begin = Clock::now();
    auto result = run_program({.argv = {options.program, "build", kernels, "-o", folder + "/" + output, "--cache", folder + "/" + output + ".objects", "-j", std::to_string(jobs)},
                               .standard_error = Stream::Null}, "", in(std::chrono::minutes(10)));
    return result.ok() && result->status.succeeded() ? seconds(Clock::now() - begin) : -1;
  };
  const double one = build("one", 1);
  const double all = build("all", cores);
  if (one < 0 || all < 0) { return failed(unchanged, "the build failed"), failed(scales, "the build failed"); }
  report_median(unchanged, sample(options.quick ? 3 : 15, 3, [&] { return build("all", cores); }), 1e3);
  std::string note = fmt::format("{} and {}", duration_text(one), duration_text(all));
  cores > 1 ? report(scales, one / all, "one run of each", 0, note) : left_out(scales, "one core");
}

// ---- tuning --------------------------------------------------------------------------------------------------------

struct Tuned {
  double trial_seconds = 0;  // 0: no trial was measured
  int64_t trials = 0;
  std::string schedule;      // empty: the search has not ended
  std::string message;
};

auto tune(const Options& options, const std::string& folder, const std::vector<std::string>& more, double patience) -> Tuned {
  ProcessOptions how;
  how.argv = {options.program, "tune", folder + "/matmul.tir", "--json", "--db", folder + "/tune.db"};
  how.argv.insert(how.argv.end(), more.begin(), more.end());
  how.standard_error = Stream::Null;
  Tuned out;
  auto process = Process::start(how);
  if (!process.ok()) { out.message = why(process.diagnostics()); return out; }
  Deadline deadline = in(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience)));
  while (true) {
    ReadResult line = process->read_line(deadline);
    if (line.status != IoStatus::Done) { break; }
    std::string problem;
    auto json = lsp::parse_json(line.data, problem);
    if (!json) { continue; }
    std::string event = lsp::string_in(*json, "event");
    if (event == "error") { out.message = lsp::string_in(*json, "message"); }
    int64_t trials = lsp::int_in(*json, event == "done" ? "trials" : "trial").value_or(0);
    const Json& elapsed = lsp::member(*json, "elapsed");
    // Verification follows the last trial and is no trial; only lines with more trials count.
    if (trials > out.trials && elapsed.is_number()) {
      out.trials = trials;
      out.trial_seconds = elapsed.get<double>() / static_cast<double>(trials);
    }
    if (event == "done") { out.schedule = lsp::string_in(*json, "schedule_text"); }
  }
  process->kill();
  if (out.message.empty() && out.schedule.empty()) { out.message = "the tuner gave no schedule"; }
  return out;
}

/// GFLOP/s of the tuned matmul and of OpenBLAS on all cores, measured in turns; none if the tuned program does not compile.
auto beside_openblas(const std::string& text) -> std::optional<std::pair<double, double>> {
  auto programs = bench::programs_of(text);
  if (!programs.ok() || programs->empty()) { return {}; }
  const IRModule module = programs->front().versions.back().module;
  auto flat = transform::lower(module);
  if (!flat.ok()) { return {}; }
  auto code = runtime::JitModule::compile(*flat, target::host(), {}, module);
  if (!code.ok()) { return {}; }
  const runtime::JitFunction& function = code->functions().front();
  auto arguments = runtime::make_arguments(function.interface, {}, 1);
  auto theirs = runtime::Tensor::zeros(DataType::float_(32), {1024, 1024});
  if (!arguments.ok() || !theirs.ok()) { return {}; }
  auto slots = runtime::bind_arguments(function.interface, arguments->values);
  if (!slots.ok()) { return {}; }
  std::vector<bench::Racer> racers = {
      {"ours", [&] { (void)runtime::invoke(function, *slots); }, {}},
      {"OpenBLAS",
       bench::openblas_matmul(1024, arguments->tensors[0].as<float>().data(), arguments->tensors[1].as<float>().data(), theirs->as<float>().data(),
                              target::host().cores),
       {}}};
  bench::race(racers);
  const double flop = 2.0 * 1024 * 1024 * 1024;
  return {{flop / racers[0].seconds() * 1e-9, flop / racers[1].seconds() * 1e-9}};
}

void tuning(const Options& options, bool can_tune, const std::string& folder) {
  Row trial{"a tuning trial", "matmul 1024", 0.17, "s"};
  Row quality{"quality, share of OpenBLAS", "matmul 1024, 128 trials", 0.4, "", true};
  if (!can_tune) { return not_built(trial, "there is no `loopsmith tune`"), not_built(quality, "there is no `loopsmith tune`"); }
  // The session that TVM's figures in docs/bench.md come from: 128 trials, with the time to start.
  std::vector<std::string> session = {"--trials", options.quick ? "4" : "128"};
  if (options.tune_seconds > 0) { session.insert(session.end(), {"--time", fmt::format("{:.0f}", options.tune_seconds)}); }
  else { session.emplace_back("--no-verify"); }
  Tuned best = tune(options, folder, session, options.tune_seconds * 2 + 180);
  best.trials > 0 ? report(trial, best.trial_seconds, fmt::format("mean of {}", best.trials), 1.7, "with the start of the session")
                  : failed(trial, best.message);
  if (options.tune_seconds <= 0) { return left_out(quality, "--tune-seconds 0"); }
  if (!bench::openblas_matmul(1, nullptr, nullptr, nullptr, 1)) { return left_out(quality, "OpenBLAS is missing"); }
  quality.on = fmt::format("matmul 1024, {} trials", best.trials);
  if (best.schedule.empty()) { return failed(quality, best.message); }
  auto speeds = beside_openblas(std::string(bench::matmul_text) + "\n\n" + best.schedule);
  if (!speeds) { return failed(quality, "the tuned schedule does not run"); }
  report(quality, speeds->first / speeds->second, "all cores", 0,
         fmt::format("{:.1f} of {:.1f} GFLOP/s", speeds->first, speeds->second));
}

// ---- all of it -----------------------------------------------------------------------------------------------------

auto all(const Options& options) -> int {
  char folder[] = "/tmp/bench-budgets-XXXXXX";
  if (::mkdtemp(folder) == nullptr) { fmt::print(stderr, "error: no folder can be made in /tmp\n"); return 1; }
  { std::ofstream(std::string(folder) + "/matmul.tir") << bench::matmul_text; }
  double load[1] = {0};
  (void)::getloadavg(load, 1);
  fmt::print("{}; {} cores, load {:.1f} before{}\n\n", target::host().str(), std::thread::hardware_concurrency(), load[0],
             load[0] > 1.5 ? ": the machine is busy, so times are too long" : "");
  fmt::print("{:<46} {:<22} {:>13} {:>26} {:>7}  {:<9} {}\n", "what", "on", "budget", "measured", "ratio", "", "");
  bool can_tune = has_command(options, "tune");
  starts(options);
  server_starts(options);
  typing(options, can_tune, folder);
  typing_in_one(options);
  schedule_edits(options);
  stage_edits(options);
  cancelling(options, can_tune);
  open_files(options);
  reading(options);
  schedules(options);
  compiling(options);
  building(options, folder);
  tuning(options, can_tune, folder);
  left_out({"f32 matmul 1024, one core", ""}, "bench_cpu measures it");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return failures > 0 || (options.gate && over > 0) ? 1 : 0;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  bench::use_best_kernels_of_openblas(argv);
  Options options;
  options.program = current_program();
  options.program = options.program.substr(0, options.program.rfind('/') + 1) + "loopsmith";
  bool has_tune_seconds = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--quick") {
      options.quick = true;
    } else if (argument == "--gate") {
      options.gate = true;
    } else if (argument == "--tune-seconds" && i + 1 < argc) {
      options.tune_seconds = std::atof(argv[++i]);
      has_tune_seconds = true;
    } else if (argument == "--program" && i + 1 < argc) {
      options.program = argv[++i];
    } else {
      fmt::print(stderr, "usage: bench-budgets [--quick] [--gate] [--tune-seconds N] [--program FILE]\n");
      return 2;
    }
  }
  if (options.quick && !has_tune_seconds) { options.tune_seconds = 0; }
  return all(options);
}
