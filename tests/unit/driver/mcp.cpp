// The real `loopsmith mcp`, from an agent's point of view.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "support/process.h"
#include "tests/support/folder.h"
#include "tests/support/paths.h"
#include "tests/support/programs.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using Json = nlohmann::json;

namespace {

constexpr auto patience = std::chrono::seconds(60);
const std::string examples = tests::source_folder() + "/examples/";

class Agent {
 public:
  Agent() {
    // Tuning records its measurements in a database of its own.
    static const tests::TemporaryFolder data;
    auto started = Process::start({.argv = {tests::loopsmith_program(), "mcp"}, .environment = {{"XDG_DATA_HOME", data.path()}}});
    REQUIRE(started.ok());
    process_.emplace(std::move(started).value());
  }
  void send_line(const std::string& line) { REQUIRE(process_->write(line + "\n", in(patience)) == IoStatus::Done); }
  void send(Json message) {
    message["jsonrpc"] = "2.0";
    send_line(message.dump());
  }
  auto next() -> Json {
    ReadResult line = process_->read_line(in(patience));
    REQUIRE(line.status == IoStatus::Done);
    Json message = Json::parse(line.data, nullptr, false);
    REQUIRE(message.is_object());
    REQUIRE(message.value("jsonrpc", "") == "2.0");
    return message;
  }
  auto request(const std::string& method, Json params) -> Json {
    int id = ++id_;
    send({{"id", id}, {"method", method}, {"params", std::move(params)}});
    while (true) {
      Json message = next();
      if (message.contains("method")) {
        notifications.push_back(message);
        continue;
      }
      REQUIRE(message["id"] == id);
      return message;
    }
  }
  auto call(const std::string& tool, Json arguments, Json meta = Json()) -> Json {
    Json params = {{"name", tool}, {"arguments", std::move(arguments)}};
    if (!meta.is_null()) { params["_meta"] = std::move(meta); }
    Json answer = request("tools/call", std::move(params));
    REQUIRE(answer.contains("result"));
    return answer["result"];
  }
  void close_input() { process_->close_input(); }
  auto end() -> int {
    process_->close_input();
    auto status = process_->wait(in(patience));
    return status && status->signal == 0 ? status->code : -1;
  }
  std::vector<Json> notifications;

 private:
  std::optional<Process> process_;
  int id_ = 0;
};

auto text_of(const Json& result) -> std::string { return result["content"][0]["text"].get<std::string>(); }

auto lines_of_check(const std::string& text) -> Json {
  auto result = run_program({.argv = {tests::loopsmith_program(), "check", "--json", "-"}}, text, in(patience));
  REQUIRE(result.ok());
  Json lines = Json::array();
  size_t begin = 0;
  while (begin < result->output.size()) {
    size_t end = result->output.find('\n', begin);
    lines.push_back(Json::parse(result->output.substr(begin, end - begin)));
    begin = end + 1;
  }
  return lines;
}

const std::string racy =
    "@T.prim_func\n"
    "def total(A: T.Buffer((16, 32), \"float32\"), C: T.Buffer((16,), \"float32\")):\n"
    "    for i, k in T.grid(16, 32):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vk = T.axis.remap(\"SR\", [i, k])\n"
    "            with T.init():\n"
    "                C[vi] = T.float32(0)\n"
    "            C[vi] = C[vi] + A[vi, vk]\n"
    "\n\n"
    "@ls.schedule(total)\n"
    "def s(sch: tir.Schedule) -> None:\n"
    "    i, k = sch.get_loops(\"C\")\n"
    "    sch.parallel(k)\n";

}  // namespace

TEST_CASE("an agent is greeted in its revision of the protocol, or the newest") {
  for (const char* wanted : {"2024-11-05", "2025-03-26", "2025-06-18", "1999-01-01"}) {
    Agent agent;
    Json result = agent.request("initialize", {{"protocolVersion", wanted}, {"capabilities", Json::object()}, {"clientInfo", {{"name", "test"}, {"version", "1"}}}})["result"];
    CHECK(result["protocolVersion"] == (std::string(wanted) == "1999-01-01" ? "2025-06-18" : wanted));
    CHECK(result["capabilities"].contains("tools"));
    CHECK(result["serverInfo"]["name"] == "loopsmith");
    agent.send({{"method", "notifications/initialized"}});
    CHECK(agent.request("ping", Json::object())["result"] == Json::object());
    CHECK(agent.end() == 0);
  }
}

