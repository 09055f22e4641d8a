// loopsmith-oracle DIR [--only NAME]... [--id ID]... [--stride N [--first K]] [--failures N] [--json]: compares this implementation with recorded
// results of a reference, in gzip-compressed JSON lines; with --stride, every N-th line of each file, from line K on (0: the first). Prints a line per check, `NAME PASSED/TOTAL`, then the first
// failures. Exit status: 0 all passed, 1 some failed, 2 wrong usage or an unreadable folder.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "intrinsics/registry.h"
#include "kind.h"

namespace loopsmith::oracle {

auto first_line_difference(const std::string& expected, const std::string& got) -> LineDifference {
  std::istringstream left(expected), right(got);
  std::string a, b;
  for (int number = 1;; ++number) {
    bool more_left = static_cast<bool>(std::getline(left, a));
    bool more_right = static_cast<bool>(std::getline(right, b));
    if (!more_left && !more_right) { return {"(same lines)", "(same lines)"}; }
    if (more_left != more_right || a != b) {
      return {more_left ? fmt::format("{}: {}", number, a) : "(end)", more_right ? fmt::format("{}: {}", number, b) : "(end)"};
    }
  }
}

namespace {

struct Kind {
  const char* name;
  const char* files;
  void (*check)(const Json&, Tally&);
};
constexpr Kind kinds[] = {
#define ORACLE(name, files) {#name, files, check_##name},
#include "kinds.def"
#undef ORACLE
    {nullptr, nullptr, nullptr},
};

// Calls f with each line; false: the file cannot be read to its end.
template <class F>
auto each_line(const std::string& path, F f) -> bool {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) { return false; }
  std::string line;
  char chunk[65536];
  int n;
  while ((n = gzread(file, chunk, sizeof chunk)) > 0) {
    const char* at = chunk;
    const char* end = chunk + n;
    while (const void* newline = std::memchr(at, '\n', static_cast<size_t>(end - at))) {
      const char* stop = static_cast<const char*>(newline);
      line.append(at, stop);
      f(line);
      line.clear();
      at = stop + 1;
    }
    line.append(at, end);
  }
  if (!line.empty()) { f(line); }
  bool fine = n == 0;
  gzclose(file);
  return fine;
}

struct Options {
  std::string directory;
  std::vector<std::string> only;
  std::vector<std::string> ids;   // empty: all lines
  size_t stride = 1;              // every N-th line of a file
  size_t first = 0;               // the first of them, below `stride`
  size_t failures = 10;
  bool json = false;
};

// Negative results are exit statuses with the opposite sign.
auto run(const Kind& kind, const Options& options) -> int {
  Tally tally(options.failures);
  auto begin = std::chrono::steady_clock::now();
  bool found = false;
  std::istringstream names(kind.files);
  for (std::string name; names >> name;) {
    std::string path = options.directory + "/" + name + ".jsonl.gz";
    if (!std::filesystem::exists(path)) { continue; }
    found = true;
    size_t lines = 0;
    bool read = each_line(path, [&](const std::string& text) {
      // Programs that later lines name are read all: they have no `id`.
      if (lines++ % options.stride != options.first % options.stride && (name == kind.name || text.find("\"id\"") != std::string::npos)) { return; }
      Json line = Json::parse(text, nullptr, false);
      if (line.is_discarded()) {
        tally.fail(name, "a line of JSON", text.substr(0, 80));
      } else if (options.ids.empty() || std::find(options.ids.begin(), options.ids.end(), line.value("id", std::string())) != options.ids.end()) {
        kind.check(line, tally);
      }
    });
    if (!read) {
      fmt::print(stderr, "loopsmith-oracle: cannot read `{}`\n", path);
      return 2;
    }
  }
  if (!found) { return 0; }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  size_t left_out = 0;
  for (const auto& [why, n] : tally.left_out()) { left_out += n; }
  if (options.json) {
    Json out = {{"name", kind.name}, {"passed", tally.passed()}, {"total", tally.total()}, {"seconds", seconds}};
    out["left_out"] = tally.left_out();
    out["failures"] = Json::array();
    for (const Failure& f : tally.failures()) { out["failures"].push_back({{"id", f.id}, {"expected", f.expected}, {"got", f.got}}); }
    fmt::print("{}\n", out.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{} {}/{}\n", kind.name, tally.passed(), tally.total());
    if (left_out) {
      fmt::print("  left out: {}", left_out);
      const char* separator = " (";
      for (const auto& [why, n] : tally.left_out()) {
        fmt::print("{}{} {}", separator, why, n);
        separator = ", ";
      }
      fmt::print(")\n");
    }
    for (const Failure& f : tally.failures()) { fmt::print("  {}\n    expected {}\n    got      {}\n", f.id, f.expected, f.got); }
  }
  std::fflush(stdout);
  return tally.passed() == tally.total() ? 0 : 1;
}

auto usage() -> int {
  fmt::print(stderr, "usage: loopsmith-oracle DIR [--only NAME]... [--id ID]... [--stride N [--first K]] [--failures N] [--json]\n`compiled`, `device`, `device_texts`, `meaning` and `differences` compile or execute the programs and are left out unless named; with LOOPSMITH_TEST_LEVELS=1, `compiled` makes code at all of LLVM's levels\nchecks:");
  for (const Kind* kind = kinds; kind->name; ++kind) { fmt::print(stderr, " {}", kind->name); }
  fmt::print(stderr, "\n");
  return 2;
}

auto main(const std::vector<std::string>& args) -> int {
  intrinsics::install();
  Options options;
  for (size_t i = 0; i < args.size(); ++i) {
    auto value = [&]() -> const std::string* { return i + 1 < args.size() ? &args[++i] : nullptr; };
    if (args[i] == "--json") {
      options.json = true;
    } else if (args[i] == "--only") {
      const std::string* name = value();
      if (!name) { return usage(); }
      options.only.push_back(*name);
    } else if (args[i] == "--id") {
      const std::string* id = value();
      if (!id) { return usage(); }
      options.ids.push_back(*id);
    } else if (args[i] == "--stride") {
      const std::string* n = value();
      options.stride = n ? std::strtoul(n->c_str(), nullptr, 10) : 0;
      if (options.stride == 0) { return usage(); }
    } else if (args[i] == "--first") {
      const std::string* k = value();
      options.first = k ? std::strtoul(k->c_str(), nullptr, 10) : 0;
    } else if (args[i] == "--failures") {
      const std::string* n = value();
      if (!n) { return usage(); }
      options.failures = std::strtoul(n->c_str(), nullptr, 10);
    } else if (options.directory.empty() && args[i].substr(0, 1) != "-") {
      options.directory = args[i];
    } else {
      return usage();
    }
  }
  if (options.directory.empty()) { return usage(); }
  if (!std::filesystem::is_directory(options.directory)) {
    fmt::print(stderr, "loopsmith-oracle: `{}` is not a folder\n", options.directory);
    return 2;
  }
  for (const std::string& name : options.only) {
    bool known = false;
    for (const Kind* kind = kinds; kind->name; ++kind) { known = known || name == kind->name; }
    if (!known) {
      fmt::print(stderr, "loopsmith-oracle: there is no check `{}`\n", name);
      return usage();
    }
  }
  int status = 0;
  for (const Kind* kind = kinds; kind->name; ++kind) {
    // These run only if named: machine code of foreign programs runs in this process and may crash it; the interpreter needs
    // an hour for the whole corpus.
    bool wanted = options.only.empty() && std::string_view(kind->name) != "compiled" && std::string_view(kind->name) != "device" && std::string_view(kind->name) != "device_texts" && std::string_view(kind->name) != "meaning" && std::string_view(kind->name) != "differences";
    for (const std::string& name : options.only) { wanted = wanted || name == kind->name; }
    if (!wanted) { continue; }
    status = std::max(status, run(*kind, options));
  }
  return status;
}

}  // namespace
}  // namespace loopsmith::oracle

auto main(int argc, char** argv) -> int { return loopsmith::oracle::main(std::vector<std::string>(argv + 1, argv + argc)); }
