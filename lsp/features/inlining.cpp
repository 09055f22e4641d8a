// Replaces a call of a helper by the helper's statements, and renames variables that collide: see inlining.h.
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

/// The call at the cursor, with the statement around it.
struct Site {
  const syntax::CallExpr* call = nullptr;
  const syntax::Stmt* statement = nullptr;       // the expression, assignment or `return` whose value is the call; null: the call is part of a larger expression
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
        // Only the name and its opening bracket count as the call, because a cursor further inside is on an argument.
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

/// One inlined call. A step that refuses sets `why`.
class Inlining {
 public:
  /// `caller`: the declaration that `around` is the body of.
  Inlining(const Snapshot& snapshot, DeclId caller, Body around, Site site)
      : snapshot_(snapshot), names_(names_of(snapshot)), around_(std::move(around)), site_(site), caller_(caller), is_file_(syntax::is_script(*snapshot.syntax().declaration(caller))) {}

  /// False: no function of this file that can be inlined is called.
  auto find_helper() -> bool;
  /// The edit, or an empty list with the reason in `why`.
  auto edits() -> std::vector<TextEdit>;
  std::string why;

 private:
  auto refuse(std::string reason) -> bool {
    why = std::move(reason);
    return false;
  }
  auto check_place() -> bool;
  auto match_arguments() -> bool;
  auto check_names() -> bool;
  auto bind_parameters() -> bool;
  auto bind_parameter(const syntax::Param& param) -> bool;
  void name_results();
  void name_variables();
  auto add_body() -> bool;
  void add_result();

  [[nodiscard]] auto text_of(Span span) const -> std::string { return snapshot_.text().substr(span.begin, span.end - span.begin); }
  [[nodiscard]] auto span_of(const syntax::Node& node) const -> Span { return snapshot_.resolve(node.origin()).value_or(Span{}); }
  [[nodiscard]] auto is_of_caller(const Entity& entity) const -> bool { return entity.function == (is_file_ ? DeclId{} : caller_); }
  [[nodiscard]] auto is_of_helper(const Occurrence& o) const -> bool { return contains({helper_.statements.front().begin, helper_.statements.back().end}, o.span); }
  [[nodiscard]] auto parameter_entity(const syntax::Param& param) const -> uint32_t;
  auto free_name(const std::string& wanted) -> std::string;
  [[nodiscard]] auto renamed(Span span) const -> std::string;

