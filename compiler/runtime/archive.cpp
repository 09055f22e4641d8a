// Zip archives: see archive.h. Read from the end backwards: the end record has the directory's offset, the directory the members' offsets.
#include "runtime/archive.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::runtime {
namespace {

struct Close { void operator()(std::FILE* file) const { std::fclose(file); } };
using File = std::unique_ptr<std::FILE, Close>;

constexpr uint32_t directory_mark = 0x02014b50, member_mark = 0x04034b50, end_mark = 0x06054b50, end64_mark = 0x06064b50, locator_mark = 0x07064b50;
constexpr uint64_t most_members = 65536, most_directory = 64U << 20U;

// Reads little-endian numbers in a part of the file; 0 beyond its end.
struct Bytes {
  std::vector<unsigned char> data;
  [[nodiscard]] auto number(size_t at, int bytes) const -> uint64_t {
    uint64_t out = 0;
    for (int i = 0; i < bytes; ++i) { if (at + static_cast<size_t>(i) < data.size()) { out |= static_cast<uint64_t>(data[at + static_cast<size_t>(i)]) << (8 * i); } }
    return out;
  }
  [[nodiscard]] auto u16(size_t at) const -> uint16_t { return static_cast<uint16_t>(number(at, 2)); }
  [[nodiscard]] auto u32(size_t at) const -> uint32_t { return static_cast<uint32_t>(number(at, 4)); }
};
auto size_of(std::FILE* file) -> uint64_t {
  ::fseeko(file, 0, SEEK_END);
  return static_cast<uint64_t>(std::max<off_t>(::ftello(file), 0));
}
auto piece(std::FILE* file, uint64_t at, uint64_t bytes) -> Bytes {
  Bytes out;
  out.data.resize(bytes);
  ::fseeko(file, static_cast<off_t>(at), SEEK_SET);
  out.data.resize(std::fread(out.data.data(), 1, bytes, file));
  return out;
}

class Plain : public ByteSource {
 public:
  Plain(File file, uint64_t bytes) : file_(std::move(file)), left_(bytes) {}
  auto read(void* to, uint64_t bytes) -> uint64_t override {
    uint64_t got = std::fread(to, 1, std::min(bytes, left_), file_.get());
    left_ -= got;
    return got;
  }
  [[nodiscard]] auto left() const -> uint64_t override { return left_; }

 private:
  File file_;
  uint64_t left_;
};

// The bytes of a member, stored or inflated, with a running checksum.
class MemberSource : public ByteSource {
 public:
  MemberSource(File file, uint64_t stored, uint64_t size, bool is_deflated, uint32_t checksum)
      : in_(std::move(file), stored), left_(size), is_deflated_(is_deflated), wanted_(checksum) {
    if (is_deflated_) { is_broken_ = inflateInit2(&stream_, -MAX_WBITS) != Z_OK; }
  }
  ~MemberSource() override { if (is_deflated_) { inflateEnd(&stream_); } }
  MemberSource(const MemberSource&) = delete;
  auto operator=(const MemberSource&) -> MemberSource& = delete;

  auto read(void* to, uint64_t bytes) -> uint64_t override {
    auto* at = static_cast<unsigned char*>(to);
    uint64_t done = 0;
    for (uint64_t wanted = std::min(bytes, left_); done < wanted;) {
      uint64_t chunk = std::min<uint64_t>(wanted - done, 1U << 20U);
      uint64_t got = is_deflated_ ? inflated(at + done, chunk) : in_.read(at + done, chunk);
      if (got == 0) { break; }
      sum_ = static_cast<uint32_t>(crc32(sum_, at + done, static_cast<uInt>(got)));
      done += got;
    }
    left_ -= done;
    return done;
  }
  [[nodiscard]] auto left() const -> uint64_t override { return left_; }
  [[nodiscard]] auto is_intact() const -> bool override { return left_ > 0 || sum_ == wanted_; }

 private:
  auto inflated(unsigned char* to, uint64_t bytes) -> uint64_t {
    stream_.next_out = to;
    stream_.avail_out = static_cast<uInt>(bytes);
    while (stream_.avail_out > 0 && !is_broken_) {
      if (stream_.avail_in == 0) {
        stream_.next_in = buffer_;
        stream_.avail_in = static_cast<uInt>(in_.read(buffer_, sizeof buffer_));
      }
      uInt before = stream_.avail_out, fed = stream_.avail_in;
      int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) { break; }
      is_broken_ = status != Z_OK || (fed == 0 && stream_.avail_out == before);
    }
    return bytes - stream_.avail_out;
  }
  Plain in_;
  uint64_t left_;
  bool is_deflated_, is_broken_ = false;
  uint32_t wanted_, sum_ = 0;
  z_stream stream_ = {};
  unsigned char buffer_[1U << 14U];
};

}  // namespace

