// TIR: immutable, shared nodes for tensor programs at every stage, from blocks to flat loops.
//
// The semantics of programs (the interpreter, interp/, is the reference):
//  - Integers wrap around in two's complement. Arithmetic of int32 and int64, the types of indices, does not wrap in a right
//    program (as in TVM and C): a pass may regroup it as arithmetic of the integers, and must not compute constants that do
//    not fit. All other types wrap, and a pass keeps wrapped results. `Div`, `Mod` round to zero, `FloorDiv`, `FloorMod`
//    down; dividing by 0, dividing the least int32 or int64 by -1, and a shift beyond the width are errors of the program.
//  - Expressions have no side effects, except some calls; operands may be evaluated in any order, and an operand without effect may
//    be dropped or repeated. `And`, `Or`, `Select` evaluate all operands; `if_then_else` only the chosen one. Reading outside a
//    buffer is an error of the program.
//  - Statements run in order. Iterations of `Parallel`, `Vectorized` and `ThreadBinding` loops run in any order.
//  - A block is a unit of computation: its body uses the outside only through iter vars, the buffers it declares to read and
//    write, and constants. `init` runs in the instances where all reduction iter vars are at the start of their domain. A
//    false predicate skips the instance. Floating point is not associative; schedules may reassociate reductions only.
//
// Identity: variables and buffers are equal only if they are the same node. Loops and blocks carry an id,
// unique in the process; schedule variables bind to ids, and rewrites report them. Neither ids nor origins
// take part in structural equality or hashing (ir/equal.h).
//
// This file depends on no text, no files, no schedules.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "ir/ref.h"
#include "ir/sequence.h"
#include "support/name.h"
#include "support/origin.h"

namespace loopsmith {

enum class NodeKind : uint8_t {
#define EXPR(Kind) Kind,
#define STMT(Kind) Kind,
#include "ir/nodes.def"
};

#define EXPR(Kind) struct Kind;
#define STMT(Kind) struct Kind;
#include "ir/nodes.def"

// ---- handles -------------------------------------------------------------------------------------------

struct ExprNode {
  mutable uint32_t refs = 0;
  const NodeKind kind;
  DataType dtype;
  Origin origin;

 protected:
  ExprNode(NodeKind k, DataType t, Origin o) : kind(k), dtype(t), origin(o) {}
};

struct StmtNode {
  mutable uint32_t refs = 0;
  const NodeKind kind;
  Origin origin;

 protected:
  StmtNode(NodeKind k, Origin o) : kind(k), origin(o) {}
};

void destroy(const ExprNode* node);
void destroy(const StmtNode* node);

/// An expression, or null.
class Expr : public Ref<ExprNode> {
 public:
  using Ref<ExprNode>::Ref;
  Expr(Ref<ExprNode> ref) : Ref<ExprNode>(std::move(ref)) {}          // NOLINT
  template <class T> requires std::is_base_of_v<ExprNode, T>
  Expr(const Ref<T>& ref) : Ref<ExprNode>(ref) {}                     // NOLINT

  [[nodiscard]] auto kind() const -> NodeKind { return get()->kind; }
  [[nodiscard]] auto dtype() const -> DataType { return get()->dtype; }
  [[nodiscard]] auto origin() const -> Origin { return get()->origin; }
  /// The node as a T; null if it is of another kind (or if there is no node).
  template <class T> [[nodiscard]] auto as() const -> const T* {
    return get() && get()->kind == T::node_kind ? static_cast<const T*>(get()) : nullptr;
  }
  template <class T> [[nodiscard]] auto ref() const -> Ref<T> { return Ref<T>(as<T>()); }
};

/// A statement, or null.
class Stmt : public Ref<StmtNode> {
 public:
  using Ref<StmtNode>::Ref;
  Stmt(Ref<StmtNode> ref) : Ref<StmtNode>(std::move(ref)) {}          // NOLINT
  template <class T> requires std::is_base_of_v<StmtNode, T>
  Stmt(const Ref<T>& ref) : Ref<StmtNode>(ref) {}                     // NOLINT

