// Verdicts, pairs of iterations, repairs: see explain.h.
#include "schedule/explain.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "schedule/block_classes.h"
#include "schedule/candidates.h"
#include "schedule/remedies.h"
#include "support/codes.h"
#include "support/spelling.h"

namespace loopsmith::schedule {

auto verdict_of(Code code) -> Verdict {
  switch (code) {
    case Code::RegionNotSolved:
    case Code::NotAffine:
    case Code::NotCovered:
    case Code::NotDivisible:
    case Code::PredicateForm:
    case Code::ReducerUnknown:
    case Code::ReductionForm:
    case Code::SplitProductUnknown:
    case Code::EpilogueForm: return Verdict::NotProved;
    case Code::ParameterKind:
    case Code::VariableGone:
    case Code::NoSuchBlock:
    case Code::BlockNameTwice:
    case Code::NoSuchPrimitive:
    case Code::TooManyArguments:
    case Code::UnexpectedArgument:
    case Code::DuplicateArgument:
    case Code::MissingArgument:
    case Code::BufferIndex:
    case Code::AxisOutOfRange:
    case Code::StorageScope:
    case Code::ThreadAxis:
    case Code::NoSuchDType:
    case Code::NoLoops:
    case Code::LoopTwice:
    case Code::NoSuchAnnotation:
    case Code::NotPermutation:
    case Code::InsertionIndex:
    case Code::AlignFactor:
    case Code::SplitFactorCount:
    case Code::SplitInferTwice:
    case Code::SplitFactorSign: return Verdict::Usage;
    default: return Verdict::Illegal;
  }
}

// ---- pairs of iterations -------------------------------------------------------------------------------

namespace {

constexpr size_t most_instances = 4096;
constexpr size_t most_points = 64;           // of one region

struct Access {
  Conflict::Instance instance;
  int64_t at_loop = 0;                       // the value of the loop in question
  const BufferNode* buffer = nullptr;
  std::vector<int64_t> element;
  size_t order = 0;                          // instances of a block run in this order
};

auto points_of(const BufferRegion& region, const Valuation& values) -> std::vector<std::vector<int64_t>> {
  std::vector<std::vector<int64_t>> out{{}};
  for (const Range& range : region.region) {
    auto min = evaluate_integer(range.min, values);
    auto extent = evaluate_integer(range.extent, values);
    if (!min || !extent || *extent < 1) { return {}; }
    std::vector<std::vector<int64_t>> longer;
    for (const auto& point : out) {
      for (int64_t i = 0; i < *extent && longer.size() < most_points; ++i) {
        longer.push_back(point);
        longer.back().push_back(*min + i);
      }
    }
    out = std::move(longer);
  }
  return out;
}

auto hidden_reads_of(const FuncState& func, const Place& block) -> std::vector<BufferRegion> {
  std::vector<BufferRegion> hidden_regions;
  const auto& hidden = func.hidden_reads(block);
  if (!hidden.empty()) {
    post_order(block.block()->body, [](const Stmt&) {}, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      if (!load || std::find(hidden.begin(), hidden.end(), load->buffer) == hidden.end()) { return; }
      std::vector<Range> at;
      for (const Expr& index : load->indices) { at.push_back({index, one(index.dtype())}); }
      hidden_regions.push_back({load->buffer, Array<Range>(std::move(at)), {}});
    });
  }
  return hidden_regions;
}

// The blocks around a block, without the root block, the outermost first.
auto scopes_around(const FuncState& func, const Place& block) -> std::vector<const Place*> {
  std::vector<const Place*> scopes;
  for (const Place* at = func.scope(block); at && at->parent >= 0; at = func.scope(*at)) { scopes.push_back(at); }
  std::reverse(scopes.begin(), scopes.end());
  return scopes;
}

// The accesses of a block's instances, in the order they run. Loops outside of `loop` stay at their first iteration. Visits at most `most_each`
// instances in each iteration of `loop`: a few from several iterations show more than very many from the first.
auto accesses_of(const FuncState& func, const Place& block, const Place& loop, size_t most_each) -> std::vector<Access> {
  std::vector<const Place*> around;
  Valuation fixed;
  std::vector<const Place*> outside;
  bool is_inside = true;
  for (const Place* at = func.parent(block); at; at = func.parent(*at)) {
    if (at->is_loop()) { (is_inside ? around : outside).push_back(at); }
    if (at == &loop) { is_inside = false; }
  }
  std::reverse(around.begin(), around.end());
  std::reverse(outside.begin(), outside.end());
  for (const Place* at : outside) { fixed.emplace_back(at->loop->var.get(), evaluate_integer(at->loop->min, fixed).value_or(0)); }
  // Iter vars of blocks outside: bounds and iter values may use them.
  const std::vector<const Place*> scopes = scopes_around(func, block);
  const std::vector<BufferRegion> hidden_regions = hidden_reads_of(func, block);
  std::vector<Access> out;
  Valuation values = fixed;
  size_t order = 0, iterations = 0;
  size_t most = most_each;
  auto visit = [&]() {
    if (out.size() >= 4 * most_instances) { return; }
    Valuation all = values;
    for (const Place* scope : scopes) {
      for (size_t i = 0; i < scope->realize->iter_values.size(); ++i) {
        auto value = evaluate_integer(scope->realize->iter_values[i], all);
        if (!value) { return; }
        all.emplace_back(scope->block()->iter_vars[i].var.get(), *value);
      }
    }
    auto predicate = evaluate_integer(block.realize->predicate, all);
    if (!is_one(block.realize->predicate) && predicate != 1) { return; }
    Access access;
    access.instance.block = block.id;
    access.order = order++;
    for (size_t i = 0; i < block.realize->iter_values.size(); ++i) {
      auto value = evaluate_integer(block.realize->iter_values[i], all);
      if (!value) { return; }
      access.instance.iters.push_back(*value);
      all.emplace_back(block.block()->iter_vars[i].var.get(), *value);
    }
    for (const Place* at : around) {
      for (const auto& [var, value] : values) {
        if (var != at->loop->var.get()) { continue; }
        access.instance.loops.emplace_back(at->loop->var->name, value);
        if (at == &loop) { access.at_loop = value; }
      }
    }
    auto touch = [&](const BufferRegion& region, bool writes) {
      for (auto& point : points_of(region, all)) {
        access.instance.writes = writes;
        access.buffer = region.buffer.get();
        access.element = std::move(point);
        out.push_back(access);
      }
    };
    for (const BufferRegion& region : block.block()->reads) { touch(region, false); }
    for (const BufferRegion& region : hidden_regions) { touch(region, false); }
    for (const BufferRegion& region : block.block()->writes) { touch(region, true); }
  };
  std::function<void(size_t)> run = [&](size_t depth) {
    if (order >= std::min(most, most_instances)) { return; }
    if (depth == around.size()) { return visit(); }
    const For& here = *around[depth]->loop;
    auto min = evaluate_integer(here.min, values);
    auto extent = evaluate_integer(here.extent, values);
    if (!min || !extent) { return; }
    for (int64_t i = 0; i < *extent && order < most_instances && ++iterations <= 64 * most_instances; ++i) {
      if (around[depth] == &loop) { most = order + most_each; }
      if (order >= most) { break; }
      int64_t value = 0;
      if (__builtin_add_overflow(*min, i, &value)) { break; }
      values.emplace_back(here.var.get(), value);
      run(depth + 1);
      values.pop_back();
    }
  };
  run(0);
  return out;
}

auto place_text(const Access& access, const Access& other) -> std::string {
  // The loops in which the two accesses differ, and the loops around one access only that are not at their first iteration.
  std::string out;
  for (size_t i = 0; i < access.instance.loops.size(); ++i) {
    const auto& [name, value] = access.instance.loops[i];
    bool is_shared = i < other.instance.loops.size() && other.instance.loops[i].first == name;
    if (value == 0 && (!is_shared || other.instance.loops[i].second == value)) { continue; }
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name.view(), value);
  }
  return out;
}

