// Changing the stages of a schedule: a statement changes a copy, which takes the place of the stages once its translation is not refused.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "script/objects.h"
#include "script/te/stages.h"
#include "script/te/translate.h"
#include "support/reason.h"

namespace loopsmith::script::te {

/// Reports that a step cannot be applied to a stage.
auto refuse(eval::Evaluator& evaluator, const ScheduleObject& schedule, Origin call, std::string_view step, std::string_view stage, const Reason& why,
            std::string remedy = {}) -> eval::Value;
/// Makes a change, translates the stages, and reports a primitive that is refused. False: nothing has changed.
[[nodiscard]] auto change(eval::Evaluator& evaluator, const ScheduleObject& schedule, Origin call, const std::function<void(Stages&)>& make) -> bool;
/// The reasons of a refused primitive, at the statement that caused the refusal.
[[nodiscard]] auto reasons(const Refused& refused, Origin call) -> Diagnostics;
/// The call with the statement that it is made by.
[[nodiscard]] auto located(const ScheduleObject& schedule, Origin call) -> Origin;
/// A new axis.
[[nodiscard]] auto make_axis(std::string name, Expr extent, IterKind kind, Origin where) -> IterVar;

// Methods of a schedule that add stages (rewiring.cpp).
auto cache_read(eval::Evaluator& evaluator, const eval::Value& self, const eval::Arguments& arguments) -> eval::Value;
auto cache_write(eval::Evaluator& evaluator, const eval::Value& self, const eval::Arguments& arguments) -> eval::Value;
auto rfactor(eval::Evaluator& evaluator, const eval::Value& self, const eval::Arguments& arguments) -> eval::Value;
/// The axis that an argument names; none: reported.
[[nodiscard]] auto to_axis(eval::Evaluator& evaluator, const ScheduleObject& schedule, std::string_view step, size_t stage, const eval::Argument& argument) -> std::optional<size_t>;
/// The stages of a tensor, an operation or a list of them; none: reported.
[[nodiscard]] auto to_stages(eval::Evaluator& evaluator, const ScheduleObject& schedule, const eval::Argument& argument) -> std::optional<std::vector<size_t>>;

}  // namespace loopsmith::script::te
