// The script printer's class. Private to the printer: other rooms call printer.h.
//
// One pass over the tree that appends to one string. The exceptions are declarations of variables and buffers without a definition: they
// are inserted in front of the current statement of the frame that they belong to, and every recorded offset behind them is shifted.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/dialects.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/printer/use_scopes.h"

namespace loopsmith {

// Precedence of the constructs of Python. A child of lower precedence than its parent is printed in parentheses.
enum Precedence : int { lambda_level = 1, or_level = 3, and_level = 4, not_level = 5, compare_level = 6, add_level = 11, multiply_level = 12, atom_level = 15 };

struct BinaryText { const char* sign; const char* function; int level; };

inline auto is_true(const Expr& e) -> bool {
  const auto* imm = e.as<IntImm>();
  return imm && imm->value == 1;
}

class ScriptPrinter {
 public:
  ScriptPrinter(const PrintOptions& options, Dialect dialect) : options_(options), dialect_(dialect), sblock_(dialects::is_recent(dialect)) { out_.reserve(4096); }
  auto take() -> std::string;

  // -- modules and functions
  void module(const IRModule& mod);
  void function_alone(const PrimFunc& fn);
  void func(const PrimFunc& fn, Name name);
  /// `# from tvm.script import ...`. `has_blocks`: some function has blocks.
  void imports(bool has_blocks);
  /// `@T.prim_func`, `@Ts.function(private=True)`.
  void decorator(const PrimFuncNode& fn);
  /// True for a function with a block other than the root that every function has.
  [[nodiscard]] static auto has_own_blocks(const PrimFuncNode& fn) -> bool;
  /// `T.` or `Ts.`, the prefix of the words for blocks.
  [[nodiscard]] auto of_blocks() const -> const char* { return dialects::has_ts(dialect_) ? "Ts." : "T."; }
  [[nodiscard]] auto is_tensor() const -> bool { return dialect_ == dialects::tensor; }
  /// `[n: T.int32, m: T.int64]`: the variables in the shapes of parameters that have no other declaration.
  void shape_variables(const PrimFuncNode& fn);
  // The parameters and the return type. Returns the buffers that a parameter declares, `A: T.Buffer(...)`; other buffers are matched in the body.
  auto parameters(const PrimFuncNode& fn) -> std::unordered_set<const BufferNode*>;

  // -- statements
  /// A fragment: the statement alone, printed as a body.
  void fragment(const Stmt& s);
  void body(const Stmt& s);
  void stmt(const Stmt& s);
  void on(const LetStmt& s, size_t);
  void on(const AttrStmt& s, size_t);
  void on(const AssertStmt& s, size_t);
  void on(const BufferStore& s, size_t);
  void on(const BufferRealize& s, size_t);
  void on(const Allocate& s, size_t);
  void on(const AllocateConst& s, size_t);
  void on(const DeclBuffer& s, size_t) { decl_buffer(s, VarDefinition::None, frames_.back().concise); }
  void on(const SeqStmt& s, size_t);
  void on(const Evaluate& s, size_t);
  void on(const IfThenElse& s, size_t);
  void on(const For& s, size_t range);
  void grid_loops(const std::vector<const For*>& grid, size_t range);
  void one_loop(const For& s, size_t range);
  void on(const While& s, size_t);
  void on(const Break&, size_t) { out_ += "break\n"; }
  void on(const Continue&, size_t) { out_ += "continue\n"; }
  void on(const Block& s, size_t range) { block(s, nullptr, range); }
  void on(const BlockRealize& s, size_t range) { block(*s.block, &s, range); }
  void block(const Block& b, const BlockRealize* realize, size_t range);

