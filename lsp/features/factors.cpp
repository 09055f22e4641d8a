// Factors of splits, and other factors in their place: see factors.h.
#include "lsp/features/factors.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/estimate.h"
#include "lsp/features/steps.h"
#include "schedule/primitive.h"
#include "support/codes.h"
#include "support/text.h"
#include "target/target.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

// One hover replays the schedule once per value, and all replays together may take only milliseconds.
constexpr size_t most_factors = 9, fewest_factors = 3;
constexpr size_t most_steps = 600;    // the limit of replayed steps, over all factors

struct FactorHere {
  Span span;                                      // of the number in the text
  std::vector<std::optional<Span>> numbers;       // by factor: its number in the text; none: it is not written as a number
  cost::FactorChoices choices;
  std::optional<double> seconds;                  // the estimate for the present schedule
};

/// The list of factors in a call of `split` at an offset, and the index of the number there.
struct Written {
  Origin call;
  const syntax::ListExpr* list = nullptr;
  size_t position = 0;
};
auto written_at(const Snapshot& snapshot, uint32_t offset) -> std::optional<Written> {
  Origin at = snapshot.syntax().origin_at(offset);
  syntax::ItemPtr item = snapshot.syntax().declaration(at.decl);
  if (!item) { return std::nullopt; }
  std::optional<Written> found;
  auto take = [&](const syntax::CallExpr& call, const syntax::Expr* value) {
    const auto* list = value != nullptr ? value->as<syntax::ListExpr>() : nullptr;
    for (size_t i = 0; list != nullptr && i < list->elements.size(); ++i) {
      const auto* number = list->elements[i]->as<syntax::IntExpr>();
      if (number != nullptr && at.begin >= number->span.begin && at.begin <= number->span.end) { found = Written{call.origin(), list, i}; }
    }
  };
  for (const syntax::Stmt* statement : item->statements) {
    syntax::walk(*statement, [&](const syntax::Node& node) {
      if (node.decl != at.decl || at.begin < node.span.begin || at.begin > node.span.end) { return false; }
      const auto* call = node.as<syntax::CallExpr>();
      const auto* callee = call != nullptr ? call->callee->as<syntax::AttributeExpr>() : nullptr;
      if (callee == nullptr || !(callee->attr.name == "split")) { return true; }
      if (call->args.size() > 1) { take(*call, call->args[1]); }
      for (const syntax::Keyword& keyword : call->keywords) {
        if (keyword.name.name == "factors") { take(*call, keyword.value); }
      }
      return true;
    });
  }
  return found;
}

auto factor_at(const Snapshot& snapshot, uint32_t offset, const CancelToken& cancel) -> std::optional<FactorHere> {
  auto written = written_at(snapshot, offset);
  if (!written) { return std::nullopt; }
  const DeclId decl = snapshot.syntax().origin_at(offset).decl;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.decl != decl || schedule.run == nullptr || !schedule.is_settled() || schedule.run->result == nullptr || !schedule.run->program) { continue; }
    const schedule::Schedule& result = *schedule.run->result;
    const schedule::Trace trace = result.trace();
    std::vector<const schedule::Instruction*> instructions = trace.instructions();
    // A statement in a loop runs more than once; its number then belongs to several splits, and no factors are offered.
    std::optional<size_t> split;
    for (size_t i = 0; i < instructions.size(); ++i) {
      if (instructions[i]->primitive->name != "split" || !(snapshot.resolve(instructions[i]->origin) == snapshot.resolve(written->call))) { continue; }
      if (split) { return std::nullopt; }
      split = i;
    }
    if (!split) { continue; }
    size_t most = std::min(most_factors, most_steps / instructions.size());
    if (most < fewest_factors) { return std::nullopt; }
    const cost::CoreModel core = cost::core_for(schedule.target);
    auto choices = cost::other_factors(schedule.run->program, result, *split, written->position, core, most, cancel);
    const schedule::FuncState* func = result.state().func(result.func_working_on());
    if (!choices || func == nullptr || choices->position != written->position) { return std::nullopt; }
    auto span_of = [&](const syntax::Node& node) { return snapshot.resolve(node.origin()); };
    FactorHere here{span_of(*written->list->elements[written->position]).value_or(Span{offset, offset}), {}, std::move(*choices), {}};
    for (const syntax::Expr* element : written->list->elements) { here.numbers.push_back(element->as<syntax::IntExpr>() != nullptr ? span_of(*element) : std::nullopt); }
    if (auto estimated = cost::estimate(*func, core)) { here.seconds = estimated->seconds; }
    return here;
  }
  return std::nullopt;
}

auto gain_of(const FactorHere& here, const cost::OtherFactor& one) -> std::optional<double> {
  if (!here.seconds || !one.seconds || *one.seconds <= 0) { return std::nullopt; }
  return *here.seconds / *one.seconds;
}

auto gain_words(const FactorHere& here, const cost::OtherFactor& one) -> std::string {
  auto gain = gain_of(here, one);
  return gain ? cost::gain_text(*gain) : std::string();
}

