// Structural equality, its first difference, and the matching hash: see equal.h. One comparer walks
// both trees in step; the hash walks one tree in the same order and numbers definitions as it visits them.
#include "ir/equal.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "ir/printer.h"
#include "support/hash.h"
#include "support/text.h"

namespace loopsmith {
namespace {

enum class Mode : bool { Use, Define };

class Comparer {
 public:
  Comparer(const EqualOptions& options, bool explain) : options_(options), explain_(explain) {}

  auto difference() -> std::optional<Difference> { return std::move(difference_); }

  auto module(const IRModule& a, const IRModule& b) -> bool {
    for (const auto& [name, func] : a->functions) {
      PrimFunc other = b->find(name);
      Step step(*this, "function", name);
      if (!other) { return differ(quoted_name("function", name), "(nothing)"); }
      if (!this->func(func, other)) { return false; }
    }
    for (const auto& [name, func] : b->functions) {
      Step step(*this, "function", name);
      if (!a->find(name)) { return differ("(nothing)", quoted_name("function", name)); }
    }
    return attrs(a->attrs, b->attrs, "module attributes");
  }

  auto func(const PrimFunc& a, const PrimFunc& b) -> bool {
    if (a.same_as(b) && !options_.map_free_vars) { return true; }
    {
      Step step(*this, "parameters");
      if (a->params.size() != b->params.size()) { return differ(count(a->params.size(), "parameter"), count(b->params.size(), "parameter")); }
      for (size_t i = 0; i < a->params.size(); ++i) {
        Step at(*this, "parameter", a->params[i]->name);
        if (!var(*a->params[i], *b->params[i], Mode::Define)) { return false; }
      }
    }
    for (size_t i = 0; i < a->params.size(); ++i) {
      Buffer x = a->buffer_of(a->params[i]);
      Buffer y = b->buffer_of(b->params[i]);
      Step at(*this, "parameter", a->params[i]->name);
      if (!x != !y) { return differ(x ? buffer_text(x) : "no buffer", y ? buffer_text(y) : "no buffer"); }
      if (x && !buffer(x, y)) { return false; }
    }
    if (!(a->ret_type == b->ret_type)) {
      Step step(*this, "return type");
      return differ(a->ret_type.str(), b->ret_type.str());
    }
    if (a->is_private != b->is_private) { return differ(a->is_private ? "private" : "public", b->is_private ? "private" : "public"); }
    if (!attrs(a->attrs, b->attrs, "function attributes")) { return false; }
    return stmt(a->body, b->body);
  }

  auto stmt(const Stmt& a, const Stmt& b) -> bool {
    if (!a || !b) { return (!a && !b) || differ_stmt(a, b); }
    if (a.kind() != b.kind()) { return differ_stmt(a, b); }
    Around around(*this, a.origin(), b.origin());
    switch (a.kind()) {
#define EXPR(Kind) case NodeKind::Kind: return false;
#define STMT(Kind) case NodeKind::Kind: return on(*static_cast<const Kind*>(a.get()), *static_cast<const Kind*>(b.get()), a, b);
#include "ir/nodes.def"
    }
    return false;
  }

  auto expr(const Expr& a, const Expr& b, Mode mode = Mode::Use) -> bool {
    if (!a || !b) { return (!a && !b) || differ_expr(a, b); }
    if (a.kind() != b.kind() || !(a.dtype() == b.dtype())) { return differ_expr(a, b); }
    Around around(*this, a.origin(), b.origin());
    switch (a.kind()) {
#define STMT(Kind) case NodeKind::Kind: return false;
#define EXPR(Kind) case NodeKind::Kind: return on(*static_cast<const Kind*>(a.get()), *static_cast<const Kind*>(b.get()), mode, a, b);
#include "ir/nodes.def"
    }
    return false;
  }

  auto attrs(const AttrMap& a, const AttrMap& b, const char* what) -> bool {
    if (a.same_as(b) && !options_.map_free_vars) { return true; }
    Step step(*this, what);
    size_t i = 0;
    size_t j = 0;
    while (i < a.size() || j < b.size()) {
      bool only_left = j >= b.size() || (i < a.size() && a[i].first < b[j].first);
      bool only_right = !only_left && (i >= a.size() || b[j].first < a[i].first);
      if (only_left) { return differ(attr_text(a[i]), "(nothing)"); }
      if (only_right) { return differ("(nothing)", attr_text(b[j])); }
      Step at(*this, "attribute", a[i].first);
      if (!attr(a[i].second, b[j].second)) { return false; }
      ++i;
      ++j;
    }
    return true;
  }

