// Turns the text of one declaration into its Item: the steps, the members and parts that are cut out, and the tree. Layout, repair and explanations
// are in build_*.cpp.
#include "syntax/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/codes.h"
#include "support/guards.h"
#include "support/hash.h"
#include "syntax/document.h"
#include "syntax/item_builder.h"

namespace loopsmith::syntax {

ParseMemory::ParseMemory() = default;
ParseMemory::~ParseMemory() = default;
auto ParseMemory::bytes_in_all() const -> size_t {
  size_t all = bytes;
  for (const Entry& entry : entries) { all += sizeof entry + entry.text.capacity(); }
  return all;
}

auto is_word(std::string_view word, std::initializer_list<std::string_view> words) -> bool {
  return std::find(words.begin(), words.end(), word) != words.end();
}

auto show(std::string_view token) -> std::string {
  if (token.size() > 40) { return fmt::format("`{}...`", token.substr(0, 37)); }
  return fmt::format("`{}`", token);
}

auto ItemBuilder::run() -> ItemPtr {
  item_->decl = next_decl_id();
  item_->text = text_;
  item_->hash = item_hash(text_, indent_);
  item_->indent = indent_;
  bool is_known = piece_.around != nullptr && piece_.around->is_plain;
  const Lines scanned = is_known ? lines_within(*piece_.around, {piece_.offset, piece_.offset + static_cast<uint32_t>(text_.size())}) : scan_lines(text_, indent_);
  lines_ = scanned.lines;
  if (!take_parts(scanned)) { take_members(scanned); }
  masked_ = std::string(text_);
  take_comments(scanned.comments);
  complete_heads();
  bad_.assign(lines_.size(), false);
  check_layout();
  check_characters();
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].fault == LineFault::None && code(i).starts_with('@') && !decorates(i) && !bad_[i]) {
      explain_structure(i);
      spoil(i);
    }
    if (lines_[i].fault == LineFault::None) { continue; }
    if (lines_[i].fault == LineFault::Incomplete) {
      Alone single = alone(i);
      explain(i, single, parse_text(single.text).get());
    } else {
      report_fault(i);
    }
    spoil(i);
  }
  Tree tree = repair();
  for (size_t round = 0; !build(tree.get()) && round < kMaxRounds; ++round) { tree = repair(); }
  remember(tree.get());
  name_item();
  if (role_ == Role::Part) {
    item_->kind = ItemKind::Part;
    item_->name = {};
  }
  finish();
  return item_;
}

auto ItemBuilder::code(size_t line) const -> std::string_view {
  return text_.substr(lines_[line].span.begin, lines_[line].span.end - lines_[line].span.begin);
}

auto ItemBuilder::has_block(size_t line) const -> bool {
  return line + 1 < lines_.size() && lines_[line + 1].indent > lines_[line].indent;
}

void ItemBuilder::take_members(const Lines& scanned) {
  std::vector<Chunk> chunks;
  if (role_ == Role::TopLevel) { chunks = split_members(text_, scanned); }
  if (!chunks.empty()) {
    auto line = lines_.begin();
    uint32_t end = 0;
    for (const Chunk& chunk : chunks) {
      while (line->span.begin < chunk.span.begin) { ++line; }
      skeleton_ += text_.substr(end, chunk.span.begin - end);
      end = chunk.span.end;
      stand_ins_.push_back(static_cast<uint32_t>(skeleton_.size()));
      skeleton_ += "pass";
      shifts_.add(static_cast<uint32_t>(skeleton_.size()), end);
      item_->members.push_back({chunk.span.begin, sources_.member({text_.substr(chunk.span.begin, end - chunk.span.begin), line->indent, &scanned, chunk.span.begin})});
    }
    skeleton_ += text_.substr(end);
    text_ = skeleton_;
    lines_ = scan_lines(text_, indent_).lines;
  }
}

auto ItemBuilder::take_parts(const Lines& scanned) -> bool {
  if (role_ == Role::Part) { return false; }
  std::vector<Chunk> chunks = split_body(text_, scanned);
  if (chunks.empty()) { return false; }
  uint32_t begin = chunks.front().span.begin;
  uint32_t end = chunks.back().span.end;
  auto line = lines_.begin();
  while (line->span.begin < begin) { ++line; }
  std::vector<Piece> pieces;
  for (const Chunk& chunk : chunks) {
    pieces.push_back({text_.substr(chunk.span.begin, chunk.span.end - chunk.span.begin), line->indent, &scanned, chunk.span.begin});
  }
  item_->head = begin;
  std::vector<ItemPtr> parts = sources_.parts(text_.substr(0, begin), pieces, item_->decl);
  item_->members.reserve(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) { item_->members.push_back({chunks[i].span.begin, std::move(parts[i])}); }
  skeleton_ = text_.substr(0, begin);
  stand_ins_.push_back(begin);
  skeleton_ += "pass";
  shifts_.add(static_cast<uint32_t>(skeleton_.size()), end);
  skeleton_ += text_.substr(end);
  text_ = skeleton_;
  lines_ = scan_lines(text_, indent_).lines;
  return true;
}

