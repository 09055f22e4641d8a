// The schedules of a file: see schedules.h.
#include "script/schedules.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "frontend/objects.h"
#include "intrinsics/registry.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "script/objects.h"
#include "support/codes.h"
#include "support/hash.h"
#include "syntax/schedule_form.h"
#include "target/target.h"

namespace loopsmith::script {
namespace {

// `ls.schedule(program, target=...)` gives a decorator that leaves the function as it is; who wants to know what is
// scheduled reads the decorator (run.h).
auto identity(eval::Evaluator&, const eval::Arguments& arguments) -> eval::Value {
  return arguments.all.empty() ? eval::Value() : arguments.all.front().value;
}
auto schedule_decorator(eval::Evaluator&, const eval::Arguments&) -> eval::Value {
  return eval::Value(Ref<eval::Object>(eval::make_object<eval::Builtin>(Name("schedule"), identity).get()));
}

// Calls a function of indices with fresh variables: what `IndexMap.from_func` of TVM does.
auto map_of_function(eval::Evaluator& evaluator, const Ref<eval::Function>& function, Origin where, const schedule::MapRequest& request)
    -> std::optional<schedule::MapWithSeparators> {
  // Plain parameters first, then those of `*indices`, then those after it, which are given by their names.
  size_t plain = 0;
  const syntax::Param* star = nullptr;
  for (const syntax::Param& p : function->params()) {
    if (p.kind == syntax::ParamKind::Plain) { ++plain; }
    else if (p.kind == syntax::ParamKind::Star) { star = &p; }
    else {
      evaluator.report(error(Code::ArgumentKind, where).arg("what", "a function with such parameters").arg("wanted", "a function of indices"));
      return {};
    }
  }
  std::vector<Var> first, last;
  eval::Arguments call;
  auto variable = [&](Name name) {
    Var v = make<VarNode>(name, request.dtype, where);
    call.all.push_back({eval::Value(Ref<eval::Object>(eval::make_object<frontend::ExprObject>(Expr(v)).get())), where, {}});
    return v;
  };
  bool is_behind = false;
  for (const syntax::Param& p : function->params()) {
    if (&p == star) {
      for (size_t i = plain; i < request.arity; ++i) {
        size_t at = i - plain;
        bool is_named = request.names.size() == request.arity && plain == 0;
        first.push_back(variable(is_named ? request.names[at] : Name(p.name.name.str() + "_" + std::to_string(at))));
      }
      is_behind = true;
      continue;
    }
    size_t at = first.size() + last.size();
    bool is_named = at < request.names.size() && !star;
    auto& to = is_behind ? last : first;
    to.push_back(variable(is_named ? request.names[at] : p.name.name));
    if (is_behind) { call.all.back().keyword = p.name.name; }
  }
  call.positional = first.size();
  call.call = where;
  eval::Value result = evaluator.call_function(function, call);
  if (result.is_unknown()) { return {}; }
  schedule::MapWithSeparators out;
  std::vector<Expr> final;
  auto add = [&](const eval::Value& item) {
    Expr e = frontend::to_expr(evaluator, {item, where, {}});
    if (e) { final.push_back(e); }
    return bool(e);
  };
  for (const eval::Value& item : result.items() ? *result.items() : std::vector<eval::Value>{result}) {
    if (item.as<frontend::AxisSeparatorObject>()) {
      out.separators.push_back(static_cast<int64_t>(final.size()));
      continue;
    }
    const auto* range = item.items();
    if (!range) {
      if (!add(item)) { return {}; }
      if (request.is_ranges) { final.push_back(loopsmith::add(final.back(), one(final.back().dtype()))); }
      continue;
    }
    if (!request.is_ranges || range->size() != 2) {
      evaluator.report(error(Code::ArgumentKind, where).arg("what", eval::describe(item)).arg("wanted", request.is_ranges ? "an index, or a begin and an end" : "an index"));
      return {};
    }
    if (!add((*range)[0]) || !add((*range)[1])) { return {}; }
  }
  first.insert(first.end(), last.begin(), last.end());
  out.map = make_index_map({.initial = std::move(first), .final = std::move(final), .inverse = {}});
  return out;
}

auto expr_to_schedule(eval::Evaluator& evaluator, const eval::Argument& argument) -> std::optional<schedule::Value> {
  if (const auto* e = argument.value.as<frontend::ExprObject>()) { return schedule::Value(e->expr); }
  if (const auto* b = argument.value.as<frontend::BufferObject>()) { return schedule::Value(b->buffer->name.str()); }
  if (const auto* a = argument.value.as<frontend::AttrObject>()) {
    if (const auto* map = std::get_if<IndexMap>(&a->attr.value)) { return schedule::Value(*map); }
  }
  // A function of indices: an index map, once it is known of what.
  if (const auto* f = argument.value.as<eval::Function>()) {
    auto make_map = [&evaluator, function = Ref<eval::Function>(f), where = argument.where](const schedule::MapRequest& request) {
      return map_of_function(evaluator, function, where, request);
    };
    return schedule::Value(schedule::Lambda(std::make_shared<const std::function<std::optional<schedule::MapWithSeparators>(const schedule::MapRequest&)>>(make_map)));
  }
  return {};
}

auto module_value(const IRModule& module) -> eval::Value {
  return eval::Value(Ref<eval::Object>(eval::make_object<frontend::ProgramObject>(module, Name("Module"), false, Origin{}).get()));
}

// A test, or what is run as a schedule: nothing that another schedule uses.
auto is_used_by_nobody(const syntax::ItemPtr& item) -> bool {
  auto def = item->statements.empty() || !item->statements[0]->as<syntax::FunctionDef>() ? nullptr : syntax::function_of(item);
  return def && (def->name.name.view().starts_with("test_") || as_schedule_function(*def, item, item->text));
}

// What a schedule may use besides its program: the text of everything else in the file that is no program, no schedule, no test, and not what the
// file does when it is run by itself.
// `left_out`: the declaration that is run itself.
auto context_of(frontend::File& file, size_t left_out = SIZE_MAX) -> uint64_t {
  uint64_t hash = file.imports_fingerprint();
  for (size_t i = 0; i < file.size(); ++i) {
    const syntax::ItemPtr& item = file.item(i);
    if (i == left_out || item->statements.empty() || frontend::is_program(*item->statements[0]) || syntax::is_main(*item->statements[0]) || is_used_by_nobody(item)) { continue; }
    size_t at = 0;
    for (const syntax::Item::Member& member : item->members) {
      if (!is_used_by_nobody(member.item)) { continue; }
      hash = hash_combine(hash, hash_bytes(std::string_view(item->text).substr(at, member.offset - at)));
      at = member.offset + member.item->text.size();
    }
    hash = hash_combine(hash, at == 0 ? item->hash : hash_bytes(std::string_view(item->text).substr(at)));
  }
  return hash;
}

struct FunctionOfFile {
  syntax::ItemPtr item;
  Name name;
  size_t place = SIZE_MAX;   // of statements at the top
};

// Functions at the top of the file and in its classes, with their names (`TestTile.test_split`), and schedules at the top (`sch`, `sch.2`).
auto functions_of(frontend::File& file) -> std::vector<FunctionOfFile> {
  std::vector<FunctionOfFile> out;
  std::unordered_map<Name, size_t> scripts;
  for (size_t i = 0; i < file.size(); ++i) {
    const syntax::ItemPtr& item = file.item(i);
    if (auto def = syntax::function_of(item)) {
      bool is_script = syntax::is_script(*item);
      size_t number = is_script ? scripts[def->name.name] + 1 : 1;
      if (is_script) { scripts[def->name.name] += std::max<size_t>(syntax::made_schedules(*def).size(), 1); }
      out.push_back({item, number == 1 ? def->name.name : Name(def->name.name.str() + "." + std::to_string(number)), is_script ? i : SIZE_MAX});
    }
    const auto* type = item->statements.empty() ? nullptr : item->statements[0]->as<syntax::ClassDef>();
    if (!type || frontend::is_program(*type)) { continue; }
    for (const syntax::Item::Member& member : item->members) {
      if (auto def = syntax::function_of(member.item)) { out.push_back({member.item, Name(type->name.name.str() + "." + def->name.name.str())}); }
    }
  }
  return out;
}

// The programs at the top of the file, with their names.
auto programs_of(frontend::File& file) -> std::vector<std::pair<const frontend::Declaration*, Name>> {
  std::vector<std::pair<const frontend::Declaration*, Name>> out;
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& d = file.declaration(i);
    if (d.is_program) { out.emplace_back(&d, d.item->name); }
  }
  return out;
}

// The words of a text that may be names.
auto words_of(std::string_view text) -> std::unordered_set<std::string_view> {
  std::unordered_set<std::string_view> words;
  auto is_of_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0; };
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    while (at < text.size() && is_of_name(text[at])) { ++at; }
    if (at > begin) { words.insert(text.substr(begin, at - begin)); } else { ++at; }
  }
  return words;
}

