// The server as a program: the same findings as the command line and the REPL, and logs, traces and reports of faults that hold nothing of a text.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/unit/lsp/server_program.h"
#include "workspace/snapshot.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace std::chrono_literals;

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
  size_t findings = 0;
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
    findings += editor.size();
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
  CHECK(findings > 20);
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
    Json report = Json::parse(output_of("XDG_STATE_HOME=" + state.path + " " + server + " report --fault --json " + whole));
    CHECK(report["codes"] == answer["result"]["codes"]);
    std::string folder = report["path"];
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
  Json report = Json::parse(output_of("XDG_STATE_HOME=" + state.path + " " + server + " report --fault --json " + undefined));
  CHECK(report["codes"] == Json::array({"error[undefined-name]"}));
  std::string undefined_case = contents(report["path"].get<std::string>() + "/case.tir");
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
  report = Json::parse(output_of("XDG_STATE_HOME=" + state.path + " " + server + " report --fault --json " + use));
  for (const Json& one : {across["result"], report}) {
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