auto conflict_among(const FuncState& func, const Place& first, const Place& second, const Place& loop, size_t most_each) -> std::optional<Conflict> {
  auto a = accesses_of(func, first, loop, most_each);
  auto b = &first == &second ? a : accesses_of(func, second, loop, most_each);
  std::map<std::pair<const BufferNode*, std::vector<int64_t>>, std::vector<const Access*>> touched;
  for (const Access& access : a) {
    auto& here = touched[{access.buffer, access.element}];
    if (here.size() < 16) { here.push_back(&access); }
  }
  for (const Access& y : b) {
    auto found = touched.find({y.buffer, y.element});
    if (found == touched.end()) { continue; }
    for (const Access* x : found->second) {
      if (x->at_loop == y.at_loop || (!x->instance.writes && !y.instance.writes)) { continue; }
      // Sorts the two in the order they run, by the loop that both share.
      bool x_is_first = x->at_loop < y.at_loop;
      const Access& early = x_is_first ? *x : y;
      const Access& late = x_is_first ? y : *x;
      Conflict out{early.instance, late.instance, y.buffer, y.element, {}};
      std::string element = fmt::format("{}[{}]", y.buffer->name.view(), fmt::join(y.element, ", "));
      auto name = [&](const Access& access) { return func.find(access.instance.block)->name().str(); };
      auto verb = [](const Access& access) { return access.instance.writes ? "writes" : "reads"; };
      if (&first == &second && early.instance.writes && late.instance.writes) {
        out.text = fmt::format("`{}` at {} and at {} both update `{}`", name(early), place_text(early, late), place_text(late, early), element);
      } else {
        // The reading instance comes first in the text: it gets a wrong value.
        const Access& one = late.instance.writes && !early.instance.writes ? early : late;
        const Access& other = &one == &late ? early : late;
        out.text = fmt::format("`{}` at {} {} `{}`, which `{}` {} at {}", name(one), place_text(one, other), verb(one), element, name(other), verb(other),
                               place_text(other, one));
      }
      return out;
    }
  }
  return {};
}

}  // namespace

auto find_conflict(const FuncState& func, const Place& first, const Place& second, const Place& loop) -> std::optional<Conflict> {
  // Tries all instances of the first iterations. If these are too many, tries the first instances of each iteration.
  for (size_t most_each : {most_instances, most_instances / 64}) {
    if (auto found = conflict_among(func, first, second, loop, most_each)) { return found; }
  }
  return {};
}

// ---- repairs -------------------------------------------------------------------------------------------

