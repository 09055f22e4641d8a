// The script printer: see printer.h. One pass over the tree that appends to one string. The exceptions are
// declarations of what is used before it is defined: they are inserted in front of the statement that is
// being written in the frame they belong to, and every remembered offset behind them moves on.
#include "ir/printer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "ir/ops.h"
#include "ir/plain.h"
#include "ir/spelling.h"
#include "ir/visitor.h"

namespace loopsmith {
namespace {

// How tightly the constructs of Python bind; a child that binds looser than its parent goes in parentheses.
enum Precedence : int { lambda_level = 1, or_level = 3, and_level = 4, not_level = 5, compare_level = 6, add_level = 11, multiply_level = 12, atom_level = 15 };

struct BinaryText { const char* sign; const char* function; int level; };

// Names that mean something else in the printed text.
auto is_reserved(std::string_view name) -> bool {
  static const std::unordered_set<std::string_view> words = {
      "T", "I", "range", "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
      "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
      "not", "or", "pass", "raise", "return", "try", "while", "with", "yield"};
  return name.size() <= 8 && words.count(name) != 0;
}

enum class TypeArgument : uint8_t { None, First, Last };

// Where a call of an intrinsic shows its type.
auto type_argument(Name op) -> TypeArgument {
  static const std::unordered_map<Name, TypeArgument> table = [] {
    std::unordered_map<Name, TypeArgument> out;
    for (const char* name : {"reinterpret", "call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin", "ptx_mma",
                             "ptx_mma_sp", "ptx_ldmatrix", "ptx_cp_async", "ptx_cp_async_bulk", "mma_store", "mma_fill", "vectorhigh",
                             "vectorlow", "vectorcombine", "get_active_lane_mask", "infinity", "type_annotation", "call_spirv_pure_glsl450"}) {
      out.emplace(Name(name), TypeArgument::First);
    }
    out.emplace(Name("tvm_struct_get"), TypeArgument::Last);
    return out;
  }();
  auto found = table.find(op);
  return found == table.end() ? TypeArgument::None : found->second;
}

auto printed_op(Name op) -> std::string_view {
  static const std::unordered_map<Name, std::string_view> table = {
      {Name("tvm_call_packed"), "call_packed"},
      {Name("tvm_call_cpacked"), "call_cpacked"},
      {Name("tvm_call_packed_lowered"), "call_packed_lowered"},
      {Name("tvm_call_cpacked_lowered"), "call_cpacked_lowered"},
  };
  auto found = table.find(op);
  return found == table.end() ? op.view() : found->second;
}

// The same expression, node for node, up to identical variables: what loop domains are compared by.
auto deep_equal(const Expr& a, const Expr& b) -> bool {
  if (a.same_as(b)) { return true; }
  if (!a || !b || a.kind() != b.kind() || !(a.dtype() == b.dtype())) { return false; }
  if (const auto* x = a.as<IntImm>()) { return x->value == b.as<IntImm>()->value; }
  if (a.as<VarNode>() || a.as<FloatImm>() || a.as<StringImm>()) { return false; }
  if (const auto* x = a.as<BufferLoad>(); x && !x->buffer.same_as(b.as<BufferLoad>()->buffer)) { return false; }
  if (const auto* x = a.as<Call>(); x && !(x->op == b.as<Call>()->op)) { return false; }
  if (a.as<Let>() || a.as<Reduce>()) { return false; }
  std::vector<Expr> left, right;
  visit_children(a, [&](const Expr& e) { left.push_back(e); });
  visit_children(b, [&](const Expr& e) { right.push_back(e); });
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), deep_equal);
}

auto is_true(const Expr& e) -> bool {
  const auto* imm = e.as<IntImm>();
  return imm && imm->value == 1;
}

// For every variable and buffer: the chain of statements (from the function down) that holds all its uses.
class UseScopes : public Visitor {
 public:
  using Path = std::vector<const void*>;

  explicit UseScopes(const void* root) { path_.push_back(root); }
  using Visitor::visit;

  void enter(const Stmt& stmt) { visit_at(stmt); }
  void note(const Buffer& buffer) {
    use(buffer.get());
    if (!seen_.insert(buffer.get()).second) { return; }
    use(buffer->data.get());
    for (const Expr& e : buffer->shape) { visit(e); }
    for (const Expr& e : buffer->strides) { visit(e); }
    if (buffer->elem_offset) { visit(buffer->elem_offset); }
  }
  void note(const Var& var) { use(var.get()); }

  [[nodiscard]] auto of(const void* object) const -> const Path* {
    auto found = paths_.find(object);
    return found == paths_.end() ? nullptr : &found->second;
  }

  void on(const VarNode& node) override { use(&node); }
  void on(const BufferLoad& node) override {
    note(node.buffer);
    for (const Expr& e : node.indices) { visit(e); }
    if (node.predicate) { visit(node.predicate); }
  }
  void on(const Let& node) override {
    use(node.var.get());
    visit(node.value);
    visit(node.body);
  }
  void on(const BufferStore& node) override {
    note(node.buffer);
    visit(node.value);
    for (const Expr& e : node.indices) { visit(e); }
    if (node.predicate) { visit(node.predicate); }
  }
  void on(const LetStmt& node) override {
    use(node.var.get());
    visit(node.value);
    visit_at(node.body);
  }
  void on(const AttrStmt& node) override {
    if (const auto* e = std::get_if<Expr>(&node.node)) { visit(*e); }
    if (const auto* b = std::get_if<Buffer>(&node.node)) { note(*b); }
    if (const auto* i = std::get_if<IterVar>(&node.node)) { note_iter(*i); }
    visit(node.value);
    visit_at(node.body);
  }
  void on(const AssertStmt& node) override {
    visit(node.condition);
    visit(node.message);
    visit_at(node.body);
  }
  void on(const BufferRealize& node) override {
    note(node.buffer);
    for (const Range& r : node.bounds) { note_range(r); }
    visit(node.condition);
    visit_at(node.body);
  }
  void on(const Allocate& node) override {
    use(node.data.get());
    for (const Expr& e : node.extents) { visit(e); }
    visit(node.condition);
    visit_at(node.body);
  }
  void on(const AllocateConst& node) override {
    use(node.data.get());
    for (const Expr& e : node.extents) { visit(e); }
    visit_at(node.body);
  }
  void on(const DeclBuffer& node) override {
    note(node.buffer);
    visit_at(node.body);
  }
  void on(const SeqStmt& node) override {
    for (const Stmt& s : node.seq) { visit_at(s); }
  }
  void on(const IfThenElse& node) override {
    visit(node.condition);
    visit_at(node.then_case);
    if (node.else_case) { visit_at(node.else_case); }
  }
  void on(const For& node) override {
    use(node.var.get());
    visit(node.min);
    visit(node.extent);
    if (node.thread) { note_iter(*node.thread); }
    visit_at(node.body);
  }
  void on(const While& node) override {
    visit(node.condition);
    visit_at(node.body);
  }
  void on(const BlockRealize& node) override {
    for (const Expr& e : node.iter_values) { visit(e); }
    visit(node.predicate);
    visit_at(Stmt(node.block));
  }
  void on(const Block& node) override {
    for (const IterVar& i : node.iter_vars) { note_iter(i); }
    for (const BufferRegion& r : node.reads) { note_region(r); }
    for (const BufferRegion& r : node.writes) { note_region(r); }
    for (const Buffer& b : node.alloc_buffers) { note(b); }
    for (const MatchBufferRegion& m : node.match_buffers) {
      note(m.buffer);
      note_region(m.source);
    }
    if (node.init) { visit_at(node.init); }
    visit_at(node.body);
  }

 private:
  void visit_at(const Stmt& stmt) {
    path_.push_back(stmt.get());
    visit(stmt);
    path_.pop_back();
  }
  void note_range(const Range& r) {
    if (r.min) { visit(r.min); }
    if (r.extent) { visit(r.extent); }
  }
  void note_iter(const IterVar& i) {
    use(i.var.get());
    note_range(i.dom);
  }
  void note_region(const BufferRegion& r) {
    note(r.buffer);
    for (const Range& x : r.region) { note_range(x); }
  }
  void use(const void* object) {
    auto [place, fresh] = paths_.emplace(object, path_);
    if (fresh) { return; }
    Path& known = place->second;
    size_t n = 0;
    while (n < known.size() && n < path_.size() && known[n] == path_[n]) { ++n; }
    known.resize(n);
  }

  Path path_;
  std::unordered_map<const void*, Path> paths_;
  std::unordered_set<const void*> seen_;
};

