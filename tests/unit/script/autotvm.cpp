// AutoTVM templates: those of the tutorials, and others. Every configuration of a space gives the same results as the program; choices and their numbers are TVM's.
#include <fstream>
#include <sstream>
#include <string>

#include "frontend/file.h"
#include "interp/compare.h"
#include "script/autotvm/space.h"
#include "script/schedules.h"
#include "syntax/document.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using script::autotvm::Decisions;
using script::autotvm::Space;

namespace {

struct Session {
  explicit Session(const std::string& text) : document(text), file(script::predeclared) {
    file.update(document);
    schedules.update(file);
    REQUIRE(schedules.run_all(file, {}));
  }
  auto schedule(const std::string& name) -> script::FileSchedule& {
    auto* found = schedules.find(Name(name));
    REQUIRE(found != nullptr);
    REQUIRE(found->run != nullptr);
    return *found;
  }
  auto run(const std::string& name) -> const script::ScheduleRun& { return *schedule(name).run; }
  /// The first error of a schedule; empty: it has none.
  auto error(const std::string& name) -> std::string {
    Diagnostics all = run(name).all_diagnostics();
    return all.empty() ? std::string() : all[0].message();
  }
  auto remedy(const std::string& name) -> std::string {
    Diagnostics all = run(name).all_diagnostics();
    return all.empty() || all[0].remedies.empty() ? std::string() : all[0].remedies[0];
  }
  syntax::Document document;
  frontend::File file;
  script::Schedules schedules;
};

void require_right(const script::ScheduleRun& run) {
  INFO((run.all_diagnostics().empty() ? std::string() : run.all_diagnostics()[0].message()));
  REQUIRE(run.all_diagnostics().empty());
  REQUIRE(run.is_complete);
  interp::GateOptions options;
  options.size = 37;
  auto same = interp::compare_modules(run.program, run.result->module(), Name("main"), options);
  REQUIRE(same.ok());
  INFO(same->difference);
  REQUIRE(same->equal);
}

/// The template with the choices of one configuration, numbered as in TVM.
auto run_at(Session& session, const std::string& name, int64_t index) -> script::ScheduleRun {
  const Space space = *session.run(name).space;
  std::vector<size_t> indices;
  for (const auto& knob : space.knobs) {
    indices.push_back(static_cast<size_t>(index) % knob.choices.size());
    index /= static_cast<int64_t>(knob.choices.size());
  }
  auto decisions = std::make_shared<const Decisions>(script::autotvm::decisions_at(space, indices));
  return session.schedules.run_with(session.file, session.schedule(name), decisions);
}

/// The template of a tutorial, without the tutorial's own task: a file that tests/numpy compares with NumPy.
auto tutorial(const std::string& name) -> std::string {
  std::ifstream file(tests::source_folder() + "/tests/numpy/tutorials/" + name + ".py");
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str().substr(0, text.str().find("task = "));
}

auto matmul() -> std::string {
  return tutorial("autotvm_matmul") + R"(N, L, M = 16, 8, 32
task = autotvm.task.create("tutorial/matmul", args=(N, L, M, "float32"), target="llvm")
print(task.config_space)
)";
}

/// A template with one statement about its configuration.
auto with_statement(const std::string& statement) -> std::string {
  std::string out = matmul();
  const std::string place = "    yo, yi = cfg";
  return out.insert(out.find(place), "    " + statement + "\n");
}

}  // namespace

TEST_CASE("the knobs of the matmul template, and every configuration of it", "[autotvm]") {
  Session session(matmul());
  require_right(session.run("matmul"));
  REQUIRE(session.schedule("matmul").target == "llvm");
  const Space& space = *session.run("matmul").space;
  REQUIRE(space.knobs.size() == 2);
  REQUIRE(space.size() == 5 * 6);
  REQUIRE(space.knobs[0].choices[3].text() == "[-1, 8]");
  for (int64_t index = 0; index < 30; ++index) {
    script::ScheduleRun run = run_at(session, "matmul", index);
    require_right(run);
  }
}

TEST_CASE("the choices of splits are those of TVM, in its order", "[autotvm]") {
  auto texts = [](const std::vector<script::autotvm::Choice>& choices) {
    std::string out;
    for (const auto& choice : choices) { out += choice.text() + " "; }
    return out;
  };
  REQUIRE(texts(*script::autotvm::splits(6, {})) == "[-1, 1] [-1, 2] [-1, 3] [-1, 6] ");
  REQUIRE(texts(*script::autotvm::splits(4, {.outputs = 3})) == "[-1, 1, 1] [-1, 2, 1] [-1, 4, 1] [-1, 1, 2] [-1, 2, 2] [-1, 1, 4] ");
  REQUIRE(texts(*script::autotvm::splits(6, {.policy = "power2"})) == "[-1, 1] [-1, 2] [-1, 4] ");
  REQUIRE(texts(*script::autotvm::splits(6, {.policy = "verbose", .most = 3})) == "[-1, 1] [-1, 2] [-1, 3] ");
  REQUIRE(texts(*script::autotvm::annotations(2, "try_vec")) == "['none', 'none'] ['none', 'vec'] ['vec', 'none'] ");
  REQUIRE(script::autotvm::orders(4, 1, 3).size() == 2);
  REQUIRE(texts(script::autotvm::interleaved({{0, 1}, {2, 3}}, {{4, 5}}, false)) == "[0, 2, 4, 1, 3, 5] ");
}