TEST_CASE("the tools, each with a schema of its arguments") {
  Agent agent;
  Json tools = agent.request("tools/list", Json::object())["result"]["tools"];
  std::vector<std::string> names;
  for (const Json& tool : tools) {
    names.push_back(tool["name"]);
    CHECK(tool["inputSchema"]["type"] == "object");
    CHECK(tool["inputSchema"]["additionalProperties"] == false);
    CHECK(tool["description"].get<std::string>().size() > 40);
    CHECK(tool["annotations"]["destructiveHint"] == false);
  }
  CHECK(names == std::vector<std::string>{"check", "schedule", "hint", "bench", "tune", "measure"});
}

TEST_CASE("`check` returns the findings of the command, for a path or a text") {
  Agent agent;
  Json result = agent.call("check", {{"text", racy}});
  CHECK(result["isError"] == false);
  CHECK(result["structuredContent"]["errors"] == 1);
  CHECK(result["structuredContent"]["diagnostics"] == lines_of_check(racy));
  CHECK(text_of(result).find("[loop-carried]") != std::string::npos);
  CHECK(text_of(result).find("help: `sch.parallel(i)` works") != std::string::npos);
  CHECK(text_of(agent.call("check", {{"path", examples + "matmul.tir"}})) == "nothing is wrong\n");
  CHECK(agent.call("check", {{"path", "/nowhere/a.tir"}})["isError"] == false);
  CHECK(text_of(agent.call("check", {{"path", "/nowhere/a.tir"}})).find("/nowhere/a.tir") != std::string::npos);
}

TEST_CASE("schedule shows the changes of steps; a refused step gives the reason and steps that work") {
  Agent agent;
  Json done = agent.call("schedule", {{"text", racy}, {"steps", {"i, k = sch.get_loops(\"C\")", "k0, k1 = sch.split(k, factors=[None, 8])"}}});
  CHECK(done["isError"] == false);
  CHECK(text_of(done).find("=> k0:4 k1:8") != std::string::npos);
  CHECK(text_of(done).find("def main(") != std::string::npos);
  Json refused = agent.call("schedule", {{"text", racy}, {"steps", {"i, k = sch.get_loops(\"C\")", "sch.parallel(k)"}}, {"print", false}});
  CHECK(refused["isError"] == true);
  CHECK(text_of(refused).find("`C` at k=0 and at k=1 both update `C[0]`") != std::string::npos);
  CHECK(text_of(refused).find("1) sch.parallel(i)") != std::string::npos);
  CHECK(text_of(refused).find("type 1") == std::string::npos);
  // Steps are statements; commands of the REPL are refused, so no file is written this way.
  CHECK(agent.call("schedule", {{"text", racy}, {"steps", {":save /tmp/x.tir"}}})["isError"] == true);
  CHECK(agent.call("schedule", {{"text", racy}, {"steps", {"?split"}}})["isError"] == true);
  // `schedule` accepts the step that a hint shows.
  Json hint = agent.call("hint", {{"text", racy}, {"about", {"split", "i"}}});
  std::string text = text_of(hint);
  size_t at = text.find("1) ");
  REQUIRE(at != std::string::npos);
  std::string move = text.substr(at + 3, text.find('\n', at) - at - 3);
  CHECK(agent.call("schedule", {{"text", racy}, {"steps", {move}}})["isError"] == false);
}

TEST_CASE("bench measures; tune reports its progress, and answers with a schedule that applies") {
  Agent agent;
  Json bench = agent.call("bench", {{"path", examples + "softmax.tir"}, {"with", {"softmax_rows"}}});
  REQUIRE(bench["isError"] == false);
  REQUIRE(bench["structuredContent"]["rows"].size() == 2);
  CHECK(bench["structuredContent"]["rows"][1]["seconds"].get<double>() > 0);
  std::ostringstream softmax;
  softmax << std::ifstream(examples + "softmax.tir").rdbuf();
  Json tuned = agent.call("tune", {{"text", softmax.str()}, {"function", "softmax"}, {"trials", 2}}, {{"progressToken", "t1"}});
  REQUIRE(tuned["isError"] == false);
  CHECK_FALSE(agent.notifications.empty());
  for (const Json& one : agent.notifications) {
    CHECK(one["method"] == "notifications/progress");
    CHECK(one["params"]["progressToken"] == "t1");
  }
  std::string schedule = tuned["structuredContent"]["schedule_text"];
  Json check = agent.call("check", {{"text", softmax.str() + "\n\n" + schedule}});
  CHECK(check["structuredContent"]["errors"] == 0);
  // The space, and a schedule as the space, go to the search.
  Json plain = agent.call("tune", {{"text", softmax.str()}, {"function", "softmax"}, {"with", "softmax_rows"}, {"trials", 1}});
  CHECK(plain["isError"] == true);
  CHECK(plain["content"][0]["text"].get<std::string>().find("`softmax_rows` has no `sch.tune()` to fill, and samples nothing") != std::string::npos);
  Json unknown = agent.call("tune", {{"text", softmax.str()}, {"function", "softmax"}, {"space", "all"}, {"trials", 1}});
  CHECK(unknown["content"][0]["text"].get<std::string>().find("`--space` is own, metaschedule, ansor") != std::string::npos);
}

