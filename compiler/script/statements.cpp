// Runs statements of a session: see statements.h.
#include "script/statements.h"

#include <utility>

#include "script/recorder.h"
#include "support/guards.h"

namespace loopsmith::script {
namespace {

// A statement as the body of a function, since an evaluator runs functions.
struct Body {
  syntax::StmtPtr statement = nullptr;
  syntax::FunctionDef def;
  syntax::ItemPtr tree;
};

}  // namespace

StatementRunner::StatementRunner(StatementRequest request, eval::Frame& frame) : request_(std::move(request)), frame_(frame), evaluator_(request_.heap) {
  evaluator_.cancel = request_.cancel;
  evaluator_.globals = request_.globals;
}

auto StatementRunner::run(const syntax::Stmt& statement, const syntax::ItemPtr& tree) -> StatementResult {
  // Functions that the statement defines keep the body alive, and with it the tree.
  auto body = std::make_shared<Body>();
  body->tree = tree;
  body->def.decl = statement.decl;
  body->def.span = statement.span;
  body->statement = &statement;
  body->def.body = syntax::Block(&body->statement, 1);
  RunRequest request;
  request.function.def = &body->def;
  request.function.form.variable = request_.schedule;
  request.cancel = request_.cancel;
  request.number = request_.number;
  request.output = request_.output;
  ScheduleRun run;
  run.steps.resize(1);
  run.steps[0].where = statement.origin();
  evaluator_.tree = body;
  evaluator_.last_expression = {};
  evaluator_.opaque_at = {};
  WithoutReports quiet(evaluator_.diagnostics);
  Recorder recorder(run, request);
  recorder.is_made = true;
  recorder.limit = 1;
  auto function = eval::make_object<eval::Function>(&body->def, nullptr, eval::ScopeRef(), std::vector<eval::Value>(), body, request_.globals);
  evaluator_.resume_from(0, frame_, Ref<eval::Function>(function.get()), &recorder);
  // The frame belongs to the session, not to a function.
  frame_.function = {};
  frame_.next = 0;
  frame_.flow = eval::Flow::Next;
  frame_.result = {};
  bool is_expression = statement.as<syntax::ExprStmt>() != nullptr;
  return {std::move(run.steps[0]), is_expression ? std::move(evaluator_.last_expression) : eval::Value(), evaluator_.opaque_at};
}

}  // namespace loopsmith::script
