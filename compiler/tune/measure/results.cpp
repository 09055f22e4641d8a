// The program of a task, and the comparison of results: see results.h.
#include "tune/measure/results.h"

#include "frontend/file.h"
#include "schedule/trace_json.h"
#include "syntax/document.h"

namespace loopsmith::tune {

auto first_message(const Diagnostics& diagnostics) -> std::string {
  return diagnostics.empty() ? std::string("no reason given") : diagnostics.front().message();
}

auto read_module(const std::string& text, Name function) -> Result<IRModule> {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  IRModule module;
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& d = file.declaration(i);
    if (d.is_program && d.module && d.module->find(function)) { module = d.module; }
  }
  if (!module) {
    Diagnostics found = document.diagnostics();
    for (Diagnostic& d : file.diagnostics()) { found.push_back(std::move(d)); }
    return found;
  }
  return module;
}

auto replayed(const IRModule& module, Name function, const std::string& text) -> Result<IRModule> {
  LOOPSMITH_TRY(trace, schedule::trace_from_json(text));
  schedule::Schedule sch(module, 1);
  if (!(sch.func_working_on() == function)) { LOOPSMITH_CHECK(sch.work_on(function)); }
  LOOPSMITH_CHECK(sch.replay(trace));
  return sch.module();
}

auto differs(const PrimFunc& func, const interp::Inputs& expected, const interp::Inputs& got, bool exact, int* deciding_bits, CheckReply* reply) -> std::string {
  for (size_t i = 0; i < expected.arguments.size(); ++i) {
    const auto* a = std::get_if<TensorView>(&expected.arguments[i]);
    if (!a) { continue; }
    Buffer buffer = func->buffer_of(func->params[i]);
    interp::Difference d = interp::compare_tensors((buffer ? buffer->name : func->params[i]->name).str(), *a, std::get<TensorView>(got.arguments[i]), exact);
    DataType t = a->dtype.element();
    if (reply && t.is_real() && d.relative > reply->error) {
      reply->error = d.relative;
      reply->allowed = d.allowed;
    }
    if (!d.found) { continue; }
    if (deciding_bits) { *deciding_bits = interp::deciding_bits(func, t, d.largest, interp::magnitude_of(*a)); }
    return d.where;
  }
  return {};
}

}  // namespace loopsmith::tune
