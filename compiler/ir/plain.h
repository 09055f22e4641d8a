// Calls of runtimes and devices rewritten as plain accesses to memory, which the interpreter and lowering understand.
//
//     p = T.lookup_param("weights")                   the constant of the module whose variable has this name
//     T.anylist_getitem(list, i)                      the value of element i of a list of `tvm_ffi_any`s
//     T.anylist_setitem_call_packed(list, i, "f", x)  calls `f`, a function of the module, and stores the result there
//     T.masked_load(p, index, mask)                   elements of the memory at p, under a predicate
//     p = T.nd_mem_alloc_with_scope(scope, n, shape)  an allocation; of a texture: width, height, four numbers each
//     T.texture2d_load(image, x, y, channel)          one or four numbers of a pixel; the buffer's dimensions give the image's width
//
// Calls without enough information (a pointer without a type, an image of unknown width, a function outside of the module)
// stay unchanged.
#pragma once

#include "ir/ir.h"

namespace loopsmith {

/// The type of the elements that `masked_load` or `texture2d_load` reads with these arguments; void: the pointer has no element type.
[[nodiscard]] auto accessed_type(Name op, const Array<Expr>& args) -> DataType;

/// Rewrites constants and lists, which depend on other functions of the module.
[[nodiscard]] auto with_plain_calls(const IRModule& module) -> IRModule;

/// Rewrites accesses to memory, which depend on the function alone.
[[nodiscard]] auto with_plain_accesses(const PrimFunc& func) -> PrimFunc;

}  // namespace loopsmith