  const Snapshot& snapshot_;
  NameTable names_;
  Body around_;
  Site site_;
  DeclId caller_;                              // the declaration around the call
  bool is_file_;                               // the caller's names belong to the file, because the statements are at the top
  Body helper_;
  const syntax::ReturnStmt* back_ = nullptr;   // the helper's last statement; null: it returns nothing
  const syntax::Expr* result_ = nullptr;
  size_t first_ = 0, end_ = 0;                 // the helper's statements without its docstring and its `return`
  Span replaced_;                              // the span to be replaced: the call, or the whole statement
  std::map<std::string, Given> given_;         // arguments by parameter
  std::set<std::string> taken_;                // names of the caller and of the file
  std::set<uint32_t> rebound_;                 // parameters that the helper assigns a new value
  std::map<uint32_t, size_t> uses_;            // the number of uses of each name in the helper
  std::set<std::string> arguments_named_;      // names in arguments
  std::map<uint32_t, std::string> becomes_;    // by entity of the helper: the text that replaces it
  bool has_fstring_ = false;
  bool is_passed_on_ = false;                  // results get the names that the caller assigns them to
  std::vector<std::string> lines_;
  [[nodiscard]] auto is_expression() const -> bool { return site_.statement == nullptr; }
};

auto Inlining::free_name(const std::string& wanted) -> std::string {
  std::string name = wanted;
  for (int number = 2; taken_.contains(name); ++number) { name = fmt::format("{}_{}", wanted, number); }
  taken_.insert(name);
  return name;
}

/// The text of a span in the helper, with names replaced.
auto Inlining::renamed(Span span) const -> std::string {
  std::string out;
  uint32_t at = span.begin;
  for (const Occurrence& o : names_.occurrences) {
    auto other = becomes_.find(o.entity);
    if (other == becomes_.end() || o.span.begin < at || o.span.end > span.end) { continue; }
    out += snapshot_.text().substr(at, o.span.begin - at) + other->second;
    at = o.span.end;
  }
  return out + snapshot_.text().substr(at, span.end - at);
}

auto Inlining::find_helper() -> bool {
  const Occurrence* called = names_.at(site_.callee_span.begin);
  if (called == nullptr || names_.entities[called->entity].kind != EntityKind::Function || names_.entities[called->entity].function != 0) { return false; }
  // The call refers to the last function with the name.
  for (const syntax::PlacedItem& placed : snapshot_.syntax().items()) {
    if (placed.item->kind == syntax::ItemKind::Function && placed.item->name == site_.callee) { helper_ = body_of(snapshot_, placed.item->decl); }
  }
  return helper_.def != nullptr && helper_.def->decl != caller_ && !helper_.def->body.empty();
}

/// Checks that the call is a statement on its own lines, or an expression that the helper's result can replace.
auto Inlining::check_place() -> bool {
  const syntax::FunctionDef& def = *helper_.def;
  back_ = def.body.back()->as<syntax::ReturnStmt>();
  result_ = back_ != nullptr ? back_->value : nullptr;
  first_ = is_docstring(*def.body[0]) ? 1 : 0;
  end_ = def.body.size() - (back_ != nullptr ? 1 : 0);
  if (is_expression()) {
    replaced_ = span_of(*site_.call);
    if (first_ < end_ || result_ == nullptr) { return refuse(fmt::format("the call is part of a statement, and `{}` has statements of its own", site_.callee.view())); }
    return true;
  }
  replaced_ = span_of(*site_.statement);
  std::string before = text_of({line_start_of(snapshot_, replaced_.begin), replaced_.begin});
  std::string behind = text_of({replaced_.end, line_end_of(snapshot_, replaced_.end)});
  size_t next = behind.find_first_not_of(" \t");
  bool is_whole_line = before.find_first_not_of(" \t") == std::string::npos && (next == std::string::npos || behind[next] == '#');
  return is_whole_line || refuse("its line has several statements");
}

auto Inlining::match_arguments() -> bool {
  constexpr const char* unmatched = "its arguments cannot be matched with the parameters one by one";
  const syntax::FunctionDef& def = *helper_.def;
  size_t position = 0;
  for (const syntax::Expr* argument : site_.call->args) {
    if (argument->as<syntax::StarredExpr>() != nullptr || position >= def.params.size() || def.params[position].kind != syntax::ParamKind::Plain) { return refuse(unmatched); }
    given_[def.params[position++].name.name.str()] = {argument, text_of(span_of(*argument))};
  }
  for (const syntax::Keyword& keyword : site_.call->keywords) {
    if (keyword.name.name.empty()) { return refuse(unmatched); }
    given_[keyword.name.name.str()] = {keyword.value, text_of(span_of(*keyword.value))};
  }
  return true;
}

/// Counts the uses of names in the helper. The helper's names must not collide with the caller's, and names of the file must have the same meaning in both.
auto Inlining::check_names() -> bool {
  for (const Entity& entity : names_.entities) {
    if (is_of_caller(entity) || entity.function == 0) { taken_.insert(entity.name.str()); }
  }
  for (const syntax::Stmt* statement : helper_.def->body) {
    syntax::walk(*statement, [&](const syntax::Node& node) {
      has_fstring_ = has_fstring_ || node.as<syntax::FStringExpr>() != nullptr;
      return true;
    });
  }
  for (const Occurrence& o : names_.occurrences) {
    if (!is_of_helper(o)) { continue; }
    const Entity& entity = names_.entities[o.entity];
    if (entity.kind == EntityKind::Block) { continue; }
    ++uses_[o.entity];
    if (o.role == Role::Bind) { rebound_.insert(o.entity); }
    bool is_hidden = entity.function == 0 && std::any_of(names_.entities.begin(), names_.entities.end(), [&](const Entity& other) {
      return !is_file_ && other.function == caller_ && other.name == entity.name && (other.kind == EntityKind::Variable || other.kind == EntityKind::Parameter);
    });
    if (is_hidden) { return refuse(fmt::format("`{}` is something else in `{}`", entity.name.view(), around_.def->name.name.view())); }
  }
  return true;
}

auto Inlining::bind_parameters() -> bool {
  for (const syntax::Param& param : helper_.def->params) {
    if (param.kind == syntax::ParamKind::Plain && !bind_parameter(param)) { return false; }
  }
  return true;
}

auto Inlining::parameter_entity(const syntax::Param& param) const -> uint32_t {
  uint32_t entity = nowhere;
  for (const Occurrence& o : names_.occurrences) {
    const Entity& one = names_.entities[o.entity];
    if (one.function == helper_.def->decl && one.kind == EntityKind::Parameter && one.name == param.name.name) { entity = o.entity; }
  }
  return entity;
}

/// Replaces a parameter by its argument, or else by a variable with the argument's value.
auto Inlining::bind_parameter(const syntax::Param& param) -> bool {
  std::string name = param.name.name.str();
  auto found = given_.find(name);
  if (found == given_.end() && param.default_value == nullptr) { return refuse(fmt::format("it gives no value for `{}`", name)); }
  Given value = found != given_.end() ? found->second : Given{param.default_value, text_of(span_of(*param.default_value))};
  syntax::walk(*value.value, [&](const syntax::Node& node) {
    if (const auto* word = node.as<syntax::NameExpr>()) { arguments_named_.insert(word->name.str()); }
    return true;
  });
  uint32_t entity = parameter_entity(param);
  size_t used = entity != nowhere ? uses_[entity] : 0;
  bool is_name = value.value->as<syntax::NameExpr>() != nullptr;
  bool is_constant = value.value->as<syntax::IntExpr>() != nullptr || value.value->as<syntax::ConstantExpr>() != nullptr;
  bool fits = is_name || is_constant || (!has_calls(*value.value) && used <= 1 && !has_fstring_ && value.text.find('\n') == std::string::npos);
  if (entity != nowhere && fits && !rebound_.contains(entity)) {
    becomes_[entity] = is_closed(*value.value) || value.value->as<syntax::StringExpr>() != nullptr ? value.text : "(" + value.text + ")";
    return true;
  }
  // An unused argument without effects is dropped.
  if (used == 0 && !has_calls(*value.value)) { return true; }
  if (is_expression()) { return refuse(fmt::format("`{}` is used several times", name)); }
  std::string local = free_name(name);
  if (entity != nowhere) { becomes_[entity] = local; }
  lines_.push_back(fmt::format("{} = {}", local, value.text));
  return true;
}

/// Gives the variables that the helper returns the names that the caller assigns them to, if no other use of the name prevents it.
void Inlining::name_results() {
  if (site_.assignment == nullptr || site_.assignment->targets.size() != 1 || result_ == nullptr) { return; }
  auto items = [](const syntax::Expr* e) {
    std::vector<const syntax::Expr*> out{e};
    if (const auto* tuple = e->as<syntax::TupleExpr>()) { out.assign(tuple->elements.begin(), tuple->elements.end()); }
    return out;
  };
  std::vector<const syntax::Expr*> results = items(result_);
  std::vector<std::string> targets;
  for (const syntax::Expr* target : items(site_.assignment->targets[0])) {
    const auto* word = target->as<syntax::NameExpr>();
    targets.push_back(word != nullptr ? word->name.str() : std::string());
  }
  bool both_tuples = (result_->as<syntax::TupleExpr>() != nullptr) == (site_.assignment->targets[0]->as<syntax::TupleExpr>() != nullptr);
  if (!both_tuples || targets.size() != results.size() || targets.empty()) { return; }
  std::map<uint32_t, std::string> handed;
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto* word = results[i]->as<syntax::NameExpr>();
    const Occurrence* o = word != nullptr ? names_.at(span_of(*word).begin) : nullptr;
    bool fits = !targets[i].empty() && o != nullptr && names_.entities[o->entity].function == helper_.def->decl && names_.entities[o->entity].kind == EntityKind::Variable &&
                !arguments_named_.contains(targets[i]) && handed.emplace(o->entity, targets[i]).second && std::count(targets.begin(), targets.end(), targets[i]) == 1;
    if (!fits) { return; }
  }
  // A name of the file that the helper uses must not become a variable of the caller.
  for (const Occurrence& o : names_.occurrences) {
    if (!is_of_helper(o) || names_.entities[o.entity].function == helper_.def->decl) { continue; }
    if (std::find(targets.begin(), targets.end(), names_.entities[o.entity].name.str()) != targets.end()) { return; }
  }
  is_passed_on_ = true;
  becomes_.insert(handed.begin(), handed.end());
}

