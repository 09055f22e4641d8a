// Finds the thing at the cursor and puts its facts into words: see hover.h.
#include "lsp/features/hover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/thread_proof.h"
#include "cost/carried.h"
#include "cost/estimate.h"
#include "cost/loop_facts.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "lsp/features/factors.h"
#include "lsp/features/banks.h"
#include "lsp/features/hints.h"
#include "lsp/features/lenses.h"
#include "lsp/features/names.h"
#include "lsp/features/refusal_reason.h"
#include "lsp/features/stage_steps.h"
#include "lsp/features/steps.h"
#include "lsp/features/words.h"
#include "schedule/block_classes.h"
#include "schedule/extent_text.h"
#include "schedule/moves.h"
#include "schedule/primitive.h"
#include "schedule/state.h"
#include "script/partway.h"
#include "support/process.h"
#include "support/saturate.h"
#include "support/text.h"
#include "support/text_diff.h"
#include "syntax/schedule_form.h"
#include "target/target.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

// ---- facts in words ------------------------------------------------------------------------------------------------

auto kind_text(const For& loop) -> std::string {
  switch (loop.for_kind) {
    case ForKind::Serial: return "serial";
    case ForKind::Parallel: return "parallel";
    case ForKind::Vectorized: return "vectorized";
    case ForKind::Unrolled: return "unrolled";
    case ForKind::ThreadBinding: return loop.thread ? fmt::format("bound to `{}`", loop.thread->thread_tag.view()) : "bound to a thread";
  }
  return "serial";
}

auto extent_text(const Expr& extent) -> std::string {
  auto number = as_int(extent);
  return number ? grouped(*number) : "`" + schedule::extent_text(extent) + "`";
}

/// "fits L2 (1 MiB)": the nearest cache level that holds all bytes; `is_most`: the number of bytes is an upper bound.
auto cache_text(int64_t bytes, const Machine& machine, bool is_most = false) -> std::string {
  const auto& caches = machine.caches;
  for (size_t i = 0; i < caches.size(); ++i) {
    if (bytes <= static_cast<int64_t>(caches[i])) { return fmt::format("fits L{} ({})", i + 1, bytes_text(static_cast<int64_t>(caches[i]))); }
  }
  return caches.empty() ? std::string() : fmt::format("{} L{} ({})", is_most ? "may exceed" : "exceeds", caches.size(), bytes_text(static_cast<int64_t>(caches.back())));
}

/// "used again in the next iteration, reuse distance 2 KiB, fits L1 (32 KiB)".
auto reuse_text(const cost::Reuse& reuse, const Machine& machine) -> std::string {
  if (!reuse.distance) { return "used in one iteration only"; }
  std::string text = *reuse.distance == 1 ? "used again in the next iteration" : fmt::format("used again {} iterations on", grouped(*reuse.distance));
  if (!reuse.bytes) { return text; }
  text += fmt::format(", reuse distance {}", bytes_text(*reuse.bytes));
  if (std::string cache = cache_text(*reuse.bytes, machine); !cache.empty()) { text += ", " + cache; }
  return text;
}

/// "`C[i]` written at `i`, read at `i + 1` (as `C[i - 1]`): distance 1".
auto dependence_text(const cost::Dependence& dependence, std::string_view loop) -> std::string {
  bool writes_first = dependence.kind != cost::Dependence::Kind::Anti;
  bool writes_then = dependence.kind != cost::Dependence::Kind::Flow;
  std::string at = dependence.least == dependence.most ? fmt::format("at `{} + {}`", loop, grouped(dependence.least)) : "later";
  std::string distance = dependence.least == dependence.most ? fmt::format("distance {}", grouped(dependence.least))
                                                             : fmt::format("distances {} to {}", grouped(dependence.least), grouped(dependence.most));
  return fmt::format("carries: `{}` {} at `{}`, {}{} {}{}: {}", dependence.first, writes_first ? "written" : "read", loop, writes_then ? "written" : "read",
                     writes_first && writes_then ? " again" : "", at, dependence.first == dependence.second ? "" : fmt::format(" as `{}`", dependence.second), distance);
}

/// Facts about the dependences that a loop carries, or the fact that it carries none.
void add_dependences(const cost::Carried& carried, const For& loop, std::vector<Fact>& out) {
  constexpr size_t most = 4;
  for (size_t i = 0; i < carried.dependences.size() && i < most; ++i) { out.push_back({"carries", dependence_text(carried.dependences[i], loop.var->name.view())}); }
  if (carried.dependences.size() > most) { out.push_back({"carries", fmt::format("carries {} more dependences", carried.dependences.size() - most)}); }
  std::string unknown;
  for (const Buffer& buffer : carried.unknown) { unknown += fmt::format("{}`{}`", unknown.empty() ? "" : ", ", buffer->name.view()); }
  if (carried.is_none_proved) {
    out.push_back({"carries", "carries no dependence"});
  } else if (!unknown.empty()) {
    out.push_back({"carries", fmt::format("{}which elements of {} are accessed is not known", carried.dependences.empty() ? "carries no dependence that is seen: " : "", unknown)});
  } else if (carried.dependences.empty()) {
    out.push_back({"carries", fmt::format("carries no dependence in the {} iterations that were followed", grouped(carried.followed))});
  }
}

/// "contiguous", "stride 64". `irregular` and `same` are the texts for accesses without a stride and with stride 0.
auto stride_text(const Expr& stride, const char* irregular, const char* same) -> std::string {
  auto number = stride ? as_int(stride) : std::nullopt;
  if (!number) { return stride ? fmt::format("stride `{}`", print_script(stride)) : irregular; }
  return *number == 0 ? same : *number == 1 ? "contiguous" : fmt::format("stride {}", grouped(*number));
}

auto touch_text(const cost::Touch& touch, bool is_loop) -> std::string {
  std::string text = fmt::format("`{}` ", touch.buffer->name.view());
  text += touch.is_read && touch.is_written ? "read and written" : touch.is_written ? "written" : "read";
  // A buffer that is accessed several times has a stride for each access.
  for (size_t i = 0; is_loop && i < touch.strides.size(); ++i) { text += (i == 0 ? ", " : " and ") + stride_text(touch.strides[i].elements, "irregular", "the same in each iteration"); }
  if (auto bytes = touch.bytes()) { text += fmt::format(", {}{}", touch.is_most ? "at most " : "", bytes_text(*bytes)); }
  return text;
}