  // -- expressions
  void expr(const Expr& e, int parent = 0, bool tight = false);
  void on(const VarNode& v, int, bool) { variable(v); }
  void on(const IntImm& e, int, bool);
  void on(const FloatImm& e, int, bool);
  void on(const StringImm& e, int, bool) { string_literal(e.value); }
  void on(const Cast& e, int, bool);
  void on(const Add& e, int parent, bool tight) { sugared(e, {" + ", "T.Add(", add_level}, parent, tight, add); }
  void on(const Sub& e, int parent, bool tight) { sugared(e, {" - ", "T.Sub(", add_level}, parent, tight, sub); }
  void on(const Mul& e, int parent, bool tight) { sugared(e, {" * ", "T.Mul(", multiply_level}, parent, tight, mul); }
  void on(const Div& e, int parent, bool tight);
  void on(const Mod& e, int, bool) { call2("T.truncmod(", e.a, e.b); }
  void on(const FloorDiv& e, int parent, bool tight) { sugared(e, {" // ", "T.FloorDiv(", multiply_level}, parent, tight, floordiv); }
  void on(const FloorMod& e, int parent, bool tight) { sugared(e, {" % ", "T.FloorMod(", multiply_level}, parent, tight, floormod); }
  void on(const Min& e, int, bool) { call2(comes_back(e, loopsmith::min) ? "T.min(" : "T.Min(", e.a, e.b); }
  void on(const Max& e, int, bool) { call2(comes_back(e, loopsmith::max) ? "T.max(" : "T.Max(", e.a, e.b); }
  void on(const EQ& e, int parent, bool tight) { sugared(e, {" == ", "T.EQ(", compare_level}, parent, tight, equal); }
  void on(const NE& e, int parent, bool tight) { sugared(e, {" != ", "T.NE(", compare_level}, parent, tight, not_equal); }
  void on(const LT& e, int parent, bool tight) { sugared(e, {" < ", "T.LT(", compare_level}, parent, tight, less); }
  void on(const LE& e, int parent, bool tight) { sugared(e, {" <= ", "T.LE(", compare_level}, parent, tight, less_equal); }
  void on(const GT& e, int parent, bool tight) { sugared(e, {" > ", "T.GT(", compare_level}, parent, tight, greater); }
  void on(const GE& e, int parent, bool tight) { sugared(e, {" >= ", "T.GE(", compare_level}, parent, tight, greater_equal); }
  // Python's `and` on vectors would be read as `T.bitwise_and`.
  void on(const And& e, int parent, bool tight);
  void on(const Or& e, int parent, bool tight);
  void on(const Not& e, int parent, bool tight);
  void on(const Select& e, int, bool);
  void on(const BufferLoad& e, int, bool);
  void on(const Ramp& e, int, bool);
  void on(const Broadcast& e, int, bool) { call2("T.Broadcast(", e.value, e.lanes); }
  void on(const Shuffle& e, int, bool);
  void on(const Let& e, int, bool);
  void on(const Call& e, int, bool);
  void combiner(const CommReducerNode& c);
  void on(const Reduce& e, int, bool);
  void region(const BufferRegion& r);
  void slice(const Range& range);
  void attr(const Attr& a);
  void target(const Attr& given);
  void attrs(const AttrMap& map);
  void index_map(const IndexMap& map);
  void fragment_buffer(const Buffer& buffer);

 private:
  enum class Part : uint8_t { Named, Data, Stride, Offset };
  struct Entry {
    Name name;
    Part part = Part::Named;
    const BufferNode* buffer = nullptr;
    int index = 0;
  };
  struct Frame {
    const void* node = nullptr;
    size_t stmt_begin = 0;     // where the current statement of this frame begins
    int indent = 0;
    bool concise = false;      // the statement may be printed without `with`, because no statement follows it
    std::vector<const void*> defined;
  };
  enum class VarDefinition : uint8_t { None, DataPointer, MatchBuffer };

  /// An offset into the text that is shifted when a declaration is inserted in front of it, until it is released.
  class Mark {
   public:
    explicit Mark(ScriptPrinter& printer) : printer_(printer), offset_(printer.out_.size()) { printer_.marks_.push_back(&offset_); }
    ~Mark() { (void)release(); }
    Mark(const Mark&) = delete;
    auto operator=(const Mark&) -> Mark& = delete;
    /// Returns the offset, which is no longer shifted.
    auto release() -> size_t {
      if (!released_) { printer_.marks_.pop_back(); }
      released_ = true;
      return offset_;
    }
    /// Removes the text that was written since the mark from the output, and returns it.
    auto cut() -> std::string {
      size_t begin = release();
      std::string text = printer_.out_.substr(begin);
      printer_.out_.resize(begin);
      return text;
    }

