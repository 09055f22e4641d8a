// The project's rules: see rules.h.
#include "tests/unit/tidy/rules.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

namespace loopsmith::tidy {
namespace {

namespace fs = std::filesystem;

constexpr const char* page = "ARCHITECTURE.md";

auto is_source(const std::string& path) -> bool { return path.ends_with(".h") || path.ends_with(".cpp") || path.ends_with(".def"); }
auto is_cmake(const std::string& path) -> bool { return path.ends_with("CMakeLists.txt"); }
auto folder_of(const std::string& path) -> std::string { return path.substr(0, path.rfind('/')); }
auto without_ending(const std::string& path) -> std::string { return path.substr(0, path.rfind('.')); }

auto lines_of(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) { out.push_back(line); }
  return out;
}

auto words_of(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string word; in >> word;) { out.push_back(word); }
  return out;
}

// ---- rooms and targets ------------------------------------------------------------------------------------------

/// The room of a file, as the picture names it: "tune" for "compiler/tune/measure/pool.h", "lsp/features" for
/// "lsp/features/hover.h". Empty outside rooms.
auto room_of(const std::string& path) -> std::string {
  auto part = [&](size_t from) { return path.find('/', from) == std::string::npos ? std::string() : path.substr(from, path.find('/', from) - from); };
  if (path.starts_with("compiler/")) { return part(9); }
  if (path.starts_with("lsp/")) { std::string room = part(4); return room.empty() ? room : "lsp/" + room; }
  return path.starts_with("repl/") ? "repl" : "";
}

/// A library or program that CMake declares, with the files that it compiles.
struct Target {
  std::string folder;
  std::set<std::string> sources;     // paths, without their ending
  std::set<std::string> rooms;       // names of targets
  std::set<std::string> libraries;
};

/// The arguments of every call of a CMake function, without comments.
auto calls_of(const std::string& text, const std::string& function) -> std::vector<std::vector<std::string>> {
  std::string code;
  for (const std::string& line : lines_of(text)) { code += line.substr(0, line.find('#')) + "\n"; }
  std::vector<std::vector<std::string>> out;
  for (size_t at = code.find(function + "("); at != std::string::npos; at = code.find(function + "(", at + 1)) {
    if (at > 0 && (std::isalnum(static_cast<unsigned char>(code[at - 1])) != 0 || code[at - 1] == '_')) { continue; }
    size_t begin = at + function.size() + 1;
    out.push_back(words_of(code.substr(begin, code.find(')', begin) - begin)));
  }
  return out;
}

auto targets_of(const Files& files) -> std::map<std::string, Target> {
  std::map<std::string, Target> out;
  for (const auto& [path, text] : files) {
    if (!is_cmake(path) || (!path.starts_with("compiler/") && !path.starts_with("lsp/") && !path.starts_with("repl/"))) { continue; }
    // `add_executable(loopsmith a.cpp ...)` compiles the files in its list, `loopsmith_rooms_of(loopsmith ROOMS ...)` links rooms.
    for (const char* function : {"loopsmith_room", "add_executable", "loopsmith_rooms_of"}) {
      for (const std::vector<std::string>& arguments : calls_of(text, function)) {
        Target& target = out[arguments[0]];
        target.folder = folder_of(path);
        std::string key = std::string(function) == "add_executable" ? "SOURCES" : "";
        for (size_t i = 1; i < arguments.size(); ++i) {
          const std::string& word = arguments[i];
          if (word == "SOURCES" || word == "ROOMS" || word == "LIBRARIES") { key = word; }
          else if (key == "SOURCES" && word.ends_with(".cpp")) { target.sources.insert(without_ending(target.folder + "/" + word)); }
          else if (key == "ROOMS") { target.rooms.insert(word); }
          else if (key == "LIBRARIES") { target.libraries.insert(word); }
        }
      }
    }
  }
  return out;
}

/// The targets that a file may belong to. A header goes with the source of its name; one without a source with all targets that
/// have sources in its folder, else with all targets of the room's CMake file.
auto owners_of(const std::string& path, const std::map<std::string, Target>& targets) -> std::set<std::string> {
  std::set<std::string> by_name, by_folder, by_room;
  for (const auto& [name, target] : targets) {
    if (target.sources.contains(without_ending(path))) { by_name.insert(name); }
    if (std::any_of(target.sources.begin(), target.sources.end(), [&](const std::string& s) { return folder_of(s) == folder_of(path); })) { by_folder.insert(name); }
    if (path.starts_with(target.folder + "/")) { by_room.insert(name); }
  }
  return !by_name.empty() ? by_name : !by_folder.empty() ? by_folder : by_room;
}

