// The server as a program: names, schedules and imports across files, and links to pages and records.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/unit/lsp/server_program.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace std::chrono_literals;

TEST_CASE("a rename reaches files of the workspace that are not open, and folders that are opened later; each edit is of a version or of the file") {
  char pattern[] = "/tmp/loopsmith-folder-XXXXXX";
  std::string folder = std::string(::mkdtemp(pattern)) + "/a b";
  std::filesystem::create_directories(folder + "/lib");
  std::filesystem::create_directories(folder + "/.git");
  const std::string kernels = "@T.prim_func\ndef f(A: T.Buffer((8,), \"float32\")):\n    for i in range(8):\n        with T.block(\"B\"):\n            A[i] = T.float32(1)\n";
  const std::string use = "from kernels import f\n\n@ls.schedule(f)\ndef s(sch: tir.Schedule):\n    sch.get_block(\"B\")\n";
  std::ofstream(folder + "/kernels.tir") << kernels;
  std::ofstream(folder + "/lib/use.tir") << use;
  std::ofstream(folder + "/.git/use.tir") << use;
  // URIs in an editor's spelling, which differs from the server's.
  std::string root = "file://" + folder.substr(0, folder.size() - 3) + "a%20b";
  Session session = start();
  (void)session.call("initialize", {{"processId", nullptr}, {"workspaceFolders", nullptr}, {"capabilities", {{"workspace", {{"workspaceEdit", {{"documentChanges", true}}}}}}}});
  session.notify("initialized", Json::object());
  session.open(root + "/kernels.tir", kernels, 4);
  auto rename = [&] {
    return session.call("textDocument/rename", {{"textDocument", {{"uri", root + "/kernels.tir"}}}, {"position", {{"line", 1}, {"character", 4}}}, {"newName", "g"}})["result"]["documentChanges"];
  };
  Json alone = rename();
  REQUIRE(alone.size() == 1);
  session.notify("workspace/didChangeWorkspaceFolders", {{"event", {{"added", {{{"uri", root}, {"name", "a b"}}}}, {"removed", Json::array()}}}});
  Json all = rename();
  REQUIRE(all.size() == 2);
  CHECK(all[0]["textDocument"] == Json({{"uri", root + "/kernels.tir"}, {"version", 4}}));
  CHECK(all[1]["textDocument"] == Json({{"uri", root + "/lib/use.tir"}, {"version", nullptr}}));
  CHECK(all[1]["edits"].size() == 2);
  // Symbols of files that are not open are found by their letters.
  auto symbols = [&](const char* query) { return session.call("workspace/symbol", {{"query", query}})["result"]; };
  Json found = symbols("s");
  REQUIRE(found.size() == 1);
  CHECK(found[0]["name"] == "s");
  CHECK(found[0]["location"]["uri"] == root + "/lib/use.tir");
  // If the file is open, the editor's text counts.
  session.open(root + "/lib/use.tir", "from kernels import f\n", 9);
  all = rename();
  REQUIRE(all.size() == 2);
  CHECK(all[1]["textDocument"]["version"] == 9);
  CHECK(all[1]["edits"].size() == 1);
  session.notify("workspace/didChangeWorkspaceFolders", {{"event", {{"added", Json::array()}, {"removed", {{{"uri", root}, {"name", "a b"}}}}}}});
  CHECK(session.goodbye() == 0);
  std::filesystem::remove_all(folder.substr(0, folder.size() - 4));
}

