// Texts of the language tests: files of small texts of our own, and the programs of the oracle's corpus.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace loopsmith::language {

struct Text {
  std::string name;            // "FILE: NAME"
  std::string text;
  std::string not_run;         // why it is not interpreted; empty: it is
  bool is_ours = true;         // false: of the oracle's corpus
  std::string not_lowered{};   // why it is interpreted as it is only; empty: it is lowered too
};

/// `#### name` begins a text in a file of `folder`, `#### name (not run: why)` one that has no meaning to an interpreter,
/// `#### name (not lowered: why)` one that has, and none to a CPU.
[[nodiscard]] auto read_texts(const std::string& folder) -> std::vector<Text>;
/// Of workloads.jsonl.gz and schedule.jsonl.gz in the oracle's folder, at most `limit` of each.
[[nodiscard]] auto read_corpus(const std::string& folder, size_t limit) -> std::vector<Text>;

struct Program {
  std::string name;
  IRModule module;
};
struct Parsed {
  std::vector<Program> programs;   // in the order of the text
  std::string problems;            // errors, and parts that are not checked, a line each
  int unchecked = 0;               // of those, functions of other languages
};
[[nodiscard]] auto parse(const std::string& text) -> Parsed;

}  // namespace loopsmith::language
