// The real server, front and worker as processes: the worker is killed, crashes, hangs or overflows its
// stack while requests are pending; and the time until the server is idle again.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "lsp/features/tuning.h"
#include "target/hardware.h"
#include "target/peaks.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"
#include "tests/support/effort.h"
#include "tests/unit/lsp/session.h"
#include "workspace/snapshot.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace std::chrono_literals;

namespace {

const std::string server = tests::loopsmith_program();

auto start(std::vector<std::string> options = {}) -> Session {
  std::vector<std::string> argv = {server, "lsp"};
  argv.insert(argv.end(), options.begin(), options.end());
  return Session(argv, {{"LOOPSMITH_TEST_FAULT", "1"}, {"LOOPSMITH_TEST_PATIENCE", "1"}});
}

/// The worker of a server: its only child.
auto worker_of(Session& session) -> int {
  std::string pid = std::to_string(session.process().pid());
  std::ifstream file("/proc/" + pid + "/task/" + pid + "/children");
  // The starter thread is the parent of all children, so the lists of all threads are read.
  auto found = run_program({.argv = {"sh", "-c", "cat /proc/" + pid + "/task/*/children"}}, "", in(5s));
  int worker = 0;
  std::istringstream(found.ok() ? found->output : "") >> worker;
  return worker;
}

auto file(const std::string& path) -> std::string {
  std::ifstream in(tests::source_folder() + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

auto is_error(const Json& answer, int code) -> bool { return answer.contains("error") && answer["error"]["code"] == code; }
constexpr int internal_error = -32603;

const char* const fine = "x = 1\n";
const char* const broken = "def f(:\n    pass\n";

}  // namespace

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

namespace {

/// The standard output of a command.
auto output_of(const std::string& command) -> std::string {
  std::string out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char bytes[4096];
  for (size_t size = 0; (size = std::fread(bytes, 1, sizeof bytes, pipe)) > 0;) { out.append(bytes, size); }
  (void)::pclose(pipe);
  return out;
}

}  // namespace

TEST_CASE("the editor, the command line and the REPL report the same for a file, and show the same program after its schedules") {
  std::vector<std::string> files;
  for (const char* folder : {"/examples", "/tests/golden/lsp", "/tests/golden/analysis", "/tests/golden/frontend"}) {
    for (const auto& entry : std::filesystem::directory_iterator(tests::source_folder() + folder)) {
      if (entry.path().extension() == ".tir" || (entry.path().extension() == ".py" && folder != std::string("/examples"))) { files.push_back(entry.path()); }
    }
  }
  std::sort(files.begin(), files.end());
  Session session = start();
  session.initialize({{"workspace", {{"textDocumentContent", Json::object()}}}});
  size_t told = 0;
  size_t shown = 0;
  for (const std::string& file : files) {
    CAPTURE(file);
    std::ifstream in(file, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    std::string text = all.str();
    // Both count columns the same way only in ASCII.
    bool is_plain = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
    std::string uri = "file://" + file;
    session.open(uri, text);
    (void)session.wait_for(uri, 1);
    std::vector<std::string> editor;
    std::vector<std::string> command;
    for (const Json& one : session.diagnostics(uri)) {
      auto message = one["message"].get<std::string>();
      // Hints exist only in the editor.
      if (one["severity"].get<int>() > 2) { continue; }
      const Json& begin = one["range"]["start"];
      editor.push_back(std::to_string(begin["line"].get<int>() + 1) + ":" + std::to_string(is_plain ? begin["character"].get<int>() + 1 : 0) + " " + one["code"].get<std::string>() + " " +
                       message.substr(0, message.find("\nhelp: ")));
    }
    std::istringstream lines(output_of(tests::loopsmith_program() + " check --json '" + file + "'"));
    for (std::string line; std::getline(lines, line);) {
      Json one = Json::parse(line, nullptr, false);
      if (!one.is_object() || !one.contains("code") || (one["severity"] != "error" && one["severity"] != "warning")) { continue; }
      command.push_back(std::to_string(one["line"].get<int>()) + ":" + std::to_string(is_plain ? one["column"].get<int>() : 0) + " " + one["code"].get<std::string>() + " " + one["message"].get<std::string>());
    }
    std::sort(editor.begin(), editor.end());
    std::sort(command.begin(), command.end());
    CHECK(editor == command);
    told += editor.size();
    auto document = workspace::analyse(uri, text);
    for (const script::FileSchedule& schedule : document->snapshot()->schedules()) {
      if (schedule.run == nullptr || !schedule.run->is_complete || schedule.program_name.empty()) { continue; }
      std::string name = schedule.name.str();
      CAPTURE(name);
      std::string by_command = output_of(tests::loopsmith_program() + " schedule '" + file + "' --with " + name + " 2>/dev/null");
      std::string by_repl = output_of("printf ':load " + file + "\\n:with " + name + "\\n:print\\n' | " + tests::loopsmith_program() + " repl 2>/dev/null");
      Json view = session.call("workspace/textDocumentContent", {{"uri", "loopsmith-ir:" + file + "#" + name}})["result"]["text"];
      REQUIRE(view.is_string());
      std::string by_editor = view.get<std::string>();
      while (by_command.ends_with('\n')) { by_command.pop_back(); }
      while (by_repl.ends_with('\n')) { by_repl.pop_back(); }
      CHECK(by_editor == by_command);
      CHECK(by_repl.ends_with(by_command));
      ++shown;
    }
  }
  CHECK(told > 20);
  CHECK(shown > 5);
  CHECK(session.goodbye() == 0);
}

TEST_CASE("logs and traces hold nothing of a text, of one that crashes neither") {
  Session session = start();
  session.initialize();
  session.notify("$/setTrace", {{"value", "verbose"}});
  session.open("file:///a.tir", "planted = 1\n");
  session.replace("file:///a.tir", "planted = (1\n", 2);
  (void)session.wait_for("file:///a.tir", 2);
  session.open("file:///b.tir", "planted = 2  # FAULT:segfault\n");
  (void)session.wait_for("file:///b.tir", 1);
  (void)session.call("textDocument/hover", {{"textDocument", {{"uri", "file:///a.tir"}}}, {"position", {{"line", 0}, {"character", 2}}}});
  size_t logged = 0;
  for (const Json& message : session.received) {
    std::string method = message.value("method", "");
    if (method != "window/logMessage" && method != "$/logTrace") { continue; }
    ++logged;
    CHECK(message.dump().find("planted") == std::string::npos);
  }
  CHECK(logged > 1);
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a report of a fault shows it with fewer declarations and steps, and holds no name, comment or text of the file") {
  const std::string program = "@T.prim_func\ndef planted_mm(planted_A: T.Buffer((32, 24), \"float32\"), planted_C: T.Buffer((32,), \"float32\")):\n    # planted: of the customer\n"
                              "    T.func_attr({\"planted_key\": \"planted value\"})\n    for planted_i, k in T.grid(32, 24):\n        with T.block(\"planted_block\"):\n            vi, planted_k = T.axis.remap(\"SR\", [planted_i, k])\n"
                              "            with T.init():\n                planted_C[vi] = T.float32(0)\n            planted_C[vi] = planted_C[vi] + planted_A[vi, planted_k]\n\n\n";
  const std::string rest = "PLANTED_SIZE = 4\n\n\ndef planted_helper(s, loop, planted_factor=4):\n    return s.split(loop, factors=[None, planted_factor])\n\n\n"
                           "@ls.schedule(planted_mm)\ndef planted_schedule(sch: tir.Schedule) -> None:\n    b = sch.get_block(\"planted_block\")\n    i, planted_loop = sch.get_loops(b)\n    planted_helper(sch, i, planted_factor=PLANTED_SIZE)\n"
                           "    sch.annotate(b, \"planted_note\", f\"planted {PLANTED_SIZE}\")\n    sch.parallel(planted_loop)\n";
  const std::string python = "\"\"\"planted module\"\"\"\nfrom planted_company import planted_thing\nfrom tvm.script import tir as T\n\nclass PlantedConfig:\n    planted_field: int = 3\n\n\n";
  DataFolder state;
  Session session({server, "lsp"}, {{"XDG_STATE_HOME", state.path}});
  session.initialize({{"textDocument", Json::object()}});
  auto contents = [](const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  };
  for (const auto& [uri, text, file] : {std::tuple{"file:///planted/a.tir", program + rest, "case.tir"}, std::tuple{"file:///planted/b.py", python + program + rest, "case.py"}}) {
    session.open(uri, text);
    (void)session.wait_for(uri, 1);
    Json answer = session.call("workspace/executeCommand", {{"command", "loopsmith.report.bundle"}, {"arguments", {{{"uri", uri}, {"position", {{"line", 0}, {"character", 0}}}}}}});
    INFO(answer.dump());
    std::string path = answer["result"]["path"];
    CHECK(path.starts_with(state.path + "/loopsmith/reports/"));
    CHECK(answer["result"]["codes"] == Json::array({"error[loop-carried]"}));
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      std::string held = contents(entry.path());
      INFO(entry.path() << "\n" << held);
      for (const char* secret : {"planted", "Planted", "PLANTED", "customer"}) { CHECK(held.find(secret) == std::string::npos); }
      ++files;
    }
    CHECK(files == 4);
    CHECK(contents(path + "/session.jsonl").find("\"answered\":\"loopsmith/waitForState\"") != std::string::npos);
    // The program in the report shows the fault, without unneeded parts.
    std::string shown = contents(path + "/" + file);
    CHECK(output_of(server + " check --json " + path + "/" + file).find("\"code\":\"loop-carried\"") != std::string::npos);
    CHECK(shown.find("split") == std::string::npos);
    CHECK(shown.find("annotate") == std::string::npos);
    struct stat facts {};
    CHECK((::stat(path.c_str(), &facts) == 0 && (facts.st_mode & 0077) == 0));
    // The command line makes the same report, but without a session.
    std::string whole = state.path + "/planted" + file;
    std::ofstream(whole) << text;
    Json told = Json::parse(output_of("XDG_STATE_HOME=" + state.path + " " + server + " report --fault --json " + whole));
    CHECK(told["codes"] == answer["result"]["codes"]);
    std::string folder = told["path"];
    CHECK(contents(folder + "/" + file) == shown);
    CHECK_FALSE(std::filesystem::exists(folder + "/session.jsonl"));
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      INFO(entry.path());
      for (const char* secret : {"planted", "Planted", "PLANTED", "customer"}) { CHECK(contents(entry.path()).find(secret) == std::string::npos); }
    }
  }
  // An undefined name is replaced, too, and stays undefined.
  const std::string undefined = state.path + "/undefined.tir";
  std::ofstream(undefined) << program.substr(0, program.find("            with T.init()")) << "            planted_C[vi] = planted_A[vi, planted_nowhere]\n";
  Json told = Json::parse(output_of("XDG_STATE_HOME=" + state.path + " " + server + " report --fault --json " + undefined));
  CHECK(told["codes"] == Json::array({"error[undefined-name]"}));
  std::string undefined_case = contents(told["path"].get<std::string>() + "/case.tir");
  CHECK(undefined_case.find("def program1(") != std::string::npos);
  CHECK(undefined_case.find("planted") == std::string::npos);
  // Imported declarations of other files are included.
  std::ofstream(state.path + "/planted_kernels.tir") << program << rest.substr(0, rest.find("@ls.schedule"));
  const std::string importing = "from planted_kernels import planted_mm, planted_helper as planted_split\n\n\n@ls.schedule(planted_mm)\ndef planted_schedule(sch: tir.Schedule) -> None:\n    b = sch.get_block(\"planted_block\")\n"
                                "    i, planted_loop = sch.get_loops(b)\n    i, planted_inner = planted_split(sch, i)\n    sch.parallel(planted_loop)\n";
  const std::string use = state.path + "/planted_use.tir";
  std::ofstream(use) << importing;
  session.open("file://" + use, importing);
  (void)session.wait_for("file://" + use, 1);
  Json across = session.call("workspace/executeCommand", {{"command", "loopsmith.report.bundle"}, {"arguments", {{{"uri", "file://" + use}, {"position", {{"line", 0}, {"character", 0}}}}}}});
  told = Json::parse(output_of("XDG_STATE_HOME=" + state.path + " " + server + " report --fault --json " + use));
  for (const Json& one : {across["result"], told}) {
    INFO(one.dump());
    CHECK(one["codes"] == Json::array({"error[loop-carried]"}));
    std::string case_file = one["path"].get<std::string>() + "/case.tir";
    CHECK(contents(case_file).find("planted") == std::string::npos);
    CHECK(contents(case_file).find("import") == std::string::npos);
    CHECK(output_of(server + " check --json " + case_file).find("\"code\":\"loop-carried\"") != std::string::npos);
  }
  // A name that cannot be distinguished from a word of the language: the report has no text then.
  const std::string odd = "class planted:\n    width = 3\n\n\n" + program.substr(0, program.find("    T.func_attr")) + "    for i in range(planted.width + 40):\n        planted_C[i] = planted_A[i, 0]\n";
  session.open("file:///c.tir", odd);
  (void)session.wait_for("file:///c.tir", 1);
  Json answer = session.call("workspace/executeCommand", {{"command", "loopsmith.report.bundle"}, {"arguments", {{{"uri", "file:///c.tir"}, {"position", {{"line", 0}, {"character", 0}}}}}}});
  std::string path = answer["result"]["path"];
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    CHECK(contents(entry.path()).find("planted") == std::string::npos);
    CHECK(contents(entry.path()).find("width") == std::string::npos);
  }
  CHECK(session.goodbye() == 0);
}

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

