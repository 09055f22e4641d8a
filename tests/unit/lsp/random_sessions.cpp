// Random sessions with the real server: edits, requests of every kind at random places, cancellations, malformed messages, documents closed
// and opened again, without waiting. Each request is answered once. Some answers, and at the end all, equal the answers of a
// fresh server with the same texts, and no worker has died. Texts are an example or two and inputs of the source tree's tests; edits are typing,
// accidents, and steps of schedules. The seed is printed.
//
//   LOOPSMITH_SESSIONS=N plays N of them, LOOPSMITH_SECONDS=N plays for N seconds, LOOPSMITH_SEED=N is the first seed:
//     LOOPSMITH_SECONDS=3600 build/release/bin/unit_lsp_server 'random sessions*'
//   LOOPSMITH_RECORD=FOLDER stores each session as `lsp --record` does, for tests/e2e/protocol/run.mjs
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/support/paths.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/random_edits.h"
#include "tests/unit/lsp/session.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace loopsmith::lsp::random;

namespace {

/// Ids of results and versions of documents may differ between servers.
void normalise(Json& json) {
  if (json.is_object()) {
    json.erase("resultId");
    json.erase("version");
    for (auto& [key, value] : json.items()) { normalise(value); }
  } else if (json.is_array()) {
    for (Json& value : json) { normalise(value); }
  }
}

auto ask_all(Session& session, const Document& document, uint64_t seed) -> std::vector<std::pair<std::string, Json>> {
  std::vector<std::pair<std::string, Json>> answers;
  Random random{seed};
  auto ask = [&](const std::string& method, size_t line, size_t character) {
    Json answer = session.call(method, params_at(document, method, line, character));
    Json kept = answer.contains("result") ? answer["result"] : answer["error"];
    normalise(kept);
    // A list that is sent in pieces is the same list.
    if (kept.is_array() && (method == "textDocument/references" || method == "textDocument/documentSymbol")) {
      size_t before = session.received.size();
      Json params = params_at(document, method, line, character);
      params["partialResultToken"] = "pieces";
      Json rest = session.call(method, params)["result"];
      Json all = Json::array();
      for (size_t i = before; i < session.received.size(); ++i) {
        const Json& message = session.received[i];
        if (message.value("method", "") != "$/progress" || message["params"]["token"] != "pieces") { continue; }
        for (const Json& item : message["params"]["value"]) { all.push_back(item); }
      }
      normalise(all);
      INFO(method << " at " << line + 1 << ":" << character + 1 << " of " << document.uri << "\n" << document.text());
      CHECK(rest == Json::array());
      CHECK(all == kept);
    }
    answers.emplace_back(fmt::format("{} at {}:{}", method, line + 1, character + 1), std::move(kept));
  };
  for (const std::string& method : of_document) { ask(method, 0, 0); }
  for (int i = 0; i < 8; ++i) {
    size_t line = random.below(document.lines.size());
    size_t character = random.below(document.lines[line].size() + 1);
    for (const std::string& method : at_position) { ask(method, line, character); }
    for (const std::string& method : of_range) { ask(method, line, character); }
  }
  return answers;
}

/// Methods whose answers depend on the text of one document alone. Other answers may show the state before a replay and be sent again (tokens,
/// completion), or cover several documents and all edits that arrived before the answer.
const std::set<std::string> of_text = {"textDocument/formatting",     "textDocument/rangeFormatting", "textDocument/rangesFormatting", "textDocument/onTypeFormatting",
                                       "textDocument/foldingRange",   "textDocument/selectionRange",  "textDocument/prepareRename"};

/// A request that was sent while texts changed, with the editor's texts at that moment.
struct OnTheWay {
  int id = 0;
  std::string method;
  Json params;
  std::vector<std::pair<std::string, std::string>> texts;   // address, text
};

/// Compares an answer to a request whose texts changed afterwards with the answer of a fresh server with the texts of the request.
void compare(Session& session, const OnTheWay& asked) {
  Json answer = session.answer(asked.id);
  if (!answer.contains("result")) { return; }
  Json ours = answer["result"];
  Session fresh({tests::loopsmith_program(), "lsp"}, {{"LOOPSMITH_TEST_PATIENCE", "1"}});
  fresh.initialize();
  for (const auto& [uri, text] : asked.texts) { fresh.open(uri, text); }
  for (const auto& [uri, text] : asked.texts) { (void)fresh.wait_for(uri, 1); }
  Json theirs = fresh.call(asked.method, asked.params)["result"];
  normalise(ours);
  normalise(theirs);
  INFO("on the way: " << asked.method << " " << asked.params.dump() << "\n" << asked.texts[0].second);
  CHECK(ours == theirs);
  CHECK(fresh.goodbye() == 0);
}

// The documents of a session. The last one imports from the others, in any state of these.
auto starting_documents(Random& random) -> std::vector<Document> {
  static const std::vector<std::string> texts = corpus(150);
  const std::string importing = "from a import matmul\nfrom c import *\nimport b\n\n\n@ls.schedule(matmul)\ndef elsewhere(sch: tir.Schedule) -> None:\n    i, j, k = sch.get_loops(\"C\")\n    i0, i1 = sch.split(i, factors=[None, 8])\n"
                                "    sch.parallel(i0)\n    sch.reorder(k, j)\n\n\n@ls.schedule(softmax)\ndef further(sch: tir.Schedule) -> None:\n    sch.parallel(sch.get_loops(sch.get_child_blocks(sch.get_block(\"root\"))[0])[0])\n";
  // Schedules in the main part of a file, one of them for the result of another one.
  const std::string main_block = "\n\nif __name__ == \"__main__\":\n    sch = tir.Schedule(softmax)\n    i, k = sch.get_loops(\"largest\")\n    i0, i1 = sch.split(i, factors=[None, 8])\n    again = tir.Schedule(sch.mod)\n"
                                 "    again.parallel(again.get_loops(\"largest\")[0])\n    again.fuse(*again.get_loops(\"exps\"))\n    sch.unroll(i1)\n";
  const std::pair<std::string, const char*> sources[] = {{tests::source_text("examples/matmul.tir"), "file:///a.tir"}, {random.one_of(texts), "file:///b.tir"}, {tests::source_text("examples/softmax.tir") + main_block, "file:///c.py"}, {importing, "file:///d.tir"}};
  std::vector<Document> documents;
  for (const auto& [text, uri] : sources) {
    Document document{uri, 1, lines_of(text)};
    if (document.lines.empty()) { document.lines.emplace_back(); }
    if (document.uri.ends_with(".py")) { document.lines.insert(document.lines.begin(), {"import numpy as np", "from tvm.script import tir as T", "from tvm import tir"}); }
    documents.push_back(std::move(document));
  }
  return documents;
}

/// The requests of a session so far.
struct Requests {
  std::vector<int> ids;
  std::vector<OnTheWay> on_the_way;
};

void ask_at_random(Session& session, const Document& document, const std::vector<Document>& documents, Requests& asked, Random& random) {
  size_t line = random.below(document.lines.size() + 2);
  const std::vector<std::string>* kinds[] = {&of_document, &at_position, &of_range};
  const std::string& method = random.one_of(*kinds[random.below(3)]);
  Json params = params_at(document, method, line, random.below(60));
  asked.ids.push_back(session.request(method, params));
  if (asked.on_the_way.size() >= (tests::is_sanitized ? 1 : 3) || !of_text.contains(method)) { return; }
  asked.on_the_way.push_back({asked.ids.back(), method, std::move(params), {{document.uri, document.text()}}});
  for (const Document& other : documents) {
    if (&other != &document) { asked.on_the_way.back().texts.emplace_back(other.uri, other.text()); }
  }
}

// An edit, a cancellation, a malformed message, a document opened again, or a request.
void act(Session& session, std::vector<Document>& documents, Requests& asked, Random& random) {
  Document& document = documents[random.below(documents.size())];
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2: {
      Json changes = Json::array();
      for (size_t i = 0; i <= random.below(2); ++i) { changes.push_back(random_change(document, random)); }
      session.notify("textDocument/didChange", {{"textDocument", {{"uri", document.uri}, {"version", ++document.version}}}, {"contentChanges", changes}});
      break;
    }
    case 3:
      if (!asked.ids.empty()) { session.notify("$/cancelRequest", {{"id", random.one_of(asked.ids)}}); }
      break;
    case 4: {
      static const std::vector<std::string> malformed = {R"({"method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///nowhere.tir"}}})", R"({"jsonrpc":"2.0","method":7})", "{", R"([])",
                                                         R"({"jsonrpc":"2.0","method":"textDocument/didOpen","params":[]})", R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{}})"};
      session.send_bytes(framed(random.one_of(malformed)));
      break;
    }
    case 5:
      if (random.below(3) == 0) {
        session.notify("textDocument/didClose", {{"textDocument", {{"uri", document.uri}}}});
        document.version = 1;
        session.open(document.uri, document.text());
        break;
      }
      [[fallthrough]];
    default: ask_at_random(session, document, documents, asked, random);
  }
}

