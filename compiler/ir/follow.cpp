// Runs statements with numbers for variables: see follow.h.
#include "ir/follow.h"

#include <algorithm>
#include <utility>

#include "ir/element_bytes.h"
#include "ir/externals.h"
#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith {

auto Follower::follow(const Stmt& stmt) -> bool {
  if (!enter(stmt)) { return true; }
  size_t before = values.size();
  ++depth_;
  bool done = step(stmt);
  values.resize(before);
  // A jump that leaves the whole statement ends here: its loop belongs to the caller.
  if (--depth_ == 0) { jump_ = Jump::None; }
  return done;
}

auto Follower::step(const Stmt& stmt) -> bool {
  if (--steps_left < 0) { return false; }
  switch (stmt.kind()) {
    case NodeKind::BufferStore: {
      const auto& n = *stmt.as<BufferStore>();
      look(n.value);
      for (const Expr& index : n.indices) { look(index); }
      bool is_scalar = n.value.dtype().lanes == 1 && !n.value.dtype().scalable;
      if (is_scalar) { access(n.buffer, n.indices, true, !n.predicate); } else { somewhere(n.buffer, true); }
      return true;
    }
    case NodeKind::SeqStmt:
      for (const Stmt& s : stmt.as<SeqStmt>()->seq) {
        if (!follow(s)) { return false; }
        if (jump_ != Jump::None) { break; }
      }
      return true;
    case NodeKind::For: {
      const auto& n = *stmt.as<For>();
      look(n.min);
      look(n.extent);
      auto min = evaluate_integer(n.min, values);
      auto extent = evaluate_integer(n.extent, values);
      if (!min || !extent) { return follow_unknown_loop(n.body); }
      Loop around = enter_loop();
      size_t at = values.size();
      values.emplace_back(n.var.get(), 0);
      for (int64_t i = 0; i < *extent; ++i) {
        if (__builtin_add_overflow(*min, i, &values[at].second)) { return false; }
        if (--steps_left < 0 || !follow(n.body)) { return false; }
        if (!goes_on(around)) { break; }
      }
      leave_loop(around);
      return true;
    }
    case NodeKind::IfThenElse: {
      const auto& n = *stmt.as<IfThenElse>();
      look(n.condition);
      return branches(evaluate_integer(n.condition, values), n.then_case, n.else_case);
    }
    case NodeKind::LetStmt: {
      const auto& n = *stmt.as<LetStmt>();
      look(n.value);
      if (auto value = evaluate_integer(n.value, values)) { values.emplace_back(n.var.get(), *value); }
      return follow(n.body);
    }
    case NodeKind::BlockRealize: {
      const auto& n = *stmt.as<BlockRealize>();
      look(n.predicate);
      auto holds = is_one(n.predicate) ? std::optional<int64_t>(1) : evaluate_integer(n.predicate, values);
      if (holds && *holds == 0) { return true; }
      for (const Expr& value : n.iter_values) { look(value); }
      for (size_t i = 0; i < n.iter_values.size(); ++i) {
        if (auto value = evaluate_integer(n.iter_values[i], values)) { values.emplace_back(n.block->iter_vars[i].var.get(), *value); }
      }
      return holds ? follow(Stmt(n.block)) : branch(Stmt(n.block));
    }
    case NodeKind::Block: return step(*stmt.as<Block>());
    case NodeKind::AttrStmt: look(stmt.as<AttrStmt>()->value); return follow(stmt.as<AttrStmt>()->body);
    case NodeKind::AssertStmt: return follow(stmt.as<AssertStmt>()->body);
    case NodeKind::BufferRealize: return follow(stmt.as<BufferRealize>()->body);
    case NodeKind::Allocate: return follow(stmt.as<Allocate>()->body);
    case NodeKind::AllocateConst: return follow(stmt.as<AllocateConst>()->body);
    case NodeKind::DeclBuffer: return follow(stmt.as<DeclBuffer>()->body);
    case NodeKind::While: {
      look(stmt.as<While>()->condition);
      return follow_unknown_loop(stmt.as<While>()->body);
    }
    case NodeKind::Evaluate:
      if (!copy(stmt.as<Evaluate>()->value)) { look(stmt.as<Evaluate>()->value); }
      if (is_return(stmt)) { jump(Jump::Return); }
      return steps_left >= 0;
    case NodeKind::Break: jump(Jump::Break); return true;
    case NodeKind::Continue: jump(Jump::Continue); return true;
#define EXPR(Kind) case NodeKind::Kind:
#define STMT(Kind)
#include "ir/nodes.def"
      return true;
  }
  return true;
}

