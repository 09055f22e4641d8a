// Random questions to compiler/arith, each checked by evaluation on every point of small domains.
//
//   fuzz_arith [--runs N] [--seconds N] [--seed S] [--only KIND] [--keep-going]
//
// Kinds: expression, vector, set, bound, map, system, and, only if named, ends: values at the ends of their types. Prints the
// number of checked cases of each kind; exits with 1 at the first disagreement (with --keep-going: prints each, and exits at the
// end). A case is drawn from (seed, its number), so that `--seed S --first N --runs 1` repeats one.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "checks.h"

namespace {

using namespace loopsmith::fuzz;

struct Kind { const char* name; auto (*check)(Random&) -> std::string; int weight; long count = 0; };

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  long runs = 20000, first = 0, failures = 0;
  double seconds = 0;
  uint64_t seed = 1;
  const char* only = nullptr;
  bool keep_going = false;
  for (int i = 1; i < argc; ++i) {
    auto is = [&](const char* name) { return std::strcmp(argv[i], name) == 0 && i + 1 < argc; };
    if (is("--runs")) { runs = std::atol(argv[++i]); }
    else if (is("--seconds")) { seconds = std::atof(argv[++i]); }
    else if (is("--seed")) { seed = std::strtoull(argv[++i], nullptr, 10); }
    else if (is("--first")) { first = std::atol(argv[++i]); }
    else if (is("--only")) { only = argv[++i]; }
    else if (std::strcmp(argv[i], "--keep-going") == 0) { keep_going = true; }
    else {
      std::fprintf(stderr, "fuzz_arith: unknown argument `%s`\n", argv[i]);
      return 2;
    }
  }
  Kind kinds[] = {{"expression", check_expression, 70}, {"ends", check_ends, 0}, {"vector", check_vector, 5}, {"set", check_set, 8}, {"bound", check_bound, 7}, {"map", check_map, 10}, {"system", check_system, 5}};
  int total = 0;
  for (Kind& k : kinds) {
    if (only && std::strcmp(only, k.name) == 0) { k.weight = 1; }
    if (!only || std::strcmp(only, k.name) == 0) { total += k.weight; }
  }
  if (total == 0) {
    std::fprintf(stderr, "fuzz_arith: unknown kind `%s`\n", only);
    return 2;
  }
  auto begin = std::chrono::steady_clock::now();
  for (long at = first; at < first + runs; ++at) {
    if (seconds > 0 && at % 64 == 0 && std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds) { break; }
    Random random(seed * 0x9e3779b97f4a7c15ULL + static_cast<uint64_t>(at));
    int draw = random.pick(total);
    for (Kind& k : kinds) {
      if (only && std::strcmp(only, k.name) != 0) { continue; }
      draw -= k.weight;
      if (draw >= 0) { continue; }
      ++k.count;
      std::string what = k.check(random);
      if (!what.empty()) {
        std::printf("%s --seed %llu --first %ld: %s\n", k.name, static_cast<unsigned long long>(seed), at, what.c_str());
        std::fflush(stdout);
        ++failures;
        if (!keep_going) { return 1; }
      }
      break;
    }
  }
  long count = 0;
  for (const Kind& k : kinds) {
    count += k.count;
    if (k.count > 0) { std::printf("%-12s %9ld\n", k.name, k.count); }
  }
  std::printf("%ld cases, %ld disagreements, %.1f s\n", count, failures,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return failures > 0 ? 1 : 0;
}
