// VerifyGPUCode: rejects schedules whose kernels exceed the target: threads of a block, shared memory, bytes of a vector, loops of one kernel that are bound
// to the same axis with different extents, numbers of threads outside of the range that a block is annotated with, pipelines that do not fit their loop.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/saturate.h"
#include "tune/metaschedule/calls.h"
#include "tune/metaschedule/loop_roles.h"
#include "tune/metaschedule/postprocs/lowered.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::tune::metaschedule {
namespace {

// The limits that TVM sets whatever the target is.
constexpr int64_t most_vector_bytes = 16;
constexpr int64_t most_virtual_threads = 8;
constexpr int64_t virtual_threads_written_out = 16;

// The threads around each block, against the annotations of the block.
class CheckThreadRanges : public Visitor {
 public:
  using Visitor::on;
  explicit CheckThreadRanges(int64_t warp_size) : warp_size_(warp_size) {}
  bool fits = true;

  void on(const For& n) override {
    if (!is_bound_to_threads(n)) { return Visitor::on(n); }
    std::optional<int64_t> extent = as_int(n.extent);
    auto axis = thread_axis(n.thread->thread_tag.view());
    fits = fits && extent;
    if (!extent || !axis || axis->dimension < 0) { return Visitor::on(n); }
    int64_t& threads = threads_[static_cast<size_t>(axis->dimension)];
    int64_t outside = std::exchange(threads, *extent);
    Visitor::on(n);
    threads = outside;
  }
  void on(const Block& n) override {
    int64_t outside = threads_[0];
    if (find_attr(n.annotations, "warp_execution")) { threads_[0] = warp_size_; }
    auto low = int_attr(n.annotations, "meta_schedule.thread_extent_low_inclusive"), high = int_attr(n.annotations, "meta_schedule.thread_extent_high_inclusive");
    int64_t threads = saturating_mul(saturating_mul(threads_[0], threads_[1]), threads_[2]);
    if (low && high && (threads < *low || threads > *high)) { fits = false; }
    Visitor::on(n);
    threads_[0] = outside;
  }

 private:
  int64_t warp_size_;
  std::array<int64_t, 3> threads_{1, 1, 1};
};

// Loops bound to the same axis have one extent within a kernel. A kernel begins at the outermost loop over blocks.
class CheckExtents : public Visitor {
 public:
  using Visitor::on;
  explicit CheckExtents(int64_t most_threads) : most_threads_(most_threads) {}
  bool fits = true;

  void on(const For& n) override {
    if (n.for_kind != ForKind::ThreadBinding || !n.thread) { return Visitor::on(n); }
    bool is_block = is_bound_to_blocks(n);
    if (is_block && depth_++ == 0) { extents_.clear(); }
    std::optional<int64_t> extent = as_int(n.extent);
    auto [known, is_new] = extents_.emplace(n.thread->thread_tag, extent.value_or(-1));
    fits = fits && extent && (is_new || known->second == *extent);
    if (n.thread->thread_tag == "vthread" && extent && *extent >= virtual_threads_written_out && *extent > most_virtual_threads) { fits = false; }
    int64_t threads = 1;
    for (const auto& [tag, count] : extents_) {
      if (is_thread_axis(tag.view())) { threads = saturating_mul(threads, count); }
    }
    fits = fits && threads <= most_threads_;
    Visitor::on(n);
    if (is_block) { --depth_; }
  }

 private:
  int64_t most_threads_;
  int depth_ = 0;
  std::map<Name, int64_t> extents_;
};

// Memory and vectors of lowered programs.
class CheckMemory : public Visitor {
 public:
  using Visitor::on;
  explicit CheckMemory(int64_t most_shared) : most_shared_(most_shared) {}
  bool fits = true;