  auto attr(const Attr& a, const Attr& b) -> bool {
    if (a.value.index() != b.value.index()) { return differ(print_lazily(a), print_lazily(b)); }
    if (std::holds_alternative<std::monostate>(a.value)) { return true; }
    if (const auto* x = std::get_if<Expr>(&a.value)) { return expr(*x, std::get<Expr>(b.value)); }
    if (const auto* x = std::get_if<std::string>(&a.value)) { return *x == std::get<std::string>(b.value) || differ(print_lazily(a), print_lazily(b)); }
    if (const auto* x = std::get_if<Array<Attr>>(&a.value)) {
      const auto& y = std::get<Array<Attr>>(b.value);
      if (x->size() != y.size()) { return differ(print_lazily(a), print_lazily(b)); }
      for (size_t i = 0; i < x->size(); ++i) {
        if (!attr((*x)[i], y[i])) { return false; }
      }
      return true;
    }
    if (const auto* x = std::get_if<AttrMap>(&a.value)) { return attrs(*x, std::get<AttrMap>(b.value), "dictionary"); }
    return index_map(std::get<IndexMap>(a.value), std::get<IndexMap>(b.value));
  }

  auto index_map(const IndexMap& a, const IndexMap& b) -> bool {
    if (a.same_as(b)) { return true; }
    if (!a || !b || a->initial.size() != b->initial.size() || a->final.size() != b->final.size()) {
      return differ(a ? print_lazily(Attr(a)) : "None", b ? print_lazily(Attr(b)) : "None");
    }
    for (size_t i = 0; i < a->initial.size(); ++i) {
      if (!var(*a->initial[i], *b->initial[i], Mode::Define)) { return false; }
    }
    return exprs(a->final, b->final, "index");
  }

 private:
  // ---- the path to the current place, for `first_difference` -----------------------------------------------

  struct PathItem { const char* what; Name name; int index; };
  struct Step {
    Step(Comparer& owner, const char* what, Name name = {}, int index = -1) : owner_(owner) {
      if (owner_.explain_) { owner_.path_.push_back({what, name, index}); }
    }
    ~Step() {
      if (owner_.explain_) { owner_.path_.pop_back(); }
    }
    Step(const Step&) = delete;
    Comparer& owner_;
  };
  struct Around {
    Around(Comparer& owner, Origin a, Origin b) : owner_(owner), left_(owner.left_origin_), right_(owner.right_origin_) {
      if (a.is_known()) { owner.left_origin_ = a; }
      if (b.is_known()) { owner.right_origin_ = b; }
    }
    ~Around() {
      owner_.left_origin_ = left_;
      owner_.right_origin_ = right_;
    }
    Around(const Around&) = delete;
    Comparer& owner_;
    Origin left_, right_;
  };

  // Always returns false, so that callers can `return differ(...)`.
  auto differ(std::string left, std::string right) -> bool {
    if (explain_ && !difference_) {
      Difference d;
      for (const PathItem& item : path_) {
        if (!d.path.empty()) { d.path += " > "; }
        d.path += item.what;
        if (item.index >= 0) { d.path += ' ' + std::to_string(item.index); }
        if (!item.name.empty()) { d.path += " `" + item.name.str() + '`'; }
      }
      d.left = std::move(left);
      d.right = std::move(right);
      d.left_origin = left_origin_;
      d.right_origin = right_origin_;
      difference_ = std::move(d);
    }
    return false;
  }
  auto differ_expr(const Expr& a, const Expr& b) -> bool {
    if (!explain_) { return false; }
    if (a && b) {
      Around around(*this, a.origin(), b.origin());
      std::string left = print_debug(a, 200);
      std::string right = print_debug(b, 200);
      if (left == right) {
        left += " (" + a.dtype().str() + ')';
        right += " (" + b.dtype().str() + ')';
      }
      return differ(std::move(left), std::move(right));
    }
    return differ(a ? print_debug(a, 200) : "(nothing)", b ? print_debug(b, 200) : "(nothing)");
  }
  auto differ_stmt(const Stmt& a, const Stmt& b) -> bool {
    if (!explain_) { return false; }
    Around around(*this, a ? a.origin() : Origin(), b ? b.origin() : Origin());
    return differ(a ? print_debug(a, 200) : "(nothing)", b ? print_debug(b, 200) : "(nothing)");
  }
  auto print_lazily(const Attr& a) -> std::string { return explain_ ? print_script(a) : std::string(); }
  auto attr_text(const std::pair<Name, Attr>& item) -> std::string { return explain_ ? string_text(item.first.view()) + ": " + print_script(item.second) : std::string(); }
  auto buffer_text(const Buffer& b) -> std::string { return explain_ ? b->name.str() + ": " + print_script(b) : std::string(); }
  auto quoted_name(const char* what, Name name) -> std::string { return explain_ ? std::string(what) + " `" + name.str() + '`' : std::string(); }
  auto count(size_t n, const char* what) -> std::string { return count_text(static_cast<int64_t>(n), what); }

  // ---- correspondence --------------------------------------------------------------------------------------

