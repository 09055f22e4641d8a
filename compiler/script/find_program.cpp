// Finds the programs of schedules: see find_program.h.
#include "script/find_program.h"

#include <algorithm>

#include "frontend/inner_programs.h"
#include "frontend/objects.h"
#include "frontend/te/mistakes.h"
#include "ir/equal.h"
#include "script/auto_scheduler/tasks.h"
#include "script/objects.h"
#include "script/te/create.h"
#include "script/te/stages.h"
#include "script/texts.h"
#include "support/codes.h"
#include "support/guards.h"
#include "syntax/record_form.h"
#include "syntax/schedule_form.h"
#include "target/target.h"

namespace loopsmith::script {
namespace {

class StopBefore final : public eval::Observer {
 public:
  explicit StopBefore(size_t end) : end_(end) {}
  auto after(eval::Evaluator&, eval::Frame&, size_t index, const syntax::Stmt&, eval::Flow) -> bool override { return index + 1 < end_; }

 private:
  size_t end_;
};

// For `tir.Schedule(sch.mod)`, the other schedule of the function whose module it continues; null: the program is another expression.
auto goes_on_from(const ScheduleFunction& function) -> const syntax::ScheduleForm* {
  const syntax::Expr* program = function.program;
  if (!program || function.form.is_nested || function.form.is_call) { return nullptr; }
  if (const auto* part = program->as<syntax::SubscriptExpr>()) { program = part->object; }
  const auto* module = program->as<syntax::AttributeExpr>();
  const auto* name = module && module->attr.name == "mod" ? module->object->as<syntax::NameExpr>() : nullptr;
  if (!name) { return nullptr; }
  const syntax::ScheduleForm* last = nullptr;
  for (const syntax::ScheduleForm& other : function.others) {
    bool is_it = other.made && !other.is_nested && !other.is_call && other.variable == name->name && other.made_at < function.form.made_at;
    if (is_it && (!last || last->made_at < other.made_at)) { last = &other; }
  }
  return last;
}

// The program that the statements of a function make before its schedule is made, and the target around it.
struct Found {
  eval::Value program;      // None: unknown
  std::string target;       // as written; empty: none
  Origin target_at;         // unknown: the target belongs to a call below a statement
  Diagnostics refused;      // the reasons why a record was not applied
  Diagnostics mistakes;     // in functions that make statements: nothing else reports them if there is no program
};

// Runs the statements of a function up to the one that makes its schedule.
class ProgramSearch {
 public:
  ProgramSearch(eval::Evaluator& evaluator, const ScheduleFunction& function) : evaluator_(evaluator), function_(function), form_(function.form) {}

  auto run() -> Found {
    // Running the function later reports its errors.
    WithoutReports quiet(evaluator_.diagnostics);
    (void)frontend::te::take_mistakes();
    evaluator_.reset_steps();
    eval::Value made = evaluator_.make_function(*function_.def, eval::ScopeRef());
    if (const auto* callee = made.as<eval::Function>()) {
      Ref<eval::Function> called(callee);
      if (auto frame = start_call(evaluator_, function_, called, {})) {
        bool is_plain = !form_.is_nested && !form_.is_call;
        is_plain ? run_to_statement(*frame, called) : run_to_call(*frame, called);
      }
    }
    evaluator_.reset_steps();
    found_.mistakes = frontend::te::take_mistakes();
    return std::move(found_);
  }

 private:
  // The schedule is made in a loop, a branch or a helper: the last such call counts. An inner function may be called in a later statement.
  void run_to_call(eval::Frame& frame, const Ref<eval::Function>& called) {
    bool is_inner = form_.is_nested && function_.def->body[static_cast<uint32_t>(form_.made_at)]->kind == syntax::Kind::FunctionDef;
    evaluator_.not_called = [&](const eval::Value& opaque, const syntax::CallExpr& written, const eval::Arguments& arguments) -> std::optional<eval::Value> {
      static const Name mod("mod"), ops("ops");
      if (!opaque.is_opaque() || !syntax::is_schedule_made(written)) { return std::nullopt; }
      if (form_.is_call ? frame.next != form_.made_at : written.origin() != form_.made->origin()) { return std::nullopt; }
      const eval::Argument* given = arguments.positional > 0 ? &arguments.all[0] : arguments.keyword(syntax::makes_stages(written) ? ops : mod);
      eval::Value program = given ? program_of(given->value, written) : eval::Value();
      if (!program.as<frontend::ProgramObject>()) { return std::nullopt; }
      found_.program = std::move(program);
      note_target();
      return std::nullopt;
    };
    StopBefore stop(is_inner ? function_.def->body.size() : form_.made_at + 1);
    const size_t reported = evaluator_.diagnostics.size();
    evaluator_.resume_from(0, frame, called, &stop);
    evaluator_.not_called = nullptr;
    if (form_.is_call && syntax::applies_record(*form_.made)) { take_record(frame, reported); }
  }