TEST_CASE("a background job with a tuner that is played: progress, stop, result, one annotated edit") {
  std::string tuner = "/tmp/loopsmith-tuner-" + std::to_string(::getpid());
  {
    std::ofstream script(tuner);
    script << "#!/bin/sh\ncat > /dev/null\n"
              "done_now() { printf '%s\\n' '{\"event\":\"done\",\"best_seconds\":0.001,\"schedule_text\":\"def f_tuned(sch: T.Schedule):\\n    pass\\n\",\"verified\":\"3 inputs\"}'; exit 0; }\n"
              "trap done_now INT\n"
              "i=0; while :; do i=$((i+1)); echo '{\"event\":\"progress\",\"trial\":'$i',\"trials\":1000,\"elapsed\":'$i'}'; sleep 0.05; done\n";
  }
  ::chmod(tuner.c_str(), 0755);
  Session session = start({"--tuner", tuner});
  session.initialize({{"window", {{"workDoneProgress", true}}},
                      {"workspace", {{"workspaceEdit", {{"documentChanges", true}, {"changeAnnotationSupport", Json::object()}}}}}});
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(a: T.handle):\n    pass\n\nx = 1\n");
  Json at = {{"start", {{"line", 1}, {"character", 5}}}, {"end", {{"line", 1}, {"character", 5}}}};
  Json actions = session.call("textDocument/codeAction", {{"textDocument", {{"uri", uri}}}, {"range", at}, {"context", {{"diagnostics", Json::array()}}}});
  REQUIRE(actions["result"].size() == 2);
  CHECK(actions["result"][0]["title"] == "Tune f in the background");
  int run = session.request("workspace/executeCommand", {{"command", actions["result"][0]["command"]["command"]},
                                                         {"arguments", actions["result"][0]["command"]["arguments"]}});
  Json create = session.until([](const Json& message) { return message.value("method", "") == "window/workDoneProgress/create"; });
  CHECK(session.answer(run)["result"]["job"] == 1);
  session.send({{"id", create["id"]}, {"result", nullptr}});
  auto progress = [&](const char* kind) {
    return session.until([&](const Json& message) { return message.value("method", "") == "$/progress" && message["params"]["value"]["kind"] == kind; });
  };
  CHECK(progress("begin")["params"]["value"]["cancellable"] == true);
  CHECK_FALSE(progress("report").is_null());
  auto work = [&](const char* query) { return session.call("workspace/symbol", {{"query", query}})["result"]; };
  // The search is a symbol of the workspace, at its program. The worker gets the progress twice a second.
  Json running = work("tuning f");
  REQUIRE(running.size() == 1);
  CHECK(running[0]["name"].get<std::string>().starts_with("tuning f: "));
  CHECK(running[0]["containerName"] == "f");
  CHECK(running[0]["location"]["range"]["start"] == Json({{"line", 1}, {"character", 4}}));
  // The job continues when the worker dies.
  ::kill(worker_of(session), SIGKILL);
  CHECK_FALSE(progress("report").is_null());
  session.notify("window/workDoneProgress/cancel", {{"token", create["params"]["token"]}});
  CHECK(progress("end")["params"]["value"]["message"] == "f: 1.000 ms (3 inputs)");
  Json tuned = work("tuned");
  REQUIRE(tuned.size() == 1);
  CHECK(tuned[0]["name"] == "tuned f: 1.000 ms");

  // After an edit the place is found again.
  session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", 2}}},
                                            {"contentChanges", {{{"range", {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 0}, {"character", 0}}}}}, {"text", "# above\n"}}}}});
  at["start"]["line"] = at["end"]["line"] = 2;
  actions = session.call("textDocument/codeAction", {{"textDocument", {{"uri", uri}}}, {"range", at}, {"context", {{"diagnostics", Json::array()}}}});
  REQUIRE(actions["result"].size() == 3);
  CHECK(actions["result"][0]["title"] == "Insert best schedule");
  int insert = session.request("workspace/executeCommand", {{"command", "loopsmith.insertSchedule"}, {"arguments", {{{"job", 1}}}}});
  Json apply = session.until([](const Json& message) { return message.value("method", "") == "workspace/applyEdit"; });
  Json change = apply["params"]["edit"]["documentChanges"][0];
  CHECK(change["textDocument"]["version"] == 2);
  CHECK(change["edits"].size() == 1);
  CHECK(change["edits"][0]["range"]["start"]["line"] == 3);
  CHECK(change["edits"][0]["newText"] == "\n\n\ndef f_tuned(sch: T.Schedule):\n    pass");
  CHECK(apply["params"]["edit"]["changeAnnotations"].contains("schedule"));
  session.send({{"id", apply["id"]}, {"result", {{"applied", true}}}});
  CHECK(session.answer(insert).contains("result"));
  CHECK(session.goodbye() == 0);
  ::unlink(tuner.c_str());
}