// Functions at the top that give back a schedule which they make: what calls them goes on with it.
auto givers_of(const std::vector<FunctionOfFile>& functions) -> std::unordered_map<Name, const FunctionOfFile*> {
  std::unordered_map<Name, const FunctionOfFile*> out;
  for (const FunctionOfFile& function : functions) {
    std::string_view text = function.item->text;
    bool may_give = function.place == SIZE_MAX && text.find("Schedule(") != std::string_view::npos && text.find("return") != std::string_view::npos;
    if (!may_give || function.name.view().starts_with("test_") || function.name.view().find('.') != std::string_view::npos) { continue; }
    auto def = syntax::function_of(function.item);
    if (frontend::is_program(*def) || made_schedules(*def).empty()) { continue; }
    out[function.name] = &function;
  }
  return out;
}

class StopBefore final : public eval::Observer {
 public:
  explicit StopBefore(size_t end) : end_(end) {}
  auto after(eval::Evaluator&, eval::Frame&, size_t index, const syntax::Stmt&, eval::Flow) -> bool override { return index + 1 < end_; }

 private:
  size_t end_;
};

void connect() {
  static const bool done = [] {
    set_bridge({expr_to_schedule, module_value});
    intrinsics::install();
    return true;
  }();
  (void)done;
}

}  // namespace

