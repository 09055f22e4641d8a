// The reference page and the grammar that colours files in VS Code equal the rows of the primitives (LOOPSMITH_UPDATE=1 writes both), and the
// examples of the page run.
#include "workspace/reference.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "frontend/file.h"
#include "schedule/comments.h"
#include "schedule/moves.h"
#include "script/schedules.h"
#include "syntax/document.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

/// True when some candidate call of a primitive is legal before the last call of its example.
auto is_legal_in_example(const schedule::Primitive& primitive) -> bool {
  std::istringstream calls{std::string(primitive.example_calls)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(calls, line);) { lines.push_back(line); }
  std::string text = std::string(primitive.example_program) + "\n@ls.schedule(main)\ndef s(sch: tir.Schedule) -> None:\n    pass\n";
  for (size_t i = 0; i + 1 < lines.size(); ++i) { text += "    " + lines[i] + "\n"; }
  syntax::Document document(text);
  frontend::File file(script::predeclared);
  file.update(document);
  script::Schedules schedules;
  schedules.update(file);
  schedules.run_all(file, {});
  REQUIRE(schedules.all().size() == 1);
  REQUIRE(schedules.all()[0].run);
  REQUIRE(schedules.all()[0].run->is_complete);
  const schedule::State& state = schedules.all()[0].run->result->state();
  const schedule::FuncState& func = *state.func("main");
  for (const schedule::Place& place : func.places()) {
    for (const schedule::JudgedMove& judged : schedule::moves_at(state, func, place, &primitive)) {
      if (judged.is_legal()) { return true; }
    }
  }
  return false;
}

}  // namespace

TEST_CASE("every primitive has a comment, and its example runs", "[reference]") {
  for (const schedule::Primitive* primitive : schedule::all_primitives()) {
    INFO(primitive->name);
    const schedule::PrimitiveComment* comment = schedule::comment_of(*primitive);
    REQUIRE(comment);
    CHECK_FALSE(comment->summary.empty());
    if (primitive->example_program.empty()) { continue; }
    auto example = workspace::run_example(*primitive);
    if (!example.ok()) { FAIL(example.diagnostics()[0].message()); }
    CHECK(example->calls.find(std::string(primitive->name) + "(") != std::string::npos);
    // The example of a primitive that changes programs shows a change.
    if (!primitive->is_pure) { CHECK(example->before != example->after); }
  }
}

TEST_CASE("of every primitive a legal call is found where its example has one", "[reference]") {
  for (const schedule::Primitive* primitive : schedule::all_primitives()) {
    if (primitive->is_pure) { continue; }
    INFO(primitive->name);
    REQUIRE_FALSE(primitive->example_program.empty());
    CHECK(is_legal_in_example(*primitive));
  }
}

TEST_CASE("docs/primitives.md equals the page that the rows give", "[reference]") {
  std::string path = tests::source_folder() + "/docs/primitives.md";
  std::string page = workspace::reference_page();
  if (std::getenv("LOOPSMITH_UPDATE")) { std::ofstream(path) << page; }
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  INFO("LOOPSMITH_UPDATE=1 writes it again");
  CHECK(text.str() == page);
}

TEST_CASE("the grammar of VS Code colours every primitive", "[reference]") {
  std::string names;
  for (const schedule::Primitive* primitive : schedule::all_primitives()) {
    names += (names.empty() ? "" : "|") + std::string(primitive->name);
    if (primitive->name == "get_block") { names += "|get_sblock"; }
  }
  const std::string path = tests::source_folder() + "/editors/vscode/syntaxes/tirscript.tmLanguage.json";
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  std::string grammar = text.str();
  constexpr std::string_view before = R"("match": "\\b(sch)\\.()", after = R"()\\b")";
  size_t begin = grammar.find(before);
  REQUIRE(begin != std::string::npos);
  begin += before.size();
  const size_t end = grammar.find(after, begin);
  REQUIRE(end != std::string::npos);
  if (std::getenv("LOOPSMITH_UPDATE")) { std::ofstream(path) << grammar.replace(begin, end - begin, names); }
  INFO("LOOPSMITH_UPDATE=1 writes it again");
  CHECK(grammar.substr(begin, names.size()) == names);
  CHECK(grammar.substr(begin + names.size(), after.size()) == after);
}