/// "at most 12.4 GFLOP/s, bound by memory; one core reaches 158": the bound by the roofline of one core, if each byte is transferred
/// once. Empty: not known, or not in float32.
auto roofline_text(const cost::LoopFacts& facts, const Machine& machine) -> std::string {
  auto intensity = facts.intensity();
  if (!intensity || !facts.flops || *facts.flops <= 0 || machine.flops <= 0 || machine.rates.empty()) { return {}; }
  for (const cost::Touch& touch : facts.touches) {
    if (!(touch.buffer->dtype.element() == DataType::float_(32))) { return {}; }
  }
  double rate = machine.rates.back().bytes;
  for (auto one = machine.rates.rbegin(); one != machine.rates.rend(); ++one) {
    if (static_cast<int64_t>(one->footprint) >= *facts.bytes) { rate = one->bytes; }
  }
  double by_memory = *intensity * rate;
  bool is_memory = by_memory < machine.flops;
  return fmt::format("at most {:.3g} GFLOP/s, bound by {}; one core reaches {:.3g}", std::min(by_memory, machine.flops) * 1e-9,
                     is_memory ? "memory" : "arithmetic", machine.flops * 1e-9);
}

/// "512 flop on 2 KiB, 0.25 flop/byte".
auto cost_text(const cost::LoopFacts& facts) -> std::string {
  std::string cost;
  if (facts.flops) { cost = (facts.is_most_flops ? "at most " : "") + flops_text(*facts.flops); }
  if (facts.bytes && *facts.bytes > 0) { cost += (cost.empty() ? "" : " on ") + std::string(facts.is_most_bytes ? "at most " : "") + bytes_text(*facts.bytes); }
  if (auto intensity = facts.intensity()) { cost += fmt::format(", {:.3g} flop/byte", *intensity); }
  return cost;
}

/// `carried`: the dependences of a loop, if they are known.
void add_cost(const cost::LoopFacts& facts, bool is_loop, const Machine& machine, std::vector<Fact>& out, const std::optional<cost::Carried>& carried = {}) {
  if (facts.runs && facts.iterations && *facts.runs > 1) {
    const char* most = facts.is_most_runs ? "at most " : "";
    out.push_back({"runs", is_loop ? fmt::format("entered {0}{1} times, {0}{2} iterations in all", most, grouped(*facts.runs), grouped(*facts.iterations))
                                   : fmt::format("{}{} instances", most, grouped(*facts.runs))});
  }
  std::string cost = cost_text(facts);
  if (!cost.empty()) { out.push_back({"cost", (is_loop ? "one run: " : facts.runs && *facts.runs > 1 ? "one instance: " : "") + cost}); }
  if (facts.bytes && *facts.bytes > 0 && !machine.caches.empty()) { out.push_back({"cache", (is_loop ? "the data of one run " : "the data ") + cache_text(*facts.bytes, machine, facts.is_most_bytes)}); }
  if (std::string roofline = is_loop ? roofline_text(facts, machine) : std::string(); !roofline.empty()) { out.push_back({"roofline", "roofline: " + roofline}); }
  for (const cost::Touch& touch : facts.touches) {
    std::string text = touch_text(touch, is_loop);
    for (const cost::Reuse& reuse : carried ? carried->reuses : std::vector<cost::Reuse>()) {
      if (reuse.buffer.same_as(touch.buffer)) { text += "; " + reuse_text(reuse, machine); }
    }
    out.push_back({"memory", text});
  }
  if (!facts.feeds.empty()) {
    std::string feeds = "feeds ";
    for (size_t i = 0; i < facts.feeds.size(); ++i) { feeds += (i == 0 ? "" : ", ") + facts.feeds[i]; }
    out.push_back({"feeds", feeds});
  }
}

/// A function in a module of its own, with its blocks and loops.
struct Alone {
  explicit Alone(const PrimFunc& function) : state(module_of(function)), func(state.func(Name("main"))) {
    if (func != nullptr && !func->is_schedulable()) { func = nullptr; }
  }
  static auto module_of(const PrimFunc& function) -> IRModule {
    IRModuleNode fields;
    fields.functions = {{Name("main"), function}};
    return make_module(std::move(fields));
  }
  schedule::State state;
  const schedule::FuncState* func;   // null: not at schedule level
};

/// Adds the fact that a serial loop can be parallel or vectorized, according to the checks of the primitives, or the reason why it cannot.
void add_kinds(const PrimFunc& function, const For& loop, std::vector<Fact>& out) {
  if (loop.for_kind != ForKind::Serial) { return; }
  Alone alone(function);
  const schedule::State& state = alone.state;
  const schedule::FuncState* func = alone.func;
  const schedule::Place* place = func != nullptr ? func->find(loop.id) : nullptr;
  if (place == nullptr) { return; }
  std::string can;
  struct Refused { std::string_view word; std::string why; };
  std::vector<Refused> refused;
  for (auto [primitive, word] : {std::pair("parallel", "parallel"), std::pair("vectorize", "vectorized")}) {
    const schedule::Primitive* row = schedule::find_primitive(primitive);
    for (const schedule::Move& move : schedule::candidate_moves(state, *func, *place, *row)) {
      Status status = schedule::judge(state, *func, move);
      if (status.ok()) {
        can += (can.empty() ? "can be " : " or ") + std::string(word);
      } else {
        refused.push_back({word, refusal_reason(status.diagnostics().front().message())});
      }
      break;
    }
  }
  if (!can.empty()) { out.push_back({"kind", can}); }
  // Two refusals with the same reason become one fact.
  if (refused.size() == 2 && refused[0].why == refused[1].why) {
    out.push_back({"kind", "cannot be parallel or vectorized: " + refused[0].why});
    return;
  }
  for (const Refused& one : refused) { out.push_back({"kind", fmt::format("cannot be {}: {}", one.word, one.why)}); }
}

/// The caches and rates of this machine are irrelevant for a program that runs on a device.
auto machine_of(const PrimFunc& function, const Machine& machine) -> Machine {
  bool is_of_device = false;
  post_order(function->body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    is_of_device = is_of_device || (loop != nullptr && loop->for_kind == ForKind::ThreadBinding);
  }, [](const Expr&) {});
  return is_of_device ? Machine() : machine;
}

auto describe_loop(const PrimFunc& function, const For& loop, Span span, const Machine& whole_machine) -> HoverInfo {
  const Machine machine = machine_of(function, whole_machine);
  HoverInfo info{span, fmt::format("loop `{}`: {}, extent {}", loop.var->name.view(), kind_text(loop), extent_text(loop.extent)), {}};
  auto carried = cost::carried_by(function, loop.id);
  if (auto facts = cost::loop_facts(function, loop.id)) { add_cost(*facts, true, machine, info.facts, carried); }
  if (carried) { add_dependences(*carried, loop, info.facts); }
  add_kinds(function, loop, info.facts);
  return info;
}

