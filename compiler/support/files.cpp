// Files written whole: see files.h.
#include "support/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/codes.h"

namespace loopsmith {

auto write_file(const std::string& path, std::string_view content) -> Status {
  auto fail = [&] { return error(Code::CannotWrite).arg("file", path == "-" ? "standard output" : path).arg("why", std::strerror(errno)); };
  auto directly = [&]() -> Status {
    std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
    bool fine = file && std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (file) { fine = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 && fine; }
    if (!fine) { return fail(); }
    return ok();
  };
  if (path == "-") { return directly(); }
  char* resolved = ::realpath(path.c_str(), nullptr);
  std::string target = resolved != nullptr ? resolved : path;
  std::free(resolved);
  struct stat info {};
  bool exists = ::stat(target.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) { return directly(); }
  if (exists && ::access(target.c_str(), W_OK) != 0) { return fail(); }
  std::string temporary = target + ".XXXXXX";
  int file = ::mkstemp(temporary.data());
  // The folder accepts no new file: write into the old one.
  if (file < 0) { return directly(); }
  mode_t masked = ::umask(0);
  ::umask(masked);
  bool fine = ::fchmod(file, exists ? info.st_mode & 07777 : 0666 & ~masked) == 0;
  for (size_t done = 0; fine && done < content.size();) {
    ssize_t n = ::write(file, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) { continue; }
    fine = n > 0;
    done += fine ? static_cast<size_t>(n) : 0;
  }
  // An existing file must survive a crash of the machine, too: the new content reaches the disk before the rename.
  if (exists) { fine = ::fsync(file) == 0 && fine; }
  Diagnostic failure = fail();
  fine = ::close(file) == 0 && fine;
  if (fine && ::rename(temporary.c_str(), target.c_str()) == 0) { return ok(); }
  if (fine) { failure = fail(); }
  ::unlink(temporary.c_str());
  return failure;
}

}  // namespace loopsmith
