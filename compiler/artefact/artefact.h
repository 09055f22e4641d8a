// A library of kernels for programs that do not use Loopsmith.
//
// A kernel is called by a C function that takes one argument per parameter, in order: `DLTensor*` for a buffer
// (https://dmlc.github.io/dlpack), `int64_t` or `double` for a scalar:
//
//     int32_t matmul(DLTensor* A, DLTensor* B, DLTensor* C);      // 0: success; otherwise see loopsmith_last_error()
//
// The entry checks rank, type, shape, layout, alignment and overlap of its arguments, then calls the compiled code under its
// inner symbol (codegen/interface.h). Shape variables get their values from the shapes. Entries and support are C11, so that any
// C compiler builds them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/interface.h"

namespace loopsmith::artefact {

/// Code for given sizes of a kernel, which its entry calls in place of the kernel's own code.
struct Variant {
  std::string symbol;
  std::vector<std::pair<size_t, int64_t>> sizes;   // slots of the kernel with the values for which the code is
};

struct Kernel {
  std::string name;                // the name of the C function
  std::string symbol;              // the symbol of the compiled code
  codegen::Interface interface;    // of the function before lowering, with the shapes that callers see
  std::string signature;           // the program's parameters as written, for the comment in the header; may be empty
  int device_type = 1;             // DLPack's type of the device that contains its tensors: 1 this machine's memory, 2 CUDA, 4 OpenCL
  std::vector<Variant> variants = {};
};

/// True for legal names of C functions; false for keywords.
[[nodiscard]] auto is_c_name(std::string_view name) -> bool;

/// `LIBRARY.h`: declarations for C, and for C++ overloads in `namespace loopsmith` that throw instead of returning a status.
[[nodiscard]] auto header(std::string_view library, const std::vector<Kernel>& kernels, bool packed = false) -> std::string;

/// `LIBRARY.py`: a Python module that loads libLIBRARY.so from its own folder. It has a function for each kernel, which takes arrays of NumPy and objects
/// with the DLPack protocol, and raises an exception if the C function returns an error status.
[[nodiscard]] auto python_module(std::string_view library, const std::vector<Kernel>& kernels) -> std::string;

/// One line about a parameter: "A: float32 (n * 2, 4), written".
[[nodiscard]] auto describe(const codegen::Interface& interface, size_t parameter) -> std::string;

/// The C source of all entries. It includes `support()` as "loopsmith_support.h".
/// `packed`: each kernel gets a second entry `NAME_packed` with the signature of TVM's packed functions in C (TVMBackendPackedCFunc
/// of TVM 0.19: values, their type codes, their number), so that `tvm.runtime.load_module(LIBRARY)["NAME_packed"]` can be called.
[[nodiscard]] auto entries(std::string_view library, const std::vector<Kernel>& kernels, bool packed = false) -> std::string;

/// The code of kernels in a library: a text of OpenCL, or cubins by their architecture ("sm_90a") and PTX ("compute_90").
struct DeviceCode {
  std::string arch;
  std::string bytes;
};
/// The C source of the functions that launch kernels, `int32_t SYMBOL(const Argument*)` for each host function of a module after split_host_device. It
/// contains the code of the kernels. The first call loads the driver; OpenCL then compiles the kernels, for the context of the call's tensors.
/// LIBRARY_set_stream sets the calling thread's stream (CUstream, cl_command_queue); after that, calls do not wait for the kernels.
[[nodiscard]] auto device_hosts(std::string_view library, const IRModule& flat, const std::vector<Kernel>& kernels, bool is_opencl, const std::vector<DeviceCode>& codes) -> Result<std::string>;
/// The part of that source that is the same for all programs.
[[nodiscard]] auto device_support() -> std::string_view;

/// The support code of entries and kernels: error text, argument checks, a thread pool (of one thread if POSIX threads are
/// missing). It consists of declarations; with LOOPSMITH_SUPPORT_CODE it also has the definitions, to be compiled once for all kernels
/// of a target. All symbols are weak, so that several libraries can be linked into one program. The pool has LOOPSMITH_NUM_THREADS
/// threads, or else one per processor.
[[nodiscard]] auto support() -> std::string_view;

}  // namespace loopsmith::artefact