/// Adds the class of the block, such as "a reduction", and its producers and consumers.
void add_neighbours(const PrimFunc& function, const Block& block, std::vector<Fact>& out) {
  Alone alone(function);
  const schedule::Place* place = alone.func != nullptr ? alone.func->find(block.id) : nullptr;
  if (place == nullptr || !place->is_block() || place->parent < 0) { return; }
  bool is_complete = schedule::is_complete(*alone.func, *place);
  if (is_complete || schedule::is_reduction(*alone.func, *place)) {
    out.push_back({"class", is_complete ? "complete: no other block writes its elements, and it writes each once" : "a reduction"});
  } else {
    auto why = schedule::why_not_complete(*alone.func, *place);
    out.push_back({"class", "neither complete nor a reduction" + (why ? ": " + why->text() : std::string())});
  }
  auto names = [&](const char* label, const char* words, const std::vector<NodeId>& ids) {
    std::string text;
    for (NodeId id : ids) {
      if (const schedule::Place* other = alone.func->find(id); other != nullptr) { text += fmt::format("{}`{}`", text.empty() ? "" : ", ", other->name().view()); }
    }
    if (!text.empty()) { out.push_back({label, std::string(words) + text}); }
  };
  names("producers", "reads buffers written by ", schedule::producers_of(*alone.func, *place));
  names("consumers", "its results are read by ", schedule::consumers_of(*alone.func, *place));
}

auto describe_block(const PrimFunc& function, const Block& block, Span span, const Machine& whole_machine) -> HoverInfo {
  const Machine machine = machine_of(function, whole_machine);
  HoverInfo info{span, fmt::format("block `{}`", block.name.view()), {}};
  std::string iters;
  for (const IterVar& iter : block.iter_vars) {
    const char* kind = iter.kind == IterKind::Spatial ? "spatial" : iter.kind == IterKind::Reduction ? "reduction" : "opaque";
    iters += fmt::format("{}`{}` {} {}", iters.empty() ? "" : ", ", iter.var->name.view(), kind, iter.dom.extent ? extent_text(iter.dom.extent) : "");
  }
  if (!iters.empty()) { info.facts.push_back({"iters", iters}); }
  auto regions = [&](const char* label, const Array<BufferRegion>& list) {
    std::string text;
    for (const BufferRegion& region : list) { text += (text.empty() ? "" : ", ") + ("`" + print_script(region) + "`"); }
    if (!text.empty()) { info.facts.push_back({label, std::string(label) + " " + text}); }
  };
  regions("reads", block.reads);
  regions("writes", block.writes);
  add_neighbours(function, block, info.facts);
  if (auto facts = cost::loop_facts(function, block.id)) {
    facts->touches.clear();
    add_cost(*facts, false, machine, info.facts);
    auto total = facts->runs && *facts->runs > 1 ? cost::block_total(function, block.id) : std::nullopt;
    if (total && total->flops && *total->flops > 0 && total->bytes) {
      info.facts.push_back({"total", "all instances: " + cost_text(*total)});
      if (std::string roofline = roofline_text(*total, machine); !roofline.empty()) { info.facts.push_back({"roofline", "roofline: " + roofline}); }
    }
  }
  return info;
}

auto describe_buffer(const Buffer& buffer, Span span) -> HoverInfo {
  std::string shape;
  std::optional<int64_t> elements = 1;
  for (const Expr& extent : buffer->shape) {
    shape += (shape.empty() ? "" : ", ") + schedule::extent_text(extent);
    auto number = as_int(extent);
    elements = elements && number ? std::optional(saturating_mul(*elements, *number)) : std::nullopt;
  }
  HoverInfo info{span, fmt::format("buffer `{}`: {} ({})", buffer->name.view(), buffer->dtype.str(), shape), {}};
  std::string where = fmt::format("in {} memory", buffer->scope().empty() ? "global" : buffer->scope().view());
  if (elements) { where += ", " + bytes_text(saturating_mul(*elements, buffer->dtype.element_bytes())); }
  info.facts.push_back({"place", where});
  std::string strides;
  std::optional<int64_t> below = 1;
  for (size_t i = buffer->shape.size(); buffer->strides.empty() && i > 0 && below; --i) {
    strides = std::to_string(*below) + (strides.empty() ? "" : ", " + strides);
    auto number = as_int(buffer->shape[i - 1]);
    below = number ? std::optional(saturating_mul(*below, *number)) : std::nullopt;
  }
  for (const Expr& stride : buffer->strides) { strides += (strides.empty() ? "" : ", ") + print_script(stride); }
  if (below && !strides.empty() && buffer->shape.size() > 1) { info.facts.push_back({"strides", "strides " + strides + (buffer->strides.empty() ? " (compact)" : "")}); }
  return info;
}

/// Adds "by block `C`, contiguous along `j`": the blocks that access a buffer, with the stride along the innermost loop.
void add_accesses(const PrimFunc& function, const Buffer& buffer, std::vector<Fact>& out) {
  std::vector<const For*> loops;
  std::vector<std::string> readers;
  std::vector<std::string> writers;
  auto visit = [&](const Stmt& stmt, auto&& self) -> void {
    if (stmt->kind == NodeKind::For) {
      const auto& loop = static_cast<const For&>(*stmt);
      loops.push_back(&loop);
      self(loop.body, self);
      loops.pop_back();
      return;
    }
    if (stmt->kind == NodeKind::SeqStmt) {
      for (const Stmt& one : static_cast<const SeqStmt&>(*stmt).seq) { self(one, self); }
      return;
    }
    if (stmt->kind != NodeKind::BlockRealize) { return; }
    const Block& block = *static_cast<const BlockRealize&>(*stmt).block;
    auto touches = [&](const Array<BufferRegion>& list) {
      return std::any_of(list.begin(), list.end(), [&](const BufferRegion& region) { return region.buffer.same_as(buffer); });
    };
    bool is_root = block.iter_vars.empty() && loops.empty();
    if (!is_root && (touches(block.reads) || touches(block.writes))) {
      std::string reads, writes;
      auto facts = loops.empty() ? std::nullopt : cost::loop_facts(function, loops.back()->id);
      for (const cost::Touch& touch : facts ? facts->touches : std::vector<cost::Touch>()) {
        if (!touch.buffer.same_as(buffer)) { continue; }
        for (const cost::Stride& stride : touch.strides) {
          std::string text = stride_text(stride.elements, "gathered", "the same element");
          if (stride.is_read) { reads += (reads.empty() ? ", " : " and ") + text; }
          if (stride.is_written) { writes += (writes.empty() ? ", " : " and ") + text; }
        }
      }
      auto access_text = [&](const std::string& how) { return fmt::format("`{}`{}{}", block.name.view(), how, how.empty() ? "" : fmt::format(" along `{}`", loops.back()->var->name.view())); };
      if (touches(block.reads)) { readers.push_back(access_text(reads)); }
      if (touches(block.writes)) { writers.push_back(access_text(writes)); }
    }
    self(block.body, self);
  };
  visit(function->body, visit);
  auto add = [&](const char* label, const char* words, std::vector<std::string>& list) {
    constexpr size_t most = 6;
    size_t left = list.size() > most ? list.size() - most : 0;
    list.resize(list.size() - left);
    if (!list.empty()) { out.push_back({label, fmt::format("{} by {}{}", words, fmt::join(list, "; "), left > 0 ? fmt::format(" and {} more", left) : "")}); }
  };
  add("writers", "written", writers);
  add("readers", "read", readers);
}

