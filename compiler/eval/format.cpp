// Converts values to text: see format.h.
#include "eval/format.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "eval/evaluator.h"
#include "eval/limit_text.h"
#include "support/codes.h"
#include "support/text.h"

namespace loopsmith::eval {
namespace {

constexpr size_t widest = 10'000;

struct Spec {
  std::string fill = " ";
  char align = 0;
  char sign = '-';
  bool alternate = false;
  bool comma = false;
  size_t width = 0;
  int precision = -1;
  char type = 0;
};

auto parse(std::string_view text) -> std::optional<Spec> {
  Spec out;
  auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  size_t i = 0;
  if (text.size() > 1 && is_align(text[1])) {
    out.fill = text[0];
    out.align = text[1];
    i = 2;
  } else if (!text.empty() && is_align(text[0])) {
    out.align = text[0];
    i = 1;
  }
  if (i < text.size() && (text[i] == '+' || text[i] == '-' || text[i] == ' ')) { out.sign = text[i++]; }
  if (i < text.size() && text[i] == '#') { out.alternate = true; ++i; }
  if (i < text.size() && text[i] == '0' && !out.align) {
    out.fill = "0";
    out.align = '=';
    ++i;
  }
  while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) && out.width <= widest) { out.width = out.width * 10 + static_cast<size_t>(text[i++] - '0'); }
  if (i < text.size() && (text[i] == ',' || text[i] == '_')) { out.comma = text[i++] == ','; }
  if (i < text.size() && text[i] == '.') {
    ++i;
    out.precision = 0;
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) && out.precision < 1000) { out.precision = out.precision * 10 + (text[i++] - '0'); }
  }
  if (i < text.size()) { out.type = text[i++]; }
  if (i != text.size() || out.width > widest || out.precision > 100) { return {}; }
  return out;
}

auto digits(uint64_t value, unsigned base, bool upper) -> std::string {
  std::string out;
  do {
    out += (upper ? "0123456789ABCDEF" : "0123456789abcdef")[value % base];
    value /= base;
  } while (value);
  std::reverse(out.begin(), out.end());
  return out;
}

auto pad(const Spec& spec, const std::string& sign, std::string body, char usual) -> std::string {
  size_t size = sign.size() + body.size();
  if (size >= spec.width) { return sign + body; }
  size_t missing = spec.width - size;
  std::string left;
  std::string right;
  auto filler = [&](size_t n) {
    std::string out;
    for (size_t i = 0; i < n; ++i) { out += spec.fill; }
    return out;
  };
  switch (spec.align ? spec.align : usual) {
    case '<': return sign + body + filler(missing);
    case '^': return filler(missing / 2) + sign + body + filler(missing - missing / 2);
    case '=': return sign + filler(missing) + body;
    default: return filler(missing) + sign + body;
  }
}

auto add_commas(std::string body) -> std::string {
  size_t end = std::min(body.find('.'), body.size());
  for (size_t i = end; i > 3;) {
    i -= 3;
    body.insert(i, ",");
  }
  return body;
}

// A `%` format and the number of values for it differ.
auto wrong_count(Evaluator& evaluator, Origin where, const std::string& text, std::string_view difference, size_t count) -> Value {
  std::string problem(difference);
  problem += " than " + count_text(static_cast<int64_t>(count), "value");
  return evaluator.report(error(Code::BadFormat, where).arg("format", text).arg("problem", std::move(problem)).remedy("give one value for each conversion such as `%d`"));
}

// A field of a format with braces has no value: its number, its name, or empty for the next positional one.
auto no_value(Evaluator& evaluator, const Arguments& arguments, const std::string& text, const std::string& field) -> Value {
  const bool is_named = !field.empty() && std::isdigit(static_cast<unsigned char>(field[0])) == 0;
  return evaluator.report(error(Code::BadFormat, arguments.callee).arg("format", text).arg("problem", "has `{" + field + "}`, and the call passes no value for it")
                              .remedy(is_named ? "pass `" + field + "=...`" : std::string("pass one more value")));
}

}  // namespace

auto find_text(const std::string& in, const std::string& text, size_t from) -> size_t {
  if (from > in.size()) { return std::string::npos; }
  const void* found = ::memmem(in.data() + from, in.size() - from, text.data(), text.size());
  return found == nullptr ? std::string::npos : static_cast<size_t>(static_cast<const char*>(found) - in.data());
}

