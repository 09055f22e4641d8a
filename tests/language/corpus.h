// The texts of the language tests: files of small texts, and the programs of the oracle's corpus.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace loopsmith::language {

struct Text {
  std::string name;            // "FILE: NAME"
  std::string text;
  std::string not_run;         // the reason why it is not interpreted; empty: it is
  bool is_ours = true;         // false: from the oracle's corpus
  std::string not_lowered{};   // the reason why it is interpreted but not lowered; empty: it is lowered, too
};

/// `#### name` begins a text in a file of `folder`; `#### name (not run: why)` a text that the interpreter cannot run;
/// `#### name (not lowered: why)` a text that it can run, but that cannot be lowered for a CPU.
[[nodiscard]] auto read_texts(const std::string& folder) -> std::vector<Text>;
/// Programs from workloads.jsonl.gz and schedule.jsonl.gz in the oracle's folder, at most `limit` from each.
[[nodiscard]] auto read_corpus(const std::string& folder, size_t limit) -> std::vector<Text>;

struct Program {
  std::string name;
  IRModule module;
};
struct Parsed {
  std::vector<Program> programs;   // in the order of the text
  std::string problems;            // errors, and parts that are not checked, one per line
  int unchecked = 0;               // the number of functions of other languages among those
};
[[nodiscard]] auto parse(const std::string& text) -> Parsed;

}  // namespace loopsmith::language
