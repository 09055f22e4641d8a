// The walk from flat TIR to LLVM IR, and its state while a function is built. Private to codegen/llvm.
//
// A ModuleBuilder fills one llvm::Module. A Frame describes the function under construction: its variables, the
// block that declares its stack memory, the workspaces to release at its end. The body of a `parallel` loop
// becomes a separate function with its own Frame, which the thread pool calls.
//
// Indices of memory are computed in 64 bits from the leaves on (in TIR index arithmetic does not wrap), so that
// LLVM sees plain induction variables and no sign extensions.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/llvm/codegen.h"
#include "ir/ir.h"
#include "support/reason.h"

namespace loopsmith::codegen {

// The deepest nesting of statements and expressions that is compiled. The frontend limits the programs of users; this
// limits the results of passes. With AddressSanitizer stack frames are larger, so the limit is lower.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr int max_depth = 400;
#define LOOPSMITH_MAX_DEPTH_SET 1
#endif
#endif
#ifndef LOOPSMITH_MAX_DEPTH_SET
inline constexpr int max_depth = 4000;
#endif

class ModuleBuilder {
 public:
  ModuleBuilder(llvm::LLVMContext& context, llvm::Module& module, const llvm::TargetMachine& machine, const target::Target& target,
                const CodegenOptions& options);

  /// Adds the entry `symbol` and all functions that it needs. `failure()` has the first problem.
  void add_function(const PrimFunc& func, const std::string& symbol);
  [[nodiscard]] auto failure() -> std::optional<Diagnostic>& { return failure_; }
  /// To be called after the last function.
  void end_debug_info();

 private:
  friend class CallBuilder;   // calls.cpp: one call of an intrinsic

  struct Binding {
    llvm::Value* value = nullptr;    // in the variable's own type; null: computed from `wide` on demand
    llvm::Value* wide = nullptr;     // integers: in 64 bits; may be null
  };
  struct Workspace { llvm::Value* memory; };
  struct Loop { llvm::BasicBlock* next; llvm::BasicBlock* after; size_t workspaces; };
  struct Frame {
    llvm::Function* function = nullptr;
    llvm::BasicBlock* entry = nullptr;       // contains only allocas, until it is closed
    std::unordered_map<const VarNode*, Binding> vars;
    std::unordered_set<const VarNode*> disjoint;   // pointers to memory that no other pointer here can reach
    std::unordered_set<const VarNode*> nonnegative;
    std::unordered_set<const VarNode*> own;        // memory that this function allocated
    std::vector<Workspace> workspaces;
    std::vector<Loop> loops;
    uint64_t stack_bytes = 0;
    bool uses_tiles = false;
    std::unordered_map<const VarNode*, int> tile_buffers;   // buffers in tile registers (AMX): the number of their first tile
    int tiles_held = 0;                            // the number of tiles that these buffers use, from tile 0 on
    bool streams = false;                          // some stores bypass the caches
  };

  /// The variables that the body of a parallel loop uses from outside.
  struct Captured {
    std::vector<const VarNode*> vars;
    std::vector<llvm::Value*> values;
    std::vector<llvm::Type*> types;
  };

  /// While it lives, code is emitted into another function, with a new Frame and no mask. At its end it restores the frame, the mask, the insertion
  /// point and the source place.
  class OtherFunction {
   public:
    explicit OtherFunction(ModuleBuilder& builder)
        : builder_(builder), frame_(std::exchange(builder.frame_, {})), mask_(std::exchange(builder.mask_, nullptr)), scope_(builder.scope_),
          at_(builder.ir_.saveIP()), place_(builder.ir_.getCurrentDebugLocation()) {}
    OtherFunction(const OtherFunction&) = delete;
    auto operator=(const OtherFunction&) -> OtherFunction& = delete;
    ~OtherFunction() {
      builder_.frame_ = std::move(frame_);
      builder_.mask_ = mask_;
      builder_.scope_ = scope_;
      builder_.ir_.restoreIP(at_);
      builder_.ir_.SetCurrentDebugLocation(place_);
    }
    /// The frame of the function around.
    [[nodiscard]] auto outer() const -> const Frame& { return frame_; }

   private:
    ModuleBuilder& builder_;
    Frame frame_;
    llvm::Value* mask_;
    llvm::DISubprogram* scope_;
    llvm::IRBuilderBase::InsertPoint at_;
    llvm::DebugLoc place_;
  };