  [[nodiscard]] auto kind() const -> NodeKind { return get()->kind; }
  [[nodiscard]] auto origin() const -> Origin { return get()->origin; }
  template <class T> [[nodiscard]] auto as() const -> const T* {
    return get() && get()->kind == T::node_kind ? static_cast<const T*>(get()) : nullptr;
  }
  template <class T> [[nodiscard]] auto ref() const -> Ref<T> { return Ref<T>(as<T>()); }
};

/// Makes a node: `make<Add>(a, b, origin)`, with the arguments of the node's constructor. Checks nothing and folds
/// nothing; the operators in ir/ops.h do.
template <class T, class... Args>
[[nodiscard]] auto make(Args&&... args) -> Ref<T> {
  return Ref<T>(new (allocate_node(sizeof(T))) T(std::forward<Args>(args)...));
}

// ---- small values --------------------------------------------------------------------------------------

struct Range {
  Expr min;
  Expr extent;
  [[nodiscard]] auto same_as(const Range& o) const -> bool { return min.same_as(o.min) && extent.same_as(o.extent); }
};

/// For variables that point to memory: the type of the elements and the storage scope ("global" when empty).
/// A `SizeVar` (a size in a shape) is a plain variable here.
struct PointerType {
  DataType element;
  Name scope;
  friend auto operator==(const PointerType&, const PointerType&) -> bool = default;
};

struct VarNode : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::VarNode;
  Name name;
  std::optional<PointerType> pointer;  // only if dtype is handle and the pointee is known
  VarNode(Name n, DataType t, Origin o = {}, std::optional<PointerType> p = {})
      : ExprNode(node_kind, t, o), name(n), pointer(p) {}
};
using Var = Ref<VarNode>;
inline auto var(Name name, DataType dtype = DataType::int_(32), Origin origin = {}) -> Var {
  return make<VarNode>(name, dtype, origin);
}

enum class BufferKind : uint8_t { Default, AutoBroadcast };

/// A multi-dimensional view of memory. Identity is that of the node. Strides empty: compact, row-major.
struct BufferNode {
  mutable uint32_t refs = 0;
  Name name;
  Var data;                    // handle; its pointer type has the storage scope
  DataType dtype;              // of an element
  Array<Expr> shape;
  Array<Expr> strides;
  Expr elem_offset;            // none: 0
  int data_alignment = 64;     // bytes
  int offset_factor = 1;
  BufferKind buffer_kind = BufferKind::Default;
  Array<int> axis_separators;
  Origin origin;

  [[nodiscard]] auto scope() const -> Name;  // "global", "shared", "local" ...
};
using Buffer = Ref<BufferNode>;
void destroy(const BufferNode* node);
[[nodiscard]] inline auto make_buffer(BufferNode fields) -> Buffer {
  fields.refs = 0;
  return Buffer(new (allocate_node(sizeof(BufferNode))) BufferNode(std::move(fields)));
}
/// A compact buffer with a new data variable.
[[nodiscard]] auto make_buffer(Name name, DataType dtype, Array<Expr> shape, Name scope = "global", Origin origin = {}) -> Buffer;

/// The accessed ranges of a buffer.
struct BufferRegion {
  Buffer buffer;
  Array<Range> region;
  Origin origin;
  [[nodiscard]] auto same_as(const BufferRegion& o) const -> bool { return buffer.same_as(o.buffer) && region.same_as(o.region); }
};

/// A buffer that is a view of a region of another one, within a block.
struct MatchBufferRegion {
  Buffer buffer;
  BufferRegion source;
  [[nodiscard]] auto same_as(const MatchBufferRegion& o) const -> bool { return buffer.same_as(o.buffer) && source.same_as(o.source); }
};

enum class IterKind : uint8_t { Spatial, Reduction, Scan, Opaque, ThreadIndex };

/// A variable with its domain: block axes, reduction axes, thread indices.
struct IterVar {
  Var var;
  Range dom;                    // may be null for thread indices
  IterKind kind = IterKind::Spatial;
  Name thread_tag;              // "threadIdx.x" ..., else empty
  Origin origin;
  [[nodiscard]] auto same_as(const IterVar& o) const -> bool {
    return var.same_as(o.var) && dom.same_as(o.dom) && kind == o.kind && thread_tag == o.thread_tag;
  }
};

struct IndexMapNode;
using IndexMap = Ref<IndexMapNode>;
void destroy(const IndexMapNode* node);

