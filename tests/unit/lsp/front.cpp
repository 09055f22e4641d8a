// The front with an editor and a worker that the test plays: the life cycle, malformed messages, order, stale and cancelled requests, pieces of answers,
// diagnostics, settings.
#include <algorithm>
#include <csignal>
#include <random>

#include "tests/support/effort.h"
#include "tests/unit/lsp/front_stage.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

TEST_CASE("life cycle: initialize first and once, nothing but exit after shutdown") {
  Stage stage;
  CHECK(stage.error_of(stage.hover("a")) == server_not_initialized);
  stage.open("a", "dropped");
  stage.initialize();
  CHECK(stage.answer_to(2)["result"]["capabilities"]["positionEncoding"] == "utf-16");
  CHECK_FALSE(stage.has_open("a"));
  CHECK(stage.error_of(stage.ask("initialize", Json::object())) == invalid_request);
  int bye = stage.ask("shutdown", nullptr);
  CHECK(stage.answer_to(bye).contains("result"));
  CHECK(stage.error_of(stage.hover("a")) == invalid_request);
  CHECK_FALSE(stage.exit_status.has_value());
  stage.notify("exit", nullptr);
  CHECK(stage.exit_status == 0);
}

TEST_CASE("exit without shutdown, and an editor that is gone, end with status 1") {
  Stage exits;
  exits.initialize();
  exits.notify("exit", nullptr);
  CHECK(exits.exit_status == 1);
  Stage vanishes;
  vanishes.initialize();
  vanishes.front.on_client_end();
  CHECK(vanishes.exit_status == 1);
}

TEST_CASE("the editor's first known position encoding is taken") {
  auto [offered, chosen] = GENERATE(table<std::vector<std::string>, std::string>({
      {{"utf-8", "utf-16"}, "utf-8"}, {{"utf-32"}, "utf-32"}, {{"utf-16", "utf-8"}, "utf-16"}, {{"ebcdic"}, "utf-16"}, {{}, "utf-16"}}));
  Stage stage;
  stage.initialize({{"general", {{"positionEncodings", offered}}}});
  CHECK(stage.answer_to(1)["result"]["capabilities"]["positionEncoding"] == chosen);
}

TEST_CASE("malformed messages get an error that names the fault, and nothing else changes") {
  Stage stage;
  stage.initialize();
  auto last_error = [&](std::string_view bytes) {
    stage.client.clear();
    stage.front.on_client_bytes(bytes);
    REQUIRE(stage.client.size() == 1);
    CHECK(stage.client[0]["id"].is_null());
    return stage.client[0]["error"]["code"].get<int>();
  };
  CHECK(last_error(framed("{not json")) == -32700);
  CHECK(last_error(framed("")) == -32700);
  CHECK(last_error(framed(std::string(5000, '['))) == -32700);
  CHECK(last_error(framed("[]")) == invalid_request);
  CHECK(last_error(framed("7")) == invalid_request);
  CHECK(last_error(framed("{}")) == invalid_request);
  CHECK(last_error(framed(R"({"jsonrpc":"2.0","id":{},"method":"shutdown"})")) == invalid_request);
  CHECK(last_error(framed(R"({"jsonrpc":"2.0","id":null,"method":"shutdown"})")) == invalid_request);
  CHECK(last_error("Content-Length: x\r\n\r\n") == -32700);
  CHECK(stage.error_of(stage.ask("no/such", nullptr)) == method_not_found);
  CHECK(stage.error_of(stage.ask("$/no/such", nullptr)) == method_not_found);
  CHECK(stage.error_of(stage.ask("exit", nullptr)) == invalid_request);
  CHECK(stage.error_of(stage.ask("textDocument/hover", nullptr)) == invalid_params);
  CHECK(stage.error_of(stage.ask("textDocument/hover", Json::array({1}))) == invalid_params);
  CHECK(stage.error_of(stage.hover("not open")) == invalid_params);
  stage.client.clear();
  stage.notify("$/unknown", nullptr);
  stage.notify("unknown", nullptr);
  stage.notify("textDocument/hover", nullptr);
  CHECK(stage.client.empty());
  CHECK_FALSE(stage.exit_status.has_value());
}

