// The paths of the sources and of the program under test. Both are known when the build is configured, and are compiled into one file only, so that
// the compiler cache can share all other files of the tests between checkouts.
#pragma once

#include <string>

namespace loopsmith::tests {

/// The root of this checkout, absolute, without a slash at the end.
auto source_folder() -> std::string;

/// The text of a file of this checkout, by its path below the root; empty: there is no such file.
auto source_text(const std::string& path) -> std::string;

/// The `loopsmith` that this build makes. A test that runs it adds a dependency on the target `loopsmith`.
auto loopsmith_program() -> std::string;

}  // namespace loopsmith::tests
