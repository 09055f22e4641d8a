// Semantic tokens from the table of names, with the kinds of the variables of schedules: see tokens.h.
#include "lsp/features/tokens.h"

#include <algorithm>
#include <map>

#include "ir/visitor.h"
#include "lsp/features/names.h"
#include "lsp/features/steps.h"
#include "support/codes.h"

namespace loopsmith::lsp {
namespace {

constexpr auto bit(TokenModifier modifier) -> uint16_t { return static_cast<uint16_t>(1U << static_cast<unsigned>(modifier)); }

auto type_of(const Entity& entity) -> TokenType {
  switch (entity.kind) {
    case EntityKind::Namespace: return TokenType::Namespace;
    case EntityKind::Class: return TokenType::Class;
    case EntityKind::Program:
    case EntityKind::Schedule:
    case EntityKind::Function: return TokenType::Function;
    case EntityKind::Parameter: return TokenType::Parameter;
    case EntityKind::Constant:
    case EntityKind::Variable: return TokenType::Variable;
    case EntityKind::Buffer: return TokenType::Buffer;
    case EntityKind::Loop: return TokenType::Loop;
    case EntityKind::Iter: return TokenType::Iterator;
    case EntityKind::Block: return TokenType::Block;
  }
  return TokenType::Variable;
}

auto modifiers_of(const Entity& entity) -> uint16_t {
  uint16_t bits = entity.kind == EntityKind::Constant ? bit(TokenModifier::Readonly) : uint16_t{0};
  constexpr std::pair<Trait, TokenModifier> traits[] = {
      {Trait::Spatial, TokenModifier::Spatial},       {Trait::Reduction, TokenModifier::Reduction}, {Trait::Parallel, TokenModifier::Parallel},   {Trait::Vectorized, TokenModifier::Vectorized},
      {Trait::Unrolled, TokenModifier::Unrolled},     {Trait::ThreadBound, TokenModifier::ThreadBound}, {Trait::LocalScope, TokenModifier::Local},
      {Trait::SharedScope, TokenModifier::Shared},     {Trait::WarpScope, TokenModifier::Warp}};
  for (auto [trait, modifier] : traits) {
    bool is_hidden = trait == Trait::Spatial && entity.has(Trait::Reduction);
    if (entity.has(trait) && !is_hidden) { bits |= bit(modifier); }
  }
  return bits;
}

auto kind_modifier(ForKind kind) -> uint16_t {
  switch (kind) {
    case ForKind::Serial: return 0;
    case ForKind::Parallel: return bit(TokenModifier::Parallel);
    case ForKind::Vectorized: return bit(TokenModifier::Vectorized);
    case ForKind::Unrolled: return bit(TokenModifier::Unrolled);
    case ForKind::ThreadBinding: return bit(TokenModifier::ThreadBound);
  }
  return 0;
}

/// The kinds of the iter vars that a loop feeds, in the blocks below it.
auto feeding_modifier(const schedule::FuncState& func, const schedule::Place& loop) -> uint16_t {
  const VarNode* var = loop.loop->var.get();
  bool is_spatial = false;
  for (int i = loop.index + 1; i < loop.end; ++i) {
    const schedule::Place& place = func.places()[static_cast<size_t>(i)];
    if (!place.is_block()) { continue; }
    for (size_t iter = 0; iter < place.realize->iter_values.size(); ++iter) {
      IterKind kind = place.block()->iter_vars[iter].kind;
      if (kind != IterKind::Spatial && kind != IterKind::Reduction) { continue; }
      if (!uses_var(place.realize->iter_values[iter], [&](const VarNode& one) { return &one == var; })) { continue; }
      if (kind == IterKind::Reduction) { return bit(TokenModifier::Reduction); }
      is_spatial = true;
    }
  }
  return is_spatial ? bit(TokenModifier::Spatial) : uint16_t{0};
}

/// Modifiers of loops, cached because each loop is named many times.
using Feeding = std::map<std::pair<const schedule::FuncState*, NodeId>, uint16_t>;

/// Idle statements: they change nothing, or follow one that failed.
auto idle_statements(const workspace::Snapshot& snapshot) -> std::vector<Span> {
  std::vector<Span> idle;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.run == nullptr) { continue; }
    bool has_failed = false;
    for (const script::Step& step : schedule.run->steps) {
      bool is_idle = (has_failed && step.state == script::StepState::NotRun) ||
                     std::any_of(step.diagnostics.begin(), step.diagnostics.end(), [](const Diagnostic& one) { return one.code == Code::StepChangesNothing; });
      has_failed = has_failed || step.state == script::StepState::Failed;
      auto span = is_idle ? snapshot.resolve(step.where) : std::nullopt;
      if (span) { idle.push_back(*span); }
    }
  }
  return idle;
}

