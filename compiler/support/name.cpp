// The table of interned names: see name.h.
#include "support/name.h"

#include <mutex>
#include <unordered_set>

namespace loopsmith {
namespace {

struct Hash {
  using is_transparent = void;
  auto operator()(std::string_view text) const -> size_t { return std::hash<std::string_view>{}(text); }
};

// Never freed: names outlive all other objects, even those of threads that end late.
struct Table {
  std::mutex mutex;
  std::unordered_set<std::string, Hash, std::equal_to<>> names;
};

auto table() -> Table& {
  static auto* the_table = new Table;
  return *the_table;
}

}  // namespace

Name::Name(std::string_view text) {
  if (text.empty()) {
    static const auto* nothing = new std::string;
    text_ = nothing;
    return;
  }
  Table& names = table();
  std::lock_guard lock(names.mutex);
  auto found = names.names.find(text);
  if (found == names.names.end()) { found = names.names.emplace(text).first; }
  text_ = &*found;
}

}  // namespace loopsmith
