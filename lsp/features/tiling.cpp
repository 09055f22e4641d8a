// Tries tiles on copies of a schedule: see tiling.h.
#include "lsp/features/tiling.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/estimate.h"
#include "ir/ops.h"
#include "schedule/primitive.h"

namespace loopsmith::lsp {
namespace {

/// Rows of a tile stay in registers; columns are whole vectors.
constexpr int64_t outer_sizes[] = {8, 4, 16};
constexpr int64_t inner_sizes[] = {32, 16, 64};
constexpr int64_t largest_other = 64;

/// Tile sizes that divide an extent: the usual ones, or else its largest divisor.
auto sizes_for(int64_t extent, std::span<const int64_t> usual) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (int64_t size : usual) {
    if (size < extent && extent % size == 0) { out.push_back(size); }
  }
  for (int64_t size = std::min(largest_other, extent - 1); size > 1 && out.empty(); --size) {
    if (extent % size == 0) { out.push_back(size); }
  }
  return out;
}

/// Statements executed one after the other, with variables for their results.
class Chain {
 public:
  explicit Chain(const InsertionPoint& point) : point_(point), schedule_(point.schedule) {}
  std::vector<std::string> statements;
  Diagnostics why_not;

  [[nodiscard]] auto func() const -> const schedule::FuncState& { return *schedule_.state().func(schedule_.func_working_on()); }
  /// The loop or block with an id in the present state, as an argument.
  [[nodiscard]] auto argument(NodeId id) const -> schedule::Value { return schedule::Value(schedule::LoopRV{static_cast<uint32_t>(func().find(id)->index)}); }
  /// The resulting loops; empty: the call was refused.
  auto make(std::string_view primitive, const std::vector<schedule::Value>& first) -> std::vector<NodeId> {
    const schedule::Primitive* row = schedule::find_primitive(primitive);
    schedule::Move move{row, first};
    for (size_t i = first.size(); i < row->params.size(); ++i) { move.values.push_back(row->params[i].otherwise.value_or(schedule::Value())); }
    auto tried = schedule::try_move(schedule_, move, [&](const schedule::Place& place) { return name_of(place); },
                                    [&](std::string_view name) { return point_.is_taken(name) || std::any_of(names_.begin(), names_.end(), [&](const auto& one) { return one.second == name; }); });
    if (!tried.ok()) {
      why_not = tried.diagnostics();
      return {};
    }
    schedule_ = std::move(tried->after);
    statements.push_back(point_.in_words(tried->statement));
    std::vector<NodeId> made;
    std::string_view targets = tried->statement;
    for (const schedule::Value& output : schedule_.trace().last().outputs) {
      const auto* loop = output.as<schedule::LoopRV>();
      auto place = loop != nullptr ? schedule_.get(*loop) : Result<const schedule::Place*>(nullptr);
      if (loop == nullptr || !place.ok()) { continue; }
      size_t end = std::min(targets.find_first_of(", ="), targets.size());
      names_.emplace_back((*place)->id, targets.substr(0, end));
      targets.remove_prefix(std::min(targets.find_first_not_of(", =", end), targets.size()));
      made.push_back((*place)->id);
    }
    return made;
  }

 private:
  [[nodiscard]] auto name_of(const schedule::Place& place) const -> std::string {
    for (const auto& [id, name] : names_) {
      if (id == place.id) { return name; }
    }
    return point_.name_of(place);
  }
  const InsertionPoint& point_;
  schedule::Schedule schedule_;
  std::vector<std::pair<NodeId, std::string>> names_;
};

}  // namespace

auto tiling_offered(const InsertionPoint& point, const schedule::FuncState& func, const schedule::Place& focus, Deadline until) -> std::optional<OfferedMove> {
  if (!focus.is_loop() || focus.loop->body->kind != NodeKind::For) { return std::nullopt; }
  const schedule::Place* inner = func.find(static_cast<const For&>(*focus.loop->body).id);
  if (inner == nullptr || !inner->is_loop()) { return std::nullopt; }
  auto rows = as_int(focus.loop->extent);
  auto columns = as_int(inner->loop->extent);
  if (!rows || !columns || *rows <= 1 || *columns <= 1) { return std::nullopt; }
  auto called = [&](const schedule::Place& place) { return point.name_of(place).empty() ? place.name().str() : point.name_of(place); };
  OfferedMove offered;
  offered.offset = point.offset;
  offered.primitive = "tile";
  offered.title = fmt::format("Tile `{}` and `{}`", called(focus), called(*inner));
  std::vector<int64_t> outer_factors = sizes_for(*rows, outer_sizes);
  std::vector<int64_t> inner_factors = sizes_for(*columns, inner_sizes);
  if (outer_factors.empty() || inner_factors.empty()) {
    offered.why_not = fmt::format("no number up to {} divides {}", largest_other, outer_factors.empty() ? *rows : *columns);
    return offered;
  }
  const cost::CoreModel core = cost::core_for(point.target);
  std::vector<std::string> best;
  for (int64_t down : outer_factors) {
    for (int64_t across : inner_factors) {
      if (!best.empty() && Clock::now() >= until) { continue; }
      Chain chain(point);
      auto split = [&](NodeId loop, int64_t factor) { return chain.make("split", {chain.argument(loop), schedule::Value(schedule::Value::List{schedule::Value(), schedule::Value(factor)})}); };
      std::vector<NodeId> i = split(focus.id, down);
      std::vector<NodeId> j = i.size() == 2 ? split(inner->id, across) : std::vector<NodeId>();
      if (j.size() == 2) { (void)chain.make("reorder", {schedule::Value(schedule::Value::List{chain.argument(i[0]), chain.argument(j[0]), chain.argument(i[1]), chain.argument(j[1])})}); }
      if (chain.statements.size() < 3) {
        if (!chain.why_not.empty()) { offered.why_not = chain.why_not.front().message(); }
        return offered;
      }
      double gain = cost::gain(func, chain.func(), core).value_or(1);
      if (cost::gain_text(gain).empty()) { gain = 1; }
      if (!best.empty() && gain <= offered.gain) { continue; }
      best = std::move(chain.statements);
      offered.gain = gain;
      offered.title = fmt::format("Tile `{}` and `{}` by {} x {}", called(focus), called(*inner), down, across);
    }
  }
  // Use the separator of neighbouring statements.
  size_t last = point.before.rfind('\n');
  std::string between = last != std::string::npos ? point.before.substr(last) : point.after;
  offered.text = fmt::format("{}", fmt::join(best, between));
  offered.insert = point.before + offered.text + point.after;
  offered.imports = point.imports;
  return offered;
}

}  // namespace loopsmith::lsp
