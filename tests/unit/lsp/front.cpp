// The front alone, with a worker and an editor that the test plays: order of messages, stale and cancelled requests,
// workers that die, content that kills workers, jobs.
#include "lsp/jobs/wording.h"
#include "lsp/protocol/jobs.h"
#include "lsp/server/front.h"

#include "tests/unit/lsp/session.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/support/effort.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

struct Stage final : Host {
  std::vector<Json> client;                                // frames to the editor
  std::vector<Frame> worker;                               // frames to the worker
  std::vector<std::pair<JobId, int>> signals;
  std::vector<std::string> job_arguments;
  std::string job_input;
  int workers = 0;
  bool can_start = true;
  bool killed = false;
  bool jobs_held = false;
  double cpu = 0;
  Clock::time_point time = Clock::now();                   // the front's clock: it does not move unless a test advances it
  std::optional<int> exit_status;
  FrameReader client_reader;
  FrameReader worker_reader;
  Front front;
  int next_id = 1;

  explicit Stage(FrontOptions options = {}) : front(*this, std::move(options)) { front.start(); }

  void to_client(std::string frame) override {
    client_reader.feed(frame);
    while (auto got = client_reader.next()) { client.push_back(Json::parse(got->body)); }
  }
  void to_worker(std::string frame) override {
    worker_reader.feed(frame);
    while (auto got = worker_reader.next()) { worker.push_back(std::move(*got)); }
  }
  auto start_worker() -> bool override {
    ++workers;
    killed = false;
    worker.clear();
    return can_start;
  }
  void kill_worker() override { killed = true; }
  void hold_jobs() override { jobs_held = true; }
  void let_jobs_go() override { jobs_held = false; }
  auto worker_cpu() -> std::chrono::duration<double> override { return std::chrono::duration<double>(cpu); }
  void quit(int status) override { exit_status = status; }
  auto start_job(JobId, const std::vector<std::string>& arguments, const std::string& input) -> std::optional<std::string> override {
    job_arguments = arguments;
    job_input = input;
    return std::nullopt;
  }
  void signal_job(JobId job, int signal) override { signals.emplace_back(job, signal); }
  [[nodiscard]] auto now() const -> Clock::time_point override { return time; }
  void advance(Clock::duration span) { time += span; }

  // The editor.
  void send(const Json& message) { front.on_client_bytes(framed(message.dump())); }
  void notify(const char* method, Json params) { send(notification(method, std::move(params))); }
  auto ask(const char* method, Json params) -> int {
    int id = next_id++;
    send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}});
    return id;
  }
  auto answer_to(int id) -> Json {
    for (const Json& message : client) {
      if (!message.contains("method") && message.contains("id") && message["id"] == id) { return message; }
    }
    return nullptr;
  }
  auto error_of(int id) -> int {
    Json answer = answer_to(id);
    return answer.contains("error") ? answer["error"]["code"].get<int>() : 0;
  }
  auto last(const char* method) -> Json {
    for (auto message = client.rbegin(); message != client.rend(); ++message) {
      if (message->value("method", "") == method) { return *message; }
    }
    return nullptr;
  }
  void initialize(Json capabilities = Json::object()) {
    ask("initialize", {{"capabilities", std::move(capabilities)}});
    notify("initialized", Json::object());
  }
  void open(const char* uri, const char* text, int version = 1) {
    notify("textDocument/didOpen", {{"textDocument", {{"uri", uri}, {"languageId", "tir"}, {"version", version}, {"text", text}}}});
  }
  void replace(const char* uri, const char* text, int version) {
    notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}}, {"contentChanges", {{{"text", text}}}}});
  }
  auto hover(const char* uri) -> int {
    return ask("textDocument/hover", {{"textDocument", {{"uri", uri}}}, {"position", {{"line", 0}, {"character", 0}}}});
  }

  // The worker.
  auto document_number() -> uint64_t {
    for (auto frame = worker.rbegin(); frame != worker.rend(); ++frame) {
      if (frame->body.find("didOpen") != std::string::npos) { return *frame->number(header::document); }
    }
    return 0;
  }
  void from_worker(const Json& message, std::initializer_list<std::pair<std::string_view, uint64_t>> headers) {
    front.on_worker_bytes(framed(message.is_null() ? "" : message.dump(), headers));
  }
  void works_on(uint64_t document, uint64_t version) {
    from_worker(nullptr, {{header::working, 1}, {header::document, document}, {header::version, version}});
  }
  void worker_dies(int signal = SIGSEGV) { front.on_worker_end(ExitStatus{.signal = signal}); }
  auto has_open(const char* uri) -> bool {
    return std::any_of(worker.begin(), worker.end(), [&](const Frame& frame) {
      return frame.body.find("didOpen") != std::string::npos && frame.body.find(uri) != std::string::npos;
    });
  }
};

