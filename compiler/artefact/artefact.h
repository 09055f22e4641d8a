// A library of kernels for programs that know nothing of us.
//
// A kernel is called by a C function that takes one argument per parameter, in order: `DLTensor*` for a buffer
// (https://dmlc.github.io/dlpack), `int64_t` or `double` for a scalar:
//
//     int32_t matmul(DLTensor* A, DLTensor* B, DLTensor* C);      // 0: done; else loopsmith_last_error() says why
//
// The entry checks rank, type, shape, layout, alignment and overlap of its arguments, then calls the compiled code under its
// inner symbol (codegen/interface.h). Shape variables are read off the shapes. Entries and support are C11, so that they build
// wherever there is a C compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/interface.h"

namespace loopsmith::artefact {

struct Kernel {
  std::string name;                // of the C function
  std::string symbol;              // of the compiled code
  codegen::Interface interface;    // of the function before lowering, with the shapes that callers see
  std::string signature;           // the program's parameters as written, for the header's comment; may be empty
};

/// The symbol under which a kernel's code stands beside its entry.
[[nodiscard]] auto inner_symbol(std::string_view name) -> std::string;

/// Can it be the name of a C function? Keywords and our own names cannot.
[[nodiscard]] auto is_c_name(std::string_view name) -> bool;

/// `LIBRARY.h`: declarations in C, and in C++ overloads in `namespace loopsmith` that throw instead of giving a status.
[[nodiscard]] auto header(std::string_view library, const std::vector<Kernel>& kernels, bool packed = false) -> std::string;

/// The C source of all entries; to be compiled with `support()` on its include path as "loopsmith_support.h".
/// `packed`: each kernel has a second entry `NAME_packed`, called as TVM's packed functions in C are (TVMBackendPackedCFunc of TVM
/// 0.19: values, their type codes, how many), so that `tvm.runtime.load_module(LIBRARY)["NAME_packed"]` can be called.
[[nodiscard]] auto entries(std::string_view library, const std::vector<Kernel>& kernels, bool packed = false) -> std::string;

/// What entries and kernels need: error text, argument checks, a thread pool (one thread where there are no POSIX threads). It
/// declares them; with LOOPSMITH_SUPPORT_CODE it is their code as well, to be compiled once, the same for all kernels of a target. All
/// of it is weak, so that several libraries can be linked into one program. The pool has LOOPSMITH_NUM_THREADS threads, else one
/// per processor.
[[nodiscard]] auto support() -> std::string_view;

}  // namespace loopsmith::artefact
