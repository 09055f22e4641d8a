// The server under load: many open documents, a long file that is edited as fast as messages can be sent, documents opened, edited and closed
// repeatedly. A soak (`ctest -L soak`) uses a thousand documents and 20,000 lines, and asserts the memory that remains after documents are
// closed. More cycles: LOOPSMITH_SOAK=1 LOOPSMITH_CYCLES=10000 build/release/bin/unit_lsp_load 'documents opened*'
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "tests/bench/texts.h"
#include "tests/support/effort.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/random_edits.h"
#include "tests/unit/lsp/session.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace loopsmith::lsp::random;
using namespace std::chrono_literals;

namespace {

/// The server and its worker.
auto processes_of(Session& session) -> std::vector<int> {
  const std::string front = std::to_string(session.process().pid());
  auto found = run_program({.argv = {"sh", "-c", "cat /proc/" + front + "/task/*/children"}}, "", in(5s));
  std::istringstream pids(front + " " + (found.ok() ? found->output : ""));
  std::vector<int> out;
  for (int pid = 0; pids >> pid;) { out.push_back(pid); }
  return out;
}

auto descriptors_of(Session& session) -> size_t {
  size_t count = 0;
  for (int pid : processes_of(session)) {
    std::error_code none;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), none)) { ++count; }
  }
  return count;
}

/// Resident bytes of the server and its worker.
auto memory_of(Session& session) -> uint64_t {
  uint64_t bytes = 0;
  for (int pid : processes_of(session)) {
    std::ifstream sizes(fmt::format("/proc/{}/statm", pid));
    uint64_t whole = 0;
    uint64_t pages = 0;
    if (sizes >> whole >> pages) { bytes += pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }
  }
  return bytes;
}

auto name_of(int i) -> std::string { return fmt::format("file:///many/{}.tir", i); }

void close(Session& session, const std::string& uri) { session.notify("textDocument/didClose", {{"textDocument", {{"uri", uri}}}}); }

}  // namespace

TEST_CASE("many documents at once, and memory once they are closed", "[soak]") {
  const int count = tests::size_of_test(120, 1000, 50);
  const std::string text = bench::file_of_lines(50);
  Session session({tests::loopsmith_program(), "lsp"});
  session.initialize();
  auto visit = [&](int from, int to) {
    for (int i = from; i < to; ++i) { session.open(name_of(i), text); }
    for (int i = from; i < to; ++i) {
      CHECK(session.wait_for(name_of(i), 1)["result"]["state"] == "done");
      CHECK(session.call("textDocument/semanticTokens/full", {{"textDocument", {{"uri", name_of(i)}}}}).contains("result"));
      session.received.clear();
    }
  };
  auto leave = [&](int from, int to, uint64_t at_most) {
    for (int i = from; i < to; ++i) { close(session, name_of(i)); }
    // The answer comes after all closes were read. Memory is released after a quiet tenth of a second, later on a busy machine.
    (void)session.call("workspace/symbol", {{"query", ""}});
    if (!tests::is_soak()) { return memory_of(session); }
    std::this_thread::sleep_for(500ms);
    for (Deadline until = in(10s); memory_of(session) > at_most && Clock::now() < until;) { std::this_thread::sleep_for(100ms); }
    return memory_of(session);
  };
  // The memory that a session keeps after its first files were closed.
  visit(0, 20);
  const uint64_t before = leave(0, 20, UINT64_MAX);
  visit(0, count);
  const uint64_t open = memory_of(session);
  CHECK(session.call("workspace/symbol", {{"query", ""}})["result"].size() >= static_cast<size_t>(count));
  const uint64_t after = leave(0, count, before + before / 10);
  INFO(fmt::format("{:.1f} MB before, {:.1f} MB with {} files, {:.1f} MB after", static_cast<double>(before) * 1e-6, static_cast<double>(open) * 1e-6, count, static_cast<double>(after) * 1e-6));
  CHECK(open > before);
  if (tests::is_soak()) { CHECK(static_cast<double>(after) <= 1.1 * static_cast<double>(before)); }
  CHECK(session.goodbye() == 0);
}

