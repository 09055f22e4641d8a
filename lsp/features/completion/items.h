// Completion items: the answer to a completion request, and the list to which the parts of completion add items.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/words.h"

namespace loopsmith::lsp {

enum class CompletionKind : uint8_t { Primitive, Function, Variable, Loop, Block, Buffer, Namespace, Class, Constant, Keyword, Value, Snippet };

struct CompletionItem {
  std::string label;
  CompletionKind kind{};
  std::string detail;         // one line: "loop `i_0`, extent 64"
  std::string documentation;  // markdown; may be empty
  std::string insert;         // empty: the label
  bool is_snippet = false;    // `insert` has placeholders of LSP
  int rank = 0;               // items of lower rank come first; among equals the label decides
  std::string note = {};      // behind the label, short: "not here"
  std::string primitive = {}; // of a legal primitive: the argument of `preview`
  std::string call = {};      // of a primitive: the call with its arguments as placeholders of LSP; empty: only the label is inserted
  std::string found_by = {};  // compared with the typed letters in addition to the label; empty: only the label is compared
};

/// The rank of an argument that is refused: below everything that may be legal.
inline constexpr int refused_argument_rank = 60;

/// A list that accepts only items that begin with the typed prefix.
struct ItemList {
  std::string_view prefix;
  std::vector<CompletionItem> list = {};
  void add(CompletionItem item) {
    if (std::string_view(item.label).starts_with(prefix) || std::string_view(item.found_by).starts_with(prefix)) { list.push_back(std::move(item)); }
  }
  void values(std::span<const std::string_view> all, const char* detail) {
    for (size_t i = 0; i < all.size(); ++i) { add({std::string(all[i]), CompletionKind::Value, detail, {}, {}, false, static_cast<int>(i)}); }
  }
  void words(frontend::Vocabulary vocabulary, const char* detail, int rank) {
    for (Name word : frontend::known_words(vocabulary)) { add({word.str(), CompletionKind::Value, detail, {}, {}, false, rank++}); }
  }
};

}  // namespace loopsmith::lsp
