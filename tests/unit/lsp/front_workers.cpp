// The front with workers that die, hang, write garbage, or crash on a text: requests get errors, the text is set aside, a new worker starts.
#include <csignal>

#include "tests/unit/lsp/front_stage.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

TEST_CASE("a dead worker: pending requests get an error, a new one gets all documents as they are now") {
  Stage stage;
  stage.initialize();
  stage.open("a", "first");
  stage.open("b", "second");
  stage.replace("a", "edited", 2);
  int pending = stage.hover("a");
  stage.worker_dies(SIGKILL);
  CHECK(stage.error_of(pending) == internal_error);
  CHECK(stage.answer_to(pending)["error"]["message"] == "the analysis worker was killed by signal 9 (SIGKILL); it restarts");
  CHECK(stage.workers == 2);
  CHECK(stage.has_open("edited"));
  CHECK(stage.has_open("second"));
  CHECK(stage.worker.front().body.find("loopsmith/start") != std::string::npos);
}

TEST_CASE("content that killed two workers is set aside with a diagnostic, until it is edited") {
  Stage stage;
  stage.initialize();
  stage.open("good", "fine");
  stage.open("bad", "poison");
  stage.works_on(stage.document_number(), 1);
  stage.worker_dies();
  CHECK(stage.has_open("poison"));
  CHECK(stage.last("textDocument/publishDiagnostics").is_null());
  stage.works_on(stage.document_number(), 1);
  stage.worker_dies();
  CHECK_FALSE(stage.has_open("poison"));
  CHECK(stage.has_open("fine"));
  Json shown = stage.last("textDocument/publishDiagnostics");
  CHECK(shown["params"]["uri"] == "bad");
  CHECK(shown["params"]["diagnostics"][0]["message"] ==
        "analysis of this file crashed (the analysis worker was killed by signal 11 (SIGSEGV)); edit the file to analyse it again");
  CHECK(stage.answer_to(stage.hover("bad")).contains("result"));
  CHECK(stage.answer_to(stage.ask("loopsmith/waitForState", {{"uri", "bad"}, {"version", 1}}))["result"]["state"] == "crashed");

  stage.replace("bad", "healed", 2);
  CHECK(stage.has_open("healed"));
  // The same content again, by undo or under another name, is not sent again.
  stage.worker.clear();
  stage.replace("bad", "poison", 3);
  CHECK_FALSE(stage.has_open("poison"));
  CHECK(stage.last("textDocument/publishDiagnostics")["params"]["version"] == 3);
  stage.open("copy", "poison");
  CHECK_FALSE(stage.has_open("poison"));
}

TEST_CASE("a worker that dies idle blames nobody") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  for (int i = 0; i < 4; ++i) {
    stage.works_on(stage.document_number(), 1);
    stage.from_worker(nullptr, {{header::working, 0}});
    stage.worker_dies();
  }
  CHECK(stage.has_open("\"x\""));
  CHECK(stage.last("textDocument/publishDiagnostics").is_null());
}

TEST_CASE("workers that die at once are started more and more slowly, and requests meanwhile wait or fail") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  for (int i = 0; i < 20; ++i) {
    if (stage.workers <= i) { break; }
    stage.worker_dies();
  }
  CHECK(stage.workers < 10);
  int held = stage.hover("a");
  CHECK(stage.answer_to(held).is_null());
  stage.can_start = false;
  stage.advance(std::chrono::milliseconds(1100));
  stage.front.on_tick();
  CHECK(stage.error_of(held) == internal_error);
}

TEST_CASE("a worker that burns time without progress is killed; one that polls is not") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  stage.works_on(stage.document_number(), 1);
  stage.advance(std::chrono::milliseconds(120));
  stage.cpu = 0.9;
  stage.front.on_tick();
  CHECK_FALSE(stage.killed);
  CHECK(stage.worker.back().number(header::ping).has_value());
  stage.from_worker(nullptr, {{header::ping, 5}});
  stage.advance(std::chrono::milliseconds(120));
  stage.cpu = 1.5;
  stage.front.on_tick();
  CHECK_FALSE(stage.killed);
  stage.cpu = 2.5;
  stage.front.on_tick();
  CHECK(stage.killed);
}

TEST_CASE("a worker that writes garbage is stopped") {
  Stage stage;
  stage.initialize();
  stage.front.on_worker_bytes("segmentation fault, core dumped\n\n");
  CHECK(stage.killed);
}
