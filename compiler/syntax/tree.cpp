// One parser per thread, and the tables that map the grammar's numbers to names.
#include "syntax/tree.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" auto tree_sitter_tirscript() -> const TSLanguage*;

namespace loopsmith::syntax {
namespace {

auto make_symbols() -> std::vector<Cst> {
  static const std::unordered_map<std::string_view, Cst> by_name = {
#define LOOPSMITH_CST_NAME(name) {#name, Cst::name},
      LOOPSMITH_CST(LOOPSMITH_CST_NAME)
#undef LOOPSMITH_CST_NAME
      {"float", Cst::float_}, {"true", Cst::true_}, {"false", Cst::false_}};
  const TSLanguage* language = tree_sitter_tirscript();
  std::vector<Cst> symbols(ts_language_symbol_count(language), Cst::other);
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    auto symbol = static_cast<TSSymbol>(i);
    const char* name = ts_language_symbol_name(language, symbol);
    if (name == nullptr) { continue; }
    if (ts_language_symbol_type(language, symbol) != TSSymbolTypeRegular) {
      if (std::strcmp(name, "async") == 0) { symbols[i] = Cst::async; }
      if (std::strcmp(name, ",") == 0) { symbols[i] = Cst::comma; }
      continue;
    }
    auto found = by_name.find(name);
    if (found != by_name.end()) { symbols[i] = found->second; }
  }
  return symbols;
}

// tree-sitter's memory comes from the C library; this counts allocations and frees.
thread_local size_t held = 0;
auto counted(void* memory) -> void* {
  held += ::malloc_usable_size(memory);
  return memory;
}
void release(void* memory) {
  held -= ::malloc_usable_size(memory);
  std::free(memory);
}
void count_allocations() {
  static std::once_flag once;
  std::call_once(once, [] {
    ts_set_allocator([](size_t size) { return counted(std::malloc(size)); }, [](size_t count, size_t size) { return counted(std::calloc(count, size)); },
                     [](void* memory, size_t size) {
                       size_t before = ::malloc_usable_size(memory);
                       void* moved = std::realloc(memory, size);
                       held += ::malloc_usable_size(moved) - before;
                       return moved;
                     },
                     release);
  });
}

struct ParserDeleter {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
};

}  // namespace

auto symbol_of(TSNode node) -> Cst {
  static const std::vector<Cst> symbols = make_symbols();
  TSSymbol symbol = ts_node_symbol(node);
  return symbol < symbols.size() ? symbols[symbol] : Cst::other;
}

auto fields() -> const Fields& {
  static const Fields all = [] {
    const TSLanguage* language = tree_sitter_tirscript();
    auto id = [&](std::string_view name) {
      return ts_language_field_id_for_name(language, name.data(), static_cast<uint32_t>(name.size()));
    };
    return Fields{id("left"), id("right"), id("type"), id("operator"), id("operand"), id("condition"),
                  id("consequence"), id("alternative"), id("body"), id("name"), id("alias"), id("value"),
                  id("module"), id("message"), id("definition"), id("parameters"), id("return_type"),
                  id("superclasses"), id("then"), id("otherwise"), id("object"), id("attribute"), id("index"),
                  id("lower"), id("upper"), id("step"), id("function"), id("arguments"), id("key"), id("element"),
                  id("debug"), id("conversion"), id("format"), id("guard")};
  }();
  return all;
}

auto tree_bytes() -> size_t { return held; }

auto parse_text(std::string_view text, const TSTree* old) -> Tree {
  thread_local std::unique_ptr<TSParser, ParserDeleter> parser = [] {
    count_allocations();
    std::unique_ptr<TSParser, ParserDeleter> made(ts_parser_new());
    ts_parser_set_language(made.get(), tree_sitter_tirscript());
    return made;
  }();
  return Tree(ts_parser_parse_string(parser.get(), old, text.data(), static_cast<uint32_t>(text.size())));
}

namespace {

auto point_at(std::string_view text, size_t offset) -> TSPoint {
  std::string_view before = text.substr(0, offset);
  size_t line = before.rfind('\n');
  return {static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n')),
          static_cast<uint32_t>(line == std::string_view::npos ? offset : offset - line - 1)};
}

}  // namespace

auto parse_edited(std::string_view text, std::string_view before, const TSTree* old) -> Tree {
  size_t limit = std::min(text.size(), before.size());
  auto front = static_cast<size_t>(std::mismatch(text.begin(), text.begin() + static_cast<ptrdiff_t>(limit), before.begin()).first - text.begin());
  size_t back = 0;
  while (back < limit - front && text[text.size() - 1 - back] == before[before.size() - 1 - back]) { ++back; }
  TSInputEdit edit;
  edit.start_byte = static_cast<uint32_t>(front);
  edit.old_end_byte = static_cast<uint32_t>(before.size() - back);
  edit.new_end_byte = static_cast<uint32_t>(text.size() - back);
  edit.start_point = point_at(text, front);
  edit.old_end_point = point_at(before, edit.old_end_byte);
  edit.new_end_point = point_at(text, edit.new_end_byte);
  Tree copy(ts_tree_copy(old));
  ts_tree_edit(copy.get(), &edit);
  return parse_text(text, copy.get());
}

}  // namespace loopsmith::syntax
