// Reading and walking: see files.h.
#include "lsp/worker/files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lsp/protocol/uri.h"

namespace loopsmith::lsp {
namespace {

namespace fs = std::filesystem;
using workspace::Snapshot;

/// Longer files were probably not written by a person.
constexpr uintmax_t longest_file = 4 << 20;
/// A folder with more files is probably not a project.
constexpr size_t most_entries = 200'000;
constexpr size_t most_files = 20'000;

auto is_ours(const fs::path& path) -> bool {
  std::string extension = path.extension().string();
  return extension == ".py" || extension == ".tir";
}

auto is_of_tools(const std::string& folder) -> bool {
  static constexpr std::array<std::string_view, 4> names = {"node_modules", "__pycache__", "site-packages", "venv"};
  return folder.starts_with(".") || std::find(names.begin(), names.end(), folder) != names.end();
}

auto text_of(const fs::path& path) -> std::optional<std::string> {
  std::error_code failure;
  fs::file_status facts = fs::status(path, failure);
  if (failure || !fs::is_regular_file(facts)) { return std::nullopt; }
  uintmax_t size = fs::file_size(path, failure);
  if (failure || size > longest_file) { return std::nullopt; }
  std::ifstream file(path, std::ios::binary);
  if (!file) { return std::nullopt; }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

WorkspaceFiles::WorkspaceFiles(std::vector<const Snapshot*> open, std::vector<std::string> roots, CancelToken cancel, Deadline* too_large_until)
    : roots_(std::move(roots)), cancel_(std::move(cancel)), too_large_until_(too_large_until) {
  for (const Snapshot* snapshot : open) {
    std::string path = lsp::path_of(snapshot->name());
    open_paths_[snapshot] = path;
    open_[path] = snapshot;
  }
}

auto WorkspaceFiles::path_of(const Snapshot& snapshot) -> std::string {
  auto found = open_paths_.find(&snapshot);
  return found != open_paths_.end() ? found->second : lsp::path_of(snapshot.name());
}

auto WorkspaceFiles::read(const std::string& path) -> const Snapshot* {
  if (auto found = open_.find(path); found != open_.end()) { return found->second; }
  auto [known, is_new] = read_.try_emplace(path);
  if (is_new && path.starts_with("/")) {
    if (auto text = text_of(path)) { known->second = std::make_unique<Snapshot>(uri_of(path), 0, std::move(*text)); }
  }
  return known->second.get();
}

auto WorkspaceFiles::visit(const std::function<bool(std::string_view text)>& wants, const std::function<void(const Snapshot&)>& found) -> bool {
  if (too_large_until_ != nullptr && Clock::now() < *too_large_until_) { return false; }
  std::vector<std::string> paths;
  for (const auto& [path, snapshot] : open_) { paths.push_back(path); }
  size_t entries = 0;
  size_t count = 0;
  auto is_enough = [&] { return ++entries > most_entries || count > most_files || cancel_.is_cancelled(); };
  auto note = [&](const fs::path& path) {
    if (!is_ours(path) || open_.contains(path.string())) { return; }
    ++count;
    paths.push_back(path.string());
  };
  std::error_code failure;
  if (roots_.empty()) {
    std::vector<std::string> folders;
    for (const auto& [path, snapshot] : open_) { folders.push_back(fs::path(path).parent_path().string()); }
    std::sort(folders.begin(), folders.end());
    folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
    for (const std::string& folder : folders) {
      if (!folder.starts_with("/")) { continue; }
      for (fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, failure), end; !failure && at != end && !is_enough(); at.increment(failure)) { note(at->path()); }
    }
  }
  for (const std::string& root : roots_) {
    fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, failure);
    for (fs::recursive_directory_iterator end; !failure && at != end && !is_enough(); at.increment(failure)) {
      std::error_code ignored;
      if (at->is_directory(ignored) && is_of_tools(at->path().filename().string())) {
        at.disable_recursion_pending();
      } else {
        note(at->path());
      }
    }
  }
  if (entries > most_entries || count > most_files) {
    if (too_large_until_ != nullptr) { *too_large_until_ = in(std::chrono::minutes(1)); }
    return false;
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  for (size_t i = 0; i < paths.size() && !cancel_.is_cancelled(); ++i) {
    const std::string& path = paths[i];
    if (watch_) { watch_(i, paths.size(), path); }
    const Snapshot* file = nullptr;
    if (auto open = open_.find(path); open != open_.end()) {
      file = open->second;
    } else if (auto known = read_.find(path); known != read_.end()) {
      file = known->second.get();
    } else if (auto text = text_of(path); text && wants(*text)) {
      // Store only the files that the caller wants.
      file = (read_[path] = std::make_unique<Snapshot>(uri_of(path), 0, std::move(*text))).get();
      found(*file);
      continue;
    }
    if (file != nullptr && wants(file->text())) { found(*file); }
  }
  return true;
}

}  // namespace loopsmith::lsp
