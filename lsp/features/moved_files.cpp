// Imports of files that move: see moved_files.h.
#include "lsp/features/moved_files.h"

#include <algorithm>
#include <optional>

#include "support/text.h"
#include "workspace/imports.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto above(const std::string& path) -> std::string { return path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/')); }

/// A module as an import writes it: dots, then names.
struct Spelled {
  uint32_t level = 0;
  std::vector<Name> names;
  auto operator==(const Spelled&) const -> bool = default;
};
auto dotted(const std::vector<Name>& names) -> std::string {
  std::string out;
  for (Name name : names) { out += (out.empty() ? "" : ".") + name.str(); }
  return out;
}

class Mover {
 public:
  Mover(Files& files, const std::vector<MovedFile>& moved) : files_(files), moved_(moved) {}

  auto edits_of(const Snapshot& file) -> std::vector<TextEdit> {
    file_ = &file;
    own_ = files_.path_of(file);
    own_then_ = moved_to(own_);
    names_.reset();
    edits_.clear();
    for (const syntax::PlacedItem& placed : file.syntax().items()) {
      for (const syntax::Stmt* statement : placed.item->statements) {
        syntax::walk(*statement, [&](const syntax::Node& node) {
          if (const auto* import = node.as<syntax::ImportStmt>()) { look_at(*import); }
          if (const auto* from = node.as<syntax::ImportFromStmt>()) { look_at(*from); }
          return !node.is_expr();
        });
      }
    }
    std::sort(edits_.begin(), edits_.end(), [](const TextEdit& a, const TextEdit& b) { return a.span.begin < b.span.begin; });
    edits_.erase(std::unique(edits_.begin(), edits_.end(), [](const TextEdit& a, const TextEdit& b) { return a.span == b.span; }), edits_.end());
    return std::move(edits_);
  }

 private:
  [[nodiscard]] auto moved_to(const std::string& path) const -> std::string {
    for (const MovedFile& one : moved_) {
      if (path == one.from) { return one.to; }
      if (path.starts_with(one.from + "/")) { return one.to + path.substr(one.from.size()); }
    }
    return path;
  }

  struct Found {
    std::string path;
    std::string base;   // the folder that the names are relative to
  };
  auto find(uint32_t level, const std::vector<Name>& names) -> std::optional<Found> {
    std::string relative;
    for (Name name : names) { relative += "/" + name.str(); }
    for (const std::string& candidate : workspace::module_paths(own_, files_.roots(), level, names)) {
      if (files_.read(candidate) == nullptr) { continue; }
      size_t length = candidate.ends_with("/__init__.py") ? 12 : candidate.size() - candidate.rfind('.');
      return Found{candidate, candidate.substr(0, candidate.size() - length - relative.size())};
    }
    return std::nullopt;
  }

