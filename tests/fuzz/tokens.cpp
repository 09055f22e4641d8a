// Each token deleted or doubled: no crash, and other declarations keep their symbols.
//
//   fuzz_tokens [--stride N]      every N-th token of the corpus; 1 is all of them, the default takes seconds
//
// Documents are joined from five texts of the corpus, and those of examples/. The symbols of a declaration are its tree.
// Declarations are those of the top level and those in classes, even if the class's head is broken. Every 40th document
// is also checked in full (names, types, schedules).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "syntax/document.h"
#include "syntax/lines.h"
#include "tests/support/corpus.h"
#include "tests/support/paths.h"
#include "workspace/snapshot.h"

namespace {

using namespace loopsmith;
using namespace loopsmith::syntax;

auto read(const std::string& path) -> std::string {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

/// A line for each declaration, with its place.
struct Symbol { Span span; std::string said; };
auto symbols(const Document& document) -> std::vector<Symbol> {
  std::vector<Symbol> out;
  auto add = [&](std::string said, uint32_t begin, uint32_t end) { out.push_back({{begin, end}, std::move(said)}); };
  for (const PlacedItem& placed : document.items()) {
    for (StmtPtr statement : placed.item->statements) {
      // A class, possibly broken, counts as its functions.
      const auto* klass = statement->as<ClassDef>();
      const auto* broken = statement->as<BrokenStmt>();
      uint32_t begin = placed.offset + statement->span.begin;
      uint32_t end = placed.offset + statement->span.end;
      if (klass == nullptr && broken == nullptr) {
        add(to_sexpr(*statement), begin, end);
        continue;
      }
      if (klass != nullptr) { add("class " + std::string(klass->name.name.view()), begin, end); }
      // If a decorator and a head are both broken, one contains the other.
      while (broken != nullptr && broken->body.size() == 1 && broken->body.front()->as<BrokenStmt>() != nullptr) { broken = broken->body.front()->as<BrokenStmt>(); }
      for (StmtPtr inner : klass != nullptr ? klass->body : broken->body) {
        uint32_t offset = placed.offset;
        for (const Item::Member& member : placed.item->members) {
          if (member.item->decl == inner->decl) { offset += member.offset; }
        }
        add(to_sexpr(*inner), offset + inner->span.begin, offset + inner->span.end);
      }
    }
  }
  return out;
}

/// The numbers of declarations outside a change, and of those that are still found.
struct Kept { size_t others = 0, kept = 0; };
auto kept(const std::vector<Symbol>& before, const std::vector<Symbol>& after, uint32_t at) -> Kept {
  std::multimap<std::string_view, const Symbol*> now;
  for (const Symbol& symbol : after) { now.emplace(symbol.said, &symbol); }
  Kept out;
  for (const Symbol& symbol : before) {
    if (symbol.span.begin <= at && at <= symbol.span.end) { continue; }
    ++out.others;
    if (auto found = now.find(symbol.said); found != now.end()) {
      now.erase(found);
      ++out.kept;
    }
  }
  return out;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  size_t stride = 997;
  if (argc == 3 && std::strcmp(argv[1], "--stride") == 0) { stride = std::max<size_t>(1, std::strtoull(argv[2], nullptr, 10)); }
  std::vector<std::string> texts;
  const auto& corpus = tests::corpus_texts();
  for (size_t i = 0; i + 5 <= corpus.size(); i += 5) {
    std::string joined;
    for (size_t k = 0; k < 5; ++k) { joined += corpus[i + k].second + "\n\n"; }
    texts.push_back(std::move(joined));
  }
  for (const char* name : {"matmul", "softmax", "conv2d_bias_relu"}) { texts.push_back(read(tests::source_folder() + "/examples/" + name + ".tir")); }
  size_t edits = 0, full = 0, count = 0, bad = 0;
  Kept all;
  double worst = 1;
  for (const std::string& text : texts) {
    Document document(text);
    std::vector<Symbol> before = symbols(document);
    if (before.size() < 2 || document.items().empty()) {
      std::printf("FAIL: a text without declarations\n");
      return 1;
    }
    for (const Token& token : tokenize(text)) {
      if (count++ % stride != 0) { continue; }
      std::string word = text.substr(token.span.begin, token.span.end - token.span.begin);
      for (bool doubles : {false, true}) {
        Document edited = document;
        if (doubles) { edited.edit({token.span.end, token.span.end}, " " + word); } else { edited.edit(token.span, ""); }
        Kept now = kept(before, symbols(edited), token.span.begin);
        all.others += now.others;
        all.kept += now.kept;
        double share = now.others == 0 ? 1 : static_cast<double>(now.kept) / static_cast<double>(now.others);
        if (share < 0.9 && ++bad <= 10) {
          std::printf("%zu of %zu other declarations after %s `%s` at byte %u of\n%s\n", now.kept, now.others, doubles ? "doubling" : "deleting", word.c_str(), token.span.begin,
                      text.substr(token.span.begin > 100 ? token.span.begin - 100 : 0, 200).c_str());
        }
        worst = std::min(worst, share);
        if (++edits % 40 == 0) {
          (void)workspace::analyse("edited.tir", edited.text());
          ++full;
        }
      }
    }
  }
  std::printf("%zu edits (%zu checked in full): %.3f%% of the declarations elsewhere keep their symbols; worst edit %.1f%%, %zu below 90%%\n", edits, full,
              100.0 * static_cast<double>(all.kept) / static_cast<double>(std::max<size_t>(1, all.others)), 100 * worst, bad);
  return edits > 100 && bad == 0 ? 0 : 1;
}
