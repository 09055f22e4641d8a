// Outline, folding, selections: see symbols.h.
#include "lsp/features/symbols.h"

#include <algorithm>

#include "frontend/lower.h"
#include "lsp/features/steps.h"
#include "support/text.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// Finds the places of nodes in the text.
struct View {
  const Snapshot& snapshot;

  [[nodiscard]] auto span(const syntax::Node& node) const -> Span {
    return snapshot.syntax().resolve(node.origin()).value_or(Span{});
  }
  [[nodiscard]] auto span(const syntax::Node& node, Span inside) const -> Span {
    return snapshot.syntax().resolve({node.decl, inside.begin, inside.end, 0}).value_or(span(node));
  }
  [[nodiscard]] auto text(const syntax::Node& node) const -> std::string {
    Span where = span(node);
    return snapshot.text().substr(where.begin, where.end - where.begin);
  }
};

auto one_line(std::string text, size_t limit = 60) -> std::string {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.size() > limit ? std::string(first_bytes(text, limit)) + "…" : text;
}

/// "T.block" of `T.block("C")`.
auto last_name(const syntax::Expr& callee) -> std::string_view {
  if (const auto* attribute = callee.as<syntax::AttributeExpr>()) { return attribute->attr.name.view(); }
  if (const auto* name = callee.as<syntax::NameExpr>()) { return name->name.view(); }
  return {};
}

void add_symbols(const View& view, const syntax::Block& body, std::vector<Symbol>& out, int depth);

/// Adds the numbered steps of a schedule, with their results if the schedule has run.
void add_steps(const View& view, const syntax::FunctionDef& function, std::vector<Symbol>& out) {
  const script::ScheduleRun* run = nullptr;
  for (const script::FileSchedule& schedule : view.snapshot.schedules()) {
    if (schedule.decl == function.decl && schedule.is_settled()) { run = schedule.run.get(); }
  }
  // The result of a statement belongs to the schedule that the statement works on.
  auto run_at = [&](const Span& span) -> const script::ScheduleRun* {
    const script::FileSchedule* about = run != nullptr ? schedule_at(view.snapshot, span.begin) : nullptr;
    return about != nullptr && about->is_settled() ? about->run.get() : run;
  };
  for (uint32_t i = 0; i < function.body.size(); ++i) {
    Symbol step;
    step.kind = SymbolKind::Step;
    step.span = step.name_span = view.span(*function.body[i]);
    step.name = std::to_string(i + 1) + "  " + one_line(view.text(*function.body[i]));
    if (const script::ScheduleRun* here = run_at(step.span); here != nullptr && i < here->steps.size()) {
      switch (here->steps[i].state) {
        case script::StepState::Done: step.detail = "ok"; break;
        case script::StepState::Failed: step.detail = "failed"; break;
        case script::StepState::NotRun: step.detail = "not run"; break;
        case script::StepState::Unknown: step.detail = "not known"; break;
      }
    }
    out.push_back(std::move(step));
  }
}

/// `A: T.Buffer((16,), "float32")` of a program.
void add_buffers(const View& view, const syntax::FunctionDef& function, std::vector<Symbol>& out) {
  for (const syntax::Param& param : function.params) {
    const auto* type = param.annotation != nullptr ? param.annotation->as<syntax::CallExpr>() : nullptr;
    if (type == nullptr || last_name(*type->callee) != "Buffer" || param.name.name.empty()) { continue; }
    Symbol buffer;
    buffer.kind = SymbolKind::Buffer;
    buffer.name = param.name.name.str();
    buffer.detail = one_line(view.text(*type));
    buffer.name_span = view.span(function, param.name.span);
    buffer.span = {buffer.name_span.begin, std::max(view.span(*type).end, buffer.name_span.end)};
    out.push_back(std::move(buffer));
  }
}

