// Adds to a program the parts that its text may leave out: the block around the function's body, and the regions that a block reads and
// writes.
//
// Follows TVM's script_complete and BlockReadWriteDetector: each access is a region of points, relaxed over the loops inside of the block.
// Regions of one buffer are joined. Buffers that the block allocates are ignored. A reduction with an init does not read the elements
// that it writes. An index that is loaded from memory which the block allocates or stores to may have any value: its value before the block is unrelated.
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "frontend/lowerer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::frontend {

auto detect_access_key() -> Name {
  static const Name key("tir.script_parsing_detect_access");
  return key;
}

auto arith_deep_equal(const Expr& a, const Expr& b) -> bool { return arith::deep_equal(a, b); }
auto simplified(const Expr& e) -> Expr { return arith::Analyzer().simplify(e); }

namespace {

using arith::IntSet;

struct Access {
  Buffer buffer;
  std::vector<IntSet> region;
};

class Detector : public Visitor {
 public:
  Detector(const Block& block, const std::unordered_map<const VarNode*, Buffer>& outer) : outer_(outer) {
    for (const MatchBufferRegion& m : block.match_buffers) { matches_.emplace(m.buffer.get(), m.source); }
    for (const Buffer& b : block.alloc_buffers) { changing_.insert(b->data.get()); }
    post_order(block.body, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { changing_.insert(store->buffer->data.get()); } }, [](const Expr&) {});
    if (block.init) { visit(block.init); }
    visit(block.body);
  }

  std::vector<Access> reads, writes;
  bool is_opaque = false;

  using Visitor::on;
  void on(const BufferLoad& node) override {
    touch(reads, node.buffer, node.indices);
    Visitor::on(node);
  }
  void on(const BufferStore& node) override {
    touch(writes, node.buffer, node.indices);
    Visitor::on(node);
  }
  void on(const For& node) override {
    visit(node.min);
    visit(node.extent);
    dom_.insert_or_assign(node.var.get(), IntSet::from_min_extent(node.min, node.extent));
    visit(node.body);
    dom_.erase(node.var.get());
  }
  void on(const Reduce& node) override {
    for (const IterVar& iter : node.axis) {
      if (iter.dom.extent) { dom_.insert_or_assign(iter.var.get(), IntSet::from_min_extent(iter.dom.min, iter.dom.extent)); }
    }
    Visitor::on(node);
    for (const IterVar& iter : node.axis) { dom_.erase(iter.var.get()); }
  }
  void on(const LetStmt& node) override {
    visit(node.value);
    if (node.var->dtype.is_integral()) { dom_.insert_or_assign(node.var.get(), arith::eval_set(node.value, dom_)); }
    visit(node.body);
    dom_.erase(node.var.get());
  }
  void on(const BlockRealize& node) override {
    // The regions of an inner block are known: the text has them, or they were found before.
    for (const Expr& v : node.iter_values) { visit(v); }
    visit(node.predicate);
    VarMap bindings;
    for (size_t i = 0; i < node.iter_values.size() && i < node.block->iter_vars.size(); ++i) {
      bindings.emplace(node.block->iter_vars[i].var.get(), node.iter_values[i]);
    }
    auto take = [&](std::vector<Access>& into, const Array<BufferRegion>& regions) {
      for (const BufferRegion& r : regions) {
        std::vector<IntSet> region;
        for (const Range& range : r.region) { region.push_back(arith::eval_set(substitute(range, bindings), dom_)); }
        join(into, r.buffer, std::move(region));
      }
    };
    take(reads, node.block->reads);
    take(writes, node.block->writes);
  }
  void on(const VarNode& node) override {
    // The pointer of a buffer is used directly: the region is unknown.
    if (outer_.count(&node)) { is_opaque = true; }
  }
  void on(const Call& node) override {
    static const Name if_then_else("if_then_else"), access_ptr("tvm_access_ptr");
    if (node.op == access_ptr && node.args.size() == 5) {
      const auto* data = node.args[1].as<VarNode>();
      auto found = data ? outer_.find(data) : outer_.end();
      auto mask = as_int(node.args[4]);
      if (found != outer_.end() && mask) {
        std::vector<IntSet> whole(found->second->shape.size());
        if (*mask & 1) { join(reads, found->second, whole); }
        if (*mask & 2) { join(writes, found->second, whole); }
        for (size_t i = 2; i < 4; ++i) { visit(node.args[i]); }
        return;
      }
    }
    Visitor::on(node);
  }

