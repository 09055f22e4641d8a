// Links and paths in the pages of the repository: every link of a Markdown page leads to a file, and to a heading in it; every file or folder
// that a page names in backticks exists. Links to other sites are not followed. The first samples of README and of
// docs/tensor_expressions.md and docs/templates.md are files in examples. Titles of test cases in docs/promises.md exist.
//
//     golden_pages ROOT
//
// A text in backticks is a path if it has a slash and begins with a folder of the repository or a room of the compiler (`schedule/state.h` is
// compiler/schedule/state.h). `NAME` in capitals stands for any name, so such paths are not checked.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

int wrong = 0;
int links = 0;
int paths = 0;

void fail(const std::string& page, size_t line, const std::string& what) {
  std::printf("%s:%zu: %s\n", page.c_str(), line, what.c_str());
  ++wrong;
}

auto lines_of(const fs::path& file) -> std::vector<std::string> {
  std::ifstream in(file);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) { out.push_back(line); }
  return out;
}

auto is_fence(std::string_view line) -> bool {
  size_t at = line.find_first_not_of(' ');
  return at != std::string_view::npos && line.substr(at).starts_with("```");
}

// The anchor that GitHub and editors give a heading: lower case, blanks as hyphens, other signs left out.
auto anchor_of(std::string_view heading) -> std::string {
  std::string out;
  for (char c : heading) {
    auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) || c == '-' || c == '_' || u >= 0x80) { out += static_cast<char>(std::tolower(u)); }
    if (c == ' ') { out += '-'; }
  }
  return out;
}

auto anchors_of(const fs::path& page) -> const std::set<std::string>& {
  static std::map<std::string, std::set<std::string>> kept;
  auto [entry, is_new] = kept.try_emplace(page.string());
  if (!is_new) { return entry->second; }
  bool in_code = false;
  for (const std::string& line : lines_of(page)) {
    if (is_fence(line)) { in_code = !in_code; }
    size_t level = line.find_first_not_of('#');
    if (in_code || level == 0 || level == std::string::npos || line[level] != ' ') { continue; }
    entry->second.insert(anchor_of(std::string_view(line).substr(level + 1)));
  }
  return entry->second;
}

void check_link(const fs::path& root, const fs::path& page, size_t line, std::string target) {
  if (target.find("://") != std::string::npos || target.starts_with("mailto:") || target.starts_with("command:")) { return; }
  ++links;
  std::string shown = fs::relative(page, root).string();
  std::string anchor;
  if (size_t hash = target.find('#'); hash != std::string::npos) {
    anchor = target.substr(hash + 1);
    target.resize(hash);
  }
  fs::path file = target.empty() ? page : page.parent_path() / target;
  if (!fs::exists(file)) { return fail(shown, line, "a link to `" + target + "`, which does not exist"); }
  if (!anchor.empty() && !anchors_of(file).contains(anchor)) { fail(shown, line, "a link to `#" + anchor + "`, which is not a heading of " + fs::relative(file, root).string()); }
}

// Checks each `[text](target)` of a line, code in backticks left out.
void check_links(const fs::path& root, const fs::path& page, size_t number, const std::string& line) {
  bool in_code = false;
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    if (line[i] == '`' && (i == 0 || line[i - 1] != '[')) { in_code = !in_code; }
    if (line[i] != ']' || line[i + 1] != '(') { continue; }
    size_t end = line.find(')', i);
    if (end == std::string::npos) { return; }
    if (!in_code || line[i - 1] == '`') { check_link(root, page, number, line.substr(i + 2, end - i - 2)); }
    in_code = false;
    i = end;
  }
}

// `tests/golden/cli/NAME.case`: a part in capitals stands for a name.
auto has_placeholder(const std::string& path) -> bool {
  for (const fs::path& part : fs::path(path)) {
    std::string stem = part.stem().string();
    if (stem.size() > 1 && std::all_of(stem.begin(), stem.end(), [](unsigned char c) { return std::isupper(c); })) { return true; }
  }
  return false;
}

struct Folders { std::set<std::string> top, rooms; };

auto is_path_text(std::string_view text) -> bool {
  return !text.empty() && text.find('/') != std::string_view::npos && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-'; });
}