constexpr int server_not_initialized = -32002;
constexpr int invalid_request = -32600;
constexpr int method_not_found = -32601;
constexpr int invalid_params = -32602;
constexpr int internal_error = -32603;
constexpr int content_modified = -32801;
constexpr int request_cancelled = -32800;

}  // namespace

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

TEST_CASE("jobs stand still from a key on until the worker has nothing to do, and for the editor only") {
  Stage stage;
  stage.initialize();
  stage.open("a", "old");
  auto rest = [&](size_t frames) { stage.from_worker("", {{header::rest, frames}}); };
  size_t opened = stage.worker.size();
  CHECK(stage.jobs_held);
  rest(opened);
  CHECK_FALSE(stage.jobs_held);
  stage.replace("a", "new", 2);
  CHECK(stage.jobs_held);
  // This report of idleness is older than the key.
  rest(opened);
  CHECK(stage.jobs_held);
  rest(stage.worker.size());
  CHECK_FALSE(stage.jobs_held);
  (void)stage.hover("a");
  CHECK(stage.jobs_held);
  rest(stage.worker.size());
  // A message about a job, which the worker gets from the front, suspends no job.
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  rest(stage.worker.size());
  stage.front.on_job_end(1, {.code = 1}, "no");
  CHECK_FALSE(stage.jobs_held);
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

TEST_CASE("tuning: a program of its own, progress, stop and keep the best, insert as a versioned edit") {
  Stage stage;
  stage.initialize({{"window", {{"workDoneProgress", true}}}});
  stage.open("a", "def f(): pass");
  int id = stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}, {"trials", 64}}}}});
  CHECK(stage.answer_to(id)["result"]["job"] == 1);
  CHECK(stage.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "f", "--trials", "64"});
  CHECK(stage.job_input == "def f(): pass");
  int again = stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  CHECK(stage.answer_to(again)["error"]["message"] == "`f` is being tuned already");

  Json create = stage.last("window/workDoneProgress/create");
  stage.send({{"jsonrpc", "2.0"}, {"id", create["id"]}, {"result", nullptr}});
  CHECK(stage.last("$/progress")["params"]["value"]["title"] == "Tuning f");
  stage.front.on_job_line(1, R"({"event":"progress","trial":16,"trials":64,"best_seconds":0.00123,"elapsed":8})");
  Json report = stage.last("$/progress")["params"]["value"];
  CHECK(report["message"] == "trial 16/64, best 1.230 ms, 8 s so far, 17 s to 32 s left");
  CHECK(report["percentage"] == 25);
  for (const char* noise : {"", "no json", "{}", "[1]", R"({"event":"progress","trial":"x"})", R"({"event":9})"}) { stage.front.on_job_line(1, noise); }

  // The job outlives the worker, and the next worker gets its facts.
  stage.worker_dies();
  CHECK(std::any_of(stage.worker.begin(), stage.worker.end(), [](const Frame& f) { return f.body.find("loopsmith/job") != std::string::npos; }));

  stage.notify("window/workDoneProgress/cancel", {{"token", create["params"]["token"]}});
  CHECK(stage.signals == std::vector<std::pair<JobId, int>>{{1, SIGINT}});
  stage.front.on_job_line(1, R"({"event":"done","schedule_text":"def s(sch): ...","best_seconds":0.001,"verified":"3 inputs"})");
  stage.front.on_job_end(1, ExitStatus{}, "");
  CHECK(stage.last("$/progress")["params"]["value"]["message"] == "f: 1.000 ms (3 inputs)");

  int insert = stage.ask("workspace/executeCommand", {{"command", "loopsmith.insertSchedule"}, {"arguments", {{{"job", 1}}}}});
  auto ticket = *stage.worker.back().number(header::ticket);
  stage.from_worker(response(insert, {{"edit", {{"documentChanges", Json::array()}}}}), {{header::ticket, ticket}});
  CHECK(stage.answer_to(insert).is_null());
  Json apply = stage.last("workspace/applyEdit");
  CHECK(apply["params"]["label"] == "Insert best schedule");
  stage.send({{"jsonrpc", "2.0"}, {"id", apply["id"]}, {"result", {{"applied", true}}}});
  CHECK(stage.answer_to(insert).contains("result"));
  CHECK(stage.error_of(stage.ask("workspace/executeCommand", {{"command", "loopsmith.insertSchedule"}, {"arguments", {{{"job", 1}}}}})) == invalid_params);
}

