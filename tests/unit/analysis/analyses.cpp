// Findings that are reused between versions of a text, work that a budget postpones, and the text after fixes.
#include "analysis/analyses.h"

#include <algorithm>

#include "support/codes.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

auto described(const syntax::Document& document, const Diagnostics& diagnostics) -> std::string {
  std::string out;
  for (const Diagnostic& d : diagnostics) {
    auto span = document.resolve(d.where).value_or(Span{});
    out += std::to_string(span.begin) + "-" + std::to_string(span.end) + " " + std::string(code_id(d.code)) + ": " + d.message() + "\n";
  }
  return out;
}

auto fresh(const std::string& text) -> std::string {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  analysis::Analyses analyses;
  REQUIRE(analyses.update(document, file, true, INT64_MAX));
  return described(document, analyses.diagnostics());
}

/// The text with all fixes of one code applied; the code must be reported.
auto fixed(std::string text, Code code) -> std::string {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  analysis::Analyses analyses;
  REQUIRE(analyses.update(document, file, true, INT64_MAX));
  std::vector<std::pair<Span, std::string>> edits;
  for (const Diagnostic& d : analyses.diagnostics()) {
    if (d.code != code) { continue; }
    REQUIRE(!d.fixes.empty());
    for (const FixEdit& f : d.fixes) {
      auto span = document.resolve(f.where);
      REQUIRE(span);
      edits.emplace_back(*span, f.replacement);
    }
  }
  REQUIRE(!edits.empty());
  std::sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) { return a.first.begin > b.first.begin; });
  for (const auto& [span, replacement] : edits) { text.replace(span.begin, span.end - span.begin, replacement); }
  return text;
}

const std::string first =
    "@T.prim_func\n"
    "def first(A: T.Buffer((16,), \"float32\")):\n"
    "    tmp = T.alloc_buffer((16,), \"float32\")\n"
    "    for i in range(16):\n"
    "        A[i + 1] = T.float32(0)\n\n";
const std::string second =
    "@T.prim_func\n"
    "def second(A: T.Buffer((16, 16), \"float32\"), B: T.Buffer((16,), \"float32\")):\n"
    "    for i, k in T.grid(16, 16):\n"
    "        with T.block(\"B\"):\n"
    "            vi, vk = T.axis.remap(\"SR\", [i, k])\n"
    "            B[vi] = B[vi] + A[vi, vk]\n";

}  // namespace

TEST_CASE("after every edit the findings are those of a fresh analysis") {
  std::string text = first + second;
  syntax::Document document(text);
  frontend::File file;
  analysis::Analyses analyses;
  auto look = [&] {
    file.update(document);
    REQUIRE(analyses.update(document, file, true, INT64_MAX));
    CHECK(described(document, analyses.diagnostics()) == fresh(document.text()));
  };
  look();
  // A line above: all places move, and nothing else changes.
  document.edit({0, 0}, "N = 4\n\n");
  look();
  // Correct the mistake, make it again, and break the program.
  size_t at = document.text().find("i + 1");
  document.edit({static_cast<uint32_t>(at), static_cast<uint32_t>(at + 5)}, "i");
  look();
  document.edit({static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)}, "i + 2");
  look();
  document.edit({static_cast<uint32_t>(at), static_cast<uint32_t>(at + 1)}, "j");
  look();
  // Delete a declaration.
  at = document.text().find("@T.prim_func\ndef second");
  document.edit({static_cast<uint32_t>(at), static_cast<uint32_t>(document.text().size())}, "");
  look();
}

TEST_CASE("the next call finds the mistakes that a budget left") {
  syntax::Document document(first + second);
  frontend::File file;
  file.update(document);
  analysis::Analyses analyses;
  CHECK(!analyses.update(document, file, true, 7));
  CHECK(std::none_of(analyses.diagnostics().begin(), analyses.diagnostics().end(), [](const Diagnostic& d) { return d.code == Code::MissingInit; }));
  CHECK(!analyses.diagnostics().empty());
  CHECK(analyses.update(document, file, true, INT64_MAX));
  CHECK(described(document, analyses.diagnostics()) == fresh(first + second));
}

TEST_CASE("fixes correct the mistakes that they are for") {
  std::string text = fixed(second, Code::MissingInit);
  CHECK(text.find("            with T.init():\n                B[vi] = T.float32(0)\n            B[vi] = B[vi]") != std::string::npos);
  CHECK(fresh(text) == "");
  text = fixed(first, Code::UnusedName);
  CHECK(text.find("tmp") == std::string::npos);
  CHECK(fresh(text).find("unused-name") == std::string::npos);
  text = fixed("import numpy as np\n\n" + second, Code::UnusedImport);
  CHECK(text.find("import") == std::string::npos);
  text = fixed("@T.prim_func\ndef f(A: T.Buffer((1,), \"float32\")):\n    A[0] = T.float32(0)  # ls: ignore[unused-nam]\n", Code::UnknownIgnore);
  CHECK(text.find("ignore[unused-name]") != std::string::npos);
}

TEST_CASE("a maximum begins with the smallest value, a product with one") {
  auto init_of = [](const std::string& update) {
    std::string text = second;
    text.replace(text.find("B[vi] + A[vi, vk]"), 17, update);
    text = fixed(text, Code::MissingInit);
    size_t at = text.find("T.init():\n") + 10;
    return text.substr(at + 16, text.find('\n', at) - at - 16);
  };
  CHECK(init_of("T.max(B[vi], A[vi, vk])") == "B[vi] = T.min_value(\"float32\")");
  CHECK(init_of("T.min(A[vi, vk], B[vi])") == "B[vi] = T.max_value(\"float32\")");
  CHECK(init_of("B[vi] * A[vi, vk]") == "B[vi] = T.float32(1)");
}
