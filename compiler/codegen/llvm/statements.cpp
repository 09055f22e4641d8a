// Statements: loops, branches, allocations, the outlining of parallel loops. See builder.h.
#include <algorithm>

#include <fmt/format.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/llvm/builder.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/reasons.h"

namespace loopsmith::codegen {
namespace {

// Local buffers of up to this size live on the stack, up to a total per function; others are in workspace memory.
constexpr uint64_t max_stack_buffer = 32U << 10U;
constexpr uint64_t max_stack_total = 256U << 10U;
// The most stores and calls of an unrolled loop. Lowering keeps larger loops, still marked `unrolled`.
constexpr int64_t max_unrolled = 4096;

/// The number of statements after unrolling.
auto written_out(const Stmt& stmt) -> int64_t {
  if (const auto* loop = stmt.as<For>()) {
    auto extent = loop->for_kind == ForKind::Unrolled ? as_int(loop->extent) : std::nullopt;
    int64_t body = written_out(loop->body);
    return extent && *extent > 0 ? std::min<int64_t>(body * std::min<int64_t>(*extent, max_unrolled), max_unrolled + 1) : body + 1;
  }
  int64_t out = 1;
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& s) { out = std::min(out + written_out(s), max_unrolled + 1); });
  return out;
}

/// Variables and buffers' data that a statement uses.
struct Uses : Visitor {
  std::vector<const VarNode*> order;
  std::unordered_set<const VarNode*> seen;
  using Visitor::on;
  void add(const VarNode* v) {
    if (v != nullptr && seen.insert(v).second) { order.push_back(v); }
  }
  void add(const Buffer& buffer) {
    add(buffer->data.get());
    for (const Expr& e : buffer->shape) { visit(e); }
    for (const Expr& e : buffer->strides) { visit(e); }
    if (buffer->elem_offset) { visit(buffer->elem_offset); }
  }
  void on(const VarNode& node) override { add(&node); }
  void on(const BufferLoad& node) override { add(node.buffer); Visitor::on(node); }
  void on(const BufferStore& node) override { add(node.buffer); Visitor::on(node); }
};

}  // namespace

void ModuleBuilder::emit(const Stmt& stmt) {
  if (failure_) { return; }
  if (++depth_ > max_depth) {
    fail("a statement", because(Why::NestedDeeper).arg("limit", max_depth), stmt.origin());
    --depth_;
    return;
  }
  llvm::DebugLoc around = ir_.getCurrentDebugLocation();
  mark(stmt.origin());
  switch (stmt.kind()) {
    case NodeKind::For: emit_for(*stmt.as<For>()); break;
    case NodeKind::While: emit_while(*stmt.as<While>()); break;
    case NodeKind::IfThenElse: emit_if(*stmt.as<IfThenElse>()); break;
    case NodeKind::BufferStore: store(*stmt.as<BufferStore>()); break;
    case NodeKind::AssertStmt: emit_assert(*stmt.as<AssertStmt>()); break;
    case NodeKind::Allocate: emit_allocate(*stmt.as<Allocate>()); break;
    case NodeKind::AllocateConst: emit_allocate_const(*stmt.as<AllocateConst>()); break;
    case NodeKind::AttrStmt: emit_attribute(*stmt.as<AttrStmt>()); break;
    case NodeKind::DeclBuffer: emit(stmt.as<DeclBuffer>()->body); break;
    case NodeKind::SeqStmt:
      for (size_t i = 0; i < stmt.as<SeqStmt>()->seq.size();) {
        if (size_t stored = store_interleaved(stmt.as<SeqStmt>()->seq, i); stored > 0) { i += stored; continue; }
        emit(stmt.as<SeqStmt>()->seq[i++]);
      }
      break;
    case NodeKind::LetStmt: {
      const auto* let = stmt.as<LetStmt>();
      emit_let(let->var, let->value, [&] { emit(let->body); });
      break;
    }
    case NodeKind::Evaluate:
      if (const Expr& value = stmt.as<Evaluate>()->value; value.as<IntImm>() == nullptr) { eval(value); }
      break;
    case NodeKind::Break:
    case NodeKind::Continue:
      if (frame_.loops.empty()) {
        fail(stmt.kind() == NodeKind::Break ? "`break`" : "`continue`", because(Why::OutsideSerialLoops), stmt.origin());
      } else {
        emit_leave(frame_.loops.size() - 1, stmt.kind() == NodeKind::Continue);
      }
      break;
    case NodeKind::Block:
    case NodeKind::BlockRealize: fail_not_flat("a block", stmt.origin()); break;
    case NodeKind::BufferRealize: fail_not_flat("`buffer_realize`", stmt.origin()); break;
    default: fail_not_flat("a statement", stmt.origin()); break;
  }
  // Expressions of intrinsics and of passes have no place: that of the innermost statement remains.
  if (failure_ && !failure_->where.is_known()) { failure_->where = stmt.origin(); }
  ir_.SetCurrentDebugLocation(around);
  --depth_;
}

