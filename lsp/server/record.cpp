// Writing the record of a session: see record.h.
#include "lsp/server/record.h"

#include <fmt/format.h>

#include <algorithm>

#include "lsp/protocol/json.h"

namespace loopsmith::lsp {

auto Recorder::open(const std::string& path) -> bool {
  file_.reset(std::fopen(path.c_str(), "we"));
  return file_ != nullptr;
}

void Recorder::unreadable(std::string_view why) { write("client", "unreadable", to_text(Json(why))); }

void Recorder::write(std::string_view from, std::string_view what, std::string_view json) {
  if (!file_) { return; }
  double time = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  // Line ends in JSON are blank space (in strings they are escaped), so this keeps a message on one line.
  std::string line(json);
  std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  fmt::print(file_.get(), "{{\"t\":{:.3f},\"from\":\"{}\",\"{}\":{}}}\n", time, from, what, line);
  std::fflush(file_.get());
}

}  // namespace loopsmith::lsp
