// The front and REPLs that are attached to a document: each has a mirror, a file that follows the text of the document.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/unit/lsp/front_stage.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

/// The text of a file; "(none)": there is no such file.
auto read(const std::string& path) -> std::string {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : std::string("(none)");
}

}  // namespace

TEST_CASE("a REPL is attached to a document: its mirror follows the text, is nobody else's, and goes with it") {
  Stage stage;
  stage.initialize();
  stage.open("file:///no/such/a%20b.tir", "one");
  int id = stage.ask("workspace/executeCommand", {{"command", "loopsmith.attachRepl"}, {"arguments", {{{"uri", "file:///no/such/a%20b.tir"}}}}});
  Json answer = stage.answer_to(id)["result"];
  auto mirror = answer["mirror"].get<std::string>();
  CHECK(answer["command"][1] == "repl");
  CHECK(answer["command"][2] == "--attach");
  CHECK(answer["command"][3] == mirror);
  CHECK(answer["command"][4] == "/no/such/a b.tir");
  CHECK(mirror.ends_with("/a b.tir"));
  CHECK(read(mirror) == "one");
  struct stat facts {};
  REQUIRE(::stat(mirror.substr(0, mirror.rfind('/')).c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777U) == 0700);
  stage.notify("textDocument/didChange", {{"textDocument", {{"uri", "file:///no/such/a%20b.tir"}, {"version", 2}}}, {"contentChanges", {{{"text", "two"}}}}});
  stage.front.on_tick();
  CHECK(read(mirror) == "two");
  // A second request returns the same mirror.
  id = stage.ask("workspace/executeCommand", {{"command", "loopsmith.attachRepl"}, {"arguments", {{{"uri", "file:///no/such/a%20b.tir"}}}}});
  CHECK(stage.answer_to(id)["result"]["mirror"] == mirror);
  // With the cursor's line, the REPL begins at that line.
  id = stage.ask("workspace/executeCommand", {{"command", "loopsmith.attachRepl"}, {"arguments", {{{"uri", "file:///no/such/a%20b.tir"}, {"position", {{"line", 6}, {"character", 0}}}}}}});
  CHECK(stage.answer_to(id)["result"]["command"][4] == "--line");
  CHECK(stage.answer_to(id)["result"]["command"][5] == "7");
  stage.notify("textDocument/didClose", {{"textDocument", {{"uri", "file:///no/such/a%20b.tir"}}}});
  CHECK(read(mirror) == "(none)");
  CHECK(::stat(mirror.substr(0, mirror.rfind('/')).c_str(), &facts) != 0);
  CHECK(stage.error_of(stage.ask("workspace/executeCommand", {{"command", "loopsmith.attachRepl"}, {"arguments", {{{"uri", "b"}}}}})) == invalid_params);
  // After the editor has gone, no file remains, and names of files cannot escape from the folder.
  {
    Stage other;
    other.initialize();
    other.open("x:../..", "three");
    int asked = other.ask("workspace/executeCommand", {{"command", "loopsmith.attachRepl"}, {"arguments", {{{"uri", "x:../.."}}}}});
    mirror = other.answer_to(asked)["result"]["mirror"];
    CHECK(mirror.ends_with("/text"));
    CHECK(read(mirror) == "three");
  }
  CHECK(read(mirror) == "(none)");
}

TEST_CASE("an attached REPL has the editor change the text, if it is still the text that the REPL has read") {
  Stage stage;
  stage.initialize();
  stage.open("file:///no/such/b.tir", "one\ntwo");
  int id = stage.ask("workspace/executeCommand", {{"command", "loopsmith.attachRepl"}, {"arguments", {{{"uri", "file:///no/such/b.tir"}}}}});
  auto mirror = stage.answer_to(id)["result"]["mirror"].get<std::string>();
  auto ask = [&](const Json& edit) {
    std::ofstream(mirror + ".edit") << edit.dump();
    stage.front.on_tick();
  };
  const Json edit = {{"text", "one\ntwo"}, {"first", 1}, {"last", 1}, {"character", 3}, {"lines", "two\nthree\n"}};
  ask(edit);
  CHECK(read(mirror + ".edit") == "(none)");
  Json asked = stage.last("workspace/applyEdit");
  CHECK(asked["params"]["edit"]["changes"]["file:///no/such/b.tir"][0] ==
        Json::parse(R"({"range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}}, "newText": "two\nthree\n"})"));
  CHECK(read(mirror + ".done") == "(none)");
  stage.send({{"jsonrpc", "2.0"}, {"id", asked["id"]}, {"result", {{"applied", true}}}});
  CHECK(read(mirror + ".done").empty());
  // The text has changed since the REPL read it.
  stage.notify("textDocument/didChange", {{"textDocument", {{"uri", "file:///no/such/b.tir"}, {"version", 2}}}, {"contentChanges", {{{"text", "other"}}}}});
  ask(edit);
  CHECK(read(mirror + ".done") == "the text in the editor has changed meanwhile; repeat the command");
  ask("nonsense");
  CHECK(read(mirror + ".done") == "the edit cannot be read");
  stage.notify("textDocument/didClose", {{"textDocument", {{"uri", "file:///no/such/b.tir"}}}});
  CHECK(read(mirror + ".done") == "(none)");
}

TEST_CASE("the next server takes away the mirrors of one that was killed, and leaves those of one that lives") {
  char base[] = "/tmp/loopsmith-test-XXXXXX";
  REQUIRE(::mkdtemp(base) != nullptr);
  const char* before = std::getenv("XDG_RUNTIME_DIR");
  std::string kept = before != nullptr ? before : "";
  ::setenv("XDG_RUNTIME_DIR", base, 1);
  std::string left = std::string(base) + "/loopsmith-mirror-abcdef";
  REQUIRE(::mkdir(left.c_str(), 0700) == 0);
  std::ofstream(left + "/kernel.tir") << "what was not saved";
  std::string others = std::string(base) + "/notes";
  REQUIRE(::mkdir(others.c_str(), 0700) == 0);
  {
    Stage living;
    living.initialize();
    struct stat facts {};
    CHECK(::stat(left.c_str(), &facts) != 0);
    CHECK(::stat(others.c_str(), &facts) == 0);
    living.open("file:///no/such/b.tir", "one");
    int id = living.ask("workspace/executeCommand", {{"command", "loopsmith.attachRepl"}, {"arguments", {{{"uri", "file:///no/such/b.tir"}}}}});
    auto mirror = living.answer_to(id)["result"]["mirror"].get<std::string>();
    Stage next;
    next.initialize();
    CHECK(::stat(mirror.c_str(), &facts) == 0);
  }
  CHECK(::rmdir(others.c_str()) == 0);
  CHECK(::rmdir(base) == 0);
  if (before != nullptr) { ::setenv("XDG_RUNTIME_DIR", kept.c_str(), 1); } else { ::unsetenv("XDG_RUNTIME_DIR"); }
}