TEST_CASE("a job and what it has started stand still while a key is answered, and go on") {
  std::string tuner = "/tmp/loopsmith-stopped-" + std::to_string(::getpid());
  {
    // A program in the job's process group reports that it was continued; the job would never end by itself.
    std::ofstream script(tuner);
    script << "#!/bin/bash\ncat > /dev/null\n"
              "( trap 'kill -INT $$; exit' CONT; while :; do sleep 0.05; done ) &\n"
              "trap 'echo \"{\\\"event\\\":\\\"done\\\",\\\"best_seconds\\\":0.001,\\\"schedule_text\\\":\\\"\\\"}\"; exit 0' INT\n"
              "echo '{\"event\":\"progress\",\"trial\":1,\"trials\":1000,\"elapsed\":1}'\n"
              "while :; do sleep 0.05; done\n";
  }
  ::chmod(tuner.c_str(), 0755);
  Session session = start({"--tuner", tuner});
  session.initialize({{"window", {{"workDoneProgress", true}}}});
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(a: T.handle):\n    pass\n\nx = 1\n");
  int run = session.request("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", uri}, {"function", "f"}}}}});
  Json create = session.until([](const Json& message) { return message.value("method", "") == "window/workDoneProgress/create"; });
  CHECK(session.answer(run)["result"]["job"] == 1);
  session.send({{"id", create["id"]}, {"result", nullptr}});
  auto progress = [&](const char* kind, Deadline deadline) {
    return session.until([&](const Json& message) { return message.value("method", "") == "$/progress" && message["params"]["value"]["kind"] == kind; }, deadline);
  };
  CHECK_FALSE(progress("report", in(Session::patience)).is_null());
  bool ended = false;
  for (int version = 2; version < 600 && !ended; ++version) {
    session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}},
                                              {"contentChanges", {{{"range", {{"start", {{"line", 4}, {"character", 4}}}, {"end", {{"line", 4}, {"character", 5}}}}}, {"text", "2"}}}}});
    ended = !progress("end", in(std::chrono::milliseconds(50))).is_null();
  }
  CHECK(ended);
  CHECK(session.goodbye() == 0);
  ::unlink(tuner.c_str());
}

