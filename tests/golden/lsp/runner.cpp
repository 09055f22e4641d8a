// Runs a transcript against the real server, and compares what comes back.
//
// A transcript is text, one message a line:
//   # why this case exists                       comment
//   # records: PATH                              what is in the tuning database: a file of `loopsmith db export`, of the machine "@machine"
//   --> {"id":1,"method":"initialize",...}       sent ("jsonrpc" is added; "@file:PATH" strings are files of the source tree)
//   --> raw TEXT                                 sent as it is, with \r \n \\ escapes: for frames that are wrong
//   <-- {...}                                    expected, in this order, members sorted
// After a request everything up to its answer is read, an edit that the editor is asked to make counts as made; after anything else nothing is waited for. So a transcript puts
// `loopsmith/waitForState` where it wants diagnostics, and always between two edits of a document: whether the first is
// looked at by itself would hang on how fast the second comes. Comparing is exact, but for the server's version and, in
// all transcripts but `lifecycle`, what it can do.
//
//   golden-lsp LOOPSMITH SOURCES CASE.jsonrpc           LOOPSMITH_UPDATE=1 writes what came as what is expected
//   golden-lsp --from-record SESSION.jsonl CASE.jsonrpc makes a transcript of what an editor sent (`lsp --record`)
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "target/hardware.h"
#include "tests/unit/lsp/session.h"

namespace {

using namespace loopsmith;
using namespace loopsmith::lsp;

auto read_file(const std::string& path) -> std::string {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void expand_files(Json& json, const std::string& sources) {
  if (json.is_string()) {
    auto text = json.get<std::string>();
    if (text.starts_with("@file:")) { json = read_file(sources + "/" + text.substr(6)); }
  } else if (json.is_structured()) {
    for (Json& below : json) { expand_files(below, sources); }
  }
}

/// How much memory there is differs from machine to machine; what it is of does not.
void mask_bytes(Json& node) {
  node["bytes"] = 1;
  if (node.contains("text")) { node["text"] = "TEXT"; }
  if (node.contains("children")) {
    for (Json& child : node["children"]) { mask_bytes(child); }
  }
}

/// Where the pages lie that hovers link to differs, too.
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

auto unescaped(std::string_view text) -> std::string {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    char c = text[++i];
    out += c == 'n' ? '\n' : c == 'r' ? '\r' : c;
  }
  return out;
}

auto from_record(const char* record, const char* transcript) -> int {
  std::ifstream lines(record);
  std::ofstream out(transcript);
  for (std::string line; std::getline(lines, line);) {
    Json entry = Json::parse(line, nullptr, false);
    if (entry.is_discarded() || entry.value("from", "") != "client" || !entry.contains("message")) { continue; }
    Json message = entry["message"];
    message.erase("jsonrpc");
    out << "--> " << message.dump() << "\n";
  }
  return out.good() ? 0 : 1;
}

/// Puts lines of records into the database of a folder.
void fill_database(const std::string& program, const std::string& folder, std::string records) {
  constexpr std::string_view machine = "@machine";
  for (size_t at = records.find(machine); at != std::string::npos; at = records.find(machine, at)) { records.replace(at, machine.size(), target::machine_identity()); }
  std::ofstream(folder + "/records.jsonl") << records;
  (void)run_program({.argv = {program, "db", "import", folder + "/records.jsonl"}, .environment = {{"XDG_DATA_HOME", folder}}}, "", in(Session::patience));
}

auto run(const std::string& program, const std::string& sources, const std::string& path) -> int {
  std::string transcript = read_file(path);
  constexpr std::string_view records = "# records: ";
  DataFolder data;
  if (size_t at = transcript.find(records); at != std::string::npos) {
    at += records.size();
    fill_database(program, data.path, read_file(sources + "/" + transcript.substr(at, transcript.find('\n', at) - at)));
  }
  Session session({program, "lsp"}, {{"LOOPSMITH_TEST_FAULT", "1"}, {"LOOPSMITH_TEST_PATIENCE", "1"}, {"XDG_DATA_HOME", data.path}, {"XDG_CACHE_HOME", data.path}});
  std::istringstream lines(transcript);
  std::string expected;
  std::string actual;
  bool ended = false;
  std::string edited;  // The document whose edit nothing was asked after yet.
  bool with_capabilities = path.ends_with("/lifecycle.jsonrpc");
  for (std::string line; std::getline(lines, line);) {
    expected += line + "\n";
    if (line.starts_with("<-- ")) { continue; }
    actual += line + "\n";
    if (!line.starts_with("--> ")) { continue; }
    std::string text = line.substr(4);
    auto take = [&](const Json& message) {
      Json shown = message;
      normalise(shown, with_capabilities);
      actual += "<-- " + shown.dump() + "\n";
    };
    if (text.starts_with("raw ")) {
      session.send_bytes(unescaped(text.substr(4)));
      if (auto message = session.next()) { take(*message); }
      continue;
    }
    Json message = Json::parse(text, nullptr, false);
    if (message.is_discarded()) {
      fmt::print("{}: not JSON: {}\n", path, text);
      return 2;
    }
    expand_files(message, sources);
    bool is_request = message.contains("id") && message.contains("method");
    Json id = message.value("id", Json());
    ended = message.value("method", "") == "exit";
    if (std::string method = message.value("method", ""); method == "textDocument/didOpen" || method == "textDocument/didChange") {
      std::string document = message["params"]["textDocument"].value("uri", "");
      if (document == edited) {
        fmt::print("{}: two edits of {} and no request between them\n", path, document);
        return 2;
      }
      edited = document;
    } else if (is_request) {
      edited.clear();
    }
    session.send(std::move(message));
    while (is_request) {
      auto got = session.next();
      if (!got) {
        actual += "<-- (nothing)\n";
        break;
      }
      take(*got);
      if (got->value("method", "") == "workspace/applyEdit") { session.send({{"jsonrpc", "2.0"}, {"id", got->value("id", Json())}, {"result", {{"applied", true}}}}); }
      if (!got->contains("method") && got->value("id", Json()) == id) { break; }
    }
  }
  if (ended) {
    auto status = session.process().wait(in(Session::patience));
    actual += fmt::format("# exit status {}\n", status ? status->code : -1);
    if (expected.find("# exit status ") == std::string::npos) { expected += "\n"; }
  }
  // The last line is written by the runner; drop the one that was read.
  auto without_status = [](std::string text) {
    size_t at = text.rfind("# exit status ");
    return at == std::string::npos ? text : text.substr(0, at);
  };
  std::string status_line = actual.substr(actual.rfind("# exit status ") == std::string::npos ? actual.size() : actual.rfind("# exit status "));
  actual = without_status(actual);
  if (size_t again = actual.rfind("# exit status "); again != std::string::npos) { actual = actual.substr(0, again); }
  actual += status_line;
  if (actual == expected) { return 0; }
  const char* update = std::getenv("LOOPSMITH_UPDATE");
  if (update != nullptr && *update != '\0') {
    std::ofstream(path, std::ios::binary) << actual;
    fmt::print("{}: updated\n", path);
    return 0;
  }
  std::istringstream a(expected);
  std::istringstream b(actual);
  std::string want;
  std::string got;
  while (true) {
    bool more_a = static_cast<bool>(std::getline(a, want));
    bool more_b = static_cast<bool>(std::getline(b, got));
    if (!more_a && !more_b) { break; }
    if (!more_a) { want = "(end)"; }
    if (!more_b) { got = "(end)"; }
    if (want != got) {
      fmt::print("{}: differs\n  expected {}\n  got      {}\n", path, want, got);
      return 1;
    }
  }
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
