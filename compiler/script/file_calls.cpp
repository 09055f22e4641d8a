// Calls in a file: see file_calls.h.
#include "script/file_calls.h"

#include "support/guards.h"

namespace loopsmith::script {

void each_call(frontend::File& file, const std::function<bool(const syntax::CallExpr&)>& f) {
  bool is_done = false;
  for (size_t i = 0; i < file.size() && !is_done; ++i) {
    for (const syntax::Stmt* stmt : file.item(i)->statements) {
      syntax::walk(*stmt, [&](const syntax::Node& node) {
        const auto* call = node.as<syntax::CallExpr>();
        if (call && !is_done) { is_done = f(*call); }
        return !is_done;
      });
    }
  }
}

auto last_name(const syntax::Expr& e) -> Name {
  if (const auto* attribute = e.as<syntax::AttributeExpr>()) { return attribute->attr.name; }
  const auto* name = e.as<syntax::NameExpr>();
  return name ? name->name : Name();
}

auto written_argument(const syntax::CallExpr& call, size_t place, std::string_view keyword) -> const syntax::Expr* {
  if (place < call.args.size()) { return call.args[static_cast<uint32_t>(place)]; }
  for (const syntax::Keyword& one : call.keywords) {
    if (one.name.name.view() == keyword) { return one.value; }
  }
  return nullptr;
}

auto value_in_file(frontend::File& file, const syntax::Expr& e) -> eval::Value {
  eval::Evaluator& evaluator = file.evaluator();
  WithoutReports quiet(evaluator.diagnostics);
  return evaluator.eval(e, evaluator.new_scope({}));
}

}  // namespace loopsmith::script