void Inlining::name_variables() {
  for (const Occurrence& o : names_.occurrences) {
    const Entity& entity = names_.entities[o.entity];
    if (entity.function != helper_.def->decl || entity.kind != EntityKind::Variable || becomes_.contains(o.entity)) { continue; }
    becomes_[o.entity] = free_name(entity.name.str());
  }
}

/// The lines of the helper's statements without indentation, with the comments above the first one.
auto Inlining::add_body() -> bool {
  if (first_ >= end_) { return true; }
  std::string own = indent_at(snapshot_, helper_.statements[first_].begin);
  uint32_t from = line_start_of(snapshot_, helper_.statements[first_].begin);
  uint32_t least = first_ > 0 ? helper_.statements[first_ - 1].end : helper_.item_begin + helper_.def->header_span.end;
  if (from < least) { return refuse(fmt::format("`{}` is written on one line", site_.callee.view())); }
  while (from > 0 && line_start_of(snapshot_, from - 1) > least) {
    std::string_view above = snapshot_.lines().line_text(snapshot_.text(), snapshot_.lines().line_of(from - 1));
    size_t word = above.find_first_not_of(" \t");
    if (word == std::string_view::npos || above[word] != '#') { break; }
    from = line_start_of(snapshot_, from - 1);
  }
  std::string body = renamed({from, line_end_of(snapshot_, helper_.statements[end_ - 1].end)});
  if (body.find("\"\"\"") != std::string::npos || body.find("'''") != std::string::npos) { return refuse(fmt::format("`{}` has a string of several lines", site_.callee.view())); }
  if (back_ != nullptr && helper_.statements[end_ - 1].end > line_start_of(snapshot_, helper_.statements.back().begin)) { return refuse(fmt::format("a line of `{}` has several statements", site_.callee.view())); }
  for (size_t begin = 0; begin <= body.size();) {
    size_t stop = std::min(body.find('\n', begin), body.size());
    std::string line = body.substr(begin, stop - begin);
    if (!line.empty() && line.back() == '\r') { line.pop_back(); }
    lines_.push_back(line.starts_with(own) ? line.substr(own.size()) : line);
    begin = stop + 1;
  }
  return true;
}