/// The name in `async def f(...)`, decorated or not; null: it is `async for` or `async with`.
auto name_of_coroutine(const View& view, const syntax::OpaqueStmt& statement) -> const syntax::Identifier* {
  for (const syntax::Identifier& name : statement.binds) {
    uint32_t begin = view.span(statement, name.span).begin;
    std::string_view before = std::string_view(view.snapshot.text()).substr(0, begin);
    size_t end = before.find_last_not_of(" \t");
    if (end != std::string_view::npos && before.substr(0, end + 1).ends_with("def")) { return &name; }
  }
  return nullptr;
}

void add_symbol(const View& view, const syntax::Stmt& statement, std::vector<Symbol>& out, int depth) {
  Symbol symbol;
  symbol.span = view.span(statement);
  symbol.name_span = symbol.span;
  if (const auto* function = statement.as<syntax::FunctionDef>()) {
    bool is_program = frontend::is_program(*function);
    bool is_schedule = !is_program && syntax::schedule_form(*function);
    symbol.kind = is_schedule ? SymbolKind::Schedule : SymbolKind::Function;
    symbol.name = function->name.name.str();
    symbol.name_span = view.span(*function, function->name.span);
    if (is_program) { add_buffers(view, *function, symbol.children); }
    is_schedule ? add_steps(view, *function, symbol.children) : add_symbols(view, function->body, symbol.children, depth + 1);
  } else if (const auto* other = statement.as<syntax::OpaqueStmt>()) {
    // A coroutine is not part of the language; it is listed as a function without contents.
    const syntax::Identifier* name = other->what == "async" ? name_of_coroutine(view, *other) : nullptr;
    if (name == nullptr) { return; }
    symbol.kind = SymbolKind::Function;
    symbol.detail = "async";
    symbol.name = name->name.str();
    symbol.name_span = view.span(*other, name->span);
  } else if (const auto* type = statement.as<syntax::ClassDef>()) {
    symbol.kind = SymbolKind::Class;
    symbol.name = type->name.name.str();
    symbol.name_span = view.span(*type, type->name.span);
    add_symbols(view, type->body, symbol.children, depth + 1);
  } else if (const auto* loop = statement.as<syntax::ForStmt>()) {
    symbol.kind = SymbolKind::Loop;
    symbol.name = loop->target != nullptr ? one_line(view.text(*loop->target)) : "for";
    symbol.detail = loop->iterable != nullptr ? one_line(view.text(*loop->iterable)) : "";
    if (loop->target != nullptr) { symbol.name_span = view.span(*loop->target); }
    add_symbols(view, loop->body, symbol.children, depth + 1);
  } else if (const auto* with = statement.as<syntax::WithStmt>()) {
    const syntax::CallExpr* call = with->items.empty() ? nullptr : with->items.front().context->as<syntax::CallExpr>();
    std::string_view callee = call != nullptr ? last_name(*call->callee) : std::string_view();
    if (callee != "block" && callee != "sblock") { return add_symbols(view, with->body, out, depth); }
    symbol.kind = SymbolKind::Block;
    const auto* name = call->args.empty() ? nullptr : call->args.front()->as<syntax::StringExpr>();
    symbol.name = name != nullptr && !name->value.empty() ? std::string(name->value) : "block";
    symbol.detail = "block";
    symbol.name_span = view.span(*call);
    add_symbols(view, with->body, symbol.children, depth + 1);
  } else if (const auto* branch = statement.as<syntax::IfStmt>()) {
    add_symbols(view, branch->then, out, depth);
    return add_symbols(view, branch->otherwise, out, depth);
  } else if (const auto* made = statement.as<syntax::AssignStmt>(); made != nullptr && depth > 0) {
    // `D = T.alloc_buffer(...)`, in a program or a block of it.
    const auto* target = made->targets.empty() ? nullptr : made->targets.front()->as<syntax::NameExpr>();
    const auto* call = made->value != nullptr ? made->value->as<syntax::CallExpr>() : nullptr;
    std::string_view callee = call != nullptr ? last_name(*call->callee) : std::string_view();
    bool is_buffer = callee == "match_buffer" || callee == "alloc_buffer" || callee == "sblock_alloc_buffer" || callee == "decl_buffer";
    if (target == nullptr || !is_buffer) { return; }
    symbol.kind = SymbolKind::Buffer;
    symbol.name = target->name.str();
    symbol.detail = one_line(view.text(*call));
    symbol.name_span = view.span(*target);
  } else if (const auto* assign = statement.as<syntax::AssignStmt>(); assign != nullptr && depth == 0) {
    const auto* target = assign->targets.empty() ? nullptr : assign->targets.front()->as<syntax::NameExpr>();
    if (target == nullptr) { return; }
    symbol.kind = SymbolKind::Variable;
    symbol.name = target->name.str();
    symbol.detail = assign->value != nullptr ? one_line(view.text(*assign->value)) : "";
    symbol.name_span = view.span(*target);
  } else {
    return;
  }
  // LSP requires a name inside the whole span; a half-typed `def` has neither.
  symbol.name_span.begin = std::clamp(symbol.name_span.begin, symbol.span.begin, symbol.span.end);
  symbol.name_span.end = std::clamp(symbol.name_span.end, symbol.name_span.begin, symbol.span.end);
  if (symbol.name.empty()) { symbol.name = "?"; }
  out.push_back(std::move(symbol));
}

