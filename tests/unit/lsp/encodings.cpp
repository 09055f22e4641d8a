// The same document in three editors: one counts bytes, one 16-bit units, one code points. The same requests at the same
// places get the same places, and the same diagnostics are published.
#include <fmt/format.h>

#include <set>

#include "lsp/protocol/encoding.h"
#include "tests/support/effort.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/random_edits.h"
#include "tests/unit/lsp/session.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace loopsmith::lsp::random;

namespace {

// Letters of two, three and four bytes, one of them beside a combining accent, in front of the requested places.
const std::string text =
    "# 😀 größe\n\n\n@T.prim_func\ndef größe(\n    A: T.Buffer((64, 64), \"float32\"), é中: T.Buffer((64, 64), \"float32\"), C: T.Buffer((64, 64), \"float32\")\n):\n"
    "    for i, j, k in T.grid(64, 64, 64):\n        with T.block(\"C😀\"):\n            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            with T.init():\n                C[vi, vj] = T.float32(0)\n"
    "            C[vi, vj] = é中[vk, vj] * A[vi, vk] + C[vi, vj]\n    for i, j in T.grid(64, 64):\n        with T.block(\"e\xCC\x81\"):\n            é, vj = T.axis.remap(\"SS\", [i, j]); C[é, vj + 1] = é中[é, vj] + C[é, vj]\n\n\n"
    "@ls.schedule(größe, target=\"llvm\")\ndef s(sch: tir.Schedule) -> None:\n    ü = sch.get_block(\"C😀\"); i, j, k = sch.get_loops(ü); acc = sch.cache_write(ü, 0, \"local\")\n"
    "    \"\"\"😀\"\"\"; i0, i1 = sch.split(i, factors=[None, 8]); sch.reorder(i0, k, i1); sch.reverse_compute_at(acc, i0)\n    '中'; sch.parallel(k); sch.vectorize(j)\n    sch.unroll(i1); sch.nothing(\"é\", i0)\n    größer = sch.get_block(\"e\xCC\x81\"); sch.get_loops(größer)\n";

auto name_of(Encoding encoding) -> std::string { return std::string(encoding_name(encoding)); }

/// Converts every position of an answer to bytes.
void in_bytes(Json& json, const std::vector<std::string>& lines, Encoding encoding) {
  if (json.is_object() && json.contains("line") && json.contains("character") && json["line"].is_number_unsigned() && json["character"].is_number_unsigned()) {
    auto line = json["line"].get<size_t>();
    if (line < lines.size()) { json["character"] = column_to_bytes(lines[line], json["character"].get<uint32_t>(), encoding); }
    return;
  }
  if (!json.is_structured()) { return; }
  for (auto& value : json) { in_bytes(value, lines, encoding); }
}

/// Converts semantic tokens, which the protocol sends as differences, to line, first and last byte, type and modifiers.
auto tokens_in_bytes(const Json& data, const std::vector<std::string>& lines, Encoding encoding) -> Json {
  Json out = Json::array();
  size_t line = 0;
  uint32_t at = 0;
  for (size_t i = 0; i + 4 < data.size(); i += 5) {
    if (data[i].get<size_t>() > 0) { at = 0; }
    line += data[i].get<size_t>();
    at += data[i + 1].get<uint32_t>();
    uint32_t from = column_to_bytes(lines.at(line), at, encoding);
    uint32_t to = column_to_bytes(lines.at(line), at + data[i + 2].get<uint32_t>(), encoding);
    CHECK(from < to);
    out.push_back({line, lines.at(line).substr(from, to - from), from, data[i + 3], data[i + 4]});
  }
  return out;
}

void without_ids(Json& json) {
  if (json.is_object()) { json.erase("resultId"); }
  if (!json.is_structured()) { return; }
  for (auto& value : json) { without_ids(value); }
}

}  // namespace

TEST_CASE("editors that count bytes, 16-bit units and code points get the same places") {
  const std::string uri = "file:///a.tir";
  const std::vector<std::string> lines = lines_of(text);
  const Encoding encodings[] = {Encoding::Utf8, Encoding::Utf16, Encoding::Utf32};
  std::vector<std::vector<std::pair<std::string, Json>>> answered;
  for (Encoding encoding : encodings) {
    Session session({tests::loopsmith_program(), "lsp"}, {{"LOOPSMITH_TEST_PATIENCE", "1"}});
    session.initialize({{"general", {{"positionEncodings", {name_of(encoding)}}}}});
    session.open(uri, text);
    CHECK(session.wait_for(uri, 1)["result"]["state"] == "done");
    std::vector<std::pair<std::string, Json>> answers;
    auto keep = [&](std::string what, Json answer) {
      without_ids(answer);
      in_bytes(answer, lines, encoding);
      answers.emplace_back(std::move(what), std::move(answer));
    };
    keep("diagnostics", session.diagnostics(uri));
    Document document{uri, 1, lines};
    for (const std::string& method : of_document) {
      Json answer = session.call(method, params_at(document, method, 0, 0))["result"];
      if (method == "textDocument/semanticTokens/full") { answer = tokens_in_bytes(answer["data"], lines, encoding); }
      keep(method, std::move(answer));
    }
    for (size_t line = 0; line < lines.size(); line += tests::stride(5)) {
      // Beginnings of words, and places between them. The requests of a line are sent together, so that the test need not wait for each answer.
      std::vector<std::pair<std::string, int>> asked;
      for (uint32_t byte = 0; byte <= lines[line].size(); byte += byte % 3 == 0 ? 5 : 3) {
        uint32_t column = bytes_to_column(lines[line], byte, encoding);
        if (column_to_bytes(lines[line], column, encoding) != byte) { continue; }
        for (const std::vector<std::string>* methods : {&at_position, &of_range}) {
          for (const std::string& method : *methods) {
            // These answers are about other texts (programs that a schedule makes), are differences (tokens), or are about the whole text.
            static const std::set<std::string> left = {"loopsmith/ir", "loopsmith/loops", "loopsmith/viewMoves", "loopsmith/viewHover", "textDocument/semanticTokens/range", "workspace/willRenameFiles", "textDocument/inlayHint"};
            if (left.contains(method) || (method == "textDocument/codeAction" && byte % 2 == 1)) { continue; }
            Json params = params_at(document, method, line, column);
            // Members that are not positions are equal for all editors.
            Json others = params_at(document, method, line, byte);
            for (const char* name : {"place", "primitive"}) {
              if (params.contains(name)) { params[name] = others[name]; }
            }
            asked.emplace_back(fmt::format("{} at line {}, byte {}", method, line + 1, byte), session.request(method, params));
          }
        }
      }
      for (auto& [what, id] : asked) { keep(std::move(what), session.answer(id)["result"]); }
    }
    Json hints = session.call("textDocument/inlayHint", params_at(document, "textDocument/inlayHint", 0, 0))["result"];
    CHECK(hints.size() > 1);
    keep("hints", std::move(hints));
    answered.push_back(std::move(answers));
    CHECK(session.goodbye() == 0);
  }
  CHECK(answered[0].size() > (tests::is_sanitized ? 100 : 500));
  CHECK(answered[0][0].second.size() > 2);
  for (size_t e = 1; e < answered.size(); ++e) {
    REQUIRE(answered[e].size() == answered[0].size());
    for (size_t i = 0; i < answered[0].size(); ++i) {
      INFO(name_of(encodings[e]) << ": " << answered[0][i].first);
      CHECK(answered[e][i].second == answered[0][i].second);
    }
  }
}
