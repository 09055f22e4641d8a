// Checks and makes arguments, and calls functions: see jit.h. Does not use LLVM.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/jit.h"
#include "codegen/sizes.h"
#include "runtime/threads.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::runtime {
namespace {

using codegen::Argument;
using codegen::Interface;
using codegen::Parameter;

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
  std::vector<std::optional<int64_t>> known(interface.slots());
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
      known[i] = slots[i].integer = *integer;
    }
  }
  std::vector<GivenTensor> given(count);
  for (size_t i = 0; i < count; ++i) {
    const Parameter& p = interface.parameters[i];
    if (p.kind == Parameter::Kind::Scalar) { continue; }
    auto view = view_of(arguments[i]);
    if (!view) { return mismatch(p.name, "a tensor", kind_text(arguments[i])); }
    const TensorView& tensor = *view;
    slots[i].data = tensor.data;
    if (p.kind == Parameter::Kind::Pointer) { continue; }
    if (tensor.dtype != p.dtype) {
      return mismatch(p.name, fmt::format("elements of `{}`", p.dtype.str()), fmt::format("`{}`", tensor.dtype.str()));
    }
    if (tensor.shape.size() != p.shape.size()) { return mismatch(p.name, "shape " + codegen::shape_text(interface, i), fmt::format("({})", fmt::join(tensor.shape, ", "))); }
    given[i].shape = tensor.shape;
    if (reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uintptr_t>(p.alignment) != 0) {
      return mismatch(p.name, fmt::format("memory aligned to {} bytes", p.alignment), "other");
    }
  }
  std::vector<const GivenTensor*> tensors;
  for (const BufferSizes& buffer : interface.sizes.buffers) {
    // The form of a shape is unknown if it contains calls.
    if (std::any_of(buffer.shape.begin(), buffer.shape.end(), [](const Formula& f) { return !f.is_known(); })) { return mismatch(buffer.name, "a shape that can be checked", codegen::shape_text(interface, buffer.parameter)); }
  }
  for (const BufferSizes& buffer : interface.sizes.buffers) { tensors.push_back(&given[buffer.parameter]); }
  if (auto misfit = solve(interface.sizes, known, tensors)) {
    std::string name = misfit->buffer < interface.sizes.buffers.size() ? interface.sizes.buffers[misfit->buffer].name : interface.shape_variables[misfit->variable];
    Diagnostic d = mismatch(name, misfit->expected, misfit->found);
    return misfit->note.empty() ? std::move(d) : std::move(d).note({}, misfit->note);
  }
  for (size_t i = count; i < slots.size(); ++i) { slots[i].integer = known[i].value_or(0); }
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
    std::string why = last_error().empty() ? because(Why::ReturnedStatus).arg("status", code).text() : last_error();
    clear_error();
    return error(Code::KernelFailed).arg("function", function.interface.name).arg("reason", why);
  }
  return ok();
}

auto call(const JitFunction& function, std::span<const Value> arguments) -> Status {
  LOOPSMITH_TRY(slots, bind_arguments(function.interface, arguments));
  return invoke(function, slots);
}

auto make_arguments(const Interface& interface, std::span<const int64_t> sizes, uint64_t seed, Fill fill, std::span<const Tensor* const> contents,
                    std::span<const Value> scalars) -> Result<Arguments> {
  Arguments out;
  const size_t count = interface.parameters.size();
  if (sizes.size() != interface.shape_variables.size()) {
    return error(Code::ArgumentCount).arg("function", fmt::format("{}'s shape variables", interface.name))
        .arg("expected", static_cast<int64_t>(interface.shape_variables.size())).arg("found", static_cast<int64_t>(sizes.size()));
  }
  std::vector<std::optional<int64_t>> slots(interface.slots());
  std::vector<Value> numbers(count, int64_t{1});
  for (size_t i = 0; i < count; ++i) {
    if (interface.parameters[i].kind != Parameter::Kind::Scalar) { continue; }
    if (i < scalars.size()) { numbers[i] = scalars[i]; } else if (codegen::is_size(interface, i)) { numbers[i] = usual_size; }
    const auto* integer = std::get_if<int64_t>(&numbers[i]);
    slots[i] = integer ? *integer : 1;
  }
  for (size_t i = 0; i < sizes.size(); ++i) { slots[count + i] = sizes[i]; }
  std::vector<size_t> place(count, 0);
  for (size_t i = 0; i < count; ++i) {
    const Parameter& p = interface.parameters[i];
    if (p.kind == Parameter::Kind::Scalar) { continue; }
    auto shape = p.kind == Parameter::Kind::Buffer ? codegen::shape_of(interface, i, slots) : std::vector<int64_t>();
    if (!shape) {
      return error(Code::ArgumentMismatch).arg("argument", p.name).arg("function", interface.name)
          .arg("expected", "shape " + codegen::shape_text(interface, i)).arg("found", "a negative or unknown extent for these sizes");
    }
    place[i] = out.tensors.size();
    if (i < contents.size() && contents[i] != nullptr) {
      LOOPSMITH_TRY(copied, contents[i]->copy());
      out.tensors.push_back(std::move(copied));
      continue;
    }
    LOOPSMITH_TRY(tensor, Tensor::random(p.kind == Parameter::Kind::Pointer ? DataType::uint(8) : p.dtype, std::move(*shape), seed + i, fill));
    if (p.is_unknown_index) {
      return error(Code::ArgumentMismatch).arg("argument", p.name).arg("function", interface.name)
          .arg("expected", "elements that are valid indices").arg("found", "no known range for them").remedy(fmt::format("give its contents: `--arg {}=FILE.npy`", p.name));
    }
    if (auto range = codegen::index_range(interface, i, slots)) { tensor.fill_range(range->first, range->last, seed + i); }
    out.tensors.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < count; ++i) {
    const Parameter& p = interface.parameters[i];
    if (p.kind == Parameter::Kind::Scalar) { out.values.push_back(numbers[i]); } else { out.values.emplace_back(&out.tensors[place[i]]); }
  }
  return out;
}

}  // namespace loopsmith::runtime
