// Reading and writing frames: see framing.h.
#include "lsp/protocol/framing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace loopsmith::lsp {
namespace {

constexpr std::string_view length_name = "Content-Length";

auto equals_ignoring_case(std::string_view a, std::string_view b) -> bool {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
         });
}

auto trimmed(std::string_view text) -> std::string_view {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) { text.remove_prefix(1); }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) { text.remove_suffix(1); }
  return text;
}

auto number_in(std::string_view text) -> std::optional<uint64_t> {
  uint64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) { return std::nullopt; }
  return value;
}

/// Where the next header could begin: "Content-Length" in any case, at or after `from`.
auto find_header(std::string_view text, size_t from) -> size_t {
  for (size_t at = from; at + length_name.size() <= text.size(); ++at) {
    if ((text[at] == 'C' || text[at] == 'c') && equals_ignoring_case(text.substr(at, length_name.size()), length_name)) {
      return at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

auto Frame::number(std::string_view name) const -> std::optional<uint64_t> {
  for (const auto& [key, value] : headers) {
    if (key == name) { return number_in(value); }
  }
  return std::nullopt;
}

void FrameReader::feed(std::string_view bytes) {
  uint64_t skipped = std::min<uint64_t>(skip_, bytes.size());
  skip_ -= skipped;
  bytes.remove_prefix(skipped);
  if (used_ > 0 && (used_ == buffer_.size() || used_ > buffer_.size() / 2)) {
    buffer_.erase(0, used_);
    searched_ -= std::min(searched_, used_);
    used_ = 0;
  }
  buffer_ += bytes;
}

auto FrameReader::next() -> std::optional<Frame> {
  if (!body_size_) {
    if (auto problem = read_head()) { return problem; }
    if (!body_size_) { return std::nullopt; }
  }
  if (buffer_.size() - used_ < *body_size_) { return std::nullopt; }
  // If the buffer holds this body and nothing else, the buffer becomes the body, without a copy.
  if (used_ == 0 && buffer_.size() == *body_size_) {
    current_.body = std::exchange(buffer_, {});
  } else {
    current_.body = buffer_.substr(used_, *body_size_);
    used_ += *body_size_;
  }
  searched_ = used_;
  body_size_.reset();
  return std::exchange(current_, {});
}

auto FrameReader::resynchronise(std::string problem) -> Frame {
  lost_ = true;
  Frame frame;
  frame.problem = std::move(problem);
  return frame;
}

/// Reads the lines of a header into current_. `end`: of the header in the buffer, where the search for the next one begins after a problem, unless a line
/// is at fault.
auto FrameReader::read_lines(std::string_view head, size_t end) -> Head {
  Head out{.length = {}, .problem = {}, .good_until = end};
  size_t next_line = 0;
  while (next_line < head.size() && out.problem.empty()) {
    size_t line_end = std::min(head.find('\n', next_line), head.size());
    std::string_view line = trimmed(head.substr(next_line, line_end - next_line));
    next_line = line_end + 1;
    size_t colon = line.find(':');
    auto is_name_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
    std::string_view name = trimmed(line.substr(0, colon));
    if (colon == std::string_view::npos || name.empty() || !std::all_of(name.begin(), name.end(), is_name_letter)) {
      out.problem = "a line that is no header stands where a message should begin";
      out.good_until = std::min(used_ + next_line, end);
      continue;
    }
    std::string_view value = trimmed(line.substr(colon + 1));
    if (equals_ignoring_case(name, length_name)) {
      out.length = number_in(value);
      if (out.length) { continue; }
      out.problem = fmt::format("Content-Length `{}` is not a number of bytes", value.substr(0, 40));
      out.good_until = std::min(used_ + next_line, end);
    } else if (!equals_ignoring_case(name, "Content-Type")) {
      current_.headers.emplace_back(name, value);
    }
  }
  return out;
}

/// Reads the header at the front of the buffer into body_size_ and current_, if it is complete.
auto FrameReader::read_head() -> std::optional<Frame> {
  while (true) {
    if (lost_) {
      size_t found = find_header(buffer_, used_);
      if (found == std::string::npos) {
        // Keep the last bytes: they may be the beginning of a header.
        size_t keep = std::min(buffer_.size() - used_, length_name.size() - 1);
        used_ = buffer_.size() - keep;
        searched_ = used_;
        return std::nullopt;
      }
      used_ = found;
      searched_ = used_;
      lost_ = false;
    }
    // Skip blank lines before a header.
    while (used_ < buffer_.size() && (buffer_[used_] == '\r' || buffer_[used_] == '\n')) { ++used_; }
    size_t from = std::max(used_, searched_ > used_ + 3 ? searched_ - 3 : used_);
    size_t end = buffer_.find("\r\n\r\n", from);
    size_t gap = 4;
    size_t bare = buffer_.find("\n\n", from);
    if (bare < end) {
      end = bare;
      gap = 2;
    }
    if (end == std::string::npos || end - used_ > header_limit) {
      searched_ = buffer_.size();
      bool too_long = end != std::string::npos || buffer_.size() - used_ > header_limit;
      // Report a line as soon as it cannot be a header.
      size_t line_end = buffer_.find('\n', used_);
      bool no_header = line_end != std::string::npos && buffer_.substr(used_, line_end - used_).find(':') == std::string::npos;
      if (!too_long && !no_header) { return std::nullopt; }
      used_ = std::min(buffer_.size(), line_end == std::string::npos ? buffer_.size() : line_end + 1);
      return resynchronise(too_long ? "the header of a message does not end" : "a line that is no header stands where a message should begin");
    }

    current_ = {};
    auto [length, problem, good_until] = read_lines(std::string_view(buffer_).substr(used_, end - used_), end + gap);
    size_t body = end + gap;
    if (problem.empty() && !length) { problem = "the header of a message has no Content-Length"; }
    if (!problem.empty()) {
      used_ = good_until;
      searched_ = used_;
      return resynchronise(std::move(problem));
    }
    used_ = body;
    searched_ = used_;
    if (*length > limit_) {
      uint64_t here = std::min<uint64_t>(*length, buffer_.size() - used_);
      used_ += here;
      searched_ = used_;
      skip_ = *length - here;
      Frame frame;
      frame.problem = fmt::format("a message of {} bytes is beyond the limit of {}", *length, limit_);
      return frame;
    }
    body_size_ = static_cast<size_t>(*length);
    buffer_.reserve(used_ + std::min<size_t>(*body_size_, 16 << 20));
    return std::nullopt;
  }
}

auto framed(std::string_view body, std::initializer_list<std::pair<std::string_view, uint64_t>> headers) -> std::string {
  std::string out = fmt::format("Content-Length: {}\r\n", body.size());
  for (const auto& [name, value] : headers) { out += fmt::format("{}: {}\r\n", name, value); }
  out += "\r\n";
  out += body;
  return out;
}

}  // namespace loopsmith::lsp
