// Parts of random sessions: texts that change as by users and by accidents, the same changes as messages of the protocol, and
// requests of every kind at random places. A seed repeats everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsp/protocol/json.h"
#include "support/hash.h"
#include "tests/support/paths.h"

namespace loopsmith::lsp::random {

struct Random {
  uint64_t state;
  auto below(size_t n) -> size_t { return n == 0 ? 0 : static_cast<size_t>((state = hash_combine(state, 0x9e37)) >> 8) % n; }
  template <class T>
  auto one_of(const std::vector<T>& list) -> const T& { return list[below(list.size())]; }
};

inline auto lines_of(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) { lines.push_back(line); }
  return lines;
}

/// Texts of the source tree with at most `most_lines` lines, in a fixed order: examples, and inputs of tests.
inline auto corpus(size_t most_lines) -> std::vector<std::string> {
  std::vector<std::string> paths;
  const std::filesystem::path root(tests::source_folder());
  for (const char* folder : {"examples", "tests/golden/frontend", "tests/golden/schedule", "tests/golden/analysis", "tests/golden/lsp", "tests/language/data"}) {
    std::error_code none;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder, none)) {
      if (entry.path().extension() == ".tir" || entry.path().extension() == ".py") { paths.push_back(std::filesystem::relative(entry.path(), root).string()); }
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    std::string text = tests::source_text(path);
    if (static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) <= most_lines) { texts.push_back(std::move(text)); }
  }
  return texts;
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