/// Adds the line that returns or assigns the helper's result.
void Inlining::add_result() {
  std::string value = result_ != nullptr ? renamed(span_of(*result_)) : "None";
  if (site_.statement->as<syntax::ReturnStmt>() != nullptr) {
    lines_.push_back("return " + value);
  } else if (site_.assignment != nullptr && !is_passed_on_) {
    Span head{replaced_.begin, span_of(*site_.call).begin};
    lines_.push_back(text_of(head) + value);
  } else if (site_.assignment == nullptr && result_ != nullptr && has_calls(*result_)) {
    lines_.push_back(value);
  }
  if (lines_.empty()) { lines_.emplace_back("pass"); }
}

auto Inlining::edits() -> std::vector<TextEdit> {
  why = why_not_movable(*helper_.def);
  if (!why.empty() || !check_place() || !match_arguments() || !check_names() || !bind_parameters()) { return {}; }
  name_results();
  name_variables();
  if (is_expression()) {
    std::string text = renamed(span_of(*result_));
    if (text.find('\n') != std::string::npos) {
      refuse(fmt::format("the result of `{}` is written on several lines", site_.callee.view()));
      return {};
    }
    return {{replaced_, is_closed(*result_) ? text : "(" + text + ")"}};
  }
  if (!add_body()) { return {}; }
  add_result();
  std::string line_break = line_break_of(snapshot_);
  std::string indent = indent_at(snapshot_, replaced_.begin);
  std::string text;
  for (const std::string& line : lines_) { text += (text.empty() ? "" : line_break + (line.empty() ? "" : indent)) + line; }
  return {{replaced_, std::move(text)}};
}

}  // namespace

auto inline_helper(const Snapshot& snapshot, uint32_t at) -> TextRewrite {
  TextRewrite rewrite;
  if (at > snapshot.text().size()) { return rewrite; }
  DeclId caller = snapshot.syntax().origin_at(at).decl;
  Body around = body_of(snapshot, caller);
  if (around.def == nullptr) { return rewrite; }
  Site site = site_at(snapshot, around, at);
  if (site.call == nullptr) { return rewrite; }
  std::string title = fmt::format("Inline `{}`", site.callee.view());
  Inlining inlining(snapshot, caller, std::move(around), site);
  if (!inlining.find_helper()) { return rewrite; }
  rewrite.title = std::move(title);
  rewrite.edits = inlining.edits();
  rewrite.why_not = inlining.why;
  return rewrite;
}

}  // namespace loopsmith::lsp
