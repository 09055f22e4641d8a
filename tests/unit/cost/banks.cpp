// Bank conflicts of random accesses, compared with an enumeration of every thread of every warp.
#include "cost/banks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "frontend/file.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

auto uses_of(const std::string& text, const std::vector<cost::Alignment>& alignments = {}) -> std::vector<cost::BankUse> {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  IRModule module;
  for (size_t i = 0; i < file.size(); ++i) {
    for (const Diagnostic& d : file.declaration(i).diagnostics) { INFO(d.message()); CHECK(d.severity != Severity::Error); }
    if (file.declaration(i).module) { module = file.declaration(i).module; }
  }
  REQUIRE(module);
  PrimFunc function = module->functions.begin()->second;
  Buffer shared;
  post_order(function->body, [&](const Stmt& stmt) {
    if (const auto* store = stmt.as<BufferStore>(); store != nullptr && store->buffer->name == "S") { shared = store->buffer; }
  }, [](const Expr&) {});
  REQUIRE(shared);
  return cost::bank_uses(function, shared, alignments);
}

struct Launch { int64_t x = 32, y = 1, z = 1; };

auto kernel(const Launch& launch, const std::string& dtype, int64_t size, const std::string& inner, const std::string& index) -> std::string {
  return fmt::format(
      "@T.prim_func\n"
      "def main(A: T.Buffer((4096,), \"{}\")):\n"
      "    for bx in T.thread_binding(2, thread=\"blockIdx.x\"):\n"
      "        with T.block(\"shared\"):\n"
      "            T.reads(A[0:4096])\n"
      "            T.writes()\n"
      "            S = T.alloc_buffer(({},), \"{}\", scope=\"shared\")\n"
      "            for tz in T.thread_binding({}, thread=\"threadIdx.z\"):\n"
      "                for ty in T.thread_binding({}, thread=\"threadIdx.y\"):\n"
      "                    for tx in T.thread_binding({}, thread=\"threadIdx.x\"):\n"
      "                        for i in {}:\n"
      "                            S[{}] = A[tx]\n",
      dtype, size, dtype, launch.z, launch.y, launch.x, inner, index);
}

// Words of 4 bytes in 32 banks. A group of threads is served at once; the group is smaller for accesses of `width` bytes.
auto ways(const std::vector<int64_t>& addresses, int64_t width) -> int64_t {
  int64_t most = 1;
  auto together = static_cast<size_t>(width <= 4 ? 32 : 128 / width);
  for (size_t warp = 0; warp < addresses.size(); warp += 32) {
    for (size_t from = warp; from < std::min(warp + 32, addresses.size()); from += together) {
      std::map<int64_t, std::set<int64_t>> words;
      for (size_t thread = from; thread < std::min({from + together, warp + 32, addresses.size()}); ++thread) {
        for (int64_t byte = 0; byte < width; ++byte) { words[(addresses[thread] + byte) / 4 % 32].insert((addresses[thread] + byte) / 4); }
      }
      for (const auto& [bank, of_bank] : words) { most = std::max(most, static_cast<int64_t>(of_bank.size())); }
    }
  }
  return most;
}

}  // namespace

TEST_CASE("bank conflicts are those of every thread of every warp, listed one by one") {
  std::mt19937 random(9);
  auto upto = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1)); };
  std::map<int64_t, int> seen;
  for (int round = 0; round < 250; ++round) {
    std::vector<Launch> launches{{32, 1, 1}, {16, 4, 1}, {8, 8, 2}, {33, 2, 1}, {7, 3, 2}, {64, 2, 1}};
    Launch launch = launches[static_cast<size_t>(upto(5))];
    std::vector<std::pair<const char*, int64_t>> types{{"float32", 4}, {"float16", 2}, {"int8", 1}, {"float64", 8}};
    auto [dtype, bytes] = types[static_cast<size_t>(upto(3))];
    int64_t factors[] = {0, 1, 2, 3, 4, 8, 16, 32, 33};
    int64_t x = factors[upto(8)], y = factors[upto(8)], z = factors[upto(8)], i = upto(3), modulus = upto(2) == 0 ? 24 : 0;
    std::string index = modulus > 0 ? fmt::format("(tx * {} + ty * {} + i * {}) % {} * 2 + tz * {}", x, y, i, modulus, z) : fmt::format("tx * {} + ty * {} + tz * {} + i * {}", x, y, z, i);
    std::string text = kernel(launch, dtype, 8192, "range(3)", index);
    INFO(text);
    std::vector<cost::BankUse> uses = uses_of(text);
    REQUIRE(uses.size() == 1);
    int64_t expected = 1;
    for (int64_t at = 0; at < 3; ++at) {
      std::vector<int64_t> addresses;
      for (int64_t tz = 0; tz < launch.z; ++tz) {
        for (int64_t ty = 0; ty < launch.y; ++ty) {
          for (int64_t tx = 0; tx < launch.x; ++tx) {
            int64_t element = modulus > 0 ? (tx * x + ty * y + at * i) % modulus * 2 + tz * z : tx * x + ty * y + tz * z + at * i;
            addresses.push_back(element * bytes);
          }
        }
      }
      expected = std::max(expected, ways(addresses, bytes));
    }
    CHECK(uses[0].is_known);
    CHECK(uses[0].is_whole);
    CHECK(uses[0].is_write);
    CHECK(uses[0].ways == expected);
    ++seen[expected];
  }
  // The random cases had no conflicts, small ones and large ones.
  CHECK(seen.size() >= 5);
  CHECK(seen[1] > 30);
}

