// language_surface TEXTS ORACLE docs/language.md: the whole language.
//
// Every text of TEXTS is parsed without an error. Each of its programs is printed and parsed to an equal program, with the same
// hash and the same text; lowered; and interpreted before and after lowering with equal results, unless the text is marked as
// not runnable. Then constructs.def is counted: every construct occurs in a text that was run, and in an example of the
// reference. `--list` prints the counts.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "corpus.h"
#include "interp/compare.h"
#include "ir/calls.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "transform/pipelines.h"

using namespace loopsmith;
using namespace loopsmith::language;

namespace {

struct Construct { const char* group; const char* pattern; };
constexpr Construct constructs[] = {
#define GROUP(name) {name, nullptr},
#define RUN(pattern) {nullptr, pattern},
#include "constructs.def"
// Every intrinsic, also those listed above.
#define INTRINSIC(name, op, rule, low, high) {nullptr, "T." #name},
#include "frontend/intrinsics.def"
};

int failures = 0;
void fail(const std::string& what, const std::string& why) {
  ++failures;
  fmt::print("FAILED {}\n  {}\n", what, why);
}

// Print, parse, compare.
auto round_trip(const std::string& what, const IRModule& module) -> bool {
  std::string printed = print_script(module);
  Parsed again = parse(printed);
  if (again.programs.size() != 1) { fail(what, "is printed as a text that is not read:\n" + again.problems + printed); return false; }
  // Programs with free variables (check_well_formed=False) have no such mark when printed; only the structure is compared.
  if (auto d = first_difference(module, again.programs[0].module, {.map_free_vars = !again.problems.empty()})) {
    fail(what, "is printed as another program; at " + d->path + ": " + d->left + " became " + d->right + "\n" + printed);
    return false;
  }
  std::string twice = print_script(again.programs[0].module);
  if (twice != printed) { fail(what, "is printed differently the second time:\n" + printed + twice); return false; }
  if (again.problems.empty() && structural_hash(module) != structural_hash(again.programs[0].module)) { fail(what, "equal programs have different hashes"); return false; }
  return true;
}

auto is_called(const IRModule& module, Name function) -> bool {
  return std::any_of(module->functions.begin(), module->functions.end(), [&](const auto& entry) {
    std::vector<Name> called = called_in(*module, entry.second);
    return std::find(called.begin(), called.end(), function) != called.end();
  });
}

auto run(const std::string& what, const IRModule& module, bool is_lowered) -> bool {
  auto lowered = is_lowered ? transform::lower(module) : Result<IRModule>(module);
  if (!lowered) { fail(what, "is not lowered: " + lowered.diagnostics().front().message()); return false; }
  bool all = true;
  interp::GateOptions options;
  options.seed = 7;
  options.max_seconds = 20;
  for (const auto& [name, func] : module->functions) {
    // Functions that other functions call are run by these; lowering inlines them.
    if (func->is_private && is_called(module, name)) { continue; }
    auto result = interp::compare_modules(module, *lowered, name, options);
    if (!result) { fail(what, "is not run: " + result.diagnostics().front().message()); all = false; continue; }
    if (!result->equal) { fail(what, "lowering changes it: " + result->difference); all = false; }
  }
  return all;
}

auto is_word(char c) -> bool { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
// Occurrences that are not part of longer names.
auto count(const std::string& text, std::string_view pattern) -> int {
  int n = 0;
  for (size_t at = text.find(pattern); at != std::string::npos; at = text.find(pattern, at + 1)) {
    bool starts = at == 0 || !is_word(text[at - 1]) || !is_word(pattern.front());
    size_t end = at + pattern.size();
    bool ends = end >= text.size() || !is_word(text[end]) || !is_word(pattern.back());
    n += starts && ends ? 1 : 0;
  }
  return n;
}

// The Python blocks of a page.
auto examples_of(const char* path) -> std::string {
  std::ifstream in(path);
  std::string out, line;
  bool inside = false;
  while (std::getline(in, line)) {
    if (line.starts_with("```")) { inside = line == "```python"; continue; }
    if (inside) { out += line + "\n"; }
  }
  return out;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  bool list = argc > 4 && std::strcmp(argv[4], "--list") == 0;
  if (argc < 4) { fmt::print("usage: language_surface TEXTS ORACLE docs/language.md [--list]\n"); return 2; }
  std::string manual = examples_of(argv[3]);
  std::vector<Text> texts = read_texts(argv[1]);
  std::vector<Text> corpus = read_corpus(argv[2], 1000);
  if (texts.empty() || corpus.empty()) { fmt::print("nothing to read\n"); return 2; }
  std::vector<bool> was_run(texts.size());
  size_t programs = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Text& t = texts[i];
    Parsed parsed = parse(t.text);
    if (!parsed.problems.empty()) { fail(t.name, "is not read:\n" + parsed.problems); continue; }
    if (parsed.programs.empty()) { fail(t.name, "has no program"); continue; }
    bool good = true;
    for (const Program& p : parsed.programs) {
      ++programs;
      std::string what = t.name + ", " + p.name;
      good = round_trip(what, p.module) && good;
      if (t.not_run.empty()) { good = run(what, p.module, t.not_lowered.empty()) && good; }
    }
    was_run[i] = good && t.not_run.empty();
  }
  const char* group = "";
  size_t counted = 0;
  bool is_intrinsic = false;
  for (const Construct& c : constructs) {
    if (c.group) { group = c.group; if (list) { fmt::print("{}\n", group); } continue; }
    // The reference has examples of all operators except rare ones, and of no other language.
    is_intrinsic = is_intrinsic || std::strcmp(group, "all intrinsics") == 0;
    int ours = 0, ran = 0, theirs = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      int n = count(texts[i].text, c.pattern);
      ours += n;
      if (was_run[i]) { ran += n; }
    }
    for (const Text& t : corpus) { theirs += count(t.text, c.pattern); }
    ++counted;
    if (list) { fmt::print("  {:6} {:6} run, {:6} in the corpus  {}\n", ours, ran, theirs, c.pattern); }
    if (!is_intrinsic && std::strcmp(c.pattern, "R.function") != 0 && count(manual, c.pattern) == 0) { fail(fmt::format("{}: `{}`", group, c.pattern), "has no example in the reference"); }
    if (ours == 0) { fail(fmt::format("{}: `{}`", group, c.pattern), "occurs in no text"); }
    else if (ran == 0) { fail(fmt::format("{}: `{}`", group, c.pattern), "occurs in no text that was run"); }
  }
  fmt::print("{} texts, {} programs, {} constructs, {} failures\n", texts.size(), programs, counted, failures);
  return failures == 0 ? 0 : 1;
}