  void on(const For& n) override {
    bool enters = n.for_kind == ForKind::ThreadBinding && depth_++ == 0;
    if (enters) { shared_ = 0; }
    Visitor::on(n);
    if (n.for_kind == ForKind::ThreadBinding) { --depth_; }
    if (enters) { fits = fits && shared_ <= most_shared_; }
  }
  void on(const Allocate& n) override {
    own_.insert(n.data.get());
    if (n.data->pointer && is_shared_memory(n.data->pointer->scope.view())) {
      std::optional<int64_t> bytes = bytes_of(n);
      fits = fits && bytes;
      if (bytes) { shared_ = saturating_add(shared_, saturating_mul(*bytes, widening(n.dtype))); }
    }
    check(n.dtype);
    Visitor::on(n);
  }
  void on(const Cast& n) override {
    check(n.dtype);
    Visitor::on(n);
  }
  void on(const BufferLoad& n) override {
    if (n.dtype.lanes > 1) {
      check(n.dtype, is_own(n.buffer) ? widening(n.dtype) : 1);
      check_indices(n.indices);
    }
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    DataType type = n.value.dtype();
    if (type.lanes > 1) {
      bool is_copy = n.value.as<BufferLoad>() != nullptr && !is_own(n.buffer);
      check(type, is_copy ? 1 : widening(type));
      check_indices(n.indices);
    }
    Visitor::on(n);
  }

 private:
  // TVM computes bfloat16 values in float32, and stores them as float32 in memory that the function allocates.
  static auto widening(DataType type) -> int64_t { return type.is_bfloat16() ? 2 : 1; }
  [[nodiscard]] auto is_own(const Buffer& buffer) const -> bool { return own_.count(buffer->data.get()) > 0; }
  void check(DataType type, int64_t factor = 1) { fits = fits && (type.lanes <= 1 || int64_t{type.lanes} * type.element_bytes() * factor <= most_vector_bytes); }
  // The addresses of elements with gaps between them form a vector, which is checked as well.
  void check_indices(const Array<Expr>& indices) {
    for (const Expr& index : indices) {
      const auto* ramp = index.as<Ramp>();
      if (ramp && !is_one(ramp->stride)) { check(ramp->dtype); }
    }
  }
  int64_t most_shared_;
  int64_t shared_ = 0;
  int depth_ = 0;
  std::unordered_set<const VarNode*> own_;
};

// A pipelined loop annotates as many stages as its body has statements.
class CheckPipelines : public Visitor {
 public:
  using Visitor::on;
  bool fits = true;
  void on(const For& n) override {
    for (const char* key : {"software_pipeline_stage", "software_pipeline_order"}) {
      const Attr* attr = find_attr(n.annotations, key);
      const Array<Attr>* list = attr ? attr->list() : nullptr;
      if (list) { fits = fits && list->size() == statements_of(n.body); }
    }
    Visitor::on(n);
  }

 private:
  static auto statements_of(const Stmt& body) -> size_t {
    const auto* realize = body.as<BlockRealize>();
    const Stmt& inner = realize ? realize->block->body : body;
    const auto* sequence = inner.as<SeqStmt>();
    return sequence ? sequence->seq.size() : 1;
  }
};

auto apply(Schedule& sch, const TargetNumbers& numbers) -> Verdict {
  for (auto [name, number] : {std::pair{"thread_warp_size", numbers.warp_size}, {"max_threads_per_block", numbers.threads_per_block}, {"max_shared_memory_per_block", numbers.shared_memory}}) {
    if (number <= 0) { return missing_number(sch, "VerifyGPUCode", name); }
  }
  CheckThreadRanges ranges(numbers.warp_size);
  CheckExtents extents(numbers.threads_per_block);
  CheckPipelines pipelines;
  for (const auto& [name, func] : sch.module()->functions) {
    ranges.visit(func->body);
    extents.visit(func->body);
    pipelines.visit(func->body);
  }
  if (!ranges.fits || !extents.fits || !pipelines.fits) { return false; }
  auto lowered = lowered_for_checks(sch.module());
  if (!lowered.ok()) { return false; }
  for (const auto& [name, func] : (*lowered)->functions) {
    CheckMemory memory(numbers.shared_memory);
    memory.visit(func->body);
    if (!memory.fits) { return false; }
  }
  return true;
}

}  // namespace

auto verify_gpu_code() -> Postproc { return {"VerifyGPUCode", apply}; }

}  // namespace loopsmith::tune::metaschedule