TEST_CASE("the nearer limit gives the progress of a search") {
  auto message = [](Json arguments, const char* line) {
    Stage stage;
    stage.initialize({{"window", {{"workDoneProgress", true}}}});
    stage.open("a", "x");
    arguments.update({{"uri", "a"}, {"function", "f"}});
    stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", Json::array({arguments})}});
    stage.send({{"jsonrpc", "2.0"}, {"id", stage.last("window/workDoneProgress/create")["id"]}, {"result", nullptr}});
    CHECK(stage.last("$/progress")["params"]["value"]["percentage"] == 0);
    stage.front.on_job_line(1, line);
    Json report = stage.last("$/progress")["params"]["value"];
    return report["message"].get<std::string>() + (report.contains("percentage") ? fmt::format(": {}%", report["percentage"].get<int>()) : "");
  };
  CHECK(message({{"trials", 600}, {"seconds", 9}}, R"({"event":"progress","trial":70,"trials":600,"elapsed":8})") == "trial 70/600, 8 s so far, 1 s left: 88%");
  CHECK(message({{"trials", 100}, {"seconds", 900}}, R"({"event":"progress","trial":80,"trials":100,"elapsed":80})") == "trial 80/100, 1:20 min so far, 14 s to 26 s left: 80%");
  // Either limit may end the search first: the trials or the time.
  CHECK(message({{"trials", 100}, {"seconds", 100}}, R"({"event":"progress","trial":80,"trials":100,"elapsed":80})") == "trial 80/100, 1:20 min so far, 14 s to 20 s left: 80%");
  CHECK(message({{"seconds", 5}}, R"({"event":"progress","trial":3,"elapsed":2})") == "trial 3, 2 s so far, 3 s left: 40%");
  // A limit that the command leaves open comes from the search, or stays unknown.
  CHECK(message(Json::object(), R"({"event":"progress","trial":3,"elapsed":15,"limit":60})") == "trial 3, 15 s so far, 45 s left: 25%");
  CHECK(message(Json::object(), R"({"event":"progress","trial":3,"elapsed":15})") == "trial 3, 15 s so far");
}

TEST_CASE("what was answered to the questions of a search is what it is begun with; answers that are not valid are none") {
  Stage stage;
  stage.initialize({{"experimental", {{"interactiveInputTypes", {"string", "number"}}}}});
  stage.open("a", "x");
  Json tune = {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}, {"trials", 3}}}}};
  Json asked = stage.answer_to(stage.ask("command/resolve", tune))["result"];
  REQUIRE(asked["formFields"].size() == 3);
  CHECK(asked["formFields"][0]["default"] == 3);
  asked.erase("formFields");
  asked["formAnswers"] = {"40", 12.5, "llvm -num-cores=1"};
  Json ready = stage.answer_to(stage.ask("command/resolve", asked))["result"];
  CHECK(ready == asked);
  stage.ask("workspace/executeCommand", ready);
  CHECK(stage.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "f", "--target", "llvm -num-cores=1", "--trials", "40", "--time", "12.5"});
  stage.front.on_job_end(1, ExitStatus{}, "");
  ready["formAnswers"] = {1};
  stage.ask("workspace/executeCommand", ready);
  CHECK(stage.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "f", "--trials", "3"});
}

