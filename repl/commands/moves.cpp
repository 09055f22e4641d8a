// Commands about what is there and what could be done next: loops, hint, why-not, repair.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cost/estimate.h"
#include "repl/commands.h"
#include "repl/pictures.h"
#include "schedule/moves.h"

namespace loopsmith::repl {
namespace {

// What people try first; the others are shown where something is named.
constexpr std::string_view usual[] = {"split", "fuse", "reorder", "parallel", "vectorize", "unroll", "cache_read", "cache_write", "compute_at", "reverse_compute_at",
                                      "compute_inline", "reverse_compute_inline", "decompose_reduction", "rfactor", "tensorize"};

// Of every loop and block the first legal move of each primitive, as a line that can be typed, with a number; all of them where a
// primitive, loop or block is named, and then why the others may not.
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
  for (const std::string& name : arguments) {
    if (const schedule::Primitive* primitive = schedule::find_primitive(name)) {
      only = primitive;
    } else if (const schedule::Place* place = session.place_of(name)) {
      about.push_back(place);
    } else {
      session.complain("`" + name + "` is no primitive, and no loop or block of the program\n");
      return false;
    }
  }
  bool is_brief = arguments.empty();
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
      if (!shown.contains(primitive)) { out += std::exchange(head, {}) + fmt::format("  not {}: {}\n", primitive, why); }
    }
  }
  if (token.is_cancelled()) {
    session.complain("stopped\n");
    return false;
  }
  for (const auto& [primitive, why] : refused) {
    if (!allowed.contains(primitive)) { out += fmt::format("  not {}: {}\n", primitive, why); }
  }
  if (out.empty()) { out = "no move is known here\n"; }
  if (is_brief && gains.size() > 1) {
    std::sort(gains.begin(), gains.end(), [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
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
auto roofline(Session& session, const std::vector<std::string>&) -> bool { return needs_program(session) && show_picture(session, roofline_picture(session)); }

}  // namespace

const Command hint_command{"hint", "[PRIMITIVE] [LOOP|BLOCK]...", "what may be done next, numbered, and why the rest may not", hint};
const Command why_not_command{"why-not", "CALL", "would a call be refused, and why; nothing is done", why_not};
const Command repair_command{"repair", "[N]", "what was offered last, by its number (the number alone will do)", repair};
const Command footprint_command{"footprint", "", "what one run of each loop touches, beside the sizes of the caches", footprint};
const Command roofline_command{"roofline", "", "what was timed, under what the machine reaches", roofline};
const Command loops_command{"loops", "", "the loops and blocks, drawn: extents, kinds, bindings", loops};

}  // namespace loopsmith::repl
