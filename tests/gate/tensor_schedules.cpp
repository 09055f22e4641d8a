// loopsmith-gate-tensors [--seed N] [--programs N] [--steps N] [--seconds S]
// loopsmith-gate-tensors-faults [--seed N] [--programs N] [--steps N] --faults NAME...
//
// The gate for schedules of tensor expressions: random graphs of `te.compute`, and random steps on their stages, as the text of a file. A step that is refused is left out. The
// program after the accepted steps must compute the same results as the program without steps, and the translated trace must give the same program when it is replayed.
//
// A third of the graphs have a size that is a variable; their results are compared for several sizes, among them 1, and sizes below the factors.
//
// A failure prints the seed and the shortest file found that fails in the same way. Exit status 1 if anything failed, or if fewer than a third of the steps were accepted.
// With `--faults`, each of these faults is planted in turn (support/fault.h), and must be found within N programs. The file found must pass without it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "frontend/file.h"
#include "interp/compare.h"
#include "ir/equal.h"
#include "script/schedules.h"
#include "syntax/document.h"
#include "tests/gate/faults.h"
#include "tests/gate/random.h"

using namespace loopsmith;
using gate::Random;

namespace {

// ---- files -----------------------------------------------------------------------------------------------------------

struct TensorFile {
  std::string graph;                  // up to `s = te.create_schedule(...)`
  std::vector<std::string> steps;     // one statement each
  [[nodiscard]] auto text() const -> std::string {
    std::string out = graph;
    for (const std::string& step : steps) { out += step + "\n"; }
    return out;
  }
};

struct Ran {
  IRModule before, after;
  schedule::Trace trace;
};
/// The schedule of a file; none: it has errors, or is not known.
auto run_file(const TensorFile& file) -> std::optional<Ran> {
  syntax::Document document(file.text());
  frontend::File read(script::predeclared);
  read.update(document);
  script::Schedules schedules;
  schedules.update(read);
  (void)schedules.run_all(read, CancelToken());
  const script::FileSchedule* schedule = schedules.find(Name("s"));
  if (!schedule || !schedule->run || !schedule->run->result || !schedule->run->is_complete || has_errors(schedule->run->all_diagnostics()) || has_errors(schedule->diagnostics)) { return std::nullopt; }
  return Ran{schedule->run->program, schedule->run->result->module(), schedule->run->result->trace()};
}

/// The way in which a schedule is wrong; empty: none.
auto fault_of(const Ran& ran, uint64_t seed) -> std::string {
  // Sizes that are variables: one and two iterations, fewer than most factors, and a number that no factor divides.
  const bool has_sizes = !ran.before->functions.front().second->buffer_map.front().second->shape[0].as<IntImm>();
  for (int64_t size : has_sizes ? std::vector<int64_t>{1, 2, 3, 7} : std::vector<int64_t>{1}) {
    interp::GateOptions options;
    options.size = size;
    options.seed = seed;
    auto same = interp::compare_modules(ran.before, ran.after, Name("main"), options);
    if (!same.ok()) { return fmt::format("the schedule does not run: {}{}", same.diagnostics()[0].message(), has_sizes ? fmt::format(" (n = {})", size) : ""); }
    if (!same->equal) { return fmt::format("the schedule changes results: {}{}", same->difference, has_sizes ? fmt::format(" (n = {})", size) : ""); }
  }
  schedule::Schedule again(ran.before, 1);
  if (Status replayed = again.replay(ran.trace); !replayed.ok()) { return "the trace does not replay: " + replayed.diagnostics()[0].message(); }
  return structural_equal(again.module(), ran.after) ? std::string() : "the replayed trace gives another program";
}

// ---- drawing ---------------------------------------------------------------------------------------------------------

struct DrawnStage {
  std::string name;
  std::vector<std::string> axes = {}; // the expressions of its loops, outermost first
  size_t reductions = 0;              // at the end of the axes as written
  std::vector<size_t> inputs = {};    // stages that it reads
  std::vector<std::string> tensors = {};   // placeholders that it reads
  bool is_output = false;
};

class Drawing {
 public:
  explicit Drawing(uint64_t seed) : random_{seed} {}
  auto draw_graph() -> std::string;
  /// A statement, which may be refused. `accept` takes over the axes that it makes.
  auto draw_step() -> std::string;
  void accept() { stages_ = next_; }