TEST_CASE("a search is paused and goes on; stopped while it stands still, it keeps its best") {
  Stage stage;
  stage.initialize({{"window", {{"workDoneProgress", true}}}, {"experimental", {{"loopsmithViews", true}}}});
  stage.open("a", "x");
  auto command = [&](const char* name, Json argument) { return stage.ask("workspace/executeCommand", {{"command", name}, {"arguments", Json::array({std::move(argument)})}}); };
  CHECK(stage.answer_to(command("loopsmith.tune.pause", {{"uri", "a"}}))["error"]["message"] == "nothing is being tuned here");
  command("loopsmith.tune", {{"uri", "a"}, {"function", "f"}});
  Json create = stage.last("window/workDoneProgress/create");
  stage.send({{"jsonrpc", "2.0"}, {"id", create["id"]}, {"result", nullptr}});
  // Before the job's first line a signal would end it, so the signal waits.
  CHECK(stage.answer_to(command("loopsmith.tune.pause", {{"uri", "a"}})).contains("result"));
  CHECK(stage.signals.empty());
  CHECK(stage.last("$/progress")["params"]["value"]["message"] == "paused: starting");
  stage.front.on_job_line(1, R"({"event":"progress","trial":3,"best_seconds":0.25,"elapsed":2,"phase":"paused"})");
  CHECK(stage.signals == std::vector<std::pair<JobId, int>>{{1, SIGUSR1}});
  CHECK(stage.last("loopsmith/tuning")["params"]["state"] == "paused");
  std::string sent = stage.worker.back().body;
  std::string why;
  CHECK(parse_json(sent, why).value_or(Json())["params"]["phase"] == "paused");
  CHECK(stage.answer_to(command("loopsmith.tune.pause", {{"job", 1}})).contains("result"));
  CHECK(stage.signals.size() == 1);
  command("loopsmith.tune.resume", {{"job", 1}});
  CHECK(stage.signals.back() == std::pair<JobId, int>{1, SIGUSR2});
  CHECK(stage.answer_to(command("loopsmith.tune.resume", {{"job", 1}}))["error"]["message"] == "no such search is paused");
  command("loopsmith.tune.pause", Json::object());
  CHECK(stage.signals.back() == std::pair<JobId, int>{1, SIGUSR1});
  command("loopsmith.tune.stop", {{"uri", "a"}});
  CHECK(stage.signals.back() == std::pair<JobId, int>{1, SIGINT});
  CHECK(stage.answer_to(command("loopsmith.tune.resume", {{"job", 1}})).contains("error"));
  stage.front.on_job_line(1, R"({"event":"done","schedule_text":"def s(sch): ...","best_seconds":0.25,"verified":"3 inputs"})");
  stage.front.on_job_end(1, ExitStatus{}, "");
  CHECK(stage.last("loopsmith/tuning")["params"]["state"] == "done");
}

TEST_CASE("in a workspace that is not trusted nothing of a file is executed") {
  Stage stage;
  Json params = {{"capabilities", Json::object()}, {"initializationOptions", {{"trusted", false}}}};
  stage.ask("initialize", params);
  stage.notify("initialized", Json::object());
  stage.open("a", "x");
  for (const char* name : {"loopsmith.run", "loopsmith.bench", "loopsmith.verify", "loopsmith.tune", "loopsmith.interpret", "loopsmith.attachRepl"}) {
    Json answer = stage.answer_to(stage.ask("workspace/executeCommand", {{"command", name}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}}));
    INFO(name << ": " << answer.dump());
    CHECK(answer["error"]["message"].get<std::string>().starts_with("this workspace is not trusted"));
  }
  CHECK(stage.job_arguments.empty());
  stage.notify("workspace/didChangeConfiguration", {{"settings", {{"loopsmith", {{"trusted", true}}}}}});
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.bench"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  CHECK(stage.job_arguments[0] == "bench");
}

