// The text of a document cut into declarations, and which of them an edit leaves alone.
#include "syntax/document.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "support/codes.h"
#include "syntax/build.h"
#include "syntax/lines.h"

namespace loopsmith::syntax {
namespace {

constexpr size_t kMaxText = size_t{256} << 20;
// A text with more bytes of value 0 than a slip of the keyboard makes is no text.
constexpr size_t kMaxZeros = 8;

}  // namespace

auto next_decl_id() -> DeclId {
  static std::atomic<DeclId> last{0};
  return ++last;
}

Document::Document() : memory_(std::make_shared<ParseMemory>()) {}
Document::Document(std::string text) : Document() { set_text(std::move(text)); }

void Document::set_text(std::string text) {
  text_ = std::move(text);
  update();
}

void Document::edit(Span span, std::string_view replacement) {
  size_t begin = std::min<size_t>(span.begin, text_.size());
  size_t end = std::clamp<size_t>(span.end, begin, text_.size());
  text_.replace(begin, end - begin, replacement);
  update();
}

void Document::update() {
  work_ = {};
  // What there was, to be found by its text. Each is used once: equal texts at two places are two declarations.
  std::unordered_multimap<uint64_t, ItemPtr> old_items;
  std::unordered_multimap<uint64_t, ItemPtr> old_members;
  std::vector<PlacedItem> before = std::move(items_);
  items_.clear();
  auto take = [this](std::unordered_multimap<uint64_t, ItemPtr>& pool, uint64_t hash, std::string_view text) -> ItemPtr {
    auto [first, last] = pool.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      if (it->second->text != text) { continue; }
      ItemPtr found = std::move(it->second);
      pool.erase(it);
      ++work_.reused;
      return found;
    }
    return nullptr;
  };

  std::vector<Chunk> chunks;
  size_t zeros = 0;
  for (size_t at = text_.find('\0'); at != std::string::npos && zeros <= kMaxZeros; at = text_.find('\0', at + 1)) { ++zeros; }
  if (text_.size() > kMaxText || zeros > kMaxZeros) {
    Diagnostic reason = text_.size() > kMaxText
                            ? error(Code::TextTooLarge, {0, 0, 1, 0}).arg("size", static_cast<int64_t>(text_.size())).arg("limit", static_cast<int64_t>(kMaxText))
                            : error(Code::BinaryText, {0, 0, 1, 0});
    items_.push_back({build_broken(text_.size() > kMaxText ? std::string_view() : std::string_view(text_), std::move(reason)), 0});
    index();
    return;
  }
  chunks = split_declarations(text_);
  auto text_of = [&](const Chunk& chunk) { return std::string_view(text_).substr(chunk.span.begin, chunk.span.end - chunk.span.begin); };

  auto column_of = [&](size_t at) {
    uint32_t column = 0;
    for (; at > 0 && (text_[at - 1] == ' ' || text_[at - 1] == '\t'); --at) { ++column; }
    return column;
  };

  // Declarations before and after the edit are the same in the same order: no need to hash them.
  size_t front = 0;
  auto found_code = std::find_if(chunks.begin(), chunks.end(), [](const Chunk& chunk) { return !chunk.is_comments; });
  const Chunk* first_code = found_code == chunks.end() ? nullptr : &*found_code;
  auto same = [&](const Chunk& chunk, const PlacedItem& placed) {
    std::string_view text = text_of(chunk);
    if (placed.item->text != text || (placed.item->kind == ItemKind::Comments) != chunk.is_comments || text.empty()) { return false; }
    // Only the first can be indented, and then its tree depends on that.
    return &chunk != first_code || placed.item->hash == item_hash(text, column_of(chunk.span.begin));
  };
  while (front < chunks.size() && front < before.size() && same(chunks[front], before[front])) { ++front; }
  size_t back = 0;
  while (back + front < chunks.size() && back + front < before.size() &&
         same(chunks[chunks.size() - 1 - back], before[before.size() - 1 - back])) { ++back; }
  for (size_t i = front; i + back < before.size(); ++i) {
    old_items.emplace(before[i].item->hash, before[i].item);
  }

