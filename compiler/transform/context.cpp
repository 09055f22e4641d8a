// Walking the functions of a module: see context.h.
#include "transform/context.h"

namespace loopsmith::transform {

auto map_functions(const IRModule& module, const std::function<Result<PrimFunc>(const PrimFunc&)>& f) -> Result<IRModule> {
  Diagnostics failures;
  IRModule out = module;
  for (const auto& [name, func] : module->functions) {
    Result<PrimFunc> changed = f(func);
    if (!changed.ok()) {
      failures.insert(failures.end(), changed.diagnostics().begin(), changed.diagnostics().end());
      continue;
    }
    if (!changed->same_as(func)) { out = with_function(out, name, *changed); }
  }
  if (!failures.empty()) { return failures; }
  return out;
}

auto called(Name name, const PrimFunc& func) -> std::string {
  const Attr* attr = find_attr(func->attrs, "global_symbol");
  const std::string* symbol = attr != nullptr ? attr->string() : nullptr;
  return symbol != nullptr && !symbol->empty() ? *symbol : name.str();
}

}  // namespace loopsmith::transform
