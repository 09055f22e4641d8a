// Checking and making arguments, and calling: see jit.h. Knows no LLVM.
#include <fmt/format.h>

#include <cstring>

#include "runtime/jit.h"
#include "runtime/threads.h"
#include "support/codes.h"

namespace loopsmith::runtime {
namespace {

using codegen::Argument;
using codegen::Dimension;
using codegen::Interface;
using codegen::Parameter;

auto shape_text(const Interface& interface, const Parameter& parameter) -> std::string {
  std::vector<std::string> dims;
  for (const Dimension& d : parameter.shape) {
    if (d.kind == Dimension::Kind::Constant) { dims.push_back(fmt::format("{}", d.value)); }
    else if (d.kind == Dimension::Kind::Computed || d.slot < 0) { dims.emplace_back("?"); }
    else if (static_cast<size_t>(d.slot) < interface.parameters.size()) { dims.push_back(interface.parameters[static_cast<size_t>(d.slot)].name); }
    else { dims.push_back(interface.shape_variables[static_cast<size_t>(d.slot) - interface.parameters.size()]); }
  }
  return fmt::format("shape ({}{})", fmt::join(dims, ", "), dims.size() == 1 ? "," : "");
}

auto view_of(const Value& value) -> std::optional<TensorView> {
  if (const auto* tensor = std::get_if<const Tensor*>(&value)) { return *tensor != nullptr ? std::optional((*tensor)->view()) : std::nullopt; }
  if (const auto* view = std::get_if<TensorView>(&value)) { return *view; }
  return {};
}

auto kind_text(const Value& value) -> std::string {
  if (std::holds_alternative<const Tensor*>(value) || std::holds_alternative<TensorView>(value)) { return "a tensor"; }
  return std::holds_alternative<int64_t>(value) ? "an integer" : "a real number";
}

}  // namespace

auto bind_arguments(const Interface& interface, std::span<const Value> arguments) -> Result<std::vector<Argument>> {
  const size_t count = interface.parameters.size();
  if (arguments.size() != count) {
    return error(Code::ArgumentCount).arg("function", interface.name).arg("expected", static_cast<int64_t>(count)).arg("found", static_cast<int64_t>(arguments.size()));
  }
  auto mismatch = [&](const std::string& name, std::string expected, std::string found) {
    return error(Code::ArgumentMismatch).arg("argument", name).arg("function", interface.name).arg("expected", expected).arg("found", found);
  };
  std::vector<Argument> slots(interface.slots(), Argument{.integer = 0});
  std::vector<bool> known(interface.slots(), false);
  // Scalars come first: shapes may use them.
  for (size_t i = 0; i < count; ++i) {
    const Parameter& p = interface.parameters[i];
    if (p.kind != Parameter::Kind::Scalar) { continue; }
    const auto* integer = std::get_if<int64_t>(&arguments[i]);
    const auto* number = std::get_if<double>(&arguments[i]);
    if (p.dtype.is_real()) {
      if (integer == nullptr && number == nullptr) { return mismatch(p.name, "a number", kind_text(arguments[i])); }
      slots[i].real = number != nullptr ? *number : static_cast<double>(*integer);
    } else {
      if (integer == nullptr) { return mismatch(p.name, "an integer", kind_text(arguments[i])); }
      if (p.dtype.bits < 64) {
        int64_t low = p.dtype.is_uint() ? 0 : -(int64_t(1) << (p.dtype.bits - 1));
        int64_t high = p.dtype.is_uint() ? (int64_t(1) << p.dtype.bits) - 1 : (int64_t(1) << (p.dtype.bits - 1)) - 1;
        if (*integer < low || *integer > high) { return mismatch(p.name, fmt::format("a value of `{}`", p.dtype.str()), fmt::format("{}", *integer)); }
      }
      slots[i].integer = *integer;
    }
    known[i] = true;
  }
  for (size_t i = 0; i < count; ++i) {
    const Parameter& p = interface.parameters[i];
    if (p.kind == Parameter::Kind::Scalar) { continue; }
    auto given = view_of(arguments[i]);
    if (!given) { return mismatch(p.name, "a tensor", kind_text(arguments[i])); }
    const TensorView& tensor = *given;
    slots[i].data = tensor.data;
    if (p.kind == Parameter::Kind::Pointer) { continue; }
    if (tensor.dtype != p.dtype) {
      return mismatch(p.name, fmt::format("elements of `{}`", p.dtype.str()), fmt::format("`{}`", tensor.dtype.str()));
    }
    if (tensor.shape.size() != p.shape.size()) { return mismatch(p.name, shape_text(interface, p), fmt::format("({})", fmt::join(tensor.shape, ", "))); }
    for (size_t d = 0; d < p.shape.size(); ++d) {
      const Dimension& dim = p.shape[d];
      int64_t size = tensor.shape[d];
      auto wrong = [&]() -> Diagnostic {
        return mismatch(p.name, shape_text(interface, p), fmt::format("({}{})", fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : ""));
      };
      if (dim.kind == Dimension::Kind::Constant && dim.value != size) { return wrong(); }
      if (dim.kind != Dimension::Kind::Variable || dim.slot < 0) { continue; }
      auto slot = static_cast<size_t>(dim.slot);
      if (known[slot] && slots[slot].integer != size) {
        return std::move(wrong()).note({}, fmt::format("elsewhere that size is {}", slots[slot].integer));
      }
      slots[slot].integer = size;
      known[slot] = true;
    }
    if (reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uintptr_t>(p.alignment) != 0) {
      return mismatch(p.name, fmt::format("memory aligned to {} bytes", p.alignment), "other");
    }
  }
  for (size_t i = 0; i < interface.shape_variables.size(); ++i) {
    if (!known[count + i]) {
      return mismatch(interface.shape_variables[i], "a value that some tensor's shape gives", "none");
    }
  }
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      const Parameter& p = interface.parameters[i];
      const Parameter& q = interface.parameters[j];
      if (i == j || !p.is_written || p.kind == Parameter::Kind::Scalar || q.kind == Parameter::Kind::Scalar || (q.is_written && j < i)) { continue; }
      auto a0 = reinterpret_cast<uintptr_t>(slots[i].data);
      auto b0 = reinterpret_cast<uintptr_t>(slots[j].data);
      auto a1 = a0 + static_cast<uintptr_t>(view_of(arguments[i])->bytes());
      auto b1 = b0 + static_cast<uintptr_t>(view_of(arguments[j])->bytes());
      if (a0 < b1 && b0 < a1) {
        return error(Code::ArgumentsOverlap).arg("first", p.name).arg("second", q.name).arg("function", interface.name);
      }
    }
  }
  return slots;
}

