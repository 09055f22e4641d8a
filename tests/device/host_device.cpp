// Runs blocks one after the other, with the threads of a block as fibres: see host_device.h.
#include "host_device.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <unordered_map>

#include "support/codes.h"
#include "support/process.h"

namespace loopsmith::device_tests {
namespace {

using runtime::DeviceMemory;
using runtime::KernelArgument;
using runtime::KernelNumber;
using runtime::LaunchSize;

constexpr size_t stack_bytes = 64 * 1024;
constexpr size_t guard_bytes = 64;
constexpr unsigned char guard = 0xa5;
constexpr unsigned char rubbish = 0xff;   // NaN as a float, -1 as an integer

// The layouts of cuda_on_host.h.
struct Three { unsigned x, y, z; };
struct HostCalls {
  void (*wait_for_block)(int);
  void (*exchange)(unsigned, unsigned long long, unsigned long long*, int);
  void (*fail)(const char*);
  int (*lane)();
  void (*check_read_only)(const void*, int);
};

auto failed(std::string why) -> Diagnostic { return error(Code::KernelFailed).arg("function", "the kernel on the host").arg("reason", std::move(why)); }

/// A library of kernels.
struct Library {
  void* handle = nullptr;
  std::vector<std::string> kernels;
  Three *thread_index = nullptr, *block_index = nullptr, *block_size = nullptr, *grid_size = nullptr;
  char *shared_begin = nullptr, *shared_end = nullptr;
  void (*begin_block)() = nullptr;
  bool has_read_only_loads = false;
};

/// The block that is executed.
class Block {
 public:
  enum class State : uint8_t { Ready, AtBarrier, Exchanging, Done };
  struct Thread {
    ucontext_t context{};
    std::unique_ptr<char[]> stack;
    Three index{};
    State state = State::Ready;
    int site = 0;
    unsigned mask = 0;
    unsigned long long own = 0;
    unsigned long long* all = nullptr;
  };

  Block(const Library& library, ThreadOrder order, const LaunchSize& size) : library_(library), order_(order) {
    threads_.resize(size.block[0] * size.block[1] * size.block[2]);
    for (size_t t = 0; t < threads_.size(); ++t) {
      threads_[t].stack = std::make_unique<char[]>(stack_bytes);
      threads_[t].index = {unsigned(t % size.block[0]), unsigned(t / size.block[0] % size.block[1]), unsigned(t / size.block[0] / size.block[1])};
    }
  }

  /// Runs the threads of one block until they end.
  auto run(void (*kernel)(void**), void** arguments) -> Status {
    current_block = this;
    kernel_ = kernel;
    arguments_ = arguments;
    for (Thread& thread : threads_) {
      thread.state = State::Ready;
      getcontext(&thread.context);
      thread.context.uc_stack = {thread.stack.get(), 0, stack_bytes};
      thread.context.uc_link = &scheduler_;
      makecontext(&thread.context, &Block::enter, 0);
    }
    std::vector<size_t> order(threads_.size());
    for (size_t i = 0; i < order.size(); ++i) { order[i] = order_ == ThreadOrder::Backward ? order.size() - 1 - i : i; }
    for (;;) {
      if (order_ == ThreadOrder::Shuffled) { std::shuffle(order.begin(), order.end(), random_); }
      bool is_done = true;
      for (size_t t : order) {
        if (threads_[t].state == State::Ready && problem_.empty()) { resume(t); }
        is_done = is_done && threads_[t].state == State::Done;
      }
      if (!problem_.empty()) { return failed(problem_); }
      if (is_done) { return ok(); }
      if (!complete_exchanges()) { LOOPSMITH_CHECK(complete_barrier()); }
    }
  }

  static void wait_for_block(int site) { current_block->give_up(State::AtBarrier, site); }
  static void exchange(unsigned mask, unsigned long long own, unsigned long long* all, int site) {
    Thread& thread = current_block->threads_[current_block->current_];
    thread.mask = mask;
    thread.own = own;
    thread.all = all;
    current_block->give_up(State::Exchanging, site);
  }
  /// Ends the thread at hand, and then the kernel.
  static void fail(const char* why) {
    current_block->problem_ = why;
    current_block->give_up(State::Done, 0);
  }
  static auto lane() -> int { return static_cast<int>(current_block->current_ % 32); }

