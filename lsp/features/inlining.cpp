// A helper's text in the place of its call, with names kept apart: see inlining.h.
#include "lsp/features/inlining.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lsp/features/names.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto contains(Span outer, Span inner) -> bool { return outer.begin <= inner.begin && inner.end <= outer.end; }

/// The call that the cursor is on, with the statement whose value it is.
struct Site {
  const syntax::CallExpr* call = nullptr;
  const syntax::Stmt* statement = nullptr;       // an expression, assignment or `return` of the call; null: the call is part of something else
  const syntax::AssignStmt* assignment = nullptr;
  Name callee;
  Span callee_span;
};

auto site_at(const Snapshot& snapshot, const Body& around, uint32_t at) -> Site {
  Site site;
  for (const syntax::Stmt* top : around.def->body) {
    syntax::walk(*top, [&](const syntax::Node& node) {
      auto span = snapshot.resolve(node.origin());
      if (!span || at < span->begin || at > span->end) { return false; }
      if (const auto* call = node.as<syntax::CallExpr>()) {
        const auto* name = call->callee->as<syntax::NameExpr>();
        auto where = name != nullptr ? snapshot.resolve(name->origin()) : std::nullopt;
        // From the name to its opening bracket: inside of the arguments the cursor is on them.
        if (where && at <= where->end) { site = {call, nullptr, nullptr, name->name, *where}; }
      }
      return true;
    });
  }
  if (site.call == nullptr) { return site; }
  for (const syntax::Stmt* top : around.def->body) {
    syntax::walk(*top, [&](const syntax::Node& node) {
      if (const auto* assign = node.as<syntax::AssignStmt>(); assign != nullptr && assign->value == site.call) { site.statement = site.assignment = assign; }
      if (const auto* plain = node.as<syntax::ExprStmt>(); plain != nullptr && plain->value == site.call) { site.statement = plain; }
      if (const auto* back = node.as<syntax::ReturnStmt>(); back != nullptr && back->value == site.call) { site.statement = back; }
      return site.statement == nullptr;
    });
  }
  return site;
}

/// The reason why the statements of a function cannot be moved elsewhere; empty: they can.
auto why_not_movable(const syntax::FunctionDef& def) -> std::string {
  std::string name = def.name.name.str();
  if (!def.decorators.empty()) { return fmt::format("`{}` is decorated", name); }
  for (const syntax::Param& p : def.params) {
    if (p.kind != syntax::ParamKind::Plain && p.kind != syntax::ParamKind::StarOnly) { return fmt::format("`{}` takes any number of arguments", name); }
  }
  std::string why;
  for (size_t i = 0; i < def.body.size(); ++i) {
    const syntax::Stmt* top = def.body[i];
    bool is_last = i + 1 == def.body.size();
    syntax::walk(*top, [&](const syntax::Node& node) {
      if (node.as<syntax::ReturnStmt>() != nullptr && !(is_last && &node == top)) { why = fmt::format("`{}` returns before its end", name); }
      bool is_function = node.as<syntax::FunctionDef>() != nullptr || node.as<syntax::ClassDef>() != nullptr || node.as<syntax::LambdaExpr>() != nullptr || node.as<syntax::ComprehensionExpr>() != nullptr;
      if (is_function && why.empty()) { why = fmt::format("`{}` has functions or comprehensions of its own", name); }
      bool is_odd = node.as<syntax::ScopeStmt>() != nullptr || node.as<syntax::OpaqueStmt>() != nullptr || node.as<syntax::OpaqueExpr>() != nullptr ||
                    node.as<syntax::BrokenStmt>() != nullptr || node.as<syntax::BrokenExpr>() != nullptr || node.as<syntax::ImportStmt>() != nullptr || node.as<syntax::ImportFromStmt>() != nullptr;
      if (is_odd && why.empty()) { why = fmt::format("`{}` has statements that cannot be inlined", name); }
      return why.empty();
    });
  }
  return why;
}

auto is_docstring(const syntax::Stmt& statement) -> bool {
  const auto* plain = statement.as<syntax::ExprStmt>();
  return plain != nullptr && plain->value->as<syntax::StringExpr>() != nullptr;
}

auto has_calls(const syntax::Expr& e) -> bool {
  bool found = false;
  syntax::walk(e, [&](const syntax::Node& node) {
    found = found || node.as<syntax::CallExpr>() != nullptr;
    return !found;
  });
  return found;
}

/// True when an expression can take the place of a name.
auto is_closed(const syntax::Expr& e) -> bool {
  switch (e.kind) {
    case syntax::Kind::Name: case syntax::Kind::Int: case syntax::Kind::Float: case syntax::Kind::Constant: case syntax::Kind::ListExpr:
    case syntax::Kind::Call: case syntax::Kind::Attribute: case syntax::Kind::Subscript: return true;
    default: return false;
  }
}

