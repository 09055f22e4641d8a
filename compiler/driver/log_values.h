// Values in the logs of TVM's older tuners: the arguments of tasks as JSON.
#pragma once

#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "eval/value.h"

namespace loopsmith::driver {

/// Numbers, strings, truth values and None; a list becomes a tuple.
[[nodiscard]] auto value_of_json(const nlohmann::json& one, int depth = 0) -> eval::Value;
[[nodiscard]] auto json_of_value(const eval::Value& value) -> nlohmann::json;
/// Equal as JSON, where lists and tuples are alike.
[[nodiscard]] auto are_equal_in_json(const std::vector<eval::Value>& a, const std::vector<eval::Value>& b) -> bool;
/// The mean of positive, finite times; 0: there are none.
[[nodiscard]] auto mean_of(const std::vector<double>& seconds) -> double;
/// The first line of a text as JSON; discarded: it is no JSON object.
[[nodiscard]] auto first_object(std::string_view text) -> nlohmann::json;

}  // namespace loopsmith::driver
