// What the comments over primitives say, for the reference page and for help: made while building from the sources themselves
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
  std::string_view needs;                   // what must hold; empty: nothing
  std::string_view keeps;                   // what stays the same
  std::vector<Code> codes;                  // diagnostics that it may give, besides those about arguments
};
/// Null where the primitive's source was not read.
[[nodiscard]] auto comment_of(const Primitive& primitive) -> const PrimitiveComment*;

}  // namespace loopsmith::schedule
