// Sequences compared with vectors: the same items after any splices, shared pieces, and no more new pieces than a change needs.
#include "ir/sequence.h"

#include <algorithm>
#include <random>
#include <string>

#include "../catch.h"
#include "ir/ir.h"
#include "ir/ops.h"

using namespace loopsmith;

namespace {

auto is_same(const Sequence<std::string>& a, const std::vector<std::string>& b) -> bool {
  if (a.size() != b.size() || a.empty() != b.empty() || !std::equal(a.begin(), a.end(), b.begin(), b.end())) { return false; }
  for (size_t i = 0; i < b.size(); ++i) {
    if (a[i] != b[i] || *(a.begin() + static_cast<std::ptrdiff_t>(i)) != b[i]) { return false; }
  }
  return a.to_vector() == b;
}

auto numbers(size_t from, size_t count) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) { out.push_back("a number that is not a small string " + std::to_string(from + i)); }
  return out;
}

TEST_CASE("a sequence equals a vector after any splices", "[sequence]") {
  std::mt19937 random(1);
  for (size_t begin : {0, 1, 2, 29, 30, 31, 60, 61, 500, 2000}) {
    std::vector<std::string> expected = numbers(0, begin);
    Sequence<std::string> now = expected;
    REQUIRE(is_same(now, expected));
    for (int step = 0; step < 300; ++step) {
      Sequence<std::string> before = now;
      std::vector<std::string> expected_before = expected;
      size_t from = random() % (expected.size() + 1);
      bool is_wide = random() % 20 == 0;
      size_t to = std::min(expected.size(), from + (is_wide ? random() % 200 : random() % 3));
      std::vector<std::string> with = numbers(1000000 + static_cast<size_t>(step) * 1000, is_wide ? random() % 150 : random() % 3);
      now = now.spliced(from, to, with);
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(from), expected.begin() + static_cast<std::ptrdiff_t>(to));
      expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(from), with.begin(), with.end());
      REQUIRE(is_same(now, expected));
      if (step % 17 == 0) { REQUIRE(is_same(before, expected_before)); }
      // The length of the common run of items, from any place in both.
      size_t a = now.empty() ? 0 : random() % now.size(), b = before.empty() ? 0 : random() % before.size();
      for (auto [i, k] : {std::pair{size_t{0}, size_t{0}}, std::pair{a, b}, std::pair{from + with.size(), to}, std::pair{a, a}}) {
        size_t run = 0;
        while (i + run < now.size() && k + run < before.size() && expected[i + run] == expected_before[k + run]) { ++run; }
        REQUIRE(now.same_run(i, before, k) == run);
      }
    }
  }
}

TEST_CASE("a sorted sequence is searched, and differences are found", "[sequence]") {
  std::mt19937 random(2);
  for (size_t count : {0, 1, 30, 31, 700, 5000}) {
    std::vector<int> all;
    for (size_t i = 0; i < count; ++i) { all.push_back(static_cast<int>(random() % 3000)); }
    std::sort(all.begin(), all.end());
    Sequence<int> sorted = all;
    for (int wanted = -1; wanted <= 3001; wanted += 7) {
      auto expected = static_cast<size_t>(std::lower_bound(all.begin(), all.end(), wanted) - all.begin());
      REQUIRE(sorted.lower_bound([&](int item) { return item < wanted; }) == expected);
    }
  }
  for (size_t count : {0, 1, 40, 700}) {
    std::vector<int> all;
    for (size_t i = 0; i < count; ++i) { all.push_back(static_cast<int>(i)); }
    Sequence<int> now = all;
    int next = 10000;
    for (int step = 0; step < 200; ++step) {
      Sequence<int> before = now;
      for (size_t changes = random() % 4; changes > 0; --changes) {
        size_t from = random() % (now.size() + 1), to = std::min(now.size(), from + random() % (random() % 20 == 0 ? 30 : 3));
        std::vector<int> with;
        for (size_t k = random() % 3; k > 0; --k) { with.push_back(next++); }
        now = now.spliced(from, to, with);
      }
      // Applying the differences turns one sequence into the other.
      std::vector<int> made;
      size_t at = 0;
      difference(before, now, [&](size_t from, size_t to, size_t new_from, size_t new_to) {
        REQUIRE((to > from || new_to > new_from));
        REQUIRE((at == 0 || from > at));
        for (; at < from; ++at) { made.push_back(before[at]); }
        at = to;
        REQUIRE(made.size() == new_from);
        for (; new_from < new_to; ++new_from) { made.push_back(now[new_from]); }
      });
      for (; at < before.size(); ++at) { made.push_back(before[at]); }
      REQUIRE(made == now.to_vector());
    }
  }
}

TEST_CASE("shared pieces are counted, not copied", "[sequence]") {
  std::vector<Stmt> all;
  for (int i = 0; i < 5000; ++i) { all.push_back(make<Evaluate>(int_imm(i))); }
  Sequence<Stmt> before = all;
  Stmt other = make<Evaluate>(int_imm(-1));
  Sequence<Stmt> after = before.spliced(2500, 2501, std::span(&other, 1));
  size_t counted_again = 0;
  for (const Stmt& stmt : all) { counted_again += stmt->refs > 2 ? 1 : 0; }
  CHECK(counted_again < 32);
  CHECK(after[2500].same_as(other));
  CHECK(after.same_run(0, before, 0) == 2500);
  CHECK(after.same_run(2501, before, 2501) == 2499);
  Sequence<Stmt> same = before.map_same([](const Stmt& s) { return s; }, [](const Stmt& a, const Stmt& b) { return a.same_as(b); });
  CHECK(same.same_as(before));
  before = after = same = {};
  for (const Stmt& stmt : all) { REQUIRE(stmt->refs == 1); }
  CHECK(other->refs == 1);
}

TEST_CASE("a sequence that shrinks becomes one piece again", "[sequence]") {
  Sequence<std::string> now = numbers(0, 3000);
  std::vector<std::string> expected = numbers(0, 3000);
  while (now.size() > 3) {
    size_t from = now.size() / 3;
    now = now.spliced(from, from + 1, {});
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(from));
  }
  CHECK(is_same(now, expected));
  CHECK(now.spliced(0, 3, {}).empty());
}

}  // namespace
