// A trace with sampling instructions as a sketch: see trace_sketch.h.
#include "tune/space/trace_sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "schedule/block_classes.h"
#include "tune/metaschedule/rules/calls.h"
#include "tune/space/steps.h"

namespace loopsmith::tune {
namespace {

using schedule::Instruction;
using schedule::Schedule;
using schedule::Trace;
using schedule::Value;

// A knob has at most this many choices; of longer lists every n-th one is kept.
constexpr size_t most_choices = 4096;
// A draft is kept in front of a knob if at least this number of instructions lie between it and the knob before.
constexpr size_t least_kept = 8;
// The begun drafts that are kept; then they are dropped. Each shares most of its nodes with others.
constexpr size_t most_begun = 256;
// More factorizations than this are not listed: some divisors are left out.
constexpr size_t most_factorizations = 100'000;

/// Adds the factorizations, from every `step`-th divisor of the remaining product. False: there are too many.
auto add_factors(int64_t left, int64_t n, size_t step, std::vector<int64_t>& behind, std::vector<std::vector<int64_t>>& out) -> bool {
  if (n == 1) {
    out.emplace_back(behind.rbegin(), behind.rend());
    out.back().insert(out.back().begin(), left);
    return out.size() <= most_factorizations;
  }
  const std::vector<int64_t> all = divisors(left);
  for (size_t i = 0; i < all.size(); i += step) {
    behind.push_back(all[i]);
    const bool fits = add_factors(left / all[i], n - 1, step, behind, out);
    behind.pop_back();
    if (!fits) { return false; }
  }
  return true;
}

/// The choices of a sampled location: inlined, at the root, or under one of the loops around the first consumer. The replay judges which of them are legal.
auto locations(const Schedule& sch, const Value& block) -> std::vector<std::vector<int64_t>> {
  std::vector<std::vector<int64_t>> out{{-2}, {-1}};
  const auto* rv = block.as<schedule::BlockRV>();
  if (!rv) { return out; }
  auto found = rules::find_block(sch, *rv);
  if (!found.ok() || !found->place) { return out; }
  const std::vector<NodeId> consumers = schedule::consumers_of(*found->func, *found->place);
  if (consumers.empty()) { return out; }
  const size_t loops = found->func->loops(*found->func->find(consumers.front())).size();
  for (size_t i = 0; i < loops; ++i) { out.push_back({static_cast<int64_t>(i)}); }
  return out;
}

/// The decision of an instruction as a choice: the factors, an index, or a candidate.
auto choice_of(const Instruction& sampled) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  if (const int64_t* index = sampled.decision.integer()) { out.push_back(*index); }
  if (const auto* list = sampled.decision.as<Value::List>()) {
    for (const Value& item : *list) { if (const int64_t* n = item.integer()) { out.push_back(*n); } }
  }
  return out;
}

using Choices = std::vector<std::vector<int64_t>>;
/// The choice that is nearest in the ratios of its numbers: long lists of tiles are thinned out, and limits are powers of two. The end: no choice has the form.
auto nearest_choice(const Choices& choices, const std::vector<int64_t>& wanted) -> Choices::const_iterator {
  auto best = choices.end();
  double least = std::numeric_limits<double>::infinity();
  if (std::any_of(wanted.begin(), wanted.end(), [](int64_t n) { return n < 1; })) { return best; }
  for (auto choice = choices.begin(); choice != choices.end(); ++choice) {
    if (choice->size() != wanted.size()) { continue; }
    double distance = 0;
    for (size_t i = 0; i < wanted.size(); ++i) { distance += std::abs(std::log(static_cast<double>(std::max<int64_t>((*choice)[i], 1)) / static_cast<double>(wanted[i]))); }
    if (distance < least) {
      least = distance;
      best = choice;
    }
  }
  return best;
}

auto is_categorical(const Instruction& sampled) -> bool { return sampled.primitive->kind == "SampleCategorical"; }

auto number(const Value& value, int64_t otherwise) -> int64_t {
  const int64_t* n = value.integer();
  return n ? *n : otherwise;
}

/// True for the variable with a name, and for a list with it.
auto mentions(const Value& value, const std::string& variable) -> bool {
  if (const auto* list = value.as<Value::List>()) { return std::any_of(list->begin(), list->end(), [&](const Value& item) { return mentions(item, variable); }); }
  return value.as<schedule::ExprRV>() != nullptr && Schedule::name_of(value) == variable;
}

/// The use of a sampled number: the key of an annotation without TVM's prefix, or else the primitive that takes it. Empty: nothing uses it.
auto use_of(const std::vector<const Instruction*>& instructions, size_t sampled) -> std::string {
  if (instructions[sampled]->outputs.empty()) { return {}; }
  const std::string variable = Schedule::name_of(instructions[sampled]->outputs.front());
  for (size_t i = sampled + 1; i < instructions.size(); ++i) {
    const Instruction& user = *instructions[i];
    if (std::none_of(user.values.begin(), user.values.end(), [&](const Value& value) { return mentions(value, variable); })) { continue; }
    const std::string* key = user.primitive->kind == "Annotate" ? user.values[1].as<std::string>() : nullptr;
    constexpr std::string_view prefix = "meta_schedule.";
    return key ? key->substr(key->starts_with(prefix) ? prefix.size() : 0) : std::string(user.primitive->name);
  }
  return {};
}

/// The candidates of a sampled number as text.
auto candidate_texts(const Value::List& candidates) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const Value& candidate : candidates) {
    const int64_t* n = candidate.integer();
    if (!n) { return {}; }
    out.push_back(std::to_string(*n));
  }
  return out;
}

}  // namespace

