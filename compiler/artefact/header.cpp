// Prints the header of a library: see artefact.h.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "artefact/artefact.h"

namespace loopsmith::artefact {
namespace {

auto is_letter(char c) -> bool { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
auto is_digit(char c) -> bool { return c >= '0' && c <= '9'; }

auto guard(std::string_view library) -> std::string {
  std::string out = "LOOPSMITH_LIBRARY_";
  for (char c : library) { out += is_letter(c) || is_digit(c) ? static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c) : '_'; }
  return out + "_H";
}

/// A unique and legal name for a parameter in C; the script allows any name.
auto parameter_name(const codegen::Parameter& parameter, size_t index) -> std::string {
  return is_c_name(parameter.name) ? parameter.name : fmt::format("arg{}", index);
}

auto parameters(const Kernel& kernel, bool is_cpp) -> std::string {
  std::string out;
  for (size_t i = 0; i < kernel.interface.parameters.size(); ++i) {
    const codegen::Parameter& parameter = kernel.interface.parameters[i];
    const char* type = parameter.kind == codegen::Parameter::Kind::Buffer    ? (is_cpp ? "DLTensor& " : "DLTensor* ")
                       : parameter.kind == codegen::Parameter::Kind::Pointer ? "void* "
                       : parameter.dtype.is_real()                      ? "double "
                                                                             : "int64_t ";
    out += (out.empty() ? "" : ", ") + (type + parameter_name(parameter, i));
  }
  return out.empty() && !is_cpp ? "void" : out;
}

constexpr std::string_view dlpack = R"(#ifndef DLPACK_VERSION
#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>) && !defined(LOOPSMITH_OWN_DLPACK)
#include <dlpack/dlpack.h>
#define LOOPSMITH_HAS_DLPACK 1
#endif
#endif
#ifndef LOOPSMITH_HAS_DLPACK
#define LOOPSMITH_HAS_DLPACK 1
/* DLPack 0.8, as far as a CPU needs it. */
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;           /* 1: CPU, 2: CUDA, 4: OpenCL */
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;      /* 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 7 to 14 float8 */
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;                                                            /* NULL: compact, row-major */
  uint64_t byte_offset;
} DLTensor;
#endif
#endif
)";

}  // namespace

auto describe(const codegen::Interface& interface, size_t index) -> std::string {
  const codegen::Parameter& parameter = interface.parameters[index];
  if (parameter.kind != codegen::Parameter::Kind::Buffer) { return fmt::format("{}: {}", parameter.name, parameter.dtype.str()); }
  const auto& buffers = interface.sizes.buffers;
  auto sizes = std::find_if(buffers.begin(), buffers.end(), [&](const BufferSizes& b) { return b.parameter == index; });
  std::string out = fmt::format("{}: {} {}", parameter.name, parameter.dtype.str(), codegen::shape_text(interface, index));
  if (!sizes->strides.empty()) { out += ", strides " + text_of(interface.sizes, sizes->strides); }
  if (sizes->offset) { out += ", at an offset of " + text_of(interface.sizes, *sizes->offset) + " elements"; }
  return out + (parameter.is_written ? ", written" : "");
}