// ---- the thing at the cursor ---------------------------------------------------------------------------------------

/// The syntax nodes around an offset, outermost first, and the declaration that their spans are relative to.
struct Cursor {
  Origin at;                                // the innermost declaration and the byte in it
  std::vector<const syntax::Node*> nodes;   // nodes of that declaration
  Name name;                                // the name at the cursor; empty: none
  Span name_span;                           // its span in the text
};

auto find_cursor(const Snapshot& snapshot, uint32_t offset) -> std::optional<Cursor> {
  Cursor cursor;
  cursor.at = snapshot.syntax().origin_at(offset);
  syntax::ItemPtr item = snapshot.syntax().declaration(cursor.at.decl);
  if (!item) { return std::nullopt; }
  uint32_t at = cursor.at.begin;
  for (const syntax::Stmt* statement : item->statements) {
    syntax::walk(*statement, [&](const syntax::Node& node) {
      if (node.decl != cursor.at.decl || at < node.span.begin || at > node.span.end) { return false; }
      cursor.nodes.push_back(&node);
      return true;
    });
  }
  auto take = [&](Name name, Span span) {
    if (at < span.begin || at > span.end) { return; }
    cursor.name = name;
    cursor.name_span = snapshot.syntax().resolve({cursor.at.decl, span.begin, span.end, 0}).value_or(Span{offset, offset});
  };
  for (const syntax::Node* node : cursor.nodes) {
    if (const auto* name = node->as<syntax::NameExpr>()) { take(name->name, name->span); }
    if (const auto* function = node->as<syntax::FunctionDef>()) {
      take(function->name.name, function->name.span);
      for (const syntax::Param& param : function->params) { take(param.name.name, param.name.span); }
    }
  }
  return cursor;
}

struct Found {
  PrimFunc function;
  const For* loop = nullptr;
  const Block* block = nullptr;
  Buffer buffer;
};

auto matches(const Origin& a, const Origin& b) -> bool { return a.decl == b.decl && a.begin == b.begin && a.end == b.end; }

/// Calls f(function) for every function made from a declaration, until it returns true.
template <class F>
void for_functions_of(const Snapshot& snapshot, DeclId decl, F&& f) {
  for (const workspace::Program& program : snapshot.programs()) {
    const IRModule& module = program.module ? program.module : program.partial;
    if (!module) { continue; }
    for (const auto& [name, function] : module->functions) {
      if (program.decl != decl && function->origin.decl != decl) { continue; }
      if (f(function)) { return; }
    }
  }
}

/// The loops and blocks of a statement of the text, in the order of nesting.
auto made_from(const PrimFunc& function, const Origin& statement) -> std::vector<Found> {
  std::vector<Found> found;
  post_order(function->body, [&](const Stmt& stmt) {
    if (stmt->kind == NodeKind::For && matches(stmt->origin, statement)) {
      found.push_back({function, static_cast<const For*>(stmt.get()), nullptr, {}});
    } else if (stmt->kind == NodeKind::Block && matches(stmt->origin, statement)) {
      found.push_back({function, nullptr, static_cast<const Block*>(stmt.get()), {}});
    } else if (stmt->kind == NodeKind::BlockRealize) {
      const auto& realize = static_cast<const BlockRealize&>(*stmt);
      bool is_seen = !found.empty() && found.back().block == realize.block.get();
      if (!is_seen && (matches(stmt->origin, statement) || matches(realize.block->origin, statement))) {
        found.push_back({function, nullptr, realize.block.get(), {}});
      }
    }
  }, [](const Expr&) {});
  std::reverse(found.begin(), found.end());
  return found;
}

auto find_buffer(const PrimFunc& function, Name name) -> Buffer {
  Buffer found;
  for (const auto& [param, buffer] : function->buffer_map) {
    if (buffer->name == name) { found = buffer; }
  }
  if (found) { return found; }
  post_order(function->body, [&](const Stmt& stmt) {
    if (stmt->kind == NodeKind::Block) {
      for (const Buffer& buffer : static_cast<const Block&>(*stmt).alloc_buffers) {
        if (buffer->name == name) { found = buffer; }
      }
    } else if (stmt->kind == NodeKind::BlockRealize) {
      for (const Buffer& buffer : static_cast<const BlockRealize&>(*stmt).block->alloc_buffers) {
        if (buffer->name == name) { found = buffer; }
      }
    } else if (stmt->kind == NodeKind::DeclBuffer && static_cast<const DeclBuffer&>(*stmt).buffer->name == name) {
      found = static_cast<const DeclBuffer&>(*stmt).buffer;
    }
  }, [](const Expr&) {});
  return found;
}

auto span_of(const Snapshot& snapshot, const syntax::Node& node, Span inside) -> Span {
  return snapshot.syntax().resolve({node.decl, inside.begin, inside.end, 0}).value_or(Span{});
}