// ---- loops

void ModuleBuilder::bind_loop_var(const Var& var, llvm::Value* wide, const Expr& min) {
  frame_.vars[var.get()] = Binding{nullptr, wide};
  if (min && is_nonnegative(min)) { frame_.nonnegative.insert(var.get()); }
}

void ModuleBuilder::emit_for(const For& loop) {
  auto extent = as_int(loop.extent);
  if (extent && *extent <= 0) { return; }
  if (loop.for_kind == ForKind::ThreadBinding && is_gpu() && loop.thread) {
    if (bind_thread(loop.var, loop.thread->thread_tag.view(), loop.extent, loop.origin)) {
      frame_.vars[loop.thread->var.get()] = frame_.vars[loop.var.get()];
      emit(loop.body);
      return;
    }
    if (failure_) { return; }
  }
  if (loop.for_kind == ForKind::Parallel && is_gpu()) {
    fail(fmt::format("the parallel loop `{}`", loop.var->name.str()), because(Why::ThreadsAreBound), loop.origin);
    return;
  }
  if (loop.for_kind == ForKind::ThreadBinding) {
    fail_not_flat(fmt::format("the loop `{}`, bound to `{}`,", loop.var->name.str(), loop.thread ? loop.thread->thread_tag.str() : "a thread"), loop.origin);
    return;
  }
  if (extent && *extent == 1) {
    bind_loop_var(loop.var, eval_index(loop.min), loop.min);
    llvm::BasicBlock* after = llvm::BasicBlock::Create(context_, loop.var->name.str() + ".after", frame_.function);
    frame_.loops.push_back({after, after, frame_.workspaces.size()});
    emit(loop.body);
    frame_.loops.pop_back();
    ir_.CreateBr(after);
    ir_.SetInsertPoint(after);
    return;
  }
  if (loop.for_kind == ForKind::Parallel) {
    emit_parallel(loop);
    return;
  }
  auto min = as_int(loop.min);
  if (loop.for_kind == ForKind::Unrolled && extent && min && written_out(loop.body) <= max_unrolled / *extent) {
    emit_unrolled(loop, *min, *extent);
    return;
  }
  llvm::Value* begin = eval_index(loop.min);
  llvm::Value* count = eval_index(loop.extent);
  if (failure_) { return; }
  if (is_nonnegative(loop.min)) { frame_.nonnegative.insert(loop.var.get()); }
  emit_counted(loop.var, begin, ir_.CreateNSWAdd(begin, count), extent.has_value(), loop.body);
}