TEST_CASE("vectors of neighbours are fetched together, gaps between rows move columns into banks of their own") {
  // 16 bytes per thread: a quarter of a warp at a time, without conflicts; the same elements one by one have four per bank.
  CHECK(uses_of(kernel({32, 1, 1}, "float32", 128, "T.vectorized(4)", "tx * 4 + i"))[0].ways == 1);
  CHECK(uses_of(kernel({32, 1, 1}, "float32", 128, "range(4)", "tx * 4 + i"))[0].ways == 4);
  CHECK(uses_of(kernel({32, 1, 1}, "float32", 256, "T.vectorized(4)", "tx * 8 + i"))[0].ways == 2);
  // Lanes with gaps are not a vector access.
  CHECK(uses_of(kernel({32, 1, 1}, "float32", 256, "T.vectorized(4)", "tx * 8 + i * 2"))[0].ways == 8);
  // Two halves of a word are in the same word.
  CHECK(uses_of(kernel({32, 1, 1}, "float16", 64, "range(2)", "tx"))[0].ways == 1);

  std::string columns =
      "@T.prim_func\n"
      "def main(A: T.Buffer((32, 32), \"float32\")):\n"
      "    with T.block(\"shared\"):\n"
      "        T.reads(A[0:32, 0:32])\n"
      "        T.writes()\n"
      "        S = T.alloc_buffer((32, 32), scope=\"shared\")\n"
      "        for ty in T.thread_binding(32, thread=\"threadIdx.y\"):\n"
      "            for tx in T.thread_binding(32, thread=\"threadIdx.x\"):\n"
      "                S[tx, ty] = A[ty, tx]\n";
  CHECK(uses_of(columns)[0].access == "S[tx, ty]");
  CHECK(uses_of(columns)[0].ways == 32);
  CHECK(uses_of(columns, {{0, 32, 1}})[0].ways == 1);
  CHECK(uses_of(columns, {{0, 32, 8}})[0].ways == 8);

  // Only some threads are active.
  std::string half = columns.substr(0, columns.find("                S[")) + "                if tx < 4:\n                    S[tx, ty] = A[ty, tx]\n";
  CHECK(uses_of(half)[0].ways == 4);

  // Threads of another dimension are in the same warp, although no loop around the access is bound to it.
  std::string rows =
      "@T.prim_func\n"
      "def main(A: T.Buffer((32, 32), \"float32\")):\n"
      "    with T.block(\"shared\"):\n"
      "        T.reads(A[0:32, 0:32])\n"
      "        T.writes(A[0:32, 0:32])\n"
      "        S = T.alloc_buffer((32, 32), scope=\"shared\")\n"
      "        for ty in T.thread_binding(32, thread=\"threadIdx.y\"):\n"
      "            S[ty, 0] = A[ty, 0]\n"
      "            for tx in T.thread_binding(32, thread=\"threadIdx.x\"):\n"
      "                A[ty, tx] = T.float32(0)\n";
  CHECK(uses_of(rows)[0].ways == 1);

  // The index is loaded: unknown.
  std::string gather =
      "@T.prim_func\n"
      "def main(A: T.Buffer((32,), \"int32\")):\n"
      "    with T.block(\"shared\"):\n"
      "        T.reads(A[0:32])\n"
      "        T.writes()\n"
      "        S = T.alloc_buffer((32,), scope=\"shared\")\n"
      "        for tx in T.thread_binding(32, thread=\"threadIdx.x\"):\n"
      "            S[A[tx]] = T.float32(1)\n";
  CHECK(!uses_of(gather)[0].is_known);
}
