// Reading lines: libedit on a terminal, plain lines from a pipe. See repl.h.
#include "repl/repl.h"

#include <editline/readline.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

#include "repl/commands.h"
#include "repl/history.h"
#include "repl/input.h"
#include "repl/text.h"
#include "support/files.h"
#include "support/text.h"
#include "support/text_diff.h"

namespace loopsmith::repl {
namespace {

constexpr const char* prompt = "sch> ";
constexpr const char* continuation = "...> ";
constexpr int kept_lines = 2000;

// The C library's completion callback has no parameter for user data; a terminal has one session.
Session* completing = nullptr;

// Ctrl-C cancels a running input. At the prompt it is an ordinary key, and drops the line; Ctrl-Z suspends, as everywhere.
bool is_dropped = false;
auto drop_line(int, int) -> int {
  is_dropped = true;
  rl_done = 1;
  // Moves the cursor to the end, so that a line of several rows stays on the screen unchanged.
  rl_point = rl_end;
  ::rl_redisplay();
  std::fputs("^C\n", stdout);
  std::fflush(stdout);
  return 0;
}
auto suspend(int, int) -> int {
  ::rl_deprep_terminal();
  (void)::raise(SIGTSTP);
  ::rl_prep_terminal(1);
  std::fputs("\r", stdout);
  std::fflush(stdout);
  ::rl_forced_update_display();
  return 0;
}

CancelSource* running = nullptr;
void on_interrupt(int) {
  if (running) { running->cancel(); }
}
auto fresh_token() -> CancelToken {
  static CancelSource source;
  source = CancelSource();
  running = &source;
  return source.token();
}

auto completions(const char*, int begin, int) -> char** {
  std::string line(rl_line_buffer ? rl_line_buffer : "");
  // The library completes names of files.
  for (const char* command : {":load ", ":save ", ":l "}) {
    if (line.starts_with(command)) {
      rl_attempted_completion_over = 0;
      return nullptr;
    }
  }
  rl_attempted_completion_over = 1;
  size_t start = 0;
  std::vector<std::string> words = completing->complete(line, static_cast<size_t>(rl_point), start);
  if (words.empty()) { return nullptr; }
  // The library replaces text from `begin` on, which may be before our word ("sch." in "sch.spl") or inside it ("shared.dyn").
  if (static_cast<size_t>(begin) < start) {
    std::string kept = line.substr(static_cast<size_t>(begin), start - static_cast<size_t>(begin));
    for (std::string& word : words) { word = kept + word; }
  } else if (static_cast<size_t>(begin) > start) {
    size_t typed_before = static_cast<size_t>(begin) - start;
    for (std::string& word : words) { word = word.size() > typed_before ? word.substr(typed_before) : word; }
  }
  // The first entry is the common beginning of all.
  std::string common = words[0];
  for (const std::string& word : words) {
    size_t n = 0;
    while (n < common.size() && n < word.size() && common[n] == word[n]) { ++n; }
    common.resize(n);
  }
  // While several entries fit, typed text that is not their beginning stays.
  std::string typed = line.substr(std::min(line.size(), static_cast<size_t>(begin)), static_cast<size_t>(std::max(0, rl_point - begin)));
  if (words.size() > 1 && !common.starts_with(typed)) { common = typed; }
  auto** out = static_cast<char**>(std::malloc((words.size() + 2) * sizeof(char*)));
  out[0] = ::strdup(common.c_str());
  for (size_t i = 0; i < words.size(); ++i) { out[i + 1] = ::strdup(words[i].c_str()); }
  out[words.size() + 1] = nullptr;
  if (words.size() == 1) {
    out[1] = nullptr;
  }
  return out;
}

/// Lines and columns of the terminal; none: there is no terminal.
auto terminal_size() -> std::optional<winsize> {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 3 || size.ws_col < 10) { return std::nullopt; }
  return size;
}

// Keys typed at the pager that are not its commands: the next line begins with them.
std::string typed_ahead;

/// Shows a text a screen at a time: space for the next screen, Enter for a line, `q` or Ctrl-C to end; other keys are passed to the prompt.
void page(std::string_view text) {
  winsize size = terminal_size().value_or(winsize{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0});
  auto rows_of = [&](std::string_view line) { return std::max<size_t>(1, (columns_of(line) + size.ws_col - 1) / size.ws_col); };
  auto next_line = [&]() { return text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1); };
  auto out = [](std::string_view part) { std::fwrite(part.data(), 1, part.size(), stdout); };
  size_t rows = 0;
  size_t lines = 0;
  for (std::string_view left = text; !left.empty(); ++lines) {
    size_t end = std::min(left.find('\n'), left.size() - 1) + 1;
    rows += rows_of(left.substr(0, end));
    left.remove_prefix(end);
  }
  termios before{};
  if (rows + 1 < size.ws_row || ::tcgetattr(STDIN_FILENO, &before) != 0) {
    out(text);
    std::fflush(stdout);
    return;
  }
  termios raw = before;
  // Ctrl-C is an ordinary key here, because no input runs.
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  size_t screen = size.ws_row - 1U;
  size_t room = screen;
  while (!text.empty()) {
    std::string_view line = next_line();
    size_t needed = rows_of(line);
    if (needed <= room || room == screen) {
      out(line);
      text.remove_prefix(line.size());
      --lines;
      room -= std::min(needed, room);
      if (room > 0 || text.empty()) { continue; }
    }
    std::fprintf(stdout, "-- %zu more %s: space, Enter, q --", lines, plural(static_cast<int64_t>(lines), "line").c_str());
    std::fflush(stdout);
    char key = 'q';
    while (::read(STDIN_FILENO, &key, 1) < 0 && errno == EINTR) {}
    out("\r\x1b[K");
    if (key == ' ' || key == 'f' || key == '\x06') {
      room = screen;
    } else if (key == '\n' || key == '\r' || key == 'j') {
      room = rows_of(next_line());
    } else {
      // A printable key: the beginning of the next line.
      bool is_typed = key > ' ' && key < 127 && key != 'q' && key != 'Q';
      if (is_typed) { typed_ahead.assign(1, key); }
      break;
    }
  }
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
  std::fflush(stdout);
}

