// Typing: keys as an editor sent them (typing.jsonl: a program and a schedule for it, with mistakes and corrections, recorded from Neovim by
// `loopsmith lsp --record`), replayed at an even pace at the top of files of three sizes, without waiting for answers. After each key that
// is a letter or a dot, a completion is requested, as editors do.
//
//     bench-typing [--quick] [--gate] [--keys N] [--gap MS]... [--lines N]... [--no-tuning] [--slowest N] [--program FILE]
//
// Prints, for each size and pace, with and without a search in the background: the server's own time from reading a key until it has written the
// diagnostics of names and types for that key (or a later one), or has found them unchanged, with the budget for its p99; the time until the editor
// received diagnostics of that version, with the run of schedules if only they add findings, and with the time in pipes and for scheduling of both
// processes; the time of completion; and the server's processor time for a second of typing. `--slowest` names the slowest keys. The same keys run
// first without a search and then with one, so that both see the same machine. The exit status is 1 if an answer is missing.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "support/process.h"
#include "tests/bench/editor.h"
#include "tests/bench/matmul.h"
#include "tests/bench/texts.h"
#include "tests/support/paths.h"

using namespace loopsmith;
using bench::Editor;
using lsp::Json;

namespace {

struct Options {
  size_t keys = SIZE_MAX;
  std::vector<int> gaps = {10, 50, 150};
  std::vector<int> lines = {200, 1000, 10000};
  bool with_tuning = true;
  bool gate = false;   // a row over its budget is a failure
  size_t slowest = 0;
  std::string program;
};

struct Key {
  uint32_t line = 0, from = 0, to_line = 0, to = 0;
  std::string text;
};

auto recorded() -> std::vector<Key> {
  std::vector<Key> keys;
  std::ifstream file(tests::source_folder() + "/tests/bench/typing.jsonl");
  for (std::string line; std::getline(file, line);) {
    Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) { continue; }
    const Json& range = json["range"];
    keys.push_back({range[0], range[1], range[2], range[3], json["text"]});
  }
  return keys;
}

auto percentile(std::vector<double> samples, double share) -> double {
  if (samples.empty()) { return 0; }
  std::sort(samples.begin(), samples.end());
  auto at = static_cast<size_t>(std::ceil(share * static_cast<double>(samples.size())));
  return samples[std::min(samples.size() - 1, at > 0 ? at - 1 : 0)];
}

struct Outcome {
  std::vector<double> own;           // the server's own report: milliseconds from reading a key until its diagnostics are written or found unchanged
  std::vector<double> shown;         // milliseconds from a key to diagnostics of its version, or of a later one
  std::vector<std::pair<double, size_t>> by_key;   // the same, with the key's number
  std::vector<double> completed;     // from a request to its answer
  size_t stale = 0;                  // requests that a later key cancelled
  double cpu = 0;                    // processor seconds per second of typing
  size_t keys = 0;
};

/// None: an answer is missing.
auto type(Editor& editor, const std::string& uri, const std::vector<Key>& keys, int gap, int64_t& version) -> std::optional<Outcome> {
  Outcome out;
  out.keys = keys.size();
  const int64_t first = version + 1;
  std::map<int64_t, Clock::time_point> sent;             // by version
  std::map<int64_t, Clock::time_point> asked;            // by id
  auto cpu_before = editor.cpu_seconds();
  Clock::time_point begun = Clock::now();
  auto take = [&](Deadline until) {
    while (auto message = editor.next(until)) {
      const Json& json = message->first;
      auto since = [&](Clock::time_point then) { return std::chrono::duration<double, std::milli>(message->second - then).count(); };
      if (lsp::string_in(json, "method") == "textDocument/publishDiagnostics") {
        int64_t shown = lsp::int_in(lsp::member(json, "params"), "version").value_or(0);
        while (!sent.empty() && sent.begin()->first <= shown) {
          out.shown.push_back(since(sent.begin()->second));
          out.by_key.emplace_back(out.shown.back(), static_cast<size_t>(sent.begin()->first - first));
          sent.erase(sent.begin());
        }
      } else if (auto own = Editor::own_time(json)) {
        if (own->version >= first) { out.own.push_back(own->milliseconds); }
      } else if (auto id = lsp::int_in(json, "id"); id && asked.contains(*id)) {
        if (json.contains("error")) { ++out.stale; } else { out.completed.push_back(since(asked[*id])); }
        asked.erase(*id);
      }
      if (Clock::now() >= until || (sent.empty() && asked.empty() && out.own.size() + 1 > static_cast<size_t>(version + 1 - first) && until - Clock::now() > std::chrono::seconds(1))) { return; }
    }
  };
  for (size_t i = 0; i < keys.size(); ++i) {
    const Key& key = keys[i];
    Clock::time_point due = begun + i * std::chrono::milliseconds(gap);
    take(due);
    std::this_thread::sleep_until(due);
    Json range = {{"start", {{"line", key.line}, {"character", key.from}}}, {"end", {{"line", key.to_line}, {"character", key.to}}}};
    ++version;
    sent[version] = editor.change(uri, version, range, key.text);
    bool completes = !key.text.empty() && (std::isalnum(static_cast<unsigned char>(key.text.back())) != 0 || key.text.back() == '.');
    if (completes) {
      auto now = Clock::now();
      asked[editor.request("textDocument/completion", {{"textDocument", {{"uri", uri}}}, {"position", {{"line", key.line}, {"character", key.from + key.text.size()}}}})] = now;
    }
  }
  double typed = std::chrono::duration<double>(Clock::now() - begun).count();
  take(in(std::chrono::seconds(20)));
  auto cpu_after = editor.cpu_seconds();
  if (cpu_before && cpu_after) { out.cpu = (*cpu_after - *cpu_before) / typed; }
  if (!sent.empty() || !asked.empty() || out.own.size() < keys.size()) { return std::nullopt; }
  return out;
}