TEST_CASE("a measurement with a program that is played: lenses show it, and when the text is another one by now") {
  std::string bench = "/tmp/loopsmith-bench-" + std::to_string(::getpid());
  {
    std::ofstream script(bench);
    script << "#!/bin/sh\ncat > /dev/null\n"
              "echo '{\"name\":\"plain\",\"seconds\":0.004,\"gflops\":1.0}'\n"
              "if [ \"$4\" = --with ]; then echo '{\"name\":\"'$5'\",\"seconds\":0.001,\"gflops\":4.0,\"roofline\":0.5}'; fi\n";
  }
  ::chmod(bench.c_str(), 0755);
  Session session = start({"--tuner", bench});
  session.initialize();
  const std::string uri = "file:///a.tir";
  const std::string text =
      "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"A\"):\n            vi = T.axis.spatial(16, i)\n            B[vi] = A[vi] + T.float32(1)\n\n\n"
      "@ls.schedule(f)\ndef s(sch: tir.Schedule) -> None:\n    (i,) = sch.get_loops(\"A\")\n    sch.parallel(i)\n";
  session.open(uri, text);
  (void)session.wait_for(uri, 1);
  auto titles = [&] {
    Json lenses = session.call("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}})["result"];
    std::vector<std::string> out;
    for (const Json& lens : lenses) { out.push_back(lens["command"]["title"]); }
    return out;
  };
  auto has = [&](const std::string& title) {
    auto all = titles();
    return std::find(all.begin(), all.end(), title) != all.end();
  };
  CHECK(titles() == std::vector<std::string>{"tune", "bench", "run", "2 steps ok", "bench", "verify", "run", "apply"});
  Json argument = {{"uri", uri}, {"function", "f"}, {"schedule", "s"}};
  CHECK(session.call("workspace/executeCommand", {{"command", "loopsmith.bench"}, {"arguments", {argument}}})["result"]["job"] == 1);
  Json said = session.until([](const Json& message) { return message.value("method", "") == "window/showMessage"; });
  CHECK(said["params"]["message"] == "s: 1.000 ms, 4 GFLOP/s, 50.0% of the roofline, 4.00 times as fast as written");
  CHECK(has("1.000 ms, 4.00x: bench again"));
  // An edit outside the schedule does not matter; an edit of the schedule does.
  session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", 2}}},
                                            {"contentChanges", {{{"range", {{"start", {{"line", 11}, {"character", 19}}}, {"end", {{"line", 11}, {"character", 19}}}}}, {"text", "  # fast"}}}}});
  (void)session.wait_for(uri, 2);
  CHECK(has("1.000 ms, 4.00x before it was changed: bench again"));
  // A measurement has no schedule that could be inserted.
  CHECK(session.call("workspace/executeCommand", {{"command", "loopsmith.insertSchedule"}, {"arguments", {{{"job", 1}}}}}).contains("error"));
  CHECK(session.goodbye() == 0);
  ::unlink(bench.c_str());
}