 private:
  static void enter() {
    Block& block = *current_block;
    block.kernel_(block.arguments_);
    block.threads_[block.current_].state = State::Done;
  }
  void resume(size_t t) {
    current_ = t;
    *library_.thread_index = threads_[t].index;
    swapcontext(&scheduler_, &threads_[t].context);
  }
  void give_up(State state, int site) {
    Thread& thread = threads_[current_];
    thread.state = state;
    thread.site = site;
    swapcontext(&thread.context, &scheduler_);
  }
  /// Resumes the lanes whose masks are complete. False: no lane can continue.
  auto complete_exchanges() -> bool {
    bool any = false;
    for (size_t first = 0; first < threads_.size(); first += 32) {
      const size_t count = std::min<size_t>(32, threads_.size() - first);
      for (size_t lane = 0; lane < count; ++lane) {
        const Thread& leader = threads_[first + lane];
        if (leader.state != State::Exchanging) { continue; }
        auto takes_part = [&](size_t other) { return ((leader.mask >> other) & 1) != 0; };
        bool complete = takes_part(lane);
        for (size_t other = 0; other < count; ++other) {
          const Thread& peer = threads_[first + other];
          complete = complete && (!takes_part(other) || (peer.state == State::Exchanging && peer.site == leader.site && peer.mask == leader.mask));
        }
        if (!complete) { continue; }
        unsigned long long values[32] = {};
        for (size_t other = 0; other < count; ++other) { if (takes_part(other)) { values[other] = threads_[first + other].own; } }
        const unsigned mask = leader.mask;
        for (size_t other = 0; other < count; ++other) {
          if (((mask >> other) & 1) == 0) { continue; }
          std::memcpy(threads_[first + other].all, values, sizeof values);
          threads_[first + other].state = State::Ready;
        }
        any = true;
      }
    }
    return any;
  }
  auto complete_barrier() -> Status {
    const Thread& first = threads_.front();
    for (size_t t = 0; t < threads_.size(); ++t) {
      const Thread& thread = threads_[t];
      if (thread.state == State::AtBarrier && first.state == State::AtBarrier && thread.site == first.site) { continue; }
      return failed(fmt::format("threads part: thread 0 {}, thread {} {}", describe(first), t, describe(thread)));
    }
    for (Thread& thread : threads_) { thread.state = State::Ready; }
    return ok();
  }
  static auto describe(const Thread& thread) -> std::string {
    switch (thread.state) {
      case State::Done: return "has ended";
      case State::AtBarrier: return fmt::format("waits at the barrier of line {}", thread.site);
      case State::Exchanging: return fmt::format("waits for lanes {:#x} at line {}", thread.mask, thread.site);
      default: return "runs";
    }
  }

  static Block* current_block;
  const Library& library_;
  const ThreadOrder order_;
  std::mt19937 random_{1};
  std::vector<Thread> threads_;
  ucontext_t scheduler_{};
  void (*kernel_)(void**) = nullptr;
  void** arguments_ = nullptr;
  size_t current_ = 0;
  std::string problem_;
};
Block* Block::current_block = nullptr;

/// Gives each array of shared memory whose size comes from the launch the largest possible size.
auto with_own_shared(std::string text) -> std::string {
  constexpr std::string_view requested = "extern __shared__ __align__(128) unsigned char ls_shared[];", own = "__shared__ __align__(128) unsigned char ls_shared[232448];";
  for (size_t at = text.find(requested); at != std::string::npos; at = text.find(requested, at)) { text.replace(at, requested.size(), own); }
  return text;
}

/// Removes the functions of the prelude that are written in PTX: cuda_on_host.h replaces them.
auto without_ptx(const std::string& text) -> std::string {
  std::string out;
  constexpr std::string_view head = "static __device__ __forceinline__ ";
  for (size_t at = 0; at < text.size();) {
    const size_t line_end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, head.size(), head) != 0) {
      out.append(text, at, line_end + 1 - at);
      at = line_end + 1;
      continue;
    }
    size_t end = text.find('{', at);
    for (int depth = 0; end < text.size(); ++end) {
      depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
      if (depth == 0) { break; }
    }
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
    const std::string function = text.substr(at, end - at);
    if (function.find("asm") == std::string::npos) { out += function; }
    at = end;
  }
  return out;
}

