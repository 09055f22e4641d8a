// `loopsmith/job`: the facts of a background job as JSON, which the front writes and the worker reads.
#pragma once

#include <optional>

#include "lsp/jobs/facts.h"
#include "lsp/protocol/json.h"

namespace loopsmith::lsp {

inline constexpr const char* job_method = "loopsmith/job";

/// The parameters of `loopsmith/job`. Members without a value are omitted.
[[nodiscard]] auto to_json(const JobFacts& job) -> Json;

/// None: the kind or the phase is missing or unknown.
[[nodiscard]] auto job_from(const Json& params) -> std::optional<JobFacts>;

/// A number that a JSON object has under a name; none: it has no such member, or the member is not a number.
[[nodiscard]] auto number_in(const Json& json, const char* name) -> std::optional<double>;

}  // namespace loopsmith::lsp
