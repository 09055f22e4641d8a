// Writes notes about statements behind the first lines that the printer made of them: see annotate.h.
#include "driver/annotate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/access_regions.h"
#include "support/text.h"

namespace loopsmith::driver {
namespace {

auto size_text(const Array<Expr>& shape, DataType dtype) -> std::string {
  int64_t bytes = (int64_t{dtype.bits} * dtype.lanes + 7) / 8;
  for (const Expr& extent : shape) {
    const auto* imm = extent.as<IntImm>();
    if (imm == nullptr || __builtin_mul_overflow(bytes, imm->value, &bytes)) { return {}; }
  }
  return ", " + bytes_text(static_cast<double>(bytes));
}

auto type_note(const StmtNode& node) -> std::string {
  Stmt stmt{Ref<StmtNode>(&node)};
  if (const auto* loop = stmt.as<For>()) { return fmt::format("{}: {}", loop->var->name.view(), loop->var->dtype.str()); }
  if (const auto* store = stmt.as<BufferStore>()) { return store->value.dtype().str(); }
  if (const auto* value = stmt.as<Evaluate>()) { return value->value.dtype().is_void() ? "" : value->value.dtype().str(); }
  if (const auto* memory = stmt.as<Allocate>()) { return memory->dtype.str() + size_text(memory->extents, memory->dtype); }
  if (const auto* branch = stmt.as<IfThenElse>()) { return branch->condition.dtype().str(); }
  return {};
}

/// All buffers in a statement.
auto buffers_in(const Stmt& root) -> std::vector<Buffer> {
  struct Collect : Visitor {
    std::vector<Buffer> found;
    void add(const Buffer& buffer) {
      if (std::none_of(found.begin(), found.end(), [&](const Buffer& b) { return b.same_as(buffer); })) { found.push_back(buffer); }
    }
    using Visitor::on;
    void on(const BufferLoad& node) override {
      add(node.buffer);
      Visitor::on(node);
    }
    void on(const BufferStore& node) override {
      add(node.buffer);
      Visitor::on(node);
    }
    void on(const Block& node) override {
      for (const BufferRegion& region : node.reads) { add(region.buffer); }
      for (const BufferRegion& region : node.writes) { add(region.buffer); }
      Visitor::on(node);
    }
  } collect;
  collect.visit(root);
  return std::move(collect.found);
}

template <class Regions>
auto regions_text(const Regions& regions) -> std::string {
  std::string out;
  for (const BufferRegion& region : regions) { out += (out.empty() ? "" : ", ") + print_script(region); }
  return out.empty() ? "nothing" : out;
}

auto region_note(const StmtNode& node) -> std::string {
  Stmt stmt{Ref<StmtNode>(&node)};
  if (const auto* block = stmt.as<Block>()) {
    return fmt::format("reads {}; writes {}", regions_text(block->reads), regions_text(block->writes));
  }
  if (!stmt.as<For>()) { return {}; }
  Ref<Block> whole = make<Block>(Block::Fields{.name = Name("loop"), .iter_vars = {}, .reads = {}, .writes = {}, .body = stmt, .init = {}, .alloc_buffers = {}, .match_buffers = {}, .annotations = {}});
  schedule::AccessRegions found = schedule::find_access_regions(*whole, buffers_in(stmt));
  return fmt::format("reads {}; writes {}", regions_text(found.reads), regions_text(found.writes));
}

}  // namespace

auto print_annotated(const IRModule& module, PrintOptions options, NoteKind kind) -> std::string {
  std::vector<PrintedRange> ranges;
  options.ranges = &ranges;
  std::string text = print_script(module, options);
  // Notes by the end of the line that they follow. Loops of one `T.grid` share a line, which gets all their types, and the regions of the outermost.
  std::map<size_t, std::string> notes;
  for (const PrintedRange& range : ranges) {
    if (range.node == nullptr) { continue; }
    std::string note = kind == NoteKind::Types ? type_note(*range.node) : region_note(*range.node);
    if (note.empty()) { continue; }
    size_t end = std::min(text.find('\n', range.begin), text.size());
    std::string& line = notes[end];
    if (line.empty()) { line = std::move(note); }
    else if (kind == NoteKind::Types) { line += ", " + note; }
  }
  std::string out;
  size_t at = 0;
  for (const auto& [end, note] : notes) {
    out += text.substr(at, end - at) + "  # " + note;
    at = end;
  }
  return out + text.substr(at);
}

}  // namespace loopsmith::driver
