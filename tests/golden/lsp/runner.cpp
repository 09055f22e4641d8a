// Plays a transcript (transcript.h describes its form) against the real server, and compares the received messages.
//
// After a request, everything up to its answer is read, and an edit that the server requests is accepted. Other messages do not wait
// for anything, so a transcript has `wait` where it needs diagnostics, and between any two edits of a document: otherwise the second edit
// may arrive before or after the analysis of the first. A transcript without `exit` ends with `shutdown` and `exit`, and the server must
// answer the first and end with status 0. A line `# records: PATH` adds records to the tuning database: a file of `loopsmith db export`, for
// the machine "@machine". The comparison is exact, except for the server's version and, in all transcripts but `lifecycle`, its capabilities.
//
//   golden-lsp LOOPSMITH SOURCES CASE.jsonrpc           LOOPSMITH_UPDATE=1 writes the received messages as expectations
//   golden-lsp --from-record SESSION.jsonl CASE.jsonrpc makes a transcript of an editor's messages (`lsp --record`)
#include <fmt/format.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>

#include "target/hardware.h"
#include "tests/golden/lsp/transcript.h"
#include "tests/unit/lsp/session.h"

namespace {

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace loopsmith::lsp::golden;

auto read_file(const std::string& path) -> std::string {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Bytes of memory differ between machines; the parts that they are counted for do not.
void mask_bytes(Json& node) {
  node["bytes"] = 1;
  if (node.contains("text")) { node["text"] = "TEXT"; }
  if (node.contains("children")) {
    for (Json& child : node["children"]) { mask_bytes(child); }
  }
}

/// The folder of the pages that hovers link to differs, too.
void mask_links(Json& value) {
  static const std::regex folder(R"(\]\([^)]*/)");
  value = std::regex_replace(value.get<std::string>(), folder, "](");
}

void normalise(Json& message, bool with_capabilities) {
  message.erase("jsonrpc");
  if (message.contains("result") && message["result"].is_object() && message["result"].contains("contents") && message["result"]["contents"].contains("value")) {
    mask_links(message["result"]["contents"]["value"]);
  }
  if (message.contains("result") && message["result"].is_object() && message["result"].contains("bytes")) { mask_bytes(message["result"]); }
  if (message.contains("result") && message["result"].is_object() && message["result"].contains("serverInfo")) {
    message["result"]["serverInfo"]["version"] = "VERSION";
    if (!with_capabilities) { message["result"]["capabilities"] = "CAPABILITIES"; }
  }
}

auto from_record(const char* record, const char* transcript) -> int {
  std::ifstream lines(record);
  std::ofstream out(transcript);
  for (std::string line; std::getline(lines, line);) {
    Json entry = Json::parse(line, nullptr, false);
    if (entry.is_discarded() || entry.value("from", "") != "client" || !entry.contains("message")) { continue; }
    Json message = entry["message"];
    message.erase("jsonrpc");
    out << sent_text(message);
  }
  return out.good() ? 0 : 1;
}

/// Adds lines of records to the database in a folder.
void fill_database(const std::string& program, const std::string& folder, std::string records) {
  constexpr std::string_view machine = "@machine";
  for (size_t at = records.find(machine); at != std::string::npos; at = records.find(machine, at)) { records.replace(at, machine.size(), target::machine_identity()); }
  std::ofstream(folder + "/records.jsonl") << records;
  (void)run_program({.argv = {program, "db", "import", folder + "/records.jsonl"}, .environment = {{"XDG_DATA_HOME", folder}}}, "", in(Session::patience));
}

/// Plays a transcript to a server; `actual` grows by each message sent or received.
class Player {
 public:
  Player(const std::string& program, const std::string& folder, const std::string& record, bool with_capabilities)
      : session_(command(program, record), {{"LOOPSMITH_TEST_FAULT", "1"}, {"LOOPSMITH_TEST_PATIENCE", "1"}, {"LOOPSMITH_TEST_PRIORITY", "1"}, {"XDG_DATA_HOME", folder}, {"XDG_CACHE_HOME", folder}}),
        with_capabilities_(with_capabilities) {}

  /// Returns the reason why the transcript cannot be played; empty: it was.
  auto play(const Step& step) -> std::string {
    if (step.kind == Step::Kind::Raw) {
      session_.send_bytes(step.bytes);
      if (auto message = session_.next()) { take(*message, nullptr); }
      return {};
    }
    if (step.kind == Step::Kind::Start) {
      Step asked = step;
      asked.message = {{"method", "initialize"}, {"params", step.message}};
      // Every transcript begins with this request, so a normal answer is not printed.
      ask(asked, [](const Json& answer) { return answer.contains("result") && answer["result"]["serverInfo"]["name"] == "loopsmith"; });
      session_.notify("initialized", Json::object());
      return {};
    }
    std::string method = string_in(step.message, "method");
    if (method == "textDocument/didOpen" || method == "textDocument/didChange") {
      std::string document = string_in(member(member(step.message, "params"), "textDocument"), "uri");
      if (document == edited_) { return "two edits of " + document + " and no request between them"; }
      edited_ = document;
    }
    if (step.is_request) {
      edited_.clear();
      ask(step);
    } else {
      session_.send(step.message);
    }
    has_ended_ = has_ended_ || method == "exit";
    return {};
  }

  /// Ends the session if the transcript does not.
  void end() {
    bool is_ours = !has_ended_;
    if (is_ours) {
      Step shutdown;
      shutdown.message = {{"method", "shutdown"}};
      ask(shutdown, [](const Json& answer) { return answer.contains("result") && answer["result"].is_null(); });
      session_.notify("exit", nullptr);
    }
    auto status = session_.process().wait(in(Session::patience));
    if (!is_ours || !status || status->signal != 0 || status->code != 0) { actual += fmt::format("<-- exit status {}\n", status ? status->code : -1); }
  }

  std::string actual;

 private:
  /// Sends a request and reads everything up to its answer. An answer that `is_expected` accepts is not printed.
  void ask(const Step& step, const std::function<bool(const Json&)>& is_expected = {}) {
    Json message = step.message;
    if (!message.contains("id")) { message["id"] = next_id_++; }
    Json id = message["id"];
    session_.send(std::move(message));
    while (true) {
      auto got = session_.next();
      if (!got) {
        actual += "<-- (nothing)\n";
        return;
      }
      bool is_answer = !got->contains("method") && got->value("id", Json()) == id;
      if (!is_answer || !is_expected || !is_expected(*got)) { take(*got, is_answer ? &step : nullptr); }
      if (got->value("method", "") == "workspace/applyEdit") { session_.send({{"jsonrpc", "2.0"}, {"id", got->value("id", Json())}, {"result", {{"applied", true}}}}); }
      if (is_answer) { return; }
    }
  }

  void take(Json message, const Step* answered) {
    normalise(message, with_capabilities_);
    actual += received_text(message, answered);
  }

  static auto command(const std::string& program, const std::string& record) -> std::vector<std::string> {
    if (record.empty()) { return {program, "lsp"}; }
    return {program, "lsp", "--record", record};
  }

  Session session_;
  bool with_capabilities_;
  bool has_ended_ = false;
  std::string edited_;   // the document with an edit after which no request was sent
  int next_id_ = 1;
};

/// Prints the first line in which two texts differ, with the lines before it.
void print_difference(const std::string& path, const std::string& expected, const std::string& actual) {
  std::istringstream a(expected), b(actual);
  std::string want, got;
  std::deque<std::string> before;
  for (int number = 1;; ++number) {
    bool more_a = static_cast<bool>(std::getline(a, want));
    bool more_b = static_cast<bool>(std::getline(b, got));
    if (!more_a) { want = "(end)"; }
    if (!more_b) { got = "(end)"; }
    if (want != got || (!more_a && !more_b)) {
      fmt::print("{}:{}: differs\n", path, number);
      for (const std::string& line : before) { fmt::print("           {}\n", line); }
      fmt::print("  expected {}\n  got      {}\n", want, got);
      return;
    }
    before.push_back(want);
    if (before.size() > 4) { before.pop_front(); }
  }
}

auto run(const std::string& program, const std::string& sources, const std::string& path) -> int {
  std::string expected = read_file(path);
  constexpr std::string_view records = "# records: ";
  DataFolder data;
  if (size_t at = expected.find(records); at != std::string::npos) {
    at += records.size();
    fill_database(program, data.path, read_file(sources + "/" + expected.substr(at, expected.find('\n', at) - at)));
  }
  const char* records_of_messages = std::getenv("LOOPSMITH_RECORD");
  std::string record = records_of_messages == nullptr ? "" : fmt::format("{}/{}.jsonl", records_of_messages, std::filesystem::path(path).stem().string());
  Player player(program, data.path, record, path.ends_with("/lifecycle.jsonrpc"));
  for (const Piece& piece : read_transcript(expected, sources)) {
    player.actual += piece.text;
    std::string problem = piece.problem.empty() && piece.step ? player.play(*piece.step) : piece.problem;
    if (!problem.empty()) {
      fmt::print("{}: {}\n  {}", path, problem, piece.text);
      return 2;
    }
  }
  player.end();
  if (player.actual == expected) { return 0; }
  const char* update = std::getenv("LOOPSMITH_UPDATE");
  if (update != nullptr && *update != '\0') {
    std::ofstream(path, std::ios::binary) << player.actual;
    fmt::print("{}: updated\n", path);
    return 0;
  }
  print_difference(path, expected, player.actual);
  return 1;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc == 4 && std::string(argv[1]) == "--from-record") { return from_record(argv[2], argv[3]); }
  if (argc != 4) {
    fmt::print("usage: golden-lsp LOOPSMITH SOURCES CASE.jsonrpc\n");
    return 2;
  }
  return run(argv[1], argv[2], argv[3]);
}