auto hover_program(const Snapshot& snapshot, const Cursor& cursor, const Machine& machine) -> std::optional<HoverInfo> {
  std::optional<HoverInfo> info;
  uint32_t at = cursor.at.begin;
  for_functions_of(snapshot, snapshot.syntax().whole(cursor.at.decl), [&](const PrimFunc& function) {
    // From the inside out: the loop whose variable is at the cursor, or whose header contains the cursor.
    for (auto node = cursor.nodes.rbegin(); node != cursor.nodes.rend() && !info; ++node) {
      if (const auto* loop = (*node)->as<syntax::ForStmt>()) {
        std::vector<Found> loops = made_from(function, loop->origin());
        bool in_header = at >= loop->header_span.begin && at <= loop->header_span.end;
        for (const Found& found : loops) {
          if (found.loop != nullptr && !cursor.name.empty() && found.loop->var->name == cursor.name) {
            info = describe_loop(function, *found.loop, cursor.name_span, machine);
          }
        }
        if (!info && in_header && !loops.empty() && loops.front().loop != nullptr) {
          info = describe_loop(function, *loops.front().loop, span_of(snapshot, *loop, loop->header_span), machine);
          for (size_t i = 1; i < loops.size(); ++i) {
            if (loops[i].loop != nullptr) {
              info->facts.push_back({"also", fmt::format("`{}`: {}, extent {}", loops[i].loop->var->name.view(), kind_text(*loops[i].loop), extent_text(loops[i].loop->extent))});
            }
          }
        }
      } else if (const auto* with = (*node)->as<syntax::WithStmt>()) {
        std::vector<Found> blocks = made_from(function, with->origin());
        bool in_header = at >= with->header_span.begin && at <= with->header_span.end;
        for (const Found& found : blocks) {
          if (found.block == nullptr || info) { continue; }
          for (const IterVar& iter : found.block->iter_vars) {
            if (cursor.name.empty() || !(iter.var->name == cursor.name)) { continue; }
            const char* kind = iter.kind == IterKind::Spatial ? "spatial" : iter.kind == IterKind::Reduction ? "reduction" : "opaque";
            info = HoverInfo{cursor.name_span, fmt::format("iter var `{}` of block `{}`: {}", cursor.name.view(), found.block->name.view(), kind), {}};
            if (iter.dom.extent) { info->facts.push_back({"domain", "extent " + extent_text(iter.dom.extent)}); }
          }
          if (!info && in_header) { info = describe_block(function, *found.block, span_of(snapshot, *with, with->header_span), machine); }
        }
      } else if (const auto* def = (*node)->as<syntax::FunctionDef>()) {
        bool on_name = at >= def->name.span.begin && at <= def->name.span.end;
        if (on_name && function->origin.decl == cursor.at.decl) {
          info = HoverInfo{cursor.name_span, fmt::format("program `{}`", cursor.name.view()), {}};
          if (auto facts = cost::loop_facts(function, 0)) { add_cost(*facts, false, machine, info->facts); }
          for (const Diagnostic& proof : analysis::thread_proofs(function, snapshot.diagnostics())) { info->facts.push_back({"races", proof.message()}); }
        }
      }
    }
    if (!info && !cursor.name.empty()) {
      info = hover_buffer(function, cursor.name);
      if (info) { info->span = cursor.name_span; }
    }
    return info.has_value();
  });
  return info;
}

/// An item of a list in a script.
auto item_text(const schedule::Schedule& state, const schedule::Value& item) -> std::string {
  if (const auto* loop = item.as<schedule::LoopRV>()) {
    auto place = state.get(*loop);
    return place.ok() && (*place)->is_loop() ? fmt::format("loop `{}`: {}, extent {}", (*place)->name().view(), kind_text(*(*place)->loop), extent_text((*place)->loop->extent)) : "a loop that is no longer there";
  }
  if (const auto* block = item.as<schedule::BlockRV>()) {
    auto place = state.get(*block);
    return place.ok() && (*place)->is_block() ? fmt::format("block `{}`", (*place)->name().view()) : "a block that is no longer there";
  }
  if (const auto* number = item.as<schedule::ExprRV>()) {
    auto value = state.get(*number);
    return value.ok() ? std::to_string(*value) : "a number that is not known";
  }
  return "a value";
}

/// The schedule after the inner statement at the cursor (in a loop, say); none: the cursor is not in an inner statement, or the state is not known.
auto inside_statement(const Snapshot& snapshot, const Cursor& cursor, const script::FileSchedule& schedule) -> std::optional<script::Partway> {
  auto def = syntax::function_of(schedule.item);
  const script::ScheduleRun& run = *schedule.run;
  if (!def || schedule.decl != cursor.at.decl || !schedule.is_settled()) { return std::nullopt; }
  script::ScheduleFunction function = script::as_schedule_function(*def, def, schedule.item->text, schedule.form);
  function.others = schedule.others;
  function.contexts = syntax::contexts_of(schedule.item);
  auto index = script::statement_around(function, cursor.at.begin);
  if (!index) { return std::nullopt; }
  Deadline until = in(std::chrono::milliseconds(200));
  return script::partway({.function = function, .run = run, .index = *index, .at = cursor.at.begin, .is_behind = true, .stop = [until] { return Clock::now() > until; }});
}

/// The hover on a variable of a schedule: its loop, block or number after the statement at the cursor.
auto hover_schedule(const Snapshot& snapshot, const Cursor& cursor, const script::FileSchedule& schedule, const Machine& whole_machine) -> std::optional<HoverInfo> {
  const Machine machine = is_gpu_target(schedule.target) ? Machine() : whole_machine;
  if (schedule.run == nullptr || cursor.name.empty()) { return std::nullopt; }
  const script::Step* here = nullptr;
  const script::Step* maker = nullptr;
  const schedule::Value* variable = nullptr;
  for (const script::Step& step : schedule.run->steps) {
    if (step.where.begin > cursor.at.begin) { break; }
    if (step.after != nullptr) { here = &step; }
    for (const auto& named : step.named) {
      if (named.name == cursor.name) {
        maker = &step;
        variable = &named.variable;
      }
    }
  }
  // Inside a statement: the value when the script first reaches the place.
  std::optional<script::Partway> inside = inside_statement(snapshot, cursor, schedule);
  Origin made_at = maker != nullptr ? maker->where : Origin();
  if (inside) {
    for (const auto& named : inside->named) {
      if (named.name != cursor.name) { continue; }
      variable = &named.variable;
      made_at = named.where;
    }
  }
  if ((here == nullptr && !inside) || variable == nullptr) { return std::nullopt; }
  const schedule::Schedule& state = inside ? *inside->schedule : *here->after;
  Fact made{"made", made_in(snapshot, made_at)};
  PrimFunc function = state.module()->find(state.func_working_on());
  std::optional<HoverInfo> info;
  auto gone = [&](const char* what) {
    info = HoverInfo{cursor.name_span, fmt::format("{} `{}`: no longer there after this line", what, cursor.name.view()), {}};
  };
  if (const auto* loop = variable->as<schedule::LoopRV>()) {
    auto place = state.get(*loop);
    if (place.ok() && (*place)->is_loop() && function) {
      info = describe_loop(function, *(*place)->loop, cursor.name_span, machine);
    } else {
      gone("loop");
    }
  } else if (const auto* block = variable->as<schedule::BlockRV>()) {
    auto place = state.get(*block);
    if (place.ok() && (*place)->is_block() && function) {
      info = describe_block(function, *(*place)->block(), cursor.name_span, machine);
    } else {
      gone("block");
    }
  } else if (const auto* number = variable->as<schedule::ExprRV>()) {
    if (auto value = state.get(*number); value.ok()) {
      info = HoverInfo{cursor.name_span, fmt::format("`{}` = {}", cursor.name.view(), *value), {}};
    }
  } else if (const auto* list = variable->as<schedule::Value::List>()) {
    info = HoverInfo{cursor.name_span, fmt::format("`{}`: a list of {}", cursor.name.view(), list->size()), {}};
    for (size_t i = 0; i < list->size(); ++i) { info->facts.push_back({"item", fmt::format("`{}[{}]`: {}", cursor.name.view(), i, item_text(state, (*list)[i]))}); }
  }
  if (info && !made.text.empty()) { info->facts.push_back(made); }
  return info;
}

