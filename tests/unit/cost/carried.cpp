// Dependences and reuse, compared with all pairs of accesses of random kernels; and with the interpreter, which reports a race between
// iterations of a parallel loop exactly where the loop carries a dependence.
#include "cost/carried.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "cost/loop_facts.h"
#include "interp/compare.h"
#include "interp/interp.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "tests/unit/catch.h"
#include "tests/unit/cost/module_of.h"

using namespace loopsmith;

namespace {

using cost::module_of;

auto loop_named(const PrimFunc& function, std::string_view name) -> NodeId {
  NodeId found = 0;
  post_order(function->body, [&](const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>(); loop != nullptr && loop->var->name == name) { found = loop->id; }
  }, [](const Expr&) {});
  return found;
}

auto carried(const std::string& text, std::string_view loop, int64_t most = 1 << 15) -> cost::Carried {
  IRModule module = module_of(text);
  REQUIRE(module);
  PrimFunc function = module->functions.begin()->second;
  auto out = cost::carried_by(function, loop_named(function, loop), most);
  REQUIRE(out);
  return *out;
}

// The dependences as "flow C[i + 1] C[i] 1", sorted.
auto in_words(const cost::Carried& carried) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const cost::Dependence& d : carried.dependences) {
    const char* kind = d.kind == cost::Dependence::Kind::Flow ? "flow" : d.kind == cost::Dependence::Kind::Anti ? "anti" : "output";
    out.push_back(fmt::format("{} {} {} {}{}", kind, d.first, d.second, d.least, d.most > d.least ? fmt::format("-{}", d.most) : ""));
  }
  std::sort(out.begin(), out.end());
  return out;
}

auto reuse_of(const cost::Carried& carried, std::string_view buffer) -> const cost::Reuse* {
  for (const cost::Reuse& one : carried.reuses) {
    if (one.buffer->name == buffer) { return &one; }
  }
  return nullptr;
}

// A kernel of one or two statements below `o`, `i` and `j`, each `X[...] = X[...] + Y[...]`, with indices that are sums of multiples.
struct Kernel {
  struct Index {
    int64_t o = 0, i = 0, j = 0, constant = 0;
    [[nodiscard]] auto at(int64_t at_o, int64_t at_i, int64_t at_j) const -> int64_t { return o * at_o + i * at_i + j * at_j + constant; }
    [[nodiscard]] auto text() const -> std::string { return fmt::format("o * {} + i * {} + j * {} + {}", o, i, j, constant); }
  };
  struct Access { char buffer; bool writes; Index index; };
  int64_t outer = 1, extent = 1, inner = 1;
  std::vector<std::array<Access, 3>> statements;   // two reads, then the write

  [[nodiscard]] auto text(const char* range) const -> std::string {
    std::string out = "@T.prim_func\ndef main(X: T.Buffer((512,), \"float32\"), Y: T.Buffer((512,), \"float32\")):\n";
    out += fmt::format("    for o in range({}):\n        for i in {}({}):\n            for j in range({}):\n", outer, range, extent, inner);
    for (const auto& [a, b, to] : statements) {
      out += fmt::format("                {}[{}] = {}[{}] * T.float32(3) + {}[{}] + T.float32(1)\n", to.buffer, to.index.text(), a.buffer, a.index.text(), b.buffer, b.index.text());
    }
    return out;
  }
};

auto random_kernel(std::mt19937& random) -> Kernel {
  auto upto = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1)); };
  Kernel out{1 + upto(2), 1 + upto(7), 1 + upto(3), {}};
  auto index = [&]() { return Kernel::Index{upto(3) == 0 ? upto(9) : 0, upto(3), upto(2), upto(4)}; };
  auto buffer = [&]() { return upto(2) == 0 ? 'Y' : 'X'; };
  for (int64_t n = 1 + upto(1); n > 0; --n) {
    Kernel::Access read{buffer(), false, index()}, other{buffer(), false, index()}, to{buffer(), true, index()};
    // Often an update.
    if (upto(3) == 0) { read = {to.buffer, false, to.index}; }
    out.statements.push_back({read, other, to});
  }
  return out;
}

// All accesses of a run of the loop `i`, in order.
struct Logged { int64_t iteration; size_t access; char buffer; bool writes; int64_t element; };
auto log_of(const Kernel& kernel, int64_t at_outer) -> std::vector<Logged> {
  std::vector<Logged> out;
  for (int64_t i = 0; i < kernel.extent; ++i) {
    for (int64_t j = 0; j < kernel.inner; ++j) {
      for (size_t s = 0; s < kernel.statements.size(); ++s) {
        for (size_t a = 0; a < 3; ++a) {
          const Kernel::Access& access = kernel.statements[s][a];
          out.push_back({i, s * 3 + a, access.buffer, access.writes, access.index.at(at_outer, i, j)});
        }
      }
    }
  }
  return out;
}