  /// The module as the file must import it after the move; none: no import can name it.
  auto spell(uint32_t level, const std::string& target, const std::string& base_before) -> std::optional<Spelled> {
    std::string module = target;
    if (!module.ends_with(".py") && !module.ends_with(".tir")) { return std::nullopt; }
    module.resize(module.rfind('.'));
    if (module.ends_with("/__init__")) { module = above(module); }
    auto names_below = [&](const std::string& base) -> std::optional<std::vector<Name>> {
      if (module == base) { return std::vector<Name>(); }
      if (!module.starts_with(base + "/")) { return std::nullopt; }
      std::vector<Name> names;
      std::string_view rest = std::string_view(module).substr(base.size() + 1);
      while (true) {
        size_t slash = std::min(rest.find('/'), rest.size());
        if (!is_name(rest.substr(0, slash))) { return std::nullopt; }
        names.emplace_back(rest.substr(0, slash));
        if (slash == rest.size()) { return names; }
        rest.remove_prefix(slash + 1);
      }
    };
    if (level > 0) {
      std::string folder = above(own_then_);
      for (uint32_t dots = 1; !folder.empty(); ++dots, folder = above(folder)) {
        if (auto names = names_below(folder)) { return Spelled{dots, std::move(*names)}; }
      }
      return std::nullopt;
    }
    // Prefer the folder that the import was relative to, if that still works; else the nearest.
    std::vector<std::string> bases;
    for (const std::string& candidate : workspace::module_paths(own_then_, files_.roots(), 0, {Name("x")})) {
      if (candidate.ends_with("/x.tir")) { bases.push_back(candidate.substr(0, candidate.size() - 6)); }
    }
    if (auto same = std::find(bases.begin(), bases.end(), moved_to(base_before)); same != bases.end()) { std::rotate(bases.begin(), same, same + 1); }
    for (const std::string& base : bases) {
      auto names = names_below(base);
      if (names && !names->empty() && leads_to(*names, target)) { return Spelled{0, std::move(*names)}; }
    }
    return std::nullopt;
  }
  /// True when an import finds this file first.
  auto leads_to(const std::vector<Name>& names, const std::string& target) -> bool {
    for (const std::string& candidate : workspace::module_paths(own_then_, files_.roots(), 0, names)) {
      if (candidate == target) { return true; }
      if (files_.read(candidate) != nullptr && moved_to(candidate) == candidate) { return false; }
    }
    return false;
  }
  auto after(uint32_t level, const std::vector<Name>& names) -> std::optional<Spelled> {
    auto found = find(level, names);
    if (!found) { return std::nullopt; }
    std::string then = moved_to(found->path);
    if (then == found->path && own_then_ == own_) { return std::nullopt; }
    auto spelled = spell(level, then, found->base);
    return spelled && !(*spelled == Spelled{level, names}) ? spelled : std::nullopt;
  }

  static auto names_in(const syntax::List<syntax::Identifier>& path) -> std::vector<Name> {
    std::vector<Name> out;
    for (const syntax::Identifier& one : path) { out.push_back(one.name); }
    return out;
  }
  auto place(DeclId decl, Span span) const -> std::optional<Span> { return file_->syntax().resolve({decl, span.begin, span.end, 0}); }
  void put(std::optional<Span> span, std::string text) {
    if (span) { edits_.push_back({*span, std::move(text)}); }
  }
  auto table() -> const NameTable& {
    if (!names_) { names_ = names_of(*file_); }
    return *names_;
  }

  void look_at(const syntax::ImportStmt& import) {
    for (const syntax::ImportName& one : import.names) {
      if (one.path.empty()) { continue; }
      std::vector<Name> names = names_in(one.path);
      auto then = after(0, names);
      if (!then) { continue; }
      put(place(import.decl, {one.path.front().span.begin, one.path.back().span.end}), dotted(then->names));
      if (one.alias.name.empty()) { rename_uses(import.decl, one, names, dotted(then->names)); }
    }
  }
  /// `a.b` in expressions, behind `import a.b`.
  void rename_uses(DeclId decl, const syntax::ImportName& import, const std::vector<Name>& names, const std::string& text) {
    auto bound = place(decl, import.path.front().span);
    const Occurrence* binding = bound ? table().at(bound->begin) : nullptr;
    auto chain = [&](const syntax::Expr* expr) -> const syntax::NameExpr* {
      for (size_t i = names.size(); i-- > 1;) {
        const auto* attribute = expr->as<syntax::AttributeExpr>();
        if (attribute == nullptr || !(attribute->attr.name == names[i])) { return nullptr; }
        expr = attribute->object;
      }
      const auto* root = expr->as<syntax::NameExpr>();
      return root != nullptr && root->name == names[0] ? root : nullptr;
    };
    for (const syntax::PlacedItem& placed : file_->syntax().items()) {
      for (const syntax::Stmt* statement : placed.item->statements) {
        syntax::walk(*statement, [&](const syntax::Node& node) {
          const syntax::NameExpr* root = node.is_expr() ? chain(static_cast<const syntax::Expr*>(&node)) : nullptr;
          if (root == nullptr) { return true; }
          auto at = place(root->decl, root->span);
          const Occurrence* here = at ? table().at(at->begin) : nullptr;
          bool is_it = here != nullptr && (binding == nullptr || here->entity == binding->entity);
          if (is_it) { put(place(node.decl, node.span), text); }
          return false;
        });
      }
    }
  }

