// Prints a session as text: the steps so far as a schedule function, for a file of programs and for Python (session.h).
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "frontend/file.h"
#include "ir/equal.h"
#include "repl/session.h"
#include "repl/text.h"
#include "script/objects.h"
#include "support/text.h"
#include "syntax/document.h"
#include "workspace/edits/placing.h"

namespace loopsmith::repl {
namespace {

constexpr std::string_view indent = "    ";

/// One statement of a step as text for a file, and the value of `_` after it (SessionStep::results).
struct Line {
  std::string text;
  std::string gives;
  size_t at = 0;   // the offset of the statement, behind comments
};

/// Indents the lines after the first, except inside strings of several lines, whose values would change.
auto indented(std::string_view text, uint32_t begin, const std::vector<Span>& kept) -> std::string {
  std::string out(indent);
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    auto at = begin + static_cast<uint32_t>(i);
    bool is_in_text = std::any_of(kept.begin(), kept.end(), [&](Span span) { return span.begin <= at && at < span.end; });
    if (text[i] == '\n' && !is_in_text && i + 1 < text.size() && text[i + 1] != '\n') { out += indent; }
  }
  return out;
}

/// The statements of a step, each with the comment behind it.
auto lines_of(const SessionStep& step) -> std::vector<Line> {
  std::string text = step.line;
  while (!text.empty() && (text.back() == ';' || text.back() == ' ' || text.back() == '\n')) { text.pop_back(); }
  syntax::Document document(text + "\n");
  struct Found { Span span; std::vector<Span> kept; };
  std::vector<Found> found;
  for (const syntax::PlacedItem& placed : document.items()) {
    for (const syntax::Stmt* statement : placed.item->statements) {
      auto span = document.resolve(statement->origin());
      if (!span) { continue; }
      found.push_back({*span, {}});
      syntax::walk(*statement, [&](const syntax::Node& node) {
        bool is_text = node.kind == syntax::Kind::String || node.kind == syntax::Kind::FString;
        if (auto place = is_text ? document.resolve(node.origin()) : std::nullopt) { found.back().kept.push_back(*place); }
        return true;
      });
    }
  }
  std::vector<Line> out;
  uint32_t at = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    // Comments above come first.
    std::string above(std::string_view(text).substr(at, found[i].span.begin - at));
    std::istringstream comments(above);
    std::string body;
    for (std::string line; std::getline(comments, line);) {
      size_t hash = line.find('#');
      if (hash != std::string::npos && line.find_first_not_of(" \t;") == hash) { body += std::string(indent) + line.substr(hash) + "\n"; }
    }
    uint32_t end = found[i].span.end;
    size_t begin = body.size() + indent.size();
    body += indented(std::string_view(text).substr(found[i].span.begin, end - found[i].span.begin), found[i].span.begin, found[i].kept);
    // A comment behind it on its line stays there.
    size_t line_end = std::min(text.find('\n', end), text.size());
    size_t hash = text.find_first_not_of(" \t;", end);
    if (hash != std::string::npos && hash < line_end && text[hash] == '#') {
      body += "  " + text.substr(hash, line_end - hash);
      end = static_cast<uint32_t>(line_end);
    }
    at = end;
    out.push_back({std::move(body), i < step.results.size() ? step.results[i] : std::string(), begin});
  }
  return out;
}

}  // namespace

auto Session::body_of_steps(std::string& why) -> std::string {
  // A step that applied a whole schedule (of the file, or a tuned one) is written as its statements or its trace; a typed step as typed.
  std::vector<size_t> path = path_to(position_);
  size_t first = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    if (steps_[path[i]].is_whole) { first = i; }
  }
  std::string out;
  std::vector<Line> lines;
  auto add = [&](size_t i) {
    const SessionStep& step = steps_[path[i]];
    if (contains_name(step.line, "_err")) {
      const eval::Value* message = step.frame.scope->find_here(Name("_err"));
      lines.push_back({std::string(indent) + "_err = " + (message != nullptr ? message->repr() : "None"), {}});
    }
    std::vector<Line> these = lines_of(step);
    lines.insert(lines.end(), std::make_move_iterator(these.begin()), std::make_move_iterator(these.end()));
  };
  const SessionStep& whole = steps_[path[first]];
  // From the steps before it, only those that do not involve the schedule.
  for (size_t i = 1; i < first && whole.is_whole; ++i) {
    const SessionStep& step = steps_[path[i]];
    if (!step.is_whole && !step.changes_program && !contains_name(step.line, "sch") && !contains_name(step.line, "_")) { add(i); }
  }
  if (whole.is_whole) {
    std::string statements = whole.statements;
    if (statements.empty()) {
      for (const std::string& line : schedule_object(whole.frame)->schedule.trace().python_lines()) { statements += line + "\n"; }
    }
    std::istringstream text(statements);
    for (std::string line; std::getline(text, line);) { lines.push_back({line.empty() ? "" : std::string(indent) + line, {}}); }
  }
  for (size_t i = first + 1; i < path.size(); ++i) { add(i); }
  // `_` is the result of the last statement; a file assigns it explicitly if a later statement reads it.
  std::vector<bool> gives_last(lines.size(), false);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!contains_name(lines[i].text, "_")) { continue; }
    for (size_t j = i; j-- > 0;) {
      if (lines[j].gives.empty()) { continue; }
      gives_last[j] = true;
      break;
    }
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    // A bare call assigns its result.
    out += line.text.substr(0, line.at) + (gives_last[i] && line.gives == "_" ? "_ = " : "") + line.text.substr(line.at) + "\n";
    if (gives_last[i] && line.gives != "_") { out += std::string(indent) + "_ = " + line.gives + "\n"; }
  }
  // Checks that the text makes the same program again; otherwise it is not written.
  eval::Frame frame;
  frame.scope = document_->file().evaluator().new_scope({});
  frame.scope->set(Name("sch"), eval::Value(Ref<eval::Object>(eval::make_object<script::ScheduleObject>(schedule::Schedule(original_, 1)).get())));
  std::string typed = "if True:\n" + (out.empty() ? std::string(indent) + "pass\n" : out);
  Diagnostics wrong = run_quietly(frame, typed, steps_.size());
  const script::ScheduleObject* object = schedule_object(frame);
  if (has_errors(wrong)) { why = wrong.front().message(); }
  if (why.empty() && (object == nullptr || !structural_equal(object->schedule.module(), module()))) { why = "run again, they make another program"; }
  return why.empty() ? out : std::string();
}

auto Session::as_function(const std::string& name, const std::string& program, std::string& why) -> std::string {
  std::string body = body_of_steps(why);
  if (!why.empty()) { return {}; }
  return workspace::schedule_function({.program = program, .name = name, .body = body}, /*is_indented=*/true);
}

}  // namespace loopsmith::repl