using Pair = std::tuple<cost::Dependence::Kind, size_t, size_t>;
using Distances = std::map<Pair, std::pair<int64_t, int64_t>>;
void add_pairs(const std::vector<Logged>& log, Distances& out) {
  for (size_t a = 0; a < log.size(); ++a) {
    for (size_t b = a + 1; b < log.size(); ++b) {
      auto is_same = [&](size_t x) { return log[x].buffer == log[b].buffer && log[x].element == log[b].element; };
      if (!is_same(a) || (!log[a].writes && !log[b].writes)) { continue; }
      bool is_direct = true;
      for (size_t x = a + 1; x < b && is_direct; ++x) {
        // A later read hides an earlier one, unless it is in the iteration that writes.
        bool is_again = !log[a].writes && log[x].access == log[a].access && log[x].iteration != log[b].iteration;
        is_direct = !is_same(x) || (!log[x].writes && !is_again && !(log[a].writes && log[b].writes));
      }
      int64_t distance = log[b].iteration - log[a].iteration;
      if (!is_direct || distance == 0) { continue; }
      auto kind = !log[a].writes ? cost::Dependence::Kind::Anti : log[b].writes ? cost::Dependence::Kind::Output : cost::Dependence::Kind::Flow;
      auto [at, is_new] = out.try_emplace({kind, log[a].access, log[b].access}, distance, distance);
      at->second = {std::min(at->second.first, distance), std::max(at->second.second, distance)};
    }
  }
}

auto reuse_in(const std::vector<Logged>& log, char buffer) -> std::optional<int64_t> {
  std::optional<int64_t> least;
  std::map<int64_t, int64_t> last;
  for (const Logged& one : log) {
    if (one.buffer != buffer) { continue; }
    auto [at, is_new] = last.try_emplace(one.element, one.iteration);
    if (!is_new && at->second < one.iteration) { least = std::min(least.value_or(INT64_MAX), one.iteration - at->second); }
    at->second = one.iteration;
  }
  return least;
}

auto bytes_in(const std::vector<Logged>& log, int64_t iterations) -> int64_t {
  std::set<std::pair<char, int64_t>> touched;
  for (const Logged& one : log) {
    if (one.iteration < iterations) { touched.emplace(one.buffer, one.element); }
  }
  return static_cast<int64_t>(touched.size()) * 4;
}

auto races(const std::string& text) -> bool {
  IRModule module = module_of(text);
  auto inputs = interp::make_inputs(module->find("main"), 7, interp::Contents::SmallIntegers);
  REQUIRE(inputs.ok());
  interp::Options options;
  options.report_races = true;
  auto stats = interp::interpret(module, "main", inputs->arguments, options);
  REQUIRE(stats.ok());
  return !stats->warnings.empty();
}

}  // namespace

TEST_CASE("dependences and reuse distances are those of every pair of accesses, one by one") {
  std::mt19937 random(5);
  int with = 0, without = 0, far = 0;
  for (int round = 0; round < 400; ++round) {
    Kernel kernel = random_kernel(random);
    INFO(kernel.text("range"));
    cost::Carried found = carried(kernel.text("range"), "i");
    std::vector<Logged> log = log_of(kernel, 0);
    Distances pairs;
    add_pairs(log, pairs);
    // If accesses depend on the loops around, their middle iterations are followed, too.
    if (!found.is_whole) { add_pairs(log_of(kernel, kernel.outer / 2), pairs); }
    // Accesses with the same text are reported together.
    std::map<std::tuple<cost::Dependence::Kind, std::string, std::string>, std::pair<int64_t, int64_t>> expected;
    auto text_of = [&](size_t access) {
      const Kernel::Access& one = kernel.statements[access / 3][access % 3];
      return one.buffer + fmt::format(" {} {} {} {}", kernel.outer > 1 ? one.index.o : 0, kernel.extent > 1 ? one.index.i : 0, kernel.inner > 1 ? one.index.j : 0, one.index.constant);
    };
    for (const auto& [pair, distances] : pairs) {
      auto [kind, a, b] = pair;
      auto [at, is_new] = expected.try_emplace({kind, text_of(a), text_of(b)}, distances);
      at->second = {std::min(at->second.first, distances.first), std::max(at->second.second, distances.second)};
    }
    using Told = std::vector<std::tuple<cost::Dependence::Kind, int64_t, int64_t>>;
    Told is, should;
    for (const cost::Dependence& d : found.dependences) { is.emplace_back(d.kind, d.least, d.most); }
    for (const auto& [pair, distances] : expected) { should.emplace_back(std::get<0>(pair), distances.first, distances.second); }
    std::sort(is.begin(), is.end());
    std::sort(should.begin(), should.end());
    CHECK(is == should);
    (should.empty() ? without : with) += 1;
    for (const auto& [kind, least, most] : should) { far += least > 1 ? 1 : 0; }
    if (found.is_whole) { CHECK(found.is_none_proved == should.empty()); }
    for (char buffer : {'X', 'Y'}) {
      const cost::Reuse* reuse = reuse_of(found, std::string(1, buffer));
      if (reuse == nullptr || !found.is_whole) { continue; }
      CHECK(reuse->distance == reuse_in(log, buffer));
      // The hull is at least as large as the touched bytes.
      if (reuse->distance) { CHECK(reuse->bytes.value_or(INT64_MAX) >= bytes_in(log, *reuse->distance)); }
    }
  }
  CHECK(with > 100);
  CHECK(without > 20);
  CHECK(far > 20);
}

