// Random sessions with the real server: edits, requests of every kind at random places, cancellations, malformed messages, documents closed
// and opened again, nothing waited for. Each request is answered once; at the end every answer equals that of a fresh server that was given
// the final texts. The seed is printed; LOOPSMITH_SESSIONS=N plays N of them, LOOPSMITH_SEED=S begins with that one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "support/hash.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/session.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

struct Random {
  uint64_t state;
  auto below(size_t n) -> size_t { return n == 0 ? 0 : static_cast<size_t>((state = hash_combine(state, 0x9e37)) >> 8) % n; }
  template <class T>
  auto one_of(const std::vector<T>& list) -> const T& { return list[below(list.size())]; }
};

auto file(const std::string& path) -> std::string {
  std::ifstream in(std::string(LOOPSMITH_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

auto lines_of(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) { lines.push_back(line); }
  return lines;
}

struct Document {
  std::string uri;
  int version = 1;
  std::vector<std::string> lines;
  [[nodiscard]] auto text() const -> std::string {
    std::string out;
    for (const std::string& line : lines) { out += line + "\n"; }
    return out;
  }
};

auto is_ascii(const std::string& text) -> bool { return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }); }

auto position(size_t line, size_t character) -> Json { return {{"line", line}, {"character", character}}; }
auto range(size_t line, size_t from, size_t to_line, size_t to) -> Json { return {{"start", position(line, from)}, {"end", position(to_line, to)}}; }

/// A change of whole lines, or inside a line, and the same done to our copy.
auto random_change(Document& document, Random& random) -> Json {
  static const std::vector<std::string> additions = {"    sch.", "    sch.parallel(", "x = 1", "    # 😀 comment", ")", "    i, j = sch.get_loops(\"C\")", "    for q in range(4):", "\"\"\"", "@T.prim_func", ""};
  size_t at = random.below(document.lines.size());
  std::string& line = document.lines[at];
  switch (random.below(5)) {
    case 0: {
      std::string added = random.one_of(additions);
      document.lines.insert(document.lines.begin() + static_cast<std::ptrdiff_t>(at), added);
      return {{"range", range(at, 0, at, 0)}, {"text", added + "\n"}};
    }
    case 1:
      if (document.lines.size() > 5) {
        document.lines.erase(document.lines.begin() + static_cast<std::ptrdiff_t>(at));
        return {{"range", range(at, 0, at + 1, 0)}, {"text", ""}};
      }
      break;
    case 2: {
      std::string copy = line;
      document.lines.insert(document.lines.begin() + static_cast<std::ptrdiff_t>(at), copy);
      return {{"range", range(at, 0, at, 0)}, {"text", copy + "\n"}};
    }
    default: break;
  }
  if (!is_ascii(line) || line.empty()) { return {{"range", range(at, 0, at, 0)}, {"text", ""}}; }
  size_t from = random.below(line.size());
  size_t to = std::min(line.size(), from + random.below(4));
  std::string typed = std::string(random.below(3), "a8.(\", "[random.below(7)]);
  line = line.substr(0, from) + typed + line.substr(to);
  return {{"range", range(at, from, at, to)}, {"text", typed}};
}

const std::vector<std::string> at_position = {"textDocument/hover", "textDocument/completion", "textDocument/signatureHelp", "textDocument/definition",
                                              "textDocument/references", "textDocument/documentHighlight", "textDocument/prepareRename",
                                              "textDocument/prepareCallHierarchy"};
const std::vector<std::string> of_document = {"textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/semanticTokens/full", "textDocument/codeLens",
                                              "textDocument/formatting", "textDocument/diagnostic", "textDocument/documentLink"};

auto params_at(const Document& document, const std::string& method, size_t line, size_t character) -> Json {
  Json params = {{"textDocument", {{"uri", document.uri}}}};
  if (std::find(at_position.begin(), at_position.end(), method) != at_position.end()) { params["position"] = position(line, character); }
  if (method == "textDocument/references") { params["context"] = {{"includeDeclaration", true}}; }
  if (method == "textDocument/codeAction") {
    params["range"] = range(line, character, line, character);
    params["context"] = {{"diagnostics", Json::array()}};
  }
  if (method == "textDocument/inlayHint") { params["range"] = range(0, 0, document.lines.size(), 0); }
  return params;
}

