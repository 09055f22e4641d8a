// Finds declarations, functions of classes and parts of programs that an edit did not change: see old_items.h.
#include "syntax/old_items.h"

#include <algorithm>

namespace loopsmith::syntax {

auto OldItems::take_from(Pool& pool, std::string_view text, uint32_t indent) -> ItemPtr {
  auto [first, last] = pool.equal_range(item_hash(text, indent));
  for (auto it = first; it != last; ++it) {
    if (it->second->text != text) { continue; }
    ItemPtr found = std::move(it->second);
    pool.erase(it);
    ++work_.reused;
    return found;
  }
  return nullptr;
}

void OldItems::open_up() {
  for (const auto& [hash, item] : items_) {
    if (item->head != 0) { programs_.push_back({item}); continue; }
    for (const Item::Member& member : item->members) {
      members_.emplace(member.item->hash, member.item);
      if (member.item->head != 0) { programs_.push_back({member.item}); }
    }
  }
}

auto OldItems::build(const Piece& piece, Role role) -> ItemPtr {
  ++work_.parsed;
  Sources sources;
  sources.member = [this](const Piece& member_piece) { return member(member_piece); };
  sources.parts = [this](std::string_view head, const std::vector<Piece>& pieces, DeclId& decl) { return parts(head, pieces, decl); };
  return build_item(piece, role, sources, memory_);
}

auto OldItems::member(const Piece& piece) -> ItemPtr {
  ItemPtr found = take_from(members_, piece.text, piece.indent);
  if (!found) { return build(piece, Role::Member); }
  auto program = std::find_if(programs_.begin(), programs_.end(), [&](const OldProgram& p) { return p.item == found; });
  if (program == programs_.end()) { return found; }
  // A part belongs to one program only: an old program whose parts another program has taken over is built again.
  bool is_whole = !program->is_cut_up && std::none_of(found->members.begin(), found->members.end(), [&](const Item::Member& m) { return given_.count(m.item->decl) != 0; });
  if (is_whole) {
    program->is_whole = true;
    return found;
  }
  --work_.reused;
  return build(piece, Role::Member);
}

auto OldItems::parts(std::string_view head, const std::vector<Piece>& pieces, DeclId& decl) -> std::vector<ItemPtr> {
  std::vector<ItemPtr> parts(pieces.size());
  auto program = std::find_if(programs_.begin(), programs_.end(), [&](const OldProgram& p) { return p.is_free() && std::string_view(p.item->text).substr(0, p.item->head) == head; });
  if (program != programs_.end()) { decl = program->item->decl; }
  if (program == programs_.end()) { program = std::find_if(programs_.begin(), programs_.end(), [](const OldProgram& p) { return p.is_free(); }); }
  size_t begin = 0;
  size_t end = pieces.size();
  if (program != programs_.end() && !has_parts_) {
    // The parts above and below the edit are the same, in the same order.
    const auto& old = program->item->members;
    auto same = [](const Item::Member& member, const Piece& piece) { return member.item->text == piece.text && member.item->indent == piece.indent; };
    for (; begin < end && begin < old.size() && same(old[begin], pieces[begin]); ++begin) { parts[begin] = old[begin].item; }
    size_t last = old.size();
    for (; end > begin && last > begin && same(old[last - 1], pieces[end - 1]); --end, --last) { parts[end - 1] = old[last - 1].item; }
    program->first = begin;
    program->last = last;
    program->is_cut_up = true;
  } else if (program != programs_.end() && decl == program->item->decl) {
    program->is_cut_up = true;
    program->last = program->item->members.size();
  }
  for (size_t i = begin; i < end; ++i) { parts[i] = part(pieces[i]); }
  return parts;
}

void OldItems::collect_parts() {
  if (has_parts_) { return; }
  has_parts_ = true;
  for (size_t p = 0; p < programs_.size(); ++p) {
    const OldProgram& program = programs_[p];
    if (program.is_whole) { continue; }
    const auto& old = program.item->members;
    size_t last = program.is_cut_up ? program.last : old.size();
    for (size_t k = program.is_cut_up ? program.first : 0; k < last; ++k) { parts_.emplace(old[k].item->hash, OldPart{old[k].item, p}); }
  }
}

auto OldItems::part(const Piece& piece) -> ItemPtr {
  collect_parts();
  auto [first, last] = parts_.equal_range(item_hash(piece.text, piece.indent));
  auto found = std::find_if(first, last, [&](const auto& entry) { return !programs_[entry.second.program].is_whole && entry.second.item->text == piece.text; });
  if (found == last) { return build(piece, Role::Part); }
  given_.insert(found->second.item->decl);
  ItemPtr item = std::move(found->second.item);
  parts_.erase(found);
  return item;
}

}  // namespace loopsmith::syntax
