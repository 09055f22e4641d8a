// Signature help: the open call at the cursor, with notes about the argument at the cursor. See completion.h.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "frontend/words.h"
#include "lsp/features/completion.h"
#include "lsp/features/completion/arguments.h"
#include "lsp/features/completion/editor_spot.h"
#include "lsp/features/completion/legality.h"
#include "lsp/features/completion/schedule_items.h"
#include "lsp/features/words.h"
#include "support/cancel_scope.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// Values that an argument may have now, and refused ones with the reason, as one line.
class ValueNote {
 public:
  void add(const std::string& what, const std::string& about, const schedule::Legality& legality) {
    std::string text = about.empty() ? fmt::format("`{}`", what) : fmt::format("`{}` ({})", what, about);
    if (legality.verdict != schedule::Legality::Verdict::Refused) {
      fits_.push_back(std::move(text));
      return;
    }
    auto same = std::find_if(refused_.begin(), refused_.end(), [&](const auto& one) { return one.first == legality.why_not; });
    if (same == refused_.end()) { same = refused_.insert(same, {legality.why_not, {}}); }
    same->second.push_back(fmt::format("`{}`", what));
  }
  [[nodiscard]] auto is_empty() const -> bool { return fits_.empty() && refused_.empty(); }
  [[nodiscard]] auto text(std::string_view head = "now: ") const -> std::string {
    constexpr size_t most_fitting = 16;
    constexpr size_t most_reasons = 4;
    std::string out = fits_.empty() ? std::string() : std::string(head) + joined(fits_, most_fitting);
    for (size_t i = 0; i < std::min(refused_.size(), most_reasons); ++i) { out += fmt::format("{}not {}: {}", out.empty() ? "" : "; ", joined(refused_[i].second, most_fitting / 2), refused_[i].first); }
    return out;
  }

 private:
  static auto joined(const std::vector<std::string>& all, size_t most) -> std::string {
    std::string out;
    for (size_t i = 0; i < std::min(all.size(), most); ++i) { out += (i > 0 ? ", " : "") + all[i]; }
    return all.size() > most ? out + fmt::format(" and {} more", all.size() - most) : out;
  }
  std::vector<std::string> fits_;
  std::vector<std::pair<std::string, std::vector<std::string>>> refused_;   // by reason
};

auto parameter_note(const ScheduleSpot& spot, const schedule::Primitive& row, const schedule::Param& param, bool is_active)
    -> std::string {
  using schedule::ValueKind;
  ValueNote note;
  if (param.name == "factors") {
    std::string text = "one per new loop, outermost first; one may be `None`";
    if (auto extent = extent_of_argument(spot)) {
      std::string list;
      for (int64_t d : divisors(*extent)) {
        if (list.size() > 60) {
          list += " …";
          break;
        }
        list += (list.empty() ? "" : " ") + std::to_string(d);
      }
      text += fmt::format("; their product is at least {} (divisors: {})", *extent, list);
    }
    return text;
  }
  if (param.kind == ValueKind::Loop || param.kind == ValueKind::Block || param.kind == ValueKind::BlockOrLoop) {
    for (const LiveVariable& variable : spot.live) {
      if (variable.place == nullptr) { continue; }
      bool fits = param.kind == ValueKind::BlockOrLoop || variable.place->is_loop() == (param.kind == ValueKind::Loop);
      if (!fits) { continue; }
      schedule::Legality legality = is_active ? argument_legality(spot, row, param, *variable.place) : schedule::Legality();
      note.add(variable.name, describe(*variable.place), legality);
    }
    if (note.is_empty() && param.kind != ValueKind::Loop) {
      for (const std::string& name : block_names(spot)) { note.add(fmt::format("\"{}\"", name), {}, {}); }
    }
    return note.text();
  }
  if (!is_active || spot.now == nullptr) { return {}; }
  if (param.name == "func_name") {
    for (Name name : function_names(spot)) { note.add(fmt::format("\"{}\"", name.view()), {}, {}); }
  } else if (row.name == "get_block" && param.name == "name") {
    for (const std::string& name : block_names(spot)) { note.add(fmt::format("\"{}\"", name), {}, {}); }
  } else if (param.name == "ann_key" && row.name == "annotate") {
    auto before = values_before(spot, row, 1);
    bool is_block = before && before->front().as<schedule::BlockRV>() != nullptr;
    for (Name word : frontend::known_words(is_block ? frontend::Vocabulary::BlockAnnotation : frontend::Vocabulary::LoopAnnotation)) { note.add(fmt::format("\"{}\"", word.view()), {}, {}); }
    return note.text("any; known are: ");
  } else if (param.name == "tensor_intrin") {
    ItemList items{spot.text.prefix};
    add_intrinsics(spot, items);
    std::sort(items.list.begin(), items.list.end(), [](const CompletionItem& a, const CompletionItem& b) { return std::tie(a.rank, a.label) < std::tie(b.rank, b.label); });
    using Verdict = schedule::Legality::Verdict;
    for (const CompletionItem& item : items.list) {
      bool is_refused = !item.note.empty();
      note.add(fmt::format("\"{}\"", item.label), {}, {is_refused ? Verdict::Refused : Verdict::Unknown, {}, is_refused ? item.detail : std::string()});
    }
  } else if (row.is_sampling && row.name.find("tile") != std::string_view::npos) {
    auto extent = extent_of_argument(spot);
    std::string of = extent ? fmt::format(", {}", *extent) : std::string();
    if (param.name == "n") { return fmt::format("how many factors: any number from 1; their product is the extent of the loop{}", of); }
    if (param.name == "max_innermost_factor") { return fmt::format("the largest last factor; -1: any that divides the extent{}", of); }
    if (param.name == "decision") { return fmt::format("the factors, if they are not to be drawn; their product is the extent of the loop{}", of); }
  } else {
    for (const Offered& one : values_offered(spot, row, param)) { note.add(one.text, one.about, one.legality); }
  }
  return note.text();
}

