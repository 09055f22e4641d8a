// Puts the facts of loops, blocks and buffers into words: see places.h.
#include "lsp/features/hover/places.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "lsp/features/banks.h"
#include "lsp/features/refusal_reason.h"
#include "schedule/block_classes.h"
#include "schedule/extent_text.h"
#include "schedule/facts/store_order.h"
#include "schedule/moves.h"
#include "schedule/primitive.h"
#include "schedule/state.h"
#include "support/saturate.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

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
        refused.push_back({word, refusal_reason(status.diagnostics().front())});
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

/// Adds the class of the block, such as "a reduction", and its producers and consumers.
void add_neighbours(const PrimFunc& function, const Block& block, std::vector<Fact>& out) {
  Alone alone(function);
  const schedule::Place* place = alone.func != nullptr ? alone.func->find(block.id) : nullptr;
  if (place == nullptr || !place->is_block() || place->parent < 0) { return; }
  bool is_complete = schedule::is_complete(*alone.func, *place);
  if (is_complete || schedule::is_reduction(*alone.func, *place)) {
    const char* complete = schedule::stores_apart(block) ? "complete: no other block writes its elements, and it writes each once"
                                                         : "complete: no other block writes its elements";
    out.push_back({"class", is_complete ? complete : "a reduction"});
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

}  // namespace

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

void add_cost(const cost::LoopFacts& facts, bool is_loop, const Machine& machine, std::vector<Fact>& out, const std::optional<cost::Carried>& carried) {
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

auto describe_loop(const PrimFunc& function, const For& loop, Span span, const Machine& whole_machine) -> HoverInfo {
  const Machine machine = machine_of(function, whole_machine);
  HoverInfo info{span, fmt::format("loop `{}`: {}, extent {}", loop.var->name.view(), kind_text(loop), extent_text(loop.extent)), {}};
  auto carried = cost::carried_by(function, loop.id);
  if (auto facts = cost::loop_facts(function, loop.id)) { add_cost(*facts, true, machine, info.facts, carried); }
  if (carried) { add_dependences(*carried, loop, info.facts); }
  add_kinds(function, loop, info.facts);
  return info;
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

}  // namespace loopsmith::lsp