// Every request is answered once, with a result or with an error code of the protocol, and no worker died.
void check_answers(Session& session, const std::vector<int>& asked) {
  for (int id : asked) {
    Json answer = session.answer(id);
    INFO("request " << id << ": " << answer.dump());
    REQUIRE(answer.is_object());
    if (answer.contains("error")) {
      int code = answer["error"]["code"];
      CHECK((code == -32800 || code == -32801 || code == -32602 || (code == -32803 && answer["error"]["message"].get<std::string>().find("crashed") == std::string::npos)));
    }
  }
  std::map<int, int> times;
  for (const Json& message : session.received) {
    if (!message.contains("method") && message.value("id", Json()).is_number_integer()) { ++times[message["id"].get<int>()]; }
  }
  for (auto [id, count] : times) { CHECK(count == 1); }
  for (const Json& message : session.received) {
    // The front reports a worker that died.
    INFO(message.dump());
    CHECK((message.value("method", "") != "window/logMessage" || message["params"]["message"].get<std::string>().find("worker") == std::string::npos));
  }
}

// The answers of a fresh server with the final texts are the same.
void compare_with_fresh(Session& session, const std::vector<Document>& documents, uint64_t seed) {
  Session fresh({tests::loopsmith_program(), "lsp"}, {{"LOOPSMITH_TEST_PATIENCE", "1"}});
  fresh.initialize();
  for (const Document& document : documents) { fresh.open(document.uri, document.text()); }
  for (const Document& document : documents) {
    (void)session.wait_for(document.uri, document.version);
    (void)fresh.wait_for(document.uri, 1);
  }
  for (const Document& document : documents) {
    Json published = session.diagnostics(document.uri);
    CHECK(published == fresh.diagnostics(document.uri));
    auto ours = ask_all(session, document, seed);
    auto theirs = ask_all(fresh, document, seed);
    REQUIRE(ours.size() == theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) {
      INFO(document.uri << ": " << ours[i].first << "\n" << document.text());
      REQUIRE(ours[i].second == theirs[i].second);
    }
  }
  CHECK(fresh.goodbye() == 0);
}