/// The hover on a tensor that is a stage, and on an axis without a loop of its own.
auto hover_stage_value(const Snapshot& snapshot, uint32_t at, const Cursor& cursor, const script::FileSchedule& schedule, const Machine& whole_machine) -> std::optional<HoverInfo> {
  auto value = stage_value_at(snapshot, at);
  if (!value) { return std::nullopt; }
  HoverInfo info{cursor.name_span, value->title, {}};
  for (std::string& fact : value->facts) { info.facts.push_back({"stage", std::move(fact)}); }
  size_t index = step_at(*schedule.run, cursor.at.begin);
  const schedule::Schedule* state = value->block && index != no_step ? state_at(*schedule.run, index, true) : nullptr;
  auto place = state != nullptr ? state->get(*value->block) : Result<const schedule::Place*>(nullptr);
  PrimFunc function = state != nullptr ? state->module()->find(state->func_working_on()) : PrimFunc();
  if (state == nullptr || !place.ok() || !(*place)->is_block() || !function) { return info; }
  HoverInfo block = describe_block(function, *(*place)->block(), cursor.name_span, is_gpu_target(schedule.target) ? Machine() : whole_machine);
  info.facts.push_back({"stage", block.title});
  info.facts.insert(info.facts.end(), std::make_move_iterator(block.facts.begin()), std::make_move_iterator(block.facts.end()));
  return info;
}

/// The number of lists of `n` factors with this product whose last factor is at most `most` (-1: no limit).
auto factorizations(int64_t product, int64_t n, int64_t most) -> int64_t {
  if (n <= 1) { return n == 1 && (most < 0 || product <= most) ? 1 : 0; }
  int64_t count = 0;
  for (int64_t last = 1; last * last <= product; ++last) {
    if (product % last != 0) { continue; }
    for (int64_t one : {last, product / last}) {
      if (most < 0 || one <= most) { count += factorizations(product / one, n - 1, -1); }
      if (last * last == product) { break; }
    }
  }
  return count;
}

/// The value that a draw had at a step, and the number of possible values; empty: not known.
auto drawn_text(const script::ScheduleRun& run, size_t index, const schedule::Primitive& row) -> std::string {
  const schedule::Schedule& after = *run.steps[index].after;
  size_t was = index > 0 && run.steps[index - 1].after != nullptr ? run.steps[index - 1].after->trace().size() : 0;
  std::vector<const schedule::Instruction*> all = after.trace().instructions();
  const schedule::Instruction* drawn = nullptr;
  for (size_t i = was; i < all.size(); ++i) {
    if (all[i]->primitive == &row) { drawn = all[i]; }
  }
  if (drawn == nullptr || drawn->decision.is_none()) { return {}; }
  auto numbers = [](const schedule::Value& value) {
    std::vector<int64_t> out;
    if (const auto* list = value.as<schedule::Value::List>()) {
      for (const schedule::Value& one : *list) {
        if (const int64_t* number = one.integer()) { out.push_back(*number); }
      }
    }
    return out;
  };
  if (row.name == "sample_categorical" && drawn->values.size() >= 2) {
    std::vector<int64_t> candidates = numbers(drawn->values[0]);
    const auto* probs = drawn->values[1].as<schedule::Value::List>();
    const int64_t* at = drawn->decision.integer();
    if (at == nullptr || *at < 0 || static_cast<size_t>(*at) >= candidates.size() || probs == nullptr || probs->size() != candidates.size()) { return {}; }
    const auto* share = (*probs)[static_cast<size_t>(*at)].as<double>();
    return fmt::format("here: {}, one of {} values{}", candidates[static_cast<size_t>(*at)], candidates.size(), share != nullptr ? fmt::format(", drawn with {:.3g}%", *share * 100) : "");
  }
  std::vector<int64_t> factors = numbers(drawn->decision);
  if (row.name == "sample_perfect_tile" && !factors.empty()) {
    int64_t extent = 1;
    for (int64_t factor : factors) { extent = saturating_mul(extent, factor); }
    const int64_t* most = drawn->values.size() >= 3 ? drawn->values[2].integer() : nullptr;
    constexpr int64_t most_extent = int64_t{1} << 24;
    std::string out = fmt::format("here: [{}]", fmt::join(factors, ", "));
    if (extent > 0 && extent <= most_extent && factors.size() <= 6) {
      int64_t ways = factorizations(extent, static_cast<int64_t>(factors.size()), most != nullptr ? *most : 16);
      if (ways > 0) { out += fmt::format(", one of {} ways to make {}", grouped(ways), grouped(extent)); }
    }
    return out;
  }
  if (!factors.empty()) { return fmt::format("here: [{}]", fmt::join(factors, ", ")); }
  if (const int64_t* number = drawn->decision.integer()) {
    return *number == -1 ? "here: where it is, at the root" : *number == -2 ? "here: inlined" : fmt::format("here: loop {} of those that it could be under", *number);
  }
  return {};
}

/// The schedule that the statement at a cursor works on; null: none.
auto schedule_of(const Snapshot& snapshot, const Cursor& cursor) -> const script::FileSchedule* {
  auto span = snapshot.resolve(cursor.at);
  return span ? schedule_at(snapshot, span->begin) : nullptr;
}

/// The call with an attribute as its callee.
auto call_around(const Cursor& cursor, const syntax::AttributeExpr& callee) -> Origin {
  for (const syntax::Node* node : cursor.nodes) {
    if (const auto* call = node->as<syntax::CallExpr>(); call != nullptr && call->callee == &callee) { return call->origin(); }
  }
  return callee.origin();
}

