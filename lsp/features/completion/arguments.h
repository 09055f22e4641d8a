// The call of a primitive at the cursor: the parameter of the argument at the cursor, and the values of the arguments before it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/features/completion/schedule_spot.h"
#include "schedule/primitive.h"

namespace loopsmith::lsp {

/// The primitive of the open call at the cursor; null: none.
[[nodiscard]] auto row_called(const ScheduleSpot& spot) -> const schedule::Primitive*;

/// The parameter that an argument of a call is for; null: none.
[[nodiscard]] auto parameter_at(const schedule::Primitive& row, const CallContext& call) -> const schedule::Param*;

/// The end of the argument, or of the item of a list, that begins at `from`.
[[nodiscard]] auto end_of_item(std::string_view text, size_t from) -> size_t;

/// The value of an argument: the loop or block of a variable, or a constant. None: another expression.
[[nodiscard]] auto written_value(const ScheduleSpot& spot, const schedule::Param& param, std::string_view text) -> std::optional<schedule::Value>;

/// The arguments for the parameters before number `param`. None: one of the values, or the state of the schedule, is not known.
[[nodiscard]] auto values_before(const ScheduleSpot& spot, const schedule::Primitive& row, size_t param) -> std::optional<std::vector<schedule::Value>>;

/// The block in the first argument that takes one; null: not known.
[[nodiscard]] auto block_of_argument(const ScheduleSpot& spot, const schedule::Primitive& row) -> const Block*;

/// The extent of the loop in the first argument, if it is a constant.
[[nodiscard]] auto extent_of_argument(const ScheduleSpot& spot) -> std::optional<int64_t>;

/// An extent divided by the factors that are already in the list; none: they do not divide it, or are not constants.
[[nodiscard]] auto extent_left(const ScheduleSpot& spot, int64_t extent) -> std::optional<int64_t>;

/// Up to 4096.
[[nodiscard]] auto divisors(int64_t number) -> std::vector<int64_t>;

}  // namespace loopsmith::lsp
