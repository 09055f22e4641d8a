// Commands about what is there and what could be done next: loops, hint, why-not, repair.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cost/estimate.h"
#include "cost/what_if.h"
#include "repl/commands.h"
#include "repl/pictures.h"
#include "repl/text.h"
#include "schedule/moves.h"

namespace loopsmith::repl {
namespace {

// What people try first; the others are shown where something is named.
constexpr std::string_view usual[] = {"split", "fuse", "reorder", "parallel", "vectorize", "unroll", "cache_read", "cache_write", "compute_at", "reverse_compute_at",
                                      "compute_inline", "reverse_compute_inline", "decompose_reduction", "rfactor", "tensorize"};

// Of every loop and block the first legal move of each primitive, as a line that can be typed, with a number; all of them where a
// primitive, loop or block is named, and then why the others may not. Where there are more than one reads, those that should pay most
// alone, and `all` has the others.
auto hint(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  const schedule::State& state = session.schedule().state();
  const schedule::FuncState* func = state.func(session.function());
  if (!func || !func->is_schedulable()) {
    session.complain("there is nothing to schedule here\n");
    return false;
  }
  const schedule::Primitive* only = nullptr;
  std::vector<const schedule::Place*> about;
  bool is_all = false;
  for (const std::string& name : arguments) {
    if (name == "all") {
      is_all = true;
    } else if (const schedule::Primitive* primitive = schedule::find_primitive(name)) {
      only = primitive;
    } else if (const schedule::Place* place = session.place_that_is_meant(name)) {
      about.push_back(place);
    } else if (session.place_of(name + "[0]") != nullptr) {
      for (size_t i = 0; const schedule::Place* one = session.place_of(fmt::format("{}[{}]", name, i)); ++i) { about.push_back(one); }
    } else {
      session.complain(session.is_gone(name) ? session.no_place(name) : "`" + name + "` is no primitive, and no loop or block of the program\n");
      return false;
    }
  }
  bool is_brief = only == nullptr && about.empty();
  if (about.empty()) {
    for (const schedule::Place& place : func->places()) {
      if (place.parent >= 0) { about.push_back(&place); }
    }
  }
  auto name_of = [&](const schedule::Place& place) { return session.name_of(place); };
  const eval::Scope& scope = *session.steps()[session.position()].frame.scope;
  auto is_taken = [&](std::string_view name) { return scope.find_here(Name(name)) != nullptr; };
  const cost::CoreModel core = cost::core_of(session.target());
  std::vector<std::pair<double, size_t>> gains;      // those that are noticed, and the number of the choice
  std::string out;
  std::vector<std::string> choices;
  std::map<std::string_view, std::string> refused;   // by primitive: the first reason
  std::set<std::string_view> allowed;                // somewhere
  CancelToken token = session.interrupt();
  auto refusal = [&](std::string_view primitive, const std::string& why) { return "  " + wrapped(fmt::format("not {}: {}", primitive, why), session.host().width - 2, 6); };
  for (const schedule::Place* place : about) {
    if (token.is_cancelled()) { break; }
    std::string head = fmt::format("{} {}\n", place->is_loop() ? "loop" : "block", place->name().view());
    std::map<std::string_view, size_t> shown;
    std::map<std::string_view, std::string> refused_here;
    for (const schedule::JudgedMove& judged : schedule::moves_at(state, *func, *place, only)) {
      std::string_view primitive = judged.move.primitive->name;
      if (is_brief && std::find(std::begin(usual), std::end(usual), primitive) == std::end(usual)) { continue; }
      if (!judged.is_legal()) {
        (is_brief ? refused : refused_here).emplace(primitive, judged.why.front().message());
        continue;
      }
      allowed.insert(primitive);
      if (shown[primitive]++ > 0 && is_brief) { continue; }
      if (token.is_cancelled()) { break; }
      auto tried = schedule::try_move(session.schedule(), judged.move, name_of, is_taken);
      if (!tried.ok()) { continue; }
      choices.push_back(tried->statement);
      const schedule::FuncState* after = tried->after.state().func(session.function());
      double gain = after != nullptr ? cost::gain(*func, *after, core).value_or(1) : 1;
      std::string told = cost::gain_text(gain);
      if (gain > 1 && !told.empty()) { gains.emplace_back(gain, choices.size()); }
      out += std::exchange(head, {}) + fmt::format("  {:>3}) {}{}\n", choices.size(), tried->statement, told.empty() ? "" : "   # " + told);
    }
    for (const auto& [primitive, why] : refused_here) {
      if (!shown.contains(primitive)) { out += std::exchange(head, {}) + refusal(primitive, why); }
    }
  }
  if (token.is_cancelled()) {
    session.complain("stopped\n");
    return false;
  }
  for (const auto& [primitive, why] : refused) {
    if (!allowed.contains(primitive)) { out += refusal(primitive, why); }
  }
  if (out.empty()) { out = "no move is known here\n"; }
  std::sort(gains.begin(), gains.end(), [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  constexpr size_t most_read = 30;
  if (is_brief && !is_all && choices.size() > most_read && gains.size() > 2) {
    if (gains.size() > 10) { gains.resize(10); }
    std::vector<std::string> best;
    out = "most promising, by estimate:\n";
    for (auto [gain, number] : gains) {
      best.push_back(choices[number - 1]);
      out += fmt::format("  {:>3}) {}   # {}\n", best.size(), best.back(), cost::gain_text(gain));
    }
    out += wrapped(fmt::format("{} more are legal: `:hint all` lists them, `:hint LOOP` or `:hint PRIMITIVE` those of one, and why the rest are not{}", choices.size() - best.size(),
                               session.host().can_choose ? "; type a number to do it" : ""), session.host().width);
    session.show(out);
    session.offer(std::move(best));
    return true;
  }
  if (is_brief && gains.size() > 1) {
    if (gains.size() > 3) { gains.resize(3); }
    out += "most promising, by estimate:";
    for (auto [gain, number] : gains) { out += fmt::format("{} {} ({:.2g}x)", number == gains.front().second ? "" : ",", number, gain); }
    out += "\n";
  }
  if (!choices.empty() && session.host().can_choose) { out += is_brief ? "type a number to do it; `:hint LOOP` or `:hint PRIMITIVE` shows more of one\n" : "type a number to do it\n"; }
  session.show(out);
  session.offer(std::move(choices));
  return true;
}

auto why_not(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  std::string call;
  for (const std::string& word : arguments) { call += (call.empty() ? "" : " ") + word; }
  if (call.empty()) {
    session.complain(":why-not takes a call, as in `:why-not reorder(k, i)`\n");
    return false;
  }
  return session.why_not(call);
}

auto repair(Session& session, const std::vector<std::string>& arguments) -> bool {
  size_t number = arguments.empty() ? 1 : static_cast<size_t>(std::strtoul(arguments[0].c_str(), nullptr, 10));
  return session.choose(number);
}

struct SplitResult {
  size_t instruction = 0;   // of the trace
  size_t position = 0;      // among what it gave
};
/// The split that made a loop, and which of its loops that is; none: none did. A loop may have been looked up again since.
auto split_of(const schedule::Schedule& schedule, NodeId id) -> std::optional<SplitResult> {
  const schedule::Trace trace = schedule.trace();
  std::vector<const schedule::Instruction*> instructions = trace.instructions();
  for (size_t i = instructions.size(); i-- > 0;) {
    for (size_t o = 0; instructions[i]->primitive->name == "split" && o < instructions[i]->outputs.size(); ++o) {
      const auto* loop = instructions[i]->outputs[o].as<schedule::LoopRV>();
      auto place = loop != nullptr ? schedule.get(*loop) : Result<const schedule::Place*>(nullptr);
      if (loop != nullptr && place.ok() && (*place)->id == id) { return SplitResult{i, o}; }
    }
  }
  return std::nullopt;
}

auto factors_text(const schedule::Value::List& factors) -> std::string {
  std::string text;
  for (const schedule::Value& factor : factors) {
    const int64_t* number = factor.integer();
    text += (text.empty() ? "" : ", ") + (factor.is_none() ? std::string("None") : number != nullptr ? std::to_string(*number) : std::string("..."));
  }
  return "[" + text + "]";
}

// Of a split that was made every other factor, with all steps behind it; of another loop what a split would make of it.
auto what_if(Session& session, const std::vector<std::string>& arguments) -> bool {
  constexpr size_t most = 16;
  if (!needs_program(session)) { return false; }
  if (arguments.size() > 1) {
    session.complain(":what-if takes a loop, or the number of a step that splits one\n");
    return false;
  }
  const schedule::Schedule& here = session.schedule();
  const schedule::FuncState* func = here.state().func(session.function());
  if (func == nullptr || !func->is_schedulable()) {
    session.complain("there is nothing to schedule here\n");
    return false;
  }
  const cost::CoreModel core = cost::core_of(session.target());
  auto estimated = cost::estimate(*func, core);
  const std::optional<double> seconds = estimated ? std::optional(estimated->seconds) : std::nullopt;
  const CancelToken token = session.interrupt();
  const schedule::Trace trace = here.trace();
  std::vector<const schedule::Instruction*> instructions = trace.instructions();
  auto is_split = [](const schedule::Instruction& one) { return one.primitive->name == "split"; };
  std::optional<SplitResult> split;
  const schedule::Place* place = nullptr;
  if (arguments.empty()) {
    for (size_t i = instructions.size(); i-- > 0 && !split;) {
      if (is_split(*instructions[i])) { split = SplitResult{i, instructions[i]->outputs.size() - 1}; }
    }
    if (!split) {
      session.complain("nothing was split yet: `:what-if LOOP` says what splits of a loop would come to\n");
      return false;
    }
  } else if (place = session.place_that_is_meant(arguments[0]); place != nullptr) {
    if (!place->is_loop()) {
      session.complain("`" + arguments[0] + "` is a block: `:what-if` takes a loop\n");
      return false;
    }
    split = split_of(here, place->id);
  } else if (auto step = session.find_step(arguments[0]); step) {
    std::vector<size_t> path = session.path_to(session.position());
    if (std::find(path.begin(), path.end(), *step) == path.end()) {
      session.complain(fmt::format("step {} is none of those by which one came here; `:steps` lists them\n", *step));
      return false;
    }
    size_t begin = session.schedule_at(session.steps()[*step].parent).trace().size();
    for (size_t i = begin; i < std::min(session.schedule_at(*step).trace().size(), instructions.size()) && !split; ++i) {
      if (is_split(*instructions[i])) { split = SplitResult{i, instructions[i]->outputs.size() - 1}; }
    }
    if (!split) {
      session.complain(fmt::format("step {} splits nothing\n", *step));
      return false;
    }
  } else {
    session.complain("`" + arguments[0] + "` is no loop of the program and no step\n");
    return false;
  }
  if (split) {
    auto choices = cost::other_factors(session.original(), here, split->instruction, split->position, core, most, token);
    if (token.is_cancelled()) {
      session.complain("stopped\n");
      return false;
    }
    if (!choices) {
      session.complain("the factors of that split are no numbers that could be others\n");
      return false;
    }
    const auto* factors = instructions[split->instruction]->values[1].as<schedule::Value::List>();
    session.show(wrapped(fmt::format("the split of {} by {} with another factor in place {}, and the steps behind it as they are:", choices->extent, factors_text(*factors), choices->position + 1), session.host().width) +
                 factors_picture(*choices, core, seconds, session.settings()));
    return true;
  }
  // Nothing made it: what a split would. One is made on a copy, for the others to be tried in its place.
  const schedule::Primitive* row = schedule::find_primitive("split");
  auto name_of = [&](const schedule::Place& one) { return session.name_of(one); };
  const eval::Scope& scope = *session.steps()[session.position()].frame.scope;
  auto is_taken = [&](std::string_view name) { return scope.find_here(Name(name)) != nullptr; };
  for (const schedule::JudgedMove& judged : schedule::moves_at(here.state(), *func, *place, row)) {
    if (!judged.is_legal()) {
      session.complain(fmt::format("`{}` cannot be split: {}\n", arguments[0], judged.why.front().message()));
      return false;
    }
    auto tried = schedule::try_move(here, judged.move, name_of, is_taken);
    if (!tried.ok()) { continue; }
    const schedule::Trace after = tried->after.trace();
    auto choices = cost::other_factors(session.original(), tried->after, after.size() - 1, 0, core, most, token);
    if (token.is_cancelled()) {
      session.complain("stopped\n");
      return false;
    }
    if (!choices) { continue; }
    std::vector<std::string> lines;
    std::string written = factors_text(*after.last().values[1].as<schedule::Value::List>());
    for (cost::OtherFactor& one : choices->all) {
      one.is_here = false;
      size_t at = tried->statement.find(written);
      if (at != std::string::npos) { lines.push_back(std::string(tried->statement).replace(at, written.size(), factors_text(one.factors))); }
    }
    std::string out = fmt::format("what splits of {} ({}) would come to, by their inner factor:\n", arguments[0], choices->extent) + factors_picture(*choices, core, seconds, session.settings());
    if (lines.size() == choices->all.size() && session.host().can_choose) {
      out += fmt::format("type 1 to {} to do the first to the last of them\n", lines.size());
      session.offer(std::move(lines));
    }
    session.show(out);
    return true;
  }
  session.complain(fmt::format("there is no number that `{}` could be split by\n", arguments[0]));
  return false;
}

auto show_picture(Session& session, const std::string& picture) -> bool {
  if (picture.empty()) {
    session.complain("there is nothing to schedule here\n");
    return false;
  }
  session.show(picture);
  return true;
}

auto loops(Session& session, const std::vector<std::string>&) -> bool { return needs_program(session) && show_picture(session, loops_picture(session)); }
auto footprint(Session& session, const std::vector<std::string>&) -> bool { return needs_program(session) && show_picture(session, footprint_picture(session)); }
auto accesses(Session& session, const std::vector<std::string>&) -> bool { return needs_program(session) && show_picture(session, accesses_picture(session)); }
auto roofline(Session& session, const std::vector<std::string>&) -> bool { return needs_program(session) && show_picture(session, roofline_picture(session)); }

}  // namespace

const Command hint_command{"hint", "[all | PRIMITIVE | LOOP|BLOCK]...", "what may be done next, numbered, and why the rest may not", hint};
const Command why_not_command{"why-not", "CALL", "would a call be refused, and why; nothing is done", why_not};
const Command what_if_command{"what-if", "[LOOP | STEP]", "what other factors of a split would come to: what its loops touch, and how fast it should be", what_if};
const Command repair_command{"repair", "[N]", "what was offered last, by its number (the number alone will do)", repair};
const Command footprint_command{"footprint", "", "what one run of each loop touches, beside the sizes of the caches", footprint};
const Command accesses_command{"accesses", "", "how far each loop moves in every buffer, from one iteration to the next", accesses};
const Command roofline_command{"roofline", "", "what was timed, under what the machine reaches", roofline};
const Command loops_command{"loops", "", "the loops and blocks, drawn: extents, kinds, bindings", loops};

}  // namespace loopsmith::repl
