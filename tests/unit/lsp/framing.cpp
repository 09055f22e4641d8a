// Frames: in portions of any size, and with any garbage between them.
#include "lsp/protocol/framing.h"

#include <random>

#include "tests/unit/catch.h"

using namespace loopsmith::lsp;

namespace {

auto read_all(FrameReader& reader) -> std::vector<Frame> {
  std::vector<Frame> frames;
  while (auto frame = reader.next()) { frames.push_back(std::move(*frame)); }
  return frames;
}

auto read_all(std::string_view bytes) -> std::vector<Frame> {
  FrameReader reader;
  reader.feed(bytes);
  return read_all(reader);
}

}  // namespace

TEST_CASE("one frame, two frames, an empty body, headers of ours") {
  CHECK(read_all("Content-Length: 2\r\n\r\n{}").at(0).body == "{}");
  auto two = read_all(framed("one") + framed("") + framed("three", {{"Ticket", 7}}));
  REQUIRE(two.size() == 3);
  CHECK(two[0].body == "one");
  CHECK(two[1].body.empty());
  CHECK(two[2].number("Ticket") == 7);
  CHECK_FALSE(two[2].number("Other").has_value());
}

TEST_CASE("headers as others write them") {
  CHECK(read_all("content-length:2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}").at(0).body == "{}");
  CHECK(read_all("Content-Length: 2\n\n{}").at(0).body == "{}");
  CHECK(read_all("\r\nContent-Length: 2\r\n\r\n{}").at(0).body == "{}");
}

TEST_CASE("any frames in any portions give the same bodies") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    std::vector<std::string> bodies;
    std::string stream;
    for (int i = 0; i < 20; ++i) {
      std::string body(random() % (i % 5 == 0 ? 5000 : 40), ' ');
      for (char& c : body) { c = static_cast<char>(random()); }
      stream += framed(body);
      bodies.push_back(body);
    }
    FrameReader reader;
    std::vector<std::string> got;
    for (size_t at = 0; at < stream.size();) {
      size_t portion = 1 + random() % (seed % 3 == 0 ? 3 : 2000);
      reader.feed(std::string_view(stream).substr(at, portion));
      at += portion;
      for (Frame& frame : read_all(reader)) {
        CHECK(frame.problem.empty());
        got.push_back(std::move(frame.body));
      }
    }
    CHECK(got == bodies);
    CHECK_FALSE(reader.is_inside_frame());
  }
}

TEST_CASE("a bad header is reported once, and the next message is read") {
  auto [bad, why] = GENERATE(table<const char*, const char*>({
      {"Content-Length: many\r\n\r\n", "Content-Length `many` is not a number of bytes"},
      {"Content-Length: -5\r\n\r\n", "Content-Length `-5` is not a number of bytes"},
      {"Content-Length: 99999999999999999999999\r\n\r\n", "Content-Length `99999999999999999999999` is not a number of bytes"},
      {"Content-Length: 5 bytes\r\n\r\n", "Content-Length `5 bytes` is not a number of bytes"},
      {"Content-Type: text\r\n\r\n", "the header of a message has no Content-Length"},
      {"{\"jsonrpc\":\"2.0\"}\n", "a line that is no header stands where a message should begin"},
      {"hello\n", "a line that is no header stands where a message should begin"},
      {"\x01\x02\x03\n\n\xff\xfe garbage\n", "a line that is no header stands where a message should begin"},
  }));
  for (bool at_once : {true, false}) {
    INFO(bad << " at once: " << at_once);
    std::string stream = bad + framed("{\"after\":1}") + framed("x");
    std::vector<Frame> frames;
    if (at_once) {
      frames = read_all(stream);
    } else {
      FrameReader reader;
      for (char c : stream) {
        reader.feed({&c, 1});
        for (Frame& frame : read_all(reader)) { frames.push_back(std::move(frame)); }
      }
    }
    REQUIRE(frames.size() == 3);
    CHECK((frames[0].problem == why || !at_once));
    CHECK_FALSE(frames[0].problem.empty());
    CHECK(frames[1].body == "{\"after\":1}");
    CHECK(frames[2].body == "x");
  }
}

TEST_CASE("a message beyond the limit is skipped, not kept") {
  FrameReader reader(1000);
  reader.feed("Content-Length: 5000\r\n\r\n");
  auto frames = read_all(reader);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].problem == "a message of 5000 bytes is beyond the limit of 1000");
  for (int i = 0; i < 50; ++i) { reader.feed(std::string(100, 'C')); }
  reader.feed(framed("next"));
  CHECK(read_all(reader).at(0).body == "next");
}

TEST_CASE("a header that never ends is given up") {
  FrameReader reader;
  std::vector<Frame> frames;
  for (int i = 0; i < 100; ++i) {
    reader.feed(std::string(1000, 'a'));
    for (Frame& frame : read_all(reader)) { frames.push_back(std::move(frame)); }
  }
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].problem == "the header of a message does not end");
  reader.feed("\r\n" + framed("back"));
  CHECK(read_all(reader).at(0).body == "back");
}

TEST_CASE("random bytes never stop the reader") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    FrameReader reader(2000);
    for (int i = 0; i < 30; ++i) {
      std::string bytes;
      switch (random() % 4) {
        case 0: bytes = framed("{}"); break;
        case 1: bytes = framed("{}").substr(0, random() % 24); break;
        case 2: bytes = "Content-Length: " + std::to_string(random() % 3000) + "\r\n\r\n"; break;
        default:
          bytes.resize(random() % 60);
          for (char& c : bytes) { c = "\r\n:Content-Length 0123\xff"[random() % 24]; }
      }
      reader.feed(bytes);
      (void)read_all(reader);
    }
    // In any state, enough well-formed input lets the reader continue.
    reader.feed(std::string(3000, '\n'));
    for (int i = 0; i < 3; ++i) { reader.feed(framed("{\"recovered\":true}")); }
    auto frames = read_all(reader);
    REQUIRE_FALSE(frames.empty());
    CHECK(frames.back().body == "{\"recovered\":true}");
  }
}