auto predeclared(Name name) -> const eval::Value* {
  static const auto* ls = [] {
    connect();
    auto space = eval::make_object<eval::Namespace>(Name("ls"));
    const_cast<eval::Namespace*>(space.get())->add(Name("schedule"), eval::Value(Ref<eval::Object>(
        eval::make_object<eval::Builtin>(Name("schedule"), schedule_decorator).get())));
    return new eval::Value(Ref<eval::Object>(space.get()));
  }();
  static const Name short_name("ls"), long_name("loopsmith");
  return name == short_name || name == long_name ? ls : intrinsics::predeclared(name);
}

// Those that are as before stay the very same, so that schedules which may use them are not run again.
void Schedules::update_intrinsics(frontend::File& file) {
  diagnostics_.clear();
  auto now = intrinsics::registered_in(file, diagnostics_);
  bool same = intrinsics_ ? now.size() == intrinsics_->size() : now.empty();
  for (size_t i = 0; same && i < now.size(); ++i) {
    const schedule::TensorIntrin& a = (*intrinsics_)[i];
    same = a.name == now[i].name && structural_equal(a.description, now[i].description) && structural_equal(a.implementation, now[i].implementation);
  }
  if (!same) { intrinsics_ = std::make_shared<const std::vector<schedule::TensorIntrin>>(std::move(now)); }
}

