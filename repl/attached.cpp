// Asks the server for an edit, and waits for its answer: see attached.h.
#include "repl/attached.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/files.h"

namespace loopsmith::repl {
namespace {

/// The lines as an editor counts them: behind the last line break there is one more line, often an empty one.
auto lines_of(std::string_view text) -> std::vector<std::string_view> {
  std::vector<std::string_view> out;
  for (;;) {
    size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) { return out; }
    text.remove_prefix(end + 1);
  }
}

/// The smallest replacement of whole lines. Only at the end of a text is there no line behind to end at; there the edit ends at a character.
auto replacement(const std::string& before, const std::string& after) -> nlohmann::json {
  std::vector<std::string_view> old = lines_of(before), now = lines_of(after);
  size_t most = std::min(old.size(), now.size()) - 1;
  size_t first = 0, behind = 0;
  while (first < most && old[first] == now[first]) { ++first; }
  while (behind < most - first && old[old.size() - 1 - behind] == now[now.size() - 1 - behind]) { ++behind; }
  std::string lines;
  for (size_t i = first; i < now.size() - behind; ++i) { lines += std::string(now[i]) + (i + 1 < now.size() ? "\n" : ""); }
  // A character behind the end of its line stands for the end, so the number of bytes serves in every encoding.
  size_t last = behind > 0 ? old.size() - behind : old.size() - 1;
  size_t character = behind > 0 ? 0 : old.back().size();
  return {{"text", before}, {"first", first}, {"last", last}, {"character", character}, {"lines", lines}};
}

}  // namespace

auto edit_in_editor(const std::string& mirror, const std::string& before, const std::string& after, std::chrono::milliseconds patience) -> std::string {
  const std::string asked = mirror + ".edit", done = mirror + ".done";
  ::unlink(done.c_str());
  // Written aside and renamed, so that the server never reads a part of it.
  if (Status written = write_file(asked, replacement(before, after).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)); !written.ok()) {
    return written.diagnostics().front().message();
  }
  for (auto end = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
    auto answer = read_text(done);
    if (!answer.ok()) { continue; }
    ::unlink(done.c_str());
    return *answer;
  }
  ::unlink(asked.c_str());
  return "the editor did not answer";
}

}  // namespace loopsmith::repl
