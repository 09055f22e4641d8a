// Reads whole texts and writes whole files: see files.h.
#include "support/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith {
namespace {

using Pieces = std::span<const std::string_view>;

/// Writes all pieces from the current position on; false: see `errno` for the reason.
auto write_pieces(int file, Pieces pieces) -> bool {
  for (std::string_view piece : pieces) {
    while (!piece.empty()) {
      ssize_t written = ::write(file, piece.data(), piece.size());
      if (written < 0 && errno == EINTR) { continue; }
      if (written <= 0) { return false; }
      piece.remove_prefix(static_cast<size_t>(written));
    }
  }
  return true;
}

/// Standard output is one stream for the whole program, so its text goes through that stream.
auto write_to_output(Pieces pieces) -> bool {
  for (std::string_view piece : pieces) {
    if (std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size()) { return false; }
  }
  return std::fflush(stdout) == 0;
}

/// Writes into the file itself, which may be a device or a pipe. Refuses if the disk is too full, before any old content is lost.
auto write_into(const std::string& path, Pieces pieces) -> bool {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) { return false; }
  struct stat info {};
  bool is_regular = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  off_t size = 0;
  for (std::string_view piece : pieces) { size += static_cast<off_t>(piece.size()); }
  int full = is_regular && size > info.st_size ? ::posix_fallocate(file, info.st_size, size - info.st_size) : 0;
  bool fine = full != ENOSPC && full != EFBIG && full != EDQUOT;
  if (!fine) {
    (void)!::ftruncate(file, info.st_size);
    errno = full;
  }
  fine = fine && write_pieces(file, pieces) && (!is_regular || ::ftruncate(file, size) == 0);
  int failure = errno;
  fine = ::close(file) == 0 && fine;
  if (!fine) { errno = failure; }
  return fine;
}

/// Gives a new file the owner and the extended attributes (access lists, labels, notes) of an old one. False: the system does not allow it.
auto take_over(int file, const std::string& old, const struct stat& info) -> bool {
  struct stat made {};
  if (::fstat(file, &made) != 0) { return false; }
  if ((made.st_uid != info.st_uid || made.st_gid != info.st_gid) && ::fchown(file, info.st_uid, info.st_gid) != 0) { return false; }
  ssize_t size = ::listxattr(old.c_str(), nullptr, 0);
  if (size < 0) { return errno == ENOTSUP || errno == ENOSYS; }
  std::vector<char> names(static_cast<size_t>(size));
  size = ::listxattr(old.c_str(), names.data(), names.size());
  if (size < 0) { return false; }
  for (const char* name = names.data(); name < names.data() + size; name += std::strlen(name) + 1) {
    ssize_t length = ::getxattr(old.c_str(), name, nullptr, 0);
    if (length < 0) { return false; }
    std::vector<char> value(static_cast<size_t>(length) + 1);
    length = ::getxattr(old.c_str(), name, value.data(), value.size());
    if (length < 0 || ::fsetxattr(file, name, value.data(), static_cast<size_t>(length), 0) != 0) { return false; }
  }
  // A change of the owner clears bits of the mode, so the mode is set last.
  return ::fchmod(file, info.st_mode & 07777) == 0;
}

/// The new content of a file, under another name in the same folder. The file is locked while its writer lives.
struct Beside {
  std::string name;
  int file = -1;
};

auto beginning_of_names(const std::filesystem::path& target) -> std::string { return "." + target.filename().string() + ".loopsmith-"; }

auto create_beside(const std::filesystem::path& target) -> Beside {
  Beside out{.name = (target.parent_path() / (beginning_of_names(target) + "XXXXXX")).string()};
  out.file = ::mkostemp(out.name.data(), O_CLOEXEC);
  if (out.file >= 0) { (void)::flock(out.file, LOCK_EX | LOCK_NB); }
  return out;
}

