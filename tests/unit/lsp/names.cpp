// Names: the places that a rename changes, and a program's unchanged meaning under other names.
#include "lsp/features/names.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "ir/equal.h"
#include "tests/support/effort.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

auto read(const std::string& path) -> std::string {
  std::ifstream file(tests::source_folder() + "/" + path);
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

/// The text without the cursor `|`, and the place of the cursor.
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
  for (const char* path : {"examples/matmul.tir", "examples/conv2d_bias_relu.tir", "examples/softmax.tir", "tests/golden/lsp/matmul.tir", "tests/golden/lsp/block_names.tir"}) {
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
      // The names of blocks and functions belong to the structure.
      bool is_structure = names.entities[o.entity].kind == EntityKind::Block || names.entities[o.entity].kind == EntityKind::Program;
      for (size_t i = 0; i < was.size() && !is_structure; ++i) { CHECK(structural_equal(was[i].module, is[i].module)); }
      // Schedules have the same results as before.
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

namespace {

/// A module with two functions that have a block of the same name, and a schedule with those statements.
auto of_two(const std::string& body) -> std::string {
  std::string text = "@I.ir_module\nclass M:\n";
  for (const char* name : {"first", "second"}) {
    text += "    @T.prim_func\n    def " + std::string(name) + "(A: T.Buffer((8, 4), \"float32\"), B: T.Buffer((8, 4), \"float32\")):\n"
            "        for i, j in T.grid(8, 4):\n            with T.block(\"copy\"):\n"
            "                vi, vj = T.axis.remap(\"SS\", [i, j])\n                B[vi, vj] = A[vi, vj]\n";
  }
  return text + "\n@ls.schedule(M)\ndef s(sch: tir.Schedule):\n" + body;
}
constexpr size_t body_line = 18;

/// The lines of all places of a block, counted from the first statement of the schedule; without those of the program.
auto strings_of(const std::string& text, size_t which) -> std::vector<std::string> {
  size_t at = text.find("T.block(\"copy");
  if (which == 1) { at = text.find("T.block(\"copy", at + 1); }
  std::vector<std::string> out;
  for (const std::string& place : places_of(std::string(text).insert(at + 9, "|"))) {
    size_t line = std::stoul(place);
    if (line >= body_line) { out.push_back(std::to_string(line - body_line + 1)); }
  }
  return out;
}
auto problem_at(const std::string& text, const std::string& what, size_t more) -> std::string {
  workspace::Document document("file:///t.tir", 1, text);
  return rename(*document.snapshot(), static_cast<uint32_t>(text.find(what) + more), "fresh").problem;
}
const std::string unclear = " may be a block of `first` or of `second`: name the program by `func_name=`, or by `work_on` before it";

}  // namespace

TEST_CASE("a block's name is of the function that the schedule works on") {
  std::string text = of_two(
      "    sch.work_on(\"first\")\n"
      "    sch.parallel(sch.get_loops(\"copy\")[0])\n"
      "    sch.work_on(\"second\")\n"
      "    i, j = sch.get_loops(\"copy\")\n"
      "    b = sch.get_block(\"copy\", func_name=\"first\")\n"
      "    c = sch.get_block(\"copy\", \"second\")\n"
      "    for name in [\"copy\"]:\n"
      "        sch.get_block(name)\n"
      "        sch.get_block(name, func_name=None)\n");
  CHECK(strings_of(text, 0) == Lines{"2", "5"});
  CHECK(strings_of(text, 1) == Lines{"4", "6", "7"});
  CHECK(problem_at(text, "T.block(\"copy", 9).empty());
}

TEST_CASE("where it is not known which function has the block nothing is renamed") {
  auto check = [](const std::string& body, size_t line, Lines first, Lines second) {
    std::string text = of_two(body);
    INFO(body);
    CHECK(strings_of(text, 0) == first);
    CHECK(strings_of(text, 1) == second);
    std::string problem = "\"copy\" in line " + std::to_string(body_line + line - 1) + unclear;
    CHECK(problem_at(text, "T.block(\"copy", 9) == problem);
    // The string itself cannot be renamed, for the same reason.
    workspace::Document document("file:///t.tir", 1, text);
    uint32_t string = document.snapshot()->lines().line_start(text, static_cast<uint32_t>(body_line + line - 2));
    CHECK(rename(*document.snapshot(), static_cast<uint32_t>(text.find("\"copy", string) + 1), "fresh").problem == problem);
  };
  check("    which = \"fi\" + \"rst\"\n    sch.work_on(which)\n    sch.get_block(\"copy\")\n", 3, {}, {});
  check("    sch.get_block(\"copy\", func_name=pick())\n", 1, {}, {});
  // The schedule would not run: the module has no `main`, and no function is selected.
  check("    sch.get_block(\"copy\")\n", 1, {}, {});
  check("    for f in [\"first\", \"second\"]:\n        sch.work_on(f)\n        sch.get_block(\"copy\")\n", 3, {}, {});
  check("    sch.work_on(\"first\")\n    if x:\n        sch.work_on(\"second\")\n        sch.get_loops(\"copy\")\n    sch.get_block(\"copy\")\n", 5, {}, {"4"});
  check("    sch.work_on(\"first\")\n    x and sch.work_on(\"second\")\n    sch.get_block(\"copy\")\n", 3, {}, {});
  check("    sch.work_on(\"first\")\n    sch.get_block(\"copy\")\n    def inner():\n        sch.work_on(\"second\")\n    inner()\n    sch.get_block(\"copy\")\n", 6, {"2"}, {});
  check("    sch.work_on(\"first\")\n    sch.get_block(\"copy\")\n    elsewhere.helper(sch)\n    sch.get_block(\"copy\")\n", 4, {"2"}, {});
  check("    sch.work_on(\"first\")\n    helper(sch)\n    sch.get_block(\"copy\")\n\ndef helper(sch):\n    sch.work_on(\"second\")\n", 3, {}, {});
  check("    name = \"copy\"\n    sch.work_on(\"first\")\n    sch.get_block(name)\n    sch.work_on(\"second\")\n    sch.get_block(name)\n", 1, {}, {});
}

TEST_CASE("facts on which two branches agree, and facts that a helper does not change, are known") {
  CHECK(strings_of(of_two("    if x:\n        sch.work_on(\"first\")\n    else:\n        sch.work_on(\"first\")\n    sch.get_block(\"copy\")\n"), 0) == Lines{"5"});
  std::string helper = "\ndef halves(sch, name):\n    return sch.split(sch.get_loops(name)[0], factors=[None, 2])\n";
  std::string text = of_two("    sch.work_on(\"second\")\n    halves(sch, \"copy\")\n    sch.get_block(\"copy\")\n" + helper);
  CHECK(strings_of(text, 0).empty());
  CHECK(strings_of(text, 1) == Lines{"2", "3"});
  // A function of another file may call `work_on`.
  text = "from elsewhere import focus\n" + of_two("    sch.get_block(\"copy\")\n    focus(sch)\n    sch.get_block(\"copy\")\n");
  text.replace(text.find("second"), 6, "main");
  CHECK(strings_of(text, 0).empty());
  CHECK(strings_of(text, 1) == Lines{"2"});
  // The function from which the helper gets its block is unknown.
  text = of_two("    halves(sch, \"copy\")\n" + helper);
  text.replace(text.find("second"), 6, "main");
  text.replace(text.find("T.block(\"copy", text.find("def main")) + 9, 4, "other");
  CHECK(strings_of(text, 0) == Lines{"1"});
  // A schedule begins on `main`.
  text = of_two("    sch.get_block(\"copy\")\n");
  text.replace(text.find("second"), 6, "main");
  CHECK(strings_of(text, 0).empty());
  CHECK(strings_of(text, 1) == Lines{"1"});
}

TEST_CASE("blocks by strings that come out of lists and constants") {
  const std::string text =
      "NAMES = [\"B\", \"norm\"]\n"
      "TILES = {\"B\": 4}\n"
      "OTHERS = [\"B\"]\n"
      "\n"
      "@T.prim_func\n"
      "def f(A: T.Buffer((8,), \"float32\")):\n"
      "    for i in range(8):\n"
      "        with T.block(\"B\"):\n"
      "            vi = T.axis.spatial(8, i)\n"
      "            A[vi] = T.float32(1)\n"
      "\n"
      "@ls.schedule(f)\n"
      "def s(sch: tir.Schedule):\n"
      "    for name in NAMES:\n"
      "        sch.get_block(name)\n"
      "    for name, tile in TILES.items():\n"
      "        sch.split(sch.get_loops(name)[0], factors=[None, tile])\n"
      "    blocks = [sch.get_block(x) for x in (\"B\", \"norm\")]\n"
      "    one = \"B\"\n"
      "    sch.get_block(one)\n"
      "    sch.get_block(LATE[0])\n"
      "    helper(sch, MORE)\n"
      "    print(OTHERS)\n"
      "\n"
      "LATE = (\"B\",)\n"
      "MORE = sorted(LATE + (\"B\", \"C\"))\n";
  CHECK(places_of(std::string(text).insert(text.find("T.block(\"B") + 9, "|")) == Lines{"1 read", "2 read", "8 bind", "18 read", "19 read", "25 read", "26 read"});
  CHECK(places_of(std::string(text).insert(text.find("NAMES = [\"B") + 10, "|")).size() == 7);
}

TEST_CASE("a constant that schedules of two programs use stands for the blocks of both") {
  std::string text = "NAMES = [\"B\"]\n";
  for (const char* name : {"f", "g"}) {
    text += "\n@T.prim_func\ndef " + std::string(name) + "(A: T.Buffer((8,), \"float32\")):\n    for i in range(8):\n        with T.block(\"B\"):\n"
            "            vi = T.axis.spatial(8, i)\n            A[vi] = T.float32(1)\n\n@ls.schedule(" + name + ")\ndef of_" + name + "(sch: tir.Schedule):\n"
            "    for name in NAMES:\n        sch.get_block(name)\n";
  }
  CHECK(problem_at(text, "T.block(\"B", 9) == "\"B\" in line 1 may be a block of `f` or of `g`: write a string of its own for each");
  CHECK(problem_at(text, "[\"B", 2) == "\"B\" in line 1 may be a block of `f` or of `g`: write a string of its own for each");
}

TEST_CASE("blocks of a program that a function makes") {
  const std::string text =
      "def make(n):\n"
      "    @T.prim_func\n"
      "    def kernel(A: T.Buffer((n,), \"float32\")):\n"
      "        for i in range(n):\n"
      "            with T.block(\"scale\"):\n"
      "                vi = T.axis.spatial(n, i)\n"
      "                A[vi] = T.float32(1)\n"
      "\n"
      "    return kernel\n"
      "\n"
      "def again(n):\n"
      "    return make(n * 2)\n"
      "\n"
      "small = make(16)\n"
      "\n"
      "@ls.schedule(small)\n"
      "def s3(sch: tir.Schedule):\n"
      "    sch.get_block(\"scale\")\n"
      "\n"
      "@ls.schedule(make(64))\n"
      "def s4(sch: tir.Schedule):\n"
      "    sch.parallel(sch.get_loops(\"scale\")[0])\n"
      "\n"
      "@ls.schedule(again(8).with_attr(\"global_symbol\", \"main\"))\n"
      "def s5(sch: tir.Schedule):\n"
      "    sch.get_block(\"scale\")\n"
      "\n"
      "def test():\n"
      "    program = make(3)\n"
      "    sch = tir.Schedule(program)\n"
      "    sch.get_block(\"scale\")\n"
      "    other = tir.Schedule(elsewhere(3))\n"
      "    other.get_block(\"scale\")\n";
  const Lines all = {"5 bind", "18 read", "22 read", "26 read", "31 read"};
  CHECK(places_of(std::string(text).insert(text.find("T.block(\"scale") + 9, "|")) == all);
  CHECK(places_of(std::string(text).insert(text.find("get_loops(\"scale") + 11, "|")) == all);
}

TEST_CASE("names in broken texts are found; nothing is found where there is no name") {
  CHECK(places_of("@T.prim_func\ndef f(A: T.Buffer((8,), \"float32\")):\n    for i in range(8):\n        A[i] = |A[i]\n        A[\n") == Lines{"2 bind", "4 write", "4 read", "5 read"});
  CHECK(places_of("x = 1 |+ 2\n").empty());
  CHECK(places_of("|").empty());
}