  auto var(const VarNode& a, const VarNode& b, Mode mode) -> bool {
    if (!(a.dtype == b.dtype) || !pointers_equal(a, b)) { return differ(var_text(a), var_text(b)); }
    auto left = left_.find(&a);
    if (left != left_.end()) { return left->second == &b || differ(var_text(a), var_text(b)); }
    if (right_.count(&b)) { return differ(var_text(a), var_text(b)); }
    if (mode == Mode::Define || options_.map_free_vars || &a == &b) {
      left_.emplace(&a, &b);
      right_.emplace(&b, &a);
      return true;
    }
    return differ(var_text(a), var_text(b));
  }
  static auto pointers_equal(const VarNode& a, const VarNode& b) -> bool {
    if (a.pointer.has_value() != b.pointer.has_value()) { return false; }
    if (!a.pointer) { return true; }
    static const Name global("global");
    Name x = a.pointer->scope.empty() ? global : a.pointer->scope;
    Name y = b.pointer->scope.empty() ? global : b.pointer->scope;
    return a.pointer->element == b.pointer->element && x == y;
  }
  auto var_text(const VarNode& v) -> std::string {
    if (!explain_) { return {}; }
    std::string out = v.name.str() + " (" + v.dtype.str();
    if (v.pointer) { out += " to " + v.pointer->element.str() + (v.pointer->scope.empty() ? "" : ", " + v.pointer->scope.str()); }
    return out + ')';
  }

  auto buffer(const Buffer& a, const Buffer& b) -> bool {
    auto known = buffers_.find(a.get());
    if (known != buffers_.end() && known->second == b.get()) { return true; }
    Step step(*this, "buffer", a->name);
    if (!var(*a->data, *b->data, Mode::Define)) { return explain_ && difference_ ? rewrite(buffer_text(a), buffer_text(b)) : false; }
    bool fields = a->dtype == b->dtype && a->shape.size() == b->shape.size() && a->strides.size() == b->strides.size() &&
                  a->data_alignment == b->data_alignment && a->offset_factor == b->offset_factor && a->buffer_kind == b->buffer_kind &&
                  std::equal(a->axis_separators.begin(), a->axis_separators.end(), b->axis_separators.begin(), b->axis_separators.end());
    if (!fields) { return differ(buffer_text(a), buffer_text(b)); }
    if (!exprs(a->shape, b->shape, "shape", Mode::Define) || !exprs(a->strides, b->strides, "strides", Mode::Define)) { return false; }
    bool no_left = is_no_offset(a->elem_offset);
    bool no_right = is_no_offset(b->elem_offset);
    if (no_left != no_right) { return differ(buffer_text(a), buffer_text(b)); }
    if (!no_left) {
      Step at(*this, "elem_offset");
      if (!expr(a->elem_offset, b->elem_offset, Mode::Define)) { return false; }
    }
    buffers_[a.get()] = b.get();
    return true;
  }
  auto rewrite(std::string left, std::string right) -> bool {
    if (left != right) {
      difference_->left = std::move(left);
      difference_->right = std::move(right);
    }
    return false;
  }
  static auto is_no_offset(const Expr& e) -> bool {
    if (!e) { return true; }
    const auto* imm = e.as<IntImm>();
    return imm && imm->value == 0;
  }

  auto exprs(const Array<Expr>& a, const Array<Expr>& b, const char* what, Mode mode = Mode::Use) -> bool {
    if (a.size() != b.size()) {
      Step step(*this, what);
      return differ(count(a.size(), what), count(b.size(), what));
    }
    for (size_t i = 0; i < a.size(); ++i) {
      Step step(*this, what, {}, static_cast<int>(i));
      if (!expr(a[i], b[i], mode)) { return false; }
    }
    return true;
  }
  auto range(const Range& a, const Range& b) -> bool { return expr(a.min, b.min) && expr(a.extent, b.extent); }
  auto region(const BufferRegion& a, const BufferRegion& b) -> bool {
    if (!buffer(a.buffer, b.buffer)) { return false; }
    if (a.region.size() != b.region.size()) { return differ(explain_ ? print_script(a) : "", explain_ ? print_script(b) : ""); }
    for (size_t i = 0; i < a.region.size(); ++i) {
      if (!range(a.region[i], b.region[i])) { return false; }
    }
    return true;
  }
  auto regions(const Array<BufferRegion>& a, const Array<BufferRegion>& b, const char* what) -> bool {
    Step step(*this, what);
    if (a.size() != b.size()) { return differ(regions_text(a), regions_text(b)); }
    for (size_t i = 0; i < a.size(); ++i) {
      if (!region(a[i], b[i])) { return false; }
    }
    return true;
  }
  auto regions_text(const Array<BufferRegion>& a) -> std::string {
    std::string out;
    for (const BufferRegion& r : a) { out += (out.empty() ? "" : ", ") + (explain_ ? print_script(r) : std::string()); }
    return out.empty() ? "(nothing)" : out;
  }
  auto iter(const IterVar& a, const IterVar& b) -> bool {
    Step step(*this, "iter var", a.var->name);
    if (!range(a.dom, b.dom) || !var(*a.var, *b.var, Mode::Define)) { return false; }
    static constexpr const char* kinds[] = {"spatial", "reduce", "scan", "opaque", "thread index"};
    if (a.kind != b.kind) { return differ(kinds[static_cast<size_t>(a.kind)], kinds[static_cast<size_t>(b.kind)]); }
    return a.thread_tag == b.thread_tag || differ(a.thread_tag.str(), b.thread_tag.str());
  }

  // ---- expressions -----------------------------------------------------------------------------------------

