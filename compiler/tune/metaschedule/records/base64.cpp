// Bytes as text: see base64.h.
#include "tune/metaschedule/records/base64.h"

#include <cstdint>

namespace loopsmith::tune::metaschedule {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

auto to_base64(std::string_view bytes) -> std::string {
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) { group = group << 8U | (k < count ? static_cast<uint8_t>(bytes[i + k]) : 0U); }
    for (size_t k = 0; k < 4; ++k) { out += k <= count ? alphabet[group >> (18 - 6 * k) & 63U] : '='; }
  }
  return out;
}

auto from_base64(std::string_view text) -> std::optional<std::string> {
  if (text.size() % 4 != 0) { return std::nullopt; }
  while (!text.empty() && text.back() == '=') { text.remove_suffix(1); }
  std::string out;
  uint32_t group = 0;
  unsigned bits = 0;
  for (char c : text) {
    size_t value = alphabet.find(c);
    if (value == std::string_view::npos) { return std::nullopt; }
    group = group << 6U | static_cast<uint32_t>(value);
    bits += 6;
    if (bits < 8) { continue; }
    bits -= 8;
    out += static_cast<char>(group >> bits & 0xffU);
  }
  return out;
}

}  // namespace loopsmith::tune::metaschedule