/// Sets the token of a variable of a schedule, from its value before the statement (or after it, if the statement binds it).
void add_state(const script::ScheduleRun& run, uint32_t at, const Entity& entity, bool is_bound_here, Feeding& feeding, Token& token) {
  size_t index = step_at(run, at);
  if (index == no_step) { return; }
  const schedule::Value* variable = variable_at(run, index, entity.name, is_bound_here);
  if (variable == nullptr) { return; }
  const schedule::Schedule* state = state_at(run, index, is_bound_here);
  if (state == nullptr) { return; }
  if (const auto* loop = variable->as<schedule::LoopRV>()) {
    token.type = TokenType::Loop;
    auto place = state->get(*loop);
    if (!place.ok()) { token.modifiers |= bit(TokenModifier::Deprecated); }
    else if ((*place)->is_loop()) {
      token.modifiers |= kind_modifier((*place)->loop->for_kind);
      if (auto found = state->state().find((*place)->id)) {
        auto [known, is_new] = feeding.try_emplace({found.func, (*place)->id}, uint16_t{0});
        if (is_new) { known->second = feeding_modifier(*found.func, *found.place); }
        token.modifiers |= known->second;
      }
    }
  } else if (const auto* block = variable->as<schedule::BlockRV>()) {
    token.type = TokenType::Block;
    if (!state->get(*block).ok()) { token.modifiers |= bit(TokenModifier::Deprecated); }
  }
}

}  // namespace

auto semantic_tokens(const workspace::Snapshot& snapshot, Span within) -> std::vector<Token> {
  std::vector<Token> tokens;
  NameTable names = names_of(snapshot);
  Feeding feeding;
  std::vector<Span> idle = idle_statements(snapshot);
  for (const Occurrence& o : names.occurrences) {
    if (o.span.end < within.begin || o.span.begin > within.end) { continue; }
    const Entity& entity = names.entities[o.entity];
    // An unknown name has no kind.
    if (!entity.is_bound && entity.kind == EntityKind::Variable) { continue; }
    Token token{o.span, type_of(entity), modifiers_of(entity)};
    if (o.role == Role::Bind) { token.modifiers |= bit(TokenModifier::Declaration); }
    if (o.role == Role::Write) { token.modifiers |= bit(TokenModifier::Modification); }
    if (entity.kind == EntityKind::Variable || entity.kind == EntityKind::Constant) {
      Origin at = snapshot.syntax().origin_at(o.span.begin);
      for (const script::FileSchedule& schedule : snapshot.schedules()) {
        bool is_it = schedule.decl == at.decl && schedule.run != nullptr && (schedule.others.empty() || schedule_at(snapshot, o.span.begin) == &schedule);
        if (is_it) { add_state(*schedule.run, at.begin, entity, o.role == Role::Bind, feeding, token); }
      }
    }
    bool is_idle = std::any_of(idle.begin(), idle.end(), [&](Span statement) { return statement.begin <= o.span.begin && o.span.end <= statement.end; });
    if (is_idle) { token.modifiers |= bit(TokenModifier::Idle); }
    tokens.push_back(token);
  }
  return tokens;
}

}  // namespace loopsmith::lsp
