// Prints a trace as a readable schedule function: see schedule_text.h. Variables are named after their loops and blocks. Replaying the trace, each time with
// one more step, finds these loops and blocks.
#include "workspace/edits/schedule_text.h"

#include <map>
#include <set>

#include "ir/printer.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "support/text.h"
#include "workspace/edits/placing.h"

namespace loopsmith::workspace {
namespace {

using schedule::Instruction;
using schedule::Primitive;
using schedule::Value;

// The names of the variables in the trace ("l12").
using Names = std::map<std::string, std::string>;

auto identifier(std::string_view name) -> std::string {
  static const std::set<std::string_view> used_by_schedules = {"sch", "T", "tir", "s_tir", "tvm", "ls"};
  std::string out = to_name(name);
  return is_python_keyword(out) || used_by_schedules.contains(out) ? out + "_" : out;
}

auto value_text(const Value& value, const Names& names) -> std::string {
  if (value.is_none()) { return "None"; }
  if (const auto* b = value.as<bool>()) { return *b ? "True" : "False"; }
  if (const auto* i = value.as<int64_t>()) { return std::to_string(*i); }
  if (const auto* d = value.as<double>()) { return float_text(*d); }
  if (const auto* s = value.as<std::string>()) { return string_text(*s); }
  if (const auto* items = value.as<Value::List>()) {
    std::string out = "[";
    for (size_t i = 0; i < items->size(); ++i) { out += (i ? ", " : "") + value_text((*items)[i], names); }
    return out + "]";
  }
  if (const auto* e = value.as<Expr>()) { return print_script(*e); }
  if (const auto* m = value.as<IndexMap>()) { return print_script(*m); }
  auto found = names.find(schedule::Schedule::name_of(value));
  return found == names.end() ? schedule::Schedule::name_of(value) : found->second;
}

auto line_text(const Instruction& instruction, const Names& names, const std::string& schedule) -> std::string {
  const Primitive& row = *instruction.primitive;
  std::string out;
  if (!instruction.outputs.empty()) {
    for (size_t i = 0; i < instruction.outputs.size(); ++i) { out += (i ? ", " : "") + value_text(instruction.outputs[i], names); }
    bool is_list = row.output == schedule::OutputKind::Loops || row.output == schedule::OutputKind::Blocks || row.output == schedule::OutputKind::Exprs;
    if (is_list && instruction.outputs.size() == 1) { out += ","; }
    out += " = ";
  }
  out += schedule + "." + std::string(row.name) + "(";
  bool first = true;
  bool positional = true;
  for (size_t i = 0; i < row.params.size() && i < instruction.values.size(); ++i) {
    const schedule::Param& p = row.params[i];
    Value value = p.role == schedule::Role::Decision ? instruction.decision : instruction.values[i];
    if (p.role == schedule::Role::Decision && value.is_none()) { continue; }
    // Traces write truth values as 0 and 1.
    if (p.kind == schedule::ValueKind::Bool) {
      if (const int64_t* number = value.integer()) { value = Value(*number != 0); }
    }
    if (p.otherwise && *p.otherwise == value) { positional = false; continue; }
    // `main` is the default function.
    if (p.name == "func_name" && value == Value("main")) { positional = false; continue; }
    const auto* items = value.as<Value::List>();
    if (p.is_variadic && items) {
      for (const Value& item : *items) {
        out += (first ? "" : ", ") + value_text(item, names);
        first = false;
      }
      continue;
    }
    bool by_name = !positional || p.role != schedule::Role::Input || p.is_spliced;
    out += (first ? "" : ", ") + (by_name ? std::string(p.name) + "=" : std::string()) + value_text(value, names);
    first = false;
    if (by_name) { positional = false; }
  }
  return out + ")";
}

// The statements, each on its line; empty: the trace has no step.
auto statements(const IRModule& module, const std::string& trace_json, const ScheduleText& text) -> Result<std::string> {
  LOOPSMITH_TRY(trace, schedule::trace_from_json(trace_json));
  // A person reads numbers, and a schedule that samples is a space for `tune`. Then removes look-ups whose results no step uses.
  trace = trace.decided().simplified(/*remove_postproc=*/false);
  Names names;
  std::set<std::string> taken = text.taken;
  // A variable with the program's name would hide the program in the function.
  taken.insert(text.program);
  std::vector<std::pair<Value, std::string>> loops;   // variables that have a name so far
  std::string body;
  schedule::Trace prefix;
  for (const Instruction* instruction : trace.instructions()) {
    prefix.append(*instruction);
    schedule::Schedule sch(module, 1);
    sch.use_intrinsics(text.intrinsics);
    LOOPSMITH_CHECK(sch.replay(prefix));
    const Instruction& done = sch.trace().last();
    for (size_t i = 0; i < instruction->outputs.size() && i < done.outputs.size(); ++i) {
      std::string base;
      std::string name;
      if (const auto* loop = done.outputs[i].as<schedule::LoopRV>()) {
        auto place = sch.get(*loop);
        base = place.ok() ? identifier((*place)->name().view()) : "loop";
        // A loop that is looked up again keeps its variable's name.
        for (const auto& [known, known_name] : loops) {
          auto other = sch.get(*known.as<schedule::LoopRV>());
          if (place.ok() && other.ok() && (*other)->id == (*place)->id) { name = known_name; }
        }
        if (name.empty()) { loops.emplace_back(done.outputs[i], std::string()); }
      } else if (const auto* block = done.outputs[i].as<schedule::BlockRV>()) {
        auto place = sch.get(*block);
        base = place.ok() ? identifier((*place)->name().view()) : "block";
      } else {
        base = "choice";
      }
      if (name.empty()) {
        name = base;
        for (int n = 2; taken.contains(name); ++n) { name = base + "_" + std::to_string(n); }
        taken.insert(name);
        if (!loops.empty() && loops.back().second.empty()) { loops.back().second = name; }
      }
      names[schedule::Schedule::name_of(instruction->outputs[i])] = name;
    }
    // Writes the same look-up twice in a row only once.
    std::string line = line_text(*instruction, names, text.schedule) + "\n";
    if (!body.ends_with("\n" + line) && body != line) { body += line; }
  }
  return body;
}

}  // namespace

auto schedule_statements_text(const IRModule& module, const std::string& trace_json, const ScheduleText& text) -> Result<std::string> {
  LOOPSMITH_TRY(body, statements(module, trace_json, text));
  std::string out;
  for (const std::string& comment : text.comments) { out += "# " + comment + "\n"; }
  out += body.empty() ? "pass\n" : body;
  out.pop_back();
  return out;
}

auto schedule_function_text(const IRModule& module, const std::string& trace_json, const ScheduleText& text) -> Result<std::string> {
  LOOPSMITH_TRY(lines, schedule_statements_text(module, trace_json, text));
  return schedule_function({.program = text.program, .name = text.name, .target = text.target, .body = lines + "\n"});
}

}  // namespace loopsmith::workspace
