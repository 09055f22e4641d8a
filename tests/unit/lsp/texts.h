// A workspace for tests with several files.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsp/features/cross_file_names.h"
#include "tests/unit/catch.h"

namespace loopsmith::lsp {

/// A workspace below `/w`, in memory only.
class Texts : public Files {
 public:
  explicit Texts(std::map<std::string, std::string> texts) {
    for (auto& [name, text] : texts) { files_["/w/" + name] = std::make_unique<workspace::Snapshot>("file:///w/" + name, 1, text); }
  }
  auto read(const std::string& path) -> const workspace::Snapshot* override {
    auto found = files_.find(path);
    return found == files_.end() ? nullptr : found->second.get();
  }
  auto path_of(const workspace::Snapshot& snapshot) -> std::string override { return snapshot.name().substr(7); }
  auto visit(const std::function<bool(std::string_view)>& wants, const std::function<void(const workspace::Snapshot&)>& found) -> bool override {
    if (is_too_large) { return false; }
    for (const auto& [path, file] : files_) {
      if (wants(file->text())) { found(*file); }
    }
    return true;
  }
  bool is_too_large = false;
  [[nodiscard]] auto roots() const -> const std::vector<std::string>& override { return roots_; }

  auto at(const std::string& name, const std::string& text, size_t inside = 0) -> std::pair<const workspace::Snapshot*, uint32_t> {
    const workspace::Snapshot* file = read("/w/" + name);
    REQUIRE(file != nullptr);
    size_t found = file->text().find(text);
    REQUIRE(found != std::string::npos);
    return {file, static_cast<uint32_t>(found + inside)};
  }

  /// All paths and their texts.
  [[nodiscard]] auto all() const -> std::map<std::string, std::string> {
    std::map<std::string, std::string> out;
    for (const auto& [path, file] : files_) { out[path.substr(3)] = file->text(); }
    return out;
  }

 private:
  std::map<std::string, std::unique_ptr<workspace::Snapshot>> files_;
  std::vector<std::string> roots_ = {"/w"};
};

}  // namespace loopsmith::lsp
