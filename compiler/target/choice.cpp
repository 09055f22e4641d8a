// Targets of programs: see choice.h.
#include "target/choice.h"

#include "ir/printer.h"

namespace loopsmith::target {

auto text_of(const Attr& attribute) -> std::string {
  if (const Attr* wrapped = target_attr(attribute)) { return text_of(*wrapped); }
  // A list is a target with its host; the target comes first.
  if (const auto* list = attribute.list()) { return list->empty() ? std::string() : text_of((*list)[0]); }
  if (const std::string* text = attribute.string()) { return *text; }
  const auto* options = std::get_if<AttrMap>(&attribute.value);
  if (!options) { return {}; }
  std::string kind, tag, text;
  for (const auto& [key, value] : *options) {
    std::string joined;
    if (const std::string* one = value.string()) { joined = *one; }
    else if (!value.list()) { joined = print_script(value); }
    for (const Attr& item : value.list() ? *value.list() : Array<Attr>()) {
      if (const std::string* part = item.string()) { joined += (joined.empty() ? "" : ",") + *part; }
    }
    if (key == "kind") { kind = joined; }
    else if (key == "tag") { tag = joined; }
    else if (key != "host" && !joined.empty()) { text += " -" + key.str() + "=" + joined; }
  }
  if (kind.empty()) { kind = tag.empty() ? "llvm" : tag; }
  return kind + text;
}

auto attribute_target(const IRModule& module, Name function) -> std::string {
  PrimFunc func = module ? module->find(function) : PrimFunc();
  const Attr* attribute = func ? find_attr(func->attrs, Name("target")) : nullptr;
  std::string text = attribute ? text_of(*attribute) : std::string();
  return text.empty() || !parse(text).ok() ? std::string() : text;
}

auto chosen_target(std::string_view option, const IRModule& module, Name function, std::string_view schedule) -> std::string {
  if (!option.empty()) { return std::string(option); }
  std::string of_function = attribute_target(module, function);
  return of_function.empty() ? std::string(schedule) : of_function;
}

}  // namespace loopsmith::target
