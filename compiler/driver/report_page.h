// A report as one page of HTML without scripts, fonts or links to the network. The caller passes the contents; this file only lays them out. The page is
// also well-formed XML, so that other programs can read it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace loopsmith::driver {

/// A program as written or under a schedule.
struct ReportVersion {
  std::string name;                      // of the schedule; "as written"
  std::string tree;                      // loops and blocks, a line each
  std::optional<double> seconds = {};    // by estimate
  std::string gain = {};                 // "about 2.1x faster" than as written
  std::string problem = {};              // the reason why results are missing; empty: there is no problem
};

/// The measured times of a program for one target, in the order of the trials; 0: a trial without a time.
struct ReportTuning {
  std::string target, machine;
  std::vector<double> trials;
  double best_seconds = 0;               // 0: no trial was measured
  bool is_here = false;                  // on this machine
};

struct ReportProgram {
  std::string name;
  std::string text;                      // the program, as script
  double flops = 0;                      // of one call; 0: unknown
  double bytes = 0;                      // of its buffers, each once; 0: unknown
  std::vector<ReportVersion> versions;
  std::vector<ReportTuning> tuning;
};

struct ReportRoof {
  std::string machine;
  bool is_measured = false;              // else derived from the processor's name
  double gflops_one = 0, gflops_all = 0; // multiply-adds counted as two
  double gbytes_one = 0, gbytes_all = 0; // through memory
  int threads = 1;
};

struct Report {
  std::string file;
  ReportRoof roof;
  std::vector<std::string> problems;     // of the file, as `check` renders them
  std::vector<ReportProgram> programs;
};

[[nodiscard]] auto report_page(const Report& report) -> std::string;

}  // namespace loopsmith::driver