  // Takes the program of a schedule that a record gave.
  void take_record(const eval::Frame& frame, size_t reported) {
    const eval::Value* value = frame.scope->find_here(form_.variable);
    const auto* schedule = value ? value->as<ScheduleObject>() : nullptr;
    if (schedule && schedule->stages) {
      found_.program = eval::Value(eval::make_object<frontend::ProgramObject>(schedule->stages->base.module(), Name("main"), true, form_.made->origin()));
      return;
    }
    for (size_t i = reported; i < evaluator_.diagnostics.size(); ++i) {
      if (evaluator_.diagnostics[i].code != Code::CannotRead) { found_.refused.push_back(evaluator_.diagnostics[i]); }
    }
  }

  // The schedule is made by a statement of the body.
  void run_to_statement(eval::Frame& frame, const Ref<eval::Function>& called) {
    StopBefore stop(form_.made_at);
    if (form_.made_at > 0) { evaluator_.resume_from(0, frame, called, &stop); }
    found_.program = program_of(evaluator_.eval(*function_.program, frame.scope), *form_.made);
    // After Python that cannot be followed, only names of the file are known.
    const auto* name = function_.program->as<syntax::NameExpr>();
    if (frame.flow != eval::Flow::Next && (!name || frame.scope->find_here(name->name))) { found_.program = {}; }
    if (form_.made_at >= function_.contexts.size()) { return; }
    for (const syntax::Expr* context : function_.contexts[form_.made_at]) {
      eval::Value around = evaluator_.eval(*context, frame.scope);
      if (!around.object() || !around.object()->is_context()) { continue; }
      evaluator_.contexts.push_back(std::move(around));
      found_.target_at = context->origin();
    }
    note_target();
    evaluator_.contexts.clear();
  }

  // The program of tensor expressions, where the argument is their operations.
  auto program_of(const eval::Value& value, const syntax::CallExpr& call) -> eval::Value {
    if (!syntax::makes_stages(call)) { return value; }
    Made made = made_of(evaluator_, value, call);
    if (!made.module) { return {}; }
    return eval::Value(eval::make_object<frontend::ProgramObject>(made.module, Name("main"), true, call.origin()));
  }

  void note_target() {
    const Attr* target = target_around(evaluator_);
    found_.target = target ? target_text(*target) : std::string();
  }

  eval::Evaluator& evaluator_;
  const ScheduleFunction& function_;
  const syntax::ScheduleForm& form_;
  Found found_;
};

// `tir.Schedule(sch.mod)`: the program of the other schedule.
auto find_program_of_other(frontend::File& file, const ScheduleFunction& function, const syntax::ScheduleForm& other, const FileSchedule* before, FileSchedule& out) -> bool {
  ScheduleFunction first = as_schedule_function(*function.def, function.tree, function.text, other);
  first.others = function.others;
  first.contexts = function.contexts;
  FileSchedule found;
  found.name = out.name;
  found.context = out.context;
  found.item = out.item;
  if (!find_made_program(file, first, nullptr, found)) { return false; }
  bool is_as_before = before && before->goes_on_from_other && before->first_program && structural_equal(before->first_program, found.program);
  out.program = is_as_before ? before->first_program : found.program;
  out.program_name = found.program_name;
  out.program_decl = found.program_decl;
  out.goes_on_from_other = true;
  return true;
}

}  // namespace

auto programs_of(frontend::File& file) -> std::vector<std::pair<const frontend::Declaration*, Name>> {
  std::vector<std::pair<const frontend::Declaration*, Name>> out;
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& d = file.declaration(i);
    if (d.is_program) { out.emplace_back(&d, d.item->name); }
  }
  return out;
}

auto module_of(frontend::File& file, Name name) -> std::string {
  for (size_t i = 0; i < file.size(); ++i) {
    for (const syntax::StmtPtr stmt : file.item(i)->statements) {
      const auto* from = stmt->as<syntax::ImportFromStmt>();
      if (from && std::any_of(from->names.begin(), from->names.end(), [&](const syntax::ImportName& one) {
            return one.alias.name.empty() ? !one.path.empty() && one.path[0].name == name : one.alias.name == name;
          })) {
        std::string module(from->level, '.');
        for (size_t k = 0; k < from->module.size(); ++k) { module += (k > 0 ? "." : "") + from->module[static_cast<uint32_t>(k)].name.str(); }
        return module;
      }
    }
  }
  return {};
}

