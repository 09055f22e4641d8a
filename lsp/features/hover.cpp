// Finds the thing at the cursor, and hovers of programs: see hover.h. Facts of loops and blocks are in hover/places.cpp, hovers of schedules in
// hover/schedules.cpp.
#include "lsp/features/hover.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/thread_proof.h"
#include "cost/loop_facts.h"
#include "ir/visitor.h"
#include "lsp/features/factors.h"
#include "lsp/features/hover/cursor.h"
#include "lsp/features/hover/places.h"
#include "lsp/features/hover/schedules.h"
#include "lsp/features/words.h"

namespace loopsmith::lsp {

using workspace::Snapshot;

namespace {

struct Found {
  PrimFunc function;
  const For* loop = nullptr;
  const Block* block = nullptr;
  Buffer buffer;
};

auto matches(const Origin& a, const Origin& b) -> bool { return a.decl == b.decl && a.begin == b.begin && a.end == b.end; }

/// Calls f(function) for every function made from a declaration, until it returns true.
template <class F>
void for_functions_of(const Snapshot& snapshot, DeclId decl, F&& f) {
  for (const workspace::Program& program : snapshot.programs()) {
    const IRModule& module = program.module ? program.module : program.partial;
    if (!module) { continue; }
    for (const auto& [name, function] : module->functions) {
      if (program.decl != decl && function->origin.decl != decl) { continue; }
      if (f(function)) { return; }
    }
  }
}

/// The loops and blocks of a statement of the text, in the order of nesting.
auto made_from(const PrimFunc& function, const Origin& statement) -> std::vector<Found> {
  std::vector<Found> found;
  post_order(function->body, [&](const Stmt& stmt) {
    if (stmt->kind == NodeKind::For && matches(stmt->origin, statement)) {
      found.push_back({function, static_cast<const For*>(stmt.get()), nullptr, {}});
    } else if (stmt->kind == NodeKind::Block && matches(stmt->origin, statement)) {
      found.push_back({function, nullptr, static_cast<const Block*>(stmt.get()), {}});
    } else if (stmt->kind == NodeKind::BlockRealize) {
      const auto& realize = static_cast<const BlockRealize&>(*stmt);
      bool is_seen = !found.empty() && found.back().block == realize.block.get();
      if (!is_seen && (matches(stmt->origin, statement) || matches(realize.block->origin, statement))) {
        found.push_back({function, nullptr, realize.block.get(), {}});
      }
    }
  }, [](const Expr&) {});
  std::reverse(found.begin(), found.end());
  return found;
}

auto hover_program(const Snapshot& snapshot, const Cursor& cursor, const Machine& machine) -> std::optional<HoverInfo> {
  std::optional<HoverInfo> info;
  uint32_t at = cursor.at.begin;
  for_functions_of(snapshot, snapshot.syntax().whole(cursor.at.decl), [&](const PrimFunc& function) {
    // From the inside out: the loop whose variable is at the cursor, or whose header contains the cursor.
    for (auto node = cursor.nodes.rbegin(); node != cursor.nodes.rend() && !info; ++node) {
      if (const auto* loop = (*node)->as<syntax::ForStmt>()) {
        std::vector<Found> loops = made_from(function, loop->origin());
        bool in_header = at >= loop->header_span.begin && at <= loop->header_span.end;
        for (const Found& found : loops) {
          if (found.loop != nullptr && !cursor.name.empty() && found.loop->var->name == cursor.name) {
            info = describe_loop(function, *found.loop, cursor.name_span, machine);
          }
        }
        if (!info && in_header && !loops.empty() && loops.front().loop != nullptr) {
          info = describe_loop(function, *loops.front().loop, span_of(snapshot, *loop, loop->header_span), machine);
          for (size_t i = 1; i < loops.size(); ++i) {
            if (loops[i].loop != nullptr) {
              info->facts.push_back({"also", fmt::format("`{}`: {}, extent {}", loops[i].loop->var->name.view(), kind_text(*loops[i].loop), extent_text(loops[i].loop->extent))});
            }
          }
        }
      } else if (const auto* with = (*node)->as<syntax::WithStmt>()) {
        std::vector<Found> blocks = made_from(function, with->origin());
        bool in_header = at >= with->header_span.begin && at <= with->header_span.end;
        for (const Found& found : blocks) {
          if (found.block == nullptr || info) { continue; }
          for (const IterVar& iter : found.block->iter_vars) {
            if (cursor.name.empty() || !(iter.var->name == cursor.name)) { continue; }
            const char* kind = iter.kind == IterKind::Spatial ? "spatial" : iter.kind == IterKind::Reduction ? "reduction" : "opaque";
            info = HoverInfo{cursor.name_span, fmt::format("iter var `{}` of block `{}`: {}", cursor.name.view(), found.block->name.view(), kind), {}};
            if (iter.dom.extent) { info->facts.push_back({"domain", "extent " + extent_text(iter.dom.extent)}); }
          }
          if (!info && in_header) { info = describe_block(function, *found.block, span_of(snapshot, *with, with->header_span), machine); }
        }
      } else if (const auto* def = (*node)->as<syntax::FunctionDef>()) {
        bool on_name = at >= def->name.span.begin && at <= def->name.span.end;
        if (on_name && function->origin.decl == cursor.at.decl) {
          info = HoverInfo{cursor.name_span, fmt::format("program `{}`", cursor.name.view()), {}};
          if (auto facts = cost::loop_facts(function, 0)) { add_cost(*facts, false, machine, info->facts); }
          for (const Diagnostic& proof : analysis::thread_proofs(function, snapshot.diagnostics())) { info->facts.push_back({"races", proof.message()}); }
        }
      }
    }
    if (!info && !cursor.name.empty()) {
      info = hover_buffer(function, cursor.name);
      if (info) { info->span = cursor.name_span; }
    }
    return info.has_value();
  });
  return info;
}

}  // namespace

auto find_cursor(const Snapshot& snapshot, uint32_t offset) -> std::optional<Cursor> {
  Cursor cursor;
  cursor.at = snapshot.syntax().origin_at(offset);
  syntax::ItemPtr item = snapshot.syntax().declaration(cursor.at.decl);
  if (!item) { return std::nullopt; }
  uint32_t at = cursor.at.begin;
  for (const syntax::Stmt* statement : item->statements) {
    syntax::walk(*statement, [&](const syntax::Node& node) {
      if (node.decl != cursor.at.decl || at < node.span.begin || at > node.span.end) { return false; }
      cursor.nodes.push_back(&node);
      return true;
    });
  }
  auto take = [&](Name name, Span span) {
    if (at < span.begin || at > span.end) { return; }
    cursor.name = name;
    cursor.name_span = snapshot.syntax().resolve({cursor.at.decl, span.begin, span.end, 0}).value_or(Span{offset, offset});
  };
  for (const syntax::Node* node : cursor.nodes) {
    if (const auto* name = node->as<syntax::NameExpr>()) { take(name->name, name->span); }
    if (const auto* function = node->as<syntax::FunctionDef>()) {
      take(function->name.name, function->name.span);
      for (const syntax::Param& param : function->params) { take(param.name.name, param.name.span); }
    }
  }
  return cursor;
}

auto span_of(const Snapshot& snapshot, const syntax::Node& node, Span inside) -> Span {
  return snapshot.syntax().resolve({node.decl, inside.begin, inside.end, 0}).value_or(Span{});
}

auto made_in(const Snapshot& snapshot, Origin statement) -> std::string {
  auto span = snapshot.resolve(statement);
  if (!span) { return {}; }
  uint32_t line = snapshot.lines().line_of(span->begin);
  std::string_view text = snapshot.lines().line_text(snapshot.text(), line);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return fmt::format("made in line {}: `{}`", line + 1, text);
}

auto hover(const Snapshot& snapshot, uint32_t at, const Machine& machine) -> std::optional<HoverInfo> {
  auto cursor = find_cursor(snapshot, at);
  if (!cursor) { return hover_word(snapshot, at); }
  if (auto info = hover_primitive(snapshot, *cursor)) { return info; }
  if (auto info = hover_factor(snapshot, at)) { return info; }
  if (auto info = hover_block_name(snapshot, at, machine)) { return info; }
  if (const script::FileSchedule* schedule = schedule_of(snapshot, *cursor)) {
    if (auto name = hover_schedule_name(snapshot, *cursor, *schedule)) { return name; }
    auto info = hover_schedule(snapshot, *cursor, *schedule, machine);
    if (!info) { info = hover_stage_value(snapshot, at, *cursor, *schedule, machine); }
    return info ? info : hover_word(snapshot, at);
  }
  auto info = hover_program(snapshot, *cursor, machine);
  return info ? info : hover_word(snapshot, at);
}

}  // namespace loopsmith::lsp
