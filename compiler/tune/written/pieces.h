// The pieces of MetaSchedule that a user names: in options of commands (`--rules tiles,AutoInline`), by TVM's names with TVM's parameters, or written in the file.
// A written piece that fails is an error with its place; the search goes on with the others.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "frontend/file.h"
#include "target/target.h"
#include "tune/cost/candidate_model.h"
#include "tune/cost/candidate_runner.h"
#include "tune/session/several.h"
#include "tune/space/trace_spaces.h"

namespace loopsmith::tune {

/// Lists as options give them. The items are expressions of the script language: names of the file, TVM's names, and calls of them with arguments. The word
/// `default` stands for the list of the target. Empty: the list of the target.
struct PieceTexts {
  std::string rules;
  std::string postprocs;
  std::string mutators;      // `MutateTileSize=0.9, mine=0.1`, or a dictionary `{mine(): 0.1}`
  std::string space = {};    // `PostOrderApply(...)`, `ScheduleFn(...)` or `SpaceGeneratorUnion(...)`; the other lists take the place of its own
  [[nodiscard]] auto is_empty() const -> bool { return rules.empty() && postprocs.empty() && mutators.empty() && space.empty(); }
};

/// Reads the lists, with the names of `file`, which must outlive the pieces. Also finds the rules that the file has for blocks with the annotation `schedule_rule`.
/// `report` receives the errors of written pieces while the space is made and searched, each once; the places are those of the file.
[[nodiscard]] auto read_pieces(frontend::File& file, const target::Target& target, const PieceTexts& texts, std::function<void(const Diagnostics&)> report) -> Result<SpacePieces>;

/// The value of `--model`: a model that the file writes, or the option that one of TVM's models stands for, such as "xgboost" or the file of a trained model.
using ReadModel = std::variant<std::shared_ptr<CandidateModel>, std::string>;
/// Reads an expression with the names of `file`, which must outlive the model: `Mine`, `Mine(64)`, `CostModel.create("xgb")`.
[[nodiscard]] auto read_model(frontend::File& file, const target::Target& target, const std::string& text, std::function<void(const Diagnostics&)> report) -> Result<ReadModel>;

/// The values of `--builder` and `--runner`, as `Mine` or `Mine(8)`, with the names of `file`, which must outlive the runner. An empty `builder`: the runner takes candidates as they
/// are. Null: both are "local", the tuner's own.
[[nodiscard]] auto read_runner(frontend::File& file, const target::Target& target, const std::string& builder, const std::string& runner, std::function<void(const Diagnostics&)> report)
    -> Result<std::shared_ptr<CandidateRunner>>;

/// The value of `--arguments`, a function in the form of TVM's `f_alloc_argument`: the elements of each buffer parameter of a program in measurements.
[[nodiscard]] auto read_arguments(frontend::File& file, const target::Target& target, const std::string& text, const schedule::Schedule& program) -> Result<std::vector<std::vector<double>>>;

/// The value of `--scheduler`, as `Mine` or `Mine(8)`, with the names of `file`, which must outlive the function.
[[nodiscard]] auto read_task_scheduler(frontend::File& file, const target::Target& target, const std::string& text, std::function<void(const Diagnostics&)> report) -> Result<ChooseTask>;

}  // namespace loopsmith::tune