auto read_all(const std::string& path) -> std::optional<std::string> {
  auto text = read_text(path);
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

/// All of standard input that `std::cin` has not read yet, up to the size limit of texts. None: there is more.
auto read_rest_of_input() -> std::optional<std::string> {
  std::string all;
  char chunk[65536];
  while (all.size() <= largest_text && (std::cin.read(chunk, sizeof chunk) || std::cin.gcount() > 0)) { all.append(chunk, static_cast<size_t>(std::cin.gcount())); }
  return all.size() > largest_text ? std::nullopt : std::optional(std::move(all));
}

/// True if lines match the expected lines, in which a line "..." matches any number of lines.
auto fits(const std::vector<std::string>& expected, size_t i, const std::vector<std::string>& got, size_t j) -> bool {
  for (; i < expected.size(); ++i, ++j) {
    if (expected[i] == "...") {
      for (size_t next = j; next <= got.size(); ++next) {
        if (fits(expected, i + 1, got, next)) { return true; }
      }
      return false;
    }
    if (j >= got.size() || expected[i] != got[j]) { return false; }
  }
  return j == got.size();
}

auto lines_of(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) { out.push_back(line); }
  while (!out.empty() && out.back().empty()) { out.pop_back(); }
  return out;
}

// Keys are read here, one character at a time, and passed to the library. libedit forgets text that was inserted before it reads, so the
// indentation of a line is inserted when the first key is read. After a moment without a key, the prompt shows the progress of searches
// in the background: the library receives a private key, whose function redraws line and prompt, wherever the cursor is.
std::string indentation;
Session* watched = nullptr;   // null: no search runs
std::string shown_prompt;
constexpr int margin_turn = 250;   // milliseconds
constexpr unsigned char margin_key = '_' & 037;
// A terminal marks the beginning and the end of pasted text on request. Several pasted lines are inputs, as in a file, not keys: they are
// not indented further, answers of a transcript are skipped, and the first input that fails ends them.
constexpr const char* ask_about_pastes = "\x1b[?2004h";
constexpr const char* ask_no_more = "\x1b[?2004l";
constexpr std::string_view paste_begins = "\x1b[200~";
constexpr std::string_view paste_ends = "\x1b[201~";
constexpr unsigned char paste_key = '^' & 037;
std::string read_ahead;              // bytes to read before those of the terminal
std::string paste;                   // several lines that will be put on the line
std::optional<std::string> pasted;   // including the text around the cursor
// After keys that are not text (arrows through the history, a search in it, half of a key of two bytes) the library continues its last
// action, which is not interrupted until text is typed.
bool is_typing = true;
bool is_searching = false;           // Ctrl-R and Ctrl-S: typed text is the search text
enum class Escape : uint8_t { None, Begun, Inside } escape = Escape::None;

