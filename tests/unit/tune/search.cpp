// The search in an artificial space with known times: it finds good candidates sooner than chance; never proposes one twice;
// makes the same proposals with the same seed. Also the models by which it ranks.
#include "tune/search/search.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "cost/draft.h"
#include "tests/unit/catch.h"
#include "tune/cost/residual.h"

using namespace loopsmith;
using namespace loopsmith::tune;

namespace {

// Six knobs of ten choices; the true time has its optimum at (7, 2, 5, 1, 8, 4). The draft depends on half of them, and is
// wrong by a factor that one knob decides.
class MadeUp : public Sketch {
 public:
  MadeUp() {
    name_ = "made up";
    for (int k = 0; k < 6; ++k) {
      Knob knob{"knob " + std::to_string(k), {}};
      for (int64_t c = 0; c < 10; ++c) { knob.choices.push_back({c}); }
      knobs_.push_back(knob);
    }
  }
  auto apply(schedule::Schedule&, const Point&) const -> Status override { return ok(); }
  static auto time(const Point& p) -> double {
    constexpr int best[] = {7, 2, 5, 1, 8, 4};
    double sum = 0;
    for (size_t k = 0; k < 6; ++k) { sum += (k + 1) * std::pow(std::abs(static_cast<int>(p[k]) - best[k]) / 9.0, 2); }
    return 1e-3 * (1 + sum);
  }
  auto draft(const Point& p) const -> double override {
    constexpr int best[] = {7, 2, 5};
    double sum = 0;
    for (size_t k = 0; k < 3; ++k) { sum += std::pow(std::abs(static_cast<int>(p[k]) - best[k]) / 9.0, 2); }
    return 2e-3 * (1 + sum);
  }
  auto features(const Point& p) const -> std::vector<double> override {
    std::vector<double> out;
    for (uint16_t c : p) { out.push_back(c); out.push_back(c * c); }
    return out;
  }
};

auto search_for(std::string_view name, uint64_t seed, int trials) -> std::vector<Point> {
  Sketches sketches;
  sketches.push_back(std::make_unique<MadeUp>());
  auto search = find_search(name)->make(sketches, seed);
  std::vector<Point> points;
  while (static_cast<int>(points.size()) < trials) {
    auto batch = search->propose(std::min<size_t>(16, static_cast<size_t>(trials) - points.size()));
    if (batch.empty()) { break; }
    for (const Proposal& p : batch) {
      points.push_back(p.point);
      search->learn(p, MadeUp::time(p.point), true);
    }
  }
  return points;
}

auto best_time(const std::vector<Point>& points) -> double {
  double best = 1e9;
  for (const Point& p : points) { best = std::min(best, MadeUp::time(p)); }
  return best;
}

}  // namespace

TEST_CASE("the search comes within a tenth of the optimum of a million points in 128 trials, and beats chance") {
  std::vector<double> guided, random;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    guided.push_back(best_time(search_for("guided", seed, 128)));
    random.push_back(best_time(search_for("random", seed, 128)));
  }
  std::sort(guided.begin(), guided.end());
  std::sort(random.begin(), random.end());
  CHECK(guided[2] < 1.1e-3);
  CHECK(guided[2] < 0.8 * random[2]);
}

TEST_CASE("no point is proposed twice, and the same seed proposes the same") {
  auto once = search_for("guided", 3, 200);
  CHECK(std::set<Point>(once.begin(), once.end()).size() == once.size());
  CHECK(search_for("guided", 3, 200) == once);
  CHECK(search_for("guided", 4, 200) != once);
}

TEST_CASE("the residual learns the errors of the draft, and corrects nothing without data") {
  ResidualModel model;
  model.fit();
  CHECK(model.predict({1, 2, 3}) == 0);
  for (int i = 0; i < 40; ++i) {
    double x = i % 7, y = (i * 3) % 5;
    model.add({x, y, 1.0}, 0.5 * x - 0.2 * y + 1);
  }
  model.fit();
  CHECK(model.predict({6, 0, 1}) > model.predict({0, 4, 1}) + 2);
}

TEST_CASE("the draft prefers the variants that are known to be faster") {
  CoreModel core;
  core.cores = 2;
  // matmul: i, j, k; A[i, k], B[k, j], C[i, j].
  auto matmul = [&](int64_t rows, int64_t vectors, bool parallel) {
    constexpr int64_t n = 1024;
    Nest nest;
    int64_t width = vectors * 16;
    nest.loops = {{n / rows, parallel, false, false, false}, {n / width, false, false, false, false}, {n, false, false, false, true},
                  {rows, false, true, false, false}, {width, false, false, true, false}};
    auto access = [&](std::vector<std::vector<int64_t>> strides, bool write) {
      NestAccess a;
      a.strides = std::move(strides);
      a.shape = {n, n};
      a.is_write = write;
      a.in_registers = write;
      return a;
    };
    nest.accesses = {access({{rows, 0, 0, 1, 0}, {0, 0, 1, 0, 0}}, false), access({{0, 0, 1, 0, 0}, {0, width, 0, 0, 1}}, false),
                     access({{rows, 0, 0, 1, 0}, {0, width, 0, 0, 1}}, true)};
    return cost::draft_seconds(nest, core);
  };
  CHECK(matmul(8, 2, true) < matmul(8, 2, false));       // two cores
  CHECK(matmul(8, 2, true) < matmul(1, 1, true));        // register tiles
  CHECK(matmul(8, 3, true) < matmul(16, 4, true));       // that fit the registers
  // And no kernel is quicker than the arithmetic allows.
  double peak = 2 * core.lanes * core.vector_fma * core.clock * core.cores;
  CHECK(matmul(8, 3, true) > 2.0 * 1024 * 1024 * 1024 / peak);
}