namespace {

constexpr size_t most_trials = 160;
constexpr size_t most_repairs = 3;

// The loops and blocks that a diagnostic names.
auto blamed(const FuncState& func, const Diagnostics& why) -> std::vector<const Place*> {
  std::vector<const Place*> out;
  for (const Diagnostic& d : why) {
    for (uint64_t id : d.node_ids) {
      const Place* place = func.find(id);
      if (place && std::find(out.begin(), out.end(), place) == out.end()) { out.push_back(place); }
    }
  }
  return out;
}

// Finds an instance of a block that reads elements which different iterations of a loop made.
auto find_read_across(const FuncState& func, const Place& reader, const Place& loop) -> std::optional<Conflict> {
  std::map<std::pair<const BufferNode*, std::vector<int64_t>>, Access> made;
  for (NodeId id : producers_of(func, reader)) {
    const Place& producer = *func.find(id);
    if (!func.is_below(producer, loop)) { continue; }
    for (Access& access : accesses_of(func, producer, loop, most_instances)) {
      if (access.instance.writes) { made.emplace(std::pair(access.buffer, access.element), std::move(access)); }
    }
  }
  auto loops = func.loops(reader);
  if (loops.empty() || made.empty()) { return {}; }
  auto text = [](const Access& access) { return fmt::format("{}[{}]", access.buffer->name.view(), fmt::join(access.element, ", ")); };
  auto reads = accesses_of(func, reader, *loops.front(), most_instances);
  const Access* last = nullptr;              // a read whose element has a known writer
  const Access* last_made = nullptr;
  for (const Access& read : reads) {
    auto found = read.instance.writes ? made.end() : made.find({read.buffer, read.element});
    if (found == made.end()) { continue; }
    const Access& here = found->second;
    if (last && last->order == read.order && last_made->at_loop != here.at_loop) {
      auto name = [&](const Access& access) { return func.find(access.instance.block)->name().str(); };
      std::string at = place_text(read, here);
      Conflict out{here.instance, read.instance, read.buffer, read.element, {}};
      out.text = fmt::format("`{}`{} reads `{}`, made at {}={}, and `{}`, made at {}={}", name(read), at.empty() ? "" : " at " + at, text(*last), loop.name().view(),
                             last_made->at_loop, text(read), loop.name().view(), here.at_loop);
      return out;
    }
    last = &read;
    last_made = &here;
  }
  return {};
}

// The statement of a block that writes to a buffer, or reads it.
auto statement_touching(const Place& block, bool writes, const BufferNode* buffer) -> Origin {
  std::optional<Origin> found;
  bool is_read = false;
  post_order(block.block()->body, [&](const Stmt& stmt) {
    const auto* store = stmt.as<BufferStore>();
    if (store != nullptr && !found && (writes ? store->buffer.get() == buffer : is_read)) { found = stmt->origin; }
    is_read = false;
  }, [&](const Expr& expr) {
    const auto* load = expr.as<BufferLoad>();
    is_read = is_read || (load != nullptr && load->buffer.get() == buffer);
  });
  return found.value_or(block.block()->origin);
}

auto conflict_of(const FuncState& func, const Diagnostics& why) -> std::optional<Conflict> {
  for (const Diagnostic& d : why) {
    if (d.code == Code::ReadsAcross) {
      const Place* reader = nullptr;
      const Place* loop = nullptr;
      for (const Place* place : blamed(func, why)) { (place->is_loop() ? loop : reader) = place; }
      return reader && loop ? find_read_across(func, *reader, *loop) : std::nullopt;
    }
    if (d.code != Code::IterationsDepend && d.code != Code::IterationsWrite && d.code != Code::LoopCarried && d.code != Code::NotCompact) { continue; }
    const Place* loop = nullptr;
    for (const Place* place : blamed(func, why)) {
      if (place->is_loop()) { loop = place; }
      // If blocks below are the cause, the diagnostic names only the loop around them.
      for (const Place* around = func.parent(*place); !loop && d.code == Code::NotCompact && around; around = func.parent(*around)) {
        bool is_named = around->is_loop() && std::any_of(d.args.begin(), d.args.end(), [&](const auto& arg) { return arg.first == "subtree" && arg.second == around->name().view(); });
        if (is_named) { loop = around; }
      }
    }
    if (!loop) { continue; }
    auto block_named = [&](std::string_view arg) -> const Place* {
      for (const auto& [key, value] : d.args) {
        if (key != arg) { continue; }
        for (const Place* block : func.child_blocks(*loop)) {
          if (block->name() == std::string_view(value)) { return block; }
        }
        // A block in another block, as in the parts of a partitioned loop.
        for (int i = loop->index + 1; i < loop->end; ++i) {
          const Place& place = func.places()[static_cast<size_t>(i)];
          if (place.is_block() && place.name() == std::string_view(value)) { return &place; }
        }
      }
      return nullptr;
    };
    const Place* first = block_named(d.code == Code::IterationsDepend ? "producer" : "block");
    const Place* second = d.code == Code::IterationsDepend ? block_named("consumer") : first;
    if (!first || !second) { continue; }
    if (auto found = find_conflict(func, *first, *second, *loop)) { return found; }
  }
  return {};
}

// Numbers near a wrong one: first those below it (a count used as an index is too large by one), then the usual ones.
auto numbers_near(const Value& given, const Param& param) -> std::vector<Value> {
  std::vector<Value> out;
  if (const auto* number = given.as<int64_t>()) {
    if (*number < 0) { out.emplace_back(-*number); }
    for (int64_t k = *number - 1; k >= 0 && out.size() < 8; --k) { out.emplace_back(k); }
  }
  if (param.otherwise) { out.push_back(*param.otherwise); }
  for (int64_t usual : {0, 1, 2, -1}) { out.emplace_back(usual); }
  return out;
}

// The divisor of a number that is nearest to another number, by ratio.
auto nearest_divisor(int64_t of, int64_t to) -> int64_t {
  int64_t best = 1;
  auto apart = [&](int64_t d) { return static_cast<double>(std::max(d, to)) / static_cast<double>(std::min(d, to)); };
  auto consider = [&](int64_t d) { if (apart(d) < apart(best)) { best = d; } };
  for (int64_t d = 1; d <= of / d && d < 100000; ++d) {
    if (of % d != 0) { continue; }
    consider(d);
    consider(of / d);
  }
  return best;
}

// Factors near those that do not divide an extent, as many as before, so that the results can still be unpacked. First tries to infer one
// factor (None); then replaces the others by the nearest numbers that divide the extent.
auto factors_near(const Value& given, const Choice& choice) -> std::vector<Value> {
  const auto* list = given.as<Value::List>();
  // A number without a list is the extent of the inner loop.
  if (const int64_t* number = given.integer(); number && *number > 0 && choice.subject().is_loop()) { return {Value(Value::List{Value(), *number})}; }
  if (!list || list->empty() || !choice.subject().is_loop()) { return {}; }
  std::vector<int64_t> numbers;
  for (const Value& factor : *list) {
    const int64_t* number = factor.integer();
    if (!number && !factor.is_none()) { return {}; }
    // Replaces a value that is not a factor by None, which is inferred.
    numbers.push_back(number && *number > 0 ? *number : 2);
  }
  size_t free = 0;
  for (size_t i = 0; i < list->size(); ++i) {
    if ((*list)[i].is_none() || *(*list)[i].integer() <= 0) { free = i; break; }
  }
  auto written = [&](bool is_inferred) {
    Value::List out;
    for (size_t i = 0; i < numbers.size(); ++i) { out.push_back(is_inferred && i == free ? Value() : Value(numbers[i])); }
    return Value(std::move(out));
  };
  bool was_inferred = (*list)[free].is_none();
  std::vector<Value> out;
  auto extent = as_int(choice.subject().loop->extent);
  // Checks that the product of the other factors fits into the extent.
  int64_t product = 1;
  bool fits = true;
  for (size_t i = 0; i < numbers.size(); ++i) { fits = fits && (i == free || (!__builtin_mul_overflow(product, numbers[i], &product) && (!extent || product <= *extent))); }
  if (fits) { out.push_back(written(true)); }
  if (!extent || *extent <= 0) { return out; }
  int64_t left = *extent;
  for (size_t i = numbers.size(); i-- > 0;) {
    if (i == free) { continue; }
    numbers[i] = nearest_divisor(left, numbers[i]);
    left /= numbers[i];
  }
  numbers[free] = left;
  Value exact = written(was_inferred);
  if (out.empty() || !(out.front() == exact)) { out.push_back(std::move(exact)); }
  std::erase(out, given);
  return out;
}

// Words near an unknown one, the nearest first, from the candidates of the row and the rest of the vocabulary.
auto words_near(const Value& given, Code code, std::vector<Value> others) -> std::vector<Value> {
  const auto* word = given.as<std::string>();
  if (!word || word->size() > 64) { return others; }
  auto add = [&](std::initializer_list<const char*> words) {
    for (const char* w : words) {
      if (std::find(others.begin(), others.end(), Value(w)) == others.end()) { others.emplace_back(w); }
    }
  };
  if (code == Code::ThreadAxis) {
    others.clear();
    for (std::string_view axis : bindable_axes()) { others.emplace_back(std::string(axis)); }
  } else if (code == Code::StorageScope) {
    add({"shared.dyn", "warp", "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"});
  }
  std::multimap<size_t, Value> by_distance;
  for (Value& other : others) {
    const auto* text = other.as<std::string>();
    by_distance.emplace(text ? edit_distance(*word, *text) : SIZE_MAX, std::move(other));
  }
  std::vector<Value> out;
  for (auto& [distance, other] : by_distance) { out.push_back(std::move(other)); }
  return out;
}

// The parameter that the code alone shows to be wrong, independent of the other arguments; empty: the code names none.
auto parameter_at_fault(Code code) -> std::string_view {
  switch (code) {
    case Code::SplitProduct:
    case Code::SplitProductUnknown:
    case Code::SplitFactorSign:
    case Code::SplitInferTwice:
    case Code::SplitNeedsPredicate: return "factors";
    case Code::StorageScope: return "storage_scope";
    case Code::ThreadAxis: return "thread_axis";
    default: return {};
  }
}

// The list without repeated items.
auto once_each(const Value::List& list) -> Value::List {
  Value::List out;
  for (const Value& item : list) {
    if (std::find(out.begin(), out.end(), item) == out.end()) { out.push_back(item); }
  }
  return out;
}

// Other values for one argument of a refused call, and the number of them that may become repairs.
auto values_to_try(const Schedule& schedule, const FuncState& func, const Move& refused, Code code, size_t i) -> std::pair<std::vector<Value>, size_t> {
  const Param& param = refused.primitive->params[i];
  const bool is_no_list = code == Code::ParameterKind && param.name == "factors" && refused.values[i].integer();
  const bool is_at_fault = param.name == parameter_at_fault(code) || is_no_list;
  Choice all{schedule.state(), func, func.root(), refused.values};
  const Place* focus = &all.subject();
  std::span<const Value> chosen(refused.values.data(), i);
  Choice choice{schedule.state(), func, *focus, chosen};
  std::vector<Value> others;
  if (param.candidates) { others = param.candidates(choice); }
  if (!others.empty()) {
    // The candidates of the row.
  } else if (param.kind == ValueKind::Loop && !param.is_list) {
    // Another loop of the same nest: loops around and inside, the nearest first.
    for (const Place* loop : func.loops(*focus)) { others.insert(others.begin(), Choice::loop(*loop)); }
    for (int k = focus->index + 1; k < focus->end && focus->is_loop(); ++k) {
      if (func.places()[static_cast<size_t>(k)].is_loop()) { others.push_back(Choice::loop(func.places()[static_cast<size_t>(k)])); }
    }
  } else if (param.kind == ValueKind::Bool && param.otherwise) {
    others = {Value(!(refused.values[i] == Value(true)))};
  } else if (param.kind == ValueKind::Block && !param.is_list) {
    // For the root block, or for a block that must contain no other blocks: the blocks inside.
    const Place* given = choice.place(refused.values[i]);
    if (given && (given->parent < 0 || code == Code::NotLeafBlock)) {
      for (const Place* block : func.child_blocks(*given)) { others.push_back(Choice::block(*block)); }
    }
  } else if ((param.kind == ValueKind::Int || param.kind == ValueKind::OptionalInt) && !param.is_list) {
    others = numbers_near(refused.values[i], param);
  } else if (param.kind == ValueKind::Access || code == Code::AccessKind) {
    others = {Value("read"), Value("write")};
  }
  // Equal probabilities, as many as there are candidates.
  if (code == Code::CandidateCount && param.name == "probs") {
    const auto* candidates = i > 0 ? refused.values[i - 1].as<Value::List>() : nullptr;
    if (candidates && !candidates->empty()) { others.insert(others.begin(), Value(Value::List(candidates->size(), Value(1.0 / static_cast<double>(candidates->size()))))); }
  }
  if (const auto* list = refused.values[i].as<Value::List>(); list && code == Code::LoopTwice) { others.insert(others.begin(), Value(once_each(*list))); }
  size_t most = 1;
  if (is_at_fault && param.name == "factors") {
    std::vector<Value> near = factors_near(refused.values[i], choice);
    most = std::max<size_t>(1, near.size());
    others.insert(others.begin(), near.begin(), near.end());
  } else if (is_at_fault || verdict_of(code) == Verdict::Usage) {
    others = words_near(refused.values[i], code, std::move(others));
  }
  return {std::move(others), most};
}

// Tries the same call with one argument replaced. With `is_first`, where this leads to another refusal, also tries to replace a second argument.
void repair_by_argument(const Schedule& schedule, const FuncState& func, const Move& refused, Code code, bool is_first, const NameOfPlace& name_of,
                        const CancelToken& cancel, size_t& trials, std::vector<Repair>& out) {
  const Primitive& primitive = *refused.primitive;
  std::vector<std::pair<Move, Code>> further;   // calls that got past this refusal
  std::vector<size_t> order;
  for (size_t i = 0; i < primitive.params.size(); ++i) {
    order.insert(primitive.params[i].name == parameter_at_fault(code) ? order.begin() : order.end(), i);
  }
  for (size_t i : order) {
    if (out.size() >= 2) { break; }
    const Param& param = primitive.params[i];
    if (param.role == Role::Decision) { continue; }
    auto [others, most] = values_to_try(schedule, func, refused, code, i);
    size_t found = 0;
    for (Value& other : others) {
      if (other == refused.values[i] || trials >= most_trials || found >= most) { continue; }
      // A list that contains none of the named loops is no repair.
      if (const auto* list = other.as<Value::List>(); list && param.kind == ValueKind::Loop) {
        const auto* named = refused.values[i].as<Value::List>();
        bool is_near = false;
        for (const Value& item : *list) { is_near |= named && std::find(named->begin(), named->end(), item) != named->end(); }
        if (!is_near) { continue; }
      }
      Move move = refused;
      move.values[i] = std::move(other);
      if (cancel.is_cancelled()) { return; }
      ++trials;
      Schedule fork = schedule;
      auto applied = apply_move(fork, move);
      if (!applied.ok() && is_first && further.size() < 4 && applied.diagnostics().front().code != code) {
        further.emplace_back(move, applied.diagnostics().front().code);
      }
      if (!applied.ok() || (!primitive.is_pure && fork.module().same_as(schedule.module()))) { continue; }
      ++found;
      out.push_back({"", text_of(func, move, name_of), move});
    }
  }
  for (const auto& [move, next] : further) {
    if (out.empty()) { repair_by_argument(schedule, func, move, next, false, name_of, cancel, trials, out); }
  }
}

// Primitives with the purpose of the refused one for other situations; and the arguments that both take, in the order of the other primitive.
struct Alternative { std::string_view refused, other; std::vector<size_t> arguments; };
const std::vector<Alternative>& alternatives() {
  static const std::vector<Alternative> all = {
      {"compute_at", "reverse_compute_at", {0, 1, 2}},
      {"reverse_compute_at", "compute_at", {0, 1, 2}},
      {"compute_at", "compute_inline", {0}},
      {"reverse_compute_at", "reverse_compute_inline", {0}},
      {"compute_inline", "reverse_compute_inline", {0}},
      {"reverse_compute_inline", "compute_inline", {0}},
      {"set_scope", "cache_write", {0, 1, 2}},
      {"read_at", "cache_read", {1, 2, 3}},
      {"write_at", "cache_write", {1, 2, 3}},
      {"reindex_cache_read", "cache_read", {0, 1, 2}},
      {"reindex_cache_write", "cache_write", {0, 1, 2}},
  };
  return all;
}

// The loops around a block, outermost first, that are outside of all reduction loops: inside of a reduction loop, a consumer would run for each partial result.
auto loops_before_reduction(const FuncState& func, const Place& block) -> std::vector<const Place*> {
  std::vector<const Place*> loops;
  for (const Place* loop : func.loops(block)) {
    bool reduces = false;
    for (size_t i = 0; i < block.realize->iter_values.size(); ++i) {
      reduces = reduces || (block.block()->iter_vars[i].kind != IterKind::Spatial &&
                            uses_var(block.realize->iter_values[i], [&](const VarNode& v) { return &v == loop->loop->var.get(); }));
    }
    if (reduces) { break; }
    loops.push_back(loop);
  }
  return loops;
}

// Tries another primitive with the same arguments. For a block that cannot be inlined, tries the innermost loop of its neighbours.
void repair_by_other(const Schedule& schedule, const FuncState& func, const Move& refused, Code code, const NameOfPlace& name_of, const CancelToken& cancel, size_t& trials,
                     std::vector<Repair>& out) {
  auto attempt = [&](Move move) {
    if (out.size() >= most_repairs || trials >= most_trials || cancel.is_cancelled()) { return true; }
    ++trials;
    Schedule fork = schedule;
    if (!apply_move(fork, move).ok() || fork.module().same_as(schedule.module())) { return false; }
    out.push_back({"", text_of(func, move, name_of), std::move(move)});
    return true;
  };
  auto with_defaults = [](const Primitive& primitive, std::vector<Value> values) {
    for (size_t i = values.size(); i < primitive.params.size(); ++i) { values.push_back(primitive.params[i].otherwise.value_or(Value())); }
    return Move{&primitive, std::move(values)};
  };
  for (const Alternative& alternative : alternatives()) {
    const Primitive* other = find_primitive(alternative.other);
    if (alternative.refused != refused.primitive->name || !other) { continue; }
    std::vector<Value> values;
    for (size_t argument : alternative.arguments) { values.push_back(refused.values.at(argument)); }
    attempt(with_defaults(*other, std::move(values)));
  }
  // Tries to place a block that cannot be merged into a reduction as near to the reduction as possible.
  if (refused.primitive->name == "fuse_reduction_epilogue") {
    Choice named{schedule.state(), func, func.root(), refused.values};
    const Place* reduction = named.place(refused.values.at(0));
    const Primitive* place = find_primitive("reverse_compute_at");
    if (!reduction || !reduction->is_block() || !place) { return; }
    if (!reduction->block()->init && attempt({refused.primitive, {refused.values.at(1), refused.values.at(0)}})) { return; }
    const std::vector<const Place*> loops = loops_before_reduction(func, *reduction);
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      if (attempt(with_defaults(*place, {refused.values.at(1), Choice::loop(**loop)}))) { return; }
    }
    return;
  }
  // If a consumer cannot move to its producer, the producer may be able to move to the consumer. The outermost loop repeats the least work.
  if (code == Code::ReadsAcross) {
    Choice named{schedule.state(), func, func.root(), refused.values};
    const Primitive* place = find_primitive("compute_at");
    if (!place || !named.subject().is_block()) { return; }
    for (NodeId id : producers_of(func, named.subject())) {
      for (const Place* loop : func.loops(named.subject())) {
        if (attempt(with_defaults(*place, {Choice::block(*func.find(id)), Choice::loop(*loop)}))) { return; }
      }
    }
    return;
  }
  // A decomposed reduction is written through a copy at a loop that contains both of its blocks.
  if (code == Code::SeveralWriters && refused.primitive->name == "cache_write") {
    Choice named{schedule.state(), func, func.root(), refused.values};
    const Primitive* at_loop = find_primitive("write_at");
    const std::vector<const Place*> loops = func.loops(named.subject());
    for (auto loop = loops.rbegin(); loop != loops.rend() && at_loop; ++loop) {
      if (attempt(with_defaults(*at_loop, {Choice::loop(**loop), refused.values.at(0), refused.values.at(1), refused.values.at(2)}))) { return; }
    }
    return;
  }
  bool forwards = refused.primitive->name == "compute_inline";
  if (!forwards && refused.primitive->name != "reverse_compute_inline") { return; }
  Choice choice{schedule.state(), func, func.root(), refused.values};
  const Place& block = choice.subject();
  if (!block.is_block() || block.parent < 0) { return; }
  // The block at the other end of the buffer may be movable where this one is not.
  for (NodeId id : forwards ? consumers_of(func, block) : producers_of(func, block)) {
    const Primitive* other = find_primitive(forwards ? "reverse_compute_inline" : "compute_inline");
    if (other && attempt(with_defaults(*other, {Choice::block(*func.find(id))}))) { break; }
  }
  for (NodeId id : forwards ? consumers_of(func, block) : producers_of(func, block)) {
    std::vector<const Place*> loops = forwards ? func.loops(*func.find(id)) : loops_before_reduction(func, *func.find(id));
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      const Primitive* place = find_primitive(forwards ? "compute_at" : "reverse_compute_at");
      if (place && attempt(with_defaults(*place, {Choice::block(block), Choice::loop(**loop)}))) { return; }
    }
  }
}