/// (initial indices) -> final indices, over its own variables; corresponds to TVM's IndexMap.
struct IndexMapNode {
  mutable uint32_t refs = 0;
  Array<Var> initial;
  Array<Expr> final;
  IndexMap inverse;            // null if it must be derived
};
[[nodiscard]] inline auto make_index_map(IndexMapNode fields) -> IndexMap {
  fields.refs = 0;
  return IndexMap(new (allocate_node(sizeof(IndexMapNode))) IndexMapNode(std::move(fields)));
}

class Attr;

/// Sorted by key; keys are unique.
using AttrMap = Array<std::pair<Name, Attr>>;

/// The value of an annotation or attribute: none, an expression (numbers are immediates; a string is a
/// std::string), a list, a dictionary or an index map. A list of buffer regions is a list of lists of expressions.
class Attr {
 public:
  using Value = std::variant<std::monostate, Expr, std::string, Array<Attr>, AttrMap, IndexMap>;
  Attr() = default;
  Attr(Expr e) : value(std::move(e)) {}               // NOLINT
  Attr(std::string s) : value(std::move(s)) {}        // NOLINT
  Attr(const char* s) : value(std::string(s)) {}      // NOLINT
  Attr(Array<Attr> a) : value(std::move(a)) {}        // NOLINT
  Attr(AttrMap m) : value(std::move(m)) {}            // NOLINT
  Attr(IndexMap m) : value(std::move(m)) {}           // NOLINT
  [[nodiscard]] auto expr() const -> Expr { auto* e = std::get_if<Expr>(&value); return e ? *e : Expr(); }
  [[nodiscard]] auto string() const -> const std::string* { return std::get_if<std::string>(&value); }
  [[nodiscard]] auto list() const -> const Array<Attr>* { return std::get_if<Array<Attr>>(&value); }
  Value value;
};

[[nodiscard]] auto find_attr(const AttrMap& attrs, Name key) -> const Attr*;
[[nodiscard]] auto with_attr(const AttrMap& attrs, Name key, Attr value) -> AttrMap;
[[nodiscard]] auto without_attr(const AttrMap& attrs, Name key) -> AttrMap;

// ---- expressions ---------------------------------------------------------------------------------------

struct IntImm : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::IntImm;
  int64_t value;               // uint64 constants as their bits
  IntImm(DataType t, int64_t v, Origin o = {}) : ExprNode(node_kind, t, o), value(v) {}
};
struct FloatImm : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::FloatImm;
  double value;
  FloatImm(DataType t, double v, Origin o = {}) : ExprNode(node_kind, t, o), value(v) {}
};
struct StringImm : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::StringImm;
  std::string value;
  explicit StringImm(std::string v, Origin o = {}) : ExprNode(node_kind, DataType::handle(), o), value(std::move(v)) {}
};
struct Cast : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::Cast;
  Expr value;
  Cast(DataType t, Expr v, Origin o = {}) : ExprNode(node_kind, t, o), value(std::move(v)) {}
};

struct BinaryNode : ExprNode {
  Expr a;
  Expr b;

 protected:
  BinaryNode(NodeKind k, DataType t, Expr x, Expr y, Origin o) : ExprNode(k, t, o), a(std::move(x)), b(std::move(y)) {}
};
inline auto compare_type(DataType operand) -> DataType { DataType t = DataType::bool_(operand.lanes); t.scalable = operand.scalable; return t; }

#define EXPR(Kind)
#define BINARY(Kind)                                                                        \
  struct Kind : BinaryNode {                                                                \
    static constexpr NodeKind node_kind = NodeKind::Kind;                                   \
    Kind(Expr x, Expr y, Origin o = {}) : BinaryNode(node_kind, x.dtype(), x, y, o) {}      \
  };
#define COMPARE(Kind)                                                                       \
  struct Kind : BinaryNode {                                                                \
    static constexpr NodeKind node_kind = NodeKind::Kind;                                   \
    Kind(Expr x, Expr y, Origin o = {}) : BinaryNode(node_kind, compare_type(x.dtype()), x, y, o) {} \
  };
#include "ir/nodes.def"