  // -- failing (builder.cpp)
  auto fail(std::string_view what, const Reason& why, Origin where) -> llvm::Value*;
  auto fail_not_flat(std::string what, Origin where) -> llvm::Value*;

  // -- lines of the text (debug_info.cpp)
  void begin_debug_info();
  void enter_function(llvm::Function& function, Origin origin);
  void mark(Origin origin);

  // -- types and constants (builder.cpp)
  auto type_of(DataType dtype) -> llvm::Type*;
  auto memory_type_of(DataType dtype) -> llvm::Type*;    // bools take a byte
  auto poison(DataType dtype) -> llvm::Value*;
  auto splat(llvm::Value* scalar, int lanes) -> llvm::Value*;
  auto constant_string(const std::string& text) -> llvm::Value*;
  auto declare(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> params) -> llvm::FunctionCallee;
  void set_attributes(llvm::Function& function);
  /// Branches from the block of allocas to the first block of the body; no alloca can be added afterwards.
  void close_entry(llvm::BasicBlock* first);
  /// A parameter of a function's body: a pointer to a buffer's elements, a number, or a size that a shape uses.
  struct Slot { const VarNode* var; llvm::Type* type; bool is_buffer; unsigned alignment; };
  auto slots_of(const PrimFunc& func) -> std::vector<Slot>;
  /// Adds the exported function, which unpacks an array of arguments and calls the body.
  void add_entry(const PrimFunc& func, llvm::Function& body, const std::vector<Slot>& slots, const std::string& symbol);

  // -- statements (statements.cpp)
  void emit(const Stmt& stmt);
  void emit_for(const For& loop);
  void emit_counted(const Var& var, llvm::Value* begin, llvm::Value* end, bool runs_once_at_least, const Stmt& body);
  void emit_unrolled(const For& loop, int64_t min, int64_t extent);
  void emit_parallel(const For& loop);
  auto emit_parallel_body(const For& loop, const Captured& captured, int number) -> llvm::Function*;
  auto emit_share(const For& loop, const Captured& captured, llvm::Function* body, int number) -> llvm::Function*;
  auto emit_launch(llvm::Function* share, llvm::Value* environment, llvm::Value* begin, llvm::Value* end) -> llvm::Value*;
  void emit_if(const IfThenElse& node);
  void emit_while(const While& node);
  void emit_assert(const AssertStmt& node);
  void emit_let(const Var& var, const Expr& value, const std::function<void()>& body);
  void emit_allocate(const Allocate& node);
  void emit_allocate_const(const AllocateConst& node);
  void emit_attribute(const AttrStmt& node);
  void emit_streaming(const AttrStmt& node);
  void emit_prefetching(const AttrStmt& node);
  void fence_streams(llvm::Function& function);
  void emit_leave(size_t loop_index, bool again);
  void emit_error_text(const std::string& text);
  void stop_with(llvm::Value* code);
  void release_workspaces(size_t keep);
  void bind_loop_var(const Var& var, llvm::Value* wide, const Expr& min);

  // -- kernels (gpu.cpp), of AMD's GPUs (amdgcn.cpp) and NVIDIA's (nvptx.cpp)
  [[nodiscard]] auto is_gpu() const -> bool { return machine_.getTargetTriple().isAMDGCN() || is_nvidia(); }
  [[nodiscard]] auto is_nvidia() const -> bool { return machine_.getTargetTriple().isNVPTX(); }
  void add_kernel(const PrimFunc& func, llvm::Function& body, const std::string& symbol);
  auto bind_thread(const Var& var, std::string_view tag, const Expr& extent, Origin origin) -> bool;
  auto allocate_on_gpu(const Allocate& node, uint64_t count) -> llvm::Value*;
  /// Waits for the threads of the block, or of the warp.
  void emit_barrier(bool of_warp);
  void make_amd_kernel(llvm::Function& kernel, int64_t threads);
  void make_nvidia_kernel(llvm::Function& kernel);
  void emit_amd_barrier();
  /// An operation of NVIDIA's GPUs by the name of its intrinsic: exchanges within a warp, asynchronous copies, dot products of bytes. Null: it is none of
  /// them.
  auto nvidia_call(const Call& node, std::string_view op) -> llvm::Value*;
  auto warp_exchange(const Call& node, std::string_view op) -> llvm::Value*;
  auto asynchronous_copy(const Call& node) -> llvm::Value*;

