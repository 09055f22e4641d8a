// Checks: see cases.h.
#include "tests/gate/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "interp/compare.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/undefined.h"
#include "ir/visitor.h"
#include "schedule/trace.h"
#include "support/codes.h"
#include "tests/gate/device_cases.h"
#include "tests/gate/programs.h"
#include "transform/inject_software_pipeline.h"
#include "transform/pipelines.h"

namespace loopsmith::gate {
namespace {

struct Verdict {
  std::string difference;   // empty: no difference
  bool ran = true;
};
constexpr int64_t most_statements = 1000000;   // a limit that is the same on every machine

auto run(const IRModule& module, uint64_t seed) -> std::optional<interp::Before> {
  interp::GateOptions options;
  options.seed = seed;
  options.max_steps = most_statements;
  auto before = interp::Before::run(module, "main", options);
  if (!before.ok()) { return {}; }
  return std::move(*before);
}
auto compare(const interp::Before& before, const IRModule& after) -> Verdict {
  auto result = before.compare(after);
  if (!result.ok()) { return {result.diagnostics()[0].message(), false}; }
  return {result->equal ? "" : result->difference, true};
}

auto race_in(const IRModule& module, uint64_t seed) -> std::string {
  auto inputs = interp::make_inputs(module->find("main"), seed, interp::Contents::SmallIntegers);
  if (!inputs.ok()) { return {}; }
  interp::Options options;
  options.report_races = true;
  options.max_steps = most_statements;
  auto stats = interp::interpret(module, "main", inputs->arguments, options);
  if (!stats.ok()) { return {}; }
  for (const Diagnostic& d : stats->warnings) { if (d.code == Code::InterpRace) { return d.message(); } }
  return {};
}

// True when the program reads unwritten elements. Such a program has no defined results that a schedule could keep.
auto reads_unwritten(const IRModule& module, uint64_t seed) -> bool {
  auto inputs = interp::make_inputs(module->find("main"), seed, interp::Contents::SmallIntegers);
  if (!inputs.ok()) { return false; }
  interp::Options options;
  options.report_unwritten = true;
  options.max_steps = most_statements;
  auto stats = interp::interpret(module, "main", inputs->arguments, options);
  return stats.ok() && std::any_of(stats->warnings.begin(), stats->warnings.end(), [](const Diagnostic& d) { return d.code == Code::InterpUnwritten; });
}

// True when loops are bound to the threads of a block, which may synchronize at barriers.
auto has_threads(const IRModule& module) -> bool {
  bool found = false;
  auto look = [&](const Stmt& s) {
    const auto* loop = s.as<For>();
    found = found || (loop && loop->thread && !loop->thread->thread_tag.view().starts_with("blockIdx"));
  };
  post_order(module->find("main")->body, look, [](const Expr&) {});
  return found;
}

auto lower_options(uint64_t seed) -> transform::LowerContext {
  Random random{hash_combine(seed, 0x10)};
  transform::LowerContext context;
  if (random.chance(30)) { context.options.masked_memory = false; }
  if (random.chance(15)) { context.options.vectorize = false; }
  if (random.chance(40)) { context.options.max_lanes = 4; }
  if (random.chance(30)) { context.options.unroll_steps = random.between(1, 64); }
  if (random.chance(20)) { context.options.unswitch_limit = 0; }
  context.options.check_bounds = random.chance(20);
  if (random.chance(40)) { context.options.stack_bytes_each = 0; }   // small buffers share memory, like large ones
  context.options.partition_limit = random.pick<int64_t>({0, 16, 64, 64, 1000000});
  context.options.share_subexpressions = random.chance(40);
  context.options.stay_wide = random.chance(20);
  if (random.chance(20)) { context.options.profile_depth = 2; }
  return context;
}

// Turns a legal loop of an opaque block into a pipeline with random stages.
class AnnotatePipeline : public Mutator {
 public:
  AnnotatePipeline(int64_t which, Random& random) : which_(which), random_(random) {}
  using Mutator::on;
  int64_t seen = 0;
  auto on(const For& n) -> Stmt override {
    size_t count = n.for_kind == ForKind::Serial && n.annotations.empty() ? transform::pipeline_statements(n) : 0;
    Stmt out = Mutator::on(n);
    if (count < 2 || seen++ != which_) { return out; }
    const For& loop = *out.as<For>();
    std::vector<Attr> stages, orders;
    std::vector<int64_t> places;
    int64_t stage = 0;
    for (size_t i = 0; i < count; ++i) {
      stages.emplace_back(int_imm(stage));
      places.push_back(static_cast<int64_t>(i));
      if (random_.chance(60)) { stage += random_.between(0, 2); }
    }
    if (random_.chance(60)) { std::reverse(places.begin(), places.end()); }
    if (random_.chance(30)) { std::swap(places[0], places[static_cast<size_t>(random_.below(static_cast<int64_t>(count)))]); }
    for (int64_t p : places) { orders.emplace_back(int_imm(p)); }
    AttrMap annotations = with_attr(loop.annotations, "software_pipeline_stage", Attr(Array<Attr>(std::move(stages))));
    annotations = with_attr(annotations, "software_pipeline_order", Attr(Array<Attr>(std::move(orders))));
    return make<For>(loop.var, loop.min, loop.extent, loop.for_kind, loop.body, loop.thread, annotations, loop.origin, loop.id);
  }

