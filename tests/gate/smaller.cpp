// Changes that make programs smaller: see smaller.h.
#include "tests/gate/smaller.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"

namespace loopsmith::gate {
namespace {

// Counts the places where a change is possible, and selects the place with a given number.
class Places {
 public:
  explicit Places(size_t part) : left_(part) {}
  [[nodiscard]] auto is_done() const -> bool { return done_; }
  auto is_it() -> bool {
    if (done_) { return false; }
    done_ = left_ == 0;
    left_ -= done_ ? 0 : 1;
    return done_;
  }

 private:
  size_t left_;
  bool done_ = false;
};

// The expression with one child replaced.
auto with_child(const Expr& e, const Expr& child, const Expr& other) -> Expr {
  class Exchange : public Mutator {
   public:
    Exchange(const Expr& from, const Expr& to) : from_(from), to_(to) {}
    using Mutator::on;
#define EXPR(Kind) auto on(const Kind& n) -> Expr override { return &n == static_cast<const ExprNode*>(from_.get()) ? to_ : Mutator::on(n); }
#define STMT(Kind)
#include "ir/nodes.def"
   private:
    const Expr& from_;
    const Expr& to_;
  } exchange(child, other);
  return exchange.mutate(e);
}

class Statements : public Mutator {
 public:
  explicit Statements(Places& places) : places_(places) {}
  using Mutator::mutate;
  using Mutator::on;
  auto on(const SeqStmt& n) -> Stmt override {
    for (size_t i = n.seq.size(); i-- > 0;) {
      if (!places_.is_it()) { continue; }
      std::vector<Stmt> kept = n.seq.to_vector();
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
      return seq(std::move(kept), n.origin);
    }
    return Mutator::on(n);
  }

 private:
  Places& places_;
};

class Parts : public Mutator {
 public:
  explicit Parts(Places& places) : places_(places) {}
  using Mutator::mutate;
  using Mutator::on;

  auto on(const IfThenElse& n) -> Stmt override {
    if (places_.is_it()) { return n.then_case; }
    if (n.else_case && places_.is_it()) { return n.else_case; }
    return Mutator::on(n);
  }
  auto on(const LetStmt& n) -> Stmt override {
    if (places_.is_it()) { return substitute(n.body, {{n.var.get(), n.value}}); }
    return Mutator::on(n);
  }
  auto on(const AssertStmt& n) -> Stmt override { return places_.is_it() ? n.body : Mutator::on(n); }
  auto on(const While& n) -> Stmt override { return places_.is_it() ? n.body : Mutator::on(n); }
  auto on(const For& n) -> Stmt override {
    if (n.for_kind != ForKind::Serial && places_.is_it()) { return make<For>(n.var, n.min, n.extent, ForKind::Serial, n.body, std::optional<IterVar>(), n.annotations, n.origin, n.id); }
    if (!n.annotations.empty() && places_.is_it()) { return make<For>(n.var, n.min, n.extent, n.for_kind, n.body, n.thread, AttrMap(), n.origin, n.id); }
    Stmt body = mutate(n.body);
    return body.same_as(n.body) ? self(n) : Stmt(make<For>(n.var, n.min, n.extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id));
  }
  auto on(const BlockRealize& n) -> Stmt override {
    if (!is_one(n.predicate) && places_.is_it()) { return make<BlockRealize>(n.iter_values, bool_imm(true), n.block, n.origin); }
    // A block without any effect of its own.
    bool is_bare = !is_root_ && n.iter_values.empty() && is_one(n.predicate) && !n.block->init && n.block->alloc_buffers.empty() && n.block->match_buffers.empty();
    is_root_ = false;
    if (is_bare && places_.is_it()) { return n.block->body; }
    Array<Expr> values = first_changed(n.iter_values);
    Expr predicate = part_of(n.predicate);
    Stmt block = mutate(Stmt(n.block));
    if (!places_.is_done()) { return self(n); }
    return make<BlockRealize>(std::move(values), std::move(predicate), block.ref<Block>(), n.origin);
  }
  auto on(const Block& n) -> Stmt override {
    Block::Fields fields = n.fields();
    if (n.init && places_.is_it()) {
      fields.init = Stmt();
      return make<Block>(std::move(fields), n.origin, n.id);
    }
    if (!n.annotations.empty() && places_.is_it()) {
      fields.annotations = AttrMap();
      return make<Block>(std::move(fields), n.origin, n.id);
    }
    if (n.init) { fields.init = mutate(n.init); }
    fields.body = mutate(n.body);
    return places_.is_done() ? Stmt(make<Block>(std::move(fields), n.origin, n.id)) : self(n);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Expr value = part_of(n.value);
    Array<Expr> indices = first_changed(n.indices);
    return places_.is_done() ? Stmt(make<BufferStore>(n.buffer, std::move(value), std::move(indices), n.origin, n.predicate)) : self(n);
  }