// ---- includes ---------------------------------------------------------------------------------------------------

struct Include { std::string text; bool is_quoted; };

auto includes_of(const std::string& text) -> std::vector<Include> {
  std::vector<Include> out;
  for (const std::string& line : lines_of(text)) {
    size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line.compare(hash, 8, "#include") != 0) { continue; }
    size_t open = line.find_first_of("\"<", hash);
    size_t close = line.find_first_of("\">", open + 1);
    if (open == std::string::npos || close == std::string::npos) { continue; }
    out.push_back({line.substr(open + 1, close - open - 1), line[open] == '"'});
  }
  return out;
}

/// The path of an included header: "compiler/ir/ops.h" for "ir/ops.h". Empty for files outside the tree.
auto included_file(const Include& include, const Files& files) -> std::string {
  if (!include.is_quoted) { return {}; }
  for (const std::string& path : {include.text, "compiler/" + include.text}) {
    if (files.contains(path)) { return path; }
  }
  return {};
}

/// Calls `f(path, include)` for every include of every source in a room.
template <class F>
void each_include(const Files& files, F&& f) {
  for (const auto& [path, text] : files) {
    if (!is_source(path) || room_of(path).empty()) { continue; }
    for (const Include& include : includes_of(text)) { f(path, include); }
  }
}

// ---- the page ---------------------------------------------------------------------------------------------------

/// The lines below a heading, up to the next one.
auto section(const Files& files, const std::string& heading) -> std::vector<std::string> {
  std::vector<std::string> out;
  bool is_inside = false;
  auto found = files.find(page);
  if (found == files.end()) { return out; }
  for (const std::string& line : lines_of(found->second)) {
    if (line.starts_with("#")) { is_inside = line == heading; }
    else if (is_inside) { out.push_back(line); }
  }
  return out;
}

/// The texts in backticks of a table's cell.
auto code_in(const std::string& cell) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (size_t open = cell.find('`'); open != std::string::npos;) {
    size_t close = cell.find('`', open + 1);
    if (close == std::string::npos) { break; }
    out.push_back(cell.substr(open + 1, close - open - 1));
    open = cell.find('`', close + 1);
  }
  return out;
}

/// The rows of the table in a section, each as its cells; without the two lines of the head.
auto table_in(const std::vector<std::string>& lines) -> std::vector<std::vector<std::string>> {
  std::vector<std::vector<std::string>> out;
  size_t head = 2;
  for (const std::string& line : lines) {
    if (!line.starts_with("|")) { continue; }
    if (head > 0) { --head; continue; }
    std::vector<std::string> cells;
    std::istringstream in(line.substr(1));
    for (std::string cell; std::getline(in, cell, '|');) { cells.push_back(cell); }
    out.push_back(cells);
  }
  return out;
}

/// The rooms in the table: the first cell of each row, without "compiler/".
auto rooms_in_table(const Files& files) -> std::set<std::string> {
  std::set<std::string> out;
  for (const auto& cells : table_in(section(files, "## The rooms"))) {
    for (const std::string& folder : code_in(cells[0])) { out.insert(folder.starts_with("compiler/") ? folder.substr(9) : folder); }
  }
  return out;
}

/// The rows of the picture, the highest first: the words of an indented line before its description. At least three
/// blanks separate the two; names of rooms have two blanks between them.
auto rows_of_picture(const Files& files) -> std::vector<std::set<std::string>> {
  std::vector<std::set<std::string>> out;
  for (const std::string& line : section(files, "## Who may know whom")) {
    if (!line.starts_with("    ")) { continue; }
    std::string names = line.substr(4, line.find("   ", 4) - 4);
    std::set<std::string> row;
    for (const std::string& name : words_of(names)) { row.insert(name); }
    out.push_back(row);
  }
  return out;
}

