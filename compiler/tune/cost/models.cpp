// The list of models, and the two that learn nothing: see model.h.
#include "tune/cost/model.h"

#include "support/hash.h"
#include "tune/cost/mlp.h"
#include "tune/cost/residual.h"
#include "tune/cost/trees.h"
#include "tune/cost/xgboost.h"

namespace loopsmith::tune {
namespace {

/// The draft alone.
class NoModel final : public CostModel {
 public:
  void add(std::vector<double>, double, double) override {}
  void fit() override {}
  [[nodiscard]] auto predict(const std::vector<double>&) const -> double override { return 0; }
  [[nodiscard]] auto size() const -> size_t override { return 0; }
};

/// A random factor for each point, for comparisons. It is the same for equal features.
class RandomModel final : public CostModel {
 public:
  explicit RandomModel(uint64_t seed) : seed_(seed) {}
  void add(std::vector<double>, double, double) override {}
  void fit() override {}
  [[nodiscard]] auto predict(const std::vector<double>& features) const -> double override {
    uint64_t hash = seed_;
    for (double f : features) { hash = hash_combine(hash, hash_bytes(std::string_view(reinterpret_cast<const char*>(&f), sizeof f))); }
    constexpr double range = 6;   // in logarithms: more than drafts differ
    return range * (static_cast<double>(hash >> 11) / static_cast<double>(1ULL << 53) - 0.5);
  }
  /// It is used from the first batch on.
  [[nodiscard]] auto size() const -> size_t override { return 1; }

 private:
  uint64_t seed_;
};

}  // namespace

auto model_kinds() -> const std::vector<ModelKind>& {
  static const std::vector<ModelKind> kinds = {
      {"residual", "a ridge regression that corrects the draft; the default", [](uint64_t) -> std::unique_ptr<CostModel> { return std::make_unique<ResidualModel>(); }},
      {"trees", "gradient-boosted trees that correct the draft", [](uint64_t) -> std::unique_ptr<CostModel> { return std::make_unique<TreeModel>(); }},
      {"xgboost", "the same by the library XGBoost", [](uint64_t) -> std::unique_ptr<CostModel> { return make_xgboost(); }, why_no_xgboost},
      {"mlp", "a small neural network that corrects the draft", [](uint64_t) -> std::unique_ptr<CostModel> { return std::make_unique<MlpModel>(); }},
      {"none", "the draft alone", [](uint64_t) -> std::unique_ptr<CostModel> { return std::make_unique<NoModel>(); }},
      {"random", "random factors on the draft, for comparison", [](uint64_t seed) -> std::unique_ptr<CostModel> { return std::make_unique<RandomModel>(seed); }},
  };
  return kinds;
}

auto find_model(std::string_view name) -> const ModelKind* {
  for (const ModelKind& kind : model_kinds()) {
    if (kind.name == name) { return &kind; }
  }
  return nullptr;
}

auto model_names() -> std::string {
  std::string out;
  const auto& kinds = model_kinds();
  for (size_t i = 0; i < kinds.size(); ++i) {
    out += i == 0 ? "" : i + 1 == kinds.size() ? " or " : ", ";
    out += kinds[i].name;
  }
  return out;
}

}  // namespace loopsmith::tune
