// The causes of failed candidates, grouped: each cause with the number of candidates and a trace that reproduces one of them.
#pragma once

#include <string>
#include <vector>

namespace loopsmith::tune {

struct FailureCause {
  std::string outcome;      // "not legal", "crashed", "wrong"
  std::string note;         // of the first candidate
  int count = 0;
  std::string trace;        // of the first candidate, as TVM's JSON
  bool is_prefix = false;   // the trace ends in front of the step that was refused
};

class FailureCauses {
 public:
  /// Notes that differ only in numbers are one cause.
  void add(const std::string& outcome, const std::string& note, const std::string& trace, bool is_prefix = false);
  /// The most frequent first.
  [[nodiscard]] auto sorted() const -> std::vector<FailureCause>;

 private:
  std::vector<FailureCause> causes_;
  std::vector<std::string> keys_;
};

/// Writes the trace of each cause as a file `NAME-N.json` into a folder, which is made. Returns the paths, in the order of the causes; empty texts where a file
/// cannot be written.
[[nodiscard]] auto write_reproducers(const std::vector<FailureCause>& causes, const std::string& folder, const std::string& name) -> std::vector<std::string>;

}  // namespace loopsmith::tune
