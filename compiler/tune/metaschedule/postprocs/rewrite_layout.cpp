// RewriteLayout: buffers that the caller may lay out freely (`layout_free_buffers`, `layout_free_placeholders`) are copied to a layout that fits the loops
// of their reader. The copy is marked, so that a build can do it ahead of time. A step that is refused rejects the schedule.
#include <unordered_set>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "tune/metaschedule/calls.h"
#include "tune/metaschedule/postprocs/postprocs.h"
#include "tune/metaschedule/postprocs/suggest_layout.h"

namespace loopsmith::tune::metaschedule {
namespace {

// The block that reads a buffer, with the number of the buffer among its reads and the suggested layout. If several blocks read the buffer, the last one counts.
struct Reader {
  const Block* block;
  int64_t index;   // -1: the block does not declare that it reads the buffer
  std::optional<IndexMap> map;
};

class FindReader : public Visitor {
 public:
  using Visitor::on;
  explicit FindReader(const BufferNode* buffer) : buffer_(buffer) {}
  std::optional<Reader> found;

  void on(const For& n) override {
    loops_.push_back(&n);
    Visitor::on(n);
    loops_.pop_back();
  }
  void on(const BlockRealize& n) override {
    const BlockRealize* outside = std::exchange(realize_, &n);
    Visitor::on(n);
    realize_ = outside;
  }
  void on(const BufferLoad& n) override {
    Visitor::on(n);
    if (n.buffer.get() != buffer_ || !realize_) { return; }
    VarMap bindings;
    for (size_t i = 0; i < realize_->iter_values.size(); ++i) { bindings[realize_->block->iter_vars[i].var.get()] = realize_->iter_values[i]; }
    std::vector<Expr> indices;
    for (const Expr& index : n.indices) { indices.push_back(substitute(index, bindings)); }
    Reader reader{realize_->block.get(), -1, suggest_layout(n.buffer, indices, loops_, realize_->predicate)};
    for (size_t i = 0; i < realize_->block->reads.size() && reader.index < 0; ++i) {
      if (realize_->block->reads[i].buffer.get() == buffer_) { reader.index = static_cast<int64_t>(i); }
    }
    found = std::move(reader);
  }

 private:
  const BufferNode* buffer_;
  std::vector<const For*> loops_;
  const BlockRealize* realize_ = nullptr;
};

// The copies that stand between a buffer and its reader, from the buffer on, and the last copy.
class FindCopies : public Visitor {
 public:
  using Visitor::on;
  explicit FindCopies(const BufferNode* buffer) : last(buffer) {}
  std::vector<Name> blocks;
  const BufferNode* last;
  void on(const Block& n) override {
    if (!n.init && n.reads.size() == 1 && n.writes.size() == 1 && n.reads[0].buffer.get() == last) {
      blocks.push_back(n.name);
      last = n.writes[0].buffer.get();
    }
    Visitor::on(n);
  }

};

// Buffers that blocks are annotated with. The annotation names memory by its data variable or a buffer of the text.
class FindPlaceholders : public Visitor {
 public:
  using Visitor::on;
  std::unordered_set<const VarNode*> data;
  void on(const Block& n) override {
    Visitor::on(n);
    const Attr* attr = find_attr(n.annotations, "layout_free_placeholders");
    const Array<Attr>* list = attr ? attr->list() : nullptr;
    if (!list) { return; }
    for (const Attr& item : *list) {
      if (const auto* v = item.expr().as<VarNode>()) { data.insert(v); }
    }
  }
};

auto free_buffers(const PrimFunc& func) -> std::optional<std::vector<const BufferNode*>> {
  std::vector<const BufferNode*> out;
  const Attr* attr = find_attr(func->attrs, "layout_free_buffers");
  if (const Array<Attr>* list = attr ? attr->list() : nullptr) {
    for (const Attr& item : *list) {
      std::optional<int64_t> index = item.expr() ? as_int(item.expr()) : std::nullopt;
      if (!index || *index < 0 || static_cast<size_t>(*index) >= func->params.size()) { return std::nullopt; }
      Buffer buffer = func->buffer_of(func->params[static_cast<size_t>(*index)]);
      if (!buffer) { return std::nullopt; }
      out.push_back(buffer.get());
    }
  }
  FindPlaceholders find;
  find.visit(func->body);
  for (const auto& [param, buffer] : func->buffer_map) {
    if (find.data.count(buffer->data.get()) > 0) { out.push_back(buffer.get()); }
  }
  return out;
}

auto find_reader(const BufferNode* buffer, const PrimFunc& func) -> std::optional<Reader> {
  FindReader find(buffer);
  find.visit(func->body);
  return find.found && find.found->map ? find.found : std::nullopt;
}

auto transform_layout(Schedule& sch, BlockRV block, int64_t index, const IndexMap& map) -> Status {
  LOOPSMITH_TRY(done, sch.call("transform_layout", {block, Value::List{Value("read"), Value(index)}, Value(map)}));
  (void)done;
  return ok();
}

auto add_copy(Schedule& sch, BlockRV reader, int64_t index) -> Status {
  LOOPSMITH_TRY(copy, sch.call("cache_read", {reader, Value(index), Value("global")}));
  return annotate(sch, *copy.as<BlockRV>(), "meta_schedule.layout_rewrite_preproc", Value(true));
}

// A chain of copies: the layout of the last is that of the reader, and the others follow. The new copy stands before the first.
auto rewrite_chain(Schedule& sch, Name func, const std::vector<Name>& copies, const Reader& reader) -> Status {
  LOOPSMITH_TRY(block, get_block(sch, reader.block->name, func));
  LOOPSMITH_CHECK(transform_layout(sch, block, reader.index, *reader.map));
  for (size_t i = copies.size(); i-- > 0;) {
    LOOPSMITH_TRY(copy, get_block(sch, copies[i], func));
    if (i == 0) { LOOPSMITH_CHECK(add_copy(sch, copy, 0)); }
    LOOPSMITH_CHECK(transform_layout(sch, copy, 0, *reader.map));
  }
  return ok();
}

// False: the buffer is read in a way that has no declared place.
auto rewrite(Schedule& sch, Name name, const PrimFunc& func, const BufferNode* buffer) -> Verdict {
  FindCopies copies(buffer);
  copies.visit(func->body);
  std::optional<Reader> reader = find_reader(copies.last, func);
  if (!copies.blocks.empty()) {
    LOOPSMITH_TRY(last, get_block(sch, copies.blocks.back(), name));
    (void)last;
  }
  if (!reader) { return true; }
  if (reader->index < 0) { return false; }
  if (!copies.blocks.empty()) {
    LOOPSMITH_CHECK(rewrite_chain(sch, name, copies.blocks, *reader));
    return true;
  }
  LOOPSMITH_TRY(block, get_block(sch, reader->block->name, name));
  LOOPSMITH_CHECK(add_copy(sch, block, reader->index));
  LOOPSMITH_CHECK(transform_layout(sch, block, reader->index, *reader->map));
  return true;
}

auto apply(Schedule& sch, const TargetNumbers&) -> Verdict {
  IRModule before = sch.module();
  for (const auto& [name, func] : before->functions) {
    auto buffers = free_buffers(func);
    if (!buffers) { return false; }
    for (const BufferNode* buffer : *buffers) {
      Verdict done = rewrite(sch, name, func, buffer);
      if (!done.ok() || !*done) { return false; }
    }
  }
  return true;
}

}  // namespace

auto rewrite_layout() -> Postproc { return {"RewriteLayout", apply}; }

}  // namespace loopsmith::tune::metaschedule
