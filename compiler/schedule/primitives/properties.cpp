// Primitives that change properties of a buffer or block, not the computation: storage_align, set_scope,
// unsafe_set_dtype, reorder_block_iter_var.
#include <algorithm>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/facts/bindings.h"
#include "schedule/primitives.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/spelling.h"

namespace loopsmith::schedule::primitives {
namespace {

// The block that allocates a buffer: searches outwards from a block that uses it; none for parameters and matched buffers.
auto allocating_block(const FuncState& func, const Place& block, const Buffer& buffer) -> const Place* {
  for (const Place* at = &block; at; at = func.parent(*at)) {
    if (at->is_block() && func.allocates(*at, buffer)) { return at; }
  }
  return nullptr;
}

auto require_allocated(const Context& cx, const BlockArg& block, const Buffer& buffer) -> Result<const Place*> {
  if (const Place* place = allocating_block(*block.func, *block, buffer)) { return place; }
  return note_block(cx.error(Code::NotAllocated).arg("buffer", buffer->name.view()), *block);
}

auto with_block(const BlockArg& block, Block::Fields fields, Origin origin) -> Outcome {
  Outcome out;
  out.func = block.func->name();
  out.rewrite.changes.push_back({block->id, make<Block>(std::move(fields), origin, block->id)});
  return out;
}

const Name buffer_dim_align("buffer_dim_align");

/// Requests a stride of a dimension that is `offset` more than a multiple of `factor`, to avoid bank conflicts.
///
///     with T.block("B"):           ==>       with T.block("B"):
///                                                T.block_attr({"buffer_dim_align": [[0, 0, 32, 8]]})
///
/// Needs  a buffer that a block allocates; a dimension of it; a positive factor.
/// Keeps  results; the memory gets gaps.
struct StorageAlign {
  struct Args { BlockArg block; int64_t buffer_index = 0; int64_t axis = 0; int64_t factor = 0; int64_t offset = 0; };
  struct Plan { int64_t axis; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_TRY(region, require_buffer(cx, *args.block, args.buffer_index, true));
    if (args.factor <= 0) { return cx.error(Code::AlignFactor).arg("factor", args.factor).at_node(args.block->id).remedy("give a number of elements, as in `factor=32`"); }
    int64_t dimensions = static_cast<int64_t>(region.buffer->shape.size());
    if (args.axis < -dimensions || args.axis >= dimensions) {
      return cx.error(Code::AxisOutOfRange).arg("axis", args.axis).arg("buffer", region.buffer->name.view()).arg("count", dimensions).at_node(args.block->id)
          .remedy(fmt::format("give an axis from 0 to {}", dimensions - 1));
    }
    LOOPSMITH_CHECK(require_allocated(cx, args.block, region.buffer));
    if (const Attr* old = find_attr(args.block.block().annotations, buffer_dim_align)) {
      bool is_valid = old->list() != nullptr;
      for (size_t i = 0; is_valid && i < old->list()->size(); ++i) {
        const auto* tuple = (*old->list())[i].list();
        is_valid = tuple && tuple->size() == 4;
        for (size_t k = 0; is_valid && k < 4; ++k) { is_valid = (*tuple)[k].expr() && (*tuple)[k].expr().as<IntImm>(); }
      }
      if (!is_valid) {
        return note_block(cx.error(Code::AlignAnnotation).arg("block", args.block->name().view()), *args.block)
            .remedy("remove it first: `sch.unannotate(block, \"buffer_dim_align\")`");
      }
    }
    return Plan{args.axis < 0 ? args.axis + dimensions : args.axis};
  }

