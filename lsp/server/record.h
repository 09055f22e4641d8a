// The record of a session (`lsp --record FILE`): every message in both directions with its time, one line of JSON each. Transcripts for tests
// are made from records (tests/golden/lsp). A record contains the user's texts, so it is written on request only.
//
//   {"t":12.345,"from":"client","message":{...}}      a message; t in milliseconds since the start
//   {"t":12.345,"from":"client","unreadable":"..."}   the reason why bytes are not a message
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace loopsmith::lsp {

class Recorder {
 public:
  /// A recorder without a file records nothing.
  Recorder() = default;
  /// Creates the file; false if it cannot be written.
  auto open(const std::string& path) -> bool;

  void from_client(std::string_view message) { write("client", "message", message); }
  void from_server(std::string_view message) { write("server", "message", message); }
  void unreadable(std::string_view why);

 private:
  void write(std::string_view from, std::string_view what, std::string_view json);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace loopsmith::lsp