/// The row of a room in the picture, counted from the top; -1: the picture lacks the room.
auto row_of(const std::string& room, const std::vector<std::set<std::string>>& rows) -> int {
  auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.contains(room); });
  return found == rows.end() ? -1 : static_cast<int>(found - rows.begin());
}

/// A row of the table of outside libraries.
struct Outside {
  std::string name;
  std::vector<std::string> headers;     // prefixes
  std::vector<std::string> libraries;   // targets of CMake
  std::vector<std::string> folders;     // "compiler/codegen/llvm"
};

auto outside_in_table(const Files& files) -> std::vector<Outside> {
  std::vector<Outside> out;
  for (const auto& cells : table_in(section(files, "## Outside libraries"))) {
    if (cells.size() >= 4) { out.push_back({cells[0], code_in(cells[1]), code_in(cells[2]), code_in(cells[3])}); }
  }
  return out;
}

auto starts_with_any(const std::string& text, const std::vector<std::string>& starts, const std::string& more = "") -> bool {
  return std::any_of(starts.begin(), starts.end(), [&](const std::string& start) { return text.starts_with(start + more); });
}

}  // namespace

auto read_files(const std::string& root) -> Files {
  Files out;
  auto add = [&](const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    out[fs::relative(path, root).generic_string()] = text.str();
  };
  add(root + "/" + page);
  for (const char* top : {"compiler", "lsp", "repl", "tests"}) {
    fs::path folder = fs::path(root) / top;
    for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
      std::string name = entry->path().filename().string();
      if (name.starts_with(".") || name == "node_modules" || name == "build") { entry.disable_recursion_pending(); continue; }
      if (entry->is_regular_file() && (is_source(name) || is_cmake(name))) { add(entry->path()); }
    }
  }
  return out;
}

auto rooms_on_the_page(const Files& files) -> std::vector<std::string> {
  std::set<std::string> declared;
  for (const auto& [name, target] : targets_of(files)) {
    if (!target.sources.empty()) { declared.insert(room_of(target.folder + "/x")); }
  }
  std::set<std::string> table = rooms_in_table(files), picture;
  for (const auto& row : rows_of_picture(files)) { picture.insert(row.begin(), row.end()); }
  std::vector<std::string> out;
  for (const std::string& room : declared) {
    if (!table.contains(room)) { out.push_back("the table of rooms lacks `" + room + "`"); }
    if (!picture.contains(room)) { out.push_back("the picture lacks `" + room + "`"); }
  }
  for (const std::string& room : table) {
    if (!declared.contains(room)) { out.push_back("the table of rooms has `" + room + "`, which no CMake file declares"); }
  }
  for (const std::string& room : picture) {
    if (!declared.contains(room)) { out.push_back("the picture has `" + room + "`, which no CMake file declares"); }
  }
  return out;
}

auto includes_upwards(const Files& files) -> std::vector<std::string> {
  std::vector<std::string> out;
  auto rows = rows_of_picture(files);
  each_include(files, [&](const std::string& path, const Include& include) {
    std::string other = room_of(included_file(include, files));
    if (other.empty() || other == room_of(path)) { return; }
    if (row_of(other, rows) <= row_of(room_of(path), rows)) {
      out.push_back(path + " includes " + include.text + ": `" + other + "` is not below `" + room_of(path) + "` in the picture");
    }
  });
  return out;
}

auto lists_and_includes(const Files& files) -> std::vector<std::string> {
  std::vector<std::string> out;
  auto targets = targets_of(files);
  std::map<std::string, std::set<std::string>> used;   // by target: the listed targets that its files include
  each_include(files, [&](const std::string& path, const Include& include) {
    std::string header = included_file(include, files);
    if (header.empty() || room_of(header).empty()) { return; }
    std::set<std::string> owners = owners_of(path, targets), theirs = owners_of(header, targets);
    bool is_listed = false;
    for (const std::string& owner : owners) {
      is_listed |= theirs.contains(owner);
      for (const std::string& other : theirs) {
        bool lists = targets[owner].rooms.contains(other);
        is_listed |= lists;
        if (lists) { used[owner].insert(other); }
      }
    }
    if (!is_listed && !owners.empty() && !theirs.empty()) {
      out.push_back(path + " includes " + include.text + ", but `" + *owners.begin() + "` does not list `" + *theirs.begin() + "` in its ROOMS");
    }
  });
  for (const auto& [name, target] : targets) {
    for (const std::string& room : target.rooms) {
      if (!targets.contains(room)) { out.push_back("`" + name + "` lists `" + room + "`, which is not a room"); }
      else if (!used[name].contains(room)) { out.push_back("`" + name + "` lists `" + room + "` and includes nothing of it"); }
    }
  }
  return out;
}

