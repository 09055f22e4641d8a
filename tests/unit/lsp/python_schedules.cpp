// Schedules inserted into Python files are valid Python: Python runs them here, with a stub in place of TVM.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "lsp/features/lines.h"
#include "lsp/features/moves.h"
#include "lsp/features/rewrites.h"
#include "lsp/features/tuning.h"
#include "tests/unit/catch.h"

namespace {

using namespace loopsmith;
using namespace loopsmith::lsp;

const std::string best = "@ls.schedule(B, target=\"llvm\")\ndef B_tuned(sch: tir.Schedule) -> None:\n    # Tuned: 1 us.\n    # Verified by interpreter.\n    B_2 = sch.get_block(\"B\")\n"
                         "    i, j = sch.get_loops(B_2)\n    sch.vectorize(j)\n";

/// A program without its imports.
auto program(const std::string& block = "block") -> std::string {
  return "@T.prim_func\ndef B(A: T.Buffer((64, 256), \"float32\"), C: T.Buffer((64, 256), \"float32\")):\n    for i, j in T.grid(64, 256):\n        with T." + block +
         "(\"B\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n            C[vi, vj] = A[vi, vj] * T.float32(2)\n";
}

/// The schedule calls that Python prints when it imports the file and calls one of its functions.
auto run(const std::string& text, const std::string& call) -> std::string {
  std::string folder = "/tmp/loopsmith-python-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder + "/tvm");
  std::ofstream(folder + "/tvm/__init__.py") << "class Schedule:\n    def __init__(self, mod): self.calls = []\n    def __getattr__(self, name):\n        def call(*args, **named):\n"
                                                "            self.calls.append(name)\n            return ['i', 'j'] if name == 'get_loops' else name\n        return call\n"
                                                "class Space: Schedule = Schedule\ntir = s_tir = Space\n";
  std::ofstream(folder + "/tvm/script.py") << "class tir:\n    prim_func = staticmethod(lambda f: f)\n    Buffer = staticmethod(lambda *args: None)\nir = tir\n";
  std::ofstream(folder + "/kernel.py") << text;
  std::string command = "cd " + folder + " && PYTHONDONTWRITEBYTECODE=1 python3 -c 'import kernel; print(*kernel." + call + ".calls)' 2>&1";
  std::string out;
  std::array<char, 4096> bytes{};
  std::FILE* pipe = ::popen(command.c_str(), "r");
  while (size_t size = std::fread(bytes.data(), 1, bytes.size(), pipe)) { out.append(bytes.data(), size); }
  ::pclose(pipe);
  std::filesystem::remove_all(folder);
  return out;
}

auto inserted(const std::string& text) -> std::string {
  auto document = workspace::analyse("file:///kernel.py", text);
  ScheduleInFile written = in_form_of(*document->snapshot(), best);
  auto insertion = insertion_after(*document->snapshot(), "B", written.text);
  REQUIRE(insertion);
  std::vector<TextEdit> edits;
  if (written.imports) { edits.push_back(*written.imports); }
  edits.push_back({{insertion->offset, insertion->offset}, insertion->text});
  return with_edits(text, edits);
}

}  // namespace

TEST_CASE("a schedule inserted into a Python file makes its own schedule object, and the file gets the imports") {
  const std::string printed = "get_block get_loops vectorize\n";
  struct Case { std::string head; std::string block = "block"; std::string imports; };
  const Case cases[] = {
      {"from tvm.script import tir as T\n\n\n", "block", "from tvm.script import tir as T\nfrom tvm import tir\n\n\n@T"},
      {"# A kernel.\n\"\"\"Of a project.\"\"\"\nfrom tvm.script import (ir as I,\n                        tir as T)  # both\n\n\n", "block", "  # both\nfrom tvm import tir\n\n\n@T"},
      {"import tvm\nfrom tvm import tir\nfrom tvm.script import tir as T\n\n\n", "block", "as T\n\n\n@T"},
      {"from tvm.script import tir\n\nT = tir\n\n\n", "block", "from tvm.script import tir\nimport tvm\n"},
      {"try:\n    from tvm import tir\nexcept ImportError:\n    tir = None\nfrom tvm.script import tir as T\n\n\n", "block", "as T\n\n\n@T"},
      {"from tvm.script import tir as T\r\n\r\n\r\n", "block", "as T\r\nfrom tvm import tir\r\n\r\n\r\n@T"},
  };
  for (const Case& one : cases) {
    std::string text = one.head + program(one.block);
    if (one.head.find("\r\n") == std::string::npos) { CHECK(inserted(text).find("\r") == std::string::npos); }
    std::string after = inserted(text);
    INFO(after);
    CHECK(after.find(one.imports) != std::string::npos);
    CHECK(after.find("@ls.") == std::string::npos);
    if (one.head.find("T = tir") == std::string::npos) { CHECK(run(after, "B_tuned()") == printed); }
    // The inserted function is read as one complete schedule of that name.
    auto document = workspace::analyse("file:///kernel.py", after);
    const auto& schedules = document->snapshot()->schedules();
    REQUIRE(schedules.size() == 1);
    REQUIRE(schedules[0].run != nullptr);
    CHECK(schedules[0].run->is_complete);
    CHECK(schedules[0].name.view() == "B_tuned");
  }
  // In the dialect of the file.
  std::string newest = inserted("from tvm.script import tir as T\n\n\n" + program("sblock"));
  CHECK(newest.find("from tvm import s_tir\n") != std::string::npos);
  CHECK(newest.find("    sch = s_tir.Schedule(B)\n") != std::string::npos);
  CHECK(newest.find("    B_2 = sch.get_sblock(\"B\")\n") != std::string::npos);
  // In a file that defines `ls`, `@ls.schedule` is allowed.
  std::string own = inserted("from project import stub as ls\nfrom tvm import tir\nfrom tvm.script import tir as T\n\n\n" + program());
  CHECK(own.find("\n\n\n@ls.schedule(B, target=\"llvm\")\ndef B_tuned(sch: tir.Schedule) -> None:\n") != std::string::npos);
  auto tir = workspace::analyse("file:///kernel.tir", program());
  CHECK(in_form_of(*tir->snapshot(), best).text == best);
}

