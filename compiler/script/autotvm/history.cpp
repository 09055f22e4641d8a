// Records that a file applies: see history.h.
#include "script/autotvm/history.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "script/autotvm/log.h"
#include "script/file_calls.h"
#include "script/texts.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script::autotvm {
namespace {

// A log that a call names, and the text of the name.
struct NamedLog {
  std::string path;
  Origin where;
};

// The logs of `apply_history_best(F)`, `ApplyHistoryBest([F, G])`.
auto applied_logs(frontend::File& file) -> std::vector<NamedLog> {
  static const Name function("apply_history_best"), type("ApplyHistoryBest");
  std::vector<NamedLog> out;
  each_call(file, [&](const syntax::CallExpr& call) {
    const Name callee = last_name(*call.callee);
    const syntax::Expr* records = callee == function || callee == type ? written_argument(call, 0, "records") : nullptr;
    if (!records) { return false; }
    const eval::Value value = value_in_file(file, *records);
    if (value.string()) { out.push_back({*value.string(), records->origin()}); }
    for (const eval::Value& one : value.items() ? *value.items() : std::vector<eval::Value>()) {
      if (one.string()) { out.push_back({*one.string(), records->origin()}); }
    }
    return false;
  });
  return out;
}

// The log whose best records `pick_best` writes to a path; empty: no call does.
auto picked_from(frontend::File& file, const std::string& path) -> std::string {
  static const Name pick("pick_best");
  std::string out;
  each_call(file, [&](const syntax::CallExpr& call) {
    const syntax::Expr* from = last_name(*call.callee) == pick ? written_argument(call, 0, "in_file") : nullptr;
    const syntax::Expr* to = from ? written_argument(call, 1, "out_file") : nullptr;
    const eval::Value source = to ? value_in_file(file, *from) : eval::Value(), target = to ? value_in_file(file, *to) : eval::Value();
    if (source.string() && target.string() && *target.string() == path) { out = *source.string(); }
    return !out.empty();
  });
  return out;
}

}  // namespace

auto history_of(frontend::File& file, const std::string& template_name, const std::vector<eval::Value>& arguments) -> History {
  History out;
  for (NamedLog& log : applied_logs(file)) {
    std::optional<std::string> text = text_beside(file, log.path);
    const std::string source = text ? std::string() : picked_from(file, log.path);
    if (!source.empty()) {
      log.path = source;
      text = text_beside(file, source);
    }
    if (!text) {
      Diagnostic missing = error(Code::CannotRead, log.where).arg("file", log.path).arg("reason", because(Why::NoLogFallback).text());
      missing.severity = Severity::Hint;
      out.diagnostics.push_back(std::move(missing).remedy(fmt::format("search for a configuration: `loopsmith tune FILE --log {}`", log.path)));
      continue;
    }
    auto best = [&]() -> Result<AutotvmRecord> {
      LOOPSMITH_TRY(records, read_autotvm_log(log.path, *text));
      return best_of_log(log.path, records, template_name, arguments);
    }();
    if (best.ok()) {
      out.diagnostics.clear();
      out.decisions = std::make_shared<const Decisions>(std::move(best->decisions));
      return out;
    }
    for (Diagnostic d : best.diagnostics()) {
      d.where = log.where;
      out.diagnostics.push_back(std::move(d));
    }
  }
  return out;
}

}  // namespace loopsmith::script::autotvm
