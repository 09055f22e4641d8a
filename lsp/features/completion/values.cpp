// Attributes of values: see values.h.
#include "lsp/features/completion/values.h"

#include <algorithm>
#include <optional>

#include "lsp/features/stage_steps.h"
#include "script/run.h"
#include "script/te/objects.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

// The text in front of the dot: a name, and whether brackets are behind it.
struct Owner { std::string_view name; bool is_indexed = false; };

auto owner_at(std::string_view text, uint32_t prefix_begin) -> std::optional<Owner> {
  if (prefix_begin < 2 || text[prefix_begin - 1] != '.') { return std::nullopt; }
  size_t end = prefix_begin - 1;
  Owner out;
  if (text[end - 1] == ']') {
    int depth = 0;
    size_t at = end;
    while (at > 0 && text[at - 1] != '\n') {
      --at;
      depth += text[at] == ']' ? 1 : text[at] == '[' ? -1 : 0;
      if (depth == 0) { break; }
    }
    if (depth != 0) { return std::nullopt; }
    end = at;
    out.is_indexed = true;
  }
  size_t begin = end;
  auto is_part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  while (begin > 0 && is_part(text[begin - 1])) { --begin; }
  if (begin == end || (begin > 0 && text[begin - 1] == '.')) { return std::nullopt; }
  out.name = text.substr(begin, end - begin);
  return out;
}

auto help_of(std::string_view name) -> std::string {
  const StageStep* step = find_stage_step(name);
  return step != nullptr ? step->help : "";
}

}  // namespace

auto add_attributes_of_value(const EditorSpot& spot, ItemList& items) -> bool {
  auto owner = owner_at(spot.snapshot.text(), spot.text.prefix_begin);
  if (!owner || spot.run == nullptr) { return false; }
  auto frame = script::frame_before(*spot.run, std::min(spot.steps, spot.run->frames.empty() ? 0 : spot.run->frames.size() - 1));
  const eval::Value* value = frame && frame->scope ? frame->scope->find(Name(owner->name)) : nullptr;
  if (value == nullptr || value->object() == nullptr) { return false; }
  std::vector<Name> names;
  const auto* schedule = value->as<script::ScheduleObject>();
  const bool is_stage = owner->is_indexed && schedule && schedule->stages && !schedule->stages->stages.empty();
  if (is_stage) { script::te::StageObject(Ref<script::ScheduleObject>(schedule), 0).attribute_names(names); }
  else if (!owner->is_indexed && !(schedule && !schedule->stages)) { value->object()->attribute_names(names); }
  for (Name name : names) { items.add({name.str(), CompletionKind::Function, is_stage ? help_of(name.view()) : std::string(), {}, {}, false, 1}); }
  return !names.empty();
}

}  // namespace loopsmith::lsp