/// The signature of a primitive, with notes about each parameter.
auto signature_of_primitive(const ScheduleSpot& spot, const schedule::Primitive& row) -> Signature {
  const CallContext& call = *spot.text.call;
  Signature signature;
  signature.label = row.signature();
  signature.documentation = row.help;
  size_t from = signature.label.find('(');
  for (size_t i = 0; i < row.params.size(); ++i) {
    size_t begin = signature.label.find(row.params[i].name, from);
    if (begin == std::string::npos) { begin = from; }
    // Up to the comma or bracket that ends it, skipping lists in its default.
    size_t end = begin;
    int depth = 0;
    while (end < signature.label.size() && !(depth == 0 && (signature.label[end] == ',' || signature.label[end] == ')'))) {
      depth += signature.label[end] == '(' || signature.label[end] == '[' ? 1 : signature.label[end] == ')' || signature.label[end] == ']' ? -1 : 0;
      ++end;
    }
    signature.parameters.emplace_back(static_cast<uint32_t>(begin), static_cast<uint32_t>(end));
    signature.parameter_notes.push_back(parameter_note(spot, row, row.params[i], parameter_at(row, call) == &row.params[i]));
    from = end;
  }
  if (const schedule::Param* param = parameter_at(row, call)) { signature.active = static_cast<size_t>(param - row.params.data()); }
  return signature;
}

/// The signature of a form: "for i, j in T.grid(m, n)" gives "T.grid(m, n)" with `m` and `n`.
auto signature_of(std::string_view callee, const Usage& usage, const CallContext& call) -> std::optional<Signature> {
  size_t begin = usage.form.find(std::string(callee) + "(");
  if (begin == std::string::npos) { return std::nullopt; }
  Signature signature;
  signature.label = usage.form.substr(begin);
  signature.documentation = usage.help;
  int depth = 0;
  uint32_t from = 0;
  for (uint32_t i = static_cast<uint32_t>(callee.size()); i < signature.label.size(); ++i) {
    char c = signature.label[i];
    bool opens = c == '(' || c == '[' || c == '{';
    bool closes = c == ')' || c == ']' || c == '}';
    if (opens && ++depth == 1) { from = i + 1; }
    bool ends = depth == 1 && (c == ',' || closes);
    if (ends && i > from) {
      signature.parameters.emplace_back(from, i);
      signature.parameter_notes.emplace_back();
    }
    if (ends) { from = i + (i + 1 < signature.label.size() && signature.label[i + 1] == ' ' ? 2 : 1); }
    if (closes && --depth == 0) { break; }
  }
  auto name_of = [&](size_t i) {
    std::string_view text = std::string_view(signature.label).substr(signature.parameters[i].first, signature.parameters[i].second - signature.parameters[i].first);
    return text.substr(0, text.find('='));
  };
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    // "..." represents all further arguments.
    bool is_here = i == call.argument || (i < call.argument && name_of(i) == "...");
    if (call.keyword.empty() ? is_here : name_of(i) == call.keyword) { signature.active = i; }
  }
  return signature;
}

/// The signature of a function in a file.
auto signature_of_function(const Snapshot& snapshot, std::string_view name, const CallContext& call) -> std::optional<Signature> {
  Signature signature;
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    for (const syntax::Stmt* statement : placed.item->statements) {
      const auto* def = statement->as<syntax::FunctionDef>();
      if (def == nullptr || def->name.name.view() != name) { continue; }
      signature.label = def->name.name.str() + "(";
      for (const syntax::Param& param : def->params) {
        if (!signature.parameters.empty()) { signature.label += ", "; }
        auto begin = static_cast<uint32_t>(signature.label.size());
        auto span = snapshot.syntax().resolve({def->decl, param.span.begin, param.span.end, 0});
        std::string text = span ? snapshot.text().substr(span->begin, span->end - span->begin) : param.name.name.str();
        std::replace(text.begin(), text.end(), '\n', ' ');
        signature.label += text;
        signature.parameters.emplace_back(begin, static_cast<uint32_t>(signature.label.size()));
        signature.parameter_notes.emplace_back();
        if (call.keyword.empty() ? signature.parameters.size() - 1 == call.argument : param.name.name.view() == call.keyword) { signature.active = signature.parameters.size() - 1; }
      }
      signature.label += ")";
      return signature;
    }
  }
  return std::nullopt;
}

}  // namespace

auto signature_help(const Snapshot& snapshot, uint32_t at, const Patience& patience, const FindElsewhere& elsewhere) -> std::optional<Signature> {
  CancelScope scope(patience.cancel);
  EditorSpot spot = find_spot(snapshot, at, patience);
  if (spot.text.in_comment || !spot.text.call) { return std::nullopt; }
  const CallContext& call = *spot.text.call;
  if (const schedule::Primitive* row = row_called(spot)) { return signature_of_primitive(spot, *row); }
  if (auto usage = usage_of(call.callee)) { return signature_of(call.callee, *usage, call); }
  if (auto signature = signature_of_function(snapshot, call.callee, call)) { return signature; }
  auto found = elsewhere && call.open > 0 ? elsewhere(spot.base + call.open - 1) : std::nullopt;
  if (found) { return signature_of_function(*found->first, found->second.view(), call); }
  return std::nullopt;
}

}  // namespace loopsmith::lsp