  static auto apply(const Context& cx, const Args& args, const Plan& plan) -> Outcome {
    const Block& block = args.block.block();
    Attr entry(Array<Attr>{Attr(int_imm(args.buffer_index)), Attr(int_imm(plan.axis)), Attr(int_imm(args.factor)), Attr(int_imm(args.offset))});
    std::vector<Attr> entries;
    bool is_new = true;
    if (const Attr* old = find_attr(block.annotations, buffer_dim_align)) {
      for (const Attr& tuple : *old->list()) {
        bool is_same = is_int((*tuple.list())[0].expr(), args.buffer_index) && is_int((*tuple.list())[1].expr(), plan.axis);
        entries.push_back(is_same ? entry : tuple);
        is_new = is_new && !is_same;
      }
    }
    if (is_new) { entries.push_back(entry); }
    auto fields = block.fields();
    fields.annotations = with_attr(block.annotations, buffer_dim_align, Attr(Array<Attr>(std::move(entries))));
    return with_block(args.block, std::move(fields), cx.made_from(block.origin));
  }
};

// A buffer, its views in a block, and views of these, each with its replacement.
auto with_views(const FuncState& func, const Place& site, const Buffer& buffer, const std::function<Buffer(const Buffer&)>& change) -> BufferMap {
  BufferMap out{{buffer.get(), change(buffer)}};
  std::vector<Stmt> statements = statements_with(func, site, buffer);
  auto add_views = [&](const Stmt& s) {
    const auto* block = s.as<Block>();
    if (!block) { return false; }
    bool has_grown = false;
    for (const MatchBufferRegion& match : block->match_buffers) {
      if (out.count(match.source.buffer.get()) && !out.count(match.buffer.get())) {
        out.emplace(match.buffer.get(), change(match.buffer));
        has_grown = true;
      }
    }
    return has_grown;
  };
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const Stmt& statement : statements) {
      post_order(statement, [&](const Stmt& s) { has_grown = add_views(s) || has_grown; }, [](const Expr&) {});
    }
  }
  return out;
}

/// Puts a buffer into another memory.
///
///     B = T.alloc_buffer((8,))     ==>       B_shared = T.alloc_buffer((8,), scope="shared")
///
/// Its views are in that memory as well.
///
/// Needs  a buffer that a block allocates; a known storage scope.
/// Keeps  results bit for bit.
struct SetScope {
  struct Args { BlockArg block; int64_t buffer_index = 0; std::string storage_scope; };
  struct Plan { Buffer buffer; const Place* site; };
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_CHECK(require_no_second_buffer(cx, args.block));
    LOOPSMITH_TRY(region, require_buffer(cx, *args.block, args.buffer_index, true));
    LOOPSMITH_CHECK(require_storage_scope(cx, args.storage_scope));
    LOOPSMITH_TRY(site, require_allocated(cx, args.block, region.buffer));
    if (memory_family(args.storage_scope) == MemoryFamily::Shared) { LOOPSMITH_CHECK(require_own_reductions(cx, *args.block.func, *site, region.buffer)); }
    return Plan{region.buffer, site};
  }
  // In shared memory, threads must not run the same instances of a reduction: they would update its result at the same time.
  static auto require_own_reductions(const Context& cx, const FuncState& func, const Place& site, const Buffer& buffer) -> Status {
    for (const Place* mentioning : func.blocks_mentioning(site, buffer)) {
      const Place& place = *mentioning;
      if (!place.block()->init) { continue; }
      const bool writes = std::any_of(place.block()->writes.begin(), place.block()->writes.end(), [&](const BufferRegion& w) { return w.buffer == buffer; });
      if (!writes) { continue; }
      for (const Place* loop : func.loops(place)) {
        if (!is_bound_to_threads(*loop->loop)) { continue; }
        if (!repeats_reduction(loop_domains(func, place), *loop->loop, *place.block(), place.realize->iter_values.to_vector(), place.realize->predicate)) { continue; }
        return note_block(note_loop(cx.error(Code::ReductionShared).arg("loop", loop->name().view()).arg("block", place.name().view()), *loop), place);
      }
    }
    return ok();
  }
  static auto apply(const Context&, const Args& args, const Plan& plan) -> Outcome {
    Name scope(args.storage_scope);
    if (plan.buffer->scope() == scope) { return {}; }
    auto in_scope = [&](const Buffer& buffer) {
      BufferNode fields = *buffer;
      fields.name = Name(buffer->name.str() + "_" + args.storage_scope);
      PointerType pointer = buffer->data->pointer.value_or(PointerType{buffer->dtype, {}});
      pointer.scope = scope;
      fields.data = make<VarNode>(Name(buffer->data->name.str() + "_" + args.storage_scope), DataType::handle(), buffer->data->origin, pointer);
      return make_buffer(std::move(fields));
    };
    Outcome out;
    out.func = args.block.func->name();
    BufferMap map = with_views(*args.block.func, *plan.site, plan.buffer, in_scope);
    out.rewrite = with_buffer_changed(*args.block.func, *plan.site, plan.buffer, map.at(plan.buffer.get()), [&](const Stmt& stmt) { return substitute_buffers(stmt, map); });
    return out;
  }
};

