// Shared memory of a CUDA kernel that exceeds the 48 KB that a kernel can declare: see source.h.
#include "codegen/source/source.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"

namespace loopsmith::codegen {

auto requested_shared_bytes(const PrimFunc& kernel) -> int64_t {
  constexpr int64_t most_declared = 48 * 1024;
  int64_t total = 0;
  post_order(
      kernel->body,
      [&](const Stmt& s) {
        const auto* memory = s.as<Allocate>();
        if (!memory || !memory->data->pointer || !is_shared_memory(memory->data->pointer->scope.view())) { return; }
        int64_t bytes = memory->dtype.element_bytes() * memory->dtype.lanes;
        for (const Expr& e : memory->extents) {
          if (__builtin_mul_overflow(bytes, as_int(e).value_or(0), &bytes)) { return; }
        }
        total += shared_array_bytes(bytes);
      },
      [](const Expr&) {});
  return total > most_declared ? total : 0;
}

}  // namespace loopsmith::codegen