class Printer {
 public:
  Printer(const PrintOptions& options, Dialect dialect) : options_(options), sblock_(dialect == Dialect::SBlock) { out_.reserve(4096); }

  auto take() -> std::string {
    while (!out_.empty() && (out_.back() == '\n' || out_.back() == ' ')) { out_.pop_back(); }
    if (options_.ranges) {
      for (PrintedRange& r : *options_.ranges) {
        r.end = std::min(r.end, static_cast<uint32_t>(out_.size()));
      }
    }
    return std::move(out_);
  }

  // ---- modules and functions -----------------------------------------------------------------------------

  void module(const IRModule& mod) {
    if (options_.header) {
      out_ += "# from tvm.script import ir as I\n";
      if (!mod->functions.empty()) { out_ += "# from tvm.script import tir as T\n"; }
      out_ += '\n';
    }
    out_ += "@I.ir_module\nclass Module:\n";
    names_.insert(Name("Module"));
    in_module_ = true;
    indent_ = 4;
    bool any = false;
    if (!mod->attrs.empty()) {
      pad();
      out_ += "I.module_attrs(";
      attrs(mod->attrs);
      out_ += ")\n";
      any = true;
    }
    // As TVM orders them: by name, `main` last.
    std::vector<const std::pair<Name, PrimFunc>*> order;
    for (const auto& item : mod->functions) { order.push_back(&item); }
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      bool a_main = a->first == "main";
      bool b_main = b->first == "main";
      return a_main != b_main ? b_main : a->first < b->first;
    });
    for (const auto* item : order) {
      func(item->second, item->first);
      out_ += '\n';
      any = true;
    }
    if (!any) { out_ += "    pass\n"; }
  }

  void function_alone(const PrimFunc& fn) {
    if (options_.header) { out_ += "# from tvm.script import tir as T\n\n"; }
    func(fn, options_.function_name);
  }

  void func(const PrimFunc& fn, Name name) {
    root_func_ = fn;
    scopes_.reset();
    Frame& frame = push_frame(fn.get());
    (void)frame;
    pad();
    out_ += fn->is_private ? "@T.prim_func(private=True)\n" : "@T.prim_func\n";
    pad();
    out_ += "def ";
    out_ += name.view();
    out_ += '(';
    std::unordered_map<const VarNode*, int> data_users;
    for (const auto& [param, buffer] : fn->buffer_map) { ++data_users[buffer->data.get()]; }
    std::unordered_set<const BufferNode*> inlined;
    std::unordered_set<const VarNode*> used_params;
    if (!fn->buffer_map.empty()) { find_used_params(fn, used_params); }
    bool first = true;
    for (const Var& param : fn->params) {
      comma(first);
      Buffer buffer = fn->buffer_of(param);
      if (buffer && is_simple(buffer) && data_users[buffer->data.get()] == 1 && used_params.count(param.get()) == 0) {
        out_ += define(buffer.get(), buffer->name.empty() ? Name("buffer") : buffer->name).view();
        out_ += ": T.Buffer(";
        shape_tuple(buffer->shape);
        out_ += ", ";
        dtype_literal(buffer->dtype);
        out_ += ')';
        // Its parts are found through it.
        define_part(buffer->data.get(), buffer.get(), Part::Data);
        inlined.insert(buffer.get());
        continue;
      }
      out_ += define_var(param.get()).view();
      out_ += ": ";
      var_type(*param);
    }
    out_ += ')';
    if (!fn->ret_type.is_void()) {
      out_ += " -> ";
      type_name(fn->ret_type);
    }
    out_ += ":\n";
    indent_ += 4;
    size_t body_begin = out_.size();
    if (!fn->attrs.empty()) {
      begin_line();
      out_ += "T.func_attr(";
      attrs(fn->attrs);
      out_ += ")\n";
    }
    for (const Var& param : fn->params) {
      Buffer buffer = fn->buffer_of(param);
      if (!buffer || inlined.count(buffer.get())) { continue; }
      begin_line();
      out_ += define(buffer.get(), buffer->name.empty() ? Name("buffer") : buffer->name).view();
      out_ += " = T.match_buffer(";
      out_ += lookup_name(param.get());
      buffer_arguments(buffer, VarDefinition::MatchBuffer, false);
      out_ += ")\n";
    }
    if (const Block* root = implicit_root(fn)) {
      begin_line();
      size_t start = out_.size();
      out_ += sblock_ ? "# with T.sblock(\"root\"):" : "# with T.block(\"root\"):";
      size_t range = add_range(root, root->id, start);
      out_ += '\n';
      for (const Buffer& buffer : root->alloc_buffers) { alloc_buffer(buffer); }
      body(root->body);
      end_range(range);
    } else {
      body(fn->body);
    }
    if (out_.size() == body_begin) {
      pad();
      out_ += "pass\n";
    }
    indent_ -= 4;
    pop_frame();
  }

  // ---- statements ----------------------------------------------------------------------------------------

  /// A fragment: the statement alone, as a body.
  void fragment(const Stmt& s) {
    fragment_root_ = s;
    push_frame(s.get());
    body(s);
    pop_frame();
  }

  void body(const Stmt& s) {
    if (const auto* seq = s.as<SeqStmt>()) {
      size_t n = seq->seq.size();
      size_t frame = frames_.size() - 1;
      for (size_t i = 0; i < n; ++i) {
        frames_[frame].concise = i + 1 == n;
        stmt(seq->seq[i]);
      }
      return;
    }
    frames_.back().concise = true;
    stmt(s);
  }

  void stmt(const Stmt& s) {
    begin_line();
    size_t range = add_range(s.get(), 0, out_.size());
    switch (s.kind()) {
#define EXPR(Kind) case NodeKind::Kind: break;
#define STMT(Kind) case NodeKind::Kind: on(*static_cast<const Kind*>(s.get()), range); break;
#include "ir/nodes.def"
    }
    end_range(range);
  }

  void on(const LetStmt& s, size_t) {
    bool concise = frames_.back().concise;
    bool known = is_defined(s.var.get());
    if (known) {
      out_ += "with T.LetStmt(";
      expr(s.value);
      out_ += ", var=";
      expr(s.var);
      out_ += "):\n";
      nested(&s, s.body);
      return;
    }
    if (concise) {
      // The value is written before the name is taken: `x: T.int32 = x_1` never refers to itself.
      size_t mark = out_.size();
      marks_.push_back(&mark);
      expr(s.value);
      marks_.pop_back();
      std::string value = out_.substr(mark);
      out_.resize(mark);
      push_frame(&s);
      out_ += define_var(s.var.get()).view();
      out_ += ": ";
      var_type(*s.var);
      out_ += " = ";
      out_ += value;
      out_ += '\n';
      body(s.body);
      pop_frame();
      return;
    }
    out_ += "with T.LetStmt(";
    expr(s.value);
    // A value that is a pointer does not say of what, where the variable does.
    if (s.var->pointer) {
      out_ += ", ";
      var_type(*s.var);
    }
    out_ += ") as ";
    push_frame(&s);
    out_ += define_var(s.var.get()).view();
    out_ += ":\n";
    indented(s.body);
    pop_frame();
  }

  void on(const AttrStmt& s, size_t) {
    bool concise = frames_.back().concise;
    const VarNode* defines = nullptr;
    const Stmt* rest = &s.body;
    size_t mark = out_.size();
    marks_.push_back(&mark);
    const auto* iter = std::get_if<IterVar>(&s.node);
    const auto* buffer = std::get_if<Buffer>(&s.node);
    const auto* realize = s.key == "realize_scope" ? s.body.as<BufferRealize>() : nullptr;
    if (realize && buffer && realize->buffer.same_as(*buffer)) {
      realize_call(*realize, s.value);
      rest = &realize->body;
    } else if (iter && (s.key == "thread_extent" || s.key == "virtual_thread")) {
      const VarNode* thread = iter->var.get();
      if (!is_defined(thread)) {
        const UseScopes::Path* path = scopes().of(thread);
        if (path && std::find(path->begin(), path->end(), &s) != path->end()) {
          defines = thread;
        } else {
          declare_env_thread(*iter);
        }
      }
      out_ += "T.launch_thread(";
      if (defines) { string_literal(iter->thread_tag.view()); } else { expr(iter->var); }
      out_ += ", ";
      expr(s.value);
      out_ += ')';
    } else {
      out_ += "T.attr(";
      subject(s.node);
      out_ += ", ";
      string_literal(s.key.view());
      out_ += ", ";
      expr(s.value);
      out_ += ')';
    }
    marks_.pop_back();
    scope(&s, mark, *rest, concise, [&]() -> std::string_view { return defines ? define_var(defines).view() : std::string_view(); });
  }

  void on(const AssertStmt& s, size_t) {
    if (frames_.back().concise) {
      out_ += "assert ";
      expr(s.condition);
      out_ += ", ";
      expr(s.message);
      out_ += '\n';
      push_frame(&s);
      body(s.body);
      pop_frame();
      return;
    }
    out_ += "with T.Assert(";
    expr(s.condition);
    out_ += ", ";
    expr(s.message);
    out_ += "):\n";
    nested(&s, s.body);
  }

  void on(const BufferStore& s, size_t) {
    buffer_name(s.buffer);
    if (s.predicate) {
      out_ += ".vstore(";
      list(s.indices);
      out_ += ", ";
      expr(s.value);
      out_ += ", predicate=";
      expr(s.predicate);
      out_ += ")\n";
      return;
    }
    indices(s.indices);
    out_ += " = ";
    expr(s.value);
    out_ += '\n';
  }

  void on(const BufferRealize& s, size_t) {
    bool concise = frames_.back().concise;
    size_t mark = out_.size();
    marks_.push_back(&mark);
    realize_call(s, {});
    marks_.pop_back();
    scope(&s, mark, s.body, concise, [] { return std::string_view(); });
  }

  void on(const Allocate& s, size_t) {
    bool concise = frames_.back().concise;
    if (const auto* decl = s.body.as<DeclBuffer>(); decl && is_allocated_declaration(s, *decl)) {
      decl_buffer(*decl, VarDefinition::DataPointer, concise);
      return;
    }
    size_t mark = out_.size();
    marks_.push_back(&mark);
    out_ += "T.allocate(";
    list(s.extents);
    out_ += ", ";
    dtype_literal(s.dtype);
    out_ += ", ";
    std::string_view scope_name = s.data->pointer ? s.data->pointer->scope.view() : std::string_view();
    string_literal(scope_name.empty() ? std::string_view("global") : scope_name);
    if (!is_true(s.condition)) {
      out_ += ", ";
      expr(s.condition);
    }
    if (!s.annotations.empty()) {
      out_ += ", annotations=";
      attrs(s.annotations);
    }
    out_ += ')';
    marks_.pop_back();
    Name name = define_var(s.data.get());
    scope(&s, mark, s.body, concise, [&] { return name.view(); });
  }

  void on(const AllocateConst& s, size_t) {
    bool concise = frames_.back().concise;
    size_t mark = out_.size();
    out_ += "T.allocate_const(";
    constant_data(s);
    out_ += ", ";
    dtype_literal(s.dtype);
    out_ += ", ";
    list(s.extents);
    if (!s.annotations.empty()) {
      out_ += ", annotations=";
      attrs(s.annotations);
    }
    out_ += ')';
    scope(&s, mark, s.body, concise, [&] { return define_var(s.data.get()).view(); });
  }

  void on(const DeclBuffer& s, size_t) { decl_buffer(s, VarDefinition::None, frames_.back().concise); }

  void on(const SeqStmt& s, size_t) {
    // A sequence where one statement is expected (not made by our passes): as a body of its own.
    body(Stmt(Ref<StmtNode>(&s)));
  }

  void on(const Evaluate& s, size_t) {
    if (const auto* call = s.value.as<Call>()) {
      if (call->op == ret_ && call->args.size() == 1) {
        out_ += "return ";
        expr(call->args[0]);
      } else {
        expr(s.value);
      }
    } else {
      out_ += "T.evaluate(";
      expr(s.value);
      out_ += ')';
    }
    out_ += '\n';
  }

  void on(const IfThenElse& s, size_t) {
    out_ += "if ";
    expr(s.condition);
    out_ += ":\n";
    nested(s.then_case.get(), s.then_case);
    if (s.else_case) {
      pad();
      out_ += "else:\n";
      nested(s.else_case.get(), s.else_case);
    }
  }

  void on(const For& s, size_t range) {
    // Directly nested serial loops from 0 that do not depend on each other: T.grid.
    std::vector<const For*> grid;
    for (const For* l = &s; l; l = l->body.as<For>()) {
      bool plain = l->for_kind == ForKind::Serial && is_zero(l->min) && l->annotations.empty();
      bool depends = plain && !grid.empty() && l->extent.kind() != NodeKind::IntImm && uses_var(l->extent, [&](const VarNode& v) {
        return std::any_of(grid.begin(), grid.end(), [&](const For* g) { return g->var.get() == &v; });
      });
      if (!plain || depends) { break; }
      grid.push_back(l);
    }
    push_frame(&s);
    out_ += "for ";
    if (grid.size() > 1) {
      bool first = true;
      uint32_t begin = options_.ranges ? range_at(range).begin : 0;
      for (const For* l : grid) {
        comma(first);
        size_t at = out_.size();
        out_ += define_var(l->var.get()).view();
        if (options_.ranges) {
          if (l == grid[0]) {
            name_range(range, l->id, at);
          } else {
            size_t inner = add_range(l, l->id, begin);
            name_range(inner, l->id, at);
            grid_ranges_.push_back(inner);
          }
        }
      }
      size_t own = grid.size() - 1;
      out_ += " in T.grid(";
      first = true;
      for (const For* l : grid) {
        comma(first);
        expr(l->extent);
      }
      out_ += "):\n";
      indented(grid.back()->body);
      if (options_.ranges) {
        for (size_t i = 0; i < own; ++i) {
          end_range(grid_ranges_.back());
          grid_ranges_.pop_back();
        }
      }
      pop_frame();
      return;
    }
    size_t at = out_.size();
    out_ += define_var(s.var.get()).view();
    name_range(range, s.id, at);
    out_ += " in ";
    switch (s.for_kind) {
      case ForKind::Serial: out_ += s.annotations.empty() ? "range(" : "T.serial("; break;
      case ForKind::Parallel: out_ += "T.parallel("; break;
      case ForKind::Vectorized: out_ += "T.vectorized("; break;
      case ForKind::Unrolled: out_ += "T.unroll("; break;
      case ForKind::ThreadBinding: out_ += "T.thread_binding("; break;
    }
    if (is_zero(s.min)) {
      expr(s.extent);
    } else {
      expr(s.min);
      out_ += ", ";
      expr(add(s.min, s.extent));
    }
    if (s.for_kind == ForKind::ThreadBinding && s.thread) {
      out_ += ", thread=";
      string_literal(s.thread->thread_tag.view());
    }
    if (!s.annotations.empty()) {
      out_ += ", annotations=";
      attrs(s.annotations);
    }
    out_ += "):\n";
    indented(s.body);
    pop_frame();
  }

  void on(const While& s, size_t) {
    out_ += "while ";
    expr(s.condition);
    out_ += ":\n";
    nested(&s, s.body);
  }
  void on(const Break&, size_t) { out_ += "break\n"; }
  void on(const Continue&, size_t) { out_ += "continue\n"; }

  void on(const Block& s, size_t range) { block(s, nullptr, range); }
  void on(const BlockRealize& s, size_t range) { block(*s.block, &s, range); }

  void block(const Block& b, const BlockRealize* realize, size_t range) {
    out_ += sblock_ ? "with T.sblock(" : "with T.block(";
    size_t at = out_.size() + 1;
    string_literal(b.name.view());
    if (options_.ranges) {
      size_t own = realize ? add_range(&b, b.id, range_at(range).begin) : range;
      range_at(own).id = b.id;
      range_at(own).name_begin = static_cast<uint32_t>(at);
      range_at(own).name_end = static_cast<uint32_t>(out_.size() - 1);
      grid_ranges_.push_back(own);
    }
    if (!realize) { out_ += ", no_realize=True"; }
    out_ += "):\n";
    push_frame(&b);
    indent_ += 4;
    block_axes(b, realize);
    if (realize && !is_true(realize->predicate)) {
      begin_line();
      out_ += "T.where(";
      expr(realize->predicate);
      out_ += ")\n";
    }
    begin_line();
    out_ += "T.reads(";
    regions(b.reads);
    out_ += ")\n";
    begin_line();
    out_ += "T.writes(";
    regions(b.writes);
    out_ += ")\n";
    if (!b.annotations.empty()) {
      begin_line();
      out_ += sblock_ ? "T.sblock_attr(" : "T.block_attr(";
      attrs(b.annotations);
      out_ += ")\n";
    }
    for (const Buffer& buffer : b.alloc_buffers) { alloc_buffer(buffer); }
    for (const MatchBufferRegion& match : b.match_buffers) {
      begin_line();
      out_ += define(match.buffer.get(), match.buffer->name.empty() ? Name("buffer") : match.buffer->name).view();
      out_ += " = T.match_buffer(";
      region(match.source);
      buffer_arguments(match.buffer, VarDefinition::MatchBuffer, false);
      out_ += ")\n";
    }
    if (b.init) {
      begin_line();
      out_ += "with T.init():\n";
      nested(b.init.get(), b.init);
    }
    body(b.body);
    indent_ -= 4;
    pop_frame();
    if (options_.ranges) {
      end_range(grid_ranges_.back());
      grid_ranges_.pop_back();
    }
  }

  // ---- expressions ---------------------------------------------------------------------------------------

  void expr(const Expr& e, int parent = 0, bool tight = false) {
    switch (e.kind()) {
#define STMT(Kind) case NodeKind::Kind: return;
#define EXPR(Kind) case NodeKind::Kind: return on(*static_cast<const Kind*>(e.get()), parent, tight);
#include "ir/nodes.def"
    }
  }

  void on(const VarNode& v, int, bool) { variable(v); }
  void on(const IntImm& e, int, bool) {
    DataType t = e.dtype;
    if (t == DataType::int_(32)) {
      integer(e.value);
      return;
    }
    type_name(t);
    out_ += '(';
    if (t.is_bool()) {
      out_ += e.value ? "True" : "False";
    } else if (t.is_uint() && t.bits == 64) {
      char text[24];
      auto end = std::to_chars(text, text + sizeof text, static_cast<uint64_t>(e.value)).ptr;
      out_.append(text, end);
    } else {
      integer(e.value);
    }
    out_ += ')';
  }
  void on(const FloatImm& e, int, bool) {
    type_name(e.dtype);
    out_ += '(';
    append_float(e.value);
    out_ += ')';
  }
  void on(const StringImm& e, int, bool) { string_literal(e.value); }
  void on(const Cast& e, int, bool) {
    out_ += "T.Cast(";
    dtype_literal(e.dtype);
    out_ += ", ";
    expr(e.value);
    out_ += ')';
  }

  void on(const Add& e, int parent, bool tight) { sugared(e, {" + ", "T.Add(", add_level}, parent, tight, add); }
  void on(const Sub& e, int parent, bool tight) { sugared(e, {" - ", "T.Sub(", add_level}, parent, tight, sub); }
  void on(const Mul& e, int parent, bool tight) { sugared(e, {" * ", "T.Mul(", multiply_level}, parent, tight, mul); }
  void on(const Div& e, int parent, bool tight) {
    if (e.a.dtype().is_integral()) { return call2("T.Div(", e.a, e.b); }
    sugared(e, {" / ", "T.Div(", multiply_level}, parent, tight, div);
  }
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
  // Of vectors, `and` would be read as `T.bitwise_and`.
  void on(const And& e, int parent, bool tight) {
    if (!e.dtype.is_scalar()) { return call2("T.And(", e.a, e.b); }
    sugared(e, {" and ", "T.And(", and_level}, parent, tight, logical_and);
  }
  void on(const Or& e, int parent, bool tight) {
    if (!e.dtype.is_scalar()) { return call2("T.Or(", e.a, e.b); }
    sugared(e, {" or ", "T.Or(", or_level}, parent, tight, logical_or);
  }
  void on(const Not& e, int parent, bool tight) {
    bool paren = open(not_level, parent, tight);
    out_ += "not ";
    expr(e.a, not_level);
    close(paren);
  }
  void on(const Select& e, int, bool) {
    out_ += "T.Select(";
    expr(e.condition);
    out_ += ", ";
    expr(e.true_value);
    out_ += ", ";
    expr(e.false_value);
    out_ += ')';
  }
  void on(const BufferLoad& e, int, bool) {
    buffer_name(e.buffer);
    if (e.predicate) {
      out_ += ".vload(";
      list(e.indices);
      out_ += ", predicate=";
      expr(e.predicate);
      out_ += ')';
      return;
    }
    indices(e.indices);
  }
  void on(const Ramp& e, int, bool) {
    out_ += "T.Ramp(";
    expr(e.base);
    out_ += ", ";
    expr(e.stride);
    out_ += ", ";
    expr(e.lanes);
    out_ += ')';
  }
  void on(const Broadcast& e, int, bool) { call2("T.Broadcast(", e.value, e.lanes); }
  void on(const Shuffle& e, int, bool) {
    out_ += "T.Shuffle(";
    list(e.vectors);
    out_ += ", ";
    list(e.indices);
    out_ += ')';
  }
  void on(const Let& e, int, bool) {
    // TVM declares the variable in front of the statement.
    size_t mark = out_.size();
    marks_.push_back(&mark);
    if (!is_defined(e.var.get())) { declare_free(e.var.get()); }
    out_ += "T.Let(";
    expr(e.body);
    out_ += ", where={";
    expr(e.var);
    out_ += ": ";
    expr(e.value);
    out_ += "})";
    marks_.pop_back();
  }
  void on(const Call& e, int, bool) {
    std::string_view op = printed_op(e.op);
    // `T.tvm_throw_last_error()` is read with another type than lowering gives it.
    static const Name throw_last_error("tvm_throw_last_error");
    if (e.op == throw_last_error && !e.dtype.is_handle()) {
      out_ += "T.Call(";
      dtype_literal(e.dtype);
      out_ += ", \"tir.tvm_throw_last_error\", [])";
      return;
    }
    // A function of numbers gives the type of its operand, `T.exp(x)`: a call by name may have said another.
    static const std::unordered_set<std::string_view> keep_type = {"exp", "exp2", "exp10", "erf", "tanh", "sigmoid", "log", "log2", "log10", "log1p", "tan", "cos", "cosh", "acos",
                                                                   "acosh", "sin", "sinh", "asin", "asinh", "atan", "atanh", "sqrt", "rsqrt", "floor", "ceil", "trunc", "round",
                                                                   "nearbyint"};
    bool has_another = e.args.size() == 1 && !(e.dtype == e.args[0].dtype()) && keep_type.count(op) != 0;
    // A load through a pointer gives elements of what it points to.
    if (DataType accessed = accessed_type(e.op, e.args); !accessed.is_void()) { has_another = !(e.dtype == accessed); }
    if (has_another) {
      out_ += "T.Call(";
      dtype_literal(e.dtype);
      out_ += ", \"tir.";
      out_ += op;
      out_ += "\", [";
      bool first = true;
      for (const Expr& x : e.args) {
        comma(first);
        expr(x);
      }
      out_ += "])";
      return;
    }
    if (!op.empty() && op[0] == '@') {
      out_ += in_module_ ? "Module." : "";
      out_ += op.substr(1);
    } else {
      out_ += "T.";
      out_ += op;
    }
    out_ += '(';
    bool first = true;
    TypeArgument where = type_argument(e.op);
    if (where == TypeArgument::First) {
      comma(first);
      dtype_literal(e.dtype);
    }
    for (const Expr& arg : e.args) {
      comma(first);
      expr(arg);
    }
    if (where == TypeArgument::Last) {
      comma(first);
      dtype_literal(e.dtype);
    }
    out_ += ')';
  }
  void combiner(const CommReducerNode& c) {
    push_frame(nullptr);
    out_ += "T.comm_reducer(lambda ";
    bool first = true;
    for (const auto& side : {c.lhs, c.rhs}) {
      for (const Var& v : side) {
        comma(first);
        out_ += define_var(v.get()).view();
      }
    }
    out_ += ": ";
    tuple(c.result);
    out_ += ", ";
    list(c.identity);
    out_ += ')';
    pop_frame();
  }
  void on(const Reduce& e, int, bool) {
    out_ += "T.reduce(";
    combiner(*e.combiner);
    out_ += ", ";
    list(e.source);
    out_ += ", ";
    list(e.init);
    out_ += ", [";
    bool first = true;
    for (const IterVar& axis : e.axis) {
      comma(first);
      iter_var(axis);
    }
    out_ += "], ";
    expr(e.condition);
    out_ += ", ";
    integer(e.value_index);
    out_ += ')';
  }

  void region(const BufferRegion& r) {
    buffer_name(r.buffer);
    if (r.region.empty()) {
      out_ += "[()]";
      return;
    }
    out_ += '[';
    bool first = true;
    for (const Range& range : r.region) {
      comma(first);
      slice(range);
    }
    out_ += ']';
  }
  void slice(const Range& range) {
    expr(range.min);
    if (is_one(range.extent) && range.extent.kind() == NodeKind::IntImm) { return; }
    out_ += ':';
    expr(add(range.min, range.extent));
  }

  void attr(const Attr& a) {
    if (std::holds_alternative<std::monostate>(a.value)) { out_ += "None"; }
    else if (const auto* e = std::get_if<Expr>(&a.value)) {
      // A buffer among attributes is its pointer, and is written as the buffer.
      const auto* v = e->as<VarNode>();
      auto known = v ? objects_.find(v) : objects_.end();
      if (known != objects_.end() && known->second.part == Part::Data) { buffer_name(*known->second.buffer); } else { expr(*e); }
    }
    else if (const auto* s = std::get_if<std::string>(&a.value)) { string_literal(*s); }
    else if (const auto* l = std::get_if<Array<Attr>>(&a.value)) {
      out_ += '[';
      bool first = true;
      for (const Attr& item : *l) {
        comma(first);
        attr(item);
      }
      out_ += ']';
    } else if (const Attr* t = target_attr(a)) { target(*t); }
    else if (const auto* m = std::get_if<AttrMap>(&a.value)) { attrs(*m); }
    else if (const auto* map = std::get_if<IndexMap>(&a.value)) { index_map(*map); }
  }
  void target(const Attr& given) {
    out_ += "T.target(";
    if (const auto* pair = std::get_if<Array<Attr>>(&given.value); pair && pair->size() == 2) {
      attr((*pair)[0]);
      out_ += ", host=";
      attr((*pair)[1]);
    } else {
      attr(given);
    }
    out_ += ')';
  }
  void attrs(const AttrMap& map) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, value] : map) {
      comma(first);
      string_literal(key.view());
      out_ += ": ";
      attr(value);
    }
    out_ += '}';
  }
  void index_map(const IndexMap& map) {
    out_ += "T.index_map(";
    index_lambda(map);
    if (map->inverse) {
      out_ += ", inverse_index_map=";
      index_lambda(map->inverse);
    }
    out_ += ')';
  }
  void fragment_buffer(const Buffer& buffer) {
    push_frame(nullptr);
    define(buffer.get(), buffer->name.empty() ? Name("buffer") : buffer->name);
    for (const Expr& e : buffer->shape) { define_free_of(e); }
    for (const Expr& e : buffer->strides) { define_free_of(e); }
    if (buffer->elem_offset) { define_free_of(buffer->elem_offset); }
    out_ += "T.Buffer(";
    buffer_arguments(buffer, VarDefinition::DataPointer, true);
    out_ += ')';
  }

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
    size_t stmt_begin = 0;     // where the statement that is being written in this frame begins
    int indent = 0;
    bool concise = false;      // may the statement go without `with`, because nothing follows it?
    std::vector<const void*> defined;
  };
  enum class VarDefinition : uint8_t { None, DataPointer, MatchBuffer };

  // ---- text ----------------------------------------------------------------------------------------------

  void pad() { out_.append(static_cast<size_t>(indent_), ' '); }
  void comma(bool& first) {
    if (!first) { out_ += ", "; }
    first = false;
  }
  void integer(int64_t value) {
    char text[24];
    auto end = std::to_chars(text, text + sizeof text, value).ptr;
    out_.append(text, end);
  }
  void append_float(double value) { out_ += float_text(value); }
  void string_literal(std::string_view text) { out_ += string_text(text); }
  void type_name(DataType t) {
    out_ += "T.";
    append_dtype(t);
  }
  void dtype_literal(DataType t) {
    out_ += '"';
    append_dtype(t);
    out_ += '"';
  }
  void append_dtype(DataType t) {
    if (t == DataType::float_(32)) { out_ += "float32"; }
    else if (t == DataType::int_(32)) { out_ += "int32"; }
    else if (t == DataType::int_(64)) { out_ += "int64"; }
    else { out_ += sblock_ ? recent_spelling(t) : t.str(); }
  }
  auto open(int level, int parent, bool tight) -> bool {
    bool paren = level < parent || (tight && level == parent);
    if (paren) { out_ += '('; }
    return paren;
  }
  void close(bool paren) {
    if (paren) { out_ += ')'; }
  }
  void call2(const char* head, const Expr& a, const Expr& b) {
    out_ += head;
    expr(a);
    out_ += ", ";
    expr(b);
    out_ += ')';
  }
  static auto may_fold(const Expr& e) -> bool {
    return e.kind() == NodeKind::IntImm || e.kind() == NodeKind::FloatImm || e.kind() == NodeKind::Broadcast;
  }
  // The operator's sign where writing it gives this node again, else the function's name.
  // Does what the operator's function makes of the operands have this form (folded it would read back as another)?
  template <class Node>
  auto comes_back(const Node& e, Expr (*make_again)(Expr, Expr, Origin)) -> bool {
    if (!may_fold(e.a) && !may_fold(e.b) && e.a.dtype() == e.b.dtype()) { return true; }
    Expr made = make_again(e.a, e.b, {});
    const Node* node = made.template as<Node>();
    return node && node->a.same_as(e.a) && node->b.same_as(e.b);
  }
  template <class Node>
  void sugared(const Node& e, BinaryText text, int parent, bool tight, Expr (*make_again)(Expr, Expr, Origin)) {
    if (!comes_back(e, make_again)) { return call2(text.function, e.a, e.b); }
    bool paren = open(text.level, parent, tight);
    // Python chains comparisons, so both sides of one need their own parentheses.
    expr(e.a, text.level, text.level == compare_level);
    out_ += text.sign;
    expr(e.b, text.level, true);
    close(paren);
  }
  void define_free_of(const Expr& e) {
    (void)uses_var(e, [&](const VarNode& v) {
      define_var(&v);
      return false;
    });
  }
  void list(const Array<Expr>& items) {
    out_ += '[';
    bool first = true;
    for (const Expr& e : items) {
      comma(first);
      expr(e);
    }
    out_ += ']';
  }
  void tuple(const Array<Expr>& items) {
    out_ += '(';
    bool first = true;
    for (const Expr& e : items) {
      comma(first);
      expr(e);
    }
    if (items.size() == 1) { out_ += ','; }
    out_ += ')';
  }
  void shape_tuple(const Array<Expr>& items) { tuple(items); }
  void indices(const Array<Expr>& items) {
    if (items.empty()) {
      out_ += "[()]";
      return;
    }
    out_ += '[';
    bool first = true;
    for (const Expr& e : items) {
      comma(first);
      const auto* ramp = e.as<Ramp>();
      const auto* stride = ramp ? ramp->stride.as<IntImm>() : nullptr;
      if (!stride) {
        expr(e);
        continue;
      }
      expr(ramp->base);
      out_ += ':';
      expr(add(ramp->base, mul(ramp->lanes, ramp->stride)));
      if (stride->value != 1) {
        out_ += ':';
        expr(ramp->stride);
      }
    }
    out_ += ']';
  }
  void regions(const Array<BufferRegion>& items) {
    bool first = true;
    for (const BufferRegion& r : items) {
      comma(first);
      region(r);
    }
  }
  void index_lambda(const IndexMap& map) {
    push_frame(nullptr);
    out_ += "lambda ";
    bool first = true;
    for (const Var& v : map->initial) {
      comma(first);
      out_ += define_var(v.get()).view();
    }
    out_ += ": ";
    tuple(map->final);
    pop_frame();
  }
  void iter_var(const IterVar& iter) {
    static constexpr const char* kinds[] = {"DataPar", "CommReduce", "Ordered", "Opaque", "ThreadIndex"};
    out_ += "T.iter_var(";
    expr(iter.var);
    out_ += ", ";
    if (iter.dom.extent) {
      out_ += "T.Range(";
      expr(iter.dom.min);
      out_ += ", ";
      expr(add(iter.dom.min, iter.dom.extent));
      out_ += ')';
    } else {
      out_ += "None";
    }
    out_ += ", ";
    string_literal(kinds[static_cast<size_t>(iter.kind)]);
    out_ += ", ";
    string_literal(iter.thread_tag.view());
    out_ += ')';
  }
  void subject(const AttrStmt::Subject& node) {
    if (const auto* e = std::get_if<Expr>(&node)) {
      const auto* reduction = e->as<Reduce>();
      if (reduction && reduction->axis.empty()) { combiner(*reduction->combiner); } else { expr(*e); }
    } else if (const auto* b = std::get_if<Buffer>(&node)) { buffer_name(*b); }
    else if (const auto* i = std::get_if<IterVar>(&node)) { iter_var(*i); }
    else { out_ += "None"; }
  }
  void constant_data(const AllocateConst& s) {
    out_ += '[';
    bool first = true;
    size_t width = static_cast<size_t>(s.dtype.element_bytes());
    for (size_t at = 0; width && at + width <= s.bytes.size(); at += width) {
      comma(first);
      uint64_t bits = 0;
      std::memcpy(&bits, s.bytes.data() + at, std::min<size_t>(width, 8));
      if (s.dtype.is_float() && width == 4) {
        float value;
        std::memcpy(&value, &bits, 4);
        append_float(value);
      } else if (s.dtype.is_float() && width == 8) {
        double value;
        std::memcpy(&value, &bits, 8);
        append_float(value);
      } else if (s.dtype.is_int() && width < 8) {
        int shift = 64 - static_cast<int>(width) * 8;
        integer(static_cast<int64_t>(bits << shift) >> shift);
      } else {
        integer(static_cast<int64_t>(bits));
      }
    }
    out_ += ']';
  }

  // ---- scopes of statements ------------------------------------------------------------------------------

  void begin_line() {
    Frame& frame = frames_.back();
    frame.stmt_begin = out_.size();
    frame.indent = indent_;
    pad();
  }
  void indented(const Stmt& s) {
    indent_ += 4;
    body(s);
    indent_ -= 4;
  }
  void nested(const void* node, const Stmt& s) {
    push_frame(node);
    indented(s);
    pop_frame();
  }
  // What was written since `mark` is the right side: `NAME = RHS` and the body after it, or `with RHS as NAME:`
  // and the body inside. `define_left` is called in the new frame.
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
  void realize_call(const BufferRealize& s, const Expr& storage) {
    out_ += "T.realize(";
    region({s.buffer, s.bounds, {}});
    if (storage) {
      out_ += ", ";
      expr(storage);
    }
    if (!is_true(s.condition)) {
      out_ += ", condition=";
      expr(s.condition);
    }
    out_ += ')';
  }
  static auto is_allocated_declaration(const Allocate& s, const DeclBuffer& decl) -> bool {
    const Buffer& buffer = decl.buffer;
    return s.data.same_as(buffer->data) && is_true(s.condition) && s.annotations.empty() && s.dtype == buffer->dtype &&
           std::equal(s.extents.begin(), s.extents.end(), buffer->shape.begin(), buffer->shape.end(), deep_equal);
  }
  void decl_buffer(const DeclBuffer& s, VarDefinition definition, bool concise) {
    size_t mark = out_.size();
    marks_.push_back(&mark);
    out_ += "T.decl_buffer(";
    // The name is taken only for the body, but `data` may be found through the buffer inside it.
    buffer_arguments(s.buffer, definition, true);
    out_ += ')';
    marks_.pop_back();
    scope(&s, mark, s.body, concise, [&] { return define(s.buffer.get(), s.buffer->name.empty() ? Name("buffer") : s.buffer->name).view(); });
  }
  void alloc_buffer(const Buffer& buffer) {
    begin_line();
    out_ += define(buffer.get(), buffer->name.empty() ? Name("buffer") : buffer->name).view();
    out_ += sblock_ ? " = T.sblock_alloc_buffer(" : " = T.alloc_buffer(";
    buffer_arguments(buffer, VarDefinition::DataPointer, true);
    out_ += ")\n";
  }

  // The arguments of T.match_buffer and its kin; declares what they use and nobody has declared.
  void buffer_arguments(const Buffer& buffer, VarDefinition definition, bool first) {
    std::unordered_map<const VarNode*, int> uses;
    std::string defined_left, defined_right;
    int defined = 0;
    auto is_new = [&](const Expr& e) { return e.kind() == NodeKind::VarNode && !is_defined(e.get()); };
    bool counted = false;
    auto count = [&] {
      if (counted) { return; }
      counted = true;
      auto walk = [&](const Expr& e) {
        if (!e) { return; }
        post_order(e, [&](const Expr& x) {
          if (const auto* v = x.as<VarNode>()) { ++uses[v]; }
        });
      };
      walk(buffer->elem_offset);
      ++uses[buffer->data.get()];
      for (const Expr& e : buffer->strides) { walk(e); }
      for (const Expr& e : buffer->shape) { walk(e); }
    };
    auto define_out_of_line = [&](const Expr& e) {
      const auto* v = e.as<VarNode>();
      if (defined++) {
        defined_left += ", ";
        defined_right += ", ";
      }
      defined_left += define_var(v).view();
      size_t mark = out_.size();
      var_creation(*v);
      defined_right += out_.substr(mark);
      out_.resize(mark);
    };
    auto define_inline = [&](const Expr& e, Part part, int index) -> bool {
      count();
      const auto* v = e.as<VarNode>();
      // Reading makes those that are not said of the type of the shape.
      bool is_other_type = part != Part::Data && !(v->dtype == (buffer->shape.empty() ? DataType::int_(32) : buffer->shape[0].dtype()));
      if (uses[v] != 1 || is_other_type) {
        define_out_of_line(e);
        return false;
      }
      define_part(v, buffer.get(), part, index);
      return true;
    };

    comma(first);
    for (const Expr& e : buffer->shape) {
      if (is_new(e)) { define_out_of_line(e); }
    }
    tuple(buffer->shape);
    if (!(buffer->dtype == DataType::float_(32))) {
      out_ += ", ";
      dtype_literal(buffer->dtype);
    }
    if (is_defined(buffer->data.get())) {
      out_ += ", data=";
      variable(*buffer->data);
    } else if (definition != VarDefinition::None) {
      if (!define_inline(buffer->data, Part::Data, 0)) {
        out_ += ", data=";
        variable(*buffer->data);
      }
    } else {
      define_out_of_line(buffer->data);
      out_ += ", data=";
      variable(*buffer->data);
    }
    if (!buffer->strides.empty()) {
      out_ += ", strides=(";
      bool first_stride = true;
      for (size_t i = 0; i < buffer->strides.size(); ++i) {
        const Expr& e = buffer->strides[i];
        comma(first_stride);
        if (is_new(e) && define_inline(e, Part::Stride, static_cast<int>(i))) {
          string_literal(e.as<VarNode>()->name.view());
        } else {
          expr(e);
        }
      }
      out_ += buffer->strides.size() == 1 ? ",)" : ")";
    }
    bool shows_factor = buffer->offset_factor != 1;
    if (buffer->elem_offset) {
      const Expr& offset = buffer->elem_offset;
      if (offset.kind() == NodeKind::IntImm) {
        if (!is_zero(offset)) {
          out_ += ", elem_offset=";
          expr(offset);
        }
      } else if (is_new(offset)) {
        if (!define_inline(offset, Part::Offset, 0)) {
          out_ += ", elem_offset=";
          expr(offset);
        }
        shows_factor = true;
      } else {
        out_ += ", elem_offset=";
        expr(offset);
      }
    }
    Name scope_name = buffer->scope();
    if (!(scope_name == "global")) {
      out_ += ", scope=";
      string_literal(scope_name.view());
    }
    if (buffer->data_alignment != 64) {
      out_ += ", align=";
      integer(buffer->data_alignment);
    }
    if (shows_factor) {
      out_ += ", offset_factor=";
      integer(buffer->offset_factor);
    }
    if (buffer->buffer_kind != BufferKind::Default) { out_ += ", buffer_type=\"auto\""; }
    if (!buffer->axis_separators.empty()) {
      out_ += ", axis_separators=[";
      bool first_separator = true;
      for (int separator : buffer->axis_separators) {
        comma(first_separator);
        integer(separator);
      }
      out_ += ']';
    }
    if (defined) { insert_before(frames_.back(), defined_left + " = " + defined_right); }
  }

  void block_axes(const Block& b, const BlockRealize* realize) {
    std::vector<size_t> remapped;
    auto is_remapped = [&](size_t i) {
      if (!realize) { return false; }
      const IterVar& iter = b.iter_vars[i];
      if (iter.kind != IterKind::Spatial && iter.kind != IterKind::Reduction) { return false; }
      const auto* value = realize->iter_values[i].as<VarNode>();
      if (!value) { return false; }
      for (const Frame& frame : frames_) {
        if (!frame.node || !is_loop_frame(frame)) { continue; }
        const auto* loop = static_cast<const For*>(static_cast<const StmtNode*>(frame.node));
        for (; loop; loop = loop->body.as<For>()) {
          if (loop->var.get() == value) { return deep_equal(loop->min, iter.dom.min) && deep_equal(loop->extent, iter.dom.extent); }
        }
      }
      return false;
    };
    auto single = [&](size_t i) {
      static constexpr const char* kinds[] = {" = T.axis.spatial(", " = T.axis.reduce(", " = T.axis.scan(", " = T.axis.opaque(", " = T.axis.opaque("};
      const IterVar& iter = b.iter_vars[i];
      begin_line();
      size_t mark = out_.size();
      marks_.push_back(&mark);
      out_ += kinds[static_cast<size_t>(iter.kind)];
      if (is_zero(iter.dom.min)) {
        expr(iter.dom.extent);
      } else {
        out_ += '(';
        expr(iter.dom.min);
        out_ += ", ";
        expr(add(iter.dom.min, iter.dom.extent));
        out_ += ')';
      }
      if (realize) {
        out_ += ", ";
        expr(realize->iter_values[i]);
      }
      out_ += ")\n";
      marks_.pop_back();
      out_.insert(mark, define_var(iter.var.get()).view());
    };
    auto flush = [&] {
      if (remapped.size() == 1) {
        single(remapped[0]);
      } else if (remapped.size() > 1) {
        begin_line();
        bool first = true;
        for (size_t i : remapped) {
          comma(first);
          out_ += define_var(b.iter_vars[i].var.get()).view();
        }
        out_ += " = T.axis.remap(\"";
        for (size_t i : remapped) { out_ += b.iter_vars[i].kind == IterKind::Spatial ? 'S' : 'R'; }
        out_ += "\", [";
        first = true;
        for (size_t i : remapped) {
          comma(first);
          expr(realize->iter_values[i]);
        }
        out_ += "])\n";
      }
      remapped.clear();
    };
    for (size_t i = 0; i < b.iter_vars.size(); ++i) {
      if (is_remapped(i)) {
        remapped.push_back(i);
        continue;
      }
      flush();
      single(i);
    }
    flush();
  }

  static auto is_simple(const Buffer& buffer) -> bool {
    if (!buffer->strides.empty() || !(buffer->scope() == "global") || buffer->data_alignment != 64 || buffer->offset_factor != 1 ||
        buffer->buffer_kind != BufferKind::Default || !buffer->axis_separators.empty()) {
      return false;
    }
    if (buffer->elem_offset && !is_zero(buffer->elem_offset)) { return false; }
    return std::all_of(buffer->shape.begin(), buffer->shape.end(),
                       [](const Expr& e) { return e.kind() == NodeKind::IntImm || !uses_var(e, [](const VarNode&) { return true; }); });
  }

  // Parameters that occur elsewhere than as the key of their buffer.
  static void find_used_params(const PrimFunc& fn, std::unordered_set<const VarNode*>& used) {
    std::unordered_map<const VarNode*, int> listed;
    for (const Var& param : fn->params) {
      if (++listed[param.get()] > 1) { used.insert(param.get()); }
    }
    auto note = [&](const VarNode& v) {
      if (listed.count(&v)) { used.insert(&v); }
      return false;
    };
    for (const auto& [param, buffer] : fn->buffer_map) {
      (void)param;
      note(*buffer->data);
      auto check = [&](const Expr& e) {
        if (e && e.kind() != NodeKind::IntImm) { (void)uses_var(e, note); }
      };
      for (const Expr& e : buffer->shape) { check(e); }
      for (const Expr& e : buffer->strides) { check(e); }
      check(buffer->elem_offset);
    }
    (void)uses_var(fn->body, note);
  }

  static auto contains_block(const Stmt& s) -> bool {
    switch (s.kind()) {
      case NodeKind::BlockRealize: return true;
      case NodeKind::For: return contains_block(s.as<For>()->body);
      case NodeKind::SeqStmt: {
        const auto& seq = s.as<SeqStmt>()->seq;
        return std::any_of(seq.begin(), seq.end(), contains_block);
      }
      default: {
        bool found = false;
        visit_children(s, [](const Expr&) {}, [&](const Stmt& child) { found = found || contains_block(child); });
        return found;
      }
    }
  }

  static auto implicit_root(const PrimFunc& fn) -> const Block* {
    const auto* realize = fn->body.as<BlockRealize>();
    if (!realize || !realize->iter_values.empty() || !is_true(realize->predicate)) { return nullptr; }
    const Block& root = *realize->block;
    if (!root.iter_vars.empty() || !root.annotations.empty() || !root.match_buffers.empty() || !root.reads.empty() || !root.writes.empty() || root.init) {
      return nullptr;
    }
    const auto* inner = root.body.as<BlockRealize>();
    bool shown = !root.alloc_buffers.empty() || (inner && !inner->block->iter_vars.empty()) || (!inner && contains_block(root.body));
    return shown ? &root : nullptr;
  }

  // ---- names ---------------------------------------------------------------------------------------------

  auto push_frame(const void* node) -> Frame& {
    Frame frame;
    frame.node = node;
    frame.stmt_begin = frames_.empty() ? out_.size() : frames_.back().stmt_begin;
    frame.indent = frames_.empty() ? indent_ : frames_.back().indent;
    frames_.push_back(std::move(frame));
    return frames_.back();
  }
  void pop_frame() {
    for (const void* object : frames_.back().defined) {
      auto found = objects_.find(object);
      if (found == objects_.end()) { continue; }
      if (found->second.part == Part::Named) { names_.erase(found->second.name); }
      objects_.erase(found);
    }
    frames_.pop_back();
  }
  auto is_loop_frame(const Frame& frame) const -> bool {
    return frame.node != root_func_.get() && static_cast<const StmtNode*>(frame.node)->kind == NodeKind::For;
  }

  auto is_defined(const void* object) const -> bool { return objects_.count(object) != 0; }

  auto define_in(Frame& frame, const void* object, Name hint) -> Name {
    auto found = objects_.find(object);
    if (found != objects_.end() && found->second.part == Part::Named) { return found->second.name; }
    Name name = unique(hint);
    names_.insert(name);
    objects_[object] = Entry{name, Part::Named, nullptr, 0};
    frame.defined.push_back(object);
    return name;
  }
  auto define(const void* object, Name hint) -> Name { return define_in(frames_.back(), object, hint); }
  auto define_var(const VarNode* v) -> Name { return define(v, v->name.empty() ? Name("v") : v->name); }
  void define_part(const void* object, const BufferNode* buffer, Part part, int index = 0) {
    objects_[object] = Entry{Name(), part, buffer, index};
    frames_.back().defined.push_back(object);
  }

  auto unique(Name hint) -> Name {
    if (!is_clean(hint.view())) {
      std::string text = hint.str();
      for (char& c : text) {
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter) { c = '_'; }
      }
      if (text.empty() || (text[0] >= '0' && text[0] <= '9')) { text.insert(0, "_"); }
      hint = Name(text);
    }
    if (names_.count(hint) == 0 && !is_reserved(hint.view())) { return hint; }
    std::string text;
    for (int i = 1;; ++i) {
      text = hint.str();
      text += '_';
      text += std::to_string(i);
      Name candidate(text);
      if (names_.count(candidate) == 0) { return candidate; }
    }
  }
  static auto is_clean(std::string_view text) -> bool {
    if (text.empty() || (text[0] >= '0' && text[0] <= '9')) { return false; }
    return std::all_of(text.begin(), text.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
  }

  auto lookup_name(const void* object) const -> std::string_view {
    auto found = objects_.find(object);
    return found == objects_.end() ? std::string_view("?") : found->second.name.view();
  }

  void variable(const VarNode& v) {
    auto found = objects_.find(&v);
    if (found == objects_.end()) {
      if (!declares_free()) {
        define_in(frames_.empty() ? push_frame(nullptr) : frames_.front(), &v, v.name.empty() ? Name("v") : v.name);
      } else {
        declare_free(&v);
      }
      found = objects_.find(&v);
    }
    const Entry entry = found->second;
    switch (entry.part) {
      case Part::Named: out_ += entry.name.view(); return;
      case Part::Data: buffer_name(*entry.buffer); out_ += ".data"; return;
      case Part::Offset: buffer_name(*entry.buffer); out_ += ".elem_offset"; return;
      case Part::Stride:
        buffer_name(*entry.buffer);
        out_ += ".strides[";
        integer(entry.index);
        out_ += ']';
        return;
    }
  }

  void buffer_name(const Buffer& buffer) { buffer_name(*buffer); }
  void buffer_name(const BufferNode& buffer) {
    auto found = objects_.find(&buffer);
    if (found == objects_.end()) {
      Name hint = buffer.name.empty() ? Name("buffer") : buffer.name;
      if (!declares_free()) {
        define_in(frames_.empty() ? push_frame(nullptr) : frames_.front(), &buffer, hint);
      } else {
        Frame& frame = frame_of(&buffer);
        size_t index = static_cast<size_t>(&frame - frames_.data());
        Name name = define_in(frame, &buffer, hint);
        // The arguments may need declarations of their own, in the same frame and in front of this one.
        size_t mark = out_.size();
        marks_.push_back(&mark);
        std::swap(frames_[index], frames_.back());
        buffer_arguments(Buffer(&buffer), VarDefinition::DataPointer, true);
        std::swap(frames_[index], frames_.back());
        marks_.pop_back();
        std::string arguments = out_.substr(mark);
        out_.resize(mark);
        insert_before(frames_[index], name.str() + " = T.Buffer(" + arguments + ")");
      }
      found = objects_.find(&buffer);
    }
    out_ += found->second.name.view();
  }

  auto declares_free() const -> bool { return root_func_ || options_.declare_free; }

  auto scopes() -> const UseScopes& {
    if (!scopes_) {
      scopes_ = std::make_unique<UseScopes>(root_func_ ? static_cast<const void*>(root_func_.get()) : fragment_root_.get());
      if (root_func_) {
        for (const Var& v : root_func_->params) { scopes_->note(v); }
        for (const auto& [param, buffer] : root_func_->buffer_map) { scopes_->note(buffer); }
        scopes_->enter(root_func_->body);
      } else if (fragment_root_) {
        scopes_->visit(fragment_root_);
      }
    }
    return *scopes_;
  }

  // The innermost frame that holds all uses.
  auto frame_of(const void* object) -> Frame& {
    if (const UseScopes::Path* path = scopes().of(object)) {
      for (auto node = path->rbegin(); node != path->rend(); ++node) {
        for (size_t i = frames_.size(); i-- > 0;) {
          if (frames_[i].node == *node) { return frames_[i]; }
        }
      }
    }
    return frames_.front();
  }

  void declare_free(const VarNode* v) {
    if (!declares_free()) {
      define_in(frames_.empty() ? push_frame(nullptr) : frames_.front(), v, v->name.empty() ? Name("v") : v->name);
      return;
    }
    Frame& frame = frame_of(v);
    Name name = define_in(frame, v, v->name.empty() ? Name("v") : v->name);
    size_t mark = out_.size();
    var_creation(*v);
    std::string creation = out_.substr(mark);
    out_.resize(mark);
    insert_before(frame, name.str() + " = " + creation);
  }
  void declare_env_thread(const IterVar& iter) {
    Frame& frame = frame_of(iter.var.get());
    Name name = define_in(frame, iter.var.get(), iter.var->name.empty() ? Name("v") : iter.var->name);
    insert_before(frame, name.str() + " = T.env_thread(" + string_text(iter.thread_tag.view()) + ")");
  }

  // A line of its own in front of the statement that is being written in `frame`.
  void insert_before(const Frame& target, const std::string& line) {
    size_t at = target.stmt_begin;
    std::string text(static_cast<size_t>(target.indent), ' ');
    text += line;
    text += '\n';
    out_.insert(at, text);
    size_t n = text.size();
    for (Frame& frame : frames_) {
      if (frame.stmt_begin >= at) { frame.stmt_begin += n; }
    }
    for (size_t* mark : marks_) {
      if (*mark >= at) { *mark += n; }
    }
    if (options_.ranges) {
      auto move = [&](uint32_t& offset) {
        if (offset >= at) { offset += static_cast<uint32_t>(n); }
      };
      for (PrintedRange& r : *options_.ranges) {
        move(r.begin);
        move(r.end);
        move(r.name_begin);
        move(r.name_end);
      }
    }
  }

  void var_type(const VarNode& v) {
    if (!v.pointer) {
      type_name(v.dtype);
      return;
    }
    var_creation(v);
  }
  // `T.int32()`, `T.handle("float32", "global")`.
  void var_creation(const VarNode& v) {
    if (v.pointer) {
      out_ += "T.handle(";
      dtype_literal(v.pointer->element);
      if (!v.pointer->scope.empty()) {
        out_ += ", ";
        string_literal(v.pointer->scope.view());
      }
      out_ += ')';
      return;
    }
    type_name(v.dtype);
    out_ += "()";
  }

  // ---- ranges --------------------------------------------------------------------------------------------

  auto add_range(const StmtNode* node, NodeId id, size_t begin) -> size_t {
    if (!options_.ranges) { return 0; }
    options_.ranges->push_back({node, id, static_cast<uint32_t>(begin), 0, 0, 0});
    return options_.ranges->size() - 1;
  }
  auto range_at(size_t index) -> PrintedRange& { return (*options_.ranges)[index]; }
  void end_range(size_t index) {
    if (!options_.ranges) { return; }
    size_t end = out_.size();
    while (end > 0 && out_[end - 1] == '\n') { --end; }
    range_at(index).end = static_cast<uint32_t>(end);
  }
  void name_range(size_t index, NodeId id, size_t begin) {
    if (!options_.ranges) { return; }
    range_at(index).id = id;
    range_at(index).name_begin = static_cast<uint32_t>(begin);
    range_at(index).name_end = static_cast<uint32_t>(out_.size());
  }

  const PrintOptions& options_;
  bool sblock_;
  bool in_module_ = false;
  std::string out_;
  int indent_ = 0;
  std::vector<Frame> frames_;
  std::vector<size_t*> marks_;
  std::vector<size_t> grid_ranges_;
  std::unordered_map<const void*, Entry> objects_;
  std::unordered_set<Name> names_;
  PrimFunc root_func_;
  Stmt fragment_root_;
  std::unique_ptr<UseScopes> scopes_;
  const Name ret_ = Name("ret");
};

