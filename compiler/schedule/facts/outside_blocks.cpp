// Statements between blocks: see outside_blocks.h.
#include "schedule/facts/outside_blocks.h"

#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "ir/jumps.h"
#include "ir/visitor.h"
#include "support/reasons.h"

namespace loopsmith::schedule {
namespace {

class Find {
 public:
  OutsideBlocks out;

  void run(const PrimFunc& func) {
    statement(func->body, true);
    find_second_buffers();
    if (!early_return_) { return; }
    for (NodeId id : all_) {
      out.skipped.emplace(id, because(Why::ReturnsEarly));
      out.jump_at.emplace(id, early_return_->origin);
    }
  }

 private:
  // A loop or `while` around the current statement.
  struct Around {
    const For* loop = nullptr;               // null: a `while`
    size_t scope = 0;                        // the number of blocks around it
    size_t places = 0;                       // the number of places seen before it
    const StmtNode* jump = nullptr;          // the first jump that leaves it
    Name block;                              // the block around that jump; empty: none inside of the loop
  };
  struct Scope {
    NodeId id = 0;
    Name name;
    bool has_blocks = false;
    OutsideBlocks::Touched touched;
    std::vector<NodeId> loops_with_statements, loops_with_loads;
  };

  // `is_last`: no statement of the function runs after this one.
  void statement(const Stmt& s, bool is_last) {
    switch (s.kind()) {
      case NodeKind::BlockRealize: return block(*s.as<BlockRealize>());
      case NodeKind::For: return loop(*s.as<For>());
      case NodeKind::While: return loop(*s.as<While>());
      case NodeKind::SeqStmt: {
        const auto& all = s.as<SeqStmt>()->seq;
        size_t left = all.size();
        for (const Stmt& one : all) { statement(one, is_last && --left == 0); }
        return;
      }
      case NodeKind::Break:
      case NodeKind::Continue:
        if (!around_.empty() && !around_.back().jump) {
          around_.back().jump = s.get();
          if (scopes_.size() > around_.back().scope) { around_.back().block = scopes_.back().name; }
        }
        return;
      case NodeKind::BufferStore:
      case NodeKind::AssertStmt: effect(); break;
      case NodeKind::Evaluate:
        if (is_return(s)) {
          if (!is_last && !early_return_) { early_return_ = s.get(); }
        } else if (s.as<Evaluate>()->value.as<Call>()) {
          effect();
        }
        break;
      default: break;
    }
    if (const auto* store = s.as<BufferStore>()) {
      use(store->buffer, true);
      if (!scopes_.empty()) { scopes_.back().touched.writes.insert(store->buffer->data.get()); }
    }
    if (const auto* let = s.as<LetStmt>()) { if (const auto* data = let->value.as<VarNode>()) { names_.emplace(let->var.get(), memory(data)); } }
    visit_children(s, [&](const Expr& e) { expression(e); }, [&](const Stmt& inner) { statement(inner, is_last); });
  }

  void block(const BlockRealize& n) {
    if (!scopes_.empty()) { scopes_.back().has_blocks = true; }
    all_.push_back(n.block->id);
    scopes_.push_back({n.block->id, n.block->name, false, {}, {}, {}});
    statement(n.block->body, scopes_.size() == 1);
    Scope done = std::move(scopes_.back());
    scopes_.pop_back();
    // A block without blocks inside has no statements between blocks.
    if (!done.has_blocks) { return; }
    out.loops_with_statements.insert(done.loops_with_statements.begin(), done.loops_with_statements.end());
    out.loops_with_loads.insert(done.loops_with_loads.begin(), done.loops_with_loads.end());
    if (!done.touched.reads.empty() || !done.touched.writes.empty()) { out.touched.emplace(done.id, std::move(done.touched)); }
  }