/// for (i = begin; i < end; ++i), with the test at the bottom, the form that LLVM's loop passes expect.
void ModuleBuilder::emit_counted(const Var& var, llvm::Value* begin, llvm::Value* end, bool runs_once_at_least, const Stmt& body) {
  const std::string& name = var->name.str();
  llvm::Function* function = frame_.function;
  auto* head = llvm::BasicBlock::Create(context_, name + ".loop", function);
  auto* next = llvm::BasicBlock::Create(context_, name + ".next", function);
  auto* after = llvm::BasicBlock::Create(context_, name + ".after", function);
  auto* before = llvm::BasicBlock::Create(context_, name + ".before", function, head);
  if (runs_once_at_least) {
    ir_.CreateBr(before);
  } else {
    ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), before, after);
  }
  ir_.SetInsertPoint(before);
  ir_.CreateBr(head);
  ir_.SetInsertPoint(head);
  llvm::PHINode* index = ir_.CreatePHI(ir_.getInt64Ty(), 2, name);
  index->addIncoming(begin, before);
  bind_loop_var(var, index, {});
  frame_.loops.push_back({next, after, frame_.workspaces.size()});
  emit(body);
  frame_.loops.pop_back();
  ir_.CreateBr(next);
  ir_.SetInsertPoint(next);
  llvm::Value* incremented = ir_.CreateNSWAdd(index, ir_.getInt64(1), name + ".plus");
  index->addIncoming(incremented, next);
  ir_.CreateCondBr(ir_.CreateICmpSLT(incremented, end), head, after);
  ir_.SetInsertPoint(after);
}

