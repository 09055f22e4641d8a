// Tensors, .npy files, the thread pool, timing.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/perf_event.h>
#endif

#include <atomic>
#include <csignal>
#include <cmath>
#include <random>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>

#include "runtime/bench.h"
#include "runtime/counters.h"
#include "runtime/npy.h"
#include "runtime/peaks.h"
#include "runtime/tensor.h"
#include "runtime/threads.h"
#include "support/codes.h"
#include "target/hardware.h"
#include "target/peaks.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::runtime;

namespace {

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("loopsmith-runtime-" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] auto file(const char* name) const -> std::string { return (path / name).string(); }
};

auto made(DataType t, std::vector<int64_t> shape, uint64_t seed) -> Tensor {
  auto out = Tensor::random(t, std::move(shape), seed);
  REQUIRE(out.ok());
  return std::move(out).value();
}

struct Counts {
  std::atomic<int64_t> hits[1000];
  std::atomic<int64_t> calls{0};
};

}  // namespace

TEST_CASE("a difference is reported only where interleaved blocks show one") {
  auto timed = [](std::vector<double> values, int threads = 1) {
    Measurement m;
    m.seconds = values[values.size() / 2];
    m.threads = threads;
    m.values = std::move(values);
    return m;
  };
  std::mt19937 random(7);
  std::normal_distribution<double> noise(1, 0.02);
  auto noisy = [&](double seconds, size_t blocks) {
    std::vector<double> values;
    for (size_t i = 0; i < blocks; ++i) { values.push_back(seconds * noise(random)); }
    return timed(std::move(values));
  };
  int same = 0, found = 0;
  for (int i = 0; i < 1000; ++i) {
    same += compare(noisy(1e-3, 15), noisy(1e-3, 15)).verdict == Speeds::Verdict::Same ? 1 : 0;
    found += compare(noisy(1e-3, 15), noisy(1.1e-3, 15)).verdict == Speeds::Verdict::Slower ? 1 : 0;
  }
  CHECK(same >= 990);
  CHECK(found >= 950);
  CHECK(compare(noisy(1e-3, 15), noisy(0.5e-3, 15)).verdict == Speeds::Verdict::Faster);
  CHECK(std::abs(compare(noisy(1e-3, 15), noisy(0.5e-3, 15)).ratio - 0.5) < 0.05);
  // Too few blocks; a disturbed block; synchronization of threads.
  CHECK(compare(noisy(1, 6), noisy(2, 6)).verdict == Speeds::Verdict::Same);
  std::vector<double> once(15, 1.0);
  once[3] = 40;
  CHECK(compare(timed(std::vector<double>(15, 1.0)), timed(once)).verdict == Speeds::Verdict::Same);
  CHECK(compare(timed(std::vector<double>(15, 3e-6), 2), timed(std::vector<double>(15, 3.4e-6), 2)).verdict == Speeds::Verdict::Same);
  CHECK(compare(timed(std::vector<double>(15, 3e-6)), timed(std::vector<double>(15, 3.4e-6))).verdict == Speeds::Verdict::Slower);
  CHECK(compare(Measurement{}, Measurement{}).verdict == Speeds::Verdict::Same);
}

TEST_CASE("tensors are aligned, seeded, and come back from .npy files as they were") {
  Folder folder;
  for (DataType t : {DataType::float_(16), DataType::float_(32), DataType::float_(64), DataType::int_(8), DataType::uint(8), DataType::int_(32),
                     DataType::int_(64), DataType::bool_()}) {
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3, 5, 7}, {11}, {}, {0, 4}}) {
      Tensor a = made(t, shape, 7);
      CHECK(reinterpret_cast<uintptr_t>(a.data()) % 64 == 0);
      CHECK(compare(a, made(t, shape, 7), 0, 0).agrees());
      REQUIRE(write_npy(folder.file("a.npy"), a).ok());
      auto b = read_npy(folder.file("a.npy"));
      REQUIRE(b.ok());
      CHECK(compare(a, *b, 0, 0).agrees());
    }
  }
  Tensor a = made(DataType::float_(32), {1000}, 1);
  CHECK_FALSE(compare(a, made(DataType::float_(32), {1000}, 2), 0, 0).agrees());
  CHECK_FALSE(compare(a, made(DataType::float_(32), {10, 100}, 1), 0, 0).agrees());
}

