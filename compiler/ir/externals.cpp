// The closed list of external functions, and a search for calls of them: see externals.h.
#include "ir/externals.h"

#include <algorithm>

#include "ir/visitor.h"

namespace loopsmith {
namespace {

struct MathsRow {
  std::string_view name;
  int arguments;
};
constexpr MathsRow maths[] = {
#define EXTERNAL_MATHS(name, arguments) {#name, arguments},
#include "ir/externals.def"
};

auto find_maths(std::string_view name) -> const MathsRow* {
  const auto* row = std::find_if(std::begin(maths), std::end(maths), [&](const MathsRow& r) { return r.name == name; });
  return row == std::end(maths) ? nullptr : row;
}

}  // namespace

auto external(std::string_view name) -> External {
  if (const MathsRow* row = find_maths(name)) { return {ExternalKind::Maths, row->arguments, DataType::float_(64)}; }
  if (name.ends_with('f')) {
    if (const MathsRow* row = find_maths(name.substr(0, name.size() - 1))) { return {ExternalKind::Maths, row->arguments, DataType::float_(32)}; }
  }
  if (name == "memcpy" || name == "memmove" || name == "memset") { return {ExternalKind::Memory, 3, {}}; }
  if (name == "loopsmith_out_of_bounds") { return {ExternalKind::Runtime, 3, {}}; }
  return {};
}

auto external_name(const Call& call) -> std::string_view {
  std::string_view op = call.op.view();
  if (op.starts_with("tir.")) { op.remove_prefix(4); }
  if (op != "call_extern" && op != "call_pure_extern") { return {}; }
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
  return name != nullptr ? std::string_view(name->value) : std::string_view();
}

auto external_calls(const PrimFunc& func) -> std::vector<ExternalCall> {
  struct Calls : Visitor {
    std::vector<ExternalCall> found;
    using Visitor::on;
    void on(const Call& node) override {
      std::string_view name = external_name(node);
      if (!name.empty() && external(name).kind != ExternalKind::Runtime) { found.push_back({name, node.origin}); }
      Visitor::on(node);
    }
  };
  Calls calls;
  calls.visit(func->body);
  return std::move(calls.found);
}

}  // namespace loopsmith