// What the function says it schedules, or the file's only program.
void Schedules::find_program(frontend::File& file, const ScheduleFunction& function, FileSchedule& out) {
  eval::Evaluator& evaluator = file.evaluator();
  if (function.program) {
    size_t said = evaluator.diagnostics.size();
    eval::Value value = evaluator.eval(*function.program, evaluator.new_scope({}));
    if (const auto* program = value.as<frontend::ProgramObject>()) {
      out.program = program->module;
      out.program_name = program->name;
      out.program_decl = program->where.decl;
    } else if (!value.is_unknown()) {
      out.diagnostics.push_back(error(Code::NotAProgram, function.program->origin()).arg("what", eval::describe(value)));
    } else if (evaluator.diagnostics.size() == said && value.is_error()) {
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
  out.diagnostics.push_back(error(Code::ProgramNotSaid, out.where)
                                .arg("schedule", out.name.view())
                                .remedy("say which program it schedules: `@ls.schedule(PROGRAM)` above it"));
  // Several programs and no decorator is how TVM's own traces look: worth a hint, no error.
  out.diagnostics.back().severity = Severity::Hint;
}

// The module that the file has a name from: `kernels` of `from kernels import scale`; empty: none.
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

// Why it is not known what is scheduled, in words.
auto why_unknown(frontend::File& file, const ScheduleFunction& function) -> std::string {
  if (!function.program) { return "what it makes its schedule of is not known before it runs"; }
  if (function.form.is_nested) { return "whether and of what it is made is not known before the statements around it run"; }
  const auto* name = function.program->as<syntax::NameExpr>();
  if (!name) { return "what it schedules is made by Python that is not evaluated"; }
  bool is_parameter = std::any_of(function.def->params.begin(), function.def->params.end(), [&](const syntax::Param& p) { return p.name.name == name->name; });
  if (is_parameter) { return "`" + name->name.str() + "` is whatever it is called with"; }
  if (std::string module = module_of(file, name->name); !module.empty()) {
    return file.is_imported(name->name) ? "what `" + name->name.str() + "` is in `" + module + "` is not known before that runs" : "`" + module + "`, which has `" + name->name.str() + "`, is not found";
  }
  return "what `" + name->name.str() + "` is here is not known before it runs";
}

// The other schedule whose program `tir.Schedule(sch.mod)` goes on with; null: it is of something else.
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

// The program of `sch = tir.Schedule(PROGRAM)`: what the statements before make of it, or, where it is a parameter, the file's only
// program; and the target of the `with` around it. False: it is not known, and the schedule is left alone as any Python is.
auto Schedules::find_made_program(frontend::File& file, const ScheduleFunction& function, const FileSchedule* before, FileSchedule& out) -> bool {
  const syntax::ScheduleForm& form = function.form;
  // Programs in the body are lowered again only where something changed; those outside are not part of what is compared here.
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
  eval::Evaluator& evaluator = file.evaluator();
  size_t said = evaluator.diagnostics.size();
  eval::Value value;
  Origin target_at;
  auto look_around = [&] {
    const Attr* target = target_around(evaluator);
    out.target = target ? target_text(*target) : std::string();
  };
  evaluator.reset_steps();
  eval::Value made = evaluator.make_function(*function.def, eval::ScopeRef());
  if (const auto* callee = made.as<eval::Function>()) {
    Ref<eval::Function> called(callee);
    if (auto frame = start_call(evaluator, function, called, {})) {
      bool is_plain = !form.is_nested && !form.is_call;
      // In a loop, a branch, a helper: what the last such call is given. An inner function may be called in a statement behind it.
      bool is_inner = form.is_nested && (*function.def->body[static_cast<uint32_t>(form.made_at)]).kind == syntax::Kind::FunctionDef;
      if (!is_plain) {
        evaluator.not_called = [&](const eval::Value& opaque, const syntax::CallExpr& written, const eval::Arguments& arguments) -> std::optional<eval::Value> {
          static const Name mod("mod");
          if (!opaque.is_opaque() || !syntax::is_schedule_made(written)) { return std::nullopt; }
          if (form.is_call ? frame->next != form.made_at : written.origin() != form.made->origin()) { return std::nullopt; }
          const eval::Argument* given = arguments.positional > 0 ? &arguments.all[0] : arguments.keyword(mod);
          if (!given || !given->value.as<frontend::ProgramObject>()) { return std::nullopt; }
          value = given->value;
          look_around();
          return std::nullopt;
        };
      }
      StopBefore stop(is_inner ? function.def->body.size() : is_plain ? form.made_at : form.made_at + 1);
      if (!is_plain || form.made_at > 0) { evaluator.resume_from(0, *frame, called, &stop); }
      evaluator.not_called = nullptr;
      if (is_plain) {
        value = evaluator.eval(*function.program, frame->scope);
        // Behind Python that is not followed only what the file calls so is known.
        const auto* name = function.program->as<syntax::NameExpr>();
        if (frame->flow != eval::Flow::Next && (!name || frame->scope->find_here(name->name))) { value = {}; }
        if (form.made_at < function.contexts.size()) {
          for (const syntax::Expr* context : function.contexts[form.made_at]) {
            eval::Value around = evaluator.eval(*context, frame->scope);
            if (!around.object() || !around.object()->is_context()) { continue; }
            evaluator.contexts.push_back(std::move(around));
            target_at = context->origin();
          }
          look_around();
          evaluator.contexts.clear();
        }
      }
    }
  }
  evaluator.diagnostics.resize(said);
  evaluator.reset_steps();
  // What compiles for a device that is not known here may well be scheduled.
  if (auto read = out.target.empty() ? Result<target::Target>(target::Target()) : target::parse(out.target); !read.ok()) {
    Diagnostic told = error(Code::TargetNotCounted, target_at.is_known() ? target_at : form.made->origin()).arg("name", out.name.view()).arg("why", read.diagnostics().front().message());
    told.severity = Severity::Hint;
    out.diagnostics.push_back(std::move(told));
    out.target.clear();
  }
  const auto* program = value.as<frontend::ProgramObject>();
  if (program) {
    out.program = program->module;
    out.program_name = program->name;
    out.program_decl = program->where.decl;
    if (has_programs && before && before->program && structural_equal(before->program, out.program)) { out.program = before->program; }
    return true;
  }
  if (const syntax::ScheduleForm* other = goes_on_from(function)) {
    ScheduleFunction first = as_schedule_function(*function.def, function.tree, function.text, *other);
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
  const auto* name = function.program ? function.program->as<syntax::NameExpr>() : nullptr;
  bool is_parameter = name && std::any_of(function.def->params.begin(), function.def->params.end(), [&](const syntax::Param& p) { return p.name.name == name->name; });
  auto programs = programs_of(file);
  if (!is_parameter || programs.size() != 1) { return false; }
  out.program = programs[0].first->module;
  out.program_name = programs[0].second;
  return bool(out.program);
}

void Schedules::update(frontend::File& file) {
  connect();
  std::vector<FileSchedule> old = std::exchange(schedules_, {});
  left_alone_.clear();
  const uint64_t context = context_of(file);
  auto intrinsics_before = intrinsics_;

  update_intrinsics(file);

  auto programs = programs_of(file);

  // What was run is that of the same declaration, however it is called now; else of the one of this name that is no more.
  const std::vector<FunctionOfFile> functions = functions_of(file);
  std::unordered_set<DeclId> present;
  for (const FunctionOfFile& function : functions) { present.insert(function.item->decl); }
  std::map<std::pair<DeclId, size_t>, const FileSchedule*> same;
  std::unordered_map<Name, const FileSchedule*> gone;
  for (const FileSchedule& s : old) {
    if (present.contains(s.item->decl)) { same.emplace(std::pair(s.item->decl, s.number), &s); } else { gone.emplace(s.name, &s); }
  }
  const auto givers = givers_of(functions);
  auto gives = [&](Name name) { return givers.contains(name); };
  // What calls them depends on their text, which is that of schedules else.
  auto context_with_givers = [&](const FunctionOfFile& function, uint64_t hash) {
    std::vector<const FunctionOfFile*> reached{&function};
    for (size_t i = 0; i < reached.size() && !givers.empty(); ++i) {
      auto words = words_of(reached[i]->item->text);
      std::vector<const FunctionOfFile*> called;
      for (const auto& [name, giver] : givers) {
        if (words.contains(name.view()) && std::find(reached.begin(), reached.end(), giver) == reached.end()) { called.push_back(giver); }
      }
      std::sort(called.begin(), called.end());
      for (const FunctionOfFile* one : called) { hash = hash_combine(hash, one->item->hash); }
      reached.insert(reached.end(), called.begin(), called.end());
    }
    return hash;
  };
  std::unordered_set<Name> followed_givers;
  std::vector<ScheduleBody> bodies;
  struct Unfollowed { Name name; Name function; Origin where; std::string why; };
  std::vector<Unfollowed> unfollowed;
  // More than any function makes, and few enough that each may run the function.
  constexpr size_t most_made = 16;
  for (const FunctionOfFile& one : functions) {
    const auto& [item, name, place] = one;
    auto def = syntax::function_of(item);
    if (frontend::is_program(*def)) { continue; }
    std::vector<syntax::ScheduleForm> forms;
    if (auto first = syntax::schedule_form(*def)) { forms.push_back(*first); }
    constexpr std::string_view call = "Schedule(";
    size_t made_first = item->text.find(call);
    bool makes_some = made_first != std::string::npos;
    bool calls_some = false;
    if (!givers.empty()) {
      auto words = words_of(item->text);
      calls_some = std::any_of(givers.begin(), givers.end(), [&](const auto& giver) { return !(giver.first == def->name.name) && words.contains(giver.first.view()); });
    }
    // Mostly there is one, in a statement of its own: the text tells.
    bool is_only = !forms.empty() && (!forms[0].made || (!calls_some && item->text.find(call, made_first + 1) == std::string::npos));
    if (!is_only && (makes_some || calls_some)) { forms = syntax::made_schedules(*def, [&](Name called) { return !(called == def->name.name) && gives(called); }); }
    if (!forms.empty() || !syntax::schedule_parameter(*def).empty()) { bodies.push_back({item, place}); }
    if (forms.size() > most_made) {
      unfollowed.push_back({name, name, {def->decl, forms[most_made].variable_span.begin, forms[most_made].variable_span.end, 0}, "a function is followed to its schedule " + std::to_string(most_made)});
      forms.resize(most_made);
    }
    for (size_t number = 0; number < forms.size(); ++number) {
      ScheduleFunction function = as_schedule_function(*def, def, item->text, forms[number]);
      for (size_t other = 0; other < forms.size(); ++other) {
        if (other != number) { function.others.push_back(forms[other]); }
      }
      function.contexts = syntax::contexts_of(item);
      FileSchedule s;
      s.name = number == 0 ? name : Name(name.str() + "." + std::to_string(number + 1));
      s.place = place;
      s.context = context_with_givers(one, place == SIZE_MAX ? context : context_of(file, place));
      s.decl = def->decl;
      s.where = number == 0 ? Origin{def->decl, def->name.span.begin, def->name.span.end, 0} : Origin{def->decl, forms[number].variable_span.begin, forms[number].variable_span.end, 0};
      s.item = item;
      s.makes_its_own = function.form.made != nullptr;
      s.form = function.form;
      s.others = function.others;
      s.number = number;
      eval::Evaluator& evaluator = file.evaluator();
      size_t said = evaluator.diagnostics.size();
      const FileSchedule* last = nullptr;
      if (auto found = same.find({item->decl, number}); found != same.end()) { last = found->second; }
      else if (auto named = gone.find(s.name); named != gone.end()) { last = std::exchange(named->second, nullptr); }
      if (!function.form.made) { find_program(file, function, s); }
      else {
        bool is_found = [&] {
          auto place_of_names = file.seen_from(place);
          return find_made_program(file, function, last, s);
        }();
        if (!is_found) {
          const syntax::Expr* program = function.program ? function.program : function.form.made;
          left_alone_.push_back({s.name, program->origin(), why_unknown(file, function)});
          unfollowed.push_back({s.name, name, program->origin(), left_alone_.back().why});
          continue;
        }
        if (function.form.is_call) { followed_givers.insert(function.form.made->callee->as<syntax::NameExpr>()->name); }
      }
      for (auto& [d, program] : programs) {
        if (s.program && d->module.same_as(s.program)) {
          s.program_name = program;
          s.program_decl = d->item->decl;
        }
      }
      if (function.target) {
        eval::Value value = evaluator.eval(*function.target, evaluator.new_scope({}));
        if (const std::string* text = value.string()) { s.target = *text; }
        if (auto read = s.target.empty() ? Result<target::Target>(target::Target()) : target::parse(s.target); !read.ok()) {
          for (Diagnostic told : read.diagnostics()) {
            told.where = function.target->origin();
            s.diagnostics.push_back(std::move(told));
          }
        }
      }
      for (size_t d = said; d < evaluator.diagnostics.size(); ++d) { s.diagnostics.push_back(evaluator.diagnostics[d]); }
      evaluator.diagnostics.resize(said);
      const auto* outside = function.program && !function.form.made ? function.program->as<syntax::NameExpr>() : nullptr;
      if (!s.program && s.diagnostics.empty() && outside && !module_of(file, outside->name).empty()) { unfollowed.push_back({s.name, {}, function.program->origin(), why_unknown(file, function)}); }
      s.first_program = s.program;
      if (last != nullptr) {
        const FileSchedule& b = *last;
        s.run = b.run;
        s.interrupted = b.interrupted;
        s.is_settled = b.is_settled && b.context == s.context && intrinsics_before == intrinsics_ && b.decl == s.decl && b.target == s.target && s.program && s.first_program.same_as(b.first_program);
        // What it was made of is known once it has run, and stands until it runs again.
        if (s.goes_on_from_other && b.goes_on_from_other && b.program && s.program && s.first_program.same_as(b.first_program)) { s.program = b.program; }
      }
      schedules_.push_back(std::move(s));
    }
  }
  // At the top of a file a schedule is followed where it is made by a statement of its own (lines.h cuts the text there).
  for (size_t i = 0; i < file.size(); ++i) {
    const syntax::ItemPtr& item = file.item(i);
    if (item->statements.empty() || item->text.find("Schedule(") == std::string::npos || syntax::function_of(item) || item->statements[0]->as<syntax::ClassDef>()) { continue; }
    syntax::FunctionDef top;
    top.body = item->statements;
    for (const syntax::ScheduleForm& form : syntax::made_schedules(top)) {
      unfollowed.push_back({form.variable, {}, {item->decl, form.variable_span.begin, form.variable_span.end, 0}, "it is made inside another statement at the top of the file"});
    }
  }
  // A helper that is followed where it is called says nothing more.
  for (const Unfollowed& one : unfollowed) {
    if (followed_givers.contains(one.function)) { continue; }
    Diagnostic told = error(Code::ScheduleNotFollowed, one.where).arg("name", one.name.view()).arg("from", "").arg("why", one.why);
    told.severity = Severity::Hint;
    diagnostics_.push_back(std::move(told));
  }
  names_.update(file, bodies);
  diagnostics_.insert(diagnostics_.end(), names_.diagnostics().begin(), names_.diagnostics().end());
}

auto Schedules::run_one(frontend::File& file, FileSchedule& schedule, const CancelToken& cancel, std::optional<size_t> steps, const StepWatch& watch) -> void {
  // What ran for a program that is gone says nothing of this text.
  if (!schedule.program) { schedule.run = schedule.interrupted = nullptr; }
  if (!schedule.program || !schedule.item || (schedule.is_settled && !steps)) { return; }
  auto def = syntax::function_of(schedule.item);
  RunRequest request;
  request.function = as_schedule_function(*def, def, schedule.item->text, schedule.form);
  request.function.others = schedule.others;
  request.function.contexts = syntax::contexts_of(schedule.item);
  request.program = schedule.first_program;
  request.goes_on_from_other = schedule.goes_on_from_other;
  request.target = schedule.target;
  request.globals = &file;
  request.heap = file.evaluator().heap();
  request.context = schedule.context;
  request.intrinsics = intrinsics_;
  request.cancel = cancel;
  request.steps = steps;
  request.watch = watch;
  const ScheduleRun* before = schedule.interrupted ? schedule.interrupted.get() : schedule.run.get();
  auto run = [&] {
    auto place_of_names = file.seen_from(schedule.place);
    return std::make_shared<ScheduleRun>(run_schedule(request, before));
  }();
  file.move_to_call(run->diagnostics, schedule.where);
  for (Step& step : run->steps) {
    file.move_to_call(step.diagnostics, step.where);
    // What is wrong there says why it is not followed.
    std::erase_if(step.diagnostics, [&](const Diagnostic& d) {
      const Origin& at = d.notes.empty() ? d.where : d.notes[0].where;
      return d.code == Code::ScheduleNotFollowed && std::any_of(names_.diagnostics().begin(), names_.diagnostics().end(), [&](const Diagnostic& told) { return told.where == at; });
    });
  }
  executed_ += run->primitives;
  if (cancel.is_cancelled()) {
    // Half a run would take away what is shown of the statements behind it, only for the other half to bring it back.
    schedule.interrupted = std::move(run);
    return;
  }
  schedule.interrupted = nullptr;
  if (schedule.goes_on_from_other) { schedule.program = run->program; }
  schedule.run = std::move(run);
  schedule.is_settled = !steps;
}

auto Schedules::run_all(frontend::File& file, const CancelToken& cancel, const StepWatch& watch) -> bool {
  executed_ = 0;
  for (FileSchedule& schedule : schedules_) {
    if (cancel.is_cancelled()) { return false; }
    run_one(file, schedule, cancel, {}, watch);
    if (cancel.is_cancelled()) { return false; }
  }
  return true;
}

auto Schedules::find(Name name) -> FileSchedule* {
  for (FileSchedule& s : schedules_) {
    if (s.name == name) { return &s; }
  }
  return nullptr;
}

}  // namespace loopsmith::script
