// Helpers of the tests that run the server as a program: starting it, its worker's process, texts of the repository.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/folder.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/session.h"

namespace loopsmith::lsp {

inline const std::string server = tests::loopsmith_program();

inline auto start(std::vector<std::string> options = {}) -> Session {
  std::vector<std::string> argv = {server, "lsp"};
  argv.insert(argv.end(), options.begin(), options.end());
  return Session(argv, {{"LOOPSMITH_TEST_FAULT", "1"}, {"LOOPSMITH_TEST_PATIENCE", "1"}});
}

/// A program that plays a job of the server, such as a search. `text` is a script with its interpreter in the first line. The file exists as long as the object.
class PlayedProgram {
 public:
  explicit PlayedProgram(const std::string& text) {
    std::ofstream(path()) << text;
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  [[nodiscard]] auto path() const -> std::string { return folder_ / "job"; }

 private:
  tests::TemporaryFolder folder_;
};

/// The worker of a server: its only child.
inline auto worker_of(Session& session) -> int {
  std::string pid = std::to_string(session.process().pid());
  // The starter thread is the parent of all children, so the lists of all threads are read.
  auto found = run_program({.argv = {"sh", "-c", "cat /proc/" + pid + "/task/*/children"}}, "", in(std::chrono::seconds(5)));
  int worker = 0;
  std::istringstream(found.ok() ? found->output : "") >> worker;
  return worker;
}

/// The standard output of a command.
inline auto output_of(const std::string& command) -> std::string {
  std::string out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char bytes[4096];
  for (size_t size = 0; (size = std::fread(bytes, 1, sizeof bytes, pipe)) > 0;) { out.append(bytes, size); }
  (void)::pclose(pipe);
  return out;
}

inline auto is_error(const Json& answer, int code) -> bool { return answer.contains("error") && answer["error"]["code"] == code; }
inline constexpr int internal_error = -32603;

inline const char* const fine = "x = 1\n";
inline const char* const broken = "def f(:\n    pass\n";

}  // namespace loopsmith::lsp
