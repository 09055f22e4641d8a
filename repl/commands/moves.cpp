// Commands about what could be done next: hint, why-not, repair.
#include <fmt/format.h>

#include <map>

#include "repl/commands.h"
#include "schedule/moves.h"

namespace loopsmith::repl {
namespace {

// Legal moves first, by primitive; then, a line for each primitive of which none is legal, why not.
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
  if (about.empty()) {
    for (const schedule::Place& place : func->places()) {
      if (place.parent >= 0) { about.push_back(&place); }
    }
  }
  auto name_of = [&](const schedule::Place& place) { return session.name_of(place); };
  for (const schedule::Place* place : about) {
    session.print(fmt::format("{} `{}`\n", place->is_loop() ? "loop" : "block", place->name().view()));
    std::map<std::string_view, std::string> refused;   // by primitive: the first reason
    std::map<std::string_view, bool> has_legal;
    for (const schedule::JudgedMove& judged : schedule::moves_at(state, *func, *place, only)) {
      std::string_view primitive = judged.move.primitive->name;
      if (judged.is_legal()) {
        has_legal[primitive] = true;
        session.print("  " + schedule::text_of(*func, judged.move, name_of) + "\n");
      } else {
        refused.emplace(primitive, judged.why.front().message());
      }
    }
    for (const auto& [primitive, why] : refused) {
      if (!has_legal[primitive]) { session.print(fmt::format("  not {}: {}\n", primitive, why)); }
    }
  }
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
  const std::vector<std::string>& repairs = session.repairs();
  if (repairs.empty()) {
    session.complain("there is nothing to repair: the last line did not fail, or nothing is known that works\n");
    return false;
  }
  size_t number = arguments.empty() ? 1 : static_cast<size_t>(std::strtoul(arguments[0].c_str(), nullptr, 10));
  if (number < 1 || number > repairs.size()) {
    session.complain(fmt::format(":repair takes a number from 1 to {}\n", repairs.size()));
    return false;
  }
  std::string lines = repairs[number - 1];
  session.print(lines);
  return session.execute(lines);
}

}  // namespace

const Command hint_command{"hint", "[PRIMITIVE] [LOOP|BLOCK]...", "what may be done next, and why the rest may not", hint};
const Command why_not_command{"why-not", "CALL", "would a call be refused, and why; nothing is done", why_not};
const Command repair_command{"repair", "[N]", "what failed last, repaired", repair};

}  // namespace loopsmith::repl
