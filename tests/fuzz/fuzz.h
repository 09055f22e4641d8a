// What all fuzzers share. A fuzzer is one property of any input, `check_input`, and seeds. fuzz.cpp runs it: with
// LOOPSMITH_FUZZER=ON under libFuzzer, else with a plain seeded generator that mutates the seeds:
//
//   fuzz_NAME [--seconds N | --runs N] [--seed S] [FILE...]
//
// Files are inputs to begin with; `--replay FILE...` checks them as they are (tests/fuzz/found has what was found).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loopsmith::fuzz {

/// The property: returns, within a second or so, whatever the input is.
void check_input(std::string_view input);
/// Inputs to begin with, and pieces that inputs are likely to have.
[[nodiscard]] auto seeds() -> std::vector<std::string>;
[[nodiscard]] auto pieces() -> std::vector<std::string>;

/// Says what is wrong with which input, and aborts.
[[noreturn]] void fail(std::string_view what, std::string_view input);

/// A program with a schedule, and pieces of the language, for those whose inputs are texts.
[[nodiscard]] auto program_seeds() -> std::vector<std::string>;
[[nodiscard]] auto language_pieces() -> std::vector<std::string>;

}  // namespace loopsmith::fuzz