TEST_CASE("measure answers for each proposed schedule: a time, or the reason why it has none") {
  Agent agent;
  const std::string program = tests::product("product", 64, 64, 64);
  const Json schedules = Json::array({"i, j, k = sch.get_loops(\"C\")\nsch.reorder(i, k, j)\nsch.vectorize(j)", "sch.parallel(sch.get_loops(\"C\")[2])", "--insert", "[[\"GetBlock\""});
  Json result = agent.call("measure", {{"text", program}, {"schedules", schedules}});
  CHECK(!result["isError"].get<bool>());
  Json rows = result["structuredContent"]["schedules"];
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["outcome"] == "measured");
  CHECK(rows[0]["seconds"].get<double>() > 0);
  CHECK(rows[1]["outcome"] == "not legal: loop-carried");
  // A text that looks like an option is a line of script.
  CHECK(rows[2]["outcome"].get<std::string>().starts_with("not legal"));
  CHECK(rows[3]["outcome"] == "not legal: trace-format");
  CHECK(result["structuredContent"]["schedule_text"].get<std::string>().find("sch.vectorize") != std::string::npos);
  // Without a fastest one the reasons are the answer.
  Json none = agent.call("measure", {{"text", program}, {"schedules", {schedules[1]}}});
  CHECK(!none["isError"].get<bool>());
  CHECK(none["structuredContent"]["schedules"][0]["outcome"] == "not legal: loop-carried");
  CHECK(agent.call("measure", {{"text", program}, {"schedules", Json::array()}})["isError"].get<bool>());
}

// A client may pass on text from strangers, so no argument is interpreted as a command of the REPL: one of those starts a shell.
TEST_CASE("no argument runs a command") {
  const tests::TemporaryFolder folder;
  const std::string mark = folder / "mark";
  Agent agent;
  for (const std::string& command : {";touch ", ":shell touch ", "]db list; touch "}) {
    const std::string typed = command + mark;
    for (const std::string& form : {typed, "\r" + typed, "sch> " + typed, "sch> " + typed + "\nout", "i = 1\nsch> " + typed + "\nout", "[1: 7 trials] sch> " + typed + "\nout", "if 1:\n  i = 1\n\n" + typed}) {
      CAPTURE(form);
      for (const char* tool : {"schedule", "hint"}) {
        CHECK(agent.call(tool, {{"text", racy}, {"steps", {form}}})["isError"] == true);
        CHECK(agent.call(tool, {{"text", racy}, {"function", "total\n" + form}})["isError"] == true);
        CHECK(agent.call(tool, {{"text", racy}, {"with", "s\n" + form}})["isError"] == true);
      }
      CHECK(agent.call("hint", {{"text", racy}, {"about", {"C\n" + form}}})["isError"] == true);
    }
  }
  CHECK_FALSE(std::filesystem::exists(mark));
  CHECK(agent.end() == 0);
}

TEST_CASE("a cancelled search ends, unanswered; the next call is served") {
  Agent agent;
  agent.send({{"id", "long"}, {"method", "tools/call"}, {"params", {{"name", "tune"}, {"arguments", {{"path", examples + "matmul.tir"}, {"seconds", 300}}}}}});
  agent.send({{"method", "notifications/cancelled"}, {"params", {{"requestId", "long"}, {"reason", "test"}}}});
  Json bench = agent.call("bench", {{"text", racy.substr(0, racy.find("@ls.schedule"))}});
  CHECK(bench["isError"] == false);
  CHECK(agent.end() == 0);
}