struct Not : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::Not;
  Expr a;
  explicit Not(Expr x, Origin o = {}) : ExprNode(node_kind, compare_type(x.dtype()), o), a(std::move(x)) {}
};
/// Evaluates both values.
struct Select : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::Select;
  Expr condition, true_value, false_value;
  Select(Expr c, Expr t, Expr f, Origin o = {})
      : ExprNode(node_kind, t.dtype(), o), condition(std::move(c)), true_value(std::move(t)), false_value(std::move(f)) {}
};
struct BufferLoad : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::BufferLoad;
  Buffer buffer;
  Array<Expr> indices;         // the last one may be a ramp: a vector of elements
  Expr predicate;              // none: all lanes
  BufferLoad(Buffer b, Array<Expr> i, Origin o = {}, Expr p = {});
};
/// base, base + stride, ... (lanes values).
struct Ramp : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::Ramp;
  Expr base, stride, lanes;
  Ramp(Expr b, Expr s, Expr lanes, Origin o = {});
};
struct Broadcast : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::Broadcast;
  Expr value, lanes;
  Broadcast(Expr v, Expr lanes, Origin o = {});
};
struct Shuffle : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::Shuffle;
  Array<Expr> vectors, indices;
  Shuffle(Array<Expr> v, Array<Expr> i, Origin o = {});
};
struct Let : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::Let;
  Var var;
  Expr value, body;
  Let(Var x, Expr v, Expr b, Origin o = {}) : ExprNode(node_kind, b.dtype(), o), var(std::move(x)), value(std::move(v)), body(std::move(b)) {}
};
/// A call of an intrinsic ("tir.exp", without the prefix: `exp`) or of a function of the module (`@name`).
struct Call : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::Call;
  Name op;
  Array<Expr> args;
  Call(DataType t, Name op, Array<Expr> args, Origin o = {}) : ExprNode(node_kind, t, o), op(op), args(std::move(args)) {}
};
/// A reduction in tensor expressions (te); PrimFuncs contain none.
struct CommReducerNode {
  mutable uint32_t refs = 0;
  Array<Var> lhs, rhs;
  Array<Expr> result, identity;
};
using CommReducer = Ref<CommReducerNode>;
void destroy(const CommReducerNode* node);
struct Reduce : ExprNode {
  static constexpr NodeKind node_kind = NodeKind::Reduce;
  CommReducer combiner;
  Array<Expr> source;
  Array<IterVar> axis;
  Expr condition;
  int value_index;
  Array<Expr> init;
  Reduce(CommReducer c, Array<Expr> s, Array<IterVar> a, Expr cond, int index, Array<Expr> init, Origin o = {})
      : ExprNode(node_kind, s[index].dtype(), o), combiner(std::move(c)), source(std::move(s)), axis(std::move(a)),
        condition(std::move(cond)), value_index(index), init(std::move(init)) {}
};

// ---- statements ----------------------------------------------------------------------------------------