auto factorizations(int64_t extent, int64_t n, int64_t most_innermost, int64_t partition, int64_t multiple) -> std::vector<std::vector<int64_t>> {
  std::vector<std::vector<int64_t>> all, out;
  if (extent < 1 || n < 1) { return out; }
  for (size_t step = 1;; ++step) {
    std::vector<int64_t> behind;
    all.clear();
    if (add_factors(extent, n, step, behind, all)) { break; }
  }
  for (std::vector<int64_t>& factors : all) {
    int64_t inner = 1;
    for (size_t i = static_cast<size_t>(partition); i < factors.size(); ++i) { inner *= factors[i]; }
    const bool fits = (most_innermost < 1 || factors.back() <= most_innermost) && inner % multiple == 0;
    if (fits) { out.push_back(std::move(factors)); }
  }
  // Innermost factors first, so that neighbours in the list are similar.
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend()); });
  return out;
}

TraceSketch::TraceSketch(const SpaceContext& context, std::string name, const Schedule& sch, FinishTrace finish, FinishTrace draft_finish,
                         std::shared_ptr<const metaschedule::Mutators> mutators)
    : DraftedSketch(context), trace_(sch.trace()), finish_(std::move(finish)), draft_finish_(std::move(draft_finish)), own_(Point()),
      mutators_(std::move(mutators)), mutator_context_{context.module, context.function, std::max(1, context.hardware.cores), sch.intrinsics()}, intrinsics_(sch.intrinsics()) {
  name_ = std::move(name);
  Schedule replayed(module_, 1);
  replayed.use_intrinsics(intrinsics_);
  if (!replayed.work_on(function_).ok()) { return; }
  size_t index = 0;
  Status done = replayed.replay(trace_, false, [&](const Instruction& instruction, const IRModule&) {
    if (instruction.primitive->is_sampling) { add_knob(index, instruction, replayed); }
    const Value* limit = has_mutators() ? metaschedule::annotated(instruction, "meta_schedule.parallel") : nullptr;
    if (limit && limit->integer()) { add_parallel_knob(index, *limit->integer()); }
    ++index;
  });
  if (!done.ok()) { own_.reset(); }
  if (gpu_) { thread_bounds_ = thread_bounds(trace_, instructions_); }
}