void ItemBuilder::take_comments(const std::vector<CommentSpan>& comments) {
  size_t member = 0;
  for (const CommentSpan& comment : comments) {
    while (member < item_->members.size() &&
           item_->members[member].offset + item_->members[member].item->text.size() <= comment.span.begin) { ++member; }
    if (member < item_->members.size() && comment.span.begin >= item_->members[member].offset) { continue; }
    std::string_view words = std::string_view(item_->text).substr(comment.span.begin, comment.span.end - comment.span.begin);
    item_->comments.push_back({comment.span, words, comment.own_line});
  }
}

auto ItemBuilder::build(const TSTree* tree) -> bool {
  size_t known_diagnostics = item_->diagnostics.size();
  Builder builder(*item_, masked_, 0, shifts_);
  size_t member = 0;
  for (size_t i = 0; i < lines_.size(); ++i) {
    while (member < stand_ins_.size() && stand_ins_[member] < lines_[i].span.begin) { ++member; }
    if (member < stand_ins_.size() && stand_ins_[member] == lines_[i].span.begin) {
      if (item_->head != 0) {
        for (const Item::Member& part : item_->members) { item_->has_error = item_->has_error || part.item->has_error; }
        builder.placeholders.push_back({lines_[i].span.begin, nullptr, true, {}, {}});
        continue;
      }
      const Item& made = *item_->members[member].item;
      if (!made.statements.empty()) {
        builder.placeholders.push_back({lines_[i].span.begin, &made, false, {}, {}});
        item_->has_error = item_->has_error || made.has_error;
      }
      continue;
    }
    if (!bad_[i]) { continue; }
    if (code(i).starts_with('@') && decorates(i)) { builder.broken_decorators.push_back(lines_[i].span); }
    Alone single = alone(i);
    List<ExprPtr> parts;
    // A line that is too deep or too long to be read is not analysed further.
    if (lines_[i].fault != LineFault::TooDeep && single.text.size() < 20000) {
      Tree parsed = parse_text(single.text);
      Builder salvager(*item_, single.text, static_cast<int64_t>(lines_[i].span.begin) - static_cast<int64_t>(single.prefix), shifts_);
      size_t known = item_->diagnostics.size();
      parts = salvager.salvage(ts_tree_root_node(parsed.get()), {static_cast<uint32_t>(single.prefix), static_cast<uint32_t>(single.prefix + code(i).size())});
      item_->diagnostics.resize(known);
    }
    builder.placeholders.push_back({lines_[i].span.begin, nullptr, false, {shifts_(lines_[i].span.begin), shifts_(lines_[i].span.end)}, parts});
  }
  if (!given_up_) {
    item_->statements = builder.module(ts_tree_root_node(tree));
    bool any = false;
    if (!builder.misplaced_keywords.empty()) { item_->diagnostics.resize(known_diagnostics); }
    for (Span keyword : builder.misplaced_keywords) {
      auto line = std::upper_bound(lines_.begin(), lines_.end(), keyword.begin, [](uint32_t at, const LogicalLine& l) { return at < l.span.begin; });
      if (line == lines_.begin()) { continue; }
      auto i = static_cast<size_t>(line - lines_.begin()) - 1;
      // One line at a time: the lines below may fail only because of this one.
      if (bad_[i] || any) { continue; }
      any = true;
      if (is_clause(i) && keyword.begin == lines_[i].span.begin) {
        explain_structure(i);
      } else {
        report(error(Code::UnexpectedToken, origin(keyword)).arg("found", fmt::format("keyword {}", show(text_.substr(keyword.begin, keyword.end - keyword.begin)))));
      }
      spoil(i);
    }
    return !any;
  }
  auto* broken = item_->arena.make<BrokenStmt>();
  broken->kind = Kind::BrokenStmt;
  broken->has_error = true;
  broken->decl = item_->decl;
  broken->span = {0, static_cast<uint32_t>(item_->text.size())};
  auto* slot = static_cast<StmtPtr*>(item_->arena.allocate(sizeof(StmtPtr)));
  *slot = broken;
  item_->statements = {slot, 1};
  return true;
}

