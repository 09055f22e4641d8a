// Text that people write and read. First names: the characters of names, and where a name begins and ends. Then
// quantities in words: durations, sizes in memory, counts with their nouns. Every room uses these functions, so the editor,
// the REPL and the command line print the same number in the same way.
//
// Text is UTF-8. A name may contain any character outside ASCII (`größe`); the parser decides which of them are letters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loopsmith {

// ---- characters -------------------------------------------------------------------------------------------------

/// An ASCII digit.
[[nodiscard]] constexpr auto is_digit(char c) -> bool { return c >= '0' && c <= '9'; }
/// A byte that a name may begin with: an ASCII letter, `_`, or a byte of a character outside ASCII.
[[nodiscard]] constexpr auto is_name_start(char c) -> bool {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
/// A byte that a name may contain after its first one.
[[nodiscard]] constexpr auto is_name_part(char c) -> bool { return is_name_start(c) || is_digit(c); }
/// The second to fourth byte of a character outside ASCII: a text must not be cut in front of it.
[[nodiscard]] constexpr auto is_inside_character(char c) -> bool { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// The number of characters (code points) of a text.
[[nodiscard]] auto character_count(std::string_view text) -> size_t;
/// The text's first bytes, at most `limit`, without an incomplete character at the end.
[[nodiscard]] auto first_bytes(std::string_view text, size_t limit) -> std::string_view;

// ---- names ------------------------------------------------------------------------------------------------------

/// True if the whole text is one name: not empty, no digit in front. Keywords count as names here.
[[nodiscard]] auto is_name(std::string_view text) -> bool;
/// A reserved word of Python, `None`, `True` and `False` included.
[[nodiscard]] auto is_python_keyword(std::string_view word) -> bool;
/// A name made from any text: every other character becomes `_`, and `v` goes before a leading digit. Never empty.
[[nodiscard]] auto to_name(std::string_view text) -> std::string;

/// The start of the name that ends at byte `at`; `at` itself if no name ends there.
[[nodiscard]] auto name_begin(std::string_view text, size_t at) -> size_t;
/// The end of the name that continues at byte `at`; `at` itself if no name continues there.
[[nodiscard]] auto name_end(std::string_view text, size_t at) -> size_t;
/// The name around or next to byte `at`; empty if there is none. Includes leading digits: check with `is_name`.
[[nodiscard]] auto name_around(std::string_view text, size_t at) -> std::string_view;
/// The start of the dotted name that ends at byte `at`, as of `T.axis.spatial`.
[[nodiscard]] auto dotted_name_begin(std::string_view text, size_t at) -> size_t;

/// The first position at or after `from` where `name` is a whole name, not a part of a longer one; npos if there is none.
[[nodiscard]] auto find_name(std::string_view text, std::string_view name, size_t from = 0) -> size_t;
[[nodiscard]] auto contains_name(std::string_view text, std::string_view name) -> bool;

// ---- quantities -------------------------------------------------------------------------------------------------

/// A duration to four significant digits in ns, us, ms or s: "412.0 us", "1.098 ms", "12.35 s", "3605 s". Zero is "0 s".
[[nodiscard]] auto duration_text(double seconds) -> std::string;
/// A waiting time, rounded up to whole seconds: "8 s", "1:05 min", "2:00:09 h".
[[nodiscard]] auto waiting_text(double seconds) -> std::string;
/// A limit of time without needless decimals: "0.5 s", "30 s", "10000000 s".
[[nodiscard]] auto limit_text(double seconds) -> std::string;
/// The seconds of a duration: "90", "90s", "500ms", "2min", "1h"; also "sec" and "m" as units. At most 1e7 s. None: the text is no duration above zero.
[[nodiscard]] auto parse_seconds(std::string_view text) -> std::optional<double>;
/// A size in memory, in units of 1024 bytes, with one decimal if needed: "96 B", "1.5 KiB", "421 KiB".
[[nodiscard]] auto bytes_text(double bytes) -> std::string;
/// A count of floating-point operations, in units of 1000: "512 flop", "268.4 Mflop". Counts below 10,000 are exact.
[[nodiscard]] auto flops_text(double flops) -> std::string;
/// A number with separators between thousands: "134,217,728".
[[nodiscard]] auto grouped(int64_t number) -> std::string;

/// The noun after a count: "trial" for 1, else "trials". Some nouns have an irregular plural: "index", "indices".
[[nodiscard]] auto plural(int64_t count, std::string_view one, std::string_view many = {}) -> std::string;
/// The count and its noun: "1 trial", "2,048 trials", "2 indices".
[[nodiscard]] auto count_text(int64_t count, std::string_view one, std::string_view many = {}) -> std::string;

}  // namespace loopsmith
