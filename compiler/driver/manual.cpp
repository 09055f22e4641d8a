// Finds sections of the manual: see manual.h. In an example, a line that begins with `#` is a comment, not a heading.
#include "driver/manual.h"

#include <algorithm>

namespace loopsmith::driver {
namespace {

/// Calls `on_line(line, in_example)` for each line; fences count as outside.
template <typename OnLine>
void each_line(std::string_view page, OnLine&& on_line) {
  bool in_example = false;
  while (!page.empty()) {
    std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(line.size() + 1, page.size()));
    bool is_fence = line.starts_with("```");
    on_line(line, in_example && !is_fence);
    in_example = in_example != is_fence;
  }
}

auto is_heading(std::string_view line) -> bool { return line.starts_with("# ") || line.starts_with("## "); }

}  // namespace

auto shared_programs(std::string_view page, std::string_view example) -> std::string {
  std::string out;
  std::string program;
  bool in_section = false;
  auto is_wanted = [&](std::string_view name) {
    std::string call = "@ls.schedule(" + std::string(name);
    bool is_scheduled = example.find(call + ")") != std::string_view::npos || example.find(call + ",") != std::string_view::npos;
    return is_scheduled && example.find("def " + std::string(name) + "(") == std::string_view::npos;
  };
  each_line(page, [&](std::string_view line, bool in_example) {
    if (in_example) {
      if (!in_section) { program += std::string(line) + "\n"; }
      return;
    }
    if (is_heading(line)) { in_section = line.starts_with("## "); }
    size_t name = program.find("def ");
    if (name != std::string::npos && is_wanted(std::string_view(program).substr(name + 4, program.find('(', name) - name - 4))) { out += program + "\n\n"; }
    program.clear();
  });
  return out;
}

auto manual_section(std::string_view page, std::string_view code) -> std::string {
  std::string out, example;
  bool in_section = false;
  each_line(page, [&](std::string_view line, bool in_example) {
    if (!in_example && is_heading(line)) {
      in_section = line.starts_with("## ") && line.substr(3) == code;
      return;
    }
    if (!in_section) { return; }
    if (in_example) {
      example += std::string(line) + "\n";
      return;
    }
    if (!example.empty()) { out += shared_programs(page, example) + example; }
    example.clear();
    if (!out.empty() || !line.empty()) { out += std::string(line) + "\n"; }
  });
  return out;
}

}  // namespace loopsmith::driver
