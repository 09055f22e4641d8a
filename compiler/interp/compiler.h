// The compiler from TIR to closures: a slot for every variable, a binding for every buffer, a counter for every piece of straight-line code.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interp/statements.h"

namespace loopsmith::interp {

struct CallStatement;
struct KernelStatement;
struct StructField;

/// A piece of straight-line code: the operations of one execution, and the loop around it (-1: none).
struct Piece {
  int64_t flops = 0;
  int64_t int_ops = 0;
  int64_t index_ops = 0;
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  int loop = -1;
};
struct LoopInText {
  NodeId id = 0;                  // 0: a launch
  Origin origin;                  // copied, because the loop may exist only in this compilation
  Name name;
  int parent = -1;
};

/// The deepest nesting of statements and expressions that the interpreter accepts.
inline constexpr int max_depth = 2000;

class Compiler {
 public:
  Compiler(const IRModule& module, const Options& options) : module_(module), options_(options) { pieces.emplace_back(); }

  Diagnostics errors;
  uint32_t slot_count = 0;
  uint32_t binding_count = 0;
  uint32_t storage_count = 0;
  size_t region_count = 0;
  bool has_unordered = false;       // a loop has iterations that may run in any order
  std::vector<Piece> pieces;
  std::vector<LoopInText> loops;
  std::vector<AccessInText> accesses;   // by their number

  auto slot(const VarNode* v) -> uint32_t;
  auto binding(const BufferNode* b) -> uint32_t;
  void define(const VarNode* v) { defined_.insert(v); }
  [[nodiscard]] auto is_defined(const VarNode* v) const -> bool { return defined_.contains(v); }

  void find_implicit(const PrimFuncNode& func);
  auto statement(const Stmt& s) -> const Statement*;
  auto expr(const Expr& e) -> Code;
  /// The same, but refuses pointers: their numeric values depend on the machine.
  auto number(const Expr& e, Origin where) -> Code;
  auto int_expr(const Expr& e) -> const IntExpr*;
  auto bind_buffer(const Buffer& buffer) -> BindBuffer;
  /// The buffers in this memory that have no declaration and whose layout variables all have values.
  auto implicit_of(const VarNode* data) -> std::vector<BindBuffer>;

 private:
  // The buffers without a declaration whose shape, strides or offset use the variable.
  auto views_of(const VarNode* var) -> std::vector<BindBuffer>;
  // Compiles the body of a statement that defines the variable.
  auto scope_of(const VarNode* var, const Stmt& body) -> const Statement*;
  template <class T, class... Args>
  auto make_int(Args&&... args) -> T* {
    auto made = std::make_unique<T>(std::forward<Args>(args)...);
    T* raw = made.get();
    ints_.push_back(std::move(made));
    return raw;
  }
  template <class T, class... Args>
  auto make_real(Args&&... args) -> T* {
    auto made = std::make_unique<T>(std::forward<Args>(args)...);
    T* raw = made.get();
    reals_.push_back(std::move(made));
    return raw;
  }
  template <class T, class... Args>
  auto make_place(Args&&... args) -> T* {
    auto made = std::make_unique<T>(std::forward<Args>(args)...);
    T* raw = made.get();
    pointers_.push_back(std::move(made));
    return raw;
  }
  template <class T, class... Args>
  auto make_pointer(Args&&... args) -> Code { return {nullptr, nullptr, DataType::handle(), make_place<T>(std::forward<Args>(args)...)}; }
  template <class T, class... Args>
  auto make_stmt(Args&&... args) -> T* {
    auto made = std::make_unique<T>(std::forward<Args>(args)...);
    T* raw = made.get();
    statements_.push_back(std::move(made));
    return raw;
  }
  auto unsupported(Origin where, const std::string& what) -> Code;
  template <class F> auto binary(const BinaryNode& n) -> Code;
  template <class F> auto division(const BinaryNode& n) -> Code;
  template <class F, class U> auto comparison(const BinaryNode& n) -> Code;
  auto variable(const VarNode& n) -> Code;
  auto converted(const Cast& n) -> Code;
  auto extreme(const BinaryNode& n, bool max) -> Code;
  auto choice(const Select& n) -> Code;
  auto element(const BufferLoad& n) -> Code;
  auto lanes_of(const Shuffle& n) -> Code;
  auto let(const Let& n) -> Code;
  auto call(const Call& n) -> Code;
  auto special_call(const Call& n) -> std::optional<Code>;
  auto conditional(const Call& n) -> Code;
  auto reinterpretation(const Call& n) -> Code;
  auto function_call(Name name, std::vector<Code> args, DataType t) -> std::optional<Code>;
  auto pointer(const Expr& e) -> const PointerExpr*;
  auto shuffle_between_threads(const Call& n) -> Code;
  /// An operation on tiles of memory, registers of a warp or tile registers (tiles.h); null for other calls.
  auto tile_operation(const Call& n) -> const Statement*;
  class TileForms;
  auto matrix_product_of_wavefront(const Call& n) -> std::optional<Code>;
  // The number of an access to the memory of a pointer.
  auto access_in_text(const Expr& pointer, Origin origin) -> uint32_t;
  auto add_terms(Index& sum, const Expr& e, int64_t factor) -> bool;
  auto index(const Expr& e) -> Index;
  auto site(const Buffer& buffer, const Array<Expr>& indices, const Expr& predicate, Origin origin, bool writes) -> AccessSite;
  auto make_allocation(const Var& data, const Array<Expr>& extents, DataType dtype, Origin origin, std::string contents) -> std::unique_ptr<AllocateMemory>;
  auto let_statement(const LetStmt& n) -> const Statement*;
  auto attribute(const AttrStmt& n) -> const Statement*;
  auto store(const BufferStore& n) -> const Statement*;
  auto branch(const IfThenElse& n) -> const Statement*;
  auto block(const BlockRealize& realize) -> const Statement*;
  void add_iters(const BlockRealize& realize, BlockInstance& out);
  auto block_allocation(const Buffer& buffer) -> std::unique_ptr<AllocateMemory>;
  auto match_region(const MatchBufferRegion& m) -> MatchRegion;
  struct BlockAround;
  auto declared_regions(const Block& b, BlockInstance& out) -> BlockAround;
  auto loop(const For& n) -> const Statement*;
  /// `is_launch`: the loop comes from `T.launch_thread`, in a program of threads with explicit barriers.
  auto launch(Var var, Name tag, const Expr& extent, const Stmt& body, Origin origin, bool is_launch) -> const Statement*;
  auto evaluate(const Evaluate& n) -> const Statement*;
  auto reduce_across_threads(const Call& n) -> const Statement*;
  auto reduction(const Reduce& n) -> Code;
  /// `sizes`: values for the function's shape variables, if the call determines them.
  auto call_function(const Call& n, const std::vector<std::pair<Var, Expr>>& sizes = {}) -> const CallStatement*;
  /// Sets the body for recursive calls of a function.
  void enclose(Name function, const Statement* body);
  auto atomic_add(const Call& n) -> Code;
  // A host's code around calls (host.h).
  auto stack_memory(int64_t bytes, const IntExpr* count, Origin origin) -> const PointerExpr*;
  auto struct_field(const Call& n) -> std::optional<StructField>;
  /// Null for calls that return no host pointer.
  auto host_pointer(const Call& n) -> const PointerExpr*;
  auto host_value(const Call& n) -> std::optional<Code>;
  auto host_statement(const Call& n) -> const Statement*;
  auto lowered_packed(const Call& n) -> const CallStatement*;
  /// The call of a packed function of the module, by name or from the stack; null for unknown functions.
  auto packed_call(const Call& n) -> const CallStatement*;
  /// Asynchronous copies and barriers in memory (copies.h); null for other calls.
  auto copy_statement(const Call& n) -> const Statement*;
  /// The same for a function that returns a value.
  auto value_of_function(const Call& n) -> Code;
  void count(const Expr& e);

