// Times Analyzer::simplify, one expression at a time, on the expressions of an oracle file that have no
// constraint. Prints the median and the mean beside those of Apache TVM 0.19 on a similar machine.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "arith/analyzer.h"
#include "expression.h"
#include "ir/ops.h"
#include "tests/support/paths.h"

namespace {

using namespace loopsmith;
constexpr double reference_median = 8.4, reference_mean = 16;   // us
constexpr int repetitions = 7;

auto read_lines(const std::string& path) -> std::vector<std::string> {
  std::vector<std::string> lines(1);
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) { return {}; }
  char chunk[65536];
  for (int n; (n = gzread(file, chunk, sizeof chunk)) > 0;) {
    for (int i = 0; i < n; ++i) {
      if (chunk[i] == '\n') { lines.emplace_back(); } else { lines.back().push_back(chunk[i]); }
    }
  }
  gzclose(file);
  if (lines.back().empty()) { lines.pop_back(); }
  return lines;
}

// The smallest time of several repetitions in us, each with an analyzer that has already been used.
auto time_one(const nlohmann::json& line) -> double {
  DataType dtype = *DataType::parse(line["dtype"].get<std::string>());
  arith::Analyzer analyzer;
  oracle::Scope scope;
  for (const auto& [name, range] : line["vars"].items()) {
    Var v = var(name, dtype);
    scope.emplace(name, v);
    if (range.is_null()) { continue; }
    int64_t low = range[0], high = range[1];
    analyzer.bind(v, Range{int_imm(low, dtype), int_imm(high - low, dtype)});
  }
  Expr expr = oracle::read_expression(line["expr"].get<std::string>(), scope);
  double best = 1e9;
  for (int i = 0; expr && i < repetitions; ++i) {
    auto begin = std::chrono::steady_clock::now();
    Expr result = analyzer.simplify(expr);
    best = std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  std::string path = argc > 1 ? argv[1] : tests::source_folder() + "/tests/oracle/data/arith.jsonl.gz";
  std::vector<double> times;
  for (const std::string& text : read_lines(path)) {
    auto line = nlohmann::json::parse(text, nullptr, false);
    if (!line.is_discarded() && line["constraint"].is_null()) { times.push_back(time_one(line)); }
  }
  if (times.empty()) {
    fmt::print(stderr, "bench_arith: no expressions in `{}`\n", path);
    return 1;
  }
  std::sort(times.begin(), times.end());
  double median = times[times.size() / 2], mean = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  fmt::print("simplify, {} expressions     us   TVM 0.19   ratio\n", times.size());
  fmt::print("  median                {:9.2f}  {:9.1f}  {:6.1f}\n", median, reference_median, reference_median / median);
  fmt::print("  mean                  {:9.2f}  {:9.1f}  {:6.1f}\n", mean, reference_mean, reference_mean / mean);
  fmt::print("  slowest               {:9.2f}\n", times.back());
  return 0;
}
