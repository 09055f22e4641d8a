// The table of names: see names.h.
#include "lsp/features/names.h"

#include <algorithm>
#include <set>
#include <utility>

#include "lsp/features/names/finder.h"

namespace loopsmith::lsp {

using workspace::Snapshot;

auto names_of(const Snapshot& snapshot) -> NameTable { return NameFinder(snapshot).run([](const syn::PlacedItem&) { return true; }); }

auto names_in_reach(const Snapshot& snapshot, const syn::PlacedItem* item) -> NameTable {
  return NameFinder(snapshot).run([item](const syn::PlacedItem& placed) { return &placed == item; });
}

auto NameTable::at(uint32_t offset) const -> const Occurrence* {
  auto after = std::upper_bound(occurrences.begin(), occurrences.end(), offset, [](uint32_t at, const Occurrence& o) { return at < o.span.begin; });
  // A cursor directly behind a name belongs to it, unless another name begins there.
  if (after == occurrences.begin() || (after - 1)->span.end < offset) { return nullptr; }
  return &*(after - 1);
}

void NameTable::programs_of(Giving value, const std::function<void(uint32_t)>& found, const std::function<void(uint32_t, bool)>& outside) const {
  std::set<std::pair<uint32_t, bool>> seen;
  auto walk = [&](Giving one, auto&& self) -> void {
    if (!seen.insert({one.entity, one.is_call}).second) { return; }
    const Entity& entity = entities[one.entity];
    if (entity.imported != nowhere) { return outside(entity.imported, one.is_call); }
    if (entity.kind == EntityKind::Program || entity.kind == EntityKind::Class) {
      if (!one.is_call) { found(one.entity); }
      return;
    }
    bool is_function = entity.kind == EntityKind::Function || entity.kind == EntityKind::Schedule;
    auto given = gives.find(one.entity);
    if (given == gives.end() || (is_function && !one.is_call)) { return; }
    for (Giving next : given->second) {
      if (is_function || !one.is_call) {
        self(next, self);
      } else if (!next.is_call) {
        self({next.entity, true}, self);
      }
    }
  };
  walk(value, walk);
}

auto NameTable::blocks_of(uint32_t program, const WorksOn& where, Name block) const -> std::vector<uint32_t> {
  std::vector<uint32_t> out;
  auto look = [&](uint32_t function) {
    auto blocks = of_programs.find(function);
    if (blocks == of_programs.end()) { return; }
    if (auto found = blocks->second.find(block); found != blocks->second.end()) { out.push_back(found->second); }
  };
  auto members = of_classes.find(program);
  if (members == of_classes.end()) {
    look(program);
    return out;
  }
  // A schedule begins on `main`, or on the only function.
  std::vector<uint32_t> functions;
  std::vector<uint32_t> macros;
  for (const auto& [name, entity] : members->second) { (entities[entity].kind == EntityKind::Program ? functions : macros).push_back(entity); }
  std::optional<Name> wanted;
  if (where.what == WorksOn::What::Named) { wanted = where.function; }
  if (where.what == WorksOn::What::Start && members->second.contains(Name("main"))) { wanted = Name("main"); }
  for (uint32_t function : functions) {
    if (!wanted || entities[function].name == *wanted) { look(function); }
  }
  if (out.empty()) { std::for_each(macros.begin(), macros.end(), look); }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace loopsmith::lsp
