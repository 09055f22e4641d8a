// Writes the values that sampling calls drew into the text, from the trace of the schedule's run: see decisions.h.
#include "lsp/features/decisions.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/ops.h"
#include "lsp/features/names.h"
#include "lsp/features/insertion_point.h"
#include "lsp/features/steps.h"
#include "schedule/moves.h"
#include "schedule/primitive.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// A sampling call in the text.
struct Call {
  const syntax::CallExpr* node = nullptr;
  const syntax::Expr* given = nullptr;         // the argument `decision`; null, or None: the call has no decision
  Span span;
  size_t statement = 0;                        // the index of its statement in the body
  bool is_unpacked = false;                    // `a, b = sch.sample_perfect_tile(...)`
  std::vector<const schedule::Instruction*> drawn;
  [[nodiscard]] auto is_decided() const -> bool {
    const auto* constant = given != nullptr ? given->as<syntax::ConstantExpr>() : nullptr;
    return given != nullptr && (constant == nullptr || constant->value != syntax::ConstantValue::None);
  }
};

struct Drawing {
  const script::FileSchedule* schedule = nullptr;
  Body body;
  std::vector<Call> calls;                     // in the order of the text; only calls that ran
  std::string why_not;
};

auto sampling_row(const syntax::CallExpr& call) -> const schedule::Primitive* {
  const auto* attribute = call.callee->as<syntax::AttributeExpr>();
  const schedule::Primitive* row = attribute != nullptr ? schedule::find_primitive(attribute->attr.name.view()) : nullptr;
  return row != nullptr && row->is_sampling ? row : nullptr;
}

auto find_drawing(const Snapshot& snapshot, uint32_t at) -> Drawing {
  Drawing out;
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr || schedule->run == nullptr || !schedule->is_settled() || !schedule->run->is_complete || schedule->run->result == nullptr) { return out; }
  out.schedule = schedule;
  out.body = body_of(snapshot, schedule->decl);
  if (out.body.def == nullptr) { return out; }
  for (size_t i = 0; i < out.body.statements.size(); ++i) {
    const syntax::Stmt& statement = *out.body.def->body[static_cast<uint32_t>(i)];
    const auto* assign = statement.as<syntax::AssignStmt>();
    syntax::walk(statement, [&](const syntax::Node& node) {
      const auto* call = node.as<syntax::CallExpr>();
      const schedule::Primitive* row = call != nullptr ? sampling_row(*call) : nullptr;
      auto span = row != nullptr ? snapshot.resolve(call->origin()) : std::nullopt;
      if (!span) { return true; }
      Call found{call, nullptr, *span, i, false, {}};
      for (const syntax::Keyword& keyword : call->keywords) {
        if (keyword.name.name == "decision") { found.given = keyword.value; }
      }
      if (call->args.size() >= row->params.size()) { found.given = call->args.back(); }
      found.is_unpacked = assign != nullptr && assign->value == call && assign->targets.size() == 1 && (assign->targets[0]->as<syntax::TupleExpr>() != nullptr || assign->targets[0]->as<syntax::ListExpr>() != nullptr);
      out.calls.push_back(std::move(found));
      return true;
    });
  }
  for (const schedule::Instruction* one : schedule->run->result->trace().instructions()) {
    if (!one->primitive->is_sampling) { continue; }
    auto span = snapshot.resolve(one->origin);
    auto call = std::find_if(out.calls.begin(), out.calls.end(), [&](const Call& c) { return span && c.span == *span; });
    if (call != out.calls.end()) {
      call->drawn.push_back(one);
    } else if (bool is_decided = span && snapshot.text().substr(span->begin, span->end - span->begin).find("decision=") != std::string::npos; !is_decided && out.why_not.empty()) {
      // If this draw stayed while others became constants, it would draw another value.
      out.why_not = span ? fmt::format("line {} draws as well, outside of `{}`: inline that call first", snapshot.lines().line_of(span->begin) + 1, schedule->name.view())
                         : "a trace that is replayed draws as well";
    }
  }
  std::erase_if(out.calls, [](const Call& call) { return call.drawn.empty(); });
  return out;
}

/// The reason why some call does not have exactly one value; empty: each has one.
auto why_not_one(const Snapshot& snapshot, const Drawing& drawing) -> std::string {
  if (drawing.calls.empty() || !drawing.why_not.empty()) { return drawing.calls.empty() ? std::string() : drawing.why_not; }
  for (const Call& call : drawing.calls) {
    bool differs = std::any_of(call.drawn.begin(), call.drawn.end(), [&](const schedule::Instruction* one) { return !(one->decision == call.drawn.front()->decision); });
    if (differs) { return fmt::format("the call in line {} draws {} times, not always the same", snapshot.lines().line_of(call.span.begin) + 1, call.drawn.size()); }
  }
  return {};
}