inline auto is_ascii(std::string_view text) -> bool {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

inline auto position(size_t line, size_t character) -> Json { return {{"line", line}, {"character", character}}; }
inline auto range(size_t line, size_t from, size_t to_line, size_t to) -> Json { return {{"start", position(line, from)}, {"end", position(to_line, to)}}; }

/// A step of a schedule with arbitrary variables and numbers: most of these are refused.
inline auto random_step(Random& random) -> std::string {
  static const std::vector<std::string> steps = {
      "i, j, k = sch.get_loops(\"C\")", "b = sch.get_block(\"C\")", "l = sch.get_loops(b)[0]", "i0, i1 = sch.split(i, factors=[None, 8])", "sch.split(l, [2, None, 3])", "sch.fuse(i, j)",
      "f = sch.fuse(i0, i1)", "sch.reorder(k, i)", "sch.reorder(i1, j, k)", "sch.parallel(i0)", "sch.vectorize(j)", "sch.unroll(k)", "w = sch.cache_write(b, 0, \"global\")",
      "r = sch.cache_read(b, 0, \"local\")", "sch.compute_at(r, i0)", "sch.reverse_compute_at(w, j)", "sch.compute_inline(b)", "sch.decompose_reduction(b, k)", "rf = sch.rfactor(k, 0)",
      "sch.transform_layout(b, (\"write\", 0), lambda i, j: [j, i])", "sch.annotate(l, \"pragma_auto_unroll_max_step\", 64)", "sch.tensorize(k, \"dot_4x4\")", "sch.pad_einsum(b, [1, 1, 3])",
      "sch.blockize(j)", "v = sch.sample_perfect_tile(i, n=2)", "sch.bind(i, \"threadIdx.x\")", "sch.storage_align(b, 0, 0, 32, 8)", "sch.set_scope(b, 0, \"shared\")", "sch.loop_partition(i, [3, None])",
      "sch.merge(i, j)", "sch.add_unit_loop(b)", "sch.work_on(\"main\")", "for q in range(3):\n        sch.split(l, [q, None])"};
  return "    " + random.one_of(steps);
}

/// Changes the copy in the test, and returns the same change as the protocol writes it: whole lines, parts of lines, doubled tokens, steps of schedules.
inline auto random_change(Document& document, Random& random) -> Json {
  static const std::vector<std::string> additions = {"    sch.", "    sch.parallel(", "x = 1", "    # 😀 comment", ")", "    i, j = sch.get_loops(\"C\")", "    for q in range(4):", "\"\"\"", "@T.prim_func", "",
                                                     "\tvi = T.axis.spatial(", "@ls.schedule(matmul)", "def s(sch: tir.Schedule):", "            A[vi, vj] = A[vi,", "        with T.block(\"C\"):", "class M:", "e\xCC\x81 = 1"};
  size_t at = random.below(document.lines.size());
  std::string& line = document.lines[at];
  auto insert = [&](const std::string& text) -> Json {
    std::vector<std::string> added = lines_of(text + "\n");
    document.lines.insert(document.lines.begin() + static_cast<std::ptrdiff_t>(at), added.begin(), added.end());
    return {{"range", range(at, 0, at, 0)}, {"text", text + "\n"}};
  };
  switch (random.below(7)) {
    case 0: return insert(random.one_of(additions));
    case 1:
      if (document.lines.size() > 5) {
        document.lines.erase(document.lines.begin() + static_cast<std::ptrdiff_t>(at));
        return {{"range", range(at, 0, at + 1, 0)}, {"text", ""}};
      }
      break;
    case 2: return insert(std::string(line));
    case 3: return insert(random_step(random));
    default: break;
  }
  if (!is_ascii(line) || line.empty()) { return {{"range", range(at, 0, at, 0)}, {"text", ""}}; }
  size_t from = random.below(line.size());
  size_t to = std::min(line.size(), from + random.below(4));
  std::string typed = random.below(4) == 0 ? line.substr(from, to - from) + line.substr(from, to - from) : std::string(random.below(3), "a8.(\", "[random.below(7)]);
  line = line.substr(0, from) + typed + line.substr(to);
  return {{"range", range(at, from, at, to)}, {"text", typed}};
}

inline const std::vector<std::string> at_position = {"textDocument/hover", "textDocument/completion", "textDocument/signatureHelp", "textDocument/definition", "textDocument/declaration",
                                                     "textDocument/references", "textDocument/documentHighlight", "textDocument/prepareRename",
                                                     "textDocument/prepareCallHierarchy", "textDocument/typeDefinition", "textDocument/implementation", "loopsmith/ir", "loopsmith/loops"};
inline const std::vector<std::string> of_document = {"textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/semanticTokens/full", "textDocument/codeLens",
                                                     "textDocument/formatting", "textDocument/diagnostic", "textDocument/documentLink"};
inline const std::vector<std::string> of_range = {"textDocument/codeAction", "textDocument/inlayHint", "textDocument/semanticTokens/range", "textDocument/rangeFormatting", "textDocument/rangesFormatting", "workspace/willRenameFiles",
                                                  "textDocument/selectionRange", "textDocument/rename", "textDocument/onTypeFormatting", "loopsmith/moves", "loopsmith/viewMoves", "loopsmith/viewHover"};

inline auto params_at(const Document& document, const std::string& method, size_t line, size_t character) -> Json {
  Json params = {{"textDocument", {{"uri", document.uri}}}};
  if (std::find(of_document.begin(), of_document.end(), method) != of_document.end() && method != "textDocument/formatting") { return params; }
  params["position"] = position(line, character);
  params["context"] = {{"includeDeclaration", true}, {"diagnostics", Json::array()}};
  if (std::find(at_position.begin(), at_position.end(), method) != at_position.end()) { return params; }
  params["range"] = method == "textDocument/codeAction" ? range(line, character, line, character) : range(method == "textDocument/inlayHint" ? 0 : line, 0, document.lines.size(), 0);
  params["positions"] = Json::array({position(line, character)});
  params["ranges"] = Json::array({params["range"], range(0, 0, line, character)});
  params["files"] = Json::array({{{"oldUri", document.uri}, {"newUri", "file:///renamed" + document.uri.substr(document.uri.rfind('.'))}}});
  params["newName"] = "renamed";
  params["place"] = character;
  // In a view: the lines of the view.
  params["at"] = position(line % 24, character);
  constexpr const char* primitives[] = {"split", "vectorize", "unroll", "parallel", "bind", "compute_at", "reorder", "fuse"};
  params["primitive"] = primitives[(line + character) % 8];
  params["ch"] = "\n";
  params["options"] = {{"tabSize", 4}, {"insertSpaces", true}};
  return params;
}

}  // namespace loopsmith::lsp::random
