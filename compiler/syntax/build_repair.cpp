// Repair: replaces lines that cannot be parsed by placeholders, in a copy, until the rest parses. Also parses texts that resemble an earlier one
// as edits of it.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/codes.h"
#include "syntax/item_builder.h"

namespace loopsmith::syntax {

namespace {

// Shorter texts are parsed faster than they are compared.
constexpr size_t kRemembered = 400;
constexpr size_t kRememberedTrees = 3;

}  // namespace

auto ItemBuilder::decorates(size_t i) const -> bool {
  if (!code(i).starts_with('@') || i + 1 >= lines_.size() || lines_[i + 1].indent != lines_[i].indent) { return false; }
  if (code(i + 1).starts_with('@')) { return decorates(i + 1); }
  // The decorated definition must exist: otherwise the parser takes the next definition, in another block.
  return !bad_[i + 1] && is_word(word(i + 1), {"def", "class", "async"});
}

void ItemBuilder::spoil(size_t i) {
  bad_[i] = true;
  const LogicalLine& line = lines_[i];
  auto begin = masked_.begin() + line.span.begin;
  auto end = masked_.begin() + line.span.end;
  std::fill(begin, end, ' ');
  if (decorates(i)) { return; }
  if (!has_block(i)) {
    masked_[line.span.begin] = '0';
  } else if (line.span.end - line.span.begin >= 5) {
    masked_.replace(line.span.begin, 5, "if 0:");
  } else {
    // The line is too short for a head: its block is removed with it.
    masked_[line.span.begin] = '0';
    for (size_t k = i + 1; k < lines_.size() && lines_[k].indent > line.indent; ++k) {
      bad_[k] = true;
      std::fill(masked_.begin() + lines_[k].span.begin, masked_.begin() + lines_[k].span.end, ' ');
    }
  }
}

auto ItemBuilder::alone(size_t i) const -> Alone {
  std::string_view all = code(i);
  std::string_view first = word(i);
  std::string before;
  std::string after;
  bool is_head = lines_[i].ends_with_colon;
  if (all.starts_with('@')) { after = "\ndef f(): pass"; }
  else if (is_head && first == "match") { after = "\n case _: pass"; }
  else if (is_head && first == "try") { after = " pass\nfinally: pass"; }
  else if (is_head) { after = " pass"; }
  if (first == "elif" || first == "else") { before = "if 0: pass\n"; }
  if (first == "except" || first == "finally") { before = "try: pass\n"; }
  if (first == "case" && is_head) { before = "match x:\n "; }
  return {fmt::format("{}{}{}\n", before, all, after), before.size()};
}

auto ItemBuilder::repair() -> Tree {
  Tree tree = parse_remembering();
  for (size_t round = 0; round < kMaxRounds && ts_node_has_error(ts_tree_root_node(tree.get())); ++round) {
    std::vector<size_t> suspects = lines_with_errors(tree.get());
    bool any = false;
    for (size_t i : suspects) {
      Alone single = alone(i);
      Tree parsed = parse_text(single.text);
      if (!ts_node_has_error(ts_tree_root_node(parsed.get()))) { continue; }
      any = true;
      explain(i, single, parsed.get());
      spoil(i);
    }
    if (!any) {
      // Each line is valid by itself. The parser notices a head without its colon only where the block begins.
      for (size_t i : suspects) {
        if (i == 0 || bad_[i - 1] || lines_[i].indent <= lines_[i - 1].indent || lines_[i - 1].ends_with_colon) { continue; }
        Alone single = alone(i - 1);
        Tree parsed = parse_text(single.text);
        if (!ts_node_has_error(ts_tree_root_node(parsed.get()))) { continue; }
        any = true;
        explain(i - 1, single, parsed.get());
        spoil(i - 1);
      }
    }
    if (!any) {
      // Each line is valid by itself, but not in this order.
      size_t culprit = lines_.size();
      for (size_t i : suspects) {
        if (!bad_[i] && (culprit == lines_.size() || is_clause(i) > is_clause(culprit))) { culprit = i; }
      }
      if (culprit == lines_.size()) {
        for (size_t i = 0; i < lines_.size() && culprit == lines_.size(); ++i) {
          if (!bad_[i]) { culprit = i; }
        }
      }
      if (culprit == lines_.size()) { break; }
      explain_structure(culprit);
      spoil(culprit);
    }
    tree = parse_text(masked_);
  }
  if (ts_node_has_error(ts_tree_root_node(tree.get()))) {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (!bad_[i]) { bad_[i] = true; std::fill(masked_.begin() + lines_[i].span.begin, masked_.begin() + lines_[i].span.end, ' '); }
    }
    given_up_ = true;
    if (item_->diagnostics.empty() && !lines_.empty()) {
      report(error(Code::UnexpectedToken, origin({lines_[0].span.begin, lines_[0].span.begin + 1})).arg("found", "text"));
    }
  }
  return tree;
}

