// Messages between session and workers as lines of JSON: see messages.h.
#include "tune/measure/messages.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "support/error_text.h"

namespace loopsmith::tune {
namespace {

using nlohmann::json;

// Hashes are sent as text, since other programs may not keep all 64 bits of JSON numbers.
auto hex(uint64_t value) -> std::string {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

auto line(const json& object) -> std::string {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

auto parse(const std::string& text) -> json {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return object.is_object() ? object : json::object();
}
auto text_of(const json& object, const char* key) -> std::string {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
auto real_of(const json& object, const char* key) -> double {
  auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}
auto id_of(const json& object) -> uint64_t {
  auto found = object.find("id");
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}
auto hash_of(const json& object, const char* key) -> uint64_t { return std::strtoull(text_of(object, key).c_str(), nullptr, 16); }
auto is_true(const json& object, const char* key) -> bool {
  auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}
auto arguments_of(const json& object) -> std::vector<std::vector<double>> {
  std::vector<std::vector<double>> out;
  auto found = object.find("arguments");
  if (found == object.end() || !found->is_array()) { return out; }
  for (const json& list : *found) {
    out.emplace_back();
    for (const json& number : list) { if (number.is_number()) { out.back().push_back(number.get<double>()); } }
  }
  return out;
}
auto outcome_of(const json& object) -> Outcome {
  std::string name = text_of(object, "outcome");
  for (Outcome o : {Outcome::Measured, Outcome::Censored, Outcome::Rejected, Outcome::Crashed, Outcome::TimedOut, Outcome::Wrong}) {
    if (name == outcome_name(o)) { return o; }
  }
  return Outcome::Crashed;
}
auto build_outcome_of(const json& object) -> BuildOutcome {
  std::string name = text_of(object, "outcome");
  for (BuildOutcome o : {BuildOutcome::Built, BuildOutcome::Rejected, BuildOutcome::Crashed, BuildOutcome::TimedOut}) {
    if (name == outcome_name(o)) { return o; }
  }
  return BuildOutcome::Crashed;
}

}  // namespace

auto outcome_name(BuildOutcome outcome) -> const char* { return outcome == BuildOutcome::Built ? "built" : outcome_name(trial_outcome(outcome)); }

auto trial_outcome(BuildOutcome outcome) -> Outcome {
  switch (outcome) {
    case BuildOutcome::Built: return Outcome::Measured;
    case BuildOutcome::Rejected: return Outcome::Rejected;
    case BuildOutcome::Crashed: return Outcome::Crashed;
    case BuildOutcome::TimedOut: return Outcome::TimedOut;
  }
  return Outcome::Crashed;
}

namespace {
auto error_and_seed(const CheckReply& reply) -> std::string {
  std::string error = error_text(reply.error, reply.allowed);
  return (error.empty() ? "" : ", " + error) + ", seed " + std::to_string(reply.seed);
}
}  // namespace

auto extent_text(const CheckReply& reply) -> std::string {
  return reply.inputs == 0 ? std::string() : std::to_string(reply.inputs) + " inputs" + error_and_seed(reply);
}
auto compared_text(const CheckReply& reply) -> std::string {
  std::string error = error_text(reply.error, reply.allowed);
  return (reply.inputs == 0 ? "" : std::to_string(reply.inputs) + " inputs: ") + reply.how + (error.empty() ? "" : ", " + error);
}
auto verified_text(const CheckReply& reply) -> std::string {
  return reply.inputs == 0 ? reply.how : std::to_string(reply.inputs) + " inputs, " + reply.how + error_and_seed(reply);
}

auto to_line(const WorkerTask& t) -> std::string {
  json out = {{"op", "task"}, {"module", t.module}, {"function", t.function}, {"target", t.target}, {"seed", hex(t.seed)}, {"opens_device", t.opens_device}, {"code_target", t.code_target}};
  if (!t.arguments.empty()) { out["arguments"] = t.arguments; }
  return line(out);
}
auto build_line(uint64_t id, const std::string& trace, const std::string& module) -> std::string {
  json out = {{"op", "build"}, {"id", id}, {"trace", trace}};
  if (!module.empty()) { out["module"] = module; }
  return line(out);
}
auto measure_line(uint64_t id, double best_seconds, int repeat) -> std::string {
  return line({{"op", "measure"}, {"id", id}, {"best", best_seconds}, {"repeat", repeat}});
}
auto check_line(uint64_t id, double seconds) -> std::string { return line({{"op", "check"}, {"id", id}, {"seconds", seconds}}); }
auto drop_line(uint64_t id) -> std::string { return line({{"op", "drop"}, {"id", id}}); }

auto to_line(const TaskReply& r) -> std::string { return line({{"reply", "task"}, {"ok", r.ok}, {"why", r.why}, {"device", r.device}, {"code_target", r.code_target}, {"no_device", r.no_device}, {"block_threads", r.block_threads}, {"shared_bytes", r.shared_bytes}, {"units", r.units}}); }
auto to_line(const BuildReply& r) -> std::string {
  return line({{"reply", "build"}, {"id", r.id}, {"outcome", outcome_name(r.outcome)}, {"note", r.note},
               {"lowered", hex(r.lowered_hash)}, {"object", hex(r.object_hash)}, {"seconds", r.seconds}, {"estimate", r.estimate_seconds}, {"figures", r.figures}});
}
auto to_line(const MeasureReply& r) -> std::string {
  return line({{"reply", "measure"}, {"id", r.id}, {"outcome", outcome_name(r.outcome)}, {"note", r.note},
               {"median", r.median_seconds}, {"spread", r.spread_seconds}, {"blocks", r.blocks}, {"ends_worker", r.ends_worker}});
}
auto to_line(const CheckReply& r) -> std::string {
  return line({{"reply", "check"}, {"id", r.id}, {"equal", r.equal}, {"how", r.how}, {"note", r.note}, {"error", r.error}, {"allowed", r.allowed}, {"seed", r.seed}, {"inputs", r.inputs}, {"ends_worker", r.ends_worker}});
}

auto parse_line(const std::string& text, TaskReply& out) -> bool {
  json o = parse(text);
  out = {is_true(o, "ok"), text_of(o, "why"), text_of(o, "device"), text_of(o, "code_target"), text_of(o, "no_device"), static_cast<uint64_t>(real_of(o, "block_threads")), static_cast<uint64_t>(real_of(o, "shared_bytes")), static_cast<uint64_t>(real_of(o, "units"))};
  return text_of(o, "reply") == "task";
}
auto parse_line(const std::string& text, BuildReply& out) -> bool {
  json o = parse(text);
  out = {id_of(o), build_outcome_of(o), text_of(o, "note"), hash_of(o, "lowered"), hash_of(o, "object"), real_of(o, "seconds"), real_of(o, "estimate"), text_of(o, "figures")};
  return text_of(o, "reply") == "build";
}
auto parse_line(const std::string& text, MeasureReply& out) -> bool {
  json o = parse(text);
  out = {id_of(o), outcome_of(o), text_of(o, "note"), real_of(o, "median"), real_of(o, "spread"), static_cast<int>(real_of(o, "blocks")), is_true(o, "ends_worker")};
  return text_of(o, "reply") == "measure";
}
auto parse_line(const std::string& text, CheckReply& out) -> bool {
  json o = parse(text);
  out = {id_of(o), is_true(o, "equal"), text_of(o, "how"), text_of(o, "note"), real_of(o, "error"), real_of(o, "allowed"), static_cast<uint64_t>(real_of(o, "seed")), static_cast<int>(real_of(o, "inputs")), is_true(o, "ends_worker")};
  return text_of(o, "reply") == "check";
}
auto parse_line(const std::string& text, Request& out) -> bool {
  json o = parse(text);
  std::string op = text_of(o, "op");
  out = {};
  out.id = id_of(o);
  if (op == "task") {
    out.op = Request::Op::Task;
    out.task = {text_of(o, "module"), text_of(o, "function"), text_of(o, "target"), hash_of(o, "seed"), arguments_of(o), is_true(o, "opens_device"), text_of(o, "code_target")};
  } else if (op == "build") {
    out.op = Request::Op::Build;
    out.trace = text_of(o, "trace");
    out.module = text_of(o, "module");
  } else if (op == "measure") {
    out.op = Request::Op::Measure;
    out.best_seconds = real_of(o, "best");
    out.repeat = static_cast<int>(real_of(o, "repeat"));
  } else if (op == "check") {
    out.op = Request::Op::Check;
    out.seconds = real_of(o, "seconds");
  } else if (op == "drop") {
    out.op = Request::Op::Drop;
  } else {
    return false;
  }
  return true;
}

}  // namespace loopsmith::tune