  // While it lives, newly compiled code belongs to a new piece.
  struct NewPiece {
    Compiler& compiler;
    uint32_t outer;
    explicit NewPiece(Compiler& c) : compiler(c), outer(c.piece_) {
      c.piece_ = static_cast<uint32_t>(c.pieces.size());
      c.pieces.push_back({.loop = c.loop_});
    }
    ~NewPiece() { compiler.piece_ = outer; }
    [[nodiscard]] auto number() const -> uint32_t { return compiler.piece_; }
  };

  // A block around the code being compiled, for checks of accesses against its declared regions.
  struct BlockAround {
    const Block* block = nullptr;
    struct Declared { const BufferRegion* region; size_t first; };       // place in Frame::regions
    std::vector<Declared> reads, writes;
    std::unordered_set<size_t> used;                                     // places that have at least one access to check
    std::unordered_set<const BufferNode*> own;                          // buffers that it allocates or matches
  };

  const IRModule& module_;
  const Options& options_;
  int depth_ = 0;
  uint32_t piece_ = 0;
  int loop_ = -1;
  bool is_index_ = false;
  std::vector<BlockAround> blocks_;
  std::unordered_map<const VarNode*, const void*> thread_loops_;       // variables of loops over threads, by their closure
  bool in_kernel_ = false;
  KernelStatement* kernel_ = nullptr;                                  // the kernel around
  std::vector<Name> dimensions_;                                       // of the kernel: tags
  std::unordered_map<const VarNode*, size_t> thread_dimensions_;       // the dimension of each thread index
  const Reduce* reducer_ = nullptr;                                    // of the cross-thread reduction around
  std::vector<Name> calling_;
  std::vector<std::pair<CallStatement*, Name>> recursive_;
  struct Returns { bool ints = false, reals = false; } returns_;   // the return types of the function being compiled
  std::unordered_map<const VarNode*, uint32_t> slots_;
  std::unordered_map<const BufferNode*, uint32_t> bindings_;
  std::unordered_map<const VarNode*, std::vector<Buffer>> implicit_;             // by memory
  std::unordered_map<const VarNode*, std::vector<Buffer>> views_by_variable_;    // the same buffers by the variables of their layouts
  std::unordered_map<const VarNode*, Expr> row_of_;   // the row stride, in elements, of the buffer in this memory
  std::unordered_set<const VarNode*> defined_;
  std::deque<std::unique_ptr<IntExpr>> ints_;
  std::deque<std::unique_ptr<RealExpr>> reals_;
  std::deque<std::unique_ptr<PointerExpr>> pointers_;
  std::deque<std::unique_ptr<Statement>> statements_;
};

}  // namespace loopsmith::interp
