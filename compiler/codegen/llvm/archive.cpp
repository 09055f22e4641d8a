// Static libraries, with LLVM's archive writer: see codegen.h.
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/MemoryBuffer.h>

#include "codegen/llvm/codegen.h"
#include "codegen/llvm/failure.h"
#include "support/codes.h"

namespace loopsmith::codegen {

auto archive(const std::vector<ArchiveMember>& members) -> Result<std::string> {
  std::vector<llvm::NewArchiveMember> all;
  for (const ArchiveMember& member : members) {
    auto& added = all.emplace_back(llvm::MemoryBufferRef(member.content, member.name));
    added.MemberName = member.name;
  }
  auto failed = [](llvm::Error problem) { return llvm_failed("the archive", llvm::toString(std::move(problem))); };
  auto buffer = llvm::writeArchiveToBuffer(all, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU, true, false);
  if (!buffer) { return failed(buffer.takeError()); }
  return std::string((*buffer)->getBufferStart(), (*buffer)->getBufferSize());
}

}  // namespace loopsmith::codegen
