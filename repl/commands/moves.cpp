// Commands about the program here and possible next steps: loops, footprint, accesses, roofline, hint, why-not, what-if, repair.
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

// The most common primitives. The others are shown if a primitive, loop or block is named.
constexpr std::string_view usual[] = {"split", "fuse", "reorder", "parallel", "vectorize", "unroll", "cache_read", "cache_write", "compute_at", "reverse_compute_at",
                                      "compute_inline", "reverse_compute_inline", "decompose_reduction", "rfactor", "tensorize"};

/// The subject of `:hint`.
struct HintRequest {
  const schedule::Primitive* only = nullptr;         // null: all primitives
  std::vector<const schedule::Place*> about;         // loops and blocks
  bool is_all = false;                               // `:hint all`
  bool is_brief = false;                             // no primitive, loop or block was named: the usual primitives, one call each
};

/// None: an error was reported.
auto read_hint_request(const Session& session, const schedule::FuncState& func, const std::vector<std::string>& arguments) -> std::optional<HintRequest> {
  HintRequest request;
  for (const std::string& name : arguments) {
    if (name == "all") {
      request.is_all = true;
    } else if (const schedule::Primitive* primitive = schedule::find_primitive(name)) {
      request.only = primitive;
    } else if (const schedule::Place* place = session.place_that_is_meant(name)) {
      request.about.push_back(place);
    } else if (session.place_of(name + "[0]") != nullptr) {
      for (size_t i = 0; const schedule::Place* one = session.place_of(fmt::format("{}[{}]", name, i)); ++i) { request.about.push_back(one); }
    } else {
      session.complain(session.is_gone(name) ? session.no_place(name) : "`" + name + "` is neither a primitive, nor a loop or block of the program\n");
      return std::nullopt;
    }
  }
  request.is_brief = request.only == nullptr && request.about.empty();
  if (request.about.empty()) {
    for (const schedule::Place& place : func.places()) {
      if (place.parent >= 0) { request.about.push_back(&place); }
    }
  }
  return request;
}

/// A legal call, with its loop or block.
struct Hint {
  std::string head;        // "loop i"
  std::string statement;
  double gain = 1;         // by the estimate; 1 if the difference is within its error
};

/// Finds the legal calls at loops and blocks, and the reasons why others are refused.
class Hints {
 public:
  Hints(const Session& session, const schedule::FuncState& func, const HintRequest& request, CancelToken token)
      : session_(session), func_(func), request_(request), token_(std::move(token)), core_(cost::core_of(session.target())) {}

  std::vector<Hint> legal;
  std::string refusals;      // lines

  /// False: cancelled.
  auto run() -> bool {
    for (const schedule::Place* place : request_.about) {
      if (token_.is_cancelled()) { return false; }
      add(*place);
    }
    if (token_.is_cancelled()) { return false; }
    for (const auto& [primitive, why] : refused_) {
      if (!allowed_.contains(primitive)) { refusals += refusal(primitive, why); }
    }
    return true;
  }

 private:
  void add(const schedule::Place& place) {
    std::string head = fmt::format("{} {}", place.is_loop() ? "loop" : "block", place.name().view());
    std::map<std::string_view, size_t> shown;
    std::map<std::string_view, std::string> refused_here;
    std::set<std::string_view> allowed_here;
    for (const schedule::JudgedMove& judged : schedule::moves_at(session_.schedule().state(), func_, place, request_.only)) {
      std::string_view primitive = judged.move.primitive->name;
      if (request_.is_brief && std::find(std::begin(usual), std::end(usual), primitive) == std::end(usual)) { continue; }
      if (!judged.is_legal()) {
        (request_.is_brief ? refused_ : refused_here).emplace(primitive, judged.why.front().message());
        continue;
      }
      allowed_.insert(primitive);
      allowed_here.insert(primitive);
      if (!request_.is_all && !schedule::is_worth_offering(func_, judged.move, core_.is_device)) { continue; }
      if (shown[primitive]++ > 0 && request_.is_brief) { continue; }
      if (token_.is_cancelled()) { return; }
      add_call(judged.move, head);
    }
    for (const auto& [primitive, why] : refused_here) {
      if (!allowed_here.contains(primitive)) { refusals += refusal(primitive, why); }
    }
  }