TEST_CASE("results are compared with a program that is played: the lens knows until the text is another one") {
  std::string verify = "/tmp/loopsmith-verify-" + std::to_string(::getpid());
  {
    std::ofstream script(verify);
    script << "#!/bin/sh\n[ \"$1\" = verify ] || exit 2\n"
              "if grep -q parallel; then echo '{\"compared\":true,\"difference\":\"\",\"equal\":true,\"extent\":\"2 inputs, no error, seed 8\",\"how\":\"interpreter, all outputs\"}'\n"
              "else echo '{\"compared\":true,\"difference\":\"`B[3]` is 1, not 2\",\"equal\":false,\"how\":\"interpreter\"}'; exit 1; fi\n";
  }
  ::chmod(verify.c_str(), 0755);
  Session session = start({"--tuner", verify});
  session.initialize();
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"A\"):\n"
                    "            vi = T.axis.spatial(16, i)\n            B[vi] = A[vi] + T.float32(1)\n\n\n"
                    "@ls.schedule(f)\ndef s(sch: tir.Schedule) -> None:\n    (i,) = sch.get_loops(\"A\")\n    sch.parallel(i)\n");
  (void)session.wait_for(uri, 1);
  // Behind it stand two more lenses, which run the program and write it.
  auto verify_title = [&] {
    Json lenses = session.call("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}})["result"];
    REQUIRE(lenses.size() >= 3);
    return lenses[lenses.size() - 3]["command"]["title"].get<std::string>();
  };
  auto verdict = [&] {
    Json argument = {{"uri", uri}, {"function", "f"}, {"schedule", "s"}};
    CHECK(session.call("workspace/executeCommand", {{"command", "loopsmith.verify"}, {"arguments", {argument}}})["result"].contains("job"));
    return session.until([](const Json& message) { return message.value("method", "") == "window/showMessage"; })["params"];
  };
  CHECK(verify_title() == "verify");
  Json same = verdict();
  CHECK(same["type"] == 3);
  CHECK(same["message"] == "s keeps the results of f (interpreter, all outputs)");
  CHECK(verify_title() == "verified");
  CHECK(session.diagnostics(uri).empty());
  session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", 2}}},
                                            {"contentChanges", {{{"range", {{"start", {{"line", 11}, {"character", 8}}}, {"end", {{"line", 11}, {"character", 16}}}}}, {"text", "unroll"}}}}});
  (void)session.wait_for(uri, 2);
  CHECK(verify_title() == "verify");
  Json other = verdict();
  CHECK(other["type"] == 1);
  CHECK(other["message"] == "s does not keep the results of f: `B[3]` is 1, not 2");
  CHECK(verify_title() == "results differ: verify again");
  // The diagnostic stays at the schedule until the text changes.
  Json found = session.diagnostics(uri);
  REQUIRE(found.size() == 1);
  CHECK(found[0]["code"] == "results-differ");
  CHECK(found[0]["severity"] == 1);
  CHECK(found[0]["message"] == "`s` does not keep the results of `f`: `B[3]` is 1, not 2");
  CHECK(found[0]["range"]["start"]["line"] == 9);
  CHECK(found[0]["relatedInformation"][0]["location"]["range"]["start"]["line"] == 1);
  auto insert = [&](int version, int line, const char* text) {
    session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}},
                                              {"contentChanges", {{{"range", {{"start", {{"line", line}, {"character", 0}}}, {"end", {{"line", line}, {"character", 0}}}}}, {"text", text}}}}});
    (void)session.wait_for(uri, version);
  };
  // Lines between the two do not belong to them.
  insert(3, 7, "\n");
  CHECK(session.diagnostics(uri)[0]["range"]["start"]["line"] == 10);
  insert(4, 12, "    # as it was\n");
  CHECK(session.diagnostics(uri).empty());
  CHECK(session.goodbye() == 0);
  ::unlink(verify.c_str());
}

