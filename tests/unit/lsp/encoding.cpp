// Positions in three units compared with an independent reference, and texts under edits compared with a plain string.
#include "lsp/protocol/encoding.h"

#include <algorithm>
#include <random>

#include "lsp/protocol/json.h"
#include "lsp/protocol/sync.h"
#include "tests/support/effort.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

constexpr Encoding all_encodings[] = {Encoding::Utf8, Encoding::Utf16, Encoding::Utf32};

// The reference works on code points, one at a time; it uses bytes only to write them.
auto utf8(char32_t c) -> std::string {
  if (c < 0x80) { return {static_cast<char>(c)}; }
  if (c < 0x800) { return {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 63))}; }
  if (c < 0x10000) { return {static_cast<char>(0xE0 | (c >> 12)), static_cast<char>(0x80 | ((c >> 6) & 63)), static_cast<char>(0x80 | (c & 63))}; }
  return {static_cast<char>(0xF0 | (c >> 18)), static_cast<char>(0x80 | ((c >> 12) & 63)), static_cast<char>(0x80 | ((c >> 6) & 63)),
          static_cast<char>(0x80 | (c & 63))};
}

auto width(char32_t c, Encoding encoding) -> uint32_t {
  switch (encoding) {
    case Encoding::Utf8: return static_cast<uint32_t>(utf8(c).size());
    case Encoding::Utf16: return c > 0xFFFF ? 2 : 1;
    case Encoding::Utf32: return 1;
  }
  return 0;
}

// Tabs, letters with combining marks, CJK, emoji with joiners, and each kind of line end.
const std::u32string alphabet = U"ab \t=():,\u00e9e\u0301\u00df\u4e2d\u6587\u200d\U0001F468\U0001F469\U00010000\uFEFF\U0010FFFF\u2028\n\r";

auto random_text(std::mt19937& random, size_t size) -> std::u32string {
  std::u32string text;
  while (text.size() < size) {
    char32_t c = alphabet[random() % alphabet.size()];
    if (c == U'\r' && random() % 2 == 0) {
      text += U"\r\n";
    } else {
      text += c;
    }
  }
  return text;
}

auto bytes_of(const std::u32string& text) -> std::string {
  std::string out;
  for (char32_t c : text) { out += utf8(c); }
  return out;
}