   private:
    ScriptPrinter& printer_;
    size_t offset_;
    bool released_ = false;
  };

  // -- text
  void pad() { out_.append(static_cast<size_t>(indent_), ' '); }
  void comma(bool& first);
  void integer(int64_t value);
  void append_float(double value) { out_ += float_text(value); }
  void string_literal(std::string_view text) { out_ += string_text(text); }
  void type_name(DataType t);
  void dtype_literal(DataType t);
  void append_dtype(DataType t);
  auto open(int level, int parent, bool tight) -> bool;
  void close(bool paren);
  void call2(const char* head, const Expr& a, const Expr& b);
  static auto may_fold(const Expr& e) -> bool;
  // True when the operator's function makes this node again from its operands. If it folds constants, reading would give another node.
  template <class Node>
  auto comes_back(const Node& e, Expr (*make_again)(Expr, Expr, Origin)) -> bool {
    if (!may_fold(e.a) && !may_fold(e.b) && e.a.dtype() == e.b.dtype()) { return true; }
    Expr made = make_again(e.a, e.b, {});
    const Node* node = made.template as<Node>();
    return node && node->a.same_as(e.a) && node->b.same_as(e.b);
  }
  // The operator's sign if a reader makes this node from it again, otherwise the function's name.
  template <class Node>
  void sugared(const Node& e, BinaryText text, int parent, bool tight, Expr (*make_again)(Expr, Expr, Origin)) {
    if (!comes_back(e, make_again)) { return call2(text.function, e.a, e.b); }
    bool paren = open(text.level, parent, tight);
    // Python chains comparisons, so both sides of a comparison need parentheses.
    expr(e.a, text.level, text.level == compare_level);
    out_ += text.sign;
    expr(e.b, text.level, true);
    close(paren);
  }
  void define_free_of(const Expr& e);
  void list(const Array<Expr>& items);
  void tuple(const Array<Expr>& items);
  void shape_tuple(const Array<Expr>& items) { tuple(items); }
  void indices(const Array<Expr>& items);
  void regions(const Array<BufferRegion>& items);
  void index_lambda(const IndexMap& map);
  void iter_var(const IterVar& iter);
  void subject(const AttrStmt::Subject& node);
  void constant_data(const AllocateConst& s);

