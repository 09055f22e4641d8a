// Reads and writes transcripts: see transcript.h.
#include "repl/transcript.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "repl/commands.h"
#include "repl/input.h"
#include "repl/session.h"
#include "repl/text.h"
#include "support/scoped_value.h"

namespace loopsmith::repl {
namespace {

/// The number behind `name` in a line; 0: there is none.
auto number_behind(const std::string& line, const char* name) -> size_t {
  constexpr unsigned long most = 10000;
  size_t at = line.find(name);
  return at == std::string::npos ? 0 : std::min(std::strtoul(line.c_str() + at + std::strlen(name), nullptr, 10), most);
}

}  // namespace

auto plain_text(std::string_view output) -> std::string {
  std::string out;
  for (size_t i = 0; i < output.size(); ++i) {
    if (output[i] == '\x1b') {
      while (i + 1 < output.size() && (output[i] < '@' || output[i] > '~' || output[i] == '[')) { ++i; }
    } else if (output[i] == '\r') {
      out.resize(out.rfind('\n') == std::string::npos ? 0 : out.rfind('\n') + 1);
    } else {
      out += output[i];
    }
  }
  return out;
}

auto differs_each_time(const std::string& input) -> bool {
  if (input.starts_with(";") || input.starts_with("]")) { return true; }
  for (const char* command : {"bench", "why", "explain", "run", "verify", "tune", "time", "jobs", "wait", "fg", "stop", "take", "search", "shell", "hist", "history", "roofline", "footprint", "target", "asm", "llvm", "watch", "hint"}) {
    if (input == std::string(":") + command || input.starts_with(std::string(":") + command + " ")) { return true; }
  }
  return false;
}

auto with_prompts(std::string_view input) -> std::string {
  std::string out = "sch> ";
  for (char c : input) {
    out += c;
    if (c == '\n') { out += "...> "; }
  }
  return out + "\n";
}

auto read_transcript(std::string_view text, std::string* preamble) -> std::vector<Exchange> {
  std::vector<Exchange> out;
  size_t number = 0;
  bool in_input = false;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) { line.remove_suffix(1); }
    // The progress of a search in the background is printed before the prompt.
    if (size_t margin = line.find("] sch>"); line.starts_with("[") && margin != std::string_view::npos && line.find_first_of("[]", 1) == margin) { line.remove_prefix(margin + 2); }
    if (line == "sch>" || line.starts_with("sch> ")) {
      out.push_back({std::string(line.substr(std::min<size_t>(5, line.size()))), {}, number});
      in_input = true;
    } else if (in_input && (line == "...>" || line.starts_with("...> "))) {
      out.back().input += "\n" + std::string(line.substr(std::min<size_t>(5, line.size())));
    } else if (!out.empty()) {
      out.back().output += std::string(line) + "\n";
      in_input = false;
    } else if (preamble != nullptr) {
      *preamble += std::string(line) + "\n";
    }
  }
  return out;
}

auto read_passages(std::string_view text, bool is_markdown) -> std::vector<Passage> {
  std::vector<Passage> out(1);
  if (!is_markdown) {
    out[0].typed = read_transcript(text, &out[0].before);
    return out;
  }
  size_t number = 0;
  std::string fence;              // the fence that closes the block; empty: outside
  std::string block;
  size_t block_line = 0;
  size_t width = 0;
  size_t height = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    size_t ticks = std::min(line.find_first_not_of('`'), line.size());
    if (fence.empty()) {
      out.back().before += line + "\n";
      if (ticks >= 3) {
        fence = line.substr(0, ticks);
        width = number_behind(line, "width=");
        height = number_behind(line, "height=");
        block_line = number;
      }
      continue;
    }
    bool closes = ticks >= fence.size() && ticks == line.size();
    if (!closes) {
      block += line + "\n";
      continue;
    }
    std::string preamble;
    std::vector<Exchange> typed = read_transcript(block, &preamble);
    if (typed.empty()) {
      out.back().before += block;
    } else {
      for (Exchange& one : typed) { one.line += block_line; }
      out.back().before += preamble;
      out.back().typed = std::move(typed);
      out.back().width = width;
      out.back().height = height;
      out.emplace_back();
    }
    out.back().before += line + "\n";
    block.clear();
    fence.clear();
  }
  out.back().before += block;
  return out;
}

auto Session::as_document() const -> std::string {
  constexpr std::string_view fence = "````";
  std::string out = fmt::format("# A session with `{}`\n\n`{}`:\n\n{}python\n{}\n{}\n\n", program_name_.view(), path_, fence, trim(snapshot_->text()), fence);
  out += fmt::format("The inputs and their answers (`loopsmith repl --check` runs them again and compares):\n\n{}sched width={} height={}\n", fence, host_.width, height());
  auto add = [&](const std::string& input, const std::string& answer) {
    // A block ends with an empty line.
    bool is_block = input.find('\n') != std::string::npos;
    out += with_prompts(is_block ? input + "\n" : input) + answer + (answer.empty() || answer.ends_with("\n") ? "" : "\n");
  };
  if (!begun_with_.empty()) { add(":load " + begun_with_, "...\n"); }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::string& line = inputs_[i].line;
    if (line.starts_with(":save") || line == ":quit" || line == ":q" || line == ":exit") { continue; }
    add(line, differs_each_time(line) ? std::string("...\n") : plain_text(answers_[i]));
  }
  return out + std::string(fence) + "\n";
}

auto Session::run_lines(const std::string& text, bool is_own) -> bool {
  ScopedValue is_of_text(host_.is_of_text, host_.is_of_text || !is_own);
  std::vector<Exchange> typed = read_transcript(text);
  if (typed.empty()) {
    for (std::string& input : split_inputs(text)) { typed.push_back({std::move(input), {}, 0}); }
  }
  for (const Exchange& one : typed) {
    if (!execute(one.input)) {
      complain("stopped at: " + one.input + "\n");
      return false;
    }
    if (quit_) { break; }
  }
  return true;
}

}  // namespace loopsmith::repl
