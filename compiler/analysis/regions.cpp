// Compares declared regions with accesses: an error if an access of a block is proved to lie outside of all regions of the buffer in its `T.reads` or
// `T.writes`; a warning if these do not name the buffer (TVM's own primitives leave such blocks).
//
// Regions that the text leaves out come from the frontend and cover all accesses. A block without any region (the root block, in TVM's form)
// is not checked. The reads of a reduction do not list the elements that its init writes.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/subject.h"
#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "support/codes.h"
#include "support/saturate.h"

namespace loopsmith::analysis {
namespace {

class Regions {
 public:
  explicit Regions(Subject& subject) : subject_(subject) {}

  void run() {
    for (const BlockFact& b : subject_.facts.blocks) {
      if (subject_.cancel.is_cancelled()) { return; }
      if (b.block->reads.empty() && b.block->writes.empty()) { continue; }
      if (!b.realize || (b.block->iter_vars.empty() && b.block->name == "root")) { continue; }
      for (size_t i = b.begin; i < b.end; ++i) {
        if (!is_begun_inside(b, i)) { check(b, subject_.facts.accesses[i]); }
      }
    }
  }

 private:
  /// True if an inner block's reduction loads its own accumulator, which its init has written in the same instance.
  auto is_begun_inside(const BlockFact& fact, size_t access) -> bool {
    for (const BlockFact& inner : subject_.facts.blocks) {
      bool holds = inner.begin <= access && access < inner.end && fact.begin <= inner.begin && inner.end <= fact.end && inner.block != fact.block;
      if (holds && inner.block->init && is_reduction_output(inner, subject_.facts.accesses[access])) { return true; }
    }
    return false;
  }

  void check(const BlockFact& fact, const Access& a) {
    if (!a.is_certain || a.is_masked) { return; }
    const Array<BufferRegion>& declared = a.is_write ? fact.block->writes : fact.block->reads;
    // Buffers that the block allocates need no region; nor do views in it.
    for (const AllocFact& alloc : subject_.facts.allocs) {
      if (alloc.data == a.buffer->data.get() && allocates_below(fact, alloc)) { return; }
    }
    if (subject_.facts.views.count(a.buffer->data.get()) != 0) { return; }
    std::vector<const BufferRegion*> mine;
    bool same_memory = false;
    for (const BufferRegion& r : declared) {
      if (r.buffer.get() == a.buffer) { mine.push_back(&r); }
      same_memory |= r.buffer->data == a.buffer->data;
    }
    if (mine.empty()) {
      // A region of another view of the same memory may cover the access.
      if (same_memory || is_reduction_output(fact, a)) { return; }
      auto witness = a.space->witness({}, subject_.budget, [](const Numbers&) { return true; });
      if (!witness) { return; }
      report(fact, a, Code::RegionMissing, "");
      return;
    }
    std::vector<Expr> relevant;
    for (size_t d = 0; d < a.indices->size(); ++d) {
      if (!is_pure_integer((*a.indices)[d]) || !(*a.indices)[d].dtype().is_scalar()) { return; }
      relevant.push_back((*a.indices)[d]);
    }
    for (const BufferRegion* r : mine) {
      if (r->region.size() != a.indices->size() || covers(*a.space, *r, *a.indices)) { return; }
      for (const Range& range : r->region) {
        relevant.push_back(range.min);
        relevant.push_back(range.extent);
      }
    }
    std::string element;
    auto witness = a.space->witness(relevant, subject_.budget, [&](const Numbers& n) {
      std::vector<int64_t> at;
      for (const Expr& index : *a.indices) {
        auto v = evaluate(index, n);
        if (!v) { return false; }
        at.push_back(*v);
      }
      for (const BufferRegion* r : mine) {
        bool inside = true;
        for (size_t d = 0; d < at.size(); ++d) {
          auto min = evaluate(r->region[d].min, n);
          auto extent = evaluate(r->region[d].extent, n);
          if (!min || !extent) { return false; }
          inside = inside && at[d] >= *min && at[d] < saturating_add(*min, *extent);
        }
        if (inside) { return false; }
      }
      element.clear();
      for (int64_t v : at) { element += (element.empty() ? "" : ", ") + std::to_string(v); }
      return true;
    });
    if (!witness) { return; }
    std::string at = a.space->in_words(*witness, relevant);
    report(fact, a, Code::RegionNotCovered, fmt::format("`{}[{}]`{}{}", a.buffer->name.view(), element, at.empty() ? "" : " at ", at));
  }

