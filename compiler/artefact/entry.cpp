// Prints the C source of the entries: a table of the parameters' types and shapes, and one call. See artefact.h.
#include <fmt/format.h>

#include "artefact/artefact.h"

namespace loopsmith::artefact {
namespace {

auto literal(std::string_view text) -> std::string {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') { out += '\\'; }
    if (c == '\n') { out += "\\n"; continue; }
    out += c;
  }
  return out + "\"";
}

auto formula_text(const Formula& formula) -> std::string {
  std::string steps;
  for (const Formula::Step& step : formula.steps) {
    // C has no literal for the smallest number.
    std::string value = step.value == INT64_MIN ? "INT64_MIN" : std::to_string(step.value) + "LL";
    steps += fmt::format("{}{{{}, {}}}", steps.empty() ? "" : ", ", static_cast<int>(step.op), value);
  }
  return fmt::format("{{(const ls_step[]){{{}}}, {}}}", steps, formula.steps.size());
}
auto formulas_text(const std::vector<Formula>& formulas) -> std::string {
  if (formulas.empty()) { return "NULL"; }
  std::string out;
  for (const Formula& formula : formulas) { out += (out.empty() ? "" : ", ") + formula_text(formula); }
  return fmt::format("(const ls_formula[]){{{}}}", out);
}

/// The smallest and the largest value of an integer type, in C.
auto range_text(DataType type) -> std::string {
  if (!type.is_integral() || type.bits >= 64) { return "INT64_MIN, INT64_MAX"; }
  if (type.is_bool()) { return "0, 1"; }
  int64_t power = int64_t(1) << (type.bits - (type.is_uint() ? 0 : 1));
  return fmt::format("{}LL, {}LL", type.is_uint() ? 0 : -power, power - 1);
}

auto buffer_row(const codegen::Parameter& parameter, const BufferSizes& sizes, int device) -> std::string {
  return fmt::format("  {{{}, 0, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, 0, 0, {}}},\n", literal(parameter.name), codegen::dlpack_code(parameter.dtype),
                     parameter.dtype.is_bool() ? 8 : parameter.dtype.bits, parameter.dtype.lanes, parameter.shape.size(), parameter.alignment, parameter.is_written ? 1 : 0,
                     parameter.dtype.element_bytes() * parameter.dtype.lanes, formulas_text(sizes.shape), formulas_text(sizes.strides),
                     sizes.offset ? formulas_text({*sizes.offset}) : "NULL", device);
}

void add_entry(std::string& out, const Kernel& kernel) {
  const auto& parameters = kernel.interface.parameters;
  const Sizes& sizes = kernel.interface.sizes;
  std::string table;
  std::string signature;
  std::string given;
  auto buffer = sizes.buffers.begin();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const codegen::Parameter& parameter = parameters[i];
    const bool is_scalar = parameter.kind == codegen::Parameter::Kind::Scalar, is_real = is_scalar && parameter.dtype.is_real();
    const char* type = parameter.kind == codegen::Parameter::Kind::Buffer ? "DLTensor* " : !is_scalar ? "void* " : is_real ? "double " : "int64_t ";
    signature += fmt::format("{}{}p{}", signature.empty() ? "" : ", ", type, i);
    given += fmt::format("  given[{0}].{1} = p{0};\n", i, !is_scalar ? "data" : is_real ? "real" : "integer");
    if (parameter.kind == codegen::Parameter::Kind::Buffer) {
      table += buffer_row(parameter, *buffer++, kernel.device_type);
    } else {
      table += fmt::format("  {{{}, 1, 0, 64, 1, 0, 1, 0, 8, NULL, NULL, NULL, {}, 1}},\n", literal(parameter.name), is_scalar ? range_text(parameter.dtype) : "INT64_MIN, INT64_MAX");
    }
  }
  size_t slots = kernel.interface.slots();
  size_t size = slots > 0 ? slots : 1;
  out += fmt::format("extern int32_t {}(const ls_argument* arguments);\n", kernel.symbol);
  for (size_t i = 0; i < kernel.variants.size(); ++i) {
    // A variant for several sizes stands there several times.
    const bool is_again = i > 0 && kernel.variants[i].symbol == kernel.variants[i - 1].symbol;
    if (!is_again) { out += fmt::format("extern int32_t {}(const ls_argument* arguments);\n", kernel.variants[i].symbol); }
  }
  if (!parameters.empty()) { out += fmt::format("static const ls_parameter {}_parameters[] = {{\n{}}};\n", kernel.name, table); }
  std::string variables;
  for (const Sizes::Variable& variable : sizes.variables) { variables += fmt::format("{{{}, {}}}, ", literal(variable.name), range_text(variable.type)); }
  out += fmt::format("static const ls_variable {}_variables[] = {{{}{{NULL, 0, 0}}}};\n", kernel.name, variables);
  out += fmt::format("LS_API int32_t {}({}) {{\n  ls_argument given[{}];\n  ls_argument slots[{}];\n  char is_known[{}];\n{}", kernel.name,
                     signature.empty() ? "void" : signature, parameters.empty() ? 1 : parameters.size(), size, size, given);
  out += fmt::format("  int32_t status = loopsmith_bind_sizes({}, {}, {}, {}_variables, {}, given, slots, is_known);\n", literal(kernel.name),
                     parameters.empty() ? "NULL" : kernel.name + "_parameters", parameters.size(), kernel.name, slots);
  if (!kernel.variants.empty()) { out += "  if (status != 0) { return status; }\n"; }
  for (const Variant& variant : kernel.variants) {
    std::string fits;
    for (auto [slot, value] : variant.sizes) { fits += fmt::format("{}slots[{}].integer == {}LL", fits.empty() ? "" : " && ", slot, value); }
    out += fmt::format("  if ({}) {{ return {}(slots); }}\n", fits, variant.symbol);
  }
  out += fmt::format("  return status != 0 ? status : {}(slots);\n}}\n\n", kernel.symbol);
}

