// Messages in a stream of bytes, as LSP frames them: header lines ("Content-Length: 12"), a blank line, a body. The
// reader takes bytes in any portions and survives whatever comes: a bad header is reported and skipped up to the
// next one that can be read, a body beyond the limit is skipped without being kept. Front and worker talk in the
// same frames, with a few headers of their own, so that the front need not parse what it passes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopsmith::lsp {

/// Headers are few and short in sane streams; more than this before a blank line is garbage.
inline constexpr size_t header_limit = 16 << 10;
inline constexpr size_t body_limit = 256 << 20;

struct Frame {
  /// Why nothing could be read here; then there is no body. Empty: a good frame.
  std::string problem;
  std::string body;
  /// Headers other than Content-Length and Content-Type, as they came.
  std::vector<std::pair<std::string, std::string>> headers;

  /// The value of a header of ours; none where it is absent or no number.
  [[nodiscard]] auto number(std::string_view name) const -> std::optional<uint64_t>;
};

class FrameReader {
 public:
  explicit FrameReader(size_t limit = body_limit) : limit_(limit) {}
  void feed(std::string_view bytes);
  /// The next frame that is complete, or problem that is certain; none until more bytes come.
  [[nodiscard]] auto next() -> std::optional<Frame>;
  /// Bytes have come of a frame that is not complete.
  [[nodiscard]] auto is_inside_frame() const -> bool { return buffer_.size() > used_ || skip_ > 0; }

 private:
  [[nodiscard]] auto read_head() -> std::optional<Frame>;
  auto resynchronise(std::string problem) -> Frame;

  size_t limit_;
  std::string buffer_;
  size_t used_ = 0;      // bytes of buffer_ already handed out
  size_t searched_ = 0;  // bytes of buffer_ known not to hold the end of the header
  uint64_t skip_ = 0;    // bytes of a body beyond the limit still to come
  bool lost_ = false;    // a problem was reported; looking for the next header
  std::optional<size_t> body_size_;
  Frame current_;
};

/// A body in its frame.
[[nodiscard]] auto framed(std::string_view body, std::initializer_list<std::pair<std::string_view, uint64_t>> headers = {})
    -> std::string;

}  // namespace loopsmith::lsp