TEST_CASE("wrong requests get an answer, and none of them ends the server") {
  Agent agent;
  auto code_of = [&](const std::string& line) {
    agent.send_line(line);
    Json answer = agent.next();
    return answer.contains("error") ? answer["error"]["code"].get<int>() : 0;
  };
  CHECK(code_of("no json") == -32700);
  CHECK(code_of("[1]") == -32600);
  CHECK(code_of(R"({"jsonrpc":"2.0","id":1})") == -32600);
  CHECK(code_of(R"({"jsonrpc":"2.0","id":{},"method":"ping"})") == -32600);
  CHECK(code_of(R"({"jsonrpc":"2.0","id":1,"method":"resources/list"})") == -32601);
  CHECK(code_of(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}})") == -32602);
  CHECK(code_of(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check","arguments":[]}})") == -32602);
  CHECK(code_of(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":7})") == -32602);
  CHECK(code_of(std::string(100000, '[')) == -32700);
  for (Json arguments : {Json::object(), Json{{"path", "a"}, {"text", "b"}}, Json{{"path", 7}}, Json{{"text", racy}, {"insert", true}}, Json{{"path", ""}}}) {
    CHECK(agent.call("check", arguments)["isError"] == true);
  }
  // A path that looks like an option is treated as a path.
  CHECK(text_of(agent.call("check", {{"path", "--help"}})).find("./--help") != std::string::npos);
  CHECK(agent.call("check", {{"text", std::string(2000, '(')}})["isError"] == false);
  CHECK(agent.end() == 0);
}

TEST_CASE("paths stay below the roots of the client") {
  const tests::TemporaryFolder outer;
  std::filesystem::create_directories(outer / "my kernels");
  std::ofstream(outer / "my kernels/a.tir") << racy;
  std::ofstream(outer / "secret.tir") << racy;
  std::filesystem::create_symlink(outer / "secret.tir", outer / "my kernels/link.tir");
  Agent agent;
  (void)agent.request("initialize", {{"protocolVersion", "2025-06-18"}, {"capabilities", {{"roots", {{"listChanged", true}}}}}, {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
  auto answer_roots = [&](const Json& roots) {
    Json asked = agent.next();
    REQUIRE(asked["method"] == "roots/list");
    agent.send({{"id", asked["id"]}, {"result", {{"roots", roots}}}});
  };
  agent.send({{"method", "notifications/initialized"}});
  answer_roots({{{"uri", "file://" + outer.path() + "/my%20kernels"}, {"name", "kernels"}}});
  auto errors = [&](const std::string& path) {
    Json result = agent.call("check", {{"path", path}});
    return result["isError"] == true ? text_of(result) : result["structuredContent"]["errors"].dump();
  };
  CHECK(errors(outer.path() + "/my kernels/a.tir") == "1");
  for (const char* outside : {"/secret.tir", "/my kernels/../secret.tir", "/my kernels/link.tir", "/my kernels/none.tir"}) {
    CAPTURE(outside);
    CHECK(errors(outer.path() + outside).find("below the roots") != std::string::npos);
  }
  CHECK(agent.call("check", {{"text", racy}})["structuredContent"]["errors"] == 1);
  agent.send({{"method", "notifications/roots/list_changed"}});
  answer_roots({{{"uri", "file://" + outer.path()}}});
  CHECK(errors(outer.path() + "/secret.tir") == "1");
  CHECK(agent.end() == 0);
}

TEST_CASE("a pipe does not hold the other calls") {
  const tests::TemporaryFolder folder;
  std::string pipe = folder / "pipe.tir";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  Agent agent;
  for (const char* tool : {"check", "schedule", "bench", "tune"}) {
    Json result = agent.call(tool, {{"path", pipe}});
    CHECK(result["isError"] == true);
    CHECK(text_of(result).find("neither a file nor a folder") != std::string::npos);
  }
  CHECK(agent.end() == 0);
}

TEST_CASE("at the end of the input searches that wait answer, too") {
  Agent agent;
  for (const char* id : {"first", "second"}) {
    agent.send({{"id", id}, {"method", "tools/call"}, {"params", {{"name", "tune"}, {"arguments", {{"path", examples + "softmax.tir"}, {"function", "softmax"}, {"seconds", 300}}}}}});
  }
  agent.close_input();
  std::vector<std::string> answered;
  for (int i = 0; i < 2; ++i) {
    Json answer = agent.next();
    answered.push_back(answer["id"]);
    CAPTURE(answer.dump());
    std::string text = text_of(answer["result"]);
    // The search ends with its best schedule, or with the reason why it has none; never because a signal ended it.
    CHECK(text.find("signal") == std::string::npos);
    CHECK_FALSE(text.empty());
  }
  CHECK(answered == std::vector<std::string>{"first", "second"});
  CHECK(agent.end() == 0);
}