  // -- memory (memory.cpp)
  auto pointer_to(const Buffer& buffer, llvm::Value* element_index) -> llvm::Value*;
  auto flat_index(const Buffer& buffer, const Array<Expr>& indices) -> Expr;
  auto load(const BufferLoad& node) -> llvm::Value*;
  void store(const BufferStore& node);
  auto store_interleaved(const Sequence<Stmt>& statements, size_t at) -> size_t;
  void store_vector(llvm::Value* value, llvm::Value* pointer, llvm::Align align, const BufferStore& node);
  void fetch_ahead(const Buffer& buffer, llvm::Value* index, uint64_t bytes);
  auto from_memory(llvm::Value* value, DataType dtype) -> llvm::Value*;
  auto to_memory(llvm::Value* value, DataType dtype) -> llvm::Value*;
  auto address_of(const BufferLoad& node) -> llvm::Value*;
  auto alloca_in_entry(llvm::Type* type, uint64_t count, unsigned alignment, const std::string& name) -> llvm::AllocaInst*;

  // -- expressions (expressions.cpp)
  auto eval(const Expr& expr) -> llvm::Value*;
  auto eval_node(const Expr& expr) -> llvm::Value*;
  /// A scalar integer, computed in 64 bits from its leaves on.
  auto eval_index(const Expr& expr) -> llvm::Value*;
  auto is_index_like(const Expr& expr) -> bool;
  auto is_nonnegative(const Expr& expr) -> bool;
  auto variable(const VarNode& var) -> llvm::Value*;
  auto cast(llvm::Value* value, DataType from, DataType to, Origin where) -> llvm::Value*;
  auto arithmetic(NodeKind kind, llvm::Value* a, llvm::Value* b, DataType dtype, bool no_wrap, bool nonnegative) -> llvm::Value*;
  auto compare(NodeKind kind, llvm::Value* a, llvm::Value* b, DataType operands) -> llvm::Value*;
  auto floor_divide(llvm::Value* a, llvm::Value* b, DataType dtype, bool want_mod, bool nonnegative) -> llvm::Value*;
  auto as_ramp(const Expr& expr) -> std::optional<std::pair<Expr, Expr>>;
  /// The value that a condition selects; only the selected one is computed.
  auto choose(const Expr& condition, const Expr& yes, const Expr& no, DataType dtype) -> llvm::Value*;
  auto only_if(llvm::Value* condition, DataType dtype, const std::function<llvm::Value*()>& value) -> llvm::Value*;

  // -- short reals (short_reals.cpp): bits in registers, values in float32
  auto short_constant(DataType dtype, double value) -> llvm::Value*;
  auto short_to_float(llvm::Value* value, DataType dtype) -> llvm::Value*;
  auto float_to_short(llvm::Value* value, DataType dtype) -> llvm::Value*;
  auto double_to_short(llvm::Value* value, DataType dtype) -> llvm::Value*;
  /// float64 to float32, rounded to odd: a second rounding, to fewer bits, then gives the same result as a single one.
  auto double_to_odd_float(llvm::Value* value) -> llvm::Value*;
  auto double_to_power(llvm::Value* value) -> llvm::Value*;

  // -- calls (calls.cpp)
  auto call(const Call& node) -> llvm::Value*;
  /// A function of libm, lane by lane.
  auto libm(std::string_view name, DataType dtype, const std::vector<llvm::Value*>& args) -> llvm::Value*;
  /// A function of C by its name (externals.cpp).
  auto external(const std::string& name, const Call& node) -> llvm::Value*;
  auto memory_function(const std::string& name, const Call& node) -> llvm::Value*;
  auto memory_behind(const Expr& pointer) -> const VarNode*;
  auto size_of_memory(const VarNode& memory) -> llvm::Value*;
  auto is_inside(const Expr& pointer, llvm::Value* at, llvm::Value* bytes) -> llvm::Value*;
  /// An instruction of the target by its LLVM name (instructions.cpp).
  auto machine_instruction(const Call& node) -> llvm::Value*;
  // -- tile registers (tiles.cpp)
  auto tile_argument(const Expr& argument, const std::string& instruction, Origin where) -> llvm::Value*;
  void allocate_tiles(const Allocate& node, uint64_t bytes);
  auto prepare_tiles(llvm::BasicBlock* first) -> llvm::BasicBlock*;
  auto request_tiles() -> llvm::Value*;

