// Reports, limits and names of the evaluator, and descriptions of values. See evaluator.h.
#include "eval/evaluator.h"

#include <time.h>

#include "support/codes.h"
#include "support/memory.h"
#include "support/spelling.h"
#include "support/text.h"

namespace loopsmith::eval {

using namespace syntax;

namespace {

// Processor time of this thread: excludes the time of other processes, and of a build that the script waits for.
auto thread_seconds() -> double {
  timespec now{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

Evaluator::Evaluator(std::shared_ptr<Heap> heap) : heap_(std::move(heap)) {}

auto Evaluator::report(Diagnostic diagnostic) -> Value {
  diagnostics.push_back(std::move(diagnostic));
  return Value::error();
}
auto Evaluator::is_known_tuple(const Value& v) -> bool {
  const auto* tuple = v.as<Tuple>();
  if (!tuple || tuple->items.size() < 2) { return false; }
  for (const Value& known : known_tuples_) {
    if (known.as<Tuple>() == tuple) { return true; }
  }
  known_tuples_.push_back(v);
  return false;
}
auto Evaluator::opaque(Origin where) -> Value {
  if (!opaque_at.is_known()) { opaque_at = where; }
  return Value::opaque();
}
auto Evaluator::new_scope(ScopeRef parent) -> ScopeRef { return ScopeRef(new Scope(heap_.get(), std::move(parent))); }

void Evaluator::reset_steps() {
  steps_ = look_at_ = 0;
  items_ = bytes_ = 0;
  begun_at_ = -1;
  stopped_ = false;
  (void)took_walk_too_deep();
}

// A refusal points at the statement that runs, not at the expression that happened to reach the limit.
auto Evaluator::refuse(std::string what, Origin where) -> bool {
  if (!stopped_) {
    stopped_ = true;
    report(error(Code::TooMuchWork, statement_.is_known() ? statement_ : where).arg("what", std::move(what)));
  }
  return false;
}

auto Evaluator::step(Origin where) -> bool {
  if (stopped_) { return false; }
  ++steps_;
  if (steps_ > limits.steps) { return refuse("more than " + std::to_string(limits.steps) + " steps", where); }
  return steps_ < look_at_ || may_go_on(where);
}

auto Evaluator::charge(size_t items, size_t bytes, Origin where) -> bool {
  if (stopped_) { return false; }
  constexpr size_t items_of_step = 64;
  items_ += items;
  steps_ += items_ / items_of_step;
  items_ %= items_of_step;
  if (steps_ > limits.steps) { return refuse("more than " + std::to_string(limits.steps) + " steps", where); }
  if (steps_ >= look_at_ && !may_go_on(where)) { return false; }
  // Small results are measured together.
  constexpr size_t large = 8 << 20;
  bytes_ += bytes;
  return bytes_ < large || fits_in_memory(bytes, where);
}

auto Evaluator::may_go_on(Origin where) -> bool {
  if (stopped_) { return false; }
  constexpr uint64_t steps_between = 256;
  look_at_ = steps_ + steps_between;
  if (cancel.is_cancelled()) {
    stopped_ = true;
    report(error(Code::Cancelled, where));
    return false;
  }
  double now = thread_seconds();
  if (begun_at_ < 0) {
    begun_at_ = measured_at_ = now;
    memory_before_ = resident_memory().value_or(0);
    return true;
  }
  if (now - begun_at_ > limits.seconds) { return refuse("more than " + limit_text(limits.seconds) + " of processor time", where); }
  constexpr double seconds_between = 0.01;
  return now - measured_at_ < seconds_between || fits_in_memory(0, where);
}

auto Evaluator::fits_in_memory(size_t more, Origin where) -> bool {
  if (begun_at_ < 0 && !may_go_on(where)) { return false; }
  bytes_ = 0;
  measured_at_ = thread_seconds();
  uint64_t now = resident_memory().value_or(0);
  uint64_t grown = now > memory_before_ ? now - memory_before_ : 0;
  if (grown + more <= limits.bytes) { return true; }
  return refuse("more than " + std::to_string(limits.bytes >> 20) + " MiB of memory", where);
}

auto Evaluator::too_deep(Origin where) -> bool {
  if (depth_ <= limits.depth) { return false; }
  if (!stopped_) {
    stopped_ = true;
    report(error(Code::TooDeep, where).arg("limit", static_cast<int64_t>(limits.depth)));
  }
  return true;
}

auto Evaluator::lookup(Name name, const ScopeRef& scope, Origin where) -> Value {
  auto known = [&](const Value& value) { return value.is_opaque() ? opaque(where) : value; };
  if (scope) {
    if (const Value* found = scope->find(name)) { return known(*found); }
  }
  if (globals) {
    if (auto found = globals->lookup(*this, name, where)) { return known(*found); }
  }
  if (const Value* found = builtin(name)) { return known(*found); }
  std::vector<Name> names;
  if (scope) { scope->names(names); }
  if (globals) { globals->names(names); }
  builtin_names(names);
  Diagnostic d = error(Code::UndefinedName, where).arg("name", name.view());
  if (Name near = closest_name(name, names); !near.empty()) {
    (void)std::move(d).remedy("did you mean `" + near.str() + "`?").fix(where, near.str());
  }
  return report(std::move(d));
}

auto closest_name(Name wanted, const std::vector<Name>& names) -> Name {
  const std::string& a = wanted.str();
  Name best;
  size_t best_distance = a.size() <= 2 ? 1 : a.size() <= 5 ? 2 : 3;  // the distance must be below this
  if (a.size() > 40) { return best; }
  for (Name candidate : names) {
    const std::string& b = candidate.str();
    if (b.empty() || candidate == wanted || b.size() > a.size() + 3 || a.size() > b.size() + 3) { continue; }
    size_t distance = edit_distance(a, b);
    if (distance < best_distance || (distance == best_distance && !best.empty() && candidate < best)) {
      if (distance < best_distance || !best.empty()) {
        best = candidate;
        best_distance = distance;
      }
    }
  }
  return best;
}

auto unpacking(const Value& value) -> std::string {
  const auto* several = value.as<Tuple>();
  if (!several || several->items.size() < 2) { return {}; }
  return "name each of its " + std::to_string(several->items.size()) + " values, as in `for i, j in ...`, or take one of them";
}

auto describe(const Value& value) -> std::string {
  switch (value.kind()) {
    case Value::Kind::Error: return "an error";
    case Value::Kind::Opaque: return "something unknown";
    case Value::Kind::None: return "`None`";
    case Value::Kind::Bool: case Value::Kind::Int: case Value::Kind::Float: return "`" + value.repr() + "`";
    case Value::Kind::Object: break;
  }
  if (value.string()) {
    std::string text = value.repr();
    return text.size() <= 40 ? "the str `" + text + "`" : "a str";
  }
  if (const auto* space = value.as<Namespace>()) { return "`" + space->name.str() + "`"; }
  std::string_view type = value.type_name();
  if (type.find(' ') != std::string_view::npos) { return std::string(type); }
  bool vowel = !type.empty() && std::string_view("aeiou").find(type[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(type);
}

}  // namespace loopsmith::eval
