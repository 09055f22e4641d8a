// Completion in an editor: items by the state of the schedule, names in reach, snippets. See completion.h.
#include "lsp/features/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/estimate.h"
#include "ir/printer.h"
#include "ir/script_diff.h"
#include "lsp/features/completion/editor_spot.h"
#include "lsp/features/completion/legality.h"
#include "lsp/features/completion/namespaces.h"
#include "lsp/features/completion/schedule_items.h"
#include "lsp/features/completion/values.h"
#include "lsp/features/names.h"
#include "lsp/features/tuning.h"
#include "support/cancel_scope.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto completion_kind(EntityKind kind) -> CompletionKind {
  switch (kind) {
    case EntityKind::Namespace: return CompletionKind::Namespace;
    case EntityKind::Class: return CompletionKind::Class;
    case EntityKind::Program:
    case EntityKind::Schedule:
    case EntityKind::Function: return CompletionKind::Function;
    case EntityKind::Constant: return CompletionKind::Constant;
    case EntityKind::Buffer: return CompletionKind::Buffer;
    case EntityKind::Loop: return CompletionKind::Loop;
    case EntityKind::Block: return CompletionKind::Block;
    default: return CompletionKind::Variable;
  }
}

auto kind_text(const Entity& entity) -> std::string {
  switch (entity.kind) {
    case EntityKind::Namespace: return "namespace";
    case EntityKind::Class: return "module";
    case EntityKind::Program: return "program";
    case EntityKind::Schedule: return "schedule";
    case EntityKind::Function: return "function";
    case EntityKind::Constant: return "constant";
    case EntityKind::Parameter: return "parameter";
    case EntityKind::Buffer: return entity.has(Trait::LocalScope) ? "local buffer" : entity.has(Trait::SharedScope) ? "shared buffer" : entity.has(Trait::WarpScope) ? "warp buffer" : "buffer";
    case EntityKind::Loop: return "loop variable";
    case EntityKind::Iter: return entity.has(Trait::Reduction) ? "reduction iter var" : entity.has(Trait::Spatial) ? "spatial iter var" : "iter var";
    default: return "variable";
  }
}

/// Names bound above the cursor in the function around it, and those of the file.
void add_names(const EditorSpot& spot, ItemList& items) {
  NameTable names = names_in_reach(spot.snapshot, spot.item);
  DeclId here = spot.function != nullptr ? spot.function->decl : 0;
  std::vector<Name> seen;
  // Items that were judged as arguments keep their rank.
  for (const CompletionItem& item : items.list) { seen.emplace_back(item.label); }
  for (auto o = names.occurrences.rbegin(); o != names.occurrences.rend(); ++o) {
    const Entity& entity = names.entities[o->entity];
    if (o->role != Role::Bind || entity.kind == EntityKind::Block || !entity.is_bound) { continue; }
    bool is_local = entity.function != 0;
    if (is_local && (entity.function != here || o->span.begin >= spot.text.prefix_begin)) { continue; }
    if (o->span.begin <= spot.at && o->span.end >= spot.at) { continue; }
    if (std::find(seen.begin(), seen.end(), entity.name) != seen.end()) { continue; }
    seen.push_back(entity.name);
    std::string detail = kind_text(entity);
    CompletionKind kind = completion_kind(entity.kind);
    for (const LiveVariable& variable : spot.live) {
      if (!is_local || entity.name.view() != variable.name) { continue; }
      detail = variable.place != nullptr ? describe(*variable.place) : std::to_string(variable.number);
      kind = variable.place == nullptr ? CompletionKind::Value : variable.place->is_loop() ? CompletionKind::Loop : CompletionKind::Block;
    }
    bool is_gone = is_local && was_named(spot, entity.name) && std::none_of(spot.live.begin(), spot.live.end(), [&](const LiveVariable& one) { return entity.name.view() == one.name; });
    if (is_gone) { detail = "its loop or block is no longer there"; }
    items.add({entity.name.str(), kind, detail, {}, {}, false, is_gone ? refused_argument_rank + 1 : is_local ? 10 : 20});
  }
  for (std::string_view name : {"T", "I", "tir", "ls"}) {
    if (std::find(seen.begin(), seen.end(), Name(name)) == seen.end()) { items.add({std::string(name), CompletionKind::Namespace, "namespace", {}, {}, false, 25}); }
  }
  for (std::string_view word : {"for", "if", "elif", "else", "while", "with", "def", "return", "pass", "assert", "and", "or", "not", "in", "True", "False", "None", "range"}) {
    items.add({std::string(word), CompletionKind::Keyword, "", {}, {}, false, 40});
  }
}

