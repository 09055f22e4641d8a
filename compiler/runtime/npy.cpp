// .npy: a magic word, the header's length, a Python dictionary, the bytes. See npy.h.
#include "runtime/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ir/reals.h"
#include "support/codes.h"
#include "support/files.h"
#include "support/reasons.h"

namespace loopsmith::runtime {
namespace {

struct Close { void operator()(std::FILE* file) const { std::fclose(file); } };
using File = std::unique_ptr<std::FILE, Close>;

auto npy_type(DataType t) -> std::string {
  if (t.is_bool()) { return "|b1"; }
  if (is_short_real(t)) { return fmt::format("|V{}", t.element_bytes()); }   // bytes
  const char* kind = t.is_float() ? "f" : t.is_int() ? "i" : t.is_uint() ? "u" : nullptr;
  if (kind == nullptr) { return {}; }
  return fmt::format("{}{}{}", t.bits == 8 ? "|" : "<", kind, t.bits / 8);
}

/// The text after `'key':` in the header's dictionary, without leading blanks.
auto header_value(std::string_view header, std::string_view key) -> std::string_view {
  for (char quote : {'\'', '"'}) {
    size_t at = header.find(fmt::format("{}{}{}:", quote, key, quote));
    if (at == std::string_view::npos) { continue; }
    header.remove_prefix(at + key.size() + 3);
    header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
    return header;
  }
  return {};
}

// The elements of a column-order array, in row order.
auto in_row_order(const Tensor& columns) -> Result<Tensor> {
  LOOPSMITH_TRY(out, Tensor::zeros(columns.dtype(), columns.shape()));
  const std::vector<int64_t>& shape = columns.shape();
  std::vector<int64_t> at(shape.size(), 0), stride(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d) { stride[d] = stride[d - 1] * shape[d - 1]; }
  const auto bytes = static_cast<size_t>(columns.dtype().element_bytes());
  const auto* from = static_cast<const char*>(columns.data());
  auto* to = static_cast<char*>(out.data());
  for (int64_t i = 0; i < columns.count(); ++i) {
    int64_t place = 0;
    for (size_t d = 0; d < shape.size(); ++d) { place += at[d] * stride[d]; }
    std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(place) * bytes, bytes);
    for (size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];) { at[d] = 0; }
  }
  return out;
}

