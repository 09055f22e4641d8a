// The times of schedules, compared with TVM 0.19's figures: a new schedule with one split (354 us), a copy (19 us), the replay of a
// matmul trace (37 instructions 2.04 ms; 56 instructions 3.46 ms); and the time of a primitive in programs with many unrelated functions
// and blocks, alone and after other primitives. Processor time, best of several rounds.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <chrono>
#include <ctime>

#include "frontend/file.h"
#include "ir/printer.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "syntax/document.h"
#include "tests/bench/crowd.h"
#include "tests/bench/matmul.h"
#include "workspace/snapshot.h"

using namespace loopsmith;

namespace {

// Processor time of this thread, so that other work on the machine does not count.
auto cpu_us() -> double {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

template <class F>
auto best_us(const F& f) -> double {
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    constexpr int count = 40;
    double start = cpu_us();
    for (int i = 0; i < count; ++i) { f(); }
    best = std::min(best, (cpu_us() - start) / count);
  }
  return best;
}

// A large program: `functions` in the module, `blocks` in the scheduled one.
auto crowd_text(int functions, int blocks) -> std::string {
  std::string text = "@I.ir_module\nclass Module:\n";
  for (int f = 0; f < functions; ++f) {
    int stages = f == 0 ? blocks : 1;
    text += fmt::format("    @T.prim_func\n    def {}(A: T.Buffer((64,), \"float32\"), Z: T.Buffer((64,), \"float32\")):\n", f == 0 ? std::string("main") : fmt::format("f{}", f));
    for (int b = 0; b + 1 < stages; ++b) { text += fmt::format("        T{} = T.alloc_buffer((64,))\n", b); }
    for (int b = 0; b < stages; ++b) {
      text += fmt::format("        for i in range(64):\n            with T.block(\"B{0}\"):\n                vi = T.axis.spatial(64, i)\n                {1}[vi] = {2}[vi] + T.float32(1)\n", b,
                          b + 1 == stages ? "Z" : fmt::format("T{}", b), b == 0 ? "A" : fmt::format("T{}", b - 1));
    }
  }
  return text;
}

auto crowd(int functions, int blocks) -> IRModule {
  syntax::Document document(crowd_text(functions, blocks));
  frontend::File file;
  file.update(document);
  for (size_t i = 0; i < file.size(); ++i) {
    if (file.declaration(i).module) { return file.declaration(i).module; }
  }
  return {};
}

void crowd_rows() {
  using Args = std::vector<schedule::Value>;
  using List = schedule::Value::List;
  struct Step { const char* name; Args (*args)(const schedule::Value& b0, const schedule::Value& b1, const schedule::Value& loop0, const schedule::Value& loop1, const schedule::Value& inner); };
  const Step steps[] = {
      {"split", [](const auto&, const auto&, const auto& loop0, const auto&, const auto&) { return Args{loop0, List{nullptr, 8}}; }},
      {"parallel", [](const auto&, const auto&, const auto& loop0, const auto&, const auto&) { return Args{loop0}; }},
      {"reorder", [](const auto&, const auto&, const auto&, const auto& loop1, const auto& inner) { return Args{inner, loop1}; }},
      {"fuse", [](const auto&, const auto&, const auto&, const auto& loop1, const auto& inner) { return Args{loop1, inner}; }},
      {"compute_at", [](const auto& b0, const auto&, const auto&, const auto& loop1, const auto&) { return Args{b0, loop1}; }},
      {"reverse_compute_at", [](const auto&, const auto& b1, const auto& loop0, const auto&, const auto&) { return Args{b1, loop0}; }},
      {"compute_inline", [](const auto& b0, const auto&, const auto&, const auto&, const auto&) { return Args{b0}; }},
      {"cache_read", [](const auto&, const auto& b1, const auto&, const auto&, const auto&) { return Args{b1, 0, "local"}; }},
      {"cache_write", [](const auto& b0, const auto&, const auto&, const auto&, const auto&) { return Args{b0, 0, "local"}; }},
      {"annotate", [](const auto& b0, const auto&, const auto&, const auto&, const auto&) { return Args{b0, "key", 1}; }},
  };
  for (const Step& step : steps) {
    double alone = 0;
    for (auto [functions, blocks] : {std::pair{1, 3}, std::pair{200, 3}, std::pair{1, 500}}) {
      IRModule module = crowd(functions, blocks);
      if (!module) { fmt::print("the crowded program does not parse\n"); std::exit(1); }
      schedule::Schedule base(module, 1);
      auto b0 = base.call("get_block", {"B0"}), b1 = base.call("get_block", {"B1"});
      schedule::Value loop0 = schedule::loops_of(*base.call("get_loops", {*b0}))[0], whole1 = schedule::loops_of(*base.call("get_loops", {*b1}))[0];
      auto parts = schedule::loops_of(*base.call("split", {whole1, List{nullptr, 8}}));
      auto run = [&] {
        schedule::Schedule sch = base;
        if (auto done = sch.call(step.name, step.args(*b0, *b1, loop0, parts[0], parts[1])); !done.ok()) { fmt::print("{}: {}\n", step.name, done.diagnostics()[0].message()); std::exit(1); }
      };
      double us = best_us(run);
      if (alone == 0) { alone = us; }
      fmt::print("{:<64} {:>10.2f} us   {:>5.1f} times\n", fmt::format("one {}, {} functions, {} blocks in this one", step.name, functions, blocks), us, us / alone);
    }
  }
}

// Operations on whole schedules, and an edit of the last line of a schedule of a dozen lines, timed from the key to its findings.
void session_rows(std::string_view only) {
  constexpr std::pair<int, int> crowds[] = {{1, 3}, {200, 3}, {1, 500}, {1, 5000}};
  struct Session { IRModule module; schedule::Schedule done; schedule::Trace trace; std::unique_ptr<workspace::Document> document; };
  std::vector<Session> sessions;
  for (auto [functions, blocks] : crowds) {
    std::string text = crowd_text(functions, blocks) + "\n\n@ls.schedule(Module)\ndef s(sch: tir.Schedule) -> None:\n"
        "    b = sch.get_block(\"B0\")\n    i, = sch.get_loops(b)\n    i0, i1 = sch.split(i, factors=[None, 8])\n    sch.vectorize(i1)\n"
        "    c = sch.get_block(\"B1\")\n    k, = sch.get_loops(c)\n    k0, k1 = sch.split(k, factors=[None, 8])\n    sch.reverse_compute_at(c, i0)\n"
        "    r = sch.cache_read(b, 0, \"local\")\n    sch.compute_at(r, i0)\n    sch.parallel(i0)\n    sch.annotate(b, \"tile\", 1)\n";
    auto document = workspace::analyse("crowd.tir", text);
    const auto& schedules = document->snapshot()->schedules();
    if (!document->snapshot()->findings().empty() || schedules.size() != 1 || !schedules[0].run || !schedules[0].run->result) { fmt::print("the crowded schedule does not run\n"); std::exit(1); }
    const schedule::Schedule& done = *schedules[0].run->result;
    sessions.push_back({schedules[0].program, done, done.trace(), std::move(document)});
  }
  auto row = [&](const char* name, auto&& f) {
    if (!only.empty() && only != name) { return; }
    std::string line = fmt::format("{:<28}", name);
    double alone = 0;
    for (Session& session : sessions) {
      std::vector<double> all;
      for (int i = 0; i < (only.empty() ? 31 : 1001); ++i) {
        auto start = std::chrono::steady_clock::now();
        f(session, i);
        all.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
      }
      auto median = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
      std::nth_element(all.begin(), median, all.end());
      if (alone == 0) { alone = *median; line += fmt::format(" {:>10.2f}", *median); } else { line += fmt::format(" {:>10.2f} {:>5.1f} times", *median, *median / alone); }
    }
    fmt::print("{}\n", line);
  };
  fmt::print("\n{:<28} {:>10} {:>22} {:>22} {:>22}\n", "us", "alone", "of 200 functions", "beside 500 blocks", "beside 5000 blocks");
  row("copy", [](Session& s, int) { schedule::Schedule copy = s.done; });
  row("a step and its undo", [](Session& s, int i) {
    schedule::Schedule before = s.done;
    if (!s.done.call("annotate", {"B0", "key", i}).ok()) { std::exit(1); }
    s.done = before;
  });
  row("work_on", [](Session& s, int) { schedule::Schedule copy = s.done; if (!copy.work_on("main").ok()) { std::exit(1); } });
  row("new schedule", [](Session& s, int) { schedule::Schedule sch(s.module, 1); });
  row("replay", [](Session& s, int) { schedule::Schedule sch(s.module, 1); if (!sch.replay(s.trace).ok()) { std::exit(1); } });
  auto edit = [](Session& s, std::string_view line, auto i) {
    auto held = s.document->snapshot();
    const std::string& text = held->text();
    auto begin = static_cast<uint32_t>(text.rfind("    sch.")), end = static_cast<uint32_t>(text.size());
    s.document->edit(held->version() + 1, {begin, end}, fmt::format(fmt::runtime(line), i));
    s.document->check();
    (void)s.document->replay({});
    return s.document->snapshot()->findings().size();
  };
  row("edit of the last line", [&](Session& s, int i) { if (edit(s, "    sch.annotate(b, \"tile\", {})\n", i) != 0) { std::exit(1); } });
  row("that is refused", [&](Session& s, int i) { if (edit(s, "    sch.fuse(i1, i0, {})\n", i % 2 == 0 ? "True" : "False") != 1) { std::exit(1); } });
}

// Every primitive on its example, or only the named ones: alone, with 500 other blocks, with 5000, in a module of 200 functions. Each call is
// on a new state, as after a step elsewhere in the function.
void primitive_rows(const std::vector<std::string_view>& names) {
  fmt::print("\n{:<28} {:>10} {:>22} {:>22} {:>22}\n", "one step, us", "alone", "beside 500 blocks", "beside 5000 blocks", "of 200 functions");
  for (const schedule::Primitive* primitive : schedule::all_primitives()) {
    if (primitive->example_program.empty() || (!names.empty() && std::find(names.begin(), names.end(), primitive->name) == names.end())) { continue; }
    double alone = 0;
    std::string line = fmt::format("{:<28}", primitive->name);
    for (auto [blocks, functions] : {std::pair{3, 0}, std::pair{500, 0}, std::pair{5000, 0}, std::pair{3, 200}}) {
      auto step = bench::step_among(*primitive, blocks, functions);
      if (!step.ok()) { fmt::print("{}\n", step.diagnostics()[0].message()); std::exit(1); }
      std::vector<double> all;
      for (int i = 0; i < 61; ++i) {
        schedule::Schedule fresh = step->fresh();
        auto start = std::chrono::steady_clock::now();
        {
          schedule::Schedule sch = fresh;
          if (!step->run(sch)) { fmt::print("{} is refused\n", primitive->name); std::exit(1); }
        }
        all.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
      }
      std::nth_element(all.begin(), all.begin() + 30, all.end());
      double us = all[30];
      if (alone == 0) { alone = us; line += fmt::format(" {:>10.2f}", us); } else { line += fmt::format(" {:>10.2f} {:>5.1f} times", us, us / alone); }
    }
    fmt::print("{}\n", line);
  }
}

// A chain of steps; each works on blocks that no earlier step changed.
void chain_rows() {
  using List = schedule::Value::List;
  const int steps = 40;
  for (const char* name : {"split", "parallel", "compute_at", "compute_inline", "cache_read", "cache_write", "reverse_compute_at"}) {
    double few = 0;
    for (int blocks : {4 * steps, 500}) {
      IRModule module = crowd(1, blocks);
      double best = 1e9;
      for (int round = 0; round < 3; ++round) {
        schedule::Schedule sch(module, 1);
        (void)sch.call("get_producers", {*sch.call("get_block", {"B1"})});
        double start = cpu_us();
        for (int i = 0; i < steps; ++i) {
          std::string a = fmt::format("B{}", 3 * i), b = fmt::format("B{}", 3 * i + 1);
          auto loop_of = [&](const std::string& block) { return schedule::loops_of(*sch.call("get_loops", {block.c_str()}))[0]; };
          std::string_view what = name;
          auto done = what == "split" ? sch.call("split", {loop_of(a), List{nullptr, 8}})
                      : what == "parallel" ? sch.call("parallel", {loop_of(a)})
                      : what == "compute_at" ? sch.call("compute_at", {a.c_str(), loop_of(b)})
                      : what == "reverse_compute_at" ? sch.call("reverse_compute_at", {b.c_str(), loop_of(a)})
                      : what == "compute_inline" ? sch.call("compute_inline", {a.c_str()})
                      : what == "cache_read" ? sch.call("cache_read", {b.c_str(), 0, "local"})
                                             : sch.call("cache_write", {a.c_str(), 0, "local"});
          if (!done.ok()) { fmt::print("{}: {}\n", name, done.diagnostics()[0].message()); std::exit(1); }
        }
        best = std::min(best, (cpu_us() - start) / steps);
      }
      if (few == 0) { few = best; }
      fmt::print("{:<64} {:>10.2f} us   {:>5.1f} times\n", fmt::format("{} after {}, {} blocks", name, name, blocks), best, best / few);
    }
  }
}

void row(const char* what, double us, double tvm_us) { fmt::print("{:<44} {:>10.2f} us   TVM {:>8.0f} us   {:>6.1f} times faster\n", what, us, tvm_us, tvm_us / us); }

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "session") {
    session_rows(count > 2 ? arguments[2] : "");
    return 0;
  }
  const bool only_replay = count > 1 && std::string_view(arguments[1]) == "replay";  // for a profiler
  if (count > 1 && !only_replay) {
    primitive_rows({arguments + 1, arguments + count});
    return 0;
  }
  syntax::Document document(bench::matmul_text);
  frontend::File file;
  file.update(document);
  IRModule module;
  for (size_t i = 0; i < file.size(); ++i) {
    if (file.declaration(i).module) { module = file.declaration(i).module; }
  }
  if (!module) { fmt::print("the program does not parse\n"); return 1; }
  auto trace = schedule::trace_from_json(bench::matmul_trace);
  if (!trace) { fmt::print("{}\n", trace.diagnostics()[0].message()); return 1; }
  auto replay = [&] {
    schedule::Schedule sch(module, 1);
    if (!sch.replay(*trace).ok()) { std::exit(1); }
  };
  if (only_replay) {
    row("replay", best_us(replay), bench::tvm_replay);
    return 0;
  }
  row("new schedule and one split", best_us([&] {
        schedule::Schedule sch(module, 1);
        auto block = sch.call("get_block", {"C"});
        auto loops = sch.call("get_loops", {*block});
        if (!sch.call("split", {schedule::loops_of(*loops)[0], schedule::Value::List{nullptr, 32}}).ok()) { std::exit(1); }
      }), bench::tvm_new_schedule_and_split);
  schedule::Schedule done(module, 1);
  if (auto status = done.replay(*trace); !status) { fmt::print("{}\n", status.diagnostics()[0].message()); return 1; }
  row("copy of a schedule", best_us([&] { schedule::Schedule copy = done; if (copy.trace().empty()) { std::exit(1); } }), bench::tvm_copy);
  row(fmt::format("replay of a trace of {} instructions", trace->size()).c_str(), best_us(replay), bench::tvm_replay);
  row("replay without its postprocessing", best_us([&] {
        schedule::Schedule sch(module, 1);
        if (!sch.replay(*trace, true).ok()) { std::exit(1); }
      }), bench::tvm_replay);
  crowd_rows();
  chain_rows();
  session_rows({});
  primitive_rows({});
  return 0;
}
