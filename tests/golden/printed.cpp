// Programs and texts are two forms of the same thing: a printed program parses to an equal program.
//
//   golden_printed language FILE.md       every ```python block of a page: it has no errors and the standard layout, and its programs,
//                                         also as its schedules transform them, are printed in every dialect and parsed again
//   golden_printed stages [--all]         programs of the corpus after every stage of lowering, in every dialect
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "format/format.h"
#include "frontend/file.h"
#include "ir/dialects.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "schedule/schedule.h"
#include "support/text_diff.h"
#include "tests/support/corpus.h"
#include "transform/pipelines.h"
#include "workspace/snapshot.h"

namespace {

using namespace loopsmith;

int failures = 0;
void fail(const std::string& where, const std::string& what) {
  std::printf("FAIL %s: %s\n", where.c_str(), what.c_str());
  ++failures;
}

auto read_back(const std::string& text) -> IRModule {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  return file.size() == 0 ? IRModule() : file.declaration(file.size() - 1).module;
}

void round_trip(const std::string& where, const IRModule& module) {
  for (Dialect dialect : {dialects::block, dialects::sblock, dialects::s_tir, dialects::ts, dialects::tensor}) {
    PrintOptions options;
    options.dialect = dialect;
    options.override_dialect = true;
    std::string text = print_script(module, options);
    IRModule again = read_back(text);
    if (!again) { fail(where, "what was printed is not read\n" + text); }
    // The corpus contains ill-formed results of the reference, with undefined variables.
    else if (!structural_equal(module, again, EqualOptions{.map_free_vars = true})) { fail(where, "what was printed is another program\n" + render_diff(text, print_script(again, options))); }
    else if (print_script(again, options) != text) { fail(where, "printed again it is another text\n" + render_diff(text, print_script(again, options))); }
  }
}

auto language(const char* path) -> int {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  std::string page = all.str();
  size_t blocks = 0, programs = 0, schedules = 0;
  const std::string open = "```python\n";
  for (size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    size_t end = page.find("```", at);
    std::string text = page.substr(at, end - at);
    std::string where = "the block " + std::to_string(++blocks) + " (`" + text.substr(0, text.find('\n')) + "` ...)";
    at = end;
    auto document = workspace::analyse("example.tir", text);
    auto snapshot = document->snapshot();
    // Functions of a program's own are called in some examples, which is an information.
    for (const workspace::Finding& finding : snapshot->findings()) {
      if (finding.severity <= Severity::Warning) { fail(where, finding.message); }
    }
    if (std::string laid = format::format_text(text); laid != text) { fail(where, "it is not laid out\n" + render_diff(text, laid)); }
    for (const workspace::Program& program : snapshot->programs()) {
      if (!program.module) { continue; }
      round_trip(where, program.module);
      ++programs;
    }
    for (const script::FileSchedule& schedule : snapshot->schedules()) {
      if (!schedule.run || !schedule.run->is_complete) {
        fail(where, "a schedule does not run to its end");
        continue;
      }
      round_trip(where + " " + std::string(schedule.name.view()), schedule.run->result->module());
      ++schedules;
    }
  }
  std::printf("%zu blocks, %zu programs, %zu schedules, %d failures\n", blocks, programs, schedules, failures);
  return failures == 0 && blocks >= 20 && programs >= 20 && schedules >= 1 ? 0 : 1;
}

auto stages(size_t stride) -> int {
  size_t programs = 0, forms = 0;
  std::set<std::string> seen;
  const auto& texts = tests::corpus_texts();
  for (size_t i = 0; i < texts.size() && failures < 10; i += stride) {
    IRModule module = read_back(texts[i].second);
    if (!module) {
      fail(texts[i].first, "it is not read");
      continue;
    }
    ++programs;
    round_trip(texts[i].first, module);
    transform::LowerRequest request;
    request.on_stage = [&](const transform::StageReport& report) {
      if (report.is_unchanged()) { return; }
      seen.insert(report.stage->name);
      ++forms;
      round_trip(texts[i].first + " after " + report.stage->name, report.after);
    };
    // Some stage refuses programs for other machines than CPUs; the stages before it are checked.
    (void)transform::lower(module, {}, request);
  }
  std::printf("%zu programs, %zu forms after %zu stages, %d failures\n", programs, forms, seen.size(), failures);
  return failures == 0 && programs > 10 && seen.size() > 5 ? 0 : 1;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc == 3 && std::strcmp(argv[1], "language") == 0) { return language(argv[2]); }
  if (argc >= 2 && std::strcmp(argv[1], "stages") == 0) { return stages(argc == 3 ? 1 : 41); }
  return 2;
}
