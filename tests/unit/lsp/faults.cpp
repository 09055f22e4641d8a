// A fault in every handler of the real server, front and worker as processes: exceptions cost one request, crashes cost the
// worker for a moment, a request that crashes twice is refused while other requests about its document are answered, and no edit is lost.
//
// Messages contain the fault (`"fault": "segfault"` in their parameters; see lsp/worker/faults.h). In most runs each handler gets one kind of
// crash; a soak (`ctest -L soak`, some minutes) plants every kind in every handler, and asserts the time until the server answers again.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lsp/protocol/methods.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/session.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace std::chrono_literals;

namespace {

constexpr int internal_error = -32603;
constexpr int request_failed = -32803;
const std::string good = "file:///good.tir";
const std::string other = "file:///other.tir";
const std::string program =
    "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n"
    "        with T.block(\"A\"):\n            vi = T.axis.spatial(16, i)\n            B[vi] = A[vi] + T.float32(1)\n\n\n"
    "@ls.schedule(f)\ndef s(sch: tir.Schedule) -> None:\n    (i,) = sch.get_loops(\"A\")\n    sch.parallel(i)\n";

auto start() -> Session { return Session({tests::loopsmith_program(), "lsp", "--hang-limit", "300ms"}, {{"LOOPSMITH_TEST_FAULT", "1"}}); }

void begin(Session& session) {
  session.initialize();
  session.open(good, program);
  session.open(other, "x = y\n");
  (void)session.wait_for(good, 1);
  (void)session.wait_for(other, 1);
}

/// The parameters that any request may need, about a loop of the program.
auto params_for(const MethodRow& row) -> Json {
  Json at = {{"line", 2}, {"character", 8}};
  Json range = {{"start", at}, {"end", at}};
  Json item = {{"name", "f"}, {"kind", 12}, {"uri", good}, {"range", range}, {"selectionRange", range}};
  Json params = {{"textDocument", {{"uri", good}}}, {"position", at}, {"range", range}, {"positions", {at}}, {"newName", "j"}, {"query", ""}, {"item", item},
                 {"place", 1}, {"ch", "\n"}, {"options", {{"tabSize", 4}, {"insertSpaces", true}}}, {"previousResultId", "0"}, {"previousResultIds", Json::array()},
                 {"context", {{"includeDeclaration", true}, {"diagnostics", Json::array()}}}};
  if (row.method == Method::TextDocumentContent) { params["uri"] = "loopsmith-ir:/good.tir#s@1"; }
  if (row.method == Method::WaitForState) { params["version"] = 1; }
  return params;
}

auto worker_requests() -> std::vector<MethodRow> {
  std::vector<MethodRow> rows;
  for (const MethodRow& row : method_rows) {
    if (row.kind == MethodKind::Request && row.owner == MethodOwner::Worker) { rows.push_back(row); }
  }
  return rows;
}

auto code_of(const Json& answer) -> int { return answer.contains("error") ? answer["error"].value("code", 0) : 0; }

/// Both documents are analysed, and their symbols are complete.
void is_well(Session& session, int version = 1) {
  session.received.clear();
  CHECK(session.wait_for(good, version)["result"]["state"] == "done");
  CHECK(session.wait_for(other, 1)["result"]["state"] == "done");
  CHECK(session.call("textDocument/documentSymbol", {{"textDocument", {{"uri", good}}}})["result"].size() == 2);
  CHECK(session.call("textDocument/documentSymbol", {{"textDocument", {{"uri", other}}}})["result"].size() == 1);
}

}  // namespace

TEST_CASE("an exception in a handler of the worker costs its request and nothing else") {
  Session session = start();
  begin(session);
  for (const MethodRow& row : worker_requests()) {
    for (const char* kind : {"throw", "allocation"}) {
      INFO(row.name << ": " << kind);
      Json params = params_for(row);
      params["fault"] = kind;
      Json answer = session.call(row.name, params);
      CHECK(code_of(answer) == internal_error);
      CHECK(answer["error"]["message"].get<std::string>().starts_with(row.name));
      // The same request without the fault is answered as before.
      CHECK(code_of(session.call(row.name, params_for(row))) != internal_error);
    }
  }
  for (const Json& message : session.received) { CHECK(message.value("method", "") != "window/logMessage"); }
  is_well(session);
  CHECK(session.goodbye() == 0);
}

