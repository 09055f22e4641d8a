// Diagnostics in a terminal: carets under the right characters, for any text in the line.
#include "driver/render.h"

#include <nlohmann/json.hpp>

#include "../catch.h"
#include "driver/arguments.h"
#include "support/codes.h"
#include "support/spelling.h"
#include "support/text.h"

using namespace loopsmith;
using namespace loopsmith::driver;

namespace {

// Renders an error at the first occurrence of `at` in the text.
auto rendered(const std::string& text, const std::string& at, RenderOptions options = {}) -> std::string {
  SourceText source("a.tir", text);
  size_t begin = text.find(at);
  Locate locate = [&](const Origin& origin) -> std::optional<Located> { return Located{&source, {origin.begin, origin.end}}; };
  Origin where{.decl = 1, .begin = static_cast<uint32_t>(begin), .end = static_cast<uint32_t>(begin + at.size()), .step = 0};
  return render(error(Code::CannotRead, where).arg("file", "x").arg("reason", "of tests").remedy("try again"), locate, options);
}

}  // namespace

TEST_CASE("the place, the line, a caret, the remedy") {
  CHECK(rendered("first\n    sch.fuse(i, k)\n", "fuse") ==
        "a.tir:2:9: error: cannot read `x`: of tests [cannot-read]\n"
        "    2 |     sch.fuse(i, k)\n"
        "      |         ^^^^\n"
        "help: try again\n");
}

TEST_CASE("tabs, wide and combining characters keep the caret in its place") {
  CHECK(rendered("\tfoo(bar)", "bar").find("    1 |     foo(bar)\n      |         ^^^\n") != std::string::npos);
  CHECK(rendered("a = '漢字' + b", "b").find("      |              ^\n") != std::string::npos);
  CHECK(rendered("e\xcc\x81 = b", "b").find("a.tir:1:6: ") == 0);
  CHECK(rendered("e\xcc\x81 = b", "b").find("      |     ^\n") != std::string::npos);
}

TEST_CASE("bytes that are no text do not reach the terminal") {
  std::string out = rendered(std::string("\x1b[31m\xff\x00 bad", 11), "bad");
  CHECK(out.find('\x1b') == std::string::npos);
  CHECK(out.find('\xff') == std::string::npos);
  CHECK(out.find('\0') == std::string::npos);
}

TEST_CASE("a very long line is cut around the place") {
  std::string out = rendered(std::string(5000, 'x') + "HERE" + std::string(5000, 'y'), "HERE");
  CHECK(out.size() < 1000);
  CHECK(out.find("HERE") != std::string::npos);
  CHECK(out.find("^^^^") != std::string::npos);
}

TEST_CASE("an empty place at the end of a line still has a caret") {
  SourceText source("a.tir", "x = (\n");
  Locate locate = [&](const Origin&) -> std::optional<Located> { return Located{&source, {5, 5}}; };
  CHECK(render(error(Code::Cancelled, Origin{.decl = 1, .begin = 0, .end = 0, .step = 0}), locate, {}).find("      |      ^\n") != std::string::npos);
}

TEST_CASE("JSON has lines and columns of both ends") {
  SourceText source("a.tir", "ab\ncdef\n");
  Locate locate = [&](const Origin&) -> std::optional<Located> { return Located{&source, {4, 6}}; };
  auto json = render_json(error(Code::Cancelled, Origin{.decl = 1, .begin = 0, .end = 0, .step = 0}), locate, "a.tir");
  CHECK(json["line"] == 2);
  CHECK(json["column"] == 2);
  CHECK(json["end_column"] == 4);
  CHECK(json["severity"] == "error");
}

TEST_CASE("closest words") {
  std::vector<std::string> words = {"schedule", "trace", "lower", "bench"};
  CHECK(closest("shedule", words) == "schedule");
  CHECK(closest("tarce", words) == "trace");
  CHECK(closest("sched", words) == "schedule");
  CHECK(closest("xyzzy", words).empty());
}

TEST_CASE("durations") {
  CHECK(parse_seconds("90") == 90.0);
  CHECK(parse_seconds("1.5min") == 90.0);
  CHECK(parse_seconds("500ms") == 0.5);
  CHECK(parse_seconds("2m") == 120.0);
  CHECK(parse_seconds("1h") == 3600.0);
  CHECK_FALSE(parse_seconds("1d"));
  CHECK_FALSE(parse_seconds(""));
  CHECK_FALSE(parse_seconds("soon"));
  CHECK_FALSE(parse_seconds("-3"));
}
