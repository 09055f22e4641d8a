// The parts of a recurrence: see scan_parts.h.
#include "frontend/te/scan_parts.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace loopsmith::frontend::te {

auto scan_parts(const std::vector<Ref<Operation>>& init, const std::vector<Ref<Operation>>& update, const std::vector<Buffer>& state) -> ScanParts {
  auto contains = [](const auto& list, const auto& one) { return std::find(list.begin(), list.end(), one) != list.end(); };
  // True for an operation that reads a state, directly or through others.
  std::unordered_map<const Operation*, bool> known;
  std::function<bool(const Ref<Operation>&)> reads_state = [&](const Ref<Operation>& op) -> bool {
    if (op->kind == Operation::Kind::Placeholder) { return contains(state, op->outputs[0]); }
    if (auto found = known.find(op.get()); found != known.end()) { return found->second; }
    bool reads = false;
    for (const Ref<Operation>& input : op->inputs) { reads = reads_state(input) || reads; }
    return known[op.get()] = reads;
  };
  ScanParts out;
  std::function<void(const Ref<Operation>&)> visit = [&](const Ref<Operation>& op) {
    if (contains(out.inner, op)) { return; }
    for (const Ref<Operation>& input : op->inputs) {
      if (input->kind == Operation::Kind::Placeholder && contains(state, input->outputs[0])) { continue; }
      if (reads_state(input) || contains(update, input)) { visit(input); }
      else if (!contains(out.inputs, input)) { out.inputs.push_back(input); }
    }
    out.inner.push_back(op);
  };
  for (const Ref<Operation>& op : init) {
    for (const Ref<Operation>& input : op->inputs) { if (!contains(out.inputs, input)) { out.inputs.push_back(input); } }
  }
  for (const Ref<Operation>& op : update) { visit(op); }
  return out;
}

}  // namespace loopsmith::frontend::te
