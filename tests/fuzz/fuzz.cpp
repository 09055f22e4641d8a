// Runs a fuzzer: see fuzz.h.
#include "tests/fuzz/fuzz.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

namespace loopsmith::fuzz {

void fail(std::string_view what, std::string_view input) {
  std::fprintf(stderr, "%.*s for the input below\n%.*s\n", static_cast<int>(what.size()), what.data(), static_cast<int>(input.size()), input.data());
  std::abort();
}

auto program_seeds() -> std::vector<std::string> {
  return {
      "N = 16\n\n\ndef double(x):\n    return x * 2\n\n\n# A program.\n@T.prim_func\ndef matmul(a: T.handle, B: T.Buffer((N, N), \"float32\"), n: T.int32):\n"
      "    A = T.match_buffer(a, (N, N))  # why\n    C = T.alloc_buffer((N, N))\n    for i, j, k in T.grid(N, N, double(8)):\n        with T.block(\"C\"):\n"
      "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            with T.init():\n                C[vi, vj] = T.float32(0)\n"
      "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n    for i in T.parallel(n):\n        if i < 3 and not i == n:\n            B[i, 0] = T.exp(C[i, 0])\n"
      "        else:\n            T.evaluate(0)\n\n\n@ls.schedule(matmul)\ndef s(sch: tir.Schedule) -> None:\n    c = sch.get_block(\"C\")\n    i, j, k = sch.get_loops(c)\n"
      "    i0, i1 = sch.split(i, factors=[None, 4])\n    sch.reorder(i0, j, i1, k)\n    sch.vectorize(i1)\n",
      "@I.ir_module\nclass M:\n    I.module_attrs({\"a\": 1})\n\n    @T.prim_func(private=True)\n    def f(x: T.int32) -> T.int32:\n        return x + 1\n\n"
      "    @T.prim_func\n    def main(p: T.Buffer((4,), \"float16\")):\n        T.func_attr({\"tir.noalias\": T.bool(True)})\n        for t in T.thread_binding(4, thread=\"threadIdx.x\"):\n"
      "            p[t] = T.Select(t > 2, T.Cast(\"float16\", f\"{t}\"), p[t:t + 1])\n",
      "x = [i * 2 for i in range(10) if i % 3 != 1]\ny = {\"a\": (1, 2.5), **{\"b\": f\"{x[0]!r:>{4}}\"}}\n\n\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n\n\n"
      "z = fib(9)\nassert z == 34, \"no\"\nw = sorted(y.items(), key=lambda p: p[0])\nwhile z > 3:\n    z -= 5\n",
  };
}

auto language_pieces() -> std::vector<std::string> {
  return {"(", ")", "[", "]", "{", "}", "\"", "'", "\"\"\"", "'''", "\n", "\n    ", "        ", " ", "#", ":", ",", ".", "=", "==", "x", "1", "0", "-1", "1e400", "0x7fffffffffffffff",
          "def f(a):\n", "class C:\n", "@d\n", "else:\n", "elif x:\n", "if a:\n", "for ", " in ", "with ", "as ", "pass\n", "return ", "lambda ", "not ", "is ", "import ", "\\\n", "\\",
          "f\"{", "f'", "r\"", "\t", "\r", "\r\n", "\xff", "\xc3\xa9", "\xEF\xBB\xBF", "$", "!", ";", "*", "**", "/", "//", "%", "@", "...", ":=", "->", "try:\n", "async ", "await ",
          "T.block(\"b\")", "T.axis.spatial(", "T.axis.reduce(", "T.reads(", "T.writes(", "T.match_buffer(", "T.alloc_buffer(", "T.handle", "T.int32", "T.float32(", "T.grid(",
          "T.vectorized(", "T.if_then_else(", "T.Select(", "T.ramp(0, 1, 4)", "T.broadcast(", "T.where(", "T.init()", "T.func_attr({", "T.launch_thread(\"threadIdx.x\", 4)", "T.allocate(",
          "T.decl_buffer(", "T.attr(", "T.call_extern(", "T.macro", "T.Buffer((4,), \"float32x4\")", "sch.split(", "sch.fuse(", "sch.compute_at(", "sch.cache_read(", "sch.get_block(\"C\")",
          "from tvm.script import tirx as T\n", "from tvm.script import s_tir as Ts\n", "x: T.int32 = 0\n", "v: T.float32[4]\n", "T.local_scalar(", "[n: T.int32, *m]", "I.dynamic(\"n\")",
          "T.constexpr(", "T.inline", "unroll=2", "layout=", "T.alloc_local((1,), \"int32\")", "range(", "len(", "# fmt: off\n", "# fmt: on\n", "te.compute(", "True", "None"};
}

}  // namespace loopsmith::fuzz

