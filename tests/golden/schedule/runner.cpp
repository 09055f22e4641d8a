// golden-schedule DIR PRIMITIVE/CASE: runs the schedule in DIR/PRIMITIVE/CASE.tir. If the file has `# error[code]: text`, that
// error must be reported, with the program as before the failing statement. Otherwise the result must be the text of
// CASE.expect.tir, parse to an equal program, compute the same (in the interpreter), and be reproduced by its own trace, written to JSON and read.
// LOOPSMITH_UPDATE=1 writes the expectation.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "frontend/file.h"
#include "interp/compare.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "ir/undefined.h"
#include "schedule/trace_json.h"
#include "script/schedules.h"
#include "syntax/document.h"

using namespace loopsmith;

namespace {

auto read(const std::string& path) -> std::string {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "golden-schedule: {}\n", why);
  std::exit(1);
}

struct Expected { std::string code, text; };
auto expected_error(const std::string& text) -> Expected {
  size_t at = text.find("# error[");
  if (at == std::string::npos) { return {}; }
  size_t close = text.find("]: ", at);
  size_t end = text.find('\n', at);
  if (close == std::string::npos || close > end) { fail("the expected error is written `# error[code]: text`"); }
  return {text.substr(at + 8, close - at - 8), text.substr(close + 3, end - close - 3)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) { fail("usage: golden-schedule DIR PRIMITIVE/CASE"); }
  std::string path = std::string(argv[1]) + "/" + argv[2];
  std::string text = read(path + ".tir");
  if (text.empty()) { fail("cannot read " + path + ".tir"); }
  syntax::Document document(text);
  frontend::File file(script::predeclared);
  file.update(document);
  for (const Diagnostic& d : document.diagnostics()) { fail(d.message()); }
  for (const Diagnostic& d : file.diagnostics()) { fail(d.message()); }
  script::Schedules schedules;
  schedules.update(file);
  schedules.run_all(file, {});
  if (schedules.all().size() != 1) { fail("the file must hold one schedule"); }
  const script::FileSchedule& schedule = schedules.all().front();
  if (!schedule.run || !schedule.run->result) { fail("the schedule was not run: " + (schedule.diagnostics.empty() ? "" : schedule.diagnostics[0].message())); }

  Diagnostics diagnostics = schedules.diagnostics();
  for (const Diagnostic& d : schedule.run->all_diagnostics()) { diagnostics.push_back(d); }
  Expected expected = expected_error(text);
  const schedule::Schedule& result = *schedule.run->result;
  if (!expected.code.empty()) {
    if (diagnostics.empty()) { fail("no error, where there should be [" + expected.code + "]"); }
    std::string code(code_id(diagnostics[0].code));
    if (code != expected.code || diagnostics[0].message() != expected.text) {
      fail("error [" + code + "]: " + diagnostics[0].message() + "\n    where there should be [" + expected.code + "]: " + expected.text);
    }
  } else if (!diagnostics.empty()) {
    fail(diagnostics[0].message());
  }

  std::string printed = print_script(result.module()) + "\n";
  for (const auto& [function, func] : result.module()->functions) {
    auto lost = schedule.program->find(function) ? lost_definition(schedule.program->find(function), func) : std::nullopt;
    if (lost) { fail("nothing defines `" + *lost + "` any more\n" + printed); }
  }
  auto same = interp::compare_modules(schedule.program, result.module(), "main");
  if (!same.ok()) { fail("it cannot be interpreted: " + same.diagnostics()[0].message()); }
  if (!same->equal) { fail("it computes something else: " + same->difference + "\n" + printed); }
  if (!expected.code.empty()) { return 0; }

  auto trace = schedule::trace_from_json(schedule::trace_to_json(result.trace()));
  if (!trace) { fail("its trace does not read back: " + trace.diagnostics()[0].message()); }
  schedule::Schedule again(schedule.program);
  again.use_intrinsics(schedules.intrinsics());
  auto replayed = again.replay(*trace);
  if (!replayed.ok()) { fail("its trace is not accepted: " + replayed.diagnostics()[0].message()); }
  if (auto d = first_difference(result.module(), again.module())) { fail("its trace gives another program: at " + d->path); }
  if (again.trace().python() != result.trace().python()) { fail("the trace of its trace is another one"); }

  std::string expected_path = path + ".expect.tir";
  if (std::getenv("LOOPSMITH_UPDATE")) {
    std::ofstream(expected_path, std::ios::binary) << printed;
    return 0;
  }
  if (read(expected_path) != printed) { fail("expected\n" + read(expected_path) + "\ngot\n" + printed); }
  return 0;
}
