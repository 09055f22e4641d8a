// Formatter cases: NAME.tir or NAME.py, with the formatted text in NAME.expect.tir or .py. Formatting the result again must not
// change it.
//
//   golden_format FOLDER      LOOPSMITH_UPDATE=1 rewrites the expectations
#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "format/format.h"
#include "support/text_diff.h"

namespace {

auto read(const std::string& path) -> std::string {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc != 2) { return 2; }
  std::string folder = argv[1];
  std::vector<std::string> names;
  DIR* dir = ::opendir(folder.c_str());
  while (dirent* entry = dir ? ::readdir(dir) : nullptr) {
    std::string name = entry->d_name;
    if ((name.ends_with(".tir") || name.ends_with(".py")) && name.find(".expect.") == std::string::npos) { names.push_back(name); }
  }
  if (dir != nullptr) { ::closedir(dir); }
  std::sort(names.begin(), names.end());
  bool updates = std::getenv("LOOPSMITH_UPDATE") != nullptr;
  int failures = names.size() < 5 ? 1 : 0;
  for (const std::string& name : names) {
    size_t dot = name.rfind('.');
    std::string expect_path = folder + "/" + name.substr(0, dot) + ".expect" + name.substr(dot);
    loopsmith::format::FormatOptions options{.is_python = loopsmith::format::is_python_file(name), .range = {}};
    std::string got = loopsmith::format::format_text(read(folder + "/" + name), options);
    if (updates) { std::ofstream(expect_path, std::ios::binary) << got; }
    std::string expected = read(expect_path);
    if (got != expected) {
      std::printf("FAIL %s\n%s", name.c_str(), loopsmith::render_diff(expected, got).c_str());
      ++failures;
    }
    std::string again = loopsmith::format::format_text(got, options);
    if (again != got) {
      std::printf("FAIL %s: formatted again it changes\n%s", name.c_str(), loopsmith::render_diff(got, again).c_str());
      ++failures;
    }
  }
  std::printf("%zu cases, %d failures\n", names.size(), failures);
  return failures == 0 ? 0 : 1;
}