/// Removes the temporary file of a writer of the same target that was killed.
void clean_beside(const std::filesystem::path& target) {
  std::error_code problem;
  std::string beginning = beginning_of_names(target);
  for (std::filesystem::directory_iterator at(target.parent_path(), problem), end; !problem && at != end; at.increment(problem)) {
    std::string name = at->path().filename().string();
    if (!name.starts_with(beginning) || name.size() != beginning.size() + 6) { continue; }
    int file = ::open(at->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) { continue; }
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) { ::unlink(at->path().c_str()); }
    ::close(file);
  }
}

/// Replaces the target by a new file. None: the new file cannot get the attributes of the old one, so the caller must write into the old one.
auto replace(const std::string& target, const struct stat* old, Pieces pieces) -> std::optional<bool> {
  std::filesystem::path place = std::filesystem::absolute(target);
  clean_beside(place);
  Beside beside = create_beside(place);
  if (beside.file < 0) { return std::nullopt; }
  auto give_up = [&] {
    int failure = errno;
    ::unlink(beside.name.c_str());
    ::close(beside.file);
    errno = failure;
  };
  mode_t masked = ::umask(0);
  ::umask(masked);
  if (old != nullptr ? !take_over(beside.file, target, *old) : ::fchmod(beside.file, 0666 & ~masked) != 0) {
    give_up();
    return std::nullopt;
  }
  // An existing file must also survive a crash of the machine: the new content reaches the disk before the rename.
  bool fine = write_pieces(beside.file, pieces) && (old == nullptr || ::fsync(beside.file) == 0) && ::rename(beside.name.c_str(), place.c_str()) == 0;
  if (!fine) {
    give_up();
    return false;
  }
  return ::close(beside.file) == 0;
}

}  // namespace

auto unreadable(std::string_view place, const Reason& why) -> Diagnostic { return error(Code::CannotRead).arg("file", place).arg("reason", why.text()); }

auto read_text(const std::string& path) -> Result<std::string> {
  auto fail = [&](const char* why) -> Diagnostic { return error(Code::CannotRead).arg("file", path == "-" ? "standard input" : path).arg("reason", why); };
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) { return fail(std::strerror(errno)); }
  std::string out;
  char chunk[65536];
  size_t n = 0;
  while (out.size() <= largest_text && (n = std::fread(chunk, 1, sizeof chunk, file)) > 0) { out.append(chunk, n); }
  int problem = std::ferror(file) != 0 ? errno : 0;
  if (file != stdin) { std::fclose(file); }
  if (problem != 0) { return fail(std::strerror(problem)); }
  if (out.size() > largest_text) { return unreadable(path == "-" ? "standard input" : path, because(Why::TextTooLarge)); }
  return out;
}

auto write_file(const std::string& path, Pieces pieces) -> Status {
  auto fail = [&] { return error(Code::CannotWrite).arg("file", path == "-" ? "standard output" : path).arg("reason", std::strerror(errno)); };
  if (path == "-") {
    if (!write_to_output(pieces)) { return fail(); }
    return ok();
  }
  char* resolved = ::realpath(path.c_str(), nullptr);
  std::string target = resolved != nullptr ? resolved : path;
  std::free(resolved);
  struct stat info {};
  bool exists = ::stat(target.c_str(), &info) == 0;
  bool is_replaceable = !exists || (S_ISREG(info.st_mode) && info.st_nlink == 1);
  // A new file would bypass the mode of the old one.
  if (exists && S_ISREG(info.st_mode) && ::access(target.c_str(), W_OK) != 0) { return fail(); }
  std::optional<bool> written = is_replaceable ? replace(target, exists ? &info : nullptr, pieces) : std::nullopt;
  if (!written) { written = write_into(target, pieces); }
  if (!*written) { return fail(); }
  return ok();
}

auto write_file(const std::string& path, std::string_view content) -> Status { return write_file(path, Pieces(&content, 1)); }

}  // namespace loopsmith
