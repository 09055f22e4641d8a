// Cuts the text of a document into declarations, and finds the declarations that an edit does not change.
#include "syntax/document.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "support/codes.h"
#include "syntax/build.h"
#include "syntax/lines.h"
#include "syntax/old_items.h"

namespace loopsmith::syntax {
namespace {

constexpr size_t kMaxText = size_t{256} << 20;
// A text with more bytes of value 0 than this is binary data.
constexpr size_t kMaxZeros = 8;

}  // namespace

auto next_decl_id() -> DeclId {
  static std::atomic<DeclId> last{0};
  return ++last;
}

auto Document::kept_bytes() const -> size_t {
  size_t bytes = items_.capacity() * sizeof(PlacedItem) + places_.capacity() * sizeof(Place);
  if (lines_ != nullptr) { bytes += lines_->lines.capacity() * sizeof(LogicalLine) + lines_->comments.capacity() * sizeof(CommentSpan); }
  return bytes + (memory_ != nullptr ? memory_->bytes_in_all() : 0);
}

Document::Document() : memory_(std::make_shared<ParseMemory>()) {}
Document::Document(std::string text) : Document() { set_text(std::move(text)); }

void Document::set_text(std::string text) {
  std::string before = std::exchange(text_, std::move(text));
  update(before);
}

void Document::edit(Span span, std::string_view replacement) {
  size_t begin = std::min<size_t>(span.begin, text_.size());
  size_t end = std::clamp<size_t>(span.end, begin, text_.size());
  std::string before = text_;
  text_.replace(begin, end - begin, replacement);
  update(before);
}

auto Document::refused() const -> ItemPtr {
  if (text_.size() > kMaxText) {
    return build_broken({}, error(Code::TextTooLarge, {0, 0, 1, 0}).arg("size", static_cast<int64_t>(text_.size())).arg("limit", static_cast<int64_t>(kMaxText))
                            .remedy("move programs into another file and import them"));
  }
  size_t zeros = 0;
  for (size_t at = text_.find('\0'); at != std::string::npos && zeros <= kMaxZeros; at = text_.find('\0', at + 1)) { ++zeros; }
  return zeros > kMaxZeros ? build_broken(text_, error(Code::BinaryText, {0, 0, 1, 0}).remedy("give the text of a program, saved as UTF-8")) : nullptr;
}

void Document::update(std::string_view before_text) {
  work_ = {};
  std::vector<PlacedItem> before = std::move(items_);
  items_.clear();
  if (ItemPtr broken = refused()) {
    lines_ = nullptr;
    items_.push_back({std::move(broken), 0});
    index();
    return;
  }
  auto scanned = std::make_shared<const Lines>(lines_ ? scan_lines_again(text_, before_text, *lines_) : scan_lines(text_));
  lines_ = scanned;
  std::vector<Chunk> chunks = split_declarations(text_, *scanned);
  auto text_of = [&](const Chunk& chunk) { return std::string_view(text_).substr(chunk.span.begin, chunk.span.end - chunk.span.begin); };
  auto column_of = [&](size_t at) {
    uint32_t column = 0;
    for (; at > 0 && (text_[at - 1] == ' ' || text_[at - 1] == '\t'); --at) { ++column; }
    return column;
  };

  // Declarations above and below the edit are the same, in the same order: no need to hash them.
  auto found_code = std::find_if(chunks.begin(), chunks.end(), [](const Chunk& chunk) { return !chunk.is_comments; });
  const Chunk* first_code = found_code == chunks.end() ? nullptr : &*found_code;
  auto same = [&](const Chunk& chunk, const PlacedItem& placed) {
    std::string_view text = text_of(chunk);
    if (placed.item->text != text || (placed.item->kind == ItemKind::Comments) != chunk.is_comments || text.empty()) { return false; }
    // Only the first declaration can be indented; its tree then depends on the indentation.
    return placed.item->indent == (&chunk == first_code ? column_of(chunk.span.begin) : 0);
  };
  size_t front = 0;
  while (front < chunks.size() && front < before.size() && same(chunks[front], before[front])) { ++front; }
  size_t back = 0;
  while (back + front < chunks.size() && back + front < before.size() &&
         same(chunks[chunks.size() - 1 - back], before[before.size() - 1 - back])) { ++back; }
  OldItems old(work_, *memory_);
  for (size_t i = front; i + back < before.size(); ++i) { old.add(before[i].item); }

  items_.reserve(chunks.size());
  for (size_t i = 0; i < chunks.size(); ++i) {
    const Chunk& chunk = chunks[i];
    ItemPtr item;
    if (i < front || i + back >= chunks.size()) {
      item = std::move(before[i < front ? i : before.size() - (chunks.size() - i)].item);
      ++work_.reused;
    } else {
      item = old.take(text_of(chunk), column_of(chunk.span.begin));
      if (item != nullptr && (item->kind == ItemKind::Comments) != chunk.is_comments) { item = nullptr; }
    }
    items_.push_back({std::move(item), chunk.span.begin});
  }
  old.open_up();
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (items_[i].item != nullptr) { continue; }
    uint32_t begin = chunks[i].span.begin;
    uint32_t column = column_of(begin);
    Piece piece{text_of(chunks[i]), column, column == 0 ? scanned.get() : nullptr, begin};
    if (chunks[i].is_comments) {
      ++work_.parsed;
      items_[i].item = build_comments(piece.text);
    } else {
      items_[i].item = old.build(piece, Role::TopLevel);
    }
  }
  index();
}