/// The loops whose memory depends most on the factor: loops that move to another cache, or else loops of the split; outermost first.
auto telling_loops(const FactorHere& here, const cost::CoreModel& core) -> std::vector<Name> {
  struct Seen { Name name; bool is_of_split; std::vector<int64_t> bytes; };
  std::vector<Seen> all;
  for (const cost::OtherFactor& one : here.choices.all) {
    for (const cost::NestedLoop& loop : one.loops) {
      auto known = std::find_if(all.begin(), all.end(), [&](const Seen& seen) { return seen.name == loop.name; });
      if (known == all.end()) { known = all.insert(all.end(), {loop.name, loop.is_of_split, {}}); }
      if (loop.bytes) { known->bytes.push_back(*loop.bytes); }
    }
  }
  auto differs = [](const Seen& seen, auto&& of) { return std::any_of(seen.bytes.begin(), seen.bytes.end(), [&](int64_t bytes) { return of(bytes) != of(seen.bytes.front()); }); };
  std::vector<Name> crossing;
  std::vector<Name> made;
  for (const Seen& seen : all) {
    if (differs(seen, [&](int64_t bytes) { return cost::level_that_holds(static_cast<double>(bytes), core); })) { crossing.push_back(seen.name); }
    else if (seen.is_of_split && differs(seen, [](int64_t bytes) { return bytes; })) { made.push_back(seen.name); }
  }
  std::vector<Name> out = crossing.empty() ? made : crossing;
  constexpr size_t most_loops = 2;
  if (out.size() > most_loops) { out.resize(most_loops); }
  return out;
}

}  // namespace

auto hover_factor(const Snapshot& snapshot, uint32_t at) -> std::optional<HoverInfo> {
  auto here = factor_at(snapshot, at, {});
  if (!here) { return std::nullopt; }
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  const cost::CoreModel core = cost::core_for(schedule != nullptr ? schedule->target : std::string());
  HoverInfo info{here->span, {}, {}};
  std::vector<Name> loops = telling_loops(*here, core);
  for (const cost::OtherFactor& one : here->choices.all) {
    if (one.is_here) { info.title = fmt::format("factor {} of a loop of {}, and others in its place", one.factor, grouped(here->choices.extent)); }
    std::string text = one.is_here ? fmt::format("{}, here", one.factor) : fmt::format("{}", one.factor);
    if (!one.why_not.empty()) {
      // A replayed trace must have the same number of results; a script may unpack any number.
      bool is_of_trace = one.why_not.front().code == Code::TraceOutputs;
      text += is_of_trace ? std::string(": not known: the steps behind it find other loops then") : ": refused: " + one.why_not.front().message();
    } else {
      std::string facts;
      for (Name name : loops) {
        for (const cost::NestedLoop& loop : one.loops) {
          if (!(loop.name == name) || !loop.bytes) { continue; }
          facts += fmt::format("{}one run of `{}` touches {} ({})", facts.empty() ? "" : ", ", name.view(), bytes_text(*loop.bytes), cost::level_that_holds(static_cast<double>(*loop.bytes), core));
        }
      }
      if (std::string gain = one.is_here ? std::string() : gain_words(*here, one); !gain.empty()) { facts += (facts.empty() ? "" : "; ") + gain; }
      if (!facts.empty()) { text += ": " + facts; }
    }
    info.facts.push_back({"factor", text});
  }
  return info;
}

auto other_factors_offered(const Snapshot& snapshot, uint32_t at, const CancelToken& cancel) -> std::vector<TextRewrite> {
  auto here = factor_at(snapshot, at, cancel);
  if (!here) { return {}; }
  const std::vector<cost::OtherFactor>& all = here->choices.all;
  auto now = std::find_if(all.begin(), all.end(), [](const cost::OtherFactor& one) { return one.is_here; });
  if (now == all.end()) { return {}; }
  auto is_possible = [](const cost::OtherFactor& one) { return !one.is_here && one.why_not.empty(); };
  std::vector<const cost::OtherFactor*> offered;
  auto offer = [&](const cost::OtherFactor* one) {
    if (one != nullptr && std::find(offered.begin(), offered.end(), one) == offered.end()) { offered.push_back(one); }
  };
  const cost::OtherFactor* best = nullptr;
  for (const cost::OtherFactor& one : all) {
    if (is_possible(one) && gain_of(*here, one).value_or(0) > 1 && !gain_words(*here, one).empty() && (best == nullptr || *one.seconds < *best->seconds)) { best = &one; }
  }
  offer(best);
  for (auto smaller = now; smaller != all.begin();) {
    if (is_possible(*--smaller)) {
      offer(&*smaller);
      break;
    }
  }
  auto larger = std::find_if(now, all.end(), is_possible);
  if (larger != all.end()) { offer(&*larger); }
  std::vector<TextRewrite> out;
  for (const cost::OtherFactor* one : offered) {
    TextRewrite rewrite;
    std::string gain = gain_words(*here, *one);
    rewrite.title = fmt::format("Split by {} instead of {}{}", one->factor, now->factor, gain.empty() ? "" : fmt::format(" ({})", gain));
    bool can_write = one->factors.size() == here->numbers.size() && now->factors.size() == one->factors.size();
    for (size_t i = 0; can_write && i < one->factors.size(); ++i) {
      if (one->factors[i] == now->factors[i]) { continue; }
      can_write = here->numbers[i].has_value() && one->factors[i].integer() != nullptr;
      if (can_write) { rewrite.edits.push_back({*here->numbers[i], std::to_string(*one->factors[i].integer())}); }
    }
    if (can_write && !rewrite.edits.empty()) { out.push_back(std::move(rewrite)); }
  }
  return out;
}

}  // namespace loopsmith::lsp
