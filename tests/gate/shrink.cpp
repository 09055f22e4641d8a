// Reduces a failing case: removes and simplifies steps, and makes the program smaller (smaller.h), while it fails in the same way.
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <set>
#include <span>

#include "interp/compare.h"
#include "ir/ops.h"
#include "tests/gate/cases.h"
#include "tests/gate/programs.h"
#include "tests/gate/smaller.h"

namespace loopsmith::gate {
namespace {

auto is_word(char c) -> bool { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// The numbers in a text that are not part of a name, in growing order.
auto numbers_in(const std::string& text) -> std::vector<int64_t> {
  std::set<int64_t> out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(text[i])) || (i > 0 && is_word(text[i - 1]))) { continue; }
    size_t end = i;
    while (end < text.size() && is_word(text[end])) { ++end; }
    std::string word = text.substr(i, end - i);
    if (word.size() < 5 && word.find_first_not_of("0123456789") == std::string::npos) { out.insert(std::stoll(word)); }
    i = end;
  }
  return {out.begin(), out.end()};
}
auto with_number(const std::string& text, int64_t from, int64_t to) -> std::string {
  std::string out, word = std::to_string(from);
  for (size_t i = 0; i < text.size();) {
    size_t end = i + word.size();
    bool here = text.compare(i, word.size(), word) == 0 && (i == 0 || !is_word(text[i - 1])) && (end >= text.size() || !is_word(text[end]));
    if (here) {
      out += std::to_string(to);
      i = end;
    } else {
      out += text[i++];
    }
  }
  return out;
}

void for_each_number(schedule::Value& value, const std::function<void(int64_t&)>& f) {
  if (auto* i = std::get_if<int64_t>(&value.data)) { f(*i); }
  if (auto* list = std::get_if<schedule::Value::List>(&value.data)) { for (schedule::Value& item : *list) { for_each_number(item, f); } }
}

// With smaller numbers an iter var may leave its domain; such a program proves nothing.
auto stays_in_domains(const Case& c) -> bool {
  std::string problem;
  IRModule module = parse_program(c.program, problem);
  auto inputs = interp::make_inputs(module->find("main"), c.seed, interp::Contents::SmallIntegers);
  if (!inputs.ok()) { return false; }
  bool out = true;
  interp::Options options;
  options.only = [&](const Block& block, std::span<const int64_t> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      auto min = as_int(block.iter_vars[i].dom.min), extent = as_int(block.iter_vars[i].dom.extent);
      out = out && !(min && extent && (values[i] < *min || values[i] >= *min + *extent));
    }
    return true;
  };
  return interp::interpret(module, "main", inputs->arguments, options).ok() && out;
}

class Shrinker {
 public:
  Shrinker(const Case& c, const Failure& failure, const CheckOptions& options, double seconds, const std::function<bool(const Case&)>& is_wanted)
      : best_(c), kind_(failure.kind), gist_(gist(failure.what)), options_(options), seconds_(seconds), is_wanted_(is_wanted) {
    options_.compiled = kind_ == Failure::Kind::CompiledCodeDiffers;
    const bool is_text = kind_ == Failure::Kind::KernelTextDiffers;
    options_.host = options_.host && is_text;
    options_.opencl = options_.opencl && (is_text || kind_ == Failure::Kind::LoweringFails);
    options_.cuda = options_.cuda && is_text;
    options_.cubin = options_.cubin && is_text;
    options_.texts = kind_ == Failure::Kind::TextNotReadBack || kind_ == Failure::Kind::TraceNotReplayed;
    // If the schedule is at fault, lowering is not checked.
    options_.lowering = options.lowering && kind_ != Failure::Kind::ScheduleChangesResults && kind_ != Failure::Kind::TraceNotReplayed;
  }

  auto run() -> Case {
    for (bool is_smaller = true; is_smaller && !is_late();) {
      is_smaller = fewer_steps();
      if (!best_.units.empty()) {
        Case c = best_;
        c.units.clear();
        is_smaller = accept(std::move(c)) || is_smaller;
      }
      for (Change change : {Change::Functions, Change::Statement, Change::Loop, Change::Axis, Change::Part, Change::Dimension, Change::Parameter}) {
        is_smaller = changed(change) || is_smaller;
      }
      is_smaller = smaller_numbers() || is_smaller;
      is_smaller = changed(Change::Extent) || is_smaller;
      is_smaller = simpler_steps() || is_smaller;
    }
    // Use the shortest text.
    if (IRModule program = module()) {
      Case c = best_;
      c.program = short_text(program);
      (void)try_it(std::move(c));
    }
    return std::move(best_);
  }

 private:
  auto is_late() const -> bool { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() > seconds_; }
  auto module() const -> IRModule {
    std::string problem;
    return parse_program(best_.program, problem);
  }
  auto accept(Case c) -> bool { return !is_late() && try_it(std::move(c)); }
  auto try_it(Case c) -> bool {
    if (c.program.empty()) { return false; }
    auto here = check(c, options_);
    if (!here || here->kind != kind_ || (kind_ == Failure::Kind::LoweringFails && gist(here->what) != gist_) || !stays_in_domains(c) || (is_wanted_ && !is_wanted_(c))) { return false; }
    // If the program itself has a race, the schedule is not at fault.
    if (kind_ == Failure::Kind::Race && !best_.steps.empty()) {
      Case plain = c;
      plain.steps.clear();
      if (check(plain, options_)) { return false; }
    }
    best_ = std::move(c);
    return true;
  }

