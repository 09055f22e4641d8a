// The server as a program: the memory that it counts for each file, compared with its processes' memory.
#include <fcntl.h>

#include <fmt/format.h>

#include "tests/support/effort.h"
#include "tests/unit/lsp/server_program.h"

using namespace loopsmith;
using namespace loopsmith::lsp;
using namespace std::chrono_literals;

TEST_CASE("memory is counted file by file: the sum is no more than the processes have, and a closed file is not in it") {
  Session session = start();
  session.initialize();
  std::string text = "@T.prim_func\ndef f(A: T.Buffer((64, 64), \"float32\"), B: T.Buffer((64, 64), \"float32\")):\n    for i, j in T.grid(64, 64):\n        with T.block(\"B\"):\n"
                     "            vi, vj = T.axis.remap(\"SS\", [i, j])\n            B[vi, vj] = A[vi, vj] + T.float32(1)\n\n\n@ls.schedule(f)\ndef s(sch):\n    i, j = sch.get_loops(\"B\")\n";
  std::string small = text;
  for (int step = 0; step < 30; ++step) { text += "    j, j1 = sch.split(j, factors=[None, 1])\n"; }
  session.open("file:///small.tir", small);
  session.open("file:///large.tir", text);
  (void)session.wait_for("file:///small.tir", 1);
  (void)session.wait_for("file:///large.tir", 1);
  auto usage = [&] { return session.call("loopsmith/memoryUsage", Json::object())["result"]; };
  // Every number is at least the sum of its children.
  std::function<void(const Json&)> check = [&](const Json& node) {
    uint64_t sum = 0;
    for (const Json& child : node.value("children", Json::array())) {
      sum += child["bytes"].get<uint64_t>();
      check(child);
    }
    INFO(node["name"]);
    CHECK(node["bytes"].get<uint64_t>() >= sum);
  };
  std::function<Json(const Json&, const std::string&)> find = [&](const Json& node, const std::string& name) -> Json {
    if (node["name"] == name) { return node; }
    for (const Json& child : node.value("children", Json::array())) {
      if (Json found = find(child, name); !found.is_null()) { return found; }
    }
    return nullptr;
  };
  Json all = usage();
  check(all);
  Json small_file = find(all, "file:///small.tir");
  Json large_file = find(all, "file:///large.tir");
  REQUIRE_FALSE(small_file.is_null());
  REQUIRE_FALSE(large_file.is_null());
  CHECK(find(large_file, "text")["bytes"].get<uint64_t>() >= text.size());
  CHECK_FALSE(find(large_file, "31 states of schedules").is_null());
  // States share unchanged parts: more steps need more memory, but less than thirty programs.
  auto bytes = [](const Json& node) { return node["bytes"].get<uint64_t>(); };
  CHECK(bytes(find(large_file, "31 states of schedules")) > bytes(find(small_file, "1 state of schedules")));
  CHECK(bytes(find(large_file, "31 states of schedules")) < 100 * bytes(find(small_file, "1 program")));
  CHECK(all["text"].get<std::string>().find("file:///large.tir") != std::string::npos);
  session.notify("textDocument/didClose", {{"textDocument", {{"uri", "file:///large.tir"}}}});
  CHECK(find(usage(), "file:///large.tir").is_null());
  CHECK(session.goodbye() == 0);
}

TEST_CASE("the memory counted for files is their share of the process's memory, within a factor of 1.6") {
  Session session = start();
  session.initialize();
  auto text = [](int n, int steps) {
    std::string all = fmt::format("@T.prim_func\ndef f{0}(A: T.Buffer((512, 512), \"float32\"), B: T.Buffer((512, 512), \"float32\"), C: T.Buffer((512, 512), \"float32\")):\n    for i, j, k in T.grid(512, 512, 512):\n"
                                  "        with T.block(\"C\"):\n            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            with T.init():\n                C[vi, vj] = T.float32({0})\n"
                                  "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n\n\n@ls.schedule(f{0})\ndef s{0}(sch: tir.Schedule):\n    i, j, k = sch.get_loops(\"C\")\n", n);
    for (int step = 0; step < steps; ++step) { all += fmt::format("    j, j{} = sch.split(j, factors=[None, {}])\n", step, step % 2 + 1); }
    return all;
  };
  struct Used { double process, files; };
  auto used = [&]() -> Used {
    Json worker = session.call("loopsmith/memoryUsage", Json::object())["result"]["children"][0];
    double freed = worker["children"][1]["bytes"].get<double>();
    return {worker["bytes"].get<double>() - freed, worker["children"][0]["bytes"].get<double>()};
  };
  // Memory of the server itself belongs to no file.
  for (int n = 0; n < 4; ++n) {
    std::string uri = fmt::format("file:///warm{}.tir", n);
    session.open(uri, text(n, 12));
    (void)session.wait_for(uri, 1);
  }
  Used before = used();
  CHECK(before.files > 0);
  for (int n = 0; n < 80; ++n) {
    std::string uri = fmt::format("file:///m{}.tir", n);
    session.open(uri, text(n, n % 2 == 0 ? 24 : 2));
    (void)session.wait_for(uri, 1);
  }
  Used after = used();
  double grown = after.process - before.process;
  double counted = after.files - before.files;
  INFO(grown << " bytes more, " << counted << " counted");
  CHECK(grown > 4e6);
  if (!tests::is_sanitized) {
    CHECK(counted * 1.6 > grown);
    CHECK(counted < grown * 1.1);
  }
  CHECK(session.goodbye() == 0);
}
