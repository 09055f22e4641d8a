// From the text of a program to its module, for tests of costs.
#pragma once

#include <string>

#include "frontend/file.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

namespace loopsmith::cost {

/// The module of the first program; an error in the text fails the test.
[[nodiscard]] inline auto module_of(const std::string& text) -> IRModule {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  for (size_t i = 0; i < file.size(); ++i) {
    for (const Diagnostic& d : file.declaration(i).diagnostics) { INFO(d.message()); CHECK(d.severity != Severity::Error); }
    if (file.declaration(i).module) { return file.declaration(i).module; }
  }
  return {};
}

}  // namespace loopsmith::cost
