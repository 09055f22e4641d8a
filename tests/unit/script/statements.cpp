// Statements of a session: each is recorded like a statement of a schedule function, in a persistent environment.
#include "script/statements.h"

#include <string>

#include "frontend/file.h"
#include "script/schedules.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

constexpr std::string_view program = R"(from tvm.script import tir as T

@T.prim_func
def scale(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
)";

/// A file with a schedule of its program, in which lines are run.
struct Prompt {
  Prompt() : document(std::string(program)), file(script::predeclared) {
    file.update(document);
    frame.scope = file.evaluator().new_scope({});
    frame.scope->set(Name("sch"), eval::Value(Ref<eval::Object>(eval::make_object<script::ScheduleObject>(schedule::Schedule(file.find(Name("scale"))->module, 1)).get())));
  }
  /// The result of the last statement of a text.
  auto run(const std::string& text) -> script::StatementResult {
    syntax::Document input(text + "\n");
    REQUIRE_FALSE(has_errors(input.diagnostics()));
    script::StatementRunner runner({.globals = &file, .heap = file.evaluator().heap(), .schedule = Name("sch"), .number = 7, .output = [this](std::string_view part) { printed += part; }}, frame);
    script::StatementResult result;
    for (const syntax::PlacedItem& placed : input.items()) {
      for (const syntax::Stmt* statement : placed.item->statements) { result = runner.run(*statement, placed.item); }
    }
    unknown = result.unknown_at.is_known() ? text.substr(input.resolve(result.unknown_at)->begin, 5) : std::string();
    return result;
  }
  auto schedule() -> const script::ScheduleObject& { return *frame.scope->find_here(Name("sch"))->as<script::ScheduleObject>(); }

  syntax::Document document;
  frontend::File file;
  eval::Frame frame;
  std::string printed;
  std::string unknown;
};

}  // namespace

TEST_CASE("a statement changes the schedule and names its loops") {
  Prompt prompt;
  script::StatementResult result = prompt.run("i, j = sch.get_loops(\"B\")");
  CHECK(result.step.state == script::StepState::Done);
  REQUIRE(result.step.named.size() == 2);
  CHECK(result.step.named[1].name == "j");
  CHECK(prompt.run("sch.split(i, factors=[None, 8])").step.primitives == 1);
  CHECK(prompt.schedule().record.step == 7);
  CHECK(prompt.schedule().schedule.trace().size() >= 2);
  CHECK_FALSE(prompt.frame.function);
}

TEST_CASE("an expression has a value, and prints at once") {
  Prompt prompt;
  CHECK(prompt.run("n = 3").value.is_none());
  CHECK(prompt.run("n + 1").value.to_int() == 4);
  CHECK(prompt.run("print(n)").step.printed == "3\n");
  CHECK(prompt.printed == "3\n");
  CHECK(prompt.run("f = lambda x: x + n\nf(2)").value.to_int() == 5);
  CHECK(prompt.run("f(3)").value.to_int() == 6);
}

TEST_CASE("a refused call is explained, and the diagnostics of one statement are its own") {
  Prompt prompt;
  REQUIRE(prompt.run("i, j = sch.get_loops(\"B\")").step.state == script::StepState::Done);
  script::StatementResult result = prompt.run("sch.fuse(j, i)");
  CHECK(result.step.state == script::StepState::Failed);
  REQUIRE(has_errors(result.step.diagnostics));
  CHECK_FALSE(result.step.diagnostics.front().remedies.empty());
  CHECK(prompt.run("sch.fuse(i, j)").step.diagnostics.empty());
}

TEST_CASE("Python that is not evaluated is named, and a schedule that it receives is unknown") {
  Prompt prompt;
  CHECK(prompt.run("import numpy").step.state == script::StepState::Done);
  CHECK(prompt.run("numpy.zeros(3)").value.is_opaque());
  CHECK(prompt.unknown == "numpy");
  CHECK(prompt.run("numpy.tune(sch)").step.state == script::StepState::Unknown);
  CHECK(prompt.run("sch.get_block(\"B\")").step.state == script::StepState::Done);
}

TEST_CASE("places for a search are noted") {
  Prompt prompt;
  CHECK(prompt.run("...").step.hole);
  auto hole = prompt.run("sch.tune(budget=\"2min\", trials=5)").step.hole;
  REQUIRE(hole);
  CHECK(hole->seconds == 120);
  CHECK(hole->trials == 5);
  CHECK_FALSE(prompt.run("sch.get_block(\"B\")").step.hole);
}

TEST_CASE("a context that expects a failure takes it back") {
  Prompt prompt;
  CHECK(prompt.run("import pytest\nwith pytest.raises(Exception):\n    sch.get_block(\"missing\")").step.state == script::StepState::Done);
  CHECK(prompt.run("from pytest import raises\nwith raises(Exception):\n    sch.get_block(\"missing\")").step.state == script::StepState::Done);
  CHECK(prompt.run("import contextlib\nwith contextlib.nullcontext():\n    sch.get_block(\"missing\")").step.state == script::StepState::Failed);
}
