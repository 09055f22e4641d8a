// The folder that `ms.tune_tir` leaves has TVM's logs.
#include "driver/build_script_logs.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/unit/catch.h"

using namespace loopsmith;
using driver::build_script::TaskLog;
using nlohmann::json;

namespace {

auto text_of(const std::string& path) -> std::string {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

}  // namespace

TEST_CASE("each task has a log, and the tasks together a table") {
  const std::string folder = (std::filesystem::temp_directory_path() / "loopsmith-unit-logs").string();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  // The events of one program, and the one event of a task of several.
  TaskLog scale{"scale", "def scale(): ...\n", 1, {}};
  scale.events.push_back({{"event", "progress"}, {"arms", json::array({{{"name", "tile"}, {"knobs", json::array({{{"name", "i"}, {"choices", 3}}})}}})}, {"measured", json::array()}});
  scale.events.push_back({{"event", "progress"}, {"measured", {2e-6, 0.0}}});
  scale.events.push_back({{"event", "progress"}, {"measured", {1e-6}}});
  scale.events.push_back({{"event", "done"}, {"flops", 1000.0}, {"best_seconds", 1e-6}, {"trials", 3}, {"profile", {{"build", 0.5}}},
                          {"causes", json::array({{{"count", 1}, {"outcome", "timed out"}, {"message", "killed at the time limit"}, {"reproduce", "loopsmith schedule a.tir --trace b.json"}}})}});
  TaskLog other{"a/b", "def b(): ...\n", 2.5, {{{"event", "task"}, {"measured", {4e-6}}, {"best_seconds", 4e-6}, {"trials", 1}}}};
  REQUIRE(driver::build_script::write_logs(folder, {scale, other}).ok());
  const std::string start = folder + "/logs/tvm.meta_schedule.logging.";
  CHECK(text_of(start + "task_0_scale.log") ==
        "Initializing Task #0: \"scale\"\ndef scale(): ...\n\n"
        "Total 1 design space(s) generated\nDesign space #0: tile\n  i: 3 choices\n"
        "[Task #0: scale] Trial #1: GFLOPs: 0.5000. Time: 2.0000 us. Best GFLOPs: 0.5000\n"
        "[Task #0: scale] Trial #2: Error in building, running or applying the candidate\n"
        "[Task #0: scale] Trial #3: GFLOPs: 1.0000. Time: 1.0000 us. Best GFLOPs: 1.0000\n"
        "1 x timed out: killed at the time limit\n  loopsmith schedule a.tir --trace b.json\n"
        "Time: build 0.50 s\n");
  CHECK(text_of(start + "task_1_a_b.log") == "Initializing Task #1: \"a/b\"\ndef b(): ...\n\n[Task #1: a/b] Trial #1: GFLOPs: unknown. Time: 4.0000 us. Best GFLOPs: unknown\n");
  CHECK(text_of(start + "task_scheduler.log") ==
        "  ID | Name                     |           FLOP | Weight | Speed (GFLOPS) | Latency (us) | Weighted Latency (us) | Trials\n"
        "   0 | scale                    |           1000 |      1 |         1.0000 |       1.0000 |                1.0000 |      3\n"
        "   1 | a/b                      |              0 |    2.5 |        unknown |       4.0000 |               10.0000 |      1\n"
        "Total trials: 4\nTotal latency (us): 11.0000\n");
  CHECK(!driver::build_script::write_logs("/proc/none", {scale}).ok());
  std::filesystem::remove_all(folder);
}
