// Lowering and printing code: see stages.h.
#include "lsp/features/stages.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "codegen/llvm/codegen.h"
#include "codegen/source/source.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/vocabulary.h"
#include "target/gpu.h"
#include "target/hardware.h"
#include "target/target.h"
#include "transform/pipelines.h"

namespace loopsmith::lsp {
namespace {

void add_step(StageText& out, uint32_t line, uint32_t step) {
  bool is_known = step == 0;
  for (auto known = out.steps.rbegin(); known != out.steps.rend() && known->first == line; ++known) { is_known = is_known || known->second == step; }
  if (!is_known) { out.steps.emplace_back(line, step); }
}

auto printed(const IRModule& module) -> StageText {
  StageText out;
  std::vector<PrintedRange> ranges;
  out.text = print_script(module, {.ranges = &ranges});
  uint32_t line = 0;
  size_t at = 0;
  for (const PrintedRange& range : ranges) {
    if (range.id != 0) {
      out.places.push_back(range);
      out.places.back().node = nullptr;
    }
    if (range.node == nullptr || !range.node->origin.is_known() || range.begin < at) { continue; }
    line += static_cast<uint32_t>(std::count(out.text.begin() + static_cast<std::ptrdiff_t>(at), out.text.begin() + range.begin, '\n'));
    at = range.begin;
    add_step(out, line, range.node->origin.step);
    // Loops of one `T.grid` share a line, which counts for the outermost.
    if (out.lines.empty() || out.lines.back().first != line) { out.lines.emplace_back(line, range.node->origin); }
  }
  return out;
}

auto number_at(std::string_view text, size_t at) -> size_t {
  size_t value = 0;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) { ++at; }
  std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value;
}

auto number_behind(std::string_view line, std::string_view mark) -> std::optional<size_t> {
  size_t at = line.find(mark);
  return at == std::string_view::npos ? std::nullopt : std::optional(number_at(line, at + mark.size()));
}

/// Debug locations in code have indices into `origins` (from 1) as line numbers.
class Emitted {
 public:
  explicit Emitted(const std::vector<Origin>& origins) : origins_(origins) {}

  void add(const std::string& line, size_t place) {
    if (place > 0 && place <= origins_.size()) {
      out.lines.emplace_back(count_, origins_[place - 1]);
      add_step(out, static_cast<uint32_t>(count_), origins_[place - 1].step);
    }
    out.text += line;
    out.text += '\n';
    ++count_;
  }

  StageText out;

