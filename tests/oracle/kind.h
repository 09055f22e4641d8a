// A kind of oracle file: a row of kinds.def, and a function that checks a line of the file.
// To add a file kind: a file here with `void check_NAME(const Json& line, Tally& tally)`, a row in kinds.def.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace loopsmith::oracle {

using Json = nlohmann::json;

struct Failure {
  std::string id;
  std::string expected;
  std::string got;
};

/// The results of the cases of a file. Each case ends in exactly one of pass, fail, leave_out.
class Tally {
 public:
  explicit Tally(size_t keep) : keep_(keep) {}
  void pass() { ++passed_; }
  void fail(std::string id, std::string expected, std::string got) {
    ++failed_;
    if (failures_.size() < keep_) { failures_.push_back({std::move(id), std::move(expected), std::move(got)}); }
  }
  /// Counts a case that needs a missing feature, by the feature's name ("Tensorize"). Not part of the total.
  void leave_out(const std::string& why) { ++left_out_[why]; }

  [[nodiscard]] auto passed() const -> size_t { return passed_; }
  [[nodiscard]] auto total() const -> size_t { return passed_ + failed_; }
  [[nodiscard]] auto failures() const -> const std::vector<Failure>& { return failures_; }
  [[nodiscard]] auto left_out() const -> const std::map<std::string, size_t>& { return left_out_; }

 private:
  size_t keep_;
  size_t passed_ = 0;
  size_t failed_ = 0;
  std::vector<Failure> failures_;
  std::map<std::string, size_t> left_out_;
};

#define ORACLE(name, files) void check_##name(const Json& line, Tally& tally);
#include "kinds.def"
#undef ORACLE

/// The first line in which two texts differ, from both texts, with its number: for `Tally::fail`.
struct LineDifference { std::string expected, got; };
[[nodiscard]] auto first_line_difference(const std::string& expected, const std::string& got) -> LineDifference;

}  // namespace loopsmith::oracle