 private:
  auto part_of(const Expr& e) -> Expr {
    if (places_.is_done()) { return e; }
    std::vector<Expr> below;
    visit_children(e, [&](const Expr& child) { below.push_back(child); });
    if (!e.as<BufferLoad>()) { for (const Expr& child : below) { if (child.dtype() == e.dtype() && places_.is_it()) { return child; } } }
    for (const Expr& child : below) {
      Expr simpler = part_of(child);
      if (places_.is_done()) { return with_child(e, child, simpler); }
    }
    return e;
  }
  auto first_changed(const Array<Expr>& list) -> Array<Expr> {
    for (size_t i = 0; i < list.size() && !places_.is_done(); ++i) {
      std::vector<Expr> all = list.to_vector();
      all[i] = part_of(all[i]);
      if (places_.is_done()) { return all; }
    }
    return list;
  }
  Places& places_;
  bool is_root_ = true;
};

auto blocks_in(const Stmt& body) -> std::vector<std::string> {
  std::vector<std::string> out;
  post_order(body, [&](const Stmt& s) { if (const auto* b = s.as<Block>()) { out.push_back(b->name.str()); } }, [](const Expr&) {});
  return out;
}

class Loops : public Mutator {
 public:
  explicit Loops(Places& places) : places_(places) {}
  using Mutator::mutate;
  using Mutator::on;
  Smaller::Gone gone;
  auto on(const For& n) -> Stmt override {
    if (places_.is_it()) {
      gone = {blocks_in(n.body), depth_};
      return substitute(n.body, {{n.var.get(), n.min}});
    }
    ++depth_;
    Stmt out = Mutator::on(n);
    --depth_;
    return out;
  }

 private:
  Places& places_;
  int depth_ = 0;
};

class Axes : public Mutator {
 public:
  explicit Axes(Places& places) : places_(places) {}
  using Mutator::mutate;
  using Mutator::on;
  auto on(const BlockRealize& n) -> Stmt override {
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      if (!places_.is_it()) { continue; }
      Block::Fields fields = n.block->fields();
      VarMap map = {{fields.iter_vars[i].var.get(), fields.iter_vars[i].dom.min}};
      fields.body = substitute(fields.body, map);
      if (fields.init) { fields.init = substitute(fields.init, map); }
      fields.reads = fields.writes = {};
      std::vector<Expr> values = n.iter_values.to_vector();
      std::vector<IterVar> iters = fields.iter_vars.to_vector();
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
      iters.erase(iters.begin() + static_cast<std::ptrdiff_t>(i));
      fields.iter_vars = std::move(iters);
      return make<BlockRealize>(Array<Expr>(std::move(values)), n.predicate, make<Block>(std::move(fields), n.block->origin, n.block->id), n.origin);
    }
    return Mutator::on(n);
  }

 private:
  Places& places_;
};

// The buffers of parameters and blocks, except those with views.
auto plain_buffers(const PrimFunc& func) -> std::vector<Buffer> {
  std::vector<Buffer> out;
  std::set<const BufferNode*> viewed;
  for (const auto& [param, buffer] : func->buffer_map) { out.push_back(buffer); }
  post_order(
      func->body,
      [&](const Stmt& s) {
        const auto* block = s.as<Block>();
        if (!block) { return; }
        out.insert(out.end(), block->alloc_buffers.begin(), block->alloc_buffers.end());
        for (const MatchBufferRegion& m : block->match_buffers) { viewed.insert(m.source.buffer.get()); }
      },
      [](const Expr&) {});
  std::erase_if(out, [&](const Buffer& b) { return viewed.contains(b.get()) || !b->strides.empty() || b->elem_offset || !b->axis_separators.empty(); });
  return out;
}

// Replaces a buffer by another; `dimension`: the index to remove (-1: none).
class Rebuffer : public Mutator {
 public:
  Rebuffer(Buffer from, Buffer to, int dimension) : from_(std::move(from)), to_(std::move(to)), dimension_(dimension) {}
  using Mutator::mutate;
  using Mutator::on;
  auto on(const BufferLoad& n) -> Expr override {
    Array<Expr> indices = mutate(n.indices);
    return make<BufferLoad>(use(n.buffer), kept(n.buffer, indices), n.origin, n.predicate);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Array<Expr> indices = mutate(n.indices);
    return make<BufferStore>(use(n.buffer), mutate(n.value), kept(n.buffer, indices), n.origin, n.predicate);
  }
  auto on(const Block& n) -> Stmt override {
    Block::Fields fields = n.fields();
    fields.reads = fields.writes = {};
    return Mutator::on(*make<Block>(std::move(fields), n.origin, n.id));
  }

