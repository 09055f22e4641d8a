// Models that correct the draft by measurements: each predicts log(measured / draft) from the features of a point. Without data the prediction is 0, so the model is
// the draft. One object serves one sketch, whose features have one length.
//
// One file per model; models.cpp lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace loopsmith::tune {

class CostModel {
 public:
  virtual ~CostModel() = default;
  /// `log_ratio`: log(measured / draft). Weight 1: a full measurement. Less: a measurement that was stopped early, so the true ratio is at least this.
  virtual void add(std::vector<double> features, double log_ratio, double weight) = 0;
  /// Makes `predict` use all rows.
  virtual void fit() = 0;
  [[nodiscard]] virtual auto predict(const std::vector<double>& features) const -> double = 0;
  [[nodiscard]] virtual auto size() const -> size_t = 0;
};

/// A model by name, with a line for help texts.
struct ModelKind {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<CostModel> (*make)(uint64_t seed);
  /// The reason why the model cannot be used on this machine; empty: it can. Null: it always can.
  std::string (*why_not)() = nullptr;
};

/// All models; the default is the first.
[[nodiscard]] auto model_kinds() -> const std::vector<ModelKind>&;
/// Null: no model has the name.
[[nodiscard]] auto find_model(std::string_view name) -> const ModelKind*;
/// The names, as a sentence lists them.
[[nodiscard]] auto model_names() -> std::string;

}  // namespace loopsmith::tune