#ifdef LOOPSMITH_LIBFUZZER
// `fuzz_NAME --write-seeds DIR` writes the seeds as files of the folder, and the pieces as the dictionary DIR.dict.
extern "C" auto LLVMFuzzerInitialize(int* argc, char*** argv) -> int {
  if (*argc != 3 || std::string_view((*argv)[1]) != "--write-seeds") { return 0; }
  std::string folder = (*argv)[2];
  size_t count = 0;
  for (const std::string& seed : loopsmith::fuzz::seeds()) { std::ofstream(folder + "/seed-" + std::to_string(count++), std::ios::binary) << seed; }
  std::ofstream dictionary(folder + ".dict");
  for (const std::string& piece : loopsmith::fuzz::pieces()) {
    dictionary << '"';
    for (unsigned char c : piece) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", c);
      if (c < 0x20 || c > 0x7e || c == '"' || c == '\\') { dictionary << code; } else { dictionary << c; }
    }
    dictionary << "\"\n";
  }
  std::exit(0);
}
extern "C" auto LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) -> int {
  loopsmith::fuzz::check_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
#else

namespace {

auto mutated(std::string text, const std::vector<std::string>& seeds, const std::vector<std::string>& pieces, std::mt19937_64& random) -> std::string {
  auto below = [&](size_t n) { return n == 0 ? size_t{0} : static_cast<size_t>(random() % n); };
  for (size_t left = 1 + below(6); left > 0; --left) {
    size_t at = below(text.size() + 1);
    switch (below(8)) {
      case 0: text.insert(at, 1, static_cast<char>(below(256))); break;
      case 1: text.erase(at, 1 + below(8)); break;
      case 2: text.erase(at, below(200)); break;
      case 3: text.insert(at, text.substr(below(text.size() + 1), below(100))); break;
      case 4: {
        const std::string& other = seeds[below(seeds.size())];
        text.insert(at, other.substr(below(other.size() + 1), below(200)));
        break;
      }
      case 5: {  // replace a digit by another
        size_t digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) { text[digit] = static_cast<char>('0' + below(10)); }
        break;
      }
      default: text.insert(at, pieces[below(pieces.size())]); break;
    }
  }
  return text;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  using namespace loopsmith::fuzz;
  double seconds = 5;
  uint64_t runs = 0;
  uint64_t seed = 1;
  bool replays = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--seconds" && i + 1 < argc) { seconds = std::atof(argv[++i]); }
    else if (arg == "--runs" && i + 1 < argc) { runs = std::strtoull(argv[++i], nullptr, 10); }
    else if (arg == "--seed" && i + 1 < argc) { seed = std::strtoull(argv[++i], nullptr, 10); }
    else if (arg == "--replay") { replays = true; }
    else {
      std::ifstream in(arg, std::ios::binary);
      std::stringstream all;
      all << in.rdbuf();
      files.push_back(all.str());
    }
  }
  if (replays) {
    for (const std::string& file : files) { check_input(file); }
    std::printf("%zu inputs\n", files.size());
    return files.empty() ? 1 : 0;
  }
  std::vector<std::string> begin = files.empty() ? seeds() : files;
  std::vector<std::string> words = pieces();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  double worst = 0;
  uint64_t done = 0;
  for (; runs != 0 ? done < runs : elapsed() < seconds; ++done) {
    double before = elapsed();
    check_input(done < begin.size() ? begin[done] : mutated(begin[random() % begin.size()], begin, words, random));
    worst = std::max(worst, elapsed() - before);
  }
  std::printf("%llu inputs, worst %.1f ms\n", static_cast<unsigned long long>(done), worst * 1000);
  return 0;
}
#endif
