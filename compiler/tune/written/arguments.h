// TVM's pieces with the arguments of a script: `MultiLevelTiling(structure="SSRSRS", max_innermost_factor=64)`.
#pragma once

#include "script/tuner/pieces.h"
#include "target/target.h"
#include "tune/metaschedule/mutators/mutators.h"
#include "tune/metaschedule/postprocs/postprocs.h"
#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune {

/// Makes a filter of blocks from an argument with a function, which runs in its file.
using MakeFilter = std::function<rules::BlockFilter(const eval::Argument&)>;

/// The rules that a name stands for. Without arguments these are the entries of the target's default list, or where that list has none, one rule with TVM's
/// default arguments. Errors are reported to the evaluator; none: there are some.
[[nodiscard]] auto tvm_rules(eval::Evaluator& evaluator, const script::Piece& piece, const target::Target& target, const rules::CustomRules& custom,
                             const MakeFilter& filter) -> std::optional<rules::Rules>;
[[nodiscard]] auto tvm_postproc(eval::Evaluator& evaluator, const script::Piece& piece, const target::Target& target) -> std::optional<metaschedule::Postproc>;
[[nodiscard]] auto tvm_mutator(eval::Evaluator& evaluator, const script::Piece& piece) -> std::optional<metaschedule::Mutator>;

}  // namespace loopsmith::tune
