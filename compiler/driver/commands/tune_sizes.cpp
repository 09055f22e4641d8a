// Programs for constant sizes: see tune_sizes.h.
#include "driver/commands/tune_sizes.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/sizes.h"
#include "driver/command.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "runtime/jit.h"
#include "transform/bind_sizes.h"
#include "workspace/edits/placing.h"
#include "workspace/selection.h"

namespace loopsmith::driver::commands {
namespace {

using transform::SizeValues;

// A grid of more programs than this would get too few trials for each.
constexpr size_t most_programs = 64;

struct Axis { std::string name; std::vector<int64_t> values; };

/// Reads the value of `--sizes`, as `n=128,256`; empty: the text has another form.
auto read_axis(const std::string& text) -> Axis {
  Axis out;
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) { return {}; }
  out.name = text.substr(0, equals);
  for (size_t begin = equals + 1; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto value = parse_number(text.substr(begin, end - begin), 1, int64_t(1) << 40);
    if (!value) { return {}; }
    if (std::find(out.values.begin(), out.values.end(), *value) == out.values.end()) { out.values.push_back(*value); }
    begin = end + 1;
  }
  return out;
}

/// All combinations, the last axis first.
auto combinations(const std::vector<Axis>& axes) -> std::vector<SizeValues> {
  std::vector<SizeValues> out(1);
  for (const Axis& axis : axes) {
    std::vector<SizeValues> longer;
    for (const SizeValues& sizes : out) {
      for (int64_t value : axis.values) {
        longer.push_back(sizes);
        longer.back().emplace_back(axis.name, value);
      }
    }
    out = std::move(longer);
  }
  return out;
}

/// "matmul_n128_m64"
auto name_of(const std::string& program, const SizeValues& sizes) -> std::string {
  std::string out = program;
  for (const auto& [name, value] : sizes) { out += fmt::format("_{}{}", name, value); }
  return out;
}

/// A function as a text of the file, without the comments that the printer puts in front.
auto text_of(const PrimFunc& func, const std::string& name) -> std::string {
  std::string text = print_script(func, {.function_name = Name(name)});
  const size_t begin = text.find('@');
  return text.substr(begin == std::string::npos ? 0 : begin);
}

}  // namespace

auto given_sizes(const Arguments& arguments) -> std::vector<std::string> {
  std::vector<std::string> out = arguments.all("--sizes");
  for (const std::string& one : arguments.all("--arg")) { out.push_back(one); }
  return out;
}

void note_measured_sizes(const Selection& selection) {
  const PrimFunc func = selection.before->find(selection.function.view());
  if (!func) { return; }
  for (const std::string& name : codegen::size_names(func)) {
    fmt::print(stderr, "note: candidates are measured with `{}` = {}; `--sizes {}=N` tunes for the sizes that are used\n", name, runtime::usual_size, name);
  }
}

auto pick_sizes(const Arguments& arguments, Reporter& reporter) -> std::variant<std::vector<SizedProgram>, int> {
  std::vector<Axis> axes;
  size_t count = 1;
  for (const std::string& text : given_sizes(arguments)) {
    axes.push_back(read_axis(text));
    if (axes.back().values.empty()) { return usage_error("tune", "`--sizes` takes the values of a size, as `n=128,256`, not `" + text + "`"); }
    const bool is_again = std::any_of(axes.begin(), axes.end() - 1, [&](const Axis& one) { return one.name == axes.back().name; });
    if (is_again) { return usage_error("tune", "`--sizes` names `" + axes.back().name + "` twice: give all its values in one list"); }
    count *= axes.back().values.size();
    if (count > most_programs) { return usage_error("tune", fmt::format("`--sizes` makes more than {} programs", most_programs)); }
  }
  auto pick_whole = [&] { return pick(arguments, {.path = arguments.positional()[0], .needs_target = true, .needs_function = true}, reporter); };
  std::vector<SizedProgram> out;
  for (SizeValues& sizes : combinations(axes)) {
    auto whole = pick_whole();
    if (const int* status = std::get_if<int>(&whole)) { return *status; }
    auto made = pick_whole();
    if (const int* status = std::get_if<int>(&made)) { return *status; }
    SizedProgram one{std::move(std::get<Selection>(made)), std::move(std::get<Selection>(whole)), {}};
    Selection& selection = one.selection;
    const PrimFunc func = selection.before->find(selection.function.view());
    auto bound = transform::bind_sizes(func, sizes);
    if (!bound.ok()) {
      reporter.report(bound.diagnostics(), selection.file.get());
      return reporter.status();
    }
    const std::string program = selection.program.str();
    const std::string name = name_of(program, sizes);
    const PrimFunc marked = transform::with_variant_mark(*bound, {program, {sizes}});
    selection.before = selection.module = with_function(selection.before, selection.function, marked);
    selection.program = Name(name);
    one.text = text_of(marked, name).append(workspace::between_declarations);
    for (const workspace::Program& known : workspace::top_programs(*one.whole.file->snapshot())) {
      if (known.name.view() != name) { continue; }
      const PrimFunc there = known.module ? known.module->find(selection.function.view()) : PrimFunc();
      if (!there || !structural_equal(there, marked)) {
        fmt::print(stderr, "loopsmith tune: the file has another program `{}`: rename it, or remove it\n", name);
        return static_cast<int>(exit_input);
      }
      one.text.clear();
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace loopsmith::driver::commands