void play(uint64_t seed) {
  INFO("seed " << seed);
  Random random{seed};
  const char* records = std::getenv("LOOPSMITH_RECORD");
  std::vector<std::string> argv = {tests::loopsmith_program(), "lsp"};
  if (records != nullptr) { argv.insert(argv.end(), {"--record", fmt::format("{}/{}.jsonl", records, seed)}); }
  Session session(argv, {{"LOOPSMITH_TEST_PATIENCE", "1"}});
  session.initialize();
  std::vector<Document> documents = starting_documents(random);
  for (const Document& document : documents) { session.open(document.uri, document.text()); }
  Requests asked;
  for (int step = 0; step < 60; ++step) { act(session, documents, asked, random); }
  check_answers(session, asked.ids);
  for (const OnTheWay& one : asked.on_the_way) { compare(session, one); }
  compare_with_fresh(session, documents, seed);
  CHECK(session.goodbye() == 0);
}

}  // namespace

TEST_CASE("random sessions end with the answers of a fresh server") {
  auto number = [](const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
  };
  uint64_t seed = number("LOOPSMITH_SEED", 1);
  uint64_t seconds = number("LOOPSMITH_SECONDS", 0);
  uint64_t sessions = number("LOOPSMITH_SESSIONS", seconds > 0 ? UINT64_MAX : tests::is_sanitized ? 1 : 4);
  Deadline end = seconds > 0 ? in(std::chrono::seconds(seconds)) : never();
  uint64_t played = 0;
  for (; played < sessions && Clock::now() < end; ++played) { play(seed + played); }
  if (seconds > 0) { fmt::print("{} sessions, seeds {} to {}\n", played, seed, seed + played - 1); }
}