/// Redraws prompt and line from the start of the line.
void redraw() {
  std::fputs("\r\x1b[K", stdout);
  std::fflush(stdout);
  ::rl_forced_update_display();
}

/// Removes prompt and line from the screen, also if they are wrapped.
void clear_line() {
  size_t columns = terminal_size().value_or(winsize{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0}).ws_col;
  std::string_view line(rl_line_buffer != nullptr ? rl_line_buffer : "");
  size_t rows = (columns_of(shown_prompt) + columns_of(line.substr(0, static_cast<size_t>(std::max(0, rl_point))))) / columns;
  if (rows > 0) { std::fprintf(stdout, "\x1b[%zuA", rows); }
  std::fputs("\r\x1b[J", stdout);
  std::fflush(stdout);
}

auto update_margin(int, int) -> int {
  if (watched == nullptr) { return 0; }
  clear_line();
  // Ended searches are reported above the prompt.
  watched->report_news();
  std::fflush(stdout);
  shown_prompt = watched->margin() + prompt;
  (void)::rl_set_prompt(shown_prompt.c_str());
  ::rl_forced_update_display();
  return 0;
}

// The library draws typed text plain; it is then painted over in colours, character for character, so that the library's model of the screen
// stays correct. A private key starts that, too, when no more input is waiting.
constexpr unsigned char paint_key = ']' & 037;
bool paints = false;                 // the terminal has colours and can restore the position of the cursor
bool may_paint = false;              // a key has changed the line

/// True if the line can be painted over: characters of other scripts may be wider than one column.
auto is_paintable(std::string_view line) -> bool {
  return std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c < 127; });
}

auto paint(int, int) -> int {
  std::string line(rl_line_buffer != nullptr ? rl_line_buffer : "");
  if (!is_paintable(line)) { return 0; }
  size_t columns = terminal_size().value_or(winsize{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0}).ws_col;
  size_t row = (columns_of(shown_prompt) + static_cast<size_t>(std::max(0, rl_point))) / columns;
  std::string out = "\x1b" "7";
  if (row > 0) { out += fmt::format("\x1b[{}A", row); }
  out += "\r" + shown_prompt + completing->colored(line) + "\x1b" "8";
  std::fputs(out.c_str(), stdout);
  std::fflush(stdout);
  return 0;
}

void note_key(int key) {
  constexpr int begin = 0x1b, erase = 0x7f, erase_too = 0x08, search = 'r' & 037, search_on = 's' & 037;
  // Only text and erasing continue a search.
  is_searching = key == search || key == search_on || (is_searching && (key >= ' ' || key == erase_too));
  if (escape == Escape::Begun && (key == '[' || key == 'O')) {
    escape = Escape::Inside;
  } else if (escape != Escape::None) {
    if (escape == Escape::Begun || (key >= '@' && key <= '~')) { escape = Escape::None; }
  } else if (key == begin) {
    escape = Escape::Begun;
    is_typing = false;
  } else {
    is_typing = (key >= ' ' && key != erase) || ((key == erase || key == erase_too) && is_typing);
  }
}

/// Replaces the line by the pasted text with the text around the cursor.
auto take_paste(int, int) -> int {
  std::string line(rl_line_buffer != nullptr ? rl_line_buffer : "");
  size_t at = std::min(line.size(), static_cast<size_t>(std::max(0, rl_point)));
  clear_line();
  pasted = line.substr(0, at) + std::exchange(paste, {}) + line.substr(at);
  rl_done = 1;
  return 0;
}

