// Any lines can be typed at the prompt: each has an effect or an error message, and the session continues. Commands that run machine
// code, start programs or access files are excluded.
#include <algorithm>
#include <cctype>

#include "repl/session.h"
#include "tests/fuzz/fuzz.h"

namespace loopsmith::fuzz {

void check_input(std::string_view input) {
  static const CancelToken never{};
  repl::Host host;
  bool said = false;
  host.out = [](std::string_view) {};
  host.err = [&](std::string_view text) { said = said || !text.empty(); };
  host.render = [](const Diagnostic& diagnostic, const auto&, const std::string&) { return diagnostic.message(); };
  host.interrupted = []() -> CancelToken { return {}; };
  repl::Session session(host);
  if (!session.load_text("matmul.tir", program_seeds()[0])) { fail("the program cannot be loaded", input); }
  size_t at = 0;
  for (int lines = 0; at < input.size() && lines < 30 && !session.wants_quit(); ++lines) {
    size_t end = std::min(input.find('\n', at), input.size());
    std::string line(input.substr(at, end - at));
    at = end + 1;
    size_t begin = line.find_first_not_of(" \t");
    // Random shell commands must not run, after a prompt or without one.
    const std::string before(line, 0, line.find(';'));
    if (before.size() < line.size() && std::none_of(before.begin(), before.end(), [](unsigned char c) { return std::isalpha(c); })) { continue; }
    if (begin != std::string::npos && line[begin] == ':') {
      static const char* const allowed[] = {"help", "h", "programs", "with", "print", "p", "ir", "diff", "d", "undo", "u", "redo", "goto", "steps", "trace", "lower", "quit", "q", "exit"};
      size_t word_end = line.find_first_of(" \t", begin);
      std::string word = line.substr(begin + 1, word_end == std::string::npos ? std::string::npos : word_end - begin - 1);
      bool exists = std::any_of(std::begin(allowed), std::end(allowed), [&](const char* name) { return word == name; });
      if (!exists) { continue; }
      if (word == "trace" || line.find('>') != std::string::npos) { line = line.substr(0, begin + 1) + word; }
    }
    size_t start = 0;
    (void)session.is_complete(line);
    (void)session.complete(line, line.size(), start);
    if (start > line.size()) { fail("completion begins outside the line", input); }
    size_t step = session.position();
    said = false;
    if (!session.execute(line)) {
      if (!said) { fail("a line fails without a word: " + line, input); }
      if (session.position() != step) { fail("a line that fails changes the step: " + line, input); }
    }
  }
}

auto seeds() -> std::vector<std::string> {
  return {"c = sch.get_block(\"C\")\ni, j, k = sch.get_loops(c)\ni0, i1 = sch.split(i, factors=[None, 4])\n:undo\n:redo\n:steps\n:diff\nsch.reorder(i0, j, i1, k)\n:print\n",
          ":with s\n:goto 2\n:lower\nb = sch.cache_read(sch.get_block(\"C\"), 0, \"local\")\n:trace\n:help split\n", "x = [1, 2]\nfor y in x:\n    print(y)\n:programs\n:lower flatten_buffer\nsch.nothing(\n"};
}
auto pieces() -> std::vector<std::string> {
  std::vector<std::string> out = language_pieces();
  for (const char* line : {"\n:undo\n", "\n:redo\n", "\n:goto 1\n", "\n:diff\n", "\n:steps\n", "\n:print\n", "\n:lower\n", "\n:with s\n", "\n:help\n", "\nsch.fuse(i0, j)\n", "\nsch.unroll(k)\n",
                           "\nsch.decompose_reduction(c, k)\n", "\nsch = 1\n", "\ndel sch\n", "\n:quit\n"}) { out.emplace_back(line); }
  return out;
}

}  // namespace loopsmith::fuzz
