// Definition, references and rename within one file: see names.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "lsp/features/names.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto is_of_one_module(const NameTable& names, const std::vector<uint32_t>& blocks) -> bool {
  return std::any_of(names.of_classes.begin(), names.of_classes.end(), [&](const auto& one) {
    return std::all_of(blocks.begin(), blocks.end(), [&](uint32_t block) {
      return std::any_of(one.second.begin(), one.second.end(), [&](const auto& member) { return member.second == names.entities[block].program; });
    });
  });
}

auto why_unclear(const Snapshot& snapshot, const NameTable& names, const NameTable::Unclear& one) -> std::string {
  std::vector<std::string> functions;
  for (uint32_t block : one.entities) { functions.push_back(names.entities[names.entities[block].program].name.str()); }
  return unclear_text(names.entities[one.entities.front()].name.view(), functions, is_of_one_module(names, one.entities), snapshot.lines().line_of(one.span.begin) + 1);
}

auto can_rename(const Entity& entity) -> bool { return entity.is_bound && (entity.kind != EntityKind::Namespace || entity.is_alias); }

}  // namespace

auto definition(const Snapshot& snapshot, uint32_t offset) -> std::optional<Span> {
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(offset);
  if (here == nullptr) { return std::nullopt; }
  if (here->role == Role::Bind) { return here->span; }
  std::optional<Span> found;
  for (const Occurrence& other : names.occurrences) {
    if (other.entity != here->entity || other.role != Role::Bind) { continue; }
    if (found && other.span.begin > here->span.begin) { break; }
    found = other.span;
  }
  return found;
}

auto references(const Snapshot& snapshot, uint32_t offset) -> std::vector<Occurrence> {
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(offset);
  std::vector<Occurrence> found;
  if (here == nullptr) { return found; }
  std::copy_if(names.occurrences.begin(), names.occurrences.end(), std::back_inserter(found), [&](const Occurrence& o) { return o.entity == here->entity; });
  return found;
}

auto renameable(const Snapshot& snapshot, uint32_t offset) -> std::optional<Span> {
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(offset);
  if (here == nullptr || !can_rename(names.entities[here->entity])) { return std::nullopt; }
  return here->span;
}

auto rename(const Snapshot& snapshot, uint32_t offset, std::string_view name) -> Rename {
  NameTable names = names_of(snapshot);
  for (const NameTable::Unclear& one : names.unclear) {
    if (one.span.begin <= offset && offset <= one.span.end) { return {{}, why_unclear(snapshot, names, one)}; }
  }
  const Occurrence* here = names.at(offset);
  if (here == nullptr) { return {{}, "there is no name here"}; }
  const Entity& entity = names.entities[here->entity];
  if (!can_rename(entity)) { return {{}, fmt::format("`{}` is not bound in this file", entity.name.view())}; }
  bool is_block = entity.kind == EntityKind::Block;
  if (std::string problem = not_a_name(name, is_block); !problem.empty()) { return {{}, problem}; }
  if (Name(name) == entity.name) { return {}; }
  Rename result;
  for (const Occurrence& o : names.occurrences) {
    if (o.entity == here->entity) { result.places.push_back(o.span); }
  }
  for (const NameTable::Unclear& one : names.unclear) {
    if (std::find(one.entities.begin(), one.entities.end(), here->entity) != one.entities.end()) { return {{}, why_unclear(snapshot, names, one)}; }
  }
  if (std::string problem = in_the_way(snapshot, names, result.places, name, is_block); !problem.empty()) { return {{}, problem}; }
  return result;
}

auto not_a_name(std::string_view name, bool is_block) -> std::string {
  bool is_wrong = is_block ? name.empty() || name.find_first_of("\"'\\\n") != std::string_view::npos : !is_name(name) || is_python_keyword(name);
  return is_wrong ? fmt::format("`{}` cannot be a name", name) : std::string();
}

auto unclear_text(std::string_view block, std::vector<std::string> functions, bool is_one_module, uint32_t line, std::string_view other) -> std::string {
  for (std::string& function : functions) { function = "`" + function + "`"; }
  std::string place = other.empty() ? fmt::format("line {}", line) : fmt::format("line {} of {}", line, other);
  std::string_view remedy = is_one_module ? "name the program by `func_name=`, or by `work_on` before it" : "write a string of its own for each";
  return fmt::format("\"{}\" in {} may be a block of {}: {}", block, place, fmt::join(functions, " or of "), remedy);
}

auto in_the_way(const Snapshot& snapshot, const NameTable& names, const std::vector<Span>& places, std::string_view name, bool is_block) -> std::string {
  std::vector<DeclId> functions;
  for (Span place : places) { functions.push_back(snapshot.syntax().whole(snapshot.syntax().origin_at(place.begin).decl)); }
  // Another entity with the name is visible at one of the places: the name would refer to it, or hide it.
  for (const Occurrence& o : names.occurrences) {
    const Entity& other = names.entities[o.entity];
    if (!(other.name == name) || (other.kind == EntityKind::Block) != is_block) { continue; }
    DeclId where = snapshot.syntax().whole(snapshot.syntax().origin_at(o.span.begin).decl);
    bool is_seen = std::find(functions.begin(), functions.end(), where) != functions.end() || (other.function == 0 && other.is_bound);
    if (is_seen) { return fmt::format("`{}` already has a meaning in line {}", name, snapshot.lines().line_of(o.span.begin) + 1); }
  }
  return {};
}

}  // namespace loopsmith::lsp
