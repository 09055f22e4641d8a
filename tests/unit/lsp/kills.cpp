// Processes of the server are killed at random moments while the user edits, requests and tunes: the analysis worker, the tuner, a measuring
// worker, the front itself. The editor continues: every request is answered soon; texts are those that were typed; a search that lost a
// measuring worker continues, and a killed one is reported; no reported measurement is lost; no process or file remains.
//
//   LOOPSMITH_SECONDS=S kills for S seconds (5; 60 in a soak, which also asserts how soon the server is back), LOOPSMITH_SEED=S seeds the choices
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "tests/support/paths.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/random_edits.h"
#include "tests/unit/lsp/session.h"
#include "tune/database/database.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace loopsmith::lsp::random;
using namespace std::chrono_literals;

namespace {

const std::string tuned = "file:///tuned.tir";
const std::string tuned_text =
    "@T.prim_func\ndef f(A: T.Buffer((64, 64), \"float32\"), B: T.Buffer((64, 64), \"float32\"), C: T.Buffer((64, 64), \"float32\")):\n    for i, j, k in T.grid(64, 64, 64):\n"
    "        with T.block(\"C\"):\n            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            with T.init():\n                C[vi, vj] = T.float32(0)\n"
    "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";

/// The processes that a process started, and those that they started, with a word of their command line; without zombies.
auto children_of(int root, const std::string& word) -> std::vector<int> {
  std::vector<std::pair<int, int>> all;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    int pid = std::atoi(entry.path().filename().c_str());
    std::ifstream file(entry.path() / "stat");
    std::string text;
    if (pid <= 0 || !std::getline(file, text)) { continue; }
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    char state = 'Z';
    int parent = 0;
    if (rest >> state >> parent && state != 'Z') { all.emplace_back(pid, parent); }
  }
  std::vector<int> family = {root};
  std::vector<int> found;
  for (size_t i = 0; i < family.size(); ++i) {
    for (auto [pid, parent] : all) {
      if (parent != family[i]) { continue; }
      family.push_back(pid);
      std::ifstream file(fmt::format("/proc/{}/cmdline", pid));
      std::ostringstream line;
      line << file.rdbuf();
      if (line.str().find(word) != std::string::npos) { found.push_back(pid); }
    }
  }
  return found;
}

/// An editor whose server may die: it starts another one and opens its documents again.
class Editor {
 public:
  explicit Editor(std::string folder) : folder_(std::move(folder)) {
    documents.push_back({tuned, 1, lines_of(tuned_text)});
    documents.push_back({"file:///a.tir", 1, lines_of(tests::source_text("examples/matmul.tir"))});
    documents.push_back({"file:///b.tir", 1, lines_of(tests::source_text("examples/softmax.tir"))});
    restart();
  }
  void restart() {
    session_ = std::make_unique<Session>(std::vector<std::string>{tests::loopsmith_program(), "lsp"}, std::vector<std::pair<std::string, std::string>>{{"XDG_DATA_HOME", folder_}});
    session_->initialize({{"experimental", {{"loopsmithViews", true}}}});
    for (const Document& document : documents) { session_->open(document.uri, document.text(), document.version); }
    is_tuning = false;
    looked_at_ = 0;
  }
  auto session() -> Session& { return *session_; }
  auto pid() -> int { return session_->process().pid(); }

  void edit(Random& random) {
    Document& document = documents[1 + random.below(documents.size() - 1)];
    Json change = random_change(document, random);
    session_->notify("textDocument/didChange", {{"textDocument", {{"uri", document.uri}, {"version", ++document.version}}}, {"contentChanges", {change}}});
  }
  void tune() {
    Json answer = session_->call("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", tuned}, {"function", "f"}, {"trials", 100000}}}}});
    REQUIRE(answer.contains("result"));
    job = answer["result"]["job"];
    is_tuning = true;
  }
  /// Waits for a message about the search, and records its trials.
  auto news(std::chrono::seconds patience) -> Json {
    // Messages that arrived during other waits count as well.
    for (Deadline end = in(patience); looked_at_ < session_->received.size() || session_->next(end);) {
      const Json& message = session_->received[looked_at_++];
      if (message.value("method", "") != "loopsmith/tuning") { continue; }
      trials = std::max(trials, message["params"].value("trial", 0));
      return message["params"];
    }
    return nullptr;
  }
  /// Seconds until requests about both edited documents are answered again.
  auto recovery() -> double {
    auto begun = Clock::now();
    for (size_t i = 1; i < documents.size(); ++i) {
      Json answer;
      for (int tries = 0; tries < 50 && !answer.contains("result"); ++tries) { answer = session_->call("textDocument/documentSymbol", {{"textDocument", {{"uri", documents[i].uri}}}}); }
      CHECK(answer.contains("result"));
    }
    return std::chrono::duration<double>(Clock::now() - begun).count();
  }

  std::vector<Document> documents;
  bool is_tuning = false;
  int64_t job = 0;
  int trials = 0;              // the highest number that this search reported

 private:
  std::string folder_;
  std::unique_ptr<Session> session_;
  size_t looked_at_ = 0;       // of the messages received
};

