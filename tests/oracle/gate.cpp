// loopsmith-gate [--seed N] [--programs N] [--schedules N] [--seconds S] [--verbose]
//
// The gate: random programs, random schedules of them, and what lowering makes of either, all run by the reference
// interpreter on the same inputs. A schedule or a pass that changes a result is found here.
//
// Further properties of every case: a primitive that fails leaves the very same module; the scheduled module's text reads
// back equal; its trace replays to an equal module.
//
// A failure prints the seed, the program, the shortest prefix of the schedule that shows it (as Python), and the first
// element that differs. The same seed makes the same cases. Exit status 1 where anything failed.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unordered_set>

#include "frontend/file.h"
#include "interp/compare.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "schedule/schedule.h"
#include "schedule/trace.h"
#include "support/hash.h"
#include "syntax/document.h"
#include "transform/pipelines.h"

using namespace loopsmith;
using schedule::Value;

namespace {

struct Random {
  uint64_t state;
  auto next() -> uint64_t { return state = hash_combine(state, 0x51ed); }
  auto below(int64_t n) -> int64_t { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  auto between(int64_t a, int64_t b) -> int64_t { return a + below(b - a + 1); }
  auto chance(int percent) -> bool { return below(100) < percent; }
  template <class T> auto pick(const std::vector<T>& items) -> const T& { return items[static_cast<size_t>(below(static_cast<int64_t>(items.size())))]; }
};

auto parse(const std::string& text, std::string& problem) -> IRModule {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  IRModule module;
  Diagnostics all = document.diagnostics();
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& declaration = file.declaration(i);
    all.insert(all.end(), declaration.diagnostics.begin(), declaration.diagnostics.end());
    if (declaration.is_program && declaration.module) { module = declaration.module; }
  }
  for (const Diagnostic& d : all) {
    if (d.severity == Severity::Error) {
      problem = d.message();
      return {};
    }
  }
  if (!module) { problem = "no program"; }
  return module;
}

// ---- programs ------------------------------------------------------------------------------------------
// A chain of stages over tensors of two dimensions (reductions give one), each reading what came before.

class Program {
 public:
  explicit Program(Random& random) : random_(random) {}

  auto make() -> std::string {
    dtype_ = random_.pick<std::string>({"float32", "float32", "float32", "float32", "float64", "int32", "int16", "int64"});
    tensors_.push_back({parameter({size(), size()}), {}});
    int stages = static_cast<int>(random_.between(1, 4));
    for (int i = 0; i < stages; ++i) { stage(i == stages - 1); }
    std::string out = "@T.prim_func\ndef main(";
    for (size_t i = 0; i < params_.size(); ++i) { out += (i ? ", " : "") + params_[i]; }
    out += "):\n    T.func_attr({\"tir.noalias\": T.bool(True)})\n    with T.block(\"root\"):\n";
    for (const std::string& a : allocations_) { out += "        " + a + "\n"; }
    return out + body_;
  }