auto Follower::step(const Block& block) -> bool {
  for (const MatchBufferRegion& match : block.match_buffers) {
    const auto& region = match.source.region;
    View view{match.source.buffer, {}, match.buffer->shape.size() <= region.size()};
    for (const Range& range : region) {
      auto min = evaluate_integer(range.min, values);
      view.is_plain = view.is_plain && min;
      view.begin.push_back(min.value_or(0));
    }
    for (size_t i = 0, from = region.size() - match.buffer->shape.size(); view.is_plain && i < region.size(); ++i) {
      auto extent = evaluate_integer(region[i].extent, values);
      auto wanted = i < from ? std::optional<int64_t>(1) : evaluate_integer(match.buffer->shape[i - from], values);
      view.is_plain = extent && wanted && *extent == *wanted;
    }
    views_[match.buffer.get()] = std::move(view);
    if (!(match.buffer->data == match.source.buffer->data)) { data_of_views_[match.buffer->data.get()] = match.source.buffer->data.get(); }
  }
  if (block.init) {
    // The init runs in the instances in which the reduction begins.
    std::optional<int64_t> begins = 1;
    for (const IterVar& iter : block.iter_vars) {
      if (iter.kind != IterKind::Reduction || !begins || *begins == 0) { continue; }
      auto at = evaluate_integer(iter.var, values);
      auto min = evaluate_integer(iter.dom.min, values);
      begins = at && min ? std::optional<int64_t>(*at == *min) : std::nullopt;
    }
    if (!branches(begins, block.init, Stmt())) { return false; }
  }
  return follow(block.body);
}

void Follower::jump(Jump kind) {
  if (undecided_ == 0 && open_.empty()) {
    jump_ = kind;
    return;
  }
  ++undecided_;
  if (kind == Jump::Break) { ++breaks_; }
  if (kind == Jump::Continue) { ++continues_; }
}

auto Follower::goes_on(const Loop& loop) -> bool {
  if (continues_ > 0) { end_region(loop.region); }
  undecided_ -= std::exchange(continues_, 0);
  if (jump_ == Jump::Continue) { jump_ = Jump::None; }
  return jump_ == Jump::None;
}

auto Follower::enter_loop() -> Loop { return {std::exchange(breaks_, 0), std::exchange(continues_, 0), begin_region()}; }

void Follower::leave_loop(const Loop& around) {
  if (breaks_ + continues_ > 0) { end_region(around.region); }
  undecided_ -= breaks_ + continues_;
  breaks_ = around.breaks;
  continues_ = around.continues;
  if (jump_ != Jump::Return) { jump_ = Jump::None; }
}

// An unknown number of iterations runs, perhaps none: follows the body once.
auto Follower::follow_unknown_loop(const Stmt& body) -> bool {
  Loop around = enter_loop();
  bool done = branch(body);
  leave_loop(around);
  return done;
}

// Statements that may run.
auto Follower::branch(const Stmt& body) -> bool {
  size_t region = begin_region();
  ++undecided_;
  bool done = follow(body);
  --undecided_;
  end_region(region);
  return done;
}

auto Follower::branches(const std::optional<int64_t>& condition, const Stmt& yes, const Stmt& no) -> bool {
  if (condition) {
    if (*condition != 0) { return follow(yes); }
    return !no || follow(no);
  }
  if (!no) { return branch(yes); }
  // An element that both branches store is stored for certain.
  std::vector<Stored> first, second;
  size_t region = begin_region();
  open_.push_back(&first);
  bool done = follow(yes);
  end_region(region);
  open_.back() = &second;
  done = done && follow(no);
  open_.pop_back();
  end_region(region);
  if (!done) { return false; }
  for (const Stored& one : first) {
    bool is_both = std::any_of(second.begin(), second.end(), [&](const Stored& other) { return other.buffer == one.buffer && other.at == one.at; });
    indices = nullptr;
    if (is_both) { access(one.buffer, one.at, true, true); }
  }
  return true;
}

