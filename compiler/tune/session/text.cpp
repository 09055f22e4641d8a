// From a trace to a readable schedule function: see text.h. Variables are named after the loops and blocks they stand for,
// which is found out by replaying the trace, a step more each time.
#include "tune/session/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ctime>
#include <map>
#include <set>

#include "ir/equal.h"
#include "ir/printer.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"

namespace loopsmith::tune {
namespace {

using schedule::Instruction;
using schedule::Primitive;
using schedule::Value;

// Names by the text of the variable in the trace ("l12").
using Names = std::map<std::string, std::string>;

auto identifier(std::string_view name) -> std::string {
  static const std::set<std::string_view> reserved = {"and", "as", "assert", "break", "class", "continue", "def", "del", "elif", "else",
      "for", "from", "global", "if", "import", "in", "is", "lambda", "not", "or", "pass", "return", "try", "while", "with", "yield",
      "None", "True", "False", "sch", "T", "tir", "s_tir", "tvm", "ls"};
  std::string out;
  for (char c : name) { out += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_'; }
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) { out = "v" + out; }
  return reserved.contains(out) ? out + "_" : out;
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
    // Where there is one program, naming it says nothing.
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

// The statements, each on its line; empty where there is none.
auto statements(const IRModule& module, const std::string& trace_json, const ScheduleText& text) -> Result<std::string> {
  LOOPSMITH_TRY(trace, schedule::trace_from_json(trace_json));
  // Look-ups that nothing uses are left out.
  trace = trace.simplified(/*remove_postproc=*/false);
  Names names;
  std::set<std::string> taken = text.taken;
  // A variable of that name would be meant where the function names its program.
  taken.insert(text.program);
  std::vector<std::pair<Value, std::string>> loops;   // variables named so far
  std::string body;
  schedule::Trace prefix;
  for (const Instruction* instruction : trace.instructions()) {
    prefix.append(*instruction);
    schedule::Schedule sch(module, 1);
    LOOPSMITH_CHECK(sch.replay(prefix));
    const Instruction& done = sch.trace().last();
    for (size_t i = 0; i < instruction->outputs.size() && i < done.outputs.size(); ++i) {
      std::string base;
      std::string name;
      if (const auto* loop = done.outputs[i].as<schedule::LoopRV>()) {
        auto place = sch.get(*loop);
        base = place.ok() ? identifier((*place)->name().view()) : "loop";
        // A loop that is looked up again keeps its name.
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
    // Looking the same loops up twice in a row says nothing.
    std::string line = line_text(*instruction, names, text.schedule) + "\n";
    if (!body.ends_with("\n" + line) && body != line) { body += line; }
  }
  return body;
}

auto indented(const std::string& lines) -> std::string {
  std::string out;
  for (size_t at = 0; at < lines.size();) {
    size_t end = lines.find('\n', at) + 1;
    out += "    " + lines.substr(at, end - at);
    at = end;
  }
  return out;
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
  LOOPSMITH_TRY(body, statements(module, trace_json, text));
  std::string out = "@ls.schedule(" + text.program + (text.target.empty() ? "" : ", target=" + string_text(text.target)) + ")\n";
  out += "def " + text.name + "(sch: tir.Schedule) -> None:\n";
  for (const std::string& comment : text.comments) { out += "    # " + comment + "\n"; }
  out += body.empty() ? "    pass\n" : indented(body);
  return out;
}

namespace {
constexpr std::string_view program_word = "# Program ";
constexpr std::string_view scheduled_word = ", scheduled ";
}  // namespace

auto certificate_of(const IRModule& module, Name function, const std::string& trace) -> std::optional<Certificate> {
  auto read = schedule::trace_from_json(trace);
  schedule::Schedule again(module, 1);
  if (!read.ok() || !again.work_on(function).ok() || !again.replay(*read).ok()) { return std::nullopt; }
  return Certificate{structural_hash(module), structural_hash(again.module())};
}

auto certificate_text(const std::optional<Certificate>& certificate, const Timed& timed) -> std::string {
  std::tm day{};
  auto time = static_cast<std::time_t>(timed.unix_time);
  ::gmtime_r(&time, &day);
  std::string hashes = certificate ? fmt::format("{}{:016x}{}{:016x}; ", program_word.substr(2), certificate->program, scheduled_word, certificate->scheduled) : "";
  return fmt::format("{}{}; +-{:.1f}%, {} timing{}; Loopsmith {}; {:04}-{:02}-{:02}", hashes, timed.target, timed.seconds > 0 ? timed.spread_seconds / timed.seconds * 100 : 0, timed.timings,
                     timed.timings == 1 ? "" : "s", LOOPSMITH_VERSION, day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

auto certificate_in(std::string_view text) -> std::optional<Certificate> {
  constexpr size_t digits = 16;
  for (size_t at = text.find(program_word); at != std::string_view::npos; at = text.find(program_word, at + 1)) {
    std::string_view rest = text.substr(at + program_word.size());
    if (rest.size() < 2 * digits + scheduled_word.size() || rest.substr(digits, scheduled_word.size()) != scheduled_word) { continue; }
    std::string_view first = rest.substr(0, digits);
    std::string_view second = rest.substr(digits + scheduled_word.size(), digits);
    Certificate out;
    auto read = [](std::string_view hex, uint64_t& value) { return std::from_chars(hex.data(), hex.data() + hex.size(), value, 16).ptr == hex.data() + hex.size(); };
    if (read(first, out.program) && read(second, out.scheduled)) { return out; }
  }
  return std::nullopt;
}

}  // namespace loopsmith::tune