// Primitives that often make another primitive legal; those with the smallest change first.
constexpr std::string_view clearing[] = {"reorder", "compute_inline", "reverse_compute_inline", "compute_at", "reverse_compute_at", "decompose_reduction", "split", "fuse", "rfactor", "blockize", "cache_write"};

// Look-ups inside the refused call: they run after calls that are put before it, and see their effect.
auto lookups_in(const Schedule& schedule, const Origin& call) -> std::vector<const Instruction*> {
  std::vector<const Instruction*> out;
  if (!call.is_known()) { return out; }
  const auto all = schedule.trace().instructions();
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const Origin& origin = (*at)->origin;
    if (!(*at)->primitive->is_pure || origin.decl != call.decl || origin.begin < call.begin || origin.end > call.end) { break; }
    out.insert(out.begin(), *at);
  }
  return out;
}

// True if the look-ups, repeated after the repair, find the same loops and blocks that the call has as `values`. If a block has more loops than before,
// the call may count them from the first or from the last: one of the two must match.
auto find_the_same(Schedule fork, const std::vector<const Instruction*>& lookups, const std::vector<Value>& values) -> bool {
  auto place_of = [&](const Value& value) -> NodeId {
    if (const auto* b = value.as<BlockRV>()) { auto place = fork.get(*b); return place.ok() ? (*place)->id : 0; }
    if (const auto* l = value.as<LoopRV>()) { auto place = fork.get(*l); return place.ok() ? (*place)->id : 0; }
    return 0;
  };
  std::function<bool(const Value&, const Value&)> is_in = [&](const Value& value, const Value& within) {
    const auto* list = within.as<Value::List>();
    return value == within || (list && std::any_of(list->begin(), list->end(), [&](const Value& item) { return is_in(value, item); }));
  };
  for (size_t k = 0; k < lookups.size(); ++k) {
    const Instruction& lookup = *lookups[k];
    auto found = fork.apply_values(*lookup.primitive, lookup.values, lookup.decision);
    if (!found.ok() || found->size() < lookup.outputs.size()) { return false; }
    const size_t more = found->size() - lookup.outputs.size();
    for (size_t i = 0; i < lookup.outputs.size(); ++i) {
      const Value& before = lookup.outputs[i];
      bool is_used = std::any_of(values.begin(), values.end(), [&](const Value& v) { return is_in(before, v); });
      for (size_t later = k + 1; !is_used && later < lookups.size(); ++later) {
        is_used = std::any_of(lookups[later]->values.begin(), lookups[later]->values.end(), [&](const Value& v) { return is_in(before, v); });
      }
      if (!is_used || (!before.as<BlockRV>() && !before.as<LoopRV>())) { continue; }
      NodeId place = place_of(before);
      if (place == 0 || place_of((*found)[i]) != place || place_of((*found)[i + more]) != place) { return false; }
    }
  }
  return true;
}

