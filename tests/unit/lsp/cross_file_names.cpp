// Names beyond one file: a program and its blocks are renamed in every file that imports them, by any form of import, and in no other.
#include "lsp/features/cross_file_names.h"

#include <algorithm>
#include <map>
#include <memory>

#include "lsp/features/callers.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/texts.h"

using namespace loopsmith;
using namespace loopsmith::lsp;

namespace {

constexpr const char* kernels = R"PY(from tvm.script import ir as I, tir as T

@T.prim_func
def matmul(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.block("C"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi]
)PY";

auto texts() -> Texts {
  return Texts({
      {"kernels.py", kernels},
      {"plain.py", "from kernels import matmul, Module\n\ndef tiled():\n    sch = tir.Schedule(matmul)\n    c = sch.get_block(\"C\")\n    return sch\n\n"
                   "def whole():\n    sch = tir.Schedule(Module)\n    sch.get_block(\"C\", func_name=\"main\")\n    sch.work_on(\"main\")\n    return Module[\"main\"]\n"},
      {"alias.py", "from kernels import matmul as mm\n\ndef tiled():\n    sch = tir.Schedule(mm)\n    for name in [\"C\", \"D\"]:\n        sch.get_block(name)\n"},
      {"module.py", "import kernels\nimport kernels as k\n\ndef tiled():\n    sch = tir.Schedule(kernels.matmul)\n    sch.get_block(\"C\")\n    print(k.matmul)\n"},
      {"deep/__init__.py", "from ..kernels import matmul\n"},
      {"deep/use.tir", "from . import matmul\n\n@ls.schedule(matmul)\ndef deep(sch: tir.Schedule):\n    sch.get_block(\"C\")\n"},
      {"star.py", "from deep import *\n\nx = matmul\n"},
      {"other.py", "from elsewhere import matmul\n\ndef f():\n    sch = tir.Schedule(matmul)\n    sch.get_block(\"C\")\n"},
      {"hidden.py", "def matmul():\n    return \"C\"\n"},
      {"circle_a.py", "from circle_b import lost\n"},
      {"circle_b.py", "from circle_a import lost\n"},
  });
}

/// "FILE LINE:COLUMN" of every place, in order.
auto lines_of(const std::vector<PlaceInFile>& places) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const PlaceInFile& place : places) {
    uint32_t line = place.file->lines().line_of(place.span.begin);
    out.push_back(place.file->name().substr(10) + " " + std::to_string(line + 1) + ":" + std::to_string(place.span.begin - place.file->lines().line_start(place.file->text(), line)));
  }
  return out;
}
auto renamed(Texts& files, std::pair<const workspace::Snapshot*, uint32_t> at, const std::string& name = "fresh") -> std::vector<std::string> {
  RenameInFiles result = rename(files, *at.first, at.second, name, {});
  return result.problem.empty() ? lines_of(result.places) : std::vector<std::string>{result.problem};
}
using Lines = std::vector<std::string>;

const Lines program = {"kernels.py 4:4",   "alias.py 1:20", "deep/__init__.py 1:22", "deep/use.tir 1:14", "deep/use.tir 3:13", "module.py 5:31",
                       "module.py 7:12", "plain.py 1:20", "plain.py 4:23", "star.py 3:4"};
const Lines block = {"kernels.py 6:22", "alias.py 5:18", "deep/use.tir 5:19", "module.py 6:19", "plain.py 5:23"};

}  // namespace

auto all_references(Files& files, const workspace::Snapshot& file, uint32_t offset) -> std::vector<PlaceInFile> {
  std::vector<PlaceInFile> all;
  references(files, file, offset, {}, [&](const std::vector<PlaceInFile>& there) { all.insert(all.end(), there.begin(), there.end()); });
  return all;
}

TEST_CASE("a program is renamed wherever it is imported, from any of its places") {
  Texts files = texts();
  CHECK(renamed(files, files.at("kernels.py", "matmul")) == program);
  CHECK(renamed(files, files.at("plain.py", "(matmul)", 1)) == program);
  CHECK(renamed(files, files.at("alias.py", "matmul")) == program);
  CHECK(renamed(files, files.at("module.py", "k.matmul", 2)) == program);
  CHECK(renamed(files, files.at("deep/use.tir", "matmul")) == program);
  CHECK(renamed(files, files.at("star.py", "= matmul", 2)) == program);
}

TEST_CASE("a block is renamed in the schedules of every file, those of its program only") {
  Texts files = texts();
  CHECK(renamed(files, files.at("kernels.py", "\"C\"", 1)) == block);
  CHECK(renamed(files, files.at("alias.py", "\"C\"", 1)) == block);
  CHECK(renamed(files, files.at("deep/use.tir", "\"C\"", 1)) == block);
  // The block of another program has the same name.
  CHECK(renamed(files, files.at("plain.py", "\"C\", func_name", 1)) == Lines{"kernels.py 15:26", "plain.py 10:19"});
}