  [[nodiscard]] auto regions(const std::vector<Access>& accesses, const std::vector<Access>& leave_out) const -> Array<BufferRegion> {
    arith::Analyzer analyzer;
    std::vector<BufferRegion> out;
    for (const Access& a : accesses) {
      bool skip = false;
      for (const Access& w : leave_out) { skip |= w.buffer == a.buffer; }
      if (skip) { continue; }
      std::vector<Range> region;
      for (size_t i = 0; i < a.region.size(); ++i) {
        const IntSet& x = a.region[i];
        if (changes(x)) {
          region.push_back(from_zero(a.buffer->shape[i]));
        } else if (x.can_prove_single_point(analyzer)) {
          region.push_back(point(x.min()));
        } else {
          region.push_back(x.cover_range(from_zero(a.buffer->shape[i]), analyzer));
        }
      }
      out.push_back({a.buffer, std::move(region), {}});
    }
    return out;
  }

 private:
  // True if a bound is loaded from memory that the block changes.
  [[nodiscard]] auto changes(const IntSet& set) const -> bool {
    bool found = false;
    auto look = [&](const Expr& bound) {
      post_order(bound, [&](const Expr& e) {
        const auto* load = e.as<BufferLoad>();
        found = found || (load && changing_.contains(load->buffer->data.get()));
      });
    };
    if (set.has_lower_bound()) { look(set.min()); }
    if (set.has_upper_bound()) { look(set.max()); }
    return found;
  }
  void touch(std::vector<Access>& into, const Buffer& buffer, const Array<Expr>& indices) {
    std::vector<IntSet> region;
    for (const Expr& index : indices) { region.push_back(arith::eval_set(index, dom_)); }
    join(into, buffer, std::move(region));
  }
  void join(std::vector<Access>& into, const Buffer& buffer, std::vector<IntSet> region) {
    if (auto match = matches_.find(buffer.get()); match != matches_.end()) {
      // A view accesses the whole region that it is a view of.
      std::vector<IntSet> source;
      for (const Range& r : match->second.region) { source.push_back(arith::eval_set(r, {})); }
      return join_outer(into, match->second.buffer, std::move(source));
    }
    join_outer(into, buffer, std::move(region));
  }
  void join_outer(std::vector<Access>& into, const Buffer& buffer, std::vector<IntSet> region) {
    if (!outer_.count(buffer->data.get())) { return; }
    for (Access& a : into) {
      if (a.buffer != buffer) { continue; }
      for (size_t i = 0; i < region.size() && i < a.region.size(); ++i) { a.region[i] = arith::union_of({a.region[i], region[i]}); }
      return;
    }
    into.push_back({buffer, std::move(region)});
  }

  const std::unordered_map<const VarNode*, Buffer>& outer_;
  std::unordered_map<const BufferNode*, BufferRegion> matches_;
  std::unordered_set<const VarNode*> changing_;        // memory that the block allocates or stores to
  arith::DomMap dom_;
};

// The variables in a statement that may point to the memory of buffers.
class Handles : public Visitor {
 public:
  explicit Handles(const Stmt& stmt) { visit(stmt); }
  std::unordered_set<const VarNode*> all;

  using Visitor::on;
  void on(const VarNode& node) override { all.insert(&node); }
  void on(const BufferLoad& node) override {
    all.insert(node.buffer->data.get());
    Visitor::on(node);
  }
  void on(const BufferStore& node) override {
    all.insert(node.buffer->data.get());
    Visitor::on(node);
  }
  void on(const Block& node) override {
    for (const auto* regions : {&node.reads, &node.writes}) {
      for (const BufferRegion& r : *regions) { all.insert(r.buffer->data.get()); }
    }
    for (const MatchBufferRegion& m : node.match_buffers) { all.insert(m.source.buffer->data.get()); }
    Visitor::on(node);
  }
};

class Completer : public Mutator {
 public:
  Completer(std::unordered_map<const VarNode*, Buffer> buffers, Evaluator& evaluator, PartCache* parts)
      : buffers_(std::move(buffers)), evaluator_(evaluator), parts_(parts) {}
  using Mutator::on;

  auto on(const SeqStmt& node) -> Stmt override {
    if (!parts_) { return Mutator::on(node); }
    bool is_same = true;
    std::vector<Stmt> all;
    all.reserve(node.seq.size());
    for (const Stmt& stmt : node.seq) {
      all.push_back(completed(stmt));
      is_same = is_same && all.back().same_as(stmt);
    }
    return is_same ? self(node) : seq(std::move(all), node.origin);
  }