  items_.reserve(chunks.size());
  for (size_t i = 0; i < chunks.size(); ++i) {
    const Chunk& chunk = chunks[i];
    ItemPtr item;
    if (i < front || i + back >= chunks.size()) {
      item = std::move(before[i < front ? i : before.size() - (chunks.size() - i)].item);
      ++work_.reused;
    } else {
      std::string_view text = text_of(chunk);
      item = take(old_items, item_hash(text, column_of(chunk.span.begin)), text);
      if (item != nullptr && (item->kind == ItemKind::Comments) != chunk.is_comments) { item = nullptr; }
    }
    items_.push_back({std::move(item), chunk.span.begin});
  }
  // Functions are found again in the classes that are no more, and only there: what is kept has its own.
  for (const auto& [hash, item] : old_items) {
    for (const Item::Member& member : item->members) { old_members.emplace(member.item->hash, member.item); }
  }
  MemberSource members = [&](std::string_view text, uint32_t indent) {
    if (ItemPtr found = take(old_members, item_hash(text, indent), text)) { return found; }
    ++work_.parsed;
    return build_item(text, indent, nullptr, *memory_);
  };
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (items_[i].item != nullptr) { continue; }
    std::string_view text = text_of(chunks[i]);
    ++work_.parsed;
    items_[i].item = chunks[i].is_comments ? build_comments(text) : build_item(text, column_of(chunks[i].span.begin), members, *memory_);
  }
  index();
}

void Document::index() {
  places_.clear();
  for (const PlacedItem& placed : items_) {
    places_.push_back({placed.item->decl, placed.offset, placed.item.get()});
    for (const Item::Member& member : placed.item->members) {
      places_.push_back({member.item->decl, placed.offset + member.offset, member.item.get()});
    }
  }
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.decl < b.decl; });
}

auto Document::find(DeclId decl) const -> const Place* {
  auto found = std::lower_bound(places_.begin(), places_.end(), decl, [](const Place& place, DeclId id) { return place.decl < id; });
  return found != places_.end() && found->decl == decl ? &*found : nullptr;
}

auto Document::diagnostics() const -> Diagnostics {
  Diagnostics all;
  for (const PlacedItem& placed : items_) {
    if (!placed.item->has_error) { continue; }
    size_t first = all.size();
    const auto& own = placed.item->diagnostics;
    all.insert(all.end(), own.begin(), own.end());
    for (const Item::Member& member : placed.item->members) {
      all.insert(all.end(), member.item->diagnostics.begin(), member.item->diagnostics.end());
    }
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
  uint32_t at = offset - placed->offset;
  for (const Item::Member& member : placed->item->members) {
    if (at >= member.offset && at <= member.offset + member.item->text.size()) {
      return {member.item->decl, at - member.offset, at - member.offset, 0};
    }
  }
  return {placed->item->decl, at, at, 0};
}

auto Document::declaration(DeclId decl) const -> ItemPtr {
  const Place* place = find(decl);
  if (place == nullptr) { return nullptr; }
  auto owner = std::find_if(items_.begin(), items_.end(), [&](const PlacedItem& placed) {
    return place->offset >= placed.offset && place->offset <= placed.end() &&
           (placed.item->decl == decl || std::any_of(placed.item->members.begin(), placed.item->members.end(), [&](const Item::Member& member) { return member.item->decl == decl; }));
  });
  if (owner == items_.end()) { return nullptr; }
  if (owner->item->decl == decl) { return owner->item; }
  for (const Item::Member& member : owner->item->members) {
    if (member.item->decl == decl) { return member.item; }
  }
  return nullptr;
}

}  // namespace loopsmith::syntax