  /// The usual case, without the prover: each index is the beginning of its range, or a constant behind it.
  auto covers(const Space& space, const BufferRegion& r, const Array<Expr>& indices) -> bool {
    for (size_t d = 0; d < indices.size(); ++d) {
      if (arith::deep_equal(indices[d], r.region[d].min)) { continue; }
      auto extent = as_int(r.region[d].extent);
      auto begin = as_int(r.region[d].min);
      if (extent && begin) {
        auto range = space.interval(indices[d]);
        if (range && range->min >= *begin && range->max < saturating_add(*begin, *extent)) { continue; }
      }
      if (is_zero(r.region[d].min) && arith::deep_equal(r.region[d].extent, r.buffer->shape[d])) { continue; }
      if (!extent || subject_.questions <= 0) { return false; }
      --subject_.questions;
      auto distance = space.interval(analyzer_.simplify(indices[d] - r.region[d].min));
      if (!distance || distance->min < 0 || distance->max >= *extent) { return false; }
    }
    return true;
  }

  auto allocates_below(const BlockFact& fact, const AllocFact& alloc) -> bool {
    // All accesses to a buffer that the block allocates are inside the block.
    for (size_t i = 0; i < subject_.facts.accesses.size(); ++i) {
      if (i >= fact.begin && i < fact.end) { continue; }
      if (subject_.facts.accesses[i].buffer->data.get() == alloc.data) { return false; }
    }
    for (const Buffer& b : fact.block->alloc_buffers) {
      if (b->data.get() == alloc.data) { return true; }
    }
    return alloc.origin.begin >= fact.block->origin.begin && alloc.origin.end <= fact.block->origin.end && alloc.origin.decl == fact.block->origin.decl;
  }

  /// True if a reduction loads its accumulator, which its reads do not list.
  static auto is_reduction_output(const BlockFact& fact, const Access& a) -> bool {
    if (a.is_write) { return false; }
    // The init may have been lowered into the body.
    bool reduces = bool(fact.block->init);
    for (const IterVar& iter : fact.block->iter_vars) { reduces |= iter.kind == IterKind::Reduction; }
    if (!reduces) { return false; }
    for (const BufferRegion& r : fact.block->writes) {
      if (r.buffer.get() == a.buffer) { return true; }
    }
    return false;
  }

  void report(const BlockFact& fact, const Access& a, Code code, const std::string& element) {
    // One message for each block and buffer.
    for (const auto& [block, buffer, write] : reported_) {
      if (block == fact.block && buffer == a.buffer && write == a.is_write) { return; }
    }
    reported_.push_back({fact.block, a.buffer, a.is_write});
    const char* what = a.is_write ? "writes" : "reads";
    Diagnostic d = error(code, a.origin).arg("block", fact.block->name.view()).arg("access", what).arg("buffer", a.buffer->name.view())
                       .arg("list", fmt::format("T.{}", what)).arg("element", element);
    const Array<BufferRegion>& declared = a.is_write ? fact.block->writes : fact.block->reads;
    for (const BufferRegion& r : declared) {
      if (r.buffer.get() != a.buffer || !r.origin.is_known()) { continue; }
      (void)std::move(d).note(r.origin, fmt::format("the block declares that it {} only this part of `{}`", what, a.buffer->name.view()));
      break;
    }
    if (code == Code::RegionMissing) {
      (void)std::move(d).remedy(fmt::format("add `{}` to `T.{}`, or remove `T.{}`, which is then found from the body", subject_.text(a.origin), what, what));
    } else {
      (void)std::move(d).remedy(fmt::format("widen the region in `T.{}`, or remove `T.{}`, which is then found from the body", what, what));
    }
    subject_.report(std::move(d));
  }

  Subject& subject_;
  arith::Analyzer analyzer_;
  struct Seen { const Block* block; const BufferNode* buffer; bool write; };
  std::vector<Seen> reported_;
};

}  // namespace

void check_regions(Subject& subject) {
  if (!subject.facts.has_jumps) { Regions(subject).run(); }
}

}  // namespace loopsmith::analysis