  void add_call(const schedule::Move& move, const std::string& head) {
    const eval::Scope& scope = *session_.steps()[session_.position()].frame.scope;
    auto name_of = [this](const schedule::Place& one) { return session_.name_of(one); };
    auto tried = schedule::try_move(session_.schedule(), move, name_of, [&](std::string_view name) { return scope.find_here(Name(name)) != nullptr; });
    if (!tried.ok()) { return; }
    const schedule::FuncState* after = tried->after.state().func(session_.function());
    double gain = after != nullptr ? cost::gain(func_, *after, core_).value_or(1) : 1;
    legal.push_back({head, tried->statement, cost::gain_text(gain).empty() ? 1 : gain});
  }

  [[nodiscard]] auto refusal(std::string_view primitive, const std::string& why) const -> std::string {
    return "  " + wrapped(fmt::format("not {}: {}", primitive, why), session_.host().width - 2, 6);
  }

  const Session& session_;
  const schedule::FuncState& func_;
  const HintRequest& request_;
  CancelToken token_;
  cost::CoreModel core_;
  std::map<std::string_view, std::string> refused_;  // by primitive: the first reason
  std::set<std::string_view> allowed_;               // somewhere
};

auto line_of(const Hint& hint, size_t number) -> std::string {
  std::string gained = cost::gain_text(hint.gain);
  return fmt::format("  {:>3}) {}{}\n", number, hint.statement, gained.empty() ? "" : "   # " + gained);
}

/// All legal calls, by loop and block.
auto all_hints(const Hints& hints, std::vector<std::string>& choices) -> std::string {
  std::string out;
  std::string head;
  for (const Hint& hint : hints.legal) {
    if (hint.head != head) { out += hint.head + "\n"; }
    head = hint.head;
    choices.push_back(hint.statement);
    out += line_of(hint, choices.size());
  }
  return out;
}

/// The calls with an estimated gain, at most ten, best first; if loops, blocks or primitives are named, also calls without a gain.
auto best_hints(const Hints& hints, const HintRequest& request, std::vector<std::string>& choices) -> std::string {
  constexpr size_t most_shown = 10;
  std::vector<const Hint*> best;
  for (const Hint& hint : hints.legal) {
    if (request.is_brief ? hint.gain > 1 : hint.gain >= 1 || request.only != nullptr) { best.push_back(&hint); }
  }
  // Calls of the same gain stay in the order of the program.
  std::sort(best.begin(), best.end(), [](const Hint* a, const Hint* b) { return a->gain != b->gain ? a->gain > b->gain : a < b; });
  if (best.size() > most_shown) { best.resize(most_shown); }
  std::string out;
  if (request.is_brief && !best.empty()) { out = "most promising, by estimate:\n"; }
  if (request.is_brief && best.empty()) { out = "no single step makes the program faster by the estimate\n"; }
  for (const Hint* hint : best) {
    choices.push_back(hint->statement);
    out += line_of(*hint, choices.size());
  }
  return out;
}

