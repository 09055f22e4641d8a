// The comments over primitives, for the reference page and for help: extracted from the sources during the build
// (comments/generate.cpp).
#pragma once

#include <string_view>
#include <vector>

#include "schedule/primitive.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

struct PrimitiveComment {
  std::string_view name;
  std::string_view summary;                 // sentences
  std::string_view needs;                   // the preconditions; empty: none
  std::string_view keeps;                   // the properties that stay the same
  std::vector<Code> codes;                  // diagnostics that it may report, besides those about arguments
};
/// Null if the primitive's source was not read.
[[nodiscard]] auto comment_of(const Primitive& primitive) -> const PrimitiveComment*;

}  // namespace loopsmith::schedule