/// The next byte; -1: the input has ended.
auto read_byte() -> int {
  unsigned char byte = 0;
  if (!read_ahead.empty()) {
    byte = static_cast<unsigned char>(read_ahead.front());
    read_ahead.erase(0, 1);
    return byte;
  }
  for (;;) {
    ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count == 1) { return byte; }
    if (count == 0 || errno != EINTR) { return -1; }
  }
}

/// True if an escape begins pasted text; else the bytes behind it are read again.
auto begins_paste() -> bool {
  constexpr int together = 20;   // milliseconds: the bytes of a terminal arrive together, those of a person do not
  std::string got(1, paste_begins[0]);
  while (got.size() < paste_begins.size() && paste_begins.starts_with(got)) {
    pollfd more{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (read_ahead.empty() && ::poll(&more, 1, together) <= 0) { break; }
    int next = read_byte();
    if (next < 0) { break; }
    got += static_cast<char>(next);
  }
  if (got == paste_begins) { return true; }
  read_ahead.insert(0, got.substr(1));
  return false;
}

/// Pasted text up to its end: with our line ends, blanks for tabs, and without control characters.
auto read_paste() -> std::string {
  std::string raw;
  while (!raw.ends_with(paste_ends)) {
    int next = read_byte();
    if (next < 0) { break; }
    raw += static_cast<char>(next);
  }
  if (raw.ends_with(paste_ends)) { raw.resize(raw.size() - paste_ends.size()); }
  std::string text;
  for (size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (c == '\r') {
      text += raw.substr(i + 1, 1) == "\n" ? "" : "\n";
    } else if (c == '\t') {
      text += "    ";
    } else if (c == '\n' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f)) {
      text += c;
    }
  }
  return text;
}

auto read_key(FILE*) -> int {
  if (!indentation.empty()) {
    ::rl_insert_text(std::exchange(indentation, {}).c_str());
    redraw();
  }
  pollfd key{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (may_paint && is_typing && !is_searching && read_ahead.empty() && ::poll(&key, 1, 0) == 0) {
    may_paint = false;
    return paint_key;
  }
  for (int ready = read_ahead.empty() ? 0 : 1; ready <= 0;) {
    ready = ::poll(&key, 1, watched != nullptr ? margin_turn : -1);
    if (ready < 0 && errno != EINTR) { return -1; }
    if (ready == 0 && is_typing && !is_searching && watched->margin() + prompt != shown_prompt) { return margin_key; }
  }
  int first = read_byte();
  if (first < 0) { return -1; }
  if (first == paste_begins[0] && begins_paste()) {
    std::string text = read_paste();
    is_typing = true;
    escape = Escape::None;
    // A single line is read as if it were typed.
    if (text.find('\n') == std::string::npos) {
      read_ahead.insert(0, text);
      return read_key(nullptr);
    }
    paste = std::move(text);
    return paste_key;
  }
  note_key(first);
  may_paint = paints;
  // UTF-8: the number of bytes that follow, and their bits.
  int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  int code = more == 0 ? first : first & (0x3f >> more);
  for (; more > 0; --more) {
    int next = read_byte();
    if (next < 0) { return -1; }
    code = code << 6 | (next & 0x3f);
  }
  return code;
}
void begin_line_with(std::string text) {
  indentation = std::move(text);
  is_typing = true;
  escape = Escape::None;
}

auto knows_pastes() -> bool {
  static const bool knows = [] {
    const char* term = std::getenv("TERM");
    return term != nullptr && *term != '\0' && std::strcmp(term, "dumb") != 0;
  }();
  return knows;
}

auto read_terminal_line(const std::string& text, std::string& line) -> bool {
  is_dropped = false;
  shown_prompt = text;
  if (knows_pastes()) { std::fputs(ask_about_pastes, stdout); }
  std::fflush(stdout);
  char* read = ::readline(shown_prompt.c_str());
  if (knows_pastes()) { std::fputs(ask_no_more, stdout); }
  std::fflush(stdout);
  if (is_dropped || pasted) {
    std::free(read);
    line.clear();
    return true;
  }
  if (!read) { return false; }
  line = read;
  std::free(read);
  return true;
}

/// Shows pasted input as if it had been typed.
void show_typed(const std::string& input) {
  const char* lead = prompt;
  for (std::string_view line : loopsmith::lines_of(input)) {
    std::string shown = paints ? completing->colored(std::string(line)) : std::string(line);
    std::fprintf(stdout, "%s%s\n", std::exchange(lead, continuation), shown.c_str());
  }
  std::fflush(stdout);
}

/// Removes an entry from the history of the arrow keys.
void forget_line(size_t index) {
  HIST_ENTRY* entry = ::remove_history(static_cast<int>(index));
  if (entry == nullptr) { return; }
  std::free(const_cast<char*>(entry->line));
  std::free(entry);
}

}  // namespace

