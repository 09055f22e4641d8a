// The time of printing, compared with the reference compiler (94 lines in 1.26 ms on the machine of the budgets):
// programs like those of the oracle corpus, printed repeatedly. Also equality and hash of the same modules.
//
// usage: bench-printer FILE...        files with one program; without arguments the examples
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include "frontend/file.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "syntax/document.h"
#include "tests/support/paths.h"

using namespace loopsmith;

namespace {

// The fastest of several rounds, in microseconds per call.
template <class F>
auto microseconds(F f) -> double {
  double best = 1e30;
  for (int round = 0; round < 20; ++round) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 50; ++i) { f(); }
    best = std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / 50);
  }
  return best;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  std::vector<std::string> paths(argv + 1, argv + argc);
  if (paths.empty()) {
    for (const char* name : {"matmul", "conv2d_bias_relu", "softmax"}) { paths.push_back(tests::source_folder() + "/examples/" + name + ".tir"); }
  }
  fmt::print("{:<24} {:>6} {:>10} {:>14} {:>10} {:>10}\n", "program", "lines", "print us", "us for 94 lines", "equal us", "hash us");
  for (const std::string& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    syntax::Document document(text.str());
    frontend::File file;
    file.update(document);
    for (size_t i = 0; i < file.size(); ++i) {
      const frontend::Declaration& declaration = file.declaration(i);
      if (!declaration.module) { continue; }
      IRModule module = declaration.module;
      // An equal module with other nodes: equality of identical nodes is trivial.
      syntax::Document again(print_script(module));
      frontend::File other;
      other.update(again);
      IRModule copy = other.declaration(other.size() - 1).module;
      std::string printed = print_script(module);
      auto lines = std::count(printed.begin(), printed.end(), '\n') + 1;
      size_t sink = 0;
      double print = microseconds([&] { sink += print_script(module).size(); });
      double equal = microseconds([&] { sink += structural_equal(module, copy) ? 1 : 0; });
      double hash = microseconds([&] { sink += structural_hash(module); });
      fmt::print("{:<24} {:>6} {:>10.1f} {:>14.1f} {:>10.1f} {:>10.1f}{}\n", declaration.item->name.view(), lines, print,
                 print * 94 / static_cast<double>(lines), equal, hash, sink == 0 ? " " : "");
    }
  }
  return 0;
}
