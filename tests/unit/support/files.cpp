// Writing files: all properties of a file except its content stay the same, and no other file remains.
#include "support/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "../catch.h"

namespace loopsmith {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "loopsmith-files-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~Folder() { fs::remove_all(path); }
  [[nodiscard]] auto file(const char* name) const -> std::string { return (path / name).string(); }
  [[nodiscard]] auto entries() const -> size_t { return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator())); }
  fs::path path;
};

auto content(const std::string& path) -> std::string {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

auto info(const std::string& path) -> struct stat {
  struct stat out {};
  REQUIRE(::stat(path.c_str(), &out) == 0);
  return out;
}

}  // namespace

TEST_CASE("a file keeps its link, mode, owner and extended attributes") {
  Folder folder;
  std::string path = folder.file("a.tir");
  REQUIRE(write_file(path, "old").ok());
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  bool has_attributes = ::setxattr(path.c_str(), "user.note", "kept", 4, 0) == 0;
  bool has_owner = ::geteuid() == 0 && ::chown(path.c_str(), 1234, 4321) == 0;
  REQUIRE(::symlink("a.tir", folder.file("link.tir").c_str()) == 0);
  REQUIRE(write_file(folder.file("link.tir"), "new").ok());
  CHECK(content(path) == "new");
  CHECK(fs::is_symlink(folder.file("link.tir")));
  CHECK((info(path).st_mode & 07777) == 0640);
  if (has_owner) {
    CHECK(info(path).st_uid == 1234);
    CHECK(info(path).st_gid == 4321);
  }
  if (has_attributes) {
    char value[8] = {};
    REQUIRE(::getxattr(path.c_str(), "user.note", value, sizeof value) == 4);
    CHECK(std::string(value) == "kept");
  }
  CHECK(folder.entries() == 2);
}

TEST_CASE("a file with several hard links is written into, for all of them") {
  Folder folder;
  REQUIRE(write_file(folder.file("a.tir"), "a long old content").ok());
  REQUIRE(::link(folder.file("a.tir").c_str(), folder.file("b.tir").c_str()) == 0);
  REQUIRE(write_file(folder.file("a.tir"), "new").ok());
  CHECK(content(folder.file("b.tir")) == "new");
  CHECK(info(folder.file("a.tir")).st_nlink == 2);
  REQUIRE(write_file(folder.file("b.tir"), "a content that is longer than the first one").ok());
  CHECK(content(folder.file("a.tir")) == "a content that is longer than the first one");
  CHECK(folder.entries() == 2);
}

TEST_CASE("files left by a killed writer are removed, those of a living one are not") {
  Folder folder;
  REQUIRE(write_file(folder.file("a.tir"), "old").ok());
  std::ofstream(folder.file(".a.tir.loopsmith-AbCdEf")) << "half";
  std::ofstream(folder.file(".a.tir.loopsmith-notes.txt")) << "of a person";
  std::string living = folder.file(".a.tir.loopsmith-GhIjKl");
  int file = ::open(living.c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(file >= 0);
  REQUIRE(::flock(file, LOCK_EX) == 0);
  REQUIRE(write_file(folder.file("a.tir"), "new").ok());
  CHECK_FALSE(fs::exists(folder.file(".a.tir.loopsmith-AbCdEf")));
  CHECK(fs::exists(folder.file(".a.tir.loopsmith-notes.txt")));
  CHECK(fs::exists(living));
  ::close(file);
  CHECK(content(folder.file("a.tir")) == "new");
}

TEST_CASE("a device and a file in a folder that does not exist") {
  CHECK(write_file("/dev/null", "dropped").ok());
  Status full = write_file("/dev/full", "dropped");
  REQUIRE_FALSE(full.ok());
  CHECK(full.diagnostics().front().message().find("No space left") != std::string::npos);
  Folder folder;
  CHECK_FALSE(write_file(folder.file("none/a.tir"), "x").ok());
  CHECK(folder.entries() == 0);
}

}  // namespace loopsmith