void repair_before(const Schedule& schedule, const FuncState& func, const Primitive& primitive, const std::vector<Value>& values, const std::vector<const Place*>& near,
                   const std::vector<const Instruction*>& lookups, const NameOfPlace& name_of, const CancelToken& cancel, size_t& trials, std::vector<Repair>& out) {
  for (std::string_view name : clearing) {
    const Primitive* clear = find_primitive(name);
    if (!clear) { continue; }
    for (const Place* place : near) {
      for (const JudgedMove& judged : moves_at(schedule.state(), func, *place, clear)) {
        if (out.size() >= most_repairs || trials >= most_trials || cancel.is_cancelled()) { return; }
        if (!judged.is_legal()) { continue; }
        ++trials;
        Schedule fork = schedule;
        if (!apply_move(fork, judged.move).ok()) { continue; }
        if (!lookups.empty() && !find_the_same(fork, lookups, values)) { continue; }
        IRModule between = fork.module();
        if (!fork.apply_values(primitive, values).ok() || fork.module().same_as(between)) { continue; }
        out.push_back({text_of(func, judged.move, name_of), "", judged.move});
        break;
      }
    }
  }
}

// For a variable whose loop or block an earlier step consumed: tries the same call with the loops or blocks that the step made from it.
void repair_gone(const Schedule& schedule, const Primitive& primitive, const std::vector<Value>& values, const NameOfPlace& name_of, std::vector<Repair>& out) {
  auto is_gone = [&](const Value& value) {
    if (const auto* b = value.as<BlockRV>()) { return !schedule.get(*b).ok(); }
    if (const auto* l = value.as<LoopRV>()) { return !schedule.get(*l).ok(); }
    return false;
  };
  auto all = schedule.trace().instructions();
  auto successors = [&](const Value& gone) -> std::vector<Value> {
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      bool takes_it = false;
      for (const Value& input : (*at)->values) {
        const auto* list = input.as<Value::List>();
        takes_it = takes_it || input == gone || (list && std::find(list->begin(), list->end(), gone) != list->end());
      }
      if (takes_it && !(*at)->primitive->is_pure && !(*at)->outputs.empty()) { return (*at)->outputs; }
    }
    return {};
  };
  const FuncState* func = schedule.state().func(schedule.func_working_on());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto* list = values[i].as<Value::List>();
    for (size_t k = 0, n = list ? list->size() : 1; k < n; ++k) {
      const Value& given = list ? (*list)[k] : values[i];
      if (!is_gone(given)) { continue; }
      for (const Value& made : successors(given)) {
        if (made.data.index() != given.data.index() || is_gone(made) || out.size() >= most_repairs) { continue; }
        std::vector<Value> others = values;
        if (list) { std::get<Value::List>(others[i].data)[k] = made; } else { others[i] = made; }
        auto by_place = to_places(schedule, *func, primitive, others);
        Schedule fork = schedule;
        if (!by_place || !fork.apply_values(primitive, others).ok() || fork.module().same_as(schedule.module())) { continue; }
        Move move{&primitive, std::move(*by_place)};
        std::string text = text_of(*func, move, name_of);
        out.push_back({"", std::move(text), std::move(move)});
      }
      return;
    }
  }
}

}  // namespace

