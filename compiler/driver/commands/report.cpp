// `loopsmith report FILE`: makes a page about a file's programs: loops under each schedule, estimates under the roofline, tuning records. With `--fault`, makes
// a report of a fault in Loopsmith for its developers. Executes nothing.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cost/estimate.h"
#include "driver/command.h"
#include "driver/execution.h"
#include "driver/program.h"
#include "driver/report_page.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "lsp/features/bundle.h"
#include "lsp/server/report.h"
#include "schedule/loop_tree.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/text.h"
#include "target/hardware.h"
#include "target/peaks.h"
#include "tune/database/database.h"
#include "tune/session/session.h"
#include "workspace/imports.h"
#include "workspace/snapshot.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "report",
    .arguments = "FILE [-o PAGE.html] [--db F] | FILE --fault [--line N]",
    .summary = "Writes a page on a file: loops under each schedule, estimates and measurements under the roofline, tuning curves. Or a report of a fault.",
    .details = "The page is one file of HTML without scripts. Nothing is executed: times are estimates, except those of the tuning database.\n"
               "`loopsmith target show` measures the roofs once; without it they come from the processor's data sheet. `--fault` makes a folder\n"
               "below XDG_STATE_HOME with versions and the smallest part of the file that shows the error: declarations and steps without names,\n"
               "comments and texts. Nothing is sent.",
    .options = {{.name = "--output", .value = "F", .help = "the page; the default is FILE.html, - is standard output", .short_name = "-o"},
                {.name = "--db", .value = "F", .help = "the tuning database; the default is that of `tune`"},
                {.name = "--fault", .help = "a report of the first error for the developers of Loopsmith"},
                {.name = "--line", .value = "N", .help = "the error, schedule or program at this line"},
                target_option,
                json_option},
    .examples = {{"loopsmith report matmul.tir", "matmul.html"},
                 {"loopsmith report matmul.tir --db tuning.db -o - > page.html", "with the records of that database"},
                 {"loopsmith report matmul.tir --fault --line 12", "a folder to send with a bug report"}},
    .least = 1,
    .most = 1,
};

auto roof_of(const target::Target& target) -> ReportRoof {
  target::Hardware hardware = target::hardware(target);
  cost::CoreModel core = cost::core_of(target);
  ReportRoof out;
  out.machine = hardware.name.empty() ? target.str() : fmt::format("{}; {}", hardware.name, target.str());
  out.threads = std::max(1, core.cores);
  out.gflops_one = 2 * core.lanes * core.vector_fma * core.clock * 1e-9;
  out.gflops_all = out.gflops_one * out.threads;
  out.gbytes_one = core.memory_bytes * core.clock * 1e-9;
  out.gbytes_all = out.gbytes_one * out.threads;
  auto peaks = hardware.is_this_machine ? target::cached_peaks() : std::nullopt;
  if (peaks && !peaks->copy.empty()) {
    out.is_measured = true;
    out.threads = peaks->threads;
    out.gflops_one = peaks->fma_f32_one;
    out.gflops_all = peaks->fma_f32_all;
    out.gbytes_one = peaks->copy.back().one;
    out.gbytes_all = peaks->copy.back().all;
  }
  return out;
}

auto version_of(const std::string& name, const schedule::Schedule& schedule, const cost::CoreModel& core) -> ReportVersion {
  ReportVersion out{.name = name, .tree = {}};
  const schedule::FuncState* func = schedule.state().func(schedule.func_working_on());
  if (func == nullptr || !func->is_schedulable()) {
    out.problem = "it has no loops and blocks that a schedule could change";
    return out;
  }
  out.tree = schedule::draw_loop_tree(*func, {}, {.width = 140});
  if (auto known = cost::estimate(*func, core)) { out.seconds = known->seconds; }
  return out;
}

auto bytes_of(const PrimFunc& function) -> double {
  double bytes = 0;
  for (const auto& [param, buffer] : function->buffer_map) {
    double size = (buffer->dtype.bits * buffer->dtype.lanes + 7) / 8;
    for (const Expr& extent : buffer->shape) {
      auto number = as_int(extent);
      if (!number) { return 0; }
      size *= static_cast<double>(*number);
    }
    bytes += size;
  }
  return bytes;
}

/// Makes the same report as the editor's command `loopsmith.report.bundle`.
auto report_fault(const Arguments& arguments, Reporter& reporter) -> int {
  const std::string& path = arguments.positional()[0];
  auto line = parse_number(arguments.get("--line", "1"), 1, INT32_MAX);
  if (!line) { return usage_error("report", "`--line` takes a line of the file, from 1"); }
  auto text = read_file(path);
  if (!text) {
    reporter.report(text.diagnostics(), nullptr);
    return reporter.status();
  }
  auto document = workspace::analyse(path == "-" ? "<stdin>" : path, std::move(*text), workspace::imports_on_disk(path == "-" ? "<stdin>" : path));
  workspace::SnapshotPtr snapshot = document->snapshot();
  uint32_t row = std::min(static_cast<uint32_t>(*line), snapshot->lines().line_count()) - 1;
  lsp::ReportedCase shown = lsp::reported_case(*snapshot, snapshot->lines().line_start(snapshot->text(), row), {});
  bool is_python = path.ends_with(".py");
  nlohmann::json facts = lsp::report_facts(target::machine_identity());
  facts["case"] = {{"codes", shown.codes}, {"left_out", shown.left_out}, {"language", is_python ? "python" : "tirscript"}};
  auto folder = lsp::write_report(facts, {{"text", shown.text}, {"left_out", shown.left_out}, {"codes", shown.codes}, {"declarations", shown.declarations}, {"of_declarations", shown.of_declarations}},
                                  is_python ? "case.py" : "case.tir", nullptr);
  if (!folder) {
    reporter.report({error(Code::CannotWrite).arg("file", "a folder below XDG_STATE_HOME").arg("reason", because(Why::CannotBeMade).text())}, nullptr);
    return reporter.status();
  }
  if (arguments.json()) {
    fmt::print("{}\n", nlohmann::json{{"path", *folder}, {"codes", shown.codes}, {"left_out", shown.left_out}}.dump());
  } else {
    fmt::print("{}: {}\n", *folder, shown.text.empty() ? fmt::format("no program, for {}", shown.left_out) : fmt::format("{} of {} declarations, {}", shown.declarations, shown.of_declarations, shown.codes.empty() ? "without errors" : fmt::format("{}", fmt::join(shown.codes, ", "))));
  }
  return exit_done;
}

