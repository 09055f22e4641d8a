// Writes steps as Python: see python_code.h.
#include "script/auto_scheduler/python_code.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace loopsmith::script::auto_scheduler {
namespace {

constexpr const char* annotation_names[] = {"", "unroll", "vectorize", "parallel", "vthread", "blockIdx.x", "threadIdx.x", "blockIdx.y", "threadIdx.y", "blockIdx.z", "threadIdx.z", "tensorize"};

class Writer {
 public:
  explicit Writer(State initial) : state_(std::move(initial)) {
    for (const StateStage& stage : state_.stages()) {
      names_.push_back(identifier(stage.name));
      variables_.push_back(axes_of(stage));
      if (!stage.is_placeholder) { out_ += declared(names_.size() - 1, names_.back() + ".op"); }
    }
  }

  auto write(const std::vector<Step>& steps) -> std::string {
    for (const Step& step : steps) {
      const auto number = static_cast<size_t>(number_of(step, 0));
      if (number >= names_.size()) { break; }
      lengths_ = step.kind == "FSP" || step.kind == "FFSP" ? followed_lengths(state_.steps(), step).value_or(std::vector<int64_t>()) : list_of(step, 3);
      const std::string read = number_of(step, 0) >= 0 ? names_[number] : std::string();
      if (!state_.apply(step).empty()) { break; }
      statement(step, number, read);
    }
    return std::move(out_);
  }

