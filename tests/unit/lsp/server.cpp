// The server as a program, front and worker: its life, its worker killed, crashing or hanging while requests are pending, recorded sessions.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "tests/support/effort.h"
#include "tests/unit/lsp/server_program.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace std::chrono_literals;

TEST_CASE("start to initialize, diagnostics, shutdown") {
  Session session = start();
  session.initialize();
  session.open("file:///a.tir", broken);
  CHECK(session.wait_for("file:///a.tir", 1)["result"]["state"] == "done");
  CHECK_FALSE(session.diagnostics("file:///a.tir").empty());
  session.replace("file:///a.tir", fine, 2);
  CHECK(session.wait_for("file:///a.tir", 2)["result"]["version"] == 2);
  CHECK(session.diagnostics("file:///a.tir").empty());
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a worker killed from outside, idle: nothing is lost, no file is blamed") {
  Session session = start();
  session.initialize();
  session.open("file:///a.tir", broken);
  CHECK(session.wait_for("file:///a.tir", 1)["result"]["state"] == "done");
  for (int round = 0; round < 3; ++round) {
    int worker = worker_of(session);
    REQUIRE(worker > 1);
    ::kill(worker, SIGKILL);
    (void)session.until([](const Json& message) { return message.value("method", "") == "window/logMessage"; });
    session.received.clear();
    CHECK(session.wait_for("file:///a.tir", 1)["result"]["state"] == "done");
    CHECK(session.diagnostics("file:///a.tir")[0]["code"] != "analysis-crashed");
    CHECK(worker_of(session) != worker);
  }
  CHECK(session.goodbye() == 0);
}

TEST_CASE("every kind of crash: pending requests get an error, the file is set aside, others go on, an edit heals", "[soak]") {
  std::string fault = GENERATE(std::string("segfault"), std::string("kill"), std::string("abort"), std::string("exit"),
                               std::string("overflow"), std::string("spin"));
  INFO(fault);
  Session session = start({"--hang-limit", "300ms"});
  session.initialize();
  session.open("file:///good.tir", broken);
  CHECK(session.wait_for("file:///good.tir", 1)["result"]["state"] == "done");
  auto begun = Clock::now();
  session.open("file:///bad.tir", "# FAULT:" + fault + "\n");
  int pending = session.request("textDocument/documentSymbol", {{"textDocument", {{"uri", "file:///bad.tir"}}}});
  int innocent = session.request("textDocument/documentSymbol", {{"textDocument", {{"uri", "file:///good.tir"}}}});
  CHECK(is_error(session.answer(pending), internal_error));
  CHECK_FALSE(session.answer(innocent).is_null());
  Json shown = session.until([](const Json& message) {
    return message.value("method", "") == "textDocument/publishDiagnostics" && message["params"]["uri"] == "file:///bad.tir";
  });
  CHECK(shown["params"]["diagnostics"][0]["code"] == "analysis-crashed");
  if (tests::is_soak()) { CHECK(Clock::now() - begun < 20s); }
  session.received.clear();
  CHECK(session.wait_for("file:///good.tir", 1)["result"]["state"] == "done");
  CHECK_FALSE(session.diagnostics("file:///good.tir").empty());
  session.replace("file:///bad.tir", broken, 2);
  CHECK(session.wait_for("file:///bad.tir", 2)["result"]["state"] == "done");
  CHECK(session.diagnostics("file:///bad.tir")[0]["code"] != "analysis-crashed");
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a request is cancelled at once, even while the worker hangs", "[soak]") {
  Session session = start({"--hang-limit", "20s"});
  session.initialize();
  session.open("file:///bad.tir", "# FAULT:spin\n");
  int id = session.request("textDocument/documentSymbol", {{"textDocument", {{"uri", "file:///bad.tir"}}}});
  std::this_thread::sleep_for(100ms);
  auto begun = Clock::now();
  session.notify("$/cancelRequest", {{"id", id}});
  CHECK(is_error(session.answer(id), -32800));
  if (tests::is_soak()) { CHECK(Clock::now() - begun < 200ms); }
  CHECK(session.goodbye() == 0);
}

TEST_CASE("hints that wait for a schedule come although a completion has run it", "[soak]") {
  const std::string text = "@T.prim_func\ndef f(A: T.Buffer((64,), \"float32\")):\n    for i in range(64):\n        with T.block(\"A\"):\n            vi = T.axis.spatial(64, i)\n            A[vi] = T.float32(1)\n\n\n"
                           "@ls.schedule(f)\ndef s(sch: tir.Schedule):\n    i, = sch.get_loops(\"A\")\n    i0, i1 = sch.split(i, [None, 8])\n    sch.\n";
  Session session = start();
  session.initialize();
  const std::string uri = "file:///hints.tir";
  session.open(uri, text);
  (void)session.wait_for(uri, 1);
  auto begun = Clock::now();
  for (int version = 2; version < 30; ++version) {
    // As editors do after each key: the change, the requests for hints and completion; then nothing.
    std::string factor = std::to_string(version % 7 + 2);
    session.replace(uri, text.substr(0, text.find("8])")) + factor + text.substr(text.find("8])") + 1), version);
    int hints = session.request("textDocument/inlayHint", {{"textDocument", {{"uri", uri}}}, {"range", {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 20}, {"character", 0}}}}}});
    int completion = session.request("textDocument/completion", {{"textDocument", {{"uri", uri}}}, {"position", {{"line", 12}, {"character", 8}}}});
    CHECK(session.answer(hints)["result"].dump().find("i1:" + factor) != std::string::npos);
    CHECK(session.answer(completion)["result"]["items"].size() > 10);
  }
  if (tests::is_soak()) { CHECK(Clock::now() - begun < 20s); }
  CHECK(session.goodbye() == 0);
}

TEST_CASE("nothing stays behind when the server is killed or its input ends") {
  for (bool kill : {true, false}) {
    Session session = start();
    session.initialize();
    int worker = worker_of(session);
    REQUIRE(worker > 1);
    if (kill) {
      ::kill(session.process().pid(), SIGKILL);
    } else {
      session.process().close_input();
    }
    auto status = session.process().wait(in(10s));
    REQUIRE(status.has_value());
    if (!kill) { CHECK(status->code == 1); }
    auto is_alive = [&] {
      std::ifstream file("/proc/" + std::to_string(worker) + "/stat");
      std::string number;
      std::string name;
      std::string state;
      return (file >> number >> name >> state) && state != "Z";
    };
    for (int i = 0; i < 200 && is_alive(); ++i) { std::this_thread::sleep_for(10ms); }
    CHECK_FALSE(is_alive());
  }
}

TEST_CASE("a session is recorded, both directions, a line of JSON each") {
  std::string file = "/tmp/loopsmith-record-" + std::to_string(::getpid()) + ".jsonl";
  {
    Session session = start({"--record", file});
    session.initialize();
    session.send_bytes("garbage\n");
    session.open("file:///a.tir", "x = '\n'\n");
    CHECK(session.wait_for("file:///a.tir", 1)["result"]["state"] == "done");
    CHECK(session.goodbye() == 0);
  }
  std::ifstream lines(file);
  int client = 0;
  int from_server = 0;
  int unreadable = 0;
  for (std::string line; std::getline(lines, line);) {
    Json entry = Json::parse(line);
    (entry["from"] == "client" ? client : from_server) += 1;
    if (entry.contains("unreadable")) { ++unreadable; }
  }
  CHECK(client == 7);
  CHECK(from_server >= 5);
  CHECK(unreadable == 1);
  ::unlink(file.c_str());
}