TEST_CASE("a search beside the editor is reported to it, where its program is open") {
  std::string folder = "/tmp/loopsmith-beside-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  Session session({server, "lsp"}, {{"XDG_DATA_HOME", folder}});
  session.initialize({{"workspace", {{"codeLens", {{"refreshSupport", true}}}}}});
  const std::string uri = "file:///recorded.tir";
  std::string text = file("tests/golden/lsp/recorded.tir");
  session.open(uri, text);
  (void)session.wait_for(uri, 1);
  auto best = [&] {
    Json lenses = session.call("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}})["result"];
    return std::any_of(lenses.begin(), lenses.end(), [](const Json& lens) { return lens["command"]["title"].get<std::string>().starts_with("best 650.0 ns"); });
  };
  CHECK_FALSE(best());
  std::string records = file("tests/golden/lsp/recorded.jsonl");
  for (size_t at; (at = records.find("@machine")) != std::string::npos;) { records.replace(at, 8, target::machine_identity()); }
  std::ofstream(folder + "/records.jsonl") << records;
  REQUIRE(run_program({.argv = {server, "db", "import", folder + "/records.jsonl"}, .environment = {{"XDG_DATA_HOME", folder}}}, "", in(Session::patience)).ok());
  (void)session.until([](const Json& message) { return message.value("method", "") == "workspace/codeLens/refresh"; });
  CHECK(best());
  CHECK(session.goodbye() == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a lens runs a program (the job is played): the results are shown") {
  std::string runner = "/tmp/loopsmith-run-" + std::to_string(::getpid());
  {
    std::ofstream script(runner);
    script << "#!/bin/sh\n[ \"$1\" = run ] || exit 2\ncat > /dev/null\n"
              "case \"$*\" in *--with*) echo '{\"severity\":\"error\",\"message\":\"no such thing\"}'; exit 1;; esac\n"
              "echo '{\"dtype\":\"float32\",\"max\":2.5,\"mean\":1.5,\"min\":1,\"name\":\"B\",\"shape\":[16],\"not_finite\":3}'\n";
  }
  ::chmod(runner.c_str(), 0755);
  Session session = start({"--tuner", runner});
  session.initialize();
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"A\"):\n"
                    "            vi = T.axis.spatial(16, i)\n            B[vi] = A[vi] + T.float32(1)\n");
  (void)session.wait_for(uri, 1);
  auto run = [&](const Json& argument) {
    CHECK(session.call("workspace/executeCommand", {{"command", "loopsmith.run"}, {"arguments", {argument}}})["result"].contains("job"));
    return session.until([](const Json& message) { return message.value("method", "") == "window/showMessage"; })["params"];
  };
  Json said = run({{"uri", uri}, {"function", "f"}});
  CHECK(said["type"] == 3);
  CHECK(said["message"] == "f ran on random inputs: B float32 (16), 1 to 2.5, mean 1.5, 3 not finite");
  Json failed = run({{"uri", uri}, {"function", "f"}, {"schedule", "s"}});
  CHECK(failed["type"] == 1);
  CHECK(failed["message"] == "run of f failed: no such thing");
  // A run that ended has no lens.
  Json lenses = session.call("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}})["result"];
  CHECK(lenses[2]["command"]["title"] == "run");
  CHECK(session.goodbye() == 0);
  ::unlink(runner.c_str());
}

TEST_CASE("a program is interpreted on random inputs: what came out and that it kept in bounds, or the access that did not") {
  Session session = start();
  session.initialize();
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        with T.block(\"B\"):\n"
                    "            vi = T.axis.spatial(16, i)\n            B[vi] = A[vi] * T.float32(0) + T.float32(2)\n\n\n"
                    "@T.prim_func\ndef g(I: T.Buffer((4,), \"int32\"), B: T.Buffer((16,), \"float32\")):\n    for i in range(4):\n        with T.block(\"B\"):\n"
                    "            vi = T.axis.spatial(4, i)\n            B[I[vi] % 16 + 100] = T.float32(2)\n");
  (void)session.wait_for(uri, 1);
  // The action over the program has the same command.
  Json at = {{"start", {{"line", 1}, {"character", 5}}}, {"end", {{"line", 1}, {"character", 5}}}};
  Json actions = session.call("textDocument/codeAction", {{"textDocument", {{"uri", uri}}}, {"range", at}, {"context", {{"diagnostics", Json::array()}}}})["result"];
  Json action;
  for (const Json& one : actions) {
    if (one["title"] == "Interpret f on random inputs, every access checked") { action = one; }
  }
  REQUIRE_FALSE(action.is_null());
  auto verdict = [&](const Json& arguments) {
    CHECK(session.call("workspace/executeCommand", {{"command", action["command"]["command"]}, {"arguments", arguments}})["result"].contains("job"));
    return session.until([](const Json& message) { return message.value("method", "") == "window/showMessage"; })["params"];
  };
  Json good = verdict(action["command"]["arguments"]);
  CHECK(good["type"] == 3);
  CHECK(good["message"] == "f interpreted on random inputs: B float32 (16), 2 to 2, mean 2; every access in bounds");
  Json bad = verdict({{{"uri", uri}, {"function", "g"}}});
  CHECK(bad["type"] == 1);
  CHECK(bad["message"].get<std::string>().starts_with("interpretation of g failed: "));
  CHECK(bad["message"].get<std::string>().find("outside") != std::string::npos);
  CHECK(session.goodbye() == 0);
}

TEST_CASE("links lead to pages that are there, and to what was measured") {
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

TEST_CASE("memory is counted file by file: the sum is no more than the processes have, and a closed file is not in it") {
  Session session = start();
  session.initialize();
  std::string text = "@T.prim_func\ndef f(A: T.Buffer((64, 64), \"float32\"), B: T.Buffer((64, 64), \"float32\")):\n    for i, j in T.grid(64, 64):\n        with T.block(\"B\"):\n"
                     "            vi, vj = T.axis.remap(\"SS\", [i, j])\n            B[vi, vj] = A[vi, vj] + T.float32(1)\n\n\n@ls.schedule(f)\ndef s(sch):\n    i, j = sch.get_loops(\"B\")\n";
  std::string small = text;
  for (int step = 0; step < 30; ++step) { text += "    j, j1 = sch.split(j, factors=[None, 1])\n"; }
  session.open("file:///small.tir", small);
  session.open("file:///large.tir", text);
  (void)session.wait_for("file:///small.tir", 1);
  (void)session.wait_for("file:///large.tir", 1);
  auto usage = [&] { return session.call("loopsmith/memoryUsage", Json::object())["result"]; };
  // Every number is at least the sum of its children.
  std::function<void(const Json&)> check = [&](const Json& node) {
    uint64_t sum = 0;
    for (const Json& child : node.value("children", Json::array())) {
      sum += child["bytes"].get<uint64_t>();
      check(child);
    }
    INFO(node["name"]);
    CHECK(node["bytes"].get<uint64_t>() >= sum);
  };
  std::function<Json(const Json&, const std::string&)> find = [&](const Json& node, const std::string& name) -> Json {
    if (node["name"] == name) { return node; }
    for (const Json& child : node.value("children", Json::array())) {
      if (Json found = find(child, name); !found.is_null()) { return found; }
    }
    return nullptr;
  };
  Json all = usage();
  check(all);
  Json small_file = find(all, "file:///small.tir");
  Json large_file = find(all, "file:///large.tir");
  REQUIRE_FALSE(small_file.is_null());
  REQUIRE_FALSE(large_file.is_null());
  CHECK(find(large_file, "text")["bytes"].get<uint64_t>() >= text.size());
  CHECK_FALSE(find(large_file, "31 states of schedules").is_null());
  // States share unchanged parts: more steps need more memory, but less than thirty programs.
  auto bytes = [](const Json& node) { return node["bytes"].get<uint64_t>(); };
  CHECK(bytes(find(large_file, "31 states of schedules")) > bytes(find(small_file, "1 state of schedules")));
  CHECK(bytes(find(large_file, "31 states of schedules")) < 100 * bytes(find(small_file, "1 program")));
  CHECK(all["text"].get<std::string>().find("file:///large.tir") != std::string::npos);
  session.notify("textDocument/didClose", {{"textDocument", {{"uri", "file:///large.tir"}}}});
  CHECK(find(usage(), "file:///large.tir").is_null());
  CHECK(session.goodbye() == 0);
}

TEST_CASE("what is counted of files is what they take of the process's memory, within a factor of 1.6") {
  Session session = start();
  session.initialize();
  auto text = [](int n, int steps) {
    std::string all = fmt::format("@T.prim_func\ndef f{0}(A: T.Buffer((512, 512), \"float32\"), B: T.Buffer((512, 512), \"float32\"), C: T.Buffer((512, 512), \"float32\")):\n    for i, j, k in T.grid(512, 512, 512):\n"
                                  "        with T.block(\"C\"):\n            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            with T.init():\n                C[vi, vj] = T.float32({0})\n"
                                  "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n\n\n@ls.schedule(f{0})\ndef s{0}(sch: tir.Schedule):\n    i, j, k = sch.get_loops(\"C\")\n", n);
    for (int step = 0; step < steps; ++step) { all += fmt::format("    j, j{} = sch.split(j, factors=[None, {}])\n", step, step % 2 + 1); }
    return all;
  };
  struct Used { double process, files; };
  auto used = [&]() -> Used {
    Json worker = session.call("loopsmith/memoryUsage", Json::object())["result"]["children"][0];
    double freed = worker["children"][1]["bytes"].get<double>();
    return {worker["bytes"].get<double>() - freed, worker["children"][0]["bytes"].get<double>()};
  };
  // Memory of the server itself belongs to no file.
  for (int n = 0; n < 4; ++n) {
    std::string uri = fmt::format("file:///warm{}.tir", n);
    session.open(uri, text(n, 12));
    (void)session.wait_for(uri, 1);
  }
  Used before = used();
  CHECK(before.files > 0);
  for (int n = 0; n < 80; ++n) {
    std::string uri = fmt::format("file:///m{}.tir", n);
    session.open(uri, text(n, n % 2 == 0 ? 24 : 2));
    (void)session.wait_for(uri, 1);
  }
  Used after = used();
  double grown = after.process - before.process;
  double counted = after.files - before.files;
  INFO(grown << " bytes more, " << counted << " counted");
  CHECK(grown > 4e6);
  if (!tests::is_sanitized) {
    CHECK(counted * 1.6 > grown);
    CHECK(counted < grown * 1.1);
  }
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a schedule is replaced by the best one, in one edit, under its own name") {
  std::string tuner = "/tmp/loopsmith-replace-" + std::to_string(::getpid());
  {
    std::ofstream script(tuner);
    script << "#!/bin/sh\ncat > /dev/null\n"
              "printf '%s\\n' '{\"event\":\"done\",\"best_seconds\":0.001,\"schedule_text\":\"@ls.schedule(f, target=\\\"llvm\\\")\\ndef f_tuned(sch: tir.Schedule) -> None:\\n    (i,) = sch.get_loops(\\\"A\\\")\\n    sch.vectorize(i)\\n\",\"verified\":\"3 inputs\"}'\n";
  }
  ::chmod(tuner.c_str(), 0755);
  Session session = start({"--tuner", tuner});
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
  ::unlink(tuner.c_str());
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
  std::string tuner = "/tmp/loopsmith-hole-" + std::to_string(::getpid());
  {
    std::ofstream script(tuner);
    script << "#!/bin/sh\ncat > /dev/null\nprintf '%s\\n' '{\"event\":\"done\",\"best_seconds\":0.001,\"schedule_text\":\"# Tuned.\\nsch.vectorize(i1)\",\"hole\":{\"state\":\"" << hole->state
           << "\"},\"verified\":\"3 inputs\"}'\n";
  }
  ::chmod(tuner.c_str(), 0755);
  Session session = start({"--tuner", tuner});
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
  Json told = session.until([](const Json& message) { return message.value("method", "") == "window/showMessage"; });
  CHECK(told["params"]["message"] == "mine: 1.000 ms; the code action \"Fill in the best steps\" writes them into the file");
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
  ::unlink(tuner.c_str());
}

TEST_CASE("peaks of the machine are shown as soon as any program has measured them") {
  char folder[] = "/tmp/loopsmith-peaks-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const char* before = std::getenv("XDG_CACHE_HOME");
  std::optional<std::string> kept = before != nullptr ? std::optional<std::string>(before) : std::nullopt;
  ::setenv("XDG_CACHE_HOME", folder, 1);
  Session session({server, "lsp"}, {{"XDG_CACHE_HOME", folder}});
  session.initialize();
  const std::string uri = "file:///a.tir";
  session.open(uri, "@T.prim_func\ndef f(A: T.Buffer((64,), \"float32\")):\n    for i in range(64):\n        with T.block(\"A\"):\n            vi = T.axis.spatial(64, i)\n            A[vi] = A[vi] * T.float32(2)\n");
  CHECK(session.wait_for(uri, 1)["result"]["state"] == "done");
  auto said = [&] {
    Json hover = session.call("textDocument/hover", {{"textDocument", {{"uri", uri}}}, {"position", {{"line", 2}, {"character", 8}}}});
    return hover["result"]["contents"]["value"].get<std::string>();
  };
  auto until = [&](const std::string& wanted) {
    for (Deadline end = in(30s); said().find(wanted) == std::string::npos;) {
      if (Clock::now() > end) { return false; }
      std::this_thread::sleep_for(100ms);
    }
    return true;
  };
  CHECK(said().find("loop `i`") != std::string::npos);
  CHECK(said().find("roofline") == std::string::npos);
  // The file is written and read between two checks; the server notices the file, and also its removal.
  target::keep_peaks({.fma_f32_one = 125, .fma_f32_all = 200, .threads = 2, .copy = {{4096, 20, 20}}});
  session.notify("workspace/didChangeConfiguration", {{"settings", {{"loopsmith", {{"peaks", nullptr}}}}}});
  CHECK(until("one core reaches 125"));
  CHECK(::unlink(target::peaks_file().c_str()) == 0);
  bool is_gone = false;
  for (Deadline end = in(30s); !is_gone && Clock::now() < end; std::this_thread::sleep_for(100ms)) { is_gone = said().find("roofline") == std::string::npos; }
  CHECK(is_gone);
  target::keep_peaks({.fma_f32_one = 100, .fma_f32_all = 200, .threads = 2, .copy = {{4096, 20, 20}}});
  CHECK(until("one core reaches 100"));
  // The peaks are measured again.
  target::keep_peaks({.fma_f32_one = 150, .fma_f32_all = 300, .threads = 2, .copy = {{4096, 20, 20}}});
  CHECK(until("one core reaches 150"));
  // Peaks in the settings do not change the caches of this machine, and caches in the settings do not change its peaks.
  bool has_caches = said().find("the data of one run fits L1") != std::string::npos;
  session.notify("workspace/didChangeConfiguration", {{"settings", {{"loopsmith", {{"peaks", {{"gflops", 77}, {"gbytes", 20}}}}}}}});
  CHECK(until("one core reaches 77"));
  CHECK((said().find("the data of one run fits L1") != std::string::npos) == has_caches);
  session.notify("workspace/didChangeConfiguration", {{"settings", {{"loopsmith", {{"caches", {1000}}}}}}});
  CHECK(until("fits L1 (1000 B)"));
  CHECK(said().find("one core reaches 150") != std::string::npos);
  CHECK(::unlink(target::peaks_file().c_str()) == 0);
  CHECK(session.goodbye() == 0);
  if (kept) { ::setenv("XDG_CACHE_HOME", kept->c_str(), 1); } else { ::unsetenv("XDG_CACHE_HOME"); }
  ::rmdir((std::string(folder) + "/loopsmith").c_str());
  ::rmdir(folder);
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
  Json said = session.until([](const Json& message) { return message.value("method", "") == "window/showMessage"; });
  INFO(said.dump());
  CHECK(said["params"]["message"].get<std::string>().starts_with("s keeps the results of f"));
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