  void loop(const For& n) {
    expression(n.min);
    expression(n.extent);
    around_.push_back({&n, scopes_.size(), all_.size(), nullptr, {}});
    all_.push_back(n.id);
    statement(n.body, false);
    Around done = std::move(around_.back());
    around_.pop_back();
    // A jump in a loop without blocks affects nothing outside of its block.
    if (!done.jump || !holds_block(n.body)) { return; }
    std::string word(jump_word(*done.jump));
    skip(done, done.block.empty() ? because(Why::JumpSkips).arg("jump", word).arg("loop", n.var->name.view())
                                  : because(Why::JumpLeavesLoop).arg("jump", word).arg("block", done.block.view()).arg("loop", n.var->name.view()),
         done.jump->origin);
  }
  void loop(const While& n) {
    expression(n.condition);
    around_.push_back({nullptr, scopes_.size(), all_.size(), nullptr, {}});
    statement(n.body, false);
    Around done = std::move(around_.back());
    around_.pop_back();
    if (holds_block(n.body)) { skip(done, because(Why::RepeatedByWhile), n.origin); }
  }
  // Marks everything inside of a loop that a jump leaves or a `while` repeats, and the loops around it in its scope.
  void skip(const Around& inner, const Reason& why, Origin at) {
    auto add = [&](NodeId id) {
      out.skipped.emplace(id, why);
      out.jump_at.emplace(id, at);
    };
    for (size_t i = inner.places; i < all_.size(); ++i) { add(all_[i]); }
    for (const Around& outer : around_) { if (outer.loop && outer.scope == inner.scope) { add(outer.loop->id); } }
  }

  static auto holds_block(const Stmt& body) -> bool {
    bool found = false;
    post_order(body, [&](const Stmt& s) { found = found || s.as<BlockRealize>(); }, [](const Expr&) {});
    return found;
  }
  // Adds the loops of the scope that are around the current statement.
  void add_loops(std::vector<NodeId>& to) const {
    for (const Around& at : around_) { if (at.loop && at.scope == scopes_.size()) { to.push_back(at.loop->id); } }
  }
  void effect() {
    if (!scopes_.empty()) { add_loops(scopes_.back().loops_with_statements); }
  }
  // ---- several buffers on one memory
  struct Memory { Buffer first, second; bool is_written = false; };
  auto memory(const VarNode* data) const -> const VarNode* {
    auto found = names_.find(data);
    return found == names_.end() ? data : found->second;
  }
  void use(const Buffer& buffer, bool is_written) {
    Memory& m = memories_[memory(buffer->data.get())];
    m.is_written = m.is_written || is_written;
    if (!m.first) { m.first = buffer; } else if (!m.second && !(buffer == m.first)) { m.second = buffer; }
  }
  void find_second_buffers() {
    for (const auto& [data, m] : memories_) { if (m.second && m.is_written) { out.second_buffers.emplace(data, m.second); } }
    for (const auto& [name, data] : names_) {
      if (auto found = out.second_buffers.find(data); found != out.second_buffers.end()) { out.second_buffers.emplace(name, found->second); }
    }
  }

  void expression(const Expr& e) {
    if (scopes_.empty()) { return; }
    OutsideBlocks::Touched& touched = scopes_.back().touched;
    bool loads = false;
    post_order(e, [&](const Expr& x) {
      if (const auto* load = x.as<BufferLoad>()) {
        use(load->buffer, false);
        touched.reads.insert(load->buffer->data.get());
        loads = true;
      }
      // Code that receives a pointer may read and write its elements.
      if (const auto* v = x.as<VarNode>(); v && v->dtype.is_handle()) {
        touched.reads.insert(v);
        touched.writes.insert(v);
      }
    });
    if (loads) { add_loops(scopes_.back().loops_with_loads); }
  }

  std::vector<Around> around_;
  std::vector<Scope> scopes_;
  std::vector<NodeId> all_;                    // loops and blocks in the order of the text
  const StmtNode* early_return_ = nullptr;
  std::unordered_map<const VarNode*, Memory> memories_;
  std::unordered_map<const VarNode*, const VarNode*> names_;   // from another name of a pointer, as in `p = A.data`, to the memory
};

}  // namespace

auto find_outside_blocks(const PrimFunc& func) -> OutsideBlocks {
  Find find;
  find.run(func);
  return std::move(find.out);
}

}  // namespace loopsmith::schedule