TEST_CASE("iterations of a parallel loop race in the interpreter where the loop carries a dependence") {
  std::mt19937 random(11);
  int racing = 0, apart = 0;
  for (int round = 0; round < 150; ++round) {
    Kernel kernel = random_kernel(random);
    kernel.outer = 1;
    INFO(kernel.text("range"));
    cost::Carried found = carried(kernel.text("range"), "i");
    REQUIRE(found.is_whole);
    bool is_racing = races(kernel.text("T.parallel"));
    // Two writes of the same value are no race.
    bool reads = std::any_of(found.dependences.begin(), found.dependences.end(), [](const cost::Dependence& d) { return d.kind != cost::Dependence::Kind::Output; });
    if (reads) { CHECK(is_racing); }
    if (found.dependences.empty()) { CHECK(!is_racing); }
    (is_racing ? racing : apart) += 1;
  }
  CHECK(racing > 30);
  CHECK(apart > 10);
}

TEST_CASE("dependences of some iterations exist in the whole loop, and proofs hold for all iterations") {
  std::mt19937 random(3);
  int cut = 0, proved = 0;
  for (int round = 0; round < 300; ++round) {
    Kernel kernel = random_kernel(random);
    kernel.outer = 1;
    INFO(kernel.text("range"));
    cost::Carried whole = carried(kernel.text("range"), "i");
    cost::Carried part = carried(kernel.text("range"), "i", 12);
    REQUIRE(whole.is_whole);
    if (part.is_whole) { continue; }
    ++cut;
    // Writes between the two may have been left out.
    std::vector<Logged> log = log_of(kernel, 0);
    for (const cost::Dependence& one : part.dependences) {
      bool writes_first = one.kind != cost::Dependence::Kind::Anti, writes_then = one.kind != cost::Dependence::Kind::Flow;
      bool is_there = std::any_of(log.begin(), log.end(), [&](const Logged& a) {
        return a.writes == writes_first && std::any_of(log.begin(), log.end(), [&](const Logged& b) {
          return b.writes == writes_then && a.buffer == b.buffer && one.buffer->name.view() == std::string(1, a.buffer) && a.element == b.element && b.iteration - a.iteration == one.least;
        });
      });
      CHECK(is_there);
    }
    if (part.is_none_proved) { CHECK(whole.dependences.empty()); }
    proved += part.is_none_proved ? 1 : 0;
    for (const cost::Reuse& one : part.reuses) {
      const cost::Reuse* of_whole = reuse_of(whole, one.buffer->name.view());
      REQUIRE(of_whole != nullptr);
      CHECK(one.distance.has_value() == of_whole->distance.has_value());
    }
  }
  CHECK(cut > 100);
  CHECK(proved > 3);
}

