// Comments that silence warnings: see ignore.h.
#include "analysis/ignore.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "eval/evaluator.h"
#include "support/codes.h"

namespace loopsmith::analysis {
namespace {

struct Word { std::string_view text; uint32_t begin = 0; };

/// The words between the brackets after `ls: KEY`; none for other comments.
auto codes_in(std::string_view comment, std::string_view key) -> std::optional<std::vector<Word>> {
  size_t at = comment.find("ls:");
  if (at == std::string_view::npos || comment.substr(0, at).find_first_not_of("# \t") != std::string_view::npos) { return {}; }
  at = comment.find_first_not_of(" \t", at + 3);
  if (at == std::string_view::npos || !comment.substr(at).starts_with(key)) { return {}; }
  at += key.size();
  if (at >= comment.size() || comment[at] != '[') { return {}; }
  std::vector<Word> out;
  size_t end = std::min(comment.find(']', at), comment.size());
  for (size_t i = at + 1; i < end;) {
    size_t stop = std::min(comment.find(',', i), end);
    size_t first = i;
    while (first < stop && comment[first] == ' ') { ++first; }
    size_t last = stop;
    while (last > first && comment[last - 1] == ' ') { --last; }
    if (last > first) { out.push_back({comment.substr(first, last - first), static_cast<uint32_t>(first)}); }
    i = stop + 1;
  }
  return out;
}

auto find_code(std::string_view id) -> std::optional<Code> {
  for (Code code : all_codes()) {
    // If several codes have that name, the one that can be silenced counts.
    if (code_id(code) == id && code_severity(code) != Severity::Error) { return code; }
  }
  return {};
}

auto unknown_code(std::string_view id, Origin where) -> Diagnostic {
  std::vector<Name> names;
  bool is_error = false;
  for (Code code : all_codes()) {
    if (code_severity(code) != Severity::Error) { names.emplace_back(code_id(code)); }
    is_error |= code_id(code) == id;
  }
  if (is_error) { return error(Code::IgnoredError, where).arg("code", id).remedy("correct the program, and remove this code"); }
  Diagnostic d = error(Code::UnknownIgnore, where).arg("code", id);
  Name near = eval::closest_name(Name(id), names);
  if (!near.empty()) { (void)std::move(d).remedy("did you mean `" + near.str() + "`?").fix(where, near.str()); }
  return d;
}

}  // namespace

Ignores::Ignores(const syntax::Item& item) : text_(item.text) {
  add(item, 0);
  if (!lines_.empty()) { offsets_ = syntax::offsets_in(item); }
}

void Ignores::add(const syntax::Item& item, uint32_t offset) {
  for (const auto& member : item.members) { add(*member.item, offset + member.offset); }
  const std::string& text = text_;
  auto line_begin = [&](uint32_t at) {
    while (at > 0 && text[at - 1] != '\n') { --at; }
    return at;
  };
  auto line_end = [&](uint32_t at) {
    while (at < text.size() && text[at] != '\n') { ++at; }
    return at;
  };
  for (const syntax::Comment& comment : item.comments) {
    auto codes = codes_in(comment.text, "ignore");
    if (!codes) { continue; }
    uint32_t at = offset + comment.span.begin;
    if (comment.own_line) {
      // The next line that is no comment.
      do { at = std::min<uint32_t>(line_end(at) + 1, static_cast<uint32_t>(text.size())); }
      while (at < text.size() && [&] {
        size_t word = text.find_first_not_of(" \t", at);
        return word != std::string::npos && (text[word] == '#' || text[word] == '\n');
      }());
    }
    for (const Word& word : *codes) {
      Origin where{item.decl, comment.span.begin + word.begin, comment.span.begin + word.begin + static_cast<uint32_t>(word.text.size()), 0};
      if (auto code = find_code(word.text)) {
        lines_.push_back({line_begin(at), line_end(at), *code, where, false});
      } else {
        unknown_.push_back(unknown_code(word.text, where));
      }
    }
  }
}

void Ignores::apply(Diagnostics& diagnostics) {
  if (lines_.empty()) { return; }
  std::erase_if(diagnostics, [&](const Diagnostic& d) {
    auto offset = offsets_.find(d.where.decl);
    if (d.severity == Severity::Error || offset == offsets_.end()) { return false; }
    uint32_t begin = offset->second + d.where.begin;
    uint32_t end = offset->second + d.where.end;
    bool silenced = false;
    for (Line& line : lines_) {
      if (line.code != d.code || begin > line.end) { continue; }
      // A finding over several lines may have the comment on its first or last line.
      bool first = begin >= line.begin;
      bool last = end > line.begin && end <= line.end;
      if (!first && !last) { continue; }
      line.used = silenced = true;
    }
    return silenced;
  });
}

auto Ignores::problems(bool complete) const -> Diagnostics {
  Diagnostics out = unknown_;
  if (!complete) { return out; }
  for (const Line& line : lines_) {
    if (!line.used) { out.push_back(error(Code::UselessIgnore, line.where).arg("code", code_id(line.code)).remedy("remove it")); }
  }
  return out;
}

auto Ignores::of_file(const syntax::Document& document, Diagnostics& problems) -> std::vector<Code> {
  std::vector<Code> out;
  for (const syntax::PlacedItem& placed : document.items()) {
    if (placed.item->kind != syntax::ItemKind::Comments) { continue; }
    for (const syntax::Comment& comment : placed.item->comments) {
      auto codes = codes_in(comment.text, "ignore-file");
      if (!codes) { continue; }
      for (const Word& word : *codes) {
        if (auto code = find_code(word.text)) {
          out.push_back(*code);
        } else {
          uint32_t begin = comment.span.begin + word.begin;
          problems.push_back(unknown_code(word.text, {placed.item->decl, begin, begin + static_cast<uint32_t>(word.text.size()), 0}));
        }
      }
    }
  }
  return out;
}

auto is_silenced(const syntax::Document& document, const Diagnostic& diagnostic) -> bool {
  if (diagnostic.severity == Severity::Error) { return false; }
  if (syntax::ItemPtr item = document.declaration(diagnostic.where.decl)) {
    Diagnostics one{diagnostic};
    Ignores(*item).apply(one);
    if (one.empty()) { return true; }
  }
  Diagnostics problems;
  std::vector<Code> silenced = Ignores::of_file(document, problems);
  return std::find(silenced.begin(), silenced.end(), diagnostic.code) != silenced.end();
}

}  // namespace loopsmith::analysis