/// The argument for a parameter.
struct Given {
  const syntax::Expr* value = nullptr;
  std::string text;
};

struct Inliner {
  const Snapshot& snapshot;
  NameTable names;
  DeclId caller;                               // the declaration that calls
  bool is_file;                                // its names are the file's: statements at the top
  std::set<std::string> taken;
  std::map<uint32_t, std::string> becomes;     // entities of the helper, and what is written for them

  [[nodiscard]] auto text_of(Span span) const -> std::string { return snapshot.text().substr(span.begin, span.end - span.begin); }
  [[nodiscard]] auto span_of(const syntax::Node& node) const -> Span { return snapshot.resolve(node.origin()).value_or(Span{}); }

  [[nodiscard]] auto is_of_caller(const Entity& entity) const -> bool { return entity.function == (is_file ? DeclId{} : caller); }
  auto free_name(const std::string& wanted) -> std::string {
    std::string name = wanted;
    for (int number = 2; taken.contains(name); ++number) { name = fmt::format("{}_{}", wanted, number); }
    taken.insert(name);
    return name;
  }
  /// A span of the helper, with its names as they are called at the caller.
  [[nodiscard]] auto renamed(Span span) const -> std::string {
    std::string out;
    uint32_t at = span.begin;
    for (const Occurrence& o : names.occurrences) {
      auto other = becomes.find(o.entity);
      if (other == becomes.end() || o.span.begin < at || o.span.end > span.end) { continue; }
      out += snapshot.text().substr(at, o.span.begin - at) + other->second;
      at = o.span.end;
    }
    return out + snapshot.text().substr(at, span.end - at);
  }
};

}  // namespace