void Document::index() {
  places_.clear();
  for (const PlacedItem& placed : items_) { index(*placed.item, placed.offset, placed.item->decl); }
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.decl < b.decl; });
}

void Document::index(const Item& item, uint32_t offset, DeclId whole) {
  places_.push_back({item.decl, offset, &item, whole});
  for (const Item::Member& member : item.members) {
    index(*member.item, offset + member.offset, member.item->kind == ItemKind::Part ? whole : member.item->decl);
  }
}

auto Document::find(DeclId decl) const -> const Place* {
  auto found = std::lower_bound(places_.begin(), places_.end(), decl, [](const Place& place, DeclId id) { return place.decl < id; });
  return found != places_.end() && found->decl == decl ? &*found : nullptr;
}

namespace {

void add_diagnostics(const Item& item, Diagnostics& all) {
  if (!item.has_error) { return; }
  all.insert(all.end(), item.diagnostics.begin(), item.diagnostics.end());
  for (const Item::Member& member : item.members) { add_diagnostics(*member.item, all); }
}

}  // namespace

auto Document::diagnostics() const -> Diagnostics {
  Diagnostics all;
  for (const PlacedItem& placed : items_) {
    size_t first = all.size();
    add_diagnostics(*placed.item, all);
    if (placed.item->members.empty()) { continue; }
    sort_diagnostics(all, first, [&](const Diagnostic& d) { return resolve(d.where).value_or(Span{}).begin; });
  }
  return all;
}

auto Document::item_at(uint32_t offset) const -> const PlacedItem* {
  auto after = std::upper_bound(items_.begin(), items_.end(), offset, [](uint32_t at, const PlacedItem& placed) { return at < placed.offset; });
  if (after == items_.begin()) { return nullptr; }
  const PlacedItem& placed = *std::prev(after);
  return offset <= placed.end() ? &placed : nullptr;
}

auto Document::resolve(const Origin& origin) const -> std::optional<Span> {
  const Place* place = find(origin.decl);
  if (place == nullptr) { return std::nullopt; }
  auto limit = static_cast<uint32_t>(text_.size());
  return Span{std::min(place->offset + origin.begin, limit), std::min(place->offset + origin.end, limit)};
}

auto Document::origin_at(uint32_t offset) const -> Origin {
  const PlacedItem* placed = item_at(offset);
  if (placed == nullptr) { return {}; }
  const Item* item = placed->item.get();
  uint32_t at = offset - placed->offset;
  for (bool is_inside = true; is_inside;) {
    is_inside = false;
    auto after = std::upper_bound(item->members.begin(), item->members.end(), at, [](uint32_t place, const Item::Member& member) { return place < member.offset; });
    if (after == item->members.begin()) { break; }
    const Item::Member& member = *std::prev(after);
    if (at > member.offset + member.item->text.size()) { break; }
    at -= member.offset;
    item = member.item.get();
    is_inside = true;
  }
  return {item->decl, at, at, 0};
}

auto Document::declaration(DeclId decl) const -> ItemPtr {
  const Place* place = find(decl);
  return place == nullptr ? nullptr : place->item->shared_from_this();
}

auto Document::whole(DeclId decl) const -> DeclId {
  const Place* place = find(decl);
  return place == nullptr ? decl : place->whole;
}

}  // namespace loopsmith::syntax