 private:
  const std::vector<Origin>& origins_;
  uint32_t count_ = 0;
};

template <class F>
void each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The text without debug information.
auto tidy_assembly(const std::string& text, const std::vector<Origin>& origins) -> StageText {
  Emitted emitted(origins);
  size_t place = 0;
  bool is_debug = false;
  each_line(text, [&](std::string_view line) {
    std::string_view word = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    if (word.starts_with(".section")) { is_debug = word.find(".debug_") != std::string_view::npos || word.find(".note") != std::string_view::npos; }
    if (word.starts_with(".loc\t") || word.starts_with(".loc ")) {
      // ".loc FILE LINE COLUMN"
      size_t file_end = word.find_first_of(" \t", std::min(word.find_first_not_of(" \t", 4), word.size()));
      place = file_end == std::string_view::npos ? 0 : number_at(word, file_end);
      return;
    }
    bool is_label = !line.empty() && line.find(':') != std::string_view::npos && line[0] != '\t' && line[0] != ' ';
    bool is_marker = line.starts_with(".Ltmp") || line.starts_with(".Lfunc_") || line.starts_with(".Ldebug");
    if (is_debug || is_marker || word.starts_with(".cfi_") || word.starts_with(".file") || word.starts_with(".ident") || word.starts_with(".addrsig")) { return; }
    if (word.starts_with(".type") || word.starts_with(".globl")) { place = 0; }
    // Remove comments about the nesting of loops, since the views of the program show it better.
    if (word.starts_with("#") && word.find("Loop") != std::string_view::npos) { return; }
    // Remove Loopsmith's own comments with the numbers of places, and the padding before other comments.
    size_t comment = std::min(line.find("# place:"), line.size());
    std::string shown(line.substr(0, comment));
    while (!shown.empty() && (shown.back() == ' ' || shown.back() == '\t')) { shown.pop_back(); }
    if (size_t mark = shown.find("#"); mark != std::string::npos && mark > 0) {
      size_t end = shown.find_last_not_of(" \t", mark - 1);
      bool is_parent = shown.find("Parent Loop", mark) != std::string::npos;
      if (end != std::string::npos) { shown = shown.substr(0, end + 1) + (is_parent ? "" : "  " + shown.substr(mark)); }
    }
    bool is_code = !is_label && !word.starts_with(".") && !word.starts_with("#") && !word.empty();
    emitted.add(shown, is_code ? place : 0);
  });
  return std::move(emitted.out);
}

auto tidy_llvm(const std::string& text, const std::vector<Origin>& origins) -> StageText {
  // "!12 = !DILocation(line: 7, column: 1, scope: !5)"
  std::map<size_t, size_t> places;
  each_line(text, [&](std::string_view line) {
    if (!line.starts_with("!") || line.find("!DILocation(") == std::string_view::npos) { return; }
    if (auto place = number_behind(line, "line: ")) { places[number_at(line, 1)] = *place; }
  });
  Emitted emitted(origins);
  each_line(text, [&](std::string_view line) {
    std::string_view word = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with("!") || word.starts_with("#dbg_") || word.find("@llvm.dbg.") != std::string_view::npos) { return; }
    size_t place = 0;
    std::string shown(line);
    if (size_t mark = shown.find("!dbg !"); mark != std::string::npos) {
      auto known = places.find(number_at(shown, mark + 6));
      if (known != places.end()) { place = known->second; }
      size_t end = shown.find_first_not_of("0123456789", mark + 6);
      size_t begin = mark;
      while (begin > 0 && (shown[begin - 1] == ' ' || shown[begin - 1] == ',')) { --begin; }
      shown.erase(begin, (end == std::string::npos ? shown.size() : end) - begin);
    }
    emitted.add(shown, place);
  });
  return std::move(emitted.out);
}

/// The kernels as text; each `#line` gives the origin of the lines after it.
auto kernel_text(const IRModule& lowered, Stage stage) -> StageText {
  std::vector<Origin> origins;
  codegen::SourceOptions options;
  options.locate = [&](const Origin& origin) -> std::optional<codegen::SourcePlace> {
    if (!origin.is_known()) { return {}; }
    if (origins.empty() || origins.back() != origin) { origins.push_back(origin); }
    return codegen::SourcePlace{"place", static_cast<uint32_t>(origins.size()), 1};
  };
  auto text = codegen::kernel_source(lowered, stage == Stage::Cuda ? codegen::SourceDialect::Cuda : codegen::SourceDialect::OpenCl, options);
  if (!text.ok()) {
    StageText failed;
    failed.problems = text.diagnostics();
    return failed;
  }
  Emitted emitted(origins);
  size_t place = 0;
  each_line(*text, [&](std::string_view line) {
    if (line.starts_with("#line ")) {
      place = number_at(line, 6);
      return;
    }
    // A line with only a brace belongs to no statement, and neither does the text before the kernels.
    bool is_brace = line.find_first_not_of(" }") == std::string_view::npos;
    if (line.starts_with("}")) { place = 0; }
    emitted.add(std::string(line), is_brace || !line.starts_with(" ") ? 0 : place);
  });
  return std::move(emitted.out);
}

auto is_of_device(Stage stage) -> bool { return stage == Stage::DeviceStages || stage == Stage::Cuda || stage == Stage::OpenCl; }

