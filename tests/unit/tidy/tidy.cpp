// The house rules that a compiler does not check: who includes whom, which outside library is known where, and that
// a file says at its top what it is. The rooms and their dependencies are read from the CMake files, so that there is
// one truth; the rows of the picture in ARCHITECTURE.md are written here.
#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/unit/catch.h"

namespace {

const std::string root = loopsmith::tests::source_folder();

// Lowest first: a room may use rooms of its own row and rows above it in this list.
const std::vector<std::set<std::string>> rows = {
    {"support"},
    {"ir"},
    {"syntax", "arith", "interp"},
    {"eval", "transform", "target", "format"},
    {"frontend", "schedule", "codegen", "intrinsics"},
    {"script", "artefact", "runtime", "analysis", "cost"},
    {"workspace", "tune"},
    {"lsp/jobs"},
    {"lsp/features", "lsp/protocol"},
    {"repl", "lsp/server", "lsp/worker", "driver"},
};

// An outside header, and the only folders that may include it.
struct Outside { std::string prefix; std::vector<std::string> where; };
const std::vector<Outside> outside = {
    {"llvm/", {"compiler/codegen/llvm", "compiler/runtime"}},
    {"llvm-c/", {"compiler/codegen/llvm", "compiler/runtime"}},
    {"cuda", {"compiler/codegen/cuda", "compiler/runtime"}},
    {"tree_sitter/", {"compiler/syntax", "grammar"}},
    {"sqlite3.h", {"compiler/tune/database"}},
    {"zlib.h", {"compiler/runtime"}},
    {"uv.h", {"lsp/server", "compiler/support"}},
    {"nlohmann/",
     {"compiler/schedule", "compiler/tune/database", "compiler/tune/measure", "compiler/tune/session", "lsp/protocol", "lsp/server",
      "compiler/driver", "repl"}},
};

void walk(const std::string& folder, const std::function<void(const std::string&)>& f) {
  DIR* dir = ::opendir((root + "/" + folder).c_str());
  if (!dir) { return; }
  std::vector<std::string> names;
  while (dirent* entry = ::readdir(dir)) { names.emplace_back(entry->d_name); }
  ::closedir(dir);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (name[0] == '.' || name == "node_modules" || name == "build") { continue; }
    std::string path = folder + "/" + name;
    struct stat info {};
    if (::stat((root + "/" + path).c_str(), &info) != 0) { continue; }
    if (S_ISDIR(info.st_mode)) { walk(path, f); } else { f(path); }
  }
}

auto read(const std::string& path) -> std::string {
  std::ifstream in(root + "/" + path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

auto ends_with(const std::string& text, const std::string& end) -> bool {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}
auto starts_with(const std::string& text, const std::string& start) -> bool { return text.compare(0, start.size(), start) == 0; }

auto is_source(const std::string& path) -> bool {
  return ends_with(path, ".h") || ends_with(path, ".cpp") || ends_with(path, ".def");
}

// "compiler/tune/measure/pool.h" -> "tune"; "lsp/features/hover.h" -> "lsp/features"; "" where it is no room.
auto room_of(const std::string& path) -> std::string {
  auto part = [](const std::string& text, size_t from) { return text.substr(from, text.find('/', from) - from); };
  if (starts_with(path, "compiler/")) { return part(path, 9); }
  if (starts_with(path, "lsp/")) { return "lsp/" + part(path, 4); }
  if (starts_with(path, "repl/")) { return "repl"; }
  return "";
}
// As an #include names it.
auto room_of_include(const std::string& include) -> std::string {
  if (starts_with(include, "lsp/") || starts_with(include, "repl/")) { return room_of(include); }
  return include.find('/') == std::string::npos ? "" : room_of("compiler/" + include);
}

auto row_of(const std::string& room) -> int {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].contains(room)) { return static_cast<int>(i); }
  }
  return -1;
}

struct Include { std::string text; bool quoted; };
auto includes_of(const std::string& text) -> std::vector<Include> {
  std::vector<Include> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line.compare(hash, 8, "#include") != 0) { continue; }
    size_t open = line.find_first_of("\"<", hash);
    size_t close = line.find_first_of("\">", open + 1);
    if (open == std::string::npos || close == std::string::npos) { continue; }
    out.push_back({line.substr(open + 1, close - open - 1), line[open] == '"'});
  }
  return out;
}

