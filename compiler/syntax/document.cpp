// The text of a document cut into declarations, and which of them an edit leaves alone.
#include "syntax/document.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "support/codes.h"
#include "support/hash.h"
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

void Document::update(std::string_view before_text) {
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
    lines_ = nullptr;
    items_.push_back({build_broken(text_.size() > kMaxText ? std::string_view() : std::string_view(text_), std::move(reason)), 0});
    index();
    return;
  }
  auto scanned = std::make_shared<const Lines>(lines_ ? scan_lines_again(text_, before_text, *lines_) : scan_lines(text_));
  lines_ = scanned;
  chunks = split_declarations(text_, *scanned);
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
    return placed.item->indent == (&chunk == first_code ? column_of(chunk.span.begin) : 0);
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
  // Functions are found again in the classes that are no more, and parts of programs in the programs that are no more;
  // only there: what is kept has its own.
  struct OldProgram {
    ItemPtr item;
    size_t first = 0, last = 0;   // parts that have no place yet, where it is cut up
    bool is_whole = false;        // in use again
    bool is_cut_up = false;       // its id and parts are
  };
  std::vector<OldProgram> programs;
  struct OldPart { ItemPtr item; size_t program; };
  std::unordered_multimap<uint64_t, OldPart> old_parts;
  std::unordered_set<DeclId> given;   // parts out of there
  bool has_old_parts = false;
  for (const auto& [hash, item] : old_items) {
    if (item->head != 0) { programs.push_back({item}); continue; }
    for (const Item::Member& member : item->members) {
      old_members.emplace(member.item->hash, member.item);
      if (member.item->head != 0) { programs.push_back({member.item}); }
    }
  }
  Sources sources;
  sources.member = [&](const Piece& piece) -> ItemPtr {
    if (ItemPtr found = take(old_members, item_hash(piece.text, piece.indent), piece.text)) {
      auto program = std::find_if(programs.begin(), programs.end(), [&](const OldProgram& p) { return p.item == found; });
      if (program == programs.end()) { return found; }
      // Of each part there is one: what has given some to another is made anew.
      bool is_whole = !program->is_cut_up && std::none_of(found->members.begin(), found->members.end(), [&](const Item::Member& m) { return given.count(m.item->decl) != 0; });
      if (is_whole) {
        program->is_whole = true;
        return found;
      }
      --work_.reused;
    }
    ++work_.parsed;
    return build_item(piece, Role::Member, sources, *memory_);
  };
  sources.parts = [&](std::string_view head, const std::vector<Piece>& pieces, DeclId& decl) {
    std::vector<ItemPtr> parts(pieces.size());
    auto is_free = [](const OldProgram& p) { return !p.is_whole && !p.is_cut_up; };
    auto program = std::find_if(programs.begin(), programs.end(), [&](const OldProgram& p) { return is_free(p) && std::string_view(p.item->text).substr(0, p.item->head) == head; });
    if (program != programs.end()) { decl = program->item->decl; }
    if (program == programs.end()) { program = std::find_if(programs.begin(), programs.end(), is_free); }
    size_t begin = 0;
    size_t end = pieces.size();
    if (program != programs.end() && !has_old_parts) {
      // Those above and below the edit are the same in the same order.
      const auto& old = program->item->members;
      auto same = [](const Item::Member& member, const Piece& piece) { return member.item->text == piece.text && member.item->indent == piece.indent; };
      for (; begin < end && begin < old.size() && same(old[begin], pieces[begin]); ++begin) { parts[begin] = old[begin].item; }
      size_t last = old.size();
      for (; end > begin && last > begin && same(old[last - 1], pieces[end - 1]); --end, --last) { parts[end - 1] = old[last - 1].item; }
      program->first = begin;
      program->last = last;
      program->is_cut_up = true;
    } else if (program != programs.end() && decl == program->item->decl) {
      program->is_cut_up = true;
      program->last = program->item->members.size();
    }
    for (size_t i = begin; i < end; ++i) {
      if (!has_old_parts) {
        has_old_parts = true;
        for (size_t p = 0; p < programs.size(); ++p) {
          if (programs[p].is_whole) { continue; }
          const auto& old = programs[p].item->members;
          size_t last = programs[p].is_cut_up ? programs[p].last : old.size();
          for (size_t k = programs[p].is_cut_up ? programs[p].first : 0; k < last; ++k) { old_parts.emplace(old[k].item->hash, OldPart{old[k].item, p}); }
        }
      }
      auto [first, last] = old_parts.equal_range(item_hash(pieces[i].text, pieces[i].indent));
      auto found = std::find_if(first, last, [&](const auto& entry) { return !programs[entry.second.program].is_whole && entry.second.item->text == pieces[i].text; });
      if (found != last) {
        given.insert(found->second.item->decl);
        parts[i] = std::move(found->second.item);
        old_parts.erase(found);
      } else {
        ++work_.parsed;
        parts[i] = build_item(pieces[i], Role::Part, sources, *memory_);
      }
    }
    return parts;
  };
  for (size_t i = 0; i < chunks.size(); ++i) {
    if (items_[i].item != nullptr) { continue; }
    ++work_.parsed;
    uint32_t begin = chunks[i].span.begin;
    uint32_t column = column_of(begin);
    Piece piece{text_of(chunks[i]), column, column == 0 ? scanned.get() : nullptr, begin};
    items_[i].item = chunks[i].is_comments ? build_comments(piece.text) : build_item(piece, Role::TopLevel, sources, *memory_);
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