 private:
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
  };
  auto size() -> int64_t { return random_.pick<int64_t>({1, 2, 3, 4, 5, 7, 8, 8, 12, 16}); }
  static auto shape_text(const std::vector<int64_t>& shape) -> std::string {
    std::string out = "(";
    for (int64_t e : shape) { out += std::to_string(e) + ", "; }
    return out + ")";
  }
  auto parameter(std::vector<int64_t> shape) -> std::string {
    std::string name = "P" + std::to_string(params_.size());
    params_.push_back(fmt::format("{}: T.Buffer({}, \"{}\")", name, shape_text(shape), dtype_));
    shapes_[name] = std::move(shape);
    return name;
  }
  // The result of a stage: a parameter at the end (sometimes before), else a buffer of the function's own.
  auto result(std::vector<int64_t> shape, bool last) -> std::string {
    if (last || random_.chance(10)) { return parameter(std::move(shape)); }
    std::string name = "T" + std::to_string(allocations_.size());
    allocations_.push_back(fmt::format("{} = T.alloc_buffer({}, \"{}\")", name, shape_text(shape), dtype_));
    shapes_[name] = std::move(shape);
    return name;
  }
  auto constant() -> std::string { return fmt::format("T.{}({})", dtype_, random_.between(1, 3)); }
  void line(int indent, const std::string& text) { body_ += std::string(static_cast<size_t>(8 + 4 * indent), ' ') + text + "\n"; }
  // Loops and the head of a block over axes: 'S' spatial, 'R' reduction.
  void block(const std::vector<int64_t>& extents, const std::string& kinds) {
    std::string loops, axes, bindings, sizes;
    for (size_t i = 0; i < extents.size(); ++i) {
      loops += fmt::format("{}x{}", i ? ", " : "", i);
      axes += fmt::format("{}v{}", i ? ", " : "", i);
      sizes += std::to_string(extents[i]) + ", ";
    }
    if (extents.size() == 1) { line(0, fmt::format("for x0 in range({}):", extents[0])); }
    else { line(0, fmt::format("for {} in T.grid({}):", loops, sizes)); }
    line(1, fmt::format("with T.block(\"B{}\"):", blocks_++));
    if (extents.size() == 1) { line(2, fmt::format("v0 = T.axis.{}({}, x0)", kinds == "S" ? "spatial" : "reduce", extents[0])); }
    else { line(2, fmt::format("{} = T.axis.remap(\"{}\", [{}])", axes, kinds, loops)); }
  }
  auto two_dimensional() -> Tensor {
    std::vector<Tensor> fit;
    for (const auto& [name, shape] : shapes_) {
      if (shape.size() == 2 && made_.count(name)) { fit.push_back({name, shape}); }
    }
    if (fit.empty() || random_.chance(20)) {
      std::string name = parameter({size(), size()});
      made_.insert(name);
      return {name, shapes_[name]};
    }
    return random_.pick(fit);
  }
  void stage(bool last) {
    made_.insert(tensors_.front().name);
    Tensor in = two_dimensional();
    int64_t r = in.shape[0], c = in.shape[1];
    bool real = dtype_[0] == 'f';
    switch (random_.below(12)) {
      case 0: {   // elementwise
        std::string out = result({r, c}, last);
        block({r, c}, "SS");
        line(2, fmt::format("{}[v0, v1] = {}[v0, v1] * {} + {}", out, in.name, constant(), constant()));
        made_.insert(out);
        break;
      }
      case 1: {   // two inputs of the same shape
        Tensor other = in;
        for (const auto& [name, shape] : shapes_) {
          if (shape == in.shape && made_.count(name)) { other = {name, shape}; }
        }
        std::string out = result({r, c}, last);
        block({r, c}, "SS");
        line(2, fmt::format("{}[v0, v1] = T.max({}[v0, v1], {}) - {}[v0, v1]", out, in.name, constant(), other.name));
        made_.insert(out);
        break;
      }
      case 2: {   // transposed
        std::string out = result({c, r}, last);
        block({c, r}, "SS");
        line(2, fmt::format("{}[v0, v1] = {}[v1, v0]", out, in.name));
        made_.insert(out);
        break;
      }
      case 3: {   // stencil
        if (c < 3) { return stage(last); }
        std::string out = result({r, c - 2}, last);
        block({r, c - 2}, "SS");
        line(2, fmt::format("{}[v0, v1] = {}[v0, v1] + {}[v0, v1 + 1] * {} - {}[v0, v1 + 2]", out, in.name, in.name, constant(), in.name));
        made_.insert(out);
        break;
      }
      case 4: {   // padded
        std::string out = result({r + 2, c + 1}, last);
        block({r + 2, c + 1}, "SS");
        line(2, fmt::format("{}[v0, v1] = T.if_then_else(1 <= v0 and v0 < {} and v1 < {}, {}[v0 - 1, v1], {})", out, r + 1, c, in.name, constant()));
        made_.insert(out);
        break;
      }
      case 5:
      case 6: {   // sums and maxima of rows or columns
        bool rows = random_.chance(60);
        bool maximum = random_.chance(30);
        std::string out = result({rows ? r : c}, last);
        std::string at = rows ? "v0, v1" : "v1, v0";
        block(rows ? std::vector<int64_t>{r, c} : std::vector<int64_t>{c, r}, "SR");
        line(2, "with T.init():");
        line(3, fmt::format("{}[v0] = {}", out, maximum ? fmt::format("T.min_value(\"{}\")", dtype_) : fmt::format("T.{}(0)", dtype_)));
        line(2, maximum ? fmt::format("{}[v0] = T.max({}[v0], {}[{}])", out, out, in.name, at)
                        : fmt::format("{}[v0] = {}[v0] + {}[{}]", out, out, in.name, at));
        made_.insert(out);
        if (!last && random_.chance(70)) {   // and spread again
          std::string spread = result({r, c}, false);
          block({r, c}, "SS");
          line(2, fmt::format("{}[v0, v1] = {}[v0, v1] - {}[{}]", spread, in.name, out, rows ? "v0" : "v1"));
          made_.insert(spread);
        }
        break;
      }
      case 7:
      case 8: {   // matmul
        int64_t n = size();
        std::string weight = parameter({c, n});
        made_.insert(weight);
        std::string out = result({r, n}, last);
        block({r, n, c}, "SSR");
        line(2, "with T.init():");
        line(3, fmt::format("{}[v0, v1] = T.{}(0)", out, dtype_));
        line(2, fmt::format("{}[v0, v1] = {}[v0, v1] + {}[v0, v2] * {}[v2, v1]", out, out, in.name, weight));
        made_.insert(out);
        break;
      }
      case 9: {   // convolution along rows
        int64_t k = random_.between(1, std::min<int64_t>(3, c));
        std::string weight = parameter({k});
        std::string out = result({r, c - k + 1}, last);
        block({r, c - k + 1, k}, "SSR");
        line(2, "with T.init():");
        line(3, fmt::format("{}[v0, v1] = T.{}(0)", out, dtype_));
        line(2, fmt::format("{}[v0, v1] = {}[v0, v1] + {}[v0, v1 + v2] * {}[v2]", out, out, in.name, weight));
        made_.insert(out);
        break;
      }
      case 10: {   // computed indices, conditions
        std::string out = result({r, c}, last);
        block({r, c}, "SS");
        line(2, fmt::format("{}[v0, v1] = T.Select(v1 < v0, {}[v0, (v1 * 3 + v0) % {}], {}[{} - v0, v1])", out, in.name, c, in.name, r - 1));
        made_.insert(out);
        break;
      }
      default: {   // mathematics
        std::string out = result({r, c}, last);
        block({r, c}, "SS");
        line(2, real ? fmt::format("{}[v0, v1] = T.tanh({}[v0, v1]) + T.exp(T.min({}[v0, v1], {}))", out, in.name, in.name, constant())
                     : fmt::format("{}[v0, v1] = {}[v0, v1] // {} - {}[v0, v1] % {}", out, in.name, constant(), in.name, constant()));
        made_.insert(out);
        break;
      }
    }
  }