struct LetStmt : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::LetStmt;
  Var var;
  Expr value;
  Stmt body;
  LetStmt(Var x, Expr v, Stmt b, Origin o = {}) : StmtNode(node_kind, o), var(std::move(x)), value(std::move(v)), body(std::move(b)) {}
};
/// An attribute of a body. `node`: its subject (a Var, a string, a buffer's data variable, an iter var).
struct AttrStmt : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::AttrStmt;
  using Subject = std::variant<std::monostate, Expr, Buffer, IterVar>;
  Subject node;
  Name key;
  Expr value;
  Stmt body;
  AttrStmt(Subject n, Name k, Expr v, Stmt b, Origin o = {})
      : StmtNode(node_kind, o), node(std::move(n)), key(k), value(std::move(v)), body(std::move(b)) {}
};
struct AssertStmt : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::AssertStmt;
  Expr condition, message;
  Stmt body;
  AssertStmt(Expr c, Expr m, Stmt b, Origin o = {})
      : StmtNode(node_kind, o), condition(std::move(c)), message(std::move(m)), body(std::move(b)) {}
};
struct BufferStore : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::BufferStore;
  Buffer buffer;
  Expr value;
  Array<Expr> indices;
  Expr predicate;              // none: all lanes
  BufferStore(Buffer b, Expr v, Array<Expr> i, Origin o = {}, Expr p = {})
      : StmtNode(node_kind, o), buffer(std::move(b)), value(std::move(v)), indices(std::move(i)), predicate(std::move(p)) {}
};
struct BufferRealize : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::BufferRealize;
  Buffer buffer;
  Array<Range> bounds;
  Expr condition;
  Stmt body;
  BufferRealize(Buffer b, Array<Range> r, Expr c, Stmt s, Origin o = {})
      : StmtNode(node_kind, o), buffer(std::move(b)), bounds(std::move(r)), condition(std::move(c)), body(std::move(s)) {}
};
/// Allocates memory for `data`, which lives within the body.
struct Allocate : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::Allocate;
  Var data;                    // with a pointer type
  DataType dtype;
  Array<Expr> extents;
  Expr condition;
  Stmt body;
  AttrMap annotations;
  Allocate(Var v, DataType t, Array<Expr> e, Expr c, Stmt b, AttrMap a = {}, Origin o = {})
      : StmtNode(node_kind, o), data(std::move(v)), dtype(t), extents(std::move(e)), condition(std::move(c)),
        body(std::move(b)), annotations(std::move(a)) {}
};
struct AllocateConst : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::AllocateConst;
  Var data;
  DataType dtype;
  Array<Expr> extents;
  std::string bytes;           // the elements, little-endian
  Stmt body;
  AttrMap annotations;
  AllocateConst(Var v, DataType t, Array<Expr> e, std::string bytes, Stmt b, AttrMap a = {}, Origin o = {})
      : StmtNode(node_kind, o), data(std::move(v)), dtype(t), extents(std::move(e)), bytes(std::move(bytes)),
        body(std::move(b)), annotations(std::move(a)) {}
};
struct DeclBuffer : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::DeclBuffer;
  Buffer buffer;
  Stmt body;
  DeclBuffer(Buffer b, Stmt s, Origin o = {}) : StmtNode(node_kind, o), buffer(std::move(b)), body(std::move(s)) {}
};
/// Two or more statements; never directly inside another SeqStmt. See `seq` in ir/ops.h.
struct SeqStmt : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::SeqStmt;
  Sequence<Stmt> seq;
  explicit SeqStmt(Sequence<Stmt> s, Origin o = {}) : StmtNode(node_kind, o), seq(std::move(s)) {}
};
/// Evaluates an expression for its effect; a constant has none ("pass").
struct Evaluate : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::Evaluate;
  Expr value;
  explicit Evaluate(Expr v, Origin o = {}) : StmtNode(node_kind, o), value(std::move(v)) {}
};
struct IfThenElse : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::IfThenElse;
  Expr condition;
  Stmt then_case;
  Stmt else_case;              // or null
  IfThenElse(Expr c, Stmt t, Stmt e = {}, Origin o = {})
      : StmtNode(node_kind, o), condition(std::move(c)), then_case(std::move(t)), else_case(std::move(e)) {}
};

enum class ForKind : uint8_t { Serial, Parallel, Vectorized, Unrolled, ThreadBinding };

/// Identity of a loop or a block, unique in the process; never 0 on a finished node.
using NodeId = uint64_t;
[[nodiscard]] auto fresh_node_id() -> NodeId;

