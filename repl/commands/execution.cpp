// Commands that execute: run, verify, bench, why, tune; and space, the candidates that tune would try.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "interp/compare.h"
#include "ir/calls.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "ir/vocabulary.h"
#include "repl/apart.h"
#include "repl/commands.h"
#include "repl/pictures.h"
#include "repl/values.h"
#include "runtime/bench.h"
#include "runtime/devices/bench.h"
#include "runtime/devices/figures.h"
#include "runtime/jit.h"
#include "script/refusals.h"
#include "support/codes.h"
#include "support/process.h"
#include "support/text.h"
#include "target/gpu.h"
#include "target/peaks.h"
#include "transform/pipelines.h"
#include "tune/session/explain_space.h"
#include "tune/session/session.h"
#include "tune/space/trace_spaces.h"
#include "tune/written/pieces.h"
#include "workspace/edits/schedule_text.h"

namespace loopsmith::repl {
namespace {

/// If blocks differ by more than this share of the time, another program was using the machine.
constexpr double noisy = 0.05;

auto compile(const Session& session, const IRModule& module) -> Result<runtime::JitModule> {
  IRModule alone = with_callees(module, session.function());
  LOOPSMITH_TRY(lowered, transform::lower(alone));
  return runtime::JitModule::compile(lowered, session.target(), {}, alone);
}

auto is_device(const Session& session) -> bool { return session.target().kind == target_kind::cuda || session.target().kind == target_kind::opencl; }

auto open_device(const Session& session) -> Result<std::shared_ptr<runtime::Device>> {
  LOOPSMITH_TRY(opened, runtime::open_device(session.target()));
  return std::shared_ptr<runtime::Device>(std::move(opened));
}

auto compile_for_device(const Session& session, const IRModule& module, std::shared_ptr<runtime::Device> device) -> Result<runtime::DeviceProgram> {
  IRModule alone = with_callees(module, session.function());
  transform::LowerContext context;
  context.options.async_copies = target::has_async_copies(session.target());
  LOOPSMITH_TRY(lowered, transform::lower(alone, context, {.target_kind = session.target().kind, .until = {}, .on_stage = {}}));
  return runtime::DeviceProgram::compile(lowered, std::move(device), alone);
}

/// Runs the program on random inputs, on this processor or on a device.
struct Ran { codegen::Interface interface; runtime::Arguments arguments; };
auto run_here(const Session& session) -> Result<Ran> {
  Ran out;
  if (is_device(session)) {
    LOOPSMITH_TRY(device, open_device(session));
    LOOPSMITH_TRY(program, compile_for_device(session, session.module(), device));
    LOOPSMITH_TRY(interface, program.interface({}));
    LOOPSMITH_TRY(arguments, runtime::make_arguments(interface, std::vector<int64_t>(interface.shape_variables.size(), 64), 1));
    out = {std::move(interface), std::move(arguments)};
    LOOPSMITH_CHECK(program.call({}, out.arguments.values));
    return out;
  }
  LOOPSMITH_TRY(code, compile(session, session.module()));
  LOOPSMITH_TRY(function, code.find({}));
  LOOPSMITH_TRY(arguments, runtime::make_arguments(function->interface, std::vector<int64_t>(function->interface.shape_variables.size(), 64), 1));
  out = {function->interface, std::move(arguments)};
  LOOPSMITH_CHECK(runtime::call(*function, out.arguments.values));
  return out;
}

auto run(Session& session, const std::vector<std::string>&) -> bool {
  if (!needs_program(session)) { return false; }
  auto ran = run_here(session);
  if (!ran.ok()) { session.report(ran.diagnostics()); return false; }
  size_t buffer = 0;
  for (const codegen::Parameter& p : ran->interface.parameters) {
    if (p.kind != codegen::Parameter::Kind::Buffer) { continue; }
    const runtime::Tensor& tensor = ran->arguments.tensors[buffer++];
    if (!p.is_written) { continue; }
    std::string text = p.name + ": " + tensor.describe() + " =";
    for (int64_t i = 0; i < std::min<int64_t>(tensor.count(), 6); ++i) {
      char value[32];
      std::snprintf(value, sizeof value, " %.6g", tensor.get(i));
      text += value;
    }
    session.print(text + (tensor.count() > 6 ? " ...\n" : "\n"));
  }
  return true;
}

/// Compares the kernels with the program as written by the interpreter, on one random input.
auto verify_on_device(Session& session) -> bool {
  auto ran = run_here(session);
  if (!ran.ok()) { session.report(ran.diagnostics()); return false; }
  auto before = runtime::make_arguments(ran->interface, std::vector<int64_t>(ran->interface.shape_variables.size(), 64), 1);
  if (!before.ok()) { session.report(before.diagnostics()); return false; }
  std::vector<interp::Argument> arguments;
  for (const runtime::Value& value : before->values) {
    if (const auto* tensor = std::get_if<const runtime::Tensor*>(&value)) { arguments.emplace_back((*tensor)->view()); }
    else if (const auto* view = std::get_if<TensorView>(&value)) { arguments.emplace_back(*view); }
    else if (const auto* integer = std::get_if<int64_t>(&value)) { arguments.emplace_back(*integer); }
    else { arguments.emplace_back(std::get<double>(value)); }
  }
  interp::Options options;
  options.max_seconds = 60;
  auto stats = interp::interpret(session.original(), session.function(), arguments, options);
  if (!stats.ok()) { session.report(stats.diagnostics()); return false; }
  size_t buffer = 0;
  for (const codegen::Parameter& p : ran->interface.parameters) {
    if (p.kind != codegen::Parameter::Kind::Buffer) { continue; }
    const size_t at = buffer++;
    auto found = interp::compare_tensors(p.name, before->tensors[at].view(), ran->arguments.tensors[at].view(), !p.dtype.is_real());
    if (found.found) {
      session.complain((session.module().same_as(session.original()) ? "the kernels of the program compute another result than the interpreter: " : "the schedule changes the result: ") + found.where + "\n");
      return false;
    }
  }
  session.print("same results as the program as written, on a device of " + session.target().kind + "\n");
  return true;
}

auto verify(Session& session, const std::vector<std::string>&) -> bool {
  if (!needs_program(session)) { return false; }
  interp::GateOptions options;
  options.max_seconds = 60;
  options.cancel = session.interrupt();
  if (is_device(session)) { return apart(session, "comparing", [&] { return verify_on_device(session); }); }
  auto result = interp::compare_modules(session.original(), session.module(), session.function(), options);
  if (!result.ok()) { session.report(result.diagnostics()); return false; }
  if (!result->equal) {
    session.complain("the schedule changes the result: " + result->difference + "\n");
    return false;
  }
  session.print("same results as the program as written on " + result->how + "\n");
  return true;
}

/// Times programs in turns, on this processor or on a device.
auto time_all(const Session& session, const std::vector<IRModule>& modules) -> Result<std::vector<runtime::Measurement>> {
  runtime::BenchOptions options;
  options.blocks = 15;
  options.warm_up_seconds = 30e-3;
  options.time_limit = 2.0 * static_cast<double>(modules.size());
  if (is_device(session)) {
    LOOPSMITH_TRY(device, open_device(session));
    std::vector<runtime::DeviceProgram> programs;
    std::vector<runtime::DeviceSubject> subjects;
    for (const IRModule& module : modules) {
      LOOPSMITH_TRY(program, compile_for_device(session, module, device));
      programs.push_back(std::move(program));
    }
    for (const runtime::DeviceProgram& program : programs) { subjects.push_back({&program, {}}); }
    LOOPSMITH_TRY(interface, programs.front().interface({}));
    return runtime::bench_on_device(subjects, std::vector<int64_t>(interface.shape_variables.size(), 64), options);
  }
  std::vector<runtime::JitModule> code;
  for (const IRModule& module : modules) {
    LOOPSMITH_TRY(compiled, compile(session, module));
    code.push_back(std::move(compiled));
  }
  std::vector<const runtime::JitFunction*> functions;
  for (runtime::JitModule& module : code) {
    LOOPSMITH_TRY(function, module.find({}));
    functions.push_back(function);
  }
  return runtime::bench_interleaved(functions, std::vector<int64_t>(functions[0]->interface.shape_variables.size(), 64), options);
}

/// Without a device: the figures of the kernels that their compiler knows.
void print_figures(Session& session) {
  transform::LowerContext context;
  context.options.async_copies = target::has_async_copies(session.target());
  auto lowered = transform::lower(with_callees(session.module(), session.function()), context, {.target_kind = session.target().kind, .until = {}, .on_stage = {}});
  auto figures = lowered ? runtime::static_figures(*lowered, session.target()) : Result<std::vector<runtime::StaticFigures>>(lowered.diagnostics());
  if (!figures) { return; }
  for (const runtime::StaticFigures& one : *figures) { session.print(runtime::text_of(one) + "\n"); }
}

// Times the program as written, the named steps (or the fastest one measured before), and the program here: a block of each in turn, so
// that other programs on the machine disturb all of them alike.
auto bench(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  struct Row { std::string name; size_t step; IRModule module; };
  std::vector<Row> rows = {{"as written", 0, session.original()}};
  auto add = [&](size_t step) {
    const IRModule& module = session.module_at(step);
    for (const Row& row : rows) {
      if (row.module.same_as(module)) { return; }
    }
    const std::string& label = session.steps()[step].label;
    std::string name = fmt::format("step {}", step);
    rows.push_back({name + (label.empty() ? "" : " (" + label + ")") + (step == session.position() ? ", here" : ""), step, module});
  };
  if (arguments.empty()) {
    size_t best = 0;
    for (size_t i = 1; i < session.steps().size(); ++i) {
      double seconds = session.steps()[i].seconds;
      if (seconds > 0 && i != session.position() && (best == 0 || seconds < session.steps()[best].seconds)) { best = i; }
    }
    if (best != 0) { add(best); }
  }
  for (const std::string& text : arguments) {
    auto step = session.find_step(text);
    if (!step) {
      session.complain(fmt::format(":bench takes steps, by number (0 to {}) or name\n", session.steps().size() - 1));
      return false;
    }
    add(*step);
  }
  add(session.position());
  // As written, most programs are a single thread on a device.
  if (is_device(session) && rows.size() > 1) { rows.erase(rows.begin()); }
  std::vector<IRModule> modules;
  for (const Row& row : rows) { modules.push_back(row.module); }
  auto measured = time_all(session, modules);
  if (!measured.ok()) {
    session.report(measured.diagnostics());
    if (session.target().kind == target_kind::cuda && measured.diagnostics().front().code == Code::CannotStart) { print_figures(session); }
    return false;
  }
  double flops = tune::count_flops(session.original(), session.function());
  auto peaks = is_device(session) ? std::nullopt : target::cached_peaks();
  size_t width = 12;
  for (const Row& row : rows) { width = std::max(width, row.name.size()); }
  for (size_t i = 0; i < rows.size(); ++i) {
    const runtime::Measurement& m = (*measured)[i];
    std::string share;
    if (peaks && peaks->fma_f32_all > 0 && flops > 0) { share = fmt::format(" {:3.0f}% of peak", 100 * m.gflops(flops) / peaks->fma_f32_all); }
    std::string row = fmt::format("{:<{}} {:>10}  +-{:4.1f}% {:8.2f} GFLOP/s {:6.2f}x{}  n={}", rows[i].name, width, duration_text(m.seconds), m.deviation * 100, m.gflops(flops),
                                  (*measured)[0].seconds / m.seconds, share, m.blocks);
    std::string remarks = m.deviation > noisy ? "  noisy" : "";
    if (i > 0 && runtime::compare((*measured)[0], m).verdict == runtime::Speeds::Verdict::Same) { remarks += "  no difference"; }
    // Remarks that do not fit the screen are printed below the numbers.
    if (row.size() + remarks.size() > session.host().width) { remarks = remarks.empty() ? "" : "\n" + std::string(width - 1, ' ') + remarks; }
    session.print(row + remarks + "\n");
    session.measured(rows[i].step, m.seconds);
  }
  return true;
}

/// A step, and the program that the other steps make without it.
struct WithoutStep {
  size_t step;
  IRModule module;        // none: no program to time
  std::string verdict;    // the reason for that
};

auto compare_without(Session& session, size_t step) -> WithoutStep {
  if (session.steps()[step].is_whole) { return {step, {}, "is a whole schedule: `:bench` compares it with the program as written"}; }
  Session::Without without = session.without(step);
  if (without.failed != 0) { return {step, {}, fmt::format("is needed by step {}: {}", without.failed, without.why)}; }
  if (!without.module || structural_equal(without.module, session.module())) { return {step, {}, "changes nothing: the program is the same without it"}; }
  return {step, without.module, {}};
}

/// Times the program here, then those without a step; a program that cannot be compiled gets a verdict. None: an error was reported.
auto time_without(Session& session, std::vector<WithoutStep>& rows) -> std::optional<std::vector<runtime::Measurement>> {
  std::vector<runtime::JitModule> code;
  for (WithoutStep& row : rows) {
    if (!row.module) { continue; }
    if (code.empty()) {
      auto here = compile(session, session.module());
      if (!here.ok()) { session.report(here.diagnostics()); return std::nullopt; }
      code.push_back(std::move(here).value());
    }
    auto compiled = compile(session, row.module);
    if (!compiled.ok()) {
      row.verdict = "without it the program cannot be compiled: " + compiled.diagnostics().front().message();
      row.module = {};
      continue;
    }
    code.push_back(std::move(compiled).value());
  }
  std::vector<const runtime::JitFunction*> functions;
  for (runtime::JitModule& module : code) {
    auto function = module.find({});
    if (!function.ok()) { session.report(function.diagnostics()); return std::nullopt; }
    functions.push_back(*function);
  }
  if (functions.size() <= 1) { return std::vector<runtime::Measurement>(); }
  std::vector<int64_t> sizes(functions[0]->interface.shape_variables.size(), 64);
  runtime::BenchOptions options;
  options.blocks = 15;
  options.warm_up_seconds = 30e-3;
  options.time_limit = 2.0 * static_cast<double>(functions.size());
  auto timed = runtime::bench_interleaved(functions, sizes, options);
  if (!timed.ok()) { session.report(timed.diagnostics()); return std::nullopt; }
  return std::move(timed).value();
}

auto gain_verdict(const runtime::Measurement& here, const runtime::Measurement& without) -> std::string {
  std::string time = duration_text(without.seconds);
  if (runtime::compare(here, without).verdict == runtime::Speeds::Verdict::Same) {
    // On a busy machine the medians may be far apart although the blocks overlap.
    bool is_close = std::max(here.seconds, without.seconds) < 1.2 * std::min(here.seconds, without.seconds);
    if (is_close) { return fmt::format("makes no difference beyond noise ({} without it)", time); }
    return fmt::format("has an unclear gain ({} without it): the times vary too much, measure again on a quiet machine", time);
  }
  if (without.seconds > here.seconds) { return fmt::format("saves {:.0f}% ({} without it)", 100 * (1 - here.seconds / without.seconds), time); }
  return fmt::format("costs {:.0f}% ({} without it)", 100 * (here.seconds / without.seconds - 1), time);
}

// Computes the gain of a step: times the program here beside the program that the other steps make without it. Without a number, of all steps.
auto why(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  std::vector<size_t> path = session.path_to(session.position());
  std::vector<size_t> asked;
  for (const std::string& text : arguments) {
    auto step = session.find_step(text);
    if (!step || *step == 0 || std::find(path.begin(), path.end(), *step) == path.end()) {
      session.complain(":why takes steps on the way here; `:steps` lists them\n");
      return false;
    }
    asked.push_back(*step);
  }
  bool is_all = asked.empty();
  if (is_all) { asked.assign(path.begin() + 1, path.end()); }
  if (asked.empty()) {
    session.complain("no step was made yet\n");
    return false;
  }
  if (is_device(session)) {
    session.complain(":why times programs on this machine's processor: choose it by `:target llvm`\n");
    return false;
  }
  std::vector<WithoutStep> rows;
  for (size_t step : asked) {
    if (!is_all || session.steps()[step].changes_program) { rows.push_back(compare_without(session, step)); }
  }
  auto measured = time_without(session, rows);
  if (!measured) { return false; }
  if (!measured->empty()) {
    session.print(fmt::format("here: {}\n", duration_text(measured->front().seconds)));
    session.measured(session.position(), measured->front().seconds);
  }
  size_t next = 1;
  for (const WithoutStep& row : rows) {
    std::string verdict = row.module ? gain_verdict(measured->front(), (*measured)[next++]) : row.verdict;
    session.print(fmt::format("  {:<4}{}\n         {}\n", row.step, script::one_line(session.steps()[row.step].line), verdict));
  }
  return true;
}

}  // namespace

auto adopt_found(Session& session, const IRModule& program, const std::string& trace, double seconds) -> bool {
  // The nearest place for a search that begins with that program: here, or on the way here.
  std::vector<size_t> path = session.path_to(session.position());
  auto hole = std::find_if(path.rbegin(), path.rend(), [&](size_t step) { return session.steps()[step].hole && session.module_at(step).same_as(program); });
  workspace::ScheduleText form;
  // If the search begins with the program as written, the names of the earlier schedule are free.
  size_t around = hole != path.rend() ? *hole : session.position();
  for (const auto& [name, value] : session.steps()[around].frame.scope->slots()) {
    if (hole != path.rend() || !is_handle(value)) { form.taken.insert(name.str()); }
  }
  auto readable = workspace::schedule_statements_text(program, trace, form);
  if (!readable.ok()) {
    session.report(readable.diagnostics());
    return false;
  }
  session.print(*readable + "\n");
  bool done = false;
  if (hole != path.rend()) {
    // The statements replace it.
    size_t back = session.position();
    session.go_to(session.steps()[*hole].parent);
    done = session.execute_step(*readable);
    if (!done) { session.go_to(back); }
  } else {
    done = session.adopt(*readable, "(tuned: " + duration_text(seconds) + ")");
  }
  if (done) { session.measured(session.position(), seconds); }
  return done;
}

namespace {

/// The arguments of `:tune` and `:space`.
struct SearchRequest {
  tune::SessionOptions options;
  std::string space = "own";
  tune::PieceTexts pieces;
  std::string schedule;          // a schedule function whose samples are the space; empty: none
};

/// Takes the options of the search and its pieces out of the arguments. False: reported.
auto read_search(const Session& session, std::vector<std::string>& arguments, SearchRequest& request) -> bool {
  auto& [options, space, pieces, schedule] = request;
  std::vector<std::string> others;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string* list = arguments[i] == "--rules" ? &pieces.rules : arguments[i] == "--postprocs" ? &pieces.postprocs : arguments[i] == "--mutators" ? &pieces.mutators : nullptr;
    if (arguments[i] == "--keep-order") {
      options.keep_order = true;
    } else if (list != nullptr) {
      if (i + 1 == arguments.size()) {
        session.complain(fmt::format("`{}` takes a list of names: `{} tiles,AutoInline`\n", arguments[i], arguments[i]));
        return false;
      }
      *list = arguments[++i];
    } else if (arguments[i] == "--with") {
      schedule = i + 1 < arguments.size() ? arguments[++i] : std::string();
      if (schedule.empty()) {
        session.complain("`--with` takes the name of a schedule function that samples; `:programs` lists them\n");
        return false;
      }
    } else if (arguments[i] == "--model") {
      options.model = i + 1 < arguments.size() ? arguments[++i] : std::string();
      // A class that the file writes is read where the search begins.
      if (options.model.empty()) {
        session.complain(fmt::format("`--model` takes {}, or a model that the file writes\n", tune::model_names()));
        return false;
      }
    } else if (arguments[i] == "--search") {
      options.search = i + 1 < arguments.size() ? arguments[++i] : std::string();
      if (tune::ChosenSearch chosen = tune::read_search(options.search); chosen.kind == nullptr) {
        session.complain(fmt::format("`--search`: {}\n", chosen.problem));
        return false;
      }
    } else {
      others.push_back(arguments[i]);
    }
  }
  arguments = std::move(others);
  return true;
}

/// The options of a search. `command` is ":tune" or ":space". False: reported.
auto read_request(const Session& session, const char* command, std::vector<std::string> arguments, const std::optional<script::TuneRequest>& hole, SearchRequest& request) -> bool {
  auto& [options, space, pieces, schedule] = request;
  if (!read_search(session, arguments, request)) { return false; }
  if (!pieces.is_empty()) { space = "metaschedule"; }
  options.seconds = 20;
  const bool names_space = !pieces.is_empty() || std::find(arguments.begin(), arguments.end(), "--space") != arguments.end();
  if (!schedule.empty() && names_space) {
    session.complain(fmt::format("`--with {}` is the space, so `--space`, `--rules`, `--postprocs` and `--mutators` do not apply\n", schedule));
    return false;
  }
  if (auto at = std::find(arguments.begin(), arguments.end(), "--space"); at != arguments.end()) {
    space = at + 1 == arguments.end() ? std::string() : *(at + 1);
    // A call such as `ScheduleFn(tiles)` makes the space.
    if (space.find('(') != std::string::npos) { pieces.space = std::exchange(space, "metaschedule"); }
    if (space == "post-order-apply") { space = "metaschedule"; }
    if (space != "own" && space != "metaschedule") {
      session.complain("`--space` is own, metaschedule or the call of a space such as `ScheduleFn(tiles)`\n");
      return false;
    }
    arguments.erase(at, at + 2);
  }
  if (hole && arguments.empty() && (hole->seconds > 0 || hole->trials > 0)) {
    options.seconds = hole->seconds;
    options.trials = static_cast<int>(std::min<int64_t>(hole->trials, 10'000'000));
  }
  if (arguments.empty()) { return true; }
  const std::optional<double> value = parse_seconds(arguments[0]);
  if (!value || arguments.size() > 1) {
    const bool is_option = arguments[0].starts_with("--");
    session.complain(is_option ? fmt::format("`{}` has no option `{}`: `:help {}` lists them\n", command, arguments[0], command + 1)
                               : ":tune takes a number of trials (`:tune 64`) or a time (`:tune 30s`), and `&` to search in the background\n");
    return false;
  }
  // A number without a unit counts trials.
  if (is_digit(arguments[0].back()) || arguments[0].back() == '.') {
    options.trials = static_cast<int>(*value);
    options.seconds = 0;
  } else {
    options.seconds = *value;
  }
  return true;
}

auto tune_in_background(Session& session, const IRModule& program, bool is_at_hole, const SearchRequest& request) -> bool {
  const auto& [options, space, pieces, schedule] = request;
  if (is_at_hole && !pieces.is_empty()) {
    session.complain("a search in the background that begins at a step has the target's pieces: leave out `&`, or go to the program as written by `:goto 0`\n");
    return false;
  }
  std::vector<std::string> how = {"--target", session.target().str()};
  if (schedule.empty()) { how.insert(how.end(), {"--space", pieces.space.empty() ? space : pieces.space}); }
  else { how.insert(how.end(), {"--with", schedule}); }
  for (auto [option, list] : {std::pair{"--rules", &pieces.rules}, {"--postprocs", &pieces.postprocs}, {"--mutators", &pieces.mutators}}) {
    if (!list->empty()) { how.insert(how.end(), {option, *list}); }
  }
  if (options.model != "residual") { how.insert(how.end(), {"--model", options.model}); }
  if (options.trials > 0 && options.seconds <= 0) { how.insert(how.end(), {"--trials", std::to_string(options.trials)}); }
  if (options.seconds > 0) { how.insert(how.end(), {"--time", fmt::format("{}", options.seconds)}); }
  if (options.search != "guided") { how.insert(how.end(), {"--search", options.search}); }
  if (options.keep_order) { how.emplace_back("--keep-order"); }
  const std::string name = session.program_name().str();
  auto [number, why] = is_at_hole ? session.jobs().start(program, name, session.function().str(), print_script(program), how) : session.jobs().start(program, name, name, session.document().text(), how);
  if (!number) {
    session.complain(why + "\n");
    return false;
  }
  session.print(fmt::format("[{}] searches; `:jobs` shows its progress, `:stop {}` ends it\n", *number, *number));
  return true;
}

/// Shows the progress of a search on a terminal: a row for each new best, and a line that is overwritten.
class Progress {
 public:
  explicit Progress(const Session& session) : session_(session) {}
  std::vector<double> trials;

