// Looks up words of the language: see words.h.
#include "lsp/features/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "frontend/thread_level.h"
#include "ir/dtype.h"
#include "lsp/features/calls.h"
#include "lsp/features/names.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// The word around a byte and, for an attribute, the text before its dot.
struct Word {
  Span span;
  std::string_view text;
  std::string_view object;   // "T.axis"
};

auto word_at(std::string_view text, uint32_t at) -> Word {
  auto begin = static_cast<uint32_t>(name_begin(text, at));
  auto end = static_cast<uint32_t>(name_end(text, at));
  Word word{{begin, end}, text.substr(begin, end - begin), {}};
  if (begin > 0 && text[begin - 1] == '.') {
    size_t object = dotted_name_begin(text, begin - 1);
    word.object = text.substr(object, begin - 1 - object);
  }
  return word;
}

auto describe_dtype(Span span, DataType type) -> HoverInfo {
  HoverInfo info{span, fmt::format("dtype `{}`", type.str()), {}};
  if (type.is_handle() || type.is_void()) {
    info.facts.push_back({"kind", type.is_handle() ? "a pointer" : "no value"});
    return info;
  }
  const char* kind = type.is_bool() ? "true or false" : type.is_int() ? "a signed integer" : type.is_uint() ? "an unsigned integer" : "floating point";
  info.facts.push_back({"kind", fmt::format("{}, {}{}", kind, count_text(type.bits, "bit"), type.is_vector() ? fmt::format(" in each of {} lanes", type.lanes) : "")});
  if (type.is_integral() && type.bits > 1 && type.bits <= 32) {
    int64_t span_of_values = int64_t{1} << type.bits;
    int64_t least = type.is_int() ? -span_of_values / 2 : 0;
    info.facts.push_back({"range", fmt::format("from {} to {}", grouped(least), grouped(least + span_of_values - 1))});
  }
  info.facts.push_back({"memory", fmt::format("an element of a buffer takes {}", bytes_text(int64_t{type.element_bytes()} * std::max<int64_t>(1, type.lanes)))});
  return info;
}

struct Intrinsic {
  std::string_view name;
  std::string_view type;      // of the call
  int fewest;
  int most;
};
constexpr std::string_view First = "that of its first argument, which names it", Last = "that of its last argument, which names it", Same = "that of its first operand",
                           Arg1 = "that of its second operand", Int32 = "`int32`", UInt32 = "`uint32`", Bool = "`bool`", Handle = "`handle`", Void = "none: it is called for its effect";
constexpr Intrinsic intrinsics[] = {
#define INTRINSIC(name, op, rule, low, high) {#name, rule, low, high},
#include "frontend/intrinsics.def"
#undef INTRINSIC
};
constexpr std::pair<std::string_view, std::string_view> parameters[] = {
#define PARAMETERS(name, names) {#name, names},
#include "frontend/intrinsic_parameters.def"
#undef PARAMETERS
};
struct Meaning {
  std::string_view name, form, text;
};
constexpr Meaning words[] = {
#define WORD(name, form, text) {#name, form, text},
#include "lsp/features/words.def"
#undef WORD
};

auto find_word(std::string_view name) -> const Meaning* {
  const auto* known = std::find_if(std::begin(words), std::end(words), [&](const Meaning& one) { return one.name == name; });
  return known != std::end(words) ? known : nullptr;
}

auto find_intrinsic(std::string_view name) -> const Intrinsic* {
  const auto* row = std::find_if(std::begin(intrinsics), std::end(intrinsics), [&](const Intrinsic& one) { return one.name == name; });
  return row != std::end(intrinsics) ? row : nullptr;
}

/// "T.exp(x)".
auto form_of(const Intrinsic& row) -> std::string {
  std::string arguments = row.most == 1 ? "x" : "...";
  for (const auto& [name, names] : parameters) {
    if (name != row.name) { continue; }
    arguments = names;
    for (size_t blank = 0; (blank = arguments.find(' ', blank)) != std::string::npos; blank += 2) { arguments.replace(blank, 1, ", "); }
  }
  if (row.most == 0) { arguments.clear(); }
  if (row.type == First) { arguments = arguments.empty() ? "dtype" : "dtype, " + arguments; }
  if (row.type == Last) { arguments += arguments.empty() ? "dtype" : ", dtype"; }
  return fmt::format("T.{}({})", row.name, arguments);
}

auto type_text(const Intrinsic& row) -> std::string { return fmt::format("type: {}", row.type); }

auto operands_text(const Intrinsic& row) -> std::string {
  constexpr int any = 255;
  return row.most == any       ? fmt::format("takes {} or more", count_text(row.fewest, "operand"))
         : row.fewest == row.most ? fmt::format("takes {}", count_text(row.fewest, "operand"))
                                  : fmt::format("takes {} to {} operands", row.fewest, row.most);
}

auto describe_intrinsic(Span span, const Intrinsic& row) -> HoverInfo {
  HoverInfo info{span, fmt::format("intrinsic `{}`", form_of(row)), {}};
  info.facts.push_back({"type", type_text(row)});
  info.facts.push_back({"arguments", operands_text(row)});
  return info;
}

