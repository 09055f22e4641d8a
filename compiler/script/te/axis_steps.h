// The steps on axes as changes of stages, and their trial. Nothing is checked here, apart from the primitives that a trial runs.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "script/te/stages.h"
#include "support/diagnostic.h"

namespace loopsmith::script::te {

/// Replaces an axis by an outer and an inner one. A stage that is computed at the axis is computed at the inner one then, as in TVM.
/// `is_by_parts`: the factor is the extent of the outer axis.
auto split_axis(Stages& stages, size_t axis, int64_t factor, bool is_by_parts, Origin call) -> std::pair<size_t, size_t>;
/// Puts the axes of stage `in` into this order; together they keep their places.
void reorder_axes(Stages& stages, size_t in, const std::vector<size_t>& axes, Origin call);
/// Replaces adjacent axes, of which there are several, by one.
auto fuse_axes(Stages& stages, const std::vector<size_t>& axes, Origin call) -> size_t;
/// Applies a primitive to the loop of an axis; `values` are its arguments behind the loop.
void mark_axis(Stages& stages, size_t axis, std::string primitive, std::vector<schedule::Value> values, Origin call);
/// Computes the loops from an axis inwards by a declared intrinsic, once the stage has its final loops.
void tensorize_axis(Stages& stages, size_t axis, const expressions::DeclaredIntrinsic& intrinsic, Origin call);
/// Computes a stage at an axis of a stage that reads it.
void place_at(Stages& stages, size_t stage, size_t axis, Origin call);

/// True where a stage reads another, directly or through others.
[[nodiscard]] auto reads(const Stages& stages, size_t reader, size_t stage) -> bool;
/// The schedule after a change, which is made to a copy. Errors: the primitive that is refused.
[[nodiscard]] auto try_change(const Stages& stages, const std::function<void(Stages&)>& make) -> Result<schedule::Schedule>;

}  // namespace loopsmith::script::te
