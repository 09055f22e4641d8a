// Sizes as slots of an interface: see sizes.h.
#include "codegen/sizes.h"

#include <algorithm>

#include "ir/ops.h"

namespace loopsmith::codegen {

auto is_size(const Interface& interface, size_t slot) -> bool {
  auto uses_slot = [&](const Formula& formula) {
    return std::any_of(formula.steps.begin(), formula.steps.end(), [&](const Formula::Step& step) { return step.op == Formula::Op::Slot && step.value == static_cast<int64_t>(slot); });
  };
  const auto& buffers = interface.sizes.buffers;
  return std::any_of(buffers.begin(), buffers.end(), [&](const BufferSizes& buffer) { return std::any_of(buffer.shape.begin(), buffer.shape.end(), uses_slot); });
}

auto size_names(const PrimFunc& func) -> std::vector<std::string> {
  // Most programs have numbers for shapes, and an interface costs a walk over the whole program.
  const bool is_open = std::any_of(func->buffer_map.begin(), func->buffer_map.end(), [](const auto& entry) {
    return std::any_of(entry.second->shape.begin(), entry.second->shape.end(), [](const Expr& e) { return !as_int(e); });
  });
  if (!is_open) { return {}; }
  const Interface interface = interface_of(func, "");
  std::vector<std::string> out;
  for (size_t i = 0; i < interface.parameters.size(); ++i) {
    if (interface.parameters[i].kind == Parameter::Kind::Scalar && is_size(interface, i)) { out.push_back(interface.parameters[i].name); }
  }
  for (size_t i = 0; i < interface.shape_variables.size(); ++i) {
    if (is_size(interface, interface.parameters.size() + i)) { out.push_back(interface.shape_variables[i]); }
  }
  return out;
}

}  // namespace loopsmith::codegen
