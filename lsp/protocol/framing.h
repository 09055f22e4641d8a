// Messages in a stream of bytes, in the framing of LSP: header lines ("Content-Length: 12"), a blank line, a body. The
// reader takes portions of any size and survives any input: it reports a bad header and skips to the next
// readable one; it skips a body beyond the limit without storing it. Front and worker use the same frames, with
// additional headers, so that the front can pass messages on without parsing them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopsmith::lsp {

/// Headers are few and short; more bytes than this before a blank line are not a header.
inline constexpr size_t header_limit = 16 << 10;
inline constexpr size_t body_limit = 256 << 20;

struct Frame {
  /// The reason why the bytes are not a frame; the body is then empty. Empty: a good frame.
  std::string problem;
  std::string body;
  /// Headers other than Content-Length and Content-Type, unchanged.
  std::vector<std::pair<std::string, std::string>> headers;

  /// The value of one of Loopsmith's own headers; none: it is missing or not a number.
  [[nodiscard]] auto number(std::string_view name) const -> std::optional<uint64_t>;
};

class FrameReader {
 public:
  explicit FrameReader(size_t limit = body_limit) : limit_(limit) {}
  void feed(std::string_view bytes);
  /// The next complete frame, or the next problem; none until more bytes arrive.
  [[nodiscard]] auto next() -> std::optional<Frame>;
  /// True when the buffer holds a part of a frame.
  [[nodiscard]] auto is_inside_frame() const -> bool { return buffer_.size() > used_ || skip_ > 0; }

 private:
  /// The lines of a header: the length of the body, or a problem, and the place where the search for the next header begins after it.
  struct Head { std::optional<uint64_t> length; std::string problem; size_t good_until = 0; };
  auto read_lines(std::string_view head, size_t end) -> Head;
  [[nodiscard]] auto read_head() -> std::optional<Frame>;
  auto resynchronise(std::string problem) -> Frame;

  size_t limit_;
  std::string buffer_;
  size_t used_ = 0;      // bytes of buffer_ that were returned in frames or skipped
  size_t searched_ = 0;  // bytes of buffer_ that do not contain the end of the header
  uint64_t skip_ = 0;    // bytes of a body beyond the limit that have not arrived yet
  bool lost_ = false;    // a problem was reported; looking for the next header
  std::optional<size_t> body_size_;
  Frame current_;
};

/// Puts a body into a frame.
[[nodiscard]] auto framed(std::string_view body, std::initializer_list<std::pair<std::string_view, uint64_t>> headers = {})
    -> std::string;

}  // namespace loopsmith::lsp