 protected:
  auto use(const Buffer& b) -> Buffer override { return b.same_as(from_) ? to_ : b; }

 private:
  auto kept(const Buffer& b, const Array<Expr>& indices) -> Array<Expr> {
    if (dimension_ < 0 || !b.same_as(from_)) { return indices; }
    std::vector<Expr> out = indices.to_vector();
    out.erase(out.begin() + dimension_);
    return out;
  }
  Buffer from_, to_;
  int dimension_;
};
auto with_buffer(const PrimFunc& func, const Buffer& from, const std::vector<Expr>& shape, int dimension) -> PrimFunc {
  BufferNode fields = *from;
  fields.shape = shape;
  Buffer to = make_buffer(std::move(fields));
  PrimFuncNode out = *func;
  std::vector<std::pair<Var, Buffer>> map = func->buffer_map.to_vector();
  for (auto& [param, buffer] : map) { if (buffer.same_as(from)) { buffer = to; } }
  out.buffer_map = std::move(map);
  out.body = Rebuffer(from, to, dimension).mutate(func->body);
  return make_func(std::move(out));
}

auto without_dimension(const PrimFunc& func, Places& places) -> PrimFunc {
  for (const Buffer& b : plain_buffers(func)) {
    for (size_t d = 0; d < b->shape.size() && b->shape.size() > 1; ++d) {
      if (!places.is_it()) { continue; }
      std::vector<Expr> shape = b->shape.to_vector();
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
      return with_buffer(func, b, shape, static_cast<int>(d));
    }
  }
  return func;
}

// Smaller numbers to try instead of n; 0 and 1 cannot be reduced.
auto below(int64_t n) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (int64_t to : {int64_t{1}, int64_t{2}, n / 2, n - 1}) { if (to > 0 && to < n && std::find(out.begin(), out.end(), to) == out.end()) { out.push_back(to); } }
  return out;
}

// Changes the domains of iter vars that are bound to a loop.
class Domains : public Mutator {
 public:
  Domains(const VarNode* loop, const Expr& from, const Expr& to) : loop_(loop), from_(from), to_(to) {}
  using Mutator::mutate;
  using Mutator::on;
  auto on(const BlockRealize& n) -> Stmt override {
    Block::Fields fields = n.block->fields();
    std::vector<IterVar> iters = fields.iter_vars.to_vector();
    for (size_t i = 0; i < iters.size(); ++i) {
      if (n.iter_values[i].get() == loop_ && as_int(iters[i].dom.extent) == as_int(from_)) { iters[i].dom.extent = to_; }
    }
    fields.iter_vars = std::move(iters);
    fields.body = mutate(fields.body);
    return make<BlockRealize>(n.iter_values, n.predicate, make<Block>(std::move(fields), n.block->origin, n.block->id), n.origin);
  }

 private:
  const VarNode* loop_;
  const Expr& from_;
  const Expr& to_;
};

class Extents : public Mutator {
 public:
  explicit Extents(Places& places) : places_(places) {}
  using Mutator::mutate;
  using Mutator::on;
  auto on(const For& n) -> Stmt override {
    if (Expr extent = smaller(n.extent)) {
      Stmt body = Domains(n.var.get(), n.extent, extent).mutate(n.body);
      return make<For>(n.var, n.min, extent, n.for_kind, std::move(body), n.thread, n.annotations, n.origin, n.id);
    }
    return Mutator::on(n);
  }
  auto on(const Block& n) -> Stmt override {
    for (size_t i = 0; i < n.iter_vars.size(); ++i) {
      Expr extent = smaller(n.iter_vars[i].dom.extent);
      if (!extent) { continue; }
      Block::Fields fields = n.fields();
      std::vector<IterVar> iters = fields.iter_vars.to_vector();
      iters[i].dom.extent = extent;
      fields.iter_vars = std::move(iters);
      return make<Block>(std::move(fields), n.origin, n.id);
    }
    return Mutator::on(n);
  }
  auto smaller(const Expr& extent) -> Expr {
    auto n = as_int(extent);
    if (!n) { return {}; }
    for (int64_t to : below(*n)) { if (places_.is_it()) { return int_imm(to, extent.dtype()); } }
    return {};
  }