void add_symbols(const View& view, const syntax::Block& body, std::vector<Symbol>& out, int depth) {
  for (const syntax::Stmt* statement : body) { add_symbol(view, *statement, out, depth); }
}

/// Calls f for every node of every declaration.
template <class F>
void for_each_statement(const Snapshot& snapshot, F&& f) {
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    for (const syntax::Stmt* statement : placed.item->statements) { syntax::walk(*statement, f); }
  }
}

}  // namespace

auto document_symbols(const Snapshot& snapshot) -> std::vector<Symbol> {
  View view{snapshot};
  std::vector<Symbol> symbols;
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    if (!syntax::is_script(*placed.item)) { add_symbols(view, placed.item->statements, symbols, 0); continue; }
    auto script = syntax::function_of(placed.item);
    Symbol symbol{.kind = SymbolKind::Schedule, .name = script->name.name.str(), .detail = "", .span = view.span(*script), .name_span = view.span(*script, script->name.span), .children = {}};
    add_steps(view, *script, symbol.children);
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

auto folding_ranges(const Snapshot& snapshot) -> std::vector<Span> {
  View view{snapshot};
  std::vector<Span> folds;
  for_each_statement(snapshot, [&](const syntax::Node& node) {
    if (node.is_expr()) { return false; }
    switch (node.kind) {
      case syntax::Kind::FunctionDef:
      case syntax::Kind::ClassDef:
      case syntax::Kind::For:
      case syntax::Kind::While:
      case syntax::Kind::With:
      case syntax::Kind::If: {
        Span span = view.span(node);
        if (snapshot.lines().line_of(span.begin) < snapshot.lines().line_of(span.end)) { folds.push_back(span); }
        return true;
      }
      default: return false;
    }
  });
  return folds;
}

auto selection_spans(const Snapshot& snapshot, uint32_t offset) -> std::vector<Span> {
  View view{snapshot};
  std::vector<Span> spans;
  const syntax::PlacedItem* placed = snapshot.syntax().item_at(offset);
  auto text_size = static_cast<uint32_t>(snapshot.text().size());
  if (placed != nullptr) {
    for (const syntax::Stmt* statement : placed->item->statements) {
      syntax::walk(*statement, [&](const syntax::Node& node) {
        Span span = view.span(node);
        if (offset < span.begin || offset > span.end) { return false; }
        spans.push_back(span);
        return true;
      });
    }
  }
  spans.push_back({0, text_size});
  std::sort(spans.begin(), spans.end(), [](Span a, Span b) {
    return a.end - a.begin != b.end - b.begin ? a.end - a.begin < b.end - b.begin : a.begin < b.begin;
  });
  // If two neighbours meet at the offset, only the first belongs to the chain of nested spans.
  std::vector<Span> chain;
  for (Span span : spans) {
    if (chain.empty() || (span != chain.back() && span.begin <= chain.back().begin && span.end >= chain.back().end)) {
      chain.push_back(span);
    }
  }
  return chain;
}

}  // namespace loopsmith::lsp