TEST_CASE("a move on a program of Python that has no schedule writes one that Python runs") {
  std::string text = "from tvm.script import tir as T\n\n\n" + program();
  auto document = workspace::analyse("file:///kernel.py", text);
  auto offered = moves_offered(*document->snapshot(), static_cast<uint32_t>(text.find("for i, j") + 4));
  auto move = std::find_if(offered.begin(), offered.end(), [](const OfferedMove& one) { return one.why_not.empty() && one.text.find("parallel") != std::string::npos; });
  REQUIRE(move != offered.end());
  REQUIRE(move->imports);
  std::string after = with_edits(text, {*move->imports, {{move->offset, move->offset}, move->insert}});
  INFO(after);
  CHECK(after.find("def B_schedule() -> tir.Schedule:\n    sch = tir.Schedule(B)\n") != std::string::npos);
  std::string printed = run(after, "B_schedule()");
  CHECK(printed.find("parallel\n") != std::string::npos);
  // Further moves are inserted at the same place.
  auto next = workspace::analyse("file:///kernel.py", after);
  for (const OfferedMove& one : moves_offered(*next->snapshot(), static_cast<uint32_t>(after.find("for i, j") + 4))) {
    if (!one.why_not.empty()) { continue; }
    CHECK_FALSE(one.imports);
    CHECK(one.insert.find("def ") == std::string::npos);
  }
}

TEST_CASE("the best schedule takes the place of one of Python's, with the comments of the old one") {
  const std::string head = "from tvm.script import tir as T\n\n\n";
  std::string text = inserted(head + program());
  auto replaced = [](const std::string& in, const std::string& by) {
    auto document = workspace::analyse("file:///kernel.py", in);
    TextRewrite rewrite = replace_schedule(*document->snapshot(), document->snapshot()->schedules().back(), by);
    INFO(rewrite.why_not);
    REQUIRE(!rewrite.edits.empty());
    return with_edits(in, rewrite.edits);
  };
  const std::string better = "@ls.schedule(B, target=\"llvm\")\ndef B_tuned_2(sch: tir.Schedule) -> None:\n    # Tuned: 0.5 us.\n    x, y = sch.get_loops(\"B\")\n    sch.parallel(x)\n    sch.vectorize(y)\n";
  std::string after = replaced(text, better);
  CHECK(after.ends_with("def B_tuned() -> tir.Schedule:\n    sch = tir.Schedule(B)\n    # Tuned: 0.5 us.\n    x, y = sch.get_loops(\"B\")\n    sch.parallel(x)\n    sch.vectorize(y)\n    return sch\n"));
  CHECK(run(after, "B_tuned()") == "get_loops parallel vectorize\n");
  // A schedule with a decorator that is undefined in Python becomes one that Python runs.
  std::string broken = head + program() + "\n\n@ls.schedule(B)\ndef mine(sch: tir.Schedule) -> None:\n    i, j = sch.get_loops(\"B\")\n    sch.unroll(j)\n";
  CHECK(run(broken, "mine()").find("NameError") != std::string::npos);
  after = replaced(broken, better);
  CHECK(run(after, "mine()") == "get_loops parallel vectorize\n");
  // A function with the schedule as a parameter keeps this parameter.
  std::string handed = "from tvm import tir\n" + head + program() + "\n\ndef mine(s: tir.Schedule):\n    \"\"\"Of a person.\"\"\"\n    i, j = s.get_loops(\"B\")\n    s.unroll(j)\n";
  after = replaced(handed, better);
  CHECK(after.ends_with("def mine(s: tir.Schedule):\n    \"\"\"Of a person.\"\"\"\n    # Tuned: 0.5 us.\n    x, y = s.get_loops(\"B\")\n    s.parallel(x)\n    s.vectorize(y)\n"));
}

TEST_CASE("a found schedule that stands in the file is known there, in both languages, whatever its name and comments are") {
  auto holds = [](const std::string& name, const std::string& text) { return has_steps_of(*workspace::analyse(name, text)->snapshot(), best); };
  CHECK_FALSE(holds("file:///kernel.py", program()));
  std::string python = inserted(program());
  CHECK(holds("file:///kernel.py", python));
  CHECK_FALSE(holds("file:///kernel.tir", program()));
  std::string own = program() + "\n\n" + best;
  CHECK(holds("file:///kernel.tir", own));
  std::string renamed = own;
  renamed.replace(renamed.find("B_tuned"), 7, "fast");
  renamed.replace(renamed.find("    # Tuned: 1 us.\n"), 19, "");
  CHECK(holds("file:///kernel.tir", renamed));
  std::string crlf;
  for (char c : own) { crlf += c == '\n' ? std::string("\r\n") : std::string(1, c); }
  CHECK(holds("file:///kernel.tir", crlf));
  // A schedule with one step less, or another loop, differs.
  std::string other = own;
  other.replace(other.find("vectorize(j)"), 12, "vectorize(i)");
  CHECK_FALSE(holds("file:///kernel.tir", other));
}