void check_paths(const fs::path& root, const Folders& folders, const fs::path& page, size_t number, const std::string& line) {
  for (size_t open = line.find('`'); open != std::string::npos; open = line.find('`', open + 1)) {
    size_t close = line.find('`', open + 1);
    if (close == std::string::npos) { return; }
    std::string text = line.substr(open + 1, close - open - 1);
    open = close;
    if (!is_path_text(text)) { continue; }
    std::string first = text.substr(0, text.find('/'));
    bool is_room = folders.rooms.contains(first) && !folders.top.contains(first);
    // Methods of the protocol look like folders of a room: `workspace/diagnostic`.
    if (is_room ? !fs::path(text).has_extension() : !folders.top.contains(first)) { continue; }
    if (has_placeholder(text)) { continue; }
    ++paths;
    if (!fs::exists(root / (is_room ? "compiler" : "") / text)) { fail(fs::relative(page, root).string(), number, "`" + text + "` does not exist"); }
  }
}

// In the rows of the table, a text in quotes is the beginning of a title.
void check_titles(const fs::path& root, const std::string& page) {
  std::string cases;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests/unit")) {
    if (entry.path().extension() != ".cpp") { continue; }
    for (const std::string& line : lines_of(entry.path())) { cases += line.starts_with("TEST_CASE(") ? line + "\n" : ""; }
  }
  const std::vector<std::string> lines = lines_of(root / page);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("| R")) { continue; }
    for (size_t open = lines[i].find('"'); open != std::string::npos; open = lines[i].find('"', open + 1)) {
      const size_t close = std::min(lines[i].find('"', open + 1), lines[i].size());
      const std::string title = lines[i].substr(open + 1, close - open - 1);
      if (cases.find("TEST_CASE(\"" + title) == std::string::npos) { fail(page, i + 1, "no test case has a title that begins with \"" + title + "\""); }
      open = close;
    }
  }
}

// Readers copy the sample, so it must be a complete, correct file; tests run that file.
void check_sample(const fs::path& root, const std::string& page, const std::string& example) {
  auto text_of = [](const fs::path& file) {
    std::string out;
    for (const std::string& line : lines_of(file)) { out += line + "\n"; }
    return out;
  };
  if (text_of(root / page).find("```python\n" + text_of(root / example) + "```\n") == std::string::npos) {
    std::printf("%s: the first sample is not %s\n", page.c_str(), example.c_str());
    ++wrong;
  }
}

void check_page(const fs::path& root, const Folders& folders, const fs::path& page) {
  std::vector<std::string> lines = lines_of(page);
  bool in_code = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (is_fence(lines[i])) { in_code = !in_code; }
    if (in_code || lines[i].starts_with("    ")) { continue; }
    check_links(root, page, i + 1, lines[i]);
    check_paths(root, folders, page, i + 1, lines[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::printf("usage: golden_pages ROOT\n");
    return 2;
  }
  fs::path root = fs::canonical(argv[1]);
  Folders folders;
  for (const char* top : {"compiler", "lsp", "repl", "tests", "docs", "editors", "cmake", "grammar", "examples"}) { folders.top.insert(top); }
  for (const auto& entry : fs::directory_iterator(root / "compiler")) {
    if (entry.is_directory()) { folders.rooms.insert(entry.path().filename().string()); }
  }
  std::vector<fs::path> pages;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.path().extension() == ".md") { pages.push_back(entry.path()); }
  }
  for (const char* folder : {"docs", "editors"}) {
    for (fs::recursive_directory_iterator entry(root / folder), end; entry != end; ++entry) {
      if (entry->path().filename() == "node_modules") { entry.disable_recursion_pending(); }
      else if (entry->path().extension() == ".md") { pages.push_back(entry->path()); }
    }
  }
  std::sort(pages.begin(), pages.end());
  for (const fs::path& page : pages) { check_page(root, folders, page); }
  check_titles(root, "docs/promises.md");
  check_sample(root, "README.md", "examples/matmul.tir");
  check_sample(root, "docs/tensor_expressions.md", "examples/tensor_expressions.py");
  check_sample(root, "docs/tensor_expressions.md", "examples/tensor_intrinsics.py");
  check_sample(root, "docs/templates.md", "examples/autotvm_matmul.py");
  check_sample(root, "docs/templates.md", "examples/ansor_matmul.py");
  std::printf("%zu pages, %d links, %d paths, %d wrong\n", pages.size(), links, paths, wrong);
  return wrong == 0 ? 0 : 1;
}