// `name`: for messages.
auto read_array(ByteSource& source, const std::string& name, DataType expected) -> Result<Tensor> {
  auto bad = [&](const Reason& why) { return error(Code::BadTensorFile).arg("file", name).arg("reason", why.text()); };
  unsigned char start[12] = {};
  if (source.read(start, 10) != 10 || std::memcmp(start, "\x93NUMPY", 6) != 0) { return bad(because(Why::NotNpy)); }
  uint32_t length = start[8] | (uint32_t(start[9]) << 8U);
  if (start[6] >= 2) {
    if (source.read(start + 10, 2) != 2) { return bad(because(Why::EndsInHeader)); }
    length |= (uint32_t(start[10]) << 16U) | (uint32_t(start[11]) << 24U);
  }
  if (length > (1U << 20U)) { return bad(because(Why::HeaderTooLong)); }
  std::string header(length, ' ');
  if (source.read(header.data(), length) != length) { return bad(because(Why::EndsInHeader)); }
  std::string_view descr = header_value(header, "descr");
  std::string_view order = header_value(header, "fortran_order");
  std::string_view dims = header_value(header, "shape");
  if (descr.size() < 4 || order.empty() || dims.empty() || dims[0] != '(') { return bad(because(Why::HeaderIncomplete)); }
  std::string_view type = descr.substr(1, descr.find(descr[0], 1) - 1);
  if (type.size() < 2) { return bad(because(Why::HeaderIncomplete)); }
  DataType dtype;
  for (DataType t : {DataType::bool_(), DataType::float_(16), DataType::float_(32), DataType::float_(64), DataType::int_(8), DataType::int_(16),
                     DataType::int_(32), DataType::int_(64), DataType::uint(8), DataType::uint(16), DataType::uint(32), DataType::uint(64)}) {
    if (type.substr(1) == npy_type(t).substr(1) && type[0] != '>') { dtype = t; }
  }
  // ml_dtypes writes "<V2" for bfloat16; NumPy itself writes "|V2".
  if (is_short_real(expected) && has_tensors(expected) && type.substr(1) == npy_type(expected).substr(1) && type[0] != '>') { dtype = expected; }
  if (dtype.is_void() && type.find('V') == 1) { return bad(because(Why::BareBytes).arg("type", type)); }
  if (dtype.is_void()) { return bad(because(Why::NoTensorsOfType).arg("type", type)); }
  std::vector<int64_t> shape;
  dims.remove_prefix(1);
  while (true) {
    dims.remove_prefix(std::min(dims.find_first_not_of(" ,"), dims.size()));
    if (dims.empty()) { return bad(because(Why::ShapeDoesNotEnd)); }
    if (dims[0] == ')') { break; }
    int64_t value = 0;
    auto [end, status] = std::from_chars(dims.data(), dims.data() + dims.size(), value);
    if (status != std::errc() || value < 0) { return bad(because(Why::ShapeNotSizes)); }
    shape.push_back(value);
    dims.remove_prefix(static_cast<size_t>(end - dims.data()));
  }
  // The file must contain as many bytes as its header specifies. Checked before memory is allocated for them.
  uint64_t held = source.left();
  std::optional<uint64_t> needed = byte_count(dtype, shape);
  if (!needed || held < *needed) { return bad(because(Why::ElementBytes).arg("found", held).arg("needed", needed ? std::to_string(*needed) : "more than 64 bits count")); }
  LOOPSMITH_TRY(out, Tensor::zeros(dtype, std::move(shape)));
  if (source.read(out.data(), out.bytes()) != out.bytes()) { return bad(because(Why::ElementsUnreadable)); }
  if (!source.is_intact()) { return bad(because(Why::ChecksumWrong)); }
  bool is_transposed = order.starts_with("True") && out.shape().size() > 1;
  return is_transposed ? in_row_order(out) : Result<Tensor>(std::move(out));
}

}  // namespace

auto read_npy(const std::string& path, DataType expected) -> Result<Tensor> {
  LOOPSMITH_TRY(source, open_file(path));
  return read_array(*source, path, expected);
}

auto NpzFile::open(const std::string& path) -> Result<NpzFile> {
  NpzFile out;
  LOOPSMITH_TRY(archive, Archive::open(path));
  out.path_ = path;
  out.archive_ = std::move(archive);
  constexpr std::string_view ending = ".npy";
  for (const std::string& name : out.archive_.names()) { if (name.ends_with(ending)) { out.names_.push_back(name.substr(0, name.size() - ending.size())); } }
  return out;
}

auto NpzFile::read(const std::string& name, DataType expected) const -> Result<Tensor> {
  LOOPSMITH_TRY(source, archive_.member(name + ".npy"));
  return read_array(*source, fmt::format("{}: {}", path_, name), expected);
}

auto write_npy(const std::string& path, const Tensor& tensor) -> Status {
  std::string type = npy_type(tensor.dtype());
  if (type.empty()) { return error(Code::CannotWrite).arg("file", path).arg("reason", because(Why::NpyHasNoType).arg("dtype", tensor.dtype().str()).text()); }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type, fmt::join(tensor.shape(), ", "),
                                   tensor.shape().size() == 1 ? "," : "");
  header.resize((header.size() + 1 + 10 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const char start[10] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(header.size() & 0xffU), static_cast<char>(header.size() >> 8U)};
  const std::string_view pieces[] = {{start, sizeof start}, header, {static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.bytes())}};
  return write_file(path, pieces);
}

}  // namespace loopsmith::runtime
