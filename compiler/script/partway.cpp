// Runs a statement up to a place inside it: see partway.h.
#include "script/partway.h"

#include <algorithm>

#include "frontend/objects.h"
#include "script/te/create.h"
#include "support/guards.h"

namespace loopsmith::script {
namespace {

using eval::Flow;
using syntax::Stmt;

// The most steps of the evaluator: a user who views a place should not wait longer.
constexpr uint64_t most_steps = 200'000;

/// The indentation of the line that holds a byte; in a blank line, the column of the byte.
auto indent_at(std::string_view text, uint32_t at) -> size_t {
  size_t end = text.substr(0, at).rfind('\n');
  size_t begin = end == std::string_view::npos ? 0 : end + 1;
  size_t first = std::min(text.find_first_not_of(" \t", begin), text.size());
  bool is_blank = first == text.size() || text[first] == '\n' || text[first] == '\r';
  return (is_blank ? at : first) - begin;
}

auto head_end(const Stmt& stmt) -> std::optional<uint32_t> {
  if (const auto* s = stmt.as<syntax::ForStmt>()) { return s->header_span.end; }
  if (const auto* s = stmt.as<syntax::IfStmt>()) { return s->header_span.end; }
  if (const auto* s = stmt.as<syntax::WhileStmt>()) { return s->header_span.end; }
  if (const auto* s = stmt.as<syntax::WithStmt>()) { return s->header_span.end; }
  return {};
}

auto is_inside(const Stmt& stmt, std::string_view text, uint32_t at) -> bool {
  auto head = head_end(stmt);
  if (!head || at < *head) { return false; }
  return at <= stmt.span.end || indent_at(text, at) > indent_at(text, stmt.span.begin);
}

/// The number of statements that begin at the place or before it.
auto count_begun(const syntax::Block& block, uint32_t at) -> size_t {
  size_t n = 0;
  while (n < block.size() && block[n]->span.begin <= at) { ++n; }
  return n;
}

/// True if the place is in the `else` or `elif` behind a block.
auto is_in_else(const syntax::Block& block, const syntax::Block& otherwise, std::string_view text, uint32_t at) -> bool {
  if (otherwise.empty() || block.empty()) { return false; }
  uint32_t end = block.back()->span.end;
  return at >= otherwise.front()->span.begin || (at > end && text.substr(end, at - end).find("else:") != std::string_view::npos);
}

class Walk {
 public:
  Walk(const PartwayRequest& request, eval::Evaluator& evaluator, const eval::ScopeRef& scope) : request_(request), evaluator_(evaluator), scope_(scope) { seen_ = scope->slots(); }

  // There: the place was reached. Passed: everything ran without reaching it. Lost: the effect of a statement is unknown.
  enum class Met : uint8_t { There, Passed, Lost };

  auto into(const Stmt& stmt) -> Met {
    const uint32_t at = request_.at;
    const std::string_view text = request_.function.text;
    if (const auto* s = stmt.as<syntax::IfStmt>()) {
      auto holds = is_true(*s->condition);
      if (!holds) { return Met::Lost; }
      bool is_meant = is_in_else(s->then, s->otherwise, text, at) != *holds;
      const syntax::Block& taken = *holds ? s->then : s->otherwise;
      return is_meant ? along(taken) : all(taken);
    }
    if (const auto* s = stmt.as<syntax::ForStmt>()) {
      if (is_in_else(s->body, s->otherwise, text, at)) { return Met::Lost; }
      eval::Argument iterable = evaluator_.eval_argument(*s->iterable, scope_);
      auto items = iterable.value.is_unknown() ? std::nullopt : evaluator_.iterate(iterable);
      if (!items) { return Met::Lost; }
      for (eval::Value& item : *items) {
        if (!evaluator_.assign(*s->target, {std::move(item), s->target->origin(), {}}, scope_)) { return Met::Lost; }
        note(stmt);
        if (Met met = pass(s->body); met != Met::Passed || is_broken_off_) { return met; }
      }
      return all(s->otherwise);
    }
    if (const auto* s = stmt.as<syntax::WhileStmt>()) {
      if (is_in_else(s->body, s->otherwise, text, at)) { return Met::Lost; }
      while (true) {
        auto holds = is_true(*s->condition);
        if (!holds) { return Met::Lost; }
        if (!*holds) { return all(s->otherwise); }
        if (Met met = pass(s->body); met != Met::Passed || is_broken_off_) { return met; }
      }
    }
    const auto& with = static_cast<const syntax::WithStmt&>(stmt);
    const size_t around = evaluator_.contexts.size();
    for (const syntax::WithItem& item : with.items) {
      eval::Value context = evaluator_.eval(*item.context, scope_);
      bool is_context = context.object() && context.object()->is_context();
      if (!context.is_opaque() && !is_context) { return Met::Lost; }
      if (item.target && !evaluator_.assign(*item.target, {is_context ? context : eval::Value::opaque(), item.target->origin(), {}}, scope_)) { return Met::Lost; }
      if (is_context) { evaluator_.contexts.push_back(std::move(context)); }
    }
    Met met = along(with.body);
    evaluator_.contexts.resize(around);
    return met;
  }

