// Debuggers and profilers: see jit_tools.h. LLVM has a plugin for gdb's interface. Its plugin for perf's dump
// leaves a part of the header unwritten (19.1.7), and perf refuses the file; this one writes the whole header.
#include "runtime/jit_tools.h"

#include "codegen/interface.h"

#include <fmt/format.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/DebugObjectManagerPlugin.h>
#include <llvm/ExecutionEngine/Orc/Debugging/DebugInfoSupport.h>
#include <llvm/ExecutionEngine/Orc/EPCDebugObjectRegistrar.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace loopsmith::runtime {
namespace {

using llvm::orc::ExecutorAddr;

/// Keeps symbols that the linker would drop because no code refers to them by name: bodies and shares of parallel loops.
void keep_names(llvm::jitlink::PassConfiguration& config) {
  config.PrePrunePasses.push_back([](llvm::jitlink::LinkGraph& graph) {
    for (llvm::jitlink::Symbol* symbol : graph.defined_symbols()) {
      if (symbol->hasName() && symbol->isCallable()) { symbol->setLive(true); }
    }
    return llvm::Error::success();
  });
}

/// Adds a line for each function of an object to the process's map.
class PerfMap : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  void modifyPassConfig(llvm::orc::MaterializationResponsibility&, llvm::jitlink::LinkGraph&, llvm::jitlink::PassConfiguration& config) override {
    keep_names(config);
    config.PostFixupPasses.push_back([](llvm::jitlink::LinkGraph& graph) {
      std::FILE* file = std::fopen(fmt::format("/tmp/perf-{}.map", getpid()).c_str(), "a");
      if (file == nullptr) { return llvm::Error::success(); }
      for (const llvm::jitlink::Symbol* symbol : graph.defined_symbols()) {
        if (!symbol->hasName() || !symbol->isCallable() || symbol->getSize() == 0) { continue; }
        fmt::print(file, "{:x} {:x} {}\n", symbol->getAddress().getValue(), symbol->getSize(), codegen::shown_name({symbol->getName().data(), symbol->getName().size()}));
      }
      std::fclose(file);
      return llvm::Error::success();
    });
  }
  auto notifyFailed(llvm::orc::MaterializationResponsibility&) -> llvm::Error override { return llvm::Error::success(); }
  auto notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) -> llvm::Error override { return llvm::Error::success(); }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey, llvm::orc::ResourceKey) override {}
};

/// A file in perf's jitdump format, version 1 (tools/perf/Documentation/jitdump-specification.txt in Linux): code and lines of each
/// function, in the order of their compilation. The process has one such file; perf finds it because it is mapped executable.
class Dump {
 public:
  static auto of_process() -> Dump& {
    static Dump dump;
    return dump;
  }
  [[nodiscard]] auto problem() const -> const std::string& { return problem_; }

  struct Line { uint64_t address; int32_t line; std::string file; };
  void add(const std::string& name, uint64_t address, std::string_view code, const std::vector<Line>& lines) {
    std::lock_guard lock(mutex_);
    if (file_ == nullptr) { return; }
    if (!lines.empty()) {
      std::string body;
      put(body, address);
      put(body, static_cast<uint64_t>(lines.size()));
      for (const Line& l : lines) {
        put(body, l.address);
        put(body, l.line);
        put(body, int32_t{0});
        body.append(l.file.c_str(), l.file.size() + 1);
      }
      record(2, body);
    }
    std::string body;
    put(body, static_cast<uint32_t>(getpid()));
    put(body, static_cast<uint32_t>(gettid()));
    put(body, address);
    put(body, address);
    put(body, static_cast<uint64_t>(code.size()));
    put(body, next_++);
    body.append(name.c_str(), name.size() + 1);
    body.append(code);
    record(0, body);
    std::fflush(file_);
  }