auto cut(std::string text, size_t limit) -> std::string {
  if (text.size() <= limit) { return text; }
  size_t end = limit > 3 ? limit - 3 : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) { --end; }
  text.resize(end);
  return text + "...";
}

}  // namespace

auto print_script(const IRModule& module, const PrintOptions& options) -> std::string {
  Printer printer(options, options.override_dialect ? options.dialect : module->dialect);
  printer.module(module);
  return printer.take();
}
auto print_script(const PrimFunc& func, const PrintOptions& options) -> std::string {
  Printer printer(options, options.dialect);
  printer.function_alone(func);
  return printer.take();
}
auto print_script(const Stmt& stmt, const PrintOptions& options) -> std::string {
  if (!stmt) { return "None"; }
  Printer printer(options, options.dialect);
  printer.fragment(stmt);
  return printer.take();
}
auto print_script(const Expr& expr, const PrintOptions& options) -> std::string {
  if (!expr) { return "None"; }
  Printer printer(options, options.dialect);
  printer.expr(expr);
  return printer.take();
}
auto print_script(const Buffer& buffer, const PrintOptions& options) -> std::string {
  PrintOptions plain = options;
  Printer printer(plain, options.dialect);
  printer.fragment_buffer(buffer);
  return printer.take();
}
auto print_script(const BufferRegion& region, const PrintOptions& options) -> std::string {
  Printer printer(options, options.dialect);
  printer.region(region);
  return printer.take();
}
auto print_script(const Range& range, const PrintOptions& options) -> std::string {
  Printer printer(options, options.dialect);
  printer.slice(range);
  return printer.take();
}
auto print_script(const Attr& attr, const PrintOptions& options) -> std::string {
  Printer printer(options, options.dialect);
  printer.attr(attr);
  return printer.take();
}
auto target_key() -> Name {
  static const Name key("T.target");
  return key;
}
auto target_attr(const Attr& attr) -> const Attr* {
  const auto* map = std::get_if<AttrMap>(&attr.value);
  return map && map->size() == 1 && (*map)[0].first == target_key() ? &(*map)[0].second : nullptr;
}

