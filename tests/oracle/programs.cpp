// Program texts: each is parsed, printed byte for byte as before, and parsed again to an equal module. `workloads`
// are the corpus' own programs; `texts` are all others in all files: scheduled programs, post-processed ones, those
// of the databases. If the reference itself cannot parse its text (`reparsed_equal`, `from_text`), only
// the step from our text to an equal module is checked.
#include <functional>
#include <unordered_set>

#include "ir/equal.h"
#include "ir/printer.h"
#include "program.h"

namespace loopsmith::oracle {
namespace {

// No problem: the result is empty.
struct Problem { std::string expected, got; bool unreadable = false; };
auto check_text(const std::string& text, bool exact) -> std::optional<Problem> {
  Parsed first = parse_program(text);
  if (!first.module) { return Problem{"a module", first.problem, !exact}; }
  std::string printed = print_script(first.module);
  if (exact && printed != text) {
    LineDifference d = first_line_difference(text, printed);
    return Problem{d.expected, d.got, false};
  }
  Parsed again = parse_program(printed);
  if (!again.module) { return Problem{"our own text read back", again.problem, false}; }
  // Some results of the reference use variables outside their scope, which are free variables for both.
  if (auto d = first_difference(first.module, again.module, {.map_free_vars = !first.problem.empty()})) {
    return Problem{"an equal module from our own text; at " + d->path + ": " + d->left, d->right, false};
  }
  if (structural_hash(first.module) != structural_hash(again.module)) { return Problem{"equal hashes of equal modules", "different ones", false}; }
  return {};
}

auto flag(const Json& line, const char* key) -> bool {
  auto found = line.find(key);
  if (found == line.end()) { return true; }
  if (found->is_boolean()) { return found->get<bool>(); }
  return !found->is_string() || found->get<std::string>() == "ok";
}

}  // namespace

void check_workloads(const Json& line, Tally& tally) {
  std::string name = line.at("workload");
  if (Parsed parsed = parse_program(line.at("module")); !parsed.problem.empty()) {
    tally.fail(name, "no errors", parsed.problem);
  } else if (auto problem = check_text(line.at("module"), flag(line, "reparsed_equal"))) {
    tally.fail(name, problem->expected, problem->got);
  } else {
    tally.pass();
  }
}

void check_texts(const Json& line, Tally& tally) {
  static std::unordered_set<std::string> seen;
  std::string id = line.value("id", line.value("workload", std::string("?")));
  std::function<void(const Json&, const std::string&)> walk = [&](const Json& value, const std::string& path) {
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      if (text.rfind("# from tvm.script import", 0) != 0 || !seen.insert(text).second) { return; }
      bool exact = path != ".after" || flag(line, "reparsed_equal");
      if (auto problem = check_text(text, exact)) {
        // A text that neither compiler can parse uses an undefined name.
        if (problem->unreadable) { tally.leave_out("not readable by the reference either"); }
        else { tally.fail(id + path, problem->expected, problem->got); }
      } else {
        tally.pass();
      }
    } else if (value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i) { walk(value[i], path + "[" + std::to_string(i) + "]"); }
    } else if (value.is_object()) {
      for (const auto& [key, item] : value.items()) { walk(item, path + "." + key); }
    }
  };
  walk(line, "");
}

}  // namespace loopsmith::oracle