auto kernels_of(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> out;
  constexpr std::string_view head = "__global__ void";
  for (size_t at = text.find(head); at != std::string::npos; at = text.find(head, at + 1)) {
    size_t name = text.find_first_not_of(' ', at + head.size());
    if (text.compare(name, 17, "__launch_bounds__") == 0) { name = text.find_first_not_of(' ', text.find(')', name) + 1); }
    out.push_back(text.substr(name, text.find('(', name) - name));
  }
  return out;
}

class HostDevice final : public runtime::Device {
 public:
  explicit HostDevice(ThreadOrder order) : order_(order) { facts_.name = "the host"; facts_.target = "cuda"; }
  HostDevice(const HostDevice&) = delete;
  auto operator=(const HostDevice&) -> HostDevice& = delete;
  ~HostDevice() override {
    for (const Library& library : libraries_) { dlclose(library.handle); }
    for (const auto& [handle, bytes] : memory_) { std::free(reinterpret_cast<void*>(handle - guard_bytes)); }
  }

  [[nodiscard]] auto facts() const -> const runtime::DeviceFacts& override { return facts_; }
  auto allocate(uint64_t bytes) -> Result<DeviceMemory> override {
    const uint64_t whole = (bytes + 2 * guard_bytes + 63) / 64 * 64;
    auto* begin = static_cast<unsigned char*>(std::aligned_alloc(64, whole));
    std::memset(begin, guard, whole);
    std::memset(begin + guard_bytes, rubbish, bytes);
    const auto handle = reinterpret_cast<uint64_t>(begin + guard_bytes);
    memory_[handle] = bytes;
    return DeviceMemory{handle, bytes};
  }
  void release(const DeviceMemory& memory) override {
    memory_.erase(memory.handle);
    std::free(reinterpret_cast<void*>(memory.handle - guard_bytes));
  }
  auto write(const DeviceMemory& to, const void* from, uint64_t bytes) -> Status override {
    std::memcpy(reinterpret_cast<void*>(to.handle), from, bytes);
    return ok();
  }
  auto read(void* to, const DeviceMemory& from, uint64_t bytes) -> Status override {
    std::memcpy(to, reinterpret_cast<const void*>(from.handle), bytes);
    return ok();
  }
  auto wait() -> Status override { return ok(); }
  auto start_clock() -> Status override { return ok(); }
  auto stop_clock() -> Result<double> override { return 0.0; }