TEST_CASE("types without a name in NumPy are bytes in .npy files, and come back as the expected type") {
  Folder folder;
  const DataType e4m3{TypeCode::Float8E4M3FN, 8};
  for (DataType t : {DataType::bfloat16(), e4m3, DataType{TypeCode::Float8E5M2, 8}, DataType{TypeCode::Float8E8M0FNU, 8}}) {
    INFO(t.str());
    Tensor a = made(t, {3, 5}, 7);
    bool varies = false;
    for (int64_t i = 1; i < a.count(); ++i) { varies = varies || a.get(i) != a.get(0); }
    CHECK(varies);
    REQUIRE(write_npy(folder.file("a.npy"), a).ok());
    auto b = read_npy(folder.file("a.npy"), t);
    REQUIRE(b.ok());
    CHECK(compare(a, *b, 0, 0).agrees());
    // Bytes have no type by themselves, and cannot become a type of another size or one that NumPy has a name for.
    for (DataType other : {DataType(), DataType::uint(8), t.bits == 8 ? DataType::bfloat16() : e4m3}) {
      auto refused = read_npy(folder.file("a.npy"), other);
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.diagnostics().front().message().find("bare bytes") != std::string::npos);
    }
  }
  CHECK(made(e4m3, {2}, 1).dlpack().dtype.code == 10);
  auto none = Tensor::zeros({TypeCode::Float4E2M1FN, 4}, {8});
  REQUIRE_FALSE(none.ok());
  CHECK(none.diagnostics().front().message() == "cannot use `e2m1_float4 (8)` as an argument: there are no such tensors: their elements are not whole bytes");
}

TEST_CASE("arrays in column order come out in row order") {
  Folder folder;
  std::string header = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n";
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
  for (int32_t v : {1, 4, 2, 5, 3, 6}) { bytes.append(reinterpret_cast<const char*>(&v), sizeof v); }
  std::ofstream(folder.file("x.npy"), std::ios::binary) << bytes;
  auto read = read_npy(folder.file("x.npy"));
  REQUIRE(read.ok());
  CHECK(std::vector<int32_t>(read->as<int32_t>().begin(), read->as<int32_t>().end()) == std::vector<int32_t>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("arrays of an archive are read by name, deflated, in column order, without dimensions") {
  auto archive = NpzFile::open(tests::source_folder() + "/tests/numpy/data/archive.npz");
  REQUIRE(archive.ok());
  CHECK(archive->names() == std::vector<std::string>{"A", "B", "n"});
  auto a = archive->read("A"), b = archive->read("B"), n = archive->read("n");
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  REQUIRE(n.ok());
  CHECK(a->describe() == "float32 (3, 4)");
  for (int64_t i = 0; i < 12; ++i) { CHECK(a->get(i) == static_cast<double>(i)); }
  CHECK(compare(*a, *b, 0, 0).agrees());
  CHECK(n->shape().empty());
  CHECK(n->get(0) == 3);
  CHECK_FALSE(archive->read("C").ok());
}

TEST_CASE("a damaged archive is refused, or gives the written data") {
  Folder folder;
  std::ifstream in(tests::source_folder() + "/tests/numpy/data/archive.npz", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  REQUIRE(bytes.size() > 300);
  auto read_all = [&](const std::string& damaged) {
    std::ofstream(folder.file("x.npz"), std::ios::binary) << damaged;
    auto archive = NpzFile::open(folder.file("x.npz"));
    if (!archive.ok()) { return; }
    for (const std::string& name : archive->names()) {
      auto tensor = archive->read(name);
      if (tensor.ok() && name == "A" && tensor->describe() == "float32 (3, 4)") {
        for (int64_t i = 0; i < 12; ++i) { if (tensor->get(i) != static_cast<double>(i)) { FAIL("element " << i << " is another one"); } }
      }
    }
  };
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int by : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ by);
      read_all(damaged);
    }
    read_all(bytes.substr(0, at));
  }
  SUCCEED();
}

