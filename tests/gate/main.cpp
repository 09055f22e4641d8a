// loopsmith-gate [--seed N] [--programs N] [--schedules N] [--seconds S] [--counts] [--least A,R] [--compiled N] [--lowering N] [--wide N] [--shrink S] [--verbose]
// loopsmith-gate --devices [--host N] [--opencl N] [--cuda N] [--cubins N]   (kernels: --seed, --programs, --schedules, --seconds, --counts, --shrink as above)
// loopsmith-gate-faults --faults [NAME ...] [--seconds S] [--seed N]        (the test build)
//
// The gate: random programs, random schedules of them, and the results of every stage of lowering of both, all run by the
// reference interpreter on the same inputs: small integers first, where results must be equal, then reals with a bound by
// type. A schedule or a pass that changes a result is found here; so are races of the lowered program, texts that do not read
// back, traces that do not replay, a failed primitive with an effect, and (every Nth case) machine code that differs.
//
// A failure prints the seed, and the smallest program and schedule found that fail in the same way. The same seed makes the same
// cases. Exit status 1 if anything failed, or if a primitive was accepted or refused less often than `--least` requires.
//
// `--faults` plants faults one at a time (support/fault.h), and prints the time until each is found and the length of its smallest case: status 1
// if one is not found within `--seconds` (120) or its case is longer than 15 lines.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "intrinsics/registry.h"
#include "ir/printer.h"
#include "ir/undefined.h"
#include "tests/gate/cases.h"
#include "tests/gate/device_faults.h"
#include "tests/gate/device_programs.h"
#include "tests/gate/device_steps.h"
#include "tests/gate/faults.h"
#include "tests/gate/programs.h"

using namespace loopsmith;
using namespace loopsmith::gate;