 private:
  auto computed(size_t stage) -> std::string;
  auto variable() -> std::string { return fmt::format("x{}", variables_++); }
  auto stage() -> DrawnStage& { return next_[static_cast<size_t>(random_.below(std::ssize(next_)))]; }
  auto split(DrawnStage& of) -> std::string;
  auto fuse(DrawnStage& of) -> std::string;
  auto reorder(DrawnStage& of) -> std::string;
  auto mark(DrawnStage& of) -> std::string;
  auto place(DrawnStage& of) -> std::string;
  auto add_stage(DrawnStage& of) -> std::string;
  auto factor(DrawnStage& of) -> std::string;

  Random random_;
  std::vector<DrawnStage> stages_, next_;
  std::string n_;                     // the size of all axes
  int variables_ = 0;
};

// The value of a stage of shape (n, n), of one or two earlier tensors.
auto Drawing::computed(size_t stage) -> std::string {
  DrawnStage& of = stages_[stage];
  auto tensor = [&]() -> std::string {
    if (stage == 0 || random_.chance(35)) {
      of.tensors.push_back(random_.chance(50) ? "A" : "B");
      return of.tensors.back();
    }
    const auto input = static_cast<size_t>(random_.below(static_cast<int64_t>(stage)));
    if (std::find(of.inputs.begin(), of.inputs.end(), input) == of.inputs.end()) { of.inputs.push_back(input); }
    return stages_[input].name;
  };
  const std::string a = tensor(), b = tensor();
  of.axes = {of.name + ".op.axis[0]", of.name + ".op.axis[1]"};
  auto reduced = [&] {
    of.axes.push_back(of.name + ".op.reduce_axis[0]");
    of.reductions = 1;
  };
  switch (random_.below(7)) {
    case 0: reduced(); return fmt::format("lambda i, j: te.sum({}[i, k{}] * {}[k{}, j], axis=k{})", a, stage, b, stage, stage);
    case 1: reduced(); return fmt::format("lambda i, j: te.max({}[i, k{}] + {}[j, k{}], axis=k{})", a, stage, b, stage, stage);
    case 2: return fmt::format("lambda i, j: {}[j, i] + {}[i, j]", a, b);
    case 3: return fmt::format("lambda i, j: te.if_then_else(tvm.tir.all(i >= 1, j >= 1), {}[i - 1, j - 1], 0.0) + {}[i, j]", a, b);
    case 4: return fmt::format("lambda i, j: {}[i, j] * 2.0", a);
    case 5: return fmt::format("lambda i, j: te.max({}[i, j], {}[i, 0])", a, b);
    default: return fmt::format("lambda i, j: {}[i, j] - {}[i, j]", a, b);
  }
}

auto Drawing::draw_graph() -> std::string {
  n_ = random_.pick(std::vector<std::string>{"4", "6", "7", "8", "n", "n"});
  std::string out = fmt::format("import tvm\nfrom tvm import te\n\n{1}A = te.placeholder(({0}, {0}), name=\"A\")\nB = te.placeholder(({0}, {0}), name=\"B\")\n", n_, n_ == "n" ? "n = te.var(\"n\")\n" : "");
  const size_t count = static_cast<size_t>(random_.between(1, 4));
  for (size_t i = 0; i < count; ++i) {
    stages_.push_back({.name = fmt::format("T{}", i)});
    out += fmt::format("k{} = te.reduce_axis((0, {}), name=\"k{}\")\nT{} = te.compute(({}, {}), {}, name=\"T{}\")\n", i, n_, i, i, n_, n_, computed(i), i);
  }
  std::vector<std::string> outputs;
  for (size_t i = 0; i < count; ++i) {
    const bool is_read = std::any_of(stages_.begin(), stages_.end(), [&](const DrawnStage& s) { return std::find(s.inputs.begin(), s.inputs.end(), i) != s.inputs.end(); });
    stages_[i].is_output = !is_read;
    if (!is_read) { outputs.push_back(stages_[i].name + ".op"); }
  }
  next_ = stages_;
  return out + fmt::format("s = te.create_schedule([{}])\n", fmt::join(outputs, ", "));
}

auto Drawing::split(DrawnStage& of) -> std::string {
  const auto at = random_.below(std::ssize(of.axes));
  const std::string outer = variable(), inner = variable(), axis = of.axes[static_cast<size_t>(at)];
  of.axes[static_cast<size_t>(at)] = outer;
  of.axes.insert(of.axes.begin() + at + 1, inner);
  return fmt::format("{}, {} = s[{}].split({}, {}={})", outer, inner, of.name, axis, random_.chance(70) ? "factor" : "nparts",
                     random_.chance(15) ? 16 : random_.between(1, 4));
}

auto Drawing::fuse(DrawnStage& of) -> std::string {
  if (of.axes.size() < 2) { return {}; }
  const auto at = random_.below(std::ssize(of.axes) - 1);
  const std::string fused = variable();
  const std::string out = fmt::format("{} = s[{}].fuse({}, {})", fused, of.name, of.axes[static_cast<size_t>(at)], of.axes[static_cast<size_t>(at) + 1]);
  of.axes[static_cast<size_t>(at)] = fused;
  of.axes.erase(of.axes.begin() + at + 1);
  return out;
}

auto Drawing::reorder(DrawnStage& of) -> std::string {
  for (size_t i = of.axes.size(); i > 1; --i) { std::swap(of.axes[i - 1], of.axes[static_cast<size_t>(random_.below(static_cast<int64_t>(i)))]); }
  return fmt::format("s[{}].reorder({})", of.name, fmt::join(of.axes, ", "));
}

auto Drawing::mark(DrawnStage& of) -> std::string {
  static const std::vector<std::string> kinds{"parallel", "vectorize", "unroll"};
  return fmt::format("s[{}].{}({})", of.name, random_.pick(kinds), random_.pick(of.axes));
}

auto Drawing::place(DrawnStage& of) -> std::string {
  if (random_.chance(25)) { return fmt::format("s[{}].compute_inline()", of.name); }
  const DrawnStage& consumer = stage();
  return fmt::format("s[{}].compute_at(s[{}], {})", of.name, consumer.name, random_.pick(consumer.axes));
}

auto Drawing::add_stage(DrawnStage& of) -> std::string {
  const std::string made = fmt::format("C{}", variables_++);
  if (random_.chance(30) && !of.tensors.empty()) {
    const std::string statement = fmt::format("{} = s.cache_read({}, \"local\", [{}])", made, of.tensors[0], of.name);
    next_.push_back({.name = made, .axes = {made + ".op.axis[0]", made + ".op.axis[1]"}});
    return statement;
  }
  DrawnStage& from = of;
  const std::string name = from.name;
  if (random_.chance(40) && from.reductions > 0) {
    const std::string axis = from.axes.back();
    from.axes = {name + ".op.axis[0]", name + ".op.axis[1]", fmt::format("s[{}].op.reduce_axis[0]", name)};
    next_.push_back({.name = made, .axes = {fmt::format("s[{}].op.axis[0]", made), fmt::format("s[{}].op.axis[1]", made), fmt::format("s[{}].op.axis[2]", made)}});
    return fmt::format("{} = s.rfactor({}, {})", made, name, axis);
  }
  DrawnStage cache{.name = made, .axes = {fmt::format("s[{}].op.axis[0]", made), fmt::format("s[{}].op.axis[1]", made)}, .reductions = from.reductions, .inputs = from.inputs};
  if (from.reductions > 0) { cache.axes.push_back(fmt::format("s[{}].op.reduce_axis[0]", made)); }
  from.axes = {name + ".op.axis[0]", name + ".op.axis[1]"};
  from.reductions = 0;
  next_.push_back(std::move(cache));
  return fmt::format("{} = s.cache_write({}, \"local\")", made, name);
}

// Both parts of a split reduction, one of them factored.
auto Drawing::factor(DrawnStage& of) -> std::string {
  const std::string split_step = fmt::format("x{0}, x{1} = s[{2}].split({3}, {4}={5})", variables_, variables_ + 1, of.name, of.axes.back(), random_.chance(70) ? "factor" : "nparts", random_.pick(std::vector<int64_t>{2, 3, 4, 16}));
  const std::string axis = fmt::format("x{}", variables_ + random_.below(2)), made = fmt::format("C{}", variables_ + 2), name = of.name;
  variables_ += 3;
  of.axes = {name + ".op.axis[0]", name + ".op.axis[1]", fmt::format("s[{}].op.reduce_axis[0]", name)};
  next_.push_back({.name = made, .axes = {fmt::format("s[{}].op.axis[0]", made), fmt::format("s[{}].op.axis[1]", made), fmt::format("s[{}].op.axis[2]", made), fmt::format("s[{}].op.reduce_axis[0]", made)}});
  return fmt::format("{}\n{} = s.rfactor({}, {})", split_step, made, name, axis);
}

auto Drawing::draw_step() -> std::string {
  next_ = stages_;
  const int64_t kind = random_.below(10);
  DrawnStage& of = stage();
  if (of.reductions > 0 && random_.chance(15)) { return factor(of); }
  if (kind < 3) { return split(of); }
  if (kind == 3) { return fuse(of); }
  if (kind == 4) { return reorder(of); }
  if (kind == 5) { return mark(of); }
  return kind < 8 ? place(of) : add_stage(of);
}

// ---- the run ---------------------------------------------------------------------------------------------------------

struct Counts {
  int64_t programs = 0, accepted = 0, refused = 0, failures = 0;
};

/// Leaves out steps while the file still fails in the same way.
auto shortest(TensorFile file, const std::string& fault, uint64_t seed) -> TensorFile {
  const std::string kind = fault.substr(0, fault.find(':'));
  for (size_t i = file.steps.size(); i-- > 0;) {
    TensorFile smaller = file;
    smaller.steps.erase(smaller.steps.begin() + static_cast<ptrdiff_t>(i));
    auto ran = run_file(smaller);
    if (ran && fault_of(*ran, seed).starts_with(kind)) { file = std::move(smaller); }
  }
  return file;
}

/// Returns a file that fails, as short as possible.
auto try_graph(uint64_t seed, int64_t steps, Counts& counts, bool is_quiet = false) -> std::optional<TensorFile> {
  Drawing drawing(seed);
  TensorFile file{drawing.draw_graph(), {}};
  ++counts.programs;
  if (!run_file(file)) {
    ++counts.failures;
    fmt::print("FAILED (--seed {} --programs 1): the graph is not read\n{}\n", seed, file.text());
    return file;
  }
  for (int64_t i = 0; i < steps; ++i) {
    const std::string step = drawing.draw_step();
    if (step.empty()) { continue; }
    TensorFile longer = file;
    longer.steps.push_back(step);
    auto ran = run_file(longer);
    ++(ran ? counts.accepted : counts.refused);
    if (!ran) { continue; }
    drawing.accept();
    file = std::move(longer);
    if (i + 1 < steps && i % 4 != 3) { continue; }
    const std::string fault = fault_of(*ran, seed);
    if (fault.empty()) { continue; }
    ++counts.failures;
    file = shortest(file, fault, seed);
    if (!is_quiet) { fmt::print("FAILED (--seed {} --programs 1): {}\n{}\n", seed, fault, file.text()); }
    return file;
  }
  return std::nullopt;
}

/// True: the gate finds the fault within this number of programs, and the file found is right without it.
auto finds(const std::string& fault, int64_t seed, int64_t programs, int64_t steps) -> bool {
  for (int64_t i = 0; i < programs; ++i) {
    Counts counts;
    const auto one = static_cast<uint64_t>(seed + i);
    gate::plant(fault);
    std::optional<TensorFile> file = try_graph(one, steps, counts, true);
    gate::plant("");
    if (!file) { continue; }
    auto ran = run_file(*file);
    if (!ran || !fault_of(*ran, one).empty()) {
      fmt::print("{}: the file of seed {} is wrong without the fault\n{}\n", fault, one, file->text());
      return false;
    }
    fmt::print("{}: found by seed {}, {} steps\n", fault, one, file->steps.size());
    return true;
  }
  fmt::print("{}: not found\n", fault);
  return false;
}

auto number_behind(int argc, char** argv, const char* option, int64_t otherwise) -> int64_t {
  for (int i = 1; i + 1 < argc; ++i) { if (!std::strcmp(argv[i], option)) { return std::strtoll(argv[i + 1], nullptr, 10); } }
  return otherwise;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const int64_t seed = number_behind(argc, argv, "--seed", 1), steps = number_behind(argc, argv, "--steps", 10), seconds = number_behind(argc, argv, "--seconds", 0);
  const int64_t programs = number_behind(argc, argv, "--programs", seconds > 0 ? INT64_C(1) << 60 : 100);
  const auto begin = std::chrono::steady_clock::now();
  if (auto faults = std::find_if(argv, argv + argc, [](const char* one) { return !std::strcmp(one, "--faults"); }); faults != argv + argc) {
    bool is_found = true;
    for (++faults; faults != argv + argc; ++faults) { is_found = finds(*faults, seed, programs, steps) && is_found; }
    return is_found ? 0 : 1;
  }
  Counts counts;
  for (int64_t i = 0; i < programs; ++i) {
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (seconds > 0 && passed > static_cast<double>(seconds)) { break; }
    (void)try_graph(static_cast<uint64_t>(seed + i), steps, counts);
  }
  fmt::print("gate of tensor expressions: {} graphs from seed {}, {} steps accepted, {} refused, {} failures\n", counts.programs, seed, counts.accepted, counts.refused, counts.failures);
  const bool is_idle = counts.accepted * 3 < counts.accepted + counts.refused;
  if (is_idle) { fmt::print("fewer than a third of the steps were accepted\n"); }
  return counts.failures > 0 || is_idle ? 1 : 0;
}