TEST_CASE("broken .npy files have different diagnostics") {
  Folder folder;
  auto told = [&](const std::string& bytes) {
    std::ofstream(folder.file("x.npy"), std::ios::binary) << bytes;
    auto read = read_npy(folder.file("x.npy"));
    REQUIRE_FALSE(read.ok());
    return read.diagnostics().front().message();
  };
  auto with_header = [](std::string header) {
    std::string out("\x93NUMPY\x01\x00", 8);
    header += "\n";
    out += static_cast<char>(header.size());
    out += '\0';
    return out + header;
  };
  CHECK(told("").find("does not begin like") != std::string::npos);
  CHECK(told(std::string("\x93NUMPY\x01\x00\xff\x00{", 11)).find("ends within its header") != std::string::npos);
  CHECK(told(with_header("{'descr': '', 'fortran_order': False, 'shape': (1,), }")).find("lacks the type") != std::string::npos);
  CHECK(told(with_header("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }")).find("`<c8`") != std::string::npos);
  CHECK(told(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }") + "1234").find("has 4 bytes") != std::string::npos);
  CHECK(told(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }")).find("has 0 bytes") != std::string::npos);
  CHECK(told(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4")).find("shape") != std::string::npos);
  auto missing = read_npy(folder.file("none.npy"));
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.diagnostics().front().code == Code::CannotRead);
}

TEST_CASE("half and bfloat16 conversions are exact there and back") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    auto h = static_cast<uint16_t>(bits);
    if (!std::isnan(half_to_float(h))) { REQUIRE(float_to_half(half_to_float(h)) == h); }
    if (!std::isnan(bfloat_to_float(h))) { REQUIRE(float_to_bfloat(bfloat_to_float(h)) == h); }
  }
  CHECK(float_to_half(65520.0F) == 0x7c00);
  CHECK(float_to_half(65519.0F) == 0x7bff);
  CHECK(float_to_half(1.00048828125F) == 0x3c00);          // a tie goes to even
  CHECK(float_to_half(1.00146484375F) == 0x3c02);
}

TEST_CASE("every iteration of a parallel loop runs once, whatever the extent and the threads") {
  for (int count : {1, 2, 3, 8}) {
    ThreadsScope scope(count);
    for (int64_t extent : {0, 1, 2, 3, 7, 64, 1000}) {
      for (int repeat = 0; repeat < 20; ++repeat) {
        auto counts = std::make_unique<Counts>();
        int32_t code = loopsmith_parallel(
            [](void* captured, int64_t begin, int64_t end) -> int32_t {
              for (int64_t i = begin; i < end; ++i) { static_cast<Counts*>(captured)->hits[i].fetch_add(1); }
              return 0;
            },
            counts.get(), 0, extent);
        REQUIRE(code == 0);
        for (int64_t i = 0; i < 1000; ++i) { REQUIRE(counts->hits[i].load() == (i < extent ? 1 : 0)); }
      }
    }
  }
}

TEST_CASE("loops shorter than a thread takes to wake up: many more threads than processors, each iteration once") {
  ThreadsScope scope(16);
  static std::atomic<int64_t> sum{0};
  sum = 0;
  int64_t expected = 0;
  for (int64_t repeat = 0; repeat < 20000; ++repeat) {
    int64_t extent = 2 + repeat % 40;
    int32_t code = loopsmith_parallel([](void*, int64_t begin, int64_t end) -> int32_t {
      for (int64_t i = begin; i < end; ++i) { sum.fetch_add(i + 1, std::memory_order_relaxed); }
      return 0;
    }, nullptr, 0, extent);
    REQUIRE(code == 0);
    expected += extent * (extent + 1) / 2;
    // After a loop has returned, no thread works any more.
    REQUIRE(sum.load() == expected);
  }
}

TEST_CASE("parallel loops within parallel loops, from several threads at once, and failing ones") {
  static std::atomic<int64_t> sum{0};
  sum = 0;
  auto outer = [](void*, int64_t begin, int64_t end) -> int32_t {
    for (int64_t i = begin; i < end; ++i) {
      loopsmith_parallel([](void*, int64_t b, int64_t e) -> int32_t { sum += e - b; return 0; }, nullptr, 0, 10);
    }
    return 0;
  };
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      set_threads(2);
      for (int i = 0; i < 50; ++i) { loopsmith_parallel(outer, nullptr, 0, 8); }
    });
  }
  for (std::thread& t : callers) { t.join(); }
  CHECK(sum == 4 * 50 * 8 * 10);

  ThreadsScope scope(2);
  int32_t code = loopsmith_parallel(
      [](void*, int64_t begin, int64_t end) -> int32_t {
        if (begin <= 900 && 900 < end) {
          loopsmith_set_error("nine hundred");
          return 5;
        }
        return 0;
      },
      nullptr, 0, 1000);
  CHECK(code == 5);
  CHECK(last_error() == "nine hundred");
}