auto indentation_after(std::string_view input) -> size_t {
  std::string_view line = input.substr(input.rfind('\n') == std::string_view::npos ? 0 : input.rfind('\n') + 1);
  for (std::string_view shown : {std::string_view(prompt), std::string_view(continuation)}) {
    if (line.starts_with(shown)) { line.remove_prefix(shown.size()); }
  }
  size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  // The number of brackets that the line leaves open, and its last character outside comments.
  int depth = 0;
  char quote = 0;
  char last = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quote != 0) {
      if (c == '\\') { ++i; } else if (c == quote) { quote = 0; }
      continue;
    }
    if (c == '#') { break; }
    if (c == '"' || c == '\'') { quote = c; }
    if (c == '(' || c == '[' || c == '{') { ++depth; }
    if (c == ')' || c == ']' || c == '}') { --depth; }
    if (c != ' ') { last = c; }
  }
  constexpr size_t step = 4;
  if (depth > 0 || (last == ':' && depth == 0)) { return blanks + step; }
  // A line that ends a block or a bracket ends its depth.
  bool leaves = depth < 0 || line.substr(blanks).starts_with("return") || line.substr(blanks).starts_with("pass");
  return leaves ? blanks - std::min(blanks, step) : blanks;
}

namespace {

/// Loads the file and executes the initial lines. If it returns a status, the session ends with it.
auto start(Session& session, const ReplOptions& options, bool& failed) -> std::optional<int> {
  if (!options.mirror.empty()) { session.attach(options.file, options.mirror); }
  session.begun_with(options.file);
  if (options.file == "-" && !options.lines.empty()) {
    auto all = read_rest_of_input();
    if (!all) { session.complain("standard input is larger than 64 MiB\n"); }
    if (!all || !session.load_text("<stdin>", *std::move(all))) { return 1; }
  } else if (!options.file.empty() && !session.load(options.file)) {
    failed = true;
    if (!options.interactive) { return 1; }
  }
  if ((!options.program.empty() || !options.schedule.empty()) && !failed && !session.begin(options.program, options.schedule)) {
    failed = true;
    if (!options.interactive) { return 1; }
  }
  if (options.line > 0 && !failed && !session.begin_at(options.line)) {
    failed = true;
    if (!options.interactive) { return 1; }
  }
  for (const std::string& step : options.steps) {
    if (!session.execute_step(step)) { return 1; }
  }
  if (auto init = options.init.empty() ? std::nullopt : read_all(options.init)) {
    // A failure in it is reported, and the session continues.
    (void)session.run_lines(*init, true);
  }
  if (!options.lines.empty() || (!options.steps.empty() && !options.interactive)) {
    bool done = std::all_of(options.lines.begin(), options.lines.end(), [&](const std::string& line) { return session.execute(line); });
    return done ? 0 : 1;
  }
  // A transcript through a pipe: its inputs are executed.
  if (!options.interactive && std::cin.peek() == 's') {
    auto all = read_rest_of_input();
    if (!all) { session.complain("standard input is larger than 64 MiB\n"); }
    return all && session.run_lines(*all) ? 0 : 1;
  }
  return std::nullopt;
}

void read_history(History& history, const ReplOptions& options) {
  // This clears the history of the library.
  ::rl_initialize();
  ::using_history();
  ::stifle_history(kept_lines);
  // Earlier versions stored plain lines instead of JSON.
  std::string old = options.history.substr(0, options.history.rfind('.'));
  if (!old.empty() && history.entries().empty() && ::read_history(old.c_str()) == 0) {
    for (int i = 0; i < ::history_length; ++i) {
      if (const HIST_ENTRY* entry = ::history_get(::history_base + i)) { (void)history.add({entry->line, {}}); }
    }
    ::clear_history();
  }
  for (const Typed& entry : history.entries()) { ::add_history(entry.line.c_str()); }
}

/// Sets up keys, completion and history of the line editor, and prints the first lines on the screen.
void set_up_terminal(Session& session, History& history, const ReplOptions& options) {
  completing = &session;
  // Text is UTF-8, as everywhere in Loopsmith; without this the library drops non-ASCII characters.
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) { (void)std::setlocale(LC_CTYPE, ""); }
  rl_getc_function = read_key;
  read_history(history, options);
  // The terminal sends no signals during editing, but does while an input runs. The library starts anew with each line.
  rl_pre_input_hook = [] {
    static char no_signals[] = "setty -d -isig";
    // Arrow up after typed text: earlier lines that contain it.
    static char up[] = "bind ^[[A ed-search-prev-history";
    static char down[] = "bind ^[[B ed-search-next-history";
    static char up_too[] = "bind ^[OA ed-search-prev-history";
    static char down_too[] = "bind ^[OB ed-search-next-history";
    for (char* line : {up, down, up_too, down_too}) { (void)::rl_parse_and_bind(line); }
    return ::rl_parse_and_bind(no_signals);
  };
  (void)::rl_add_defun("drop-line", drop_line, 'c' & 037);
  (void)::rl_add_defun("suspend", suspend, 'z' & 037);
  (void)::rl_add_defun("update-margin", update_margin, margin_key);
  (void)::rl_add_defun("take-paste", take_paste, paste_key);
  (void)::rl_add_defun("paint", paint, paint_key);
  paints = session.host().color && knows_pastes();
  rl_attempted_completion_function = completions;
  rl_completion_append_character = 0;
  static char breaks[] = " \t\n\"'`@$><=;|&{(,[.:?";
  rl_completer_word_break_characters = breaks;
  if (session.has_program()) {
    session.print(wrapped("`sch` schedules `" + session.program_name().str() + "` of " + session.path() + ". `:help` lists the commands.", session.host().width));
  } else {
    session.print("`:load FILE` reads a program. `:help` lists the commands.\n");
  }
}

