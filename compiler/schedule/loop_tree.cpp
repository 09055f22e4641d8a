// Draws a function's loops and blocks as a tree: see loop_tree.h.
#include "schedule/loop_tree.h"

#include <fmt/format.h>

#include "ir/loop_kind.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "schedule/extent_text.h"
#include "support/text.h"

namespace loopsmith::schedule {
namespace {

auto color_of(const Place& place) -> std::string_view {
  if (place.is_block()) { return "\x1b[36m"; }
  switch (place.loop->for_kind) {
    case ForKind::Parallel: return "\x1b[35m";
    case ForKind::Vectorized: return "\x1b[32m";
    case ForKind::Unrolled: return "\x1b[33m";
    case ForKind::ThreadBinding: return "\x1b[34m";
    case ForKind::Serial: break;
  }
  return "";
}

auto regions_text(const Array<BufferRegion>& regions) -> std::string {
  std::string out;
  for (const BufferRegion& region : regions) {
    bool is_new = out.find(region.buffer->name.str() + ",") == std::string::npos;
    if (is_new) { out += region.buffer->name.str() + ","; }
  }
  if (!out.empty()) { out.pop_back(); }
  return out;
}

/// At most `width` characters (code points); a text that was cut ends in three dots.
auto cut(const std::string& text, size_t width) -> std::string {
  size_t count = 0;
  size_t shorter = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_inside_character(text[i])) { continue; }
    if (count + 3 == width) { shorter = i; }
    if (count++ == width) { return text.substr(0, shorter) + "..."; }
  }
  return text;
}

}  // namespace

auto describe(const Place& place) -> std::string {
  if (place.is_loop()) {
    std::string extent = extent_text(place.loop->extent);
    auto min = as_int(place.loop->min);
    if (!min || *min != 0) { extent = fmt::format("{}..{}", extent_text(place.loop->min), extent_text(add(place.loop->min, place.loop->extent))); }
    return fmt::format("{} {}{}", place.name().view(), extent, loop_kind_behind(" ", *place.loop));
  }
  const Block& block = *place.block();
  std::string out = fmt::format("block {}", block.name.view());
  std::string reads = regions_text(block.reads);
  std::string writes = regions_text(block.writes);
  if (!reads.empty() || !writes.empty()) { out += fmt::format("  {}{}{}", writes, reads.empty() ? "" : " <- ", reads); }
  if (block.init) { out += " (init)"; }
  auto always = as_int(place.realize->predicate);
  if (!always || *always != 1) { out += fmt::format("  if {}", print_script(place.realize->predicate)); }
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const char* kind = block.iter_vars[i].kind == IterKind::Spatial ? "S" : block.iter_vars[i].kind == IterKind::Reduction ? "R" : "?";
    out += fmt::format("{}{}:{}={}", i == 0 ? "  " : " ", block.iter_vars[i].var->name.view(), kind, print_script(place.realize->iter_values[i]));
  }
  for (const Buffer& buffer : block.alloc_buffers) {
    std::string shape;
    for (const Expr& extent : buffer->shape) { shape += (shape.empty() ? "" : "x") + extent_text(extent); }
    out += fmt::format("  + {} {} {}", buffer->name.view(), shape, buffer->scope().empty() ? "global" : buffer->scope().view());
  }
  return out;
}

auto draw_loop_tree(const FuncState& func, const NameOfPlace& name_of, const LoopTreeOptions& options) -> std::string {
  std::string out;
  const auto& places = func.places();
  auto children = [&](const Place& place) {
    std::vector<int> found;
    for (int child = place.index + 1; child < place.end; child = places[static_cast<size_t>(child)].end) { found.push_back(child); }
    return found;
  };
  std::string_view tee = options.ascii ? "|- " : "├─ ";
  std::string_view corner = options.ascii ? "`- " : "└─ ";
  std::string_view bar = options.ascii ? "|  " : "│  ";
  // Each level adds three columns. The depth is bounded, as the nesting of programs is.
  auto draw = [&](auto&& self, int index, const std::string& lead, std::string_view branch, size_t depth) -> void {
    const Place& place = places[static_cast<size_t>(index)];
    std::string name = name_of ? name_of(place) : std::string();
    std::string text = describe(place);
    std::string suffix = !name.empty() && name != place.name().view() ? "  [" + name + "]" : std::string();
    size_t room = options.width > 3 * depth + suffix.size() + 8 ? options.width - 3 * depth - suffix.size() : 8;
    text = cut(text, room);
    std::string_view color = options.color ? color_of(place) : std::string_view();
    out += lead + std::string(branch) + std::string(color) + text + (color.empty() ? "" : "\x1b[0m") + suffix + "\n";
    std::vector<int> below = children(place);
    for (size_t i = 0; i < below.size(); ++i) {
      bool is_last = i + 1 == below.size();
      std::string deeper = lead + std::string(branch.empty() ? "" : branch == corner ? "   " : bar);
      self(self, below[i], deeper, is_last ? corner : tee, depth + 1);
    }
  };
  if (func.is_schedulable()) { draw(draw, 0, "", "", 0); }
  return out;
}

}  // namespace loopsmith::schedule