  auto on(const VarNode& a, const VarNode& b, Mode mode, const Expr&, const Expr&) -> bool { return var(a, b, mode); }
  auto on(const IntImm& a, const IntImm& b, Mode, const Expr& x, const Expr& y) -> bool { return a.value == b.value || differ_expr(x, y); }
  auto on(const FloatImm& a, const FloatImm& b, Mode, const Expr& x, const Expr& y) -> bool {
    return a.value == b.value || (std::isnan(a.value) && std::isnan(b.value)) || differ_expr(x, y);
  }
  auto on(const StringImm& a, const StringImm& b, Mode, const Expr& x, const Expr& y) -> bool { return a.value == b.value || differ_expr(x, y); }
  // A computed size defines the variables in it, too: `T.match_buffer(a, (n * 2,))`.
  auto on(const Cast& a, const Cast& b, Mode mode, const Expr&, const Expr&) -> bool {
    Step step(*this, "cast value");
    return expr(a.value, b.value, mode);
  }
  auto binary(const BinaryNode& a, const BinaryNode& b, Mode mode) -> bool {
    {
      Step step(*this, "left operand");
      if (!expr(a.a, b.a, mode)) { return false; }
    }
    Step step(*this, "right operand");
    return expr(a.b, b.b, mode);
  }
#define EXPR(Kind)
#define BINARY(Kind) auto on(const Kind& a, const Kind& b, Mode mode, const Expr&, const Expr&) -> bool { return binary(a, b, mode); }
#include "ir/nodes.def"
  auto on(const Not& a, const Not& b, Mode, const Expr&, const Expr&) -> bool { return expr(a.a, b.a); }
  auto on(const Select& a, const Select& b, Mode, const Expr&, const Expr&) -> bool {
    return expr(a.condition, b.condition) && expr(a.true_value, b.true_value) && expr(a.false_value, b.false_value);
  }
  auto on(const BufferLoad& a, const BufferLoad& b, Mode, const Expr&, const Expr&) -> bool {
    return buffer(a.buffer, b.buffer) && exprs(a.indices, b.indices, "index") && expr(a.predicate, b.predicate);
  }
  auto on(const Ramp& a, const Ramp& b, Mode, const Expr&, const Expr&) -> bool {
    return expr(a.base, b.base) && expr(a.stride, b.stride) && expr(a.lanes, b.lanes);
  }
  auto on(const Broadcast& a, const Broadcast& b, Mode, const Expr&, const Expr&) -> bool { return expr(a.value, b.value) && expr(a.lanes, b.lanes); }
  auto on(const Shuffle& a, const Shuffle& b, Mode, const Expr&, const Expr&) -> bool {
    return exprs(a.vectors, b.vectors, "vector") && exprs(a.indices, b.indices, "index");
  }
  auto on(const Let& a, const Let& b, Mode, const Expr&, const Expr&) -> bool {
    return var(*a.var, *b.var, Mode::Define) && expr(a.value, b.value) && expr(a.body, b.body);
  }
  auto on(const Call& a, const Call& b, Mode, const Expr& x, const Expr& y) -> bool {
    if (!(a.op == b.op) || a.args.size() != b.args.size()) { return differ_expr(x, y); }
    return exprs(a.args, b.args, "argument");
  }
  auto on(const Reduce& a, const Reduce& b, Mode, const Expr& x, const Expr& y) -> bool {
    if (a.axis.size() != b.axis.size() || a.value_index != b.value_index || a.combiner->lhs.size() != b.combiner->lhs.size()) { return differ_expr(x, y); }
    for (size_t i = 0; i < a.combiner->lhs.size(); ++i) {
      if (!var(*a.combiner->lhs[i], *b.combiner->lhs[i], Mode::Define) || !var(*a.combiner->rhs[i], *b.combiner->rhs[i], Mode::Define)) { return false; }
    }
    for (size_t i = 0; i < a.axis.size(); ++i) {
      if (!iter(a.axis[i], b.axis[i])) { return false; }
    }
    return exprs(a.combiner->result, b.combiner->result, "combiner") && exprs(a.combiner->identity, b.combiner->identity, "identity") &&
           exprs(a.source, b.source, "source") && expr(a.condition, b.condition) && exprs(a.init, b.init, "init");
  }

  // ---- statements ------------------------------------------------------------------------------------------

