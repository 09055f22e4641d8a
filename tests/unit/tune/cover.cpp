// Few schedules for many sizes.
#include "tune/session/cover.h"

#include "tests/unit/catch.h"

using namespace loopsmith::tune;

namespace {
const auto any = [](size_t) { return true; };
}

TEST_CASE("sizes are served by few schedules, each by the fastest of those that are chosen") {
  // The first schedule is near the best for large sizes, the second for small ones; the third is the best of one size only.
  const std::vector<std::vector<double>> seconds = {{9, 8, 30, 40, 50}, {1, 2, 3.1, 90, 90}, {9, 9, 9, 39, 90}};
  const std::vector<double> best = {1, 2, 3, 39, 50};
  const auto parts = cover_sizes(seconds, best, 0.05, any);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].schedule == 1);
  CHECK(parts[0].serves == std::vector<bool>{true, true, true, false, false});
  CHECK(parts[1].schedule == 0);
  CHECK(parts[1].serves == std::vector<bool>{false, false, false, true, true});
}

TEST_CASE("a schedule that is not usable is passed over, and one size alone needs no shared schedule") {
  const std::vector<std::vector<double>> seconds = {{1, 1, 1}, {1, 1, 2}};
  const auto parts = cover_sizes(seconds, {1, 1, 1}, 0, [](size_t schedule) { return schedule != 0; });
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].schedule == 1);
  CHECK(parts[0].serves == std::vector<bool>{true, true, false});
  CHECK(cover_sizes({{1, 5}}, {1, 1}, 0.1, any).empty());
}

TEST_CASE("a time that was not measured covers no size") {
  CHECK(cover_sizes({{0, 0, 1}}, {1, 0, 1}, 10, any).empty());
}

TEST_CASE("a later schedule may serve sizes that an earlier one covers, and a schedule that serves none is left out") {
  const auto parts = cover_sizes({{1.1, 1.1, 1.1, 9, 9}, {1, 1, 1, 1, 1}}, {1, 1, 1, 1, 1}, 0.2, any);
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].schedule == 1);
}
