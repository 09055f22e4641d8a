// What calls of runtimes and devices come to on memory that a program has anyway: the interpreter and lowering read them so.
//
//     p = T.lookup_param("weights")                   the constant of the module whose variable has that name
//     T.anylist_getitem(list, i)                      the value of element i of a list of `tvm_ffi_any`s
//     T.anylist_setitem_call_packed(list, i, "f", x)  calls `f`, a function of the module, and notes what it returns there
//     T.masked_load(p, index, mask)                   elements of what p points to, under a predicate
//     p = T.nd_mem_alloc_with_scope(scope, n, shape)  an allocation; of a texture: width, height, four numbers each
//     T.texture2d_load(image, x, y, channel)          one or four numbers of a pixel; the image is as wide as its buffer's dimensions say
//
// Calls that say too little (a pointer without a type, an image of unknown width, a function that the module does not have)
// stay as they are.
#pragma once

#include "ir/ir.h"

namespace loopsmith {

/// What `masked_load` or `texture2d_load` of these arguments gives, by what its pointer leads to; void: that says nothing.
[[nodiscard]] auto accessed_type(Name op, const Array<Expr>& args) -> DataType;

/// Constants and lists: what depends on other functions of the module.
[[nodiscard]] auto with_plain_calls(const IRModule& module) -> IRModule;

/// Memory: what depends on the function alone.
[[nodiscard]] auto with_plain_accesses(const PrimFunc& func) -> PrimFunc;

}  // namespace loopsmith
