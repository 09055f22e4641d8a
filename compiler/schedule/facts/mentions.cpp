// The memory that strands of a scope mention, updated from state to state: see mentions.h.
#include "schedule/facts/mentions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/visitor.h"
#include "schedule/facts/sorted_sequence.h"

namespace loopsmith::schedule {

namespace {

using Mention = ScopeMentions::Mention;

// The memory that a statement mentions, also in regions and views of blocks.
class FindMentions : public Visitor {
 public:
  explicit FindMentions(std::vector<const VarNode*>& out) : out_(out) {}
  using Visitor::visit;

 protected:
  using Visitor::on;
  void on(const VarNode& n) override { if (n.dtype.is_handle()) { out_.push_back(&n); } }
  void on(const BufferLoad& n) override {
    add(n.buffer);
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    add(n.buffer);
    Visitor::on(n);
  }
  void on(const BufferRealize& n) override {
    add(n.buffer);
    Visitor::on(n);
  }
  void on(const DeclBuffer& n) override {
    add(n.buffer);
    Visitor::on(n);
  }
  void on(const Block& n) override {
    for (const auto* regions : {&n.reads, &n.writes}) {
      for (const BufferRegion& region : *regions) { add(region.buffer); }
    }
    for (const MatchBufferRegion& match : n.match_buffers) { add(match.source.buffer); }
    Visitor::on(n);
  }

 private:
  void add(const Buffer& buffer) { out_.push_back(buffer->data.get()); }
  std::vector<const VarNode*>& out_;
};

void add_mentions(const Stmt& strand, std::vector<Mention>& out) {
  std::vector<const VarNode*> data;
  FindMentions(data).visit(strand);
  std::sort(data.begin(), data.end());
  data.erase(std::unique(data.begin(), data.end()), data.end());
  NodeId id = strand.as<For>() ? strand.as<For>()->id : strand.as<BlockRealize>()->block->id;
  for (const VarNode* var : data) { out.push_back({var, id}); }
}

}  // namespace

auto make_scope_mentions(std::shared_ptr<const ScopeTree> tree, const ScopeMentions* before) -> ScopeMentions {
  ScopeMentions out{.tree = std::move(tree), .all = {}};
  const Sequence<Stmt>& strands = out.tree->strands;
  std::vector<Mention> gone, fresh;
  if (before) {
    const Sequence<Stmt>& old = before->tree->strands;
    difference(old, strands, [&](size_t from, size_t to, size_t new_from, size_t new_to) {
      for (; from < to; ++from) { add_mentions(old[from], gone); }
      for (; new_from < new_to; ++new_from) { add_mentions(strands[new_from], fresh); }
    });
  }
  if (!before || gone.size() + fresh.size() > before->all.size()) {
    fresh.clear();
    for (const Stmt& strand : strands) { add_mentions(strand, fresh); }
    std::sort(fresh.begin(), fresh.end());
    out.all = std::move(fresh);
    return out;
  }
  std::sort(gone.begin(), gone.end());
  std::sort(fresh.begin(), fresh.end());
  std::vector<Mention> left, entered;
  std::set_difference(gone.begin(), gone.end(), fresh.begin(), fresh.end(), std::back_inserter(left));
  std::set_difference(fresh.begin(), fresh.end(), gone.begin(), gone.end(), std::back_inserter(entered));
  out.all = before->all;
  for (const Mention& mention : left) { erase_sorted(out.all, mention); }
  for (const Mention& mention : entered) { insert_sorted(out.all, mention); }
  return out;
}

}  // namespace loopsmith::schedule
