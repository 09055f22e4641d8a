// Reads zip archives in the form of NumPy's .npz files: stored or deflated members of any size (zip64). Refuses encrypted archives and
// archives in several parts; writes nothing. After PKWARE's APPNOTE.TXT, 6.3.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace loopsmith::runtime {

/// A stream of bytes.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads up to `bytes` bytes and returns their number: fewer at the end, or after a read error.
  virtual auto read(void* to, uint64_t bytes) -> uint64_t = 0;
  /// The number of bytes left.
  [[nodiscard]] virtual auto left() const -> uint64_t = 0;
  /// After the last byte: true when the checksum of the bytes equals the stored one.
  [[nodiscard]] virtual auto is_intact() const -> bool { return true; }
};
[[nodiscard]] auto open_file(const std::string& path) -> Result<std::unique_ptr<ByteSource>>;

class Archive {
 public:
  [[nodiscard]] static auto open(const std::string& path) -> Result<Archive>;
  /// The names of the members, in the order of the archive.
  [[nodiscard]] auto names() const -> std::vector<std::string>;
  /// A member, read from its beginning; `name` must be one of the names.
  [[nodiscard]] auto member(const std::string& name) const -> Result<std::unique_ptr<ByteSource>>;

 private:
  struct Member {
    std::string name;
    uint64_t stored = 0, size = 0;   // bytes in the archive, bytes of the member
    uint64_t header = 0;             // the offset of its own header
    uint32_t checksum = 0;
    uint16_t method = 0, flags = 0;
  };
  std::string path_;
  std::vector<Member> members_;
};

}  // namespace loopsmith::runtime
