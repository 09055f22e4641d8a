// Commands that execute: run, verify, bench, tune.
#include <cstdio>
#include <sstream>

#include "interp/compare.h"
#include "repl/commands.h"
#include "runtime/bench.h"
#include "runtime/jit.h"
#include "support/process.h"
#include "transform/pipelines.h"
#include "tune/session/session.h"

namespace loopsmith::repl {
namespace {

auto only(const IRModule& module, Name function) -> IRModule {
  IRModuleNode fields = *module;
  fields.functions = {{function, module->find(function)}};
  return make_module(std::move(fields));
}

auto compile(const Session& session, const IRModule& module) -> Result<runtime::JitModule> {
  IRModule alone = only(module, session.function());
  LOOPSMITH_TRY(lowered, transform::lower(alone));
  return runtime::JitModule::compile(lowered, session.target(), {}, alone);
}

auto text_of(double seconds) -> std::string {
  char text[32];
  if (seconds < 1e-3) { std::snprintf(text, sizeof text, "%.1f us", seconds * 1e6); }
  else if (seconds < 1) { std::snprintf(text, sizeof text, "%.3f ms", seconds * 1e3); }
  else { std::snprintf(text, sizeof text, "%.3f s", seconds); }
  return text;
}

auto run(Session& session, const std::vector<std::string>&) -> bool {
  if (!needs_program(session)) { return false; }
  auto code = compile(session, session.module());
  if (!code.ok()) { session.report(code.diagnostics()); return false; }
  auto function = code->find({});
  if (!function.ok()) { session.report(function.diagnostics()); return false; }
  std::vector<int64_t> sizes((*function)->interface.shape_variables.size(), 64);
  auto arguments = runtime::make_arguments((*function)->interface, sizes, 1);
  if (!arguments.ok()) { session.report(arguments.diagnostics()); return false; }
  Status done = runtime::call(**function, arguments->values);
  if (!done.ok()) { session.report(done.diagnostics()); return false; }
  size_t buffer = 0;
  for (const codegen::Parameter& p : (*function)->interface.parameters) {
    if (p.kind != codegen::Parameter::Kind::Buffer) { continue; }
    const runtime::Tensor& tensor = arguments->tensors[buffer++];
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

auto verify(Session& session, const std::vector<std::string>&) -> bool {
  if (!needs_program(session)) { return false; }
  interp::GateOptions options;
  options.max_seconds = 60;
  if (session.host().interrupted) { options.cancel = session.host().interrupted(); }
  auto result = interp::compare_modules(session.original(), session.module(), session.function(), options);
  if (!result.ok()) { session.report(result.diagnostics()); return false; }
  if (!result->equal) {
    session.complain("the schedule changes the result: " + result->difference + "\n");
    return false;
  }
  session.print("the same results as the program as written (" + result->how + ")\n");
  return true;
}

auto bench(Session& session, const std::vector<std::string>&) -> bool {
  if (!needs_program(session)) { return false; }
  struct Row { std::string name; IRModule module; };
  std::vector<Row> rows = {{"as written", session.original()}};
  if (!session.module().same_as(session.original())) { rows.push_back({"scheduled", session.module()}); }
  double flops = tune::count_flops(session.original(), session.function());
  double plain = 0;
  for (const Row& row : rows) {
    auto code = compile(session, row.module);
    if (!code.ok()) { session.report(code.diagnostics()); return false; }
    auto function = code->find({});
    if (!function.ok()) { session.report(function.diagnostics()); return false; }
    std::vector<int64_t> sizes((*function)->interface.shape_variables.size(), 64);
    runtime::BenchOptions options;
    options.blocks = 15;
    options.time_limit = 2;
    auto measured = runtime::bench(**function, sizes, options);
    if (!measured.ok()) { session.report(measured.diagnostics()); return false; }
    if (plain == 0) { plain = measured->seconds; }
    char text[160];
    std::snprintf(text, sizeof text, "%-12s %12s  +-%4.1f%%  %8.2f GFLOP/s  %7.2fx\n", row.name.c_str(), text_of(measured->seconds).c_str(),
                  measured->deviation * 100, flops / measured->seconds * 1e-9, plain / measured->seconds);
    session.print(text);
  }
  return true;
}

// `:tune 64`, `:tune 30s`
auto tune_here(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  tune::SessionOptions options;
  options.seconds = 20;
  if (!arguments.empty()) {
    char* end = nullptr;
    double value = std::strtod(arguments[0].c_str(), &end);
    std::string unit = end;
    if (value <= 0 || (!unit.empty() && unit != "s" && unit != "min")) {
      session.complain(":tune takes a number of trials (`:tune 64`) or a time (`:tune 30s`)\n");
      return false;
    }
    if (unit.empty()) { options.trials = static_cast<int>(value); options.seconds = 0; }
    else { options.seconds = unit == "min" ? value * 60 : value; }
  }
  options.worker = {current_program(), "worker", "--measure"};
  CancelToken token = session.host().interrupted ? session.host().interrupted() : CancelToken();
  options.stop = [token] { return token.is_cancelled(); };
  double shown = -1;
  options.on_progress = [&](const tune::Progress& p) {
    if (p.elapsed_seconds - shown < 0.25 && p.phase == "measuring") { return; }
    shown = p.elapsed_seconds;
    char text[160];
    std::snprintf(text, sizeof text, "\r  %-10s %4d trials  best %-11s %5.0f s ", p.phase.c_str(), p.trials,
                  p.best_seconds > 0 ? text_of(p.best_seconds).c_str() : "-", p.elapsed_seconds);
    if (session.host().color) { session.complain(text); }
  };
  auto result = tune::tune(session.original(), session.function(), session.target(), session.program_name().str(), options);
  if (session.host().color) { session.complain("\n"); }
  if (!result.ok()) { session.report(result.diagnostics()); return false; }
  if (!result->found) {
    session.complain("no schedule was found in " + std::to_string(result->progress.trials) + " trials\n");
    return false;
  }
  session.print("best of " + std::to_string(result->progress.trials) + " trials: " + text_of(result->best_seconds) + ", as written " +
                text_of(result->plain_seconds) + "; verified by " + result->verified + "\n" + result->trace_python);
  return session.adopt_trace(result->trace, "(tuned: " + text_of(result->best_seconds) + ")");
}

}  // namespace

const Command run_command{"run", "", "runs the program on random inputs", run};
const Command verify_command{"verify", "", "compares with the program as written, by the interpreter", verify};
const Command bench_command{"bench", "", "times the program as written and as scheduled", bench};
const Command tune_command{"tune", "[N | TIME]", "searches for a schedule; the best becomes the next step", tune_here};

}  // namespace loopsmith::repl