TEST_CASE("a block is interpreted alone, two schedules are timed in turns") {
  Stage stage;
  stage.initialize({});
  stage.open("a", "x");
  // Settings of other commands do not apply.
  stage.notify("workspace/didChangeConfiguration", {{"settings", {{"tune", {{"target", "llvm"}, {"seconds", 4}}}}}});
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.interpret"}, {"arguments", {{{"uri", "a"}, {"function", "f"}, {"block", "C"}}}}});
  CHECK(stage.job_arguments[0] == "interpret");
  CHECK(std::find(stage.job_arguments.begin(), stage.job_arguments.end(), "--target") == stage.job_arguments.end());
  CHECK(std::find(stage.job_arguments.begin(), stage.job_arguments.end(), "--block") + 1 == std::find(stage.job_arguments.begin(), stage.job_arguments.end(), "C"));
  stage.front.on_job_line(1, R"({"name":"C","dtype":"int32","shape":[8]})");
  stage.front.on_job_end(1, ExitStatus{}, "");
  CHECK(stage.last("window/showMessage")["params"]["message"] == "block C of f interpreted on random inputs: C int32 (8); every access in bounds");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.bench"}, {"arguments", {{{"uri", "a"}, {"function", "f"}, {"schedule", "s"}, {"other", "t"}}}}});
  CHECK(stage.job_arguments == std::vector<std::string>{"bench", "-", "--json", "--with", "s", "--with", "t", "--no-plain", "--function", "f"});
  stage.front.on_job_line(2, R"({"name":"s","seconds":0.002})");
  stage.front.on_job_line(2, R"({"name":"t","seconds":0.001,"difference":"faster"})");
  stage.front.on_job_end(2, ExitStatus{}, "");
  CHECK(stage.last("window/showMessage")["params"]["message"] == "s: 2.000 ms, t: 1.000 ms, measured in turns; t is 2.00 times as fast");
}

TEST_CASE("a search that is interrupted stands still in the next session, and goes on with what is left of its time") {
  DataFolder folder;
  FrontOptions options{.searches = folder.path + "/searches"};
  auto command = [](Stage& stage, const char* name, Json argument) { return stage.ask("workspace/executeCommand", {{"command", name}, {"arguments", Json::array({std::move(argument)})}}); };
  auto job_sent = [](const Stage& stage) {
    Json last;
    for (const Frame& frame : stage.worker) {
      Json message = Json::parse(frame.body, nullptr, false);
      if (message.is_object() && string_in(message, "method") == "loopsmith/job") { last = message["params"]; }
    }
    return last;
  };
  {
    Stage first(options);
    first.initialize({});
    first.open("a", "x");
    CHECK_FALSE(std::filesystem::exists(folder.path + "/searches"));
    command(first, "loopsmith.tune", {{"uri", "a"}, {"function", "f"}, {"seconds", 60.0}, {"trials", 64}});
    first.front.on_job_line(1, R"({"event":"progress","trial":12,"trials":64,"best_seconds":0.25,"elapsed":20})");
    {
      // Another editor at the same time does not continue the search, too.
      Stage beside(options);
      beside.initialize({});
      beside.open("a", "x");
      CHECK(job_sent(beside).is_null());
    }
    // The editor closes. Lines of the ending search change nothing. A server that starts before the search has ended finds it.
    first.ask("shutdown", nullptr);
    {
      Stage again(options);
      again.initialize({});
      again.open("a", "x");
      CHECK(job_sent(again)["phase"] == "kept");
    }
    first.front.on_job_line(1, R"({"event":"done","schedule_text":"def s(sch): ...","best_seconds":0.2,"verified":"3 inputs"})");
    first.front.on_job_end(1, ExitStatus{}, "");
  }
  Stage second(options);
  second.initialize({});
  second.open("b", "x");
  CHECK(job_sent(second).is_null());
  second.open("a", "y");
  Json job = job_sent(second);
  CHECK(job["phase"] == "kept");
  CHECK(progress_text(job_from(job).value()) == "trial 12/64, best 250.0 ms");
  CHECK(second.job_arguments.empty());
  // The search continues on the present text.
  CHECK(second.answer_to(command(second, "loopsmith.tune.resume", {{"uri", "a"}})).contains("result"));
  CHECK(second.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "f", "--trials", "64", "--time", "40"});
  CHECK(second.job_input == "y");
  second.front.on_job_line(1, R"({"event":"progress","trial":0,"trials":64,"elapsed":1})");
  command(second, "loopsmith.tune.pause", {{"uri", "a"}});
  CHECK(progress_text(job_from(job_sent(second)).value()) == "trial 0/64, 1 s so far, 39 s left");
  command(second, "loopsmith.tune.resume", {{"uri", "a"}});
  second.front.on_job_line(1, R"({"event":"done","schedule_text":"def s(sch): ...","best_seconds":0.2,"verified":"3 inputs"})");
  second.front.on_job_end(1, ExitStatus{}, "");
  // A finished or abandoned search is not offered again.
  CHECK(std::filesystem::is_empty(folder.path + "/searches"));
  command(second, "loopsmith.tune", {{"uri", "b"}, {"function", "g"}});
  second.ask("shutdown", nullptr);
  CHECK_FALSE(std::filesystem::is_empty(folder.path + "/searches"));
  // No content of such a file may prevent a document from being opened.
  int number = 0;
  for (const char* text : {R"({"uri":"c","function":"f","measured":-1,"best_seconds":-2,"seconds":-1e300,"percentage":9e99,"trials":-5})", R"({"uri":"c","function":"g","measured":"7"})", R"({"uri":"c"})", "[", "", "\xff\xfe", "null"}) {
    std::ofstream(fmt::format("{}/searches/{:016x}.json", folder.path, ++number)) << text;
  }
  Stage third(options);
  third.initialize({});
  third.open("c", "x");
  CHECK(progress_text(job_from(job_sent(third)).value()) == "nothing was measured yet");
  CHECK(third.answer_to(command(third, "loopsmith.tune.resume", {{"uri", "c"}})).contains("result"));
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

