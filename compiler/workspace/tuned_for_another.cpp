// Compares certificates with the programs of a text: see tuned_for_another.h.
#include "workspace/tuned_for_another.h"

#include "ir/equal.h"
#include "script/held.h"
#include "support/codes.h"
#include "workspace/edits/certificate.h"

namespace loopsmith::workspace {
namespace {

auto program_of(const Snapshot& snapshot, const script::FileSchedule& schedule) -> const Program* {
  for (const Program& one : snapshot.programs()) {
    if (one.module && !one.is_inside && one.decl == schedule.program_decl) { return &one; }
  }
  return nullptr;
}

}  // namespace

auto is_tuned_for_another(const Snapshot& snapshot, const script::FileSchedule& schedule) -> bool {
  syntax::ItemPtr item = snapshot.syntax().declaration(schedule.decl);
  if (!item || schedule.run == nullptr || !schedule.is_settled()) { return false; }
  auto certificate = certificate_in(item->text);
  if (!certificate) { return false; }
  const Program* program = program_of(snapshot, schedule);
  const IRModule& module = program != nullptr ? program->module : schedule.run->program;
  return module && structural_hash(module) != certificate->program;
}

auto tuned_for_another(const Snapshot& snapshot, const script::FileSchedule& schedule) -> std::optional<Diagnostic> {
  if (!is_tuned_for_another(snapshot, schedule)) { return std::nullopt; }
  const std::string& name = schedule.program_name.str();
  Diagnostic found = error(Code::TunedForAnother, schedule.where).arg("schedule", schedule.name.view()).arg("program", name).arg("holds", script::what_holds(*schedule.run));
  syntax::ItemPtr program = snapshot.syntax().declaration(schedule.program_decl);
  for (const syntax::Stmt* statement : program ? program->statements : syntax::Block()) {
    const auto* function = statement->as<syntax::FunctionDef>();
    if (function == nullptr) { continue; }
    (void)std::move(found).note({function->decl, function->name.span.begin, function->name.span.end, 0}, "changed since the schedule was found");
  }
  return std::move(found).remedy("tune `" + name + "` again");
}

}  // namespace loopsmith::workspace