void ModuleBuilder::emit_unrolled(const For& loop, int64_t min, int64_t extent) {
  auto* after = llvm::BasicBlock::Create(context_, loop.var->name.str() + ".after", frame_.function);
  for (int64_t i = 0; i < extent; ++i) {
    bind_loop_var(loop.var, ir_.getInt64(static_cast<uint64_t>(min + i)), loop.min);
    auto* next = llvm::BasicBlock::Create(context_, loop.var->name.str() + ".next", frame_.function);
    frame_.loops.push_back({next, after, frame_.workspaces.size()});
    emit(loop.body);
    frame_.loops.pop_back();
    ir_.CreateBr(next);
    ir_.SetInsertPoint(next);
  }
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

/// The body becomes `NAME.parallel.N(captured..., begin, end)`, whose pointers are parameters and so may be
/// `noalias`, and a small function that unpacks the arguments of the thread pool:
///
///     int32_t NAME.share.N(void* captured, int64_t begin, int64_t end)
///     int32_t loopsmith_parallel(share, captured, begin, end)      // 0, or the nonzero result of a share
void ModuleBuilder::emit_parallel(const For& loop) {
  if (frame_.tiles_held > 0) {
    fail(fmt::format("the parallel loop `{}`", loop.var->name.str()), because(Why::InsideTileAllocation), loop.origin);
    return;
  }
  Uses uses;
  uses.visit(loop.body);
  Captured captured;
  for (const VarNode* v : uses.order) {
    if (!frame_.vars.contains(v)) { continue; }
    captured.vars.push_back(v);
    captured.values.push_back(variable(*v));
    captured.types.push_back(captured.values.back()->getType());
  }
  llvm::Value* begin = eval_index(loop.min);
  llvm::Value* end = ir_.CreateNSWAdd(begin, eval_index(loop.extent));
  if (failure_) { return; }
  int number = bodies_++;
  llvm::Function* share = emit_share(loop, captured, emit_parallel_body(loop, captured, number), number);

  llvm::Value* environment = alloca_in_entry(llvm::StructType::get(context_, captured.types), 1, 16, "captured");
  for (unsigned i = 0; i < captured.types.size(); ++i) {
    ir_.CreateStore(captured.values[i], ir_.CreateStructGEP(llvm::StructType::get(context_, captured.types), environment, i));
  }
  llvm::Value* result = emit_launch(share, environment, begin, end);
  auto* failed = llvm::BasicBlock::Create(context_, "failed", frame_.function);
  auto* after = llvm::BasicBlock::Create(context_, loop.var->name.str() + ".after", frame_.function);
  ir_.CreateCondBr(ir_.CreateIsNotNull(result), failed, after);
  ir_.SetInsertPoint(failed);
  stop_with(result);
  ir_.SetInsertPoint(after);
}

/// NAME.parallel.N: runs the iterations of a part of the range.
auto ModuleBuilder::emit_parallel_body(const For& loop, const Captured& captured, int number) -> llvm::Function* {
  std::vector<llvm::Type*> types = captured.types;
  types.insert(types.end(), {ir_.getInt64Ty(), ir_.getInt64Ty()});
  auto* body = llvm::Function::Create(llvm::FunctionType::get(ir_.getInt32Ty(), types, false), llvm::Function::InternalLinkage,
                                      fmt::format("{}.parallel.{}", function_name_, number), module_);
  set_attributes(*body);
  OtherFunction inside(*this);
  enter_function(*body, loop.origin);
  frame_.function = body;
  frame_.entry = llvm::BasicBlock::Create(context_, "entry", body);
  auto* first = llvm::BasicBlock::Create(context_, "begin", body);
  for (size_t i = 0; i < captured.vars.size(); ++i) {
    const VarNode* var = captured.vars[i];
    llvm::Argument* arg = body->getArg(static_cast<unsigned>(i));
    arg->setName(var->name.str());
    frame_.vars[var].value = arg;
    if (inside.outer().disjoint.contains(var)) {
      arg->addAttr(llvm::Attribute::NoAlias);
      frame_.disjoint.insert(var);
    }
    if (inside.outer().nonnegative.contains(var)) { frame_.nonnegative.insert(var); }
  }
  ir_.SetInsertPoint(first);
  if (is_nonnegative(loop.min)) { frame_.nonnegative.insert(loop.var.get()); }
  emit_counted(loop.var, body->getArg(body->arg_size() - 2), body->getArg(body->arg_size() - 1), false, loop.body);
  frame_.streams |= !streamed_.empty();
  ir_.CreateRet(ir_.getInt32(0));
  close_entry(first);
  return body;
}

/// NAME.share.N: the function that the pool calls. It unpacks the captured values and calls the body.
auto ModuleBuilder::emit_share(const For& loop, const Captured& captured, llvm::Function* body, int number) -> llvm::Function* {
  llvm::Type* i64 = ir_.getInt64Ty();
  auto* environment_type = llvm::StructType::get(context_, captured.types);
  auto* share = llvm::Function::Create(llvm::FunctionType::get(ir_.getInt32Ty(), {llvm::PointerType::getUnqual(context_), i64, i64}, false),
                                       llvm::Function::InternalLinkage, fmt::format("{}.share.{}", function_name_, number), module_);
  set_attributes(*share);
  OtherFunction inside(*this);
  enter_function(*share, loop.origin);
  ir_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", share));
  std::vector<llvm::Value*> args;
  for (unsigned i = 0; i < captured.types.size(); ++i) {
    args.push_back(ir_.CreateLoad(captured.types[i], ir_.CreateStructGEP(environment_type, share->getArg(0), i)));
  }
  args.push_back(share->getArg(1));
  args.push_back(share->getArg(2));
  ir_.CreateRet(ir_.CreateCall(body, args));
  return share;
}

/// Calls the thread pool; the result is 0, or the nonzero result of a share.
auto ModuleBuilder::emit_launch(llvm::Function* share, llvm::Value* environment, llvm::Value* begin, llvm::Value* end) -> llvm::Value* {
  llvm::Type* pointer = llvm::PointerType::getUnqual(context_);
  llvm::Type* i64 = ir_.getInt64Ty();
  llvm::Type* i32 = ir_.getInt32Ty();
  llvm::FunctionCallee launch = declare("loopsmith_parallel", i32, {pointer, pointer, i64, i64});
  std::vector<llvm::Value*> arguments = {share, environment, begin, end};
  if (options_.hosted) { return ir_.CreateCall(launch, arguments); }
  // In programs without a thread pool the weak symbol is null, and the loop runs on the calling thread.
  auto* callee = llvm::cast<llvm::Function>(launch.getCallee());
  callee->setLinkage(llvm::Function::ExternalWeakLinkage);
  auto* with_pool = llvm::BasicBlock::Create(context_, "pool", frame_.function);
  auto* alone = llvm::BasicBlock::Create(context_, "alone", frame_.function);
  auto* joined = llvm::BasicBlock::Create(context_, "joined", frame_.function);
  ir_.CreateCondBr(ir_.CreateIsNotNull(callee), with_pool, alone);
  ir_.SetInsertPoint(with_pool);
  llvm::Value* pooled = ir_.CreateCall(launch, arguments);
  ir_.CreateBr(joined);
  ir_.SetInsertPoint(alone);
  llvm::Value* single = ir_.CreateCall(share, {environment, begin, end});
  ir_.CreateBr(joined);
  ir_.SetInsertPoint(joined);
  llvm::PHINode* result = ir_.CreatePHI(i32, 2);
  result->addIncoming(pooled, with_pool);
  result->addIncoming(single, alone);
  return result;
}

void ModuleBuilder::emit_while(const While& node) {
  auto* head = llvm::BasicBlock::Create(context_, "while", frame_.function);
  auto* body = llvm::BasicBlock::Create(context_, "while.body", frame_.function);
  auto* after = llvm::BasicBlock::Create(context_, "while.after", frame_.function);
  ir_.CreateBr(head);
  ir_.SetInsertPoint(head);
  llvm::Value* condition = eval(node.condition);
  if (failure_) { return; }
  ir_.CreateCondBr(condition, body, after);
  ir_.SetInsertPoint(body);
  frame_.loops.push_back({head, after, frame_.workspaces.size()});
  emit(node.body);
  frame_.loops.pop_back();
  ir_.CreateBr(head);
  ir_.SetInsertPoint(after);
}

void ModuleBuilder::emit_leave(size_t loop_index, bool again) {
  const Loop& loop = frame_.loops[loop_index];
  release_workspaces(loop.workspaces);
  ir_.CreateBr(again ? loop.next : loop.after);
  ir_.SetInsertPoint(llvm::BasicBlock::Create(context_, "unreached", frame_.function));
}

// ---- branches

void ModuleBuilder::emit_if(const IfThenElse& node) {
  if (auto known = as_int(node.condition)) {
    if (*known != 0) { emit(node.then_case); } else if (node.else_case) { emit(node.else_case); }
    return;
  }
  if (node.condition.dtype().is_vector()) {
    fail_not_flat("an `if` over a vector of conditions", node.origin);
    return;
  }
  llvm::Value* condition = eval(node.condition);
  if (failure_) { return; }
  auto* yes = llvm::BasicBlock::Create(context_, "then", frame_.function);
  auto* no = node.else_case ? llvm::BasicBlock::Create(context_, "else", frame_.function) : nullptr;
  auto* after = llvm::BasicBlock::Create(context_, "endif", frame_.function);
  ir_.CreateCondBr(condition, yes, no != nullptr ? no : after);
  ir_.SetInsertPoint(yes);
  emit(node.then_case);
  ir_.CreateBr(after);
  if (no != nullptr) {
    ir_.SetInsertPoint(no);
    emit(node.else_case);
    ir_.CreateBr(after);
  }
  ir_.SetInsertPoint(after);
}

void ModuleBuilder::emit_assert(const AssertStmt& node) {
  llvm::Value* condition = eval(node.condition);
  if (failure_) { return; }
  auto* failed = llvm::BasicBlock::Create(context_, "assert.failed", frame_.function);
  auto* after = llvm::BasicBlock::Create(context_, "assert.held", frame_.function);
  ir_.CreateCondBr(condition, after, failed);
  ir_.SetInsertPoint(failed);
  if (is_gpu()) {
    ir_.CreateIntrinsic(llvm::Intrinsic::trap, {}, {});
  } else {
    // An empty text: the error was reported before.
    const auto* text = node.message.as<StringImm>();
    if (text == nullptr || !text->value.empty()) { emit_error_text(text != nullptr ? text->value : "an assertion failed"); }
  }
  stop_with(ir_.getInt32(1));
  ir_.SetInsertPoint(after);
  if (node.body) { emit(node.body); }
}

/// Emits a body whose stores of whole vectors bypass the caches if its output begins at a multiple of 64 bytes. If this is only known at run
/// time, the body is emitted twice.
void ModuleBuilder::emit_streaming(const AttrStmt& node) {
  std::unordered_set<const VarNode*> memory, read;
  post_order(
      node.body,
      [&](const Stmt& s) {
        const auto* store = s.as<BufferStore>();
        // The function's own memory is on the stack, in registers, or used again soon.
        if (store != nullptr && frame_.vars.contains(store->buffer->data.get())) { memory.insert(store->buffer->data.get()); }
      },
      [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { read.insert(load->buffer->data.get()); } });
  // Memory that is read again should stay in the caches.
  std::erase_if(memory, [&](const VarNode* v) { return read.contains(v); });
  if (memory.empty()) {
    emit(node.body);
    return;
  }
  llvm::Value* unaligned = ir_.getInt64(0);
  for (const VarNode* v : memory) { unaligned = ir_.CreateOr(unaligned, ir_.CreatePtrToInt(variable(*v), ir_.getInt64Ty())); }
  if (failure_) { return; }
  auto* streaming = llvm::BasicBlock::Create(context_, "streaming", frame_.function);
  auto* usual = llvm::BasicBlock::Create(context_, "usual", frame_.function);
  auto* after = llvm::BasicBlock::Create(context_, "written", frame_.function);
  ir_.CreateCondBr(ir_.CreateIsNull(ir_.CreateAnd(unaligned, ir_.getInt64(63))), streaming, usual);
  ir_.SetInsertPoint(streaming);
  streamed_ = std::move(memory);
  emit(node.body);
  frame_.streams = true;
  streamed_.clear();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(usual);
  emit(node.body);
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

/// Emits a body whose loads of neighbouring elements of parameters prefetch the elements that follow `value` elements later. A prefetch
/// beyond the end of memory has no effect.
void ModuleBuilder::emit_prefetching(const AttrStmt& node) {
  auto distance = as_int(node.value);
  std::unordered_set<const VarNode*> memory, written;
  post_order(
      node.body, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { written.insert(store->buffer->data.get()); } },
      [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>()) { memory.insert(load->buffer->data.get()); } });
  std::erase_if(memory, [&](const VarNode* v) { return written.contains(v) || !frame_.vars.contains(v) || frame_.own.contains(v); });
  fetched_ = std::move(memory);
  fetched_ahead_ = distance.value_or(0);
  emit(node.body);
  fetched_.clear();
}

