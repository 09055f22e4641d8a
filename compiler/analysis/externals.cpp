// Calls of C functions outside of the closed list (ir/externals.h): `run`, `bench`, `verify` and `tune` refuse a program with such a call. A library that
// `build` makes may contain it, so the finding is an information. Programs for a GPU may call the functions of their device.
#include "ir/externals.h"

#include "analysis/subject.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::analysis {
namespace {

// True if threads of a GPU run the program or parts of it.
auto is_of_device(const PrimFunc& func) -> bool {
  bool found = false;
  post_order(func->body, [&](const Stmt& s) {
    const auto* loop = s.as<For>();
    const auto* attr = s.as<AttrStmt>();
    found = found || (loop != nullptr && loop->for_kind == ForKind::ThreadBinding) || (attr != nullptr && attr->key == "thread_extent");
  }, [](const Expr&) {});
  return found;
}

}  // namespace

void check_externals(Subject& subject) {
  std::vector<ExternalCall> calls = external_calls(subject.facts.func);
  if (calls.empty() || is_of_device(subject.facts.func)) { return; }
  for (const ExternalCall& call : calls) {
    // `__dp4a` and similar names are functions of a GPU.
    if (external(call.name).kind != ExternalKind::Unknown || call.name.starts_with("__")) { continue; }
    Diagnostic d = error(Code::CannotEmit, call.where).arg("what", "the call of `" + std::string(call.name) + "`").arg("function", subject.declaration.name.view())
                       .arg("target", "this process").arg("reason", because(Why::ExternalNotHere).text());
    d.severity = Severity::Information;
    subject.report(std::move(d).remedy("call a maths function of C, `memcpy`, `memmove` or `memset`; or build a library and link it with the function"));
  }
}

}  // namespace loopsmith::analysis