TEST_CASE("the totals of all instances of a block equal the interpreter's counts") {
  for (int64_t m : {4, 7}) {
    std::string text = fmt::format(
        "@T.prim_func\n"
        "def main(A: T.Buffer(({0}, 6), \"float32\"), B: T.Buffer((6, 5), \"float32\"), C: T.Buffer(({0}, 5), \"float32\")):\n"
        "    for i_0, i_1, j, k in T.grid({0}, 1, 5, 6):\n"
        "        with T.block(\"C\"):\n"
        "            vi = T.axis.spatial({0}, i_0 + i_1)\n"
        "            vj, vk = T.axis.remap(\"SR\", [j, k])\n"
        "            with T.init():\n"
        "                C[vi, vj] = T.float32(0)\n"
        "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n", m);
    IRModule module = module_of(text);
    NodeId block = 0;
    post_order(module->find("main")->body, [&](const Stmt& stmt) {
      if (const auto* realize = stmt.as<BlockRealize>(); realize != nullptr && realize->block->name == "C") { block = realize->block->id; }
    }, [](const Expr&) {});
    auto total = cost::block_total(module->find("main"), block);
    REQUIRE(total);
    auto inputs = interp::make_inputs(module->find("main"), 7, interp::Contents::SmallIntegers);
    REQUIRE(inputs.ok());
    auto stats = interp::interpret(module, "main", inputs->arguments);
    REQUIRE(stats.ok());
    CHECK(total->flops == static_cast<double>(stats->total.flops));
    CHECK(total->bytes == 4 * (m * 6 + 6 * 5 + m * 5));
  }
}

TEST_CASE("kernels as people know them") {
  std::string matmul =
      "@T.prim_func\n"
      "def main(A: T.Buffer((1024, 1024), \"float32\"), B: T.Buffer((1024, 1024), \"float32\"), C: T.Buffer((1024, 1024), \"float32\")):\n"
      "    for i, j, k in T.grid(1024, 1024, 1024):\n"
      "        with T.block(\"C\"):\n"
      "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
      "            with T.init():\n"
      "                C[vi, vj] = T.float32(0)\n"
      "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";
  cost::Carried k = carried(matmul, "k");
  CHECK(in_words(k) == std::vector<std::string>{"flow C[i, j] C[i, j] 1"});
  CHECK(reuse_of(k, "C")->bytes == 12);
  CHECK(!reuse_of(k, "A")->distance);
  cost::Carried j = carried(matmul, "j");
  CHECK(j.is_none_proved);
  CHECK(!j.is_whole);
  CHECK(reuse_of(j, "A")->bytes == 4 * (1024 + 1024 + 1));
  CHECK(!reuse_of(j, "B")->distance);
  cost::Carried i = carried(matmul, "i");
  CHECK(i.is_none_proved);
  CHECK(reuse_of(i, "B")->bytes == 4 * (1024 * 1024 + 1024 + 1024));

  std::string conv =
      "@T.prim_func\n"
      "def main(A: T.Buffer((14, 14), \"float32\"), C: T.Buffer((12, 12), \"float32\")):\n"
      "    for y, x, ky, kx in T.grid(12, 12, 3, 3):\n"
      "        with T.block(\"C\"):\n"
      "            vy, vx, vky, vkx = T.axis.remap(\"SSRR\", [y, x, ky, kx])\n"
      "            with T.init():\n"
      "                C[vy, vx] = T.float32(0)\n"
      "            C[vy, vx] = C[vy, vx] + A[vy + vky, vx + vkx]\n";
  cost::Carried y = carried(conv, "y");
  CHECK(y.is_whole);
  CHECK(reuse_of(y, "A")->distance == 1);
  CHECK(reuse_of(y, "A")->bytes == 4 * (3 * 14 + 12));
  CHECK(!reuse_of(y, "C")->distance);

  // The first iteration of `t` writes nothing.
  std::string triangle =
      "@T.prim_func\n"
      "def main(A: T.Buffer((16, 16), \"float32\"), C: T.Buffer((16,), \"float32\")):\n"
      "    for t in range(16):\n"
      "        for i in range(t):\n"
      "            C[t] = C[t] + C[i] * A[t, i]\n";
  CHECK(in_words(carried(triangle, "t")) == std::vector<std::string>{"flow C[t] C[i] 1-14"});
  cost::Carried row = carried(triangle, "i");
  CHECK(!row.is_whole);
  CHECK(in_words(row) == std::vector<std::string>{"flow C[t] C[t] 1"});

  std::string gather =
      "@T.prim_func\n"
      "def main(A: T.Buffer((16,), \"float32\"), at: T.Buffer((16,), \"int32\"), C: T.Buffer((16,), \"float32\")):\n"
      "    for i in range(16):\n"
      "        C[at[i]] = A[i]\n";
  cost::Carried scattered = carried(gather, "i");
  CHECK(!scattered.is_none_proved);
  REQUIRE(scattered.unknown.size() == 1);
  CHECK(scattered.unknown.front()->name == "C");
}