/// A program as written and under each of its schedules.
auto versions_of(SourceFile& file, const workspace::Program& program, const std::string& file_name, const cost::CoreModel& core) -> ReportProgram {
  schedule::Schedule plain(program.module, 1);
  Name function = plain.func_working_on();
  ReportProgram one{.name = program.name.str(), .text = print_script(program.module), .flops = 0, .bytes = 0, .versions = {}, .tuning = {}};
  if (PrimFunc body = program.module->find(function)) {
    one.flops = tune::count_flops(program.module, function);
    one.bytes = bytes_of(body);
  }
  one.versions.push_back(version_of("as written", plain, core));
  const schedule::FuncState* before = plain.state().func(function);
  for (const std::string& name : workspace::schedule_names(*file.snapshot())) {
    auto run = file.document().run_schedule(name);
    if (!run || !run->asked.same_as(program.module)) { continue; }
    ReportVersion version{.name = name, .tree = {}};
    if (run->result) { version = version_of(name, *run->result, core); }
    if (Diagnostics made = run->all_diagnostics(); has_errors(made)) {
      auto first = std::find_if(made.begin(), made.end(), [](const Diagnostic& d) { return d.severity == Severity::Error; });
      version.problem = render(*first, file.locate(), {.file = file_name});
      version.seconds.reset();
    } else if (const schedule::FuncState* after = run->result ? run->result->state().func(run->result->func_working_on()) : nullptr; before != nullptr && after != nullptr) {
      if (auto gain = cost::gain(*before, *after, core)) { version.gain = cost::gain_text(*gain); }
    }
    one.versions.push_back(std::move(version));
  }
  return one;
}

}  // namespace

auto report(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  const std::string& path = arguments.positional()[0];
  Reporter reporter(arguments);
  auto fail = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, nullptr);
    return reporter.status();
  };
  if (arguments.has("--fault")) {
    for (const char* other : {"--output", "--db", "--target"}) {
      if (arguments.has(other)) { return usage_error("report", fmt::format("`--fault` does not go with `{}`", other)); }
    }
    return report_fault(arguments, reporter);
  }
  if (arguments.has("--line")) { return usage_error("report", "`--line` goes with `--fault`"); }
  auto target = target::parse(arguments.get("--target", "llvm"));
  if (!target) { return fail(target.diagnostics()); }
  auto opened = SourceFile::read(path);
  if (!opened) { return fail(opened.diagnostics()); }
  SourceFile& file = **opened;

  Report report{.file = std::filesystem::path(file.name()).filename().string(), .roof = roof_of(*target), .problems = {}, .programs = {}};
  file.document().analyse({});
  for (const Diagnostic& d : file.diagnostics()) {
    if (d.severity == Severity::Error) { report.problems.push_back(render(d, file.locate(), {.file = report.file})); }
  }
  std::optional<tune::Database> database;
  std::string database_path = arguments.get("--db", tune::Database::default_path());
  std::vector<tune::Database::Workload> workloads;
  if (arguments.has("--db") || std::filesystem::exists(database_path)) {
    if (!std::filesystem::exists(database_path)) { return fail({error(Code::CannotRead).arg("file", database_path).arg("reason", because(Why::NoSuchFile).text()).remedy("run `loopsmith tune` first")}); }
    auto known = tune::Database::open(database_path);
    if (!known) { return fail(known.diagnostics()); }
    database.emplace(std::move(*known));
    auto all = database->workloads();
    if (!all) { return fail(all.diagnostics()); }
    workloads = std::move(*all);
  }
  const cost::CoreModel core = cost::core_of(*target);
  for (const workspace::Program& program : workspace::top_programs(*file.snapshot())) {
    if (!program.module || program.has_errors || program.module->functions.empty()) { continue; }
    ReportProgram one = versions_of(file, program, report.file, core);
    uint64_t hash = structural_hash(program.module);
    for (const auto& w : workloads) {
      if (w.task.workload != hash || w.records == 0) { continue; }
      auto records = database->records(w.task);
      if (!records) { return fail(records.diagnostics()); }
      ReportTuning tuning{.target = w.task.target, .machine = w.task.machine, .trials = {}, .best_seconds = w.best_seconds, .is_here = w.task.machine == target::machine_identity()};
      for (const tune::Record& r : *records) { tuning.trials.push_back(r.outcome == tune::Outcome::Measured ? r.median_seconds : 0); }
      one.tuning.push_back(std::move(tuning));
    }
    report.programs.push_back(std::move(one));
  }
  if (report.programs.empty() && report.problems.empty()) { return fail({error(Code::NoProgram).arg("file", file.name())}); }
  std::string output = arguments.get("--output", path == "-" ? "-" : std::filesystem::path(path).replace_extension(".html").string());
  if (auto written = write_file(output, report_page(report)); !written) { return fail(written.diagnostics()); }
  if (output != "-" && !arguments.json()) { fmt::print("{}: {}\n", output, count_text(static_cast<int64_t>(report.programs.size()), "program")); }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