auto inline_helper(const Snapshot& snapshot, uint32_t at) -> TextRewrite {
  TextRewrite rewrite;
  if (at > snapshot.text().size()) { return rewrite; }
  DeclId caller = snapshot.syntax().origin_at(at).decl;
  Body around = body_of(snapshot, caller);
  if (around.def == nullptr) { return rewrite; }
  Site site = site_at(snapshot, around, at);
  if (site.call == nullptr) { return rewrite; }
  Inliner in{snapshot, names_of(snapshot), caller, syntax::is_script(*snapshot.syntax().declaration(caller)), {}, {}};
  const Occurrence* called = in.names.at(site.callee_span.begin);
  if (called == nullptr || in.names.entities[called->entity].kind != EntityKind::Function || in.names.entities[called->entity].function != 0) { return rewrite; }
  // The last function of the name is the one that a call means.
  Body helper;
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    if (placed.item->kind == syntax::ItemKind::Function && placed.item->name == site.callee) { helper = body_of(snapshot, placed.item->decl); }
  }
  if (helper.def == nullptr || helper.def->decl == caller || helper.def->body.empty()) { return rewrite; }
  const syntax::FunctionDef& def = *helper.def;
  rewrite.title = fmt::format("Inline `{}`", site.callee.view());
  auto refuse = [&](std::string why) {
    rewrite.edits.clear();
    rewrite.why_not = std::move(why);
    return rewrite;
  };
  if (std::string why = why_not_movable(def); !why.empty()) { return refuse(std::move(why)); }
  const auto* back = def.body.back()->as<syntax::ReturnStmt>();
  const syntax::Expr* result = back != nullptr ? back->value : nullptr;
  size_t first = is_docstring(*def.body[0]) ? 1 : 0;
  size_t end = def.body.size() - (back != nullptr ? 1 : 0);
  bool is_expression = site.statement == nullptr;
  if (is_expression && (first < end || result == nullptr)) { return refuse(fmt::format("the call is part of a statement, and `{}` has statements of its own", site.callee.view())); }
  bool is_whole_line = site.statement == nullptr;
  Span replaced = in.span_of(is_expression ? static_cast<const syntax::Node&>(*site.call) : *site.statement);
  if (!is_expression) {
    std::string before = in.text_of({line_start_of(snapshot, replaced.begin), replaced.begin});
    std::string behind = in.text_of({replaced.end, line_end_of(snapshot, replaced.end)});
    size_t next = behind.find_first_not_of(" \t");
    is_whole_line = before.find_first_not_of(" \t") == std::string::npos && (next == std::string::npos || behind[next] == '#');
    if (!is_whole_line) { return refuse("its line has several statements"); }
  }

  // Arguments by parameter.
  std::map<std::string, Given> given;
  size_t position = 0;
  for (const syntax::Expr* argument : site.call->args) {
    if (argument->as<syntax::StarredExpr>() != nullptr || position >= def.params.size() || def.params[position].kind != syntax::ParamKind::Plain) { return refuse("its arguments cannot be matched with the parameters one by one"); }
    given[def.params[position++].name.name.str()] = {argument, in.text_of(in.span_of(*argument))};
  }
  for (const syntax::Keyword& keyword : site.call->keywords) {
    if (keyword.name.name.empty()) { return refuse("its arguments cannot be matched with the parameters one by one"); }
    given[keyword.name.name.str()] = {keyword.value, in.text_of(in.span_of(*keyword.value))};
  }

  // Names of the caller, and of the file, which the helper's own must not meet.
  for (const Entity& entity : in.names.entities) {
    if (in.is_of_caller(entity) || entity.function == 0) { in.taken.insert(entity.name.str()); }
  }
  Span helper_span{helper.statements.front().begin, helper.statements.back().end};
  std::set<uint32_t> rebound;   // parameters that the helper gives another value
  std::map<uint32_t, size_t> uses;
  bool has_fstring = false;
  for (const syntax::Stmt* statement : def.body) {
    syntax::walk(*statement, [&](const syntax::Node& node) {
      has_fstring = has_fstring || node.as<syntax::FStringExpr>() != nullptr;
      return true;
    });
  }
  for (const Occurrence& o : in.names.occurrences) {
    if (!contains(helper_span, o.span)) { continue; }
    const Entity& entity = in.names.entities[o.entity];
    if (entity.kind == EntityKind::Block) { continue; }
    ++uses[o.entity];
    if (o.role == Role::Bind) { rebound.insert(o.entity); }
    // A name of the file must mean the same at the caller.
    bool is_hidden = entity.function == 0 && std::any_of(in.names.entities.begin(), in.names.entities.end(), [&](const Entity& other) {
      return !in.is_file && other.function == caller && other.name == entity.name && (other.kind == EntityKind::Variable || other.kind == EntityKind::Parameter);
    });
    if (is_hidden) { return refuse(fmt::format("`{}` is something else in `{}`", entity.name.view(), around.def->name.name.view())); }
  }

  // A parameter becomes the argument itself where its place allows that, else a variable.
  std::vector<std::string> lines;
  std::set<std::string> arguments_named;
  for (const syntax::Param& p : def.params) {
    if (p.kind != syntax::ParamKind::Plain) { continue; }
    std::string name = p.name.name.str();
    auto found = given.find(name);
    if (found == given.end() && p.default_value == nullptr) { return refuse(fmt::format("it gives no value for `{}`", name)); }
    Given value = found != given.end() ? found->second : Given{p.default_value, in.text_of(in.span_of(*p.default_value))};
    syntax::walk(*value.value, [&](const syntax::Node& node) {
      if (const auto* word = node.as<syntax::NameExpr>()) { arguments_named.insert(word->name.str()); }
      return true;
    });
    uint32_t entity = nowhere;
    for (const Occurrence& o : in.names.occurrences) {
      const Entity& one = in.names.entities[o.entity];
      if (one.function == def.decl && one.kind == EntityKind::Parameter && one.name == p.name.name) { entity = o.entity; }
    }
    size_t used = entity != nowhere ? uses[entity] : 0;
    bool is_name = value.value->as<syntax::NameExpr>() != nullptr;
    bool is_constant = value.value->as<syntax::IntExpr>() != nullptr || value.value->as<syntax::ConstantExpr>() != nullptr;
    bool fits = is_name || is_constant || (!has_calls(*value.value) && used <= 1 && !has_fstring && value.text.find('\n') == std::string::npos);
    if (entity != nowhere && fits && !rebound.contains(entity)) {
      in.becomes[entity] = is_closed(*value.value) || value.value->as<syntax::StringExpr>() != nullptr ? value.text : "(" + value.text + ")";
      continue;
    }
    // Not used, and without an effect: it is nothing.
    if (used == 0 && !has_calls(*value.value)) { continue; }
    if (is_expression) { return refuse(fmt::format("`{}` is used several times", name)); }
    std::string local = in.free_name(name);
    if (entity != nowhere) { in.becomes[entity] = local; }
    lines.push_back(fmt::format("{} = {}", local, value.text));
  }

  // Its own variables; those it gives back get the names that the caller has for them, where nothing stands in the way.
  std::vector<std::string> targets;
  std::vector<const syntax::Expr*> results;
  if (site.assignment != nullptr && site.assignment->targets.size() == 1 && result != nullptr) {
    auto items = [](const syntax::Expr* e) {
      std::vector<const syntax::Expr*> out{e};
      if (const auto* tuple = e->as<syntax::TupleExpr>()) { out.assign(tuple->elements.begin(), tuple->elements.end()); }
      return out;
    };
    results = items(result);
    for (const syntax::Expr* target : items(site.assignment->targets[0])) {
      const auto* word = target->as<syntax::NameExpr>();
      targets.push_back(word != nullptr ? word->name.str() : std::string());
    }
    bool both_tuples = (result->as<syntax::TupleExpr>() != nullptr) == (site.assignment->targets[0]->as<syntax::TupleExpr>() != nullptr);
    if (!both_tuples || targets.size() != results.size()) { targets.clear(); }
  }
  bool is_passed_on = !targets.empty();
  std::map<uint32_t, std::string> handed;
  for (size_t i = 0; i < targets.size() && is_passed_on; ++i) {
    const auto* word = results[i]->as<syntax::NameExpr>();
    const Occurrence* o = word != nullptr ? in.names.at(in.span_of(*word).begin) : nullptr;
    is_passed_on = !targets[i].empty() && o != nullptr && in.names.entities[o->entity].function == def.decl && in.names.entities[o->entity].kind == EntityKind::Variable &&
                   !arguments_named.contains(targets[i]) && handed.emplace(o->entity, targets[i]).second &&
                   std::count(targets.begin(), targets.end(), targets[i]) == 1;
  }
  // A name that the helper means as the file's is not the caller's variable meanwhile.
  for (const Occurrence& o : in.names.occurrences) {
    if (!contains(helper_span, o.span) || in.names.entities[o.entity].function == def.decl) { continue; }
    is_passed_on = is_passed_on && std::find(targets.begin(), targets.end(), in.names.entities[o.entity].name.str()) == targets.end();
  }
  if (is_passed_on) { in.becomes.insert(handed.begin(), handed.end()); }
  for (const Occurrence& o : in.names.occurrences) {
    const Entity& entity = in.names.entities[o.entity];
    if (entity.function != def.decl || entity.kind != EntityKind::Variable || in.becomes.contains(o.entity)) { continue; }
    in.becomes[o.entity] = in.free_name(entity.name.str());
  }

  if (is_expression) {
    std::string text = in.renamed(in.span_of(*result));
    if (text.find('\n') != std::string::npos) { return refuse(fmt::format("the result of `{}` is written on several lines", site.callee.view())); }
    rewrite.edits = {{replaced, is_closed(*result) ? text : "(" + text + ")"}};
    return rewrite;
  }
  std::string eol = line_break_of(snapshot);
  std::string indent = indent_at(snapshot, replaced.begin);
  if (first < end) {
    std::string own = indent_at(snapshot, helper.statements[first].begin);
    // Comments above the first statement are its own.
    uint32_t from = line_start_of(snapshot, helper.statements[first].begin);
    uint32_t least = first > 0 ? helper.statements[first - 1].end : helper.item_begin + def.header_span.end;
    if (from < least) { return refuse(fmt::format("`{}` is written on one line", site.callee.view())); }
    while (from > 0 && line_start_of(snapshot, from - 1) > least) {
      std::string_view above = snapshot.lines().line_text(snapshot.text(), snapshot.lines().line_of(from - 1));
      size_t word = above.find_first_not_of(" \t");
      if (word == std::string_view::npos || above[word] != '#') { break; }
      from = line_start_of(snapshot, from - 1);
    }
    std::string body = in.renamed({from, line_end_of(snapshot, helper.statements[end - 1].end)});
    if (body.find("\"\"\"") != std::string::npos || body.find("'''") != std::string::npos) { return refuse(fmt::format("`{}` has a string of several lines", site.callee.view())); }
    if (back != nullptr && helper.statements[end - 1].end > line_start_of(snapshot, helper.statements.back().begin)) { return refuse(fmt::format("a line of `{}` has several statements", site.callee.view())); }
    for (size_t begin = 0; begin <= body.size();) {
      size_t stop = std::min(body.find('\n', begin), body.size());
      std::string line = body.substr(begin, stop - begin);
      if (!line.empty() && line.back() == '\r') { line.pop_back(); }
      lines.push_back(line.starts_with(own) ? line.substr(own.size()) : line);
      begin = stop + 1;
    }
  }
  std::string value = result != nullptr ? in.renamed(in.span_of(*result)) : "None";
  if (site.statement->as<syntax::ReturnStmt>() != nullptr) {
    lines.push_back("return " + value);
  } else if (site.assignment != nullptr && !is_passed_on) {
    Span head{replaced.begin, in.span_of(*site.call).begin};
    lines.push_back(in.text_of(head) + value);
  } else if (site.assignment == nullptr && result != nullptr && has_calls(*result)) {
    lines.push_back(value);
  }
  if (lines.empty()) { lines.emplace_back("pass"); }
  std::string text;
  for (const std::string& line : lines) { text += (text.empty() ? "" : eol + (line.empty() ? "" : indent)) + line; }
  rewrite.edits = {{replaced, std::move(text)}};
  return rewrite;
}

}  // namespace loopsmith::lsp