auto format_value(Evaluator& evaluator, const Argument& value, std::string_view text) -> std::optional<std::string> {
  if (text.empty()) { return value.value.to_str(); }
  auto spec = parse(text);
  auto refuse = [&]() -> std::optional<std::string> {
    evaluator.report(error(Code::BadFormat, value.where).arg("format", text).arg("problem", "does not fit " + describe(value.value)));
    return {};
  };
  if (!spec) { return refuse(); }
  const Value& v = value.value;
  if (v.is_int() || v.is_bool() || v.is_float()) {
    bool as_real = v.is_float() || (spec->type && std::string_view("fFeEgG%").find(spec->type) != std::string_view::npos);
    std::string body;
    bool negative = false;
    if (as_real) {
      double real = *v.to_float();
      negative = real < 0;
      if (negative) { real = -real; }
      char type = spec->type ? spec->type : 'g';
      if (type == 'd' || type == 'x') { return refuse(); }
      if (spec->type == 0 && spec->precision < 0) {
        body = Value(real).repr();
      } else {
        if (type == '%') { real *= 100; }
        char pattern[] = {'%', '.', '*', type == '%' ? 'f' : type, 0};
        std::vector<char> buffer(512);
        std::snprintf(buffer.data(), buffer.size(), pattern, spec->precision < 0 ? 6 : spec->precision, real);
        body = buffer.data();
        if (type == '%') { body += '%'; }
      }
    } else {
      int64_t i = v.int_value();
      negative = i < 0;
      uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(i) : static_cast<uint64_t>(i);
      switch (spec->type) {
        case 0: case 'd': case 'n': body = digits(magnitude, 10, false); break;
        case 'x': body = (spec->alternate ? "0x" : "") + digits(magnitude, 16, false); break;
        case 'X': body = (spec->alternate ? "0X" : "") + digits(magnitude, 16, true); break;
        case 'b': body = (spec->alternate ? "0b" : "") + digits(magnitude, 2, false); break;
        case 'o': body = (spec->alternate ? "0o" : "") + digits(magnitude, 8, false); break;
        default: return refuse();
      }
    }
    if (spec->comma) { body = add_commas(std::move(body)); }
    std::string sign = negative ? "-" : spec->sign == '+' ? "+" : spec->sign == ' ' ? " " : "";
    return pad(*spec, sign, std::move(body), '>');
  }
  if (spec->type && spec->type != 's') { return refuse(); }
  std::string body = v.to_str();
  if (spec->precision >= 0 && body.size() > static_cast<size_t>(spec->precision)) { body.resize(static_cast<size_t>(spec->precision)); }
  return pad(*spec, "", std::move(body), '<');
}

auto format_percent(Evaluator& evaluator, const std::string& text, const Argument& value, Origin where) -> Value {
  std::vector<Value> values;
  if (const auto* tuple = value.value.as<Tuple>()) { values = tuple->items; } else { values.push_back(value.value); }
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') { out += text[i]; continue; }
    ++i;
    if (i < text.size() && text[i] == '%') { out += '%'; continue; }
    std::string spec;
    bool left = false;
    for (; i < text.size() && std::string_view("-+ #0123456789.").find(text[i]) != std::string_view::npos; ++i) {
      if (text[i] == '-') { left = true; } else { spec += text[i]; }
    }
    if (i >= text.size()) { return evaluator.report(error(Code::BadFormat, where).arg("format", text).arg("problem", "ends behind a `%`").remedy("write `%%` for a percent sign")); }
    if (next >= values.size()) { return wrong_count(evaluator, where, text, "needs more", values.size()); }
    char type = text[i] == 'i' ? 'd' : text[i];
    Argument one{values[next++], value.where, {}};
    if (type == 'r' || type == 's') {
      one.value = Value::str(type == 'r' ? one.value.repr() : one.value.to_str());
      type = 's';
    }
    auto done = format_value(evaluator, one, (left ? "<" : type == 's' ? ">" : "") + spec + type);
    if (!done) { return Value::error(); }
    out += *done;
    if (out.size() > evaluator.limits.text_bytes) { return evaluator.report(error(Code::TooMuchWork, where).arg("what", more_than(evaluator.limits.text_bytes, "a text", "bytes"))); }
  }
  if (next != values.size()) { return wrong_count(evaluator, where, text, "uses fewer", values.size()); }
  return Value::str(std::move(out));
}

auto format_braces(Evaluator& evaluator, const std::string& text, const Arguments& arguments) -> Value {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) { out += c; ++i; continue; }
    if (c != '{') { out += c; continue; }
    size_t close = text.find('}', i);
    if (close == std::string::npos) { return evaluator.report(error(Code::BadFormat, arguments.callee).arg("format", text).arg("problem", "has a `{` that is never closed").remedy("write `{{` for a brace")); }
    std::string field = text.substr(i + 1, close - i - 1);
    i = close;
    std::string spec;
    if (size_t colon = field.find(':'); colon != std::string::npos) {
      spec = field.substr(colon + 1);
      field.resize(colon);
    }
    const Argument* a = nullptr;
    if (field.empty()) {
      if (next < arguments.positional) { a = &arguments.all[next++]; }
    } else if (std::isdigit(static_cast<unsigned char>(field[0])) && field.size() < 6) {
      size_t index = static_cast<size_t>(std::stoi(field));
      if (index < arguments.positional) { a = &arguments.all[index]; }
    } else {
      a = arguments.keyword(Name(field));
    }
    if (!a) { return no_value(evaluator, arguments, text, field); }
    auto done = format_value(evaluator, *a, spec);
    if (!done) { return Value::error(); }
    out += *done;
    if (out.size() > evaluator.limits.text_bytes) { return evaluator.report(error(Code::TooMuchWork, arguments.call).arg("what", more_than(evaluator.limits.text_bytes, "a text", "bytes"))); }
  }
  return Value::str(std::move(out));
}

}  // namespace loopsmith::eval