  Random& random_;
  std::string dtype_;
  std::vector<Tensor> tensors_;
  std::vector<std::string> params_, allocations_;
  std::map<std::string, std::vector<int64_t>> shapes_;
  std::unordered_set<std::string> made_;   // tensors with contents
  std::string body_;
  int blocks_ = 0;
};

// ---- schedules -----------------------------------------------------------------------------------------

auto block_names(const IRModule& module) -> std::vector<std::string> {
  std::vector<std::string> out;
  post_order(
      module->functions[0].second->body,
      [&](const Stmt& s) {
        const auto* block = s.as<Block>();
        if (block && block->name.str() != "root" && !block->name.empty()) { out.push_back(block->name.str()); }
      },
      [](const Expr&) {});
  return out;
}

struct Counts {
  int64_t programs = 0, schedules = 0, applied = 0, refused = 0, lowered = 0, left_out = 0, failures = 0;
  std::map<std::string, std::pair<int64_t, int64_t>> by_primitive;   // applied, refused
};

// One random call; false where nothing came of it.
auto step(schedule::Schedule& sch, Random& random, Counts& counts, std::string& broken) -> bool {
  static const std::vector<std::string> names = {
      "split", "split", "split", "fuse", "reorder", "reorder", "parallel", "vectorize", "unroll", "compute_at", "compute_at", "reverse_compute_at",
      "reverse_compute_at", "compute_inline", "reverse_compute_inline", "cache_read", "cache_write", "decompose_reduction", "rfactor", "annotate",
      "add_unit_loop", "set_scope", "storage_align", "bind", "merge", "loop_partition", "reorder_block_iter_var"};
  std::string name = random.pick(names);
  if (!schedule::find_primitive(name)) { return false; }
  std::vector<std::string> blocks = block_names(sch.module());
  if (blocks.empty()) { return false; }
  auto get_block = [&](const std::string& b) -> std::optional<schedule::BlockRV> {
    auto r = sch.call("get_block", {Value(b)});
    if (!r.ok()) { return {}; }
    return schedule::blocks_of(*r)[0];
  };
  auto block = get_block(random.pick(blocks));
  if (!block) { return false; }
  auto got = sch.call("get_loops", {*block});
  if (!got.ok()) { return false; }
  std::vector<schedule::LoopRV> loops = schedule::loops_of(*got);
  auto other_block = get_block(random.pick(blocks));
  std::vector<schedule::LoopRV> other_loops;
  if (other_block) {
    if (auto r = sch.call("get_loops", {*other_block}); r.ok()) { other_loops = schedule::loops_of(*r); }
  }
  if (loops.empty() || other_loops.empty()) { return false; }
  std::vector<Value> args;
  auto scope = [&]() -> Value { return random.chance(50) ? "global" : "local"; };
  if (name == "split" || name == "loop_partition") {
    Value::List factors = {Value(), int64_t{random.between(1, 6)}};
    if (random.chance(30)) { factors.push_back(int64_t{random.between(1, 4)}); }
    if (random.chance(30)) { std::swap(factors[0], factors[1]); }
    args = {random.pick(loops), factors};
  } else if (name == "fuse" || name == "merge") {
    if (loops.size() < 2) { return false; }
    size_t at = static_cast<size_t>(random.below(static_cast<int64_t>(loops.size()) - 1));
    args = {loops[at], name == "fuse" ? loops[at + 1] : random.pick(other_loops)};
  } else if (name == "reorder") {
    std::vector<schedule::LoopRV> order = loops;
    for (size_t i = order.size(); i > 1; --i) { std::swap(order[i - 1], order[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]); }
    if (order.size() > 2 && random.chance(40)) { order.pop_back(); }
    for (const auto& l : order) { args.emplace_back(l); }
  } else if (name == "parallel" || name == "vectorize" || name == "unroll" || name == "add_unit_loop") {
    args = {random.chance(50) ? loops.back() : random.pick(loops)};
  } else if (name == "bind") {
    if (!random.chance(20)) { return false; }
    args = {random.pick(loops), random.chance(50) ? "blockIdx.x" : "threadIdx.x"};
  } else if (name == "compute_at" || name == "reverse_compute_at") {
    args = {*block, random.pick(other_loops), random.chance(30)};
  } else if (name == "compute_inline" || name == "reverse_compute_inline") {
    args = {*block};
  } else if (name == "cache_read" || name == "cache_write") {
    args = {*block, int64_t{name == "cache_read" ? random.below(3) : 0}, scope()};
  } else if (name == "decompose_reduction") {
    args = {*block, random.pick(loops)};
  } else if (name == "rfactor") {
    args = {random.pick(loops), int64_t{random.below(2)}};
  } else if (name == "annotate") {
    args = {random.pick(loops), "pragma_auto_unroll_max_step", int64_t{random.between(1, 32)}};
  } else if (name == "set_scope") {
    args = {*block, int64_t{0}, scope()};
  } else if (name == "storage_align") {
    args = {*block, int64_t{0}, int64_t{0}, int64_t{8}, int64_t{random.below(3)}};
  } else if (name == "reorder_block_iter_var") {
    args = {*block, Value::List{int64_t{1}, int64_t{0}}};
  }
  IRModule before = sch.module();
  auto result = sch.call(name, args);
  if (!result.ok()) {
    ++counts.refused;
    ++counts.by_primitive[name].second;
    if (!sch.module().same_as(before)) { broken = "`" + name + "` failed and changed the module"; }
    return false;
  }
  ++counts.applied;
  ++counts.by_primitive[name].first;
  return true;
}