void Follower::look(const Expr& e) {
  if (e.as<IntImm>()) { return; }
  if (const auto* n = e.as<VarNode>()) {
    if (!n->dtype.is_handle()) { return; }
    auto source = data_of_views_.find(n);
    for (; source != data_of_views_.end(); source = data_of_views_.find(n)) { n = source->second; }
    hand_out(n);
    return;
  }
  if (const auto* n = e.as<BufferLoad>()) {
    for (const Expr& index : n->indices) { look(index); }
    bool is_scalar = e.dtype().lanes == 1 && !e.dtype().scalable;
    if (is_scalar) { access(n->buffer, n->indices, false, false); } else { somewhere(n->buffer, false); }
    return;
  }
  static const Name if_then_else_name("if_then_else");
  if (const auto* n = e.as<Call>(); n && n->op == if_then_else_name && n->args.size() == 3) {
    look(n->args[0]);
    auto condition = evaluate_integer(n->args[0], values);
    if (!condition || *condition != 0) { look(n->args[1]); }
    if (!condition || *condition == 0) { look(n->args[2]); }
    return;
  }
  if (const auto* n = e.as<Let>()) {
    look(n->value);
    size_t before = values.size();
    if (auto value = evaluate_integer(n->value, values)) { values.emplace_back(n->var.get(), *value); }
    look(n->body);
    values.resize(before);
    return;
  }
  visit_children(e, [&](const Expr& child) { look(child); });
}

// False: no copy of memory.
auto Follower::copy(const Expr& value) -> bool {
  const auto* call = value.as<Call>();
  if (!call || call->args.size() != 4 || external(external_name(*call)).kind != ExternalKind::Memory) { return false; }
  look(call->args[3]);
  auto bytes = evaluate_integer(call->args[3], values);
  if (external_name(*call) == "memset") { look(call->args[2]); } else { elements_behind(call->args[2], bytes, false); }
  elements_behind(call->args[1], bytes, true);
  return true;
}

void Follower::elements_behind(const Expr& pointer, std::optional<int64_t> bytes, bool is_store) {
  static const Name address_of("address_of");
  const auto* address = pointer.as<Call>();
  const auto* first = address && address->op == address_of && address->args.size() == 1 ? address->args[0].as<BufferLoad>() : nullptr;
  if (!first) { return look(pointer); }
  const BufferNode& buffer = *first->buffer;
  auto size = bytes_of_element(buffer);
  auto row = buffer.shape.empty() ? std::optional<int64_t>(1) : as_int(buffer.shape[buffer.shape.size() - 1]);
  bool is_known = bytes && size && row && buffer.strides.empty() && *bytes % *size == 0;
  Element at;
  for (const Expr& index : first->indices) {
    look(index);
    auto number = evaluate_integer(index, values);
    is_known = is_known && number;
    at.push_back(number.value_or(0));
  }
  const int64_t count = is_known ? *bytes / *size : 0;
  // Elements behind the end of a row are in the next one.
  if (!is_known || (at.empty() ? 0 : at.back()) > *row - count) { return somewhere(first->buffer, is_store); }
  indices = &first->indices;
  for (int64_t i = 0; i < count; ++i) {
    if (steps_left <= 0) {
      steps_left = -1;
      return;
    }
    access(first->buffer, at, is_store, true);
    if (!at.empty()) { ++at.back(); }
  }
}

void Follower::somewhere(const Buffer& buffer, bool is_store) {
  if (auto view = views_.find(buffer.get()); view != views_.end()) { return somewhere(Buffer(view->second.source), is_store); }
  if (is_store) { store_somewhere(buffer); } else { load_somewhere(buffer); }
}

void Follower::access(const Buffer& buffer, const Array<Expr>& written, bool is_store, bool certain) {
  Element at;
  indices = &written;
  for (const Expr& index : written) {
    auto value = index.dtype().lanes == 1 ? evaluate_integer(index, values) : std::nullopt;
    if (!value) { return somewhere(buffer, is_store); }
    at.push_back(*value);
  }
  access(buffer, at, is_store, certain);
}

void Follower::access(const Buffer& buffer, const Element& at, bool is_store, bool certain) {
  --steps_left;
  if (auto found = views_.find(buffer.get()); found != views_.end()) {
    const View& view = found->second;
    if (!view.is_plain) { return somewhere(buffer, is_store); }
    Element of_source = view.begin;
    for (size_t i = 0, from = of_source.size() - at.size(); i < at.size(); ++i) { of_source[from + i] += at[i]; }
    return access(Buffer(view.source), of_source, is_store, certain);
  }
  if (!is_store) { return load(buffer, at); }
  bool is_certain = certain && undecided_ == 0;
  if (!open_.empty() && is_certain) {
    open_.back()->push_back({buffer, at});
    is_certain = false;
  }
  is_whole = certain;
  store(buffer, at, is_certain);
}

}  // namespace loopsmith
