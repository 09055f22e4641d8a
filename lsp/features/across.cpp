// What imports stand for, and who uses it: see across.h.
#include "lsp/features/across.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "workspace/imports.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// Files may import from each other in a circle.
constexpr int deepest = 8;

/// Something that other files can name: a name of a file, a member of a class of it, or a block of a program.
struct Symbol {
  const Snapshot* file = nullptr;
  uint32_t entity = nowhere;
  auto operator==(const Symbol&) const -> bool = default;
};

class Workspace {
 public:
  explicit Workspace(Files& files) : files_(files) {}

  auto names(const Snapshot& file) -> const NameTable& {
    auto [found, is_new] = names_.try_emplace(&file);
    if (is_new) { found->second = names_of(file); }
    return found->second;
  }
  auto path(const Snapshot& file) -> std::string { return files_.path_of(file); }

  /// What an import of a file stands for, followed to where it is bound.
  auto resolve(const Snapshot& from, const Imported& what, int depth = 0) -> std::optional<Symbol> {
    if (depth > deepest) { return std::nullopt; }
    size_t size = what.path.size();
    for (size_t modules = size; modules-- > 0;) {
      if (size - modules > 2 || (modules == 0 && what.level == 0)) { continue; }
      for (const Snapshot* file : modules_of(from, what, modules)) {
        auto symbol = named(*file, what.path[modules], depth);
        if (symbol && modules + 2 == size) { symbol = member(*symbol, what.path[modules + 1]); }
        if (symbol) { return symbol; }
      }
    }
    return std::nullopt;
  }

  /// A name of a file as those see it who import it.
  auto named(const Snapshot& file, Name name, int depth) -> std::optional<Symbol> {
    const NameTable& table = names(file);
    auto found = table.of_file.find(name);
    if (found != table.of_file.end()) {
      const Entity& entity = table.entities[found->second];
      if (entity.imported != nowhere) { return resolve(file, table.imports[entity.imported], depth + 1); }
      return Symbol{&file, found->second};
    }
    return by_star(file, name, depth);
  }
  auto by_star(const Snapshot& file, Name name, int depth) -> std::optional<Symbol> {
    const NameTable& table = names(file);
    for (Imported what : table.stars) {
      what.path.push_back(name);
      if (auto symbol = resolve(file, what, depth + 1)) { return symbol; }
    }
    return std::nullopt;
  }
  auto member(const Symbol& type, Name name) -> std::optional<Symbol> {
    const NameTable& table = names(*type.file);
    auto members = table.of_classes.find(type.entity);
    if (members == table.of_classes.end()) { return std::nullopt; }
    auto found = members->second.find(name);
    return found == members->second.end() ? std::nullopt : std::optional(Symbol{type.file, found->second});
  }
  /// A block of a program, or of one of the programs of a class.
  auto block(const Symbol& program, Name name) -> std::optional<Symbol> {
    const NameTable& table = names(*program.file);
    auto members = table.of_classes.find(program.entity);
    for (uint32_t i = 0; i < table.entities.size(); ++i) {
      const Entity& entity = table.entities[i];
      if (entity.kind != EntityKind::Block || !entity.is_bound || !(entity.name == name)) { continue; }
      bool is_inside = members != table.of_classes.end() && std::any_of(members->second.begin(), members->second.end(), [&](const auto& one) { return one.second == entity.program; });
      if (entity.program == program.entity || is_inside) { return Symbol{program.file, i}; }
    }
    return std::nullopt;
  }
  /// The block that a string in a schedule for a program of another file names.
  auto outside_block(const Snapshot& file, Span string, uint32_t program) -> std::optional<Symbol> {
    const NameTable& table = names(file);
    auto scheduled = resolve(file, table.imports[table.entities[program].imported]);
    return scheduled ? block(*scheduled, Name(std::string_view(file.text()).substr(string.begin, string.end - string.begin))) : std::nullopt;
  }