  // Remove steps from the last to the first: first halves, then single steps.
  auto fewer_steps() -> bool {
    bool out = false;
    for (size_t width = std::max<size_t>(1, best_.steps.size() / 2);; width /= 2) {
      for (size_t end = best_.steps.size(); end > 0 && !is_late();) {
        size_t begin = end > width ? end - width : 0;
        Case c = best_;
        c.steps.erase(c.steps.begin() + static_cast<std::ptrdiff_t>(begin), c.steps.begin() + static_cast<std::ptrdiff_t>(end));
        out = accept(std::move(c)) || out;
        end = begin;
      }
      if (width <= 1) { break; }
    }
    return out;
  }

  auto changed(Change change) -> bool {
    bool out = false;
    for (size_t part = 0; !is_late();) {
      IRModule program = module();
      if (!program) { break; }
      auto next = smaller(program, change, part);
      if (!next) { break; }
      Case c = best_;
      c.program = std::move(next->program);
      bool is_accepted = accept(c);
      // After a loop was removed, steps count the remaining loops: shift loop numbers after the removed one, or from it on.
      for (int first : {next->loop ? next->loop->index + 1 : 0, next->loop ? next->loop->index : 0}) {
        if (is_accepted || !next->loop) { break; }
        Case renumbered = c;
        for (Step& step : renumbered.steps) {
          for (Step::Ref& ref : step.refs) {
            bool is_inside = std::find(next->loop->blocks.begin(), next->loop->blocks.end(), ref.block) != next->loop->blocks.end();
            if (is_inside && ref.loop >= std::max(first, 1)) { --ref.loop; }
          }
        }
        is_accepted = accept(std::move(renumbered));
      }
      if (is_accepted) { out = true; } else { ++part; }
    }
    return out;
  }

  // Replaces all occurrences of a number.
  auto smaller_numbers() -> bool {
    bool out = false;
    for (int64_t from : numbers_in(best_.program)) {
      for (int64_t to : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, from / 2, from - 1}) {
        if (to < 1 || to >= from || is_late()) { continue; }
        Case c = best_;
        c.program = with_number(best_.program, from, to);
        if (accept(std::move(c))) { out = true; break; }
      }
    }
    return out;
  }

  auto simpler_steps() -> bool {
    bool out = false;
    for (size_t s = 0; s < best_.steps.size() && !is_late(); ++s) {
      for (size_t r = 0; r < best_.steps[s].refs.size(); ++r) {
        for (int to : {0, best_.steps[s].refs[r].loop - 1}) {
          if (best_.steps[s].refs[r].loop <= to || to < 0) { continue; }
          Case c = best_;
          c.steps[s].refs[r].loop = to;
          if (accept(std::move(c))) { out = true; break; }
        }
      }
      for (size_t a = 0; a < best_.steps[s].args.size(); ++a) {
        out = smaller_argument(s, a) || out;
        // Use defaults if the case then still fails.
        for (const schedule::Param& p : best_.steps[s].row->params) {
          if (p.name != best_.steps[s].args[a].first || !p.otherwise || *p.otherwise == best_.steps[s].args[a].second) { continue; }
          Case c = best_;
          c.steps[s].args[a].second = *p.otherwise;
          out = accept(std::move(c)) || out;
        }
      }
    }
    return out;
  }
  auto smaller_argument(size_t s, size_t a) -> bool {
    bool out = false;
    auto length = [&] {
      const auto* list = best_.steps[s].args[a].second.as<schedule::Value::List>();
      return list ? list->size() : 0;
    };
    for (size_t i = length(); i-- > 0 && length() > 1;) {
      Case c = best_;
      auto& list = std::get<schedule::Value::List>(c.steps[s].args[a].second.data);
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      out = accept(std::move(c)) || out;
    }
    size_t count = 0;
    for_each_number(best_.steps[s].args[a].second, [&](int64_t&) { ++count; });
    for (size_t k = 0; k < count; ++k) {
      for (int64_t to : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}}) {
        Case c = best_;
        size_t at = 0;
        bool is_other = false;
        for_each_number(c.steps[s].args[a].second, [&](int64_t& n) { if (at++ == k && to < n) { n = to; is_other = true; } });
        if (is_other && accept(std::move(c))) { out = true; break; }
      }
    }
    return out;
  }

  Case best_;
  Failure::Kind kind_;
  std::string gist_;       // of the message
  CheckOptions options_;
  double seconds_;
  const std::function<bool(const Case&)>& is_wanted_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

auto shrink(const Case& c, const Failure& failure, const CheckOptions& options, double seconds, const std::function<bool(const Case&)>& is_wanted) -> Case {
  return Shrinker(c, failure, options, seconds, is_wanted).run();
}

}  // namespace loopsmith::gate