 private:
  Places& places_;
};
auto with_extent(const PrimFunc& func, Places& places) -> PrimFunc {
  Extents extents(places);
  Stmt body = extents.mutate(func->body);
  if (places.is_done()) { return with_body(func, std::move(body)); }
  for (const Buffer& b : plain_buffers(func)) {
    for (size_t d = 0; d < b->shape.size(); ++d) {
      Expr extent = extents.smaller(b->shape[d]);
      if (!extent) { continue; }
      std::vector<Expr> shape = b->shape.to_vector();
      shape[d] = extent;
      return with_buffer(func, b, shape, -1);
    }
  }
  return func;
}

// The function with only the parameters and buffers in use. A buffer of the function that is only read becomes a parameter, and so does `opened`.
auto tidied(const PrimFunc& func, const BufferNode* opened) -> PrimFunc {
  const Block* root = root_block(func);
  const auto* realize = func->body.as<BlockRealize>();
  if (!root || !realize) { return func; }
  std::set<const BufferNode*> written, used;
  std::set<const VarNode*> vars;
  post_order(
      root->body,
      [&](const Stmt& s) {
        if (const auto* store = s.as<BufferStore>()) { written.insert(store->buffer.get()); used.insert(store->buffer.get()); }
        if (const auto* block = s.as<Block>()) {
          for (const MatchBufferRegion& m : block->match_buffers) { used.insert(m.source.buffer.get()); }
          for (const BufferRegion& w : block->writes) { written.insert(w.buffer.get()); }
        }
      },
      [&](const Expr& e) {
        if (const auto* load = e.as<BufferLoad>()) { used.insert(load->buffer.get()); }
        if (const auto* v = e.as<VarNode>()) { vars.insert(v); }
      });
  for (const auto& [param, buffer] : func->buffer_map) {
    for (const Expr& extent : buffer->shape) { post_order(extent, [&](const Expr& e) { if (const auto* v = e.as<VarNode>()) { vars.insert(v); } }); }
  }
  PrimFuncNode fields = *func;
  Block::Fields block = root->fields();
  std::vector<Buffer> allocated;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const Var& p : func->params) {
    Buffer b = func->buffer_of(p);
    if (b ? !used.contains(b.get()) && func->params.size() > 1 : !vars.contains(p.get())) { continue; }
    params.push_back(p);
    if (b) { map.emplace_back(p, b); }
  }
  for (const Buffer& b : block.alloc_buffers) {
    if (!used.contains(b.get())) { continue; }
    if (written.contains(b.get()) && b.get() != opened) {
      allocated.push_back(b);
      continue;
    }
    Var p = make<VarNode>(b->name, DataType::handle());
    params.push_back(p);
    map.emplace_back(p, b);
  }
  block.alloc_buffers = std::move(allocated);
  fields.params = std::move(params);
  fields.buffer_map = std::move(map);
  fields.body = make<BlockRealize>(realize->iter_values, realize->predicate, make<Block>(std::move(block), root->origin), realize->origin);
  return make_func(std::move(fields));
}

auto text_of(const IRModule& module) -> std::string {
  std::istringstream lines(print_script(module));
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    size_t at = line.find_first_not_of(' ');
    if (at != std::string::npos && line.compare(at, 8, "T.reads(") != 0 && line.compare(at, 9, "T.writes(") != 0) { out += line + "\n"; }
  }
  return out;
}

}  // namespace

auto smaller(const IRModule& module, Change change, size_t part) -> std::optional<Smaller> {
  PrimFunc func = module->find("main");
  Places places(part);
  Smaller out;
  const BufferNode* opened = nullptr;
  switch (change) {
    case Change::Functions: {
      if (module->functions.size() < 2 || !places.is_it()) { return {}; }
      return Smaller{text_of(module_of(func))};
    }
    case Change::Statement: func = with_body(func, Statements(places).mutate(func->body)); break;
    case Change::Part: func = with_body(func, Parts(places).mutate(func->body)); break;
    case Change::Axis: func = with_body(func, Axes(places).mutate(func->body)); break;
    case Change::Dimension: func = without_dimension(func, places); break;
    case Change::Extent: func = with_extent(func, places); break;
    case Change::Loop: {
      Loops loops(places);
      func = with_body(func, loops.mutate(func->body));
      if (places.is_done()) { out.loop = std::move(loops.gone); }
      break;
    }
    case Change::Parameter: {
      const Block* root = root_block(func);
      if (!root) { return {}; }
      for (const Buffer& b : root->alloc_buffers) { if (places.is_it()) { opened = b.get(); } }
      break;
    }
  }
  if (!places.is_done()) { return {}; }
  out.program = text_of(with_function(module, "main", tidied(func, opened)));
  return out;
}

}  // namespace loopsmith::gate
