// The programs of a file, each with the results of its schedule functions.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace loopsmith::bench {

struct Version {
  std::string name;       // of the schedule function; "plain"
  IRModule module;
};
struct Program {
  std::string name;
  std::vector<Version> versions;   // the plain one first
};
[[nodiscard]] auto programs_of(const std::string& text) -> Result<std::vector<Program>>;

}  // namespace loopsmith::bench