 private:
  static auto identifier(std::string text) -> std::string {
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '.' || c == '@'; }, '_');
    while (text.ends_with('_')) { text.pop_back(); }
    return text;
  }
  static auto axes_of(const StateStage& stage) -> std::vector<std::string> {
    std::vector<std::string> out;
    for (const StateAxis& axis : stage.axes) { out.push_back(identifier(stage.name + "_" + axis.name)); }
    return out;
  }
  auto declared(size_t stage, const std::string& op) const -> std::string {
    const bool is_one = variables_[stage].size() == 1;
    return fmt::format("{}{} = tuple({}.axis) + tuple({}.reduce_axis)\n", fmt::join(variables_[stage], ", "), is_one ? "," : "", op, op);
  }

  void statement(const Step& step, size_t stage, const std::string& name) {
    const std::string s = fmt::format("s[{}]", name);
    auto& axes = variables_[stage];
    const auto axis = static_cast<size_t>(number_of(step, 1));
    if (step.kind == "SP" || step.kind == "FSP" || step.kind == "FFSP") {
      split(s, stage, axis, step.kind == "FSP" || number_of(step, 4) != 0);
    } else if (step.kind == "FU") {
      const auto& which = list_of(step, 1);
      if (which.empty()) { return; }
      const auto first = axes.begin() + which.front();
      const std::string fused = identifier(name + "_" + state_.stages()[stage].axes[static_cast<size_t>(which.front())].name) + "_fused";
      out_ += fmt::format("{} = {}.fuse({})\n", fused, s, fmt::join(first, first + static_cast<ptrdiff_t>(which.size()), ", "));
      axes.erase(first + 1, first + static_cast<ptrdiff_t>(which.size()));
      axes[static_cast<size_t>(which.front())] = fused;
    } else if (step.kind == "RE") {
      std::vector<std::string> sorted;
      for (int64_t one : list_of(step, 1)) { sorted.push_back(axes[static_cast<size_t>(one)]); }
      axes = sorted;
      out_ += fmt::format("{}.reorder({})\n", s, fmt::join(sorted, ", "));
    } else if (step.kind == "AN") {
      const char* word = annotation_names[static_cast<size_t>(number_of(step, 2))];
      const bool is_thread = number_of(step, 2) >= static_cast<int64_t>(Annotation::VThread) && number_of(step, 2) <= static_cast<int64_t>(Annotation::ThreadZ);
      if (*word) { out_ += is_thread ? fmt::format("{}.bind({}, te.thread_axis(\"{}\"))\n", s, axes[axis], word) : fmt::format("{}.{}({})\n", s, word, axes[axis]); }
    } else if (step.kind == "PR") {
      pragma(step, s, axes[axis]);
    } else if (step.kind == "SA") {
      out_ += fmt::format("{}.storage_align({}, {}, {})\n", s, axes[axis], number_of(step, 2), number_of(step, 3));
    } else if (step.kind == "CA") {
      out_ += fmt::format("{}.compute_at(s[{}], {})\n", s, names_[axis], variables_[axis][static_cast<size_t>(number_of(step, 2))]);
    } else if (step.kind == "CI" || step.kind == "CR") {
      out_ += fmt::format("{}.{}()\n", s, step.kind == "CI" ? "compute_inline" : "compute_root");
    } else {
      add_stage(step, stage, name);
    }
  }

  // Writes a split as TVM does: by lengths from the innermost level out, or by numbers of parts from the outermost level in.
  void split(const std::string& s, size_t stage, size_t axis, bool is_inner_first) {
    auto& axes = variables_[stage];
    std::string rest = axes[axis];
    std::vector<std::string> made;
    for (size_t i = 0; i < lengths_.size(); ++i) {
      const int64_t length = is_inner_first ? lengths_[lengths_.size() - 1 - i] : lengths_[i];
      const std::string outer = rest + "_o", inner = rest + "_i";
      out_ += fmt::format("{}, {} = {}.split({}, {}={})\n", outer, inner, s, rest, is_inner_first ? "factor" : "nparts", length);
      made.insert(is_inner_first ? made.begin() : made.end(), is_inner_first ? inner : outer);
      rest = is_inner_first ? outer : inner;
    }
    made.insert(is_inner_first ? made.begin() : made.end(), rest);
    axes.erase(axes.begin() + static_cast<ptrdiff_t>(axis));
    axes.insert(axes.begin() + static_cast<ptrdiff_t>(axis), made.begin(), made.end());
  }

  void pragma(const Step& step, const std::string& s, const std::string& axis) {
    const auto* kind = step.arguments.size() > 2 ? std::get_if<std::string>(&step.arguments[2]) : nullptr;
    if (!kind) { return; }
    const size_t dollar = kind->find('$');
    if (dollar == std::string::npos) { out_ += fmt::format("{}.pragma({}, \"{}\")\n", s, axis, *kind); return; }
    out_ += fmt::format("{}.pragma({}, \"{}\", {})\n{}.pragma({}, \"unroll_explicit\", True)\n", s, axis, kind->substr(0, dollar), kind->substr(dollar + 1), s, axis);
  }

  void add_stage(const Step& step, size_t stage, const std::string& name) {
    const auto* scope = step.arguments.size() > 1 ? std::get_if<std::string>(&step.arguments[1]) : nullptr;
    const size_t made = step.kind == "CHR" ? stage + 1 : stage;
    const StateStage& added = state_.stages()[made];
    std::string call;
    if (step.kind == "CHR" && scope) {
      std::vector<std::string> readers;
      for (int64_t one : list_of(step, 2)) { readers.push_back(names_[static_cast<size_t>(one)]); }
      call = fmt::format("s.cache_read({}, \"{}\", [{}])", name, *scope, fmt::join(readers, ", "));
    } else if (step.kind == "CHW" && scope) {
      call = fmt::format("s.cache_write({}, \"{}\")", name, *scope);
    } else {
      call = fmt::format("s.rfactor({}, {}, {})", name, variables_[stage][static_cast<size_t>(number_of(step, 1))], number_of(step, 2));
    }
    names_.insert(names_.begin() + static_cast<ptrdiff_t>(made), identifier(added.name));
    variables_.insert(variables_.begin() + static_cast<ptrdiff_t>(made), axes_of(added));
    out_ += fmt::format("{} = {}\n", names_[made], call) + declared(made, fmt::format("s[{}].op", names_[made]));
    if (step.kind == "CHR") { return; }
    variables_[made + 1] = axes_of(state_.stages()[made + 1]);
    out_ += declared(made + 1, fmt::format("s[{}].op", names_[made + 1]));
  }

  State state_;
  std::vector<std::string> names_;                     // the variable of each stage's tensor
  std::vector<std::vector<std::string>> variables_;    // of the axes of each stage
  std::vector<int64_t> lengths_;                       // of the split that is written
  std::string out_;
};

}  // namespace

auto python_code(const State& initial, const std::vector<Step>& steps) -> std::string { return Writer(initial).write(steps); }

}  // namespace loopsmith::script::auto_scheduler