TEST_CASE("a search that is stopped is reported as stopped at once, and offered only once its best was compared") {
  Stage stage;
  stage.initialize({{"window", {{"workDoneProgress", true}}}, {"experimental", {{"loopsmithViews", true}}}});
  stage.open("a", "x");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  Json create = stage.last("window/workDoneProgress/create");
  stage.send({{"jsonrpc", "2.0"}, {"id", create["id"]}, {"result", nullptr}});
  stage.front.on_job_line(1, R"({"event":"progress","trial":3,"best_seconds":0.25,"phase":"measuring"})");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune.stop"}, {"arguments", {{{"job", 1}}}}});
  CHECK(stage.last("$/progress")["params"]["value"]["kind"] == "report");
  CHECK(stage.last("loopsmith/tuning")["params"]["state"] == "running");
  // The search ends; the comparison has begun.
  stage.front.on_job_line(1, R"({"event":"progress","trial":3,"best_seconds":0.25,"phase":"verifying","stopped":true})");
  Json end = stage.last("$/progress")["params"]["value"];
  CHECK(end["kind"] == "end");
  CHECK(end["message"] == "tuning of f is stopped; comparing the best, 250.0 ms, with the program");
  Json view = stage.last("loopsmith/tuning")["params"];
  CHECK(view["state"] == "comparing");
  CHECK(!view.contains("verified"));
  CHECK(!view.contains("schedule_text"));
  std::string why;
  std::string sent = stage.worker.back().body;
  Json job = parse_json(sent, why).value_or(Json())["params"];
  CHECK(job["phase"] == "comparing stopped");
  CHECK(!job.contains("schedule_text"));
  // The comparison may take any time.
  stage.advance(std::chrono::milliseconds(5050));
  stage.front.on_tick();
  CHECK(stage.signals == std::vector<std::pair<JobId, int>>{{1, SIGINT}});

  SECTION("then it is offered") {
    stage.front.on_job_line(1, R"({"event":"done","schedule_text":"def s(sch): ...","best_seconds":0.25,"verified":"3 inputs"})");
    stage.front.on_job_end(1, ExitStatus{}, "");
    CHECK(stage.last("loopsmith/tuning")["params"]["verified"] == "3 inputs");
    // The editor shows the trials, and offers the result itself.
    CHECK(stage.last("loopsmith/tuning")["params"]["best_seconds"] == 0.25);
  }
  SECTION("stopped once more, it is not") {
    stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune.stop"}, {"arguments", {{{"job", 1}}}}});
    CHECK(stage.signals.size() == 2);
    stage.front.on_job_line(1, R"({"event":"error","message":"the best was not compared"})");
    stage.front.on_job_end(1, ExitStatus{.code = 1}, "");
    CHECK(stage.last("loopsmith/tuning")["params"]["state"] == "failed");
    CHECK(stage.last("window/showMessage")["params"]["message"] == "the best of f was not compared with the program and is not offered; its measurements are kept");
    CHECK(stage.last("window/showMessage")["params"]["type"] == 3);
  }
  SECTION("what is wrong is not") {
    stage.front.on_job_line(1, R"({"event":"error","message":"no schedule was found in 3 trials; wrong: 1"})");
    stage.front.on_job_end(1, ExitStatus{.code = 1}, "");
    CHECK(stage.last("window/showMessage")["params"]["message"] == "tuning of f failed: no schedule was found in 3 trials; wrong: 1");
    std::string last = stage.worker.back().body;
    CHECK(parse_json(last, why).value_or(Json())["params"]["phase"] == "gone");
  }
}