auto explain(const Schedule& schedule, const Primitive& primitive, const std::vector<Value>& values, const Diagnostics& why, const NameOfPlace& name_of,
             const CancelToken& cancel) -> Explanation {
  Explanation out;
  if (why.empty()) { return out; }
  out.verdict = verdict_of(why.front().code);
  const FuncState* func = schedule.state().func(schedule.func_working_on());
  if (!func || !func->is_schedulable()) { return out; }
  if (why.front().code == Code::VariableGone) { repair_gone(schedule, primitive, values, name_of, out.repairs); }
  auto by_place = to_places(schedule, *func, primitive, values);
  if (!by_place) { return out; }
  out.conflict = conflict_of(*func, why);
  if (out.conflict) {
    for (Conflict::Instance* one : {&out.conflict->first, &out.conflict->second}) { one->at = statement_touching(*func->find(one->block), one->writes, out.conflict->buffer); }
  }
  if (out.conflict) { out.verdict = Verdict::Illegal; }
  bool is_shown = out.conflict || std::any_of(why.front().args.begin(), why.front().args.end(), [](const auto& arg) { return arg.first == "shown"; });
  if (why.front().code == Code::IterationsDepend && !is_shown) { out.verdict = Verdict::NotProved; }
  size_t trials = 0;
  repair_by_argument(schedule, *func, {&primitive, *by_place}, why.front().code, true, name_of, cancel, trials, out.repairs);
  // Look-ups and sampling change nothing, so no earlier step could make them legal.
  if (primitive.is_pure) { return out; }
  repair_by_other(schedule, *func, {&primitive, *by_place}, why.front().code, name_of, cancel, trials, out.repairs);
  std::vector<const Place*> near = blamed(*func, why);
  Choice choice{schedule.state(), *func, func->root(), *by_place};
  if (&choice.subject() != &func->root()) { near.push_back(&choice.subject()); }
  // Adds their loops and the blocks below, each once.
  for (size_t i = 0, n = near.size(); i < n && near.size() < 24; ++i) {
    for (const Place* loop : func->loops(*near[i])) { near.push_back(loop); }
    for (const Place* block : func->child_blocks(*near[i])) { near.push_back(block); }
  }
  std::vector<const Place*> once;
  for (const Place* place : near) {
    if (place->parent >= 0 && std::find(once.begin(), once.end(), place) == once.end()) { once.push_back(place); }
  }
  repair_before(schedule, *func, primitive, values, once, lookups_in(schedule, why.front().where), name_of, cancel, trials, out.repairs);
  return out;
}