auto outside_libraries(const Files& files) -> std::vector<std::string> {
  std::vector<std::string> out;
  auto table = outside_in_table(files);
  each_include(files, [&](const std::string& path, const Include& include) {
    if (include.is_quoted) { return; }
    for (const Outside& library : table) {
      if (starts_with_any(include.text, library.headers) && !starts_with_any(path, library.folders, "/")) {
        out.push_back(path + " includes <" + include.text + ">, which the page allows elsewhere only");
      }
    }
  });
  for (const Outside& library : table) {
    auto targets = targets_of(files);
    for (const std::string& folder : library.folders) {
      bool is_used = false;
      each_include(files, [&](const std::string& path, const Include& include) {
        is_used |= !include.is_quoted && path.starts_with(folder + "/") && starts_with_any(include.text, library.headers);
      });
      if (!is_used) { out.push_back("the table of outside libraries has `" + folder + "` in the row of" + library.name + "but nothing there includes it"); }
    }
    for (const auto& [name, target] : targets) {
      for (const std::string& linked : target.libraries) {
        if (std::find(library.libraries.begin(), library.libraries.end(), linked) == library.libraries.end()) { continue; }
        // A target whose sources lie in several folders may link the library for one of them.
        bool is_allowed = std::any_of(library.folders.begin(), library.folders.end(), [&](const std::string& folder) { return (folder + "/").starts_with(target.folder + "/"); });
        if (!is_allowed) { out.push_back("`" + name + "` links " + linked + ", which the page allows elsewhere only"); }
      }
    }
  }
  return out;
}

auto arguments_without_a_place(const Files& files) -> std::vector<std::string> {
  std::map<std::string, std::string> texts;   // by the enumerator of the row
  auto catalogue = files.find("compiler/support/diagnostics.def");
  for (const std::string& line : lines_of(catalogue == files.end() ? std::string() : catalogue->second)) {
    constexpr std::string_view row = "DIAGNOSTIC(";
    if (line.starts_with(row)) { texts[line.substr(row.size(), line.find(',') - row.size())] = line; }
  }
  auto is_read = [&](const std::string& argument) {
    return std::any_of(files.begin(), files.end(), [&](const auto& file) { return file.first.ends_with(".cpp") && file.second.find("== \"" + argument + "\"") != std::string::npos; });
  };
  std::vector<std::string> out;
  for (const auto& [path, text] : files) {
    if (!path.ends_with(".cpp")) { continue; }
    constexpr std::string_view code = "Code::", set = ".arg(\"", reason = "because(", reason_end = ".text()";
    for (size_t at = text.find("error("); at != std::string::npos; at = text.find("error(", at + 1)) {
      size_t begin = text.find(code, at);
      if (begin == std::string::npos || begin > at + 20) { continue; }
      begin += code.size();
      const std::string name = text.substr(begin, text.find_first_of(",) ", begin) - begin);
      if (!texts.contains(name)) { continue; }
      const size_t end = std::min(text.find(';', begin), text.find("error(", begin));
      for (size_t arg = text.find(set, begin); arg < end; arg = text.find(set, arg + 1)) {
        // The arguments of a reason belong to the row of the reason.
        if (size_t open = text.rfind(reason, arg); open != std::string::npos && open > begin && text.find(reason_end, open) > arg) { continue; }
        const std::string argument = text.substr(arg + set.size(), text.find('"', arg + set.size()) - arg - set.size());
        if (texts[name].find("{" + argument + "}") == std::string::npos && !is_read(argument)) { out.push_back(path + " sets `" + argument + "`, which the text of " + name + " does not contain"); }
      }
    }
  }
  return out;
}

auto files_without_opening(const Files& files) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const auto& [path, text] : files) {
    if (path != page && !text.starts_with(is_cmake(path) ? "#" : "//")) { out.push_back(path + " does not begin with a comment"); }
  }
  return out;
}

}  // namespace loopsmith::tidy