  [[nodiscard]] auto named() const -> const std::vector<Partway::Named>& { return named_; }

 private:
  /// Runs one iteration of a loop.
  auto pass(const syntax::Block& body) -> Met {
    Met met = along(body);
    is_broken_off_ = flow_ == Flow::Break;
    if (flow_ == Flow::Break || flow_ == Flow::Continue) { flow_ = Flow::Next; }
    return met;
  }
  auto all(const syntax::Block& block) -> Met {
    for (const Stmt* stmt : block) {
      if (!run(*stmt)) { return ended(); }
    }
    return Met::Passed;
  }
  auto along(const syntax::Block& block) -> Met {
    size_t begun = count_begun(block, request_.at);
    for (size_t i = 0; i < block.size(); ++i) {
      const Stmt& stmt = *block[i];
      if (i + 1 == begun || (begun == 0 && i == 0)) {
        if (begun > 0 && is_inside(stmt, request_.function.text, request_.at)) {
          Met met = into(stmt);
          if (met != Met::Passed || flow_ != Flow::Next) { return met; }
          continue;
        }
        bool is_before = begun > 0 && stmt.span.end < request_.at;
        // A refused statement has changed nothing.
        if (request_.is_behind && !is_before && begun > 0 && !head_end(stmt)) {
          (void)run(stmt);
          flow_ = Flow::Next;
          return Met::There;
        }
        return !is_before || run(stmt) ? Met::There : ended();
      }
      if (!run(stmt)) { return ended(); }
    }
    return block.empty() ? Met::There : Met::Passed;
  }
  auto run(const Stmt& stmt) -> bool {
    if (request_.stop && request_.stop()) {
      flow_ = Flow::Unknown;
      return false;
    }
    eval::Value result;
    flow_ = evaluator_.exec(stmt, scope_, result);
    note(stmt);
    return flow_ == Flow::Next;
  }
  [[nodiscard]] auto ended() const -> Met { return flow_ == Flow::Break || flow_ == Flow::Continue ? Met::Passed : Met::Lost; }
  auto is_true(const syntax::Expr& expr) -> std::optional<bool> {
    eval::Argument condition = evaluator_.eval_argument(expr, scope_);
    if (condition.value.is_unknown()) { return {}; }
    return evaluator_.truth(condition);
  }
  /// Records the variables that a statement named.
  void note(const Stmt& stmt) {
    for (const auto& [name, value] : scope_->slots()) {
      auto before = std::find_if(seen_.begin(), seen_.end(), [wanted = name](const auto& one) { return one.first == wanted; });
      auto variable = variable_of(value);
      if (before != seen_.end() && variable_of(before->second) == variable) { continue; }
      if (before != seen_.end()) { before->second = value; } else { seen_.emplace_back(name, value); }
      std::erase_if(named_, [wanted = name](const auto& one) { return one.name == wanted; });
      if (variable) { named_.push_back({name, std::move(*variable), stmt.origin()}); }
    }
  }

