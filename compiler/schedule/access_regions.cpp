// Regions found from a block's body: see access_regions.h.
#include "schedule/access_regions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::schedule {
namespace {

using Sets = std::vector<arith::IntSet>;

struct Touched {
  std::vector<Buffer> buffers;
  std::vector<Sets> regions;
};

class Finder : public Visitor {
 public:
  explicit Finder(const std::vector<Buffer>& known) {
    for (const Buffer& buffer : known) { known_[buffer->data.get()] = buffer; }
  }

  void run(const Block& block) {
    for (const MatchBufferRegion& match : block.match_buffers) {
      if (known_.count(match.source.buffer->data.get())) {
        matches_.emplace(match.buffer->data.get(), &match);
        known_[match.buffer->data.get()] = match.buffer;
      }
    }
    // Loads in the regions declared so far count too, and come first.
    for (const IterVar& iter : block.iter_vars) { visit(iter); }
    for (const BufferRegion& region : block.reads) { visit(region); }
    for (const BufferRegion& region : block.writes) { visit(region); }
    if (block.init) { visit(block.init); }
    visit(block.body);
  }

  Touched reads, writes, opaque;

 protected:
  using Visitor::on;
  using Visitor::visit;
  void on(const VarNode& n) override {
    auto found = known_.find(&n);
    if (found != known_.end()) { add(opaque, found->second, whole(found->second)); }
  }
  // A pointer with declared access, as of `T.tvm_access_ptr`.
  void on(const Call& n) override {
    static const Name access_ptr("tvm_access_ptr");
    const auto* data = n.op == access_ptr && n.args.size() == 5 ? n.args[1].as<VarNode>() : nullptr;
    auto mask = data ? as_int(n.args[4]) : std::nullopt;
    if (!mask) { return Visitor::on(n); }
    auto found = known_.find(data);
    if (found == known_.end()) { return; }
    if ((*mask & 3) != 0) { add((*mask & 3) == 3 ? opaque : (*mask & 1) != 0 ? reads : writes, found->second, whole(found->second)); }
  }
  void on(const BufferLoad& n) override {
    add(reads, n.buffer, sets_of(n.indices));
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    add(writes, n.buffer, sets_of(n.indices));
    Visitor::on(n);
  }
  void on(const For& n) override {
    visit(n.min);
    visit(n.extent);
    domains_[n.var.get()] = arith::IntSet::from_range(Range{n.min, n.extent});
    visit(n.body);
    domains_.erase(n.var.get());
  }
  void on(const BlockRealize& n) override {
    VarMap map;
    for (size_t i = 0; i < n.iter_values.size(); ++i) { map[n.block->iter_vars[i].var.get()] = n.iter_values[i]; }
    auto add_all = [&](Touched& to, const Array<BufferRegion>& regions) {
      for (const BufferRegion& region : regions) {
        Sets sets;
        for (const Range& range : region.region) { sets.push_back(arith::eval_set(substitute(range, map), domains_)); }
        add(to, region.buffer, std::move(sets));
      }
    };
    add_all(reads, n.block->reads);
    add_all(writes, n.block->writes);
  }

 private:
  auto whole(const Buffer& buffer) -> Sets {
    Sets out;
    for (const Expr& extent : buffer->shape) { out.push_back(arith::eval_set(from_zero(extent), domains_)); }
    return out;
  }
  auto sets_of(const Array<Expr>& indices) -> Sets {
    Sets out;
    for (const Expr& index : indices) { out.push_back(arith::eval_set(index, domains_)); }
    return out;
  }

  // Expresses a view's region in terms of its source: adds the view's offsets to the inner dimensions.
  auto through_match(const MatchBufferRegion& match, const Sets& sets) -> Sets {
    size_t outer = match.source.region.size() - sets.size();
    Sets out;
    for (size_t i = 0; i < outer; ++i) { out.push_back(arith::eval_set(match.source.region[i], domains_)); }
    for (size_t i = 0; i < sets.size(); ++i) {
      const Range& source = match.source.region[i + outer];
      Range inner = sets[i].cover_range(from_zero(match.buffer->shape[i]));
      out.push_back(arith::eval_set(Range{source.min + inner.min, inner.extent}, domains_));
    }
    return out;
  }

  void add(Touched& to, Buffer buffer, Sets region) {
    if (!known_.count(buffer->data.get())) { return; }
    if (auto match = matches_.find(buffer->data.get()); match != matches_.end() && match->second->source.region.size() >= region.size()) {
      region = through_match(*match->second, region);
      buffer = match->second->source.buffer;
    }
    for (size_t i = 0; i < to.buffers.size(); ++i) {
      if (!(to.buffers[i] == buffer) || to.regions[i].size() != region.size()) { continue; }
      for (size_t k = 0; k < region.size(); ++k) { to.regions[i][k] = arith::union_of({to.regions[i][k], region[k]}); }
      return;
    }
    to.buffers.push_back(std::move(buffer));
    to.regions.push_back(std::move(region));
  }

  std::unordered_map<const VarNode*, Buffer> known_;
  std::unordered_map<const VarNode*, const MatchBufferRegion*> matches_;
  arith::DomMap domains_;
};

// `own`: buffers that the block allocates. An index that is loaded from such a buffer has no known bounds, so the access may reach any element.
auto regions_of(const Touched& touched, const std::vector<Buffer>& except, const Sequence<Buffer>& own) -> std::vector<BufferRegion> {
  arith::Analyzer analyzer;
  auto looks_up_own = [&](const Expr& e) {
    bool found = false;
    if (own.empty()) { return found; }
    post_order(e, [&](const Expr& part) {
      const auto* load = part.as<BufferLoad>();
      found = found || (load && std::find(own.begin(), own.end(), load->buffer) != own.end());
    });
    return found;
  };
  std::vector<BufferRegion> out;
  for (size_t i = 0; i < touched.buffers.size(); ++i) {
    const Buffer& buffer = touched.buffers[i];
    if (std::find(except.begin(), except.end(), buffer) != except.end()) { continue; }
    std::vector<Range> region;
    for (size_t k = 0; k < touched.regions[i].size() && k < buffer->shape.size(); ++k) {
      const arith::IntSet& set = touched.regions[i][k];
      if ((set.has_lower_bound() && looks_up_own(set.min())) || (set.has_upper_bound() && looks_up_own(set.max()))) {
        region.push_back(from_zero(buffer->shape[k]));
        continue;
      }
      if (set.can_prove_single_point(analyzer)) {
        region.push_back(point(set.min()));
      } else {
        region.push_back(set.cover_range(from_zero(buffer->shape[k])));
      }
    }
    out.push_back({buffer, Array<Range>(std::move(region)), {}});
  }
  return out;
}

}  // namespace

auto find_access_regions(const Block& block, const std::vector<Buffer>& known) -> AccessRegions {
  Finder finder(known);
  finder.run(block);
  // The output of a reduction is not read from outside: its init writes it first.
  std::vector<Buffer> not_read = finder.opaque.buffers;
  if (block.init) { not_read.insert(not_read.end(), finder.writes.buffers.begin(), finder.writes.buffers.end()); }
  AccessRegions out{regions_of(finder.reads, not_read, block.alloc_buffers), regions_of(finder.writes, finder.opaque.buffers, block.alloc_buffers)};
  for (BufferRegion& region : regions_of(finder.opaque, {}, block.alloc_buffers)) {
    out.reads.push_back(region);
    out.writes.push_back(std::move(region));
  }
  return out;
}

}  // namespace loopsmith::schedule