 private:
  Dump() {
    const char* folder = std::getenv("JITDUMPDIR");
    const char* home = std::getenv("HOME");
    std::filesystem::path path = folder != nullptr ? folder : std::string(home != nullptr ? home : "/tmp") + "/.debug/jit";
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    path /= fmt::format("jit-{}.dump", getpid());
    const int descriptor = open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666);
    file_ = descriptor < 0 ? nullptr : fdopen(descriptor, "wb");
    if (file_ == nullptr) {
      problem_ = fmt::format("LOOPSMITH_JIT=perf: cannot write `{}`", path.string());
      return;
    }
    std::string header;
    put(header, uint32_t{0x4a695444});
    put(header, uint32_t{1});
    put(header, uint32_t{40});
#if defined(__aarch64__)
    put(header, uint32_t{183});   // EM_AARCH64
#else
    put(header, uint32_t{62});    // EM_X86_64
#endif
    put(header, uint32_t{0});
    put(header, static_cast<uint32_t>(getpid()));
    put(header, now());
    put(header, uint64_t{0});
    std::fwrite(header.data(), 1, header.size(), file_);
    std::fflush(file_);
    // perf searches for this mapping; it stays until the process ends.
    (void)mmap(nullptr, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0);
  }
  template <class T> static void put(std::string& out, T value) { out.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  static auto now() -> uint64_t {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
  }
  void record(uint32_t kind, const std::string& body) {
    std::string head;
    put(head, kind);
    put(head, static_cast<uint32_t>(16 + body.size()));
    put(head, now());
    std::fwrite(head.data(), 1, head.size(), file_);
    std::fwrite(body.data(), 1, body.size(), file_);
  }

  std::FILE* file_ = nullptr;
  std::string problem_;
  std::mutex mutex_;
  uint64_t next_ = 0;
};

class PerfDump : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  void modifyPassConfig(llvm::orc::MaterializationResponsibility&, llvm::jitlink::LinkGraph&, llvm::jitlink::PassConfiguration& config) override {
    keep_names(config);
    config.PostFixupPasses.push_back([](llvm::jitlink::LinkGraph& graph) {
      auto lines = llvm::orc::createDWARFContext(graph);
      for (llvm::jitlink::Symbol* symbol : graph.defined_symbols()) {
        if (!symbol->hasName() || !symbol->isCallable() || symbol->getSize() == 0) { continue; }
        const uint64_t address = symbol->getAddress().getValue();
        std::vector<Dump::Line> of_function;
        if (lines) {
          llvm::DILineInfoTable table = lines->first->getLineInfoForAddressRange(
              {address, symbol->getBlock().getSection().getOrdinal()}, symbol->getSize(), llvm::DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath);
          for (const auto& [at, info] : table) { of_function.push_back({at, static_cast<int32_t>(info.Line), info.FileName}); }
        }
        llvm::StringRef code(symbol->getBlock().getContent().data() + symbol->getOffset(), symbol->getSize());
        Dump::of_process().add(std::string(codegen::shown_name({symbol->getName().data(), symbol->getName().size()})), address, {code.data(), code.size()}, of_function);
      }
      if (!lines) { llvm::consumeError(lines.takeError()); }
      return llvm::Error::success();
    });
  }
  auto notifyFailed(llvm::orc::MaterializationResponsibility&) -> llvm::Error override { return llvm::Error::success(); }
  auto notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) -> llvm::Error override { return llvm::Error::success(); }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey, llvm::orc::ResourceKey) override {}
};

}  // namespace

auto tell_tools(llvm::orc::ExecutionSession& session, llvm::orc::ObjectLinkingLayer& layer) -> std::string {
  const char* asked = std::getenv("LOOPSMITH_JIT");
  if (asked == nullptr) { return {}; }
  std::string out;
  std::string_view rest = asked;
  while (!rest.empty()) {
    size_t comma = std::min(rest.find(','), rest.size());
    std::string_view tool = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (tool == "gdb") {
      layer.addPlugin(std::make_shared<llvm::orc::DebugObjectManagerPlugin>(
          session, std::make_unique<llvm::orc::EPCDebugObjectRegistrar>(session, ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBWrapper)),
          /*RequireDebugSections=*/false, /*AutoRegisterCode=*/true));
    } else if (tool == "perf") {
      layer.addPlugin(std::make_shared<llvm::orc::DebugInfoPreservationPlugin>());
      layer.addPlugin(std::make_shared<PerfDump>());
      out = Dump::of_process().problem();
    } else if (tool == "map") {
      layer.addPlugin(std::make_shared<PerfMap>());
    } else if (!tool.empty()) {
      out = fmt::format("LOOPSMITH_JIT: there is no `{}`; there are `gdb`, `perf` and `map`", tool);
    }
  }
  return out;
}

}  // namespace loopsmith::runtime
