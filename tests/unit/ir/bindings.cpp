// Sizes of calls: formulas over shape variables are solved, then checked.
#include "ir/bindings.h"

#include "../catch.h"
#include "ir/ops.h"

using namespace loopsmith;

namespace {

using Op = Formula::Op;
constexpr DataType i32 = DataType::int_(32);
constexpr DataType i64 = DataType::int_(64);

auto number(int64_t value) -> Formula { return {{{Op::Constant, value}}}; }
auto slot(int64_t which) -> Formula { return {{{Op::Slot, which}}}; }
auto both(Formula a, const Formula& b, Op op) -> Formula {
  a.steps.insert(a.steps.end(), b.steps.begin(), b.steps.end());
  a.steps.push_back({op, 0});
  return a;
}
/// Two buffers, `A` and `B`, and the variable `n` in slot 2.
auto two(std::vector<Formula> a, std::vector<Formula> b, DataType type = i64) -> Sizes {
  return {.parameters = 2, .names = {"A", "B"}, .variables = {{"n", type}}, .buffers = {{0, "A", std::move(a), {}, {}}, {1, "B", std::move(b), {}, {}}}};
}
auto solved(const Sizes& sizes, GivenTensor a, GivenTensor b) -> std::pair<std::optional<Misfit>, std::optional<int64_t>> {
  std::vector<std::optional<int64_t>> slots(sizes.slots());
  auto misfit = solve(sizes, slots, {&a, &b});
  return {misfit, slots[2]};
}

}  // namespace

TEST_CASE("a variable that computed shapes alone name is solved for, and all shapes are checked") {
  Sizes sizes = two({both(slot(2), number(2), Op::Mul)}, {both(both(slot(2), slot(2), Op::Add), number(1), Op::Sub)});
  auto [fine, n] = solved(sizes, {{10}}, {{9}});
  CHECK_FALSE(fine);
  CHECK(n == 5);
  auto [wrong, ignored] = solved(sizes, {{10}}, {{10}});
  REQUIRE(wrong);
  CHECK(wrong->buffer == 1);
  CHECK(wrong->expected == "shape ((n + n) - 1,)");
  CHECK(wrong->found == "(10,)");
  CHECK(wrong->note == "elsewhere `n` is 5");
  auto [odd, none] = solved(sizes, {{11}}, {{9}});
  REQUIRE(odd);
  CHECK(odd->buffer == 0);
  CHECK_FALSE(undetermined_variable(sizes));
}

TEST_CASE("quotients, remainders and products of unknowns give no value, and are checked where something else does") {
  Sizes halves = two({both(slot(2), number(2), Op::FloorDiv)}, {number(4)});
  CHECK(undetermined_variable(halves) == 0);
  auto [unknown, n] = solved(halves, {{3}}, {{4}});
  REQUIRE(unknown);
  CHECK(unknown->variable == 0);
  Sizes known = two({both(slot(2), number(2), Op::FloorDiv)}, {slot(2)});
  CHECK_FALSE(solved(known, {{3}}, {{7}}).first);
  CHECK(solved(known, {{4}}, {{7}}).first);
  CHECK(undetermined_variable(two({both(slot(2), slot(2), Op::Mul)}, {number(1)})) == 0);
}

TEST_CASE("a size must fit its type, and no number wraps") {
  Sizes sizes = two({slot(2)}, {both(slot(2), number(int64_t(1) << 40), Op::Mul)}, i32);
  CHECK(solved(sizes, {{int64_t(1) << 33}}, {{0}}).first);
  Sizes wide = two({slot(2)}, {both(slot(2), number(int64_t(1) << 40), Op::Mul)});
  auto [misfit, n] = solved(wide, {{int64_t(1) << 33}}, {{0}});
  REQUIRE(misfit);
  CHECK(misfit->buffer == 1);
}

TEST_CASE("strides and offsets are checked against the tensor's; a stride across one element is not") {
  Sizes sizes{.parameters = 1, .names = {"A"}, .variables = {{"s", i32}}, .buffers = {{0, "A", {number(4), slot(1)}, {slot(1), number(1)}, number(8)}}};
  auto fits = [&](GivenTensor tensor) {
    std::vector<std::optional<int64_t>> slots(2);
    return !solve(sizes, slots, {&tensor}).has_value();
  };
  CHECK(fits({{4, 5}, {}, 8}));
  CHECK(fits({{4, 5}, {5, 1}, 8}));
  CHECK_FALSE(fits({{4, 5}, {6, 1}, 8}));
  CHECK_FALSE(fits({{4, 5}, {5, 2}, 8}));
  CHECK_FALSE(fits({{4, 5}, {}, 0}));
  CHECK(fits({{4, 1}, {1, 77}, 8}));
}
