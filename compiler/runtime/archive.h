// Zip archives to read, as far as NumPy's .npz needs them: members that are stored or deflated, of any size (zip64).
// After PKWARE's APPNOTE.TXT, 6.3. Not encrypted, not in several parts; nothing is written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace loopsmith::runtime {

/// Bytes, one after the other.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// As many as wanted; fewer at the end, or where they cannot be read.
  virtual auto read(void* to, uint64_t bytes) -> uint64_t = 0;
  /// How many are left.
  [[nodiscard]] virtual auto left() const -> uint64_t = 0;
  /// Where all have been read: are they those that were written?
  [[nodiscard]] virtual auto is_intact() const -> bool { return true; }
};
[[nodiscard]] auto open_file(const std::string& path) -> Result<std::unique_ptr<ByteSource>>;

class Archive {
 public:
  [[nodiscard]] static auto open(const std::string& path) -> Result<Archive>;
  /// Of the members, in the order of the archive.
  [[nodiscard]] auto names() const -> std::vector<std::string>;
  /// A member from its beginning; `name` is one of the names.
  [[nodiscard]] auto member(const std::string& name) const -> Result<std::unique_ptr<ByteSource>>;

 private:
  struct Member {
    std::string name;
    uint64_t stored = 0, size = 0;   // bytes in the archive, bytes of the member
    uint64_t header = 0;             // where its own header begins
    uint32_t checksum = 0;
    uint16_t method = 0, flags = 0;
  };
  std::string path_;
  std::vector<Member> members_;
};

}  // namespace loopsmith::runtime
