// Items by the state of a schedule: see schedule_items.h.
#include "lsp/features/completion/schedule_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "ir/ops.h"
#include "ir/vocabulary.h"
#include "lsp/features/completion/arguments.h"
#include "lsp/features/completion/legality.h"
#include "lsp/features/completion/primitives.h"
#include "schedule/intrinsics.h"
#include "support/saturate.h"

namespace loopsmith::lsp {
namespace {

using schedule::ValueKind;
using Verdict = schedule::Legality::Verdict;

constexpr std::string_view accesses[] = {"read", "write"};
constexpr std::string_view targets[] = {"llvm", "cuda", "rocm", "c", "llvm -mcpu=native", "llvm -num-cores=1"};

/// Adds the values as items: legal ones first, refused ones with the reason.
void add_values(const ScheduleSpot& spot, ItemList& items, const schedule::Primitive& row, const schedule::Param& param) {
  auto extent = param.name == "factors" ? extent_of_argument(spot) : std::nullopt;
  for (Offered& one : values_offered(spot, row, param)) {
    CompletionItem item{one.text, CompletionKind::Value, one.about, {}, {}, false, one.legality.verdict == Verdict::Legal ? 0 : 3};
    if (item.detail.empty() && extent) {
      int64_t product = 1;
      auto list = written_value(spot, param, one.text);
      const auto* factors = list ? list->as<schedule::Value::List>() : nullptr;
      for (size_t i = 0; factors != nullptr && i < factors->size(); ++i) { product = saturating_mul(product, (*factors)[i].integer() != nullptr ? *(*factors)[i].integer() : 1); }
      item.detail = *extent % product == 0 ? fmt::format("`None` is {}", *extent / product) : fmt::format("{} is not a multiple of {}: guarded by a condition", *extent, product);
      if (*extent % product != 0) { item.rank = 2; }
    }
    if (one.legality.verdict == Verdict::Refused) {
      item.rank = refused_argument_rank;
      item.detail = one.legality.why_not;
      item.note = "not here";
    }
    // A buffer may also be given by its name.
    if (!param.index_of.empty() && one.about.size() > 9) {
      CompletionItem named = item;
      named.label = fmt::format("\"{}\"", std::string_view(one.about).substr(8, one.about.size() - 9));
      named.detail = item.note.empty() ? fmt::format("the buffer with number `{}`", one.text) : item.detail;
      named.rank += 1;
      items.add(std::move(named));
    }
    items.add(std::move(item));
  }
}

/// Buffers of a block by their names, in a string.
void add_buffer_names(const ScheduleSpot& spot, ItemList& items, const schedule::Primitive& row, const schedule::Param& param) {
  const Block* block = block_of_argument(spot, row);
  if (block == nullptr) { return; }
  for (bool is_write : {false, true}) {
    if (!param.index_of.empty() && is_write != (param.index_of == "write")) { continue; }
    for (const BufferRegion& region : is_write ? block->writes : block->reads) {
      items.add({region.buffer->name.str(), CompletionKind::Buffer, is_write ? "buffer that the block writes" : "buffer that the block reads", {}, {}, false, is_write ? 1 : 0});
    }
  }
}

/// Adds items for the next number of a list with one number for each iter var: of `padding` a multiple, of `new_order` an index that is not listed yet.
void add_iter_numbers(const ScheduleSpot& spot, ItemList& items, const schedule::Primitive& row, const schedule::Param& param) {
  const Block* block = block_of_argument(spot, row);
  if (block == nullptr) { return; }
  const CallContext& call = *spot.text.call;
  if (param.name == "padding") {
    if (call.list_item >= block->iter_vars.size()) { return; }
    const IterVar& iter = block->iter_vars[call.list_item];
    auto extent = as_int(iter.dom.extent);
    int rank = 0;
    for (int64_t number : {1, 2, 4, 8, 16, 32, 64}) {
      int64_t padded = extent ? saturating_mul(*extent / number + (*extent % number > 0 ? 1 : 0), number) : 0;
      items.add({std::to_string(number), CompletionKind::Value, extent ? fmt::format("`{}`: {} becomes {}", iter.var->name.view(), *extent, padded) : fmt::format("`{}`", iter.var->name.view()), {}, {}, false, rank++});
    }
    return;
  }
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    std::string text = std::to_string(i);
    bool is_there = std::find(call.list_items.begin(), call.list_items.end(), text) != call.list_items.end();
    if (!is_there) { items.add({text, CompletionKind::Value, fmt::format("iter var `{}`", block->iter_vars[i].var->name.view()), {}, {}, false, static_cast<int>(i)}); }
  }
}

/// Adds the next factor of a list: divisors of the extent that remains after the other factors.
void add_factors(const ScheduleSpot& spot, ItemList& items, bool may_be_open) {
  if (auto extent = extent_of_argument(spot)) {
    int64_t left = extent_left(spot, *extent).value_or(*extent);
    std::vector<int64_t> all = divisors(left);
    for (size_t i = 0; i < all.size(); ++i) {
      items.add({std::to_string(all[i]), CompletionKind::Value, fmt::format("divides {}: {} are left", left, left / all[i]), {}, {}, false, static_cast<int>(1 + i)});
    }
  }
  const std::vector<std::string>& written = spot.text.call->list_items;
  bool has_open = std::find(written.begin(), written.end(), "None") != written.end();
  if (may_be_open && !has_open) { items.add({"None", CompletionKind::Value, "the rest of the extent; only once", {}, {}, false, 0}); }
}

/// Decisions of a sampled tile: as many factors as the call has; the innermost is a common vector length.
void add_decisions(const ScheduleSpot& spot, ItemList& items, const schedule::Primitive& row) {
  auto extent = extent_of_argument(spot);
  auto before = extent ? values_before(spot, row, 2) : std::nullopt;
  const int64_t* count = before ? before->back().integer() : nullptr;
  if (count == nullptr || *count < 1 || *count > 8) { return; }
  int rank = 0;
  for (int64_t inner : {4, 8, 16, 2, 1}) {
    bool fits = *extent % inner == 0 && (inner == 1 || *extent > inner) && (*count > 1 || inner == 1);
    if (!fits) { continue; }
    std::vector<int64_t> factors(static_cast<size_t>(*count), 1);
    factors.back() *= inner;
    factors.front() *= *extent / inner;
    items.add({fmt::format("[{}]", fmt::join(factors, ", ")), CompletionKind::Value, fmt::format("their product is {}", *extent), {}, {}, false, rank++});
  }
}

/// Inside a string: names of blocks, buffers and functions, scopes, thread axes, intrinsics, annotations, targets, dtypes.
void add_texts(const ScheduleSpot& spot, const schedule::Primitive* row, const schedule::Param* param, ItemList& items) {
  std::string_view callee = spot.text.call ? std::string_view(spot.text.call->callee) : std::string_view();
  callee = callee.substr(callee.rfind('.') == std::string_view::npos ? 0 : callee.rfind('.') + 1);
  std::string_view keyword = spot.text.call ? std::string_view(spot.text.call->keyword) : std::string_view();
  bool names_block = param != nullptr && (param->kind == schedule::ValueKind::Block || param->kind == schedule::ValueKind::BlockOrLoop ||
                                          (row->name == "get_block" && param->name == "name"));
  bool names_function = (param != nullptr && param->name == "func_name") || (callee == "work_on" && spot.text.call->callee == spot.schedule_name + ".work_on");
  bool names_buffer = param != nullptr && (!param->index_of.empty() || param->kind == schedule::ValueKind::Buffer);
  if (names_function) {
    for (Name name : function_names(spot)) { items.add({name.str(), CompletionKind::Function, "function of the module", {}, {}, false, 0}); }
  } else if (names_buffer && spot.text.call->in_tuple) {
    items.values(accesses, "buffers that the block accesses so");
  } else if (names_buffer) {
    add_buffer_names(spot, items, *row, *param);
  } else if (names_block) {
    for (const std::string& name : block_names(spot)) { items.add({name, CompletionKind::Block, "block", {}, {}, false, 0}); }
  } else if (keyword == "scope" || keyword == "storage_scope" || (param != nullptr && param->name.find("scope") != std::string_view::npos)) {
    items.values(usual_scopes(), "storage scope");
  } else if (keyword == "thread" || callee == "thread_binding" || callee == "launch_thread" || callee == "env_thread" || (param != nullptr && param->name.find("thread") != std::string_view::npos)) {
    items.values(bindable_axes(), "thread axis");
  } else if (param != nullptr && param->name == "tensor_intrin") {
    add_intrinsics(spot, items);
  } else if (param != nullptr && param->name == "ann_key") {
    items.words(frontend::Vocabulary::LoopAnnotation, "annotation of loops", 0);
    items.words(frontend::Vocabulary::BlockAnnotation, "annotation of blocks", 100);
  } else if (spot.text.call && spot.text.call->in_dictionary) {
    if (callee == "func_attr") { items.words(frontend::Vocabulary::FunctionAttribute, "attribute of functions", 0); }
    if (callee == "block_attr" || callee == "sblock_attr") { items.words(frontend::Vocabulary::BlockAnnotation, "annotation of blocks", 0); }
    if (keyword == "annotations") { items.words(frontend::Vocabulary::LoopAnnotation, "annotation of loops", 0); }
  } else if (keyword == "target") {
    items.values(targets, "target");
  } else if (keyword == "dtype" || (param != nullptr && param->name == "dtype") || callee == "Buffer" || callee == "alloc_buffer" || callee == "match_buffer" || callee == "decl_buffer" || callee == "cast" || callee == "allocate") {
    items.values(dtypes, "dtype");
  }
}

/// Variables of the script that are possible arguments.
void add_variables(const ScheduleSpot& spot, const schedule::Primitive& row, const schedule::Param& param, ItemList& items) {
  for (const LiveVariable& variable : spot.live) {
    bool fits = variable.place == nullptr ? param.kind == ValueKind::Int || param.kind == ValueKind::OptionalInt
                : variable.place->is_loop() ? param.kind == ValueKind::Loop || param.kind == ValueKind::BlockOrLoop
                                            : param.kind == ValueKind::Block || param.kind == ValueKind::BlockOrLoop;
    if (!fits) { continue; }
    if (spot.patience.cancel.is_cancelled()) { break; }
    CompletionItem item{variable.name, CompletionKind::Value, std::to_string(variable.number), {}, {}, false, 2};
    if (variable.place != nullptr) {
      item.kind = variable.place->is_loop() ? CompletionKind::Loop : CompletionKind::Block;
      item.detail = describe(*variable.place);
      schedule::Legality legality = argument_legality(spot, row, param, *variable.place);
      item.rank = legality.verdict == schedule::Legality::Verdict::Legal ? 0 : 2;
      if (legality.verdict == schedule::Legality::Verdict::Refused) {
        item.rank = refused_argument_rank;
        item.detail = legality.why_not;
        item.note = "not here";
      }
    }
    items.add(std::move(item));
  }
}

/// Loops and blocks without a variable, as expressions that look them up, if the call is legal with them.
void add_unnamed_places(const ScheduleSpot& spot, const schedule::Primitive& row, const schedule::Param& param, ItemList& items) {
  bool takes_loop = param.kind == ValueKind::Loop || param.kind == ValueKind::BlockOrLoop;
  bool takes_block = param.kind == ValueKind::Block || param.kind == ValueKind::BlockOrLoop;
  for (const auto& [written, place] : takes_loop || takes_block ? unnamed_places(spot) : std::vector<std::pair<std::string, const schedule::Place*>>()) {
    if (place->is_loop() ? !takes_loop : !takes_block) { continue; }
    if (spot.patience.cancel.is_cancelled()) { break; }
    schedule::Legality legality = argument_legality(spot, row, param, *place);
    if (legality.verdict == schedule::Legality::Verdict::Refused) { continue; }
    CompletionItem item{written, place->is_loop() ? CompletionKind::Loop : CompletionKind::Block, describe(*place), {}, {}, false, legality.verdict == schedule::Legality::Verdict::Legal ? 1 : 3};
    // Typing the name in the program also finds the item.
    item.found_by = place->name().str() + " " + written;
    items.add(std::move(item));
  }
}

/// Lists, numbers, names and booleans that are possible arguments.
void add_other_values(const ScheduleSpot& spot, const schedule::Primitive& row, const schedule::Param& param, ItemList& items) {
  const CallContext& call = *spot.text.call;
  bool is_decision = param.name == "decision" && row.name.find("tile") != std::string_view::npos;
  if (call.in_list && (param.name == "factors" || is_decision)) {
    add_factors(spot, items, !is_decision);
  } else if (call.in_list && (param.name == "padding" || param.name == "new_order")) {
    add_iter_numbers(spot, items, row, param);
  } else if (is_decision) {
    add_decisions(spot, items, row);
  } else if (param.name == "name" && row.name == "get_block") {
    for (const std::string& name : block_names(spot)) { items.add({fmt::format("\"{}\"", name), CompletionKind::Block, "block", {}, {}, false, 0}); }
  } else if (!call.in_list && !call.in_tuple) {
    add_values(spot, items, row, param);
  }
  if (param.kind == ValueKind::Bool) {
    items.add({"True", CompletionKind::Value, "", {}, {}, false, 0});
    items.add({"False", CompletionKind::Value, "", {}, {}, false, 0});
  }
}

/// Keywords of parameters: `factors=`.
void add_keywords(const ScheduleSpot& spot, const schedule::Primitive& row, ItemList& items) {
  for (size_t i = spot.text.call->argument; i < row.params.size(); ++i) {
    if (row.params[i].is_variadic) { continue; }
    items.add({std::string(row.params[i].name) + "=", CompletionKind::Constant, fmt::format("argument of `{}`", row.name), {}, {}, false, 15});
  }
}

}  // namespace