void ItemBuilder::name_item() {
  if (item_->statements.empty()) {
    item_->kind = ItemKind::Broken;
    return;
  }
  const Stmt& first = *item_->statements[0];
  auto assigned = [&](ExprPtr target) {
    item_->kind = ItemKind::Assign;
    if (const auto* name = target->as<NameExpr>()) { item_->name = name->name; }
  };
  switch (first.kind) {
    case Kind::FunctionDef:
      item_->kind = ItemKind::Function;
      item_->name = first.as<FunctionDef>()->name.name;
      break;
    case Kind::ClassDef:
      item_->kind = ItemKind::Class;
      item_->name = first.as<ClassDef>()->name.name;
      break;
    case Kind::Assign:
      item_->kind = ItemKind::Assign;
      if (first.as<AssignStmt>()->targets.size() == 1) { assigned(first.as<AssignStmt>()->targets[0]); }
      break;
    case Kind::AnnAssign: assigned(first.as<AnnAssignStmt>()->target); break;
    case Kind::AugAssign: assigned(first.as<AugAssignStmt>()->target); break;
    case Kind::Import:
    case Kind::ImportFrom: item_->kind = ItemKind::Import; break;
    case Kind::If:
    case Kind::For:
    case Kind::While:
    case Kind::With: item_->kind = ItemKind::Compound; break;
    case Kind::OpaqueStmt:
      item_->kind = ItemKind::Opaque;
      if (first.as<OpaqueStmt>()->binds.size() == 1) { item_->name = first.as<OpaqueStmt>()->binds[0].name; }
      break;
    case Kind::BrokenStmt:
      item_->kind = ItemKind::Broken;
      // Keeps the name of a function or class with a broken head.
      for (size_t i = 0; i < lines_.size(); ++i) {
        std::string_view all = code(i);
        std::string_view w = word(i);
        if (w != "def" && w != "class") { continue; }
        size_t at = all.find_first_not_of(" \t", w.size());
        if (at != std::string_view::npos && lines_[i].indent == indent_) { item_->name = Name(first_word(all.substr(at))); }
        break;
      }
      break;
    default: item_->kind = ItemKind::Expr; break;
  }
}

void ItemBuilder::finish() {
  auto& all = item_->diagnostics;
  sort_diagnostics(all, 0, [](const Diagnostic& d) { return d.where.begin; });
  if (all.size() > kMaxDiagnostics) { all.resize(kMaxDiagnostics); }
  item_->has_error = item_->has_error || !all.empty();
}

void sort_diagnostics(Diagnostics& all, size_t first, const std::function<uint32_t(const Diagnostic&)>& place) {
  if (all.size() < first + 2) { return; }
  std::vector<std::pair<uint32_t, size_t>> order;
  for (size_t i = first; i < all.size(); ++i) { order.emplace_back(place(all[i]), i); }
  std::sort(order.begin(), order.end());
  Diagnostics sorted;
  for (const auto& [at, i] : order) { sorted.push_back(std::move(all[i])); }
  std::move(sorted.begin(), sorted.end(), all.begin() + static_cast<ptrdiff_t>(first));
}

auto item_hash(std::string_view text, uint32_t indent) -> uint64_t { return hash_combine(hash_bytes(text), indent); }

auto build_item(const Piece& piece, Role role, const Sources& sources, ParseMemory& memory) -> ItemPtr {
  // The trees of this build are freed at its end, except those that are remembered. Builds of members and parts within this one count their
  // own trees.
  size_t before = tree_bytes() - memory.bytes;
  ItemPtr item = ItemBuilder(piece, role, sources, memory).run();
  memory.bytes = tree_bytes() - before;
  return item;
}

auto build_comments(std::string_view text) -> ItemPtr {
  auto item = std::make_shared<Item>();
  item->decl = next_decl_id();
  item->kind = ItemKind::Comments;
  item->text = text;
  item->hash = item_hash(text, 0);
  for (const CommentSpan& comment : scan_lines(item->text).comments) {
    std::string_view words = std::string_view(item->text).substr(comment.span.begin, comment.span.end - comment.span.begin);
    item->comments.push_back({comment.span, words, comment.own_line});
  }
  return item;
}

auto build_broken(std::string_view text, Diagnostic reason) -> ItemPtr {
  auto item = std::make_shared<Item>();
  item->decl = next_decl_id();
  item->kind = ItemKind::Broken;
  item->text = text;
  item->hash = item_hash(text, 0);
  reason.where.decl = item->decl;
  item->diagnostics.push_back(std::move(reason));
  item->has_error = true;
  return item;
}

}  // namespace loopsmith::syntax