TEST_CASE("random JSON in every method's place: an answer for every request, and the front lives") {
  for (size_t seed = 1; seed <= 100; seed += tests::stride(10)) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    Stage stage;
    stage.initialize();
    stage.open("a", "text");
    std::function<Json(int)> anything = [&](int depth) -> Json {
      switch (random() % (depth > 3 ? 5 : 8)) {
        case 0: return nullptr;
        case 1: return static_cast<int64_t>(random()) - INT32_MAX;
        case 2: return "a";
        case 3: return 1e300;
        case 4: return true;
        case 5: return Json::array({anything(depth + 1), anything(depth + 1)});
        default: {
          Json object = Json::object();
          for (const char* name : {"textDocument", "uri", "version", "position", "line", "character", "range", "start", "contentChanges",
                                   "text", "command", "arguments", "id", "token", "job", "positions", "processId", "capabilities"}) {
            if (random() % 4 == 0) { object[name] = anything(depth + 1); }
          }
          return object;
        }
      }
    };
    std::vector<int> asked;
    for (int i = 0; i < 40; ++i) {
      const MethodRow& row = method_rows[random() % std::size(method_rows)];
      if (row.method == Method::Exit || row.method == Method::Shutdown) { continue; }
      std::string name(row.name);
      if (row.kind == MethodKind::Request) {
        asked.push_back(stage.ask(name.c_str(), anything(0)));
      } else {
        stage.notify(name.c_str(), anything(0));
      }
    }
    stage.worker_dies();
    for (int id : asked) { CHECK_FALSE(stage.answer_to(id).is_null()); }
  }
}

TEST_CASE("an edit makes requests about the older text stale; one about another text is not touched") {
  Stage stage;
  stage.initialize();
  stage.open("a", "old");
  stage.open("b", "other");
  int stale = stage.hover("a");
  int other = stage.hover("b");
  int waits = stage.ask("loopsmith/waitForState", {{"uri", "a"}, {"version", 2}});
  stage.replace("a", "new", 2);
  CHECK(stage.error_of(stale) == content_modified);
  CHECK(stage.answer_to(other).is_null());
  CHECK(stage.answer_to(waits).is_null());
  // The answer comes too late, and is dropped.
  size_t before = stage.client.size();
  stage.from_worker(response(stale, "late"), {{header::ticket, 1}});
  CHECK(stage.client.size() == before);
  stage.from_worker(response(other, "good"), {{header::ticket, 2}});
  CHECK(stage.answer_to(other)["result"] == "good");
}

TEST_CASE("a cancelled request is answered at once, and the worker gets the cancellation") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  int id = stage.hover("a");
  stage.notify("$/cancelRequest", {{"id", id}});
  CHECK(stage.error_of(id) == request_cancelled);
  CHECK(stage.worker.back().number(header::cancel) == 1);
  size_t before = stage.client.size();
  stage.notify("$/cancelRequest", {{"id", id}});
  stage.notify("$/cancelRequest", {{"id", "never asked"}});
  stage.from_worker(response(id, "late"), {{header::ticket, 1}});
  CHECK(stage.client.size() == before);
}

TEST_CASE("pieces of an answer and its progress are passed on until it is answered, cancelled or stale; a cancel by its token is a cancel of the request") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  auto references = [&](const char* token) {
    return stage.ask("textDocument/references", {{"textDocument", {{"uri", "a"}}}, {"position", {{"line", 0}, {"character", 0}}}, {"context", {{"includeDeclaration", true}}},
                                                 {"partialResultToken", "p"}, {"workDoneToken", token}});
  };
  auto ticket = [&] { return *stage.worker.back().number(header::ticket); };
  auto piece = [&](uint64_t ticket, int item) { stage.from_worker(notification("$/progress", {{"token", "p"}, {"value", {item}}}), {{header::ticket, ticket}, {header::piece, 1}}); };
  auto pieces = [&] { return std::count_if(stage.client.begin(), stage.client.end(), [](const Json& message) { return message.value("method", "") == "$/progress"; }); };

  int answered = references("w1");
  uint64_t first = ticket();
  piece(first, 1);
  piece(first, 2);
  CHECK(pieces() == 2);
  CHECK(stage.answer_to(answered).is_null());
  stage.from_worker(response(answered, Json::array()), {{header::ticket, first}});
  CHECK(stage.answer_to(answered)["result"] == Json::array());
  piece(first, 3);
  CHECK(pieces() == 2);

  int cancelled = references("w2");
  uint64_t second = ticket();
  stage.notify("window/workDoneProgress/cancel", {{"token", "w1"}});
  CHECK(stage.answer_to(cancelled).is_null());
  stage.notify("window/workDoneProgress/cancel", {{"token", "w2"}});
  CHECK(stage.error_of(cancelled) == request_cancelled);
  CHECK(stage.worker.back().number(header::cancel) == second);
  piece(second, 4);
  CHECK(pieces() == 2);

  int stale = references("w3");
  uint64_t third = ticket();
  stage.replace("a", "y", 2);
  CHECK(stage.error_of(stale) == content_modified);
  piece(third, 5);
  CHECK(pieces() == 2);
}