TEST_CASE("modules and their members") {
  Texts files = texts();
  CHECK(renamed(files, files.at("kernels.py", "Module")) == Lines{"kernels.py 11:6", "plain.py 1:28", "plain.py 9:23", "plain.py 12:11"});
  CHECK(renamed(files, files.at("kernels.py", "main")) == Lines{"kernels.py 13:8", "plain.py 10:34", "plain.py 11:17", "plain.py 12:19"});
}

TEST_CASE("names that an import renames belong to that file; names that are not found stay") {
  Texts files = texts();
  CHECK(renamed(files, files.at("alias.py", "mm")) == Lines{"alias.py 1:30", "alias.py 4:23"});
  CHECK(renamed(files, files.at("other.py", "matmul")) == Lines{"`matmul` is not bound in this file"});
  CHECK(!renameable(files, *files.at("other.py", "matmul").first, files.at("other.py", "matmul").second));
  CHECK(renamed(files, files.at("circle_a.py", "lost")) == Lines{"`lost` is not bound in this file"});
  CHECK(renamed(files, files.at("hidden.py", "matmul")) == Lines{"hidden.py 1:4"});
}

TEST_CASE("a name that another file has already is refused, and the file is named") {
  Texts files = texts();
  CHECK(renamed(files, files.at("kernels.py", "matmul"), "tiled") == Lines{"`tiled` already has a meaning in line 3 of alias.py"});
  CHECK(renamed(files, files.at("kernels.py", "matmul"), "Module") == Lines{"`Module` already has a meaning in line 11"});
  CHECK(renamed(files, files.at("kernels.py", "matmul"), "for") == Lines{"`for` cannot be a name"});
}

TEST_CASE("where not all files can be looked at nothing is renamed by halves") {
  Texts files = texts();
  files.is_too_large = true;
  CHECK(renamed(files, files.at("kernels.py", "matmul")) == Lines{"the workspace has more files than can be looked at, and any of them may use `matmul`: open the folder it is in"});
  CHECK(renamed(files, files.at("kernels.py", "vi")).size() == 3);
  auto [file, offset] = files.at("alias.py", "\"C\"", 1);
  CHECK(lines_of(all_references(files, *file, offset)) == Lines{"alias.py 5:18", "kernels.py 6:22"});
}

TEST_CASE("definition and references lead to other files") {
  Texts files = texts();
  for (auto [name, text, inside] : {std::tuple{"plain.py", "(matmul)", 1}, {"alias.py", "(mm)", 1}, {"module.py", "k.matmul", 2}, {"deep/use.tir", "(matmul)", 1}, {"star.py", "= matmul", 2}}) {
    auto [file, offset] = files.at(name, text, static_cast<size_t>(inside));
    auto place = definition(files, *file, offset);
    REQUIRE(place);
    CHECK(lines_of({*place}) == Lines{"kernels.py 4:4"});
  }
  auto [file, offset] = files.at("alias.py", "\"C\"", 1);
  auto place = definition(files, *file, offset);
  REQUIRE(place);
  CHECK(lines_of({*place}) == Lines{"kernels.py 6:22"});
  // The places in the file of the request come first.
  Lines first = lines_of(all_references(files, *file, offset));
  REQUIRE(first.size() == block.size());
  CHECK(first.front() == "alias.py 5:18");
}

namespace {

constexpr const char* two_functions = R"PY(@I.ir_module
class M:
    @T.prim_func
    def first(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("copy"):
                vi = T.axis.spatial(8, i)
                A[vi] = T.float32(1)

    @T.prim_func
    def second(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("copy"):
                vi = T.axis.spatial(8, i)
                A[vi] = T.float32(1)
)PY";

constexpr const char* factory = R"PY(def make(n):
    @T.prim_func
    def kernel(A: T.Buffer((n,), "float32")):
        for i in range(n):
            with T.block("scale"):
                vi = T.axis.spatial(n, i)
                A[vi] = T.float32(1)

    return kernel

small = make(16)
)PY";

/// "FILE NAME: LINES" for each.
auto lines_of(const std::vector<Calling>& all, const workspace::Snapshot* from = nullptr) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const Calling& one : all) {
    out.push_back(one.other.file->name().substr(10) + " " + one.other.name + ":");
    const workspace::Snapshot& file = from != nullptr ? *from : *one.other.file;
    for (Span place : one.places) { out.back() += " " + std::to_string(file.lines().line_of(place.begin) + 1); }
  }
  return out;
}

}  // namespace

TEST_CASE("in another file too a block's name is of the function that the schedule works on") {
  Texts files({{"kern.py", two_functions},
               {"use.py", "from kern import M\n\n@ls.schedule(M)\ndef s(sch: tir.Schedule):\n    sch.work_on(\"first\")\n    sch.get_loops(\"copy\")\n"
                          "    sch.work_on(\"second\")\n    sch.get_loops(\"copy\")\n    sch.get_block(\"copy\", func_name=\"first\")\n"}});
  CHECK(renamed(files, files.at("kern.py", "T.block(\"copy", 9)) == Lines{"kern.py 6:26", "use.py 6:19", "use.py 9:19"});
  CHECK(renamed(files, files.at("use.py", "second\")\n    sch.get_loops(\"copy", 28)) == Lines{"kern.py 13:26", "use.py 8:19"});
  Texts unclear({{"kern.py", two_functions}, {"use.py", "from kern import M\n\n@ls.schedule(M)\ndef s(sch: tir.Schedule):\n    sch.work_on(WHICH)\n    sch.get_loops(\"copy\")\n"}});
  CHECK(renamed(unclear, unclear.at("kern.py", "T.block(\"copy", 9)) ==
        Lines{"\"copy\" in line 6 of use.py may be a block of `first` or of `second`: name the program by `func_name=`, or by `work_on` before it"});
  CHECK(renamed(unclear, unclear.at("use.py", "\"copy", 1)) ==
        Lines{"\"copy\" in line 6 may be a block of `first` or of `second`: name the program by `func_name=`, or by `work_on` before it"});
}