void TraceSketch::add_knob(size_t instruction, const Instruction& sampled, const Schedule& before) {
  const std::string_view kind = sampled.primitive->kind;
  auto extent = [&]() -> int64_t {
    const auto* loop = sampled.values[0].as<schedule::LoopRV>();
    return loop ? extent_of(before, *loop) : 0;
  };
  std::vector<std::vector<int64_t>> choices;
  std::vector<std::string> texts;
  std::string name;
  auto tiles = [&]() -> std::string {
    const auto* loop = sampled.values[0].as<schedule::LoopRV>();
    auto place = loop ? before.get(*loop) : Result<const schedule::Place*>(Diagnostics());
    return "tile " + (place.ok() ? (*place)->name().str() : std::string());
  };
  if (kind == "SamplePerfectTile") {
    choices = factorizations(extent(), number(sampled.values[1], 1), number(sampled.values[2], -1));
    name = tiles();
  } else if (kind == "SamplePartitionedTile") {
    choices = factorizations(extent(), number(sampled.values[1], 1), -1, number(sampled.values[2], 0), std::max<int64_t>(1, number(sampled.values[3], 1)));
    name = tiles();
  } else if (is_categorical(sampled)) {
    const auto* candidates = sampled.values[0].as<Value::List>();
    for (int64_t i = 0; candidates && i < std::ssize(*candidates); ++i) { choices.push_back({i}); }
    if (candidates) { texts = candidate_texts(*candidates); }
    const std::string use = use_of(trace_.instructions(), instruction);
    name = use.empty() ? "number" : use;
  } else if (kind == "SampleComputeLocation") {
    choices = locations(before, sampled.values[0]);
    const auto* block = sampled.values[0].as<schedule::BlockRV>();
    auto place = block ? before.get(*block) : Result<const schedule::Place*>(Diagnostics());
    name = "place of " + (place.ok() ? (*place)->name().str() : std::string());
    for (const std::vector<int64_t>& choice : choices) { texts.push_back(choice[0] == -2 ? "inlined" : choice[0] == -1 ? "as it is" : fmt::format("loop {}", choice[0])); }
  }
  if (choices.size() > most_choices) {
    const size_t step = (choices.size() + most_choices - 1) / most_choices;
    std::vector<std::vector<int64_t>> kept;
    for (size_t i = 0; i < choices.size(); i += step) { kept.push_back(std::move(choices[i])); }
    choices = std::move(kept);
    texts.clear();
  }
  if (choices.empty()) { return; }
  // A trace of a loop of unknown extent has no list of tiles and keeps its own.
  auto own = std::find(choices.begin(), choices.end(), choice_of(sampled));
  if (own == choices.end()) { own_.reset(); }
  else if (own_) { own_->push_back(static_cast<uint16_t>(own - choices.begin())); }
  // Loops of several blocks may have one name; the variable in the trace tells their knobs apart.
  const bool is_known = std::any_of(knobs_.begin(), knobs_.end(), [&](const Knob& knob) { return knob.name == name; });
  if (is_known && !sampled.outputs.empty()) { name += fmt::format(" ({})", Schedule::name_of(sampled.outputs.front())); }
  knobs_.push_back({.name = std::move(name), .choices = std::move(choices), .usual = {}, .texts = std::move(texts)});
  instructions_.push_back(instruction);
}

void TraceSketch::add_parallel_knob(size_t instruction, int64_t limit) {
  // Between the extents of some loops and those of one loop more lies a power of two, so powers of two reach every number of loops.
  std::vector<std::vector<int64_t>> choices;
  for (int64_t power = 1; power < limit; power *= 2) { choices.push_back({power}); }
  choices.push_back({limit});
  const auto own = static_cast<uint16_t>(choices.size() - 1);
  if (own_) { own_->push_back(own); }
  knobs_.push_back({.name = "parallel", .choices = std::move(choices), .usual = own, .texts = {}});
  instructions_.push_back(instruction);
}

