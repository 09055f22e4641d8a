// numpy-tutorials FOLDER: TVM's tutorials of tensor expressions, AutoTVM and the auto-scheduler as files, FOLDER/tutorials/NAME.py. Every schedule of a file is run, and the
// program that it makes is compared with NumPy on FOLDER/data/tutorials/NAME.TENSOR.npy; so are the programs that no schedule changes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "against.h"
#include "intrinsics/registry.h"
#include "workspace/selection.h"
#include "workspace/snapshot.h"

using namespace loopsmith;

namespace {

struct Made { std::string name; IRModule module; };

/// The programs of a file after its schedules, or as written where no schedule is; the errors of the file are failures.
auto programs_of(workspace::Document& document, std::vector<std::string>& failures) -> std::vector<Made> {
  std::vector<Made> out;
  for (const Diagnostic& d : document.snapshot()->diagnostics()) {
    if (d.severity == Severity::Error) { failures.push_back(d.message()); }
  }
  for (const std::string& name : workspace::schedule_names(*document.snapshot())) {
    auto ran = document.run_schedule(name);
    if (!ran.ok()) {
      failures.push_back(fmt::format("{}: {}", name, ran.diagnostics()[0].message()));
      continue;
    }
    for (const Diagnostic& d : ran->all_diagnostics()) { failures.push_back(fmt::format("{}: {}", name, d.message())); }
    if (ran->result && ran->is_complete) { out.push_back({name, ran->result->module()}); }
  }
  if (!out.empty()) { return out; }
  for (const workspace::Program& program : workspace::top_programs(*document.snapshot())) { out.push_back({program.name.str(), program.module}); }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) { fmt::print(stderr, "usage: numpy-tutorials FOLDER\n"); return 2; }
  const std::filesystem::path folder = argv[1];
  intrinsics::install();
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "tutorials")) { files.push_back(entry.path()); }
  std::sort(files.begin(), files.end());
  int programs = 0, failed = 0;
  for (const std::filesystem::path& path : files) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    workspace::Document document(path.string(), 0, text.str(), nullptr);
    document.evaluate();
    std::vector<std::string> failures;
    const std::vector<Made> made = programs_of(document, failures);
    if (made.empty()) { failures.emplace_back("no program"); }
    for (const Made& one : made) {
      ++programs;
      numpy::Data data;
      std::string problem = numpy::read_data(one.module->functions[0].second, (folder / "data/tutorials" / path.stem()).string(), data);
      if (!problem.empty()) { failures.push_back(problem); continue; }
      for (const std::string& why : numpy::differences(one.module, data)) { failures.push_back(fmt::format("{}: {}", one.name, why)); }
    }
    fmt::print("{:<22} {} {}\n", path.stem().string(), made.size(), failures.empty() ? "as NumPy" : "failed");
    for (const std::string& why : failures) { fmt::print("    {}\n", why); }
    failed += failures.empty() ? 0 : 1;
  }
  fmt::print("{} tutorials, {} programs, {} tutorials failed\n", files.size(), programs, failed);
  return failed == 0 && programs >= 39 ? 0 : 1;
}