auto with_explanation(Diagnostics why, const Explanation& explanation) -> Diagnostics {
  if (why.empty()) { return why; }
  Diagnostic& d = why.front();
  if (explanation.conflict) {
    // Adds notes at the two statements. The statement that gets a wrong value comes first, as in the text.
    const auto& [first, second, buffer, element, text] = *explanation.conflict;
    bool is_first_shown = second.writes && !first.writes;
    const Conflict::Instance& shown = is_first_shown ? first : second;
    const Conflict::Instance& other = is_first_shown ? second : first;
    d.notes.push_back({shown.at.is_known() ? shown.at : d.where, text, shown.block});
    if (other.at.is_known() && other.at != shown.at) {
      d.notes.push_back({other.at, fmt::format("`{}[{}]` is {} here", buffer->name.view(), fmt::join(element, ", "), other.writes ? "written" : "read"), other.block});
    }
  } else if (explanation.verdict == Verdict::NotProved) {
    d.notes.push_back({d.where, "no proof was found that this is legal; it may be", 0});
  }
  std::vector<std::string> remedies;
  for (const Repair& repair : explanation.repairs) { remedies.push_back(repair.text()); }
  for (std::string& remedy : d.remedies) { remedies.push_back(std::move(remedy)); }
  if (std::string_view usual = usual_remedy(d.code); remedies.empty() && !usual.empty()) { remedies.emplace_back(usual); }
  d.remedies = std::move(remedies);
  return why;
}

}  // namespace loopsmith::schedule
