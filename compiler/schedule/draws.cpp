// Variables of a trace followed to their origin: see draws.h.
#include "schedule/draws.h"

#include <fmt/format.h>

#include "schedule/primitive.h"

namespace loopsmith::schedule {
namespace {

constexpr int deepest = 40;

auto numbers_of(const Value& value) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  if (const int64_t* number = value.integer()) { return {*number}; }
  if (const auto* list = value.as<Value::List>()) {
    for (const Value& one : *list) {
      const int64_t* number = one.integer();
      if (number == nullptr) { return {}; }
      out.push_back(*number);
    }
  }
  return out;
}

/// "GetLoops(GetBlock(C))[1]": a loop or block by the instructions that made it, without numbers of variables. Empty: the chain of instructions is too
auto path_of(const std::vector<const Instruction*>& all, const Value& variable, int depth) -> std::string {
  if (depth > deepest) { return {}; }
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    const Instruction& made = **one;
    for (size_t i = 0; i < made.outputs.size(); ++i) {
      if (!(made.outputs[i] == variable)) { continue; }
      std::string inputs;
      auto add = [&](const Value& value, auto&& self) -> bool {
        if (const auto* list = value.as<Value::List>()) {
          for (const Value& item : *list) { if (!self(item, self)) { return false; } }
          return true;
        }
        if (value.as<BlockRV>() != nullptr || value.as<LoopRV>() != nullptr) {
          std::string path = path_of(all, value, depth + 1);
          inputs += (inputs.empty() ? "" : ",") + path;
          return !path.empty();
        }
        if (const auto* text = value.as<std::string>(); text != nullptr && made.primitive->name == "get_block" && inputs.empty()) { inputs = *text; }
        return true;
      };
      for (const Value& value : made.values) { if (!add(value, add)) { return {}; } }
      return fmt::format("{}({})[{}]", made.primitive->kind, inputs, i);
    }
  }
  return {};
}

}  // namespace

auto draw_of(const Trace& trace, const Instruction& instruction) -> std::optional<Draw> {
  if (!instruction.primitive->is_sampling || instruction.values.empty()) { return std::nullopt; }
  Draw out{std::string(instruction.primitive->kind), {}, 0};
  if (instruction.primitive->name == "sample_categorical") {
    out.subject = fmt::format("{}", fmt::join(numbers_of(instruction.values[0]), ","));
    return out.subject.empty() ? std::nullopt : std::optional(out);
  }
  out.subject = path_of(trace.instructions(), instruction.values[0], 0);
  if (instruction.primitive->name != "sample_compute_location") { out.parts = instruction.outputs.size(); }
  return out.subject.empty() ? std::nullopt : std::optional(out);
}

auto value_of(const Trace& trace, const Draw& draw) -> std::vector<int64_t> {
  std::vector<const Instruction*> all = trace.instructions();
  for (const Instruction* one : all) {
    if (one->primitive->is_sampling && draw_of(trace, *one) == draw) {
      std::vector<int64_t> decided = numbers_of(one->decision);
      if (draw.kind != "SampleCategorical") { return decided; }
      std::vector<int64_t> candidates = numbers_of(one->values[0]);
      return decided.size() == 1 && decided[0] >= 0 && static_cast<size_t>(decided[0]) < candidates.size() ? std::vector<int64_t>{candidates[static_cast<size_t>(decided[0])]} : std::vector<int64_t>();
    }
    // Factors that were written, or drawn and kept as numbers.
    bool is_split = draw.parts > 0 && one->primitive->name == "split" && one->outputs.size() == draw.parts && one->values.size() > 1;
    if (!is_split || path_of(all, one->values[0], 0) != draw.subject) { continue; }
    if (std::vector<int64_t> factors = numbers_of(one->values[1]); factors.size() == draw.parts) { return factors; }
  }
  return {};
}

}  // namespace loopsmith::schedule