auto is_c_name(std::string_view name) -> bool {
  // Keywords of C and C++, and names of the headers that the header of a library includes.
  static constexpr std::string_view taken[] = {
      "alignas", "alignof", "and", "and_eq", "asm", "assert", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char", "class", "co_await",
      "char16_t", "char32_t", "char8_t", "co_return", "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default",
      "delete", "DLDataType", "DLDataTypeCode", "DLDevice", "DLDeviceType",
      "DLManagedTensor", "DLManagedTensorVersioned", "DLPackVersion", "DLTensor", "do", "double", "dynamic_cast", "else", "enum", "EOF", "errno", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
      "i386", "if", "inline", "int", "linux", "long", "loopsmith", "main", "max_align_t", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "NULL", "nullptr", "nullptr_t",
      "offsetof", "operator", "or", "or_eq", "private", "protected", "ptrdiff_t", "public", "register", "reinterpret_cast", "requires", "restrict", "return", "short",
      "signed", "size_t", "sizeof", "ssize_t", "static", "static_assert", "static_cast", "std", "struct", "switch", "template", "this", "thread_local", "throw", "true", "try",
      "typedef", "typeid", "typename", "typeof", "typeof_unqual", "union", "unix", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq"};
  if (name.empty() || !is_letter(name.front())) { return false; }
  if (!std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); })) { return false; }
  const bool is_reserved = name.size() > 1 && name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
  auto begins = [&](std::initializer_list<std::string_view> all) { return std::any_of(all.begin(), all.end(), [&](std::string_view one) { return name.starts_with(one); }); };
  auto ends = [&](std::initializer_list<std::string_view> all) { return std::any_of(all.begin(), all.end(), [&](std::string_view one) { return name.ends_with(one); }); };
  // Types and limits of <stdint.h>, DLPack's names, macros of generated code.
  const bool is_of_header = (begins({"int", "uint"}) && ends({"_t"})) || begins({"kDL", "DLPACK_", "LS_"}) ||
                            (begins({"INT", "UINT", "SIZE_", "PTRDIFF_", "WCHAR_", "WINT_", "SIG_ATOMIC_"}) && ends({"_MAX", "_MIN", "_C"}));
  return std::find(std::begin(taken), std::end(taken), name) == std::end(taken) && !is_reserved && !is_of_header;
}

auto header(std::string_view library, const std::vector<Kernel>& kernels, bool packed) -> std::string {
  std::string out = fmt::format("/* {}: kernels made by Loopsmith. A function returns 0 when it is done; else loopsmith_last_error() returns the reason. */\n", library);
  out += fmt::format("#ifndef {0}\n#define {0}\n\n#include <stdint.h>\n\n{1}\n", guard(library), dlpack);
  out += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  out += "/* The reason of the last failure in this thread. */\nconst char* loopsmith_last_error(void);\n";
  if (const int device = kernels.empty() ? 1 : kernels.front().device_type; device != 1) {
    out += fmt::format("\n/* Tensors are in the memory of a device of {0}: their DLPack device type is {1}, and their data {2}. The kernels run on the device of the first\n"
                       "   tensor{3}. A call waits for them, unless this thread has chosen a stream ({4}; NULL: none). */\nvoid {5}_set_stream(void* stream);\n",
                       device == 4 ? "OpenCL" : "CUDA", device, device == 4 ? "a cl_mem" : "a device pointer", device == 4 ? "'s context" : "", device == 4 ? "cl_command_queue" : "CUstream", library);
  }
  for (const Kernel& kernel : kernels) {
    out += "\n/*";
    for (size_t i = 0; i < kernel.interface.parameters.size(); ++i) { out += fmt::format(" {}\n  ", describe(kernel.interface, i)); }
    while (out.back() == ' ' || out.back() == '\n') { out.pop_back(); }
    out += fmt::format(" */\nint32_t {}({});\n", kernel.name, parameters(kernel, false));
    if (packed) {
      out += fmt::format("/* The same for TVM's runtime: values, their type codes, their number. */\n"
                         "int32_t {}_packed(const void* args, const int32_t* codes, int32_t count, void* result, int32_t* result_code, void* resource);\n", kernel.name);
    }
  }
  out += "\n#ifdef __cplusplus\n}  /* extern \"C\" */\n\n#include <stdexcept>\n\nnamespace loopsmith {\n";
  for (const Kernel& kernel : kernels) {
    std::string call;
    for (size_t i = 0; i < kernel.interface.parameters.size(); ++i) {
      const codegen::Parameter& parameter = kernel.interface.parameters[i];
      call += fmt::format("{}{}{}", call.empty() ? "" : ", ", parameter.kind == codegen::Parameter::Kind::Buffer ? "&" : "", parameter_name(parameter, i));
    }
    out += fmt::format("\n/// Throws std::runtime_error where the C function gives a status.\ninline void {}({}) {{\n"
                       "  if (::{}({}) != 0) {{ throw std::runtime_error(loopsmith_last_error()); }}\n}}\n",
                       kernel.name, parameters(kernel, true), kernel.name, call);
  }
  out += fmt::format("\n}}  // namespace loopsmith\n#endif\n\n#endif  /* {} */\n", guard(library));
  return out;
}

}  // namespace loopsmith::artefact