auto print_script(const AttrMap& attrs, const PrintOptions& options) -> std::string {
  Printer printer(options, options.dialect);
  printer.attrs(attrs);
  return printer.take();
}
auto print_script(const IndexMap& map, const PrintOptions& options) -> std::string {
  Printer printer(options, options.dialect);
  printer.index_map(map);
  return printer.take();
}

auto print_debug(const Expr& expr, size_t limit) -> std::string { return cut(print_script(expr), limit); }
auto print_debug(const Stmt& stmt, size_t limit) -> std::string {
  std::string text = print_script(stmt);
  size_t end = text.find('\n');
  if (end != std::string::npos) { text.resize(end); }
  return cut(std::move(text), limit);
}

auto float_text(double value) -> std::string {
  if (std::isnan(value)) { return "\"nan\""; }
  if (std::isinf(value)) { return value < 0 ? "\"-inf\"" : "\"inf\""; }
  char text[400];
  bool whole = std::nearbyint(value) == value;
  int n = std::snprintf(text, sizeof text, whole ? "%.1f" : "%.17g", value);
  return std::string(text, static_cast<size_t>(n));
}

auto string_text(std::string_view text) -> std::string {
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  for (char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          char hex[8];
          std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
          out += hex;
        } else {
          out += c;
        }
    }
  }
  out += '"';
  return out;
}

}  // namespace loopsmith
