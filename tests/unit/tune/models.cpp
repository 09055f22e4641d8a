// Models that correct the draft: they learn shapes that are not straight lines, respect bounds, and know nothing without data.
#include <cmath>
#include <random>

#include "tests/unit/catch.h"
#include "tune/cost/model.h"
#include "tune/cost/trees.h"

using namespace loopsmith;

namespace {

/// A step in one feature and a product of two others.
auto truth(const std::vector<double>& x) -> double { return (x[0] > 3 ? 1.0 : 0.0) + 0.3 * x[1] * x[2]; }

auto rows(int count, uint64_t seed) -> std::vector<std::vector<double>> {
  std::mt19937_64 random(seed);
  std::vector<std::vector<double>> out;
  for (int i = 0; i < count; ++i) { out.push_back({static_cast<double>(random() % 8), static_cast<double>(random() % 3) - 1, static_cast<double>(random() % 3) - 1, 5}); }
  return out;
}

/// The mean of the squared errors on rows that were not learnt.
auto error_of(tune::CostModel& model) -> double {
  for (const auto& x : rows(300, 1)) { model.add(x, truth(x), 1); }
  model.fit();
  double sum = 0;
  const auto held = rows(200, 2);
  for (const auto& x : held) { sum += std::pow(model.predict(x) - truth(x), 2); }
  return sum / static_cast<double>(held.size());
}

}  // namespace

TEST_CASE("models are found by name, and know nothing without data") {
  CHECK(tune::model_kinds().front().name == "residual");
  CHECK(tune::find_model("oracle") == nullptr);
  CHECK(tune::model_names() == "residual, trees, xgboost, mlp, none or random");
  for (const tune::ModelKind& kind : tune::model_kinds()) {
    if (kind.name == "random") { continue; }
    auto model = kind.make(1);
    model->fit();
    CHECK(model->size() == 0);
    CHECK(model->predict({1, 2, 3, 4}) == 0);
  }
}

TEST_CASE("trees learn steps and products, which a line does not") {
  const double line = error_of(*tune::find_model("residual")->make(1));
  const double trees = error_of(*tune::find_model("trees")->make(1));
  CHECK(trees < 0.25 * line);
  CHECK(trees < 0.02);
}

TEST_CASE("a neural network learns them too, and gives the same numbers again") {
  const double line = error_of(*tune::find_model("residual")->make(1));
  auto one = tune::find_model("mlp")->make(1), other = tune::find_model("mlp")->make(2);
  const double error = error_of(*one);
  CHECK(error < 0.25 * line);
  CHECK(error_of(*other) == error);
}

TEST_CASE("XGBoost learns the same, where its library is installed") {
  const tune::ModelKind* kind = tune::find_model("xgboost");
  if (!kind->why_not().empty()) {
    CHECK(kind->why_not().find("libxgboost") != std::string::npos);
    return;
  }
  CHECK(error_of(*kind->make(1)) < 0.02);
}

TEST_CASE("a measurement that was stopped early is a bound: predictions above it are not pulled down") {
  for (const char* name : {"trees", "xgboost"}) {
    INFO(name);
    const tune::ModelKind* kind = tune::find_model(name);
    if (kind->why_not && !kind->why_not().empty()) { continue; }
    auto model = kind->make(1);
    for (int i = 0; i < 20; ++i) {
      model->add({0}, 0, 1);
      model->add({1}, 2, 1);
      model->add({1}, 0.5, 0.5);
    }
    model->fit();
    CHECK(model->predict({1}) > 1.8);
  }
}

TEST_CASE("the random model gives each point its own factor, always the same") {
  auto model = tune::find_model("random")->make(7);
  CHECK(model->predict({1, 2}) == tune::find_model("random")->make(7)->predict({1, 2}));
  CHECK(model->predict({1, 2}) != model->predict({2, 1}));
  CHECK(model->predict({1, 2}) != tune::find_model("random")->make(8)->predict({1, 2}));
}