/// For a function with the schedule as an argument: the schedule differs between calls, so only the primitive is explained.
auto hover_helper(const Snapshot& snapshot, const Cursor& cursor) -> std::optional<HoverInfo> {
  Name variable;
  for (const syntax::Node* node : cursor.nodes) {
    if (const auto* def = node->as<syntax::FunctionDef>()) { variable = syntax::schedule_parameter(*def); }
    const auto* attribute = node->as<syntax::AttributeExpr>();
    const auto* object = attribute != nullptr ? attribute->object->as<syntax::NameExpr>() : nullptr;
    if (variable.empty() || object == nullptr || object->name != variable || cursor.at.begin < attribute->attr.span.begin || cursor.at.begin > attribute->attr.span.end) { continue; }
    const schedule::Primitive* row = schedule::find_primitive(attribute->attr.name.view());
    if (row == nullptr) { return std::nullopt; }
    HoverInfo info{span_of(snapshot, *attribute, attribute->attr.span), fmt::format("`{}`", row->signature()), {{"help", std::string(row->help)}}};
    info.primitive = row->name;
    return info;
  }
  return std::nullopt;
}

/// The facts of the hint behind the statement of a step: loops, memory, guards and the estimate.
void add_effects(const Snapshot& snapshot, const script::Step& step, std::vector<Fact>& out) {
  Span statement = snapshot.resolve(step.where).value_or(Span{});
  for (const Hint& hint : inlay_hints(snapshot, statement)) {
    if (hint.offset != statement.end) { continue; }
    std::string_view rest = hint.tooltip;
    while (!rest.empty()) {
      size_t end = std::min(rest.find('\n'), rest.size());
      out.push_back({"effect", std::string(rest.substr(0, end))});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
}

/// The fact that a step changed lines of the program, or none. Vectorizing a loop a second time makes a new node but the same program.
auto changed_lines(const script::ScheduleRun& run, size_t index) -> Fact {
  IRModule before = index == 0 ? run.program : run.steps[index - 1].after ? run.steps[index - 1].after->module() : run.program;
  DiffCount count = count_diff(diff_lines(print_script(before), print_script(run.steps[index].after->module())));
  return {"effect", count.removed + count.added == 0 ? "here: it changed nothing" : fmt::format("here: {} of the program became {}", count_text(static_cast<int64_t>(count.removed), "line"), count.added)};
}

/// For `split` in `s[C].split(...)`: the same for a step on a stage.
auto hover_stage_step(const Snapshot& snapshot, const Cursor& cursor, const script::FileSchedule& schedule, const syntax::AttributeExpr& attribute) -> std::optional<HoverInfo> {
  const StageStep* row = find_stage_step(attribute.attr.name.view());
  const auto* subscript = attribute.object->as<syntax::SubscriptExpr>();
  const auto* owner = subscript != nullptr ? subscript->object->as<syntax::NameExpr>() : attribute.object->as<syntax::NameExpr>();
  if (row == nullptr || owner == nullptr || owner->name != schedule.form.variable) { return std::nullopt; }
  HoverInfo info{span_of(snapshot, attribute, attribute.attr.span), fmt::format("`{}`", row->usage), {{"help", row->help}}};
  size_t index = schedule.run != nullptr ? step_at(*schedule.run, cursor.at.begin) : no_step;
  if (index == no_step || row->name == "op") { return info; }
  const script::Step& step = schedule.run->steps[index];
  if (step.state == script::StepState::Failed) { info.facts.push_back({"effect", "here it failed: " + (step.diagnostics.empty() ? std::string("see its error") : step.diagnostics.front().message())}); }
  if (step.state != script::StepState::Done || step.after == nullptr) { return info; }
  info.facts.push_back(changed_lines(*schedule.run, index));
  add_effects(snapshot, step, info.facts);
  return info;
}

/// For `split` in `sch.split(...)`: its general effect, and the effect of this call.
auto hover_primitive(const Snapshot& snapshot, const Cursor& cursor) -> std::optional<HoverInfo> {
  const script::FileSchedule* schedule = schedule_of(snapshot, cursor);
  if (schedule == nullptr) { return hover_helper(snapshot, cursor); }
  for (const syntax::Node* node : cursor.nodes) {
    const auto* attribute = node->as<syntax::AttributeExpr>();
    if (attribute == nullptr || cursor.at.begin < attribute->attr.span.begin || cursor.at.begin > attribute->attr.span.end) { continue; }
    if (is_of_stages(snapshot, snapshot.resolve(cursor.at).value_or(Span{}).begin)) { return hover_stage_step(snapshot, cursor, *schedule, *attribute); }
    const schedule::Primitive* row = schedule::find_primitive(attribute->attr.name.view());
    if (row == nullptr) {
      const auto* object = attribute->object->as<syntax::NameExpr>();
      for (const ScheduleWord& word : schedule_words()) {
        if (object != nullptr && object->name == "sch" && attribute->attr.name.view() == word.name) {
          return HoverInfo{span_of(snapshot, *attribute, attribute->attr.span), fmt::format("`{}`", word.usage), {{"help", std::string(word.help)}}};
        }
      }
      continue;
    }
    HoverInfo info{span_of(snapshot, *attribute, attribute->attr.span), fmt::format("`{}`", row->signature()), {}};
    info.facts.push_back({"help", std::string(row->help)});
    info.primitive = row->name;
    if (schedule->run == nullptr) { return info; }
    size_t index = step_at(*schedule->run, cursor.at.begin);
    if (index == no_step) { return info; }
    const script::Step& step = schedule->run->steps[index];
    if (step.state == script::StepState::Failed) { info.facts.push_back({"effect", "here it failed: " + (step.diagnostics.empty() ? std::string("see its error") : step.diagnostics.front().message())}); }
    if (step.state != script::StepState::Done || step.after == nullptr) { return info; }
    if (row->is_sampling) {
      if (std::string drawn = drawn_text(*schedule->run, index, *row); !drawn.empty()) { info.facts.push_back({"effect", drawn}); }
      const schedule::Trace& trace = step.after->trace();
      for (const schedule::Instruction* one : trace.instructions()) {
        if (one->primitive != row || !(snapshot.resolve(one->origin) == snapshot.resolve(call_around(cursor, *attribute)))) { continue; }
        info.draw = schedule::draw_of(trace, *one);
        info.drawn_for = schedule->run->program;
        break;
      }
      return info;
    }
    IRModule before = index == 0 ? schedule->run->program : schedule->run->steps[index - 1].after->module();
    if (before.same_as(step.after->module())) {
      info.facts.push_back({"effect", row->is_pure ? "here: it only looks, and changes nothing" : "here: it changed nothing"});
    } else {
      info.facts.push_back(changed_lines(*schedule->run, index));
    }
    add_effects(snapshot, step, info.facts);
    return info;
  }
  return std::nullopt;
}

/// The name of a schedule function: its steps and their result.
auto hover_schedule_name(const Snapshot& snapshot, const Cursor& cursor, const script::FileSchedule& schedule) -> std::optional<HoverInfo> {
  const syntax::FunctionDef* def = cursor.nodes.empty() ? nullptr : cursor.nodes.front()->as<syntax::FunctionDef>();
  if (def == nullptr || cursor.at.begin < def->name.span.begin || cursor.at.begin > def->name.span.end) { return std::nullopt; }
  HoverInfo info{cursor.name_span, fmt::format("schedule `{}`", schedule.name.view()), {}};
  if (!schedule.program_name.empty()) { info.title += fmt::format(" for `{}`", schedule.program_name.view()); }
  if (!schedule.target.empty()) { info.title += fmt::format(", target `{}`", schedule.target); }
  if (schedule.run == nullptr || !schedule.is_settled()) {
    info.facts.push_back({"steps", is_of_another_file(schedule) ? not_run_text : schedule.diagnostics.empty() ? "not run yet" : "not run: " + schedule.diagnostics.front().message()});
    return info;
  }
  const script::ScheduleRun& run = *schedule.run;
  auto done = static_cast<size_t>(std::count_if(run.steps.begin(), run.steps.end(), [](const script::Step& step) { return step.state == script::StepState::Done; }));
  uint64_t primitives = 0;
  for (const script::Step& step : run.steps) { primitives += step.primitives; }
  std::string steps = done == run.steps.size() ? fmt::format("{}, all done", count_text(static_cast<int64_t>(done), "step")) : fmt::format("{} of {} steps done", done, run.steps.size());
  info.facts.push_back({"steps", fmt::format("{}, {} called", steps, count_text(static_cast<int64_t>(primitives), "primitive"))});
  for (const script::Step& step : run.steps) {
    if (step.state != script::StepState::Failed || step.diagnostics.empty()) { continue; }
    auto span = snapshot.resolve(step.where);
    info.facts.push_back({"failed", fmt::format("stopped in line {}: {}", span ? snapshot.lines().line_of(span->begin) + 1 : 0, step.diagnostics.front().message())});
    break;
  }
  if (run.result != nullptr && run.program) {
    DiffCount count = count_diff(diff_lines(print_script(run.program), print_script(run.result->module())));
    info.facts.push_back({"effect", count.removed + count.added == 0 ? "the program is as it was" : fmt::format("{} of the program became {}", count_text(static_cast<int64_t>(count.removed), "line"), count.added)});
    schedule::Schedule plain(run.program, 1);
    const schedule::FuncState* before = plain.state().func(run.result->func_working_on());
    const schedule::FuncState* after = run.result->state().func(run.result->func_working_on());
    auto gain = before != nullptr && after != nullptr ? cost::gain(*before, *after, cost::core_for(schedule.target)) : std::nullopt;
    if (std::string words = gain ? cost::gain_text(*gain) : std::string(); !words.empty()) { info.facts.push_back({"estimate", words + ", by an estimate: nothing was run"}); }
  }
  info.schedule = schedule.name.str();
  info.program = schedule.program_name.str();
  return info;
}

/// For a string with the name of a block: the block in the state at that line.
auto hover_block_name(const Snapshot& snapshot, uint32_t at, const Machine& whole_machine) -> std::optional<HoverInfo> {
  if (at >= snapshot.text().size()) { return std::nullopt; }
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(at);
  if (here == nullptr || names.entities[here->entity].kind != EntityKind::Block || here->role == Role::Bind) { return std::nullopt; }
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr) { return std::nullopt; }
  Name name = names.entities[here->entity].name;
  const schedule::Schedule* state = nullptr;
  if (schedule->run != nullptr) {
    size_t index = step_at(*schedule->run, snapshot.syntax().origin_at(at).begin);
    if (index != no_step) { state = state_at(*schedule->run, index, false); }
  }
  IRModule module = state != nullptr ? state->module() : schedule->program;
  if (!module) { return std::nullopt; }
  const Machine machine = is_gpu_target(schedule->target) ? Machine() : whole_machine;
  for (const auto& [function_name, function] : module->functions) {
    std::optional<HoverInfo> info;
    post_order(function->body, [&](const Stmt& stmt) {
      if (stmt->kind != NodeKind::BlockRealize) { return; }
      const auto& block = static_cast<const BlockRealize&>(*stmt).block;
      if (block->name == name && !info) { info = describe_block(function, *block, here->span, machine); }
    }, [](const Expr&) {});
    if (info) { return info; }
  }
  return HoverInfo{here->span, fmt::format("block `{}`: not in the program before this line", name.view()), {}};
}

}  // namespace

