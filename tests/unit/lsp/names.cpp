// Names: what a rename changes, and that a program means the same under other names.
#include "lsp/features/names.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "ir/equal.h"
#include "tests/support/effort.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

auto read(const std::string& path) -> std::string {
  std::ifstream file(std::string(LOOPSMITH_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

auto renamed(const std::string& text, std::vector<Span> places, const std::string& name) -> std::string {
  std::string out = text;
  std::sort(places.begin(), places.end(), [](Span a, Span b) { return a.begin > b.begin; });
  for (Span place : places) { out.replace(place.begin, place.end - place.begin, name); }
  return out;
}

/// The text under the cursor `|`, and where it was.
auto with_cursor(std::string text) -> std::pair<std::string, uint32_t> {
  size_t at = text.find('|');
  REQUIRE(at != std::string::npos);
  text.erase(at, 1);
  return {text, static_cast<uint32_t>(at)};
}

auto places_of(const std::string& marked) -> std::vector<std::string> {
  auto [text, at] = with_cursor(marked);
  workspace::Document document("file:///t.tir", 1, text);
  std::vector<std::string> lines;
  for (const Occurrence& o : references(*document.snapshot(), at)) {
    const char* role = o.role == Role::Bind ? "bind" : o.role == Role::Write ? "write" : "read";
    lines.push_back(std::to_string(document.snapshot()->lines().line_of(o.span.begin) + 1) + " " + role);
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a program means the same with any one name changed") {
  for (const char* path : {"examples/matmul.tir", "examples/conv2d_bias_relu.tir", "examples/softmax.tir", "tests/golden/lsp/matmul.tir"}) {
    std::string text = read(path);
    REQUIRE_FALSE(text.empty());
    auto before = workspace::analyse("file:///t.tir", text);
    auto findings = before->snapshot()->findings().size();
    NameTable names = names_of(*before->snapshot());
    size_t changed = 0;
    std::vector<bool> done(names.entities.size(), false);
    size_t tried = 0;
    for (const Occurrence& o : names.occurrences) {
      if (done[o.entity]) { continue; }
      done[o.entity] = true;
      if (tried++ % tests::stride(4) != 0) { continue; }
      if (!renameable(*before->snapshot(), o.span.begin)) { continue; }
      Rename result = rename(*before->snapshot(), o.span.begin, "fresh_name");
      INFO(path << ": " << names.entities[o.entity].name.str() << " " << result.problem);
      REQUIRE(result.problem.empty());
      auto after = workspace::analyse("file:///t.tir", renamed(text, result.places, "fresh_name"));
      CHECK(after->snapshot()->findings().size() == findings);
      const auto& was = before->snapshot()->programs();
      const auto& is = after->snapshot()->programs();
      REQUIRE(was.size() == is.size());
      // The name of a block and of a function belong to the structure.
      bool is_structure = names.entities[o.entity].kind == EntityKind::Block || names.entities[o.entity].kind == EntityKind::Program;
      for (size_t i = 0; i < was.size() && !is_structure; ++i) { CHECK(structural_equal(was[i].module, is[i].module)); }
      // Schedules run as they did.
      const auto& ran = before->snapshot()->schedules();
      const auto& runs = after->snapshot()->schedules();
      REQUIRE(ran.size() == runs.size());
      for (size_t i = 0; i < ran.size(); ++i) {
        if (ran[i].run != nullptr && ran[i].run->is_complete) { CHECK((runs[i].run != nullptr && runs[i].run->is_complete)); }
      }
      ++changed;
    }
    INFO(path);
    CHECK(changed > 10 / tests::stride(4));
  }
}

TEST_CASE("in programs a name belongs to the list that binds it") {
  const std::string text =
      "@T.prim_func\n"
      "def f(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):\n"
      "    for i in range(8):\n"
      "        with T.block(\"B\"):\n"
      "            v|i = T.axis.spatial(8, i)\n"
      "            B[vi] = A[vi]\n"
      "    for i in range(8):\n"
      "        with T.block(\"C\"):\n"
      "            vi = T.axis.spatial(8, i)\n"
      "            A[vi] = B[vi]\n";
  CHECK(places_of(text) == Lines{"5 bind", "6 read", "6 read"});
  std::string buffer = text;
  buffer.erase(buffer.find('|'), 1);
  CHECK(places_of(std::string(buffer).insert(buffer.find("B["), "|")) == Lines{"2 bind", "6 write", "10 read"});
  CHECK(places_of(std::string(buffer).insert(buffer.find("i in range", buffer.find("A[vi]")), "|")) == Lines{"7 bind", "9 read"});
}

TEST_CASE("in scripts a name is one variable per function") {
  CHECK(places_of("def f(x):\n    y = x\n    y = [|y for z in y]\n    return lambda x: x + y\n") ==
        Lines{"2 bind", "3 bind", "3 read", "3 read", "4 read"});
  CHECK(places_of("def f(|x):\n    return (lambda x: x)(x)\n") == Lines{"1 bind", "2 read"});
  CHECK(places_of("N = 4\ndef f():\n    return |N\n\nN = 5\n") == Lines{"1 bind", "3 read", "5 bind"});
}

TEST_CASE("members of modules, and blocks by their names") {
  const std::string text =
      "@I.ir_module\n"
      "class M:\n"
      "    @T.prim_func\n"
      "    def main(A: T.Buffer((8,), \"float32\")):\n"
      "        for i in range(8):\n"
      "            with T.block(\"B\"):\n"
      "                vi = T.axis.spatial(8, i)\n"
      "                A[vi] = T.float32(1)\n"
      "\n"
      "@ls.schedule(M)\n"
      "def s(sch: tir.Schedule):\n"
      "    b = sch.get_block(\"B\", func_name=\"main\")\n"
      "    sch.compute_inline(\"B\")\n"
      "    for name in [\"B\", \"other\"]:\n"
      "        sch.annotate(name, \"B\", 1)\n"
      "\n"
      "X = M[\"main\"]\n";
  auto at = [&](const std::string& what, size_t more) { return std::string(text).insert(text.find(what) + more, "|"); };
  CHECK(places_of(at("T.block(\"B", 9)) == Lines{"6 bind", "12 read", "13 read", "14 read"});
  CHECK(places_of(at("def main", 5)) == Lines{"4 bind", "12 read", "17 read"});
  CHECK(places_of(at("schedule(M", 9)) == Lines{"2 bind", "10 read", "17 read"});
}

TEST_CASE("names in broken texts are found; nothing is found where there is no name") {
  CHECK(places_of("@T.prim_func\ndef f(A: T.Buffer((8,), \"float32\")):\n    for i in range(8):\n        A[i] = |A[i]\n        A[\n") == Lines{"2 bind", "4 write", "4 read", "5 read"});
  CHECK(places_of("x = 1 |+ 2\n").empty());
  CHECK(places_of("|").empty());
}
