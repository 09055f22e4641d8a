// Draws pictures on a terminal: see pictures.h.
#include "repl/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cost/estimate.h"
#include "cost/loop_facts.h"
#include "cost/what_if.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "repl/commands.h"
#include "repl/text.h"
#include "schedule/extent_text.h"
#include "schedule/loop_tree.h"
#include "support/text.h"
#include "target/peaks.h"
#include "tune/session/session.h"

namespace loopsmith::repl {
namespace {

auto kind_word(const For& loop) -> std::string {
  switch (loop.for_kind) {
    case ForKind::Serial: return "";
    case ForKind::Parallel: return ", parallel";
    case ForKind::Vectorized: return ", vectorized";
    case ForKind::Unrolled: return ", unrolled";
    case ForKind::ThreadBinding: return loop.thread ? ", bound to " + loop.thread->thread_tag.str() : ", bound";
  }
  return "";
}

/// The places of the scheduled function; null: it cannot be scheduled.
auto func_of(const Session& session) -> const schedule::FuncState* {
  const schedule::FuncState* func = session.schedule().state().func(session.function());
  return func != nullptr && func->is_schedulable() ? func : nullptr;
}

}  // namespace

auto loops_picture(const Session& session) -> std::string {
  const schedule::FuncState* func = func_of(session);
  if (func == nullptr) { return {}; }
  if (!session.settings().plain) {
    schedule::LoopTreeOptions options{.width = session.host().width, .color = session.host().color, .ascii = session.settings().ascii};
    return schedule::draw_loop_tree(*func, [&](const schedule::Place& place) { return session.name_of(place); }, options);
  }
  // A sentence for each loop and block, numbered by position: 1.2 is the second one in the first.
  std::string out;
  auto say = [&](auto&& self, const schedule::Place& place, const std::string& number) -> void {
    std::string name = session.name_of(place);
    std::string called = name.empty() || name == place.name().view() ? std::string() : ", called " + name;
    size_t inside = 0;
    for (int at = place.index + 1; at < place.end; at = func->places()[static_cast<size_t>(at)].end) { ++inside; }
    if (place.is_loop()) {
      out += fmt::format("{} loop {}: {} iteration{}{}{}.\n", number, place.name().view(), schedule::extent_text(place.loop->extent), schedule::extent_text(place.loop->extent) == "1" ? "" : "s", kind_word(*place.loop), called);
    } else if (!number.empty()) {
      auto names = [](const Array<BufferRegion>& regions) {
        std::vector<std::string> all;
        for (const BufferRegion& region : regions) {
          if (std::find(all.begin(), all.end(), region.buffer->name.str()) == all.end()) { all.push_back(region.buffer->name.str()); }
        }
        std::string text;
        for (const std::string& one : all) { text += (text.empty() ? "" : ", ") + one; }
        return text.empty() ? std::string("nothing") : text;
      };
      out += fmt::format("{} block {}: writes {}, reads {}{}.\n", number, place.name().view(), names(place.block()->writes), names(place.block()->reads), called);
    } else {
      out += fmt::format("{} has {}.\n", session.program_name().view(), count_text(static_cast<int64_t>(inside), "nest"));
    }
    size_t count = 0;
    for (int at = place.index + 1; at < place.end; at = func->places()[static_cast<size_t>(at)].end) {
      self(self, func->places()[static_cast<size_t>(at)], (number.empty() ? "" : number + ".") + std::to_string(++count));
    }
  };
  say(say, func->root(), "");
  return out;
}

auto footprint_picture(const Session& session) -> std::string {
  const schedule::FuncState* func = func_of(session);
  if (func == nullptr) { return {}; }
  const cost::CoreModel core = cost::core_of(session.target());
  std::vector<cost::CacheLevel> levels = cost::cache_levels(core);
  struct Row { std::string name; std::optional<double> bytes; bool is_most = false; };
  std::vector<Row> rows;
  auto add = [&](const std::string& name, NodeId id) {
    auto facts = cost::loop_facts(func->func(), id);
    rows.push_back({name, facts && facts->bytes ? std::optional(static_cast<double>(*facts->bytes)) : std::nullopt, facts && facts->is_most_bytes});
  };
  add("program", 0);
  std::vector<size_t> depth(func->places().size(), 0);
  for (const schedule::Place& place : func->places()) {
    if (place.parent >= 0) { depth[static_cast<size_t>(place.index)] = depth[static_cast<size_t>(place.parent)] + (func->places()[static_cast<size_t>(place.parent)].is_loop() ? 1U : 0U); }
    if (!place.is_loop()) { continue; }
    std::string called = session.name_of(place);
    std::string name = place.name().str() + " " + schedule::extent_text(place.loop->extent) + (called.empty() || called == place.name().view() ? "" : " [" + called + "]");
    add(session.settings().plain ? place.name().str() : std::string(2 * depth[static_cast<size_t>(place.index)], ' ') + name, place.id);
  }
  std::string out;
  if (session.settings().plain) {
    for (const Row& row : rows) {
      std::string what = &row == &rows.front() ? std::string("The program") : "One run of loop " + row.name;
      if (!row.bytes) { out += what + " touches an amount of memory that is known only when it runs.\n"; continue; }
      std::string level = cost::level_that_holds(*row.bytes, core);
      out += fmt::format("{} touches {}{}, which {}.\n", what, row.is_most ? "at most " : "", bytes_text(*row.bytes), level == "memory" ? (row.is_most ? "may fit no cache" : "fits no cache") : "fits " + level);
    }
    return out;
  }
  const bool ascii = session.settings().ascii;
  size_t name_width = 12;
  for (const Row& row : rows) { name_width = std::max(name_width, columns_of(row.name)); }
  size_t total = std::max<size_t>(session.host().width, 60);
  name_width = std::min(name_width, total / 2 - 12);
  size_t width = std::min<size_t>(total - name_width - 22, 60);
  double most = levels.back().bytes * 4;
  for (const Row& row : rows) { most = std::max(most, row.bytes.value_or(0)); }
  double least = 64;
  auto column = [&](double bytes) { return bytes <= least ? size_t{1} : std::min(width, static_cast<size_t>(std::lround(std::log(bytes / least) / std::log(most / least) * static_cast<double>(width)))); };
  // The names of the caches are printed above their marks.
  std::string heads(width + 12, ' ');
  std::string sizes;
  for (const cost::CacheLevel& level : levels) {
    heads.replace(column(level.bytes), level.name.size(), level.name);
    sizes += fmt::format("{}{} {}", sizes.empty() ? "" : ", ", level.name, bytes_text(level.bytes));
  }
  while (heads.ends_with(' ')) { heads.pop_back(); }
  out += wrapped("Memory touched by one run, each element once; " + sizes + ":", total) + std::string(name_width + 12, ' ') + heads + "\n";
  for (const Row& row : rows) {
    std::string name = row.name;
    if (columns_of(name) > name_width) { name = name.substr(0, name_width - 3) + "..."; }
    name += std::string(name_width - columns_of(name), ' ');
    if (!row.bytes) { out += name + "  not known\n"; continue; }
    std::string bar;
    size_t filled = column(*row.bytes);
    for (size_t at = 0; at < width; ++at) {
      bool is_mark = std::any_of(levels.begin(), levels.end(), [&](const cost::CacheLevel& level) { return column(level.bytes) == at; });
      bar += at < filled ? (ascii ? "#" : "█") : is_mark ? (ascii ? "|" : "│") : ascii ? "." : "·";
    }
    out += fmt::format("{}{:>10}  {}  {}\n", name, (row.is_most ? "<= " : "") + bytes_text(*row.bytes), bar, cost::level_that_holds(*row.bytes, core));
  }
  return out;
}

namespace {

/// The accesses of one loop to one buffer.
struct AccessCell { std::string buffer; bool is_written = false; std::vector<cost::Stride> strides; };
struct AccessRow { std::string name; std::vector<AccessCell> cells; };
/// The loops of one nest, outermost first.
using AccessNest = std::vector<AccessRow>;

/// A buffer with several accesses has a stride for each.
auto stride_text(const AccessCell& cell, const char* irregular, const char* same, const char* by, const char* between) -> std::string {
  std::string text;
  for (const cost::Stride& stride : cell.strides) {
    auto number = stride.elements ? as_int(stride.elements) : std::nullopt;
    text += (text.empty() ? "" : between) + (!stride.elements ? irregular : number == 0 ? same : by + (number ? std::to_string(*number) : print_script(stride.elements)));
  }
  return text;
}

auto cell_text(const AccessCell& cell) -> std::string {
  std::string text = stride_text(cell, "?", "same", "", "/");
  std::erase(text, ' ');
  return (cell.is_written ? "w " : "") + text;
}

/// The nests of a function in the order of the text; a nest begins with an outermost loop.
auto access_nests(const schedule::FuncState& func, bool plain) -> std::vector<AccessNest> {
  std::vector<AccessNest> nests;
  std::vector<size_t> depth(func.places().size(), 0);
  for (const schedule::Place& place : func.places()) {
    if (place.parent >= 0) { depth[static_cast<size_t>(place.index)] = depth[static_cast<size_t>(place.parent)] + (func.places()[static_cast<size_t>(place.parent)].is_loop() ? 1U : 0U); }
    if (!place.is_loop()) { continue; }
    size_t level = depth[static_cast<size_t>(place.index)];
    if (level == 0) { nests.emplace_back(); }
    AccessRow row{plain ? place.name().str() : std::string(2 * level, ' ') + place.name().str() + " " + schedule::extent_text(place.loop->extent), {}};
    auto facts = cost::loop_facts(func.func(), place.id);
    for (const cost::Touch& touch : facts ? facts->touches : std::vector<cost::Touch>()) { row.cells.push_back({touch.buffer->name.str(), touch.is_written, touch.strides}); }
    nests.back().push_back(std::move(row));
  }
  return nests;
}

auto access_sentences(const AccessNest& nest) -> std::string {
  std::string out;
  for (const AccessRow& row : nest) {
    std::string moves;
    for (const AccessCell& cell : row.cells) {
      moves += (moves.empty() ? "" : ", ") + cell.buffer + (cell.is_written ? ", which is written, " : " ") + stride_text(cell, "irregularly", "not at all", "by ", " and ");
    }
    out += fmt::format("An iteration of loop {} moves in {}.\n", row.name, moves.empty() ? "nothing" : moves);
  }
  return out;
}

/// A column for each buffer; columns that do not fit the screen follow below, with the loops repeated.
auto access_table(const AccessNest& nest, size_t screen) -> std::string {
  std::vector<std::string> buffers;
  size_t name_width = 12;
  for (const AccessRow& row : nest) {
    name_width = std::max(name_width, columns_of(row.name) + 2);
    for (const AccessCell& cell : row.cells) {
      if (std::find(buffers.begin(), buffers.end(), cell.buffer) == buffers.end()) { buffers.push_back(cell.buffer); }
    }
  }
  std::vector<size_t> widths;
  for (const std::string& buffer : buffers) {
    size_t width = columns_of(buffer);
    for (const AccessRow& row : nest) {
      for (const AccessCell& cell : row.cells) {
        if (cell.buffer == buffer) { width = std::max(width, cell_text(cell).size()); }
      }
    }
    widths.push_back(width + 2);
  }
  std::string out;
  for (size_t first = 0; first < std::max<size_t>(1, buffers.size());) {
    size_t last = first;
    for (size_t used = name_width; last < buffers.size() && (last == first || used + widths[last] <= screen); ++last) { used += widths[last]; }
    std::string head(name_width, ' ');
    for (size_t i = first; i < last; ++i) { head += buffers[i] + std::string(widths[i] - columns_of(buffers[i]), ' '); }
    head.resize(std::min(head.size(), head.find_last_not_of(' ') + 1));
    out += head + "\n";
    for (const AccessRow& row : nest) {
      std::string line = row.name + std::string(name_width - columns_of(row.name), ' ');
      for (size_t i = first; i < last; ++i) {
        auto cell = std::find_if(row.cells.begin(), row.cells.end(), [&](const AccessCell& one) { return one.buffer == buffers[i]; });
        std::string text = cell != row.cells.end() ? cell_text(*cell) : std::string();
        line += text + std::string(widths[i] - text.size(), ' ');
      }
      line.resize(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    first = std::max(last, first + 1);
  }
  return out;
}

}  // namespace

auto accesses_picture(const Session& session) -> std::string {
  const schedule::FuncState* func = func_of(session);
  if (func == nullptr) { return {}; }
  const bool plain = session.settings().plain;
  std::vector<AccessNest> nests = access_nests(*func, plain);
  if (nests.empty()) { return "the program has no loops\n"; }
  std::string out;
  for (const AccessNest& nest : nests) { out += plain ? access_sentences(nest) : access_table(nest, session.host().width); }
  if (plain) { return out; }
  return out + wrapped("elements from one iteration to the next; w: written; same: the same element again; ?: varies", session.host().width);
}

auto factors_picture(const cost::FactorChoices& choices, const cost::CoreModel& core, std::optional<double> here, const Settings& settings) -> std::string {
  // Columns are loops whose footprint depends on the factor: first those that cross a cache size, then those that the split made.
  struct Column { std::string name; bool is_of_split = false, crosses = false, varies = false; };
  std::vector<Column> columns;
  auto held = [&](int64_t bytes) { return cost::level_that_holds(static_cast<double>(bytes), core); };
  auto bytes_of = [](const cost::OtherFactor& one, const std::string& name) -> std::optional<int64_t> {
    for (const cost::NestedLoop& loop : one.loops) {
      if (loop.name.view() == name) { return loop.bytes; }
    }
    return std::nullopt;
  };
  for (const cost::OtherFactor& one : choices.all) {
    for (const cost::NestedLoop& loop : one.loops) {
      auto known = std::find_if(columns.begin(), columns.end(), [&](const Column& column) { return loop.name.view() == column.name; });
      if (known == columns.end()) { columns.push_back({loop.name.str(), loop.is_of_split}); }
    }
  }
  for (Column& column : columns) {
    std::optional<int64_t> first;
    for (const cost::OtherFactor& one : choices.all) {
      auto bytes = bytes_of(one, column.name);
      if (!bytes) { continue; }
      if (first && *first != *bytes) { column.varies = true; }
      if (first && held(*first) != held(*bytes)) { column.crosses = true; }
      if (!first) { first = bytes; }
    }
  }
  std::erase_if(columns, [](const Column& column) { return !column.varies; });
  constexpr size_t most_columns = 2;
  auto drop = [&](auto&& is_less) {
    for (size_t i = 0; i < columns.size() && columns.size() > most_columns;) { is_less(columns[i]) ? void(columns.erase(columns.begin() + static_cast<ptrdiff_t>(i))) : void(++i); }
  };
  drop([](const Column& column) { return !column.crosses && !column.is_of_split; });
  drop([](const Column& column) { return !column.crosses; });
  drop([](const Column& column) { return !column.is_of_split; });
  drop([](const Column&) { return true; });
  auto verdict = [&](const cost::OtherFactor& one) -> std::string {
    if (one.is_here) { return "here"; }
    if (!one.why_not.empty()) { return "refused: " + one.why_not.front().message(); }
    if (!here || !one.seconds || *one.seconds <= 0) { return "no estimate"; }
    std::string text = cost::gain_text(*here / *one.seconds);
    return text.empty() ? "about the same" : text;
  };
  std::string out;
  if (settings.plain) {
    for (const cost::OtherFactor& one : choices.all) {
      out += fmt::format("With {}", one.factor);
      std::string touched;
      for (const Column& column : columns) {
        if (auto bytes = bytes_of(one, column.name)) { touched += fmt::format("{} one run of {} touches {}, which {}", touched.empty() ? "" : " and", column.name, bytes_text(static_cast<double>(*bytes)), held(*bytes) == "memory" ? "fits no cache" : "fits " + held(*bytes)); }
      }
      out += touched.empty() ? ":" : touched + ":";
      out += " " + verdict(one) + ".\n";
    }
    return out;
  }
  constexpr size_t width = 19;
  out += fmt::format("{:>9}", "factor");
  for (const Column& column : columns) { out += fmt::format("   {:<{}}", "a run of " + column.name, width); }
  out += "   by estimate\n";
  std::vector<std::string> before(columns.size());
  for (const cost::OtherFactor& one : choices.all) {
    out += fmt::format(" {}{:>7}", one.is_here ? '>' : ' ', one.factor);
    for (size_t i = 0; i < columns.size(); ++i) {
      auto bytes = bytes_of(one, columns[i].name);
      std::string level = bytes ? held(*bytes) : std::string();
      // Marks a row that needs another cache than the row before.
      bool crosses = !level.empty() && !before[i].empty() && before[i] != level;
      out += fmt::format("   {:<{}}", bytes ? fmt::format("{:>9}  {}{}", bytes_text(static_cast<double>(*bytes)), level, crosses ? " <-" : "") : std::string(), width);
      if (!level.empty()) { before[i] = level; }
    }
    out += "   " + verdict(one) + "\n";
  }
  return out;
}

auto roofline_picture(const Session& session) -> std::string {
  const schedule::FuncState* func = func_of(session);
  double flops = tune::count_flops(session.original(), session.function());
  auto facts = func != nullptr ? cost::loop_facts(session.original()->find(session.function()), 0) : std::nullopt;
  if (!facts || !facts->bytes || *facts->bytes == 0 || flops <= 0) { return "the numbers of flops and bytes are not known before the program runs\n"; }
  double intensity = flops / static_cast<double>(*facts->bytes);
  const cost::CoreModel core = cost::core_of(session.target());
  bool is_measured = false;
  double peak = core.clock * core.lanes * core.vector_fma * 2 * core.cores;
  double rate = core.clock * core.memory_bytes * core.cores;
  if (auto peaks = std::getenv("LOOPSMITH_TEST_CORE") == nullptr ? target::cached_peaks() : std::nullopt; peaks && peaks->fma_f32_all > 0) {
    peak = peaks->fma_f32_all * 1e9;
    rate = peaks->copy_rate(static_cast<uint64_t>(*facts->bytes), true) * 1e9;
    is_measured = true;
  }
  double roof = std::min(peak, rate * intensity);
  struct Point { char mark; std::string name; double seconds; bool is_timed; };
  std::vector<Point> points;
  auto add = [&](size_t step, const std::string& name) {
    double seconds = session.steps()[step].seconds;
    bool is_timed = seconds > 0;
    if (!is_timed) {
      const schedule::FuncState* there = session.schedule_at(step).state().func(session.schedule_at(step).func_working_on());
      auto estimated = there != nullptr ? cost::estimate(*there, core) : std::nullopt;
      if (!estimated) { return; }
      seconds = estimated->seconds;
    }
    if (points.size() < 26) { points.push_back({static_cast<char>('a' + points.size()), name, seconds, is_timed}); }
  };
  add(0, "as written");
  for (size_t step = 1; step < session.steps().size(); ++step) {
    if (session.steps()[step].seconds > 0 && step != session.position()) { add(step, fmt::format("step {}", step)); }
  }
  if (session.position() != 0) { add(session.position(), fmt::format("step {}, here", session.position())); }
  std::string legend;
  for (const Point& point : points) {
    double reached = flops / point.seconds;
    std::string share = reached > roof * 1.005 ? "above the roof: `loopsmith target show --measure` measures the roof again" : fmt::format("{:.1f}{} of the roof", reached / roof * 100, session.settings().plain ? " percent" : "%");
    legend += session.settings().plain ? fmt::format("{}: {} {}, {:.1f} GFLOP/s, {}.\n", point.name, point.is_timed ? "measured" : "estimated", duration_text(point.seconds), reached * 1e-9, share)
                                       : fmt::format("  {}  {:<16} {:>11}{}  {:>9.2f} GFLOP/s  {:>18}\n", point.mark, point.name, duration_text(point.seconds), point.is_timed ? "    " : " est", reached * 1e-9, share);
  }
  std::string what = fmt::format("{:.3g} flop per byte; {} bound{}", intensity, peak <= rate * intensity ? "compute" : "memory", is_measured ? "" : "; peaks by the model, `loopsmith target show` measures them");
  if (session.settings().plain) { return fmt::format("{}. The roof is {:.1f} GFLOP/s.\n", what, roof * 1e-9) + legend; }
  const bool ascii = session.settings().ascii;
  constexpr size_t height = 12;
  const size_t width = std::min<size_t>(std::max<size_t>(session.host().width, 60) - 16, 60);
  double ridge = peak / rate;
  double left = std::min(intensity, ridge) / 8;
  double right = std::max(intensity, ridge) * 8;
  double top = peak * 2;
  double bottom = std::min(rate * left, roof);
  for (const Point& point : points) { bottom = std::min(bottom, flops / point.seconds / 1.5); }
  auto x_of = [&](double value) { return static_cast<size_t>(std::lround(std::log(value / left) / std::log(right / left) * static_cast<double>(width - 1))); };
  auto y_of = [&](double value) { return height - 1 - std::min(height - 1, static_cast<size_t>(std::lround(std::max(0.0, std::log(value / bottom) / std::log(top / bottom)) * (height - 1)))); };
  std::vector<std::vector<std::string>> cells(height, std::vector<std::string>(width, " "));
  for (size_t x = 0; x < width; ++x) {
    double at = left * std::pow(right / left, static_cast<double>(x) / static_cast<double>(width - 1));
    bool is_flat = at >= ridge;
    if (!is_flat && rate * at < bottom) { continue; }
    cells[y_of(std::min(peak, rate * at))][x] = is_flat ? (ascii ? "-" : "─") : (ascii ? "/" : "╱");
  }
  for (size_t y = y_of(roof) + 1; y < height; ++y) { cells[y][x_of(intensity)] = ascii ? ":" : "┊"; }
  for (const Point& point : points) { cells[y_of(flops / point.seconds)][x_of(intensity)] = std::string(1, point.mark); }
  // Points at the same position are drawn side by side.
  std::string out;
  for (size_t y = 0; y < height; ++y) {
    std::string marks;
    for (const Point& point : points) { if (y_of(flops / point.seconds) == y) { marks += point.mark; } }
    for (size_t i = 0; i < marks.size() && x_of(intensity) + i < width; ++i) { cells[y][x_of(intensity) + i] = std::string(1, marks[i]); }
    std::string label = y == y_of(peak) ? fmt::format("{:.4g}", peak * 1e-9) : y == height - 1 ? fmt::format("{:.2g}", bottom * 1e-9) : std::string();
    std::string line;
    for (const std::string& cell : cells[y]) { line += cell; }
    while (line.ends_with(' ')) { line.pop_back(); }
    out += fmt::format("{:>9} {}{}\n", label, ascii ? "|" : "│", line);
  }
  out += fmt::format("  GFLOP/s {}{}\n", ascii ? "+" : "└", [&] { std::string axis; for (size_t i = 0; i < width; ++i) { axis += ascii ? "-" : "─"; } return axis; }());
  out += fmt::format("{:>10} {:<{}}{}\n", "flop/byte", fmt::format("{:.3g}", left), width - 6, fmt::format("{:.3g}", right));
  return out + wrapped(what, session.host().width) + legend;
}

auto curve_picture(const std::vector<double>& trials, const Settings& settings) -> std::string {
  constexpr size_t height = 7;
  constexpr size_t widest = 60;
  double least = 0;
  double most = 0;
  for (double seconds : trials) {
    if (seconds <= 0) { continue; }
    least = least == 0 ? seconds : std::min(least, seconds);
    most = std::max(most, seconds);
  }
  // An extreme outlier would compress all other trials into one line.
  most = std::min(most, least * 30);
  if (least == 0) { return {}; }
  if (settings.plain) {
    size_t at = static_cast<size_t>(std::find(trials.begin(), trials.end(), least) - trials.begin());
    double first = *std::find_if(trials.begin(), trials.end(), [](double seconds) { return seconds > 0; });
    size_t lost = static_cast<size_t>(std::count_if(trials.begin(), trials.end(), [](double seconds) { return seconds <= 0; }));
    return fmt::format("{} trials: the first took {}, the best, number {}, {}; {} were not measured to their end.\n", trials.size(), duration_text(first), at + 1, duration_text(least), lost);
  }
  const bool ascii = settings.ascii;
  // A single trial also needs a scale.
  if (most <= least) { most = least * 2; }
  size_t width = std::min(trials.size(), widest);
  auto row = [&](double seconds) {
    double share = std::log(std::min(seconds, most) / least) / std::log(most / least);
    return height - 1 - static_cast<size_t>(std::lround(share * (height - 1)));
  };
  std::vector<std::vector<char>> cells(height, std::vector<char>(width, ' '));
  double best = 0;
  for (size_t column = 0; column < width; ++column) {
    for (size_t i = column * trials.size() / width; i < (column + 1) * trials.size() / width; ++i) {
      if (trials[i] <= 0) { continue; }
      cells[row(trials[i])][column] = '.';
      best = best == 0 ? trials[i] : std::min(best, trials[i]);
    }
    if (best > 0) { cells[row(best)][column] = '-'; }
  }
  std::string out;
  for (size_t i = 0; i < height; ++i) {
    std::string label = i == 0 ? duration_text(most) : i == height - 1 ? duration_text(least) : std::string();
    out += fmt::format("{:>12} {}", label, ascii ? "|" : "│");
    size_t last = width;
    while (last > 0 && cells[i][last - 1] == ' ') { --last; }
    for (size_t column = 0; column < last; ++column) {
      char cell = cells[i][column];
      out += ascii || cell == ' ' ? std::string(1, cell) : cell == '.' ? "·" : "━";
    }
    out += "\n";
  }
  return out + fmt::format("{:>12} {} {} trials\n", "", ascii ? "+" : "└", trials.size());
}

}  // namespace loopsmith::repl
