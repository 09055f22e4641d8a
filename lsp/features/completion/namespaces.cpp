// Attributes of namespaces: see namespaces.h.
#include "lsp/features/completion/namespaces.h"

#include <algorithm>

#include "eval/evaluator.h"
#include "frontend/lower.h"
#include "lsp/features/completion/legality.h"
#include "lsp/features/words.h"
#include "script/schedules.h"

namespace loopsmith::lsp {

auto add_namespace(ItemList& items, std::string_view path) -> bool {
  eval::Evaluator evaluator;
  std::optional<eval::Value> value;
  size_t begin = 0;
  while (begin <= path.size()) {
    size_t end = std::min(path.find('.', begin), path.size());
    Name part(path.substr(begin, end - begin));
    if (begin == 0) {
      const eval::Value* known = frontend::predeclared(part);
      if (known == nullptr) { known = script::predeclared(part); }
      if (known == nullptr) { return false; }
      value = *known;
    } else {
      if (value->object() == nullptr) { return false; }
      value = value->object()->get_attribute(evaluator, part, {});
      if (!value) { return false; }
    }
    begin = end + 1;
  }
  if (value->object() == nullptr) { return false; }
  std::vector<Name> names;
  value->object()->attribute_names(names);
  for (Name name : names) {
    std::string_view text = name.view();
    bool is_dtype = DataType::parse(text).has_value();
    std::string whole = std::string(path) + "." + name.str();
    auto usage = usage_of(whole);
    // First the words in the order of their use in a program; then operators and mathematics, dtypes (the
    // most used first), classes of nodes; last, intrinsics of one target and names that begin with an underscore.
    bool is_of_machine = text.starts_with("tvm_") || text.starts_with("ptx_") || text.starts_with("call_llvm") || text.starts_with("mma_") || text.starts_with("nd_mem") || text.starts_with("tvmx_");
    bool is_node = !is_dtype && text.front() >= 'A' && text.front() <= 'Z';
    const auto* usual = std::find(std::begin(dtypes), std::end(dtypes), text);
    int rank = text.starts_with("_") ? 600 : is_of_machine ? 500 : usage && usage->place ? *usage->place : is_dtype && usual != std::end(dtypes) ? 250 + static_cast<int>(usual - std::begin(dtypes))
               : is_dtype ? 300 : is_node ? 400 : usage ? 200 : 210;
    items.add({name.str(), is_dtype ? CompletionKind::Class : CompletionKind::Function, usage ? usage->form : whole, usage ? usage->help : std::string(), {}, false, rank});
  }
  return true;
}

}  // namespace loopsmith::lsp
