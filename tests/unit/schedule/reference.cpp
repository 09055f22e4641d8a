// The reference page is that of the rows (LOOPSMITH_UPDATE=1 writes it), and its examples run.
#include "script/reference.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "schedule/comments.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

TEST_CASE("every primitive has a comment, and its example runs", "[reference]") {
  for (const schedule::Primitive* primitive : schedule::all_primitives()) {
    INFO(primitive->name);
    const schedule::PrimitiveComment* comment = schedule::comment_of(*primitive);
    REQUIRE(comment);
    CHECK_FALSE(comment->summary.empty());
    if (primitive->example_program.empty()) { continue; }
    auto example = script::run_example(*primitive);
    if (!example.ok()) { FAIL(example.diagnostics()[0].message()); }
    CHECK(example->calls.find(std::string(primitive->name) + "(") != std::string::npos);
    // What changes the program shows a change.
    if (!primitive->is_pure) { CHECK(example->before != example->after); }
  }
}

TEST_CASE("docs/primitives.md is what the rows say", "[reference]") {
  std::string path = std::string(LOOPSMITH_SOURCE_DIR) + "/docs/primitives.md";
  std::string page = script::reference_page();
  if (std::getenv("LOOPSMITH_UPDATE")) { std::ofstream(path) << page; }
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  INFO("LOOPSMITH_UPDATE=1 writes it again");
  CHECK(text.str() == page);
}
