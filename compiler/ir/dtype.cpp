// Names of data types, read and written: see dtype.h.
#include "ir/dtype.h"

#include <charconv>
#include <utility>

#include "ir/spelling.h"

namespace loopsmith {
namespace {

struct Named { TypeCode code; uint8_t bits; const char* name; const char* recent; };
// TVM 0.19's spelling first, the recent one second.
constexpr Named named[] = {
    {TypeCode::Float8E4M3FN, 8, "e4m3_float8", "float8_e4m3fn"},
    {TypeCode::Float8E5M2, 8, "e5m2_float8", "float8_e5m2"},
    {TypeCode::Float8E3M4, 8, "float8_e3m4", "float8_e3m4"},
    {TypeCode::Float8E4M3, 8, "float8_e4m3", "float8_e4m3"},
    {TypeCode::Float8E4M3B11FNUZ, 8, "float8_e4m3b11fnuz", "float8_e4m3b11fnuz"},
    {TypeCode::Float8E4M3FNUZ, 8, "float8_e4m3fnuz", "float8_e4m3fnuz"},
    {TypeCode::Float8E5M2FNUZ, 8, "float8_e5m2fnuz", "float8_e5m2fnuz"},
    {TypeCode::Float8E8M0FNU, 8, "float8_e8m0fnu", "float8_e8m0fnu"},
    {TypeCode::Float6E2M3FN, 6, "float6_e2m3fn", "float6_e2m3fn"},
    {TypeCode::Float6E3M2FN, 6, "float6_e3m2fn", "float6_e3m2fn"},
    {TypeCode::Float4E2M1FN, 4, "e2m1_float4", "float4_e2m1fn"},
};

auto take_number(std::string_view& text) -> std::optional<int> {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) { return {}; }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

auto spelt(DataType t, const char* Named::*which) -> std::string {
  if (t.is_void()) { return "void"; }
  std::string out;
  switch (t.code) {
    case TypeCode::Int: out = "int" + std::to_string(t.bits); break;
    case TypeCode::UInt: out = t.bits == 1 ? "bool" : "uint" + std::to_string(t.bits); break;
    case TypeCode::Float: out = "float" + std::to_string(t.bits); break;
    case TypeCode::BFloat: out = "bfloat16"; break;
    case TypeCode::Handle: out = "handle"; break;
    default:
      for (const Named& n : named) {
        if (n.code == t.code) { out = n.*which; }
      }
  }
  if (t.scalable) { return out + "xvscalex" + std::to_string(t.lanes); }
  if (t.lanes > 1) { out += "x" + std::to_string(t.lanes); }
  return out;
}

}  // namespace

auto DataType::str() const -> std::string { return spelt(*this, &Named::name); }
auto recent_spelling(DataType type) -> std::string { return spelt(type, &Named::recent); }

auto DataType::parse(std::string_view text) -> std::optional<DataType> {
  DataType out;
  auto starts = [&](std::string_view prefix) {
    if (!text.starts_with(prefix)) { return false; }
    text.remove_prefix(prefix.size());
    return true;
  };
  bool found = false;
  if (text == "void") { return void_(); }
  for (const Named& n : named) {
    for (const char* name : {n.name, n.recent}) {
      if (!found && text.starts_with(name) && (text.size() == std::string_view(name).size() || text[std::string_view(name).size()] == 'x')) {
        text.remove_prefix(std::string_view(name).size());
        out = {n.code, n.bits, 1};
        found = true;
      }
    }
  }
  if (found) {
  } else if (starts("bool")) {
    out = bool_();
  } else if (starts("bfloat16")) {
    out = bfloat16();
  } else if (starts("handle")) {
    out = handle();
  } else {
    if (starts("uint")) { out = uint(32); }
    else if (starts("int")) { out = int_(32); }
    else if (starts("float")) { out = float_(32); }
    else { return {}; }
    if (!text.empty() && text[0] != 'x') {
      if (text[0] == '0') { return {}; }
      auto bits = take_number(text);
      if (!bits || *bits < 1 || *bits > 128) { return {}; }
      // Refuses widths that no format has.
      if (out.code == TypeCode::Float && *bits != 16 && *bits != 32 && *bits != 64 && *bits != 128) { return {}; }
      out.bits = static_cast<uint8_t>(*bits);
    }
  }
  if (text.empty()) { return out; }
  if (starts("xvscalex")) { out.scalable = true; }
  else if (!starts("x")) { return {}; }
  auto lanes = take_number(text);
  if (!lanes || *lanes < 1 || *lanes > 65535 || !text.empty()) { return {}; }
  out.lanes = static_cast<uint16_t>(*lanes);
  return out;
}

}  // namespace loopsmith