/// Ids of results and versions of documents are the server's own affair.
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
    answers.emplace_back(fmt::format("{} at {}:{}", method, line + 1, character + 1), std::move(kept));
  };
  for (const std::string& method : of_document) { ask(method, 0, 0); }
  ask("textDocument/inlayHint", 0, 0);
  for (int i = 0; i < 8; ++i) {
    size_t line = random.below(document.lines.size());
    size_t character = random.below(document.lines[line].size() + 1);
    for (const std::string& method : at_position) { ask(method, line, character); }
    ask("textDocument/codeAction", line, character);
  }
  return answers;
}

void play(uint64_t seed) {
  INFO("seed " << seed);
  Random random{seed};
  Session session({LOOPSMITH_PROGRAM, "lsp"});
  session.initialize();
  std::vector<Document> documents;
  const std::pair<const char*, const char*> sources[] = {{"examples/matmul.tir", "file:///a.tir"}, {"tests/golden/lsp/helpers.tir", "file:///b.tir"}, {"examples/softmax.tir", "file:///c.py"}};
  for (auto [path, uri] : sources) {
    Document document{uri, 1, lines_of(file(path))};
    if (document.uri.ends_with(".py")) { document.lines.insert(document.lines.begin(), {"import numpy as np", "from tvm.script import tir as T", "from tvm import tir"}); }
    session.open(document.uri, document.text());
    documents.push_back(std::move(document));
  }
  std::vector<int> asked;
  for (int step = 0; step < 60; ++step) {
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
        if (!asked.empty()) { session.notify("$/cancelRequest", {{"id", random.one_of(asked)}}); }
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
      default: {
        size_t line = random.below(document.lines.size() + 2);
        const std::string& method = random.below(3) == 0 ? random.one_of(of_document) : random.one_of(at_position);
        asked.push_back(session.request(method, params_at(document, method, line, random.below(60))));
      }
    }
  }
  // Every request is answered, with a result or for a reason that the protocol knows.
  for (int id : asked) {
    Json answer = session.answer(id);
    INFO("request " << id << ": " << answer.dump());
    REQUIRE(answer.is_object());
    if (answer.contains("error")) {
      int code = answer["error"]["code"];
      CHECK((code == -32800 || code == -32801 || code == -32602));
    }
  }
  std::map<int, int> times;
  for (const Json& message : session.received) {
    if (!message.contains("method") && message.value("id", Json()).is_number_integer()) { ++times[message["id"].get<int>()]; }
  }
  for (auto [id, count] : times) { CHECK(count == 1); }
  for (const Document& document : documents) {
    (void)session.wait_for(document.uri, document.version);
    Session fresh({LOOPSMITH_PROGRAM, "lsp"});
    fresh.initialize();
    fresh.open(document.uri, document.text());
    (void)fresh.wait_for(document.uri, 1);
    Json published = session.diagnostics(document.uri);
    CHECK(published == fresh.diagnostics(document.uri));
    auto ours = ask_all(session, document, seed);
    auto theirs = ask_all(fresh, document, seed);
    REQUIRE(ours.size() == theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) {
      INFO(document.uri << ": " << ours[i].first << "\n" << document.text());
      REQUIRE(ours[i].second == theirs[i].second);
    }
    CHECK(fresh.goodbye() == 0);
  }
  CHECK(session.goodbye() == 0);
}

}  // namespace

TEST_CASE("random sessions end with the answers of a fresh server") {
  const char* sessions = std::getenv("LOOPSMITH_SESSIONS");
  const char* first = std::getenv("LOOPSMITH_SEED");
  uint64_t seed = first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
  // 142: a schedule had run for a program that was then broken, and its variables were still told apart.
  if (first == nullptr) { play(142); }
  for (uint64_t i = 0; i < (sessions != nullptr ? std::strtoull(sessions, nullptr, 10) : 4); ++i) { play(seed + i); }
}