  auto on(const LetStmt& a, const LetStmt& b, const Stmt&, const Stmt&) -> bool {
    {
      Step step(*this, "let", a.var->name);
      if (!expr(a.value, b.value) || !var(*a.var, *b.var, Mode::Define)) { return false; }
    }
    return stmt(a.body, b.body);
  }
  auto on(const AttrStmt& a, const AttrStmt& b, const Stmt& x, const Stmt& y) -> bool {
    {
      Step step(*this, "attribute", a.key);
      if (!(a.key == b.key) || a.node.index() != b.node.index()) { return differ_stmt(x, y); }
      if (const auto* e = std::get_if<Expr>(&a.node); e && !expr(*e, std::get<Expr>(b.node))) { return false; }
      if (const auto* e = std::get_if<Buffer>(&a.node); e && !buffer(*e, std::get<Buffer>(b.node))) { return false; }
      if (const auto* e = std::get_if<IterVar>(&a.node); e && !iter(*e, std::get<IterVar>(b.node))) { return false; }
      if (!expr(a.value, b.value)) { return false; }
    }
    return stmt(a.body, b.body);
  }
  auto on(const AssertStmt& a, const AssertStmt& b, const Stmt&, const Stmt&) -> bool {
    return expr(a.condition, b.condition) && expr(a.message, b.message) && stmt(a.body, b.body);
  }
  auto on(const BufferStore& a, const BufferStore& b, const Stmt&, const Stmt&) -> bool {
    Step step(*this, "store to", a.buffer->name);
    if (!buffer(a.buffer, b.buffer) || !exprs(a.indices, b.indices, "index")) { return false; }
    Step value(*this, "value");
    return expr(a.value, b.value) && expr(a.predicate, b.predicate);
  }
  auto on(const BufferRealize& a, const BufferRealize& b, const Stmt& x, const Stmt& y) -> bool {
    if (!buffer(a.buffer, b.buffer)) { return false; }
    if (a.bounds.size() != b.bounds.size()) { return differ_stmt(x, y); }
    for (size_t i = 0; i < a.bounds.size(); ++i) {
      if (!range(a.bounds[i], b.bounds[i])) { return false; }
    }
    return expr(a.condition, b.condition) && stmt(a.body, b.body);
  }
  auto on(const Allocate& a, const Allocate& b, const Stmt& x, const Stmt& y) -> bool {
    {
      Step step(*this, "allocation", a.data->name);
      if (!(a.dtype == b.dtype)) { return differ_stmt(x, y); }
      if (!var(*a.data, *b.data, Mode::Define) || !exprs(a.extents, b.extents, "extent") || !expr(a.condition, b.condition) ||
          !attrs(a.annotations, b.annotations, "annotations")) {
        return false;
      }
    }
    return stmt(a.body, b.body);
  }
  auto on(const AllocateConst& a, const AllocateConst& b, const Stmt& x, const Stmt& y) -> bool {
    {
      Step step(*this, "constant", a.data->name);
      if (!(a.dtype == b.dtype) || a.bytes != b.bytes) { return differ_stmt(x, y); }
      if (!var(*a.data, *b.data, Mode::Define) || !exprs(a.extents, b.extents, "extent") || !attrs(a.annotations, b.annotations, "annotations")) {
        return false;
      }
    }
    return stmt(a.body, b.body);
  }
  auto on(const DeclBuffer& a, const DeclBuffer& b, const Stmt&, const Stmt&) -> bool { return buffer(a.buffer, b.buffer) && stmt(a.body, b.body); }
  auto on(const SeqStmt& a, const SeqStmt& b, const Stmt&, const Stmt&) -> bool {
    for (size_t i = 0; i < a.seq.size() && i < b.seq.size(); ++i) {
      Step step(*this, "statement", {}, static_cast<int>(i));
      if (!stmt(a.seq[i], b.seq[i])) { return false; }
    }
    if (a.seq.size() == b.seq.size()) { return true; }
    size_t i = std::min(a.seq.size(), b.seq.size());
    Step step(*this, "statement", {}, static_cast<int>(i));
    return differ_stmt(i < a.seq.size() ? a.seq[i] : Stmt(), i < b.seq.size() ? b.seq[i] : Stmt());
  }
  auto on(const Evaluate& a, const Evaluate& b, const Stmt&, const Stmt&) -> bool { return expr(a.value, b.value); }
  auto on(const IfThenElse& a, const IfThenElse& b, const Stmt&, const Stmt&) -> bool {
    {
      Step step(*this, "condition");
      if (!expr(a.condition, b.condition)) { return false; }
    }
    {
      Step step(*this, "then");
      if (!stmt(a.then_case, b.then_case)) { return false; }
    }
    Step step(*this, "else");
    return stmt(a.else_case, b.else_case);
  }
  auto on(const For& a, const For& b, const Stmt& x, const Stmt& y) -> bool {
    Step step(*this, "loop", a.var->name);
    if (a.for_kind != b.for_kind || a.thread.has_value() != b.thread.has_value()) { return differ_stmt(x, y); }
    // Compares domains first, for a message that shows both loops; domains cannot contain the loop variable.
    if (!expr(a.min, b.min) || !expr(a.extent, b.extent)) { return false; }
    if (!var(*a.var, *b.var, Mode::Define)) { return false; }
    if (a.thread) {
      if (!(a.thread->thread_tag == b.thread->thread_tag)) { return differ_stmt(x, y); }
      if (a.thread->dom.extent && b.thread->dom.extent && !range(a.thread->dom, b.thread->dom)) { return false; }
    }
    return attrs(a.annotations, b.annotations, "annotations") && stmt(a.body, b.body);
  }
  auto on(const While& a, const While& b, const Stmt&, const Stmt&) -> bool { return expr(a.condition, b.condition) && stmt(a.body, b.body); }
  auto on(const Break&, const Break&, const Stmt&, const Stmt&) -> bool { return true; }
  auto on(const Continue&, const Continue&, const Stmt&, const Stmt&) -> bool { return true; }
  auto on(const Block& a, const Block& b, const Stmt&, const Stmt&) -> bool { return block(a, b); }
  auto on(const BlockRealize& a, const BlockRealize& b, const Stmt&, const Stmt&) -> bool {
    Step step(*this, "block", a.block->name);
    if (!exprs(a.iter_values, b.iter_values, "binding")) { return false; }
    {
      Step at(*this, "predicate");
      if (!expr(a.predicate, b.predicate)) { return false; }
    }
    return block(*a.block, *b.block);
  }
  auto block(const Block& a, const Block& b) -> bool {
    if (a.iter_vars.size() != b.iter_vars.size()) { return differ(count(a.iter_vars.size(), "iter var"), count(b.iter_vars.size(), "iter var")); }
    for (size_t i = 0; i < a.iter_vars.size(); ++i) {
      if (!iter(a.iter_vars[i], b.iter_vars[i])) { return false; }
    }
    if (a.alloc_buffers.size() != b.alloc_buffers.size()) {
      Step step(*this, "allocated buffers");
      return differ(count(a.alloc_buffers.size(), "buffer"), count(b.alloc_buffers.size(), "buffer"));
    }
    for (size_t i = 0; i < a.alloc_buffers.size(); ++i) {
      if (!buffer(a.alloc_buffers[i], b.alloc_buffers[i])) { return false; }
    }
    if (a.match_buffers.size() != b.match_buffers.size()) {
      Step step(*this, "matched buffers");
      return differ(count(a.match_buffers.size(), "buffer"), count(b.match_buffers.size(), "buffer"));
    }
    for (size_t i = 0; i < a.match_buffers.size(); ++i) {
      if (!buffer(a.match_buffers[i].buffer, b.match_buffers[i].buffer) || !region(a.match_buffers[i].source, b.match_buffers[i].source)) { return false; }
    }
    if (!regions(a.reads, b.reads, "reads") || !regions(a.writes, b.writes, "writes") || !attrs(a.annotations, b.annotations, "block attributes")) {
      return false;
    }
    if (a.init || b.init) {
      Step step(*this, "init");
      if (!stmt(a.init, b.init)) { return false; }
    }
    return stmt(a.body, b.body);
  }