void find_program(frontend::File& file, const ScheduleFunction& function, FileSchedule& out) {
  eval::Evaluator& evaluator = file.evaluator();
  if (function.program) {
    // The caller handles the diagnostics that the evaluator reports.
    size_t reported = evaluator.diagnostics.size();
    eval::Value value = evaluator.eval(*function.program, evaluator.new_scope({}));
    if (const auto* program = value.as<frontend::ProgramObject>()) {
      out.program = program->module;
      out.program_name = program->name;
      out.program_decl = program->where.decl;
    } else if (!value.is_unknown()) {
      out.diagnostics.push_back(error(Code::NotAProgram, function.program->origin()).arg("what", eval::describe(value)).remedy("name a function with `@T.prim_func`, or a module"));
    } else if (evaluator.diagnostics.size() == reported && value.is_error()) {
      out.diagnostics.push_back(error(Code::ProgramHasErrors, function.program->origin()));
      out.diagnostics.back().severity = Severity::Information;
    }
    return;
  }
  auto programs = programs_of(file);
  if (programs.size() == 1) {
    out.program = programs[0].first->module;
    out.program_name = programs[0].second;
    return;
  }
  out.diagnostics.push_back(error(Code::ProgramNotNamed, out.where)
                                .arg("schedule", out.name.view())
                                .remedy("name its program: `@ls.schedule(PROGRAM)` above it"));
  // Traces that TVM prints have several programs and no decorator: this is a hint, not an error.
  out.diagnostics.back().severity = Severity::Hint;
}

auto find_made_program(frontend::File& file, const ScheduleFunction& function, const FileSchedule* before, FileSchedule& out) -> bool {
  // Programs in the body are lowered again only if something changed; those outside are not part of this comparison.
  bool has_programs = frontend::has_programs_inside(*function.def);
  bool is_inside = has_programs && before && before->program_decl == function.def->decl;
  if (is_inside && before->context == out.context && before->item == out.item && before->first_program) {
    out.program = before->first_program;
    out.program_name = before->program_name;
    out.program_decl = before->program_decl;
    out.target = before->target;
    out.diagnostics = before->diagnostics;
    out.goes_on_from_other = before->goes_on_from_other;
    return true;
  }
  Found found = ProgramSearch(file.evaluator(), function).run();
  out.target = std::move(found.target);
  // A program for an unknown device can still be scheduled.
  if (auto read = out.target.empty() ? Result<target::Target>(target::Target()) : target::parse(out.target); !read.ok()) {
    Origin where = found.target_at.is_known() ? found.target_at : function.form.made->origin();
    Diagnostic ignored = error(Code::TargetNotCounted, where).arg("name", out.name.view()).arg("reason", read.diagnostics().front().message());
    ignored.severity = Severity::Hint;
    out.diagnostics.push_back(std::move(ignored));
    out.target.clear();
  }
  if (const auto* program = found.program.as<frontend::ProgramObject>()) {
    out.program = program->module;
    out.program_name = program->name;
    out.program_decl = program->where.decl;
    bool is_made_anew = has_programs || syntax::makes_stages(*function.form.made) || syntax::applies_record(*function.form.made);
    if (is_made_anew && before && before->program && structural_equal(before->program, out.program)) { out.program = before->program; }
    return true;
  }
  if (!found.refused.empty()) {
    out.diagnostics.insert(out.diagnostics.end(), found.refused.begin(), found.refused.end());
    return true;
  }
  if (const syntax::ScheduleForm* other = goes_on_from(function)) { return find_program_of_other(file, function, *other, before, out); }
  const auto* name = function.program ? function.program->as<syntax::NameExpr>() : nullptr;
  bool is_parameter = name && std::any_of(function.def->params.begin(), function.def->params.end(), [&](const syntax::Param& p) { return p.name.name == name->name; });
  auto programs = programs_of(file);
  if (!is_parameter || programs.size() != 1) {
    out.diagnostics = std::move(found.mistakes);
    return false;
  }
  out.program = programs[0].first->module;
  out.program_name = programs[0].second;
  return bool(out.program);
}

auto why_unknown(frontend::File& file, const ScheduleFunction& function) -> std::string {
  if (function.form.made && syntax::applies_record(*function.form.made)) {
    const std::string log = auto_scheduler::log_of_call(file, *function.form.made);
    if (!log.empty() && !text_beside(file, log)) { return "there is no log `" + log + "`; `loopsmith tune FILE --log " + log + "` makes it"; }
  }
  if (!function.program) { return "the program of its schedule is not known before it runs"; }
  if (function.form.is_nested) { return "the statements around it decide when they run whether it is made, and of which program"; }
  const auto* name = function.program->as<syntax::NameExpr>();
  if (!name) { return "its program is made by Python that is not evaluated"; }
  bool is_parameter = std::any_of(function.def->params.begin(), function.def->params.end(), [&](const syntax::Param& p) { return p.name.name == name->name; });
  if (is_parameter) { return "`" + name->name.str() + "` is a parameter, known only when the function is called"; }
  if (std::string module = module_of(file, name->name); !module.empty()) {
    return file.is_imported(name->name) ? "the value of `" + name->name.str() + "` in `" + module + "` is not known before that module runs" : "the module `" + module + "`, which has `" + name->name.str() + "`, is not found";
  }
  return "the value of `" + name->name.str() + "` is not known before the function runs";
}

}  // namespace loopsmith::script