TEST_CASE("an exception in a handler of the front costs its message; a text that cannot be followed is set aside") {
  Session session = start();
  begin(session);
  for (const MethodRow& row : method_rows) {
    if (row.kind != MethodKind::Request || row.method == Method::Initialize) { continue; }
    INFO(row.name);
    Json params = params_for(row);
    params["fault"] = "front";
    CHECK(code_of(session.call(row.name, params)) == internal_error);
  }
  for (const MethodRow& row : method_rows) {
    if (row.kind != MethodKind::Notification || row.name.starts_with("textDocument/did")) { continue; }
    session.notify(row.name, {{"fault", "front"}});
  }
  is_well(session);
  session.notify("textDocument/didChange", {{"fault", "front"}, {"textDocument", {{"uri", good}, {"version", 2}}}, {"contentChanges", {{{"text", "z = 1\n"}}}}});
  Json hover = session.call("textDocument/hover", {{"textDocument", {{"uri", good}}}, {"position", {{"line", 2}, {"character", 8}}}});
  CHECK(code_of(hover) == -32602);
  CHECK(session.diagnostics(good)[0]["code"] == "text-lost");
  session.open(good, program, 3);
  is_well(session, 3);
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a crash in any handler restarts the worker; a request that crashes twice is refused, and its document is served on", "[soak]") {
  const bool is_long = tests::is_soak();
  const std::vector<const char*> kinds = {"segfault", "kill", "abort", "overflow", "exit", "spin"};
  const size_t rotated = kinds.size() - 1;   // an endless loop is detected after a while
  std::vector<double> seconds;
  size_t turn = 0, handler = 0;
  for (const MethodRow& row : worker_requests()) {
    if (handler++ % tests::stride(3) != 0 && row.method != Method::Hover) { continue; }
    for (size_t k = 0; k < (is_long ? kinds.size() : 1); ++k, ++turn) {
      const char* kind = is_long ? kinds[k] : row.method == Method::Hover ? "spin" : kinds[turn % rotated];
      // This request shows that other documents are still answered.
      const char* probe = row.method == Method::DocumentSymbol ? "textDocument/foldingRange" : "textDocument/documentSymbol";
      INFO(row.name << ": " << kind);
      Session session = start();
      begin(session);
      Json params = params_for(row);
      params["fault"] = kind;
      for (int crash = 0; crash < 2; ++crash) {
        auto begun = Clock::now();
        int bad = session.request(row.name, params);
        int innocent = session.request(probe, {{"textDocument", {{"uri", other}}}});
        CHECK(code_of(session.answer(bad)) == internal_error);
        CHECK_FALSE(session.answer(innocent).is_null());
        CHECK(session.call(probe, {{"textDocument", {{"uri", other}}}}).contains("result"));
        CHECK(session.call(probe, {{"textDocument", {{"uri", good}}}})["result"].size() >= 2);
        seconds.push_back(std::chrono::duration<double>(Clock::now() - begun).count());
      }
      // The request is refused for this text, with or without a fault; other requests are answered, and an edit ends the refusal.
      CHECK(code_of(session.call(row.name, params)) == request_failed);
      CHECK(session.call(probe, {{"textDocument", {{"uri", good}}}})["result"].size() >= 2);
      session.replace(good, program + "\n", 2);
      int healed = code_of(session.call(row.name, params_for(row)));
      CHECK((healed != request_failed && healed != internal_error));
      is_well(session, 2);
      CHECK(session.goodbye() == 0);
    }
  }
  std::sort(seconds.begin(), seconds.end());
  INFO("from the crash to answers about both documents: median " << seconds[seconds.size() / 2] << " s, nineteen of twenty within " << seconds[seconds.size() * 19 / 20] << " s, longest " << seconds.back() << " s");
  if (tests::is_soak()) {
    CHECK(seconds[seconds.size() / 2] < 1);
    CHECK(seconds[seconds.size() * 19 / 20] < 1);
    CHECK(seconds.back() < 10);
  }
}

TEST_CASE("a crash while a notification is handled loses no text") {
  for (const char* kind : {"segfault", "throw", "kill"}) {
    INFO(kind);
    Session session = start();
    begin(session);
    session.notify("textDocument/didChange", {{"fault", kind}, {"textDocument", {{"uri", good}, {"version", 2}}},
                                              {"contentChanges", {{{"range", {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 0}, {"character", 0}}}}}, {"text", "z = w\n"}}}}});
    (void)session.until([](const Json& message) { return message.value("method", "") == "window/logMessage"; });
    CHECK(session.wait_for(good, 2)["result"]["version"] == 2);
    Json symbols = session.call("textDocument/documentSymbol", {{"textDocument", {{"uri", good}}}});
    CHECK(symbols["result"].size() == 3);
    session.notify("textDocument/didOpen", {{"fault", kind}, {"textDocument", {{"uri", "file:///new.tir"}, {"languageId", "tirscript"}, {"version", 1}, {"text", "x = y\n"}}}});
    (void)session.until([](const Json& message) { return message.value("method", "") == "window/logMessage"; });
    CHECK(session.wait_for("file:///new.tir", 1)["result"]["state"] == "done");
    session.notify("workspace/didChangeConfiguration", {{"fault", kind}, {"settings", Json::object()}});
    (void)session.until([](const Json& message) { return message.value("method", "") == "window/logMessage"; });
    CHECK(session.wait_for(good, 2)["result"]["state"] == "done");
    CHECK(session.goodbye() == 0);
  }
}