 private:
  int64_t which_;
  Random& random_;
};

// The module with pipelines before they are lowered, and after the rest of lowering; none if no loop can be a pipeline.
auto pipelined(const IRModule& opaque, uint64_t seed, const transform::LowerContext& context) -> std::optional<std::pair<IRModule, IRModule>> {
  Random random{hash_combine(seed, 0x99)};
  IRModule current = opaque;
  for (int64_t attempt = 0; attempt < 8; ++attempt) {
    AnnotatePipeline annotate(random.below(4), random);
    PrimFunc func = current->find("main");
    Stmt body = annotate.mutate(func->body);
    if (body.same_as(func->body)) { continue; }
    auto made = transform::inject_software_pipeline(with_function(current, Name("main"), with_body(func, body)), context);
    if (made.ok()) { current = *made; }
  }
  if (current.same_as(opaque)) { return {}; }
  IRModule lowered = current;
  bool behind = false;
  for (const transform::Stage& stage : transform::pipeline()) {
    if (behind) {
      auto after = stage.pass(lowered, context);
      if (!after.ok()) { return std::pair(current, IRModule()); }
      lowered = *after;
    }
    behind = behind || std::string_view(stage.name) == "inject_software_pipeline";
  }
  return std::pair(current, lowered);
}

auto check_lowering(const IRModule& module, uint64_t seed, const CheckOptions& options) -> std::optional<Failure> {
  std::vector<std::pair<std::string, IRModule>> stages;
  transform::LowerRequest request;
  request.on_stage = [&](const transform::StageReport& r) { if (!r.is_unchanged()) { stages.emplace_back(r.stage->name, r.after); } };
  auto lowered = transform::lower(module, lower_options(seed), request);
  if (!lowered.ok()) { return Failure{Failure::Kind::LoweringFails, "lowering fails: " + lowered.diagnostics()[0].message(), {}}; }
  if (!transform::is_lowered((*lowered)->find("main"))) { return Failure{Failure::Kind::LoweringFails, "what comes out is not in lowered form", {}}; }
  for (const auto& [name, after] : stages) {
    if (auto lost = lost_definition(module->find("main"), after->find("main"))) {
      return Failure{Failure::Kind::PassChangesResults, fmt::format("stage `{}` leaves nothing that defines `{}`", name, *lost), name};
    }
  }
  auto before = run(module, seed);
  if (!before) { return {}; }
  Verdict verdict = compare(*before, *lowered);
  if (!verdict.ran) { return {}; }
  // The result of every stage is interpreted, because one stage may undo the mistake of another.
  // Tensor units access tiles as contiguous memory: between views and flat buffers, their indices exceed the rows.
  for (const auto& [name, after] : stages) {
    if (options.has_units && (name == "lower_match_buffer" || name == "lower_opaque_block" || name == "simplify")) { continue; }
    if (Verdict here = compare(*before, after); !here.difference.empty() && here.ran) {
      return Failure{Failure::Kind::PassChangesResults, fmt::format("stage `{}` changes the results: {}", name, here.difference), name};
    }
  }
  if (auto opaque = std::find_if(stages.begin(), stages.end(), [](const auto& s) { return s.first == "convert_blocks_to_opaque"; }); opaque != stages.end() && !options.has_units) {
    transform::LowerRequest until;
    until.until = "lower_match_buffer";
    auto start = transform::lower(module, lower_options(seed), until);
    auto two = start.ok() ? pipelined(*start, seed, lower_options(seed)) : std::nullopt;
    if (two) {
      if (!two->second) { return Failure{Failure::Kind::LoweringFails, "a pipeline is not lowered", "inject_software_pipeline"}; }
      for (const IRModule& m : {two->first, two->second}) {
        if (Verdict here = compare(*before, m); !here.difference.empty() && here.ran) {
          return Failure{Failure::Kind::PassChangesResults, "stage `inject_software_pipeline` changes the results: " + here.difference, "inject_software_pipeline"};
        }
      }
    }
  }
  if (!verdict.difference.empty()) { return Failure{Failure::Kind::PassChangesResults, "lowering changes the results: " + verdict.difference, {}}; }
  // Cross-thread reductions need code that this pipeline does not generate.
  if (std::string race = has_threads(module) ? "" : race_in(*lowered, seed); !race.empty()) { return Failure{Failure::Kind::Race, race, {}}; }
  if (options.texts) {
    for (const auto& [name, after] : stages) {
      std::string problem;
      IRModule again = parse_program(print_script(after), problem);
      if (!again) { return Failure{Failure::Kind::TextNotReadBack, "text of stage `" + name + "` is not read back: " + problem, name}; }
      if (auto d = first_difference(after, again)) {
        return Failure{Failure::Kind::TextNotReadBack, fmt::format("text of stage `{}` reads back as other IR at {}: {} and {}", name, d->path, d->left, d->right), name};
      }
    }
  }
  if (options.compiled) {
    if (std::string difference = compiled_difference(module, *lowered, seed); !difference.empty()) {
      return Failure{Failure::Kind::CompiledCodeDiffers, "compiled code differs: " + difference, {}};
    }
  }
  return {};
}

}  // namespace

auto changes_interface(const IRModule& before, const IRModule& after) -> bool {
  PrimFunc a = before->find("main"), b = after->find("main");
  if (!a || !b || a->params.size() != b->params.size()) { return true; }
  for (size_t i = 0; i < a->params.size(); ++i) {
    Buffer x = a->buffer_of(a->params[i]), y = b->buffer_of(b->params[i]);
    if (!x != !y) { return true; }
    if (!x) { continue; }
    if (!(x->dtype == y->dtype) || x->shape.size() != y->shape.size()) { return true; }
    for (size_t d = 0; d < x->shape.size(); ++d) { if (as_int(x->shape[d]) != as_int(y->shape[d])) { return true; } }
  }
  return false;
}

auto check(const Case& c, const CheckOptions& options, bool* ran, std::vector<std::string>* refusals) -> std::optional<Failure> {
  if (ran) { *ran = false; }
  std::string problem;
  IRModule program = parse_program(c.program, problem);
  if (!program || !program->find("main")) { return {}; }
  auto before = run(program, c.seed);
  if (!before) { return {}; }
  if (reads_unwritten(program, c.seed)) { return {}; }
  // An element may be read before it is written, as other code left it; a second run may then have other results.
  if (Verdict v = compare(*before, program); !v.difference.empty() || !v.ran) { return {}; }
  if (ran) { *ran = true; }
  Units units = parse_units(c.units, problem);
  schedule::Schedule sch(program, static_cast<int64_t>(c.seed % 1000000 + 1));
  sch.use_intrinsics(units);
  for (const Step& step : c.steps) { (void)apply_step(sch, step); }
  if (!c.steps.empty()) {
    if (changes_interface(program, sch.module())) { if (ran) { *ran = false; } return {}; }
    Verdict verdict = compare(*before, sch.module());
    if (!verdict.ran) { if (ran) { *ran = false; } return {}; }
    if (!verdict.difference.empty()) { return Failure{Failure::Kind::ScheduleChangesResults, "the schedule changes the results: " + verdict.difference, {}}; }
    if (options.texts) {
      IRModule again = parse_program(print_script(sch.module()), problem);
      if (!again) { return Failure{Failure::Kind::TextNotReadBack, "the scheduled text is not read back: " + problem, {}}; }
      if (auto d = first_difference(sch.module(), again)) {
        return Failure{Failure::Kind::TextNotReadBack, fmt::format("the scheduled text reads back as other IR at {}: {} and {}", d->path, d->left, d->right), {}};
      }
      schedule::Schedule replayed(program, 1);
      replayed.use_intrinsics(units);
      if (auto status = replayed.replay(sch.trace()); !status.ok()) {
        return Failure{Failure::Kind::TraceNotReplayed, "the trace does not replay: " + status.diagnostics()[0].message(), {}};
      }
      if (!structural_equal(replayed.module(), sch.module())) { return Failure{Failure::Kind::TraceNotReplayed, "the trace replays to another module", {}}; }
    }
  }
  CheckOptions now = options;
  now.has_units = std::any_of(c.steps.begin(), c.steps.end(), [](const Step& s) { return s.row->name == "tensorize"; });
  if (!options.lowering) { return {}; }
  return options.kernels ? check_kernels(*before, program->find("main"), program, sch.module(), c.seed, now, refusals) : check_lowering(sch.module(), c.seed, now);
}

auto gist(const std::string& message) -> std::string {
  std::string out;
  bool is_name = false;
  for (char c : message) {
    is_name = is_name != (c == '`');
    if (!is_name && (c < '0' || c > '9')) { out += c; }
  }
  return out;
}

auto script_of(const Case& c) -> std::string {
  std::string out = c.units + c.program;
  if (!out.empty() && out.back() != '\n') { out += '\n'; }
  if (c.steps.empty()) { return out; }
  out += "@ls.schedule(main)\ndef s(sch: tir.Schedule):\n";
  for (const Step& step : c.steps) { out += "    " + step.text() + "\n"; }
  return out;
}

auto line_count(const std::string& text) -> int {
  int out = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) { out += line.find_first_not_of(' ') == std::string::npos ? 0 : 1; }
  return out;
}

}  // namespace loopsmith::gate