// Lists the legal next steps with an estimated gain, numbered, as lines to type. If a primitive, loop or block is named, lists its calls, and
// the reasons why others are refused. `all` lists every legal call: of each primitive the first one, or all if a place or primitive is named.
auto hint(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  const schedule::FuncState* func = session.schedule().state().func(session.function());
  if (!func || !func->is_schedulable()) {
    session.complain("the program has nothing that can be scheduled\n");
    return false;
  }
  auto request = read_hint_request(session, *func, arguments);
  if (!request) { return false; }
  Hints hints(session, *func, *request, session.interrupt());
  if (!hints.run()) {
    session.complain("stopped\n");
    return false;
  }
  std::vector<std::string> choices;
  std::string text = request->is_all ? all_hints(hints, choices) : best_hints(hints, *request, choices);
  if (request->is_all || !request->is_brief) { text += hints.refusals; }
  if (text.empty()) { text = "no legal call is known here\n"; }
  bool can_choose = !choices.empty() && session.host().can_choose;
  if (size_t more = hints.legal.size() - choices.size(); more > 0 && !request->is_all) {
    std::string same = "all";
    for (const std::string& argument : arguments) { same += " " + argument; }
    text += wrapped(fmt::format("{} more {} legal: `:hint {}` lists {}{}{}", more, more == 1 ? "is" : "are", same, more == 1 ? "it" : "them",
                                request->is_brief ? ", `:hint LOOP` or `:hint PRIMITIVE` those of one, and the reasons against the rest" : "", can_choose ? "; type a number to do it" : ""),
                    session.host().width);
  } else if (can_choose) {
    text += "type a number to do it\n";
  }
  session.show(text);
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
  size_t instruction = 0;   // in the trace
  size_t position = 0;      // among its results
};
/// The split that made a loop, and the position of the loop among its results; none: no split made it. A later step may have looked the loop
/// up again.
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

/// The subject of `:what-if`: a split, or a loop that no split made.
struct WhatIf {
  std::optional<SplitResult> split;
  const schedule::Place* place = nullptr;
};

auto is_split(const schedule::Instruction& one) -> bool { return one.primitive->name == "split"; }

/// The split of a step of the session. None: an error was reported.
auto split_of_step(const Session& session, size_t step) -> std::optional<SplitResult> {
  std::vector<size_t> path = session.path_to(session.position());
  if (std::find(path.begin(), path.end(), step) == path.end()) {
    session.complain(fmt::format("step {} is not on the way here; `:steps` lists those that are\n", step));
    return std::nullopt;
  }
  const schedule::Trace trace = session.schedule().trace();
  std::vector<const schedule::Instruction*> instructions = trace.instructions();
  size_t begin = session.schedule_at(session.steps()[step].parent).trace().size();
  for (size_t i = begin; i < std::min(session.schedule_at(step).trace().size(), instructions.size()); ++i) {
    if (is_split(*instructions[i])) { return SplitResult{i, instructions[i]->outputs.size() - 1}; }
  }
  session.complain(fmt::format("step {} splits nothing\n", step));
  return std::nullopt;
}

/// None: an error was reported.
auto read_what_if(const Session& session, const std::vector<std::string>& arguments) -> std::optional<WhatIf> {
  const schedule::Trace trace = session.schedule().trace();
  std::vector<const schedule::Instruction*> instructions = trace.instructions();
  if (arguments.empty()) {
    for (size_t i = instructions.size(); i-- > 0;) {
      if (is_split(*instructions[i])) { return WhatIf{SplitResult{i, instructions[i]->outputs.size() - 1}}; }
    }
    session.complain("no step has split a loop yet; `:what-if LOOP` compares splits of a loop\n");
    return std::nullopt;
  }
  if (const schedule::Place* place = session.place_that_is_meant(arguments[0])) {
    if (place->is_loop()) { return WhatIf{split_of(session.schedule(), place->id), place}; }
    session.complain("`" + arguments[0] + "` is a block: `:what-if` takes a loop\n");
    return std::nullopt;
  }
  if (auto step = session.find_step(arguments[0])) {
    auto split = split_of_step(session, *step);
    return split ? std::optional(WhatIf{split}) : std::nullopt;
  }
  session.complain("`" + arguments[0] + "` is neither a loop of the program nor a step\n");
  return std::nullopt;
}

constexpr size_t most_factors = 16;

/// Compares the factors of an existing split.
auto compare_factors(Session& session, const SplitResult& split, const cost::CoreModel& core, std::optional<double> seconds, const CancelToken& token) -> bool {
  const schedule::Trace trace = session.schedule().trace();
  auto choices = cost::other_factors(session.original(), session.schedule(), split.instruction, split.position, core, most_factors, token);
  if (token.is_cancelled() || !choices) {
    session.complain(token.is_cancelled() ? "stopped\n" : "the factors of that split are not constants\n");
    return false;
  }
  const auto* factors = trace.instructions()[split.instruction]->values[1].as<schedule::Value::List>();
  session.show(wrapped(fmt::format("the split of {} by {} with another factor in place {} and the same steps behind it:", choices->extent, factors_text(*factors), choices->position + 1), session.host().width) +
               factors_picture(*choices, core, seconds, session.settings()));
  return true;
}

