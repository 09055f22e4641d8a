// The table of comments: see comments.h.
#include "schedule/comments.h"

#include "support/codes.h"

namespace loopsmith::schedule {

auto comment_of(const Primitive& primitive) -> const PrimitiveComment* {
  static const std::vector<PrimitiveComment> all{
#include "primitive_comments.inc"
  };
  for (const PrimitiveComment& comment : all) {
    if (comment.name == primitive.name) { return &comment; }
  }
  return nullptr;
}

}  // namespace loopsmith::schedule
