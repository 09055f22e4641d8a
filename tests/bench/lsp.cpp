// The latencies of the language server: start to `initialize`, opening to first diagnostics, a key to its diagnostics
// (didChange written to publishDiagnostics read, both pipes and both processes included), and to the end of all
// analyses. Budgets are printed beside them.
//
//   bench-lsp LOOPSMITH [KEYS]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "tests/unit/lsp/session.h"

namespace {

using namespace loopsmith;
using namespace loopsmith::lsp;

auto program(int number) -> std::string {
  return fmt::format(
      "@T.prim_func\n"
      "def matmul{0}(A: T.Buffer((64, 64), \"float32\"), B: T.Buffer((64, 64), \"float32\"), C: T.Buffer((64, 64), \"float32\")):\n"
      "    for i, j, k in T.grid(64, 64, 64):\n"
      "        with T.block(\"C\"):\n"
      "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
      "            with T.init():\n"
      "                C[vi, vj] = T.float32(0)\n"
      "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n"
      "\n\n"
      "@ls.schedule(matmul{0})\n"
      "def scheduled{0}(sch: tir.Schedule):\n"
      "    c = sch.get_block(\"C\")\n"
      "    i, j, k = sch.get_loops(c)\n"
      "    i0, i1 = sch.split(i, factors=[None, 8])\n"
      "    j0, j1 = sch.split(j, factors=[None, 16])\n"
      "    sch.reorder(i0, j0, k, i1, j1)\n"
      "    sch.vectorize(j1)\n"
      "\n\n",
      number);
}

auto milliseconds_since(Clock::time_point start) -> double {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

auto percentile(std::vector<double> values, double share) -> double {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

void measure(const std::string& server, int lines, int keys, double budget) {
  auto begun = Clock::now();
  Session session({server, "lsp"});
  session.initialize();
  double start = milliseconds_since(begun);
  std::string text;
  int count = 0;
  for (; std::count(text.begin(), text.end(), '\n') < lines; ++count) { text += program(count); }
  const std::string uri = "file:///bench.tir";
  begun = Clock::now();
  session.open(uri, text);
  (void)session.until([](const Json& message) { return message.value("method", "") == "textDocument/publishDiagnostics"; });
  double first = milliseconds_since(begun);
  (void)session.wait_for(uri, 1);
  double all = milliseconds_since(begun);

  // Adds and removes a digit, in loops, statements and schedule steps.
  std::mt19937 random(1);
  const std::pair<int, int> places[] = {{2, 36}, {7, 40}, {14, 42}};
  std::vector<double> shown;
  std::vector<double> settled;
  int version = 1;
  for (int key = 0; key < keys; ++key) {
    auto [line, column] = places[random() % std::size(places)];
    line += static_cast<int>(random() % static_cast<unsigned>(count)) * 20;
    for (int width : {0, 1}) {
      ++version;
      Json change = {{"range", {{"start", {{"line", line}, {"character", column}}}, {"end", {{"line", line}, {"character", column + width}}}}},
                     {"text", width == 0 ? "1" : ""}};
      session.received.clear();
      begun = Clock::now();
      session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}}, {"contentChanges", {change}}});
      (void)session.until([&](const Json& message) {
        return message.value("method", "") == "textDocument/publishDiagnostics" && message["params"].value("version", 0) == version;
      });
      shown.push_back(milliseconds_since(begun));
      (void)session.wait_for(uri, version);
      settled.push_back(milliseconds_since(begun));
    }
  }
  fmt::print("{:>7} {:>8.1f} {:>10.1f} {:>10.1f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.0f} {:>12.2f} {:>12.2f}\n", lines, start, first, all,
             percentile(shown, 0.5), percentile(shown, 0.95), percentile(shown, 0.99), budget, percentile(settled, 0.5), percentile(settled, 0.95));
  (void)session.goodbye();
}

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc < 2) {
    fmt::print("usage: bench-lsp LOOPSMITH [KEYS]\n");
    return 2;
  }
  int keys = argc > 2 ? std::atoi(argv[2]) : 100;
  fmt::print("{:>7} {:>8} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>12} {:>12}   (ms)\n", "lines", "start", "first", "all", "key p50", "p95", "p99",
             "budget", "settled p50", "p95");
  measure(argv[1], 200, keys, 5);
  measure(argv[1], 1000, keys, 10);
  measure(argv[1], 10000, std::max(1, keys / 4), 20);
  return 0;
}
