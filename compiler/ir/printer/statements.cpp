// The script printer: statements, blocks and their axes.
#include <algorithm>

#include "ir/ops.h"
#include "ir/printer/script_printer.h"
#include "ir/visitor.h"

namespace loopsmith {

namespace {

// Compares loop domains: the same expression, node for node, with identical variables.
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

}  // namespace

void ScriptPrinter::fragment(const Stmt& s) {
  fragment_root_ = s;
  push_frame(s.get());
  body(s);
  pop_frame();
}

void ScriptPrinter::body(const Stmt& s) {
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

void ScriptPrinter::stmt(const Stmt& s) {
  begin_line();
  size_t range = add_range(s.get(), 0, out_.size());
  switch (s.kind()) {
#define EXPR(Kind) case NodeKind::Kind: break;
#define STMT(Kind) case NodeKind::Kind: on(*static_cast<const Kind*>(s.get()), range); break;
#include "ir/nodes.def"
  }
  end_range(range);
}

void ScriptPrinter::on(const LetStmt& s, size_t) {
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
    // The value is printed before the name is taken: `x: T.int32 = x_1` never refers to itself.
    Mark mark(*this);
    expr(s.value);
    std::string value = mark.cut();
    push_frame(&s);
    out_ += define_var(s.var.get()).view();
    // Since 0.25 a plain annotation declares memory.
    out_ += sblock_ ? ": T.let[" : ": ";
    var_type(*s.var);
    out_ += sblock_ ? "] = " : " = ";
    out_ += value;
    out_ += '\n';
    body(s.body);
    pop_frame();
    return;
  }
  out_ += "with T.LetStmt(";
  expr(s.value);
  // The value does not show the element type of a pointer; the variable's annotation does.
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

void ScriptPrinter::on(const AttrStmt& s, size_t) {
  bool concise = frames_.back().concise;
  const VarNode* defines = nullptr;
  const Stmt* rest = &s.body;
  Mark mark(*this);
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
  scope(&s, mark.release(), *rest, concise, [&]() -> std::string_view { return defines ? define_var(defines).view() : std::string_view(); });
}

void ScriptPrinter::on(const AssertStmt& s, size_t) {
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

void ScriptPrinter::on(const BufferStore& s, size_t) {
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

void ScriptPrinter::on(const BufferRealize& s, size_t) {
  bool concise = frames_.back().concise;
  Mark mark(*this);
  realize_call(s, {});
  scope(&s, mark.release(), s.body, concise, [] { return std::string_view(); });
}

void ScriptPrinter::on(const Allocate& s, size_t) {
  bool concise = frames_.back().concise;
  if (const auto* decl = s.body.as<DeclBuffer>(); decl && is_allocated_declaration(s, *decl)) {
    decl_buffer(*decl, VarDefinition::DataPointer, concise);
    return;
  }
  Mark mark(*this);
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
  size_t begin = mark.release();
  Name name = define_var(s.data.get());
  scope(&s, begin, s.body, concise, [&] { return name.view(); });
}

void ScriptPrinter::on(const AllocateConst& s, size_t) {
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

void ScriptPrinter::on(const SeqStmt& s, size_t) {
  // Prints a sequence in the place of a single statement (no pass of ours makes one) as a separate body.
  body(Stmt(Ref<StmtNode>(&s)));
}

void ScriptPrinter::on(const Evaluate& s, size_t) {
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

void ScriptPrinter::on(const IfThenElse& s, size_t) {
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

namespace {

// Directly nested serial loops that start at 0 and do not depend on each other, which are printed as one `T.grid`.
auto grid_of(const For& outermost) -> std::vector<const For*> {
  std::vector<const For*> grid;
  for (const For* loop = &outermost; loop; loop = loop->body.as<For>()) {
    bool is_plain = loop->for_kind == ForKind::Serial && is_zero(loop->min) && loop->annotations.empty();
    bool depends = is_plain && !grid.empty() && loop->extent.kind() != NodeKind::IntImm && uses_var(loop->extent, [&](const VarNode& v) {
      return std::any_of(grid.begin(), grid.end(), [&](const For* outer) { return outer->var.get() == &v; });
    });
    if (!is_plain || depends) { break; }
    grid.push_back(loop);
  }
  return grid;
}

}  // namespace

void ScriptPrinter::on(const For& s, size_t range) {
  std::vector<const For*> grid = grid_of(s);
  push_frame(&s);
  out_ += "for ";
  if (grid.size() > 1) { grid_loops(grid, range); } else { one_loop(s, range); }
  pop_frame();
}

void ScriptPrinter::grid_loops(const std::vector<const For*>& grid, size_t range) {
  bool first = true;
  uint32_t begin = options_.ranges ? range_at(range).begin : 0;
  for (const For* loop : grid) {
    comma(first);
    size_t at = out_.size();
    out_ += define_var(loop->var.get()).view();
    if (!options_.ranges) { continue; }
    if (loop == grid[0]) {
      name_range(range, loop->id, at);
    } else {
      size_t inner = add_range(loop, loop->id, begin);
      name_range(inner, loop->id, at);
      open_ranges_.push_back(inner);
    }
  }
  out_ += " in T.grid(";
  first = true;
  for (const For* loop : grid) {
    comma(first);
    expr(loop->extent);
  }
  out_ += "):\n";
  indented(grid.back()->body);
  if (!options_.ranges) { return; }
  for (size_t i = 0; i + 1 < grid.size(); ++i) {
    end_range(open_ranges_.back());
    open_ranges_.pop_back();
  }
}

void ScriptPrinter::one_loop(const For& s, size_t range) {
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
}

void ScriptPrinter::on(const While& s, size_t) {
  out_ += "while ";
  expr(s.condition);
  out_ += ":\n";
  nested(&s, s.body);
}

void ScriptPrinter::block(const Block& b, const BlockRealize* realize, size_t range) {
  out_ += "with ";
  out_ += of_blocks();
  out_ += sblock_ ? "sblock(" : "block(";
  size_t at = out_.size() + 1;
  string_literal(b.name.view());
  if (options_.ranges) {
    size_t own = realize ? add_range(&b, b.id, range_at(range).begin) : range;
    range_at(own).id = b.id;
    range_at(own).name_begin = static_cast<uint32_t>(at);
    range_at(own).name_end = static_cast<uint32_t>(out_.size() - 1);
    open_ranges_.push_back(own);
  }
  if (!realize) { out_ += ", no_realize=True"; }
  out_ += "):\n";
  push_frame(&b);
  indent_ += 4;
  block_axes(b, realize);
  if (realize && !is_true(realize->predicate)) {
    begin_line();
    out_ += of_blocks();
    out_ += "where(";
    expr(realize->predicate);
    out_ += ")\n";
  }
  begin_line();
  out_ += of_blocks();
  out_ += "reads(";
  regions(b.reads);
  out_ += ")\n";
  begin_line();
  out_ += of_blocks();
  out_ += "writes(";
  regions(b.writes);
  out_ += ")\n";
  if (!b.annotations.empty()) {
    begin_line();
    out_ += of_blocks();
    out_ += sblock_ ? "sblock_attr(" : "block_attr(";
    attrs(b.annotations);
    out_ += ")\n";
  }
  for (const Buffer& buffer : b.alloc_buffers) { alloc_buffer(buffer); }
  for (const MatchBufferRegion& match : b.match_buffers) {
    begin_line();
    out_ += define(match.buffer.get(), match.buffer->name.empty() ? Name("buffer") : match.buffer->name).view();
    out_ += is_tensor() ? " = T.match_tensor(" : " = T.match_buffer(";
    region(match.source);
    buffer_arguments(match.buffer, VarDefinition::MatchBuffer, false);
    out_ += ")\n";
  }
  if (b.init) {
    begin_line();
    out_ += "with ";
    out_ += of_blocks();
    out_ += "init():\n";
    nested(b.init.get(), b.init);
  }
  body(b.body);
  indent_ -= 4;
  pop_frame();
  if (options_.ranges) {
    end_range(open_ranges_.back());
    open_ranges_.pop_back();
  }
}

void ScriptPrinter::begin_line() {
  Frame& frame = frames_.back();
  frame.stmt_begin = out_.size();
  frame.indent = indent_;
  pad();
}

void ScriptPrinter::indented(const Stmt& s) {
  indent_ += 4;
  body(s);
  indent_ -= 4;
}

void ScriptPrinter::nested(const void* node, const Stmt& s) {
  push_frame(node);
  indented(s);
  pop_frame();
}

void ScriptPrinter::realize_call(const BufferRealize& s, const Expr& storage) {
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

auto ScriptPrinter::is_allocated_declaration(const Allocate& s, const DeclBuffer& decl) -> bool {
  const Buffer& buffer = decl.buffer;
  return s.data.same_as(buffer->data) && is_true(s.condition) && s.annotations.empty() && s.dtype == buffer->dtype &&
         std::equal(s.extents.begin(), s.extents.end(), buffer->shape.begin(), buffer->shape.end(), deep_equal);
}

auto ScriptPrinter::is_remapped(const Block& b, const BlockRealize* realize, size_t i) const -> bool {
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
}

void ScriptPrinter::one_axis(const IterVar& iter, const Expr& binding) {
  static constexpr const char* kinds[] = {"axis.spatial(", "axis.reduce(", "axis.scan(", "axis.opaque(", "axis.opaque("};
  begin_line();
  Mark mark(*this);
  out_ += " = ";
  out_ += of_blocks();
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
  if (binding) {
    out_ += ", ";
    expr(binding);
  }
  out_ += ")\n";
  // The axis gets its name last: its domain and binding never refer to it.
  size_t begin = mark.release();
  out_.insert(begin, define_var(iter.var.get()).view());
}

void ScriptPrinter::remapped_axes(const Block& b, const BlockRealize& realize, const std::vector<size_t>& axes) {
  begin_line();
  bool first = true;
  for (size_t i : axes) {
    comma(first);
    out_ += define_var(b.iter_vars[i].var.get()).view();
  }
  out_ += " = ";
  out_ += of_blocks();
  out_ += "axis.remap(\"";
  for (size_t i : axes) { out_ += b.iter_vars[i].kind == IterKind::Spatial ? 'S' : 'R'; }
  out_ += "\", [";
  first = true;
  for (size_t i : axes) {
    comma(first);
    expr(realize.iter_values[i]);
  }
  out_ += "])\n";
}

void ScriptPrinter::block_axes(const Block& b, const BlockRealize* realize) {
  std::vector<size_t> remapped;
  auto one = [&](size_t i) { one_axis(b.iter_vars[i], realize ? realize->iter_values[i] : Expr()); };
  auto flush = [&] {
    if (remapped.size() == 1) { one(remapped[0]); }
    if (remapped.size() > 1) { remapped_axes(b, *realize, remapped); }
    remapped.clear();
  };
  for (size_t i = 0; i < b.iter_vars.size(); ++i) {
    if (is_remapped(b, realize, i)) {
      remapped.push_back(i);
      continue;
    }
    flush();
    one(i);
  }
  flush();
}

}  // namespace loopsmith