// Rooms as CMake declares them: folder of the CMakeLists.txt -> the rooms that its targets list. `codegen_llvm` and
// the like count as the room before the underscore.
auto declared_dependencies() -> std::map<std::string, std::set<std::string>> {
  std::map<std::string, std::set<std::string>> out;
  for (const char* top : {"compiler", "lsp", "repl"}) {
    walk(top, [&](const std::string& path) {
      if (!ends_with(path, "/CMakeLists.txt")) { return; }
      std::istringstream words(read(path));
      bool in_rooms = false;
      std::string room = room_of(path);
      for (std::string word; words >> word;) {
        bool closes = ends_with(word, ")");
        while (!word.empty() && word.back() == ')') { word.pop_back(); }
        if (word == "ROOMS") { in_rooms = true; }
        else if (word == "SOURCES" || word == "LIBRARIES") { in_rooms = false; }
        else if (in_rooms && !word.empty() && word[0] != '#') {
          std::string used = word;
          if (starts_with(used, "lsp_")) { used = "lsp/" + used.substr(4); }
          else if (size_t underscore = used.find('_'); underscore != std::string::npos) { used = used.substr(0, underscore); }
          out[room].insert(used);
        }
        if (closes) { in_rooms = false; }
      }
    });
  }
  return out;
}

}  // namespace

TEST_CASE("a room includes only rooms in its own row of the picture and below") {
  std::vector<std::string> wrong;
  for (const char* top : {"compiler", "lsp", "repl"}) {
    walk(top, [&](const std::string& path) {
      if (!is_source(path)) { return; }
      int mine = row_of(room_of(path));
      if (mine < 0) { wrong.push_back(path + ": the room `" + room_of(path) + "` is not in the picture"); return; }
      for (const Include& include : includes_of(read(path))) {
        if (!include.quoted) { continue; }
        std::string other = room_of_include(include.text);
        if (other.empty() || other == room_of(path)) { continue; }
        int theirs = row_of(other);
        if (theirs < 0) { wrong.push_back(path + " includes " + include.text + ", which is in no room"); }
        else if (theirs > mine) { wrong.push_back(path + " includes " + include.text + ": `" + other + "` is above `" + room_of(path) + "`"); }
      }
    });
  }
  INFO([&] { std::string all; for (auto& w : wrong) { all += w + "\n"; } return all; }());
  CHECK(wrong.empty());
}

TEST_CASE("a room includes only rooms that its CMake target lists, directly or through them") {
  auto direct = declared_dependencies();
  REQUIRE(direct["ir"].contains("support"));
  std::map<std::string, std::set<std::string>> all;
  std::function<const std::set<std::string>&(const std::string&)> closure = [&](const std::string& room) -> const std::set<std::string>& {
    auto [place, is_new] = all.try_emplace(room);
    if (is_new) {
      std::set<std::string> reached;
      for (const std::string& used : direct[room]) {
        reached.insert(used);
        if (used != room) { for (const std::string& further : closure(used)) { reached.insert(further); } }
      }
      all[room] = reached;
    }
    return all[room];
  };
  std::vector<std::string> wrong;
  for (const char* top : {"compiler", "lsp"}) {
    walk(top, [&](const std::string& path) {
      if (!is_source(path)) { return; }
      std::string room = room_of(path);
      if (room == "driver") { return; }  // wires everything together
      for (const Include& include : includes_of(read(path))) {
        std::string other = include.quoted ? room_of_include(include.text) : "";
        if (other.empty() || other == room) { continue; }
        if (!closure(room).contains(other)) { wrong.push_back(path + " includes " + include.text + ", but `" + room + "` does not list `" + other + "`"); }
      }
    });
  }
  INFO([&] { std::string out; for (auto& w : wrong) { out += w + "\n"; } return out; }());
  CHECK(wrong.empty());
}

TEST_CASE("an outside library is known to its own rooms only") {
  std::vector<std::string> wrong;
  for (const char* top : {"compiler", "lsp", "repl"}) {
    walk(top, [&](const std::string& path) {
      if (!is_source(path)) { return; }
      for (const Include& include : includes_of(read(path))) {
        for (const Outside& library : outside) {
          if (!starts_with(include.text, library.prefix)) { continue; }
          bool allowed = std::any_of(library.where.begin(), library.where.end(), [&](const std::string& w) { return starts_with(path, w + "/"); });
          if (!allowed) { wrong.push_back(path + " includes " + include.text); }
        }
      }
    });
  }
  INFO([&] { std::string out; for (auto& w : wrong) { out += w + "\n"; } return out; }());
  CHECK(wrong.empty());
}

TEST_CASE("every file opens by saying what it is") {
  std::vector<std::string> wrong;
  for (const char* top : {"compiler", "lsp", "repl", "tests"}) {
    walk(top, [&](const std::string& path) {
      bool cmake = ends_with(path, "CMakeLists.txt");
      if (!is_source(path) && !cmake) { return; }
      std::string text = read(path);
      if (!starts_with(text, cmake ? "#" : "//")) { wrong.push_back(path); }
    });
  }
  INFO([&] { std::string out; for (auto& w : wrong) { out += w + "\n"; } return out; }());
  CHECK(wrong.empty());
}