  const PartwayRequest& request_;
  eval::Evaluator& evaluator_;
  const eval::ScopeRef& scope_;
  Flow flow_ = Flow::Next;
  bool is_broken_off_ = false;
  std::vector<std::pair<Name, eval::Value>> seen_;
  std::vector<Partway::Named> named_;
};

}  // namespace

auto statement_around(const ScheduleFunction& function, uint32_t at) -> std::optional<size_t> {
  const syntax::Block& body = function.def->body;
  size_t begun = count_begun(body, at);
  if (begun == 0 || !is_inside(*body[begun - 1], function.text, at)) { return {}; }
  return begun - 1;
}

auto partway(const PartwayRequest& request) -> std::optional<Partway> {
  const ScheduleFunction& function = request.function;
  // In a function with several schedules, the schedule of a variable is unknown.
  bool is_known = request.index < request.run.frames.size() && function.others.empty();
  if (!is_known || (request.stop && request.stop())) { return {}; }
  std::optional<eval::Frame> known = frame_before(request.run, request.index);
  if (!known || !known->function) { return {}; }
  eval::Frame frame = *std::move(known);
  eval::Evaluator evaluator;
  evaluator.limits.steps = most_steps;
  evaluator.cancel = request.cancel;
  evaluator.globals = frame.function->globals;
  evaluator.tree = function.tree;
  std::vector<Ref<ScheduleObject>> made;
  evaluator.not_called = [&](const eval::Value& callee, const syntax::CallExpr& written, const eval::Arguments& arguments) -> std::optional<eval::Value> {
    leave_out_call(callee, *written.callee, arguments);
    bool is_it = callee.is_opaque() && function.form.made && function.form.made->origin() == written.origin() && request.run.program;
    if (!is_it) { return std::nullopt; }
    const auto* program = arguments.positional > 0 ? arguments.all[0].value.as<frontend::ProgramObject>() : nullptr;
    schedule::Schedule schedule(program ? program->module : request.run.program);
    schedule.use_intrinsics(request.run.intrinsics);
    schedule.use_vscale(most_vscale(request.run.target));
    made.push_back(eval::make_object<ScheduleObject>(std::move(schedule)));
    return eval::Value(Ref<eval::Object>(made.back().get()));
  };
  if (request.index < function.contexts.size()) { enter_contexts(evaluator, function.contexts[request.index], frame.scope); }
  auto schedule = [&]() -> const ScheduleObject* {
    const eval::Value* value = frame.scope->find_here(function.form.variable);
    return value ? value->as<ScheduleObject>() : nullptr;
  };
  if (const ScheduleObject* before = schedule()) { before->record.step = static_cast<uint32_t>(request.index) + 1; }
  Walk walk(request, evaluator, frame.scope);
  if (walk.into(*function.def->body[request.index]) != Walk::Met::There) { return {}; }
  const ScheduleObject* now = schedule();
  if (!now || now->record.is_unknown) { return {}; }
  return Partway{std::make_shared<const schedule::Schedule>(now->schedule), walk.named()};
}

void enter_contexts(eval::Evaluator& evaluator, const std::vector<const syntax::Expr*>& contexts, const eval::ScopeRef& scope) {
  evaluator.contexts.clear();
  WithoutReports quiet(evaluator.diagnostics);
  for (const syntax::Expr* context : contexts) {
    eval::Value value = evaluator.eval(*context, scope);
    if (value.object() && value.object()->is_context()) { evaluator.contexts.push_back(std::move(value)); }
  }
}

auto variable_of(const eval::Value& value, const ScheduleObject* schedule) -> std::optional<schedule::Value> {
  if (const auto* variable = value.as<VariableObject>()) { return variable->variable; }
  if (schedule != nullptr && schedule->stages) {
    if (auto loop = te::loop_of(*schedule->stages, value)) { return schedule::Value(*loop); }
  }
  const std::vector<eval::Value>* items = nullptr;
  if (const auto* list = value.as<eval::List>()) { items = &list->items; }
  if (const auto* tuple = value.as<eval::Tuple>()) { items = &tuple->items; }
  if (items == nullptr || items->empty()) { return std::nullopt; }
  schedule::Value::List variables;
  for (const eval::Value& item : *items) {
    if (item.items() != nullptr) { return std::nullopt; }
    auto variable = variable_of(item, schedule);
    if (!variable) { return std::nullopt; }
    variables.push_back(std::move(*variable));
  }
  return schedule::Value(std::move(variables));
}

}  // namespace loopsmith::script