  const EqualOptions& options_;
  bool explain_;
  std::unordered_map<const VarNode*, const VarNode*> left_, right_;
  std::unordered_map<const BufferNode*, const BufferNode*> buffers_;
  std::vector<PathItem> path_;
  Origin left_origin_, right_origin_;
  std::optional<Difference> difference_;
};

// Follows the comparer's order of definitions.
class Hasher {
 public:
  auto result() const -> uint64_t { return state_; }

  void module(const IRModule& m) {
    // Functions are found by name, so their order is ignored.
    uint64_t sum = 0;
    for (const auto& [name, f] : m->functions) {
      Hasher own;
      own.text(name.view());
      own.func(f);
      sum += own.result();
    }
    word(sum);
    attrs(m->attrs);
  }
  void func(const PrimFunc& f) {
    word(f->params.size());
    for (const Var& p : f->params) { var(*p, true); }
    for (const Var& p : f->params) {
      Buffer b = f->buffer_of(p);
      word(b ? 1 : 0);
      if (b) { declared(b); }
    }
    dtype(f->ret_type);
    word(f->is_private);
    attrs(f->attrs);
    stmt(f->body);
  }
  void stmt(const Stmt& s) {
    if (!s) {
      word(0xfeed);
      return;
    }
    word(static_cast<uint64_t>(s.kind()));
    switch (s.kind()) {
#define EXPR(Kind) case NodeKind::Kind: return;
#define STMT(Kind) case NodeKind::Kind: return on(*static_cast<const Kind*>(s.get()));
#include "ir/nodes.def"
    }
  }
  void expr(const Expr& e, bool defines = false) {
    if (!e) {
      word(0xbeef);
      return;
    }
    word(static_cast<uint64_t>(e.kind()));
    dtype(e.dtype());
    switch (e.kind()) {
#define STMT(Kind) case NodeKind::Kind: return;
#define EXPR(Kind) case NodeKind::Kind: return on(*static_cast<const Kind*>(e.get()), defines);
#include "ir/nodes.def"
    }
  }

