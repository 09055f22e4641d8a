// Interned names: one pointer each, compared by pointer, never freed. Any thread may create and use them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace loopsmith {

class Name {
 public:
  Name() : Name(std::string_view{}) {}
  Name(std::string_view text);                                       // NOLINT: a name is its text
  Name(const char* text) : Name(std::string_view(text)) {}           // NOLINT
  Name(const std::string& text) : Name(std::string_view(text)) {}    // NOLINT

  [[nodiscard]] auto str() const -> const std::string& { return *text_; }
  [[nodiscard]] auto view() const -> std::string_view { return *text_; }
  [[nodiscard]] auto empty() const -> bool { return text_->empty(); }
  /// Alphabetical order. Equality compares pointers.
  friend auto operator<(Name a, Name b) -> bool { return *a.text_ < *b.text_; }
  friend auto operator==(Name a, Name b) -> bool { return a.text_ == b.text_; }
  friend auto operator==(Name a, std::string_view b) -> bool { return *a.text_ == b; }
  friend auto operator==(Name a, const char* b) -> bool { return *a.text_ == b; }
  [[nodiscard]] auto hash() const -> size_t { return std::hash<const void*>{}(text_); }

 private:
  const std::string* text_;
};

}  // namespace loopsmith

template <>
struct std::hash<loopsmith::Name> {
  auto operator()(loopsmith::Name name) const -> size_t { return name.hash(); }
};