auto invoke(const JitFunction& function, const std::vector<Argument>& slots) -> Status {
  ThreadsScope scope(function.threads);
  if (int32_t code = function.entry(slots.data()); code != 0) {
    std::string why = last_error().empty() ? fmt::format("it returned {}", code) : last_error();
    clear_error();
    return error(Code::KernelFailed).arg("function", function.interface.name).arg("why", why);
  }
  return ok();
}

auto call(const JitFunction& function, std::span<const Value> arguments) -> Status {
  LOOPSMITH_TRY(slots, bind_arguments(function.interface, arguments));
  return invoke(function, slots);
}

auto make_arguments(const Interface& interface, std::span<const int64_t> sizes, uint64_t seed, Fill fill) -> Result<Arguments> {
  Arguments out;
  const size_t count = interface.parameters.size();
  if (sizes.size() != interface.shape_variables.size()) {
    return error(Code::ArgumentCount).arg("function", fmt::format("{}'s shape variables", interface.name))
        .arg("expected", static_cast<int64_t>(interface.shape_variables.size())).arg("found", static_cast<int64_t>(sizes.size()));
  }
  std::vector<size_t> place(count, 0);
  for (size_t i = 0; i < count; ++i) {
    const Parameter& p = interface.parameters[i];
    if (p.kind == Parameter::Kind::Scalar) { continue; }
    std::vector<int64_t> shape;
    for (const Dimension& d : p.shape) {
      if (d.kind == Dimension::Kind::Constant) { shape.push_back(d.value); continue; }
      if (d.kind == Dimension::Kind::Variable && d.slot >= static_cast<int>(count)) { shape.push_back(sizes[static_cast<size_t>(d.slot) - count]); continue; }
      if (d.kind == Dimension::Kind::Variable && d.slot >= 0) { shape.push_back(1); continue; }   // a scalar parameter, which is 1
      return error(Code::ArgumentMismatch).arg("argument", p.name).arg("function", interface.name)
          .arg("expected", "a shape of constants and variables").arg("found", "a computed one; give the tensors yourself");
    }
    place[i] = out.tensors.size();
    LOOPSMITH_TRY(tensor, Tensor::random(p.kind == Parameter::Kind::Pointer ? DataType::uint(8) : p.dtype, shape, seed + i, fill));
    out.tensors.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < count; ++i) {
    const Parameter& p = interface.parameters[i];
    if (p.kind == Parameter::Kind::Scalar) { out.values.emplace_back(int64_t(1)); } else { out.values.emplace_back(&out.tensors[place[i]]); }
  }
  return out;
}

}  // namespace loopsmith::runtime