struct For : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::For;
  NodeId id;
  Var var;
  Expr min, extent;
  ForKind for_kind;
  Stmt body;
  std::optional<IterVar> thread;   // for ThreadBinding: the thread index
  AttrMap annotations;
  /// A new loop gets a fresh id; pass the old id for a rewritten loop.
  For(Var x, Expr min, Expr extent, ForKind kind, Stmt body, std::optional<IterVar> thread = {}, AttrMap annotations = {},
      Origin o = {}, NodeId id = 0)
      : StmtNode(node_kind, o), id(id ? id : fresh_node_id()), var(std::move(x)), min(std::move(min)), extent(std::move(extent)),
        for_kind(kind), body(std::move(body)), thread(std::move(thread)), annotations(std::move(annotations)) {}
};
struct While : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::While;
  Expr condition;
  Stmt body;
  While(Expr c, Stmt b, Origin o = {}) : StmtNode(node_kind, o), condition(std::move(c)), body(std::move(b)) {}
};
struct Break : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::Break;
  explicit Break(Origin o = {}) : StmtNode(node_kind, o) {}
};
struct Continue : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::Continue;
  explicit Continue(Origin o = {}) : StmtNode(node_kind, o) {}
};
struct Block : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::Block;
  NodeId id;
  Name name;
  Array<IterVar> iter_vars;
  Array<BufferRegion> reads, writes;
  Stmt body;
  Stmt init;                   // or null
  Sequence<Buffer> alloc_buffers;
  Array<MatchBufferRegion> match_buffers;
  AttrMap annotations;
  struct Fields {
    Name name;
    Array<IterVar> iter_vars;
    Array<BufferRegion> reads, writes;
    Stmt body;
    Stmt init;
    Sequence<Buffer> alloc_buffers;
    Array<MatchBufferRegion> match_buffers;
    AttrMap annotations;
  };
  explicit Block(Fields f, Origin o = {}, NodeId id = 0)
      : StmtNode(node_kind, o), id(id ? id : fresh_node_id()), name(f.name), iter_vars(std::move(f.iter_vars)),
        reads(std::move(f.reads)), writes(std::move(f.writes)), body(std::move(f.body)), init(std::move(f.init)),
        alloc_buffers(std::move(f.alloc_buffers)), match_buffers(std::move(f.match_buffers)), annotations(std::move(f.annotations)) {}
  /// For rewrites: change some fields, and build a block with the same id.
  [[nodiscard]] auto fields() const -> Fields {
    return {name, iter_vars, reads, writes, body, init, alloc_buffers, match_buffers, annotations};
  }
};
struct BlockRealize : StmtNode {
  static constexpr NodeKind node_kind = NodeKind::BlockRealize;
  Array<Expr> iter_values;     // one per iter var
  Expr predicate;              // never null; true: constant 1
  Ref<Block> block;
  BlockRealize(Array<Expr> v, Expr p, Ref<Block> b, Origin o = {})
      : StmtNode(node_kind, o), iter_values(std::move(v)), predicate(std::move(p)), block(std::move(b)) {}
};

// ---- functions and modules -----------------------------------------------------------------------------

struct PrimFuncNode {
  mutable uint32_t refs = 0;
  Array<Var> params;
  Array<std::pair<Var, Buffer>> buffer_map;   // in the order of params
  Stmt body;
  DataType ret_type = DataType::void_();
  AttrMap attrs;                               // without "global_symbol" if that is the function's name in the module
  bool is_private = false;                     // no global symbol
  Origin origin;
  [[nodiscard]] auto buffer_of(const Var& param) const -> Buffer;   // null if it has none
};
using PrimFunc = Ref<PrimFuncNode>;
void destroy(const PrimFuncNode* node);
[[nodiscard]] inline auto make_func(PrimFuncNode fields) -> PrimFunc {
  fields.refs = 0;
  return PrimFunc(new (allocate_node(sizeof(PrimFuncNode))) PrimFuncNode(std::move(fields)));
}
[[nodiscard]] inline auto with_body(const PrimFunc& func, Stmt body) -> PrimFunc {
  if (func->body.same_as(body)) { return func; }
  PrimFuncNode fields = *func;
  fields.body = std::move(body);
  return make_func(std::move(fields));
}

/// The spelling of blocks in text: `T.block` (TVM 0.8 to 0.22) or `T.sblock` (later versions).
enum class Dialect : uint8_t { Block, SBlock };

struct IRModuleNode {
  mutable uint32_t refs = 0;
  Sequence<std::pair<Name, PrimFunc>> functions;  // in the order of the text
  AttrMap attrs;
  Dialect dialect = Dialect::Block;            // ignored by equality
  [[nodiscard]] auto find(Name name) const -> PrimFunc;   // null if there is none
};
using IRModule = Ref<IRModuleNode>;
void destroy(const IRModuleNode* node);
[[nodiscard]] inline auto make_module(IRModuleNode fields) -> IRModule {
  fields.refs = 0;
  return IRModule(new (allocate_node(sizeof(IRModuleNode))) IRModuleNode(std::move(fields)));
}
/// The module with one function replaced (or added at the end).
[[nodiscard]] auto with_function(const IRModule& module, Name name, PrimFunc func) -> IRModule;
/// A module with one function called "main", as TVM makes for a bare function.
[[nodiscard]] auto module_of(PrimFunc func, Dialect dialect = Dialect::Block) -> IRModule;

/// The block around a function's body at schedule level ("root"); null if there is none.
[[nodiscard]] auto root_block(const PrimFunc& func) -> const Block*;

}  // namespace loopsmith