TEST_CASE("blocks of a program that a function of another file makes") {
  Texts files({{"kern.py", factory},
               {"further.py", "from kern import make\n\ndef twice(n):\n    return make(n * 2)\n"},
               {"use.py", "from kern import make, small as little\nimport kern\nfrom further import twice\n\nNAMES = [\"scale\"]\n\n@ls.schedule(make(64))\ndef s(sch: tir.Schedule):\n    sch.get_loops(\"scale\")\n\n"
                          "@ls.schedule(little)\ndef t(sch: tir.Schedule):\n    for name in NAMES:\n        sch.get_block(name)\n\n"
                          "@ls.schedule(kern.make(4))\ndef u(sch: tir.Schedule):\n    sch.get_block(\"scale\")\n\n"
                          "@ls.schedule(twice(4))\ndef v(sch: tir.Schedule):\n    sch.get_block(\"scale\")\n\n"
                          "@ls.schedule(elsewhere(4))\ndef w(sch: tir.Schedule):\n    sch.get_block(\"scale\")\n"}});
  const Lines all = {"kern.py 5:26", "use.py 5:10", "use.py 9:19", "use.py 18:19", "use.py 22:19"};
  CHECK(renamed(files, files.at("kern.py", "\"scale", 1)) == all);
  CHECK(renamed(files, files.at("use.py", "get_loops(\"scale", 11)) == all);
  auto [file, offset] = files.at("use.py", "NAMES = [\"scale", 10);
  auto place = definition(files, *file, offset);
  REQUIRE(place);
  CHECK(lines_of({*place}) == Lines{"kern.py 5:26"});
}

TEST_CASE("uses by another name are references, and keep it in a rename") {
  Texts files({{"kern.py", kernels},
               {"use.py", "from kern import matmul as mm\n\n@ls.schedule(mm)\ndef s(sch):\n    pass\n\nx = [mm]\n"},
               {"further.py", "from use import mm\n\nx = mm\n"}});
  auto [file, offset] = files.at("kern.py", "matmul");
  CHECK(lines_of(all_references(files, *file, offset)) == Lines{"kern.py 4:4", "use.py 1:17", "use.py 3:13", "use.py 7:5", "further.py 1:16", "further.py 3:4"});
  CHECK(renamed(files, {file, offset}) == Lines{"kern.py 4:4", "use.py 1:17"});
  auto [use, at] = files.at("use.py", "(mm)", 1);
  CHECK(renamed(files, {use, at}) == Lines{"use.py 1:27", "use.py 3:13", "use.py 7:5"});
}

TEST_CASE("callers and callees of other files") {
  Texts files({{"kern.py", std::string(kernels) + "\ndef halves(sch, loop):\n    return sch.split(loop, factors=[None, 2])\n\ndef quarters(sch, loop):\n    halves(sch, loop)\n    return halves(sch, loop)\n"},
               {"use.py", "from kern import matmul as mm, halves\nimport kern\n\n@ls.schedule(mm)\ndef s(sch: tir.Schedule):\n    halves(sch, sch.get_loops(\"C\")[0])\n    local()\n\ndef local():\n    pass\n\n"
                          "def t():\n    from kern import matmul\n    sch = tir.Schedule(kern.matmul)\n    return kern.quarters(sch, sch.get_loops(\"C\")[0])\n"}});
  auto [file, offset] = files.at("kern.py", "matmul");
  CHECK(lines_of(callers_of(files, *file, offset, {})) == Lines{"use.py s: 4", "use.py t: 14"});
  auto [same, halves] = files.at("kern.py", "def halves", 4);
  CHECK(lines_of(callers_of(files, *same, halves, {})) == Lines{"kern.py quarters: 23 24", "use.py s: 6"});
  auto [use, s] = files.at("use.py", "def s", 4);
  CHECK(lines_of(callees_of(files, *use, s), use) == Lines{"kern.py matmul: 4", "kern.py halves: 6", "use.py local: 7"});
  auto [again, t] = files.at("use.py", "def t", 4);
  CHECK(lines_of(callees_of(files, *again, t), again) == Lines{"kern.py matmul: 14", "kern.py quarters: 15"});
  auto [there, named] = files.at("use.py", "(mm)", 1);
  auto callable = callable_at(files, *there, named);
  REQUIRE(callable);
  CHECK(callable->name == "matmul");
  CHECK(callable->file == file);
}
