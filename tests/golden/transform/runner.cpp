// golden-transform DIR PASS/CASE: runs one lowering stage on DIR/PASS/CASE.tir and compares the printed result with
// DIR/PASS/CASE.expect.tir. The result must also parse to an equal program and compute the same (if the interpreter can run
// the program).
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
#include "syntax/document.h"
#include "transform/pipelines.h"

using namespace loopsmith;

namespace {

auto read(const std::string& path) -> std::string {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "golden-transform: {}\n", why);
  std::exit(1);
}

auto parse(const std::string& text, const std::string& what) -> IRModule {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  IRModule module;
  Diagnostics all = document.diagnostics();
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& declaration = file.declaration(i);
    all.insert(all.end(), declaration.diagnostics.begin(), declaration.diagnostics.end());
    if (declaration.is_program && declaration.module) { module = declaration.module; }
  }
  for (const Diagnostic& d : all) {
    if (d.severity == Severity::Error) { fail(what + ": " + d.message() + "\n" + text); }
  }
  if (!module) { fail(what + " holds no program"); }
  return module;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) { fail("usage: golden-transform DIR PASS/CASE"); }
  std::string path = std::string(argv[1]) + "/" + argv[2];
  std::string name = argv[2];
  std::string pass_name = name.substr(0, name.find('/'));
  const transform::Stage* stage = nullptr;
  for (const char* target : {"cuda", "llvm"}) {
    for (const transform::Stage& s : transform::pipeline(target)) {
      if (s.name == pass_name) { stage = &s; }
    }
  }
  if (!stage) { fail("no stage is called `" + pass_name + "`"); }
  IRModule before = parse(read(path + ".tir"), path + ".tir");
  transform::LowerContext context;
  // Optional stages are switched on.
  context.options.check_bounds = true;
  context.options.share_subexpressions = true;
  context.options.profile_depth = 2;
  auto result = stage->pass(before, context);
  if (!result.ok()) { fail(result.diagnostics()[0].message()); }
  const IRModule& after = *result;
  for (const auto& [function, func] : after->functions) {
    auto lost = before->find(function) ? lost_definition(before->find(function), func) : std::nullopt;
    if (lost) { fail("nothing defines `" + *lost + "` any more\n" + print_script(after)); }
  }
  std::string text = print_script(after) + "\n";

  IRModule again = parse(text, "the result's own text");
  if (auto d = first_difference(after, again)) { fail("the text reads back as other IR: at " + d->path + ": " + d->left + " and " + d->right); }
  auto same = interp::compare_modules(before, after, "main");
  if (!same.ok()) { fail("it cannot be interpreted: " + same.diagnostics()[0].message()); }
  if (!same->equal) { fail("it computes something else: " + same->difference); }

  std::string expected_path = path + ".expect.tir";
  if (std::getenv("LOOPSMITH_UPDATE")) {
    std::ofstream(expected_path, std::ios::binary) << text;
    return 0;
  }
  std::string expected = read(expected_path);
  if (expected != text) { fail("expected\n" + expected + "got\n" + text); }
  return 0;
}
