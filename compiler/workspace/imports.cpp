// Reads modules and keeps them: see imports.h.
#include "workspace/imports.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "frontend/file.h"
#include "script/schedules.h"
#include "script/texts.h"
#include "support/hash.h"

namespace loopsmith::workspace {
namespace {

/// Longer files are machine-written and not read.
constexpr int64_t longest_file = 4 << 20;

auto above(const std::string& path) -> std::string { return path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/')); }

}  // namespace

auto module_paths(const std::string& own, const std::vector<std::string>& roots, uint32_t level, const std::vector<Name>& path) -> std::vector<std::string> {
  std::string folder = above(own);
  std::vector<std::string> bases;
  if (level > 0) {
    for (uint32_t i = 1; i < level; ++i) { folder = above(folder); }
    bases = {folder};
  } else {
    auto is_open = [&](const std::string& at) {
      return std::any_of(roots.begin(), roots.end(), [&](const std::string& root) { return at == root || at.starts_with(root + "/"); });
    };
    bases = {folder};
    for (folder = above(folder); !folder.empty() && is_open(folder); folder = above(folder)) { bases.push_back(folder); }
    for (const std::string& root : roots) {
      if (std::find(bases.begin(), bases.end(), root) == bases.end()) { bases.push_back(root); }
    }
  }
  std::string relative;
  for (const Name& part : path) { relative += "/" + part.str(); }
  bool is_tir = own.ends_with(".tir");
  std::vector<std::string> out;
  for (const std::string& base : bases) {
    std::vector<std::string> candidates = {base + relative + (is_tir ? ".tir" : ".py"), base + relative + (is_tir ? ".py" : ".tir"), base + relative + "/__init__.py"};
    if (path.empty()) { candidates = {base + "/__init__.py"}; }
    for (std::string& candidate : candidates) {
      if (candidate != own) { out.push_back(std::move(candidate)); }
    }
  }
  return out;
}

auto TextsOnDisk::stamp(const std::string& path) -> std::optional<uint64_t> {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > longest_file) { return {}; }
  return hash_combine(hash_combine(static_cast<uint64_t>(facts.st_mtim.tv_sec), static_cast<uint64_t>(facts.st_mtim.tv_nsec)),
                      hash_combine(static_cast<uint64_t>(facts.st_size), static_cast<uint64_t>(facts.st_ino)));
}

auto TextsOnDisk::text(const std::string& path) -> std::optional<std::string> {
  if (!stamp(path)) { return {}; }
  std::ifstream file(path, std::ios::binary);
  if (!file) { return {}; }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Imports::Module {
  syntax::Document document;
  frontend::File file{&script::predeclared};
  explicit Module(std::string text) : document(std::move(text)) {}
};

// The imports of one file. A module owns its imports, so these must not own the Imports object, which owns the module.
class Imports::Of : public frontend::Modules {
 public:
  Of(Imports& imports, std::shared_ptr<Imports> kept, std::string own) : imports_(imports), kept_(std::move(kept)), own_(std::move(own)) { alive().emplace(this, this); }
  Of(const Of&) = delete;
  auto operator=(const Of&) -> Of& = delete;
  ~Of() override { alive().erase(this); }

  /// The imports of this thread, by the interface that files know.
  static auto alive() -> std::map<const frontend::Modules*, Of*>& {
    static thread_local std::map<const frontend::Modules*, Of*> all;
    return all;
  }

  auto find(uint32_t level, const std::vector<Name>& path) -> std::shared_ptr<frontend::File> override {
    if (std::exchange(epoch_, imports_.epoch_) != imports_.epoch_) { found_.clear(); }
    auto [known, is_new] = found_.try_emplace({level, path});
    if (is_new) {
      for (const std::string& candidate : module_paths(own_, imports_.roots_, level, path)) {
        if (auto file = imports_.module(candidate)) {
          known->second = std::move(file);
          break;
        }
      }
    }
    return known->second;
  }
  [[nodiscard]] auto text(const std::string& path) -> std::optional<std::string> {
    return imports_.plain_text((std::filesystem::path(own_).parent_path() / path).lexically_normal().string());
  }
  [[nodiscard]] auto locate(const Origin& origin) -> std::optional<frontend::Elsewhere> override { return imports_.locate(origin); }
  [[nodiscard]] auto epoch() const -> uint64_t override { return imports_.epoch_; }

 private:
  Imports& imports_;
  std::shared_ptr<Imports> kept_;
  std::string own_;
  uint64_t epoch_ = 0;
  std::map<std::pair<uint32_t, std::vector<Name>>, std::shared_ptr<frontend::File>> found_;
};

Imports::Imports(std::shared_ptr<TextSource> texts, std::vector<std::string> roots) : texts_(std::move(texts)), roots_(std::move(roots)) {
  script::read_texts_with([](const frontend::Modules& imports, const std::string& path) {
    auto found = Of::alive().find(&imports);
    return found != Of::alive().end() ? found->second->text(path) : std::nullopt;
  });
}
// Modules that import each other own each other: their links must be cut.
Imports::~Imports() {
  for (auto& [path, known] : files_) {
    if (known.module) { known.module->file.import_from(nullptr); }
  }
}

auto Imports::of(const std::string& path) -> std::shared_ptr<frontend::Modules> { return std::make_shared<Of>(*this, shared_from_this(), path); }

void Imports::set_roots(std::vector<std::string> roots) {
  if (roots == roots_) { return; }
  roots_ = std::move(roots);
  ++epoch_;
}

void Imports::read(const std::string& path, Known& known) {
  known.stamp = texts_->stamp(path);
  known.text = nullptr;
  auto text = known.stamp ? texts_->text(path) : std::nullopt;
  if (!text) {
    if (known.module) { known.module->file.import_from(nullptr); }
    known.module = nullptr;
    return;
  }
  if (!known.module) {
    known.module = std::make_shared<Module>(std::move(*text));
    std::filesystem::path file(path);
    known.module->file.set_own_name((file.stem() == "__init__" ? file.parent_path().filename() : file.stem()).string());
    known.module->file.set_is_python(file.extension() == ".py");
    known.module->file.import_from(std::make_shared<Of>(*this, nullptr, path));
  } else {
    // Edits only the changed part, so that the results for unchanged declarations are kept.
    const std::string& was = known.module->document.text();
    if (was == *text) { return; }
    size_t most = std::min(was.size(), text->size());
    size_t begin = 0;
    while (begin < most && was[begin] == (*text)[begin]) { ++begin; }
    size_t end = 0;
    while (end < most - begin && was[was.size() - 1 - end] == (*text)[text->size() - 1 - end]) { ++end; }
    known.module->document.edit({static_cast<uint32_t>(begin), static_cast<uint32_t>(was.size() - end)}, std::string_view(*text).substr(begin, text->size() - end - begin));
  }
  known.module->file.update(known.module->document);
}

auto Imports::module(const std::string& path) -> std::shared_ptr<frontend::File> {
  auto [known, is_new] = files_.try_emplace(path);
  if (is_new) { read(path, known->second); }
  return known->second.module ? std::shared_ptr<frontend::File>(known->second.module, &known->second.module->file) : nullptr;
}

auto Imports::plain_text(const std::string& path) -> std::optional<std::string> {
  plain_texts_[path] = texts_->stamp(path);
  return texts_->text(path);
}

auto Imports::locate(const Origin& origin) -> std::optional<frontend::Elsewhere> {
  for (auto& [path, known] : files_) {
    auto span = known.module ? known.module->document.resolve(origin) : std::nullopt;
    if (!span) { continue; }
    if (!known.text) {
      std::string name = path;
      for (const std::string& root : roots_) {
        if (path.starts_with(root + "/")) { name = path.substr(root.size() + 1); }
      }
      known.text = std::make_shared<SourceText>(std::move(name), known.module->document.text());
    }
    return frontend::Elsewhere{path, known.text, *span};
  }
  return {};
}

auto Imports::refresh() -> bool {
  bool is_changed = false;
  for (auto& [path, known] : files_) {
    if (texts_->stamp(path) == known.stamp) { continue; }
    read(path, known);
    is_changed = true;
  }
  for (auto& [path, stamp] : plain_texts_) {
    const auto now = texts_->stamp(path);
    is_changed = is_changed || now != stamp;
    stamp = now;
  }
  if (is_changed) { ++epoch_; }
  return is_changed;
}

auto import_options() -> ImportOptions& {
  static ImportOptions options;
  return options;
}

auto imports_on_disk(const std::string& path) -> std::shared_ptr<frontend::Modules> {
  const ImportOptions& options = import_options();
  std::error_code failure;
  auto whole = [&](const std::string& one) {
    std::string at = std::filesystem::absolute(one, failure).lexically_normal().string();
    while (at.size() > 1 && at.ends_with('/')) { at.pop_back(); }
    return at;
  };
  std::string own = whole(path == "<stdin>" && !options.input_name.empty() ? options.input_name : path);
  std::vector<std::string> roots;
  for (const std::string& root : options.roots) { roots.push_back(whole(root)); }
  if (roots.empty()) { roots.push_back(whole(".")); }
  if (failure) { return nullptr; }
  return std::make_shared<Imports>(std::make_shared<TextsOnDisk>(), std::move(roots))->of(own);
}

}  // namespace loopsmith::workspace
