// The server as a program: the best schedule of a search replaces one in the text, or fills in a part of it.
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "lsp/features/tuning.h"
#include "tests/unit/lsp/server_program.h"
#include "workspace/snapshot.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace std::chrono_literals;

TEST_CASE("a schedule is replaced by the best one, in one edit, under its own name") {
  const PlayedProgram tuner(
      "#!/bin/sh\ncat > /dev/null\n"
      "printf '%s\\n' '{\"event\":\"done\",\"best_seconds\":0.001,\"schedule_text\":\"@ls.schedule(f, target=\\\"llvm\\\")\\ndef f_tuned(sch: tir.Schedule) -> None:\\n    (i,) = sch.get_loops(\\\"A\\\")\\n    sch.vectorize(i)\\n\",\"verified\":\"3 inputs\"}'\n");
  Session session = start({"--tuner", tuner.path()});
  session.initialize({{"workspace", {{"workspaceEdit", {{"documentChanges", true}}}}}});
  const std::string uri = "file:///a.tir";
  const std::string text =
      "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"A\"):\n"
      "            vi = T.axis.spatial(16, i)\n            B[vi] = A[vi] + T.float32(1)\n\n\n"
      "@ls.schedule(f)\ndef mine(sch: tir.Schedule) -> None:\n    (i,) = sch.get_loops(\"A\")\n    sch.parallel(i)\n\n\nx = 1\n";
  session.open(uri, text);
  (void)session.wait_for(uri, 1);
  CHECK(session.call("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", uri}, {"function", "f"}}}}})["result"]["job"] == 1);
  (void)session.until([](const Json& message) { return message.value("method", "") == "window/showMessage"; });
  Json at = {{"start", {{"line", 10}, {"character", 5}}}, {"end", {{"line", 10}, {"character", 5}}}};
  Json actions = session.call("textDocument/codeAction", {{"textDocument", {{"uri", uri}}}, {"range", at}, {"context", {{"diagnostics", Json::array()}}}})["result"];
  auto replace = std::find_if(actions.begin(), actions.end(), [](const Json& action) { return action["title"] == "Replace `mine` with the best schedule"; });
  REQUIRE(replace != actions.end());
  int run = session.request("workspace/executeCommand", {{"command", (*replace)["command"]["command"]}, {"arguments", (*replace)["command"]["arguments"]}});
  Json apply = session.until([](const Json& message) { return message.value("method", "") == "workspace/applyEdit"; });
  Json change = apply["params"]["edit"]["documentChanges"][0];
  CHECK(change["textDocument"]["version"] == 1);
  REQUIRE(change["edits"].size() == 1);
  Json edit = change["edits"][0];
  CHECK(edit["range"]["start"]["line"] == 8);
  CHECK(edit["range"]["end"]["line"] == 11);
  CHECK(edit["newText"] == "@ls.schedule(f, target=\"llvm\")\ndef mine(sch: tir.Schedule) -> None:\n    (i,) = sch.get_loops(\"A\")\n    sch.vectorize(i)");
  // The edit is made as by an editor; the inserted schedule runs, and the text after it is unchanged.
  session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", 2}}}, {"contentChanges", {{{"range", edit["range"]}, {"text", edit["newText"]}}}}});
  session.send({{"id", apply["id"]}, {"result", {{"applied", true}}}});
  CHECK(session.answer(run).contains("result"));
  (void)session.wait_for(uri, 2);
  CHECK(session.diagnostics(uri).empty());
  Json symbols = session.call("textDocument/documentSymbol", {{"textDocument", {{"uri", uri}}}})["result"];
  REQUIRE(symbols.size() == 3);
  CHECK(symbols[1]["name"] == "mine");
  // After the insertion the schedule is no longer offered.
  actions = session.call("textDocument/codeAction", {{"textDocument", {{"uri", uri}}}, {"range", at}, {"context", {{"diagnostics", Json::array()}}}})["result"];
  CHECK(std::none_of(actions.begin(), actions.end(), [](const Json& action) { return action["title"] == "Replace `mine` with the best schedule"; }));
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a hole in a schedule is tuned and filled in one edit; for another program than was searched the steps are refused") {
  const std::string uri = "file:///a.tir";
  const std::string program =
      "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"A\"):\n"
      "            vi = T.axis.spatial(16, i)\n            B[vi] = A[vi] + T.float32(1)\n\n\n"
      "@ls.schedule(f)\ndef mine(sch: tir.Schedule) -> None:\n";
  const std::string text = program + "    (i,) = sch.get_loops(\"A\")\n    i0, i1 = sch.split(i, factors=[None, 8])\n    sch.tune(budget=\"2min\", trials=64)\n    sch.annotate(i0, \"outer\", 1)\n";
  auto document = workspace::analyse(uri, text);
  auto hole = hole_of(*document->snapshot(), document->snapshot()->schedules().at(0));
  REQUIRE(hole);
  CHECK(hole->program == "f");
  const PlayedProgram tuner(
      "#!/bin/sh\ncat > /dev/null\nprintf '%s\\n' '{\"event\":\"done\",\"best_seconds\":0.001,\"schedule_text\":\"# Tuned.\\nsch.vectorize(i1)\",\"hole\":{\"state\":\"" + hole->state + "\"},\"verified\":\"3 inputs\"}'\n");
  Session session = start({"--tuner", tuner.path()});
  session.initialize({{"workspace", {{"workspaceEdit", {{"documentChanges", true}}}}}});
  session.open(uri, text);
  (void)session.wait_for(uri, 1);
  CHECK(session.diagnostics(uri).empty());
  auto lens = [&](uint32_t line) {
    Json answer = session.call("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}});
    for (const Json& one : answer["result"]) {
      if (one["range"]["start"]["line"] == line) { return Json(one["command"]); }
    }
    return Json();
  };
  auto actions = [&](uint32_t line) {
    Json at = {{"start", {{"line", line}, {"character", 6}}}, {"end", {{"line", line}, {"character", 6}}}};
    std::vector<std::string> titles;
    Json answer = session.call("textDocument/codeAction", {{"textDocument", {{"uri", uri}}}, {"range", at}, {"context", {{"diagnostics", Json::array()}}}});
    for (const Json& one : answer["result"]) { titles.push_back(one["title"]); }
    return titles;
  };
  auto offers = [&](uint32_t line, const std::string& title) {
    auto titles = actions(line);
    return std::find(titles.begin(), titles.end(), title) != titles.end();
  };
  auto edit = [&](int version, uint32_t line, uint32_t end, const std::string& lines) {
    Json range = {{"start", {{"line", line}, {"character", 0}}}, {"end", {{"line", end}, {"character", 0}}}};
    session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}}, {"contentChanges", {{{"range", range}, {"text", lines}}}}});
    (void)session.wait_for(uri, version);
  };
  constexpr uint32_t at = 12;
  Json command = lens(at);
  CHECK(command["title"] == "tune this");
  CHECK(command["arguments"][0]["seconds"] == 120);
  CHECK(command["arguments"][0]["trials"] == 64);
  CHECK(offers(at, "Tune this place in the background"));
  CHECK(session.call("workspace/executeCommand", {{"command", command["command"]}, {"arguments", command["arguments"]}})["result"]["job"] == 1);
  Json message = session.until([](const Json& one) { return one.value("method", "") == "window/showMessage"; });
  CHECK(message["params"]["message"] == "mine: 1.000 ms; the code action \"Fill in the best steps\" writes them into the file");
  CHECK(lens(at)["title"] == "fill in the best steps: 1.000 ms");
  CHECK(offers(at, "Fill in the best steps"));
  // The steps cannot be inserted as a separate schedule.
  CHECK(!offers(1, "Insert best schedule"));

  // With another split before the hole, the steps were found for another program.
  edit(2, 11, 12, "    i0, i1 = sch.split(i, factors=[None, 4])\n");
  CHECK(lens(at)["title"] == "tune this again: the program was changed");
  Json refused = session.call("workspace/executeCommand", {{"command", "loopsmith.insertSchedule"}, {"arguments", {{{"job", 1}}}}});
  CHECK(refused["error"]["message"] == "the program was changed since the search began, and the steps found are not for it; tune again");
  // With the original split and a line above, the steps still apply.
  edit(3, 11, 12, "    # eight at a time\n    i0, i1 = sch.split(i, factors=[None, 8])\n");
  command = lens(at + 1);
  CHECK(command["title"] == "fill in the best steps: 1.000 ms");
  int run = session.request("workspace/executeCommand", {{"command", command["command"]}, {"arguments", command["arguments"]}});
  Json apply = session.until([](const Json& message) { return message.value("method", "") == "workspace/applyEdit"; });
  Json change = apply["params"]["edit"]["documentChanges"][0];
  CHECK(change["textDocument"]["version"] == 3);
  REQUIRE(change["edits"].size() == 1);
  Json filled = change["edits"][0];
  CHECK(filled["range"]["start"] == Json({{"line", 13}, {"character", 4}}));
  CHECK(filled["newText"] == "# Tuned.\n    sch.vectorize(i1)");
  session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", 4}}}, {"contentChanges", {{{"range", filled["range"]}, {"text", filled["newText"]}}}}});
  session.send({{"id", apply["id"]}, {"result", {{"applied", true}}}});
  CHECK(session.answer(run).contains("result"));
  (void)session.wait_for(uri, 4);
  CHECK(session.diagnostics(uri).empty());
  CHECK(!offers(13, "Fill in the best steps"));
  CHECK(!offers(13, "Tune this place in the background"));
  // A text that is not a duration is reported.
  edit(5, 14, 15, "    sch.tune(budget=\"soon\")\n");
  REQUIRE(session.diagnostics(uri).size() == 1);
  CHECK(session.diagnostics(uri)[0]["code"] == "argument-kind");
  CHECK(session.goodbye() == 0);
}