/// Position of every code point (and of the end), by walking; inside "\r\n" none.
struct Place { size_t index; uint32_t offset; Position at; bool in_line_end; };
auto places(const std::u32string& text, Encoding encoding) -> std::vector<Place> {
  std::vector<Place> out;
  uint32_t offset = 0;
  Position at;
  for (size_t i = 0; i <= text.size(); ++i) {
    bool in_line_end = i > 0 && i < text.size() && text[i - 1] == U'\r' && text[i] == U'\n';
    out.push_back({i, offset, at, in_line_end});
    if (i == text.size()) { break; }
    offset += static_cast<uint32_t>(utf8(text[i]).size());
    bool ends_line = text[i] == U'\n' || (text[i] == U'\r' && (i + 1 == text.size() || text[i + 1] != U'\n'));
    if (ends_line) {
      at = {at.line + 1, 0};
    } else if (text[i] != U'\r') {
      at.character += width(text[i], encoding);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("columns of the usual suspects") {
  // One of each width: a, é, 中, 😀.
  std::string line = "a\u00e9\u4e2d\U0001F600z";
  CHECK(bytes_to_column(line, 10, Encoding::Utf8) == 10);
  CHECK(bytes_to_column(line, 10, Encoding::Utf16) == 5);
  CHECK(bytes_to_column(line, 10, Encoding::Utf32) == 4);
  CHECK(column_to_bytes(line, 5, Encoding::Utf16) == 10);
  CHECK(column_to_bytes(line, 4, Encoding::Utf32) == 10);
  // Between the halves of a surrogate pair, inside a code point, and past the end.
  CHECK(column_to_bytes(line, 4, Encoding::Utf16) == 6);
  CHECK(bytes_to_column(line, 8, Encoding::Utf16) == 3);
  CHECK(column_to_bytes(line, 7, Encoding::Utf8) == 6);
  CHECK(column_to_bytes(line, 99, Encoding::Utf16) == line.size());
}

TEST_CASE("every position of random texts goes there and back, in all encodings") {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    std::u32string text = random_text(random, random() % 80);
    std::string bytes = bytes_of(text);
    LineIndex lines(bytes);
    for (Encoding encoding : all_encodings) {
      for (const Place& place : places(text, encoding)) {
        Position got = to_position(bytes, lines, place.offset, encoding);
        CHECK(got == place.at);
        if (!place.in_line_end) { CHECK(to_offset(bytes, lines, place.at, encoding) == place.offset); }
      }
      // Past the end of a line and of the text.
      for (uint32_t line = 0; line < lines.line_count(); ++line) {
        uint32_t end = to_offset(bytes, lines, {line, UINT32_MAX}, encoding);
        CHECK(end == lines.line_start(bytes, line) + lines.line_text(bytes, line).size());
      }
      CHECK(to_offset(bytes, lines, {lines.line_count() + 5, 3}, encoding) == bytes.size());
    }
  }
}

TEST_CASE("edits in all encodings have the result of edits of a plain string, and the lines of a fresh scan") {
  // The stride is not a multiple of 3, so that each encoding has its turn.
  for (size_t seed = 1; seed <= 120; seed += tests::stride(7)) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    Encoding encoding = all_encodings[seed % 3];
    std::u32string reference = random_text(random, random() % 60);
    SyncedText synced(bytes_of(reference));
    for (int step = 0; step < 25; ++step) {
      Json changes = Json::array();
      for (unsigned i = 0; i <= random() % 3; ++i) {
        std::u32string inserted = random_text(random, random() % 2 == 0 ? 1 : random() % 12);
        if (random() % 20 == 0) {
          changes.push_back({{"text", bytes_of(inserted)}});
          reference = inserted;
          continue;
        }
        std::vector<Place> all = places(reference, encoding);
        std::erase_if(all, [](const Place& place) { return place.in_line_end; });
        const Place& a = all[random() % all.size()];
        const Place& b = all[std::min(all.size() - 1, static_cast<size_t>(&a - all.data()) + random() % 8)];
        changes.push_back({{"range", to_json(TextRange{a.at, b.at})}, {"text", bytes_of(inserted)}});
        reference.replace(a.index, b.index - a.index, inserted);
      }
      // Edits near each other are joined into few replacements, with the same text as result.
      std::string joined = synced.text;
      for (const ByteEdit& edit : joined_edits({changes.begin(), changes.end()}, synced, encoding)) { joined.replace(edit.replaced.begin, edit.replaced.end - edit.replaced.begin, edit.text); }
      CHECK(synced.apply_changes(changes, encoding));
      CHECK(joined == synced.text);
      REQUIRE(synced.text == bytes_of(reference));
      REQUIRE(synced.lines == LineIndex(synced.text));
    }
  }
}

TEST_CASE("changes that are typed become one replacement, those far apart stay their own") {
  std::string line(3000, 'x');
  SyncedText text("ab\n" + line + "\ncd\n");
  auto change = [](uint32_t at_line, uint32_t from, uint32_t to, const char* inserted) {
    return Json{{"range", to_json(TextRange{{at_line, from}, {at_line, to}})}, {"text", inserted}};
  };
  std::vector<ByteEdit> edits = joined_edits({change(0, 1, 1, "X"), change(0, 2, 2, "Y"), change(0, 0, 2, ""), change(2, 2, 2, "!"), change(0, 0, 1, "Z")}, text, Encoding::Utf8);
  REQUIRE(edits.size() == 3);
  CHECK(edits[0].replaced == Span{0, 1});
  CHECK(edits[0].text == "Y");
  CHECK(edits[1].text == "!");
  CHECK(edits[2].text == "Z");
}

TEST_CASE("malformed changes are left out, the others applied") {
  SyncedText text("abc\n");
  Json changes = Json::parse(R"([{"range":{"start":{"line":0,"character":1},"end":{"line":0,"character":2}},"text":"X"},
                                 {"range":{"start":{"line":-1,"character":1}},"text":"no"}, {"text":5}, 7, null, {}])");
  CHECK_FALSE(text.apply_changes(changes, Encoding::Utf16));
  CHECK(text.text == "aXc\n");
  CHECK_FALSE(text.apply_changes(Json("no list"), Encoding::Utf16));
}

TEST_CASE("a range that ends before it starts is taken the other way round") {
  SyncedText text("abcdef");
  Json change = {{"range", to_json(TextRange{{0, 4}, {0, 1}})}, {"text", "-"}};
  CHECK(text.apply_changes(Json::array({change}), Encoding::Utf16));
  CHECK(text.text == "a-ef");
}

TEST_CASE("JSON from anywhere: lone surrogates and bad UTF-8 keep their width, depth is bounded") {
  std::string why;
  std::string lone = R"({"text":"a\ud83dz\udc00 \ud83d\ude00 \\ud83d"})";
  auto json = parse_json(lone, why);
  REQUIRE(json.has_value());
  CHECK(string_in(*json, "text") == "a\uFFFDz\uFFFD \U0001F600 \\ud83d");
  std::string bad = "{\"text\":\"\xff\xc3(\"}";
  json = parse_json(bad, why);
  REQUIRE(json.has_value());
  CHECK(string_in(*json, "text") == "\uFFFD\uFFFD(");

  std::string deep = std::string(100000, '[') + std::string(100000, ']');
  CHECK_FALSE(parse_json(deep, why).has_value());
  CHECK(why == "the message is nested too deeply");
  std::string brackets_in_text = "{\"text\":\"" + std::string(100000, '[') + "\\\"{{\"}";
  CHECK(parse_json(brackets_in_text, why).has_value());
  for (const char* broken : {"", "{", "{\"a\":}", "[1,2", "nul", "\"\\u12\"", "{\"a\":\"\\", "{\"a\":\"\\u"}) {
    std::string text = broken;
    CHECK_FALSE(parse_json(text, why).has_value());
  }
}
