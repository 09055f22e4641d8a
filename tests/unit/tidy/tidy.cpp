// The rules of tests/unit/tidy/rules.h: the repository keeps them, and a planted violation of each is found.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/unit/catch.h"
#include "tests/unit/tidy/rules.h"

namespace {

using namespace loopsmith::tidy;

auto repository() -> const Files& {
  static const Files files = read_files(loopsmith::tests::source_folder());
  return files;
}

auto in_lines(const std::vector<std::string>& found) -> std::string {
  std::string out;
  for (const std::string& one : found) { out += one + "\n"; }
  return out;
}

/// The repository with one text replaced in one of its files, which must have it.
auto with(const std::string& path, const std::string& was, const std::string& is) -> Files {
  Files files = repository();
  std::string& text = files[path];
  size_t at = text.find(was);
  REQUIRE(at != std::string::npos);
  text.replace(at, was.size(), is);
  return files;
}
/// The repository with one more file.
auto with(const std::string& path, const std::string& text) -> Files {
  Files files = repository();
  files[path] = text;
  return files;
}

auto finds(const std::vector<std::string>& found, const std::string& sentence) -> bool {
  INFO(in_lines(found));
  return std::any_of(found.begin(), found.end(), [&](const std::string& one) { return one.find(sentence) != std::string::npos; });
}

}  // namespace

TEST_CASE("ARCHITECTURE.md names every room, in its table and in its picture") {
  auto found = rooms_on_the_page(repository());
  INFO(in_lines(found));
  CHECK(found.empty());
}

TEST_CASE("a room includes only rooms in the rows below its own") {
  auto found = includes_upwards(repository());
  INFO(in_lines(found));
  CHECK(found.empty());
}

TEST_CASE("a target includes the rooms that its CMake list names, and no others") {
  auto found = lists_and_includes(repository());
  INFO(in_lines(found));
  CHECK(found.empty());
}

TEST_CASE("an outside library is known to its own rooms only") {
  auto found = outside_libraries(repository());
  INFO(in_lines(found));
  CHECK(found.empty());
}

TEST_CASE("every file opens with a comment on its contents") {
  auto found = files_without_opening(repository());
  INFO(in_lines(found));
  CHECK(found.empty());
}

TEST_CASE("a diagnostic has a place in its text for each argument") {
  auto found = arguments_without_a_place(repository());
  INFO(in_lines(found));
  CHECK(found.empty());
}

TEST_CASE("planted: an argument that a message does not contain") {
  Files files = with("compiler/arith/planted.cpp", "auto f() { return error(Code::NoAttribute).arg(\"what\", a).arg(\"no_such_place\", b); }\n");
  CHECK(finds(arguments_without_a_place(files), "compiler/arith/planted.cpp sets `no_such_place`"));
}

TEST_CASE("planted: a page that lacks a room, or has one too many") {
  CHECK(finds(rooms_on_the_page(with("ARCHITECTURE.md", "| `compiler/arith` |", "| `compiler/proofs` |")), "the table of rooms lacks `arith`"));
  CHECK(finds(rooms_on_the_page(with("ARCHITECTURE.md", "| `compiler/arith` |", "| `compiler/proofs` |")), "has `proofs`, which no CMake file declares"));
  CHECK(finds(rooms_on_the_page(with("ARCHITECTURE.md", "syntax  arith  interp", "syntax  interp")), "the picture lacks `arith`"));
  CHECK(finds(rooms_on_the_page(with("compiler/planted/CMakeLists.txt", "# planted\nloopsmith_room(planted\n  SOURCES planted.cpp)\n")), "the picture lacks `planted`"));
}

TEST_CASE("planted: an include of a higher row, and of the same row") {
  CHECK(finds(includes_upwards(with("compiler/ir/planted.cpp", "#include \"schedule/state.h\"\n")), "`schedule` is not below `ir`"));
  CHECK(finds(includes_upwards(with("compiler/arith/planted.cpp", "#include \"interp/interp.h\"\n")), "`interp` is not below `arith`"));
  // Rooms change places in the picture.
  CHECK(finds(includes_upwards(with("ARCHITECTURE.md", "    ir      ", "    ")), "`ir` is not below"));
}

TEST_CASE("planted: a room that is used and not listed, or listed and not used") {
  // `script` lists `frontend`, which lists `arith`: that is not enough for an include of `arith`.
  CHECK(finds(lists_and_includes(with("compiler/script/run.cpp", "// planted\n#include \"arith/analyzer.h\"\n")), "`script` does not list `arith` in its ROOMS"));
  CHECK(finds(lists_and_includes(with("compiler/arith/CMakeLists.txt", "ROOMS support ir", "ROOMS support ir interp")), "`arith` lists `interp` and includes nothing of it"));
  CHECK(finds(lists_and_includes(with("compiler/arith/CMakeLists.txt", "ROOMS support ir", "ROOMS support")), "`arith` does not list `ir` in its ROOMS"));
  // A target in a room with several targets is checked separately.
  CHECK(finds(lists_and_includes(with("compiler/tune/database/database.cpp", "// planted\n#include \"ir/ir.h\"\n")), "`tune_database` does not list `ir`"));
}

TEST_CASE("planted: an outside library in a room that the page does not name") {
  CHECK(finds(outside_libraries(with("compiler/schedule/planted.cpp", "#include <sqlite3.h>\n")), "compiler/schedule/planted.cpp includes <sqlite3.h>"));
  CHECK(finds(outside_libraries(with("compiler/arith/CMakeLists.txt", "ROOMS support ir", "ROOMS support ir LIBRARIES ZLIB::ZLIB")), "`arith` links ZLIB::ZLIB"));
  CHECK(finds(outside_libraries(with("ARCHITECTURE.md", "`compiler/tune/database` |", "`compiler/tune/search` |")), "compiler/tune/database/database.cpp includes <sqlite3.h>"));
  CHECK(finds(outside_libraries(with("ARCHITECTURE.md", "`compiler/tune/database` |", "`compiler/tune/search` |")), "has `compiler/tune/search` in the row of"));
}

TEST_CASE("planted: a file without a comment on top") { CHECK(finds(files_without_opening(with("compiler/ir/planted.h", "#pragma once\n")), "compiler/ir/planted.h")); }