namespace {

constexpr int most_lines = 15;   // lines of the script for a planted fault
constexpr int most_device_lines = 40;   // the same for a fault of kernels

struct Counts {
  int64_t programs = 0, schedules = 0, left_out = 0, failures = 0, compiled = 0, wide = 0, host = 0, opencl = 0, cuda = 0, cubins = 0, refused = 0;
  StepCounts steps;
  std::map<std::string, int64_t> refusals;   // of kernels, by message
};

struct Settings {
  int64_t schedules = 6;
  int64_t compiled = 0;          // one of this many cases
  double shrink_seconds = 20;
  bool verbose = false;
  int64_t texts = 3;             // one of this many cases
  int64_t lowering = 1;          // one of this many cases; 0: none
  int64_t wide = 0;              // one of this many programs gets loops of int64
  bool devices = false;          // draw schedules for devices
  int64_t host = 2;              // one of this many kernels runs as CUDA text on the processor
  int64_t opencl = 0;            // one of this many kernels runs as OpenCL; 0: none
  int64_t cuda = 0;              // one of this many kernels runs on the GPU; 0: none
  int64_t cubins = 0;            // one of this many kernels is compiled for GPUs; 0: none
};

// Memory of this process only.
auto spent() -> double { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
auto now() -> double {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Gives a case random steps on its program, the accepted ones in order. Returns a failure that shows without a comparison of results, if a step has one.
auto take_steps(Case& c, const IRModule& program, const Units& units, Random& random, StepCounts& here, Counts& counts) -> std::optional<Failure> {
  schedule::Schedule sch(program, static_cast<int64_t>(random.next() % 1000000 + 1));
  sch.use_intrinsics(units);
  c.steps.clear();
  // A third of the sequences is long.
  int64_t wanted = random.chance(33) ? random.between(11, 30) : random.between(1, 10);
  int64_t tries = 4 * wanted + random.below(8);
  std::string near = random.chance(60) ? random_block(sch, random) : "";
  std::optional<Step> next;
  for (int64_t t = 0; t < tries && static_cast<int64_t>(c.steps.size()) < wanted; ++t) {
    auto step = next ? std::move(next) : random_step(sch, random, here, near);
    next.reset();
    if (!step) { continue; }
    IRModule before = sch.module();
    Applied applied = apply_step(sch, *step);
    if (applied == Applied::NoSuchPlace) { continue; }
    Count& count = counts.steps[std::string(step->row->name)];
    if (applied == Applied::Accepted) {
      ++here[std::string(step->row->name)].accepted;
      ++count.accepted;
      if (changes_interface(program, sch.module())) {
        // Start again from the beginning, without this step.
        sch = schedule::Schedule(program, static_cast<int64_t>(c.seed % 1000000 + 1));
        sch.use_intrinsics(units);
        for (const Step& again : c.steps) { (void)apply_step(sch, again); }
        continue;
      }
      next = follow_up(*step, random);
      c.steps.push_back(std::move(*step));
      if (auto name = lost_definition(before->find("main"), sch.module()->find("main"))) {
        return Failure{Failure::Kind::ScheduleChangesResults, "nothing defines `" + *name + "` after the last step", {}};
      }
      // Facts about blocks are updated from state to state; they must equal newly computed facts.
      if (auto difference = sch.state().verify_cached("main")) {
        return Failure{Failure::Kind::ScheduleChangesResults, "the kept facts of the state differ from a recomputation: " + *difference, {}};
      }
      continue;
    }
    ++count.refused;
    if (!sch.module().same_as(before)) {
      c.steps.push_back(std::move(*step));
      return Failure{Failure::Kind::ScheduleChangesResults, "a primitive failed and changed the module", {}};
    }
  }
  return {};
}

// The first failing case of a program, if there is one.
struct Found { Case c; Failure failure; CheckOptions options; };
auto try_program(uint64_t seed, const Settings& settings, Counts& counts) -> std::optional<Found> {
  Random random{hash_combine(seed, 77)};
  Case c;
  c.seed = seed;
  Generated generated = random_program(random);
  // A quarter of the programs.
  c.program = seed % 4 == 3 ? spelled_recently(generated.program) : std::move(generated.program);
  c.units = std::move(generated.units);
  if (settings.verbose) { fmt::print("# seed {}\n{}{}\n", seed, c.units, c.program); }
  std::string problem;
  Units units = parse_units(c.units, problem);
  if (!c.units.empty() && !units) { return Found{c, {Failure::Kind::TextNotReadBack, "the generator's intrinsics are refused: " + problem, {}}, {}}; }
  IRModule program = parse_program(c.program, problem);
  if (!program) { return Found{c, {Failure::Kind::TextNotReadBack, "the generator's program is refused: " + problem, {}}, {}}; }
  ++counts.programs;
  if (settings.wide > 0 && counts.programs % settings.wide == 0) {
    std::string text = with_wide_loops(c.program);
    if (IRModule wide = text == c.program ? IRModule() : parse_program(text, problem)) {
      c.program = std::move(text);
      program = std::move(wide);
      ++counts.wide;
    }
  }
  CheckOptions options;
  auto is_nth = [](int64_t count, int64_t n) { return n > 0 && count % n == 0; };
  options.lowering = is_nth(counts.programs, settings.lowering);
  bool ran = false;
  if (auto failure = check(c, options, &ran)) { return Found{c, *failure, options}; }
  if (!ran) {
    ++counts.left_out;
    return {};
  }
  // A case depends only on the seed, not on programs that were tried before.
  StepCounts here;
  for (int64_t s = 0; s < settings.schedules; ++s) {
    if (auto failure = take_steps(c, program, units, random, here, counts)) { return Found{c, *failure, options}; }
    ++counts.schedules;
    if (c.steps.empty()) { continue; }
    options.lowering = is_nth(counts.schedules, settings.lowering);
    options.compiled = options.lowering && is_nth(counts.schedules, settings.compiled);
    counts.compiled += options.compiled ? 1 : 0;
    options.texts = is_nth(counts.schedules, settings.texts);
    if (auto failure = check(c, options, &ran)) { return Found{c, *failure, options}; }
    counts.left_out += ran ? 0 : 1;
  }
  return {};
}

// The same for schedules of devices.
auto try_device_program(uint64_t seed, const Settings& settings, Counts& counts) -> std::optional<Found> {
  Random random{hash_combine(seed, 0xdef)};
  Case c;
  c.seed = seed;
  c.program = random_device_program(random);
  std::string problem;
  IRModule program = parse_program(c.program, problem);
  if (!program) { return Found{c, {Failure::Kind::TextNotReadBack, "the generator's program is refused: " + problem, {}}, {}}; }
  ++counts.programs;
  for (int64_t s = 0; s < settings.schedules; ++s) {
    schedule::Schedule sch(program, static_cast<int64_t>(seed % 1000000 + 1));
    c.steps = random_device_steps(sch, random, counts.steps);
    // Places of faults and options of lowering differ from schedule to schedule.
    c.seed = seed + static_cast<uint64_t>(s) * 1000003;
    ++counts.schedules;
    CheckOptions options;
    auto is_nth = [&](int64_t n) { return n > 0 && counts.schedules % n == 0; };
    options.kernels = true;
    options.host = is_nth(settings.host);
    options.opencl = is_nth(settings.opencl);
    options.cuda = is_nth(settings.cuda);
    options.cubin = is_nth(settings.cubins);
    options.texts = is_nth(settings.texts);
    counts.host += options.host ? 1 : 0;
    counts.opencl += options.opencl ? 1 : 0;
    counts.cuda += options.cuda ? 1 : 0;
    counts.cubins += options.cubin ? 1 : 0;
    if (settings.verbose) { fmt::print("# seed {}, schedule {}\n{}", seed, s, script_of(c)); std::fflush(stdout); }
    bool ran = false;
    std::vector<std::string> refusals;
    if (auto failure = check(c, options, &ran, &refusals)) { return Found{c, *failure, options}; }
    for (const std::string& reason : refusals) { ++counts.refusals[gist(reason)]; }
    counts.refused += refusals.empty() ? 0 : 1;
    counts.left_out += ran ? 0 : 1;
  }
  return {};
}
/// True for a difference that float32 does not have: sums of a 16-bit type depend on the order of their terms by more than any tolerance.
auto is_rounding(const Found& found) -> bool {
  using Kind = Failure::Kind;
  const bool is_difference = found.failure.kind == Kind::ScheduleChangesResults || found.failure.kind == Kind::PassChangesResults || found.failure.kind == Kind::CompiledCodeDiffers ||
                             found.failure.kind == Kind::KernelTextDiffers;
  Case wide = found.c;
  for (std::string_view name : {"bfloat16", "float16"}) {
    for (size_t at = 0; (at = wide.program.find(name, at)) != std::string::npos;) { wide.program.replace(at, name.size(), "float32"); }
  }
  return is_difference && wide.program != found.c.program && !check(wide, found.options);
}
auto try_one(uint64_t seed, const Settings& settings, Counts& counts) -> std::optional<Found> {
  auto found = settings.devices ? try_device_program(seed, settings, counts) : try_program(seed, settings, counts);
  return found && is_rounding(*found) ? std::nullopt : found;
}

void report(uint64_t seed, const Found& found, const Settings& settings) {
  Case small = shrink(found.c, found.failure, found.options, settings.shrink_seconds);
  auto failure = check(small, found.options);
  fmt::print("FAILED ({}--seed {} --programs 1): {}\n{}\n", settings.devices ? fmt::format("--devices --host {} --opencl {} --cuda {} --cubins {} ", settings.host, settings.opencl, settings.cuda, settings.cubins) : "",
             seed, failure ? failure->what : found.failure.what, script_of(small));
  std::fflush(stdout);
}

// Tests one fault: the time until it is found, the length of the case. Cases that fail without the fault do not count; a case that stays long is skipped.
auto try_fault(const std::string& name, double seconds, uint64_t seed) -> bool {
  Settings settings;
  settings.schedules = 8;
  settings.texts = 0;            // no fault concerns the parsing of texts
  const std::vector<std::string> of_devices = all_device_faults();
  settings.devices = std::find(of_devices.begin(), of_devices.end(), name) != of_devices.end();
  const bool needs_text = name.starts_with("text_") || name.starts_with("launch_");
  settings.host = needs_text ? 1 : 4;
  if (settings.devices) { settings.schedules = 3; }
  Counts counts;
  double start = spent(), first = 0;
  int64_t first_schedules = 0;
  int shortest = 0;
  std::string by_itself;
  for (uint64_t i = 0; spent() - start < seconds; ++i) {
    plant(name);
    auto found = try_one(seed + i, settings, counts);
    if (!found) { continue; }
    plant({});
    if (check(found->c, found->options)) {
      by_itself += fmt::format(" {}", seed + i);
      continue;
    }
    plant(name);
    if (first == 0) {
      first = spent() - start;
      first_schedules = counts.schedules;
    }
    // Without the fault the remaining case must pass, so that it shows the fault.
    auto is_sound = [&](const Case& c) {
      plant({});
      bool out = !check(c, found->options);
      plant(name);
      return out;
    };
    Case small = shrink(found->c, found->failure, found->options, std::min(20.0, seconds - (spent() - start)), is_sound);
    auto failure = check(small, found->options);
    plant({});
    std::string script = script_of(small);
    int lines = line_count(script);
    if (shortest == 0 || lines < shortest) { shortest = lines; }
    if (!failure || lines > (settings.devices ? most_device_lines : most_lines)) { continue; }
    fmt::print("found {}: first after {:.1f} s and {} schedules, in {} lines after {:.1f} s (seed {})\n  {}\n", name, first, first_schedules, lines, spent() - start, seed + i, failure->what);
    for (size_t at = 0; at < script.size();) {
      size_t end = script.find('\n', at);
      fmt::print("    {}\n", script.substr(at, end - at));
      at = end + 1;
    }
    if (!by_itself.empty()) { fmt::print("  WRONG: without a fault, these seeds fail as well:{}\n", by_itself); }
    std::fflush(stdout);
    return by_itself.empty();
  }
  plant({});
  fmt::print("{} {} in {:.0f} s{}{}\n", first > 0 ? "TOO LONG" : "NOT FOUND", name, seconds, first > 0 ? fmt::format(": first after {:.1f} s, {} lines", first, shortest) : "",
             by_itself.empty() ? "" : "; without a fault, these seeds fail as well:" + by_itself);
  std::fflush(stdout);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1;
  int64_t programs = 60;
  double seconds = 0;
  bool table = false, faults = false;
  long long least_accepted = 0, least_refused = 0;
  std::vector<std::string> names;
  Settings settings;
  intrinsics::install();
  for (int i = 1; i < argc; ++i) {
    auto value = [&]() -> const char* { return i + 1 < argc ? argv[++i] : "0"; };
    if (!std::strcmp(argv[i], "--seed")) { seed = std::strtoull(value(), nullptr, 10); }
    else if (!std::strcmp(argv[i], "--programs")) { programs = std::atoll(value()); }
    else if (!std::strcmp(argv[i], "--schedules")) { settings.schedules = std::atoll(value()); }
    else if (!std::strcmp(argv[i], "--seconds")) { seconds = std::atof(value()); }
    else if (!std::strcmp(argv[i], "--least")) { std::sscanf(value(), "%lld,%lld", &least_accepted, &least_refused); }
    else if (!std::strcmp(argv[i], "--compiled")) { settings.compiled = std::atoll(value()); }
    else if (!std::strcmp(argv[i], "--lowering")) { settings.lowering = std::atoll(value()); }
    else if (!std::strcmp(argv[i], "--wide")) { settings.wide = std::atoll(value()); }
    else if (!std::strcmp(argv[i], "--devices")) { settings.devices = true; }
    else if (!std::strcmp(argv[i], "--host")) { settings.host = std::atoll(value()); }
    else if (!std::strcmp(argv[i], "--opencl")) { settings.opencl = std::atoll(value()); }
    else if (!std::strcmp(argv[i], "--cuda")) { settings.cuda = std::atoll(value()); }
    else if (!std::strcmp(argv[i], "--cubins")) { settings.cubins = std::atoll(value()); }
    else if (!std::strcmp(argv[i], "--shrink")) { settings.shrink_seconds = std::atof(value()); }
    else if (!std::strcmp(argv[i], "--counts")) { table = true; }
    else if (!std::strcmp(argv[i], "--verbose")) { settings.verbose = true; }
    else if (!std::strcmp(argv[i], "--faults")) { faults = true; }
    else if (faults && argv[i][0] != '-') { names.emplace_back(argv[i]); }
    else {
      fmt::print(stderr, "usage: loopsmith-gate [--seed N] [--programs N] [--schedules N] [--seconds S] [--counts] [--least A,R] [--compiled N] [--lowering N] [--wide N] [--shrink S] [--verbose]\n"
                         "       loopsmith-gate --devices [--host N] [--opencl N] [--cuda N] [--cubins N] [--seed N] [--programs N] [--schedules N] [--seconds S] [--counts] [--shrink S] [--verbose]\n"
                         "       loopsmith-gate-faults --faults [NAME ...] [--seconds S]\n");
      return 2;
    }
  }
  if (faults) {
    if (names.empty()) {
      names = all_faults();
      for (std::string& name : all_device_faults()) { names.push_back(std::move(name)); }
    }
    if (names == std::vector<std::string>{"devices"}) { names = all_device_faults(); }
    int missed = 0;
    for (const std::string& name : names) { missed += try_fault(name, seconds > 0 ? seconds : 120, seed) ? 0 : 1; }
    fmt::print("gate: {} faults planted, {} found and shrunk\n", names.size(), static_cast<int>(names.size()) - missed);
    return missed == 0 ? 0 : 1;
  }
  Counts counts;
  double start = now();
  fmt::print("gate: seed {}\n", seed);
  for (int64_t i = 0; (seconds > 0 ? now() - start < seconds : i < programs) && counts.failures < 20; ++i) {
    uint64_t here = seed + static_cast<uint64_t>(i);
    if (auto found = try_one(here, settings, counts)) {
      ++counts.failures;
      report(here, *found, settings);
    }
  }
  int64_t accepted = 0, refused = 0;
  for (const auto& [name, n] : counts.steps) {
    accepted += n.accepted;
    refused += n.refused;
  }
  fmt::print("gate: {} programs, {} schedules ({} steps accepted, {} refused), {} compiled, {} with loops of int64, {} left out, {} failures, {:.1f} s\n", counts.programs,
             counts.schedules, accepted, refused, counts.compiled, counts.wide, counts.left_out, counts.failures, now() - start);
  if (settings.devices) { fmt::print("gate: of the kernels, {} ran as CUDA text on the processor, {} as OpenCL, {} by NVIDIA's driver, {} were compiled for GPUs; {} schedules were refused\n", counts.host, counts.opencl, counts.cuda, counts.cubins, counts.refused); }
  for (const auto& [reason, count] : counts.refusals) { if (table) { fmt::print("  {:6} {}\n", count, reason); } }
  // A generator or a compiler that refuses much tests little.
  bool is_enough = counts.refused * 10 <= counts.schedules;
  if (!is_enough) { fmt::print("gate: more than a tenth of the schedules were refused\n"); }
  for (const schedule::Primitive* row : changing_rows()) {
    Count n = counts.steps[std::string(row->name)];
    bool is_few = n.accepted < least_accepted || n.refused < least_refused;
    is_enough = is_enough && !is_few;
    if (table || is_few) { fmt::print("  {:26} {:6} accepted {:6} refused{}\n", row->name, n.accepted, n.refused, is_few ? "   too few" : ""); }
  }
  return counts.failures == 0 && is_enough ? 0 : 1;
}