void add_intrinsics(const ScheduleSpot& spot, ItemList& items) {
  constexpr size_t most_judged = 200;
  std::vector<Name> names;
  if (spot.now != nullptr && spot.now->intrinsics() != nullptr) {
    for (const schedule::TensorIntrin& one : *spot.now->intrinsics()) { names.push_back(one.name); }
  }
  if (const schedule::IntrinsicTable* table = schedule::builtin_intrinsics()) {
    for (Name name : table->names()) { names.push_back(name); }
  }
  const schedule::Primitive* row = schedule::find_primitive("tensorize");
  auto before = row != nullptr ? values_before(spot, *row, 1) : std::nullopt;
  auto first = before ? std::optional(before->front()) : std::nullopt;
  for (size_t i = 0; i < names.size(); ++i) {
    CompletionItem item{names[i].str(), CompletionKind::Value, "tensor intrinsic", {}, {}, false, 100};
    if (first && i < most_judged) {
      std::vector<std::optional<schedule::Value>> values = {first, schedule::Value(names[i].str())};
      schedule::Legality legality = remembered(spot, fmt::format("tensorize({},{}", spot.text.call->arguments.front(), names[i].view()),
                                               [&](const schedule::Stop& stop) { return schedule::legality_with(*spot.now, *row, values, stop); });
      if (legality.verdict == Verdict::Legal) { item.rank = 0; }
      if (legality.verdict == Verdict::Refused) {
        item.rank = 200;
        item.detail = legality.why_not;
        item.note = "not here";
      }
    }
    items.add(std::move(item));
  }
}