  auto compile(const std::string& source) -> Status override {
    char folder[] = "/tmp/loopsmith-host-XXXXXX";
    if (mkdtemp(folder) == nullptr) { return failed("no folder for the kernels could be made"); }
    const std::string base = std::string(folder) + "/kernels";
    Library library;
    library.kernels = kernels_of(source);
    std::ofstream file(base + ".cpp");
    file << "#include \"" LOOPSMITH_CUDA_ON_HOST "\"\n#line 1\n" << with_own_shared(without_ptx(source));
    file << "extern \"C\" {\nextern __attribute__((weak)) char __start_kernel_shared[], __stop_kernel_shared[];\nchar* shared_begin() { return __start_kernel_shared; }\nchar* shared_end() { return __stop_kernel_shared; }\n";
    for (const std::string& kernel : library.kernels) { file << fmt::format("void call_{}(void** arguments) {{ host_call(&{}, arguments); }}\n", kernel, kernel); }
    file << "}\n";
    file.close();
    auto compiled = run_program({.argv = {LOOPSMITH_CLANG, "-std=c++20", "-O1", "-w", "-fPIC", "-shared", "-fno-exceptions", "-ffp-contract=off", "-fsanitize=array-bounds,alignment",
                                          "-fsanitize-minimal-runtime", "-fuse-ld=lld-19", base + ".cpp", "-o", base + ".so"},
                                 .standard_error = Stream::Pipe}, "", in(std::chrono::seconds(60)));
    if (!compiled) { return compiled.diagnostics(); }
    if (compiled->status.succeeded()) { library.handle = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL); }
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    if (library.handle == nullptr) { return failed("the text does not compile:\n" + compiled->error); }
    auto find = [&](const char* name) { return dlsym(library.handle, name); };
    library.thread_index = static_cast<Three*>(find("threadIdx"));
    library.block_index = static_cast<Three*>(find("blockIdx"));
    library.block_size = static_cast<Three*>(find("blockDim"));
    library.grid_size = static_cast<Three*>(find("gridDim"));
    library.shared_begin = reinterpret_cast<char* (*)()>(find("shared_begin"))();
    library.shared_end = reinterpret_cast<char* (*)()>(find("shared_end"))();
    library.begin_block = reinterpret_cast<void (*)()>(find("begin_block"));
    library.has_read_only_loads = source.find("__ldg(") != std::string::npos;
    static constexpr HostCalls calls{Block::wait_for_block, Block::exchange, Block::fail, Block::lane, check_read_only};
    reinterpret_cast<void (*)(const HostCalls*)>(find("kernel_bind"))(&calls);
    libraries_.push_back(std::move(library));
    return ok();
  }

  auto launch(std::string_view kernel, const LaunchSize& size, const std::vector<KernelArgument>& arguments) -> Status override {
    for (const Library& library : libraries_) {
      if (std::find(library.kernels.begin(), library.kernels.end(), kernel) == library.kernels.end()) { continue; }
      LOOPSMITH_CHECK(launch(library, kernel, size, arguments));
      return check_guards(kernel);
    }
    return failed(fmt::format("there is no kernel `{}`", kernel));
  }

 private:
  auto launch(const Library& library, std::string_view kernel, const LaunchSize& size, std::vector<KernelArgument> arguments) -> Status {
    auto* entry = reinterpret_cast<void (*)(void**)>(dlsym(library.handle, fmt::format("call_{}", kernel).c_str()));
    std::vector<void*> pointers;
    for (KernelArgument& argument : arguments) {
      auto* memory = std::get_if<DeviceMemory>(&argument);
      pointers.push_back(memory != nullptr ? static_cast<void*>(&memory->handle) : std::get<KernelNumber>(argument).bytes.data());
    }
    auto three = [](const std::array<uint64_t, 3>& n) { return Three{unsigned(n[0]), unsigned(n[1]), unsigned(n[2])}; };
    *library.block_size = three(size.block);
    *library.grid_size = three(size.grid);
    Block block(library, order_, size);
    before_launch_.clear();
    if (library.has_read_only_loads) {
      for (const auto& [handle, bytes] : memory_) { before_launch_[handle].assign(reinterpret_cast<const char*>(handle), reinterpret_cast<const char*>(handle) + bytes); }
    }
    current_device = this;
    for (uint64_t z = 0; z < size.grid[2]; ++z) {
      for (uint64_t y = 0; y < size.grid[1]; ++y) {
        for (uint64_t x = 0; x < size.grid[0]; ++x) {
          *library.block_index = three({x, y, z});
          if (library.shared_begin != nullptr) { std::memset(library.shared_begin, rubbish, static_cast<size_t>(library.shared_end - library.shared_begin)); }
          library.begin_block();
          LOOPSMITH_CHECK(block.run(entry, pointers.data()));
        }
      }
    }
    return ok();
  }
  /// The cache that such loads go through keeps the elements from the start of the kernel.
  static void check_read_only(const void* address, int bytes) {
    const auto at = reinterpret_cast<uint64_t>(address);
    for (const auto& [handle, before] : current_device->before_launch_) {
      if (at < handle || at + static_cast<uint64_t>(bytes) > handle + before.size()) { continue; }
      if (std::memcmp(address, before.data() + (at - handle), static_cast<size_t>(bytes)) != 0) { Block::fail("a read-only load of an element that the kernel has written"); }
    }
  }
  [[nodiscard]] auto check_guards(std::string_view kernel) const -> Status {
    for (const auto& [handle, bytes] : memory_) {
      const auto* begin = reinterpret_cast<const unsigned char*>(handle);
      auto is_guard = [](unsigned char byte) { return byte == guard; };
      if (!std::all_of(begin - guard_bytes, begin, is_guard) || !std::all_of(begin + bytes, begin + bytes + guard_bytes, is_guard)) {
        return failed(fmt::format("`{}` writes beyond a buffer of {} bytes", kernel, bytes));
      }
    }
    return ok();
  }

  const ThreadOrder order_;
  runtime::DeviceFacts facts_;
  std::vector<Library> libraries_;
  std::unordered_map<uint64_t, uint64_t> memory_;
  std::unordered_map<uint64_t, std::vector<char>> before_launch_;   // the memory, where a kernel has read-only loads
  static HostDevice* current_device;
};
HostDevice* HostDevice::current_device = nullptr;

}  // namespace

auto open_host_device(ThreadOrder order) -> std::shared_ptr<runtime::Device> {
  if (!std::filesystem::exists(LOOPSMITH_CLANG)) { return nullptr; }
  return std::make_shared<HostDevice>(order);
}

}  // namespace loopsmith::device_tests