auto numbers_of(const schedule::Value& value) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  if (const auto* list = value.as<schedule::Value::List>()) {
    for (const schedule::Value& one : *list) {
      if (const int64_t* number = one.integer()) { out.push_back(*number); }
    }
  } else if (const int64_t* number = value.integer()) {
    out.push_back(*number);
  }
  return out;
}

auto decision_text(const schedule::Value& decision) -> std::string {
  std::string numbers = fmt::format("{}", fmt::join(numbers_of(decision), ", "));
  return decision.as<schedule::Value::List>() != nullptr ? "[" + numbers + "]" : numbers;
}

/// Adds `decision=[4, 8]` to a call.
auto decide(const Snapshot& snapshot, const Call& call) -> TextEdit {
  std::string text = decision_text(call.drawn.front()->decision);
  auto resolved = [&](const syntax::Expr& e) { return snapshot.resolve(e.origin()).value_or(call.span); };
  if (call.given != nullptr) { return {resolved(*call.given), text}; }
  // Insert after the last argument, before a trailing comma.
  uint32_t end = 0;
  for (const syntax::Expr* argument : call.node->args) { end = std::max(end, resolved(*argument).end); }
  for (const syntax::Keyword& keyword : call.node->keywords) { end = std::max(end, resolved(*keyword.value).end); }
  return {{end, end}, ", decision=" + text};
}

/// An expression for the loop that a call drew: a variable of the script, or else a look-up. Empty: the call drew no loop.
auto loop_text_of(const Snapshot& snapshot, const Drawing& drawing, const Call& call) -> std::string {
  const script::ScheduleRun& run = *drawing.schedule->run;
  const int64_t* index = call.drawn.front()->decision.integer();
  const auto* loop = call.drawn.front()->outputs.empty() ? nullptr : call.drawn.front()->outputs.front().as<schedule::LoopRV>();
  if (index == nullptr || *index < 0 || loop == nullptr || call.statement >= run.steps.size() || run.steps[call.statement].after == nullptr) { return {}; }
  auto drawn = run.steps[call.statement].after->get(*loop);
  // The statement itself may use the loop, so only variables from before the statement are available.
  auto point = call.statement > 0 ? point_after(snapshot, *drawing.schedule, call.statement - 1) : std::nullopt;
  const schedule::Schedule before = point ? point->schedule : schedule::Schedule(run.program);
  auto found = drawn.ok() ? before.state().find((*drawn)->id) : schedule::State::Found{};
  if (!found) { return {}; }
  std::string text = schedule::place_text(*found.func, *found.place, [&](const schedule::Place& one) { return point ? point->name_of(one) : std::string(); });
  return schedule::in_words_of(std::move(text), drawing.schedule->form.variable.view());
}

auto constant_text(const Snapshot& snapshot, const Drawing& drawing, const Call& call) -> std::string {
  const schedule::Instruction& drawn = *call.drawn.front();
  if (drawn.primitive->name == "sample_compute_location") { return loop_text_of(snapshot, drawing, call); }
  std::vector<int64_t> numbers = numbers_of(drawn.decision);
  if (drawn.primitive->name == "sample_categorical") {
    std::vector<int64_t> candidates = drawn.values.empty() ? std::vector<int64_t>() : numbers_of(drawn.values.front());
    return numbers.size() == 1 && numbers[0] >= 0 && static_cast<size_t>(numbers[0]) < candidates.size() ? std::to_string(candidates[static_cast<size_t>(numbers[0])]) : std::string();
  }
  std::string text = fmt::format("{}", fmt::join(numbers, ", "));
  return call.is_unpacked && numbers.size() > 1 ? text : "[" + text + "]";
}

}  // namespace

auto decisions_as_constants(const Snapshot& snapshot, uint32_t at) -> TextRewrite {
  Drawing drawing = find_drawing(snapshot, at);
  TextRewrite rewrite{"Make decisions constants", {}, why_not_one(snapshot, drawing)};
  if (!rewrite.why_not.empty()) { return rewrite; }
  for (const Call& call : drawing.calls) {
    std::string text = constant_text(snapshot, drawing, call);
    if (!text.empty()) {
      rewrite.edits.push_back({call.span, std::move(text)});
    } else if (!call.is_decided()) {
      rewrite.edits.push_back(decide(snapshot, call));
    }
  }
  return rewrite;
}