auto committed(const std::string& folder) -> int64_t {
  auto database = tune::Database::open(folder + "/loopsmith/tuning.db");
  REQUIRE(database.ok());
  auto workloads = database->workloads();
  REQUIRE(workloads.ok());
  int64_t records = 0;
  for (const auto& workload : *workloads) { records += workload.records; }
  return records;
}

}  // namespace

TEST_CASE("whatever is killed, the editor goes on and no reported measurement is lost", "[soak]") {
  auto number = [](const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
  };
  const uint64_t seed = number("LOOPSMITH_SEED", 1);
  INFO("seed " << seed);
  Random random{seed};
  char folder_name[] = "/tmp/loopsmith-kills-XXXXXX";
  REQUIRE(::mkdtemp(folder_name) != nullptr);
  const std::string folder = folder_name;
  std::vector<double> recoveries;
  std::map<std::string, int> kills;
  std::vector<int> fronts;
  {
    Editor editor(folder);
    int64_t least = 0;         // the number of records that must exist
    Deadline end = in(std::chrono::seconds(number("LOOPSMITH_SECONDS", tests::is_soak() ? 60 : 5)));
    // Every kind of kill at least once, also on a slow machine.
    for (size_t turn = 0; turn < 4 || Clock::now() < end; ++turn) {
      if (!editor.is_tuning) {
        editor.trials = 0;
        editor.tune();
        while (editor.trials < 4) {
          Json report = editor.news(60s);
          REQUIRE(report.is_object());
          // The end of the job before it may arrive only now.
          if (report["job"] == editor.job) { REQUIRE(report["state"] == "running"); }
        }
      }
      for (size_t i = 0; i < random.below(6); ++i) { editor.edit(random); }
      int asked = editor.session().request("textDocument/semanticTokens/full", {{"textDocument", {{"uri", editor.documents[1].uri}}}});
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(20000)));
      size_t kind = turn < 4 ? turn : random.below(4);
      const char* const words[] = {"--analyze", "--measure", "tune", "front"};
      INFO("turn " << turn << ", killing " << words[kind]);
      ++kills[words[kind]];
      int before = editor.trials;
      if (kind == 3) {
        int front = editor.pid();
        fronts.push_back(front);
        std::vector<int> others = children_of(front, "loopsmith");
        CHECK(others.size() >= 2);
        ::kill(front, SIGKILL);
        CHECK(editor.session().process().wait(in(10s)).has_value());
        // The processes that it started end with it.
        auto is_alive = [](int pid) {
          std::ifstream file(fmt::format("/proc/{}/stat", pid));
          std::string text;
          return std::getline(file, text) && text.substr(text.rfind(')') + 2, 1) != "Z";
        };
        for (int i = 0; i < 500 && std::any_of(others.begin(), others.end(), is_alive); ++i) { std::this_thread::sleep_for(10ms); }
        CHECK(std::none_of(others.begin(), others.end(), is_alive));
        editor.restart();
      } else {
        std::vector<int> victims = children_of(editor.pid(), words[kind]);
        if (kind != 1) { REQUIRE_FALSE(victims.empty()); }
        if (victims.empty()) { continue; }
        ::kill(victims[random.below(victims.size())], SIGKILL);
        CHECK_FALSE(editor.session().answer(asked).is_null());
      }
      recoveries.push_back(editor.recovery());
      if (kind == 2) {
        // The end of the search is reported; the editor may start it again.
        Json report;
        do { report = editor.news(60s); } while (report.is_object() && report["state"] == "running");
        REQUIRE(report.is_object());
        CHECK(report["state"] == "failed");
        CHECK_FALSE(report["message"].get<std::string>().empty());
        editor.is_tuning = false;
      } else if (kind != 3) {
        // The search continues.
        Deadline patience = in(60s);
        while (editor.trials <= before && Clock::now() < patience) {
          Json report = editor.news(60s);
          REQUIRE(report.is_object());
          REQUIRE(report["state"] == "running");
        }
        CHECK(editor.trials > before);
      }
      int64_t now = committed(folder);
      CHECK(now >= least);
      CHECK(now >= editor.trials);
      least = now;
    }
    // The editor shows the same diagnostics as a fresh server gives for the same text.
    for (const Document& document : editor.documents) {
      (void)editor.session().wait_for(document.uri, document.version);
      Session fresh({tests::loopsmith_program(), "lsp"});
      fresh.initialize();
      fresh.open(document.uri, document.text());
      (void)fresh.wait_for(document.uri, 1);
      CHECK(editor.session().diagnostics(document.uri) == fresh.diagnostics(document.uri));
      CHECK(fresh.goodbye() == 0);
    }
    CHECK(editor.session().goodbye() == 0);
    CHECK(committed(folder) >= least);
  }
  std::sort(recoveries.begin(), recoveries.end());
  std::string report;
  for (const auto& [word, count] : kills) { report += fmt::format("{} {} times, ", word, count); }
  INFO("killed " << report << "answers about all files after " << recoveries[recoveries.size() / 2] << " s (median), " << recoveries.back() << " s (longest)");
  if (std::getenv("LOOPSMITH_SECONDS") != nullptr) { fmt::print("killed {}answers about all files after {:.3f} s (median), {:.3f} s (longest)\n", report, recoveries[recoveries.size() / 2], recoveries.back()); }
  if (tests::is_soak()) { CHECK(recoveries[recoveries.size() / 2] < 1); }
  std::filesystem::remove_all(folder);
}
