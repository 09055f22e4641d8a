// The page of a report: well-formed and without external resources, for any names and numbers in it.
#include "driver/report_page.h"

#include <string>
#include <vector>

#include "tests/unit/catch.h"

using namespace loopsmith::driver;

namespace {

/// The first tag that is not closed in order; empty: all are.
auto unbalanced(const std::string& page) -> std::string {
  std::vector<std::string> open;
  size_t at = page.find("<html");
  if (at == std::string::npos) { return "no html"; }
  for (; (at = page.find('<', at)) != std::string::npos; ++at) {
    size_t end = page.find('>', at);
    if (end == std::string::npos) { return page.substr(at, 40); }
    std::string tag = page.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) { return tag; }
    if (tag.ends_with("/")) { continue; }
    std::string name = tag.substr(0, tag.find_first_of(" \n"));
    if (name[0] != '/') { open.push_back(name); continue; }
    if (open.empty() || open.back() != name.substr(1)) { return tag; }
    open.pop_back();
  }
  return open.empty() ? "" : open.back();
}

auto some() -> Report {
  Report report;
  report.file = "a<b>&\"c\".tir";
  report.roof = {.machine = "box", .is_measured = true, .gflops_one = 100, .gflops_all = 200, .gbytes_one = 10, .gbytes_all = 15, .threads = 2};
  report.problems = {"a.tir:1:1: error: `<` is no name"};
  ReportProgram program{.name = "matmul", .text = "if a < b:\n", .flops = 2e9, .bytes = 12e6, .versions = {}, .tuning = {}};
  program.versions.push_back({.name = "as written", .tree = "block C  C <- A,B\n", .seconds = 1.0});
  program.versions.push_back({.name = "tiled", .tree = "i_0 32 parallel\n", .seconds = 0.02, .gain = "about 50x faster"});
  program.versions.push_back({.name = "broken", .tree = "", .problem = "no block <C>"});
  program.tuning.push_back({.target = "llvm", .machine = "box", .trials = {0, 0.5, 0.1, 0, 0.2}, .best_seconds = 0.1, .is_here = true});
  program.tuning.push_back({.target = "llvm -mcpu=x", .machine = "elsewhere", .trials = {0, 0}});
  report.programs = {program, {.name = "nothing", .text = "", .versions = {{.name = "as written", .tree = "", .problem = "no blocks"}}, .tuning = {}}};
  return report;
}

}  // namespace

TEST_CASE("a report is a well-formed page that needs nothing else") {
  std::string page = report_page(some());
  CHECK(unbalanced(page).empty());
  CHECK(page.find("a&lt;b&gt;&amp;&quot;c&quot;.tir") != std::string::npos);
  CHECK(page.find("http") == std::string::npos);
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("nan") == std::string::npos);
  CHECK(page.find("inf") == std::string::npos);
  CHECK(page.find("about 50x faster") != std::string::npos);
  CHECK(page.find("5 trials, the best takes 100") != std::string::npos);
  CHECK(page.find("no block &lt;C&gt;") != std::string::npos);
}

TEST_CASE("a roofline has a point for each estimate and each best trial on this machine, a curve one for each trial") {
  std::string page = report_page(some());
  auto count = [&](const std::string& what) {
    size_t n = 0;
    for (size_t at = 0; (at = page.find(what, at)) != std::string::npos; ++at) { ++n; }
    return n;
  };
  CHECK(count("<circle class=\"version\"") == 2);
  CHECK(count("<circle class=\"measured\"") == 1);
  CHECK(count("<circle class=\"trial\"") == 3);
  CHECK(count("<path class=\"best\"") == 1);
  CHECK(count("<path class=\"roof") == 2);
}

TEST_CASE("unknown numbers leave drawings out") {
  Report report = some();
  report.roof = {};
  report.programs[0].flops = 0;
  report.programs[0].tuning.clear();
  std::string page = report_page(report);
  CHECK(unbalanced(page).empty());
  CHECK(page.find("<svg") == std::string::npos);
}