/// On x86, other threads may see such stores later than the stores that follow them. Fences order them wherever others could observe this: before
/// returns, calls and atomic instructions. There is no fence after each loop, so that the next row can begin while the stores are in progress.
void ModuleBuilder::fence_streams(llvm::Function& function) {
  if (!machine_.getTargetTriple().isX86()) { return; }
  auto tells_others = [](const llvm::Instruction& i) {
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&i)) { return !llvm::isa<llvm::IntrinsicInst>(i) && !call->doesNotAccessMemory(); }
    return llvm::isa<llvm::ReturnInst>(i) || i.isAtomic();
  };
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& i : block) {
      if (!tells_others(i)) { continue; }
      ir_.SetInsertPoint(&i);
      ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
    }
  }
}

/// Sets the error text of the function before it stops. In programs without the support code the weak symbol is null, and the text is dropped.
void ModuleBuilder::emit_error_text(const std::string& text) {
  llvm::FunctionCallee set_error = declare("loopsmith_set_error", ir_.getVoidTy(), {llvm::PointerType::getUnqual(context_)});
  llvm::Value* message = constant_string(text);
  if (options_.hosted) {
    ir_.CreateCall(set_error, {message});
    return;
  }
  auto* callee = llvm::cast<llvm::Function>(set_error.getCallee());
  callee->setLinkage(llvm::Function::ExternalWeakLinkage);
  auto* has_support = llvm::BasicBlock::Create(context_, "set.error", frame_.function);
  auto* after = llvm::BasicBlock::Create(context_, "error.set", frame_.function);
  ir_.CreateCondBr(ir_.CreateIsNotNull(callee), has_support, after);
  ir_.SetInsertPoint(has_support);
  ir_.CreateCall(set_error, {message});
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

/// Releases all workspaces and returns; the builder then has no insertion point.
void ModuleBuilder::stop_with(llvm::Value* code) {
  release_workspaces(0);
  ir_.CreateRet(code);
}

// ---- lets, allocations, attributes

void ModuleBuilder::emit_let(const Var& var, const Expr& value, const std::function<void()>& body) {
  Binding binding;
  DataType t = var->dtype;
  if (t.is_integral() && t.is_scalar() && !t.is_bool() && t.bits <= 64 && is_index_like(value)) {
    binding.wide = eval_index(value);
    if (is_nonnegative(value)) { frame_.nonnegative.insert(var.get()); }
  } else {
    binding.value = eval(value);
  }
  if (failure_) { return; }
  frame_.vars[var.get()] = binding;
  body();
}

void ModuleBuilder::release_workspaces(size_t keep) {
  llvm::Type* pointer = llvm::PointerType::getUnqual(context_);
  for (size_t i = frame_.workspaces.size(); i > keep; --i) {
    ir_.CreateCall(declare(options_.hosted ? "loopsmith_workspace_release" : "free", ir_.getVoidTy(), {pointer}), {frame_.workspaces[i - 1].memory});
  }
}

void ModuleBuilder::emit_allocate(const Allocate& node) {
  uint64_t element = static_cast<uint64_t>(node.dtype.element_bytes()) * node.dtype.lanes;
  sizes_[node.data.get()] = {{node.extents.begin(), node.extents.end()}, element};
  bool constant = true;
  uint64_t count = 1;
  for (const Expr& extent : node.extents) {
    auto value = as_int(extent);
    if (!value) { constant = false; break; }
    if (*value < 0 || (*value > 0 && count > (uint64_t(1) << 40U) / static_cast<uint64_t>(*value))) {
      fail(fmt::format("the buffer `{}`", node.data->name.str()), because(Why::SizeBeyondMemory), node.origin);
      return;
    }
    count *= static_cast<uint64_t>(*value);
  }
  if (is_gpu()) {
    if (!constant) {
      fail(fmt::format("the buffer `{}`", node.data->name.str()), because(Why::KernelMemoryNotConstant), node.origin);
      return;
    }
    llvm::Value* memory = allocate_on_gpu(node, count);
    if (failure_) { return; }
    frame_.vars[node.data.get()] = Binding{memory, nullptr};
    frame_.disjoint.insert(node.data.get());
    emit(node.body);
    return;
  }
  const uint64_t bytes = count * element;
  if (node.data->pointer && memory_family(node.data->pointer->scope.view()) == MemoryFamily::AmxTile) {
    allocate_tiles(node, constant ? bytes : 0);
    return;
  }
  llvm::Value* memory = nullptr;
  llvm::Value* size = ir_.getInt64(bytes);
  size_t held = frame_.workspaces.size();
  bool on_stack = bytes <= max_stack_buffer;
  if (const Attr* storage = find_attr(node.annotations, "storage"); storage != nullptr && storage->string() != nullptr) {
    on_stack = *storage->string() == "stack" && bytes <= 2 * max_stack_buffer;
  }
  if (constant && on_stack && frame_.stack_bytes + bytes <= max_stack_total) {
    frame_.stack_bytes += bytes;
    memory = alloca_in_entry(memory_type_of(node.dtype), std::max<uint64_t>(count, 1), 64, node.data->name.str());
  } else {
    if (!constant) {
      size = ir_.getInt64(element);
      for (const Expr& extent : node.extents) { size = ir_.CreateNSWMul(size, eval_index(extent)); }
    }
    if (failure_) { return; }
    // aligned_alloc needs a multiple of the alignment.
    size = ir_.CreateAnd(ir_.CreateAdd(size, ir_.getInt64(63)), ir_.getInt64(~uint64_t(63)));
    llvm::Type* pointer = llvm::PointerType::getUnqual(context_);
    llvm::Type* i64 = ir_.getInt64Ty();
    llvm::CallInst* got = nullptr;
    if (options_.hosted) {
      got = ir_.CreateCall(declare("loopsmith_workspace", pointer, {i64}), {size});
    } else {
      got = ir_.CreateCall(declare("aligned_alloc", pointer, {i64, i64}), {ir_.getInt64(64), size});
    }
    got->addRetAttr(llvm::Attribute::NoAlias);
    got->setName(node.data->name.str());
    auto* none = llvm::BasicBlock::Create(context_, "no.memory", frame_.function);
    auto* fine = llvm::BasicBlock::Create(context_, "memory", frame_.function);
    ir_.CreateCondBr(ir_.CreateIsNull(got), none, fine);
    ir_.SetInsertPoint(none);
    emit_error_text(fmt::format("no memory for the buffer `{}`", node.data->name.str()));
    stop_with(ir_.getInt32(2));
    ir_.SetInsertPoint(fine);
    memory = got;
    frame_.workspaces.push_back({got});
  }
  if (failure_) { return; }
  frame_.vars[node.data.get()] = Binding{memory, nullptr};
  frame_.disjoint.insert(node.data.get());
  frame_.own.insert(node.data.get());
  if (options_.fills_allocations) { ir_.CreateMemSet(memory, ir_.getInt8(0xFF), size, llvm::MaybeAlign()); }
  emit(node.body);
  release_workspaces(held);
  frame_.workspaces.resize(held);
}

void ModuleBuilder::emit_allocate_const(const AllocateConst& node) {
  auto* data = llvm::ConstantDataArray::getString(context_, node.bytes, false);
  auto* global = new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, node.data->name.str());
  global->setAlignment(llvm::Align(64));
  sizes_[node.data.get()] = {{}, node.bytes.size()};
  frame_.vars[node.data.get()] = Binding{global, nullptr};
  frame_.disjoint.insert(node.data.get());
  emit(node.body);
}

void ModuleBuilder::emit_attribute(const AttrStmt& node) {
  if (const auto* index = std::get_if<IterVar>(&node.node); index != nullptr && node.key == "thread_extent" && is_gpu()) {
    if (bind_thread(index->var, index->thread_tag.view(), node.value, node.origin)) {
      emit(node.body);
      return;
    }
    if (failure_) { return; }
  }
  if (node.key == "thread_extent" || node.key == "virtual_thread") {
    fail_not_flat(fmt::format("`{}`", node.key.str()), node.origin);
    return;
  }
  if (node.key == "pragma_nontemporal_store" && !is_zero(node.value) && streamed_.empty()) {
    emit_streaming(node);
    return;
  }
  if (node.key == "pragma_prefetch" && fetched_.empty()) {
    emit_prefetching(node);
    return;
  }
  emit(node.body);
}

}  // namespace loopsmith::codegen