auto all(const Options& options) -> int {
  std::vector<Key> keys = recorded();
  if (keys.size() < 100) { fmt::print(stderr, "tests/bench/typing.jsonl is missing\n"); return 1; }
  char folder[] = "/tmp/bench-typing-XXXXXX";
  if (::mkdtemp(folder) == nullptr) { return 1; }
  double load[1] = {0};
  (void)::getloadavg(load, 1);
  fmt::print("{} keys recorded; load {:.1f} before{}\n", keys.size(), load[0], load[0] > 1.5 ? ": the machine is busy, so times are too long" : "");
  fmt::print("{:>6} {:>7} {:>8} {:>6} | {:>8} {:>8} {:>8} {:>8} {:>7} | {:>8} {:>8} {:>8} | {:>8} {:>8} {:>8} {:>6} | {:>8}\n", "lines", "gap ms", "search", "keys", "own 50", "95", "99", "longest", "budget", "shown 50", "95",
             "99", "compl 50", "95", "99", "stale", "cpu s/s");
  const std::map<int, double> budgets = {{200, 5}, {1000, 10}, {10000, 20}};
  int failures = 0;
  int over = 0;
  for (int lines : options.lines) {
    for (int gap : options.gaps) {
      std::vector<Key> these(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(std::min(keys.size(), options.keys)));
      for (bool tunes : {false, true}) {
        if (tunes && !options.with_tuning) { continue; }
        auto editor = Editor::start(options.program, folder);
        const std::string uri = "file:///typing.tir";
        if (!editor) { fmt::print("{:>6} the server did not answer\n", lines); ++failures; continue; }
        editor->open(uri, "\n\n" + bench::file_of_lines(lines));
        editor->trace();
        if (!editor->settle(uri, 1)) { fmt::print("{:>6} the file was not analysed\n", lines); ++failures; continue; }
        std::optional<int64_t> job;
        if (tunes) {
          job = editor->tune("file:///matmul.tir", bench::matmul_text, "main");
          if (!job) { fmt::print("{:>6} the tuner did not start\n", lines); ++failures; continue; }
          std::this_thread::sleep_for(std::chrono::seconds(1));
        }
        int64_t version = 1;
        auto typed = type(*editor, uri, these, gap, version);
        bool ran = !job || editor->stop_tuning(*job);
        if (!typed || !ran) { fmt::print("{:>6} {:>7} {}\n", lines, gap, ran ? "something was not answered" : "the tuner ended"); ++failures; continue; }
        auto budget = budgets.find(lines);
        fmt::print("{:>6} {:>7} {:>8} {:>6} | {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>7} | {:>8.2f} {:>8.2f} {:>8.2f} | {:>8.2f} {:>8.2f} {:>8.2f} {:>6} | {:>8.3f}\n", lines, gap, tunes ? "yes" : "no", typed->keys,
                   percentile(typed->own, 0.5), percentile(typed->own, 0.95), percentile(typed->own, 0.99), percentile(typed->own, 1),
                   budget != budgets.end() ? fmt::format("{:.0f}", budget->second) : "-",
                   percentile(typed->shown, 0.5), percentile(typed->shown, 0.95), percentile(typed->shown, 0.99), percentile(typed->completed, 0.5), percentile(typed->completed, 0.95), percentile(typed->completed, 0.99),
                   typed->stale, typed->cpu);
        if (budget != budgets.end() && percentile(typed->own, 0.99) > budget->second) { ++over; }
        std::sort(typed->by_key.rbegin(), typed->by_key.rend());
        for (size_t i = 0; i < std::min(options.slowest, typed->by_key.size()); ++i) {
          auto [milliseconds, at] = typed->by_key[i];
          std::string around;
          for (size_t k = at > 12 ? at - 12 : 0; k < at; ++k) { around += these[k].text; }
          fmt::print("    {:8.2f} ms  key {}: {} behind {}\n", milliseconds, at, Json(these[at].text).dump(), Json(around).dump());
        }
        std::fflush(stdout);
      }
    }
  }
  std::error_code none;
  std::filesystem::remove_all(folder, none);
  return failures > 0 || (options.gate && over > 0) ? 1 : 0;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  Options options;
  options.program = current_program();
  options.program = options.program.substr(0, options.program.rfind('/') + 1) + "loopsmith";
  std::vector<int> gaps;
  std::vector<int> lines;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    bool has_value = i + 1 < argc;
    if (argument == "--quick") {
      options.keys = 80;
      gaps = {10};
      lines = {200};
    } else if (argument == "--gate") { options.gate = true; }
    else if (argument == "--keys" && has_value) { options.keys = std::strtoul(argv[++i], nullptr, 10); }
    else if (argument == "--gap" && has_value) { gaps.push_back(std::atoi(argv[++i])); }
    else if (argument == "--lines" && has_value) { lines.push_back(std::atoi(argv[++i])); }
    else if (argument == "--no-tuning") { options.with_tuning = false; }
    else if (argument == "--slowest" && has_value) { options.slowest = std::strtoul(argv[++i], nullptr, 10); }
    else if (argument == "--program" && has_value) { options.program = argv[++i]; }
    else {
      fmt::print(stderr, "usage: bench-typing [--quick] [--gate] [--keys N] [--gap MS]... [--lines N]... [--no-tuning] [--slowest N] [--program FILE]\n");
      return 2;
    }
  }
  if (!gaps.empty()) { options.gaps = gaps; }
  if (!lines.empty()) { options.lines = lines; }
  return all(options);
}