/// The inputs of a session, one after the other: typed, pasted, or from a pipe.
class Inputs {
 public:
  Inputs(Session& session, bool is_interactive) : session_(session), is_interactive_(is_interactive) {}

  /// The next input; may be empty. None: the input has ended.
  auto next() -> std::optional<std::string> {
    while (true) {
      if (pasted) { queue_paste(); }
      session_.report_news();
      if (!waiting_.empty()) {
        std::string input = std::move(waiting_.front());
        waiting_.pop_front();
        show_typed(input);
        return input;
      }
      std::string input;
      if (unfinished_) {
        input = *std::exchange(unfinished_, std::nullopt);
        show_typed(input);
      } else if (!read_first_line(input)) {
        return std::nullopt;
      }
      if (!pasted) { read_further_lines(input); }
      if (!pasted) { return input; }
      if (!is_first_line_pasted_) { pasted->insert(0, input + "\n"); }
    }
  }

  /// True if the input ended because of a read error.
  [[nodiscard]] auto has_failed() const -> bool { return has_failed_; }

  /// Drops the waiting pasted inputs; returns their number.
  auto drop_waiting() -> size_t {
    size_t count = waiting_.size() + (unfinished_ ? 1 : 0);
    waiting_.clear();
    unfinished_.reset();
    if (count > 0) { typed_ahead.clear(); }
    return count;
  }