  /// What is named at an offset, where that is of a file: this or another. `through_alias`: `m` of `import matmul as m` is what it stands for.
  auto at(const Snapshot& file, uint32_t offset, bool through_alias) -> std::optional<std::pair<Symbol, Span>> {
    const NameTable& table = names(file);
    auto is_here = [&](Span span) { return span.begin <= offset && offset <= span.end; };
    auto with = [](std::optional<Symbol> symbol, Span span) { return symbol ? std::optional(std::pair(*symbol, span)) : std::nullopt; };
    for (const NameTable::Member& one : table.members) {
      if (is_here(one.span)) { return with(resolve(file, table.imports[one.imported]), one.span); }
    }
    for (const NameTable::PossibleBlock& one : table.possible_blocks) {
      if (!is_here(one.span)) { continue; }
      if (auto symbol = outside_block(file, one.span, one.program)) { return std::pair(*symbol, one.span); }
    }
    const Occurrence* here = table.at(offset);
    if (here == nullptr) { return std::nullopt; }
    const Entity& entity = table.entities[here->entity];
    if (entity.imported != nowhere) {
      if (entity.is_alias && !through_alias) { return std::nullopt; }
      return with(resolve(file, table.imports[entity.imported]), here->span);
    }
    if (!entity.is_bound && entity.function == 0 && !table.stars.empty()) { return with(by_star(file, entity.name, 0), here->span); }
    if (can_be_named_outside(table, here->entity)) { return std::pair(Symbol{&file, here->entity}, here->span); }
    return std::nullopt;
  }

  /// Of another file, all places of a symbol.
  auto places(const Snapshot& file, const Symbol& symbol) -> std::vector<PlaceIn> {
    std::vector<PlaceIn> out;
    const NameTable& table = names(file);
    Name name = names(*symbol.file).entities[symbol.entity].name;
    bool is_block = names(*symbol.file).entities[symbol.entity].kind == EntityKind::Block;
    if (is_block) {
      for (const NameTable::PossibleBlock& one : table.possible_blocks) {
        if (std::string_view(file.text()).substr(one.span.begin, one.span.end - one.span.begin) != name.view()) { continue; }
        if (outside_block(file, one.span, one.program) == symbol) { out.push_back({&file, one.span, Role::Read}); }
      }
      in_order(out);
      return out;
    }
    for (const NameTable::Member& one : table.members) {
      const Imported& what = table.imports[one.imported];
      if (what.path.back() == name && resolve(file, what) == symbol) { out.push_back({&file, one.span, Role::Read}); }
    }
    std::unordered_map<uint32_t, bool> is_it;
    for (const Occurrence& o : table.occurrences) {
      const Entity& entity = table.entities[o.entity];
      if (!(entity.name == name) || entity.is_alias) { continue; }
      bool is_starred = entity.imported == nowhere && !entity.is_bound && entity.function == 0 && !table.stars.empty();
      if (entity.imported == nowhere && !is_starred) { continue; }
      auto [known, is_new] = is_it.try_emplace(o.entity, false);
      if (is_new) { known->second = (is_starred ? by_star(file, name, 0) : resolve(file, table.imports[entity.imported])) == symbol; }
      if (known->second) { out.push_back({&file, o.span, Role::Read}); }
    }
    in_order(out);
    return out;
  }

 private:
  static void in_order(std::vector<PlaceIn>& places) {
    std::sort(places.begin(), places.end(), [](const PlaceIn& a, const PlaceIn& b) { return a.span.begin < b.span.begin; });
  }
  static auto can_be_named_outside(const NameTable& table, uint32_t index) -> bool {
    const Entity& entity = table.entities[index];
    if (!entity.is_bound) { return false; }
    if (entity.kind == EntityKind::Block) { return entity.program != nowhere && can_be_named_outside(table, entity.program); }
    auto named = [&](const NameTable::Names& names) {
      auto found = names.find(entity.name);
      return found != names.end() && found->second == index;
    };
    return named(table.of_file) || std::any_of(table.of_classes.begin(), table.of_classes.end(), [&](const auto& one) { return named(one.second); });
  }

  /// The files that the first names of an import mean.
  auto modules_of(const Snapshot& from, const Imported& what, size_t modules) -> std::vector<const Snapshot*> {
    std::vector<Name> path(what.path.begin(), what.path.begin() + static_cast<std::ptrdiff_t>(modules));
    for (const std::string& candidate : workspace::module_paths(files_.path_of(from), files_.roots(), what.level, path)) {
      if (const Snapshot* file = files_.read(candidate)) { return {file}; }
    }
    return {};
  }

  Files& files_;
  std::unordered_map<const Snapshot*, NameTable> names_;
};

auto places_in_own(Workspace& workspace, const Symbol& symbol) -> std::vector<PlaceIn> {
  std::vector<PlaceIn> out;
  for (const Occurrence& o : workspace.names(*symbol.file).occurrences) {
    if (o.entity == symbol.entity) { out.push_back({symbol.file, o.span, o.role}); }
  }
  return out;
}

auto has_word(std::string_view text, std::string_view word) -> bool {
  auto is_part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || static_cast<unsigned char>(c) >= 0x80; };
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    bool begins = at == 0 || !is_part(text[at - 1]);
    if (begins && (at + word.size() == text.size() || !is_part(text[at + word.size()]))) { return true; }
  }
  return false;
}

