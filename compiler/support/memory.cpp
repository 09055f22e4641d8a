// Memory of processes: see memory.h. glibc keeps freed memory in its arenas until malloc_trim is called.
#include "support/memory.h"

#include <cstdio>
#include <cstdlib>  // defines __GLIBC__
#include <string>

#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace loopsmith {

void give_memory_back() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

auto heap_memory() -> HeapMemory {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  struct mallinfo2 info = ::mallinfo2();
  return {info.uordblks + info.hblkhd, info.fordblks};
#else
  return {};
#endif
}

auto resident_memory(int process) -> std::optional<uint64_t> {
  std::string path = "/proc/" + (process == 0 ? std::string("self") : std::to_string(process)) + "/statm";
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) { return std::nullopt; }
  unsigned long long all = 0;
  unsigned long long resident = 0;
  int read = std::fscanf(file, "%llu %llu", &all, &resident);
  std::fclose(file);
  if (read != 2) { return std::nullopt; }
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace loopsmith