/// Stores a buffer's elements in another type. Values are converted on the way in and out, so results may change.
///
///     B = T.alloc_buffer((8,))     ==>       B = T.alloc_buffer((8,), "float16")
///
/// Needs  a buffer that a block allocates, with views of its own type only; a data type.
struct UnsafeSetDType {
  struct Args { BlockArg block; int64_t buffer_index = 0; std::string dtype; };
  struct Plan { Buffer buffer; BufferMap changed; const Place* site; };
  static auto no_such_dtype(const Context& cx, const std::string& dtype) -> Diagnostic {
    static const std::vector<std::string> common = {"float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"};
    const std::string near = closest(dtype, common);
    return cx.error(Code::NoSuchDType).arg("dtype", dtype)
        .remedy(near.empty() ? "give a type such as `\"float32\"`, `\"bfloat16\"` or `\"int8\"`" : "did you mean `\"" + near + "\"`?");
  }
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_TRY(region, require_buffer(cx, *args.block, args.buffer_index, true));
    LOOPSMITH_TRY(site, require_allocated(cx, args.block, region.buffer));
    auto dtype = DataType::parse(args.dtype);
    if (!dtype || dtype->is_handle() || dtype->is_void()) { return no_such_dtype(cx, args.dtype); }
    // Views of the buffer get the type as well. A view of another type would read other bits.
    Buffer other;
    BufferMap changed = with_views(*args.block.func, *site, region.buffer, [&](const Buffer& buffer) {
      if (!(buffer->dtype == region.buffer->dtype) && !(buffer->dtype == *dtype)) { other = buffer; }
      return with_type(buffer, *dtype);
    });
    if (other) { return note_block(cx.error(Code::ViewDType).arg("block", args.block->name().view()).arg("view", other->name.view())
                                       .arg("buffer", region.buffer->name.view()).arg("dtype", args.dtype), *args.block); }
    return Plan{region.buffer, std::move(changed), site};
  }
  static auto with_type(const Buffer& buffer, DataType dtype) -> Buffer {
    BufferNode fields = *buffer;
    fields.dtype = dtype;
    PointerType pointer = buffer->data->pointer.value_or(PointerType{dtype, {}});
    pointer.element = dtype;
    fields.data = make<VarNode>(buffer->data->name, DataType::handle(), buffer->data->origin, pointer);
    return make_buffer(std::move(fields));
  }
  class Convert : public Mutator {
   public:
    explicit Convert(const BufferMap& map) : map_(map) {
      for (const auto& [from, to] : map) { data_.emplace(from->data.get(), to->data); }
    }
    using Mutator::on;
    auto on(const BufferLoad& n) -> Expr override {
      Expr e = Mutator::on(n);
      return e.dtype() == n.dtype ? e : Expr(make<Cast>(n.dtype, std::move(e), n.origin));
    }
    auto on(const BufferStore& n) -> Stmt override {
      Stmt s = Mutator::on(n);
      const auto& store = *s.as<BufferStore>();
      if (store.buffer->dtype == n.buffer->dtype) { return s; }
      DataType stored = store.buffer->dtype.is_scalar() ? store.buffer->dtype.with_lanes(store.value.dtype().lanes) : store.buffer->dtype;
      return make<BufferStore>(store.buffer, Expr(make<Cast>(stored, store.value, store.value.origin())), store.indices, store.origin, store.predicate);
    }

   protected:
    auto use(const Buffer& buffer) -> Buffer override {
      auto found = map_.find(buffer.get());
      return found == map_.end() ? buffer : found->second;
    }
    auto on(const VarNode& n) -> Expr override {
      auto found = data_.find(&n);
      return found == data_.end() ? self(n) : Expr(found->second);
    }

   private:
    const BufferMap& map_;
    std::unordered_map<const VarNode*, Var> data_;
  };
  static auto apply(const Context&, const Args& args, const Plan& plan) -> Outcome {
    Outcome out;
    out.func = args.block.func->name();
    Convert convert(plan.changed);
    out.rewrite = with_buffer_changed(*args.block.func, *plan.site, plan.buffer, plan.changed.at(plan.buffer.get()), [&](const Stmt& stmt) { return convert.mutate(stmt); });
    return out;
  }
};