TEST_CASE("links lead to existing pages and to measurements") {
  Session session = start();
  session.initialize({{"textDocument", {{"publishDiagnostics", {{"codeDescriptionSupport", true}}}}}});
  const std::string uri = "file:///linked.tir";
  session.open(uri, "# ls: ignore-file[unused-import]\n@T.prim_func\ndef f(A: T.Buffer((64,), \"float32\")):\n    for i in range(64):\n        with T.block(\"A\"):\n"
                    "            vi = T.axis.spatial(64, i)\n            A[vi] = T.float32(1)\n\n\n@ls.schedule(f)\ndef s(sch):\n    # Tuned: 1 us.\n    (i,) = sch.get_loops(\"A\")\n    sch.vectorize(i)  # not `parallel`\n");
  (void)session.wait_for(uri, 1);
  Json links = session.call("textDocument/documentLink", {{"textDocument", {{"uri", uri}}}})["result"];
  REQUIRE(links.size() == 3);
  std::vector<std::string> targets;
  for (const Json& link : links) { targets.push_back(link["target"].get<std::string>()); }
  // The hover of a call has a link, too.
  std::string hover = session.call("textDocument/hover", {{"textDocument", {{"uri", uri}}}, {"position", {{"line", 13}, {"character", 10}}}})["result"]["contents"]["value"].get<std::string>();
  size_t link_at = hover.find("[reference](");
  REQUIRE(link_at != std::string::npos);
  targets.push_back(hover.substr(link_at + 12, hover.find(')', link_at) - link_at - 12));
  // Each diagnostic links to the explanation of its code: of a text, of a program, of a schedule's steps.
  const std::string wrong = "file:///wrong.tir";
  session.open(wrong, "x = (1\n\n@T.prim_func\ndef f(A: T.Buffer((64,), \"float32\"), B: T.Buffer((1,), \"float32\")):\n    tmp = T.alloc_buffer((1,), \"float32\")\n"
                      "    for i in range(64):\n        with T.block(\"B\"):\n            vi = T.axis.reduce(64, i)\n            with T.init():\n                B[0] = T.float32(0)\n"
                      "            B[0] = B[0] + A[vi]\n\n@ls.schedule(f)\ndef s(sch):\n    (i,) = sch.get_loops(\"B\")\n    sch.unroll(i)\n    sch.unroll(i)\n    sch.parallel(i)\n");
  (void)session.wait_for(wrong, 1);
  Json diagnostics = session.diagnostics(wrong);
  REQUIRE(diagnostics.size() == 4);
  for (const Json& diagnostic : diagnostics) {
    std::string href = diagnostic["codeDescription"]["href"].get<std::string>();
    CHECK(href.ends_with("diagnostics.md#" + diagnostic["code"].get<std::string>()));
    targets.push_back(href);
  }
  size_t pages = 0;
  for (const std::string& target : targets) {
    INFO(target);
    if (!target.starts_with("file://")) {
      // The target is a document of the server.
      CHECK(target == "loopsmith-ir:/linked.tir#f:records");
      Json content = session.call("workspace/textDocumentContent", {{"uri", target}})["result"];
      CHECK(content["text"].get<std::string>().find("`f`") != std::string::npos);
      continue;
    }
    size_t hash = target.find('#');
    REQUIRE(hash != std::string::npos);
    std::ifstream page(target.substr(7, hash - 7));
    std::string line;
    bool is_there = false;
    while (std::getline(page, line)) { is_there = is_there || (line.starts_with("#") && line.ends_with(" " + target.substr(hash + 1))); }
    CHECK(is_there);
    ++pages;
  }
  CHECK(pages == 7);
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a schedule for a program of another file follows that file, on disk and in the editor") {
  char pattern[] = "/tmp/loopsmith-imports-XXXXXX";
  REQUIRE(::mkdtemp(pattern) != nullptr);
  const std::string folder = pattern;
  std::filesystem::create_directories(folder + "/fast");
  auto kernel = [](const std::string& block) {
    return "@T.prim_func\ndef f(A: T.Buffer((8, 16), \"float32\")):\n    for i, j in T.grid(8, 16):\n        with T.block(\"" + block +
           "\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n            A[vi, vj] = T.float32(1)\n";
  };
  auto write = [&](const std::string& name, const std::string& text) { std::ofstream(folder + "/" + name) << text; };
  write("tiles.tir", "def tiled(sch, block):\n    i, j = sch.get_loops(block)\n    return sch.split(j, factors=[None, 4])\n");
  Session session = start();
  (void)session.call("initialize", {{"processId", nullptr}, {"rootUri", "file://" + folder}, {"capabilities", Json::object()}});
  session.notify("initialized", Json::object());
  const std::string uri = "file://" + folder + "/fast/use.tir";
  session.open(uri, "from kernels import f\nfrom tiles import tiled\n\n\n@ls.schedule(f)\ndef s(sch: tir.Schedule):\n    j0, j1 = tiled(sch, \"B\")\n    sch.vectorize(j1)\n");
  (void)session.wait_for(uri, 1);
  auto codes = [&] {
    std::vector<std::string> out;
    for (const Json& one : session.diagnostics(uri)) { out.push_back(one["code"]); }
    return out;
  };
  using Codes = std::vector<std::string>;
  // The server is not notified: it checks the files itself.
  auto comes = [&](const Codes& wanted) {
    for (Deadline end = in(20s); codes() != wanted && Clock::now() < end;) { (void)session.next(in(100ms)); }
    return codes();
  };
  CHECK(codes() == Codes{"schedule-not-followed"});
  write("kernels.tir", kernel("B"));
  CHECK(comes({}) == Codes{});
  write("kernels.tir", kernel("D"));
  CHECK(comes({"no-such-block"}) == Codes{"no-such-block"});
  // The diagnostic is at the call; the place in the other file is related information.
  Json diagnostic = session.diagnostics(uri)[0];
  CHECK(diagnostic["range"]["start"]["line"] == 6);
  REQUIRE(diagnostic["relatedInformation"].size() == 1);
  CHECK(diagnostic["relatedInformation"][0]["location"]["uri"] == "file://" + folder + "/tiles.tir");
  CHECK(diagnostic["relatedInformation"][0]["location"]["range"]["start"]["line"] == 1);
  // The editor's text counts, saved or not, rather than the file.
  const std::string other = "file://" + folder + "/kernels.tir";
  session.open(other, kernel("B"));
  CHECK(comes({}) == Codes{});
  session.replace(other, kernel("E"), 2);
  CHECK(comes({"no-such-block"}) == Codes{"no-such-block"});
  session.replace(other, kernel("B"), 3);
  CHECK(comes({}) == Codes{});
  // The background job also gets the program of the other file.
  write("kernels.tir", kernel("B"));
  Json job = session.call("workspace/executeCommand", {{"command", "loopsmith.verify"}, {"arguments", {{{"uri", uri}, {"function", "f"}, {"schedule", "s"}}}}});
  CHECK(job["result"].contains("job"));
  Json message = session.until([](const Json& one) { return one.value("method", "") == "window/showMessage"; });
  INFO(message.dump());
  CHECK(message["params"]["message"].get<std::string>().starts_with("s keeps the results of f"));
  session.notify("textDocument/didClose", {{"textDocument", {{"uri", other}}}});
  std::filesystem::remove(folder + "/kernels.tir");
  CHECK(comes({"schedule-not-followed"}) == Codes{"schedule-not-followed"});
  // After the folder changed, files below the old folder are no longer found.
  write("kernels.tir", kernel("B"));
  CHECK(comes({}) == Codes{});
  session.notify("workspace/didChangeWorkspaceFolders", {{"event", {{"added", {{{"uri", "file://" + folder + "/fast"}, {"name", "fast"}}}}, {"removed", {{{"uri", "file://" + folder}, {"name", "all"}}}}}}});
  CHECK(comes({"schedule-not-followed"}) == Codes{"schedule-not-followed"});
  CHECK(session.goodbye() == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("files that import from each other, in long rows, in circles and by stars, are looked at once") {
  char pattern[] = "/tmp/loopsmith-imports-XXXXXX";
  REQUIRE(::mkdtemp(pattern) != nullptr);
  const std::string folder = pattern;
  constexpr int count = 400;
  for (int i = 0; i < count; ++i) {
    std::ofstream(folder + "/m" + std::to_string(i) + ".tir") << "from m" << (i + 1) % count << " import *\nfrom m" << (i + 7) % count << " import x" << (i + 7) % count << "\nx" << i << " = " << i << "\n";
  }
  Session session = start();
  session.initialize();
  const std::string uri = "file://" + folder + "/use.tir";
  session.open(uri, "from m0 import *\nfrom m3 import x3\n\n\n@T.prim_func\ndef f(A: T.Buffer((x3 + 1,), \"float32\")):\n    for i in range(x3 + 1):\n        A[i] = T.float32(x0)\n");
  CHECK(session.wait_for(uri, 1)["result"]["state"] == "done");
  CHECK(session.diagnostics(uri) == Json::array());
  Json hover = session.call("textDocument/hover", {{"textDocument", {{"uri", uri}}}, {"position", {{"line", 6}, {"character", 8}}}});
  CHECK(hover.dump().find("extent 4") != std::string::npos);
  CHECK(session.goodbye() == 0);
  std::filesystem::remove_all(folder);
}
