// Follows imports, and finds uses in other files: see cross_file_names.h.
#include "lsp/features/cross_file_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "support/text.h"
#include "workspace/imports.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// Limits the chain of imports, because files may import each other in a circle.
constexpr int deepest = 8;

/// A symbol that other files can name: a name of a file, a member of a class in it, or a block of a program.
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

  /// Follows an import of a file to the binding of the name.
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

  /// A name of a file as seen by files that import it.
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
  /// The programs and modules that an import, or the result of its call, may be.
  auto programs(const Snapshot& from, const Imported& what, bool is_call, int depth = 0) -> std::vector<Symbol> {
    std::vector<Symbol> out;
    auto symbol = depth <= deepest ? resolve(from, what) : std::nullopt;
    if (!symbol) { return out; }
    const Snapshot& file = *symbol->file;
    names(file).programs_of({symbol->entity, is_call}, [&](uint32_t program) { out.push_back({&file, program}); },
                            [&](uint32_t imported, bool calls) {
                              std::vector<Symbol> further = programs(file, names(file).imports[imported], calls, depth + 1);
                              out.insert(out.end(), further.begin(), further.end());
                            });
    return out;
  }
  /// The blocks that a string in a schedule for a program of another file may name.
  auto outside_blocks(const Snapshot& file, Span string) -> std::vector<Symbol> {
    std::vector<Symbol> out;
    Name name(std::string_view(file.text()).substr(string.begin, string.end - string.begin));
    for (const NameTable::PossibleBlock& one : names(file).possible_blocks) {
      if (!(one.span == string)) { continue; }
      for (const Symbol& program : programs(file, names(file).imports[one.imported], one.is_call)) {
        for (uint32_t block : names(*program.file).blocks_of(program.entity, one.where, name)) {
          if (std::find(out.begin(), out.end(), Symbol{program.file, block}) == out.end()) { out.push_back({program.file, block}); }
        }
      }
    }
    return out;
  }
  /// The reason why a string in a file prevents the rename of a block; empty: none.
  auto unclear(const Snapshot& file, const Symbol& symbol, const Snapshot& asked) -> std::string {
    const NameTable& table = names(file);
    Name name = names(*symbol.file).entities[symbol.entity].name;
    for (const NameTable::Unclear& one : table.unclear) {
      bool is_meant = &file == symbol.file && std::find(one.entities.begin(), one.entities.end(), symbol.entity) != one.entities.end();
      if (!is_meant) { continue; }
      std::vector<Symbol> blocks;
      for (uint32_t block : one.entities) { blocks.push_back({&file, block}); }
      return unclear_words(file, one.span, blocks, asked);
    }
    for (const NameTable::PossibleBlock& one : table.possible_blocks) {
      if (std::string_view(file.text()).substr(one.span.begin, one.span.end - one.span.begin) != name.view()) { continue; }
      std::vector<Symbol> blocks = outside_blocks(file, one.span);
      if (blocks.size() > 1 && std::find(blocks.begin(), blocks.end(), symbol) != blocks.end()) { return unclear_words(file, one.span, blocks, asked); }
    }
    return {};
  }
  /// The reason why the string at an offset is ambiguous; empty: it is not.
  auto unclear_at(const Snapshot& file, uint32_t offset) -> std::string {
    for (const NameTable::PossibleBlock& one : names(file).possible_blocks) {
      if (offset < one.span.begin || offset > one.span.end) { continue; }
      std::vector<Symbol> blocks = outside_blocks(file, one.span);
      if (blocks.size() > 1) { return unclear_words(file, one.span, blocks, file); }
    }
    return {};
  }

  /// The symbol at an offset, in the file that binds it. `through_alias`: `m` of `import matmul as m` is the symbol `matmul`.
  auto at(const Snapshot& file, uint32_t offset, bool through_alias) -> std::optional<std::pair<Symbol, Span>> {
    const NameTable& table = names(file);
    auto is_here = [&](Span span) { return span.begin <= offset && offset <= span.end; };
    auto with = [](std::optional<Symbol> symbol, Span span) { return symbol ? std::optional(std::pair(*symbol, span)) : std::nullopt; };
    for (const NameTable::Member& one : table.members) {
      if (is_here(one.span)) { return with(resolve(file, table.imports[one.imported]), one.span); }
    }
    for (const NameTable::PossibleBlock& one : table.possible_blocks) {
      if (!is_here(one.span)) { continue; }
      if (std::vector<Symbol> blocks = outside_blocks(file, one.span); blocks.size() == 1) { return std::pair(blocks.front(), one.span); }
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

  /// All places of a symbol in another file. `aliases`: other names under which it is imported; their places count too, and the aliases of this file
  /// are added. Null: only places that a rename of the symbol changes.
  auto places(const Snapshot& file, const Symbol& symbol, std::vector<Name>* aliases) -> std::vector<PlaceInFile> {
    std::vector<PlaceInFile> out;
    const NameTable& table = names(file);
    Name name = names(*symbol.file).entities[symbol.entity].name;
    bool is_block = names(*symbol.file).entities[symbol.entity].kind == EntityKind::Block;
    if (is_block) {
      for (const NameTable::PossibleBlock& one : table.possible_blocks) {
        if (std::string_view(file.text()).substr(one.span.begin, one.span.end - one.span.begin) != name.view()) { continue; }
        if (outside_blocks(file, one.span) == std::vector<Symbol>{symbol}) { out.push_back({&file, one.span, Role::Read}); }
      }
      in_order(out);
      out.erase(std::unique(out.begin(), out.end(), [](const PlaceInFile& a, const PlaceInFile& b) { return a.span == b.span; }), out.end());
      return out;
    }
    auto is_called = [&](Name one) { return one == name || (aliases != nullptr && std::find(aliases->begin(), aliases->end(), one) != aliases->end()); };
    for (const NameTable::Member& one : table.members) {
      const Imported& what = table.imports[one.imported];
      if (is_called(what.path.back()) && resolve(file, what) == symbol) { out.push_back({&file, one.span, Role::Read, one.is_import}); }
    }
    std::unordered_map<uint32_t, bool> is_it;
    for (const Occurrence& o : table.occurrences) {
      const Entity& entity = table.entities[o.entity];
      bool is_starred = entity.imported == nowhere && !entity.is_bound && entity.function == 0 && !table.stars.empty();
      if (entity.imported == nowhere && !is_starred) { continue; }
      Name called = is_starred ? entity.name : table.imports[entity.imported].path.back();
      if (!is_called(called) || (entity.is_alias && aliases == nullptr)) { continue; }
      auto [known, is_new] = is_it.try_emplace(o.entity, false);
      if (is_new) { known->second = (is_starred ? by_star(file, called, 0) : resolve(file, table.imports[entity.imported])) == symbol; }
      if (!known->second) { continue; }
      if (entity.is_alias && !is_called(entity.name)) { aliases->push_back(entity.name); }
      // An alias belongs to its file: its binding is not a place of the symbol.
      if (!entity.is_alias || o.role != Role::Bind) { out.push_back({&file, o.span, Role::Read, o.role == Role::Bind}); }
    }
    in_order(out);
    return out;
  }

 private:
  static void in_order(std::vector<PlaceInFile>& places) {
    std::sort(places.begin(), places.end(), [](const PlaceInFile& a, const PlaceInFile& b) { return a.span.begin < b.span.begin; });
  }
  static auto can_be_named_outside(const NameTable& table, uint32_t index) -> bool {
    const Entity& entity = table.entities[index];
    if (!entity.is_bound) { return false; }
    if (entity.kind == EntityKind::Block) { return entity.program != nowhere && (can_be_named_outside(table, entity.program) || is_given_outside(table, entity.program)); }
    auto named = [&](const NameTable::Names& names) {
      auto found = names.find(entity.name);
      return found != names.end() && found->second == index;
    };
    return named(table.of_file) || std::any_of(table.of_classes.begin(), table.of_classes.end(), [&](const auto& one) { return named(one.second); });
  }

  /// True when the program, or the module around it, is the value of a name of the file or the result of calling it.
  static auto is_given_outside(const NameTable& table, uint32_t program) -> bool {
    bool is_given = false;
    auto found = [&](uint32_t one) {
      auto members = table.of_classes.find(one);
      bool is_inside = members != table.of_classes.end() && std::any_of(members->second.begin(), members->second.end(), [&](const auto& member) { return member.second == program; });
      is_given = is_given || one == program || is_inside;
    };
    for (const auto& [name, entity] : table.of_file) {
      if (!table.gives.contains(entity)) { continue; }
      for (bool is_call : {false, true}) { table.programs_of({entity, is_call}, found, [](uint32_t, bool) {}); }
    }
    return is_given;
  }
  auto unclear_words(const Snapshot& file, Span string, const std::vector<Symbol>& blocks, const Snapshot& asked) -> std::string {
    std::vector<std::string> functions;
    std::unordered_set<uint32_t> modules;
    bool is_one_module = true;
    for (const Symbol& block : blocks) {
      const NameTable& table = names(*block.file);
      uint32_t program = table.entities[block.entity].program;
      functions.push_back(table.entities[program].name.str());
      bool is_member = false;
      for (const auto& [module, members] : table.of_classes) {
        for (const auto& [name, member] : members) {
          if (member != program) { continue; }
          is_member = true;
          modules.insert(module);
        }
      }
      is_one_module = is_one_module && is_member && block.file == blocks.front().file && modules.size() == 1;
    }
    std::string path = &file == &asked ? std::string() : this->path(file);
    uint32_t line = file.lines().line_of(string.begin) + 1;
    return unclear_text(names(*blocks.front().file).entities[blocks.front().entity].name.view(), functions, is_one_module, line, path.substr(path.rfind('/') + 1));
  }

  /// The files that the first names of an import refer to.
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

auto places_in_own(Workspace& workspace, const Symbol& symbol) -> std::vector<PlaceInFile> {
  std::vector<PlaceInFile> out;
  for (const Occurrence& o : workspace.names(*symbol.file).occurrences) {
    if (o.entity == symbol.entity) { out.push_back({symbol.file, o.span, o.role}); }
  }
  return out;
}

/// Calls `look` for the files that may have places of a symbol: `first` (may be null), the file that binds it, other files in the order of paths.
/// False: the workspace has too many files, and the other files were not read.
auto each_file(Files& files, Workspace& workspace, const Symbol& symbol, const Snapshot* first, std::vector<Name>* aliases, const CancelToken& cancel, const std::function<void(const Snapshot&)>& look) -> bool {
  if (first != nullptr && first != symbol.file) { look(*first); }
  look(*symbol.file);
  const Entity& entity = workspace.names(*symbol.file).entities[symbol.entity];
  bool is_block = entity.kind == EntityKind::Block;
  std::vector<Name> wanted = {entity.name};
  std::unordered_set<const Snapshot*> seen = {symbol.file, first};
  // Other files use a symbol through an import, and a block through a string in a schedule.
  auto wants = [&](std::string_view text) {
    if (text.find("import") == std::string_view::npos) { return false; }
    std::string name = entity.name.str();
    if (!is_block) { return std::any_of(wanted.begin(), wanted.end(), [&](Name one) { return contains_name(text, one.view()); }); }
    return (text.find("\"" + name + "\"") != std::string_view::npos || text.find("'" + name + "'") != std::string_view::npos) && text.find("chedule") != std::string_view::npos;
  };
  auto visit = [&](const Snapshot& file) {
    if (!cancel.is_cancelled() && seen.insert(&file).second) { look(file); }
  };
  if (!files.visit(wants, visit)) { return false; }
  // Other files may import it under an alias of one of these files.
  for (size_t known = 0; aliases != nullptr && known < aliases->size() && !cancel.is_cancelled();) {
    wanted.assign(aliases->begin() + static_cast<std::ptrdiff_t>(known), aliases->end());
    known = aliases->size();
    files.visit(wants, visit);
  }
  return true;
}

auto places_in(Workspace& workspace, const Snapshot& file, const Symbol& symbol, std::vector<Name>* aliases) -> std::vector<PlaceInFile> {
  return &file == symbol.file ? places_in_own(workspace, symbol) : workspace.places(file, symbol, aliases);
}

}  // namespace

auto definition(Files& files, const Snapshot& snapshot, uint32_t offset) -> std::optional<PlaceInFile> {
  Workspace workspace(files);
  auto found = workspace.at(snapshot, offset, true);
  if (found && found->first.file != &snapshot) {
    for (const PlaceInFile& place : places_in_own(workspace, found->first)) {
      if (place.role == Role::Bind) { return place; }
    }
  }
  auto span = definition(snapshot, offset);
  return span ? std::optional(PlaceInFile{&snapshot, *span, Role::Bind}) : std::nullopt;
}

auto bound_names(Files& files, const Snapshot& snapshot, Span part) -> std::vector<BoundName> {
  Workspace workspace(files);
  const NameTable& names = workspace.names(snapshot);
  std::unordered_map<uint32_t, Span> bound;
  for (const Occurrence& o : names.occurrences) {
    if (o.role == Role::Bind) { bound.try_emplace(o.entity, o.span); }
  }
  std::vector<BoundName> out;
  auto is_inside = [&](Span span) { return part.begin <= span.begin && span.end <= part.end; };
  auto is_elsewhere = [&](Span span) {
    auto meant = workspace.at(snapshot, span.begin, true);
    if (!meant || meant->first.file == &snapshot) { return false; }
    for (const PlaceInFile& place : places_in_own(workspace, meant->first)) {
      if (place.role != Role::Bind) { continue; }
      out.push_back({span, place});
      return true;
    }
    return false;
  };
  for (const NameTable::Member& one : names.members) {
    if (is_inside(one.span)) { is_elsewhere(one.span); }
  }
  for (const Occurrence& o : names.occurrences) {
    if (o.role == Role::Bind || !is_inside(o.span)) { continue; }
    bool is_ours = names.entities[o.entity].imported == nowhere && bound.contains(o.entity);
    if (is_ours) {
      out.push_back({o.span, {&snapshot, bound.at(o.entity), Role::Bind}});
    } else {
      is_elsewhere(o.span);
    }
  }
  std::sort(out.begin(), out.end(), [](const BoundName& a, const BoundName& b) { return a.span.begin < b.span.begin; });
  out.erase(std::unique(out.begin(), out.end(), [](const BoundName& a, const BoundName& b) { return a.span == b.span; }), out.end());
  return out;
}

void references(Files& files, const Snapshot& snapshot, uint32_t offset, const CancelToken& cancel, const std::function<void(const std::vector<PlaceInFile>&)>& found) {
  Workspace workspace(files);
  if (auto meant = workspace.at(snapshot, offset, false)) {
    std::vector<Name> aliases;
    each_file(files, workspace, meant->first, &snapshot, &aliases, cancel, [&](const Snapshot& file) {
      std::vector<PlaceInFile> places = places_in(workspace, file, meant->first, &aliases);
      if (!places.empty()) { found(places); }
    });
    return;
  }
  std::vector<PlaceInFile> own;
  for (const Occurrence& o : references(snapshot, offset)) { own.push_back({&snapshot, o.span, o.role}); }
  if (!own.empty()) { found(own); }
}

auto renameable(Files& files, const Snapshot& snapshot, uint32_t offset) -> std::optional<Span> {
  if (auto own = renameable(snapshot, offset)) { return own; }
  Workspace workspace(files);
  auto found = workspace.at(snapshot, offset, false);
  return found ? std::optional(found->second) : std::nullopt;
}

auto rename(Files& files, const Snapshot& snapshot, uint32_t offset, std::string_view name, const CancelToken& cancel) -> RenameInFiles {
  Workspace workspace(files);
  auto found = workspace.at(snapshot, offset, false);
  RenameInFiles result;
  result.problem = found ? std::string() : workspace.unclear_at(snapshot, offset);
  if (!result.problem.empty()) { return result; }
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
  std::string unclear;
  bool is_whole = each_file(files, workspace, symbol, nullptr, nullptr, cancel, [&](const Snapshot& file) {
    std::vector<PlaceInFile> there = places_in(workspace, file, symbol, nullptr);
    result.places.insert(result.places.end(), there.begin(), there.end());
    if (is_block && unclear.empty()) { unclear = workspace.unclear(file, symbol, snapshot); }
  });
  if (!is_whole) {
    result.places.clear();
    result.problem = fmt::format("the workspace has more files than can be looked at, and any of them may use `{}`: open the folder it is in", entity.name.view());
    return result;
  }
  if (!unclear.empty()) {
    result.places.clear();
    result.problem = unclear;
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