  // -- mathematics of our own (maths.cpp), on float and vectors of float
  auto polynomial(llvm::Value* x, std::initializer_list<double> highest_first) -> llvm::Value*;
  auto real(llvm::Type* type, double value) -> llvm::Value*;
  auto muladd(llvm::Value* a, llvm::Value* b, llvm::Value* c) -> llvm::Value*;
  auto in_pieces(const std::vector<llvm::Value*>& args, unsigned piece, const std::function<llvm::Value*(const std::vector<llvm::Value*>&)>& make) -> llvm::Value*;
  auto avx512_piece(llvm::Type* type) -> unsigned;
  auto exp_by_table(llvm::Value* x) -> llvm::Value*;
  auto exp_f32(llvm::Value* x) -> llvm::Value*;
  auto scale_by_power(llvm::Value* y, llvm::Value* n) -> llvm::Value*;
  auto log_f32(llvm::Value* x) -> llvm::Value*;
  auto tanh_f32(llvm::Value* x) -> llvm::Value*;
  auto sigmoid_f32(llvm::Value* x) -> llvm::Value*;
  auto erf_f32(llvm::Value* x) -> llvm::Value*;

  // -- the same for GPUs, which have no C library (gpu_maths.cpp), on float and vectors of float
  /// A function of libm; null: there is no code for it.
  auto gpu_function(std::string_view name, const std::vector<llvm::Value*>& args) -> llvm::Value*;
  auto to_int(llvm::Value* x) -> llvm::Value*;
  auto nearest(llvm::Value* x) -> llvm::Value*;
  auto bounded(llvm::Value* x, double low, double high) -> llvm::Value*;
  auto is_infinite(llvm::Value* x) -> llvm::Value*;
  auto times_power(llvm::Value* y, llvm::Value* n) -> llvm::Value*;
  auto gpu_exp2(llvm::Value* x) -> llvm::Value*;
  auto gpu_exp10(llvm::Value* x) -> llvm::Value*;
  auto gpu_log1p(llvm::Value* x) -> llvm::Value*;
  auto gpu_expm1(llvm::Value* x) -> llvm::Value*;
  auto gpu_sinh(llvm::Value* x) -> llvm::Value*;
  auto gpu_cosh(llvm::Value* x) -> llvm::Value*;
  auto gpu_sine(llvm::Value* given, int shift) -> llvm::Value*;
  auto gpu_pow(llvm::Value* base, llvm::Value* exponent) -> llvm::Value*;

  llvm::LLVMContext& context_;
  llvm::Module& module_;
  const llvm::TargetMachine& machine_;
  const target::Target& target_;
  const CodegenOptions& options_;
  llvm::IRBuilder<> ir_;
  std::unique_ptr<llvm::DIBuilder> debug_;
  llvm::DISubprogram* scope_ = nullptr;
  bool has_unit_ = false;
  Frame frame_;
  std::string function_name_;
  bool noalias_ = true;
  struct Extents { std::vector<Expr> dims; uint64_t element; };
  std::unordered_map<const VarNode*, Extents> sizes_;   // of the memory that parameters and allocations of this function have
  std::unordered_map<std::string, int64_t> threads_;   // extents by thread tag, of the kernel under construction; 0: known at the launch
  int64_t shared_offset_ = -1;             // of the next array in the shared memory that a launch requests; -1: the kernel declares its arrays
  int depth_ = 0;
  int bodies_ = 0;                         // the number of parallel bodies so far, for their names
  llvm::Value* mask_ = nullptr;            // the active lanes within a vector `if_then_else`; null: all
  std::unordered_set<const VarNode*> streamed_;   // 64-byte aligned memory whose stores bypass the caches
  std::unordered_set<const VarNode*> fetched_;    // memory that is prefetched, `fetched_ahead_` elements before it is read
  int64_t fetched_ahead_ = 0;
  std::unordered_map<std::string, llvm::Value*> strings_;
  std::optional<Diagnostic> failure_;
};

}  // namespace loopsmith::codegen