auto ItemBuilder::parse_remembering() -> Tree {
  auto& entries = memory_.entries;
  Tree tree;
  if (masked_.size() < kRemembered) { return parse_text(masked_); }
  for (size_t i = 0; i < entries.size() && tree == nullptr; ++i) {
    const std::string& before = entries[i].text;
    size_t limit = std::min(before.size(), masked_.size());
    auto front = static_cast<size_t>(std::mismatch(masked_.begin(), masked_.begin() + static_cast<ptrdiff_t>(limit), before.begin()).first - masked_.begin());
    size_t back = 0;
    while (back < limit - front && masked_[masked_.size() - 1 - back] == before[before.size() - 1 - back]) { ++back; }
    if ((front + back) * 4 < std::max(before.size(), masked_.size()) * 3) { continue; }
    tree = parse_edited(masked_, before, entries[i].tree.get());
    entries.erase(entries.begin() + static_cast<ptrdiff_t>(i));
    if (ts_node_has_error(ts_tree_root_node(tree.get()))) { tree = parse_text(masked_); }
    break;
  }
  if (tree == nullptr) { tree = parse_text(masked_); }
  return tree;
}

void ItemBuilder::remember(const TSTree* tree) {
  if (masked_.size() < kRemembered || ts_node_has_error(ts_tree_root_node(tree))) { return; }
  auto& entries = memory_.entries;
  if (entries.size() >= kRememberedTrees) { entries.pop_back(); }
  entries.insert(entries.begin(), {masked_, Tree(ts_tree_copy(tree))});
}

auto ItemBuilder::is_clause(size_t line) const -> bool {
  return is_word(word(line), {"else", "elif", "except", "finally", "case"});
}

auto ItemBuilder::lines_with_errors(const TSTree* tree) const -> std::vector<size_t> {
  std::vector<bool> touched(lines_.size(), false);
  auto touch = [&](uint32_t begin, uint32_t end) {
    auto line = std::upper_bound(lines_.begin(), lines_.end(), begin,
                                 [](uint32_t at, const LogicalLine& l) { return at < l.span.begin; });
    if (line != lines_.begin()) { --line; }
    for (; line != lines_.end() && line->span.begin <= end; ++line) { touched[static_cast<size_t>(line - lines_.begin())] = true; }
  };
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
  bool descend = true;
  for (;;) {
    TSNode node = ts_tree_cursor_current_node(&cursor);
    if (descend && (ts_node_is_missing(node) || ts_node_symbol(node) == static_cast<TSSymbol>(-1))) {
      touch(ts_node_start_byte(node), ts_node_end_byte(node));
      descend = false;
    }
    if (descend && ts_node_has_error(node) && ts_tree_cursor_goto_first_child(&cursor)) { continue; }
    descend = true;
    bool done = false;
    while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
      if (!ts_tree_cursor_goto_parent(&cursor)) { done = true; break; }
    }
    if (done) { break; }
  }
  ts_tree_cursor_delete(&cursor);
  std::vector<size_t> result;
  for (size_t i = 0; i < touched.size(); ++i) {
    if (touched[i] && !bad_[i]) { result.push_back(i); }
  }
  return result;
}

}  // namespace loopsmith::syntax
