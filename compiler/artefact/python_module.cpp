// Prints `LIBRARY.py`: a library's kernels as functions of Python. See artefact.h.
#include <fmt/format.h>

#include <algorithm>

#include "artefact/artefact.h"

namespace loopsmith::artefact {
namespace {

constexpr std::string_view preamble = R"PY(
The functions change the arrays that they are given and return nothing. An array is anything of NumPy, or any object with the DLPack protocol (tensors
of PyTorch, JAX and others), in the memory of the processor. What does not fit raises KernelError, with the reason.
"""
import builtins as _py
import ctypes as _c
import os as _os


class KernelError(_py.RuntimeError):
    """The arguments of a call do not fit, or the kernel stopped."""


class _Tensor(_c.Structure):
    """DLTensor of DLPack."""

    _fields_ = [
        ("data", _c.c_void_p), ("device_type", _c.c_int32), ("device_id", _c.c_int32), ("ndim", _c.c_int32),
        ("code", _c.c_uint8), ("bits", _c.c_uint8), ("lanes", _c.c_uint16),
        ("shape", _c.POINTER(_c.c_int64)), ("strides", _c.POINTER(_c.c_int64)), ("byte_offset", _c.c_uint64),
    ]


_library = _c.CDLL(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), @LIBRARY@))
_library.loopsmith_last_error.restype = _c.c_char_p
_pointer_of = _c.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = _c.c_void_p
_pointer_of.argtypes = [_c.py_object, _c.c_char_p]
# DLPack's codes of NumPy's kinds, and of the types that ml_dtypes adds to NumPy.
_codes = {"i": 0, "u": 1, "f": 2, "b": 6}
_added = {
    "bfloat16": 4, "float8_e3m4": 7, "float8_e4m3": 8, "float8_e4m3b11fnuz": 9, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12,
    "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14, "float6_e2m3fn": 15, "float6_e3m2fn": 16, "float4_e2m1fn": 17,
}


def _array(name, value, is_written, kept):
    """A pointer to a DLTensor; `kept` holds what must live as long as the call."""
    if _py.hasattr(value, "__array_interface__") and _py.hasattr(value, "dtype"):
        facts = value.__array_interface__
        address, is_read_only = facts["data"]
        if is_read_only and is_written:
            raise KernelError(f"{name} is written, and the array is read-only")
        dtype, size = value.dtype, value.ndim
        code = _added.get(dtype.name, _codes.get(dtype.kind))
        if code is None or not dtype.isnative:
            raise KernelError(f"{name} has elements of {dtype}, which DLPack does not have")
        numbers = _c.c_int64 * _py.max(size, 1)
        strides = [step // dtype.itemsize for step in value.strides]
        if _py.any(step % dtype.itemsize for step in value.strides):
            raise KernelError(f"{name} has strides that are not whole elements")
        tensor = _Tensor(address, 1, 0, size, code, 8 * dtype.itemsize, 1, numbers(*value.shape), numbers(*strides), 0)
        kept.append((value, tensor))
        return _c.byref(tensor)
    if _py.hasattr(value, "__dlpack__"):
        capsule = value.__dlpack__()
        kept.append((value, capsule))
        return _c.c_void_p(_pointer_of(capsule, b"dltensor"))
    raise _py.TypeError(f"{name} is an array, not {_py.type(value).__name__}")


def _integer(name, value):
    if not _py.hasattr(value, "__index__"):
        raise _py.TypeError(f"{name} is an integer, not {_py.type(value).__name__}")
    number = value.__index__()
    if not -(1 << 63) <= number < 1 << 63:
        raise KernelError(f"{name} does not fit 64 bits")
    return _c.c_int64(number)


def _unsigned(name, value):
    if not _py.hasattr(value, "__index__"):
        raise _py.TypeError(f"{name} is an integer, not {_py.type(value).__name__}")
    number = value.__index__()
    if not 0 <= number < 1 << 64:
        raise KernelError(f"{name} does not fit 64 bits without a sign")
    return _c.c_int64(number - (1 << 64) if number >> 63 else number)


def _real(name, value):
    return _c.c_double(_py.float(value))


def _address(name, value):
    return _c.c_void_p(value)


def _call(function, arguments):
    if function(*arguments) != 0:
        raise KernelError(_library.loopsmith_last_error().decode("utf-8", "replace"))
)PY";

/// A legal Python name for a function or a parameter.
auto python_name(const std::string& name, size_t index) -> std::string {
  static constexpr std::string_view words[] = {"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
                                               "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
                                               "return", "try", "while", "with", "yield"};
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9'); };
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_letter) || (name[0] >= '0' && name[0] <= '9') || name.starts_with('_')) { return fmt::format("arg{}", index); }
  return std::find(std::begin(words), std::end(words), name) == std::end(words) ? name : name + "_";
}

}  // namespace

auto python_module(std::string_view library, const std::vector<Kernel>& kernels) -> std::string {
  std::string out(fmt::format("\"\"\"{}: kernels made by Loopsmith.\n", library));
  std::string rest(preamble);
  const std::string_view mark = "@LIBRARY@";
  rest.replace(rest.find(mark), mark.size(), fmt::format("\"lib{}.so\"", library));
  out += rest;
  std::string names;
  for (const Kernel& kernel : kernels) {
    const auto& parameters = kernel.interface.parameters;
    std::string signature, arguments, facts;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const codegen::Parameter& p = parameters[i];
      std::string name = python_name(p.name, i);
      signature += (signature.empty() ? "" : ", ") + name;
      if (p.kind == codegen::Parameter::Kind::Buffer) { arguments += fmt::format("_array(\"{0}\", {0}, {1}, _kept), ", name, p.is_written ? "True" : "False"); }
      else if (p.kind == codegen::Parameter::Kind::Pointer) { arguments += fmt::format("_address(\"{0}\", {0}), ", name); }
      else { arguments += fmt::format("{1}(\"{0}\", {0}), ", name, p.dtype.is_real() ? "_real" : p.dtype.is_uint() && p.dtype.bits == 64 ? "_unsigned" : "_integer"); }
      facts += fmt::format("    {}\n", describe(kernel.interface, i));
    }
    std::string function = python_name(kernel.name, 0);
    names += fmt::format("\"{}\", ", function);
    out += fmt::format("\n\ndef {}({}):\n    \"\"\"\n{}    \"\"\"\n    _kept = []\n    _call(_library[\"{}\"], [{}])\n", function, signature, facts, kernel.name, arguments);
  }
  return out + fmt::format("\n\n__all__ = [{}\"KernelError\"]\n", names);
}

}  // namespace loopsmith::artefact
