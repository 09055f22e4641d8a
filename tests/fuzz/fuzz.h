// The frame of all fuzzers. A fuzzer consists of a property of any input, `check_input`, and seeds. fuzz.cpp runs it: with
// LOOPSMITH_FUZZER=ON under libFuzzer, otherwise with a seeded generator that mutates the seeds:
//
//   fuzz_NAME [--seconds N | --runs N] [--seed S] [FILE...]
//
// Files are initial inputs; `--replay FILE...` checks them unchanged (tests/fuzz/found has inputs that once failed).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loopsmith::fuzz {

/// The property: it must return for any input, within about a second.
void check_input(std::string_view input);
/// Initial inputs, and pieces that inputs often contain.
[[nodiscard]] auto seeds() -> std::vector<std::string>;
[[nodiscard]] auto pieces() -> std::vector<std::string>;

/// Prints the error and the input, and aborts.
[[noreturn]] void fail(std::string_view what, std::string_view input);

/// A program with a schedule, and pieces of the language, for fuzzers of texts.
[[nodiscard]] auto program_seeds() -> std::vector<std::string>;
[[nodiscard]] auto language_pieces() -> std::vector<std::string>;

}  // namespace loopsmith::fuzz