 private:
  /// Divides pasted text into inputs.
  void queue_paste() {
    std::string text = *std::exchange(pasted, std::nullopt);
    // Its unfinished last line is put back on the line.
    typed_ahead = text.substr(text.rfind('\n') + 1);
    text.resize(text.rfind('\n') + 1);
    std::vector<Exchange> transcript = read_transcript(text);
    if (!transcript.empty()) {
      for (Exchange& one : transcript) { waiting_.push_back(std::move(one.input)); }
      typed_ahead = typed_ahead.starts_with(prompt) ? typed_ahead.substr(std::strlen(prompt)) : std::string();
      return;
    }
    for (std::string& one : split_inputs(text)) { waiting_.push_back(std::move(one)); }
    bool is_ended = waiting_.empty() || session_.is_complete(waiting_.back()) || text.ends_with("\n\n");
    if (!is_ended) {
      unfinished_ = std::move(waiting_.back());
      waiting_.pop_back();
    }
  }

  /// False: the input has ended.
  auto read_first_line(std::string& input) -> bool {
    if (is_interactive_) {
      if (auto size = terminal_size()) { session_.resize(size->ws_col, size->ws_row); }
      shown_prompt = session_.margin() + prompt;
      watched = shown_prompt != prompt ? &session_ : nullptr;
      begin_line_with(std::exchange(typed_ahead, {}));
    }
    if (!read_line(shown_prompt, input)) { return false; }
    is_first_line_pasted_ = pasted.has_value();
    return true;
  }

  /// Reads further lines until the input is complete.
  void read_further_lines(std::string& input) {
    is_first_line_pasted_ = false;
    std::string line;
    while (!session_.is_complete(input)) {
      watched = nullptr;
      if (is_interactive_) { begin_line_with(typed_ahead.empty() ? std::string(indentation_after(input), ' ') : std::exchange(typed_ahead, {})); }
      bool more = read_line(continuation, line);
      if (pasted) { return; }
      if (is_dropped) { input.clear(); }
      if (!more || is_dropped) { return; }
      // A line that is not indented ends the block: through a pipe no empty line is needed.
      if (!is_interactive_ && ends_block(input, line)) {
        line_behind_ = line;
        return;
      }
      // A line of blanks ends the input, like an empty one.
      if (line.find_first_not_of(" \r") == std::string::npos) { line.clear(); }
      input += "\n" + line;
      if (line.empty()) { return; }
    }
  }

  auto read_line(const std::string& shown, std::string& line) -> bool {
    if (is_interactive_) { return read_terminal_line(shown, line); }
    if (line_behind_) {
      line = *std::exchange(line_behind_, std::nullopt);
      return true;
    }
    return read_piped_line(line);
  }

  /// The next line of a pipe, up to the size limit of texts.
  auto read_piped_line(std::string& line) -> bool {
    constexpr int end = std::char_traits<char>::eof();
    line.clear();
    int c = std::cin.get();
    bool is_there = c != end;
    for (; c != end && c != '\n'; c = std::cin.get()) {
      if (line.size() == largest_text) {
        session_.complain("a line of standard input is longer than 64 MiB\n");
        has_failed_ = true;
        return false;
      }
      line += static_cast<char>(c);
    }
    return is_there;
  }

  Session& session_;
  bool is_interactive_;
  std::deque<std::string> waiting_;            // pasted inputs
  std::optional<std::string> unfinished_;      // a pasted input that may continue
  std::optional<std::string> line_behind_;     // from a pipe: the line that was read behind a block
  bool has_failed_ = false;
  bool is_first_line_pasted_ = false;          // the paste includes the text around the cursor
};

}  // namespace