  auto on(const Block& node) -> Stmt override {
    for (const Buffer& b : node.alloc_buffers) { buffers_[b->data.get()] = b; }
    for (const MatchBufferRegion& m : node.match_buffers) { buffers_[m.buffer->data.get()] = m.buffer; }
    Stmt body = mutate(node.body);
    Stmt init = node.init ? mutate(node.init) : node.init;
    for (const Buffer& b : node.alloc_buffers) { buffers_.erase(b->data.get()); }
    for (const MatchBufferRegion& m : node.match_buffers) { buffers_.erase(m.buffer->data.get()); }
    const Attr* mark = find_attr(node.annotations, detect_access_key());
    if (!mark && body.same_as(node.body) && init.same_as(node.init)) { return self(node); }
    Block::Fields fields = node.fields();
    fields.body = std::move(body);
    fields.init = std::move(init);
    if (!mark) { return make<Block>(std::move(fields), node.origin, node.id); }
    int64_t missing = as_int(mark->expr()).value_or(0);
    fields.annotations = without_attr(fields.annotations, detect_access_key());
    Ref<Block> plain = make<Block>(std::move(fields), node.origin, node.id);
    Detector detector(*plain, buffers_);
    if (detector.is_opaque) {
      evaluator_.report(error(Code::UnknownRegion, node.origin).arg("block", node.name.view())
                            .remedy("declare them with `T.reads(...)` and `T.writes(...)`"));
      return plain;
    }
    fields = plain->fields();
    if (missing & 1) { fields.reads = detector.regions(detector.reads, node.init ? detector.writes : std::vector<Access>{}); }
    if (missing & 2) { fields.writes = detector.regions(detector.writes, {}); }
    return make<Block>(std::move(fields), node.origin, node.id);
  }
  auto on(const DeclBuffer& node) -> Stmt override {
    // Regions of a block around name no buffer that is declared in it.
    const VarNode* data = node.buffer->data.get();
    const bool is_new = buffers_.emplace(data, node.buffer).second;
    Stmt out = Mutator::on(node);
    if (is_new) { buffers_.erase(data); }
    return out;
  }

 private:
  // The completed statement of a part, reused while its variables point to the same buffers.
  auto completed(const Stmt& stmt) -> Stmt {
    KnownStmt* known = parts_->known(stmt);
    if (!known) { return mutate(stmt); }
    auto memory = [&](const VarNode* var) {
      auto found = buffers_.find(var);
      return found == buffers_.end() ? Buffer() : found->second;
    };
    if (known->completed) {
      bool is_valid = std::all_of(known->memory.begin(), known->memory.end(), [&](const auto& entry) { return memory(entry.first) == entry.second; });
      if (is_valid) { return known->completed; }
    }
    size_t reported = evaluator_.diagnostics.size();
    Stmt made = mutate(stmt);
    if (evaluator_.diagnostics.size() != reported) { return made; }
    known->memory.clear();
    for (const VarNode* var : Handles(stmt).all) { known->memory.emplace_back(var, memory(var)); }
    parts_->complete(*known, made);
    return made;
  }

  std::unordered_map<const VarNode*, Buffer> buffers_;
  Evaluator& evaluator_;
  PartCache* parts_;
};

auto contains_block(const Stmt& stmt) -> bool {
  if (stmt.as<BlockRealize>()) { return true; }
  bool found = false;
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { found = found || contains_block(child); });
  return found;
}
auto needs_completion(const Stmt& stmt) -> bool {
  if (const auto* block = stmt.as<Block>(); block && find_attr(block->annotations, detect_access_key())) { return true; }
  bool found = false;
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { found = found || needs_completion(child); });
  return found;
}

}  // namespace

auto complete(PrimFuncNode func, std::vector<Buffer> root_allocs, Evaluator& evaluator, PartCache* parts) -> PrimFunc {
  std::unordered_map<const VarNode*, Buffer> buffers;
  for (const auto& [param, buffer] : func.buffer_map) { buffers.emplace(buffer->data.get(), buffer); }
  for (const Buffer& b : root_allocs) { buffers.emplace(b->data.get(), b); }
  const auto* realize = func.body.as<BlockRealize>();
  bool insert = !root_allocs.empty() || (realize ? !realize->block->iter_vars.empty() : contains_block(func.body));
  if (insert) {
    Block::Fields fields;
    fields.name = Name("root");
    fields.body = func.body;
    fields.alloc_buffers = std::move(root_allocs);
    // Keeps the text's form, without regions, as TVM does.
    Ref<Block> root = make<Block>(std::move(fields), func.origin);
    func.body = make<BlockRealize>(Array<Expr>{}, bool_imm(true, func.origin), std::move(root), func.origin);
  } else if (realize) {
    // A root block in the text may lack regions too.
    const auto& root = *realize->block;
    if (find_attr(root.annotations, detect_access_key())) {
      Block::Fields fields = root.fields();
      fields.annotations = without_attr(fields.annotations, detect_access_key());
      func.body = make<BlockRealize>(realize->iter_values, realize->predicate, make<Block>(std::move(fields), root.origin, root.id), realize->origin);
    }
  }
  if (parts || needs_completion(func.body)) { func.body = Completer(std::move(buffers), evaluator, parts).mutate(func.body); }
  return make_func(std::move(func));
}

}  // namespace loopsmith::frontend