TEST_CASE("documents opened, edited and closed over and over leave no memory and no descriptors behind", "[soak]") {
  const char* asked = std::getenv("LOOPSMITH_CYCLES");
  const size_t cycles = asked != nullptr ? std::strtoul(asked, nullptr, 10) : tests::size_of_test<size_t>(60, 300, 24);
  const std::vector<std::string> texts = corpus(200);
  Session session({tests::loopsmith_program(), "lsp"});
  session.initialize();
  Random random{13};
  std::vector<double> memory;
  size_t descriptors = 0;
  for (size_t cycle = 0; cycle < cycles; ++cycle) {
    // The same texts repeatedly: the server stores facts about a text only once.
    Document document{name_of(static_cast<int>(cycle % 97)), 1, lines_of(texts[cycle % std::min<size_t>(texts.size(), 60)])};
    if (document.lines.empty()) { continue; }
    session.open(document.uri, document.text());
    for (int edit = 0; edit < 2; ++edit) {
      Json change = random_change(document, random);
      session.notify("textDocument/didChange", {{"textDocument", {{"uri", document.uri}, {"version", ++document.version}}}, {"contentChanges", {change}}});
      size_t line = random.below(document.lines.size());
      CHECK(session.call("textDocument/hover", params_at(document, "textDocument/hover", line, 4)).is_object());
      CHECK(session.call("textDocument/completion", params_at(document, "textDocument/completion", line, 4)).is_object());
    }
    CHECK(session.wait_for(document.uri, document.version).is_object());
    close(session, document.uri);
    session.received.clear();
    if (cycle % std::max<size_t>(cycles / 30, 1) != 0) { continue; }
    (void)session.call("workspace/symbol", {{"query", ""}});
    std::this_thread::sleep_for(100ms);
    memory.push_back(static_cast<double>(memory_of(session)) * 1e-6);
    if (cycle >= cycles / 5 && descriptors == 0) { descriptors = descriptors_of(session); }
  }
  CHECK(descriptors_of(session) <= descriptors);
  REQUIRE(memory.size() > 9);
  auto median = [](std::vector<double> part) { std::nth_element(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2), part.end()); return part[part.size() / 2]; };
  auto third = static_cast<std::ptrdiff_t>(memory.size() / 3);
  double middle = median({memory.begin() + third, memory.end() - third});
  double last = median({memory.end() - third, memory.end()});
  INFO(fmt::format("{} cycles: {:.1f} MB in the middle of them, {:.1f} MB at the end, {} descriptors", cycles, middle, last, descriptors));
  if (asked != nullptr) { fmt::print("{} cycles: {:.1f} MB in the middle of them, {:.1f} MB at the end, {} descriptors\n", cycles, middle, last, descriptors); }
  if (tests::is_soak()) { CHECK(last <= 1.1 * middle); }
  CHECK(session.goodbye() == 0);
}

TEST_CASE("a long file, edited as fast as messages go", "[soak]") {
  const int lines = tests::size_of_test(5000, 20000, 2000);
  const std::string uri = "file:///long.tir";
  Document document{uri, 1, lines_of(bench::file_of_lines(lines))};
  Session session({tests::loopsmith_program(), "lsp"});
  session.initialize();
  session.open(uri, document.text());
  CHECK(session.wait_for(uri, 1)["result"]["state"] == "done");
  CHECK(session.diagnostics(uri).empty());
  Random random{1};
  std::vector<int> asked;
  for (int key = 0; key < 120; ++key) {
    // Numbers in programs and schedules; every tenth edit is random.
    Json change;
    if (key % 10 == 0) {
      change = random_change(document, random);
    } else {
      size_t at = random.below(document.lines.size());
      size_t digit = document.lines[at].find_last_of("0123456789");
      if (digit == std::string::npos) { continue; }
      std::string typed(1, "123456789"[random.below(9)]);
      document.lines[at].replace(digit, 1, typed);
      change = {{"range", range(at, digit, at, digit + 1)}, {"text", typed}};
    }
    session.notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", ++document.version}}}, {"contentChanges", {change}}});
    if (key % 7 == 0) { asked.push_back(session.request("textDocument/completion", {{"textDocument", {{"uri", uri}}}, {"position", position(random.below(document.lines.size()), 4)}})); }
  }
  for (int id : asked) { CHECK(session.answer(id).is_object()); }
  CHECK(session.wait_for(uri, document.version)["result"]["state"] == "done");
  Session fresh({tests::loopsmith_program(), "lsp"});
  fresh.initialize();
  fresh.open(uri, document.text());
  CHECK(fresh.wait_for(uri, 1)["result"]["state"] == "done");
  CHECK_FALSE(fresh.diagnostics(uri).empty());
  CHECK(session.diagnostics(uri) == fresh.diagnostics(uri));
  for (const std::string& method : {std::string("textDocument/documentSymbol"), std::string("textDocument/foldingRange"), std::string("textDocument/codeLens")}) {
    Json params = params_at(document, method, 0, 0);
    CHECK(session.call(method, params)["result"] == fresh.call(method, params)["result"]);
  }
  CHECK(fresh.goodbye() == 0);
  CHECK(session.goodbye() == 0);
}