auto decisions_as_arguments(const Snapshot& snapshot, uint32_t at) -> TextRewrite {
  Drawing drawing = find_drawing(snapshot, at);
  std::erase_if(drawing.calls, [](const Call& call) { return call.is_decided(); });
  TextRewrite rewrite{"Write the drawn values as `decision=`", {}, why_not_one(snapshot, drawing)};
  if (!rewrite.why_not.empty()) { return rewrite; }
  for (const Call& call : drawing.calls) { rewrite.edits.push_back(decide(snapshot, call)); }
  return rewrite;
}

auto factors_as_draws(const Snapshot& snapshot, uint32_t at) -> TextRewrite {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr || schedule->run == nullptr || !schedule->is_settled() || schedule->run->result == nullptr) { return {}; }
  Body body = body_of(snapshot, schedule->decl);
  at = on_statement(snapshot, at);
  for (size_t i = 0; body.def != nullptr && i < body.statements.size(); ++i) {
    if (at < body.statements[i].begin || at > body.statements[i].end) { continue; }
    const auto* assign = body.def->body[static_cast<uint32_t>(i)]->as<syntax::AssignStmt>();
    const auto* call = assign != nullptr ? assign->value->as<syntax::CallExpr>() : nullptr;
    const auto* attribute = call != nullptr ? call->callee->as<syntax::AttributeExpr>() : nullptr;
    auto span = call != nullptr ? snapshot.resolve(call->origin()) : std::nullopt;
    if (attribute == nullptr || attribute->attr.name != "split" || !span) { return {}; }
    const syntax::Expr* loop = call->args.empty() ? nullptr : *call->args.begin();
    const syntax::Expr* factors = call->args.size() > 1 ? *(call->args.begin() + 1) : nullptr;
    for (const syntax::Keyword& keyword : call->keywords) {
      if (keyword.name.name == "loop") { loop = keyword.value; }
      if (keyword.name.name == "factors") { factors = keyword.value; }
    }
    const auto* name = loop != nullptr ? loop->as<syntax::NameExpr>() : nullptr;
    auto list = factors != nullptr && factors->as<syntax::ListExpr>() != nullptr ? snapshot.resolve(factors->origin()) : std::nullopt;
    // Only numbers: a variable among the factors means that they are already symbolic.
    std::string_view written = list ? std::string_view(snapshot.text()).substr(list->begin, list->end - list->begin) : std::string_view();
    std::string numbers(written);
    for (size_t none = 0; (none = numbers.find("None")) != std::string::npos;) { numbers.replace(none, 4, ""); }
    if (name == nullptr || !list || numbers.find_first_not_of("0123456789[], \t\r\n") != std::string::npos) { return {}; }
    std::vector<int64_t> drawn;
    for (const schedule::Instruction* one : schedule->run->result->trace().instructions()) {
      if (one->primitive->name != "split" || snapshot.resolve(one->origin) != span) { continue; }
      if (!drawn.empty()) { return {}; }
      for (const schedule::Value& output : one->outputs) {
        const auto* made = output.as<schedule::LoopRV>();
        auto place = made != nullptr && i < schedule->run->steps.size() && schedule->run->steps[i].after != nullptr ? schedule->run->steps[i].after->get(*made) : Result<const schedule::Place*>(nullptr);
        auto extent = made != nullptr && place.ok() && *place != nullptr && (*place)->is_loop() ? as_int((*place)->loop->extent) : std::nullopt;
        if (!extent) { return {}; }
        drawn.push_back(*extent);
      }
    }
    if (drawn.size() < 2) { return {}; }
    TextRewrite rewrite{fmt::format("Make the factors of `{}` symbolic", name->name.view()), {}, {}};
    NameTable names = names_of(snapshot);
    auto is_taken = [&](const std::string& wanted) { return std::any_of(names.entities.begin(), names.entities.end(), [&](const Entity& one) { return one.name.view() == wanted; }); };
    std::string tile = fmt::format("{}_tile", name->name.view());
    for (int number = 2; is_taken(tile); ++number) { tile = fmt::format("{}_tile_{}", name->name.view(), number); }
    Span base = snapshot.resolve(attribute->object->origin()).value_or(Span{span->begin, span->begin});
    std::string variable = snapshot.text().substr(base.begin, base.end - base.begin);
    constexpr int64_t usual_innermost = 64;
    uint32_t line = line_start_of(snapshot, body.statements[i].begin);
    rewrite.edits.push_back({{line, line}, fmt::format("{}{} = {}.sample_perfect_tile({}, n={}, max_innermost_factor={}, decision=[{}]){}", indent_at(snapshot, body.statements[i].begin), tile, variable, name->name.view(),
                                                       drawn.size(), std::max(usual_innermost, drawn.back()), fmt::join(drawn, ", "), line_break_of(snapshot))});
    rewrite.edits.push_back({*list, tile});
    return rewrite;
  }
  return {};
}

}  // namespace loopsmith::lsp
