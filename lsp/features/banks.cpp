// Lowers a program until its buffers are compact, and computes bank conflicts: see banks.h.
#include "lsp/features/banks.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/banks.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "transform/pipelines.h"

namespace loopsmith::lsp {
namespace {

const Name buffer_dim_align("buffer_dim_align");

/// Removes the annotations of `storage_align` for a buffer and collects them, because lowering does not compact a buffer with gaps.
class TakeAlignments : public Mutator {
 public:
  using Mutator::on;
  explicit TakeAlignments(const Buffer& buffer) : buffer_(buffer) {}
  std::vector<cost::Alignment> found;

  auto on(const Block& n) -> Stmt override {
    Stmt made = Mutator::on(n);
    const auto& block = *made.as<Block>();
    const Attr* asked = find_attr(block.annotations, buffer_dim_align);
    if (asked == nullptr) { return made; }
    for (const Attr& entry : asked->list() != nullptr ? *asked->list() : Array<Attr>()) { note(n, entry); }
    auto fields = block.fields();
    fields.annotations = without_attr(block.annotations, buffer_dim_align);
    return make<Block>(std::move(fields), block.origin, block.id);
  }

 private:
  void note(const Block& block, const Attr& entry) {
    std::vector<int64_t> numbers;
    for (const Attr& one : entry.list() != nullptr ? *entry.list() : Array<Attr>()) { numbers.push_back(one.expr() ? as_int(one.expr()).value_or(-1) : -1); }
    if (numbers.size() != 4 || numbers[0] < 0 || static_cast<size_t>(numbers[0]) >= block.writes.size()) { return; }
    if (block.writes[static_cast<size_t>(numbers[0])].buffer.same_as(buffer_)) { found.push_back({numbers[1], numbers[2], numbers[3]}); }
  }
  Buffer buffer_;
};

/// The only buffer with a name; none: several buffers have it.
auto only_named(const PrimFunc& function, Name name) -> Buffer {
  std::vector<Buffer> found;
  auto note = [&](const Buffer& buffer) {
    if (buffer->name == name && std::find(found.begin(), found.end(), buffer) == found.end()) { found.push_back(buffer); }
  };
  post_order(function->body, [&](const Stmt& stmt) {
    if (const auto* store = stmt.as<BufferStore>()) { note(store->buffer); }
  }, [&](const Expr& expr) {
    if (const auto* load = expr.as<BufferLoad>()) { note(load->buffer); }
  });
  return found.size() == 1 ? found.front() : Buffer();
}

/// The call that removes a conflict by a gap between rows; empty: a gap of one word does not remove it.
auto padding_in_words(const PrimFunc& function, const Buffer& buffer, const std::vector<cost::Alignment>& alignments, const cost::BankUse& conflict) -> std::string {
  const int64_t bytes = buffer->dtype.element_bytes();
  const auto rank = static_cast<int64_t>(buffer->shape.size());
  if (rank < 2 || !alignments.empty() || bytes <= 0 || bytes > 4) { return {}; }
  cost::Alignment gap{rank - 2, 128 / bytes, 4 / bytes};
  auto padded = cost::bank_uses(function, buffer, {gap});
  bool is_free = std::all_of(padded.begin(), padded.end(), [&](const cost::BankUse& use) { return use.access != conflict.access || use.is_write != conflict.is_write || use.ways < conflict.ways; });
  return is_free ? fmt::format(" (`sch.storage_align(block, 0, axis=-2, factor={}, offset={})` helps)", gap.factor, gap.offset) : "";
}

/// The sectors of global memory that one access of a warp uses.
auto sectors_in_words(const PrimFunc& function, const Buffer& buffer) -> std::vector<std::string> {
  std::vector<std::string> out;
  std::string full;
  for (const cost::BankUse& use : cost::bank_uses(function, buffer)) {
    if (!use.is_known || use.sectors == 0) { continue; }
    std::string text = fmt::format("`{}` ({})", use.access, use.is_write ? "written" : "read");
    if (use.sectors > use.least_sectors) {
      out.push_back(fmt::format("a warp takes {} sectors of 32 bytes at {}, where {} would hold the data", use.sectors, text, use.least_sectors));
    } else {
      full += (full.empty() ? "" : ", ") + text;
    }
  }
  if (!full.empty()) { out.push_back("coalesced at " + full); }
  return out;
}

}  // namespace

auto bank_conflicts_in_words(const PrimFunc& function, const Buffer& buffer) -> std::vector<std::string> {
  if (is_global_memory(buffer->scope().view())) { return sectors_in_words(function, buffer); }
  if (!buffer->scope().view().starts_with("shared")) { return {}; }
  TakeAlignments alignments(buffer);
  Stmt body = alignments.mutate(function->body);
  // Lowering turns inits into conditions and substitutes bindings. If a program cannot be lowered, the original is analysed.
  PrimFunc lowered = function;
  Buffer compact = buffer;
  IRModuleNode module;
  Name main("main");
  module.functions = {{main, body.same_as(function->body) ? function : with_body(function, body)}};
  auto result = transform::lower(make_module(std::move(module)), {}, {.target_kind = "rocm", .until = "compact_buffer_allocation"});
  if (result.ok() && (*result)->find(main)) {
    Buffer there = only_named((*result)->find(main), buffer->name);
    if (there) {
      lowered = (*result)->find(main);
      compact = there;
    }
  }
  std::vector<std::string> out;
  std::string unknown, free;
  for (const cost::BankUse& use : cost::bank_uses(lowered, compact, alignments.found)) {
    std::string text = fmt::format("`{}` ({})", use.access, use.is_write ? "written" : "read");
    if (!use.is_known) {
      unknown += (unknown.empty() ? "" : ", ") + text;
    } else if (use.ways > 1) {
      out.push_back(fmt::format("{}-way bank conflict at {}{}", use.ways, text, padding_in_words(lowered, compact, alignments.found, use)));
    } else {
      free += (free.empty() ? "" : ", ") + text + (use.is_whole ? "" : " in the iterations that were looked at");
    }
  }
  auto shape_of = [](const Buffer& one) {
    std::string text;
    for (const Expr& extent : one->shape) { text += (text.empty() ? "" : ", ") + print_script(extent); }
    return "(" + text + ")";
  };
  if (std::string shape = shape_of(compact); !(out.empty() && free.empty()) && shape != shape_of(buffer)) { out.insert(out.begin(), "lowering makes it " + shape + ", as large as the touched region"); }
  if (!free.empty()) { out.push_back("no bank conflicts at " + free); }
  if (!unknown.empty()) { out.push_back("bank conflicts not known at " + unknown); }
  return out;
}

}  // namespace loopsmith::lsp