TEST_CASE("orders, annotations and values of a template", "[autotvm]") {
  Session session(R"(from tvm import te, autotvm


@autotvm.template("sum")
def rows(n, m):
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] * 2.0, name="B")
    s = te.create_schedule(B.op)
    cfg = autotvm.get_config()
    i, j = s[B].op.axis
    io, ii = cfg.define_split("tile_i", i, policy="verbose", num_outputs=2, filter=lambda e: e.size[-1] <= 8)
    jo, ji = cfg.define_split("tile_j", cfg.axis(j), policy="candidate", candidate=[[-1, 4], [-1, 8]], num_outputs=2)
    cfg.define_reorder("order", [io, jo, ii, ji], policy="candidate", candidate=[[io, jo, ii, ji], [jo, io, ii, ji]])
    cfg.define_annotate("inner", [ii, ji], policy="try_unroll_vec")
    cfg.define_knob("is_parallel", [True, False])
    cfg.add_flop(2 * n * m)
    io, ii = cfg["tile_i"].apply(s, B, i)
    jo, ji = cfg["tile_j"].apply(s, B, j)
    order = cfg["order"].apply(s, B, [io, jo, ii, ji])
    cfg["inner"].apply(s, B, [ii, ji])
    if cfg["is_parallel"].val:
        s[B].parallel(order[0])
    return s, [A, B]


task = autotvm.task.create("sum", args=(10, 16), target="llvm")
)");
  require_right(session.run("rows"));
  const Space& space = *session.run("rows").space;
  REQUIRE(space.knobs.size() == 5);
  // 1, 2, 4, 5, 8 of the divisors and powers of two up to 10.
  REQUIRE(space.knobs[0].choices.size() == 5);
  REQUIRE(space.knobs[3].choices.size() == 8);
  const auto count = static_cast<int64_t>(space.size());
  REQUIRE(count == 5 * 2 * 2 * 8 * 2);
  for (int64_t index = 0; index < count; index += 7) { require_right(run_at(session, "rows", index)); }
  Decisions decisions = script::autotvm::decisions_at(space, {1, 1, 0, 2, 1});
  REQUIRE(script::autotvm::index_of(space, decisions) == 1 + 5 * (1 + 2 * (0 + 2 * (2 + 8 * 1))));
}

TEST_CASE("the convolution template for GPUs, and some of its configurations", "[autotvm]") {
  Session session(tutorial("autotvm_convolution") + R"(N, H, W, CO, CI, KH, KW, strides, padding = 1, 7, 7, 8, 4, 3, 3, (1, 1), (1, 1)
task = autotvm.task.create("tutorial/conv2d_no_batching", args=(N, H, W, CO, CI, KH, KW, strides, padding), target="cuda")
)");
  require_right(session.run("conv2d_no_batching"));
  REQUIRE(session.schedule("conv2d_no_batching").target == "cuda");
  const Space& space = *session.run("conv2d_no_batching").space;
  REQUIRE(space.knobs.size() == 8);
  REQUIRE(space.knobs[0].choices.size() == 20);
  for (int64_t index : {INT64_C(1), INT64_C(4321), static_cast<int64_t>(space.size()) - 1}) { require_right(run_at(session, "conv2d_no_batching", index)); }
}

TEST_CASE("a configuration for the fallback", "[autotvm]") {
  Session session(with_statement("if cfg.is_fallback: cfg.fallback_split(\"tile_y\", [-1, 6])"));
  require_right(session.run("matmul"));
  REQUIRE(session.error("matmul").empty());
}

TEST_CASE("mistakes in a template", "[autotvm]") {
  auto error_of = [](const std::string& statement) {
    Session session(with_statement(statement));
    return session.error("matmul") + " | " + session.remedy("matmul");
  };
  REQUIRE(error_of("cfg[\"tile_z\"].apply(s, C, y)") == "the configuration has no knob `tile_z` | did you mean `tile_x`?");
  REQUIRE(error_of("cfg[\"unroll\"].val") == "the configuration has no knob `unroll` | define it first; the knobs so far are `tile_y`, `tile_x`");
  REQUIRE(error_of("cfg.define_split(\"t\", y, policy=\"all\", num_outputs=2)") == "cannot define knob `t`: no policy is called `all` | use `factors`, `power2`, `verbose` or `candidate`");
  REQUIRE(error_of("cfg.define_split(\"t\", y, num_outputs=2, filter=lambda e: False)") == "cannot define knob `t`: it has no choices | widen its `filter`, `max_factor` or `candidate`");
  REQUIRE(error_of("cfg[\"tile_x\"].apply(s, C, k)").empty() == false);
  REQUIRE(error_of("cfg[\"tile_y\"].apply(s, A, y)").starts_with("cannot apply `split` to stage `A`"));
}

TEST_CASE("a record of another template does not fit", "[autotvm]") {
  Session session(matmul());
  auto decisions = std::make_shared<Decisions>();
  decisions->choices.emplace_back("tile_y", script::autotvm::Choice{.kind = script::autotvm::KnobKind::Split, .numbers = {-1, 2, 4}, .words = {}, .value = {}});
  script::ScheduleRun run = session.schedules.run_with(session.file, session.schedule("matmul"), decisions);
  REQUIRE(run.all_diagnostics().size() == 1);
  REQUIRE(run.all_diagnostics()[0].message() == "cannot define knob `tile_y`: the record has [-1, 2, 4] for it, and the knob takes 2 numbers");
}

TEST_CASE("a template without a task is not followed", "[autotvm]") {
  Session session(tutorial("autotvm_matmul"));
  REQUIRE(session.schedules.all().empty());
  REQUIRE(session.schedules.left_alone().size() == 1);
  REQUIRE(session.schedules.left_alone()[0].why == "no task of the file gives the arguments of template `tutorial/matmul`");
}