/// A word of the language for threads and tiles, or a member of one (`ptx.mbarrier.init`).
auto describe_thread_word(Span span, std::string_view name) -> std::optional<HoverInfo> {
  const frontend::ThreadEntry* entry = frontend::find_thread_entry(name.substr(0, name.find('.')));
  if (entry == nullptr) { return std::nullopt; }
  const bool is_member = name.find('.') != std::string_view::npos;
  HoverInfo info{span, fmt::format("`T.{}{}`", name, is_member ? std::string_view() : entry->signature), {}};
  info.facts.push_back({"meaning", is_member ? fmt::format("of `T.{}`: {}", entry->name, entry->summary) : std::string(entry->summary)});
  info.facts.push_back({"checks", "names, shapes and types are checked; the meaning is not known here"});
  return info;
}

/// The hover for a name of the file: the line that binds it.
auto describe_name(const Snapshot& snapshot, uint32_t at) -> std::optional<HoverInfo> {
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(at);
  if (here == nullptr) { return std::nullopt; }
  const Entity& entity = names.entities[here->entity];
  bool is_of_file = entity.function == 0 && entity.is_bound;
  if (!is_of_file || (entity.kind != EntityKind::Constant && entity.kind != EntityKind::Function)) { return std::nullopt; }
  auto bound = definition(snapshot, at);
  if (!bound) { return std::nullopt; }
  uint32_t line = snapshot.lines().line_of(bound->begin);
  std::string written(snapshot.lines().line_text(snapshot.text(), line));
  written.erase(0, std::min(written.find_first_not_of(" \t"), written.size()));
  return HoverInfo{here->span, fmt::format("{} `{}`", entity.kind == EntityKind::Constant ? "constant" : "function", entity.name.view()),
                   {{"bound", fmt::format("in line {}: `{}`", line + 1, written)}}};
}

}  // namespace

auto schedule_words() -> std::span<const ScheduleWord> {
  static constexpr ScheduleWord words[] = {
      {"mod", "sch.mod", "the module as it is now"},
      {"state", "sch.state", "the block tree and its dependences"},
      {"trace", "sch.trace", "the instructions so far"},
      {"copy", "sch.copy()", "a schedule of its own with the same state"},
      {"show", "sch.show()", "prints the module"},
      {"get", "sch.get(variable)", "the loop, block or number of a variable"},
      {"work_on", "sch.work_on(func_name)", "another function of the module"},
      {"tune", "sch.tune(budget=\"2min\", trials=64)", "a place for a search, which replaces it: tune(budget=\"2min\", trials=64); does nothing by itself"},
  };
  return words;
}

auto usage_of(std::string_view path) -> std::optional<Usage> {
  if (!path.starts_with("T.")) { return std::nullopt; }
  std::string_view name = path.substr(2);
  if (const Meaning* known = find_word(name)) { return Usage{std::string(known->form), std::string(known->text), static_cast<int>(known - std::begin(words))}; }
  if (const Intrinsic* row = find_intrinsic(name)) { return Usage{form_of(*row), type_text(*row) + "; " + operands_text(*row)}; }
  if (const frontend::ThreadEntry* entry = frontend::find_thread_entry(name)) { return Usage{fmt::format("T.{}{}", name, entry->signature), std::string(entry->summary)}; }
  if (auto type = DataType::parse(name); type && !type->is_void()) {
    return Usage{fmt::format("T.{}(value)", name), fmt::format("a value of dtype `{}`; as the annotation of a parameter, one that is given to the program", type->str())};
  }
  return std::nullopt;
}

auto hover_word(const Snapshot& snapshot, uint32_t at) -> std::optional<HoverInfo> {
  std::string_view text = snapshot.text();
  if (at > text.size()) { return std::nullopt; }
  const syntax::PlacedItem* item = snapshot.syntax().item_at(at);
  if (item == nullptr) { return std::nullopt; }
  CursorText around = cursor_text(text.substr(item->offset), at - item->offset);
  if (around.in_comment) { return std::nullopt; }
  Word word = word_at(text, at);
  if (word.text.empty()) { return std::nullopt; }
  auto type = DataType::parse(word.text);
  if (around.in_string) {
    // A string that is exactly a dtype.
    bool is_whole = word.span.begin > 0 && word.span.end < text.size() && (text[word.span.begin - 1] == '"' || text[word.span.begin - 1] == '\'') && text[word.span.end] == text[word.span.begin - 1];
    return is_whole && type ? std::optional(describe_dtype(word.span, *type)) : std::nullopt;
  }
  const size_t space = std::min(word.object.find('.'), word.object.size());
  if (word.object.substr(0, space) == "T" || word.object.substr(0, space) == "Ts") {
    if (type && word.object.size() == space) { return describe_dtype(word.span, *type); }
    std::string name = std::string(word.object.substr(space)) + "." + std::string(word.text);
    name.erase(0, 1);
    if (const Meaning* known = find_word(name)) { return HoverInfo{word.span, fmt::format("`{}`", known->form), {{"meaning", std::string(known->text)}}}; }
    if (const Intrinsic* row = find_intrinsic(name)) { return describe_intrinsic(word.span, *row); }
    return describe_thread_word(word.span, name);
  }
  return word.object.empty() ? describe_name(snapshot, at) : std::nullopt;
}

}  // namespace loopsmith::lsp