/// Compares splits of a loop: one is made on a copy, and the others are tried in its place.
auto compare_splits(Session& session, const std::string& name, const schedule::Place& place, const cost::CoreModel& core, std::optional<double> seconds, const CancelToken& token) -> bool {
  const schedule::Schedule& here = session.schedule();
  const schedule::FuncState& func = *here.state().func(session.function());
  auto name_of = [&](const schedule::Place& one) { return session.name_of(one); };
  const eval::Scope& scope = *session.steps()[session.position()].frame.scope;
  auto is_taken = [&](std::string_view taken) { return scope.find_here(Name(taken)) != nullptr; };
  for (const schedule::JudgedMove& judged : schedule::moves_at(here.state(), func, place, schedule::find_primitive("split"))) {
    if (!judged.is_legal()) {
      session.complain(fmt::format("`{}` cannot be split: {}\n", name, judged.why.front().message()));
      return false;
    }
    auto tried = schedule::try_move(here, judged.move, name_of, is_taken);
    if (!tried.ok()) { continue; }
    const schedule::Trace after = tried->after.trace();
    auto choices = cost::other_factors(session.original(), tried->after, after.size() - 1, 0, core, most_factors, token);
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
    std::string out = fmt::format("splits of {} ({}), by their inner factor:\n", name, choices->extent) + factors_picture(*choices, core, seconds, session.settings());
    if (lines.size() == choices->all.size() && session.host().can_choose) {
      out += fmt::format("type 1 to {} to do the first to the last of them\n", lines.size());
      session.offer(std::move(lines));
    }
    session.show(out);
    return true;
  }
  session.complain(fmt::format("no factor can split `{}`\n", name));
  return false;
}

// For a loop that a split made: tries every other factor, with all steps behind the split. For another loop: tries every split of it.
auto what_if(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  if (arguments.size() > 1) {
    session.complain(":what-if takes a loop, or the number of a step that splits one\n");
    return false;
  }
  const schedule::FuncState* func = session.schedule().state().func(session.function());
  if (func == nullptr || !func->is_schedulable()) {
    session.complain("the program has nothing that can be scheduled\n");
    return false;
  }
  auto about = read_what_if(session, arguments);
  if (!about) { return false; }
  const cost::CoreModel core = cost::core_of(session.target());
  auto estimated = cost::estimate(*func, core);
  const std::optional<double> seconds = estimated ? std::optional(estimated->seconds) : std::nullopt;
  const CancelToken token = session.interrupt();
  return about->split ? compare_factors(session, *about->split, core, seconds, token) : compare_splits(session, arguments[0], *about->place, core, seconds, token);
}

auto show_picture(Session& session, const std::string& picture) -> bool {
  if (picture.empty()) {
    session.complain("the program has nothing that can be scheduled\n");
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

const Command hint_command{"hint", "[all | PRIMITIVE | LOOP|BLOCK]...", "legal next steps, numbered, and why the rest is refused", hint};
const Command why_not_command{"why-not", "CALL", "shows why a call would be refused, without doing it", why_not};
const Command what_if_command{"what-if", "[LOOP | STEP]", "other factors of a split: the memory that its loops touch, and the estimated speed", what_if};
const Command repair_command{"repair", "[N]", "executes a line that was offered last, by its number (the number alone will do)", repair};
const Command footprint_command{"footprint", "", "the memory that one run of each loop touches, beside the sizes of the caches", footprint};
const Command accesses_command{"accesses", "", "the distance that each loop moves in every buffer, from one iteration to the next", accesses};
const Command roofline_command{"roofline", "", "the steps that were timed, under the limits of the machine", roofline};
const Command loops_command{"loops", "", "draws the loops and blocks: extents, kinds, bindings", loops};

}  // namespace loopsmith::repl