  // -- scopes of statements
  void begin_line();
  void indented(const Stmt& s);
  void nested(const void* node, const Stmt& s);
  // Makes a statement from the text since `mark`, which is its right side: `NAME = RHS` with the body behind it, or `with RHS as NAME:` with the body
  // inside. `define_left` prints the name, in the new frame.
  template <class DefineLeft>
  void scope(const void* node, size_t mark, const Stmt& rest, bool concise, DefineLeft define_left) {
    push_frame(node);
    std::string left(define_left());
    if (concise) {
      if (!left.empty()) { out_.insert(mark, left + " = "); }
      out_ += '\n';
      body(rest);
    } else {
      out_.insert(mark, "with ");
      if (!left.empty()) {
        out_ += " as ";
        out_ += left;
      }
      out_ += ":\n";
      indented(rest);
    }
    pop_frame();
  }
  void realize_call(const BufferRealize& s, const Expr& storage);
  static auto is_allocated_declaration(const Allocate& s, const DeclBuffer& decl) -> bool;
  void decl_buffer(const DeclBuffer& s, VarDefinition definition, bool concise);
  void alloc_buffer(const Buffer& buffer);
  // Prints the arguments of T.match_buffer and similar calls. Variables in them without a definition are defined together with the buffer: one that occurs
  // once is printed as a part of the buffer, `A.strides[0]`; others get a line in front.
  void buffer_arguments(const Buffer& buffer, VarDefinition definition, bool first);
  struct FreeVariables;
  void buffer_strides(const Buffer& buffer, FreeVariables& free);
  // True when the offset is a variable of the buffer: its factor is then printed too.
  auto buffer_offset(const Buffer& buffer, FreeVariables& free) -> bool;
  auto is_new(const Expr& e) const -> bool;
  void define_in_front(const Expr& e, FreeVariables& free);
  // False: it is defined in front of the declaration, because it occurs twice or has another type than a reader would give it.
  auto define_as_part(const Expr& e, Part part, int index, FreeVariables& free) -> bool;
  void block_axes(const Block& b, const BlockRealize* realize);
  // True when axis `i` is bound to a loop around the block with the same domain: `T.axis.remap` prints it.
  auto is_remapped(const Block& b, const BlockRealize* realize, size_t i) const -> bool;
  void remapped_axes(const Block& b, const BlockRealize& realize, const std::vector<size_t>& axes);
  void one_axis(const IterVar& iter, const Expr& binding);
  auto is_simple(const Buffer& buffer) const -> bool;
  // Parameters that occur in other places than as the key of their buffer.
  static void find_used_params(const PrimFuncNode& fn, std::unordered_set<const VarNode*>& used);
  static auto contains_block(const Stmt& s) -> bool;
  static auto implicit_root(const PrimFunc& fn) -> const Block*;

  // -- names
  auto push_frame(const void* node) -> Frame&;
  void pop_frame();
  auto is_loop_frame(const Frame& frame) const -> bool;
  auto is_defined(const void* object) const -> bool { return objects_.count(object) != 0; }
  auto define_in(Frame& frame, const void* object, Name hint) -> Name;
  auto define(const void* object, Name hint) -> Name { return define_in(frames_.back(), object, hint); }
  auto define_var(const VarNode* v) -> Name { return define(v, v->name.empty() ? Name("v") : v->name); }
  void define_part(const void* object, const BufferNode* buffer, Part part, int index = 0);
  auto unique(Name hint) -> Name;
  static auto is_clean(std::string_view text) -> bool;
  auto lookup_name(const void* object) const -> std::string_view;
  void variable(const VarNode& v);
  void buffer_name(const Buffer& buffer) { buffer_name(*buffer); }
  void buffer_name(const BufferNode& buffer);
  auto declares_free() const -> bool { return root_func_ || options_.declare_free; }
  auto scopes() -> const UseScopes&;
  // The innermost frame that contains all uses.
  auto frame_of(const void* object) -> Frame&;
  void declare_free(const VarNode* v);
  void declare_env_thread(const IterVar& iter);
  // Inserts a line in front of the current statement of `frame`.
  void insert_before(const Frame& target, const std::string& line);
  void var_type(const VarNode& v);
  // `T.int32()`, `T.handle("float32", "global")`.
  void var_creation(const VarNode& v);

  // -- ranges
  auto add_range(const StmtNode* node, NodeId id, size_t begin) -> size_t;
  auto range_at(size_t index) -> PrintedRange& { return (*options_.ranges)[index]; }
  void end_range(size_t index);
  void name_range(size_t index, NodeId id, size_t begin);

  const PrintOptions& options_;
  const Dialect dialect_;
  bool sblock_;
  std::unordered_set<const VarNode*> shape_variables_;   // declared as `def f[n](...)`
  bool in_module_ = false;
  std::string out_;
  int indent_ = 0;
  std::vector<Frame> frames_;
  std::vector<size_t*> marks_;               // offsets that insertions shift
  std::vector<size_t> open_ranges_;          // of grids and blocks that are being printed
  std::unordered_map<const void*, Entry> objects_;   // names of variables and buffers that are defined
  std::unordered_set<Name> names_;           // names that are taken
  PrimFunc root_func_;
  Stmt fragment_root_;
  std::unique_ptr<UseScopes> scopes_;
  const Name ret_ = Name("ret");
};

}  // namespace loopsmith
