// Any bytes can be sent to the language server, in pieces of any size: the front answers every request once and continues.
// The worker answers every request that it knows, with any parameters.
#include <map>

#include "lsp/protocol/framing.h"
#include "lsp/server/front.h"
#include "lsp/worker/routes.h"
#include "support/hash.h"
#include "tests/fuzz/fuzz.h"

namespace loopsmith::fuzz {
namespace {

using namespace lsp;

struct Stage final : lsp::Host {
  std::string sent;  // to the editor
  int bad = 0;
  bool ended = false;
  FrameReader reader;
  void to_client(std::string frame) override {
    reader.feed(frame);
    while (auto got = reader.next()) {
      if (!got->problem.empty() || Json::parse(got->body, nullptr, false).is_discarded()) { ++bad; }
    }
  }
  void to_worker(std::string) override {}
  auto start_worker() -> bool override { return true; }
  void kill_worker() override {}
  void hold_jobs() override {}
  void let_jobs_go() override {}
  auto worker_cpu() -> std::chrono::duration<double> override { return {}; }
  void quit(int) override { ended = true; }
  auto start_job(JobId, const std::vector<std::string>&, const std::string&) -> std::optional<std::string> override { return "no jobs here"; }
  void signal_job(JobId, int) override {}
};

auto snapshot() -> const workspace::SnapshotPtr& {
  static const auto document = workspace::analyse("file:///a.tir", program_seeds()[0]);
  static const workspace::SnapshotPtr held = document->snapshot();
  return held;
}

}  // namespace

void check_input(std::string_view input) {
  {
    Stage stage;
    Front front(stage, FrontOptions{});
    front.start();
    size_t piece = 1 + hash_bytes(input) % 60;
    for (size_t at = 0; at < input.size() && !stage.ended; at += piece) { front.on_client_bytes(input.substr(at, piece)); }
    front.on_tick();
    if (!stage.ended) { front.on_client_end(); }
    if (stage.bad != 0) { fail("the front sends what is no message", input); }
  }
  FrameReader reader;
  reader.feed(input);
  while (auto frame = reader.next()) {
    if (!frame->problem.empty()) { continue; }
    Json message = Json::parse(frame->body, nullptr, false);
    if (!message.is_object() || !message.contains("method") || !message["method"].is_string()) { continue; }
    const MethodRow* row = find_method(message["method"].get<std::string>());
    const Route* route = row != nullptr ? find_route(row->method) : nullptr;
    if (route == nullptr) { continue; }
    static const Json capabilities = Json::object();
    static const std::map<uint64_t, JobFacts> jobs;
    SentTokens tokens;
    RouteContext context{.snapshot = snapshot().get(), .capabilities = capabilities, .jobs = jobs, .cancel = {}, .sent_tokens = &tokens,
                         .find = [](const std::string&) -> const workspace::Snapshot* { return snapshot().get(); },
                         .documents = {snapshot().get()}};
    RouteResult result = route->answer(context, message.contains("params") ? message["params"] : Json());
    if (const Json* json = std::get_if<Json>(&result)) { (void)json->dump(); }
  }
}

auto seeds() -> std::vector<std::string> {
  const std::string document = R"("textDocument":{"uri":"file:///a.tir"})";
  const std::string position = R"("position":{"line":14,"character":9})";
  const std::string range = R"("range":{"start":{"line":1,"character":0},"end":{"line":20,"character":4}})";
  std::vector<std::string> out = {framed(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"capabilities":{}}})") + framed(R"({"method":"initialized","params":{}})") +
                                  framed(R"({"method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a.tir","languageId":"tirscript","version":1,"text":"x = 1\n"}}})") +
                                  framed(R"({"method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a.tir","version":2},"contentChanges":[{)" + range + R"(,"text":"y"}]}})") +
                                  framed(R"({"id":2,"method":"shutdown"})") + framed(R"({"method":"exit"})")};
  for (const char* method : {"hover", "definition", "references", "documentHighlight", "rename", "prepareRename", "declaration", "rangesFormatting", "completion", "signatureHelp", "codeAction", "codeLens", "inlayHint",
                             "selectionRange", "foldingRange", "documentSymbol", "formatting", "rangeFormatting", "onTypeFormatting", "semanticTokens/full"}) {
    out.push_back(framed(R"({"jsonrpc":"2.0","id":7,"method":"textDocument/)" + std::string(method) + R"(","params":{)" + document + "," + position + "," + range +
                         R"(,"ranges":[{)" + range.substr(9, range.size() - 10) + R"(}],"newName":"z","positions":[{"line":3,"character":2}],"context":{"includeDeclaration":true,"diagnostics":[]},"ch":"\n","options":{"tabSize":4,"insertSpaces":true}}})"));
  }
  out.push_back(framed(R"({"jsonrpc":"2.0","id":8,"method":"workspace/willRenameFiles","params":{"files":[{"oldUri":"file:///a.tir","newUri":"file:///b/c.tir"}]}})"));
  return out;
}
auto pieces() -> std::vector<std::string> {
  return {"Content-Length: 20\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n", "\r\n", "Content-Type: x\r\n", "{", "}", "[", "]", ",", ":", "\"", "\"id\":", "null", "-1", "4294967296", "1e99",
          "\"method\":", "\"params\":", "\"textDocument/hover\"", "\"$/cancelRequest\"", "\"loopsmith/ir\"", "\\ud800", "\xff", "\"line\":", "\"character\":", "\"workspace/executeCommand\""};
}

}  // namespace loopsmith::fuzz