auto script_of(const schedule::Trace& trace) -> std::string { return trace.simplified(false).python(); }

// ---- cases ---------------------------------------------------------------------------------------------

struct Verdict {
  std::string difference;   // empty: the same
  bool ran = true;
};
auto compare(const IRModule& a, const IRModule& b, uint64_t seed) -> Verdict {
  interp::GateOptions options;
  options.seed = seed;
  options.max_seconds = 10;
  auto result = interp::compare_modules(a, b, "main", options);
  if (!result.ok()) { return {result.diagnostics()[0].message(), false}; }
  return {result->equal ? "" : result->difference, true};
}

void report(Counts& counts, uint64_t seed, const std::string& what, const IRModule& program, const std::string& detail) {
  ++counts.failures;
  fmt::print("FAILED (--seed {} --programs 1): {}\n{}\n{}\n\n", seed, what, print_script(program), detail);
  std::fflush(stdout);
}

void check_lowering(const IRModule& module, Random& random, uint64_t seed, Counts& counts, const std::string& how) {
  transform::LowerContext context;
  if (random.chance(30)) { context.options.masked_memory = false; }
  if (random.chance(20)) { context.options.vectorize = false; }
  if (random.chance(30)) { context.options.max_lanes = 4; }
  if (random.chance(30)) { context.options.unroll_steps = random.between(1, 64); }
  if (random.chance(20)) { context.options.unswitch_limit = 0; }
  std::vector<std::pair<std::string, IRModule>> stages;
  transform::LowerRequest request;
  request.on_stage = [&](const transform::StageReport& r) {
    if (!r.is_unchanged()) { stages.emplace_back(r.stage->name, r.after); }
  };
  auto lowered = transform::lower(module, context, request);
  if (!lowered.ok()) {
    report(counts, seed, "lowering fails: " + lowered.diagnostics()[0].message(), module, how);
    return;
  }
  ++counts.lowered;
  if (!transform::is_lowered((*lowered)->functions[0].second)) { report(counts, seed, "not in lowered form", *lowered, how); }
  Verdict verdict = compare(module, *lowered, seed);
  if (!verdict.difference.empty()) {
    for (const auto& [name, after] : stages) {
      Verdict here = compare(module, after, seed);
      if (here.difference.empty()) { continue; }
      report(counts, seed, fmt::format("stage `{}` changes the values: {}", name, here.difference), module, how + "\nafter the stage:\n" + print_script(after));
      return;
    }
    report(counts, seed, "lowering changes the values: " + verdict.difference, module, how);
    return;
  }
  for (const auto& [name, after] : stages) {
    std::string problem;
    IRModule again = parse(print_script(after), problem);
    if (!again) { report(counts, seed, "text of stage `" + name + "` is not read back: " + problem, after, how); return; }
    if (auto d = first_difference(after, again)) { report(counts, seed, fmt::format("text of stage `{}` reads back as other IR at {}: {} and {}", name, d->path, d->left, d->right), after, how); return; }
  }
}