/// Changes the order of a block's iter vars.
///
///     vi, vj = T.axis.remap("SS", [i, j])    vj, vi = T.axis.remap("SS", [j, i])
///
/// Needs  a permutation of 0, 1, ...; a block other than the root block.
/// Keeps  everything.
struct ReorderBlockIterVar {
  struct Args { BlockArg block; std::vector<int64_t> new_order; };
  struct Plan {};
  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    LOOPSMITH_CHECK(require_scope(cx, args.block));
    std::vector<int64_t> sorted = args.new_order;
    std::sort(sorted.begin(), sorted.end());
    bool is_permutation = sorted.size() == args.block.block().iter_vars.size();
    for (size_t i = 0; is_permutation && i < sorted.size(); ++i) { is_permutation = sorted[i] == static_cast<int64_t>(i); }
    if (!is_permutation) {
      return note_block(cx.error(Code::NotPermutation).arg("block", args.block->name().view()).arg("count", static_cast<int64_t>(args.block.block().iter_vars.size())),
                        *args.block)
          .remedy(fmt::format("name each index from 0 to {} once", args.block.block().iter_vars.size() - 1));
    }
    return Plan{};
  }
  static auto apply(const Context& cx, const Args& args, const Plan&) -> Outcome {
    const BlockRealize& realize = *args.block->realize;
    auto fields = args.block.block().fields();
    std::vector<IterVar> iter_vars;
    std::vector<Expr> iter_values;
    for (int64_t i : args.new_order) {
      iter_vars.push_back(fields.iter_vars[static_cast<size_t>(i)]);
      iter_values.push_back(realize.iter_values[FAULT(iter_values_not_reordered) ? iter_values.size() : static_cast<size_t>(i)]);
    }
    fields.iter_vars = std::move(iter_vars);
    Ref<Block> block = make<Block>(std::move(fields), cx.made_from(args.block.block().origin), args.block->id);
    Outcome out;
    out.func = args.block.func->name();
    out.rewrite.changes.push_back({args.block->id, make<BlockRealize>(Array<Expr>(std::move(iter_values)), realize.predicate, std::move(block), realize.origin)});
    return out;
  }
};

}  // namespace

const Primitive storage_align = primitive<StorageAlign>("storage_align", "StorageAlign", "asks for gaps between the rows of a buffer",
    {Order::Untouched, Hidden::Harmless})
    .input("block", &StorageAlign::Args::block)
    .attr("buffer_index", &StorageAlign::Args::buffer_index).indexes("write").from(candidates::write_indices)
    .attr("axis", &StorageAlign::Args::axis).from(candidates::write_axes)
    .attr("factor", &StorageAlign::Args::factor).from([](const Choice&) { return std::vector<Value>{32}; })
    .attr("offset", &StorageAlign::Args::offset).from([](const Choice&) { return std::vector<Value>{0, 8}; })
    .example(examples::matmul_relu, "sch.storage_align(\"C\", 0, axis=0, factor=32, offset=8)");
const Primitive set_scope = primitive<SetScope>("set_scope", "SetScope", "puts a buffer into another memory", {Order::Untouched, Hidden::Harmless})
    .input("block", &SetScope::Args::block)
    .attr("buffer_index", &SetScope::Args::buffer_index).indexes("write").from(candidates::write_indices)
    .attr("storage_scope", &SetScope::Args::storage_scope).from(candidates::storage_scopes)
    .example(examples::matmul_relu, "sch.set_scope(\"C\", 0, \"shared\")");
const Primitive unsafe_set_dtype = primitive<UnsafeSetDType>("unsafe_set_dtype", "UnsafeSetDType", "stores a buffer's elements in another type",
    {Order::Changed, Hidden::Harmless})
    .input("block", &UnsafeSetDType::Args::block)
    .attr("buffer_index", &UnsafeSetDType::Args::buffer_index).indexes("write").from(candidates::write_indices)
    .attr("dtype", &UnsafeSetDType::Args::dtype).from([](const Choice&) { return std::vector<Value>{"float16", "float64"}; })
    .example(examples::matmul_relu, "sch.unsafe_set_dtype(\"C\", 0, \"float64\")");
const Primitive reorder_block_iter_var = primitive<ReorderBlockIterVar>("reorder_block_iter_var", "ReorderBlockIterVar", "changes the order of a block's iter vars",
    {Order::Changed, Hidden::Harmless})
    .input("block", &ReorderBlockIterVar::Args::block)
    .input("new_order", &ReorderBlockIterVar::Args::new_order).from(candidates::iter_orders)
    .example(examples::matmul, "sch.reorder_block_iter_var(\"C\", [1, 0, 2])");

}  // namespace loopsmith::schedule::primitives
