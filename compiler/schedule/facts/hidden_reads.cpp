// Loads that a block does not declare: see hidden_reads.h.
#include "schedule/facts/hidden_reads.h"

#include <algorithm>

#include "ir/visitor.h"

namespace loopsmith::schedule {

namespace {

// Loads of buffers, directly or through a view, that a block neither declares nor allocates.
class HiddenReads : public Visitor {
 public:
  explicit HiddenReads(const Block& block) {
    for (const BufferRegion& region : block.reads) { known_.push_back(region.buffer.get()); }
  }
  using Visitor::visit;
  std::vector<Buffer> found;

 protected:
  using Visitor::on;
  void on(const BufferLoad& n) override {
    const Buffer* buffer = &n.buffer;
    for (auto view = views_.find(buffer->get()); view != views_.end(); view = views_.find(buffer->get())) { buffer = &view->second; }
    if (std::find(known_.begin(), known_.end(), buffer->get()) == known_.end()) {
      known_.push_back(buffer->get());
      found.push_back(*buffer);
    }
    Visitor::on(n);
  }
  void on(const Block& n) override {
    for (const Buffer& buffer : n.alloc_buffers) { known_.push_back(buffer.get()); }
    for (const MatchBufferRegion& match : n.match_buffers) { views_.emplace(match.buffer.get(), match.source.buffer); }
    // The update of a reduction loads elements that its init wrote.
    if (n.init) {
      for (const BufferRegion& region : n.writes) { known_.push_back(region.buffer.get()); }
    }
    Visitor::on(n);
  }

 private:
  std::vector<const BufferNode*> known_;
  std::unordered_map<const BufferNode*, Buffer> views_;
};

}  // namespace

auto compute_hidden_reads(const Block& block) -> std::vector<Buffer> {
  HiddenReads finder(block);
  finder.visit(Stmt(Ref<Block>(&block)));
  return std::move(finder.found);
}

auto KnownHiddenReads::of(const Block& block) -> const std::vector<Buffer>& {
  auto found = entries_.find(&block);
  if (found == entries_.end()) { found = entries_.emplace(&block, Entry{Ref<Block>(&block), compute_hidden_reads(block)}).first; }
  return found->second.buffers;
}

}  // namespace loopsmith::schedule