TEST_CASE("timing counts the calls, gives up early, and keeps within its time") {
  int calls = 0;
  int milliseconds = 2;
  auto sleep = [&] { ++calls; std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
  Measurement m = bench_callable(sleep, {.blocks = 3, .pin = false});
  CHECK(m.seconds >= 2e-3);
  CHECK(m.blocks >= 2);
  CHECK(m.calls == calls);
  calls = 0;
  milliseconds = 12;
  m = bench_callable(sleep, {.give_up_above = 1e-3, .pin = false});
  CHECK(m.gave_up);
  CHECK(calls == 2);
  // Short calls have two more chances, since another program may have interrupted one.
  calls = 0;
  milliseconds = 2;
  m = bench_callable(sleep, {.give_up_above = 1e-3, .pin = false});
  CHECK(m.gave_up);
  CHECK(calls <= 4);
  calls = 0;
  m = bench_callable([&] { if (calls < 3) { sleep(); } }, {.blocks = 3, .give_up_above = 1e-3, .pin = false});
  CHECK_FALSE(m.gave_up);
  calls = 0;
  m = bench_callable(sleep, {.blocks = 1000, .time_limit = 0.02, .pin = false});
  CHECK(calls < 20);
}

TEST_CASE("samples during a stop of the process are timed again") {
  int calls = 0;
  auto stops = [&] {
    // Once during warm-up, once in a block.
    if (++calls != 2 && calls != 4) { return; }
    pid_t child = ::fork();
    if (child == 0) {
      // Waits until the process was stopped and continued.
      for (int i = 0; i < 100; ++i) {
        ::usleep(300'000);
        ::kill(::getppid(), SIGCONT);
      }
      ::_exit(0);
    }
    ::raise(SIGSTOP);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  };
  Measurement m = bench_callable(stops, {.blocks = 3, .block_seconds = 1e-9, .give_up_above = 0.1, .pin = false});
  CHECK_FALSE(m.gave_up);
  CHECK(m.seconds < 0.1);
  CHECK(calls > 4);
}

TEST_CASE("the machine's hardware is known, and targets are read and printed") {
  target::Hardware here = target::hardware(target::host());
  CHECK(here.is_this_machine);
  CHECK(here.cores >= 1);
  CHECK(here.l1.bytes >= (8U << 10U));
  CHECK(here.vector_bits >= 128);
  auto native = target::parse("llvm");
  REQUIRE(native.ok());
  CHECK(*native == target::host());
  for (const char* text : {"llvm -mcpu=znver4 -num-cores=2", "llvm -mcpu=skylake-avx512 -mattr=+avx512vnni,-fma -num-cores=4 -mtriple=x86_64-linux-gnu",
                           "llvm -mtriple=aarch64-linux-gnu", "cuda -arch=sm_90a", "llvm -mcpu=core-avx2 -opt-level=3 -keys=cpu"}) {
    auto parsed = target::parse(text);
    REQUIRE(parsed.ok());
    auto again = target::parse(parsed->str());
    REQUIRE(again.ok());
    CHECK(*again == *parsed);
  }
  auto told = [](const char* text) {
    auto parsed = target::parse(text);
    REQUIRE_FALSE(parsed.ok());
    return parsed.diagnostics().front().message();
  };
  CHECK(told("") == "cannot read the target ``: it is empty");
  CHECK(told("lvm").find("no target kind `lvm`") != std::string::npos);
  CHECK(told("llvm -mcpu").find("`-mcpu` needs a value") != std::string::npos);
  CHECK(told("llvm -num-cores=many").find("not a number") != std::string::npos);
  CHECK(told("llvm -mattr=avx2").find("neither `+` nor `-`") != std::string::npos);
  CHECK(told("llvm -mpcu=x").find("`-mpcu` is not an option") != std::string::npos);
}

TEST_CASE("event counts: of the system everywhere, of the processor where it grants its counters") {
  constexpr size_t pages = 512;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto touch = [&] {
    void* memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) { return false; }
    std::memset(memory, 1, pages * page);
    return munmap(memory, pages * page) == 0;
  };
  Counters counters;
  counters.start();
  CHECK(touch());
  counters.stop();
  EventCounts first = counters.read();
  auto value = [](const EventCounts& counts, std::string_view name) {
    auto found = std::find_if(counts.counts.begin(), counts.counts.end(), [&](const Count& c) { return c.name == name; });
    return found != counts.counts.end() ? found->value : -1;
  };
  CHECK(value(first, "page faults") >= 1);
  CHECK(value(first, "switches") >= 0);
  // Either the processor's counts or the reason for their absence is there.
  CHECK((value(first, "cycles") > 0) == first.missing.empty());
  // Events between `stop` and the next `start` do not count.
  CHECK(touch());
  CHECK(value(counters.read(), "page faults") == value(first, "page faults"));
  counters.start();
  CHECK(touch());
  counters.stop();
  CHECK(value(counters.read(), "page faults") > value(first, "page faults"));

#if defined(__linux__)
  // Events of the system, which virtual machines have, too; in every thread.
  const Event clock[] = {{"time", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}};
  std::atomic<bool> begin = false, done = false;
  std::thread other([&] {
    while (!begin) { std::this_thread::yield(); }
    volatile double x = 0;
    for (int i = 0; i < 20'000'000; ++i) { x = x + 1; }
    done = true;
  });
  Counters both(clock);
  both.start();
  begin = true;
  while (!done) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
  both.stop();
  other.join();
  EventCounts counted = both.read();
  // Nanoseconds of the working thread; a system that forbids counters is named.
  if (counted.missing.empty()) { CHECK(value(counted, "time") > 5e6); } else { CHECK(counted.missing.find("system") != std::string::npos); }
  const Event unknown[] = {{"nothing", 0xffff, 0}};
  EventCounts none = Counters(unknown).read();
  CHECK(value(none, "nothing") == -1);
  CHECK_FALSE(none.missing.empty());
#endif
  CHECK(why_no_counters(EACCES).find("does not allow it") != std::string::npos);
  CHECK(why_no_counters(ENOENT) == "this machine shows none to its programs, as most virtual machines do");
}

TEST_CASE("of two measurements of the peaks the better rates count, with the date of the quieter machine") {
  target::Peaks busy{.fma_f32_one = 50, .fma_f32_all = 120, .threads = 2, .copy = {{4096, 10, 30}}, .measured_at = 100, .others = 0.8};
  target::Peaks quiet{.fma_f32_one = 60, .fma_f32_all = 110, .threads = 2, .copy = {{4096, 20, 20}}, .measured_at = 200, .others = 0.01};
  for (const target::Peaks& best : {target::best_of(busy, quiet), target::best_of(quiet, busy)}) {
    CHECK(best.fma_f32_one == 60);
    CHECK(best.fma_f32_all == 120);
    CHECK(best.copy[0].one == 20);
    CHECK(best.copy[0].all == 30);
    CHECK(best.measured_at == 200);
    CHECK(best.others == 0.01);
  }
  // Another number of threads is another machine.
  target::Peaks other = quiet;
  other.threads = 4;
  CHECK(target::best_of(busy, other).fma_f32_all == 110);
  runtime::ProcessorTime now = runtime::processor_time();
  CHECK(now.used >= 0);
  CHECK(now.all >= now.used);
}

TEST_CASE("peaks are kept with their date and the load of the machine") {
  char pattern[] = "/tmp/loopsmith-peaks-XXXXXX";
  std::string folder = ::mkdtemp(pattern);
  const char* before = std::getenv("XDG_CACHE_HOME");
  std::string kept = before ? before : "";
  ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  target::keep_peaks({.fma_f32_one = 50, .fma_f32_all = 120, .threads = 2, .copy = {{4096, 10, 30}}, .measured_at = 1700000000, .others = 0.25});
  auto read = target::cached_peaks();
  before ? ::setenv("XDG_CACHE_HOME", kept.c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
  std::filesystem::remove_all(folder);
  REQUIRE(read);
  CHECK(read->measured_at == 1700000000);
  CHECK(read->others == 0.25);
  CHECK(read->copy.size() == 1);
}