auto schedule_items(const ScheduleSpot& spot) -> std::vector<CompletionItem> {
  ItemList items{spot.text.prefix};
  if (spot.text.in_comment) { return {}; }
  const schedule::Primitive* row = row_called(spot);
  const schedule::Param* param = row != nullptr ? parameter_at(*row, *spot.text.call) : nullptr;
  if (spot.text.in_string) {
    add_texts(spot, row, param, items);
  } else if (!spot.text.object.empty()) {
    if (!spot.schedule_name.empty() && spot.text.object == spot.schedule_name) { add_primitives(spot, items); }
  } else if (row != nullptr) {
    if (param != nullptr) {
      add_variables(spot, *row, *param, items);
      add_unnamed_places(spot, *row, *param, items);
      add_other_values(spot, *row, *param, items);
    }
    if (spot.text.call->keyword.empty() && !spot.text.call->in_list) { add_keywords(spot, *row, items); }
  }
  return std::move(items.list);
}

auto sorted_items(std::vector<CompletionItem> all) -> std::vector<CompletionItem> {
  std::vector<CompletionItem> sorted;
  std::sort(all.begin(), all.end(), [](const CompletionItem& a, const CompletionItem& b) { return std::tie(a.rank, a.label) < std::tie(b.rank, b.label); });
  for (CompletionItem& item : all) {
    bool is_there = std::any_of(sorted.begin(), sorted.end(), [&](const CompletionItem& other) { return other.label == item.label && other.is_snippet == item.is_snippet; });
    if (!is_there) { sorted.push_back(std::move(item)); }
  }
  return sorted;
}

}  // namespace loopsmith::lsp