auto run_repl(Host host, const ReplOptions& options) -> int {
  host.interrupted = fresh_token;
  History history(options.interactive ? options.history : std::string(), kept_lines);
  if (options.interactive) {
    if (auto size = terminal_size()) { host.height = size->ws_row; }
    host.page = page;
    host.history = [&history] { return history.entries(); };
  }
  host.can_choose = options.lines.empty();
  struct sigaction interrupt {};
  interrupt.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &interrupt, nullptr);
  Session session(std::move(host));
  bool failed = false;
  if (auto status = start(session, options, failed)) { return *status; }
  if (options.interactive) { set_up_terminal(session, history, options); }
  Inputs inputs(session, options.interactive);
  while (!session.wants_quit()) {
    std::optional<std::string> read = inputs.next();
    if (!read) { break; }
    std::string input = *std::move(read);
    bool is_kept = options.interactive && input.find_first_not_of(" \t\n") != std::string::npos;
    // One history entry per input, even with several lines; a repeated input moves to the end.
    if (is_kept) {
      while (input.ends_with("\n")) { input.pop_back(); }
      size_t before = history.entries().size();
      size_t same = history.add({input, {}});
      if (same < before) { forget_line(same); }
      ::add_history(input.c_str());
    }
    bool ok = session.execute(input);
    if (std::string effect = is_kept ? session.last_effect() : std::string(); !effect.empty()) { (void)history.add({input, effect}); }
    running = nullptr;
    failed = failed || !ok;
    if (size_t left = ok ? 0 : inputs.drop_waiting(); left > 0) {
      session.complain(left == 1 ? std::string("the input pasted behind it was not done\n") : fmt::format("the {} inputs pasted behind it were not done\n", left));
    }
    std::fflush(stdout);
    // A script from a pipe stops at its first error, because later lines depend on the earlier ones.
    if (!ok && !options.interactive) { return 1; }
  }
  if (options.interactive) { session.print("\n"); }
  return (failed || inputs.has_failed()) && !options.interactive ? 1 : 0;
}

namespace {

/// True for an input that the shell would execute.
auto is_for_shell(const std::string& input) -> bool {
  size_t first = input.find_first_not_of(" \t");
  std::string_view line = first == std::string::npos ? std::string_view() : std::string_view(input).substr(first);
  return line.starts_with(";") || line.starts_with(":shell ") || line.starts_with(":shell\n") || line == ":shell";
}

}  // namespace

auto run_transcript(Host host, const std::string& path, bool update, const std::string& file) -> int {
  auto complain = host.err;
  auto text = read_all(path);
  if (!text) {
    complain("cannot read `" + path + "`\n");
    return 1;
  }
  std::vector<Passage> passages = read_passages(*text, path.ends_with(".md"));
  if (passages.front().typed.empty()) {
    complain("`" + path + "` is not a transcript: no line begins with `sch> `\n");
    return 1;
  }
  std::string answer;
  host.out = host.err = [&answer](std::string_view part) { answer += part; };
  host.color = false;
  host.width = 80;
  host.is_of_text = true;
  Session session(std::move(host));
  session.begun_with(file);
  if (!file.empty() && !session.load(file)) {
    complain(answer);
    return 1;
  }
  std::string written;
  int status = 0;
  for (const Passage& passage : passages) {
    written += passage.before;
    if (passage.width > 0) { session.resize(passage.width, passage.height); }
    for (const Exchange& one : passage.typed) {
      if (!session.runs_shell() && is_for_shell(one.input)) {
        complain(fmt::format("{}:{}: `{}` was not executed: it is for the shell, and `--allow-shell` was not given\n", path, one.line, one.input));
        written += with_prompts(one.input) + one.output;
        continue;
      }
      answer.clear();
      (void)session.execute(one.input);
      bool is_equal = fits(lines_of(one.output), 0, lines_of(answer), 0);
      // A written answer with `...` that still matches stays unchanged.
      const std::string& shown = is_equal ? one.output : answer;
      written += with_prompts(one.input) + shown + (shown.empty() || shown.ends_with("\n") ? "" : "\n");
      if (is_equal || update) { continue; }
      complain(fmt::format("{}:{}: the answer to `{}` differs\n", path, one.line, one.input));
      std::string was;
      std::string is;
      for (const std::string& line : lines_of(one.output)) { was += line + "\n"; }
      for (const std::string& line : lines_of(answer)) { is += line + "\n"; }
      complain(render_diff(was, is, {.context = 2, .color = false, .indent = "    "}));
      status = 1;
    }
  }
  if (!update || written == *text) { return status; }
  std::ofstream(path, std::ios::binary) << written;
  return 0;
}

}  // namespace loopsmith::repl