void one_program(uint64_t seed, int64_t schedules, bool verbose, Counts& counts) {
  Random random{hash_combine(seed, 77)};
  std::string text = Program(random).make();
  std::string problem;
  IRModule program = parse(text, problem);
  if (!program) {
    ++counts.failures;
    fmt::print("FAILED (--seed {} --programs 1): the generator's program is refused: {}\n{}\n", seed, problem, text);
    return;
  }
  ++counts.programs;
  if (verbose) { fmt::print("# seed {}\n{}\n", seed, text); }
  if (Verdict v = compare(program, program, seed); !v.difference.empty()) {
    ++counts.left_out;
    fmt::print("seed {}: the program itself fails: {}\n{}\n", seed, v.difference, text);
    return;
  }
  check_lowering(program, random, seed, counts, "(unscheduled)");
  for (int64_t s = 0; s < schedules; ++s) {
    schedule::Schedule sch(program, static_cast<int64_t>(random.next() % 1000000 + 1));
    std::vector<std::pair<IRModule, schedule::Trace>> states;   // after each step that changed something, with the trace
    std::string broken;
    int64_t tries = random.between(2, 24);
    for (int64_t t = 0; t < tries && broken.empty(); ++t) {
      if (step(sch, random, counts, broken)) { states.emplace_back(sch.module(), sch.trace()); }
    }
    ++counts.schedules;
    if (!broken.empty()) {
      report(counts, seed, broken, program, script_of(sch.trace()));
      continue;
    }
    if (states.empty()) { continue; }
    Verdict verdict = compare(program, sch.module(), seed);
    if (!verdict.ran) {
      ++counts.left_out;
      continue;
    }
    if (!verdict.difference.empty()) {
      for (const auto& [module, trace] : states) {
        Verdict here = compare(program, module, seed);
        if (here.difference.empty()) { continue; }
        report(counts, seed, "the last step changes the values: " + here.difference, program, script_of(trace) + "\ngives\n" + print_script(module));
        break;
      }
      continue;
    }
    const std::string trace = script_of(states.back().second);
    IRModule again = parse(print_script(sch.module()), problem);
    if (!again) { report(counts, seed, "the scheduled text is not read back: " + problem, sch.module(), trace); continue; }
    if (auto d = first_difference(sch.module(), again)) {
      report(counts, seed, fmt::format("the scheduled text reads back as other IR at {}: {} and {}", d->path, d->left, d->right), sch.module(), trace);
      continue;
    }
    schedule::Schedule replayed(program, 1);
    if (auto status = replayed.replay(sch.trace()); !status.ok()) {
      report(counts, seed, "the trace does not replay: " + status.diagnostics()[0].message(), program, trace);
      continue;
    }
    if (!structural_equal(replayed.module(), sch.module())) { report(counts, seed, "the trace replays to another module", program, trace); continue; }
    check_lowering(sch.module(), random, seed, counts, trace);
  }
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1;
  int64_t programs = 60, schedules = 6;
  double seconds = 0;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    auto value = [&]() -> const char* { return i + 1 < argc ? argv[++i] : "0"; };
    if (!std::strcmp(argv[i], "--seed")) { seed = std::strtoull(value(), nullptr, 10); }
    else if (!std::strcmp(argv[i], "--programs")) { programs = std::atoll(value()); }
    else if (!std::strcmp(argv[i], "--schedules")) { schedules = std::atoll(value()); }
    else if (!std::strcmp(argv[i], "--seconds")) { seconds = std::atof(value()); }
    else if (!std::strcmp(argv[i], "--verbose")) { verbose = true; }
    else { fmt::print(stderr, "usage: loopsmith-gate [--seed N] [--programs N] [--schedules N] [--seconds S] [--verbose]\n"); return 2; }
  }
  Counts counts;
  auto start = std::chrono::steady_clock::now();
  auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  fmt::print("gate: seed {}\n", seed);
  for (int64_t i = 0; (seconds > 0 ? spent() < seconds : i < programs) && counts.failures < 20; ++i) {
    one_program(seed + static_cast<uint64_t>(i), schedules, verbose, counts);
  }
  fmt::print("gate: {} programs, {} schedules ({} steps applied, {} refused), {} lowered, {} left out, {} failures, {:.1f} s\n", counts.programs,
             counts.schedules, counts.applied, counts.refused, counts.lowered, counts.left_out, counts.failures, spent());
  for (const auto& [name, n] : counts.by_primitive) { fmt::print("  {:24} {:6} applied {:6} refused\n", name, n.first, n.second); }
  return counts.failures == 0 ? 0 : 1;
}