/// All places of a symbol, file after file: in `first` (null: no file goes before), in the file that binds it, in the others by their paths. False: there
/// are more files than can be looked at, and those were not.
auto each_place(Files& files, Workspace& workspace, const Symbol& symbol, const Snapshot* first, const CancelToken& cancel, const std::function<void(const std::vector<PlaceIn>&)>& found) -> bool {
  auto tell = [&](const std::vector<PlaceIn>& places) {
    if (!places.empty()) { found(places); }
  };
  if (first != nullptr && first != symbol.file) { tell(workspace.places(*first, symbol)); }
  tell(places_in_own(workspace, symbol));
  const Entity& entity = workspace.names(*symbol.file).entities[symbol.entity];
  std::string name = entity.name.str();
  bool is_block = entity.kind == EntityKind::Block;
  // What uses it has it by an import, and a block as a string in a schedule.
  auto wants = [&](std::string_view text) {
    if (text.find("import") == std::string_view::npos) { return false; }
    if (!is_block) { return has_word(text, name); }
    return (text.find("\"" + name + "\"") != std::string_view::npos || text.find("'" + name + "'") != std::string_view::npos) && text.find("chedule") != std::string_view::npos;
  };
  return files.visit(wants, [&](const Snapshot& file) {
    if (cancel.is_cancelled() || &file == symbol.file || &file == first) { return; }
    tell(workspace.places(file, symbol));
  });
}

}  // namespace

auto definition(Files& files, const Snapshot& snapshot, uint32_t offset) -> std::optional<PlaceIn> {
  Workspace workspace(files);
  auto found = workspace.at(snapshot, offset, true);
  if (found && found->first.file != &snapshot) {
    for (const PlaceIn& place : places_in_own(workspace, found->first)) {
      if (place.role == Role::Bind) { return place; }
    }
  }
  auto span = definition(snapshot, offset);
  return span ? std::optional(PlaceIn{&snapshot, *span, Role::Bind}) : std::nullopt;
}

void references(Files& files, const Snapshot& snapshot, uint32_t offset, const CancelToken& cancel, const std::function<void(const std::vector<PlaceIn>&)>& found) {
  Workspace workspace(files);
  if (auto meant = workspace.at(snapshot, offset, false)) {
    each_place(files, workspace, meant->first, &snapshot, cancel, found);
    return;
  }
  std::vector<PlaceIn> own;
  for (const Occurrence& o : references(snapshot, offset)) { own.push_back({&snapshot, o.span, o.role}); }
  if (!own.empty()) { found(own); }
}

auto renameable(Files& files, const Snapshot& snapshot, uint32_t offset) -> std::optional<Span> {
  if (auto own = renameable(snapshot, offset)) { return own; }
  Workspace workspace(files);
  auto found = workspace.at(snapshot, offset, false);
  return found ? std::optional(found->second) : std::nullopt;
}

auto rename(Files& files, const Snapshot& snapshot, uint32_t offset, std::string_view name, const CancelToken& cancel) -> RenameIn {
  Workspace workspace(files);
  auto found = workspace.at(snapshot, offset, false);
  RenameIn result;
  if (!found) {
    Rename own = rename(snapshot, offset, name);
    for (Span place : own.places) { result.places.push_back({&snapshot, place, Role::Read}); }
    result.problem = own.problem;
    return result;
  }
  const Symbol& symbol = found->first;
  const Entity& entity = workspace.names(*symbol.file).entities[symbol.entity];
  bool is_block = entity.kind == EntityKind::Block;
  result.problem = not_a_name(name, is_block);
  if (!result.problem.empty() || Name(name) == entity.name) { return result; }
  bool is_whole = each_place(files, workspace, symbol, nullptr, cancel, [&](const std::vector<PlaceIn>& there) { result.places.insert(result.places.end(), there.begin(), there.end()); });
  if (!is_whole) {
    result.places.clear();
    result.problem = fmt::format("the workspace has more files than can be looked at, and any of them may use `{}`: open the folder it is in", entity.name.view());
    return result;
  }
  for (size_t first = 0; first < result.places.size();) {
    const Snapshot* file = result.places[first].file;
    std::vector<Span> spans;
    size_t last = first;
    for (; last < result.places.size() && result.places[last].file == file; ++last) { spans.push_back(result.places[last].span); }
    std::string problem = in_the_way(*file, workspace.names(*file), spans, name, is_block);
    if (!problem.empty()) {
      std::string path = workspace.path(*file);
      result.problem = file == &snapshot ? problem : problem + " of " + path.substr(path.rfind('/') + 1);
      return result;
    }
    first = last;
  }
  return result;
}

}  // namespace loopsmith::lsp
