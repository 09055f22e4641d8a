// The page of the VS Code extension names exactly the settings of its package, and the package declares the names of semantic tokens that only
// Loopsmith has.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "lsp/protocol/json.h"
#include "lsp/protocol/methods.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

auto extension_file(const std::string& name) -> std::string {
  std::ifstream file(tests::source_folder() + "/editors/vscode/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

auto package() -> Json {
  std::string text = extension_file("package.json");
  std::string why;
  auto json = parse_json(text, why);
  REQUIRE(json);
  return member(*json, "contributes");
}

auto ids_of(const Json& list) -> std::set<std::string> {
  std::set<std::string> ids;
  for (const Json& one : list) { ids.insert(string_in(one, "id")); }
  return ids;
}

}  // namespace

TEST_CASE("the table of settings has each setting of the package, and no other") {
  const Json contributes = package();
  std::set<std::string> settings;
  for (const auto& [name, about] : member(member(contributes, "configuration"), "properties").items()) { settings.insert(name); }
  std::set<std::string> documented;
  std::istringstream page(extension_file("README.md"));
  bool is_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| ")) { is_table = is_table || line.starts_with("| setting |"); } else { is_table = false; }
    std::string cell = is_table ? line.substr(0, line.find(" |")) : std::string();
    for (size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at)) {
      size_t end = cell.find('`', at + 1);
      documented.insert(cell.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  CHECK(documented == settings);
}

TEST_CASE("tokens and modifiers that are not the protocol's are declared to VS Code") {
  const std::set<std::string_view> standard = {"namespace", "class", "function", "parameter", "variable", "declaration", "modification", "readonly", "deprecated"};
  std::set<std::string> types, modifiers;
  for (std::string_view one : token_types) { if (!standard.contains(one)) { types.emplace(one); } }
  for (std::string_view one : token_modifiers) { if (!standard.contains(one)) { modifiers.emplace(one); } }
  CHECK(ids_of(member(package(), "semanticTokenTypes")) == types);
  CHECK(ids_of(member(package(), "semanticTokenModifiers")) == modifiers);
}
