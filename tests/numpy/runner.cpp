// numpy-operators FOLDER: runs every function of FOLDER/operators.tir on FOLDER/data/FUNCTION.PARAMETER.npy.
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "against.h"
#include "frontend/file.h"
#include "syntax/document.h"

using namespace loopsmith;

int main(int argc, char** argv) {
  if (argc != 2) { fmt::print(stderr, "usage: numpy-operators FOLDER\n"); return 2; }
  std::string folder = argv[1];
  std::ifstream in(folder + "/operators.tir");
  std::stringstream text;
  text << in.rdbuf();
  syntax::Document document(text.str());
  frontend::File file;
  file.update(document);
  int count = 0, failures = 0;
  auto fail = [&](const std::string& name, const std::string& why) {
    ++failures;
    fmt::print("{}: {}\n", name, why);
  };
  for (size_t k = 0; k < file.size(); ++k) {
    const frontend::Declaration& declaration = file.declaration(k);
    if (!declaration.is_program || !declaration.module) { continue; }
    std::string name = declaration.item->name.str();
    ++count;
    numpy::Data data;
    if (std::string problem = numpy::read_data(declaration.module->functions[0].second, fmt::format("{}/data/{}", folder, name), data); !problem.empty()) {
      fail(name, problem);
      continue;
    }
    for (const std::string& why : numpy::differences(declaration.module, data)) { fail(name, why); }
  }
  fmt::print("{} operators, {} failures\n", count, failures);
  return failures == 0 && count >= 25 ? 0 : 1;
}
