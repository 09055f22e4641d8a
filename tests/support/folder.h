// A folder for the files of one test.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace loopsmith::tests {

/// A new, empty folder below the system's folder for temporary files. The destructor removes it with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    path_ = (std::filesystem::temp_directory_path() / "loopsmith-test-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) { throw std::runtime_error("no folder can be made: " + path_); }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  auto operator=(const TemporaryFolder&) -> TemporaryFolder& = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  /// Absolute, without a slash at the end.
  [[nodiscard]] auto path() const -> const std::string& { return path_; }
  /// The path of a file in the folder.
  [[nodiscard]] auto operator/(const std::string& name) const -> std::string { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace loopsmith::tests