void add_snippets(const EditorSpot& spot, ItemList& items) {
  if (!spot.text.object.empty() || spot.text.call) { return; }
  std::string_view text = spot.snapshot.text();
  uint32_t line = spot.snapshot.lines().line_of(spot.at);
  uint32_t start = spot.snapshot.lines().line_start(text, line);
  std::string_view before = text.substr(start, spot.text.prefix_begin - start);
  if (before.find_first_not_of(" \t") != std::string_view::npos) { return; }
  auto add = [&](const char* label, const char* detail, const char* body) {
    items.add({label, CompletionKind::Snippet, detail, std::string("```python\n") + detail + "\n```", body, true, 30});
  };
  if (before.empty()) {
    add("prim_func", "a program",
        "@T.prim_func\ndef ${1:name}(${2:A}: T.Buffer((${3:128, 128}), \"${4:float32}\")):\n    T.func_attr({\"tir.noalias\": T.bool(True)})\n    $0");
    std::string function = workspace::schedule_function({.program = "${1:program}", .name = "${2:name}", .body = "${3:b} = sch.get_block(\"${4:C}\")\n$0\n"});
    function.pop_back();
    std::string schedule = in_form_of(spot.snapshot, function).text;
    if (schedule.ends_with('\n')) { schedule.pop_back(); }
    add("schedule", "a schedule for a program", schedule.c_str());
  } else if (spot.schedule == nullptr) {
    add("grid", "loops over a grid", "for ${1:i, j} in T.grid(${2:128, 128}):\n    $0");
    add("block", "a block with its iter vars", "with T.block(\"${1:C}\"):\n    ${2:vi, vj} = T.axis.remap(\"${3:SS}\", [${4:i, j}])\n    $0");
    add("init", "the value a reduction begins with", "with T.init():\n    ${1:C[vi, vj]} = T.float32(0)\n$0");
  }
}

/// The speedup by the estimate; 1: no difference.
auto gain_of(const schedule::Schedule& before, const schedule::Schedule& after) -> double {
  const schedule::FuncState* from = before.state().func(before.func_working_on());
  const schedule::FuncState* to = after.state().func(after.func_working_on());
  if (from == nullptr || to == nullptr) { return 1; }
  double gain = cost::gain(*from, *to, cost::core_of(target::host())).value_or(1);
  return cost::gain_text(gain).empty() ? 1 : gain;
}

}  // namespace

auto completion(const Snapshot& snapshot, uint32_t at, const Patience& patience) -> Completion {
  CancelScope scope(patience.cancel);
  EditorSpot spot = find_spot(snapshot, at, patience);
  Completion result;
  result.replaced = {spot.text.prefix_begin, spot.at};
  if (spot.text.in_comment) { return result; }
  ItemList items{spot.text.prefix, schedule_items(spot)};
  bool is_of_schedule = !spot.schedule_name.empty() && spot.text.object == spot.schedule_name;
  if (!spot.text.in_string && items.list.empty() && add_attributes_of_value(spot, items)) {
    result.items = sorted_items(std::move(items.list));
    return result;
  }
  if (!spot.text.in_string && !spot.text.object.empty() && !is_of_schedule) {
    std::string_view space = spot.text.object;
    space = space.substr(space.rfind('.') == std::string_view::npos ? 0 : space.rfind('.') + 1);
    if (space == "tir" || space == "s_tir") { items.add({"Schedule", CompletionKind::Class, "tir.Schedule(mod)", "a program that is scheduled; as the annotation of a parameter, one that is handed to the function", {}, false, 0}); }
    (void)add_namespace(items, spot.text.object);
  } else if (!spot.text.in_string && spot.text.object.empty()) {
    add_names(spot, items);
    add_snippets(spot, items);
  }
  result.items = sorted_items(std::move(items.list));
  result.is_complete = !spot.is_cut_short;
  return result;
}

auto preview(const Snapshot& snapshot, uint32_t at, std::string_view primitive) -> std::string {
  EditorSpot spot = find_spot(snapshot, at);
  const schedule::Primitive* row = schedule::find_primitive(primitive);
  if (row == nullptr || spot.now == nullptr) { return {}; }
  schedule::Legality legality = schedule::legality_of(*spot.now, *row, names_for(spot.live));
  if (legality.verdict != schedule::Legality::Verdict::Legal) { return {}; }
  auto is_taken = [&](std::string_view name) { return std::any_of(spot.live.begin(), spot.live.end(), [&](const LiveVariable& one) { return one.name == name; }); };
  auto best = Gains(spot).best(*row, *legality.move);
  auto tried = schedule::try_move(*spot.now, best ? best->first : *legality.move, names_for(spot.live), is_taken);
  if (!tried.ok()) { return {}; }
  std::string text = fmt::format("```python\n{}\n```\n{}", row->signature(), row->help);
  if (double gain = gain_of(*spot.now, tried->after); gain != 1) { text += "\n\n" + cost::gain_text(gain) + ", by estimate"; }
  text += fmt::format("\n\n```python\n{}\n```\n", schedule::in_words_of(tried->statement, spot.schedule_name));
  std::string diff = diff_scripts(print_script(spot.now->module()), print_script(tried->after.module()), {.context = 1});
  text += diff.empty() ? std::string("changes nothing") : "```diff\n" + diff + "```";
  return text;
}

}  // namespace loopsmith::lsp