  void look_at(const syntax::ImportFromStmt& from) {
    std::vector<Name> module = names_in(from.module);
    // A module in a folder can have the name of something in the folder's own module.
    struct Moved { const syntax::ImportName* name; Spelled then; };
    std::vector<Moved> modules;
    for (const syntax::ImportName& one : from.names) {
      if (one.path.size() != 1 || gives(from.level, module, one.path.front().name)) { continue; }
      std::vector<Name> names = module;
      names.push_back(one.path.front().name);
      if (auto then = after(from.level, names); then && !then->names.empty()) { modules.push_back({&one, std::move(*then)}); }
    }
    auto folder_of = [](const Spelled& whole) { return Spelled{whole.level, {whole.names.begin(), whole.names.end() - 1}}; };
    std::optional<Spelled> then;
    if (modules.empty()) {
      then = after(from.level, module);
    } else {
      // One statement imports from one folder.
      Spelled folder = folder_of(modules.front().then);
      bool is_same = folder == Spelled{from.level, module};
      bool are_together = std::all_of(modules.begin(), modules.end(), [&](const Moved& one) { return folder_of(one.then) == folder; });
      if (!are_together || (!is_same && modules.size() != from.names.size())) { return; }
      if (!is_same) { then = folder; }
      for (const Moved& one : modules) { rename_module(from.decl, *one.name, one.then.names.back()); }
    }
    if (!then || (then->level == 0 && then->names.empty())) { return; }
    // The dots alone have no node.
    const std::string& text = file_->text();
    auto whole = place(from.decl, from.span);
    if (!whole) { return; }
    size_t begin = text.find_first_not_of(" \t", whole->begin + 4);
    std::optional<Span> last = from.module.empty() ? std::nullopt : place(from.decl, from.module.back().span);
    size_t end = last ? last->end : begin + from.level;
    std::string was = std::string(from.level, '.') + dotted(module);
    if (begin == std::string::npos || end > text.size() || text.compare(begin, end - begin, was) != 0) { return; }
    put(Span{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, std::string(then->level, '.') + dotted(then->names));
  }
  /// True for a name that the module's own file binds.
  auto gives(uint32_t level, const std::vector<Name>& module, Name name) -> bool {
    auto found = find(level, module);
    const Snapshot* file = found ? files_.read(found->path) : nullptr;
    return file != nullptr && names_of(*file).of_file.contains(name);
  }
  void rename_module(DeclId decl, const syntax::ImportName& import, Name name) {
    auto at = place(decl, import.path.front().span);
    if (!at || import.path.front().name == name) { return; }
    put(at, name.str());
    const Occurrence* binding = import.alias.name.empty() ? table().at(at->begin) : nullptr;
    if (binding == nullptr) { return; }
    for (const Occurrence& one : table().occurrences) {
      if (one.entity == binding->entity && !(one.span == *at)) { put(one.span, name.str()); }
    }
  }

  Files& files_;
  const std::vector<MovedFile>& moved_;
  const Snapshot* file_ = nullptr;
  std::string own_, own_then_;   // the path of the file before and after the move
  std::optional<NameTable> names_;
  std::vector<TextEdit> edits_;
};

}  // namespace

auto imports_after_moves(Files& files, const std::vector<MovedFile>& moved, const CancelToken& cancel) -> std::vector<EditedFile> {
  std::vector<EditedFile> out;
  Mover mover(files, moved);
  files.visit([](std::string_view text) { return text.find("import") != std::string_view::npos; }, [&](const Snapshot& file) {
    if (cancel.is_cancelled()) { return; }
    if (auto edits = mover.edits_of(file); !edits.empty()) { out.push_back({&file, std::move(edits)}); }
  });
  return out;
}

}  // namespace loopsmith::lsp