  void show(const tune::Progress& p) {
    trials = p.trial_seconds;
    if (!session_.host().color) { return; }
    if (p.best_seconds > 0 && (best_ == 0 || p.best_seconds < best_)) {
      if (best_ == 0) { session_.complain(fmt::format("\r\x1b[K  {:>6}  {:>11}  {:>8}  {:>9}\n", "trial", "best", "GFLOP/s", "as fast")); }
      best_ = p.best_seconds;
      session_.complain(fmt::format("\r\x1b[K  {:>6}  {:>11}  {:>8}  {:>9}\n", p.trials, duration_text(best_), p.flops > 0 ? fmt::format("{:.1f}", p.flops / best_ * 1e-9) : "",
                                    p.plain_seconds > 0 ? fmt::format("{:.1f}x", p.plain_seconds / best_) : ""));
    }
    if (p.elapsed_seconds - shown_ < 0.25 && p.phase == "measuring") { return; }
    shown_ = p.elapsed_seconds;
    session_.complain(fmt::format("\r  {:<10} {:>4} trials  best {:<11} {:>9} ", p.phase, p.trials, p.best_seconds > 0 ? duration_text(p.best_seconds) : "-", waiting_text(p.elapsed_seconds)));
  }

 private:
  const Session& session_;
  double shown_ = -1;
  double best_ = 0;
};

/// Lets the pieces of TVM's tuner that a command names make the space. False: reported.
auto choose_pieces(Session& session, const tune::PieceTexts& texts, tune::SessionOptions& options) -> bool {
  auto read = tune::read_pieces(session.file(), session.target(), texts, [&session](const Diagnostics& failed) { session.report(failed); });
  if (!read.ok()) {
    session.report(read.diagnostics());
    return false;
  }
  options.space = [&session, seed = options.seed, pieces = std::make_shared<const tune::SpacePieces>(std::move(*read))](const tune::SpaceContext& context) {
    return tune::metaschedule_space(context, session.target(), seed, *pieces);
  };
  return true;
}

/// Lets the samples of a schedule function make the space. False: reported.
auto choose_samples(Session& session, const std::string& name, tune::SessionOptions& options) -> bool {
  auto selected = session.select({.function = session.program_name().str(), .schedule = name});
  if (const auto* none = std::get_if<workspace::NotSelected>(&selected)) {
    none->sentence.empty() ? session.report(none->why) : session.complain(none->sentence + "\n");
    return false;
  }
  auto& trace = std::get<workspace::Selection>(selected).trace;
  if (!trace || !tune::has_samples(*trace)) {
    session.complain(fmt::format("`{}` samples nothing: choose numbers by `sch.sample_perfect_tile` and its like\n", name));
    return false;
  }
  options.space = [name, trace = *std::move(trace)](const tune::SpaceContext& context) { return tune::sampled_space(context, name, trace); };
  return true;
}

/// Makes the space of a request. False: reported.
auto choose_space(Session& session, SearchRequest& request) -> bool {
  if (!request.schedule.empty()) { return choose_samples(session, request.schedule, request.options); }
  return request.space != "metaschedule" || choose_pieces(session, request.pieces, request.options);
}

/// The place for a search at the current step. A search in the samples of a schedule function begins with the program as written.
auto hole_here(const Session& session, const std::vector<std::string>& arguments) -> std::optional<script::TuneRequest> {
  const bool has_schedule = std::find(arguments.begin(), arguments.end(), "--with") != arguments.end();
  return has_schedule ? std::nullopt : session.steps()[session.position()].hole;
}

// `:space`: the sketches that `:tune` with the same options would search, with their knobs. Nothing is measured.
auto explain_here(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  const std::optional<script::TuneRequest> hole = hole_here(session, arguments);
  SearchRequest request;
  if (!read_request(session, ":space", arguments, hole, request) || !choose_space(session, request)) { return false; }
  auto explained = tune::explain_space(hole ? session.module() : session.original(), session.function(), session.target(), request.options);
  if (!explained.ok()) {
    session.report(explained.diagnostics());
    return false;
  }
  // Rows of knobs stay lines; sentences are broken at the width of the screen.
  std::istringstream lines(tune::text_of(*explained, session.program_name().str()));
  for (std::string line; std::getline(lines, line);) { line.empty() || line.starts_with(' ') ? session.print(line + "\n") : session.say(line); }
  return true;
}

/// Takes a model that the file writes where `--model` names none of the tuner's. False: reported.
auto choose_model(Session& session, tune::SessionOptions& options) -> bool {
  if (tune::find_model(options.model) != nullptr) { return true; }
  if (options.model.find('(') == std::string::npos && session.file().find(Name(options.model)) == nullptr) {
    session.complain(fmt::format("`--model` takes {}, or a model that the file writes, not `{}`\n", tune::model_names(), options.model));
    return false;
  }
  auto read = tune::read_model(session.file(), session.target(), options.model, [&session](const Diagnostics& failed) { session.report(failed); });
  if (!read.ok()) {
    session.report(read.diagnostics());
    return false;
  }
  const auto* model = std::get_if<std::shared_ptr<tune::CandidateModel>>(&*read);
  options.candidate_model = model ? *model : nullptr;
  options.model = model ? "residual" : std::get<std::string>(*read);
  return true;
}

// Runs `:tune 64` (trials) or `:tune 30s`; with `&` behind the arguments, in the background.
auto tune_here(Session& session, const std::vector<std::string>& given) -> bool {
  if (!needs_program(session)) { return false; }
  std::vector<std::string> arguments = given;
  bool is_background = !arguments.empty() && arguments.back().ends_with('&');
  if (is_background) {
    arguments.back().pop_back();
    if (arguments.back().empty()) { arguments.pop_back(); }
  }
  // At a place for a search, the search begins with the program there, else with the program as written.
  const std::optional<script::TuneRequest> hole = hole_here(session, arguments);
  const IRModule program = hole ? session.module() : session.original();
  SearchRequest request;
  if (!read_request(session, ":tune", arguments, hole, request) || !choose_space(session, request)) { return false; }
  tune::SessionOptions& options = request.options;
  if (!is_background && !choose_model(session, options)) { return false; }
  if (!hole && !session.module().same_as(program)) { session.say("the search begins with the program as written; at a step `sch.tune()` it begins with the program there"); }
  if (is_background) { return tune_in_background(session, program, hole.has_value(), request); }
  options.worker = {current_program(), "worker", "--measure"};
  CancelToken token = session.interrupt();
  options.stop = [token] { return token.is_cancelled(); };
  options.compare_later = true;
  Progress progress(session);
  options.on_progress = [&](const tune::Progress& p) { progress.show(p); };
  auto result = tune::tune(program, session.function(), session.target(), session.program_name().str(), options);
  if (session.host().color) { session.complain("\r\x1b[K"); }
  if (!result.ok()) { session.report(result.diagnostics()); return false; }
  const int trials = result->progress.trials;
  const std::string as_written = result->plain_seconds > 0 ? ", as written " + duration_text(result->plain_seconds) : std::string();
  if (result->comparison) {
    // The prompt returns before the results are compared, so the result is not a step yet.
    std::string best = duration_text(result->comparison->best_seconds());
    session.print(curve_picture(progress.trials, session.settings()));
    size_t number = session.jobs().compare(program, session.program_name().str(), std::move(result->comparison));
    session.print(fmt::format("stopped; best of {}: {}{}\n[{}] compares its results with the program; then `:take` makes it the next step\n", count_text(trials, "trial"), best, as_written, number));
    return true;
  }
  if (!result->found) {
    session.complain(tune::why_nothing(*result) + "\n");
    return false;
  }
  // The rules of a search expect nests as written: loops that were already split leave few choices.
  constexpr int few = 32;
  if (hole && !program.same_as(session.original()) && trials < few && (options.trials == 0 || trials < options.trials)) {
    session.say(fmt::format("the search had only {} candidates: its rules look for loops as they are written, and earlier steps have reshaped them; a `...` at an earlier step leaves more choices", trials));
  }
  session.print(curve_picture(progress.trials, session.settings()));
  session.say(fmt::format("best of {}: {}; {}", count_text(trials, "trial"), tune::best_text(*result), result->verified.empty() ? "not verified" : "verified: " + result->verified));
  return adopt_found(session, program, result->trace, result->best_seconds);
}

}  // namespace

const Command run_command{"run", "", "runs the program on random inputs",
                          [](Session& session, const std::vector<std::string>& arguments) { return apart(session, "running", [&] { return run(session, arguments); }); }};
const Command verify_command{"verify", "", "compares results with the program as written, by the interpreter", verify};
const Command bench_command{"bench", "[N|NAME]...", "times the program as written, here, and at other steps",
                            [](Session& session, const std::vector<std::string>& arguments) { return apart(session, "timing", [&] { return bench(session, arguments); }); }};
const Command why_command{"why", "[N]...", "the gain of a step, timed with and without it; without a number of each step",
                          [](Session& session, const std::vector<std::string>& arguments) { return apart(session, "timing", [&] { return why(session, arguments); }); }};
const Command space_command{"space", "[--space S] [--with SCHEDULE] [--rules LIST] [--search NAME] [--keep-order]", "the sketches of the search space with their knobs; measures nothing", explain_here};
const Command tune_command{"tune", "[N | TIME] [--space S] [--with SCHEDULE] [--rules LIST] [--search NAME] [--model NAME] [--keep-order] [&]", "searches for a schedule; the best becomes the next step; `&`: in the background", tune_here};

}  // namespace loopsmith::repl