auto TraceSketch::point_of(const Trace& trace) const -> std::optional<Point> {
  const auto mine = trace_.instructions(), its = trace.instructions();
  if (mine.size() > its.size()) { return std::nullopt; }
  Point out;
  size_t knob = 0;
  for (size_t i = 0; i < mine.size(); ++i) {
    if (its[i]->primitive != mine[i]->primitive) { return std::nullopt; }
    if (knob == instructions_.size() || instructions_[knob] != i) { continue; }
    const auto& choices = knobs_[knob++].choices;
    std::vector<int64_t> wanted = choice_of(*its[i]);
    if (const Value* limit = metaschedule::annotated(*its[i], "meta_schedule.parallel"); limit && limit->integer()) { wanted = {*limit->integer()}; }
    const auto exact = std::find(choices.begin(), choices.end(), wanted);
    const auto found = exact != choices.end() ? exact : nearest_choice(choices, wanted);
    if (found == choices.end()) { return std::nullopt; }
    out.push_back(static_cast<uint16_t>(found - choices.begin()));
  }
  return out;
}

auto TraceSketch::mutated(const Point& point, int64_t seed) const -> std::optional<Point> {
  if (!has_mutators()) { return std::nullopt; }
  schedule::RandomEngine random(seed);
  const std::optional<Trace> made = metaschedule::mutate(*mutators_, mutator_context_, trace_at(point), random);
  return made ? point_of(*made) : std::nullopt;
}

auto TraceSketch::trace_at(const Point& point) const -> Trace {
  Trace out;
  size_t index = 0, knob = 0;
  for (const Instruction* instruction : trace_.instructions()) {
    Instruction copy = *instruction;
    if (knob < instructions_.size() && instructions_[knob] == index) {
      const std::vector<int64_t>& choice = chosen(point, knob);
      const bool is_tile = copy.decision.as<Value::List>() != nullptr;
      if (!copy.primitive->is_sampling) { copy.values[2] = Value(choice[0]); }
      else { copy.decision = is_tile ? Value(choice) : Value(choice[0]); }
      ++knob;
    }
    out.append(std::move(copy));
    ++index;
  }
  return out;
}

auto TraceSketch::apply(Schedule& sch, const Point& point) const -> Status {
  if (intrinsics_) { sch.use_intrinsics(intrinsics_); }
  LOOPSMITH_CHECK(sch.replay(trace_at(point)));
  return finish_ ? finish_(sch) : ok();
}

auto TraceSketch::is_out_of_question(const Point& point) const -> bool { return !is_within(thread_bounds_, knobs_, point); }

auto TraceSketch::replay_draft(Schedule& sch, const Point& point) const -> bool {
  const Trace trace = trace_at(point);
  const std::vector<const Instruction*> instructions = trace.instructions();
  auto first_choices = [&](size_t knobs) { return Point(point.begin(), point.begin() + static_cast<ptrdiff_t>(knobs)); };
  // Continues in front of the last knob to which an earlier draft came with the same choices.
  Schedule::ReplayPlace place;
  size_t first = 0;
  for (size_t knob = instructions_.size(); knob-- > 0;) {
    const auto begun = begun_.find(first_choices(knob));
    if (begun == begun_.end()) { continue; }
    sch = begun->second.sch;
    place = begun->second.place;
    first = knob;
    break;
  }
  for (size_t knob = first; knob < instructions_.size(); ++knob) {
    const bool is_kept = instructions_[knob] >= place.next + least_kept;
    if (!sch.continue_replay(instructions, instructions_[knob], place).ok()) { return false; }
    if (!is_kept) { continue; }
    if (begun_.size() >= most_begun) { begun_.clear(); }
    begun_.emplace(first_choices(knob), Begun{sch, place});
  }
  return sch.continue_replay(instructions, instructions.size(), place).ok();
}

auto TraceSketch::prepare_draft(Schedule& sch, const Point& point) const -> bool {
  if (intrinsics_) { sch.use_intrinsics(intrinsics_); }
  const FinishTrace& finish = draft_finish_ ? draft_finish_ : finish_;
  return replay_draft(sch, point) && (!finish || finish(sch).ok());
}

}  // namespace loopsmith::tune