 private:
  void word(uint64_t value) { state_ = hash_combine(state_, value); }
  void text(std::string_view t) { word(hash_bytes(t)); }
  void dtype(DataType t) {
    word(static_cast<uint64_t>(t.code) << 32U | static_cast<uint64_t>(t.bits) << 24U | static_cast<uint64_t>(t.scalable) << 20U | t.lanes);
  }
  void var(const VarNode& v, bool defines) {
    dtype(v.dtype);
    auto found = numbers_.find(&v);
    if (found == numbers_.end()) {
      // All undefined variables have the same hash. A variable gets a number only at its definition.
      if (!defines) {
        word(0xf4ee);
        return;
      }
      found = numbers_.emplace(&v, numbers_.size() + 1).first;
    }
    word(found->second);
  }
  // At a use, two nodes with the same content count as one buffer, so only its memory is hashed.
  void buffer(const Buffer& b) { var(*b->data, true); }
  void exprs(const Array<Expr>& items, bool defines = false) {
    word(items.size());
    for (const Expr& e : items) { expr(e, defines); }
  }
  void range(const Range& r) {
    expr(r.min);
    expr(r.extent);
  }
  void region(const BufferRegion& r) {
    buffer(r.buffer);
    word(r.region.size());
    for (const Range& x : r.region) { range(x); }
  }
  void regions(const Array<BufferRegion>& items) {
    word(items.size());
    for (const BufferRegion& r : items) { region(r); }
  }
  void declared(const Buffer& b) {
    var(*b->data, true);
    dtype(b->dtype);
    exprs(b->shape, true);
    exprs(b->strides, true);
    word(static_cast<uint64_t>(b->data_alignment));
    text(b->scope().view());
    word(b->axis_separators.size());
  }
  void iter(const IterVar& i) {
    range(i.dom);
    var(*i.var, true);
    word(static_cast<uint64_t>(i.kind));
    text(i.thread_tag.view());
  }
  void attrs(const AttrMap& map) {
    word(map.size());
    for (const auto& [key, value] : map) {
      text(key.view());
      attr(value);
    }
  }
  void attr(const Attr& a) {
    word(a.value.index());
    if (const auto* e = std::get_if<Expr>(&a.value)) { expr(*e); }
    else if (const auto* s = std::get_if<std::string>(&a.value)) { text(*s); }
    else if (const auto* l = std::get_if<Array<Attr>>(&a.value)) {
      for (const Attr& item : *l) { attr(item); }
    } else if (const auto* m = std::get_if<AttrMap>(&a.value)) { attrs(*m); }
    else if (const auto* map = std::get_if<IndexMap>(&a.value); map && *map) {
      for (const Var& v : (*map)->initial) { var(*v, true); }
      exprs((*map)->final);
    }
  }

  void on(const VarNode& v, bool defines) { var(v, defines); }
  void on(const IntImm& e, bool) { word(static_cast<uint64_t>(e.value)); }
  void on(const FloatImm& e, bool) {
    double value = e.value == 0 ? 0.0 : e.value;   // -0.0 equals 0.0
    if (std::isnan(value)) { value = std::nan(""); }
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    word(bits);
  }
  void on(const StringImm& e, bool) { text(e.value); }
  void on(const Cast& e, bool) { expr(e.value); }
#define EXPR(Kind)
#define BINARY(Kind) void on(const Kind& e, bool) { expr(e.a); expr(e.b); }
#include "ir/nodes.def"
  void on(const Not& e, bool) { expr(e.a); }
  void on(const Select& e, bool) {
    expr(e.condition);
    expr(e.true_value);
    expr(e.false_value);
  }
  void on(const BufferLoad& e, bool) {
    buffer(e.buffer);
    exprs(e.indices);
    expr(e.predicate);
  }
  void on(const Ramp& e, bool) {
    expr(e.base);
    expr(e.stride);
    expr(e.lanes);
  }
  void on(const Broadcast& e, bool) {
    expr(e.value);
    expr(e.lanes);
  }
  void on(const Shuffle& e, bool) {
    exprs(e.vectors);
    exprs(e.indices);
  }
  void on(const Let& e, bool) {
    var(*e.var, true);
    expr(e.value);
    expr(e.body);
  }
  void on(const Call& e, bool) {
    text(e.op.view());
    exprs(e.args);
  }
  void on(const Reduce& e, bool) {
    for (size_t i = 0; i < e.combiner->lhs.size(); ++i) {
      var(*e.combiner->lhs[i], true);
      var(*e.combiner->rhs[i], true);
    }
    for (const IterVar& i : e.axis) { iter(i); }
    exprs(e.combiner->result);
    exprs(e.combiner->identity);
    exprs(e.source);
    expr(e.condition);
    word(static_cast<uint64_t>(e.value_index));
    exprs(e.init);
  }
  void on(const LetStmt& s) {
    expr(s.value);
    var(*s.var, true);
    stmt(s.body);
  }
  void on(const AttrStmt& s) {
    text(s.key.view());
    word(s.node.index());
    if (const auto* e = std::get_if<Expr>(&s.node)) { expr(*e); }
    if (const auto* b = std::get_if<Buffer>(&s.node)) { buffer(*b); }
    if (const auto* i = std::get_if<IterVar>(&s.node)) { iter(*i); }
    expr(s.value);
    stmt(s.body);
  }
  void on(const AssertStmt& s) {
    expr(s.condition);
    expr(s.message);
    stmt(s.body);
  }
  void on(const BufferStore& s) {
    buffer(s.buffer);
    exprs(s.indices);
    expr(s.value);
    expr(s.predicate);
  }
  void on(const BufferRealize& s) {
    buffer(s.buffer);
    for (const Range& r : s.bounds) { range(r); }
    expr(s.condition);
    stmt(s.body);
  }
  void on(const Allocate& s) {
    dtype(s.dtype);
    var(*s.data, true);
    exprs(s.extents);
    expr(s.condition);
    attrs(s.annotations);
    stmt(s.body);
  }
  void on(const AllocateConst& s) {
    dtype(s.dtype);
    var(*s.data, true);
    exprs(s.extents);
    text(s.bytes);
    attrs(s.annotations);
    stmt(s.body);
  }
  void on(const DeclBuffer& s) {
    declared(s.buffer);
    stmt(s.body);
  }
  void on(const SeqStmt& s) {
    word(s.seq.size());
    for (const Stmt& x : s.seq) { stmt(x); }
  }
  void on(const Evaluate& s) { expr(s.value); }
  void on(const IfThenElse& s) {
    expr(s.condition);
    stmt(s.then_case);
    stmt(s.else_case);
  }
  void on(const For& s) {
    word(static_cast<uint64_t>(s.for_kind));
    expr(s.min);
    expr(s.extent);
    var(*s.var, true);
    if (s.thread) { text(s.thread->thread_tag.view()); }
    attrs(s.annotations);
    stmt(s.body);
  }
  void on(const While& s) {
    expr(s.condition);
    stmt(s.body);
  }
  void on(const Break&) {}
  void on(const Continue&) {}
  void on(const Block& s) { block(s); }
  void on(const BlockRealize& s) {
    exprs(s.iter_values);
    expr(s.predicate);
    block(*s.block);
  }
  void block(const Block& s) {
    word(s.iter_vars.size());
    for (const IterVar& i : s.iter_vars) { iter(i); }
    word(s.alloc_buffers.size());
    for (const Buffer& b : s.alloc_buffers) { declared(b); }
    word(s.match_buffers.size());
    for (const MatchBufferRegion& m : s.match_buffers) {
      declared(m.buffer);
      region(m.source);
    }
    regions(s.reads);
    regions(s.writes);
    attrs(s.annotations);
    stmt(s.init);
    stmt(s.body);
  }

