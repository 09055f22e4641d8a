// Rules that no compiler checks, as functions from the files of the repository to sentences about violations. The rules
// read three sources and compare them: the `#include`s, the `loopsmith_room(...)` calls of the CMake files, and the tables and
// the picture in ARCHITECTURE.md. Because the files are plain text in a map, a test can plant a violation and check that it is found.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace loopsmith::tidy {

/// Text by path from the repository's root: sources, CMake files and ARCHITECTURE.md.
using Files = std::map<std::string, std::string>;

/// All files that the rules read, from the folder of the repository.
[[nodiscard]] auto read_files(const std::string& root) -> Files;

/// Each folder with a `loopsmith_room` is in the table of rooms and in the picture of ARCHITECTURE.md, and each room that the
/// page names exists.
[[nodiscard]] auto rooms_on_the_page(const Files& files) -> std::vector<std::string>;

/// A room includes only rooms in the rows below its own row of the picture.
[[nodiscard]] auto includes_upwards(const Files& files) -> std::vector<std::string>;

/// A target includes only the targets in its list of ROOMS, and includes each of them at least once.
[[nodiscard]] auto lists_and_includes(const Files& files) -> std::vector<std::string>;

/// A header of an outside library is included only by the rooms in ARCHITECTURE.md's table of outside libraries, and no target
/// outside these rooms links the library.
[[nodiscard]] auto outside_libraries(const Files& files) -> std::vector<std::string>;

/// An argument of a diagnostic is in the text of its row, or other code reads it by its name.
[[nodiscard]] auto arguments_without_a_place(const Files& files) -> std::vector<std::string>;

/// Every source and CMake file begins with a comment.
[[nodiscard]] auto files_without_opening(const Files& files) -> std::vector<std::string>;

}  // namespace loopsmith::tidy
