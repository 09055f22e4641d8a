// Every request that the worker answers, cancelled at a random moment of its work on a program with much slow work: it is answered at once, as
// cancelled if it was not finished, and the worker is ready for the next request.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "lsp/protocol/methods.h"
#include "tests/support/effort.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/random_edits.h"
#include "tests/unit/lsp/session.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace loopsmith::lsp::random;
using namespace std::chrono_literals;

namespace {

constexpr int request_cancelled = -32800;
constexpr int internal_error = -32603;

/// A chain of blocks and a schedule: each of its states has hundreds of loops to judge and estimate. `key`: a factor that makes each text new.
auto wide(int blocks, int key) -> std::string {
  std::string text = fmt::format("@T.prim_func\ndef wide(A0: T.Buffer((64, 64, 64), \"float32\"), A{}: T.Buffer((64, 64, 64), \"float32\")):\n", blocks);
  for (int i = 1; i < blocks; ++i) { text += fmt::format("    A{} = T.alloc_buffer((64, 64, 64))\n", i); }
  for (int i = 1; i <= blocks; ++i) {
    text += fmt::format("    for i, j, k in T.grid(64, 64, 64):\n        with T.block(\"B{0}\"):\n            vi, vj, vk = T.axis.remap(\"SSS\", [i, j, k])\n            A{0}[vi, vj, vk] = A{1}[vi, vj, vk] + T.float32(1)\n", i, i - 1);
  }
  text += "\n\n@ls.schedule(wide)\ndef s(sch: tir.Schedule) -> None:\n";
  for (int i = 1; i <= blocks; i += 4) { text += fmt::format("    i, j, k = sch.get_loops(\"B{}\")\n    i0, i1 = sch.split(i, factors=[None, {}])\n    sch.reorder(i1, j, k, i0)\n", i, key + 2); }
  return text;
}

auto milliseconds(Clock::time_point since) -> double { return std::chrono::duration<double, std::milli>(Clock::now() - since).count(); }

}  // namespace

TEST_CASE("every request can be cancelled at any moment, and frees its work", "[soak]") {
  const int blocks = tests::is_sanitized ? 24 : 160;
  const std::string uri = "file:///wide.tir";
  Session session({tests::loopsmith_program(), "lsp"});
  session.initialize({{"textDocument", {{"completion", {{"completionItem", {{"snippetSupport", true}}}}}}}});
  Document document{uri, 1, lines_of(wide(blocks, 0))};
  session.open(uri, document.text());
  CHECK(session.wait_for(uri, 1)["result"]["state"] == "done");
  const size_t lines = document.lines.size();
  Random random{14};
  std::vector<double> answered;
  std::vector<double> free;
  std::vector<std::string> slow;
  size_t cancelled = 0;
  for (const MethodRow& row : method_rows) {
    if (row.kind != MethodKind::Request || row.owner != MethodOwner::Worker) { continue; }
    for (int turn = 0; turn < 3; ++turn) {
      // Each text is new, so nothing is cached.
      document.lines = lines_of(wide(blocks, document.version % 5 + 1));
      session.replace(uri, document.text(), ++document.version);
      // In the schedule, where all requests are slow; in the program; anywhere.
      size_t line = turn == 0 ? lines - 2 : turn == 1 ? lines / 2 : random.below(lines);
      Json params = params_at(document, std::string(row.name), line, turn == 0 ? 8 : 4);
      params["position"] = position(line, turn == 0 ? 8 : 4);
      params["range"] = range(line, 0, line, 8);
      params["version"] = document.version;
      params["query"] = "";
      params["previousResultId"] = "0";
      params["previousResultIds"] = Json::array();
      params["item"] = {{"name", "wide"}, {"kind", 12}, {"uri", uri}, {"range", params["range"]}, {"selectionRange", params["range"]}};
      params["label"] = "split";
      params["ch"] = "\n";
      if (row.method == Method::TextDocumentContent) { params["uri"] = fmt::format("loopsmith-ir:/wide.tir#s@{}", blocks / 2); }
      session.received.clear();
      int id = session.request(row.name, params);
      std::this_thread::sleep_for(std::chrono::milliseconds(random.below(30)));
      auto begun = Clock::now();
      session.notify("$/cancelRequest", {{"id", id}});
      Json answer = session.answer(id);
      answered.push_back(milliseconds(begun));
      INFO(row.name << ", turn " << turn << ": " << answer.dump().substr(0, 200));
      REQUIRE(answer.is_object());
      int code = answer.contains("error") ? answer["error"].value("code", 0) : 0;
      CHECK(code != internal_error);
      cancelled += code == request_cancelled;
      // A request that needs no schedule is answered although the text has just changed.
      begun = Clock::now();
      CHECK(session.call("textDocument/foldingRange", {{"textDocument", {{"uri", uri}}}})["result"].size() > static_cast<size_t>(blocks));
      free.push_back(milliseconds(begun));
      if (answered.back() > 200 || free.back() > 200) { slow.push_back(fmt::format("{}, turn {}: answered after {:.0f} ms, free after {:.0f} ms more", row.name, turn, answered.back(), free.back())); }
    }
  }
  CHECK(session.wait_for(uri, document.version)["result"]["state"] == "done");
  CHECK(cancelled > 10);
  std::string slow_lines;
  for (const std::string& one : slow) { slow_lines += one + "\n"; }
  INFO(slow_lines);
  if (tests::is_soak()) {
    CHECK(slow.size() <= answered.size() / 20);
    CHECK(*std::max_element(answered.begin(), answered.end()) < 1000);
    CHECK(*std::max_element(free.begin(), free.end()) < 2000);
  }
  CHECK(session.goodbye() == 0);
}