  uint64_t state_ = 0x1005517;
  std::unordered_map<const VarNode*, uint64_t> numbers_;
};

template <class T, class F>
auto compare(const T& a, const T& b, const EqualOptions& options, F method) -> bool {
  if (a.same_as(b) && !options.map_free_vars) { return true; }
  if (!a || !b) { return !a && !b; }
  Comparer comparer(options, false);
  return (comparer.*method)(a, b);
}
template <class T, class F>
auto explain(const T& a, const T& b, const EqualOptions& options, F method) -> std::optional<Difference> {
  Comparer comparer(options, true);
  if ((comparer.*method)(a, b)) { return {}; }
  return comparer.difference();
}

}  // namespace

auto structural_equal(const Expr& a, const Expr& b, const EqualOptions& options) -> bool {
  if (a.same_as(b)) { return true; }
  Comparer comparer(options, false);
  return comparer.expr(a, b);
}
auto structural_equal(const Stmt& a, const Stmt& b, const EqualOptions& options) -> bool { return compare(a, b, options, &Comparer::stmt); }
auto structural_equal(const PrimFunc& a, const PrimFunc& b, const EqualOptions& options) -> bool { return compare(a, b, options, &Comparer::func); }
auto structural_equal(const IRModule& a, const IRModule& b, const EqualOptions& options) -> bool { return compare(a, b, options, &Comparer::module); }
auto structural_equal(const Attr& a, const Attr& b, const EqualOptions& options) -> bool { return Comparer(options, false).attr(a, b); }
auto structural_equal(const AttrMap& a, const AttrMap& b, const EqualOptions& options) -> bool { return Comparer(options, false).attrs(a, b, "attributes"); }
auto structural_equal(const IndexMap& a, const IndexMap& b, const EqualOptions& options) -> bool { return Comparer(options, false).index_map(a, b); }

auto first_difference(const IRModule& a, const IRModule& b, const EqualOptions& options) -> std::optional<Difference> { return explain(a, b, options, &Comparer::module); }
auto first_difference(const PrimFunc& a, const PrimFunc& b, const EqualOptions& options) -> std::optional<Difference> { return explain(a, b, options, &Comparer::func); }
auto first_difference(const Stmt& a, const Stmt& b, const EqualOptions& options) -> std::optional<Difference> { return explain(a, b, options, &Comparer::stmt); }
auto first_difference(const Expr& a, const Expr& b, const EqualOptions& options) -> std::optional<Difference> {
  Comparer comparer(options, true);
  if (comparer.expr(a, b)) { return {}; }
  return comparer.difference();
}

auto structural_hash(const Expr& expr) -> uint64_t {
  Hasher hasher;
  hasher.expr(expr);
  return hasher.result();
}
auto structural_hash(const Stmt& stmt) -> uint64_t {
  Hasher hasher;
  hasher.stmt(stmt);
  return hasher.result();
}
auto structural_hash(const PrimFunc& func) -> uint64_t {
  Hasher hasher;
  hasher.func(func);
  return hasher.result();
}
auto structural_hash(const IRModule& module) -> uint64_t {
  Hasher hasher;
  hasher.module(module);
  return hasher.result();
}

}  // namespace loopsmith