TEST_CASE("a trace is sent while the editor wants one; views that changed are requested again") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  auto answered = [&](uint64_t ticket) {
    int id = stage.hover("a");
    stage.from_worker(response(id, nullptr), {{header::ticket, ticket}});
    return stage.answer_to(id).contains("result");
  };
  CHECK(answered(1));
  CHECK(stage.last("$/logTrace").is_null());
  stage.notify("$/setTrace", {{"value", "messages"}});
  CHECK(answered(2));
  CHECK(stage.last("$/logTrace")["params"]["message"].get<std::string>().starts_with("textDocument/hover answered in "));
  stage.replace("a", "y", 2);
  stage.replace("a", "z", 3);
  // Diagnostics of the newest text only; these also answer the changes before.
  Json found = notification("textDocument/publishDiagnostics", {{"uri", "a"}, {"version", 3}, {"diagnostics", Json::array()}});
  stage.from_worker(found, {{header::document, 1}, {header::version, 3}});
  std::vector<std::string> traced;
  for (const Json& message : stage.client) {
    std::string text = string_in(member(message, "params"), "message");
    if (text.starts_with("diagnostics of ")) { traced.push_back(text.substr(0, text.find(" written "))); }
  }
  CHECK(traced == std::vector<std::string>{"diagnostics of version 2", "diagnostics of version 3"});
  // Unchanged diagnostics are not sent again.
  stage.replace("a", "zz", 4);
  size_t before = stage.client.size();
  stage.from_worker(Json(), {{header::unchanged, 1}, {header::document, 1}, {header::version, 4}});
  CHECK(stage.client.size() == before + 1);
  CHECK(string_in(member(stage.last("$/logTrace"), "params"), "message").starts_with("diagnostics of version 4 unchanged "));
  stage.notify("$/setTrace", {{"value", "off"}});
  stage.replace("a", "", 5);
  before = stage.client.size();
  stage.from_worker(Json(), {{header::unchanged, 1}, {header::document, 1}, {header::version, 5}});
  CHECK(stage.client.size() == before);
  stage.from_worker(notification("textDocument/publishDiagnostics", {{"uri", "a"}, {"version", 5}, {"diagnostics", Json::array()}}), {{header::document, 1}, {header::version, 5}});
  CHECK(stage.client.size() == before + 1);
  before = stage.client.size();
  CHECK(answered(3));
  CHECK(stage.client.size() == before + 1);
  stage.from_worker(Json::array({"loopsmith-ir:/a#s@1"}), {{header::views, 1}});
  Json refresh = stage.last("workspace/textDocumentContent/refresh");
  CHECK(refresh["params"]["uri"] == "loopsmith-ir:/a#s@1");
  CHECK(refresh.contains("id"));
}

TEST_CASE("diagnostics of an older version, or of a closed file, are not passed on") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x", 1);
  uint64_t number = stage.document_number();
  stage.replace("a", "y", 2);
  Json message = notification("textDocument/publishDiagnostics", {{"uri", "a"}, {"diagnostics", Json::array()}});
  size_t before = stage.client.size();
  stage.from_worker(message, {{header::document, number}, {header::version, 1}});
  CHECK(stage.client.size() == before);
  stage.from_worker(message, {{header::document, number}, {header::version, 2}});
  CHECK(stage.client.size() == before + 1);
  stage.notify("textDocument/didClose", {{"textDocument", {{"uri", "a"}}}});
  CHECK(stage.last("textDocument/publishDiagnostics")["params"]["diagnostics"].empty());
  before = stage.client.size();
  stage.from_worker(message, {{header::document, number}, {header::version, 2}});
  CHECK(stage.client.size() == before);
}

TEST_CASE("the server sends its status, once for each change") {
  Stage stage;
  stage.initialize({{"experimental", {{"serverStatusNotification", true}}}});
  stage.front.on_tick();
  CHECK(stage.last("experimental/serverStatus")["params"] == Json({{"health", "ok"}, {"quiescent", false}, {"message", ""}}));
  stage.front.on_worker_bytes(framed("", {{header::rest, 1}}));
  size_t before = stage.client.size();
  stage.front.on_tick();
  CHECK(stage.last("experimental/serverStatus")["params"]["quiescent"] == true);
  CHECK(stage.client.size() == before + 1);
  stage.front.on_tick();
  CHECK(stage.client.size() == before + 1);
  stage.open("a", "x");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  stage.front.on_tick();
  CHECK(stage.last("experimental/serverStatus")["params"] == Json({{"health", "ok"}, {"quiescent", false}, {"message", "tuning f: starting"}}));
  stage.can_start = false;
  stage.front.on_worker_end(ExitStatus{.signal = SIGSEGV});
  stage.front.on_tick();
  CHECK(stage.last("experimental/serverStatus")["params"]["health"] == "warning");
  // An editor that cannot show the status does not get it.
  Stage other;
  other.initialize({});
  other.front.on_tick();
  CHECK(other.last("experimental/serverStatus").is_null());
}