/// Type codes of TVM's C API: 0 int, 1 uint, 2 float, 3 pointer, 7 DLTensor, 13 NDArray (which begins with a DLTensor), 15 bool.
constexpr std::string_view packed_support = R"(#include <stdio.h>
#if defined(__ELF__)
/* Of TVM's runtime, where the process has one. */
extern void TVMAPISetLastError(const char* text) __attribute__((weak));
#endif
static int32_t ls_packed_status(int32_t status) {
#if defined(__ELF__)
  if (status != 0 && TVMAPISetLastError) { TVMAPISetLastError(loopsmith_last_error()); }
#endif
  return status != 0 ? -1 : 0;
}
static int32_t ls_packed_refuse(const char* function, const char* argument, const char* wanted, int32_t found) {
  char text[256];
  snprintf(text, sizeof text, "%s: %s%s%s, found %s %d", function, argument, argument[0] ? " should be " : "", wanted, argument[0] ? "type code" : "are given:", (int)found);
  loopsmith_set_error(text);
  return ls_packed_status(1);
}

)";

void add_packed_entry(std::string& out, const Kernel& kernel) {
  const auto& parameters = kernel.interface.parameters;
  out += fmt::format("LS_API int32_t {}_packed(const ls_argument* args, const int32_t* codes, int32_t count, ls_argument* result, int32_t* result_code, void* resource) {{\n"
                     "  (void)args; (void)codes; (void)result; (void)resource;\n"
                     "  if (result_code) {{ *result_code = 4; }}   /* nothing is given back */\n"
                     "  if (count != {}) {{ return ls_packed_refuse({}, \"\", \"{} arguments are taken\", count); }}\n",
                     kernel.name, parameters.size(), literal(kernel.name), parameters.size());
  std::string given;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const codegen::Parameter& parameter = parameters[i];
    bool is_real = parameter.kind == codegen::Parameter::Kind::Scalar && parameter.dtype.is_real();
    const char* fits = parameter.kind == codegen::Parameter::Kind::Buffer    ? "codes[{0}] == 7 || codes[{0}] == 13"
                       : parameter.kind == codegen::Parameter::Kind::Pointer ? "codes[{0}] == 3 || codes[{0}] == 4"
                       : is_real                                             ? "codes[{0}] == 2 || codes[{0}] == 0"
                                                                             : "codes[{0}] == 0 || codes[{0}] == 1 || codes[{0}] == 15";
    const char* wanted = parameter.kind == codegen::Parameter::Kind::Buffer    ? "a tensor"
                         : parameter.kind == codegen::Parameter::Kind::Pointer ? "a pointer"
                         : is_real                                             ? "a number"
                                                                               : "an integer";
    out += fmt::format("  if (!({})) {{ return ls_packed_refuse({}, {}, {}, codes[{}]); }}\n", fmt::format(fmt::runtime(fits), i), literal(kernel.name),
                       literal(parameter.name), literal(wanted), i);
    given += given.empty() ? "" : ", ";
    if (parameter.kind == codegen::Parameter::Kind::Buffer) { given += fmt::format("(DLTensor*)args[{}].data", i); }
    else if (parameter.kind == codegen::Parameter::Kind::Pointer) { given += fmt::format("args[{}].data", i); }
    else if (is_real) { given += fmt::format("codes[{0}] == 2 ? args[{0}].real : (double)args[{0}].integer", i); }
    else { given += fmt::format("args[{}].integer", i); }
  }
  out += fmt::format("  return ls_packed_status({}({}));\n}}\n\n", kernel.name, given);
}

}  // namespace

auto entries(std::string_view library, const std::vector<Kernel>& kernels, bool packed) -> std::string {
  std::string out = fmt::format("/* Entries of {}: see {}.h. */\n#include \"loopsmith_support.h\"\n\n", library, library);
  if (packed) { out += packed_support; }
  for (const Kernel& kernel : kernels) {
    add_entry(out, kernel);
    if (packed) { add_packed_entry(out, kernel); }
  }
  return out;
}

}  // namespace loopsmith::artefact