auto made_in(const Snapshot& snapshot, Origin statement) -> std::string {
  auto span = snapshot.resolve(statement);
  if (!span) { return {}; }
  uint32_t line = snapshot.lines().line_of(span->begin);
  std::string_view text = snapshot.lines().line_text(snapshot.text(), line);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return fmt::format("made in line {}: `{}`", line + 1, text);
}

auto hover_place(const PrimFunc& function, NodeId id, const Machine& machine) -> std::optional<HoverInfo> {
  std::optional<HoverInfo> info;
  post_order(function->body, [&](const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>(); loop != nullptr && loop->id == id) { info = describe_loop(function, *loop, {}, machine); }
    if (const auto* realize = stmt.as<BlockRealize>(); realize != nullptr && realize->block->id == id) { info = describe_block(function, *realize->block, {}, machine); }
  }, [](const Expr&) {});
  return info;
}

auto hover_buffer(const PrimFunc& function, Name name) -> std::optional<HoverInfo> {
  Buffer buffer = find_buffer(function, name);
  if (!buffer) { return std::nullopt; }
  HoverInfo info = describe_buffer(buffer, {});
  add_accesses(function, buffer, info.facts);
  for (std::string& text : bank_conflicts_in_words(function, buffer)) { info.facts.push_back({"banks", std::move(text)}); }
  return info;
}

auto hover(const Snapshot& snapshot, uint32_t at, const Machine& machine) -> std::optional<HoverInfo> {
  auto cursor = find_cursor(snapshot, at);
  if (!cursor) { return hover_word(snapshot, at); }
  if (auto info = hover_primitive(snapshot, *cursor)) { return info; }
  if (auto info = hover_factor(snapshot, at)) { return info; }
  if (auto info = hover_block_name(snapshot, at, machine)) { return info; }
  if (const script::FileSchedule* schedule = schedule_of(snapshot, *cursor)) {
    if (auto name = hover_schedule_name(snapshot, *cursor, *schedule)) { return name; }
    auto info = hover_schedule(snapshot, *cursor, *schedule, machine);
    if (!info) { info = hover_stage_value(snapshot, at, *cursor, *schedule, machine); }
    return info ? info : hover_word(snapshot, at);
  }
  auto info = hover_program(snapshot, *cursor, machine);
  return info ? info : hover_word(snapshot, at);
}

}  // namespace loopsmith::lsp