auto make(const IRModule& given, Stage stage, std::string_view symbol, const std::string& target_text) -> StageText {
  StageText failed;
  target::Target target = target::host();
  if (!target_text.empty()) {
    auto parsed = target::parse(target_text);
    if (!parsed.ok()) {
      failed.problems = parsed.diagnostics();
      return failed;
    }
    target = *parsed;
  }
  IRModule module = given;
  if (!symbol.empty() && module->functions.size() == 1) {
    // A function `main` gets the program's name in the file.
    const auto& [name, function] = *module->functions.begin();
    PrimFuncNode named = *function;
    named.attrs = with_attr(named.attrs, "global_symbol", std::string(symbol));
    module = with_function(module, name, make_func(std::move(named)));
  }
  transform::LowerContext context;
  target::Hardware hardware = target::hardware(target);
  context.options.masked_memory = hardware.avx512 || target.architecture() != target::Architecture::X86_64;
  if (stage == Stage::Ptx && target.kind != target_kind::nvptx) {
    // PTX is for the architecture of the target, or for the default one.
    auto meant = target::parse(target.kind == target_kind::cuda ? "nvptx -mcpu=" + target::cuda_arch(target) : "nvptx");
    if (meant.ok()) { target = *meant; }
  }
  // A program for another target is lowered for the default GPU.
  std::string_view kind = target.kind;
  context.options.async_copies = target.kind != target_kind::cuda || target::has_async_copies(target);
  if (is_of_device(stage) && !is_gpu_target(kind)) { kind = stage == Stage::OpenCl ? "opencl" : "cuda"; }
  auto lowered = transform::lower(module, context, {.target_kind = kind, .until = {}, .on_stage = {}});
  if (!lowered.ok()) {
    failed.problems = lowered.diagnostics();
    return failed;
  }
  if (stage == Stage::Lowered || stage == Stage::DeviceStages) { return printed(*lowered); }
  if (is_of_device(stage)) { return kernel_text(*lowered, stage); }
  std::vector<Origin> origins;
  codegen::CodegenOptions options;
  options.hosted = false;
  options.locate = [&](const Origin& origin) -> std::optional<codegen::SourcePlace> {
    if (!origin.is_known()) { return {}; }
    if (origins.empty() || origins.back() != origin) { origins.push_back(origin); }
    return codegen::SourcePlace{"place", static_cast<uint32_t>(origins.size()), 1};
  };
  auto code = codegen::emit(*lowered, target, stage == Stage::LlvmIR ? codegen::EmitKind::LlvmIR : codegen::EmitKind::Assembly, options);
  if (!code.ok()) {
    failed.problems = code.diagnostics();
    return failed;
  }
  return stage == Stage::LlvmIR ? tidy_llvm(*code, origins) : tidy_assembly(*code, origins);
}

}  // namespace

auto stage_named(std::string_view name) -> std::optional<Stage> {
  for (Stage stage : {Stage::State, Stage::Lowered, Stage::LlvmIR, Stage::Assembly, Stage::DeviceStages, Stage::Cuda, Stage::OpenCl, Stage::Ptx}) {
    if (stage_name(stage) == name) { return stage; }
  }
  return std::nullopt;
}

auto stage_name(Stage stage) -> std::string_view {
  switch (stage) {
    case Stage::State: return "";
    case Stage::Lowered: return "lowered";
    case Stage::LlvmIR: return "llvm";
    case Stage::Assembly: return "asm";
    case Stage::DeviceStages: return "device";
    case Stage::Cuda: return "cuda";
    case Stage::OpenCl: return "opencl";
    case Stage::Ptx: return "ptx";
  }
  return "";
}

auto stage_text(const IRModule& module, Stage stage, std::string_view symbol, const std::string& target) -> StageText {
  if (stage == Stage::State) { return printed(module); }
  // The editor requests a view with every move of the cursor, so the last one is cached.
  struct Kept { IRModule module; Stage stage; std::string symbol; std::string target; StageText made; };
  static thread_local std::optional<Kept> kept;
  if (!kept || !kept->module.same_as(module) || kept->stage != stage || kept->symbol != symbol || kept->target != target) {
    kept = Kept{module, stage, std::string(symbol), target, make(module, stage, symbol, target)};
  }
  return kept->made;
}

}  // namespace loopsmith::lsp
