// Cost models that build scripts write: files for them, and the attributes that they learn in a search.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/build_script_state.h"
#include "script/tuner/pieces.h"

namespace loopsmith::driver::build_script {

/// A call of NumPy or of Python's `random`, `np.load` and `np.save` included. None: another call.
[[nodiscard]] auto call_in_script(Evaluator& e, const syntax::Expr& callee, const eval::Arguments& given) -> std::optional<Value>;

// The methods `load` and `save` of classes that do not define them: the attributes of the model as JSON.
[[nodiscard]] auto run_model_load(Evaluator& e, const eval::Arguments& a) -> Value;
[[nodiscard]] auto run_model_save(Evaluator& e, const eval::Arguments& a) -> Value;

/// The attributes of a model during a search, which is a process of its own.
class ModelInSearch {
 public:
  /// Writes the attributes for the search, where the model is an instance of a class of the script. False: they cannot be written.
  [[nodiscard]] auto begin(Evaluator& e, const Value& model, std::vector<std::string>& argv) -> bool;
  /// Takes the attributes that the search left.
  void end() const;

 private:
  Ref<script::Piece> piece_;
  std::string path_;
};

}  // namespace loopsmith::driver::build_script