auto open_file(const std::string& path) -> Result<std::unique_ptr<ByteSource>> {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) { return error(Code::CannotRead).arg("file", path).arg("reason", std::strerror(errno)); }
  uint64_t bytes = size_of(file.get());
  std::rewind(file.get());
  return std::unique_ptr<ByteSource>(std::make_unique<Plain>(std::move(file), bytes));
}

auto Archive::open(const std::string& path) -> Result<Archive> {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) { return error(Code::CannotRead).arg("file", path).arg("reason", std::strerror(errno)); }
  auto bad = [&](Why why) { return error(Code::BadTensorFile).arg("file", path).arg("reason", because(why).text()); };
  const uint64_t total = size_of(file.get());
  // The end record is 22 bytes and a comment.
  const uint64_t tail_at = total - std::min<uint64_t>(total, 22 + 65535);
  Bytes tail = piece(file.get(), tail_at, total - tail_at);
  std::optional<size_t> end;
  for (size_t at = tail.data.size() < 22 ? 0 : tail.data.size() - 22 + 1; at-- > 0 && !end;) { if (tail.u32(at) == end_mark) { end = at; } }
  if (!end) { return bad(Why::NotAZip); }
  uint64_t count = tail.u16(*end + 10), bytes = tail.u32(*end + 12), at = tail.u32(*end + 16);
  if (*end >= 20 && tail.u32(*end - 20) == locator_mark) {
    Bytes end64 = piece(file.get(), tail.number(*end - 20 + 8, 8), 56);
    if (end64.u32(0) != end64_mark) { return bad(Why::ZipDamaged); }
    count = end64.number(32, 8);
    bytes = end64.number(40, 8);
    at = end64.number(48, 8);
  }
  if (at > total || bytes > total - at || bytes > most_directory || count > most_members) { return bad(Why::ZipDamaged); }
  Bytes directory = piece(file.get(), at, bytes);
  Archive out;
  out.path_ = path;
  for (size_t p = 0; out.members_.size() < count;) {
    if (directory.u32(p) != directory_mark || p + 46 > directory.data.size()) { return bad(Why::ZipDamaged); }
    Member m;
    m.flags = directory.u16(p + 8);
    m.method = directory.u16(p + 10);
    m.checksum = directory.u32(p + 16);
    m.stored = directory.u32(p + 20);
    m.size = directory.u32(p + 24);
    m.header = directory.u32(p + 42);
    size_t name = directory.u16(p + 28), extra = directory.u16(p + 30), comment = directory.u16(p + 32);
    if (p + 46 + name + extra + comment > directory.data.size()) { return bad(Why::ZipDamaged); }
    m.name.assign(directory.data.begin() + static_cast<std::ptrdiff_t>(p + 46), directory.data.begin() + static_cast<std::ptrdiff_t>(p + 46 + name));
    // An extra field has the numbers that do not fit into 32 bits, in this order.
    for (size_t x = p + 46 + name, last = x + extra; x + 4 <= last; x += 4 + directory.u16(x + 2)) {
      if (directory.u16(x) != 1) { continue; }
      size_t field = x + 4;
      for (uint64_t* number : {&m.size, &m.stored, &m.header}) {
        if (*number != 0xffffffffU) { continue; }
        *number = directory.number(field, 8);
        field += 8;
      }
    }
    out.members_.push_back(std::move(m));
    p += 46 + name + extra + comment;
  }
  return out;
}

auto Archive::names() const -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const Member& m : members_) { out.push_back(m.name); }
  return out;
}

auto Archive::member(const std::string& name) const -> Result<std::unique_ptr<ByteSource>> {
  auto found = std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.name == name; });
  auto bad = [&](Why why) { return error(Code::BadTensorFile).arg("file", path_).arg("reason", because(why).arg("part", name).text()); };
  if (found == members_.end()) { return bad(Why::PartMissing); }
  if ((found->flags & 1U) != 0) { return bad(Why::PartEncrypted); }
  if (found->method != 0 && found->method != 8) { return bad(Why::PartOtherMethod); }
  File file(std::fopen(path_.c_str(), "rb"));
  if (!file) { return error(Code::CannotRead).arg("file", path_).arg("reason", std::strerror(errno)); }
  Bytes header = piece(file.get(), found->header, 30);
  if (header.u32(0) != member_mark) { return bad(Why::PartMisplaced); }
  uint64_t begin = found->header + 30 + header.u16(26) + header.u16(28), total = size_of(file.get());
  if (begin > total || found->stored > total - begin || (found->method == 0 && found->stored != found->size)) { return bad(Why::PartCutOff); }
  // Deflate expands a byte to at most 1032 bytes. A member with a larger size is damaged: no memory is allocated for it.
  if (found->size / 1032 > found->stored) { return bad(Why::PartDamaged); }
  ::fseeko(file.get(), static_cast<off_t>(begin), SEEK_SET);
  return std::unique_ptr<ByteSource>(std::make_unique<MemberSource>(std::move(file), found->stored, found->size, found->method == 8, found->checksum));
}

}  // namespace loopsmith::runtime