TEST_CASE("a REPL is attached to a document: its mirror follows the text, is nobody else's, and goes with it") {
  auto read = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return file ? text.str() : std::string("(none)");
  };
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

TEST_CASE("options set the time of a search if the command does not; foreign settings change nothing") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  stage.notify("workspace/didChangeConfiguration", Json::parse(R"({"settings":{"loopsmith":{"tune":{"seconds":4,"target":"llvm"}}}})"));
  stage.notify("workspace/didChangeConfiguration", Json::parse(R"({"settings":null})"));
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  CHECK(stage.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "f", "--target", "llvm", "--time", "4"});
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "g"}, {"trials", 8}}}}});
  CHECK(stage.job_arguments == std::vector<std::string>{"tune", "-", "--json", "--function", "g", "--target", "llvm", "--trials", "8"});
}

TEST_CASE("an editor with views hears of every trial of a search, and how it ended") {
  Stage stage;
  stage.initialize({{"experimental", {{"loopsmithViews", true}}}});
  stage.open("a", "x");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  // The second line follows too soon to be sent separately.
  stage.front.on_job_line(1, R"({"event":"progress","trial":1,"measured":[0.5],"best_seconds":0.5})");
  Json first = stage.last("loopsmith/tuning")["params"];
  CHECK(first["measured"] == Json({0.5}));
  CHECK(first["state"] == "running");
  stage.front.on_job_line(1, R"({"event":"progress","trial":2,"measured":[0.25],"best_seconds":0.25})");
  stage.front.on_job_line(1, R"({"event":"progress","trial":3,"measured":[0],"best_seconds":0.25})");
  stage.front.on_job_line(1, R"x({"event":"done","schedule_text":"@ls.schedule(f)","best_seconds":0.25,"verified":"interpreter"})x");
  stage.front.on_job_end(1, ExitStatus{}, "");
  Json last = stage.last("loopsmith/tuning")["params"];
  CHECK(last["measured"] == Json({0.25, 0}));
  CHECK(last["trial"] == 3);
  CHECK(last["state"] == "done");
  CHECK(last["schedule_text"] == "@ls.schedule(f)");
}

TEST_CASE("a tuner that does not stop is killed; one that fails is reported with its reason") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune.stop"}, {"arguments", {{{"job", 1}}}}});
  stage.front.on_tick();
  CHECK(stage.signals.size() == 1);
  stage.advance(std::chrono::milliseconds(5050));
  stage.front.on_tick();
  CHECK(stage.signals.back() == std::pair<JobId, int>{1, SIGKILL});
  stage.front.on_job_end(1, ExitStatus{.signal = SIGKILL}, "warning\nno such function `f`\n");
  CHECK(stage.last("window/showMessage")["params"]["message"] == "tuning of f failed: no such function `f`");
}

TEST_CASE("a tuner that has found something is given time to finish") {
  Stage stage;
  stage.initialize();
  stage.open("a", "x");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", "a"}, {"function", "f"}}}}});
  stage.front.on_job_line(1, R"({"event":"progress","trial":3,"best_seconds":0.25})");
  stage.ask("workspace/executeCommand", {{"command", "loopsmith.tune.stop"}, {"arguments", {{{"job", 1}}}}});
  stage.advance(std::chrono::milliseconds(5050));
  stage.front.on_tick();
  CHECK(stage.signals == std::vector<std::pair<JobId, int>>{{1, SIGINT}});
}
